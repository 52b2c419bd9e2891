//! The words of a query: which documents have them, how often, how rare they are.

use std::collections::HashMap;

use super::Index;
use super::found::{Found, Hit, seek};
use super::places::WordPlaces;
use crate::{DocId, rank};

/// A word of a query, however often it comes. `apple` and `apple*` are one word.
#[derive(Debug)]
struct AskedWord {
    /// How often documents have it, in ascending order of the documents.
    times: Vec<(DocId, u32)>,
    /// Documents, added up over all places of the query that ask for it, and all words it is the prefix of.
    documents: u64,
}

/// All words of a query, numbered as they come.
#[derive(Debug, Default)]
pub(super) struct AskedWords {
    words: Vec<AskedWord>,
    /// Whether there is only one.
    is_only: bool,
    by_key: HashMap<Box<[u8]>, usize>,
}

impl AskedWords {
    /// For a query of one word, or of more.
    pub(super) fn new(is_only: bool) -> AskedWords {
        AskedWords { is_only, ..AskedWords::default() }
    }

    /// Asks the index for a word, or for all with a prefix: what is found, and how many entries of lists that are. Where the word is may
    /// be kept, too.
    pub(super) fn ask<I: Index>(
        &mut self,
        index: &I,
        text: &[u8],
        is_prefix: bool,
        mut places: Option<&mut WordPlaces>,
    ) -> Result<(Found, usize), I::Error> {
        let mut times = Vec::new();
        match is_prefix {
            true => index.words_with_prefix(text, &mut |doc, count| times.push((doc, count)))?,
            false => index.word(text, &mut |doc, at| {
                times.push((doc, at.count()));
                if let Some(places) = &mut places {
                    places.push(doc, &at);
                }
            })?,
        }
        let number = self.number(index.analyzer().key(text));
        let word = &mut self.words[number];
        // Deleted documents make a word less rare, unless it is all that is asked for.
        let all = times.len();
        if index.has_deleted() {
            times.retain(|&(doc, _)| !index.is_deleted(doc));
        }
        let entries = times.len();
        word.documents += if self.is_only { entries } else { all } as u64;
        if !times.is_sorted_by(|a, b| a.0 < b.0) {
            times.sort_by_key(|&(doc, _)| doc);
        }
        let same = times.chunk_by(|a, b| a.0 == b.0);
        let found = Found::new(same.map(|same| (same[0].0, Hit::of(number, same.len()))).collect());
        // Of several words with the prefix the first one counts.
        times.dedup_by_key(|&mut (doc, _)| doc);
        if word.times.is_empty() {
            word.times = times;
        } else {
            word.times.extend(times);
            word.times.sort_by_key(|&(doc, _)| doc);
            word.times.dedup_by_key(|&mut (doc, _)| doc);
        }
        Ok((found, entries))
    }

    pub(super) fn has(&self, key: &[u8]) -> bool {
        self.by_key.contains_key(key)
    }

    /// How rare each word is, by number.
    pub(super) fn rarities(&self, documents: u64) -> Vec<f64> {
        self.words.iter().map(|word| rank::rarity(documents, word.documents)).collect()
    }

    /// How often documents have words, asked in ascending order of the documents.
    pub(super) fn times(&self) -> Times<'_> {
        Times { words: &self.words, places: vec![0; self.words.len()] }
    }

    fn number(&mut self, key: Box<[u8]>) -> usize {
        if let Some(&number) = self.by_key.get(&key) {
            return number;
        }
        let number = self.words.len();
        self.by_key.insert(key, number);
        self.words.push(AskedWord { times: Vec::new(), documents: 0 });
        number
    }
}

/// A way through the documents of all words at once.
pub(super) struct Times<'a> {
    words: &'a [AskedWord],
    /// Where it is in each.
    places: Vec<usize>,
}

impl Times<'_> {
    /// How often a document has a word.
    pub(super) fn of(&mut self, word: usize, doc: DocId) -> u32 {
        let times = &self.words[word].times;
        let place = &mut self.places[word];
        *place = seek(times, *place, doc, |there| there.0);
        times.get(*place).filter(|there| there.0 == doc).map_or(0, |there| there.1)
    }
}
