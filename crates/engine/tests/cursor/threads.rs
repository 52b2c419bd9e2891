//! Readers and writers at the same time: what is transferred between rows is never seen twice or not at all, by whatever
//! index and way of reading.

use crate::cursor::bed::{BY_A, BY_U, PRIMARY, create, engine, fill, one, read};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use vaquita_base::Rng;
use vaquita_engine::stored::{int, to_signed};
use vaquita_engine::{
    AccessMode, Direction, Engine, Error, Isolation, PointRead, ReadLock, ReadOptions, Result, RowKey,
    RowRef, Session, Statement, Table,
};
use vaquita_format::index_def::RowFormat;

const ROWS: i32 = 120;
const TRANSFERS: u32 = 250;

/// Moves an amount from one row to another, both locked by reading them; sometimes a row is deleted and its amount moved.
fn transfer(s: &mut Statement<'_>, table: &Arc<Table>, rng: &mut Rng) -> Result<()> {
    let mut point = PointRead::new(table.clone(), ReadOptions::default().locking(ReadLock::Exclusive))?;
    let (from, to) = (rng.below(ROWS as u64) as i32, rng.below(ROWS as u64) as i32);
    if from == to {
        return Ok(());
    }
    let balance = |row: &RowRef<'_>| to_signed(row.column(1).expect("never NULL")) as i32;
    let (Some(a), Some(b)) =
        (s.get(&mut point, &[Some(&int(from))], balance)?, s.get(&mut point, &[Some(&int(to))], balance)?)
    else {
        return Ok(());
    };
    let key = |id: i32| RowKey::new([&int(id)[..]]);
    let amount = rng.below(20) as i32;
    if rng.one_in(10) {
        // All of it, and the row goes and comes back.
        s.update(table, &key(to), &[(1, Some(&int(a + b)))])?;
        s.delete(table, &key(from))?;
        let mut row = one(from);
        row.a = Some(0);
        return crate::cursor::bed::insert(s, table, &row).map(|_| ());
    }
    s.update(table, &key(from), &[(1, Some(&int(a - amount)))])?;
    s.update(table, &key(to), &[(1, Some(&int(b + amount))), (5, Some(&vec![b'c'; rng.index(3_000)]))])?;
    Ok(())
}

fn write(engine: &Engine, table: &Arc<Table>, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut session = engine.session();
    session.settings.isolation =
        if seed.is_multiple_of(2) { Isolation::ReadCommitted } else { Isolation::RepeatableRead };
    for _ in 0..TRANSFERS {
        match session.run(|s| transfer(s, table, &mut rng)) {
            Ok(()) | Err(Error::Deadlock(_) | Error::LockWaitTimeout) => {}
            Err(e) => panic!("writer: {e}"),
        }
    }
}

/// Number of rows and sum of amounts, by one index.
fn totals(
    session: &mut Session,
    table: &Arc<Table>,
    at: usize,
    lock: ReadLock,
    rng: &mut Rng,
) -> Result<(u64, i64)> {
    let options = ReadOptions::by_index(at).columns([1, 0]).locking(lock);
    let (rows, sum) = (AtomicI64::new(0), AtomicI64::new(0));
    let add = |row: &RowRef<'_>| {
        rows.fetch_add(1, Ordering::Relaxed);
        sum.fetch_add(to_signed(row.column(0).expect("never NULL")), Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    let how = rng.below(4);
    session.run(|s| {
        let mut cursor = s.cursor(table, &options)?;
        match how {
            0 => drop(s.for_each(&mut cursor, Direction::Forward, add)?),
            1 => {
                cursor.seek_last();
                s.for_each(&mut cursor, Direction::Backward, add)?;
            }
            2 if lock == ReadLock::None => drop(s.parallel_scan(table, &options, 2, |_, row| add(row))?),
            _ => {
                while let Some(row) = s.next(&mut cursor)? {
                    let _ = add(&row);
                }
            }
        }
        if lock == ReadLock::None {
            assert_eq!(s.count(table)?, rows.load(Ordering::Relaxed) as u64);
        }
        Ok(())
    })?;
    Ok((rows.into_inner() as u64, sum.into_inner()))
}

fn audit(engine: &Engine, table: &Arc<Table>, seed: u64, want: (u64, i64), stop: &AtomicBool) -> u32 {
    let mut rng = Rng::new(seed);
    let mut session = engine.session();
    let mut audits = 0;
    while !stop.load(Ordering::Relaxed) || audits < 5 {
        let at = [PRIMARY, BY_A, BY_U][rng.index(3)];
        let lock = if rng.one_in(8) { ReadLock::Shared } else { ReadLock::None };
        session.settings.isolation = Isolation::RepeatableRead;
        if rng.one_in(2) {
            session.begin(AccessMode::ReadOnly, true).unwrap();
        }
        match totals(&mut session, table, at, lock, &mut rng) {
            Ok(got) => assert_eq!(got, want, "index {at} {lock:?}"),
            Err(Error::Deadlock(_) | Error::LockWaitTimeout) => {}
            Err(e) => panic!("reader: {e}"),
        }
        let _durable = session.commit().unwrap();
        audits += 1;
    }
    audits
}

#[test]
fn sums_hold_while_rows_change() {
    let engine = engine(21, 8192);
    let table = create(&engine, RowFormat::Dynamic);
    fill(&engine, &table, (0..ROWS).map(one));
    let want = (ROWS as u64, (0..ROWS).map(|id| i64::from(id + 1)).sum());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (10..13)
            .map(|seed| {
                scope.spawn({
                    let (e, t, s) = (&engine, &table, &stop);
                    move || audit(e, t, seed, want, s)
                })
            })
            .collect();
        let purge = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                engine.core().purge_step().unwrap();
                std::thread::yield_now();
            }
        });
        let writers: Vec<_> = (0..3)
            .map(|seed| {
                scope.spawn({
                    let (e, t) = (&engine, &table);
                    move || write(e, t, seed)
                })
            })
            .collect();
        for writer in writers {
            writer.join().expect("a writer");
        }
        stop.store(true, Ordering::Relaxed);
        purge.join().expect("purge");
        for reader in readers {
            assert!(reader.join().expect("a reader") >= 5);
        }
    });
    let mut rng = Rng::new(1);
    let mut session = engine.session();
    for at in [PRIMARY, BY_A, BY_U] {
        assert_eq!(totals(&mut session, &table, at, ReadLock::None, &mut rng).unwrap(), want);
    }
    let mut cursor = session.run(|s| s.cursor(&table, &ReadOptions::default())).unwrap();
    while let Some(id) = session.run(|s| Ok(s.next(&mut cursor)?.map(|row| read(&row).id))).unwrap() {
        assert!(id < ROWS);
    }
}

#[test]
fn an_interrupted_scan_ends() {
    let engine = engine(22, 8192);
    let table = create(&engine, RowFormat::Dynamic);
    fill(&engine, &table, (0..600).map(one));
    for (at, dir) in [(PRIMARY, Direction::Forward), (BY_A, Direction::Backward), (BY_U, Direction::Forward)]
    {
        for lock in [ReadLock::None, ReadLock::Shared] {
            let mut session = engine.session();
            session.begin(AccessMode::ReadWrite, false).unwrap();
            let me = session.transaction();
            let mut seen = 0;
            let from = session.start_statement();
            let mut s = session.statement();
            let mut cursor = s.cursor(&table, &ReadOptions::by_index(at).locking(lock)).unwrap();
            if dir == Direction::Backward {
                cursor.seek_last();
            }
            let ended = s.for_each(&mut cursor, dir, |_| {
                seen += 1;
                if seen == 3 {
                    me.interrupt();
                }
                ControlFlow::Continue(())
            });
            assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
            assert!(seen < 600, "it did not read everything first");
            me.clear_interrupt();
            assert!(matches!(s.next(&mut cursor), Err(Error::WrongState(_))), "the place is lost");
            cursor.seek_first();
            assert!(s.next(&mut cursor).unwrap().is_some());
            me.interrupt();
            session.fail_statement(from, &Error::Interrupted).unwrap();
            assert_eq!(session.run(|s| s.count(&table)).unwrap(), 600, "the next statement is not meant");
        }
    }
}
