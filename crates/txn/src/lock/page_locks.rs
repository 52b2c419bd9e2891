//! The record locks of one page: those granted, and the requests that wait.
//!
//! A lock structure is one transaction's locks of one mode and kind on the page, a bit for each record. A request that has
//! to wait is a structure of its own, and stays one when it is granted.
//!
//! Structures stand in the order in which they were made, requests among them. A request waits for what stands before it
//! and for nothing else: gap locks that others get while somebody waits to insert into the gap are none of this wait's
//! business. Who was granted an insert intention asks again, meets them then, and waits anew.
//!
//! # Invariants
//! - P1: of two transactions' granted locks on a record neither would have to wait for the other, insert intentions
//!   left aside (nobody waits for those, and their owners ask again).
//! - P2: a request waits only while a lock or a request on its record, made before it, makes it wait.
//! - P3: a transaction has at most one request.
//! - P4: every transaction with a granted structure here has the page in its list.
//! - P5: `granted` and `waiting` are in the order of `made`, of which each number is given once.

use super::LockMode;
use super::heap_set::HeapSet;
use crate::claim::Place;
use crate::claim::modes::{Claim, must_wait};
use crate::claim::trx_locks::Outcome;
use crate::trx::TrxRef;
use std::sync::Arc;
use vaquita_base::{HeapNo, IndexId, PageId, TableId};

/// Whose tree a lock belongs to, for reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Owner {
    pub(super) table: TableId,
    pub(super) index: IndexId,
}

/// Granted locks of one transaction, mode and kind.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) trx: TrxRef,
    pub(super) claim: Claim,
    pub(super) owner: Owner,
    pub(super) heaps: HeapSet,
    /// Its place in the order of the page's structures.
    pub(super) made: u64,
}

/// A request in the queue.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) trx: TrxRef,
    pub(super) claim: Claim,
    pub(super) owner: Owner,
    pub(super) heap: HeapNo,
    /// Its place in the order of the page's structures.
    pub(super) made: u64,
}

/// The locks of one page.
#[derive(Debug, Default)]
pub(super) struct PageLocks {
    /// In order of creation.
    pub(super) granted: Vec<Granted>,
    /// In order of arrival.
    pub(super) waiting: Vec<Request>,
    /// Locks granted on single records.
    pub(super) n_bits: usize,
    /// Bytes that bitmaps take outside of the structures.
    pub(super) spilled: usize,
    /// Structures ever made.
    made: u64,
}

/// What a request would meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Held already, at least as strong.
    Covered,
    /// Nothing against it; the structure that takes it, if there is one.
    Free(Option<usize>),
    /// Somebody else's lock or request is in the way.
    Blocked,
}

/// What a page's locks take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Size {
    pub(super) structs: usize,
    pub(super) bits: usize,
    pub(super) bytes: usize,
}

#[inline]
pub(super) fn same(a: &TrxRef, b: &TrxRef) -> bool {
    Arc::ptr_eq(a, b)
}

impl PageLocks {
    /// Bytes of a page with one structure.
    pub(super) const BYTES_OF_FIRST: usize = size_of::<(PageId, PageLocks)>() + size_of::<Granted>();

    pub(super) fn is_empty(&self) -> bool {
        self.granted.is_empty() && self.waiting.is_empty()
    }

    pub(super) fn size(&self) -> Size {
        let page = if self.is_empty() { 0 } else { size_of::<(PageId, PageLocks)>() };
        Size {
            structs: self.granted.len() + self.waiting.len(),
            bits: self.n_bits,
            bytes: page
                + self.spilled
                + self.granted.len() * size_of::<Granted>()
                + self.waiting.len() * size_of::<Request>(),
        }
    }

    /// What a request would meet.
    #[inline]
    pub(super) fn ask(&self, trx: &TrxRef, heap: HeapNo, claim: Claim) -> Answer {
        let mut own = None;
        let mut blocked = false;
        for (i, lock) in self.granted.iter().enumerate() {
            if same(&lock.trx, trx) {
                if lock.claim == claim {
                    own = Some(i);
                }
                if lock.claim.covers(claim) && lock.heaps.contains(heap) {
                    return Answer::Covered;
                }
            } else if must_wait(claim, lock.claim, heap) && lock.heaps.contains(heap) {
                blocked = true;
            }
        }
        if blocked || self.is_behind(trx, heap, claim, self.waiting.len()) {
            return Answer::Blocked;
        }
        Answer::Free(own.filter(|_| !self.is_awaited(heap)))
    }

    /// Whether somebody waits for a record. A lock that is granted on it meanwhile is a structure of its own, as in InnoDB,
    /// where structures are the queue.
    fn is_awaited(&self, heap: HeapNo) -> bool {
        self.waiting.iter().any(|r| r.heap == heap)
    }

    /// Whether one of the first `n` requests is to be waited for.
    #[inline]
    fn is_behind(&self, trx: &TrxRef, heap: HeapNo, claim: Claim, n: usize) -> bool {
        self.waiting[..n]
            .iter()
            .any(|r| r.heap == heap && !same(&r.trx, trx) && must_wait(claim, r.claim, heap))
    }

    /// Whether the transaction holds a lock at least that strong.
    pub(super) fn holds(&self, trx: &TrxRef, heap: HeapNo, claim: Claim) -> bool {
        self.granted.iter().any(|l| same(&l.trx, trx) && l.claim.covers(claim) && l.heaps.contains(heap))
    }

    /// Sets a bit in a structure.
    #[inline]
    pub(super) fn set(&mut self, at: usize, heap: HeapNo) -> bool {
        let lock = &mut self.granted[at];
        let spilled = lock.heaps.spilled_bytes();
        let is_new = lock.heaps.insert(heap);
        if is_new {
            self.n_bits += 1;
            self.spilled += lock.heaps.spilled_bytes() - spilled;
            lock.trx.locks.add_records(1);
        }
        is_new
    }

    /// Adds a lock, in the structure that takes it or a new one; whether it is new.
    pub(super) fn grant(
        &mut self,
        page: PageId,
        trx: &TrxRef,
        claim: Claim,
        owner: Owner,
        heap: HeapNo,
    ) -> bool {
        let own = self.granted.iter().position(|l| same(&l.trx, trx) && l.claim == claim);
        let at = own.filter(|_| !self.is_awaited(heap)).unwrap_or_else(|| {
            trx.locks.note_page(page);
            self.create(trx, claim, owner)
        });
        self.set(at, heap)
    }

    /// The next place in the order of structures.
    pub(super) fn next_made(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    /// Makes an empty structure. The page is in the transaction's list.
    pub(super) fn create(&mut self, trx: &TrxRef, claim: Claim, owner: Owner) -> usize {
        let made = self.next_made();
        self.create_at(made, trx, claim, owner)
    }

    /// Makes an empty structure at a place in the order.
    fn create_at(&mut self, made: u64, trx: &TrxRef, claim: Claim, owner: Owner) -> usize {
        trx.locks.add_struct();
        let at = self.granted.partition_point(|l| l.made < made);
        self.granted.insert(at, Granted { trx: trx.clone(), claim, owner, heaps: HeapSet::default(), made });
        at
    }

    /// Queues a request.
    pub(super) fn enqueue(
        &mut self,
        page: PageId,
        trx: &TrxRef,
        claim: Claim,
        owner: Owner,
        heap: HeapNo,
        now_us: u64,
    ) {
        trx.locks.add_struct();
        trx.locks.add_records(1);
        trx.locks.slot.begin(Place::Record(page, heap), now_us);
        let made = self.next_made();
        self.waiting.push(Request { trx: trx.clone(), claim, owner, heap, made });
    }

    /// Takes a request out of the queue, whose transaction is to be told.
    pub(super) fn take_request(&mut self, at: usize) -> Request {
        let request = self.waiting.remove(at);
        request.trx.locks.sub_struct();
        request.trx.locks.sub_records(1);
        request
    }

    /// Takes a request out of the queue and tells its transaction.
    pub(super) fn end_request(&mut self, at: usize, outcome: Outcome) -> Request {
        let request = self.take_request(at);
        request.trx.locks.slot.end(outcome);
        request
    }

    /// Whether the request at `at` still has to wait.
    pub(super) fn is_blocked(&self, at: usize) -> bool {
        let request = &self.waiting[at];
        self.is_held(request) || self.is_behind(&request.trx, request.heap, request.claim, at)
    }

    /// Grants what has no reason to wait any more, in order of arrival; of all records, or of one.
    pub(super) fn settle(&mut self, page: PageId, only: Option<HeapNo>) {
        self.settle_and_tell(page, only, &mut |trx, outcome| trx.locks.slot.end(outcome));
    }

    /// As [`PageLocks::settle`]; `tell` tells a transaction.
    pub(super) fn settle_and_tell(
        &mut self,
        page: PageId,
        only: Option<HeapNo>,
        tell: &mut dyn FnMut(&TrxRef, Outcome),
    ) {
        // What those before ask for, or were granted a moment ago: of a hundred that want the same, all but the first wait for
        // the first, and nothing else is to be looked at.
        let mut ahead: Vec<(HeapNo, Claim)> = Vec::new();
        for request in std::mem::take(&mut self.waiting) {
            let Request { claim, heap, .. } = request;
            if only.is_some_and(|only| heap != only) {
                self.waiting.push(request);
                continue;
            }
            let waits = ahead.iter().any(|&(h, before)| h == heap && must_wait(claim, before, heap))
                || self.is_held(&request);
            if !ahead.contains(&(heap, claim)) {
                ahead.push((heap, claim));
            }
            if waits {
                self.waiting.push(request);
                continue;
            }
            request.trx.locks.sub_struct();
            request.trx.locks.sub_records(1);
            let Request { trx, claim, owner, heap, made } = request;
            // As in InnoDB it stays a structure of its own, and weighs as one when a victim is chosen.
            trx.locks.note_page(page);
            let lock = self.create_at(made, &trx, claim, owner);
            self.set(lock, heap);
            tell(&trx, Outcome::Granted(Place::Record(page, heap)));
        }
    }

    /// Whether a granted lock, made before a request, is in its way.
    fn is_held(&self, Request { trx, claim, heap, made, .. }: &Request) -> bool {
        let by =
            |l: &Granted| must_wait(*claim, l.claim, *heap) && l.heaps.contains(*heap) && !same(&l.trx, trx);
        self.granted.iter().take_while(|l| l.made < *made).any(by)
    }

    /// Lets requests on a record go, to be asked again.
    pub(super) fn send_back(&mut self, heap: HeapNo) -> Vec<Request> {
        let mut sent = Vec::new();
        while let Some(at) = self.waiting.iter().position(|r| r.heap == heap) {
            sent.push(self.end_request(at, Outcome::SentBack));
        }
        sent
    }

    /// Takes a bit out of a structure.
    pub(super) fn clear(&mut self, at: usize, heap: HeapNo) -> bool {
        let was = self.granted[at].heaps.remove(heap);
        if was {
            self.n_bits -= 1;
            self.granted[at].trx.locks.sub_records(1);
        }
        was
    }

    /// Removes structures.
    pub(super) fn remove_if(&mut self, mut gone: impl FnMut(&Granted) -> bool) {
        let (mut bits, mut spilled) = (0, 0);
        self.granted.retain(|lock| {
            if !gone(lock) {
                return true;
            }
            let n = lock.heaps.len();
            lock.trx.locks.sub_records(n);
            lock.trx.locks.sub_struct();
            bits += n;
            spilled += lock.heaps.spilled_bytes();
            false
        });
        self.n_bits -= bits;
        self.spilled -= spilled;
    }

    /// Gives one lock back: the weakest in kind that the mode fits.
    pub(super) fn unlock(&mut self, page: PageId, trx: &TrxRef, heap: HeapNo, mode: LockMode) {
        use super::RecordLockKind::{Gap, NextKey, Record};
        for kind in [Record, NextKey, Gap] {
            let claim = Claim { mode, kind };
            let is_it = |l: &Granted| same(&l.trx, trx) && l.claim == claim && l.heaps.contains(heap);
            let at = self.granted.iter().position(is_it);
            if let Some(at) = at
                && self.clear(at, heap)
            {
                // The structure stays: the next record of the page takes it again.
                self.settle(page, Some(heap));
                return;
            }
        }
    }

    /// Takes the gaps out of a transaction's locks.
    pub(super) fn drop_gaps(&mut self, page: PageId, trx: &TrxRef) {
        use super::RecordLockKind::{NextKey, Record};
        use vaquita_btree::observer::SUPREMUM;
        let mut records = Vec::new();
        for lock in self.granted.iter().filter(|l| same(&l.trx, trx) && l.claim.kind == NextKey) {
            let claim = Claim { kind: Record, ..lock.claim };
            let heaps = lock.heaps.iter().filter(|&h| h != SUPREMUM);
            records.extend(heaps.map(|h| (claim, lock.owner, h)));
        }
        self.remove_if(|l| same(&l.trx, trx) && l.claim.kind != Record);
        for (claim, owner, heap) in records {
            self.grant(page, trx, claim, owner, heap);
        }
        self.settle(page, None);
    }

    /// Checks the invariants.
    ///
    /// # Panics
    /// If one does not hold.
    pub(super) fn validate(&self, page: PageId) {
        for (i, a) in self.granted.iter().enumerate() {
            assert!(a.trx.locks.pages().contains(&page), "P4: {page}");
            for b in self.granted[..i].iter().filter(|b| !same(&a.trx, &b.trx)) {
                let clash = a.heaps.iter().find(|&h| {
                    b.heaps.contains(h)
                        && !a.claim.is_insert_intention()
                        && !b.claim.is_insert_intention()
                        && (must_wait(a.claim, b.claim, h) || must_wait(b.claim, a.claim, h))
                });
                assert!(clash.is_none(), "P1: {page} {clash:?}: {:?} and {:?}", a.claim, b.claim);
            }
        }
        for (at, request) in self.waiting.iter().enumerate() {
            assert!(self.is_blocked(at), "P2: {page} {:?} {}", request.claim, request.heap);
            let place = request.trx.locks.slot.view().map(|wait| wait.place);
            assert_eq!(place, Some(Place::Record(page, request.heap)), "S1");
            assert!(!self.waiting[..at].iter().any(|r| same(&r.trx, &request.trx)), "P3");
        }
        let mut places: Vec<_> = self.granted.iter().map(|l| l.made).collect();
        assert!(places.is_sorted() && self.waiting.is_sorted_by_key(|r| r.made), "P5");
        places.extend(self.waiting.iter().map(|r| r.made));
        places.sort_unstable();
        assert!(places.windows(2).all(|w| w[0] < w[1]) && places.last() <= Some(&self.made), "P5");
        assert_eq!(self.n_bits, self.granted.iter().map(|l| l.heaps.len()).sum::<usize>());
        assert_eq!(self.spilled, self.granted.iter().map(|l| l.heaps.spilled_bytes()).sum::<usize>());
    }
}
