//! Changing rows: insert, update, delete in all indexes of a table, with undo, locks and foreign keys; and taking such
//! changes back.
//!
//! Every function works for a transaction, whoever has it: a session, the dictionary, rollback after a crash.
//!
//! | part | module |
//! |---|---|
//! | copies of rows, older versions | [`image`], [`versions`] |
//! | index entries made of rows | [`entry`] |
//! | undo records | [`undo_record`] |
//! | locks and waits | [`lock`], [`scan`](mod@scan) |
//! | changes of the clustered index | [`cluster_insert`](mod@cluster_insert), [`clustered`](mod@clustered) |
//! | changes of secondary indexes | [`secondary`] |
//! | uniqueness, foreign keys | [`duplicate`](mod@duplicate), [`foreign`](mod@foreign) |
//! | the statements | [`insert`](mod@insert), [`update`](mod@update), [`delete`](mod@delete) |
//! | numbers of documents, for full-text indexes | [`document`](mod@document) |
//! | taking changes back | [`rollback`](mod@rollback) |
//! | changes of a table that nobody else knows | [`private`](mod@private) |
//!
//! # Order of a change
//! Undo record, clustered record, secondary entries; a rollback goes the other way round and forgets the undo record
//! last, so that after a crash in between it begins again where it was: a clustered record with the undo record's
//! DB_TRX_ID and roll pointer says that there is something to take back.
//!
//! # Latching
//! One leaf at a time, and what may be asked of the clustered index, undo and values off the page while a leaf of a
//! secondary index is held; never the other way round. No lock is waited for with a latch held.

pub(crate) mod cluster_insert;
pub(crate) mod clustered;
mod delete;
mod document;
pub(crate) mod duplicate;
pub mod entry;
pub(crate) mod foreign;
pub mod image;
mod insert;
pub mod lock;
pub(crate) mod private;
mod rollback;
pub(crate) mod scan;
pub mod secondary;
pub mod undo_record;
mod update;
pub mod versions;

pub(crate) use rollback::roll_back_or_later;

use crate::core::Core;
use crate::documents;
use crate::error::{Error, Result};
use crate::table::{Field, RowKey, Table};
use smallvec::SmallVec;
use std::sync::Arc;
use vaquita_format::tuple::TupleField;
use vaquita_storage::buf::assert_no_page_latched;
use vaquita_txn::wait::{WaitFor, tell_around};
use vaquita_txn::{Trx, TrxState};

/// How a change is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOptions {
    /// Check foreign keys.
    pub foreign_key_checks: bool,
    /// Check unique secondary indexes. Without, a caller promises that there are no duplicates; they are found all the
    /// same, since the leaf with the duplicate is at hand anyway.
    pub unique_checks: bool,
    /// Lock duplicates in X mode, because they will be replaced or updated.
    pub exclusive_duplicates: bool,
    /// An inserted row is not to be taken back: the table is nobody else's and goes as a whole if the transaction fails.
    pub without_undo: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            foreign_key_checks: true,
            unique_checks: true,
            exclusive_duplicates: false,
            without_undo: false,
        }
    }
}

/// The fields of a clustered key; few keys have more, and those cost an allocation.
pub(crate) type KeyFields<'k> = SmallVec<[TupleField<'k>; 4]>;

/// A clustered key as fields of a tuple.
pub(crate) fn key_fields(key: &RowKey) -> KeyFields<'_> {
    key.fields().map(TupleField::new).collect()
}

/// Asserts that a change is made in a transaction that runs, and under no latch.
#[inline]
fn assert_runs(trx: &Trx) {
    debug_assert_eq!(trx.state(), TrxState::Active, "rows are changed in a transaction that runs");
    assert_no_page_latched("a row is changed");
}

/// A key that is not whole would be that of several rows.
#[inline]
fn check_key(table: &Table, key: &RowKey) -> Result<()> {
    assert!(table.parts.is_none(), "{}: rows are changed in the parts of the table", table.name);
    match key.len() == table.clustered().def().n_uniq() {
        true => Ok(()),
        false => Err(Error::WrongState("a row is changed by its whole clustered key")),
    }
}

/// Inserts a row: clustered record first, then the entries of all secondary indexes. The clustered key of the row, which
/// is new for tables keyed by DB_ROW_ID.
///
/// # Errors
/// Duplicate key, foreign keys, lock waits, space. Some indexes may have the row then: the caller takes back what came
/// since the undo number before ([`rollback_to`]), the statement or the row alone.
pub fn insert(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    row: &[Field<'_>],
    how: WriteOptions,
) -> Result<RowKey> {
    assert_runs(trx);
    let key = match &table.doc_ids {
        None => insert::insert(core, trx, table, row, how)?,
        Some(ids) => document::insert(core, trx, table, ids, row, how)?,
    };
    table.stats.row_changed(1);
    Ok(key)
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
    assert_runs(trx);
    check_key(table, key)?;
    let changed = update::update(core, trx, table, key, changes, how, &mut foreign::Cascade::default())?;
    if changed {
        table.stats.row_changed(0);
    }
    Ok(changed)
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
    assert_runs(trx);
    check_key(table, key)?;
    let deleted = delete::delete(core, trx, table, key, how, &mut foreign::Cascade::default())?;
    if deleted {
        table.stats.row_changed(-1);
    }
    Ok(deleted)
}

/// Takes back the transaction's changes from undo number `from` on, newest first; at most `max` of them. Whether all
/// are taken back.
///
/// # Errors
/// Errors of pages, damage. What was not taken back can be tried again.
pub fn rollback_step(core: &Core, trx: &mut Trx, from: u64, max: usize) -> Result<bool> {
    if from == 0 {
        trx.note_rollback(true);
    }
    rollback::step(core, trx, from, max)
}

/// Changes whose rollback takes so long that others should not wait for it.
const LONG_ROLLBACK: u64 = 100;

/// Takes back everything from undo number `from` on.
///
/// # Errors
/// As [`rollback_step`].
pub fn rollback_to(core: &Core, trx: &mut Trx, from: u64) -> Result<()> {
    take_back(core, trx, from)?;
    // The transaction goes on, also where the statement that failed was its first.
    trx.note_rollback(false);
    Ok(())
}

fn take_back(core: &Core, trx: &mut Trx, from: u64) -> Result<()> {
    documents::forget_notes(trx, from);
    let is_long = trx.undo_no().saturating_sub(from) > LONG_ROLLBACK;
    let hook = trx.wait_hook().clone();
    let mut all = || {
        while !rollback_step(core, trx, from, usize::MAX)? {}
        Ok(())
    };
    if is_long { tell_around(&*hook, WaitFor::Work, all) } else { all() }
}

/// Takes back everything a transaction did and ends it.
///
/// # Errors
/// As [`rollback_step`]; errors of writing undo pages. The transaction is still open then.
pub fn roll_back(core: &Core, trx: &mut Trx) -> Result<()> {
    take_back(core, trx, 0)?;
    let temporary = trx.take_temporary();
    core.txn.finish_rollback(trx)?;
    if let Some(undo) = temporary {
        // All of it has been taken back: nothing is to be purged.
        core.txn.end_temporary::<crate::error::Error>(undo, |_| Ok(()))?;
    }
    Ok(())
}
