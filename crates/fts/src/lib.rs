//! Full-text search as pure code: from texts to words, from words to posting lists, from queries to ranked documents.
//!
//! What InnoDB of MySQL 5.6.24 does is done as it does it, down to the digits of ranks and the words of errors, because its
//! files hold the posting lists and its users hold the queries. Beside it stand what it has not: stems, Unicode's words, BM25,
//! the best few documents without looking at all of them, snippets. No I/O, no tables, no threads: whoever has an index gives
//! it as an [`search::Index`], whoever keeps one takes rows from an [`cache::IndexCache`].
//!
//! | part | module |
//! |---|---|
//! | a text's words: what is a word, its case, its length, words not worth keeping | [`analyzer`], [`parser`], [`stopwords`] |
//! | a word's documents as bytes, as they are in the files | [`varint`], [`ilist`] |
//! | words of a document, and of those not yet in the files | [`document`], [`cache`] |
//! | words of documents whose index is built | [`sheaf`] |
//! | which of six tables a word is in | [`partition`] |
//! | queries: `+apple -(pear >fig)`, plain text, expansion | [`query`], [`search`] |
//! | how well a document answers | [`rank`], [`bm25`] with [`lengths`], [`top`]; which of them: [`ranking`] |
//! | what to show of a document | [`snippet`] |
#![forbid(unsafe_code)]

pub mod analyzer;
pub mod bm25;
pub mod cache;
pub mod counts;
pub mod document;
pub mod ilist;
pub mod lengths;
pub mod parser;
pub mod partition;
pub mod query;
pub mod rank;
pub mod ranking;
pub mod search;
pub mod sheaf;
pub mod snippet;
pub mod stopwords;
pub mod top;
pub mod varint;
mod word_class;

/// The number of a document: of a row of the indexed table, never used again for another version of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DocId(pub u64);

impl std::fmt::Display for DocId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
