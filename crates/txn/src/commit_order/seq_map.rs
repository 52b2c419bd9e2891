//! From transaction ids to commit sequence numbers, read without a lock.
//!
//! A ring of entries, each of an id and its number; an id has one place in it, `id % entries`. While that place is
//! still taken by an older id, the entry goes to a hash map beside, for good: entries never move. Ids enter in the
//! order they are given, so a ring much larger than the number of ids that matter at a time needs the map for those
//! rare ids only that meet a transaction many thousand ids older than themselves.
//!
//! # Invariants
//! - I1: an id is in the ring, in the map, or nowhere; from entry to removal it stays where it is.
//! - I2: an id is entered once, and never again after its removal: ids are not reused.
//! - I3: `seq` is [`ACTIVE`] from the entry on until [`SeqMap::commit`] sets it, once.
//!
//! # Writers and readers
//! [`SeqMap::insert`] and [`SeqMap::commit`] are called under the mutex of [`super::order`], [`SeqMap::forget`] by one
//! thread at a time. Readers take no lock, unless the map beside is in use and the ring does not have their id.
//!
//! A reader loads id, number, id. The number belongs to the id if both loads give it: an entry is taken by storing
//! `ACTIVE` with release order after 0 was seen in `id`, then the new id. A reader that loads a number of the new id
//! therefore loads 0 or the new id afterwards, and by I2 nobody ever stores the old one again. And the first load has
//! acquire order, so the number is not older than the entry.

use super::sync::{AtomicU64, AtomicUsize, Ordering, RwLock};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// The number of a transaction that has not committed.
pub(crate) const ACTIVE: u64 = u64::MAX;
/// Marks a free entry: no transaction has this id.
const FREE: u64 = 0;

#[derive(Debug)]
struct Entry {
    id: AtomicU64,
    seq: AtomicU64,
}

/// The map.
#[derive(Debug)]
pub(crate) struct SeqMap {
    ring: Box<[Entry]>,
    beside: RwLock<HashMap<u64, u64, FixedState>>,
    /// Entries in `beside`.
    n_beside: AtomicUsize,
}

impl SeqMap {
    /// An empty map whose ring has this many entries, a power of two.
    pub(crate) fn new(entries: usize) -> Self {
        assert!(entries.is_power_of_two(), "{entries} entries");
        let free = || Entry { id: AtomicU64::new(FREE), seq: AtomicU64::new(ACTIVE) };
        Self {
            ring: std::iter::repeat_with(free).take(entries).collect(),
            beside: RwLock::new(HashMap::with_hasher(FixedState::default())),
            n_beside: AtomicUsize::new(0),
        }
    }

    #[inline]
    fn entry(&self, id: u64) -> &Entry {
        &self.ring[id as usize & (self.ring.len() - 1)]
    }

    /// Enters a new id, active.
    pub(crate) fn insert(&self, id: u64) {
        debug_assert_ne!(id, FREE);
        let entry = self.entry(id);
        // Acquire: what the thread that freed the entry did comes before.
        if entry.id.load(Ordering::Acquire) == FREE {
            entry.seq.store(ACTIVE, Ordering::Release);
            entry.id.store(id, Ordering::Release);
        } else {
            let mut beside = self.beside.write();
            beside.insert(id, ACTIVE);
            self.n_beside.store(beside.len(), Ordering::Release);
        }
    }

    /// Gives an id its number.
    pub(crate) fn commit(&self, id: u64, seq: u64) {
        let entry = self.entry(id);
        if entry.id.load(Ordering::Relaxed) == id {
            entry.seq.store(seq, Ordering::Release);
        } else {
            let known = self.beside.write().insert(id, seq);
            debug_assert_eq!(known, Some(ACTIVE), "transaction {id} commits without an entry, or twice");
        }
    }

    /// Removes an id.
    pub(crate) fn forget(&self, id: u64) {
        let entry = self.entry(id);
        if entry.id.load(Ordering::Relaxed) == id {
            entry.id.store(FREE, Ordering::Release);
        } else {
            let mut beside = self.beside.write();
            beside.remove(&id);
            self.n_beside.store(beside.len(), Ordering::Release);
        }
    }

    /// The number of an id, [`ACTIVE`] if it has not committed; `None` if it has been forgotten or was never entered.
    #[inline]
    pub(crate) fn get(&self, id: u64) -> Option<u64> {
        let entry = self.entry(id);
        if entry.id.load(Ordering::Acquire) == id {
            // Acquire: the load of the id below is not done before.
            let seq = entry.seq.load(Ordering::Acquire);
            return (entry.id.load(Ordering::Relaxed) == id).then_some(seq);
        }
        // Who asks for an id has met it in a page, so its entry came before: the count is not 0 if it is beside.
        if self.n_beside.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.beside.read().get(&id).copied()
    }

    /// Entries that found no place in the ring.
    pub(crate) fn beside(&self) -> usize {
        self.n_beside.load(Ordering::Relaxed)
    }
}
