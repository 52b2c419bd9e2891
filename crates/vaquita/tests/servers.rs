//! Tests that compare with real servers (MySQL 5.6.24, MariaDB, memcached) or use their clients and drivers.
#![allow(clippy::unwrap_used, reason = "tests")]

mod alter_clauses;
mod common;
mod ddl_documents;
mod dml_differential;
mod drivers;
mod elsewhere;
mod engine_tables_in_mysql;
mod events;
mod exchange;
mod exported_to_mysql;
mod folders;
mod foreign_files;
mod foreign_folders;
mod fresh_mysql_files;
mod frm_files;
mod fulltext_folders;
mod fulltext_keys_in_mysql;
mod fulltext_writes;
mod import_command;
mod imported_by_mysql;
mod memcached;
mod names_and_labels;
mod old_snapshots;
mod partition_folders;
mod partition_functions;
mod programs_differential;
mod queries_differential;
mod server_triggers;
mod server_variables;
mod server_views;
mod stock_clients;
mod system_tablespace;
mod table_limits;
#[path = "common/transcript.rs"]
mod transcript;
