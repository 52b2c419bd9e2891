//! Planning a query. A query has blocks, a block has tables that may be queries, and conditions with queries in them: the
//! parts of this module call each other.
//!
//! | part | file |
//! |---|---|
//! | query blocks, unions | [`block`], `union` |
//! | FROM: tables, the tree of joins | [`from`] |
//! | names: scopes of query blocks | [`names`] |
//! | JSON_TABLE | `json_table` |
//! | views: merged into the block, or rows that are made first | [`merged`], `view` |
//! | derived tables that are merged | `derived` |
//! | window functions | `window` |
//! | WITH: common table expressions | `with` |
//! | subqueries in expressions | `subquery` |
//! | GROUP BY | [`group`] |
//! | full-text searches | `fulltext` |
//! | expressions that indexes are of | `generated` |
//! | optimizer hints | [`hints`] |
//! | rows for UPDATE and DELETE | [`matching`], `targets` |
//! | rows that are changed by way of a view | [`changed`] |
//! | ON DUPLICATE KEY UPDATE | [`on_duplicate`] |
//! | access paths and their costs; join order | [`access`], [`join`], `equal`, `covered` |

pub(crate) mod access;
pub mod block;
pub mod changed;
mod covered;
mod derived;
mod equal;
pub(crate) mod from;
mod fulltext;
mod generated;
pub(crate) mod group;
pub(crate) mod hints;
pub(crate) mod join;
mod json_table;
pub mod matching;
pub mod merged;
pub mod names;
pub mod on_duplicate;
mod subquery;
mod targets;
mod union;
mod view;
mod window;
pub(crate) mod with;
mod work;

pub use subquery::plan_subquery;
pub use view::{DefinedView, define_view};
