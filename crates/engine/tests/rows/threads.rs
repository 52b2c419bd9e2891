//! Threads that change the same few rows, with waits, deadlocks and purge at work. What counts is that nothing hangs, that
//! no row is lost or doubled, and that all indexes agree at the end.

use crate::bed::{int, options, specs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_base::{Rng, SystemClock};
use vaquita_engine::check::check_table;
use vaquita_engine::{AccessMode, Engine, Error, Isolation, Result, RowKey, Session, Table};
use vaquita_io::sim::SimDisk;

const THREADS: u64 = 6;
const TRANSACTIONS: u64 = 1000;
const ROWS: i32 = 24;

fn key(n: i32) -> RowKey {
    RowKey::new([&int(n).unwrap()[..]])
}

/// A few statements in one transaction: rows come, go and change; the sum of inserts and deletes is given back.
fn transaction(session: &mut Session, table: &Arc<Table>, rng: &mut Rng) -> Result<i64> {
    session.settings.isolation = [Isolation::RepeatableRead, Isolation::ReadCommitted][rng.index(2)];
    session.begin(AccessMode::ReadWrite, rng.one_in(3))?;
    let mut balance = 0;
    for _ in 0..1 + rng.below(4) {
        let n = rng.below(ROWS as u64) as i32;
        let text = ["a", "A", "b", "longer text"][rng.index(4)].as_bytes();
        let (m, u) = (int(rng.below(5) as i32), int(rng.below(40) as i32));
        match rng.below(4) {
            0 => {
                let id = int(n);
                let row = [id.as_deref(), Some(text), m.as_deref(), u.as_deref()];
                match session.run(|s| s.insert(table, &row)) {
                    Ok(_) => balance += 1,
                    Err(Error::DuplicateKey { .. }) => {}
                    Err(e) => return Err(e),
                }
            }
            1 => balance -= i64::from(session.run(|s| s.delete(table, &key(n)))?),
            _ => {
                let changes = [(1, Some(text)), (2, m.as_deref()), (3, u.as_deref())];
                let changes = &changes[..1 + rng.index(3)];
                match session.run(|s| s.update(table, &key(n), changes)) {
                    Ok(_) | Err(Error::DuplicateKey { .. }) => {}
                    Err(e) => return Err(e),
                }
            }
        }
    }
    if rng.one_in(5) {
        session.rollback()?;
        return Ok(0);
    }
    session.commit()?.wait()?;
    Ok(balance)
}

#[test]
fn threads_share_rows() {
    let disk = SimDisk::new(7);
    disk.put_dir("/db".as_ref());
    let mut options = options();
    options.background = true;
    options.lock_wait_timeout = 20;
    options.flush_log_at_trx_commit = 0;
    let engine = Engine::open_with(Arc::new(disk), Arc::new(SystemClock::new()), options).unwrap();
    let mut session = engine.session();
    session.create_table(&specs()[0]).unwrap();
    let table = engine.core().dict.table(engine.core(), "test/plain").unwrap();
    let (deadlocks, committed) = (AtomicU64::new(0), AtomicU64::new(0));
    let balance: i64 = std::thread::scope(|scope| {
        let work = |seed| {
            let (engine, table, deadlocks, committed) = (&engine, &table, &deadlocks, &committed);
            scope.spawn(move || {
                let mut session = engine.session();
                let mut rng = Rng::new(seed);
                let mut balance = 0;
                for _ in 0..TRANSACTIONS {
                    match transaction(&mut session, table, &mut rng) {
                        Ok(n) => {
                            balance += n;
                            committed.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(Error::Deadlock(_)) => {
                            deadlocks.fetch_add(1, Ordering::Relaxed);
                            session.rollback().unwrap();
                        }
                        Err(e) => panic!("{e}"),
                    }
                }
                balance
            })
        };
        let threads: Vec<_> = (0..THREADS).map(work).collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    println!("{committed:?} transactions, {deadlocks:?} deadlocks");
    assert_eq!(engine.failure().map(|e| e.to_string()), None);
    let core = engine.core();
    while core.rollback_step().unwrap() {}
    while core.purge_step().unwrap() {}
    core.txn.locks().validate();
    let report = check_table(core, &table).unwrap();
    assert_eq!(i64::try_from(report.rows).unwrap(), balance);
    assert!(report.is_purged(), "{report:?}");
}
