//! Collations: the order of text in index keys.
//!
//! A collation gives every character a weight; texts compare by their sequences of weights, the shorter one padded
//! with the weight of a space for ever (PAD SPACE). `binary` (63) alone compares bytes and lengths. Equal is not
//! identical: `'a'` and `'A '` are equal in `latin1_swedish_ci`.
//!
//! | order | ids |
//! |---|---|
//! | bytes, no padding | 63 `binary` |
//! | bytes, padded | `*_bin` of the 8-bit, East Asian and UTF-8 character sets (byte order is code point order in UTF-8) |
//! | a weight per byte | 8 `latin1_swedish_ci`, 48 `latin1_general_ci`, 11 `ascii_general_ci` |
//! | a weight per character of the BMP, 0xFFFD above | 33 `utf8`, 45 `utf8mb4`, 35 `ucs2`, 54 `utf16`, 60 `utf32` `_general_ci` |
//! | code points | 90 `ucs2_bin`, 55 `utf16_bin`, 61 `utf32_bin` |
//! | lower case folded, then bytes | 13 `sjis_japanese_ci` |
//!
//! # Invariants
//! - I1: every order is total on arbitrary bytes, malformed text included: a malformed byte weighs more than every
//!   character, so sorting and searching never contradict themselves.
//! - I2: the tables give what WEIGHT_STRING() of MySQL 5.6.24 gives, for every character (checked by the tests
//!   through checksums of the server's answers).

mod general_ci;
mod latin;
mod names;

use std::cmp::Ordering;

use crate::charset;

/// Weight of malformed byte 0; above every character's.
const MALFORMED: u32 = 0x20_0000;

/// How the texts of a collation compare.
#[derive(Debug, Clone, Copy)]
pub struct Collation(Order);

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
    Ucs2Bin,
    Ucs2General,
    Utf16Bin,
    Utf16General,
    Utf32Bin,
    Utf32General,
    Sjis,
}

impl Collation {
    /// The collation with this number, if its order is known here.
    pub fn of(id: u16) -> Option<Collation> {
        Some(Collation(match id {
            63 => Order::Binary,
            8 => Order::Table(&latin::LATIN1_SWEDISH_CI),
            48 => Order::Table(&latin::LATIN1_GENERAL_CI),
            11 => Order::Table(&latin::ASCII_CI),
            33 | 45 => Order::Utf8General,
            35 => Order::Ucs2General,
            90 => Order::Ucs2Bin,
            54 => Order::Utf16General,
            55 => Order::Utf16Bin,
            60 => Order::Utf32General,
            61 => Order::Utf32Bin,
            13 => Order::Sjis,
            // 8-bit: cp1251 macroman cp1257 armscii8 ascii cp1250 cp1256 cp866 dec8 greek hebrew hp8 keybcs2 koi8r
            // koi8u latin2 latin5 latin7 cp850 cp852 swe7 tis620 geostd8 macce latin1; UTF-8: utf8mb4 utf8.
            43 | 46 | 47 | 50 | 53 | 58 | 64..=75 | 77..=83 | 89 | 93 => Order::Bytes,
            // big5 euckr gb2312 gbk sjis ujis cp932 eucjpms
            84..=88 | 91 | 96 | 98 => Order::Bytes,
            _ => return None,
        }))
    }

    /// Compares two texts.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self.0 {
            Order::Binary => a.cmp(b),
            Order::Bytes => by_bytes(a, b),
            Order::Table(weights) => by_table(weights, a, b),
            Order::Utf8General => by_utf8_general(a, b),
            Order::Ucs2Bin => by_weights(a, b, |s| code_point(charset::next_ucs2(s), s)),
            Order::Ucs2General => by_weights(a, b, |s| general(charset::next_ucs2(s), s)),
            Order::Utf16Bin => by_weights(a, b, |s| code_point(charset::next_utf16(s), s)),
            Order::Utf16General => by_weights(a, b, |s| general(charset::next_utf16(s), s)),
            Order::Utf32Bin => by_weights(a, b, |s| code_point(charset::next_utf32(s), s)),
            Order::Utf32General => by_weights(a, b, |s| general(charset::next_utf32(s), s)),
            Order::Sjis => by_weights(a, b, sjis_weight),
        }
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

/// The number of the collation with this name.
pub fn by_name(name: &str) -> Option<u16> {
    names::NAMES.iter().find(|(_, n)| n.eq_ignore_ascii_case(name)).map(|&(id, _)| id)
}

/// Whether it is the default collation of its character set.
pub fn is_primary(id: u16) -> bool {
    names::PRIMARY.contains(&id)
}

/// Compares two texts by the collation with this number; one that is not known compares as bytes padded with spaces
/// (a total order, though not the server's: ask [`is_known`] before judging the order of a file).
#[inline]
pub fn compare(id: u16, a: &[u8], b: &[u8]) -> Ordering {
    Collation::of(id).unwrap_or(Collation(Order::Bytes)).compare(a, b)
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
    let mut ascii = 0;
    for (&x, &y) in a.iter().zip(b) {
        if (x | y) >= 0x80 {
            break;
        }
        let (x, y) = (x.to_ascii_uppercase(), y.to_ascii_uppercase());
        if x != y {
            return x.cmp(&y);
        }
        ascii += 1;
    }
    by_weights(&a[ascii..], &b[ascii..], |s| general(charset::next_utf8(s), s))
}

/// Compares the sequences of weights; `next` gives the first weight of a text that is not empty and its length.
#[inline]
fn by_weights(mut a: &[u8], mut b: &[u8], next: impl Fn(&[u8]) -> (u32, usize)) -> Ordering {
    const SPACE: u32 = b' ' as u32;
    while !(a.is_empty() && b.is_empty()) {
        let (x, x_len) = if a.is_empty() { (SPACE, 0) } else { next(a) };
        let (y, y_len) = if b.is_empty() { (SPACE, 0) } else { next(b) };
        if x != y {
            return x.cmp(&y);
        }
        (a, b) = (&a[x_len..], &b[y_len..]);
    }
    Ordering::Equal
}

fn malformed(s: &[u8]) -> (u32, usize) {
    (MALFORMED + u32::from(s[0]), 1)
}

#[inline]
fn code_point(decoded: Option<(u32, usize)>, s: &[u8]) -> (u32, usize) {
    decoded.unwrap_or_else(|| malformed(s))
}

#[inline]
fn general(decoded: Option<(u32, usize)>, s: &[u8]) -> (u32, usize) {
    decoded.map_or_else(|| malformed(s), |(c, len)| (u32::from(general_weight(c)), len))
}

/// Two-byte characters weigh their code and one-byte characters as if a zero byte followed, so the order is that of
/// the bytes; spaces keep the weight of the padding and control characters stay below it.
fn sjis_weight(s: &[u8]) -> (u32, usize) {
    match charset::sjis_len(s) {
        Some(2) => (u32::from(s[0]) << 8 | u32::from(s[1]), 2),
        Some(_) if s[0] == b' ' => (u32::from(b' '), 1),
        Some(_) if s[0] < b' ' => (u32::from(s[0]), 1),
        Some(_) => (u32::from(s[0].to_ascii_uppercase()) << 8, 1),
        None => malformed(s),
    }
}

#[cfg(test)]
mod tests;
