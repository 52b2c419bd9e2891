//! Counters, under the names of `information_schema.INNODB_METRICS` where InnoDB has the same.

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
    /// Transactions rolled back.
    pub rollbacks: ShardedCounter,
    /// Undo records purged.
    pub purged_records: ShardedCounter,
    /// Purge batches.
    pub purge_batches: ShardedCounter,
    /// Microseconds that changes were delayed for purge.
    pub dml_delay_us: ShardedCounter,
}

impl Metrics {
    /// Names and values.
    pub fn all(&self) -> [(&'static str, u64); 8] {
        [
            ("dml_inserts", self.rows_inserted.get()),
            ("dml_updates", self.rows_updated.get()),
            ("dml_deletes", self.rows_deleted.get()),
            ("dml_reads", self.rows_read.get()),
            ("trx_rollbacks", self.rollbacks.get()),
            ("purge_undo_records", self.purged_records.get()),
            ("purge_invoked", self.purge_batches.get()),
            ("purge_dml_delay_usec", self.dml_delay_us.get()),
        ]
    }
}
