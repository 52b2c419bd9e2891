//! The page latch: readers, one writer, and a version, in one word.
//!
//! | bits | meaning |
//! |---|---|
//! | 0..16 | shared holders |
//! | 16 | held exclusively |
//! | 17 | somebody is parked |
//! | 18 | a writer is parked: new readers queue behind it |
//! | 19..64 | version, one more at each exclusive release |
//!
//! # Invariants
//! - I1: the bytes a latch guards change only while bit 16 is set.
//! - I2: the version changes exactly when bit 16 is cleared; equal versions around a read, with bit 16 clear both
//!   times, mean that the bytes did not change in between (optimistic reads, as in Boehm's treatment of seqlocks
//!   and in LeanStore's optimistic lock coupling).
//! - I3: bit 17 is set under the parking mutex of the latch, and whoever clears it notifies under that mutex:
//!   no wake-up is lost.
//!
//! # Latching
//! The parking mutex is a leaf. A latch is not recursive. It is short and physical: nobody waits for a
//! transaction's lock while holding one.

use super::sync::{AtomicU64, Condvar, Mutex, Ordering, fence, spin_loop, spin_rounds};

const READER: u64 = 1;
const READERS: u64 = 0xFFFF;
const WRITER: u64 = 1 << 16;
const PARKED: u64 = 1 << 17;
const WRITER_PARKED: u64 = 1 << 18;
const VERSION: u64 = 1 << 19;

/// Where threads sleep that wait for latches; latches share parking places.
#[derive(Debug)]
pub struct ParkingLot {
    places: Vec<(Mutex<()>, Condvar)>,
}

impl ParkingLot {
    /// A lot with `places` (rounded up to a power of two) parking places.
    pub fn new(places: usize) -> Self {
        let n = places.next_power_of_two();
        Self { places: (0..n).map(|_| (Mutex::new(()), Condvar::new())).collect() }
    }

    fn place(&self, key: usize) -> &(Mutex<()>, Condvar) {
        &self.places[key & (self.places.len() - 1)]
    }
}

/// The latch word. `key` arguments choose the parking place; always the same one for the same latch.
#[derive(Debug, Default)]
pub struct PageLatch {
    word: AtomicU64,
}

impl PageLatch {
    /// Not held, version 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the latch shared if nobody holds it exclusively or is queued to.
    #[inline]
    pub fn try_shared(&self) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & (WRITER | WRITER_PARKED) == 0 {
            match self.word.compare_exchange_weak(word, word + READER, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Takes the latch shared, waiting as long as it takes.
    #[inline]
    pub fn lock_shared(&self, lot: &ParkingLot, key: usize) {
        if !self.try_shared() {
            self.wait(lot, key, WRITER | WRITER_PARKED, 0, Self::try_shared);
        }
    }

    /// Takes the latch exclusively if nobody holds it.
    #[inline]
    pub fn try_exclusive(&self) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & (WRITER | READERS) == 0 {
            match self.word.compare_exchange_weak(word, word | WRITER, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => {
                    // The writes that follow must not become visible before the bit (I1); pairs with the fence of
                    // `validate`.
                    fence(Ordering::Release);
                    return true;
                }
                Err(now) => word = now,
            }
        }
        false
    }

    /// Takes the latch exclusively, waiting as long as it takes.
    #[inline]
    pub fn lock_exclusive(&self, lot: &ParkingLot, key: usize) {
        if !self.try_exclusive() {
            self.wait(lot, key, WRITER | READERS, WRITER_PARKED, Self::try_exclusive);
        }
    }

    /// Gives a shared hold back.
    #[inline]
    pub fn unlock_shared(&self, lot: &ParkingLot, key: usize) {
        let before = self.word.fetch_sub(READER, Ordering::Release);
        debug_assert!(before & READERS != 0, "shared latch released twice");
        if before & PARKED != 0 && before & READERS == READER {
            self.wake(lot, key);
        }
    }

    /// Gives an exclusive hold back and moves the version on.
    #[inline]
    pub fn unlock_exclusive(&self, lot: &ParkingLot, key: usize) {
        let before = self.word.fetch_add(VERSION - WRITER, Ordering::Release);
        debug_assert!(before & WRITER != 0, "exclusive latch released twice");
        if before & PARKED != 0 {
            self.wake(lot, key);
        }
    }

    /// Turns an exclusive hold into a shared one; nobody gets in between.
    #[inline]
    pub fn downgrade(&self, lot: &ParkingLot, key: usize) {
        let before = self.word.fetch_add(VERSION - WRITER + READER, Ordering::Release);
        debug_assert!(before & WRITER != 0, "downgrade of a latch that is not held");
        if before & PARKED != 0 {
            self.wake(lot, key);
        }
    }

    /// The version to validate an optimistic read with; `None` while a writer is in.
    #[inline]
    pub fn version(&self) -> Option<u64> {
        let word = self.word.load(Ordering::Acquire);
        (word & WRITER == 0).then_some(word / VERSION)
    }

    /// Whether nothing has changed since [`PageLatch::version`] gave `version`.
    #[inline]
    pub fn validate(&self, version: u64) -> bool {
        // The reads before must not sink below the load of the word.
        fence(Ordering::Acquire);
        let word = self.word.load(Ordering::Relaxed);
        word & WRITER == 0 && word / VERSION == version
    }

    /// The version, as the exclusive holder sees it.
    #[inline]
    pub fn version_while_exclusive(&self) -> u64 {
        self.word.load(Ordering::Relaxed) / VERSION
    }

    /// Whether anybody holds it exclusively (for assertions).
    pub fn is_exclusive(&self) -> bool {
        self.word.load(Ordering::Relaxed) & WRITER != 0
    }

    #[cold]
    fn wait(&self, lot: &ParkingLot, key: usize, blocked_by: u64, mark: u64, attempt: fn(&Self) -> bool) {
        for _ in 0..spin_rounds() {
            spin_loop();
            if attempt(self) {
                return;
            }
        }
        let (mutex, condvar) = lot.place(key);
        let mut guard = mutex.lock();
        loop {
            if attempt(self) {
                return;
            }
            let word = self.word.load(Ordering::Relaxed);
            if word & blocked_by == 0 {
                continue;
            }
            // Marked with a compare-and-swap on the blocked word: a release in between is not missed (I3).
            let marked = word | PARKED | mark;
            if word != marked
                && self.word.compare_exchange(word, marked, Ordering::Relaxed, Ordering::Relaxed).is_err()
            {
                continue;
            }
            condvar.wait(&mut guard);
        }
    }

    #[cold]
    fn wake(&self, lot: &ParkingLot, key: usize) {
        let (mutex, condvar) = lot.place(key);
        let _guard = mutex.lock();
        self.word.fetch_and(!(PARKED | WRITER_PARKED), Ordering::Relaxed);
        condvar.notify_all();
    }
}
