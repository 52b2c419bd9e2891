//! Temporary tables beside other sessions, plans, accounts and crashes. What they answer alone is in the script `temporary`.

use crate::support;

use support::{connect_as, open, open_with, root, run};

#[test]
fn every_session_sees_its_own() {
    let opened = open();
    let (mut a, mut b, mut c) = (root(&opened.db), root(&opened.db), root(&opened.db));
    run(
        &mut a,
        "create database d; use d; create table t (id int primary key, v varchar(10)); insert into t values (1, 'base')",
    );
    for session in [&mut b, &mut c] {
        run(session, "use d");
    }
    let read = "select v from t where id = 1";
    // The plan of the table is shared before any session has another under the name.
    for session in [&mut a, &mut b, &mut c] {
        assert_eq!(run(session, read), "base");
        assert_eq!(run(session, "prepare p from 'select v from t where id = ?'; set @one = 1"), "");
        assert_eq!(run(session, "execute p using @one"), "base");
    }
    run(
        &mut b,
        "create temporary table t (x int, id int primary key, v varchar(10)); insert into t values (0, 1, 'b')",
    );
    run(&mut c, "create temporary table t (id int, v varchar(10), key (id)); insert into t values (1, 'c')");
    for _ in 0..3 {
        for (session, own) in [(&mut a, "base"), (&mut b, "b"), (&mut c, "c")] {
            assert_eq!(run(session, read), own);
            assert_eq!(run(session, "execute p using @one"), own);
        }
    }
    run(&mut b, "drop temporary table t");
    assert_eq!((run(&mut b, read), run(&mut b, "execute p using @one")), ("base".into(), "base".into()));
    assert_eq!((run(&mut c, read), run(&mut c, "execute p using @one")), ("c".into(), "c".into()));
    run(&mut c, "alter table t rename to u");
    assert_eq!((run(&mut c, read), run(&mut c, "execute p using @one")), ("base".into(), "base".into()));
    run(&mut c, "alter table u rename to t, drop column v, add column v varchar(5) default 'new' first");
    assert_eq!((run(&mut c, read), run(&mut c, "execute p using @one")), ("new".into(), "new".into()));
    // A table goes under the one that hides it.
    run(&mut a, "drop table t");
    assert_eq!(run(&mut c, read), "new");
    assert_eq!(run(&mut b, read), "1146 Table 'd.t' doesn't exist");
}

#[test]
fn they_go_with_their_session() {
    let opened = open();
    let mut a = root(&opened.db);
    run(
        &mut a,
        "create database d; use d; create temporary table t (id int primary key); insert into t values (1)",
    );
    let tables = || opened.db.engine().core().temporary_tables();
    assert_eq!(tables(), 1);
    let mut b = root(&opened.db);
    let told = "select name, n_cols, per_table_tablespace, is_compressed from information_schema.innodb_temp_table_info";
    assert_eq!(run(&mut b, told), "d/t|4|FALSE|FALSE");
    a.reset().expect("it is reset");
    assert_eq!(run(&mut a, "select * from d.t"), "1146 Table 'd.t' doesn't exist");
    assert_eq!(tables(), 0);
    run(&mut a, "use d; create temporary table t (id int primary key); begin; insert into t values (1)");
    assert_eq!(tables(), 1);
    drop(a);
    support::until("the session is over", || tables() == 0);
}

#[test]
fn a_crash_leaves_nothing_of_them() {
    let mut opened = open();
    for round in 0..3 {
        let mut a = root(&opened.db);
        run(
            &mut a,
            "create database if not exists d; use d; create table if not exists h (i int primary key)",
        );
        run(&mut a, "create temporary table t (i int primary key, v varchar(200), key (v))");
        for i in 0..500 {
            let row = format!("insert into t values ({i}, repeat('{round}', {}))", i % 200);
            assert_eq!(run(&mut a, &row), "");
        }
        run(&mut a, &format!("insert into h values ({round})"));
        run(
            &mut a,
            &format!(
                "begin; insert into h values (100 + {round}); update t set v = 'x'; delete from t where i < 90"
            ),
        );
        assert_eq!(run(&mut a, "select count(*), min(i), max(v) from t"), "410|90|x");
        assert!(opened.path().join("ibtmp1").exists());
        drop(a);
        opened = opened.crash_and_open_with(&[]).expect("it opens");
        assert!(!opened.path().join("ibtmp1").exists());
        let mut a = root(&opened.db);
        let rows: Vec<String> = (0..=round).map(|i| i.to_string()).collect();
        assert_eq!(run(&mut a, "select * from d.h"), rows.join("\n"));
        assert_eq!(run(&mut a, "select * from d.t"), "1146 Table 'd.t' doesn't exist");
        assert_eq!(run(&mut a, "check table d.h"), "d.h|check|status|OK");
    }
}

#[test]
fn they_may_be_larger_than_the_pool() {
    let opened = open_with(&[("innodb_buffer_pool_size", "5M")]);
    let mut a = root(&opened.db);
    run(
        &mut a,
        "create database d; use d; create temporary table t (i int auto_increment primary key, v varchar(255), key (v))",
    );
    run(
        &mut a,
        "insert into t (v) values (repeat('a', 200)), (repeat('b', 200)), (repeat('c', 200)), (repeat('d', 200))",
    );
    for _ in 0..13 {
        assert_eq!(run(&mut a, "insert into t (v) select concat(left(v, 190), i) from t"), "");
    }
    let before = run(&mut a, "select count(*), sum(i), sum(crc32(v)) from t");
    assert!(before.starts_with("32768|"), "{before}");
    run(
        &mut a,
        "begin; update t set v = reverse(v) where i % 3 = 0; delete from t where i % 5 = 0; insert into t (v) select v from t limit 1000",
    );
    assert_ne!(run(&mut a, "select count(*), sum(i), sum(crc32(v)) from t"), before);
    run(&mut a, "rollback");
    assert_eq!(run(&mut a, "select count(*), sum(i), sum(crc32(v)) from t"), before);
    assert_eq!(run(&mut a, "select count(*), sum(i), sum(crc32(v)) from t force index (v)"), before);
    assert_eq!(run(&mut a, "check table t"), "d.t|check|status|OK");
}

#[test]
fn who_may_make_them() {
    let opened = open();
    let mut r = root(&opened.db);
    run(&mut r, "create database d; create table d.secret (i int); insert into d.secret values (42)");
    run(&mut r, "create user maker@localhost; grant create temporary tables on d.* to maker@localhost");
    run(&mut r, "create user other@localhost; grant select on d.* to other@localhost");
    let mut m = connect_as(&opened.db, "maker", "localhost").expect("connects");
    assert_eq!(run(&mut m, "use d; create temporary table t (i int primary key)"), "");
    // What it has made is its own.
    for (sql, answer) in [
        ("insert into t values (1), (2)", ""),
        ("update t set i = 3 where i = 2", ""),
        ("delete from t where i = 1", ""),
        ("select * from t", "3"),
        ("alter table t add j int, add key (j)", ""),
        ("create index k on t (j, i)", ""),
        ("drop index k on t", ""),
        ("show columns from t", "i|int(11)|NO|PRI|NULL|\nj|int(11)|YES|MUL|NULL|"),
        ("create temporary table u like t", ""),
        ("create temporary table w select * from t", ""),
        ("truncate table t", ""),
        ("select count(*) from t, u, w", "0"),
        ("lock tables t write", ""),
        ("unlock tables", ""),
        ("drop table t, u, w", ""),
        // And nothing else.
        ("select * from t", "1142 SELECT command denied to user 'maker'@'localhost' for table 't'"),
        ("select * from secret", "1142 SELECT command denied to user 'maker'@'localhost' for table 'secret'"),
        (
            "create temporary table s select * from secret",
            "1142 SELECT command denied to user 'maker'@'localhost' for table 'secret'",
        ),
        (
            "create temporary table s like secret",
            "1142 SELECT command denied to user 'maker'@'localhost' for table 'secret'",
        ),
        ("create table s (i int)", "1142 CREATE command denied to user 'maker'@'localhost' for table 's'"),
        ("drop table secret", "1142 DROP command denied to user 'maker'@'localhost' for table 'secret'"),
        ("create temporary table secret (i int); drop table secret", ""),
        ("drop table secret", "1142 DROP command denied to user 'maker'@'localhost' for table 'secret'"),
        (
            "create temporary table e.t (i int)",
            "1044 Access denied for user 'maker'@'localhost' to database 'e'",
        ),
    ] {
        assert_eq!(run(&mut m, sql), answer, "{sql}");
    }
    let mut o = connect_as(&opened.db, "other", "localhost").expect("connects");
    let denied = "1044 Access denied for user 'other'@'localhost' to database 'd'";
    assert_eq!(run(&mut o, "use d; create temporary table t (i int)"), denied);
    assert_eq!(run(&mut o, "create temporary table t select * from secret"), denied);
    assert_eq!(run(&mut o, "select * from secret"), "42");
}

#[test]
fn a_server_that_is_read_only_has_them() {
    let opened = open();
    let mut r = root(&opened.db);
    run(
        &mut r,
        "create database d; create table d.h (i int); create user u@localhost; grant all on d.* to u@localhost; set global read_only = 1",
    );
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    let refused =
        "1290 The MySQL server is running with the --read-only option so it cannot execute this statement";
    assert_eq!(run(&mut u, "use d; insert into h values (1)"), refused);
    assert_eq!(
        run(
            &mut u,
            "create temporary table t (i int); insert into t values (1), (2); update t set i = i + 1; select * from t"
        ),
        "2\n3"
    );
    assert_eq!(run(&mut u, "insert into h select * from t"), refused);
    assert_eq!(run(&mut u, "drop temporary table t"), "");
}

#[test]
fn transactions_of_two_phases_leave_them_behind() {
    let opened = open();
    let mut a = root(&opened.db);
    run(
        &mut a,
        "create database d; use d; create table h (i int primary key); create temporary table t (i int primary key)",
    );
    run(
        &mut a,
        "xa start 'x'; insert into h values (1); insert into t values (1); xa end 'x'; xa prepare 'x'",
    );
    run(&mut a, "xa rollback 'x'");
    assert_eq!(run(&mut a, "select * from h"), "");
    run(
        &mut a,
        "delete from t; xa start 'y'; insert into h values (2); insert into t values (2); xa end 'y'; xa prepare 'y'; xa commit 'y'",
    );
    assert_eq!(run(&mut a, "select h.i, t.i from h, t"), "2|2");
    run(&mut a, "xa start 'z'; insert into t values (3); xa end 'z'; xa rollback 'z'");
    assert_eq!(run(&mut a, "select * from t"), "2");
}

#[test]
fn the_victim_of_a_deadlock_loses_its_changes_of_them() {
    let opened = open();
    let (mut a, mut b) = (root(&opened.db), root(&opened.db));
    run(
        &mut a,
        "create database d; use d; create table h (i int primary key, v int); insert into h values (1, 0), (2, 0), (3, 0), (4, 0)",
    );
    run(&mut b, "use d");
    run(&mut a, "create temporary table t (i int primary key); insert into t values (1)");
    // The one that has changed less is chosen.
    run(&mut b, "begin; update h set v = 1 where i in (2, 3, 4)");
    run(&mut a, "begin; update h set v = 1 where i = 1; insert into t values (2)");
    let waiter = std::thread::spawn(move || {
        assert_eq!(run(&mut b, "update h set v = 2 where i = 1"), "");
        run(&mut b, "commit");
    });
    support::until("it waits", || {
        run(&mut root(&opened.db), "select count(*) from information_schema.innodb_lock_waits") == "1"
    });
    let answer = run(&mut a, "update h set v = 3 where i = 2");
    assert!(answer.starts_with("1213 "), "{answer}");
    waiter.join().expect("it goes on");
    assert_eq!(run(&mut a, "select * from t"), "1");
    assert_eq!(run(&mut a, "insert into t values (2); select count(*) from t"), "2");
}
