//! The lock manager on transaction objects alone.

mod cycles;
mod matrix;
mod places;
mod queue_model;
mod stress;
mod waits;

use super::{LockMode, LockOutcome, LockSys, RecordId, RecordLockKind, WaitPolicy};
use crate::claim::modes::Claim;
use crate::error::Result;
use crate::options::Options;
use crate::trx::{TrxRef, TrxShared, TrxState};
use crate::wait::PlainWait;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vaquita_base::{HeapNo, IndexId, ManualClock, PageId, PageNo, SpaceId, TableId};

use LockMode::{Exclusive as X, Shared as S};
use RecordLockKind::{Gap, InsertIntention, NextKey, Record};

/// Longer than any test.
const LONG: u64 = 20_000_000;

struct Bed {
    sys: Arc<LockSys>,
    clock: Arc<ManualClock>,
}

impl Bed {
    fn new() -> Self {
        Self::with(Options::default())
    }

    fn with(options: Options) -> Self {
        let clock = Arc::new(ManualClock::new());
        Self { sys: LockSys::new(&options, clock.clone()), clock }
    }

    fn ask(&self, trx: &TrxRef, rec: RecordId, mode: LockMode, kind: RecordLockKind) -> LockOutcome {
        self.sys.ask_record(trx, rec, Claim::on(mode, kind, rec.heap), WaitPolicy::Wait, true).unwrap()
    }

    /// Asks for what must be free.
    fn take(&self, trx: &TrxRef, rec: RecordId, mode: LockMode, kind: RecordLockKind) {
        assert_eq!(self.ask(trx, rec, mode, kind), LockOutcome::Granted(true));
    }

    /// Asks for what must not be free.
    fn queue(&self, trx: &TrxRef, rec: RecordId, mode: LockMode, kind: RecordLockKind) {
        assert_eq!(self.ask(trx, rec, mode, kind), LockOutcome::MustWait);
    }

    fn ask_table(&self, trx: &TrxRef, table: u64, mode: LockMode) -> LockOutcome {
        self.sys.ask_table(trx, TableId(table), mode, WaitPolicy::Wait).unwrap()
    }

    fn break_cycles(&self, trx: &TrxRef) -> bool {
        let mut ended = Vec::new();
        let waits = self.sys.break_cycles(trx, &mut ended);
        ended.iter().for_each(|trx| trx.locks().nudge());
        waits
    }

    fn wait(&self, trx: &TrxRef) -> Result<()> {
        self.sys.wait_for(trx, LONG, &PlainWait).map(drop)
    }

    /// Looks whether a wait has ended well, without waiting.
    fn is_granted(&self, trx: &TrxRef) -> bool {
        trx.locks.slot.is_done() && self.sys.wait_for(trx, 0, &PlainWait).is_ok()
    }

    fn end(&self, trx: &TrxRef) {
        trx.set_state(TrxState::Committed);
        self.sys.release_all(trx);
        trx.set_state(TrxState::Active);
        assert_eq!((trx.locks().record_locks(), trx.locks().lock_structs()), (0, 0));
    }

    fn holds(&self, trx: &TrxRef, rec: RecordId, mode: LockMode, kind: RecordLockKind) -> bool {
        let mut shard = self.sys.pages.lock(rec.page);
        shard.get_mut(rec.page).is_some_and(|l| l.holds(trx, rec.heap, Claim::on(mode, kind, rec.heap)))
    }

    /// No lock, no request, no memory is left.
    fn assert_empty(&self) {
        self.sys.validate();
        let m = self.sys.metrics();
        assert_eq!((m.record_locks, m.lock_structs, m.memory_bytes, m.waiting), (0, 0, 0, 0));
        assert!(!vaquita_btree::Observer::is_interested(&*self.sys));
    }
}

/// An active transaction with an id of its own.
fn trx(n: u64) -> TrxRef {
    let trx = TrxShared::new(n);
    trx.id.store(1_000 + n, Ordering::Relaxed);
    trx.set_state(TrxState::Active);
    Arc::new(trx)
}

fn trxs<const N: usize>() -> [TrxRef; N] {
    std::array::from_fn(|n| trx(n as u64 + 1))
}

fn page(n: u32) -> PageId {
    PageId::new(SpaceId(7), PageNo(n))
}

/// A record of page 3.
fn rec(heap: u16) -> RecordId {
    rec_on(3, heap)
}

fn rec_on(page_no: u32, heap: u16) -> RecordId {
    RecordId { table: TableId(20), index: IndexId(30), page: page(page_no), heap: HeapNo(heap) }
}
