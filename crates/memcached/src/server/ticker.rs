//! A thread that does the keeper's work of each second.

use super::{Keeper, Shared};
use parking_lot::{Condvar, Mutex};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct Stop {
    wanted: Mutex<bool>,
    told: Condvar,
}

/// The thread. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Ticker {
    stop: Arc<Stop>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Ticker {
    pub(super) fn start<K: Keeper>(shared: Arc<Shared<K>>) -> io::Result<Ticker> {
        let stop = Arc::new(Stop::default());
        let asked = stop.clone();
        let thread = std::thread::Builder::new().name("vaquita-memcached".into()).spawn(move || {
            // What fails each second is told once.
            let mut failed = String::new();
            while !asked.within(SECOND) {
                let why = shared.keeper.tick().err().map_or_else(String::new, |failure| failure.to_string());
                if !why.is_empty() && why != failed {
                    (shared.log)(&format!("memcached: {why}"));
                }
                failed = why;
            }
        })?;
        Ok(Ticker { stop, thread: Mutex::new(Some(thread)) })
    }

    /// Ends the thread and waits for it.
    pub(super) fn stop(&self) {
        *self.stop.wanted.lock() = true;
        self.stop.told.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

impl Stop {
    /// Waits for that long; whether the end was asked for.
    fn within(&self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        let mut wanted = self.wanted.lock();
        while !*wanted {
            if self.told.wait_until(&mut wanted, end).timed_out() {
                break;
            }
        }
        *wanted
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop();
    }
}
