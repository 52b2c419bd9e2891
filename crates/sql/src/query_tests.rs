//! Queries under small limits of memory: the same rows in the same order, and no more bytes than allowed.

use crate::{ConnectInfo, Connection, Database};
use std::sync::Arc;
use vaquita_base::ManualClock;
use vaquita_engine::{Engine, Options};
use vaquita_io::sim::SimDisk;
use vaquita_session::sink::Collected;

/// Bytes that a query may keep under the small limits, and what the last row of all may take besides.
const LIMIT: usize = 20_000;
const ROW: usize = 1_000;

fn session() -> Connection {
    let disk = SimDisk::new(9);
    disk.put_dir("/".as_ref());
    let mut options = Options::new("/db");
    options.background = false;
    options.storage.buffer_pool_size = 48 << 20;
    let engine = Engine::open_with(Arc::new(disk), Arc::new(ManualClock::new()), options).expect("it opens");
    let db = Database::on_engine(engine, &[]).expect("a database");
    let mut connection = db.connect(ConnectInfo::embedded()).expect("a session");
    run(
        &mut connection,
        "create database d; use d;
         create table t (id int primary key, a int, b varchar(100), c int) charset utf8;
         create table u (id int primary key, a int, b varchar(100)) charset utf8;
         insert into t values (0, 0, 'zero', 0), (1, 1, 'One', 1), (2, null, null, 2)",
    );
    // 3 * 2^10 rows.
    for n in 0..10 {
        let doubled = format!(
            "insert into t select id + {0}, (id + {0}) * 7919 % 1013, concat('Value ', (id + {0}) * 31 % 1511, repeat('x', id % 50)),
             id % 7 from t",
            3 << n
        );
        run(&mut connection, &doubled);
    }
    run(
        &mut connection,
        "insert into u select id, if(id % 11 = 0, null, id % 700), upper(b) from t where id < 2000",
    );
    connection
}

/// The rows of the last statement.
fn run(connection: &mut Connection, sql: &str) -> Vec<Vec<Option<String>>> {
    let mut sink = Collected::default();
    connection.query(sql.as_bytes(), &mut sink).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    sink.results.pop().map(|result| result.rows).unwrap_or_default()
}

/// Runs a query with enough memory and with little.
fn compare(connection: &mut Connection, sql: &str) {
    run(connection, "set tmp_table_size = default, sort_buffer_size = default, join_buffer_size = default");
    connection.state_mut().kept_most = 0;
    let wanted = run(connection, sql);
    let most = connection.state().kept_most;
    assert!(most > LIMIT + ROW, "{sql}: nothing to write, {most} bytes");
    let small = format!("set tmp_table_size = {LIMIT}, sort_buffer_size = 32768, join_buffer_size = 128");
    run(connection, &small);
    connection.state_mut().kept_most = 0;
    let found = run(connection, sql);
    let most = connection.state().kept_most;
    assert!(most > LIMIT / 2 && most <= LIMIT + ROW, "{sql}: {most} bytes");
    assert_eq!(found.len(), wanted.len(), "{sql}");
    let differs = found.iter().zip(&wanted).position(|(a, b)| a != b);
    assert_eq!(differs.map(|i| (i, &found[i], &wanted[i])), None, "{sql}");
    assert!(wanted.len() > 1, "{sql}");
}

#[test]
fn results_do_not_depend_on_the_memory() {
    let mut connection = session();
    for sql in [
        // Groups: in the order of their first rows, or sorted.
        "select b, count(*), min(id), max(c), sum(a), group_concat(id order by id desc) from t group by b order by null",
        "select b, a, count(*) from t group by b, a",
        "select a, c, avg(id), count(distinct b) from t group by a, c having count(*) > 0 order by a desc, c",
        "select b, count(*) n from t group by b order by n desc, b limit 20 offset 5",
        "select t.b, count(u.id) from t left join u on u.id = t.id group by t.b order by null",
        // Values of COUNT(DISTINCT): in place, of several columns, of groups, on copies.
        "select count(distinct b), count(*) from t union all select 1, 2",
        "select count(distinct b, a), count(distinct id), sum(c) from t union all select 1, 2, 3",
        "select count(distinct t.b, u.b) from t join u on t.id = u.id union all select 1",
        "select c, count(distinct b), count(distinct id, a), max(b) from t group by c order by null",
        "select c, count(distinct b), sum(distinct c) from t group by c having count(distinct b) > 5 order by c desc limit 3",
        "select c, count(distinct b) from t group by c with rollup",
        // DISTINCT, in place and on copies, sorted, cut off.
        "select distinct a, b from t",
        "select distinct b from t order by b desc",
        "select distinct b, c from t order by length(b), c, b limit 700",
        "select distinct b from t limit 1200",
        "select sql_calc_found_rows distinct a from t limit 900, 50",
        "select distinct b, (select max(u.id) from u where u.id = t.id) from t",
        // Unions.
        "select b from t union select b from u",
        "select a, b from t union select a, b from u order by b, a",
        "select b from t union select b from u union all select b from u where id < 5",
        "select id, b from t union select id, b from u limit 3000, 100",
        // Derived tables, where they are kept.
        "select x.* from u straight_join (select id, a, b from t) x where u.id < 3 and x.a > 3",
        "select count(*), sum(y.id) from u straight_join (select id, b from t order by b) y where u.id < 3 union select 1, 2",
        "select x.n, u.b from (select a, count(*) n from t group by a, b) x join u on u.id = x.a",
        // What subqueries give, by key; NULL among it or not.
        "select id from t where b in (select b from u where id % 3 = 0)",
        "select id, a in (select a from u) from t",
        "select id from t where b not in (select b from u where b is not null)",
        // Joins by hash, inner and outer, with more rows of a key, NULL and conditions beside the key.
        "select t.id, u.id from t join u on t.a = u.a where t.id < 500",
        "select t.id, u.id, u.b from t left join u on t.a = u.a and u.id % 3 = 1 where t.id < 400",
        "select t.id, u.id from t join u on t.a <=> u.a where t.id < 300",
        "select t.id, u.id from t join u on t.b = u.b order by u.id, t.id",
        "select t.id, u.id from t join u on t.c + 1 < u.a % 5 where t.id < 5",
    ] {
        compare(&mut connection, sql);
    }
    // What was counted is the same, too.
    run(&mut connection, "select sql_calc_found_rows distinct a from t limit 5");
    let little = run(&mut connection, "select found_rows()");
    run(&mut connection, "set tmp_table_size = default");
    run(&mut connection, "select sql_calc_found_rows distinct a from t limit 5");
    assert_eq!(run(&mut connection, "select found_rows()"), little);
}

#[test]
fn what_is_in_a_subquery_is_what_equals_a_row_of_it() {
    let mut connection = session();
    for (of_t, of_u) in [
        ("t.b", "u.b"),
        ("t.a", "u.a"),
        ("cast(t.a as decimal(20, 4))", "u.a"),
        ("date '2000-01-01' + interval t.a day", "date '2000-01-01' + interval u.a day"),
    ] {
        let by_key = format!("select id from t where {of_t} in (select {of_u} from u where u.a is not null)");
        let row_by_row = format!(
            "select id from t where exists (select 1 from u where u.a is not null and {of_t} = {of_u})"
        );
        let found = run(&mut connection, &by_key);
        assert_eq!(found, run(&mut connection, &row_by_row), "{by_key}");
        assert!(found.len() > 100 && found.len() < 3_072, "{by_key}: {}", found.len());
    }
}

#[test]
fn sorts_under_latches_are_written_without() {
    let mut connection = session();
    let sql = "select id, b, repeat(b, 3) from t order by b desc, id";
    let wanted = run(&mut connection, sql);
    run(&mut connection, "set sort_buffer_size = 32768");
    assert_eq!(run(&mut connection, sql), wanted);
    let rollup = "select a, c, count(*), max(b) from t group by a, c with rollup";
    let little = run(&mut connection, rollup);
    run(&mut connection, "set sort_buffer_size = default");
    assert_eq!(run(&mut connection, rollup), little);
}
