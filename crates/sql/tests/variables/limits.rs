//! Variables that limit: what is refused at the limit, and is not below it.

use crate::variables::support::{connect_as, open, open_with, root, run};
use vaquita_sql::sink::{Collected, SessionChange};
use vaquita_sql::{ConnectInfo, Connection};

#[test]
fn joins_are_as_large_as_they_may_be() {
    let opened = open();
    let mut c = root(&opened.db);
    let too_big = "1104 The SELECT would examine more than MAX_JOIN_SIZE rows; check your WHERE and use \
                   SET SQL_BIG_SELECTS=1 or SET MAX_JOIN_SIZE=# if the SELECT is okay";
    let number = "select @@sql_big_selects, @@max_join_size";
    run(&mut c, "create database d; use d; create table t (a int primary key, b int, c int, key (b))");
    run(
        &mut c,
        "insert into t values (1,1,1),(2,2,2),(3,3,3),(4,4,4),(5,5,5),(6,6,6),(7,7,7),(8,8,8),(9,9,9),(10,10,10)",
    );
    run(&mut c, "create table u like t; insert into u select * from t; analyze table t, u");
    // The plan of before the limit is not the one under it.
    assert_eq!(run(&mut c, "select count(*) from t, u"), "100");
    run(&mut c, "set max_join_size = 110");
    assert_eq!(run(&mut c, number), "0|110");
    assert_eq!(run(&mut c, "select count(*) from t, u"), "100");
    run(&mut c, "set max_join_size = 99");
    assert_eq!(run(&mut c, "select count(*) from t, u"), too_big);
    assert_eq!(run(&mut c, "prepare s from 'select count(*) from t, u'; execute s"), too_big);
    assert_eq!(run(&mut c, "select count(*) from t, u where t.a = u.a"), "10");
    run(&mut c, "set max_join_size = 9");
    for refused in [
        "select count(*) from t",
        "select c from t where c = 3",
        "select (select max(c) from t)",
        "select count(*) from (select * from t) d",
        "select a from t where a = 1 union select c from t",
        "insert into u select a + 100, b, c from t",
        "create table x select * from t",
        "set @a = (select max(c) from t)",
        "update t set c = (select max(c) from u)",
        "update t, u set t.c = 1 where t.a = u.a",
        "delete u from u",
        "delete t from t, u where t.c = u.c + 100",
    ] {
        assert_eq!(run(&mut c, refused), too_big, "{refused}");
    }
    for taken in [
        ("select c from t where a = 3", "3"),
        ("select t.c, u.c from t, u where t.a = 1 and u.a = 2", "1|2"),
        ("select c from t where 1 = 0", ""),
        ("select max(a) from t", "10"),
        ("select count(*) from information_schema.tables where table_schema = 'd'", "2"),
        ("show tables", "t\nu"),
        ("update t set c = 1", ""),
        ("delete from t where c = 77", ""),
    ] {
        assert_eq!(run(&mut c, taken.0), taken.1, "{}", taken.0);
    }
    assert_ne!(run(&mut c, "explain select * from t, u"), too_big);
    // One switch goes with the other.
    run(&mut c, "set sql_big_selects = 1");
    assert_eq!(run(&mut c, "select count(*) from t, u"), "100");
    run(&mut c, "set sql_big_selects = 0");
    assert_eq!(run(&mut c, "select count(*) from t, u"), too_big);
    assert_eq!(run(&mut c, &format!("set max_join_size = default; {number}")), "1|18446744073709551615");
    run(&mut c, "set sql_big_selects = 0");
    assert_eq!(run(&mut c, "select count(*) from t, u"), "100");
    // The greatest limit is none: there are 10 to the power of 20 combinations.
    run(&mut c, "set sql_big_selects = 1");
    let many: Vec<String> = (0..20).map(|n| format!("t t{n}")).collect();
    assert_eq!(run(&mut c, &format!("select 1 from {} limit 1", many.join(", "))), "1");
    run(&mut c, "set global max_join_size = 5");
    assert_eq!(run(&mut c, "select @@global.sql_big_selects, @@global.max_join_size"), "0|5");
    let mut other = root(&opened.db);
    assert_eq!(run(&mut other, "select count(*) from d.t"), too_big);
    // What this layer reads of its own tables has no limit.
    assert_eq!(run(&mut other, "create user a@b; create user c@d; create user e@f; flush privileges"), "");
    run(&mut other, "set global max_join_size = default");
    assert_eq!(run(&mut other, "select @@global.sql_big_selects"), "1");
}

#[test]
fn connections_are_counted() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create user 'web'@'%'");
    assert_eq!(run(&mut c, "set global max_connections = 2"), "");
    let web = connect_as(&opened.db, "web", "%").expect("the second");
    let refused = connect_as(&opened.db, "web", "%").expect_err("the third");
    assert_eq!((refused.code, &*refused.message), (1040, "Too many connections"));
    drop(connect_as(&opened.db, "root", "localhost").expect("one more for SUPER"));
    drop(web);
    run(&mut c, "set global max_connections = 100, global max_user_connections = 1");
    let web = connect_as(&opened.db, "web", "%").expect("the first");
    let refused = connect_as(&opened.db, "web", "%").expect_err("the second");
    // As 5.6.24 says it.
    let more = "already has more than 'max_user_connections' active connections";
    assert_eq!((refused.code, &*refused.message), (1203, format!("User web {more}").as_str()));
    // Another account is counted by itself, and an anonymous one for all who use it.
    assert_eq!(run(&mut c, "create user web@localhost, ''@localhost"), "");
    let by_other = connect_as(&opened.db, "web", "localhost").expect("the first of another account");
    let anybody = connect_as(&opened.db, "x", "localhost").expect("the first without a name");
    let refused = connect_as(&opened.db, "y", "localhost").expect_err("the second without a name");
    assert_eq!((refused.code, &*refused.message), (1203, format!("User  {more}").as_str()));
    drop((anybody, by_other));
    // The limit of the account goes before that of all.
    assert_eq!(run(&mut c, "grant usage on *.* to web@'%' with max_user_connections 2"), "");
    let mut second = connect_as(&opened.db, "web", "%").expect("the second");
    assert_eq!(run(&mut second, "select @@max_user_connections, @@global.max_user_connections"), "2|1");
    let refused = connect_as(&opened.db, "web", "%").expect_err("the third");
    let exceeded = "User 'web' has exceeded the 'max_user_connections' resource (current value: 2)";
    assert_eq!((refused.code, &*refused.message), (1226, exceeded));
    drop((web, second));
    assert!(connect_as(&opened.db, "web", "%").is_ok());
}

#[test]
fn prepared_statements_are_counted() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "set global max_prepared_stmt_count = 1; prepare a from 'select 1'"), "");
    assert_eq!(
        run(&mut c, "prepare b from 'select 1'"),
        "1461 Can't create more than max_prepared_stmt_count statements (current value: 1)"
    );
    assert_eq!(run(&mut c, "deallocate prepare a; prepare b from 'select 1'"), "");
}

fn filled(c: &mut Connection) {
    run(c, "create database d; use d; create table n (i int primary key, v int, t varchar(100))");
    for from in (0..4000).step_by(1000) {
        let rows: Vec<String> =
            (from..from + 1000).map(|i| format!("({i}, {}, 'text {i}')", i * 7 % 4000)).collect();
        assert_eq!(run(c, &format!("insert into n values {}", rows.join(","))), "");
    }
}

/// What `Sort_merge_passes` and `Created_tmp_disk_tables` of the session grow by.
fn grows(c: &mut Connection, sql: &str) -> [u64; 2] {
    let counts = |c: &Connection| {
        let status = &c.state().status;
        [status.sort_merge_passes, status.created_tmp_disk_tables]
    };
    let before = counts(c);
    assert!(!run(c, sql).is_empty(), "{sql}");
    let after = counts(c);
    [after[0] - before[0], after[1] - before[1]]
}

#[test]
fn what_does_not_fit_in_memory_goes_to_the_disk() {
    let opened = open();
    let mut c = root(&opened.db);
    filled(&mut c);
    let sorts = "select v, t from n where i < 500 order by t, v";
    assert_eq!(grows(&mut c, sorts), [0, 0]);
    run(&mut c, "set sort_buffer_size = 32768");
    assert_ne!(grows(&mut c, sorts)[0], 0);
    run(&mut c, "set sort_buffer_size = default");
    let groups = "select v % 1000, count(*) from n group by v % 1000";
    assert_eq!(grows(&mut c, groups)[1], 0);
    run(&mut c, "set tmp_table_size = 1024");
    assert_ne!(grows(&mut c, groups)[1], 0);
    // The smaller one counts.
    run(&mut c, "set tmp_table_size = default, max_heap_table_size = 16384");
    assert_ne!(grows(&mut c, groups)[1], 0);
    run(&mut c, "set max_heap_table_size = default");
    assert_eq!(grows(&mut c, groups)[1], 0);
    // The inner table of a join has the larger one of both.
    let joins = "select count(*) from n a join n b on a.v = b.v";
    run(&mut c, "set tmp_table_size = 1024, join_buffer_size = 16777216");
    assert_eq!(grows(&mut c, joins)[1], 0);
    run(&mut c, "set join_buffer_size = 128");
    assert_ne!(grows(&mut c, joins)[1], 0);
}

#[test]
fn a_server_that_is_read_only_changes_nothing() {
    let opened = open();
    let mut c = root(&opened.db);
    run(
        &mut c,
        "create database d; create table d.t (a int); create user 'web'@'%'; grant all on d.* to 'web'@'%'",
    );
    let mut web = connect_as(&opened.db, "web", "%").expect("connects");
    let insert = "insert into d.t values (1)";
    let refused = |option: &str| {
        format!(
            "1290 The MySQL server is running with the --{option} option so it cannot execute this statement"
        )
    };
    assert_eq!(run(&mut c, "set global read_only = 1"), "");
    assert_eq!(run(&mut web, insert), refused("read-only"));
    assert_eq!(run(&mut c, insert), "");
    assert_eq!(run(&mut c, "set global super_read_only = 1"), "");
    assert_eq!(run(&mut c, insert), refused("super-read-only"));
    assert_eq!(run(&mut c, "set global super_read_only = 0, global read_only = 0"), "");
    assert_eq!(run(&mut web, insert), "");
}

#[test]
fn databases_are_shown_to_those_who_may_see_them() {
    for (value, answer) in [("OFF", "information_schema"), ("ON", "")] {
        let opened = open_with(&[("skip_show_database", value)]);
        run(&mut root(&opened.db), "create user 'web'@'%'");
        let mut web = connect_as(&opened.db, "web", "%").expect("connects");
        let shown = run(&mut web, "show databases");
        match answer {
            "" => assert!(shown.starts_with("1227 ") && shown.contains("SHOW DATABASES"), "{shown}"),
            _ => assert_eq!(shown, answer),
        }
    }
}

#[test]
fn new_accounts_have_the_method_that_is_said() {
    for method in ["mysql_native_password", "caching_sha2_password"] {
        let opened = open_with(&[("default_authentication_plugin", method)]);
        let mut c = root(&opened.db);
        run(&mut c, "create user 'web'@'%' identified by 'secret'");
        assert_eq!(run(&mut c, "select plugin from mysql.user where user = 'web'"), method);
    }
}

/// What clients are told of a session's changes.
#[test]
fn changes_of_the_session_are_told_as_it_is_said() {
    let opened = open();
    let mut c = root(&opened.db);
    let changes = |c: &mut Connection, sql: &str| {
        let mut sink = Collected::default();
        c.query(sql.as_bytes(), &mut sink).expect(sql);
        sink.results.pop().expect("a result").done.changes
    };
    run(&mut c, "create database d");
    assert_eq!(changes(&mut c, "use d"), [SessionChange::Schema("d".into())]);
    run(&mut c, "set session_track_schema = 0");
    assert_eq!(changes(&mut c, "use d"), []);
    assert_eq!(changes(&mut c, "set sql_safe_updates = 0"), []);
    run(&mut c, "set session_track_system_variables = 'sql_safe_updates'");
    let told = SessionChange::Variable { name: "sql_safe_updates".into(), value: "OFF".into() };
    assert_eq!(changes(&mut c, "set sql_safe_updates = 0"), std::slice::from_ref(&told));
    run(&mut c, "set session_track_state_change = 1");
    assert_eq!(changes(&mut c, "set sql_safe_updates = 0"), [told, SessionChange::State]);
    let person = ConnectInfo { database: Some("d".into()), ..ConnectInfo::embedded() };
    drop(opened.db.connect(person).expect("connects"));
}

#[test]
fn only_super_stays_in_offline_mode() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create user 'web'@'%'; create user 'boss'@'%'; grant super on *.* to 'boss'@'%'");
    let web = connect_as(&opened.db, "web", "%").expect("connects");
    let boss = connect_as(&opened.db, "boss", "%").expect("connects");
    assert_eq!(run(&mut c, "set global offline_mode = on"), "");
    assert!(web.is_killed() && !boss.is_killed() && !c.is_killed());
    let refused = connect_as(&opened.db, "web", "%").expect_err("nobody comes in");
    assert_eq!((refused.code, &*refused.message), (3032, "The server is currently in offline mode"));
    assert!(connect_as(&opened.db, "boss", "%").is_ok());
    drop((web, boss));
    assert_eq!(run(&mut c, "set global offline_mode = off"), "");
    assert!(connect_as(&opened.db, "web", "%").is_ok());
}

/// As MySQL 8.0's manual says.
#[test]
fn tables_have_a_primary_key_if_that_is_required() {
    let opened = open();
    let mut c = root(&opened.db);
    run(
        &mut c,
        "create database d; use d; create table old (a int not null, unique (a)); create table k (a int primary key)",
    );
    assert_eq!(run(&mut c, "set sql_require_primary_key = 1"), "");
    for refused in [
        "create table t (a int)",
        "create table t (a int not null unique)",
        "create table t like old",
        "create table t select 1 as a",
        "alter table old add b int",
        "alter table k drop primary key",
    ] {
        let answer = run(&mut c, refused);
        assert!(
            answer.starts_with("3750 Unable to create or change a table without a primary key"),
            "{answer}"
        );
    }
    for taken in [
        "create table t (a int primary key)",
        "create table l like k",
        "alter table k drop primary key, add b int auto_increment primary key",
        "alter table old rename to older",
        "alter table older add primary key (a)",
    ] {
        assert_eq!(run(&mut c, taken), "", "{taken}");
    }
    run(&mut c, "create user 'web'@'%'");
    let mut web = connect_as(&opened.db, "web", "%").expect("connects");
    assert!(run(&mut web, "set sql_require_primary_key = 0").starts_with("1227 "));
}

/// As MySQL 5.6.24: up to the first statement that fails; the server starts all the same.
#[test]
fn statements_of_the_start_are_run() {
    let opened = open();
    std::fs::write(
        opened.path().join("init.sql"),
        "create database d;\ncreate table d.t (a int);\nselect nonsense;\ncreate table d.u (a int);\n",
    )
    .expect("a file");
    let opened =
        opened.reopen_with(&[("init_file", "init.sql"), ("innodb_buffer_pool_size", "16M")]).expect("opens");
    assert_eq!(run(&mut root(&opened.db), "show tables from d"), "t");
    let notes = opened.db.start_notes();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert_eq!(notes[1], "ERROR: 1054  Unknown column 'nonsense' in 'field list'");
    let missing = opened.reopen_with(&[("init_file", "none.sql"), ("innodb_buffer_pool_size", "16M")]);
    assert!(missing.err().expect("refused").message.contains("'none.sql' cannot be read"));
}
