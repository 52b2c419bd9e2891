//! Every page by itself: number, checksum, torn writes, space, type, and header fields that no checksum covers.

use vaquita_base::{Lsn, PageNo, SpaceId};
use vaquita_format::checksum::{self, ChecksumAlgorithm, PageState};
use vaquita_format::{Corruption, fil};

use super::marks::{BAD, FRESH, Marks};
use crate::workshop::progress::Progress;
use crate::workshop::report::Report;
use crate::workshop::source::PageSource;

/// What the pass over all pages has seen.
#[derive(Debug, Default)]
pub(super) struct PagesSeen {
    /// Pages that carry number 0 and are not page 0: allowed on free pages.
    pub(super) numbered_zero: Vec<PageNo>,
    /// Newest LSN on any page.
    pub(super) newest_lsn: Lsn,
}

/// Checks all pages but those `skip` names (copies of other pages).
pub(super) fn check_pages(
    src: &dyn PageSource,
    space: SpaceId,
    skip: &dyn Fn(PageNo) -> bool,
    starts_file: &dyn Fn(PageNo) -> bool,
    marks: &mut Marks,
    report: &mut Report,
    progress: &mut Progress,
) -> PagesSeen {
    let mut seen = PagesSeen::default();
    for no in (0..src.n_pages()).map(PageNo) {
        progress.step();
        if skip(no) {
            continue;
        }
        match check_page(src, no, space, starts_file(no), &mut seen) {
            Ok(PageState::Valid) => {}
            Ok(PageState::Fresh) => marks.set(no, FRESH),
            Err(what) => {
                marks.set(no, BAD);
                report.page(no, what);
            }
        }
    }
    seen
}

fn check_page(
    src: &dyn PageSource,
    no: PageNo,
    space: SpaceId,
    starts_file: bool,
    seen: &mut PagesSeen,
) -> Result<PageState, Corruption> {
    let page = src.page(no).map_err(|e| e.into_corruption())?;
    let state = checksum::verify(&page, src.page_size(), ChecksumAlgorithm::Innodb)?;
    if state == PageState::Fresh {
        return Ok(state);
    }
    let stored = fil::page_no(&page);
    if stored == PageNo(0) && no != PageNo(0) {
        seen.numbered_zero.push(no);
    } else if stored != no {
        return Err(Corruption::new("page number", format!("{stored} is stored")).at(fil::PAGE_NO));
    }
    if fil::space_id(&page) != space {
        let detail = format!("{}, the tablespace is {space}", fil::space_id(&page));
        return Err(Corruption::new("space id", detail).at(fil::SPACE_ID));
    }
    if fil::page_type(&page).is_none() {
        return Err(Corruption::new("page type", format!("{} is none", fil::raw_type(&page))).at(fil::TYPE));
    }
    // No checksum covers the field; only the first page of a file uses it.
    if !starts_file && fil::flush_lsn(&page) != Lsn::ZERO {
        let detail = format!("{} on a page that does not carry one", fil::flush_lsn(&page));
        return Err(Corruption::new("flush LSN", detail).at(fil::FLUSH_LSN));
    }
    seen.newest_lsn = seen.newest_lsn.max(fil::lsn(&page));
    Ok(state)
}
