//! The threads of a door: those that run its loops, those that wait for something, and spare ones.

use super::{Connection, Core, Door};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most threads: more than a server has connections that wait at once.
const THREADS_MAX: usize = 4100;

/// Spare threads that are kept; others end.
const SPARE_MAX: usize = 64;

/// Stack of a thread: enough for the highest expression that a parser of SQL lets through, in builds without optimisation
/// too. Only what is touched takes memory.
const STACK: usize = 8 << 20;

/// The threads of a door.
pub(super) struct Pool<D: Door> {
    state: Mutex<State<D>>,
    ended: Condvar,
}

struct State<D: Door> {
    spare: Vec<Arc<Seat<D>>>,
    threads: usize,
    stopping: bool,
}

/// Where a spare thread waits.
struct Seat<D: Door> {
    work: Mutex<Work<D>>,
    called: Condvar,
}

enum Work<D: Door> {
    None,
    Run(Box<Core<D>>),
    End,
}

impl<D: Door> Pool<D> {
    pub(super) fn new() -> Arc<Pool<D>> {
        let state = State { spare: Vec::new(), threads: 0, stopping: false };
        Arc::new(Pool { state: Mutex::new(state), ended: Condvar::new() })
    }

    /// Lets a spare thread run the loop, a new one if there is none.
    ///
    /// # Errors
    /// There are too many threads; the loop comes back.
    pub(super) fn give(self: &Arc<Self>, core: Box<Core<D>>) -> Result<(), Box<Core<D>>> {
        let mut state = self.state.lock();
        if let Some(seat) = state.spare.pop() {
            drop(state);
            *seat.work.lock() = Work::Run(core);
            seat.called.notify_one();
            return Ok(());
        }
        if state.threads >= THREADS_MAX {
            return Err(core);
        }
        state.threads += 1;
        drop(state);
        // The loop travels in a seat, so that it is not lost if the thread cannot be started.
        let seat = Arc::new(Seat { work: Mutex::new(Work::Run(core)), called: Condvar::new() });
        let (pool, mine) = (self.clone(), seat.clone());
        let started = std::thread::Builder::new()
            .name("vaquita-loop".into())
            .stack_size(STACK)
            .spawn(move || pool.thread(mine));
        if started.is_ok() {
            return Ok(());
        }
        self.state.lock().threads -= 1;
        match std::mem::replace(&mut *seat.work.lock(), Work::None) {
            Work::Run(core) => Err(core),
            Work::None | Work::End => Ok(()),
        }
    }

    fn thread(self: Arc<Self>, seat: Arc<Seat<D>>) {
        let mut scratch = <D::Connection as Connection>::Scratch::default();
        while let Some(core) = seat.wait() {
            super::core::run(core, &mut scratch);
            let mut state = self.state.lock();
            if state.stopping || state.spare.len() >= SPARE_MAX {
                break;
            }
            state.spare.push(seat.clone());
        }
        let mut state = self.state.lock();
        state.threads -= 1;
        if state.threads == 0 {
            self.ended.notify_all();
        }
    }

    /// Ends spare threads, now and when they become spare.
    pub(super) fn stop(&self) {
        let spare = {
            let mut state = self.state.lock();
            state.stopping = true;
            std::mem::take(&mut state.spare)
        };
        for seat in spare {
            *seat.work.lock() = Work::End;
            seat.called.notify_one();
        }
    }

    /// Waits until all threads have ended. `false`: some have not within `limit`.
    pub(super) fn wait_ended(&self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        let mut state = self.state.lock();
        while state.threads > 0 {
            if self.ended.wait_until(&mut state, end).timed_out() {
                return state.threads == 0;
            }
        }
        true
    }

    /// Threads that run, spare ones included.
    pub(super) fn threads(&self) -> usize {
        self.state.lock().threads
    }
}

impl<D: Door> Seat<D> {
    /// The next loop to run; `None`: none any more.
    fn wait(&self) -> Option<Box<Core<D>>> {
        let mut work = self.work.lock();
        loop {
            match std::mem::replace(&mut *work, Work::None) {
                Work::Run(core) => return Some(core),
                Work::End => return None,
                Work::None => self.called.wait(&mut work),
            }
        }
    }
}
