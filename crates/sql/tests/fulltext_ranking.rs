//! Ranks by BM25: `vaquita_ft_ranking`, for a session or in the comment of an index. Ranks are compared with what the formula gives
//! for the rows, counted by somebody who knows nothing of indexes.

use crate::support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use support::{Opened, open, root, run};
use vaquita_base::rng::Rng;
use vaquita_sql::Connection;

const WORDS: [&str; 12] =
    ["apple", "apples", "pear", "plum", "fig", "quince", "memory", "page", "record", "the", "of", "undo"];

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ').filter(|word| !word.is_empty() && !["the", "of", "NULL"].contains(word))
}

fn is_meant(term: &str, word: &str) -> bool {
    match term.strip_suffix('*') {
        Some(prefix) => word.starts_with(prefix),
        None => word == term,
    }
}

/// Rows, by their keys: title and body.
type Rows = BTreeMap<u64, [String; 2]>;

fn rows(c: &mut Connection) -> Rows {
    let told = run(c, "select id, title, body from t");
    let row = |line: &str| {
        let [id, title, body] = line.split('|').collect::<Vec<_>>()[..] else { panic!("{line}") };
        (id.parse().expect("a number"), [title.to_owned(), body.to_owned()])
    };
    told.lines().map(row).collect()
}

/// The ranks of all rows that have a term.
fn wanted(rows: &Rows, weights: [f64; 2], terms: &[&str]) -> BTreeMap<u64, f64> {
    let sum = |row: &[String; 2], counts: &dyn Fn(&str) -> usize| -> f64 {
        row.iter().zip(weights).map(|(text, weight)| weight * counts(text) as f64).sum()
    };
    let length = |row| sum(row, &|text| words(text).count());
    let count = rows.len() as f64;
    let mean = rows.values().map(length).sum::<f64>() / count;
    let mut ranks = BTreeMap::new();
    for (id, row) in rows {
        let mut rank = 0.0;
        for term in terms {
            let has = |row: &[String; 2]| row.iter().any(|text| words(text).any(|word| is_meant(term, word)));
            let times = sum(row, &|text| words(text).filter(|word| is_meant(term, word)).count());
            let with = rows.values().filter(|row| has(row)).count() as f64;
            let rarity = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
            if times > 0.0 {
                rank += rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length(row) / mean));
            }
        }
        if rank > 0.0 {
            ranks.insert(*id, rank);
        }
    }
    ranks
}

/// Holds what a search answers against the rows: ranks, conditions, the best ones.
fn check(c: &mut Connection, weights: [f64; 2], query: &str, terms: &[&str], what: &str) {
    let ranks = wanted(&rows(c), weights, terms);
    let matching = format!("match (title, body) against ({query})");
    let told = run(c, &format!("select id, {matching} from t where {matching}"));
    let told = told.lines().map(|line| line.split_once('|').expect("two cells"));
    let told: Vec<(u64, f64)> =
        told.map(|(id, rank)| (id.parse().expect("a number"), rank.parse().expect("a rank"))).collect();
    assert_eq!(told.len(), ranks.len(), "{what}: {query}");
    for (id, rank) in &told {
        assert!((rank - ranks[id]).abs() < 1e-5, "{what}: {query}: row {id} has {rank}, not {}", ranks[id]);
    }
    assert!(told.is_sorted_by(|a, b| a.1 >= b.1), "{what}: the best ones come first");
    let best = run(c, &format!("select id from t order by {matching} desc limit 5"));
    let all: Vec<String> = told.iter().map(|(id, _)| id.to_string()).collect();
    let best: Vec<&str> = best.lines().take(all.len()).collect();
    assert_eq!(best, &all[..all.len().min(5)], "{what}: {query}");
    for (from, count) in [(0, 1), (0, 10), (3, 4), (0, 2000)] {
        let end = format!("where {matching} order by {matching} desc limit {from}, {count}");
        let some = run(c, &format!("select id, {matching} from t {end}"));
        let some = some.lines().map(|line| line.split_once('|').expect("two cells"));
        let some: Vec<(u64, f64)> =
            some.map(|(id, rank)| (id.parse().expect("a number"), rank.parse().expect("a rank"))).collect();
        let wanted: Vec<(u64, f64)> = told.iter().skip(from).take(count).copied().collect();
        assert_eq!(some, wanted, "{what}: {query} {end}");
    }
    assert_eq!(
        run(c, &format!("select count(*) from t where {matching}")),
        ranks.len().to_string(),
        "{what}"
    );
}

fn check_all(c: &mut Connection, what: &str) {
    for (ranking, weights) in [
        ("bm25", [1.0, 1.0]),
        ("bm25(title 4)", [4.0, 1.0]),
        ("BM25(Body 0.25, title 2.5)", [2.5, 0.25]),
        ("bm25(title 0)", [0.0, 1.0]),
    ] {
        run(c, &format!("set vaquita_ft_ranking = '{ranking}'"));
        let what = &format!("{what}, {ranking}");
        check(c, weights, "'apple'", &["apple"], what);
        check(c, weights, "'the pear of memory'", &["pear", "memory"], what);
        check(c, weights, "'apple* undo fig' in boolean mode", &["apple*", "undo", "fig"], what);
    }
}

fn text(rng: &mut Rng) -> String {
    if rng.one_in(12) {
        return "NULL".to_owned();
    }
    let words: Vec<&str> = (0..rng.index(14)).map(|_| WORDS[rng.index(WORDS.len())]).collect();
    format!("'{}'", words.join(" "))
}

fn table() -> (Opened, Connection, Rng) {
    let opened = open();
    let mut c = root(&opened.db);
    run(
        &mut c,
        "create database d; use d; create table t (id int primary key, title varchar(200), body text, fulltext k (title, body))",
    );
    let mut rng = Rng::new(7);
    for id in 0..120 {
        let (title, body) = (text(&mut rng), text(&mut rng));
        run(&mut c, &format!("insert into t values ({id}, {title}, {body})"));
    }
    (opened, c, rng)
}

fn change(c: &mut Connection, rng: &mut Rng) {
    let (id, title, body) = (rng.index(120), text(rng), text(rng));
    let statement = match rng.below(4) {
        0 => format!("delete from t where id = {id}"),
        1 => format!("update t set body = {body} where id = {id}"),
        _ => format!("replace into t values ({id}, {title}, {body})"),
    };
    run(c, &statement);
}

#[test]
fn ranks_are_those_of_the_rows() {
    let (opened, mut c, mut rng) = table();
    check_all(&mut c, "new rows");
    for _ in 0..60 {
        change(&mut c, &mut rng);
    }
    check_all(&mut c, "changed rows");
    run(&mut c, "begin; delete from t where id < 40; update t set title = 'apple' where id < 80; rollback");
    check_all(&mut c, "what was rolled back");
    run(&mut c, "set global innodb_optimize_fulltext_only = 1; optimize table t");
    check_all(&mut c, "lists that are written");
    change(&mut c, &mut rng);
    drop(c);
    let opened = opened.reopen();
    let mut c = root(&opened.db);
    run(&mut c, "use d");
    check_all(&mut c, "opened again");
    change(&mut c, &mut rng);
    drop(c);
    let opened = opened.crash_and_open_with(&[]).expect("it opens");
    let mut c = root(&opened.db);
    run(&mut c, "use d");
    check_all(&mut c, "after a crash");
}

/// The rows are read by the first search that asks while others change them.
#[test]
fn lengths_are_gathered_beside_writers() {
    let (opened, mut c, mut rng) = table();
    let (stop, changes) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut other = root(&opened.db);
            run(&mut other, "use d");
            while !stop.load(Ordering::Relaxed) {
                change(&mut other, &mut rng);
                changes.fetch_add(1, Ordering::Relaxed);
            }
        });
        run(&mut c, "set vaquita_ft_ranking = 'bm25(title 3)'");
        let mut searches = 0;
        while searches < 20 || changes.load(Ordering::Relaxed) < 60 {
            searches += 1;
            // What is known of lengths goes with the definition.
            run(&mut c, "alter table t comment = ''");
            let count =
                run(&mut c, "select count(*) from t where match (title, body) against ('apple pear')");
            assert!(count.parse::<u64>().expect("a number") > 0);
        }
        stop.store(true, Ordering::Relaxed);
    });
    check_all(&mut c, "after all changes");
}

/// Who is killed, or out of time, while the rows are read for the first search, does not read on; the next one finds what it should.
#[test]
fn the_first_search_is_ended() {
    let (opened, mut c, _) = table();
    run(
        &mut c,
        "insert into t select id + 1000, title, body from t; insert into t select id + 2000, title, body from t",
    );
    let search = "select count(*) from t where match (title, body) against ('apple')";
    let id = c.id();
    run(&mut c, "set vaquita_ft_ranking = 'bm25'");
    for limit in [0, 20] {
        run(&mut c, &format!("alter table t force; set max_execution_time = {limit}"));
        let (db, asked) = (std::sync::Arc::downgrade(&opened.db), std::sync::Arc::new(AtomicU64::new(0)));
        let seen = asked.clone();
        c.set_yield_after(std::time::Duration::ZERO);
        c.set_yield_hook(std::sync::Arc::new(move || {
            // What comes first is told before rows are read.
            if seen.fetch_add(1, Ordering::Relaxed) == 2 {
                match limit {
                    0 => drop(db.upgrade().expect("it is open").processes().kill(id, true)),
                    // However long the machine takes, it is longer.
                    _ => std::thread::sleep(std::time::Duration::from_millis(2 * limit)),
                }
            }
        }));
        let answer = run(&mut c, search);
        let wanted = if limit == 0 { "1317 " } else { "3024 " };
        assert!(answer.starts_with(wanted), "{limit}: {answer}");
        assert!(asked.load(Ordering::Relaxed) <= 3, "it went on: {asked:?}");
        c.set_yield_hook(std::sync::Arc::new(|| {}));
        run(&mut c, "set max_execution_time = 0");
        check(&mut c, [1.0, 1.0], "'the pear of memory'", &["pear", "memory"], "the next one");
    }
}

#[test]
fn an_index_says_its_ranks_and_the_session_others() {
    let (opened, mut c, _) = table();
    let matching = "match (title, body) against ('apple')";
    let plan = format!("explain select id from t where {matching} order by {matching} desc limit 3");
    let (explained, innodb) = (run(&mut c, &plan), run(&mut c, &format!("select id, {matching} from t")));
    let comment = "of pages; vaquita_ft_ranking=bm25(title 4)";
    run(&mut c, &format!("alter table t drop index k, add fulltext k (title, body) comment '{comment}'"));
    assert!(run(&mut c, "show create table t").contains(&format!("COMMENT '{comment}'")));
    check(&mut c, [4.0, 1.0], "'apple'", &["apple"], "by the index");
    assert_eq!(run(&mut c, &plan), explained);
    run(&mut c, "set vaquita_ft_ranking = 'bm25'");
    check(&mut c, [1.0, 1.0], "'apple'", &["apple"], "by the session");
    run(&mut c, "set vaquita_ft_ranking = 'innodb'");
    assert_eq!(run(&mut c, &format!("select id, {matching} from t")), innodb);
    drop(c);
    let opened = opened.reopen();
    let mut c = root(&opened.db);
    run(&mut c, "use d");
    check(&mut c, [4.0, 1.0], "'apple'", &["apple"], "by the index, opened again");
}

#[test]
fn what_is_no_ranking_is_refused_by_name() {
    let opened = open();
    let mut c = root(&opened.db);
    let bad =
        |value: &str| format!("1231 Variable 'vaquita_ft_ranking' can't be set to the value of '{value}'");
    let unknown = "1054 Unknown column 'titel' in 'vaquita_ft_ranking'";
    let value = |value: &str| format!("1525 Incorrect vaquita_ft_ranking value: '{value}'");
    let cases: Vec<(&str, String)> = vec![
        ("create database d; use d", String::new()),
        ("set vaquita_ft_ranking = 'best'", bad("best")),
        ("set vaquita_ft_ranking = 'bm25(title four)'", bad("bm25(title four)")),
        ("set vaquita_ft_ranking = null", bad("NULL")),
        (
            "create table t (title text, fulltext (title) comment 'vaquita_ft_ranking=bm25(titel 4)')",
            unknown.to_owned(),
        ),
        (
            "create table t (title text, fulltext (title) comment 'vaquita_ft_ranking=bm25(title four)')",
            value("title four"),
        ),
        (
            "create table t (title text, fulltext (title) comment 'vaquita_ft_ranking=bm25(title 0)')",
            value("all weights 0"),
        ),
        (
            "create table t (title text, fulltext (title) comment 'vaquita_ft_ranking=bm25(title 2)')",
            String::new(),
        ),
        (
            "alter table t change title heading text",
            "1054 Unknown column 'title' in 'vaquita_ft_ranking'".to_owned(),
        ),
        ("insert into t values ('apple')", String::new()),
        ("set vaquita_ft_ranking = 'bm25(titel 4)'", String::new()),
        ("select match (title) against ('apple') from t", unknown.to_owned()),
        (
            "set vaquita_ft_ranking = default; select match (title) against ('apple') > 0 from t",
            "1".to_owned(),
        ),
    ];
    for (statement, answer) in cases {
        assert_eq!(run(&mut c, statement), answer, "{statement}");
    }
}

/// The best few rows are those of all, where the best ones are not to be seen: the transaction has deleted them, or does not see them yet.
#[test]
fn the_best_few_of_rows_that_are_seen() {
    let opened = open();
    let mut c = root(&opened.db);
    run(
        &mut c,
        "create database d; use d; create table t (id int primary key, title varchar(200), body text, fulltext k (title, body))",
    );
    for id in 0..90 {
        let text = "apple ".repeat(1 + id % 9) + &"pear ".repeat(id % 4) + &"fig ".repeat(id % 13);
        run(&mut c, &format!("insert into t values ({id}, 'title', '{text}')"));
    }
    let matching = "match (title, body) against ('apple pear')";
    let all = |c: &mut Connection, what: &str| run(c, &format!("select {what} from t where {matching}"));
    run(&mut c, "set vaquita_ft_ranking = 'bm25'");
    let same = |c: &mut Connection| {
        let everything = all(c, &format!("id, {matching}, body"));
        for n in [1, 4, 20, 70] {
            let end = format!("where {matching} order by {matching} desc limit {n}");
            let best = run(c, &format!("select id, {matching}, body from t {end}"));
            let wanted: Vec<&str> = everything.lines().take(n).collect();
            assert_eq!(best, wanted.join("\n"), "{n}");
        }
        everything.lines().count()
    };
    assert_eq!(same(&mut c), 90);
    let best = all(&mut c, "id").lines().take(50).collect::<Vec<_>>().join(", ");
    run(&mut c, "begin");
    run(&mut c, &format!("delete from t where id in ({best})"));
    run(&mut c, "insert into t values (1000, 'apple', 'apple apple apple pear')");
    assert_eq!(same(&mut c), 40, "what it has deleted, and what it has written itself before it commits");
    let mut other = root(&opened.db);
    run(&mut other, "use d; set vaquita_ft_ranking = 'bm25'");
    run(&mut other, "start transaction with consistent snapshot");
    assert_eq!(same(&mut other), 90);
    run(&mut c, "commit");
    assert_eq!(same(&mut c), 41);
    let seen = same(&mut other);
    assert!((40..=90).contains(&seen), "{seen}");
}
