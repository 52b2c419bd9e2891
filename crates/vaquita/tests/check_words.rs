//! `vaquita check` and CHECK TABLE of FULLTEXT indexes: sound ones pass, whatever a folder was left like, and every planted error is
//! found and named; `vaquita inspect` shows the lists.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::{Scratch, vaquita};
use std::path::{Path, PathBuf};
use vaquita::Database;
use vaquita_format::PageSize;
use vaquita_format::checksum::{ChecksumAlgorithm, stamp};

const SOUND: &str = "1 FULLTEXT indexes";

/// A folder with a table, whose words are in the lists: documents 1 to 4, the last one gone; 5 is not written yet.
fn folder(scratch: &Scratch) -> PathBuf {
    let dir = scratch.0.join("data");
    let db = Database::open(&dir).unwrap();
    let mut c = db.connect().unwrap();
    c.execute(
        "create database d default charset utf8mb4; use d;
         create table stop (value varchar(20)); insert into stop values ('pear');
         set innodb_ft_user_stopword_table = 'd/stop';
         create table t (id int primary key, a varchar(50), b text, fulltext ft (a, b));
         insert into t values (1, 'apple pear', 'the tree'), (2, 'grape', repeat('long words ', 3000)),
           (3, 'apple apple', 'a fig'), (4, 'gone', 'with the wind');
         set global innodb_optimize_fulltext_only = 1; optimize table t;
         delete from t where id = 4; insert into t values (5, 'late', 'latest')",
        (),
    )
    .unwrap();
    std::mem::forget(c);
    std::mem::forget(db);
    let copy = scratch.0.join("copy");
    // As a crash leaves it; then as it is at rest.
    copy_folder(&dir, &copy);
    let (code, out, _) = vaquita(&[&"check", &copy]);
    assert_eq!(code, 0, "{out}");
    assert!(line(&out, "words of d/t").contains("ok"), "{out}");
    Database::open(&copy).unwrap().close().unwrap();
    copy
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy_folder(&path, &target),
            false => drop(std::fs::copy(&path, &target).unwrap()),
        }
    }
}

fn line<'o>(out: &'o str, start: &str) -> &'o str {
    out.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start}: {out}"))
}

/// The file of a table of words, or of a common one, whose name ends so.
fn auxiliary(dir: &Path, end: &str) -> PathBuf {
    let files = std::fs::read_dir(dir.join("d")).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = files
        .filter(|path| {
            path.to_str().is_some_and(|p| p.ends_with(&format!("{end}.ibd")) && !p.contains("_BEING_"))
        })
        .collect();
    assert_eq!(found.len(), 1, "{end}: {found:?}");
    found.remove(0)
}

/// Puts other bytes of the same length in the place of the first such bytes behind `after` in a file, and gives the page its checksum.
fn plant(file: &Path, after: &[u8], old: &[u8], new: &[u8]) {
    assert_eq!(old.len(), new.len());
    let mut bytes = std::fs::read(file).unwrap();
    let find = |from: usize, what: &[u8]| {
        let at = bytes[from..].windows(what.len()).position(|window| window == what);
        from + at.unwrap_or_else(|| panic!("{what:?} is not in {file:?}"))
    };
    let at = find(find(3 << 14, after), old);
    bytes[at..at + new.len()].copy_from_slice(new);
    let page = at >> 14 << 14;
    stamp(&mut bytes[page..page + (1 << 14)], PageSize::DEFAULT, ChecksumAlgorithm::Innodb);
    std::fs::write(file, bytes).unwrap();
}

/// What the check says of the table's words, and CHECK TABLE of the table, after a change.
fn told(dir: &Path, scratch: &Scratch, change: impl FnOnce(&Path)) -> (String, String) {
    let damaged = scratch.0.join("damaged");
    copy_folder(dir, &damaged);
    change(&damaged);
    let (code, out, err) = vaquita(&[&"check", &damaged]);
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    assert!(out.ends_with(" 1 faulty\n"), "{out}");
    let (_, words) = out.split_once("words of d/t").unwrap();
    let words = words.split_once("dictionary ").unwrap().0.to_owned();
    assert!(words.trim_start().starts_with("FAULTY"), "{out}");
    let db = Database::open(&damaged).unwrap();
    let mut c = db.connect().unwrap();
    let rows = c.query("check table d.t", ()).unwrap();
    let texts: Vec<String> = rows.iter().map(|row| row.get::<String>("Msg_text").unwrap()).collect();
    drop((rows, c));
    db.close().unwrap();
    std::fs::remove_dir_all(&damaged).unwrap();
    (words, texts.join("\n"))
}

#[test]
fn planted_errors_are_found() {
    let scratch = Scratch::new("check-words");
    let dir = folder(&scratch);
    let (code, out, _) = vaquita(&[&"check", &dir]);
    assert_eq!(code, 0, "{out}");
    let sound = line(&out, "words of d/t");
    assert!(sound.contains(" ok ") && sound.contains(SOUND), "{sound}");
    assert!(sound.contains("3 documents"), "{sound}");

    let row = |old: &'static [u8], new: &'static [u8]| {
        move |dir: &Path| plant(&dir.join("d/t.ibd"), b"supremum", old, new)
    };
    let fault = "FULLTEXT index: ft of d.t:";
    for (change, wanted) in [
        (
            Box::new(row(b"apple apple", b"apple peach")) as Box<dyn FnOnce(&Path)>,
            vec![
                "document 3: 'apple' is in the row at 0, in the lists at 0, 6",
                "document 3: 'peach' is in the row at 6 and not in the lists",
            ],
        ),
        (
            Box::new(row(b"apple pear", b"apple fear")),
            vec!["document 1: 'fear' is in the row at 6 and not in the lists"],
        ),
        // `pear` is a stopword: that it is in no list is right.
        (
            Box::new(row(b"grape", b"pear ")),
            vec!["document 2: 'grape' is in the lists at 0 and not in the row"],
        ),
        // The number of a document that is gone.
        (
            Box::new(|dir: &Path| {
                let gone = [0, 0, 0, 0, 0, 0, 0, 4];
                plant(&auxiliary(dir, "_DELETED"), b"supremum", &gone, &[0, 0, 0, 0, 0, 0, 0, 9]);
            }),
            vec!["document 4: the lists have 4 words of it, and it has no row"],
        ),
        // The word is another one, which belongs into the same table.
        (
            Box::new(|dir: &Path| plant(&auxiliary(dir, "_INDEX_3"), b"supremum", b"fig", b"fog")),
            vec![
                "document 3: 'fig' is in the row at 14 and not in the lists",
                "document 3: 'fog' is in the lists at 14 and not in the row",
            ],
        ),
        // A word in a table where nobody looks for it.
        (
            Box::new(|dir: &Path| plant(&auxiliary(dir, "_INDEX_3"), b"supremum", b"fig", b"eig")),
            vec!["'eig' is in INDEX_3 and would not be found"],
        ),
    ] {
        let (words, of_table) = told(&dir, &scratch, change);
        for wanted in &wanted {
            assert!(words.contains(&format!("{fault} {wanted}\n")), "{wanted}: {words}");
        }
        assert_ne!(of_table, "OK", "{wanted:?}");
        assert!(of_table.contains("ft"), "{of_table}");
    }
}

#[test]
fn parsers_are_known() {
    let scratch = Scratch::new("check-parsers");
    let dir = scratch.0.join("data");
    let db = vaquita::OpenOptions::new().set("ngram_token_size", "3").open(&dir).unwrap();
    let mut c = db.connect().unwrap();
    c.execute(
        "create database d default charset utf8mb4; use d;
         create table t (a varchar(50), b text, fulltext (a) with parser ngram, fulltext (b) with parser stem_english);
         insert into t values ('数据库管理', 'running boats'), ('abcdef gh', 'she runs')",
        (),
    )
    .unwrap();
    drop(c);
    db.close().unwrap();
    let (code, out, _) = vaquita(&[&"check", &dir]);
    assert_eq!(code, 0, "{out}");
    let words = line(&out, "words of d/t");
    assert!(words.contains("2 FULLTEXT indexes, 2 documents, 8 words of documents"), "{words}");
    plant(&dir.join("d/t.ibd"), b"supremum", b"runs", b"runt");
    let (code, out, _) = vaquita(&[&"check", &dir]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("'run' is in the lists at 4 and not in the row"), "{out}");
}

/// Several indexes of the same columns, each by its own words.
#[test]
fn indexes_of_the_same_columns() {
    let scratch = Scratch::new("check-same-columns");
    let dir = scratch.0.join("data");
    let db = Database::open(&dir).unwrap();
    let mut c = db.connect().unwrap();
    c.execute(
        "set innodb_ft_enable_stopword = 0; create database d default charset utf8mb4; use d;
         create table t (a varchar(50), b text, fulltext g (a, b) with parser ngram, fulltext s (a, b) with parser stem_english,
           fulltext w (a, b));
         insert into t values ('数据库管理', 'running boats'), ('abcdef gh', 'she runs')",
        (),
    )
    .unwrap();
    drop(c);
    db.close().unwrap();
    let (code, out, _) = vaquita(&[&"check", &dir]);
    assert_eq!(code, 0, "{out}");
    assert!(line(&out, "words of d/t").contains("3 FULLTEXT indexes, 2 documents"), "{out}");
    plant(&dir.join("d/t.ibd"), b"supremum", b"runs", b"ruts");
    let (code, out, _) = vaquita(&[&"check", &dir]);
    assert_eq!(code, 1, "{out}");
    for told in [
        "g of d.t: document 2: 'ut' is in the row at 15",
        "s of d.t: document 2: 'run' is in the lists at 14 and",
        "w of d.t: document 2: 'runs' is in the lists",
    ] {
        assert!(out.contains(told), "{told}: {out}");
    }
}

/// As a crash leaves a folder when one had a number while words of others were written: `late` came in the end and is in no list, 3 is.
fn folder_with_a_late_one(scratch: &Scratch) -> PathBuf {
    let dir = scratch.0.join("data");
    let db = Database::open(&dir).unwrap();
    let (mut c, mut late) = (db.connect().unwrap(), db.connect().unwrap());
    c.execute(
        "create database d; use d; create table t (id int primary key, a varchar(50), fulltext ft (a));
         insert into t values (1, 'apple pear')",
        (),
    )
    .unwrap();
    late.execute("begin; insert into d.t values (2, 'late grape')", ()).unwrap();
    c.execute(
        "insert into t values (3, 'apple lemon'); set global innodb_optimize_fulltext_only = 1; optimize table t",
        (),
    )
    .unwrap();
    late.execute("commit", ()).unwrap();
    c.execute(
        "insert into t values (4, 'unwritten melon'), (5, 'deleted'); delete from t where id = 5;
         set global innodb_ft_aux_table = 'd/t'",
        (),
    )
    .unwrap();
    // The rows' pages come to the file, and no log is left that would make them anew: a discarded tablespace wants that.
    c.execute("create table gone (id int); alter table gone discard tablespace; drop table gone", ())
        .unwrap();
    let synced = "select value from information_schema.innodb_ft_config where `key` = 'synced_doc_id'";
    let synced: Vec<String> = {
        let rows = c.query(synced, ()).unwrap();
        rows.iter().map(|row| row.get::<String>("value").unwrap()).collect()
    };
    assert_eq!(synced, ["4"], "the lists reach up to 3");
    std::mem::forget((c, late));
    std::mem::forget(db);
    let copy = scratch.0.join("crashed");
    copy_folder(&dir, &copy);
    copy
}

#[test]
fn documents_that_came_late() {
    let scratch = Scratch::new("check-late");
    let dir = folder_with_a_late_one(&scratch);
    let (code, out, _) = vaquita(&[&"check", &dir]);
    assert_eq!(code, 0, "{out}");
    let sound = line(&out, "words of d/t");
    assert!(sound.contains(" ok ") && sound.contains("1 FULLTEXT indexes, 2 documents, 4 words"), "{sound}");

    // A word that is lost is missed below the complete number, and of a document behind it that is in the lists. Whatever the rows of
    // others say, their words are made of it.
    for (old, new, wanted) in [
        (
            &b"apple pear"[..],
            &b"apple plum"[..],
            Some("document 1: 'plum' is in the row at 6 and not in the lists"),
        ),
        (b"apple lemon", b"apple limes", Some("document 3: 'limes' is in the row at 6 and not in the lists")),
        (b"late grape", b"late fruit", None),
        (b"unwritten melon", b"unwritten fruit", None),
    ] {
        let damaged = scratch.0.join("damaged");
        copy_folder(&dir, &damaged);
        plant(&damaged.join("d/t.ibd"), b"supremum", old, new);
        let (code, out, _) = vaquita(&[&"check", &damaged]);
        match wanted {
            Some(wanted) => assert!(code == 1 && out.contains(wanted), "{wanted}: {out}"),
            None => {
                assert_eq!(code, 0, "{out}");
                let db = Database::open(&damaged).unwrap();
                let mut c = db.connect().unwrap();
                let rows = c.query("select id from d.t where match (a) against ('fruit')", ()).unwrap();
                assert_eq!(rows.iter().count(), 1, "its words are made of the row");
                drop((rows, c));
                db.close().unwrap();
                let (code, out, _) = vaquita(&[&"check", &damaged]);
                assert_eq!(code, 0, "{out}");
                assert!(line(&out, "words of d/t").contains("4 documents, 8 words"), "{out}");
            }
        }
        std::fs::remove_dir_all(&damaged).unwrap();
    }
}

#[test]
fn lists_are_shown() {
    let scratch = Scratch::new("inspect-words");
    let dir = folder(&scratch);
    let (code, out, _) = vaquita(&[&"inspect", &auxiliary(&dir, "_INDEX_2"), &"records", &"3"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("word='apple', first_doc_id=1, ") && out.contains("ilist=[1: 0; 3: 0 6]"), "{out}");
    let (_, out, _) = vaquita(&[&"inspect", &auxiliary(&dir, "_INDEX_6"), &"records", &"3"]);
    assert!(out.contains("word='words'") && out.contains("ilist=[2: 11 22 33 "), "{out}");
    assert!(out.contains(" and 2980 more]"), "{out}");
    let (_, out, _) = vaquita(&[&"inspect", &auxiliary(&dir, "_CONFIG"), &"records", &"3"]);
    assert!(out.contains("key='synced_doc_id'"), "{out}");
}
