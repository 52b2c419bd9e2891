//! What the files have of a table's documents: numbers, deleted documents, and the rows whose words nobody has written yet.

use super::auxiliary::{self, COUNT, FIRST, ILIST, LAST, Reading, WORD};
use crate::core::Core;
use crate::cursor::{Cursor, ReadOptions, Seek};
use crate::documents::{IndexWords, KnownStopwords, Loaded, StopwordChoice};
use crate::error::{Error, Result};
use crate::table::{FullTextIndex, Table};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use vaquita_base::codec;
use vaquita_format::Corruption;
use vaquita_format::record::Offsets;
use vaquita_fts::DocId;
use vaquita_fts::analyzer::Analyzer;
use vaquita_fts::cache::IndexCache;
use vaquita_fts::search::Columns;
use vaquita_fts::stopwords::WordList;

/// Reads it all: see [`crate::documents`].
///
/// # Errors
/// [`Error::TableUnusable`] if auxiliary tables are missing, or words are in an order that is not known; those of reading.
pub(crate) fn load(core: &Core, table: &Arc<Table>, known: Option<&Arc<KnownStopwords>>) -> Result<Loaded> {
    let mut loaded = Loaded {
        indexes: Vec::new(),
        next: greatest_number(core, table)?.saturating_add(1),
        deleted: HashMap::new(),
        deletions: 0,
        taken_off: Vec::new(),
        searches: Arc::default(),
        synced: 0,
        listed: 0,
        stopwords: None,
    };
    if table.fulltext.is_empty() {
        return Ok(loaded);
    }
    let mut reading = Reading::begin(core);
    let config = auxiliary::common(core, table, "CONFIG")?;
    loaded.listed = auxiliary::number(core, &mut reading.trx, &config, auxiliary::SYNCED)?.unwrap_or(0);
    let complete = auxiliary::number(core, &mut reading.trx, &config, auxiliary::COMPLETE)?;
    loaded.synced = complete.unwrap_or(u64::MAX).min(loaded.listed);
    for name in auxiliary::DOCUMENTS {
        let deleted = auxiliary::common(core, table, name)?;
        let documents = auxiliary::documents(core, &mut reading.trx, &deleted)?;
        loaded.deleted.extend(documents.into_iter().map(|doc| (doc, 0)));
    }
    let last_deleted = loaded.deleted.keys().max().map_or(0, |doc| doc.0);
    loaded.next = loaded.next.max(loaded.listed).max(last_deleted.saturating_add(1));

    let choice = StopwordChoice::read(core, &mut reading.trx, &config)?;
    let stopwords = match known.filter(|known| known.choice == choice) {
        Some(known) => known.clone(),
        None => Arc::new(choice.words(core)?),
    };
    let from = DocId(loaded.synced);
    // A MySQL 5.6 takes an index of another division for a corrupt one, and writes the words of the others then without moving the number.
    let is_corrupt_to_servers = table.fulltext.iter().any(|index| index.split.is_some());
    let may_be_listed = loaded.synced < loaded.listed || is_corrupt_to_servers && loaded.synced < loaded.next;
    let (mut columns, mut listed) = (Vec::new(), Vec::new());
    for index in &table.fulltext {
        let analyzer = analyzer(core, table, index, &stopwords.list)?;
        loaded.indexes.push(IndexWords::new(index.id, Arc::new(analyzer), IndexCache::new()));
        columns.push(index.columns.clone());
        listed.push(match may_be_listed {
            true => listed_documents(&mut reading, table, index, from)?,
            false => HashSet::new(),
        });
    }
    loaded.stopwords = Some(stopwords);
    read_documents(&mut reading, table, from, Seek::GreaterOrEqual, &mut |doc, texts| {
        for ((words, columns), listed) in loaded.indexes.iter().zip(&columns).zip(&listed) {
            if !listed.contains(&doc) {
                words.cache.write().add(&words.analyzer, doc, columns.iter().map(|column| texts.of(*column)));
            }
        }
        true
    })?;
    Ok(loaded)
}

/// The documents from a number on that the lists of an index have.
fn listed_documents(
    reading: &mut Reading<'_>,
    table: &Table,
    index: &FullTextIndex,
    from: DocId,
) -> Result<HashSet<DocId>> {
    let mut found = HashSet::new();
    for words in auxiliary::words(reading.core, table, index.id)? {
        let columns = [WORD, FIRST, LAST, COUNT, ILIST];
        let mut cursor = Cursor::open(words.clone(), &ReadOptions::by_index(0).columns(columns))?;
        while let Some(row) = cursor.next(reading.core, &mut reading.trx)? {
            if auxiliary::doc_id(&words, row.column(LAST))? < from {
                continue;
            }
            let damaged = |e: Corruption| Error::Corrupt(format!("table {}: {e}", words.name));
            let node = auxiliary::node(&words, &row)?;
            let mut postings = node.postings();
            while let Some(posting) = postings.next().map_err(damaged)? {
                if posting.doc >= from {
                    found.insert(posting.doc);
                }
            }
        }
    }
    Ok(found)
}

/// How the texts of an index become words.
fn analyzer(core: &Core, table: &Table, index: &FullTextIndex, stopwords: &WordList) -> Result<Analyzer> {
    let collation = super::collation_of(table, index)?;
    let analyzer = super::analyzer(core, index, collation);
    let analyzer = analyzer.map_err(|e| Error::TableUnusable {
        table: table.name.clone(),
        detail: format!("FULLTEXT index {}: {e}", index.name),
        damaged: false,
    })?;
    Ok(analyzer.with_stopwords(stopwords))
}

/// The greatest number in the table, of a transaction that is still open perhaps.
fn greatest_number(core: &Core, table: &Table) -> Result<u64> {
    let Some(ids) = &table.doc_ids else { return Ok(0) };
    let index = &table.indexes[ids.index];
    let mut cursor = vaquita_btree::Cursor::new(&index.tree, &core.storage);
    if !cursor.last()? {
        return Ok(0);
    }
    let mut offsets = Offsets::new();
    let Some(record) = cursor.record() else { return Ok(0) };
    record.parse(index.def(), &mut offsets)?;
    let stored = record.field(&offsets, 0).filter(|stored| stored.len() == 8);
    Ok(stored.map_or(0, |stored| codec::get_u64(stored, 0)))
}

/// Texts of a row's indexed columns.
#[derive(Debug)]
pub(super) struct Texts {
    columns: Vec<usize>,
    texts: Columns,
}

impl Texts {
    /// The text of a column of the table.
    pub(super) fn of(&self, column: usize) -> Option<&[u8]> {
        let at = self.columns.iter().position(|has| *has == column)?;
        self.texts[at].as_deref()
    }
}

/// Reads documents of a table by their numbers.
#[derive(Debug)]
pub(super) struct DocumentReader {
    table: Arc<Table>,
    cursor: Cursor,
    texts: Texts,
}

impl DocumentReader {
    /// `None`: the table's documents have no numbers.
    ///
    /// # Errors
    /// Those of opening cursors.
    pub(super) fn open(table: &Arc<Table>) -> Result<Option<DocumentReader>> {
        let Some(ids) = &table.doc_ids else { return Ok(None) };
        let mut columns: Vec<_> = table.fulltext.iter().flat_map(|index| index.columns.clone()).collect();
        columns.sort_unstable();
        columns.dedup();
        let mut wanted = vec![ids.column];
        wanted.extend(&columns);
        let texts = Texts { texts: vec![None; columns.len()], columns };
        let cursor = Cursor::open(table.clone(), &ReadOptions::by_index(ids.index).columns(wanted))?;
        Ok(Some(DocumentReader { table: table.clone(), cursor, texts }))
    }

    /// Gives `each` the documents from a number on, or one, as far as they are committed, until it says no.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn read(
        &mut self,
        reading: &mut Reading<'_>,
        from: DocId,
        seek: Seek,
        each: &mut dyn FnMut(DocId, &Texts) -> bool,
    ) -> Result<()> {
        let DocumentReader { table, cursor, texts } = self;
        cursor.seek(&[Some(&super::doc_id_key(from.0))], seek)?;
        while let Some(row) = cursor.next(reading.core, &mut reading.trx)? {
            let doc = auxiliary::doc_id(table, row.column(0))?;
            for (at, text) in texts.texts.iter_mut().enumerate() {
                let mut bytes = text.take().unwrap_or_default();
                bytes.clear();
                *text = row.read_column(at + 1, &mut bytes)?.then_some(bytes);
            }
            if !each(doc, texts) {
                break;
            }
        }
        Ok(())
    }
}

/// The same of a table that is read once.
///
/// # Errors
/// Those of reading.
pub(super) fn read_documents(
    reading: &mut Reading<'_>,
    table: &Arc<Table>,
    from: DocId,
    seek: Seek,
    each: &mut dyn FnMut(DocId, &Texts) -> bool,
) -> Result<()> {
    match DocumentReader::open(table)? {
        Some(mut documents) => documents.read(reading, from, seek, each),
        None => Ok(()),
    }
}
