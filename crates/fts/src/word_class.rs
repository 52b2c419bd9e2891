//! Which characters belong to words: letters, digits and the underscore, as the character set has them.
//!
//! Unicode's and the East Asian character sets go by one table of Unicode's BMP, in which combining marks are letters; nothing
//! above the BMP is in a word. The 8-bit character sets have tables of their own, some of which miss letters that Unicode knows
//! (`tis620` has none but those of ASCII).

mod tables;

use vaquita_format::charset::Charset;

/// The characters of words of one character set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordClass {
    charset: Charset,
    kind: Kind,
    /// Bytes below 128 are characters of ASCII wherever a character begins.
    has_ascii: bool,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Unicode,
    /// ASCII's, and those above by bits.
    EightBit(&'static [u8; 16]),
    Swe7,
    /// Bytes are not text.
    None,
}

impl WordClass {
    pub(crate) fn of(charset: Charset) -> WordClass {
        let eight_bit = tables::HIGH.iter().find(|(name, _)| *name == charset.name);
        let kind = match eight_bit {
            _ if charset == Charset::BINARY => Kind::None,
            Some(_) if charset.name == "swe7" => Kind::Swe7,
            Some((_, high)) => Kind::EightBit(high),
            None => Kind::Unicode,
        };
        let has_ascii = match kind {
            Kind::EightBit(_) => true,
            Kind::Unicode => charset.is_ascii_based(),
            Kind::Swe7 | Kind::None => false,
        };
        WordClass { charset, kind, has_ascii }
    }

    /// Bytes of the first character of a text that is not empty, and whether it belongs to a word. A malformed byte belongs to
    /// none.
    #[inline]
    pub(crate) fn first(self, text: &[u8]) -> (usize, bool) {
        let byte = text[0];
        if self.has_ascii && byte.is_ascii() { (1, in_ascii(byte)) } else { self.first_beyond(text) }
    }

    fn first_beyond(self, text: &[u8]) -> (usize, bool) {
        let byte = text[0];
        match self.kind {
            // ASCII is known.
            Kind::EightBit(high) => (1, bit(high, byte & 0x7F)),
            Kind::Unicode => match self.charset.next(text) {
                Some((code, len)) => (len, in_unicode(code)),
                None => (self.charset.char_len(text).unwrap_or(1), false),
            },
            Kind::Swe7 => (1, in_ascii(byte) || tables::SWE7.contains(&byte)),
            Kind::None => (1, false),
        }
    }
}

/// Which bytes below 128 are letters, digits and the underscore.
static ASCII: [bool; 256] = {
    let (mut words, mut byte) = ([false; 256], 0);
    while byte < 128 {
        words[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    words
};

#[inline]
fn in_ascii(byte: u8) -> bool {
    ASCII[usize::from(byte)]
}

fn bit(bits: &[u8; 16], at: u8) -> bool {
    bits[usize::from(at / 8)] >> (at % 8) & 1 == 1
}

fn in_unicode(code: u32) -> bool {
    let Ok(code) = u16::try_from(code) else { return false };
    let at = tables::UNICODE.partition_point(|&(_, last)| last < code);
    tables::UNICODE.get(at).is_some_and(|&(first, _)| first <= code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_sorted_and_apart() {
        assert!(tables::UNICODE.windows(2).all(|pair| u32::from(pair[0].1) + 1 < u32::from(pair[1].0)));
        assert!(tables::UNICODE.iter().all(|(first, last)| first <= last));
    }

    #[test]
    fn letters_by_character_set() {
        let utf8mb4 = WordClass::of(Charset::UTF8MB4);
        for (text, is_word) in [
            ("a", true),
            ("_", true),
            ("'", false),
            ("é", true),
            ("日", true),
            ("\u{301}", true),
            ("·", false),
            ("\u{10400}", false),
            ("½", true),
        ] {
            assert_eq!(utf8mb4.first(text.as_bytes()), (text.len(), is_word), "{text:?}");
        }
        assert_eq!(utf8mb4.first(b"\xE9a"), (1, false), "malformed");
        let latin1 = WordClass::of(Charset::LATIN1);
        assert_eq!([0xE9, 0xD7, 0x92].map(|byte| latin1.first(&[byte]).1), [true, false, false]);
        let sjis = WordClass::of(Charset::by_name("sjis").expect("known"));
        assert_eq!(sjis.first(b"\x93\xFA"), (2, true));
        assert_eq!(WordClass::of(Charset::BINARY).first(b"a"), (1, false));
    }
}
