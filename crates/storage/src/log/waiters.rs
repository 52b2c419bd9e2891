//! Waiters for durability: one leads, the others follow.
//!
//! Of the threads that want the log durable, one is the *leader*: it writes and syncs for all that arrived. The
//! others sit down on a seat each and are woken when their LSN is durable, when the log has failed, or to lead
//! the next round. Callbacks wait beside them and are called by the leader, without any latch of this module; a
//! callback alone never leads, so the background service is kicked for it.
//!
//! # Latching
//! `state` and a seat's mutex are leaves; no I/O is done and no callback called under them.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use vaquita_base::Lsn;

use super::error::LogError;

/// Called when an LSN is durable, or the log has failed.
pub type DurableCallback = Box<dyn FnOnce(Result<(), LogError>) + Send>;

/// What a thread that wants durability has to do.
pub(super) enum Turn {
    /// It is durable already.
    Done,
    /// The log has failed.
    Failed(LogError),
    /// Write and sync, then [`Waiters::finish`].
    Lead,
    /// Wait on the seat.
    Follow(Arc<Seat>),
}

/// Why a follower was woken.
enum Verdict {
    Durable,
    Lead,
    Failed(LogError),
}

/// Where a follower waits.
pub(super) struct Seat {
    verdict: Mutex<Option<Verdict>>,
    changed: Condvar,
}

impl Seat {
    fn new() -> Arc<Self> {
        Arc::new(Self { verdict: Mutex::new(None), changed: Condvar::new() })
    }

    fn wake(&self, verdict: Verdict) {
        *self.verdict.lock() = Some(verdict);
        self.changed.notify_one();
    }

    /// Parks until woken; true if the thread leads now.
    pub(super) fn wait(&self) -> Result<bool, LogError> {
        let mut verdict = self.verdict.lock();
        loop {
            match verdict.take() {
                Some(Verdict::Durable) => return Ok(false),
                Some(Verdict::Lead) => return Ok(true),
                Some(Verdict::Failed(error)) => return Err(error),
                None => self.changed.wait(&mut verdict),
            }
        }
    }
}

#[derive(Default)]
struct State {
    /// Everything before is durable.
    durable: Lsn,
    failed: Option<LogError>,
    leading: bool,
    seats: Vec<(Lsn, Arc<Seat>)>,
    callbacks: Vec<(Lsn, DurableCallback)>,
    /// The background service has work.
    kicked: bool,
}

/// Everyone who waits for durability.
pub(super) struct Waiters {
    state: Mutex<State>,
    work: Condvar,
}

impl std::fmt::Debug for Waiters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state.lock();
        f.debug_struct("Waiters")
            .field("durable", &state.durable)
            .field("leading", &state.leading)
            .field("seats", &state.seats.len())
            .field("callbacks", &state.callbacks.len())
            .finish_non_exhaustive()
    }
}

impl Waiters {
    /// Nobody waits; everything before `durable` is durable.
    pub(super) fn new(durable: Lsn) -> Self {
        Self { state: Mutex::new(State { durable, ..State::default() }), work: Condvar::new() }
    }

    /// A thread wants `lsn` durable.
    pub(super) fn enter(&self, lsn: Lsn) -> Turn {
        let mut state = self.state.lock();
        if let Some(error) = &state.failed {
            Turn::Failed(error.clone())
        } else if lsn <= state.durable {
            Turn::Done
        } else if state.leading {
            let seat = Seat::new();
            state.seats.push((lsn, Arc::clone(&seat)));
            Turn::Follow(seat)
        } else {
            state.leading = true;
            Turn::Lead
        }
    }

    /// Becomes the leader if there is none, without waiting.
    pub(super) fn try_lead(&self) -> bool {
        let mut state = self.state.lock();
        let free = !state.leading && state.failed.is_none();
        state.leading |= free;
        free
    }

    /// The leader's round is over and everything before `durable` is durable. Leadership passes to a follower
    /// that is not served yet.
    pub(super) fn finish(&self, durable: Lsn) {
        let (mut served, mut due) = (Vec::new(), Vec::new());
        let mut next = None;
        {
            let mut state = self.state.lock();
            assert!(state.leading, "a round ends at {durable} that nobody leads");
            state.durable = state.durable.max(durable);
            let durable = state.durable;
            served.extend(state.seats.extract_if(.., |(lsn, _)| *lsn <= durable));
            due.extend(state.callbacks.extract_if(.., |(lsn, _)| *lsn <= durable));
            if state.failed.is_none() && !state.seats.is_empty() {
                next = Some(state.seats.swap_remove(0).1);
            }
            state.leading = next.is_some();
            if next.is_none() && !state.callbacks.is_empty() {
                state.kicked = true;
                self.work.notify_all();
            }
        }
        if let Some(seat) = next {
            seat.wake(Verdict::Lead);
        }
        for (_, seat) in served {
            seat.wake(Verdict::Durable);
        }
        for (_, callback) in due {
            callback(Ok(()));
        }
    }

    /// The log has failed: everyone gets the error, now and later.
    pub(super) fn fail(&self, error: &LogError) {
        let (seats, callbacks);
        {
            let mut state = self.state.lock();
            state.failed.get_or_insert_with(|| error.clone());
            seats = std::mem::take(&mut state.seats);
            callbacks = std::mem::take(&mut state.callbacks);
            state.kicked = true;
            self.work.notify_all();
        }
        for (_, seat) in seats {
            seat.wake(Verdict::Failed(error.clone()));
        }
        for (_, callback) in callbacks {
            callback(Err(error.clone()));
        }
    }

    /// Registers a callback, or calls it at once if the outcome is known.
    pub(super) fn on_durable(&self, lsn: Lsn, callback: DurableCallback) {
        let outcome;
        {
            let mut state = self.state.lock();
            if let Some(error) = &state.failed {
                outcome = Err(error.clone());
            } else if lsn <= state.durable {
                outcome = Ok(());
            } else {
                state.callbacks.push((lsn, callback));
                if !state.leading {
                    state.kicked = true;
                    self.work.notify_all();
                }
                return;
            }
        }
        callback(outcome);
    }

    /// The largest LSN a callback waits for.
    pub(super) fn callbacks_want(&self) -> Option<Lsn> {
        self.state.lock().callbacks.iter().map(|(lsn, _)| *lsn).max()
    }

    /// Wakes the background service.
    pub(super) fn kick(&self) {
        self.state.lock().kicked = true;
        self.work.notify_all();
    }

    /// Parks the background service until kicked or `timeout` has passed.
    pub(super) fn wait_for_kick(&self, timeout: Duration) {
        let mut state = self.state.lock();
        if !state.kicked {
            self.work.wait_for(&mut state, timeout);
        }
        state.kicked = false;
    }
}
