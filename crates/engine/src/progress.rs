//! How far a change of a definition is, for whoever looks from another thread.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// What it is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// None is under way.
    Idle,
    /// The rows are read.
    Scan,
    /// What was read is sorted, and trees are made of it.
    Load,
    /// What others have changed meanwhile is applied.
    Log,
    /// The new definition takes the place of the old one.
    Commit,
}

impl Stage {
    const ALL: [Stage; 5] = [Stage::Idle, Stage::Scan, Stage::Load, Stage::Log, Stage::Commit];
}

/// What a change is at, and how much of its work is done.
#[derive(Debug, Default)]
pub struct Progress {
    stage: AtomicU8,
    completed: AtomicU64,
    estimated: AtomicU64,
}

impl Progress {
    /// What it is at.
    pub fn stage(&self) -> Stage {
        Stage::ALL[usize::from(self.stage.load(Ordering::Relaxed)) % Stage::ALL.len()]
    }

    /// Rows, entries and records that were gone through, of all stages.
    pub fn work_completed(&self) -> u64 {
        self.completed.load(Ordering::Relaxed)
    }

    /// How many there will be, as far as is known; never less than are done.
    pub fn work_estimated(&self) -> u64 {
        self.estimated.load(Ordering::Relaxed).max(self.work_completed())
    }

    /// Begins, with so much work to be expected.
    pub(crate) fn begin(&self, estimated: u64) {
        self.completed.store(0, Ordering::Relaxed);
        self.estimated.store(estimated, Ordering::Relaxed);
    }

    /// Goes to a stage.
    pub(crate) fn enter(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::Relaxed);
    }

    /// Counts work that is done.
    pub(crate) fn add(&self, work: u64) {
        self.completed.fetch_add(work, Ordering::Relaxed);
    }

    /// Counts work to come.
    pub(crate) fn expect(&self, work: u64) {
        self.estimated.fetch_add(work, Ordering::Relaxed);
    }
}
