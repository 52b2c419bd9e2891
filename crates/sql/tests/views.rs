//! With whose privileges views are used, made and shown; what sessions see of views that others change. Answers of MySQL 5.6.24.

use crate::support;

use support::{connect_as, open, root, run};

#[test]
fn privileges_of_definers_and_invokers() {
    let opened = open();
    let mut c = root(&opened.db);
    for sql in [
        "create database p",
        "create table p.t (a int, b int)",
        "insert into p.t values (1,2)",
        "create user r@localhost",
        "create user c@localhost",
        "create view p.vd as select a,b from p.t",
        "create sql security invoker view p.vi as select a from p.t",
        "grant select on p.vd to r@localhost",
        "grant select on p.vi to r@localhost",
        "grant create view on p.* to c@localhost",
        "grant select(b) on p.t to c@localhost",
        "create definer=nobody@localhost view p.vn as select 1 x",
        "create definer=c@localhost view p.vc as select a from p.t",
        "create definer=c@localhost view p.vb as select b from p.t",
        "create view p.nest as select a from p.vi",
        "create definer=r@localhost view p.nest2 as select a from p.vi",
    ] {
        assert_eq!(run(&mut c, sql), "", "{sql}");
    }
    let tried = |c: &mut vaquita_sql::Connection, list: &[(&str, &str)]| {
        for (sql, answer) in list {
            let told = run(c, sql);
            assert!(told.starts_with(answer) && answer.is_empty() == told.is_empty(), "{sql}: {told}");
        }
    };
    let mut r = connect_as(&opened.db, "r", "localhost").expect("connects");
    tried(
        &mut r,
        &[
            ("select * from p.vd", "1|2"),
            ("select count(*) from p.vd where b = 2", "1"),
            ("select * from p.vi", "1356 View 'p.vi' references invalid table(s)"),
            ("select * from p.t", "1142 SELECT command denied to user 'r'@'localhost' for table 't'"),
            ("show create view p.vd", "1142 SHOW VIEW command denied to user 'r'@'localhost' for table 'vd'"),
            ("create view p.x as select 1", "1142 CREATE VIEW command denied"),
            ("drop view p.vd", "1142 DROP command denied to user 'r'@'localhost' for table 'vd'"),
            ("select table_name, view_definition from information_schema.views order by 1", "vd|\nvi|"),
            ("lock tables p.vd read", "1044 Access denied"),
            ("explain select * from p.vi", "1356 "),
            ("insert into p.t select a, a from p.vi", "1142 "),
        ],
    );
    let mut by_c = connect_as(&opened.db, "c", "localhost").expect("connects");
    tried(
        &mut by_c,
        &[
            ("create view p.x1 as select a from p.t", "1143 "),
            ("create view p.x2 as select b from p.t", ""),
            ("create view p.x3 as select b from p.t where a = 1", "1143 SELECT command denied"),
            ("select * from p.x2", "1142 SELECT command denied to user 'c'@'localhost' for table 'x2'"),
            ("create or replace view p.x2 as select 1", "1142 DROP command denied"),
            ("create definer=root@localhost view p.x4 as select 1", "1227 Access denied; you need"),
            ("create view p.x5 as select 1", ""),
        ],
    );
    let through = [
        ("select * from p.vn", "1449 The user specified as a definer ('nobody'@'localhost') does not exist"),
        ("select * from p.vc", "1356 View 'p.vc' references"),
        ("select * from p.vb", "2"),
        ("select * from p.nest", "1"),
        ("select * from p.nest2", "1356 View 'p.nest2' references"),
        ("select * from p.x2", "2"),
    ];
    tried(&mut c, &through);
    // A plan that is cached asks again.
    tried(&mut c, &[("select * from p.vb", "2")]);
    assert_eq!(run(&mut c, "revoke select(b) on p.t from c@localhost"), "");
    tried(&mut c, &[("select * from p.vb", "1356 ")]);
    tried(&mut r, &[("select * from p.vd", "1|2")]);
    assert_eq!(run(&mut c, "revoke select on p.vd from r@localhost"), "");
    tried(&mut r, &[("select * from p.vd", "1142 ")]);
}

#[test]
fn sessions_see_what_others_make_of_a_view() {
    let opened = open();
    let (mut c, mut other) = (root(&opened.db), root(&opened.db));
    for sql in ["create database d", "create table d.t (a int)", "insert into d.t values (1), (2)"] {
        assert_eq!(run(&mut c, sql), "");
    }
    assert_eq!(run(&mut c, "create view d.v as select a from d.t"), "");
    let select = "select * from d.v order by 1";
    for _ in 0..3 {
        assert_eq!(run(&mut other, select), "1\n2");
    }
    assert_eq!(run(&mut c, "alter view d.v as select a + 10 as a from d.t"), "");
    assert_eq!(run(&mut other, select), "11\n12");
    assert_eq!(run(&mut c, "drop view d.v"), "");
    assert_eq!(run(&mut other, select), "1146 Table 'd.v' doesn't exist");
    assert_eq!(run(&mut c, "create table d.v (z int)"), "");
    assert_eq!(run(&mut c, "insert into d.v values (7)"), "");
    assert_eq!(run(&mut other, select), "7");
    assert_eq!(run(&mut c, "drop table d.v"), "");
    assert_eq!(run(&mut c, "create view d.v as select a from d.t where a > 1"), "");
    assert_eq!(run(&mut other, select), "2");
    assert_eq!(run(&mut c, "alter table d.t add column b int first"), "");
    assert_eq!(run(&mut other, select), "2");
    // A temporary table hides it.
    assert_eq!(run(&mut other, "create temporary table d.v (q int)"), "");
    assert_eq!(run(&mut other, select), "");
    assert_eq!(run(&mut c, select), "2");
    assert_eq!(run(&mut other, "drop temporary table d.v"), "");
    assert_eq!(run(&mut other, select), "2");
    // Whoever has used it in a transaction keeps it: others wait to change it.
    assert_eq!(run(&mut other, "begin"), "");
    assert_eq!(run(&mut other, select), "2");
    assert_eq!(run(&mut c, "set lock_wait_timeout = 1"), "");
    assert!(run(&mut c, "drop view d.v").starts_with("1205 "));
    assert_eq!(run(&mut other, "commit"), "");
    assert_eq!(run(&mut c, "drop view d.v"), "");
    drop((c, other));
    // What is made is there when the folder is opened again.
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create view d.w as select count(*) n from d.t"), "");
    drop(c);
    let opened = opened.reopen();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "select n from d.w"), "2");
}

#[test]
fn who_writes_through_a_view_needs_its_privileges_and_the_definer_those_of_the_table() {
    let opened = open();
    let mut c = root(&opened.db);
    for sql in [
        "create database p",
        "create table p.t (a int primary key, b int default 3, c int)",
        "insert into p.t values (1,2,3), (2,3,4)",
        "create user d@localhost",
        "create user w@localhost",
        "grant select (a, b), update (b), insert (a) on p.t to d@localhost",
        "create definer=d@localhost view p.vd as select a, b from p.t",
        "create definer=d@localhost view p.whole as select a, b, c from p.t",
        "create sql security invoker view p.vi as select a, b, c from p.t",
        "create view p.vr as select a, b, c from p.t",
        "create view p.nest as select a as x, b as y from p.vd",
        "grant select, insert, update, delete on p.vd to w@localhost",
        "grant select, insert, update, delete on p.vi to w@localhost",
        "grant select (a, b), update (b), insert (a, b) on p.vr to w@localhost",
        "grant select, update on p.nest to w@localhost",
        "grant select (a) on p.whole to w@localhost",
    ] {
        assert_eq!(run(&mut c, sql), "", "{sql}");
    }
    let mut w = connect_as(&opened.db, "w", "localhost").expect("connects");
    for (sql, answer) in [
        ("update p.vd set b = 5 where a = 1", ""),
        ("update p.vd set a = 5 where a = 1", "1356 View 'p.vd' references invalid table(s)"),
        ("insert into p.vd (a) values (7)", ""),
        ("insert into p.vd values (8, 8)", "1356 View 'p.vd' "),
        ("insert into p.vd (a) values (7) on duplicate key update b = 9", ""),
        ("replace into p.vd (a) values (7)", "1356 View 'p.vd' "),
        ("delete from p.vd where a = 7", "1356 View 'p.vd' "),
        ("update p.nest set y = y + 1 where x = 1", ""),
        ("update p.nest set x = 1", "1356 View 'p.nest' "),
        (
            "insert into p.nest (x) values (9)",
            "1142 INSERT command denied to user 'w'@'localhost' for table 'nest'",
        ),
        ("delete from p.nest", "1142 DELETE command denied to user 'w'@'localhost' for table 'nest'"),
        // Only what is named is asked for.
        ("select a from p.whole", "1\n2\n7"),
        ("select c from p.whole", "1143 SELECT command denied to user 'w'@'localhost' for column 'c'"),
        ("update p.vi set b = 1", "1356 View 'p.vi' "),
        ("insert into p.vi (a) values (11)", "1356 View 'p.vi' "),
        ("update p.vr set b = 6 where a = 2", ""),
        (
            "update p.vr set c = 6 where a = 2",
            "1143 UPDATE command denied to user 'w'@'localhost' for column 'c'",
        ),
        (
            "update p.vr set b = 6 where c = 2",
            "1143 SELECT command denied to user 'w'@'localhost' for column 'c'",
        ),
        ("insert into p.vr (a, b) values (12, 12)", ""),
        (
            "insert into p.vr (a, c) values (13, 12)",
            "1143 INSERT command denied to user 'w'@'localhost' for column 'c'",
        ),
        ("delete from p.vr", "1142 DELETE command denied to user 'w'@'localhost' for table 'vr'"),
        ("update p.vr, p.vd set vr.b = 4 where vr.a = vd.a and vd.a = 12", ""),
        ("update p.t set b = 1", "1142 UPDATE command denied to user 'w'@'localhost' for table 't'"),
    ] {
        let told = run(&mut w, sql);
        assert!(told.starts_with(answer) && answer.is_empty() == told.is_empty(), "{sql}: {told}");
    }
    assert_eq!(run(&mut c, "select * from p.t order by a"), "1|6|3\n2|6|4\n7|9|NULL\n12|4|NULL");
    // What a view runs with is asked again of a plan that is kept.
    assert_eq!(run(&mut w, "update p.vd set b = 7 where a = 1"), "");
    assert_eq!(run(&mut c, "revoke update (b) on p.t from d@localhost"), "");
    assert!(run(&mut w, "update p.vd set b = 8 where a = 1").starts_with("1356 "));
    assert_eq!(run(&mut c, "select b from p.t where a = 1"), "7");
}

#[test]
fn rows_that_come_through_a_view_are_complete() {
    let opened = open();
    let mut c = root(&opened.db);
    for (sql, answer) in [
        ("create database d", ""),
        ("use d", ""),
        (
            "create table t (a int primary key, b int default (a * 2), g int as (a + b) stored, \
             constraint few check (b < 100))",
            "",
        ),
        ("create view v as select a as x, b as y, g as z from t where g < 150 with check option", ""),
        ("create view n as select x, y from v", ""),
        ("insert into v (x) values (1)", ""),
        ("insert into v (x, y) values (2, 30)", ""),
        ("insert into v (x, y) values (3, 100)", "3819 "),
        ("insert into v (x, y) values (80, 75)", "1369 CHECK OPTION failed 'd.v'"),
        ("insert into v (x, z) values (3, 3)", "3105 "),
        ("insert into v (x, z) values (3, default)", ""),
        ("update v set y = 99 where x = 1", ""),
        ("update v set y = y + 1 where x = 1", "3819 "),
        ("update v set x = 80 where x = 1", "1369 "),
        ("update v set y = default where x = 1", ""),
        ("update v set z = 1", "3105 "),
        ("insert into v (x) values (1) on duplicate key update y = values(y) + x", ""),
        ("insert into v (x) values (1) on duplicate key update x = 110, y = 90", "1369 "),
        // It has no CHECK OPTION of its own.
        ("update n set x = 90, y = 80 where x = 1", ""),
        ("select * from t order by a", "2|30|32\n3|6|9\n90|80|170"),
        ("select * from v order by x", "2|30|32\n3|6|9"),
        ("create or replace view v as select a as x from t", ""),
        ("insert into n (x) values (1)", "1356 "),
    ] {
        let told = run(&mut c, sql);
        assert!(told.starts_with(answer) && answer.is_empty() == told.is_empty(), "{sql}: {told}");
    }
}

#[test]
fn a_merged_view_costs_what_its_table_does() {
    let opened = open();
    let (mut c, mut other) = (root(&opened.db), root(&opened.db));
    for sql in [
        "create database d",
        "create table d.t (a int primary key, b int, c int, key (b, a))",
        "insert into d.t values (1,1,1), (2,2,2), (3,3,3), (4,4,4)",
        "create view d.v as select a, b, c from d.t where b > 1",
        "create view d.w as select v.a, v.b, t.c from d.v join d.t on t.a = v.a",
        "create algorithm=temptable view d.x as select a, b, c from d.t",
    ] {
        assert_eq!(run(&mut c, sql), "", "{sql}");
    }
    let explained = |c: &mut vaquita_sql::Connection, sql: &str| run(c, &format!("explain {sql}"));
    let of_view = explained(&mut c, "select c from d.v where a = 2");
    assert_eq!(of_view, explained(&mut c, "select c from d.t where a = 2 and b > 1"));
    // A column that nobody names is not read: the index is enough.
    let covered = explained(&mut c, "select a from d.v where b = 3");
    assert!(covered.contains("Using index"), "{covered}");
    let joined = explained(&mut c, "select * from d.w where a = 3");
    assert!(joined.contains("const") && !joined.contains("DERIVED"), "{joined}");
    assert!(explained(&mut c, "select a from d.x").contains("DERIVED"));
    // Rows of the table are locked, and no others.
    assert_eq!(run(&mut c, "begin"), "");
    assert_eq!(run(&mut c, "select a from d.v where a = 2 for update"), "2");
    assert_eq!(run(&mut other, "set innodb_lock_wait_timeout = 1"), "");
    assert!(run(&mut other, "update d.t set c = 9 where a = 2").starts_with("1205 "));
    assert_eq!(run(&mut other, "update d.v set c = 9 where a = 3"), "");
    assert_eq!(run(&mut c, "commit"), "");
    assert_eq!(run(&mut other, "update d.v set c = 9 where a = 2"), "");
    assert_eq!(run(&mut c, "select * from d.w order by a"), "2|2|9\n3|3|9\n4|4|4");
}
