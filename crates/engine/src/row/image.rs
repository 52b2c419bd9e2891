//! An owned copy of one version of a clustered record.
//!
//! Row operations look at a record, give its latch up and change it later: this is what they remember. Older versions
//! are made of it by applying undo records ([`Image::previous`]).
//!
//! A value that lies off the page is kept as its local part with the reference. What indexes need of such a value is
//! loaded once ([`Image::load_external`]) and then handed out by [`Columns`].

use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::KeyFields;
use crate::row::entry::{Columns, bytes_needed};
use crate::table::{Field, RowKey, Table};
use std::ops::ControlFlow;
use vaquita_base::codec::{get_uint, put_uint};
use vaquita_base::{RollPtr, TrxId};
use vaquita_btree::{Bookmark, RecordRef};
use vaquita_format::column::{ROLL_PTR_LEN, TRX_ID_LEN};
use vaquita_format::index_page::SysFields;
use vaquita_format::record::header::{INFO_DELETED, info_bits};
use vaquita_format::record::{EXTERN_REF_LEN, ExternRef, Offsets};
use vaquita_format::tuple::TupleField;
use vaquita_format::undo::UndoPlace;
use vaquita_format::undo::record::{UndoRecord, UndoValue};
use vaquita_txn::undo::UndoBuf;

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    start: u32,
    end: u32,
    null: bool,
    external: bool,
    /// The record is of a version of the rows without the field.
    absent: bool,
    /// Start and end of the first bytes of the value, of an external field whose first bytes are known.
    first: Option<(u32, u32)>,
}

/// A version of a clustered record.
#[derive(Debug, Clone, Default)]
pub struct Image {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    info_bits: u8,
    /// Position of DB_TRX_ID.
    sys: usize,
    /// Where the record was that it is a copy of.
    place: Option<Bookmark>,
}

impl Image {
    /// A copy of a record.
    pub fn of(table: &Table, record: &RecordRef<'_>, offsets: &Offsets) -> Image {
        let mut image = Image::default();
        image.read(table, record, offsets);
        image
    }

    /// Replaces the content by a copy of a record.
    pub fn read(&mut self, table: &Table, record: &RecordRef<'_>, offsets: &Offsets) {
        let def = table.clustered().def();
        debug_assert_eq!(
            offsets.n_fields(),
            def.n_fields(),
            "a record is copied that was not looked at whole"
        );
        self.sys = def.n_uniq();
        self.place = None;
        self.info_bits = info_bits(record.page, record.rec, def.layout().comp());
        let start = usize::from(record.rec);
        self.bytes.clear();
        self.bytes.extend_from_slice(&record.page[start..start + offsets.data_len()]);
        self.slots.clear();
        self.slots.extend((0..offsets.n_fields()).map(|i| {
            let mut range = offsets.range(i);
            if offsets.is_absent(i) {
                // What came after the record was written is as if it had been there.
                let default = offsets.field(record.page, record.rec, i).unwrap_or_default();
                range = self.bytes.len()..self.bytes.len() + default.len();
                self.bytes.extend_from_slice(default);
            }
            Slot {
                start: range.start as u32,
                end: range.end as u32,
                null: offsets.is_null(i),
                external: offsets.is_external(i),
                absent: offsets.is_absent(i),
                first: None,
            }
        }));
    }

    /// Where the record was that it is a copy of, if that was noted.
    pub fn place(&self) -> Option<Bookmark> {
        self.place
    }

    /// Notes where the record is that it is a copy of.
    #[must_use]
    pub fn at(mut self, place: Bookmark) -> Image {
        self.place = Some(place);
        self
    }

    /// Number of fields.
    pub fn n_fields(&self) -> usize {
        self.slots.len()
    }

    /// A field as stored; of a value off the page the local part.
    #[inline]
    pub fn field(&self, i: usize) -> Field<'_> {
        let slot = &self.slots[i];
        (!slot.null).then(|| &self.bytes[slot.start as usize..slot.end as usize])
    }

    /// Whether a field's value goes on off the page.
    #[inline]
    pub fn is_external(&self, i: usize) -> bool {
        self.slots[i].external
    }

    /// Whether the record is of a version of the rows without the field: it has its default.
    #[inline]
    pub fn is_absent(&self, i: usize) -> bool {
        self.slots[i].absent
    }

    /// A field of a tuple.
    #[inline]
    pub fn tuple_field(&self, i: usize) -> TupleField<'_> {
        TupleField { data: self.field(i), external: self.is_external(i) }
    }

    /// All fields of a tuple.
    pub fn tuple_fields(&self) -> Vec<TupleField<'_>> {
        (0..self.n_fields()).map(|i| self.tuple_field(i)).collect()
    }

    /// The clustered key as fields of a tuple.
    pub(crate) fn key_fields(&self) -> KeyFields<'_> {
        (0..self.sys).map(|i| self.tuple_field(i)).collect()
    }

    /// The clustered key.
    pub fn row_key(&self) -> RowKey {
        RowKey::new((0..self.sys).map(|i| self.field(i).unwrap_or_default()))
    }

    /// Info bits of the record.
    pub fn info_bits(&self) -> u8 {
        self.info_bits
    }

    /// Whether the version is delete-marked.
    pub fn is_deleted(&self) -> bool {
        self.info_bits & INFO_DELETED != 0
    }

    /// Sets or clears the delete mark.
    pub fn set_deleted(&mut self, deleted: bool) {
        self.info_bits = self.info_bits & !INFO_DELETED | if deleted { INFO_DELETED } else { 0 };
    }

    /// Who wrote the version, and the undo record that leads to the one before.
    pub fn sys(&self) -> SysFields {
        let trx = self.field(self.sys).unwrap_or_default();
        let ptr = self.field(self.sys + 1).unwrap_or_default();
        SysFields {
            trx_id: TrxId(get_uint(trx, 0, TRX_ID_LEN)),
            roll_ptr: RollPtr(get_uint(ptr, 0, ROLL_PTR_LEN)),
        }
    }

    /// The system fields of a record.
    pub fn sys_of(table: &Table, record: &RecordRef<'_>, offsets: &Offsets) -> SysFields {
        let at = usize::from(record.rec) + offsets.range(table.clustered().def().n_uniq()).start;
        SysFields {
            trx_id: TrxId(get_uint(record.page, at, TRX_ID_LEN)),
            roll_ptr: RollPtr(get_uint(record.page, at + TRX_ID_LEN, ROLL_PTR_LEN)),
        }
    }

    /// Sets the system fields.
    pub fn set_sys(&mut self, sys: SysFields) {
        let len = |slot: Slot| (slot.end - slot.start) as usize;
        debug_assert_eq!(len(self.slots[self.sys]), TRX_ID_LEN, "bytes of DB_TRX_ID in a copy");
        debug_assert_eq!(len(self.slots[self.sys + 1]), ROLL_PTR_LEN, "bytes of DB_ROLL_PTR in a copy");
        let at = self.slots[self.sys].start as usize;
        put_uint(&mut self.bytes, at, TRX_ID_LEN, sys.trx_id.get());
        let at = self.slots[self.sys + 1].start as usize;
        put_uint(&mut self.bytes, at, ROLL_PTR_LEN, sys.roll_ptr.get());
    }

    /// Replaces a field. Of an external one `data` is the local part.
    pub fn set(&mut self, i: usize, data: Field<'_>, external: bool) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(data.unwrap_or_default());
        let end = self.bytes.len() as u32;
        self.slots[i] = Slot { start, end, null: data.is_none(), external, absent: false, first: None };
    }

    fn set_undo_value(&mut self, i: usize, value: UndoValue<'_>) -> Result<()> {
        match value {
            UndoValue::ExternalPrefix { local_len, bytes } => {
                let (local_len, len) = (local_len as usize, bytes.len());
                if local_len < EXTERN_REF_LEN || len < local_len {
                    return Err(damaged_undo(format!("{local_len} bytes of {len} in a record")));
                }
                let (prefix, reference) = bytes.split_at(len - EXTERN_REF_LEN);
                let mut local = prefix[..local_len - EXTERN_REF_LEN].to_vec();
                local.extend_from_slice(reference);
                self.set(i, Some(&local), true);
                self.set_first(i, prefix);
            }
            value => self.set(i, value.bytes(), value.is_external()),
        }
        Ok(())
    }

    fn set_first(&mut self, i: usize, prefix: &[u8]) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(prefix);
        self.slots[i].first = Some((start, self.bytes.len() as u32));
    }

    /// First bytes of a value off the page, if they were loaded.
    pub fn first_bytes(&self, i: usize) -> Option<&[u8]> {
        self.slots[i].first.map(|(start, end)| &self.bytes[start as usize..end as usize])
    }

    /// The reference of a field.
    ///
    /// # Errors
    /// Damage.
    pub fn reference(&self, i: usize) -> Result<Option<ExternRef>> {
        let local = self.field(i).unwrap_or_default();
        ExternRef::of_field(local).map_err(|c| Error::Corrupt(c.to_string()))
    }

    /// Loads what indexes need of values off the page.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    ///
    /// # Latching
    /// Pages of the chains, one at a time.
    pub fn load_external(&mut self, core: &Core, table: &Table) -> Result<()> {
        if self.slots.iter().all(|s| !s.external) {
            return Ok(());
        }
        for (column, &i) in table.cluster_fields.iter().enumerate() {
            if !table.is_ordering[column] || !self.slots[i].external || self.slots[i].first.is_some() {
                continue;
            }
            let needed = bytes_needed(table, column);
            let local = self.field(i).unwrap_or_default();
            let mut first = local[..local.len().saturating_sub(EXTERN_REF_LEN)].to_vec();
            // A chain that is being freed, by a rollback that a crash interrupted, has lost its beginning: the entries
            // made of it are gone already.
            if first.len() < needed
                && let Some(chain) = self.reference(i)?.filter(|chain| chain.len > 0)
            {
                table.clustered().tree.read_chain(&core.storage, &chain, |part| {
                    let n = part.len().min(needed - first.len());
                    first.extend_from_slice(&part[..n]);
                    if first.len() == needed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })?;
            }
            self.set_first(i, &first);
        }
        Ok(())
    }

    /// Whether the value of a field is exactly `new`; of one off the page its chain is read.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn value_is(&self, core: &Core, table: &Table, i: usize, new: Field<'_>) -> Result<bool> {
        if !self.is_external(i) {
            return Ok(self.field(i) == new);
        }
        let Some(new) = new else { return Ok(false) };
        let local = self.field(i).unwrap_or_default();
        let Some(chain) = self.reference(i)?.filter(|chain| chain.len > 0) else { return Ok(false) };
        let prefix = &local[..local.len() - EXTERN_REF_LEN];
        if new.len() != prefix.len() + chain.len as usize || !new.starts_with(prefix) {
            return Ok(false);
        }
        let mut rest = &new[prefix.len()..];
        table.clustered().tree.read_chain(&core.storage, &chain, |part| {
            if !rest.starts_with(part) {
                return ControlFlow::Break(());
            }
            rest = &rest[part.len()..];
            ControlFlow::Continue(())
        })?;
        Ok(rest.is_empty())
    }

    /// Turns the version into the one before the change that an undo record describes.
    ///
    /// # Errors
    /// The record does not fit the version: damage.
    pub fn take_back(&mut self, undo: &UndoRecord<'_>) -> Result<()> {
        let Some(old) = undo.old else {
            return Err(damaged_undo("an insert has no version before it".to_owned()));
        };
        for (pos, value) in undo.updates() {
            let pos = pos as usize;
            let is_sys = pos == self.sys || pos == self.sys + 1;
            if pos >= self.slots.len() || is_sys {
                return Err(damaged_undo(format!("field {pos} of {}", self.slots.len())));
            }
            self.set_undo_value(pos, value)?;
        }
        // Off the page, the first bytes are among the ordering columns.
        for (pos, value) in undo.ordering() {
            if let UndoValue::ExternalPrefix { bytes, .. } = value
                && let Some(slot) = self.slots.get(pos as usize)
                && slot.external
                && slot.first.is_none()
                && bytes.len() >= EXTERN_REF_LEN
            {
                self.set_first(pos as usize, &bytes[..bytes.len() - EXTERN_REF_LEN]);
            }
        }
        self.info_bits = old.info_bits;
        self.set_sys(SysFields { trx_id: old.trx_id, roll_ptr: old.roll_ptr });
        Ok(())
    }

    /// Goes to the version before; `false` if there is none: the row was inserted with this one, or the history is gone.
    ///
    /// # Errors
    /// Errors of undo pages, damage.
    ///
    /// # Latching
    /// An undo page, shared; the caller may hold index pages.
    pub fn previous(&mut self, core: &Core, table: &Table, undo: &mut UndoBuf) -> Result<bool> {
        let ptr = self.sys().roll_ptr;
        if UndoPlace::decode(ptr).insert {
            return Ok(false);
        }
        match core.txn.read_undo(table.undo_of(), ptr, undo) {
            Ok(()) => {}
            Err(vaquita_txn::Error::NoSuchUndo(_)) => return Ok(false),
            Err(e) => return Err(e.into()),
        }
        let n_key = table.clustered().def().n_uniq();
        let record = UndoRecord::parse(undo.body(), n_key)
            .map_err(|c| Error::Corrupt(format!("roll pointer {ptr:?}: {c}")))?;
        if record.header.table_id != table.id || record.old.is_none() {
            return Err(damaged_undo(format!(
                "{ptr:?} leads to a record of table {}",
                record.header.table_id
            )));
        }
        self.take_back(&record)?;
        Ok(true)
    }
}

impl Columns for Image {
    fn column(&self, table: &Table, column: usize) -> Field<'_> {
        let i = table.cluster_fields[column];
        if self.slots[i].external {
            return self.first_bytes(i);
        }
        self.field(i)
    }

    fn row_id(&self) -> &[u8] {
        self.field(0).unwrap_or_default()
    }
}

fn damaged_undo(detail: String) -> Error {
    Error::Corrupt(format!("undo record: {detail}"))
}
