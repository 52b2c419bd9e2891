//! What a read view costs: it must not depend on how many transactions are writing.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use vaquita_base::{SystemClock, TrxId};
use vaquita_io::real::{RealDisk, RealDiskOptions};
use vaquita_storage::{Options, Storage};
use vaquita_txn::{AccessMode, Isolation, Trx, TrxSystem};

use crate::Failure;
use crate::workload::Scratch;

/// Writers that are active in the second measurement.
const WRITERS: usize = 2_000;
/// Runs; each measures without and with writers, so that a slow minute of the machine hits both.
const RUNS: usize = 7;

/// `view_open`, `trx_read_only` without and with 2,000 active writers; `view_sees`; `view_open_2t` beside a committing
/// thread.
///
/// What was measured, in nanoseconds: without and with writers.
///
/// # Errors
/// The engine's.
pub fn views(opens: u64) -> Result<Vec<(&'static str, f64, f64)>, Failure> {
    let scratch = Scratch::new()?;
    let disk = Arc::new(RealDisk::new(RealDiskOptions::default()));
    let options = Options { buffer_pool_size: 16 << 20, ..Options::new(scratch.path()) };
    let storage = Arc::new(Storage::open(disk, Arc::new(SystemClock::new()), options)?);
    let (sys, _) = TrxSystem::open(storage.clone(), vaquita_txn::Options::default())?;
    commit_some(&sys, 10_000)?;

    let mut measured = Vec::new();
    for (name, measure) in MEASUREMENTS {
        let (mut idle, mut busy) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            idle.push(measure(&sys, opens));
            let writers: Vec<Trx> = (0..WRITERS).map(|_| writer(&sys)).collect::<Result<_, Failure>>()?;
            busy.push(measure(&sys, opens));
            for mut trx in writers {
                sys.commit(&mut trx)?;
            }
        }
        let (idle, busy) = (median(idle), median(busy));
        println!(
            "{name:28}{idle:7.1} ns, with {WRITERS} active writers {busy:7.1} ns: {:+.0} %",
            (busy / idle - 1.0) * 100.0
        );
        measured.push((name, idle, busy));
    }
    let limits = look_up(&sys, opens);
    println!("{:28}{limits:7.1} ns where the limits decide", "view_sees");
    let writers: Vec<Trx> = (0..WRITERS).map(|_| writer(&sys)).collect::<Result<_, Failure>>()?;
    let looked_up = look_up(&sys, opens);
    println!("{:28}{looked_up:7.1} ns where the id is looked up", "view_sees");
    measured.push(("view_sees", limits, looked_up));
    beside_commits(&sys, opens)?;
    for mut trx in writers {
        sys.commit(&mut trx)?;
    }
    if sys.metrics().active != 0 {
        return Err(format!("{} transactions are still active", sys.metrics().active).into());
    }
    storage.close()?;
    Ok(measured)
}

type Measure = fn(&TrxSystem, u64) -> f64;

const MEASUREMENTS: [(&str, Measure); 2] = [("view_open", open_and_close), ("trx_read_only", read_only)];

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn writer(sys: &TrxSystem) -> Result<Trx, Failure> {
    let mut trx = sys.new_trx();
    sys.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
    sys.assign_id(&mut trx)?;
    Ok(trx)
}

fn commit_some(sys: &TrxSystem, count: u64) -> Result<(), Failure> {
    let mut trx = sys.new_trx();
    for _ in 0..count {
        sys.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
        sys.assign_id(&mut trx)?;
        sys.commit(&mut trx)?;
    }
    Ok(())
}

fn each(count: u64, mut what: impl FnMut(u64)) -> f64 {
    let started = Instant::now();
    for n in 0..count {
        what(n);
    }
    started.elapsed().as_nanos() as f64 / count as f64
}

fn open_and_close(sys: &TrxSystem, opens: u64) -> f64 {
    let mut trx = sys.new_trx();
    sys.start(&mut trx, Isolation::ReadCommitted, AccessMode::ReadOnly);
    each(opens, |_| {
        black_box(sys.read_view(&mut trx));
        sys.close_view(&mut trx);
    })
}

/// Asks for ids near the newest, which have to be looked up while there are writers.
fn look_up(sys: &TrxSystem, asks: u64) -> f64 {
    let mut trx = sys.new_trx();
    sys.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadOnly);
    let view = sys.read_view(&mut trx);
    let last = view.low_limit.0 - 1;
    each(asks, |n| {
        black_box(view.sees(sys, TrxId(last - n % 4_096)));
    })
}

/// A whole autocommit read without its read.
fn read_only(sys: &TrxSystem, count: u64) -> f64 {
    let mut trx = sys.new_trx();
    each(count, |_| {
        sys.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadOnly);
        black_box(sys.read_view(&mut trx));
        sys.commit(&mut trx).expect("nothing to write");
    })
}

/// The same beside a thread that commits: the four numbers change all the time.
fn beside_commits(sys: &TrxSystem, opens: u64) -> Result<(), Failure> {
    let stop = AtomicBool::new(false);
    let (mut ns, mut commits) = (0.0, 0);
    std::thread::scope(|s| {
        let committing = s.spawn(|| {
            let mut done = 0u64;
            while !stop.load(Ordering::Relaxed) {
                commit_some(sys, 100)?;
                done += 100;
            }
            Ok::<u64, Failure>(done)
        });
        let started = Instant::now();
        ns = open_and_close(sys, opens);
        let seconds = started.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        commits = (committing.join().expect("no panic")? as f64 / seconds) as u64;
        Ok::<(), Failure>(())
    })?;
    println!("{:28}{ns:7.1} ns beside {commits} commits a second", "view_open_2t");
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn views_are_opened_beside_writers() {
        let measured = super::views(1_000).unwrap();
        let names: Vec<_> = measured.iter().map(|(name, ..)| *name).collect();
        assert_eq!(names, ["view_open", "trx_read_only", "view_sees"]);
        for (name, idle, busy) in measured {
            assert!(
                idle.is_finite() && idle > 0.0 && busy.is_finite() && busy > 0.0,
                "{name}: {idle}, {busy}"
            );
        }
    }
}
