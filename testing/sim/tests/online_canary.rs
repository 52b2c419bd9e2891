//! A harness that does not see that changes get lost which others make while an index is built is blind.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use vaquita_base::ManualClock;
use vaquita_engine::check::check_table;
use vaquita_engine::{Column, Engine, Error, IndexSpec, Options, Session, TableSpec, stored};
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;

const TABLE: &str = "d/t";

fn insert(session: &mut Session, id: i32) -> Result<(), Error> {
    session.run(|s| {
        let table = s.table(TABLE)?;
        s.insert(&table, &[Some(&stored::int(id)), Some(&stored::int(id % 100))]).map(drop)
    })
}

/// Builds an index while another session inserts rows; what a check of the table says, and how many rows came meanwhile.
fn build(skip_one_in: u64) -> (Result<(), Error>, i32) {
    let disk = SimDisk::new(3);
    disk.put_dir("/db".as_ref());
    let options = Options { background: true, sort_buffer_size: 64 << 10, ..Options::new("/db") };
    let engine = Engine::open_with(Arc::new(disk), Arc::new(ManualClock::new()), options).unwrap();
    let core = engine.core();
    core.canary.skip_one_log_record_in.store(skip_one_in, Ordering::Relaxed);
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::int("n", 4, false)),
    ];
    let mut spec = TableSpec::new(TABLE, columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    let mut session = engine.session();
    session.create_table(&spec).unwrap();
    (0..3_000).for_each(|id| insert(&mut session, id).unwrap());
    let (ended, last) = (AtomicBool::new(false), AtomicI32::new(3_000));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = engine.session();
            while !ended.load(Ordering::Relaxed) {
                insert(&mut session, last.fetch_add(1, Ordering::Relaxed)).unwrap();
            }
        });
        let parts = vec![KeyPart::whole(1)];
        let index = IndexSpec { name: "by_n".into(), parts, unique: false, comment: String::new() };
        let built = session.add_indexes(TABLE, &[index]);
        ended.store(true, Ordering::Relaxed);
        built.unwrap();
    });
    let checked = check_table(core, &core.table(TABLE).unwrap()).map(drop);
    (checked, last.into_inner() - 3_000)
}

#[test]
fn a_change_that_is_lost_while_an_index_is_built_is_found() {
    let (sound, _) = build(0);
    sound.unwrap();
    // A record is lost if any is logged.
    let found = (0..20).any(|_| matches!(build(2), (Err(Error::Corrupt(_)), _)));
    assert!(found, "lost changes of rows were not found");
}
