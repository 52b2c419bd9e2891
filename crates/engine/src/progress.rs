//! How far a long statement is, for whoever looks from another thread: a change of a definition, a check, rows that are loaded from a
//! file.
//!
//! The work is counted once, over the whole of it, and divided into *phases*, which follow each other and of whose work the share is
//! known that is done. A *stage* is what is being done just now; several threads may be at different stages of one phase, and then the
//! one counts that was entered last.
//!
//! | phase | stages |
//! |---|---|
//! | rows are gone through | [`Stage::Scan`], [`Stage::References`], [`Stage::Copy`], [`Stage::File`], [`Stage::Check`] |
//! | trees are made | [`Stage::Sort`], [`Stage::Load`], [`Stage::Flush`] |
//! | what others did meanwhile | [`Stage::LogIndex`], [`Stage::LogTable`] |
//! | the end | [`Stage::Commit`] |

use parking_lot::{Mutex, RwLock};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_base::Clock;

/// What it is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// None is under way.
    Idle,
    /// The rows are read, and their entries sorted in memory.
    Scan,
    /// Rows are held against foreign keys that come.
    References,
    /// Rows are inserted into the table that is to take the place, one by one.
    Copy,
    /// Rows are read from a file.
    File,
    /// A table is checked.
    Check,
    /// What was sorted in parts is merged.
    Sort,
    /// Trees are made.
    Load,
    /// Their pages are written.
    Flush,
    /// What others have changed meanwhile is applied to new indexes.
    LogIndex,
    /// The same, to a table that is written anew.
    LogTable,
    /// The new definition takes the place of the old one.
    Commit,
}

impl Stage {
    /// Number of its phase; 0 is none.
    fn phase(self) -> usize {
        match self {
            Stage::Idle => 0,
            Stage::Scan | Stage::References | Stage::Copy | Stage::File | Stage::Check => 1,
            Stage::Sort | Stage::Load | Stage::Flush => 2,
            Stage::LogIndex | Stage::LogTable => 3,
            Stage::Commit => 4,
        }
    }
}

/// Phases there may be.
const PHASES: usize = 4;

/// A look at a statement under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    /// What it is at.
    pub stage: Stage,
    /// How many stages the session has begun, with this one.
    pub number: u64,
    /// When this one began, in microseconds of the folder's clock.
    pub since_us: u64,
    /// The time of the look, by the same clock.
    pub now_us: u64,
    /// Rows, entries, records or bytes that were gone through, in all phases.
    pub completed: u64,
    /// How many there will be, as far as is known; never less than are done.
    pub estimated: u64,
    /// The phase, from 1 on.
    pub phase: u32,
    /// How many phases there are.
    pub phases: u32,
    /// What was done of the phase's work.
    pub phase_completed: u64,
    /// The phase's work, as far as is known; never less than is done.
    pub phase_estimated: u64,
}

/// What a statement is at, and how much of its work is done.
#[derive(Debug)]
pub struct Progress {
    clock: Arc<dyn Clock>,
    completed: AtomicU64,
    estimated: AtomicU64,
    at: Mutex<At>,
    watcher: RwLock<Watcher>,
}

/// Called where work is told of; see [`Progress::watch`].
#[derive(Default)]
struct Watcher(Option<Box<dyn Fn() + Send + Sync>>);

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Watcher" } else { "nobody" })
    }
}

#[derive(Debug)]
struct At {
    stage: Stage,
    number: u64,
    since_us: u64,
    phase: usize,
    /// Which phases there will be, by number.
    planned: [bool; PHASES + 1],
    /// Work that was done before the phase.
    before: u64,
    /// What was expected of the first two phases.
    expected: [u64; 2],
    /// What was expected in all when the phase began.
    expected_before: u64,
}

impl At {
    /// How many phases there are up to one.
    fn planned_until(&self, phase: usize) -> u32 {
        self.planned[..=phase].iter().filter(|planned| **planned).count() as u32
    }
}

impl Progress {
    /// Of a session that is at nothing.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Progress {
        let at = At {
            stage: Stage::Idle,
            number: 0,
            since_us: 0,
            phase: 0,
            planned: [false; PHASES + 1],
            before: 0,
            expected: [0; 2],
            expected_before: 0,
        };
        let (completed, estimated) = (AtomicU64::new(0), AtomicU64::new(0));
        Progress { clock, completed, estimated, at: Mutex::new(at), watcher: RwLock::default() }
    }

    /// Has somebody called at every stage and step of the work, by the thread that does it, when it keeps nobody from anything but by
    /// metadata locks: tests let others work in the midst.
    pub fn watch(&self, watcher: Option<Box<dyn Fn() + Send + Sync>>) {
        *self.watcher.write() = Watcher(watcher);
    }

    fn tell(&self) {
        if let Some(watcher) = &self.watcher.read().0 {
            watcher();
        }
    }

    /// What it is at.
    pub fn stage(&self) -> Stage {
        self.at.lock().stage
    }

    /// What is to be seen of a statement that is under way.
    pub fn sight(&self) -> Option<Sight> {
        let at = self.at.lock();
        if at.stage == Stage::Idle {
            return None;
        }
        let completed = self.work_completed();
        let phase_completed = completed.saturating_sub(at.before);
        let expected = match at.expected.get(at.phase - 1) {
            Some(expected) => *expected,
            None => self.estimated.load(Ordering::Relaxed).saturating_sub(at.expected_before),
        };
        Some(Sight {
            stage: at.stage,
            number: at.number,
            since_us: at.since_us,
            now_us: self.clock.now_us().max(at.since_us),
            completed,
            estimated: self.work_estimated(),
            phase: at.planned_until(at.phase),
            phases: at.planned_until(PHASES),
            phase_completed,
            phase_estimated: expected.max(phase_completed),
        })
    }

    /// Work that was done of what was begun last.
    pub fn work_completed(&self) -> u64 {
        self.completed.load(Ordering::Relaxed)
    }

    /// How much there will be, as far as is known; never less than is done.
    pub fn work_estimated(&self) -> u64 {
        self.estimated.load(Ordering::Relaxed).max(self.work_completed())
    }

    /// Begins a change of a definition: so much work is to be expected of going through rows, so much of making trees, if some are
    /// made; `log`: others change rows meanwhile.
    pub(crate) fn begin(&self, rows: u64, trees: Option<u64>, log: bool) {
        self.reset([rows, trees.unwrap_or(0)], [false, true, trees.is_some(), log, true]);
    }

    /// Begins something of one phase, of so much work.
    pub fn begin_stage(&self, stage: Stage, work: u64) {
        self.reset([work, 0], [false; PHASES + 1]);
        self.enter(stage);
    }

    fn reset(&self, expected: [u64; 2], planned: [bool; PHASES + 1]) {
        let mut at = self.at.lock();
        self.completed.store(0, Ordering::Relaxed);
        self.estimated.store(expected.iter().sum(), Ordering::Relaxed);
        *at = At { stage: Stage::Idle, phase: 0, planned, before: 0, expected, expected_before: 0, ..*at };
    }

    /// Goes to a stage.
    pub(crate) fn enter(&self, stage: Stage) {
        let mut at = self.at.lock();
        if at.stage == stage {
            return;
        }
        at.stage = stage;
        if stage == Stage::Idle {
            return;
        }
        at.number += 1;
        at.since_us = self.clock.now_us();
        if at.phase != stage.phase() {
            at.phase = stage.phase();
            at.planned[stage.phase()] = true;
            at.before = self.work_completed();
            at.expected_before = self.estimated.load(Ordering::Relaxed);
        }
        drop(at);
        self.tell();
    }

    /// Nothing is under way any more.
    pub fn end(&self) {
        self.enter(Stage::Idle);
    }

    /// Counts work that is done.
    pub fn add(&self, work: u64) {
        self.completed.fetch_add(work, Ordering::Relaxed);
        self.tell();
    }

    /// Counts work to come.
    pub(crate) fn expect(&self, work: u64) {
        self.estimated.fetch_add(work, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use vaquita_base::ManualClock;

    #[test]
    fn shares_are_those_of_the_phase() {
        let clock = Arc::new(ManualClock::new());
        let progress = Progress::new(clock.clone());
        assert_eq!(progress.sight(), None);
        let shares = |progress: &Progress| {
            let seen = progress.sight().unwrap();
            (seen.phase, seen.phases, seen.phase_completed, seen.phase_estimated)
        };
        progress.begin(10, Some(20), true);
        clock.advance(Duration::from_micros(7));
        progress.enter(Stage::Scan);
        progress.add(4);
        assert_eq!(shares(&progress), (1, 4, 4, 10));
        progress.add(7);
        assert_eq!(shares(&progress), (1, 4, 11, 11), "there were more rows than was known");
        progress.enter(Stage::Sort);
        progress.enter(Stage::Load);
        progress.add(5);
        assert_eq!(shares(&progress), (2, 4, 5, 20));
        clock.advance(Duration::from_micros(3));
        progress.enter(Stage::LogIndex);
        progress.expect(100);
        progress.add(25);
        assert_eq!(shares(&progress), (3, 4, 25, 100));
        clock.advance(Duration::from_micros(1));
        let seen = progress.sight().unwrap();
        assert_eq!((seen.number, seen.since_us, seen.now_us), (4, 10, 11));
        assert_eq!((seen.completed, seen.estimated), (41, 130));
        progress.enter(Stage::Commit);
        assert_eq!(shares(&progress), (4, 4, 0, 0));
        progress.end();
        assert_eq!(progress.sight(), None);
        progress.begin(5, None, false);
        assert_eq!(progress.sight(), None);
        progress.enter(Stage::Copy);
        assert_eq!(shares(&progress), (1, 2, 0, 5));
        progress.enter(Stage::Commit);
        assert_eq!(shares(&progress), (2, 2, 0, 0));
        progress.begin_stage(Stage::File, 300);
        progress.add(100);
        assert_eq!(shares(&progress), (1, 1, 100, 300));
    }
}
