//! The sessions of a folder: each has a place with the numbers of its read view, which purge and forgetting read.
//!
//! The list changes when sessions come and go. Opening and closing a view writes the session's own place only.

use crate::commit_order::limits::ViewNumbers;
use crate::trx_shared::TrxRef;
use crossbeam_utils::CachePadded;
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A session's place in the registry of open read views: written by the session alone, read by purge.
#[derive(Debug)]
pub(crate) struct ViewSlot {
    pub(crate) numbers: CachePadded<ViewNumbers>,
    /// The session's transaction, for monitors.
    pub(crate) trx: Mutex<TrxRef>,
    /// Transactions that ended without an id.
    pub(crate) read_only: AtomicU64,
    /// Where in the list it is.
    position: AtomicUsize,
}

/// The list of places.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    slots: RwLock<Vec<Arc<ViewSlot>>>,
    /// Views opened and read-only transactions of sessions that have gone.
    gone_views: AtomicU64,
    gone_read_only: AtomicU64,
}

/// A place; given back when dropped.
#[derive(Debug)]
pub(crate) struct ViewPlace {
    slot: Arc<ViewSlot>,
    registry: Arc<Registry>,
}

impl std::ops::Deref for ViewPlace {
    type Target = ViewSlot;

    #[inline]
    fn deref(&self) -> &ViewSlot {
        &self.slot
    }
}

/// Reaches a session's transaction from other threads, whichever it is: to look at it, to end its wait.
#[derive(Debug, Clone)]
pub struct TrxHandle(Arc<ViewSlot>);

impl TrxHandle {
    /// The session's transaction of this moment.
    pub fn current(&self) -> TrxRef {
        Arc::clone(&self.0.trx.lock())
    }

    /// Ends the session's wait for a lock, the present one or the next one.
    pub fn interrupt(&self) {
        self.0.trx.lock().interrupt();
    }
}

impl ViewPlace {
    pub(crate) fn handle(&self) -> TrxHandle {
        TrxHandle(Arc::clone(&self.slot))
    }
}

impl Registry {
    /// A place for a session.
    pub(crate) fn enter(self: &Arc<Self>, trx: TrxRef) -> ViewPlace {
        let mut slots = self.slots.write();
        let slot = Arc::new(ViewSlot {
            numbers: CachePadded::new(ViewNumbers::new()),
            trx: Mutex::new(trx),
            read_only: AtomicU64::new(0),
            position: AtomicUsize::new(slots.len()),
        });
        slots.push(Arc::clone(&slot));
        ViewPlace { slot, registry: Arc::clone(self) }
    }

    /// Shows the numbers of all sessions.
    pub(crate) fn for_each(&self, see: &mut dyn FnMut(&ViewNumbers)) {
        for slot in self.slots.read().iter() {
            see(&slot.numbers);
        }
    }

    /// The transactions of all sessions, and whether each has a view open.
    pub(crate) fn transactions(&self) -> Vec<(TrxRef, bool)> {
        let slots = self.slots.read();
        slots.iter().map(|slot| (Arc::clone(&slot.trx.lock()), slot.numbers.is_open())).collect()
    }

    /// Sessions, open views, views opened, transactions that ended without an id.
    pub(crate) fn stats(&self) -> (usize, usize, u64, u64) {
        let slots = self.slots.read();
        let mut open = 0;
        let mut opened = self.gone_views.load(Ordering::Relaxed);
        let mut read_only = self.gone_read_only.load(Ordering::Relaxed);
        for slot in slots.iter() {
            open += usize::from(slot.numbers.is_open());
            opened += slot.numbers.opened();
            read_only += slot.read_only.load(Ordering::Relaxed);
        }
        (slots.len(), open, opened, read_only)
    }
}

impl Drop for ViewPlace {
    fn drop(&mut self) {
        let mut slots = self.registry.slots.write();
        let position = self.slot.position.load(Ordering::Relaxed);
        let left = slots.swap_remove(position);
        debug_assert!(
            Arc::ptr_eq(&left, &self.slot),
            "another session stood at place {position} of the list"
        );
        if let Some(moved) = slots.get(position) {
            moved.position.store(position, Ordering::Relaxed);
        }
        self.registry.gone_views.fetch_add(self.slot.numbers.opened(), Ordering::Relaxed);
        self.registry
            .gone_read_only
            .fetch_add(self.slot.read_only.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}
