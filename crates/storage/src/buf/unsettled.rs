//! Which pages of the pool have still to be written, or are being written.

use super::frame::Frame;
use super::{BufferPool, NO_PAGE};
use vaquita_base::{PageId, PageNo, SpaceId};

/// Pages that are not in their places yet.
#[derive(Debug, Default)]
pub(crate) struct Unsettled {
    /// Frames of those that are dirty, and that nobody is writing.
    pub(crate) dirty: Vec<u32>,
    /// There are others that somebody is writing.
    pub(crate) under_way: bool,
}

impl Unsettled {
    fn add(&mut self, frame_no: u32, frame: &Frame) {
        match frame.unsettled() {
            Some(true) => self.under_way = true,
            Some(false) => self.dirty.push(frame_no),
            None => {}
        }
    }

    /// All of them are in their places.
    pub(crate) fn is_empty(&self) -> bool {
        self.dirty.is_empty() && !self.under_way
    }
}

impl BufferPool {
    /// Those of `pages` that are unsettled.
    pub(crate) fn unsettled(&self, pages: impl Iterator<Item = PageId>) -> Unsettled {
        let mut unsettled = Unsettled::default();
        // A page that a walk of the map misses by chance would be taken for written.
        for frame_no in pages.filter_map(|page| self.map.find(&self.frames, page)) {
            unsettled.add(frame_no, self.frame(frame_no));
        }
        unsettled
    }

    /// The pages of a space that are unsettled: asks for each page, or looks at every frame where that are fewer.
    pub(crate) fn unsettled_of(&self, space: SpaceId) -> Unsettled {
        if let Some(pages) = self.fewer_than_frames(space, 0..u32::MAX) {
            return self.unsettled(pages.map(|no| PageId::new(space, PageNo(no))));
        }
        let mut unsettled = Unsettled::default();
        for (frame_no, frame) in (0..).zip(&self.frames) {
            let word = frame.page_id();
            if word != NO_PAGE && PageId::from_u64(word).space == space {
                unsettled.add(frame_no, frame);
            }
        }
        unsettled
    }
}
