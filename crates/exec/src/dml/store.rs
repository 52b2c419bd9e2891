//! Values into columns: defaults, NULL, conversions with the errors and warnings of the statement's mode.

use super::row::RowBuffer;
use vaquita_catalog::error;
use vaquita_catalog::{ColumnInfo, TableInfo, has_own_default, no_default};
use vaquita_engine::lower::value::{Timestamp, Value as Stored, ValueType};
use vaquita_engine::table::DefaultValue;
use vaquita_session::SessionState;
use vaquita_types::convert::store::{StoreMode, store};
use vaquita_types::temporal::DateContext;
use vaquita_types::temporal::parse::is_allowed;
use vaquita_types::{Cx, Kind, SqlError, SqlMode, SqlResult, SqlType, Value};

/// How one execution of a statement stores values.
#[derive(Debug)]
pub(crate) struct Store<'t> {
    pub(crate) info: &'t TableInfo,
    /// What does not fit is an error: strict mode without IGNORE.
    pub(crate) strict: bool,
    /// NULL for a NOT NULL column is an error, be the mode strict or not: INSERT of one row.
    pub(crate) null_is_error: bool,
    /// Number of the row for messages, from 1.
    pub(crate) row: u64,
    date: DateContext,
    /// NULL is NULL for TIMESTAMP columns, too.
    explicit_timestamps: bool,
}

impl<'t> Store<'t> {
    pub(crate) fn new(info: &'t TableInfo, state: &SessionState, ignore: bool) -> Store<'t> {
        let mode = state.vars.sql_mode;
        Store {
            info,
            strict: mode.is_strict() && !ignore,
            null_is_error: false,
            row: 1,
            date: state.date_context(),
            explicit_timestamps: state.vars.explicit_defaults_for_timestamp,
        }
    }

    /// Stores a value.
    ///
    /// # Errors
    /// 1048; in strict mode 1264, 1265, 1292, 1366, 1406 and so on.
    pub(crate) fn value(
        &self,
        column: usize,
        value: &Value<'_>,
        from: &SqlType,
        state: &mut SessionState,
        row: &mut RowBuffer,
    ) -> SqlResult<()> {
        state.warnings.refused()?;
        let info = &self.info.columns[column];
        if value.is_null() {
            return self.null(column, info, state, row);
        }
        if is_copied(info.sql_type(), value, from) {
            let tz = &state.vars.time_zone;
            return row.put(column, |out| Ok(info.ty.encode(value, tz, out)));
        }
        let mode = StoreMode { strict: self.strict, null_is_error: self.null_is_error, row: self.row };
        let mut cx = Cx { date: self.date, time_zone: &state.vars.time_zone, warnings: &mut state.warnings };
        row.put(column, |out| store(&info.ty, &info.name, value, from, mode, &mut cx, out))
    }

    fn null(
        &self,
        column: usize,
        info: &ColumnInfo,
        state: &mut SessionState,
        row: &mut RowBuffer,
    ) -> SqlResult<()> {
        if info.is_nullable() {
            row.put_stored(column, None);
            return Ok(());
        }
        if info.sql_type().kind == Kind::Timestamp && !self.explicit_timestamps {
            self.now(column, state, row);
            return Ok(());
        }
        if self.strict || self.null_is_error {
            return Err(error::null_not_allowed(&info.name));
        }
        state.warnings.warn(1048, error::null_not_allowed(&info.name).message);
        match info.sql_type().kind {
            // No label, not the first one.
            Kind::Enum => row.put_stored(column, Some(&[0; 2][..info.implicit.len().min(2)])),
            _ => row.put_implicit(column),
        }
        Ok(())
    }

    /// Stores a column's default because the statement says DEFAULT.
    ///
    /// # Errors
    /// 1364 in strict mode.
    pub(crate) fn default(
        &self,
        column: usize,
        state: &mut SessionState,
        row: &mut RowBuffer,
    ) -> SqlResult<()> {
        let info = &self.info.columns[column];
        match &info.default {
            DefaultValue::Now => self.now(column, state, row),
            default if row.put_default(column, default) => {}
            _ if info.is_nullable() => row.put_stored(column, None),
            _ if has_own_default(info) => row.put_implicit(column),
            _ => {
                self.missing(info, state)?;
                row.put_implicit(column);
            }
        }
        Ok(())
    }

    /// A column without default that was not given: error 1364, or a warning.
    ///
    /// # Errors
    /// 1364.
    pub(crate) fn missing(&self, info: &ColumnInfo, state: &mut SessionState) -> SqlResult<()> {
        self.not_given(no_default(&info.name), state)
    }

    /// The same in the words of that error.
    ///
    /// # Errors
    /// That one.
    pub(crate) fn not_given(&self, error: SqlError, state: &mut SessionState) -> SqlResult<()> {
        if self.strict {
            return Err(error);
        }
        state.warnings.warn(error.code, error.message);
        Ok(())
    }

    /// Stores what a column gets that the statement does not name.
    pub(crate) fn absent(&self, column: usize, state: &SessionState, row: &mut RowBuffer) {
        let info = &self.info.columns[column];
        match &info.default {
            DefaultValue::Now => self.now(column, state, row),
            default if row.put_default(column, default) => {}
            _ if info.is_nullable() => row.put_stored(column, None),
            _ => row.put_implicit(column),
        }
    }

    /// Stores the time of the statement.
    pub(crate) fn now(&self, column: usize, state: &SessionState, row: &mut RowBuffer) {
        let info = &self.info.columns[column];
        let (seconds, micros) =
            (state.now_us.div_euclid(1_000_000), state.now_us.rem_euclid(1_000_000) as u32);
        let fsp = info.sql_type().decimals;
        let (ty, value) = match info.sql_type().kind {
            Kind::Timestamp => {
                let seconds = u32::try_from(seconds).unwrap_or(0);
                (ValueType::Timestamp(fsp), Stored::Timestamp(Timestamp { seconds, micros }))
            }
            Kind::Date => (ValueType::Date, Stored::Date(state.local_now().date)),
            _ => (ValueType::DateTime(fsp), Stored::DateTime(state.local_now())),
        };
        let written = row.put(column, |out| ty.encode(&value, out).map(|()| true));
        debug_assert!(written.is_ok(), "the time of a statement can be stored");
    }
}

/// Whether values of a column go into another as they are, whatever the mode has against them: zero dates, no label. Days that a month
/// does not have, which functions make, are looked at.
fn is_copied(to: &SqlType, value: &Value<'_>, from: &SqlType) -> bool {
    let of_kind = match to.kind {
        Kind::Enum | Kind::Set => matches!(value, Value::Label { .. }),
        Kind::Date => matches!(value, Value::Date(d) if is_allowed(*d, SqlMode::default())),
        Kind::DateTime => matches!(value, Value::DateTime(d) if is_allowed(d.date, SqlMode::default())),
        _ => false,
    };
    of_kind
        && to.kind == from.kind
        && (to.decimals, &to.labels, to.collation) == (from.decimals, &from.labels, from.collation)
}

/// Whether a column must be given, or gets error 1364.
pub(crate) fn must_be_given(info: &ColumnInfo) -> bool {
    let none = info.default == DefaultValue::None && info.generated.is_none();
    none && !info.is_nullable() && !info.auto_increment && !info.hidden && !has_own_default(info)
}
