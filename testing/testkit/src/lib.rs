//! Models, generators and helpers shared by tests.
#![forbid(unsafe_code)]

/// The real servers: see the crate's own documentation.
pub use vaquita_peers as peers;

pub mod engine_folder;
pub mod programs;
pub mod queries;
pub mod table_builder;
