//! Conversion between character sets, by way of Unicode.

use super::{Charset, Form};
use crate::ascii;

/// What a conversion could not carry over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Converted {
    /// Characters in whose place stands a `?`: malformed in the source, or absent from the target.
    pub replaced: usize,
    /// Position in the source of the first of them.
    pub first: Option<usize>,
}

/// Appends `bytes`, text of `from`, as text of `to`.
///
/// To and from `binary` the bytes are copied, but zero bytes are put before them where the target has wider units
/// (`X'61'` is `a` in `ucs2`). Characters that cannot be converted become `?`.
pub fn convert(from: Charset, to: Charset, bytes: &[u8], out: &mut Vec<u8>) -> Converted {
    if matches!(from.form, Form::Binary) || matches!(to.form, Form::Binary) {
        let unit = usize::from(to.mb_min_len);
        if !matches!(to.form, Form::Binary) {
            out.resize(out.len() + (unit - bytes.len() % unit) % unit, 0);
        }
        out.extend_from_slice(bytes);
        return Converted::default();
    }
    let both_ascii = from.is_ascii_based() && to.is_ascii_based();
    // What begins with ASCII, and mostly all of it is, is the same in both.
    let same = if both_ascii { ascii::len(bytes) } else { 0 };
    out.extend_from_slice(&bytes[..same]);
    if same == bytes.len() || from == to && from.first_malformed(&bytes[same..]).is_none() {
        out.extend_from_slice(&bytes[same..]);
        return Converted::default();
    }
    by_character(from, to, bytes, same, out)
}

fn by_character(from: Charset, to: Charset, bytes: &[u8], start: usize, out: &mut Vec<u8>) -> Converted {
    let mut outcome = Converted::default();
    let mut at = start;
    let both_ascii = from.is_ascii_based() && to.is_ascii_based();
    while at < bytes.len() {
        let rest = &bytes[at..];
        if both_ascii && rest[0].is_ascii() {
            let len = ascii::len(rest);
            // Bytes of ASCII may be the second ones of characters, but not the first.
            out.extend_from_slice(&rest[..len]);
            at += len;
            continue;
        }
        let next = from.next(rest);
        if !next.is_some_and(|(code, _)| to.push(code, out)) {
            outcome.replaced += 1;
            outcome.first.get_or_insert(at);
            to.push(u32::from(b'?'), out);
        }
        // What is malformed is passed unit by unit; what is a character, though not one of Unicode, is passed whole.
        let len = next.map(|(_, len)| len).or_else(|| from.char_len(rest));
        at += len.unwrap_or(usize::from(from.mb_min_len)).min(rest.len());
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charset(name: &str) -> Charset {
        Charset::by_name(name).unwrap()
    }

    fn converted(from: &str, to: &str, bytes: &[u8]) -> (Vec<u8>, usize, Option<usize>) {
        let mut out = Vec::new();
        let outcome = convert(charset(from), charset(to), bytes, &mut out);
        (out, outcome.replaced, outcome.first)
    }

    #[test]
    fn answers_of_a_real_server() {
        // HEX(CONVERT(CONVERT(x USING ..) USING ..)) of MySQL 5.6.24.
        type Case = (&'static str, &'static str, &'static [u8], &'static [u8], usize);
        let cases: &[Case] = &[
            ("utf8mb4", "latin1", "aé€中😀".as_bytes(), b"a\xE9\x80??", 2),
            ("utf8mb4", "ascii", "aé€中😀".as_bytes(), b"a????", 4),
            ("utf8mb4", "utf8", "aé€中😀".as_bytes(), "aé€中?".as_bytes(), 1),
            ("utf8mb4", "ucs2", "aé€中😀".as_bytes(), b"\0a\0\xE9\x20\xAC\x4E\x2D\0?", 1),
            ("utf8mb4", "binary", "a中".as_bytes(), "a中".as_bytes(), 0),
            (
                "latin1",
                "utf8",
                b"\x80\x81\x82\x83\x8D\x8F\x90\x9D\xFF",
                "€\u{81}‚ƒ\u{8D}\u{8F}\u{90}\u{9D}ÿ".as_bytes(),
                0,
            ),
            ("utf8", "latin1", "\u{81}\u{82}\u{8D}\u{80}".as_bytes(), b"\x81?\x8D?", 2),
            ("ascii", "utf8", b"a\x80", b"a?", 1),
            ("ucs2", "utf8mb4", b"\xD8\x3D\xDE\0", b"\xED\xA0\xBD\xED\xB8\x80", 0),
            ("utf16", "utf8mb4", b"\xD8\x3D\xDE\0", "😀".as_bytes(), 0),
            ("utf16le", "utf8mb4", b"\x3D\xD8\0\xDE", "😀".as_bytes(), 0),
            ("utf8mb4", "utf32", b"\xED\xA0\x80", b"\0\0\xD8\0", 0),
            ("utf8", "utf16", b"\xED\xA0\x80", b"\0?", 1),
            ("binary", "ucs2", b"ab", b"ab", 0),
            ("binary", "ucs2", b"abc", b"\0abc", 0),
            ("binary", "utf32", b"a", b"\0\0\0a", 0),
        ];
        for &(from, to, bytes, expected, replaced) in cases {
            let (out, count, _) = converted(from, to, bytes);
            assert_eq!((out.as_slice(), count), (expected, replaced), "{from} to {to}: {bytes:x?}");
        }
    }

    #[test]
    fn the_first_lost_character_is_told() {
        assert_eq!(converted("utf8mb4", "latin1", "aé中b中".as_bytes()), (b"a\xE9?b?".to_vec(), 2, Some(3)));
        assert_eq!(converted("utf8mb4", "utf8mb4", b"ab\xFFc"), (b"ab?c".to_vec(), 1, Some(2)));
        assert_eq!(converted("utf32", "utf8", b"\0\0\0a\0\x11\0\0\0\0"), (b"a??".to_vec(), 2, Some(4)));
        assert_eq!(converted("big5", "utf8", b"a\xA4\x40\xF9\xFEb"), ("a一?b".into(), 1, Some(3)));
    }
}
