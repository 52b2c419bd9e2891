//! Atomics of the lock-free parts, behind names that the model checker's tests replace with its own.

pub(super) use crossbeam_utils::{Backoff, CachePadded};
pub(super) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
