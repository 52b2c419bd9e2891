//! The mark of a table: whether its rows may have changed since somebody has looked ([`crate::watch`]).

use std::sync::atomic::{AtomicU64, Ordering};

/// The mark, in the lowest bit; above it how often it was taken away.
#[derive(Debug)]
pub(crate) struct Mark(AtomicU64);

const MARKED: u64 = 1;

impl Default for Mark {
    fn default() -> Self {
        // Nobody has looked yet: there is nothing to be told.
        Mark(AtomicU64::new(MARKED))
    }
}

impl Mark {
    /// Sets it. The caller holds the table lock of its changes.
    #[inline]
    pub(crate) fn set(&self) {
        if self.0.load(Ordering::Relaxed) & MARKED == 0 {
            self.0.fetch_or(MARKED, Ordering::Relaxed);
        }
    }

    /// Takes it away; what the word is then. Who has looked before is told by the count, unless there was no mark.
    pub(crate) fn take(&self) -> u64 {
        let taken = |word: u64| (word & MARKED != 0).then(|| word.wrapping_add(1));
        match self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, taken) {
            Ok(marked) => marked.wrapping_add(1),
            Err(unmarked) => unmarked,
        }
    }

    /// The word as it is.
    pub(crate) fn word(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}
