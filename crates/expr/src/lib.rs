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
//! | what a block within selects | [`selected`] |
//! | texts that become numbers without a word | `quiet` |
//! | values within JSON documents | `document` |
//! | subqueries as expressions see them | [`subquery`] |
//! | full-text searches as expressions see them | [`fulltext`] |
//! | stored functions and triggers as statements see them | [`stored`], [`trigger`] |
#![forbid(unsafe_code)]

mod access;
pub mod aggregate;
mod arith;
mod automaton;
mod build;
mod cast;
mod compare;
pub mod compile;
pub mod control;
mod convert;
pub mod document;
mod env;
mod eval;
pub mod fulltext;
mod functions;
pub mod literal;
mod locale;
mod moved;
pub mod node;
mod pattern;
mod print;
mod properties;
mod query;
mod quiet;
pub mod row;
pub mod scope;
pub mod selected;
pub mod stored;
mod subquery;
pub mod trigger;
pub mod variables;
pub mod window;

pub use aggregate::{Accumulator, Aggregate, order_of};

pub use compile::{compile, compile_condition, compile_windows, equal};
pub use control::{merge, union_type};
pub use convert::as_type;
pub use eval::all_true;
pub use functions::is_function;
pub use functions::json::change_in_place;
pub use functions::new_uuid;
pub use literal::literal;
pub use moved::of_outer;
pub use node::{Constness, Derivation, Expr, Node, TableSet};
pub use print::{with_names, with_values};
pub use query::{CompiledSubquery, Conversion, FoundDocuments, FullText, InOrder, Subquery, TakeRow};
pub use row::{ColumnMap, Row, TableRow};
pub use scope::{CompileCx, Resolved, ResolvedColumn, Scope};
pub use selected::{Seen, selected, stored};
pub use vaquita_session::EvalCx;
pub use variables::set_user_variable;
