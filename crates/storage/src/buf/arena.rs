//! Frames lent out as plain memory: recovery keeps redo records in them.

use super::BufferPool;
use super::reader::Fetched;
use crate::error::Result;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use vaquita_base::PageId;

/// A frame without a page, exclusively latched by its borrower until it is dropped.
#[derive(Debug)]
pub(crate) struct ArenaFrame {
    pool: Arc<BufferPool>,
    frame: u32,
}

impl Deref for ArenaFrame {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the frame's exclusive latch is held as long as this value lives.
        unsafe { self.pool.memory().bytes(self.frame) }
    }
}

impl DerefMut for ArenaFrame {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes this the only reference.
        unsafe { self.pool.memory().bytes_mut(self.frame) }
    }
}

impl Drop for ArenaFrame {
    fn drop(&mut self) {
        self.pool.release_free(self.frame);
    }
}

impl BufferPool {
    /// Lends a free frame of the instance that has most; `None` if no instance has more than a quarter of its
    /// frames free.
    pub(crate) fn lend_frame(pool: &Arc<BufferPool>) -> Option<ArenaFrame> {
        let keep = pool.frames.len() / pool.instances.len() / 4;
        let richest = pool.instances.iter().max_by_key(|i| pool.free_in(i))?;
        let frame = {
            let mut free = richest.free.lock();
            if free.len() <= keep {
                return None;
            }
            free.pop()?
        };
        pool.frame(frame).latch.lock_exclusive(&pool.lot, frame as usize);
        Some(ArenaFrame { pool: pool.clone(), frame })
    }

    /// Reads the pages that are not in the pool, and applies the after-read hook to those that are.
    pub(crate) fn bring_up_to_date(&self, pages: &[PageId]) -> Result<()> {
        let mut present = Vec::new();
        let mut failure = None;
        self.fetch_batch(pages, true, &mut |page, fetched| match fetched {
            Fetched::Read => {}
            Fetched::Present => present.push(page),
            Fetched::Failed(e) => {
                failure.get_or_insert(e);
            }
        })?;
        if let Some(e) = failure {
            return Err(e);
        }
        for page in present {
            let mut guard = self.get_exclusive(page)?;
            self.apply_after_read(&mut guard)?;
        }
        Ok(())
    }
}
