//! Extent descriptors, from offset 150 of each descriptor page.
//!
//! | + | size | field |
//! |---|---|---|
//! | 0 | 8 | id of the segment that owns the extent, 0 if none |
//! | 8 | 12 | node of the list the extent is on |
//! | 20 | 4 | state: 0 not initialised, 1 FREE, 2 FREE_FRAG, 3 FULL_FRAG, 4 FSEG |
//! | 24 | pages/4 | two bits per page, least significant first: free, clean (unused, always 1) |
//!
//! # Invariants
//! - I1: a FREE extent has every bit set; the FREE list is made of FREE extents, and so on for each state.
//! - I2: list addresses point at the node, 8 bytes into the descriptor.

use vaquita_base::codec::{get_u32, get_u64, put_u32, put_u64};
use vaquita_base::{PageNo, SegmentId};

use super::{descriptor_page, header};
use crate::flst::{FileAddress, ListNode, NODE_SIZE};
use crate::{Corruption, PageSize, Result};

/// Offset of the first descriptor on its page.
pub const FIRST: usize = header::END;
/// Offset of the owner in a descriptor.
pub const SEGMENT_ID: usize = 0;
/// Offset of the list node in a descriptor.
pub const NODE: usize = 8;
/// Offset of the state in a descriptor.
pub const STATE: usize = 20;
/// Offset of the bitmap in a descriptor.
pub const BITMAP: usize = 24;

/// Largest bitmap: extents of 256 pages.
const BITMAP_MAX: usize = 64;

/// What an extent is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum ExtentState {
    /// Above the free limit: never described.
    NotInitialised = 0,
    /// Nobody's, on the FREE list.
    Free = 1,
    /// Shared by fragments, with room.
    FreeFrag = 2,
    /// Shared by fragments, full.
    FullFrag = 3,
    /// A segment's.
    Segment = 4,
}

impl ExtentState {
    /// The state of a stored number.
    pub const fn from_u32(n: u32) -> Option<ExtentState> {
        Some(match n {
            0 => ExtentState::NotInitialised,
            1 => ExtentState::Free,
            2 => ExtentState::FreeFrag,
            3 => ExtentState::FullFrag,
            4 => ExtentState::Segment,
            _ => return None,
        })
    }

    /// The stored number.
    #[inline]
    pub const fn as_u32(self) -> u32 {
        self as u32
    }
}

/// Offset, on its descriptor page, of the descriptor of the extent that holds `page`.
#[inline]
pub const fn offset(size: PageSize, page: PageNo) -> usize {
    let extent = page.0 % size.pages_per_xdes_page() / size.extent_pages();
    FIRST + extent as usize * size.xdes_size()
}

/// Address of the list node of the extent that holds `page`.
#[inline]
pub const fn node_address(size: PageSize, page: PageNo) -> FileAddress {
    FileAddress::new(descriptor_page(size, page), (offset(size, page) + NODE) as u16)
}

/// First page of the extent whose list node lies at `node`.
///
/// # Errors
/// [`Corruption`] if no descriptor's node lies there.
pub fn extent_of_node(size: PageSize, node: FileAddress) -> Result<PageNo> {
    let bad = || Corruption::new("address of an extent descriptor", format!("{node}"));
    let at = usize::from(node.offset).checked_sub(FIRST + NODE).ok_or_else(bad)?;
    let (entry, rest) = (at / size.xdes_size(), at % size.xdes_size());
    let extent_in_range = entry as u32 * size.extent_pages();
    if node.is_null()
        || !super::is_descriptor_page(size, node.page)
        || rest != 0
        || extent_in_range >= size.pages_per_xdes_page()
    {
        return Err(bad());
    }
    node.page.get().checked_add(extent_in_range).map(PageNo).ok_or_else(bad)
}

/// View of one descriptor.
#[derive(Clone, Copy)]
pub struct Xdes<'a> {
    bytes: &'a [u8],
}

impl<'a> Xdes<'a> {
    /// The descriptor of the extent that holds `page`, on its descriptor page.
    ///
    /// # Panics
    /// If `descriptor_page` is not a page of this size.
    #[inline]
    pub fn of(size: PageSize, descriptor_page: &'a [u8], page: PageNo) -> Self {
        let at = offset(size, page);
        Self { bytes: &descriptor_page[at..at + size.xdes_size()] }
    }

    /// Owner.
    #[inline]
    pub fn segment_id(self) -> SegmentId {
        SegmentId(get_u64(self.bytes, SEGMENT_ID))
    }

    /// List node.
    #[inline]
    pub fn node(self) -> ListNode {
        ListNode::read(self.bytes, NODE)
    }

    /// State.
    ///
    /// # Errors
    /// [`Corruption`] for a number that is no state.
    #[inline]
    pub fn state(self) -> Result<ExtentState> {
        let n = get_u32(self.bytes, STATE);
        ExtentState::from_u32(n)
            .ok_or_else(|| Corruption::new("extent state", format!("{n} is not a state")).at(STATE))
    }

    /// The bitmap.
    #[inline]
    pub fn bitmap(self) -> Bitmap<'a> {
        Bitmap { bytes: &self.bytes[BITMAP..] }
    }
}

/// View of a descriptor's bitmap. Pages are counted from the extent's first.
#[derive(Clone, Copy)]
pub struct Bitmap<'a> {
    bytes: &'a [u8],
}

impl Bitmap<'_> {
    /// Pages in the extent.
    #[inline]
    pub fn pages(self) -> u32 {
        self.bytes.len() as u32 * 4
    }

    /// Whether page `j` is free. Pages beyond the extent are not.
    #[inline]
    pub fn is_free(self, j: u32) -> bool {
        self.bytes.get(j as usize / 4).is_some_and(|b| b >> (j % 4 * 2) & 1 != 0)
    }

    /// Number of used pages.
    pub fn n_used(self) -> u32 {
        let free: u32 = self.bytes.iter().map(|b| (b & 0x55).count_ones()).sum();
        self.pages() - free
    }

    /// Whether no page is free.
    #[inline]
    pub fn is_full(self) -> bool {
        self.n_used() == self.pages()
    }

    /// Whether every page is free.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.n_used() == 0
    }

    /// The first free page at or after `hint`, wrapping around.
    pub fn find_free(self, hint: u32) -> Option<u32> {
        let hint = hint % self.pages().max(1);
        (hint..self.pages()).chain(0..hint).find(|&j| self.is_free(j))
    }

    /// The byte that marks page `j` free or used: its offset in the descriptor and its new value.
    ///
    /// # Panics
    /// If `j` is not a page of the extent.
    #[inline]
    pub fn with_free(self, j: u32, free: bool) -> (usize, u8) {
        let (at, mask) = (j as usize / 4, 1u8 << (j % 4 * 2));
        let byte = self.bytes[at];
        (BITMAP + at, if free { byte | mask } else { byte & !mask })
    }
}

/// Descriptor of an extent with this state and owner, in no list, all pages free. The bytes after
/// `size.xdes_size()` are not part of it.
pub fn encode_empty(
    size: PageSize,
    state: ExtentState,
    owner: SegmentId,
) -> ([u8; BITMAP + BITMAP_MAX], usize) {
    let mut out = [0u8; BITMAP + BITMAP_MAX];
    put_u64(&mut out, SEGMENT_ID, owner.get());
    out[NODE..NODE + NODE_SIZE].copy_from_slice(&ListNode::ALONE.encode());
    put_u32(&mut out, STATE, state.as_u32());
    out[BITMAP..size.xdes_size()].fill(0xFF);
    (out, size.xdes_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entry 0 of a new table with two indexes, from the reference.
    #[test]
    fn descriptor_of_the_reference() {
        let mut page = vec![0u8; 16384];
        let (mut entry, len) = encode_empty(PageSize::DEFAULT, ExtentState::FreeFrag, SegmentId(0));
        assert_eq!(len, 40);
        for j in 0..5 {
            page[150..190].copy_from_slice(&entry[..40]);
            let x = Xdes::of(PageSize::DEFAULT, &page, PageNo(0));
            assert_eq!((x.bitmap().n_used(), x.bitmap().find_free(0)), (j, Some(j)));
            let (at, byte) = x.bitmap().with_free(j, false);
            entry[at] = byte;
        }
        let mut want = vec![0u8; 8];
        want.extend([0xff, 0xff, 0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 2, 0xaa, 0xfe]);
        want.resize(40, 0xff);
        assert_eq!(entry[..40], want);
        page[150..190].copy_from_slice(&want);
        let x = Xdes::of(PageSize::DEFAULT, &page, PageNo(63));
        assert_eq!(
            (x.state(), x.segment_id(), x.node()),
            (Ok(ExtentState::FreeFrag), SegmentId(0), ListNode::ALONE)
        );
        assert_eq!(x.bitmap().n_used(), 5);
        assert_eq!(x.bitmap().find_free(4), Some(5));
        assert_eq!(x.bitmap().find_free(63), Some(63));
        assert_eq!(x.bitmap().with_free(4, true), (25, 0xff));
        assert!(!x.bitmap().is_free(64) && !x.bitmap().is_full() && !x.bitmap().is_empty());
    }

    #[test]
    fn addresses_and_extents_are_inverse() {
        for size in [
            PageSize::DEFAULT,
            PageSize::new(4096).unwrap(),
            PageSize::new(8192).unwrap(),
            PageSize::new(32768).unwrap(),
            PageSize::new(65536).unwrap(),
            PageSize::compressed(16384, 1024).unwrap(),
            PageSize::compressed(4096, 1024).unwrap(),
        ] {
            for extent in 0..3 * size.pages_per_xdes_page() / size.extent_pages() {
                let first = PageNo(extent * size.extent_pages());
                let last = PageNo(first.get() + size.extent_pages() - 1);
                let node = node_address(size, first);
                assert_eq!(node_address(size, last), node);
                assert_eq!(extent_of_node(size, node), Ok(first));
                assert!(offset(size, last) + size.xdes_size() <= size.physical() - 8, "{size:?}");
                let off = FileAddress::new(node.page, node.offset + 1);
                assert!(extent_of_node(size, off).is_err());
            }
        }
        for bad in [FileAddress::NULL, FileAddress::new(PageNo(3), 158), FileAddress::new(PageNo(0), 150)] {
            assert!(extent_of_node(PageSize::DEFAULT, bad).is_err());
        }
        // Behind the last descriptor of the page.
        let behind = FileAddress::new(PageNo(0), (158 + 256 * 40) as u16);
        assert!(extent_of_node(PageSize::DEFAULT, behind).is_err());
    }

    #[test]
    fn states() {
        for n in 0..5 {
            assert_eq!(ExtentState::from_u32(n).unwrap().as_u32(), n);
        }
        assert_eq!(ExtentState::from_u32(5), None);
        let mut page = vec![0u8; 16384];
        page[150 + 40 + 23] = 9;
        assert!(Xdes::of(PageSize::DEFAULT, &page, PageNo(64)).state().is_err());
    }
}
