//! One row by a unique key: the shortest way from a key to the bytes of a row.
//!
//! Without locks and by the clustered key this is one descent and a look at the record, with nothing remembered and
//! nothing allocated. Many keys together share what can be shared, and wait for memory together.

use super::ReadOptions;
use super::bound::{Direction, Limit, is_unique_key, key_fields};
use super::columns::Spec;
use super::consistent::Scratch;
use super::drive::intention;
use super::locking::{Held, LockRead};
use super::merged::PartReads;
use super::pass::{LockPass, Pass};
use super::row::RowRef;
use super::{ReadLock, check_view, is_old_enough, snapshot};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::lock::lock_table;
use crate::table::{Field, Table};
use smallvec::SmallVec;
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_btree::{Cursor as Walk, LOOKUP_GROUP};
use vaquita_format::index_page::SearchMode;
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_storage::buf::assert_no_page_latched;
use vaquita_txn::{Isolation, LockMode, Trx};

const NOT_WHOLE: Error = Error::WrongState("rows are read one by one by whole unique keys without NULL only");

/// Reads rows of a table by a unique key. Prepared once, used many times.
#[derive(Debug)]
pub struct PointRead {
    spec: Spec,
    options: ReadOptions,
    scratch: Scratch,
    /// Those of the parts, if the table is partitioned: they read.
    parts: Option<PartReads>,
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
        spec.table.check_order(&spec.index)?;
        let parts = PartReads::new(&spec.table);
        Ok(PointRead { spec, options, scratch: Scratch::default(), parts })
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.spec.table
    }

    /// Which parts of a partitioned table are read; `None`: all.
    pub fn set_parts(&mut self, wanted: Option<&[usize]>) {
        if let Some(parts) = &mut self.parts {
            parts.wanted = wanted.map(<[usize]>::to_vec);
        }
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
        assert_no_page_latched("a row is looked for");
        let index = &self.spec.index;
        if let Some(parts) = &mut self.parts {
            let of = (&self.spec.table, &**index);
            return parts.get(of, &self.options, (core, trx, lock), key, row);
        }
        self.get_alone(core, trx, lock, key, row)
    }

    /// The same of a table without parts.
    #[inline]
    pub(super) fn get_alone<R>(
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
            return Err(NOT_WHOLE);
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
        let snapshot = snapshot(core, trx, &self.spec.table);
        if !is_old_enough(core, index, &snapshot) {
            return Err(Error::ViewTooOld(self.spec.table.name.clone()));
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

    /// Calls `row` for each key in turn, with its number and its row if there is one to be seen; until it breaks. Keys are as for
    /// [`PointRead::get`]. Without locks and by the clustered key they are looked up together.
    ///
    /// # Errors
    /// As for [`PointRead::get`]; `row` was called for the keys before.
    ///
    /// # Latching
    /// `row` runs under latches: it must not call the engine.
    pub(crate) fn get_many_with<'k, K: AsRef<[Field<'k>]>>(
        &mut self,
        core: &Core,
        trx: &mut Trx,
        lock: ReadLock,
        keys: &[K],
        mut row: impl FnMut(usize, Option<&RowRef<'_>>) -> ControlFlow<()>,
    ) -> Result<()> {
        assert_no_page_latched("rows are looked for");
        if lock != ReadLock::None || !self.spec.index.is_clustered() || self.parts.is_some() {
            for (i, key) in keys.iter().enumerate() {
                let shown = self.get_with(core, trx, lock, key.as_ref(), |seen| row(i, Some(seen)))?;
                if shown.unwrap_or_else(|| row(i, None)).is_break() {
                    break;
                }
            }
            return Ok(());
        }
        let index = &self.spec.index;
        let snapshot = snapshot(core, trx, &self.spec.table);
        if !is_old_enough(core, index, &snapshot) {
            return Err(Error::ViewTooOld(self.spec.table.name.clone()));
        }
        let source = self.spec.source(core, trx.shared());
        let scratch = &mut self.scratch;
        let n_fields = index.def().n_uniq();
        let mut read = 0;
        for (group, keys) in keys.chunks(LOOKUP_GROUP).enumerate() {
            source.check_interrupt()?;
            let mut fields: SmallVec<[TupleField<'_>; 2 * LOOKUP_GROUP]> = SmallVec::new();
            for key in keys {
                let key = key_fields(index, key.as_ref())?;
                if !is_unique_key(index, &key) {
                    return Err(NOT_WHOLE);
                }
                fields.extend(key);
            }
            let tuples: SmallVec<[Tuple<'_>; LOOKUP_GROUP]> =
                fields.chunks(n_fields).map(Tuple::new).collect();
            let mut failed = None;
            let all = index.tree.lookup_many(&core.storage, &tuples, |i, record| {
                let i = group * LOOKUP_GROUP + i;
                let seen = record.map_or(Ok(None), |record| {
                    source.visit(record, false, &snapshot, scratch, |seen| row(i, Some(&seen)))
                });
                match seen {
                    Ok(Some(flow)) => {
                        read += 1;
                        flow
                    }
                    Ok(None) => row(i, None),
                    Err(error) => {
                        failed = Some(error);
                        ControlFlow::Break(())
                    }
                }
            })?;
            if let Some(error) = failed {
                return Err(error);
            }
            if !all {
                break;
            }
        }
        core.metrics.rows_read.add(read);
        Ok(())
    }

    fn get_locking<R>(
        &mut self,
        core: &Core,
        trx: &Trx,
        mode: LockMode,
        key: &Tuple<'_>,
        row: impl FnOnce(&RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        check_view(core, trx, &self.spec.table, &self.spec.index)?;
        lock_table(core, trx, &self.spec.table, intention(mode))?;
        let gaps = trx.isolation() >= Isolation::RepeatableRead;
        let how = LockRead {
            mode,
            policy: self.options.wait,
            gaps,
            unique: true,
            semi_consistent: false,
            row_at_end: false,
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
