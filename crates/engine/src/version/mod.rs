//! Which version of a row a reader sees.
//!
//! A clustered record holds the newest version of its row, who made it (DB_TRX_ID) and where the undo record of that
//! change lies (DB_ROLL_PTR). The undo record gives the version before: the old values of the fields that changed, the
//! old DB_TRX_ID and DB_ROLL_PTR, whether the row was delete-marked. So versions form a list from the newest to the
//! oldest, which ends at an insert, or where purge has been. Steps along the list are made by [`Image::previous`]; what
//! changes and purge ask of versions is in [`crate::row::versions`].
//!
//! Off-page values are not copied: an older version holds the local part with the reference, and the chain it refers to
//! stays until purge passes the undo record. So such a value may be read as long as a view that sees the version is
//! open.
//!
//! # Latching
//! The clustered page stays latched by the caller while versions are built from a record on it; undo pages are latched
//! one at a time.

pub mod entry;

use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::image::Image;
use crate::table::Table;
use vaquita_base::TrxId;
use vaquita_btree::RecordRef;
use vaquita_format::record::Offsets;
use vaquita_format::undo::UndoPlace;
use vaquita_txn::ReadView;
use vaquita_txn::undo::UndoBuf;

/// What a reader sees of a clustered record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// The record as it is.
    Current,
    /// An older version, which is now in the buffer given.
    Older,
    /// Nothing: the row came later.
    Nothing,
}

/// What `view` sees of a record, whose fields have been checked and whose `offsets` are parsed from it. Delete-marked
/// versions are versions too: look at the mark.
///
/// # Errors
/// Errors of undo pages, damage.
///
/// # Latching
/// The record's page stays latched; latches undo pages one at a time.
pub fn seen_by(
    core: &Core,
    table: &Table,
    record: &RecordRef<'_>,
    offsets: &Offsets,
    view: &ReadView,
    out: &mut Image,
) -> Result<Seen> {
    if view.sees(&core.txn, Image::sys_of(table, record, offsets).trx_id) {
        return Ok(Seen::Current);
    }
    out.read(table, record, offsets);
    let mut undo = UndoBuf::default();
    loop {
        let ptr = out.sys().roll_ptr;
        if !out.previous(core, table, &mut undo)? {
            if !UndoPlace::decode(ptr).insert {
                // A view keeps the undo of what it does not see.
                let (page, ptr) = (record.page_id, ptr.get());
                let detail =
                    format!("{}: no undo record at roll pointer {ptr:#x} of page {page}", table.name);
                return Err(Error::Corrupt(detail));
            }
            return Ok(Seen::Nothing);
        }
        if view.sees(&core.txn, out.sys().trx_id) {
            return Ok(Seen::Older);
        }
    }
}

/// The newest version of a record that is committed or `me`'s own: what a semi-consistent read looks at instead of waiting
/// for a lock.
///
/// # Errors
/// As [`seen_by`].
///
/// # Latching
/// As [`seen_by`].
pub fn committed(
    core: &Core,
    table: &Table,
    record: &RecordRef<'_>,
    offsets: &Offsets,
    me: TrxId,
    out: &mut Image,
) -> Result<Seen> {
    let maker = Image::sys_of(table, record, offsets).trx_id;
    if maker == me || !core.txn.is_active(maker) {
        return Ok(Seen::Current);
    }
    out.read(table, record, offsets);
    let mut undo = UndoBuf::default();
    loop {
        let stepped = out.previous(core, table, &mut undo);
        // No view keeps the undo of a transaction that has ended meanwhile; then the record itself is committed.
        if !core.txn.is_active(maker) {
            return Ok(Seen::Current);
        }
        if !stepped? {
            return Ok(Seen::Nothing);
        }
        // The maker has had the row locked, so the version it found is committed.
        if out.sys().trx_id != maker {
            return Ok(Seen::Older);
        }
    }
}
