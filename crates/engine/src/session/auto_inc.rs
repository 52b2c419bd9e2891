//! AUTO_INCREMENT values for statements: how [`crate::auto_inc`]'s counters are used.

use super::Statement;
use crate::auto_inc::{AutoInc, AutoIncRange, Wanted, decode, limit_of};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::table::{FieldSource, Table};
use std::sync::Arc;
use vaquita_btree::Cursor;
use vaquita_format::record::Offsets;
use vaquita_txn::LockMode;

/// Position of the AUTO_INCREMENT column.
fn column_of(table: &Table) -> Option<usize> {
    table.columns.iter().position(|c| c.auto_increment)
}

/// The AUTO_INCREMENT value that follows those of the rows; 1 without such a column. Nobody else uses the table: of rows that are
/// deleted and not purged yet nobody wants a number back.
pub(super) fn next_of_rows(core: &Core, table: &Table) -> Result<u64> {
    match column_of(table) {
        Some(column) => Ok(greatest_of(core, table, column, true)?.saturating_add(1)),
        None => Ok(1),
    }
}

/// What the counters of a partitioned table and of another one are after a part and that one have exchanged their rows, as in 5.6.24: each
/// goes with the rows. Of a value beyond those of the rows nobody knows which part it was for: it stays.
pub(super) fn exchanged(core: &Core, whole: &Table, at: usize, with: &Table) -> Result<Option<(u64, u64)>> {
    let (Some(of_whole), Some(of_other)) = (next(core, whole)?, next(core, with)?) else { return Ok(None) };
    let parts = whole.parts.as_ref().map_or(&[][..], |parts| &parts.tables);
    let each = parts.iter().map(|part| next_of_rows(core, part)).collect::<Result<Vec<u64>>>()?;
    let most = |all: &mut dyn Iterator<Item = u64>| all.fold(1, u64::max);
    let beyond = of_whole > most(&mut each.iter().copied()).max(whole.auto_inc.hint);
    let others = most(&mut each.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, next)| *next));
    let stays = if beyond { of_whole } else { others };
    Ok(Some((stays.max(of_other), each[at].max(parts[at].auto_inc.hint))))
}

/// The value that the next row would get; `None` without such a column.
pub(super) fn next(core: &Core, table: &Table) -> Result<Option<u64>> {
    let Some(column) = column_of(table).filter(|_| !table.discarded) else { return Ok(None) };
    let mut next = table.auto_inc.next.lock();
    if next.is_none() {
        let from = greatest(core, table, column)?.saturating_add(1);
        *next = Some(from.max(table.auto_inc.hint).max(1));
    }
    Ok(*next)
}

/// The greatest value in the table, from the last record of the index that begins with the column, or the first if that is
/// descending. It may belong to a transaction that is still open: its value is taken all the same.
fn greatest(core: &Core, table: &Table, column: usize) -> Result<u64> {
    greatest_of(core, table, column, false)
}

/// The same; `alive`: of rows that are not deleted.
fn greatest_of(core: &Core, table: &Table, column: usize, alive: bool) -> Result<u64> {
    if let Some(parts) = &table.parts {
        let mut all = parts.tables.iter();
        return all.try_fold(0, |most, part| Ok(greatest_of(core, part, column, alive)?.max(most)));
    }
    let first_is =
        |s: &[FieldSource]| matches!(s[0], FieldSource::Column { column: c, prefix_len: 0 } if c == column);
    let Some(index) = table.indexes.iter().find(|i| first_is(&i.sources)) else { return Ok(0) };
    let mut cursor = Cursor::new(&index.tree, &core.storage);
    let down = index.def().compare_plan()[0].is_descending();
    let mut there = if down { cursor.first()? } else { cursor.last()? };
    while alive && there && cursor.record().is_some_and(|record| record.is_deleted()) {
        there = if down { cursor.next()? } else { cursor.prev()? };
    }
    if !there {
        return Ok(0);
    }
    let mut offsets = Offsets::new();
    let Some(record) = cursor.record() else { return Ok(0) };
    record.parse(index.def(), &mut offsets)?;
    let stored = record.field(&offsets, 0);
    Ok(stored.map_or(0, |stored| decode(&table.columns[column].def, stored)))
}

impl Statement<'_> {
    /// Reserves AUTO_INCREMENT values of a table, `step` apart, each `offset` plus a multiple of `step`
    /// (`auto_increment_increment`, `auto_increment_offset`).
    ///
    /// # Errors
    /// [`Error::AutoIncrementExhausted`]; lock waits under modes 0 and 1; the table has no such column.
    pub fn reserve_auto_inc(
        &mut self,
        table: &Arc<Table>,
        wanted: Wanted,
        step: u64,
        offset: u64,
    ) -> Result<AutoIncRange> {
        let column = column_of(table)
            .ok_or_else(|| Error::BadDefinition(format!("{} has no AUTO_INCREMENT column", table.name)))?;
        let mode = self.session.core.options.autoinc_lock_mode;
        let locks = match (mode, wanted) {
            (0, _) | (1, Wanted::AtLeast(_)) => true,
            (_, _) => false,
        };
        if locks {
            self.session.auto_inc_locked = true;
            self.session.lock_table(table, LockMode::AutoInc)?;
        }
        let count = match wanted {
            // The traditional way: no value is reserved that may not be used.
            _ if mode == 0 => 1,
            // As of partitioned tables in MySQL 5.6, whatever the mode.
            Wanted::AtLeast(_) if table.parts.is_some() => 1,
            Wanted::Exactly(n) | Wanted::AtLeast(n) => n,
        };
        let core = &self.session.core;
        let mut next = table.auto_inc.next.lock();
        let from = match *next {
            Some(from) => from,
            None => {
                let from = greatest(core, table, column)?.saturating_add(1).max(table.auto_inc.hint);
                *next = Some(from);
                from
            }
        };
        let before = from;
        let mut from = from;
        let limit = limit_of(&table.columns[column].def);
        let range = AutoInc::take(&mut from, count, step.max(1), offset, limit)
            .ok_or_else(|| Error::AutoIncrementExhausted(table.name.clone()))?;
        debug_assert!(
            before <= range.first && range.first <= from,
            "{range:?} of the values from {before} on"
        );
        *next = Some(from);
        Ok(range)
    }

    /// Notes a value that a row was given explicitly: later values are greater.
    ///
    /// # Errors
    /// Errors of reading the index at first use.
    pub fn note_auto_inc(&mut self, table: &Arc<Table>, stored: &[u8]) -> Result<()> {
        let Some(column) = column_of(table) else { return Ok(()) };
        let value = decode(&table.columns[column].def, stored);
        let mut next = table.auto_inc.next.lock();
        if next.is_none() {
            let from = greatest(&self.session.core, table, column)?.saturating_add(1);
            *next = Some(from.max(table.auto_inc.hint));
        }
        if let Some(next) = next.as_mut() {
            *next = (*next).max(value.saturating_add(1));
        }
        Ok(())
    }

    /// The value that the next row would get, for SHOW; `None` without such a column.
    ///
    /// # Errors
    /// Errors of reading the index at first use.
    pub fn next_auto_inc(&mut self, table: &Arc<Table>) -> Result<Option<u64>> {
        next(&self.session.core, table)
    }

    /// Sets the next value (ALTER TABLE ... AUTO_INCREMENT); never below what the table holds.
    ///
    /// # Errors
    /// Errors of reading the index.
    pub fn set_auto_inc(&mut self, table: &Arc<Table>, value: u64) -> Result<()> {
        let Some(column) = column_of(table) else { return Ok(()) };
        let mut next = table.auto_inc.next.lock();
        let least = greatest(&self.session.core, table, column)?.saturating_add(1);
        *next = Some(value.max(least));
        Ok(())
    }
}
