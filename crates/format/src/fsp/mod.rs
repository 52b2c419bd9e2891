//! Space management: the space header, extent descriptors, segment inodes.
//!
//! A tablespace is cut into extents (see [`crate::page_size`]). Each has a descriptor on the descriptor page of its
//! range; a range is as many pages as a page has bytes in the file. Page `k * range` is the descriptor page (page
//! 0 carries the space header too), page `k * range + 1` the change buffer bitmap. Segments own extents and single
//! pages ("fragments") of shared extents, recorded in their inode.
//!
//! | part | module |
//! |---|---|
//! | space header | [`header`] |
//! | extent descriptors | [`xdes`] |
//! | segment inodes | [`inode`] |
//! | check of a whole tablespace | [`check`] |
//!
//! Everything here is values and places: allocation writes the encoded fields at the given offsets through a
//! mini-transaction.

pub mod check;
pub mod header;
pub mod inode;
pub mod xdes;

pub use header::SpaceHeader;
pub use inode::Inode;
pub use xdes::{ExtentState, Xdes};

use vaquita_base::PageNo;

use crate::PageSize;

/// Page of the first segment inodes in a new tablespace.
pub const FIRST_INODE_PAGE: PageNo = PageNo(2);
/// First page after the fixed ones of a tablespace of one table: root of its clustered index.
pub const FIRST_ROOT_PAGE: PageNo = PageNo(3);

/// Position of a page within the range of its descriptor page.
#[inline]
const fn in_range(size: PageSize, page: PageNo) -> u32 {
    page.0 % size.pages_per_xdes_page()
}

/// The descriptor page whose range holds `page`.
#[inline]
pub const fn descriptor_page(size: PageSize, page: PageNo) -> PageNo {
    PageNo(page.0 - in_range(size, page))
}

/// Whether `page` is a descriptor page.
#[inline]
pub const fn is_descriptor_page(size: PageSize, page: PageNo) -> bool {
    in_range(size, page) == 0
}

/// The change buffer bitmap page whose range holds `page`.
#[inline]
pub const fn bitmap_page(size: PageSize, page: PageNo) -> PageNo {
    PageNo(descriptor_page(size, page).0 + 1)
}

/// Whether `page` is a change buffer bitmap page.
#[inline]
pub const fn is_bitmap_page(size: PageSize, page: PageNo) -> bool {
    in_range(size, page) == 1
}

/// First page of the extent that holds `page`.
#[inline]
pub const fn extent_start(size: PageSize, page: PageNo) -> PageNo {
    PageNo(page.0 - page.0 % size.extent_pages())
}

/// Position of `page` within its extent.
#[inline]
pub const fn in_extent(size: PageSize, page: PageNo) -> u32 {
    page.0 % size.extent_pages()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptor_pages_recur_every_physical_page_size() {
        let plain = PageSize::DEFAULT;
        let zip1 = PageSize::compressed(16384, 1024).unwrap();
        for (size, page, want) in [
            (plain, 0, 0),
            (plain, 16383, 0),
            (plain, 16384, 16384),
            (plain, 40000, 32768),
            (zip1, 1023, 0),
            (zip1, 1024, 1024),
            (zip1, 5000, 4096),
        ] {
            assert_eq!(descriptor_page(size, PageNo(page)), PageNo(want));
            assert_eq!(bitmap_page(size, PageNo(page)), PageNo(want + 1));
        }
        assert!(is_descriptor_page(zip1, PageNo(2048)) && is_bitmap_page(zip1, PageNo(2049)));
        assert!(!is_descriptor_page(plain, PageNo(2048)));
        assert_eq!((extent_start(plain, PageNo(130)), in_extent(plain, PageNo(130))), (PageNo(128), 2));
        let small = PageSize::new(4096).unwrap();
        assert_eq!((extent_start(small, PageNo(600)), in_extent(small, PageNo(600))), (PageNo(512), 88));
    }
}
