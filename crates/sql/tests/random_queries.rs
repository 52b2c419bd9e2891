//! Random queries, each in several forms that must give the same rows ([`vaquita_testkit::queries`]), and as the text of a view.
//!
//! One seed gives the same tables and queries always. `VAQUITA_QUERIES=100000` plays more of them than the few thousand of every
//! day, `VAQUITA_QUERY_SEED=7` others.

use crate::support;

use support::{open, root, run};
use vaquita_sql::Connection;
use vaquita_sql::sink::Collected;
use vaquita_testkit::queries::{Dress, Form, Queries};

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
fn same(c: &mut Connection, queries: &[Form], wanted: &[String], seed: u64) {
    for other in queries {
        assert_eq!(rows(c, &other.sql), wanted, "seed {seed}:\n{}", other.sql);
    }
}

/// A view gives the rows of its text, wherever it stands in a query: merged into it, or made first. Queries that no view can be made
/// of (two columns of one name, variables) are left out.
#[track_caller]
fn same_by_view(c: &mut Connection, query: &str, seed: u64) {
    if !run(c, &format!("create or replace view rv as {query}")).is_empty() {
        return;
    }
    let wanted = rows(c, query);
    let mut forms = vec![
        "select * from rv".to_owned(),
        "select y.* from (select 1 one) x join rv y".to_owned(),
        "select * from (select * from rv) z".to_owned(),
    ];
    if !wanted.is_empty() {
        forms.push("select rv.* from (select 1 one) x left join rv on x.one = 1".to_owned());
        forms.push("select rv.* from rv right join (select 1 one) x on true".to_owned());
    }
    for form in forms {
        assert_eq!(rows(c, &form), wanted, "seed {seed}:\n{query}\n{form}");
    }
    assert_eq!(rows(c, "select count(*) from rv"), [wanted.len().to_string()], "seed {seed}:\n{query}");
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
            let query = random.query(n + seed);
            let plain = random.forms(query, Dress::Plain);
            let wanted = rows(&mut c, &plain[0].sql);
            same(&mut c, &plain[1..], &wanted, seed);
            same_by_view(&mut c, &plain[0].sql, seed);
            // The dresses of one form, and another form in one of them.
            for other in [0, n as usize % plain.len()] {
                let dress = random.dress();
                let dressed = random.forms(query, dress);
                same(&mut c, &dressed[other..=other], &wanted, seed);
            }
        }
    }
}
