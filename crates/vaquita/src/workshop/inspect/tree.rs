//! The index trees of a tablespace.

use std::collections::BTreeMap;
use std::io::{self, Write};

use vaquita_base::{IndexId, PageNo};
use vaquita_format::fil::{self, PageType};
use vaquita_format::fsp::SpaceHeader;
use vaquita_format::index_page::{self, header};

use super::{Subject, grouped};
use crate::workshop::check::TreeStats;
use crate::workshop::check::extents::check_extents;
use crate::workshop::check::marks::Marks;
use crate::workshop::check::tree::{TreeContext, check_tree};
use crate::workshop::report::Report;
use crate::workshop::source::PageSource;
use crate::workshop::walk::is_allocated;

pub(super) fn show(subject: &Subject, out: &mut dyn Write) -> io::Result<bool> {
    let src = &subject.src;
    let indexes = subject.indexes();
    let mut report = Report::new();
    let mut marks = Marks::new(src.n_pages());
    let Ok(first) = src.page(PageNo(0)) else {
        writeln!(out, "page 0 cannot be read")?;
        return Ok(false);
    };
    let extents = check_extents(src, &SpaceHeader::read(&first), &mut marks, &mut Report::new());
    for (table, index) in &indexes {
        let (marks, report) = (&mut marks, &mut report);
        let ctx = TreeContext { src, extents: &extents, marks, report, settled: true, observer: None };
        let stats = check_tree(ctx, &index.def, index.root);
        let kind = if index.def.is_clustered() { "clustered" } else { "secondary" };
        writeln!(
            out,
            "{table}.{}  (index {}, {kind}, root page {})",
            index.def.name(),
            index.def.id(),
            index.root
        )?;
        tree(src, &stats, out)?;
    }
    let known: Vec<IndexId> = indexes.iter().map(|(_, i)| i.def.id()).collect();
    let loose = loose_trees(src, &known);
    for (id, levels) in &loose {
        writeln!(out, "index {id}  (not described)")?;
        for (level, (pages, records)) in levels.iter().rev() {
            writeln!(
                out,
                "  level {level:<3} {:>10} pages  {:>12} records",
                grouped(*pages),
                grouped(*records)
            )?;
        }
    }
    for finding in report.findings().iter().take(20) {
        writeln!(out, "{finding}")?;
    }
    Ok(report.is_clean())
}

fn tree(src: &dyn PageSource, stats: &TreeStats, out: &mut dyn Write) -> io::Result<()> {
    for (level, pages) in stats.pages.iter().enumerate().rev() {
        write!(out, "  level {level:<3} {:>10} pages", grouped(*pages))?;
        if level == 0 {
            let room = index_page::empty_page_space(src.page_size().logical(), true) as f64 * *pages as f64;
            let full = if room > 0.0 { stats.data_bytes as f64 * 100.0 / room } else { 0.0 };
            write!(
                out,
                "  {:>12} records, {} delete-marked, {full:.0} % full",
                grouped(stats.records),
                grouped(stats.deleted)
            )?;
        }
        writeln!(out)?;
    }
    if stats.blobs > 0 {
        writeln!(
            out,
            "  off-page  {:>10} pages  {:>12} columns",
            grouped(stats.blob_pages),
            grouped(stats.blobs)
        )?;
    }
    Ok(())
}

/// Pages and records by level of trees without description.
type Levels = BTreeMap<u16, (u64, u64)>;

fn loose_trees(src: &dyn PageSource, known: &[IndexId]) -> BTreeMap<IndexId, Levels> {
    let mut out: BTreeMap<IndexId, Levels> = BTreeMap::new();
    for no in (0..src.n_pages()).map(PageNo) {
        let Ok(page) = src.page(no) else { continue };
        if fil::page_type(&page) != Some(PageType::Index)
            || known.contains(&header::index_id(&page))
            || is_allocated(src, no) != Some(true)
        {
            continue;
        }
        let level = out.entry(header::index_id(&page)).or_default().entry(header::level(&page)).or_default();
        level.0 += 1;
        level.1 += u64::from(header::n_recs(&page));
    }
    out
}
