//! Defaults of columns.

use crate::table::{ColumnInfo, TableInfo};
use vaquita_engine::table::DefaultValue;
use vaquita_types::{Kind, SqlError, SqlResult, TimeZone, Value};

/// The value of DEFAULT(column).
///
/// # Errors
/// 1364 the column has none; 3773 it is an expression.
pub fn default_value(info: &TableInfo, column: usize) -> SqlResult<Value<'static>> {
    let column = &info.columns[column];
    let decode = |stored: &[u8]| column.ty.decode(Some(stored), &TimeZone::UTC).into_owned();
    match &column.default {
        DefaultValue::Stored(bytes) => Ok(decode(bytes)),
        DefaultValue::Null => Ok(Value::Null),
        DefaultValue::Text(_) => {
            Err(SqlError::new(3773, "DEFAULT function cannot be used with default value expressions"))
        }
        _ if column.generated.is_some() => {
            Err(SqlError::new(3773, "DEFAULT function cannot be used with default value expressions"))
        }
        // What MySQL's row of defaults has there.
        DefaultValue::Now if !column.is_nullable() => Ok(Value::DateTime(vaquita_types::DateTime::default())),
        _ if column.is_nullable() => Ok(Value::Null),
        _ if has_own_default(column) || column.auto_increment => Ok(decode(&column.implicit)),
        _ => Err(no_default(&column.name)),
    }
}

/// Whether a column that was declared without a default has one all the same: the first label.
pub fn has_own_default(info: &ColumnInfo) -> bool {
    info.sql_type().kind == Kind::Enum
}

/// 1364.
pub fn no_default(column: &str) -> SqlError {
    SqlError::new(1364, format!("Field '{column}' doesn't have a default value"))
}
