//! FULLTEXT indexes built while others change the rows, at every stage: what is found afterwards is what the rows have, wherever the power
//! goes off.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::small;

use parking_lot::Mutex;
use small::open;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vaquita_base::Rng;
use vaquita_engine::fulltext::{FullTextReader, Mode, Ranking, doc_id_key, flush, optimize};
use vaquita_engine::table::Table;
use vaquita_engine::{
    AccessMode, Alteration, Column, Concurrency, ConvertRow, Engine, Error, Field, FullTextSpec, IndexSpec,
    KeptKeys, ReadOptions, Result, RowKey, Session, TableSpec, stored,
};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;

const TABLE: &str = "a/t";
const WORDS: [&str; 8] = ["apple", "pear", "fig", "kiwi", "plum", "grape", "lemon", "zebra"];
const ROWS: i32 = 40;

fn fulltext(name: &str, column: usize) -> FullTextSpec {
    FullTextSpec { name: name.into(), columns: vec![column], parser: None, split: None }
}

fn spec(name: &str, own: bool, fulltext: &[FullTextSpec]) -> TableSpec {
    let mut columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::varchar("a", 200, Charset::UTF8)),
        Column::new(ColumnDef::varchar("b", 200, Charset::UTF8)),
    ];
    if own {
        columns.push(Column::new(ColumnDef::int("FTS_DOC_ID", 8, true).not_null()));
    }
    let mut spec = TableSpec::new(name, columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.fulltext = fulltext.to_vec();
    spec
}

fn text(rng: &mut Rng) -> Option<String> {
    let some: Vec<&str> = (0..rng.below(4)).map(|_| WORDS[rng.index(WORDS.len())]).collect();
    (!rng.one_in(8)).then(|| some.join(" "))
}

/// Rows as they are, without the numbers that the engine gives.
struct Same;

impl ConvertRow<Error> for Same {
    fn convert(&mut self, row: &[Field<'_>], with: &mut dyn FnMut(&[Field<'_>]) -> Result<()>) -> Result<()> {
        with(&row[..3])
    }
}

/// Writes the table anew, with these indexes and hidden numbers of documents.
fn rebuild(session: &mut Session, with: &[FullTextSpec]) -> Result<()> {
    let origins = [Some(0), Some(1), Some(2)];
    let same = |_: &Arc<Table>, _: &Arc<Table>| Ok(Same);
    let spec = TableSpec { numbers_documents: true, ..spec("a/#sql-vq7", false, with) };
    session
        .rebuild_table_beside(TABLE, &spec, KeptKeys::default(), &origins, Concurrency::Writes, same)
        .map(drop)
}

fn alter(session: &mut Session, indexes: &[IndexSpec], alteration: Alteration<'_>) -> Result<()> {
    let table = session.core().table(TABLE)?;
    let done = session.alter_in_place(&table, &[], |t| t.alter(indexes, alteration, Concurrency::Writes))?;
    assert!(done, "the table is the one that it was");
    Ok(())
}

fn add(session: &mut Session, with: &[FullTextSpec]) -> Result<()> {
    alter(session, &[], Alteration { fulltext: with, ..Alteration::default() })
}

type Rows = BTreeMap<i32, [Option<String>; 2]>;

/// Somebody who changes rows.
struct Other {
    session: Session,
    rng: Rng,
    committed: Rows,
    now: Rows,
    is_open: bool,
    changes: u64,
    /// What ended its work, if it could not go on.
    failed: Option<Error>,
}

impl Other {
    fn new(engine: &Engine, seed: u64, rows: Rows) -> Other {
        let mut session = engine.session();
        session.settings.metadata_lock_timeout = 0;
        let now = rows.clone();
        Other { session, rng: Rng::new(seed), committed: rows, now, is_open: false, changes: 0, failed: None }
    }

    /// Changes some rows, if they can be changed at this moment.
    fn step(&mut self) -> Result<()> {
        if !self.is_open {
            self.session.begin(AccessMode::ReadWrite, false)?;
            self.is_open = true;
        }
        for _ in 0..1 + self.rng.below(3) {
            match self.change() {
                // The definition is being changed, and nobody gets at the table.
                Err(Error::MetadataLockTimeout(_)) => break,
                other => other?,
            }
            // Caches are written when they are full, and deleted documents removed. The transaction keeps the definition as it is.
            let core = self.session.core();
            match self.rng.below(8) {
                0 | 1 => flush(core, &core.table(TABLE)?)?,
                2 if !core.table(TABLE)?.fulltext.is_empty() => {
                    optimize(core, &core.table(TABLE)?, self.rng.below(30))?;
                }
                _ => {}
            }
        }
        if self.rng.one_in(4) { Ok(()) } else { self.end() }
    }

    fn change(&mut self) -> Result<()> {
        let id = self.rng.below(ROWS as u64 + 10) as i32;
        let key = RowKey::new([&stored::int(id)[..]]);
        let (rng, now) = (&mut self.rng, &mut self.now);
        let texts = [text(rng), text(rng)];
        let column = rng.index(2);
        let kind = rng.below(3);
        let there = now.contains_key(&id);
        self.session.run(|s| {
            let table = s.table(TABLE)?;
            let [a, b] = texts.each_ref().map(|text| text.as_deref().map(str::as_bytes));
            match (there, kind) {
                // A hidden number is nobody's business.
                (false, _) => {
                    let row = [Some(&stored::int(id)[..]), a, b, None];
                    s.insert(&table, &row[..table.columns.len()]).map(drop)
                }
                (true, 0) => s.delete(&table, &key).map(drop),
                (true, _) => s.update(&table, &key, &[(column + 1, [a, b][column])]).map(drop),
            }
        })?;
        self.changes += 1;
        match (there, kind) {
            (false, _) => drop(now.insert(id, texts)),
            (true, 0) => drop(now.remove(&id)),
            (true, _) => now.get_mut(&id).unwrap()[column].clone_from(&texts[column]),
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.is_open) {
            return Ok(());
        }
        if self.rng.one_in(3) {
            self.now.clone_from(&self.committed);
            return self.session.rollback();
        }
        self.session.commit()?.wait()?;
        self.committed.clone_from(&self.now);
        Ok(())
    }
}

/// Runs a change with somebody else at work whenever it tells how far it is; again, if that one has the table in the end.
fn beside(
    session: &mut Session,
    other: &Arc<Mutex<Other>>,
    change: impl Fn(&mut Session) -> Result<()>,
) -> Result<()> {
    session.settings.metadata_lock_timeout = 0;
    let progress = session.progress().clone();
    loop {
        let at_work = other.clone();
        progress.watch(Some(Box::new(move || {
            let mut other = at_work.lock();
            if let Err(e) = other.step() {
                other.failed.get_or_insert(e);
            }
        })));
        let done = change(session);
        progress.watch(None);
        let mut other = other.lock();
        if let Some(e) = other.failed.take() {
            return Err(e);
        }
        other.end()?;
        match done {
            Err(Error::MetadataLockTimeout(_)) => {}
            done => return done,
        }
    }
}

/// Every index finds the rows that have each word, and agrees with them; the rows are those of the model, if one is given.
fn check(engine: &Engine, rows: Option<&Rows>, what: &str) {
    let core = engine.core();
    while core.rollback_step().unwrap() {}
    let table = core.table(TABLE).unwrap();
    let (documents, found) = read(engine, &table);
    if let Some(rows) = rows {
        assert_eq!(&found, rows, "{what}");
    }
    vaquita_engine::fulltext::check(core, &table, &mut || true).unwrap_or_else(|e| panic!("{what}: {e}"));
    for index in &table.fulltext {
        let reader = FullTextReader::open(core, &table, index).unwrap();
        for word in WORDS {
            let has = |id: &i32| {
                let text = found[id][index.columns[0] - 1].as_deref();
                text.is_some_and(|text| text.split(' ').any(|has| has == word))
            };
            let expected: BTreeSet<i32> = found.keys().copied().filter(has).collect();
            let answer = reader.search(Mode::Natural, &Ranking::Innodb, word.as_bytes()).unwrap();
            let answer: BTreeSet<i32> = answer
                .iter()
                .map(|m| *documents.get(&m.doc.0).unwrap_or_else(|| panic!("{what}: {word}: no {}", m.doc)))
                .collect();
            assert_eq!(answer, expected, "{what}: {word} by {}", index.name);
        }
    }
}

/// The rows, and which one has each number of a document.
fn read(engine: &Engine, table: &Arc<Table>) -> (BTreeMap<u64, i32>, Rows) {
    let number = table.columns.iter().position(|column| column.def.name == "FTS_DOC_ID");
    let (mut documents, mut rows) = (BTreeMap::new(), Rows::new());
    let read = engine.session().run(|s| {
        let columns: Vec<usize> = [0, 1, 2].into_iter().chain(number).collect();
        let mut cursor = s.cursor(table, &ReadOptions::by_index(0).columns(columns))?;
        cursor.seek_first();
        while let Some(row) = s.next(&mut cursor)? {
            let id = row.column(0).unwrap().iter().fold(0u32, |id, byte| id << 8 | u32::from(*byte));
            let id = (id ^ 1 << 31) as i32;
            let text =
                |column| row.column(column).map(|text: &[u8]| String::from_utf8(text.to_vec()).unwrap());
            rows.insert(id, [text(1), text(2)]);
            if number.is_some() {
                let doc = row.column(3).unwrap().iter().fold(0, |doc, byte| doc << 8 | u64::from(*byte));
                assert_eq!(documents.insert(doc, id), None, "a number that comes twice");
            }
        }
        Ok(())
    });
    read.unwrap();
    (documents, rows)
}

/// A folder with rows, whose documents have no numbers yet.
fn folder(rng: &mut Rng) -> (SimDisk, Rows) {
    let disk = SimDisk::new(3);
    disk.put_dir("/db".as_ref());
    let engine = open(&disk).unwrap();
    let mut session = engine.session();
    session.create_table(&spec(TABLE, false, &[])).unwrap();
    let rows: Rows = (0..ROWS).map(|id| (id, [text(rng), text(rng)])).collect();
    let insert = session.run(|s| {
        let table = s.table(TABLE)?;
        for (id, texts) in &rows {
            let [a, b] = texts.each_ref().map(|text| text.as_deref().map(str::as_bytes));
            s.insert(&table, &[Some(&stored::int(*id)), a, b])?;
        }
        Ok(())
    });
    insert.unwrap();
    drop(session);
    engine.close().unwrap();
    (disk, rows)
}

/// Indexes come and go in the ways there are; what is looked at after each.
fn changes(
    engine: &Engine,
    session: &mut Session,
    other: &Arc<Mutex<Other>>,
    looked: &mut dyn FnMut(&str),
) -> Result<()> {
    let dropped = |names: &'static [&'static str]| {
        move |s: &mut Session| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            alter(s, &[], Alteration { dropped_indexes: &names, ..Alteration::default() })
        }
    };
    beside(session, other, |s| rebuild(s, &[fulltext("a", 1)]))?;
    looked("the first index comes with the numbers");
    beside(session, other, |s| add(s, &[fulltext("b", 2)]))?;
    looked("another one");
    flush(engine.core(), &engine.core().table(TABLE)?)?;
    beside(session, other, dropped(&["a", "b"]))?;
    beside(session, other, |s| add(s, &[fulltext("a", 1)]))?;
    looked("one comes again");
    beside(session, other, dropped(&["a"]))?;
    beside(session, other, |s| rebuild(s, &[]))?;
    looked("numbers alone");
    beside(session, other, |s| add(s, &[fulltext("a", 1)]))?;
    looked("one comes to the numbers");
    let by_b = IndexSpec {
        name: "by_b".into(),
        parts: vec![KeyPart::whole(2)],
        unique: false,
        comment: String::new(),
    };
    beside(session, other, |s| {
        let with = [fulltext("b", 2)];
        alter(s, std::slice::from_ref(&by_b), Alteration { fulltext: &with, ..Alteration::default() })
    })?;
    looked("with an index of another kind");
    while !optimize(engine.core(), &engine.core().table(TABLE)?, 3)? {}
    looked("deleted documents are removed");
    beside(session, other, |s| rebuild(s, &[fulltext("a", 1), fulltext("b", 2)]))
}

#[test]
fn what_is_found_is_what_the_rows_have() {
    let mut changed = 0;
    for seed in 0..40 {
        let (disk, rows) = folder(&mut Rng::new(seed));
        let engine = open(&disk).unwrap();
        let other = Arc::new(Mutex::new(Other::new(&engine, seed, rows)));
        let mut look = |what: &str| {
            check(&engine, Some(&other.lock().committed), &format!("{seed}: {what}"));
        };
        let mut session = engine.session();
        changes(&engine, &mut session, &other, &mut look).unwrap();
        look("in the end");
        drop(session);
        let rows = other.lock().committed.clone();
        changed += other.lock().changes;
        drop(other);
        engine.close().unwrap();
        drop(engine);
        check(&open(&disk).unwrap(), Some(&rows), &format!("{seed}: opened again"));
    }
    assert!(changed > 40 * 60, "{changed} changes");
}

/// Whenever the power goes off: an index that is there has all rows, and what was changed as if nothing had been built goes on to be found.
#[test]
fn the_power_goes_off() {
    let (base, rows) = folder(&mut Rng::new(5));
    let opened = |disk: &SimDisk| {
        let engine = open(disk).unwrap();
        let other = Arc::new(Mutex::new(Other::new(&engine, 7, rows.clone())));
        (engine, other)
    };
    let whole = base.fork(1);
    let (engine, other) = opened(&whole);
    let from = whole.ops();
    changes(&engine, &mut engine.session(), &other, &mut |_| {}).unwrap();
    let ops = whole.ops() - from;
    drop((engine, other));
    let cuts = 60;
    let mut with = BTreeMap::new();
    for n in 0..cuts {
        let disk = base.fork(n + 2);
        let (engine, other) = opened(&disk);
        disk.arm_cut(disk.ops() + 1 + ops * n / cuts + n % 7);
        let done = changes(&engine, &mut engine.session(), &other, &mut |_| {});
        assert!(done.is_ok() || disk.is_off(), "cut {n}: {done:?}");
        drop((engine, other));
        let disk = disk.restart();
        let engine = open(&disk).unwrap_or_else(|e| panic!("cut {n}: {e}"));
        check(&engine, None, &format!("cut {n}"));
        // And it goes on as if nothing had been.
        let core = engine.core();
        let table = core.table(TABLE).unwrap();
        *with.entry(table.fulltext.len()).or_insert(0) += 1;
        let rows = read(&engine, &table).1;
        let other = Arc::new(Mutex::new(Other::new(&engine, n, rows)));
        let mut session = engine.session();
        beside(&mut session, &other, |s| rebuild(s, &[fulltext("a", 1), fulltext("b", 2)])).unwrap();
        check(&engine, Some(&other.lock().committed), &format!("after cut {n}"));
    }
    assert!(with.len() == 3, "{with:?}: none, one and two indexes were met");
}

/// Of numbers that the user gives nobody knows which were there: others only read meanwhile.
#[test]
fn numbers_of_the_users_own_keep_writers_out() {
    let disk = SimDisk::new(3);
    disk.put_dir("/db".as_ref());
    let engine = open(&disk).unwrap();
    let mut session = engine.session();
    session.create_table(&spec(TABLE, true, &[])).unwrap();
    let insert = |s: &mut Session, id: i32| {
        let doc = doc_id_key(id as u64 + 1);
        s.run(|s| {
            let table = s.table(TABLE)?;
            s.insert(&table, &[Some(&stored::int(id)), Some(b"apple"), None, Some(&doc)]).map(drop)
        })
    };
    (0..ROWS).for_each(|id| insert(&mut session, id).unwrap());
    let mut other = engine.session();
    other.settings.metadata_lock_timeout = 0;
    let refused = Arc::new(Mutex::new((other, Vec::new())));
    let at_work = refused.clone();
    let progress = session.progress().clone();
    progress.watch(Some(Box::new(move || {
        let (other, seen) = &mut *at_work.lock();
        seen.push(insert(other, ROWS));
    })));
    add(&mut session, &[fulltext("a", 1)]).unwrap();
    progress.watch(None);
    let (_, seen) = &*refused.lock();
    let kept_out = seen.iter().filter(|done| matches!(done, Err(Error::MetadataLockTimeout(_)))).count();
    assert!(kept_out > 0 && kept_out == seen.len(), "{seen:?}");
    check(&engine, None, "own numbers");
}
