//! The index cache: words of documents whose posting lists are not in the files yet.
//!
//! A commit adds its documents; when the cache is full, or a server stops, [`IndexCache::lists`] gives what is to be written,
//! one row per word and node. It is lost in a crash: whoever keeps one adds the rows again whose documents are not in the files.
//!
//! Documents come in the order of commits, which is not that of their numbers; each has its turn, so that a search which began
//! earlier can leave out what came later.
//!
//! # Invariants
//! - I1: a document is in it once; the documents of a word are in ascending order.
//! - I2: a word is kept under the key of its collation, spelled as it came first.
//! - I3: [`IndexCache::bytes`] never counts less than the lists and words take.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::size_of;

use crate::DocId;
use crate::analyzer::Analyzer;
use crate::document::DocumentWords;
use crate::ilist::{Node, Nodes, Places};

/// Words with their documents, in memory.
#[derive(Debug, Default, Clone)]
pub struct IndexCache {
    words: BTreeMap<Box<[u8]>, CachedWord>,
    documents: BTreeSet<DocId>,
    /// The turn of the next document.
    turn: u64,
    bytes: usize,
}

#[derive(Debug, Clone)]
struct CachedWord {
    text: Box<[u8]>,
    /// By document.
    postings: Vec<CachedPosting>,
}

#[derive(Debug, Clone)]
struct CachedPosting {
    doc: DocId,
    turn: u64,
    positions: Box<[u32]>,
}

/// A word to be written: how it is spelled, and its documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedWord {
    /// Its spelling in the index.
    pub text: Box<[u8]>,
    /// Its documents, in ascending order.
    pub nodes: Vec<Node>,
}

/// What a word costs beside its bytes: an entry of the map, its vectors' heads, what the allocator adds.
const WORD_BYTES: usize = size_of::<(Box<[u8]>, CachedWord)>() + 32;
const POSTING_BYTES: usize = size_of::<CachedPosting>() + 16;
const DOCUMENT_BYTES: usize = 2 * size_of::<DocId>();

impl IndexCache {
    /// An empty one.
    pub fn new() -> IndexCache {
        IndexCache::default()
    }

    /// Adds a document: its indexed columns, `None` for NULL. Nothing happens if it is there.
    pub fn add<'a>(
        &mut self,
        analyzer: &Analyzer,
        doc: DocId,
        columns: impl IntoIterator<Item = Option<&'a [u8]>>,
    ) {
        if !self.has(doc) {
            self.add_words(&DocumentWords::new(analyzer, doc, columns));
        }
    }

    /// The same of a document whose words are known.
    pub fn add_words(&mut self, words: &DocumentWords) {
        let doc = words.doc();
        if self.begin(doc) {
            let turn = self.turn;
            words.each(|key, text, places| {
                self.put(key, text, CachedPosting { doc, turn, positions: places.into() });
            });
        }
    }

    /// Gives a document its turn; whether it is new.
    fn begin(&mut self, doc: DocId) -> bool {
        let is_new = self.documents.insert(doc);
        if is_new {
            self.turn += 1;
            self.bytes += DOCUMENT_BYTES;
        }
        is_new
    }

    fn put(&mut self, key: &[u8], text: &[u8], posting: CachedPosting) {
        self.bytes += POSTING_BYTES + posting.positions.len() * size_of::<u32>();
        if let Some(word) = self.words.get_mut(key) {
            word.put(posting);
            return;
        }
        self.bytes += WORD_BYTES + key.len() + text.len();
        self.words.insert(key.into(), CachedWord { text: text.into(), postings: vec![posting] });
    }

    /// Adds the documents of another cache of the same index, in the order of their numbers; those that are here are left out.
    pub fn absorb(&mut self, other: IndexCache) {
        let before = self.turn;
        let new: BTreeMap<DocId, u64> = other
            .documents
            .into_iter()
            .filter_map(|doc| self.begin(doc).then_some((doc, self.turn)))
            .collect();
        debug_assert_eq!(self.turn - before, new.len() as u64, "each new document has its turn");
        for (key, word) in other.words {
            for posting in word.postings {
                if let Some(&turn) = new.get(&posting.doc) {
                    self.put(&key, &word.text, CachedPosting { turn, ..posting });
                }
            }
        }
    }

    /// An empty one, whose documents have their turns after those here.
    #[must_use]
    pub fn rest(&self) -> IndexCache {
        IndexCache { turn: self.turn, ..IndexCache::default() }
    }

    /// Bytes it takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many documents are in it.
    pub fn documents(&self) -> u64 {
        self.documents.len() as u64
    }

    /// Whether a document is in it.
    pub fn has(&self, doc: DocId) -> bool {
        self.documents.contains(&doc)
    }

    /// The greatest document in it.
    pub fn last(&self) -> Option<DocId> {
        self.documents.last().copied()
    }

    /// The turn of the document that came last: what comes later has a greater one.
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// How many words are in it.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// The documents of a word: their numbers, and where the word is in each.
    pub fn word(&self, analyzer: &Analyzer, word: &[u8], each: impl FnMut(DocId, Places<'_>)) {
        self.word_until(u64::MAX, analyzer, word, each);
    }

    /// The same of the documents up to a turn.
    pub fn word_until(
        &self,
        turn: u64,
        analyzer: &Analyzer,
        word: &[u8],
        mut each: impl FnMut(DocId, Places<'_>),
    ) {
        if let Some(cached) = self.words.get(&analyzer.key(word)) {
            cached.each(turn, &mut each);
        }
    }

    /// The documents of every word that starts with `prefix`, word by word, and where it is in each.
    pub fn words_with_prefix(
        &self,
        analyzer: &Analyzer,
        prefix: &[u8],
        each: impl FnMut(&[u8], DocId, Places<'_>),
    ) {
        self.words_with_prefix_until(u64::MAX, analyzer, prefix, each);
    }

    /// The same of the documents up to a turn.
    pub fn words_with_prefix_until(
        &self,
        turn: u64,
        analyzer: &Analyzer,
        prefix: &[u8],
        mut each: impl FnMut(&[u8], DocId, Places<'_>),
    ) {
        // Words with the prefix are behind the prefix itself, and next to each other.
        for cached in self.words.range(analyzer.key(prefix)..).map(|(_, word)| word) {
            if !analyzer.has_prefix(&cached.text, prefix) {
                break;
            }
            cached.each(turn, &mut |doc, places: Places<'_>| each(&cached.text, doc, places));
        }
    }

    /// All words in their order, with the posting lists they would be written as.
    pub fn lists(&self) -> impl Iterator<Item = IndexedWord> {
        self.words.values().map(CachedWord::list)
    }
}

impl CachedWord {
    fn put(&mut self, posting: CachedPosting) {
        // Most come in the order of their numbers.
        let at = match self.postings.last() {
            Some(last) if last.doc > posting.doc => self.postings.partition_point(|p| p.doc < posting.doc),
            _ => self.postings.len(),
        };
        self.postings.insert(at, posting);
    }

    fn each(&self, turn: u64, each: &mut impl FnMut(DocId, Places<'_>)) {
        for posting in self.postings.iter().filter(|posting| posting.turn <= turn) {
            each(posting.doc, Places::Plain(&posting.positions));
        }
    }

    fn list(&self) -> IndexedWord {
        let mut nodes = Nodes::default();
        for posting in &self.postings {
            nodes.push(posting.doc, &posting.positions);
        }
        IndexedWord { text: self.text.clone(), nodes: nodes.finish() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_format::collation::Collation;

    fn analyzer() -> Analyzer {
        Analyzer::innodb(Collation::of(33).expect("known"))
    }

    fn cache(texts: &[&str]) -> IndexCache {
        let mut cache = IndexCache::new();
        for (at, text) in texts.iter().enumerate() {
            cache.add(&analyzer(), DocId(at as u64 + 1), [Some(text.as_bytes())]);
        }
        cache
    }

    #[test]
    fn words_come_once_however_they_are_spelled() {
        let mut cache = cache(&["Éclair eclair", "pear ECLAIR", "pears"]);
        assert_eq!((cache.documents(), cache.words()), (3, 3));
        let mut found = Vec::new();
        cache.word(&analyzer(), b"eclair", |doc, places| found.push((doc.0, places.count())));
        assert_eq!(found, [(1, 2), (2, 1)]);
        let mut found = Vec::new();
        cache.words_with_prefix(&analyzer(), b"PEAR", |word, doc, _| found.push((word.to_vec(), doc.0)));
        assert_eq!(found, [(b"pear".to_vec(), 2), (b"pears".to_vec(), 3)]);
        let lists: Vec<_> = cache.lists().collect();
        assert_eq!(&*lists[0].text, "éclair".as_bytes());
        assert_eq!(lists[0].nodes[0].ilist, [0x81, 0x80, 0x88, 0, 0x81, 0x85, 0]);
        cache.add(&analyzer(), DocId(2), [Some(b"again".as_slice())]);
        assert_eq!(cache.lists().collect::<Vec<_>>(), lists, "a document is added once");
    }

    fn found(cache: &IndexCache, turn: u64, word: &str) -> Vec<u64> {
        let mut found = Vec::new();
        cache.word_until(turn, &analyzer(), word.as_bytes(), |doc, _| found.push(doc.0));
        found
    }

    #[test]
    fn documents_come_in_any_order_and_have_turns() {
        let mut cache = IndexCache::new();
        for doc in [7, 3, 5] {
            cache.add(&analyzer(), DocId(doc), [Some(b"apple pear".as_slice())]);
        }
        assert_eq!(found(&cache, u64::MAX, "apple"), [3, 5, 7]);
        assert_eq!(found(&cache, 2, "apple"), [3, 7], "5 came later");
        let lists: Vec<_> = cache.lists().collect();
        assert_eq!(lists.len(), 2);
        assert_eq!((lists[0].nodes[0].first, lists[0].nodes[0].doc_count), (DocId(3), 3));
        assert_eq!(cache.last(), Some(DocId(7)));
        let mut rest = cache.rest();
        rest.add(&analyzer(), DocId(4), [Some(b"pear".as_slice())]);
        assert_eq!((found(&rest, cache.turn(), "pear"), rest.turn()), (vec![], 4), "turns go on");

        let mut other = IndexCache::new();
        other.add(&analyzer(), DocId(4), [Some(b"apple".as_slice())]);
        other.add(&analyzer(), DocId(5), [Some(b"never".as_slice())]);
        let turn = cache.turn();
        cache.absorb(other);
        assert_eq!(found(&cache, u64::MAX, "apple"), [3, 4, 5, 7]);
        assert_eq!(found(&cache, turn, "apple"), [3, 5, 7]);
        assert_eq!(found(&cache, u64::MAX, "never"), [0; 0], "5 was there");
    }

    #[test]
    fn bytes_grow_with_words_and_places() {
        let one = cache(&["apple"]).bytes();
        assert!(one > "apple".len() * 2);
        assert!(cache(&["apple", "apple"]).bytes() < 2 * one, "the word is there once");
        let twice = cache(&["apple apple"]).bytes();
        assert_eq!(twice, one + size_of::<u32>());
    }
}
