//! Page edits with redo: each function makes one change through [`super::edit`] and appends the one record that lets
//! recovery make it again.
//!
//! A record is: type byte, space id and page number (compressed), body. Bodies of the COMPACT family start with the
//! index description ([`IndexDef::redo_description`]). Types, REDUNDANT / COMPACT:
//!
//! | type | function | body after the description |
//! |---|---|---|
//! | 19 / 37 | [`create`] | nothing |
//! | 9 / 38 | [`insert`] | u16 cursor record; compressed e; if e is odd: info and status byte, compressed extra size, compressed mismatch; e/2 bytes of the record from the mismatch on |
//! | 14 / 42 | [`delete`] | u16 record |
//! | 15 / 43, 16 / 44 | [`delete_list_from`], [`delete_list_to`] | u16 record |
//! | 17 / 45 | [`copy_list_end`] | u32 length, inserts without cursor record |
//! | 18 / 46 | [`reorganize`] | nothing |
//! | 10 / 39 | [`set_delete_mark_clustered`] | flags, value, position of DB_TRX_ID, roll pointer, transaction id, u16 record |
//! | 11 | [`set_delete_mark_secondary`] | value, u16 record; no description |
//! | 13 / 41 | [`update_in_place`] | flags, position, roll pointer, transaction id, u16 record, info bits, count, fields |
//! | 26 / 36 | [`set_min_rec_mark`] | u16 record; no description |
//!
//! An insert leaves out the bytes it shares with the record before it: `mismatch` counts them, the fixed header (whose
//! fields the insert sets anyway) counting as equal. Even e: info and status bits and both sizes are those of the
//! record before it.

use super::edit::{self, Appender, FieldUpdate, SysFields};
use super::header::{MAX_TRX_ID, infimum, n_recs, supremum};
use super::list::next_rec;
use super::{Corruption, Result};
use crate::index_def::{IndexDef, IndexKind};
use crate::record::header::{COMP_HEADER, INFO_MASK, OLD_HEADER, header_len};
use crate::record::layout::RecLayout;
use crate::record::offsets::RecSize;
use crate::redo_rec::RecType;
use crate::redo_rec::encode::{push_bytes8, push_head};
use vaquita_base::codec::{push_compressed, push_u16, push_u64_compressed, push_uint, put_u32};
use vaquita_base::{PageId, TrxId};

/// Types of the records, REDUNDANT first.
pub(crate) mod types {
    use crate::redo_rec::RecType::{self, *};

    pub(crate) const INSERT: [RecType; 2] = [RecInsert, CompRecInsert];
    pub(crate) const CLUSTERED_DELETE_MARK: [RecType; 2] = [RecClustDeleteMark, CompRecClustDeleteMark];
    pub(crate) const UPDATE_IN_PLACE: [RecType; 2] = [RecUpdateInPlace, CompRecUpdateInPlace];
    pub(crate) const DELETE: [RecType; 2] = [RecDelete, CompRecDelete];
    pub(crate) const DELETE_LIST_FROM: [RecType; 2] = [ListEndDelete, CompListEndDelete];
    pub(crate) const DELETE_LIST_TO: [RecType; 2] = [ListStartDelete, CompListStartDelete];
    pub(crate) const COPY_LIST_END: [RecType; 2] = [ListEndCopyCreated, CompListEndCopyCreated];
    pub(crate) const REORGANIZE: [RecType; 2] = [PageReorganize, CompPageReorganize];
    pub(crate) const CREATE: [RecType; 2] = [PageCreate, CompPageCreate];
    pub(crate) const MIN_REC_MARK: [RecType; 2] = [RecMinMark, CompRecMinMark];
}

/// Flag of delete marks and updates: the record's system fields stay as they are.
pub(crate) const KEEP_SYS_FIELDS: u8 = 4;

/// Length that stands for SQL NULL.
pub(crate) const NULL_LEN: u32 = 0xFFFF_FFFF;

/// Where redo records of one page go.
#[derive(Debug)]
pub struct PageLog<'a> {
    page: PageId,
    out: Option<&'a mut Vec<u8>>,
}

impl<'a> PageLog<'a> {
    /// Appends to `out`; every edit appends exactly one record, unless its documentation says that it may append none.
    pub fn new(page: PageId, out: &'a mut Vec<u8>) -> Self {
        Self { page, out: Some(out) }
    }

    /// Logs nothing: for pages that are written out as a whole.
    pub fn off(page: PageId) -> Self {
        Self { page, out: None }
    }

    #[inline]
    fn record(&mut self, ty: RecType) -> Option<&mut Vec<u8>> {
        let out = self.out.as_deref_mut()?;
        push_head(out, ty, self.page);
        Some(out)
    }

    #[inline]
    fn index_record(&mut self, types: [RecType; 2], index: &IndexDef) -> Option<&mut Vec<u8>> {
        let out = self.record(types[usize::from(index.layout().comp())])?;
        out.extend_from_slice(index.redo_description());
        Some(out)
    }
}

/// Makes an empty page; see [`edit::create`]. Level, index id and siblings are the caller's to write.
pub fn create(page: &mut [u8], log: &mut PageLog<'_>, comp: bool) {
    edit::create(page, comp);
    log.record(types::CREATE[usize::from(comp)]);
}

/// Inserts a record after `after`; see [`edit::insert`]. Nothing is logged if it does not fit.
///
/// # Errors
/// If the page is corrupt.
pub fn insert(
    page: &mut [u8],
    log: &mut PageLog<'_>,
    index: &IndexDef,
    after: u16,
    rec: &[u8],
    extra: usize,
) -> Result<Option<u16>> {
    let Some(origin) = edit::insert(page, index.layout(), after, rec, extra)? else { return Ok(None) };
    if let Some(out) = log.index_record(types::INSERT, index) {
        push_u16(out, after);
        push_insert(out, page, index, after, origin, RecSize { extra, data: rec.len() - extra })?;
    }
    Ok(Some(origin))
}

/// The part of an insert's body after the cursor record.
fn push_insert(
    out: &mut Vec<u8>,
    page: &[u8],
    index: &IndexDef,
    after: u16,
    origin: u16,
    size: RecSize,
) -> Result<()> {
    let comp = index.layout().comp();
    let start = usize::from(origin) - size.extra;
    let rec = &page[start..start + size.total()];
    let cursor = cursor_size(page, after, index.layout())?;
    let (mut mismatch, mut same_shape) = (0, false);
    if cursor.extra == size.extra {
        let start = usize::from(after) - cursor.extra;
        let before = &page[start..start + cursor.total()];
        mismatch = shared_prefix(rec, before, size.extra, comp);
        same_shape = cursor == size && bits(rec, size.extra, comp) == bits(before, cursor.extra, comp);
    }
    let tail = &rec[mismatch..];
    push_compressed(out, (tail.len() as u32) << 1 | u32::from(!same_shape));
    if !same_shape {
        out.push(bits(rec, size.extra, comp));
        push_compressed(out, size.extra as u32);
        push_compressed(out, mismatch as u32);
    }
    out.extend_from_slice(tail);
    Ok(())
}

/// Sizes of the record that an insert follows, which may be the infimum.
#[inline]
pub(crate) fn cursor_size(page: &[u8], cursor: u16, layout: &RecLayout) -> Result<RecSize> {
    if cursor == infimum(layout.comp()) {
        let end_offset = usize::from(!layout.comp());
        return Ok(RecSize { extra: header_len(layout.comp()) + end_offset, data: 8 });
    }
    RecSize::of(page, cursor, layout)
}

/// Info bits and, in a COMPACT record, status.
fn bits(rec: &[u8], extra: usize, comp: bool) -> u8 {
    let info = rec[extra - header_len(comp)] & INFO_MASK;
    if comp { info | rec[extra - 3] & 7 } else { info }
}

/// Leading bytes two records share. Header bytes that an insert sets count as shared; the field count and offset
/// width in the header of a REDUNDANT record do not.
fn shared_prefix(a: &[u8], b: &[u8], extra: usize, comp: bool) -> usize {
    let header = extra - header_len(comp);
    let mask = |i: usize| match i.checked_sub(header) {
        Some(at) if i < extra => match (comp, at) {
            (true, _) => 0,
            (false, OLD_FIELDS_HIGH) => 0x07,
            (false, OLD_FIELDS_LOW) => 0xFF,
            (false, _) => 0,
        },
        _ => 0xFF,
    };
    let n = a.len().min(b.len());
    (0..n).find(|&i| (a[i] ^ b[i]) & mask(i) != 0).unwrap_or(n)
}

const OLD_FIELDS_HIGH: usize = OLD_HEADER - 4;
const OLD_FIELDS_LOW: usize = OLD_HEADER - 3;
const _: () = assert!(OLD_FIELDS_HIGH == 2 && COMP_HEADER == 5);

/// Removes a user record. A page that becomes empty is made anew, without garbage: the record is then that of
/// [`create`], and MAX_TRX_ID is zero until the next insert raises it.
///
/// # Errors
/// If the page is corrupt.
pub fn delete(page: &mut [u8], log: &mut PageLog<'_>, index: &IndexDef, rec: u16) -> Result<()> {
    if n_recs(page) == 1 && super::first_rec(page)? == rec {
        create(page, log, index.layout().comp());
        return Ok(());
    }
    edit::delete(page, index.layout(), rec)?;
    push_rec(log, types::DELETE, index, rec);
    Ok(())
}

fn push_rec(log: &mut PageLog<'_>, types: [RecType; 2], index: &IndexDef, rec: u16) {
    if let Some(out) = log.index_record(types, index) {
        push_u16(out, rec);
    }
}

/// Removes the records from `rec` to the end.
///
/// # Errors
/// If the page is corrupt.
pub fn delete_list_from(page: &mut [u8], log: &mut PageLog<'_>, index: &IndexDef, rec: u16) -> Result<()> {
    edit::delete_list_from(page, index.layout(), rec)?;
    push_rec(log, types::DELETE_LIST_FROM, index, rec);
    Ok(())
}

/// Removes the records before `rec`, which may be the supremum.
///
/// # Errors
/// If the page is corrupt.
pub fn delete_list_to(page: &mut [u8], log: &mut PageLog<'_>, index: &IndexDef, rec: u16) -> Result<()> {
    edit::delete_list_to(page, index.layout(), rec)?;
    push_rec(log, types::DELETE_LIST_TO, index, rec);
    Ok(())
}

/// Copies the records of `from` from `rec` to the end onto `page`, which is empty. The log is that of `page`; it holds
/// the records, so recovery needs nothing of `from`.
///
/// # Errors
/// If a page is corrupt or the records do not fit.
pub fn copy_list_end(
    page: &mut [u8],
    log: &mut PageLog<'_>,
    index: &IndexDef,
    from: &[u8],
    rec: u16,
) -> Result<()> {
    let layout = index.layout();
    let mut out = log.index_record(types::COPY_LIST_END, index);
    let length_at = out.as_ref().map_or(0, |o| o.len());
    if let Some(out) = &mut out {
        out.extend_from_slice(&[0; 4]);
    }
    let mut appender = Appender::new(page);
    let mut at = rec;
    while at != supremum(layout.comp()) {
        let size = RecSize::of(from, at, layout)?;
        let start = usize::from(at) - size.extra;
        let before = appender.last();
        let origin = appender.push(page, &from[start..start + size.total()], size.extra)?;
        let origin = origin.ok_or_else(|| {
            Corruption::new("records to copy", "they do not fit into an empty page").at(at.into())
        })?;
        if let Some(out) = &mut out {
            push_insert(out, page, index, before, origin, size)?;
        }
        at = next_rec(from, at)?;
    }
    appender.finish(page)?;
    if let Some(out) = out {
        let len = (out.len() - length_at - 4) as u32;
        put_u32(out, length_at, len);
    }
    Ok(())
}

/// Rebuilds the page without garbage. Origins of records change.
///
/// # Errors
/// If the page is corrupt; it is unchanged then.
pub fn reorganize(page: &mut [u8], log: &mut PageLog<'_>, index: &IndexDef) -> Result<()> {
    edit::reorganize(page, index.layout())?;
    log.index_record(types::REORGANIZE, index);
    Ok(())
}

/// Sets or clears the delete mark of a clustered record, and its system fields unless `sys` is `None`.
///
/// # Errors
/// If the page is corrupt.
///
/// # Panics
/// If the index is not clustered.
pub fn set_delete_mark_clustered(
    page: &mut [u8],
    log: &mut PageLog<'_>,
    index: &IndexDef,
    rec: u16,
    deleted: bool,
    sys: Option<SysFields>,
) -> Result<()> {
    let pos = index.trx_id_pos().expect("a clustered index has DB_TRX_ID");
    edit::set_delete_mark(page, rec, deleted)?;
    if let Some(sys) = sys {
        edit::set_sys_fields(page, index.layout(), rec, pos, sys)?;
    }
    if let Some(out) = log.index_record(types::CLUSTERED_DELETE_MARK, index) {
        out.push(if sys.is_some() { 0 } else { KEEP_SYS_FIELDS });
        out.push(u8::from(deleted));
        push_sys_fields(out, pos, sys);
        push_u16(out, rec);
    }
    Ok(())
}

fn push_sys_fields(out: &mut Vec<u8>, pos: usize, sys: Option<SysFields>) {
    let (trx_id, roll_ptr) = sys.map_or((0, 0), |s| (s.trx_id.get(), s.roll_ptr.get()));
    push_compressed(out, pos as u32);
    push_uint(out, 7, roll_ptr);
    push_u64_compressed(out, trx_id);
}

/// Sets or clears the delete mark of a record without system fields.
///
/// # Errors
/// If the page is corrupt.
pub fn set_delete_mark_secondary(
    page: &mut [u8],
    log: &mut PageLog<'_>,
    rec: u16,
    deleted: bool,
) -> Result<()> {
    edit::set_delete_mark(page, rec, deleted)?;
    if let Some(out) = log.record(RecType::RecSecDeleteMark) {
        out.push(u8::from(deleted));
        push_u16(out, rec);
    }
    Ok(())
}

/// Overwrites fields with values of the same size (see [`edit::fits_in_place`]), sets the info bits and, if given, the
/// system fields.
///
/// # Errors
/// If the page is corrupt or a value has another size.
pub fn update_in_place(
    page: &mut [u8],
    log: &mut PageLog<'_>,
    index: &IndexDef,
    rec: u16,
    info_bits: u8,
    fields: &[FieldUpdate<'_>],
    sys: Option<SysFields>,
) -> Result<()> {
    debug_assert!(sys.is_none() || index.kind() == IndexKind::Clustered, "system fields of another index");
    let pos = index.trx_id_pos().unwrap_or(0);
    edit::update_in_place(page, index.layout(), rec, info_bits, fields)?;
    if let Some(sys) = sys {
        edit::set_sys_fields(page, index.layout(), rec, pos, sys)?;
    }
    if let Some(out) = log.index_record(types::UPDATE_IN_PLACE, index) {
        out.push(if sys.is_some() { 0 } else { KEEP_SYS_FIELDS });
        push_sys_fields(out, pos, sys);
        push_u16(out, rec);
        out.push(info_bits);
        push_compressed(out, fields.len() as u32);
        for f in fields {
            push_compressed(out, f.pos as u32);
            match f.data {
                Some(data) => {
                    push_compressed(out, data.len() as u32);
                    out.extend_from_slice(data);
                }
                None => push_compressed(out, NULL_LEN),
            }
        }
    }
    Ok(())
}

/// Flags the record as below every key: the first one of the leftmost page of a level above the leaves.
///
/// # Errors
/// If the page is corrupt.
pub fn set_min_rec_mark(page: &mut [u8], log: &mut PageLog<'_>, comp: bool, rec: u16) -> Result<()> {
    edit::set_min_rec_mark(page, rec)?;
    if let Some(out) = log.record(types::MIN_REC_MARK[usize::from(comp)]) {
        push_u16(out, rec);
    }
    Ok(())
}

/// Raises MAX_TRX_ID of a secondary leaf page. Appends nothing if it is high enough.
pub fn raise_max_trx_id(page: &mut [u8], log: &mut PageLog<'_>, trx_id: TrxId) {
    if edit::raise_max_trx_id(page, trx_id)
        && let Some(out) = log.out.as_deref_mut()
    {
        push_bytes8(out, log.page, MAX_TRX_ID as u16, trx_id.get());
    }
}
