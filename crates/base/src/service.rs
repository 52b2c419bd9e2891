//! Threads that loop around the steps of a service until they are to end.
//!
//! A service is a function that works and rests in turns, and asks [`Stop`] whether to go on. The first failure of one is
//! kept; the thread ends with it.

use parking_lot::{Condvar, Mutex};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Tells threads that it is time to end.
#[derive(Debug, Default)]
pub struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Whether it is time to end.
    pub fn is_set(&self) -> bool {
        *self.stopped.lock()
    }

    /// Rests for a while, or until it is time to end; true when it is.
    pub fn wait(&self, period: Duration) -> bool {
        let mut stopped = self.stopped.lock();
        if !*stopped {
            self.changed.wait_for(&mut stopped, period);
        }
        *stopped
    }

    /// It is time to end: who rests wakes up.
    fn set(&self) {
        *self.stopped.lock() = true;
        self.changed.notify_all();
    }
}

/// The threads of services that work on the same thing; they end, and are waited for, when this is dropped.
#[derive(Debug)]
pub struct ServiceThreads<E> {
    stop: Arc<Stop>,
    threads: Vec<JoinHandle<()>>,
    failure: Arc<Mutex<Option<E>>>,
}

impl<E> Default for ServiceThreads<E> {
    fn default() -> Self {
        ServiceThreads { stop: Arc::default(), threads: Vec::new(), failure: Arc::default() }
    }
}

impl<E: Send + 'static> ServiceThreads<E> {
    /// Starts a thread `vaquita-NAME` that runs a service on `core` until it fails or is to end.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn spawn<C: Send + Sync + 'static>(
        &mut self,
        name: &str,
        core: &Arc<C>,
        run: fn(&C, &Stop) -> Result<(), E>,
    ) -> io::Result<()> {
        let (core, stop, failure) = (core.clone(), self.stop.clone(), self.failure.clone());
        let body = move || {
            if let Err(e) = run(&core, &stop) {
                failure.lock().get_or_insert(e);
            }
        };
        self.threads.push(std::thread::Builder::new().name(format!("vaquita-{name}")).spawn(body)?);
        Ok(())
    }
}

impl<E> ServiceThreads<E> {
    /// Threads that have not ended: each has a handle of what it works on.
    pub fn running(&self) -> usize {
        self.threads.iter().filter(|thread| !thread.is_finished()).count()
    }

    /// Tells them that it is time to end. Who rests in another way than by [`Stop::wait`] is to be woken after this.
    pub fn ask_to_end(&self) {
        self.stop.set();
    }
}

impl<E: Clone> ServiceThreads<E> {
    /// The first failure of a service, which has then ended.
    pub fn failure(&self) -> Option<E> {
        self.failure.lock().clone()
    }
}

impl<E> Drop for ServiceThreads<E> {
    fn drop(&mut self) {
        self.ask_to_end();
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            if thread.join().is_err() {
                eprintln!("vaquita: a service thread panicked");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const LONG: Duration = Duration::from_secs(600);

    fn rests(turns: &AtomicUsize, stop: &Stop) -> Result<(), &'static str> {
        while !stop.wait(LONG) {}
        turns.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn parks(turns: &AtomicUsize, stop: &Stop) -> Result<(), &'static str> {
        while !stop.is_set() {
            std::thread::park();
        }
        turns.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn fails(turns: &AtomicUsize, _: &Stop) -> Result<(), &'static str> {
        turns.fetch_add(1, Ordering::SeqCst);
        Err("no disk")
    }

    /// Who rests for ten minutes ends at once, and whoever drops the threads finds their work done.
    #[test]
    fn threads_end_with_what_owns_them() {
        let turns = Arc::new(AtomicUsize::new(0));
        let mut threads = ServiceThreads::default();
        for (name, run) in [("rests", rests as fn(&_, &_) -> _), ("parks", parks), ("rests-too", rests)] {
            threads.spawn(name, &turns, run).expect("a thread");
        }
        assert_eq!((threads.running(), threads.failure()), (3, None));
        drop(threads);
        assert_eq!(turns.load(Ordering::SeqCst), 3);
        assert_eq!(Arc::strong_count(&turns), 1, "no thread has a handle any more");
    }

    #[test]
    fn the_first_failure_is_kept_and_the_others_go_on() {
        let turns = Arc::new(AtomicUsize::new(0));
        let mut threads = ServiceThreads::default();
        threads.spawn("rests", &turns, rests).expect("a thread");
        threads.spawn("fails", &turns, fails).expect("a thread");
        while threads.running() > 1 {
            std::thread::yield_now();
        }
        assert_eq!(threads.failure(), Some("no disk"));
        drop(threads);
        assert_eq!(turns.load(Ordering::SeqCst), 2);
    }
}
