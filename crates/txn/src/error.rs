//! Errors of transactions.

use crate::claim::DeadlockReport;
use std::fmt;
use std::sync::Arc;

/// Result of a transaction operation.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The storage below failed.
    Storage(vaquita_storage::Error),
    /// A lock was not granted within the session's `lock_wait_timeout`. The statement is to be rolled back.
    LockWaitTimeout,
    /// The transaction was chosen as the victim of a deadlock. The whole transaction is to be rolled back.
    Deadlock(Arc<DeadlockReport>),
    /// NOWAIT: the lock is held by somebody else.
    LockNotAvailable,
    /// The wait was ended by [`crate::TrxShared::interrupt`].
    Interrupted,
    /// Locks would take more memory than allowed. The whole transaction is to be rolled back.
    LockTableFull {
        /// The allowance.
        limit_bytes: usize,
    },
    /// No rollback segment has a free undo slot.
    TooManyTransactions,
    /// An undo record too long for a page.
    UndoRecordTooBig {
        /// Its length.
        bytes: usize,
    },
    /// A change in a read-only transaction, or in a folder open for reading only.
    ReadOnly,
    /// The roll pointer leads to nothing: purged, or damaged.
    NoSuchUndo(vaquita_base::RollPtr),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Storage(e) => e.fmt(f),
            Error::LockWaitTimeout => {
                f.write_str("lock wait timeout exceeded; try restarting the transaction")
            }
            Error::Deadlock(_) => {
                f.write_str("deadlock found when trying to get a lock; try restarting the transaction")
            }
            Error::LockNotAvailable => {
                f.write_str("the lock is held by another transaction and NOWAIT is set")
            }
            Error::Interrupted => f.write_str("the wait for a lock was interrupted"),
            Error::LockTableFull { limit_bytes } => {
                write!(f, "locks would take more than {limit_bytes} bytes; use smaller transactions")
            }
            Error::TooManyTransactions => f.write_str("all undo slots are taken by concurrent transactions"),
            Error::UndoRecordTooBig { bytes } => {
                write!(f, "an undo record of {bytes} bytes does not fit a page")
            }
            Error::ReadOnly => f.write_str("the transaction is read-only"),
            Error::NoSuchUndo(ptr) => write!(f, "no undo record at roll pointer {:#x}", ptr.get()),
        }
    }
}

impl std::error::Error for Error {}

impl From<vaquita_storage::Error> for Error {
    fn from(e: vaquita_storage::Error) -> Self {
        Error::Storage(e)
    }
}
