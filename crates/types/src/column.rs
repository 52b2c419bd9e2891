//! Columns: between values and stored bytes.

use crate::sql_type::SqlType;

/// A column's SQL type together with how its values are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnType {
    /// The type.
    pub ty: SqlType,
}
