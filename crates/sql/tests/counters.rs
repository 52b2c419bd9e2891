//! What SHOW STATUS counts of queries. The numbers are those that MySQL 5.6.24 was seen to have.

use crate::support;

use support::{open, root, run};
use vaquita_sql::Connection;

const NAMES: [&str; 7] = [
    "Select_full_join",
    "Select_full_range_join",
    "Select_range",
    "Select_scan",
    "Sort_range",
    "Sort_rows",
    "Sort_scan",
];

/// Statements and what they add: `Select_` counters by their first letters, `Sort_` counters.
const COUNTED: &[(&str, &str)] = &[
    ("select 1", ""),
    ("select * from t", "scan=1"),
    ("select count(*) from t", "scan=1"),
    ("select * from t where a = 5", ""),
    ("select * from t where b = 5", ""),
    ("select * from t where b = 5 order by a", ""),
    ("select * from t where a < 5", "range=1"),
    ("select * from t where b < 5", "range=1"),
    ("select * from t where b in (1, 2, 3)", "range=1"),
    ("select * from w order by x", "scan=1 rows=3 sort=1"),
    ("select * from t order by a", "scan=1"),
    ("select * from t order by d", "scan=1 rows=320 sort=1"),
    ("select * from t order by d limit 3", "scan=1 rows=3 sort=1"),
    ("select * from t where b < 5 order by d", "range=1 sort_range=1 rows=4"),
    ("select * from t where b = 5 order by d", "sort_range=1 rows=1"),
    ("select * from w, t where t.a = w.x", "scan=1"),
    ("select * from w, w w2", "full_join=1 scan=1"),
    ("select * from w left join w w2 on w.x = w2.y", "full_join=1 scan=1"),
    ("select * from t left join u on t.d = u.d and u.b < 5 where t.a < 5", "full_range_join=1 range=1"),
    ("select x, count(*) from w group by x", "scan=1 rows=3 sort=1"),
    ("select x, count(*) from w group by x order by null", "scan=1"),
    ("select b, count(*) from t group by b", "scan=1"),
    ("select d, count(*) from t group by d", "scan=1 rows=320 sort=1"),
    ("select d, count(*) from t where b < 5 group by d", "range=1 rows=4 sort=1"),
    ("select distinct x from w", "scan=1"),
    ("select distinct x from w order by x", "scan=1 rows=3 sort=1"),
    ("select max(a) from t", ""),
    ("select max(d) from t", "scan=1"),
    ("select * from w where x = (select max(y) from w)", "scan=2"),
    // However often the subquery runs.
    ("select (select x from w w2 where w2.x = w.x) from w", "scan=2"),
    ("select /*+ NO_MERGE(d) */ * from (select * from w) d", "scan=2"),
    ("select * from (select * from w order by x) d order by y", "scan=2 rows=6 sort=2"),
    ("select * from w union select * from w", "scan=3"),
    ("select * from w union all select * from w order by 1", "scan=3 rows=6 sort=1"),
    ("(select * from w order by x limit 1) union all (select * from w)", "scan=3 rows=1 sort=1"),
    ("select x, y from w group by x, y with rollup", "scan=1 rows=3 sort=1"),
    ("select x from w group by x having count(*) > 0 order by count(*)", "scan=1 rows=3 sort=1"),
    ("select * from t where 1 = 0", ""),
    ("select * from t where a = 1000000", ""),
    ("select * from w where x = 1 limit 0", ""),
    ("select * from w order by x limit 0", ""),
    ("select * from t use index () where b < 5", "scan=1"),
    ("select * from t, u where t.a = u.a and t.b < 5", "range=1"),
    ("select * from w where x is null order by y", "scan=1 sort=1"),
    ("select * from t where a = 5 order by b", ""),
    ("select * from t, w where t.a = 5", "scan=1"),
    ("select * from t, w where t.a = 5 order by w.x", "scan=1 rows=3 sort=1"),
    ("select * from w, t where w.x = t.a order by t.b", "scan=1 rows=3 sort=1"),
    ("select * from information_schema.schemata limit 1", "scan=1"),
    ("update w set y = 1", ""),
    ("update w set y = 2 order by x limit 2", "rows=2 sort=1"),
    ("update t set d = d where b < 5", ""),
    ("update t set d = d where b < 5 order by d", "sort_range=1 rows=4"),
    ("update w, t set w.y = t.b where t.a = w.x", "scan=1"),
    ("delete from w where x > 3", ""),
    ("delete from w where x > 3 order by y", "sort=1"),
    ("insert into w select a, b from t where b < 3 order by d", "range=1 sort_range=1 rows=2"),
    ("insert into w select x + 10, y from w where x < 4", "scan=1"),
];

fn numbers(c: &mut Connection) -> Vec<u64> {
    let number = |name: &str, c: &mut Connection| {
        let line = run(c, &format!("show session status like '{name}'"));
        line.rsplit('|').next().and_then(|n| n.parse().ok()).expect("a number")
    };
    NAMES.iter().map(|name| number(name, c)).collect()
}

#[test]
fn what_queries_do_is_counted_as_by_mysql() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d; use d");
    run(&mut c, "create table t (a int primary key, b int, c int, d int, key (b), key (c, d))");
    let rows: Vec<String> = (1..=320).map(|n| format!("({n},{n},{n},{n})")).collect();
    run(&mut c, &format!("insert into t values {}", rows.join(",")));
    run(&mut c, "create table u like t; insert into u select * from t");
    run(&mut c, "create table w (x int, y int); insert into w values (1,1),(2,2),(3,3)");
    run(&mut c, "analyze table t, u, w");
    let short = ["full_join", "full_range_join", "range", "scan", "sort_range", "rows", "sort"];
    let mut different = Vec::new();
    for (sql, wanted) in COUNTED {
        let before = numbers(&mut c);
        let answer = run(&mut c, sql);
        assert!(!answer.starts_with("1064"), "{sql}: {answer}");
        let after = numbers(&mut c);
        let grown = short.iter().zip(before.iter().zip(&after)).filter(|(_, (b, a))| a > b);
        let grown: Vec<String> = grown.map(|(name, (b, a))| format!("{name}={}", a - b)).collect();
        if grown.join(" ") != *wanted {
            different.push(format!("{sql}: {} instead of {wanted}", grown.join(" ")));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}
