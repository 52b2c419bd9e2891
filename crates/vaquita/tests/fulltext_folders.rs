//! Full-text searches in folders that a MySQL 5.6.24 has made: the same statements get the same rows in the same order, the
//! same ranks, plans and errors as from the server itself.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use vaquita_clients::Vaquita;
use vaquita_peers::{Mysql56, Options};

const BINARY: &str = env!("CARGO_BIN_EXE_vaquita");

const TABLES: &str = "
    create database k; use k; set names utf8;
    create table art (id int primary key, title varchar(100), body text, n int, key (n),
                      fulltext key tb (title, body), fulltext key body (body)) charset utf8;
    create table other (id int primary key, a varchar(100), fulltext key a (a)) charset latin1;
    create table plain (id int primary key, a varchar(100)) charset latin1;
    create view v as select id, title, body, match (title, body) against ('apple') r from art;
    insert into art values (1, 'apple pie', 'pear', 1), (2, 'pear', 'apple apple', 2), (3, 'fig', 'kiwi apple', 3),
      (4, null, null, 4), (5, 'grape', 'the fig apple pear', 5), (6, 'x', 'nothing', 6), (7, 'y', 'other words', 7),
      (8, 'Äpfel', 'été naïve café', 8), (9, 'more', 'pear, fig, kiwi and grape', 9), (10, 'more', 'of the same', 10);
    insert into other values (1, 'apple'), (2, 'kiwi'), (3, 'été'), (4, 'yyy');
    insert into plain values (1, 'apple'), (2, 'kiwi');
    delete from art where id = 10;
    analyze table art, other;";

/// Statements whose answers are compared, rows in their order.
const QUERIES: [&str; 51] = [
    "select id from art where match (title, body) against ('apple')",
    "select id, match (body, title) against ('apple pear') from art where match (title, body) against ('apple pear')",
    "select id, match (title, body) against ('apple') m from art",
    "select id, match (body) against ('apple') m from art order by m desc, id",
    "select id from art where not match (title, body) against ('apple')",
    "select id from art where match (title, body) against (concat('app', 'le'))",
    "select id from art where match (title, body) against (null)",
    "select id from art where match (title, body) against (5)",
    "select art.id, other.id from art join other where match (art.title, art.body) against ('pear') order by 1, 2",
    "select id from art x where match (x.title, x.body) against ('apple')",
    "select id from art where match (title, body) against ('+apple -pie' in boolean mode)",
    "select id from art where match (title, body) against ('+fig +(pear grape)' in boolean mode) order by id",
    "select id from art where match (title, body) against ('>fig <pear' in boolean mode)",
    "select id from art where match (title, body) against ('\"fig apple\"' in boolean mode)",
    "select id from art where match (title, body) against ('\"pear kiwi\"@3' in boolean mode)",
    "select id from art where match (title, body) against ('ap* caf*' in boolean mode) order by id",
    "select id from art where match (title, body) against ('apfel')",
    "select id from art where match (title, body) against ('ETE')",
    "select id from other where match (a) against ('ete')",
    "select count(*) from art where match (title, body) against ('apple')",
    "select id from v where r > 0 order by id",
    "select id from v where match (title, body) against ('pear') order by id",
    "select id from art where match (title, body) against ('apple') and id > 1",
    "select id from art where match (title, body) against ('apple') or id = 7",
    "select id from art where match (title, body) against ('apple') and id = 3",
    "select id from art where match (title, body) against ('apple') and match (body) against ('pear')",
    "select id from art where id in (select id from other where match (a) against ('apple'))",
    "select id, (select match (other.a) against ('apple') from other where other.id = art.id) s from art",
    "select id, (select count(*) from other where match (art.title, art.body) against ('apple')) s from art",
    "select art.id from other left join art on art.id = other.id where match (art.title, art.body) against ('apple')",
    "select other.id, match (art.title, art.body) against ('apple') from other left join art on art.id = other.id + 6",
    "select max(match (title, body) against ('apple')) from art",
    "select id from art order by match (title, body) against ('apple') desc, id",
    "select id from art where match (title, body) against ('apple') limit 2",
    "select id from art where match (title, body) against ('apple') limit 1, 2",
    "select id, match (title, body) against ('kiwi' with query expansion) from art \
     where match (title, body) against ('kiwi' with query expansion)",
    "select id from art where match (title, body) against ('apple') is null",
    "select id, match (title, body) against ('apple') + 1 from art where id = 1",
    "select n, count(*) from art where match (title, body) against ('apple') group by n order by n",
    "select id from art where match (title, body) against ('pear') union select id from other order by id",
    "explain select id from art where match (title, body) against ('apple')",
    // Errors.
    "select id from art where match (title) against ('apple')",
    "select id from art where match (n) against ('apple')",
    "select id from plain where match (a) against ('apple')",
    "select id from art where match (title, body) against (body)",
    "select art.id from art join other where match (art.title, other.a) against ('pear')",
    "select id from (select id, title from art) d where match (title) against ('apple')",
    "select id from art where match (title, body) against ('+' in boolean mode)",
    "select id from art where match (title, body) against ('apple (pear' in boolean mode)",
    "select id from art where match (title, body) against ('\"apple pear\"@x' in boolean mode)",
    "select id from art having match (title, body) against ('apple')",
];

/// An answer, or number and words of the error.
fn told(answer: Result<String, String>) -> String {
    answer.unwrap_or_else(|error| {
        let start = error.find("ERROR ").unwrap_or(0);
        let line = error[start..].lines().next().unwrap_or_default();
        line.replace(" at line 1", "")
    })
}

#[test]
fn searches_are_answered_as_by_the_server() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    theirs.sql(TABLES).unwrap();
    let ask = |query: &str| format!("use k; set names utf8; {query}");
    let expected: Vec<_> =
        QUERIES.iter().map(|query| told(theirs.sql(&ask(query)).map_err(|e| e.to_string()))).collect();
    let dir = theirs.datadir().to_owned();
    theirs.shutdown().unwrap();

    let mut ours = Vaquita::start(Path::new(BINARY), &dir, &["--take-over", "--skip-grant-tables"]).unwrap();
    let mut wrong = Vec::new();
    for (query, expected) in QUERIES.iter().zip(&expected) {
        let answer = told(ours.sql(&ask(query)).map_err(|e| e.to_string()));
        // The stock client is asked with headings there and without here.
        let expected = match expected.starts_with("ERROR") {
            true => expected.clone(),
            false => expected.split_once('\n').map_or(String::new(), |(_, rows)| rows.to_owned()),
        };
        if answer != expected {
            wrong.push(format!("{query}\nours:\n{answer}theirs:\n{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), QUERIES.len(), wrong.join("\n"));
    ours.stop().unwrap();
}

/// Lengths of words are settings of a server: whoever has others must say so here, too. The first word of a phrase is looked for
/// only if it has a length that is indexed; documents that the server has not written are read by the same rule.
#[test]
fn words_are_as_long_as_it_is_said() {
    let sizes = [("innodb_ft_min_token_size", "2"), ("innodb_ft_max_token_size", "10")];
    let options = sizes.iter().fold(Options::new(), |options, (name, value)| options.set(name, value));
    let mut theirs = Mysql56::start(options).unwrap();
    theirs
        .sql(
            "create database k; use k;
             create table t (id int primary key, a text, fulltext key a (a)) charset utf8;
             insert into t values (1, 'ab cd'), (2, 'cd ab'), (3, 'abcdefghijk xyz'), (4, 'abcdefghij xyz'), (5, 'x xyz'), (6, 'q');
             analyze table t;",
        )
        .unwrap();
    let queries = ["\"ab cd\"", "\"abcdefghijk xyz\"", "\"abcdefghij xyz\"", "+ab +cd", "x.ab", "abcdefghijk"].map(|query| {
        format!("select id, match (a) against ('{query}' in boolean mode) from k.t where match (a) against ('{query}' in boolean mode)")
    });
    let expected = queries.each_ref().map(|query| theirs.rows(query).unwrap());
    let dir = theirs.datadir().to_owned();
    // With words in its memory only.
    theirs.kill();

    let options = sizes.map(|(name, value)| format!("--{name}={value}"));
    let options = ["--take-over", "--skip-grant-tables", &options[0], &options[1]];
    let mut ours = Vaquita::start(Path::new(BINARY), &dir, &options).unwrap();
    for (query, expected) in queries.iter().zip(&expected) {
        let answer = ours.sql(query).unwrap();
        let rows: Vec<Vec<_>> =
            answer.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect();
        assert_eq!(&rows, expected, "{query}");
    }
    assert_eq!(ours.sql("select @@innodb_ft_min_token_size, @@innodb_ft_max_token_size").unwrap(), "2\t10\n");
    ours.stop().unwrap();
    let mut ours = Vaquita::start(Path::new(BINARY), &dir, &["--skip-grant-tables"]).unwrap();
    let changed = queries
        .iter()
        .zip(&expected)
        .filter(|(query, expected)| ours.sql(query).unwrap().lines().count() != expected.len());
    assert!(changed.count() >= 2, "the defaults are others");
    ours.stop().unwrap();
}
