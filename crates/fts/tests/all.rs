//! All integration tests of the crate in one program, so that the engine is linked once.
#![allow(clippy::unwrap_used, reason = "tests")]

mod bm25;
mod common;
mod deleted;
mod mysql56;
mod phrases;
mod recorded;
