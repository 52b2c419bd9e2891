//! Reading: cursors over an index, with and without locks.
//!
//! A [`Cursor`] is a place in an index of a table, what it reads of the rows there, and how it locks. It borrows
//! nothing between two calls and holds no latch then; each call is given the shared state and the transaction. It is
//! placed by a key ([`Cursor::seek`]) and gives rows one by one ([`Cursor::next`], [`Cursor::prev`]) or calls a function
//! for each, with values straight from the page ([`Cursor::for_each`]).
//!
//! | part | file |
//! |---|---|
//! | the cursor and its calls | this file, `drive` |
//! | from record to record | `pass` |
//! | where a scan begins and ends | [`bound`] |
//! | which columns, where they lie, a row | `columns`, `row` |
//! | visibility without locks | `consistent` |
//! | locks | `locking` |
//! | rows fetched ahead | `batch` |
//! | the parts of a partitioned table | `merged` |
//! | one row by a unique key | [`get`] |
//! | counting, scans by several threads | [`count`](mod@count), [`parallel`] |
//! | estimates of how many rows there are | [`estimate`] |
//! | the same for a statement of a session | [`crate::session`] |
//!
//! # What is seen
//! | isolation level | reads without locks see |
//! |---|---|
//! | READ UNCOMMITTED | the newest version, committed or not |
//! | READ COMMITTED | what was committed when the statement opened its view |
//! | REPEATABLE READ, SERIALIZABLE | what was committed at the transaction's first such read |
//!
//! Changes of the transaction itself are always seen. Locking reads see the newest version.
//!
//! # Latching
//! Functions that are called for a row run under the shared latch of a leaf, and of a second one if a secondary index is
//! read: they must not call the engine.

mod batch;
pub mod bound;
mod columns;
mod consistent;
pub mod count;
mod drive;
pub mod estimate;
pub mod get;
mod locking;
mod merged;
pub mod parallel;
mod pass;
mod row;

use crate::core::Core;
use crate::error::{Error, Result};
use crate::table::{Field, Index, Table};
use batch::Batch;
use bound::{End, key_fields, set_key};
use columns::Spec;
use consistent::Snapshot;
use locking::Held;
use merged::Merged;
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_btree::{CursorState, OwnedKey};
use vaquita_txn::lock::WaitPolicy;
use vaquita_txn::{Isolation, Trx};

pub use bound::{Direction, Seek};
pub use consistent::Scratch;
pub use get::PointRead;
pub use row::RowRef;

/// What reading does about locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ReadLock {
    /// Nothing: a consistent read (dirty in READ UNCOMMITTED, S locks in SERIALIZABLE transactions).
    #[default]
    None,
    /// S locks (LOCK IN SHARE MODE).
    Shared,
    /// X locks (FOR UPDATE, UPDATE, DELETE).
    Exclusive,
}

/// How a cursor reads.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Which index, 0 is the clustered one.
    pub index: usize,
    /// Locks.
    pub lock: ReadLock,
    /// What is done if a lock is not free.
    pub wait: WaitPolicy,
    /// Table positions of the wanted columns, in the order in which rows show them; `None`: all.
    pub columns: Option<Vec<usize>>,
}

impl ReadOptions {
    /// Reads all columns by an index, without locks.
    pub fn by_index(index: usize) -> Self {
        Self { index, ..Self::default() }
    }

    /// With locks.
    #[must_use]
    pub fn locking(mut self, lock: ReadLock) -> Self {
        self.lock = lock;
        self
    }

    /// These columns only.
    #[must_use]
    pub fn columns(mut self, columns: impl Into<Vec<usize>>) -> Self {
        self.columns = Some(columns.into());
        self
    }

    /// With this policy for locks that are not free.
    #[must_use]
    pub fn wait(mut self, wait: WaitPolicy) -> Self {
        self.wait = wait;
        self
    }
}

/// Where the next fetch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// Where the last one ended.
    Here,
    /// Before the first record.
    First,
    /// Behind the last record.
    Last,
    /// Around the start key.
    Key(Seek),
    /// At the row given last, whose index key is the start key.
    Row,
}

/// A place in an index of a table, and how it reads.
#[derive(Debug)]
pub struct Cursor {
    spec: Spec,
    lock: ReadLock,
    wait: WaitPolicy,
    semi_consistent: bool,
    row_at_end: bool,
    start: Start,
    start_key: OwnedKey,
    /// Whether the scan is for records equal to the start key.
    equal: Option<OwnedKey>,
    /// Whether at most one row can be equal to it.
    unique: bool,
    lower: Option<End>,
    upper: Option<End>,
    place: CursorState,
    /// The direction in which nothing more is to be found.
    ended: Option<Direction>,
    batch: Batch,
    batch_dir: Direction,
    /// Whether the caller knows that the scan has ended.
    end_told: bool,
    /// An error left it nowhere.
    lost: bool,
    held: Held,
    scratch: Scratch,
    /// Those of the parts, if the table is partitioned: they read.
    parts: Option<Box<Merged>>,
}

impl Cursor {
    /// Bytes it keeps from one scan to the next, besides itself: of the rows it read last.
    pub fn memory(&self) -> usize {
        self.batch.memory() + self.parts.as_ref().map_or(0, |parts| parts.memory())
    }

    /// A cursor before the first record.
    ///
    /// # Errors
    /// If there is no such index or column.
    pub fn open(table: Arc<Table>, options: &ReadOptions) -> Result<Cursor> {
        Ok(Cursor {
            parts: Merged::new(&table, options),
            spec: Spec::new(table, options.index, options.columns.as_deref())?,
            lock: options.lock,
            wait: options.wait,
            semi_consistent: false,
            row_at_end: false,
            start: Start::First,
            start_key: OwnedKey::default(),
            equal: None,
            unique: false,
            lower: None,
            upper: None,
            place: CursorState::default(),
            ended: None,
            batch: Batch::default(),
            batch_dir: Direction::Forward,
            end_told: false,
            lost: false,
            held: Held::default(),
            scratch: Scratch::default(),
        })
    }

    /// It will give all rows, or a large part of them, forwards: their pages are read before it comes to them.
    #[must_use]
    pub(crate) fn reading_ahead(mut self) -> Cursor {
        self.place = self.place.reading_ahead();
        self
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.spec.table
    }

    /// The index.
    pub fn index(&self) -> &Arc<Index> {
        &self.spec.index
    }

    /// What it does about locks.
    pub fn lock(&self) -> ReadLock {
        self.lock
    }

    /// Sets what it does about locks.
    pub(crate) fn set_lock(&mut self, lock: ReadLock) {
        self.lock = lock;
    }

    /// Whether rows that others have locked are shown in their last committed version, to be locked if they are wanted
    /// ([`Cursor::lock_current`]): for UPDATE in READ COMMITTED. Works on the clustered index, for locking reads without
    /// gaps; otherwise nothing changes.
    pub fn set_semi_consistent(&mut self, on: bool) {
        self.semi_consistent = on;
    }

    /// Whether the row of the first entry of a secondary index beyond the range is locked too, as somebody would who looks at
    /// the row to see that it is beyond. Like any row that is not wanted it is unlocked where gaps are not locked.
    pub fn set_row_at_end(&mut self, on: bool) {
        self.row_at_end = on;
    }

    fn place_at(&mut self, start: Start) {
        self.start = start;
        self.equal = None;
        self.unique = false;
        (self.lower, self.upper) = (None, None);
        self.ended = None;
        self.end_told = false;
        self.lost = false;
        self.batch.reset();
        self.held = Held::default();
        if let Some(parts) = &mut self.parts {
            parts.unplace();
        }
    }

    /// Placed as the cursor of the whole table is, of which this one's is a part.
    fn place_as(&mut self, whole: &Cursor) {
        self.place_at(whole.start);
        self.start_key.clone_from(&whole.start_key);
        self.equal.clone_from(&whole.equal);
        self.unique = whole.unique;
        self.lower.clone_from(&whole.lower);
        self.upper.clone_from(&whole.upper);
        (self.lock, self.wait) = (whole.lock, whole.wait);
        (self.semi_consistent, self.row_at_end) = (whole.semi_consistent, whole.row_at_end);
    }

    /// Which parts of a partitioned table are read; `None`: all. It must be placed before it is read.
    pub fn set_parts(&mut self, wanted: Option<&[usize]>) {
        if let Some(parts) = &mut self.parts {
            parts.read(wanted);
        }
    }

    /// Whether rows of a partitioned table come in the order of the index; otherwise part after part, and in one direction only. It must be placed
    /// before it is read.
    pub fn set_ordered(&mut self, on: bool) {
        if let Some(parts) = &mut self.parts {
            parts.set_ordered(on);
        }
    }

    /// What the cursors of the parts do for this one; after an error it is nowhere.
    fn by_parts<R>(&mut self, work: impl FnOnce(&mut Merged, &Cursor) -> Result<R>) -> Result<R> {
        if self.lost {
            return Err(Error::WrongState("the cursor has lost its place by an error: seek again"));
        }
        let mut parts = self.parts.take().expect("it is asked for cursors of parts");
        let done = work(&mut parts, self);
        self.parts = Some(parts);
        self.lost = done.is_err();
        done
    }

    /// Copies the index key of the row given last.
    fn key_at(&self, out: &mut OwnedKey) {
        if let Some(row) = self.batch.current() {
            self.batch.key_of(row, &self.spec.index, out);
        }
    }

    /// Goes before the first record; bounds are gone.
    pub fn seek_first(&mut self) {
        self.place_at(Start::First);
    }

    /// Goes behind the last record; bounds are gone.
    pub fn seek_last(&mut self) {
        self.place_at(Start::Last);
    }

    /// Goes to the edge of the records that the key asks for; bounds are gone. The first fetch gives the first of them:
    /// [`Cursor::next`] after `>=`, `>` and `=`, [`Cursor::prev`] after `<=`, `<` and `=`. The key holds the first
    /// fields of the index, in stored form. Nothing is read yet.
    ///
    /// # Errors
    /// If the key has more fields than order the index.
    pub fn seek(&mut self, key: &[Field<'_>], mode: Seek) -> Result<()> {
        self.spec.table.check_order(&self.spec.index)?;
        self.place_at(Start::Key(mode));
        set_key(&self.spec.index, key, &mut self.start_key)?;
        if mode == Seek::Equal {
            self.unique = bound::is_unique_key(&self.spec.index, &key_fields(&self.spec.index, key)?);
            self.equal = Some(self.start_key.clone());
        }
        Ok(())
    }

    /// Where a scan forwards ends. A locking read locks the first record beyond, as it must be looked at.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn set_upper(&mut self, key: &[Field<'_>], inclusive: bool) -> Result<()> {
        self.spec.table.check_order(&self.spec.index)?;
        let mut end = End { inclusive, ..End::default() };
        set_key(&self.spec.index, key, &mut end.key)?;
        self.upper = Some(end);
        Ok(())
    }

    /// Where a scan backwards ends.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn set_lower(&mut self, key: &[Field<'_>], inclusive: bool) -> Result<()> {
        self.spec.table.check_order(&self.spec.index)?;
        let mut end = End { inclusive, ..End::default() };
        set_key(&self.spec.index, key, &mut end.key)?;
        self.lower = Some(end);
        Ok(())
    }

    /// The next row in the order of the index; `None` at the end of the index or of the range.
    ///
    /// # Errors
    /// Those of locks and waits, errors of pages, damage, [`crate::Error::Interrupted`]. The cursor must be placed anew
    /// then.
    pub fn next<'a>(&'a mut self, core: &'a Core, trx: &mut Trx) -> Result<Option<RowRef<'a>>> {
        self.fetch(core, trx, Direction::Forward)
    }

    /// The row before.
    ///
    /// # Errors
    /// As [`Cursor::next`].
    pub fn prev<'a>(&'a mut self, core: &'a Core, trx: &mut Trx) -> Result<Option<RowRef<'a>>> {
        self.fetch(core, trx, Direction::Backward)
    }

    /// The row that [`Cursor::next`] or [`Cursor::prev`] gave last, once more: borrowed of the cursor alone, so that others
    /// can be read while it is looked at.
    pub fn current<'a>(&'a self, core: &'a Core) -> Option<RowRef<'a>> {
        if let Some(parts) = &self.parts {
            return parts.present()?.current(core);
        }
        self.batch.current().map(|row| self.batch_row(core, row))
    }

    /// Calls `each` for the following rows, until it breaks or the range ends. Whether it broke; the cursor is on that row
    /// then.
    ///
    /// # Errors
    /// As [`Cursor::next`].
    ///
    /// # Latching
    /// `each` runs under latches; see the module.
    pub fn for_each(
        &mut self,
        core: &Core,
        trx: &mut Trx,
        dir: Direction,
        mut each: impl FnMut(&RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<bool> {
        if self.parts.is_some() {
            return self.by_parts(|parts, whole| parts.for_each(whole, core, trx, dir, &mut each));
        }
        self.turn(dir);
        // Rows fetched ahead come first.
        while self.batch_dir == dir && self.batch.has_more() {
            let row = self.batch.give().expect("it has more");
            if each(&self.batch_row(core, row)).is_break() {
                return Ok(true);
            }
        }
        self.batch_dir = dir;
        self.scan(core, trx, dir, &mut each)
    }

    fn fetch<'a>(&'a mut self, core: &'a Core, trx: &mut Trx, dir: Direction) -> Result<Option<RowRef<'a>>> {
        if self.parts.is_some() {
            self.by_parts(|parts, whole| parts.step(whole, core, trx, dir))?;
            return Ok(self.current(core));
        }
        self.turn(dir);
        if self.batch_dir != dir || !self.batch.has_more() {
            self.fill(core, trx, dir)?;
        }
        match self.batch.give() {
            Some(row) => Ok(Some(self.batch_row(core, row))),
            None => {
                self.end_told = true;
                Ok(None)
            }
        }
    }

    fn batch_row<'a>(&'a self, core: &'a Core, row: usize) -> RowRef<'a> {
        let semi = self.batch.semi_consistent;
        RowRef::of_batch(core, &self.spec.table, &self.spec.index, &self.batch, row, semi)
    }

    /// Fetches rows ahead: one with locks, more and more without.
    fn fill(&mut self, core: &Core, trx: &mut Trx, dir: Direction) -> Result<()> {
        let mut batch = std::mem::take(&mut self.batch);
        let n_key = self.spec.index.def().n_uniq_in_tree();
        let mut rows = batch.begin(self.spec.n_columns(), n_key);
        if self.lock != ReadLock::None {
            rows = 1;
        }
        let whole = trx.isolation() == Isolation::ReadUncommitted && self.lock == ReadLock::None;
        self.batch_dir = dir;
        let mut failed = None;
        let scanned = self.scan(core, trx, dir, &mut |row| match batch.push(row, whole) {
            Ok(()) if batch.is_full(rows) => ControlFlow::Break(()),
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                failed = Some(e);
                ControlFlow::Break(())
            }
        });
        self.batch = batch;
        match (scanned, failed) {
            (Err(e), _) | (Ok(_), Some(e)) => Err(e),
            (Ok(_), None) => Ok(()),
        }
    }

    /// Prepares to go on in a direction: if it was the other one until now and the cursor had read ahead, it goes back to
    /// the row that was given last.
    fn turn(&mut self, dir: Direction) {
        if self.batch_dir == dir {
            return;
        }
        let ahead = self.batch.has_more() || self.ended.is_some() && !self.end_told;
        if let Some(row) = self.batch.current().filter(|_| ahead) {
            self.batch.key_of(row, &self.spec.index, &mut self.start_key);
            self.start = Start::Row;
        }
        if self.ended != Some(dir) {
            self.ended = None;
        }
        self.end_told = false;
        self.batch.reset();
    }
}

/// What reads of a table without locks see in a transaction. A temporary table has no other versions than its session's.
#[inline]
fn snapshot(core: &Core, trx: &mut Trx, table: &Table) -> Snapshot {
    match trx.isolation() {
        _ if table.is_temporary() => Snapshot::Dirty,
        Isolation::ReadUncommitted => Snapshot::Dirty,
        _ => Snapshot::View(core.txn.read_view(trx)),
    }
}

/// Locking reads see the newest versions, but a transaction that has a read view does not mix it with a table that is younger.
///
/// # Errors
/// [`Error::ViewTooOld`].
#[inline]
fn check_view(core: &Core, trx: &Trx, table: &Table, index: &Index) -> Result<()> {
    match trx.view() {
        _ if table.is_temporary() => Ok(()),
        Some(view) if !view.sees(&core.txn, index.trx_id) => Err(Error::ViewTooOld(table.name.clone())),
        _ => Ok(()),
    }
}

/// Whether an index has entries for all versions that may be seen: it is older than the view.
fn is_old_enough(core: &Core, index: &Index, snapshot: &Snapshot) -> bool {
    match snapshot {
        Snapshot::Dirty => true,
        Snapshot::View(view) => view.sees(&core.txn, index.trx_id),
    }
}
