//! Counters, under the names of `information_schema.INNODB_METRICS` where InnoDB has the same.

use crate::core::Core;
use std::sync::atomic::{AtomicU64, Ordering};
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
    /// Microseconds that changes were delayed for purge.
    pub dml_delay_us: ShardedCounter,
}

impl Core {
    /// Names and values of all counters of the engine.
    pub fn metrics(&self) -> Vec<(&'static str, u64)> {
        let (own, trx, lock) = (&self.metrics, self.txn.metrics(), self.txn.locks().metrics());
        let (pool, log) = (&self.storage.pool().stats, self.storage.log());
        vec![
            ("dml_inserts", own.rows_inserted.get()),
            ("dml_updates", own.rows_updated.get()),
            ("dml_deletes", own.rows_deleted.get()),
            ("dml_reads", own.rows_read.get()),
            ("trx_rw_commits", trx.commits),
            ("trx_ro_commits", trx.read_only),
            ("trx_rollbacks", trx.rollbacks),
            ("trx_active_transactions", trx.active as u64),
            ("trx_rseg_history_len", self.txn.history_len()),
            ("trx_read_views_opened", trx.views_opened),
            ("purge_undo_records", own.purged_records.get()),
            ("purge_invoked", own.purge_batches.get()),
            ("purge_trx_no_limit", own.purged_below.load(Ordering::Relaxed)),
            ("purge_dml_delay_usec", own.dml_delay_us.get()),
            ("lock_deadlocks", lock.deadlocks),
            ("lock_timeouts", lock.timeouts),
            ("lock_rec_lock_waits", lock.waits),
            ("lock_row_lock_current_waits", lock.waiting as u64),
            ("lock_row_lock_time", lock.wait_us / 1_000),
            ("lock_row_lock_time_max", lock.wait_us_max / 1_000),
            ("lock_rec_locks", lock.record_locks as u64),
            ("lock_memory_bytes", lock.memory_bytes as u64),
            ("buffer_pool_reads", pool.reads.get()),
            ("log_lsn_current", log.current_lsn().get()),
            ("log_lsn_last_flush", log.flushed_lsn().get()),
            ("log_lsn_last_checkpoint", log.checkpoint_lsn().get()),
            ("log_syncs", log.stats().syncs.get()),
            ("metadata_table_handles_opened", self.dict.tables_opened()),
            ("metadata_table_handles", self.dict.tables_in_memory() as u64),
        ]
    }
}
