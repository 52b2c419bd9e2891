//! The free-space codes of secondary leaves in the change buffer bitmap.
//!
//! Two bits per page tell a server that buffers changes how much more it may buffer for a leaf (see
//! [`vaquita_format::ibuf`]). This engine does not read them; but a server that opens the files later does, so they
//! may say too little and never too much. Hence:
//!
//! - I1: the code of a leaf of a secondary index is at most the one that its free space gives.
//!
//! It is kept by lowering the code whenever an insert takes the leaf below it, and on leaves that were just allocated,
//! whose bits are those of the number's former page. Codes are never raised.
//!
//! # Latching
//! A bitmap page comes last of all, after page 0: nothing is waited for while one is held.

use crate::error::Result;
use crate::ops;
use crate::tree::Tree;
use vaquita_base::PageNo;
use vaquita_format::fil::{self, PageType};
use vaquita_format::fsp::bitmap_page;
use vaquita_format::ibuf::{self, PageBits};
use vaquita_format::index_def::IndexKind;
use vaquita_format::index_page::{header, max_insert_size_after_reorganize};
use vaquita_storage::{Mtr, PageRef, Storage};

/// A byte of a bitmap page to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BitsChange {
    bitmap: PageRef,
    at: usize,
    byte: u8,
}

impl BitsChange {
    /// Writes it.
    pub(crate) fn make(self, mtr: &mut Mtr<'_>) {
        mtr.write_u8(self.bitmap, self.at, self.byte);
    }
}

impl Tree {
    /// Whether the page is one whose code counts.
    #[inline]
    fn has_free_bits(&self, page: &[u8]) -> bool {
        self.index.kind() == IndexKind::Secondary && header::is_leaf(page)
    }

    /// The change of the bitmap that goes with inserting a record of `len` bytes into a leaf, to be made when that is done.
    /// What can fail, fails here.
    #[inline]
    pub(crate) fn bits_after_insert(
        &self,
        mtr: &mut Mtr<'_>,
        page: PageRef,
        len: usize,
    ) -> Result<Option<BitsChange>> {
        let bytes = mtr.page(page);
        if !self.has_free_bits(bytes) {
            return Ok(None);
        }
        let size = self.index.page_size();
        let now = ibuf::free_code(size, max_insert_size_after_reorganize(bytes, 1));
        let then = ibuf::free_code(size, max_insert_size_after_reorganize(bytes, 2).saturating_sub(len));
        if then < now { self.limit(mtr, mtr.id(page).page_no, then) } else { Ok(None) }
    }

    /// Lowers the code of a leaf to what its free space gives, if it is above that.
    pub(crate) fn lower_free_bits(&self, mtr: &mut Mtr<'_>, page: PageRef) -> Result<()> {
        let bytes = mtr.page(page);
        if !self.has_free_bits(bytes) {
            return Ok(());
        }
        let code = self.free_code(bytes);
        self.limit_free_bits(mtr, mtr.id(page).page_no, code)
    }

    /// The same for a page that is not held, because nobody knows it yet.
    pub(crate) fn lower_free_bits_of(&self, mtr: &mut Mtr<'_>, page_no: PageNo, bytes: &[u8]) -> Result<()> {
        if !self.has_free_bits(bytes) {
            return Ok(());
        }
        self.limit_free_bits(mtr, page_no, self.free_code(bytes))
    }

    fn free_code(&self, page: &[u8]) -> u8 {
        ibuf::free_code(self.index.page_size(), max_insert_size_after_reorganize(page, 1))
    }

    /// Checks I1 for a page; pages with buffered changes are left alone, their codes count those in.
    pub(crate) fn check_free_bits(&self, storage: &Storage, page_no: PageNo, page: &[u8]) -> Result<()> {
        if !self.has_free_bits(page) {
            return Ok(());
        }
        let size = self.index.page_size();
        let id = self.page_id(bitmap_page(size, page_no));
        let bitmap = storage.pool().get_shared(id)?;
        let bits = ibuf::get(size, &bitmap, page_no);
        let code = self.free_code(page);
        if bits.buffered || bits.free <= code {
            return Ok(());
        }
        let detail = format!("code {} of page {page_no}, its free space gives {code}", bits.free);
        Err(ops::bad(id, &self.index, "change buffer bitmap", detail))
    }

    fn limit_free_bits(&self, mtr: &mut Mtr<'_>, page_no: PageNo, code: u8) -> Result<()> {
        if let Some(change) = self.limit(mtr, page_no, code)? {
            change.make(mtr);
        }
        Ok(())
    }

    /// The change that gives a page at most this code; `None` if it has no more.
    fn limit(&self, mtr: &mut Mtr<'_>, page_no: PageNo, code: u8) -> Result<Option<BitsChange>> {
        debug_assert!(code <= 3, "I1: code {code} of page {page_no} has more than two bits");
        let size = self.index.page_size();
        let bitmap = self.latch_bitmap(mtr, page_no)?;
        let bits = ibuf::get(size, mtr.page(bitmap), page_no);
        if bits.free <= code {
            return Ok(None);
        }
        let lowered = PageBits { free: code, ..bits };
        let (at, byte) = ibuf::with(size, mtr.page(bitmap), page_no, lowered);
        Ok(Some(BitsChange { bitmap, at, byte }))
    }

    fn latch_bitmap(&self, mtr: &mut Mtr<'_>, page: PageNo) -> Result<PageRef> {
        let id = self.page_id(bitmap_page(self.index.page_size(), page));
        let bitmap = mtr.get_exclusive(id)?;
        if fil::raw_type(mtr.page(bitmap)) != PageType::IbufBitmap.as_u16() {
            let detail = format!("type {}", fil::raw_type(mtr.page(bitmap)));
            return Err(ops::bad(id, &self.index, "change buffer bitmap", detail));
        }
        Ok(bitmap)
    }
}
