//! Character sets: which one a collation belongs to, character boundaries, and decoding to Unicode.
//!
//! | name | bytes per character | decoded here |
//! |---|---|---|
//! | latin1 | 1 | yes: Windows-1252, its five holes are the C1 controls |
//! | ascii | 1 | yes |
//! | utf8, utf8mb4 | 1-3, 1-4 | yes |
//! | ucs2, utf16, utf16le, utf32 | 2, 2 or 4, 2 or 4, 4 | yes, big-endian but for utf16le |
//! | sjis | 1-2 | yes: JIS X 0208, half-width katakana |
//! | binary | 1 | no: bytes are not text |
//! | all others of MySQL 5.6 | 1-3 | no |
//!
//! Malformed text decodes with U+FFFD in the place of each byte that fits nowhere.

mod sjis;

use std::borrow::Cow;

/// A character set of MySQL 5.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charset {
    /// MySQL's name.
    pub name: &'static str,
    /// Fewest bytes of a character.
    pub mb_min_len: u8,
    /// Most bytes of a character.
    pub mb_max_len: u8,
}

const fn charset(name: &'static str, mb_min_len: u8, mb_max_len: u8) -> Charset {
    Charset { name, mb_min_len, mb_max_len }
}

impl Charset {
    /// Raw bytes.
    pub const BINARY: Charset = charset("binary", 1, 1);
    /// Windows-1252.
    pub const LATIN1: Charset = charset("latin1", 1, 1);
    /// UTF-8 of the BMP.
    pub const UTF8: Charset = charset("utf8", 1, 3);
    /// UTF-8.
    pub const UTF8MB4: Charset = charset("utf8mb4", 1, 4);

    /// The character set of a collation of MySQL 5.6.
    pub fn of_collation(id: u16) -> Option<Charset> {
        Some(match id {
            63 => Charset::BINARY,
            5 | 8 | 15 | 31 | 47..=49 | 94 => Charset::LATIN1,
            33 | 83 | 192..=215 | 223 => Charset::UTF8,
            45..=46 | 224..=247 => Charset::UTF8MB4,
            11 | 65 => charset("ascii", 1, 1),
            35 | 90 | 128..=151 | 159 => charset("ucs2", 2, 2),
            54..=55 | 101..=124 => charset("utf16", 2, 4),
            56 | 62 => charset("utf16le", 2, 4),
            60..=61 | 160..=183 => charset("utf32", 4, 4),
            13 | 88 => charset("sjis", 1, 2),
            95..=96 => charset("cp932", 1, 2),
            1 | 84 => charset("big5", 1, 2),
            19 | 85 => charset("euckr", 1, 2),
            24 | 86 => charset("gb2312", 1, 2),
            28 | 87 => charset("gbk", 1, 2),
            12 | 91 => charset("ujis", 1, 3),
            97..=98 => charset("eucjpms", 1, 3),
            3 | 69 => charset("dec8", 1, 1),
            4 | 80 => charset("cp850", 1, 1),
            6 | 72 => charset("hp8", 1, 1),
            7 | 74 => charset("koi8r", 1, 1),
            2 | 9 | 21 | 27 | 77 => charset("latin2", 1, 1),
            10 | 82 => charset("swe7", 1, 1),
            16 | 71 => charset("hebrew", 1, 1),
            18 | 89 => charset("tis620", 1, 1),
            22 | 75 => charset("koi8u", 1, 1),
            25 | 70 => charset("greek", 1, 1),
            26 | 34 | 44 | 66 | 99 => charset("cp1250", 1, 1),
            30 | 78 => charset("latin5", 1, 1),
            32 | 64 => charset("armscii8", 1, 1),
            36 | 68 => charset("cp866", 1, 1),
            37 | 73 => charset("keybcs2", 1, 1),
            38 | 43 => charset("macce", 1, 1),
            39 | 53 => charset("macroman", 1, 1),
            40 | 81 => charset("cp852", 1, 1),
            20 | 41..=42 | 79 => charset("latin7", 1, 1),
            14 | 23 | 50..=52 => charset("cp1251", 1, 1),
            57 | 67 => charset("cp1256", 1, 1),
            29 | 58..=59 => charset("cp1257", 1, 1),
            92..=93 => charset("geostd8", 1, 1),
            _ => return None,
        })
    }

    /// How dictionary and export files store both lengths: maximum * 5 + minimum.
    pub fn mb_min_max_len(self) -> u32 {
        u32::from(self.mb_max_len) * 5 + u32::from(self.mb_min_len)
    }

    /// The text in Unicode; `None` if the character set cannot be decoded here (show hexadecimal digits then).
    pub fn decode<'a>(self, bytes: &'a [u8]) -> Option<Cow<'a, str>> {
        Some(match self.name {
            "utf8" | "utf8mb4" => decode_utf8(bytes),
            "latin1" | "ascii" if bytes.is_ascii() => decode_utf8(bytes),
            "latin1" => Cow::Owned(bytes.iter().map(|&b| latin1(b)).collect()),
            "ascii" => decode_by(bytes, |s| s[0].is_ascii().then_some((u32::from(s[0]), 1))),
            "ucs2" => decode_by(bytes, next_ucs2),
            "utf16" => decode_by(bytes, next_utf16),
            "utf16le" => decode_by(bytes, next_utf16le),
            "utf32" => decode_by(bytes, next_utf32),
            "sjis" => decode_by(bytes, next_sjis),
            _ => return None,
        })
    }

    /// Bytes of the longest prefix of `bytes` with at most `chars` whole characters; what an index on a column
    /// prefix stores.
    pub fn prefix_len(self, bytes: &[u8], chars: usize) -> usize {
        if self.mb_max_len == self.mb_min_len {
            return bytes.len().min(chars.saturating_mul(usize::from(self.mb_max_len)));
        }
        let mut len = 0;
        for _ in 0..chars {
            let rest = &bytes[len..];
            if rest.is_empty() {
                break;
            }
            // A malformed byte counts as a character.
            len += self.char_len(rest).unwrap_or(1);
        }
        len
    }

    /// Characters in a text; a malformed byte counts as one.
    pub fn char_count(self, bytes: &[u8]) -> usize {
        let (mut at, mut chars) = (0, 0);
        while at < bytes.len() {
            at += self.char_len(&bytes[at..]).unwrap_or(1);
            chars += 1;
        }
        chars
    }

    /// Bytes of the whole characters at the start of a piece of text: what is left may be the start of a character
    /// that goes on in the next piece.
    pub fn complete_len(self, bytes: &[u8]) -> usize {
        let most = usize::from(self.mb_max_len);
        if most == 1 {
            return bytes.len();
        }
        let mut at = 0;
        while at < bytes.len() {
            match self.char_len(&bytes[at..]) {
                Some(len) => at += len,
                None if bytes.len() - at < most => break,
                None => at += 1,
            }
        }
        at
    }

    /// Bytes of the first character of a text that is not empty; `None` if it is malformed.
    fn char_len(self, s: &[u8]) -> Option<usize> {
        match self.name {
            "utf8" | "utf8mb4" => next_utf8(s).map(|(_, len)| len),
            "ucs2" => (s.len() >= 2).then_some(2),
            "utf16" => next_utf16(s).map(|(_, len)| len),
            "utf16le" => next_utf16le(s).map(|(_, len)| len),
            "utf32" => (s.len() >= 4).then_some(4),
            "sjis" | "cp932" => sjis_len(s),
            "big5" => two_byte(s, 0xA1..=0xF9, |t| matches!(t, 0x40..=0x7E | 0xA1..=0xFE)),
            "gbk" => two_byte(s, 0x81..=0xFE, |t| matches!(t, 0x40..=0x7E | 0x80..=0xFE)),
            "gb2312" => two_byte(s, 0xA1..=0xF7, |t| matches!(t, 0xA1..=0xFE)),
            "euckr" => two_byte(s, 0x81..=0xFE, |t| matches!(t, 0x41..=0x5A | 0x61..=0x7A | 0x81..=0xFE)),
            "ujis" | "eucjpms" => euc_jp_len(s),
            _ => Some(1),
        }
    }

    /// The space that pads CHAR columns and comparisons.
    pub fn space(self) -> &'static [u8] {
        match self.name {
            "ucs2" | "utf16" => b"\0 ",
            "utf16le" => b" \0",
            "utf32" => b"\0\0\0 ",
            _ => b" ",
        }
    }
}

fn decode_utf8(bytes: &[u8]) -> Cow<'_, str> {
    // The standard library takes a broken sequence as one unit, this module as bytes; nobody relies on the count.
    String::from_utf8_lossy(bytes)
}

fn decode_by(bytes: &[u8], next: impl Fn(&[u8]) -> Option<(u32, usize)>) -> Cow<'static, str> {
    let mut out = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while !rest.is_empty() {
        let (c, len) = next(rest).unwrap_or((0xFFFD, 1));
        out.push(char::from_u32(c).unwrap_or('\u{FFFD}'));
        rest = &rest[len..];
    }
    Cow::Owned(out)
}

fn latin1(byte: u8) -> char {
    /// Windows-1252's characters of 0x80..=0x9F; where it has none, the C1 control of that number.
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}',
        '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9F => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// The first UTF-8 character (of at most four bytes) and its length; `None` if malformed.
#[inline]
pub(crate) fn next_utf8(s: &[u8]) -> Option<(u32, usize)> {
    let tail = |i: usize| s.get(i).filter(|&&b| b & 0xC0 == 0x80).map(|&b| u32::from(b & 0x3F));
    let first = u32::from(s[0]);
    match s[0] {
        0..0x80 => Some((first, 1)),
        0xC2..0xE0 => Some(((first & 0x1F) << 6 | tail(1)?, 2)),
        0xE0..0xF0 => {
            let c = (first & 0x0F) << 12 | tail(1)? << 6 | tail(2)?;
            (c >= 0x800).then_some((c, 3))
        }
        0xF0..0xF5 => {
            let c = (first & 0x07) << 18 | tail(1)? << 12 | tail(2)? << 6 | tail(3)?;
            (0x1_0000..0x11_0000).contains(&c).then_some((c, 4))
        }
        _ => None,
    }
}

pub(crate) fn next_ucs2(s: &[u8]) -> Option<(u32, usize)> {
    let &[high, low, ..] = s else { return None };
    Some((u32::from(high) << 8 | u32::from(low), 2))
}

pub(crate) fn next_utf16(s: &[u8]) -> Option<(u32, usize)> {
    let (first, _) = next_ucs2(s)?;
    match first {
        0xD800..0xDC00 => {
            let (second, _) = next_ucs2(&s[2..]).filter(|(c, _)| (0xDC00..0xE000).contains(c))?;
            Some((0x1_0000 + ((first & 0x3FF) << 10 | second & 0x3FF), 4))
        }
        0xDC00..0xE000 => None,
        _ => Some((first, 2)),
    }
}

fn next_utf16le(s: &[u8]) -> Option<(u32, usize)> {
    let swapped = match *s {
        [a, b, c, d, ..] => [b, a, d, c],
        [a, b, ..] => return next_utf16(&[b, a]),
        _ => return None,
    };
    next_utf16(&swapped)
}

pub(crate) fn next_utf32(s: &[u8]) -> Option<(u32, usize)> {
    let &[0, plane, high, low, ..] = s else { return None };
    let c = u32::from(plane) << 16 | u32::from(high) << 8 | u32::from(low);
    (c < 0x11_0000).then_some((c, 4))
}

/// Bytes of the first Shift_JIS character; `None` if malformed.
pub(crate) fn sjis_len(s: &[u8]) -> Option<usize> {
    match s[0] {
        0..0x80 | 0xA1..0xE0 => Some(1),
        _ => two_byte_of(
            s,
            |lead| matches!(lead, 0x81..=0x9F | 0xE0..=0xFC),
            |t| matches!(t, 0x40..=0x7E | 0x80..=0xFC),
        ),
    }
}

fn next_sjis(s: &[u8]) -> Option<(u32, usize)> {
    match (s[0], sjis_len(s)?) {
        (byte, 1) if byte < 0x80 => Some((u32::from(byte), 1)),
        (byte, 1) => Some((0xFF61 + u32::from(byte - 0xA1), 1)),
        (lead, _) => {
            let row = usize::from(if lead < 0xA0 { lead - 0x81 } else { lead - 0xE0 + 31 });
            let column = usize::from(if s[1] < 0x7F { s[1] - 0x40 } else { s[1] - 0x41 });
            Some((sjis::ROWS[row].chars().nth(column).map_or(0xFFFD, u32::from), 2))
        }
    }
}

fn two_byte_of(s: &[u8], lead: impl Fn(u8) -> bool, trail: impl Fn(u8) -> bool) -> Option<usize> {
    (lead(s[0]) && s.get(1).is_some_and(|&t| trail(t))).then_some(2)
}

fn two_byte(s: &[u8], lead: std::ops::RangeInclusive<u8>, trail: impl Fn(u8) -> bool) -> Option<usize> {
    if s[0] < 0x80 { Some(1) } else { two_byte_of(s, |l| lead.contains(&l), trail) }
}

fn euc_jp_len(s: &[u8]) -> Option<usize> {
    let high = |i: usize| s.get(i).is_some_and(|&b| b >= 0xA1);
    match s[0] {
        0..0x80 => Some(1),
        0x8F => (high(1) && high(2)).then_some(3),
        0x8E => high(1).then_some(2),
        _ => (high(0) && high(1)).then_some(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_base::checksum::crc32c;

    fn decode(collation: u16, bytes: &[u8]) -> String {
        Charset::of_collation(collation).unwrap().decode(bytes).unwrap().into_owned()
    }

    #[test]
    fn every_decoder_reads_its_own_form() {
        assert_eq!(decode(8, b"caf\xE9 \x80\x81\x9F\xFF"), "café €\u{81}Ÿÿ");
        assert_eq!(decode(11, b"a\x80"), "a\u{FFFD}");
        assert_eq!(decode(33, "é€".as_bytes()), "é€");
        assert_eq!(decode(45, "😀".as_bytes()), "😀");
        assert_eq!(decode(35, b"\x00u\x20\xAC\x00"), "u€\u{FFFD}");
        assert_eq!(decode(54, b"\xD8\x3D\xDE\x00\x00a\xDE\x00"), "😀a\u{FFFD}\u{FFFD}");
        assert_eq!(decode(56, b"\x3D\xD8\x00\xDEa\x00"), "😀a");
        assert_eq!(decode(60, b"\x00\x01\xF6\x00"), "😀");
        assert_eq!(decode(13, b"sjis\xB1\x82\xA0\x81\x5F"), "sjisｱあ\\");
        assert_eq!(Charset::BINARY.decode(b"a"), None);
        assert_eq!(Charset::of_collation(0), None);
    }

    #[test]
    fn sjis_is_that_of_a_real_server() {
        // CRC-32C of CONVERT(.. USING utf8) of MySQL 5.6.24, U+FFFD for its question marks.
        let mut all = Vec::new();
        for lead in (0x81..=0x9F).chain(0xE0..=0xFC) {
            for trail in (0x40..=0x7E).chain(0x80..=0xFC) {
                let c = next_sjis(&[lead, trail]).unwrap().0;
                vaquita_base::codec::push_u16(&mut all, c as u16);
            }
        }
        assert_eq!(crc32c(&all), 0xC322_B4AC);
    }

    #[test]
    fn prefixes_are_whole_characters() {
        let text = "aé€😀b".as_bytes();
        let cuts: Vec<_> = (0..7).map(|n| Charset::UTF8MB4.prefix_len(text, n)).collect();
        assert_eq!(cuts, [0, 1, 3, 6, 10, 11, 11]);
        assert_eq!(Charset::LATIN1.prefix_len(b"abc", 2), 2);
        let ucs2 = Charset::of_collation(35).unwrap();
        assert_eq!(ucs2.prefix_len(b"\0a\0b\0c", 2), 4);
        let sjis = Charset::of_collation(13).unwrap();
        assert_eq!((sjis.prefix_len(b"\x82\xA0\xB1a", 2), sjis.char_count(b"\x82\xA0\xB1a")), (3, 3));
    }

    #[test]
    fn pieces_are_cut_between_characters() {
        for (collation, text) in
            [(45, "aé€😀b".as_bytes()), (54, b"\0a\xD8\x3D\xDE\0\0b"), (13, b"\x82\xA0\xB1a\x82\xA0")]
        {
            let charset = Charset::of_collation(collation).unwrap();
            let whole = charset.decode(text).unwrap();
            for cut in 0..=text.len() {
                let first = charset.complete_len(&text[..cut]);
                assert!(cut - first < usize::from(charset.mb_max_len));
                let pieces = [&text[..first], &text[first..]].map(|p| charset.decode(p).unwrap());
                assert_eq!(pieces.concat(), whole, "{collation} {cut}");
            }
        }
        assert_eq!(Charset::UTF8.complete_len(b"a\xFFbcd"), 5, "what is malformed will not get better");
    }

    #[test]
    fn lengths_as_stored_in_metadata() {
        for (id, stored) in [(8, 6), (33, 16), (45, 21), (35, 12), (13, 11)] {
            assert_eq!(Charset::of_collation(id).unwrap().mb_min_max_len(), stored);
        }
    }
}
