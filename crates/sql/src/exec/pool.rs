//! Things that executions of a plan use one after the other, so that they are not made anew.

use parking_lot::Mutex;
use std::fmt;

/// Most that are kept; executions beyond make their own.
const KEPT_MAX: usize = 16;

/// A stack of things that are free.
pub(crate) struct Pool<T> {
    free: Mutex<Vec<Box<T>>>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool { free: Mutex::new(Vec::new()) }
    }
}

impl<T> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pool")
    }
}

impl<T: Default> Pool<T> {
    /// Takes one, or makes one.
    pub(crate) fn take(&self) -> Box<T> {
        self.free.lock().pop().unwrap_or_default()
    }

    /// Gives one back.
    pub(crate) fn give(&self, thing: Box<T>) {
        let mut free = self.free.lock();
        if free.len() < KEPT_MAX {
            free.push(thing);
        }
    }
}
