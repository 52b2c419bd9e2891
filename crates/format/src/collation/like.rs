//! LIKE.
//!
//! Character by character, as the standard has it: an expansion does not match the characters it sorts as (`'ß' LIKE
//! 'ss'` is false in every collation), and spaces at the end count. `%` stands for any text, `_` for one character; the
//! character after the escape character stands for itself. Where the escape character is one of the two: `%` stays what
//! it is; `_` escapes, but not right after `%`, and only in collations over Unicode's code points. (All as observed.)

use vaquita_base::codec;

use super::scheme::{Scheme, Ucs2, Utf8, Utf16, Utf32, with_scheme};
use super::{Collation, Order, east_asian};
use crate::charset::Charset;

const ANY: u32 = b'%' as u32;
const ONE: u32 = b'_' as u32;
/// Bytes of the longest key of an index: bounds need not be longer.
const KEY_MAX: usize = 3072;

/// Where the texts that match a pattern lie in the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikeRange {
    /// No matching text is less.
    pub min: Vec<u8>,
    /// No matching text is more.
    pub max: Vec<u8>,
    /// The pattern has no wildcard: both are the text it stands for.
    pub exact: bool,
}

impl Collation {
    /// Whether `text` matches `pattern`. `escape` is the code of the escape character; `None`: there is none. (A
    /// statement that names none means the backslash, or none under NO_BACKSLASH_ESCAPES; the same goes for ESCAPE ''
    /// in MySQL 5.6, but for `binary`.)
    pub fn like(self, text: &[u8], pattern: &[u8], escape: Option<u32>) -> bool {
        let one_escapes = self.one_escapes();
        with_scheme!(self, scheme => like(scheme, text, pattern, escape, one_escapes))
    }

    /// Whether the texts that begin with these characters of ASCII lie together in the order, whatever follows: none of
    /// them weighs something else together with the next one, and there are no levels.
    pub fn is_plain_prefix(self, prefix: &[u8]) -> bool {
        match self.order {
            Order::Uca(version) => version.settled_len::<Utf8>(prefix) == prefix.len(),
            Order::Levels(levels) => !levels.scatters(),
            _ => self.charset().is_ascii_based(),
        }
    }

    /// Whether characters may have no weight at all, as in the collations of the Unicode Collation Algorithm.
    pub fn has_weightless(self) -> bool {
        matches!(self.order, Order::Uca(_) | Order::Ucs2Uca(_) | Order::Utf16Uca(_) | Order::Utf32Uca(_))
    }

    /// Where the matching texts of at most `chars` characters (or 3072, the most an index holds) lie; `None` if the pattern starts with a wildcard, so
    /// that they lie anywhere. What lies there need not match.
    pub fn like_range(self, pattern: &[u8], escape: Option<u32>, chars: usize) -> Option<LikeRange> {
        let one_escapes = self.one_escapes();
        let (mut start, mut exact) =
            with_scheme!(self, scheme => start(scheme, pattern, escape, one_escapes));
        let settled = match self.order {
            Order::Uca(version) => version.settled_len::<Utf8>(&start),
            Order::Ucs2Uca(version) => version.settled_len::<Ucs2>(&start),
            Order::Utf16Uca(version) => version.settled_len::<Utf16>(&start),
            Order::Utf32Uca(version) => version.settled_len::<Utf32>(&start),
            Order::Levels(levels) if levels.scatters() && !exact => 0,
            _ => start.len(),
        };
        exact &= settled == start.len();
        start.truncate(settled);
        if exact {
            return Some(LikeRange { min: start.clone(), max: start, exact });
        }
        if start.is_empty() {
            return None;
        }
        let charset = self.charset();
        let room = chars.min(KEY_MAX).saturating_sub(charset.char_count(&start));
        let (low, high) = self.extremes();
        let fill = |code: u32| {
            let mut bound = start.clone();
            for _ in 0..room {
                if charset.is_unicode() {
                    charset.push(code, &mut bound);
                } else {
                    codec::push_uint(&mut bound, if code > 0xFF { 2 } else { 1 }, u64::from(code));
                }
            }
            bound
        };
        // Without padding the start itself is the least of all texts that begin with it.
        Some(LikeRange { min: if self.pads() { fill(low) } else { start.clone() }, max: fill(high), exact })
    }

    /// Whether `_` escapes where it is the escape character.
    fn one_escapes(self) -> bool {
        !matches!(
            self.order,
            Order::Binary
                | Order::Bytes
                | Order::Table(_)
                | Order::Sjis
                | Order::ByteTable(_)
                | Order::Gbk
                | Order::Big5
                | Order::Levels(_)
        )
    }

    /// Codes of a character with the least weight and one with the greatest.
    fn extremes(self) -> (u32, u32) {
        match self.order {
            Order::Binary => (0, 0xFF),
            Order::Table(weights) => {
                let by = |byte: &u8| weights[usize::from(*byte)];
                let least = (0..=255u8).min_by_key(by).unwrap_or(0);
                (u32::from(least), u32::from((0..=255u8).max_by_key(by).unwrap_or(255)))
            }
            Order::Bytes | Order::Sjis | Order::ByteTable(_) | Order::Big5 => (0, greatest(self.charset())),
            Order::Gbk => (0, east_asian::greatest_of_gbk()),
            Order::Levels(levels) => (0, levels.greatest()),
            Order::Utf8General
            | Order::Utf8OldGeneral
            | Order::Ucs2General
            | Order::Ucs2OldGeneral
            | Order::Utf16General
            | Order::Utf16leGeneral
            | Order::Utf32General
            | Order::Ucs2Bin => (0, 0xFFFF),
            Order::Utf16Bin | Order::Utf16leBin | Order::Utf32Bin => (0, 0x10_FFFF),
            Order::Uca(version) => version.extremes(self.charset() == Charset::UTF8),
            Order::Ucs2Uca(version) => version.extremes(true),
            Order::Utf16Uca(version) | Order::Utf32Uca(version) => version.extremes(false),
        }
    }
}

/// The character whose bytes are the greatest.
fn greatest(charset: Charset) -> u32 {
    match charset.name {
        "utf8" => 0xFFFF,
        "utf8mb4" => 0x10_FFFF,
        "big5" => 0xF9FE,
        "gb2312" => 0xF7FE,
        "gbk" | "euckr" => 0xFEFE,
        "sjis" | "cp932" => 0xFCFC,
        "ujis" | "eucjpms" => 0xFEFE,
        _ => 0xFF,
    }
}

fn like<S: Scheme>(
    scheme: S,
    mut text: &[u8],
    mut pattern: &[u8],
    escape: Option<u32>,
    one_escapes: bool,
) -> bool {
    // Where to go on when what follows the last `%` does not match here: one character further.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        let matched = match Step::of(scheme, pattern, escape, one_escapes) {
            Step::End if text.is_empty() => return true,
            Step::End => None,
            Step::Any => {
                let Some(rest) = after_any(scheme, &mut pattern, text) else { return false };
                if pattern.is_empty() {
                    return true;
                }
                text = seek(scheme, rest, pattern, escape, one_escapes);
                retry = Some((pattern, text));
                continue;
            }
            _ if text.is_empty() => return false,
            Step::Never => None,
            Step::One(len) => Some((scheme.code(text).1, len)),
            Step::Char(skip) => scheme.same(text, &pattern[skip..]).map(|(len, of)| (len, skip + of)),
        };
        if let Some((in_text, in_pattern)) = matched {
            (text, pattern) = (&text[in_text..], &pattern[in_pattern..]);
            continue;
        }
        let Some((again, from)) = retry else { return false };
        if from.is_empty() {
            return false;
        }
        (pattern, text) = (again, &from[scheme.code(from).1..]);
        text = seek(scheme, text, pattern, escape, one_escapes);
        retry = Some((pattern, text));
    }
}

/// Passes the ASCII characters of the text that are not what the pattern, which follows a `%`, begins with.
#[inline]
fn seek<'t, S: Scheme>(
    scheme: S,
    text: &'t [u8],
    pattern: &[u8],
    escape: Option<u32>,
    one_escapes: bool,
) -> &'t [u8] {
    let Step::Char(skip) = Step::of(scheme, pattern, escape, one_escapes) else { return text };
    let len = scheme.code(&pattern[skip..]).1;
    let wanted = scheme.weights(&pattern[skip..skip + len]).next();
    let passed = text.iter().take_while(|&&byte| {
        byte < 0x80 && scheme.ascii_weight(byte).is_some_and(|weight| Some(weight) != wanted)
    });
    &text[passed.count()..]
}

/// Passes the wildcards at the start of a pattern, and a character of the text for each `_` among them.
fn after_any<'t, S: Scheme>(scheme: S, pattern: &mut &[u8], mut text: &'t [u8]) -> Option<&'t [u8]> {
    while !pattern.is_empty() {
        let (code, len) = scheme.code(pattern);
        match code {
            ANY => {}
            ONE if text.is_empty() => return None,
            ONE => text = &text[scheme.code(text).1..],
            _ => break,
        }
        *pattern = &pattern[len..];
    }
    Some(text)
}

/// What a pattern begins with.
enum Step {
    End,
    /// `%`
    Any,
    /// `_`, of so many bytes.
    One(usize),
    /// A character after so many bytes of escape.
    Char(usize),
    /// An escape character with nothing after it: matches nothing in Unicode's collations, itself in the others.
    Never,
}

impl Step {
    #[inline]
    fn of<S: Scheme>(scheme: S, pattern: &[u8], escape: Option<u32>, one_escapes: bool) -> Step {
        if pattern.is_empty() {
            return Step::End;
        }
        let (code, len) = scheme.code(pattern);
        let escapes = Some(code) == escape && len < pattern.len();
        match code {
            ANY => Step::Any,
            _ if Some(code) == escape && !escapes && S::WEIGHTLESS => Step::Never,
            ONE if !(escapes && one_escapes) => Step::One(len),
            _ if escapes => Step::Char(len),
            _ => Step::Char(0),
        }
    }
}

/// The text before the first wildcard, and whether there is none.
fn start<S: Scheme>(scheme: S, pattern: &[u8], escape: Option<u32>, one_escapes: bool) -> (Vec<u8>, bool) {
    let mut start = Vec::with_capacity(pattern.len());
    let mut rest = pattern;
    loop {
        match Step::of(scheme, rest, escape, one_escapes) {
            Step::End => return (start, true),
            Step::Any | Step::One(_) | Step::Never => return (start, false),
            Step::Char(skip) => {
                let len = skip + scheme.code(&rest[skip..]).1;
                start.extend_from_slice(&rest[skip..len]);
                rest = &rest[len..];
            }
        }
    }
}
