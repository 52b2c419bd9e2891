//! Counters, under the names of `information_schema.INNODB_METRICS` where InnoDB has the same.

use std::sync::atomic::AtomicU64;
use vaquita_base::ShardedCounter;

/// Counters of an engine.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Rows inserted.
    pub rows_inserted: ShardedCounter,
    /// Rows updated.
    pub rows_updated: ShardedCounter,
    /// Rows deleted.
    pub rows_deleted: ShardedCounter,
    /// Rows read.
    pub rows_read: ShardedCounter,
    /// Undo records purged.
    pub purged_records: ShardedCounter,
    /// Purge batches.
    pub purge_batches: ShardedCounter,
    /// Undo logs of transactions with numbers below are purged.
    pub purged_below: AtomicU64,
    /// Temporary files of index builds.
    pub sort_files: ShardedCounter,
    /// Microseconds that changes were delayed for purge.
    pub dml_delay_us: ShardedCounter,
}
