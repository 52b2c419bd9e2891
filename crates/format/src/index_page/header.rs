//! The header of index pages, 56 bytes from offset 38, and the addresses that follow from the record format.
//!
//! Getters index the page, which is always whole; the numbers they return are input and checked where used.

use vaquita_base::IndexId;
use vaquita_base::codec::{get_u16, get_u32, get_u64, put_u16, put_u64};

/// Slots of the page directory.
pub const N_DIR_SLOTS: usize = 38;
/// First byte above all records.
pub const HEAP_TOP: usize = 40;
/// Records in the heap, with the format bit.
pub const N_HEAP: usize = 42;
/// First record of the garbage list, 0 if it is empty.
pub const FREE: usize = 44;
/// Bytes of garbage.
pub const GARBAGE: usize = 46;
/// Record inserted last, 0 if forgotten.
pub const LAST_INSERT: usize = 48;
/// Direction of the last inserts.
pub const DIRECTION: usize = 50;
/// Consecutive inserts in that direction.
pub const N_DIRECTION: usize = 52;
/// User records.
pub const N_RECS: usize = 54;
/// Highest transaction id that changed a secondary leaf page.
pub const MAX_TRX_ID: usize = 56;
/// Level, 0 for leaves.
pub const LEVEL: usize = 64;
/// Number of the index.
pub const INDEX_ID: usize = 66;
/// Header of the leaf segment, on the root.
pub const LEAF_SEGMENT: usize = 74;
/// Header of the segment of upper levels, on the root.
pub const TOP_SEGMENT: usize = 84;
/// Where records start.
pub const RECORDS: usize = 94;

/// Bit of [`N_HEAP`]: records are of the COMPACT family.
pub const COMP_FLAG: u16 = 0x8000;

/// Inserts went to the left of the last one.
pub const DIRECTION_LEFT: u16 = 1;
/// Inserts went to the right of the last one.
pub const DIRECTION_RIGHT: u16 = 2;
/// Inserts went here and there.
pub const DIRECTION_NONE: u16 = 5;

/// Infimum of COMPACT pages.
pub const COMP_INFIMUM: u16 = 99;
/// Supremum of COMPACT pages.
pub const COMP_SUPREMUM: u16 = 112;
/// Start of the heap of user records in COMPACT pages.
pub const COMP_HEAP: u16 = 120;
/// Infimum of REDUNDANT pages.
pub const OLD_INFIMUM: u16 = 101;
/// Supremum of REDUNDANT pages.
pub const OLD_SUPREMUM: u16 = 116;
/// Start of the heap of user records in REDUNDANT pages.
pub const OLD_HEAP: u16 = 125;

/// Bytes of a directory slot.
pub const SLOT_LEN: usize = 2;
/// Most records a slot owns.
pub const SLOT_OWNED_MAX: u8 = 8;
/// Fewest records a slot owns, infimum and supremum excepted.
pub const SLOT_OWNED_MIN: u8 = 4;

/// Offset of the infimum.
#[inline]
pub const fn infimum(comp: bool) -> u16 {
    if comp { COMP_INFIMUM } else { OLD_INFIMUM }
}

/// Offset of the supremum.
#[inline]
pub const fn supremum(comp: bool) -> u16 {
    if comp { COMP_SUPREMUM } else { OLD_SUPREMUM }
}

/// Start of the heap of user records.
#[inline]
pub const fn heap_start(comp: bool) -> u16 {
    if comp { COMP_HEAP } else { OLD_HEAP }
}

/// Whether records are of the COMPACT family.
#[inline]
pub fn is_comp(page: &[u8]) -> bool {
    page[N_HEAP] & 0x80 != 0
}

/// Number of directory slots.
#[inline]
pub fn n_dir_slots(page: &[u8]) -> usize {
    usize::from(get_u16(page, N_DIR_SLOTS))
}

/// First byte above all records.
#[inline]
pub fn heap_top(page: &[u8]) -> usize {
    usize::from(get_u16(page, HEAP_TOP))
}

/// Records in the heap: infimum, supremum, user records, garbage.
#[inline]
pub fn n_heap(page: &[u8]) -> u16 {
    get_u16(page, N_HEAP) & !COMP_FLAG
}

/// First record of the garbage list, or 0.
#[inline]
pub fn free(page: &[u8]) -> u16 {
    get_u16(page, FREE)
}

/// Bytes of garbage.
#[inline]
pub fn garbage(page: &[u8]) -> usize {
    usize::from(get_u16(page, GARBAGE))
}

/// Record inserted last, or 0.
#[inline]
pub fn last_insert(page: &[u8]) -> u16 {
    get_u16(page, LAST_INSERT)
}

/// Direction of the last inserts.
#[inline]
pub fn direction(page: &[u8]) -> u16 {
    get_u16(page, DIRECTION)
}

/// Consecutive inserts in one direction.
#[inline]
pub fn n_direction(page: &[u8]) -> u16 {
    get_u16(page, N_DIRECTION)
}

/// User records.
#[inline]
pub fn n_recs(page: &[u8]) -> u16 {
    get_u16(page, N_RECS)
}

/// Highest transaction id that changed the page (secondary leaf pages).
#[inline]
pub fn max_trx_id(page: &[u8]) -> u64 {
    get_u64(page, MAX_TRX_ID)
}

/// Level, 0 for leaves.
#[inline]
pub fn level(page: &[u8]) -> u16 {
    get_u16(page, LEVEL)
}

/// Whether it is a leaf.
#[inline]
pub fn is_leaf(page: &[u8]) -> bool {
    level(page) == 0
}

/// Number of the index.
#[inline]
pub fn index_id(page: &[u8]) -> IndexId {
    IndexId(get_u64(page, INDEX_ID))
}

/// Whether the page has no left sibling.
#[inline]
pub fn is_leftmost(page: &[u8]) -> bool {
    get_u32(page, crate::fil::PREV) == vaquita_base::FIL_NULL
}

/// Sets level and index; a new page gets them once, by logged byte writes of the caller.
pub fn set_level_and_index(page: &mut [u8], level: u16, index: IndexId) {
    put_u16(page, LEVEL, level);
    put_u64(page, INDEX_ID, index.get());
}

/// Page offset of directory slot `n`.
#[inline]
pub(crate) const fn slot_at(page_len: usize, n: usize) -> usize {
    page_len - crate::fil::TRAILER_SIZE - SLOT_LEN * (n + 1)
}

/// The record of slot `n`.
#[inline]
pub(crate) fn slot(page: &[u8], n: usize) -> u16 {
    get_u16(page, slot_at(page.len(), n))
}

#[inline]
pub(crate) fn set_slot(page: &mut [u8], n: usize, rec: u16) {
    let at = slot_at(page.len(), n);
    put_u16(page, at, rec);
}
