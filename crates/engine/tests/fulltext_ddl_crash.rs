//! FULLTEXT indexes that come and go with the power going off: the index is there with all of its tables and words, or nothing is;
//! there is a file for each table and a table for each file.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::small;

use small::open;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use vaquita_engine::fulltext::DOC_ID_INDEX;
use vaquita_engine::table::Table;
use vaquita_engine::{
    Alteration, Column, Concurrency, ConvertRow, Engine, Error, Field, FullTextSpec, KeptKeys, ReadOptions,
    Result, Session, TableSpec, stored,
};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_fts::ilist::Postings;
use vaquita_io::sim::SimDisk;

const TABLE: &str = "a/t";
const TEXTS: [Option<&str>; 6] =
    [Some("apple pear"), Some("pear pear fig"), None, Some("the fig"), Some("Äpfel apple"), Some("x")];

fn spec(name: &str, words: &[(&str, &[usize])], own: bool) -> TableSpec {
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::varchar("a", 200, Charset::UTF8)),
        Column::new(ColumnDef::varchar("b", 200, Charset::UTF8)),
    ];
    let mut spec = TableSpec::new(name, columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.file_per_table = own;
    spec.fulltext = words
        .iter()
        .map(|(name, columns)| FullTextSpec {
            name: (*name).into(),
            columns: columns.to_vec(),
            parser: None,
            split: None,
        })
        .collect();
    spec
}

/// Rows as they are.
struct Same;

impl ConvertRow<Error> for Same {
    fn convert(&mut self, row: &[Field<'_>], with: &mut dyn FnMut(&[Field<'_>]) -> Result<()>) -> Result<()> {
        with(&row[..3])
    }
}

/// Writes the table anew with these indexes.
fn rebuild(session: &mut Session, words: &[(&str, &[usize])], own: bool) -> Result<()> {
    let spec = spec("a/#sql-vq7", words, own);
    let origins = [Some(0), Some(1), Some(2)];
    let same = |_: &Arc<Table>, _: &Arc<Table>| Ok(Same);
    session
        .rebuild_table_beside(TABLE, &spec, KeptKeys::default(), &origins, Concurrency::Writes, same)
        .map(drop)
}

fn alter(session: &mut Session, alteration: Alteration<'_>) -> Result<()> {
    let table = session.run(|s| s.table(TABLE))?;
    assert!(session.alter_in_place(&table, &[], |t| t.alter(&[], alteration, Concurrency::Reads))?);
    Ok(())
}

fn folder() -> SimDisk {
    let disk = SimDisk::new(3);
    disk.put_dir("/db".as_ref());
    let engine = open(&disk).unwrap();
    let mut session = engine.session();
    session.create_table(&spec(TABLE, &[], true)).unwrap();
    let insert = session.run(|s| {
        let table = s.table(TABLE)?;
        for (id, text) in TEXTS.iter().enumerate() {
            let (id, text) = (stored::int(id as i32), text.map(str::as_bytes));
            s.insert(&table, &[Some(&id), text, Some(b"kiwi")])?;
        }
        Ok(())
    });
    insert.unwrap();
    drop(session);
    engine.close().unwrap();
    disk
}

/// What is in a table, of a list of words what it says.
fn rows(session: &mut Session, name: &str) -> String {
    session
        .run(|s| {
            let table = s.table(name)?;
            let mut out = String::new();
            let mut cursor = s.cursor(&table, &ReadOptions::default())?;
            cursor.seek_first();
            while let Some(row) = s.next(&mut cursor)? {
                for column in 0..table.columns.len() {
                    let mut value = Vec::new();
                    row.read_column(column, &mut value)?;
                    if table.columns[column].def.name == "ilist" {
                        let mut postings = Postings::new(&value);
                        while let Some(posting) = postings.next().unwrap() {
                            write!(out, "{}:{:?}", posting.doc, posting.positions().unwrap()).unwrap();
                        }
                    } else if table.columns[column].def.mtype.is_string() {
                        out += &String::from_utf8_lossy(&value);
                    } else {
                        write!(out, "{value:?}").unwrap();
                    }
                    out.push(' ');
                }
                out.push('\n');
            }
            Ok(out)
        })
        .unwrap()
}

/// All tables with their indexes and rows, those of indexes called after what they serve.
fn state(engine: &Engine, disk: &SimDisk) -> BTreeMap<String, String> {
    let core = engine.core();
    let mut session = engine.session();
    let all = core.user_tables().unwrap();
    let mut found = BTreeMap::new();
    let mut names: Vec<(String, String)> = Vec::new();
    for name in all.iter().filter(|name| !name.contains("FTS_")) {
        let table = match core.table(name) {
            Err(Error::Discarded(_)) => {
                found.insert(name.clone(), "discarded".to_owned());
                continue;
            }
            table => table.unwrap(),
        };
        let (database, _) = name.split_once('/').unwrap();
        let id = table.id.get();
        names.push((format!("{database}/FTS_{id:016x}_"), format!("{name} ")));
        for index in &table.fulltext {
            let start = format!("{database}/FTS_{id:016x}_{:016x}_", index.id.get());
            names.insert(0, (start, format!("{name} {} ", index.name)));
        }
        let keys: Vec<&str> = table.indexes.iter().map(|i| i.name.as_str()).collect();
        let words: Vec<String> =
            table.fulltext.iter().map(|i| format!("{} {:?} {:?}", i.name, i.columns, i.split)).collect();
        assert_eq!(keys.contains(&DOC_ID_INDEX), table.columns.iter().any(|c| c.hidden), "{name}");
        found.insert(name.clone(), format!("{keys:?} {words:?}\n{}", rows(&mut session, name)));
    }
    for name in all.iter().filter(|name| name.contains("FTS_")) {
        let called = names.iter().find_map(|(start, called)| Some((called, name.strip_prefix(start)?)));
        let (serves, which) = called.unwrap_or_else(|| panic!("{name} serves nobody: {names:?}"));
        found.insert(format!("{serves}{which}"), rows(&mut session, name));
    }
    let own = all
        .iter()
        .filter(|name| found.get(*name).is_none_or(|state| state != "discarded"))
        .filter(|name| core.dict.sys_tablespaces(&core.storage).unwrap().iter().any(|s| s.name == **name));
    let mut files: Vec<String> = own.map(|name| format!("/db/{name}.ibd")).collect();
    files.sort();
    let there = disk.files().into_iter().map(|f| f.display().to_string()).filter(|f| f.ends_with(".ibd"));
    assert_eq!(there.collect::<Vec<_>>(), files);
    found
}

/// Opens the folder and lets it drop the copies of changes that were cut off.
fn settled(disk: &SimDisk) -> Result<Engine> {
    let engine = open(disk)?;
    while engine.core().rollback_step()? {}
    Ok(engine)
}

type ChangeOf = fn(&mut Session) -> Result<()>;

/// Cuts a change off at some operations on the disk; what it leads to. Outcomes as before and as after are counted.
fn cut(base: &SimDisk, counts: &mut [u32; 2], name: &str, change: ChangeOf) -> SimDisk {
    let before = state(&settled(&base.fork(1)).unwrap(), base);
    let whole = base.fork(2);
    let engine = settled(&whole).unwrap();
    let from = whole.ops();
    change(&mut engine.session()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let ops = whole.ops() - from;
    let after = state(&engine, &whole);
    assert_ne!(before, after, "{name}");
    engine.close().unwrap();
    for n in 0..24 {
        let disk = base.fork(n + 3);
        let engine = settled(&disk).unwrap();
        disk.arm_cut(disk.ops() + 1 + ops * n / 24 + n % 5);
        let done = change(&mut engine.session());
        assert!(done.is_ok() || disk.is_off(), "{name}, cut {n}: {done:?}");
        drop(engine);
        let mut disk = disk.restart();
        if n % 4 == 3 {
            // What takes it back, or finishes it, is cut off too.
            disk.arm_cut(disk.ops() + 1 + n);
            drop(settled(&disk));
            disk = disk.restart();
        }
        let engine = settled(&disk).unwrap_or_else(|e| panic!("{name}, cut {n}: {e}"));
        let now = state(&engine, &disk);
        match (now == before, done.is_ok()) {
            (true, false) => counts[0] += 1,
            _ => {
                counts[1] += 1;
                assert_eq!(now, after, "{name}, cut {n}");
            }
        }
    }
    whole
}

#[test]
fn all_of_an_index_or_nothing() {
    let plain = folder();
    let counts = &mut [0, 0];
    cut(&plain, counts, "create", |s| s.create_table(&spec("b/new", &[("ab", &[1, 2]), ("b", &[2])], true)));
    cut(&plain, counts, "create in the system tablespace", |s| {
        s.create_table(&spec("b/new", &[("ab", &[1, 2])], false))
    });
    let words = cut(&plain, counts, "rebuild", |s| rebuild(s, &[("a", &[1])], true));
    let engine = settled(&words.fork(1)).unwrap();
    let state_now = state(&engine, &words);
    let found: Vec<&str> = (1..=6).map(|n| state_now[&format!("{TABLE} a INDEX_{n}")].as_str()).collect();
    let apple = "apple [0, 0, 0, 0, 0, 0, 0, 1] [0, 0, 0, 0, 0, 0, 0, 5] [0, 0, 0, 2] 1:[0]5:[7] \n";
    assert!(found.concat().contains(apple), "{found:#?}");
    assert!(state_now[&format!("{TABLE} CONFIG")].contains("synced_doc_id 7"), "{state_now:#?}");
    drop(engine);

    cut(&words, counts, "truncate", |s| s.truncate_table(TABLE));
    cut(&words, counts, "discard", |s| s.discard_tablespace(TABLE).map(drop));
    cut(&words, counts, "drop", |s| s.drop_table(TABLE));
    cut(&words, counts, "rename", |s| s.rename_table(TABLE, "b/t"));
    cut(&words, counts, "copy", |s| rebuild(s, &[("b", &[2]), ("ba", &[2, 1])], false));
    let two = cut(&words, counts, "another index", |s| {
        let split = Some("hash".into());
        let fulltext = [FullTextSpec { name: "b".into(), columns: vec![2], parser: None, split }];
        alter(s, Alteration { fulltext: &fulltext, ..Alteration::default() })
    });
    cut(&two, counts, "another in its place", |s| {
        let fulltext = [FullTextSpec { name: "a".into(), columns: vec![2, 1], parser: None, split: None }];
        let dropped_indexes = ["a".to_owned(), "b".to_owned()];
        alter(
            s,
            Alteration { fulltext: &fulltext, dropped_indexes: &dropped_indexes, ..Alteration::default() },
        )
    });
    cut(&words, counts, "its words divided otherwise", |s| {
        let split = Some("words(g, m, p, s, w)".into());
        let fulltext = [FullTextSpec { name: "a".into(), columns: vec![1], parser: None, split }];
        let dropped_indexes = ["a".to_owned()];
        alter(
            s,
            Alteration { fulltext: &fulltext, dropped_indexes: &dropped_indexes, ..Alteration::default() },
        )
    });
    let none = cut(&words, counts, "drop index", |s| s.drop_index(TABLE, "a"));
    cut(&none, counts, "the first again", |s| {
        let fulltext = [FullTextSpec { name: "a".into(), columns: vec![2, 1], parser: None, split: None }];
        alter(s, Alteration { fulltext: &fulltext, ..Alteration::default() })
    });
    assert!(counts[0] > 50 && counts[1] > 30, "{counts:?} outcomes are as before and as after");
}
