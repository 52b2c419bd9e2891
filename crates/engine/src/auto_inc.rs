//! AUTO_INCREMENT: the counter of a table, in memory, begun from the greatest value at first use (as MySQL 5.6), and how
//! statements reserve blocks of values under `autoinc_lock_mode`.
//!
//! | mode | statement of known length | statement of unknown length (INSERT ... SELECT) |
//! |---|---|---|
//! | 0 traditional | AUTO-INC table lock to the end of the statement | the same |
//! | 1 consecutive | block taken at once under the counter's mutex | AUTO-INC table lock |
//! | 2 interleaved | block taken at once | blocks that double in size, no lock |
//!
//! Values of transactions that roll back are lost. After a restart the counter is the greatest value in the table plus
//! one, or the definition's hint if that is greater.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::session::Statement;
use crate::table::{FieldSource, Table};
use parking_lot::Mutex;
use std::sync::Arc;
use vaquita_btree::Cursor;
use vaquita_format::column::{ColumnDef, MType};
use vaquita_format::record::Offsets;
use vaquita_txn::LockMode;

/// The counter of a table.
#[derive(Debug, Default)]
pub struct AutoInc {
    /// Next value; `None` until first used.
    pub(crate) next: Mutex<Option<u64>>,
    /// What the definition says the first value is at least.
    pub(crate) hint: u64,
}

/// Values a statement may use: `first`, `first + step`, … `count` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoIncRange {
    /// The first value.
    pub first: u64,
    /// Distance (`auto_increment_increment`).
    pub step: u64,
    /// How many.
    pub count: u64,
}

/// How many values a statement wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// So many, known before it starts.
    Exactly(u64),
    /// Unknown; at least this many now.
    AtLeast(u64),
}

impl AutoInc {
    /// A counter that begins at least at `hint`.
    pub fn with_hint(hint: u64) -> Self {
        Self { next: Mutex::new(None), hint }
    }

    /// The next value, if one was asked for since the table was opened.
    pub fn peek(&self) -> Option<u64> {
        *self.next.lock()
    }

    /// Takes a block; `limit` is the greatest value of the column.
    fn take(next: &mut u64, count: u64, step: u64, offset: u64, limit: u64) -> Option<AutoIncRange> {
        let first = align(*next, step, offset)?;
        if first > limit || *next > limit {
            return None;
        }
        // A block that goes beyond the range is cut; the values in range are good.
        let fit = ((limit - first) / step).saturating_add(1);
        let count = count.max(1).min(fit);
        let after = first.saturating_add((count - 1).saturating_mul(step)).saturating_add(1);
        *next = after;
        Some(AutoIncRange { first, step, count })
    }
}

/// The least value from `from` on that is `offset` plus a multiple of `step`; MySQL ignores an offset above the step.
fn align(from: u64, step: u64, offset: u64) -> Option<u64> {
    if step <= 1 {
        return Some(from.max(1));
    }
    let offset = if offset > step { 0 } else { offset };
    let from = from.max(1);
    if from <= offset {
        return Some(offset);
    }
    offset.checked_add((from - offset).div_ceil(step).checked_mul(step)?)
}

/// The greatest value an AUTO_INCREMENT column of this type holds.
fn limit_of(column: &ColumnDef) -> u64 {
    match column.mtype {
        MType::Float => 1 << 24,
        MType::Double => 1 << 53,
        _ => {
            let bits = column.len * 8 - u32::from(!column.is_unsigned());
            if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
        }
    }
}

/// The value of a stored AUTO_INCREMENT column; 0 for negative ones.
fn decode(column: &ColumnDef, stored: &[u8]) -> u64 {
    use vaquita_base::codec::{get_uint, le};
    match column.mtype {
        MType::Float => f32::from_bits(le::get_uint(stored, 0, 4) as u32).max(0.0) as u64,
        MType::Double => f64::from_bits(le::get_uint(stored, 0, 8)).max(0.0) as u64,
        _ => {
            let raw = get_uint(stored, 0, stored.len());
            if column.is_unsigned() {
                return raw;
            }
            let sign = 1u64 << (stored.len() * 8 - 1);
            raw.saturating_sub(sign)
        }
    }
}

/// Position of the AUTO_INCREMENT column.
fn column_of(table: &Table) -> Option<usize> {
    table.columns.iter().position(|c| c.auto_increment)
}

/// One above the greatest value in the table, from the last record of the index that begins with the column. It may
/// belong to a transaction that is still open: its value is taken all the same.
fn greatest(core: &Core, table: &Table, column: usize) -> Result<u64> {
    let first_is =
        |s: &[FieldSource]| matches!(s[0], FieldSource::Column { column: c, prefix_len: 0 } if c == column);
    let Some(index) = table.indexes.iter().find(|i| first_is(&i.sources)) else { return Ok(0) };
    let mut cursor = Cursor::new(&index.tree, &core.storage);
    if !cursor.last()? {
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
            self.session.lock_table(table, LockMode::AutoInc)?;
        }
        let count = match wanted {
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
        let mut from = from;
        let limit = limit_of(&table.columns[column].def);
        let range = AutoInc::take(&mut from, count, step.max(1), offset, limit)
            .ok_or_else(|| Error::AutoIncrementExhausted(table.name.clone()))?;
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
        let Some(column) = column_of(table) else { return Ok(None) };
        let mut next = table.auto_inc.next.lock();
        if next.is_none() {
            let from = greatest(&self.session.core, table, column)?.saturating_add(1);
            *next = Some(from.max(table.auto_inc.hint).max(1));
        }
        Ok(*next)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_follow_increment_and_offset() {
        let mut next = 1;
        let take = |next: &mut u64, n, step, offset| AutoInc::take(next, n, step, offset, 127);
        assert_eq!(take(&mut next, 3, 1, 1), Some(AutoIncRange { first: 1, step: 1, count: 3 }));
        assert_eq!(next, 4);
        // 5, 15, 25, ... as the manual's example of increment 10 and offset 5.
        assert_eq!(take(&mut next, 2, 10, 5), Some(AutoIncRange { first: 5, step: 10, count: 2 }));
        assert_eq!(next, 16);
        assert_eq!(take(&mut next, 1, 10, 5), Some(AutoIncRange { first: 25, step: 10, count: 1 }));
        // An offset above the increment is ignored.
        assert_eq!(take(&mut next, 1, 10, 11).unwrap().first, 30);
        // The end of a TINYINT: what is in range is good, then there is nothing.
        next = 126;
        assert_eq!(take(&mut next, 5, 1, 1), Some(AutoIncRange { first: 126, step: 1, count: 2 }));
        assert_eq!(take(&mut next, 1, 1, 1), None);
    }

    #[test]
    fn limits_and_values_of_types() {
        let int = |bytes, unsigned| ColumnDef::int("a", bytes, unsigned);
        assert_eq!(limit_of(&int(1, false)), 127);
        assert_eq!(limit_of(&int(3, true)), (1 << 24) - 1);
        assert_eq!(limit_of(&int(8, false)), i64::MAX as u64);
        assert_eq!(limit_of(&int(8, true)), u64::MAX);
        assert_eq!(decode(&int(4, false), &[0x80, 0, 1, 0]), 256);
        assert_eq!(decode(&int(4, false), &[0x7f, 0xff, 0xff, 0xff]), 0);
        assert_eq!(decode(&int(2, true), &[0xff, 0xff]), 65535);
    }
}
