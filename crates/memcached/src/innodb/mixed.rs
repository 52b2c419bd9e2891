//! Items in tables, in memory, or both, as `cache_policies` says for each command.
//!
//! | policy | get | changes, delete, flush |
//! |---|---|---|
//! | `innodb_only` | the table | the table |
//! | `cache_only` | memory | memory |
//! | `caching` | memory, then the table, which fills the memory | the table; memory forgets the item at the commit |
//! | `disabled` | refused | refused |
//!
//! # Caching
//! A reader that found an item in the table must not put it into memory if the item was changed since: the change has
//! made memory forget already. So each item belongs to a *stripe* that counts changes: a reader notes the count before it
//! reads the table and fills only if it is the same, both under the stripe's mutex. Readers fill what is committed only,
//! and not from inside a batch, whose view may be old. A connection with an open batch reads the table: it sees its own
//! changes. Changes by SQL are not noticed: what is in memory stays until it ends or is evicted.

use super::config::{Policies, Policy};
use super::connection::InnodbStore;
use super::read::Show;
use super::tables::Tables;
use crate::cache::Cache;
use crate::server::{ClientStore, Keeper};
use crate::store::{Count, Counted, Expiry, Failure, Item, Mode, NewItem, Outcome, Range, Result, Store};
use parking_lot::Mutex;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_engine::{Durability, WaitHook};

/// Stripes: few enough to be small, enough that two items seldom share one.
const STRIPES: usize = 1024;

/// What the connections of a door share: tables, and memory beside them.
#[derive(Debug)]
pub struct Shelves {
    tables: Arc<Tables>,
    cache: Cache,
    stripes: Box<[Mutex<u64>]>,
    hash: RandomState,
}

impl Shelves {
    /// Tables with a cache beside them.
    pub fn new(tables: Arc<Tables>, cache: Cache) -> Arc<Shelves> {
        let stripes = (0..STRIPES).map(|_| Mutex::new(0)).collect();
        let shelves = Arc::new(Shelves { tables, cache, stripes, hash: RandomState::new() });
        let told = Arc::downgrade(&shelves);
        shelves.tables.tell_emptied(Box::new(move |space| {
            if let Some(shelves) = told.upgrade() {
                shelves.forget_all(space, Expiry::default(), shelves.tables.now());
            }
        }));
        shelves
    }

    /// The tables.
    pub fn tables(&self) -> &Arc<Tables> {
        &self.tables
    }

    /// A connection's store.
    pub fn store(self: &Arc<Self>, hook: Arc<dyn WaitHook>) -> MixedStore {
        MixedStore { tables: self.tables.store(hook), shelves: self.clone(), changed: Vec::new() }
    }

    fn stripe(&self, space: u32, key: &[u8]) -> &Mutex<u64> {
        &self.stripes[self.hash.hash_one((space, key)) as usize % STRIPES]
    }

    /// Forgets an item whose change was committed.
    fn forget(&self, space: u32, key: &[u8], now: u32) {
        let mut count = self.stripe(space, key).lock();
        *count += 1;
        self.cache.delete(space, key, 0, now);
    }

    /// Forgets all items of a mapping whose table was emptied.
    fn forget_all(&self, space: u32, at: Expiry, now: u32) {
        for stripe in &self.stripes {
            *stripe.lock() += 1;
        }
        self.cache.flush(space, at, now);
    }

    /// Puts an item into memory, if it was not changed since `count` was noted.
    fn fill(&self, space: u32, item: &Item<'_>, noted: u64, now: u32) {
        let count = self.stripe(space, item.key).lock();
        if *count == noted {
            // No room for it: then it is read from the table again.
            let _ = self.cache.fill(space, item.key, item, now);
        }
    }
}

impl Keeper for Arc<Shelves> {
    type Store = MixedStore;

    fn open(&self, hook: Arc<dyn WaitHook>) -> MixedStore {
        self.store(hook)
    }

    fn tick(&self) -> Result<()> {
        self.tables.sweep()
    }
}

/// The store of one connection.
#[derive(Debug)]
pub struct MixedStore {
    tables: InnodbStore,
    shelves: Arc<Shelves>,
    /// What the open transaction has changed and memory must forget at its end.
    changed: Vec<(u32, Box<[u8]>)>,
}

fn disabled<R>(command: &str) -> Result<R> {
    Err(Failure::NotSupported(format!("{command} is disabled in innodb_memcache.cache_policies")))
}

impl MixedStore {
    fn policies(&mut self) -> Result<Policies> {
        self.tables.policies()
    }

    fn now(&self) -> u32 {
        self.shelves.tables.now()
    }

    /// The mapping's number and the key without its name.
    fn place<'k>(&mut self, key: &'k [u8]) -> Result<(u32, &'k [u8])> {
        match self.tables.enter(key)? {
            Some(key) => Ok((self.tables.bound().space, key)),
            None => Err(Failure::Client("there is no key behind the mapping's name".into())),
        }
    }

    /// Runs a change of the item of a key where the policy wants it.
    fn change<R>(
        &mut self,
        (policy, command): (Policy, &str),
        key: &[u8],
        in_table: impl FnOnce(&mut InnodbStore) -> Result<R>,
        in_memory: impl FnOnce(&Cache, u32, &[u8], u32) -> Result<R>,
    ) -> Result<R> {
        match policy {
            Policy::InnodbOnly => in_table(&mut self.tables),
            Policy::Disabled => disabled(command),
            Policy::CacheOnly => {
                let (space, key) = self.place(key)?;
                in_memory(&self.shelves.cache, space, key, self.now())
            }
            Policy::Caching => {
                let (space, bare) = self.place(key)?;
                let bare: Box<[u8]> = bare.into();
                let done = in_table(&mut self.tables);
                self.changed.push((space, bare));
                self.forget_committed();
                done
            }
        }
    }

    /// Lets memory forget what was changed, if that is committed by now, or taken back.
    fn forget_committed(&mut self) {
        if self.tables.in_batch() {
            return;
        }
        let now = self.now();
        for (space, key) in self.changed.drain(..) {
            self.shelves.forget(space, &key, now);
        }
    }

    fn get_cached(&mut self, keys: &[&[u8]], found: &mut Show<'_>) -> Result<()> {
        for (at, &key) in keys.iter().enumerate() {
            let mut flow = ControlFlow::Continue(());
            let mut show = |item: &Item<'_>| {
                flow = found(at, item);
                flow
            };
            let Some(bare) = self.tables.enter(key)? else {
                self.tables.read_keys(&keys[at..=at], &mut |_, item| show(item))?;
                if flow.is_break() {
                    return Ok(());
                }
                continue;
            };
            let (space, now) = (self.tables.bound().space, self.shelves.tables.now());
            let there = self.shelves.cache.get(space, bare, None, now, |item| {
                let _ = show(item);
            });
            if !there {
                let shelves = &self.shelves;
                let noted = *shelves.stripe(space, bare).lock();
                self.tables.read_committed(bare, &mut |item| {
                    shelves.fill(space, item, noted, now);
                    show(item)
                })?;
            }
            if flow.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn get_from_memory(&mut self, keys: &[&[u8]], touch: Option<Expiry>, found: &mut Show<'_>) -> Result<()> {
        let now = self.now();
        for (at, &key) in keys.iter().enumerate() {
            let mut flow = ControlFlow::Continue(());
            match self.tables.enter(key)? {
                Some(key) => {
                    let space = self.tables.bound().space;
                    self.shelves.cache.get(space, key, touch, now, |item| flow = found(at, item));
                }
                None => self.tables.read_keys(&keys[at..=at], &mut |_, item| {
                    flow = found(at, item);
                    flow
                })?,
            }
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Store for MixedStore {
    fn get(
        &mut self,
        keys: &[&[u8]],
        touch: Option<Expiry>,
        mut found: impl FnMut(usize, &Item<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let policies = self.policies()?;
        let Some(end) = touch else {
            return match policies.get {
                Policy::InnodbOnly => self.tables.read_keys(keys, &mut found),
                Policy::Caching if self.tables.in_batch() => {
                    let done = self.tables.read_keys(keys, &mut found);
                    // Reading ends a transaction of changes that came together.
                    self.forget_committed();
                    done
                }
                Policy::Caching => self.get_cached(keys, &mut found),
                Policy::CacheOnly => self.get_from_memory(keys, None, &mut found),
                Policy::Disabled => disabled("get"),
            };
        };
        match policies.set {
            _ if policies.get == Policy::Disabled => disabled("get"),
            Policy::Disabled => disabled("touch"),
            Policy::CacheOnly => self.get_from_memory(keys, touch, &mut found),
            Policy::InnodbOnly => self.tables.read_and_touch(keys, end, &mut found),
            Policy::Caching => {
                for (at, &key) in keys.iter().enumerate() {
                    let mut flow = ControlFlow::Continue(());
                    let mut show = |item: &Item<'_>| {
                        flow = found(at, item);
                        flow
                    };
                    let shown = |tables: &mut InnodbStore| {
                        tables.read_and_touch(&[key], end, &mut |_, item| show(item))
                    };
                    self.change((Policy::Caching, "touch"), key, shown, |_, _, _, _| Ok(()))?;
                    if flow.is_break() {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    fn store(&mut self, mode: Mode, key: &[u8], item: &NewItem<'_>, cas: u64) -> Result<Outcome> {
        let policy = self.policies()?.set;
        let in_memory = |cache: &Cache, space, key: &[u8], now| cache.store(space, mode, key, item, cas, now);
        self.change((policy, "set"), key, |tables| tables.keep(mode, key, item, cas), in_memory)
    }

    fn count(&mut self, key: &[u8], count: &Count) -> Result<Counted> {
        let policy = self.policies()?.set;
        let in_memory = |cache: &Cache, space, key: &[u8], now| cache.count(space, key, count, now);
        self.change((policy, "set"), key, |tables| tables.count_item(key, count), in_memory)
    }

    fn delete(&mut self, key: &[u8], cas: u64) -> Result<Outcome> {
        let policy = self.policies()?.delete;
        let in_memory = |cache: &Cache, space, key: &[u8], now| Ok(cache.delete(space, key, cas, now));
        self.change((policy, "delete"), key, |tables| tables.delete_item(key, cas), in_memory)
    }

    fn touch(&mut self, key: &[u8], expires: Expiry) -> Result<Outcome> {
        let policy = self.policies()?.set;
        let in_memory = |cache: &Cache, space, key: &[u8], now| Ok(cache.touch(space, key, expires, now));
        self.change((policy, "touch"), key, |tables| tables.touch_item(key, expires), in_memory)
    }

    fn range(
        &mut self,
        range: &Range<'_>,
        mut found: impl FnMut(&Item<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        match self.policies()?.get {
            Policy::InnodbOnly | Policy::Caching => self.tables.read_range(range, &mut found),
            Policy::Disabled => disabled("get"),
            Policy::CacheOnly => {
                let mut bare = |key: Option<&[u8]>| -> Result<Option<Vec<u8>>> {
                    Ok(self
                        .tables
                        .enter(key.unwrap_or_default())?
                        .filter(|k| !k.is_empty())
                        .map(<[u8]>::to_vec))
                };
                let (from, to) = (bare(range.from)?, bare(range.to)?);
                let range = Range { from: from.as_deref(), to: to.as_deref(), ..*range };
                self.shelves.cache.range(self.tables.bound().space, &range, self.now(), found);
                Ok(())
            }
        }
    }

    fn flush_all(&mut self, at: Expiry) -> Result<()> {
        let policy = self.policies()?.flush;
        if policy == Policy::Disabled {
            return disabled("flush_all");
        }
        if policy != Policy::CacheOnly {
            self.tables.flush(at)?;
            self.forget_committed();
        }
        if policy != Policy::InnodbOnly {
            self.tables.enter(b"")?;
            self.shelves.forget_all(self.tables.bound().space, at, self.now());
        }
        Ok(())
    }

    fn bind(&mut self, mapping: &[u8]) -> Result<String> {
        self.tables.bind(mapping)
    }

    fn stats(&mut self, group: &[u8], line: &mut dyn FnMut(&str, &str)) -> bool {
        if !self.tables.stats(group, line) {
            return false;
        }
        let stats = self.shelves.cache.stats();
        for (name, value) in [
            ("limit_maxbytes", stats.bytes_max),
            ("bytes", stats.bytes),
            ("curr_items", stats.items),
            ("total_items", stats.items_total),
            ("evictions", stats.evictions),
            ("reclaimed", stats.reclaimed),
        ] {
            line(name, &value.to_string());
        }
        true
    }

    fn together(&mut self) {
        self.tables.together();
    }

    fn settle(&mut self) -> Result<()> {
        let done = self.tables.settle();
        self.forget_committed();
        done
    }

    fn durability(&mut self) -> Option<Durability> {
        self.tables.durability()
    }
}

impl ClientStore for MixedStore {
    fn interrupter(&self) -> Box<dyn Fn() + Send + Sync> {
        self.tables.interrupter()
    }

    fn in_transaction(&self) -> bool {
        self.tables.in_batch()
    }

    fn idle(&mut self) -> Result<()> {
        let done = self.tables.idle();
        self.forget_committed();
        done
    }

    fn finish(&mut self) -> Result<()> {
        let done = self.tables.finish();
        self.forget_committed();
        done
    }
}
