//! All integration tests of the crate in one program, so that the engine is linked once.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
mod index_edits;
mod index_pages;
mod real_redo;
mod server_files;
mod server_log;
mod tables;
mod values;
mod zip_pages;
