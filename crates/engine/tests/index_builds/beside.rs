//! Indexes that are built while others read and change the rows.

use crate::index_builds::bed::{Bed, ROWS, SORT_FILES, TABLE};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use vaquita_base::{ManualClock, Rng};
use vaquita_engine::check::check_table;
use vaquita_engine::{
    AccessMode, Column, Concurrency, Engine, Error, IndexSpec, Options, ReadOptions, Result, RowKey, Session,
    Stage, TableSpec, stored,
};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;

/// A build that stands still in the middle, for as long as others have something to do.
struct Middle {
    reached: Receiver<()>,
    on: Sender<()>,
}

impl Middle {
    /// The next build on the bed stands still when its scan writes to a temporary file for the first time.
    fn of(bed: &Bed) -> Middle {
        let (told, reached) = channel();
        let (on, go) = channel::<()>();
        bed.fs.moments.at_file(SORT_FILES, move || {
            told.send(()).unwrap();
            let _ = go.recv();
        });
        Middle { reached, on }
    }
}

/// Runs a build, and `others` in the middle of it.
fn beside(
    bed: &Bed,
    build: impl FnOnce(&mut Session) -> Result<()> + Send,
    others: impl FnOnce(),
) -> Result<()> {
    let middle = Middle::of(bed);
    std::thread::scope(|scope| {
        let mut session = bed.session();
        session.settings.metadata_lock_timeout = 0;
        let built = scope.spawn(move || build(&mut session));
        middle.reached.recv().unwrap();
        others();
        middle.on.send(()).unwrap();
        built.join().unwrap()
    })
}

fn insert(s: &mut Session, id: i32, v: &str) -> Result<()> {
    s.run(|s| {
        let table = s.table(TABLE)?;
        s.insert(&table, &[Some(&stored::int(id)), Some(&stored::int(id % 9)), Some(v.as_bytes())]).map(drop)
    })
}

fn update(s: &mut Session, id: i32, v: &str) -> Result<bool> {
    s.run(|s| {
        let table = s.table(TABLE)?;
        s.update(&table, &RowKey::new([&stored::int(id)[..]]), &[(2, Some(v.as_bytes()))])
    })
}

fn delete(s: &mut Session, id: i32) -> Result<bool> {
    s.run(|s| {
        let table = s.table(TABLE)?;
        s.delete(&table, &RowKey::new([&stored::int(id)[..]]))
    })
}

/// Whether the table is whole and nothing else is there; how many indexes and rows it has.
fn whole(bed: &Bed) -> (usize, u64) {
    let core = bed.engine.core();
    while core.purge_step().unwrap() {}
    let table = core.table(TABLE).unwrap();
    let report = check_table(core, &table).unwrap();
    assert!(report.is_purged(), "{report:?}");
    assert_eq!(report.leaked_pages(), 0);
    let summary = vaquita_storage::fsp::validate(&mut core.storage.begin_read(), table.space).unwrap();
    assert_eq!(summary.segments.len(), 2 * table.indexes.len(), "trees that belong to nobody");
    assert_eq!(bed.fs.disk.files(), bed.files);
    (table.indexes.len(), report.rows)
}

/// What others commit or take back while the index is built is in it as it is in the rows.
#[test]
fn changes_made_meanwhile_are_in_the_indexes() {
    let bed = Bed::new();
    let built = beside(
        &bed,
        |s| bed.build(s),
        || {
            let mut s = bed.session();
            insert(&mut s, ROWS, "a new one").unwrap();
            assert!(update(&mut s, 5, "another value").unwrap());
            assert!(update(&mut s, 5, "and another").unwrap());
            assert!(delete(&mut s, 7).unwrap());
            assert!(delete(&mut s, 8).unwrap());
            insert(&mut s, 8, "it is back").unwrap();
            s.begin(AccessMode::ReadWrite, false).unwrap();
            insert(&mut s, ROWS + 1, "never was").unwrap();
            assert!(update(&mut s, 20, "not for long").unwrap());
            assert!(delete(&mut s, 21).unwrap());
            assert!(delete(&mut s, ROWS).unwrap());
            insert(&mut s, ROWS, "over what was deleted").unwrap();
            s.rollback().unwrap();
            // A row whose key changes, and one that fails half-way.
            let key = RowKey::new([&stored::int(30)[..]]);
            s.run(|s| {
                let table = s.table(TABLE)?;
                s.update(&table, &key, &[(0, Some(&stored::int(ROWS + 9)))])
            })
            .unwrap();
            assert!(matches!(insert(&mut s, 31, "twice"), Err(Error::DuplicateKey { .. })));
        },
    );
    built.unwrap();
    assert_eq!(whole(&bed), (3, ROWS as u64));
}

/// A value twice: the build fails with it, whoever made it goes on.
#[test]
fn a_duplicate_made_meanwhile_ends_the_build() {
    let bed = Bed::new();
    let others = || {
        insert(&mut bed.session(), ROWS, "twice").unwrap();
        insert(&mut bed.session(), ROWS + 1, "twice").unwrap();
    };
    match beside(&bed, |s| bed.build(s), others) {
        Err(Error::DuplicateKey { index, value, .. }) => assert_eq!((&*index, &*value), ("by_v", "twice")),
        other => panic!("{other:?}"),
    }
    assert_eq!(whole(&bed), (1, ROWS as u64 + 2));
    // Rows may be equal in an index that is not there.
    insert(&mut bed.session(), ROWS + 2, "twice").unwrap();
    assert_eq!(whole(&bed), (1, ROWS as u64 + 3));
}

/// Who has changed the table in a transaction that is open is waited for in the end; if he does not end, the build does.
#[test]
fn a_transaction_that_stays_open_ends_the_build() {
    let bed = Bed::new();
    let other = Mutex::new(bed.session());
    let others = || {
        let mut s = other.lock();
        s.begin(AccessMode::ReadWrite, false).unwrap();
        assert!(update(&mut s, 3, "not committed").unwrap());
    };
    let built = beside(&bed, |s| bed.build(s), others);
    assert!(matches!(&built, Err(Error::MetadataLockTimeout(name)) if name == TABLE), "{built:?}");
    let mut s = other.into_inner();
    assert!(update(&mut s, 4, "the definition is as it was").unwrap());
    s.commit().unwrap().wait().unwrap();
    assert_eq!(whole(&bed), (1, ROWS as u64));
    bed.build(&mut bed.session()).unwrap();
    assert_eq!(whole(&bed), (3, ROWS as u64));
}

#[test]
fn a_log_that_outgrows_its_limit_ends_the_build() {
    let bed = Bed::new();
    bed.engine.core().live.online_alter_log_max_size.store(64 << 10, Ordering::Relaxed);
    let others = || {
        let mut s = bed.session();
        for round in 0..600 {
            assert!(update(&mut s, round % 50, &format!("{round:0200}")).unwrap());
        }
    };
    let built = beside(&bed, |s| bed.build(s), others);
    assert!(matches!(&built, Err(Error::OnlineLogTooBig(index)) if index == "by_v"), "{built:?}");
    assert_eq!(whole(&bed), (1, ROWS as u64));
    bed.build(&mut bed.session()).unwrap();
    assert_eq!(whole(&bed), (3, ROWS as u64));
}

/// A view that was open before cannot be read by the index, and sees by the rows what it saw; one that is opened while the index
/// is built the same.
#[test]
fn older_views_do_not_use_the_index() {
    let bed = Bed::new();
    let old = Mutex::new(bed.session());
    let read = |s: &mut Session, index: usize| {
        s.run(|s| {
            let table = s.table(TABLE)?;
            let mut cursor = s.cursor(&table, &ReadOptions::by_index(index))?;
            let mut rows = 0;
            while s.next(&mut cursor)?.is_some() {
                rows += 1;
            }
            Ok(rows)
        })
    };
    let others = || {
        let mut s = old.lock();
        s.begin(AccessMode::ReadWrite, true).unwrap();
        assert!(delete(&mut bed.session(), 1).unwrap());
    };
    beside(&bed, |s| bed.build(s), others).unwrap();
    let mut s = old.into_inner();
    assert!(matches!(read(&mut s, 1), Err(Error::ViewTooOld(_))));
    assert_eq!(read(&mut s, 0).unwrap(), ROWS);
    s.commit().unwrap().wait().unwrap();
    assert_eq!(read(&mut s, 1).unwrap(), ROWS - 1);
    s.commit().unwrap().wait().unwrap();
    assert_eq!(whole(&bed), (3, ROWS as u64 - 1));
}

/// What others may do is what the caller says.
#[test]
fn others_do_what_they_may() {
    let bed = Bed::new();
    let index = IndexSpec {
        name: "by_v".into(),
        parts: vec![KeyPart::prefix(2, 20)],
        unique: false,
        comment: String::new(),
    };
    for (beside_it, reads, writes) in [
        (Concurrency::Nothing, false, false),
        (Concurrency::Reads, true, false),
        (Concurrency::Writes, true, true),
    ] {
        let others = || {
            let mut s = bed.session();
            s.settings.metadata_lock_timeout = 0;
            let read = s.run(|s| s.table(TABLE).map(drop));
            assert_eq!(read.is_ok(), reads, "{beside_it:?}: {read:?}");
            let written = update(&mut s, 1, &format!("{beside_it:?}"));
            assert_eq!(written.is_ok(), writes, "{beside_it:?}: {written:?}");
            // Another change of the definition waits in any case.
            assert!(matches!(s.drop_table(TABLE), Err(Error::MetadataLockTimeout(_))));
        };
        beside(&bed, |s| s.add_indexes_beside(TABLE, std::slice::from_ref(&index), beside_it), others)
            .unwrap();
        assert_eq!(whole(&bed), (2, ROWS as u64));
        bed.session().drop_index(TABLE, "by_v").unwrap();
    }
}

#[test]
fn how_far_a_build_is_can_be_seen() {
    let bed = Bed::new();
    let middle = Middle::of(&bed);
    let mut session = bed.session();
    let progress = session.progress().clone();
    assert_eq!(progress.stage(), Stage::Idle);
    std::thread::scope(|scope| {
        let bed = &bed;
        let built = scope.spawn(move || bed.build(&mut session));
        middle.reached.recv().unwrap();
        assert_eq!(progress.stage(), Stage::Scan);
        middle.on.send(()).unwrap();
        built.join().unwrap().unwrap();
    });
    assert_eq!(progress.stage(), Stage::Idle);
    assert_eq!(progress.sight(), None);
    // All rows were read, and each has two entries.
    assert_eq!(progress.work_completed(), 3 * ROWS as u64);
    assert_eq!(progress.work_estimated(), progress.work_completed());
}

/// What others do to a table in the middle of a build: some of it stays.
fn some_changes(s: &mut Session) -> Result<()> {
    s.begin(AccessMode::ReadWrite, false)?;
    for id in 0..40 {
        assert!(update(s, id * 3, &format!("changed {id}"))?);
    }
    assert!(delete(s, 500)?);
    insert(s, ROWS + 1, "in its place")?;
    s.commit()?.wait()?;
    s.begin(AccessMode::ReadWrite, false)?;
    assert!(delete(s, 501)?);
    assert!(update(s, 502, "not to stay")?);
    s.rollback()
}

/// The process is killed, or the machine loses power, when others have changed rows while an index was built: the rows have what
/// was committed, and the indexes are there and right, or not there.
#[test]
fn a_build_beside_others_that_is_cut_off_leaves_nothing() {
    let base = Bed::new();
    let disk = base.fs.disk.fork(2);
    drop(base);
    let build_beside = |bed: &Bed| {
        let mut other = bed.session();
        bed.fs.moments.at_file(SORT_FILES, move || {
            // When the power is off nothing of it is done.
            let _ = some_changes(&mut other);
        });
        bed.build(&mut bed.session())
    };
    let bed = Bed::open(disk.fork(1));
    let before = bed.fs.moments.count();
    build_beside(&bed).unwrap();
    let moments = bed.fs.moments.count() - before;
    assert_eq!(whole(&bed), (3, ROWS as u64));
    drop(bed);
    let (mut with, mut without) = (0, 0);
    for moment in crate::index_builds::some(moments, 25) {
        for power in [false, true] {
            let Some(bed) = Bed::cut_off(disk.fork(moment), moment, power, build_beside) else { continue };
            match whole(&bed) {
                (3, rows) if rows == ROWS as u64 => with += 1,
                (1, rows) if rows == ROWS as u64 => {
                    without += 1;
                    bed.build(&mut bed.session()).unwrap();
                    assert_eq!(whole(&bed).0, 3);
                }
                other => panic!("power {power}, {moment} of {moments}: {other:?}"),
            }
        }
    }
    assert!(without > 30, "{without} without the indexes, {with} with them");
}

const KEYS: u64 = 400;

/// A table with values off the page, a number that nobody has twice, and text.
fn wide_spec() -> TableSpec {
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::int("n", 4, false)),
        Column::new(ColumnDef::int("own", 8, false)),
        Column::new(ColumnDef::varchar("v", 100, Charset::LATIN1)),
        Column::new(ColumnDef::blob("b", 4)),
    ];
    let mut spec = TableSpec::new(TABLE, columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec
}

fn some_bytes(rng: &mut Rng) -> Vec<u8> {
    let long = rng.one_in(8);
    let mut bytes = vec![0; rng.index(if long { 20_000 } else { 60 })];
    rng.fill(&mut bytes);
    bytes
}

/// Transactions of a few changes, one in three taken back.
fn write(engine: &Engine, thread: u64, ended: &AtomicBool, numbers: &AtomicU32) {
    let mut rng = Rng::new(thread);
    let mut session = engine.session();
    session.settings.lock_wait_timeout = 5;
    while !ended.load(Ordering::Relaxed) {
        match transaction(&mut session, &mut rng, numbers) {
            Ok(()) => {}
            // Of rows that others have, or that are there.
            Err(Error::DuplicateKey { .. } | Error::Deadlock(_) | Error::TableChanged(_)) => {
                session.rollback().unwrap();
            }
            Err(e) => panic!("thread {thread}: {e}"),
        }
    }
}

fn transaction(session: &mut Session, rng: &mut Rng, numbers: &AtomicU32) -> Result<()> {
    session.begin(AccessMode::ReadWrite, false)?;
    for _ in 0..1 + rng.below(5) {
        let id = stored::int(rng.below(KEYS) as i32);
        let n = stored::int(rng.below(20) as i32);
        let own = stored::bigint(i64::from(numbers.fetch_add(1, Ordering::Relaxed)));
        let (v, b) = (vec![b'a' + rng.below(20) as u8; rng.index(100)], some_bytes(rng));
        let kind = rng.below(6);
        session.run(|s| {
            let table = s.table(TABLE)?;
            let key = RowKey::new([&id[..]]);
            match kind {
                0 => s.delete(&table, &key).map(drop),
                1 => s.update(&table, &key, &[(1, Some(&n)), (3, Some(&v))]).map(drop),
                2 => s.update(&table, &key, &[(4, Some(&b)), (2, Some(&own))]).map(drop),
                3 => {
                    let to = stored::int(rng.below(KEYS) as i32);
                    s.update(&table, &key, &[(0, Some(&to))]).map(drop)
                }
                _ => {
                    let row = [Some(&id[..]), (kind == 4).then_some(&n[..]), Some(&own), Some(&v), Some(&b)];
                    s.insert(&table, &row).map(drop)
                }
            }
        })?;
    }
    if rng.one_in(3) {
        return session.rollback();
    }
    session.commit().map(drop)
}

/// Eight sessions write all the time while indexes are built, again and again: each time all indexes agree with the rows.
#[test]
fn eight_writers_and_builds_again_and_again() {
    let disk = SimDisk::new(11);
    disk.put_dir("/db".as_ref());
    let mut options = Options { background: true, sort_buffer_size: 64 << 10, ..Options::new("/db") };
    options.storage.buffer_pool_size = 16 << 20;
    options.build_threads = 2;
    let engine = Engine::open_with(Arc::new(disk.clone()), Arc::new(ManualClock::new()), options).unwrap();
    engine.session().create_table(&wide_spec()).unwrap();
    let numbers = AtomicU32::new(0);
    let index = |name: &str, parts: Vec<KeyPart>, unique| IndexSpec {
        name: name.into(),
        parts,
        unique,
        comment: String::new(),
    };
    let specs = [
        index("by_n", vec![KeyPart::whole(1), KeyPart::whole(0)], false),
        index("by_own", vec![KeyPart::whole(2)], true),
        index("by_v", vec![KeyPart::prefix(3, 10)], false),
        index("by_b", vec![KeyPart::prefix(4, 700), KeyPart::whole(1)], false),
    ];
    let mut built = 0;
    for round in 0..6 {
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (engine, ended, numbers) = (&engine, &ended, &numbers);
                scope.spawn(move || write(engine, round * 8 + thread, ended, numbers));
            }
            let mut session = engine.session();
            let done = session.add_indexes(TABLE, &specs);
            let dropped = match round % 2 {
                0 if done.is_ok() => session.drop_index(TABLE, "by_v"),
                _ => Ok(()),
            };
            ended.store(true, Ordering::Relaxed);
            done.unwrap();
            dropped.unwrap();
            built += 1;
        });
        let core = engine.core();
        let table = core.table(TABLE).unwrap();
        let report = check_table(core, &table).unwrap();
        assert!(report.rows > 20, "{round}: {report:?}");
        assert_eq!(table.indexes.len(), if round % 2 == 0 { 4 } else { 5 });
        let mut session = engine.session();
        for name in table.indexes[1..].iter().map(|i| i.name.clone()) {
            session.drop_index(TABLE, &name).unwrap();
        }
    }
    assert_eq!(built, 6);
    engine.close().unwrap();
}

#[test]
fn a_build_goes_through_its_stages_in_order() {
    let bed = Bed::new();
    let mut session = bed.session();
    let progress = session.progress().clone();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let list = seen.clone();
    bed.fs.moments.always(move || list.lock().extend(progress.sight()));
    let index = IndexSpec {
        name: "by_v".into(),
        parts: vec![KeyPart::whole(2)],
        unique: false,
        comment: String::new(),
    };
    session.add_indexes_beside(TABLE, &[index], Concurrency::Writes).unwrap();
    let seen = std::mem::take(&mut *seen.lock());
    let mut stages: Vec<Stage> = seen.iter().map(|sight| sight.stage).collect();
    stages.dedup();
    // Pages may be left to be written in the end; that depends on where they are in the file.
    let flushes = [Stage::Scan, Stage::Sort, Stage::Load, Stage::Flush, Stage::Commit];
    let has_none_left = [Stage::Scan, Stage::Sort, Stage::Load, Stage::Commit];
    assert!(stages == flushes || stages == has_none_left, "{stages:?}");
    for two in seen.windows(2) {
        let (a, b) = (two[0], two[1]);
        assert!(a.number <= b.number && (a.number == b.number) == (a.stage == b.stage), "{a:?} {b:?}");
        assert!(a.completed <= b.completed && a.phase <= b.phase && b.phases == 4, "{a:?} {b:?}");
    }
    for sight in &seen {
        assert!(sight.phase_completed <= sight.phase_estimated && sight.completed <= sight.estimated);
        assert!(sight.phase >= 1 && sight.phase <= sight.phases);
    }
}
