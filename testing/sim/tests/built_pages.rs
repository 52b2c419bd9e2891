//! Pages of a tree that is built have no redo: they are durable before anybody refers to them, or the tree is gone after a crash.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use vaquita_base::ManualClock;
use vaquita_engine::check::check_table;
use vaquita_engine::{
    Column, Concurrency, ConvertRow, Engine, Error, Field, IndexSpec, KeptKeys, Options, TableSpec, stored,
};
use vaquita_format::PageSize;
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;

const TABLE: &str = "d/t";
const ROWS: i32 = 7_000;
/// Bytes of the text of each row.
const TEXT: usize = 700;

fn open(disk: &SimDisk) -> Result<Engine, Error> {
    let mut options = Options { background: false, ..Options::new("/db") };
    options.storage.page_size = PageSize::new(4_096).unwrap();
    options.storage.buffer_pool_size = 200 * 4_096;
    options.storage.log_file_size = 1 << 20;
    options.txn.rollback_segments = 2;
    let engine = Engine::open_with(Arc::new(disk.clone()), Arc::new(ManualClock::new()), options)?;
    while engine.core().rollback_step()? {}
    Ok(engine)
}

fn spec(name: &str) -> TableSpec {
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::varchar("v", 720, Charset::LATIN1)),
    ];
    let mut spec = TableSpec::new(name, columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec
}

/// A folder with a table without secondary indexes.
fn folder() -> SimDisk {
    let disk = SimDisk::new(11);
    disk.put_dir("/db".as_ref());
    let engine = open(&disk).unwrap();
    let mut session = engine.session();
    session.create_table(&spec(TABLE)).unwrap();
    for id in 0..ROWS {
        let v = format!("{:05}{}", id * 7_919 % ROWS, "x".repeat(TEXT));
        let inserted = session.run(|s| {
            let table = s.table(TABLE)?;
            s.insert(&table, &[Some(&stored::int(id)), Some(v.as_bytes())]).map(drop)
        });
        inserted.unwrap();
    }
    drop(session);
    engine.close().unwrap();
    disk
}

/// What builds a tree. It takes more extents than a tablespace has in store: those are described, and may have been in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// An index of the texts comes.
    Index,
    /// The rows are written anew.
    Rebuild,
}

/// Rows stay as they are.
struct Keep;

impl ConvertRow<Error> for Keep {
    fn convert(
        &mut self,
        row: &[Field<'_>],
        with: &mut dyn FnMut(&[Field<'_>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        with(row)
    }
}

fn build(engine: &Engine, change: Change) -> Result<(), Error> {
    if change == Change::Rebuild {
        let (keys, origins) = (KeptKeys::default(), [Some(0), Some(1)]);
        let anew = spec("d/#sql-vq1");
        return engine
            .session()
            .rebuild_table_beside(TABLE, &anew, keys, &origins, Concurrency::Writes, |_, _| Ok(Keep))
            .map(drop);
    }
    let parts = vec![KeyPart::whole(1)];
    let index = IndexSpec { name: "by_v".into(), parts, unique: true, comment: String::new() };
    engine.session().add_indexes(TABLE, &[index])
}

/// Whether the index is there; every row is in it then, and whatever there is is sound.
fn has_index(engine: &Engine) -> Result<bool, Error> {
    let core = engine.core();
    let table = core.table(TABLE)?;
    let report = check_table(core, &table)?;
    assert_eq!(report.rows, u64::try_from(ROWS).unwrap());
    Ok(table.indexes.len() == 2)
}

#[test]
fn most_pages_of_a_tree_are_not_logged() {
    let disk = folder();
    for change in [Change::Rebuild, Change::Index] {
        let engine = open(&disk).unwrap();
        let log = || engine.core().storage.log().current_lsn().get();
        let before = log();
        build(&engine, change).unwrap();
        let logged = log() - before;
        let entries = ROWS as u64 * TEXT as u64;
        assert!(logged < entries / 2, "{change:?}: {logged} bytes of redo for {entries} bytes of entries");
        assert_eq!(has_index(&engine).unwrap(), change == Change::Index);
        engine.close().unwrap();
    }
}

/// The power goes off at any operation of the disk, and after the last one.
#[test]
fn a_power_cut_leaves_a_whole_tree_or_none() {
    let disk = folder();
    for change in [Change::Index, Change::Rebuild] {
        let counted = disk.fork(1);
        let engine = open(&counted).unwrap();
        let first = counted.ops();
        build(&engine, change).unwrap();
        let ops = counted.ops() - first;
        drop(engine);
        let (mut whole, mut absent) = (0, 0);
        for cut in (1..ops).step_by((ops / 12).max(1) as usize).chain([ops, ops + 1]) {
            let when = format!("{change:?}, cut {cut} of {ops}");
            let disk = disk.fork(cut);
            let engine = open(&disk).unwrap();
            disk.arm_cut(disk.ops() + cut);
            let built = build(&engine, change).is_ok();
            if !disk.is_off() {
                disk.power_cut();
            }
            drop(engine);
            let disk = disk.restart();
            let engine = open(&disk).unwrap_or_else(|e| panic!("{when}: {e}"));
            let there = has_index(&engine).unwrap_or_else(|e| panic!("{when}: {e}"));
            if change == Change::Index {
                assert!(there || !built, "{when}: the index was acknowledged and is not there");
                whole += u32::from(there);
                absent += u32::from(!there);
            }
            if !there {
                build(&engine, change).unwrap();
                has_index(&engine).unwrap_or_else(|e| panic!("{when}, again: {e}"));
            }
        }
        assert!(
            change == Change::Rebuild || whole > 0 && absent > 6,
            "{whole} whole, {absent} absent of {ops}"
        );
    }
}

/// Recovery in several rounds met records of a table's file before the log dropped it. It made the file anew for them, without the pages
/// that were never logged, and the records did not fit.
#[test]
fn records_of_a_file_that_is_dropped_later_are_left_out() {
    let mut report = vaquita_sim::rebuilds::RebuildReport::default();
    for seed in 0..8 {
        let done = vaquita_sim::rebuilds::run_seed(seed).unwrap_or_else(|failure| panic!("{failure}"));
        report.cuts += done.cuts;
        report.rebuilds += done.rebuilds;
        report.rounds += done.rounds;
    }
    assert!(report.cuts > 20 && report.rebuilds > 20 && report.rounds > 5, "{report:?}");
}

/// A harness that does not see that built pages were not written is blind.
#[test]
fn pages_that_are_referred_to_before_they_are_written_are_found() {
    let folder = folder();
    for change in [Change::Index, Change::Rebuild] {
        let disk = folder.fork(1);
        let engine = open(&disk).unwrap();
        engine.core().storage.canary().leave_built_pages();
        build(&engine, change).unwrap();
        disk.power_cut();
        drop(engine);
        let disk = disk.restart();
        let found = open(&disk).and_then(|engine| has_index(&engine));
        assert!(found.is_err(), "{change:?}: {found:?}");
    }
}
