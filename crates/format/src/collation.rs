//! Collations: the order of text in index keys and in expressions.
//!
//! A collation gives every character a weight (or several, or none); texts compare by their sequences of weights, the
//! shorter one padded with the weight of a space for ever (PAD SPACE). `binary` (63) compares bytes and lengths, and
//! the collations of Unicode 9.0 do not pad either. Equal is not identical: `'a'` and `'A '` are equal in
//! `latin1_swedish_ci`.
//!
//! | order | ids |
//! |---|---|
//! | bytes, no padding | 63 `binary` |
//! | bytes, padded | `*_bin` of the 8-bit, East Asian and UTF-8 character sets (byte order is code point order in UTF-8) |
//! | a weight per byte | 5 `latin1_german1_ci`, 8 `latin1_swedish_ci`, 15 `latin1_danish_ci`, 48 and 49 `latin1_general_ci` and `_cs`, 94 `latin1_spanish_ci`, 11 `ascii_general_ci`, and those of the other 8-bit character sets |
//! | a weight per character of the BMP, 0xFFFD above | 33 `utf8`, 45 `utf8mb4`, 35 `ucs2`, 54 `utf16`, 56 `utf16le`, 60 `utf32` `_general_ci`; 223, 159 `_general_mysql500_ci` |
//! | the Unicode Collation Algorithm, first level | `_unicode_ci`: 192 `utf8`, 224 `utf8mb4`, 128 `ucs2`, 101 `utf16`, 160 `utf32`; `_unicode_520_ci`: 214, 246, 150, 123, 182; 255 `utf8mb4_0900_ai_ci` |
//! | code points | 90 `ucs2_bin`, 55 `utf16_bin`, 62 `utf16le_bin`, 61 `utf32_bin` |
//! | the same with what single languages have otherwise | 22 each: 193 and above `utf8`, 225 `utf8mb4`, 129 `ucs2`, 102 `utf16`, 161 `utf32` |
//! | lower case folded, then bytes | 13 `sjis_japanese_ci`, 95 `cp932_japanese_ci`, 12 `ujis`, 97 `eucjpms`, 19 `euckr`, 24 `gb2312`, 1 `big5` |
//! | the same, a weight per character of two bytes | 28 `gbk_chinese_ci` |
//! | levels, expansions, reordering | 31 `latin1_german2_ci`, 2 `latin2_czech_cs`, 34 `cp1250_czech_cs`, 18 `tis620_thai_ci` |
//!
//! What is done with an order: comparing and hashing ([`Collation::compare`], [`Collation::equal`],
//! [`Collation::hash`]), keys that sort as bytes ([`Collation::sort_key`]), WEIGHT_STRING() ([`Collation::weight_string`]),
//! LIKE ([`Collation::like`], [`Collation::like_range`]), searching ([`Collation::find`]), and which collation two
//! texts are compared by ([`aggregate`]).
//!
//! # Invariants
//! - I1: every order is total on arbitrary bytes, malformed text included: a malformed byte weighs more than every
//!   character, so sorting and searching never contradict themselves.
//! - I2: the tables give what WEIGHT_STRING() of MySQL 5.6.24 gives, for every character (checked by the tests
//!   through checksums of the server's answers); ranks of it in the other 8-bit collations.
//! - I3: `equal`, `hash` and `sort_key` agree with `compare`.

pub mod aggregate;
mod divide;
mod east_asian;
mod eight_bit;
mod general_ci;
mod key;
mod latin;
mod levels;
mod like;
pub mod list;
mod names;
mod scheme;
mod search;
mod uca;

pub use divide::DividingHash;

use std::cmp::Ordering;

pub use like::LikeRange;
pub use search::find_bytes;

use crate::ascii;
use crate::charset::{Case, CaseVersion, Charset};
use levels::Levels;
use scheme::{General, Scheme, Utf8, with_scheme};
use uca::Uca;

/// How the texts of a collation compare.
#[derive(Debug, Clone, Copy)]
pub struct Collation {
    id: u16,
    order: Order,
}

#[derive(Debug, Clone, Copy)]
enum Order {
    /// Bytes and length.
    Binary,
    /// Bytes, padded with spaces.
    Bytes,
    /// A weight per byte.
    Table(&'static [u8; 256]),
    /// `utf8_general_ci` and `utf8mb4_general_ci`.
    Utf8General,
    Utf8OldGeneral,
    Ucs2Bin,
    Ucs2General,
    Ucs2OldGeneral,
    Utf16Bin,
    Utf16General,
    Utf32Bin,
    Utf32General,
    /// `sjis` and `cp932`.
    Sjis,
    /// A weight per byte of characters that may have several.
    ByteTable(&'static [u8; 256]),
    Gbk,
    Big5,
    Levels(Levels),
    Utf16leBin,
    Utf16leGeneral,
    /// Unicode Collation Algorithm over UTF-8.
    Uca(Uca),
    Ucs2Uca(Uca),
    Utf16Uca(Uca),
    Utf32Uca(Uca),
}

impl Collation {
    /// Bytes and lengths: what is not text.
    pub const BINARY: Collation = Collation { id: 63, order: Order::Binary };

    /// The collation with this number, if its order is known here.
    pub fn of(id: u16) -> Option<Collation> {
        let order = match id {
            63 => Order::Binary,
            5 => Order::Table(&latin::LATIN1_GERMAN1_CI),
            8 => Order::Table(&latin::LATIN1_SWEDISH_CI),
            11 => Order::Table(&latin::ASCII_GENERAL_CI),
            15 => Order::Table(&latin::LATIN1_DANISH_CI),
            48 => Order::Table(&latin::LATIN1_GENERAL_CI),
            49 => Order::Table(&latin::LATIN1_GENERAL_CS),
            94 => Order::Table(&latin::LATIN1_SPANISH_CI),
            33 | 45 => Order::Utf8General,
            223 => Order::Utf8OldGeneral,
            35 => Order::Ucs2General,
            159 => Order::Ucs2OldGeneral,
            90 => Order::Ucs2Bin,
            54 => Order::Utf16General,
            55 => Order::Utf16Bin,
            60 => Order::Utf32General,
            61 => Order::Utf32Bin,
            13 | 95 => Order::Sjis,
            12 | 19 | 97 => Order::ByteTable(&east_asian::FOLDED),
            24 => Order::ByteTable(&east_asian::BRACKETS),
            28 => Order::Gbk,
            1 => Order::Big5,
            31 => Order::Levels(Levels::German2),
            2 => Order::Levels(Levels::Latin2Czech),
            34 => Order::Levels(Levels::Cp1250Czech),
            18 => Order::Levels(Levels::Thai),
            56 => Order::Utf16leGeneral,
            62 => Order::Utf16leBin,
            192 | 224 => Order::Uca(Uca::V400),
            128 => Order::Ucs2Uca(Uca::V400),
            101 => Order::Utf16Uca(Uca::V400),
            160 => Order::Utf32Uca(Uca::V400),
            193..=213 | 215 => Order::Uca(Uca::language(id - 192)?),
            225..=245 | 247 => Order::Uca(Uca::language(id - 224)?),
            129..=149 | 151 => Order::Ucs2Uca(Uca::language(id - 128)?),
            102..=122 | 124 => Order::Utf16Uca(Uca::language(id - 101)?),
            161..=181 | 183 => Order::Utf32Uca(Uca::language(id - 160)?),
            214 | 246 => Order::Uca(Uca::V520),
            150 => Order::Ucs2Uca(Uca::V520),
            123 => Order::Utf16Uca(Uca::V520),
            182 => Order::Utf32Uca(Uca::V520),
            255 => Order::Uca(Uca::V900),
            // 8-bit: cp1251 macroman cp1257 armscii8 ascii cp1250 cp1256 cp866 dec8 greek hebrew hp8 keybcs2 koi8r
            // koi8u latin2 latin5 latin7 cp850 cp852 swe7 tis620 geostd8 macce latin1; UTF-8: utf8mb4 utf8.
            43 | 46 | 47 | 50 | 53 | 58 | 64..=75 | 77..=83 | 89 | 93 => Order::Bytes,
            // big5 euckr gb2312 gbk sjis ujis cp932 eucjpms
            84..=88 | 91 | 96 | 98 => Order::Bytes,
            _ => Order::Table(eight_bit::weights(id)?),
        };
        Some(Collation { id, order })
    }

    /// Its number.
    pub fn id(self) -> u16 {
        self.id
    }

    /// MySQL's name.
    pub fn name(self) -> &'static str {
        name(self.id).unwrap_or("binary")
    }

    /// The character set of its texts.
    pub fn charset(self) -> Charset {
        Charset::of_collation(self.id).unwrap_or(Charset::BINARY)
    }

    /// Whether the shorter of two texts compares as if spaces followed it.
    pub fn pads(self) -> bool {
        !matches!(self.order, Order::Binary | Order::Uca(Uca::V900))
    }

    /// Whether it is `binary` or one of the `*_bin`: equal texts are identical but for spaces at the end.
    pub fn is_binary(self) -> bool {
        matches!(
            self.order,
            Order::Binary
                | Order::Bytes
                | Order::Ucs2Bin
                | Order::Utf16Bin
                | Order::Utf16leBin
                | Order::Utf32Bin
        )
    }

    /// Compares two texts.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self.order {
            Order::Binary => a.cmp(b),
            Order::Bytes => by_bytes(a, b),
            Order::Table(weights) | Order::ByteTable(weights) => by_table(weights, a, b),
            Order::Utf8General => by_utf8_general(a, b),
            Order::Uca(version) => version.compare(a, b),
            _ => with_scheme!(self, scheme => by_weights(scheme, a, b)),
        }
    }

    /// The order of two texts that begin with the same bytes, by the first that differ; `None` if it depends on more.
    #[inline]
    pub fn by_differing_bytes(self, a: u8, b: u8) -> Option<Ordering> {
        let (a, b) = match self.order {
            Order::Binary | Order::Bytes => (a, b),
            Order::Table(weights) | Order::ByteTable(weights) => {
                (weights[usize::from(a)], weights[usize::from(b)])
            }
            // ASCII begins a character, so what is before are the same characters.
            Order::Utf8General if (a | b).is_ascii() => (a.to_ascii_uppercase(), b.to_ascii_uppercase()),
            _ => return None,
        };
        (a != b).then(|| a.cmp(&b))
    }

    /// Whether two texts are equal: faster than comparing where the order does not matter.
    #[inline]
    pub fn equal(self, a: &[u8], b: &[u8]) -> bool {
        match self.order {
            Order::Binary => a == b,
            Order::Bytes => trim_spaces(a) == trim_spaces(b),
            // Identical texts are equal in every collation.
            _ => a == b || self.compare(a, b).is_eq(),
        }
    }

    /// Bytes that a text has at the least which is equal to this one, itself or in lower case; `None` where several characters may
    /// equal one, or a byte is malformed.
    pub fn least_bytes(self, text: &[u8]) -> Option<usize> {
        let is_general = match self.order {
            Order::Binary | Order::Bytes | Order::Table(_) | Order::ByteTable(_) => false,
            Order::Utf8General => true,
            _ => return None,
        };
        let charset = self.charset();
        let is_utf8 = charset == Charset::UTF8 || charset == Charset::UTF8MB4;
        let (mut least, mut settled, mut at) = (0, 0, 0);
        while at < text.len() {
            let mut len = charset.char_len(&text[at..])?;
            least += 1;
            if is_utf8 {
                let code;
                (code, len) = charset.next(&text[at..])?;
                let weight = if is_general { u32::from(general_weight(code)) } else { code };
                // ASCII is in lower case, and weighs, what ASCII does.
                least += usize::from(weight >= 0x80);
            }
            // What equals spaces at the end may be missing.
            if !self.equal(&text[at..at + len], b" ") {
                settled = least;
            }
            at += len;
        }
        Some(settled)
    }

    /// Appends `text` in upper case, character by character: `'ß'` stays.
    pub fn upper(self, text: &[u8], out: &mut Vec<u8>) {
        self.charset().change_case(Case::Upper, self.case_version(), text, out);
    }

    /// Appends `text` in lower case, character by character.
    pub fn lower(self, text: &[u8], out: &mut Vec<u8>) {
        self.charset().change_case(Case::Lower, self.case_version(), text, out);
    }

    fn case_version(self) -> CaseVersion {
        match self.order {
            Order::Uca(Uca::V900) => CaseVersion::V900,
            Order::Uca(Uca::V520)
            | Order::Ucs2Uca(Uca::V520)
            | Order::Utf16Uca(Uca::V520)
            | Order::Utf32Uca(Uca::V520) => CaseVersion::V520,
            _ => CaseVersion::V300,
        }
    }
}

impl Charset {
    /// The character set with this name (case does not matter), if it can be used: its characters can be told in
    /// Unicode and its default order is known. What cannot be converted would be lost silently.
    pub fn by_name(name: &str) -> Option<Charset> {
        let id = crate::charset::list::default_collation(name)?;
        let charset = Charset::of_collation(id)?;
        let usable = charset == Charset::BINARY || charset.is_convertible() && is_known(id);
        usable.then_some(charset)
    }
}

/// Whether the order of the collation is known.
pub fn is_known(id: u16) -> bool {
    Collation::of(id).is_some()
}

/// MySQL's name of the collation.
pub fn name(id: u16) -> Option<&'static str> {
    let at = names::NAMES.binary_search_by_key(&id, |&(id, _)| id).ok()?;
    Some(names::NAMES[at].1)
}

/// The number of the collation with this name, if its order is known: nothing new may be put in an order that the
/// server would find wrong. Later servers write `utf8mb3_bin` for `utf8_bin`, and so on.
pub fn by_name(name: &str) -> Option<u16> {
    const LATER: &str = "utf8mb3_";
    let start = name.get(..LATER.len()).filter(|start| start.eq_ignore_ascii_case(LATER));
    let found = names::NAMES.iter().find(|(_, n)| match start {
        Some(start) => n.strip_prefix("utf8_").is_some_and(|n| n.eq_ignore_ascii_case(&name[start.len()..])),
        None => n.eq_ignore_ascii_case(name),
    });
    found.map(|&(id, _)| id).filter(|&id| is_known(id))
}

/// Whether it is the default collation of its character set.
pub fn is_primary(id: u16) -> bool {
    names::PRIMARY.contains(&id)
}

/// Compares two texts by the collation with this number; one that is not known compares as bytes padded with spaces
/// (a total order, though not the server's: ask [`is_known`] before judging the order of a file).
#[inline]
pub fn compare(id: u16, a: &[u8], b: &[u8]) -> Ordering {
    Collation::of(id).unwrap_or(Collation { id, order: Order::Bytes }).compare(a, b)
}

/// Weight of a character in the `*_general_ci` collations of Unicode.
#[inline]
pub fn general_weight(c: u32) -> u16 {
    let Ok(c) = u16::try_from(c) else { return 0xFFFD };
    match general_ci::PAGE_OF[usize::from(c >> 8)] {
        255 => c,
        page => general_ci::PAGES[usize::from(page)][usize::from(c & 0xFF)],
    }
}

/// Without the spaces at the end.
fn trim_spaces(s: &[u8]) -> &[u8] {
    let len = s.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    &s[..len]
}

fn by_bytes(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.len().min(b.len());
    a[..common].cmp(&b[..common]).then_with(|| {
        let beyond = |rest: &[u8]| {
            rest.iter().find(|&&byte| byte != b' ').map_or(Ordering::Equal, |byte| byte.cmp(&b' '))
        };
        beyond(&a[common..]).then_with(|| beyond(&b[common..]).reverse())
    })
}

fn by_table(weights: &[u8; 256], a: &[u8], b: &[u8]) -> Ordering {
    let same = ascii::common_words(a, b);
    let (a, b) = (&a[same..], &b[same..]);
    for (&x, &y) in a.iter().zip(b) {
        // Most bytes compared on a descent are equal: the tables are touched only where they are not.
        if x != y && weights[usize::from(x)] != weights[usize::from(y)] {
            return weights[usize::from(x)].cmp(&weights[usize::from(y)]);
        }
    }
    let space = weights[usize::from(b' ')];
    let beyond = |rest: &[u8]| {
        rest.iter()
            .map(|&byte| weights[usize::from(byte)].cmp(&space))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal)
    };
    let common = a.len().min(b.len());
    beyond(&a[common..]).then_with(|| beyond(&b[common..]).reverse())
}

fn by_utf8_general(a: &[u8], b: &[u8]) -> Ordering {
    let mut same = ascii::common_characters(a, b);
    same += ascii::common_prefix_ignoring_case(&a[same..], &b[same..]);
    for (&x, &y) in a[same..].iter().zip(&b[same..]) {
        if (x | y) >= 0x80 {
            break;
        }
        let (x, y) = (x.to_ascii_uppercase(), y.to_ascii_uppercase());
        if x != y {
            return x.cmp(&y);
        }
        same += 1;
    }
    by_weights(General(Utf8), &a[same..], &b[same..])
}

/// Compares the sequences of weights.
#[inline]
fn by_weights<S: Scheme>(scheme: S, a: &[u8], b: &[u8]) -> Ordering {
    let (mut a, mut b) = (scheme.weights(a), scheme.weights(b));
    let pad = scheme.pad();
    loop {
        let (x, y) = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            // Without padding the end is less than any weight.
            (x, y) => (x.or(pad), y.or(pad)),
        };
        if x != y {
            return x.cmp(&y);
        }
    }
}

#[cfg(test)]
mod tests;
