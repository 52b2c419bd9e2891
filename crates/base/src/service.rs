//! Threads that loop around the steps of a service until they are to end, and how each of them is.
//!
//! A service is a function that works and rests in turns. It asks its [`Service`] whether to go on, and tells it what became
//! of each turn: after a failure that may pass ([`Service::fails`]) it tries again, later and later; one that is final it
//! returns, and the thread ends. Whoever keeps the threads can ask how the services are, and is told a line whenever that
//! changes: a service that fails a thousand times says so once.

use parking_lot::{Condvar, Mutex};
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a service rests after its first failure in a row; twice as long after each one more.
const RETRY_FIRST: Duration = Duration::from_secs(1);
/// The longest.
const RETRY_MAX: Duration = Duration::from_secs(60);

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

/// How a service is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Health {
    /// It does its work.
    #[default]
    Works,
    /// It cannot do its work at present, and tries again.
    Fails {
        /// How often in a row.
        times: u32,
        /// The last failure.
        error: String,
    },
    /// It has ended before its time.
    Ended {
        /// Why.
        error: String,
    },
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Health::Works => f.write_str("works"),
            Health::Fails { times, error } => write!(f, "fails, {times} time(s) in a row: {error}"),
            Health::Ended { error } => write!(f, "has ended: {error}"),
        }
    }
}

/// Who hears of changes, a line for each.
pub type Listener = Arc<dyn Fn(String) + Send + Sync>;

/// What a service's thread and its keeper share.
pub struct Service {
    name: String,
    stop: Arc<Stop>,
    health: Mutex<Health>,
    listener: Listener,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("name", &self.name)
            .field("health", &self.health())
            .finish_non_exhaustive()
    }
}

impl Service {
    /// One that works, for owners who call its steps themselves.
    pub fn new(name: &str, stop: Arc<Stop>, listener: Listener) -> Service {
        Service { name: name.to_owned(), stop, health: Mutex::default(), listener }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it is.
    pub fn health(&self) -> Health {
        self.health.lock().clone()
    }

    /// Whether it is time to end.
    pub fn is_to_end(&self) -> bool {
        self.stop.is_set()
    }

    /// Rests for a while, or until it is time to end; true when it is.
    pub fn rest(&self, period: Duration) -> bool {
        self.stop.wait(period)
    }

    /// It has done its work.
    pub fn works(&self) {
        let mut health = self.health.lock();
        if let Health::Fails { times, .. } = &*health {
            let line = format!("service {}: works again after {times} failure(s)", self.name);
            *health = Health::Works;
            drop(health);
            (self.listener)(line);
        }
    }

    /// It could not do its work, and will try again; after how long.
    pub fn fails(&self, error: &dyn fmt::Display) -> Duration {
        let mut health = self.health.lock();
        let times = match &*health {
            Health::Fails { times, .. } => times.saturating_add(1),
            Health::Works | Health::Ended { .. } => 1,
        };
        let error = error.to_string();
        let line = format!("service {}: fails and will try again: {error}", self.name);
        *health = Health::Fails { times, error };
        drop(health);
        if times == 1 {
            (self.listener)(line);
        }
        RETRY_FIRST.saturating_mul(1 << (times - 1).min(16)).min(RETRY_MAX)
    }

    /// It has ended before its time.
    fn ends(&self, error: String) {
        let line =
            format!("service {}: has ended: {error}; it works again when the folder is reopened", self.name);
        *self.health.lock() = Health::Ended { error };
        (self.listener)(line);
    }
}

/// The threads of services that work on the same thing; they end, and are waited for, when this is dropped.
pub struct ServiceThreads<E> {
    stop: Arc<Stop>,
    listener: Listener,
    threads: Vec<(Arc<Service>, JoinHandle<()>)>,
    failure: Arc<Mutex<Option<E>>>,
}

impl<E: fmt::Debug> fmt::Debug for ServiceThreads<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let services: Vec<&Service> = self.threads.iter().map(|(service, _)| &**service).collect();
        f.debug_struct("ServiceThreads").field("services", &services).field("failure", &self.failure).finish()
    }
}

impl<E> ServiceThreads<E> {
    /// None yet. `listener` hears of what changes.
    pub fn new(listener: Listener) -> Self {
        ServiceThreads { stop: Arc::default(), listener, threads: Vec::new(), failure: Arc::default() }
    }
}

impl<E: Send + fmt::Display + 'static> ServiceThreads<E> {
    /// Starts a thread `vaquita-NAME` that runs a service on `core` until it fails for good or is to end.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn spawn<C: Send + Sync + 'static>(
        &mut self,
        name: &str,
        core: &Arc<C>,
        run: fn(&C, &Service) -> Result<(), E>,
    ) -> io::Result<()> {
        let service = Arc::new(Service::new(name, self.stop.clone(), self.listener.clone()));
        let (core, own, failure) = (core.clone(), service.clone(), self.failure.clone());
        let body = move || match catch_unwind(AssertUnwindSafe(|| run(&core, &own))) {
            Ok(Ok(())) => {}
            Ok(Err(e)) => {
                own.ends(e.to_string());
                failure.lock().get_or_insert(e);
            }
            Err(panic) => own.ends(format!("it panicked: {}", panic_text(&*panic))),
        };
        self.threads
            .push((service, std::thread::Builder::new().name(format!("vaquita-{name}")).spawn(body)?));
        Ok(())
    }
}

/// What a panic says.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a word")
}

impl<E> ServiceThreads<E> {
    /// Threads that have not ended: each has a handle of what it works on.
    pub fn running(&self) -> usize {
        self.threads.iter().filter(|(_, thread)| !thread.is_finished()).count()
    }

    /// How the services are, by name.
    pub fn health(&self) -> Vec<(String, Health)> {
        self.threads.iter().map(|(service, _)| (service.name.clone(), service.health())).collect()
    }

    /// Tells them that it is time to end. Who rests in another way than by [`Service::rest`] is to be woken after this.
    pub fn ask_to_end(&self) {
        self.stop.set();
    }
}

impl<E: Clone> ServiceThreads<E> {
    /// The first failure of a service that has ended by it.
    pub fn failure(&self) -> Option<E> {
        self.failure.lock().clone()
    }
}

impl<E> Drop for ServiceThreads<E> {
    fn drop(&mut self) {
        self.ask_to_end();
        for (_, thread) in self.threads.drain(..) {
            thread.thread().unpark();
            // A panic was caught, and told, where it came.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const LONG: Duration = Duration::from_secs(600);

    fn rests(turns: &AtomicUsize, service: &Service) -> Result<(), &'static str> {
        while !service.rest(LONG) {}
        turns.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn parks(turns: &AtomicUsize, service: &Service) -> Result<(), &'static str> {
        while !service.is_to_end() {
            std::thread::park();
        }
        turns.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn fails(turns: &AtomicUsize, _: &Service) -> Result<(), &'static str> {
        turns.fetch_add(1, Ordering::SeqCst);
        Err("no disk")
    }

    fn panics(_: &AtomicUsize, _: &Service) -> Result<(), &'static str> {
        panic!("a mistake")
    }

    fn lines() -> (Listener, Arc<Mutex<Vec<String>>>) {
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let heard = lines.clone();
        (Arc::new(move |line| heard.lock().push(line)), lines)
    }

    /// Who rests for ten minutes ends at once, and whoever drops the threads finds their work done.
    #[test]
    fn threads_end_with_what_owns_them() {
        let turns = Arc::new(AtomicUsize::new(0));
        let (listener, lines) = lines();
        let mut threads = ServiceThreads::new(listener);
        for (name, run) in [("rests", rests as fn(&_, &_) -> _), ("parks", parks), ("rests-too", rests)] {
            threads.spawn(name, &turns, run).expect("a thread");
        }
        assert_eq!((threads.running(), threads.failure()), (3, None));
        drop(threads);
        assert_eq!(turns.load(Ordering::SeqCst), 3);
        assert_eq!(Arc::strong_count(&turns), 1, "no thread has a handle any more");
        assert!(lines.lock().is_empty());
    }

    #[test]
    fn one_that_ends_says_so_and_the_others_go_on() {
        let turns = Arc::new(AtomicUsize::new(0));
        let (listener, lines) = lines();
        let mut threads = ServiceThreads::new(listener);
        threads.spawn("rests", &turns, rests).expect("a thread");
        threads.spawn("fails", &turns, fails).expect("a thread");
        threads.spawn("panics", &turns, panics).expect("a thread");
        while threads.running() > 1 {
            std::thread::yield_now();
        }
        assert_eq!(threads.failure(), Some("no disk"));
        let health = threads.health();
        assert_eq!(health[0], ("rests".to_owned(), Health::Works));
        assert_eq!(health[1].1, Health::Ended { error: "no disk".to_owned() });
        assert_eq!(health[2].1, Health::Ended { error: "it panicked: a mistake".to_owned() });
        drop(threads);
        assert_eq!(turns.load(Ordering::SeqCst), 2);
        let mut lines = lines.lock().clone();
        lines.sort();
        assert_eq!(
            lines,
            [
                "service fails: has ended: no disk; it works again when the folder is reopened",
                "service panics: has ended: it panicked: a mistake; it works again when the folder is reopened",
            ]
        );
    }

    #[test]
    fn failures_are_told_once_and_come_later_and_later() {
        let (listener, lines) = lines();
        let service = Service::new("purge", Arc::default(), listener);
        let rests: Vec<u64> = (0..9).map(|_| service.fails(&"a damaged page").as_secs()).collect();
        assert_eq!(rests, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(service.health().to_string(), "fails, 9 time(s) in a row: a damaged page");
        service.works();
        service.works();
        assert_eq!(service.health(), Health::Works);
        assert_eq!(service.fails(&"another"), Duration::from_secs(1));
        assert_eq!(
            *lines.lock(),
            [
                "service purge: fails and will try again: a damaged page",
                "service purge: works again after 9 failure(s)",
                "service purge: fails and will try again: another",
            ]
        );
    }
}
