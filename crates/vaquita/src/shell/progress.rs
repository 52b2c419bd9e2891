//! How long a statement runs, for people who wait: a line on the terminal after two seconds.

use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Says what has been done so far: rows read and changed since it was made.
pub(super) type Activity = Box<dyn Fn() -> (u64, u64) + Send>;

/// Shows progress until it is dropped.
#[derive(Debug)]
pub(super) struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    pub(super) fn start(activity: Option<Activity>) -> Ticker {
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let start = Instant::now();
            let mut wait = Duration::from_secs(2);
            let mut shown = false;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = Duration::from_millis(500);
                shown = true;
                let done = activity.as_ref().map(|activity| activity());
                let done = done.map_or(String::new(), |(read, changed)| {
                    format!(", {read} rows read, {changed} changed")
                });
                // Nothing depends on the line being seen.
                let _ = write!(std::io::stderr(), "\r\x1b[K{} s{done}", start.elapsed().as_secs());
            }
            if shown {
                let _ = write!(std::io::stderr(), "\r\x1b[K");
            }
        });
        Ticker { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was printed and concerns nothing but the line.
            let _ = thread.join();
        }
    }
}
