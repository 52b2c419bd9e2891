//! What the connections of one door share: the configuration, the numbers of items, work in the background.

use super::config::{Config, Policies, Watches};
use super::connection::InnodbStore;
use super::expiry::Collector;
use super::mapping::{Mapping, Unfit};
use super::misfits::{Log, Misfits};
use super::numbers::Numbers;
use super::settings::Settings;
use crate::store::{Failure, Result, now_s};
use parking_lot::{Mutex, RwLock};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use vaquita_base::ShardedCounter;
use vaquita_engine::core::Core;
use vaquita_engine::{Session, WaitHook};

/// Tells the time in seconds since 1970.
pub type WallClock = Arc<dyn Fn() -> u32 + Send + Sync>;

/// Counters of the stores on tables.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Transactions of more than one operation that were committed.
    pub(crate) batches: ShardedCounter,
    /// Transactions of changes that came together.
    pub(crate) joined: ShardedCounter,
    /// Those committed because they were idle.
    pub(crate) idle_commits: ShardedCounter,
    /// Those rolled back by a deadlock.
    pub(crate) lost_batches: ShardedCounter,
    /// Expired rows removed in the background.
    pub(crate) reclaimed: ShardedCounter,
}

/// Mapped tables: makes the store of each connection.
///
/// The engine can be closed when it and all stores are gone.
pub struct Tables {
    core: Arc<Core>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) numbers: Numbers,
    pub(crate) counters: Counters,
    config: RwLock<Arc<Config>>,
    /// Of the tables that `config` was read from.
    watches: Mutex<Watches>,
    /// Counts the changes of `config`: connections look at it for every operation.
    generation: AtomicU64,
    clock: WallClock,
    collector: Mutex<Collector>,
    /// Mappings to be emptied, and when.
    flushes: Mutex<Vec<(Vec<u8>, u32)>>,
    /// Who is told when a mapping was emptied at its moment.
    emptied: OnceLock<Box<dyn Fn(u32) + Send + Sync>>,
    /// Names of mappings; their numbers are their places.
    spaces: Mutex<Vec<Vec<u8>>>,
    /// Columns that were too short.
    misfits: Misfits,
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = self.config.read();
        f.debug_struct("Tables")
            .field("settings", &self.settings)
            .field("config", &config)
            .finish_non_exhaustive()
    }
}

impl Tables {
    /// The tables of an engine.
    ///
    /// # Errors
    /// `innodb_memcache` cannot be read.
    pub fn new(core: &Arc<Core>, settings: Arc<Settings>) -> Result<Arc<Tables>> {
        Self::with_clock(core, settings, Arc::new(now_s))
    }

    /// The same with a clock of one's own.
    ///
    /// # Errors
    /// As [`Tables::new`].
    pub fn with_clock(core: &Arc<Core>, settings: Arc<Settings>, clock: WallClock) -> Result<Arc<Tables>> {
        let (config, watches) = Config::read(core)?;
        Ok(Arc::new(Tables {
            core: core.clone(),
            settings,
            numbers: Numbers::new(),
            counters: Counters::default(),
            config: RwLock::new(Arc::new(config)),
            watches: Mutex::new(watches),
            generation: AtomicU64::new(1),
            clock,
            collector: Mutex::default(),
            flushes: Mutex::default(),
            emptied: OnceLock::new(),
            spaces: Mutex::default(),
            misfits: Misfits::default(),
        }))
    }

    /// What can be set at any time.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Tells `log` from now on of columns that are too short for what clients send: each about once a minute.
    pub fn tell_misfits(&self, log: Log) {
        self.misfits.tell_to(log);
    }

    /// A key or a value does not fit its column.
    pub(crate) fn note_misfit(&self, mapping: &Mapping, what: &str, unfit: &Unfit) {
        self.misfits.note(&mapping.container, what, unfit, self.now());
    }

    /// The store of a connection. `hook` is told around its waits.
    pub fn store(self: &Arc<Self>, hook: Arc<dyn WaitHook>) -> InnodbStore {
        InnodbStore::new(self.clone(), vaquita_engine::Session::new(self.core.clone()), hook)
    }

    /// Where the items of each command are to be kept, as `cache_policies` says.
    pub fn policies(&self) -> Policies {
        self.config.read().policies
    }

    /// Work of each second: reads `innodb_memcache` anew if it has changed, empties mappings whose moment has come, removes some of the
    /// expired rows. Locks are never waited for.
    ///
    /// # Errors
    /// The first failure; it is tried again the next second.
    pub fn sweep(self: &Arc<Self>) -> Result<()> {
        self.reload()?;
        self.flush_due()?;
        self.collect_expired()
    }

    /// Microseconds of the engine's clock.
    pub(crate) fn engine_clock_us(&self) -> u64 {
        self.core.storage.clock().now_us()
    }

    /// Whether a lock wait that takes too long rolls the whole transaction back.
    pub(crate) fn rolls_back_on_timeout(&self) -> bool {
        self.core.options.rollback_on_timeout
    }

    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    pub(crate) fn session(&self) -> Session {
        vaquita_engine::Session::new(self.core.clone())
    }

    /// Reads `innodb_memcache` anew, if its tables may have changed.
    pub(crate) fn reload(&self) -> Result<()> {
        if self.watches.lock().is_current() {
            return Ok(());
        }
        let (config, watches) = match Config::read(&self.core) {
            // Its definition is being changed: until that is over it says what it said.
            Err(Failure::Busy(_)) => return Ok(()),
            read => read?,
        };
        let mut current = self.config.write();
        // Both together: of two who read at the same time either may come last, and its watches tell whether it read first.
        *self.watches.lock() = watches;
        if **current != config {
            *current = Arc::new(config);
            self.generation.fetch_add(1, Ordering::Release);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn config(&self) -> Arc<Config> {
        self.config.read().clone()
    }

    /// Seconds since 1970.
    #[inline]
    pub(crate) fn now(&self) -> u32 {
        (self.clock)()
    }

    pub(crate) fn collector(&self) -> &Mutex<Collector> {
        &self.collector
    }

    /// Empties a mapping later.
    pub(crate) fn flush_at(&self, mapping: &[u8], at: u32) {
        let mut flushes = self.flushes.lock();
        flushes.retain(|(name, _)| name != mapping);
        flushes.push((mapping.to_vec(), at));
    }

    /// The number of a mapping's name, which it keeps.
    pub(crate) fn space(&self, mapping: &[u8]) -> u32 {
        let mut spaces = self.spaces.lock();
        let at = spaces.iter().position(|name| name == mapping).unwrap_or_else(|| {
            spaces.push(mapping.to_vec());
            spaces.len() - 1
        });
        at as u32
    }

    /// Tells `told` of the numbers of mappings that are emptied when their moment has come.
    pub(crate) fn tell_emptied(&self, told: Box<dyn Fn(u32) + Send + Sync>) {
        // There is one keeper of memory beside the tables of an engine.
        let _ = self.emptied.set(told);
    }

    pub(crate) fn was_emptied(&self, mapping: &[u8]) {
        if let Some(told) = self.emptied.get() {
            told(self.space(mapping));
        }
    }

    /// Takes one of the mappings out that are to be emptied by now.
    pub(crate) fn take_due_flush(&self) -> Option<Vec<u8>> {
        let now = self.now();
        let mut flushes = self.flushes.lock();
        let due = flushes.iter().position(|&(_, at)| at <= now)?;
        Some(flushes.swap_remove(due).0)
    }
}
