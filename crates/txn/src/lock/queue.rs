//! The queue of a record: its locks and requests in the order in which they were made.

use super::page_locks::{Granted, Owner, PageLocks, Request, same};
use crate::claim::modes::{Claim, must_wait};
use crate::trx::TrxRef;
use vaquita_base::HeapNo;

/// A structure: granted, or a request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Struct<'l> {
    Granted(&'l Granted),
    Request(&'l Request),
}

impl<'l> Struct<'l> {
    pub(super) fn made(self) -> u64 {
        match self {
            Struct::Granted(lock) => lock.made,
            Struct::Request(request) => request.made,
        }
    }

    pub(super) fn trx(self) -> &'l TrxRef {
        match self {
            Struct::Granted(lock) => &lock.trx,
            Struct::Request(request) => &request.trx,
        }
    }

    pub(super) fn claim(self) -> Claim {
        match self {
            Struct::Granted(lock) => lock.claim,
            Struct::Request(request) => request.claim,
        }
    }

    pub(super) fn owner(self) -> Owner {
        match self {
            Struct::Granted(lock) => lock.owner,
            Struct::Request(request) => request.owner,
        }
    }
}

impl PageLocks {
    /// The locks and requests of a record, in the order in which they were made.
    pub(super) fn queue(&self, heap: HeapNo) -> Vec<Struct<'_>> {
        let granted = self.granted.iter().filter(|l| l.heaps.contains(heap)).map(Struct::Granted);
        let waiting = self.waiting.iter().filter(|r| r.heap == heap).map(Struct::Request);
        let mut all: Vec<_> = granted.chain(waiting).collect();
        all.sort_by_key(|s| s.made());
        all
    }

    /// What the request at `at` waits for, in the order in which it was made.
    pub(super) fn in_the_way(&self, at: usize) -> Vec<Struct<'_>> {
        let request = &self.waiting[at];
        let mut before = self.queue(request.heap);
        before.retain(|s| {
            s.made() < request.made
                && !same(s.trx(), &request.trx)
                && must_wait(request.claim, s.claim(), request.heap)
        });
        before
    }
}
