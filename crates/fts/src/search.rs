//! Answering queries: which documents, with which ranks.
//!
//! The index is somebody else's ([`Index`]): posting lists in tables, in memory, or both. What is found is InnoDB's answer,
//! rank for rank unless BM25 is asked for; the modules say what that is:
//!
//! - `evaluate`: signs, groups, in which order they take effect;
//! - `phrase`: words next to each other, or near each other, in the text of a document; `places`: what lists tell of it;
//! - [`crate::rank`] has the ranks, [`crate::bm25`] the others. Signs add to those and take from them in the same way.

mod evaluate;
mod found;
mod order;
mod phrase;
mod phrase_test;
mod places;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::DocId;
use crate::analyzer::Analyzer;
use crate::counts::Counts;
use crate::ilist::Places;
use crate::lengths::{self, TextLength, Totals};
use crate::query::{self, Part, Sign, SyntaxError};
use crate::ranking::Ranking;

use evaluate::Evaluation;
use found::{Found, Hit};
pub use order::BestFirst;

/// The texts of a document's indexed columns, `None` for NULL.
pub type Columns = Vec<Option<Vec<u8>>>;

/// What a full-text index is to a query.
pub trait Index {
    /// What can go wrong with it.
    type Error;

    /// How its texts become words.
    fn analyzer(&self) -> &Analyzer;

    /// How many documents there are, as well as it is known: ranks depend on it.
    fn documents(&self) -> u64;

    /// Whether there can be documents that are deleted.
    fn has_deleted(&self) -> bool {
        true
    }

    /// Whether a document is in lists only because nobody has removed it yet.
    fn is_deleted(&self, doc: DocId) -> bool {
        let _ = doc;
        false
    }

    /// Takes away those that [`Index::is_deleted`] says.
    fn retain_live(&self, times: &mut Vec<(DocId, f64)>) {
        times.retain(|&(doc, _)| !self.is_deleted(doc));
    }

    /// Gives `each` the documents that have a word, and where; each once. Deleted ones, too.
    ///
    /// # Errors
    /// Of the index.
    fn word(&self, word: &[u8], each: &mut dyn FnMut(DocId, Places<'_>)) -> Result<(), Self::Error>;

    /// The same without places, of an index that has at hand how often documents have a word, whose key is given: that, and others are given
    /// to `rest`. `None`: it has not, and nothing is given.
    ///
    /// # Errors
    /// Of the index.
    fn counts(
        &self,
        word: &[u8],
        key: &[u8],
        rest: &mut dyn FnMut(DocId, u32),
    ) -> Result<Option<Arc<Counts>>, Self::Error> {
        let _ = (word, key, rest);
        Ok(None)
    }

    /// Gives `each` the documents of every word that starts with `prefix`, and where it is, word after word.
    ///
    /// # Errors
    /// Of the index.
    fn words_with_prefix(
        &self,
        prefix: &[u8],
        each: &mut dyn FnMut(DocId, Places<'_>),
    ) -> Result<(), Self::Error>;

    /// Where a text of a document may end and the next one begin.
    fn borders(&self) -> Borders;

    /// Told again and again how many entries of lists were read for the query, and how many documents are found so far. Who limits what
    /// a query may hold fails.
    ///
    /// # Errors
    /// Too many.
    fn holds(&self, entries: u64, documents: usize) -> Result<(), Self::Error> {
        let _ = (entries, documents);
        Ok(())
    }

    /// The text of a document that was found; `None` if whoever asks does not see it.
    ///
    /// # Errors
    /// Of the table.
    fn columns(&self, doc: DocId) -> Result<Option<Columns>, Self::Error>;

    /// Gives `each` the lengths of the texts of documents, by their places in `documents` and in any order; BM25 asks. Nothing is given
    /// of a document that whoever asks does not see.
    ///
    /// # Errors
    /// Of the table.
    fn lengths(
        &self,
        documents: &[DocId],
        each: &mut dyn FnMut(usize, &[TextLength]),
    ) -> Result<(), Self::Error> {
        for (at, doc) in documents.iter().enumerate() {
            if let Some(columns) = self.columns(*doc)? {
                let columns = columns.iter().map(Option::as_deref);
                each(at, &lengths::measure(self.analyzer(), columns));
            }
        }
        Ok(())
    }

    /// How long all documents together are that are not deleted; BM25 asks.
    ///
    /// # Errors
    /// Of the table.
    fn totals(&self) -> Result<Totals, Self::Error>;
}

/// Borders between the texts of a document, one after the other with a byte between: that byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Borders {
    /// How many texts a document has at the most.
    pub texts: usize,
    /// No border is at this byte of a document or behind it.
    pub end: u64,
}

/// How a query is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// `IN NATURAL LANGUAGE MODE`.
    Natural,
    /// `WITH QUERY EXPANSION`: natural language, then once more with all words of what was found.
    Expanded,
    /// `IN BOOLEAN MODE`.
    Boolean,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum SearchError<E> {
    /// The query is none.
    Syntax(SyntaxError),
    /// The index failed.
    Index(E),
}

impl<E> From<E> for SearchError<E> {
    fn from(error: E) -> Self {
        SearchError::Index(error)
    }
}

/// A document and its rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match {
    /// The document.
    pub doc: DocId,
    /// How well it answers. May be negative: `<` and `~` take 1.
    pub rank: f32,
}

/// The documents that answer a query, in the order of their numbers.
///
/// # Errors
/// Bad syntax, or what the index says.
pub fn search<I: Index>(
    index: &I,
    mode: Mode,
    ranking: &Ranking,
    text: &[u8],
) -> Result<Vec<Match>, SearchError<I::Error>> {
    let parts = parsed(index, mode, text).map_err(SearchError::Syntax)?;
    let mut evaluation = Evaluation::new(index, mode, ranking, &parts);
    let mut found = evaluation.answer(&parts)?;
    if mode == Mode::Expanded && !found.is_empty() {
        let new = new_words(index, &found, |key, doc| evaluation.is_found_by(key, doc))?;
        found = evaluation.answer_more(found, &new)?;
    }
    Ok(evaluation.ranked(&found)?)
}

/// The best `n` documents of what [`search`] finds, the best one first, with the same ranks: fewer if no more have a rank that is not 0. Only
/// those that can be among them are ranked. `None`: this way is none for the query, which has signs, phrases or groups, or is to be expanded.
///
/// # Errors
/// As [`search`].
pub fn search_best<I: Index>(
    index: &I,
    mode: Mode,
    ranking: &Ranking,
    text: &[u8],
    n: usize,
) -> Result<Option<Vec<Match>>, SearchError<I::Error>> {
    if mode == Mode::Expanded {
        return Ok(None);
    }
    let parts = parsed(index, mode, text).map_err(SearchError::Syntax)?;
    Ok(Evaluation::new(index, mode, ranking, &parts).best(&parts, n)?)
}

fn parsed<I: Index>(index: &I, mode: Mode, text: &[u8]) -> Result<Vec<Part>, SyntaxError> {
    match mode {
        Mode::Boolean => query::parse_boolean(text, index.analyzer().collation().charset()),
        Mode::Natural | Mode::Expanded => query::parse_natural(text),
    }
}

/// By rank, best first, then by number: the order in which InnoDB gives what it found.
pub fn best_first(matches: &mut [Match]) {
    matches.sort_by(|a, b| b.rank.total_cmp(&a.rank).then(a.doc.cmp(&b.doc)));
}

/// The words that a query is expanded by, in the order of the collation. Document by document, in the order of their numbers, its indexed
/// words come to those of the others, and those that it is found by go. So a word of a phrase is asked for again if a document has it, but
/// not the phrase, that comes behind the last one with the phrase.
fn new_words<I: Index>(
    index: &I,
    found: &Found,
    is_found_by: impl Fn(&[u8], &Hit) -> bool,
) -> Result<Vec<Part>, I::Error> {
    let analyzer = index.analyzer();
    let mut words = BTreeMap::new();
    for (doc, hit) in found.iter() {
        let Some(columns) = index.columns(doc)? else { continue };
        analyzer.document(columns.iter().map(Option::as_deref), |word, _| {
            let key = analyzer.key(word);
            match is_found_by(&key, hit) {
                true => drop(words.remove(&key)),
                false => drop(words.entry(key).or_insert_with(|| word.to_vec())),
            }
        });
    }
    let part = |text| Part::Term { sign: Sign::Optional, text, is_prefix: false };
    Ok(words.into_values().map(part).collect())
}
