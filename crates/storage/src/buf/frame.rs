//! Frame descriptors: the hot state of a page in memory, one cache line each.

use crate::latch::PageLatch;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// The page id of a frame without a page.
pub(crate) const NO_PAGE: u64 = u64::MAX;

/// State of one frame. Aligned so that no two frames share a cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Frame {
    /// Guards the bytes and `page_id`.
    pub(crate) latch: PageLatch,
    page_id: AtomicU64,
    /// LSN of the first change that is not in the file, 0 when clean. Changed under the flush list mutex.
    oldest_modification: AtomicU64,
    /// End LSN of the last change. Changed under the exclusive latch.
    pub(crate) newest_modification: AtomicU64,
    /// Next frame of the page map's chain plus one.
    pub(crate) hash_next: AtomicU32,
    /// Pool clock of the first use; 0: read ahead and not used yet.
    pub(crate) access_ms: AtomicU32,
    /// The instance's eviction count when the page last moved to the young end.
    pub(crate) freed_clock: AtomicU32,
    /// Whether it is behind the midpoint. Changed under the LRU mutex, read without.
    pub(crate) is_old: AtomicBool,
    /// A copy of the page is being written.
    pub(crate) flushing: AtomicBool,
    /// Shard the frame belongs to, for good.
    pub(crate) instance: u8,
}

const _: () = assert!(size_of::<Frame>() == 64, "one cache line of hot state");

impl Frame {
    pub(crate) fn new(instance: u8) -> Self {
        Self {
            latch: PageLatch::new(),
            page_id: AtomicU64::new(NO_PAGE),
            oldest_modification: AtomicU64::new(0),
            newest_modification: AtomicU64::new(0),
            hash_next: AtomicU32::new(0),
            access_ms: AtomicU32::new(0),
            freed_clock: AtomicU32::new(0),
            is_old: AtomicBool::new(false),
            flushing: AtomicBool::new(false),
            instance,
        }
    }

    #[inline]
    pub(crate) fn page_id(&self) -> u64 {
        self.page_id.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn set_page_id(&self, id: u64) {
        self.page_id.store(id, Ordering::Release);
    }

    #[inline]
    pub(crate) fn oldest_modification(&self) -> u64 {
        self.oldest_modification.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn set_oldest_modification(&self, lsn: u64) {
        self.oldest_modification.store(lsn, Ordering::Release);
    }

    /// Nothing of the page has to be written, or is being written.
    #[inline]
    pub(crate) fn is_clean(&self) -> bool {
        self.unsettled().is_none()
    }

    /// Whether a page that is dirty or on its way to the disk is on its way.
    #[inline]
    pub(crate) fn unsettled(&self) -> Option<bool> {
        // A frame leaves the dirty ones after it was marked as being on its way.
        let dirty = self.oldest_modification() != 0;
        let under_way = self.flushing.load(Ordering::Acquire);
        (dirty || under_way).then_some(under_way)
    }
}
