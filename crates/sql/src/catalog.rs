//! Tables as SQL sees them: the engine's table with the SQL types of its columns.

use std::sync::Arc;
use vaquita_engine::Table;
use vaquita_types::ColumnType;

/// A column.
#[derive(Debug)]
pub struct ColumnInfo {
    /// Name as declared.
    pub name: String,
    /// SQL type and codec.
    pub ty: ColumnType,
}

/// A table with the SQL types of its columns; made once per engine table object.
#[derive(Debug)]
pub struct TableInfo {
    /// Database.
    pub database: String,
    /// Name.
    pub name: String,
    /// The engine's object.
    pub table: Arc<Table>,
    /// Columns in order.
    pub columns: Vec<ColumnInfo>,
}
