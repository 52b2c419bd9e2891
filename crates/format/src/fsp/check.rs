//! Checks the space management of a whole tablespace: every list, every extent, every segment.
//!
//! Every rule of the parent modules is checked against every other: lists are walked with lengths and links both
//! ways, each extent lies on exactly the list of its state, counters equal the bitmaps, fragment pages are marked
//! used in a fragment extent.

use std::collections::{HashMap, HashSet};

use vaquita_base::{PageNo, SegmentId};

use super::{Inode, SpaceHeader, Xdes, descriptor_page, extent_start, in_extent, inode, xdes};
use crate::fil::{self, PageType};
use crate::flst::{FileAddress, ListBase, ListNode};
use crate::fsp::xdes::ExtentState;
use crate::{Corruption, PageSize, Result};

/// What a sound tablespace consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceSummary {
    /// The header of page 0.
    pub header: SpaceHeader,
    /// Page size, from the flags.
    pub page_size: PageSize,
    /// Every segment with the pages it uses.
    pub segments: Vec<(SegmentId, u64)>,
    /// Extents by state.
    pub extents: [u32; 5],
}

/// Checks a tablespace. `page` gives the bytes of a page as they are in the file, `None` beyond its end.
///
/// # Errors
/// The first broken rule found.
pub fn check_space<'a>(page: &dyn Fn(PageNo) -> Option<&'a [u8]>) -> Result<SpaceSummary> {
    let first = page(PageNo(0)).ok_or_else(|| Corruption::new("page 0", "missing"))?;
    let size = super::header::read_flags(first)?.page_size();
    if first.len() != size.physical() {
        return Err(Corruption::new("page length", format!("{} bytes", first.len())));
    }
    let header = SpaceHeader::read(first);
    header.check()?;
    let mut checker =
        Checker { page, size, header, listed: HashSet::new(), fragments: HashSet::new(), extents: [0; 5] };
    checker.space_lists()?;
    let segments = checker.segments()?;
    checker.all_extents()?;
    Ok(SpaceSummary { header, page_size: size, segments, extents: checker.extents })
}

struct Checker<'p, 'a> {
    page: &'p dyn Fn(PageNo) -> Option<&'a [u8]>,
    size: PageSize,
    header: SpaceHeader,
    /// First pages of the extents met on some list.
    listed: HashSet<PageNo>,
    /// Fragment pages of the segments met so far.
    fragments: HashSet<PageNo>,
    extents: [u32; 5],
}

impl<'a> Checker<'_, 'a> {
    fn read(&self, no: PageNo) -> Result<&'a [u8]> {
        let page = (self.page)(no).filter(|p| p.len() == self.size.physical());
        page.ok_or_else(|| Corruption::new("page reference", format!("page {no} is not in the file")))
    }

    fn xdes(&self, extent: PageNo) -> Result<Xdes<'a>> {
        Ok(Xdes::of(self.size, self.read(descriptor_page(self.size, extent))?, extent))
    }

    /// Addresses of a list's nodes, links checked both ways.
    fn walk(&self, what: &'static str, base: ListBase) -> Result<Vec<FileAddress>> {
        let bad = |why: String| Err(Corruption::new("list", format!("{what}: {why}")));
        let mut nodes: Vec<FileAddress> = Vec::new();
        let (mut at, mut prev) = (base.first, FileAddress::NULL);
        while let Some(address) = at.some() {
            if nodes.len() as u64 >= u64::from(base.len) {
                return bad(format!("more than {} nodes", base.len));
            }
            let page = self.read(address.page)?;
            let offset = usize::from(address.offset);
            if offset < fil::BODY || offset + crate::flst::NODE_SIZE > page.len() {
                return bad(format!("node at {address}"));
            }
            let node = ListNode::read(page, offset);
            if node.prev.some() != prev.some() {
                return bad(format!("{address} says {} is before it, not {prev}", node.prev));
            }
            nodes.push(address);
            (prev, at) = (address, node.next);
        }
        if nodes.len() as u64 != u64::from(base.len) || base.last.some() != prev.some() {
            return bad(format!("{} nodes up to {prev}, base says {base:?}", nodes.len()));
        }
        Ok(nodes)
    }

    /// First pages of the extents on a list, each in the expected state and met for the first time.
    fn extent_list(
        &mut self,
        what: &'static str,
        base: ListBase,
        state: ExtentState,
        owner: SegmentId,
    ) -> Result<Vec<PageNo>> {
        let mut extents = Vec::new();
        for address in self.walk(what, base)? {
            let extent = xdes::extent_of_node(self.size, address)?;
            let x = self.xdes(extent)?;
            let sound = extent.get() < self.header.free_limit
                && x.state()? == state
                && (state != ExtentState::Segment || x.segment_id() == owner)
                && self.listed.insert(extent);
            if !sound {
                let detail =
                    format!("extent {extent} on {what}: {:?} of segment {}", x.state()?, x.segment_id());
                return Err(Corruption::new("extent on a list", detail));
            }
            extents.push(extent);
        }
        Ok(extents)
    }

    fn space_lists(&mut self) -> Result<()> {
        let h = self.header;
        for extent in self.extent_list("FREE", h.free, ExtentState::Free, SegmentId(0))? {
            if !self.xdes(extent)?.bitmap().is_empty() {
                return Err(Corruption::new("free extent", format!("extent {extent} has used pages")));
            }
        }
        let mut used = 0;
        for extent in self.extent_list("FREE_FRAG", h.free_frag, ExtentState::FreeFrag, SegmentId(0))? {
            used += self.xdes(extent)?.bitmap().n_used();
        }
        if used != h.frag_n_used {
            let detail = format!("header says {}, bitmaps say {used}", h.frag_n_used);
            return Err(Corruption::new("used fragment pages", detail).at(super::header::FRAG_N_USED));
        }
        for extent in self.extent_list("FULL_FRAG", h.full_frag, ExtentState::FullFrag, SegmentId(0))? {
            if !self.xdes(extent)?.bitmap().is_full() {
                return Err(Corruption::new("full extent", format!("extent {extent} has free pages")));
            }
        }
        Ok(())
    }

    fn segments(&mut self) -> Result<Vec<(SegmentId, u64)>> {
        let mut segments = HashMap::new();
        for (full, base) in [(true, self.header.inodes_full), (false, self.header.inodes_free)] {
            for address in self.walk("inode pages", base)? {
                let page = self.read(address.page)?;
                let used = inode::n_used(self.size, page);
                if usize::from(address.offset) != inode::PAGE_NODE
                    || fil::page_type(page) != Some(PageType::Inode)
                    || (used == self.size.inodes_per_page()) != full
                {
                    let detail =
                        format!("page {} with {used} inodes on the list of full={full}", address.page);
                    return Err(Corruption::new("inode page", detail));
                }
                for slot in 0..self.size.inodes_per_page() {
                    let inode = Inode::of(self.size, page, slot);
                    if inode.is_free() {
                        continue;
                    }
                    let (id, used) = (inode.segment_id(), self.segment(inode)?);
                    if id >= self.header.next_segment_id || segments.insert(id, used).is_some() {
                        return Err(Corruption::new(
                            "segment id",
                            format!("{id} is not given or given twice"),
                        ));
                    }
                }
            }
        }
        let mut segments: Vec<_> = segments.into_iter().collect();
        segments.sort();
        Ok(segments)
    }

    /// Checks one segment and gives the number of its used pages.
    fn segment(&mut self, inode: Inode<'a>) -> Result<u64> {
        inode.check_magic()?;
        let id = inode.segment_id();
        let bad = |what: &'static str, detail: String| {
            Err(Corruption::new(what, format!("segment {id}: {detail}")))
        };
        let mut not_full_used = 0;
        for (list, base) in [("FREE", inode.free()), ("NOT_FULL", inode.not_full()), ("FULL", inode.full())] {
            for extent in self.extent_list(list, base, ExtentState::Segment, id)? {
                let bitmap = self.xdes(extent)?.bitmap();
                let fits = match list {
                    "FREE" => bitmap.is_empty(),
                    "FULL" => bitmap.is_full(),
                    _ => !bitmap.is_empty() && !bitmap.is_full(),
                };
                if !fits {
                    return bad(
                        "fill of an extent",
                        format!("{} used in {extent} on {list}", bitmap.n_used()),
                    );
                }
                if list == "NOT_FULL" {
                    not_full_used += bitmap.n_used();
                }
            }
        }
        if not_full_used != inode.not_full_n_used() {
            let detail = format!("inode says {}, bitmaps say {not_full_used}", inode.not_full_n_used());
            return bad("used pages of NOT_FULL extents", detail);
        }
        for page in inode.fragments() {
            let x = self.xdes(extent_start(self.size, page))?;
            let shared = matches!(x.state()?, ExtentState::FreeFrag | ExtentState::FullFrag);
            let used = !x.bitmap().is_free(in_extent(self.size, page));
            if !shared || !used || !self.fragments.insert(page) {
                return bad(
                    "fragment page",
                    format!("page {page} is free, not in a shared extent, or owned twice"),
                );
            }
        }
        Ok(inode.reserved_and_used(self.size).1)
    }

    /// Every extent below the free limit lies on some list.
    fn all_extents(&mut self) -> Result<()> {
        for extent in (0..self.header.free_limit).step_by(self.size.extent_pages() as usize).map(PageNo) {
            let state = self.xdes(extent)?.state()?;
            self.extents[state.as_u32() as usize] += 1;
            if (state == ExtentState::NotInitialised) == self.listed.contains(&extent) {
                let detail =
                    format!("extent {extent} is {state:?}, on a list: {}", self.listed.contains(&extent));
                return Err(Corruption::new("extent without a list", detail));
            }
        }
        Ok(())
    }
}
