//! What later servers write that MySQL 5.6 does not: who made a file, and what of it is not read here.
//!
//! | seen on page 0 | it is of |
//! |---|---|
//! | flags with bit 4; a CRC-32C of all bytes before it ends the page | MariaDB: pages of its format full_crc32 |
//! | flags with bits above 15 | MariaDB: page_compressed |
//! | flags with bit 14 | MySQL 8.0 and later: the definition lies in pages of type SDI; the version stands where other pages name their left sibling |
//! | flags with bit 13, 12, 11 | MySQL 5.7 and later: encrypted, temporary, general tablespace |
//! | "no page" as both siblings | MariaDB, in a format that is as 5.6 has it so far |
//!
//! A clustered index whose root has page type 18 is MariaDB's: columns were added or dropped instantly, so its records are
//! not all of one layout.
//!
//! The bits of full_crc32's flags: 0 to 3 the page size, 512 << n bytes; 4 always set; 5 to 7 how pages are compressed, 0 for
//! not at all.
//!
//! Nothing is concluded from a page whose checksum does not hold: that is damage.

use std::fmt;

use vaquita_base::PageNo;
use vaquita_base::checksum::crc32c;
use vaquita_base::codec::get_u32;

use crate::checksum::{self, ChecksumAlgorithm, PageState};
use crate::fil::{self, PageType};
use crate::flags::SpaceFlags;
use crate::fsp::header::FLAGS;
use crate::redo_file::FileHeader;
use crate::{Corruption, PageSize};

/// Type of the root of a clustered index after MariaDB added or dropped columns instantly.
pub const TYPE_INSTANT: u16 = 18;

const FULL_CRC32: u32 = 1 << 4;
const FULL_CRC32_COMPRESSED: u32 = 7 << 5;
/// Bits that MySQL 5.6 knows.
const KNOWN: u32 = (1 << 11) - 1;
const SDI: u32 = 1 << 14;
/// Bits that MySQL 5.7 and 8.0 added, and what they say.
const MYSQL_BITS: [(u32, &str); 4] = [
    (1 << 11, "it is a general tablespace"),
    (1 << 12, "it is a temporary tablespace"),
    (1 << 13, "it is encrypted"),
    (SDI, "it describes itself in SDI pages"),
];

/// A file that another server made, and why it is not read here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// The server, with its version if the file tells.
    pub maker: String,
    /// What is in the file that is not understood.
    pub what: String,
}

impl Foreign {
    /// A finding about a file.
    pub fn new(maker: impl Into<String>, what: impl Into<String>) -> Foreign {
        Foreign { maker: maker.into(), what: what.into() }
    }

    /// As a broken rule, for reports.
    pub fn into_corruption(self) -> Corruption {
        Corruption::new("maker", self.to_string())
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "made by {}: {}, which is not read here", self.maker, self.what)
    }
}

impl std::error::Error for Foreign {}

/// Judges a tablespace by its first bytes: as many as the largest page has, or all there are. `None` for what MySQL 5.6
/// could have made, and for damage.
pub fn of_first_page(head: &[u8]) -> Option<Foreign> {
    if head.len() < FLAGS + 4 {
        return None;
    }
    let flags = get_u32(head, FLAGS);
    if flags & FULL_CRC32 != 0 {
        return full_crc32(head, flags);
    }
    if flags & !KNOWN == 0 {
        return None;
    }
    let size = SpaceFlags::decode(flags & KNOWN).ok()?.page_size();
    is_sound_first_page(head, size).then(|| by_flags(head, flags))
}

fn by_flags(page: &[u8], flags: u32) -> Foreign {
    if flags >> 16 != 0 {
        return Foreign::new("MariaDB", format!("its pages are page_compressed (flags {flags:#x})"));
    }
    let said: Vec<&str> =
        MYSQL_BITS.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, what)| *what).collect();
    if said.is_empty() {
        return Foreign::new("a later server than MySQL 5.6", format!("its flags are {flags:#x}"));
    }
    let maker = if flags & SDI == 0 {
        "MySQL 5.7 or later".to_owned()
    } else {
        match fil::prev(page).get() {
            version @ 80_000..1_000_000 => format!("MySQL {}", version_text(version)),
            _ => "MySQL 8.0 or later".to_owned(),
        }
    };
    Foreign::new(maker, format!("{} (flags {flags:#x})", said.join(", ")))
}

fn full_crc32(head: &[u8], flags: u32) -> Option<Foreign> {
    let size = PageSize::new(512usize << (flags & 0xF))?.physical();
    let page = head.get(..size)?;
    let sum = size - 4;
    if !is_first(page) || crc32c(&page[..sum]) != get_u32(page, sum) {
        return None;
    }
    let compressed = if flags & FULL_CRC32_COMPRESSED != 0 { ", page_compressed" } else { "" };
    let what = format!("its pages are of format full_crc32{compressed} (flags {flags:#x})");
    Some(Foreign::new("MariaDB", what))
}

/// Whether page 0 of a file of MySQL 5.6's format tells that MariaDB wrote it. Older versions of MariaDB leave no sign.
pub fn is_of_mariadb(head: &[u8], size: PageSize) -> bool {
    head.len() >= size.physical()
        && fil::prev(head).is_null()
        && fil::next(head).is_null()
        && is_sound_first_page(head, size)
}

fn is_first(page: &[u8]) -> bool {
    fil::page_no(page) == PageNo(0) && fil::page_type(page) == Some(PageType::FspHdr)
}

fn is_sound_first_page(head: &[u8], size: PageSize) -> bool {
    let page = head.get(..size.physical());
    page.is_some_and(|page| is_first(page) && is_sound(page, size))
}

fn is_sound(page: &[u8], size: PageSize) -> bool {
    checksum::verify(page, size, ChecksumAlgorithm::Innodb) == Ok(PageState::Valid)
}

/// Judges a page that should be the root of a clustered index.
pub fn of_root(page: &[u8], size: PageSize) -> Option<Foreign> {
    (page.len() == size.physical() && fil::raw_type(page) == TYPE_INSTANT && is_sound(page, size))
        .then(|| Foreign::new("MariaDB", "columns of the table were added or dropped instantly"))
}

/// Judges a redo log by the header of its first file. Servers after MySQL 5.6 write the number of the log's format where
/// older ones have the log group, which is 0, and their name where older ones have a label.
pub fn of_log(header: &FileHeader) -> Option<Foreign> {
    if header.group_id == 0 {
        return None;
    }
    let creator = String::from_utf8_lossy(&header.label);
    let creator = creator.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    let named = creator.starts_with("MySQL") || creator.starts_with("MariaDB");
    let maker = if named { creator } else { "another server than MySQL 5.6" };
    Some(Foreign::new(maker, format!("its redo log has format {:#x}", header.group_id)))
}

/// A version number as servers store it, 50624, as people write it: 5.6.24.
pub fn version_text(version: u32) -> String {
    format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_base::codec::{put_u16, put_u32};

    /// Page 0 with these flags, stamped as MySQL does.
    fn page(flags: u32) -> Vec<u8> {
        let mut page = vec![0; 16384];
        put_u16(&mut page, fil::TYPE, PageType::FspHdr.as_u16());
        put_u32(&mut page, FLAGS, flags);
        stamp(&mut page);
        page
    }

    fn stamp(page: &mut [u8]) {
        let size = PageSize::new(16384).unwrap();
        checksum::stamp(page, size, ChecksumAlgorithm::Crc32);
    }

    #[test]
    fn flags_tell_the_maker() {
        for (flags, maker, what) in [
            (0x4021, "MySQL 8.0 or later", "SDI"),
            (0x6021, "MySQL 8.0 or later", "encrypted, it describes itself"),
            (0x2021, "MySQL 5.7 or later", "encrypted"),
            (0x0821, "MySQL 5.7 or later", "general"),
            (0x1000, "MySQL 5.7 or later", "temporary"),
            (0x8000, "a later server", "0x8000"),
            (0x10021, "MariaDB", "page_compressed"),
        ] {
            let found = of_first_page(&page(flags)).unwrap();
            assert!(found.maker.starts_with(maker) && found.what.contains(what), "{flags:#x}: {found}");
        }
        let mut named = page(0x4021);
        put_u32(&mut named, fil::PREV, 80_018);
        assert_eq!(of_first_page(&named), None, "its checksum does not hold");
        stamp(&mut named);
        assert_eq!(of_first_page(&named).unwrap().maker, "MySQL 8.0.18");
        for flags in [0, 0x21, 0x421] {
            assert_eq!(of_first_page(&page(flags)), None);
        }
        assert_eq!(of_first_page(&page(0x4021)[..16000]), None);
        assert_eq!(of_first_page(&[0xFF; 40]), None);
    }

    #[test]
    fn a_crc_at_the_end_is_mariadbs() {
        for (flags, what) in [(0x15, "full_crc32 (flags 0x15)"), (0x35, "full_crc32, page_compressed")] {
            let mut bytes = page(flags);
            assert_eq!(of_first_page(&bytes), None, "the checksum is another's");
            put_u32(&mut bytes, 0, 0);
            let sum = crc32c(&bytes[..16380]);
            put_u32(&mut bytes, 16380, sum);
            let found = of_first_page(&bytes).unwrap();
            assert!(found.maker == "MariaDB" && found.what.contains(what), "{found}");
            bytes[9000] ^= 1;
            assert_eq!(of_first_page(&bytes), None);
        }
    }
}
