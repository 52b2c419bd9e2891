//! Answering queries: from the auxiliary tables, and from what is in memory only.
//!
//! A search sees what is committed when it begins, whatever its transaction sees: as in InnoDB. Rows that are found and not to be seen
//! are left out by whoever reads them.

use super::auxiliary::{self, ILIST, Reading, WORD};
use super::lengths;
use super::load::DocumentReader;
use crate::core::Core;
use crate::cursor::estimate::count_or_estimate_rows;
use crate::cursor::{Cursor, ReadOptions, Seek};
use crate::documents::{self, KnownLengths, Settled, TableDocuments, WordsSeen};
use crate::error::{Error, Result};
use crate::table::{FullTextIndex, Table};
use std::cell::{OnceCell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vaquita_format::Corruption;
use vaquita_format::collation::Collation;
use vaquita_format::column::MType;
use vaquita_fts::DocId;
use vaquita_fts::analyzer::Analyzer;
use vaquita_fts::counts::Counts;
use vaquita_fts::ilist::{Places, Postings};
use vaquita_fts::lengths::{TextLength, Totals, measure};
use vaquita_fts::ranking::Ranking;
use vaquita_fts::search::{Borders, Columns, Index, Match, Mode, SearchError, search, search_best};

/// A full-text index in one search.
pub struct FullTextReader<'c> {
    core: &'c Core,
    reading: RefCell<Reading<'c>>,
    /// Opened when a text is asked for.
    texts: RefCell<Option<DocumentReader>>,
    table: Arc<Table>,
    index: Arc<FullTextIndex>,
    /// `INDEX_1` to `_6`.
    words: Vec<Arc<Table>>,
    of: Arc<TableDocuments>,
    /// What is in memory only.
    seen: WordsSeen,
    /// How many documents had gone when it began.
    deletions: u64,
    /// Some are in the tables of deleted documents.
    has_deleted: bool,
    documents: u64,
    /// Nobody was changing documents when it began.
    settled: Option<Settled>,
    /// Bytes that a search may hold.
    limit: u64,
    /// How long documents are, to BM25.
    lengths: OnceCell<Arc<KnownLengths>>,
    /// Whether the statement goes on.
    go_on: Option<RefCell<&'c mut dyn FnMut() -> bool>>,
}

/// What a search counts for an entry of a list that it reads, and for a document that it finds: what 5.6.24 counts, but for some
/// hundred bytes for each word. It is more than either takes here.
const BYTES_EACH: u64 = 64;

impl<'c> FullTextReader<'c> {
    /// Opens the tables of an index of `table`, on whose name the caller has a metadata lock.
    ///
    /// # Errors
    /// [`Error::TableUnusable`] if tables of it are missing, or its words are in an order that is not known; those of reading.
    pub fn open(
        core: &'c Core,
        table: &Arc<Table>,
        index: &Arc<FullTextIndex>,
    ) -> Result<FullTextReader<'c>> {
        let words = auxiliary::words(core, table, index.id)?;
        let documents = count_or_estimate_rows(core, table)?;
        // Under the mutex under which written lists are committed: the view sees those that are in no cache any more.
        let began = core.documents.with_settled(table, |loaded, settled| {
            let seen = documents::seen(loaded, index.id)?;
            Some((Reading::begin(core), seen, loaded.deletions, !loaded.deleted.is_empty(), settled))
        })?;
        let (reading, seen, deletions, has_deleted, settled) =
            began.ok_or_else(|| Error::TableChanged(table.name.clone()))?;
        Ok(FullTextReader {
            core,
            reading: RefCell::new(reading),
            texts: RefCell::default(),
            table: table.clone(),
            index: index.clone(),
            words,
            of: core.documents.of(table.id),
            seen,
            deletions,
            has_deleted,
            documents,
            settled,
            limit: core.live.search_limit.load(Ordering::Relaxed),
            lengths: OnceCell::new(),
            go_on: None,
        })
    }

    /// The same, which asks `go_on` again and again, while nothing is latched, and ends in [`Error::Interrupted`] when it says no.
    #[must_use]
    pub fn asking(self, go_on: &'c mut dyn FnMut() -> bool) -> FullTextReader<'c> {
        FullTextReader { go_on: Some(RefCell::new(go_on)), ..self }
    }

    fn goes_on(&self) -> bool {
        self.go_on.as_ref().is_none_or(|go_on| (go_on.borrow_mut())())
    }

    /// The documents that answer a query, in the order of their numbers.
    ///
    /// # Errors
    /// Bad syntax; [`Error::Interrupted`]; those of reading.
    pub fn search(
        &self,
        mode: Mode,
        ranking: &Ranking,
        query: &[u8],
    ) -> std::result::Result<Vec<Match>, SearchError<Error>> {
        search(self, mode, ranking, query)
    }

    /// The best `n` of them, the best one first, where the others need not be ranked for that: `fts::search::search_best`.
    ///
    /// # Errors
    /// As [`FullTextReader::search`].
    pub fn search_best(
        &self,
        mode: Mode,
        ranking: &Ranking,
        query: &[u8],
        n: usize,
    ) -> std::result::Result<Option<Vec<Match>>, SearchError<Error>> {
        search_best(self, mode, ranking, query, n)
    }

    /// How long the documents of the index are.
    fn known_lengths(&self) -> Result<&Arc<KnownLengths>> {
        match self.lengths.get() {
            Some(known) => Ok(known),
            None => {
                let go_on = &mut || self.goes_on();
                let known = lengths::of_index(self.core, &self.table, &self.index, go_on)?;
                Ok(self.lengths.get_or_init(|| known))
            }
        }
    }

    /// Whether nobody was changing documents of the table when the search began: see [`Statement::sees_found`](crate::Statement::sees_found).
    pub fn settled(&self) -> Option<Settled> {
        self.settled
    }

    /// The collation of the words, which queries must be in.
    pub fn collation(&self) -> Collation {
        self.seen.analyzer.collation()
    }

    /// The rows of one table of words from `word` on, as long as `is_wanted`.
    fn lists(
        &self,
        table: &Arc<Table>,
        word: &[u8],
        seek: Seek,
        is_wanted: impl Fn(&[u8]) -> bool,
        each: &mut dyn FnMut(DocId, Places<'_>),
    ) -> Result<()> {
        let mut reading = self.reading.borrow_mut();
        let mut cursor = Cursor::open(table.clone(), &ReadOptions::by_index(0).columns([WORD, ILIST]))?;
        cursor.seek(&[Some(word)], seek)?;
        let (mut list, mut entries) = (Vec::new(), 0);
        while let Some(row) = cursor.next(self.core, &mut reading.trx)? {
            if !row.column(0).is_some_and(&is_wanted) {
                break;
            }
            if !self.goes_on() {
                return Err(Error::Interrupted);
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
                entries += 1;
                each(posting.doc, posting.places());
            }
            self.holds(entries, 0)?;
        }
        Ok(())
    }
}

impl Index for FullTextReader<'_> {
    type Error = Error;

    fn analyzer(&self) -> &Analyzer {
        &self.seen.analyzer
    }

    fn documents(&self) -> u64 {
        self.documents
    }

    fn has_deleted(&self) -> bool {
        self.has_deleted
    }

    fn is_deleted(&self, doc: DocId) -> bool {
        self.of.among_deleted(self.deletions, |is_deleted| is_deleted(doc))
    }

    fn retain_live(&self, times: &mut Vec<(DocId, f64)>) {
        self.of.among_deleted(self.deletions, |is_deleted| times.retain(|(doc, _)| !is_deleted(*doc)));
    }

    fn word(&self, word: &[u8], each: &mut dyn FnMut(DocId, Places<'_>)) -> Result<()> {
        let table = &self.words[self.seen.analyzer.table_of(word)];
        self.lists(table, word, Seek::Equal, |_| true, each)?;
        let analyzer = &self.seen.analyzer;
        for (cache, turn) in &self.seen.caches {
            cache.read().word_until(*turn, analyzer, word, &mut *each);
        }
        Ok(())
    }

    fn counts(
        &self,
        word: &[u8],
        key: &[u8],
        rest: &mut dyn FnMut(DocId, u32),
    ) -> Result<Option<Arc<Counts>>> {
        let (kept, lists) = (&self.core.documents.counts, self.seen.lists);
        let counts = match kept.of(lists, key) {
            Some(counts) => counts,
            None => {
                let table = &self.words[self.seen.analyzer.table_of(word)];
                let mut documents = Vec::new();
                let each = &mut |doc, places: Places<'_>| documents.push((doc, f64::from(places.count())));
                self.lists(table, word, Seek::Equal, |_| true, each)?;
                let Some(counts) = Counts::new(documents) else { return Ok(None) };
                let counts = Arc::new(counts);
                kept.keep(lists, key, &counts);
                counts
            }
        };
        let analyzer = &self.seen.analyzer;
        for (cache, turn) in &self.seen.caches {
            cache.read().word_until(*turn, analyzer, word, |doc, places| rest(doc, places.count()));
        }
        Ok(Some(counts))
    }

    fn words_with_prefix(&self, prefix: &[u8], each: &mut dyn FnMut(DocId, Places<'_>)) -> Result<()> {
        // The first letter with others behind it may have another weight than alone, and be in another table.
        for table in &self.words {
            let is_wanted = |word: &[u8]| self.analyzer().has_prefix(word, prefix);
            self.lists(table, prefix, Seek::GreaterOrEqual, is_wanted, &mut *each)?;
        }
        let analyzer = &self.seen.analyzer;
        for (cache, turn) in &self.seen.caches {
            cache.read().words_with_prefix_until(*turn, analyzer, prefix, |_, doc, places| each(doc, places));
        }
        Ok(())
    }

    fn borders(&self) -> Borders {
        let columns = &self.index.columns;
        let before_last = &columns[..columns.len().saturating_sub(1)];
        let end = before_last.iter().try_fold(0, |end, column| {
            let def = &self.table.columns[*column].def;
            // Texts that are no BLOBs have a length.
            (def.mtype != MType::Blob).then(|| end + u64::from(def.len) + 1)
        });
        Borders { texts: columns.len(), end: end.unwrap_or(u64::MAX) }
    }

    fn holds(&self, entries: u64, documents: usize) -> Result<()> {
        match (entries + documents as u64).saturating_mul(BYTES_EACH) > self.limit {
            true => Err(Error::SearchTooLarge),
            false => Ok(()),
        }
    }

    fn lengths(&self, documents: &[DocId], each: &mut dyn FnMut(usize, &[TextLength])) -> Result<()> {
        let mut gone = Vec::new();
        {
            let known = self.known_lengths()?.of.read();
            let mut near = known.near();
            for (at, doc) in documents.iter().enumerate() {
                match near.of(*doc) {
                    Some(texts) => each(at, texts),
                    None => gone.push(at),
                }
            }
        }
        // They went since the search began, and their texts are still to be seen.
        for at in gone {
            if let Some(columns) = self.columns(documents[at])? {
                each(at, &measure(&self.seen.analyzer, columns.iter().map(Option::as_deref)));
            }
        }
        Ok(())
    }

    fn totals(&self) -> Result<Totals> {
        Ok(self.known_lengths()?.of.read().totals())
    }

    fn columns(&self, doc: DocId) -> Result<Option<Columns>> {
        if !self.goes_on() {
            return Err(Error::Interrupted);
        }
        let mut found = None;
        let mut reading = self.reading.borrow_mut();
        let mut texts = self.texts.borrow_mut();
        if texts.is_none() {
            *texts = DocumentReader::open(&self.table)?;
        }
        let Some(texts) = &mut *texts else { return Ok(None) };
        texts.read(&mut reading, doc, Seek::Equal, &mut |_, texts| {
            let columns = self.index.columns.iter().map(|column| texts.of(*column).map(<[u8]>::to_vec));
            found = Some(columns.collect());
            false
        })?;
        Ok(found)
    }
}

impl std::fmt::Debug for FullTextReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FullTextReader").field("index", &self.index).finish_non_exhaustive()
    }
}
