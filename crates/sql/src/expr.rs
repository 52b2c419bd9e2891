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
//! | literals, variables, operators | `literal`, `variables`, `arith`, `compare`, `pattern`, `cast`, `control` |
//! | functions, by family | `functions` |
//! | subqueries as expressions see them | [`subquery`] |

mod access;
pub mod aggregate;
mod arith;
mod automaton;
mod build;
mod cast;
mod compare;
pub mod compile;
pub mod control;
mod env;
mod eval;
mod functions;
pub mod literal;
pub mod node;
mod pattern;
mod print;
pub mod row;
pub mod scope;
pub mod subquery;
pub mod variables;

pub use aggregate::{Accumulator, Aggregate, order_of};
pub(crate) use build::converted_len_max;

pub use compile::{compile, compile_condition, equal};
pub use control::{as_type, merge, union_type};
pub use functions::is_function;
pub(crate) use functions::new_uuid;
pub use literal::literal;
pub use node::{Constness, Derivation, Expr, Node, TableSet};
pub(crate) use print::with_values;
pub use row::{ColumnMap, Row, TableRow};
pub use scope::{CompileCx, Resolved, ResolvedColumn, Scope};
pub use subquery::{CompiledSubquery, Subquery, TakeRow};
pub use variables::set_user_variable;

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
