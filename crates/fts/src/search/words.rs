//! The words of a query: which documents have them, how often, how rare they are.

use std::collections::HashMap;

use super::Index;
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

    /// Asks the index for a word, or for all with a prefix: its number, and the documents in ascending order, each as often as it
    /// has such words.
    pub(super) fn ask<I: Index>(
        &mut self,
        index: &I,
        text: &[u8],
        is_prefix: bool,
    ) -> Result<(usize, Vec<DocId>), I::Error> {
        let mut times = Vec::new();
        let mut each = |doc, count| times.push((doc, count));
        match is_prefix {
            true => index.words_with_prefix(text, &mut each)?,
            false => index.word(text, &mut each)?,
        }
        let number = self.number(index.analyzer().key(text));
        let word = &mut self.words[number];
        // Deleted documents make a word less rare, unless it is all that is asked for.
        let all = times.len();
        times.retain(|&(doc, _)| !index.is_deleted(doc));
        word.documents += if self.is_only { times.len() } else { all } as u64;
        // Of several words with the prefix the first one counts.
        times.sort_by_key(|&(doc, _)| doc);
        let documents = times.iter().map(|&(doc, _)| doc).collect();
        times.dedup_by_key(|&mut (doc, _)| doc);
        if word.times.is_empty() {
            word.times = times;
        } else {
            word.times.extend(times);
            word.times.sort_by_key(|&(doc, _)| doc);
            word.times.dedup_by_key(|&mut (doc, _)| doc);
        }
        Ok((number, documents))
    }

    pub(super) fn has(&self, key: &[u8]) -> bool {
        self.by_key.contains_key(key)
    }

    /// How rare each word is, by number.
    pub(super) fn rarities(&self, documents: u64) -> Vec<f64> {
        self.words.iter().map(|word| rank::rarity(documents, word.documents)).collect()
    }

    /// How often a document has a word.
    pub(super) fn times(&self, word: usize, doc: DocId) -> u32 {
        let times = &self.words[word].times;
        times.binary_search_by_key(&doc, |&(doc, _)| doc).map_or(0, |at| times[at].1)
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
