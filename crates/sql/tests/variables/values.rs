//! Variables of sessions: what statements answer under a value, and what they answered before. Answers of MySQL 5.6.24.

use crate::variables::support::{connect_as, open, open_with, root, run};
use std::os::unix::ffi::OsStrExt;
use vaquita_sql::{ConnectInfo, Connection};

/// Statements and their answers, one after the other.
fn play(c: &mut Connection, steps: &[(&str, &str)]) {
    for (sql, answer) in steps {
        // One by one, as clients send them: each is read in the character set that the one before has set.
        let (first, last) = sql.rsplit_once("; ").unwrap_or(("", sql));
        if !first.is_empty() {
            run(c, first);
        }
        assert_eq!(run(c, last), *answer, "{sql}");
    }
}

/// Whose list of stopwords an index has: the session's, else everybody's, else the default one. Answers of MySQL 5.6.24.
#[test]
fn indexes_leave_out_the_words_that_are_said() {
    let opened = open();
    let mut c = root(&opened.db);
    let index = |c: &mut Connection, settings: &str, words: &str| {
        run(c, settings);
        run(c, "create table t (id int, body varchar(50), fulltext (body))");
        run(c, "insert into t values (1, 'the pear'), (2, 'apple'), (3, 'plum')");
        let found = run(
            c,
            "select group_concat(id order by id) from t where match(body) against ('the pear apple plum')",
        );
        assert_eq!(found, words, "{settings}");
        run(c, "drop table t");
    };
    play(
        &mut c,
        &[
            ("create database d; use d; create table mine (value varchar(20))", ""),
            ("create table ours (value varchar(20)); insert into mine values ('apple')", ""),
            ("insert into ours values ('plum')", ""),
            (
                "set innodb_ft_user_stopword_table = 'd/no'",
                "1231 Variable 'innodb_ft_user_stopword_table' can't be set to the value of 'd/no'",
            ),
        ],
    );
    index(&mut c, "insert into ours values ('pear')", "1,2,3");
    index(&mut c, "set global innodb_ft_server_stopword_table = 'd/ours'", "1,2");
    index(&mut c, "set innodb_ft_user_stopword_table = 'd/mine'", "1,3");
    index(&mut c, "set innodb_ft_enable_stopword = 0", "1,2,3");
}

/// 64 bytes for an entry of a list and 64 for a document, as 5.6.24 counts: 8192 of each are 1048576. In boolean mode it ends there.
#[test]
fn searches_hold_no_more_than_is_said() {
    let opened = open();
    let mut c = root(&opened.db);
    run(
        &mut c,
        "create database d; use d; create table t (id int auto_increment primary key, a varchar(20), fulltext (a))",
    );
    run(&mut c, "create table n (n int); insert into n values (1), (2), (3), (4), (5), (6), (7), (8)");
    run(
        &mut c,
        "insert into t (a) select if(y.n = 1, 'apple pear', 'apple plum') from n x, n y, n z, n v, (select 1 union select 2) w",
    );
    for (limit, query, answer) in [
        (1_000_000, "'apple'", "188 FTS query exceeds result cache limit"),
        (1_000_000, "'plum'", "7168"),
        (1_048_576, "'apple'", "8192"),
        // Those with both words are found once.
        (1_048_576, "'apple pear'", "188 FTS query exceeds result cache limit"),
        (1_114_112, "'apple pear'", "8192"),
        (1_048_576, "'+apple +(pear plum)' in boolean mode", "188 FTS query exceeds result cache limit"),
        (1_048_576, "'+pear -plum' in boolean mode", "1024"),
    ] {
        run(&mut c, &format!("set global innodb_ft_result_cache_limit = {limit}"));
        let found = run(&mut c, &format!("select count(*) from t where match (a) against ({query})"));
        assert_eq!(found, answer, "{limit} {query}");
    }
}

/// Answers of MySQL 5.6.24.
#[test]
fn texts_are_encrypted_as_it_is_said() {
    let opened = open();
    let mut c = root(&opened.db);
    let ignored = "Warning|1618|<IV> option ignored";
    let long = "'averylongkeythatexceedssixteenbytes'";
    play(
        &mut c,
        &[
            ("select @@block_encryption_mode", "aes-128-ecb"),
            ("select hex(aes_encrypt('abc', 'key'))", "DB5F149A7CAF0CD275CA18C203A212C9"),
            ("select hex(aes_encrypt(123, 'key'))", "104D770999B4FEC64B12B90B0505B077"),
            ("select hex(aes_encrypt('x', ''))", "1DD733A04C633C194FDEACF97C59D237"),
            (
                &format!("select hex(aes_encrypt('0123456789abcdef', {long}))"),
                "22B96CAC3DCE69A7CD9AC46F866BF76CB32FC09F431B0B788131CFAB88C233EA",
            ),
            ("select aes_decrypt(aes_encrypt('abc', 'key'), 'key')", "abc"),
            ("select aes_decrypt(aes_encrypt('abc', 'key'), 'kez'), aes_decrypt('xyz', 'key')", "NULL|NULL"),
            ("select hex(aes_encrypt('abc', 'key', 'iv'))", "DB5F149A7CAF0CD275CA18C203A212C9"),
            ("show warnings", ignored),
            ("select aes_encrypt(null, 'key'), aes_encrypt('abc', null)", "NULL|NULL"),
            (
                "set block_encryption_mode = 'aes-192-ecb'; select hex(aes_encrypt('abc', 'key'))",
                "FB8A1E620256F5DFE085C91390EA34FE",
            ),
            (
                "set block_encryption_mode = 'aes-256-cbc'; \
                 select hex(aes_encrypt('abc', 'key', '0123456789abcdefXX'))",
                "81C339CBA025C41D812357C7D8BFFA03",
            ),
            (
                "select aes_decrypt(aes_encrypt(repeat('abc', 20), 'key', '0123456789abcdef'), 'key', '0123456789abcdef') \
                 = repeat('abc', 20)",
                "1",
            ),
            (
                "select hex(aes_encrypt('abc', 'key'))",
                "1582 Incorrect parameter count in the call to native function 'aes_encrypt'",
            ),
            (
                "select hex(aes_encrypt('abc', 'key', 'short'))",
                "1882 The initialization vector supplied to aes_encrypt is too short. Must be at least 16 bytes long",
            ),
            ("select hex(aes_encrypt(null, 'key', '0123456789abcdef'))", "NULL"),
            ("select old_password('abc'), old_password(''), old_password(null)", "7cd2b5942be28759||NULL"),
        ],
    );
}

#[test]
fn numbers_and_texts_are_calculated_as_it_is_said() {
    let opened = open();
    let mut c = root(&opened.db);
    play(
        &mut c,
        &[
            ("select 1/7", "0.1429"),
            ("set div_precision_increment = 7; select 1/7", "0.1428571"),
            ("select week('2008-02-20')", "7"),
            ("set default_week_format = 1; select week('2008-02-20')", "8"),
            ("select group_concat(a) from (select 1 a union select 2 union select 3) x", "1,2,3"),
            (
                "set group_concat_max_len = 4; \
                 select group_concat(a) from (select 1 a union select 2 union select 3) x",
                "1,2,",
            ),
            ("set sql_select_limit = 2; select a from (select 1 a union select 2 union select 3) x", "1\n2"),
            ("set sql_select_limit = default", ""),
            (
                "set rand_seed1 = 5, rand_seed2 = 9; select rand(), rand()",
                "0.000000022351741811588166|0.00000012852251541663195",
            ),
            ("set rand_seed1 = 5, rand_seed2 = 10; select rand() = 0.000000022351741811588166", "0"),
            (
                "set timestamp = 1000000000.5, time_zone = '+00:00'; select now(6)",
                "2001-09-09 01:46:40.500000",
            ),
            (
                "set time_zone = '+03:00'; select now(), from_unixtime(0)",
                "2001-09-09 04:46:40|1970-01-01 03:00:00",
            ),
            ("set timestamp = default; select now() > '2020-01-01'", "1"),
            ("set identity = 7; select last_insert_id(), @@last_insert_id", "7|7"),
            ("set last_insert_id = 9; select last_insert_id(), @@identity", "9|9"),
            ("set pseudo_thread_id = 77; select connection_id(), @@pseudo_thread_id", "77|77"),
            ("set global server_id = 258; select uuid_short() >> 56", "2"),
            ("select uuid_short() + 1 = uuid_short()", "1"),
            ("set sql_mode = ''; select 'a' || 'b', \"c\"", "0|c"),
            ("set sql_mode = 'ansi'; select 'a' || 'b'", "ab"),
            ("select \"c\"", "1054 Unknown column 'c' in 'field list'"),
        ],
    );
    // Numbers of sessions are what they were: KILL and the list go by them.
    let listed = format!("select count(*) from information_schema.processlist where id = {}", c.id());
    assert_eq!(run(&mut c, &listed), "1");
}

#[test]
fn is_null_finds_the_row_of_the_last_generated_value_once() {
    let opened = open();
    let mut c = root(&opened.db);
    play(
        &mut c,
        &[
            (
                "create database d; use d; create table t (id int auto_increment primary key, b int, n int)",
                "",
            ),
            ("create table o (id int auto_increment primary key); create table n (x int not null)", ""),
            ("insert into t (b) values (1), (2), (3); select id from t where id is null", ""),
            ("set sql_auto_is_null = 1; select id from t where id is null", "1"),
            ("select id from t where id is null", ""),
            // The condition is alone, or it is what it says.
            ("insert into t (b) values (4); select id from t where id is null and b = 4", ""),
            ("select id from t where b = 4 or id is null", "4"),
            ("select id from t where id <=> null", ""),
            ("select id from t where isnull(id)", "4"),
            ("insert into t (b) values (5); select id from t where not (id is not null)", "5"),
            // Any table will do, but only such a column.
            ("insert into n values (1); insert into t (b) values (6); select x from n where x is null", ""),
            ("select id from o where id is null", ""),
            ("select id from t where id is null", ""),
            ("insert into t (b) values (7); select t.id from n, t where t.id is null", "7"),
            // What is found is LAST_INSERT_ID(), when an INSERT has generated a value.
            ("set last_insert_id = 3; select id from t where id is null", ""),
            ("insert into t (b) values (8); set last_insert_id = 3; select id from t where id is null", "3"),
            ("insert into t (b) values (9); select last_insert_id(2)", "2"),
            ("select id from t where id is null", "2"),
            ("insert into t (id, b) values (100, 10); select id from t where id is null", ""),
            (
                "insert into t (b) values (11); insert into t (id) values (1)",
                "1062 Duplicate entry '1' for key 'PRIMARY'",
            ),
            ("select 1; select id, last_insert_id() from t where id is null", "101|101"),
            // Prepared statements look when they run, parts of statements in their order.
            ("insert into t (b) values (12); prepare s from 'select id from t where id is null'", ""),
            ("execute s", "102"),
            ("execute s", ""),
            ("insert into t (b) values (13); execute s", "103"),
            ("insert into t (b) values (14)", ""),
            ("select id from t where id is null union all select id from t where id is null", "104"),
            ("insert into t (b) values (15); update t set n = 1 where id is null", ""),
            ("select id, b from t where n = 1", "105|15"),
            ("insert into t (b) values (16); delete from t where id is null", ""),
            ("select count(*) from t where b = 16", "0"),
            ("insert into t (b) values (17); insert into t (b) select 18 from t where id is null", ""),
            ("select b from t where id is null", "18"),
            ("begin; insert into t (b) values (19); rollback", ""),
            ("select id from t where id is null", ""),
        ],
    );
}

#[test]
fn rows_are_written_as_it_is_said() {
    let opened = open();
    let mut c = root(&opened.db);
    play(
        &mut c,
        &[
            ("create database d; use d; create table t (a int auto_increment primary key, b int)", ""),
            ("set auto_increment_increment = 10, auto_increment_offset = 5", ""),
            ("insert into t (b) values (1), (2), (3)", ""),
            ("select a from t", "5\n15\n25"),
            ("set auto_increment_increment = 1, auto_increment_offset = 1, insert_id = 500", ""),
            ("insert into t (b) values (9); select last_insert_id(), max(a) from t", "500|500"),
            ("create table p (a int primary key); create table c (a int references p (a))", ""),
            ("create table f (a int, foreign key (a) references p (a))", ""),
            (
                "insert into f values (1)",
                "1452 Cannot add or update a child row: a foreign key constraint fails (`d`.`f`, CONSTRAINT `f_ibfk_1` \
                 FOREIGN KEY (`a`) REFERENCES `p` (`a`))",
            ),
            ("set foreign_key_checks = 0; insert into f values (1)", ""),
            ("set foreign_key_checks = 1; set autocommit = 0; insert into p values (7); rollback", ""),
            ("select count(*) from p", "0"),
            ("set autocommit = 1; insert into p values (7); rollback; select count(*) from p", "1"),
            ("delete from p", ""),
            ("insert into p values (7); set sql_safe_updates = 1", ""),
            (
                "delete from p",
                "1175 You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column",
            ),
            ("set sql_safe_updates = 0; delete from p", ""),
        ],
    );
}

#[test]
fn transactions_are_what_it_is_said() {
    let opened = open();
    let (mut c, mut other) = (root(&opened.db), root(&opened.db));
    play(&mut c, &[("create database d; use d; create table t (a int primary key)", "")]);
    run(&mut other, "use d; begin; insert into t values (1)");
    for name in ["tx_isolation", "transaction_isolation"] {
        let sees = |c: &mut Connection, level: &str| {
            run(c, &format!("set {name} = '{level}'; begin; select count(*) from t"))
        };
        assert_eq!(sees(&mut c, "read-uncommitted"), "1", "{name}");
        assert_eq!(run(&mut c, "commit"), "");
        assert_eq!(sees(&mut c, "repeatable-read"), "0", "{name}");
        assert_eq!(run(&mut c, "commit"), "");
    }
    run(&mut other, "commit");
    let refused = "1792 Cannot execute statement in a READ ONLY transaction.";
    for name in ["tx_read_only", "transaction_read_only"] {
        assert_eq!(run(&mut c, &format!("set {name} = 1; insert into t values (5)")), refused, "{name}");
        assert_eq!(
            run(&mut c, &format!("set {name} = 0; insert into t values (5); delete from t where a = 5")),
            ""
        );
    }
    for (value, chained) in [("chain", 1), ("no_chain", 0)] {
        run(&mut c, &format!("set completion_type = {value}; begin; commit"));
        assert_eq!(c.status_flags() & 1, chained, "{value}");
    }
    run(&mut c, "rollback");
    let listed = "select trx_unique_checks, trx_foreign_key_checks from information_schema.innodb_trx";
    for (unique, foreign) in [(1, 1), (0, 1), (1, 0), (0, 0)] {
        let set = format!("set unique_checks = {unique}, foreign_key_checks = {foreign}");
        run(&mut c, &format!("{set}; begin; insert into t values (9)"));
        assert_eq!(run(&mut other, listed), format!("{unique}|{foreign}"));
        run(&mut c, "rollback");
    }
}

#[test]
fn conditions_are_kept_and_counted() {
    let opened = open();
    let mut c = root(&opened.db);
    play(
        &mut c,
        &[
            (
                "set max_error_count = 2; select cast('a' as signed), cast('b' as signed), cast('c' as signed)",
                "0|0|0",
            ),
            (
                "show warnings",
                "Warning|1292|Truncated incorrect INTEGER value: 'a'\nWarning|1292|Truncated incorrect INTEGER value: 'b'",
            ),
            ("select @@warning_count", "3"),
            (
                "create database d; drop table if exists d.nothing; show warnings",
                "Note|1051|Unknown table 'd.nothing'",
            ),
            ("set sql_notes = 0; drop table if exists d.nothing; show warnings", ""),
            ("select @@error_count", "0"),
            ("select * from d.nothing", "1146 Table 'd.nothing' doesn't exist"),
            ("select @@error_count, @@warning_count", "1|1"),
        ],
    );
}

#[test]
fn texts_are_of_the_character_sets_that_are_said() {
    let opened = open_with(&[("secure_file_priv", "")]);
    let mut c = root(&opened.db);
    play(
        &mut c,
        &[
            ("select charset(user()) = @@character_set_system, @@character_set_system", "1|utf8"),
            ("set names utf8; select hex('é')", "C3A9"),
            ("set character_set_client = latin1; select hex('é')", "C383C2A9"),
            ("set names utf8; set character_set_connection = latin1; select hex('é')", "E9"),
            ("set names utf8; select 'a' = 'A'", "1"),
            ("set collation_connection = utf8_bin; select 'a' = 'A'", "0"),
            (
                "set names utf8; set character_set_server = latin1; create database l1; show create database l1",
                "l1|CREATE DATABASE `l1` /*!40100 DEFAULT CHARACTER SET latin1 */",
            ),
            (
                "set collation_server = utf8_bin; create database l2; show create database l2",
                "l2|CREATE DATABASE `l2` /*!40100 DEFAULT CHARACTER SET utf8 COLLATE utf8_bin */",
            ),
            ("use l1; select @@character_set_database, @@collation_database", "latin1|latin1_swedish_ci"),
            ("use l2; select @@character_set_database, @@collation_database", "utf8|utf8_bin"),
        ],
    );
    let mut sink = vaquita_sql::sink::Collected::default();
    c.query(b"set character_set_results = latin1; select _utf8 x'C3A9' as e", &mut sink).expect("runs");
    let result = sink.results.last().expect("a result");
    assert_eq!(result.columns[0].ty.collation, 8, "the client is told latin1");
    // Files that say nothing of their character set.
    let file = std::env::temp_dir().join(format!("vaquita-charset-{}.txt", std::process::id()));
    std::fs::write(&file, b"\xE9\n").expect("a file");
    let path = String::from_utf8_lossy(file.as_os_str().as_bytes()).into_owned();
    run(&mut c, "set names utf8; create table t (a varchar(10) character set utf8)");
    for (set, stored) in
        [("character_set_database = latin1", "C3A9"), ("collation_database = cp1251_general_ci", "D0B9")]
    {
        let load = format!("set {set}; load data infile '{path}' into table t; select hex(a) from t");
        assert_eq!(run(&mut c, &load), stored, "{set}");
        run(&mut c, "delete from t");
    }
    std::fs::remove_file(&file).expect("it is there");
}

#[test]
fn definitions_are_made_and_shown_as_it_is_said() {
    let opened = open();
    let mut c = root(&opened.db);
    play(&mut c, &[("create database d; use d; create table t (a int primary key)", "")]);
    let shown = run(&mut c, "set sql_quote_show_create = 0; show create table t");
    assert!(shown.contains("CREATE TABLE t (\n  a int(11)"), "{shown}");
    let shown = run(&mut c, "set sql_quote_show_create = 1; show create table t");
    assert!(shown.contains("CREATE TABLE `t` (\n  `a` int(11)"), "{shown}");
    play(
        &mut c,
        &[
            ("set default_storage_engine = fancy", "1286 Unknown storage engine 'fancy'"),
            (
                "set default_storage_engine = memory; show warnings",
                "Warning|1266|Using storage engine InnoDB instead of 'memory' for default_storage_engine",
            ),
            (
                "create table u (a int); select engine from information_schema.tables where table_name = 'u'",
                "InnoDB",
            ),
            (
                "set default_tmp_storage_engine = memory; show warnings",
                "Warning|1266|Using storage engine InnoDB instead of 'memory' for default_tmp_storage_engine",
            ),
        ],
    );
    // Whether rows are written anew where the definition alone would do.
    play(
        &mut c,
        &[
            ("insert into u values (1), (2); alter table u comment 'a'; select row_count()", "0"),
            ("set old_alter_table = 1; alter table u comment 'b'; select row_count()", "2"),
            ("set old_alter_table = 0", ""),
            ("set vaquita_instant_alter = 1; alter table u add column instant int, algorithm = instant", ""),
            (
                "set vaquita_instant_alter = 0; alter table u add column other int, algorithm = instant",
                "1845 ALGORITHM=INSTANT is not supported for this operation. Try ALGORITHM=INPLACE.",
            ),
            (
                "set vaquita_instant_alter = default; alter table u drop column instant, algorithm = instant",
                "",
            ),
        ],
    );
    let stamp = "create table d.s (a timestamp, b timestamp); show create table d.s";
    for (value, column) in [
        ("OFF", "`a` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP"),
        ("ON", "`a` timestamp NULL DEFAULT NULL"),
    ] {
        let opened = open_with(&[("explicit_defaults_for_timestamp", value), ("sql_mode", "")]);
        let shown = run(&mut root(&opened.db), &format!("create database d; {stamp}"));
        assert!(shown.contains(column), "{value}: {shown}");
    }
}

#[test]
fn idle_sessions_have_the_time_that_is_said() {
    let opened = open_with(&[("wait_timeout", "100"), ("interactive_timeout", "200")]);
    let mut c = root(&opened.db);
    assert_eq!(c.state().vars.wait_timeout, 100);
    let person = ConnectInfo { interactive: true, ..ConnectInfo::embedded() };
    let person = opened.db.connect(person).expect("connects");
    assert_eq!(person.state().vars.wait_timeout, 200);
    assert_eq!(
        run(
            &mut c,
            "set net_read_timeout = 7, net_write_timeout = 8, wait_timeout = 9, progress_report_time = 10"
        ),
        ""
    );
    let vars = &c.state().vars;
    assert_eq!((vars.net_read_timeout, vars.net_write_timeout, vars.wait_timeout), (7, 8, 9));
    assert_eq!(vars.progress_report_time, 10);
}

#[test]
fn who_changes_whose_session_is_whose_needs_super() {
    let opened = open();
    run(&mut root(&opened.db), "create user 'web'@'%'");
    let mut web = connect_as(&opened.db, "web", "%").expect("connects");
    assert_eq!(
        run(&mut web, "set pseudo_thread_id = 5"),
        "1227 Access denied; you need (at least one of) the SUPER privilege(s) for this operation"
    );
}

#[test]
fn procedures_call_themselves_as_deep_as_is_said() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d; use d");
    let made =
        "create procedure p(n int) begin if n > 0 then call p(n - 1); else set @at = 'there'; end if; end";
    assert_eq!(run(&mut c, made), "");
    let refused = |limit: u32| {
        format!(
            "1456 Recursive limit {limit} (as set by the max_sp_recursion_depth variable) was exceeded for routine p"
        )
    };
    assert_eq!(run(&mut c, "call p(0); select @at"), "there");
    assert_eq!(run(&mut c, "call p(1)"), refused(0));
    run(&mut c, "set max_sp_recursion_depth = 3");
    assert_eq!(run(&mut c, "set @at = ''; call p(3); select @at"), "there");
    assert_eq!(run(&mut c, "call p(4)"), refused(3));
}

#[test]
fn who_makes_a_routine_may_call_it() {
    let opened = open();
    let mut r = root(&opened.db);
    run(&mut r, "create database d; create user u@localhost; grant create routine on d.* to u@localhost");
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    assert_eq!(run(&mut u, "use d"), "");
    assert_eq!(run(&mut u, "create procedure p() set @whose = 'mine'"), "");
    assert_eq!(run(&mut u, "call p(); select @whose"), "mine");
    // What was granted is not taken away.
    run(&mut r, "set global automatic_sp_privileges = 0");
    assert_eq!(run(&mut u, "call p(); create procedure q() set @whose = 'mine'"), "");
    assert_eq!(
        run(&mut u, "call q()"),
        "1370 execute command denied to user 'u'@'localhost' for routine 'd.q'"
    );
    run(&mut r, "set global automatic_sp_privileges = 1");
    assert_eq!(run(&mut u, "drop procedure p; create procedure p() set @whose = 'mine'; call p()"), "");
}
