//! Whether bytes are text of a character set; counting characters.

use std::fmt::Write as _;

use super::{Charset, Form, next_utf8};
use crate::ascii;

impl Charset {
    /// Nothing if all of `bytes` is text, else the position of the first byte that is not part of a character.
    ///
    /// Every byte is a character of an 8-bit set, those of `ascii` above 0x7F included: so MySQL stores them.
    pub fn first_malformed(self, bytes: &[u8]) -> Option<usize> {
        match self.form {
            Form::Binary | Form::Ascii | Form::Latin1 | Form::EightBit(_) | Form::Packed(_) => None,
            Form::Utf8 | Form::Utf8mb4 => first_malformed_utf8(bytes, matches!(self.form, Form::Utf8)),
            _ => {
                let mut at = 0;
                while at < bytes.len() {
                    match self.char_len(&bytes[at..]) {
                        Some(len) => at += len,
                        None => return Some(at),
                    }
                }
                None
            }
        }
    }
}

fn first_malformed_utf8(bytes: &[u8], bmp_only: bool) -> Option<usize> {
    let mut at = 0;
    loop {
        // The standard library's check is fast, but refuses surrogates, which MySQL takes.
        let end = match std::str::from_utf8(&bytes[at..]) {
            Ok(_) => bytes.len(),
            Err(e) => at + e.valid_up_to(),
        };
        if bmp_only && let Some(beyond) = bytes[at..end].iter().position(|&byte| byte >= 0xF0) {
            return Some(at + beyond);
        }
        if end == bytes.len() {
            return None;
        }
        match next_utf8(&bytes[end..]) {
            Some((code, len)) if !(bmp_only && code > 0xFFFF) => at = end + len,
            _ => return Some(end),
        }
    }
}

/// Whether the bytes of a text mean the same characters in both: converting it changes nothing. `false` tells nothing.
#[inline]
pub fn is_same_in(text: &[u8], a: Charset, b: Charset) -> bool {
    a.is_ascii_based() && b.is_ascii_based() && ascii::is(text)
}

/// Characters of a text in UTF-8; a malformed byte counts as one.
pub(super) fn utf8_char_count(bytes: &[u8]) -> usize {
    if ascii::is(bytes) {
        return bytes.len();
    }
    if std::str::from_utf8(bytes).is_ok() {
        return bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
    }
    let (mut at, mut chars) = (0, 0);
    while at < bytes.len() {
        at += next_utf8(&bytes[at..]).map_or(1, |(_, len)| len);
        chars += 1;
    }
    chars
}

/// The bytes as MySQL's messages quote a value that is no text (1366 "Incorrect string value: '\xF0\x9F..' for
/// column"): `bytes` begin with the first bad one, at most six are shown.
pub fn bad_value(bytes: &[u8]) -> String {
    let mut out = String::new();
    for &byte in bytes.iter().take(6) {
        match byte {
            0x20..0x7F => out.push(char::from(byte)),
            // Writing to a string does not fail.
            _ => {
                let _ = write!(out, "\\x{byte:02X}");
            }
        }
    }
    if bytes.len() > 6 {
        out.push_str("...");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bad_byte() {
        let utf8 =
            |bytes: &[u8]| (Charset::UTF8.first_malformed(bytes), Charset::UTF8MB4.first_malformed(bytes));
        assert_eq!(utf8(b"plain"), (None, None));
        assert_eq!(utf8("aé中".as_bytes()), (None, None));
        assert_eq!(utf8("aé😀b".as_bytes()), (Some(3), None));
        assert_eq!(utf8(b"a\xED\xA0\x80b"), (None, None));
        assert_eq!(utf8(b"a\xED\xA0\x80b\xFF"), (Some(5), Some(5)));
        assert_eq!(utf8(b"ab\xE4\xB8"), (Some(2), Some(2)));
        assert_eq!(utf8(b"\xC0\x80"), (Some(0), Some(0)));
        assert_eq!(utf8(b"\xF4\x90\x80\x80"), (Some(0), Some(0)));
        assert_eq!(Charset::LATIN1.first_malformed(b"\xFF"), None);
        assert_eq!(Charset::ASCII.first_malformed(b"\xFF"), None);
        let utf16 = Charset::of_collation(54).unwrap();
        assert_eq!(utf16.first_malformed(b"\0a\xD8\0"), Some(2));
        assert_eq!(utf16.first_malformed(b"\0a\0"), Some(2));
    }

    #[test]
    fn values_as_mysql_quotes_them() {
        assert_eq!(bad_value(b"\xFFaaaaaaaa"), "\\xFFaaaaa...");
        assert_eq!(bad_value("😀b".as_bytes()), "\\xF0\\x9F\\x98\\x80b");
        assert_eq!(bad_value(b""), "");
    }

    #[test]
    fn characters_are_counted() {
        assert_eq!(utf8_char_count("aé中😀".as_bytes()), 4);
        assert_eq!(utf8_char_count(b"a\xFF\xE4\xB8"), 4);
        assert_eq!(Charset::UTF8MB4.substring("aé中😀b".as_bytes(), 1, 3), "é中😀".as_bytes());
        assert_eq!(Charset::UTF8MB4.substring("aé".as_bytes(), 5, 3), b"");
    }
}
