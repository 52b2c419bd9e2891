//! What signs and groups do, as MySQL 5.6.24 does it.
//!
//! The parts of a group take effect in this order:
//!
//! 1. Terms and phrases without a sign, with `>`, `<` or `~` take effect as they come; `~` lowers only what is found already.
//! 2. `+` and `-` wait. They take effect before the next group, and at the end: first all `+` in their order, then all `-`.
//!    The first `+` of a group keeps all documents of its own, found before or not; a later one only those found before.
//! 3. A group takes effect as it comes, if it has no `+` or `-`. So `-apple (pear)` finds pears with apples.
//! 4. `""` and `()` mean nothing, whatever their sign, but that a group is where others take effect. What is between quotes or parentheses
//!    and is no word is something that no document has, as are groups of them: `+(the)`, `+(())`.
//! 5. A term of several words (`it's,fine`) takes effect as it comes, word by word, each with the term's sign, `+` and `-` too.
//!
//! Each sign moves a document's adjustment by one, which stays within -1 and 1; before a prefix by one for each word of the
//! document that has it. A document found before keeps its own adjustment
//! when a group finds it again, but for a group with `+`, which adds its.

use super::found::{Found, Hit};
use super::phrase_test::PhraseTest;
use super::places::WordPlaces;
use super::words::{AskedWords, CHUNK, TimesOf};
use super::{Index, Match, Mode, phrase};
use crate::DocId;
use crate::bm25::{Bm25, Weights};
use crate::counts::most_of_blocks;
use crate::query::{Part, Sign};
use crate::rank;
use crate::ranking::Ranking;
use crate::top::{self, Best, Blocks};

/// A query that is being answered.
pub(super) struct Evaluation<'a, I> {
    index: &'a I,
    ranking: &'a Ranking,
    /// The parser cuts words into pieces that are looked for as they follow each other.
    terms_are_phrases: bool,
    words: AskedWords<'a>,
    /// Entries of lists that were read.
    entries: u64,
}

/// The state of one group.
#[derive(Default)]
struct Group<'p> {
    found: Found,
    /// Parts with `+` and `-`.
    waiting: Vec<&'p Part>,
    has_required: bool,
}

impl<'a, I: Index> Evaluation<'a, I> {
    /// For a query of these parts.
    pub(super) fn new(index: &'a I, mode: Mode, ranking: &'a Ranking, parts: &[Part]) -> Evaluation<'a, I> {
        let terms_are_phrases = mode == Mode::Boolean && index.analyzer().parser().cuts_terms();
        let words = AskedWords::new(false, ranking);
        let mut evaluation = Evaluation { index, ranking, terms_are_phrases, words, entries: 0 };
        let is_one_word = evaluation.is_one_word(parts);
        evaluation.words = AskedWords::new(is_one_word && mode != Mode::Expanded, ranking);
        evaluation
    }

    /// Whether a query is one word without a sign: terms in which there is no word do not count, unless they have a sign.
    fn is_one_word(&self, parts: &[Part]) -> bool {
        let mut words = 0;
        for part in parts {
            let Part::Term { sign: Sign::Optional, text, .. } = part else { return false };
            words += self.words_of(text).len();
        }
        words == 1
    }

    /// Whether the word is one that a document was found by.
    pub(super) fn is_found_by(&self, key: &[u8], hit: &Hit) -> bool {
        self.words.number_of(key).is_some_and(|word| hit.words.has(word))
    }

    /// The documents of a group of parts.
    pub(super) fn answer(&mut self, parts: &[Part]) -> Result<Found, I::Error> {
        self.answer_more(Found::default(), parts)
    }

    /// The same, with documents found before.
    pub(super) fn answer_more(&mut self, found: Found, parts: &[Part]) -> Result<Found, I::Error> {
        let mut group = Group { found, ..Group::default() };
        for part in parts {
            if let Part::Term { sign, text, is_prefix } = part
                && !self.terms_are_phrases
                && let words = self.words_of(text)
                && words.len() > 1
            {
                let last = words.len() - 1;
                for (at, word) in words.iter().enumerate() {
                    self.word_of_group(&mut group, *sign, word, *is_prefix && at == last)?;
                }
                continue;
            }
            if let Part::Group { .. } = part {
                self.settle(&mut group)?;
            }
            match part.sign() {
                Sign::Required | Sign::Excluded => group.waiting.push(part),
                sign => {
                    if let Some(hits) = self.part(part)? {
                        self.apply(&mut group, sign, hits)?;
                    }
                }
            }
        }
        self.settle(&mut group)?;
        Ok(group.found)
    }

    /// What waits takes effect: `+`, then `-`.
    fn settle(&mut self, group: &mut Group<'_>) -> Result<(), I::Error> {
        let waiting = std::mem::take(&mut group.waiting);
        for sign in [Sign::Required, Sign::Excluded] {
            for part in waiting.iter().filter(|part| part.sign() == sign) {
                let is_term = matches!(part, Part::Term { .. });
                if is_term && group.is_beyond(sign) {
                    continue;
                }
                if let Some(hits) = self.part(part)? {
                    self.apply(group, sign, hits)?;
                }
            }
        }
        Ok(())
    }

    /// The documents of one part; `None` if it is no word at all, and so means nothing.
    fn part(&mut self, part: &Part) -> Result<Option<Found>, I::Error> {
        match part {
            Part::Group { parts, .. } if parts.is_empty() => Ok(None),
            Part::Phrase { text, .. } if text.is_empty() => Ok(None),
            Part::Group { parts, .. } => self.answer(parts).map(Some),
            Part::Phrase { text, within, .. } => self.phrase(text, *within).map(Some),
            Part::Term { text, is_prefix, .. } => {
                let words = self.words_of(text);
                // A prefix that is too short to be cut is one.
                if self.terms_are_phrases && !words.is_empty() {
                    return self.phrase(text, None).map(Some);
                }
                if self.terms_are_phrases {
                    return if *is_prefix {
                        self.word(&self.index.analyzer().folded(text), true).map(Some)
                    } else {
                        Ok(Some(Found::default()))
                    };
                }
                words.first().map(|word| self.word(word, *is_prefix)).transpose()
            }
        }
    }

    /// The words of a term: the first one whatever it is, others of a length that can be indexed. Stopwords are among them, and
    /// are not found.
    fn words_of(&self, term: &[u8]) -> Vec<Vec<u8>> {
        let mut words = Vec::new();
        self.index.analyzer().words(term, |word| {
            if words.is_empty() || !word.has_wrong_size {
                words.push(word.text);
            }
        });
        words
    }

    fn apply(&self, group: &mut Group<'_>, sign: Sign, hits: Found) -> Result<(), I::Error> {
        group.apply(sign, hits);
        self.index.holds(self.entries, group.found.len())
    }

    /// A word takes effect, unless it cannot have one: then it is not asked for, and its documents count once less.
    fn word_of_group(
        &mut self,
        group: &mut Group<'_>,
        sign: Sign,
        word: &[u8],
        is_prefix: bool,
    ) -> Result<(), I::Error> {
        if !group.is_beyond(sign) {
            let hits = self.word(word, is_prefix)?;
            self.apply(group, sign, hits)?;
        }
        Ok(())
    }

    fn word(&mut self, word: &[u8], is_prefix: bool) -> Result<Found, I::Error> {
        let (found, entries) = self.words.ask(self.index, word, is_prefix, None)?;
        self.entries += entries as u64;
        Ok(found)
    }

    fn phrase(&mut self, text: &[u8], within: Option<u64>) -> Result<Found, I::Error> {
        let words = phrase::words(self.index.analyzer(), text);
        // `@0` is none; words in any order are those that are indexed.
        let within = within.filter(|&within| within > 0);
        let tested = match within {
            None => words.len(),
            Some(_) => words.iter().filter(|word| word.is_indexed).count(),
        };
        let (mut group, mut lists) = (Group::default(), Vec::new());
        for word in words.iter().filter(|word| word.is_indexed) {
            if tested < 2 {
                self.word_of_group(&mut group, Sign::Required, &word.text, false)?;
            } else {
                let mut places = WordPlaces::default();
                let (hits, entries) = self.words.ask(self.index, &word.text, false, Some(&mut places))?;
                self.entries += entries as u64;
                lists.push(places);
                // Words are asked for, and count as such, though no document has all before them, up to one that none has.
                let is_nowhere = hits.is_empty();
                self.apply(&mut group, Sign::Required, hits)?;
                if is_nowhere {
                    break;
                }
            }
        }
        let mut found = group.found;
        if tested > 1 && !found.is_empty() {
            let mut error = None;
            let mut test = PhraseTest::new(self.index, &words, lists, within);
            found.retain(|doc| {
                error.is_none()
                    && test.has(doc).unwrap_or_else(|e| {
                        error = Some(e);
                        false
                    })
            });
            error.map_or(Ok(()), Err)?;
        }
        Ok(found)
    }

    /// What was found, with ranks.
    pub(super) fn ranked(&self, found: &Found) -> Result<Vec<Match>, I::Error> {
        let mut times = self.words.times();
        let Ranking::Bm25(settings, weights) = self.ranking else {
            let rarities = self.words.rarities(self.index.documents());
            let rank = |(doc, hit): (DocId, &Hit)| {
                let mut rank = f32::from(hit.adjustment);
                hit.words.each(|word| rank += rank::weight(times.of(word, doc) as u32, rarities[word]));
                Match { doc, rank }
            };
            return Ok(found.iter().map(rank).collect());
        };
        let totals = self.index.totals()?;
        let length_mean = weights.length(totals.words) / totals.documents.max(1) as f64;
        let scorers = self.words.scorers(*settings, totals.documents, length_mean);
        let documents: Vec<DocId> = found.documents().collect();
        let lengths = self.lengths(weights, &documents)?;
        let rank = |((doc, hit), length): ((DocId, &Hit), f64)| {
            let mut rank = f64::from(hit.adjustment);
            hit.words.each(|word| rank += scorers[word].score(times.of(word, doc), length));
            Match { doc, rank: rank as f32 }
        };
        Ok(found.iter().zip(lengths).map(rank).collect())
    }

    /// The best `n` of what is found, if the query is words without signs; else `None`. Nobody has a rank of 0 among them.
    pub(super) fn best(&mut self, parts: &[Part], n: usize) -> Result<Option<Vec<Match>>, I::Error> {
        let is_word = |part: &Part| matches!(part, Part::Term { sign: Sign::Optional, .. });
        if self.terms_are_phrases || !parts.iter().all(is_word) {
            return Ok(None);
        }
        for part in parts {
            let Part::Term { text, is_prefix, .. } = part else { continue };
            let words = self.words_of(text);
            for (at, word) in words.iter().enumerate() {
                let is_prefix = *is_prefix && at + 1 == words.len();
                self.entries += self.words.ask_alone(self.index, word, is_prefix)? as u64;
            }
            // How many documents are found is not known here: more than entries they are not.
            if self.index.holds(self.entries, self.entries as usize).is_err() {
                return Ok(None);
            }
        }
        let found = match self.ranking {
            Ranking::Innodb => self.best_as_innodb(n)?,
            Ranking::Bm25(settings, weights) => self.best_by_bm25(*settings, weights, n)?,
        };
        Ok(Some(found.documents.into_iter().map(|(doc, rank)| Match { doc, rank }).collect()))
    }

    fn best_as_innodb(&self, n: usize) -> Result<Best, I::Error> {
        let rarities = self.words.rarities(self.index.documents());
        // Ranks are added up in single precision: each sum may be too great by what is rounded.
        let rounded = 1.0 + rarities.len() as f64 * f64::from(f32::EPSILON);
        let bound = |rarity: f64| move |times, _| f64::from(rank::weight(times as u32, rarity)) * rounded;
        let lists = self.words.lists().zip(&rarities);
        let blocks = lists.map(|(list, rarity)| {
            Blocks::new(list, most_of_blocks(list).map(|most| (most, 0.0)), bound(*rarity))
        });
        let blocks: Vec<_> = blocks.collect();
        top::best(&blocks, n, |batch, scores| {
            // In the order of all ranks, so that they are the same to the bit.
            let add =
                |rank: f32, (word, times): &(usize, f64)| rank + rank::weight(*times as u32, rarities[*word]);
            scores.extend(batch.words().map(|has| has.iter().fold(0.0, add)));
            Ok(())
        })
    }

    fn best_by_bm25(&self, settings: Bm25, weights: &Weights, n: usize) -> Result<Best, I::Error> {
        let totals = self.index.totals()?;
        let length_mean = weights.length(totals.words) / totals.documents.max(1) as f64;
        let scorers = self.words.scorers(settings, totals.documents, length_mean);
        let mut blocks = Vec::with_capacity(scorers.len());
        for (list, scorer) in self.words.lists().zip(&scorers) {
            let bound = |times, length| scorer.score_max(times, length);
            blocks.push(match list {
                TimesOf::Kept(counts) => {
                    let least = counts.least(|documents, each| self.index.lengths(documents, each))?;
                    let least =
                        least.map(|texts| weights.length(texts.iter().map(|words| u64::from(*words))));
                    Blocks::new(list, counts.most().iter().copied().zip(least), bound)
                }
                // No document is shorter than nothing.
                TimesOf::Own(_) => Blocks::new(list, most_of_blocks(list).map(|most| (most, 0.0)), bound),
            });
        }
        top::best(&blocks, n, |batch, scores| {
            let lengths = self.lengths(weights, batch.documents())?;
            // In the order of all ranks, so that they are the same to the bit.
            let rank = |(has, length): (&[(usize, f64)], f64)| {
                let add = |rank, (word, times): &(usize, f64)| rank + scorers[*word].score(*times, length);
                has.iter().fold(0.0, add) as f32
            };
            scores.extend(batch.words().zip(lengths).map(rank));
            Ok(())
        })
    }

    /// How long documents are, their texts weighed: 0 of those that are not seen.
    fn lengths(&self, weights: &Weights, documents: &[DocId]) -> Result<Vec<f64>, I::Error> {
        let mut lengths = vec![0.0; documents.len()];
        for (documents, lengths) in documents.chunks(CHUNK).zip(lengths.chunks_mut(CHUNK)) {
            self.index.lengths(documents, &mut |at, texts| {
                lengths[at] = weights.length(texts.iter().map(|text| text.words.into()));
            })?;
        }
        Ok(lengths)
    }
}

impl Group<'_> {
    /// Whether `+` or `-` can change nothing: there is nothing to take away from.
    fn is_beyond(&self, sign: Sign) -> bool {
        self.found.is_empty()
            && match sign {
                Sign::Excluded => true,
                Sign::Required => self.has_required,
                _ => false,
            }
    }

    /// A part takes effect.
    fn apply(&mut self, sign: Sign, hits: Found) {
        match sign {
            Sign::Excluded => self.found.retain_beside(&hits, |_, excluded| excluded.is_none()),
            Sign::Required => self.require(hits),
            Sign::Against => self.found.retain_beside(&hits, |before, hit| {
                if let Some(hit) = hit {
                    before.words.add(&hit.words);
                    before.adjust(-hit.weight);
                }
                true
            }),
            Sign::Optional => self.add(hits, 0),
            Sign::More => self.add(hits, 1),
            Sign::Less => self.add(hits, -1),
        }
    }

    fn add(&mut self, hits: Found, adjustment: i8) {
        let both = |before: &mut Hit, hit: &Hit| {
            before.words.add(&hit.words);
            before.adjust(adjustment * hit.weight);
        };
        self.found.add(hits, both, |hit| {
            hit.adjust(adjustment * hit.weight);
            hit.weight = 1;
        });
    }

    fn require(&mut self, mut hits: Found) {
        let is_first = !std::mem::replace(&mut self.has_required, true);
        hits.retain_beside(&self.found, |hit, before| {
            hit.weight = 1;
            if let Some(before) = before {
                hit.words.add(&before.words);
                hit.adjust(before.adjustment);
            }
            is_first || before.is_some()
        });
        self.found = hits;
    }
}
