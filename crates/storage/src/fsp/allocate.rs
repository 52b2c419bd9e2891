//! Taking a page for a segment.
//!
//! The page is chosen so that pages which are read one after the other lie one after the other, and so that small
//! segments do not take whole extents. With `h` the hint, `used` and `reserved` the pages of the segment and `E` the
//! pages of an extent, the first of these that applies:
//!
//! | | if | page |
//! |---|---|---|
//! | 1 | `h` is free, in an extent of the segment | `h` |
//! | 2 | `h` lies in a free extent, and the segment may take another extent | `h` |
//! | 3 | a direction is known, and the segment may take another extent | first or last of a new extent |
//! | 4 | the extent of `h` is the segment's and not full | the next free one after `h`, around the extent |
//! | 5 | some extent of the segment has a free page | the first, in NOT_FULL before FREE |
//! | 6 | `used < E/2` | a fragment |
//! | 7 | otherwise | first of a new extent |
//!
//! A segment may take another extent while it has unused ones if `used >= E/2` and less than an eighth of what it
//! has reserved is unused. A segment of 40 extents and more takes up to four in a row ahead of use, if the ones
//! behind its new extent are free and other segments still find what they reserve.

use super::segment::Segment;
use super::xdes::{self, Extent};
use super::{SpaceLatch, create_new, extend};
use crate::error::{Error, Result};
use crate::mtr::{Mtr, PageRef};
use vaquita_base::{PageId, PageNo};
use vaquita_format::flst::SegmentHeader;
use vaquita_format::fsp::ExtentState;
use vaquita_format::fsp::inode::{FREE, NOT_FULL};

/// One part in this many of a segment's pages stays unused before it takes another extent.
const UNUSED_PART: u64 = 8;
/// Extents from which on a segment takes extents ahead of use.
const AHEAD_MIN_EXTENTS: u64 = 40;
/// Extents taken ahead of use.
const AHEAD_EXTENTS: u32 = 4;

/// Which way a structure grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Towards higher keys.
    Up,
    /// Towards lower keys.
    Down,
    /// Not known.
    None,
}

/// Takes a page for a segment. What the page holds is undefined: see [`create_page`].
///
/// Whoever cannot stop half-way reserves first ([`super::reserve_free_extents`]).
///
/// # Errors
/// [`Error::SpaceFull`]; errors of reading pages, damage.
///
/// # Latching
/// Latches page 0 until the end of the mini-transaction.
pub fn allocate_page(
    mtr: &mut Mtr<'_>,
    segment: SegmentHeader,
    hint: PageNo,
    direction: Direction,
) -> Result<PageNo> {
    let space = SpaceLatch::exclusive(mtr, segment.space)?;
    let segment = Segment::latch(mtr, &space, segment)?;
    segment.allocate(mtr, &space, hint, direction)
}

/// Takes a page for a segment and makes it: zero but for its number and space, held exclusively.
///
/// # Errors
/// As [`allocate_page`].
///
/// # Latching
/// As [`allocate_page`]; the new page comes last.
pub fn create_page(
    mtr: &mut Mtr<'_>,
    segment: SegmentHeader,
    hint: PageNo,
    direction: Direction,
) -> Result<PageRef> {
    let page = allocate_page(mtr, segment, hint, direction)?;
    create_new(mtr, PageId::new(segment.space, page))
}

impl Segment {
    /// The numbers are those of the table above.
    pub(super) fn allocate(
        &self,
        mtr: &mut Mtr<'_>,
        space: &SpaceLatch,
        hint: PageNo,
        direction: Direction,
    ) -> Result<PageNo> {
        let (reserved, used) = self.usage(mtr, space);
        let near = space.extent_near(mtr, hint)?;
        let own = match near {
            Some(extent) if self.owns(mtr, space, &extent)? => Some(extent),
            _ => None,
        };
        let hint_in_extent = hint.get() % space.extent_pages();
        // 1
        if let Some(extent) = own
            && extent.bitmap(mtr, space).is_free(hint_in_extent)
        {
            return self.use_page(mtr, space, &extent, hint_in_extent);
        }
        if used >= space.fragments_max() && reserved.saturating_sub(used) < reserved / UNUSED_PART {
            // 2
            if let Some(extent) = near
                && extent.state(mtr, space)? == ExtentState::Free
            {
                let extent = self.adopt_extent(mtr, space, extent.first)?;
                self.adopt_ahead(mtr, space, &extent)?;
                return self.use_page(mtr, space, &extent, hint_in_extent);
            }
            // 3
            if direction != Direction::None {
                match self.unused_extent(mtr, space, hint) {
                    Ok(extent) => {
                        let last = space.extent_pages() - 1;
                        let j = if direction == Direction::Down { last } else { 0 };
                        return self.use_page(mtr, space, &extent, j);
                    }
                    // The segment has pages left.
                    Err(Error::SpaceFull { .. }) if reserved > used => {}
                    Err(e) => return Err(e),
                }
            }
        }
        // 4, 5
        if let Some((extent, j)) = self.unused_page(mtr, space, own, hint_in_extent)? {
            return self.use_page(mtr, space, &extent, j);
        }
        // 6
        if used < space.fragments_max() {
            return self.add_fragment(mtr, space, hint);
        }
        // 7
        let extent = self.unused_extent(mtr, space, hint)?;
        self.use_page(mtr, space, &extent, 0)
    }

    /// A free page of the segment's extents, near the hint if its extent is one of them.
    fn unused_page(
        &self,
        mtr: &mut Mtr<'_>,
        space: &SpaceLatch,
        own: Option<Extent>,
        hint_in_extent: u32,
    ) -> Result<Option<(Extent, u32)>> {
        if let Some(extent) = own
            && let Some(j) = extent.bitmap(mtr, space).find_free(hint_in_extent)
        {
            return Ok(Some((extent, j)));
        }
        for list in [NOT_FULL, FREE] {
            if let Some(extent) = self.first_extent(mtr, space, list)? {
                return match extent.bitmap(mtr, space).find_free(0) {
                    Some(j) => Ok(Some((extent, j))),
                    None => {
                        let detail = format!("extent {} is full, but not on the FULL list", extent.first);
                        Err(space.bad(extent.first, "fill of an extent", detail))
                    }
                };
            }
        }
        Ok(None)
    }

    /// An extent without used pages: one the segment has, or a new one.
    fn unused_extent(&self, mtr: &mut Mtr<'_>, space: &SpaceLatch, hint: PageNo) -> Result<Extent> {
        if let Some(extent) = self.first_extent(mtr, space, FREE)? {
            return Ok(extent);
        }
        let extent = self.adopt_extent(mtr, space, hint)?;
        self.adopt_ahead(mtr, space, &extent)?;
        Ok(extent)
    }

    /// Takes the free extents behind a new one, if the segment is large. The file is not grown for that.
    fn adopt_ahead(&self, mtr: &mut Mtr<'_>, space: &SpaceLatch, extent: &Extent) -> Result<()> {
        let (reserved, _) = self.usage(mtr, space);
        if reserved < AHEAD_MIN_EXTENTS * u64::from(space.extent_pages())
            || self.inode(mtr, space).free().len > 1
        {
            return Ok(());
        }
        for n in 1..=AHEAD_EXTENTS {
            let next = PageNo(extent.first.get().saturating_add(n * space.extent_pages()));
            match space.extent_near(mtr, next)? {
                Some(free)
                    if free.state(mtr, space)? == ExtentState::Free && extend::has_plenty(mtr, space) =>
                {
                    self.adopt_extent(mtr, space, free.first)?;
                }
                _ => break,
            }
        }
        Ok(())
    }

    fn add_fragment(&self, mtr: &mut Mtr<'_>, space: &SpaceLatch, hint: PageNo) -> Result<PageNo> {
        let Some(n) = self.inode(mtr, space).first_empty_fragment() else {
            let detail = format!("segment {} has no empty fragment slot", self.id);
            return Err(space.bad(PageNo(0), "fragment slots", detail));
        };
        let page = xdes::take_fragment(mtr, space, hint)?;
        self.set_fragment(mtr, n, page);
        Ok(page)
    }
}
