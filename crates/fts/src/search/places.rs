//! Phrases by the places of words in the posting lists.
//!
//! Lists have the byte at which each indexed word starts, so they tell in which documents a word of a phrase is behind the one before,
//! and often that it is the next one: where words are runs of characters, a byte or two between two of them cannot have a third one. What
//! they leave open is looked up in the text, at these places alone:
//!
//! - words that are not indexed, in the phrase or perhaps between its words;
//! - whether a text ends between two words. There are `texts - 1` such borders at most, and none behind the last byte at which one can be:
//!   as many phrases in a document as it has texts cannot all have a border in them.
//!
//! Lists decide nothing of words of which other spellings are stopwords: a document may have them in the text and not in the lists.

use super::phrase::Phrase;
use crate::DocId;
use crate::analyzer::{Analyzer, Word, each_text};
use crate::ilist::{Places, read_positions};
use crate::parser::Words;
use crate::search::{Borders, Columns};

/// Where documents have one word.
#[derive(Debug, Default)]
pub(super) struct WordPlaces {
    /// Where the places of each document end in `bytes`, in ascending order of documents once it is [`finished`](Self::finish).
    documents: Vec<(DocId, Encoded)>,
    bytes: Vec<u8>,
}

/// Bytes of [`WordPlaces`].
type Encoded = std::ops::Range<usize>;

impl WordPlaces {
    pub(super) fn push(&mut self, doc: DocId, places: &Places<'_>) {
        let start = self.bytes.len();
        places.encode(&mut self.bytes);
        self.documents.push((doc, start..self.bytes.len()));
    }

    /// The places as they came, as lists have them.
    pub(super) fn encoded(&self) -> impl Iterator<Item = &[u8]> {
        self.documents.iter().map(|(_, at)| &self.bytes[at.clone()])
    }

    /// No more come.
    pub(super) fn finish(&mut self) {
        if !self.documents.is_sorted_by_key(|(doc, _)| *doc) {
            self.documents.sort_by_key(|(doc, _)| *doc);
        }
    }

    /// Reads the places of a document; whether that is done. What is no list decides nothing.
    fn read(&self, doc: DocId, out: &mut Vec<u32>) -> bool {
        out.clear();
        let found = self.documents.binary_search_by_key(&doc, |(doc, _)| *doc);
        found.is_ok_and(|at| read_positions(&self.bytes[self.documents[at].1.clone()], out).is_ok())
    }
}

/// What lists say of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Yes,
    No,
    /// The text is to be looked at, where the words are.
    InText,
    /// They do not tell: the whole text is to be looked at.
    Unknown,
}

/// A phrase, and where documents have its words.
pub(super) struct PhrasePlaces {
    runs: Words,
    /// Of each word of the phrase that is indexed: which one it is, bytes that it has in a text at least, and where it is.
    words: Vec<(usize, usize, WordPlaces)>,
    /// All words of the phrase are indexed.
    is_complete: bool,
    borders: Borders,
    /// Places in one document, word by word.
    read: Vec<Vec<u32>>,
    /// Where in it the phrase can begin, or any of its words is.
    starts: Vec<u32>,
}

impl PhrasePlaces {
    /// `None`: lists do not tell of these words. `lists` are of those that are indexed.
    pub(super) fn new(
        analyzer: &Analyzer,
        phrase: &[Word],
        lists: Vec<WordPlaces>,
        borders: Borders,
    ) -> Option<PhrasePlaces> {
        let runs = analyzer.parser().runs()?;
        let indexed = phrase.iter().enumerate().filter(|(_, word)| word.is_indexed);
        let words = indexed.zip(lists).map(|((at, word), mut places)| {
            places.finish();
            let least = analyzer.collation().least_bytes(&word.text);
            let least = least.filter(|_| !analyzer.is_near_stopword(&word.text))?;
            Some((at, least, places))
        });
        let words: Vec<_> = words.collect::<Option<_>>()?;
        let is_complete = words.len() == phrase.len();
        let read = vec![Vec::new(); words.len()];
        Some(PhrasePlaces { runs, words, is_complete, borders, read, starts: Vec::new() })
    }

    fn read(&mut self, doc: DocId) -> bool {
        self.words.iter().zip(&mut self.read).all(|((.., places), read)| places.read(doc, read))
    }

    /// Whether a document has the words one directly after the other, in one text.
    pub(super) fn follow(&mut self, doc: DocId) -> Verdict {
        if !self.read(doc) {
            return Verdict::Unknown;
        }
        self.starts.clear();
        // How many are certain but for borders, none of which is in two of them, and where the last one ends.
        let (mut certain, mut end) = (0, 0);
        for at in 0..self.read[0].len() {
            let Some(chain) = self.chain(at) else { continue };
            if chain.is_certain && chain.start >= end {
                if u64::from(chain.start) >= self.borders.end {
                    return Verdict::Yes;
                }
                certain += 1;
                end = chain.last;
            }
            self.starts.push(chain.start);
        }
        match () {
            () if certain >= self.borders.texts => Verdict::Yes,
            () if self.starts.is_empty() => Verdict::No,
            () => Verdict::InText,
        }
    }

    /// Looks at the texts of the document that [`follow`](Self::follow) was asked of. `None`: lists are not of these texts.
    pub(super) fn follow_in(&self, phrase: &Phrase<'_>, columns: &Columns) -> Option<bool> {
        let mut starts = self.starts.iter().peekable();
        let (mut is_found, mut is_other) = (false, false);
        each_text(columns.iter().map(Option::as_deref), |text, before| {
            while let Some(start) = starts.next_if(|start| (**start as usize) < before + text.len()) {
                let from = (*start as usize).checked_sub(before);
                match from.and_then(|from| phrase.is_at(self.runs, text, from)) {
                    Some(is) => is_found |= is,
                    None => is_other = true,
                }
            }
        });
        (!is_other && starts.next().is_none()).then_some(is_found)
    }

    /// The phrase that may begin where its first word is.
    fn chain(&self, first: usize) -> Option<Chain> {
        let start = self.read[0][first];
        let mut chain = Chain { start, last: start, is_certain: self.is_complete };
        for (pair, read) in self.words.windows(2).zip(self.read.windows(2)) {
            let ((at, least, _), (next_at, ..)) = (&pair[0], &pair[1]);
            let next = *read[1].get(read[1].partition_point(|place| *place <= chain.last))?;
            if next_at - at == 1 {
                // A word between them, and one of the two it would be.
                let again = read[0].get(read[0].partition_point(|place| *place <= chain.last));
                if again.is_some_and(|again| *again < next) {
                    return None;
                }
                let between = (next - chain.last) as usize;
                chain.is_certain &= between.saturating_sub(*least) <= 2;
            }
            chain.last = next;
        }
        Some(chain)
    }

    /// Whether a document has all the words among `within` words; else where they all are.
    pub(super) fn near(&mut self, doc: DocId, within: u64) -> Verdict {
        if !self.read(doc) {
            return Verdict::Unknown;
        }
        self.starts.clear();
        self.starts.extend(self.read.iter().flatten());
        self.starts.sort_unstable();
        self.starts.dedup();
        let is_near = |end: &u32| {
            let last = self.read.iter().zip(&self.words).map(|(places, (_, least, _))| {
                let place = places[..places.partition_point(|place| place <= end)].last()?;
                Some((*place, *least))
            });
            // Each word takes a byte and one behind it.
            match last.min().flatten() {
                Some((first, _)) if first == *end => true,
                Some((first, least)) => {
                    let others = ((end - first) as usize).saturating_sub(least + 1) / 2;
                    others as u64 + 2 <= within
                }
                None => false,
            }
        };
        if self.starts.iter().any(is_near) { Verdict::Yes } else { Verdict::InText }
    }

    /// Looks at the texts of the document that [`near`](Self::near) was asked of. `None`: lists are not of these texts.
    pub(super) fn near_in(&self, columns: &Columns, within: u64) -> Option<bool> {
        let mut starts = self.starts.iter().peekable();
        // How many words came before, and which one each of those that are looked for was last.
        let (mut at, mut last) = (0u64, vec![None; self.read.len()]);
        let (mut is_near, mut is_other) = (false, false);
        each_text(columns.iter().map(Option::as_deref), |text, before| {
            // What is before the first of them does not count.
            let mut from = match starts.peek() {
                Some(start) if at == 0 => (**start as usize).saturating_sub(before),
                _ => 0,
            };
            while let Some(&&start) = starts.peek()
                && !is_near
                && from < text.len()
                && let Some(word) = self.runs.next(text, from)
            {
                from = word.end;
                let place = before + word.start;
                if start as usize == place {
                    starts.next();
                    for (last, places) in last.iter_mut().zip(&self.read) {
                        if places.binary_search(&start).is_ok() {
                            *last = Some(at);
                        }
                    }
                    let first = last.iter().min().copied().flatten();
                    is_near = first.is_some_and(|first: u64| at + 1 - first <= within);
                }
                is_other |= (start as usize) < place;
                at += 1;
            }
        });
        (is_near || !is_other && starts.next().is_none()).then_some(is_near)
    }
}

/// Words of a phrase behind each other.
#[derive(Debug, Clone, Copy)]
struct Chain {
    start: u32,
    /// Where the last word starts.
    last: u32,
    /// They follow each other directly, unless a text ends between them.
    is_certain: bool,
}
