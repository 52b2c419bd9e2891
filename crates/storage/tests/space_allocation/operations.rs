//! What the tests do with a tablespace.

use crate::space_allocation::bed::{Bed, SPACE};
use vaquita_base::{PageId, PageNo, SegmentId, SpaceId};
use vaquita_format::flags::SpaceFlags;
use vaquita_format::flst::SegmentHeader;
use vaquita_format::fsp::SpaceHeader;
use vaquita_format::fsp::check::SpaceSummary;
use vaquita_storage::fsp::{self, Direction, HeaderPlace, Reservation};
use vaquita_storage::{Mtr, Result};

impl Bed {
    /// A folder with one tablespace of a table, empty.
    pub(crate) fn with_table(page_size: usize) -> Self {
        let bed = Self::new(page_size);
        bed.create(SPACE, SpaceFlags::new(bed.page_size, false, false).unwrap(), fsp::INITIAL_PAGES);
        bed
    }

    /// The same with a segment that has outgrown fragments, so that the file is larger than an extent.
    pub(crate) fn with_large_table(page_size: usize) -> (Self, SegmentHeader) {
        let bed = Self::with_table(page_size);
        let segment = bed.create_segment();
        bed.allocate_n(segment, bed.page_size.extent_pages() / 2 + 1);
        (bed, segment)
    }

    /// One mini-transaction; nothing of it remains if it fails.
    pub(crate) fn change<R>(&self, run: impl FnOnce(&mut Mtr<'_>) -> Result<R>) -> Result<R> {
        let mut mtr = self.storage.begin()?;
        mtr.keep_before_images();
        let out = run(&mut mtr)?;
        mtr.commit();
        Ok(out)
    }

    pub(crate) fn read<R>(&self, run: impl FnOnce(&mut Mtr<'_>) -> Result<R>) -> Result<R> {
        run(&mut self.storage.begin_read())
    }

    pub(crate) fn init(&self, size_pages: u32) {
        let flags = SpaceFlags::new(self.page_size, false, false).unwrap();
        self.change(|mtr| fsp::init_space(mtr, SPACE, flags, size_pages)).unwrap();
    }

    pub(crate) fn create_segment(&self) -> SegmentHeader {
        self.create_segment_at(84).1
    }

    /// A segment with its header on its first page.
    pub(crate) fn create_segment_at(&self, offset: u16) -> (SegmentId, SegmentHeader, PageNo) {
        self.change(|mtr| {
            let new = fsp::create_segment(mtr, SPACE, HeaderPlace::OnFirstPage { offset })?;
            Ok((new.id, new.header, mtr.id(new.page).page_no))
        })
        .unwrap()
    }

    /// Allocates as an index does that grows at its right end.
    pub(crate) fn allocate_n(&self, segment: SegmentHeader, n: u32) {
        let mut hint = PageNo(0);
        for _ in 0..n {
            let page = self
                .change(|mtr| {
                    fsp::reserve_free_extents(mtr, SPACE, 3, Reservation::Normal)?;
                    fsp::allocate_page(mtr, segment, hint, Direction::Up)
                })
                .unwrap();
            hint = PageNo(page.get() + 1);
        }
    }

    pub(crate) fn free_segment(&self, segment: SegmentHeader) {
        while !self.change(|mtr| fsp::free_segment_step(mtr, segment, None)).unwrap() {}
    }

    pub(crate) fn validate(&self) -> SpaceSummary {
        self.validate_space(SPACE)
    }

    pub(crate) fn try_validate(&self) -> Result<SpaceSummary> {
        self.read(|mtr| fsp::validate(mtr, SPACE))
    }

    pub(crate) fn validate_space(&self, space: SpaceId) -> SpaceSummary {
        self.read(|mtr| fsp::validate(mtr, space)).unwrap()
    }

    pub(crate) fn page(&self, no: u32) -> Vec<u8> {
        self.page_of(SPACE, no)
    }

    pub(crate) fn page_of(&self, space: SpaceId, no: u32) -> Vec<u8> {
        self.read(|mtr| {
            let page = mtr.get_shared(PageId::new(space, PageNo(no)))?;
            Ok(mtr.page(page).to_vec())
        })
        .unwrap()
    }

    /// Size in the header.
    pub(crate) fn size(&self) -> u32 {
        self.size_of(SPACE)
    }

    pub(crate) fn size_of(&self, space: SpaceId) -> u32 {
        SpaceHeader::read(&self.page_of(space, 0)).size
    }

    /// Pages of the file.
    pub(crate) fn file_size(&self) -> u32 {
        self.storage.spaces().get(SPACE).unwrap().size_pages()
    }

    pub(crate) fn grow_file(&self, pages: u32) {
        let space = self.storage.spaces().get(SPACE).unwrap();
        self.storage.spaces().grow(&space, pages).unwrap();
    }

    pub(crate) fn free_extents(&self) -> u32 {
        self.free_extents_of(SPACE)
    }

    pub(crate) fn free_extents_of(&self, space: SpaceId) -> u32 {
        self.read(|mtr| fsp::free_extents(mtr, space)).unwrap()
    }

    pub(crate) fn is_allocated(&self, page: u32) -> bool {
        self.read(|mtr| fsp::is_page_allocated(mtr, SPACE, PageNo(page))).unwrap()
    }

    pub(crate) fn autoextend_increment_bytes(&self) -> u64 {
        self.storage.options().live.autoextend_increment_bytes
    }

    pub(crate) fn segment_header(&self, page: u32, offset: u16) -> Result<SegmentHeader> {
        self.read(|mtr| {
            let page = mtr.get_shared(PageId::new(SPACE, PageNo(page)))?;
            fsp::read_segment_header(mtr, page, offset)
        })
    }
}
