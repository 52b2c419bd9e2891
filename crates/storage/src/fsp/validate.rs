//! Checks the allocation state of an open tablespace, as the pool has it.
//!
//! Lists, states, bitmaps and counters are checked by [`vaquita_format::fsp::check`] on copies of the pages; here it
//! is checked besides that every used page has exactly one owner.

use super::SpaceLatch;
use crate::error::Result;
use crate::mtr::Mtr;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use vaquita_base::{PageId, PageNo, SpaceId};
use vaquita_format::flst::{FileAddress, ListNode};
use vaquita_format::fsp::check::{SpaceSummary, check_space};
use vaquita_format::fsp::inode::{self, Inode};
use vaquita_format::fsp::{ExtentState, Xdes, bitmap_page, descriptor_page, extent_start, in_extent};
use vaquita_format::{Corruption, PageSize};

type Pages = HashMap<PageNo, Box<[u8]>>;

/// Checks every list, extent and segment of a tablespace.
///
/// # Errors
/// [`crate::Error::Structure`] with the first broken rule; errors of reading pages.
///
/// # Latching
/// Latches page 0 shared until the end of the mini-transaction; other pages one at a time.
pub fn validate(mtr: &mut Mtr<'_>, space: SpaceId) -> Result<SpaceSummary> {
    let latch = SpaceLatch::shared(mtr, space)?;
    let mut pages = Pages::new();
    pages.insert(PageNo(0), latch.bytes(mtr, latch.header).into());
    loop {
        // The pages that the check asks for are found by checking: few, descriptor pages and inode pages.
        let missing = Cell::new(None);
        let source = |no: PageNo| match pages.get(&no) {
            Some(page) => Some(&page[..]),
            None => {
                missing.set(Some(no));
                None
            }
        };
        let outcome = check_space(&source);
        match missing.get() {
            Some(no) if no.get() < latch.size_pages(mtr) => {
                let copy = copy_page(mtr, &latch, no)?;
                pages.insert(no, copy);
            }
            _ => {
                let found = outcome.and_then(|summary| {
                    Owners::new(&pages, &summary).check()?;
                    Ok(summary)
                });
                return found.map_err(|c| latch.corrupt(PageNo(0), c));
            }
        }
    }
}

fn copy_page(mtr: &mut Mtr<'_>, space: &SpaceLatch, page: PageNo) -> Result<Box<[u8]>> {
    let id = PageId::new(space.id, page);
    let was_held = mtr.find(id).is_some();
    let held = mtr.get_shared(id)?;
    let copy = space.bytes(mtr, held).into();
    if !was_held {
        mtr.release(held);
    }
    Ok(copy)
}

/// Check that every used page of a shared extent has exactly one owner. Pages of other extents have, as the lists
/// are sound.
struct Owners<'a> {
    pages: &'a Pages,
    summary: &'a SpaceSummary,
    size: PageSize,
    owned: HashSet<PageNo>,
}

impl<'a> Owners<'a> {
    fn new(pages: &'a Pages, summary: &'a SpaceSummary) -> Self {
        Self { pages, summary, size: summary.page_size, owned: HashSet::new() }
    }

    fn check(mut self) -> vaquita_format::Result<()> {
        self.fixed_pages()?;
        for list in [self.summary.header.inodes_full, self.summary.header.inodes_free] {
            let mut at = list.first;
            while let Some(FileAddress { page, .. }) = at.some() {
                self.inode_page(page)?;
                at = ListNode::read(&self.pages[&page], inode::PAGE_NODE).next;
            }
        }
        self.no_orphans()
    }

    fn own(&mut self, page: PageNo, what: &str) -> vaquita_format::Result<()> {
        if page.get() >= self.summary.header.size {
            return Err(Corruption::new("used page", format!("page {page}, {what}, lies beyond the end")));
        }
        if !self.owned.insert(page) {
            return Err(Corruption::new(
                "owner of a page",
                format!("page {page}, {what}, has another owner too"),
            ));
        }
        Ok(())
    }

    fn fixed_pages(&mut self) -> vaquita_format::Result<()> {
        for first in (0..self.summary.header.free_limit).step_by(self.size.pages_per_xdes_page() as usize) {
            self.own(PageNo(first), "descriptor page")?;
            self.own(bitmap_page(self.size, PageNo(first)), "bitmap page")?;
        }
        Ok(())
    }

    fn inode_page(&mut self, no: PageNo) -> vaquita_format::Result<()> {
        self.own(no, "inode page")?;
        let pages = self.pages;
        for slot in 0..self.size.inodes_per_page() {
            let inode = Inode::of(self.size, &pages[&no], slot);
            if !inode.is_free() {
                for page in inode.fragments() {
                    self.own(page, "fragment")?;
                }
            }
        }
        Ok(())
    }

    /// Every used page of a shared extent was met, and no page that was met is free.
    fn no_orphans(&self) -> vaquita_format::Result<()> {
        let mut used_and_shared = 0;
        let limit = self.summary.header.free_limit;
        for first in (0..limit).step_by(self.size.extent_pages() as usize).map(PageNo) {
            let x = self.descriptor(first);
            if matches!(x.state()?, ExtentState::FreeFrag | ExtentState::FullFrag) {
                for j in (0..self.size.extent_pages()).filter(|&j| !x.bitmap().is_free(j)) {
                    let page = PageNo(first.get() + j);
                    if !self.owned.contains(&page) {
                        return Err(Corruption::new(
                            "owner of a page",
                            format!("page {page} is used by nobody"),
                        ));
                    }
                    used_and_shared += 1;
                }
            }
        }
        if used_and_shared == self.owned.len() {
            return Ok(());
        }
        // Fragments have been checked already: it is an inode page or a fixed page.
        let shared_and_used = |page: PageNo| {
            page.get() < limit && {
                let x = self.descriptor(extent_start(self.size, page));
                let shared = matches!(x.state(), Ok(ExtentState::FreeFrag | ExtentState::FullFrag));
                shared && !x.bitmap().is_free(in_extent(self.size, page))
            }
        };
        let wrong: Vec<PageNo> = self.owned.iter().copied().filter(|&page| !shared_and_used(page)).collect();
        Err(Corruption::new(
            "used page",
            format!("{wrong:?} have owners, but are free or in a segment's extent"),
        ))
    }

    /// The descriptor of an extent below the free limit: the check has read them all.
    fn descriptor(&self, extent: PageNo) -> Xdes<'a> {
        Xdes::of(self.size, &self.pages[&descriptor_page(self.size, extent)], extent)
    }
}
