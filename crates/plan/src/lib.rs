//! Plans of statements: names, access paths, join order; EXPLAIN.
//!
//! A plan is made once of a syntax tree and owns all it needs: it is kept in caches and run by many sessions at once. It
//! holds the tables it was made for: if a definition has changed, running it fails with the engine's `TableChanged`, and a new plan is to be made.
//!
//! | part | file |
//! |---|---|
//! | what a plan is | [`tree`] |
//! | what planning needs and notes | [`planner`] |
//! | SELECT, and where its rows go | [`select`], [`into`], [`file_format`] |
//! | queries: blocks, names, joins, access paths | [`query`] |
//! | optimizer hints, as they wait for their blocks | `hinted` |
//! | conditions an index can help with | `sarg` |
//! | bounds and intervals of indexes | [`bound`], `intervals`, [`ranges`] |
//! | derived tables whose rows are not kept | `streams` |
//! | EXPLAIN | `explain` |
//! | partition functions | [`partition`] |
//! | virtual tables | [`source`] |
//! | JSON_TABLE | [`json_table`] |
//! | types as they are written | [`column_type`] |
//! | views: planned as parts of a statement, and as text | [`view`] |
//! | rows for UPDATE and DELETE, ON DUPLICATE KEY UPDATE | [`query::matching`], [`query::on_duplicate`] |
#![forbid(unsafe_code)]

pub mod bound;
pub mod column_type;
pub mod columns;
mod common;
mod explain;
pub mod file_format;
mod hinted;
mod intervals;
pub mod into;
pub mod json_table;
pub mod partition;
pub mod planner;
pub mod query;
pub mod ranges;
pub mod rules;
pub mod sarg;
pub mod select;
pub mod source;
mod streams;
pub mod tree;
pub mod view;
mod wanted;

pub use explain::{explain, explain_columns};
pub use file_format::FileFormat;
pub use planner::{MakeSearchable, Planner, Runnable};
pub use query::changed::{ChangedView, InsertView, is_updatable, open_to_insert};
pub use query::matching::{
    Doing, MatchPlan, MatchRequest, MatchedAssignment, TargetTable, plan_match, refuse_reading, refuse_value,
};
pub use query::on_duplicate::{PlannedUpdates, SELECTED, Updates};
pub use query::{DefinedView, define_view, plan_subquery};
pub use rules::{CheckRule, TableRules, ValueRule};
pub use select::{SelectPlan, plan_select, plan_select_for};
pub use source::{VirtualColumn, VirtualTable, VirtualTables, Wanted};
pub use tree::{
    BlockPlan, Body, GroupPlan, HashKey, KeyTest, KeyValue, LastRows, LimitPlan, Making, OrderKey, Path,
    QueryPlan, Read, Recursion, SetOperation, SortValue, Source, SourceLock, Step, SubqueryPlan, TableUse,
    UnionPart, WindowFunction, WindowPass, WindowsPlan, Work,
};
pub use wanted::wanted_of;
