//! Pages that are dropped from the pool, dirty or not: their tablespace goes, or gets shorter.

use super::{BufferPool, NO_PAGE};
use std::ops::Range;
use std::sync::atomic::Ordering;
use vaquita_base::{PageId, PageNo, SpaceId};

impl BufferPool {
    /// Drops every page of a space from the pool, dirty or not.
    ///
    /// # Latching
    /// Waits for the latches of those pages; the caller holds none of them.
    pub fn discard_space(&self, space: SpaceId) {
        self.discard(space, 0..u32::MAX);
    }

    /// Drops `n` pages from `first` on, dirty or not.
    pub(crate) fn discard_range(&self, first: PageId, n: u32) {
        self.discard(first.space, first.page_no.0..first.page_no.0.saturating_add(n));
    }

    /// Drops the pages of a space from `first` on, dirty or not (truncation).
    pub fn discard_tail(&self, first: PageId) {
        self.discard(first.space, first.page_no.0..u32::MAX);
    }

    /// Asks for each page the space has, or looks at every frame where that are fewer; how often it looked.
    fn discard(&self, space: SpaceId, pages: Range<u32>) -> usize {
        let Some(pages) = self.fewer_than_frames(space, pages.clone()) else {
            for frame_no in 0..self.frames.len() as u32 {
                self.discard_frame(frame_no, |id| id.space == space && pages.contains(&id.page_no.0));
            }
            return self.frames.len();
        };
        for no in pages.clone() {
            let page = PageId::new(space, PageNo(no));
            while let Some(frame_no) = self.map.find(&self.frames, page) {
                self.discard_frame(frame_no, |id| id == page);
            }
        }
        pages.len()
    }

    /// Those of the pages that the space has, unless that are more than there are frames. One that is not attached has pages of
    /// unknown numbers.
    pub(super) fn fewer_than_frames(&self, space: SpaceId, pages: Range<u32>) -> Option<Range<u32>> {
        let size = self.spaces.get(space).map_or(u32::MAX, |space| space.size_pages());
        let pages = pages.start..pages.end.min(size);
        (pages.len() <= self.frames.len()).then_some(pages)
    }

    /// Drops the page of a frame if it is one of those.
    fn discard_frame(&self, frame_no: u32, select: impl Fn(PageId) -> bool) {
        let selected = |word: u64| word != NO_PAGE && select(PageId::from_u64(word));
        let frame = self.frame(frame_no);
        while selected(frame.page_id()) {
            frame.latch.lock_exclusive(&self.lot, frame_no as usize);
            if !selected(frame.page_id()) || frame.flushing.load(Ordering::Acquire) {
                frame.latch.unlock_exclusive(&self.lot, frame_no as usize);
                std::thread::yield_now();
                continue;
            }
            let instance = &self.instances[usize::from(frame.instance)];
            instance.flush.lock().remove(&self.frames, frame_no);
            let mut lru = instance.lru.lock();
            if lru.contains(frame_no) {
                lru.remove(&self.frames, frame_no);
            }
            self.map.remove(&self.frames, frame_no);
            drop(lru);
            self.release_free(frame_no);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Options, Storage, SystemFile};
    use std::path::Path;
    use std::sync::Arc;
    use vaquita_base::{ManualClock, PageId, PageNo, SpaceId};
    use vaquita_format::PageSize;
    use vaquita_format::flags::SpaceFlags;
    use vaquita_io::sim::SimDisk;

    /// Dropping a small table in a large pool looked at every frame.
    #[test]
    fn a_small_space_is_dropped_without_a_walk_of_the_pool() {
        let disk = SimDisk::new(1);
        disk.put_dir(Path::new("/db"));
        let options = Options {
            page_size: PageSize::new(4096).unwrap(),
            buffer_pool_size: 2_000 * 4096,
            data_file_path: vec![SystemFile { name: "ibdata1".into(), size_bytes: 4 << 20 }],
            log_file_size: 512 << 10,
            log_buffer_size: 64 << 10,
            ..Options::new("/db")
        };
        let storage = Storage::open(Arc::new(disk), Arc::new(ManualClock::new()), options).unwrap();
        let flags = SpaceFlags::new(storage.options().page_size, false, false).unwrap();
        for (id, name) in [(SpaceId(7), "t"), (SpaceId(8), "u")] {
            storage.create_table_space(id, flags, name).unwrap();
        }
        let pool = storage.pool();
        let (page, other) = (PageId::new(SpaceId(7), PageNo(0)), PageId::new(SpaceId(8), PageNo(0)));
        let pages = storage.spaces().get(SpaceId(7)).unwrap().size_pages() as usize;
        assert!(pool.contains(page) && pool.contains(other) && pages < 100);
        let dirty = pool.dirty_count();
        assert_eq!(pool.discard(SpaceId(7), 0..u32::MAX), pages);
        assert!(!pool.contains(page) && pool.contains(other) && pool.dirty_count() < dirty);
        pool.validate();
        // A space that is not attached may have any pages.
        storage.spaces().detach(SpaceId(8));
        assert_eq!(pool.discard(SpaceId(8), 0..u32::MAX), pool.frame_count());
        assert!(!pool.contains(other));
        pool.validate();
    }
}
