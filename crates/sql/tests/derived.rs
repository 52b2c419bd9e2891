//! Derived tables and views that become part of the block around them, as EXPLAIN shows it. What they answer is in `tests/sql`.

use crate::support;

use support::{open, root, run};
use vaquita_sql::Connection;

fn tables(c: &mut Connection) {
    let made = "create database d; use d; create table t (id int primary key, a int, b varchar(10), key (a)); \
                insert into t values (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z'); \
                create table u (id int primary key, n int); insert into u values (1, 2), (2, 9); \
                create table w (a int); \
                create function f(x int) returns int deterministic return x + 1; \
                create view v as select id, a + 1 as p, 'const' as k from t; \
                create view vw as select a, 'const' as k from w";
    assert_eq!(run(c, made), "");
}

/// Tables, how they are read, by which key.
fn steps(c: &mut Connection, sql: &str) -> String {
    let lines = run(c, &format!("explain {sql}"));
    let step = |line: &str| {
        let cells: Vec<&str> = line.split('|').collect();
        match cells[..] {
            [_, _, table, access, _, key, ..] => format!("{table}:{access}:{key}"),
            _ => line.to_owned(),
        }
    };
    lines.lines().map(step).collect::<Vec<_>>().join(" ")
}

#[test]
fn conditions_reach_the_indexes() {
    let opened = open();
    let mut c = root(&opened.db);
    tables(&mut c);
    for (sql, wanted) in [
        ("select * from (select id, a from t where a > 0) d where d.id = 2", "t:const:PRIMARY"),
        ("select * from (select id, a + 1 as p from t) d where id = 2", "t:const:PRIMARY"),
        ("select * from (select * from (select id i from t) e) d where i = 2", "t:const:PRIMARY"),
        (
            "select * from (select t.id, u.n from t join u on u.n = t.id) d where id = 2",
            "t:const:PRIMARY u:ALL:NULL",
        ),
        (
            "select * from u left join (select id, a + 1 as p, 7 as k from t) d on d.id = u.n",
            "u:ALL:NULL t:eq_ref:PRIMARY",
        ),
        ("select * from u left join v on v.id = u.n", "u:ALL:NULL t:eq_ref:PRIMARY"),
        (
            "select id from u where n in (select id from (select id from t) d where d.id = 2)",
            "u:ALL:NULL t:const:PRIMARY",
        ),
        ("select id, x from (select id, a as x from t order by id desc) d", "t:index:PRIMARY"),
    ] {
        assert_eq!(steps(&mut c, sql), wanted, "{sql}");
    }
}

/// What would give other values, or an order that nobody could see, is made first.
#[test]
fn some_are_made_first() {
    let opened = open();
    let mut c = root(&opened.db);
    tables(&mut c);
    for sql in [
        "select * from (select id, rand() as r from t) d where id = 2",
        "select * from (select id, @n as n from t) d where id = 2",
        "select * from (select id, @n := @n + 1 as n from t) d where id = 2",
        "select * from (select id, f(a) as n from t) d where id = 2",
        "select * from (select id from t where sleep(0) = 0) d where id = 2",
        "select * from (select distinct id from t) d where id = 2",
        "select * from (select id from t limit 3) d where id = 2",
        "select * from (select id from t union select 7) d where id = 2",
        "select * from (select id, count(*) from t group by id) d where id = 2",
        "select * from (select id from t having id > 0) d where id = 2",
        "select * from (select id, (select n from u where u.id = t.id) n from t) d where id = 2",
        "select * from (select id, row_number() over () n from t) d where id = 2",
        "select d.* from (select id from t order by a) d, u where d.id = 2",
        "select count(*) from (select id from t order by a) d where id = 2",
        "select p, count(*) from (select a + 1 as p from t) d group by p with rollup",
        "select * from (select id from t) d where id = 2 for update",
        "select * from u left join (select a, 'const' as k from w) d on d.a = u.n",
        "select * from u left join vw on vw.a = u.n",
        "update u, (select id, a from t) d set u.n = d.a where d.id = u.id",
        "delete u from u, (select id from t) d where u.id = d.id",
    ] {
        let told = steps(&mut c, sql);
        assert!(told.contains("<derived"), "{sql}: {told}");
    }
}

/// Columns of a row of NULLs are NULL, whatever they are calculated from.
#[test]
fn what_is_calculated_is_null_where_there_is_no_row() {
    let opened = open();
    let mut c = root(&opened.db);
    tables(&mut c);
    let wanted = "1|2|3|const\n2|NULL|NULL|NULL";
    for from in [
        "u left join v on v.id = u.n",
        "v right join u on v.id = u.n",
        "u left join (select * from v) v on v.id = u.n",
        "u left join (select id, a + 1 as p, 'const' as k from t) v on v.id = u.n",
        "u left join (select i.id, i.p, 'const' as k from (select id, ifnull(a + 1, 0) as p from t) i) v on v.id = u.n",
        "u left join (u x join v on v.id = x.n) on v.id = u.n",
    ] {
        let sql = format!("select u.id, v.id, v.p, v.k from {from} order by u.id");
        assert_eq!(run(&mut c, &sql), wanted, "{sql}");
        let none = format!(
            "select u.id, v.k is null, ifnull(v.k, '-'), count(v.k) over (partition by u.id) from {from} where v.k is null"
        );
        assert_eq!(run(&mut c, &none), "2|1|-|0", "{none}");
        let grouped =
            format!("select v.k, count(*), count(v.k), max(v.k) from {from} group by v.k order by v.k");
        assert_eq!(run(&mut c, &grouped), "NULL|1|0|NULL\nconst|1|1|const", "{grouped}");
    }
}

/// A constant of a derived table is the same in all groups, but where there may be no row of it.
#[test]
fn constants_need_no_groups() {
    let opened = open();
    let mut c = root(&opened.db);
    tables(&mut c);
    assert_eq!(run(&mut c, "select k, count(*) from (select 'k' as k, a from t) d"), "k|3");
    assert_eq!(
        run(
            &mut c,
            "select k, a, sum(id) from (select 'k' as k, a, id from t) d group by a order by a limit 1"
        ),
        "k|1|1"
    );
    let refused =
        run(&mut c, "select d.k, count(*) from u left join (select 'k' as k, id from t) d on d.id = u.n");
    assert!(refused.starts_with("1140 "), "{refused}");
}

/// Who may not read the tables may not read them as derived tables.
#[test]
fn privileges_are_those_of_the_tables() {
    let opened = open();
    let mut c = root(&opened.db);
    tables(&mut c);
    assert_eq!(
        run(
            &mut c,
            "create user u@localhost; grant select (id) on d.t to u@localhost; grant select on d.v to u@localhost"
        ),
        ""
    );
    let mut u = support::connect_as(&opened.db, "u", "localhost").expect("connects");
    assert_eq!(run(&mut u, "select id from (select id from d.t) x where id = 2"), "2");
    assert_eq!(run(&mut u, "select id from (select id, p from d.v) x where id = 2"), "2");
    assert_eq!(run(&mut u, "select x.p from (select id, p from d.v) x where id = 2"), "3");
    let refused = run(&mut u, "select id from (select id, a from d.t) x");
    assert!(refused.starts_with("1143 "), "{refused}");
    for within in ["select n from d.u", "select n from d.t join d.u using (id)"] {
        let refused = run(&mut u, &format!("select n from ({within}) x"));
        assert!(refused.starts_with("1142 "), "{refused}");
    }
    let refused = run(&mut u, "select id from (select id from d.t where id in (select n from d.u)) x");
    assert!(refused.starts_with("1142 "), "{refused}");
}
