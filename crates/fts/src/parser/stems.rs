//! Words by their stems: `fishing` and `fished` are `fish`.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};
use vaquita_format::charset::{Case, CaseVersion, Charset};

use super::{Parser, RawWord};

/// Languages with known stems.
pub use rust_stemmers::Algorithm as Language;

/// The words of another parser, each reduced to its stem.
pub struct Stems<P> {
    parser: P,
    charset: Charset,
    stemmer: Stemmer,
}

impl<P: Parser> Stems<P> {
    /// Stems in one language.
    pub fn new(parser: P, charset: Charset, language: Algorithm) -> Stems<P> {
        Stems { parser, charset, stemmer: Stemmer::create(language) }
    }

    /// `None` for a word that the character set cannot spell, which stays as it is.
    fn stem(&self, word: &[u8]) -> Option<Vec<u8>> {
        let mut lower = Vec::with_capacity(word.len());
        self.charset.change_case(Case::Lower, CaseVersion::V300, word, &mut lower);
        let decoded = self.charset.decode(&lower)?;
        let mut stem = Vec::new();
        let fits = self.stemmer.stem(&decoded).chars().all(|c| self.charset.push(u32::from(c), &mut stem));
        fits.then_some(stem)
    }
}

impl<P: Parser> Parser for Stems<P> {
    fn words<'a>(&self, text: &'a [u8], each: &mut dyn FnMut(RawWord<'a>)) {
        self.parser.words(text, &mut |word| match self.stem(&word.text) {
            Some(stem) => each(RawWord { offset: word.offset, text: Cow::Owned(stem) }),
            None => each(word),
        });
    }

    fn has_sizes(&self) -> bool {
        self.parser.has_sizes()
    }

    fn cuts_terms(&self) -> bool {
        self.parser.cuts_terms()
    }

    fn has_stopwords_within(&self) -> bool {
        self.parser.has_stopwords_within()
    }
}

impl<P: std::fmt::Debug> std::fmt::Debug for Stems<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stems").field("parser", &self.parser).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::{Words, found};

    #[test]
    fn stems_of_two_languages() {
        let stems = |charset, language, text: &[u8]| {
            let parser = Stems::new(Words::new(charset), charset, language);
            found(&parser, text).into_iter().map(|(_, word)| word).collect::<Vec<_>>()
        };
        let english = stems(Charset::UTF8MB4, Language::English, b"Fishing boats FISHED");
        assert_eq!(english, ["fish", "boat", "fish"]);
        let german = stems(Charset::LATIN1, Language::German, b"H\xE4user");
        assert_eq!(german, ["haus"]);
    }
}
