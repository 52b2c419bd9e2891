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

use std::sync::Arc;
use vaquita_catalog::{Definition, TableInfo, error};
use vaquita_engine::auto_inc::{AutoIncRange, Wanted};
use vaquita_engine::{Error, Field, Statement, Table};
use vaquita_exec::dml::auto_inc::value_of;
use vaquita_session::SessionState;
use vaquita_types::{SqlError, SqlMode, SqlResult};

/// Which rows get a value, of a table that has such a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking {
    /// The column of the new table.
    pub column: usize,
    pub is_new: bool,
    zero_is_value: bool,
    null_is_value: bool,
}

impl Asking {
    /// Of the table that `new` defines, whose columns come from those of `old`; `None` without such a column.
    pub(super) fn of(old: &Definition, new: &Definition, mode: SqlMode) -> Option<Asking> {
        let column = new.columns.iter().position(|column| column.auto_increment)?;
        let from = new.columns[column].origin.map(|from| &old.columns[from]);
        Some(Asking {
            column,
            is_new: from.is_none(),
            zero_is_value: from.is_some_and(|from| from.auto_increment)
                || mode.has(SqlMode::NO_AUTO_VALUE_ON_ZERO),
            null_is_value: from.is_some_and(|from| !from.ty.nullable),
        })
    }

    /// Whether there may be such rows.
    pub(super) fn may_be(self) -> bool {
        self.is_new || !self.zero_is_value || !self.null_is_value
    }

    /// Whether a row with this value does.
    pub(super) fn asks(self, new: &TableInfo, value: Field<'_>) -> bool {
        self.is_new
            || match value {
                Some(stored) => !self.zero_is_value && value_of(new, self.column, stored) == Some(0),
                None => true,
            }
    }
}

/// No row can have another value.
///
/// # Errors
/// 1467, or 1264 where rows got values before: it is always one.
pub(super) fn exhausted(column: &str, before: bool, row: u64) -> SqlError {
    match before {
        true => SqlError::new(1264, format!("Out of range value for column '{column}' at row {row}")),
        false => SqlError::new(1467, "Failed to read auto-increment value from storage engine"),
    }
}

/// The counter of one copy.
pub(super) struct Numbers<'t> {
    new: &'t TableInfo,
    asking: Asking,
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
    /// For the table that the rows come to.
    pub(super) fn new(new: &'t TableInfo, asking: Asking, state: &SessionState, rows: u64) -> Numbers<'t> {
        let step = state.vars.auto_increment_increment;
        Numbers {
            new,
            asking,
            step,
            offset: state.vars.auto_increment_offset,
            rows,
            left: AutoIncRange { first: 0, step, count: 0 },
            reserved: false,
            present: None,
        }
    }

    /// The column.
    pub(super) fn column(&self) -> usize {
        self.asking.column
    }

    /// Whether a row with this value gets another one.
    pub(super) fn asks(&mut self, value: Field<'_>) -> bool {
        self.present = None;
        self.asking.asks(self.new, value)
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
                Err(Error::AutoIncrementExhausted(_)) => {
                    return Err(exhausted(&self.new.columns[self.column()].name, self.reserved, row));
                }
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
        let Some(stored) = fields[self.column()].filter(|_| self.present.is_none()) else { return Ok(()) };
        statement.note_auto_inc(to, stored)?;
        let value = value_of(self.new, self.column(), stored).unwrap_or(0);
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
