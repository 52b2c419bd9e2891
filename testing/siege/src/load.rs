//! Sessions that behave: they move money between accounts, so that the sum tells whether anything was lost or done twice.

use crate::{Failure, sure};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use vaquita_base::Rng;
use vaquita_clients::wire::{Answer, Wire};

/// Accounts.
const ACCOUNTS: u64 = 500;
/// What each has at first.
const MONEY: u64 = 1000;

/// Makes the accounts, in database `bank`.
///
/// # Errors
/// Of a statement.
pub fn prepare(port: u16) -> Result<(), Failure> {
    let mut root = Wire::connect(port, "root")?;
    run(&mut root, "create database bank")?;
    run(
        &mut root,
        "create table bank.account (id int primary key, money int not null, note varchar(200), key (money))",
    )?;
    run(
        &mut root,
        "create table bank.moved (n bigint primary key auto_increment, a int, b int, how_much int, key (a))",
    )?;
    let rows: Vec<String> = (0..ACCOUNTS).map(|id| format!("({id}, {MONEY}, null)")).collect();
    run(&mut root, &format!("insert into bank.account values {}", rows.join(",")))
}

/// Runs a statement that must succeed.
///
/// # Errors
/// It does not.
pub fn run(wire: &mut Wire, sql: &str) -> Result<(), Failure> {
    match wire.query(sql)? {
        Answer::Error(code, text) => Err(Failure(format!("{code} {text}: {sql}"))),
        _ => Ok(()),
    }
}

/// Moves money until it is told to stop or the server goes away; how often it did.
///
/// # Errors
/// An answer that this load must not get.
pub fn move_money(port: u16, seed: u64, stop: &AtomicBool) -> Result<u64, Failure> {
    let moved = AtomicU64::new(0);
    let done = (|| -> io::Result<Result<(), Failure>> {
        let mut wire = match Wire::connect(port, "root") {
            Ok(wire) => wire,
            // While the door is flooded.
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => return Ok(Ok(())),
            Err(e) => return Err(e),
        };
        let mut rng = Rng::new(seed);
        let take = wire.prepare("update bank.account set money = money - ?, note = ? where id = ?")?;
        let give = wire.prepare("update bank.account set money = money + ? where id = ?")?;
        while !stop.load(Ordering::Relaxed) {
            match transfer(&mut wire, &mut rng, take, give)? {
                // A deadlock, a timeout of a lock.
                0 => moved.fetch_add(1, Ordering::Relaxed),
                1213 | 1205 => 0,
                code => return Ok(Err(Failure(format!("a transfer ended with {code}")))),
            };
        }
        Ok(Ok(()))
    })();
    match done {
        Ok(Ok(())) | Err(_) => Ok(moved.into_inner()),
        Ok(Err(failure)) => Err(failure),
    }
}

/// One transfer; the number of its error.
fn transfer(wire: &mut Wire, rng: &mut Rng, take: u32, give: u32) -> io::Result<u16> {
    let (a, b) = (rng.below(ACCOUNTS).to_string(), rng.below(ACCOUNTS).to_string());
    let how_much = rng.below(20).to_string();
    let note = "n".repeat(rng.index(200));
    let log = format!("insert into bank.moved (a, b, how_much) values ({a}, {b}, {how_much})");
    let read = format!("select money, note from bank.account where id in ({a}, {b}) order by note");
    let commit = if rng.below(10) == 0 { "rollback" } else { "commit" };
    for step in 0..6 {
        let answer = match step {
            0 => wire.query("begin")?,
            1 => wire.execute(take, &[how_much.as_bytes(), note.as_bytes(), a.as_bytes()])?,
            2 => wire.execute(give, &[how_much.as_bytes(), b.as_bytes()])?,
            3 => wire.query(&log)?,
            4 => wire.query(&read)?,
            _ => wire.query(commit)?,
        };
        if answer.code() != 0 {
            wire.query("rollback")?;
            return Ok(answer.code());
        }
    }
    Ok(0)
}

/// Nothing of the money is lost, tables and indexes agree; the log of transfers is emptied.
///
/// # Errors
/// Something is wrong, or the server does not answer.
pub fn check(port: u16) -> Result<(), Failure> {
    let mut root = Wire::connect(port, "root")?;
    let wanted = (ACCOUNTS * MONEY).to_string();
    for index in ["primary", "money"] {
        let sum = root.query(&format!("select sum(money) from bank.account force index ({index})"))?;
        sure(sum.value().as_ref() == Some(&wanted), || {
            format!("the money by {index}: {sum:?}, not {wanted}")
        })?;
    }
    check_tables(&mut root, &["bank.account", "bank.moved"])?;
    run(&mut root, "truncate table bank.moved")
}

/// CHECK TABLE finds nothing.
pub(crate) fn check_tables(root: &mut Wire, tables: &[&str]) -> Result<(), Failure> {
    for table in tables {
        let Answer::Rows(rows) = root.query(&format!("check table {table}"))? else {
            return Err(Failure(format!("CHECK TABLE {table} gives no rows")));
        };
        let last = rows.last().and_then(|row| row.last().cloned().flatten());
        sure(last.as_deref() == Some(b"OK"), || format!("{table}: {rows:?}"))?;
    }
    Ok(())
}
