//! A whole tablespace.

use vaquita_base::{IndexId, Lsn, PageNo, SpaceId};
use vaquita_format::fil::{self, PageType};
use vaquita_format::fsp::SpaceHeader;
use vaquita_format::index_page::header;
use vaquita_format::{Corruption, trx_sys};

use super::bitmap::check_bitmaps;
use super::extents::{Extents, check_extents};
use super::loose::check_loose_pages;
use super::marks::{ALLOCATED, BAD, FRESH, Marks, REACHED};
use super::pages::check_pages;
use super::system::check_system;
use super::tree::{TreeContext, TreeStats, check_tree};
use crate::workshop::metadata::TableIndex;
use crate::workshop::progress::Progress;
use crate::workshop::report::Report;
use crate::workshop::roots::find_roots;
use crate::workshop::source::PageSource;

/// A table whose trees are known.
#[derive(Debug, Clone)]
pub struct Described {
    /// Its name, for people.
    pub name: String,
    /// Its trees, the clustered one first.
    pub indexes: Vec<TableIndex>,
}

/// A checked tree.
#[derive(Debug, Clone)]
pub struct CheckedTree {
    /// Table and index.
    pub name: String,
    /// Number of the index.
    pub id: IndexId,
    /// Root.
    pub root: PageNo,
    /// What it holds.
    pub stats: TreeStats,
}

/// What a tablespace turned out to be.
#[derive(Debug, Default)]
pub struct SpaceSummary {
    /// Number.
    pub space: SpaceId,
    /// Pages in the file.
    pub pages: u32,
    /// Pages in use.
    pub used: u32,
    /// Trees that are described.
    pub trees: Vec<CheckedTree>,
    /// Index trees that nothing describes.
    pub undescribed: usize,
    /// Pages with changes in the change buffer.
    pub buffered: u64,
    /// Newest change.
    pub newest_lsn: Lsn,
    /// LSN of the last clean shutdown, or of the import.
    pub flush_lsn: Lsn,
}

/// Checks a tablespace. `tables` are those that are known to be in it; `starts_file` tells the first pages of its files.
pub fn check_space(
    src: &dyn PageSource,
    tables: &[Described],
    starts_file: &dyn Fn(PageNo) -> bool,
    report: &mut Report,
    progress: &mut Progress,
) -> SpaceSummary {
    let mut marks = Marks::new(src.n_pages());
    let mut summary = SpaceSummary { pages: src.n_pages(), ..SpaceSummary::default() };
    let first = match src.page(PageNo(0)) {
        Ok(page) => page,
        Err(e) => {
            report.page(PageNo(0), e.into_corruption());
            return summary;
        }
    };
    let space_header = SpaceHeader::read(&first);
    let space = likely_space(src, &space_header);
    (summary.space, summary.flush_lsn) = (space, fil::flush_lsn(&first));
    let copies = doublewrite_pages(src, space);
    let skip = |no: PageNo| copies.is_some_and(|d| d.contains(src.page_size(), no));
    let seen = check_pages(src, space, &skip, starts_file, &mut marks, report, progress);
    summary.newest_lsn = seen.newest_lsn;
    check_header(src, &first, &space_header, space, &marks, report);
    drop(first);
    let extents = check_extents(src, &space_header, &mut marks, report);
    for no in seen.numbered_zero.into_iter().filter(|&no| marks.has(no, ALLOCATED)) {
        report.page(no, Corruption::new("page number", "0 is stored"));
    }
    let is_system = space == SpaceId::SYSTEM;
    let mut described: Vec<Described> = tables.to_vec();
    if is_system {
        described.extend(check_system(src, &extents, &mut marks, report));
    }
    for table in &described {
        for index in &table.indexes {
            let ctx = TreeContext { src, extents: &extents, marks: &mut marks, report };
            let stats = check_tree(ctx, &index.def, index.root);
            let name = format!("{}.{}", table.name, index.def.name());
            summary.trees.push(CheckedTree { name, id: index.def.id(), root: index.root, stats });
        }
    }
    undescribed_trees(src, &mut marks, &mut summary, report);
    summary.buffered = check_bitmaps(src, is_system, space_header.free_limit, &marks, report);
    compare_counts(&described, &summary, report);
    unreachable_pages(src, &marks, &extents, &summary, is_system, report);
    summary.used = marks.pages(ALLOCATED, 0).count() as u32;
    summary
}

/// The space id: in doubt, what the pages after the first say.
fn likely_space(src: &dyn PageSource, header: &SpaceHeader) -> SpaceId {
    let ids: Vec<SpaceId> =
        (1..4).filter_map(|no| src.page(PageNo(no)).ok()).map(|p| fil::space_id(&p)).collect();
    match ids[..] {
        [a, b, c] if a == b && b == c => a,
        _ => header.space,
    }
}

/// Pages of the doublewrite blocks: they hold copies of other pages.
fn doublewrite_pages(src: &dyn PageSource, space: SpaceId) -> Option<trx_sys::Doublewrite> {
    if space != SpaceId::SYSTEM {
        return None;
    }
    let page = src.page(trx_sys::PAGE).ok()?;
    trx_sys::Doublewrite::read(&page).ok()?
}

fn check_header(
    src: &dyn PageSource,
    first: &[u8],
    h: &SpaceHeader,
    space: SpaceId,
    marks: &Marks,
    report: &mut Report,
) {
    let zero = PageNo(0);
    if marks.has(zero, BAD) {
        return;
    }
    if marks.has(zero, FRESH) {
        return report.page(zero, Corruption::new("space header", "page 0 is all zeros"));
    }
    if let Err(e) = h.check() {
        report.page(zero, e);
    }
    if fil::page_type(first) != Some(PageType::FspHdr) {
        report
            .page(zero, Corruption::new("page type", format!("{} instead of FSP_HDR", fil::raw_type(first))));
    }
    if h.space != space {
        report.page(
            zero,
            Corruption::new("space id", format!("{} in the space header, {space} on the pages", h.space)),
        );
    }
    if h.size > src.n_pages() {
        let detail = format!("{} pages in the header, {} in the file", h.size, src.n_pages());
        report.page(zero, Corruption::new("size of the tablespace", detail));
    }
}

fn undescribed_trees(
    src: &dyn PageSource,
    marks: &mut Marks,
    summary: &mut SpaceSummary,
    report: &mut Report,
) {
    let known: Vec<IndexId> = summary.trees.iter().map(|t| t.id).collect();
    let roots = find_roots(src);
    let loose: Vec<IndexId> = roots
        .iter()
        .filter(|r| {
            marks.has(r.page, ALLOCATED) && !marks.has(r.page, REACHED | BAD) && !known.contains(&r.index)
        })
        .map(|r| r.index)
        .collect();
    if loose.is_empty() {
        return;
    }
    let pages = check_loose_pages(src, marks, report, &|id| loose.contains(&id));
    summary.undescribed = loose.len();
    let pages: u64 = pages.values().sum();
    report.remark(format!(
        "{} index trees ({pages} pages) are not described by any .cfg, .frm or dictionary: keys and off-page columns \
         were not checked",
        loose.len()
    ));
}

/// Rows in the clustered index and entries in the others should be as many, unless changes are under way.
fn compare_counts(tables: &[Described], summary: &SpaceSummary, report: &mut Report) {
    if !report.is_clean() || summary.buffered > 0 {
        return;
    }
    let mut trees = summary.trees.iter();
    for table in tables {
        let of_table: Vec<&CheckedTree> = trees.by_ref().take(table.indexes.len()).collect();
        let Some((clustered, others)) = of_table.split_first() else { continue };
        let live = |t: &CheckedTree| t.stats.records - t.stats.deleted;
        for other in others.iter().filter(|o| live(o) != live(clustered)) {
            report.remark(format!(
                "{} has {} entries, its table {} rows: right only if transactions were under way",
                other.name,
                live(other),
                live(clustered)
            ));
        }
    }
}

/// Pages in use that nothing leads to.
fn unreachable_pages(
    src: &dyn PageSource,
    marks: &Marks,
    extents: &Extents,
    summary: &SpaceSummary,
    is_system: bool,
    report: &mut Report,
) {
    if !extents.complete || !report.is_clean() || summary.undescribed > 0 {
        // What is broken or unknown explains pages that cannot be reached.
        return;
    }
    let (mut old_blobs, mut other) = (0u64, 0u64);
    for no in marks.pages(ALLOCATED, REACHED) {
        let ty = src.page(no).ok().map(|p| (fil::page_type(&p), header::index_id(&p)));
        match ty {
            Some((Some(PageType::Blob | PageType::ZBlob | PageType::ZBlob2), _)) => old_blobs += 1,
            // Dropped tables and undo of the past leave pages in the system tablespace until purge takes them.
            _ if is_system => other += 1,
            Some((Some(ty), _)) => {
                let detail = format!("type {ty}: it is in use, but nothing leads to it");
                report.page(no, Corruption::new("page allocation", detail));
            }
            _ => {}
        }
    }
    if old_blobs > 0 {
        report.remark(format!(
            "{old_blobs} BLOB pages belong to no row: old versions that purge has not freed"
        ));
    }
    if other > 0 {
        report.remark(format!("{other} pages are in use, but nothing leads to them"));
    }
}
