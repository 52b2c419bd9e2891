//! Settings of this layer, under InnoDB's own variable names (without the `innodb_` prefix).

/// Settings of a transaction system.
#[derive(Debug, Clone)]
pub struct Options {
    /// Rollback segments in use (`rollback_segments`, also `undo_logs`), 1 to 128.
    pub rollback_segments: usize,
    /// Look at the undo logs. Without, every transaction counts as committed, for reading what is there at all.
    pub scan_undo: bool,
    /// Bytes that record and table locks may take.
    pub lock_memory_limit: usize,
    /// Look for cycles when a wait starts (`deadlock_detect`).
    pub deadlock_detect: bool,
    /// Tell every deadlock to the error log (`print_all_deadlocks`).
    pub print_all_deadlocks: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rollback_segments: 128,
            scan_undo: true,
            lock_memory_limit: 64 << 20,
            deadlock_detect: true,
            print_all_deadlocks: false,
        }
    }
}
