//! The words of a query: which documents have them, how often, how rare they are.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use super::Index;
use super::found::{Found, Hit, seek};
use super::places::WordPlaces;
use crate::bm25::{Bm25, Scorer, Weights};
use crate::counts::Counts;
use crate::ilist::Places;
use crate::ranking::Ranking;
use crate::{DocId, lengths, rank};

/// A word of a query, however often it comes. `apple` and `apple*` are one word to InnoDB's ranks, and two to BM25.
#[derive(Debug)]
struct AskedWord {
    /// How often documents have it, in ascending order of the documents; to BM25 as much as their texts weigh.
    times: TimesOf,
    /// Documents, added up over all places of the query that ask for it, and all words it is the prefix of; to BM25 those that have it.
    documents: u64,
}

/// How often documents have a word, in ascending order of the documents: as the index keeps it, or made of what it says.
#[derive(Debug)]
pub(super) enum TimesOf {
    Kept(Arc<Counts>),
    Own(Vec<(DocId, f64)>),
}

impl Deref for TimesOf {
    type Target = [(DocId, f64)];

    fn deref(&self) -> &[(DocId, f64)] {
        match self {
            TimesOf::Kept(counts) => counts.documents(),
            TimesOf::Own(times) => times,
        }
    }
}

impl TimesOf {
    fn own(&mut self) -> &mut Vec<(DocId, f64)> {
        if let TimesOf::Kept(counts) = self {
            *self = TimesOf::Own(counts.documents().to_vec());
        }
        match self {
            TimesOf::Own(times) => times,
            TimesOf::Kept(_) => unreachable!("it was just made its own"),
        }
    }
}

/// All words of a query, numbered as they come.
#[derive(Debug, Default)]
pub(super) struct AskedWords<'a> {
    words: Vec<AskedWord>,
    /// Whether there is only one.
    is_only: bool,
    by_key: HashMap<Box<[u8]>, usize>,
    /// Those that are prefixes, to BM25.
    by_prefix: HashMap<Box<[u8]>, usize>,
    /// Of BM25.
    weights: Option<&'a Weights>,
}

impl<'a> AskedWords<'a> {
    /// For a query of one word, or of more.
    pub(super) fn new(is_only: bool, ranking: &'a Ranking) -> AskedWords<'a> {
        let weights = match ranking {
            Ranking::Innodb => None,
            Ranking::Bm25(_, weights) => Some(weights),
        };
        AskedWords { is_only, weights, ..AskedWords::default() }
    }

    /// Asks the index for a word, or for all with a prefix: what is found, and how many entries of lists that are. Where the word is may
    /// be kept, too.
    pub(super) fn ask<I: Index>(
        &mut self,
        index: &I,
        text: &[u8],
        is_prefix: bool,
        places: Option<&mut WordPlaces>,
    ) -> Result<(Found, usize), I::Error> {
        let (number, times, all) = self.read(index, text, is_prefix, places)?;
        let entries = times.len();
        let same = times.chunk_by(|a, b| a.0 == b.0);
        let found = Found::new(same.map(|same| (same[0].0, Hit::of(number, same.len()))).collect());
        self.keep(number, times, all);
        Ok((found, entries))
    }

    /// The same for who does not want what is found: how many entries of lists it is.
    pub(super) fn ask_alone<I: Index>(
        &mut self,
        index: &I,
        text: &[u8],
        is_prefix: bool,
    ) -> Result<usize, I::Error> {
        let (number, times, all) = self.read(index, text, is_prefix, None)?;
        let entries = times.len();
        self.keep(number, times, all);
        Ok(entries)
    }

    /// The word's number, how often documents have it in ascending order of the documents, and how many there are with deleted ones. A
    /// document comes for each of its words with a prefix.
    fn read<I: Index>(
        &mut self,
        index: &I,
        text: &[u8],
        is_prefix: bool,
        mut places: Option<&mut WordPlaces>,
    ) -> Result<(usize, TimesOf, usize), I::Error> {
        let key = index.analyzer().key(text);
        if !is_prefix && places.is_none() && self.weights.is_none_or(|weights| weights.alike() == Some(1.0)) {
            let mut rest = Vec::new();
            let counts = index.counts(text, &key, &mut |doc, times| rest.push((doc, f64::from(times))))?;
            if let Some(counts) = counts {
                let mut times = TimesOf::Kept(counts);
                if !rest.is_empty() {
                    times.own().extend(rest);
                }
                let all = live(index, &mut times);
                return Ok((self.number(key, is_prefix), times, all));
            }
        }
        let mut times = Vec::new();
        let alike = self.weights.map_or(Some(1.0), Weights::alike);
        let mut to_weigh = alike.is_none().then(WordPlaces::default);
        let mut each = |doc, at: Places<'_>| {
            times.push((doc, f64::from(at.count()) * alike.unwrap_or(1.0)));
            for places in [places.as_deref_mut(), to_weigh.as_mut()].into_iter().flatten() {
                places.push(doc, &at);
            }
        };
        match is_prefix {
            true => index.words_with_prefix(text, &mut each)?,
            false => index.word(text, &mut each)?,
        }
        if let Some(places) = &to_weigh {
            weigh(index, self.weights.map_or(&[], Weights::columns), places, &mut times)?;
        }
        let mut times = TimesOf::Own(times);
        let all = live(index, &mut times);
        Ok((self.number(key, is_prefix), times, all))
    }

    fn keep(&mut self, number: usize, mut times: TimesOf, all: usize) {
        let word = &mut self.words[number];
        if self.weights.is_some() {
            if let TimesOf::Own(own) = &mut times
                && !own.is_sorted_by(|a, b| a.0 < b.0)
            {
                *own = own.chunk_by(|a, b| a.0 == b.0).map(together).collect();
            }
            word.documents = times.len() as u64;
            word.times = times;
            return;
        }
        word.documents += if self.is_only { times.len() } else { all } as u64;
        // Of several words with the prefix the first one counts.
        if let TimesOf::Own(times) = &mut times {
            times.dedup_by_key(|&mut (doc, _)| doc);
        }
        if word.times.is_empty() {
            word.times = times;
        } else {
            let all = word.times.own();
            all.extend_from_slice(&times);
            all.sort_by_key(|&(doc, _)| doc);
            all.dedup_by_key(|&mut (doc, _)| doc);
        }
    }

    /// The number of a word that was asked for.
    pub(super) fn number_of(&self, key: &[u8]) -> Option<usize> {
        self.by_key.get(key).copied()
    }

    /// How rare each word is, by number.
    pub(super) fn rarities(&self, documents: u64) -> Vec<f64> {
        self.words.iter().map(|word| rank::rarity(documents, word.documents)).collect()
    }

    /// What scores documents by each word, by number.
    pub(super) fn scorers(&self, settings: Bm25, documents: u64, length_mean: f64) -> Vec<Scorer> {
        let scorer = |word: &AskedWord| settings.scorer(documents, word.documents, length_mean, 1.0);
        self.words.iter().map(scorer).collect()
    }

    /// How often documents have each word, by number.
    pub(super) fn lists(&self) -> impl Iterator<Item = &TimesOf> {
        self.words.iter().map(|word| &word.times)
    }

    /// How often documents have words, asked in ascending order of the documents.
    pub(super) fn times(&self) -> Times<'_> {
        Times { words: &self.words, places: vec![0; self.words.len()] }
    }

    fn number(&mut self, key: Box<[u8]>, is_prefix: bool) -> usize {
        let numbers = match is_prefix && self.weights.is_some() {
            true => &mut self.by_prefix,
            false => &mut self.by_key,
        };
        if let Some(&number) = numbers.get(&key) {
            return number;
        }
        let number = self.words.len();
        numbers.insert(key, number);
        self.words.push(AskedWord { times: TimesOf::Own(Vec::new()), documents: 0 });
        number
    }
}

/// Takes deleted documents away and puts the others into their order; how many there were with them: deleted documents make a word less rare,
/// unless it is all that is asked for.
fn live<I: Index>(index: &I, times: &mut TimesOf) -> usize {
    let all = times.len();
    if index.has_deleted() {
        index.retain_live(times.own());
    }
    if let TimesOf::Own(times) = times
        && !times.is_sorted_by(|a, b| a.0 < b.0)
    {
        times.sort_by_key(|&(doc, _)| doc);
    }
    all
}

/// What several words with a prefix are to a document.
fn together(same: &[(DocId, f64)]) -> (DocId, f64) {
    (same[0].0, same.iter().map(|(_, times)| times).sum())
}

/// Documents whose lengths are asked for together.
pub(super) const CHUNK: usize = 1024;

/// Says how often each document has a word by what the texts weigh in which it is: 0 if nobody sees it. `times` has the documents in the
/// order of `places`.
fn weigh<I: Index>(
    index: &I,
    weights: &[f64],
    places: &WordPlaces,
    times: &mut [(DocId, f64)],
) -> Result<(), I::Error> {
    let mut room = Vec::new();
    let places: Vec<&[u8]> = places.encoded().collect();
    for (times, places) in times.chunks_mut(CHUNK).zip(places.chunks(CHUNK)) {
        let documents: Vec<DocId> = times.iter().map(|(doc, _)| *doc).collect();
        times.iter_mut().for_each(|(_, times)| *times = 0.0);
        index.lengths(&documents, &mut |at, texts| {
            times[at].1 = lengths::weigh(texts, weights, places[at], &mut room);
        })?;
    }
    Ok(())
}

/// A way through the documents of all words at once.
pub(super) struct Times<'a> {
    words: &'a [AskedWord],
    /// Where it is in each.
    places: Vec<usize>,
}

impl Times<'_> {
    /// How often a document has a word.
    pub(super) fn of(&mut self, word: usize, doc: DocId) -> f64 {
        let times = &self.words[word].times;
        let place = &mut self.places[word];
        *place = seek(times, *place, doc, |there| there.0);
        times.get(*place).filter(|there| there.0 == doc).map_or(0.0, |there| there.1)
    }
}
