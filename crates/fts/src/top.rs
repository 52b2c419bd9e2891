//! The best n documents that have some of several words, without scoring all of them.
//!
//! A word's documents lie in blocks, each with a bound on what the word can add to one of its documents. When n documents are
//! found, the worst of them is a hurdle: blocks whose bounds together do not reach it are passed over (block-max WAND:
//! Ding and Suel, "Faster Top-k Document Retrieval Using Block-Max Indexes", 2011). Posting lists hold no greatest values, so blocks and
//! bounds are made of what was read of them: how often a word is in a document. Documents that are left are scored, which needs their
//! lengths.
//!
//! # Invariants
//! - I1: documents of a word ascend, and so do its blocks.
//! - I2: no document gets more from a word than what the word's bound says of how often it has it, and the bound grows with that: so none of
//!   a block gets more than the block's bound.
//! - I3: what is found is what scoring every document would find; of documents that are equally good those with the lower numbers.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::DocId;

/// Documents of a block.
const BLOCK_DOCUMENTS: usize = 128;

/// Bounds are added up in another order than scores, so their sum may be less by what is rounded: far less than this part of it.
const ROUNDED: f64 = 1e-9;

/// A word's documents with how often they have it, in blocks.
pub struct Blocks<'w, B> {
    documents: &'w [(DocId, f64)],
    /// The last document of each block, and the bound.
    bounds: Vec<(DocId, f64)>,
    bound: B,
}

impl<'w, B: Fn(f64) -> f64> Blocks<'w, B> {
    /// `bound` says what a word adds at most to a document that has it so often; it grows.
    ///
    /// # Panics
    /// If the documents do not ascend (in debug builds).
    pub fn new(documents: &'w [(DocId, f64)], bound: B) -> Blocks<'w, B> {
        debug_assert!(documents.is_sorted_by(|a, b| a.0 < b.0), "documents ascend");
        let of = |block: &[(DocId, f64)]| {
            let most = block.iter().map(|&(_, times)| times).fold(0.0, f64::max);
            (block[block.len() - 1].0, bound(most))
        };
        Blocks { documents, bounds: documents.chunks(BLOCK_DOCUMENTS).map(of).collect(), bound }
    }
}

/// A place in a word's documents.
struct Cursor<'a, 'w, B> {
    blocks: &'a Blocks<'w, B>,
    /// Which word it is.
    word: usize,
    at: usize,
    /// The best of all blocks.
    bound: f64,
}

impl<B: Fn(f64) -> f64> Cursor<'_, '_, B> {
    fn doc(&self) -> Option<DocId> {
        self.blocks.documents.get(self.at).map(|&(doc, _)| doc)
    }

    /// The bound of the block that has `doc`, or would have it, and the block's last document.
    fn block_of(&self, doc: DocId) -> Option<(DocId, f64)> {
        let from = self.at / BLOCK_DOCUMENTS;
        let bounds = &self.blocks.bounds[from.min(self.blocks.bounds.len())..];
        // Mostly it is the next one.
        match bounds.first() {
            Some(&first) if first.0 >= doc => Some(first),
            _ => bounds.get(bounds.partition_point(|&(last, _)| last < doc)).copied(),
        }
    }

    /// Goes to the first document that is `doc` or behind it.
    fn seek(&mut self, doc: DocId) {
        if self.doc().is_none_or(|here| here >= doc) {
            return;
        }
        let from = self.at / BLOCK_DOCUMENTS;
        let blocks = self.blocks.bounds[from..].partition_point(|&(last, _)| last < doc);
        let start = if blocks == 0 { self.at } else { (from + blocks) * BLOCK_DOCUMENTS };
        let rest = &self.blocks.documents[start.min(self.blocks.documents.len())..];
        let ahead = rest[..rest.len().min(BLOCK_DOCUMENTS)].partition_point(|&(at, _)| at < doc);
        self.at = start + ahead;
    }
}

/// A document that is among the best so far; the worst one is the greatest.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    doc: DocId,
    score: f32,
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> Ordering {
        other.score.total_cmp(&self.score).then(self.doc.cmp(&other.doc))
    }
}

/// What was found, and how much was looked at for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Best {
    /// The best documents with their scores, the best one first.
    pub documents: Vec<(DocId, f32)>,
    /// How many documents were scored.
    pub scored: usize,
}

/// The `n` documents with the highest scores above 0, the highest one first. `score` is told a document and the words that it has, in
/// ascending order, with how often; it gives no more than the bounds of these together.
///
/// # Errors
/// Those of `score`.
pub fn best<B: Fn(f64) -> f64, E>(
    words: &[Blocks<'_, B>],
    n: usize,
    mut score: impl FnMut(DocId, &[(usize, f64)]) -> Result<f32, E>,
) -> Result<Best, E> {
    if n == 0 {
        return Ok(Best { documents: Vec::new(), scored: 0 });
    }
    let mut heap: BinaryHeap<Candidate> = BinaryHeap::with_capacity(n.saturating_add(1).min(1024));
    let (mut scored, mut has) = (0, Vec::with_capacity(words.len()));
    let mut cursors: Vec<Cursor<'_, '_, B>> = Vec::with_capacity(words.len());
    for (word, blocks) in words.iter().enumerate() {
        cursors.push(Cursor { blocks, word, at: 0, bound: highest(blocks) });
    }
    loop {
        let hurdle = (heap.len() == n).then(|| heap.peek().map_or(0.0, |worst| worst.score));
        cursors.retain(|cursor| cursor.doc().is_some());
        cursors.sort_unstable_by_key(Cursor::doc);
        let Some((pivot, last)) = pivot(&cursors, hurdle) else { break };
        // All words that are at the pivot or before it can add to it.
        if let Some(hurdle) = hurdle
            && let Some(next) = beyond_blocks(&cursors[..=last], pivot, hurdle)
        {
            // A word behind the pivot may lift documents before `next`.
            let next =
                cursors[last + 1..].iter().filter_map(Cursor::doc).min().map_or(next, |doc| doc.min(next));
            cursors[..=last].iter_mut().for_each(|cursor| cursor.seek(next));
            continue;
        }
        has.clear();
        let mut reach = 0.0;
        for cursor in &mut cursors[..=last] {
            cursor.seek(pivot);
            if let Some(&(doc, times)) = cursor.blocks.documents.get(cursor.at)
                && doc == pivot
            {
                has.push((cursor.word, times));
                reach += (cursor.blocks.bound)(times);
                cursor.at += 1;
            }
        }
        if hurdle.is_some_and(|hurdle| !clears(reach, hurdle)) {
            continue;
        }
        has.sort_unstable_by_key(|&(word, _)| word);
        let score = score(pivot, &has)?;
        scored += 1;
        if score > 0.0 {
            heap.push(Candidate { doc: pivot, score });
        }
        if heap.len() > n {
            heap.pop();
        }
    }
    let found = heap.into_sorted_vec();
    Ok(Best { documents: found.into_iter().map(|found| (found.doc, found.score)).collect(), scored })
}

fn highest<B>(blocks: &Blocks<'_, B>) -> f64 {
    blocks.bounds.iter().map(|&(_, bound)| bound).fold(0.0, f64::max)
}

/// Whether a document with this bound can be better than the worst one. One that only equals it has a higher number, and loses.
fn clears(reach: f64, hurdle: f32) -> bool {
    // Rounding keeps the order: what is less as f64 is no more as f32.
    (reach * (1.0 + ROUNDED)) as f32 > hurdle
}

/// The first document that can clear the hurdle, by the bounds of whole words, and the last word that can be in it.
fn pivot<B: Fn(f64) -> f64>(cursors: &[Cursor<'_, '_, B>], hurdle: Option<f32>) -> Option<(DocId, usize)> {
    let mut reach = 0.0;
    for (at, cursor) in cursors.iter().enumerate() {
        let doc = cursor.doc()?;
        reach += cursor.bound;
        if hurdle.is_none_or(|hurdle| clears(reach, hurdle)) {
            let last = cursors[at..].iter().take_while(|cursor| cursor.doc() == Some(doc)).count();
            return Some((doc, at + last - 1));
        }
    }
    None
}

/// Where to go on if the blocks around `pivot` do not reach the hurdle; `None` if they do.
fn beyond_blocks<B: Fn(f64) -> f64>(
    cursors: &[Cursor<'_, '_, B>],
    pivot: DocId,
    hurdle: f32,
) -> Option<DocId> {
    let (mut reach, mut end) = (0.0, DocId(u64::MAX));
    for (last, bound) in cursors.iter().filter_map(|cursor| cursor.block_of(pivot)) {
        reach += bound;
        end = end.min(last);
    }
    (!clears(reach, hurdle) && end.0 < u64::MAX).then(|| DocId(end.0 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::convert::Infallible;

    type Word = Vec<(DocId, f64)>;

    fn word(documents: impl IntoIterator<Item = (u64, f64)>) -> Word {
        documents.into_iter().map(|(doc, times)| (DocId(doc), times)).collect()
    }

    /// The bound is what a document gets whose number can be divided by 3; others get less.
    fn of(doc: DocId, has: &[(usize, f64)]) -> f32 {
        let sum: f64 = has.iter().map(|(word, times)| times * (1.0 + *word as f64)).sum();
        (sum / (1 + doc.0 % 3) as f64) as f32
    }

    fn found(words: &[Word], n: usize) -> Best {
        let blocks: Vec<_> = words
            .iter()
            .enumerate()
            .map(|(word, documents)| Blocks::new(documents, move |times| times * (1.0 + word as f64)))
            .collect();
        best(&blocks, n, |doc, has| Ok::<_, Infallible>(of(doc, has))).unwrap_or_else(|never| match never {})
    }

    /// Every document is scored.
    fn exhaustive(words: &[Word], n: usize) -> Vec<(DocId, f32)> {
        let mut all: BTreeMap<DocId, Vec<(usize, f64)>> = BTreeMap::new();
        for (at, word) in words.iter().enumerate() {
            word.iter().for_each(|(doc, times)| all.entry(*doc).or_default().push((at, *times)));
        }
        let mut found: Vec<_> = all.into_iter().map(|(doc, has)| (doc, of(doc, &has))).collect();
        found.retain(|found| found.1 > 0.0);
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(n);
        found
    }

    #[test]
    fn most_documents_are_not_scored() {
        // A common word that adds little, a rare one that adds much.
        let common = word((1..100_000).map(|doc| (doc, 1.0 + (doc % 7) as f64 / 10.0)));
        let rare = word((1..100).map(|at| (at * 997, 50.0)));
        let words = [common, rare];
        let best = found(&words, 10);
        assert_eq!(best.documents, exhaustive(&words, 10));
        assert!(best.scored < 200, "{}", best.scored);
    }

    #[test]
    fn few_or_no_documents() {
        assert_eq!(found(&[], 3).documents, []);
        assert_eq!(found(&[word([])], 3).documents, []);
        assert_eq!(found(&[word([(u64::MAX, 1.0)])], 3).documents, [(DocId(u64::MAX), 1.0)]);
        assert_eq!(found(&[word([(1, 1.0)])], 0).documents, []);
        assert_eq!(found(&[word([(1, 0.0), (3, 1.0)])], 2).documents, [(DocId(3), 1.0)]);
    }

    #[test]
    fn who_fails_is_told() {
        let documents = word([(1, 1.0), (2, 1.0)]);
        let blocks = [Blocks::new(&documents, |times| times)];
        assert_eq!(best(&blocks, 5, |doc, _| if doc.0 == 2 { Err("gone") } else { Ok(1.0) }), Err("gone"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn as_if_every_document_were_scored(
            words in vec(btree_map(0u64..3_000, 0u8..20, 0..700), 1..5), n in 1usize..20,
        ) {
            let words: Vec<_> =
                words.into_iter().map(|one| word(one.into_iter().map(|(doc, times)| (doc, f64::from(times))))).collect();
            prop_assert_eq!(found(&words, n).documents, exhaustive(&words, n));
        }
    }
}
