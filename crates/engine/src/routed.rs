//! Changing rows of partitioned tables: each change is one of a part, a row that goes to another part is inserted there and deleted
//! where it was.
//!
//! What went before it fails is taken back with the statement, or with the row ([`crate::Statement::take_back`]), as that of any row.

use crate::core::Core;
use crate::cursor::{PointRead, ReadLock, ReadOptions, RowRef};
use crate::error::{Error, Result};
use crate::partition::Parts;
use crate::row::lock::lock_table;
use crate::row::{self, WriteOptions};
use crate::table::{Field, RowKey, Table};
use std::sync::Arc;
use vaquita_txn::{LockMode, Trx};

/// Inserts a row into the part to which it belongs, one of those that are `meant`; see [`row::insert`].
pub(crate) fn insert(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    values: &[Field<'_>],
    how: WriteOptions,
    meant: Option<&[usize]>,
) -> Result<RowKey> {
    let Some(parts) = &table.parts else { return row::insert(core, trx, table, values, how) };
    table.check_writable()?;
    let part = parts.meant(table, meant, &|column| values[column])?;
    insert_into(core, trx, table, part, values, how)
}

fn insert_into(
    core: &Core,
    trx: &mut Trx,
    table: &Table,
    part: &Arc<Table>,
    values: &[Field<'_>],
    how: WriteOptions,
) -> Result<RowKey> {
    will_change(core, trx, table, part)?;
    let mut key = row::insert(core, trx, part, values, how).map_err(|e| of_whole(e, table))?;
    key.part = part.id;
    Ok(key)
}

/// Updates a row, which goes to none but those that are `meant`; see [`row::update`].
pub(crate) fn update(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    key: &RowKey,
    changes: &[(usize, Field<'_>)],
    how: WriteOptions,
    meant: Option<&[usize]>,
) -> Result<bool> {
    let Some(parts) = &table.parts else { return row::update(core, trx, table, key, changes, how) };
    table.check_writable()?;
    let Some(part) = parts.numbered(key.part) else { return Err(NO_PART) };
    will_change(core, trx, table, part)?;
    let moves = |parts: &Parts| {
        let columns = parts.scheme.as_ref().map_or(&[][..], |scheme| scheme.columns());
        changes.iter().any(|(column, _)| columns.binary_search(column).is_ok())
    };
    if moves(parts) {
        let Some(old) = read_row(core, trx, part, key)? else { return Ok(false) };
        let mut new: Vec<Field<'_>> = old.iter().map(|value| value.as_deref()).collect();
        changes.iter().for_each(|&(column, value)| new[column] = value);
        let to = parts.meant(table, meant, &|column| new[column])?;
        if to.id != part.id {
            insert_into(core, trx, table, to, &new, how)?;
            return row::delete(core, trx, part, key, how).map_err(|e| of_whole(e, table));
        }
    }
    row::update(core, trx, part, key, changes, how).map_err(|e| of_whole(e, table))
}

/// Deletes a row; see [`row::delete`].
pub(crate) fn delete(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    key: &RowKey,
    how: WriteOptions,
) -> Result<bool> {
    let Some(parts) = &table.parts else { return row::delete(core, trx, table, key, how) };
    table.check_writable()?;
    let Some(part) = parts.numbered(key.part) else { return Err(NO_PART) };
    will_change(core, trx, table, part)?;
    row::delete(core, trx, part, key, how).map_err(|e| of_whole(e, table))
}

const NO_PART: Error = Error::WrongState("a row of a partitioned table is known by its part, too");

/// Says that rows of a part are going to change, to those who watch the table ([`crate::watch`]): its mark is set when the lock is
/// there, as the part's own.
fn will_change(core: &Core, trx: &Trx, table: &Table, part: &Table) -> Result<()> {
    lock_table(core, trx, part, LockMode::IntentionExclusive)?;
    table.mark.set();
    Ok(())
}

/// All values of a row, which is locked X.
fn read_row(
    core: &Core,
    trx: &mut Trx,
    part: &Arc<Table>,
    key: &RowKey,
) -> Result<Option<Vec<Option<Vec<u8>>>>> {
    let options = ReadOptions::by_index(0).locking(ReadLock::Exclusive);
    let mut read = PointRead::new(part.clone(), options)?;
    let key: Vec<Field<'_>> = key.fields().map(Some).collect();
    let all = |row: &RowRef<'_>| -> Result<Vec<Option<Vec<u8>>>> {
        let value = |i| {
            let mut bytes = Vec::new();
            Ok(row.read_column(i, &mut bytes)?.then_some(bytes))
        };
        (0..row.n_columns()).map(value).collect()
    };
    read.get(core, trx, &key, all)?.transpose()
}

/// An error that a part's row gave, as one of the table.
fn of_whole(e: Error, table: &Table) -> Error {
    match e {
        Error::DuplicateKey { index, value, .. } => {
            Error::DuplicateKey { table: table.name.clone(), index, value }
        }
        Error::NullNotAllowed { column, .. } => Error::NullNotAllowed { table: table.name.clone(), column },
        Error::RowTooBig { limit, inline, .. } => {
            Error::RowTooBig { table: table.name.clone(), limit, inline }
        }
        other => other,
    }
}
