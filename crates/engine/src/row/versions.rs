//! Questions about the versions of a row: who wrote a secondary entry, and whether a version needs one.
//!
//! Both walk from a clustered record to older versions. A version that purge may have left behind must not be walked
//! to: the undo record that leads to it may be gone, or its page used again. So a step from a version is made only
//! while the transaction that wrote it is active, or unseen by the oldest view; and as that may change while the undo
//! record is being read, it is looked at again afterwards. An active transaction may take its changes back, one or all:
//! it changes the row before it gives up the undo record, so whoever holds the row's page finds the record.

use crate::core::Core;
use crate::error::Result;
use crate::row::entry::{cut, entry, same_order};
use crate::row::image::Image;
use crate::row::lock::parse_clustered;
use crate::table::{FieldSource, Index, Table};
use vaquita_base::TrxId;
use vaquita_btree::RecordRef;
use vaquita_format::record::Offsets;
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_txn::TrxRef;
use vaquita_txn::undo::UndoBuf;

/// The clustered key in a secondary entry.
pub fn cluster_key_of<'p>(
    table: &Table,
    index: &Index,
    record: &RecordRef<'p>,
    offsets: &'p Offsets,
) -> Vec<TupleField<'p>> {
    let sources = &table.clustered().sources;
    let field = |(source, &i): (&FieldSource, &usize)| {
        let value = record.field(offsets, i);
        TupleField::nullable(match *source {
            // The entry may hold the whole column where the key is a prefix.
            FieldSource::Column { column, prefix_len } => {
                value.map(|v| cut(&table.columns[column], prefix_len, v))
            }
            _ => value,
        })
    };
    sources.iter().zip(&index.cluster_key).map(field).collect()
}

/// A copy of the clustered record with this key; `None` if there is none.
///
/// # Errors
/// Errors of reading pages, damage.
pub fn find_row(core: &Core, table: &Table, key: &[TupleField<'_>]) -> Result<Option<Image>> {
    with_row(core, table, key, Ok)
}

/// Looks at a copy of the clustered record with this key while its page is latched, so that nobody takes its last
/// change back meanwhile, which would also take the undo record away.
fn with_row<R>(
    core: &Core,
    table: &Table,
    key: &[TupleField<'_>],
    look: impl FnOnce(Image) -> Result<R>,
) -> Result<Option<R>> {
    let found =
        table.clustered().tree.lookup_marked(&core.storage, &Tuple::new(key), None, |record, place| {
            let mut offsets = Offsets::new();
            parse_clustered(table, &record, &mut offsets)?;
            look(Image::of(table, &record, &offsets).at(place))
        })?;
    found.transpose()
}

/// Whether a version is a live row that has this entry in the index.
///
/// # Errors
/// Errors of reading values off the page.
pub fn has_entry(
    core: &Core,
    (table, index): (&Table, &Index),
    version: &mut Image,
    wanted: &[TupleField<'_>],
) -> Result<bool> {
    if version.is_deleted() {
        return Ok(false);
    }
    version.load_external(core, table)?;
    Ok(same_order(index.def(), &entry(table, index, version), wanted))
}

/// The active transaction that has written a secondary entry (inserted, marked, or unmarked it) and so holds an
/// implicit X lock on it.
///
/// The entry's page is latched by the caller. If any version that the active transaction has overwritten, its own ones
/// or the one it found, disagrees with what the entry is now, the transaction has changed the entry. Its newest version
/// proves nothing: the clustered record changes first, and the entry may still be as it was, locked by somebody else.
///
/// # Errors
/// Errors of reading pages, damage.
///
/// # Latching
/// The row's page of the clustered index, then pages of undo and of off-page values, one at a time, while the entry's
/// page is held.
pub fn secondary_owner(
    core: &Core,
    table: &Table,
    index: &Index,
    record: &RecordRef<'_>,
    offsets: &Offsets,
) -> Result<Option<TrxRef>> {
    let key = cluster_key_of(table, index, record, offsets);
    let wanted: Vec<TupleField<'_>> =
        (0..offsets.n_fields()).map(|i| TupleField::nullable(record.field(offsets, i))).collect();
    let is_live = !record.is_deleted();
    let look = |version| owner_by_versions(core, (table, index), version, &wanted, is_live);
    Ok(with_row(core, table, &key, look)?.flatten())
}

fn owner_by_versions(
    core: &Core,
    (table, index): (&Table, &Index),
    mut version: Image,
    wanted: &[TupleField<'_>],
    is_live: bool,
) -> Result<Option<TrxRef>> {
    let writer = version.sys().trx_id;
    let Some(owner) = core.txn.find_active(writer) else { return Ok(None) };
    let mut undo = UndoBuf::default();
    loop {
        let before = version.previous(core, table, &mut undo);
        // It has ended meanwhile: its undo may be gone, and so is its lock.
        if !core.txn.is_active(writer) {
            return Ok(None);
        }
        if !before? {
            // The row is new, so the entry is.
            return Ok(is_live.then_some(owner));
        }
        if has_entry(core, (table, index), &mut version, wanted)? != is_live {
            return Ok(Some(owner));
        }
        if version.sys().trx_id != writer {
            return Ok(None);
        }
    }
}

/// Whether a version of the row older than `version`, that a view may still see or that `version` would be rolled
/// back to, is live and has this entry. `version` is used up. `own` is the transaction whose undo is sure to be there.
///
/// # Errors
/// Errors of reading pages, damage.
///
/// # Latching
/// Undo pages and pages of off-page values, one at a time; the caller holds the entry's page.
pub fn older_needs_entry(
    core: &Core,
    (table, index): (&Table, &Index),
    version: &mut Image,
    wanted: &[TupleField<'_>],
    own: TrxId,
) -> Result<bool> {
    let mut undo = UndoBuf::default();
    loop {
        let writer = version.sys().trx_id;
        if writer != own && is_seen_by_all(core, writer) {
            return Ok(false);
        }
        let before = version.previous(core, table, &mut undo);
        if writer != own && is_seen_by_all(core, writer) {
            return Ok(false);
        }
        if !before? {
            return Ok(false);
        }
        if has_entry(core, (table, index), version, wanted)? {
            return Ok(true);
        }
    }
}

/// Whether the row with this key, or an older version of it that a view may see, has an entry, so that purge leaves it.
///
/// # Errors
/// As [`older_needs_entry`].
///
/// # Latching
/// As [`secondary_owner`].
pub fn row_needs_entry(
    core: &Core,
    (table, index): (&Table, &Index),
    key: &[TupleField<'_>],
    wanted: &[TupleField<'_>],
) -> Result<bool> {
    let needed = with_row(core, table, key, |mut row| {
        Ok(has_entry(core, (table, index), &mut row, wanted)?
            || older_needs_entry(core, (table, index), &mut row, wanted, TrxId(0))?)
    })?;
    Ok(needed.unwrap_or(false))
}

/// Whether every view sees what a transaction did, so that nobody needs the versions before.
pub fn is_seen_by_all(core: &Core, id: TrxId) -> bool {
    core.txn.is_seen_by_all(id)
}
