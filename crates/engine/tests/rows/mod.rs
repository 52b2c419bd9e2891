//! Changes of rows, their rollback, and what the indexes hold afterwards.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod bed;
mod crash;
mod damage;
mod doomed;
mod durability;
mod foreign;
mod left_by_server;
mod locks;
mod model;
mod random;
mod server;
mod set_aside;
mod single;
mod threads;
mod unique;
mod unknown_collation;
