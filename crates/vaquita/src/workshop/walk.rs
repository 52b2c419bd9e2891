//! Walks over the leaf pages of a tree in key order, past damaged pages.

use vaquita_base::{IndexId, PageNo};
use vaquita_format::checksum::{self, ChecksumAlgorithm, PageState};
use vaquita_format::fil::{self, PageType};
use vaquita_format::fsp::{self, ExtentState, Xdes};
use vaquita_format::index_page::{self, header};
use vaquita_format::record::{Offsets, RecLayout};
use vaquita_format::{Corruption, maker, record};

use super::progress::Progress;
use super::report::Report;
use super::source::PageSource;

/// Highest level a tree can have: far above what 2^32 pages need.
pub const LEVEL_MAX: u16 = 63;

/// One bit per page.
#[derive(Debug, Clone)]
pub struct PageSet {
    words: Vec<u64>,
}

impl PageSet {
    /// An empty set of pages below `n_pages`.
    pub fn new(n_pages: u32) -> PageSet {
        PageSet { words: vec![0; (n_pages as usize).div_ceil(64)] }
    }

    /// Adds a page; whether it was not in the set (a page beyond the end never is, and is not added).
    pub fn insert(&mut self, no: PageNo) -> bool {
        let bit = 1u64 << (no.get() % 64);
        match self.words.get_mut(no.get() as usize / 64) {
            Some(word) => {
                let fresh = *word & bit == 0;
                *word |= bit;
                fresh
            }
            None => true,
        }
    }

    /// Whether the page is in the set.
    pub fn contains(&self, no: PageNo) -> bool {
        self.words.get(no.get() as usize / 64).is_some_and(|w| w >> (no.get() % 64) & 1 != 0)
    }
}

/// The child page of a parsed node pointer: its last field.
pub fn child_page(page: &[u8], rec: u16, offsets: &Offsets) -> Option<PageNo> {
    let last = offsets.n_fields().checked_sub(1)?;
    let raw = offsets.field(page, rec, last).filter(|raw| raw.len() == record::CHILD_LEN)?;
    Some(PageNo(vaquita_base::codec::get_u32(raw, 0)))
}

/// Reads an index page and checks that it is what a pointer to it promises.
///
/// # Errors
/// If it cannot be read, fails its checksum, or belongs to another index or level.
pub fn index_page_at(
    src: &dyn PageSource,
    no: PageNo,
    index: IndexId,
    level: u16,
) -> Result<Vec<u8>, Corruption> {
    let raw = src.page(no).map_err(|e| e.into_corruption())?;
    match checksum::verify(&raw, src.page_size(), ChecksumAlgorithm::Innodb)? {
        PageState::Valid => {}
        PageState::Fresh => return Err(Corruption::new("index page", "is all zeros")),
    }
    if let Some(foreign) = maker::of_root(&raw, src.page_size()) {
        return Err(foreign.into_corruption());
    }
    if fil::page_type(&raw) != Some(PageType::Index) {
        return Err(Corruption::new("page type of an index page", format!("{}", fil::raw_type(&raw))));
    }
    if header::index_id(&raw) != index || header::level(&raw) != level {
        let detail = format!(
            "page of index {} level {} where index {index} level {level} was expected",
            header::index_id(&raw),
            header::level(&raw)
        );
        return Err(Corruption::new("index page", detail));
    }
    drop(raw);
    Ok(src.logical(no).map_err(|e| e.into_corruption())?.into_owned())
}

/// What is done with a leaf: its number, its logical form, the report for what is wrong with it.
pub type Visit<'v, E> = dyn FnMut(PageNo, &[u8], &mut Report) -> Result<(), E> + 'v;

/// Calls `visit` with every leaf page of a tree, in key order; reports damaged pages and goes on. If an inner page is
/// lost, the leaves below it come last, in the order of their numbers.
///
/// # Errors
/// What `visit` returns, at once.
pub fn for_each_leaf<E>(
    src: &dyn PageSource,
    root: &super::roots::Root,
    layout: &RecLayout,
    report: &mut Report,
    progress: &mut Progress,
    visit: &mut Visit<'_, E>,
) -> Result<(), E> {
    let mut walk =
        LeafWalk { src, index: root.index, layout, seen: PageSet::new(src.n_pages()), lost: false };
    if root.level > LEVEL_MAX {
        report.page(root.page, Corruption::new("level of a root", format!("{}", root.level)));
        walk.lost = true;
    } else {
        walk.descend(root.page, root.level, report, progress, visit)?;
    }
    if walk.lost { walk.salvage(report, progress, visit) } else { Ok(()) }
}

struct LeafWalk<'a> {
    src: &'a dyn PageSource,
    index: IndexId,
    layout: &'a RecLayout,
    seen: PageSet,
    /// Whether some inner page could not be followed.
    lost: bool,
}

impl LeafWalk<'_> {
    fn descend<E>(
        &mut self,
        no: PageNo,
        level: u16,
        report: &mut Report,
        progress: &mut Progress,
        visit: &mut Visit<'_, E>,
    ) -> Result<(), E> {
        if !self.seen.insert(no) {
            report.page(no, Corruption::new("child pointer", "two pointers lead to this page"));
            return Ok(());
        }
        let page = match index_page_at(self.src, no, self.index, level) {
            Ok(page) => page,
            Err(e) => {
                self.lost |= level > 0;
                report.page(no, e);
                return Ok(());
            }
        };
        if level == 0 {
            progress.step();
            return visit(no, &page, report);
        }
        let children = self.children(no, &page, report);
        // The page itself is not needed below: one page per level would be kept otherwise.
        drop(page);
        for child in children {
            self.descend(child, level - 1, report, progress, visit)?;
        }
        Ok(())
    }

    fn children(&mut self, no: PageNo, page: &[u8], report: &mut Report) -> Vec<PageNo> {
        let mut offsets = Offsets::new();
        let mut out = Vec::new();
        for rec in index_page::records(page) {
            let child = rec.and_then(|rec| {
                offsets.parse(page, rec, self.layout)?;
                child_page(page, rec, &offsets)
                    .ok_or_else(|| Corruption::new("node pointer", "has no child page").at(rec.into()))
            });
            match child {
                Ok(child) => out.push(child),
                Err(e) => {
                    self.lost = true;
                    report.page(no, e);
                }
            }
        }
        out
    }

    /// Visits the leaves that no pointer led to.
    fn salvage<E>(
        &mut self,
        report: &mut Report,
        progress: &mut Progress,
        visit: &mut Visit<'_, E>,
    ) -> Result<(), E> {
        for no in (0..self.src.n_pages()).map(PageNo) {
            if self.seen.contains(no) || !is_allocated(self.src, no).unwrap_or(true) {
                continue;
            }
            // Most pages are others': only what claims to be a leaf of this index is looked at closely.
            let Ok(raw) = self.src.page(no) else { continue };
            let ours = fil::page_type(&raw) == Some(PageType::Index)
                && header::index_id(&raw) == self.index
                && header::level(&raw) == 0;
            drop(raw);
            if !ours {
                continue;
            }
            match index_page_at(self.src, no, self.index, 0) {
                Ok(page) => {
                    progress.step();
                    visit(no, &page, report)?;
                }
                Err(e) => report.page(no, e),
            }
        }
        Ok(())
    }
}

/// Whether the extent descriptors call a page used; `None` if they cannot be read.
pub fn is_allocated(src: &dyn PageSource, no: PageNo) -> Option<bool> {
    let size = src.page_size();
    let descriptor = src.page(fsp::descriptor_page(size, no)).ok()?;
    let xdes = Xdes::of(size, &descriptor, no);
    Some(
        xdes.state().ok()? != ExtentState::NotInitialised && !xdes.bitmap().is_free(fsp::in_extent(size, no)),
    )
}
