//! What searches keep of posting lists (`vaquita_ft_counts_size`): answers are those of the lists, whoever writes, removes and searches meanwhile,
//! and it takes no more memory than it may.

use crate::support;

use std::sync::atomic::{AtomicBool, Ordering};
use support::{Opened, open, root, run};
use vaquita_base::rng::Rng;
use vaquita_sql::Connection;

const WORDS: [&str; 7] = ["apple", "pear", "plum", "fig", "quince", "medlar", "grape"];
const ROWS: usize = 300;

fn text(rng: &mut Rng) -> String {
    let words: Vec<&str> = (0..rng.index(12)).map(|_| WORDS[rng.index(WORDS.len())]).collect();
    format!("'{}'", words.join(" "))
}

fn table() -> (Opened, Connection, Rng) {
    let opened = open();
    let mut c = root(&opened.db);
    run(
        &mut c,
        "create database d; use d; create table t (id int primary key, a text, b text, fulltext k (a, b))",
    );
    run(&mut c, "set global innodb_optimize_fulltext_only = 1");
    let mut rng = Rng::new(11);
    for id in 0..ROWS {
        let (a, b) = (text(&mut rng), text(&mut rng));
        run(&mut c, &format!("insert into t values ({id}, {a}, {b})"));
    }
    (opened, c, rng)
}

/// Bytes that are kept.
fn kept(c: &mut Connection) -> u64 {
    let told = run(c, "show status like 'Vaquita_ft_counts_bytes'");
    told.split('|').nth(1).expect("a value").parse().expect("a number")
}

/// What searches of every kind find, with their ranks.
fn answers(c: &mut Connection) -> Vec<String> {
    let mut found = Vec::new();
    for ranking in ["innodb", "bm25", "bm25(a 3)"] {
        run(c, &format!("set vaquita_ft_ranking = '{ranking}'"));
        for search in [
            "'apple'",
            "'pear quince grape'",
            "'+fig -plum' in boolean mode",
            "'app* >medlar' in boolean mode",
            "'\"plum fig\"' in boolean mode",
            "'quince \"pear fig\"'",
            "'grape' with query expansion",
        ] {
            let matching = format!("match (a, b) against ({search})");
            for statement in [
                format!("select count(*) from t where {matching}"),
                format!("select id, {matching} as r from t where {matching}"),
                format!("select id, {matching} as r from t where {matching} order by r desc limit 10"),
                format!("select id from t where {matching} order by {matching} desc limit 3, 4"),
            ] {
                found.push(format!("{ranking}: {statement}: {}", run(c, &statement)));
            }
        }
    }
    found
}

/// Compares what is found with what is kept, with what is kept anew, and without anything.
fn check(c: &mut Connection, what: &str) {
    let kept_ones = answers(c);
    run(c, "set global vaquita_ft_counts_size = 0");
    assert_eq!(kept(c), 0, "{what}");
    let lists = answers(c);
    assert_eq!(kept(c), 0, "{what}");
    run(c, "set global vaquita_ft_counts_size = 1000000");
    for (kept, list) in kept_ones.iter().zip(&lists) {
        assert_eq!(kept, list, "{what}");
    }
    let rows = run(c, "select count(*) from t where concat_ws(' ', a, b) like '%apple%'");
    assert!(lists[0].ends_with(&format!(": {rows}")), "{what}: {} of {rows}", lists[0]);
    assert_eq!(answers(c), lists, "{what}");
}

#[test]
fn what_is_kept_is_what_the_lists_have() {
    let (opened, mut c, mut rng) = table();
    check(&mut c, "words that are in memory only");
    run(&mut c, "optimize table t");
    check(&mut c, "lists that were written");
    assert!(kept(&mut c) > 0);
    for round in 0..6 {
        for _ in 0..8 {
            let (id, a, b) = (rng.index(ROWS), text(&mut rng), text(&mut rng));
            let statement = match rng.below(4) {
                0 => format!("delete from t where id = {id}"),
                1 => format!("update t set b = {b} where id = {id}"),
                2 => format!("begin; replace into t values ({id}, {a}, {b}); rollback"),
                _ => format!("replace into t values ({id}, {a}, {b})"),
            };
            run(&mut c, &statement);
        }
        check(&mut c, &format!("changed, {round}"));
        if round % 2 == 1 {
            run(&mut c, "optimize table t");
            check(&mut c, &format!("written and removed, {round}"));
        }
    }
    run(&mut c, "alter table t drop key k, add fulltext k (a, b)");
    check(&mut c, "another index");
    run(&mut c, "create table u like t; insert into u select * from t; truncate table t");
    check(&mut c, "emptied");
    run(&mut c, "insert into t select * from u where id < 200");
    check(&mut c, "filled again");
    drop(c);
    let opened = opened.reopen();
    let mut c = root(&opened.db);
    run(&mut c, "use d");
    check(&mut c, "opened again");
}

#[test]
fn no_more_is_kept_than_is_allowed() {
    let (_opened, mut c, _) = table();
    run(&mut c, "optimize table t");
    answers(&mut c);
    let all = kept(&mut c);
    assert!(all > 7 * 64 * 16, "{all}: every word is kept");
    let mut limit = |bytes: u64| {
        run(&mut c, &format!("set global vaquita_ft_counts_size = {bytes}"));
        let at_once = kept(&mut c);
        answers(&mut c);
        [at_once, kept(&mut c)]
    };
    assert!(limit(all / 2).iter().all(|bytes| *bytes <= all / 2));
    assert_eq!(limit(0), [0, 0]);
    assert_eq!(limit(1 << 20)[1], all);
}

/// Rows that have come stay found, and rows that have gone are found no more, while lists are written and deleted documents taken off them.
#[test]
fn nothing_goes_or_comes_back_while_lists_change() {
    let (opened, mut c, _) = table();
    run(&mut c, "delete from t; optimize table t");
    for id in 0..400 {
        run(&mut c, &format!("insert into t values ({id}, 'going', '')"));
    }
    run(&mut c, "optimize table t");
    let end = AtomicBool::new(false);
    let count = |c: &mut Connection, word: &str| -> u64 {
        let sql = format!("select count(*) from t where match (a, b) against ('{word}')");
        run(c, &sql).parse().expect("a number")
    };
    let connect = || {
        let mut c = root(&opened.db);
        run(&mut c, "use d");
        c
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut c = connect();
            while !end.load(Ordering::Relaxed) {
                run(&mut c, "optimize table t");
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                let mut c = connect();
                let (mut came, mut going) = (0, 400);
                while !end.load(Ordering::Relaxed) {
                    let now = count(&mut c, "coming");
                    assert!(now >= came, "{now} rows after {came}");
                    came = now;
                    let now = count(&mut c, "going");
                    assert!(now <= going, "{now} rows after {going}");
                    going = now;
                }
            });
        }
        for id in 0..400 {
            run(
                &mut c,
                &format!("insert into t values ({}, 'coming', ''); delete from t where id = {id}", id + 1000),
            );
        }
        end.store(true, Ordering::Relaxed);
    });
    assert_eq!((count(&mut c, "coming"), count(&mut c, "going")), (400, 0));
}
