//! What a commit does for full-text indexes.
//!
//! Before it, in the transaction, the numbers of documents that went are put into DELETED, so that a crash has both or none. After it
//! the texts of documents that came are read again by their numbers, under a view that sees the commit, and their words go into the
//! caches: searches find what is committed, as in InnoDB. Rows that are gone again by then have nothing to be found by.

use super::auxiliary::{self, Reading};
use super::load::{Texts, read_documents};
use super::sync;
use crate::core::Core;
use crate::cursor::Seek;
use crate::documents::{self, DocumentChanges, IndexWords, NetChanges};
use crate::error::Result;
use crate::table::{FullTextIndex, Table};
use std::sync::Arc;
use vaquita_base::TableId;
use vaquita_fts::DocId;
use vaquita_fts::analyzer::Analyzer;
use vaquita_fts::document::DocumentWords;
use vaquita_fts::lengths::{self, TextLength};
use vaquita_txn::Trx;

/// Bytes of words that are made before they go into the caches together.
const BATCH_BYTES: usize = 1 << 20;

/// Puts what went into the tables of deleted documents: the last change of a transaction that is to be committed or prepared.
///
/// # Errors
/// Those of changing rows. The transaction is to be rolled back then.
pub(crate) fn before_commit(core: &Core, trx: &mut Trx) -> Result<()> {
    if trx.companion().is_none() || documents::changes_of(trx).deletes_written {
        return Ok(());
    }
    for (id, changes) in documents::changes_of(trx).net() {
        if changes.gone.is_empty() {
            continue;
        }
        let Some(table) = core.table_by_id(id)? else { continue };
        let deleted = auxiliary::common(core, &table, auxiliary::DELETED)?;
        let is_there = |doc: &u64| {
            core.documents.with_loaded(id, |loaded| loaded.deleted.contains_key(&DocId(*doc))) == Some(true)
        };
        for doc in changes.gone.iter().filter(|doc| !is_there(doc)) {
            auxiliary::put_document(core, trx, &deleted, *doc)?;
        }
    }
    documents::changes_of(trx).deletes_written = true;
    Ok(())
}

/// Gives what a transaction that is committed has done to the caches; writes those that are full.
pub(crate) fn after_commit(core: &Core, mut changes: Box<DocumentChanges>) {
    for id in std::mem::take(&mut changes.unknown) {
        core.documents.forget(id);
    }
    let all = changes.net();
    for (&id, net) in &all {
        if let Err(e) = hand_over(core, &mut changes, id, net) {
            // It is committed: what could not be read now is read from the rows when somebody asks.
            core.documents.forget(id);
            core.notes.say(format!("full-text: words of table {id} are to be read again: {e}"));
        }
    }
    // Its claims keep words from being written.
    drop(changes);
    for id in all.into_keys() {
        if let Err(e) = sync::write_if_full(core, id) {
            core.notes.say(format!("full-text: words of table {id} could not be written: {e}"));
        }
    }
}

fn hand_over(core: &Core, changes: &mut DocumentChanges, id: TableId, net: &NetChanges) -> Result<()> {
    let Some(table) = core.table_by_id(id)? else { return Ok(()) };
    if !net.gone.is_empty() {
        // What is not loaded is in the table that is read then.
        core.documents.with_loaded(id, |loaded| {
            for doc in &net.gone {
                loaded.deletions += 1;
                loaded.deleted.insert(DocId(*doc), loaded.deletions);
                let lengths = loaded.indexes.iter().filter_map(|index| index.lengths.as_ref());
                lengths.for_each(|lengths| lengths.of.write().remove(DocId(*doc)));
            }
        });
    }
    if net.came.is_empty() {
        return Ok(());
    }
    let mut batch = Batch::new(core, &table)?;
    let mut reading = Reading::begin(core);
    for (at, &doc) in net.came.iter().enumerate() {
        read_documents(&mut reading, &table, DocId(doc), Seek::Equal, &mut |doc, texts| {
            batch.add(doc, texts);
            false
        })?;
        core.documents.note_number(id, doc);
        if batch.bytes >= BATCH_BYTES {
            batch.give(core, &table)?;
            if let Some(next) = net.came.get(at + 1) {
                changes.raise_claim(id, *next);
                sync::write_if_full(core, id)?;
            }
        }
    }
    batch.give(core, &table)
}

/// Words of some documents on their way to the caches.
struct Batch {
    indexes: Vec<OfIndex>,
    bytes: usize,
}

/// What an index gets.
struct OfIndex {
    analyzer: Arc<Analyzer>,
    columns: Vec<usize>,
    /// Whether somebody has asked for lengths. Who asks later finds the documents among the committed ones.
    measures: bool,
    words: Vec<Measured>,
}

/// Words of a document, and how long its texts are if that is wanted.
type Measured = (DocumentWords, Option<Vec<TextLength>>);

impl Batch {
    fn new(core: &Core, table: &Arc<Table>) -> Result<Batch> {
        let indexes = core.documents.with(table, |loaded| {
            let of = loaded.indexes.iter().zip(&table.fulltext);
            let one = |(words, index): (&IndexWords, &Arc<FullTextIndex>)| OfIndex {
                analyzer: words.analyzer.clone(),
                columns: index.columns.clone(),
                measures: words.lengths.is_some(),
                words: Vec::new(),
            };
            of.map(one).collect()
        })?;
        Ok(Batch { indexes, bytes: 0 })
    }

    fn add(&mut self, doc: DocId, texts: &Texts) {
        for index in &mut self.indexes {
            let columns = index.columns.iter().map(|column| texts.of(*column));
            let found = DocumentWords::new(&index.analyzer, doc, columns.clone());
            self.bytes += found.bytes();
            let lengths = index.measures.then(|| lengths::measure_words(&found, columns));
            index.words.push((found, lengths));
        }
    }

    fn give(&mut self, core: &Core, table: &Arc<Table>) -> Result<()> {
        let batches: Vec<_> = self.indexes.iter_mut().map(|index| std::mem::take(&mut index.words)).collect();
        self.bytes = 0;
        core.documents.with(table, |loaded| {
            for (index, words) in loaded.indexes.iter().zip(batches) {
                let mut cache = index.cache.write();
                words.iter().for_each(|(words, _)| cache.add_words(words));
                let Some(lengths) = &index.lengths else { continue };
                let mut lengths = lengths.of.write();
                // Another transaction may have removed it since it was read.
                let there = words.iter().filter(|(words, _)| !loaded.deleted.contains_key(&words.doc()));
                for (words, texts) in there {
                    texts.iter().for_each(|texts| lengths.put(words.doc(), texts));
                }
            }
        })
    }
}
