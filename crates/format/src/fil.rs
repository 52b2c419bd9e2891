//! The 38-byte header in front of every page and the 8-byte trailer behind it.
//!
//! | off | size | field |
//! |---|---|---|
//! | 0 | 4 | checksum (see [`crate::checksum`]) |
//! | 4 | 4 | page number within the tablespace |
//! | 8 | 4 | previous page: left sibling in a tree level, or `FIL_NULL`; 0 where it has no meaning |
//! | 12 | 4 | next page, same rules; next page of the chain on ZBLOB pages |
//! | 16 | 8 | LSN of the newest change |
//! | 24 | 2 | page type |
//! | 26 | 8 | flush LSN: on page 0 of system data files only, the LSN of the last clean shutdown |
//! | 34 | 4 | space id |
//! | size-8 | 4 | old checksum (pages of uncompressed tablespaces only) |
//! | size-4 | 4 | low half of the LSN (likewise) |
//!
//! # Invariants
//! - I1: the low half of the LSN at 16 equals the trailer's; a page for which it does not was torn while written.
//! - I2: the page number equals the page's position in the tablespace.
//!
//! The accessors index the page at constant offsets: the caller has a whole page in its hands.

use std::fmt;

use vaquita_base::codec::{get_u16, get_u32, get_u64, put_u16, put_u32, put_u64};
use vaquita_base::{Lsn, PageNo, SpaceId};

use crate::PageSize;

/// Offset of the checksum.
pub const CHECKSUM: usize = 0;
/// Offset of the page number.
pub const PAGE_NO: usize = 4;
/// Offset of the previous page's number.
pub const PREV: usize = 8;
/// Offset of the next page's number.
pub const NEXT: usize = 12;
/// Offset of the LSN of the newest change.
pub const LSN: usize = 16;
/// Offset of the page type.
pub const TYPE: usize = 24;
/// Offset of the flush LSN.
pub const FLUSH_LSN: usize = 26;
/// Offset of the space id.
pub const SPACE_ID: usize = 34;
/// Offset of the page body, which is the size of the header.
pub const BODY: usize = 38;
/// Bytes of the trailer.
pub const TRAILER_SIZE: usize = 8;

/// What a page holds. The type of a freed page stays as it was: trust lists and bitmaps first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum PageType {
    /// Allocated and not yet used for anything.
    Allocated = 0,
    /// Undo log page.
    UndoLog = 2,
    /// Segment inodes.
    Inode = 3,
    /// Free page of the change buffer's tree.
    IbufFreeList = 4,
    /// Change buffer bitmap.
    IbufBitmap = 5,
    /// System page: rollback segment header, dictionary header, change buffer header.
    Sys = 6,
    /// Transaction system header.
    TrxSys = 7,
    /// Space header and first extent descriptors: page 0.
    FspHdr = 8,
    /// Further extent descriptors.
    Xdes = 9,
    /// Off-page column data, uncompressed.
    Blob = 10,
    /// First page of a compressed off-page column.
    ZBlob = 11,
    /// Following page of a compressed off-page column.
    ZBlob2 = 12,
    /// Page of an index tree.
    Index = 17855,
}

impl PageType {
    /// The type of a stored number; `None` for numbers that MySQL 5.6 does not know.
    pub const fn from_u16(n: u16) -> Option<PageType> {
        Some(match n {
            0 => PageType::Allocated,
            2 => PageType::UndoLog,
            3 => PageType::Inode,
            4 => PageType::IbufFreeList,
            5 => PageType::IbufBitmap,
            6 => PageType::Sys,
            7 => PageType::TrxSys,
            8 => PageType::FspHdr,
            9 => PageType::Xdes,
            10 => PageType::Blob,
            11 => PageType::ZBlob,
            12 => PageType::ZBlob2,
            17855 => PageType::Index,
            _ => return None,
        })
    }

    /// The stored number.
    #[inline]
    pub const fn as_u16(self) -> u16 {
        self as u16
    }

    /// The name used in documentation and page dumps.
    pub const fn name(self) -> &'static str {
        match self {
            PageType::Allocated => "ALLOCATED",
            PageType::UndoLog => "UNDO_LOG",
            PageType::Inode => "INODE",
            PageType::IbufFreeList => "IBUF_FREE_LIST",
            PageType::IbufBitmap => "IBUF_BITMAP",
            PageType::Sys => "SYS",
            PageType::TrxSys => "TRX_SYS",
            PageType::FspHdr => "FSP_HDR",
            PageType::Xdes => "XDES",
            PageType::Blob => "BLOB",
            PageType::ZBlob => "ZBLOB",
            PageType::ZBlob2 => "ZBLOB2",
            PageType::Index => "INDEX",
        }
    }
}

impl fmt::Display for PageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! field {
    ($doc:literal, $get:ident, $set:ident, $ty:ty, $raw_get:ident, $raw_put:ident, $off:ident, $wrap:expr, $unwrap:expr) => {
        #[doc = concat!("Reads ", $doc, ".\n\n# Panics\nIf `page` is shorter than the header.")]
        #[inline]
        pub fn $get(page: &[u8]) -> $ty {
            $wrap($raw_get(page, $off))
        }

        #[doc = concat!("Writes ", $doc, ".\n\n# Panics\nIf `page` is shorter than the header.")]
        #[inline]
        pub fn $set(page: &mut [u8], v: $ty) {
            $raw_put(page, $off, $unwrap(v));
        }
    };
}

field!("the checksum", checksum, set_checksum, u32, get_u32, put_u32, CHECKSUM, |n| n, |n| n);
field!("the page number", page_no, set_page_no, PageNo, get_u32, put_u32, PAGE_NO, PageNo, PageNo::get);
field!("the previous page's number", prev, set_prev, PageNo, get_u32, put_u32, PREV, PageNo, PageNo::get);
field!("the next page's number", next, set_next, PageNo, get_u32, put_u32, NEXT, PageNo, PageNo::get);
field!("the LSN of the newest change", lsn, set_lsn, Lsn, get_u64, put_u64, LSN, Lsn, Lsn::get);
field!("the page type as stored", raw_type, set_raw_type, u16, get_u16, put_u16, TYPE, |n| n, |n| n);
field!("the flush LSN", flush_lsn, set_flush_lsn, Lsn, get_u64, put_u64, FLUSH_LSN, Lsn, Lsn::get);
field!("the space id", space_id, set_space_id, SpaceId, get_u32, put_u32, SPACE_ID, SpaceId, SpaceId::get);

/// Reads the page type; `None` for numbers that MySQL 5.6 does not know.
///
/// # Panics
/// If `page` is shorter than the header.
#[inline]
pub fn page_type(page: &[u8]) -> Option<PageType> {
    PageType::from_u16(raw_type(page))
}

/// Writes the page type.
///
/// # Panics
/// If `page` is shorter than the header.
#[inline]
pub fn set_page_type(page: &mut [u8], t: PageType) {
    set_raw_type(page, t.as_u16());
}

/// Offset of the old checksum in the trailer of an uncompressed page of `len` bytes.
#[inline]
pub const fn trailer_checksum_offset(len: usize) -> usize {
    len - TRAILER_SIZE
}

/// Offset of the low half of the LSN in the trailer of an uncompressed page of `len` bytes.
#[inline]
pub const fn trailer_lsn_offset(len: usize) -> usize {
    len - 4
}

/// Reads the old checksum of the trailer.
///
/// # Panics
/// If `page` is shorter than the trailer.
#[inline]
pub fn trailer_checksum(page: &[u8]) -> u32 {
    get_u32(page, trailer_checksum_offset(page.len()))
}

/// Reads the low half of the LSN in the trailer.
///
/// # Panics
/// If `page` is shorter than the trailer.
#[inline]
pub fn trailer_lsn(page: &[u8]) -> u32 {
    get_u32(page, trailer_lsn_offset(page.len()))
}

/// Stores the LSN in the header and, on pages that have one, its low half in the trailer.
///
/// # Panics
/// If `page` is shorter than header and trailer.
#[inline]
pub fn set_both_lsn(page: &mut [u8], size: PageSize, v: Lsn) {
    set_lsn(page, v);
    if !size.is_compressed() {
        let at = trailer_lsn_offset(page.len());
        put_u32(page, at, v.get() as u32);
    }
}

/// Makes `page` the page that redo type INIT_FILE_PAGE makes: zeros, but for page number and space id.
///
/// # Panics
/// If `page` is shorter than the header.
pub fn init(page: &mut [u8], space: SpaceId, no: PageNo) {
    page.fill(0);
    set_page_no(page, no);
    set_space_id(page, space);
}

/// Bytes of the body that a structure may use: from [`BODY`] to the trailer, or to the end where there is none.
#[inline]
pub const fn body_end(size: PageSize) -> usize {
    if size.is_compressed() { size.physical() } else { size.physical() - TRAILER_SIZE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_of_the_reference() {
        let mut page = vec![0u8; 16384];
        page[..38].copy_from_slice(&[
            0xa1, 0x41, 0xea, 0xd7, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0,
            3, 0x2a, 0x9d, 9, 0x45, 0xbf, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc7,
        ]);
        page[16376..].copy_from_slice(&[0x29, 0x6d, 0xb9, 0x9d, 3, 0x2a, 0x9d, 9]);
        assert_eq!(checksum(&page), 0xa141_ead7);
        assert_eq!((page_no(&page), space_id(&page)), (PageNo(3), SpaceId(199)));
        assert!(prev(&page).is_null() && next(&page).is_null());
        assert_eq!((lsn(&page), flush_lsn(&page)), (Lsn(0x032a_9d09), Lsn(0)));
        assert_eq!(page_type(&page), Some(PageType::Index));
        assert_eq!((trailer_checksum(&page), trailer_lsn(&page)), (0x296d_b99d, 0x032a_9d09));
    }

    #[test]
    fn setters_write_where_getters_read() {
        let mut page = vec![0xEEu8; 4096];
        init(&mut page, SpaceId(7), PageNo(9));
        set_checksum(&mut page, 1);
        set_prev(&mut page, PageNo(2));
        set_next(&mut page, PageNo::NULL);
        set_both_lsn(&mut page, PageSize::new(4096).unwrap(), Lsn(0x1_0000_0002));
        set_page_type(&mut page, PageType::Xdes);
        set_flush_lsn(&mut page, Lsn(5));
        let mut want = vec![0u8; 4096];
        want[..38].copy_from_slice(&[
            0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 2, 255, 255, 255, 255, 0, 0, 0, 1, 0, 0, 0, 2, 0, 9, 0, 0, 0, 0,
            0, 0, 0, 5, 0, 0, 0, 7,
        ]);
        want[4095] = 2;
        assert_eq!(page, want);
    }

    #[test]
    fn types_have_their_numbers() {
        let known: Vec<u16> = (0..=u16::MAX).filter(|&n| PageType::from_u16(n).is_some()).collect();
        assert_eq!(known, [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 17855]);
        for n in known {
            assert_eq!(PageType::from_u16(n).unwrap().as_u16(), n);
        }
    }
}
