//! The index cache: words of documents whose posting lists are not in the files yet.
//!
//! A commit adds its documents; when the cache is full, or a server stops, [`IndexCache::take`] gives what is to be written, one
//! row per word and node, and the cache is empty. It is lost in a crash: whoever keeps one adds the rows again whose documents
//! are not in the files.
//!
//! # Invariants
//! - I1: documents are added in ascending order, each once.
//! - I2: a word is kept under the key of its collation, spelled as it came first.
//! - I3: [`IndexCache::bytes`] never counts less than the lists and words take.

use std::collections::BTreeMap;
use std::mem::size_of;

use crate::DocId;
use crate::analyzer::Analyzer;
use crate::ilist::{Node, Nodes};

/// Words with their documents, in memory.
#[derive(Debug, Default)]
pub struct IndexCache {
    words: BTreeMap<Box<[u8]>, CachedWord>,
    last: Option<DocId>,
    documents: u64,
    bytes: usize,
}

#[derive(Debug)]
struct CachedWord {
    text: Box<[u8]>,
    postings: Vec<CachedPosting>,
}

#[derive(Debug)]
struct CachedPosting {
    doc: DocId,
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

impl IndexCache {
    /// An empty one.
    pub fn new() -> IndexCache {
        IndexCache::default()
    }

    /// Adds a document: its indexed columns, `None` for NULL.
    ///
    /// # Panics
    /// If its number is not above those of all others ever added.
    pub fn add<'a>(
        &mut self,
        analyzer: &Analyzer,
        doc: DocId,
        columns: impl IntoIterator<Item = Option<&'a [u8]>>,
    ) {
        assert!(self.last.is_none_or(|last| last < doc), "documents ascend: {doc} after {:?}", self.last);
        // By key: the spelling that comes first, and the places.
        let mut found = BTreeMap::<Box<[u8]>, (Box<[u8]>, Vec<u32>)>::new();
        analyzer.document(columns, |word, position| {
            let positions =
                &mut found.entry(analyzer.key(word)).or_insert_with(|| (word.into(), Vec::new())).1;
            // A parser may find the same word twice in a place.
            if positions.last().is_none_or(|&last| last < position) {
                positions.push(position);
            }
        });
        for (key, (text, positions)) in found {
            self.bytes += POSTING_BYTES + positions.len() * size_of::<u32>();
            let key_bytes = key.len();
            let word = self.words.entry(key).or_insert_with(|| {
                self.bytes += WORD_BYTES + key_bytes + text.len();
                CachedWord { text, postings: Vec::new() }
            });
            word.postings.push(CachedPosting { doc, positions: positions.into() });
        }
        self.last = Some(doc);
        self.documents += 1;
    }

    /// Bytes it takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many documents are in it.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// How many words are in it.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// The documents of a word: their numbers, and how often the word is in each.
    pub fn word(&self, analyzer: &Analyzer, word: &[u8], mut each: impl FnMut(DocId, u32)) {
        if let Some(cached) = self.words.get(&analyzer.key(word)) {
            cached.each(&mut each);
        }
    }

    /// The same of every word that starts with `prefix`, word by word: `each` is told the word, too.
    pub fn words_with_prefix(
        &self,
        analyzer: &Analyzer,
        prefix: &[u8],
        mut each: impl FnMut(&[u8], DocId, u32),
    ) {
        // Words with the prefix are behind the prefix itself, and next to each other.
        for cached in self.words.range(analyzer.key(prefix)..).map(|(_, word)| word) {
            if !analyzer.has_prefix(&cached.text, prefix) {
                break;
            }
            cached.each(&mut |doc, count| each(&cached.text, doc, count));
        }
    }

    /// All words in their order, with the posting lists they would be written as.
    pub fn lists(&self) -> impl Iterator<Item = IndexedWord> {
        self.words.values().map(CachedWord::list)
    }

    /// Empties it: what is to be written, words in their order. Documents added later must still have greater numbers.
    pub fn take(&mut self) -> impl Iterator<Item = IndexedWord> + use<> {
        self.bytes = 0;
        self.documents = 0;
        std::mem::take(&mut self.words).into_values().map(|word| word.list())
    }
}

impl CachedWord {
    fn each(&self, each: &mut impl FnMut(DocId, u32)) {
        for posting in &self.postings {
            each(posting.doc, posting.positions.len() as u32);
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
        cache.word(&analyzer(), b"eclair", |doc, count| found.push((doc.0, count)));
        assert_eq!(found, [(1, 2), (2, 1)]);
        let mut found = Vec::new();
        cache.words_with_prefix(&analyzer(), b"PEAR", |word, doc, _| found.push((word.to_vec(), doc.0)));
        assert_eq!(found, [(b"pear".to_vec(), 2), (b"pears".to_vec(), 3)]);
        let lists: Vec<_> = cache.lists().collect();
        assert_eq!(&*lists[0].text, "éclair".as_bytes());
        assert_eq!(lists[0].nodes[0].ilist, [0x81, 0x80, 0x88, 0, 0x81, 0x85, 0]);
        assert_eq!(cache.take().collect::<Vec<_>>(), lists);
        assert_eq!((cache.bytes(), cache.documents(), cache.words()), (0, 0, 0));
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
