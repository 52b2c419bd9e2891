//! Every test of the crate from outside, in one program: it is linked once, and its tests run side by side.
#![allow(clippy::unwrap_used, reason = "tests")]

mod bm25;
mod common;
mod deleted;
mod mysql56;
mod phrases;
mod recorded;
