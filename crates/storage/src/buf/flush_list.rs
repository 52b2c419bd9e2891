//! Flush list: dirty pages ordered by the LSN of their first unflushed change.
//!
//! Decides how far a checkpoint may advance. It does not choose victims (see `lru`) and does no I/O.
//!
//! # Invariants
//! - I1: a frame is on the list exactly when its `oldest_modification` is set, to an LSN. A page whose changes are not logged
//!   has [`UNLOGGED`] there when it is dirty: no checkpoint waits for it, so it is on no list. It is written when its frame is
//!   wanted.
//! - I2: `oldest_modification` does not change while the frame stays on the list.
//! - I3: the tail has the smallest LSN. A checkpoint at or below it, and at or below every in-flight LSN, is safe
//!   for this instance.
//!
//! # Latching
//! The mutex around the list is a leaf: taken under a page's latch, and nothing is taken under it.
//!
//! # Crash
//! Memory only. Recovery applies redo page by page, not in LSN order, so it inserts sorted; mini-transactions
//! insert nearly sorted, because they append to the log in parallel. Sorted insertion walks from the head; while
//! recovery runs, an ordered index finds the place instead (InnoDB's fix of version 1.0.7, after which recovery of a
//! million dirty pages took minutes instead of hours).

use super::frame::Frame;
use super::links::Links;
use std::collections::BTreeSet;
use std::ops::Range;
use vaquita_base::Lsn;

const NIL: u32 = u32::MAX;

/// Stands for the LSN of the first change of a page whose changes are not logged.
pub(crate) const UNLOGGED: Lsn = Lsn(u64::MAX);

#[derive(Debug, Clone, Copy)]
struct Link {
    prev: u32,
    next: u32,
}

/// Head = newest. `next` leads to the tail, the oldest.
#[derive(Debug)]
pub(crate) struct FlushList {
    links: Links<Link>,
    head: u32,
    tail: u32,
    len: usize,
    /// First modifications of the page copies that are being written.
    in_flight: Vec<Lsn>,
    /// The listed frames by LSN, while insertions come in no order.
    index: Option<BTreeSet<(Lsn, u32)>>,
}

impl FlushList {
    pub(super) fn new(frames: Range<u32>) -> Self {
        Self {
            links: Links::new(frames, Link { prev: NIL, next: NIL }),
            head: NIL,
            tail: NIL,
            len: 0,
            in_flight: Vec::new(),
            index: None,
        }
    }

    /// Keeps an ordered index beside the list, or drops it.
    pub(super) fn set_index(&mut self, frames: &[Frame], on: bool) {
        self.index = on.then(|| {
            self.oldest_frames(frames, usize::MAX, Lsn::MAX)
                .into_iter()
                .map(|f| (Lsn(frames[f as usize].oldest_modification()), f))
                .collect()
        });
    }

    /// The frames it may hold.
    pub(super) fn frames(&self) -> Range<u32> {
        self.links.frames()
    }

    /// Dirty pages, not counting copies in flight.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn contains(&self, frame: u32) -> bool {
        self.head == frame || self.links[frame].prev != NIL
    }

    /// The smallest LSN of a change that is not in a file.
    pub(crate) fn oldest(&self, frames: &[Frame]) -> Option<Lsn> {
        let listed = (self.tail != NIL).then(|| Lsn(frames[self.tail as usize].oldest_modification()));
        listed.into_iter().chain(self.in_flight.iter().copied()).min()
    }

    /// Adds a clean frame whose first change is at `lsn`, in order.
    pub(crate) fn insert(&mut self, frames: &[Frame], frame: u32, lsn: Lsn) {
        assert!(lsn.0 != 0 && lsn != UNLOGGED, "LSN 0 means clean, the greatest one a page without log");
        debug_assert!(!self.contains(frame), "I1: frame {frame} is on the flush list already");
        debug_assert_eq!(
            frames[frame as usize].oldest_modification(),
            0,
            "I2: frame {frame} is dirty already"
        );
        let mut newer = NIL;
        let mut older = self.head;
        if let Some(index) = &mut self.index {
            newer = index.range((lsn, NIL)..).next().map_or(NIL, |&(_, f)| f);
            if newer != NIL {
                older = self.links[newer].next;
            }
            index.insert((lsn, frame));
        }
        // With the index this stops at once; frames of equal LSN may stand in any order.
        while older != NIL && frames[older as usize].oldest_modification() > lsn.0 {
            newer = older;
            older = self.links[older].next;
        }
        debug_assert!(
            newer == NIL || frames[newer as usize].oldest_modification() >= lsn.0,
            "I3: frame {frame} with {lsn} behind {}",
            frames[newer as usize].oldest_modification()
        );
        self.link_between(frame, newer, older);
        frames[frame as usize].set_oldest_modification(lsn.0);
    }

    fn link_between(&mut self, frame: u32, newer: u32, older: u32) {
        self.links[frame] = Link { prev: newer, next: older };
        match newer {
            NIL => self.head = frame,
            n => self.links[n].next = frame,
        }
        match older {
            NIL => self.tail = frame,
            o => self.links[o].prev = frame,
        }
        self.len += 1;
    }

    /// Takes a frame off the list; returns its LSN, or `None` if it was clean.
    pub(crate) fn remove(&mut self, frames: &[Frame], frame: u32) -> Option<Lsn> {
        let lsn = frames[frame as usize].oldest_modification();
        if lsn == 0 {
            return None;
        }
        if lsn == UNLOGGED.0 {
            frames[frame as usize].set_oldest_modification(0);
            return Some(UNLOGGED);
        }
        if let Some(index) = &mut self.index {
            index.remove(&(Lsn(lsn), frame));
        }
        assert!(self.contains(frame), "I1: frame {frame} is dirty since {lsn} and not on the flush list");
        let Link { prev, next } = self.links[frame];
        match prev {
            NIL => self.head = next,
            p => self.links[p].next = next,
        }
        match next {
            NIL => self.tail = prev,
            n => self.links[n].prev = prev,
        }
        self.links[frame] = Link { prev: NIL, next: NIL };
        self.len -= 1;
        frames[frame as usize].set_oldest_modification(0);
        Some(Lsn(lsn))
    }

    /// Takes a frame off the list because a copy of it is going to be written.
    pub(crate) fn start_flush(&mut self, frames: &[Frame], frame: u32) -> Option<Lsn> {
        let lsn = self.remove(frames, frame)?;
        if lsn != UNLOGGED {
            self.in_flight.push(lsn);
        }
        Some(lsn)
    }

    /// Notes that the copy whose first change was at `lsn` is durable.
    pub(crate) fn end_flush(&mut self, lsn: Lsn) {
        if lsn == UNLOGGED {
            return;
        }
        let i = self.in_flight.iter().position(|&l| l == lsn).expect("the copy is in flight");
        self.in_flight.swap_remove(i);
    }

    /// The `n` oldest frames whose first change is below `limit`, oldest first.
    pub(crate) fn oldest_frames(&self, frames: &[Frame], n: usize, limit: Lsn) -> Vec<u32> {
        let mut out = Vec::new();
        let mut at = self.tail;
        while at != NIL && out.len() < n && frames[at as usize].oldest_modification() < limit.0 {
            out.push(at);
            at = self.links[at].prev;
        }
        out
    }

    pub(super) fn validate(&self, frames: &[Frame]) {
        let (mut len, mut at, mut before, mut newest) = (0, self.head, NIL, u64::MAX);
        while at != NIL {
            let lsn = frames[at as usize].oldest_modification();
            assert!(lsn != 0 && lsn <= newest, "flush list order at frame {at}");
            assert_eq!(self.links[at].prev, before, "flush list links of frame {at}");
            (newest, before) = (lsn, at);
            at = self.links[at].next;
            len += 1;
        }
        assert_eq!((len, before), (self.len, self.tail), "flush list length and tail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsorted_insertions_come_out_sorted() {
        let frames: Vec<Frame> = (0..50).map(|_| Frame::new(0)).collect();
        let mut list = FlushList::new(0..50);
        let mut rng = vaquita_base::Rng::new(5);
        for f in 0..20 {
            list.insert(&frames, f, Lsn(1 + rng.below(1_000)));
        }
        list.set_index(&frames, true);
        for f in 20..50 {
            list.insert(&frames, f, Lsn(1 + rng.below(100)));
            list.validate(&frames);
        }
        list.remove(&frames, 30);
        list.insert(&frames, 30, Lsn(50));
        list.set_index(&frames, false);
        list.validate(&frames);
        let order = list.oldest_frames(&frames, 100, Lsn::MAX);
        assert_eq!(order.len(), 50);
        let lsn = |f: u32| frames[f as usize].oldest_modification();
        assert!(order.windows(2).all(|w| lsn(w[0]) <= lsn(w[1])));
    }

    #[test]
    fn a_copy_in_flight_holds_the_checkpoint_back() {
        let frames: Vec<Frame> = (0..3).map(|_| Frame::new(0)).collect();
        let mut list = FlushList::new(0..3);
        list.insert(&frames, 0, Lsn(10));
        list.insert(&frames, 1, Lsn(20));
        assert_eq!(list.start_flush(&frames, 0), Some(Lsn(10)));
        assert_eq!((list.len(), list.oldest(&frames)), (1, Some(Lsn(10))));
        // Changed again while the copy is being written.
        list.insert(&frames, 0, Lsn(30));
        list.end_flush(Lsn(10));
        assert_eq!(list.oldest(&frames), Some(Lsn(20)));
        assert_eq!(list.remove(&frames, 1), Some(Lsn(20)));
        assert_eq!(list.oldest(&frames), Some(Lsn(30)));
        list.validate(&frames);
    }
}
