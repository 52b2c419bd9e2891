//! Transfers between accounts, from several threads, in one folder. Kill it whenever you like and start it again: the
//! money is always the same.
//!
//! ```text
//! cargo run --release --example bank -- ./bank            # transfers until it is killed
//! cargo run --release --example bank -- ./bank 1000       # a thousand by each thread
//! ```

use std::error::Error as StdError;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita::engine::{
    AccessMode, Column, ColumnDef, Direction, Engine, Error, KeyPart, Options, PointRead, ReadLock,
    ReadOptions, RowKey, Statement, Table, TableSpec, stored,
};

const ACCOUNTS: i32 = 100;
const START: i64 = 1_000;
const THREADS: i32 = 4;

fn main() -> Result<(), Box<dyn StdError>> {
    let mut args = std::env::args().skip(1);
    let dir = args.next().ok_or("usage: bank FOLDER [TRANSFERS]")?;
    let transfers = args.next().map(|n| n.parse()).transpose()?.unwrap_or(u64::MAX);
    run(&dir, transfers)
}

/// So many transfers by each thread.
pub(crate) fn run(dir: &str, transfers: u64) -> Result<(), Box<dyn StdError>> {
    let engine = Engine::open(Options::new(dir))?;
    create(&engine)?;
    report(&engine)?;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let engine = &engine;
                scope.spawn(move || work(engine, thread, transfers))
            })
            .collect();
        workers.into_iter().try_for_each(|w| w.join().expect("a worker does not panic"))
    })?;
    report(&engine)?;
    Ok(engine.close()?)
}

/// Two tables: what everybody has, and how many transfers each thread has made.
fn create(engine: &Engine) -> Result<(), Error> {
    let mut session = engine.session();
    for name in ["bank/account", "bank/transfers"] {
        let columns = vec![
            Column::new(ColumnDef::int("id", 4, false).not_null()),
            Column::new(ColumnDef::int("n", 8, false).not_null()),
        ];
        let mut table = TableSpec::new(name, columns);
        table.primary_key = Some(vec![KeyPart::whole(0)]);
        match session.create_table(&table) {
            Ok(()) | Err(Error::TableExists(_)) => {}
            Err(e) => return Err(e),
        }
    }
    // All accounts appear together or not at all.
    session.run(|s| {
        let (accounts, transfers) = (s.table("bank/account")?, s.table("bank/transfers")?);
        if s.count(&accounts)? > 0 {
            return Ok(());
        }
        for id in 0..ACCOUNTS {
            s.insert(&accounts, &[Some(&stored::int(id)), Some(&stored::bigint(START))])?;
        }
        for thread in 0..THREADS {
            s.insert(&transfers, &[Some(&stored::int(thread)), Some(&stored::bigint(0))])?;
        }
        Ok(())
    })
}

/// What is there, read in one snapshot.
fn report(engine: &Engine) -> Result<(), Error> {
    let mut session = engine.session();
    session.begin(AccessMode::ReadOnly, true)?;
    let (accounts, transfers) =
        session.run(|s| Ok((s.table("bank/account")?, s.table("bank/transfers")?)))?;
    let total = session.run(|s| sum(s, &accounts))?;
    let done = session.run(|s| sum(s, &transfers))?;
    session.commit()?.wait()?;
    assert_eq!(total, i64::from(ACCOUNTS) * START, "no money is made or lost");
    say(&format!("total {total} after {done} transfers"));
    Ok(())
}

fn sum(s: &mut Statement<'_>, table: &Arc<Table>) -> Result<i64, Error> {
    let mut sum = 0;
    let mut cursor = s.cursor(table, &ReadOptions::default())?;
    s.for_each(&mut cursor, Direction::Forward, |row| {
        sum += row.column(1).map_or(0, stored::to_signed);
        ControlFlow::Continue(())
    })?;
    Ok(sum)
}

fn work(engine: &Engine, thread: i32, transfers: u64) -> Result<(), Error> {
    let mut session = engine.session();
    let (accounts, counts) = session.run(|s| Ok((s.table("bank/account")?, s.table("bank/transfers")?)))?;
    let mut random = 0x9e37_79b9_u32.wrapping_mul(thread as u32 + 1) ^ std::process::id();
    let mut next = |below: i32| {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        (random % below as u32) as i32
    };
    let mut made = 0;
    while made < transfers {
        let (from, to, amount) = (next(ACCOUNTS), next(ACCOUNTS), i64::from(next(50)));
        session.begin(AccessMode::ReadWrite, false)?;
        let moved = session.run(|s| {
            add(s, &accounts, from, -amount)?;
            add(s, &accounts, to, amount)?;
            add(s, &counts, thread, 1)
        });
        match moved {
            // Two transfers met the other way round: the lighter one was rolled back and tries again.
            Err(Error::Deadlock(_) | Error::LockWaitTimeout) => session.rollback()?,
            Err(e) => return Err(e),
            Ok(count) => {
                session.commit()?.wait()?;
                // Nothing takes this transfer back any more, not even a power cut.
                say(&format!("{thread} {count}"));
                made += 1;
            }
        }
    }
    Ok(())
}

/// Adds to the number of a row; what it is then.
fn add(s: &mut Statement<'_>, table: &Arc<Table>, id: i32, n: i64) -> Result<i64, Error> {
    let key = stored::int(id);
    let mut row = PointRead::new(table.clone(), ReadOptions::default().locking(ReadLock::Exclusive))?;
    let now = s.get(&mut row, &[Some(&key)], |row| row.column(1).map_or(0, stored::to_signed))?;
    let sum = now.expect("accounts are never closed") + n;
    s.update(table, &RowKey::new([&key[..]]), &[(1, Some(&stored::bigint(sum)))])?;
    Ok(sum)
}

/// One line at a time, at once.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever listened may be gone.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
