//! The space header on page 0. The same area is zero on the other descriptor pages.
//!
//! | page off | size | field |
//! |---|---|---|
//! | 38 | 4 | space id |
//! | 42 | 4 | unused, 0 |
//! | 46 | 4 | size in pages |
//! | 50 | 4 | free limit: pages at or above it have no descriptor yet; a multiple of the extent |
//! | 54 | 4 | flags, see [`crate::flags`] |
//! | 58 | 4 | used pages in the extents of the FREE_FRAG list |
//! | 62 | 16 | FREE: extents of nobody |
//! | 78 | 16 | FREE_FRAG: extents shared by fragments, with room |
//! | 94 | 16 | FULL_FRAG: the same, full |
//! | 110 | 8 | next segment id, from 1 |
//! | 118 | 16 | SEG_INODES_FULL: inode pages without a free inode |
//! | 134 | 16 | SEG_INODES_FREE: inode pages with one |
//! | 150 | | extent descriptors, see [`super::xdes`] |
//!
//! # Invariants
//! - I1: the file holds at least `size` pages; it may hold more.
//! - I2: the used-page count covers FREE_FRAG alone, not FULL_FRAG.

use vaquita_base::codec::{get_u32, get_u64, put_u32, put_u64};
use vaquita_base::{PageNo, SegmentId, SpaceId};

use crate::fil::{self, PageType};
use crate::flags::SpaceFlags;
use crate::flst::{BASE_SIZE, ListBase};
use crate::{Corruption, PageSize, Result};

/// Offset of the space id.
pub const SPACE_ID: usize = 38;
/// Offset of the size in pages.
pub const SIZE: usize = 46;
/// Offset of the free limit.
pub const FREE_LIMIT: usize = 50;
/// Offset of the space flags.
pub const FLAGS: usize = 54;
/// Offset of the count of used pages in FREE_FRAG extents.
pub const FRAG_N_USED: usize = 58;
/// Offset of the list of free extents.
pub const FREE: usize = 62;
/// Offset of the list of fragment extents with room.
pub const FREE_FRAG: usize = 78;
/// Offset of the list of full fragment extents.
pub const FULL_FRAG: usize = 94;
/// Offset of the next segment id.
pub const NEXT_SEGMENT_ID: usize = 110;
/// Offset of the list of full inode pages.
pub const INODES_FULL: usize = 118;
/// Offset of the list of inode pages with room.
pub const INODES_FREE: usize = 134;
/// End of the header.
pub const END: usize = 150;
/// Bytes of the header.
pub const HEADER_SIZE: usize = END - SPACE_ID;

/// All fields of the space header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceHeader {
    /// The tablespace.
    pub space: SpaceId,
    /// Size in pages.
    pub size: u32,
    /// Pages at or above it have no descriptor yet.
    pub free_limit: u32,
    /// Flags as stored.
    pub flags: u32,
    /// Used pages in the extents of `free_frag`.
    pub frag_n_used: u32,
    /// Extents of nobody.
    pub free: ListBase,
    /// Fragment extents with room.
    pub free_frag: ListBase,
    /// Fragment extents without.
    pub full_frag: ListBase,
    /// Next segment id to give away.
    pub next_segment_id: SegmentId,
    /// Inode pages without a free inode.
    pub inodes_full: ListBase,
    /// Inode pages with one.
    pub inodes_free: ListBase,
}

impl SpaceHeader {
    /// Header of a tablespace without extents and segments.
    pub fn new(space: SpaceId, flags: SpaceFlags, size: u32) -> Self {
        Self {
            space,
            size,
            free_limit: 0,
            flags: flags.encode(),
            frag_n_used: 0,
            free: ListBase::EMPTY,
            free_frag: ListBase::EMPTY,
            full_frag: ListBase::EMPTY,
            next_segment_id: SegmentId(1),
            inodes_full: ListBase::EMPTY,
            inodes_free: ListBase::EMPTY,
        }
    }

    /// Reads the header of page 0.
    ///
    /// # Panics
    /// If `page` is shorter than the header.
    pub fn read(page: &[u8]) -> Self {
        Self {
            space: SpaceId(get_u32(page, SPACE_ID)),
            size: get_u32(page, SIZE),
            free_limit: get_u32(page, FREE_LIMIT),
            flags: get_u32(page, FLAGS),
            frag_n_used: get_u32(page, FRAG_N_USED),
            free: ListBase::read(page, FREE),
            free_frag: ListBase::read(page, FREE_FRAG),
            full_frag: ListBase::read(page, FULL_FRAG),
            next_segment_id: SegmentId(get_u64(page, NEXT_SEGMENT_ID)),
            inodes_full: ListBase::read(page, INODES_FULL),
            inodes_free: ListBase::read(page, INODES_FREE),
        }
    }

    /// The stored form, from offset [`SPACE_ID`] on.
    pub fn encode(&self) -> [u8; HEADER_SIZE] {
        let mut page = [0u8; END];
        put_u32(&mut page, SPACE_ID, self.space.get());
        put_u32(&mut page, SIZE, self.size);
        put_u32(&mut page, FREE_LIMIT, self.free_limit);
        put_u32(&mut page, FLAGS, self.flags);
        put_u32(&mut page, FRAG_N_USED, self.frag_n_used);
        put_u64(&mut page, NEXT_SEGMENT_ID, self.next_segment_id.get());
        for (at, list) in [
            (FREE, self.free),
            (FREE_FRAG, self.free_frag),
            (FULL_FRAG, self.full_frag),
            (INODES_FULL, self.inodes_full),
            (INODES_FREE, self.inodes_free),
        ] {
            page[at..at + BASE_SIZE].copy_from_slice(&list.encode());
        }
        let mut out = [0u8; HEADER_SIZE];
        out.copy_from_slice(&page[SPACE_ID..]);
        out
    }

    /// Checks what can be checked on page 0 alone, and gives the decoded flags.
    ///
    /// # Errors
    /// [`Corruption`] naming the field.
    pub fn check(&self) -> Result<SpaceFlags> {
        let flags = SpaceFlags::decode(self.flags).map_err(|e| e.at(FLAGS))?;
        let extent = flags.page_size().extent_pages();
        if !self.free_limit.is_multiple_of(extent) {
            let detail = format!("{} is not a multiple of {extent}", self.free_limit);
            return Err(Corruption::new("free limit", detail).at(FREE_LIMIT));
        }
        for (at, list) in [
            (FREE, self.free),
            (FREE_FRAG, self.free_frag),
            (FULL_FRAG, self.full_frag),
            (INODES_FULL, self.inodes_full),
            (INODES_FREE, self.inodes_free),
        ] {
            if !list.is_plausible() {
                return Err(Corruption::new("list base of the space header", format!("{list:?}")).at(at));
            }
        }
        Ok(flags)
    }
}

/// Reads the flags of page 0, and with them the page size of the tablespace.
///
/// # Errors
/// [`Corruption`] if `page` ends before the flags, or they are illegal.
pub fn read_flags(page: &[u8]) -> Result<SpaceFlags> {
    if page.len() < FLAGS + 4 {
        return Err(Corruption::new("length", format!("page 0 has {} bytes", page.len())).at(FLAGS));
    }
    SpaceFlags::decode(get_u32(page, FLAGS)).map_err(|e| e.at(FLAGS))
}

/// Makes `page` the first page of a new tablespace: header without extents, no checksum, LSN 0.
///
/// # Panics
/// If `page` is not a page of the size in `header.flags`.
pub fn init_page(page: &mut [u8], header: &SpaceHeader) {
    fil::init(page, header.space, PageNo(0));
    fil::set_page_type(page, PageType::FspHdr);
    page[SPACE_ID..END].copy_from_slice(&header.encode());
}

/// Makes `page` a later descriptor page; its descriptors are those of extents not yet initialised.
///
/// # Panics
/// If `page` is shorter than the page header.
pub fn init_xdes_page(page: &mut [u8], space: SpaceId, no: PageNo, size: PageSize) {
    debug_assert!(super::is_descriptor_page(size, no) && no.get() != 0);
    fil::init(page, space, no);
    fil::set_page_type(page, PageType::Xdes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flst::FileAddress;

    #[test]
    fn fields_lie_where_the_table_says() {
        let flags = SpaceFlags::decode(0x21).unwrap();
        let mut page = vec![0u8; 16384];
        let node = FileAddress::new(PageNo(0), 158);
        let header = SpaceHeader {
            free_limit: 64,
            frag_n_used: 5,
            free_frag: ListBase::single(node),
            next_segment_id: SegmentId(5),
            inodes_free: ListBase::single(FileAddress::new(PageNo(2), 38)),
            ..SpaceHeader::new(SpaceId(7), flags, 7)
        };
        init_page(&mut page, &header);
        assert_eq!(page[4..8], [0; 4]);
        assert_eq!(page[24..26], [0, 8]);
        assert_eq!(
            page[34..62],
            [0, 0, 0, 7, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 64, 0, 0, 0, 0x21, 0, 0, 0, 5]
        );
        assert_eq!(page[78..94], [0, 0, 0, 1, 0, 0, 0, 0, 0, 158, 0, 0, 0, 0, 0, 158]);
        assert_eq!(page[110..118], [0, 0, 0, 0, 0, 0, 0, 5]);
        assert_eq!(page[134..150], [0, 0, 0, 1, 0, 0, 0, 2, 0, 38, 0, 0, 0, 2, 0, 38]);
        assert_eq!(SpaceHeader::read(&page), header);
        assert_eq!(header.check(), Ok(flags));
    }

    #[test]
    fn broken_headers_are_named() {
        let good = SpaceHeader::new(SpaceId(7), SpaceFlags::default(), 6);
        assert!(good.check().is_ok());
        assert_eq!(SpaceHeader { flags: 1, ..good }.check().unwrap_err().check, "space flags");
        assert_eq!(SpaceHeader { free_limit: 65, ..good }.check().unwrap_err().check, "free limit");
        let free = ListBase { len: 3, ..ListBase::EMPTY };
        assert_eq!(SpaceHeader { free, ..good }.check().unwrap_err().offset, Some(FREE));
        assert!(read_flags(&[0; 57]).is_err());
    }
}
