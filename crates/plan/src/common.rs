//! Common table expressions that can be named at some place of a statement.

use crate::tree::{LastRows, QueryPlan, TableUse};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use vaquita_expr::TableSet;
use vaquita_types::{SqlError, SqlType};

/// A column: its name and its type.
pub(crate) type CommonColumn = (String, SqlType);

/// A common table expression.
#[derive(Debug, Clone)]
pub(crate) struct Common {
    /// As it is called.
    pub(crate) name: String,
    /// What it stands for.
    pub(crate) rows: CommonRows,
}

/// What a common table expression stands for.
#[derive(Debug, Clone)]
pub(crate) enum CommonRows {
    /// A query.
    Planned(Rc<CommonTable>),
    /// A query that cannot be planned. One that nobody names may be wrong.
    Failed(SqlError),
    /// The rows that came last, inside of a recursive one.
    Recursive(Rc<Recursing>),
}

/// A planned common table expression.
#[derive(Debug)]
pub(crate) struct CommonTable {
    pub(crate) plan: Arc<QueryPlan>,
    pub(crate) columns: Vec<CommonColumn>,
    /// Depth of the block around it; 0: there is none.
    pub(crate) depth: u16,
    /// Tables of that block that it refers to.
    pub(crate) outer_tables: TableSet,
    /// It refers to some row around it.
    pub(crate) correlated: bool,
    /// What it reads.
    pub(crate) uses: Vec<TableUse>,
}

/// A recursive common table expression that is being planned.
#[derive(Debug)]
pub(crate) struct Recursing {
    pub(crate) last: Arc<LastRows>,
    /// Its columns, once the first part is planned; `None` where it cannot be named, with whether it is a union at all.
    pub(crate) columns: RefCell<Option<Vec<CommonColumn>>>,
    /// It has several parts.
    pub(crate) is_union: bool,
    /// How deep the blocks of its parts are.
    pub(crate) blocks: u32,
    /// How often the present part names it.
    pub(crate) references: Cell<u32>,
}
