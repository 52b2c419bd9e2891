//! What meta commands know of an item that rows of a table do not: whether it is stale, and whether somebody is making it
//! anew.
//!
//! A mark belongs to an item as it is: key and number. A change gives the item another number, and the mark is void. So
//! marks work only where items have numbers. There are at most [`MARKS_MAX`]; the oldest go first.

use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many there are at most.
pub(crate) const MARKS_MAX: usize = 1 << 16;
const SHARDS: usize = 16;

/// A mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mark {
    /// The number the item has.
    pub(crate) cas: u64,
    /// Its value is out of date.
    pub(crate) stale: bool,
    /// A client was told to make it anew.
    pub(crate) won: bool,
}

#[derive(Debug, Default)]
struct Shard {
    marks: HashMap<Box<[u8]>, Mark, foldhash::fast::FixedState>,
    order: VecDeque<Box<[u8]>>,
}

/// Every mark.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    len: AtomicUsize,
    shards: [Mutex<Shard>; SHARDS],
}

/// What a client that fetches an item is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Verdict {
    pub(crate) stale: bool,
    /// It is the one to make the item anew.
    pub(crate) wins: bool,
    /// Another one is.
    pub(crate) taken: bool,
}

impl Marks {
    /// Whether there are none: asked on every `mg`.
    pub(crate) fn is_empty(&self) -> bool {
        self.len.load(Ordering::Relaxed) == 0
    }

    /// Marks an item. Without a number there is nothing to tell it by.
    pub(crate) fn set(&self, key: &[u8], mark: Mark) {
        if mark.cas == 0 {
            return;
        }
        let mut shard = self.shard(key).lock();
        if let Some(old) = shard.marks.get_mut(key) {
            *old = mark;
            return;
        }
        if shard.order.len() >= MARKS_MAX / SHARDS
            && let Some(oldest) = shard.order.pop_front()
        {
            shard.marks.remove(&oldest);
            self.len.fetch_sub(1, Ordering::Relaxed);
        }
        shard.order.push_back(key.into());
        shard.marks.insert(key.into(), mark);
        self.len.fetch_add(1, Ordering::Relaxed);
    }

    /// What is told to who fetches an item with this number; `due` says that it is to be made anew in any case.
    pub(crate) fn fetch(&self, key: &[u8], cas: u64, due: bool) -> Verdict {
        if cas == 0 || self.is_empty() && !due {
            return Verdict::default();
        }
        let mut shard = self.shard(key).lock();
        let mark = shard.marks.get_mut(key).filter(|mark| mark.cas == cas);
        let known = mark.as_deref().copied().unwrap_or_default();
        let wins = !known.won && (known.stale || due);
        if wins {
            match mark {
                Some(mark) => mark.won = true,
                None => {
                    drop(shard);
                    self.set(key, Mark { cas, stale: false, won: true });
                }
            }
        }
        Verdict { stale: known.stale, wins, taken: known.won }
    }

    fn shard(&self, key: &[u8]) -> &Mutex<Shard> {
        let hash = foldhash::fast::FixedState::with_seed(1).hash_one(key);
        &self.shards[hash as usize % SHARDS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_wins_until_the_item_changes() {
        let marks = Marks::default();
        assert_eq!(marks.fetch(b"a", 1, false), Verdict::default());
        assert_eq!(marks.fetch(b"a", 1, true), Verdict { stale: false, wins: true, taken: false });
        assert_eq!(marks.fetch(b"a", 1, true), Verdict { stale: false, wins: false, taken: true });
        assert_eq!(marks.fetch(b"a", 2, false), Verdict::default());
        marks.set(b"a", Mark { cas: 3, stale: true, won: false });
        assert_eq!(marks.fetch(b"a", 3, false), Verdict { stale: true, wins: true, taken: false });
        assert_eq!(marks.fetch(b"a", 3, false), Verdict { stale: true, wins: false, taken: true });
    }

    #[test]
    fn marks_are_bounded_and_the_oldest_go() {
        let marks = Marks::default();
        for number in 0..3 * MARKS_MAX as u64 {
            marks.set(&number.to_string().into_bytes(), Mark { cas: 1, stale: true, won: false });
        }
        assert!(marks.len.load(Ordering::Relaxed) <= MARKS_MAX);
        assert!(!marks.fetch(b"0", 1, false).stale);
        assert!(marks.fetch((3 * MARKS_MAX as u64 - 1).to_string().as_bytes(), 1, false).stale);
    }
}
