//! The fixed header of a record, below its origin.
//!
//! | COMPACT family | REDUNDANT | content |
//! |---|---|---|
//! | r-2..r-1 | r-2..r-1 | next record: relative to r, modulo 64K / page offset; 0 at the end of a list |
//! | r-4..r-3 | r-5..r-4 | heap number, 13 bits, above the low 3 bits |
//! | r-3 low 3 bits | | status |
//! | | r-4..r-3, mask 0x07FE | number of fields |
//! | | r-3 bit 0 | end offsets have one byte |
//! | r-5 | r-6 | info bits (high half), n_owned (low half) |
//! | r-6, if [`INFO_VERSION`] is set | | row version |
//!
//! These functions index the page: the origin has been checked by [`check_origin`] or comes from a page that was.

use crate::error::{Corruption, Result};
pub use crate::record_layout::{COMP_HEADER, INFO_VERSION};
use vaquita_base::codec::{get_u16, put_u16};

/// Info bit: less than any key; on the first record of the leftmost page of a level above the leaves.
pub const INFO_MIN_REC: u8 = 0x10;
/// Info bit: delete-marked.
pub const INFO_DELETED: u8 = 0x20;
/// All info bits.
pub const INFO_MASK: u8 = 0xF0;
/// Info bits that tell a record's state.
const INFO_STATE: u8 = INFO_MASK & !INFO_VERSION;

/// Status of a leaf record.
pub const STATUS_ORDINARY: u8 = 0;
/// Status of a node pointer.
pub const STATUS_NODE_PTR: u8 = 1;
/// Status of the infimum.
pub const STATUS_INFIMUM: u8 = 2;
/// Status of the supremum.
pub const STATUS_SUPREMUM: u8 = 3;

/// Bytes of the fixed header of a REDUNDANT record.
pub const OLD_HEADER: usize = 6;

/// Bytes of the fixed header.
#[inline]
pub const fn header_len(comp: bool) -> usize {
    if comp { COMP_HEADER } else { OLD_HEADER }
}

/// Checks that a record header at `rec` lies within the page's record area.
///
/// # Errors
/// If it does not.
#[inline]
pub fn check_origin(page: &[u8], rec: u16) -> Result<usize> {
    let rec = usize::from(rec);
    // The infimum is the lowest record (origins 99 and 101), the trailer starts eight bytes before the end.
    if rec >= 99 && rec + 8 <= page.len() { Ok(rec) } else { Err(outside(rec)) }
}

#[cold]
fn outside(rec: usize) -> Corruption {
    Corruption::new("record offset", "outside the records of the page").at(rec)
}

/// Info bits that tell the state, in the high half of the byte.
#[inline]
pub fn info_bits(page: &[u8], rec: u16, comp: bool) -> u8 {
    page[usize::from(rec) - header_len(comp)] & INFO_STATE
}

/// Sets the info bits that tell the state.
#[inline]
pub fn set_info_bits(page: &mut [u8], rec: u16, comp: bool, bits: u8) {
    let byte = &mut page[usize::from(rec) - header_len(comp)];
    *byte = *byte & !INFO_STATE | bits & INFO_STATE;
}

/// All info bits, how the record lies included.
#[inline]
pub fn all_info_bits(page: &[u8], rec: u16, comp: bool) -> u8 {
    page[usize::from(rec) - header_len(comp)] & INFO_MASK
}

/// Sets all info bits, of a record that is made.
#[inline]
pub fn set_all_info_bits(page: &mut [u8], rec: u16, comp: bool, bits: u8) {
    let byte = &mut page[usize::from(rec) - header_len(comp)];
    *byte = *byte & !INFO_MASK | bits & INFO_MASK;
}

/// Whether the record is delete-marked.
#[inline]
pub fn is_deleted(page: &[u8], rec: u16, comp: bool) -> bool {
    info_bits(page, rec, comp) & INFO_DELETED != 0
}

/// Records that this one owns in the directory, itself included; 0 if it owns no slot.
#[inline]
pub fn n_owned(page: &[u8], rec: u16, comp: bool) -> u8 {
    page[usize::from(rec) - header_len(comp)] & !INFO_MASK
}

/// Sets the owned count.
#[inline]
pub fn set_n_owned(page: &mut [u8], rec: u16, comp: bool, n: u8) {
    let byte = &mut page[usize::from(rec) - header_len(comp)];
    *byte = *byte & INFO_MASK | n & !INFO_MASK;
}

/// Heap number.
#[inline]
pub fn heap_no(page: &[u8], rec: u16, comp: bool) -> u16 {
    get_u16(page, usize::from(rec) - header_len(comp) + 1) >> 3
}

/// Sets the heap number.
#[inline]
pub fn set_heap_no(page: &mut [u8], rec: u16, comp: bool, heap_no: u16) {
    let at = usize::from(rec) - header_len(comp) + 1;
    let low = get_u16(page, at) & 7;
    put_u16(page, at, heap_no << 3 | low);
}

/// Status of a COMPACT record; see the constants.
#[inline]
pub fn status(page: &[u8], rec: u16) -> u8 {
    page[usize::from(rec) - 3] & 7
}

/// Sets the status of a COMPACT record.
#[inline]
pub fn set_status(page: &mut [u8], rec: u16, status: u8) {
    let byte = &mut page[usize::from(rec) - 3];
    *byte = *byte & !7 | status & 7;
}

/// Next record in its list; 0 at the end.
#[inline]
pub fn next(page: &[u8], rec: u16, comp: bool) -> u16 {
    match (get_u16(page, usize::from(rec) - 2), comp) {
        (0, _) => 0,
        (next, false) => next,
        (delta, true) => rec.wrapping_add(delta),
    }
}

/// Sets the next record; 0 ends the list.
#[inline]
pub fn set_next(page: &mut [u8], rec: u16, comp: bool, next: u16) {
    let stored = if comp && next != 0 { next.wrapping_sub(rec) } else { next };
    put_u16(page, usize::from(rec) - 2, stored);
}

/// Number of fields of a REDUNDANT record.
#[inline]
pub fn old_n_fields(page: &[u8], rec: u16) -> usize {
    usize::from((get_u16(page, usize::from(rec) - 4) & 0x07FE) >> 1)
}

/// Whether a REDUNDANT record has one-byte end offsets.
#[inline]
pub fn old_is_short(page: &[u8], rec: u16) -> bool {
    page[usize::from(rec) - 3] & 1 != 0
}
