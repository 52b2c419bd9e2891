//! Threads that change the same few rows, with waits, deadlocks and purge at work. What counts is that nothing hangs, that
//! no row is lost or doubled, and that all indexes agree at the end.

use crate::rows::bed::{Row, folder, int, specs};
use crate::rows::random::{CROWDED, Shape, value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_base::{Rng, SystemClock};
use vaquita_engine::check::check_table;
use vaquita_engine::ddl::TableSpec;
use vaquita_engine::{AccessMode, Error, Isolation, Result, RowKey, Session, Table};
use vaquita_testkit::engine_folder::EngineFolder;

const THREADS: u64 = 6;
const TRANSACTIONS: u64 = 600;
const ROWS: u64 = 24;

/// A key of few that there are, as column values and as a clustered key.
fn some_key(table: usize, rng: &mut Rng) -> (Vec<(usize, Vec<u8>)>, RowKey) {
    const TEXTS: [&str; 6] = ["a", "A", "b", "é", "e ", "ab"];
    let text = |rng: &mut Rng| TEXTS[rng.index(6)].as_bytes().to_vec();
    let values = match table {
        0 => vec![(0, int(rng.below(ROWS) as i32).unwrap())],
        1 => vec![(0, text(rng))],
        // In the order of the key, which is not that of the table.
        _ => vec![(1, text(rng)), (0, int(rng.below(4) as i32).unwrap())],
    };
    let key = RowKey::new(values.iter().map(|(_, v)| v.as_slice()));
    (values, key)
}

/// A few statements in one transaction: rows come, go and change, also under other keys; inserts less deletes.
fn transaction(session: &mut Session, tables: &[Tab], rng: &mut Rng) -> Result<Vec<i64>> {
    session.settings.isolation = [Isolation::RepeatableRead, Isolation::ReadCommitted][rng.index(2)];
    session.begin(AccessMode::ReadWrite, rng.one_in(3))?;
    let shape = Shape { long: 12_000, ..CROWDED };
    let mut balance = vec![0; tables.len()];
    for _ in 0..1 + rng.below(4) {
        let at = rng.index(tables.len());
        let Tab { spec, table } = &tables[at];
        let (values, key) = some_key(at, rng);
        let mut row: Row = spec.columns.iter().map(|c| value(rng, &c.def, shape)).collect();
        values.iter().for_each(|(c, v)| row[*c] = Some(v.clone()));
        let fields: Vec<_> = row.iter().map(Option::as_deref).collect();
        let done = match rng.below(4) {
            0 => session.run(|s| s.insert(table, &fields)).map(|_| balance[at] += 1),
            1 => session.run(|s| s.delete(table, &key)).map(|gone| balance[at] -= i64::from(gone)),
            _ => {
                let other = some_key(at, rng).0;
                let moves = rng.one_in(4);
                let is_key = |c: usize| values.iter().any(|(k, _)| *k == c);
                let mut changes: Vec<_> = fields
                    .iter()
                    .copied()
                    .enumerate()
                    .filter(|(c, _)| !is_key(*c) && rng.one_in(2))
                    .collect();
                if moves {
                    changes.extend(other.iter().map(|(c, v)| (*c, Some(v.as_slice()))));
                }
                session.run(|s| s.update(table, &key, &changes)).map(drop)
            }
        };
        match done {
            Ok(()) | Err(Error::DuplicateKey { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    if rng.one_in(5) {
        session.rollback()?;
        return Ok(vec![0; tables.len()]);
    }
    session.commit()?.wait()?;
    Ok(balance)
}

struct Tab {
    spec: TableSpec,
    table: Arc<Table>,
}

#[test]
fn threads_share_rows() {
    let folder = folder(EngineFolder::new(7).disk).with(|options| {
        options.background = true;
        options.lock_wait_timeout = 20;
        options.flush_log_at_trx_commit = 0;
    });
    let engine = folder.open_by(Arc::new(SystemClock::new())).unwrap();
    let mut session = engine.session();
    let mut open = |n: usize| {
        let spec = specs().swap_remove(n);
        session.create_table(&spec).unwrap();
        let table = engine.core().table(&spec.name).unwrap();
        Tab { spec, table }
    };
    let tables: Vec<Tab> = [0, 1, 3].map(&mut open).into();
    let (deadlocks, committed) = (AtomicU64::new(0), AtomicU64::new(0));
    let balances: Vec<Vec<i64>> = std::thread::scope(|scope| {
        let work = |seed| {
            let (engine, tables, deadlocks, committed) = (&engine, &tables, &deadlocks, &committed);
            scope.spawn(move || {
                let mut session = engine.session();
                let mut rng = Rng::new(seed);
                let mut balance = vec![0; tables.len()];
                for _ in 0..TRANSACTIONS {
                    match transaction(&mut session, tables, &mut rng) {
                        Ok(n) => {
                            balance.iter_mut().zip(n).for_each(|(sum, n)| *sum += n);
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
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    println!("{committed:?} transactions, {deadlocks:?} deadlocks");
    assert_eq!(engine.failure().map(|e| e.to_string()), None);
    let core = engine.core();
    while core.rollback_step().unwrap() {}
    while core.purge_step().unwrap() {}
    core.txn.locks().validate();
    for (n, Tab { table, .. }) in tables.iter().enumerate() {
        let report = check_table(core, table).unwrap();
        let balance: i64 = balances.iter().map(|b| b[n]).sum();
        assert_eq!(i64::try_from(report.rows).unwrap(), balance, "{}", table.name);
        assert!(report.is_purged(), "{}: {report:?}", table.name);
        assert_eq!(report.leaked_pages(), 0, "{}: {report:?}", table.name);
    }
}
