//! Sequences of n characters, for languages that do not put spaces between words: the `ngram` parser of MySQL 5.7.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use vaquita_format::charset::Charset;

use super::{Parser, RawWord};

/// What `ngram_token_size` may be.
pub const NGRAM_SIZES: RangeInclusive<usize> = 1..=10;
/// What it is by default.
pub const NGRAM_SIZE_DEFAULT: usize = 2;

/// Every sequence of n characters without a space between: `abc d` is `ab`, `bc` for 2.
#[derive(Debug, Clone, Copy)]
pub struct Ngrams {
    charset: Charset,
    size: usize,
}

impl Ngrams {
    /// Sequences of `size` characters.
    ///
    /// # Panics
    /// If the size is not one of [`NGRAM_SIZES`].
    pub fn new(charset: Charset, size: usize) -> Ngrams {
        assert!(NGRAM_SIZES.contains(&size), "ngram_token_size is {NGRAM_SIZES:?}");
        Ngrams { charset, size }
    }
}

impl Parser for Ngrams {
    fn words<'a>(&self, text: &'a [u8], each: &mut dyn FnMut(RawWord<'a>)) {
        // Where the last `size` characters without a space between start: at most ten.
        let mut starts = std::collections::VecDeque::with_capacity(self.size);
        let mut at = 0;
        while at < text.len() {
            let character = &text[at..at + self.charset.char_len(&text[at..]).unwrap_or(1)];
            if matches!(character, b" " | b"\t" | b"\n" | b"\r") {
                starts.clear();
                at += character.len();
                continue;
            }
            if starts.len() == self.size {
                starts.pop_front();
            }
            starts.push_back(at);
            at += character.len();
            if starts.len() == self.size {
                let offset = starts[0];
                each(RawWord { offset, text: Cow::Borrowed(&text[offset..at]) });
            }
        }
    }

    fn has_sizes(&self) -> bool {
        false
    }

    fn cuts_terms(&self) -> bool {
        true
    }

    fn has_stopwords_within(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::found;

    fn texts(size: usize, text: &str) -> Vec<String> {
        let words = found(&Ngrams::new(Charset::UTF8MB4, size), text.as_bytes());
        assert!(words.iter().all(|(offset, word)| text[*offset..].starts_with(word.as_str())));
        words.into_iter().map(|(_, word)| word).collect()
    }

    /// The examples of the manual of MySQL 5.7.
    #[test]
    fn examples_of_the_manual() {
        assert_eq!(texts(1, "abcd"), ["a", "b", "c", "d"]);
        assert_eq!(texts(2, "abcd"), ["ab", "bc", "cd"]);
        assert_eq!(texts(3, "abcd"), ["abc", "bcd"]);
        assert_eq!(texts(4, "abcd"), ["abcd"]);
        assert_eq!(texts(2, "ab cd"), ["ab", "cd"]);
        assert_eq!(texts(2, "a bc"), ["bc"]);
        assert_eq!(texts(2, "a,b"), ["a,", ",b"], "punctuation is characters as others");
        assert_eq!(texts(2, "abc def"), ["ab", "bc", "de", "ef"]);
    }

    #[test]
    fn characters_not_bytes() {
        assert_eq!(texts(2, "日本語"), ["日本", "本語"]);
        assert_eq!(texts(5, "日本語"), Vec::<String>::new());
    }
}
