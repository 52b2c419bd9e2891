//! Tables as SQL sees them: the engine's table with the SQL types of its columns, made once per engine table object.
//!
//! | part | file |
//! |---|---|
//! | what the engine keeps for this layer as text | [`extra`] |
//! | types of columns, to and from their declared text | [`declared`] |
//! | names of tables and databases; what a database is by default | `names`, `database` |
//! | tables and columns themselves | [`table`] |
//! | defaults | `defaults` |
//! | the engine's errors in MySQL's words | [`error`] |
//!
//! Names are UTF-8 and kept as written; names of tables and databases are compared byte by byte
//! (`lower_case_table_names` 0), those of columns and indexes without case.

#![forbid(unsafe_code)]

mod database;
pub mod declared;
mod defaults;
pub mod error;
pub mod extra;
mod names;
pub mod table;

pub use database::database_options;
pub use defaults::{default_value, has_own_default, no_default};
pub use names::{check_database, engine_name, file_name, is_virtual_database, same_name, sql_name};
pub use table::{Catalog, ColumnInfo, KeyInfo, TableInfo, flag, is_row_id, open_table};
