//! How long a statement runs, for people who wait: a line on the terminal after two seconds, with a bar where it is known how much
//! there is to do.

use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Characters of the bar.
const BAR: u64 = 20;

/// What has been done so far.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Done {
    /// Rows read.
    pub(super) read: u64,
    /// Rows changed.
    pub(super) changed: u64,
    /// How far it is, of what tells.
    pub(super) stage: Option<StageDone>,
}

/// How far a stage of a statement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StageDone {
    pub(super) name: &'static str,
    /// Its number, from 1 on, and how many there are.
    pub(super) stage: u32,
    pub(super) stages: u32,
    /// Work that is done, and how much there is, if anything is known of it.
    pub(super) done: u64,
    pub(super) of: u64,
}

/// Says what has been done since it was made.
pub(super) type Activity = Box<dyn Fn() -> Done + Send>;

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
                // Nothing depends on the line being seen.
                let _ = write!(std::io::stderr(), "\r\x1b[K{}", line(start.elapsed().as_secs(), done));
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

/// What is shown.
fn line(seconds: u64, done: Option<Done>) -> String {
    match done {
        None => format!("{seconds} s"),
        Some(Done { stage: Some(stage), .. }) => format!("{seconds} s {}", bar(&stage)),
        Some(Done { read, changed, .. }) => format!("{seconds} s, {read} rows read, {changed} changed"),
    }
}

/// A stage: a bar and its share, if there is something to be done of which it is a share.
fn bar(stage: &StageDone) -> String {
    let StageDone { name, stage, stages, done, of } = *stage;
    let of_stages = if stages > 1 { format!("stage {stage} of {stages}: ") } else { String::new() };
    if of == 0 {
        return format!("{of_stages}{name}");
    }
    let share = |parts: u64| (u128::from(done.min(of)) * u128::from(parts) / u128::from(of)) as u64;
    let (filled, thousandths) = (share(BAR) as usize, share(1_000));
    let empty = BAR as usize - filled;
    let (whole, tenths) = (thousandths / 10, thousandths % 10);
    format!("[{}{}] {whole}.{tenths}% {of_stages}{name}", "#".repeat(filled), "-".repeat(empty))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_stage(done: u64, of: u64, stages: u32) -> Option<Done> {
        let stage = StageDone { name: "alter table (insert)", stage: 2, stages, done, of };
        Some(Done { stage: Some(stage), ..Done::default() })
    }

    #[test]
    fn what_is_shown() {
        assert_eq!(line(3, None), "3 s");
        assert_eq!(line(3, Some(Done { read: 7, changed: 1, stage: None })), "3 s, 7 rows read, 1 changed");
        assert_eq!(
            line(12, of_stage(330, 1_000, 4)),
            "12 s [######--------------] 33.0% stage 2 of 4: alter table (insert)"
        );
        assert_eq!(line(2, of_stage(9, 9, 1)), "2 s [####################] 100.0% alter table (insert)");
        assert_eq!(line(2, of_stage(0, 9, 1)), "2 s [--------------------] 0.0% alter table (insert)");
        assert_eq!(line(2, of_stage(0, 0, 3)), "2 s stage 2 of 3: alter table (insert)");
        assert_eq!(
            line(2, of_stage(u64::MAX, u64::MAX, 1)),
            "2 s [####################] 100.0% alter table (insert)"
        );
    }
}
