//! Switching the scheduler on and off, waking it, and what it has to say.
//!
//! The scheduler runs sessions, which stand above the folder that owns it: so a folder gets a way to start its thread when it is
//! opened ([`crate::opening`]).

use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;
use vaquita_types::Level;

/// Lines kept for somebody who listens later, the newest.
const KEPT: usize = 256;

type Listener = Arc<dyn Fn(Level, &str) + Send + Sync>;
type Starter = Box<dyn Fn(Arc<Signal>) -> io::Result<JoinHandle<()>> + Send + Sync>;

/// By which the scheduler's thread is woken and ended.
#[derive(Default)]
pub(crate) struct Signal {
    flags: Mutex<Flags>,
    changed: Condvar,
    /// Ends what the thread waits for elsewhere.
    interrupter: Mutex<Option<Box<dyn Fn() + Send>>>,
}

#[derive(Debug, Default)]
struct Flags {
    stop: bool,
    woken: bool,
}

impl std::fmt::Debug for Signal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signal").field("flags", &*self.flags.lock()).finish_non_exhaustive()
    }
}

impl Signal {
    /// Rests until somebody wakes it, at most so long; whether it is time to end.
    pub(crate) fn rest(&self, limit: Duration) -> bool {
        let mut flags = self.flags.lock();
        if !flags.stop && !flags.woken {
            self.changed.wait_for(&mut flags, limit);
        }
        flags.woken = false;
        flags.stop
    }

    pub(crate) fn is_to_end(&self) -> bool {
        self.flags.lock().stop
    }

    pub(crate) fn wake(&self) {
        self.flags.lock().woken = true;
        self.changed.notify_all();
    }

    /// What is to be done besides when the thread is to end.
    pub(crate) fn set_interrupter(&self, interrupter: Option<Box<dyn Fn() + Send>>) {
        *self.interrupter.lock() = interrupter;
    }

    fn stop(&self) {
        self.flags.lock().stop = true;
        self.changed.notify_all();
        if let Some(interrupt) = &*self.interrupter.lock() {
            interrupt();
        }
    }
}

/// Lines for the error log of whoever serves the folder.
#[derive(Default)]
struct Lines {
    listener: Option<Listener>,
    waiting: VecDeque<(Level, String)>,
}

/// The scheduler's thread.
#[derive(Debug)]
struct Running {
    signal: Arc<Signal>,
    thread: JoinHandle<()>,
}

/// The scheduler as its folder has it.
#[derive(Default)]
pub(crate) struct EventControl {
    starter: OnceLock<Starter>,
    running: Mutex<Option<Running>>,
    lines: Mutex<Lines>,
}

impl std::fmt::Debug for EventControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventControl").field("running", &self.running).finish_non_exhaustive()
    }
}

impl EventControl {
    /// How its thread is started.
    pub(crate) fn set_starter(&self, starter: Starter) {
        let _ = self.starter.set(starter);
    }

    /// Starts the thread unless it runs.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn turn_on(&self) -> io::Result<()> {
        let mut running = self.running.lock();
        if running.as_ref().is_some_and(|running| !running.thread.is_finished()) {
            return Ok(());
        }
        let Some(starter) = self.starter.get() else { return Ok(()) };
        let signal = Arc::<Signal>::default();
        *running = Some(Running { thread: starter(signal.clone())?, signal });
        Ok(())
    }

    /// Ends the thread and waits until it has ended. Executions that have begun go on.
    pub(crate) fn turn_off(&self) {
        // Held until it has ended: there are never two of them.
        let mut running = self.running.lock();
        let Some(Running { signal, thread }) = running.take() else { return };
        signal.stop();
        // It may be the last to have the folder, and drop it.
        if thread.thread().id() != std::thread::current().id() && thread.join().is_err() {
            self.say(Level::Error, "Event Scheduler: the scheduler's thread panicked");
        }
    }

    /// Lets the thread look at the events again.
    pub(crate) fn wake(&self) {
        if let Some(running) = &*self.running.lock() {
            running.signal.wake();
        }
    }

    /// Says a line. It waits for a listener if there is none yet.
    pub(crate) fn say(&self, level: Level, text: &str) {
        let mut lines = self.lines.lock();
        let listener = lines.listener.clone();
        match listener {
            Some(listener) => {
                drop(lines);
                listener(level, text);
            }
            None => {
                if lines.waiting.len() == KEPT {
                    lines.waiting.pop_front();
                }
                lines.waiting.push_back((level, text.to_owned()));
            }
        }
    }

    /// Who hears every line from now on, those that wait first.
    pub(crate) fn listen(&self, listener: Listener) {
        let mut lines = self.lines.lock();
        lines.waiting.drain(..).for_each(|(level, line)| listener(level, &line));
        lines.listener = Some(listener);
    }
}

impl Drop for EventControl {
    fn drop(&mut self) {
        self.turn_off();
    }
}
