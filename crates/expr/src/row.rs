//! Rows as expressions see them.

use vaquita_engine::RowRef;
use vaquita_types::{ColumnType, Value};

/// What the values of an expression are taken from. Cheap to build per row: slices of what lives elsewhere.
#[derive(Debug, Clone, Copy, Default)]
pub struct Row<'r> {
    /// One for every table slot of the query block, in the order the planner numbers them.
    pub tables: &'r [TableRow<'r>],
    /// Parameters of the statement: `?`, or literals lifted out of the text.
    pub params: &'r [Value<'r>],
    /// Results of the query block's aggregates, in the order of [`super::CompileCx::aggregates`]; empty before grouping.
    /// Those of its window functions are at the end, the first one last.
    pub aggregates: &'r [Value<'r>],
    /// The row of the enclosing query block, for correlated subqueries.
    pub outer: Option<&'r Row<'r>>,
}

impl<'r> Row<'r> {
    /// A row without tables: for expressions that are constant during one execution.
    pub fn constant(params: &'r [Value<'r>]) -> Row<'r> {
        Row { params, ..Row::default() }
    }
}

/// The present row of one table.
#[derive(Debug, Clone, Copy)]
pub enum TableRow<'r> {
    /// No row is read yet: a column of it is NULL. (Looking at it is a mistake of the planner.)
    None,
    /// The NULL row of an outer join.
    Null,
    /// A row in place, on its page or in a cursor's batch. Columns are decoded when they are looked at.
    Stored {
        /// The row.
        row: &'r RowRef<'r>,
        /// Where the columns of the table are in it.
        map: &'r ColumnMap,
    },
    /// A copied row: values by column position in the table.
    Values(&'r [Value<'r>]),
}

/// Where the columns of a table are among those a cursor fetches, and how they are decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnMap {
    /// Types of all columns of the table, in table order.
    pub types: std::sync::Arc<[ColumnType]>,
    /// For each column of the table its position among the fetched ones; [`ColumnMap::NOT_FETCHED`] if it is not.
    pub fetched: Box<[u16]>,
}

impl ColumnMap {
    /// Marks a column that is not fetched.
    pub const NOT_FETCHED: u16 = u16::MAX;
}
