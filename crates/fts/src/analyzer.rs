//! From texts to the words that are indexed: what a parser finds, in lower case, of the right length, off the list of stopwords.
//!
//! The same analyzer reads documents and queries. Words are told in two ways: [`Word::text`] is how a word is spelled in the
//! index (lower case by the collation; accents stay), [`Analyzer::key`] what makes two spellings one word (equal by the
//! collation: `éclair` and `eclair` in `utf8_general_ci`).

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::RangeInclusive;

use vaquita_format::collation::Collation;

use crate::parser::{Parser, RawWord, Words};
use crate::partition::Split;
use crate::stopwords::{Stopwords, WordList};

/// Characters of the shortest word that may be asked for (`innodb_ft_min_token_size`): 0 to 16, by default 3.
pub const SIZE_MIN_DEFAULT: usize = 3;
/// Characters of the longest word (`innodb_ft_max_token_size`): 10 to 84, by default 84.
pub const SIZE_MAX_DEFAULT: usize = 84;

/// A word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The byte of the text it starts at.
    pub offset: usize,
    /// The word in lower case.
    pub text: Vec<u8>,
    /// Whether it is indexed: neither too short, nor too long, nor a stopword.
    pub is_indexed: bool,
    /// Whether it is too short or too long.
    pub has_wrong_size: bool,
    /// The byte of the text behind it, if the parser gives it as it stands there.
    pub end: Option<usize>,
}

/// Words of a document that are stopwords in one spelling and not in another: whether the first one decided for the index, by key.
#[derive(Debug, Default)]
pub(crate) struct FirstSpellings(HashMap<Box<[u8]>, bool>);

/// How the texts of an index become words.
pub struct Analyzer {
    collation: Collation,
    parser: Box<dyn Parser>,
    sizes: RangeInclusive<usize>,
    stopwords: Stopwords,
    split: Split,
}

impl Analyzer {
    /// InnoDB's own with its defaults, for texts of a collation.
    pub fn innodb(collation: Collation) -> Analyzer {
        Analyzer {
            collation,
            parser: Box::new(Words::new(collation.charset())),
            sizes: SIZE_MIN_DEFAULT..=SIZE_MAX_DEFAULT,
            stopwords: Stopwords::new(&WordList::default_list(), collation),
            split: Split::Innodb,
        }
    }

    /// With another parser.
    #[must_use]
    pub fn with_parser(self, parser: Box<dyn Parser>) -> Analyzer {
        Analyzer { parser, ..self }
    }

    /// With other lengths, in characters.
    #[must_use]
    pub fn with_sizes(self, sizes: RangeInclusive<usize>) -> Analyzer {
        Analyzer { sizes, ..self }
    }

    /// With other stopwords.
    #[must_use]
    pub fn with_stopwords(self, list: &WordList) -> Analyzer {
        Analyzer { stopwords: Stopwords::new(list, self.collation), ..self }
    }

    /// With another division of words among tables.
    #[must_use]
    pub fn with_split(self, split: Split) -> Analyzer {
        Analyzer { split, ..self }
    }

    /// Which of an index's tables a word is in: [`Split::table_of`].
    pub fn table_of(&self, word: &[u8]) -> usize {
        self.split.table_of(self.collation, word)
    }

    /// The collation of texts and words.
    pub fn collation(&self) -> Collation {
        self.collation
    }

    /// Its parser.
    pub fn parser(&self) -> &dyn Parser {
        &*self.parser
    }

    /// All words of a text, indexed or not, in their order.
    pub fn words(&self, text: &[u8], mut each: impl FnMut(Word)) {
        self.parser.words(text, &mut |raw| {
            let folded = self.folded(&raw.text);
            let has_wrong_size = self.has_wrong_size(&folded);
            let is_indexed = !has_wrong_size && !self.is_stopword(&folded);
            let end = end_of(text, &raw);
            each(Word { offset: raw.offset, text: folded, is_indexed, has_wrong_size, end });
        });
    }

    /// A word in lower case, as words are in the index.
    pub fn folded(&self, word: &[u8]) -> Vec<u8> {
        let mut folded = Vec::with_capacity(word.len());
        self.collation.lower(word, &mut folded);
        folded
    }

    fn is_stopword(&self, word: &[u8]) -> bool {
        self.of_word(word, |piece| self.stopwords.contains(piece))
    }

    fn is_spelled_otherwise(&self, word: &[u8]) -> bool {
        self.of_word(word, |piece| self.stopwords.is_spelled_otherwise(piece))
    }

    /// Whether something is true of a word, or of anything within it where that is what counts.
    fn of_word(&self, word: &[u8], is: impl Fn(&[u8]) -> bool) -> bool {
        if !self.parser.has_stopwords_within() {
            return is(word);
        }
        if self.stopwords.is_empty() {
            return false;
        }
        let charset = self.collation.charset();
        let (mut places, mut at) = (vec![0], 0);
        while at < word.len() {
            at += charset.char_len(&word[at..]).unwrap_or(1);
            places.push(at);
        }
        places.iter().enumerate().any(|(n, &from)| places[n + 1..].iter().any(|&to| is(&word[from..to])))
    }

    fn has_wrong_size(&self, word: &[u8]) -> bool {
        self.parser.has_sizes() && !self.sizes.contains(&self.collation.charset().char_count(word))
    }

    /// The indexed words of a document: of its indexed columns, `None` for NULL. The place of a word is told in the columns'
    /// texts, one after the other, with a byte between; columns without text leave no byte.
    ///
    /// A word that the document has in several spellings is a stopword if the first one is.
    pub fn document<'a>(
        &self,
        columns: impl IntoIterator<Item = Option<&'a [u8]>>,
        mut each: impl FnMut(&[u8], u32),
    ) {
        let (mut first, mut folded) = (FirstSpellings::default(), Vec::new());
        self.raw_words(columns, |raw, at| {
            if self.is_indexed_here(raw, &mut first, &mut folded) {
                each(&folded, at);
            }
        });
    }

    /// Whether a word of a document is indexed, and how it is spelled in the index, which `folded` is then. What is said of a spelling
    /// does not change within the document.
    pub(crate) fn is_indexed_here(
        &self,
        raw: &[u8],
        first: &mut FirstSpellings,
        folded: &mut Vec<u8>,
    ) -> bool {
        folded.clear();
        self.collation.lower(raw, folded);
        if self.has_wrong_size(folded) {
            return false;
        }
        let is_indexed = !self.is_stopword(folded);
        match self.is_spelled_otherwise(folded) {
            true => *first.0.entry(self.key(folded)).or_insert(is_indexed),
            false => is_indexed,
        }
    }

    /// The same when an index is built of the rows of a table: every spelling is looked at for itself.
    pub fn document_of_build<'a>(
        &self,
        columns: impl IntoIterator<Item = Option<&'a [u8]>>,
        mut each: impl FnMut(&[u8], u32),
    ) {
        self.each_word(columns, |word, at| {
            if word.is_indexed {
                each(&word.text, at);
            }
        });
    }

    fn each_word<'a>(
        &self,
        columns: impl IntoIterator<Item = Option<&'a [u8]>>,
        mut each: impl FnMut(Word, u32),
    ) {
        each_text(columns, |text, before| {
            self.words(text, |word| {
                let at = place(before, word.offset);
                each(word, at);
            });
        });
    }

    /// The words of a document as they are in its texts, indexed or not, with their places.
    pub(crate) fn raw_words<'a>(
        &self,
        columns: impl IntoIterator<Item = Option<&'a [u8]>>,
        mut each: impl FnMut(&[u8], u32),
    ) {
        each_text(columns, |text, before| {
            self.parser.words(text, &mut |raw| each(&raw.text, place(before, raw.offset)));
        });
    }

    /// A word in lower case, if it is indexed.
    pub(crate) fn indexed(&self, raw: &[u8]) -> Option<Vec<u8>> {
        let folded = self.folded(raw);
        (!self.has_wrong_size(&folded) && !self.is_stopword(&folded)).then_some(folded)
    }

    /// Whether a document may have the word or not, as it is spelled there and what was done with it: it is a stopword, or one in
    /// another spelling.
    pub fn is_near_stopword(&self, word: &[u8]) -> bool {
        self.is_stopword(word) || self.is_spelled_otherwise(word)
    }

    /// Bytes that are the same for all spellings of a word, and sort as the words do.
    pub fn key(&self, word: &[u8]) -> Box<[u8]> {
        let mut key = Vec::with_capacity(word.len() + 2);
        self.push_key(word, &mut key);
        key.into()
    }

    /// The same, appended to `out`.
    pub(crate) fn push_key(&self, word: &[u8], out: &mut Vec<u8>) {
        self.collation.sort_key(word, out);
    }

    /// Whether a word starts with `prefix`, by the collation: `stras` begins `straße` where `ß` equals `ss`.
    pub fn has_prefix(&self, word: &[u8], prefix: &[u8]) -> bool {
        self.collation.starts_with(word, prefix)
    }
}

/// Where a word of a text ends that the parser has left as it is.
fn end_of(text: &[u8], raw: &RawWord<'_>) -> Option<usize> {
    let Cow::Borrowed(word) = raw.text else { return None };
    let end = raw.offset + word.len();
    (text.get(raw.offset..end) == Some(word)).then_some(end)
}

/// Gives `each` the texts of a document's columns, and how many bytes are before them.
pub(crate) fn each_text<'a>(
    columns: impl IntoIterator<Item = Option<&'a [u8]>>,
    mut each: impl FnMut(&'a [u8], usize),
) {
    let mut before = 0;
    for text in columns.into_iter().flatten().filter(|text| !text.is_empty()) {
        each(text, before);
        before += text.len() + 1;
    }
}

/// The texts of a document in which words have the places that a MySQL server gives them when it builds an index of rows: of an empty text
/// before another one it counts the byte between, which it does not when a row comes. `None`: there is no such text, the places are those of
/// [`Analyzer::document`].
pub fn as_built_by_server(columns: &[Option<&[u8]>]) -> Option<Vec<Option<Vec<u8>>>> {
    let (mut empty, mut is_other) = (0, false);
    let built = columns.iter().map(|text| {
        let text = (*text)?;
        if text.is_empty() {
            empty += 1;
            return Some(Vec::new());
        }
        is_other |= empty > 0;
        let mut built = vec![b' '; std::mem::take(&mut empty)];
        built.extend_from_slice(text);
        Some(built)
    });
    let built = built.collect();
    is_other.then_some(built)
}

/// Texts end at 4 GiB: no column is longer, and a row is less.
fn place(before: usize, offset: usize) -> u32 {
    u32::try_from(before + offset).unwrap_or(u32::MAX)
}

impl fmt::Debug for Analyzer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Analyzer");
        shown.field("collation", &self.collation.name()).field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::Ngrams;

    fn document(collation: u16, columns: &[Option<&str>]) -> Vec<(String, u32)> {
        let analyzer = Analyzer::innodb(Collation::of(collation).expect("known"));
        let mut found = Vec::new();
        analyzer.document(columns.iter().map(|column| column.map(str::as_bytes)), |word, at| {
            found.push((String::from_utf8(word.to_vec()).expect("UTF-8"), at));
        });
        found
    }

    fn told(words: &[(&str, u32)]) -> Vec<(String, u32)> {
        words.iter().map(|&(word, at)| (word.to_owned(), at)).collect()
    }

    /// What `INNODB_FT_INDEX_CACHE` of a server shows of the same rows.
    #[test]
    fn places_in_several_columns() {
        type Case<'a> = (&'a [Option<&'a str>], &'a [(&'a str, u32)]);
        let cases: [Case<'_>; 6] = [
            (
                &[Some("abc def"), Some("ghi"), Some("jkl")],
                &[("abc", 0), ("def", 4), ("ghi", 8), ("jkl", 12)],
            ),
            (&[Some("abc"), None, Some("jkl")], &[("abc", 0), ("jkl", 4)]),
            (&[Some("abc"), Some(""), Some("jkl")], &[("abc", 0), ("jkl", 4)]),
            (&[Some("abc  "), Some("def"), Some("")], &[("abc", 0), ("def", 6)]),
            (&[Some("é abc"), Some("é"), Some("é zzz")], &[("abc", 3), ("zzz", 13)]),
            (&[Some(""), None, Some("jkl")], &[("jkl", 0)]),
        ];
        for (columns, words) in cases {
            assert_eq!(document(33, columns), told(words));
        }
    }

    #[test]
    fn what_is_indexed() {
        const UTF8_GENERAL_CI: u16 = 33;
        const UTF8_BIN: u16 = 83;
        let text = "The Apple THE the thé éÉa it's 12 123";
        assert_eq!(document(UTF8_GENERAL_CI, &[Some(text)]), told(&[("apple", 4), ("ééa", 23), ("123", 37)]));
        let words = document(UTF8_BIN, &[Some(text)]);
        assert_eq!(words[1], ("thé".to_owned(), 18), "another word by this collation");
        assert_eq!(
            document(UTF8_GENERAL_CI, &[Some("thé the")]),
            told(&[("thé", 0), ("the", 5)]),
            "as it came first"
        );
        let longest = "é".repeat(84);
        assert_eq!(document(UTF8_GENERAL_CI, &[Some(&longest)]).len(), 1);
        assert_eq!(document(UTF8_GENERAL_CI, &[Some(&format!("{longest}è"))]).len(), 0);
    }

    /// As the manual of MySQL 5.7 has it: what contains a stopword is one, whatever its place in the word.
    #[test]
    fn pieces_of_words_with_a_stopword_are_left_out() {
        let collation = Collation::of(45).expect("known");
        let indexed = |size, list: &WordList, text: &str| {
            let parser = Box::new(Ngrams::new(collation.charset(), size));
            let analyzer = Analyzer::innodb(collation).with_parser(parser).with_stopwords(list);
            let mut found = Vec::new();
            analyzer.document([Some(text.as_bytes())], |word, _| {
                found.push(String::from_utf8(word.to_vec()).expect("UTF-8"));
            });
            found
        };
        let commas = WordList::of(collation, vec![b",".to_vec().into(), b"of the".to_vec().into()]);
        assert_eq!(indexed(2, &commas, "a,b cd"), ["cd"]);
        assert_eq!(indexed(2, &WordList::default_list(), "Best Tea"), ["es", "st", "te"], "`be` and `a`");
        assert_eq!(indexed(3, &WordList::default_list(), "xthey"), ["xth", "hey"], "`the`");
        assert_eq!(
            indexed(3, &WordList::none(), "xthey 数据库管"),
            ["xth", "the", "hey", "数据库", "据库管"]
        );
    }

    #[test]
    fn places_of_a_server_that_builds() {
        let analyzer = Analyzer::innodb(Collation::of(33).expect("known"));
        let places = |columns: &[Option<&str>]| {
            let columns: Vec<_> = columns.iter().map(|text| text.map(str::as_bytes)).collect();
            let built = as_built_by_server(&columns)?;
            let mut places = Vec::new();
            analyzer.document(built.iter().map(Option::as_deref), |_, at| places.push(at));
            Some(places)
        };
        // As INNODB_FT_INDEX_TABLE of 5.6.24 has them.
        assert_eq!(places(&[Some("one"), Some(""), Some("two"), Some("three")]), Some(vec![0, 5, 9]));
        assert_eq!(places(&[Some(""), Some(""), Some("two"), Some("three")]), Some(vec![2, 6]));
        assert_eq!(places(&[Some(""), None, Some("two"), Some("")]), Some(vec![1]));
        assert_eq!(places(&[Some("one"), Some(""), Some(""), Some("two")]), Some(vec![0, 6]));
        assert_eq!(places(&[Some("one"), None, Some("two"), Some("")]), None);
    }

    #[test]
    fn keys_and_prefixes_go_by_the_collation() {
        let analyzer = Analyzer::innodb(Collation::of(33).expect("known"));
        assert_eq!(analyzer.key("éclair".as_bytes()), analyzer.key(b"eclair"));
        assert!(analyzer.key(b"eclair") < analyzer.key(b"eclairs"));
        assert!(analyzer.has_prefix("éclair".as_bytes(), b"ecl"));
        assert!(!analyzer.has_prefix(b"ecl", b"eclair"));
    }
}
