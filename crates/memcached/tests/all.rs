//! All integration tests of the crate in one program, so that the engine is linked once.
#![allow(clippy::unwrap_used, reason = "tests")]

mod cache_model;
mod generated;
mod innodb;
mod like_memcached_binary;
mod like_memcached_text;
mod memccapable;
mod pieces;
mod range;
mod support;
