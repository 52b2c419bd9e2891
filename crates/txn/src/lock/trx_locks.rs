//! What the lock manager keeps of a transaction.

use crate::trx::TrxShared;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the lock manager keeps of a transaction.
#[derive(Debug, Default)]
pub struct TrxLocks {
    relaxed_gaps: AtomicBool,
}

impl TrxLocks {
    /// Whether gaps are locked for duplicate checks only (READ COMMITTED and below): set at the start of a
    /// transaction.
    pub fn set_relaxed_gaps(&self, relaxed: bool) {
        self.relaxed_gaps.store(relaxed, Ordering::Relaxed);
    }

    /// Whether gaps are locked for duplicate checks only.
    pub fn relaxed_gaps(&self) -> bool {
        self.relaxed_gaps.load(Ordering::Relaxed)
    }
}

impl TrxShared {
    /// Ends the wait for a lock, the present one or the next one, with [`crate::Error::Interrupted`].
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::SeqCst);
    }

    /// Forgets an interruption: at the start of a statement.
    pub fn clear_interrupt(&self) {
        self.interrupted.store(false, Ordering::SeqCst);
    }

    /// Whether [`TrxShared::interrupt`] was called.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }
}
