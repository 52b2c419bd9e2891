//! Random queries, each in several forms that must give the same rows ([`vaquita_testkit::queries`]).
//!
//! One seed gives the same tables and queries always. `VAQUITA_QUERIES=100000` plays more of them than the few thousand of every
//! day, `VAQUITA_QUERY_SEED=7` others.

mod support;

use support::{open, root, run};
use vaquita_sql::Connection;
use vaquita_sql::sink::Collected;
use vaquita_testkit::queries::{KINDS, Queries, forms};

/// Queries of one set of tables.
const OF_ONE_SET: u64 = 50;

/// The rows in some order; errors are not expected.
#[track_caller]
fn rows(c: &mut Connection, sql: &str) -> Vec<String> {
    let mut sink = Collected::default();
    if let Err(e) = c.query(sql.as_bytes(), &mut sink) {
        panic!("{sql}: {} {}", e.code, e.message);
    }
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".to_owned());
    let row = |row: &Vec<Option<String>>| row.iter().map(cell).collect::<Vec<_>>().join("|");
    let mut rows: Vec<String> = sink.results.iter().flat_map(|r| &r.rows).map(row).collect();
    rows.sort();
    rows
}

/// All of these give the same rows.
#[track_caller]
fn same(c: &mut Connection, queries: &[String], seed: u64) {
    let wanted = rows(c, &queries[0]);
    for other in &queries[1..] {
        assert_eq!(rows(c, other), wanted, "seed {seed}:\n{}\n{other}", queries[0]);
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect(name))
}

#[test]
fn all_forms_of_a_query_give_the_same_rows() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create database d; use d; set sql_mode = ''; set names utf8mb4"), "");
    let (queries, first) = (number("VAQUITA_QUERIES", 2_000), number("VAQUITA_QUERY_SEED", 1));
    for set in 0..queries.div_ceil(OF_ONE_SET) {
        let seed = first + set;
        let mut random = Queries::new(seed);
        for statement in random.tables() {
            assert_eq!(run(&mut c, &statement), "", "{statement}");
        }
        for n in 0..OF_ONE_SET {
            let forms = forms(&mut random, n % KINDS);
            same(&mut c, &forms, seed);
        }
    }
}
