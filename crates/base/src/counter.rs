//! Statistics counters that many threads bump without sharing a cache line.
//!
//! One global counter in the row-read path once cost InnoDB two thirds of its read-only throughput on a large
//! machine (its team's article on performance improvements of April 2012); hence slots.

use crossbeam_utils::CachePadded;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Slots of a counter; a power of two.
const SLOTS: usize = 16;

/// A sum kept in slots of a cache line each; a thread always uses the same slot.
#[derive(Debug, Default)]
pub struct ShardedCounter {
    slots: [CachePadded<AtomicU64>; SLOTS],
}

impl ShardedCounter {
    /// Zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `n`.
    #[inline]
    pub fn add(&self, n: u64) {
        // Relaxed: a statistic orders nothing.
        self.slots[thread_slot()].fetch_add(n, Ordering::Relaxed);
    }

    /// The sum; concurrent additions may or may not be in it.
    pub fn get(&self) -> u64 {
        self.slots.iter().map(|s| s.load(Ordering::Relaxed)).sum()
    }
}

/// The slot of the calling thread, handed out round robin at its first use.
#[inline]
pub fn thread_slot() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static SLOT: Cell<usize> = const { Cell::new(usize::MAX) });
    SLOT.with(|slot| {
        if slot.get() == usize::MAX {
            slot.set(NEXT.fetch_add(1, Ordering::Relaxed) % SLOTS);
        }
        slot.get()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_are_counted() {
        let c = ShardedCounter::new();
        std::thread::scope(|s| {
            for _ in 0..20 {
                s.spawn(|| (0..100).for_each(|_| c.add(2)));
            }
        });
        assert_eq!(c.get(), 4_000);
    }
}
