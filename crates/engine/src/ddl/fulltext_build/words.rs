//! From rows to entries: the words of documents, gathered in memory by each thread until they are many.

use super::super::gather::Gathered;
use super::super::sort::Sorter;
use super::lists::entry;
use crate::cursor::RowRef;
use crate::dict::fulltext::stored_doc_id;
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_fts::analyzer::Analyzer;
use vaquita_fts::partition::TABLES;
use vaquita_fts::sheaf::Sheaf;

/// What of the rows is taken.
pub(super) struct Taking<'b> {
    /// Where among the columns that are read the number of the document is.
    pub(super) document: usize,
    /// The same of the columns of each index.
    pub(super) places: Vec<Vec<usize>>,
    pub(super) analyzers: &'b [Analyzer],
    pub(super) until: u64,
    pub(super) next: AtomicU64,
    /// Bytes that a thread gathers for an index.
    pub(super) memory: usize,
}

/// What a thread has taken.
pub(super) struct Taken<'b> {
    taking: &'b Taking<'b>,
    texts: Vec<Vec<u8>>,
    /// The words of each index.
    sheaves: Vec<Sheaf>,
}

impl<'b> Taken<'b> {
    pub(super) fn new(taking: &'b Taking<'b>) -> Taken<'b> {
        let sheaves = taking.analyzers.iter().map(|_| Sheaf::default()).collect();
        Taken { taking, texts: Vec::new(), sheaves }
    }

    /// Takes a row; whether room is to be made.
    pub(super) fn take(&mut self, row: &RowRef<'_>) -> Result<bool> {
        let mut full = false;
        let Taking { document, places, analyzers, until, next, memory } = self.taking;
        let doc = stored_doc_id(row.column(*document));
        let doc = doc.ok_or_else(|| Error::Corrupt("a document has no number".into()))?;
        if doc.0 >= *until {
            return Ok(full);
        }
        next.fetch_max(doc.0 + 1, Ordering::Relaxed);
        for ((places, analyzer), sheaf) in places.iter().zip(*analyzers).zip(&mut self.sheaves) {
            self.texts.resize_with(places.len(), Vec::new);
            let mut there = vec![false; places.len()];
            for ((place, text), there) in places.iter().zip(&mut self.texts).zip(&mut there) {
                text.clear();
                *there = row.read_column(*place, text)?;
            }
            let texts = self.texts.iter().zip(&there).map(|(text, there)| there.then_some(&text[..]));
            sheaf.add(analyzer, doc, texts);
            full |= sheaf.bytes() >= *memory;
        }
        Ok(full)
    }
}

impl<'c> Gathered<'c> for Taken<'_> {
    fn hand_over(&mut self, sorters: &mut [Sorter<'c>], is_end: bool) {
        let of_indexes = sorters.chunks_mut(TABLES);
        for ((sheaf, sorters), analyzer) in self.sheaves.iter_mut().zip(of_indexes).zip(self.taking.analyzers)
        {
            if is_end || sheaf.bytes() >= self.taking.memory {
                sheaf.drain(|word, list| {
                    entry(&mut sorters[analyzer.table_of(word)], word, list);
                });
            }
        }
    }
}
