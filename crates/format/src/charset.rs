//! Character sets: which one a collation belongs to, character boundaries, and decoding to Unicode.
//!
//! | name | bytes per character | decoded here |
//! |---|---|---|
//! | latin1 | 1 | yes: Windows-1252, its five holes are the C1 controls |
//! | ascii | 1 | yes |
//! | utf8, utf8mb4 | 1-3, 1-4 | yes |
//! | ucs2, utf16, utf16le, utf32 | 2, 2 or 4, 2 or 4, 4 | yes, big-endian but for utf16le |
//! | sjis | 1-2 | yes: JIS X 0208, half-width katakana |
//! | big5 cp932 eucjpms euckr gb2312 gbk ujis | 1-2 or 1-3 | yes, by the packed tables |
//! | armscii8 geostd8 keybcs2 swe7 | 1 | yes, by the packed tables |
//! | cp850 cp852 cp866 cp1250 cp1251 cp1256 cp1257 dec8 greek hebrew hp8 koi8r koi8u latin2 latin5 latin7 macce macroman tis620 | 1 | yes |
//! | binary | 1 | no: bytes are not text |
//!
//! Malformed text decodes with U+FFFD in the place of each byte that fits nowhere.

mod case;
mod check;
mod convert;
mod eight_bit;
pub mod list;
mod packed;
mod sjis;

use std::borrow::Cow;
use std::sync::OnceLock;

pub use case::{Case, CaseVersion, change as change_case};
pub use check::{bad_value, is_same_in};
pub use convert::{Converted, convert};
use packed::EastAsian;
use vaquita_base::codec;

/// Code of malformed byte 0; above every character's.
pub(crate) const MALFORMED: u32 = 0x20_0000;

/// A character set of MySQL 5.6.
#[derive(Debug, Clone, Copy)]
pub struct Charset {
    /// MySQL's name.
    pub name: &'static str,
    /// Fewest bytes of a character.
    pub mb_min_len: u8,
    /// Most bytes of a character.
    pub mb_max_len: u8,
    form: Form,
}

/// How characters become bytes.
#[derive(Debug, Clone, Copy)]
enum Form {
    Binary,
    Ascii,
    Latin1,
    /// Another 8-bit character set: the characters of bytes above ASCII.
    EightBit(&'static [u16; 128]),
    /// An 8-bit one of the packed tables.
    Packed(packed::EightBit),
    Utf8,
    Utf8mb4,
    Ucs2,
    Utf16,
    Utf16le,
    Utf32,
    Sjis,
    /// An East Asian one of the packed tables.
    EastAsian(EastAsian),
}

impl PartialEq for Charset {
    fn eq(&self, other: &Charset) -> bool {
        self.name == other.name
    }
}

impl Eq for Charset {}

const fn charset(name: &'static str, mb_min_len: u8, mb_max_len: u8, form: Form) -> Charset {
    Charset { name, mb_min_len, mb_max_len, form }
}

const fn eight_bit(name: &'static str, high: &'static [u16; 128]) -> Charset {
    charset(name, 1, 1, Form::EightBit(high))
}

impl Charset {
    /// Raw bytes.
    pub const BINARY: Charset = charset("binary", 1, 1, Form::Binary);
    /// Seven bits; bytes above are kept but mean nothing.
    pub const ASCII: Charset = charset("ascii", 1, 1, Form::Ascii);
    /// Windows-1252.
    pub const LATIN1: Charset = charset("latin1", 1, 1, Form::Latin1);
    /// UTF-8 of the BMP.
    pub const UTF8: Charset = charset("utf8", 1, 3, Form::Utf8);
    /// Big5.
    pub(crate) const BIG5: Charset = charset("big5", 1, 2, Form::EastAsian(EastAsian::Big5));
    /// GBK.
    pub(crate) const GBK: Charset = charset("gbk", 1, 2, Form::EastAsian(EastAsian::Gbk));
    /// UTF-8.
    pub const UTF8MB4: Charset = charset("utf8mb4", 1, 4, Form::Utf8mb4);

    /// The character set of a collation of MySQL 5.6.
    pub fn of_collation(id: u16) -> Option<Charset> {
        Some(match id {
            63 => Charset::BINARY,
            5 | 8 | 15 | 31 | 47..=49 | 94 => Charset::LATIN1,
            33 | 83 | 192..=215 | 223 => Charset::UTF8,
            45..=46 | 224..=247 | 255 => Charset::UTF8MB4,
            11 | 65 => Charset::ASCII,
            35 | 90 | 128..=151 | 159 => charset("ucs2", 2, 2, Form::Ucs2),
            54..=55 | 101..=124 => charset("utf16", 2, 4, Form::Utf16),
            56 | 62 => charset("utf16le", 2, 4, Form::Utf16le),
            60..=61 | 160..=183 => charset("utf32", 4, 4, Form::Utf32),
            13 | 88 => charset("sjis", 1, 2, Form::Sjis),
            95..=96 => charset("cp932", 1, 2, Form::EastAsian(EastAsian::Cp932)),
            1 | 84 => Charset::BIG5,
            19 | 85 => charset("euckr", 1, 2, Form::EastAsian(EastAsian::Euckr)),
            24 | 86 => charset("gb2312", 1, 2, Form::EastAsian(EastAsian::Gb2312)),
            28 | 87 => Charset::GBK,
            12 | 91 => charset("ujis", 1, 3, Form::EastAsian(EastAsian::Ujis)),
            97..=98 => charset("eucjpms", 1, 3, Form::EastAsian(EastAsian::Eucjpms)),
            3 | 69 => eight_bit("dec8", &eight_bit::DEC8),
            4 | 80 => eight_bit("cp850", &eight_bit::CP850),
            6 | 72 => eight_bit("hp8", &eight_bit::HP8),
            7 | 74 => eight_bit("koi8r", &eight_bit::KOI8R),
            2 | 9 | 21 | 27 | 77 => eight_bit("latin2", &eight_bit::LATIN2),
            10 | 82 => charset("swe7", 1, 1, Form::Packed(packed::EightBit::Swe7)),
            16 | 71 => eight_bit("hebrew", &eight_bit::HEBREW),
            18 | 89 => eight_bit("tis620", &eight_bit::TIS620),
            22 | 75 => eight_bit("koi8u", &eight_bit::KOI8U),
            25 | 70 => eight_bit("greek", &eight_bit::GREEK),
            26 | 34 | 44 | 66 | 99 => eight_bit("cp1250", &eight_bit::CP1250),
            30 | 78 => eight_bit("latin5", &eight_bit::LATIN5),
            32 | 64 => charset("armscii8", 1, 1, Form::Packed(packed::EightBit::Armscii8)),
            36 | 68 => eight_bit("cp866", &eight_bit::CP866),
            37 | 73 => charset("keybcs2", 1, 1, Form::Packed(packed::EightBit::Keybcs2)),
            38 | 43 => eight_bit("macce", &eight_bit::MACCE),
            39 | 53 => eight_bit("macroman", &eight_bit::MACROMAN),
            40 | 81 => eight_bit("cp852", &eight_bit::CP852),
            20 | 41..=42 | 79 => eight_bit("latin7", &eight_bit::LATIN7),
            14 | 23 | 50..=52 => eight_bit("cp1251", &eight_bit::CP1251),
            57 | 67 => eight_bit("cp1256", &eight_bit::CP1256),
            29 | 58..=59 => eight_bit("cp1257", &eight_bit::CP1257),
            92..=93 => charset("geostd8", 1, 1, Form::Packed(packed::EightBit::Geostd8)),
            _ => return None,
        })
    }

    /// The character set of a collation of MySQL 5.6 or of MariaDB 10.11, whose own collations have numbers from 576 on.
    /// Texts of these can be read; their order is not known.
    pub fn of_any_collation(id: u16) -> Option<Charset> {
        /// A collation of the character set, among those of MySQL 5.6.
        const UTF8: u16 = 33;
        const UTF8MB4: u16 = 45;
        const UCS2: u16 = 35;
        const UTF16: u16 = 54;
        const UTF32: u16 = 60;
        Charset::of_collation(match id {
            576..=578 | 2048..=2303 => UTF8,
            608..=610 | 2304..=2559 => UTF8MB4,
            640..=642 | 2560..=2815 => UCS2,
            672..=674 | 2816..=3071 => UTF16,
            736..=738 | 3072..=3327 => UTF32,
            // Without padding: the number of the one with padding is this much lower.
            1024..=2047 => id - 1024,
            _ => id,
        })
    }

    /// How dictionary and export files store both lengths: maximum * 5 + minimum.
    pub fn mb_min_max_len(self) -> u32 {
        u32::from(self.mb_max_len) * 5 + u32::from(self.mb_min_len)
    }

    /// Number of its default collation.
    pub fn default_collation(self) -> u16 {
        list::default_collation(self.name).unwrap_or(63)
    }

    /// Number of its collation by code.
    pub fn binary_collation(self) -> u16 {
        list::binary_collation(self.name).unwrap_or(63)
    }

    /// Whether ASCII characters have their own bytes, and these bytes always mean them: in all but the sets of whole
    /// 16- and 32-bit units, and `swe7`, which has letters in the place of signs.
    pub fn is_ascii_based(self) -> bool {
        self.mb_min_len == 1 && !matches!(self.form, Form::Packed(packed::EightBit::Swe7))
    }

    /// Whether every character of it is one of Unicode's by number: converting to it from anything loses nothing
    /// (`utf8` and `ucs2` apart, for what lies above the BMP).
    pub fn is_unicode(self) -> bool {
        matches!(
            self.form,
            Form::Utf8 | Form::Utf8mb4 | Form::Ucs2 | Form::Utf16 | Form::Utf16le | Form::Utf32
        )
    }

    /// The text in Unicode; `None` if the character set cannot be decoded here (show hexadecimal digits then).
    pub fn decode<'a>(self, bytes: &'a [u8]) -> Option<Cow<'a, str>> {
        Some(match self.form {
            Form::Utf8 | Form::Utf8mb4 => decode_utf8(bytes),
            Form::Latin1 | Form::Ascii if bytes.is_ascii() => decode_utf8(bytes),
            Form::Latin1 => Cow::Owned(bytes.iter().map(|&b| latin1(b)).collect()),
            _ if self.is_convertible() => decode_by(bytes, |s| self.next(s)),
            _ => return None,
        })
    }

    /// Whether its characters can be told in Unicode: in all but `binary`.
    pub fn is_convertible(self) -> bool {
        !matches!(self.form, Form::Binary)
    }

    /// Unicode code point and length of the first character of a text that is not empty; `None` if it is malformed or
    /// not in Unicode.
    #[inline]
    pub fn next(self, s: &[u8]) -> Option<(u32, usize)> {
        match self.form {
            Form::Utf8 => next_utf8(s).filter(|&(code, _)| code <= 0xFFFF),
            Form::Utf8mb4 => next_utf8(s),
            Form::Latin1 => Some((u32::from(latin1(s[0])), 1)),
            Form::EightBit(high) if s[0] >= 0x80 => {
                Some((u32::from(high[usize::from(s[0] - 0x80)]), 1)).filter(|&(code, _)| code != 0)
            }
            Form::Ucs2 => next_ucs2(s),
            Form::Utf16 => next_utf16(s),
            Form::Utf16le => next_utf16le(s),
            Form::Utf32 => next_utf32(s),
            Form::Sjis => next_sjis(s).filter(|&(code, _)| code != 0xFFFD),
            Form::EastAsian(set) => set.next(s),
            Form::Packed(set) => set.decode(s[0]).map(|code| (code, 1)),
            _ => s[0].is_ascii().then_some((u32::from(s[0]), 1)),
        }
    }

    /// Appends the character with this code point; `false` if the character set has none.
    #[inline]
    pub fn push(self, code: u32, out: &mut Vec<u8>) -> bool {
        match self.form {
            Form::Utf8 if code <= 0xFFFF => push_utf8(code, out),
            Form::Utf8mb4 if code <= 0x10_FFFF => push_utf8(code, out),
            Form::Latin1 => match latin1_byte(code) {
                Some(byte) => out.push(byte),
                None => return false,
            },
            Form::EightBit(high) if code >= 0x80 => match high.iter().position(|&c| u32::from(c) == code) {
                Some(at) => out.push(0x80 + at as u8),
                None => return false,
            },
            Form::Ucs2 if code <= 0xFFFF => codec::push_uint(out, 2, u64::from(code)),
            Form::Utf16 | Form::Utf16le => return push_utf16(code, matches!(self.form, Form::Utf16le), out),
            Form::Utf32 if code <= 0x10_FFFF => codec::push_uint(out, 4, u64::from(code)),
            Form::Utf8 | Form::Utf8mb4 | Form::Ucs2 | Form::Utf32 => return false,
            Form::Sjis if code >= 0x80 => return push_sjis(code, out),
            Form::EastAsian(set) => return set.push(code, out),
            Form::Packed(set) => match set.encode(code) {
                Some(byte) => out.push(byte),
                None => return false,
            },
            _ if code < 0x80 => out.push(code as u8),
            _ => return false,
        }
        true
    }

    /// A number for the first character of a text that is not empty, and its length: Unicode's where the character set
    /// is Unicode's, otherwise its bytes as a number (so ASCII characters have their own). A malformed byte is a
    /// character beyond all others.
    #[inline]
    pub fn code(self, s: &[u8]) -> (u32, usize) {
        let decoded = match self.form {
            Form::Utf8 | Form::Utf8mb4 => next_utf8(s),
            Form::Ucs2 => next_ucs2(s),
            Form::Utf16 => next_utf16(s),
            Form::Utf16le => next_utf16le(s),
            Form::Utf32 => next_utf32(s),
            _ => self
                .char_len(s)
                .map(|len| (s[..len].iter().fold(0, |code, &byte| code << 8 | u32::from(byte)), len)),
        };
        decoded.unwrap_or((MALFORMED + u32::from(s[0]), 1))
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
        if self.mb_max_len == 1 {
            return bytes.len();
        }
        if self.is_utf8() {
            return check::utf8_char_count(bytes);
        }
        let (mut at, mut chars) = (0, 0);
        while at < bytes.len() {
            at += self.char_len(&bytes[at..]).unwrap_or(1);
            chars += 1;
        }
        chars
    }

    /// The characters of `bytes` after the first `from`, at most `count` of them.
    pub fn substring(self, bytes: &[u8], from: usize, count: usize) -> &[u8] {
        let rest = &bytes[self.prefix_len(bytes, from)..];
        &rest[..self.prefix_len(rest, count)]
    }

    /// Whether it is `utf8` or `utf8mb4`.
    #[inline]
    pub fn is_utf8(self) -> bool {
        matches!(self.form, Form::Utf8 | Form::Utf8mb4)
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
    #[inline]
    pub fn char_len(self, s: &[u8]) -> Option<usize> {
        match self.form {
            Form::Utf8 | Form::Utf8mb4 => next_utf8(s).map(|(_, len)| len),
            Form::Ucs2 => (s.len() >= 2).then_some(2),
            Form::Utf16 => next_utf16(s).map(|(_, len)| len),
            Form::Utf16le => next_utf16le(s).map(|(_, len)| len),
            Form::Utf32 => (s.len() >= 4).then_some(4),
            Form::Sjis => sjis_len(s),
            Form::EastAsian(set) => set.char_len(s),
            Form::Binary | Form::Ascii | Form::Latin1 | Form::EightBit(_) | Form::Packed(_) => Some(1),
        }
    }

    /// The space that pads CHAR columns and comparisons.
    pub fn space(self) -> &'static [u8] {
        match self.form {
            Form::Ucs2 | Form::Utf16 => b"\0 ",
            Form::Utf16le => b" \0",
            Form::Utf32 => b"\0\0\0 ",
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

/// Windows-1252's characters of 0x80..=0x9F; where it has none, the C1 control of that number.
const LATIN1_HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
];

#[inline]
fn latin1(byte: u8) -> char {
    match byte {
        0x80..=0x9F => LATIN1_HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

#[inline]
fn latin1_byte(code: u32) -> Option<u8> {
    match code {
        0..0x80 | 0xA0..0x100 => Some(code as u8),
        _ => {
            let at = LATIN1_HIGH.iter().position(|&c| u32::from(c) == code)?;
            Some(0x80 + at as u8)
        }
    }
}

fn push_utf8(code: u32, out: &mut Vec<u8>) {
    let tail = |shift: u32| 0x80 | (code >> shift & 0x3F) as u8;
    match code {
        0..0x80 => out.push(code as u8),
        0x80..0x800 => out.extend_from_slice(&[0xC0 | (code >> 6) as u8, tail(0)]),
        // Halves of surrogate pairs, too: MySQL knows no better.
        0x800..0x1_0000 => out.extend_from_slice(&[0xE0 | (code >> 12) as u8, tail(6), tail(0)]),
        _ => out.extend_from_slice(&[0xF0 | (code >> 18) as u8, tail(12), tail(6), tail(0)]),
    }
}

fn push_utf16(code: u32, little_endian: bool, out: &mut Vec<u8>) -> bool {
    let mut unit = |unit: u32| {
        let (high, low) = ((unit >> 8) as u8, unit as u8);
        out.extend_from_slice(&if little_endian { [low, high] } else { [high, low] });
    };
    match code {
        0xD800..0xE000 | 0x11_0000.. => return false,
        0..0x1_0000 => unit(code),
        _ => {
            unit(0xD800 | (code - 0x1_0000) >> 10);
            unit(0xDC00 | (code - 0x1_0000) & 0x3FF);
        }
    }
    true
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

pub(crate) fn next_utf16le(s: &[u8]) -> Option<(u32, usize)> {
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

/// Half-width katakana are single bytes; of the others the row and column of each is looked up.
fn push_sjis(code: u32, out: &mut Vec<u8>) -> bool {
    static BACK: OnceLock<Vec<(u16, u16)>> = OnceLock::new();
    if (0xFF61..=0xFF9F).contains(&code) {
        out.push((code - 0xFF61) as u8 + 0xA1);
        return true;
    }
    let back = BACK.get_or_init(|| {
        let leads = (0x81..=0x9Fu16).chain(0xE0..=0xFC);
        let codes =
            leads.flat_map(|lead| (0x40..=0x7Eu16).chain(0x80..=0xFC).map(move |trail| lead << 8 | trail));
        let decoded = codes.filter_map(|bytes| {
            let (c, _) = next_sjis(&[(bytes >> 8) as u8, bytes as u8])?;
            (c != 0xFFFD).then_some((c as u16, bytes))
        });
        let mut back: Vec<_> = decoded.collect();
        back.sort_unstable();
        back
    });
    let at = back.partition_point(|&(c, _)| u32::from(c) < code);
    let found = back.get(at).filter(|&&(c, _)| u32::from(c) == code);
    if let Some(&(_, bytes)) = found {
        codec::push_u16(out, bytes);
    }
    found.is_some()
}

fn two_byte_of(s: &[u8], lead: impl Fn(u8) -> bool, trail: impl Fn(u8) -> bool) -> Option<usize> {
    (lead(s[0]) && s.get(1).is_some_and(|&t| trail(t))).then_some(2)
}

fn two_byte(s: &[u8], lead: std::ops::RangeInclusive<u8>, trail: impl Fn(u8) -> bool) -> Option<usize> {
    if s[0] < 0x80 { Some(1) } else { two_byte_of(s, |l| lead.contains(&l), trail) }
}

fn euc_jp_len(s: &[u8]) -> Option<usize> {
    let high = |i: usize| s.get(i).is_some_and(|&b| matches!(b, 0xA1..=0xFE));
    match s[0] {
        0..0x80 => Some(1),
        0x8F => (high(1) && high(2)).then_some(3),
        0x8E => s.get(1).is_some_and(|&b| matches!(b, 0xA0..=0xDF)).then_some(2),
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
        // And back, but for the sign that is ASCII's.
        let sjis = Charset::of_collation(13).unwrap();
        for text in ["日本", "ｱｲ", "あＡ亜①"] {
            let (mut there, mut back) = (Vec::new(), Vec::new());
            let lost = convert(Charset::UTF8, sjis, text.as_bytes(), &mut there).replaced;
            convert(sjis, Charset::UTF8, &there, &mut back);
            assert_eq!(String::from_utf8(back).unwrap(), text.replace('①', "?"), "{there:x?}");
            assert_eq!(lost, usize::from(text.contains('①')));
        }
    }

    #[test]
    fn east_asian_sets_are_those_of_a_real_server() {
        // CRC-32C of CONVERT(.. USING ucs2) of every character above ASCII, of MySQL 5.6.24 (0: none), and of CONVERT of
        // every character of the BMP to the set, in three bytes.
        let sets: [(&str, u32, u32); 7] = [
            ("big5", 0x3F9A_2CE2, 0x7F0D_249E),
            ("cp932", 0x57DB_10A0, 0x4EEC_3136),
            ("eucjpms", 0xC218_184F, 0x7D9A_F10B),
            ("euckr", 0x6A3A_004B, 0xE8B5_652B),
            ("gb2312", 0x0E00_24E4, 0x7711_CFDE),
            ("gbk", 0x0C97_326C, 0x5DB2_934D),
            ("ujis", 0x96A9_C222, 0x297B_D925),
        ];
        for (name, there, back) in sets {
            let charset = Charset::by_name(name).unwrap();
            let (mut all, mut text) = (Vec::new(), Vec::new());
            for code in (0x80..0x1_0000u32).chain(0x8F_0080..0x90_0000) {
                text.clear();
                let len = if code > 0xFFFF { 3 } else { 1 + usize::from(code > 0xFF) };
                codec::push_uint(&mut text, len, code.into());
                if charset.char_len(&text) == Some(len) {
                    codec::push_u16(&mut all, charset.next(&text).map_or(0, |(c, _)| c as u16));
                }
            }
            assert_eq!(crc32c(&all), there, "{name}");
            all.clear();
            for c in (0x80..0xD800).chain(0xE000..0x1_0000) {
                text.clear();
                charset.push(c, &mut text);
                let code = text.iter().fold(0, |code, &byte| code << 8 | u64::from(byte));
                codec::push_uint(&mut all, 3, code);
            }
            assert_eq!(crc32c(&all), back, "{name}");
        }
    }

    #[test]
    fn letters_of_swe7_stand_where_ascii_has_signs() {
        let swe7 = Charset::by_name("swe7").unwrap();
        assert_eq!(swe7.decode(b"Sm}r[").unwrap(), "SmårÄ");
        let mut out = Vec::new();
        let outcome = convert(Charset::UTF8, swe7, "[Å{".as_bytes(), &mut out);
        assert_eq!((out.as_slice(), outcome.replaced), (&b"?]?"[..], 2));
        let armenian = Charset::by_name("armscii8").unwrap();
        assert_eq!(armenian.decode(b"\xB2\xB3").unwrap(), "Աա");
    }

    #[test]
    fn eight_bit_sets_are_those_of_a_real_server() {
        // CRC-32C of CONVERT(.. USING utf16) of bytes 0x80 and above of each set, on MySQL 5.6.24.
        let sets = "dec8 cp850 hp8 koi8r latin2 hebrew tis620 koi8u greek cp1250 latin5 cp866 macce macroman cp852 \
                    latin7 cp1251 cp1256 cp1257";
        let mut all = Vec::new();
        for name in sets.split(' ') {
            let charset = list::default_collation(name).and_then(Charset::of_collation).unwrap();
            let none = if name == "tis620" { 0xFFFD } else { u32::from(b'?') };
            for byte in 0x80..=0xFFu8 {
                let code = charset.next(&[byte]).map(|(code, _)| code);
                vaquita_base::codec::push_u16(&mut all, code.unwrap_or(none) as u16);
                if let Some(code) = code {
                    let mut back = Vec::new();
                    assert!(charset.push(code, &mut back) && back == [byte], "{name} {byte:x}");
                }
            }
        }
        assert_eq!(crc32c(&all), 0x1103_035A);
        assert_eq!(Charset::by_name("KOI8R"), Charset::of_collation(7));
        let upper = |name: &str, text: &[u8]| {
            let mut out = Vec::new();
            let charset = Charset::by_name(name).unwrap();
            charset.change_case(Case::Upper, CaseVersion::V300, text, &mut out);
            out
        };
        assert_eq!(upper("cp1251", b"\xE6a\xFF"), b"\xC6A\xDF");
        assert_eq!(upper("binary", b"a"), b"a");
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
