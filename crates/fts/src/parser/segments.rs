//! Words by Unicode's rules of text segmentation (UAX #29): `don't` and `3.14` are one word each.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation as _;
use vaquita_format::charset::Charset;

use super::{Parser, RawWord};

/// Words as Unicode divides a text.
#[derive(Debug, Clone, Copy)]
pub struct Segments {
    charset: Charset,
}

impl Segments {
    /// For texts in this character set.
    pub fn new(charset: Charset) -> Segments {
        Segments { charset }
    }

    /// The same bytes as text, where they are UTF-8 throughout.
    fn as_utf8(self, text: &[u8]) -> Option<&str> {
        std::str::from_utf8(text).ok().filter(|_| self.charset.is_utf8())
    }
}

impl Parser for Segments {
    fn words<'a>(&self, text: &'a [u8], each: &mut dyn FnMut(RawWord<'a>)) {
        if let Some(text) = self.as_utf8(text) {
            for (offset, word) in text.unicode_word_indices() {
                each(RawWord { offset, text: Cow::Borrowed(word.as_bytes()) });
            }
            return;
        }
        // Divided in Unicode, found again in the text by the length of each character there.
        let (mut decoded, mut places, mut at) = (String::new(), Vec::new(), 0);
        while at < text.len() {
            let (code, len) = self.charset.next(&text[at..]).unwrap_or((0xFFFD, 1));
            places.push((decoded.len(), at));
            decoded.push(char::from_u32(code).unwrap_or('\u{FFFD}'));
            at += len;
        }
        let place = |in_decoded: usize| {
            let found = places.binary_search_by_key(&in_decoded, |&(place, _)| place);
            found.map_or(text.len(), |at| places[at].1)
        };
        for (offset, word) in decoded.unicode_word_indices() {
            let (from, to) = (place(offset), place(offset + word.len()));
            each(RawWord { offset: from, text: Cow::Borrowed(&text[from..to]) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::found;

    #[test]
    fn words_of_unicode() {
        let text = "Don't: 3.14 naïve";
        let expected = [(0, "Don't"), (7, "3.14"), (12, "naïve")].map(|(at, word)| (at, word.to_owned()));
        assert_eq!(found(&Segments::new(Charset::UTF8MB4), text.as_bytes()), expected);
        // The same in latin1, whose bytes are not text for who prints them.
        let mut words = Vec::new();
        let text = b"Don't: 3.14 na\xEFve\xFC";
        Segments::new(Charset::LATIN1)
            .words(text, &mut |word| words.push((word.offset, word.text.into_owned())));
        assert_eq!(words, [(0, b"Don't".to_vec()), (7, b"3.14".to_vec()), (12, b"na\xEFve\xFC".to_vec())]);
    }
}
