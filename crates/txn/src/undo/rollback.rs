//! Forgetting undo records that have been taken back.
//!
//! The first free byte of the log's last page moves back; a page that no record is left on is freed, unless it is the
//! log's first one.
//!
//! # Crash
//! Each page is one mini-transaction. What was not forgotten is taken back again, which changes nothing.

use super::log::{Top, TrxUndo, UndoLog, undo_page};
use super::rseg::{RollbackSegments, Rseg, damage};
use crate::error::Result;
use vaquita_format::undo::record::UndoHeader;
use vaquita_format::undo::{self, UndoPage};
use vaquita_format::{Corruption, Result as FormatResult};
use vaquita_storage::fsp::{self, list};

/// What a page holds of a log, for a cut at a record number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    /// The last record that stays.
    stays: Option<(u16, u64)>,
    /// The first record that goes.
    goes: Option<u16>,
}

impl RollbackSegments {
    /// Forgets the records from number `from` on.
    pub(crate) fn forget(&self, trx: &mut TrxUndo, from: u64) -> Result<()> {
        if let Some(no) = trx.rseg {
            let rseg = self.rseg(no);
            for log in trx.logs_mut() {
                if log.top.is_some_and(|top| top.undo_no >= from) {
                    self.cut_log(rseg, log, from)?;
                }
            }
        }
        trx.next_no = trx.next_no.min(from);
        Ok(())
    }

    fn cut_log(&self, rseg: &Rseg, log: &mut UndoLog, from: u64) -> Result<()> {
        loop {
            let top = self.cut_last_page(rseg, log, from)?;
            if top.is_some() || log.last_page == log.first_page() {
                log.top = top;
                return Ok(());
            }
            self.free_last_page(rseg, log)?;
        }
    }

    /// Cuts the last page and gives the record that is the newest then. A page that would be empty is left as it is,
    /// if it is to be freed.
    fn cut_last_page(&self, rseg: &Rseg, log: &UndoLog, from: u64) -> Result<Option<Top>> {
        let id = rseg.page(log.last_page);
        let header = log.header_on(log.last_page);
        let mut mtr = self.storage.begin()?;
        let page = mtr.get_exclusive(id)?;
        let cut = find_cut(undo_page(&mtr, page)?, header, from).map_err(|c| damage(id, c))?;
        if let Some(goes) = cut.goes
            && (cut.stays.is_some() || header.is_some())
        {
            mtr.write_u16(page, undo::PAGE_FREE, goes);
        }
        mtr.commit();
        Ok(cut.stays.map(|(offset, undo_no)| Top { undo_no, page: log.last_page, offset }))
    }

    #[cold]
    fn free_last_page(&self, rseg: &Rseg, log: &mut UndoLog) -> Result<()> {
        let mut mtr = self.storage.begin()?;
        mtr.keep_before_images();
        let first = mtr.get_exclusive(rseg.page(log.first_page()))?;
        let last = mtr.get_exclusive(rseg.page(log.last_page))?;
        let prev = undo_page(&mtr, last)?.node().prev;
        let Some(prev) = prev.some() else {
            let detail = "no page before the last one, which is not the first".to_owned();
            return Err(rseg.bad(log.last_page, "list of undo pages", detail));
        };
        list::remove(&mut mtr, UndoLog::pages(first), UndoLog::node(last))?;
        fsp::free_page(&mut mtr, log.segment.header, log.last_page)?;
        mtr.commit();
        log.last_page = prev.page;
        log.n_pages = log.n_pages.saturating_sub(1);
        Ok(())
    }

    /// The newest record of a log: on its last page, or before if that is empty.
    pub(super) fn find_top(&self, rseg: &Rseg, log: &UndoLog) -> Result<Option<Top>> {
        let mut no = log.last_page;
        let pages_max = self.storage.spaces().get(rseg.header.space)?.size_pages();
        for _ in 0..log.n_pages.min(pages_max) {
            let id = rseg.page(no);
            let page = self.storage.pool().get_shared(id)?;
            let view = UndoPage::new(&page).map_err(|c| damage(id, c))?;
            let newest = newest_on(view, log.header_on(no)).map_err(|c| damage(id, c))?;
            if let Some((offset, undo_no)) = newest {
                return Ok(Some(Top { undo_no, page: no, offset }));
            }
            match view.node().prev.some() {
                Some(prev) if no != log.first_page() => no = prev.page,
                _ => break,
            }
        }
        if no == log.first_page() {
            return Ok(None);
        }
        Err(rseg.bad(no, "list of undo pages", format!("{} pages do not lead to the first", log.n_pages)))
    }
}

/// The newest record of a log on a page.
fn newest_on(page: UndoPage<'_>, header: Option<u16>) -> FormatResult<Option<(u16, u64)>> {
    let Some(offset) = page.records_of(header)?.last()? else { return Ok(None) };
    Ok(Some((offset, UndoHeader::parse(page.record(offset)?)?.undo_no)))
}

/// Walks back over the records of a log on a page, to the first whose number is at least `from`.
fn find_cut(page: UndoPage<'_>, header: Option<u16>, from: u64) -> FormatResult<Cut> {
    let records = page.records_of(header)?;
    let (mut at, mut goes) = (records.last()?, None);
    let mut above = u64::MAX;
    while let Some(offset) = at {
        let undo_no = UndoHeader::parse(page.record(offset)?)?.undo_no;
        if undo_no >= above {
            return Err(Corruption::new("undo number", format!("{undo_no} before {above}")).at(offset.into()));
        }
        if undo_no < from {
            return Ok(Cut { stays: Some((offset, undo_no)), goes });
        }
        above = undo_no;
        goes = Some(offset);
        at = records.prev(offset)?;
    }
    Ok(Cut { stays: None, goes })
}
