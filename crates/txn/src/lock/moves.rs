//! Locks that follow their records, and gaps that are split and joined.
//!
//! Three things happen to the locks of a place (a record, or the supremum): they are *moved* with all requests to where
//! the record went; they are *inherited* as gap locks by the place whose gap now covers theirs; they are *cleared*, and
//! who waited is sent back to look where the record is now.
//!
//! Requests are inherited as granted gap locks, too: who waited for a next-key lock finds its gap locked when it
//! comes back, wherever its boundary went.

use super::page_locks::{Granted, Owner, PageLocks, Request};
use super::{LockMode, Place, RecordLockKind};
use crate::claim::modes::Claim;
use crate::trx::TrxRef;
use vaquita_base::{HeapNo, PageId};
use vaquita_btree::observer::{INFIMUM, Moved, SUPREMUM};

/// Which locks are inherited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inherit {
    /// Those on the gap: it was divided.
    Gap,
    /// Those on the record as well: it disappears, and its place becomes part of a gap. Transactions with relaxed gaps
    /// pass on S locks only, which guard a check for duplicates.
    All,
}

/// A gap lock to be.
pub(super) type Heritage = Vec<(TrxRef, LockMode, Owner)>;

/// Where moved records are found again: sorted by the heap number before.
#[derive(Debug)]
pub(super) struct Relocation(Vec<(HeapNo, HeapNo)>);

impl Relocation {
    pub(super) fn new(moved: Moved<'_>) -> Self {
        let mut pairs = moved.to_vec();
        pairs.sort_unstable();
        Self(pairs)
    }

    pub(super) fn with(mut self, from: HeapNo, to: HeapNo) -> Self {
        self.0.push((from, to));
        self.0.sort_unstable();
        self
    }

    pub(super) fn one(from: HeapNo, to: HeapNo) -> Self {
        Self(vec![(from, to)])
    }

    fn of(&self, heap: HeapNo) -> Option<HeapNo> {
        self.0.binary_search_by_key(&heap, |&(old, _)| old).ok().map(|at| self.0[at].1)
    }
}

impl PageLocks {
    /// The gap locks that the locks and requests of a record leave behind.
    pub(super) fn heritage(&self, heap: HeapNo, which: Inherit) -> Heritage {
        let passes_on = |trx: &TrxRef, claim: Claim| match which {
            Inherit::Gap => claim.covers_gap(),
            Inherit::All => {
                !claim.is_insert_intention() && (claim.mode == LockMode::Shared || !trx.locks.relaxed_gaps())
            }
        };
        let queue = self.queue(heap).into_iter();
        queue
            .filter(|lock| passes_on(lock.trx(), lock.claim()))
            .map(|lock| (lock.trx().clone(), lock.claim().mode, lock.owner()))
            .collect()
    }

    /// Adds inherited gap locks to a record, also if their owners have stronger ones there: as in InnoDB they are structures
    /// of their own, and weigh when a victim is chosen.
    pub(super) fn bequeath(&mut self, page: PageId, heap: HeapNo, heritage: Heritage) {
        for (trx, mode, owner) in heritage {
            self.grant(page, &trx, Claim::on(mode, RecordLockKind::Gap, heap), owner, heap);
        }
    }

    /// Drops all locks on a record and sends back who waits for it. As in InnoDB the request's structure stays, with no
    /// record in it, until its transaction ends or locks another record of the page in the same way.
    pub(super) fn wipe(&mut self, page: PageId, heap: HeapNo) {
        for at in 0..self.granted.len() {
            self.clear(at, heap);
        }
        for Request { trx, claim, owner, .. } in self.send_back(heap) {
            trx.locks.note_page(page);
            self.create(&trx, claim, owner);
        }
    }

    /// Takes out everything on the records that move, in order.
    fn lift(&mut self, moved: &Relocation) -> (Vec<(usize, HeapNo)>, Vec<Request>) {
        let mut bits = Vec::new();
        for at in 0..self.granted.len() {
            let heaps: Vec<_> = self.granted[at].heaps.iter().filter(|&h| moved.of(h).is_some()).collect();
            for heap in heaps {
                self.clear(at, heap);
                bits.push((at, heap));
            }
        }
        let (moving, staying) =
            std::mem::take(&mut self.waiting).into_iter().partition(|r| moved.of(r.heap).is_some());
        self.waiting = staying;
        (bits, moving)
    }

    /// Queues a request that was lifted, at its place in the order.
    fn put_down(&mut self, page: PageId, moved: &Relocation, mut request: Request) {
        request.heap = moved.of(request.heap).expect("only what moves was lifted");
        request.trx.locks.slot.relocate(Place::Record(page, request.heap));
        request.trx.locks.add_left_over();
        let at = self.waiting.partition_point(|r| r.made < request.made);
        self.waiting.insert(at, request);
    }

    /// Moves locks and requests of records to other places of the same page.
    pub(super) fn relocate(&mut self, page: PageId, moved: &Relocation) {
        let (bits, requests) = self.lift(moved);
        for (at, heap) in bits {
            self.set(at, moved.of(heap).expect("only what moves was lifted"));
        }
        requests.into_iter().for_each(|request| self.put_down(page, moved, request));
    }

    /// Moves locks and requests of records to another page, behind those that are there, in the order that they had.
    pub(super) fn transfer(&mut self, to_page: PageId, to: &mut PageLocks, moved: &Relocation) {
        let (bits, requests) = self.lift(moved);
        let mut requests = requests.into_iter().peekable();
        let put_down = |to: &mut PageLocks, request: Request| {
            let made = to.next_made();
            to.put_down(to_page, moved, Request { made, ..request });
        };
        for (at, heap) in bits {
            let Granted { trx, claim, owner, made, .. } = &self.granted[at];
            while let Some(request) = requests.next_if(|r| r.made < *made) {
                put_down(to, request);
            }
            let heap = moved.of(heap).expect("only what moves was lifted");
            to.grant(to_page, trx, *claim, *owner, heap);
        }
        requests.for_each(|request| put_down(to, request));
        self.remove_if(|lock| lock.heaps.is_empty());
    }

    /// The page has no records any more: drops everything but what was set aside.
    pub(super) fn abandon(&mut self) {
        for at in 0..self.granted.len() {
            let heaps: Vec<_> = self.granted[at].heaps.iter().filter(|&h| h != INFIMUM).collect();
            heaps.into_iter().for_each(|heap| {
                self.clear(at, heap);
            });
        }
        self.remove_if(|lock| lock.heaps.is_empty());
        while let Some(at) = self.waiting.iter().position(|r| r.heap != INFIMUM) {
            self.end_request(at, crate::claim::trx_locks::Outcome::SentBack);
        }
    }
}

/// The records of `left` from some point on are on `right` now, which was made for them.
pub(super) fn split_right(
    pages: (PageId, PageId),
    left: &mut PageLocks,
    right: &mut PageLocks,
    moved: Moved<'_>,
) {
    left.transfer(pages.1, right, &Relocation::new(moved).with(SUPREMUM, SUPREMUM));
    let first = moved.first().map_or(SUPREMUM, |&(_, new)| new);
    left.bequeath(pages.0, SUPREMUM, right.heritage(first, Inherit::Gap));
}

/// The records of `right` are behind those of `left` now.
pub(super) fn merge(pages: (PageId, PageId), left: &mut PageLocks, right: &mut PageLocks, moved: Moved<'_>) {
    if let Some(&(_, first)) = moved.first() {
        right.transfer(pages.0, left, &Relocation::new(moved));
        left.bequeath(pages.0, first, left.heritage(SUPREMUM, Inherit::Gap));
        left.wipe(pages.0, SUPREMUM);
    }
    right.transfer(pages.0, left, &Relocation::one(SUPREMUM, SUPREMUM));
    right.abandon();
}
