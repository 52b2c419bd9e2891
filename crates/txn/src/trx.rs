//! A transaction.
//!
//! [`Trx`] belongs to the session and is reused; [`TrxShared`] is the part that others look at: the lock manager,
//! other transactions that meet its id in a record, monitors.

use crate::lock::TrxLocks;
use crate::read_view::ReadView;
use crate::trx_sys::{TrxHandle, ViewPlace};
use crate::undo::TrxUndo;
use crate::wait::WaitHook;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use vaquita_base::TrxId;
use vaquita_btree::Bookmark;
use vaquita_format::undo::Xid;

/// InnoDB's default of `lock_wait_timeout`, 50 seconds.
const LOCK_WAIT_TIMEOUT_US: u64 = 50_000_000;

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

/// A transaction, as its session has it.
#[derive(Debug)]
pub struct Trx {
    pub(crate) shared: TrxRef,
    pub(crate) place: ViewPlace,
    pub(crate) isolation: Isolation,
    pub(crate) access: AccessMode,
    pub(crate) view: Option<ReadView>,
    pub(crate) undo: TrxUndo,
    /// Rows that were to be changed and had the new values already.
    pub(crate) unchanged: u64,
    pub(crate) xid: Option<Xid>,
    /// Table of a dictionary change, 0 for none.
    pub(crate) dict_operation: bool,
    /// Microseconds to wait for a lock.
    pub(crate) lock_wait_timeout_us: u64,
    pub(crate) hook: Arc<dyn WaitHook>,
    /// Where a row is that is likely to be changed next.
    last_locked: Mutex<Option<Bookmark>>,
}

impl Trx {
    pub(crate) fn new(shared: TrxRef, place: ViewPlace, hook: Arc<dyn WaitHook>) -> Trx {
        Trx {
            shared,
            place,
            isolation: Isolation::default(),
            access: AccessMode::default(),
            view: None,
            undo: TrxUndo::default(),
            unchanged: 0,
            xid: None,
            dict_operation: false,
            lock_wait_timeout_us: LOCK_WAIT_TIMEOUT_US,
            hook,
            last_locked: Mutex::default(),
        }
    }

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

    /// Says how many undo records count when the victim of a deadlock is chosen. One that is written ahead of a change
    /// that may yet have to wait for a lock does not, until the change is made; [`crate::TrxSystem::append_undo`] counts it.
    #[inline]
    pub fn weigh_undo(&self, records: u64) {
        self.shared.undo_records.store(records + self.unchanged, Ordering::Relaxed);
    }

    /// Rows that were to be changed and had the new values already; each weighs as an undo record.
    #[inline]
    pub fn unchanged(&self) -> u64 {
        self.unchanged
    }

    /// Says how many such rows there are: one more, or as many as there were when changes are taken back.
    pub fn set_unchanged(&mut self, rows: u64) {
        self.unchanged = rows;
        self.weigh_undo(self.undo.next_no());
    }

    /// Seconds and less to wait for a lock, in microseconds (`lock_wait_timeout`).
    pub fn set_lock_wait_timeout_us(&mut self, us: u64) {
        self.lock_wait_timeout_us = us;
    }

    /// Where the row was that was locked last: who locks a row is likely to change it.
    #[inline]
    pub fn last_locked(&self) -> Option<Bookmark> {
        *self.last_locked.lock()
    }

    /// Notes where the row is that has just been locked.
    #[inline]
    pub fn note_locked(&self, place: Option<Bookmark>) {
        *self.last_locked.lock() = place;
    }

    /// The XID, of a prepared transaction.
    pub fn xid(&self) -> Option<&Xid> {
        self.xid.as_ref()
    }

    /// Reaches the session's transaction, this one or a later one, from other threads. Do not keep what
    /// [`Trx::shared`] gives for that: it is of one transaction.
    pub fn handle(&self) -> TrxHandle {
        self.place.handle()
    }

    /// Says whether it is one statement's, and ends with it, for monitors.
    #[inline]
    pub fn set_single_statement(&self, single: bool) {
        self.shared.single_statement.store(single, Ordering::Relaxed);
    }

    /// Puts the session's number on it, for monitors.
    pub fn set_tag(&self, tag: u64) {
        self.shared.tag.store(tag, Ordering::Relaxed);
    }

    /// Who is told around waits.
    pub fn set_wait_hook(&mut self, hook: Arc<dyn WaitHook>) {
        self.hook = hook;
    }

    /// Who is told around waits.
    pub fn wait_hook(&self) -> &Arc<dyn WaitHook> {
        &self.hook
    }
}
