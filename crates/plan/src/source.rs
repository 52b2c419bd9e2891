//! Tables whose rows are made when asked: SHOW and information_schema.

use std::fmt::Debug;
use std::sync::Arc;
use vaquita_expr::EvalCx;
use vaquita_types::{SqlResult, SqlType, Value};

/// A column of a virtual table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualColumn {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: SqlType,
}

/// What the statement wants of a virtual table: `column = value` conditions that all wanted rows satisfy. A table may use
/// them to make fewer rows; the conditions are checked afterwards all the same.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Column position and value.
    pub equal: Vec<(usize, Value<'static>)>,
    /// Columns that are looked at, by position; others may be NULL.
    pub columns: Vec<usize>,
}

impl Wanted {
    /// The value that a column must have, as bytes.
    pub fn text(&self, column: usize) -> Option<&[u8]> {
        self.equal.iter().find_map(|(at, value)| match value {
            Value::Bytes(b) if *at == column => Some(b.as_ref()),
            _ => None,
        })
    }
}

/// A table whose rows are made when asked.
pub trait VirtualTable: Debug + Send + Sync {
    /// Database, as the statement may name it (without case): `information_schema`.
    fn database(&self) -> &str;

    /// Name.
    fn name(&self) -> &str;

    /// Columns in order.
    fn columns(&self) -> &[VirtualColumn];

    /// All rows, or those that are wanted; each has a value for every column. No latch is held.
    ///
    /// # Errors
    /// What keeps the rows from being made.
    fn rows(&self, cx: &mut EvalCx<'_>, wanted: &Wanted) -> SqlResult<Vec<Vec<Value<'static>>>>;
}

/// The virtual tables there are.
pub trait VirtualTables: Debug + Send + Sync {
    /// One by name; `database`: the one that is named, or the current one.
    fn find(&self, database: &str, name: &str) -> Option<Arc<dyn VirtualTable>>;
}
