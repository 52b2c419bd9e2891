//! Addresses in a tablespace, the doubly linked lists made of them, and segment headers.
//!
//! | name | size | layout |
//! |---|---|---|
//! | file address | 6 | page number u32, byte offset u16; null is page `FFFFFFFF`, offset 0 |
//! | list base | 16 | length u32, first address, last address |
//! | list node | 12 | previous address, next address |
//! | segment header | 10 | space id u32, inode page u32, inode offset u16 |
//!
//! # Invariants
//! - I1: an address points at the *node*, not at the start of the structure the node is part of.
//! - I2: the first node's previous and the last node's next address are null; an empty list has length 0 and two
//!   null addresses.
//!
//! Values only: whoever edits a list writes the encoded fields at their offsets through a mini-transaction.

use std::fmt;

use vaquita_base::codec::{get_u16, get_u32, put_u16, put_u32};
use vaquita_base::{PageNo, SpaceId};

/// Bytes of a file address.
pub const ADDRESS_SIZE: usize = 6;
/// Bytes of a list base node.
pub const BASE_SIZE: usize = 16;
/// Bytes of a list node.
pub const NODE_SIZE: usize = 12;
/// Bytes of a segment header.
pub const SEGMENT_HEADER_SIZE: usize = 10;

/// Offset of the length in a list base.
pub const BASE_LEN: usize = 0;
/// Offset of the first address in a list base.
pub const BASE_FIRST: usize = 4;
/// Offset of the last address in a list base.
pub const BASE_LAST: usize = 10;
/// Offset of the previous address in a list node.
pub const NODE_PREV: usize = 0;
/// Offset of the next address in a list node.
pub const NODE_NEXT: usize = 6;

/// A place in a tablespace: page and byte.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileAddress {
    /// The page; [`PageNo::NULL`] for no place.
    pub page: PageNo,
    /// The byte in the page.
    pub offset: u16,
}

impl FileAddress {
    /// No place.
    pub const NULL: FileAddress = FileAddress { page: PageNo::NULL, offset: 0 };

    /// Joins page and byte.
    #[inline]
    pub const fn new(page: PageNo, offset: u16) -> Self {
        Self { page, offset }
    }

    /// Whether this is "no place": the page alone decides.
    #[inline]
    pub const fn is_null(self) -> bool {
        self.page.is_null()
    }

    /// `None` for "no place".
    #[inline]
    pub const fn some(self) -> Option<FileAddress> {
        if self.is_null() { None } else { Some(self) }
    }

    /// Reads the address at `off`.
    ///
    /// # Panics
    /// If it does not lie within `buf`.
    #[inline]
    pub fn read(buf: &[u8], off: usize) -> Self {
        Self { page: PageNo(get_u32(buf, off)), offset: get_u16(buf, off + 4) }
    }

    /// The stored form.
    #[inline]
    pub fn encode(self) -> [u8; ADDRESS_SIZE] {
        let mut out = [0; ADDRESS_SIZE];
        put_u32(&mut out, 0, self.page.get());
        put_u16(&mut out, 4, self.offset);
        out
    }
}

impl fmt::Display for FileAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.some() {
            Some(a) => write!(f, "{}+{}", a.page, a.offset),
            None => f.write_str("null"),
        }
    }
}

impl fmt::Debug for FileAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileAddress({self})")
    }
}

/// Base of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListBase {
    /// Number of nodes.
    pub len: u32,
    /// First node.
    pub first: FileAddress,
    /// Last node.
    pub last: FileAddress,
}

impl ListBase {
    /// A list without nodes.
    pub const EMPTY: ListBase = ListBase { len: 0, first: FileAddress::NULL, last: FileAddress::NULL };

    /// A list of one node.
    #[inline]
    pub const fn single(node: FileAddress) -> Self {
        Self { len: 1, first: node, last: node }
    }

    /// Reads the base at `off`.
    ///
    /// # Panics
    /// If it does not lie within `buf`.
    #[inline]
    pub fn read(buf: &[u8], off: usize) -> Self {
        Self {
            len: get_u32(buf, off + BASE_LEN),
            first: FileAddress::read(buf, off + BASE_FIRST),
            last: FileAddress::read(buf, off + BASE_LAST),
        }
    }

    /// The stored form.
    #[inline]
    pub fn encode(self) -> [u8; BASE_SIZE] {
        let mut out = [0; BASE_SIZE];
        put_u32(&mut out, BASE_LEN, self.len);
        out[BASE_FIRST..BASE_LAST].copy_from_slice(&self.first.encode());
        out[BASE_LAST..].copy_from_slice(&self.last.encode());
        out
    }

    /// Whether length and addresses agree about emptiness, and about being single.
    pub const fn is_plausible(self) -> bool {
        let both_null = self.first.is_null() && self.last.is_null();
        let none_null = !self.first.is_null() && !self.last.is_null();
        if self.len == 0 { both_null } else { none_null }
    }
}

/// Node of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListNode {
    /// The node before, null at the first.
    pub prev: FileAddress,
    /// The node after, null at the last.
    pub next: FileAddress,
}

impl ListNode {
    /// The only node of a list, or a node in no list.
    pub const ALONE: ListNode = ListNode { prev: FileAddress::NULL, next: FileAddress::NULL };

    /// Reads the node at `off`.
    ///
    /// # Panics
    /// If it does not lie within `buf`.
    #[inline]
    pub fn read(buf: &[u8], off: usize) -> Self {
        Self { prev: FileAddress::read(buf, off + NODE_PREV), next: FileAddress::read(buf, off + NODE_NEXT) }
    }

    /// The stored form.
    #[inline]
    pub fn encode(self) -> [u8; NODE_SIZE] {
        let mut out = [0; NODE_SIZE];
        out[NODE_PREV..NODE_NEXT].copy_from_slice(&self.prev.encode());
        out[NODE_NEXT..].copy_from_slice(&self.next.encode());
        out
    }
}

/// Where a segment's inode lies; stored in the structure that owns the segment (a tree's root, an undo segment).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Tablespace of the segment.
    pub space: SpaceId,
    /// Place of the inode.
    pub inode: FileAddress,
}

impl SegmentHeader {
    /// Reads the header at `off`.
    ///
    /// # Panics
    /// If it does not lie within `buf`.
    #[inline]
    pub fn read(buf: &[u8], off: usize) -> Self {
        Self { space: SpaceId(get_u32(buf, off)), inode: FileAddress::read(buf, off + 4) }
    }

    /// The stored form.
    #[inline]
    pub fn encode(self) -> [u8; SEGMENT_HEADER_SIZE] {
        let mut out = [0; SEGMENT_HEADER_SIZE];
        put_u32(&mut out, 0, self.space.get());
        out[4..].copy_from_slice(&self.inode.encode());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_ff_and_offset_zero() {
        assert_eq!(FileAddress::NULL.encode(), [0xff, 0xff, 0xff, 0xff, 0, 0]);
        assert!(FileAddress::read(&[0xff, 0xff, 0xff, 0xff, 0, 38], 0).is_null());
        assert_eq!(FileAddress::new(PageNo(2), 38).encode(), [0, 0, 0, 2, 0, 38]);
    }

    #[test]
    fn base_node_and_header_have_the_documented_bytes() {
        let base = ListBase {
            len: 3,
            first: FileAddress::new(PageNo(1), 158),
            last: FileAddress::new(PageNo(4), 0x1234),
        };
        let bytes = [0, 0, 0, 3, 0, 0, 0, 1, 0, 158, 0, 0, 0, 4, 0x12, 0x34];
        assert_eq!(base.encode(), bytes);
        assert_eq!(ListBase::read(&bytes, 0), base);
        assert_eq!(
            ListBase::EMPTY.encode(),
            [0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 255, 255, 255, 255, 0, 0]
        );

        let node = ListNode { prev: FileAddress::NULL, next: FileAddress::new(PageNo(7), 9) };
        let bytes = [255, 255, 255, 255, 0, 0, 0, 0, 0, 7, 0, 9];
        assert_eq!(node.encode(), bytes);
        assert_eq!(ListNode::read(&bytes, 0), node);

        // The doublewrite segment header of the reference's TRX_SYS example.
        let bytes = [0, 0, 0, 0, 0, 0, 0, 2, 0x0a, 0xb2];
        let header = SegmentHeader::read(&bytes, 0);
        assert_eq!(header, SegmentHeader { space: SpaceId(0), inode: FileAddress::new(PageNo(2), 2738) });
        assert_eq!(header.encode(), bytes);
    }

    #[test]
    fn implausible_bases() {
        let a = FileAddress::new(PageNo(1), 50);
        assert!(ListBase::EMPTY.is_plausible() && ListBase::single(a).is_plausible());
        assert!(!ListBase { len: 1, ..ListBase::EMPTY }.is_plausible());
        assert!(!ListBase { len: 0, ..ListBase::single(a) }.is_plausible());
        assert!(!ListBase { last: FileAddress::NULL, ..ListBase::single(a) }.is_plausible());
    }
}
