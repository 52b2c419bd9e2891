//! Giving a loop to another thread, and the threads to give it to.

use super::Core;
use crate::connection::Scratch;
use parking_lot::{Condvar, Mutex};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};
use vaquita_engine::{WaitFor, WaitHook};

/// Most threads: more than there are connections, so that in practice every statement may wait.
const THREADS_MAX: usize = 4100;

/// Spare threads that are kept; others end.
const SPARE_MAX: usize = 64;

/// Stack of a thread: enough for the highest expression the parser lets through, in builds without optimisation too.
/// Only what is touched takes memory.
const STACK: usize = 8 << 20;

thread_local! {
    /// The loop of this thread, while it runs a statement for one of the loop's connections.
    pub(crate) static HELD: Cell<Option<Box<Core>>> = const { Cell::new(None) };
}

/// Gives this thread's loop to a spare one, if it has one and there is one. Called when the thread is about to wait.
pub(crate) fn hand_over() {
    if let Some(core) = HELD.take() {
        let pool = core.pool().clone();
        if let Err(core) = pool.give(core) {
            HELD.set(Some(core));
        }
    }
}

/// Gives the loop away only if somebody else has something to do.
pub(crate) fn hand_over_if_busy() {
    if let Some(core) = HELD.take() {
        let busy = core.has_others();
        HELD.set(Some(core));
        if busy {
            hand_over();
        }
    }
}

/// The hook that the engine calls around waits.
#[derive(Debug)]
pub(crate) struct LoopHook;

impl WaitHook for LoopHook {
    fn before(&self, what: WaitFor) {
        match what {
            WaitFor::Lock => hand_over(),
            // Short: worth it only if somebody waits for the loop.
            WaitFor::Page | WaitFor::Log => hand_over_if_busy(),
        }
    }

    fn after(&self, _: WaitFor) {}
}

/// The threads of a server.
#[derive(Debug)]
pub(crate) struct Pool {
    state: Mutex<State>,
    ended: Condvar,
    /// Makes working memory for a thread.
    scratch: fn() -> Scratch,
}

#[derive(Debug, Default)]
struct State {
    spare: Vec<Arc<Seat>>,
    threads: usize,
    stopping: bool,
}

/// Where a spare thread waits.
#[derive(Debug, Default)]
struct Seat {
    work: Mutex<Work>,
    called: Condvar,
}

#[derive(Debug, Default)]
enum Work {
    #[default]
    None,
    Run(Box<Core>),
    End,
}

impl Pool {
    pub(crate) fn new(scratch: fn() -> Scratch) -> Arc<Pool> {
        Arc::new(Pool { state: Mutex::default(), ended: Condvar::new(), scratch })
    }

    /// Lets a spare thread run the loop, a new one if there is none.
    ///
    /// # Errors
    /// There are too many threads; the loop comes back.
    pub(crate) fn give(self: &Arc<Self>, core: Box<Core>) -> Result<(), Box<Core>> {
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
        match std::mem::take(&mut *seat.work.lock()) {
            Work::Run(core) => Err(core),
            Work::None | Work::End => Ok(()),
        }
    }

    fn thread(self: Arc<Self>, seat: Arc<Seat>) {
        let mut scratch = (self.scratch)();
        while let Some(core) = seat.wait() {
            super::core::run(core, &mut scratch);
            scratch.shrink();
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
    pub(crate) fn stop(&self) {
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
    pub(crate) fn wait_ended(&self, limit: Duration) -> bool {
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
    pub(crate) fn threads(&self) -> usize {
        self.state.lock().threads
    }
}

impl Seat {
    /// The next loop to run; `None`: none any more.
    fn wait(&self) -> Option<Box<Core>> {
        let mut work = self.work.lock();
        loop {
            match std::mem::take(&mut *work) {
                Work::Run(core) => return Some(core),
                Work::End => return None,
                Work::None => self.called.wait(&mut work),
            }
        }
    }
}
