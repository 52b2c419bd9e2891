//! Whole table files, built through the storage and the trees as the engine will build them: for real servers to
//! judge.
//!
//! A [`TableDef`] is written down once, in SQL. A server makes its table from [`TableDef::create_sql`];
//! [`TableBuilder`] makes Vaquita's tablespace from the same definition, with `.cfg` beside it, in a folder of its
//! own. Values are given as [`Value`](vaquita_format::value::Value)s; [`literal`] writes them in SQL, so that a
//! server can fill a twin table and compare, and [`random_value`] invents them.
//!
//! | part | file |
//! |---|---|
//! | columns from SQL | `column` |
//! | tables, keys, what follows from them | `definition` |
//! | rows into trees, trees into files | `build` |
//! | values: in SQL, and random | `values` |
//!
//! What it builds is at rest: no transaction is running and none has left undo. Rows carry small transaction ids and
//! roll pointers that lead nowhere, as IMPORT leaves them.

mod build;
mod column;
mod definition;
mod values;

pub use build::{BuildError, Row, TableBuilder, TableFiles};
pub use column::Column;
pub use definition::{Identity, Key, KeyKind, TableDef};
pub use values::{literal, random_row, random_value};
