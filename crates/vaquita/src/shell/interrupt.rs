//! Ctrl-C ends the statement that runs, not the shell.

use super::backend::Killer;
use signal_hook::consts::SIGINT;
use signal_hook::iterator::{Handle, Signals};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Who waits for the signal, as long as the shell talks to somebody. Between statements it is the line editor's.
pub(super) struct Interrupts {
    running: Arc<Mutex<Option<Killer>>>,
    signals: Handle,
    thread: Option<JoinHandle<()>>,
}

/// A statement that can be ended, until it is dropped.
pub(super) struct Killable<'i>(&'i Interrupts);

fn lock(running: &Mutex<Option<Killer>>) -> MutexGuard<'_, Option<Killer>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Interrupts {
    pub(super) fn new() -> io::Result<Interrupts> {
        let mut signals = Signals::new([SIGINT])?;
        let handle = signals.handle();
        let running: Arc<Mutex<Option<Killer>>> = Arc::default();
        let seen = running.clone();
        let thread = std::thread::spawn(move || {
            for _ in signals.forever() {
                let killer = lock(&seen).clone();
                if let Some(Err(why)) = killer.map(|kill| kill()) {
                    // There is nobody to give it to but who looks at the terminal.
                    let _ = writeln!(io::stderr(), "the statement was not ended: {why}");
                }
            }
        });
        Ok(Interrupts { running, signals: handle, thread: Some(thread) })
    }

    /// From now on the signal ends this statement.
    pub(super) fn during(&self, killer: Killer) -> Killable<'_> {
        *lock(&self.running) = Some(killer);
        Killable(self)
    }
}

impl Drop for Killable<'_> {
    fn drop(&mut self) {
        *lock(&self.0.running) = None;
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.signals.close();
        if let Some(thread) = self.thread.take() {
            // A panic there was printed.
            let _ = thread.join();
        }
    }
}
