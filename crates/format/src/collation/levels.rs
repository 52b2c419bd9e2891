//! Collations whose weights do not come byte by byte: expansions, levels, letters that change places.
//!
//! | collation | weights |
//! |---|---|
//! | `latin1_german2_ci` | one or two of each byte: `ä` as `ae` |
//! | `latin2_czech_cs` | letters and accents word by word, then case, then everything; `ch` is a letter |
//! | `cp1250_czech_cs` | letters, then accents and case; `ch` is a letter |
//! | `tis620_thai_ci` | the vowel in front of a consonant behind it, tone marks at the end |
//!
//! All pad with spaces; where the weights have levels, spaces at the end are taken away instead.

use std::sync::OnceLock;

use super::scheme::Scheme;
use super::trim_spaces;
use crate::packed::section;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Levels {
    German2,
    Latin2Czech,
    Cp1250Czech,
    Thai,
}

impl Levels {
    /// Whether texts of a common start may lie apart in the order.
    pub(super) fn scatters(self) -> bool {
        self != Levels::German2
    }

    /// The byte that weighs most, where texts of a common start lie together.
    pub(super) fn greatest(self) -> u32 {
        (0..=0xFFu32).max_by_key(|&byte| german2()[byte as usize]).unwrap_or(0xFF)
    }

    /// Whether the shorter of two texts is padded, rather than both cut.
    fn pads(self) -> bool {
        matches!(self, Levels::German2 | Levels::Thai)
    }

    /// Whether the letters of a text begin with those of `start`, whatever their other levels are (`c` does not begin `chata`); `None`: there
    /// are no levels.
    pub(super) fn letters_start_with(self, text: &[u8], start: &[u8]) -> Option<bool> {
        let first = |text: &[u8]| -> Option<Vec<u8>> {
            Some(match self {
                Levels::Latin2Czech => letters(&czech().latin2, text).map(|letter| letter[0]).collect(),
                Levels::Cp1250Czech => letters(&czech().cp1250, text).map(|letter| letter[0]).collect(),
                Levels::German2 | Levels::Thai => return None,
            })
        };
        Some(first(text)?.starts_with(&first(start)?))
    }

    /// All weights of a text, as WEIGHT_STRING() gives them.
    pub(super) fn key(self, text: &[u8], out: &mut Vec<u8>) {
        match self {
            Levels::German2 => {
                let table = german2();
                for &byte in text {
                    let [first, second] = table[usize::from(byte)];
                    out.push(first);
                    if second != 0 {
                        out.push(second);
                    }
                }
            }
            Levels::Latin2Czech => latin2_czech(text, out),
            Levels::Cp1250Czech => cp1250_czech(text, out),
            Levels::Thai => thai(text, out),
        }
    }
}

impl Scheme for Levels {
    const WIDTH: usize = 1;

    fn pad(self) -> Option<u32> {
        self.pads().then_some(u32::from(b' '))
    }

    fn weights(self, text: &[u8]) -> impl Iterator<Item = u32> {
        let mut key = Vec::with_capacity(text.len() * 2);
        self.key(if self.pads() { text } else { trim_spaces(text) }, &mut key);
        key.into_iter().map(u32::from)
    }

    #[inline]
    fn code(self, text: &[u8]) -> (u32, usize) {
        (u32::from(text[0]), 1)
    }

    fn same(self, a: &[u8], b: &[u8]) -> Option<(usize, usize)> {
        let same = match self {
            Levels::German2 => german2()[usize::from(a[0])] == german2()[usize::from(b[0])],
            Levels::Thai => a[0].eq_ignore_ascii_case(&b[0]),
            Levels::Latin2Czech | Levels::Cp1250Czech => a[0] == b[0],
        };
        same.then_some((1, 1))
    }
}

fn german2() -> &'static [[u8; 2]; 256] {
    static TABLE: OnceLock<[[u8; 2]; 256]> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut from = section("collation.german2");
        std::array::from_fn(|_| [from.u8(), from.u8()])
    })
}

/// Weights of bytes, then of `ch`, `Ch`, `cH` and `CH`; zeros: no weight, or no letter of its own.
struct Czech {
    latin2: [[u8; 4]; 260],
    cp1250: [[u8; 2]; 260],
}

fn czech() -> &'static Czech {
    static TABLES: OnceLock<Box<Czech>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let mut from = section("collation.czech");
        let latin2 = std::array::from_fn(|_| std::array::from_fn(|_| from.u8()));
        let cp1250 = std::array::from_fn(|_| [from.u8(), from.u8()]);
        Box::new(Czech { latin2, cp1250 })
    })
}

/// The weights of a text's letters.
fn letters<'t, const N: usize>(
    table: &'static [[u8; N]; 260],
    mut text: &'t [u8],
) -> impl Iterator<Item = [u8; N]> + Clone + 't {
    std::iter::from_fn(move || {
        let (&first, rest) = text.split_first()?;
        let pair = match (first, rest.first()) {
            (b'c', Some(b'h')) => Some(256),
            (b'C', Some(b'h')) => Some(257),
            (b'c', Some(b'H')) => Some(258),
            (b'C', Some(b'H')) => Some(259),
            _ => None,
        };
        let pair = pair.map(|at| table[at]).filter(|&weights| weights != [0; N]);
        text = if pair.is_some() { &rest[1..] } else { rest };
        Some(pair.unwrap_or(table[usize::from(first)]))
    })
}

/// What ends a word.
const SPACE: [u8; 4] = [2; 4];

/// The first two levels go word by word, each ended by 2, or 1 after the last word; the third one takes a run of spaces
/// for one, the fourth one counts them.
fn latin2_czech(text: &[u8], out: &mut Vec<u8>) {
    let end = text.iter().rposition(|byte| !matches!(byte, b' ' | b'\t')).map_or(0, |last| last + 1);
    let all: Vec<[u8; 4]> = letters(&czech().latin2, &text[..end]).collect();
    let mut once = all.clone();
    once.dedup_by(|next, before| *next == SPACE && *before == SPACE);
    let mut words = once.split(|&letter| letter == SPACE).peekable();
    while let Some(word) = words.next() {
        for level in 0..2 {
            out.extend(word.iter().map(|letter| letter[level]).filter(|&weight| weight != 0));
            out.push(if words.peek().is_some() { 2 } else { 1 });
        }
    }
    out.extend(once.iter().map(|letter| letter[2]).filter(|&weight| weight != 0));
    out.push(1);
    out.extend(all.iter().map(|letter| letter[3]).filter(|&weight| weight != 0));
    out.push(0);
}

/// Weights of the second level are less than all of the first.
fn cp1250_czech(text: &[u8], out: &mut Vec<u8>) {
    let letters = letters(&czech().cp1250, text);
    out.extend(letters.clone().map(|letter| letter[0]));
    out.extend(letters.map(|letter| letter[1]));
}

/// A leading vowel and its consonant change places; a tone mark goes to the end, weighing the less the more consonants are
/// before it, and what was moved there before makes room for it: so the server has it.
fn thai(text: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(text);
    let bytes = &mut out[start..];
    let (mut at, mut left, mut consonants) = (0, bytes.len(), 0u8);
    while left > 0 {
        let byte = bytes[at];
        let next = bytes.get(at + 1).filter(|_| left > 1);
        let tone = match byte {
            0xE7..=0xEB => byte + 0x13,
            0xEC => 0xF9,
            0xE0..=0xE4 if next.is_some_and(|next| (0xA1..=0xCE).contains(next)) => {
                bytes.swap(at, at + 1);
                at += 2;
                left -= 2;
                continue;
            }
            _ => {
                bytes[at] = byte.to_ascii_lowercase();
                consonants = consonants.wrapping_add(u8::from(matches!(byte, 0..0x80 | 0xA1..=0xCE)));
                at += 1;
                left -= 1;
                continue;
            }
        };
        bytes.copy_within(at + 1..at + left, at);
        let last = bytes.len() - 1;
        bytes[last] = tone.wrapping_sub(consonants.wrapping_mul(8));
        left -= 1;
    }
}
