//! The store of one connection: its mappings, its session, its transaction.
//!
//! With a batch size of 1 an operation is a statement in autocommit mode: a transaction of its own, without an id if it
//! only reads. With greater ones the first operation begins a transaction which the following ones go on with, whatever
//! mapping they use, until so many reads or so many changes have been made.
//!
//! # Changes that came together
//! With a batch size of 1, changes for which the client did not wait (they came in one piece, and are answered in one: between
//! [`InnodbStore::together`] and [`InnodbStore::settle`]) are *joined*: the first one is a transaction of its own, those
//! behind it are one together, up to the end or to something else than a change. Nobody is told of any before that transaction is committed, so nobody can
//! tell it from many, save that it costs less.
//! - J1: a joined change never waits for a lock, as its transaction holds some. If it would have to, the transaction is
//!   committed first, and the change is made alone.
//! - J2: no gap locks, as for a change alone.
//! - J3: if the transaction is lost, which no lock conflict can bring about (J1), `settle` says so, and none of the answers since the
//!   last one may be sent.

use super::config::{Config, Container, Policies};
use super::mapping::{KeyBuffer, Mapping};
use super::numbers::Block;
use super::row::NewRow;
use super::tables::Tables;
use crate::store::{Failure, Result};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vaquita_engine::{
    AccessMode, Durability, Error, Isolation, LOOKUP_GROUP, MdlMode, PointRead, ReadLock, RowKey, Session,
    Statement, WaitHook,
};

/// How often an operation is begun again that met a deadlock or a changed table.
const TRIES: u32 = 5;

/// Most changes that are joined.
const JOINED_MAX: u64 = 64;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Reads so many items.
    Read(u64),
    /// Reads an item as it is committed, whatever the isolation level.
    Committed,
    /// Changes.
    Write,
}

/// A mapping as a connection uses it.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) mapping: Mapping,
    /// Number of the mapping's name, for what is kept in memory.
    pub(crate) space: u32,
    /// Reads without locks.
    pub(crate) read: PointRead,
    /// Reads with X locks.
    pub(crate) lock: PointRead,
}

impl Bound {
    fn new(mapping: Mapping, space: u32) -> vaquita_engine::Result<Bound> {
        let (read, lock) = (mapping.point_read(ReadLock::None)?, mapping.point_read(ReadLock::Exclusive)?);
        Ok(Bound { mapping, space, read, lock })
    }
}

/// Memory that operations use again.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// The key in stored form.
    pub(crate) key: KeyBuffer,
    /// Keys that are read together.
    pub(crate) keys: [KeyBuffer; LOOKUP_GROUP],
    /// The key as that of a row.
    pub(crate) row_key: RowKey,
    /// A value that is not in one piece on a page.
    pub(crate) value: Vec<u8>,
    /// A new row.
    pub(crate) row: NewRow,
    /// Numbers for items.
    pub(crate) numbers: Block,
}

/// What an operation works with, besides its statement.
pub(crate) struct Work<'w> {
    pub(crate) bound: &'w mut Bound,
    pub(crate) buffers: &'w mut Buffers,
    pub(crate) tables: &'w Tables,
}

/// A transaction of several operations.
#[derive(Debug, Default)]
struct Batch {
    reads: u64,
    writes: u64,
    /// Changes that came together, and nothing else.
    joined: bool,
    /// When it was used last, in microseconds of the engine's clock.
    used_us: u64,
}

/// The store of one connection, on the tables of `innodb_memcache.containers`.
#[derive(Debug)]
pub struct InnodbStore {
    pub(crate) tables: Arc<Tables>,
    session: Session,
    config: Arc<Config>,
    generation: u64,
    bound: Vec<Bound>,
    /// Which of them is used.
    current: Option<usize>,
    /// The mapping the client has asked for, if it has.
    chosen: Option<Vec<u8>>,
    /// Whether metadata locks on mapped tables are kept.
    keeps_mdl: bool,
    batch: Option<Batch>,
    /// Changes since [`InnodbStore::together`]; `None` after [`InnodbStore::settle`].
    together: Option<u64>,
    /// What became of joined changes whose answers are not sent yet, if they are lost.
    lost: Option<Failure>,
    durable: Option<Durability>,
    buffers: Buffers,
}

impl InnodbStore {
    pub(crate) fn new(tables: Arc<Tables>, mut session: Session, hook: Arc<dyn WaitHook>) -> Self {
        session.set_wait_hook(hook);
        let (generation, config) = (tables.generation(), tables.config());
        Self {
            tables,
            session,
            config,
            generation,
            bound: Vec::new(),
            current: None,
            chosen: None,
            keeps_mdl: false,
            batch: None,
            together: None,
            lost: None,
            durable: None,
            buffers: Buffers::default(),
        }
    }

    /// The session it works in, for what the server knows of connections: kills, monitors.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Whether a transaction of several operations is open.
    pub fn in_batch(&self) -> bool {
        self.batch.is_some()
    }

    /// Commits the open transaction if nothing has used it for `bk_commit_interval` seconds; whether it did. To be called
    /// each second while the connection has nothing to do.
    ///
    /// # Errors
    /// The commit failed.
    pub fn commit_idle(&mut self) -> Result<bool> {
        let Some(batch) = &self.batch else { return Ok(false) };
        let interval = self.tables.settings.bk_commit_interval.load(Ordering::Relaxed);
        let idle_us = self.clock_us().saturating_sub(batch.used_us);
        if idle_us < interval.saturating_mul(1_000_000) {
            return Ok(false);
        }
        self.tables.counters.idle_commits.add(1);
        self.commit()?;
        Ok(true)
    }

    /// Commits the open transaction, if there is one.
    ///
    /// # Errors
    /// The commit failed.
    pub fn commit(&mut self) -> Result<()> {
        let Some(batch) = self.batch.take() else { return Ok(()) };
        let counters = &self.tables.counters;
        if batch.joined { &counters.joined } else { &counters.batches }.add(1);
        match self.session.commit().map_err(failure) {
            Ok(done) => self.note(done),
            Err(failure) => {
                if batch.joined {
                    self.lost = Some(failure.clone());
                }
                return Err(failure);
            }
        }
        Ok(())
    }

    /// The changes to come have come together; nobody is told what became of them before [`InnodbStore::settle`].
    pub(crate) fn together(&mut self) {
        self.together = Some(0);
    }

    /// Commits changes that came together.
    ///
    /// # Errors
    /// They are lost, though they were answered otherwise.
    pub(crate) fn settle(&mut self) -> Result<()> {
        self.together = None;
        if self.has_joined()
            && let Err(failure) = self.commit()
        {
            self.lost = None;
            return Err(failure);
        }
        self.lost.take().map_or(Ok(()), Err)
    }

    fn has_joined(&self) -> bool {
        self.batch.as_ref().is_some_and(|batch| batch.joined)
    }

    /// See [`crate::store::Store::durability`].
    pub(crate) fn take_durability(&mut self) -> Option<Durability> {
        self.durable.take()
    }

    /// The later of two commits is durable after the earlier one.
    fn note(&mut self, done: Durability) {
        if done.lsn().is_some() {
            self.durable = Some(done);
        }
    }

    fn clock_us(&self) -> u64 {
        self.tables.engine_clock_us()
    }

    // ---- mappings

    /// Splits a key into a mapping's name and the rest, and makes that mapping the connection's own. `None`: there is a name
    /// and no key.
    #[inline]
    pub(crate) fn enter<'k>(&mut self, key: &'k [u8]) -> Result<Option<&'k [u8]>> {
        self.refresh()?;
        match key.strip_prefix(b"@@") {
            None => {
                if self.current.is_none() {
                    self.enter_default()?;
                }
                Ok(Some(key))
            }
            Some(rest) => self.enter_named(rest),
        }
    }

    fn enter_named<'k>(&mut self, rest: &'k [u8]) -> Result<Option<&'k [u8]>> {
        let delimiter = &self.config.delimiter;
        match super::mapping::find(rest, delimiter) {
            Some(end) => {
                let key = &rest[end + delimiter.len()..];
                self.choose(&rest[..end])?;
                Ok(Some(key))
            }
            None => {
                self.choose(rest)?;
                Ok(None)
            }
        }
    }

    /// The same by what `innodb_memcache` says at this moment.
    pub(crate) fn choose_fresh(&mut self, name: &[u8]) -> Result<()> {
        self.tables.reload()?;
        self.refresh()?;
        self.choose(name)
    }

    /// Makes a mapping the connection's own.
    pub(crate) fn choose(&mut self, name: &[u8]) -> Result<()> {
        if self.config.find(name).is_none() {
            // It may have been added a moment ago.
            self.tables.reload()?;
            self.refresh()?;
        }
        let found = self.bound.iter().position(|b| b.mapping.container.name == name);
        self.current = match (found, self.config.find(name)) {
            (Some(at), _) => Some(at),
            (None, Some(container)) => {
                let container = container.clone();
                Some(self.bind_to(&container)?)
            }
            (None, None) => {
                let name = String::from_utf8_lossy(name);
                return Err(Failure::Client(format!("there is no mapping {name}")));
            }
        };
        if self.chosen.as_deref() != Some(name) {
            self.chosen = Some(name.to_vec());
        }
        Ok(())
    }

    /// The mapping the connection begins with, or the one it has chosen if that had to be forgotten.
    fn enter_default(&mut self) -> Result<()> {
        if let Some(name) = self.chosen.clone() {
            return self.choose(&name);
        }
        if self.config.first().is_none() {
            self.tables.reload()?;
            self.refresh()?;
        }
        let Some(container) = self.config.first().cloned() else {
            return Err(Failure::Server("innodb_memcache.containers is empty".into()));
        };
        let found = self.bound.iter().position(|b| b.mapping.container.name == container.name);
        self.current = Some(match found {
            Some(at) => at,
            None => self.bind_to(&container)?,
        });
        Ok(())
    }

    /// Follows changes of `innodb_memcache` and of `enable_mdl`.
    #[inline]
    fn refresh(&mut self) -> Result<()> {
        let keeps = self.tables.settings.enable_mdl.load(Ordering::Relaxed);
        if self.generation != self.tables.generation() || self.keeps_mdl != keeps {
            self.refresh_all(keeps)?;
        }
        Ok(())
    }

    #[cold]
    fn refresh_all(&mut self, keeps_mdl: bool) -> Result<()> {
        self.generation = self.tables.generation();
        self.config = self.tables.config();
        // What is open goes on; names are locked outside transactions.
        if self.keeps_mdl != keeps_mdl {
            self.commit()?;
            self.session.unlock_tables();
            self.keeps_mdl = keeps_mdl;
        }
        self.forget_mappings();
        Ok(())
    }

    fn forget_mappings(&mut self) {
        self.bound.clear();
        self.current = None;
        if self.keeps_mdl && self.batch.is_none() {
            self.session.unlock_tables();
        }
    }

    /// Opens the table of a container.
    fn bind_to(&mut self, container: &Container) -> Result<usize> {
        let name = Mapping::table_name(container)?;
        let timeout = self.tables.settings.lock_wait_timeout.load(Ordering::Relaxed);
        self.session.settings.metadata_lock_timeout = timeout;
        if self.has_joined() {
            // The definition may have to be waited for.
            self.commit()?;
        }
        if self.keeps_mdl {
            // Names are locked for longer than transactions outside of them.
            self.commit()?;
            self.session.lock_table_name(&name, MdlMode::SharedWrite).map_err(failure)?;
        }
        let table = self.session.run_detached(|s| s.table(&name)).map_err(failure)?.0;
        let mapping = Mapping::new(container, &self.config, table)?;
        let space = self.tables.space(&container.name);
        let bound = Bound::new(mapping, space).map_err(failure)?;
        self.bound.push(bound);
        Ok(self.bound.len() - 1)
    }

    /// The mapping in use.
    ///
    /// # Panics
    /// Before [`InnodbStore::enter`] was called.
    pub(crate) fn bound(&self) -> &Bound {
        &self.bound[self.current.expect("a mapping was entered")]
    }

    /// The table and its name of the mapping in use, `database/table`.
    pub(crate) fn table_name(&self) -> String {
        let container = &self.bound().mapping.container;
        format!("{}/{}", container.schema, container.table)
    }

    /// The value that was read last.
    pub(crate) fn value_buffer(&self) -> &[u8] {
        &self.buffers.value
    }

    /// What `cache_policies` says.
    #[inline]
    pub(crate) fn policies(&mut self) -> Result<Policies> {
        self.refresh()?;
        Ok(self.config.policies)
    }

    // ---- operations

    /// Runs an operation on the mapping in use: a statement, in the transaction it belongs to. What `body` has found out may be
    /// a failure of its own; if it is an engine's error its changes are taken back. It is run again if the table was changed
    /// meanwhile, before it could do anything, and after deadlocks if nothing but itself was lost.
    #[inline]
    pub(crate) fn operate<R>(
        &mut self,
        kind: Kind,
        body: impl FnMut(&mut Statement<'_>, &mut Work<'_>) -> vaquita_engine::Result<R>,
    ) -> Result<R> {
        let settings = &self.tables.settings;
        let size = match kind {
            Kind::Read(_) => settings.r_batch_size.load(Ordering::Relaxed),
            Kind::Committed => 1,
            Kind::Write => settings.w_batch_size.load(Ordering::Relaxed),
        };
        self.operate_in(kind, size, false, body)
    }

    fn operate_in<R>(
        &mut self,
        kind: Kind,
        size: u64,
        mut alone: bool,
        mut body: impl FnMut(&mut Statement<'_>, &mut Work<'_>) -> vaquita_engine::Result<R>,
    ) -> Result<R> {
        let mut tries = 0;
        loop {
            self.before(kind, size, alone)?;
            tries += 1;
            match self.attempt(&mut body) {
                Ok((value, durability)) => {
                    self.note(durability);
                    self.after(kind, size)?;
                    return Ok(value);
                }
                Err(Error::TableChanged(_) | Error::NoSuchTable(_)) if tries < TRIES => {
                    self.forget_mappings();
                    self.enter_default()?;
                }
                Err(Error::Deadlock(_)) if self.batch.is_none() && tries < TRIES => {}
                Err(Error::LockWaitTimeout | Error::MetadataLockTimeout(_)) if self.has_joined() => {
                    alone = true
                }
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    #[inline]
    fn attempt<R>(
        &mut self,
        body: &mut impl FnMut(&mut Statement<'_>, &mut Work<'_>) -> vaquita_engine::Result<R>,
    ) -> vaquita_engine::Result<(R, Durability)> {
        let Self { session, bound, current, buffers, tables, .. } = self;
        let bound = &mut bound[current.expect("a mapping was entered")];
        let mut work = Work { bound, buffers, tables };
        session.run_detached(|s| body(s, &mut work))
    }

    /// Begins a transaction, if the operation is to be part of one. `alone`: it has to wait for locks.
    #[inline]
    fn before(&mut self, kind: Kind, size: u64, alone: bool) -> Result<()> {
        match &self.batch {
            None => {}
            Some(batch) if batch.joined && (alone || kind != Kind::Write) => self.commit()?,
            Some(_) => return Ok(()),
        }
        let joins = kind == Kind::Write && size == 1 && self.together > Some(0) && !alone && self.may_join();
        let settings = &self.tables.settings;
        let own = &mut self.session.settings;
        own.lock_wait_timeout = if joins { 0 } else { settings.lock_wait_timeout.load(Ordering::Relaxed) };
        own.metadata_lock_timeout = own.lock_wait_timeout;
        own.flush_log_at_trx_commit = settings.flush_log_at_trx_commit.load(Ordering::Relaxed);
        own.isolation = settings.isolation();
        if joins {
            own.isolation = own.isolation.min(Isolation::ReadCommitted);
        }
        if size > 1 || joins {
            self.batch = Some(Batch { joined: joins, ..Batch::default() });
            self.session.begin(AccessMode::ReadWrite, false).map_err(failure)?;
        } else if kind == Kind::Committed {
            own.isolation = Isolation::ReadCommitted;
        } else if kind == Kind::Write {
            // Alone it sees one row, which it locks: gaps would only stand in the way of other new rows.
            own.isolation = own.isolation.min(Isolation::ReadCommitted);
        }
        Ok(())
    }

    /// Whether a lock that is not granted at once takes nothing back but the change that asked for it.
    fn may_join(&self) -> bool {
        !self.tables.rolls_back_on_timeout()
    }

    /// Counts an operation, and commits if there were enough.
    #[inline]
    fn after(&mut self, kind: Kind, size: u64) -> Result<()> {
        if let Some(changes) = self.together.as_mut().filter(|_| kind == Kind::Write) {
            *changes += 1;
        }
        let size = match &self.batch {
            None => return Ok(()),
            Some(batch) if batch.joined => JOINED_MAX,
            Some(_) => size,
        };
        let now = self.clock_us();
        let Some(batch) = &mut self.batch else { return Ok(()) };
        batch.used_us = now;
        let count = match kind {
            Kind::Read(n) => {
                batch.reads += n;
                batch.reads
            }
            Kind::Committed => 0,
            Kind::Write => {
                batch.writes += 1;
                batch.writes
            }
        };
        if count >= size { self.commit() } else { Ok(()) }
    }

    /// What to tell of an engine's error. A deadlock has rolled the whole transaction back, and one that cannot go on is rolled
    /// back here: the batch is over, and the client is told so.
    #[cold]
    fn failed(&mut self, error: Error) -> Failure {
        let whole = matches!(error, Error::Deadlock(_) | Error::LockTableFull(_))
            || matches!(error, Error::LockWaitTimeout) && self.rolls_back_on_timeout()
            || self.session.is_doomed();
        let (lost, joined) = match &self.batch {
            Some(batch) if whole => (batch.writes, batch.joined),
            _ => return failure(error),
        };
        self.batch = None;
        self.tables.counters.lost_batches.add(1);
        // If the engine has rolled back already, this ends the empty transaction.
        let ended = self.session.rollback();
        let mut text = format!("{error}; {lost} earlier changes of the transaction were rolled back");
        if let Err(e) = ended {
            text.push_str(&format!("; {e}"));
        }
        let failure = Failure::Busy(text);
        if joined && lost > 0 {
            self.lost = Some(failure.clone());
        }
        failure
    }

    fn rolls_back_on_timeout(&self) -> bool {
        self.tables.rolls_back_on_timeout()
    }

    /// Runs an operation as a transaction of its own, whatever the batch size; no transaction is open.
    pub(crate) fn operate_alone<R>(
        &mut self,
        kind: Kind,
        body: impl FnMut(&mut Statement<'_>, &mut Work<'_>) -> vaquita_engine::Result<R>,
    ) -> Result<R> {
        self.operate_in(kind, 1, true, body)
    }
}

/// What to tell of an engine's error.
pub(crate) fn failure(error: Error) -> Failure {
    let text = error.to_string();
    match error {
        Error::LockWaitTimeout
        | Error::Deadlock(_)
        | Error::LockNotAvailable
        | Error::LockTableFull(_)
        | Error::TooManyTransactions
        | Error::TableChanged(_)
        | Error::ViewTooOld(_)
        | Error::MetadataLockTimeout(_) => Failure::Busy(text),
        Error::RowTooBig { .. } | Error::UndoRecordTooBig(_) => Failure::TooLarge,
        Error::DuplicateKey { .. }
        | Error::NoReferencedRow { .. }
        | Error::RowIsReferenced { .. }
        | Error::NullNotAllowed { .. }
        | Error::AutoIncrementExhausted(_) => Failure::Client(text),
        _ => Failure::Server(text),
    }
}
