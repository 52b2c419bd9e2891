//! AUTO_INCREMENT: the counter of a table, in memory, begun from the greatest value at first use (as MySQL 5.6), and how
//! statements reserve blocks of values under `autoinc_lock_mode`.

use parking_lot::Mutex;

/// The counter of a table.
#[derive(Debug, Default)]
pub struct AutoInc {
    /// Next value; `None` until first used.
    pub(crate) next: Mutex<Option<u64>>,
}
