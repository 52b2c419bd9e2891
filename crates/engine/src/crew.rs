//! Threads that stay and help with batches.
//!
//! Whoever has a batch works on it too, and does all of it where nobody helps, as in simulations.

use crate::error::{Error, Result};
use parking_lot::Mutex;
use std::thread::Thread;

/// A batch's shares on their way through several threads.
#[derive(Debug)]
pub(crate) struct Crew<T> {
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    /// Nobody works on these yet.
    shares: Vec<T>,
    /// How many are being worked on.
    taken: usize,
    done: Vec<T>,
    failure: Option<Error>,
    /// Who helps.
    helpers: Vec<Thread>,
    /// Whose batch it is, while he waits for helpers.
    waits: Option<Thread>,
}

impl<T> Default for Crew<T> {
    fn default() -> Self {
        let (shares, done, helpers) = Default::default();
        Crew { state: Mutex::new(State { shares, taken: 0, done, failure: None, helpers, waits: None }) }
    }
}

/// A share that a thread works on. It counts as done even if the thread panics.
struct Turn<'c, T> {
    crew: &'c Crew<T>,
    share: Option<T>,
    result: Result<()>,
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        let mut state = self.crew.state.lock();
        state.done.extend(self.share.take());
        state.taken -= 1;
        if let Err(e) = std::mem::replace(&mut self.result, Ok(())) {
            state.failure.get_or_insert(e);
        }
        if state.taken == 0
            && let Some(owner) = &state.waits
        {
            owner.unpark();
        }
    }
}

impl<T> Crew<T> {
    /// Works on one share, if there is one.
    fn work_on_one(&self, work: &impl Fn(&T) -> Result<()>) -> bool {
        let mut state = self.state.lock();
        let Some(share) = state.shares.pop() else { return false };
        state.taken += 1;
        drop(state);
        let unfinished = Err(Error::WrongState("a helper stopped in the middle of its work"));
        let mut turn = Turn { crew: self, share: Some(share), result: unfinished };
        turn.result = turn.share.as_ref().map_or(Ok(()), work);
        true
    }

    /// Has all shares worked on, by this thread and those that help; gives them back. One batch at a time.
    ///
    /// # Errors
    /// The first of `work`; the other shares have been worked on all the same.
    pub(crate) fn run(&self, shares: Vec<T>, work: impl Fn(&T) -> Result<()>) -> Result<Vec<T>> {
        let mut state = self.state.lock();
        state.shares = shares;
        state.waits = Some(std::thread::current());
        state.helpers.iter().for_each(Thread::unpark);
        drop(state);
        while self.work_on_one(&work) {}
        let mut state = self.state.lock();
        while state.taken > 0 {
            drop(state);
            std::thread::park();
            state = self.state.lock();
        }
        state.waits = None;
        let done = std::mem::take(&mut state.done);
        state.failure.take().map_or(Ok(done), Err)
    }

    /// Helps until `stopped`, which is looked at when the thread is unparked.
    pub(crate) fn help(&self, stopped: impl Fn() -> bool, work: impl Fn(&T) -> Result<()>) {
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
        let (crew, stop) = (Crew::<u32>::default(), AtomicBool::new(false));
        // Nobody gets beyond it before three are there.
        let (together, ids) = (Barrier::new(3), Mutex::new(HashSet::new()));
        let work = |_: &u32| {
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
        let crew = Crew::<u32>::default();
        assert_eq!(crew.run(vec![1, 2], |_| Ok(())).unwrap().len(), 2);
        let seen = Mutex::new(0);
        let failed = crew.run(vec![1, 2, 3], |&n| {
            *seen.lock() += 1;
            if n == 2 { Err(Error::ReadOnly) } else { Ok(()) }
        });
        assert!(matches!(failed, Err(Error::ReadOnly)));
        assert_eq!(*seen.lock(), 3);
        assert!(crew.run(vec![4], |_| Ok(())).is_ok());
    }
}
