//! Links of the frames of one instance: an array that knows frames by their numbers in the pool.

use std::ops::{Index, IndexMut, Range};

/// A link for each frame of a run of frames.
#[derive(Debug)]
pub(super) struct Links<L> {
    first: u32,
    links: Vec<L>,
}

impl<L: Clone> Links<L> {
    /// One for each of these frames.
    pub(super) fn new(frames: Range<u32>, link: L) -> Self {
        Self { first: frames.start, links: vec![link; frames.len()] }
    }

    /// The frames.
    pub(super) fn frames(&self) -> Range<u32> {
        self.first..self.first + self.links.len() as u32
    }
}

impl<L> Index<u32> for Links<L> {
    type Output = L;

    #[inline]
    fn index(&self, frame: u32) -> &L {
        &self.links[(frame - self.first) as usize]
    }
}

impl<L> IndexMut<u32> for Links<L> {
    #[inline]
    fn index_mut(&mut self, frame: u32) -> &mut L {
        &mut self.links[(frame - self.first) as usize]
    }
}
