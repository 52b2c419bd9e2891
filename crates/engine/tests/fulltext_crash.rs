//! Full-text indexes with the power going off at every operation on the disk, while documents come, change and go, words are
//! written and deleted documents removed from the lists: afterwards every word is found in exactly the rows that have it. Words are written
//! while transactions are open that have lower numbers, one of which is prepared, so that the lists are not complete for a while.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vaquita_engine::fulltext::{
    FullTextReader, Mode, Ranking, cached_bytes, doc_id_key, flush, optimize, optimize_step, show,
};
use vaquita_engine::{Engine, Error, Options, ReadOptions, RowKey, Session, Table, Xid, stored};
use vaquita_io::sim::SimDisk;
use vaquita_peers::{Mysql56, Options as ServerOptions};
use vaquita_testkit::engine_folder::EngineFolder;

const WORDS: [&str; 8] = ["apple", "pear", "fig", "kiwi", "grape", "plum", "lemon", "melon"];

/// A full cache.
const CACHE_BYTES: u64 = 3_000;

/// A folder in which a server has made a table whose documents are numbered by InnoDB and one whose user numbers them.
fn folder() -> SimDisk {
    let mut server = Mysql56::start(ServerOptions::new().set("innodb_log_file_size", 4 << 20)).unwrap();
    server
        .sql(
            "create database d; use d;
             create table hidden (id int primary key, t text, n int, fulltext key t (t)) charset utf8;
             create table own (FTS_DOC_ID bigint unsigned not null primary key, t text, fulltext key t (t)) charset utf8;
             insert into hidden values (1, 'apple pear', 1), (2, 'fig', 1), (3, 'kiwi apple', 1), (4, 'plum', 1);
             insert into own values (1, 'apple'), (5, 'pear fig');
             set global innodb_optimize_fulltext_only = 1; optimize table hidden; delete from hidden where id = 4;",
        )
        .unwrap();
    let dir = server.datadir().to_owned();
    server.shutdown().unwrap();
    let disk = SimDisk::new(11);
    disk.put_dir("/db".as_ref());
    copy(&disk, &dir, Path::new("/db"));
    disk
}

fn copy(disk: &SimDisk, from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        let is_log = entry.file_name().to_string_lossy().starts_with("auto.cnf");
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => {
                disk.put_dir(&target);
                copy(disk, &entry.path(), &target);
            }
            kind if kind.is_file() && !is_log => {
                disk.put_file(&target, &std::fs::read(entry.path()).unwrap())
            }
            _ => {}
        }
    }
}

fn open(disk: &SimDisk) -> Result<Engine, Error> {
    let settings = |options: &mut Options| {
        options.storage.take_over = true;
        options.storage.log_file_size = 4 << 20;
        // Some kilobytes are a full cache.
        options.fulltext.cache_size = CACHE_BYTES;
    };
    EngineFolder::on(disk.clone()).with(settings).open()
}

type Row<'r> = (i32, &'r str);

fn insert(session: &mut Session, (id, text): Row<'_>) -> Result<(), Error> {
    session.run(|s| {
        let table = s.table("d/hidden")?;
        let (id, n) = (stored::int(id), stored::int(1));
        s.insert(&table, &[Some(&id), Some(text.as_bytes()), Some(&n), None]).map(drop)
    })
}

fn update(session: &mut Session, (id, text): Row<'_>) -> Result<bool, Error> {
    session.run(|s| {
        let table = s.table("d/hidden")?;
        s.update(&table, &RowKey::new([&stored::int(id)[..]]), &[(1, Some(text.as_bytes()))])
    })
}

fn delete(session: &mut Session, id: i32) -> Result<bool, Error> {
    session.run(|s| {
        let table = s.table("d/hidden")?;
        s.delete(&table, &RowKey::new([&stored::int(id)[..]]))
    })
}

fn insert_own(session: &mut Session, doc: u64, text: &str) -> Result<(), Error> {
    session.run(|s| {
        let table = s.table("d/own")?;
        s.insert(&table, &[Some(&doc_id_key(doc)), Some(text.as_bytes())]).map(drop)
    })
}

/// Everything that there is to do, until the power goes off.
fn work(engine: &Engine) -> Result<(), Error> {
    let mut session = engine.session();
    let session = &mut session;
    let core = engine.core();
    insert(session, (10, "apple grape"))?;
    update(session, (1, "pear pear melon"))?;
    session.begin(vaquita_engine::AccessMode::ReadWrite, false)?;
    insert(session, (11, "fig lemon"))?;
    session.savepoint("s");
    update(session, (11, "never"))?;
    delete(session, 2)?;
    session.rollback_to_savepoint("s")?;
    delete(session, 3)?;
    session.commit()?.wait()?;
    session.begin(vaquita_engine::AccessMode::ReadWrite, false)?;
    insert(session, (12, "apple never"))?;
    delete(session, 10)?;
    session.rollback()?;
    insert_own(session, 9, "kiwi grape")?;
    insert_own(session, 12, "apple")?;

    // One that has a number and is open while others commit and words are written: it comes late.
    let mut late = engine.session();
    late.begin(vaquita_engine::AccessMode::ReadWrite, false)?;
    insert(&mut late, (20, "plum apple"))?;
    let mut prepared = engine.session();
    prepared.begin(vaquita_engine::AccessMode::ReadWrite, false)?;
    insert(&mut prepared, (21, "plum pear"))?;
    delete(&mut prepared, 2)?;
    let xid = Xid::new(1, b"a", b"b").expect("it is short");
    prepared.xa_prepare(xid)?.wait()?;
    for id in 30..50 {
        insert(session, (id, "apple pear fig kiwi grape plum"))?;
        // The other table has some words, too.
        let cached = cached_bytes(core);
        assert!(cached <= CACHE_BYTES + 1_500, "{cached} at {id}: however long somebody has a number");
    }
    let hidden = core.table("d/hidden")?;
    flush(core, &hidden)?;
    late.commit()?.wait()?;
    engine.xa_commit(&xid)?.wait()?;
    for id in 30..34 {
        delete(session, id)?;
    }
    update(session, (40, "lemon"))?;
    while !optimize(core, &hidden, 3)? {}
    insert(session, (60, "fig melon"))?;
    flush(core, &core.table("d/own")?)
}

/// The rows that have each word, by their documents, and the documents that are found.
fn check(engine: &Engine, what: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let core = engine.core();
    for xid in engine.xa_recover() {
        engine.xa_commit(&xid).unwrap().wait().unwrap();
    }
    while core.rollback_step().unwrap() {}
    for name in ["d/hidden", "d/own"] {
        let table = core.table(name).unwrap();
        let rows = rows(engine, &table);
        let reader = FullTextReader::open(core, &table, &table.fulltext[0]).unwrap();
        for word in WORDS {
            let has: BTreeSet<u64> = rows
                .iter()
                .filter(|(_, text)| text.split(' ').any(|has| has == word))
                .map(|(doc, _)| *doc)
                .collect();
            let answer: BTreeSet<u64> = reader
                .search(Mode::Natural, &Ranking::Innodb, word.as_bytes())
                .unwrap()
                .iter()
                .map(|found| found.doc.0)
                .collect();
            assert_eq!(answer, has, "{what}: {word} in {name}");
            found.insert(format!("{name} {word}"), answer.len());
        }
        assert!(
            reader.search(Mode::Natural, &Ranking::Innodb, b"never").unwrap().is_empty(),
            "{what}: what was rolled back"
        );
        vaquita_engine::fulltext::check(core, &table, &mut || true).unwrap_or_else(|e| panic!("{what}: {e}"));
    }
    found
}

fn rows(engine: &Engine, table: &Arc<Table>) -> BTreeMap<u64, String> {
    let ids = table.doc_ids.unwrap();
    let mut rows = BTreeMap::new();
    let read = engine.session().run(|s| {
        let mut cursor = s.cursor(table, &ReadOptions::by_index(0).columns([ids.column, 1]))?;
        while let Some(row) = s.next(&mut cursor)? {
            let doc = row.column(0).unwrap().iter().fold(0, |doc, byte| doc << 8 | u64::from(*byte));
            let text = String::from_utf8(row.column(1).unwrap_or_default().to_vec()).unwrap();
            assert_eq!(rows.insert(doc, text), None, "a number that comes twice");
        }
        Ok(())
    });
    read.unwrap();
    rows
}

#[test]
fn what_is_found_is_what_there_is() {
    let whole = folder();
    // Taken over, so that every round begins with the work.
    let engine = open(&whole).unwrap();
    check(&engine, "before");
    engine.close().unwrap();
    drop(engine);
    let mut cuts = 0;
    for cut in 1.. {
        let disk = whole.fork(cut);
        let engine = open(&disk).unwrap();
        disk.arm_cut(disk.ops() + cut);
        // Closing writes what is left.
        let done = work(&engine).and_then(|()| engine.close());
        if !disk.is_off() {
            done.unwrap();
            drop(engine);
            disk.arm_cut(u64::MAX);
            let engine = open(&disk).unwrap();
            let found = check(&engine, "without a cut");
            assert_eq!((found["d/hidden plum"], found["d/hidden lemon"]), (2 + 15, 2), "{found:?}");
            break;
        }
        drop(engine);
        cuts += 1;
        let after = disk.restart();
        let engine = open(&after).unwrap();
        check(&engine, &format!("cut {cut}"));
        // It goes on from there.
        let mut session = engine.session();
        for (id, text) in [(70, "melon"), (71, "apple pear")] {
            insert(&mut session, (id, text)).unwrap();
        }
        drop(session);
        let hidden = engine.core().table("d/hidden").unwrap();
        while !optimize(engine.core(), &hidden, 5).unwrap() {}
        check(&engine, &format!("cut {cut}, gone on"));
    }
    assert!(cuts > 20, "{cuts}");
}

/// Documents of the table that are gone and may be in lists.
fn deleted(engine: &Engine) -> usize {
    let table = engine.core().table("d/hidden").unwrap();
    [false, true].map(|being| show::deleted(engine.core(), &table, being).unwrap().len()).iter().sum()
}

/// What runs in the background, step by step. Searches are held against the rows between the steps.
fn background(engine: &Engine) -> Result<usize, Error> {
    let core = engine.core();
    core.live.ft_optimize_deleted.store(2, Ordering::Relaxed);
    // What nobody uses is not looked at.
    let table = core.table("d/hidden")?;
    FullTextReader::open(core, &table, &table.fulltext[0])?;
    let mut steps = 1;
    while optimize_step(core)? {
        steps += 1;
    }
    Ok(steps)
}

#[test]
fn what_runs_in_the_background_goes_on_after_a_crash() {
    let whole = folder();
    let engine = open(&whole).unwrap();
    let mut session = engine.session();
    let many =
        |n: u32| (0..260).map(|word| format!("word{:03}", word * n % 997)).collect::<Vec<_>>().join(" ");
    for id in 10..16 {
        insert(&mut session, (id, &format!("{} {}", WORDS[id as usize % 8], many(id as u32)))).unwrap();
    }
    flush(engine.core(), &engine.core().table("d/hidden").unwrap()).unwrap();
    for id in [1, 10, 11, 13] {
        delete(&mut session, id).unwrap();
    }
    drop(session);
    assert!(deleted(&engine) >= 4);
    engine.close().unwrap();
    drop(engine);

    let (mut cuts, mut went_on) = (0, 0);
    for cut in (1..).step_by(3) {
        let disk = whole.fork(cut);
        let engine = open(&disk).unwrap();
        disk.arm_cut(disk.ops() + cut);
        let done = background(&engine).and_then(|steps| engine.close().map(|()| steps));
        if !disk.is_off() {
            assert!(done.unwrap() > 5, "a hundred words in a step");
            break;
        }
        drop(engine);
        cuts += 1;
        let engine = open(&disk.restart()).unwrap();
        check(&engine, &format!("cut {cut}"));
        let steps = background(&engine).unwrap();
        went_on += u32::from(steps < 6);
        check(&engine, &format!("cut {cut}, gone on"));
        assert_eq!(deleted(&engine), 0, "cut {cut}");
    }
    assert!(cuts > 10 && went_on > 2, "{cuts} cuts, {went_on} of them amid the words");
}
