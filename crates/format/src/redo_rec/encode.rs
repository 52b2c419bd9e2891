//! Writing redo records that do not depend on the row format.
//!
//! Each function appends one record. The mini-transaction sets [`SINGLE_RECORD`](super::SINGLE_RECORD) on the
//! first byte if it stays the only one, and appends [`push_multi_rec_end`] otherwise.

use vaquita_base::codec::{push_compressed, push_u16, push_u32, push_u64_compressed};
use vaquita_base::{PageId, SpaceId, TrxId};

use super::{RecType, SINGLE_RECORD};
use crate::flags::SpaceFlags;
use crate::undo::UndoKind;

/// Longest head of a record: type, space id, page number.
pub const HEAD_MAX: usize = 11;

/// Appends type and page.
#[inline]
pub fn push_head(out: &mut Vec<u8>, ty: RecType, page: PageId) {
    out.push(ty.as_u8());
    push_compressed(out, page.space.get());
    push_compressed(out, page.page_no.get());
}

/// Appends a write of one byte.
#[inline]
pub fn push_bytes1(out: &mut Vec<u8>, page: PageId, offset: u16, v: u8) {
    push_small(out, RecType::Bytes1, page, offset, v.into());
}

/// Appends a write of two bytes.
#[inline]
pub fn push_bytes2(out: &mut Vec<u8>, page: PageId, offset: u16, v: u16) {
    push_small(out, RecType::Bytes2, page, offset, v.into());
}

/// Appends a write of four bytes.
#[inline]
pub fn push_bytes4(out: &mut Vec<u8>, page: PageId, offset: u16, v: u32) {
    push_small(out, RecType::Bytes4, page, offset, v);
}

#[inline]
fn push_small(out: &mut Vec<u8>, ty: RecType, page: PageId, offset: u16, v: u32) {
    push_head(out, ty, page);
    push_u16(out, offset);
    push_compressed(out, v);
}

/// Appends a write of eight bytes.
#[inline]
pub fn push_bytes8(out: &mut Vec<u8>, page: PageId, offset: u16, v: u64) {
    push_head(out, RecType::Bytes8, page);
    push_u16(out, offset);
    push_u64_compressed(out, v);
}

/// Appends a write of a string.
///
/// # Panics
/// If it is longer than 65535 bytes.
#[inline]
pub fn push_write_string(out: &mut Vec<u8>, page: PageId, offset: u16, bytes: &[u8]) {
    push_head(out, RecType::WriteString, page);
    push_u16(out, offset);
    push_short(out, bytes, false);
}

/// Appends one of the records with an empty body: INIT_FILE_PAGE, IBUF_BITMAP_INIT, UNDO_ERASE_END, PAGE_CREATE
/// and COMP_PAGE_CREATE.
///
/// # Panics
/// If the type has a body.
#[inline]
pub fn push_empty(out: &mut Vec<u8>, ty: RecType, page: PageId) {
    use RecType::*;
    let empty = matches!(ty, InitFilePage | IbufBitmapInit | UndoEraseEnd | PageCreate | CompPageCreate);
    assert!(empty, "{ty:?} has a body");
    push_head(out, ty, page);
}

/// Appends INIT_FILE_PAGE: the page becomes zeros, with its page number and space id.
#[inline]
pub fn push_init_file_page(out: &mut Vec<u8>, page: PageId) {
    push_empty(out, RecType::InitFilePage, page);
}

/// Appends UNDO_INIT.
#[inline]
pub fn push_undo_init(out: &mut Vec<u8>, page: PageId, kind: UndoKind) {
    push_head(out, RecType::UndoInit, page);
    push_compressed(out, kind as u32);
}

/// Appends UNDO_INSERT.
///
/// # Panics
/// If the record is longer than 65535 bytes.
#[inline]
pub fn push_undo_insert(out: &mut Vec<u8>, page: PageId, body: &[u8]) {
    push_head(out, RecType::UndoInsert, page);
    push_short(out, body, false);
}

/// Appends UNDO_ERASE_END.
#[inline]
pub fn push_undo_erase_end(out: &mut Vec<u8>, page: PageId) {
    push_empty(out, RecType::UndoEraseEnd, page);
}

/// Appends UNDO_HDR_CREATE.
#[inline]
pub fn push_undo_hdr_create(out: &mut Vec<u8>, page: PageId, trx_id: TrxId) {
    push_head(out, RecType::UndoHdrCreate, page);
    push_u64_compressed(out, trx_id.get());
}

/// Appends UNDO_HDR_REUSE.
#[inline]
pub fn push_undo_hdr_reuse(out: &mut Vec<u8>, page: PageId, trx_id: TrxId) {
    push_head(out, RecType::UndoHdrReuse, page);
    push_u64_compressed(out, trx_id.get());
}

/// Appends FILE_CREATE2: a tablespace file was made.
///
/// # Panics
/// If the name is longer than 65534 bytes.
pub fn push_file_create2(out: &mut Vec<u8>, space: SpaceId, flags: SpaceFlags, temporary: bool, name: &[u8]) {
    push_head(out, RecType::FileCreate2, PageId::new(space, u32::from(temporary).into()));
    push_u32(out, flags.encode());
    push_short(out, name, true);
}

/// Appends FILE_DELETE: a tablespace file was removed.
///
/// # Panics
/// If the name is longer than 65534 bytes.
pub fn push_file_delete(out: &mut Vec<u8>, space: SpaceId, name: &[u8]) {
    push_head(out, RecType::FileDelete, PageId::new(space, 0.into()));
    push_short(out, name, true);
}

/// Appends FILE_RENAME.
///
/// # Panics
/// If a name is longer than 65534 bytes.
pub fn push_file_rename(out: &mut Vec<u8>, space: SpaceId, old: &[u8], new: &[u8]) {
    push_head(out, RecType::FileRename, PageId::new(space, 0.into()));
    push_short(out, old, true);
    push_short(out, new, true);
}

/// Appends the end of a mini-transaction of several records.
#[inline]
pub fn push_multi_rec_end(out: &mut Vec<u8>) {
    out.push(RecType::MultiRecEnd.as_u8());
}

/// Appends a filler byte.
#[inline]
pub fn push_dummy(out: &mut Vec<u8>) {
    out.push(RecType::Dummy.as_u8());
}

/// Ends a mini-transaction of `n_records` records, which are all of `out`: marks the only record, or appends the
/// end marker.
///
/// # Panics
/// If `out` is empty although there are records.
#[inline]
pub fn finish_group(out: &mut Vec<u8>, n_records: usize) {
    match n_records {
        0 => {}
        1 => out[0] |= SINGLE_RECORD,
        _ => push_multi_rec_end(out),
    }
}

fn push_short(out: &mut Vec<u8>, bytes: &[u8], nul: bool) {
    let len = u16::try_from(bytes.len() + usize::from(nul)).expect("the caller keeps strings below 64K");
    push_u16(out, len);
    out.extend_from_slice(bytes);
    if nul {
        out.push(0);
    }
}
