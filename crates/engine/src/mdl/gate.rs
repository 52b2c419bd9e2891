//! The gate of a name: through it go those who only want to read or change rows, without a mutex and without a cache line
//! that all of them write to. Who wants more closes the gate and waits until those who are inside have left.
//!
//! # Invariants
//! - I1: a stripe counts who came in by it and has not left by it: it is never below zero, so all are gone when each stripe
//!   was found at zero after the gate had been closed.
//! - I2: who comes in counts itself and then looks at the gate; who closes the gate shuts it and then looks at the counts.
//!   The fence between the two steps makes one of both see the other.
//! - I3: who leaves, or turns back at a closed gate, tells those who wait: they may have counted it. Who waits closed the gate
//!   first and looks at the counts under the mutex of its condition variable.

use super::sync::{AtomicBool, AtomicU64, CachePadded, Ordering, STRIPES, fence};

/// What a user does with rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
}

impl Use {
    /// Readers are counted in the lower half of a stripe, writers in the upper one.
    fn one(self) -> u64 {
        match self {
            Use::Read => 1,
            Use::Write => 1 << 32,
        }
    }
}

/// Who is inside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Users {
    pub(super) reads: bool,
    pub(super) writes: bool,
}

/// Counts users, and keeps new ones out while it is closed.
#[derive(Debug)]
pub(super) struct Gate {
    closed: AtomicBool,
    users: [CachePadded<AtomicU64>; STRIPES],
}

impl Gate {
    /// Open, nobody inside.
    pub(super) fn new() -> Self {
        Self {
            closed: AtomicBool::new(false),
            users: std::array::from_fn(|_| CachePadded::new(AtomicU64::new(0))),
        }
    }

    fn stripe(&self, stripe: usize) -> &AtomicU64 {
        &self.users[stripe % STRIPES]
    }

    fn is_closed(&self) -> bool {
        // The second step of I2, after the count.
        fence(Ordering::SeqCst);
        // Acquire: who comes in sees what was done while the gate was closed.
        self.closed.load(Ordering::Acquire)
    }

    /// Goes in, if the gate is open. If not, those who wait have to be woken (I3).
    #[inline]
    #[must_use]
    pub(super) fn enter(&self, stripe: usize, what: Use) -> bool {
        self.stripe(stripe).fetch_add(what.one(), Ordering::AcqRel);
        if !self.is_closed() {
            return true;
        }
        self.stripe(stripe).fetch_sub(what.one(), Ordering::AcqRel);
        false
    }

    /// Makes a writer of a reader, if the gate is open. If not, it stays a reader, and those who wait have to be woken.
    #[must_use]
    pub(super) fn begin_to_write(&self, stripe: usize) -> bool {
        let more = Use::Write.one() - Use::Read.one();
        let before = self.stripe(stripe).fetch_add(more, Ordering::AcqRel);
        debug_assert!(before % Use::Write.one() >= Use::Read.one(), "I1: a writer is made of no reader");
        if !self.is_closed() {
            return true;
        }
        self.stripe(stripe).fetch_sub(more, Ordering::AcqRel);
        false
    }

    /// Leaves by the stripe it came in by. True if somebody may wait for it and has to be woken.
    #[inline]
    #[must_use]
    pub(super) fn leave(&self, stripe: usize, what: Use) -> bool {
        // Release: who finds the stripe at zero sees what was done inside.
        let before = self.stripe(stripe).fetch_sub(what.one(), Ordering::AcqRel);
        debug_assert!(before >= what.one(), "more have left than came in");
        self.is_closed()
    }

    /// Keeps new users out, or lets them in again.
    pub(super) fn set_closed(&self, closed: bool) {
        self.closed.store(closed, Ordering::Release);
        // The first step of I2, before the counts.
        fence(Ordering::SeqCst);
    }

    /// Who is inside. Who has been found to be gone stays away, as long as the gate is closed.
    pub(super) fn users(&self) -> Users {
        let mut users = Users::default();
        for stripe in &self.users {
            let n = stripe.load(Ordering::Acquire);
            users.reads |= n % Use::Write.one() != 0;
            users.writes |= n >= Use::Write.one();
        }
        users
    }
}
