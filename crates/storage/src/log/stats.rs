//! Counters of the redo log.

use vaquita_base::ShardedCounter;

/// What the log has done since it was opened. Counters only grow; reading one orders nothing.
#[derive(Debug, Default)]
pub struct LogStats {
    /// Appended mini-transactions.
    pub appends: ShardedCounter,
    /// Their bytes of records.
    pub appended_bytes: ShardedCounter,
    /// Times an appending thread found the log buffer full.
    pub buffer_waits: ShardedCounter,
    /// Write calls for log blocks.
    pub writes: ShardedCounter,
    /// Bytes they wrote, headers, trailers and rewritten last blocks included.
    pub written_bytes: ShardedCounter,
    /// Sync calls for log blocks.
    pub syncs: ShardedCounter,
    /// Calls that asked for durability.
    pub flush_requests: ShardedCounter,
    /// Those that waited for a sync another thread did.
    pub flush_followers: ShardedCounter,
    /// Checkpoints written.
    pub checkpoints: ShardedCounter,
    /// Times a mini-transaction had to wait for a checkpoint.
    pub room_waits: ShardedCounter,
}
