//! Documents of full-text indexes, as far as they are in memory: which number is next, which numbers open transactions have, which
//! documents are deleted, and the words that are not written yet. What is done with them is in [`crate::fulltext`].
//!
//! It is kept by the numbers of tables, apart from their objects, which come and go: lost, it is read again from the files
//! ([`Loader`]), and the next number never goes back.
//!
//! # Invariants
//! - I1: a number taken by a transaction is *claimed* until the transaction has ended and its documents are in the cache, so that no
//!   number below the least claim is still to come. So far the lists of the files are complete when all that is cached is written
//!   ([`TableDocuments::begin_writing`]).
//! - I2: a document below [`Loaded::synced`] is in the lists of the files or deleted; any other one that is committed is in the lists or in
//!   the caches, and not in both.
//! - I3: a transaction that has changed documents is counted ([`Settled`]) until it has ended and what it did is in the caches, or is to be
//!   read from the rows.
//!
//! # Latching
//! `TableDocuments::state` is taken under no latch, the dictionary's included: under it rows are read when a table is loaded, and the
//! transaction commits that has written lists. Caches and lengths are locked under it or alone; the map of tables alone.

mod kept;

use crate::error::{Error, Result};
use crate::table::{DocIds, Table};
use kept::{KeptCounts, Lists};
use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use vaquita_base::{IndexId, TableId, TrxId};
use vaquita_fts::DocId;
use vaquita_fts::analyzer::Analyzer;
use vaquita_fts::cache::IndexCache;
use vaquita_fts::lengths::Lengths;
use vaquita_fts::stopwords::WordList;
use vaquita_txn::Trx;

/// By how much the number of a new row may be above the greatest one so far; 5.6.24 refuses others. It lets updates have them.
const JUMP_MAX: u64 = 10_000;

/// Reads what the files have of a table's documents. Stopwords that are known are taken if they are those that it says.
pub(crate) type Loader =
    Box<dyn Fn(&Arc<Table>, Option<&Arc<KnownStopwords>>) -> Result<Loaded> + Send + Sync>;

/// Of all tables.
pub struct Documents {
    tables: Mutex<HashMap<TableId, Arc<TableDocuments>>>,
    loader: OnceLock<Loader>,
    /// Bytes of all caches.
    cached: AtomicI64,
    /// What searches keep of lists.
    pub(crate) counts: KeptCounts,
}

impl std::fmt::Debug for Documents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Documents").field("tables", &self.tables.lock().len()).finish_non_exhaustive()
    }
}

/// Of one table.
#[derive(Debug)]
pub(crate) struct TableDocuments {
    pub(crate) id: TableId,
    state: Mutex<State>,
    /// What is loaded is to be read again.
    stale: AtomicBool,
    /// Held by whoever writes lists or removes deleted documents from them: the pass that is under way.
    pub(crate) writing: Mutex<Option<Pass>>,
}

/// A pass that removes deleted documents from all lists of a table, as far as it is: the tables have it, too.
#[derive(Debug)]
pub(crate) struct Pass {
    /// The indexes of the table when it was read.
    pub(crate) indexes: Vec<IndexId>,
    /// The documents to be removed.
    pub(crate) gone: HashSet<DocId>,
    pub(crate) place: Place,
}

/// Where a pass over all words of a table is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Position of the index among the FULLTEXT indexes of the table.
    pub(crate) index: usize,
    /// Which of its tables of words.
    pub(crate) partition: usize,
    /// Words up to this one are done.
    pub(crate) word: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
struct State {
    /// One more than the greatest number so far.
    next: u64,
    /// Numbers of open transactions: for each transaction its least one.
    claims: BTreeMap<u64, u32>,
    /// Transactions that have changed documents, and whose changes are not in the caches yet.
    changing: u32,
    /// The greatest id of those that have ended.
    last_change: TrxId,
    loaded: Option<Loaded>,
    /// The words that its indexes leave out, once they were read.
    stopwords: Option<Arc<KnownStopwords>>,
    /// What [`Documents::cached`] has of it.
    counted: i64,
}

/// What the files had.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) indexes: Vec<IndexWords>,
    /// One more than the greatest number in the files.
    pub(crate) next: u64,
    /// Documents that are gone and may still be in lists, and in which order they went.
    pub(crate) deleted: HashMap<DocId, u64>,
    /// How many went.
    pub(crate) deletions: u64,
    /// Those that were taken off the lists, pass by pass, for searches that began before and still see lists with them: as long as there are such.
    /// A search that began before a pass began before all later ones.
    pub(crate) taken_off: Vec<(Weak<SearchesBegun>, HashMap<DocId, u64>)>,
    /// What searches hold that begin now.
    pub(crate) searches: Arc<SearchesBegun>,
    /// Documents below are in the lists.
    pub(crate) synced: u64,
    /// No document from here on is in the lists. It is above `synced` if somebody had a lower number when they were written.
    pub(crate) listed: u64,
    /// The words that the indexes leave out, if there is any index.
    pub(crate) stopwords: Option<Arc<KnownStopwords>>,
}

/// Held by the searches that began between two passes which took deleted documents off the lists.
#[derive(Debug, Default)]
pub(crate) struct SearchesBegun;

impl Loaded {
    /// These documents are in no list any more that a search will read which is yet to begin.
    pub(crate) fn take_off(&mut self, gone: &HashSet<DocId>) {
        // What was kept of lists that had them is not to be found any more.
        self.indexes.iter_mut().for_each(|index| index.lists = Lists::new());
        let taken = gone.iter().filter_map(|doc| self.deleted.remove_entry(doc)).collect();
        let before = std::mem::take(&mut self.searches);
        let oldest = self.taken_off.iter().position(|(searches, _)| searches.strong_count() > 0);
        self.taken_off.drain(..oldest.unwrap_or(self.taken_off.len()));
        if Arc::strong_count(&before) > 1 || !self.taken_off.is_empty() {
            self.taken_off.push((Arc::downgrade(&before), taken));
        }
    }

    /// Whether a document was among the first so many that went.
    fn is_deleted(&self, doc: DocId, deletions: u64) -> bool {
        let mut all = std::iter::once(&self.deleted).chain(self.taken_off.iter().map(|(_, taken)| taken));
        all.any(|gone| gone.get(&doc).is_some_and(|turn| *turn <= deletions))
    }
}

/// Which words the indexes of a table leave out, as its table of settings says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StopwordChoice {
    pub(crate) enabled: bool,
    /// `database/table`; without, the default words.
    pub(crate) table: Option<String>,
}

/// Words that were read. What becomes of their table later does not count as long as they are in memory.
#[derive(Debug)]
pub(crate) struct KnownStopwords {
    pub(crate) choice: StopwordChoice,
    pub(crate) list: WordList,
}

/// Words of an index.
#[derive(Debug)]
pub(crate) struct IndexWords {
    pub(crate) id: IndexId,
    pub(crate) analyzer: Arc<Analyzer>,
    /// What is not written.
    pub(crate) cache: Arc<RwLock<IndexCache>>,
    /// What is being written.
    pub(crate) writing: Option<Arc<RwLock<IndexCache>>>,
    /// How long documents are, since somebody asked.
    pub(crate) lengths: Option<Arc<KnownLengths>>,
    /// What is kept of its lists is kept under this name.
    pub(crate) lists: Lists,
}

/// How long the documents of an index are.
#[derive(Debug)]
pub(crate) struct KnownLengths {
    /// Whether those are known that were there before. It is held by nobody who reads rows.
    gathering: Mutex<Gathering>,
    /// Somebody has ended gathering.
    ended: Condvar,
    pub(crate) of: RwLock<Lengths>,
}

/// How far lengths are gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gathering {
    /// Nobody does it.
    Wanted,
    /// Somebody does it.
    UnderWay,
    /// They are known.
    Done,
}

/// How long who waits for another that gathers does not ask whether its statement goes on.
const GATHERING_WAIT: Duration = Duration::from_millis(10);

/// The turn to gather lengths: of one at a time. Who fails leaves it to the next one.
#[derive(Debug)]
pub(crate) struct GatheringTurn<'k> {
    known: &'k KnownLengths,
    done: bool,
}

impl KnownLengths {
    pub(crate) fn new(columns: usize) -> KnownLengths {
        KnownLengths {
            gathering: Mutex::new(Gathering::Wanted),
            ended: Condvar::new(),
            of: RwLock::new(Lengths::gathering(columns)),
        }
    }

    /// The turn to gather them; `None`: they are known. While another has it, `go_on` is asked again and again.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub(crate) fn turn(&self, go_on: &mut dyn FnMut() -> bool) -> Result<Option<GatheringTurn<'_>>> {
        loop {
            let mut gathering = self.gathering.lock();
            match *gathering {
                Gathering::Done => return Ok(None),
                Gathering::Wanted => {
                    *gathering = Gathering::UnderWay;
                    return Ok(Some(GatheringTurn { known: self, done: false }));
                }
                Gathering::UnderWay => {
                    self.ended.wait_for(&mut gathering, GATHERING_WAIT);
                }
            }
            drop(gathering);
            if !go_on() {
                return Err(Error::Interrupted);
            }
        }
    }
}

impl GatheringTurn<'_> {
    /// All of them are gathered.
    pub(crate) fn done(mut self) {
        self.done = true;
    }
}

impl Drop for GatheringTurn<'_> {
    fn drop(&mut self) {
        *self.known.gathering.lock() = if self.done { Gathering::Done } else { Gathering::Wanted };
        self.known.ended.notify_all();
    }
}

impl IndexWords {
    pub(crate) fn new(id: IndexId, analyzer: Arc<Analyzer>, cache: IndexCache) -> IndexWords {
        let (cache, lists) = (Arc::new(RwLock::new(cache)), Lists::new());
        IndexWords { id, analyzer, cache, writing: None, lengths: None, lists }
    }
}

/// What a search sees of what is in memory: documents that were there when it began.
#[derive(Debug)]
pub(crate) struct WordsSeen {
    pub(crate) analyzer: Arc<Analyzer>,
    /// Caches, with the turns up to which they are looked at.
    pub(crate) caches: Vec<(Arc<RwLock<IndexCache>>, u64)>,
    /// The lists that it reads.
    pub(crate) lists: Lists,
    _begun: Arc<SearchesBegun>,
}

/// Words that are being written.
#[derive(Debug)]
pub(crate) struct Writing {
    /// What [`Loaded::synced`] becomes.
    pub(crate) synced: u64,
    /// What [`Loaded::listed`] becomes.
    pub(crate) listed: u64,
    /// They differ, or did before.
    pub(crate) is_beyond: bool,
    pub(crate) indexes: Vec<(IndexId, Arc<RwLock<IndexCache>>)>,
}

impl Documents {
    /// Of no table yet; searches keep at most so many bytes of lists.
    pub(crate) fn new(counts_size: u64) -> Documents {
        Documents {
            tables: Mutex::default(),
            loader: OnceLock::new(),
            cached: AtomicI64::new(0),
            counts: KeptCounts::new(counts_size),
        }
    }

    /// Says how files are read; once.
    pub(crate) fn set_loader(&self, loader: Loader) {
        let first = self.loader.set(loader).is_ok();
        debug_assert!(first, "an engine has one loader");
    }

    /// Of a table.
    pub(crate) fn of(&self, id: TableId) -> Arc<TableDocuments> {
        self.tables.lock().entry(id).or_insert_with(|| Arc::new(TableDocuments::new(id))).clone()
    }

    /// Tables with words that are not written.
    pub(crate) fn unwritten(&self) -> Vec<TableId> {
        let tables: Vec<_> = self.tables.lock().values().cloned().collect();
        tables.iter().filter(|table| table.has_unwritten()).map(|table| table.id).collect()
    }

    /// Tables with at least so many deleted documents that may be in lists. Those above the number of an open transaction are not removed yet.
    pub(crate) fn with_deleted(&self, least: u64) -> Vec<TableId> {
        let tables: Vec<_> = self.tables.lock().values().cloned().collect();
        let has_many = |table: &Arc<TableDocuments>| {
            let state = table.state.lock();
            let Some(loaded) = &state.loaded else { return false };
            let open = state.claims.keys().next().copied().unwrap_or(u64::MAX);
            let many = |count: usize| count as u64 >= least;
            many(loaded.deleted.len()) && many(loaded.deleted.keys().filter(|doc| doc.0 < open).count())
        };
        tables.into_iter().filter(has_many).map(|table| table.id).collect()
    }

    /// Tables with words that are not written, those that have most of them first. One that is being loaded is not among them: that takes
    /// its time.
    pub(crate) fn by_cached(&self) -> Vec<TableId> {
        let tables: Vec<_> = self.tables.lock().values().cloned().collect();
        let size = |table: &Arc<TableDocuments>| Some((table.state.try_lock()?.counted, table.id));
        let mut sizes: Vec<_> = tables.iter().filter_map(size).collect();
        sizes.retain(|(bytes, _)| *bytes > 0);
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes.into_iter().map(|(_, id)| id).collect()
    }

    /// Bytes of the caches of all tables.
    pub(crate) fn cached_bytes(&self) -> u64 {
        self.cached.load(Ordering::Relaxed).max(0) as u64
    }

    /// Forgets what is in memory of a table, because its definition has changed or it is gone: what is not written is read again
    /// from the rows when somebody asks.
    pub(crate) fn forget(&self, id: TableId) {
        let Some(table) = self.tables.lock().get(&id).cloned() else { return };
        table.stale.store(true, Ordering::Release);
        // The caller may hold the dictionary's latch: it waits for nobody. Whoever has the state now sees to it.
        if let Some(mut state) = table.state.try_lock() {
            self.drop_stale(&table, &mut state);
        }
    }

    fn drop_stale(&self, of: &TableDocuments, state: &mut State) {
        if of.stale.swap(false, Ordering::AcqRel) {
            state.loaded = None;
            self.count(state);
        }
    }

    /// Forgets a table that is gone for good: its number never comes again.
    pub(crate) fn forget_dropped(&self, id: TableId) {
        self.forget(id);
        self.tables.lock().remove(&id);
    }

    fn count(&self, state: &mut State) {
        let indexes = state.loaded.iter().flat_map(|loaded| &loaded.indexes);
        let bytes: usize = indexes.map(|index| index.cache.read().bytes()).sum();
        let before = std::mem::replace(&mut state.counted, bytes as i64);
        self.cached.fetch_add(bytes as i64 - before, Ordering::Relaxed);
    }

    /// The state of a table, read if need be.
    fn loaded<'d>(&self, of: &'d TableDocuments, table: &Arc<Table>) -> Result<MutexGuard<'d, State>> {
        let mut state = of.state.lock();
        self.drop_stale(of, &mut state);
        let is_of = |loaded: &Loaded| {
            loaded.indexes.iter().map(|index| index.id).eq(table.fulltext.iter().map(|index| index.id))
        };
        if !state.loaded.as_ref().is_some_and(is_of) {
            let loader = self.loader.get().ok_or(Error::WrongState("documents are numbered too early"))?;
            let loaded = loader(table, state.stopwords.as_ref())?;
            state.stopwords = loaded.stopwords.clone();
            state.next = state.next.max(loaded.next);
            state.loaded = Some(loaded);
            self.count(&mut state);
        }
        Ok(state)
    }

    /// The number of a new document of a table that is numbered here.
    ///
    /// # Errors
    /// Those of reading the files.
    pub(crate) fn number(&self, trx: &mut Trx, table: &Arc<Table>) -> Result<u64> {
        let of = self.of(table.id);
        let mut state = self.loaded(&of, table)?;
        let number = state.next;
        // The last number has none behind it, which the lists need to say up to where they go.
        if number == u64::MAX {
            return Err(Error::BadDocId(table.name.clone()));
        }
        state.next += 1;
        if !table.fulltext.is_empty() {
            changes_of(trx).claim(&of, &mut state, number);
        }
        Ok(number)
    }

    /// Whether the user's own number is good for a new document of a table: no less than the greatest one that was committed, and,
    /// if the row is new, not far above. Whether the lists have the document that had the number before.
    ///
    /// # Errors
    /// [`Error::BadDocId`]; those of reading the files.
    pub(crate) fn check_number(
        &self,
        trx: &mut Trx,
        table: &Arc<Table>,
        number: u64,
        is_new_row: bool,
    ) -> Result<bool> {
        let of = self.of(table.id);
        let mut state = self.loaded(&of, table)?;
        let last = state.next.saturating_sub(1);
        if number == 0 || number == u64::MAX || number < last || (is_new_row && number - last > JUMP_MAX) {
            return Err(Error::BadDocId(table.name.clone()));
        }
        changes_of(trx).claim(&of, &mut state, number);
        let listed = state.loaded.as_ref().map_or(0, |loaded| loaded.listed);
        Ok(number < listed && number == last)
    }

    /// Whether a number was another document's, which may be in lists.
    ///
    /// # Errors
    /// Those of reading the files.
    pub(crate) fn is_used(&self, table: &Arc<Table>, number: u64) -> Result<bool> {
        let of = self.of(table.id);
        let state = self.loaded(&of, table)?;
        let loaded = state.loaded.as_ref().expect("it was just read");
        let doc = DocId(number);
        let is_cached = |index: &IndexWords| {
            std::iter::once(&index.cache).chain(&index.writing).any(|cache| cache.read().has(doc))
        };
        Ok(number < loaded.synced
            || loaded.deleted.contains_key(&doc)
            || loaded.indexes.iter().any(is_cached))
    }

    /// The same as [`Documents::with`], which also learns whether nobody is changing documents.
    ///
    /// # Errors
    /// Those of reading the files.
    pub(crate) fn with_settled<R>(
        &self,
        table: &Arc<Table>,
        work: impl FnOnce(&mut Loaded, Option<Settled>) -> R,
    ) -> Result<R> {
        let of = self.of(table.id);
        let mut state = self.loaded(&of, table)?;
        let is_settled = state.changing == 0 && state.claims.is_empty();
        let settled = is_settled.then_some(Settled(state.last_change));
        Ok(work(state.loaded.as_mut().expect("it was just read"), settled))
    }

    /// Does something with what is in memory of a table.
    ///
    /// # Errors
    /// Those of reading the files.
    pub(crate) fn with<R>(&self, table: &Arc<Table>, work: impl FnOnce(&mut Loaded) -> R) -> Result<R> {
        let of = self.of(table.id);
        let mut state = self.loaded(&of, table)?;
        let done = work(state.loaded.as_mut().expect("it was just read"));
        self.count(&mut state);
        Ok(done)
    }

    /// The same with what is there; nothing is read.
    pub(crate) fn with_loaded<R>(&self, id: TableId, work: impl FnOnce(&mut Loaded) -> R) -> Option<R> {
        let of = self.tables.lock().get(&id).cloned()?;
        let mut state = of.state.lock();
        self.drop_stale(&of, &mut state);
        let done = work(state.loaded.as_mut()?);
        self.count(&mut state);
        Some(done)
    }

    /// Says which words the indexes of a table leave out from now on.
    pub(crate) fn keep_stopwords(&self, id: TableId, stopwords: Arc<KnownStopwords>) {
        self.of(id).state.lock().stopwords = Some(stopwords);
    }

    /// Says that a document of that number is committed.
    pub(crate) fn note_number(&self, id: TableId, number: u64) {
        let of = self.of(id);
        let mut state = of.state.lock();
        state.next = state.next.max(number.saturating_add(1));
    }

    /// Ends [`TableDocuments::begin_writing`]: with `commit`, after which searches find the words in the lists, or not at all.
    ///
    /// # Errors
    /// Those of `commit`; the words are in the caches as before.
    pub(crate) fn end_writing(
        &self,
        of: &TableDocuments,
        writing: &Writing,
        commit: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let mut state = of.state.lock();
        let done = commit();
        let Some(loaded) = &mut state.loaded else { return done };
        let mut is_other = false;
        for index in &mut loaded.indexes {
            let Some(cache) = index.writing.take() else {
                is_other = true;
                continue;
            };
            match done {
                Ok(()) => index.lists = Lists::new(),
                Err(_) => index.cache.write().absorb(cache.read().clone()),
            }
        }
        if done.is_ok() {
            loaded.synced = loaded.synced.max(writing.synced);
            loaded.listed = loaded.listed.max(writing.listed);
            if is_other {
                // It was read again meanwhile.
                state.loaded = None;
            }
        }
        self.count(&mut state);
        done
    }
}

impl TableDocuments {
    fn new(id: TableId) -> TableDocuments {
        TableDocuments {
            id,
            state: Mutex::default(),
            stale: AtomicBool::new(false),
            writing: Mutex::default(),
        }
    }

    /// Does something with what says whether a document was among the first so many that went.
    pub(crate) fn among_deleted<R>(
        &self,
        deletions: u64,
        work: impl FnOnce(&dyn Fn(DocId) -> bool) -> R,
    ) -> R {
        let state = self.state.lock();
        work(&|doc| state.loaded.as_ref().is_some_and(|loaded| loaded.is_deleted(doc, deletions)))
    }

    fn has_unwritten(&self) -> bool {
        let state = self.state.lock();
        let Some(loaded) = &state.loaded else { return false };
        loaded.synced < loaded.listed || loaded.indexes.iter().any(|index| index.cache.read().documents() > 0)
    }

    /// Takes the words that are cached, to be written. `None`: nothing would change.
    ///
    /// Numbers of open transactions may be below those of the documents that are written. So it is told how far the lists are complete
    /// then, and how far they reach: between the two a crash has to be asked which documents they have.
    ///
    /// The caller holds [`TableDocuments::writing`] and calls [`Documents::end_writing`].
    pub(crate) fn begin_writing(&self) -> Option<Writing> {
        let mut state = self.state.lock();
        let open = state.claims.keys().next().copied().unwrap_or(u64::MAX);
        let synced = open.min(state.next);
        let loaded = state.loaded.as_mut().filter(|_| !self.stale.load(Ordering::Acquire))?;
        let last = loaded.indexes.iter().filter_map(|index| index.cache.read().last()).max();
        let is_behind = loaded.synced < loaded.listed;
        if last.is_none() && (!is_behind || synced <= loaded.synced) {
            return None;
        }
        let listed = last.map_or(0, |last| last.0.saturating_add(1)).max(synced).max(loaded.listed);
        let mut indexes = Vec::with_capacity(loaded.indexes.len());
        for index in &mut loaded.indexes {
            let rest = index.cache.read().rest();
            let cache = std::mem::replace(&mut index.cache, Arc::new(RwLock::new(rest)));
            index.writing = Some(cache.clone());
            indexes.push((index.id, cache));
        }
        Some(Writing { synced, listed, is_beyond: is_behind || synced < listed, indexes })
    }
}

/// That no transaction was changing documents of a table when a search began: all that changed them before are at most this one, so that
/// whoever sees all up to it sees just the documents that were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled(pub(crate) TrxId);

/// A transaction that changes documents of a table.
#[derive(Debug)]
struct Changing {
    documents: Arc<TableDocuments>,
    id: TrxId,
}

impl Drop for Changing {
    fn drop(&mut self) {
        let mut state = self.documents.state.lock();
        state.changing -= 1;
        state.last_change = state.last_change.max(self.id);
    }
}

/// What a search sees of an index; under the state's mutex, which keeps commits of written lists away.
pub(crate) fn seen(loaded: &Loaded, id: IndexId) -> Option<WordsSeen> {
    let index = loaded.indexes.iter().find(|index| index.id == id)?;
    let turn = |cache: &Arc<RwLock<IndexCache>>| cache.read().turn();
    let caches = std::iter::once(&index.cache).chain(&index.writing);
    let caches = caches.map(|cache| (cache.clone(), turn(cache))).collect();
    let (analyzer, lists) = (index.analyzer.clone(), index.lists);
    Some(WordsSeen { analyzer, caches, lists, _begun: loaded.searches.clone() })
}

/// A number that is to come: an open transaction has it.
#[derive(Debug)]
struct Claim {
    documents: Arc<TableDocuments>,
    number: u64,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut state = self.documents.state.lock();
        release(&mut state, self.number);
    }
}

fn release(state: &mut State, number: u64) {
    if let Some(claims) = state.claims.get_mut(&number) {
        *claims -= 1;
        if *claims == 0 {
            state.claims.remove(&number);
        }
    }
}

/// A document that came or went.
#[derive(Debug, Clone, Copy)]
struct Note {
    /// Number of the undo record of the change.
    undo_no: u64,
    table: TableId,
    doc: u64,
    came: bool,
}

/// What a transaction has done to documents: its companion.
#[derive(Debug, Default)]
pub(crate) struct DocumentChanges {
    notes: Vec<Note>,
    claims: Vec<Claim>,
    changing: Vec<Changing>,
    /// Tables whose documents it changed before a crash: what it did is in their rows alone.
    pub(crate) unknown: Vec<TableId>,
    /// What went is in the tables of deleted documents.
    pub(crate) deletes_written: bool,
}

/// What a transaction has done to the documents of one table, all in all.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NetChanges {
    /// In ascending order.
    pub(crate) came: Vec<u64>,
    pub(crate) gone: Vec<u64>,
}

impl DocumentChanges {
    fn claim(&mut self, of: &Arc<TableDocuments>, state: &mut State, number: u64) {
        if let Some(claim) = self.claims.iter_mut().find(|claim| Arc::ptr_eq(&claim.documents, of)) {
            if claim.number > number {
                release(state, claim.number);
                *state.claims.entry(number).or_insert(0) += 1;
                claim.number = number;
            }
            return;
        }
        *state.claims.entry(number).or_insert(0) += 1;
        self.claims.push(Claim { documents: of.clone(), number });
    }

    /// Says that all documents of a table below `number` are in the cache.
    pub(crate) fn raise_claim(&mut self, id: TableId, number: u64) {
        if let Some(claim) = self.claims.iter_mut().find(|claim| claim.documents.id == id) {
            let mut state = claim.documents.state.lock();
            release(&mut state, claim.number);
            *state.claims.entry(number).or_insert(0) += 1;
            claim.number = number;
        }
    }

    /// Claims everything of a table that is not written, for a transaction that a crash has left prepared.
    ///
    /// # Errors
    /// Those of reading the files.
    pub(crate) fn claim_unknown(
        &mut self,
        documents: &Documents,
        id: TrxId,
        table: &Arc<Table>,
    ) -> Result<()> {
        let of = documents.of(table.id);
        let mut state = documents.loaded(&of, table)?;
        let synced = state.loaded.as_ref().map_or(0, |loaded| loaded.synced);
        self.claim(&of, &mut state, synced);
        drop(state);
        self.changes(documents, id, table.id);
        self.unknown.push(table.id);
        Ok(())
    }

    /// Counts the transaction `id` among those that change documents of a table.
    fn changes(&mut self, documents: &Documents, id: TrxId, table: TableId) {
        if self.changing.iter().all(|changing| changing.documents.id != table) {
            let documents = documents.of(table);
            documents.state.lock().changing += 1;
            self.changing.push(Changing { documents, id });
        }
    }

    /// By table. What came and went does not count.
    pub(crate) fn net(&self) -> BTreeMap<TableId, NetChanges> {
        let mut tables = BTreeMap::<TableId, BTreeMap<u64, (bool, bool)>>::new();
        for note in &self.notes {
            // Whether it came first, and whether it is there in the end.
            let doc = tables.entry(note.table).or_default().entry(note.doc).or_insert((note.came, note.came));
            doc.1 = note.came;
        }
        let mut net = BTreeMap::<TableId, NetChanges>::new();
        for (table, documents) in tables {
            let changes = net.entry(table).or_default();
            for (doc, (came_first, is_there)) in documents {
                match (came_first, is_there) {
                    (true, true) => changes.came.push(doc),
                    (false, false) => changes.gone.push(doc),
                    // It is as it was, or was never there.
                    (true, false) | (false, true) => {}
                }
            }
        }
        net
    }
}

/// What the transaction has done to documents, to be added to.
pub(crate) fn changes_of(trx: &mut Trx) -> &mut DocumentChanges {
    let companion = trx.companion().get_or_insert_with(|| Box::new(DocumentChanges::default()));
    companion.downcast_mut().expect("transactions have no other companion")
}

/// Takes what the transaction has done to documents off it.
pub(crate) fn take_changes(trx: &mut Trx) -> Option<Box<DocumentChanges>> {
    let companion = trx.companion().take()?;
    Some(companion.downcast().expect("transactions have no other companion"))
}

/// Gives them back: it did not end.
pub(crate) fn give_back(trx: &mut Trx, changes: Option<Box<DocumentChanges>>) {
    if let Some(changes) = changes {
        *trx.companion() = Some(changes);
    }
}

/// Notes a document that came or went by the change whose undo record had the number `undo_no`.
pub(crate) fn note(documents: &Documents, trx: &mut Trx, undo_no: u64, table: &Table, doc: u64, came: bool) {
    if table.fulltext.is_empty() {
        return;
    }
    let id = trx.id();
    let changes = changes_of(trx);
    changes.notes.push(Note { undo_no, table: table.id, doc, came });
    changes.changes(documents, id, table.id);
}

/// Forgets the notes of changes that are taken back: from undo number `from` on.
pub(crate) fn forget_notes(trx: &mut Trx, from: u64) {
    if let Some(companion) = trx.companion() {
        let changes: &mut DocumentChanges =
            companion.downcast_mut().expect("transactions have no other companion");
        changes.notes.retain(|note| note.undo_no < from);
    }
}

/// The document of a row, by the stored value of its number.
///
/// # Errors
/// It is none.
pub(crate) fn number_in(table: &Table, ids: &DocIds, stored: Option<&[u8]>) -> Result<u64> {
    match stored {
        Some(bytes) if bytes.len() == 8 => Ok(vaquita_base::codec::get_u64(bytes, 0)),
        _ => Err(Error::Corrupt(format!(
            "table {}: column {} of a row is {stored:?}",
            table.name, table.columns[ids.column].def.name
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_and_goes_in_a_transaction_does_not_count() {
        let note = |undo_no, doc, came| Note { undo_no, table: TableId(7), doc, came };
        let changes = DocumentChanges {
            notes: vec![
                note(0, 5, false),
                note(0, 9, true),
                note(1, 9, false),
                note(1, 10, true),
                note(2, 3, false),
            ],
            ..DocumentChanges::default()
        };
        let net = changes.net();
        assert_eq!(net[&TableId(7)], NetChanges { came: vec![10], gone: vec![3, 5] });
    }

    #[test]
    fn a_search_knows_what_all_later_passes_took_off_the_lists() {
        let mut loaded = Loaded { deletions: 2, ..Loaded::default() };
        loaded.deleted = HashMap::from([(DocId(7), 1), (DocId(8), 2)]);
        let search = loaded.searches.clone();
        loaded.take_off(&HashSet::from([DocId(7)]));
        // Nobody began to search between the two.
        loaded.take_off(&HashSet::from([DocId(8)]));
        loaded.take_off(&HashSet::new());
        assert!([7, 8].iter().all(|doc| loaded.is_deleted(DocId(*doc), 2)), "{loaded:?}");
        drop(search);
        loaded.take_off(&HashSet::new());
        assert!(loaded.taken_off.is_empty());
    }
}
