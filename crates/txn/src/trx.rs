//! A transaction.
//!
//! [`Trx`] belongs to the session and is reused; [`TrxShared`] is the part that others look at: the lock manager,
//! other transactions that meet its id in a record, monitors.

use crate::read_view::ReadView;
pub use crate::trx_shared::{AccessMode, Isolation, TrxRef, TrxShared, TrxState};
use crate::undo::TrxUndo;
use crate::views::{TrxHandle, ViewPlace};
use crate::wait::WaitHook;
use parking_lot::Mutex;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vaquita_base::TrxId;
use vaquita_btree::Bookmark;
use vaquita_format::undo::Xid;

/// InnoDB's default of `lock_wait_timeout`, 50 seconds.
const LOCK_WAIT_TIMEOUT_US: u64 = 50_000_000;

/// A transaction, as its session has it.
#[derive(Debug)]
pub struct Trx {
    pub(crate) shared: TrxRef,
    pub(crate) place: ViewPlace,
    pub(crate) isolation: Isolation,
    pub(crate) access: AccessMode,
    pub(crate) view: Option<ReadView>,
    pub(crate) undo: TrxUndo,
    /// Those of rows of temporary tables.
    pub(crate) temporary: TrxUndo,
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
    /// What the layer above keeps with it.
    pub(crate) companion: Option<Companion>,
}

/// What a layer above keeps with a transaction; which type it has is known there.
pub type Companion = Box<dyn Any + Send + Sync>;

impl Trx {
    pub(crate) fn new(shared: TrxRef, place: ViewPlace, hook: Arc<dyn WaitHook>) -> Trx {
        Trx {
            shared,
            place,
            isolation: Isolation::default(),
            access: AccessMode::default(),
            view: None,
            undo: TrxUndo::default(),
            temporary: TrxUndo::default(),
            unchanged: 0,
            xid: None,
            dict_operation: false,
            lock_wait_timeout_us: LOCK_WAIT_TIMEOUT_US,
            hook,
            last_locked: Mutex::default(),
            companion: None,
        }
    }

    /// What the layer above keeps with it, as long as it lasts: it is dropped when the transaction ends, unless it was taken.
    #[inline]
    pub fn companion(&mut self) -> &mut Option<Companion> {
        &mut self.companion
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
        self.undo.next_no().max(self.temporary.next_no())
    }

    /// Takes off it the undo logs of rows of temporary tables, when it ends or is prepared:
    /// [`crate::TrxSystem::end_temporary`] ends them.
    pub fn take_temporary(&mut self) -> Option<TrxUndo> {
        self.temporary.has_logs().then(|| std::mem::take(&mut self.temporary))
    }

    /// Gives them back: it did not end.
    pub fn give_back_temporary(&mut self, undo: Option<TrxUndo>) {
        self.temporary = undo.unwrap_or_default();
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
        self.weigh_undo(self.undo_no());
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

    /// Whether all that it has changed is being taken back, for monitors.
    pub fn note_rollback(&self, going_on: bool) {
        self.shared.rolling_back.store(going_on, Ordering::Relaxed);
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
