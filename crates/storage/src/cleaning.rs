//! A share of the page cleaner's step: free frames and old pages of one instance of the pool.

use crate::buf::{BufferPool, Instance};
use crate::error::Result;
use crate::flush::Flusher;
use vaquita_base::Lsn;

/// What a step did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CleanerReport {
    /// Frames freed at the eviction end.
    pub freed: usize,
    /// Pages written from the eviction end.
    pub lru_written: usize,
    /// Pages written by age.
    pub list_written: usize,
}

/// What a step does in one instance of the pool.
#[derive(Debug)]
pub(crate) struct Share {
    instance: usize,
    /// Frames to keep free at the eviction end.
    lru_depth: usize,
    /// Pages to write by age.
    by_age: usize,
    /// What was done.
    pub(crate) report: CleanerReport,
}

impl Share {
    /// Nothing is done yet.
    pub(crate) fn new(instance: usize, lru_depth: usize, by_age: usize) -> Self {
        Share { instance, lru_depth, by_age, report: CleanerReport::default() }
    }

    /// Does it.
    ///
    /// # Errors
    /// Errors of writing pages or the log; they are final.
    pub(crate) fn clean(&mut self, pool: &BufferPool, flusher: &Flusher) -> Result<()> {
        let instance = &pool.instances()[self.instance];
        self.clean_lru(pool, flusher, instance)?;
        self.report.list_written = flusher.flush_oldest_of(pool, instance, self.by_age, Lsn::MAX)?;
        Ok(())
    }

    /// Keeps `lru_depth` frames (at most an eighth of the instance's) free.
    fn clean_lru(&mut self, pool: &BufferPool, flusher: &Flusher, instance: &Instance) -> Result<()> {
        let per_instance = pool.frame_count() / pool.instances().len();
        let want = self.lru_depth.min(per_instance / 8);
        loop {
            self.report.freed += pool.refill_free(instance, want);
            let short = want.saturating_sub(pool.free_in(instance));
            if short == 0 {
                return Ok(());
            }
            let dirty = pool.dirty_lru_tail(instance, short);
            let written = flusher.flush_frames(pool, &dirty)?;
            self.report.lru_written += written;
            if written == 0 {
                return Ok(());
            }
        }
    }
}
