//! A progress bar on standard error, if that is a terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Width of the bar.
const WIDTH: usize = 30;
/// Between two drawings.
const EVERY: Duration = Duration::from_millis(100);

/// Shows how far a long walk has come.
#[derive(Debug)]
pub struct Progress {
    label: String,
    total: u64,
    done: u64,
    drawn: Option<Instant>,
    shown: bool,
    enabled: bool,
}

impl Progress {
    /// A bar for `total` steps; it appears only on a terminal and only if the walk takes a while.
    pub fn new(label: impl Into<String>, total: u64) -> Progress {
        let enabled = std::io::stderr().is_terminal();
        Progress { label: label.into(), total, done: 0, drawn: None, shown: false, enabled }
    }

    /// A bar that never shows.
    pub fn hidden() -> Progress {
        Progress { label: String::new(), total: 0, done: 0, drawn: None, shown: false, enabled: false }
    }

    /// One more step.
    #[inline]
    pub fn step(&mut self) {
        self.done += 1;
        // Looking at the clock costs more than most steps.
        if self.enabled && self.done.is_multiple_of(64) {
            self.draw();
        }
    }

    fn draw(&mut self) {
        let now = Instant::now();
        let drawn = *self.drawn.get_or_insert(now);
        if now.duration_since(drawn) < EVERY {
            return;
        }
        self.drawn = Some(now);
        self.shown = true;
        let total = self.total.max(1);
        let filled = (self.done.min(total) as usize * WIDTH) / total as usize;
        let bar = format!("{}{}", "#".repeat(filled), "-".repeat(WIDTH - filled));
        let percent = self.done.min(total) * 100 / total;
        // A terminal that went away is no reason to stop the work.
        let _ = write!(std::io::stderr(), "\r{:<28} [{bar}] {percent:>3} %", self.label);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r{:width$}\r", "", width = WIDTH + 40);
        }
    }
}
