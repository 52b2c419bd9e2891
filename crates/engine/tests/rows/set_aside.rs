//! What is damaged does not keep services from everything else: purge, the rollback of what a crash left.

use crate::rows::bed::{Bed, Row, int, specs};
use parking_lot::Mutex;
use std::sync::Arc;
use vaquita_base::{PageId, PageNo};
use vaquita_engine::check::check_table;
use vaquita_engine::ddl::TableSpec;
use vaquita_engine::{AccessMode, Error, RowKey, Session, Table};
use vaquita_format::fil::{self, PageType};
use vaquita_io::sim::{Fault, Injection};

const ROWS: i32 = 900;

fn spec(name: &str) -> TableSpec {
    TableSpec { name: name.into(), ..specs()[0].clone() }
}

fn row(id: i32) -> Row {
    vec![int(id), Some(format!("{:08}", id * 7919 % 100_003).into_bytes()), int(id * 31 % 977), int(id)]
}

fn key(id: i32) -> RowKey {
    RowKey::new([&int(id).unwrap()[..]])
}

fn filled(bed: &Bed, name: &str) -> Arc<Table> {
    let table = bed.create(&spec(name));
    let insert = |session: &mut Session, id: i32| {
        let row = row(id);
        let fields: Vec<Option<&[u8]>> = row.iter().map(Option::as_deref).collect();
        session.run(|s| s.insert(&table, &fields)).unwrap();
    };
    let mut session = bed.session();
    (0..ROWS).for_each(|id| insert(&mut session, id));
    table
}

/// Changes the bytes that say whose they are of all pages of the table's indexes but the roots, or changes them back.
fn turn(bed: &Bed, table: &Table) {
    let storage = &bed.engine.core().storage;
    let roots: Vec<PageNo> = table.indexes.iter().map(|index| index.tree.root()).collect();
    let size = storage.spaces().get(table.space).unwrap().size_pages();
    for no in (3..size).map(PageNo).filter(|no| !roots.contains(no)) {
        let mut mtr = storage.begin().unwrap();
        let page = mtr.get_exclusive(PageId::new(table.space, no)).unwrap();
        let ty = fil::raw_type(mtr.page(page));
        if ty != PageType::Index.as_u16() && ty != !PageType::Index.as_u16() {
            continue;
        }
        for at in (24..26).chain(66..74) {
            let value = !mtr.page(page)[at];
            mtr.write_u8(page, at, value);
        }
        mtr.commit();
    }
}

/// What the log is told.
fn lines(bed: &Bed) -> Arc<Mutex<Vec<String>>> {
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let heard = lines.clone();
    bed.engine.core().notes.listen(move |line| heard.lock().push(line.to_owned()));
    lines
}

fn metric(bed: &Bed, name: &str) -> u64 {
    bed.engine.core().metrics().iter().find(|(n, _)| *n == name).unwrap().1
}

#[test]
fn purge_passes_over_damaged_pages() {
    let bed = Bed::new(11);
    let lines = lines(&bed);
    let (bad, good) = (filled(&bed, "test/bad"), filled(&bed, "test/good"));
    let mut session = bed.session();
    for id in 0..ROWS / 2 {
        session.run(|s| s.delete(&bad, &key(id))).unwrap();
        session.run(|s| s.delete(&good, &key(id))).unwrap();
    }
    turn(&bed, &bad);
    let core = bed.engine.core();
    while core.purge_step().unwrap() {}
    assert_eq!(metric(&bed, "trx_rseg_history_len"), 0);
    assert!(check_table(core, &good).unwrap().is_purged());
    let passed = metric(&bed, "purge_passed_over");
    assert!(passed > 0 && passed <= ROWS as u64 / 2, "{passed}");
    let told: Vec<String> = lines.lock().iter().filter(|line| line.starts_with("purge:")).cloned().collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("`test`.`bad`") && told[0].contains("page"), "{told:?}");
    // What it left is seen by nobody and does no harm.
    turn(&bed, &bad);
    let report = check_table(core, &bad).unwrap();
    assert_eq!(bed.rows(&bad).len() as i32, ROWS - ROWS / 2);
    assert!(!report.is_purged());
    session.run(|s| s.update(&bad, &key(ROWS - 1), &[(2, None)])).unwrap();
    while core.purge_step().unwrap() {}
    session.drop_table("test/bad").unwrap();
}

/// A read that fails may succeed later on: nothing is passed over.
#[test]
fn purge_tries_again_what_cannot_be_read() {
    let disk = Bed::new(12).disk;
    let folder = crate::rows::bed::folder(disk).with(|o| o.storage.buffer_pool_size = 5 << 20);
    let bed = Bed { engine: folder.open().unwrap(), disk: folder.disk };
    let table = filled(&bed, "test/bad");
    let mut session = bed.session();
    for id in 0..ROWS / 2 {
        session.run(|s| s.delete(&table, &key(id))).unwrap();
    }
    let core = bed.engine.core();
    core.storage.flush_everything().unwrap();
    for no in 0..500 {
        let mut mtr = core.storage.begin().unwrap();
        let _ = mtr.get_shared(PageId::new(vaquita_base::SpaceId::SYSTEM, PageNo(no)));
    }
    for after in 0..6 {
        bed.disk.inject(Injection::new(Fault::ReadError).on_path("bad.ibd").after(after).always());
        let _ = core.purge_step();
        bed.disk.clear_injections();
    }
    assert_eq!(metric(&bed, "purge_passed_over"), 0);
    bed.purge_and_check(&table);
}

/// Leaves transactions on both tables and kills the engine.
fn killed(seed: u64) -> Bed {
    let bed = Bed::new(seed);
    let tables = [filled(&bed, "test/bad"), filled(&bed, "test/good")];
    let sessions = tables.each_ref().map(|table| {
        let mut session = bed.session();
        session.begin(AccessMode::ReadWrite, false).unwrap();
        for id in (0..ROWS).step_by(2) {
            session.run(|s| s.update(table, &key(id), &[(1, Some(b"changed")), (2, None)])).unwrap();
        }
        session
    });
    // The copy of an ALTER TABLE that was cut off.
    sessions[0].session_of().create_table(&spec("test/#sql-vq-1")).unwrap();
    let log = bed.engine.core().storage.log();
    log.flush_up_to(log.current_lsn()).unwrap();
    let disk = bed.disk.after_kill();
    std::mem::forget(sessions);
    Bed::open(disk)
}

trait OfBed {
    fn session_of(&self) -> Session;
}

impl OfBed for Session {
    fn session_of(&self) -> Session {
        Session::new(self.core().clone())
    }
}

fn assert_locked(bed: &Bed, table: &Arc<Table>, locked: bool) {
    let done = bed.session().run(|s| s.update(table, &key(ROWS - 2), &[(3, int(ROWS - 2).as_deref())]));
    assert_eq!(matches!(done, Err(Error::LockWaitTimeout)), locked, "{}: {done:?}", table.name);
}

fn assert_as_filled(bed: &Bed, table: &Table) {
    let rows: Vec<Row> = bed.rows(table).into_iter().map(|(_, row)| row).collect();
    assert_eq!(rows, (0..ROWS).map(row).collect::<Vec<_>>());
}

#[test]
fn a_transaction_on_a_damaged_page_does_not_hold_up_the_others_after_a_crash() {
    let bed = killed(13);
    let lines = lines(&bed);
    assert!(
        bed.engine.leftovers().iter().any(|name| name == "test/#sql-vq-1"),
        "{:?}",
        bed.engine.leftovers()
    );
    let (bad, good) = (bed.table("test/bad"), bed.table("test/good"));
    turn(&bed, &bad);
    let core = bed.engine.core();
    for _ in 0..10 {
        let _ = core.rollback_round(|| false);
    }
    assert_locked(&bed, &good, false);
    assert_as_filled(&bed, &good);
    assert!(!core.has_table("test/#sql-vq-1").unwrap());
    assert_eq!(core.stuck_transactions(), 1);
    let told: Vec<String> =
        lines.lock().iter().filter(|line| line.starts_with("rollback:")).cloned().collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("in table `test`.`bad`, ") && told[0].contains("page "), "{told:?}");
    // It does not keep the folder from closing, whole, and is there at the next start.
    turn(&bed, &bad);
    assert_locked(&bed, &bad, true);
    turn(&bed, &bad);
    core.live.fast_shutdown.store(0, std::sync::atomic::Ordering::Relaxed);
    drop((bad, good));
    bed.engine.close().unwrap();
    let disk = bed.disk.clone();
    drop(bed);
    let bed = Bed::open(disk);
    let bad = bed.table("test/bad");
    turn(&bed, &bad);
    assert_locked(&bed, &bad, true);
    while bed.engine.core().rollback_round(|| false).unwrap() {}
    assert_locked(&bed, &bad, false);
    assert_as_filled(&bed, &bad);
    bed.purge_and_check(&bad);
}

/// A service that ends by a failure of the log is seen, and said once.
#[test]
fn a_service_that_ends_is_seen() {
    let folder = crate::rows::bed::folder(Bed::new(15).disk).with(|o| o.background = true);
    let bed = Bed { engine: folder.open().unwrap(), disk: folder.disk };
    let lines = lines(&bed);
    let table = filled(&bed, "test/bad");
    assert!(bed.engine.services().iter().all(|(_, health)| *health == vaquita_base::Health::Works));
    bed.disk.inject(Injection::new(Fault::WriteError).on_path("ib_logfile").always());
    let _ = bed.session().run(|s| s.delete(&table, &key(1)));
    let ended =
        |(_, health): &(String, vaquita_base::Health)| matches!(health, vaquita_base::Health::Ended { .. });
    while !bed.engine.services().iter().any(ended) {
        std::thread::yield_now();
    }
    let (name, _) = bed.engine.services().into_iter().find(ended).unwrap();
    let begin = format!("service {name}: has ended: ");
    // Told before or after it is seen.
    while !lines.lock().iter().any(|line| line.starts_with(&begin)) {
        std::thread::yield_now();
    }
    assert!(bed.engine.failure().is_some());
}
