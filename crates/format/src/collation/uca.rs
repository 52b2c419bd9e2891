//! The Unicode Collation Algorithm, first level: letters without accents and case.
//!
//! | version | collations | padded | contractions | above the BMP |
//! |---|---|---|---|---|
//! | 4.0.0 | `utf8_unicode_ci`, `utf8mb4_unicode_ci` | yes | no | all weigh 0xFFFD |
//! | 5.2.0 | `utf8_unicode_520_ci`, `utf8mb4_unicode_520_ci` | yes | no | as the table has them |
//! | 4.0.0 and a language | `utf8_spanish2_ci` and the like, `tailored` | yes | of two letters | all weigh 0xFFFD |
//! | 9.0.0 | `utf8mb4_0900_ai_ci` | no | of characters that follow each other | as the table has them |
//!
//! Variable elements (spaces, punctuation) are not ignored. A character may weigh nothing, once, or several times;
//! those that the table does not know weigh twice, as derived from their codes, Hangul syllables of 9.0 as the letters
//! they are made of. What MySQL does differently from the standard is in the table above, and that Extension B
//! ideographs count as unknown in 5.2.0 (observed).

mod tables;
mod tailored;

use std::cmp::Ordering;

use super::by_weights;
use super::scheme::{Decode, MALFORMED, Scheme, Utf8, malformed};
use crate::ascii;

/// A version of the algorithm's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Uca {
    V400,
    V520,
    V900,
    /// 4.0.0 with what a language has otherwise.
    Language(u8),
}

/// Weights of characters.
struct Table {
    /// Of ASCII; 0: none.
    ascii: Box<[u16; 128]>,
    /// Page of a character's high bits in `pages`; 255: none.
    page_of: Vec<u8>,
    /// 0: no weight; below 0x8000: the only weight; [`UNKNOWN`]; else [`POOLED`] and a place in the pool.
    pages: Vec<[u16; 256]>,
    /// Runs of weights: their number, and [`STARTS`] if contractions begin with the character; the weights.
    pool: Vec<u16>,
    contractions: Vec<Contraction>,
}

/// Two or three characters that weigh something else together; 0 for a third that is not.
struct Contraction {
    chars: [u32; 3],
    place: u16,
}

const UNKNOWN: u16 = 0xFFFF;
const POOLED: u16 = 0x8000;
const STARTS: u16 = 0x100;

/// Weight of what lies above the BMP in 4.0.0.
const REPLACEMENT: u16 = 0xFFFD;

impl Uca {
    #[inline]
    fn table(self) -> &'static Table {
        match self {
            Uca::V400 => tables::v400(),
            Uca::V520 => tables::v520(),
            Uca::V900 => tables::v900(),
            Uca::Language(language) => tailored::table(language),
        }
    }

    /// The language whose collation comes so many numbers after `_unicode_ci`; 22 of them have one in MySQL 5.6, and
    /// `_unicode_520_ci` is among them.
    pub(super) fn language(after: u16) -> Option<Uca> {
        match after {
            1..=21 => Some(Uca::Language(after as u8 - 1)),
            23 => Some(Uca::Language(21)),
            _ => None,
        }
    }

    /// Whether there are contractions of ASCII characters alone.
    fn ascii_pairs(self) -> bool {
        matches!(self, Uca::Language(_)) && !self.table().contractions.is_empty()
    }

    /// Whether the table is that of 4.0.0, or made from it.
    fn is_v400(self) -> bool {
        matches!(self, Uca::V400 | Uca::Language(_))
    }

    /// Whether the shorter text is padded.
    #[inline]
    pub(super) fn pads(self) -> bool {
        self != Uca::V900
    }

    /// Compares two texts in UTF-8.
    pub(super) fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        let table = self.table();
        if self.ascii_pairs() {
            return by_weights(Elements(self, Utf8), a, b);
        }
        let mut same = ascii::common_characters(a, b);
        if !table.contractions.is_empty() {
            // A contraction may span what is common and what is not: back to a character that only begins some.
            while same > 0 {
                same -= 1;
                if only_begins(a[same]) {
                    break;
                }
            }
        }
        same += ascii::common_prefix_ignoring_case(&a[same..], &b[same..]);
        let is_ascii = |text: &[u8], at: usize| text.get(at).is_none_or(u8::is_ascii);
        for (&x, &y) in a[same..].iter().zip(&b[same..]) {
            if !(x.is_ascii() && y.is_ascii()) {
                break;
            }
            let (x, y) = (table.ascii[usize::from(x)], table.ascii[usize::from(y)]);
            if x != y {
                // Where one weighs nothing, or may weigh something else together with the next one: the long way.
                if x == 0 || y == 0 || !is_ascii(a, same + 1) || !is_ascii(b, same + 1) {
                    break;
                }
                return x.cmp(&y);
            }
            same += 1;
        }
        if !is_ascii(a, same) || !is_ascii(b, same) {
            // The last ASCII character may begin a contraction.
            same = same.saturating_sub(1);
        }
        by_weights(Elements(self, Utf8), &a[same..], &b[same..])
    }

    /// Codes of a character with the least weight and one with the greatest.
    pub(super) fn extremes(self, bmp_only: bool) -> (u32, u32) {
        // U+0009 begins the table; the derived weights of the last code points are the greatest but REPLACEMENT.
        let high = match self {
            _ if bmp_only => 0xFFFF,
            Uca::V400 | Uca::Language(_) => 0x1_0000,
            Uca::V520 | Uca::V900 => 0x10_FFFF,
        };
        (u32::from(b'\t'), high)
    }
}

impl Uca {
    /// Bytes at the start of a text whose weights every text that LIKE takes for the same begins with, whatever
    /// follows: not those of a character that weighs something else together with the next one.
    pub(super) fn settled_len<D: Decode>(self, text: &[u8]) -> usize {
        let table = self.table();
        if table.contractions.is_empty() {
            return text.len();
        }
        let mut at = 0;
        while at < text.len() {
            let (code, len) = D::next(&text[at..]).unwrap_or((0, 1));
            // Where ASCII contracts, two characters do, and whether they are a pair is seen from the next one.
            let next_settles =
                |&byte: &u8| if self.ascii_pairs() { !D::ASCII || byte < 0x80 } else { only_begins(byte) };
            let settled = text.get(at + len).is_some_and(next_settles);
            if !settled && table.is_unsettled(code) {
                return at;
            }
            at += len;
        }
        at
    }
}

/// Whether a byte of UTF-8 begins a character that is never the second or third one of a contraction: ASCII, letters of
/// Latin-1, Cyrillic ones, kana and ideographs.
#[inline]
fn only_begins(byte: u8) -> bool {
    matches!(byte, 0..0x80 | 0xC3 | 0xD0 | 0xD1 | 0xE3..=0xE9)
}

/// The algorithm over the texts of a character set.
#[derive(Clone, Copy)]
pub(super) struct Elements<D>(pub(super) Uca, pub(super) D);

impl<D: Decode> Scheme for Elements<D> {
    const WIDTH: usize = 2;
    const WEIGHTLESS: bool = true;

    fn pad(self) -> Option<u32> {
        self.0.pads().then(|| u32::from(self.0.table().ascii[usize::from(b' ')]))
    }

    fn weights(self, text: &[u8]) -> impl Iterator<Item = u32> {
        let table = self.0.table();
        let contracts = !table.contractions.is_empty();
        Weights {
            version: self.0,
            decode: self.1,
            table,
            contracts,
            ascii_pairs: self.0.ascii_pairs(),
            text,
            pooled: &[],
            derived: [0; 3],
            derived_len: 0,
        }
    }

    #[inline]
    fn each_weight(self, text: &[u8], mut take: impl FnMut(u32)) {
        let table = self.0.table();
        if self.0.ascii_pairs() {
            return self.weights(text).for_each(take);
        }
        let mut rest = text;
        while !rest.is_empty() {
            // All of ASCII but its last character, which may begin a contraction.
            let ascii = if D::ASCII { ascii::len(rest) } else { 0 };
            let plain = if ascii == rest.len() { ascii } else { ascii.saturating_sub(1) };
            for &byte in &rest[..plain] {
                match table.ascii[usize::from(byte & 0x7F)] {
                    0 => {}
                    weight => take(u32::from(weight)),
                }
            }
            // From there to the next ASCII character but one.
            let other = rest[plain..].iter().skip(1).position(|byte| D::ASCII && byte.is_ascii());
            let end = other.map_or(rest.len(), |at| plain + 1 + at);
            self.weights(&rest[plain..end]).for_each(&mut take);
            rest = &rest[end..];
        }
    }

    #[inline]
    fn code(self, text: &[u8]) -> (u32, usize) {
        D::next(text).unwrap_or_else(|| malformed(text))
    }

    #[inline]
    fn ascii_weight(self, byte: u8) -> Option<u32> {
        let weight = self.0.table().ascii[usize::from(byte)];
        (D::ASCII && weight != 0 && !self.0.ascii_pairs()).then_some(u32::from(weight))
    }

    #[inline]
    fn same(self, a: &[u8], b: &[u8]) -> Option<(usize, usize)> {
        let ((x, x_len), (y, y_len)) = (self.code(a), self.code(b));
        // Characters without weights are all the same.
        let equal = x == y || x.max(y) < MALFORMED && self.weights(&a[..x_len]).eq(self.weights(&b[..y_len]));
        equal.then_some((x_len, y_len))
    }
}

/// The weights of a text.
struct Weights<'a, D> {
    version: Uca,
    #[expect(dead_code, reason = "only its type matters")]
    decode: D,
    table: &'static Table,
    contracts: bool,
    ascii_pairs: bool,
    text: &'a [u8],
    /// Weights of the last character that are still to come.
    pooled: &'static [u16],
    /// The same of a character that is not in the table, last one first.
    derived: [u16; 3],
    derived_len: u8,
}

impl<D: Decode> Iterator for Weights<'_, D> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some((&weight, rest)) = self.pooled.split_first() {
                self.pooled = rest;
                return Some(u32::from(weight));
            }
            if self.derived_len > 0 {
                self.derived_len -= 1;
                return Some(u32::from(self.derived[usize::from(self.derived_len)]));
            }
            let &first = self.text.first()?;
            // But in some languages, an ASCII character begins contractions only with what is not ASCII.
            if D::ASCII
                && first < 0x80
                && !self.ascii_pairs
                && !(self.contracts && self.text.get(1).is_some_and(|&byte| byte >= 0x80))
            {
                self.text = &self.text[1..];
                match self.table.ascii[usize::from(first)] {
                    0 => continue,
                    weight => return Some(u32::from(weight)),
                }
            }
            if let Some(weight) = self.character() {
                return Some(weight);
            }
        }
    }
}

impl<D: Decode> Weights<'_, D> {
    /// Takes a character from the text; gives its only weight, or prepares the others.
    fn character(&mut self) -> Option<u32> {
        let Some((code, len)) = D::next(self.text) else {
            let (weight, len) = malformed(self.text);
            self.text = &self.text[len..];
            return Some(weight);
        };
        let entry = self.table.entry(code);
        let rest = &self.text[len..];
        self.text = rest;
        if entry < POOLED {
            return (entry != 0).then_some(u32::from(entry));
        }
        if entry == UNKNOWN {
            return Some(self.derive(code));
        }
        let place = entry - POOLED;
        self.pooled = self.table.pooled(place);
        if self.table.pool[usize::from(place)] & STARTS != 0
            && let Some((place, len)) = self.table.contraction::<D>(code, rest)
        {
            self.pooled = self.table.pooled(place);
            self.text = &rest[len..];
        }
        None
    }

    /// The first weight of a character that is not in the table; prepares the others.
    fn derive(&mut self, code: u32) -> u32 {
        if self.version.is_v400() && code > 0xFFFF {
            return u32::from(REPLACEMENT);
        }
        if self.version == Uca::V900 && (0xAC00..0xD7A4).contains(&code) {
            return self.derive_hangul(code);
        }
        let (high, low) = implicit(self.version, code);
        (self.derived[0], self.derived_len) = (low, 1);
        u32::from(high)
    }

    /// A syllable weighs as its two or three letters.
    fn derive_hangul(&mut self, code: u32) -> u32 {
        const VOWELS: u32 = 21;
        const TAILS: u32 = 28;
        let at = code - 0xAC00;
        self.derived_len = 0;
        if !at.is_multiple_of(TAILS) {
            self.derived[0] = self.table.entry(0x11A7 + at % TAILS);
            self.derived_len = 1;
        }
        self.derived[usize::from(self.derived_len)] = self.table.entry(0x1161 + at / TAILS % VOWELS);
        self.derived_len += 1;
        u32::from(self.table.entry(0x1100 + at / (VOWELS * TAILS)))
    }
}

impl Table {
    #[inline]
    fn entry(&self, code: u32) -> u16 {
        match self.page_of.get((code >> 8) as usize) {
            None | Some(255) => UNKNOWN,
            Some(&page) => self.pages[usize::from(page)][(code & 0xFF) as usize],
        }
    }

    #[inline]
    fn pooled(&self, place: u16) -> &[u16] {
        let at = usize::from(place);
        let len = usize::from(self.pool[at] & (STARTS - 1));
        &self.pool[at + 1..at + 1 + len]
    }

    /// Whether a contraction begins with the character but not with its weights.
    fn is_unsettled(&self, code: u32) -> bool {
        let entry = self.entry(code);
        if entry < POOLED || entry == UNKNOWN || self.pool[usize::from(entry - POOLED)] & STARTS == 0 {
            return false;
        }
        let own = self.pooled(entry - POOLED);
        let first = self.contractions.partition_point(|c| c.chars[0] < code);
        let mut with_it = self.contractions[first..].iter().take_while(|c| c.chars[0] == code);
        with_it.any(|c| !self.pooled(c.place).starts_with(own))
    }

    /// The longest contraction of a character and those after it; its place in the pool and the bytes of the others.
    fn contraction<D: Decode>(&self, first: u32, rest: &[u8]) -> Option<(u16, usize)> {
        let next = |text: &[u8]| if text.is_empty() { None } else { D::next(text) };
        let (second, second_len) = next(rest)?;
        let find = |chars: [u32; 3]| {
            let at = self.contractions.binary_search_by(|c| c.chars.cmp(&chars)).ok()?;
            Some(self.contractions[at].place)
        };
        next(&rest[second_len..])
            .and_then(|(third, third_len)| Some((find([first, second, third])?, second_len + third_len)))
            .or_else(|| Some((find([first, second, 0])?, second_len)))
    }
}

/// Both weights of a character that is not in the table.
fn implicit(version: Uca, code: u32) -> (u16, u16) {
    let (unified, extension) = match version {
        Uca::V400 | Uca::V520 | Uca::Language(_) => {
            (matches!(code, 0x4E00..=0x9FA5), matches!(code, 0x3400..=0x4DB5))
        }
        Uca::V900 => (
            matches!(code, 0x4E00..=0x9FD5 | 0xFA0E..=0xFA0F | 0xFA11 | 0xFA13..=0xFA14 | 0xFA1F | 0xFA21
                | 0xFA23..=0xFA24 | 0xFA27..=0xFA29),
            matches!(code, 0x3400..=0x4DB5 | 0x2_0000..=0x2_A6D6 | 0x2_A700..=0x2_B734 | 0x2_B740..=0x2_B81D
                | 0x2_B820..=0x2_CEA1),
        ),
    };
    if version == Uca::V900 && matches!(code, 0x1_7000..=0x1_87EC | 0x1_8800..=0x1_8AF2) {
        return (0xFB00, (code - 0x1_7000) as u16 | 0x8000);
    }
    let base = match (unified, extension) {
        (true, _) => 0xFB40,
        (_, true) => 0xFB80,
        _ => 0xFBC0,
    };
    (base + (code >> 15) as u16, (code & 0x7FFF) as u16 | 0x8000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contractions_are_found_again_from_their_first_characters() {
        for contraction in &tables::v900().contractions {
            for &later in contraction.chars[1..].iter().filter(|&&c| c != 0) {
                let text = char::from_u32(later).unwrap().to_string();
                assert!(!only_begins(text.as_bytes()[0]), "{text}");
            }
        }
        assert!(tables::v900().contractions.is_sorted_by(|a, b| a.chars < b.chars));
    }
}
