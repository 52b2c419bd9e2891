//! Locks that are not free: waiting, leaving out, refusing, looking at the last committed version; and locks given back.

use crate::cursor::bed::{BY_A, BY_U, PRIMARY, Row, create, engine, fill, insert, one, read, scan_ids};
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_engine::stored::int;
use vaquita_engine::{
    AccessMode, Direction, Engine, Error, Field, Isolation, PointRead, ReadLock, ReadOptions, RowKey,
    Session, Table,
};
use vaquita_format::index_def::RowFormat;
use vaquita_txn::TrxRef;
use vaquita_txn::lock::WaitPolicy;

fn setup() -> (Engine, Arc<Table>) {
    let engine = engine(5, 8192);
    let table = create(&engine, RowFormat::Dynamic);
    fill(&engine, &table, (1..=8).map(|n| one(n * 10)));
    (engine, table)
}

fn session(engine: &Engine, isolation: Isolation) -> Session {
    let mut session = engine.session();
    session.settings.isolation = isolation;
    session.begin(AccessMode::ReadWrite, false).unwrap();
    session
}

fn key(id: i32) -> RowKey {
    RowKey::new([&int(id)[..]])
}

fn set_a(session: &mut Session, table: &Arc<Table>, id: i32, a: i32) {
    let stored = int(a);
    assert!(session.run(|s| s.update(table, &key(id), &[(1, Some(&stored))])).unwrap());
}

fn delete(session: &mut Session, table: &Arc<Table>, id: i32) {
    assert!(session.run(|s| s.delete(table, &key(id))).unwrap());
}

/// Reads one row with an X lock.
fn lock_one(
    session: &mut Session,
    table: &Arc<Table>,
    index: usize,
    key: &[Field<'_>],
    wait: WaitPolicy,
) -> vaquita_engine::Result<Option<Row>> {
    let options = ReadOptions::by_index(index).locking(ReadLock::Exclusive).wait(wait);
    let mut point = PointRead::new(table.clone(), options).unwrap();
    session.run(|s| s.get(&mut point, key, read))
}

/// Comes back when the transaction waits for a lock.
fn until_it_waits(trx: &TrxRef) {
    while !trx.locks().is_waiting() {
        std::thread::yield_now();
    }
}

/// Runs `read` in a thread, `meanwhile` when it waits; what was read.
fn while_waiting<R: Send>(
    reader: &mut Session,
    read: impl FnOnce(&mut Session) -> R + Send,
    meanwhile: impl FnOnce(),
) -> R {
    let trx = reader.transaction();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || read(reader));
        until_it_waits(&trx);
        meanwhile();
        waiting.join().expect("the reader")
    })
}

#[test]
fn a_waiter_sees_what_was_committed_meanwhile() {
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead] {
        for index in [PRIMARY, BY_U] {
            let (engine, table) = setup();
            let find = |session: &mut Session| {
                let value = if index == PRIMARY { int(20) } else { int(80) };
                lock_one(session, &table, index, &[Some(&value)], WaitPolicy::Wait).unwrap()
            };
            let mut writer = session(&engine, isolation);
            set_a(&mut writer, &table, 20, 77);
            let mut reader = session(&engine, isolation);
            let row = while_waiting(&mut reader, find, || writer.commit().unwrap().wait().unwrap());
            assert_eq!(row.map(|r| r.a), Some(Some(77)), "{isolation:?} {index}");
            reader.commit().unwrap().wait().unwrap();

            let mut writer = session(&engine, isolation);
            set_a(&mut writer, &table, 20, 78);
            let mut reader = session(&engine, isolation);
            let row = while_waiting(&mut reader, find, || writer.rollback().unwrap());
            assert_eq!(row.map(|r| r.a), Some(Some(77)), "rolled back");
            reader.commit().unwrap().wait().unwrap();

            let mut writer = session(&engine, isolation);
            delete(&mut writer, &table, 20);
            let mut reader = session(&engine, isolation);
            let row = while_waiting(&mut reader, find, || writer.commit().unwrap().wait().unwrap());
            assert_eq!(row, None, "deleted");
        }
    }
}

#[test]
fn an_insert_that_is_taken_back_is_not_seen() {
    for index in [PRIMARY, BY_U] {
        let (engine, table) = setup();
        let mut writer = session(&engine, Isolation::RepeatableRead);
        writer.run(|s| insert(s, &table, &one(25))).unwrap();
        let mut reader = session(&engine, Isolation::RepeatableRead);
        let find = |session: &mut Session| {
            let value = if index == PRIMARY { int(25) } else { int(100) };
            lock_one(session, &table, index, &[Some(&value)], WaitPolicy::Wait).unwrap()
        };
        let found = while_waiting(&mut reader, find, || writer.rollback().unwrap());
        assert_eq!(found, None);
    }
}

/// The leaf is split and merged while a reader waits for one of its records.
#[test]
fn a_waiter_finds_its_record_again() {
    let (engine, table) = setup();
    let mut writer = session(&engine, Isolation::ReadCommitted);
    set_a(&mut writer, &table, 40, 99);
    let mut reader = session(&engine, Isolation::ReadCommitted);
    let ids = while_waiting(
        &mut reader,
        |session| {
            let options = ReadOptions::default().locking(ReadLock::Exclusive);
            let mut ids = Vec::new();
            session
                .run(|s| {
                    let mut cursor = s.cursor(&table, &options)?;
                    s.for_each(&mut cursor, Direction::Forward, |row| {
                        let row = read(row);
                        ids.push((row.id, row.a));
                        ControlFlow::Continue(())
                    })
                })
                .unwrap();
            ids
        },
        || {
            let new = (1000..1400).chain(41..50).chain(31..40);
            fill(&engine, &table, new.map(one));
            writer.commit().unwrap().wait().unwrap();
        },
    );
    let got: Vec<i32> = ids.iter().map(|&(id, _)| id).collect();
    let want: Vec<i32> =
        [10, 20, 30, 40].into_iter().chain(41..=50).chain([60, 70, 80]).chain(1000..1400).collect();
    assert_eq!(got, want, "what was inserted behind it is read, what came before it is not");
    assert!(ids.contains(&(40, Some(99))));
}

#[test]
fn locked_rows_are_left_out_or_refused() {
    for index in [PRIMARY, BY_A] {
        let (engine, table) = setup();
        let mut writer = session(&engine, Isolation::ReadCommitted);
        set_a(&mut writer, &table, 30, 1_000);
        delete(&mut writer, &table, 50);
        writer.run(|s| insert(s, &table, &one(55))).unwrap();
        let mut reader = session(&engine, Isolation::ReadCommitted);
        let options = ReadOptions::by_index(index).locking(ReadLock::Exclusive);
        let left = scan_ids(&mut reader, &table, &options.clone().wait(WaitPolicy::SkipLocked)).unwrap();
        assert_eq!(left, [10, 20, 40, 60, 70, 80], "index {index}");
        let refused = scan_ids(&mut reader, &table, &options.wait(WaitPolicy::NoWait));
        assert!(matches!(refused, Err(Error::LockNotAvailable)), "{refused:?}");
    }
}

#[test]
fn a_semi_consistent_read_shows_the_last_committed_version() {
    let (engine, table) = setup();
    let mut writer = session(&engine, Isolation::ReadCommitted);
    set_a(&mut writer, &table, 20, 500);
    set_a(&mut writer, &table, 20, 501);
    delete(&mut writer, &table, 30);
    writer.run(|s| insert(s, &table, &one(35))).unwrap();
    let mut holder = session(&engine, Isolation::ReadCommitted);
    lock_one(&mut holder, &table, PRIMARY, &[Some(&int(40))], WaitPolicy::Wait).unwrap().unwrap();
    let mut reader = session(&engine, Isolation::ReadCommitted);
    let from = reader.start_statement();
    let mut s = reader.statement();
    let options = ReadOptions::default().locking(ReadLock::Exclusive);
    let mut cursor = s.cursor(&table, &options).unwrap();
    cursor.set_semi_consistent(true);
    let mut seen = Vec::new();
    while let Some(row) = s.next(&mut cursor).unwrap() {
        let semi = row.was_semi_consistent();
        let row = read(&row);
        seen.push((row.id, row.a, semi));
        if row.id == 40 {
            break;
        }
    }
    let a = |id: i32| one(id).a;
    let want = [(10, a(10), false), (20, a(20), true), (30, a(30), true), (40, a(40), true)];
    assert_eq!(seen, want);
    // The row is wanted after all.
    let trx = reader.transaction();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            until_it_waits(&trx);
            holder.run(|s| s.update(&table, &key(40), &[(1, Some(&int(-1)))])).unwrap();
            holder.commit().unwrap().wait().unwrap();
        });
        let mut s = reader.statement();
        let row = s.lock_current(&mut cursor).unwrap().expect("it is there");
        assert!(!row.was_semi_consistent());
        assert_eq!((read(&row).id, read(&row).a), (40, Some(-1)));
        let next = s.next(&mut cursor).unwrap().map(|row| (read(&row).id, row.was_semi_consistent()));
        assert_eq!(next, Some((50, false)));
    });
    reader.end_statement().unwrap().wait().unwrap();
    let mut other = session(&engine, Isolation::ReadCommitted);
    let refused = lock_one(&mut other, &table, PRIMARY, &[Some(&int(40))], WaitPolicy::NoWait);
    assert!(matches!(refused, Err(Error::LockNotAvailable)));
    assert_eq!(from, 0);
}

#[test]
fn unwanted_rows_are_unlocked_in_read_committed() {
    for (isolation, index) in [
        (Isolation::ReadCommitted, PRIMARY),
        (Isolation::ReadCommitted, BY_A),
        (Isolation::RepeatableRead, PRIMARY),
    ] {
        let (engine, table) = setup();
        let mut reader = session(&engine, isolation);
        reader
            .run(|s| {
                let options = ReadOptions::by_index(index).locking(ReadLock::Exclusive);
                let mut cursor = s.cursor(&table, &options)?;
                while let Some(row) = s.next(&mut cursor)? {
                    if read(&row).id % 20 == 0 {
                        s.unlock_row(&mut cursor)?;
                    }
                }
                Ok(())
            })
            .unwrap();
        let mut other = session(&engine, Isolation::ReadCommitted);
        for id in (1..=8).map(|n| n * 10) {
            let got = lock_one(&mut other, &table, PRIMARY, &[Some(&int(id))], WaitPolicy::NoWait);
            let free = id % 20 == 0 && isolation == Isolation::ReadCommitted;
            assert_eq!(got.is_ok(), free, "{isolation:?} index {index} row {id}");
        }
    }
}

#[test]
fn plain_reads_lock_in_serializable_transactions_only() {
    let (engine, table) = setup();
    let mut reader = session(&engine, Isolation::Serializable);
    assert_eq!(scan_ids(&mut reader, &table, &ReadOptions::default()).unwrap().len(), 8);
    let mut other = session(&engine, Isolation::ReadCommitted);
    let refused = lock_one(&mut other, &table, PRIMARY, &[Some(&int(10))], WaitPolicy::NoWait);
    assert!(matches!(refused, Err(Error::LockNotAvailable)));
    reader.commit().unwrap().wait().unwrap();
    lock_one(&mut other, &table, PRIMARY, &[Some(&int(10))], WaitPolicy::NoWait).unwrap().unwrap();
    // As a transaction of its own it reads what is committed, past the lock.
    assert_eq!(scan_ids(&mut reader, &table, &ReadOptions::default()).unwrap().len(), 8);
    assert!(reader.run(|s| s.count(&table)).unwrap() == 8);
}

/// A lock that was waited for is kept, also if the row turns out to be deleted: nobody may insert it again meanwhile.
#[test]
fn a_lock_waited_for_is_kept() {
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead] {
        let (engine, table) = setup();
        let mut writer = session(&engine, isolation);
        delete(&mut writer, &table, 20);
        let mut reader = session(&engine, isolation);
        let found = while_waiting(
            &mut reader,
            |session| lock_one(session, &table, PRIMARY, &[Some(&int(20))], WaitPolicy::Wait).unwrap(),
            || writer.commit().unwrap().wait().unwrap(),
        );
        assert_eq!(found, None);
        let mut other = engine.session();
        other.settings.lock_wait_timeout = 0;
        let refused = other.run(|s| insert(s, &table, &one(20)));
        assert!(matches!(refused, Err(Error::LockWaitTimeout)), "{isolation:?}: {refused:?}");
        reader.commit().unwrap().wait().unwrap();
        other.run(|s| insert(s, &table, &one(20))).unwrap();
    }
}

/// A search that ends in a gap keeps others from filling it.
#[test]
fn a_row_that_was_not_found_stays_not_found() {
    let (engine, table) = setup();
    let mut reader = session(&engine, Isolation::RepeatableRead);
    let missing = lock_one(&mut reader, &table, PRIMARY, &[Some(&int(25))], WaitPolicy::Wait).unwrap();
    assert_eq!(missing, None);
    let mut writer = engine.session();
    writer.settings.lock_wait_timeout = 0;
    for id in [21, 25, 29] {
        let refused = writer.run(|s| insert(s, &table, &one(id)));
        assert!(matches!(refused, Err(Error::LockWaitTimeout)), "{id}: {refused:?}");
    }
    for id in [19, 31] {
        writer.run(|s| insert(s, &table, &one(id))).unwrap();
    }
    let mut cursor_keys = scan_ids(&mut reader, &table, &ReadOptions::default()).unwrap();
    cursor_keys.retain(|id| (20..=30).contains(id));
    assert_eq!(cursor_keys, [20, 30]);
}

/// With no time to wait a lock that is not free takes back the statement alone, whoever waits for the transaction: it is not
/// part of a deadlock, since it does not wait.
#[test]
fn who_does_not_wait_is_in_no_deadlock() {
    let (engine, table) = setup();
    let mut patient = session(&engine, Isolation::ReadCommitted);
    let mut impatient = engine.session();
    impatient.settings.lock_wait_timeout = 0;
    impatient.begin(AccessMode::ReadWrite, false).unwrap();
    set_a(&mut impatient, &table, 10, 1);
    set_a(&mut patient, &table, 20, 2);
    let metrics = engine.core().txn.locks().metrics();
    while_waiting(
        &mut patient,
        |s| set_a(s, &table, 10, 3),
        || {
            for id in [20, 20] {
                let done = impatient.run(|s| s.update(&table, &key(id), &[(1, Some(&int(4)))]));
                assert!(matches!(done, Err(Error::LockWaitTimeout)), "{done:?}");
            }
            // A row that is nobody's is changed still.
            set_a(&mut impatient, &table, 30, 5);
            drop(impatient.commit().unwrap());
        },
    );
    drop(patient.commit().unwrap());
    let mut reader = engine.session();
    let mut a = |id: i32| {
        let row = lock_one(&mut reader, &table, PRIMARY, &[Some(&int(id))], WaitPolicy::Wait).unwrap();
        row.and_then(|row| row.a)
    };
    assert_eq!([10, 20, 30].map(&mut a), [Some(3), Some(2), Some(5)]);
    let now = engine.core().txn.locks().metrics();
    assert_eq!((now.deadlocks - metrics.deadlocks, now.timeouts - metrics.timeouts), (0, 2));
}
