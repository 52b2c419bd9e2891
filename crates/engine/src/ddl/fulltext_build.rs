//! Building FULLTEXT indexes of a table with rows, which others may use meanwhile: change, too, if its documents have hidden numbers.
//!
//! | step | others may use the table | |
//! |---|---|---|
//! | [`begin`] | no | the tables of the indexes are made, empty; the table's object gets a log of documents that go from now on, and gives those whose texts change other numbers; a read view is opened |
//! | [`FullTextBuild::fill`]: scan | yes | the rows of the view are divided into words by several threads; the lists of some documents' words grow in memory, then each is an entry, sorted by word and first document in memory and temporary files |
//! | load | yes | the entries of one word become its posting lists, which are loaded in their order, each table by a thread |
//! | [`FullTextBuild::settle`] | no | documents of the view that are gone become deleted ones; the dictionary changes, with whatever else belongs to the change |
//!
//! With the first index of a table all documents of the view come in, and CONFIG says so (`synced_doc_id`). Another one gets those that
//! are in the tables of the first then, and CONFIG says from where on the lists of some index do not have all
//! (`vaquita_complete_doc_id`). All others are read from the rows, for each index that does not have them, until somebody writes them:
//! whoever asked for the indexes, in the end. Deleted documents of a table that has an index already are written by who deletes them.
//!
//! # Crash
//! Until the dictionary's transaction commits, the DDL log says that the tables go.

mod lists;
mod words;

use super::change::{self, Change};
use super::gather::{Gathering, memory_of_sorter};
use super::load::each_by_a_thread;
use super::sort::Sorter;
use super::{FullTextSpec, IndexSpec, definition, fulltext};
use crate::core::Core;
use crate::dict::build::TableParts;
use crate::dict::fulltext::{self as tables, DOC_ID_INDEX, SYNCED_DOC_ID, doc_id_column};
use crate::dict::{ids, rows};
use crate::documents::{KnownStopwords, StopwordChoice};
use crate::error::{Error, Result};
use crate::fulltext::auxiliary::{self, COMPLETE, DELETED};
use crate::fulltext::stopwords::StopwordSettings;
use crate::online::Concurrency;
use crate::online::document_log::DocumentLog;
use crate::progress::{Progress, Stage};
use crate::table::{FullTextIndex, Table};
use crate::waits::check_interrupt;
use lists::Loading;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use vaquita_format::collation::Collation;
use vaquita_format::index_def::KeyPart;
use vaquita_fts::DocId;
use vaquita_fts::analyzer::Analyzer;
use vaquita_fts::partition::TABLES;
use vaquita_txn::{AccessMode, Isolation, Trx, TrxRef};
use words::{Taken, Taking};

/// FULLTEXT indexes that are being built.
#[derive(Debug)]
pub struct FullTextBuild {
    /// The definition of the table: the new indexes are the last ones.
    parts: TableParts,
    first: usize,
    table: Arc<Table>,
    /// The tables that are made.
    made: Vec<TableParts>,
    /// Entries of the DDL log that get rid of them.
    undo: Vec<u64>,
    /// There are common tables from an earlier index, whose documents all come in now.
    renews: bool,
    /// The index on the numbers of documents comes with them, hidden.
    adds_index: bool,
    /// Documents from here on do not come in.
    until: u64,
    /// The least number that no document has.
    next: u64,
    analyzers: Vec<Analyzer>,
    /// What is left out.
    stopwords: Arc<KnownStopwords>,
    /// What others do meanwhile, if they may change rows.
    log: Option<Arc<DocumentLog>>,
    /// Whose view is read.
    reader: Trx,
    /// An interruption of this one, or of the reader, ends the build.
    watched: TrxRef,
}

/// Begins to build indexes of the table `name`, which has FTS_DOC_ID. Nobody else uses the table, and the
/// transaction has it locked. The first index leaves out the words that `stopwords` says, others the words of the first. `online`: others
/// will change rows, if documents have hidden numbers ([`FullTextBuild::is_online`]).
///
/// # Errors
/// No such table, a collation that is not known, no space, errors of pages and files. Nothing is left behind then.
pub(crate) fn begin(
    core: &Core,
    trx: &mut Trx,
    name: &str,
    specs: &[FullTextSpec],
    stopwords: &StopwordSettings,
    online: bool,
) -> Result<FullTextBuild> {
    if core.storage.options().read_only {
        return Err(Error::FolderReadOnly);
    }
    let table = core.table(name)?;
    if !table.fulltext.is_empty() {
        // Nobody else uses the table: all its documents are in the lists then, and come in.
        crate::fulltext::flush(core, &table)?;
    }
    let mut parts = {
        let _latch = core.dict.freeze();
        let row = core.dict.table_row(&core.storage, name)?;
        let row = row.ok_or_else(|| Error::NoSuchTable(name.to_owned()))?;
        core.dict.read_parts(&core.storage, &row)?
    };
    if doc_id_column(&table).is_none() {
        return Err(Error::BadDefinition(format!("{name} has no numbers of documents")));
    }
    let first = parts.fulltext.len();
    for spec in specs {
        parts.fulltext.push(FullTextIndex {
            id: ids::index_id(&core.storage)?,
            name: spec.name.clone(),
            columns: spec.columns.clone(),
            parser: spec.parser.clone(),
            split: spec.split.clone(),
        });
    }
    let known = Known::of(core, trx, &parts)?;
    let has_common = known.has_common;
    let known_words = match first {
        0 => None,
        _ => core.documents.with(&table, |loaded| loaded.stopwords.clone())?,
    };
    let stopwords = match known_words {
        Some(known) => known,
        None => Arc::new(StopwordChoice::of(core, stopwords).words(core)?),
    };
    let mut analyzers = Vec::with_capacity(specs.len());
    for index in &parts.fulltext[first..] {
        let collation = parts.columns[index.columns[0]].def.collation_id();
        let collation = Collation::of(collation).ok_or_else(|| {
            Error::BadDefinition(format!("index {}: collation {collation} is not known", index.name))
        })?;
        let analyzer = crate::fulltext::analyzer(core, index, collation);
        let analyzer = analyzer.map_err(|e| Error::BadDefinition(format!("index {}: {e}", index.name)))?;
        analyzers.push(analyzer.with_stopwords(&stopwords.list));
    }
    core.documents.keep_stopwords(table.id, stopwords.clone());
    let mut undo = Vec::new();
    let log = log_of(core, &table).filter(|_| online);
    let made = make(core, &mut undo, &parts, first, has_common);
    let watched = |made| Ok((made, observed(core, table, &parts.fulltext[first..], &log)?));
    let (made, table) = match made.and_then(watched) {
        Ok(made) => made,
        Err(e) => {
            change::give_up(core, &undo);
            return Err(e);
        }
    };
    let mut reader = core.txn.new_trx();
    reader.set_wait_hook(trx.wait_hook().clone());
    core.txn.start(&mut reader, Isolation::RepeatableRead, AccessMode::ReadOnly);
    core.txn.read_view(&mut reader);
    Ok(FullTextBuild {
        first,
        table,
        made,
        undo,
        renews: has_common && first == 0,
        adds_index: false,
        until: if first == 0 { u64::MAX } else { known.synced },
        next: known.synced,
        analyzers,
        stopwords,
        log,
        reader,
        watched: trx.shared().clone(),
        parts,
    })
}

/// The log of documents that go, if rows that come get numbers without anybody's doing: of one that the user numbers nobody knows
/// whether its number was there before.
fn log_of(core: &Core, table: &Table) -> Option<Arc<DocumentLog>> {
    let ids = table.doc_ids.filter(|ids| ids.hidden)?;
    Some(Arc::new(DocumentLog::new(ids.column, core.log_sizes().1)))
}

/// The table that others use while indexes are built.
fn observed(
    core: &Core,
    table: Arc<Table>,
    indexes: &[FullTextIndex],
    log: &Option<Arc<DocumentLog>>,
) -> Result<Arc<Table>> {
    match log {
        None => Ok(table),
        Some(log) => core.dict.reopen(&core.storage, &table.name, |table| observe(table, indexes, log)),
    }
}

fn observe(table: &mut Table, indexes: &[FullTextIndex], log: &Arc<DocumentLog>) {
    table.building_texts = indexes.iter().flat_map(|index| index.columns.clone()).collect();
    table.observers.push(log.clone());
}

/// Makes the tables of the indexes from `first` on, and the common ones, if there are none.
fn make(
    core: &Core,
    undo: &mut Vec<u64>,
    parts: &TableParts,
    first: usize,
    has_common: bool,
) -> Result<Vec<TableParts>> {
    let _folder = core.dict.keep_folders();
    let mut made = match has_common {
        true => Vec::new(),
        false => fulltext::make(core, undo, parts, tables::common(parts))?,
    };
    for index in &parts.fulltext[first..] {
        made.append(&mut fulltext::make(core, undo, parts, tables::words(parts, index))?);
    }
    Ok(made)
}

/// What the table of settings says, if there is one.
struct Known {
    has_common: bool,
    synced: u64,
}

impl Known {
    fn of(core: &Core, trx: &mut Trx, parts: &TableParts) -> Result<Known> {
        let config = fulltext::open_config(core, parts)?;
        let Some(config) = config else { return Ok(Known { has_common: false, synced: 1 }) };
        let synced = auxiliary::number(core, trx, &config, SYNCED_DOC_ID)?.unwrap_or(0);
        Ok(Known { has_common: true, synced })
    }
}

impl FullTextBuild {
    /// Who is to be interrupted for the build to end, from when the transaction of [`begin`] is over.
    pub(crate) fn reader(&self) -> TrxRef {
        self.reader.shared().clone()
    }

    /// The index on the numbers of documents, if there is none and it is not among those that come: it is to be made with the indexes.
    pub(crate) fn missing_index(&mut self, come: &[IndexSpec]) -> Option<IndexSpec> {
        let column = doc_id_column(&self.table)?;
        let there =
            self.parts.indexes.iter().map(|index| &index.name).chain(come.iter().map(|index| &index.name));
        self.adds_index = there.into_iter().all(|name| name != DOC_ID_INDEX);
        self.adds_index.then(|| IndexSpec {
            name: DOC_ID_INDEX.to_owned(),
            parts: vec![KeyPart::whole(column)],
            unique: true,
            comment: String::new(),
        })
    }

    /// Whether an index that comes is one that nobody has asked for.
    pub(super) fn hides(&self, index: &IndexSpec) -> bool {
        self.adds_index && index.name == DOC_ID_INDEX
    }

    /// What others may do meanwhile, if they may do so much.
    pub(crate) fn lets_in(&self, beside: Concurrency) -> Concurrency {
        if self.is_online() { beside } else { beside.min(Concurrency::Reads) }
    }

    /// Whether others may change rows meanwhile.
    pub(crate) fn is_online(&self) -> bool {
        self.log.is_some()
    }

    /// Another object of the table knows that the indexes are being built.
    pub(super) fn pass_on(&self, table: &mut Table) {
        if let Some(log) = &self.log {
            observe(table, &self.parts.fulltext[self.first..], log);
        }
    }

    fn check(&self) -> Result<()> {
        check_interrupt(self.reader.shared())?;
        check_interrupt(&self.watched)
    }

    /// The tables of words of the `n`th new index.
    fn words(&self, n: usize) -> &[TableParts] {
        let before = self.made.len() - (self.parts.fulltext.len() - self.first) * TABLES;
        &self.made[before + n * TABLES..][..TABLES]
    }

    /// Reads the rows and writes their words.
    ///
    /// # Errors
    /// [`Error::Interrupted`], [`Error::OnlineLogTooBig`], two documents of one number, no space, errors of pages and files. It is to be
    /// given up then.
    pub(crate) fn fill(&mut self, core: &Core, progress: &Progress) -> Result<()> {
        let rows = self.table.stats.known().0.map_or(0, |known| known.rows);
        progress.begin(rows, Some(0), false);
        progress.enter(Stage::Scan);
        let mut words = Vec::new();
        for n in 0..self.analyzers.len() {
            for parts in self.words(n) {
                words.push(Arc::new(parts.clone().open(&core.storage, core.dict.observer())?));
            }
        }
        let sorters = self.scan(core, &words, progress)?;
        core.txn.close_view(&mut self.reader);
        self.load_all(core, &words, sorters, progress)?;
        if let Some(log) = &self.log {
            log.check(&self.table.name)?;
        }
        fulltext::fill_config(core, &self.made, self.next, &self.stopwords.choice)
    }

    /// Gives the words of all documents to sorters, a vector for each table of words.
    fn scan<'c>(
        &mut self,
        core: &'c Core,
        words: &[Arc<Table>],
        progress: &Progress,
    ) -> Result<Vec<Vec<Sorter<'c>>>> {
        let document = doc_id_column(&self.table).expect("it was there at the beginning");
        let mut wanted = vec![document];
        let indexes = &self.parts.fulltext[self.first..];
        wanted.extend(indexes.iter().flat_map(|index| &index.columns));
        wanted.sort_unstable();
        wanted.dedup();
        let place = |column: &usize| wanted.iter().position(|w| w == column).expect("it is wanted");
        let places: Vec<Vec<usize>> =
            indexes.iter().map(|index| index.columns.iter().map(place).collect()).collect();
        let taking = Taking {
            document: place(&document),
            places,
            analyzers: &self.analyzers,
            until: self.until,
            next: AtomicU64::new(self.next),
            memory: TABLES * memory_of_sorter(core),
        };
        let (table, watched, log) = (self.table.clone(), self.watched.clone(), self.log.clone());
        let gathering = Gathering {
            core,
            table: &table,
            columns: wanted.clone(),
            sorted: words.iter().map(|table| table.clustered().def().clone()).collect(),
            progress,
            watched: &watched,
            logged: &|| log.as_ref().map_or(0, |log| log.records()),
        };
        let sorters =
            gathering.gather(&mut self.reader, || Taken::new(&taking), |_, taken, row| taken.take(row))?;
        self.next = taking.next.into_inner();
        Ok(sorters)
    }

    fn load_all(
        &self,
        core: &Core,
        words: &[Arc<Table>],
        sorters: Vec<Vec<Sorter<'_>>>,
        progress: &Progress,
    ) -> Result<()> {
        each_by_a_thread(core, words, sorters, |table, sorter| {
            let mut loading = Loading::new(core, table, &self.table);
            sorter.finish(progress, || self.check(), |fields| loading.take(fields))?;
            progress.enter(Stage::Flush);
            loading.finish()
        })
    }

    /// The indexes are there with the change.
    pub(super) fn settle(&self, change: &mut Change<'_>) -> Result<()> {
        change.takes_over(&self.undo);
        self.settle_gone(change)?;
        fulltext::insert(change, &self.made)?;
        let sys = &change.core.dict.sys.core;
        let (indexes, fields) = (sys.indexes.clone(), sys.fields.clone());
        for index in &self.parts.fulltext[self.first..] {
            let (row, columns) = rows::fulltext_rows(&self.parts, index);
            change.insert(&indexes, &row)?;
            columns.iter().try_for_each(|row| change.insert(&fields, row))?;
        }
        self.settle_parsers(change)?;
        if self.renews
            && let Some(config) = fulltext::open_config(change.core, &self.parts)?
        {
            let synced = self.next.to_string();
            change.put_setting(&config, SYNCED_DOC_ID, &synced)?;
            for (key, value) in self.stopwords.choice.rows() {
                change.put_setting(&config, key, value)?;
            }
        }
        change.changes(&self.parts.name);
        Ok(())
    }

    /// What others did meanwhile.
    fn settle_gone(&self, change: &mut Change<'_>) -> Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let core = change.core;
        let gone = log.gone(&self.table.name, self.next)?;
        log.close();
        let name = tables::common_name(&self.parts.name, self.parts.id, DELETED);
        if let Some(made) = self.made.iter().find(|parts| parts.name == name) {
            return fulltext::fill_deleted(core, made, &gone);
        }
        let open = |which: &str| {
            let missing = || Error::NoSuchTable(tables::common_name(&self.parts.name, self.parts.id, which));
            fulltext::open_common(core, &self.parts, which)?.ok_or_else(missing)
        };
        if self.first > 0 {
            // Those that came are in the lists of the others, perhaps.
            change.put_setting(&open(tables::CONFIG)?, COMPLETE, &self.until.to_string())?;
        }
        // Who deleted them may have said so, if there was an index; they may be out of its lists and forgotten again.
        let there = auxiliary::DOCUMENTS.into_iter().map(open).collect::<Result<Vec<_>>>()?;
        let there = auxiliary::documents_in(core, &there)?;
        let gone: Vec<u64> = gone.into_iter().filter(|doc| !there.contains(&DocId(*doc))).collect();
        change.put_deleted(&open(DELETED)?, &gone)
    }

    /// What makes the words of the new indexes is kept, and where they are.
    fn settle_parsers(&self, change: &mut Change<'_>) -> Result<()> {
        let new = &self.parts.fulltext[self.first..];
        if new.iter().all(|index| index.parser.is_none() && index.split.is_none()) {
            return Ok(());
        }
        let dict = &change.core.dict;
        let row = dict.user_table_row(change.storage(), &self.parts.name)?;
        let mut parts = dict.read_parts(change.storage(), &row)?;
        for index in &mut parts.fulltext {
            if let Some(new) = new.iter().find(|new| new.id == index.id) {
                index.parser.clone_from(&new.parser);
                index.split.clone_from(&new.split);
            }
        }
        definition::replace_extra(change, &parts)
    }

    /// Gets rid of what was made.
    pub(crate) fn give_up(&self, core: &Core) {
        if let Some(log) = &self.log {
            log.close();
        }
        change::give_up(core, &self.undo);
    }

    /// Nothing is read any more.
    pub(crate) fn end(&mut self, core: &Core) {
        // It has changed nothing: there is nothing that could fail.
        let ended = core.txn.commit(&mut self.reader);
        debug_assert!(matches!(ended, Ok(None)), "a transaction that only reads was ended: {ended:?}");
    }
}
