//! Changes of records in the clustered index. Inserts are in [`crate::row::cluster_insert`].
//!
//! # Undo first
//! An undo record is appended before the record's leaf is latched: appending may wait for room in the log, which nobody
//! does with a latch held. So every change is made on what was seen before, and what was seen is looked at again under
//! the latch:
//!
//! - *insert*: the undo record says that the key is new. If the search that follows finds the key, the undo record is
//!   forgotten and the operation goes on as an update of what it found. The common case is one descent.
//! - *update, delete*: the row is locked, so that nobody but purge can touch it, and copied; the undo record is made of
//!   the copy. Under the latch the record must still have the copy's DB_TRX_ID and DB_ROLL_PTR. Purge may have taken a
//!   delete-marked record away: then the undo record is forgotten and everything starts again.
//!
//! Who copies a row notes where it was: nobody else changes it, so that its leaf is mostly as it was, and the way back to it
//! is not a descent ([`vaquita_btree::Bookmark`]). A statement that locks rows before it changes them leaves the place of
//! the last one with the transaction.
//!
//! # Values off the page
//! They are written after the record, as InnoDB does: whatever happens meanwhile, rollback finds them through it.
//!
//! # Crash
//! An undo record without its change is harmless: rollback takes back only what carries its own DB_TRX_ID and roll
//! pointer.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::entry::check_fields;
use crate::row::image::Image;
use crate::row::lock::{
    lock_clustered, lock_clustered_for_change, parse_clustered, record_id, supremum_id, wait,
};
use crate::row::undo_record::{Modification, modify_body};
use crate::table::Table;
use vaquita_base::codec::{put_u48, put_u56};
use vaquita_btree::{Bookmark, Change, Position, RecBuf, RecordRef};
use vaquita_format::index_page::header::supremum;
use vaquita_format::index_page::{FieldUpdate, SysFields, sys_fields};
use vaquita_format::record::header::{INFO_DELETED, heap_no};
use vaquita_format::record::{ExternRef, Offsets};
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_format::undo::UndoKind;
use vaquita_format::undo::record::UndoType;
use vaquita_storage::Mtr;
use vaquita_storage::fsp::Reservation;
use vaquita_txn::lock::{LockOutcome, RecordId, WaitPolicy};
use vaquita_txn::{LockMode, RecordLockKind, Trx};

/// The record `low` of a position.
pub(crate) fn record_at<'m>(mtr: &'m Mtr<'_>, position: &Position) -> RecordRef<'m> {
    RecordRef { page: mtr.page(position.page()), page_id: mtr.id(position.page()), rec: position.found().low }
}

/// Asks whether a record may come in before the record `up` of a position.
pub(crate) fn insert_intention(
    core: &Core,
    trx: &Trx,
    (table, index): (&Table, &crate::table::Index),
    mtr: &Mtr<'_>,
    position: &Position,
) -> Result<LockOutcome> {
    let record = record_at(mtr, position);
    let up = position.found().up;
    let comp = index.def().layout().comp();
    let id = if up == supremum(comp) {
        supremum_id(table, index, &record)
    } else {
        RecordId {
            heap: vaquita_base::HeapNo(heap_no(record.page, up, comp)),
            ..record_id(table, index, &record)
        }
    };
    let kind = RecordLockKind::InsertIntention;
    Ok(core.txn.locks().lock_record(trx, id, LockMode::Exclusive, kind, WaitPolicy::Wait)?)
}

/// Turns a tree's refusal into the engine's.
pub(crate) fn too_big(table: &Table, e: vaquita_btree::Error) -> Error {
    match e {
        vaquita_btree::Error::RecordTooBig { max, .. } => {
            let inline = table.clustered().tree.index().row_format().off_page_prefix() as usize;
            Error::RowTooBig { table: table.name.clone(), limit: max, inline }
        }
        e => e.into(),
    }
}

/// What a first look at a key gives.
pub(crate) enum Look {
    /// The row, locked; a copy of it.
    Row(Image),
    /// There is no record with the key.
    Nothing,
}

/// How [`look`] locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// X, to be kept.
    Keep,
    /// X, by the change that follows.
    Change,
}

/// Finds the record with a key and locks it X, waiting if need be. Delete-marked records are found too. The row that the
/// transaction has locked last is found where it was.
///
/// # Errors
/// Lock waits, errors of reading pages, damage.
pub(crate) fn look(
    core: &Core,
    trx: &Trx,
    table: &Table,
    key: &[TupleField<'_>],
    claim: Claim,
) -> Result<Look> {
    let tree = &table.clustered().tree;
    let mut offsets = Offsets::new();
    loop {
        let look = |record: RecordRef<'_>, place: Bookmark| -> Result<Option<Image>> {
            parse_clustered(table, &record, &mut offsets)?;
            let what = (LockMode::Exclusive, RecordLockKind::Record);
            let locked = match claim {
                Claim::Keep => lock_clustered(core, trx, table, &record, &offsets, what, WaitPolicy::Wait)?,
                Claim::Change => lock_clustered_for_change(core, trx, table, &record, &offsets)?,
            };
            match locked {
                LockOutcome::MustWait => Ok(None),
                _ => Ok(Some(Image::of(table, &record, &offsets).at(place))),
            }
        };
        let found = tree.lookup_marked(&core.storage, &Tuple::new(key), trx.last_locked(), look)?;
        match found.transpose()? {
            None => return Ok(Look::Nothing),
            Some(Some(image)) => return Ok(Look::Row(image)),
            Some(None) => wait(core, trx)?,
        }
    }
}

/// Encodes a record with these system fields; and which of its values are to be written off the page afterwards.
pub(super) fn encode(
    table: &Table,
    fields: &[TupleField<'_>],
    sys: SysFields,
    info_bits: u8,
) -> Result<(RecBuf, Vec<usize>)> {
    let mut trx_id = [0; 6];
    put_u48(&mut trx_id, 0, sys.trx_id.get());
    let mut roll_ptr = [0; 7];
    put_u56(&mut roll_ptr, 0, sys.roll_ptr.get());
    let def = table.clustered().def();
    debug_assert_eq!(fields.len(), def.n_fields(), "a record of {} has all fields of its index", table.name);
    let at = def.n_uniq();
    let mut whole: smallvec::SmallVec<[TupleField<'_>; 24]> = fields.into();
    whole[at] = TupleField::new(&trx_id);
    whole[at + 1] = TupleField::new(&roll_ptr);
    let tuple = Tuple::new(&whole).with_info_bits(info_bits);
    table.clustered().tree.prepare(&tuple).map_err(|e| too_big(table, e))
}

/// Writes the values off the page of a record that has just come in. If this fails, or a crash cuts it off, rollback finds
/// through the record what has been written.
pub(super) fn write_values(
    core: &Core,
    table: &Table,
    fields: &[TupleField<'_>],
    moved: &[usize],
    sys: SysFields,
) -> Result<()> {
    let key = Tuple::new(&fields[..table.clustered().def().n_uniq()]);
    for &i in moved {
        let value = (i, fields[i].data.unwrap_or_default());
        let is_it = |record: &RecordRef<'_>| {
            let mut offsets = Offsets::new();
            parse_clustered(table, record, &mut offsets).is_ok()
                && Image::sys_of(table, record, &offsets) == sys
        };
        if !table.clustered().tree.write_value(&core.storage, &key, value, is_it)? {
            return Err(Error::Corrupt(format!("a row of {} is gone while it is written", table.name)));
        }
    }
    Ok(())
}

/// Makes a change of a row that is locked and was copied as `old`: undo record, then the record. `false` if the record
/// is not the one copied any more; nothing is left behind then.
///
/// # Errors
/// Space, errors of pages.
pub(crate) fn modify(
    core: &Core,
    trx: &mut Trx,
    table: &Table,
    old: &Image,
    fields: &[TupleField<'_>],
    info_bits: u8,
    change: Modification<'_>,
) -> Result<bool> {
    check_fields(table, table.clustered().def(), fields)?;
    debug_assert_ne!(change.ty, UndoType::Insert, "what is inserted has no version before");
    debug_assert_eq!(
        old.is_deleted(),
        change.ty == UndoType::UpdateDeleted,
        "a row of {} is changed by {:?}",
        table.name,
        change.ty
    );
    let trx_id = core.txn.assign_id_for(trx, table.undo_of())?;
    let undo_no = trx.undo_no();
    let body = modify_body(undo_no, table, old, change)?;
    let roll_ptr = core.txn.append_undo(trx, table.undo_of(), UndoKind::Update, &body)?;
    let sys = SysFields { trx_id, roll_ptr };
    let done = replace(core, table, old, fields, change.fields, info_bits, sys, Reservation::Normal)?;
    if !done {
        core.txn.forget_undo(trx, undo_no)?;
    }
    Ok(done)
}

/// Whether the record of a position is exactly the version `old`: no two versions of a row have the same system fields.
fn is_version(table: &Table, mtr: &Mtr<'_>, position: &Position, old: &Image) -> Result<bool> {
    let def = table.clustered().def();
    let n = def.n_uniq();
    if usize::from(position.found().low_matched) < n {
        return Ok(false);
    }
    let record = record_at(mtr, position);
    let sys = sys_fields(record.page, def.layout(), record.rec, n)
        .map_err(|c| Error::Corrupt(format!("page {}: {c}", record.page_id)))?;
    Ok(sys == old.sys())
}

/// Replaces the record that was copied as `old` by one of these fields, of which `changed` differ; `false` if the
/// record is not that version any more. `room` says whether a page that is split may take what is left for rollback.
///
/// # Errors
/// Space, errors of pages, damage.
#[expect(clippy::too_many_arguments, reason = "the record that was, the one that is to be, and what for")]
pub(crate) fn replace(
    core: &Core,
    table: &Table,
    old: &Image,
    fields: &[TupleField<'_>],
    changed: &[usize],
    info_bits: u8,
    sys: SysFields,
    room: Reservation,
) -> Result<bool> {
    let tree = &table.clustered().tree;
    let key = old.key_fields();
    let key = Tuple::new(&key);
    let updates: smallvec::SmallVec<[FieldUpdate<'_>; 8]> =
        changed.iter().map(|&pos| FieldUpdate { pos, data: fields[pos].data }).collect();
    let stays = |i: usize| {
        let plain = !fields[i].external && !old.is_external(i) && !old.is_absent(i);
        plain && same_size(old.field(i), fields[i].data)
    };
    if changed.iter().all(|&i| stays(i)) {
        let mut mtr = core.storage.begin()?;
        let position = tree.search_marked(&mut mtr, &key, old.place())?;
        if !is_version(table, &mtr, &position, old)? {
            return Ok(false);
        }
        // It is the version whose sizes were compared.
        let rec = position.found().low;
        tree.update_in_place(&mut mtr, position.page(), rec, info_bits, &updates, Some(sys))?;
        mtr.commit();
        return Ok(true);
    }
    let (rec, moved) = encode(table, fields, sys, info_bits)?;
    if !put(core, table, old, &key, &rec, room)? {
        return Ok(false);
    }
    write_values(core, table, fields, &moved, sys)?;
    Ok(true)
}

fn same_size(a: Option<&[u8]>, b: Option<&[u8]>) -> bool {
    a.map(<[u8]>::len) == b.map(<[u8]>::len)
}

/// Replaces the record that was copied as `old`.
fn put(
    core: &Core,
    table: &Table,
    old: &Image,
    key: &Tuple<'_>,
    rec: &RecBuf,
    room: Reservation,
) -> Result<bool> {
    let tree = &table.clustered().tree;
    let mut mtr = core.storage.begin()?;
    let position = tree.search_marked(&mut mtr, key, old.place())?;
    if !is_version(table, &mtr, &position, old)? {
        return Ok(false);
    }
    if tree.try_update(&mut mtr, &position, rec)?.is_none() {
        position.release(&mut mtr);
        let position = tree.search_path(&mut mtr, key, Change::Update(rec))?;
        if !is_version(table, &mtr, &position, old)? {
            return Ok(false);
        }
        tree.update_at(&mut mtr, position, rec, room)?;
    }
    mtr.commit();
    Ok(true)
}

/// Who owns the values off the page of a record whose mark changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ownership<'a> {
    /// As it was.
    Keep,
    /// Those of these fields are given away: the row goes on under another key.
    GiveAway(&'a [usize]),
    /// Taken back.
    TakeBack,
}

/// Sets or clears the mark of the record copied as `old`; `false` if it is not that version any more.
///
/// # Errors
/// Errors of pages, damage.
pub(crate) fn mark(
    core: &Core,
    table: &Table,
    old: &Image,
    deleted: bool,
    sys: SysFields,
    ownership: Ownership<'_>,
) -> Result<bool> {
    let tree = &table.clustered().tree;
    let key = old.key_fields();
    let mut mtr = core.storage.begin()?;
    let position = tree.search_marked(&mut mtr, &Tuple::new(&key), old.place())?;
    if !is_version(table, &mtr, &position, old)? {
        return Ok(false);
    }
    let (page, rec) = (position.page(), position.found().low);
    let references = match ownership {
        Ownership::Keep => Vec::new(),
        _ => tree.external_refs(&record_at(&mtr, &position))?,
    };
    tree.set_delete_mark(&mut mtr, page, rec, deleted, Some(sys))?;
    for (i, at, chain) in references {
        let owner = match ownership {
            Ownership::GiveAway(fields) => chain.owner && !fields.contains(&i),
            Ownership::TakeBack | Ownership::Keep => true,
        };
        if owner != chain.owner {
            mtr.write_bytes(page, at, &ExternRef { owner, ..chain }.to_bytes());
        }
    }
    mtr.commit();
    Ok(true)
}

/// Delete-marks a row that is locked and was copied as `old`.
///
/// # Errors
/// Space, errors of pages.
pub(crate) fn delete(
    core: &Core,
    trx: &mut Trx,
    table: &Table,
    old: &Image,
    ownership: Ownership<'_>,
) -> Result<bool> {
    debug_assert!(!old.is_deleted(), "a row of {} is deleted twice", table.name);
    let trx_id = core.txn.assign_id_for(trx, table.undo_of())?;
    let undo_no = trx.undo_no();
    let change = Modification { ty: UndoType::DeleteMark, fields: &[], order_changes: true };
    let body = modify_body(undo_no, table, old, change)?;
    let roll_ptr = core.txn.append_undo(trx, table.undo_of(), UndoKind::Update, &body)?;
    let done = mark(core, table, old, true, SysFields { trx_id, roll_ptr }, ownership)?;
    if !done {
        core.txn.forget_undo(trx, undo_no)?;
    }
    Ok(done)
}

/// Removes the record copied as `old` for good, with the values it owns off the page, if `free` says so of them.
///
/// # Errors
/// Errors of pages, damage.
pub(crate) fn remove(
    core: &Core,
    table: &Table,
    old: &Image,
    free: impl Fn(usize, &ExternRef) -> bool,
) -> Result<bool> {
    let tree = &table.clustered().tree;
    let key = old.key_fields();
    let key = Tuple::new(&key);
    if (0..old.n_fields()).any(|i| old.is_external(i)) {
        tree.free_owned(&core.storage, &key, free)?;
    }
    let mut mtr = core.storage.begin()?;
    let position = tree.search_marked(&mut mtr, &key, old.place())?;
    if !is_version(table, &mtr, &position, old)? {
        return Ok(false);
    }
    if !tree.try_remove(&mut mtr, &position)? {
        position.release(&mut mtr);
        let position = tree.search_path(&mut mtr, &key, Change::Remove)?;
        if !is_version(table, &mtr, &position, old)? {
            return Ok(false);
        }
        tree.remove_at(&mut mtr, position)?;
    }
    mtr.commit();
    Ok(true)
}

/// Info bits of a live record.
pub(crate) const LIVE: u8 = 0;
/// Info bits of a delete-marked record.
pub(crate) const DELETED: u8 = INFO_DELETED;
