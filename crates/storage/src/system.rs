//! The system tablespace's fixed pages, as far as this layer owns them: who the folder is, where the doublewrite
//! area lies, and their creation.
//!
//! | page | holds |
//! |---|---|
//! | 0, 1, 2 | space header, change-buffer bitmap, segment inodes |
//! | 3, 4 | change buffer: header with its segment, root |
//! | 5 | TRX_SYS: transaction ids, rollback segments, doublewrite |
//! | 6 | rollback segment 0 |
//! | 7 | dictionary header; 8–12 the roots of its trees |
//! | 64–191 | doublewrite area (16K pages) |
//!
//! The trees and the rollback segment belong to upper layers: a [`Bootstrap`] makes them, in between, so that they
//! get InnoDB's page numbers.
//!
//! The folder's identity is ours: MySQL leaves the bytes before TRX_SYS's master log information alone, we keep
//! [`IDENTITY_MAGIC`] and twelve bytes there; the log files carry the same in their labels.

use crate::buf::BufferPool;
use crate::error::{Error, Result};
use crate::fsp::{self, HeaderPlace};
use crate::log::FolderId;
use crate::mtr::{Mtr, PageRef};
use crate::options::Options;
use crate::space::SpaceMap;
use crate::storage::Storage;
use vaquita_base::{Lsn, PageId, PageNo, SpaceId};
use vaquita_format::fil::{self, PageType};
use vaquita_format::flags::SpaceFlags;
use vaquita_format::trx_sys::{self, Doublewrite};
use vaquita_io::AlignedBuf;

/// Marks the folder's identity in the TRX_SYS page.
const IDENTITY_MAGIC: &[u8; 8] = b"VAQUITA1";
/// Bytes of magic and id.
const IDENTITY_SIZE: usize = 20;
/// Offset of the change buffer's segment header in page 3.
const IBUF_SEGMENT: u16 = 94;
/// Offset of the dictionary's segment header in page 7.
const DICT_SEGMENT: u16 = 94;

/// Makes what upper layers keep in the system tablespace. Called once, when a folder is created, in the order of
/// the methods; each page number follows from that order.
pub trait Bootstrap {
    /// Makes the root of the change buffer's tree (index id 0xFFFFFFFF00000000) on the page, which is allocated.
    ///
    /// # Errors
    /// Whatever stops the creation.
    fn change_buffer_root(&mut self, mtr: &mut Mtr<'_>, root: PageRef) -> Result<()>;

    /// Makes rollback segment 0 and the dictionary; page 6 is next. The page of the dictionary header comes after.
    ///
    /// # Errors
    /// Whatever stops the creation.
    fn rollback_segment(&mut self, storage: &Storage) -> Result<()>;

    /// Makes the dictionary's trees; the header page 7 is made, page 8 is next.
    ///
    /// # Errors
    /// Whatever stops the creation.
    fn dictionary(&mut self, storage: &Storage) -> Result<()>;

    /// Makes whatever has no fixed place; everything else is there, the doublewrite area too.
    ///
    /// # Errors
    /// Whatever stops the creation.
    fn rest(&mut self, storage: &Storage) -> Result<()> {
        let _ = storage;
        Ok(())
    }
}

/// Leaves the pages of upper layers empty, but allocated: for folders that hold bare trees.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBootstrap;

impl Bootstrap for NoBootstrap {
    fn change_buffer_root(&mut self, _: &mut Mtr<'_>, _: PageRef) -> Result<()> {
        Ok(())
    }

    fn rollback_segment(&mut self, storage: &Storage) -> Result<()> {
        let mut mtr = storage.begin()?;
        mtr.keep_before_images();
        let made = fsp::create_segment(&mut mtr, SpaceId::SYSTEM, HeaderPlace::OnFirstPage { offset: 62 })?;
        mtr.write_u16(made.page, fil::TYPE, PageType::Sys.as_u16());
        mtr.commit();
        Ok(())
    }

    fn dictionary(&mut self, _: &Storage) -> Result<()> {
        Ok(())
    }
}

/// What the system tablespace says of the folder.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Identity {
    /// Our id; `None` for folders that MySQL made.
    pub(crate) folder: Option<FolderId>,
    pub(crate) doublewrite: Option<[PageNo; 2]>,
    /// LSN of the last clean shutdown.
    pub(crate) flush_lsn: Lsn,
}

fn identity_offset(page_len: usize) -> usize {
    // Below the master log information, above the rollback segment slots.
    trx_sys::master_log_offset(page_len) - 64
}

/// Reads the identity from the file, before recovery. Its page may be torn, but each of its sectors is one state of
/// the page or another, and the fields read here never change after creation.
pub(crate) fn read_identity(spaces: &SpaceMap, options: &Options) -> Result<Identity> {
    let mut page = AlignedBuf::zeroed(options.page_size.physical());
    let first = spaces.locate(PageId::new(SpaceId::SYSTEM, PageNo(0)))?;
    first.file.read_at(&mut page, first.offset)?;
    let flush_lsn = fil::flush_lsn(&page);
    let place = spaces.locate(PageId::new(SpaceId::SYSTEM, trx_sys::PAGE))?;
    place.file.read_at(&mut page, place.offset)?;
    Ok(Identity { flush_lsn, ..identity_of(&page)? })
}

/// Reads the identity from the page as recovery left it.
pub(crate) fn read_identity_from_pool(pool: &BufferPool) -> Result<Identity> {
    let page = pool.get_shared(PageId::new(SpaceId::SYSTEM, trx_sys::PAGE))?;
    identity_of(&page)
}

/// Whether the TRX_SYS page carries our mark.
pub(crate) fn is_marked(page: &[u8]) -> bool {
    page[identity_offset(page.len())..].starts_with(IDENTITY_MAGIC)
}

/// Marks a folder of another server as ours, durably: in its file too, where the next opening looks before anything else.
pub(crate) fn mark(storage: &Storage, folder: FolderId) -> Result<()> {
    let mut mtr = storage.begin()?;
    let page = mtr.get_exclusive(PageId::new(SpaceId::SYSTEM, trx_sys::PAGE))?;
    let at = identity_offset(mtr.page(page).len());
    mtr.write_bytes(page, at, &[&IDENTITY_MAGIC[..], &folder.0].concat());
    mtr.commit();
    storage.flush_everything()
}

fn identity_of(page: &[u8]) -> Result<Identity> {
    let at = identity_offset(page.len());
    let mine = &page[at..at + IDENTITY_SIZE];
    let folder = mine.strip_prefix(IDENTITY_MAGIC).and_then(|id| Some(FolderId(id.try_into().ok()?)));
    let doublewrite = Doublewrite::read(page)
        .map_err(|c| Error::structure(PageId::new(SpaceId::SYSTEM, trx_sys::PAGE), c))?;
    Ok(Identity { folder, doublewrite: doublewrite.map(|d| d.blocks), flush_lsn: Lsn::ZERO })
}

/// Makes the system tablespace's pages in the files that exist already.
pub(crate) fn create(storage: &Storage, folder: FolderId, bootstrap: &mut dyn Bootstrap) -> Result<()> {
    let space = storage.spaces().get(SpaceId::SYSTEM)?;
    let flags = SpaceFlags::new(storage.options().page_size, false, false)
        .map_err(|c| Error::Config(format!("page_size: {c}")))?;
    let mut mtr = storage.begin()?;
    mtr.keep_before_images();
    fsp::init_space(&mut mtr, SpaceId::SYSTEM, flags, space.size_pages())?;
    mtr.commit();

    let mut mtr = storage.begin()?;
    mtr.keep_before_images();
    let ibuf = segment_page(&mut mtr, IBUF_SEGMENT, PageNo(3))?;
    let root = fsp::create_page(&mut mtr, ibuf.header, PageNo(4), fsp::Direction::Up)?;
    expect_page(&mtr, root, PageNo(4));
    mtr.write_u16(root, fil::TYPE, PageType::Sys.as_u16());
    bootstrap.change_buffer_root(&mut mtr, root)?;
    mtr.commit();

    create_trx_sys(storage, folder)?;
    bootstrap.rollback_segment(storage)?;
    let mut mtr = storage.begin()?;
    mtr.keep_before_images();
    segment_page(&mut mtr, DICT_SEGMENT, PageNo(7))?;
    mtr.commit();
    bootstrap.dictionary(storage)?;
    if storage.options().doublewrite {
        create_doublewrite(storage)?;
    }
    bootstrap.rest(storage)
}

fn segment_page(mtr: &mut Mtr<'_>, offset: u16, page: PageNo) -> Result<fsp::NewSegment> {
    let made = fsp::create_segment(mtr, SpaceId::SYSTEM, HeaderPlace::OnFirstPage { offset })?;
    expect_page(mtr, made.page, page);
    mtr.write_u16(made.page, fil::TYPE, PageType::Sys.as_u16());
    Ok(made)
}

fn expect_page(mtr: &Mtr<'_>, page: PageRef, expected: PageNo) {
    assert_eq!(mtr.id(page).page_no, expected, "the fixed pages of a new system tablespace come in order");
}

fn create_trx_sys(storage: &Storage, folder: FolderId) -> Result<()> {
    let mut mtr = storage.begin()?;
    mtr.keep_before_images();
    let made = fsp::create_segment(
        &mut mtr,
        SpaceId::SYSTEM,
        HeaderPlace::OnFirstPage { offset: trx_sys::SEGMENT as u16 },
    )?;
    expect_page(&mtr, made.page, trx_sys::PAGE);
    // The page as the format crate makes it, logged as the bytes that differ from the empty page.
    let mut image = vec![0; mtr.page(made.page).len()];
    trx_sys::init_page(&mut image, made.header);
    mtr.write_u16(made.page, fil::TYPE, fil::raw_type(&image));
    mtr.write_u64(made.page, trx_sys::TRX_ID_STORE, 1);
    let slots = trx_sys::RSEGS..trx_sys::RSEGS + 2 * trx_sys::N_RSEGS * trx_sys::RSEG_SLOT_SIZE;
    let slots = slots.start..slots.end.min(identity_offset(image.len()));
    mtr.write_bytes(made.page, slots.start, &image[slots.clone()]);
    let identity = [&IDENTITY_MAGIC[..], &folder.0].concat();
    mtr.write_bytes(made.page, identity_offset(image.len()), &identity);
    mtr.write_bytes(made.page, trx_sys::format_tag_offset(image.len()), &trx_sys::encode_file_format(1));
    mtr.commit();
    Ok(())
}

/// Allocates the area: the segment's first pages are single ones, as of every segment, and stay unused; then come
/// whole extents, of which the area is two.
fn create_doublewrite(storage: &Storage) -> Result<()> {
    let page_size = storage.options().page_size;
    let at = trx_sys::doublewrite_offset(page_size.logical());
    let mut mtr = storage.begin()?;
    mtr.keep_before_images();
    let page = mtr.get_exclusive(PageId::new(SpaceId::SYSTEM, trx_sys::PAGE))?;
    let made = fsp::create_segment(&mut mtr, SpaceId::SYSTEM, HeaderPlace::On { page, offset: at as u16 })?;
    mtr.commit();
    let singles = page_size.inode_fragment_slots() as u32;
    let run = page_size.extent_pages();
    let mut pages = Vec::new();
    for _ in 0..singles + 2 * run {
        let mut mtr = storage.begin()?;
        mtr.keep_before_images();
        let page = fsp::create_page(&mut mtr, made.header, PageNo::NULL, fsp::Direction::None)?;
        pages.push(mtr.id(page).page_no);
        mtr.commit();
    }
    let area = &pages[singles as usize..];
    let blocks = [area[0], area[run as usize]];
    let is_run = |first: PageNo, part: &[PageNo]| part.iter().zip(first.0..).all(|(p, n)| p.0 == n);
    assert!(
        is_run(blocks[0], &area[..run as usize]) && is_run(blocks[1], &area[run as usize..]),
        "whole extents"
    );
    let mut mtr = storage.begin()?;
    mtr.keep_before_images();
    let page = mtr.get_exclusive(PageId::new(SpaceId::SYSTEM, trx_sys::PAGE))?;
    let info = Doublewrite { segment: made.header, blocks, space_id_stored: true };
    mtr.write_bytes(page, at, &info.encode());
    mtr.commit();
    // The area's pages leave the pool before their places are used for copies.
    storage.flush_everything()?;
    storage.pool().discard_range(PageId::new(SpaceId::SYSTEM, blocks[0]), run);
    storage.pool().discard_range(PageId::new(SpaceId::SYSTEM, blocks[1]), run);
    storage.flusher().set_doublewrite_blocks(Some(blocks));
    Ok(())
}
