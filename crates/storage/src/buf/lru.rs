//! The LRU list with a midpoint: pages come in at the old end's head and move to the young end when used again.
//!
//! As in the InnoDB manual: `old_blocks_pct` percent of the list are old; a page read enters at the head of the
//! old part, so that a scan that uses each page once never reaches the young part.
//!
//! # Invariants
//! - I1: `is_old` of a listed frame tells whether it lies behind the midpoint.
//! - I2: once the list has [`OLD_MIN`] pages, the old part's length differs from its target by at most
//!   [`OLD_TOLERANCE`].

use super::frame::Frame;
use super::links::Links;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Below this length there is no midpoint: everything is young.
const OLD_MIN: usize = 32;
/// How far the old part may be from its target before the midpoint moves.
const OLD_TOLERANCE: usize = 8;
const NIL: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Link {
    prev: u32,
    next: u32,
    listed: bool,
}

/// Head = youngest. `prev` leads to the head, `next` to the tail.
#[derive(Debug)]
pub(crate) struct LruList {
    links: Links<Link>,
    head: u32,
    tail: u32,
    len: usize,
    /// First frame of the old part, NIL without a midpoint.
    midpoint: u32,
    old_len: usize,
    old_pct: usize,
}

impl LruList {
    pub(super) fn new(frames: Range<u32>, old_pct: u32) -> Self {
        Self {
            links: Links::new(frames, Link { prev: NIL, next: NIL, listed: false }),
            head: NIL,
            tail: NIL,
            len: 0,
            midpoint: NIL,
            old_len: 0,
            old_pct: old_pct as usize,
        }
    }

    /// Another percentage of old pages, from now on.
    pub(super) fn set_old_pct(&mut self, frames: &[Frame], pct: u32) {
        self.old_pct = pct as usize;
        self.balance(frames);
    }

    /// The frames it may hold.
    pub(super) fn frames(&self) -> Range<u32> {
        self.links.frames()
    }

    pub(super) fn contains(&self, frame: u32) -> bool {
        self.links[frame].listed
    }

    pub(super) fn tail(&self) -> Option<u32> {
        (self.tail != NIL).then_some(self.tail)
    }

    pub(super) fn towards_head(&self, frame: u32) -> Option<u32> {
        let prev = self.links[frame].prev;
        (prev != NIL).then_some(prev)
    }

    /// Frames from the young end to the old end.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let mut at = self.head;
        std::iter::from_fn(move || {
            let frame = (at != NIL).then_some(at)?;
            at = self.links[frame].next;
            Some(frame)
        })
    }

    fn link_before(&mut self, frame: u32, next: u32) {
        let prev = if next == NIL { self.tail } else { self.links[next].prev };
        self.links[frame] = Link { prev, next, listed: true };
        match prev {
            NIL => self.head = frame,
            p => self.links[p].next = frame,
        }
        match next {
            NIL => self.tail = frame,
            n => self.links[n].prev = frame,
        }
        self.len += 1;
    }

    fn unlink(&mut self, frame: u32) {
        let Link { prev, next, listed } = self.links[frame];
        assert!(listed, "frame {frame} is not on the LRU list");
        match prev {
            NIL => self.head = next,
            p => self.links[p].next = next,
        }
        match next {
            NIL => self.tail = prev,
            n => self.links[n].prev = prev,
        }
        self.links[frame].listed = false;
        self.len -= 1;
    }

    /// Adds a frame at the head of the old part.
    pub(super) fn insert_midpoint(&mut self, frames: &[Frame], frame: u32) {
        debug_assert!(!self.contains(frame), "frame {frame} is on the LRU list already");
        if self.midpoint == NIL {
            self.link_before(frame, self.head);
            frames[frame as usize].is_old.store(false, Ordering::Relaxed);
        } else {
            self.link_before(frame, self.midpoint);
            frames[frame as usize].is_old.store(true, Ordering::Relaxed);
            self.midpoint = frame;
            self.old_len += 1;
        }
        self.balance(frames);
    }

    pub(super) fn make_young(&mut self, frames: &[Frame], frame: u32) {
        self.take_out(frames, frame);
        self.link_before(frame, self.head);
        self.balance(frames);
    }

    pub(super) fn remove(&mut self, frames: &[Frame], frame: u32) {
        self.take_out(frames, frame);
        self.balance(frames);
    }

    fn take_out(&mut self, frames: &[Frame], frame: u32) {
        if self.midpoint == frame {
            self.midpoint = self.links[frame].next;
        }
        if frames[frame as usize].is_old.swap(false, Ordering::Relaxed) {
            self.old_len -= 1;
        }
        self.unlink(frame);
    }

    /// Restores I2.
    fn balance(&mut self, frames: &[Frame]) {
        let target = if self.len < OLD_MIN { 0 } else { self.len * self.old_pct / 100 };
        if target == 0 {
            while self.midpoint != NIL {
                self.shrink_old(frames);
            }
            return;
        }
        while self.old_len + OLD_TOLERANCE < target || self.midpoint == NIL {
            let grown = if self.midpoint == NIL { self.tail } else { self.links[self.midpoint].prev };
            self.midpoint = grown;
            frames[grown as usize].is_old.store(true, Ordering::Relaxed);
            self.old_len += 1;
        }
        while self.old_len > target + OLD_TOLERANCE {
            self.shrink_old(frames);
        }
    }

    fn shrink_old(&mut self, frames: &[Frame]) {
        let first = self.midpoint;
        frames[first as usize].is_old.store(false, Ordering::Relaxed);
        self.midpoint = self.links[first].next;
        self.old_len -= 1;
    }

    pub(super) fn validate(&self, frames: &[Frame]) {
        let (mut len, mut old, mut behind, mut before) = (0, 0, false, NIL);
        for frame in self.iter() {
            assert_eq!(self.links[frame].prev, before, "LRU links of frame {frame}");
            behind |= frame == self.midpoint;
            let is_old = frames[frame as usize].is_old.load(Ordering::Relaxed);
            assert_eq!(is_old, behind, "frame {frame} on its side of the midpoint");
            old += usize::from(is_old);
            len += 1;
            before = frame;
        }
        assert_eq!((len, old, before), (self.len, self.old_len, self.tail), "LRU lengths and tail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(n: usize) -> Vec<Frame> {
        (0..n).map(|_| Frame::new(0)).collect()
    }

    #[test]
    fn a_scan_does_not_push_out_the_young() {
        let frames = frames(100);
        let mut lru = LruList::new(0..100, 37);
        for f in 0..100 {
            lru.insert_midpoint(&frames, f);
        }
        lru.validate(&frames);
        for f in 0..50 {
            lru.make_young(&frames, f);
        }
        // A scan: evict the tail, read another page into the frame, fifty times.
        for _ in 0..50 {
            let victim = lru.tail().unwrap();
            assert!(victim >= 50, "a page used twice was evicted by a scan");
            lru.remove(&frames, victim);
            lru.insert_midpoint(&frames, victim);
            lru.validate(&frames);
        }
    }

    #[test]
    fn random_operations_keep_the_list_whole() {
        let frames = frames(64);
        let mut lru = LruList::new(0..64, 37);
        let mut rng = vaquita_base::Rng::new(3);
        for _ in 0..5_000 {
            let f = rng.below(64) as u32;
            match (lru.contains(f), rng.one_in(2)) {
                (false, _) => lru.insert_midpoint(&frames, f),
                (true, true) => lru.make_young(&frames, f),
                (true, false) => lru.remove(&frames, f),
            }
            lru.validate(&frames);
            if lru.len >= OLD_MIN {
                assert!(lru.old_len.abs_diff(lru.len * 37 / 100) <= OLD_TOLERANCE);
            }
        }
    }
}
