//! A program that embeds the library adds a parser of its own: FULLTEXT keys name it, and are of no use where it is not there.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use vaquita::embedded::fulltext::{Parser, RawWord};
use vaquita::{Connection, OpenOptions};

/// Texts between semicolons, without the spaces around them.
struct Tags;

impl Parser for Tags {
    fn words<'a>(&self, text: &'a [u8], each: &mut dyn FnMut(RawWord<'a>)) {
        let mut offset = 0;
        for tag in text.split(|&byte| byte == b';') {
            let start = tag.len() - tag.trim_ascii_start().len();
            if !tag.trim_ascii().is_empty() {
                each(RawWord { offset: offset + start, text: Cow::Borrowed(tag.trim_ascii()) });
            }
            offset += tag.len() + 1;
        }
    }
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn with_tags(dir: &Path) -> vaquita::Database {
    OpenOptions::new().parser("Tags", |_| Box::new(Tags)).open(dir).unwrap()
}

fn ids(c: &mut Connection, query: &str) -> Vec<i64> {
    let rows =
        c.query(&format!("select id from t where match (a) against ({query}) order by id"), ()).unwrap();
    rows.iter().map(|row| row.get::<i64>(0).unwrap()).collect()
}

#[test]
fn words_are_what_the_program_says() {
    let folder = Folder(std::env::temp_dir().join(format!("vaquita-own-parsers-{}", std::process::id())));
    let db = with_tags(&folder.0);
    let mut c = db.connect().unwrap();
    c.execute(
        "create database d; use d; create table t (id int primary key, a varchar(100), fulltext (a) with parser TAGS);
         insert into t values (1, 'red wine; white bread'), (2, 'white bread ;cheese'), (3, 'red; wine')",
        (),
    )
    .unwrap();
    assert_eq!(ids(&mut c, "'\"white bread\"'"), [1, 2]);
    assert_eq!(ids(&mut c, "'\"red wine\"' in boolean mode"), [1]);
    assert_eq!(ids(&mut c, "'wine'"), [3]);
    c.execute("set global innodb_optimize_fulltext_only = 1; optimize table t", ()).unwrap();
    assert_eq!(ids(&mut c, "'\"white bread\"'"), [1, 2]);
    drop(c);
    db.close().unwrap();

    // Where it is not there, rows are read, and neither searched nor changed.
    let db = vaquita::Database::open(&folder.0).unwrap();
    let mut c = db.connect().unwrap();
    c.execute("use d", ()).unwrap();
    assert_eq!(c.query("select count(*) from t", ()).unwrap().single::<i64>().unwrap(), 3);
    let shown = c.query("show create table t", ()).unwrap();
    assert!(shown.row(0).unwrap().get::<String>(1).unwrap().contains("/*!50100 WITH PARSER `Tags` */"));
    for statement in [
        "select id from t where match (a) against ('wine')",
        "insert into t values (4, 'beer')",
        "update t set a = 'beer' where id = 1",
        "optimize table t",
        "alter table t add b int, algorithm = copy",
        "create table u (a text, fulltext (a) with parser tags)",
    ] {
        let said = match c.query(statement, ()) {
            Ok(rows) => rows.iter().map(|row| row.get::<String>(3).unwrap()).collect(),
            Err(e) => e.message,
        };
        assert!(said.to_lowercase().contains("tags"), "{statement}: {said}");
    }
    drop((shown, c));
    db.close().unwrap();

    let db = with_tags(&folder.0);
    let mut c = db.connect().unwrap();
    c.execute("use d; insert into t values (4, 'wine; beer')", ()).unwrap();
    assert_eq!(ids(&mut c, "'wine'"), [3, 4]);
    assert_eq!(c.query("select count(*) from t", ()).unwrap().single::<i64>().unwrap(), 4);
    drop(c);
    db.close().unwrap();
}
