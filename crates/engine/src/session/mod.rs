//! Sessions: transactions, savepoints, statements.
//!
//! ```text
//! session.begin(AccessMode::ReadWrite, false)?;   // or autocommit: each statement is a transaction
//! let table = session.run(|s| s.table("bank/account"))?;
//! session.run(|s| s.insert(&table, &row))?;
//! let done = session.commit()?;                   // visible to others now
//! done.wait()?;                                   // durable now
//! ```
//!
//! A statement that fails is rolled back; so is the whole transaction after a deadlock, or when locks take too much
//! memory. A session that is dropped rolls back. One whose statement cannot be rolled back can only roll back as a whole: see
//! [`Session::is_doomed`].

mod auto_inc;
mod ddl;
mod doom;
mod durability;
mod export;
mod in_place;
mod objects;
mod online;
mod reading;
mod rebuild;
mod savepoint;
mod statement;
mod temporary;
mod xa;

pub use durability::Durability;
pub use in_place::InPlace;
pub use savepoint::Look;
pub use statement::Statement;

use crate::core::Core;
use crate::ddl::Temporary;
use crate::documents;
use crate::error::{Error, Result};
use crate::export::Export;
use crate::fulltext;
use crate::fulltext::stopwords::StopwordSettings;
use crate::mdl::{MdlContext, MdlMode};
use crate::progress::Progress;
use crate::read_lock::{ReadLockPlace, Work};
use crate::row;
use crate::table::Table;
use crate::waits::{LockClock, SessionHandle, Waiter};
use savepoint::Savepoint;
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::Duration;
use vaquita_base::TableId;
use vaquita_storage::log::CommitPolicy;
use vaquita_txn::wait::WaitHook;
use vaquita_txn::{AccessMode, Isolation, LockMode, Trx, TrxRef, TrxState};

/// What a session can set.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Isolation level of the transactions to come.
    pub isolation: Isolation,
    /// Whether transactions that statements start may change anything.
    pub access: AccessMode,
    /// Each statement outside [`Session::begin`] is a transaction.
    pub autocommit: bool,
    /// Check foreign keys.
    pub foreign_key_checks: bool,
    /// Check unique secondary indexes; without, a caller promises not to insert duplicates.
    pub unique_checks: bool,
    /// Seconds to wait for a row lock.
    pub lock_wait_timeout: u32,
    /// Seconds to wait for a metadata lock.
    pub metadata_lock_timeout: u32,
    /// Changes and commits wait while another session holds the global read lock. Not so for sessions that do their part of a
    /// statement of another session, which waits for them.
    pub obeys_read_lock: bool,
    /// Rows may be changed under `force_recovery`: accounts are to be mended then, too.
    pub ignores_force_recovery: bool,
    /// An interruption lasts until [`Session::clear_interrupt`]. Without, until the next statement starts: what is one statement
    /// to whoever interrupts may be several of the engine's, and definitions between them.
    pub keeps_interrupts: bool,
    /// 0, 1 or 2: see [`crate::Options::flush_log_at_trx_commit`].
    pub flush_log_at_trx_commit: u8,
    /// Words that FULLTEXT indexes leave out which it makes.
    pub stopwords: StopwordSettings,
}

/// One client's work.
#[derive(Debug)]
pub struct Session {
    pub(crate) core: Arc<Core>,
    pub(crate) trx: Trx,
    pub(crate) mdl: MdlContext,
    /// What it has set.
    pub settings: Settings,
    /// Between [`Session::begin`] and the end of the transaction.
    explicit: bool,
    /// A statement that has ended used a table: the engine has a part in the transaction.
    part: bool,
    savepoints: Vec<Savepoint>,
    /// Something of the transaction could not be taken back.
    doom: Option<doom::Doom>,
    /// Tables whose metadata lock the transaction holds: their definitions stay as they are.
    used: SmallVec<[(TableId, MdlMode); 4]>,
    waiter: Waiter,
    /// Its part in the global read lock.
    read_lock: ReadLockPlace,
    /// The first metadata locks, which stay when a transaction ends: those of LOCK TABLES.
    kept_locks: usize,
    /// Tables whose files are complete as long as they are locked.
    export: Option<Export>,
    /// [`Trx::unchanged`] at the start of the statement.
    unchanged_before: u64,
    /// What runs is a part of a statement that goes on.
    nested: bool,
    /// Parts of partitioned tables that a statement means; see [`Statement::mean_parts`].
    meant: Vec<(TableId, Arc<[usize]>)>,
    /// The statement has taken AUTO-INC locks.
    auto_inc_locked: bool,
    /// How far the change of a definition is that it is at.
    progress: Arc<Progress>,
    /// Its temporary tables.
    temporary: Vec<Temporary>,
    /// Another one with every change of these; 0 without any.
    temporary_generation: u64,
}

impl Session {
    /// A session on what an engine's sessions share.
    pub fn new(core: Arc<Core>) -> Session {
        let settings = Settings {
            isolation: Isolation::default(),
            access: AccessMode::ReadWrite,
            autocommit: true,
            foreign_key_checks: true,
            unique_checks: true,
            lock_wait_timeout: core.options.lock_wait_timeout,
            metadata_lock_timeout: 31_536_000,
            obeys_read_lock: true,
            ignores_force_recovery: false,
            keeps_interrupts: false,
            flush_log_at_trx_commit: core.options.flush_log_at_trx_commit,
            stopwords: StopwordSettings::default(),
        };
        let mut trx = core.txn.new_trx();
        let waiter = Waiter::default();
        trx.set_wait_hook(waiter.hook.clone());
        let mdl = core.mdl.context_of(waiter.clone());
        let read_lock = core.read_lock.enter();
        Session {
            progress: Arc::new(Progress::new(core.storage.clock().clone())),
            core,
            trx,
            mdl,
            settings,
            explicit: false,
            part: false,
            savepoints: Vec::new(),
            doom: None,
            used: SmallVec::new(),
            waiter,
            read_lock,
            kept_locks: 0,
            export: None,
            unchanged_before: 0,
            nested: false,
            meant: Vec::new(),
            auto_inc_locked: false,
            temporary: Vec::new(),
            temporary_generation: 0,
        }
    }

    /// What it shares with the other sessions of its folder.
    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Who is told around waits of this session.
    pub fn set_wait_hook(&mut self, hook: Arc<dyn WaitHook>) {
        self.waiter.hook = Arc::new(LockClock::around(hook));
        self.trx.set_wait_hook(self.waiter.hook.clone());
        self.mdl.waiter = self.waiter.clone();
    }

    /// Who is told around waits of this session.
    pub fn wait_hook(&self) -> &Arc<dyn WaitHook> {
        &self.waiter.hook.hook
    }

    /// Microseconds that this session has waited for locks of rows, tables and definitions since it has its hook.
    pub fn lock_wait_us(&self) -> u64 {
        self.waiter.hook.waited_us()
    }

    /// The part of its present transaction that others see, for monitors. A later transaction may have another one.
    pub fn transaction(&self) -> TrxRef {
        self.trx.shared().clone()
    }

    /// Puts a number on the transaction that monitors show with it: the connection's.
    pub fn set_tag(&self, tag: u64) {
        self.trx.set_tag(tag);
    }

    /// How far the long statement is that the session is at, for other threads to look at.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Reaches the session from other threads, to end its waits. Good until the session gives its transaction away (XA
    /// PREPARE).
    pub fn handle(&self) -> SessionHandle {
        self.waiter.handle(self.trx.handle(), self.progress.clone())
    }

    /// Forgets an interruption that came before now. Statements do so when they start; what is no statement of the engine
    /// (definitions, table locks) is for the caller.
    pub fn clear_interrupt(&self) {
        self.waiter.clear_interrupt();
        if self.trx.shared().is_interrupted() {
            self.trx.shared().clear_interrupt();
        }
    }

    fn metadata_patience(&self) -> Duration {
        Duration::from_secs(self.settings.metadata_lock_timeout.into())
    }

    /// Takes the global read lock: until [`Session::unlock_globally`] no other session changes rows or definitions, nor
    /// commits changes. What is open is to be committed first.
    ///
    /// # Errors
    /// It was not granted in time; the wait was interrupted.
    pub fn lock_globally(&mut self) -> Result<()> {
        let timeout = self.metadata_patience();
        self.read_lock.take(&self.waiter, timeout)
    }

    /// Gives the global read lock back; whether the session held it.
    pub fn unlock_globally(&mut self) -> bool {
        self.read_lock.give_back()
    }

    /// Makes sure that the global read lock does not come into force before the statement, or the change of definitions,
    /// is over. Whatever changes rows or definitions does so by itself; a caller does earlier, before it reads or locks.
    ///
    /// # Errors
    /// [`Error::ReadLocked`] the session holds that lock; another one does and did not give it back in time; the wait was
    /// interrupted.
    #[inline]
    pub fn begin_change(&self) -> Result<()> {
        match self.read_lock.does(Work::Change) || !self.settings.obeys_read_lock {
            true => Ok(()),
            false => self.read_lock.begin(Work::Change, &self.waiter, self.metadata_patience()),
        }
    }

    /// Ends what [`Session::begin_change`] began. Statements do so by themselves.
    #[inline]
    pub fn end_change(&self) {
        self.read_lock.end(Work::Change);
    }

    /// Whether a transaction is open.
    pub fn in_transaction(&self) -> bool {
        self.explicit || self.trx.state() != TrxState::NotStarted
    }

    /// Isolation level of the present transaction.
    #[inline]
    pub fn isolation(&self) -> Isolation {
        self.trx.isolation()
    }

    /// Whether the present transaction may change anything.
    pub fn transaction_access(&self) -> AccessMode {
        self.trx.access()
    }

    /// Locks a table's name until [`Session::unlock_tables`], whatever transactions come and go (LOCK TABLES). What is open
    /// is to be committed first.
    ///
    /// # Errors
    /// The lock was not granted in time.
    pub fn lock_table_name(&mut self, name: &str, mode: MdlMode) -> Result<()> {
        debug_assert!(self.used.is_empty(), "locks of a transaction that is open would stay when it ends");
        let timeout = self.metadata_patience();
        if mode >= MdlMode::SharedNoReadWrite {
            self.read_lock.begin(Work::Locked, &self.waiter, timeout)?;
        }
        self.core.mdl.acquire(&mut self.mdl, name, mode, timeout)?;
        self.kept_locks = self.core.mdl.held(&self.mdl);
        Ok(())
    }

    /// Gives the locks of [`Session::lock_table_name`] back; a transaction that is open keeps its own.
    pub fn unlock_tables(&mut self) {
        self.export = None;
        self.kept_locks = 0;
        self.read_lock.end(Work::Locked);
        if !self.in_transaction() {
            self.core.mdl.release(&mut self.mdl);
        }
    }

    /// Begins a transaction, committing one that is open.
    ///
    /// # Errors
    /// Errors of that commit.
    pub fn begin(&mut self, access: AccessMode, consistent_snapshot: bool) -> Result<()> {
        self.commit()?.wait()?;
        self.explicit = true;
        self.start(access);
        if consistent_snapshot && self.trx.isolation() == Isolation::RepeatableRead {
            self.core.txn.read_view(&mut self.trx);
        }
        Ok(())
    }

    fn start(&mut self, access: AccessMode) {
        self.start_as(self.settings.isolation, access);
    }

    fn start_as(&mut self, isolation: Isolation, access: AccessMode) {
        self.core.txn.start(&mut self.trx, isolation, access);
        self.trx.set_single_statement(self.is_own_transaction());
        self.trx.set_lock_wait_timeout_us(u64::from(self.settings.lock_wait_timeout) * 1_000_000);
    }

    /// Runs a statement: rolled back if `body` fails; committed, and durable as `flush_log_at_trx_commit` asks, if the
    /// session is in autocommit mode outside [`Session::begin`].
    ///
    /// # Errors
    /// Those of `body`. After [`Error::Deadlock`] and [`Error::LockTableFull`] the whole transaction is rolled back; one
    /// that was begun by [`Session::begin`] goes on, empty, until it is committed or rolled back.
    pub fn run<R>(&mut self, body: impl FnOnce(&mut Statement<'_>) -> Result<R>) -> Result<R> {
        let (value, durability) = self.run_detached(body)?;
        durability.wait()?;
        Ok(value)
    }

    /// As [`Session::run`], but does not wait for the log.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn run_detached<R>(
        &mut self,
        body: impl FnOnce(&mut Statement<'_>) -> Result<R>,
    ) -> Result<(R, Durability)> {
        self.check_sound()?;
        let from = self.start_statement();
        match body(&mut Statement { session: self }) {
            Ok(value) => Ok((value, self.end_statement()?)),
            Err(error) => {
                self.fail_statement(from, &error)?;
                Err(error)
            }
        }
    }

    /// Starts a statement whose end is told by [`Session::end_statement`] or [`Session::fail_statement`]: for callers
    /// that cannot hold it in a closure. The place to roll back to.
    pub fn start_statement(&mut self) -> u64 {
        // An interrupt ends the statement it meets; one that comes too late is not for the next one.
        if !self.settings.keeps_interrupts {
            self.clear_interrupt();
        }
        if self.trx.state() == TrxState::NotStarted {
            self.start(self.settings.access);
        }
        self.unchanged_before = self.trx.unchanged();
        self.trx.undo_no()
    }

    /// The statement between start and end.
    pub fn statement(&mut self) -> Statement<'_> {
        Statement { session: self }
    }

    /// Ends a statement that did what it should.
    ///
    /// # Errors
    /// Errors of the commit in autocommit mode.
    pub fn end_statement(&mut self) -> Result<Durability> {
        self.leave_statement();
        let done = match self.is_own_transaction() {
            true => self.commit(),
            false => self.leave_open(false).map(|()| self.durability(None)),
        };
        self.end_change();
        done
    }

    /// Ends a statement that failed: takes its changes back, or those of the whole transaction where the error calls
    /// for it. `from` is what [`Session::start_statement`] gave.
    ///
    /// # Errors
    /// [`Error::Doomed`]: the changes could not be taken back, the transaction can only be rolled back. Those of a whole
    /// transaction are left to the background then, and that is no error.
    pub fn fail_statement(&mut self, from: u64, error: &Error) -> Result<()> {
        if let Error::Deadlock(Some(report)) = error {
            self.core.tell_deadlock(report);
        }
        let whole = match error {
            Error::Deadlock(_) | Error::LockTableFull(_) => true,
            Error::LockWaitTimeout => self.core.options.rollback_on_timeout,
            _ => false,
        };
        self.take_back(from, whole)
    }

    /// Tells the last deadlock to the error log if `print_all_deadlocks` says so: for callers of [`Session::take_back`], whose
    /// statement was its victim.
    pub fn tell_deadlock(&self) {
        if let Some(report) = self.core.txn.locks().last_deadlock() {
            self.core.tell_deadlock(&report);
        }
    }

    /// As [`Session::fail_statement`], for callers that know the error no more: `whole` if it calls for the rollback of the
    /// whole transaction (deadlock, too many locks, a timeout under `rollback_on_timeout`).
    ///
    /// # Errors
    /// As [`Session::fail_statement`].
    pub fn take_back(&mut self, from: u64, whole: bool) -> Result<()> {
        self.leave_statement();
        let done = if whole || self.is_own_transaction() {
            // What was begun stays begun: later statements belong to a transaction that has lost its first part, and
            // are not committed one by one.
            let explicit = self.explicit;
            // If it fails, the transaction has left the session with all it did, and the log says so.
            let _ = self.rollback();
            self.explicit = explicit;
            Ok(())
        } else {
            self.trx.set_unchanged(self.unchanged_before);
            let done = self.take_back_from(from).and_then(|()| self.leave_open(true));
            self.check_sound().and(done)
        };
        self.end_change();
        done
    }

    /// Says that what follows is a part of a statement that goes on, as that of a stored function is; what was said before.
    pub fn set_nested(&mut self, nested: bool) -> bool {
        std::mem::replace(&mut self.nested, nested)
    }

    /// Whether what runs is a part of a statement that goes on: it must not end the statement.
    pub fn is_nested(&self) -> bool {
        self.nested
    }

    fn leave_statement(&mut self) {
        self.meant.clear();
        if std::mem::take(&mut self.auto_inc_locked) {
            self.core.txn.locks().unlock_auto_inc(&self.trx);
        }
        if self.trx.isolation() <= Isolation::ReadCommitted {
            self.core.txn.close_view(&mut self.trx);
        }
    }

    /// Whether the statement is a transaction of its own.
    #[inline]
    pub fn is_own_transaction(&self) -> bool {
        self.settings.autocommit && !self.explicit
    }

    /// Commits; nothing happens without a transaction.
    ///
    /// # Errors
    /// Errors of writing undo pages; the transaction is still open then. A global read lock was not given back in time, or
    /// the wait for that was interrupted; the transaction is rolled back then. So it is after [`Error::Doomed`].
    pub fn commit(&mut self) -> Result<Durability> {
        self.refuse_doomed()?;
        let lsn = match self.trx.state() {
            TrxState::NotStarted => None,
            _ => self.commit_trx()?,
        };
        self.leave_transaction();
        Ok(self.durability(lsn))
    }

    fn commit_trx(&mut self) -> Result<Option<vaquita_base::Lsn>> {
        // Without changes there is nothing to keep from others; a change that has begun keeps the lock away itself.
        let temporary = self.trx.take_temporary();
        let guarded =
            self.trx.undo_no() != 0 && !self.read_lock.does(Work::Change) && self.settings.obeys_read_lock;
        if guarded && let Err(e) = self.read_lock.begin(Work::Commit, &self.waiter, self.metadata_patience())
        {
            self.trx.give_back_temporary(temporary);
            self.rollback()?;
            return Err(e);
        }
        if let Err(e) = fulltext::before_commit(&self.core, &mut self.trx) {
            self.read_lock.end(Work::Commit);
            self.trx.give_back_temporary(temporary);
            self.rollback()?;
            return Err(e);
        }
        let documents = documents::take_changes(&mut self.trx);
        let done = self.core.txn.commit(&mut self.trx);
        self.read_lock.end(Work::Commit);
        match (&done, documents) {
            (Ok(_), Some(changes)) => fulltext::after_commit(&self.core, changes),
            (_, changes) => documents::give_back(&mut self.trx, changes),
        }
        match (&done, temporary) {
            (Ok(_), Some(undo)) => temporary::end(&self.core, undo),
            (_, undo) => self.trx.give_back_temporary(undo),
        }
        Ok(done?)
    }

    /// Rolls back; nothing happens without a transaction.
    ///
    /// # Errors
    /// The changes could not all be taken back. The session is free of the transaction all the same: a background
    /// service tries again, as long as its rows stay locked.
    pub fn rollback(&mut self) -> Result<()> {
        if self.trx.state() == TrxState::NotStarted {
            self.leave_transaction();
            return Ok(());
        }
        let done = self.roll_back_trx();
        self.leave_transaction();
        done
    }

    /// Rolls the transaction back, or gives it to the background service; the metadata locks stay.
    fn roll_back_trx(&mut self) -> Result<()> {
        let done = row::roll_back(&self.core, &mut self.trx);
        if let Err(e) = &done {
            self.core.tell_stuck(&self.trx, e);
            let trx = std::mem::replace(&mut self.trx, self.core.txn.new_trx());
            self.trx.set_wait_hook(self.waiter.hook.clone());
            self.core.roll_back_later(trx);
        }
        done
    }

    fn leave_transaction(&mut self) {
        assert_eq!(
            self.trx.state(),
            TrxState::NotStarted,
            "definitions may change under a transaction that has not ended"
        );
        self.explicit = false;
        self.part = false;
        self.savepoints.clear();
        self.doom = None;
        self.used.clear();
        self.release_locks();
    }

    /// Gives metadata locks back, those of LOCK TABLES excepted.
    fn release_locks(&mut self) {
        self.core.mdl.release_from(&mut self.mdl, self.kept_locks);
    }

    #[inline]
    fn durability(&self, lsn: Option<vaquita_base::Lsn>) -> Durability {
        let Some(lsn) = lsn else { return Durability::default() };
        debug_assert!(
            lsn <= self.core.storage.log().current_lsn(),
            "the log has no {lsn} yet: nobody would wake"
        );
        let policy = CommitPolicy::from_number(self.settings.flush_log_at_trx_commit).unwrap_or_default();
        Durability::new(self.core.storage.clone(), self.waiter.hook.clone(), lsn, policy)
    }

    /// Makes sure that the transaction holds a metadata lock on a table that was opened perhaps in an earlier one, and
    /// that the table is still the one of its name.
    ///
    /// # Errors
    /// [`Error::TableChanged`]; the metadata lock was not granted in time.
    #[inline]
    pub(crate) fn use_table(&mut self, table: &Arc<Table>, mode: MdlMode) -> Result<()> {
        // The lock is on the name: a statement that was prepared earlier may come with an older object of the table that
        // a statement before it has used already.
        let is_known = table.is_system || table.is_temporary();
        let held = self.used.iter().any(|&(id, held)| id == table.id && held >= mode) || is_known;
        if held && !table.is_gone() && self.doom.is_none() {
            debug_assert!(
                is_known || self.core.mdl.holds(&self.mdl, &table.name, mode),
                "{} is used and its definition may change: {mode:?} is not held",
                table.name
            );
            return Ok(());
        }
        self.begin_use(table, mode)
    }

    fn begin_use(&mut self, table: &Arc<Table>, mode: MdlMode) -> Result<()> {
        self.check_sound()?;
        if table.is_temporary() {
            return Err(Error::TableChanged(table.name.clone()));
        }
        let timeout = self.metadata_patience();
        self.core.mdl.acquire(&mut self.mdl, &table.name, mode, timeout)?;
        // The object knows whether it is the present one: looking the name up would write to what all sessions share.
        if table.is_gone() {
            return Err(Error::TableChanged(table.name.clone()));
        }
        debug_assert!(self.trx.state() != TrxState::NotStarted, "nothing would give {} back", table.name);
        self.used.push((table.id, mode));
        Ok(())
    }

    /// Locks a table, waiting if need be.
    ///
    /// # Errors
    /// Lock waits.
    pub(crate) fn lock_table(&mut self, table: &Table, mode: LockMode) -> Result<()> {
        row::lock::lock_table(&self.core, &self.trx, table, mode)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Nobody is there to be told; what cannot be taken back now is taken back later.
        let _ = self.rollback();
        self.unlock_tables();
        self.drop_temporary_tables();
    }
}
