//! With whose privileges views are used, made and shown; what sessions see of views that others change. Answers of MySQL 5.6.24.

mod support;

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
