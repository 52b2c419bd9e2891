//! Measures the redo log: appending, committing together, scanning.
//!
//! `cargo run --release -p vaquita-storage --example log_speed -- DIR [MIB]`: creates log files of MIB in all in DIR,
//! which must be there, and removes them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use vaquita_base::{Clock, SystemClock};
use vaquita_format::redo_file::FIRST_LSN;
use vaquita_io::{FileSystem, RealDisk};
use vaquita_storage::log::{FolderId, LogConfig, LogReader, NewLog, RedoLog, Result, files};

const TIME: Duration = Duration::from_millis(1_500);

/// A mini-transaction of one WRITE_STRING record of `len` bytes, as redo has it.
fn records(len: usize) -> Vec<u8> {
    let mut bytes = vec![0x80 | 30, 1, 1, 0, 100, (len >> 8) as u8, len as u8];
    bytes.resize(7 + len, 0x5A);
    bytes
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().unwrap_or_else(|| ".".into()));
    let mib: u64 = args.next().and_then(|s| s.parse().ok()).unwrap_or(1024);
    let fs: Arc<dyn FileSystem> = Arc::new(RealDisk::default());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let config = LogConfig::new(&dir, FolderId([7; 12]));
    let new = NewLog { files: 2, file_bytes: mib << 19, first_lsn: FIRST_LSN };

    let log = RedoLog::create(fs.as_ref(), clock, config, new)?;
    for (threads, len) in [(1, 100), (2, 100), (1, 4000), (2, 4000)] {
        appends(&log, threads, len)?;
    }
    for threads in [1, 2, 8, 32] {
        commits(&log, threads)?;
    }
    log.write_checkpoint(log.current_lsn())?;
    scans(fs, &dir, &log)?;
    files::remove(&RealDisk::default(), &dir)
}

/// Appends and checkpoints, nothing synced on the way.
fn appends(log: &RedoLog, threads: u64, len: usize) -> Result<()> {
    let before = (log.stats().appends.get(), log.current_lsn());
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let records = records(len);
                while begin.elapsed() < TIME {
                    for _ in 0..64 {
                        while log.must_checkpoint() {
                            let lsn = log.dirty_pages_added_up_to();
                            log.write_checkpoint(lsn).expect("the disk works");
                        }
                        log.closed(&log.append(&records));
                    }
                }
            });
        }
    });
    let seconds = begin.elapsed().as_secs_f64();
    let count = (log.stats().appends.get() - before.0) as f64;
    let mib = (log.current_lsn().get() - before.1.get()) as f64 / f64::from(1 << 20);
    println!(
        "append {len:5} bytes, {threads} threads: {:7.0} ns each per thread, {:6.0} MiB/s",
        seconds * 1e9 * threads as f64 / count,
        mib / seconds
    );
    log.write_checkpoint(log.dirty_pages_added_up_to())
}

/// Short transactions, each durable before the next of its thread.
fn commits(log: &RedoLog, threads: u64) -> Result<()> {
    let before = (log.stats().flush_requests.get(), log.stats().syncs.get());
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let records = records(100);
                while begin.elapsed() < TIME {
                    let appended = log.append(&records);
                    log.closed(&appended);
                    log.flush_up_to(appended.end).expect("the disk works");
                }
            });
        }
    });
    let seconds = begin.elapsed().as_secs_f64();
    let commits = (log.stats().flush_requests.get() - before.0) as f64;
    let syncs = (log.stats().syncs.get() - before.1) as f64;
    println!(
        "commit, {threads:2} threads: {:7.0} per second, {:5.1} per sync, {:6.0} us per sync",
        commits / seconds,
        commits / syncs,
        seconds * 1e6 / syncs
    );
    Ok(())
}

/// Fills the files, then reads them from the checkpoint on.
fn scans(fs: Arc<dyn FileSystem>, dir: &Path, log: &RedoLog) -> Result<()> {
    let records = records(150);
    while !log.must_checkpoint() {
        log.closed(&log.append(&records));
    }
    log.flush_up_to(log.current_lsn())?;
    let mib = log.age() as f64 / f64::from(1 << 20);
    for (what, groups) in [("blocks", false), ("mini-transactions", true), ("blocks", false)] {
        let mut reader = LogReader::open(Arc::clone(&fs), dir, None)?;
        let begin = Instant::now();
        let mut count = 0u64;
        if groups {
            while reader.next_group()?.is_some() {
                count += 1;
            }
        } else {
            while reader.next_chunk()?.is_some() {
                count += 1;
            }
        }
        assert_eq!(reader.end_lsn(), log.current_lsn());
        println!("scan of {mib:.0} MiB, {what} ({count}): {:6.0} MiB/s", mib / begin.elapsed().as_secs_f64());
    }
    Ok(())
}
