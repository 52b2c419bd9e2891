//! The part of a transaction that others look at: the lock manager, transactions that meet its id in a record, monitors.

use crate::claim::TrxLocks;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use vaquita_base::TrxId;

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

impl Isolation {
    pub(crate) fn from_u8(n: u8) -> Isolation {
        match n {
            0 => Isolation::ReadUncommitted,
            1 => Isolation::ReadCommitted,
            2 => Isolation::RepeatableRead,
            _ => Isolation::Serializable,
        }
    }
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

/// The part of a transaction that others see. Every start and end writes it: it shares no cache line with another's.
#[derive(Debug)]
#[repr(align(128))]
pub struct TrxShared {
    /// Number of the object, unique in a process: names transactions without an id.
    pub(crate) serial: u64,
    pub(crate) id: AtomicU64,
    pub(crate) state: AtomicU8,
    /// Undo records written: with the number of locks, the weight when a victim is chosen.
    pub(crate) undo_records: AtomicU64,
    pub(crate) interrupted: AtomicBool,
    /// For monitors: when it started, on which terms, whose it is.
    pub(crate) started_us: AtomicU64,
    pub(crate) isolation: AtomicU8,
    pub(crate) read_only: AtomicBool,
    pub(crate) single_statement: AtomicBool,
    pub(crate) rolling_back: AtomicBool,
    pub(crate) tag: AtomicU64,
    /// What the lock manager keeps of it.
    pub(crate) locks: TrxLocks,
}

/// Shared handle.
pub type TrxRef = Arc<TrxShared>;

impl TrxShared {
    pub(crate) fn new(serial: u64) -> TrxShared {
        TrxShared {
            serial,
            id: AtomicU64::new(0),
            state: AtomicU8::new(TrxState::NotStarted as u8),
            undo_records: AtomicU64::new(0),
            interrupted: AtomicBool::new(false),
            started_us: AtomicU64::new(0),
            isolation: AtomicU8::new(Isolation::default() as u8),
            read_only: AtomicBool::new(false),
            single_statement: AtomicBool::new(false),
            rolling_back: AtomicBool::new(false),
            tag: AtomicU64::new(0),
            locks: TrxLocks::default(),
        }
    }

    pub(crate) fn set_state(&self, state: TrxState) {
        self.state.store(state as u8, Ordering::Release);
    }

    /// Ready for the next transaction of the same session. Nobody else holds it but monitors.
    pub(crate) fn reset(&self) {
        self.id.store(0, Ordering::Release);
        self.undo_records.store(0, Ordering::Relaxed);
        self.rolling_back.store(false, Ordering::Relaxed);
        self.set_state(TrxState::NotStarted);
    }

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

impl TrxShared {
    /// Ends the wait for a lock, the present one or the next one, with [`crate::Error::Interrupted`].
    pub fn interrupt(&self) {
        // Before the slot's mutex is taken, see `slot`.
        self.interrupted.store(true, Ordering::SeqCst);
        self.locks.nudge();
    }

    /// Forgets an interruption: at the start of a statement.
    pub fn clear_interrupt(&self) {
        self.interrupted.store(false, Ordering::SeqCst);
    }

    /// Whether [`TrxShared::interrupt`] was called.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }
}
