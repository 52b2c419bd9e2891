//! Which statements share a plan, and when a plan is made anew.

use crate::support;

use support::{open, root, run};
use vaquita_sql::sink::Collected;
use vaquita_sql::types::{Date, Decimal};
use vaquita_sql::{Connection, Value};

/// Plans that a session has made so far.
fn made(c: &mut Connection) -> u64 {
    let shown = run(c, "show session status like 'Vaquita_plans_made'");
    shown.rsplit('|').next().and_then(|n| n.parse().ok()).expect("a number")
}

/// Rows of a prepared statement, as [`run`] shows them.
fn execute(c: &mut Connection, id: u32, params: &[Value<'_>]) -> String {
    let mut sink = Collected::default();
    if let Err(e) = c.execute(id, params, &mut sink) {
        return format!("{} {}", e.code, e.message);
    }
    let rows = sink.results.last().map(|r| r.rows.clone()).unwrap_or_default();
    let cell = |c: Option<String>| c.unwrap_or_else(|| "NULL".into());
    let rows: Vec<String> =
        rows.into_iter().map(|r| r.into_iter().map(cell).collect::<Vec<_>>().join("|")).collect();
    rows.join(",")
}

fn filled(c: &mut Connection) {
    run(c, "create database d; use d");
    run(c, "create table t (id int primary key, n decimal(10,2), c varchar(20), k int, key (k))");
    run(c, "create table u (id int primary key, c varchar(20))");
    run(
        c,
        "insert into t values (1, 1.50, 'one', 10), (2, 2.25, 'two', 20), (5, 5, 'five', 50), (-3, null, 'less', null)",
    );
    run(c, "insert into u values (5, 'five')");
}

#[test]
fn a_text_and_a_prepared_statement_share_one_plan() {
    let opened = open();
    let (mut a, mut b) = (root(&opened.db), root(&opened.db));
    filled(&mut a);
    run(&mut b, "use d");
    let id = a.prepare(b"select c from t where id=?").expect("prepares").id;
    assert_eq!(execute(&mut a, id, &[Value::Int(5)]), "five");
    let before = (made(&mut a), made(&mut b));
    assert_eq!(run(&mut b, "select c from t where id=2"), "two");
    assert_eq!(run(&mut b, "select c from t where id=5"), "five");
    let other = b.prepare(b"select c from t where id=?").expect("prepares").id;
    assert_eq!(execute(&mut b, other, &[Value::Int(1)]), "one");
    assert_eq!(execute(&mut b, other, &[Value::Int(-3)]), "less");
    assert_eq!(execute(&mut b, other, &[Value::Null]), "");
    assert_eq!(execute(&mut a, id, &[Value::Int(1)]), "one");
    assert_eq!((made(&mut a), made(&mut b)), before);
}

#[test]
fn a_prepared_statement_finds_the_plan_of_a_text() {
    let opened = open();
    let mut c = root(&opened.db);
    filled(&mut c);
    for (prepared, params, text, rows) in [
        (
            "select c from t where n=?",
            vec![Value::Decimal(Decimal::parse(b"2.25").value)],
            "select c from t where n=1.50",
            "two",
        ),
        ("select id from t where c=?", vec![Value::bytes(b"TWO")], "select id from t where c='one'", "2"),
        (
            "select id from t where c=?",
            vec![Value::bytes("zw\u{f6}lf".as_bytes())],
            "select id from t where c='one'",
            "",
        ),
        (
            "select c from t where id in (?, 2) and k > ? order by id limit ?",
            vec![Value::Int(5), Value::Int(1), Value::Int(9)],
            "select c from t where id in (1, 2) and k > 0 order by id limit 3",
            "two,five",
        ),
        (
            "select c from t where k=20 and id=?",
            vec![Value::Int(2)],
            "select c from t where k=10 and id=1",
            "two",
        ),
    ] {
        let id = c.prepare(prepared.as_bytes()).expect(prepared).id;
        run(&mut c, text);
        let before = made(&mut c);
        assert_eq!(execute(&mut c, id, &params), rows, "{prepared}");
        assert_eq!(execute(&mut c, id, &params), rows, "{prepared}");
        assert_eq!(made(&mut c), before, "{prepared}");
    }
}

#[test]
fn values_of_other_kinds_have_plans_of_their_own() {
    let opened = open();
    let mut c = root(&opened.db);
    filled(&mut c);
    let id = c.prepare(b"select c from t where id=?").expect("prepares").id;
    let date = Date { year: 2020, month: 1, day: 1 };
    let mut before = made(&mut c);
    for (value, rows) in [
        (Value::Int(5), "five"),
        (Value::bytes(b"5"), "five"),
        (Value::Double(5.0), "five"),
        (Value::Decimal(Decimal::parse(b"5.5").value), ""),
        (Value::UInt(5), "five"),
        (Value::Date(date), ""),
    ] {
        assert_eq!(execute(&mut c, id, std::slice::from_ref(&value)), rows, "{value:?}");
        assert_eq!(made(&mut c), before + 1, "{value:?}");
        assert_eq!(execute(&mut c, id, std::slice::from_ref(&value)), rows, "{value:?}");
        before += 1;
        assert_eq!(made(&mut c), before, "{value:?}");
    }
    // Where no literal is lifted, its text belongs to the statement.
    let id = c.prepare(b"select ? from u").expect("prepares").id;
    run(&mut c, "select 7 from u");
    let before = made(&mut c);
    assert_eq!(execute(&mut c, id, &[Value::Int(7)]), "7");
    assert_eq!(execute(&mut c, id, &[Value::Int(8)]), "8");
    assert_eq!(made(&mut c), before + 1);
}

#[test]
fn a_changed_table_costs_its_own_plans_only() {
    let opened = open();
    let mut c = root(&opened.db);
    filled(&mut c);
    let (of_t, of_u) = ("select c from t where id=5", "select c from u where id=5");
    let prepared = c.prepare(b"select c from u where id=?").expect("prepares").id;
    for sql in [of_t, of_u] {
        assert_eq!(run(&mut c, sql), "five");
    }
    assert_eq!(execute(&mut c, prepared, &[Value::Int(5)]), "five");
    run(&mut c, "alter table t modify c varchar(30), add x int");
    let before = made(&mut c);
    assert_eq!(run(&mut c, of_u), "five");
    assert_eq!(execute(&mut c, prepared, &[Value::Int(5)]), "five");
    assert_eq!(made(&mut c), before);
    assert_eq!(run(&mut c, of_t), "five");
    assert_eq!(made(&mut c), before + 1);
    run(&mut c, "alter table u change c c2 varchar(20), add c int default 8");
    assert_eq!(run(&mut c, of_u), "8");
    assert_eq!(execute(&mut c, prepared, &[Value::Int(5)]), "8");
    run(&mut c, "drop table u");
    assert_eq!(run(&mut c, of_u), "1146 Table 'd.u' doesn't exist");
    run(&mut c, "create table u (id int primary key, c date); insert into u values (5, '2020-02-02')");
    assert_eq!(run(&mut c, of_u), "2020-02-02");
    assert_eq!(execute(&mut c, prepared, &[Value::Int(5)]), "2020-02-02");
    run(&mut c, "drop database d");
    assert_eq!(run(&mut c, "select c from d.u where id=5"), "1146 Table 'd.u' doesn't exist");
}
