//! Items in tables: the rows that `innodb_memcache.containers` maps, straight on the engine API.
//!
//! | part | file |
//! |---|---|
//! | what the connections of a door share, work of each second | `tables` |
//! | settings | `settings` |
//! | the tables of `innodb_memcache` | `config` |
//! | a table as a key-value store, keys | `mapping` |
//! | values of columns | `column` |
//! | rows as items | `row` |
//! | the store of one connection: mappings, transactions | `connection` |
//! | the operations | `read`, `write`, `flush` |
//! | tables, memory, or both | `mixed` |
//! | columns that are too short, told in the log | `misfits` |
//! | removing expired rows | `expiry` |
//! | numbers of items | `numbers` |
//!
//! # Locks
//! Reads take none, unless the isolation level is SERIALIZABLE and they are part of a batch. Changes lock their row X. A
//! connection never holds a latch when it waits for a lock; its hook is told.

mod column;
mod config;
mod connection;
mod expiry;
mod flush;
mod mapping;
mod misfits;
mod mixed;
mod numbers;
mod read;
mod row;
mod settings;
mod tables;
mod write;

pub use config::{Policies, Policy};
pub use connection::InnodbStore;
pub use misfits::Log;
pub use mixed::{MixedStore, Shelves};
pub use settings::Settings;
pub use tables::{Tables, WallClock};

use crate::server::{ClientStore, Keeper};
use crate::store::{Count, Counted, Expiry, Item, Mode, NewItem, Outcome, Range, Result, Store};
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_engine::{Durability, WaitHook};

impl Store for InnodbStore {
    fn get(
        &mut self,
        keys: &[&[u8]],
        touch: Option<Expiry>,
        mut found: impl FnMut(usize, &Item<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        match touch {
            None => self.read_keys(keys, &mut found),
            Some(expires) => self.read_and_touch(keys, expires, &mut found),
        }
    }

    fn store(&mut self, mode: Mode, key: &[u8], item: &NewItem<'_>, cas: u64) -> Result<Outcome> {
        self.keep(mode, key, item, cas)
    }

    fn count(&mut self, key: &[u8], count: &Count) -> Result<Counted> {
        self.count_item(key, count)
    }

    fn delete(&mut self, key: &[u8], cas: u64) -> Result<Outcome> {
        self.delete_item(key, cas)
    }

    fn touch(&mut self, key: &[u8], expires: Expiry) -> Result<Outcome> {
        self.touch_item(key, expires)
    }

    fn range(
        &mut self,
        range: &Range<'_>,
        mut found: impl FnMut(&Item<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.read_range(range, &mut found)
    }

    fn flush_all(&mut self, at: Expiry) -> Result<()> {
        self.flush(at)
    }

    fn bind(&mut self, mapping: &[u8]) -> Result<String> {
        self.choose_fresh(mapping)?;
        Ok(self.table_name())
    }

    fn stats(&mut self, group: &[u8], line: &mut dyn FnMut(&str, &str)) -> bool {
        if !group.is_empty() {
            return false;
        }
        let counters = &self.tables.counters;
        for (name, counter) in [
            ("innodb_batches", &counters.batches),
            ("innodb_joined", &counters.joined),
            ("innodb_idle_commits", &counters.idle_commits),
            ("innodb_lost_batches", &counters.lost_batches),
            ("crawler_reclaimed", &counters.reclaimed),
        ] {
            line(name, &counter.get().to_string());
        }
        true
    }

    fn together(&mut self) {
        InnodbStore::together(self);
    }

    fn settle(&mut self) -> Result<()> {
        InnodbStore::settle(self)
    }

    fn durability(&mut self) -> Option<Durability> {
        self.take_durability()
    }
}

impl Keeper for Arc<Tables> {
    type Store = InnodbStore;

    fn open(&self, hook: Arc<dyn WaitHook>) -> InnodbStore {
        self.store(hook)
    }

    fn tick(&self) -> Result<()> {
        self.sweep()
    }
}

impl ClientStore for InnodbStore {
    fn interrupter(&self) -> Box<dyn Fn() + Send + Sync> {
        let handle = self.session().handle();
        Box::new(move || handle.interrupt())
    }

    fn in_transaction(&self) -> bool {
        self.in_batch()
    }

    fn idle(&mut self) -> Result<()> {
        self.commit_idle().map(drop)
    }

    fn finish(&mut self) -> Result<()> {
        self.commit()
    }
}
