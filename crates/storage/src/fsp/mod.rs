//! Space allocation inside tablespaces: extents, segments, single pages, growth of the file.
//!
//! A tablespace hands out pages to *segments* (two for an index tree, one for an undo log, ...). A segment first
//! takes single pages, "fragments", from extents it shares with others; once it uses half an extent's worth of
//! pages it takes whole extents. What belongs to whom is recorded on pages of the tablespace itself, in the layout
//! of [`vaquita_format::fsp`]; this module keeps nothing in memory. The policies are InnoDB's, as its files show
//! them; where a policy differs the file that holds it says so.
//!
//! | part | file |
//! |---|---|
//! | new and emptied tablespaces | `init` |
//! | lists that span pages | [`list`] |
//! | growth of the file, reservations | `extend` |
//! | extents and fragment pages of the tablespace | `xdes` |
//! | segments: their inode, creation, size | `segment` |
//! | taking a page for a segment | `allocate` |
//! | giving pages and segments back | `free` |
//! | checking a whole tablespace | `validate` |
//!
//! # Invariants
//! - I1: a page is marked used in exactly one way: as a descriptor or bitmap page, an inode page, a fragment of one
//!   segment, or a page of an extent that one segment owns.
//! - I2: an extent is on the list that its state, its owner and its fill say; the counters beside the lists
//!   (`FRAG_N_USED`, `NOT_FULL_N_USED`) equal the bitmaps.
//! - I3: the size in the header is at most what the file holds. The file grows first.
//! - I4: no used page lies at or above the size in the header.
//!
//! [`validate`] checks them all.
//!
//! # Latching
//! Page 0 of the tablespace is latched first, exclusively by whoever changes anything, and kept until the
//! mini-transaction ends: it stands for the whole allocation state. Nobody latches descriptor pages or inode pages
//! without it, so among those any order is good. Page 0 comes *after* the pages of the structures that are stored in
//! the tablespace (tree pages, undo pages), and before a page that was just allocated. A thread that holds page 0
//! must not wait for a page of a structure that it has not locked as a whole.
//!
//! # Failure
//! Pages are read while others are already changed, and what is read may be damaged. Every function that changes
//! something therefore demands a mini-transaction that keeps before-images ([`Mtr::keep_before_images`], before its
//! first change): on an error the caller drops it, and nothing has happened, but for a file that may have become
//! longer.
//!
//! # Crash
//! Each function is one step in the caller's mini-transaction, which recovery repeats as a whole or not at all. A
//! file longer than its header says is legal (I3). A segment is emptied in many mini-transactions
//! ([`free_segment_step`]); between them it is a smaller segment.

mod allocate;
mod extend;
mod free;
mod init;
pub mod list;
mod segment;
mod validate;
mod xdes;

pub use allocate::{Direction, allocate_page, create_page};
pub use extend::{Reservation, free_extents, free_limit, reserve_free_extents};
pub use free::{free_page, free_segment_step};
pub use init::{INITIAL_PAGES, init_space};
pub use segment::{
    HeaderPlace, NewSegment, SegmentUsage, create_segment, create_segment_reserved, read_segment_header,
    segment_usage,
};
pub use validate::validate;
pub use xdes::is_page_allocated;

use crate::error::{Error, Result};
use crate::mtr::{Mtr, PageRef};
use list::Place;
use vaquita_base::codec::{get_u32, get_u64};
use vaquita_base::{PageId, PageNo, SegmentId, SpaceId};
use vaquita_format::fsp::{SpaceHeader, header};
use vaquita_format::{Corruption, PageSize};

/// A tablespace whose page 0 the mini-transaction holds.
#[derive(Debug, Clone, Copy)]
struct SpaceLatch {
    id: SpaceId,
    size: PageSize,
    header: PageRef,
    exclusive: bool,
}

impl SpaceLatch {
    /// Latches page 0 for changes.
    ///
    /// # Panics
    /// If the mini-transaction does not keep before-images.
    fn exclusive(mtr: &mut Mtr<'_>, id: SpaceId) -> Result<Self> {
        assert!(
            mtr.keeps_before_images(),
            "space allocation needs a mini-transaction that keeps before-images"
        );
        let page_size = mtr.storage().spaces().get(id)?.page_size();
        let header = latch_exclusive(mtr, PageId::new(id, PageNo(0)))?;
        let space = Self { id, size: page_size, header, exclusive: true };
        space.check(mtr)?;
        Ok(space)
    }

    /// Latches page 0 for looking.
    fn shared(mtr: &mut Mtr<'_>, id: SpaceId) -> Result<Self> {
        let page_size = mtr.storage().spaces().get(id)?.page_size();
        let header = mtr.get_shared(PageId::new(id, PageNo(0)))?;
        // Of a mini-transaction that is changing the tablespace already, nothing may be held shared.
        let space = Self { id, size: page_size, header, exclusive: mtr.is_exclusive(header) };
        space.check(mtr)?;
        Ok(space)
    }

    /// Checks what page 0 alone can tell.
    fn check(&self, mtr: &Mtr<'_>) -> Result<()> {
        let header = SpaceHeader::read(self.bytes(mtr, self.header));
        let flags = header.check().map_err(|c| self.corrupt(PageNo(0), c))?;
        if header.space != self.id || flags.page_size() != self.size {
            let detail = format!("space {}, flags {:#x}", header.space, header.flags);
            return Err(self.bad(PageNo(0), "space header", detail));
        }
        let file_pages = mtr.storage().spaces().get(self.id)?.size_pages();
        if header.size > file_pages {
            let detail = format!("{} pages, but the file holds {file_pages}", header.size);
            return Err(self.bad(PageNo(0), "size of the tablespace", detail));
        }
        // The first extent may be described as a whole while the file is smaller than it.
        if header.free_limit > header.size.max(self.extent_pages()) {
            let detail = format!("{} in a tablespace of {} pages", header.free_limit, header.size);
            return Err(self.bad(PageNo(0), "free limit", detail));
        }
        Ok(())
    }

    /// Latches another page of the allocation state, in the mode of page 0.
    fn latch(&self, mtr: &mut Mtr<'_>, page: PageNo) -> Result<PageRef> {
        let id = PageId::new(self.id, page);
        if self.exclusive { latch_exclusive(mtr, id) } else { mtr.get_shared(id) }
    }

    /// The bytes of a page as the file has them: without the rest of the frame where pages are compressed.
    fn bytes<'m>(&self, mtr: &'m Mtr<'_>, page: PageRef) -> &'m [u8] {
        &mtr.page(page)[..self.size.physical()]
    }

    fn extent_pages(&self) -> u32 {
        self.size.extent_pages()
    }

    /// Number of fragments above which a segment takes extents.
    fn fragments_max(&self) -> u64 {
        u64::from(self.extent_pages() / 2)
    }

    fn header_u32(&self, mtr: &Mtr<'_>, offset: usize) -> u32 {
        get_u32(self.bytes(mtr, self.header), offset)
    }

    /// Size in pages, as the header has it.
    fn size_pages(&self, mtr: &Mtr<'_>) -> u32 {
        self.header_u32(mtr, header::SIZE)
    }

    /// First page without a descriptor.
    fn free_limit(&self, mtr: &Mtr<'_>) -> u32 {
        self.header_u32(mtr, header::FREE_LIMIT)
    }

    fn next_segment_id(&self, mtr: &Mtr<'_>) -> SegmentId {
        SegmentId(get_u64(self.bytes(mtr, self.header), header::NEXT_SEGMENT_ID))
    }

    /// A list base of the header.
    fn list(&self, offset: usize) -> Place {
        Place { page: self.header, offset }
    }

    #[cold]
    fn corrupt(&self, page: PageNo, corruption: Corruption) -> Error {
        Error::structure(PageId::new(self.id, page), corruption)
    }

    #[cold]
    fn bad(&self, page: PageNo, check: &'static str, detail: String) -> Error {
        self.corrupt(page, Corruption::new(check, detail))
    }
}

/// Creates a page that was just allocated.
fn create_new(mtr: &mut Mtr<'_>, id: PageId) -> Result<PageRef> {
    refuse_shared(mtr, id)?;
    mtr.create_page(id)
}

/// Latches a page exclusively. An address found on a damaged page may lead to a page that the mini-transaction
/// holds shared, as part of something else: that is an error, not a reason to stop.
fn latch_exclusive(mtr: &mut Mtr<'_>, id: PageId) -> Result<PageRef> {
    refuse_shared(mtr, id)?;
    mtr.get_exclusive(id)
}

fn refuse_shared(mtr: &Mtr<'_>, id: PageId) -> Result<()> {
    match mtr.find(id) {
        Some(held) if !mtr.is_exclusive(held) => {
            let detail = "it is in use as something else at the same time";
            Err(Error::structure(id, Corruption::new("page of the space management", detail)))
        }
        _ => Ok(()),
    }
}
