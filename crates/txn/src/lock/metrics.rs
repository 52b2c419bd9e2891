//! Numbers about locks and waits.

use super::LockSys;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Relaxed counters; all of them change only where somebody waits.
#[derive(Debug, Default)]
pub(super) struct Counters {
    waits: AtomicU64,
    waiting: AtomicUsize,
    wait_us: AtomicU64,
    wait_us_max: AtomicU64,
    pub(super) deadlocks: AtomicU64,
    pub(super) timeouts: AtomicU64,
}

impl Counters {
    pub(super) fn begin_wait(&self) {
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// A request was queued and nobody waited for it.
    pub(super) fn forget_wait(&self) {
        self.waits.fetch_sub(1, Ordering::Relaxed);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn end_wait(&self, us: u64) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.wait_us.fetch_add(us, Ordering::Relaxed);
        self.wait_us_max.fetch_max(us, Ordering::Relaxed);
    }
}

/// Numbers about locks and waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LockMetrics {
    /// Requests that had to wait (`Innodb_row_lock_waits`).
    pub waits: u64,
    /// Requests that wait (`Innodb_row_lock_current_waits`).
    pub waiting: usize,
    /// Microseconds waited in all (`Innodb_row_lock_time` is in milliseconds).
    pub wait_us: u64,
    /// Microseconds of the longest wait.
    pub wait_us_max: u64,
    /// Cycles found.
    pub deadlocks: u64,
    /// Waits that took too long.
    pub timeouts: u64,
    /// Records locked.
    pub record_locks: usize,
    /// Lock structures of records and tables, requests among them.
    pub lock_structs: usize,
    /// Bytes that record locks take; bounded by [`crate::Options::lock_memory_limit`].
    pub memory_bytes: usize,
}

impl LockSys {
    /// The present numbers.
    pub fn metrics(&self) -> LockMetrics {
        let c = &self.counters;
        LockMetrics {
            waits: c.waits.load(Ordering::Relaxed),
            waiting: c.waiting.load(Ordering::Relaxed),
            wait_us: c.wait_us.load(Ordering::Relaxed),
            wait_us_max: c.wait_us_max.load(Ordering::Relaxed),
            deadlocks: c.deadlocks.load(Ordering::Relaxed),
            timeouts: c.timeouts.load(Ordering::Relaxed),
            record_locks: self.pages.records(),
            lock_structs: self.pages.structs() + self.tables.structs(),
            memory_bytes: self.pages.bytes(),
        }
    }
}
