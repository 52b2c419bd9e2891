//! Threads that stay and help with work that comes in batches.
//!
//! Whoever has a batch works on it too, and does all of it where nobody helps, as in simulations.

use parking_lot::Mutex;
use std::thread::Thread;

/// A batch's shares on their way through several threads.
#[derive(Debug)]
pub struct Crew<T, E> {
    /// Held by whose batch it is.
    batch: Mutex<()>,
    state: Mutex<State<T, E>>,
}

#[derive(Debug)]
struct State<T, E> {
    /// Nobody works on these yet.
    shares: Vec<T>,
    /// How many are being worked on.
    taken: usize,
    done: Vec<T>,
    failure: Option<E>,
    /// Somebody panicked over his share.
    panicked: bool,
    /// Who helps.
    helpers: Vec<Thread>,
    /// Whose batch it is.
    owner: Option<Thread>,
}

impl<T, E> Default for Crew<T, E> {
    fn default() -> Self {
        let (shares, done, helpers) = Default::default();
        let (taken, failure, panicked, owner) = Default::default();
        Crew {
            batch: Mutex::default(),
            state: Mutex::new(State { shares, taken, done, failure, panicked, helpers, owner }),
        }
    }
}

/// A share that a thread works on. It counts as done even if the thread panics.
struct Turn<'c, T, E> {
    crew: &'c Crew<T, E>,
    share: Option<T>,
    /// None as long as it is worked on.
    result: Option<Result<(), E>>,
}

impl<T, E> Drop for Turn<'_, T, E> {
    fn drop(&mut self) {
        let mut state = self.crew.state.lock();
        state.done.extend(self.share.take());
        state.taken -= 1;
        match self.result.take() {
            Some(Ok(())) => {}
            Some(Err(e)) => drop(state.failure.get_or_insert(e)),
            None => state.panicked = true,
        }
        if state.taken == 0
            && let Some(owner) = &state.owner
        {
            owner.unpark();
        }
    }
}

impl<T, E> Crew<T, E> {
    /// Works on one share, if there is one.
    fn work_on_one(&self, work: &impl Fn(&mut T) -> Result<(), E>) -> bool {
        let mut state = self.state.lock();
        let Some(share) = state.shares.pop() else { return false };
        state.taken += 1;
        drop(state);
        let mut turn = Turn { crew: self, share: Some(share), result: None };
        turn.result = turn.share.as_mut().map(work);
        true
    }

    /// Has all shares worked on, by this thread and those that help; gives them back in any order. One batch at a time.
    ///
    /// # Errors
    /// The first of `work`; the other shares have been worked on all the same.
    ///
    /// # Panics
    /// If a helper panics over a share.
    pub fn run(&self, shares: Vec<T>, work: impl Fn(&mut T) -> Result<(), E>) -> Result<Vec<T>, E> {
        let _batch = self.batch.lock();
        let mut state = self.state.lock();
        state.shares = shares;
        state.owner = Some(std::thread::current());
        state.helpers.iter().for_each(Thread::unpark);
        drop(state);
        while self.work_on_one(&work) {}
        let mut state = self.state.lock();
        while state.taken > 0 {
            drop(state);
            std::thread::park();
            state = self.state.lock();
        }
        state.owner = None;
        assert!(!state.panicked, "who helps does not panic");
        let done = std::mem::take(&mut state.done);
        state.failure.take().map_or(Ok(done), Err)
    }

    /// Helps until `stopped`, which is looked at when the thread is unparked.
    pub fn help(&self, stopped: impl Fn() -> bool, work: impl Fn(&mut T) -> Result<(), E>) {
        let me = std::thread::current();
        self.state.lock().helpers.push(me.clone());
        while !stopped() {
            if !self.work_on_one(&work) {
                std::thread::park();
            }
        }
        self.state.lock().helpers.retain(|helper| helper.id() != me.id());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn the_same_threads_work_on_every_batch() {
        let (crew, stop) = (Crew::<u32, &str>::default(), AtomicBool::new(false));
        // Nobody gets beyond it before three are there.
        let (together, ids) = (Barrier::new(3), Mutex::new(HashSet::new()));
        let work = |_: &mut u32| {
            together.wait();
            ids.lock().insert(std::thread::current().id());
            Ok(())
        };
        std::thread::scope(|scope| {
            let help = || crew.help(|| stop.load(Ordering::SeqCst), work);
            let helpers = [scope.spawn(help), scope.spawn(help)];
            while crew.state.lock().helpers.len() < 2 {
                std::thread::yield_now();
            }
            for _ in 0..50 {
                let mut done = crew.run(vec![1, 2, 3], work).unwrap();
                done.sort_unstable();
                assert_eq!(done, [1, 2, 3]);
            }
            stop.store(true, Ordering::SeqCst);
            helpers.iter().for_each(|helper| helper.thread().unpark());
        });
        assert_eq!(ids.lock().len(), 3);
    }

    #[test]
    fn alone_it_is_done_all_the_same_and_the_first_failure_is_told() {
        let crew = Crew::<u32, &str>::default();
        assert_eq!(crew.run(vec![1, 2], |_| Ok(())).unwrap().len(), 2);
        let seen = Mutex::new(0);
        let failed = crew.run(vec![1, 2, 3], |n| {
            *seen.lock() += 1;
            if *n == 2 { Err("two") } else { Ok(()) }
        });
        assert_eq!(failed, Err("two"));
        assert_eq!(*seen.lock(), 3);
        assert!(crew.run(vec![4], |_| Ok(())).is_ok());
    }
}
