//! The synchronisation primitives under latches, in one place so that a model checker can stand in for them.

pub(crate) use parking_lot::{Condvar, Mutex};
pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Rounds of spinning before a thread parks. A page latch is held for about a microsecond.
pub(crate) fn spin_rounds() -> u32 {
    64
}
