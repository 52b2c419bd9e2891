//! Statements: the unit that is rolled back when it fails. Reading is in [`super::reading`].

use super::Session;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::mdl::MdlMode;
use crate::routed;
use crate::row::WriteOptions;
use crate::table::{Field, RowKey, Table, Unmaintained};
use std::sync::Arc;
use vaquita_base::TableId;
use vaquita_txn::{AccessMode, LockMode, Trx, TrxState};

/// A statement of a session.
#[derive(Debug)]
pub struct Statement<'s> {
    pub(crate) session: &'s mut Session,
}

impl Statement<'_> {
    /// The session.
    pub fn session(&mut self) -> &mut Session {
        self.session
    }

    /// What works on rows: the shared state and the transaction.
    #[inline]
    pub(crate) fn parts(&mut self) -> (&Core, &mut Trx) {
        debug_assert_ne!(
            self.session.trx.state(),
            TrxState::NotStarted,
            "a statement is part of a transaction"
        );
        (&self.session.core, &mut self.session.trx)
    }

    /// Opens a table to read it and keeps its definition from changing until the transaction ends.
    ///
    /// # Errors
    /// No such table, it cannot be used, a metadata lock was not granted in time.
    pub fn table(&mut self, name: &str) -> Result<Arc<Table>> {
        self.table_for(name, MdlMode::SharedRead)
    }

    /// Opens a table under a metadata lock of that strength.
    ///
    /// # Errors
    /// As [`Statement::table`].
    pub fn table_for(&mut self, name: &str, mode: MdlMode) -> Result<Arc<Table>> {
        self.session.check_sound()?;
        match self.session.temporary_table(name) {
            Some(table) => Ok(table.clone()),
            None => self.base_table_for(name, mode),
        }
    }

    /// Makes sure that a view stays what it is until the transaction ends.
    ///
    /// # Errors
    /// [`Error::TableChanged`] it is another one by now, or gone; the metadata lock was not granted in time.
    pub fn hold_view(&mut self, name: &str, id: u64) -> Result<()> {
        let session = &mut *self.session;
        let timeout = session.metadata_patience();
        session.core.mdl.acquire(&mut session.mdl, name, MdlMode::SharedRead, timeout)?;
        match session.core.objects().view(name).is_some_and(|view| view.id == id) {
            true => Ok(()),
            false => Err(Error::TableChanged(name.to_owned())),
        }
    }

    /// The same as [`Statement::table_for`], whatever temporary table hides it.
    ///
    /// # Errors
    /// As [`Statement::table`].
    pub fn base_table_for(&mut self, name: &str, mode: MdlMode) -> Result<Arc<Table>> {
        let session = &mut *self.session;
        session.check_sound()?;
        let timeout = session.metadata_patience();
        session.core.mdl.acquire(&mut session.mdl, name, mode, timeout)?;
        let table = session.core.table(name)?;
        if table.is_part {
            return Err(Error::NoSuchTable(name.to_owned()));
        }
        session.used.push((table.id, mode));
        Ok(table)
    }

    /// What every change does first.
    fn before_change(&mut self, table: &Arc<Table>) -> Result<WriteOptions> {
        let session = &mut *self.session;
        if table.is_temporary() {
            // Nobody else is concerned: neither the global read lock nor a transaction that only reads is in the way.
            session.use_table(table, MdlMode::SharedWrite)?;
            return Ok(WriteOptions { unique_checks: true, ..WriteOptions::default() });
        }
        if session.trx.access() == AccessMode::ReadOnly {
            return Err(Error::ReadOnly);
        }
        if table.is_auxiliary {
            return Err(Error::Unmaintained { table: table.name.clone(), why: Unmaintained::FullText });
        }
        session.check_changeable()?;
        session.begin_change()?;
        session.use_table(table, MdlMode::SharedWrite)?;
        session.core.delay_change();
        Ok(WriteOptions {
            foreign_key_checks: session.settings.foreign_key_checks,
            unique_checks: session.settings.unique_checks,
            ..WriteOptions::default()
        })
    }

    /// The parts of a partitioned table that rows may come into from now on: those that a statement names by `PARTITION (..)`. `None`: all
    /// of them again.
    pub fn mean_parts(&mut self, table: &Table, parts: Option<Arc<[usize]>>) {
        let meant = &mut self.session.meant;
        meant.retain(|(id, _)| *id != table.id);
        meant.extend(parts.map(|parts| (table.id, parts)));
    }

    /// Inserts a row, whose clustered key it gives.
    ///
    /// # Errors
    /// Duplicate key, foreign key, lock waits.
    pub fn insert(&mut self, table: &Arc<Table>, row: &[Field<'_>]) -> Result<RowKey> {
        self.insert_as(table, row, false)
    }

    /// Inserts a row; with `exclusive_duplicates` a row that is in its way is locked X, because it will be replaced or
    /// updated.
    ///
    /// # Errors
    /// As [`Statement::insert`].
    pub fn insert_as(
        &mut self,
        table: &Arc<Table>,
        row: &[Field<'_>],
        exclusive_duplicates: bool,
    ) -> Result<RowKey> {
        let how = WriteOptions { exclusive_duplicates, ..self.before_change(table)? };
        let Session { core, trx, meant, .. } = &mut *self.session;
        let key = routed::insert(core, trx, table, row, how, parts_meant(meant, table))?;
        core.metrics.rows_inserted.add(1);
        Ok(key)
    }

    /// Inserts a row into a table that nobody else knows and that is dropped if the transaction fails: the transaction's first
    /// row has an undo record, by which its end is known, the others have none.
    ///
    /// # Errors
    /// As [`Statement::insert`]. The row may be there in part then.
    pub fn insert_for_good(&mut self, table: &Arc<Table>, row: &[Field<'_>]) -> Result<RowKey> {
        let how = WriteOptions { without_undo: self.mark() > 0, ..self.before_change(table)? };
        let Session { core, trx, meant, .. } = &mut *self.session;
        let key = routed::insert(core, trx, table, row, how, parts_meant(meant, table))?;
        core.metrics.rows_inserted.add(1);
        Ok(key)
    }

    /// Updates columns of the row with that clustered key; whether there is one and it changed.
    ///
    /// # Errors
    /// As [`Statement::insert`].
    pub fn update(
        &mut self,
        table: &Arc<Table>,
        key: &RowKey,
        changes: &[(usize, Field<'_>)],
    ) -> Result<bool> {
        let how = self.before_change(table)?;
        let Session { core, trx, meant, .. } = &mut *self.session;
        let changed = routed::update(core, trx, table, key, changes, how, parts_meant(meant, table))?;
        core.metrics.rows_updated.add(u64::from(changed));
        if changed && table.parts.is_some() {
            // As in MySQL 5.6; of other tables it raises no counter.
            let auto = |(column, _): &&(usize, Field<'_>)| table.columns[*column].auto_increment;
            if let Some((_, Some(stored))) = changes.iter().find(auto) {
                self.note_auto_inc(table, stored)?;
            }
        }
        Ok(changed)
    }

    /// Says that a row was read to be changed and had the new values already, and that MySQL, which had not read those
    /// columns, would have written an undo record for it: the transaction weighs as much in the choice of a victim.
    pub fn count_unchanged(&mut self) {
        let trx = &mut self.session.trx;
        trx.set_unchanged(trx.unchanged() + 1);
    }

    /// Deletes the row with that clustered key; whether there is one.
    ///
    /// # Errors
    /// As [`Statement::insert`].
    pub fn delete(&mut self, table: &Arc<Table>, key: &RowKey) -> Result<bool> {
        let how = self.before_change(table)?;
        let (core, trx) = self.parts();
        let deleted = routed::delete(core, trx, table, key, how)?;
        core.metrics.rows_deleted.add(u64::from(deleted));
        Ok(deleted)
    }

    /// Locks a table for the rest of the transaction, waiting if need be: changes of it then take no row locks that others
    /// could wait for.
    ///
    /// # Errors
    /// Lock waits; the table has changed; the metadata lock was not granted in time.
    pub fn lock_table(&mut self, table: &Arc<Table>, mode: LockMode) -> Result<()> {
        let write = matches!(mode, LockMode::Exclusive | LockMode::IntentionExclusive);
        let metadata = if write { MdlMode::SharedWrite } else { MdlMode::SharedRead };
        self.session.use_table(table, metadata)?;
        self.session.lock_table(table, mode)
    }

    /// The place in the transaction's changes to which [`Statement::take_back`] goes back.
    pub fn mark(&self) -> u64 {
        self.session.trx.undo_no()
    }

    /// Takes back what was changed since a mark of this statement; locks stay. For a row that failed while the
    /// statement goes on.
    ///
    /// # Errors
    /// The changes could not be taken back: the statement must fail, and nothing is done until it has been taken back.
    pub fn take_back(&mut self, mark: u64) -> Result<()> {
        match self.session.trx.undo_no() == mark {
            true => Ok(()),
            false => self.session.take_back_from(mark),
        }
    }
}

/// What [`Statement::mean_parts`] has said of a table.
fn parts_meant<'m>(meant: &'m [(TableId, Arc<[usize]>)], table: &Table) -> Option<&'m [usize]> {
    meant.iter().find(|(id, _)| *id == table.id).map(|(_, parts)| &parts[..])
}
