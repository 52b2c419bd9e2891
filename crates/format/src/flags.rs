//! Tablespace flags (page 0, offset 54) and table flags (`SYS_TABLES.TYPE`).
//!
//! | space bits | table bits | name | meaning |
//! |---|---|---|---|
//! | 0 | | POST_ANTELOPE | 1 for DYNAMIC and COMPRESSED |
//! | | 0 | | always 1 |
//! | 1-4 | 1-4 | ZIP_SSIZE | 0 not compressed, n: pages of 512 << n bytes in the file |
//! | 5 | 5 | ATOMIC_BLOBS | 1 for DYNAMIC and COMPRESSED |
//! | 6-9 | | PAGE_SSIZE | 0: 16K, n: logical pages of 512 << n bytes |
//! | 10 | 6 | DATA_DIR | the table has a DATA DIRECTORY |
//! | others | others | | 0 |
//!
//! REDUNDANT and COMPACT cannot be told apart by either. Page sizes 32K and 64K (PAGE_SSIZE 6 and 7, written by
//! MySQL 5.7) are accepted, without compression as there.
//!
//! # Invariants
//! - I1: a [`SpaceFlags`] or [`TableFlags`] value is legal: unknown bits are refused, not guessed at.
//! - I2: ATOMIC_BLOBS and POST_ANTELOPE are equal; ZIP_SSIZE implies both; pages in the file are not larger than
//!   logical pages.

use std::fmt;

use crate::{Corruption, PageSize, Result};

const POST_ANTELOPE: u32 = 1;
const ZIP_SHIFT: u32 = 1;
const ATOMIC_BLOBS: u32 = 1 << 5;
const PAGE_SHIFT: u32 = 6;
const SPACE_DATA_DIR: u32 = 1 << 10;
const TABLE_ALWAYS: u32 = 1;
/// The flag of a table whose file is in a directory elsewhere.
pub const TABLE_DATA_DIR: u32 = 1 << 6;
const SSIZE_MASK: u32 = 0xF;

/// Legal tablespace flags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SpaceFlags(u32);

impl SpaceFlags {
    /// Checks stored flags.
    ///
    /// # Errors
    /// [`Corruption`] naming the flags and the rule they break.
    pub fn decode(raw: u32) -> Result<SpaceFlags> {
        let bad = |why: &str| Err(Corruption::new("space flags", format!("{raw:#x}: {why}")));
        if raw >> 11 != 0 {
            return bad("unknown bits above 10");
        }
        if (raw & POST_ANTELOPE != 0) != (raw & ATOMIC_BLOBS != 0) {
            return bad("POST_ANTELOPE and ATOMIC_BLOBS disagree");
        }
        let (zip, page) = (raw >> ZIP_SHIFT & SSIZE_MASK, raw >> PAGE_SHIFT & SSIZE_MASK);
        if !matches!(page, 0 | 3 | 4 | 6 | 7) {
            return bad("no such PAGE_SSIZE");
        }
        if zip != 0 && raw & ATOMIC_BLOBS == 0 {
            return bad("compressed without ATOMIC_BLOBS");
        }
        if zip > 5 || (zip != 0 && zip > if page == 0 { 5 } else { page }) || (zip != 0 && page > 5) {
            return bad("no such ZIP_SSIZE for the page size");
        }
        Ok(SpaceFlags(raw))
    }

    /// Flags of a tablespace of these pages. `atomic_blobs` says DYNAMIC where pages are not compressed.
    ///
    /// # Errors
    /// [`Corruption`] for compressed pages of 32K and 64K logical size, which do not exist.
    pub fn new(size: PageSize, atomic_blobs: bool, data_dir: bool) -> Result<SpaceFlags> {
        let mut raw = page_ssize(size) << PAGE_SHIFT | zip_ssize(size) << ZIP_SHIFT;
        if atomic_blobs || size.is_compressed() {
            raw |= POST_ANTELOPE | ATOMIC_BLOBS;
        }
        if data_dir {
            raw |= SPACE_DATA_DIR;
        }
        SpaceFlags::decode(raw)
    }

    /// The stored form.
    #[inline]
    pub const fn encode(self) -> u32 {
        self.0
    }

    /// Page size, logical and in the file.
    pub fn page_size(self) -> PageSize {
        let logical = match self.0 >> PAGE_SHIFT & SSIZE_MASK {
            0 => 16384,
            n => 512 << n,
        };
        let size = match self.0 >> ZIP_SHIFT & SSIZE_MASK {
            0 => PageSize::new(logical),
            n => PageSize::compressed(logical, 512 << n),
        };
        size.expect("I1: decode accepts existing page sizes only")
    }

    /// Whether off-page columns leave no prefix in the row: DYNAMIC and COMPRESSED.
    #[inline]
    pub const fn atomic_blobs(self) -> bool {
        self.0 & ATOMIC_BLOBS != 0
    }

    /// Whether the table has a DATA DIRECTORY.
    #[inline]
    pub const fn data_dir(self) -> bool {
        self.0 & SPACE_DATA_DIR != 0
    }
}

impl fmt::Debug for SpaceFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpaceFlags({:#x})", self.0)
    }
}

/// Legal table flags.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TableFlags(u32);

impl TableFlags {
    /// Flags of a REDUNDANT or COMPACT table.
    pub const ANTELOPE: TableFlags = TableFlags(TABLE_ALWAYS);

    /// Checks stored flags.
    ///
    /// # Errors
    /// [`Corruption`] naming the flags and the rule they break.
    pub fn decode(raw: u32) -> Result<TableFlags> {
        let bad = |why: &str| Err(Corruption::new("table flags", format!("{raw:#x}: {why}")));
        if raw & TABLE_ALWAYS == 0 {
            return bad("bit 0 is not set");
        }
        if raw >> 7 != 0 {
            return bad("unknown bits above 6");
        }
        match raw >> ZIP_SHIFT & SSIZE_MASK {
            0 => {}
            1..=5 if raw & ATOMIC_BLOBS != 0 => {}
            1..=5 => return bad("compressed without ATOMIC_BLOBS"),
            _ => return bad("no such ZIP_SSIZE"),
        }
        Ok(TableFlags(raw))
    }

    /// Flags of a table of these pages. `atomic_blobs` says DYNAMIC where pages are not compressed.
    pub fn new(size: PageSize, atomic_blobs: bool, data_dir: bool) -> TableFlags {
        let mut raw = TABLE_ALWAYS | zip_ssize(size) << ZIP_SHIFT;
        if atomic_blobs || size.is_compressed() {
            raw |= ATOMIC_BLOBS;
        }
        if data_dir {
            raw |= TABLE_DATA_DIR;
        }
        TableFlags(raw)
    }

    /// The stored form.
    #[inline]
    pub const fn encode(self) -> u32 {
        self.0
    }

    /// Page size in the file of a compressed table, `None` for tables that are not compressed.
    pub const fn zip_size(self) -> Option<usize> {
        match self.0 >> ZIP_SHIFT & SSIZE_MASK {
            0 => None,
            n => Some(512 << n),
        }
    }

    /// Whether off-page columns leave no prefix in the row: DYNAMIC and COMPRESSED.
    #[inline]
    pub const fn atomic_blobs(self) -> bool {
        self.0 & ATOMIC_BLOBS != 0
    }

    /// Whether the table has a DATA DIRECTORY.
    #[inline]
    pub const fn data_dir(self) -> bool {
        self.0 & TABLE_DATA_DIR != 0
    }

    /// Flags of the tablespace that holds just this table, in a database of `logical_page_size`.
    ///
    /// # Errors
    /// [`Corruption`] if the compressed page size does not go with the logical page size.
    pub fn space_flags(self, logical_page_size: usize) -> Result<SpaceFlags> {
        let size = match self.zip_size() {
            None => PageSize::new(logical_page_size),
            Some(zip) => PageSize::compressed(logical_page_size, zip),
        };
        let size = size.ok_or_else(|| {
            Corruption::new("table flags", format!("{:#x} with pages of {logical_page_size} bytes", self.0))
        })?;
        SpaceFlags::new(size, self.atomic_blobs(), self.data_dir())
    }

    /// Flags of a table in its own tablespace with these flags.
    pub fn of_space(flags: SpaceFlags) -> TableFlags {
        TableFlags::new(flags.page_size(), flags.atomic_blobs(), flags.data_dir())
    }
}

impl fmt::Debug for TableFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableFlags({:#x})", self.0)
    }
}

const fn page_ssize(size: PageSize) -> u32 {
    match size.logical() {
        16384 => 0,
        n => (n >> 9).trailing_zeros(),
    }
}

const fn zip_ssize(size: PageSize) -> u32 {
    if size.is_compressed() { (size.physical() >> 9).trailing_zeros() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(n: usize) -> PageSize {
        PageSize::new(n).unwrap()
    }

    fn zip(logical: usize, physical: usize) -> PageSize {
        PageSize::compressed(logical, physical).unwrap()
    }

    #[test]
    fn observed_flags() {
        for (raw, size, dynamic, data_dir) in [
            (0x0, plain(16384), false, false),
            (0x21, plain(16384), true, false),
            (0x23, zip(16384, 1024), true, false),
            (0x25, zip(16384, 2048), true, false),
            (0x27, zip(16384, 4096), true, false),
            (0x29, zip(16384, 8192), true, false),
            (0x2b, zip(16384, 16384), true, false),
            (0xc0, plain(4096), false, false),
            (0x100, plain(8192), false, false),
            (0xe3, zip(4096, 1024), true, false),
            (0x421, plain(16384), true, true),
            (0x180, plain(32768), false, false),
            (0x1e1, plain(65536), true, false),
        ] {
            let flags = SpaceFlags::decode(raw).unwrap();
            assert_eq!(
                (flags.page_size(), flags.atomic_blobs(), flags.data_dir()),
                (size, dynamic, data_dir)
            );
            assert_eq!(SpaceFlags::new(size, dynamic, data_dir).unwrap().encode(), raw);
            assert_eq!(TableFlags::of_space(flags).space_flags(size.logical()).unwrap(), flags);
        }
    }

    #[test]
    fn exactly_the_legal_combinations_pass() {
        let legal = (0..=0xFFFFu32).filter(|&raw| SpaceFlags::decode(raw).is_ok()).count();
        // Per DATA_DIR: five page sizes without compression, twice; compressed 16K: 5, 8K: 4, 4K: 3.
        assert_eq!(legal, 2 * (5 * 2 + 5 + 4 + 3));
        for raw in [1, 0x20, 0x3, 0x2d, 0x40, 0xe9, 0x800, 0x140, 0x1a3, 1 << 31] {
            assert!(SpaceFlags::decode(raw).is_err(), "{raw:#x}");
        }
    }

    #[test]
    fn observed_table_flags() {
        assert_eq!(TableFlags::new(plain(16384), false, false), TableFlags::ANTELOPE);
        assert_eq!(TableFlags::new(plain(16384), true, false).encode(), 0x21);
        assert_eq!(TableFlags::new(zip(16384, 4096), true, false).encode(), 0x27);
        assert_eq!(TableFlags::new(plain(16384), true, true).encode(), 0x61);
        for raw in [0, 0x80, 0x7, 0x2d, 0x20] {
            assert!(TableFlags::decode(raw).is_err(), "{raw:#x}");
        }
        assert_eq!(TableFlags::decode(0x61).unwrap().space_flags(16384).unwrap().encode(), 0x421);
        assert!(TableFlags::decode(0x2b).unwrap().space_flags(4096).is_err());
    }
}
