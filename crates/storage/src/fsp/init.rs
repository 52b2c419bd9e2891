//! The allocation state of a new tablespace.
//!
//! | page | type | content |
//! |---|---|---|
//! | 0 | FSP_HDR | space header, descriptor of the first extent: FREE_FRAG, pages 0 and 1 used |
//! | 1 | IBUF_BITMAP | zeros |
//!
//! The first segment brings page 2, INODE. In the system tablespace, which is large from the start, the following
//! four extents are described too.

use super::{SpaceLatch, extend, xdes};
use crate::error::Result;
use crate::mtr::Mtr;
use vaquita_base::{PageId, PageNo, SpaceId};
use vaquita_format::fil::{self, PageType};
use vaquita_format::flags::SpaceFlags;
use vaquita_format::fsp::{SpaceHeader, header};

/// Pages of a new tablespace of a table, before its first segment.
pub const INITIAL_PAGES: u32 = 4;

/// Writes the allocation state of an empty tablespace of `size_pages` pages, whose file exists.
///
/// On a tablespace in use this empties it: its pages are forgotten, its file keeps its length. The caller sees to it
/// that nobody uses them any more.
///
/// # Errors
/// [`crate::Error::BeyondEnd`] if the file is shorter than the first pages.
///
/// # Panics
/// If the mini-transaction does not keep before-images.
pub fn init_space(mtr: &mut Mtr<'_>, space: SpaceId, flags: SpaceFlags, size_pages: u32) -> Result<()> {
    assert!(mtr.keeps_before_images(), "space allocation needs a mini-transaction that keeps before-images");
    let page = mtr.create_page(PageId::new(space, PageNo(0)))?;
    mtr.write_u16(page, fil::TYPE, PageType::FspHdr.as_u16());
    let header = SpaceHeader::new(space, flags, size_pages);
    mtr.write_bytes(page, header::SPACE_ID, &header.encode());
    let latch = SpaceLatch::exclusive(mtr, space)?;
    if space == SpaceId::SYSTEM {
        extend::describe_extents(mtr, &latch)?;
    } else {
        xdes::describe_extent(mtr, &latch, PageNo(0))?;
    }
    Ok(())
}
