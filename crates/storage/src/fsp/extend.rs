//! Growth of a tablespace, and reservations: room is made before an operation begins that must not run out of it.
//!
//! | tablespace | size now | grows by |
//! |---|---|---|
//! | system | any | `autoextend_increment` |
//! | of a table | below an extent | the pages needed, no more |
//! | of a table | below min(32 MiB of extents, bytes of a page) pages | a megabyte of pages |
//! | of a table | more | four megabytes |
//!
//! "A megabyte" is an extent, or as many extents as make as many bytes where pages are compressed. Where the disk
//! has no room for the whole step, one extent is tried.
//!
//! A reservation asks for more free extents than the operation needs, so that operations that free space (undo,
//! purge) find room when ordinary ones do not any more:
//!
//! | kind | stays in reserve |
//! |---|---|
//! | normal | 2 extents and 1 % |
//! | undo | 1 extent and 0.5 % |
//! | cleaning | nothing |
//! | rollback | nothing: what there is will do |
//!
//! Tables smaller than an extent reserve two pages instead. (MySQL 5.6 does so up to half an extent, and reserves
//! nothing between that and a whole one.)
//!
//! Taking a change back may split pages that others have filled meanwhile. It is the last that may fail for want of
//! space: it goes into what all others leave, and does not ask for more than it takes.
//!
//! # Latching
//! A reservation holds as long as page 0 is held: until the end of the mini-transaction. Extending a file waits for
//! the file system under the latch of page 0.
//!
//! # Crash
//! The file is longer before the header says so. If the header's change is durable and the file's length is not,
//! recovery grows the file.

use super::{SpaceLatch, xdes};
use crate::error::{Error, Result};
use crate::mtr::Mtr;
use vaquita_base::{PageNo, SpaceId};
use vaquita_format::fsp::header;

/// Extents added to a large tablespace at once.
const STEP_MEGABYTES: u32 = 4;
/// Megabytes below which a tablespace grows by one.
const SMALL_MEGABYTES: u32 = 32;
/// Extents that one operation reserves, usually.
const USUAL_RESERVATION: u32 = 3;
/// Pages a small tablespace keeps free for one operation.
const SMALL_RESERVE_PAGES: u32 = 2;

/// What an operation is, to tell how much must remain for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reservation {
    /// Adds to the data.
    Normal,
    /// Writes undo, which the rollback of others may need.
    Undo,
    /// Ends with more free space than it began with.
    Cleaning,
    /// Takes a change back: it takes what is left.
    Rollback,
}

impl Reservation {
    /// Extents to remain in a tablespace of `extents` extents.
    fn reserve(self, extents: u32) -> u32 {
        match self {
            Reservation::Normal => 2 + extents / 100,
            Reservation::Undo => 1 + extents / 200,
            Reservation::Cleaning | Reservation::Rollback => 0,
        }
    }
}

/// Makes sure that `n` extents are there for the mini-transaction to take, growing the file if need be.
///
/// In a tablespace smaller than an extent two pages stand for any number of extents: an operation that takes more
/// grows the file page by page and can still fail for want of disk.
///
/// # Errors
/// [`Error::SpaceFull`], with nothing changed, but not for a rollback: whether it finds what it needs shows when it takes
/// the pages. Errors of reading pages, damage.
///
/// # Latching
/// Latches page 0 until the end of the mini-transaction.
pub fn reserve_free_extents(mtr: &mut Mtr<'_>, space: SpaceId, n: u32, kind: Reservation) -> Result<()> {
    let space = SpaceLatch::exclusive(mtr, space)?;
    match reserve(mtr, &space, n, kind) {
        Err(Error::SpaceFull { .. }) if kind == Reservation::Rollback => Ok(()),
        done => done,
    }
}

pub(super) fn reserve(mtr: &mut Mtr<'_>, space: &SpaceLatch, n: u32, kind: Reservation) -> Result<()> {
    let extent = space.extent_pages();
    if space.size_pages(mtr) < extent {
        let used = space.extent(mtr, PageNo(0))?.view(mtr, space).bitmap().n_used();
        let wanted = used + SMALL_RESERVE_PAGES;
        if wanted <= extent {
            return if wanted > space.size_pages(mtr) { grow_to(mtr, space, wanted) } else { Ok(()) };
        }
    }
    loop {
        let spare = kind.reserve(space.size_pages(mtr) / extent).saturating_add(n);
        if usable_extents(mtr, space) > spare {
            return Ok(());
        }
        extend(mtr, space)?;
    }
}

/// The first page that a tablespace never had in use: extents from there on have no descriptors yet.
///
/// # Errors
/// Errors of reading page 0.
pub fn free_limit(mtr: &mut Mtr<'_>, space: SpaceId) -> Result<PageNo> {
    let space = SpaceLatch::shared(mtr, space)?;
    Ok(PageNo(space.free_limit(mtr)))
}

/// Free extents of a tablespace, those not described yet included.
///
/// # Errors
/// Errors of reading page 0, damage.
pub fn free_extents(mtr: &mut Mtr<'_>, space: SpaceId) -> Result<u32> {
    let space = SpaceLatch::shared(mtr, space)?;
    Ok(usable_extents(mtr, &space))
}

/// Extents on the FREE list, and those above the free limit but for the ones that will carry descriptor pages.
fn usable_extents(mtr: &Mtr<'_>, space: &SpaceLatch) -> u32 {
    let listed = super::list::read_base(mtr, space.list(header::FREE)).len;
    let undescribed = space.size_pages(mtr).saturating_sub(space.free_limit(mtr)) / space.extent_pages();
    let per_range = space.size.pages_per_xdes_page() / space.extent_pages();
    // One for the descriptor page that may come first, and one for each whole range.
    let above = match undescribed.checked_sub(1) {
        Some(rest) => rest - rest / per_range,
        None => 0,
    };
    listed.saturating_add(above)
}

/// Whether an extent can be taken ahead of use without breaking a reservation of usual size.
pub(super) fn has_plenty(mtr: &Mtr<'_>, space: &SpaceLatch) -> bool {
    let extents = space.size_pages(mtr) / space.extent_pages();
    usable_extents(mtr, space) > Reservation::Normal.reserve(extents) + USUAL_RESERVATION
}

/// Grows a tablespace of a table that is smaller than an extent, so that it holds `page`.
///
/// # Errors
/// [`Error::SpaceFull`]; damage, if pages of a larger tablespace are missing.
pub(super) fn grow_to_page(mtr: &mut Mtr<'_>, space: &SpaceLatch, page: PageNo) -> Result<()> {
    if page.get() < space.size_pages(mtr) {
        return Ok(());
    }
    if space.id == SpaceId::SYSTEM || page.get() >= space.extent_pages() {
        let detail = format!("page {page} is free, the tablespace has {} pages", space.size_pages(mtr));
        return Err(space.bad(PageNo(0), "free page beyond the end", detail));
    }
    grow_to(mtr, space, page.get() + 1)
}

/// Grows a tablespace by its usual step.
///
/// # Errors
/// [`Error::SpaceFull`], with nothing changed.
pub(super) fn extend(mtr: &mut Mtr<'_>, space: &SpaceLatch) -> Result<()> {
    let size = space.size_pages(mtr);
    let extent = space.extent_pages();
    let target = size.checked_add(step(mtr, space, size)).filter(|&pages| pages < u32::MAX - extent);
    let target = match space.id {
        SpaceId::SYSTEM => within_max(mtr, space, size, target)?,
        _ => target,
    };
    let Some(target) = target else {
        return Err(Error::SpaceFull {
            space: space.id,
            detail: format!("it has {size} pages, the most possible"),
        });
    };
    let grown = grow_to(mtr, space, target);
    let smallest = (size / extent + 1) * extent;
    match grown {
        Err(Error::SpaceFull { .. }) if smallest < target => grow_to(mtr, space, smallest),
        other => other,
    }
}

/// A wanted size of the system tablespace, as far as its last file may grow.
fn within_max(mtr: &Mtr<'_>, space: &SpaceLatch, size: u32, target: Option<u32>) -> Result<Option<u32>> {
    let options = mtr.storage().options();
    let page = space.size.physical() as u64;
    let before: u64 = options.data_file_path.iter().rev().skip(1).map(|file| file.size_bytes / page).sum();
    let most = match (options.autoextend, options.autoextend_max) {
        (false, _) => size,
        (true, None) => return Ok(target),
        (true, Some(max)) => u32::try_from(before + max / page).unwrap_or(u32::MAX),
    };
    match target {
        Some(target) if size < most => Ok(Some(target.min(most))),
        _ => Err(Error::SpaceFull {
            space: space.id,
            detail: format!("it has {size} pages, as many as innodb_data_file_path allows"),
        }),
    }
}

/// Pages by which a tablespace of `size` pages grows.
fn step(mtr: &Mtr<'_>, space: &SpaceLatch, size: u32) -> u32 {
    let extent = space.extent_pages();
    if space.id == SpaceId::SYSTEM {
        let pages = mtr.storage().settings().autoextend_increment_bytes / space.size.physical() as u64;
        let extents = u32::try_from(pages).unwrap_or(u32::MAX) / extent;
        return extents.max(1).saturating_mul(extent);
    }
    let megabyte = extent * (space.size.logical() / space.size.physical()) as u32;
    // A table that leaves the page-wise growth behind is brought to a whole megabyte first.
    let fill_up = megabyte.saturating_sub(size);
    let few = (SMALL_MEGABYTES * megabyte).min(space.size.pages_per_xdes_page());
    fill_up + if size + fill_up < few { megabyte } else { STEP_MEGABYTES * megabyte }
}

/// Grows the file, then the size in the header.
fn grow_to(mtr: &mut Mtr<'_>, space: &SpaceLatch, pages: u32) -> Result<()> {
    let spaces = mtr.storage().spaces();
    let file = spaces.get(space.id)?;
    spaces.grow(&file, pages)?;
    mtr.write_u32(space.header, header::SIZE, pages);
    Ok(())
}

/// Describes more extents, up to four that are free as a whole, growing the tablespace if fewer are left.
///
/// # Errors
/// [`Error::SpaceFull`] if there was none to describe; the extents with descriptor pages that were found on the way
/// remain added to FREE_FRAG then.
pub(super) fn fill_free_list(mtr: &mut Mtr<'_>, space: &SpaceLatch) -> Result<()> {
    let extent = space.extent_pages();
    let wanted = u64::from(space.free_limit(mtr)) + u64::from(FREE_ADD * extent);
    if u64::from(space.size_pages(mtr)) < wanted {
        match extend(mtr, space) {
            Ok(()) | Err(Error::SpaceFull { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    while describe_extents(mtr, space)? == 0 {
        extend(mtr, space)?;
    }
    Ok(())
}

/// Free extents described at once.
const FREE_ADD: u32 = 4;

/// Describes the extents above the free limit that lie within the size, until four free ones are added. Returns
/// how many were.
pub(super) fn describe_extents(mtr: &mut Mtr<'_>, space: &SpaceLatch) -> Result<u32> {
    let extent = space.extent_pages();
    let mut added = 0;
    while added < FREE_ADD {
        let first = space.free_limit(mtr);
        match first.checked_add(extent) {
            Some(end) if end <= space.size_pages(mtr) => {}
            _ => break,
        }
        if !xdes::describe_extent(mtr, space, PageNo(first))? {
            added += 1;
        }
    }
    Ok(added)
}
