//! Locks of tables and records.
//!
//! Record locks belong to a page and a heap number, so they are sharded by page. A lock request never waits: it is
//! granted, refused, or queued; the caller then gives up its latches and calls [`LockSys::wait`].
//!
//! | part | module |
//! |---|---|
//! | modes, kinds, who excludes whom | `claim::modes` |
//! | the locks of a page and of a table | `page_locks`, `queue`, `table_locks` |
//! | all pages and tables, memory | `shards` |
//! | what follows records and gaps | `moves`, `observer` |
//! | waiting | `claim::slot`, `wait` |
//! | cycles of waits | `deadlock` |
//! | what monitors see | [`report`], [`metrics`] |
//!
//! A record that a transaction wrote is locked by it *implicitly*, by the transaction's id in the record (or the greatest
//! id on the page of a secondary index). Whoever wants to lock such a record makes the lock explicit for its owner first
//! ([`LockSys::make_explicit`]), so inserts cost no lock.
//!
//! # Latching
//! The mutexes of this module are taken in the order of the fields of [`LockSys`]; those in [`TrxLocks`] come last.
//! They may be taken under page latches and take none themselves. See `docs/latching.md`.

mod deadlock;
mod heap_set;
pub mod metrics;
mod moves;
mod observer;
mod page_locks;
mod queue;
pub mod report;
mod shards;
mod table_locks;
#[cfg(test)]
mod tests;
mod wait;

pub use crate::claim::{
    DeadlockMember, DeadlockReport, LockInfo, LockMode, LockTarget, Names, Numbers, RecordLockKind, TrxLocks,
};
pub use metrics::LockMetrics;
pub use report::{LockRow, LockSnapshot, WaitRow};

use crate::claim::Place;
use crate::claim::modes::Claim;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::trx::{Trx, TrxRef, TrxState};
use deadlock::Detector;
use metrics::Counters;
use page_locks::{Answer, Owner, PageLocks};
use parking_lot::Mutex;
use shards::{Pages, Tables};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use table_locks::TableLocks;
use vaquita_base::clock::Clock;
use vaquita_base::{HeapNo, IndexId, PageId, TableId};
use vaquita_btree::Observer;

/// What is done if a lock is not free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WaitPolicy {
    /// Wait, up to the session's timeout.
    #[default]
    Wait,
    /// Fail at once.
    NoWait,
    /// Tell, so that the record is left out.
    SkipLocked,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockOutcome {
    /// The lock is held; `true` if it was not before, or before the wait that has just ended. (Also `false` if nothing
    /// is kept of the request: an insert intention without anybody in the way.)
    Granted(bool),
    /// Queued: call [`LockSys::wait`] without latches, then look for the record again and ask again.
    MustWait,
    /// [`WaitPolicy::SkipLocked`]: somebody else holds it.
    Skipped,
}

/// Which record, and for reports whose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecordId {
    /// Table.
    pub table: TableId,
    /// Index.
    pub index: IndexId,
    /// Page.
    pub page: PageId,
    /// Record; 1 is the supremum, whose lock covers the gap before it only.
    pub heap: HeapNo,
}

impl RecordId {
    fn owner(&self) -> Owner {
        Owner { table: self.table, index: self.index }
    }
}

/// The lock manager.
#[derive(Debug)]
pub struct LockSys {
    clock: Arc<dyn Clock>,
    memory_limit: usize,
    deadlock_detect: AtomicBool,
    counters: Counters,
    detector: Mutex<Detector>,
    tables: Tables,
    pages: Pages,
}

impl LockSys {
    /// An empty lock manager.
    pub fn new(options: &Options, clock: Arc<dyn Clock>) -> Arc<LockSys> {
        Arc::new(LockSys {
            clock,
            memory_limit: options.lock_memory_limit,
            deadlock_detect: AtomicBool::new(options.deadlock_detect),
            counters: Counters::default(),
            detector: Mutex::default(),
            tables: Tables::default(),
            pages: Pages::default(),
        })
    }

    /// Turns the search for cycles on or off (`deadlock_detect`); waits that have begun are not looked at.
    pub fn set_deadlock_detect(&self, on: bool) {
        self.deadlock_detect.store(on, Ordering::Relaxed);
    }

    /// Asks for a lock on a record, whose page the caller has latched. Records of temporary tables are their session's
    /// alone: they are never locked, here and below.
    ///
    /// # Errors
    /// Refusal by policy, no memory for locks.
    ///
    /// # Panics
    /// If the mode is not S or X.
    #[inline]
    pub fn lock_record(
        &self,
        trx: &Trx,
        rec: RecordId,
        mode: LockMode,
        kind: RecordLockKind,
        policy: WaitPolicy,
    ) -> Result<LockOutcome> {
        if rec.table.is_temporary() {
            return Ok(LockOutcome::Granted(false));
        }
        let claim = Claim::on(mode, kind, rec.heap);
        self.patiently(trx, policy, |policy| self.ask_record(trx.shared(), rec, claim, policy, true))
    }

    /// As [`LockSys::lock_record`], without a wait. A request that would have to wait stands in the queue for as long as it
    /// takes to look for a cycle, in which somebody may be the victim, and is taken back: [`LockOutcome::Skipped`].
    ///
    /// # Errors
    /// Deadlock, no memory for locks.
    pub fn try_record(
        &self,
        trx: &Trx,
        rec: RecordId,
        mode: LockMode,
        kind: RecordLockKind,
    ) -> Result<LockOutcome> {
        if rec.table.is_temporary() {
            return Ok(LockOutcome::Granted(false));
        }
        let claim = Claim::on(mode, kind, rec.heap);
        // Who never waits is in no cycle.
        let queues = self.deadlock_detect.load(Ordering::Relaxed) && trx.lock_wait_timeout_us > 0;
        let policy = if queues { WaitPolicy::Wait } else { WaitPolicy::SkipLocked };
        match self.ask_record(trx.shared(), rec, claim, policy, true)? {
            LockOutcome::MustWait => self.withdraw(trx.shared()),
            outcome => Ok(outcome),
        }
    }

    /// Asks for X on a record that the caller changes before it gives up the latch. The change locks the record
    /// implicitly, so nothing is kept of the request if nobody is in the way.
    ///
    /// # Errors
    /// As [`LockSys::lock_record`].
    #[inline]
    pub fn lock_for_change(&self, trx: &Trx, rec: RecordId, policy: WaitPolicy) -> Result<LockOutcome> {
        if rec.table.is_temporary() {
            return Ok(LockOutcome::Granted(false));
        }
        let claim = Claim { mode: LockMode::Exclusive, kind: RecordLockKind::Record };
        self.patiently(trx, policy, |policy| self.ask_record(trx.shared(), rec, claim, policy, false))
    }

    /// Asks as a transaction with its `lock_wait_timeout` does: with 0 there is no wait, so nothing is queued, and such a
    /// transaction is never part of a deadlock.
    #[inline]
    fn patiently(
        &self,
        trx: &Trx,
        policy: WaitPolicy,
        ask: impl FnOnce(WaitPolicy) -> Result<LockOutcome>,
    ) -> Result<LockOutcome> {
        if policy != WaitPolicy::Wait || trx.lock_wait_timeout_us > 0 {
            return ask(policy);
        }
        ask(WaitPolicy::NoWait).map_err(|e| match e {
            Error::LockNotAvailable => {
                self.counters.timeouts.fetch_add(1, Ordering::Relaxed);
                Error::LockWaitTimeout
            }
            e => e,
        })
    }

    /// Asks for a record lock; `keep` says whether it is entered if it is free.
    fn ask_record(
        &self,
        trx: &TrxRef,
        rec: RecordId,
        claim: Claim,
        policy: WaitPolicy,
        keep: bool,
    ) -> Result<LockOutcome> {
        assert!(matches!(claim.mode, LockMode::Shared | LockMode::Exclusive), "records are locked in S or X");
        let keep = keep && !claim.is_insert_intention();
        let mut shard = self.pages.lock(rec.page);
        let answer = match shard.get_mut(rec.page) {
            Some(locks) => locks.ask(trx, rec.heap, claim),
            None => Answer::Free(None),
        };
        match answer {
            // The first time after a wait it is new to the caller.
            Answer::Covered => Ok(LockOutcome::Granted(trx.locks.take_fresh(rec.page, rec.heap))),
            Answer::Free(_) if !keep => Ok(LockOutcome::Granted(false)),
            Answer::Free(Some(at)) => {
                shard.set(&self.pages, rec.page, at, rec.heap);
                Ok(LockOutcome::Granted(true))
            }
            Answer::Free(None) => {
                self.check_memory()?;
                shard.edit(&self.pages, rec.page, |l| l.grant(rec.page, trx, claim, rec.owner(), rec.heap));
                Ok(LockOutcome::Granted(true))
            }
            Answer::Blocked => match policy {
                WaitPolicy::NoWait => Err(Error::LockNotAvailable),
                WaitPolicy::SkipLocked => Ok(LockOutcome::Skipped),
                WaitPolicy::Wait => {
                    self.check_memory()?;
                    let (owner, now_us) = (rec.owner(), self.clock.now_us());
                    shard.edit(&self.pages, rec.page, |l| {
                        l.enqueue(rec.page, trx, claim, owner, rec.heap, now_us);
                    });
                    self.counters.begin_wait();
                    Ok(LockOutcome::MustWait)
                }
            },
        }
    }

    /// Asks for a lock on a table.
    ///
    /// # Errors
    /// Refusal by policy.
    #[inline]
    pub fn lock_table(
        &self,
        trx: &Trx,
        table: TableId,
        mode: LockMode,
        policy: WaitPolicy,
    ) -> Result<LockOutcome> {
        if table.is_temporary() {
            return Ok(LockOutcome::Granted(false));
        }
        self.patiently(trx, policy, |policy| self.ask_table(trx.shared(), table, mode, policy))
    }

    /// Asks for a table lock.
    fn ask_table(
        &self,
        trx: &TrxRef,
        table: TableId,
        mode: LockMode,
        policy: WaitPolicy,
    ) -> Result<LockOutcome> {
        if trx.locks.modes_of(table).covers(mode) {
            return Ok(LockOutcome::Granted(false));
        }
        let mut shard = self.tables.lock(table);
        let locks = shard.entry(table).or_default();
        if !locks.is_blocked(trx, mode, locks.waiting.len()) {
            locks.grant(table, trx, mode);
            return Ok(LockOutcome::Granted(true));
        }
        match policy {
            WaitPolicy::NoWait => Err(Error::LockNotAvailable),
            WaitPolicy::SkipLocked => Ok(LockOutcome::Skipped),
            WaitPolicy::Wait => {
                locks.enqueue(table, trx, mode, self.clock.now_us());
                self.counters.begin_wait();
                Ok(LockOutcome::MustWait)
            }
        }
    }

    /// Waits until the transaction's queued request is granted, or what it asked for has moved or gone: the caller looks
    /// for the record again and asks again, which costs little if the lock is held. Whether it really had to wait: a request
    /// that stood behind the victim of a cycle alone is granted when the cycle is broken.
    ///
    /// # Errors
    /// Timeout, deadlock, interruption; the request is gone then.
    ///
    /// # Latching
    /// The caller holds no latch.
    pub fn wait(&self, trx: &Trx) -> Result<bool> {
        self.wait_for(trx.shared(), trx.lock_wait_timeout_us, &*trx.hook)
    }

    /// Makes the implicit X lock that `owner` has on a record it wrote an explicit one, so that others can queue.
    /// Nothing if the owner is not active any more. The page is latched by the caller.
    ///
    /// # Errors
    /// No memory for locks.
    pub fn make_explicit(&self, owner: &TrxRef, rec: RecordId) -> Result<()> {
        if rec.table.is_temporary() {
            return Ok(());
        }
        let claim = Claim { mode: LockMode::Exclusive, kind: RecordLockKind::Record };
        let mut shard = self.pages.lock(rec.page);
        if shard.get_mut(rec.page).is_some_and(|locks| locks.holds(owner, rec.heap, claim)) {
            return Ok(());
        }
        self.check_memory()?;
        let is_active = || matches!(owner.state(), TrxState::Active | TrxState::Prepared);
        if owner.locks.note_page_if(rec.page, is_active) {
            shard.edit(&self.pages, rec.page, |l| l.grant(rec.page, owner, claim, rec.owner(), rec.heap));
        }
        Ok(())
    }

    /// Whether the transaction holds a lock at least that strong.
    pub fn holds(&self, trx: &Trx, rec: RecordId, mode: LockMode, kind: RecordLockKind) -> bool {
        let mut shard = self.pages.lock(rec.page);
        shard.get_mut(rec.page).is_some_and(|locks| locks.holds(trx.shared(), rec.heap, Claim { mode, kind }))
    }

    /// Whether anybody has locks on records of a page, or waits for some. Changes of such a page must not be buffered.
    pub fn has_locks_on(&self, page: PageId) -> bool {
        self.pages.lock(page).get_mut(page).is_some_and(|locks| !locks.is_empty())
    }

    /// Whether anybody holds a lock on a table under which rows are changed.
    pub fn is_being_changed(&self, table: TableId) -> bool {
        self.tables.lock(table).get(&table).is_some_and(TableLocks::is_being_changed)
    }

    /// Gives one record lock back before the end (READ COMMITTED, for rows that did not match).
    pub fn unlock_record(&self, trx: &Trx, rec: RecordId, mode: LockMode) {
        let mut shard = self.pages.lock(rec.page);
        if shard.get_mut(rec.page).is_some() {
            shard.edit(&self.pages, rec.page, |l| l.unlock(rec.page, trx.shared(), rec.heap, mode));
        }
    }

    /// Gives the AUTO-INC locks back, at the end of a statement.
    pub fn unlock_auto_inc(&self, trx: &Trx) {
        let trx = trx.shared();
        for table in trx.locks.tables_in_mode(LockMode::AutoInc) {
            trx.locks.forget_table_mode(table, LockMode::AutoInc);
            self.revoke(trx, table, std::iter::once(LockMode::AutoInc));
        }
    }

    fn revoke(&self, trx: &TrxRef, table: TableId, modes: impl Iterator<Item = LockMode>) {
        let mut shard = self.tables.lock(table);
        if let Some(locks) = shard.get_mut(&table) {
            modes.for_each(|mode| locks.revoke(trx, mode));
            locks.settle(table);
        }
    }

    /// Gives all locks back, at the end of the transaction, which is not active any more.
    pub fn release_all(&self, trx: &TrxRef) {
        debug_assert!(!trx.locks.is_waiting(), "a transaction ends while it runs");
        trx.locks.forget_left_over();
        // Most transactions that only read have none.
        if trx.locks.is_empty() {
            return;
        }
        trx.locks.forget_fresh();
        // A structure change may give a lock that is still here to another page and note that one meanwhile. It does so
        // under the mutex of this page, so it is noted before this page is looked at, or there is nothing to give.
        let mut pages = trx.locks.take_pages();
        // Who goes on finds all of the locks gone.
        let mut granted = Vec::new();
        while !pages.is_empty() {
            for page in pages.drain(..) {
                self.pages.release(page, trx, &mut granted);
            }
            pages = trx.locks.swap_pages(pages);
        }
        for (table, modes) in trx.locks.take_tables() {
            self.revoke(trx, table, modes.iter());
        }
        debug_assert_eq!(
            (trx.locks.record_locks(), trx.locks.lock_structs()),
            (0, 0),
            "L6: locks that outlive their transaction"
        );
        granted.iter().for_each(|other| other.locks.slot.nudge());
    }

    /// Gives the gap locks of a prepared transaction back (XA PREPARE in READ COMMITTED).
    pub fn release_gaps(&self, trx: &TrxRef) {
        for page in trx.locks.pages() {
            let mut shard = self.pages.lock(page);
            if shard.get_mut(page).is_some() {
                shard.edit(&self.pages, page, |l| l.drop_gaps(page, trx));
            }
        }
    }

    /// What is to be told of structure changes of every tree with record locks.
    pub fn observer(self: &Arc<Self>) -> Arc<dyn Observer> {
        self.clone()
    }

    /// Locks of a table's records and of the table are forgotten: it is dropped or truncated. Who waits for one is sent
    /// back to find out.
    pub fn forget_table(&self, table: TableId) {
        self.pages.forget(|owner| owner.table == table);
        let mut shard = self.tables.lock(table);
        if let Some(mut locks) = shard.remove(&table) {
            locks.forget(table);
        }
    }

    /// Locks of an index' records are forgotten: it is dropped.
    pub fn forget_index(&self, index: IndexId) {
        self.pages.forget(|owner| owner.index == index);
    }

    /// Whether there is memory for one more structure.
    fn check_memory(&self) -> Result<()> {
        if self.pages.bytes() + PageLocks::BYTES_OF_FIRST > self.memory_limit {
            return Err(Error::LockTableFull { limit_bytes: self.memory_limit });
        }
        Ok(())
    }

    /// Checks the invariants of all queues.
    ///
    /// # Panics
    /// If one does not hold.
    pub fn validate(&self) {
        self.pages.validate();
        self.tables.each(|table, locks| locks.validate(table));
    }
}
