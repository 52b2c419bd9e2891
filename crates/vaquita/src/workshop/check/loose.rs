//! Trees that nothing describes: what their pages say of themselves.
//!
//! Without column definitions COMPACT node pointers cannot be read, so the levels are not followed; but every page has
//! its own structure, and neighbours must name each other.

use std::collections::BTreeMap;

use vaquita_base::{IndexId, PageNo};
use vaquita_format::Corruption;
use vaquita_format::fil::{self, PageType};
use vaquita_format::index_page::{self, header};

use super::marks::{ALLOCATED, BAD, FRESH, Marks, REACHED};
use crate::workshop::report::Report;
use crate::workshop::source::PageSource;

/// Checks all index pages in use that no described tree reached; gives their number by index.
pub(super) fn check_loose_pages(
    src: &dyn PageSource,
    marks: &mut Marks,
    report: &mut Report,
    belongs: &dyn Fn(IndexId) -> bool,
) -> BTreeMap<IndexId, u64> {
    let mut found = BTreeMap::new();
    let candidates: Vec<PageNo> = marks.pages(ALLOCATED, REACHED | BAD | FRESH).collect();
    for no in candidates {
        let Ok(page) = src.logical(no) else { continue };
        if fil::page_type(&page) != Some(PageType::Index) || !belongs(header::index_id(&page)) {
            continue;
        }
        marks.set(no, REACHED);
        *found.entry(header::index_id(&page)).or_default() += 1;
        if let Err(e) = index_page::validate(&page, None) {
            report.page(no, e);
        }
        neighbours(src, no, &page, marks, report);
    }
    found
}

fn neighbours(src: &dyn PageSource, no: PageNo, page: &[u8], marks: &Marks, report: &mut Report) {
    let Some(next) = fil::next(page).some() else { return };
    if marks.has(next, BAD) {
        return;
    }
    let what = match src.page(next) {
        Ok(other) if fil::prev(&other) != no => {
            format!("page {next} follows, but names {} before it", fil::prev(&other))
        }
        Ok(other) if header::index_id(&other) != header::index_id(page) => {
            format!("page {next} follows, of another index")
        }
        Ok(_) => return,
        Err(e) => e.to_string(),
    };
    report.page(no, Corruption::new("sibling links", what));
}
