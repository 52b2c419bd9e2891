//! All integration tests of the crate in one program, so that the engine is linked once.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../../btree/tests/trees/bed.rs"]
#[allow(dead_code, reason = "uses a part of it")]
mod bed;
mod folder;
mod lock_mysql;
mod lock_places;
mod trx_crash;
mod trx_ids;
mod trx_life;
mod trx_locks;
mod undo_mysql;
mod view_rules;
mod view_versions;
