//! Tests of a running `vaquita`, through its protocols and its shell.
#![allow(clippy::unwrap_used, reason = "tests")]

mod column_rules;
mod common;
mod damaged_system_pages;
mod in_transactions;
mod isolation_sql;
mod killed_blobs;
mod killed_builds;
mod killed_programs;
mod little_memory;
mod little_room;
mod nesting;
mod progress_reports;
mod random_alters;
mod shell;
mod siege;
mod sql_scripts;
#[path = "common/transcript.rs"]
mod transcript;
