//! Buffer pool, redo log, mini-transactions, recovery, tablespaces.

pub mod log;
