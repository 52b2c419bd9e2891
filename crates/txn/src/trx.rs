//! A transaction.
//!
//! [`Trx`] belongs to the session and is reused; [`TrxShared`] is the part that others look at: the lock manager,
//! other transactions that meet its id in a record, monitors.

use crate::lock::TrxLocks;
use crate::read_view::ReadView;
use crate::trx_sys::ViewSlot;
use crate::undo::TrxUndo;
use crate::wait::WaitHook;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use vaquita_base::TrxId;
use vaquita_format::undo::Xid;

/// What a transaction sees of others (SQL-92 names, InnoDB's meanings).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Isolation {
    /// Plain reads see the newest version, committed or not.
    ReadUncommitted,
    /// A new read view for each statement; gaps are locked for duplicate and foreign key checks only.
    ReadCommitted,
    /// One read view for the whole transaction; next-key locks.
    #[default]
    RepeatableRead,
    /// Plain reads are locking reads in S mode, unless the statement is a transaction of its own.
    Serializable,
}

/// What a transaction may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AccessMode {
    /// Everything; an id is assigned at the first change.
    #[default]
    ReadWrite,
    /// Read: never gets an id or a rollback segment.
    ReadOnly,
}

/// Where a transaction is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TrxState {
    /// Between transactions.
    NotStarted = 0,
    /// Running.
    Active = 1,
    /// Prepared (XA): survives a crash until committed or rolled back by its XID.
    Prepared = 2,
    /// Committed: visible, locks are being released.
    Committed = 3,
}

impl TrxState {
    fn from_u8(n: u8) -> TrxState {
        match n {
            1 => TrxState::Active,
            2 => TrxState::Prepared,
            3 => TrxState::Committed,
            _ => TrxState::NotStarted,
        }
    }
}

/// The part of a transaction that others see.
#[derive(Debug)]
pub struct TrxShared {
    /// Number of the object, unique in a process: names transactions without an id.
    pub(crate) serial: u64,
    pub(crate) id: AtomicU64,
    pub(crate) state: AtomicU8,
    /// Undo records written: with the number of locks, the weight when a victim is chosen.
    pub(crate) undo_records: AtomicU64,
    pub(crate) interrupted: AtomicBool,
    /// What the lock manager keeps of it.
    pub(crate) locks: TrxLocks,
}

/// Shared handle.
pub type TrxRef = Arc<TrxShared>;

impl TrxShared {
    /// Its id; 0 while it has changed nothing.
    #[inline]
    pub fn id(&self) -> TrxId {
        TrxId(self.id.load(Ordering::Acquire))
    }

    /// Where it is in its life.
    pub fn state(&self) -> TrxState {
        TrxState::from_u8(self.state.load(Ordering::Acquire))
    }

    /// Number of the object.
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// Undo records written so far.
    pub fn undo_records(&self) -> u64 {
        self.undo_records.load(Ordering::Relaxed)
    }

    /// What the lock manager keeps of it.
    pub fn locks(&self) -> &TrxLocks {
        &self.locks
    }
}

/// A transaction, as its session has it.
#[derive(Debug)]
pub struct Trx {
    pub(crate) shared: TrxRef,
    pub(crate) slot: Arc<ViewSlot>,
    pub(crate) isolation: Isolation,
    pub(crate) access: AccessMode,
    pub(crate) view: Option<ReadView>,
    pub(crate) undo: TrxUndo,
    pub(crate) xid: Option<Xid>,
    /// Table of a dictionary change, 0 for none.
    pub(crate) dict_operation: bool,
    /// Microseconds to wait for a lock.
    pub(crate) lock_wait_timeout_us: u64,
    pub(crate) hook: Arc<dyn WaitHook>,
}

impl Trx {
    /// The part that others see.
    #[inline]
    pub fn shared(&self) -> &TrxRef {
        &self.shared
    }

    /// Its id; 0 while it has changed nothing.
    #[inline]
    pub fn id(&self) -> TrxId {
        self.shared.id()
    }

    /// Where it is in its life.
    pub fn state(&self) -> TrxState {
        self.shared.state()
    }

    /// Its isolation level.
    #[inline]
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// What it may do.
    pub fn access(&self) -> AccessMode {
        self.access
    }

    /// The open read view.
    #[inline]
    pub fn view(&self) -> Option<&ReadView> {
        self.view.as_ref()
    }

    /// Number of the next undo record: a savepoint is this number.
    pub fn undo_no(&self) -> u64 {
        self.undo.next_no()
    }

    /// Seconds and less to wait for a lock, in microseconds (`lock_wait_timeout`).
    pub fn set_lock_wait_timeout_us(&mut self, us: u64) {
        self.lock_wait_timeout_us = us;
    }

    /// Who is told around waits.
    pub fn set_wait_hook(&mut self, hook: Arc<dyn WaitHook>) {
        self.hook = hook;
    }
}
