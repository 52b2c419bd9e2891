//! Page sizes and the constants that follow from them.
//!
//! | | 64K | 32K | 16K | 8K | 4K |
//! |---|---|---|---|---|---|
//! | pages per extent | 64 (4 MiB) | 64 (2 MiB) | 64 | 128 | 256 |
//! | XDES entry | 40 | 40 | 40 | 56 | 88 |
//! | fragment slots of an inode | 32 | 32 | 32 | 64 | 128 |
//! | inode | 192 | 192 | 192 | 320 | 576 |
//!
//! An extent is 1 MiB up to 16K pages. For 32K and 64K pages MySQL 5.7's manual gives extents of 2 MiB and
//! 4 MiB, that is 64 pages; MySQL 5.6 does not read such files.

/// Logical page size of a tablespace, and the physical size when its pages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PageSize {
    logical_shift: u8,
    physical_shift: u8,
}

impl PageSize {
    /// 16 KiB, not compressed: the default.
    pub const DEFAULT: PageSize = PageSize { logical_shift: 14, physical_shift: 14 };

    /// An uncompressed page size: 4096, 8192, 16384, 32768 or 65536.
    pub const fn new(bytes: usize) -> Option<PageSize> {
        match bytes {
            0x1000 | 0x2000 | 0x4000 | 0x8000 | 0x10000 => {
                let shift = bytes.trailing_zeros() as u8;
                Some(PageSize { logical_shift: shift, physical_shift: shift })
            }
            _ => None,
        }
    }

    /// A compressed page size: physical 1024 to 16384 and not above logical.
    pub const fn compressed(logical: usize, physical: usize) -> Option<PageSize> {
        let Some(whole) = PageSize::new(logical) else { return None };
        match physical {
            0x400 | 0x800 | 0x1000 | 0x2000 | 0x4000 if physical <= logical => Some(PageSize {
                logical_shift: whole.logical_shift,
                // KEY_BLOCK_SIZE equal to the page size is still the compressed format: see `is_compressed`.
                physical_shift: physical.trailing_zeros() as u8 | COMPRESSED,
            }),
            _ => None,
        }
    }

    /// Bytes of a page in memory.
    #[inline]
    pub const fn logical(self) -> usize {
        1 << self.logical_shift
    }

    /// Bytes of a page in the file.
    #[inline]
    pub const fn physical(self) -> usize {
        1 << (self.physical_shift & !COMPRESSED)
    }

    /// Whether index pages are stored in the compressed representation (KEY_BLOCK_SIZE tables).
    #[inline]
    pub const fn is_compressed(self) -> bool {
        self.physical_shift & COMPRESSED != 0
    }

    /// Pages in an extent.
    #[inline]
    pub const fn extent_pages(self) -> u32 {
        if self.logical_shift >= 14 { 64 } else { (1u32 << 20) >> self.logical_shift }
    }

    /// Bytes of an extent descriptor.
    #[inline]
    pub const fn xdes_size(self) -> usize {
        24 + self.extent_pages() as usize / 4
    }

    /// Single-page slots of a segment inode.
    #[inline]
    pub const fn inode_fragment_slots(self) -> usize {
        self.extent_pages() as usize / 2
    }

    /// Bytes of a segment inode.
    #[inline]
    pub const fn inode_size(self) -> usize {
        64 + 4 * self.inode_fragment_slots()
    }

    /// Inodes on an inode page.
    #[inline]
    pub const fn inodes_per_page(self) -> usize {
        (self.physical() - 60) / self.inode_size()
    }

    /// Pages described by one descriptor page: as many as the page has bytes in the file.
    #[inline]
    pub const fn pages_per_xdes_page(self) -> u32 {
        self.physical() as u32
    }
}

/// Bit of `physical_shift` that marks the compressed format.
const COMPRESSED: u8 = 0x80;

const _: () = assert!(PageSize::DEFAULT.xdes_size() == 40 && PageSize::DEFAULT.inode_size() == 192);
const _: () = assert!(PageSize::DEFAULT.inodes_per_page() == 85);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_by_page_size() {
        for (bytes, extent, xdes, slots, inode, per_page) in
            [(16384, 64, 40, 32, 192, 85), (8192, 128, 56, 64, 320, 25), (4096, 256, 88, 128, 576, 7)]
        {
            let p = PageSize::new(bytes).unwrap();
            assert_eq!((p.logical(), p.physical(), p.is_compressed()), (bytes, bytes, false));
            assert_eq!(p.extent_pages(), extent);
            assert_eq!(p.xdes_size(), xdes);
            assert_eq!(p.inode_fragment_slots(), slots);
            assert_eq!(p.inode_size(), inode);
            assert_eq!(p.inodes_per_page(), per_page);
        }
        assert_eq!(PageSize::new(1000), None);
    }

    #[test]
    fn compressed_pages_keep_logical_extents() {
        let p = PageSize::compressed(16384, 1024).unwrap();
        assert_eq!((p.logical(), p.physical(), p.is_compressed()), (16384, 1024, true));
        assert_eq!((p.extent_pages(), p.pages_per_xdes_page()), (64, 1024));
        assert!(PageSize::compressed(16384, 16384).unwrap().is_compressed());
        assert_ne!(PageSize::compressed(16384, 16384), PageSize::new(16384));
        assert_eq!(PageSize::compressed(4096, 8192), None);
    }
}
