//! What the lock manager keeps of a transaction.

use super::info::DeadlockReport;
use super::modes::ModeSet;
use super::slot::Slot;
use super::{LockMode, Place};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use vaquita_base::{HeapNo, PageId, TableId};

/// Pages a session's list keeps room for between transactions.
const PAGES_KEPT: usize = 64;

/// How a wait ended.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    Granted(Place),
    /// What was waited for has gone, or its gap has changed: ask again.
    SentBack,
    TimedOut,
    Interrupted,
    Victim(Arc<DeadlockReport>),
}

/// Where a transaction has locks. Lists say where to look; the truth is in the queues.
#[derive(Debug, Default)]
struct Held {
    /// Pages with record locks. May name a page twice, or one without locks any more.
    pages: Vec<PageId>,
    tables: SmallVec<[(TableId, ModeSet); 4]>,
}

/// What the lock manager keeps of a transaction.
///
/// # Latching
/// The mutexes in here are leaves, taken under those of the queues.
#[derive(Debug, Default)]
pub struct TrxLocks {
    relaxed_gaps: AtomicBool,
    /// Relaxed: statistics, and weights in the choice of victims.
    records: AtomicUsize,
    structs: AtomicUsize,
    /// Structures that InnoDB would have left behind, without a record, where requests moved with their records.
    left_over: AtomicUsize,
    held: Mutex<Held>,
    /// The record lock that the last wait gave, until the transaction asks for it again. Its own thread's alone.
    has_fresh: AtomicBool,
    fresh: Mutex<Option<(PageId, HeapNo)>>,
    pub(crate) slot: Slot<Place, Outcome>,
}

impl TrxLocks {
    /// Whether gaps are locked for duplicate checks only (READ COMMITTED and below): set at the start of a
    /// transaction.
    pub fn set_relaxed_gaps(&self, relaxed: bool) {
        self.relaxed_gaps.store(relaxed, Ordering::Relaxed);
    }

    /// Whether gaps are locked for duplicate checks only.
    pub fn relaxed_gaps(&self) -> bool {
        self.relaxed_gaps.load(Ordering::Relaxed)
    }

    /// Records locked or waited for; one locked in two ways counts twice.
    pub fn record_locks(&self) -> usize {
        self.records.load(Ordering::Relaxed)
    }

    /// Lock structures: one for each table and mode, one for each page, mode and kind, one for each request that had to wait,
    /// and one more for each time that one moved while it waited.
    pub fn lock_structs(&self) -> usize {
        self.structs.load(Ordering::Relaxed) + self.left_over.load(Ordering::Relaxed)
    }

    /// Tables locked.
    pub fn tables_locked(&self) -> usize {
        self.held.lock().tables.len()
    }

    /// Modes in which a table is locked.
    pub fn table_modes(&self, table: TableId) -> impl Iterator<Item = LockMode> {
        self.modes_of(table).iter()
    }

    /// Since when the transaction waits for a lock, by the lock manager's clock; `None` if it does not.
    pub fn waiting_since_us(&self) -> Option<u64> {
        self.slot.view().map(|wait| wait.since_us)
    }

    /// Whether it waits for a lock.
    pub fn is_waiting(&self) -> bool {
        self.slot.view().is_some()
    }

    pub(crate) fn add_records(&self, n: usize) {
        self.records.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn sub_records(&self, n: usize) {
        let before = self.records.fetch_sub(n, Ordering::Relaxed);
        debug_assert!(before >= n, "{n} locks of records go, {before} were counted");
    }

    pub(crate) fn add_struct(&self) {
        self.structs.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_left_over(&self) {
        self.left_over.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn forget_left_over(&self) {
        self.left_over.store(0, Ordering::Relaxed);
    }

    pub(crate) fn sub_struct(&self) {
        let before = self.structs.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "a lock goes that was not counted");
    }

    /// A wait gave this lock.
    pub(crate) fn note_fresh(&self, page: PageId, heap: HeapNo) {
        *self.fresh.lock() = Some((page, heap));
        self.has_fresh.store(true, Ordering::Relaxed);
    }

    /// Whether the last wait gave this lock, and it was not asked for since. Others may have been: of a secondary entry and its
    /// row the one that was not waited for is asked for again first.
    #[inline]
    pub(crate) fn take_fresh(&self, page: PageId, heap: HeapNo) -> bool {
        self.has_fresh.load(Ordering::Relaxed) && {
            let is_it = *self.fresh.lock() == Some((page, heap));
            if is_it {
                self.has_fresh.store(false, Ordering::Relaxed);
            }
            is_it
        }
    }

    #[inline]
    pub(crate) fn modes_of(&self, table: TableId) -> ModeSet {
        let held = self.held.lock();
        held.tables.iter().find(|(t, _)| *t == table).map_or(ModeSet::default(), |&(_, modes)| modes)
    }

    /// Notes a page with record locks.
    pub(crate) fn note_page(&self, page: PageId) {
        let mut held = self.held.lock();
        if held.pages.last() != Some(&page) {
            held.pages.push(page);
        }
    }

    /// Notes a page for a lock that another thread gives, while `is_active`, asked under the mutex, says that the owner is not past
    /// the end of its transaction. Whether it was.
    ///
    /// The owner leaves the active state before it fetches its list of pages under the same mutex: if it is active here, it
    /// will find the page, and its lock, later.
    pub(crate) fn note_page_if(&self, page: PageId, is_active: impl FnOnce() -> bool) -> bool {
        let mut held = self.held.lock();
        let is_active = is_active();
        if is_active && held.pages.last() != Some(&page) {
            held.pages.push(page);
        }
        is_active
    }

    /// Lets a waiter look again whether to go on.
    pub(crate) fn nudge(&self) {
        self.slot.nudge();
    }

    pub(crate) fn note_table(&self, table: TableId, mode: LockMode) {
        let mut held = self.held.lock();
        let at = held.tables.iter().position(|(t, _)| *t == table).unwrap_or_else(|| {
            held.tables.push((table, ModeSet::default()));
            held.tables.len() - 1
        });
        held.tables[at].1.add(mode);
    }

    pub(crate) fn forget_table_mode(&self, table: TableId, mode: LockMode) {
        let mut held = self.held.lock();
        if let Some(at) = held.tables.iter().position(|(t, _)| *t == table) {
            held.tables[at].1.remove(mode);
            if held.tables[at].1.is_empty() {
                held.tables.swap_remove(at);
            }
        }
    }

    pub(crate) fn tables_in_mode(&self, mode: LockMode) -> SmallVec<[TableId; 2]> {
        let held = self.held.lock();
        held.tables.iter().filter(|(_, modes)| modes.has(mode)).map(|&(table, _)| table).collect()
    }

    /// The pages to look at.
    pub(crate) fn pages(&self) -> Vec<PageId> {
        self.held.lock().pages.clone()
    }

    /// Whether there is nothing to give back.
    pub(crate) fn is_empty(&self) -> bool {
        let held = self.held.lock();
        held.pages.is_empty() && held.tables.is_empty()
    }

    /// Empties the list of pages.
    pub(crate) fn take_pages(&self) -> Vec<PageId> {
        std::mem::take(&mut self.held.lock().pages)
    }

    /// Gives an emptied list back and takes what was noted meanwhile. Of a long list the memory is given up.
    pub(crate) fn swap_pages(&self, mut emptied: Vec<PageId>) -> Vec<PageId> {
        emptied.clear();
        let mut held = self.held.lock();
        if held.pages.is_empty() {
            if emptied.capacity() <= PAGES_KEPT {
                held.pages = emptied;
            }
            return Vec::new();
        }
        std::mem::take(&mut held.pages)
    }

    /// Forgets the last wait.
    pub(crate) fn forget_fresh(&self) {
        self.has_fresh.store(false, Ordering::Relaxed);
    }

    pub(crate) fn take_tables(&self) -> SmallVec<[(TableId, ModeSet); 4]> {
        std::mem::take(&mut self.held.lock().tables)
    }
}
