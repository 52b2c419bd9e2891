//! Locks of tables and records.
//!
//! Record locks belong to a page and a heap number, so they are sharded by page. A lock request never waits: it is
//! granted, refused, or queued; the caller then gives up its latches and calls [`LockSys::wait`].

use crate::error::Result;
use crate::options::Options;
use crate::trx::{Trx, TrxRef};
use std::sync::Arc;
use vaquita_base::clock::Clock;
use vaquita_base::{HeapNo, IndexId, PageId, TableId};
use vaquita_btree::Observer;

/// Strength of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockMode {
    /// Intention to lock records in S mode.
    IntentionShared,
    /// Intention to lock records in X mode.
    IntentionExclusive,
    /// To read.
    Shared,
    /// To change.
    Exclusive,
    /// To draw AUTO_INCREMENT values until the end of the statement.
    AutoInc,
}

/// What a record lock covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordLockKind {
    /// The record, not the gap before it.
    Record,
    /// The gap before the record.
    Gap,
    /// Both.
    NextKey,
    /// The intention to insert into the gap before the record; waits for gap locks of others only.
    InsertIntention,
}

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
    /// The lock is held; `true` if it was not before.
    Granted(bool),
    /// Queued: call [`LockSys::wait`] without latches.
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

mod trx_locks;

pub use trx_locks::TrxLocks;

/// A cycle of waits.
#[derive(Debug, Clone)]
pub struct DeadlockReport {
    /// The report, as SHOW ENGINE INNODB STATUS shows it.
    pub text: String,
}

/// The lock manager.
#[derive(Debug)]
pub struct LockSys {}

impl LockSys {
    /// An empty lock manager.
    pub fn new(options: &Options, clock: Arc<dyn Clock>) -> Arc<LockSys> {
        let _ = (options, clock);
        Arc::new(LockSys {})
    }

    /// Asks for a lock on a record, whose page the caller has latched.
    ///
    /// # Errors
    /// Refusal by policy, a deadlock in which this transaction is the victim, no memory for locks.
    pub fn lock_record(
        &self,
        trx: &Trx,
        rec: RecordId,
        mode: LockMode,
        kind: RecordLockKind,
        policy: WaitPolicy,
    ) -> Result<LockOutcome> {
        let _ = (trx, rec, mode, kind, policy);
        unimplemented!()
    }

    /// Asks for a lock on a table.
    ///
    /// # Errors
    /// As [`LockSys::lock_record`].
    pub fn lock_table(
        &self,
        trx: &Trx,
        table: TableId,
        mode: LockMode,
        policy: WaitPolicy,
    ) -> Result<LockOutcome> {
        let _ = (trx, table, mode, policy);
        unimplemented!()
    }

    /// Waits until the transaction's queued request is granted.
    ///
    /// # Errors
    /// Timeout, deadlock, interruption; the request is gone then.
    ///
    /// # Latching
    /// The caller holds no latch.
    pub fn wait(&self, trx: &Trx) -> Result<()> {
        let _ = trx;
        unimplemented!()
    }

    /// Makes the implicit X lock that `owner` has on a record it wrote an explicit one, so that others can queue.
    /// Nothing if the owner is not active any more. The page is latched by the caller.
    ///
    /// # Errors
    /// No memory for locks.
    pub fn make_explicit(&self, owner: &TrxRef, rec: RecordId) -> Result<()> {
        let _ = (owner, rec);
        unimplemented!()
    }

    /// Whether the transaction holds a lock at least that strong.
    pub fn holds(&self, trx: &Trx, rec: RecordId, mode: LockMode, kind: RecordLockKind) -> bool {
        let _ = (trx, rec, mode, kind);
        unimplemented!()
    }

    /// Gives one record lock back before the end (READ COMMITTED, for rows that did not match).
    pub fn unlock_record(&self, trx: &Trx, rec: RecordId, mode: LockMode) {
        let _ = (trx, rec, mode);
        unimplemented!()
    }

    /// Gives the AUTO-INC locks back, at the end of a statement.
    pub fn unlock_auto_inc(&self, trx: &Trx) {
        let _ = trx;
        unimplemented!()
    }

    /// Gives all locks back, at the end of the transaction.
    pub fn release_all(&self, trx: &TrxRef) {
        let _ = trx;
        unimplemented!()
    }

    /// Gives the gap locks of a prepared transaction back (XA PREPARE in READ COMMITTED).
    pub fn release_gaps(&self, trx: &TrxRef) {
        let _ = trx;
        unimplemented!()
    }

    /// What is to be told of structure changes of every tree with record locks.
    pub fn observer(self: &Arc<Self>) -> Arc<dyn Observer> {
        unimplemented!()
    }

    /// Locks of a table's records and of the table are forgotten: it is dropped or truncated.
    pub fn forget_table(&self, table: TableId) {
        let _ = table;
        unimplemented!()
    }
}
