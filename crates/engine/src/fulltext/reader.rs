//! Answering queries from auxiliary tables.

use crate::cursor::{Cursor, ReadOptions, Seek};
use crate::dict::fulltext::{self as tables, doc_id_column, doc_id_key, stored_doc_id};
use crate::error::{Error, Result};
use crate::session::Statement;
use crate::table::{Field, FullTextIndex, Table};
use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::Arc;
use vaquita_format::Corruption;
use vaquita_format::collation::Collation;
use vaquita_fts::DocId;
use vaquita_fts::analyzer::Analyzer;
use vaquita_fts::cache::IndexCache;
use vaquita_fts::ilist::Postings;
use vaquita_fts::partition::table_of;
use vaquita_fts::search::{Columns, Index, Match, Mode, SearchError, search};
use vaquita_fts::stopwords::Stopwords;

/// A full-text index in one statement.
pub struct FullTextReader<'r, 's> {
    statement: RefCell<&'r mut Statement<'s>>,
    table: Arc<Table>,
    index: Arc<FullTextIndex>,
    analyzer: Analyzer,
    /// `INDEX_1` to `_6`.
    words: Vec<Arc<Table>>,
    deleted: HashSet<DocId>,
    /// Documents whose words the server had not written yet.
    unwritten: IndexCache,
    documents: u64,
    /// The index of the table by which documents are found.
    by_doc_id: usize,
}

/// What of the common tables is looked at.
const DELETED: [&str; 4] = ["DELETED", "DELETED_CACHE", "BEING_DELETED", "BEING_DELETED_CACHE"];

/// Positions in an auxiliary table of words.
const WORD: usize = 0;
const ILIST: usize = 4;

impl<'r, 's> FullTextReader<'r, 's> {
    /// Opens the tables of an index of `table`, whose words have so many characters: what the server that made it was told.
    ///
    /// # Errors
    /// [`Error::TableUnusable`] if tables of it are missing, or its words are in an order that is not known; those of reading.
    pub fn open(
        statement: &'r mut Statement<'s>,
        table: &Arc<Table>,
        index: &Arc<FullTextIndex>,
        sizes: RangeInclusive<usize>,
    ) -> Result<FullTextReader<'r, 's>> {
        let unusable = |detail: &str| Error::TableUnusable {
            table: table.name.clone(),
            detail: format!("FULLTEXT index {}: {detail}", index.name),
            damaged: false,
        };
        let by_doc_id = doc_id_column(table).and_then(|column| {
            let is_by_it = |index: &Arc<crate::table::Index>| {
                index.is_unique() && matches!(&index.parts[..], [part] if part.column == column)
            };
            table.indexes.iter().position(is_by_it)
        });
        let by_doc_id = by_doc_id.ok_or_else(|| unusable("documents have no numbers"))?;
        let first = index.columns.first().ok_or_else(|| unusable("it has no columns"))?;
        let collation = Collation::of(table.columns[*first].def.collation_id())
            .ok_or_else(|| unusable("the order of its words is not known"))?;

        let words = tables::word_names(&table.name, table.id, index.id)
            .map(|name| statement.table(&name))
            .collect::<Result<Vec<_>>>()?;
        let deleted = deleted(statement, table)?;
        let config = statement.table(&tables::common_name(&table.name, table.id, tables::CONFIG))?;
        let synced = config_value(statement, &config, tables::SYNCED_DOC_ID)?.unwrap_or(0);
        let mut analyzer = Analyzer::innodb(collation).with_sizes(sizes);
        if config_value(statement, &config, "use_stopword")? == Some(0) {
            analyzer = analyzer.with_stopwords(Stopwords::none(collation));
        }
        let documents = statement.estimate_rows(table)?;
        let mut reader = FullTextReader {
            statement: RefCell::new(statement),
            table: table.clone(),
            index: index.clone(),
            analyzer,
            words,
            deleted,
            unwritten: IndexCache::new(),
            documents,
            by_doc_id,
        };
        reader.read_unwritten(DocId(synced))?;
        Ok(reader)
    }

    /// The documents that answer a query, in the order of their numbers.
    ///
    /// # Errors
    /// Bad syntax; those of reading.
    pub fn search(&self, mode: Mode, query: &[u8]) -> std::result::Result<Vec<Match>, SearchError<Error>> {
        search(self, mode, query)
    }

    /// The collation of the words, which queries must be in.
    pub fn collation(&self) -> Collation {
        self.analyzer.collation()
    }

    fn documents_from(
        &self,
        doc: DocId,
        seek: Seek,
        each: &mut dyn FnMut(DocId, Columns) -> bool,
    ) -> Result<()> {
        let mut wanted = vec![doc_id_column(&self.table).expect("it was there when the index was opened")];
        wanted.extend(&self.index.columns);
        let mut statement = self.statement.borrow_mut();
        let mut cursor =
            statement.cursor(&self.table, &ReadOptions::by_index(self.by_doc_id).columns(wanted))?;
        cursor.seek(&[Some(&doc_id_key(doc.0))], seek)?;
        while let Some(row) = statement.next(&mut cursor)? {
            let doc = doc_id(&self.table, row.column(0))?;
            let mut columns = Columns::with_capacity(self.index.columns.len());
            for n in 1..=self.index.columns.len() {
                let mut text = Vec::new();
                columns.push(row.read_column(n, &mut text)?.then_some(text));
            }
            if !each(doc, columns) {
                break;
            }
        }
        Ok(())
    }

    fn read_unwritten(&mut self, from: DocId) -> Result<()> {
        let mut unwritten = IndexCache::new();
        let (mut last, mut is_sorted) = (None, true);
        self.documents_from(from, Seek::GreaterOrEqual, &mut |doc, columns| {
            is_sorted = last.replace(doc).is_none_or(|last| last < doc);
            if is_sorted {
                unwritten.add(&self.analyzer, doc, columns.iter().map(Option::as_deref));
            }
            is_sorted
        })?;
        if !is_sorted {
            return Err(Error::Corrupt(format!("table {}: document numbers do not ascend", self.table.name)));
        }
        self.unwritten = unwritten;
        Ok(())
    }

    /// The rows of one table of words from `word` on, as long as `is_wanted`.
    fn lists(
        &self,
        table: &Arc<Table>,
        word: &[u8],
        seek: Seek,
        is_wanted: impl Fn(&[u8]) -> bool,
        each: &mut dyn FnMut(DocId, u32),
    ) -> Result<()> {
        let mut statement = self.statement.borrow_mut();
        let mut cursor: Cursor = statement.cursor(table, &ReadOptions::by_index(0).columns([WORD, ILIST]))?;
        cursor.seek(&[Some(word)], seek)?;
        let mut list = Vec::new();
        while let Some(row) = statement.next(&mut cursor)? {
            if !row.column(0).is_some_and(&is_wanted) {
                break;
            }
            list.clear();
            row.read_column(1, &mut list)?;
            let damaged = |e: Corruption| Error::TableUnusable {
                table: table.name.clone(),
                detail: e.to_string(),
                damaged: true,
            };
            let mut postings = Postings::new(&list);
            while let Some(posting) = postings.next().map_err(damaged)? {
                each(posting.doc, posting.count);
            }
        }
        Ok(())
    }
}

impl Index for FullTextReader<'_, '_> {
    type Error = Error;

    fn analyzer(&self) -> &Analyzer {
        &self.analyzer
    }

    fn documents(&self) -> u64 {
        self.documents
    }

    fn is_deleted(&self, doc: DocId) -> bool {
        self.deleted.contains(&doc)
    }

    fn word(&self, word: &[u8], each: &mut dyn FnMut(DocId, u32)) -> Result<()> {
        let table = &self.words[table_of(self.collation(), word)];
        self.lists(table, word, Seek::Equal, |_| true, each)?;
        self.unwritten.word(&self.analyzer, word, each);
        Ok(())
    }

    fn words_with_prefix(&self, prefix: &[u8], each: &mut dyn FnMut(DocId, u32)) -> Result<()> {
        // The first letter with others behind it may have another weight than alone, and be in another table.
        for table in &self.words {
            let is_wanted = |word: &[u8]| self.analyzer.has_prefix(word, prefix);
            self.lists(table, prefix, Seek::GreaterOrEqual, is_wanted, each)?;
        }
        self.unwritten.words_with_prefix(&self.analyzer, prefix, |_, doc, count| each(doc, count));
        Ok(())
    }

    fn columns(&self, doc: DocId) -> Result<Option<Columns>> {
        let mut found = None;
        self.documents_from(doc, Seek::Equal, &mut |_, columns| {
            found = Some(columns);
            false
        })?;
        Ok(found)
    }
}

impl std::fmt::Debug for FullTextReader<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FullTextReader").field("index", &self.index).finish_non_exhaustive()
    }
}

/// Documents that are in posting lists and no more in the table.
fn deleted(statement: &mut Statement<'_>, indexed: &Table) -> Result<HashSet<DocId>> {
    let mut deleted = HashSet::new();
    for name in DELETED {
        let table = statement.table(&tables::common_name(&indexed.name, indexed.id, name))?;
        let mut cursor = statement.cursor(&table, &ReadOptions::by_index(0).columns([0]))?;
        while let Some(row) = statement.next(&mut cursor)? {
            deleted.insert(doc_id(&table, row.column(0))?);
        }
    }
    Ok(deleted)
}

/// A number of the table of settings.
fn config_value(statement: &mut Statement<'_>, config: &Arc<Table>, key: &str) -> Result<Option<u64>> {
    let mut cursor = statement.cursor(config, &ReadOptions::by_index(0).columns([1]))?;
    cursor.seek(&[Some(key.as_bytes())], Seek::Equal)?;
    let Some(row) = statement.next(&mut cursor)? else { return Ok(None) };
    let text = row.column(0).and_then(|text| std::str::from_utf8(text).ok());
    Ok(text.and_then(|text| text.trim().parse().ok()))
}

/// A stored document number: eight bytes, most significant first.
fn doc_id(table: &Table, stored: Field<'_>) -> Result<DocId> {
    let damaged = || Error::Corrupt(format!("table {}: a document number of {stored:?}", table.name));
    stored_doc_id(stored).ok_or_else(damaged)
}
