//! Character sets of MySQL 5.6, as SHOW CHARACTER SET lists them.

/// A line of SHOW CHARACTER SET.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// Name.
    pub name: &'static str,
    /// What it is.
    pub description: &'static str,
    /// Number of the default collation.
    pub default_collation: u16,
    /// Number of the collation by code; the default one where there is no other.
    pub binary_collation: u16,
    /// Most bytes of a character.
    pub mb_max_len: u8,
}

const fn listed(
    name: &'static str,
    description: &'static str,
    default_collation: u16,
    binary_collation: u16,
    mb_max_len: u8,
) -> Listed {
    Listed { name, description, default_collation, binary_collation, mb_max_len }
}

/// Every character set, in the order of the server.
#[rustfmt::skip]
pub static CHARSETS: [Listed; 40] = [
    listed("big5", "Big5 Traditional Chinese", 1, 84, 2),
    listed("dec8", "DEC West European", 3, 69, 1),
    listed("cp850", "DOS West European", 4, 80, 1),
    listed("hp8", "HP West European", 6, 72, 1),
    listed("koi8r", "KOI8-R Relcom Russian", 7, 74, 1),
    listed("latin1", "cp1252 West European", 8, 47, 1),
    listed("latin2", "ISO 8859-2 Central European", 9, 77, 1),
    listed("swe7", "7bit Swedish", 10, 82, 1),
    listed("ascii", "US ASCII", 11, 65, 1),
    listed("ujis", "EUC-JP Japanese", 12, 91, 3),
    listed("sjis", "Shift-JIS Japanese", 13, 88, 2),
    listed("hebrew", "ISO 8859-8 Hebrew", 16, 71, 1),
    listed("tis620", "TIS620 Thai", 18, 89, 1),
    listed("euckr", "EUC-KR Korean", 19, 85, 2),
    listed("koi8u", "KOI8-U Ukrainian", 22, 75, 1),
    listed("gb2312", "GB2312 Simplified Chinese", 24, 86, 2),
    listed("greek", "ISO 8859-7 Greek", 25, 70, 1),
    listed("cp1250", "Windows Central European", 26, 66, 1),
    listed("gbk", "GBK Simplified Chinese", 28, 87, 2),
    listed("latin5", "ISO 8859-9 Turkish", 30, 78, 1),
    listed("armscii8", "ARMSCII-8 Armenian", 32, 64, 1),
    listed("utf8", "UTF-8 Unicode", 33, 83, 3),
    listed("ucs2", "UCS-2 Unicode", 35, 90, 2),
    listed("cp866", "DOS Russian", 36, 68, 1),
    listed("keybcs2", "DOS Kamenicky Czech-Slovak", 37, 73, 1),
    listed("macce", "Mac Central European", 38, 43, 1),
    listed("macroman", "Mac West European", 39, 53, 1),
    listed("cp852", "DOS Central European", 40, 81, 1),
    listed("latin7", "ISO 8859-13 Baltic", 41, 79, 1),
    listed("utf8mb4", "UTF-8 Unicode", 45, 46, 4),
    listed("cp1251", "Windows Cyrillic", 51, 50, 1),
    listed("utf16", "UTF-16 Unicode", 54, 55, 4),
    listed("utf16le", "UTF-16LE Unicode", 56, 62, 4),
    listed("cp1256", "Windows Arabic", 57, 67, 1),
    listed("cp1257", "Windows Baltic", 59, 58, 1),
    listed("utf32", "UTF-32 Unicode", 60, 61, 4),
    listed("binary", "Binary pseudo charset", 63, 63, 1),
    listed("geostd8", "GEOSTD8 Georgian", 92, 93, 1),
    listed("cp932", "SJIS for Windows Japanese", 95, 96, 2),
    listed("eucjpms", "UJIS for Windows Japanese", 97, 98, 3),
];

/// Number of the default collation of a character set; case does not matter.
pub fn default_collation(name: &str) -> Option<u16> {
    by_name(name).map(|listed| listed.default_collation)
}

/// Number of the collation by code of a character set.
pub(super) fn binary_collation(name: &str) -> Option<u16> {
    by_name(name).map(|listed| listed.binary_collation)
}

fn by_name(name: &str) -> Option<&'static Listed> {
    CHARSETS.iter().find(|listed| listed.name.eq_ignore_ascii_case(name))
}
