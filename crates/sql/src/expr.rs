//! Expressions: compiled once per statement, evaluated per row.
//!
//! [`compile()`] turns a syntax tree into an [`Expr`]: names are resolved through a [`Scope`], types and collations are
//! found, conversions between character sets are put in, constant parts are calculated. An `Expr` owns all it needs and
//! is part of cached plans. [`Expr::eval`] gives its value for a [`Row`]; nothing is allocated for numbers and
//! comparisons.
//!
//! | part | module |
//! |---|---|
//! | the compiled form, its properties, visitors | [`node`] |
//! | rows that expressions look at | [`row`] |
//! | what the planner tells the compiler | [`scope`] |
//! | from syntax to compiled form | [`compile`](mod@compile) |
//! | aggregate functions | [`aggregate`] |
//! | subqueries as expressions see them | [`subquery`] |

pub mod aggregate;
pub mod compile;
pub mod node;
pub mod row;
pub mod scope;
pub mod subquery;

pub use aggregate::{Accumulator, Aggregate};
pub use compile::{compile, compile_condition};
pub use node::{Coercibility, Constness, Expr, Node, TableSet};
pub use row::{ColumnMap, Row, TableRow};
pub use scope::{CompileCx, Resolved, ResolvedColumn, Scope};
pub use subquery::{CompiledSubquery, Subquery};

use crate::database::Database;
use crate::state::SessionState;
use vaquita_engine::Session;

/// What evaluation needs besides the row.
#[derive(Debug)]
pub struct EvalCx<'c> {
    /// The folder. `None` only while constants are calculated at compile time.
    pub db: Option<&'c Database>,
    /// The session; warnings go there.
    pub state: &'c mut SessionState,
    /// To run subqueries. `None` while a row is looked at in place (its page is latched): expressions with subqueries
    /// are evaluated on copied rows only.
    pub engine: Option<&'c mut Session>,
}
