//! Every test of the crate from outside, in one program: it is linked once, and its tests run side by side.
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
