//! The primitives under the gate of a name, in one place so that a model checker can stand in for them.

pub(super) use crossbeam_utils::CachePadded;
pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

/// Cache lines over which the users of a name are spread.
pub(super) const STRIPES: usize = 16;
