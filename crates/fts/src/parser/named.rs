//! Parsers by their names, which `WITH PARSER` of a FULLTEXT key says and the dictionary keeps.
//!
//! | name | words |
//! |---|---|
//! | `ngram` | [`Ngrams`] of the size that is said ([`Parsers::ngram_size`]) |
//! | `unicode` | [`Segments`] |
//! | `stem_arabic` to `stem_turkish` | [`Stems`] of [`Words`] |
//! | others | whoever embeds the engine adds them: [`Parsers::add`] |

use std::fmt;
use std::sync::Arc;

use vaquita_format::charset::Charset;

use super::{Language, NGRAM_SIZE_DEFAULT, Ngrams, Parser, Segments, Stems, Words};

/// Makes a parser of texts in a character set.
pub type MakeParser = dyn Fn(Charset) -> Box<dyn Parser> + Send + Sync;

const NGRAM: &str = "ngram";
const UNICODE: &str = "unicode";

const STEMS: [(&str, Language); 18] = [
    ("stem_arabic", Language::Arabic),
    ("stem_danish", Language::Danish),
    ("stem_dutch", Language::Dutch),
    ("stem_english", Language::English),
    ("stem_finnish", Language::Finnish),
    ("stem_french", Language::French),
    ("stem_german", Language::German),
    ("stem_greek", Language::Greek),
    ("stem_hungarian", Language::Hungarian),
    ("stem_italian", Language::Italian),
    ("stem_norwegian", Language::Norwegian),
    ("stem_portuguese", Language::Portuguese),
    ("stem_romanian", Language::Romanian),
    ("stem_russian", Language::Russian),
    ("stem_spanish", Language::Spanish),
    ("stem_swedish", Language::Swedish),
    ("stem_tamil", Language::Tamil),
    ("stem_turkish", Language::Turkish),
];

/// The parsers that indexes may name.
#[derive(Clone)]
pub struct Parsers {
    /// Characters of a sequence of `ngram`: one of [`NGRAM_SIZES`](super::NGRAM_SIZES).
    pub ngram_size: usize,
    own: Vec<(String, Arc<MakeParser>)>,
}

impl Default for Parsers {
    fn default() -> Parsers {
        Parsers { ngram_size: NGRAM_SIZE_DEFAULT, own: Vec::new() }
    }
}

impl Parsers {
    /// Adds one. It takes the place of another of that name.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        make: impl Fn(Charset) -> Box<dyn Parser> + Send + Sync + 'static,
    ) {
        let name = name.into();
        self.own.retain(|(other, _)| !other.eq_ignore_ascii_case(&name));
        self.own.push((name, Arc::new(make)));
    }

    /// The names of all of them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let known = [NGRAM, UNICODE].into_iter().chain(STEMS.iter().map(|(name, _)| *name));
        known.filter(|name| self.own(name).is_none()).chain(self.own.iter().map(|(name, _)| name.as_str()))
    }

    /// The name of a parser as it is kept, however it is written; `None` if there is none of that name.
    pub fn find(&self, name: &str) -> Option<&str> {
        self.names().find(|known| known.eq_ignore_ascii_case(name))
    }

    /// A parser by its name, for texts in a character set.
    pub fn make(&self, name: &str, charset: Charset) -> Option<Box<dyn Parser>> {
        if let Some(make) = self.own(name) {
            return Some(make(charset));
        }
        if name.eq_ignore_ascii_case(NGRAM) {
            return Some(Box::new(Ngrams::new(charset, self.ngram_size)));
        }
        if name.eq_ignore_ascii_case(UNICODE) {
            return Some(Box::new(Segments::new(charset)));
        }
        let (_, language) = STEMS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(Box::new(Stems::new(Words::new(charset), charset, *language)))
    }

    fn own(&self, name: &str) -> Option<&Arc<MakeParser>> {
        self.own.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, make)| make)
    }
}

impl fmt::Debug for Parsers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own: Vec<&String> = self.own.iter().map(|(name, _)| name).collect();
        f.debug_struct("Parsers").field("ngram_size", &self.ngram_size).field("own", &own).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::{RawWord, found};
    use std::borrow::Cow;

    fn texts(parsers: &Parsers, name: &str, text: &str) -> Vec<String> {
        let parser = parsers.make(name, Charset::UTF8MB4).expect("a parser of that name");
        found(&*parser, text.as_bytes()).into_iter().map(|(_, word)| word).collect()
    }

    #[test]
    fn every_name_is_a_parser() {
        let parsers = Parsers { ngram_size: 3, ..Parsers::default() };
        assert_eq!(parsers.names().count(), 20);
        for name in parsers.names() {
            assert!(parsers.make(name, Charset::UTF8MB4).is_some(), "{name}");
            assert_eq!(parsers.find(&name.to_uppercase()), Some(name));
        }
        assert_eq!(parsers.find("mecab"), None);
        assert!(parsers.make("mecab", Charset::UTF8MB4).is_none());
        assert_eq!(texts(&parsers, "ngram", "abcd"), ["abc", "bcd"]);
        assert_eq!(texts(&parsers, "unicode", "it's 3.14"), ["it's", "3.14"]);
        assert_eq!(texts(&parsers, "stem_english", "running boats"), ["run", "boat"]);
        assert_eq!(texts(&parsers, "stem_german", "Häuser laufen"), ["haus", "lauf"]);
    }

    /// Texts between commas.
    struct Commas;

    impl Parser for Commas {
        fn words<'a>(&self, text: &'a [u8], each: &mut dyn FnMut(RawWord<'a>)) {
            let mut offset = 0;
            for word in text.split(|&byte| byte == b',') {
                each(RawWord { offset, text: Cow::Borrowed(word) });
                offset += word.len() + 1;
            }
        }
    }

    #[test]
    fn ones_own_parser() {
        let mut parsers = Parsers::default();
        parsers.add("Commas", |_| Box::new(Commas));
        assert_eq!(parsers.find("commas"), Some("Commas"));
        assert_eq!(texts(&parsers, "COMMAS", "a b,c"), ["a b", "c"]);
        parsers.add("ngram", |_| Box::new(Commas));
        assert_eq!(texts(&parsers, "ngram", "a b,c"), ["a b", "c"], "it takes the place of the other one");
        assert_eq!(parsers.names().filter(|name| *name == "ngram").count(), 1);
    }
}
