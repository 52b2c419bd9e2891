//! Words of many documents on their way into an index that is built: lists that grow as the texts are read.
//!
//! Most words of a text came before in the same spelling: one look at a table of spellings tells which word it is, and whether it is
//! indexed. Its document and places go straight to the end of the word's list, in the bytes of the files.
//!
//! # Invariants
//! - I1: the documents of a list ascend, whatever the order in which they come: one that does not fit behind the last one begins another
//!   list of its word. So does a number that comes again.
//! - I2: a list is spelled as the word is first in the list's first document.
//! - I3: [`Sheaf::bytes`] counts what lists, words and spellings take, and half as much again for tables that are not full.

use std::mem::size_of;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

use crate::DocId;
use crate::analyzer::Analyzer;
use crate::ilist::{Node, OpenNode};

/// Words and their lists.
#[derive(Debug, Default)]
pub struct Sheaf {
    hasher: RandomState,
    spellings: HashTable<Spelling>,
    /// Bytes of the spellings.
    texts: Vec<u8>,
    /// Numbers of words, by their keys.
    by_key: HashTable<usize>,
    words: Vec<SheafWord>,
    /// Lists that were ended since the next document does not fit behind them.
    ended: Vec<(Box<[u8]>, Node)>,
    /// Documents so far: which one it is, whatever its number.
    turn: u64,
    bytes: usize,
}

/// A word as it is in texts.
#[derive(Debug, Clone, Copy)]
struct Spelling {
    at: usize,
    len: usize,
    /// `None` if it is not indexed.
    word: Option<usize>,
}

#[derive(Debug)]
struct SheafWord {
    key: Box<[u8]>,
    /// The spelling of the list.
    text: Box<[u8]>,
    list: OpenNode,
    /// The turn of the list's last document.
    turn: u64,
}

const SPELLING_BYTES: usize = size_of::<Spelling>() * 3 / 2;
/// With what the allocator adds to each of three pieces of memory.
const WORD_BYTES: usize = (size_of::<SheafWord>() + size_of::<usize>()) * 3 / 2 + 3 * 16;

impl Sheaf {
    /// Adds the words of a document: of its indexed columns, `None` for NULL. Every spelling is looked at for itself, as
    /// [`Analyzer::document_of_build`] does.
    pub fn add<'a>(
        &mut self,
        analyzer: &Analyzer,
        doc: DocId,
        columns: impl IntoIterator<Item = Option<&'a [u8]>>,
    ) {
        self.turn += 1;
        analyzer.raw_words(columns, |raw, at| {
            if let Some(word) = self.word_of(analyzer, raw) {
                self.put(analyzer, word, raw, doc, at);
            }
        });
    }

    /// Bytes it takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives all lists with the spellings of their words, in no order; it is empty then.
    pub fn drain(&mut self, mut each: impl FnMut(&[u8], &Node)) {
        for (text, list) in self.ended.drain(..) {
            each(&text, &list);
        }
        for word in self.words.drain(..) {
            each(&word.text, &word.list.end());
        }
        self.spellings.clear();
        self.by_key.clear();
        self.texts.clear();
        self.bytes = 0;
    }

    /// The number of a word; `None` if it is not indexed.
    fn word_of(&mut self, analyzer: &Analyzer, raw: &[u8]) -> Option<usize> {
        let hash = self.hasher.hash_one(raw);
        let texts = &self.texts;
        let known = self.spellings.find(hash, |known| &texts[known.at..known.at + known.len] == raw);
        if let Some(known) = known {
            return known.word;
        }
        let word = analyzer.indexed(raw).map(|folded| self.word_of_key(analyzer.key(&folded)));
        let spelling = Spelling { at: self.texts.len(), len: raw.len(), word };
        self.texts.extend_from_slice(raw);
        self.bytes += raw.len() * 3 / 2 + SPELLING_BYTES;
        let (texts, hasher) = (&self.texts, &self.hasher);
        self.spellings
            .insert_unique(hash, spelling, |known| hasher.hash_one(&texts[known.at..known.at + known.len]));
        word
    }

    fn word_of_key(&mut self, key: Box<[u8]>) -> usize {
        let hash = self.hasher.hash_one(&*key);
        let words = &self.words;
        if let Some(&known) = self.by_key.find(hash, |&word| words[word].key == key) {
            return known;
        }
        let number = self.words.len();
        self.bytes += WORD_BYTES + key.len();
        self.words.push(SheafWord { key, text: Box::default(), list: OpenNode::default(), turn: 0 });
        let (words, hasher) = (&self.words, &self.hasher);
        self.by_key.insert_unique(hash, number, |&word| hasher.hash_one(&*words[word].key));
        number
    }

    fn put(&mut self, analyzer: &Analyzer, word: usize, raw: &[u8], doc: DocId, at: u32) {
        let word = &mut self.words[word];
        let before = word.list.capacity();
        if word.turn == self.turn {
            word.list.push_position(at);
        } else {
            if !word.list.takes(doc) {
                let list = std::mem::take(&mut word.list);
                if !list.is_empty() {
                    self.bytes += WORD_BYTES;
                    self.ended.push((std::mem::take(&mut word.text), list.end()));
                }
                word.text = analyzer.folded(raw).into();
                self.bytes += word.text.len();
            }
            word.turn = self.turn;
            word.list.push_document(doc, at);
        }
        // Of an ended list's memory, which stays, nothing was in the new one.
        self.bytes += word.list.capacity().saturating_sub(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use vaquita_format::collation::Collation;

    type Lists = BTreeMap<(Box<[u8]>, u64), (Vec<u8>, Vec<u32>)>;

    /// Every word of every document: how it is spelled there first, and its places.
    fn expected(analyzer: &Analyzer, documents: &[(u64, String)]) -> Lists {
        let mut all = Lists::new();
        for (doc, text) in documents {
            analyzer.document_of_build([Some(text.as_bytes())], |word, at| {
                let entry = all.entry((analyzer.key(word), *doc)).or_insert_with(|| (word.to_vec(), vec![]));
                entry.1.push(at);
            });
        }
        all
    }

    proptest! {
        #[test]
        fn lists_have_what_documents_have(
            texts in vec("(ab|ÀB|the|cde|Ècd|x|éclair| |,){0,12}", 1..12),
            order in vec(any::<u16>(), 12),
            drain_at in 0usize..12,
        ) {
            let analyzer = Analyzer::innodb(Collation::of(33).expect("known")).with_sizes(2..=84);
            // Numbers in any order, each once.
            let numbered = |(n, text): (usize, String)| (u64::from(order[n]) * 16 + n as u64, text);
            let documents: Vec<_> = texts.into_iter().enumerate().map(numbered).collect();
            let mut sheaf = Sheaf::default();
            let mut found = Lists::new();
            let mut take = |text: &[u8], list: &Node| {
                list.validate().expect("a list");
                let mut postings = list.postings();
                let mut is_first = true;
                while let Some(posting) = postings.next().expect("a list") {
                    let place = (analyzer.key(text), posting.doc.0);
                    let spelled = if is_first { text.to_vec() } else { Vec::new() };
                    is_first = false;
                    let twice = found.insert(place, (spelled, posting.positions().expect("a list")));
                    assert_eq!(twice, None);
                }
            };
            for (n, (doc, text)) in documents.iter().enumerate() {
                sheaf.add(&analyzer, DocId(*doc), [Some(text.as_bytes())]);
                if n == drain_at {
                    sheaf.drain(&mut take);
                    prop_assert_eq!(sheaf.bytes(), 0);
                }
            }
            sheaf.drain(&mut take);
            let wanted = expected(&analyzer, &documents);
            prop_assert_eq!(found.len(), wanted.len());
            for (place, (spelled, places)) in &wanted {
                let (text, at) = &found[place];
                prop_assert_eq!(at, places);
                prop_assert!(text.is_empty() || text == spelled, "the first document of a list spells it");
            }
        }
    }

    #[test]
    fn a_number_that_comes_again_is_in_another_list() {
        let analyzer = Analyzer::innodb(Collation::of(33).expect("known"));
        let mut sheaf = Sheaf::default();
        sheaf.add(&analyzer, DocId(4), [Some(&b"apple pear Apple"[..])]);
        sheaf.add(&analyzer, DocId(4), [Some(&b"APPLE"[..])]);
        let mut lists = Vec::new();
        sheaf.drain(|text, list| lists.push((text.to_vec(), list.ilist.clone())));
        lists.sort();
        assert_eq!(
            lists,
            [
                (b"apple".to_vec(), vec![0x84, 0x80, 0]),
                (b"apple".to_vec(), vec![0x84, 0x80, 0x8B, 0]),
                (b"pear".to_vec(), vec![0x84, 0x86, 0]),
            ]
        );
    }
}
