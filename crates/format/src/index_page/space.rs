//! How much fits into a page.
//!
//! Every four records may need a directory slot, so inserting reserves its share of one: what these functions grant
//! always fits, slots included.

use super::header::{SLOT_LEN, garbage, heap_start, heap_top, is_comp, n_heap, n_recs};
use crate::fil::TRAILER_SIZE;

/// Free bytes of an empty page.
#[inline]
pub const fn empty_page_space(page_len: usize, comp: bool) -> usize {
    page_len - heap_start(comp) as usize - TRAILER_SIZE - 2 * SLOT_LEN
}

/// Directory bytes that `n` user records may need beyond those of an empty page.
#[inline]
const fn reserved_directory(n: usize) -> usize {
    (SLOT_LEN * n).div_ceil(4)
}

/// Bytes of records on the page, garbage not counted.
#[inline]
pub fn data_size(page: &[u8]) -> usize {
    heap_used(page).saturating_sub(garbage(page))
}

#[inline]
fn heap_used(page: &[u8]) -> usize {
    heap_top(page).saturating_sub(usize::from(heap_start(is_comp(page))))
}

/// Most bytes that `n` more records may take from the top of the heap.
#[inline]
pub fn max_insert_size(page: &[u8], n: usize) -> usize {
    let records = n + usize::from(n_heap(page)).saturating_sub(2);
    let occupied = heap_used(page) + reserved_directory(records);
    empty_page_space(page.len(), is_comp(page)).saturating_sub(occupied)
}

/// Most bytes that `n` more records may take once the page has been reorganised.
#[inline]
pub fn max_insert_size_after_reorganize(page: &[u8], n: usize) -> usize {
    let occupied = data_size(page) + reserved_directory(n + usize::from(n_recs(page)));
    empty_page_space(page.len(), is_comp(page)).saturating_sub(occupied)
}
