//! Rollback segment headers, on pages of type SYS.
//!
//! | off | size | field |
//! |---|---|---|
//! | 38 | 4 | largest size in pages, FFFFFFFE |
//! | 42 | 4 | pages of the undo logs on the history list |
//! | 46 | 16 | history list base; nodes lie in undo log headers, the newest first |
//! | 62 | 10 | segment header |
//! | 72 | 4 * P/16 | undo slots: first page of an undo segment, `FIL_NULL` for an empty slot |
//!
//! # Invariants
//! - I1: an undo segment that is active, prepared, cached or in the history is in exactly one slot, or, once it only
//!   waits for purge, in none.
//! - I2: the history list is in order of commit, newest at the front; purge works from the back.

use vaquita_base::codec::{get_u32, put_u32};
use vaquita_base::{PageNo, SpaceId};

use crate::fil::{self, PageType};
use crate::flst::{ListBase, SegmentHeader};

/// Header page of rollback segment 0 in a new database.
pub const FIRST_PAGE: PageNo = PageNo(6);
/// Offset of the largest size.
pub const MAX_SIZE: usize = 38;
/// Offset of the size of the history.
pub const HISTORY_SIZE: usize = 42;
/// Offset of the history list base.
pub const HISTORY: usize = 46;
/// Offset of the segment header.
pub const SEGMENT: usize = 62;
/// Offset of the undo slots.
pub const SLOTS: usize = 72;
/// Largest size that 5.6 stores.
pub const MAX_SIZE_VALUE: u32 = 0xFFFF_FFFE;

/// Number of undo slots on a header page of `page_len` bytes.
#[inline]
pub const fn n_slots(page_len: usize) -> usize {
    page_len / 16
}

/// Offset of undo slot `n`.
#[inline]
pub const fn slot_offset(n: usize) -> usize {
    SLOTS + 4 * n
}

/// View of a header page.
#[derive(Clone, Copy)]
pub struct RollbackSegment<'a> {
    page: &'a [u8],
}

impl<'a> RollbackSegment<'a> {
    /// Views a whole header page.
    ///
    /// # Panics
    /// If `page` is shorter than the smallest page of a system tablespace, 4096 bytes.
    #[inline]
    pub fn new(page: &'a [u8]) -> Self {
        assert!(page.len() >= 4096, "a rollback segment header is a whole page");
        Self { page }
    }

    /// Largest size in pages.
    #[inline]
    pub fn max_size(self) -> u32 {
        get_u32(self.page, MAX_SIZE)
    }

    /// Pages of the undo logs on the history list.
    #[inline]
    pub fn history_size(self) -> u32 {
        get_u32(self.page, HISTORY_SIZE)
    }

    /// The history list.
    #[inline]
    pub fn history(self) -> ListBase {
        ListBase::read(self.page, HISTORY)
    }

    /// The segment of the header page.
    #[inline]
    pub fn segment(self) -> SegmentHeader {
        SegmentHeader::read(self.page, SEGMENT)
    }

    /// Number of undo slots.
    #[inline]
    pub fn n_slots(self) -> usize {
        n_slots(self.page.len())
    }

    /// First page of the undo segment in slot `n`, `None` for an empty slot.
    ///
    /// # Panics
    /// If there is no slot `n`.
    #[inline]
    pub fn slot(self, n: usize) -> Option<PageNo> {
        assert!(n < self.n_slots(), "no undo slot {n}");
        PageNo(get_u32(self.page, slot_offset(n))).some()
    }

    /// Every used slot with the first page of its undo segment.
    pub fn used_slots(self) -> impl Iterator<Item = (usize, PageNo)> + 'a {
        (0..self.n_slots()).filter_map(move |n| Some((n, self.slot(n)?)))
    }

    /// The first empty slot.
    pub fn first_empty_slot(self) -> Option<usize> {
        (0..self.n_slots()).find(|&n| self.slot(n).is_none())
    }
}

/// Makes `page` the header page of a rollback segment without undo logs.
///
/// # Panics
/// If `page` is not a whole page.
pub fn init_page(page: &mut [u8], space: SpaceId, no: PageNo, segment: SegmentHeader) {
    fil::init(page, space, no);
    fil::set_page_type(page, PageType::Sys);
    put_u32(page, MAX_SIZE, MAX_SIZE_VALUE);
    page[HISTORY..SEGMENT].copy_from_slice(&ListBase::EMPTY.encode());
    page[SEGMENT..SLOTS].copy_from_slice(&segment.encode());
    let end = slot_offset(n_slots(page.len()));
    page[SLOTS..end].fill(0xFF);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flst::FileAddress;

    #[test]
    fn a_new_header_has_the_documented_bytes() {
        let mut page = vec![0u8; 16384];
        let segment = SegmentHeader { space: SpaceId(0), inode: FileAddress::new(PageNo(2), 434) };
        init_page(&mut page, SpaceId(0), PageNo(6), segment);
        assert_eq!(page[24..26], [0, 6]);
        assert_eq!(
            page[38..74],
            [
                0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0xff, 0xff,
                0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0x01, 0xb2, 0xff, 0xff
            ]
        );
        assert!(page[72..72 + 4096].iter().all(|&b| b == 0xff) && page[72 + 4096] == 0);
        let rseg = RollbackSegment::new(&page);
        assert_eq!((rseg.max_size(), rseg.history_size()), (MAX_SIZE_VALUE, 0));
        assert_eq!((rseg.history(), rseg.segment(), rseg.n_slots()), (ListBase::EMPTY, segment, 1024));
        assert_eq!((rseg.used_slots().count(), rseg.first_empty_slot()), (0, Some(0)));
        put_u32(&mut page, slot_offset(0), 301);
        let rseg = RollbackSegment::new(&page);
        assert_eq!(rseg.used_slots().collect::<Vec<_>>(), [(0, PageNo(301))]);
        assert_eq!(rseg.first_empty_slot(), Some(1));
    }
}
