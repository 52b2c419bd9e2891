//! A whole tablespace.

use vaquita_base::{IndexId, Lsn, PageNo, SpaceId, TableId};
use vaquita_format::fil::{self, PageType};
use vaquita_format::fsp::{self, SpaceHeader};
use vaquita_format::index_page::header;
use vaquita_format::{Corruption, trx_sys};

use super::agreement::{Agreement, Buffered, ChangeBuffer};
use super::bitmap::check_bitmaps;
use super::extents::{Extents, check_extents};
use super::loose::check_loose_pages;
use super::marks::{ALLOCATED, BAD, FRESH, Marks, REACHED};
use super::pages::check_pages;
use super::system::check_system;
use super::tree::{TreeContext, TreeStats, check_tree};
use super::undo::{RollPointers, Transactions};
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
    /// Its number, if it is known.
    pub id: Option<TableId>,
    /// Its trees, the clustered one first.
    pub indexes: Vec<TableIndex>,
}

impl Described {
    /// A table that no dictionary knows.
    pub fn new(name: impl Into<String>, indexes: Vec<TableIndex>) -> Described {
        Described { name: name.into(), id: None, indexes }
    }
}

/// What the system tablespace says about the rows of others.
#[derive(Clone, Copy)]
pub struct SystemView<'a> {
    /// Its pages: undo logs and change buffer.
    pub src: &'a dyn PageSource,
    /// What they hold.
    pub system: &'a SystemSummary,
    /// Undo tablespaces.
    pub undo: &'a [UndoSpace<'a>],
    /// Whether the folder was shut down: no crash explains what is half done.
    pub settled: bool,
}

/// A tablespace that holds nothing but rollback segments.
#[derive(Clone, Copy)]
pub struct UndoSpace<'a> {
    /// Its number.
    pub space: SpaceId,
    /// Its pages.
    pub src: &'a dyn PageSource,
}

/// What a system tablespace holds that concerns all tablespaces.
#[derive(Debug, Clone, Default)]
pub struct SystemSummary {
    /// Transactions and their logs.
    pub transactions: Transactions,
    /// Changes of secondary indexes that wait for their pages.
    pub buffered: Buffered,
    /// Every DB_ROW_ID ever given is below; `None` if the dictionary header cannot be read.
    pub row_id_bound: Option<u64>,
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
    /// Its flags, if they make sense.
    pub flags: Option<u32>,
    /// Of a system tablespace only.
    pub system: Option<SystemSummary>,
}

/// Checks a tablespace. `tables` are those that are known to be in it; `starts_file` tells the first pages of its files.
pub fn check_space(
    src: &dyn PageSource,
    tables: &[Described],
    starts_file: &dyn Fn(PageNo) -> bool,
    report: &mut Report,
    progress: &mut Progress,
) -> SpaceSummary {
    check_space_of(None, src, tables, starts_file, report, progress)
}

/// The same for a tablespace of a folder, whose system tablespace was checked before: roll pointers are followed, and
/// changes in the change buffer count. For the system tablespace itself, `folder` says what undo tablespaces hold.
pub fn check_space_of(
    folder: Option<SystemView<'_>>,
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
    summary.flags = fsp::header::read_flags(&first).ok().map(|flags| flags.encode());
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
    let mut system = None;
    if is_system {
        let (inside, found) = check_system(src, &extents, &mut marks, report);
        described.extend(inside);
        system = found;
        if let (Some(system), Some(known)) = (&mut system, folder) {
            system.transactions.merge(&known.system.transactions);
        }
    }
    let (undo, settled) = folder.map_or((&[][..], true), |f| (f.undo, f.settled));
    let folder = system.as_ref().map(|system| SystemView { src, system, undo, settled }).or(folder);
    summary.buffered = check_bitmaps(src, is_system, space_header.free_limit, &marks, report);
    for table in &described {
        let ctx = TreeContext { src, extents: &extents, marks: &mut marks, report, settled, observer: None };
        check_table(ctx, table, folder, &mut summary);
    }
    undescribed_trees(src, &mut marks, &mut summary, report);
    unreachable_pages(src, &marks, &extents, &summary, is_system, report);
    summary.used = marks.pages(ALLOCATED, 0).count() as u32;
    summary.system = system;
    summary
}

/// The trees of a table, each by itself and all together.
fn check_table(
    ctx: TreeContext<'_, '_>,
    table: &Described,
    folder: Option<SystemView<'_>>,
    summary: &mut SpaceSummary,
) {
    let TreeContext { src, extents, marks, report, settled, .. } = ctx;
    let pointers = folder.map(|f| RollPointers::new(&f.system.transactions, f.src, f.undo));
    let row_id_bound = folder.and_then(|f| f.system.row_id_bound);
    let mut agreement = Agreement::new(src, summary.space, table, pointers, row_id_bound);
    let before = report.count();
    for (n, index) in table.indexes.iter().enumerate() {
        agreement.begin(n);
        let ctx = TreeContext {
            src,
            extents,
            marks: &mut *marks,
            report: &mut *report,
            settled,
            observer: Some(&mut agreement),
        };
        let stats = check_tree(ctx, &index.def, index.root);
        let name = format!("{}.{}", table.name, index.def.name());
        summary.trees.push(CheckedTree { name, id: index.def.id(), root: index.root, stats });
    }
    let buffer = folder.map_or(ChangeBuffer::Unknown, |f| ChangeBuffer::Known(&f.system.buffered, f.src));
    agreement.finish(report.count() == before, buffer, summary.buffered, report);
}

/// The space id: in doubt, what the pages after the first say.
fn likely_space(src: &dyn PageSource, header: &SpaceHeader) -> SpaceId {
    let own = |no: u32| src.page(PageNo(no)).ok().filter(|page| fil::page_no(page) == PageNo(no));
    let ids: Vec<SpaceId> = (1..4).filter_map(own).map(|page| fil::space_id(&page)).collect();
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

pub(super) fn check_header(
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

/// Pages in use that nothing leads to.
pub(super) fn unreachable_pages(
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
