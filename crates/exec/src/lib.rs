//! Running statements: plans of queries, and what changes rows.
//!
//! A statement's way ends here: a plan of [`vaquita_plan`] is run by [`query`], which reads rows by the engine's cursors and
//! pushes them on, or by [`dml`], which writes rows. What an execution leaves to the next one of the same plan is kept by the
//! session ([`vaquita_session::state::Workspaces`]); plans are shared by all sessions and hold data only.
//!
//! | part | module |
//! |---|---|
//! | statements as a session runs them | [`statement`], [`plan`](planned::plan) |
//! | SELECT: to the client, to variables, to a file | [`select`], `into` |
//! | running a query: scans, joins, groups, sorts | `query` |
//! | subqueries in expressions | [`subquery`] |
//! | full-text searches in expressions | `fulltext` |
//! | the rows of an UPDATE or DELETE | [`matching`] |
//! | INSERT, UPDATE, DELETE, REPLACE, LOAD DATA | [`dml`] |
#![forbid(unsafe_code)]

pub mod dml;
mod files;
mod fulltext;
mod into;
pub mod matching;
mod planned;
mod query;
pub mod select;
pub mod statement;
pub mod subquery;

pub use planned::plan;
pub use select::is_stale;
pub use statement::{Outcome, PlanCx, Planned};
