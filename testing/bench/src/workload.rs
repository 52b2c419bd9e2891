//! Workloads: what is done to a store, and how long it took.
//!
//! Each run is on a fresh store in a scratch folder. What a workload needs beforehand (rows to look up) is done
//! before the clock starts.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use vaquita_base::rng::Rng;

use crate::{Engine, Failure, Store};

/// A measured action. The name says layer, operation, variant and threads.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// As the table shows it.
    pub name: &'static str,
    /// Operations for a row count.
    operations: fn(rows: u64) -> u64,
    prepare: fn(&dyn Store, rows: u64) -> Result<(), Failure>,
    measure: fn(&dyn Store, rows: u64) -> Result<(), Failure>,
}

/// Rows of one insert transaction when there are many.
const BATCH_ROWS: usize = 1000;
/// Threads of the concurrent workloads.
const THREADS: u64 = 8;

/// Every workload.
pub const ALL: &[Workload] = &[
    Workload {
        name: "insert_sequential_1txn",
        operations: all_rows,
        prepare: nothing,
        measure: insert_in_one,
    },
    Workload {
        name: "insert_sequential_1000row_txns",
        operations: all_rows,
        prepare: nothing,
        measure: insert_in_many,
    },
    Workload {
        name: "commit_1row_durable_8t",
        operations: commits,
        prepare: nothing,
        measure: commit_from_threads,
    },
    Workload {
        name: "get_random_warm_1t",
        operations: all_rows,
        prepare: insert_in_many,
        measure: get_one_thread,
    },
    Workload {
        name: "get_random_warm_8t",
        operations: all_rows,
        prepare: insert_in_many,
        measure: get_from_threads,
    },
    Workload { name: "scan_all_warm", operations: all_rows, prepare: insert_in_many, measure: scan_all },
];

impl Workload {
    /// Runs it once and returns operations per second.
    ///
    /// # Errors
    /// The engine's.
    pub fn run(&self, engine: &Engine, rows: u64) -> Result<f64, Failure> {
        let scratch = Scratch::new()?;
        let store = (engine.open)(scratch.path())?;
        (self.prepare)(store.as_ref(), rows)?;
        let started = Instant::now();
        (self.measure)(store.as_ref(), rows)?;
        let took = started.elapsed().max(Duration::from_nanos(1));
        Ok((self.operations)(rows) as f64 / took.as_secs_f64())
    }
}

fn all_rows(rows: u64) -> u64 {
    rows
}

/// Each needs a sync of its own where commits are not grouped: far fewer of them.
fn commits(rows: u64) -> u64 {
    (rows / 500).max(THREADS) / THREADS * THREADS
}

fn nothing(_: &dyn Store, _: u64) -> Result<(), Failure> {
    Ok(())
}

fn insert_in_one(store: &dyn Store, rows: u64) -> Result<(), Failure> {
    store.insert(&mut (0..rows), usize::MAX)
}

fn insert_in_many(store: &dyn Store, rows: u64) -> Result<(), Failure> {
    store.insert(&mut (0..rows), BATCH_ROWS)
}

fn commit_from_threads(store: &dyn Store, rows: u64) -> Result<(), Failure> {
    let each = commits(rows) / THREADS;
    on_threads(|thread| store.insert(&mut (thread * each..(thread + 1) * each), 1))
}

fn get_one_thread(store: &dyn Store, rows: u64) -> Result<(), Failure> {
    get_random(store, rows, rows, 1)
}

fn get_from_threads(store: &dyn Store, rows: u64) -> Result<(), Failure> {
    on_threads(|thread| get_random(store, rows, rows / THREADS, thread))
}

fn get_random(store: &dyn Store, rows: u64, count: u64, seed: u64) -> Result<(), Failure> {
    let mut rng = Rng::new(seed);
    for _ in 0..count {
        let key = rng.below(rows);
        if store.get(key)? != Some(key as u8) {
            return Err(format!("key {key} has the wrong value").into());
        }
    }
    Ok(())
}

fn scan_all(store: &dyn Store, rows: u64) -> Result<(), Failure> {
    let expected: u64 = (0..rows).map(|key| u64::from(key as u8)).sum();
    if store.scan(0, usize::MAX)? != expected {
        return Err("the scan saw other rows than were inserted".into());
    }
    Ok(())
}

/// Runs `work` on every thread number; the first failure counts.
fn on_threads(work: impl Fn(u64) -> Result<(), Failure> + Sync) -> Result<(), Failure> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn({
                    let work = &work;
                    move || work(thread)
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("benchmark threads do not panic"))
    })
}

/// A folder that goes with the value. Below `VAQUITA_BENCH_DIR` if set: the temporary folder may be memory.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes a new one.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn new() -> Result<Scratch, Failure> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let base = std::env::var_os("VAQUITA_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        // Relaxed: only uniqueness matters.
        let name = format!("vq-bench-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = base.join(name);
        std::fs::create_dir_all(&path)?;
        Ok(Scratch { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines;

    #[test]
    fn every_workload_runs_on_every_engine() {
        for workload in ALL {
            for engine in engines::ALL {
                let rate = workload.run(engine, 3000).unwrap();
                assert!(rate > 0.0, "{} on {}", workload.name, engine.name);
            }
        }
    }
}
