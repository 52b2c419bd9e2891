//! Segment inodes, on pages of type INODE.
//!
//! | page off | size | field |
//! |---|---|---|
//! | 38 | 12 | node for the list of full inode pages, or of those with room |
//! | 50 | n * inode size | inodes |
//!
//! | + | size | field of an inode |
//! |---|---|---|
//! | 0 | 8 | segment id; 0: the slot is free |
//! | 8 | 4 | used pages in the extents of the NOT_FULL list |
//! | 12 | 16 | FREE: extents of the segment without a used page |
//! | 28 | 16 | NOT_FULL |
//! | 44 | 16 | FULL |
//! | 60 | 4 | magic 97937874 |
//! | 64 | 4 * slots | fragment pages, `FIL_NULL` for an empty slot |
//!
//! # Invariants
//! - I1: an inode with id 0 is free whatever else it holds.
//! - I2: an inode page is on the "full" list exactly when all its inodes are used; without any used it is freed.

use vaquita_base::codec::{get_u32, get_u64, put_u32, put_u64};
use vaquita_base::{PageNo, SegmentId, SpaceId};

use crate::fil::{self, PageType};
use crate::flst::{BASE_SIZE, FileAddress, ListBase, ListNode, NODE_SIZE};
use crate::{Corruption, PageSize, Result};

/// Offset of the list node on an inode page.
pub const PAGE_NODE: usize = fil::BODY;
/// Offset of the first inode on an inode page.
pub const FIRST: usize = PAGE_NODE + NODE_SIZE;
/// Offset of the segment id in an inode.
pub const SEGMENT_ID: usize = 0;
/// Offset of the count of used pages in NOT_FULL extents.
pub const NOT_FULL_N_USED: usize = 8;
/// Offset of the list of unused extents.
pub const FREE: usize = 12;
/// Offset of the list of partly used extents.
pub const NOT_FULL: usize = 28;
/// Offset of the list of full extents.
pub const FULL: usize = 44;
/// Offset of the magic number.
pub const MAGIC: usize = 60;
/// Offset of the fragment slots.
pub const FRAGMENTS: usize = 64;
/// What every used inode holds at [`MAGIC`].
pub const MAGIC_VALUE: u32 = 97_937_874;

/// Largest inode: 128 fragment slots.
const SIZE_MAX: usize = FRAGMENTS + 4 * 128;

/// Offset of inode `slot` on its page.
#[inline]
pub const fn offset(size: PageSize, slot: usize) -> usize {
    FIRST + slot * size.inode_size()
}

/// Which inode of its page lies at `offset`, if one does.
#[inline]
pub const fn slot_at(size: PageSize, offset: u16) -> Option<usize> {
    let Some(at) = (offset as usize).checked_sub(FIRST) else { return None };
    let slot = at / size.inode_size();
    if at.is_multiple_of(size.inode_size()) && slot < size.inodes_per_page() { Some(slot) } else { None }
}

/// Offset of fragment slot `n` in an inode.
#[inline]
pub const fn fragment_offset(n: usize) -> usize {
    FRAGMENTS + 4 * n
}

/// View of one inode.
#[derive(Clone, Copy)]
pub struct Inode<'a> {
    bytes: &'a [u8],
}

impl<'a> Inode<'a> {
    /// Inode `slot` of an inode page.
    ///
    /// # Panics
    /// If `page` is not a page of this size or has no such slot.
    #[inline]
    pub fn of(size: PageSize, page: &'a [u8], slot: usize) -> Self {
        let at = offset(size, slot);
        Self { bytes: &page[at..at + size.inode_size()] }
    }

    /// The used inode a segment header points at.
    ///
    /// # Errors
    /// [`Corruption`] if no inode lies at `offset` of `page`, or it is free, or lacks the magic number.
    pub fn at(size: PageSize, page: &'a [u8], offset: u16) -> Result<Self> {
        let slot = slot_at(size, offset).filter(|_| page.len() == size.physical());
        let slot = slot.ok_or_else(|| {
            Corruption::new("address of a segment inode", format!("no inode lies at offset {offset}"))
        })?;
        let inode = Self::of(size, page, slot);
        if inode.is_free() {
            return Err(Corruption::new("segment inode", "the slot is free").at(offset.into()));
        }
        inode.check_magic().map_err(|e| e.at(usize::from(offset) + MAGIC))?;
        Ok(inode)
    }

    /// Whether the slot holds no segment.
    #[inline]
    pub fn is_free(self) -> bool {
        self.segment_id().get() == 0
    }

    /// The segment.
    #[inline]
    pub fn segment_id(self) -> SegmentId {
        SegmentId(get_u64(self.bytes, SEGMENT_ID))
    }

    /// Used pages in the extents of the NOT_FULL list.
    #[inline]
    pub fn not_full_n_used(self) -> u32 {
        get_u32(self.bytes, NOT_FULL_N_USED)
    }

    /// Extents without a used page.
    #[inline]
    pub fn free(self) -> ListBase {
        ListBase::read(self.bytes, FREE)
    }

    /// Partly used extents.
    #[inline]
    pub fn not_full(self) -> ListBase {
        ListBase::read(self.bytes, NOT_FULL)
    }

    /// Full extents.
    #[inline]
    pub fn full(self) -> ListBase {
        ListBase::read(self.bytes, FULL)
    }

    /// Number of fragment slots.
    #[inline]
    pub fn n_fragment_slots(self) -> usize {
        (self.bytes.len() - FRAGMENTS) / 4
    }

    /// Page in fragment slot `n`, `None` if empty.
    ///
    /// # Panics
    /// If there is no slot `n`.
    #[inline]
    pub fn fragment(self, n: usize) -> Option<PageNo> {
        PageNo(get_u32(self.bytes, fragment_offset(n))).some()
    }

    /// Every fragment page.
    pub fn fragments(self) -> impl Iterator<Item = PageNo> + 'a {
        (0..self.n_fragment_slots()).filter_map(move |n| self.fragment(n))
    }

    /// The first empty fragment slot.
    pub fn first_empty_fragment(self) -> Option<usize> {
        (0..self.n_fragment_slots()).find(|&n| self.fragment(n).is_none())
    }

    /// The slot that holds `page`.
    pub fn find_fragment(self, page: PageNo) -> Option<usize> {
        (0..self.n_fragment_slots()).find(|&n| self.fragment(n) == Some(page))
    }

    /// Pages reserved for the segment and pages it uses.
    pub fn reserved_and_used(self, size: PageSize) -> (u64, u64) {
        let extent = u64::from(size.extent_pages());
        let fragments = self.fragments().count() as u64;
        let (free, not_full, full) = (self.free().len, self.not_full().len, self.full().len);
        let reserved = fragments + extent * (u64::from(free) + u64::from(not_full) + u64::from(full));
        (reserved, fragments + extent * u64::from(full) + u64::from(self.not_full_n_used()))
    }

    /// Checks the magic number of a used inode.
    ///
    /// # Errors
    /// [`Corruption`] with the number found.
    pub fn check_magic(self) -> Result<()> {
        let magic = get_u32(self.bytes, MAGIC);
        if magic == MAGIC_VALUE {
            return Ok(());
        }
        Err(Corruption::new(
            "segment inode magic",
            format!("found {magic:#010x}, expected {MAGIC_VALUE:#010x}"),
        ))
    }
}

/// The first free inode slot of a page.
///
/// # Panics
/// If `page` is not a page of this size.
pub fn find_free_slot(size: PageSize, page: &[u8]) -> Option<usize> {
    (0..size.inodes_per_page()).find(|&slot| Inode::of(size, page, slot).is_free())
}

/// Number of used inodes of a page.
///
/// # Panics
/// If `page` is not a page of this size.
pub fn n_used(size: PageSize, page: &[u8]) -> usize {
    (0..size.inodes_per_page()).filter(|&slot| !Inode::of(size, page, slot).is_free()).count()
}

/// Address of the list node of an inode page.
#[inline]
pub const fn page_node_address(page: PageNo) -> FileAddress {
    FileAddress::new(page, PAGE_NODE as u16)
}

/// Inode of a segment without pages. The bytes after `size.inode_size()` are not part of it.
pub fn encode_new(size: PageSize, id: SegmentId) -> ([u8; SIZE_MAX], usize) {
    let mut out = [0u8; SIZE_MAX];
    put_u64(&mut out, SEGMENT_ID, id.get());
    for at in [FREE, NOT_FULL, FULL] {
        out[at..at + BASE_SIZE].copy_from_slice(&ListBase::EMPTY.encode());
    }
    put_u32(&mut out, MAGIC, MAGIC_VALUE);
    out[FRAGMENTS..size.inode_size()].fill(0xFF);
    (out, size.inode_size())
}

/// Makes `page` an inode page without segments, in no list.
///
/// # Panics
/// If `page` is shorter than the page header.
pub fn init_page(page: &mut [u8], space: SpaceId, no: PageNo) {
    fil::init(page, space, no);
    fil::set_page_type(page, PageType::Inode);
    page[PAGE_NODE..FIRST].copy_from_slice(&ListNode::ALONE.encode());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inode_of_the_reference() {
        let size = PageSize::DEFAULT;
        let mut page = vec![0u8; 16384];
        init_page(&mut page, SpaceId(9), PageNo(2));
        let (bytes, len) = encode_new(size, SegmentId(1));
        page[50..50 + len].copy_from_slice(&bytes[..len]);
        put_u32(&mut page, 50 + fragment_offset(0), 3);
        let mut want = vec![0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        for _ in 0..3 {
            want.extend([0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0]);
        }
        want.extend([0x05, 0xd6, 0x69, 0xd2, 0, 0, 0, 3]);
        want.resize(192, 0xff);
        assert_eq!(page[50..242], want);

        let inode = Inode::at(size, &page, 50).unwrap();
        assert_eq!((inode.segment_id(), inode.not_full_n_used()), (SegmentId(1), 0));
        assert_eq!(inode.fragments().collect::<Vec<_>>(), [PageNo(3)]);
        assert_eq!((inode.first_empty_fragment(), inode.find_fragment(PageNo(3))), (Some(1), Some(0)));
        assert_eq!(
            (inode.free(), inode.not_full(), inode.full()),
            (ListBase::EMPTY, ListBase::EMPTY, ListBase::EMPTY)
        );
        assert_eq!(inode.reserved_and_used(size), (1, 1));
        assert_eq!((find_free_slot(size, &page), n_used(size, &page)), (Some(1), 1));
        for bad in [0, 38, 49, 51, 242, 50 + 85 * 192, u16::MAX] {
            assert!(Inode::at(size, &page, bad).is_err(), "{bad}");
        }
        page[50 + MAGIC] = 0;
        assert_eq!(Inode::at(size, &page, 50).err().unwrap().check, "segment inode magic");
    }

    #[test]
    fn slots_and_offsets_are_inverse() {
        for size in [
            PageSize::DEFAULT,
            PageSize::new(4096).unwrap(),
            PageSize::new(65536).unwrap(),
            PageSize::compressed(16384, 1024).unwrap(),
        ] {
            for slot in 0..size.inodes_per_page() {
                assert_eq!(slot_at(size, offset(size, slot) as u16), Some(slot));
            }
            assert!(offset(size, size.inodes_per_page()) <= size.physical() - 8);
        }
    }
}
