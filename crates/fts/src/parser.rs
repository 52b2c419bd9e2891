//! Parsers: how a text falls into words.
//!
//! A [`Parser`] says where words are and what they read; [`crate::analyzer`] does the rest: case, lengths, stopwords. The
//! engine's default is [`Words`]; whoever wants other words writes a parser.

mod named;
mod ngram;
mod segments;
mod stems;

use std::borrow::Cow;
use std::ops::Range;

use vaquita_format::charset::Charset;

use crate::word_class::WordClass;

pub use named::{MakeParser, Parsers};
pub use ngram::{NGRAM_SIZE_DEFAULT, NGRAM_SIZES, Ngrams};
pub use segments::Segments;
pub use stems::{Language, Stems};

/// A word as a parser finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawWord<'a> {
    /// The byte of the text it starts at.
    pub offset: usize,
    /// What it reads, in the text's character set.
    pub text: Cow<'a, [u8]>,
}

/// Finds the words of a text.
///
/// A parser must find the same words in the same text for ever: lists made with it are in files.
pub trait Parser: Send + Sync {
    /// Gives `each` the words of a text in its character set, in the order in which they start.
    fn words<'a>(&self, text: &'a [u8], each: &mut dyn FnMut(RawWord<'a>));

    /// Whether lengths decide which of its words are indexed (`innodb_ft_min_token_size` and `.._max_..`).
    fn has_sizes(&self) -> bool {
        true
    }

    /// Whether a query that is not a phrase means the words of a term in this order: so that a term cut into pieces is found as
    /// a whole.
    fn cuts_terms(&self) -> bool {
        false
    }

    /// Whether a word that contains a stopword is one: its words are pieces of words.
    fn has_stopwords_within(&self) -> bool {
        false
    }

    /// Whether its words are the runs of some characters as they stand in the text, all of them: where a word starts says what it is, and
    /// between two words there is something. Then phrases are decided by the places of words in the index.
    fn runs(&self) -> Option<Words> {
        None
    }
}

/// InnoDB's own: runs of letters, digits and underscores.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    class: WordClass,
}

impl Words {
    /// For texts in this character set.
    pub fn new(charset: Charset) -> Words {
        Words { class: WordClass::of(charset) }
    }

    /// The first word of a text from the byte `from` on, which begins a character.
    #[inline]
    pub(crate) fn next(self, text: &[u8], from: usize) -> Option<Range<usize>> {
        // Where the run ends of characters that are in words, or are not.
        let end = |mut at: usize, in_words: bool| {
            while at < text.len() {
                let (len, is_word) = self.class.first(&text[at..]);
                if is_word != in_words {
                    break;
                }
                at += len;
            }
            at.min(text.len())
        };
        let start = end(from, false);
        let end = end(start, true);
        (end > start).then_some(start..end)
    }
}

impl Parser for Words {
    fn words<'a>(&self, text: &'a [u8], each: &mut dyn FnMut(RawWord<'a>)) {
        let mut at = 0;
        while let Some(word) = self.next(text, at) {
            at = word.end;
            each(RawWord { offset: word.start, text: Cow::Borrowed(&text[word]) });
        }
    }

    fn runs(&self) -> Option<Words> {
        Some(*self)
    }
}

#[cfg(test)]
pub(crate) fn found(parser: &dyn Parser, text: &[u8]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    parser.words(text, &mut |word| {
        found.push((word.offset, String::from_utf8_lossy(&word.text).into_owned()));
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_letters() {
        let text = "rock'n'roll: _x_ é1, (日本語)";
        let words = found(&Words::new(Charset::UTF8MB4), text.as_bytes());
        let texts: Vec<_> = words.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["rock", "n", "roll", "_x_", "é1", "日本語"]);
        for (offset, word) in words {
            assert!(text[offset..].starts_with(&word));
        }
        assert_eq!(
            found(&Words::new(Charset::UTF8MB4), b"\xE9\xFFab\xC3"),
            [(2, "ab".to_owned())],
            "malformed"
        );
    }
}
