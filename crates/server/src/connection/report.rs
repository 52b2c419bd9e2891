//! Reports of progress while a statement runs: what clients of MariaDB get that ask for them.
//!
//! A thread beside the statement looks again and again at how far it is. Both send by the same line: until the statement has something
//! to reply the line is nobody's, from then on, up to the end of a result that another one follows, it is the reply's.

use super::commands::Line;
use crate::backend::{Report, Watch};
use crate::protocol::reply::push_progress;
use parking_lot::{Mutex, MutexGuard};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Time between two looks at a statement.
const LOOK: Duration = Duration::from_millis(100);

/// What replies go out by.
pub(super) enum Way<'r, 'l> {
    /// It is the reply's alone.
    Own(&'r mut Line<'l>),
    /// Nobody uses it, but for a report.
    Shared(&'r Mutex<&'r mut Line<'l>>),
    /// The reply has it.
    Held(&'r Mutex<&'r mut Line<'l>>, MutexGuard<'r, &'r mut Line<'l>>),
}

impl<'r, 'l> Way<'r, 'l> {
    /// The line, which is the reply's from now on.
    #[inline]
    pub(super) fn get(&mut self) -> &mut Line<'l> {
        if let Way::Shared(line) = self {
            *self = Way::Held(line, line.lock());
        }
        match self {
            Way::Own(line) => line,
            Way::Held(_, line) => line,
            Way::Shared(_) => unreachable!("it is held"),
        }
    }

    /// Another statement follows, which may have something to report before it replies.
    pub(super) fn share(&mut self) {
        if let Way::Held(line, _) = self {
            *self = Way::Shared(line);
        }
    }

    /// Bytes of replies that are not sent.
    #[inline]
    pub(super) fn replied(&self) -> usize {
        match self {
            Way::Own(line) => line.out.buf.len(),
            Way::Held(_, line) => line.out.buf.len(),
            Way::Shared(_) => 0,
        }
    }
}

/// What a client wants to be told.
pub(super) struct Reports {
    pub(super) watch: Watch,
    /// Time between two reports of one stage.
    pub(super) interval: Duration,
}

/// Runs a statement that replies by a way, with reports beside it if there are to be some.
pub(super) fn reporting<'l, R>(
    line: &mut Line<'l>,
    reports: Option<Reports>,
    body: impl FnOnce(Way<'_, 'l>) -> R,
) -> R {
    let Some(reports) = reports else { return body(Way::Own(line)) };
    let line = Mutex::new(line);
    let (running, ended) = channel::<()>();
    std::thread::scope(|scope| {
        let shared = &line;
        let beside = move || reports.run(shared, &ended);
        // Without a thread there are no reports; the statement runs all the same.
        let _ = std::thread::Builder::new().name("progress".into()).spawn_scoped(scope, beside);
        let done = body(Way::Shared(shared));
        drop(running);
        done
    })
}

impl Reports {
    /// Reports until the statement has ended, or the client is gone.
    fn run(&self, line: &Mutex<&mut Line<'_>>, ended: &Receiver<()>) {
        let mut last: Option<(Instant, u32)> = None;
        while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            let Some(report) = (self.watch)() else { continue };
            let is_due =
                last.is_none_or(|(at, stage)| stage != report.stage || at.elapsed() >= self.interval);
            // Where the reply has the line, it comes before the statement ends.
            let Some(mut line) = line.try_lock().filter(|_| is_due) else { continue };
            match line.report(&report) {
                Ok(true) => last = Some((Instant::now(), report.stage)),
                Ok(false) => {}
                // The statement finds out when it replies.
                Err(_) => return,
            }
        }
    }
}

impl Line<'_> {
    /// Sends a report, unless the client is slow, or a commit is not durable that earlier replies tell of.
    fn report(&mut self, report: &Report) -> io::Result<bool> {
        let waits = self.durable.as_ref().is_some_and(|durable| durable.is_to_be_waited_for());
        if waits && !self.out.buf.is_empty() || self.channel.has_unsent() && !self.channel.flush()? {
            return Ok(false);
        }
        let stage = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
        push_progress(self.out, stage(report.stage), stage(report.stages), thousandths(report), report.what);
        self.channel.send(&mut self.out.buf)?;
        Ok(true)
    }
}

/// What is done of a stage, in thousandths of a percent.
fn thousandths(report: &Report) -> u32 {
    let share = u128::from(report.done) * 100_000 / u128::from(report.of.max(1));
    u32::try_from(share).map_or(100_000, |share| share.min(100_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_stage() {
        let report = |done, of| thousandths(&Report { stage: 1, stages: 2, done, of, what: "" });
        assert_eq!([report(0, 0), report(0, 9), report(1, 3), report(9, 9)], [0, 0, 33_333, 100_000]);
        assert_eq!(report(u64::MAX, u64::MAX), 100_000);
        assert_eq!(report(5, 4), 100_000);
    }
}
