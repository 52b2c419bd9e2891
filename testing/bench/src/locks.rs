//! What locks cost where nobody waits.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use vaquita_base::{HeapNo, IndexId, PageId, PageNo, SpaceId, SystemClock, TableId};
use vaquita_io::real::{RealDisk, RealDiskOptions};
use vaquita_storage::{Options, Storage};
use vaquita_txn::lock::{RecordId, WaitPolicy};
use vaquita_txn::{AccessMode, Isolation, LockMode, LockSys, RecordLockKind, Trx, TrxSystem};

use crate::Failure;
use crate::workload::Scratch;

/// Records of a page.
const RECORDS: u64 = 200;
/// Transactions with an intention lock on the table.
const HOLDERS: usize = 2_000;
const RUNS: usize = 5;

/// `lock_record` by the next record of a page, by a record held already, and by the first of a page with the release;
/// `lock_table` without and with 2,000 holders; the memory of a million locked rows.
///
/// What was measured: nanoseconds, and bytes of the last two (while they are locked, and when they are not any more).
///
/// # Errors
/// The engine's.
pub fn locks(count: u64) -> Result<Vec<(&'static str, f64)>, Failure> {
    let scratch = Scratch::new()?;
    let disk = Arc::new(RealDisk::new(RealDiskOptions::default()));
    let options = Options { buffer_pool_size: 16 << 20, ..Options::new(scratch.path()) };
    let storage = Arc::new(Storage::open(disk, Arc::new(SystemClock::new()), options)?);
    let (sys, _) = TrxSystem::open(storage.clone(), vaquita_txn::Options::default())?;
    let (a, b) = (begin(&sys), begin(&sys));

    let next = median(|| rows(sys.locks(), &a, count, 1));
    println!("{:28}{next:7.1} ns, page after page of {RECORDS} records, released", "lock_record_next");
    let held = median(|| again(sys.locks(), &a, count));
    println!("{:28}{held:7.1} ns", "lock_record_held");
    let first = median(|| rows(sys.locks(), &a, count, RECORDS));
    println!("{:28}{first:7.1} ns, one record of each page, released", "lock_record_first");
    let two = median(|| {
        std::thread::scope(|s| {
            let other = s.spawn(|| rows(sys.locks(), &b, count, 1));
            let ours = rows(sys.locks(), &a, count, 1);
            ours.max(other.join().expect("no panic"))
        })
    });
    println!("{:28}{two:7.1} ns, both on the same pages in S mode", "lock_record_next_2t");

    let alone = median(|| table(sys.locks(), &a, count));
    let holders: Vec<Trx> = (0..HOLDERS).map(|_| begin(&sys)).collect();
    for trx in &holders {
        sys.locks().lock_table(trx, TableId(1), LockMode::IntentionExclusive, WaitPolicy::Wait)?;
    }
    let beside = median(|| table(sys.locks(), &a, count));
    println!("{:28}{alone:7.1} ns, released; beside {HOLDERS} holders {beside:7.1} ns", "lock_table");
    for trx in &holders {
        sys.locks().release_all(trx.shared());
    }

    for n in 0..1_000_000 {
        ask(sys.locks(), &a, n);
    }
    let bytes = sys.locks().metrics().memory_bytes;
    println!("{:28}{bytes} bytes, {RECORDS} records a page", "million_rows_locked");
    sys.locks().release_all(a.shared());
    let left = sys.locks().metrics().memory_bytes;
    storage.close()?;
    Ok(vec![
        ("lock_record_next", next),
        ("lock_record_held", held),
        ("lock_record_first", first),
        ("lock_record_next_2t", two),
        ("lock_table", alone),
        ("lock_table beside holders", beside),
        ("million_rows_locked", bytes as f64),
        ("none locked", left as f64),
    ])
}

fn begin(sys: &TrxSystem) -> Trx {
    let mut trx = sys.new_trx();
    sys.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
    trx
}

fn median(mut run: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..RUNS).map(|_| run()).collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

#[inline]
fn ask(locks: &LockSys, trx: &Trx, n: u64) {
    let page = PageId::new(SpaceId(5), PageNo((n / RECORDS) as u32));
    let rec = RecordId { table: TableId(1), index: IndexId(1), page, heap: HeapNo((2 + n % RECORDS) as u16) };
    let asked = locks.lock_record(trx, rec, LockMode::Shared, RecordLockKind::NextKey, WaitPolicy::Wait);
    black_box(asked.expect("memory for locks"));
}

/// Locks records, every `step`th, giving all back after a thousand of them.
fn rows(locks: &LockSys, trx: &Trx, count: u64, step: u64) -> f64 {
    let started = Instant::now();
    for n in 0..count {
        ask(locks, trx, n * step);
        if n % 1_000 == 999 {
            locks.release_all(trx.shared());
        }
    }
    locks.release_all(trx.shared());
    started.elapsed().as_nanos() as f64 / count as f64
}

fn again(locks: &LockSys, trx: &Trx, count: u64) -> f64 {
    ask(locks, trx, 7);
    let started = Instant::now();
    for _ in 0..count {
        ask(locks, trx, 7);
    }
    let ns = started.elapsed().as_nanos() as f64 / count as f64;
    locks.release_all(trx.shared());
    ns
}

fn table(locks: &LockSys, trx: &Trx, count: u64) -> f64 {
    let started = Instant::now();
    for _ in 0..count {
        let asked = locks.lock_table(trx, TableId(1), LockMode::IntentionExclusive, WaitPolicy::Wait);
        black_box(asked.expect("memory for locks"));
        locks.release_all(trx.shared());
    }
    started.elapsed().as_nanos() as f64 / count as f64
}

#[cfg(test)]
mod tests {
    #[test]
    fn locks_are_taken_and_given_back() {
        let measured = super::locks(1_000).unwrap();
        assert_eq!(measured.len(), 8);
        for (name, ns) in &measured[..6] {
            assert!(ns.is_finite() && *ns > 0.0, "{name}: {ns}");
        }
        let (locked, left) = (measured[6].1, measured[7].1);
        // A bit for each row, and what a lock of a page takes.
        assert!((125_000.0..64e6).contains(&locked), "{locked} bytes");
        assert!(left * 10.0 < locked, "{left} bytes are left of {locked}");
    }
}
