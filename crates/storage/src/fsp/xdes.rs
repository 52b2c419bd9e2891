//! Extents and fragment pages of the tablespace itself: from FREE to a segment or to fragments, and back.
//!
//! | from | to | when |
//! |---|---|---|
//! | above the free limit | FREE | nothing free is left ([`super::extend`]) |
//! | above the free limit | FREE_FRAG | it holds a descriptor page: its first two pages are used |
//! | FREE | FREE_FRAG | a fragment is wanted and FREE_FRAG is empty |
//! | FREE_FRAG | FULL_FRAG | its last page is taken, and back when one is freed |
//! | FREE_FRAG | FREE | its last used page is freed |
//! | FREE | a segment's | see [`super::segment`]; back when no page of it is used |

use super::list::{self, Place};
use super::{SpaceLatch, create_new, extend};
use crate::error::{Error, Result};
use crate::mtr::{Mtr, PageRef};
use vaquita_base::{PageId, PageNo, SegmentId, SpaceId};
use vaquita_format::fil::{self, PageType};
use vaquita_format::flst::FileAddress;
use vaquita_format::fsp::xdes::{Bitmap, NODE, SEGMENT_ID, STATE, encode_empty, extent_of_node, offset};
use vaquita_format::fsp::{
    ExtentState, Xdes, bitmap_page, descriptor_page, extent_start, header, is_descriptor_page,
};

/// An extent whose descriptor page is held.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) first: PageNo,
    page: PageRef,
    at: usize,
}

impl SpaceLatch {
    /// The extent that holds `page`.
    ///
    /// # Errors
    /// [`Error::Structure`] if it has no descriptor.
    pub(super) fn extent(&self, mtr: &mut Mtr<'_>, page: PageNo) -> Result<Extent> {
        if page.get() >= self.free_limit(mtr) {
            let detail = format!("page {page} has no descriptor, the free limit is {}", self.free_limit(mtr));
            return Err(self.bad(page, "extent descriptor", detail));
        }
        let descriptors = descriptor_page(self.size, page);
        let held = self.latch(mtr, descriptors)?;
        let expected = if descriptors.get() == 0 { PageType::FspHdr } else { PageType::Xdes };
        let found = fil::raw_type(mtr.page(held));
        if found != expected.as_u16() {
            return Err(self.bad(descriptors, "type of a descriptor page", format!("found {found}")));
        }
        Ok(Extent { first: extent_start(self.size, page), page: held, at: offset(self.size, page) })
    }

    /// The extent around a hint; `None` if the hint leads nowhere.
    pub(super) fn extent_near(&self, mtr: &mut Mtr<'_>, hint: PageNo) -> Result<Option<Extent>> {
        if hint.get() >= self.free_limit(mtr) || hint.get() >= self.size_pages(mtr) {
            return Ok(None);
        }
        self.extent(mtr, hint).map(Some)
    }

    /// The extent whose node lies at `address`.
    pub(super) fn extent_at(&self, mtr: &mut Mtr<'_>, address: FileAddress) -> Result<Extent> {
        let first = extent_of_node(self.size, address).map_err(|c| self.corrupt(PageNo(0), c))?;
        self.extent(mtr, first)
    }

    /// The first extent of a list.
    pub(super) fn first_extent(&self, mtr: &mut Mtr<'_>, base: Place) -> Result<Option<Extent>> {
        match list::read_base(mtr, base).first.some() {
            Some(address) => self.extent_at(mtr, address).map(Some),
            None => Ok(None),
        }
    }

    /// Changes `FRAG_N_USED`.
    fn add_frag_n_used(&self, mtr: &mut Mtr<'_>, by: i64) -> Result<()> {
        let old = self.header_u32(mtr, header::FRAG_N_USED);
        let new = u32::try_from(i64::from(old) + by).map_err(|_| {
            self.bad(PageNo(0), "used fragment pages", format!("{old} cannot change by {by}"))
        })?;
        mtr.write_u32(self.header, header::FRAG_N_USED, new);
        Ok(())
    }
}

impl Extent {
    pub(super) fn view<'m>(&self, mtr: &'m Mtr<'_>, space: &SpaceLatch) -> Xdes<'m> {
        Xdes::of(space.size, mtr.page(self.page), self.first)
    }

    pub(super) fn bitmap<'m>(&self, mtr: &'m Mtr<'_>, space: &SpaceLatch) -> Bitmap<'m> {
        self.view(mtr, space).bitmap()
    }

    pub(super) fn state(&self, mtr: &Mtr<'_>, space: &SpaceLatch) -> Result<ExtentState> {
        self.view(mtr, space).state().map_err(|c| space.corrupt(mtr.id(self.page).page_no, c))
    }

    /// Checks that the extent is in the state of the list it was found on.
    pub(super) fn expect_state(
        &self,
        mtr: &Mtr<'_>,
        space: &SpaceLatch,
        expected: ExtentState,
    ) -> Result<()> {
        let found = self.state(mtr, space)?;
        if found == expected {
            return Ok(());
        }
        let detail = format!("extent {} is {found:?}, expected {expected:?}", self.first);
        Err(space.bad(self.first, "state of an extent", detail))
    }

    pub(super) fn contains(&self, space: &SpaceLatch, page: PageNo) -> bool {
        extent_start(space.size, page) == self.first
    }

    /// Page `j` of the extent.
    pub(super) fn page(&self, j: u32) -> PageNo {
        PageNo(self.first.get() + j)
    }

    pub(super) fn node(&self) -> Place {
        Place { page: self.page, offset: self.at + NODE }
    }

    pub(super) fn set_state(&self, mtr: &mut Mtr<'_>, state: ExtentState) {
        mtr.write_u32(self.page, self.at + STATE, state.as_u32());
    }

    pub(super) fn set_owner(&self, mtr: &mut Mtr<'_>, owner: SegmentId) {
        mtr.write_u64(self.page, self.at + SEGMENT_ID, owner.get());
    }

    /// Marks page `j` free or used.
    ///
    /// # Errors
    /// [`Error::Structure`] if it is so already.
    pub(super) fn mark(&self, mtr: &mut Mtr<'_>, space: &SpaceLatch, j: u32, free: bool) -> Result<()> {
        let bitmap = self.bitmap(mtr, space);
        if bitmap.is_free(j) == free {
            let detail = format!("page {} is {} already", self.page(j), if free { "free" } else { "used" });
            return Err(space.bad(self.page(j), "bitmap of an extent", detail));
        }
        let (at, byte) = bitmap.with_free(j, free);
        mtr.write_u8(self.page, self.at + at, byte);
        Ok(())
    }

    /// Writes the descriptor anew: all pages free, in no list.
    fn reset(&self, mtr: &mut Mtr<'_>, space: &SpaceLatch, state: ExtentState) {
        let (bytes, len) = encode_empty(space.size, state, SegmentId(0));
        mtr.write_bytes(self.page, self.at, &bytes[..len]);
    }
}

/// Describes the extent at the free limit, and creates the descriptor page and the bitmap page in it where it has
/// them. Returns whether it has: then it is on FREE_FRAG, else on FREE.
pub(super) fn describe_extent(mtr: &mut Mtr<'_>, space: &SpaceLatch, first: PageNo) -> Result<bool> {
    let fixed_pages = is_descriptor_page(space.size, first);
    if fixed_pages {
        if first.get() != 0 {
            create_typed(mtr, space, first, PageType::Xdes)?;
        }
        create_typed(mtr, space, bitmap_page(space.size, first), PageType::IbufBitmap)?;
    }
    mtr.write_u32(space.header, header::FREE_LIMIT, first.get() + space.extent_pages());
    let extent = space.extent(mtr, first)?;
    // A free limit that is too low would give away what is in use.
    extent.expect_state(mtr, space, ExtentState::NotInitialised)?;
    if fixed_pages {
        extent.reset(mtr, space, ExtentState::FreeFrag);
        extent.mark(mtr, space, 0, false)?;
        extent.mark(mtr, space, 1, false)?;
        list::add_last(mtr, space.list(header::FREE_FRAG), extent.node())?;
        space.add_frag_n_used(mtr, 2)?;
    } else {
        extent.reset(mtr, space, ExtentState::Free);
        list::add_last(mtr, space.list(header::FREE), extent.node())?;
    }
    Ok(fixed_pages)
}

/// Makes a page that is zero but for its header.
pub(super) fn create_typed(
    mtr: &mut Mtr<'_>,
    space: &SpaceLatch,
    page: PageNo,
    page_type: PageType,
) -> Result<PageRef> {
    let page = create_new(mtr, PageId::new(space.id, page))?;
    mtr.write_u16(page, fil::TYPE, page_type.as_u16());
    Ok(page)
}

/// Takes an extent off the FREE list, the one around the hint if that is free. Its state is the caller's to set.
///
/// # Errors
/// [`Error::SpaceFull`]; damage.
pub(super) fn take_free_extent(mtr: &mut Mtr<'_>, space: &SpaceLatch, hint: PageNo) -> Result<Extent> {
    let free = space.list(header::FREE);
    let extent = match space.extent_near(mtr, hint)? {
        Some(near) if near.state(mtr, space)? == ExtentState::Free => near,
        _ => match space.first_extent(mtr, free)? {
            Some(first) => first,
            None => {
                extend::fill_free_list(mtr, space)?;
                space.first_extent(mtr, free)?.ok_or_else(|| {
                    space.bad(PageNo(0), "FREE list", "empty after extents were added".to_owned())
                })?
            }
        },
    };
    extent.expect_state(mtr, space, ExtentState::Free)?;
    if !extent.bitmap(mtr, space).is_empty() {
        return Err(space.bad(
            extent.first,
            "free extent",
            format!("extent {} has used pages", extent.first),
        ));
    }
    list::remove(mtr, free, extent.node())?;
    Ok(extent)
}

/// Gives an extent that is on no list back to the tablespace.
pub(super) fn give_back_extent(mtr: &mut Mtr<'_>, space: &SpaceLatch, extent: Extent) -> Result<()> {
    extent.reset(mtr, space, ExtentState::Free);
    list::add_last(mtr, space.list(header::FREE), extent.node())
}

/// Takes a single page out of a shared extent, the next free one from the hint on if that is in such an extent.
///
/// # Errors
/// [`Error::SpaceFull`]; damage.
pub(super) fn take_fragment(mtr: &mut Mtr<'_>, space: &SpaceLatch, hint: PageNo) -> Result<PageNo> {
    let (extent, hint) = match space.extent_near(mtr, hint)? {
        Some(near) if near.state(mtr, space)? == ExtentState::FreeFrag => {
            (near, hint.get() - near.first.get())
        }
        _ => (fragment_extent(mtr, space, hint)?, 0),
    };
    extent.expect_state(mtr, space, ExtentState::FreeFrag)?;
    let bitmap = extent.bitmap(mtr, space);
    // Pages that the file holds come first: a small table then grows only when it is full.
    let held = space.size_pages(mtr).saturating_sub(extent.first.get()).min(bitmap.pages());
    let within = (hint..held).chain(0..hint.min(held)).find(|&j| bitmap.is_free(j));
    let Some(j) = within.or_else(|| bitmap.find_free(held)) else {
        let detail = format!("extent {} on FREE_FRAG has no free page", extent.first);
        return Err(space.bad(extent.first, "fill of an extent", detail));
    };
    extend::grow_to_page(mtr, space, extent.page(j))?;
    extent.mark(mtr, space, j, false)?;
    space.add_frag_n_used(mtr, 1)?;
    if extent.bitmap(mtr, space).is_full() {
        list::remove(mtr, space.list(header::FREE_FRAG), extent.node())?;
        extent.set_state(mtr, ExtentState::FullFrag);
        list::add_last(mtr, space.list(header::FULL_FRAG), extent.node())?;
        space.add_frag_n_used(mtr, -i64::from(space.extent_pages()))?;
    }
    Ok(extent.page(j))
}

/// A shared extent with a free page; a free extent becomes one if there is none.
fn fragment_extent(mtr: &mut Mtr<'_>, space: &SpaceLatch, hint: PageNo) -> Result<Extent> {
    let shared = space.list(header::FREE_FRAG);
    if let Some(extent) = space.first_extent(mtr, shared)? {
        return Ok(extent);
    }
    match take_free_extent(mtr, space, hint) {
        Ok(extent) => {
            extent.set_state(mtr, ExtentState::FreeFrag);
            list::add_last(mtr, shared, extent.node())?;
            Ok(extent)
        }
        // The search may have described an extent that is shared because of its descriptor page.
        Err(full @ Error::SpaceFull { .. }) => space.first_extent(mtr, shared)?.ok_or(full),
        Err(other) => Err(other),
    }
}

/// Gives a fragment page back.
///
/// # Errors
/// Damage; the page being free or in no shared extent.
pub(super) fn give_back_fragment(mtr: &mut Mtr<'_>, space: &SpaceLatch, page: PageNo) -> Result<()> {
    let extent = space.extent(mtr, page)?;
    let state = extent.state(mtr, space)?;
    let shared = space.list(header::FREE_FRAG);
    match state {
        ExtentState::FreeFrag => {}
        ExtentState::FullFrag => {
            list::remove(mtr, space.list(header::FULL_FRAG), extent.node())?;
            extent.set_state(mtr, ExtentState::FreeFrag);
            list::add_last(mtr, shared, extent.node())?;
            space.add_frag_n_used(mtr, i64::from(space.extent_pages()))?;
        }
        _ => {
            let detail = format!("page {page} lies in an extent that is {state:?}");
            return Err(space.bad(page, "fragment page", detail));
        }
    }
    extent.mark(mtr, space, page.get() - extent.first.get(), true)?;
    space.add_frag_n_used(mtr, -1)?;
    if extent.bitmap(mtr, space).is_empty() {
        list::remove(mtr, shared, extent.node())?;
        give_back_extent(mtr, space, extent)?;
    }
    Ok(())
}

/// Whether a page is marked used.
///
/// # Errors
/// Errors of reading the descriptor page, damage.
///
/// # Latching
/// Latches page 0 shared, or finds it held.
pub fn is_page_allocated(mtr: &mut Mtr<'_>, space: SpaceId, page: PageNo) -> Result<bool> {
    let space = SpaceLatch::shared(mtr, space)?;
    match space.extent_near(mtr, page)? {
        Some(extent) => Ok(!extent.bitmap(mtr, &space).is_free(page.get() - extent.first.get())),
        None => Ok(false),
    }
}
