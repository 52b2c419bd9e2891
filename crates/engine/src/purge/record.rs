//! Purging one undo record.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::KeyFields;
use crate::row::clustered;
use crate::row::entry::{self, Columns};
use crate::row::image::Image;
use crate::row::secondary::{self, Fate, Of};
use crate::row::versions::{find_row, has_entry, is_seen_by_all, row_needs_entry};
use crate::table::{Field, Table};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;
use vaquita_format::record::EXTERN_REF_LEN;
use vaquita_format::tuple::TupleField;
use vaquita_format::undo::UndoPlace;
use vaquita_format::undo::record::{UndoHeader, UndoRecord, UndoType, UndoValue};
use vaquita_txn::undo::PurgeRecord;

/// Mini-transactions that the log has room for before a record is purged.
const ROOM: usize = 2;

/// The columns that indexes are ordered by, as they were before the change.
#[derive(Debug)]
struct OldColumns<'u> {
    /// By user column; of a value off the page the prefix that indexes need.
    values: SmallVec<[Field<'u>; 16]>,
    row_id: &'u [u8],
}

impl Columns for OldColumns<'_> {
    fn column(&self, _: &Table, column: usize) -> Field<'_> {
        self.values[column]
    }

    fn row_id(&self) -> &[u8] {
        self.row_id
    }
}

fn damaged(record: &PurgeRecord, what: impl std::fmt::Display) -> Error {
    Error::Corrupt(format!("undo record at {:#x}: {what}", record.place.get()))
}

/// Bytes that are the same for all records of one row; of a table that is gone, anything.
pub(super) fn row_of(core: &Core, record: &PurgeRecord) -> Vec<u8> {
    let mut out = Vec::new();
    let Ok(header) = UndoHeader::parse(record.undo.body()) else { return out };
    out.extend_from_slice(&header.table_id.get().to_le_bytes());
    if let Ok(Some(table)) = core.table_by_id(header.table_id)
        && let Ok(undo) = UndoRecord::parse(record.undo.body(), table.clustered().def().n_uniq())
    {
        undo.key().for_each(|v| out.extend_from_slice(v.bytes().unwrap_or_default()));
    }
    out
}

/// Removes what the version before the change alone needed.
pub(super) fn purge(core: &Core, record: &PurgeRecord) -> Result<()> {
    let body = record.undo.body();
    let header = UndoHeader::parse(body).map_err(|c| damaged(record, c))?;
    // While the latch is held nobody waits for pages to be written, if it can be helped.
    core.storage.wait_for_room_of(ROOM)?;
    // No definition changes, and no file goes, while the record is at it.
    let _frozen = core.dict.freeze();
    let table = match core.table_by_id(header.table_id) {
        Ok(Some(table)) => table,
        // Dropped, or its file is missing: there is nothing to purge.
        Ok(None) | Err(Error::TableUnusable { .. } | Error::Discarded(_)) => return Ok(()),
        Err(e) => return Err(e),
    };
    match purge_in(core, &table, header, record) {
        Err(e) if e.is_damage() => {
            core.pass_over(&table, &e);
            Ok(())
        }
        done => done,
    }
}

/// Purges a record of a table that is there.
fn purge_in(core: &Core, table: &Arc<Table>, header: UndoHeader, record: &PurgeRecord) -> Result<()> {
    let body = record.undo.body();
    let n_key = table.clustered().def().n_uniq();
    let undo = UndoRecord::parse(body, n_key).map_err(|c| damaged(record, c))?;
    match header.ty {
        UndoType::Insert => Err(damaged(record, "an insert is in the history")),
        UndoType::DeleteMark => {
            let mut row = Row::find(core, table, &undo)?;
            purge_entries(core, table, record, &undo, &mut row, |_| true)?;
            purge_row(core, table, record, row)
        }
        UndoType::UpdateExisting => {
            let changed: SmallVec<[u32; 16]> = undo.updates().map(|(field, _)| field).collect();
            let concerns = |index: usize| {
                let columns =
                    (0..table.columns.len()).filter(|&c| entry::index_has(&table.indexes[index], c));
                columns.map(|c| table.cluster_fields[c] as u32).any(|field| changed.contains(&field))
            };
            if (1..table.indexes.len()).any(concerns) {
                let mut row = Row::find(core, table, &undo)?;
                purge_entries(core, table, record, &undo, &mut row, concerns)?;
            }
            free_old_values(core, table, record, &undo)
        }
        // The entries of the row that was deleted before are those of its own delete.
        UndoType::UpdateDeleted => free_old_values(core, table, record, &undo),
    }
}

/// The row that a record is about, as it was when purge came to it.
struct Row<'u> {
    key: KeyFields<'u>,
    image: Option<Image>,
}

impl<'u> Row<'u> {
    fn find(core: &Core, table: &Table, undo: &UndoRecord<'u>) -> Result<Row<'u>> {
        let key: KeyFields<'u> = undo.key().map(|v| TupleField::nullable(v.bytes())).collect();
        let image = find_row(core, table, &key)?;
        Ok(Row { key, image })
    }

    /// Whether the row, or an older version of it that a view may see, needs an entry, whose page is held.
    ///
    /// A row that every view sees as it is has no older version that counts. What it was is what it is, as long as its
    /// page has not changed. Of a temporary table there are no views.
    fn needs_entry(&mut self, core: &Core, (table, index): Of<'_>, entry: &[TupleField<'_>]) -> Result<bool> {
        if table.is_temporary() {
            let image = self.image.as_mut();
            return image.map_or(Ok(false), |image| has_entry(core, (table, index), image, entry));
        }
        if let Some(image) = &mut self.image
            && is_seen_by_all(core, image.sys().trx_id)
        {
            let needs = has_entry(core, (table, index), image, entry)?;
            if image.place().is_some_and(|place| place.holds(&core.storage)) {
                return Ok(needs);
            }
        }
        row_needs_entry(core, (table, index), &self.key, entry)
    }
}

/// Removes the entries of the old version that no version needs which a view may see.
fn purge_entries(
    core: &Core,
    table: &Table,
    record: &PurgeRecord,
    undo: &UndoRecord<'_>,
    newest: &mut Row<'_>,
    concerns: impl Fn(usize) -> bool,
) -> Result<()> {
    if undo.ordering().next().is_none() {
        return Ok(());
    }
    let row = old_columns(table, record, undo)?;
    for (n, index) in table.indexes.iter().enumerate().skip(1) {
        if !concerns(n) {
            continue;
        }
        let fields = entry::entry(table, index, &row);
        secondary::settle(core, (table, index), &fields, |is_deleted| {
            if !is_deleted {
                return Ok(Fate::Keep);
            }
            Ok(match newest.needs_entry(core, (table, index), &fields)? {
                true => Fate::Keep,
                false => Fate::Remove,
            })
        })?;
    }
    Ok(())
}

fn old_columns<'u>(table: &Table, record: &PurgeRecord, undo: &UndoRecord<'u>) -> Result<OldColumns<'u>> {
    let mut values: SmallVec<[Field<'u>; 16]> = smallvec![None; table.columns.len()];
    let column_of = |field: u32| table.cluster_fields.iter().position(|&f| f == field as usize);
    // Columns of the key first: a record need not repeat them.
    for (field, value) in undo.key().enumerate() {
        if let Some(column) = column_of(field as u32) {
            values[column] = value.bytes();
        }
    }
    for (field, value) in undo.ordering() {
        let Some(column) = column_of(field) else { continue };
        values[column] = match value {
            UndoValue::Null => None,
            UndoValue::Inline(bytes) => Some(bytes),
            UndoValue::External(bytes) | UndoValue::ExternalPrefix { bytes, .. } => {
                let prefix = bytes.len().checked_sub(EXTERN_REF_LEN);
                Some(
                    &bytes[..prefix
                        .ok_or_else(|| damaged(record, "a value off the page without a reference"))?],
                )
            }
        };
    }
    let row_id = match table.clustered().def().is_generated() {
        true => undo.key().next().and_then(UndoValue::bytes).unwrap_or_default(),
        false => &[],
    };
    Ok(OldColumns { values, row_id })
}

/// Removes the row if it is still the one that this record deleted.
fn purge_row(core: &Core, table: &Table, record: &PurgeRecord, row: Row<'_>) -> Result<()> {
    if let Some(row) = row.image
        && row.is_deleted()
        && row.sys().roll_ptr == record.place
    {
        clustered::remove(core, table, &row, |_, _| true)?;
    }
    Ok(())
}

/// Frees the values off the page that the update replaced.
fn free_old_values(core: &Core, table: &Table, record: &PurgeRecord, undo: &UndoRecord<'_>) -> Result<()> {
    if !undo.header.external_updated {
        return Ok(());
    }
    let holder = core.txn.undo_page(table.undo_of(), record.place)?;
    let start = usize::from(UndoPlace::decode(record.place).offset) + 2;
    let body = record.undo.body();
    for (_, value) in undo.updates().filter(|(_, v)| v.is_external()) {
        let bytes = value.bytes().unwrap_or_default();
        // The body lies behind the two bytes that lead to the next record; the reference ends the value.
        let end = bytes.as_ptr_range().end as usize - body.as_ptr() as usize;
        let Some(at) = end.checked_sub(EXTERN_REF_LEN) else {
            return Err(damaged(record, "a value off the page without a reference"));
        };
        table.clustered().tree.free_referred(&core.storage, holder, start + at)?;
    }
    Ok(())
}
