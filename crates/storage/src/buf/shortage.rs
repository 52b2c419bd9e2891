//! How whoever needs a frame wakes the page cleaner: dirty pages have come to the eviction end, and soon somebody has to write some
//! before he can read.

use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A call for the page cleaner. Where none runs nobody hears it.
///
/// The flag is Relaxed but under the mutex: who only looks at it may call once too often or too late, by one frame.
#[derive(Debug, Default)]
pub(crate) struct Shortage {
    called: AtomicBool,
    resting: Mutex<()>,
    changed: Condvar,
}

impl Shortage {
    /// Calls.
    #[inline]
    pub(crate) fn call(&self) {
        if !self.called.load(Ordering::Relaxed) {
            let _resting = self.resting.lock();
            self.called.store(true, Ordering::Relaxed);
            self.changed.notify_all();
        }
    }

    /// For the page cleaner: rests for a while, or until somebody calls; whether somebody has.
    pub(crate) fn rest(&self, period: Duration) -> bool {
        let mut resting = self.resting.lock();
        if !self.called.load(Ordering::Relaxed) {
            self.changed.wait_for(&mut resting, period);
        }
        self.called.swap(false, Ordering::Relaxed)
    }
}
