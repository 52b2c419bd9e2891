//! Mutex and condition variable under the wait protocol, behind names that the model checker can replace.

pub(super) use parking_lot::{Mutex, MutexGuard};
use std::time::Duration;

/// A condition variable.
#[derive(Debug, Default)]
pub(super) struct Condvar(parking_lot::Condvar);

impl Condvar {
    /// Waits to be notified; whether the time ran out instead.
    pub(super) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, left: Duration) -> bool {
        self.0.wait_for(guard, left).timed_out()
    }

    pub(super) fn notify_all(&self) {
        self.0.notify_all();
    }
}
