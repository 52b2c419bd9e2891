//! Reading in a statement of a session.
//!
//! The session decides one thing more than the transaction: in SERIALIZABLE a plain read takes S locks, unless the
//! statement is a transaction of its own, which is serializable as it is.

use super::Statement;
use crate::cursor::count::count;
use crate::cursor::estimate::{Bound, estimate_per_key, estimate_range, estimate_rows};
use crate::cursor::get::PointRead;
use crate::cursor::parallel::parallel_scan;
use crate::cursor::{Cursor, Direction, ReadLock, ReadOptions, RowRef};
use crate::error::Result;
use crate::fulltext::Settled;
use crate::mdl::MdlMode;
use crate::table::{Field, Table};
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_txn::Isolation;

/// A visitor of rows as a trait object in builds with assertions, as it is in others.
///
/// Everything from here down to the pages is generic over the visitor. In optimized builds the compiler makes one loop of both. Builds with
/// assertions gain nothing from that, and tests have hundreds of visitors: each would compile a copy of the whole way.
macro_rules! without_copies {
    ($visitor:expr, $trait_object:ty) => {{
        #[cfg(debug_assertions)]
        let visitor: &mut $trait_object = $visitor;
        #[cfg(not(debug_assertions))]
        let visitor = $visitor;
        visitor
    }};
}

impl Statement<'_> {
    /// What a read does about locks here, if it asks for `wanted`.
    #[inline]
    pub fn effective_lock(&self, wanted: ReadLock) -> ReadLock {
        let serializable = wanted == ReadLock::None
            && self.session.trx.isolation() == Isolation::Serializable
            && !self.session.is_own_transaction();
        if serializable { ReadLock::Shared } else { wanted }
    }

    /// Makes sure that a table opened earlier is still the one of its name, and keeps its definition from changing until the
    /// transaction ends.
    ///
    /// # Errors
    /// The table has changed; the metadata lock was not granted in time.
    #[inline]
    pub fn hold_table(&mut self, table: &Arc<Table>, mode: MdlMode) -> Result<()> {
        self.session.use_table(table, mode)
    }

    /// A cursor before the first record of an index. It may be kept and placed anew by later statements of the same
    /// session; what it locks is decided here. Rows it has fetched ahead are of the view they were fetched under.
    ///
    /// # Errors
    /// If there is no such index or column.
    pub fn cursor(&mut self, table: &Arc<Table>, options: &ReadOptions) -> Result<Cursor> {
        self.session.use_table(table, MdlMode::SharedRead)?;
        let mut cursor = Cursor::open(table.clone(), options)?;
        cursor.set_lock(self.effective_lock(options.lock));
        Ok(cursor)
    }

    /// The next row of a cursor; see [`Cursor::next`].
    ///
    /// # Errors
    /// As there.
    pub fn next<'a>(&'a mut self, cursor: &'a mut Cursor) -> Result<Option<RowRef<'a>>> {
        self.session.use_table(cursor.table(), MdlMode::SharedRead)?;
        let (core, trx) = self.parts();
        cursor.next(core, trx)
    }

    /// The row before; see [`Cursor::prev`].
    ///
    /// # Errors
    /// As there.
    pub fn prev<'a>(&'a mut self, cursor: &'a mut Cursor) -> Result<Option<RowRef<'a>>> {
        self.session.use_table(cursor.table(), MdlMode::SharedRead)?;
        let (core, trx) = self.parts();
        cursor.prev(core, trx)
    }

    /// Calls `each` for the following rows; see [`Cursor::for_each`].
    ///
    /// # Errors
    /// As there.
    pub fn for_each(
        &mut self,
        cursor: &mut Cursor,
        dir: Direction,
        mut each: impl FnMut(&RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<bool> {
        let each = without_copies!(&mut each, dyn FnMut(&RowRef<'_>) -> ControlFlow<()>);
        self.session.use_table(cursor.table(), MdlMode::SharedRead)?;
        let (core, trx) = self.parts();
        cursor.for_each(core, trx, dir, each)
    }

    /// Gives back the locks of a row that is not wanted; see [`Cursor::unlock_row`].
    ///
    /// # Errors
    /// As there.
    pub fn unlock_row(&mut self, cursor: &mut Cursor) -> Result<()> {
        let (core, trx) = self.parts();
        cursor.unlock_row(core, trx)
    }

    /// Locks a row that was shown semi-consistently; see [`Cursor::lock_current`].
    ///
    /// # Errors
    /// As there.
    pub fn lock_current<'a>(&'a mut self, cursor: &'a mut Cursor) -> Result<Option<RowRef<'a>>> {
        self.session.use_table(cursor.table(), MdlMode::SharedRead)?;
        let (core, trx) = self.parts();
        cursor.lock_current(core, trx)
    }

    /// One row by a unique key; see [`PointRead::get`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn get<R>(
        &mut self,
        read: &mut PointRead,
        key: &[Field<'_>],
        row: impl FnOnce(&RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        self.session.use_table(read.table(), MdlMode::SharedRead)?;
        let lock = self.effective_lock(read.lock());
        let (core, trx) = self.parts();
        let (mut row, mut shown) = (Some(row), None);
        let mut show = |seen: &RowRef<'_>| shown = row.take().map(|row| row(seen));
        read.get_with(core, trx, lock, key, without_copies!(&mut show, dyn FnMut(&RowRef<'_>)))?;
        Ok(shown)
    }

    /// Rows by unique keys, in one visit of the table: calls `row` for each key in turn, with its number and its row if there is
    /// one to be seen, until it breaks.
    ///
    /// # Errors
    /// As for [`PointRead::get`]; `row` was called for the keys before.
    ///
    /// # Latching
    /// `row` runs under latches: it must not call the engine.
    pub fn get_many<'k, K: AsRef<[Field<'k>]>>(
        &mut self,
        read: &mut PointRead,
        keys: &[K],
        mut row: impl FnMut(usize, Option<&RowRef<'_>>) -> ControlFlow<()>,
    ) -> Result<()> {
        let row = without_copies!(&mut row, dyn FnMut(usize, Option<&RowRef<'_>>) -> ControlFlow<()>);
        self.session.use_table(read.table(), MdlMode::SharedRead)?;
        let lock = self.effective_lock(read.lock());
        let (core, trx) = self.parts();
        read.get_many_with(core, trx, lock, keys, row)
    }

    /// Opens the view of the transaction, if it reads without locks: a full-text search that comes after it finds what is committed by then.
    pub fn begin_reading(&mut self) {
        if self.effective_lock(ReadLock::None) == ReadLock::None
            && self.session.trx.isolation() != Isolation::ReadUncommitted
        {
            let (core, trx) = self.parts();
            core.txn.read_view(trx);
        }
    }

    /// Whether the rows that a full-text search found are those that are to be seen, all of them, so that none has to be looked at:
    /// nobody was changing documents when it began, and the view, which is older ([`Statement::begin_reading`]), sees all changes before.
    pub fn sees_found(&self, settled: Option<Settled>) -> bool {
        let is_plain = self.effective_lock(ReadLock::None) == ReadLock::None;
        let view = self.session.trx.view().filter(|_| is_plain);
        matches!((view, settled), (Some(view), Some(Settled(last))) if view.sees_all_up_to(last))
    }

    /// The number of rows of a table. In SERIALIZABLE transactions every row is locked.
    ///
    /// # Errors
    /// Errors of locks and waits, errors of pages, damage.
    pub fn count(&mut self, table: &Arc<Table>) -> Result<u64> {
        self.session.use_table(table, MdlMode::SharedRead)?;
        if self.effective_lock(ReadLock::None) == ReadLock::None {
            let (core, trx) = self.parts();
            return count(core, trx, table);
        }
        let mut cursor = self.cursor(table, &ReadOptions::default().columns([]))?;
        let mut rows = 0;
        self.for_each(&mut cursor, Direction::Forward, |_| {
            rows += 1;
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }

    /// Takes a cursor up again that another statement has left, perhaps one of another session: it is as
    /// [`Statement::cursor`] would make it, but what it has allocated is still there. It must be placed before it is read.
    ///
    /// # Errors
    /// The table has changed; the metadata lock was not granted in time.
    pub fn reuse_cursor(&mut self, cursor: &mut Cursor, lock: ReadLock) -> Result<()> {
        self.session.use_table(cursor.table(), MdlMode::SharedRead)?;
        cursor.set_lock(self.effective_lock(lock));
        cursor.set_semi_consistent(false);
        cursor.set_row_at_end(false);
        cursor.seek_first();
        Ok(())
    }

    /// About how many records of an index lie between two bounds; see [`estimate_range`].
    ///
    /// # Errors
    /// As there.
    pub fn estimate_range(
        &mut self,
        table: &Arc<Table>,
        those: Option<&[usize]>,
        index: usize,
        lower: Bound<'_>,
        upper: Bound<'_>,
    ) -> Result<u64> {
        self.session.use_table(table, MdlMode::SharedRead)?;
        estimate_range(self.parts().0, table, those, index, lower, upper)
    }

    /// About how many rows a table has, or those of its parts; see [`estimate_rows`].
    ///
    /// # Errors
    /// As there.
    pub fn estimate_rows(&mut self, table: &Arc<Table>, those: Option<&[usize]>) -> Result<u64> {
        self.session.use_table(table, MdlMode::SharedRead)?;
        estimate_rows(self.parts().0, table, those)
    }

    /// About how many records share the first `n` fields of an index; see [`estimate_per_key`].
    ///
    /// # Errors
    /// As there.
    pub fn estimate_per_key(&mut self, table: &Arc<Table>, index: usize, n: usize) -> Result<f64> {
        self.session.use_table(table, MdlMode::SharedRead)?;
        estimate_per_key(self.parts().0, table, index, n)
    }

    /// Scans an index by several threads; see [`parallel_scan`].
    ///
    /// # Errors
    /// As there; a plain read in a SERIALIZABLE transaction locks, so it is refused.
    pub fn parallel_scan(
        &mut self,
        table: &Arc<Table>,
        options: &ReadOptions,
        threads: usize,
        each: impl Fn(usize, &RowRef<'_>) -> ControlFlow<()> + Sync,
    ) -> Result<bool> {
        self.session.use_table(table, MdlMode::SharedRead)?;
        let options = ReadOptions { lock: self.effective_lock(options.lock), ..options.clone() };
        let (core, trx) = self.parts();
        parallel_scan(core, trx, table, &options, threads, each)
    }
}
