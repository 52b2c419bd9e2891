//! Giving pages and whole segments back.
//!
//! A freed page keeps its bytes; that it is free is known from its extent's bitmap alone.
//!
//! # Crash
//! A segment is freed from its last page to its first, in steps. The page that holds the segment header goes last,
//! so that whoever finds the segment half freed can go on.

use super::SpaceLatch;
use super::list;
use super::segment::Segment;
use super::xdes::{self, Extent};
use crate::error::Result;
use crate::mtr::Mtr;
use vaquita_base::PageNo;
use vaquita_format::flst::SegmentHeader;
use vaquita_format::fsp::ExtentState;
use vaquita_format::fsp::inode::{FREE, FULL, NOT_FULL};

/// Frees a page of a segment.
///
/// # Errors
/// [`crate::Error::Structure`] if the page is free or not the segment's; errors of reading pages, other damage.
///
/// # Latching
/// Latches page 0 until the end of the mini-transaction. The freed page may be held: it comes before page 0.
pub fn free_page(mtr: &mut Mtr<'_>, segment: SegmentHeader, page: PageNo) -> Result<()> {
    let space = SpaceLatch::exclusive(mtr, segment.space)?;
    let segment = Segment::latch(mtr, &space, segment)?;
    segment.free_page(mtr, &space, page)
}

/// Frees an extent or a page of a segment, and the segment's inode with the last one. Returns whether nothing is
/// left to do.
///
/// The page `keep`, if it is a fragment of the segment, stays, and the segment with it: the page that holds the
/// segment header is kept until all others are gone, and freed by a last step without `keep`.
///
/// # Errors
/// Errors of reading pages, damage.
///
/// # Latching
/// Latches page 0 until the end of the mini-transaction.
pub fn free_segment_step(mtr: &mut Mtr<'_>, segment: SegmentHeader, keep: Option<PageNo>) -> Result<bool> {
    let space = SpaceLatch::exclusive(mtr, segment.space)?;
    let segment = Segment::latch(mtr, &space, segment)?;
    for list in [FULL, NOT_FULL, FREE] {
        if let Some(extent) = segment.first_extent(mtr, &space, list)? {
            if keep.is_some_and(|page| extent.contains(&space, page)) {
                let detail =
                    format!("the page to keep lies in extent {} of segment {}", extent.first, segment.id);
                return Err(space.bad(extent.first, "page of a segment header", detail));
            }
            segment.free_extent(mtr, &space, extent, list)?;
            return segment.end_if_empty(mtr, &space, keep);
        }
    }
    let inode = segment.inode(mtr, &space);
    let last = (0..inode.n_fragment_slots())
        .rev()
        .find_map(|n| inode.fragment(n).filter(|&page| Some(page) != keep).map(|page| (n, page)));
    if let Some((n, page)) = last {
        segment.free_fragment(mtr, &space, n, page)?;
    }
    segment.end_if_empty(mtr, &space, keep)
}

impl Segment {
    fn free_page(&self, mtr: &mut Mtr<'_>, space: &SpaceLatch, page: PageNo) -> Result<()> {
        let extent = space.extent(mtr, page)?;
        if self.owns(mtr, space, &extent)? {
            return self.unuse_page(mtr, space, &extent, page.get() - extent.first.get());
        }
        match self.inode(mtr, space).find_fragment(page) {
            Some(n) => self.free_fragment(mtr, space, n, page),
            None => {
                let state = extent.state(mtr, space)?;
                let owner = extent.view(mtr, space).segment_id();
                let detail = if state == ExtentState::Segment {
                    format!("page {page} to be freed by segment {} belongs to segment {owner}", self.id)
                } else {
                    format!(
                        "page {page} to be freed is not one of segment {}; its extent is {state:?}",
                        self.id
                    )
                };
                Err(space.bad(page, "owner of a page", detail))
            }
        }
    }

    fn free_fragment(&self, mtr: &mut Mtr<'_>, space: &SpaceLatch, n: usize, page: PageNo) -> Result<()> {
        xdes::give_back_fragment(mtr, space, page)?;
        self.set_fragment(mtr, n, PageNo::NULL);
        Ok(())
    }

    /// Frees an extent with all its pages.
    fn free_extent(&self, mtr: &mut Mtr<'_>, space: &SpaceLatch, extent: Extent, list: usize) -> Result<()> {
        list::remove(mtr, self.list(list), extent.node())?;
        if list == NOT_FULL {
            let used = extent.bitmap(mtr, space).n_used();
            self.add_not_full_n_used(mtr, space, -i64::from(used))?;
        }
        xdes::give_back_extent(mtr, space, extent)
    }

    /// Whether only the page to keep is left; if not even that, the segment ends.
    fn end_if_empty(&self, mtr: &mut Mtr<'_>, space: &SpaceLatch, keep: Option<PageNo>) -> Result<bool> {
        let (reserved, _) = self.usage(mtr, space);
        match reserved {
            0 => {
                self.destroy(mtr, space)?;
                Ok(true)
            }
            1 => Ok(keep.is_some_and(|page| self.inode(mtr, space).find_fragment(page).is_some())),
            _ => Ok(false),
        }
    }
}
