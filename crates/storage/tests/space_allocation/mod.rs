//! Space allocation: policy, growth, layout against files of a real server, damage, crashes, long random runs.
#![allow(clippy::unwrap_used, reason = "a test")]

mod bed;
mod crash;
mod damage;
mod growth;
mod model;
mod operations;
mod policy;
mod server_files;
