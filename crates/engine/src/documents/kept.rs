//! Which documents have a word and how often, kept of lists that were read: as much of it as `ft_counts_size` allows, by what is asked for
//! most (S3-FIFO).
//!
//! # Invariants
//! - I1: [`Lists`] name the lists of an index as committed transactions have left them; when others are written, or the documents that
//!   were deleted are taken off, the index has a new name ([`Lists::new`]), and what is kept under the old one is not found any more. Who searches takes the
//!   name together with its view ([`crate::documents::seen`]).
//! - I2: what is kept is what the lists have, deleted documents included: who reads it leaves them out, as who reads lists does. While they are taken off
//!   the lists, both with and without them are right.

use foldhash::fast::RandomState;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{Equivalent, OptionsBuilder, Weighter};
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_fts::counts::Counts;

/// What one takes on the average, about; and what the cache itself adds to each.
const BYTES_USUAL: u64 = 16 << 10;
const BYTES_BESIDE: u64 = 160;
/// No more than a quarter of all is one word's.
const SHARDS: usize = 4;

/// The lists of an index, as they are until others are written. No two are alike while a process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Lists(u64);

impl Lists {
    pub(crate) fn new() -> Lists {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Lists(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Key {
    lists: Lists,
    word: Box<[u8]>,
}

#[derive(Debug, Hash)]
struct Asked<'a> {
    lists: Lists,
    word: &'a [u8],
}

impl Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        Asked { lists: self.lists, word: &self.word }.hash(state);
    }
}

impl Equivalent<Key> for Asked<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.lists == key.lists && *self.word == *key.word
    }
}

#[derive(Debug, Clone)]
struct Bytes;

impl Weighter<Key, Arc<Counts>> for Bytes {
    fn weight(&self, key: &Key, counts: &Arc<Counts>) -> u64 {
        (counts.bytes() + key.word.len()) as u64 + BYTES_BESIDE
    }
}

/// Of all indexes.
#[derive(Debug)]
pub(crate) struct KeptCounts {
    cache: Cache<Key, Arc<Counts>, Bytes, RandomState, DefaultLifecycle<Key, Arc<Counts>>>,
}

impl KeptCounts {
    /// At most so many bytes.
    pub(crate) fn new(bytes: u64) -> KeptCounts {
        let estimated = usize::try_from((bytes / BYTES_USUAL).clamp(256, 1 << 20)).unwrap_or(256);
        let mut options = OptionsBuilder::new();
        options.shards(SHARDS).estimated_items_capacity(estimated).weight_capacity(bytes);
        let options = options.build().expect("both capacities are said");
        KeptCounts { cache: Cache::with_options(options, Bytes, Default::default(), Default::default()) }
    }

    /// Keeps no more than so many bytes from now on.
    pub(crate) fn limit(&self, bytes: u64) {
        self.cache.set_capacity(bytes);
    }

    /// What is kept of a word, by its key.
    pub(crate) fn of(&self, lists: Lists, word: &[u8]) -> Option<Arc<Counts>> {
        self.cache.get(&Asked { lists, word })
    }

    /// Keeps what was read of a word.
    pub(crate) fn keep(&self, lists: Lists, word: &[u8], counts: &Arc<Counts>) {
        if self.cache.capacity() > 0 {
            self.cache.insert(Key { lists, word: word.into() }, counts.clone());
        }
    }

    /// Bytes it takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.cache.weight()
    }

    #[cfg(test)]
    fn words(&self) -> usize {
        self.cache.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_fts::DocId;

    fn counts(documents: u64) -> Arc<Counts> {
        Arc::new(Counts::new((0..documents).map(|doc| (DocId(doc), 1.0)).collect()).expect("each once"))
    }

    #[test]
    fn other_lists_have_other_counts() {
        let kept = KeptCounts::new(1 << 20);
        let (before, after) = (Lists::new(), Lists::new());
        kept.keep(before, b"apple", &counts(70));
        kept.keep(after, b"apple", &counts(80));
        let found = |lists, word| kept.of(lists, word).map(|counts| counts.documents().len());
        assert_eq!(found(before, &b"apple"[..]), Some(70));
        assert_eq!(found(after, b"apple"), Some(80));
        assert_eq!(found(after, b"pear"), None);
    }

    #[test]
    fn no_more_than_is_allowed() {
        let kept = KeptCounts::new(200_000);
        let lists = Lists::new();
        for word in 0..100u32 {
            kept.keep(lists, format!("word{word}").as_bytes(), &counts(500));
            assert!(kept.bytes() <= 200_000, "{} bytes", kept.bytes());
        }
        assert!(kept.words() > 10, "{}", kept.words());
        kept.keep(lists, b"long", &counts(100_000));
        assert!(kept.of(lists, b"long").is_none(), "more than is allowed to one");
        kept.limit(50_000);
        assert!(kept.bytes() <= 50_000 && kept.words() > 0, "{} bytes", kept.bytes());
        kept.limit(0);
        kept.keep(lists, b"apple", &counts(70));
        assert_eq!((kept.bytes(), kept.words()), (0, 0));
        kept.limit(100_000);
        kept.keep(lists, b"apple", &counts(70));
        assert_eq!(kept.words(), 1);
    }
}
