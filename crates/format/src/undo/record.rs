//! Undo records: what a change did, in enough detail to take it back and to rebuild older versions.
//!
//! | part | bytes |
//! |---|---|
//! | type byte | low 4 bits: 11 INSERT, 12 UPD_EXIST, 13 UPD_DEL, 14 DEL_MARK; bits 4-6: compiler info; bit 7: an off-page column was updated |
//! | undo number | u64, much compressed |
//! | table id | u64, much compressed |
//! | all but INSERT | info bits of the old record, its DB_TRX_ID and DB_ROLL_PTR as compressed u64 |
//! | key | the values of the unique fields of the clustered index |
//! | UPD_* | number of fields (compressed u32), then for each its position in the clustered index and the *old* value |
//! | DEL_MARK, and UPD_* unless compiler info bit 0 is set | u16 length of this part, itself included; then position and value of every column that any index is ordered by |
//!
//! A value is a compressed length and bytes. Special lengths:
//!
//! | length | meaning |
//! |---|---|
//! | FFFFFFFF | NULL |
//! | FFFFBFFF + n | off-page column: local part of n bytes, reference included |
//! | FFFFBFFF | off-page column with the prefix that indexes need: original local length, length, then prefix and reference |
//!
//! The number of key fields is not stored: the reader knows it from the table.
//!
//! # Invariants
//! - I1: a parsed record has been walked to its exact end; its iterators cannot fail.

use vaquita_base::codec::{
    Reader, push_compressed, push_u16, push_u64_compressed, push_u64_much_compressed, put_u16,
};
use vaquita_base::{RollPtr, TableId, TrxId};

use crate::{Corruption, Result};

/// Stored length of NULL.
const NULL_LEN: u32 = 0xFFFF_FFFF;
/// Stored length from which on a value is an off-page column.
const EXTERNAL_LEN: u32 = 0xFFFF_BFFF;

/// What the change was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum UndoType {
    /// Insert of a new record.
    Insert = 11,
    /// Update of a live record.
    UpdateExisting = 12,
    /// Update of a delete-marked record: insert of a key that was deleted before.
    UpdateDeleted = 13,
    /// Delete.
    DeleteMark = 14,
}

impl UndoType {
    const fn from_bits(n: u8) -> Option<UndoType> {
        Some(match n {
            11 => UndoType::Insert,
            12 => UndoType::UpdateExisting,
            13 => UndoType::UpdateDeleted,
            14 => UndoType::DeleteMark,
            _ => return None,
        })
    }

    const fn has_updates(self) -> bool {
        matches!(self, UndoType::UpdateExisting | UndoType::UpdateDeleted)
    }
}

/// Compiler info: no field that any index is ordered by changes.
pub const NO_ORDER_CHANGE: u8 = 1;
/// Compiler info: no field changes its size.
pub const NO_SIZE_CHANGE: u8 = 2;

/// First part of every record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoHeader {
    /// What the change was.
    pub ty: UndoType,
    /// Compiler info, 3 bits.
    pub cmpl_info: u8,
    /// Whether an off-page column was updated.
    pub external_updated: bool,
    /// Number of the record in its transaction, from 0.
    pub undo_no: u64,
    /// The table.
    pub table_id: TableId,
}

impl UndoHeader {
    /// Reads the first part, which needs no knowledge of the table.
    ///
    /// # Errors
    /// [`Corruption`] for an unknown type or a short record.
    pub fn parse(body: &[u8]) -> Result<Self> {
        Self::parse_from(&mut Reader::new(body))
    }

    fn parse_from(r: &mut Reader<'_>) -> Result<Self> {
        let byte = r.u8()?;
        let bad = || Corruption::new("undo record type", format!("{:#04x}", byte));
        let ty = UndoType::from_bits(byte & 15).ok_or_else(bad)?;
        Ok(Self {
            ty,
            cmpl_info: byte >> 4 & 7,
            external_updated: byte & 0x80 != 0,
            undo_no: r.u64_much_compressed()?,
            table_id: TableId(r.u64_much_compressed()?),
        })
    }

    fn has_ordering(&self) -> bool {
        match self.ty {
            UndoType::Insert => false,
            UndoType::DeleteMark => true,
            _ => self.cmpl_info & NO_ORDER_CHANGE == 0,
        }
    }
}

/// System fields of the version before the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldVersion {
    /// Info bits of the record.
    pub info_bits: u8,
    /// Who made that version.
    pub trx_id: TrxId,
    /// What that transaction's undo record is.
    pub roll_ptr: RollPtr,
}

/// A stored value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoValue<'a> {
    /// NULL.
    Null,
    /// The bytes of the column.
    Inline(&'a [u8]),
    /// Local part of an off-page column, reference at its end.
    External(&'a [u8]),
    /// Off-page column with a longer prefix than the record had.
    ExternalPrefix {
        /// Length of the local part in the record.
        local_len: u32,
        /// Prefix and reference.
        bytes: &'a [u8],
    },
}

impl<'a> UndoValue<'a> {
    fn parse(r: &mut Reader<'a>) -> Result<Self> {
        Ok(match r.compressed()? {
            NULL_LEN => UndoValue::Null,
            EXTERNAL_LEN => {
                let local_len = r.compressed()?;
                let len = r.compressed()?;
                UndoValue::ExternalPrefix { local_len, bytes: r.bytes(len as usize)? }
            }
            len if len > EXTERNAL_LEN => UndoValue::External(r.bytes((len - EXTERNAL_LEN) as usize)?),
            len => UndoValue::Inline(r.bytes(len as usize)?),
        })
    }

    /// Appends the stored form.
    pub fn push(self, out: &mut Vec<u8>) {
        match self {
            UndoValue::Null => push_compressed(out, NULL_LEN),
            UndoValue::Inline(bytes) => {
                push_compressed(out, bytes.len() as u32);
                out.extend_from_slice(bytes);
            }
            UndoValue::External(bytes) => {
                debug_assert!(
                    !bytes.is_empty() && bytes.len() < 16384,
                    "local part of {} bytes",
                    bytes.len()
                );
                push_compressed(out, EXTERNAL_LEN + bytes.len() as u32);
                out.extend_from_slice(bytes);
            }
            UndoValue::ExternalPrefix { local_len, bytes } => {
                push_compressed(out, EXTERNAL_LEN);
                push_compressed(out, local_len);
                push_compressed(out, bytes.len() as u32);
                out.extend_from_slice(bytes);
            }
        }
    }

    /// The bytes, `None` for NULL.
    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            UndoValue::Null => None,
            UndoValue::Inline(b) | UndoValue::External(b) | UndoValue::ExternalPrefix { bytes: b, .. } => {
                Some(b)
            }
        }
    }

    /// Whether the column is stored off-page.
    pub fn is_external(self) -> bool {
        matches!(self, UndoValue::External(_) | UndoValue::ExternalPrefix { .. })
    }
}

/// A parsed record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoRecord<'a> {
    /// First part.
    pub header: UndoHeader,
    /// The version before; `None` for INSERT.
    pub old: Option<OldVersion>,
    key: &'a [u8],
    updates: &'a [u8],
    ordering: &'a [u8],
}

impl<'a> UndoRecord<'a> {
    /// Reads a record body, as [`super::UndoPage::record`] gives it, of a table whose clustered index is unique by
    /// `n_key` fields.
    ///
    /// # Errors
    /// [`Corruption`] if the record is not walked to its exact end.
    pub fn parse(body: &'a [u8], n_key: usize) -> Result<Self> {
        let r = &mut Reader::new(body);
        let header = UndoHeader::parse_from(r)?;
        let old = match header.ty {
            UndoType::Insert => None,
            _ => Some(OldVersion {
                info_bits: r.u8()?,
                trx_id: TrxId(r.u64_compressed()?),
                roll_ptr: RollPtr(r.u64_compressed()?),
            }),
        };
        let key = walked(body, r, |r| {
            for _ in 0..n_key {
                UndoValue::parse(r)?;
            }
            Ok(())
        })?;
        let mut updates: &[u8] = &[];
        if header.ty.has_updates() {
            let n = r.compressed()?;
            updates = walked(body, r, |r| {
                for _ in 0..n {
                    r.compressed()?;
                    UndoValue::parse(r)?;
                }
                Ok(())
            })?;
        }
        let mut ordering: &[u8] = &[];
        if header.has_ordering() {
            let len = usize::from(r.u16()?);
            let rest = r.rest().len() + 2;
            if len < 2 || len > rest {
                let detail = format!("{len} bytes of the {rest} that are left");
                return Err(Corruption::new("undo record ordering columns", detail).at(r.pos()));
            }
            ordering = r.bytes(len - 2)?;
            let inner = &mut Reader::new(ordering);
            while !inner.is_empty() {
                inner.compressed()?;
                UndoValue::parse(inner)?;
            }
        }
        if !r.is_empty() {
            let detail = format!("{} bytes behind the last part", r.rest().len());
            return Err(Corruption::new("undo record end", detail).at(r.pos()));
        }
        Ok(Self { header, old, key, updates, ordering })
    }

    /// Values of the unique fields of the clustered index.
    pub fn key(&self) -> impl Iterator<Item = UndoValue<'a>> + use<'a> {
        let mut r = Reader::new(self.key);
        std::iter::from_fn(move || (!r.is_empty()).then(|| UndoValue::parse(&mut r).ok()).flatten())
    }

    /// Old values of the updated fields, with their positions in the clustered index.
    pub fn updates(&self) -> impl Iterator<Item = (u32, UndoValue<'a>)> + use<'a> {
        fields(self.updates)
    }

    /// Values of the columns that any index is ordered by, with their positions.
    pub fn ordering(&self) -> impl Iterator<Item = (u32, UndoValue<'a>)> + use<'a> {
        fields(self.ordering)
    }
}

/// Runs `f` and gives the bytes it consumed.
fn walked<'a>(
    body: &'a [u8],
    r: &mut Reader<'a>,
    f: impl FnOnce(&mut Reader<'a>) -> Result<()>,
) -> Result<&'a [u8]> {
    let start = r.pos();
    f(r)?;
    Ok(&body[start..r.pos()])
}

/// Fields of a part that was walked before (I1).
fn fields(part: &[u8]) -> impl Iterator<Item = (u32, UndoValue<'_>)> {
    let mut r = Reader::new(part);
    std::iter::from_fn(move || {
        if r.is_empty() {
            return None;
        }
        let pos = r.compressed().ok()?;
        Some((pos, UndoValue::parse(&mut r).ok()?))
    })
}

/// Appends an INSERT record body.
pub fn push_insert<'v>(
    out: &mut Vec<u8>,
    undo_no: u64,
    table_id: TableId,
    key: impl IntoIterator<Item = UndoValue<'v>>,
) {
    let header =
        UndoHeader { ty: UndoType::Insert, cmpl_info: 0, external_updated: false, undo_no, table_id };
    push_header(out, &header);
    key.into_iter().for_each(|v| v.push(out));
}

/// Writes the body of an UPD_EXIST, UPD_DEL or DEL_MARK record part by part, in this order: key, updates, ordering
/// columns.
pub struct UpdateWriter<'o> {
    out: &'o mut Vec<u8>,
    header: UndoHeader,
}

impl<'o> UpdateWriter<'o> {
    /// Appends the first parts.
    ///
    /// # Panics
    /// If the header is that of an INSERT.
    pub fn new(out: &'o mut Vec<u8>, header: UndoHeader, old: OldVersion) -> Self {
        assert!(header.ty != UndoType::Insert, "an INSERT record has no old version");
        push_header(out, &header);
        out.push(old.info_bits);
        push_u64_compressed(out, old.trx_id.get());
        push_u64_compressed(out, old.roll_ptr.get());
        Self { out, header }
    }

    /// Appends the key.
    pub fn key<'v>(&mut self, values: impl IntoIterator<Item = UndoValue<'v>>) {
        values.into_iter().for_each(|v| v.push(self.out));
    }

    /// Appends the old values of the updated fields.
    ///
    /// # Panics
    /// If the record is a DEL_MARK.
    pub fn updates<'v, I>(&mut self, fields: I)
    where
        I: IntoIterator<Item = (u32, UndoValue<'v>)>,
        I::IntoIter: ExactSizeIterator,
    {
        assert!(self.header.ty.has_updates(), "a DEL_MARK record has no updates");
        let fields = fields.into_iter();
        push_compressed(self.out, fields.len() as u32);
        for (pos, value) in fields {
            push_compressed(self.out, pos);
            value.push(self.out);
        }
    }

    /// Appends the columns that any index is ordered by. Call it exactly when [`Self::needs_ordering`].
    ///
    /// # Errors
    /// [`Corruption`] if they take more than 65535 bytes; the record cannot be written then.
    pub fn ordering<'v>(&mut self, fields: impl IntoIterator<Item = (u32, UndoValue<'v>)>) -> Result<()> {
        let start = self.out.len();
        push_u16(self.out, 0);
        for (pos, value) in fields {
            push_compressed(self.out, pos);
            value.push(self.out);
        }
        let len = self.out.len() - start;
        let stored = u16::try_from(len)
            .map_err(|_| Corruption::new("undo record ordering columns", format!("{len} bytes")))?;
        put_u16(self.out, start, stored);
        Ok(())
    }

    /// Whether the record has the columns that any index is ordered by.
    pub fn needs_ordering(&self) -> bool {
        self.header.has_ordering()
    }
}

fn push_header(out: &mut Vec<u8>, h: &UndoHeader) {
    out.push(h.ty as u8 | (h.cmpl_info & 7) << 4 | (h.external_updated as u8) << 7);
    push_u64_much_compressed(out, h.undo_no);
    push_u64_much_compressed(out, h.table_id.get());
}
