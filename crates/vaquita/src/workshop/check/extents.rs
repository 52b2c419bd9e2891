//! Space management: every list of the space header and of the segment inodes against the extent descriptors.
//!
//! The descriptors are read once, in order; then every list is walked with its links both ways. Every initialised
//! extent must lie on exactly the list of its state, every counter must equal what the bitmaps say.

use std::collections::{BTreeMap, HashMap};

use vaquita_base::{PageNo, SegmentId};
use vaquita_format::fil::{self, PageType};
use vaquita_format::flst::{FileAddress, ListBase, ListNode, NODE_SIZE, SegmentHeader};
use vaquita_format::fsp::{self, ExtentState, FIRST_INODE_PAGE, Inode, SpaceHeader, Xdes, inode, xdes};
use vaquita_format::{Corruption, PageSize};

use super::marks::{ALLOCATED, BAD, Marks, REACHED};
use crate::workshop::report::Report;
use crate::workshop::source::PageSource;

/// One extent below the free limit.
#[derive(Debug, Clone, Copy)]
pub(in crate::workshop) struct Extent {
    /// State; `None` if the number is no state or the descriptor page is damaged.
    pub(in crate::workshop) state: Option<ExtentState>,
    /// Owner, for extents of segments.
    pub(in crate::workshop) segment: SegmentId,
    /// Used pages.
    pub(in crate::workshop) used: u32,
    /// Whether some list holds it.
    pub(in crate::workshop) listed: bool,
}

/// A segment.
#[derive(Debug, Clone)]
pub(in crate::workshop) struct Segment {
    /// Place of its inode.
    pub(in crate::workshop) inode: FileAddress,
    /// Its single pages.
    pub(in crate::workshop) fragments: Vec<PageNo>,
    /// Its extents: free, partly used, full.
    pub(in crate::workshop) extents: [u32; 3],
    /// Used pages.
    pub(in crate::workshop) used: u64,
}

/// Who owns which page.
#[derive(Debug, Default)]
pub(in crate::workshop) struct Extents {
    /// By position; each covers the pages of the page size.
    pub(in crate::workshop) extents: Vec<Extent>,
    /// All segments.
    pub(in crate::workshop) segments: BTreeMap<SegmentId, Segment>,
    /// Owners of fragment pages.
    fragment_owner: HashMap<PageNo, SegmentId>,
    /// Whether the descriptors and inodes could be read without a fault.
    pub(in crate::workshop) complete: bool,
}

impl Extents {
    /// The segment that owns a page.
    pub(in crate::workshop) fn owner(&self, size: PageSize, no: PageNo) -> Option<SegmentId> {
        match self.extents.get((no.get() / size.extent_pages()) as usize)?.state? {
            ExtentState::Segment => Some(self.extents[(no.get() / size.extent_pages()) as usize].segment),
            _ => self.fragment_owner.get(&no).copied(),
        }
    }

    /// Whether the descriptor of a page's extent could be read.
    pub(in crate::workshop) fn is_known(&self, size: PageSize, no: PageNo) -> bool {
        let extent = self.extents.get((no.get() / size.extent_pages()) as usize);
        extent.is_none_or(|e| e.state.is_some())
    }

    /// The segment that a segment header points at.
    pub(in crate::workshop) fn segment_of(&self, header: SegmentHeader) -> Option<SegmentId> {
        self.segments.iter().find(|(_, s)| s.inode == header.inode).map(|(id, _)| *id)
    }
}

/// Reads and checks it all; marks used pages as allocated and the pages of space management as reached.
pub(in crate::workshop) fn check_extents(
    src: &dyn PageSource,
    header: &SpaceHeader,
    marks: &mut Marks,
    report: &mut Report,
) -> Extents {
    let mut check = ExtentCheck { src, size: src.page_size(), marks, report, out: Extents::default() };
    check.out.complete = true;
    check.descriptors(header);
    check.space_lists(header);
    check.inode_pages(header);
    check.unlisted();
    check.out
}

struct ExtentCheck<'a> {
    src: &'a dyn PageSource,
    size: PageSize,
    marks: &'a mut Marks,
    report: &'a mut Report,
    out: Extents,
}

impl ExtentCheck<'_> {
    fn fault(&mut self, page: PageNo, check: &'static str, detail: impl Into<String>) {
        self.out.complete = false;
        self.report.page(page, Corruption::new(check, detail));
    }

    /// One pass over all descriptors.
    fn descriptors(&mut self, header: &SpaceHeader) {
        let per_range = self.size.pages_per_xdes_page();
        let limit = header.free_limit.min(self.src.n_pages().next_multiple_of(self.size.extent_pages()));
        if header.free_limit > limit {
            let detail = format!("{}, the file has {} pages", header.free_limit, self.src.n_pages());
            self.fault(PageNo(0), "free limit", detail);
        }
        let mut descriptor: Option<(PageNo, Vec<u8>)> = None;
        for first in (0..limit).step_by(self.size.extent_pages() as usize).map(PageNo) {
            let at = fsp::descriptor_page(self.size, first);
            if descriptor.as_ref().is_none_or(|(no, _)| *no != at) {
                descriptor = self.descriptor_page(at).map(|page| (at, page));
            }
            let extent = match &descriptor {
                Some((no, page)) if *no == at => self.descriptor(first, page),
                _ => Extent { state: None, segment: SegmentId(0), used: 0, listed: false },
            };
            self.out.extents.push(extent);
            if first.get() % per_range == 0 {
                self.marks.set(first, REACHED);
                self.marks.set(PageNo(first.get() + 1), REACHED);
            }
        }
    }

    fn descriptor_page(&mut self, at: PageNo) -> Option<Vec<u8>> {
        let page = match self.src.page(at) {
            Ok(page) if !self.marks.has(at, BAD) => page.into_owned(),
            // Reported by the pass over all pages.
            Ok(_) => {
                self.out.complete = false;
                return None;
            }
            Err(e) => {
                self.out.complete = false;
                self.report.page(at, e.into_corruption());
                return None;
            }
        };
        let expected = if at == PageNo(0) { PageType::FspHdr } else { PageType::Xdes };
        if fil::page_type(&page) != Some(expected) {
            self.fault(at, "page type", format!("{} instead of {expected}", fil::raw_type(&page)));
        }
        Some(page)
    }

    fn descriptor(&mut self, first: PageNo, page: &[u8]) -> Extent {
        let x = Xdes::of(self.size, page, first);
        let state = match x.state() {
            Ok(state) => Some(state),
            Err(e) => {
                self.fault(
                    fsp::descriptor_page(self.size, first),
                    "extent state",
                    format!("extent of page {first}: {e}"),
                );
                None
            }
        };
        let bitmap = x.bitmap();
        if state.is_some_and(|s| s != ExtentState::NotInitialised) {
            for j in (0..self.size.extent_pages()).filter(|&j| !bitmap.is_free(j)) {
                self.marks.set(PageNo(first.get() + j), ALLOCATED);
            }
        }
        // The owner counts in segment extents only: freed ones keep the number of their last owner.
        Extent { state, segment: x.segment_id(), used: bitmap.n_used(), listed: false }
    }

    /// The nodes of a list, links checked both ways. `base_page` is where the base lies.
    fn walk(&mut self, base_page: PageNo, what: &str, base: ListBase) -> Vec<FileAddress> {
        let (nodes, fault) = walk_list(self.src, what, base, |no| self.marks.has(no, BAD));
        if let Some((page, what)) = fault {
            self.out.complete = false;
            self.report.page(page.unwrap_or(base_page), what);
        }
        nodes
    }

    /// Walks a list of extents, which must all be in `state`; gives their positions.
    fn extent_list(
        &mut self,
        base_page: PageNo,
        what: &str,
        base: ListBase,
        state: ExtentState,
        owner: SegmentId,
    ) -> Vec<usize> {
        let mut out = Vec::new();
        for node in self.walk(base_page, what, base) {
            let Ok(first) = xdes::extent_of_node(self.size, node) else {
                self.fault(node.page, "list of extents", format!("{what}: {node} is no extent descriptor"));
                continue;
            };
            let position = (first.get() / self.size.extent_pages()) as usize;
            let Some(extent) = self.out.extents.get_mut(position) else {
                self.fault(
                    node.page,
                    "list of extents",
                    format!("{what}: extent of page {first} is above the free limit"),
                );
                continue;
            };
            let (twice, found) = (std::mem::replace(&mut extent.listed, true), *extent);
            if twice {
                self.fault(
                    node.page,
                    "list of extents",
                    format!("{what}: extent of page {first} is on two lists"),
                );
            } else if found.state.is_some_and(|s| s != state) {
                let detail = format!("{what}: extent of page {first} is in state {:?}", found.state);
                self.fault(node.page, "extent state", detail);
            } else if state == ExtentState::Segment && found.segment != owner {
                let detail = format!("{what}: extent of page {first} belongs to segment {}", found.segment);
                self.fault(node.page, "owner of an extent", detail);
            } else {
                out.push(position);
            }
        }
        out
    }

    fn space_lists(&mut self, header: &SpaceHeader) {
        let none = SegmentId(0);
        let whole = self.size.extent_pages();
        let zero = PageNo(0);
        for at in self.extent_list(zero, "FREE", header.free, ExtentState::Free, none) {
            if self.out.extents[at].used != 0 {
                let detail = format!("extent of page {} on FREE has used pages", at as u32 * whole);
                self.fault(zero, "free extent", detail);
            }
        }
        let mut used = 0;
        for at in self.extent_list(zero, "FREE_FRAG", header.free_frag, ExtentState::FreeFrag, none) {
            used += self.out.extents[at].used;
        }
        if used != header.frag_n_used && self.out.complete {
            let detail = format!("{}, the bitmaps say {used}", header.frag_n_used);
            self.fault(zero, "used pages of fragment extents", detail);
        }
        for at in self.extent_list(zero, "FULL_FRAG", header.full_frag, ExtentState::FullFrag, none) {
            if self.out.extents[at].used != whole {
                let detail = format!("extent of page {} on FULL_FRAG has free pages", at as u32 * whole);
                self.fault(zero, "full extent", detail);
            }
        }
    }

    fn inode_pages(&mut self, header: &SpaceHeader) {
        let mut pages = Vec::new();
        for (full, what, base) in [
            (true, "full inode pages", header.inodes_full),
            (false, "inode pages with room", header.inodes_free),
        ] {
            for node in self.walk(PageNo(0), what, base) {
                if usize::from(node.offset) == inode::PAGE_NODE {
                    pages.push((node.page, Some(full)));
                } else {
                    self.fault(node.page, "list of inode pages", format!("{what}: {node} is no inode page"));
                }
            }
        }
        if pages.is_empty() {
            // The lists are lost, the first page is not.
            pages.push((FIRST_INODE_PAGE, None));
        }
        for (no, full) in pages {
            self.marks.set(no, REACHED);
            self.inode_page(no, full, header);
        }
    }

    fn inode_page(&mut self, no: PageNo, full: Option<bool>, header: &SpaceHeader) {
        if self.marks.has(no, BAD) {
            self.out.complete = false;
            return;
        }
        let page = match self.src.page(no) {
            Ok(page) => page,
            Err(e) => return self.fault(no, "inode page", e.to_string()),
        };
        if fil::page_type(&page) != Some(PageType::Inode) {
            return self.fault(no, "page type", format!("{} instead of INODE", fil::raw_type(&page)));
        }
        let used = inode::n_used(self.size, &page);
        if full.is_some_and(|full| full != (used == self.size.inodes_per_page())) {
            let detail = format!("{used} of {} inodes are used", self.size.inodes_per_page());
            self.fault(no, "list of inode pages", detail);
        }
        for slot in 0..self.size.inodes_per_page() {
            let inode = Inode::of(self.size, &page, slot);
            if !inode.is_free() {
                self.segment(FileAddress::new(no, inode::offset(self.size, slot) as u16), inode, header);
            }
        }
    }

    fn segment(&mut self, at: FileAddress, inode: Inode<'_>, header: &SpaceHeader) {
        let id = inode.segment_id();
        if let Err(e) = inode.check_magic() {
            return self.fault(at.page, "segment inode", format!("segment {id}: {e}"));
        }
        if id >= header.next_segment_id || self.out.segments.contains_key(&id) {
            return self.fault(at.page, "segment id", format!("{id} was not given, or given twice"));
        }
        let whole = self.size.extent_pages();
        let mut segment = Segment { inode: at, fragments: Vec::new(), extents: [0; 3], used: 0 };
        let lists = [("FREE", inode.free()), ("NOT_FULL", inode.not_full()), ("FULL", inode.full())];
        for (n, (list, base)) in lists.into_iter().enumerate() {
            let what = format!("{list} of segment {id}");
            let mut used = 0;
            for position in self.extent_list(at.page, &what, base, ExtentState::Segment, id) {
                let extent = self.out.extents[position];
                segment.extents[n] += 1;
                used += extent.used;
                let fits = match n {
                    0 => extent.used == 0,
                    1 => extent.used > 0 && extent.used < whole,
                    _ => extent.used == whole,
                };
                if !fits && extent.state.is_some() {
                    let detail = format!(
                        "{what}: extent of page {} has {} used pages",
                        position as u32 * whole,
                        extent.used
                    );
                    self.fault(at.page, "fill of an extent", detail);
                }
            }
            if n == 1 && used != inode.not_full_n_used() && self.out.complete {
                let detail = format!("segment {id}: {}, the bitmaps say {used}", inode.not_full_n_used());
                self.fault(at.page, "used pages of partly used extents", detail);
            }
            segment.used += u64::from(used);
        }
        for page in inode.fragments() {
            self.fragment(at.page, id, page, &mut segment);
        }
        self.out.segments.insert(id, segment);
    }

    fn fragment(&mut self, inode_page: PageNo, id: SegmentId, page: PageNo, segment: &mut Segment) {
        let extent = self.out.extents.get((page.get() / self.size.extent_pages()) as usize);
        let shared = extent.is_some_and(|e| match e.state {
            Some(state) => matches!(state, ExtentState::FreeFrag | ExtentState::FullFrag),
            None => true,
        });
        let known = extent.is_some_and(|e| e.state.is_some());
        if !shared || (known && !self.marks.has(page, ALLOCATED)) {
            let detail = format!("page {page} of segment {id} is free or not in a shared extent");
            self.fault(inode_page, "fragment page", detail);
        }
        if let Some(other) = self.out.fragment_owner.insert(page, id) {
            let detail = format!("page {page} belongs to segments {other} and {id}");
            self.fault(inode_page, "fragment page", detail);
        }
        segment.fragments.push(page);
        segment.used += 1;
    }

    fn unlisted(&mut self) {
        if !self.out.complete {
            // A broken list explains extents that are on none.
            return;
        }
        let whole = self.size.extent_pages();
        for position in 0..self.out.extents.len() {
            let extent = self.out.extents[position];
            let first = PageNo(position as u32 * whole);
            let at = fsp::descriptor_page(self.size, first);
            match extent.state {
                Some(ExtentState::NotInitialised) => {
                    self.fault(at, "extent state", format!("extent of page {first} is below the free limit"));
                }
                Some(state) if !extent.listed => {
                    self.fault(
                        at,
                        "list of extents",
                        format!("extent of page {first}, {state:?}, is on none"),
                    );
                }
                _ => {}
            }
        }
    }
}

/// Walks a list; gives its nodes up to the first fault, and the fault with the page it lies on (`None`: at the base).
pub(in crate::workshop) fn walk_list(
    src: &dyn PageSource,
    what: &str,
    base: ListBase,
    is_bad: impl Fn(PageNo) -> bool,
) -> (Vec<FileAddress>, Option<(Option<PageNo>, Corruption)>) {
    let mut nodes = Vec::new();
    let (mut at, mut prev) = (base.first, FileAddress::NULL);
    let list = |detail: String| Corruption::new("list", format!("{what}: {detail}"));
    while let Some(address) = at.some() {
        if nodes.len() as u64 >= u64::from(base.len) {
            return (nodes, Some((None, list(format!("has more than {} nodes", base.len)))));
        }
        if is_bad(address.page) {
            // The page itself has been reported; the list ends here for us.
            return (nodes, Some((Some(address.page), list("goes through this damaged page".into()))));
        }
        let page = match src.page(address.page) {
            Ok(page) => page,
            Err(e) => return (nodes, Some((None, list(format!("leads to {address}: {e}"))))),
        };
        let offset = usize::from(address.offset);
        if offset < fil::BODY || offset + NODE_SIZE > page.len() {
            return (nodes, Some((None, list(format!("leads to {address}, where no node can be")))));
        }
        let node = ListNode::read(&page, offset);
        if node.prev.some() != prev.some() {
            let detail = format!("{address} comes after {prev}, but names {} before it", node.prev);
            return (nodes, Some((Some(address.page), list(detail))));
        }
        nodes.push(address);
        (prev, at) = (address, node.next);
    }
    if nodes.len() as u64 != u64::from(base.len) || base.last.some() != prev.some() {
        let detail =
            format!("{} nodes up to {prev}; its base says {} up to {}", nodes.len(), base.len, base.last);
        return (nodes, Some((None, list(detail))));
    }
    (nodes, None)
}
