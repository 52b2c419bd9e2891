//! Checkpoints: where recovery starts, and so how much of the files is free again.
//!
//! # Crash
//! Two fields in file 0 are written in turn, so one valid checkpoint stays whatever happens to the other. The
//! number in block headers counts up only after the checkpoint is durable (I3 of the module).

use parking_lot::Mutex;
use vaquita_base::Lsn;
use vaquita_format::redo_file::Checkpoint;

use super::RedoLog;
use super::error::Result;
use super::sync::{AtomicU64, Ordering};

/// The last durable checkpoint.
#[derive(Debug)]
pub(super) struct CheckpointState {
    /// Held while one is written.
    writing: Mutex<()>,
    lsn: AtomicU64,
    next_number: AtomicU64,
}

impl CheckpointState {
    pub(super) fn new(last: &Checkpoint) -> Self {
        Self {
            writing: Mutex::new(()),
            lsn: AtomicU64::new(last.lsn.get()),
            next_number: AtomicU64::new(last.number + 1),
        }
    }

    /// Number of the next checkpoint.
    pub(super) fn next_number(&self) -> u64 {
        self.next_number.load(Ordering::Acquire)
    }
}

impl RedoLog {
    /// LSN of the last checkpoint.
    pub fn checkpoint_lsn(&self) -> Lsn {
        Lsn(self.checkpoint.lsn.load(Ordering::Acquire))
    }

    /// Makes a checkpoint at `lsn` durable, and the log up to there first. An LSN not above the last checkpoint's
    /// writes nothing.
    ///
    /// The caller answers for it that `lsn` is the start or end of a mini-transaction and that every change before
    /// it is durable in the data files.
    ///
    /// # Errors
    /// A failed write or sync, which is final.
    ///
    /// # Panics
    /// If pages changed before `lsn` may not be on the flush lists yet: the caller cannot have looked at them.
    pub fn write_checkpoint(&self, lsn: Lsn) -> Result<()> {
        let added = self.dirty_pages_added_up_to();
        assert!(lsn <= added, "checkpoint at {lsn}, but dirty pages are added only up to {added}");
        let _writing = self.checkpoint.writing.lock();
        self.check_alive()?;
        if lsn <= self.checkpoint_lsn() {
            return Ok(());
        }
        self.flush_up_to(lsn)?;
        let durable = self.flushed_lsn();
        assert!(lsn <= durable, "checkpoint at {lsn}, but the log is durable only up to {durable}");
        let number = self.checkpoint.next_number();
        let checkpoint = Checkpoint {
            number,
            lsn,
            offset: self.geometry().offset(lsn, self.anchor),
            buffer_size: u32::try_from(self.config.buffer_bytes).unwrap_or(u32::MAX),
        };
        if let Err(error) = self.files.write_checkpoint(&checkpoint) {
            return Err(self.fail(error));
        }
        self.checkpoint.next_number.store(number + 1, Ordering::Release);
        self.checkpoint.lsn.store(lsn.get(), Ordering::Release);
        self.stats.checkpoints.add(1);
        self.room.wake_all();
        Ok(())
    }
}
