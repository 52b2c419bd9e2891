//! AUTO_INCREMENT values of rows that are copied.
//!
//! | the column | which rows get a value |
//! |---|---|
//! | is new | all |
//! | was there, without AUTO_INCREMENT | those with 0, unless `sql_mode` has NO_AUTO_VALUE_ON_ZERO, and with NULL |
//! | was AUTO_INCREMENT | those with NULL: zeros in it were meant |
//!
//! Values are taken as INSERT takes them: as many as there are rows at the first, one by one after that; those of rows that
//! are left out are used again.

use super::copy::Source;
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_catalog::error;
use vaquita_engine::auto_inc::{AutoIncRange, Wanted};
use vaquita_engine::{Error, Field, Statement, Table};
use vaquita_exec::dml::auto_inc::value_of;
use vaquita_session::SessionState;
use vaquita_types::{SqlError, SqlMode, SqlResult};

/// The counter of one copy.
pub(super) struct Numbers<'t> {
    new: &'t TableInfo,
    column: usize,
    is_new: bool,
    zero_is_value: bool,
    step: u64,
    offset: u64,
    /// Rows that are about to come.
    rows: u64,
    /// Values reserved and not used yet.
    left: AutoIncRange,
    reserved: bool,
    /// Given to the row at hand.
    present: Option<u64>,
}

impl<'t> Numbers<'t> {
    /// For the table that the rows come to, if it has such a column.
    pub(super) fn new(
        old: &TableInfo,
        new: &'t TableInfo,
        sources: &[Source],
        state: &SessionState,
        rows: u64,
    ) -> Option<Numbers<'t>> {
        let column = new.auto_increment?;
        let from = match &sources[column] {
            Source::Same(from) | Source::Converted(from) => Some(*from),
            Source::Constant(_) => None,
        };
        let step = state.vars.auto_increment_increment;
        Some(Numbers {
            new,
            column,
            is_new: from.is_none(),
            zero_is_value: from.is_some() && from == old.auto_increment
                || state.vars.sql_mode.has(SqlMode::NO_AUTO_VALUE_ON_ZERO),
            step,
            offset: state.vars.auto_increment_offset,
            rows,
            left: AutoIncRange { first: 0, step, count: 0 },
            reserved: false,
            present: None,
        })
    }

    /// The column.
    pub(super) fn column(&self) -> usize {
        self.column
    }

    /// Whether a row with this value gets another one.
    pub(super) fn asks(&mut self, value: Field<'_>) -> bool {
        self.present = None;
        self.is_new
            || match value {
                Some(stored) => !self.zero_is_value && value_of(self.new, self.column, stored) == Some(0),
                None => true,
            }
    }

    /// The value of the row at hand, which has that number.
    ///
    /// # Errors
    /// 1467, or 1264 after the first: the column's range is exhausted; lock waits.
    pub(super) fn next(
        &mut self,
        statement: &mut Statement<'_>,
        to: &Arc<Table>,
        row: u64,
    ) -> SqlResult<u64> {
        if self.left.count == 0 {
            let wanted = if self.reserved { 1 } else { self.rows.max(1) };
            self.left = match statement.reserve_auto_inc(to, Wanted::Exactly(wanted), self.step, self.offset)
            {
                Ok(range) => range,
                Err(Error::AutoIncrementExhausted(_)) => return Err(self.exhausted(row)),
                Err(e) => return Err(error::engine(&e)),
            };
            self.reserved = true;
        }
        let value = self.left.first;
        self.left.first = value.saturating_add(self.step);
        self.left.count -= 1;
        self.present = Some(value);
        Ok(value)
    }

    fn exhausted(&self, row: u64) -> SqlError {
        let name = &self.new.columns[self.column].name;
        match self.reserved {
            true => SqlError::new(1264, format!("Out of range value for column '{name}' at row {row}")),
            false => SqlError::new(1467, "Failed to read auto-increment value from storage engine"),
        }
    }

    /// The row is in the table: later values are above a value of its own.
    ///
    /// # Errors
    /// Of reading the greatest value at first use.
    pub(super) fn inserted(
        &mut self,
        statement: &mut Statement<'_>,
        to: &Arc<Table>,
        fields: &[Field<'_>],
    ) -> Result<(), Error> {
        let Some(stored) = fields[self.column].filter(|_| self.present.is_none()) else { return Ok(()) };
        statement.note_auto_inc(to, stored)?;
        let value = value_of(self.new, self.column, stored).unwrap_or(0);
        while self.left.count > 0 && self.left.first <= value {
            self.left.first = self.left.first.saturating_add(self.step);
            self.left.count -= 1;
        }
        Ok(())
    }

    /// The row was left out.
    pub(super) fn give_back(&mut self) {
        if let Some(value) = self.present.take() {
            self.left = AutoIncRange { first: value, step: self.step, count: self.left.count + 1 };
        }
    }
}
