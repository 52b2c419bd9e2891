//! How whoever uses the pool wakes a service that rests.

use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A call for a service. Where none runs nobody hears it.
///
/// The flag is Relaxed and set under the mutex: who only looks at it may at worst call a service that is already awake.
#[derive(Debug, Default)]
pub(crate) struct Call {
    called: AtomicBool,
    resting: Mutex<()>,
    changed: Condvar,
}

impl Call {
    /// Calls.
    #[inline]
    pub(crate) fn call(&self) {
        if !self.called.load(Ordering::Relaxed) {
            let _resting = self.resting.lock();
            self.called.store(true, Ordering::Relaxed);
            self.changed.notify_all();
        }
    }

    /// For the service: rests for a while, or until somebody calls; whether somebody has.
    pub(crate) fn rest(&self, period: Duration) -> bool {
        let mut resting = self.resting.lock();
        if !self.called.load(Ordering::Relaxed) {
            self.changed.wait_for(&mut resting, period);
        }
        self.called.swap(false, Ordering::Relaxed)
    }
}
