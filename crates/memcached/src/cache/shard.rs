//! One shard: slots with items, a table that finds them by hash, and the hand that goes round to evict.

use crate::store::{Expiry, Item, NewItem};
use hashbrown::HashTable;

/// Slots are added so many at a time, or a quarter of those that are there.
const SLOTS_STEP: usize = 64;

/// An item. Key and value lie in one allocation.
#[derive(Debug)]
pub(super) struct Entry {
    data: Box<[u8]>,
    hash: u64,
    pub(super) cas: u64,
    key_len: u32,
    pub(super) space: u32,
    flags: u32,
    pub(super) expires: Expiry,
    /// When it was kept.
    pub(super) stored: u32,
    /// When it was used last.
    pub(super) used: u32,
    pub(super) fetched: bool,
    /// Used since the hand passed.
    pub(super) visited: bool,
}

impl Entry {
    pub(super) fn new(hash: u64, space: u32, key: &[u8], item: &NewItem<'_>, now: u32) -> Self {
        Entry {
            data: [key, item.value].concat().into(),
            hash,
            cas: 0,
            key_len: key.len() as u32,
            space,
            flags: item.flags,
            expires: item.expires,
            stored: now,
            used: now,
            fetched: false,
            visited: false,
        }
    }

    /// The same item with another value.
    pub(super) fn with_value(&self, parts: &[&[u8]]) -> Self {
        let mut data =
            Vec::with_capacity(self.key().len() + parts.iter().map(|part| part.len()).sum::<usize>());
        data.extend_from_slice(self.key());
        parts.iter().for_each(|part| data.extend_from_slice(part));
        Entry { data: data.into(), ..*self }
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.data[..self.key_len as usize]
    }

    pub(super) fn value(&self) -> &[u8] {
        &self.data[self.key_len as usize..]
    }

    #[inline]
    pub(super) fn item(&self) -> Item<'_> {
        let (key, value) = self.data.split_at(self.key_len as usize);
        Item { key, flags: self.flags, cas: self.cas, expires: self.expires, access: None, value }
    }

    #[inline]
    fn is(&self, space: u32, key: &[u8]) -> bool {
        self.space == space && self.key() == key
    }

    /// What the allocator sets aside for key and value.
    fn bytes(&self) -> usize {
        (self.data.len() + 8).next_multiple_of(16).max(32)
    }
}

/// Items of one shard.
#[derive(Debug, Default)]
pub(super) struct Shard {
    table: HashTable<u32>,
    slots: Vec<Option<Entry>>,
    free: Vec<u32>,
    hand: usize,
    /// Of keys and values.
    data_bytes: usize,
    pub(super) items_total: u64,
    pub(super) evictions: u64,
    pub(super) reclaimed: u64,
}

impl Shard {
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// Memory the shard takes.
    pub(super) fn bytes(&self) -> usize {
        self.data_bytes
            + self.slots.capacity() * size_of::<Option<Entry>>()
            + self.free.capacity() * size_of::<u32>()
            + self.table.allocation_size()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.slots.iter().flatten()
    }

    /// The slot of an item.
    #[inline]
    pub(super) fn find(&self, hash: u64, space: u32, key: &[u8]) -> Option<u32> {
        self.table.find(hash, |&slot| self.entry(slot).is(space, key)).copied()
    }

    /// The item of a slot that was found.
    #[inline]
    pub(super) fn entry(&self, slot: u32) -> &Entry {
        self.slots[slot as usize].as_ref().expect("the table names slots that are taken")
    }

    #[inline]
    pub(super) fn entry_mut(&mut self, slot: u32) -> &mut Entry {
        self.slots[slot as usize].as_mut().expect("the table names slots that are taken")
    }

    pub(super) fn remove(&mut self, hash: u64, space: u32, key: &[u8]) {
        if let Some(slot) = self.find(hash, space, key) {
            self.remove_slot(slot);
        }
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&Entry) -> bool) {
        for slot in 0..self.slots.len() {
            if self.slots[slot].as_ref().is_some_and(|entry| !keep(entry)) {
                self.remove_slot(slot as u32);
            }
        }
        if self.table.is_empty() {
            *self = Shard {
                items_total: self.items_total,
                evictions: self.evictions,
                reclaimed: self.reclaimed,
                ..Shard::default()
            };
        }
    }

    fn remove_slot(&mut self, slot: u32) {
        let Some(entry) = self.slots[slot as usize].take() else { return };
        if let Ok(found) = self.table.find_entry(entry.hash, |&of| of == slot) {
            found.remove();
        }
        self.data_bytes -= entry.bytes();
        self.free.push(slot);
    }

    /// Keeps an item, in the place of one with its key; others go until it fits. Whether it does: if not, the old one is
    /// gone too, which is what memcached does, lest it be taken for the new one.
    pub(super) fn put(&mut self, entry: Entry, bytes_max: usize, now: u32) -> bool {
        let bytes = entry.bytes();
        self.items_total += 1;
        let slot = match self.find(entry.hash, entry.space, entry.key()) {
            Some(slot) => {
                self.data_bytes -= self.entry(slot).bytes();
                slot
            }
            None => self.new_slot(entry.hash),
        };
        self.slots[slot as usize] = Some(entry);
        self.data_bytes += bytes;
        while self.bytes() > bytes_max {
            if !self.evict(slot, now) {
                self.remove_slot(slot);
                return false;
            }
        }
        true
    }

    fn new_slot(&mut self, hash: u64) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            if self.slots.len() == self.slots.capacity() {
                self.slots.reserve_exact(SLOTS_STEP.max(self.slots.len() / 4));
            }
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        let slots = &self.slots;
        let rehash = |&slot: &u32| slots[slot as usize].as_ref().map_or(hash, |entry| entry.hash);
        self.table.insert_unique(hash, slot, rehash);
        slot
    }

    /// Takes one item away, not that of `spared`. Whether there was one.
    fn evict(&mut self, spared: u32, now: u32) -> bool {
        // Once round to take marks away, once more to find what has none.
        for _ in 0..2 * self.slots.len() {
            let slot = self.hand;
            self.hand = if slot + 1 < self.slots.len() { slot + 1 } else { 0 };
            if slot == spared as usize {
                continue;
            }
            let Some(entry) = &mut self.slots[slot] else { continue };
            let expired = entry.expires.0 != 0 && entry.expires.0 <= now;
            if entry.visited && !expired {
                entry.visited = false;
                continue;
            }
            if expired {
                self.reclaimed += 1
            } else {
                self.evictions += 1
            }
            self.remove_slot(slot as u32);
            return true;
        }
        false
    }
}
