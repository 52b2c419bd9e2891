//! What can be set, at any time: connections look at it for every operation.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use vaquita_engine::Isolation;

/// Settings of the door that concern transactions. Each is a system variable of the name given.
#[derive(Debug)]
pub struct Settings {
    /// `daemon_memcached_r_batch_size`: reads after which the transaction is committed.
    pub r_batch_size: AtomicU64,
    /// `daemon_memcached_w_batch_size`: changes after which the transaction is committed.
    pub w_batch_size: AtomicU64,
    /// `innodb_api_trx_level`: 0 READ UNCOMMITTED to 3 SERIALIZABLE.
    pub trx_level: AtomicU8,
    /// `innodb_api_enable_mdl`: connections keep metadata locks on the tables they have mapped.
    pub enable_mdl: AtomicBool,
    /// `innodb_api_disable_rowlock`: changes lock the table instead of rows.
    pub disable_rowlock: AtomicBool,
    /// `innodb_api_bk_commit_interval`: seconds after which an idle transaction is committed.
    pub bk_commit_interval: AtomicU64,
    /// `innodb_lock_wait_timeout`: seconds to wait for a row lock or a metadata lock.
    pub lock_wait_timeout: AtomicU32,
    /// `innodb_flush_log_at_trx_commit`.
    pub flush_log_at_trx_commit: AtomicU8,
}

impl Default for Settings {
    /// The defaults of the variables.
    fn default() -> Self {
        Self {
            r_batch_size: AtomicU64::new(1),
            w_batch_size: AtomicU64::new(1),
            trx_level: AtomicU8::new(0),
            enable_mdl: AtomicBool::new(false),
            disable_rowlock: AtomicBool::new(false),
            bk_commit_interval: AtomicU64::new(5),
            lock_wait_timeout: AtomicU32::new(50),
            flush_log_at_trx_commit: AtomicU8::new(1),
        }
    }
}

impl Settings {
    /// The isolation level that `trx_level` stands for.
    pub(crate) fn isolation(&self) -> Isolation {
        match self.trx_level.load(Ordering::Relaxed) {
            0 => Isolation::ReadUncommitted,
            1 => Isolation::ReadCommitted,
            2 => Isolation::RepeatableRead,
            _ => Isolation::Serializable,
        }
    }
}
