//! Segments: their inodes, creation, size.
//!
//! An inode lies on an inode page; the structure that owns the segment stores its address as a *segment header*, 10
//! bytes on a page of its own choice. A [`SegmentHeader`] does not change while the segment lives, so whoever has
//! read it once can do without the page it lies on.
//!
//! Extents of a segment are on one of three lists of its inode: FREE (no page used), NOT_FULL, FULL.

use super::extend::{self, Reservation};
use super::list::{self, Place};
use super::xdes::{self, Extent};
use super::{Direction, SpaceLatch};
use crate::error::{Error, Result};
use crate::mtr::{Mtr, PageRef};
use vaquita_base::codec::get_u32;
use vaquita_base::{PageId, PageNo, SegmentId, SpaceId};
use vaquita_format::fil::{self, PageType};
use vaquita_format::flst::{FileAddress, SEGMENT_HEADER_SIZE, SegmentHeader};
use vaquita_format::fsp::inode::{
    self, FREE, FULL, Inode, MAGIC, NOT_FULL, NOT_FULL_N_USED, SEGMENT_ID, encode_new, find_free_slot,
    fragment_offset, n_used, offset, slot_at,
};
use vaquita_format::fsp::{ExtentState, header};

/// Extents reserved for the creation of a segment, beyond what always stays in reserve.
const EXTENTS_FOR_CREATION: u32 = 2;

/// Where a new segment's header goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderPlace {
    /// On a page that is held exclusively.
    On {
        /// The page.
        page: PageRef,
        /// Byte in it.
        offset: u16,
    },
    /// On the first page of the segment itself, which is allocated and created for it.
    OnFirstPage {
        /// Byte in it.
        offset: u16,
    },
}

/// A segment that was just created.
#[derive(Debug, Clone, Copy)]
pub struct NewSegment {
    /// Its number.
    pub id: SegmentId,
    /// Where its inode lies.
    pub header: SegmentHeader,
    /// The page that holds the segment header, held exclusively. If it was allocated, it is zero but for its FIL
    /// header and the segment header; page type and content are the caller's business.
    pub page: PageRef,
}

/// Pages of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentUsage {
    /// Pages it owns.
    pub reserved: u64,
    /// Pages it uses.
    pub used: u64,
}

/// Creates a segment and writes its header, after reserving two extents.
///
/// # Errors
/// [`Error::SpaceFull`]; errors of reading pages, damage.
///
/// # Latching
/// Latches page 0 until the end of the mini-transaction. A page given for the header was latched before.
pub fn create_segment(mtr: &mut Mtr<'_>, space: SpaceId, place: HeaderPlace) -> Result<NewSegment> {
    extend::reserve_free_extents(mtr, space, EXTENTS_FOR_CREATION, Reservation::Normal)?;
    create_segment_reserved(mtr, space, place)
}

/// Creates a segment where the caller has reserved extents.
///
/// # Errors
/// As [`create_segment`].
pub fn create_segment_reserved(mtr: &mut Mtr<'_>, space: SpaceId, place: HeaderPlace) -> Result<NewSegment> {
    let space = SpaceLatch::exclusive(mtr, space)?;
    let (segment, id) = Segment::create(mtr, &space)?;
    let (page, offset) = match place {
        HeaderPlace::On { page, offset } => (page, offset),
        HeaderPlace::OnFirstPage { offset } => {
            let page = segment.allocate(mtr, &space, PageNo(0), Direction::Up)?;
            (super::create_new(mtr, PageId::new(space.id, page))?, offset)
        }
    };
    let at = usize::from(offset);
    assert!(
        at >= fil::BODY && at + SEGMENT_HEADER_SIZE <= space.size.physical(),
        "segment header at {offset}"
    );
    let header = SegmentHeader { space: space.id, inode: segment.address(mtr) };
    mtr.write_bytes(page, at, &header.encode());
    Ok(NewSegment { id, header, page })
}

/// Reads a segment header and checks that it can be one.
///
/// # Errors
/// [`Error::Structure`] if the header leads to another tablespace or to no inode.
pub fn read_segment_header(mtr: &Mtr<'_>, page: PageRef, offset: u16) -> Result<SegmentHeader> {
    let id = mtr.id(page);
    let header = SegmentHeader::read(mtr.page(page), offset.into());
    let page_size = mtr.storage().spaces().get(id.space)?.page_size();
    if header.space == id.space && slot_at(page_size, header.inode.offset).is_some() {
        return Ok(header);
    }
    let corruption =
        vaquita_format::Corruption::new("segment header", format!("{header:?}")).at(offset.into());
    Err(Error::structure(id, corruption))
}

/// Pages of a segment.
///
/// # Errors
/// Errors of reading pages, damage.
///
/// # Latching
/// Latches page 0 shared, or finds it held.
pub fn segment_usage(mtr: &mut Mtr<'_>, header: SegmentHeader) -> Result<SegmentUsage> {
    let space = SpaceLatch::shared(mtr, header.space)?;
    let segment = Segment::latch(mtr, &space, header)?;
    let (reserved, used) = segment.usage(mtr, &space);
    Ok(SegmentUsage { reserved, used })
}

/// A segment whose inode page is held.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub(super) id: SegmentId,
    page: PageRef,
    slot: usize,
    at: usize,
}

impl Segment {
    /// Latches the inode a segment header points at.
    pub(super) fn latch(mtr: &mut Mtr<'_>, space: &SpaceLatch, header: SegmentHeader) -> Result<Self> {
        let FileAddress { page: page_no, offset } = header.inode;
        let page = inode_page(mtr, space, page_no)?;
        let inode =
            Inode::at(space.size, space.bytes(mtr, page), offset).map_err(|c| space.corrupt(page_no, c))?;
        let slot = slot_at(space.size, offset).expect("Inode::at has checked it");
        Ok(Self { id: inode.segment_id(), page, slot, at: offset.into() })
    }

    /// Takes a free inode, on a new inode page if there is none.
    fn create(mtr: &mut Mtr<'_>, space: &SpaceLatch) -> Result<(Self, SegmentId)> {
        let with_room = space.list(header::INODES_FREE);
        let first = list::read_base(mtr, with_room).first;
        let page = if first.is_null() {
            let page = xdes::take_fragment(mtr, space, PageNo(0))?;
            let page = xdes::create_typed(mtr, space, page, PageType::Inode)?;
            list::add_last(mtr, with_room, page_node(page))?;
            page
        } else {
            inode_page(mtr, space, first.page)?
        };
        let Some(slot) = find_free_slot(space.size, space.bytes(mtr, page)) else {
            let page = mtr.id(page).page_no;
            return Err(space.bad(page, "inode page", "on the list of those with room, but full".to_owned()));
        };
        let id = space.next_segment_id(mtr);
        let Some(next_id) = id.get().checked_add(1).filter(|_| id.get() != 0) else {
            return Err(space.bad(PageNo(0), "next segment id", format!("it is {id}")));
        };
        mtr.write_u64(space.header, header::NEXT_SEGMENT_ID, next_id);
        let at = offset(space.size, slot);
        let (bytes, len) = encode_new(space.size, id);
        mtr.write_bytes(page, at, &bytes[..len]);
        if find_free_slot(space.size, space.bytes(mtr, page)).is_none() {
            list::remove(mtr, with_room, page_node(page))?;
            list::add_last(mtr, space.list(header::INODES_FULL), page_node(page))?;
        }
        Ok((Self { id, page, slot, at }, id))
    }

    /// Frees the inode of a segment without pages, and its page if that holds no other.
    pub(super) fn destroy(&self, mtr: &mut Mtr<'_>, space: &SpaceLatch) -> Result<()> {
        let with_room = space.list(header::INODES_FREE);
        let used = n_used(space.size, space.bytes(mtr, self.page));
        if used == space.size.inodes_per_page() {
            list::remove(mtr, space.list(header::INODES_FULL), page_node(self.page))?;
            list::add_last(mtr, with_room, page_node(self.page))?;
        }
        mtr.write_u64(self.page, self.at + SEGMENT_ID, 0);
        mtr.write_u32(self.page, self.at + MAGIC, 0);
        if used == 1 {
            list::remove(mtr, with_room, page_node(self.page))?;
            xdes::give_back_fragment(mtr, space, mtr.id(self.page).page_no)?;
        }
        Ok(())
    }

    fn address(&self, mtr: &Mtr<'_>) -> FileAddress {
        FileAddress::new(mtr.id(self.page).page_no, self.at as u16)
    }

    pub(super) fn inode<'m>(&self, mtr: &'m Mtr<'_>, space: &SpaceLatch) -> Inode<'m> {
        Inode::of(space.size, mtr.page(self.page), self.slot)
    }

    /// Reserved and used pages.
    pub(super) fn usage(&self, mtr: &Mtr<'_>, space: &SpaceLatch) -> (u64, u64) {
        self.inode(mtr, space).reserved_and_used(space.size)
    }

    /// The base of one of its lists.
    pub(super) fn list(&self, list: usize) -> Place {
        Place { page: self.page, offset: self.at + list }
    }

    /// The first extent of one of its lists, checked to be its own.
    pub(super) fn first_extent(
        &self,
        mtr: &mut Mtr<'_>,
        space: &SpaceLatch,
        list: usize,
    ) -> Result<Option<Extent>> {
        let Some(extent) = space.first_extent(mtr, self.list(list))? else { return Ok(None) };
        if self.owns(mtr, space, &extent)? {
            return Ok(Some(extent));
        }
        let owner = extent.view(mtr, space).segment_id();
        let detail =
            format!("extent {} on a list of segment {}, but of segment {owner}", extent.first, self.id);
        Err(space.bad(extent.first, "owner of an extent", detail))
    }

    /// Whether an extent belongs to the segment.
    pub(super) fn owns(&self, mtr: &Mtr<'_>, space: &SpaceLatch, extent: &Extent) -> Result<bool> {
        let state = extent.state(mtr, space)?;
        Ok(state == ExtentState::Segment && extent.view(mtr, space).segment_id() == self.id)
    }

    /// Makes a free extent the segment's; it is on its FREE list then.
    pub(super) fn adopt_extent(&self, mtr: &mut Mtr<'_>, space: &SpaceLatch, hint: PageNo) -> Result<Extent> {
        let extent = xdes::take_free_extent(mtr, space, hint)?;
        extent.set_owner(mtr, self.id);
        extent.set_state(mtr, ExtentState::Segment);
        list::add_last(mtr, self.list(FREE), extent.node())?;
        Ok(extent)
    }

    /// Notes that a page of one of the segment's extents is used.
    pub(super) fn use_page(
        &self,
        mtr: &mut Mtr<'_>,
        space: &SpaceLatch,
        extent: &Extent,
        j: u32,
    ) -> Result<PageNo> {
        if extent.bitmap(mtr, space).is_empty() {
            list::remove(mtr, self.list(FREE), extent.node())?;
            list::add_last(mtr, self.list(NOT_FULL), extent.node())?;
        }
        extent.mark(mtr, space, j, false)?;
        self.add_not_full_n_used(mtr, space, 1)?;
        if extent.bitmap(mtr, space).is_full() {
            list::remove(mtr, self.list(NOT_FULL), extent.node())?;
            list::add_last(mtr, self.list(FULL), extent.node())?;
            self.add_not_full_n_used(mtr, space, -i64::from(space.extent_pages()))?;
        }
        Ok(extent.page(j))
    }

    /// Notes that a page of one of the segment's extents is free; an extent without used pages goes back to the
    /// tablespace.
    pub(super) fn unuse_page(
        &self,
        mtr: &mut Mtr<'_>,
        space: &SpaceLatch,
        extent: &Extent,
        j: u32,
    ) -> Result<()> {
        if extent.bitmap(mtr, space).is_full() {
            list::remove(mtr, self.list(FULL), extent.node())?;
            list::add_last(mtr, self.list(NOT_FULL), extent.node())?;
            self.add_not_full_n_used(mtr, space, i64::from(space.extent_pages()))?;
        }
        extent.mark(mtr, space, j, true)?;
        self.add_not_full_n_used(mtr, space, -1)?;
        if extent.bitmap(mtr, space).is_empty() {
            list::remove(mtr, self.list(NOT_FULL), extent.node())?;
            xdes::give_back_extent(mtr, space, *extent)?;
        }
        Ok(())
    }

    /// Changes `NOT_FULL_N_USED`.
    pub(super) fn add_not_full_n_used(&self, mtr: &mut Mtr<'_>, space: &SpaceLatch, by: i64) -> Result<()> {
        let at = self.at + NOT_FULL_N_USED;
        let old = get_u32(mtr.page(self.page), at);
        let new = u32::try_from(i64::from(old) + by).map_err(|_| {
            let detail = format!("segment {}: {old} cannot change by {by}", self.id);
            space.bad(mtr.id(self.page).page_no, "used pages of NOT_FULL extents", detail)
        })?;
        mtr.write_u32(self.page, at, new);
        Ok(())
    }

    pub(super) fn set_fragment(&self, mtr: &mut Mtr<'_>, n: usize, page: PageNo) {
        mtr.write_u32(self.page, self.at + fragment_offset(n), page.get());
    }
}

/// Latches an inode page.
fn inode_page(mtr: &mut Mtr<'_>, space: &SpaceLatch, page_no: PageNo) -> Result<PageRef> {
    if page_no.get() >= space.size_pages(mtr) {
        return Err(space.bad(page_no, "inode page", "beyond the end of the tablespace".to_owned()));
    }
    let page = space.latch(mtr, page_no)?;
    match fil::raw_type(mtr.page(page)) {
        t if t == PageType::Inode.as_u16() => Ok(page),
        t => Err(space.bad(page_no, "type of an inode page", format!("found {t}"))),
    }
}

fn page_node(page: PageRef) -> Place {
    Place { page, offset: inode::PAGE_NODE }
}
