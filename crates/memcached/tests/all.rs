//! Every test of the crate from outside, in one program: it is linked once, and its tests run side by side.
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
