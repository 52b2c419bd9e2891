//! Deleted documents are removed from the lists of FULLTEXT indexes in the background, from `vaquita_ft_optimize_deleted` of them on:
//! what is found does not change by it, it goes on where it stopped, and it is in nobody's way.

use crate::support;

use std::time::{Duration, Instant};
use support::{Opened, open, root, run, until};
use vaquita_sql::Connection;

/// A table of 3000 words in the lists, half of whose documents are gone.
fn table() -> (Opened, Connection) {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "set global vaquita_ft_optimize_deleted = 0; create database d; use d");
    run(&mut c, "create table t (id int primary key, a text, fulltext k (a))");
    for id in 0..60 {
        let words: Vec<String> = (0..100).map(|n| format!("word{:04}", (id * 50 + n) % 3000)).collect();
        run(&mut c, &format!("insert into t values ({id}, 'all {}')", words.join(" ")));
    }
    run(&mut c, "set global innodb_optimize_fulltext_only = 1; optimize table t");
    run(&mut c, "delete from t where id % 2 = 0; set global innodb_ft_aux_table = 'd/t'");
    (opened, c)
}

fn deleted(c: &mut Connection) -> (String, String) {
    let count =
        |c: &mut Connection, name: &str| run(c, &format!("select count(*) from information_schema.{name}"));
    (count(c, "innodb_ft_deleted"), count(c, "innodb_ft_being_deleted"))
}

fn is_done(c: &mut Connection) -> bool {
    deleted(c) == ("0".to_owned(), "0".to_owned())
}

/// Rows that are found by a word that all have, and by one that two have.
fn found(c: &mut Connection) -> String {
    let found = |c: &mut Connection, word: &str| {
        run(c, &format!("select group_concat(id order by id) from t where match (a) against ('{word}')"))
    };
    format!("{} / {}", found(c, "all"), found(c, "word0070"))
}

/// The same, with what CHECK TABLE says, which keeps others from the lists.
fn answers(c: &mut Connection) -> String {
    format!("{} / {}", found(c), run(c, "check table t extended"))
}

#[test]
fn it_begins_when_enough_is_deleted_and_changes_no_answer() {
    let (_opened, mut c) = table();
    let before = answers(&mut c);
    assert!(before.ends_with("OK"), "{before}");
    let untouched = ("30".to_owned(), "0".to_owned());
    // More than a look that is taken every second.
    let rest = Duration::from_millis(1_500);
    for threshold in [0, 31] {
        run(&mut c, &format!("set global vaquita_ft_optimize_deleted = {threshold}"));
        std::thread::sleep(rest);
        assert_eq!(deleted(&mut c), untouched, "{threshold}");
    }
    // Nothing changes under the global read lock.
    run(&mut c, "flush tables with read lock; set global vaquita_ft_optimize_deleted = 30");
    std::thread::sleep(rest);
    assert_eq!(deleted(&mut c), untouched);
    run(&mut c, "unlock tables");
    until("they are removed", || {
        assert!(before.starts_with(&found(&mut c)));
        is_done(&mut c)
    });
    assert_eq!(answers(&mut c), before);
    let lists = "select count(*) from information_schema.innodb_ft_index_table where word = 'all'";
    assert_eq!(run(&mut c, lists), "30");
}

#[test]
fn definitions_change_meanwhile() {
    let (_opened, mut c) = table();
    run(&mut c, "set global vaquita_ft_optimize_deleted = 1");
    until("it has begun", || deleted(&mut c).1 != "0");
    let begun = Instant::now();
    for n in 0..4 {
        assert_eq!(run(&mut c, &format!("alter table t comment = '{n}'")), "");
    }
    assert_eq!(run(&mut c, "alter table t rename index k to l"), "");
    assert_eq!(run(&mut c, "alter table t drop key l, add b text, add fulltext k (a, b)"), "");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    run(&mut c, "update t set b = 'plum' where id < 9; set global innodb_ft_aux_table = 'd/t'");
    until("they are removed", || is_done(&mut c));
    let found = "select group_concat(id order by id) from t where match (a, b) against ('plum')";
    assert_eq!(run(&mut c, found), "1,3,5,7");
    assert!(run(&mut c, "check table t extended").ends_with("OK"));
    assert_eq!(run(&mut c, "drop table t"), "");
}

#[test]
fn it_goes_on_after_a_restart() {
    let (opened, mut c) = table();
    let before = answers(&mut c);
    run(&mut c, "set global vaquita_ft_optimize_deleted = 30");
    until("it has begun", || deleted(&mut c).1 != "0");
    drop(c);
    let begun = Instant::now();
    let opened = opened.reopen();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let mut c = root(&opened.db);
    run(&mut c, "use d; set global innodb_ft_aux_table = 'd/t'; set global vaquita_ft_optimize_deleted = 30");
    until("they are removed", || {
        assert!(before.starts_with(&found(&mut c)));
        is_done(&mut c)
    });
    assert_eq!(answers(&mut c), before);
}

/// Words of a table that are in memory only.
fn cached(c: &mut Connection, table: &str) -> u64 {
    let count = "select count(*) from information_schema.innodb_ft_index_cache";
    run(c, &format!("set global innodb_ft_aux_table = 'd/{table}'; {count}")).parse().expect("a number")
}

#[test]
fn the_largest_caches_are_written_when_all_are_too_large() {
    let opened =
        support::open_with(&[("innodb_ft_total_cache_size", "300000"), ("innodb_ft_cache_size", "8000000")]);
    let mut c = root(&opened.db);
    run(&mut c, "create database d; use d");
    let tables = ["small", "large", "larger", "busy"];
    for table in tables {
        run(&mut c, &format!("create table {table} (id int primary key, a text, fulltext k (a))"));
    }
    let insert = |c: &mut Connection, table: &str, id: usize, words: usize| {
        let words: Vec<String> = (0..words).map(|n| format!("word{id}x{n:05}")).collect();
        assert_eq!(run(c, &format!("insert into {table} values ({id}, '{}')", words.join(" "))), "");
    };
    insert(&mut c, "small", 1, 20);
    insert(&mut c, "large", 1, 300);
    insert(&mut c, "larger", 1, 900);
    let before = ["small", "large", "larger"].map(|table| cached(&mut c, table));
    assert_eq!(before, [20, 300, 900], "all of them are small enough");
    let mut rows = 0;
    while cached(&mut c, "larger") > 0 {
        rows += 1;
        insert(&mut c, "busy", rows, 10);
        assert!(rows < 1_000, "nothing is written");
    }
    let cached = ["small", "large", "busy"].map(|table| cached(&mut c, table));
    assert_eq!(cached, [20, 300, rows as u64 * 10], "the largest one was enough");
    for (table, word) in [
        ("small", "word1x00007"),
        ("large", "word1x00299"),
        ("larger", "word1x00399"),
        ("busy", "word1x00009"),
    ] {
        let found = run(&mut c, &format!("select id from {table} where match (a) against ('{word}')"));
        assert_eq!(found, "1", "{table}");
    }
    // A table that somebody has to himself is passed over: the next one is written.
    let mut other = root(&opened.db);
    run(&mut other, "use d; lock tables large write");
    while self::cached(&mut c, "busy") > 0 {
        rows += 1;
        insert(&mut c, "busy", rows, 10);
        assert!(rows < 10_000, "nothing is written");
    }
    run(&mut other, "unlock tables");
    assert_eq!(self::cached(&mut c, "large"), 300);
}
