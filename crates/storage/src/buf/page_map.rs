//! Page id to frame: chains through the frame descriptors, looked up without a mutex.
//!
//! A lookup walks a chain while others change it. It may be led astray into another chain or miss an entry that
//! moves; it never follows anything but valid frame numbers, and it stops after a bounded number of steps. A hit
//! is always true at the moment the id was compared; a miss of [`PageMap::peek`] may be false, which is why
//! [`PageMap::find`] repeats it under the shard's mutex.

use super::frame::{Frame, NO_PAGE};
use crate::frames::prefetch;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use vaquita_base::PageId;

const SHARDS: usize = 64;
/// Chains have one entry on average; a walk longer than this has gone astray.
const STEPS_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct PageMap {
    /// First frame of each chain plus one; 0: empty.
    heads: Box<[AtomicU32]>,
    shards: Vec<Mutex<()>>,
}

impl PageMap {
    pub(super) fn new(frames: usize) -> Self {
        let buckets = (frames * 2).next_power_of_two().max(SHARDS);
        Self {
            heads: (0..buckets).map(|_| AtomicU32::new(0)).collect(),
            shards: (0..SHARDS).map(|_| Mutex::new(())).collect(),
        }
    }

    #[inline]
    fn bucket(&self, id: u64) -> usize {
        // Fibonacci hashing: the high bits of the product depend on all bits of the id.
        (id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & (self.heads.len() - 1)
    }

    fn shard(&self, bucket: usize) -> &Mutex<()> {
        &self.shards[bucket % SHARDS]
    }

    #[inline]
    fn walk(&self, frames: &[Frame], id: u64, bucket: usize) -> Option<u32> {
        let mut at = self.heads[bucket].load(Ordering::Acquire);
        for _ in 0..STEPS_MAX {
            let frame_no = at.checked_sub(1)?;
            let frame = &frames[frame_no as usize];
            if frame.page_id() == id {
                return Some(frame_no);
            }
            at = frame.hash_next.load(Ordering::Acquire);
        }
        None
    }

    /// Has the processor fetch where the chain of `page` begins.
    #[inline]
    pub(super) fn prefetch(&self, page: PageId) {
        prefetch(&self.heads[self.bucket(page.as_u64())]);
    }

    /// The first frame of the chain of `page`: mostly its own.
    #[inline]
    pub(super) fn first_of(&self, page: PageId) -> Option<u32> {
        self.heads[self.bucket(page.as_u64())].load(Ordering::Acquire).checked_sub(1)
    }

    /// The frame of `page`, if a walk without mutex comes across it.
    #[inline]
    pub(super) fn peek(&self, frames: &[Frame], page: PageId) -> Option<u32> {
        let id = page.as_u64();
        self.walk(frames, id, self.bucket(id))
    }

    /// The frame of `page`.
    #[inline]
    pub(super) fn find(&self, frames: &[Frame], page: PageId) -> Option<u32> {
        let id = page.as_u64();
        let bucket = self.bucket(id);
        self.walk(frames, id, bucket).or_else(|| self.find_locked(frames, id, bucket))
    }

    #[cold]
    fn find_locked(&self, frames: &[Frame], id: u64, bucket: usize) -> Option<u32> {
        let _shard = self.shard(bucket).lock();
        self.chain(frames, bucket).find(|&f| frames[f as usize].page_id() == id)
    }

    /// Enters `page` with an exclusively latched, unnamed frame; false if the page has a frame already.
    pub(super) fn insert(&self, frames: &[Frame], page: PageId, frame_no: u32) -> bool {
        let id = page.as_u64();
        let bucket = self.bucket(id);
        let _shard = self.shard(bucket).lock();
        if self.chain(frames, bucket).any(|f| frames[f as usize].page_id() == id) {
            return false;
        }
        let frame = &frames[frame_no as usize];
        debug_assert_eq!(frame.page_id(), NO_PAGE, "frame {frame_no} has a page and is to get page {page}");
        debug_assert!(frame.latch.is_exclusive(), "frame {frame_no} gets page {page} without its latch");
        frame.hash_next.store(self.heads[bucket].load(Ordering::Relaxed), Ordering::Release);
        frame.set_page_id(id);
        self.heads[bucket].store(frame_no + 1, Ordering::Release);
        true
    }

    /// Removes an exclusively latched frame and takes its name away.
    pub(super) fn remove(&self, frames: &[Frame], frame_no: u32) {
        let frame = &frames[frame_no as usize];
        debug_assert!(frame.latch.is_exclusive(), "frame {frame_no} loses its page without its latch");
        debug_assert_ne!(frame.page_id(), NO_PAGE, "frame {frame_no} has no page to lose");
        let bucket = self.bucket(frame.page_id());
        let _shard = self.shard(bucket).lock();
        let next = frame.hash_next.load(Ordering::Relaxed);
        if self.heads[bucket].load(Ordering::Relaxed) == frame_no + 1 {
            self.heads[bucket].store(next, Ordering::Release);
        } else {
            let before = self
                .chain(frames, bucket)
                .find(|&f| frames[f as usize].hash_next.load(Ordering::Relaxed) == frame_no + 1)
                .expect("a named frame is in its chain");
            frames[before as usize].hash_next.store(next, Ordering::Release);
        }
        frame.set_page_id(NO_PAGE);
    }

    /// The frames of a chain; the shard's mutex is held.
    fn chain<'a>(&'a self, frames: &'a [Frame], bucket: usize) -> impl Iterator<Item = u32> + 'a {
        let mut at = self.heads[bucket].load(Ordering::Relaxed);
        std::iter::from_fn(move || {
            let frame_no = at.checked_sub(1)?;
            at = frames[frame_no as usize].hash_next.load(Ordering::Relaxed);
            Some(frame_no)
        })
    }
}
