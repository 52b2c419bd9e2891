//! Pages that are made whole before anybody refers to them: nothing of them is logged, they are written to the file instead.
//!
//! | | |
//! |---|---|
//! | [`Storage::never_used`] | from which page on a tablespace has had none |
//! | [`Storage::build_page`] | a page comes into the pool, dirty, without redo |
//! | [`Storage::write_built`] | those that are still there are written |
//! | [`Storage::settle_built`] | and all are durable, and so is the name of their file |
//!
//! Whoever builds refers to the pages, in a mini-transaction, when they are settled: not before, because nothing repeats what
//! is on them. From then on they are pages like all others.
//!
//! # Crash
//! Before they are settled the pages are there or not: nobody refers to them, and who built them frees them. No redo is repeated on
//! them, as only pages are made that the tablespace never had. They go through the doublewrite area, so that no page of a file is ever torn, but
//! for those of a new file, which a crash makes go. Their allocation is logged as ever.

use crate::buf::assert_no_page_latched;
use crate::error::Result;
use crate::fsp;
use crate::storage::Storage;
use vaquita_base::{PageId, PageNo, SpaceId};
use vaquita_format::fil;

impl Storage {
    /// The first of the pages that a tablespace never had: behind its last extent that was ever in use.
    ///
    /// # Errors
    /// Errors of reading the tablespace's header.
    ///
    /// # Latching
    /// The caller holds no page latch.
    pub fn never_used(&self, space: SpaceId) -> Result<PageNo> {
        let mut mtr = self.begin_read();
        fsp::free_limit(&mut mtr, space)
    }

    /// Makes a page that was just allocated, of those that the tablespace never had: zeros but for its number and space, and what
    /// `write` puts there.
    ///
    /// # Errors
    /// If the tablespace's file does not hold the page; no frame can be had.
    pub fn build_page(&self, id: PageId, write: impl FnOnce(&mut [u8])) -> Result<()> {
        let mut guard = self.pool().create(id)?;
        let bytes = guard.bytes_mut();
        fil::init(bytes, id.space, id.page_no);
        write(bytes);
        // Redo of whatever comes later is above it.
        fil::set_lsn(bytes, self.log().current_lsn());
        self.pool().mark_dirty_unlogged(guard.frame());
        Ok(())
    }

    /// Writes those of the pages that are dirty in the pool. `new_file`: the file goes if there is a crash, so pages may be torn.
    ///
    /// # Errors
    /// I/O errors; they poison the flusher.
    ///
    /// # Latching
    /// The caller holds no page latch.
    pub fn write_built(&self, space: SpaceId, pages: &[PageNo], new_file: bool) -> Result<()> {
        assert_no_page_latched("pages are written, whose shared latches are wanted");
        #[cfg(feature = "canary")]
        if self.canary().leaves_built_pages() {
            return Ok(());
        }
        let look = || self.pool().unsettled(pages.iter().map(|&page| PageId::new(space, page)));
        self.flusher().settle(look, |dirty| match new_file {
            true => self.flusher().flush_bare(self.pool(), dirty),
            false => self.flusher().flush_frames(self.pool(), dirty),
        })
    }

    /// Writes the pages that are dirty, and makes durable whatever of them has been written.
    ///
    /// # Errors
    /// As [`Storage::write_built`].
    ///
    /// # Latching
    /// The caller holds no page latch.
    pub fn settle_built(&self, space: SpaceId, pages: &[PageNo], new_file: bool) -> Result<()> {
        self.write_built(space, pages, new_file)?;
        #[cfg(feature = "canary")]
        if self.canary().leaves_built_pages() {
            return Ok(());
        }
        let space = self.spaces().get(space)?;
        self.spaces().sync(&space)?;
        // A file whose name is lost is made anew from the log, which does not have these pages.
        self.spaces().settle_name(&space)
    }
}
