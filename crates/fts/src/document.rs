//! The words of one document, on their way into the cache.
//!
//! Each spelling is looked at once: which word it is, or that it is not indexed. All words are bytes of one vector and all places numbers
//! of another, so that a document costs a few allocations however many words it has.

use std::hash::BuildHasher;
use std::mem::size_of;
use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::DocId;
use crate::analyzer::{Analyzer, FirstSpellings};

/// The indexed words of a document, each once, with their places.
#[derive(Debug)]
pub struct DocumentWords {
    doc: DocId,
    bytes: Vec<u8>,
    words: Vec<Word>,
    /// In the order of the texts, each with the number of its word.
    places: Vec<(u32, u32)>,
}

/// A word, in [`DocumentWords::bytes`].
#[derive(Debug)]
struct Word {
    key: Range<u32>,
    /// As it is spelled first.
    text: Range<u32>,
    places: u32,
    last_place: u32,
}

/// A spelling, and the word that it is of, if it is indexed.
#[derive(Debug)]
struct Spelling {
    raw: Range<u32>,
    word: Option<u32>,
}

impl DocumentWords {
    /// Of a document's indexed columns, `None` for NULL.
    pub fn new<'a>(
        analyzer: &Analyzer,
        doc: DocId,
        columns: impl IntoIterator<Item = Option<&'a [u8]>>,
    ) -> DocumentWords {
        let mut found = DocumentWords { doc, bytes: Vec::new(), words: Vec::new(), places: Vec::new() };
        let mut spellings = Spellings::default();
        analyzer.raw_words(columns, |raw, place| {
            if let Some(word) = spellings.word(analyzer, &mut found, raw) {
                found.place(word, place);
            }
        });
        found
    }

    fn place(&mut self, number: u32, place: u32) {
        let word = &mut self.words[number as usize];
        // A parser may find the same word twice in a place.
        if word.places == 0 || word.last_place < place {
            word.places += 1;
            word.last_place = place;
            self.places.push((number, place));
        }
    }

    /// Its number.
    pub fn doc(&self) -> DocId {
        self.doc
    }

    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        self.bytes.len() + self.words.len() * size_of::<Word>() + self.places.len() * size_of::<(u32, u32)>()
    }

    /// The places of all words, in the order of the texts.
    pub fn places(&self) -> impl Iterator<Item = u32> {
        self.places.iter().map(|&(_, place)| place)
    }

    /// Gives `each` the key, the spelling and the places of every word.
    pub fn each(&self, mut each: impl FnMut(&[u8], &[u8], &[u32])) {
        let mut ends: Vec<u32> = Vec::with_capacity(self.words.len());
        let mut start = 0;
        for word in &self.words {
            ends.push(start);
            start += word.places;
        }
        // Sorted by word: where each one ends grows from where it starts.
        let mut places = vec![0; self.places.len()];
        for &(word, place) in &self.places {
            let end = &mut ends[word as usize];
            places[*end as usize] = place;
            *end += 1;
        }
        for (word, end) in self.words.iter().zip(ends) {
            let of = (end - word.places) as usize..end as usize;
            each(slice(&self.bytes, &word.key), slice(&self.bytes, &word.text), &places[of]);
        }
    }
}

fn slice<'b>(bytes: &'b [u8], range: &Range<u32>) -> &'b [u8] {
    &bytes[range.start as usize..range.end as usize]
}

/// Appends bytes; texts of a document, and their words, are less than 4 GiB.
fn push(bytes: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> Range<u32> {
    let start = bytes.len() as u32;
    write(bytes);
    start..bytes.len() as u32
}

/// What is known of a document while its words are found.
#[derive(Default)]
struct Spellings {
    known: HashTable<Spelling>,
    by_key: HashTable<u32>,
    hasher: RandomState,
    first: FirstSpellings,
    folded: Vec<u8>,
    key: Vec<u8>,
}

impl Spellings {
    /// The word that a spelling is of; a new one comes to the others.
    fn word(&mut self, analyzer: &Analyzer, found: &mut DocumentWords, raw: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(raw);
        if let Some(known) = self.known.find(hash, |known| slice(&found.bytes, &known.raw) == raw) {
            return known.word;
        }
        let is_indexed = analyzer.is_indexed_here(raw, &mut self.first, &mut self.folded);
        let word = is_indexed.then(|| self.word_of_key(analyzer, found));
        let raw = push(&mut found.bytes, |bytes| bytes.extend_from_slice(raw));
        let hasher = &self.hasher;
        self.known.insert_unique(hash, Spelling { raw, word }, |known| {
            hasher.hash_one(slice(&found.bytes, &known.raw))
        });
        word
    }

    /// The word of the spelling in lower case.
    fn word_of_key(&mut self, analyzer: &Analyzer, found: &mut DocumentWords) -> u32 {
        self.key.clear();
        analyzer.push_key(&self.folded, &mut self.key);
        let (hash, hasher) = (self.hasher.hash_one(&self.key[..]), &self.hasher);
        let key_of = |number: &u32| slice(&found.bytes, &found.words[*number as usize].key);
        if let Some(number) = self.by_key.find(hash, |number| key_of(number) == &self.key[..]) {
            return *number;
        }
        let number = found.words.len() as u32;
        self.by_key.insert_unique(hash, number, |number| hasher.hash_one(key_of(number)));
        let key = push(&mut found.bytes, |bytes| bytes.extend_from_slice(&self.key));
        let text = push(&mut found.bytes, |bytes| bytes.extend_from_slice(&self.folded));
        found.words.push(Word { key, text, places: 0, last_place: 0 });
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use vaquita_format::collation::Collation;

    proptest! {
        /// The words that the analyzer finds, the first spelling of each, and where.
        #[test]
        fn words_are_the_analyzers(
            texts in vec(proptest::option::of("((pear|Pear|PÉAR|thé|the|The|éclair|a|of|nut)( |, )){0,20}"), 0..3),
            id in prop_oneof![Just(33u16), Just(83), Just(192)],
        ) {
            let analyzer = Analyzer::innodb(Collation::of(id).expect("known"));
            let columns = || texts.iter().map(|text| text.as_deref().map(str::as_bytes));
            let mut wanted = BTreeMap::<Vec<u8>, (Vec<u8>, Vec<u32>)>::new();
            analyzer.document(columns(), |word, place| {
                let of = wanted.entry(analyzer.key(word).into()).or_insert((word.to_vec(), Vec::new()));
                of.1.push(place);
            });
            let mut found = BTreeMap::new();
            DocumentWords::new(&analyzer, DocId(1), columns()).each(|key, text, places| {
                let before = found.insert(key.to_vec(), (text.to_vec(), places.to_vec()));
                assert_eq!(before, None, "a word comes once");
            });
            prop_assert_eq!(found, wanted);
        }
    }
}
