//! Many transactions at once, and a history that keeps short.

use std::collections::HashSet;
use std::sync::Arc;
use vaquita_base::ManualClock;
use vaquita_engine::{
    AccessMode, Column, Engine, Options, PointRead, ReadOptions, RowKey, Session, Table, TableSpec, stored,
};
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;

fn open(disk: &SimDisk) -> Engine {
    let mut options = Options::new("/db");
    options.storage.buffer_pool_size = 64 << 20;
    options.storage.log_file_size = 16 << 20;
    options.background = false;
    options.purge_batch_size = 100;
    Engine::open_with(Arc::new(disk.clone()), Arc::new(ManualClock::new()), options).expect("it opens")
}

fn new_table(engine: &Engine) -> Arc<Table> {
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::int("n", 4, false).not_null()),
    ];
    let mut spec = TableSpec::new("test/t", columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    let mut session = engine.session();
    session.create_table(&spec).expect("the table is new");
    session.run(|s| s.table("test/t")).expect("and there")
}

fn insert(session: &mut Session, table: &Arc<Table>, id: i32) {
    let row = [Some(&stored::int(id)[..]), Some(&stored::int(0)[..])];
    session.run(|s| s.insert(table, &row)).expect("keys are new");
}

fn disk() -> SimDisk {
    let disk = SimDisk::new(3);
    disk.put_dir("/".as_ref());
    disk
}

#[test]
fn two_thousand_open_writers() {
    const WRITERS: i32 = 2_000;
    let disk = disk();
    let engine = open(&disk);
    let table = new_table(&engine);
    let mut sessions: Vec<Session> = (0..WRITERS).map(|_| engine.session()).collect();
    for (id, session) in (0..).zip(&mut sessions) {
        session.begin(AccessMode::ReadWrite, false).unwrap();
        insert(session, &table, id);
    }
    assert_eq!(engine.core().txn.metrics().active, WRITERS as usize);
    let ids: HashSet<_> = sessions.iter().map(|s| s.transaction().id()).collect();
    assert_eq!(ids.len(), WRITERS as usize);
    // Nobody sees any of them, until every second one commits.
    let mut reader = engine.session();
    assert_eq!(reader.run(|s| s.count(&table)).unwrap(), 0);
    for (id, session) in (0..).zip(&mut sessions) {
        if id % 2 == 0 {
            session.commit().unwrap().wait().unwrap();
        } else {
            session.rollback().unwrap();
        }
    }
    assert_eq!(reader.run(|s| s.count(&table)).unwrap(), WRITERS as u64 / 2);
}

#[test]
fn writers_that_a_crash_left_are_rolled_back() {
    const WRITERS: i32 = 300;
    let disk = disk();
    let engine = open(&disk);
    let table = new_table(&engine);
    let mut sessions: Vec<Session> = (0..WRITERS).map(|_| engine.session()).collect();
    for (id, session) in (0..).zip(&mut sessions) {
        session.begin(AccessMode::ReadWrite, false).unwrap();
        insert(session, &table, id);
        if id % 3 == 0 {
            session.commit().unwrap().wait().unwrap();
        }
    }
    let log = engine.core().storage.log();
    log.flush_up_to(log.current_lsn()).unwrap();
    let after = disk.after_kill();
    disk.power_cut();
    drop((sessions, table, engine));

    let engine = open(&after);
    let mut session = engine.session();
    let table = session.run(|s| s.table("test/t")).unwrap();
    // Open for business before they are rolled back: they are not seen, and their rows are locked.
    assert_eq!(session.run(|s| s.count(&table)).unwrap(), WRITERS as u64 / 3);
    session.settings.lock_wait_timeout = 0;
    let row = [Some(&stored::int(1)[..]), Some(&stored::int(7)[..])];
    let refused = session.run(|s| s.insert(&table, &row));
    assert!(matches!(refused, Err(vaquita_engine::Error::LockWaitTimeout)), "{refused:?}");
    while engine.core().rollback_step().unwrap() {}
    session.run(|s| s.insert(&table, &row)).unwrap();
    assert_eq!(engine.core().txn.metrics().active, 0);
    assert_eq!(session.run(|s| s.count(&table)).unwrap(), WRITERS as u64 / 3 + 1);
}

#[test]
fn four_thousand_readers() {
    let engine = open(&disk());
    let table = new_table(&engine);
    insert(&mut engine.session(), &table, 1);
    let mut sessions: Vec<Session> = (0..4_000).map(|_| engine.session()).collect();
    for session in &mut sessions {
        session.begin(AccessMode::ReadOnly, true).unwrap();
    }
    insert(&mut engine.session(), &table, 2);
    let mut read = PointRead::new(table.clone(), ReadOptions::default()).unwrap();
    for session in &mut sessions {
        assert_eq!(session.run(|s| s.count(&table)).unwrap(), 1);
        let late = session.run(|s| s.get(&mut read, &[Some(&stored::int(2))], |_| ())).unwrap();
        assert_eq!(late, None);
    }
    let metrics = engine.core().txn.metrics();
    // They are in no list of active transactions and have no ids.
    assert_eq!((metrics.active, metrics.open_views), (0, 4_000));
}

/// Steady updates, with or without purge; the length of the history at its longest.
fn steady_updates(purge: bool) -> u64 {
    let engine = open(&disk());
    let table = new_table(&engine);
    let mut session = engine.session();
    (0..50).for_each(|id| insert(&mut session, &table, id));
    let mut longest = 0;
    for n in 0..3_000 {
        let key = RowKey::new([&stored::int(n % 50)[..]]);
        session.run(|s| s.update(&table, &key, &[(1, Some(&stored::int(n + 1)))])).expect("it works");
        if purge && n % 100 == 99 {
            engine.core().purge_step().expect("it works");
        }
        longest = longest.max(engine.core().txn.history_len());
    }
    longest
}

#[test]
fn the_history_is_bounded_while_purge_runs() {
    assert!(steady_updates(true) <= 300);
    // Without it, it grows with every transaction: the measure is not blind.
    assert!(steady_updates(false) >= 2_900);
}

#[test]
fn a_view_keeps_its_versions_from_purge() {
    let engine = open(&disk());
    let table = new_table(&engine);
    let mut writer = engine.session();
    insert(&mut writer, &table, 1);
    let mut reader = engine.session();
    reader.begin(AccessMode::ReadOnly, true).unwrap();
    for n in 1..=500 {
        let key = RowKey::new([&stored::int(1)[..]]);
        writer.run(|s| s.update(&table, &key, &[(1, Some(&stored::int(n)))])).unwrap();
    }
    while engine.core().purge_step().unwrap() {}
    let mut read = PointRead::new(table.clone(), ReadOptions::default()).unwrap();
    let mut value = |session: &mut Session| {
        let n = session
            .run(|s| s.get(&mut read, &[Some(&stored::int(1))], |r| r.column(1).map(stored::to_signed)));
        n.unwrap().flatten()
    };
    assert_eq!((value(&mut reader), value(&mut writer)), (Some(0), Some(500)));
    reader.commit().unwrap().wait().unwrap();
    while engine.core().purge_step().unwrap() {}
    assert_eq!(engine.core().txn.history_len(), 0);
}

#[test]
fn changes_are_delayed_when_purge_lags() {
    let disk = disk();
    let mut options = Options::new("/db");
    options.storage.log_file_size = 16 << 20;
    options.background = false;
    options.max_purge_lag = 10;
    options.max_purge_lag_delay = 4_000;
    let engine = Engine::open_with(Arc::new(disk), Arc::new(ManualClock::new()), options).unwrap();
    let table = new_table(&engine);
    let mut session = engine.session();
    insert(&mut session, &table, 1);
    let key = RowKey::new([&stored::int(1)[..]]);
    let mut reader = engine.session();
    reader.begin(AccessMode::ReadOnly, true).unwrap();
    for n in 0..100 {
        session.run(|s| s.update(&table, &key, &[(1, Some(&stored::int(n + 1)))])).unwrap();
    }
    assert_eq!(engine.core().metrics.dml_delay_us.get(), 0);
    // Purge finds that it may not go on.
    engine.core().purge_step().unwrap();
    session.run(|s| s.update(&table, &key, &[(1, Some(&stored::int(0)))])).unwrap();
    assert_eq!(engine.core().metrics.dml_delay_us.get(), 4_000);
}

/// Threads of this process that help to purge; those of other tests have no helpers.
fn purge_helpers() -> usize {
    let threads = std::fs::read_dir("/proc/self/task").expect("a list of threads");
    let name = |thread: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(thread.ok()?.path().join("comm")).ok()
    };
    // Of names 15 bytes are kept.
    threads.filter_map(name).filter(|name| name.trim() == "vaquita-purge-h").count()
}

#[test]
fn as_many_threads_purge_as_are_asked_for() {
    for threads in [1, 2, 4] {
        let mut options = Options::new("/db");
        options.storage.buffer_pool_size = 16 << 20;
        options.purge_threads = threads;
        let clock = Arc::new(ManualClock::new());
        let engine = Engine::open_with(Arc::new(disk()), clock, options).expect("it opens");
        // One leads, the others help. A thread gives itself its name when it begins to run.
        while purge_helpers() != threads - 1 {
            std::thread::yield_now();
        }
        engine.close().expect("it closes");
        assert_eq!(purge_helpers(), 0);
    }
}
