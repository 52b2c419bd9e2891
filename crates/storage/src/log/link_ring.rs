//! Ring of links: up to where is everything done, when many threads finish pieces of a line out of order?
//!
//! Pieces `from..to` of a line of bytes are handed out in order and finished in any order. A thread that finished
//! one leaves a *link* in the slot of its `from`. Whoever wants to know follows the links from the tail on,
//! emptying slots, until the first that is missing: everything before is done. (The idea is the one described for
//! the redo log of MySQL 8.0; here a slot holds the length of the piece, and following is guarded by a flag so
//! that any thread may do it.)
//!
//! # Invariants
//! - I1: the slot of position `p` is `p mod capacity`; it is non-zero only while a link at `p` waits to be followed.
//! - I2: a link at `from` is left only while `tail <= from < tail + capacity`, so no two links share a slot.
//! - I3: only the holder of `following` empties slots and moves the tail; the tail never goes back.
//!
//! # Ordering
//! A link is stored with Release after the piece's bytes; the follower loads it with Acquire and stores the tail
//! with Release; readers of the tail load it with Acquire. So whoever sees the tail beyond a piece sees its bytes,
//! and a thread that sees room (I2) sees its slot emptied.

use super::sync::{AtomicBool, AtomicU32, AtomicU64, Backoff, CachePadded, Ordering};

/// Links of one line.
#[derive(Debug)]
pub(super) struct LinkRing {
    /// Length of the piece that starts here; 0 for none.
    slots: Box<[AtomicU32]>,
    tail: CachePadded<AtomicU64>,
    following: CachePadded<AtomicBool>,
}

impl LinkRing {
    /// A ring for disorder of up to `capacity` bytes (a power of two) whose tail is at `start`.
    pub(super) fn new(capacity: usize, start: u64) -> Self {
        assert!(capacity.is_power_of_two(), "slots are found with a mask");
        Self {
            slots: (0..capacity).map(|_| AtomicU32::new(0)).collect(),
            tail: CachePadded::new(AtomicU64::new(start)),
            following: CachePadded::new(AtomicBool::new(false)),
        }
    }

    /// Bytes of disorder the ring can hold.
    pub(super) fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Everything before is done. Does not follow links: see [`LinkRing::follow`].
    #[inline]
    pub(super) fn tail(&self) -> u64 {
        self.tail.load(Ordering::Acquire)
    }

    /// Waits until a link at `from` has its slot. Others make that true without help from the caller: they hold
    /// earlier pieces, which were handed out before.
    #[inline]
    pub(super) fn wait_for_slot(&self, from: u64) {
        if from.wrapping_sub(self.tail()) < self.capacity() {
            return;
        }
        let backoff = Backoff::new();
        while from - self.follow() >= self.capacity() {
            backoff.snooze();
        }
    }

    /// The piece `from..to` is done.
    #[inline]
    pub(super) fn link(&self, from: u64, to: u64) {
        let len = u32::try_from(to - from).expect("a piece is shorter than 4 GiB");
        debug_assert!(len > 0, "an empty piece would be a missing link");
        self.wait_for_slot(from);
        self.slot(from).store(len, Ordering::Release);
    }

    /// Follows the links as far as they go and gives the tail. While another thread follows, the tail may be
    /// behind what is done.
    pub(super) fn follow(&self) -> u64 {
        if self.following.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return self.tail();
        }
        // Relaxed: the last store was made by a holder of `following`, which the exchange synchronised with.
        let mut tail = self.tail.load(Ordering::Relaxed);
        let start = tail;
        loop {
            let slot = self.slot(tail);
            let len = slot.load(Ordering::Acquire);
            if len == 0 {
                break;
            }
            // Relaxed: published by the Release of the tail below.
            slot.store(0, Ordering::Relaxed);
            tail += u64::from(len);
        }
        if tail != start {
            self.tail.store(tail, Ordering::Release);
        }
        self.following.store(false, Ordering::Release);
        tail
    }

    #[inline]
    fn slot(&self, position: u64) -> &AtomicU32 {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }
}
