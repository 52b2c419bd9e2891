//! Indexes whose words are divided among their tables otherwise than InnoDB does it: they are found as ever, after a restart, a crash and
//! every way of ALTER TABLE; `vaquita check` knows where they belong. What MySQL 5.6.24 makes of them: `fulltext_keys_in_mysql.rs`.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::{Scratch, vaquita};
use std::path::Path;
use vaquita::{Connection, Database};

const SPLITS: [&str; 2] = ["hash", "words(apple, f, p, б, п)"];
const WORDS: [&str; 10] =
    ["apple", "fig", "pear", "plum", "zest", "груша", "база", "страница", "яблоко", "123"];

/// The table in which each division has `база`.
const OF_BASE: [usize; 2] = [2, 5];

fn cells(c: &mut Connection, sql: &str) -> String {
    let rows = c.query(sql, ()).unwrap();
    rows.iter().map(|row| row.get::<String>(0).unwrap()).collect::<Vec<_>>().join(" ")
}

/// Both tables answer alike.
fn check(c: &mut Connection, what: &str) {
    for query in WORDS
        .iter()
        .map(|word| (*word).to_owned())
        .chain(["p*", "баз*", "+pear +база -zest", "\"pear plum\"", "с* a*"].map(str::to_owned))
    {
        let found = |c: &mut Connection, table: &str| {
            let matching = format!("match (a) against ('{query}' in boolean mode)");
            cells(c, &format!("select concat(id, ':', {matching}) from {table} where {matching} order by id"))
        };
        let wanted = found(c, "plain");
        assert!(!wanted.is_empty() || query.contains('-') || query.contains('"'), "{what}: {query}");
        assert_eq!(found(c, "other"), wanted, "{what}: {query}");
    }
    for table in ["plain", "other"] {
        let rows = c.query(&format!("check table {table} extended"), ()).unwrap();
        assert_eq!(rows.iter().next().unwrap().get::<String>(3).unwrap(), "OK", "{what}: {table}");
    }
}

/// Puts the same rows into both.
fn fill(c: &mut Connection, from: usize) {
    for id in from..from + 40 {
        let words: Vec<&str> = (0..4).map(|n| WORDS[(id * (n + 3) + id / 7) % WORDS.len()]).collect();
        for table in ["plain", "other"] {
            c.execute(&format!("insert into {table} (id, a, n) values ({id}, '{}', 0)", words.join(" ")), ())
                .unwrap();
        }
    }
}

fn both(c: &mut Connection, sql: &str) {
    for table in ["plain", "other"] {
        c.execute(&sql.replace('@', table), ()).unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(std::fs::copy(&path, &target).unwrap()),
        }
    }
}

fn opened(dir: &Path) -> (Database, Connection) {
    let db = Database::open(dir).unwrap();
    let mut c = db.connect().unwrap();
    c.execute("use d; set global innodb_optimize_fulltext_only = 1", ()).unwrap();
    (db, c)
}

fn checked(dir: &Path) -> String {
    let (code, out, _) = vaquita(&[&"check", &dir]);
    assert_eq!(code, 0, "{out}");
    out
}

/// Which of the tables of words have one: those of both indexes.
fn tables_with(dir: &Path, word: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir.join("d")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let Some((_, number)) = name.rsplit_once("_INDEX_") else { continue };
        let bytes = std::fs::read(&path).unwrap();
        if bytes.windows(word.len()).any(|window| window == word.as_bytes()) {
            found.push(number.parse().unwrap());
        }
    }
    found.sort_unstable();
    found
}

#[test]
fn words_are_found_wherever_they_are() {
    for (n, split) in SPLITS.iter().enumerate() {
        let scratch = Scratch::new(&format!("split-{n}"));
        let dir = scratch.0.join("data");
        let db = Database::open(&dir).unwrap();
        db.connect().unwrap().execute("create database d default charset utf8mb4", ()).unwrap();
        db.close().unwrap();
        let (db, mut c) = opened(&dir);
        let table = "(id int primary key, a varchar(100), n int, fulltext k (a)";
        c.execute(&format!("create table plain {table})"), ()).unwrap();
        let comment = format!("fruit; vaquita_ft_split={split}; and more");
        c.execute(&format!("create table other {table} comment '{comment}')"), ()).unwrap();
        assert!(cells(&mut c, "select index_comment from information_schema.statistics where table_name = 'other' and index_name = 'k'").contains(split));
        fill(&mut c, 0);
        check(&mut c, "not written yet");
        both(&mut c, "optimize table @");
        check(&mut c, "written");
        fill(&mut c, 40);
        both(&mut c, "delete from @ where id % 9 = 0");
        check(&mut c, "some of both");
        // As a crash leaves it.
        let crashed = scratch.0.join("crashed");
        std::mem::forget((c, db));
        copy(&dir, &crashed);
        checked(&crashed);
        let (db, mut c) = opened(&crashed);
        check(&mut c, "after a crash");
        both(&mut c, "optimize table @");
        check(&mut c, "optimized");
        drop(c);
        db.close().unwrap();
        assert!(checked(&crashed).contains("words of d/other"));
        // InnoDB has it in the first one: the high byte of its first weight is 4.
        assert_eq!(tables_with(&crashed, "база"), [1, OF_BASE[n]]);
        let (db, mut c) = opened(&crashed);
        check(&mut c, "opened again");
        for alter in [
            "alter table @ rename index k to m, change a a varchar(100) comment 'words'",
            "alter table @ force",
            "alter table @ modify n bigint",
            "alter table @ add b text, add fulltext (b)",
            "truncate table @",
        ] {
            both(&mut c, alter);
            fill(&mut c, 1_000);
            check(&mut c, alter);
            both(&mut c, "delete from @ where id >= 1000");
            both(&mut c, "optimize table @");
        }
        drop(c);
        db.close().unwrap();
        checked(&crashed);
    }
}

#[test]
fn what_is_no_division_is_refused_by_name() {
    let scratch = Scratch::new("no-split");
    let db = Database::open(scratch.0.join("data")).unwrap();
    let mut c = db.connect().unwrap();
    c.execute("create database d; use d", ()).unwrap();
    for split in ["letters", "words(a, b)", "words(a, c, b, d, e)", "words(б, г, к, о, п)"] {
        let create = format!(
            "create table t (a text, fulltext (a) comment 'vaquita_ft_split={split}') charset latin1"
        );
        let e = c.execute(&create, ()).unwrap_err();
        assert_eq!(
            (e.code, e.message.as_ref()),
            (1525, format!("Incorrect vaquita_ft_split value: '{split}'").as_str())
        );
    }
    c.execute(
        "create table t (a text, fulltext (a) comment 'vaquita_ft_split=words(б, г, к, о, п)') charset utf8",
        (),
    )
    .unwrap();
    // Their letters are not in the character set that is to come.
    let e = c.execute("alter table t convert to character set latin1", ()).unwrap_err();
    assert_eq!(e.code, 1525, "{}", e.message);
}
