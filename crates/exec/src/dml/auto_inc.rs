//! AUTO_INCREMENT values of one statement.
//!
//! At the first row that needs a value, a statement of known length reserves as many as it has rows; what it needs after
//! that, and one of unknown length from the start, it takes in blocks that double. Values of rows that were not inserted
//! after all are used again. LAST_INSERT_ID() is the first value generated for a row that was inserted.

use super::row::RowBuffer;
use super::store::Store;
use vaquita_catalog::TableInfo;
use vaquita_engine::auto_inc::{AutoIncRange, Wanted};
use vaquita_engine::{Error, Session};
use vaquita_session::SessionState;
use vaquita_types::{Kind, SqlError, SqlMode, SqlResult, SqlType, Value};

/// Values taken at once at most.
const BLOCK_MAX: u64 = 65_535;

/// The counter of one execution of an inserting statement.
#[derive(Debug)]
pub(crate) struct AutoInc {
    column: usize,
    /// Rows the statement will insert, if that is known.
    rows: Option<u64>,
    step: u64,
    offset: u64,
    /// Reserved values not used yet.
    left: AutoIncRange,
    blocks: u32,
    /// Rows still expected, counted from the first block on.
    expected: u64,
    /// The present value stands for one beyond the range: it is not used again.
    beyond: bool,
    /// Nothing can be generated any more.
    overflowed: bool,
    zero_is_value: bool,
    /// `insert_id`: the first value.
    forced: Option<u64>,
    /// Generated for the row at hand.
    present: Option<u64>,
    /// Whether the row at hand has a value of its own.
    explicit: bool,
    /// First value generated for a row that was inserted.
    first: Option<u64>,
    /// Value of the last row.
    last: u64,
}

impl AutoInc {
    /// For a table, if it has such a column.
    pub(crate) fn new(info: &TableInfo, state: &mut SessionState, rows: Option<u64>) -> Option<AutoInc> {
        let column = info.auto_increment?;
        let forced = std::mem::take(&mut state.vars.insert_id);
        let step = state.vars.auto_increment_increment;
        Some(AutoInc {
            column,
            rows,
            step,
            offset: state.vars.auto_increment_offset,
            left: AutoIncRange { first: 0, step, count: 0 },
            blocks: 0,
            expected: 0,
            beyond: false,
            overflowed: false,
            zero_is_value: state.vars.sql_mode.has(SqlMode::NO_AUTO_VALUE_ON_ZERO),
            forced: (forced > 0).then_some(forced),
            present: None,
            explicit: false,
            first: None,
            last: 0,
        })
    }

    /// The column.
    pub(crate) fn column(&self) -> usize {
        self.column
    }

    /// A new row begins.
    pub(crate) fn begin_row(&mut self) {
        if self.blocks > 0 {
            self.expected = self.expected.saturating_sub(1);
        }
        self.present = None;
        self.explicit = false;
    }

    /// The row gives the column itself. A value of 0 asks for a generated one, unless `sql_mode` says otherwise.
    pub(crate) fn given(&mut self, row: &RowBuffer, info: &TableInfo) {
        let zero =
            row.field(info, self.column).is_none_or(|stored| value_of(info, self.column, stored) == Some(0));
        self.explicit = !zero || self.zero_is_value;
    }

    /// Whether the row at hand asks for a generated value.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.explicit
    }

    /// The row at hand asks for a generated value after all.
    pub(crate) fn want(&mut self) {
        self.explicit = false;
    }

    /// Generates the row's value if it has none.
    ///
    /// # Errors
    /// 1467, 1264; lock waits.
    pub(crate) fn generate(
        &mut self,
        engine: &mut Session,
        state: &mut SessionState,
        store: &Store<'_>,
        row: &mut RowBuffer,
    ) -> SqlResult<()> {
        if self.explicit {
            self.last = row.field(store.info, self.column).map_or(0, |v| told(store.info, self.column, v));
            return Ok(());
        }
        let forced = self.forced.take();
        let value = match forced {
            Some(value) => value,
            None => self.next(engine, state, store)?,
        };
        self.present = Some(value);
        self.last = value;
        store.value(self.column, &Value::UInt(value), &SqlType::bigint(true), state, row)?;
        match forced {
            Some(_) => self.note(engine, store.info, row),
            None => Ok(()),
        }
    }

    fn next(&mut self, engine: &mut Session, state: &mut SessionState, store: &Store<'_>) -> SqlResult<u64> {
        if self.overflowed {
            return Err(unreadable());
        }
        if self.left.count == 0 {
            let block = (1u64 << self.blocks.min(16)).min(BLOCK_MAX);
            let wanted = match (self.rows, self.blocks) {
                (Some(rows), 0) => {
                    self.expected = rows;
                    Wanted::Exactly(rows.max(1))
                }
                // A value of its own has carried a row beyond what was reserved.
                (Some(_), _) if self.expected > 0 => Wanted::Exactly(self.expected),
                (Some(_), _) => Wanted::Exactly(block),
                (None, _) => Wanted::AtLeast(block),
            };
            let table = &store.info.table;
            match engine.statement().reserve_auto_inc(table, wanted, self.step, self.offset) {
                Ok(range) => self.left = range,
                Err(Error::AutoIncrementExhausted(_)) => return self.exhausted(state, store),
                Err(e) => return Err(super::message::failure(&e, store.info)),
            }
            self.blocks += 1;
        }
        let value = self.left.first;
        self.left.first = value.saturating_add(self.step);
        self.left.count -= 1;
        Ok(value)
    }

    /// Beyond the column's range MySQL tries the greatest value again, which mostly is a duplicate.
    fn exhausted(&mut self, state: &mut SessionState, store: &Store<'_>) -> SqlResult<u64> {
        let info = &store.info.columns[self.column];
        let ty = info.sql_type();
        if self.rows.is_none() && self.blocks > 0 {
            return Err(unreadable());
        }
        let limit: u64 = match (ty.kind, ty.unsigned) {
            (Kind::TinyInt, false) => 0x7F,
            (Kind::TinyInt, true) => 0xFF,
            (Kind::SmallInt, false) => 0x7FFF,
            (Kind::SmallInt, true) => 0xFFFF,
            (Kind::MediumInt, false) => 0x7F_FFFF,
            (Kind::MediumInt, true) => 0xFF_FFFF,
            (Kind::Int, false) => 0x7FFF_FFFF,
            (Kind::Int, true) => 0xFFFF_FFFF,
            (Kind::BigInt, false) => i64::MAX as u64,
            _ => return Err(unreadable()),
        };
        if self.blocks > 0 {
            let text = format!("Out of range value for column '{}' at row {}", info.name, store.row);
            if store.strict {
                return Err(SqlError::new(1264, text));
            }
            state.warnings.warn(1264, text);
        }
        // The first value is not warned of, whether it was free or not, and may be used again; those behind it are beyond
        // the range.
        self.beyond = self.blocks > 0;
        self.blocks += 1;
        Ok(limit)
    }

    /// The row is in the table.
    ///
    /// # Errors
    /// Of reading the greatest value at first use.
    pub(crate) fn inserted(
        &mut self,
        engine: &mut Session,
        info: &TableInfo,
        row: &RowBuffer,
    ) -> SqlResult<()> {
        self.first = self.first.or(self.present);
        if self.explicit {
            self.note(engine, info, row)?;
        }
        Ok(())
    }

    /// Sees to it that values of later statements are above one that an update of a row has set. What this statement has
    /// reserved it uses all the same.
    pub(crate) fn note_update(
        &mut self,
        engine: &mut Session,
        info: &TableInfo,
        row: &RowBuffer,
    ) -> SqlResult<()> {
        let left = self.left;
        self.note(engine, info, row)?;
        self.left = left;
        Ok(())
    }

    /// A row changes instead of coming in, and keeps its value: of a list of rows (not of a SELECT) later values are above it, as in
    /// 5.6. An UPDATE may have put it where no value has been generated yet.
    ///
    /// # Errors
    /// Of reading the greatest value at first use.
    pub(crate) fn stays(&mut self, engine: &mut Session, info: &TableInfo, row: &RowBuffer) -> SqlResult<()> {
        match self.rows {
            Some(_) => self.note_update(engine, info, row),
            None => Ok(()),
        }
    }

    /// The row is a duplicate: in a statement of unknown length its own value counts all the same, as if it had come in.
    ///
    /// # Errors
    /// Of reading the greatest value at first use.
    pub(crate) fn duplicate(
        &mut self,
        engine: &mut Session,
        info: &TableInfo,
        row: &RowBuffer,
    ) -> SqlResult<()> {
        if !self.explicit || self.rows.is_some() {
            return Ok(());
        }
        let last = self.last;
        self.note(engine, info, row)?;
        self.last = last;
        Ok(())
    }

    /// Sees to it that later values are above the row's own.
    pub(crate) fn note(&mut self, engine: &mut Session, info: &TableInfo, row: &RowBuffer) -> SqlResult<()> {
        let Some(stored) = row.field(info, self.column) else { return Ok(()) };
        let value = value_of(info, self.column, stored);
        self.last = told(info, self.column, stored);
        match value {
            Some(value) if value > 0 => {
                engine
                    .statement()
                    .note_auto_inc(&info.table, stored)
                    .map_err(|e| super::message::failure(&e, info))?;
                while self.left.count > 0 && self.left.first <= value {
                    self.left.first = self.left.first.saturating_add(self.step);
                    self.left.count -= 1;
                }
            }
            // MySQL compares it as a great positive number with what comes next, unless it knows how many rows there are.
            None => self.overflowed |= self.blocks > 0 && self.rows.is_none(),
            Some(_) => {}
        }
        Ok(())
    }

    /// A row that was there has changed instead: its value is what the client is told.
    pub(crate) fn updated(&mut self, info: &TableInfo, row: &RowBuffer) {
        self.last = row.field(info, self.column).map_or(0, |v| told(info, self.column, v));
    }

    /// The row did not come in: its value is used again.
    pub(crate) fn give_back(&mut self) {
        if let Some(value) = self.present.take()
            && !self.beyond
        {
            self.left = AutoIncRange { first: value, step: self.step, count: self.left.count + 1 };
        }
    }

    /// Whether the row at hand has a generated value.
    pub(crate) fn has_generated(&self) -> bool {
        self.present.is_some()
    }

    /// LAST_INSERT_ID() of the statement.
    pub(crate) fn first(&self) -> Option<u64> {
        self.first
    }

    /// Value of the last row.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }
}

fn unreadable() -> SqlError {
    SqlError::new(1467, "Failed to read auto-increment value from storage engine")
}

/// What a client is told of a stored value: the bits of negative ones, too.
fn told(info: &TableInfo, column: usize, stored: &[u8]) -> u64 {
    let ty = info.columns[column].sql_type();
    match ty.kind {
        Kind::Float | Kind::Double => value_of(info, column, stored).unwrap_or(0),
        _ if ty.unsigned => vaquita_engine::stored::to_unsigned(stored),
        _ => vaquita_engine::stored::to_signed(stored) as u64,
    }
}

/// The value of a stored AUTO_INCREMENT column; `None` if it is below zero.
pub fn value_of(info: &TableInfo, column: usize, stored: &[u8]) -> Option<u64> {
    use vaquita_base::codec::le;
    let ty = info.columns[column].sql_type();
    match ty.kind {
        Kind::Float => {
            Some(f32::from_bits(le::get_uint(stored, 0, 4) as u32)).filter(|v| *v >= 0.0).map(|v| v as u64)
        }
        Kind::Double => {
            Some(f64::from_bits(le::get_uint(stored, 0, 8))).filter(|v| *v >= 0.0).map(|v| v as u64)
        }
        _ if ty.unsigned => Some(vaquita_engine::stored::to_unsigned(stored)),
        _ => u64::try_from(vaquita_engine::stored::to_signed(stored)).ok(),
    }
}
