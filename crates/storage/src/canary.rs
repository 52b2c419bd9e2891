//! Deliberate bugs, for tests of the tests. Never part of a product: the feature `canary` is off by default, and with
//! it on nothing is broken until a test asks for it.
//!
//! A harness that cannot tell a storage engine with one of these from a sound one is blind.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The bugs of a storage instance.
#[derive(Debug, Default)]
pub struct Canary {
    /// One redo record in so many is left out; 0: none.
    skip_one_in: AtomicU64,
    records: AtomicU64,
    leave_built: AtomicBool,
}

impl Canary {
    /// From here on one redo record in `n` does not reach the log, although its change stays in the page. The first
    /// record of a mini-transaction is never left out.
    pub fn skip_one_redo_record_in(&self, n: u64) {
        self.skip_one_in.store(n, Ordering::Relaxed);
    }

    /// From here on pages that are built without a log are not written before they are referred to.
    pub fn leave_built_pages(&self) {
        self.leave_built.store(true, Ordering::Relaxed);
    }

    /// Whether they are left as they are.
    pub(crate) fn leaves_built_pages(&self) -> bool {
        self.leave_built.load(Ordering::Relaxed)
    }

    /// Counts a record; whether it is to be left out.
    pub(crate) fn skips_redo_record(&self) -> bool {
        let n = self.skip_one_in.load(Ordering::Relaxed);
        n > 0 && (self.records.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(n)
    }
}
