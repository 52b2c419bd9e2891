//! Freeing the undo logs that purge is done with.
//!
//! A log is taken off its history list. The segment goes with it if the log was its last and no transaction will use
//! the segment again (TO_PURGE); a cached segment, or one that a later log is in, stays. Of a long log that is still
//! being read the pages are freed that were.
//!
//! # Crash
//! A long segment is freed in many mini-transactions. The first one clears `del_marks`, so that nobody reads the log
//! any more; its header page stays to the last, in the list. Opening again finds a log without interest, which is passed
//! over and freed: the rest of the work.

use super::finish::free_first_page;
use super::history::{History, Reading};
use super::log::{UndoLog, undo_page};
use super::rseg::{HistoryLog, RollbackSegments, Rseg, UndoSegment, damage, history_log};
use crate::error::Result;
use std::sync::atomic::Ordering;
use vaquita_base::codec::get_u32;
use vaquita_format::rseg::HISTORY_SIZE;
use vaquita_format::undo::{self, LogHeader, SegmentState, UndoPage};
use vaquita_storage::fsp::{self, list, list::Place};
use vaquita_storage::{Mtr, PageRef};

/// What the first page of a log says of its end.
struct LogEnd {
    /// The segment ends with the log.
    with_segment: bool,
    /// Pages of the segment.
    n_pages: u32,
    segment: UndoSegment,
}

impl LogEnd {
    fn read(page: &[u8], log: &HistoryLog) -> vaquita_format::Result<Self> {
        let view = UndoPage::new(page)?;
        let header = LogHeader::read(page, log.header)?;
        let with_segment = header.next == 0 && view.state()? == SegmentState::ToPurge;
        // The slot of such a segment is empty.
        let segment = UndoSegment { slot: 0, first_page: log.page, header: view.segment() };
        Ok(Self { with_segment, n_pages: view.pages().len, segment })
    }
}

impl History {
    /// Frees what [`History::fetch_below`] has read: see [`History::truncate`](super::History::truncate).
    pub(crate) fn truncate_all(&mut self, rsegs: &RollbackSegments) -> Result<()> {
        for rseg in rsegs.all() {
            let Some(cursor) = self.cursors.get_mut(usize::from(rseg.no.0)) else { continue };
            if let Some(done) = cursor.done {
                loop {
                    let oldest = rseg.state.lock().oldest;
                    let Some(log) = oldest.filter(|log| log.trx_no <= done.trx_no) else { break };
                    rsegs.free_log(rseg, &log)?;
                }
            }
            if let Some(reading) = cursor.current.as_mut().filter(|r| r.page != r.log.page) {
                rsegs.free_head(rseg, reading)?;
                reading.before = reading.log.page;
            }
        }
        Ok(())
    }
}

impl RollbackSegments {
    /// Frees the oldest log of a history.
    fn free_log(&self, rseg: &Rseg, log: &HistoryLog) -> Result<()> {
        let end = {
            let id = rseg.page(log.page);
            let page = self.storage.pool().get_shared(id)?;
            LogEnd::read(&page, log).map_err(|c| damage(id, c))?
        };
        if end.with_segment && end.n_pages > 1 {
            self.clear_del_marks(rseg, log)?;
            self.free_all_but_first_page(rseg, &end.segment)?;
        }
        let mut mtr = self.storage.begin()?;
        let mut state = rseg.state.lock();
        let rseg_page = rseg.latch_header(&mut mtr)?;
        let id = rseg.page(log.page);
        let page = mtr.get_exclusive(id)?;
        // A segment that was cached may have been taken meanwhile; one that was to be purged is as it was.
        let end = LogEnd::read(mtr.page(page), log).map_err(|c| damage(id, c))?;
        let newer = newer_log(&mut mtr, rseg, page, log)?;
        if end.with_segment {
            mtr.keep_before_images();
        }
        let node = Place { page, offset: usize::from(log.header) + undo::LOG_HISTORY_NODE };
        list::remove(&mut mtr, rseg.history(rseg_page), node)?;
        if end.with_segment {
            shrink_history(&mut mtr, rseg, rseg_page, end.n_pages)?;
            free_first_page(&mut mtr, rseg, &end.segment)?;
        }
        mtr.commit();
        state.oldest = newer;
        let logs = self.history_len.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(logs > 0, "a log is freed of an empty history: {log:?}");
        Ok(())
    }

    /// Says that nobody is to read the log any more.
    pub(super) fn clear_del_marks(&self, rseg: &Rseg, log: &HistoryLog) -> Result<()> {
        let mut mtr = self.storage.begin()?;
        let page = mtr.get_exclusive(rseg.page(log.page))?;
        mtr.write_u16(page, usize::from(log.header) + undo::LOG_DEL_MARKS, 0);
        mtr.commit();
        Ok(())
    }

    /// Frees the pages of a log that come before the one to be read next, but for the first, which has the header.
    fn free_head(&self, rseg: &Rseg, reading: &Reading) -> Result<()> {
        loop {
            let mut mtr = self.storage.begin()?;
            mtr.keep_before_images();
            // The size of the history is on the header page; the mutex is for the order of latches alone.
            let _state = rseg.state.lock();
            let rseg_page = rseg.latch_header(&mut mtr)?;
            let first = mtr.get_exclusive(rseg.page(reading.log.page))?;
            let view = undo_page(&mtr, first)?;
            let (free, segment) = (view.free(), view.segment());
            let header =
                LogHeader::read(mtr.page(first), reading.log.header).map_err(|c| damage(mtr.id(first), c))?;
            let second = view.node().next.page;
            if second.is_null() {
                return Err(rseg.bad(reading.log.page, "list of undo pages", "it ends too early".to_owned()));
            }
            if header.start < free {
                mtr.write_u16(first, usize::from(reading.log.header) + undo::LOG_START, free);
            }
            if second != reading.page {
                let page = mtr.get_exclusive(rseg.page(second))?;
                list::remove(&mut mtr, UndoLog::pages(first), UndoLog::node(page))?;
                shrink_history(&mut mtr, rseg, rseg_page, 1)?;
                fsp::free_page(&mut mtr, segment, second)?;
            }
            mtr.commit();
            if second == reading.page {
                return Ok(());
            }
        }
    }
}

/// The log that is the oldest when `log`, whose page is held, is gone.
fn newer_log(mtr: &mut Mtr<'_>, rseg: &Rseg, page: PageRef, log: &HistoryLog) -> Result<Option<HistoryLog>> {
    let offset = usize::from(log.header) + undo::LOG_HISTORY_NODE;
    let Some(address) = list::read_node(mtr, Place { page, offset }).prev.some() else { return Ok(None) };
    let node = list::latch_node(mtr, rseg.header.space, address)?;
    history_log(mtr.page(node.page), mtr.id(node.page), address.offset).map(Some)
}

fn shrink_history(mtr: &mut Mtr<'_>, rseg: &Rseg, rseg_page: PageRef, by: u32) -> Result<()> {
    let size = get_u32(mtr.page(rseg_page), HISTORY_SIZE);
    let Some(rest) = size.checked_sub(by) else {
        let detail = format!("{size} pages, {by} to be freed");
        return Err(rseg.bad(rseg.header.page_no, "size of a history", detail));
    };
    mtr.write_u32(rseg_page, HISTORY_SIZE, rest);
    Ok(())
}
