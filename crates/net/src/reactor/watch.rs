//! Who sees to it that nobody waits for somebody else's statement.
//!
//! A statement that is about to wait gives its loop away itself, and so does one that looks up between rows. One that
//! computes for long within a row, or is held up where nobody thought of it (a file that does not answer), does neither. The
//! watch looks at the loops every few milliseconds, and gives away the one that still serves the connection it served at
//! the last look. The thread in the statement learns of it when it is done, as one that had waited.
//!
//! When no loop serves anybody the watch sleeps. The next one that does wakes it.

use super::Door;
use super::loops::Group;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Looks at idle loops after which the watch sleeps.
const IDLE_LOOKS: u32 = 50;

/// What wakes and ends the watch.
#[derive(Debug, Default)]
pub(super) struct Watch {
    asleep: AtomicBool,
    ended: Mutex<bool>,
    called: Condvar,
}

/// What the watch saw at its last look: of each loop the run and turn that it was in.
#[derive(Debug, Default)]
pub(super) struct Looks {
    turns: Vec<Option<(u64, u64)>>,
    idle: u32,
}

impl Watch {
    /// A loop lies in its berth: it is watched from now on.
    ///
    /// The watch says that it sleeps before it looks at the berths for the last time, so either it sees the loop, or the
    /// loop, which took the berth's lock after it, sees that it sleeps.
    #[inline]
    pub(super) fn wake(&self) {
        if self.asleep.load(Ordering::Relaxed) {
            self.wake_now();
        }
    }

    #[cold]
    fn wake_now(&self) {
        let _ended = self.ended.lock();
        self.asleep.store(false, Ordering::Relaxed);
        self.called.notify_one();
    }

    /// Ends the watch.
    pub(super) fn end(&self) {
        *self.ended.lock() = true;
        self.called.notify_one();
    }

    /// Waits for the next look. `false`: there is none any more.
    fn pause(&self, look: Duration, sleeps: bool) -> bool {
        let mut ended = self.ended.lock();
        if sleeps {
            while !*ended && self.asleep.load(Ordering::Relaxed) {
                self.called.wait(&mut ended);
            }
        }
        if !*ended {
            self.called.wait_for(&mut ended, look);
        }
        !*ended
    }
}

impl Looks {
    /// Looks at the loops once and relieves those that have not moved. `true`: none has served anybody for some time.
    pub(super) fn step<D: Door>(&mut self, group: &Group<D>) -> bool {
        self.turns.resize(group.berths.len(), None);
        let mut idle = true;
        for (berth, seen) in group.berths.iter().zip(&mut self.turns) {
            let turn = berth.turn();
            if let Some(turn) = turn
                && *seen == Some(turn)
            {
                berth.relieve(turn);
            }
            idle &= turn.is_none();
            *seen = turn;
        }
        self.idle = if idle { self.idle + 1 } else { 0 };
        self.idle >= IDLE_LOOKS
    }
}

/// Watches until [`Watch::end`].
pub(super) fn run<D: Door>(group: &Arc<Group<D>>, look: Duration) {
    let watch = &group.watch;
    let mut looks = Looks::default();
    let mut sleeps = false;
    while watch.pause(look, sleeps) {
        sleeps = looks.step(group);
        if sleeps {
            watch.asleep.store(true, Ordering::SeqCst);
            sleeps = looks.step(group);
            if !sleeps {
                watch.asleep.store(false, Ordering::Relaxed);
            }
        }
    }
}
