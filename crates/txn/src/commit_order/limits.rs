//! The four numbers that every read view starts from, and a session's published copy of its own.
//!
//! See [`super::order`] for the protocol and its proof.

use super::sync::{AtomicU64, Ordering, fence};

/// In [`ViewNumbers::snapshot`]: no view is open. It asks for nothing, as a view that sees everything would.
const CLOSED: u64 = u64::MAX;
/// In [`ViewNumbers::low_limit`]: the view is being opened.
const OPENING: u64 = 0;

/// What the transactions of a folder have come to. Written under the mutex of [`super::order`]; none of them ever
/// decreases.
#[derive(Debug)]
pub(crate) struct Limits {
    /// The next id or number to be given.
    pub(crate) next: AtomicU64,
    /// Ids below have committed and are published.
    pub(crate) min_active: AtomicU64,
    /// Transactions with a number below are published.
    pub(crate) min_number: AtomicU64,
    /// How many commits are published: commit sequence numbers below are taken.
    pub(crate) published: AtomicU64,
}

/// The numbers of a view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// Ids below are seen.
    pub(crate) up_limit: u64,
    /// Undo logs below are not needed.
    pub(crate) low_limit_no: u64,
    /// Commit sequence numbers below are seen.
    pub(crate) snapshot: u64,
    /// Ids from here on are not seen.
    pub(crate) low_limit: u64,
}

impl Numbers {
    /// A view that sees what either sees.
    pub(crate) fn max(self, other: Numbers) -> Numbers {
        Numbers {
            up_limit: self.up_limit.max(other.up_limit),
            low_limit_no: self.low_limit_no.max(other.low_limit_no),
            snapshot: self.snapshot.max(other.snapshot),
            low_limit: self.low_limit.max(other.low_limit),
        }
    }
}

impl Limits {
    /// Nothing has happened yet; the next id is `next`.
    pub(crate) fn new(next: u64) -> Self {
        Self {
            next: AtomicU64::new(next),
            min_active: AtomicU64::new(next),
            min_number: AtomicU64::new(next),
            published: AtomicU64::new(0),
        }
    }

    /// A view of this moment. The order of the loads matters: the first two before `published`, `next` after it.
    #[inline]
    pub(crate) fn view(&self) -> Numbers {
        let up_limit = self.min_active.load(Ordering::Acquire);
        let low_limit_no = self.min_number.load(Ordering::Acquire);
        let snapshot = self.published.load(Ordering::Acquire);
        let low_limit = self.next.load(Ordering::Acquire);
        Numbers { up_limit, low_limit_no, snapshot, low_limit }
    }
}

/// The numbers of a session's open view, for those that must keep what it needs. Written by the session alone.
#[derive(Debug)]
pub(crate) struct ViewNumbers {
    up_limit: AtomicU64,
    low_limit_no: AtomicU64,
    snapshot: AtomicU64,
    low_limit: AtomicU64,
    /// Views opened.
    opened: AtomicU64,
}

impl ViewNumbers {
    /// No view is open.
    pub(crate) fn new() -> Self {
        Self {
            up_limit: AtomicU64::new(0),
            low_limit_no: AtomicU64::new(0),
            snapshot: AtomicU64::new(CLOSED),
            low_limit: AtomicU64::new(OPENING),
            opened: AtomicU64::new(0),
        }
    }

    /// Opens a view of this moment.
    #[inline]
    pub(crate) fn open(&self, limits: &Limits) -> Numbers {
        // First what the view will not be below, then a fence: who looks for open views and does not find this
        // one has done so before the fence, and everything loaded from here on is no older than what he loaded.
        let bound = limits.view();
        self.low_limit.store(OPENING, Ordering::Relaxed);
        self.up_limit.store(bound.up_limit, Ordering::Release);
        self.low_limit_no.store(bound.low_limit_no, Ordering::Release);
        self.snapshot.store(bound.snapshot, Ordering::Release);
        fence(Ordering::SeqCst);
        let view = limits.view();
        self.up_limit.store(view.up_limit, Ordering::Release);
        // The snapshot first: whoever finds this `low_limit_no` finds a snapshot that has all of its transactions.
        self.snapshot.store(view.snapshot, Ordering::Release);
        self.low_limit_no.store(view.low_limit_no, Ordering::Release);
        self.low_limit.store(view.low_limit, Ordering::Release);
        // A plain addition: nobody else writes it.
        self.opened.store(self.opened.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        view
    }

    /// Closes the view.
    #[inline]
    pub(crate) fn close(&self) {
        // Release: what the session looked up under the view was before.
        self.snapshot.store(CLOSED, Ordering::Release);
    }

    /// Whether a view is open.
    pub(crate) fn is_open(&self) -> bool {
        self.snapshot.load(Ordering::Relaxed) != CLOSED
    }

    /// Views opened so far.
    pub(crate) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Lowers `view` so that it sees nothing that the open view does not see. The caller's fence came before.
    pub(crate) fn bound(&self, view: &mut Numbers) {
        let low_limit_no = self.low_limit_no.load(Ordering::Acquire);
        let up_limit = self.up_limit.load(Ordering::Acquire);
        let low_limit = self.low_limit.load(Ordering::Acquire);
        // Last, so that it is not of an older view than `low_limit_no`.
        let snapshot = self.snapshot.load(Ordering::Acquire);
        if snapshot == CLOSED {
            return;
        }
        view.snapshot = view.snapshot.min(snapshot);
        view.up_limit = view.up_limit.min(up_limit);
        view.low_limit_no = view.low_limit_no.min(low_limit_no);
        // 0 while the view is being opened. What holds then is that no view's is below its `low_limit_no`.
        view.low_limit = view.low_limit.min(low_limit).max(view.low_limit_no);
    }

    /// Which commits the open view may have to look up: those with a sequence number from the first on and an id
    /// below the second. The caller's fence came before.
    pub(crate) fn needs(&self) -> Option<(u64, u64)> {
        // This order of the loads: a limit that is newer than the snapshot asks for too much, an older one for too
        // little.
        let snapshot = self.snapshot.load(Ordering::Acquire);
        if snapshot == CLOSED {
            return None;
        }
        let low_limit = self.low_limit.load(Ordering::Acquire);
        Some((snapshot, if low_limit == OPENING { u64::MAX } else { low_limit }))
    }
}
