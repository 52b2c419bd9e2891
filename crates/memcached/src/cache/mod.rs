//! The items of a cache in memory: bounded in bytes, expired when they are looked at, the least used ones evicted.
//!
//! Keys are spread over shards by hash; a shard is a mutex around a table of slots. A hand goes round the slots (CLOCK): an
//! item that was used since it passed last is passed over once more. What counts as memory is what is allocated: items
//! with the allocator's rounding, slots and hash table with their unused parts.
//!
//! One cache serves several mappings: a *space* is the number of one, and part of the key.

mod shard;

use crate::store::{
    Access, Count, Counted, Expiry, Failure, Item, Mode, NewItem, Outcome, Range, Result, Store,
};
use crossbeam_utils::CachePadded;
use foldhash::fast::FixedState;
use parking_lot::{Mutex, RwLock};
use shard::{Entry, Shard};
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use vaquita_engine::Durability;

/// A shard is no smaller, so that the longest items fit easily.
const SHARD_BYTES_MIN: usize = 8 << 20;
const SHARDS_MAX: usize = 64;

/// What a cache counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStats {
    /// Items in it, expired ones that nobody looked at included.
    pub items: u64,
    /// Memory it takes.
    pub bytes: u64,
    /// Memory it may take.
    pub bytes_max: u64,
    /// Items ever kept.
    pub items_total: u64,
    /// Items that had to go for others.
    pub evictions: u64,
    /// Expired items whose memory was taken back.
    pub reclaimed: u64,
}

/// Items in memory.
#[derive(Debug)]
pub struct Cache {
    shards: Box<[CachePadded<Mutex<Shard>>]>,
    shard_bytes_max: usize,
    item_size_max: usize,
    hash: FixedState,
    cas: AtomicU64,
    /// Spaces whose items end at a moment, if they were kept before it.
    flushes: RwLock<Vec<(u32, u32)>>,
    any_flush: AtomicBool,
}

impl Cache {
    /// A cache of at most `bytes_max` bytes, with values of at most `item_size_max`.
    pub fn new(bytes_max: usize, item_size_max: usize) -> Self {
        let shards = (bytes_max / SHARD_BYTES_MIN).clamp(1, SHARDS_MAX);
        let shards = if shards.is_power_of_two() { shards } else { shards.next_power_of_two() / 2 };
        Cache {
            shards: (0..shards).map(|_| CachePadded::new(Mutex::default())).collect(),
            shard_bytes_max: bytes_max / shards,
            item_size_max,
            // Keys come from clients: they must not know where theirs go.
            hash: FixedState::with_seed(std::hash::RandomState::new().hash_one(shards)),
            cas: AtomicU64::new(0),
            flushes: RwLock::default(),
            any_flush: AtomicBool::new(false),
        }
    }

    /// Shows an item, if it is there; with `touch` it gets a new end. Whether it is there.
    #[inline]
    pub fn get(
        &self,
        space: u32,
        key: &[u8],
        touch: Option<Expiry>,
        now: u32,
        show: impl FnOnce(&Item<'_>),
    ) -> bool {
        let hash = self.hash(space, key);
        let mut shard = self.shard(hash).lock();
        let Some(entry) = self.live(&mut shard, hash, space, key, now) else { return false };
        if let Some(expires) = touch {
            entry.expires = expires;
        }
        let access = Access { fetched: entry.fetched, idle: now.saturating_sub(entry.used) };
        show(&Item { access: Some(access), ..entry.item() });
        entry.visited = true;
        entry.fetched = true;
        entry.used = now;
        true
    }

    /// Keeps an item. `cas`: the number it must have, 0 for any.
    ///
    /// # Errors
    /// It is too large, or no memory can be made free for it.
    pub fn store(
        &self,
        space: u32,
        mode: Mode,
        key: &[u8],
        item: &NewItem<'_>,
        cas: u64,
        now: u32,
    ) -> Result<Outcome> {
        let hash = self.hash(space, key);
        let mut shard = self.shard(hash).lock();
        let old = self.live(&mut shard, hash, space, key, now);
        match (&old, mode) {
            (None, _) if cas != 0 => return Ok(Outcome::NotFound),
            (None, Mode::Replace | Mode::Append | Mode::Prepend) => return Ok(Outcome::NotStored),
            (Some(_), Mode::Add) => return Ok(Outcome::NotStored),
            (Some(old), _) if cas != 0 && old.cas != cas => return Ok(Outcome::Exists),
            _ => {}
        }
        let mut entry = match (old, mode) {
            (Some(old), Mode::Append) => old.with_value(&[old.value(), item.value]),
            (Some(old), Mode::Prepend) => old.with_value(&[item.value, old.value()]),
            _ => Entry::new(hash, space, key, item, now),
        };
        entry.cas = self.next_cas();
        self.put(&mut shard, entry, now)
    }

    /// Keeps an item under its own number: what a table holds.
    ///
    /// # Errors
    /// As [`Cache::store`].
    pub fn fill(&self, space: u32, key: &[u8], item: &Item<'_>, now: u32) -> Result<()> {
        let hash = self.hash(space, key);
        let new = NewItem { flags: item.flags, expires: item.expires, value: item.value };
        let mut entry = Entry::new(hash, space, key, &new, now);
        entry.cas = item.cas;
        self.put(&mut self.shard(hash).lock(), entry, now).map(|_| ())
    }

    /// Counts.
    ///
    /// # Errors
    /// As [`Cache::store`].
    pub fn count(&self, space: u32, key: &[u8], count: &Count, now: u32) -> Result<Counted> {
        let hash = self.hash(space, key);
        let mut shard = self.shard(hash).lock();
        let (mut entry, number) = match (self.live(&mut shard, hash, space, key, now), count.initial) {
            (None, None) => return Ok(Counted::Not(Outcome::NotFound)),
            (None, Some((initial, expires))) => {
                let digits = initial.to_string();
                let item = NewItem { flags: 0, expires, value: digits.as_bytes() };
                (Entry::new(hash, space, key, &item, now), initial)
            }
            // As memcached has it: of nothing it is told before the number is compared.
            (Some(old), _) if old.value().is_empty() => return Ok(Counted::NotANumber),
            (Some(old), _) => {
                if count.cas != 0 && count.cas != old.cas {
                    return Ok(Counted::Not(Outcome::Exists));
                }
                let Some(number) = Count::parse(old.value()) else { return Ok(Counted::NotANumber) };
                let number = count.apply(number);
                let mut entry = old.with_value(&[number.to_string().as_bytes()]);
                entry.expires = count.expires.unwrap_or(entry.expires);
                (entry, number)
            }
        };
        let cas = self.next_cas();
        entry.cas = cas;
        self.put(&mut shard, entry, now)?;
        Ok(Counted::Done(number, cas))
    }

    /// Deletes an item. `cas`: the number it must have, 0 for any.
    pub fn delete(&self, space: u32, key: &[u8], cas: u64, now: u32) -> Outcome {
        let hash = self.hash(space, key);
        let mut shard = self.shard(hash).lock();
        match self.live(&mut shard, hash, space, key, now) {
            None => Outcome::NotFound,
            Some(entry) if cas != 0 && entry.cas != cas => Outcome::Exists,
            Some(_) => {
                shard.remove(hash, space, key);
                Outcome::Done(0)
            }
        }
    }

    /// Gives an item a new end.
    pub fn touch(&self, space: u32, key: &[u8], expires: Expiry, now: u32) -> Outcome {
        let mut cas = 0;
        match self.get(space, key, Some(expires), now, |item| cas = item.cas) {
            true => Outcome::Done(cas),
            false => Outcome::NotFound,
        }
    }

    /// Shows the items of a stretch of keys, until it is told to stop. The whole cache is looked through for it.
    pub fn range(
        &self,
        space: u32,
        range: &Range<'_>,
        now: u32,
        mut found: impl FnMut(&Item<'_>) -> ControlFlow<()>,
    ) {
        let mut keys: BTreeSet<Box<[u8]>> = BTreeSet::new();
        for shard in &self.shards {
            for entry in shard.lock().entries().filter(|e| e.space == space && holds(range, e.key())) {
                keys.insert(entry.key().into());
                if keys.len() > range.limit {
                    if range.descending {
                        keys.pop_first()
                    } else {
                        keys.pop_last()
                    };
                }
            }
        }
        let mut show = |key: &[u8]| {
            let mut flow = ControlFlow::Continue(());
            self.get(space, key, None, now, |item| flow = found(item));
            flow.is_continue()
        };
        let _ = match range.descending {
            true => keys.iter().rev().all(|key| show(key)),
            false => keys.iter().all(|key| show(key)),
        };
    }

    /// Deletes the items of a space: now (0), or those kept before a moment when it has come. A moment takes the place of
    /// one that has not come yet.
    pub fn flush(&self, space: u32, at: Expiry, now: u32) {
        let mut flushes = self.flushes.write();
        // What an earlier moment ended must not come back with the new one.
        let passed = flushes.iter().find(|&&(of, at)| of == space && at <= now).map(|&(_, at)| at);
        if at.0 <= now {
            self.remove_all(|entry| entry.space == space);
        } else if let Some(passed) = passed {
            self.remove_all(|entry| entry.space == space && entry.stored < passed);
        }
        flushes.retain(|&(of, pending)| of != space || at.0 <= now && pending > now);
        if at.0 > now {
            flushes.push((space, at.0));
        }
        self.any_flush.store(!flushes.is_empty(), Ordering::Release);
    }

    fn remove_all(&self, ends: impl Fn(&Entry) -> bool) {
        for shard in &self.shards {
            shard.lock().retain(|entry| !ends(entry));
        }
    }

    /// What it counts.
    pub fn stats(&self) -> CacheStats {
        let mut stats = CacheStats {
            bytes_max: (self.shard_bytes_max * self.shards.len()) as u64,
            ..CacheStats::default()
        };
        for shard in &self.shards {
            let shard = shard.lock();
            stats.items += shard.len() as u64;
            stats.bytes += shard.bytes() as u64;
            stats.items_total += shard.items_total;
            stats.evictions += shard.evictions;
            stats.reclaimed += shard.reclaimed;
        }
        stats
    }

    fn next_cas(&self) -> u64 {
        self.cas.fetch_add(1, Ordering::Relaxed) + 1
    }

    #[inline]
    fn hash(&self, space: u32, key: &[u8]) -> u64 {
        let mut hasher = self.hash.build_hasher();
        hasher.write_u32(space);
        hasher.write(key);
        hasher.finish()
    }

    #[inline]
    fn shard(&self, hash: u64) -> &Mutex<Shard> {
        // The table inside uses the lowest and the topmost bits.
        &self.shards[(hash >> 32) as usize & (self.shards.len() - 1)]
    }

    /// An item that has not ended.
    #[inline]
    fn live<'s>(
        &self,
        shard: &'s mut Shard,
        hash: u64,
        space: u32,
        key: &[u8],
        now: u32,
    ) -> Option<&'s mut Entry> {
        let slot = shard.find(hash, space, key)?;
        let entry = shard.entry(slot);
        if entry.expires.0 != 0 && entry.expires.0 <= now || self.is_flushed(entry, now) {
            shard.remove(hash, space, key);
            shard.reclaimed += 1;
            return None;
        }
        Some(shard.entry_mut(slot))
    }

    fn is_flushed(&self, entry: &Entry, now: u32) -> bool {
        self.any_flush.load(Ordering::Acquire)
            && self
                .flushes
                .read()
                .iter()
                .any(|&(space, at)| space == entry.space && at <= now && entry.stored < at)
    }

    fn put(&self, shard: &mut Shard, entry: Entry, now: u32) -> Result<Outcome> {
        if entry.value().len() > self.item_size_max {
            return Err(Failure::TooLarge);
        }
        let cas = entry.cas;
        match shard.put(entry, self.shard_bytes_max, now) {
            true => Ok(Outcome::Done(cas)),
            false => Err(Failure::NoMemory),
        }
    }
}

fn holds(range: &Range<'_>, key: &[u8]) -> bool {
    let behind = range.from.is_none_or(|from| if range.from_included { key >= from } else { key > from });
    let before = range.to.is_none_or(|to| if range.to_included { key <= to } else { key < to });
    behind && before
}

/// The time of a cache that stands alone, in seconds since 1970: told to it, not asked for on every get.
#[derive(Debug, Default)]
pub struct Seconds(AtomicU32);

impl Seconds {
    /// That time.
    pub fn new(now: u32) -> Self {
        Seconds(AtomicU32::new(now))
    }

    /// Tells it.
    pub fn set(&self, now: u32) {
        self.0.store(now, Ordering::Relaxed);
    }

    /// It.
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A connection's view of a cache that stands alone: no tables, one space.
#[derive(Debug, Clone)]
pub struct CacheStore {
    cache: Arc<Cache>,
    seconds: Arc<Seconds>,
}

impl CacheStore {
    /// The items of `cache`, at the time of `seconds`.
    pub fn new(cache: Arc<Cache>, seconds: Arc<Seconds>) -> Self {
        CacheStore { cache, seconds }
    }
}

impl Store for CacheStore {
    fn get(
        &mut self,
        keys: &[&[u8]],
        touch: Option<Expiry>,
        mut found: impl FnMut(usize, &Item<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let now = self.seconds.get();
        for (index, key) in keys.iter().enumerate() {
            let mut flow = ControlFlow::Continue(());
            self.cache.get(0, key, touch, now, |item| flow = found(index, item));
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn store(&mut self, mode: Mode, key: &[u8], item: &NewItem<'_>, cas: u64) -> Result<Outcome> {
        self.cache.store(0, mode, key, item, cas, self.seconds.get())
    }

    fn count(&mut self, key: &[u8], count: &Count) -> Result<Counted> {
        self.cache.count(0, key, count, self.seconds.get())
    }

    fn delete(&mut self, key: &[u8], cas: u64) -> Result<Outcome> {
        Ok(self.cache.delete(0, key, cas, self.seconds.get()))
    }

    fn touch(&mut self, key: &[u8], expires: Expiry) -> Result<Outcome> {
        Ok(self.cache.touch(0, key, expires, self.seconds.get()))
    }

    fn range(&mut self, range: &Range<'_>, found: impl FnMut(&Item<'_>) -> ControlFlow<()>) -> Result<()> {
        self.cache.range(0, range, self.seconds.get(), found);
        Ok(())
    }

    fn flush_all(&mut self, at: Expiry) -> Result<()> {
        self.cache.flush(0, at, self.seconds.get());
        Ok(())
    }

    fn bind(&mut self, _mapping: &[u8]) -> Result<String> {
        Err(Failure::NotSupported("there are no mappings here".into()))
    }

    fn stats(&mut self, group: &[u8], line: &mut dyn FnMut(&str, &str)) -> bool {
        if !group.is_empty() {
            return false;
        }
        let stats = self.cache.stats();
        line("limit_maxbytes", &stats.bytes_max.to_string());
        line("bytes", &stats.bytes.to_string());
        line("curr_items", &stats.items.to_string());
        line("total_items", &stats.items_total.to_string());
        line("evictions", &stats.evictions.to_string());
        line("reclaimed", &stats.reclaimed.to_string());
        true
    }

    fn durability(&mut self) -> Option<Durability> {
        None
    }
}
