//! The cache of table objects: found by name and by number; the least recently used ones that nobody uses are let go
//! beyond the limit.
//!
//! An AUTO_INCREMENT counter outlives its table object: going back to the greatest value in the table would give
//! values again that deleted or rolled back rows had.

use crate::table::Table;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_base::TableId;

#[derive(Debug)]
struct Entry {
    table: Arc<Table>,
    used: AtomicU64,
}

#[derive(Debug, Default)]
struct Maps {
    by_id: HashMap<TableId, Entry, foldhash::fast::RandomState>,
    by_name: HashMap<String, TableId, foldhash::fast::RandomState>,
    counters: HashMap<TableId, u64, foldhash::fast::RandomState>,
}

/// Table objects in memory.
#[derive(Debug)]
pub(crate) struct Cache {
    maps: RwLock<Maps>,
    clock: AtomicU64,
    /// Tables put in so far.
    opened: AtomicU64,
    limit: usize,
}

impl Cache {
    pub(crate) fn new(limit: usize) -> Self {
        Self { maps: RwLock::default(), clock: AtomicU64::new(0), opened: AtomicU64::new(0), limit }
    }

    #[inline]
    pub(crate) fn by_name(&self, name: &str) -> Option<Arc<Table>> {
        let maps = self.maps.read();
        let id = maps.by_name.get(name)?;
        maps.by_id.get(id).map(|e| self.touch(e))
    }

    #[inline]
    pub(crate) fn by_id(&self, id: TableId) -> Option<Arc<Table>> {
        self.maps.read().by_id.get(&id).map(|e| self.touch(e))
    }

    fn touch(&self, entry: &Entry) -> Arc<Table> {
        entry.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        entry.table.clone()
    }

    /// Puts a table in, unless it is there by now; what is there.
    pub(crate) fn insert(&self, table: Table) -> Arc<Table> {
        let mut maps = self.maps.write();
        match maps.by_id.get(&table.id) {
            Some(there) => self.touch(there),
            None => self.put(&mut maps, table),
        }
    }

    /// Puts a table in, in place of the object of it that is there. Nobody uses that one.
    pub(crate) fn replace(&self, table: Table) -> Arc<Table> {
        let mut maps = self.maps.write();
        maps.remove(table.id);
        self.put(&mut maps, table)
    }

    fn put(&self, maps: &mut Maps, table: Table) -> Arc<Table> {
        if let Some(counter) = maps.counters.remove(&table.id) {
            *table.auto_inc.next.lock() = Some(counter);
        }
        self.opened.fetch_add(1, Ordering::Relaxed);
        let table = Arc::new(table);
        let used = AtomicU64::new(self.clock.fetch_add(1, Ordering::Relaxed));
        let other = maps.by_name.insert(table.name.clone(), table.id);
        debug_assert!(other.is_none(), "{} is table {} and was table {other:?}", table.name, table.id);
        maps.by_id.insert(table.id, Entry { table: table.clone(), used });
        if maps.by_id.len() > self.limit {
            maps.shrink(self.limit);
        }
        table
    }

    /// Takes a table out, because its definition changed; its counter is kept.
    pub(crate) fn remove_named(&self, name: &str) {
        let mut maps = self.maps.write();
        if let Some(&id) = maps.by_name.get(name) {
            maps.remove(id);
        }
    }

    /// The same of all tables of some kind.
    pub(crate) fn remove_where(&self, select: impl Fn(&Table) -> bool) {
        let mut maps = self.maps.write();
        let selected = maps.by_id.values().filter(|entry| select(&entry.table));
        let selected: Vec<TableId> = selected.map(|entry| entry.table.id).collect();
        selected.into_iter().for_each(|id| maps.remove(id));
    }

    /// Forgets a table that is dropped, and its counter.
    pub(crate) fn forget(&self, id: TableId) {
        let mut maps = self.maps.write();
        maps.remove(id);
        maps.counters.remove(&id);
    }

    /// Sets the counter of a table that was taken out.
    pub(crate) fn set_counter(&self, id: TableId, next: u64) {
        self.maps.write().counters.insert(id, next);
    }

    /// Tables put in so far.
    pub(crate) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Tables in memory.
    pub(crate) fn len(&self) -> usize {
        self.maps.read().by_id.len()
    }
}

impl Maps {
    fn remove(&mut self, id: TableId) {
        let Some(entry) = self.by_id.remove(&id) else { return };
        entry.table.gone.store(true, Ordering::Release);
        let named = self.by_name.remove(&entry.table.name);
        debug_assert_eq!(named, Some(id), "the number found by the name {}", entry.table.name);
        if let Some(next) = *entry.table.auto_inc.next.lock() {
            self.counters.insert(id, next);
        }
    }

    fn shrink(&mut self, limit: usize) {
        let unused = |e: &&Entry| Arc::strong_count(&e.table) == 1;
        let mut idle: Vec<(u64, TableId)> = self
            .by_id
            .values()
            .filter(unused)
            .map(|e| (e.used.load(Ordering::Relaxed), e.table.id))
            .collect();
        idle.sort_unstable();
        let excess = self.by_id.len() - limit;
        idle.iter().take(excess).for_each(|&(_, id)| self.remove(id));
    }
}
