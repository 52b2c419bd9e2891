//! Storing values into columns.

use super::Cx;
use crate::column::ColumnType;
use crate::error::SqlResult;
use crate::sql_type::SqlType;
use crate::value::Value;

/// How strictly values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreMode {
    /// What does not fit is an error: the strict `sql_mode` without IGNORE.
    pub strict: bool,
    /// NULL for a NOT NULL column is error 1048 (INSERT of one row; strict mode), else warning 1048 and the implicit
    /// default.
    pub null_is_error: bool,
    /// Number of the row for messages, from 1.
    pub row: u64,
}

/// Converts a value of type `from` to the column's type and appends its stored form. `Ok(false)`: NULL, nothing
/// appended.
///
/// # Errors
/// 1048, and in strict mode 1264, 1265, 1292, 1366, 1406 and so on.
pub fn store(
    column: &ColumnType,
    name: &str,
    v: &Value<'_>,
    from: &SqlType,
    mode: StoreMode,
    cx: &mut Cx<'_>,
    out: &mut Vec<u8>,
) -> SqlResult<bool> {
    let _ = (column, name, v, from, mode, cx, out);
    todo!()
}
