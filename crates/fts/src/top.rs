//! The best n documents that have some of several words, without looking at all of them.
//!
//! A word's documents lie in blocks, each with a bound on what the word can add to one of its documents. When n documents are
//! found, the worst of them is a hurdle: blocks whose bounds together do not reach it are passed over unread (block-max WAND:
//! Ding and Suel, "Faster Top-k Document Retrieval Using Block-Max Indexes", 2011).
//!
//! # Invariants
//! - I1: blocks ascend, and so do the documents in them.
//! - I2: no document of a block gets more from the word than the block's bound.
//! - I3: what is found is what looking at every document would find; of documents that are equally good those with the lower
//!   numbers.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use vaquita_format::Corruption;

use crate::DocId;
use crate::ilist::{Node, Posting};

/// Documents of a block.
const BLOCK_DOCUMENTS: usize = 128;

/// A word's documents with what it adds to each, in blocks.
#[derive(Debug, Clone, Default)]
pub struct Blocks {
    documents: Vec<(DocId, f64)>,
    /// The last document of each block, and the bound.
    bounds: Vec<(DocId, f64)>,
}

impl Blocks {
    /// The documents of a word's nodes with what `score` gives each.
    ///
    /// # Errors
    /// A posting list that is none, or nodes that do not ascend.
    pub fn of_nodes<'a>(
        nodes: impl IntoIterator<Item = &'a Node>,
        mut score: impl FnMut(Posting<'_>) -> f64,
    ) -> Result<Blocks, Corruption> {
        let mut documents: Vec<(DocId, f64)> = Vec::new();
        for node in nodes {
            let mut postings = node.postings();
            while let Some(posting) = postings.next()? {
                if documents.last().is_some_and(|&(last, _)| last >= posting.doc) {
                    return Err(Corruption::new("posting list", "nodes of a word that do not ascend"));
                }
                documents.push((posting.doc, score(posting)));
            }
        }
        Ok(Blocks::new(documents))
    }

    /// Documents with scores.
    ///
    /// # Panics
    /// If they do not ascend.
    pub fn new(documents: Vec<(DocId, f64)>) -> Blocks {
        assert!(documents.windows(2).all(|pair| pair[0].0 < pair[1].0), "documents ascend");
        let bound = |block: &[(DocId, f64)]| {
            let best = block.iter().map(|&(_, score)| score).fold(0.0, f64::max);
            (block[block.len() - 1].0, best)
        };
        let bounds = documents.chunks(BLOCK_DOCUMENTS).map(bound).collect();
        Blocks { documents, bounds }
    }
}

/// A place in a word's documents.
struct Cursor<'a> {
    blocks: &'a Blocks,
    at: usize,
    /// The best of all blocks.
    bound: f64,
    /// How many documents were looked at.
    looked_at: usize,
}

impl Cursor<'_> {
    fn doc(&self) -> Option<DocId> {
        self.blocks.documents.get(self.at).map(|&(doc, _)| doc)
    }

    /// The bound of the block that has `doc`, or would have it, and the block's last document.
    fn block_of(&self, doc: DocId) -> Option<(DocId, f64)> {
        let from = self.at / BLOCK_DOCUMENTS;
        let bounds = &self.blocks.bounds[from.min(self.blocks.bounds.len())..];
        bounds.get(bounds.partition_point(|&(last, _)| last < doc)).copied()
    }

    /// Goes to the first document that is `doc` or behind it.
    fn seek(&mut self, doc: DocId) {
        let from = self.at / BLOCK_DOCUMENTS;
        let blocks =
            self.blocks.bounds[from.min(self.blocks.bounds.len())..].partition_point(|&(last, _)| last < doc);
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
    score: f64,
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
    pub documents: Vec<(DocId, f64)>,
    /// How many postings were scored.
    pub looked_at: usize,
}

/// The `n` documents with the highest sums of scores, the highest one first.
pub fn best(words: &[Blocks], n: usize) -> Best {
    if n == 0 {
        return Best { documents: Vec::new(), looked_at: 0 };
    }
    let mut cursors: Vec<Cursor<'_>> = words
        .iter()
        .map(|blocks| {
            let bound = blocks.bounds.iter().map(|&(_, bound)| bound).fold(0.0, f64::max);
            Cursor { blocks, at: 0, bound, looked_at: 0 }
        })
        .collect();
    let mut heap: BinaryHeap<Candidate> = BinaryHeap::with_capacity(n + 1);
    loop {
        let hurdle = (heap.len() == n).then(|| heap.peek().expect("n is not 0").score);
        cursors.sort_by_key(|cursor| cursor.doc().map_or((true, DocId(0)), |doc| (false, doc)));
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
        let mut score = 0.0;
        for cursor in &mut cursors[..=last] {
            cursor.seek(pivot);
            if let Some(&(doc, adds)) = cursor.blocks.documents.get(cursor.at)
                && doc == pivot
            {
                score += adds;
                cursor.at += 1;
                cursor.looked_at += 1;
            }
        }
        heap.push(Candidate { doc: pivot, score });
        if heap.len() > n {
            heap.pop();
        }
    }
    let looked_at = cursors.iter().map(|cursor| cursor.looked_at).sum();
    let found = heap.into_sorted_vec();
    Best { documents: found.into_iter().map(|found| (found.doc, found.score)).collect(), looked_at }
}

/// The first document that can clear the hurdle, by the bounds of whole words, and the last word that can be in it.
fn pivot(cursors: &[Cursor<'_>], hurdle: Option<f64>) -> Option<(DocId, usize)> {
    let mut reach = 0.0;
    for (at, cursor) in cursors.iter().enumerate() {
        let doc = cursor.doc()?;
        reach += cursor.bound;
        if hurdle.is_none_or(|hurdle| reach > hurdle) {
            let last = cursors[at..].iter().take_while(|cursor| cursor.doc() == Some(doc)).count();
            return Some((doc, at + last - 1));
        }
    }
    None
}

/// Where to go on if the blocks around `pivot` do not reach the hurdle; `None` if they do.
fn beyond_blocks(cursors: &[Cursor<'_>], pivot: DocId, hurdle: f64) -> Option<DocId> {
    let (mut reach, mut end) = (0.0, DocId(u64::MAX));
    for (last, bound) in cursors.iter().filter_map(|cursor| cursor.block_of(pivot)) {
        reach += bound;
        end = end.min(last);
    }
    // A document that only equals the worst one has a higher number than it, and loses.
    (reach <= hurdle && end.0 < u64::MAX).then(|| DocId(end.0 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn blocks(documents: impl IntoIterator<Item = (u64, f64)>) -> Blocks {
        Blocks::new(documents.into_iter().map(|(doc, score)| (DocId(doc), score)).collect())
    }

    /// Every document is looked at.
    fn exhaustive(words: &[Blocks], n: usize) -> Vec<(DocId, f64)> {
        let mut sums: BTreeMap<DocId, f64> = BTreeMap::new();
        for (doc, score) in words.iter().flat_map(|blocks| &blocks.documents) {
            *sums.entry(*doc).or_default() += score;
        }
        let mut found: Vec<_> = sums.into_iter().collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(n);
        found
    }

    #[test]
    fn most_blocks_are_not_looked_at() {
        // A common word that adds little, a rare one that adds much.
        let common = blocks((1..100_000).map(|doc| (doc, 1.0 + (doc % 7) as f64 / 10.0)));
        let rare = blocks((1..100).map(|at| (at * 997, 50.0)));
        let words = [common, rare];
        let found = best(&words, 10);
        assert_eq!(found.documents, exhaustive(&words, 10));
        assert!(found.looked_at < 1_000, "{}", found.looked_at);
    }

    #[test]
    fn few_or_no_documents() {
        assert_eq!(best(&[], 3).documents, []);
        assert_eq!(best(&[blocks([])], 3).documents, []);
        assert_eq!(best(&[blocks([(u64::MAX, 1.0)])], 3).documents, [(DocId(u64::MAX), 1.0)]);
        assert_eq!(best(&[blocks([(1, 1.0)])], 0).documents, []);
        assert_eq!(best(&[blocks([(1, 0.0), (2, 0.0)])], 1).documents, [(DocId(1), 0.0)]);
    }

    #[test]
    fn nodes_that_do_not_ascend_are_refused() {
        let mut node = Node::default();
        node.push(DocId(4), &[0, 9]);
        let found = Blocks::of_nodes([&node], |posting| f64::from(posting.count)).expect("well-formed");
        assert_eq!(found.documents, [(DocId(4), 2.0)]);
        assert!(Blocks::of_nodes([&node, &node], |_| 1.0).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn as_if_every_document_were_looked_at(
            words in vec(btree_map(0u64..3_000, 0u8..20, 0..700), 1..5), n in 1usize..20,
        ) {
            // Whole numbers: their sums do not depend on the order.
            let words: Vec<_> =
                words.into_iter().map(|word| blocks(word.into_iter().map(|(doc, score)| (doc, f64::from(score))))).collect();
            prop_assert_eq!(best(&words, n).documents, exhaustive(&words, n));
        }
    }
}
