//! Sessions change rows and definitions of the same tables at once, with purge and the page cleaner running: nobody hangs,
//! errors are those of names that come and go, and in the end files, indexes and the dictionary agree.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use vaquita_base::{ManualClock, Rng};
use vaquita_engine::check::check_table;
use vaquita_engine::table::ReferentialAction;
use vaquita_engine::{
    AccessMode, Column, Engine, Error, ForeignKeySpec, IndexSpec, Options, Result, RowKey, Session,
    Statement, Table, TableSpec, stored,
};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;

const NAMES: [&str; 4] = ["a/t", "a/u", "b/v", "b/w"];

fn spec(name: &str, parent: Option<&str>) -> TableSpec {
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::int("n", 4, false)),
        Column::new(ColumnDef::varchar("v", 3000, Charset::LATIN1)),
    ];
    let mut spec = TableSpec::new(name, columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.indexes.push(index("n"));
    spec.file_per_table = name != "b/w";
    if let Some(parent) = parent {
        spec.foreign_keys.push(ForeignKeySpec {
            name: None,
            columns: vec!["n".into()],
            parent: parent.into(),
            parent_columns: vec!["id".into()],
            on_delete: ReferentialAction::Cascade,
            on_update: ReferentialAction::Cascade,
        });
    }
    spec
}

fn index(name: &str) -> IndexSpec {
    let parts =
        if name == "n" { vec![KeyPart::whole(1)] } else { vec![KeyPart::prefix(2, 50), KeyPart::whole(1)] };
    IndexSpec { name: name.into(), parts, unique: false, comment: String::new() }
}

fn define(session: &mut Session, rng: &mut Rng) -> Result<()> {
    let (name, other) = (NAMES[rng.index(4)], NAMES[rng.index(4)]);
    match rng.below(8) {
        0..=2 => session.create_table(&spec(name, rng.one_in(3).then_some(other))),
        3 => session.drop_table(name),
        4 => session.rename_table(name, other),
        5 => session.truncate_table(name),
        6 => session.add_indexes(name, &[index("v")]),
        _ => session.drop_index(name, "v"),
    }
}

fn change(session: &mut Session, rng: &mut Rng) -> Result<()> {
    session.begin(AccessMode::ReadWrite, false)?;
    for _ in 0..1 + rng.below(6) {
        let name = NAMES[rng.index(4)];
        let id = stored::int(rng.below(60) as i32);
        let n = stored::int(rng.below(60) as i32);
        let v = vec![b'v'; rng.index(3000)];
        let kind = rng.below(4);
        session.run(|s| {
            let table = s.table(name)?;
            let key = RowKey::new([&id[..]]);
            match kind {
                0 => s.delete(&table, &key).map(|_| ()),
                1 => s.update(&table, &key, &[(1, Some(&n)), (2, Some(&v))]).map(|_| ()),
                _ => s.insert(&table, &[Some(&id), (kind == 2).then_some(&n), Some(&v)]).map(|_| ()),
            }
        })?;
    }
    session.commit()?.wait()
}

/// Whether two sessions at work on the same tables may get it.
fn expected(e: &Error) -> bool {
    matches!(
        e,
        Error::NoSuchTable(_)
            | Error::TableExists(_)
            | Error::NoSuchIndex { .. }
            | Error::BadDefinition(_)
            | Error::ForeignKey(_)
            | Error::IndexNeeded { .. }
            | Error::DuplicateKey { .. }
            | Error::NoReferencedRow { .. }
            | Error::RowIsReferenced { .. }
            | Error::LockWaitTimeout
            | Error::Deadlock(_)
            | Error::MetadataLockTimeout(_)
    )
}

#[test]
fn rows_and_definitions_change_at_once() {
    let disk = SimDisk::new(7);
    disk.put_dir("/db".as_ref());
    let mut options = Options { background: true, lock_wait_timeout: 1, ..Options::new("/db") };
    options.storage.log_file_size = 8 << 20;
    options.storage.buffer_pool_size = 16 << 20;
    options.table_definition_cache = 4;
    let engine = Engine::open_with(Arc::new(disk.clone()), Arc::new(ManualClock::new()), options).unwrap();
    for name in NAMES {
        engine.session().create_table(&spec(name, None)).unwrap();
    }
    let (defining, changed) = (AtomicU32::new(2), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (engine, defining, changed) = (&engine, &defining, &changed);
            scope.spawn(move || {
                let mut rng = Rng::new(thread);
                let mut session = engine.session();
                session.settings.lock_wait_timeout = 1;
                session.settings.metadata_lock_timeout = 1;
                let mut one = |defines: bool| {
                    let done = match defines {
                        true => define(&mut session, &mut rng),
                        false => change(&mut session, &mut rng),
                    };
                    match done {
                        Ok(()) => _ = changed.fetch_add(u32::from(!defines), Ordering::Relaxed),
                        Err(e) => {
                            assert!(expected(&e), "thread {thread}: {e:?}");
                            session.rollback().unwrap();
                        }
                    }
                };
                if thread < 2 {
                    (0..400).for_each(|_| one(true));
                    defining.fetch_sub(1, Ordering::Relaxed);
                } else {
                    while defining.load(Ordering::Relaxed) > 0 {
                        one(false);
                    }
                }
            });
        }
    });
    assert!(changed.into_inner() > 0, "no row was changed");
    assert!(engine.failure().is_none(), "{:?}", engine.failure());
    let core = engine.core();
    while core.purge_step().unwrap() {}
    let mut files = Vec::new();
    for name in core.user_tables().unwrap() {
        let table = core.table(&name).unwrap();
        let records =
            |i: &vaquita_engine::Index| vaquita_btree::validate(&i.tree, &core.storage).unwrap().records;
        let rows = records(&table.indexes[0]);
        assert!(table.indexes.iter().all(|i| records(i) == rows), "{name}");
        if table.space.get() != 0 {
            files.push(format!("/db/{name}.ibd"));
        }
    }
    let have = disk.files().into_iter().map(|f| f.display().to_string());
    let have: Vec<String> = have.filter(|f| f.ends_with(".ibd")).collect();
    assert_eq!(have, files);
    engine.close().unwrap();
}

/// Runs a statement with the table object that an earlier one left, as a plan does; opens the table anew if it has changed.
fn with_plan(
    session: &mut Session,
    plan: &mut Arc<Table>,
    body: impl Fn(&mut Statement<'_>, &Arc<Table>) -> Result<()>,
) -> Result<()> {
    loop {
        match session.run(|s| body(s, plan)) {
            Err(Error::TableChanged(_)) => *plan = session.run(|s| s.table("a/t"))?,
            done => return done,
        }
    }
}

/// Two statements, each with its own plan: they may be of different ages.
fn change_two(session: &mut Session, plans: &mut [Arc<Table>; 2], rng: &mut Rng) -> Result<()> {
    session.begin(AccessMode::ReadWrite, false)?;
    for _ in 0..2 {
        let plan = &mut plans[rng.index(2)];
        let key = RowKey::new([&stored::int(rng.below(50) as i32)[..]]);
        let (n, v) = (stored::int(rng.below(50) as i32), vec![b'a' + rng.below(9) as u8]);
        with_plan(session, plan, |s, table| {
            s.update(table, &key, &[(1, Some(&n)), (2, Some(&v))]).map(|_| ())
        })?;
    }
    session.commit()?.wait()
}

#[test]
fn an_index_comes_and_goes_between_the_transactions_of_others() {
    let disk = SimDisk::new(8);
    disk.put_dir("/db".as_ref());
    let options = Options { background: true, lock_wait_timeout: 20, ..Options::new("/db") };
    let engine = Engine::open_with(Arc::new(disk), Arc::new(ManualClock::new()), options).unwrap();
    let mut session = engine.session();
    session.create_table(&spec("a/t", None)).unwrap();
    session.add_indexes("a/t", &[index("v")]).unwrap();
    let table = session.run(|s| s.table("a/t")).unwrap();
    for id in 0..50 {
        let id = stored::int(id);
        session.run(|s| s.insert(&table, &[Some(&id), Some(&id), Some(b"v")])).unwrap();
    }
    let defining = AtomicU32::new(1);
    let n_changed: u32 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|thread| {
                let (engine, defining, table) = (&engine, &defining, &table);
                scope.spawn(move || {
                    let (mut session, mut rng) = (engine.session(), Rng::new(thread));
                    let (mut plans, mut n) = ([table.clone(), table.clone()], 0);
                    while defining.load(Ordering::Relaxed) > 0 {
                        match change_two(&mut session, &mut plans, &mut rng) {
                            Ok(()) => n += 1,
                            Err(Error::Deadlock(_)) => session.rollback().unwrap(),
                            Err(e) => panic!("{e}"),
                        }
                    }
                    n
                })
            })
            .collect();
        for _ in 0..40 {
            session.drop_index("a/t", "v").unwrap();
            session.add_indexes("a/t", &[index("v")]).unwrap();
        }
        defining.store(0, Ordering::Relaxed);
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert!(n_changed > 0, "no row was changed");
    let core = engine.core();
    while core.purge_step().unwrap() {}
    let table = core.table("a/t").unwrap();
    let report = check_table(core, &table).unwrap();
    assert!(report.rows == 50 && report.is_purged(), "{report:?}");
}

/// A change of definitions waits for a transaction, which then wants what the change has: the transaction is rolled back, as in MySQL.
#[test]
fn a_transaction_gives_way_to_a_change_of_definitions() {
    let disk = SimDisk::new(5);
    disk.put_dir("/db".as_ref());
    let engine =
        Engine::open_with(Arc::new(disk), Arc::new(ManualClock::new()), Options::new("/db")).unwrap();
    let mut session = engine.session();
    for name in ["a/t", "a/u"] {
        session.create_table(&spec(name, None)).unwrap();
    }
    let insert = |session: &mut Session, name: &str, id: i32| {
        session.run(|s| {
            let table = s.table(name)?;
            s.insert(&table, &[Some(&stored::int(id)), None, None]).map(drop)
        })
    };
    session.begin(AccessMode::ReadWrite, false).unwrap();
    insert(&mut session, "a/u", 1).unwrap();
    std::thread::scope(|scope| {
        let mut changing = engine.session();
        let handle = changing.handle();
        let renaming = scope.spawn(move || changing.rename_tables(&[("a/t", "a/x"), ("a/u", "a/y")]));
        // It has the one table, and waits for the other.
        while handle.sleeps_for().is_none() {
            std::thread::yield_now();
        }
        let refused = insert(&mut session, "a/t", 1);
        assert!(matches!(refused, Err(Error::Deadlock(None))), "{refused:?}");
        renaming.join().unwrap().unwrap().unwrap();
    });
    session.rollback().unwrap();
    let table = engine.core().table("a/y").unwrap();
    assert_eq!(check_table(engine.core(), &table).unwrap().rows, 0, "its work is taken back");
    insert(&mut session, "a/x", 1).unwrap();
}
