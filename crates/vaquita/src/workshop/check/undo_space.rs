//! An undo tablespace: rollback segments and nothing else. The system tablespace names them.

use vaquita_base::SpaceId;
use vaquita_format::fsp::SpaceHeader;
use vaquita_format::{fil, trx_sys};

use super::bitmap::check_bitmaps;
use super::extents::check_extents;
use super::marks::{ALLOCATED, Marks};
use super::pages::check_pages;
use super::space::{SpaceSummary, UndoSpace, check_header, unreachable_pages};
use super::system::key_fields;
use super::undo::{Transactions, UndoContext, check_rollback_segments};
use crate::workshop::dictionary::Dictionary;
use crate::workshop::progress::Progress;
use crate::workshop::report::Report;
use crate::workshop::source::PageSource;
use vaquita_base::PageNo;

/// Checks an undo tablespace by the TRX_SYS page and the dictionary of `system`.
pub(super) fn check_undo_space(
    undo: UndoSpace<'_>,
    system: &dyn PageSource,
    report: &mut Report,
    progress: &mut Progress,
) -> (SpaceSummary, Transactions) {
    let UndoSpace { space, src } = undo;
    let mut summary = SpaceSummary { space, pages: src.n_pages(), ..SpaceSummary::default() };
    let (first, slots) = match (src.page(PageNo(0)), system.page(trx_sys::PAGE)) {
        (Ok(first), Ok(slots)) => (first, slots),
        (Err(e), _) | (_, Err(e)) => {
            report.page(PageNo(0), e.into_corruption());
            return (summary, Transactions::default());
        }
    };
    let header = SpaceHeader::read(&first);
    summary.flush_lsn = fil::flush_lsn(&first);
    let mut marks = Marks::new(src.n_pages());
    let starts_file = |no| no == PageNo(0);
    let seen = check_pages(src, space, &|_| false, &starts_file, &mut marks, report, progress);
    summary.newest_lsn = seen.newest_lsn;
    check_header(src, &first, &header, space, &marks, report);
    let extents = check_extents(src, &header, &mut marks, report);
    let keys = key_fields(&Dictionary::read(system, &mut Report::new()));
    let ctx = UndoContext { src, space, extents: &extents, marks: &mut marks, report, keys: &keys };
    let transactions = check_rollback_segments(ctx, &slots);
    check_bitmaps(src, false, header.free_limit, &marks, report);
    unreachable_pages(src, &marks, &extents, &summary, false, report);
    summary.used = marks.pages(ALLOCATED, 0).count() as u32;
    (summary, transactions)
}

/// Whether the system tablespace says that rollback segments lie in a tablespace.
pub(super) fn holds_rollback_segments(system: &dyn PageSource, space: SpaceId) -> bool {
    let page = system.page(trx_sys::PAGE);
    page.is_ok_and(|page| {
        (0..trx_sys::N_RSEGS).any(|n| trx_sys::rseg(&page, n).is_some_and(|(s, _)| s == space))
    })
}
