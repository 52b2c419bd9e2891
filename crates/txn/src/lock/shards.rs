//! The locks of all pages and of all tables, in shards with a mutex each.

use super::page_locks::{Owner, PageLocks, Size, same};
use super::table_locks::TableLocks;
use crate::claim::trx_locks::Outcome;
use crate::trx::TrxRef;
use crossbeam_utils::CachePadded;
use foldhash::fast::FixedState;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use vaquita_base::{HeapNo, PageId, TableId};

const PAGE_SHARD_BITS: u32 = 7;
const TABLE_SHARD_BITS: u32 = 5;

fn spread(key: u64, bits: u32) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - bits)) as usize
}

/// Some pages' locks. Only pages that have some are in the map.
#[derive(Debug, Default)]
pub(super) struct PageShard {
    pages: HashMap<PageId, PageLocks, FixedState>,
    n_bits: usize,
}

impl PageShard {
    #[inline]
    pub(super) fn get_mut(&mut self, page: PageId) -> Option<&mut PageLocks> {
        self.pages.get_mut(&page)
    }

    /// Locks one more record in a structure that is there.
    #[inline]
    pub(super) fn set(&mut self, all: &Pages, page: PageId, at: usize, heap: HeapNo) {
        let Some(locks) = self.pages.get_mut(&page) else { return };
        let spilled = locks.spilled;
        self.n_bits += usize::from(locks.set(at, heap));
        if locks.spilled != spilled {
            all.bytes.fetch_add(locks.spilled - spilled, Ordering::Relaxed);
        }
    }

    /// Changes a page's locks.
    pub(super) fn edit<R>(&mut self, all: &Pages, page: PageId, f: impl FnOnce(&mut PageLocks) -> R) -> R {
        let locks = self.pages.entry(page).or_default();
        let before = locks.size();
        let result = f(locks);
        let after = locks.size();
        if locks.is_empty() {
            self.pages.remove(&page);
        }
        self.account(all, before, after);
        result
    }

    fn account(&mut self, all: &Pages, before: Size, after: Size) {
        self.n_bits = self.n_bits + after.bits - before.bits;
        if before.bytes != after.bytes {
            // Wrapping: the sum over all changes is what counts.
            all.bytes.fetch_add(after.bytes.wrapping_sub(before.bytes), Ordering::Relaxed);
        }
        if before.structs != after.structs {
            all.structs.fetch_add(after.structs.wrapping_sub(before.structs), Ordering::Relaxed);
        }
    }

    fn take(&mut self, all: &Pages, page: PageId) -> PageLocks {
        let locks = self.pages.remove(&page).unwrap_or_default();
        self.account(all, locks.size(), Size::default());
        locks
    }

    fn put(&mut self, all: &Pages, page: PageId, locks: PageLocks) {
        if !locks.is_empty() {
            self.account(all, Size::default(), locks.size());
            self.pages.insert(page, locks);
        }
    }
}

/// All pages' locks.
#[derive(Debug)]
pub(super) struct Pages {
    shards: Box<[CachePadded<Mutex<PageShard>>]>,
    /// Structures and requests. Relaxed: who changes a page's locks and who asks on behalf of a change of the page
    /// both have the page latched, so the latch orders them.
    structs: CachePadded<AtomicUsize>,
    bytes: AtomicUsize,
}

impl Default for Pages {
    fn default() -> Self {
        Self {
            shards: (0..1 << PAGE_SHARD_BITS).map(|_| CachePadded::default()).collect(),
            structs: CachePadded::default(),
            bytes: AtomicUsize::new(0),
        }
    }
}

impl Pages {
    /// The shard of a page.
    #[inline]
    pub(super) fn lock(&self, page: PageId) -> MutexGuard<'_, PageShard> {
        self.shards[spread(page.as_u64(), PAGE_SHARD_BITS)].lock()
    }

    /// Bytes of record locks.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Structures and requests.
    #[inline]
    pub(super) fn structs(&self) -> usize {
        self.structs.load(Ordering::Relaxed)
    }

    /// Records locked.
    pub(super) fn records(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().n_bits).sum()
    }

    /// Changes the locks of a page, if it has some.
    pub(super) fn change(&self, page: PageId, f: impl FnOnce(&mut PageLocks)) {
        let mut shard = self.lock(page);
        if shard.get_mut(page).is_some() {
            shard.edit(self, page, f);
        }
    }

    /// Changes the locks of two pages at once. Of two shards the lower one is locked first.
    pub(super) fn change_two(&self, a: PageId, b: PageId, f: impl FnOnce(&mut PageLocks, &mut PageLocks)) {
        debug_assert_ne!(a, b, "locks go from a page to itself");
        let (i, j) = (spread(a.as_u64(), PAGE_SHARD_BITS), spread(b.as_u64(), PAGE_SHARD_BITS));
        if i == j {
            let mut shard = self.shards[i].lock();
            let (mut of_a, mut of_b) = (shard.take(self, a), shard.take(self, b));
            f(&mut of_a, &mut of_b);
            shard.put(self, a, of_a);
            shard.put(self, b, of_b);
            return;
        }
        let (mut low, mut high) = (self.shards[i.min(j)].lock(), self.shards[i.max(j)].lock());
        let (shard_a, shard_b) = if i < j { (&mut low, &mut high) } else { (&mut high, &mut low) };
        let (mut of_a, mut of_b) = (shard_a.take(self, a), shard_b.take(self, b));
        f(&mut of_a, &mut of_b);
        shard_a.put(self, a, of_a);
        shard_b.put(self, b, of_b);
    }

    /// Gives a transaction's locks on a page back. Those whose requests are granted by it are to be nudged.
    pub(super) fn release(&self, page: PageId, trx: &TrxRef, granted: &mut Vec<TrxRef>) {
        self.change(page, |locks| {
            locks.remove_if(|lock| same(&lock.trx, trx));
            locks.settle_and_tell(page, None, &mut |other, outcome| {
                other.locks.slot.end_quietly(outcome);
                granted.push(other.clone());
            });
        });
    }

    /// Drops locks by whose they are; who waits for one is sent back.
    pub(super) fn forget(&self, gone: impl Fn(Owner) -> bool) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            let is_hit = |l: &PageLocks| {
                l.granted.iter().any(|g| gone(g.owner)) || l.waiting.iter().any(|r| gone(r.owner))
            };
            let pages: Vec<_> = shard.pages.iter().filter(|(_, l)| is_hit(l)).map(|(p, _)| *p).collect();
            for page in pages {
                shard.edit(self, page, |locks| {
                    locks.remove_if(|lock| gone(lock.owner));
                    while let Some(at) = locks.waiting.iter().position(|r| gone(r.owner)) {
                        locks.end_request(at, Outcome::SentBack);
                    }
                    locks.settle(page, None);
                });
            }
        }
    }

    /// Looks at all pages with locks, shard by shard.
    pub(super) fn each(&self, mut f: impl FnMut(PageId, &PageLocks)) {
        for shard in &self.shards {
            shard.lock().pages.iter().for_each(|(&page, locks)| f(page, locks));
        }
    }

    pub(super) fn validate(&self) {
        for shard in &self.shards {
            let shard = shard.lock();
            shard.pages.iter().for_each(|(&page, locks)| {
                assert!(!locks.is_empty(), "page {page} is in the map without locks");
                locks.validate(page);
            });
            assert_eq!(shard.n_bits, shard.pages.values().map(|l| l.n_bits).sum::<usize>());
        }
    }
}

type TableShard = HashMap<TableId, TableLocks, FixedState>;

/// All tables' locks. A table that had locks once stays in the map until it is forgotten.
#[derive(Debug)]
pub(super) struct Tables {
    shards: Box<[CachePadded<Mutex<TableShard>>]>,
}

impl Default for Tables {
    fn default() -> Self {
        Self { shards: (0..1 << TABLE_SHARD_BITS).map(|_| CachePadded::default()).collect() }
    }
}

impl Tables {
    /// The shard of a table.
    #[inline]
    pub(super) fn lock(&self, table: TableId) -> MutexGuard<'_, TableShard> {
        self.shards[spread(table.get(), TABLE_SHARD_BITS)].lock()
    }

    /// Looks at all tables, shard by shard.
    pub(super) fn each(&self, mut f: impl FnMut(TableId, &TableLocks)) {
        for shard in &self.shards {
            shard.lock().iter().for_each(|(&table, locks)| f(table, locks));
        }
    }

    /// Structures and requests.
    pub(super) fn structs(&self) -> usize {
        let mut n = 0;
        self.each(|_, locks| n += locks.structs());
        n
    }
}
