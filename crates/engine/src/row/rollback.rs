//! Taking changes back.
//!
//! Newest undo record first. A record is taken back if the clustered record with its key carries the transaction's id
//! and the undo record's place as roll pointer; otherwise the change was never made, or has been taken back already by a
//! rollback that a crash interrupted. Secondary entries come first, the clustered record last, then the undo record is
//! forgotten. Where a page must be split for what comes back, that goes into the space which all others leave.
//!
//! | undo record | secondary entries | clustered record |
//! |---|---|---|
//! | INSERT | removed | values off the page freed unless inherited, removed |
//! | UPD_EXIST | new ones: marked if an older version needs them, else removed; old ones made live | values off the page written by the update freed; old values |
//! | UPD_DEL | new ones: marked or removed | the same, and the mark; removed if nobody needs the deleted row any more |
//! | DEL_MARK | made live | the mark taken away, values off the page owned again |
//!
//! # Locks
//! None are asked for: what is taken back was written by the transaction.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::clustered::{self, DELETED, LIVE, Ownership};
use crate::row::entry::{Columns, Entry, build, check_fields, entry, same_bytes};
use crate::row::image::Image;
use crate::row::secondary::{self, Fate};
use crate::row::versions::{find_row, is_seen_by_all, older_needs_entry};
use crate::table::Table;
use std::sync::Arc;
use vaquita_base::{RollPtr, TrxId};
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_format::undo::record::{UndoHeader, UndoRecord, UndoType};
use vaquita_storage::fsp::Reservation;
use vaquita_txn::undo::UndoBuf;
use vaquita_txn::{Trx, TrxState};

/// Rolls back a transaction, if it is still active; in the background if that is impossible now.
///
/// # Errors
/// Why it was impossible: its locks stay until the background has done it.
pub(crate) fn roll_back_or_later(core: &Core, mut trx: Trx) -> Result<()> {
    if trx.state() != TrxState::Active {
        return Ok(());
    }
    let done = super::roll_back(core, &mut trx);
    if done.is_err() {
        core.roll_back_later(trx);
    }
    done
}

/// See [`crate::row::rollback_step`].
pub(super) fn step(core: &Core, trx: &mut Trx, from: u64, max: usize) -> Result<bool> {
    let mut undo = UndoBuf::default();
    let mut last: Option<Arc<Table>> = None;
    for _ in 0..max {
        let Some(place) = core.txn.newest_undo(trx, from, &mut undo)? else { return Ok(true) };
        let header = UndoHeader::parse(undo.body()).map_err(|c| damaged(place, &c.to_string()))?;
        if last.as_ref().is_none_or(|t| t.id != header.table_id) {
            last = match core.table_by_id(header.table_id) {
                Err(Error::TableUnusable { damaged: false, .. } | Error::Discarded(_)) => None,
                found => found?,
            };
        }
        // Without its table, or its file, there is nothing to take back. A damaged file may be put back.
        if let Some(table) = &last {
            take_back(core, trx.id(), table, &undo, place)?;
        }
        core.txn.forget_undo(trx, header.undo_no)?;
    }
    Ok(false)
}

#[cold]
fn damaged(place: RollPtr, detail: &str) -> Error {
    Error::Corrupt(format!("undo record at {:#x}: {detail}", place.get()))
}

/// Takes one change back.
fn take_back(core: &Core, trx_id: TrxId, table: &Table, undo: &UndoBuf, place: RollPtr) -> Result<()> {
    let n_key = table.clustered().def().n_uniq();
    let record = UndoRecord::parse(undo.body(), n_key).map_err(|c| damaged(place, &c.to_string()))?;
    let key: Vec<TupleField<'_>> = record.key().map(|v| TupleField::nullable(v.bytes())).collect();
    let Some(mut now) = find_row(core, table, &key)? else { return Ok(()) };
    let sys = now.sys();
    if sys.trx_id != trx_id || sys.roll_ptr != place {
        return Ok(());
    }
    now.load_external(core, table)?;
    match record.header.ty {
        UndoType::Insert => undo_insert(core, table, &now),
        UndoType::UpdateExisting | UndoType::UpdateDeleted => undo_update(core, table, &mut now, &record),
        UndoType::DeleteMark => undo_delete(core, table, &now, &record),
    }
}

fn undo_insert(core: &Core, table: &Table, now: &Image) -> Result<()> {
    for index in &table.indexes[1..] {
        // The row is new: no older version can need the entry.
        secondary::settle(core, (table, index), &entry(table, index, now), |_| Ok(Fate::Remove))?;
    }
    clustered::remove(core, table, now, |_, chain| !chain.inherited)?;
    table.tell_taken_back(Some(now), None, true);
    Ok(())
}

fn undo_delete(core: &Core, table: &Table, now: &Image, record: &UndoRecord<'_>) -> Result<()> {
    for index in &table.indexes[1..] {
        secondary::restore(core, (table, index), &entry(table, index, now))?;
    }
    let mut old = now.clone();
    old.take_back(record)?;
    clustered::mark(core, table, now, false, old.sys(), Ownership::TakeBack)?;
    table.tell_taken_back(None, Some(now), true);
    Ok(())
}

fn undo_update(core: &Core, table: &Table, now: &mut Image, record: &UndoRecord<'_>) -> Result<()> {
    let mut old = now.clone();
    old.take_back(record)?;
    let was_live = record.header.ty == UndoType::UpdateExisting;
    let order_changes = record.header.cmpl_info & vaquita_format::undo::record::NO_ORDER_CHANGE == 0;
    if order_changes {
        if was_live {
            old.load_external(core, table)?;
        }
        undo_entries(core, table, now, &old, was_live)?;
    }
    let changed: Vec<usize> = record.updates().map(|(i, _)| i as usize).collect();
    if changed.iter().any(|&i| now.is_external(i)) {
        let key = now.key_fields();
        let written =
            |i: usize, chain: &vaquita_format::record::ExternRef| changed.contains(&i) && !chain.inherited;
        table.clustered().tree.free_owned(&core.storage, &Tuple::new(&key), written)?;
    }
    let fields = old.tuple_fields();
    check_fields(table, table.clustered().def(), &fields)
        .map_err(|e| Error::Corrupt(format!("undo record of a row of {}: {e}", table.name)))?;
    let info_bits = if was_live { LIVE } else { DELETED };
    if !clustered::replace(core, table, now, &fields, &changed, info_bits, old.sys(), Reservation::Rollback)?
    {
        return Err(Error::Corrupt(format!("a row of {} changed while it was rolled back", table.name)));
    }
    table.tell_taken_back(Some(now), was_live.then_some(&old as &dyn Columns), order_changes);
    if !was_live && is_seen_by_all(core, old.sys().trx_id) {
        // Purge has been here, or will find nothing: nobody else removes the record.
        clustered::remove(core, table, &old, |_, _| true)?;
    }
    Ok(())
}

/// Takes back what an update did to the entries of secondary indexes.
fn undo_entries(core: &Core, table: &Table, now: &Image, old: &Image, was_live: bool) -> Result<()> {
    let own = now.sys().trx_id;
    let (mut new_entry, mut old_entry) = (Entry::new(), Entry::new());
    for index in &table.indexes[1..] {
        build(table, index, now, &mut new_entry);
        build(table, index, old, &mut old_entry);
        if was_live && same_bytes(&new_entry, &old_entry) {
            continue;
        }
        secondary::settle(core, (table, index), &new_entry, |_| {
            let needed = older_needs_entry(core, (table, index), &mut now.clone(), &new_entry, own)?;
            Ok(if needed { Fate::Mark } else { Fate::Remove })
        })?;
        if was_live {
            secondary::restore(core, (table, index), &old_entry)?;
        }
    }
    Ok(())
}
