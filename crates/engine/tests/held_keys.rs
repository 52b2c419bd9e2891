//! Foreign keys that a table gets while others change its rows and those of the parent.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use vaquita_base::codec::get_u32;
use vaquita_base::{ManualClock, Rng};
use vaquita_engine::table::ReferentialAction;
use vaquita_engine::{
    AccessMode, Alteration, Column, Concurrency, Engine, Error, ForeignKeySpec, IndexSpec, Options,
    ReadOptions, Result, RowKey, Session, TableSpec, stored,
};
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;

const PARENT: &str = "d/parent";
const CHILD: &str = "d/child";
const PARENTS: i32 = 200;
const THREADS: i32 = 8;

fn specs() -> [TableSpec; 2] {
    let mut parent = TableSpec::new(
        PARENT,
        vec![
            Column::new(ColumnDef::int("id", 4, false).not_null()),
            Column::new(ColumnDef::int("n", 4, false)),
        ],
    );
    parent.primary_key = Some(vec![KeyPart::whole(0)]);
    let index = |name: &str, column| IndexSpec {
        name: name.into(),
        parts: vec![KeyPart::whole(column)],
        unique: false,
        comment: String::new(),
    };
    parent.indexes = vec![index("by_n", 1)];
    let mut child = TableSpec { name: CHILD.into(), ..parent.clone() };
    child.columns[1] = Column::new(ColumnDef::int("refers", 4, false));
    child.indexes = vec![index("by_refers", 1)];
    [parent, child]
}

fn key() -> ForeignKeySpec {
    ForeignKeySpec {
        name: Some("k".into()),
        columns: vec!["refers".into()],
        parent: PARENT.into(),
        parent_columns: vec!["n".into()],
        on_delete: ReferentialAction::Restrict,
        on_update: ReferentialAction::Restrict,
    }
}

/// What is added.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Added {
    Key,
    /// The key, and the index that it needs, which is built beside the writers.
    WithIndex,
}

const INDEX: &str = "by_refers";

fn add(engine: &Engine, session: &mut Session, what: Added, beside: Concurrency) -> Result<()> {
    let table = engine.core().table(CHILD)?;
    let [_, child] = specs();
    let indexes = if what == Added::Key { &[][..] } else { &child.indexes[..] };
    let alteration = Alteration { added_keys: &[key()], ..Alteration::default() };
    let added =
        session.alter_in_place(&table, &[PARENT], |table| table.alter(indexes, alteration, beside))?;
    assert!(added, "nobody else changes definitions");
    Ok(())
}

fn run(
    session: &mut Session,
    table: &str,
    change: impl Fn(&mut Changing<'_, '_>) -> Result<()>,
) -> Result<()> {
    session.run(|s| {
        let table = s.table(table)?;
        change(&mut Changing { s, table: &table })
    })
}

struct Changing<'s, 'e> {
    s: &'s mut vaquita_engine::Statement<'e>,
    table: &'s Arc<vaquita_engine::Table>,
}

impl Changing<'_, '_> {
    fn insert(&mut self, id: i32, value: i32) -> Result<()> {
        self.s.insert(self.table, &[Some(&stored::int(id)), Some(&stored::int(value))]).map(drop)
    }

    fn update(&mut self, id: i32, value: i32) -> Result<()> {
        let value = stored::int(value);
        self.s.update(self.table, &RowKey::new([&stored::int(id)[..]]), &[(1, Some(&value))]).map(drop)
    }

    fn delete(&mut self, id: i32) -> Result<()> {
        self.s.delete(self.table, &RowKey::new([&stored::int(id)[..]])).map(drop)
    }
}

/// Changes a thread's own rows. What is committed refers to what is there, unless `wrong`.
fn transaction(session: &mut Session, rng: &mut Rng, thread: i32, wrong: bool) -> Result<()> {
    session.begin(AccessMode::ReadWrite, false)?;
    // Parents 1000 and up come and go with their children; the others stay.
    let own = 1_000 + thread + THREADS * rng.below(20) as i32;
    let stays = rng.below(PARENTS as u64) as i32;
    let id = 10_000 + thread + THREADS * rng.below(50) as i32;
    match rng.below(6) {
        0 => {
            run(session, PARENT, |t| t.insert(own, own))?;
            run(session, CHILD, |t| t.insert(own * 10, own))?;
        }
        1 => {
            run(session, CHILD, |t| t.delete(own * 10))?;
            run(session, PARENT, |t| t.delete(own))?;
        }
        2 => run(session, CHILD, |t| t.insert(id, stays))?,
        3 => run(session, CHILD, |t| t.update(id, stays))?,
        4 => run(session, CHILD, |t| t.delete(id))?,
        _ => {
            // An orphan that is not to stay.
            run(session, CHILD, |t| t.insert(id, 77_777))?;
            return session.rollback();
        }
    }
    if wrong {
        match rng.below(3) {
            0 => run(session, CHILD, |t| t.update(id, 88_888))?,
            1 => run(session, CHILD, |t| t.insert(id + 1_000_000, 88_888))?,
            _ => run(session, PARENT, |t| t.update(stays, 99_999))?,
        }
    }
    if rng.one_in(3) {
        return session.rollback();
    }
    session.commit().map(drop)
}

fn write(engine: &Engine, seed: u64, thread: i32, one_wrong_in: u64, ended: &AtomicBool) {
    let mut rng = Rng::new(seed);
    let mut session = engine.session();
    session.settings.lock_wait_timeout = 5;
    while !ended.load(Ordering::Relaxed) {
        let wrong = one_wrong_in > 0 && rng.one_in(one_wrong_in);
        match transaction(&mut session, &mut rng, thread, wrong) {
            Ok(()) => {}
            Err(
                Error::DuplicateKey { .. }
                | Error::Deadlock(_)
                | Error::TableChanged(_)
                | Error::NoReferencedRow { .. }
                | Error::RowIsReferenced { .. },
            ) => session.rollback().unwrap(),
            Err(e) => panic!("{seed}: {e}"),
        }
    }
}

/// The second columns of a table's rows, with their ids.
fn rows(engine: &Engine, name: &str) -> Vec<(i32, i32)> {
    let mut session = engine.session();
    session
        .run(|s| {
            let table = s.table(name)?;
            let mut cursor = s.cursor(&table, &ReadOptions::default())?;
            let mut rows = Vec::new();
            while let Some(row) = s.next(&mut cursor)? {
                let number = |i| (get_u32(row.column(i).unwrap(), 0) ^ 1 << 31) as i32;
                rows.push((number(0), number(1)));
            }
            Ok::<_, Error>(rows)
        })
        .unwrap()
}

fn orphans(engine: &Engine) -> Vec<(i32, i32)> {
    let parents: HashSet<i32> = rows(engine, PARENT).into_iter().map(|(_, n)| n).collect();
    rows(engine, CHILD).into_iter().filter(|(_, refers)| !parents.contains(refers)).collect()
}

fn engine() -> Engine {
    let disk = SimDisk::new(3);
    disk.put_dir("/db".as_ref());
    let mut options = Options { background: true, ..Options::new("/db") };
    options.storage.buffer_pool_size = 16 << 20;
    let engine = Engine::open_with(Arc::new(disk), Arc::new(ManualClock::new()), options).unwrap();
    let mut session = engine.session();
    specs().iter().for_each(|spec| session.create_table(spec).unwrap());
    for id in 0..PARENTS {
        run(&mut session, PARENT, |t| t.insert(id, id)).unwrap();
        run(&mut session, CHILD, |t| t.insert(id, id)).unwrap();
    }
    engine
}

/// Adds the key while all write, and says whether it was added; nobody writes any more then.
fn added_beside(engine: &Engine, seed: u64, one_wrong_in: u64) -> bool {
    let what = if seed.is_multiple_of(2) { Added::Key } else { Added::WithIndex };
    if what == Added::WithIndex {
        engine.session().drop_index(CHILD, INDEX).unwrap();
    }
    let added = added_as(engine, seed, one_wrong_in, what);
    let has_index = engine.core().table(CHILD).unwrap().indexes.iter().any(|index| index.name == INDEX);
    assert_eq!(has_index, added || what == Added::Key, "{seed}: all of it is done, or nothing");
    if !has_index {
        engine.session().add_indexes(CHILD, &specs()[1].indexes).unwrap();
    }
    added
}

fn added_as(engine: &Engine, seed: u64, one_wrong_in: u64, what: Added) -> bool {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let ended = &ended;
            scope.spawn(move || write(engine, seed * 100 + thread as u64, thread, one_wrong_in, ended));
        }
        std::thread::yield_now();
        let done = add(engine, &mut engine.session(), what, Concurrency::Writes);
        ended.store(true, Ordering::Relaxed);
        match done {
            Ok(()) => true,
            Err(Error::NoReferencedRow { constraint, .. }) => {
                assert_eq!(constraint, "d/k");
                false
            }
            Err(e) => panic!("{seed}: {e}"),
        }
    })
}

#[test]
fn rows_that_refer_to_what_is_there_get_their_key_beside_writers() {
    let engine = engine();
    for seed in 0..15 {
        assert!(added_beside(&engine, seed, 0), "{seed}: every committed row has a parent");
        assert_eq!(orphans(&engine), [], "{seed}");
        engine.session().drop_foreign_key(CHILD, "k").unwrap();
    }
}

#[test]
fn a_key_that_was_added_beside_writers_has_no_orphans() {
    let engine = engine();
    let (mut added, mut refused) = (0, 0);
    for seed in 0..60 {
        match added_beside(&engine, seed, 300) {
            true => {
                assert_eq!(orphans(&engine), [], "{seed}");
                engine.session().drop_foreign_key(CHILD, "k").unwrap();
                added += 1;
            }
            false => refused += 1,
        }
        let mut session = engine.session();
        for id in 0..PARENTS {
            run(&mut session, PARENT, |t| t.update(id, id)).unwrap();
        }
        for (id, _) in orphans(&engine) {
            run(&mut session, CHILD, |t| t.delete(id)).unwrap();
        }
    }
    assert!(added > 5 && refused > 5, "{added} were added, {refused} refused");
}

/// A writer that is in the middle of its transaction is waited for, and what it commits counts.
#[test]
fn what_is_open_when_the_key_comes_counts() {
    let engine = &engine();
    type Wrong<'w> = &'w (dyn Fn(&mut Changing<'_, '_>) -> Result<()> + Sync);
    let wrong: [(&str, Wrong<'_>); 3] = [
        (CHILD, &|t| t.insert(50_000, 77_777)),
        (CHILD, &|t| t.update(7, 77_777)),
        (PARENT, &|t| t.delete(8)),
    ];
    for (table, change) in wrong {
        for commits in [true, false] {
            let mut writer = engine.session();
            writer.begin(AccessMode::ReadWrite, false).unwrap();
            run(&mut writer, table, change).unwrap();
            let done = std::thread::scope(|scope| {
                let adding =
                    scope.spawn(|| add(engine, &mut engine.session(), Added::Key, Concurrency::Writes));
                std::thread::sleep(std::time::Duration::from_millis(50));
                assert!(!adding.is_finished(), "it does not wait");
                if commits {
                    writer.commit().map(drop).unwrap()
                } else {
                    writer.rollback().unwrap()
                }
                adding.join().unwrap()
            });
            match commits {
                true => assert!(matches!(done, Err(Error::NoReferencedRow { .. })), "{table}: {done:?}"),
                false => {
                    done.unwrap();
                    assert_eq!(orphans(engine), []);
                    engine.session().drop_foreign_key(CHILD, "k").unwrap();
                }
            }
            let mut session = engine.session();
            let _ = run(&mut session, PARENT, |t| t.insert(8, 8));
            run(&mut session, CHILD, |t| t.update(7, 7)).unwrap();
            run(&mut session, CHILD, |t| t.delete(50_000)).unwrap();
        }
    }
}

#[test]
fn rows_without_a_parent_are_told() {
    let engine = engine();
    let mut session = engine.session();
    run(&mut session, CHILD, |t| t.insert(60_000, 4_321)).unwrap();
    for beside in [Concurrency::Nothing, Concurrency::Reads, Concurrency::Writes] {
        let refused = add(&engine, &mut session, Added::Key, beside);
        let Err(Error::NoReferencedRow { constraint, value, table, .. }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!((&*constraint, &*value, &*table), ("d/k", "4321", CHILD));
    }
    assert!(engine.core().table(CHILD).unwrap().foreign_keys.is_empty());
    // Nobody is held back by what was given up.
    run(&mut session, CHILD, |t| t.insert(60_001, 4_321)).unwrap();
    (60_000..60_002).for_each(|id| run(&mut session, CHILD, |t| t.delete(id)).unwrap());
    add(&engine, &mut session, Added::Key, Concurrency::Writes).unwrap();
    assert!(matches!(
        run(&mut session, CHILD, |t| t.insert(60_000, 4_321)),
        Err(Error::NoReferencedRow { .. })
    ));
}
