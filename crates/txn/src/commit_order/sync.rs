//! The primitives under the order of transactions, in one place so that a model checker can stand in for them.

pub(super) use crossbeam_utils::CachePadded;
pub(super) use parking_lot::{Mutex, RwLock};
pub(super) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
