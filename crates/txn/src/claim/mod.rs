//! What transactions and the lock manager both know of locks: how strong they are, how they are told, what a transaction keeps of
//! its own, how it waits.

pub(crate) mod info;
pub(crate) mod modes;
pub(crate) mod slot;
#[cfg(test)]
mod slot_model;
mod sync;
pub(crate) mod trx_locks;

pub(crate) use info::shown_id;
pub use info::{DeadlockMember, DeadlockReport, LockInfo, LockTarget, Names, Numbers};
pub use modes::{LockMode, RecordLockKind};
pub use trx_locks::TrxLocks;

use vaquita_base::{HeapNo, PageId, TableId};

/// Where a request is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Record(PageId, HeapNo),
    Table(TableId),
}
