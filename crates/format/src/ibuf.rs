//! Change buffer: the bitmap pages of every tablespace and the records of the change buffer's tree.
//!
//! A bitmap page holds 4 bits for each page of its range, from offset 94; page `n` of the range has bits
//! `4n..4n+4`, least significant first:
//!
//! | bit | meaning |
//! |---|---|
//! | 0 | high bit of the free-space code |
//! | 1 | low bit of the free-space code |
//! | 2 | BUFFERED: the change buffer has records for the page |
//! | 3 | IBUF: the page belongs to the change buffer's tree |
//!
//! Metadata, field 3 of a leaf record of the change buffer's tree (fields 0 space id, 1 a zero byte, 2 page number,
//! from 4 the fields of the secondary index entry):
//!
//! | off | size | field |
//! |---|---|---|
//! | 0 | 2 | counter: order among the records of one page |
//! | 2 | 1 | operation: 0 insert, 1 delete-mark, 2 delete |
//! | 3 | 1 | flags: 1 the table is of the COMPACT family |
//! | 4 | 6 each | per entry field: mtype (0x80: BINARY_TYPE), low byte of prtype, length u16, collation u16 (0x8000: NOT NULL) |
//!
//! # Invariants
//! - I1: the free-space code never overstates: a page has at least [`free_bytes`] of its code. 0 is always safe.
//! - I2: BUFFERED is set before a record for the page is in the tree and cleared when the last one is applied.

use vaquita_base::codec::{get_u16, push_u16};
use vaquita_base::{IndexId, PageNo, SpaceId};

use crate::fil::{self, PageType};
use crate::{Corruption, PageSize, Result};

/// Offset of the bits on a bitmap page.
pub const BITMAP: usize = 94;

/// Page of the change buffer's header.
pub const HEADER_PAGE: PageNo = PageNo(3);
/// Offset of the tree's segment header on [`HEADER_PAGE`].
pub const HEADER_SEGMENT: usize = 94;
/// Root page of the change buffer's tree.
pub const ROOT_PAGE: PageNo = PageNo(4);
/// Offset, on the root, of the base of the list of the tree's free pages.
pub const FREE_LIST_BASE: usize = 74;
/// Offset, on a free page of the tree, of its list node.
pub const FREE_LIST_NODE: usize = 74;
/// Index id of the change buffer's tree.
pub const INDEX_ID: IndexId = IndexId(0xFFFF_FFFF_0000_0000);

/// Field of a leaf record: space id.
pub const FIELD_SPACE: usize = 0;
/// Field of a leaf record: one zero byte.
pub const FIELD_MARKER: usize = 1;
/// Field of a leaf record: page number.
pub const FIELD_PAGE: usize = 2;
/// Field of a leaf record: metadata.
pub const FIELD_METADATA: usize = 3;
/// First field of the secondary index entry in a leaf record.
pub const FIELD_USER: usize = 4;

/// The four bits of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageBits {
    /// Free-space code, 0 to 3.
    pub free: u8,
    /// The change buffer has records for the page.
    pub buffered: bool,
    /// The page belongs to the change buffer's tree.
    pub ibuf: bool,
}

impl PageBits {
    /// From the four stored bits; higher ones are ignored.
    #[inline]
    pub const fn from_nibble(n: u8) -> Self {
        Self { free: (n & 1) << 1 | (n >> 1 & 1), buffered: n & 4 != 0, ibuf: n & 8 != 0 }
    }

    /// The four stored bits.
    #[inline]
    pub const fn nibble(self) -> u8 {
        (self.free >> 1 & 1) | (self.free & 1) << 1 | (self.buffered as u8) << 2 | (self.ibuf as u8) << 3
    }
}

/// Place of a page's bits on its bitmap page: byte offset, shift.
#[inline]
pub const fn place(size: PageSize, page: PageNo) -> (usize, u32) {
    let n = page.0 % size.pages_per_xdes_page();
    (BITMAP + n as usize / 2, n % 2 * 4)
}

/// Bits of `page`, from its bitmap page.
///
/// # Panics
/// If `bitmap_page` is not a page of this size.
#[inline]
pub fn get(size: PageSize, bitmap_page: &[u8], page: PageNo) -> PageBits {
    let (at, shift) = place(size, page);
    PageBits::from_nibble(bitmap_page[at] >> shift)
}

/// The byte that gives `page` these bits: its offset on the bitmap page and its new value.
///
/// # Panics
/// If `bitmap_page` is not a page of this size.
#[inline]
pub fn with(size: PageSize, bitmap_page: &[u8], page: PageNo, bits: PageBits) -> (usize, u8) {
    let (at, shift) = place(size, page);
    (at, bitmap_page[at] & !(0xF << shift) | bits.nibble() << shift)
}

/// Makes `page` a bitmap page with all bits 0.
///
/// # Panics
/// If `page` is shorter than the page header.
pub fn init_page(page: &mut [u8], space: SpaceId, no: PageNo) {
    fil::init(page, space, no);
    init_bitmap(page);
}

/// Redo type IBUF_BITMAP_INIT: sets the type and clears the bits of a page that is initialised otherwise.
///
/// # Panics
/// If `page` is shorter than the page header.
pub fn init_bitmap(page: &mut [u8]) {
    fil::set_page_type(page, PageType::IbufBitmap);
    let end = (BITMAP + page.len() / 2).min(page.len());
    page[BITMAP..end].fill(0);
}

/// Free-space code of a leaf page on which records of `max_insert` bytes fit after reorganising it.
#[inline]
pub const fn free_code(size: PageSize, max_insert: usize) -> u8 {
    match max_insert / (size.physical() / 32) {
        n @ 0..=2 => n as u8,
        3 => 2,
        _ => 3,
    }
}

/// Bytes that a page with this code has at least.
#[inline]
pub const fn free_bytes(size: PageSize, code: u8) -> usize {
    let units = if code >= 3 { 4 } else { code as usize };
    units * (size.physical() / 32)
}

/// What a buffered change does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Operation {
    /// Inserts the entry.
    Insert = 0,
    /// Marks the entry deleted.
    DeleteMark = 1,
    /// Removes the marked entry (purge).
    Delete = 2,
}

impl Operation {
    /// The operation of a stored byte.
    pub const fn from_u8(n: u8) -> Option<Operation> {
        Some(match n {
            0 => Operation::Insert,
            1 => Operation::DeleteMark,
            2 => Operation::Delete,
            _ => return None,
        })
    }
}

/// Type of one entry field, enough to rebuild the entry on its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldType {
    /// Main type.
    pub mtype: u8,
    /// BINARY_TYPE of prtype.
    pub binary: bool,
    /// Low byte of prtype: MySQL's type code.
    pub mysql_type: u8,
    /// Fixed length of an index prefix if there is one, else the column's length.
    pub len: u16,
    /// Collation id.
    pub collation: u16,
    /// NOT NULL of prtype.
    pub not_null: bool,
}

const FIELD_TYPE_SIZE: usize = 6;
const HEADER_SIZE: usize = 4;
const FLAG_COMPACT: u8 = 1;
const BINARY_BIT: u8 = 0x80;
const NOT_NULL_BIT: u16 = 0x8000;

/// Metadata of a change buffer record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata<'a> {
    /// Order among the records of one page.
    pub counter: u16,
    /// What the record does.
    pub operation: Operation,
    /// Whether the table is of the COMPACT family.
    pub compact: bool,
    types: &'a [[u8; FIELD_TYPE_SIZE]],
}

impl<'a> Metadata<'a> {
    /// Reads field 3 of a leaf record.
    ///
    /// # Errors
    /// [`Corruption`] for a length that is not 4 and a multiple of 6 (the form before MySQL 5.5), an unknown
    /// operation or flag.
    pub fn decode(bytes: &'a [u8]) -> Result<Self> {
        let bad = |detail: String| Err(Corruption::new("change buffer record", detail));
        let Some((head, types)) = bytes.split_at_checked(HEADER_SIZE) else {
            return bad(format!("metadata of {} bytes", bytes.len()));
        };
        let (types, []) = types.as_chunks() else {
            return bad(format!("metadata of {} bytes", bytes.len()));
        };
        let Some(operation) = Operation::from_u8(head[2]) else {
            return bad(format!("operation {}", head[2]));
        };
        if head[3] & !FLAG_COMPACT != 0 {
            return bad(format!("flags {:#x}", head[3]));
        }
        Ok(Self { counter: get_u16(head, 0), operation, compact: head[3] != 0, types })
    }

    /// Types of the entry fields.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = FieldType> + 'a {
        self.types.iter().map(|t| {
            let collation = get_u16(t, 4);
            FieldType {
                mtype: t[0] & !BINARY_BIT,
                binary: t[0] & BINARY_BIT != 0,
                mysql_type: t[1],
                len: get_u16(t, 2),
                collation: collation & !NOT_NULL_BIT,
                not_null: collation & NOT_NULL_BIT != 0,
            }
        })
    }
}

/// Appends the stored form of metadata.
pub fn push_metadata(
    out: &mut Vec<u8>,
    counter: u16,
    operation: Operation,
    compact: bool,
    fields: impl IntoIterator<Item = FieldType>,
) {
    push_u16(out, counter);
    out.extend([operation as u8, if compact { FLAG_COMPACT } else { 0 }]);
    for f in fields {
        out.extend([f.mtype | if f.binary { BINARY_BIT } else { 0 }, f.mysql_type]);
        push_u16(out, f.len);
        push_u16(out, f.collation & !NOT_NULL_BIT | if f.not_null { NOT_NULL_BIT } else { 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nibbles() {
        for n in 0..16 {
            assert_eq!(PageBits::from_nibble(n).nibble(), n);
        }
        assert_eq!(PageBits::from_nibble(0b0001).free, 2);
        assert_eq!(PageBits::from_nibble(0b0010).free, 1);
        assert_eq!(PageBits { free: 3, buffered: true, ibuf: false }.nibble(), 0b0111);
        let size = PageSize::compressed(16384, 1024).unwrap();
        let mut page = vec![0u8; 1024];
        init_page(&mut page, SpaceId(3), PageNo(1025));
        let (at, byte) = with(size, &page, PageNo(1024 + 7), PageBits { free: 2, ..Default::default() });
        assert_eq!((at, byte), (94 + 3, 0x10));
        page[at] = byte;
        assert_eq!(get(size, &page, PageNo(1024 + 7)).free, 2);
        assert_eq!(get(size, &page, PageNo(1024 + 6)), PageBits::default());
        assert_eq!(
            with(size, &page, PageNo(1024 + 6), PageBits { ibuf: true, ..Default::default() }).1,
            0x18
        );
        // The last page's bits lie on the page.
        assert!(place(size, PageNo(1023)).0 < 1024);
    }

    #[test]
    fn free_codes() {
        let size = PageSize::DEFAULT;
        for (bytes, code) in
            [(0, 0), (511, 0), (512, 1), (1024, 2), (1536, 2), (2047, 2), (2048, 3), (16000, 3)]
        {
            assert_eq!(free_code(size, bytes), code, "{bytes}");
            assert!(free_bytes(size, code) <= bytes);
        }
        assert_eq!(free_code(PageSize::compressed(16384, 1024).unwrap(), 128), 3);
    }

    #[test]
    fn metadata_of_the_reference() {
        let bytes =
            [0, 0, 1, 1, 0x0c, 0x0f, 0x01, 0x2c, 0x00, 0x21, 0x86, 3, 0, 4, 0, 0, 0x86, 3, 0, 4, 0x80, 0];
        let m = Metadata::decode(&bytes).unwrap();
        assert_eq!((m.counter, m.operation, m.compact), (0, Operation::DeleteMark, true));
        let int = FieldType { mtype: 6, binary: true, mysql_type: 3, len: 4, collation: 0, not_null: false };
        let text =
            FieldType { mtype: 12, binary: false, mysql_type: 15, len: 300, collation: 33, not_null: false };
        let want = [text, int, FieldType { not_null: true, ..int }];
        assert_eq!(m.fields().collect::<Vec<_>>(), want);
        let mut out = Vec::new();
        push_metadata(&mut out, 0, Operation::DeleteMark, true, want);
        assert_eq!(out, bytes);
    }

    proptest! {
        #[test]
        fn decoding_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(m) = Metadata::decode(&bytes) {
                let mut out = Vec::new();
                push_metadata(&mut out, m.counter, m.operation, m.compact, m.fields());
                prop_assert_eq!(out, bytes);
            }
        }
    }
}
