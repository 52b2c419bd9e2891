//! Rows of results.

use super::Outcome;
use super::values::FromValue;
use std::sync::Arc;
use vaquita_sql::{ColumnMeta, Completion, ResultSink, SqlError, SqlResult, Value};

/// A row: of a collected result, or one that is looked at where it is.
#[derive(Debug, Clone, Copy)]
pub struct Row<'r> {
    pub(super) columns: &'r [ColumnMeta],
    pub(super) values: &'r [Value<'r>],
}

impl<'r> Row<'r> {
    /// A column's value, by position from 0 or by name, as a Rust type. NULL needs an `Option`.
    ///
    /// # Errors
    /// No such column; the value is not of that type or outside its range.
    pub fn get<T: FromValue<'r>>(&self, column: impl RowIndex) -> SqlResult<T> {
        let at = column.position(self.columns).ok_or_else(|| {
            SqlError::new(1054, format!("Unknown column '{}' in 'result'", column.describe()))
        })?;
        T::from_value(&self.values[at], &self.columns[at])
    }

    /// A column's value as it is.
    pub fn value(&self, column: impl RowIndex) -> Option<&'r Value<'r>> {
        column.position(self.columns).map(|at| &self.values[at])
    }

    /// All values.
    pub fn values(&self) -> &'r [Value<'r>] {
        self.values
    }

    /// Its columns.
    pub fn columns(&self) -> &'r [ColumnMeta] {
        self.columns
    }
}

/// What names a column of a row.
pub trait RowIndex {
    /// Its position.
    fn position(&self, columns: &[ColumnMeta]) -> Option<usize>;
    /// For errors.
    fn describe(&self) -> String;
}

impl RowIndex for usize {
    fn position(&self, columns: &[ColumnMeta]) -> Option<usize> {
        (*self < columns.len()).then_some(*self)
    }

    fn describe(&self) -> String {
        self.to_string()
    }
}

impl RowIndex for &str {
    fn position(&self, columns: &[ColumnMeta]) -> Option<usize> {
        columns.iter().position(|c| c.name.eq_ignore_ascii_case(self.as_bytes()))
    }

    fn describe(&self) -> String {
        (*self).to_owned()
    }
}

/// A collected result.
#[derive(Debug, Default)]
pub struct Rows {
    columns: Option<Arc<[ColumnMeta]>>,
    /// Row after row.
    values: Vec<Value<'static>>,
    outcome: Outcome,
}

impl Rows {
    /// Columns; none if the statement has no result.
    pub fn columns(&self) -> &[ColumnMeta] {
        self.columns.as_deref().unwrap_or(&[])
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.columns().len()).unwrap_or(0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// A row, from 0.
    pub fn row(&self, at: usize) -> Option<Row<'_>> {
        let width = self.columns().len();
        let values = self.values.get(at * width..(at + 1) * width)?;
        (width > 0).then_some(Row { columns: self.columns(), values })
    }

    /// All rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        let columns = self.columns();
        self.values.chunks_exact(columns.len().max(1)).map(move |values| Row { columns, values })
    }

    /// The single value of a result of one row and one column, or of the first of more.
    ///
    /// # Errors
    /// No row; the value is not of that type.
    pub fn single<'r, T: FromValue<'r>>(&'r self) -> SqlResult<T> {
        self.row(0)
            .ok_or_else(|| SqlError::new(1329, "No data - zero rows fetched, selected, or processed"))?
            .get(0)
    }

    /// Warnings and counts of the statement.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }
}

/// Rows one after the other, owned by what they come from.
#[derive(Debug)]
pub struct IntoIter {
    rows: Arc<Rows>,
    at: usize,
}

/// A row that keeps its result alive.
#[derive(Debug, Clone)]
pub struct OwnedRow {
    rows: Arc<Rows>,
    at: usize,
}

impl OwnedRow {
    /// As [`Row::get`], for types that own their value.
    ///
    /// # Errors
    /// As [`Row::get`].
    pub fn get<T: for<'r> FromValue<'r>>(&self, column: impl RowIndex) -> SqlResult<T> {
        match self.rows.row(self.at) {
            Some(row) => row.get(column),
            None => Err(SqlError::new(1329, "No data - zero rows fetched, selected, or processed")),
        }
    }
}

impl Iterator for IntoIter {
    type Item = OwnedRow;

    fn next(&mut self) -> Option<OwnedRow> {
        let at = self.at;
        self.at += 1;
        (at < self.rows.len()).then(|| OwnedRow { rows: self.rows.clone(), at })
    }
}

impl IntoIterator for Rows {
    type Item = OwnedRow;
    type IntoIter = IntoIter;

    fn into_iter(self) -> IntoIter {
        IntoIter { rows: Arc::new(self), at: 0 }
    }
}

impl ResultSink for Rows {
    fn columns(&mut self, columns: &Arc<[ColumnMeta]>) -> SqlResult<()> {
        // Of several statements in one text the last result counts.
        self.values.clear();
        self.columns = Some(columns.clone());
        Ok(())
    }

    fn row(&mut self, values: &[Value<'_>]) -> SqlResult<()> {
        self.values.extend(values.iter().map(|v| v.clone().into_owned()));
        Ok(())
    }

    fn end(&mut self, done: Completion) -> SqlResult<()> {
        self.outcome.take(done)
    }
}
