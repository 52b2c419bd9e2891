//! The best n documents that have some of several words, without scoring all of them.
//!
//! A word's documents lie in blocks, each with a bound on what the word can add to one of its documents. When n documents are
//! found, the worst of them is a hurdle. Stretches of documents in which no word has the end of a block are passed over if the bounds of the
//! blocks there do not reach it together (Ding and Suel, "Faster Top-k Document Retrieval Using Block-Max Indexes", 2011). In others the
//! words with the least bounds, which together do not reach it, only add to documents that have another word (Turtle and Flood, "Query
//! Evaluation: Strategies and Optimizations", 1995). Posting lists hold no greatest values, so bounds are made of what was read of them: how
//! often a word is in a document, and, where somebody knows it, how short documents are. Documents that are left are scored, a stretch at a time.
//!
//! # Invariants
//! - I1: documents of a word ascend, and so do its blocks.
//! - I2: no document gets more from a word than what the word's bound says of how often it has it and of a length that is not above its own; the
//!   bound grows with the first and does not with the second: so none of a block gets more than the block's bound.
//! - I3: what is found is what scoring every document would find; of documents that are equally good those with the lower numbers.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::DocId;

/// Documents of a block.
pub const BLOCK_DOCUMENTS: usize = 64;

/// Bounds are added up in another order than scores, so their sum may be less by what is rounded: far less than this part of it.
const ROUNDED: f64 = 1e-9;

/// A word's documents with how often they have it, in blocks.
pub struct Blocks<'w, B> {
    documents: &'w [(DocId, f64)],
    blocks: Vec<Block>,
    bound: B,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    /// No document of it is shorter.
    length: f64,
    /// What the word adds at most.
    bound: f64,
}

impl<'w, B: Fn(f64, f64) -> f64> Blocks<'w, B> {
    /// `blocks` has for each block how often the document has the word that has it most, and a length that none falls short of.
    /// `bound` says what a word adds at most to a document that has it so often and is no shorter.
    ///
    /// # Panics
    /// If the documents do not ascend, or there are other blocks (in debug builds).
    pub fn new(
        documents: &'w [(DocId, f64)],
        blocks: impl IntoIterator<Item = (f64, f64)>,
        bound: B,
    ) -> Blocks<'w, B> {
        debug_assert!(documents.is_sorted_by(|a, b| a.0 < b.0), "documents ascend");
        let of = |(most, length): (f64, f64)| Block { length, bound: bound(most, length) };
        let blocks: Vec<Block> = blocks.into_iter().map(of).collect();
        debug_assert_eq!(blocks.len(), documents.len().div_ceil(BLOCK_DOCUMENTS), "a bound for each block");
        Blocks { documents, blocks, bound }
    }
}

/// A place in a word's documents.
struct Cursor<'a, 'w, B> {
    of: &'a Blocks<'w, B>,
    /// Which word it is.
    word: usize,
    at: usize,
}

impl<B: Fn(f64, f64) -> f64> Cursor<'_, '_, B> {
    #[inline]
    fn doc(&self) -> Option<DocId> {
        self.of.documents.get(self.at).map(|&(doc, _)| doc)
    }

    /// The block in which it is, which has a document, and the last one.
    fn block(&self) -> (Block, DocId) {
        let number = self.at / BLOCK_DOCUMENTS;
        let end = ((number + 1) * BLOCK_DOCUMENTS).min(self.of.documents.len());
        (self.of.blocks[number], self.of.documents[end - 1].0)
    }

    /// Goes to the first document that is `doc` or behind it, mostly in the same block.
    #[inline]
    fn seek(&mut self, doc: DocId) {
        let rest = &self.of.documents[self.at..];
        let (mut low, mut step) = (0, 1);
        while let Some(&(there, _)) = rest.get(low + step - 1) {
            if there >= doc {
                break;
            }
            low += step;
            step *= 2;
        }
        let end = rest.len().min(low + step - 1);
        self.at += low + rest[low..end].partition_point(|&(there, _)| there < doc);
    }

    /// Goes on to the first document up to `end` that has the word more often than `times`; it is in the block in which it was.
    fn seek_more(&mut self, times: f64, end: DocId) -> Option<DocId> {
        let block = (self.at / BLOCK_DOCUMENTS + 1) * BLOCK_DOCUMENTS;
        let rest = &self.of.documents[self.at..block.min(self.of.documents.len())];
        let ahead = rest.iter().position(|&(doc, there)| there > times || doc > end);
        self.at += ahead.unwrap_or(rest.len());
        ahead.map(|ahead| rest[ahead].0).filter(|doc| *doc <= end)
    }

    /// A number of times at which a document of the block where it is does not clear the hurdle with what others `add`; mostly the greatest whole one.
    fn times_in_vain(&self, add: f64, hurdle: Option<f32>) -> f64 {
        let Some(block) = self.of.blocks.get(self.at / BLOCK_DOCUMENTS) else { return 0.0 };
        let (mut vain, mut clear) = (0.0, 1024.0);
        while clear - vain > 1.0 {
            let middle = f64::floor((vain + clear) / 2.0);
            match clears((self.of.bound)(middle, block.length) + add, hurdle) {
                true => clear = middle,
                false => vain = middle,
            }
        }
        vain
    }

    /// How often `doc` has the word and what that adds at most, if it has it and is where it is: then it goes on.
    #[inline]
    fn take(&mut self, doc: DocId) -> Option<(f64, f64)> {
        let &(there, times) = self.of.documents.get(self.at)?;
        if there != doc {
            return None;
        }
        let length = self.of.blocks[self.at / BLOCK_DOCUMENTS].length;
        self.at += 1;
        Some((times, (self.of.bound)(times, length)))
    }
}

/// Documents that are to be scored together, each with the words that it has, in ascending order, and how often.
#[derive(Debug, Default)]
pub struct Batch {
    documents: Vec<DocId>,
    words: Vec<(usize, f64)>,
    /// Where each document's words end.
    ends: Vec<usize>,
}

impl Batch {
    /// The documents, in ascending order.
    pub fn documents(&self) -> &[DocId] {
        &self.documents
    }

    /// The words of each of them.
    pub fn words(&self) -> impl Iterator<Item = &[(usize, f64)]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.words[start..end])
    }

    fn begun(&mut self) -> &mut Vec<(usize, f64)> {
        self.words.truncate(self.ends.last().copied().unwrap_or(0));
        &mut self.words
    }

    /// The document has the words that came since the last one.
    fn end(&mut self, doc: DocId) {
        let start = self.ends.last().copied().unwrap_or(0);
        self.words[start..].sort_unstable_by_key(|&(word, _)| word);
        self.documents.push(doc);
        self.ends.push(self.words.len());
    }

    fn clear(&mut self) {
        self.documents.clear();
        self.words.clear();
        self.ends.clear();
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

/// The `n` documents with the highest scores above 0, the highest one first. `score` is told documents with their words and appends the score of
/// each: no more than the bounds of these together.
///
/// # Errors
/// Those of `score`.
pub fn best<B: Fn(f64, f64) -> f64, E>(
    words: &[Blocks<'_, B>],
    n: usize,
    mut score: impl FnMut(&Batch, &mut Vec<f32>) -> Result<(), E>,
) -> Result<Best, E> {
    let mut found = BestSoFar { n, heap: BinaryHeap::new(), scored: 0 };
    if n == 0 {
        return Ok(found.end());
    }
    let mut cursors: Vec<Cursor<'_, '_, B>> =
        words.iter().enumerate().map(|(word, of)| Cursor { of, word, at: 0 }).collect();
    let (mut batch, mut scores) = (Batch::default(), Vec::new());
    loop {
        cursors.retain(|cursor| cursor.doc().is_some());
        // Up to the end of a block nobody's bound changes, but that of who comes later.
        let Some(end) = cursors.iter().map(|cursor| cursor.block().1).min() else { break };
        let mut here: Vec<(f64, &mut Cursor<'_, '_, B>)> = cursors
            .iter_mut()
            .filter(|cursor| cursor.doc().is_some_and(|doc| doc <= end))
            .map(|cursor| (cursor.block().0.bound, cursor))
            .collect();
        let hurdle = found.hurdle();
        if clears(here.iter().map(|(bound, _)| bound).sum(), hurdle) {
            stretch(&mut here, end, hurdle, &mut batch);
            scores.clear();
            score(&batch, &mut scores)?;
            found.add(&batch, &scores);
            batch.clear();
        }
        match end.0.checked_add(1) {
            Some(next) => here.iter_mut().for_each(|(_, cursor)| cursor.seek(DocId(next))),
            None => break,
        }
    }
    Ok(found.end())
}

/// The documents up to `end` that may clear the hurdle, of words that are there and what they add at most to each.
fn stretch<B: Fn(f64, f64) -> f64>(
    here: &mut [(f64, &mut Cursor<'_, '_, B>)],
    end: DocId,
    hurdle: Option<f32>,
    batch: &mut Batch,
) {
    here.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    // Those that do not clear it together, and what they add.
    let (mut few, mut add) = (0, 0.0);
    while let Some((bound, _)) = here.get(few)
        && !clears(add + bound, hurdle)
    {
        add += bound;
        few += 1;
    }
    let (few, many) = here.split_at_mut(few);
    if let [(_, cursor)] = &mut *many {
        // One word decides: how often a document needs it is counted once.
        let in_vain = cursor.times_in_vain(add, hurdle);
        while let Some(doc) = many[0].1.seek_more(in_vain, end) {
            document(doc, many, few, add, hurdle, batch);
        }
        return;
    }
    while let Some(doc) = many.iter().filter_map(|(_, cursor)| cursor.doc()).min().filter(|doc| *doc <= end) {
        document(doc, many, few, add, hurdle, batch);
    }
}

/// A document of the words that matter, if with all its words it may clear the hurdle.
fn document<B: Fn(f64, f64) -> f64>(
    doc: DocId,
    many: &mut [(f64, &mut Cursor<'_, '_, B>)],
    few: &mut [(f64, &mut Cursor<'_, '_, B>)],
    add: f64,
    hurdle: Option<f32>,
    batch: &mut Batch,
) {
    let (words, mut reach) = (batch.begun(), 0.0);
    for (_, cursor) in many.iter_mut() {
        if let Some((times, bound)) = cursor.take(doc) {
            words.push((cursor.word, times));
            reach += bound;
        }
    }
    let mut rest = add;
    for (most, cursor) in few.iter_mut().rev() {
        if !clears(reach + rest, hurdle) {
            break;
        }
        rest -= *most;
        cursor.seek(doc);
        if let Some((times, bound)) = cursor.take(doc) {
            words.push((cursor.word, times));
            reach += bound;
        }
    }
    // What was taken off `rest` may have left a little of what was rounded.
    if clears(reach + rest.max(0.0), hurdle) {
        batch.end(doc);
    }
}

/// Documents that are the best ones up to here.
struct BestSoFar {
    n: usize,
    heap: BinaryHeap<Candidate>,
    scored: usize,
}

impl BestSoFar {
    /// What a document's score has to be above of.
    fn hurdle(&self) -> Option<f32> {
        self.heap.peek().filter(|_| self.heap.len() == self.n).map(|worst| worst.score)
    }

    fn add(&mut self, batch: &Batch, scores: &[f32]) {
        debug_assert_eq!(batch.documents.len(), scores.len(), "a score for each document");
        self.scored += scores.len();
        for (&doc, &score) in batch.documents.iter().zip(scores).filter(|(_, score)| **score > 0.0) {
            let new = Candidate { doc, score };
            if self.heap.len() < self.n {
                self.heap.push(new);
            } else if let Some(mut worst) = self.heap.peek_mut()
                && new < *worst
            {
                *worst = new;
            }
        }
    }

    fn end(self) -> Best {
        let found = self.heap.into_sorted_vec();
        let documents = found.into_iter().map(|found| (found.doc, found.score)).collect();
        Best { documents, scored: self.scored }
    }
}

/// Whether a document with this bound can be better than the worst one. One that only equals it has a higher number, and loses.
fn clears(reach: f64, hurdle: Option<f32>) -> bool {
    // Rounding keeps the order: what is less as f64 is no more as f32.
    hurdle.is_none_or(|hurdle| (reach * (1.0 + ROUNDED)) as f32 > hurdle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::most_of_blocks;
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
        (sum / (1.0 + (doc.0 % 100) as f64 / 1000.0) / (1 + doc.0 % 3) as f64) as f32
    }

    /// A document is as long as its number's last two digits say.
    fn in_blocks<'w>(
        documents: &'w [(DocId, f64)],
        bound: impl Fn(f64) -> f64 + 'w,
    ) -> Blocks<'w, impl Fn(f64, f64) -> f64 + 'w> {
        let length = |(doc, _): &(DocId, f64)| (doc.0 % 100) as f64;
        let shortest = documents
            .chunks(BLOCK_DOCUMENTS)
            .map(move |block| block.iter().map(length).fold(f64::MAX, f64::min));
        Blocks::new(documents, most_of_blocks(documents).zip(shortest), move |times, length| {
            bound(times) / (1.0 + length / 1000.0)
        })
    }

    fn found(words: &[Word], n: usize) -> Best {
        let numbered = words.iter().enumerate();
        let in_blocks = numbered.map(|(n, word)| in_blocks(word, move |times| times * (1.0 + n as f64)));
        let blocks: Vec<_> = in_blocks.collect();
        let score = |batch: &Batch, scores: &mut Vec<f32>| {
            let documents = batch.documents().iter().zip(batch.words());
            scores.extend(documents.map(|(doc, has)| of(*doc, has)));
            Ok::<_, Infallible>(())
        };
        best(&blocks, n, score).unwrap_or_else(|never| match never {})
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
        assert!(best.scored < 1_000, "{}", best.scored);
    }

    #[test]
    fn few_or_no_documents() {
        assert_eq!(found(&[], 3).documents, []);
        assert_eq!(found(&[word([])], 3).documents, []);
        let last = DocId(u64::MAX);
        assert_eq!(found(&[word([(last.0, 1.0)])], 3).documents, [(last, of(last, &[(0, 1.0)]))]);
        assert_eq!(found(&[word([(1, 1.0)])], 0).documents, []);
        assert_eq!(found(&[word([(1, 0.0), (300, 1.0)])], 2).documents, [(DocId(300), 1.0)]);
    }

    #[test]
    fn who_fails_is_told() {
        let documents = word([(1, 1.0), (2, 1.0)]);
        let blocks = [in_blocks(&documents, |times| times)];
        assert_eq!(best(&blocks, 5, |_, _| Err("gone")), Err("gone"));
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
