//! What a table is in SQL.
//!
//! | part | file |
//! |---|---|
//! | the definition: columns, keys, foreign keys, options | [`definition`] |
//! | what a definition may be; keys; columns that are changed | [`limits`], [`keys`], `edit` |
//! | columns that are calculated, and what depends on columns | [`expressions`] |
//! | CHECK constraints: their names and columns | [`checks`] |
//! | definitions from and to the engine's descriptions | [`stored`] |
//! | definitions from `.frm` and `.cfg` files, and as `.frm` files | [`frm`], [`cfg`] |
//! | definitions as text | [`show_create`] |
//! | how a table is partitioned | [`partitioning`] |
//! | types of columns from their declared text | [`declared`] |
//! | names of tables and databases; what a database is by default | `names`, `database` |
//! | tables in use: a definition with what queries need of it | [`table`] |
//! | views, routines, triggers, events: what SQL keeps of them | [`object`] |
//! | defaults | `defaults` |
//! | the engine's errors in MySQL's words | [`error`] |
//!
//! Names are UTF-8 and kept as written; names of tables and databases are compared byte by byte
//! (`lower_case_table_names` 0), those of columns and indexes without case.

#![forbid(unsafe_code)]

pub mod cfg;
pub mod checks;
mod database;
pub mod declared;
mod defaults;
pub mod definition;
mod edit;
pub mod error;
pub mod expressions;
pub mod frm;
pub mod keys;
pub mod limits;
mod names;
pub mod object;
pub mod partitioning;
pub mod ranking;
pub mod show_create;
pub mod stored;
pub mod table;
pub mod trigger;
mod written;

pub use database::database_options;
pub use defaults::{default_value, has_own_default, no_default};
pub use definition::{
    CheckDefinition, ColumnDefinition, Definition, ForeignKeyDefinition, Generated, KeyDefinition, KeyKind,
    KeyPart, TableOption, TableOptions,
};
pub use names::{
    INFORMATION_SCHEMA, PERFORMANCE_SCHEMA, check_database, engine_name, file_name, is_for_everybody,
    is_virtual_database, same_name, sql_name, virtual_database,
};
pub use object::{ObjectBody, Security};
pub use table::{Catalog, ColumnInfo, KeyInfo, TableInfo, flag, is_row_id, open_base_table, open_table};
pub use written::quoted_name;
