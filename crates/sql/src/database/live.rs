//! Global variables that reach the running engine.

use super::Database;
use crate::vars::{VarId, VarValue, id};
use std::sync::atomic::Ordering;

/// Tells those who work of a variable that has a new value, if it can be taken while they do. Sessions look at
/// `flush_at_commit` when they begin a statement.
pub(super) fn apply(db: &Database, var: VarId, value: &VarValue) {
    let on = value.uint() != 0;
    match var {
        id::INNODB_FLUSH_LOG_AT_TRX_COMMIT => db.flush_at_commit.store(value.uint() as u8, Ordering::Relaxed),
        id::READ_ONLY => db.read_only.store(on, Ordering::Relaxed),
        id::SUPER_READ_ONLY => db.super_read_only.store(on, Ordering::Relaxed),
        _ => {}
    }
}
