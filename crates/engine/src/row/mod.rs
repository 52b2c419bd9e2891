//! Changing rows: insert, update, delete in all indexes of a table, with undo, locks and foreign keys; and taking such
//! changes back.
//!
//! Every function works for a transaction, whoever has it: a session, the dictionary, rollback after a crash.

use crate::core::Core;
use crate::error::Result;
use crate::table::{Field, RowKey, Table};
use std::sync::Arc;
use vaquita_txn::Trx;

/// How a change is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOptions {
    /// Check foreign keys.
    pub foreign_key_checks: bool,
    /// Check unique secondary indexes.
    pub unique_checks: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { foreign_key_checks: true, unique_checks: true }
    }
}

/// Inserts a row: clustered record first, then the entries of all secondary indexes. The clustered key of the row, which
/// is new for tables keyed by DB_ROW_ID.
///
/// # Errors
/// Duplicate key, foreign keys, lock waits, space. The caller rolls the statement back: some indexes may have the row.
pub fn insert(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    row: &[Field<'_>],
    how: WriteOptions,
) -> Result<RowKey> {
    let _ = (core, trx, table, row, how);
    unimplemented!()
}

/// Changes columns of the row with this clustered key, which the transaction has locked in X mode or locks now; whether
/// there is such a row and anything changed.
///
/// # Errors
/// As [`insert`].
pub fn update(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    key: &RowKey,
    changes: &[(usize, Field<'_>)],
    how: WriteOptions,
) -> Result<bool> {
    let _ = (core, trx, table, key, changes, how);
    unimplemented!()
}

/// Delete-marks the row with this clustered key in all indexes; whether there is one.
///
/// # Errors
/// As [`insert`].
pub fn delete(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    key: &RowKey,
    how: WriteOptions,
) -> Result<bool> {
    let _ = (core, trx, table, key, how);
    unimplemented!()
}

/// Takes back the transaction's changes from undo number `from` on, newest first; at most `max` of them. Whether all
/// are taken back.
///
/// # Errors
/// Errors of pages, damage. What was not taken back can be tried again.
pub fn rollback_step(core: &Core, trx: &mut Trx, from: u64, max: usize) -> Result<bool> {
    let _ = (core, trx, from, max);
    unimplemented!()
}

/// Takes back everything from undo number `from` on.
///
/// # Errors
/// As [`rollback_step`].
pub fn rollback_to(core: &Core, trx: &mut Trx, from: u64) -> Result<()> {
    while !rollback_step(core, trx, from, usize::MAX)? {}
    Ok(())
}
