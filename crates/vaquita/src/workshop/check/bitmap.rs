//! Change buffer bitmap pages.

use vaquita_base::PageNo;
use vaquita_format::fil::{self, PageType};
use vaquita_format::index_page::header;
use vaquita_format::{Corruption, fsp, ibuf};

use super::marks::{ALLOCATED, BAD, Marks};
use crate::workshop::report::Report;
use crate::workshop::source::PageSource;

/// Checks the bitmap pages of a tablespace; gives the number of pages with buffered changes.
pub(super) fn check_bitmaps(
    src: &dyn PageSource,
    is_system: bool,
    limit: u32,
    marks: &Marks,
    report: &mut Report,
) -> u64 {
    let size = src.page_size();
    let mut buffered = 0;
    for range in (0..limit.min(src.n_pages())).step_by(size.pages_per_xdes_page() as usize) {
        let at = fsp::bitmap_page(size, PageNo(range));
        if marks.has(at, BAD) {
            continue;
        }
        let page = match src.page(at) {
            Ok(page) => page,
            Err(e) => {
                report.page(at, e.into_corruption());
                continue;
            }
        };
        if fil::page_type(&page) != Some(PageType::IbufBitmap) {
            let detail = format!("{} instead of IBUF_BITMAP", fil::raw_type(&page));
            report.page(at, Corruption::new("page type", detail));
            continue;
        }
        let end = range.saturating_add(size.pages_per_xdes_page()).min(src.n_pages());
        for no in (range..end).map(PageNo) {
            let bits = ibuf::get(size, &page, no);
            if bits.ibuf && !is_system {
                let detail = format!("page {no} is said to be the change buffer's");
                report.page(at, Corruption::new("change buffer bitmap", detail));
            }
            if bits.buffered {
                buffered += 1;
                if !may_be_buffered(src, no, marks) {
                    let detail = format!("page {no} is said to have buffered changes and is no leaf in use");
                    report.page(at, Corruption::new("change buffer bitmap", detail));
                }
            }
        }
    }
    buffered
}

/// Only leaves of secondary indexes have buffered changes. Freed pages may keep the bit.
fn may_be_buffered(src: &dyn PageSource, no: PageNo, marks: &Marks) -> bool {
    if marks.has(no, BAD) || !marks.has(no, ALLOCATED) {
        return true;
    }
    src.page(no).is_ok_and(|p| fil::page_type(&p) == Some(PageType::Index) && header::is_leaf(&p))
}
