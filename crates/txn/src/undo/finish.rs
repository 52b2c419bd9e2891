//! The end of a transaction's logs: commit, prepare, and the freeing of insert logs.
//!
//! | log | first page only, and less than 3/4 of it used | otherwise |
//! |---|---|---|
//! | insert | CACHED | TO_FREE: freed after the commit, in steps; its slot with the last page |
//! | update | CACHED, log in the history | TO_PURGE, log in the history; the slot is empty, purge frees the segment |
//!
//! The size of the history counts the pages of TO_PURGE segments; those of cached ones stay in use.
//!
//! # Crash
//! A transaction has committed if the one mini-transaction that ends its logs is in the log. A TO_FREE segment that a
//! crash leaves is freed at opening.

use super::log::{TrxUndo, UndoLog, undo_page};
use super::rseg::{HistoryLog, RollbackSegments, Rseg, UndoSegment, damage};
use crate::error::Result;
use std::sync::atomic::Ordering;
use vaquita_base::codec::get_u32;
use vaquita_base::{Lsn, PageNo, TrxId};
use vaquita_format::rseg::{HISTORY_SIZE, slot_offset};
use vaquita_format::undo::{self, LogHeader, SegmentState, Xid};
use vaquita_storage::fsp::list::{self, Place};
use vaquita_storage::fsp::{self};
use vaquita_storage::{Mtr, PageRef};

/// Steps that free a segment of one page: the page, and the extents that a large segment takes ahead of use and keeps
/// when a rollback makes it small again.
const STEPS_FOR_LAST_PAGE: usize = 8;

impl RollbackSegments {
    /// Ends the logs of a committing transaction in one mini-transaction. `number` is called if there is an update log,
    /// after everything that can fail.
    pub(crate) fn commit(&self, trx: &mut TrxUndo, number: impl FnOnce() -> TrxId) -> Result<Option<Lsn>> {
        if trx.logs().next().is_none() {
            return Ok(None);
        }
        let rseg = self.rseg(trx.rseg.expect("a transaction with a log has a rollback segment"));
        let mut mtr = self.storage.begin()?;
        let mut state = rseg.state.lock();
        let rseg_page = match trx.update {
            Some(_) => Some(rseg.latch_header(&mut mtr)?),
            None => None,
        };
        let insert = match &trx.insert {
            Some(log) => Some(self.latch_first_page(&mut mtr, rseg, log)?),
            None => None,
        };
        // What can fail comes first, and the list's change is the last of that.
        let update = match (&trx.update, rseg_page) {
            (Some(log), Some(rseg_page)) => {
                let page = self.latch_first_page(&mut mtr, rseg, log)?;
                let size = self.new_history_size(&mtr, rseg, rseg_page, log)?;
                let node = usize::from(log.header) + undo::LOG_HISTORY_NODE;
                list::add_first(&mut mtr, rseg.history(rseg_page), Place { page, offset: node })?;
                Some((log, page, rseg_page, size))
            }
            _ => None,
        };
        let mut committed = None;
        if let Some((log, page, rseg_page, size)) = update {
            let end = self.state_at_end(&mtr, page, log);
            let trx_no = number();
            end_update_log(&mut mtr, page, log, trx_no, end);
            if end == SegmentState::ToPurge {
                let slot = slot_offset(log.segment.slot.into());
                mtr.write_u32(rseg_page, slot, PageNo::NULL.get());
                mtr.write_u32(rseg_page, HISTORY_SIZE, size);
            }
            committed = Some((trx_no, end));
        }
        let insert_end = insert.zip(trx.insert.as_ref()).map(|(page, log)| {
            let end = self.state_at_end(&mtr, page, log);
            mtr.write_u16(page, undo::SEGMENT_STATE, end as u16);
            end
        });
        let lsn = mtr.commit();
        if let (Some(log), Some((trx_no, end))) = (trx.update.take(), committed) {
            if end == SegmentState::Cached {
                state.cache(log.kind, log.segment);
            }
            let UndoLog { header, trx_id, del_marks, .. } = log;
            let page = log.first_page();
            state.oldest.get_or_insert(HistoryLog { page, header, trx_id, trx_no, del_marks });
            self.history_len.fetch_add(1, Ordering::Relaxed);
        }
        if let (Some(log), Some(end)) = (&mut trx.insert, insert_end) {
            log.state = end;
        }
        Ok(Some(lsn))
    }

    /// Frees or caches the insert log after commit, and forgets the logs.
    pub(crate) fn release(&self, trx: &mut TrxUndo) -> Result<()> {
        let ended = std::mem::take(trx);
        debug_assert!(ended.update.is_none(), "a transaction is released after its commit");
        let (Some(log), Some(no)) = (ended.insert, ended.rseg) else { return Ok(()) };
        let rseg = self.rseg(no);
        match log.state {
            SegmentState::Cached => {
                rseg.state.lock().cache(log.kind, log.segment);
                Ok(())
            }
            SegmentState::ToFree => self.free_segment_in_slot(rseg, log.segment, log.n_pages),
            // Still of an active transaction: it is rolled back when the folder is opened again.
            _ => Ok(()),
        }
    }

    /// Frees a segment and empties its slot.
    pub(super) fn free_segment_in_slot(&self, rseg: &Rseg, segment: UndoSegment, n_pages: u32) -> Result<()> {
        if n_pages > 1 {
            self.free_all_but_first_page(rseg, &segment)?;
        }
        let mut mtr = self.storage.begin()?;
        mtr.keep_before_images();
        let rseg_page = rseg.latch_header(&mut mtr)?;
        let slot = slot_offset(segment.slot.into());
        let found = get_u32(mtr.page(rseg_page), slot);
        if found != segment.first_page.get() {
            let detail = format!("slot {} holds page {found}", segment.slot);
            return Err(rseg.bad(segment.first_page, "slot of an undo segment", detail));
        }
        mtr.write_u32(rseg_page, slot, PageNo::NULL.get());
        free_first_page(&mut mtr, rseg, &segment)?;
        mtr.commit();
        Ok(())
    }

    /// Frees the pages of a segment behind its first one, in mini-transactions of their own.
    pub(super) fn free_all_but_first_page(&self, rseg: &Rseg, segment: &UndoSegment) -> Result<()> {
        if segment.header.space != rseg.header.space {
            let detail = format!("{:?}", segment.header);
            return Err(rseg.bad(segment.first_page, "segment header", detail));
        }
        loop {
            let mut mtr = self.storage.begin()?;
            mtr.keep_before_images();
            let done = fsp::free_segment_step(&mut mtr, segment.header, Some(segment.first_page))?;
            mtr.commit();
            if done {
                return Ok(());
            }
        }
    }

    /// Marks the logs as prepared.
    pub(crate) fn prepare(&self, trx: &mut TrxUndo, xid: &Xid) -> Result<Option<Lsn>> {
        self.set_state(trx, SegmentState::Prepared, |mtr, page, log| {
            let at = usize::from(log.header);
            mtr.write_u8(page, at + undo::LOG_XID_EXISTS, 1);
            mtr.write_bytes(page, at + undo::LOG_XID, &xid.encode());
        })
    }

    /// Marks the logs of a prepared transaction as active.
    pub(crate) fn unprepare(&self, trx: &mut TrxUndo) -> Result<()> {
        if trx.logs().all(|log| log.state != SegmentState::Prepared) {
            return Ok(());
        }
        self.set_state(trx, SegmentState::Active, |mtr, page, log| {
            mtr.write_u8(page, usize::from(log.header) + undo::LOG_XID_EXISTS, 0);
        })?;
        Ok(())
    }

    /// Changes the state of all logs in one mini-transaction, and their headers with it.
    fn set_state(
        &self,
        trx: &mut TrxUndo,
        to: SegmentState,
        mut change: impl FnMut(&mut Mtr<'_>, PageRef, &UndoLog),
    ) -> Result<Option<Lsn>> {
        let Some(no) = trx.rseg.filter(|_| trx.logs().next().is_some()) else { return Ok(None) };
        let rseg = self.rseg(no);
        let mut mtr = self.storage.begin()?;
        let mut pages = [None; 2];
        for (log, page) in trx.logs().zip(&mut pages) {
            *page = Some(self.latch_first_page(&mut mtr, rseg, log)?);
        }
        for (log, page) in trx.logs_mut().zip(pages.into_iter().flatten()) {
            mtr.write_u16(page, undo::SEGMENT_STATE, to as u16);
            change(&mut mtr, page, log);
            log.state = to;
        }
        Ok(Some(mtr.commit()))
    }

    /// Latches the first page of a log and checks that it is its transaction's.
    pub(super) fn latch_first_page(&self, mtr: &mut Mtr<'_>, rseg: &Rseg, log: &UndoLog) -> Result<PageRef> {
        let id = rseg.page(log.first_page());
        let page = mtr.get_exclusive(id)?;
        let view = undo_page(mtr, page)?;
        LogHeader::read(mtr.page(page), log.header).map_err(|c| damage(id, c))?;
        if view.last_log() == log.header && view.state() == Ok(log.state) {
            return Ok(page);
        }
        let detail = format!("{:?}, newest log at {}; expected {log:?}", view.state(), view.last_log());
        Err(rseg.bad(log.first_page(), "undo segment of a transaction", detail))
    }

    /// The state a segment gets at commit.
    pub(super) fn state_at_end(&self, mtr: &Mtr<'_>, page: PageRef, log: &UndoLog) -> SegmentState {
        let free = undo_page(mtr, page).map_or(usize::MAX, |view| view.free().into());
        if log.n_pages == 1 && free < 3 * self.page_len() / 4 {
            SegmentState::Cached
        } else if log.kind == undo::UndoKind::Insert {
            SegmentState::ToFree
        } else {
            SegmentState::ToPurge
        }
    }

    /// The size of the history with the log's segment.
    fn new_history_size(&self, mtr: &Mtr<'_>, rseg: &Rseg, page: PageRef, log: &UndoLog) -> Result<u32> {
        let size = get_u32(mtr.page(page), HISTORY_SIZE);
        size.checked_add(log.n_pages)
            .ok_or_else(|| rseg.bad(rseg.header.page_no, "size of a history", format!("{size}")))
    }
}

fn end_update_log(mtr: &mut Mtr<'_>, page: PageRef, log: &UndoLog, trx_no: TrxId, end: SegmentState) {
    let at = usize::from(log.header);
    mtr.write_u16(page, undo::SEGMENT_STATE, end as u16);
    mtr.write_u64(page, at + undo::LOG_TRX_NO, trx_no.get());
    if !log.del_marks {
        mtr.write_u16(page, at + undo::LOG_DEL_MARKS, 0);
    }
}

/// Frees the last page of a segment and the segment with it, and extents that it took ahead of use.
pub(super) fn free_first_page(mtr: &mut Mtr<'_>, rseg: &Rseg, segment: &UndoSegment) -> Result<()> {
    for _ in 0..STEPS_FOR_LAST_PAGE {
        if fsp::free_segment_step(mtr, segment.header, None)? {
            return Ok(());
        }
    }
    Err(rseg.bad(segment.first_page, "pages of an undo segment", "more than its list has".to_owned()))
}
