//! One row by a unique key: the shortest way from a key to the bytes of a row.
//!
//! Without locks and by the clustered key this is one descent and a look at the record, with nothing remembered and
//! nothing allocated.

use super::ReadOptions;
use super::bound::{Direction, Limit, is_unique_key, key_fields};
use super::columns::Spec;
use super::consistent::Scratch;
use super::drive::intention;
use super::locking::{Held, LockRead};
use super::pass::{LockPass, Pass};
use super::row::RowRef;
use super::{ReadLock, is_old_enough, snapshot};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::lock::lock_table;
use crate::table::{Field, Table};
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_btree::Cursor as Walk;
use vaquita_format::index_page::SearchMode;
use vaquita_format::tuple::Tuple;
use vaquita_txn::{Isolation, LockMode, Trx};

/// Reads rows of a table by a unique key, one at a time. Prepared once, used many times.
#[derive(Debug)]
pub struct PointRead {
    spec: Spec,
    options: ReadOptions,
    scratch: Scratch,
}

impl PointRead {
    /// Prepares reading by the unique index that `options` names.
    ///
    /// # Errors
    /// If there is no such index or column, or the index is not unique.
    pub fn new(table: Arc<Table>, options: ReadOptions) -> Result<PointRead> {
        let spec = Spec::new(table, options.index, options.columns.as_deref())?;
        if !spec.index.is_unique() && !spec.index.is_clustered() {
            return Err(Error::WrongState("rows are read one by one by unique indexes only"));
        }
        Ok(PointRead { spec, options, scratch: Scratch::default() })
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.spec.table
    }

    /// What it does about locks.
    pub fn lock(&self) -> ReadLock {
        self.options.lock
    }

    /// Calls `row` for the row whose unique key is `key`; `None` if there is none to be seen. All fields of the key are
    /// given, none is NULL.
    ///
    /// # Errors
    /// Those of locks and waits, errors of pages, damage; a key that is not whole.
    ///
    /// # Latching
    /// `row` runs under latches: it must not call the engine.
    #[inline]
    pub fn get<R>(
        &mut self,
        core: &Core,
        trx: &mut Trx,
        key: &[Field<'_>],
        row: impl FnOnce(&RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        self.get_with(core, trx, self.options.lock, key, row)
    }

    /// The same with another lock than was asked for.
    #[inline]
    pub(crate) fn get_with<R>(
        &mut self,
        core: &Core,
        trx: &mut Trx,
        lock: ReadLock,
        key: &[Field<'_>],
        row: impl FnOnce(&RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let index = &self.spec.index;
        let key = key_fields(index, key)?;
        if !is_unique_key(index, &key) {
            return Err(Error::WrongState("rows are read one by one by whole unique keys without NULL only"));
        }
        if lock != ReadLock::None {
            let mode = match lock {
                ReadLock::Exclusive => LockMode::Exclusive,
                _ => LockMode::Shared,
            };
            let found = self.get_locking(core, trx, mode, &Tuple::new(&key), row)?;
            core.metrics.rows_read.add(u64::from(found.is_some()));
            return Ok(found);
        }
        let snapshot = snapshot(core, trx);
        if !is_old_enough(core, index, &snapshot) {
            return Err(Error::TableChanged(self.spec.table.name.clone()));
        }
        let source = self.spec.source(core, trx.shared());
        let scratch = &mut self.scratch;
        if index.is_clustered() {
            let found = index.tree.lookup(&core.storage, &Tuple::new(&key), |record| {
                source.visit(record, false, &snapshot, scratch, |seen| row(&seen))
            })?;
            let found = found.transpose()?.flatten();
            core.metrics.rows_read.add(u64::from(found.is_some()));
            return Ok(found);
        }
        let mut walk = Walk::new(&index.tree, &core.storage);
        walk.place(&Tuple::new(&key), SearchMode::GreaterOrEqual)?;
        let mut once = Once::new(row);
        let pass = Pass { source, snapshot: &snapshot, limit: Limit::Equal(key), unique: true };
        pass.forward(&mut walk, scratch, &mut |seen| once.call(seen))?;
        core.metrics.rows_read.add(u64::from(once.result.is_some()));
        Ok(once.result)
    }

    fn get_locking<R>(
        &mut self,
        core: &Core,
        trx: &Trx,
        mode: LockMode,
        key: &Tuple<'_>,
        row: impl FnOnce(&RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        lock_table(core, trx, &self.spec.table, intention(mode))?;
        let gaps = trx.isolation() >= Isolation::RepeatableRead;
        let how = LockRead {
            mode,
            policy: self.options.wait,
            gaps,
            unique: true,
            semi_consistent: false,
            waited: false,
        };
        let mut walk = Walk::new(&self.spec.index.tree, &core.storage);
        walk.place(key, SearchMode::GreaterOrEqual)?;
        let mut once = Once::new(row);
        let mut pass = LockPass {
            source: self.spec.source(core, trx.shared()),
            trx,
            how,
            limit: Limit::Equal(key.fields().iter().copied().collect()),
            from_key: Some(key.fields().iter().copied().collect()),
            scratch: &mut self.scratch,
            held: &mut Held::default(),
        };
        pass.run(&mut walk, Direction::Forward, true, &mut |seen| once.call(seen))?;
        Ok(once.result)
    }
}

/// A function that is called at most once, where several calls are possible by type.
struct Once<F, R> {
    function: Option<F>,
    result: Option<R>,
}

impl<R, F: FnOnce(&RowRef<'_>) -> R> Once<F, R> {
    fn new(function: F) -> Self {
        Self { function: Some(function), result: None }
    }

    fn call(&mut self, row: &RowRef<'_>) -> ControlFlow<()> {
        if let Some(function) = self.function.take() {
            self.result = Some(function(row));
        }
        ControlFlow::Break(())
    }
}
