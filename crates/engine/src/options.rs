//! Settings of an engine, under InnoDB's own variable names (without the `innodb_` prefix).

use crate::error::{Error, Result};
use crate::hot_set::HotSetSettings;
use parking_lot::RwLock;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize};
use vaquita_fts::analyzer::{SIZE_MAX_DEFAULT, SIZE_MIN_DEFAULT};
use vaquita_fts::parser::Parsers;
use vaquita_io::real::RealDiskOptions;

/// Settings that may change while the engine runs; the fields of [`Options`] of these names are what it begins with. Those of the
/// storage are changed by `Storage::change`.
#[derive(Debug)]
#[allow(missing_docs, reason = "each is documented where Options has it")]
pub struct Live {
    pub purge_batch_size: AtomicUsize,
    pub max_purge_lag: AtomicU64,
    pub max_purge_lag_delay: AtomicU64,
    pub fast_shutdown: AtomicU8,
    /// For commits without a session, those of XA: sessions have their own.
    pub flush_log_at_trx_commit: AtomicU8,
    pub print_all_deadlocks: AtomicBool,
    pub online_alter_log_max_size: AtomicU64,
    /// Bytes that a full-text search may hold (`ft_result_cache_limit`).
    pub search_limit: AtomicU64,
    pub ft_optimize_deleted: AtomicU64,
    /// Words that FULLTEXT indexes leave out which sessions make that have said nothing: a table, `database/table`.
    pub stopword_table: RwLock<Option<Arc<str>>>,
}

impl Live {
    pub(crate) fn new(options: &Options) -> Live {
        Live {
            purge_batch_size: AtomicUsize::new(options.purge_batch_size),
            max_purge_lag: AtomicU64::new(options.max_purge_lag),
            max_purge_lag_delay: AtomicU64::new(options.max_purge_lag_delay),
            fast_shutdown: AtomicU8::new(options.fast_shutdown),
            flush_log_at_trx_commit: AtomicU8::new(options.flush_log_at_trx_commit),
            print_all_deadlocks: AtomicBool::new(options.txn.print_all_deadlocks),
            online_alter_log_max_size: AtomicU64::new(options.online_alter_log_max_size),
            search_limit: AtomicU64::new(options.fulltext.search_limit),
            ft_optimize_deleted: AtomicU64::new(options.fulltext.ft_optimize_deleted),
            stopword_table: RwLock::new(options.fulltext.stopword_table.as_deref().map(Arc::from)),
        }
    }
}

/// How many words of full-text indexes are kept in memory.
#[derive(Debug, Clone)]
pub struct FullTextOptions {
    /// Bytes of words of a table in memory beyond which they are written (`ft_cache_size`).
    pub cache_size: u64,
    /// The same of all tables: those with the largest caches are written then (`ft_total_cache_size`).
    pub total_cache_size: u64,
    /// The table of stopwords of sessions without one (`ft_server_stopword_table`), `database/table`; without, the default ones.
    pub stopword_table: Option<String>,
    /// Bytes that a search may hold (`ft_result_cache_limit`).
    pub search_limit: u64,
    /// Bytes of what searches keep of posting lists that they have read (`vaquita_ft_counts_size`).
    pub counts_size: u64,
    /// Deleted documents of a table from which on they are removed from its lists in the background; 0: never.
    pub ft_optimize_deleted: u64,
}

impl Default for FullTextOptions {
    fn default() -> Self {
        Self {
            cache_size: 8_000_000,
            total_cache_size: 640_000_000,
            stopword_table: None,
            search_limit: 2_000_000_000,
            counts_size: 32 << 20,
            ft_optimize_deleted: 1_000_000,
        }
    }
}

/// Settings of an engine.
#[derive(Debug, Clone)]
pub struct Options {
    /// Pages, log, files.
    pub storage: vaquita_storage::Options,
    /// Undo, locks.
    pub txn: vaquita_txn::Options,
    /// 0: the log is written and synced once per second; 1: at each commit; 2: written at each commit, synced once
    /// per second.
    pub flush_log_at_trx_commit: u8,
    /// Seconds a statement waits for a row lock; sessions start with it.
    pub lock_wait_timeout: u32,
    /// Roll the whole transaction back when a lock wait times out, instead of the statement.
    pub rollback_on_timeout: bool,
    /// 0 traditional, 1 consecutive, 2 interleaved.
    pub autoinc_lock_mode: u8,
    /// Threads that purge.
    pub purge_threads: usize,
    /// Undo pages taken at a time.
    pub purge_batch_size: usize,
    /// Length of the history from which on changes are delayed; 0: never.
    pub max_purge_lag: u64,
    /// Longest such delay in microseconds; 0: no limit.
    pub max_purge_lag_delay: u64,
    /// The list of the pages in the pool.
    pub hot_set: HotSetSettings,
    /// Read those pages in the background when the folder is opened.
    pub buffer_pool_load_at_startup: bool,
    /// Bytes of a buffer of entries that are sorted in memory; each index that is built has up to three, as in InnoDB.
    pub sort_buffer_size: usize,
    /// Threads that read and sort rows for an index build.
    pub build_threads: usize,
    /// Characters of words that FULLTEXT indexes hold.
    pub word_sizes: RangeInclusive<usize>,
    /// What FULLTEXT indexes may make words with, beside InnoDB's own way.
    pub parsers: Parsers,
    /// Bytes of changes that may wait to be applied to an index that is built while rows change.
    pub online_alter_log_max_size: u64,
    /// Words of full-text indexes in memory.
    pub fulltext: FullTextOptions,
    /// How the real disk works; other file layers know nothing of it.
    pub disk: RealDiskOptions,
    /// Tables kept open in the dictionary cache (`table_definition_cache`).
    pub table_definition_cache: usize,
    /// What closing does: 0 purges everything first, 1 writes all pages, 2 makes the log durable only.
    pub fast_shutdown: u8,
    /// Run the background services in threads. Without, the owner calls the step functions.
    pub background: bool,
}

impl Options {
    /// InnoDB 5.6's defaults for the folder `dir`.
    pub fn new(dir: impl Into<std::path::PathBuf>) -> Self {
        Self {
            storage: vaquita_storage::Options::new(dir),
            txn: vaquita_txn::Options::default(),
            flush_log_at_trx_commit: 1,
            lock_wait_timeout: 50,
            rollback_on_timeout: false,
            autoinc_lock_mode: 1,
            purge_threads: 1,
            purge_batch_size: 300,
            max_purge_lag: 0,
            max_purge_lag_delay: 0,
            hot_set: HotSetSettings { file: "ib_buffer_pool".into(), pct: 100, dump_at_shutdown: false },
            buffer_pool_load_at_startup: false,
            sort_buffer_size: 8 << 20,
            build_threads: std::thread::available_parallelism().map_or(1, |n| n.get().min(4)),
            word_sizes: SIZE_MIN_DEFAULT..=SIZE_MAX_DEFAULT,
            parsers: Parsers::default(),
            online_alter_log_max_size: 128 << 20,
            fulltext: FullTextOptions::default(),
            disk: RealDiskOptions::default(),
            table_definition_cache: 1_400,
            fast_shutdown: 1,
            background: true,
        }
    }

    /// Checks what can be checked without files.
    ///
    /// # Errors
    /// [`Error::Config`] names the setting, its value and the allowed range.
    pub fn validate(&self) -> Result<()> {
        let check = |name: &str, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(Error::Config(format!("{name} is {value}; allowed are {low} to {high}")))
        };
        self.storage.validate()?;
        check("rollback_segments", self.txn.rollback_segments as u64, 1, 128)?;
        check("flush_log_at_trx_commit", self.flush_log_at_trx_commit.into(), 0, 2)?;
        check("lock_wait_timeout", self.lock_wait_timeout.into(), 0, 1_073_741_824)?;
        check("autoinc_lock_mode", self.autoinc_lock_mode.into(), 0, 2)?;
        check("purge_threads", self.purge_threads as u64, 0, 32)?;
        check("purge_batch_size", self.purge_batch_size as u64, 1, 5_000)?;
        check("max_purge_lag_delay", self.max_purge_lag_delay, 0, 10_000_000)?;
        check("table_definition_cache", self.table_definition_cache as u64, 4, 524_288)?;
        check("fast_shutdown", self.fast_shutdown.into(), 0, 2)
    }
}
