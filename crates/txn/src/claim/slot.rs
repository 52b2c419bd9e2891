//! Where a transaction waits: one slot per transaction, one request at a time.
//!
//! ```text
//!           begin                    end
//!   Idle ----------> Waiting(place) -----> Done(outcome)
//!     ^                 |    ^                  |
//!     |                 +----+ relocate         | finish
//!     +-----------------------------------------+
//! ```
//!
//! # Invariants
//! - S1: the slot is `Waiting(place)` exactly while the transaction's request is in the queue at `place`.
//! - S2: who calls `begin`, `relocate` or `end` holds the mutex of the queue at `place` (of both queues, when it moves)
//!   and changes the queue under it. So a request ends once, by whoever takes it out of the queue: granted, refused,
//!   or withdrawn; and "granted" and "timed out" exclude each other.
//! - S3: `finish` is called by the transaction's own thread alone.
//!
//! # No lost wakeup
//! The waiter looks at the phase and at the reasons to stop under the slot's mutex, and the condition variable gives the
//! mutex up and begins to wait in one step. `end` changes the phase under the mutex; `nudge` takes the mutex after the
//! reason to stop was set, or after `end_quietly`. So either the waiter sees the change before it sleeps, or it sleeps already and is notified.

use super::sync::{Condvar, Mutex};
use std::time::Duration;

/// Where a transaction is with its request.
#[derive(Debug)]
enum Phase<P, O> {
    Idle,
    Waiting(P),
    Done(O),
}

#[derive(Debug)]
struct State<P, O> {
    phase: Phase<P, O>,
    /// Number of the wait: two looks at one slot saw the same wait if they saw the same number.
    episode: u64,
    since_us: u64,
}

/// A wait, as others see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WaitView<P> {
    pub(crate) place: P,
    pub(crate) episode: u64,
    pub(crate) since_us: u64,
}

/// Why [`Slot::block`] came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blocked {
    /// The request has an outcome.
    Ended,
    /// Time is up; the request is still queued.
    TimedOut,
    /// Asked to stop; the request is still queued.
    Stopped,
}

/// A transaction's place to wait.
#[derive(Debug)]
pub(crate) struct Slot<P, O> {
    state: Mutex<State<P, O>>,
    changed: Condvar,
}

impl<P, O> Default for Slot<P, O> {
    fn default() -> Self {
        let state = State { phase: Phase::Idle, episode: 0, since_us: 0 };
        Self { state: Mutex::new(state), changed: Condvar::default() }
    }
}

impl<P: Copy + PartialEq + std::fmt::Debug, O> Slot<P, O> {
    /// A request was queued.
    ///
    /// # Panics
    /// If the transaction waits already, or the outcome of its last wait was not fetched.
    pub(crate) fn begin(&self, place: P, now_us: u64) {
        let mut state = self.state.lock();
        assert!(matches!(state.phase, Phase::Idle), "one request at a time");
        state.phase = Phase::Waiting(place);
        state.episode += 1;
        state.since_us = now_us;
    }

    /// The wait, if there is one.
    pub(crate) fn view(&self) -> Option<WaitView<P>> {
        let state = self.state.lock();
        let Phase::Waiting(place) = state.phase else { return None };
        Some(WaitView { place, episode: state.episode, since_us: state.since_us })
    }

    /// Whether there is an outcome to fetch.
    #[cfg(test)]
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state.lock().phase, Phase::Done(_))
    }

    /// The request was moved to another queue, or another place in the same one.
    pub(crate) fn relocate(&self, place: P) {
        let mut state = self.state.lock();
        debug_assert!(matches!(state.phase, Phase::Waiting(_)), "a queued request waits");
        state.phase = Phase::Waiting(place);
    }

    /// The request was taken out of its queue.
    pub(crate) fn end(&self, outcome: O) {
        self.end_quietly(outcome);
        self.changed.notify_all();
    }

    /// As [`Slot::end`]; the waiter goes on sleeping until it is nudged.
    pub(crate) fn end_quietly(&self, outcome: O) {
        let mut state = self.state.lock();
        debug_assert!(matches!(state.phase, Phase::Waiting(_)), "a request ends once");
        state.phase = Phase::Done(outcome);
    }

    /// Lets the waiter look again whether to go on.
    pub(crate) fn nudge(&self) {
        drop(self.state.lock());
        self.changed.notify_all();
    }

    /// Waits for the outcome, for as long as `left` says, unless `stop` says so.
    pub(crate) fn block(&self, left: impl Fn() -> Duration, stop: impl Fn() -> bool) -> Blocked {
        let mut state = self.state.lock();
        while matches!(state.phase, Phase::Waiting(_)) {
            if stop() {
                return Blocked::Stopped;
            }
            let left = left();
            if left.is_zero() {
                return Blocked::TimedOut;
            }
            let ran_out = self.changed.wait_for(&mut state, left);
            if ran_out && matches!(state.phase, Phase::Waiting(_)) {
                return Blocked::TimedOut;
            }
        }
        Blocked::Ended
    }

    /// Fetches the outcome and when the wait began; `None` if there was no wait.
    ///
    /// # Panics
    /// If the wait goes on.
    pub(crate) fn finish(&self) -> Option<(O, u64)> {
        let mut state = self.state.lock();
        let since_us = state.since_us;
        match std::mem::replace(&mut state.phase, Phase::Idle) {
            Phase::Idle => None,
            Phase::Done(outcome) => Some((outcome, since_us)),
            Phase::Waiting(place) => panic!("still waiting at {place:?}"),
        }
    }
}
