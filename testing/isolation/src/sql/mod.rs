//! The SQL that scripts are written in: a small closed subset, parsed for servers that have no SQL of their own.
//!
//! One table for each statement; INT and VARCHAR columns; conditions from `=`, `<`, `>`, `<=`, `>=`, `<>`, BETWEEN, IN,
//! IS NULL, `%`, `+`, `-`, AND, OR; `count(*)` and `sum(c)`; transaction statements. Keywords are written in lower case.

mod ast;
mod eval;
mod lex;
mod parse;
mod range;

pub use ast::{Aggregate, ColumnDef, ColumnType, Expr, Item, KeyDef, LockClause, Operator, Statement, Value};
pub use eval::{Row, evaluate, is_true};
pub use parse::parse;
pub use range::{Bound, Range, ranges};
