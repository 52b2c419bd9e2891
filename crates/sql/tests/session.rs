//! Sessions through their public face: variables, transactions, prepared statements, SHOW.

use crate::support;

use support::{open, root, run};
use vaquita_sql::Connection;
use vaquita_sql::sink::Collected;

/// Answers of MySQL 5.6.24 to the same statements.
#[test]
fn variables_as_mysql_5_6_has_them() {
    let opened = open();
    let mut c = root(&opened.db);
    for (sql, answer) in [
        ("set nonsense = 1", "1193 Unknown system variable 'nonsense'"),
        ("set autocommit = 2", "1231 Variable 'autocommit' can't be set to the value of '2'"),
        ("set sort_buffer_size = 'x'", "1232 Incorrect argument type to variable 'sort_buffer_size'"),
        ("set sort_buffer_size = 1.5", "1232 Incorrect argument type to variable 'sort_buffer_size'"),
        ("set version = 'x'", "1238 Variable 'version' is a read only variable"),
        (
            "set max_connections = 5",
            "1229 Variable 'max_connections' is a GLOBAL variable and should be set with SET GLOBAL",
        ),
        (
            "set global timestamp = 5",
            "1228 Variable 'timestamp' is a SESSION variable and can't be used with SET GLOBAL",
        ),
        (
            "set max_allowed_packet = 2048",
            "1621 SESSION variable 'max_allowed_packet' is read-only. Use SET GLOBAL to assign the value",
        ),
        ("set character_set_client = 'abc'", "1115 Unknown character set: 'abc'"),
        ("set collation_connection = 'abc'", "1273 Unknown collation: 'abc'"),
        ("set time_zone = 'abc'", "1298 Unknown or incorrect time zone: 'abc'"),
        (
            "set sql_mode = 'strict_trans_tables,abc'",
            "1231 Variable 'sql_mode' can't be set to the value of 'abc'",
        ),
        (
            "set names latin1 collate utf8_bin",
            "1253 COLLATION 'utf8_bin' is not valid for CHARACTER SET 'latin1'",
        ),
        (
            "set default_week_format = 100; show warnings",
            "Warning|1292|Truncated incorrect default_week_format value: '100'",
        ),
        ("show variables like 'default_week_format'", "default_week_format|7"),
        (
            "set default_week_format = default; show variables like 'default_week_format'",
            "default_week_format|0",
        ),
        ("set names latin1; show variables like 'collation_conn%'", "collation_connection|latin1_swedish_ci"),
        ("show variables like 'character_set_results'", "character_set_results|latin1"),
        (
            "set sql_mode = ansi; show variables like 'sql_mode'",
            "sql_mode|REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ANSI",
        ),
        ("set long_query_time = 1.5; show variables like 'long_query_time'", "long_query_time|1.500000"),
        (
            "set @@session.tx_isolation = 'read-committed'; show variables like 'tx_isolation'",
            "tx_isolation|READ-COMMITTED",
        ),
        ("show variables where variable_name = 'autocommit'", "autocommit|ON"),
        (
            "set optimizer_switch = 'mrr=off,nonsense=on'",
            "1231 Variable 'optimizer_switch' can't be set to the value of 'nonsense=on'",
        ),
    ] {
        assert_eq!(run(&mut c, sql), answer, "{sql}");
    }
}

/// `SHOW COUNT(*) WARNINGS` after other statements, in MySQL 5.6.24.
#[test]
fn warnings_stay_until_something_uses_a_table_or_warns() {
    let opened = open();
    let mut c = root(&opened.db);
    let warn = "select cast('a' as signed)";
    for (between, answer) in [
        ("select 1", "1"),
        ("set @x = 1", "1"),
        ("begin", "1"),
        ("select @@warning_count", "1"),
        ("select User from mysql.user limit 0", "0"),
        ("show tables from mysql", "0"),
        ("select cast('b' as signed), cast('c' as signed)", "2"),
    ] {
        assert_eq!(run(&mut c, &format!("{warn}; {between}; show count(*) warnings")), answer, "{between}");
    }
    assert!(run(&mut c, "selec").starts_with("1064"));
    assert!(run(&mut c, "show warnings").starts_with("Error|1064|You have an error in your SQL syntax"));
}

#[test]
fn a_failing_assignment_leaves_all_system_variables_alone() {
    let opened = open();
    let mut c = root(&opened.db);
    assert!(run(&mut c, "set div_precision_increment = 7, nonsense = 1").starts_with("1193"));
    assert_eq!(run(&mut c, "show variables like 'div_precision_increment'"), "div_precision_increment|4");
}

#[test]
fn global_values_are_what_new_sessions_start_with() {
    let opened = open();
    let (mut a, mut b) = (root(&opened.db), root(&opened.db));
    assert_eq!(run(&mut a, "set global div_precision_increment = 9"), "");
    let show = "show variables like 'div_precision_increment'";
    assert_eq!(run(&mut b, show), "div_precision_increment|4");
    assert_eq!(
        run(&mut b, "show global variables like 'div_precision_increment'"),
        "div_precision_increment|9"
    );
    assert_eq!(run(&mut root(&opened.db), show), "div_precision_increment|9");
    assert_eq!(run(&mut b, "set div_precision_increment = default"), "");
    assert_eq!(run(&mut b, show), "div_precision_increment|9");
}

/// States and errors of MySQL 5.6.24.
#[test]
fn xa_goes_through_its_states() {
    let opened = open();
    let mut c = root(&opened.db);
    let in_state = |state: &str| {
        format!(
            "1399 XAER_RMFAIL: The command cannot be executed when global transaction is in the  {state} state"
        )
    };
    for (sql, answer) in [
        ("xa end 'a'", in_state("NON-EXISTING")),
        ("xa commit 'a'", "1397 XAER_NOTA: Unknown XID".into()),
        ("xa start 'a'", String::new()),
        ("xa start 'b'", in_state("ACTIVE")),
        ("commit", in_state("ACTIVE")),
        ("xa prepare 'a'", in_state("ACTIVE")),
        ("xa end 'b'", "1397 XAER_NOTA: Unknown XID".into()),
        ("xa end 'a'", String::new()),
        ("begin", in_state("IDLE")),
        ("xa commit 'a'", in_state("IDLE")),
        ("xa commit 'a' one phase", String::new()),
        ("xa recover", String::new()),
        ("begin", String::new()),
        ("xa start 'c'", "1400 XAER_OUTSIDE: Some work is done outside global transaction".into()),
    ] {
        assert_eq!(run(&mut c, sql), answer, "{sql}");
    }
}

/// What MySQL 5.6.24 answered to the same, but for a session that goes: there its prepared branch goes with it.
#[test]
fn a_branch_has_its_name_alone() {
    let opened = open();
    let (mut a, mut b) = (root(&opened.db), Some(root(&opened.db)));
    let in_state = |state: &str| {
        format!(
            "1399 XAER_RMFAIL: The command cannot be executed when global transaction is in the  {state} state"
        )
    };
    let exists = "1440 XAER_DUPID: The XID already exists";
    let unknown = "1397 XAER_NOTA: Unknown XID";
    let ok = String::new;
    for (is_b, sql, answer) in [
        (true, "xa start 'a', 'b', 1", ok()),
        (false, "xa start 'a', 'b', 1", exists.into()),
        (false, "xa start 'a', 'b', 2", exists.into()),
        (false, "xa start 'ab', '', 1", ok()),
        (true, "xa end 'a', 'b', 1", ok()),
        (false, "xa start 'a', 'b', 1", in_state("ACTIVE")),
        (true, "xa prepare 'a', 'b', 1", ok()),
        (false, "xa commit 'a', 'b', 1", unknown.into()),
        (true, "xa end 'a', 'b', 2", in_state("PREPARED")),
        (true, "xa commit 'a', 'b', 1", ok()),
        (false, "xa end 'ab', '', 1", ok()),
        (false, "xa rollback 'ab'", ok()),
        (false, "xa commit 'ab'", unknown.into()),
        (true, "xa start 'a', 'b', 1", ok()),
        (true, "xa end 'a', 'b', 2", ok()),
        (true, "xa end 'a', 'b'", in_state("IDLE")),
        (true, "xa prepare 'a', 'b', 7", ok()),
        (true, "xa commit 'a', 'b', 7 one phase", in_state("PREPARED")),
        (false, "xa start 'a', 'b'", exists.into()),
        (false, "xa commit 'a', 'b'", unknown.into()),
        (false, "xa rollback 'a', 'b'", unknown.into()),
    ] {
        let session = if is_b { b.as_mut().unwrap() } else { &mut a };
        assert_eq!(run(session, sql), answer, "{sql}");
    }
    drop(b.take());
    assert_eq!(run(&mut a, "xa start 'a', 'b'"), exists);
    assert_eq!(run(&mut a, "xa recover"), "1|1|1|ab");
    assert_eq!(run(&mut a, "xa commit 'a', 'b', 3"), "");
    assert_eq!(run(&mut a, "xa start 'a', 'b'; xa end 'a', 'b'; xa rollback 'a', 'b'"), "");
}

/// A transaction that is left from before holds no name, but its rows may still be taken back.
#[test]
fn a_table_is_checked_when_nobody_changes_it() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d; create table d.t (id int primary key, v int, key (v))");
    for sql in ["xa start 'a'", "insert into d.t values (1, 1), (2, 2)", "xa end 'a'", "xa prepare 'a'"] {
        assert_eq!(run(&mut c, sql), "", "{sql}");
    }
    drop(c);
    let opened = opened.reopen();
    let mut c = root(&opened.db);
    run(&mut c, "set innodb_lock_wait_timeout = 1");
    assert_eq!(
        run(&mut c, "check table d.t"),
        "d.t|check|Error|Lock wait timeout exceeded; try restarting transaction\n\
         d.t|check|status|Operation failed"
    );
    assert_eq!(run(&mut c, "xa rollback 'a'"), "");
    assert_eq!(run(&mut c, "check table d.t"), "d.t|check|status|OK");
    assert_eq!(run(&mut c, "insert into d.t values (1, 1)"), "", "nothing is left locked");
}

#[test]
fn savepoints_and_characteristics() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "rollback to s"), "1305 SAVEPOINT s does not exist");
    assert_eq!(run(&mut c, "begin; savepoint s; rollback to S; release savepoint s"), "");
    assert_eq!(run(&mut c, "release savepoint s"), "1305 SAVEPOINT s does not exist");
    assert_eq!(
        run(&mut c, "set transaction isolation level serializable"),
        "1568 Transaction characteristics can't be changed while a transaction is in progress"
    );
    assert_eq!(run(&mut c, "commit; set transaction isolation level serializable, read only"), "");
    // Those of the next transaction are no session variables.
    assert_eq!(run(&mut c, "show variables like 'tx_%'"), "tx_isolation|REPEATABLE-READ\ntx_read_only|OFF");
    assert_eq!(run(&mut c, "begin"), "");
    assert_eq!(c.status_flags() & 8193, 8193, "in a read-only transaction");
    assert_eq!(run(&mut c, "commit; begin"), "");
    assert_eq!(c.status_flags() & 8193, 1, "the one after it is not");
}

#[test]
fn show_lists_what_there_is() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "show tables"), "1046 No database selected");
    assert_eq!(run(&mut c, "use nowhere"), "1049 Unknown database 'nowhere'");
    assert_eq!(
        run(&mut c, "show engines"),
        "InnoDB|DEFAULT|Supports transactions, row-level locking, and foreign keys|YES|YES|YES"
    );
    assert_eq!(
        run(&mut c, "show character set like 'utf8mb4'"),
        "utf8mb4|UTF-8 Unicode|utf8mb4_general_ci|4"
    );
    assert_eq!(run(&mut c, "show collation where id = 8"), "latin1_swedish_ci|latin1|8|Yes|Yes|1");
    assert_eq!(run(&mut c, "show databases like 'information%'"), "information_schema");
    assert_eq!(
        run(&mut c, "use information_schema; show tables like 'innodb_lock%'"),
        "INNODB_LOCKS\nINNODB_LOCK_WAITS"
    );
    assert!(run(&mut c, "show columns from engines like 'xa'").starts_with("XA|varchar(3)|YES||NULL|"));
    assert!(run(&mut c, "show processlist").contains("|root|localhost|information_schema|Query|0|"));
    assert!(run(&mut c, "show engine innodb status").contains("END OF INNODB MONITOR OUTPUT"));
    assert_eq!(run(&mut c, "show engine myisam status"), "1286 Unknown storage engine 'myisam'");
    assert_eq!(run(&mut c, "show count(*) errors"), "1");
    assert_eq!(run(&mut c, "show errors"), "Error|1286|Unknown storage engine 'myisam'");
}

/// As 5.6.24 lists them, if it is asked no more often than it looks.
/// A backslash that is the second byte of a character escapes nothing. (Answers of MySQL 5.6.24.)
#[test]
fn statements_in_the_character_sets_of_clients() {
    let opened = open();
    let mut c = root(&opened.db);
    let cases: [(&str, &[u8], &str); 6] = [
        ("gbk", b"select hex('\xD5\\'), hex('a\xD5\\'' '), length('\xD5\\\\\\')", "D55C|61D55C2720|3"),
        ("sjis", b"select hex('\x95\\\\n'), '\x95\\' = _sjis x'955c', 'x'", "955C0A|1|x"),
        ("cp932", b"select hex('\x95\\\\n'), 1, hex('\xB1\\n')", "955C0A|1|B10A"),
        ("big5", b"select hex('\xA5\\'), '\xA5\\' = _utf8 x'e58a9f', 2", "A55C|1|2"),
        ("swe7", b"select hex(_utf8 '{'), hex(convert('{' using utf8)), 3", "7B|C3A4|3"),
        ("latin1", b"select hex('\x95\\''), 1, 2", "9527|1|2"),
    ];
    for (set, sql, answer) in cases {
        assert_eq!(run(&mut c, &format!("set names {set}")), "", "{set}");
        // Twice: read, and found among the plans.
        for _ in 0..2 {
            let mut found = Collected::default();
            c.query(sql, &mut found).unwrap_or_else(|e| panic!("{set}: {e}"));
            let row = &found.results.last().unwrap().rows[0];
            let row: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect();
            assert_eq!(row.join("|"), answer, "{set}");
        }
    }
    assert!(run(&mut c, "set names utf16le").starts_with("1231 "));
}

#[test]
fn who_asks_for_transactions_has_begun_none_by_that() {
    let opened = open();
    let mut c = root(&opened.db);
    let listed = "select count(*), sum(trx_rows_modified) from information_schema.innodb_trx";
    run(&mut c, "create database d; use d; create table t (id int primary key); insert into t values (1)");
    assert_eq!(run(&mut c, listed), "0|NULL");
    run(&mut c, "begin");
    assert_eq!(run(&mut c, listed), "0|NULL");
    assert_eq!(run(&mut c, "select * from t"), "1");
    assert_eq!(run(&mut c, listed), "1|0");
    run(&mut c, "insert into t values (2)");
    assert_eq!(run(&mut c, listed), "1|1");
    run(&mut c, "commit");
    assert_eq!(run(&mut c, listed), "0|NULL");
    run(&mut c, "start transaction with consistent snapshot");
    assert_eq!(run(&mut c, listed), "1|0");
}

#[test]
fn prepared_statements_of_sql() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "execute s"), "1243 Unknown prepared statement handler (s) given to EXECUTE");
    assert_eq!(run(&mut c, "prepare s from 'set @x = ?'"), "");
    assert_eq!(run(&mut c, "execute s"), "1210 Incorrect arguments to EXECUTE");
    assert_eq!(run(&mut c, "deallocate prepare S"), "");
    assert_eq!(
        run(&mut c, "deallocate prepare s"),
        "1243 Unknown prepared statement handler (s) given to DEALLOCATE PREPARE"
    );
    assert!(run(&mut c, "prepare s from 'selec'").starts_with("1064 "));
}

/// They are read once: what they do is for each execution to say.
#[test]
fn prepared_transactions_depend_on_the_session_as_it_is() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create database d; use d; create table t (a int primary key)"), "");
    let [begin, commit, rollback] =
        ["begin", "commit", "rollback"].map(|sql| c.prepare(sql.as_bytes()).expect(sql).id);
    let execute = |c: &mut Connection, id: u32| match c.execute(id, &[], &mut Collected::default()) {
        Ok(()) => String::new(),
        Err(e) => e.code.to_string(),
    };
    let in_transaction = |c: &Connection| c.status_flags() & 1 != 0;
    for (n, end, rows) in [(1, commit, "1"), (2, rollback, "1"), (3, commit, "2")] {
        assert_eq!(execute(&mut c, begin), "");
        assert!(in_transaction(&c));
        assert_eq!(run(&mut c, &format!("insert into t values ({n})")), "");
        assert_eq!(execute(&mut c, end), "");
        assert!(!in_transaction(&c));
        assert_eq!(run(&mut c, "select count(*) from t"), rows);
    }
    assert_eq!(run(&mut c, "set completion_type = chain"), "");
    assert_eq!(execute(&mut c, commit), "");
    assert!(in_transaction(&c));
    assert_eq!(run(&mut c, "set completion_type = no_chain"), "");
    assert_eq!(execute(&mut c, rollback), "");
    assert!(!in_transaction(&c));
    assert_eq!(run(&mut c, "xa start 'x'"), "");
    assert_eq!((execute(&mut c, commit), execute(&mut c, begin)), ("1399".into(), "1399".into()));
    assert_eq!(run(&mut c, "xa end 'x'; xa rollback 'x'"), "");
    let status = run(&mut c, "show session status like 'Com_commit'");
    assert_eq!(status, "Com_commit|4", "an execution counts as what it executes");
}

/// The words alone go no way by the parser: they do what they do there.
#[test]
fn texts_of_transactions_are_what_they_are_among_others() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create database d; use d; create table t (a int primary key)"), "");
    let in_transaction = |c: &Connection| c.status_flags() & 1 != 0;
    let ways = [
        ("begin", "commit", true),
        ("BEGIN", "Rollback", false),
        ("start transaction", "COMMIT", true),
        ("begin;", "commit;", true),
        (" begin work", "rollback -- all of it", false),
    ];
    let mut rows = 0;
    for (n, (begin, end, stays)) in ways.into_iter().enumerate() {
        assert_eq!(run(&mut c, begin), "", "{begin}");
        assert!(in_transaction(&c), "{begin}");
        assert_eq!(run(&mut c, &format!("insert into t values ({n})")), "");
        assert_eq!(run(&mut c, end), "", "{end}");
        assert!(!in_transaction(&c), "{end}");
        rows += usize::from(stays);
        assert_eq!(run(&mut c, "select count(*) from t"), rows.to_string(), "{begin}, {end}");
    }
    assert_eq!(run(&mut c, "show session status like 'Com_begin'"), "Com_begin|5");
    assert_eq!(run(&mut c, "show session status like 'Com_rollback'"), "Com_rollback|2");
    assert_eq!(run(&mut c, "set completion_type = chain; commit"), "");
    assert!(in_transaction(&c));
    assert_eq!(run(&mut c, "set completion_type = no_chain; rollback; xa start 'x'"), "");
    assert!(run(&mut c, "commit").starts_with("1399 "));
    assert!(run(&mut c, "committ").starts_with("1064 "));
    assert_eq!(run(&mut c, "xa end 'x'; xa rollback 'x'"), "");
}

/// One row is the usual case, and its text is made beforehand.
#[test]
fn an_update_tells_what_it_matched() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create database d; use d; create table t (a int primary key, b int, c int)"), "");
    assert_eq!(run(&mut c, "insert into t values (1, 1, 1), (2, 2, 2), (3, 3, 3)"), "");
    let info = |c: &mut Connection, sql: &str| {
        let mut told = Collected::default();
        c.query(sql.as_bytes(), &mut told).expect(sql);
        told.results.pop().expect("a result").done.info
    };
    for (sql, expected) in [
        ("update t set b = 5 where a = 9", "Rows matched: 0  Changed: 0  Warnings: 0"),
        ("update t set b = 5 where a = 1", "Rows matched: 1  Changed: 1  Warnings: 0"),
        ("update t set b = 5 where a = 1", "Rows matched: 1  Changed: 0  Warnings: 0"),
        ("update t set b = 5", "Rows matched: 3  Changed: 2  Warnings: 0"),
        ("update t x join t y on x.a <= y.a set x.c = x.c + 1", "Rows matched: 3  Changed: 3  Warnings: 0"),
        ("update t x join t y on x.a <= y.a set x.c = x.c + 1", "Rows matched: 3  Changed: 3  Warnings: 0"),
    ] {
        assert_eq!(info(&mut c, sql), expected, "{sql}");
    }
    // What an execution that failed left is nothing to the next one.
    assert!(run(&mut c, "update t set a = 3 where a = 1").starts_with("1062 "));
    assert_eq!(info(&mut c, "update t set a = 4 where a = 1"), "Rows matched: 1  Changed: 1  Warnings: 0");
    assert_eq!(run(&mut c, "select * from t order by a"), "2|5|4\n3|5|5\n4|5|3");
}

#[test]
fn a_killed_connection_says_so() {
    let opened = open();
    let (mut a, b) = (root(&opened.db), root(&opened.db));
    assert_eq!(run(&mut a, "kill 99999"), "1094 Unknown thread id: 99999");
    let id = b.id();
    assert_eq!(run(&mut a, &format!("kill query {id}")), "");
    assert!(!b.is_killed());
    assert_eq!(run(&mut a, &format!("kill {id}")), "");
    assert!(b.is_killed());
}

#[test]
fn the_folder_closes_when_sessions_are_gone() {
    let opened = open();
    drop(root(&opened.db));
    opened.db.close().expect("closes");
}

/// As MySQL 5.6.24 says it.
#[test]
fn texts_longer_than_a_packet_are_null() {
    let opened = open();
    assert_eq!(run(&mut root(&opened.db), "set global max_allowed_packet = 1024"), "");
    let mut c = root(&opened.db);
    for (sql, name) in [
        ("select export_set(3, repeat('a', 100), 'b', ',', 64)", ""),
        ("select export_set(1, 'a', repeat('b', 100))", "export_set"),
        ("select export_set(3, repeat('a', 600), 'b')", "export_set"),
        ("select export_set(0, 'a', 'b', repeat(',', 20), 64)", "export_set"),
        ("select weight_string(repeat('a', 1000) as char(1000))", "weight_string"),
        ("select weight_string('a' as char(2000))", "weight_string"),
    ] {
        let answer = run(&mut c, sql);
        if name.is_empty() {
            assert_ne!(answer, "NULL", "{sql}");
            continue;
        }
        assert_eq!(answer, "NULL", "{sql}");
        let warning =
            format!("Warning|1301|Result of {name}() was larger than max_allowed_packet (1024) - truncated");
        assert_eq!(run(&mut c, "show warnings"), warning, "{sql}");
    }
    assert_eq!(run(&mut c, "create database d; create table d.s (s set('a', 'b', 'c'))"), "");
    let truncated = "1265 Data truncated for column 's' at row 1";
    for number in ["18446744073709551615", "9", "-1", "'18446744073709551615'"] {
        assert_eq!(run(&mut c, &format!("insert into d.s values ({number})")), truncated, "{number}");
    }
    assert_eq!(run(&mut c, "insert ignore into d.s values (18446744073709551615)"), "");
    assert_eq!(run(&mut c, "show warnings"), "Warning|1265|Data truncated for column 's' at row 1");
    assert_eq!(run(&mut c, "select s + 0 from d.s"), "7");
}

/// Programs take the names of SHOW's columns from the prepared statement, before it runs.
#[test]
fn prepared_show_names_its_columns_as_it_does_when_it_runs() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database named; use named; create table t (a int)");
    for sql in [
        "show tables",
        "show tables like 't%'",
        "show full tables from mysql",
        "show databases",
        "show databases like 'n%'",
    ] {
        let prepared = c.prepare(sql.as_bytes()).expect(sql);
        let names = |columns: &[vaquita_sql::sink::ColumnMeta]| -> Vec<String> {
            columns.iter().map(|c| String::from_utf8_lossy(&c.name).into_owned()).collect()
        };
        let mut sink = Collected::default();
        c.execute(prepared.id, &[], &mut sink).expect(sql);
        let run = sink.results.pop().expect("a result");
        assert_eq!(names(&prepared.columns), names(&run.columns), "{sql}");
    }
    let prepared = c.prepare(b"show tables").expect("it prepares");
    assert_eq!(&*prepared.columns[0].name, b"Tables_in_named");
}

/// Schemas of applications name other engines: MySQL's own become InnoDB whatever the modes say, unknown ones stay unknown.
#[test]
fn tables_of_other_engines_become_innodb() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d; use d");
    for mode in ["no_engine_substitution", ""] {
        run(&mut c, &format!("set sql_mode = '{mode}'"));
        for engine in ["MyISAM", "memory", "HEAP", "MERGE", "csv", "ARCHIVE", "BLACKHOLE"] {
            let warning = "Warning|1266|Using storage engine InnoDB for table 't'";
            let create = format!("create table t (a int) engine = {engine}; show warnings");
            assert_eq!(run(&mut c, &create), warning, "{engine}");
            let alter = format!("alter table t engine = '{engine}'; show warnings");
            assert_eq!(run(&mut c, &alter), warning, "{engine}");
            let asked = "select engine from information_schema.tables where table_schema = 'd'";
            assert_eq!(run(&mut c, asked), "InnoDB", "{engine}");
            run(&mut c, "drop table t");
        }
    }
    run(&mut c, "set sql_mode = 'no_engine_substitution'; create table t (a int)");
    for sql in ["create table u (a int) engine = fancy", "alter table t engine = fancy"] {
        assert_eq!(run(&mut c, sql), "1286 Unknown storage engine 'fancy'");
    }
    assert_eq!(
        run(&mut c, "set sql_mode = ''; create table u (a int) engine = fancy; show warnings"),
        "Warning|1286|Unknown storage engine 'fancy'\nWarning|1266|Using storage engine InnoDB for table 'u'"
    );
}

/// What a group fixes follows through the conditions of joins, in whatever order they are written.
#[test]
fn only_full_group_by_follows_joins() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d; use d; set sql_mode = 'only_full_group_by'");
    run(&mut c, "create table a (id int primary key, n int); insert into a values (1, 10), (2, 20)");
    run(
        &mut c,
        "create table b (b_id int primary key, a_id int); insert into b values (5, 1), (6, 1), (7, 2)",
    );
    run(
        &mut c,
        "create table g (gid int primary key, b_id int); insert into g values (1, 5), (2, 6), (3, 7)",
    );
    for (sql, answer) in [
        (
            "select a.id, a.n, b.a_id, count(g.gid) from b join g on b.b_id = g.b_id join a on b.a_id = a.id \
             group by b.a_id order by null",
            "1|10|1|2\n2|20|2|1",
        ),
        ("select a.n, count(*) from a join b on a.id = b.a_id group by b.a_id", "10|2\n20|1"),
        ("select b.b_id, a.n from b left join a on a.id = b.a_id group by b.b_id", "5|10\n6|10\n7|20"),
        (
            "select g.gid, a.n from g left join (b join a on a.id = b.a_id) on b.b_id = g.b_id group by g.gid",
            "1|10\n2|10\n3|20",
        ),
    ] {
        assert_eq!(run(&mut c, sql), answer, "{sql}");
    }
    for sql in [
        // Whether there is a partner depends on more than the group.
        "select a.n from b left join a on a.id = b.a_id and b.b_id > 5 group by b.a_id",
        "select a.n from b left join a on a.id = b.a_id and rand() > 2 group by b.a_id",
        "select b.b_id from b join a on a.id = b.a_id group by a.id",
    ] {
        let answer = run(&mut c, sql);
        assert!(answer.starts_with("1055 Expression #1 of SELECT list"), "{sql}: {answer}");
    }
}

#[test]
fn defaults_of_columns_are_told_by_queries() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d; use d; set explicit_defaults_for_timestamp = 1");
    run(
        &mut c,
        "create table m (g int not null auto_increment primary key, a int default 5, b varchar(9) not null default 'xy', \
         c int not null, d timestamp not null default current_timestamp, e int, f datetime default current_timestamp, \
         h text, j decimal(5,2) default 1.5)",
    );
    run(&mut c, "insert into m (c) values (1), (2)");
    // As MySQL 5.6.24.
    for (sql, answer) in [
        ("select default(a), default(m.b), default(d.m.j) from m limit 1", "5|xy|1.50"),
        (
            "select default(d), default(e), default(f), default(g), default(h) from m limit 1",
            "0000-00-00 00:00:00|NULL|NULL|0|NULL",
        ),
        ("select default(c) from m", "1364 Field 'c' doesn't have a default value"),
        ("select default(x) from m", "1054 Unknown column 'x' in 'field list'"),
        ("select default(a)", "1054 Unknown column 'a' in 'field list'"),
        ("select count(*) from m where default(a) = 5 and a = default(a)", "2"),
        ("select (select default(m.a)) from m limit 1", "5"),
        ("select max(default(a)) from m", "5"),
        ("select count(*) from m group by default(a)", "2"),
        ("select default(a) from m having default(a) = 5", "1054 Unknown column 'a' in 'having clause'"),
        ("select g from m order by default(a), g", "1\n2"),
        ("select default(q.a), default(n.a) from m q left join m n on n.g = 77 limit 1", "5|5"),
        ("select default(a) from (select a from m) x limit 1", "5"),
        ("update m set a = default(a) + 1 where g = 1", ""),
        ("delete from m where a = default(a) + 1", ""),
        ("select g, a from m", "2|5"),
    ] {
        assert_eq!(run(&mut c, sql), answer, "{sql}");
    }
}

/// As MySQL 5.6.24 sends them.
#[test]
fn messages_and_headings_are_in_the_character_set_of_results() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d; use d");
    let read: [(&str, &[u8]); 7] = [
        ("latin1", b"'\xe9\\0416\x80'"),
        ("koi8r", b"'\\00E9\xf6\\20AC'"),
        ("cp1251", b"'\\00E9\xc6\x88'"),
        ("ascii", b"'\\00E9\\0416\\20AC'"),
        ("utf8", "'éЖ€'".as_bytes()),
        ("binary", "'éЖ€'".as_bytes()),
        ("ucs2", b"\0'\0\xe9\x04\x16 \xac\0'"),
    ];
    for (set, message) in read {
        run(&mut c, &format!("set character_set_results = {set}"));
        assert_eq!(*c.message("'éЖ€'"), *message, "{set}");
    }
    run(&mut c, "set character_set_results = null");
    assert_eq!(*c.message("'é'"), *"'é'".as_bytes());
    run(&mut c, "set character_set_results = latin1");
    let mut found = Headings::default();
    c.query("show tables like 'é%'".as_bytes(), &mut found).expect("runs");
    assert_eq!(found.0, [b"Tables_in_d (\xe9%)".to_vec()]);
}

/// Names of columns as a client gets them.
#[derive(Default)]
struct Headings(Vec<Vec<u8>>);

impl vaquita_sql::ResultSink for Headings {
    fn columns(
        &mut self,
        columns: &std::sync::Arc<[vaquita_sql::sink::ColumnMeta]>,
    ) -> vaquita_sql::SqlResult<()> {
        self.0 = columns.iter().map(|column| column.name.to_vec()).collect();
        Ok(())
    }

    fn row(&mut self, _: &[vaquita_sql::Value<'_>]) -> vaquita_sql::SqlResult<()> {
        Ok(())
    }

    fn end(&mut self, _: vaquita_sql::Completion) -> vaquita_sql::SqlResult<()> {
        Ok(())
    }
}

/// Words of later versions that are understood and not done, and those that 5.6 takes and does nothing for.
#[test]
fn what_is_not_done_is_not_said_to_be() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d; use d; create table k (id int primary key, v int, key (v))");
    run(&mut c, "create table parent (id int primary key); insert into parent values (1)");
    let unsupported = |what: &str| format!("1235 This version of Vaquita doesn't yet support '{what}'");
    for (sql, answer) in [
        ("create table t (a json, key ((cast(a as unsigned array))))", unsupported("multi-valued indexes")),
        ("alter table k alter index nowhere visible", "1176 Key 'nowhere' doesn't exist in table 'k'".into()),
        ("alter table k alter index v visible", String::new()),
        (
            "alter table k drop check nowhere",
            "3821 Check constraint 'nowhere' is not found in the table.".into(),
        ),
        ("create database e encryption 'y'", unsupported("ENCRYPTION")),
        ("alter database d encryption 'y'", unsupported("ENCRYPTION")),
        ("alter database d encryption 'n'", String::new()),
        ("explain analyze select 1", unsupported("EXPLAIN ANALYZE")),
        // MATCH takes the actions away, says the manual, and so 5.6.24 prints the table.
        (
            "create table child (p int, foreign key (p) references parent (id) match full on delete cascade)",
            String::new(),
        ),
        ("insert into child values (1)", String::new()),
        (
            "delete from parent",
            "1451 Cannot delete or update a parent row: a foreign key constraint fails (`d`.`child`, \
             CONSTRAINT `child_ibfk_1` FOREIGN KEY (`p`) REFERENCES `parent` (`id`))"
                .into(),
        ),
    ] {
        assert_eq!(run(&mut c, sql), answer, "{sql}");
    }
}

/// As MySQL 5.6.24 and MariaDB 10.11 answer. Clients send the end of a C string along.
#[test]
fn a_zero_byte_may_end_a_text_and_be_nowhere_else() {
    let opened = open();
    let mut c = root(&opened.db);
    for (sql, answer) in [
        ("select 1\0", "1"),
        ("select 1 \0 \n", "1"),
        ("select 1; select 2\0", "1; 2"),
        ("select 1;\0", "1; 1065 Query was empty"),
        ("\0", "1065 Query was empty"),
        ("select hex('a\0')", "6100"),
        ("select 1\0\0", "1064"),
        ("select \0 1", "1064"),
        ("select 1\0; select 2", "1064"),
    ] {
        let mut sink = Collected::default();
        let done = c.query(sql.as_bytes(), &mut sink);
        let rows = sink.results.iter().map(|result| result.rows[0][0].clone().unwrap_or_default());
        let mut answers: Vec<String> = rows.collect();
        match done {
            Err(e) if e.code == 1064 => answers.push("1064".into()),
            Err(e) => answers.push(format!("{} {}", e.code, e.message)),
            Ok(()) => {}
        }
        assert_eq!(answers.join("; "), answer, "{sql:?}");
    }
    for (sql, code) in [
        ("select 2\0", 0),
        ("select 2;\0", 0),
        ("select 2\0 ", 0),
        ("select 2\0\0", 1064),
        ("select \0 2", 1064),
    ] {
        assert_eq!(c.prepare(sql.as_bytes()).err().map_or(0, |e| e.code), code, "{sql:?}");
    }
    run(&mut c, "create database d; use d");
    assert_eq!(run(&mut c, "create view v as select 1 as a\0"), "");
    assert_eq!(run(&mut c, "create procedure p() select 'x'\0"), "");
    let mut called = Collected::default();
    c.query(b"call p()", &mut called).expect("it is called");
    assert_eq!(called.results[0].rows[0][0].as_deref(), Some("x"));
    let body = "select routine_definition from information_schema.routines where routine_name = 'p'";
    assert_eq!(run(&mut c, body), "select 'x'");
}

/// As the manual of MySQL 5.7 has it (mysql_reset_connection): values are the global ones, whatever the client said.
#[test]
fn a_reset_session_is_as_new() {
    let opened = open();
    let mut c = root(&opened.db);
    let sets = "select @@character_set_client, @@character_set_connection, @@collation_connection, \
                @@character_set_results, @@character_set_database, @@collation_database";
    run(
        &mut c,
        "create database d character set latin2; use d; create table t (id int auto_increment primary key)",
    );
    let fresh = run(&mut c, sets);
    for changed in
        ["set names latin1", "set collation_connection = utf8_bin", "set character_set_results = null"]
    {
        run(&mut c, changed);
        c.reset().expect("it is reset");
        assert_eq!(run(&mut c, sets), fresh, "{changed}");
    }
    run(&mut c, "set sql_mode = '', @u = 1; insert into t values (); create temporary table tt (a int)");
    run(&mut c, "prepare s from 'select 1'; do get_lock('l', 0); lock tables t write");
    c.reset().expect("it is reset");
    for (sql, answer) in [
        ("select database(), @u, last_insert_id(), found_rows(), is_free_lock('l')", "d|NULL|0|0|1"),
        ("select @@sql_mode = @@global.sql_mode", "1"),
        ("execute s", "1243 Unknown prepared statement handler (s) given to EXECUTE"),
        ("select * from tt", "1146 Table 'd.tt' doesn't exist"),
        ("create table u (a int)", ""),
    ] {
        assert_eq!(run(&mut c, sql), answer, "{sql}");
    }
}

/// As MariaDB 10.11 tells, and as the manual of MySQL 5.7 lists it.
#[test]
fn clients_hear_what_changes_their_session() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d; use d; create table t (a int); set session_track_schema = 0");
    run(&mut c, "set session_track_system_variables = '', session_track_state_change = 1");
    for (sql, told) in [
        ("do 1", false),
        ("set @a = 1", true),
        ("set @a = 1", true),
        ("select @b := 2", true),
        ("select 1 into @c", true),
        ("create temporary table tt (a int)", true),
        ("insert into tt values (1)", false),
        ("alter table tt add b int", true),
        ("drop temporary table tt", true),
        ("prepare s from 'select 1'", true),
        ("execute s", false),
        ("deallocate prepare s", true),
        ("use d", true),
        ("set names utf8", true),
        ("begin", false),
        ("insert into t values (1)", false),
        ("commit", false),
        ("set global max_connections = 151", false),
    ] {
        let mut sink = Collected::default();
        c.query(sql.as_bytes(), &mut sink).expect(sql);
        let changes = sink.results.pop().expect("a result").done.changes;
        assert_eq!(!changes.is_empty(), told, "{sql}: {changes:?}");
    }
    c.set_tells_after_rows(false);
    let mut tells = |sql: &str| {
        let mut sink = Collected::default();
        c.query(sql.as_bytes(), &mut sink).expect(sql);
        !sink.results.pop().expect("a result").done.changes.is_empty()
    };
    assert_eq!([tells("select @b := 2"), tells("do 1"), tells("do 1")], [false, true, false]);
}

#[test]
fn the_line_for_people_has_what_is_counted() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "flush tables; set long_query_time = 0; create database d; create table d.t (a int)");
    let line = c.statistics();
    let number = |name: &str| {
        let rest = line.split_once(&format!("{name}: ")).expect(name).1;
        rest.split(' ').next().expect("a number").parse::<u64>().expect("a number")
    };
    assert_eq!((number("Threads"), number("Flush tables")), (1, 2), "{line}");
    assert!(number("Questions") >= 4 && number("Slow queries") >= 1 && number("Opens") >= 1, "{line}");
}

/// Programs of the time of MySQL 5.6 look for both.
#[test]
fn older_names_are_listed() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "show variables like 'storage_engine'"), "storage_engine|InnoDB");
    let plugin = "select plugin_status from information_schema.plugins where plugin_name = 'partition'";
    assert_eq!(run(&mut c, plugin), "ACTIVE");
}
