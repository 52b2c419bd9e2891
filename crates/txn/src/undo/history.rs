//! Reading the histories: what purge is to look at, in the order of commit.
//!
//! Each rollback segment has a list of the update logs of committed transactions, newest first, in the order of their
//! transaction numbers. [`History`] keeps a cursor into each list, moving from the oldest towards newer logs, and takes
//! the log with the least number of all. Logs whose records are of no interest to purge are passed over unread.
//!
//! ```text
//!  header page ──► newest ... ──► current ──► done ──► ... ──► oldest
//!                                 │ page p of it is next        │
//!                                 ◄──────── read, not freed ────►   freed by `truncate`
//! ```
//!
//! # Invariants
//! - H1: every log with a number below the view's `low_limit_no` is in its list when the view is asked for, so logs
//!   are given in the order of their numbers also from one call to the next.
//! - H2: only one `History` of a folder is in use: nobody else takes logs off the lists, or pages off these logs.
//!
//! # Latching
//! One page at a time, shared.

use super::append::concerns_purge;
use super::read::UndoBuf;
use super::rseg::{HistoryLog, RollbackSegments, Rseg, damage};
use crate::error::Result;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use vaquita_base::{PageNo, RollPtr, TrxId};
use vaquita_format::Corruption;
use vaquita_format::fil::{self, PageType};
use vaquita_format::flst::ListNode;
use vaquita_format::undo::{LOG_HISTORY_NODE, LogHeader, UndoPage, UndoPlace};

/// An undo record that purge is to look at.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct PurgeRecord {
    /// Where it lies.
    pub place: RollPtr,
    /// Who wrote it.
    pub trx_id: TrxId,
    /// Commit number of its transaction.
    pub trx_no: TrxId,
    /// Its body.
    pub undo: UndoBuf,
}

/// Walks over the history in the order of commit. One of it per folder.
#[derive(Debug, Default)]
pub struct History {
    /// By slot of the rollback segment.
    pub(super) cursors: Vec<Cursor>,
}

/// Place in the history of one rollback segment.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Cursor {
    /// The newest log that was read to its end.
    pub(super) done: Option<HistoryLog>,
    /// The log behind it, if it is known.
    pub(super) current: Option<Reading>,
}

/// A log that is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) log: HistoryLog,
    /// The page to be read next.
    pub(super) page: PageNo,
    /// The page before it in the list of pages.
    pub(super) before: PageNo,
}

impl History {
    /// Reads on: see [`History::fetch`](super::History::fetch), which gives the limit of a read view.
    pub(crate) fn fetch_below(
        &mut self,
        rsegs: &RollbackSegments,
        limit: TrxId,
        max_pages: usize,
        out: &mut Vec<PurgeRecord>,
    ) -> Result<bool> {
        self.cursors.resize(rsegs.rsegs.len(), Cursor::default());
        let mut heads = BinaryHeap::new();
        for rseg in rsegs.all() {
            self.push_head(rsegs, rseg, &mut heads)?;
        }
        let (mut pages, mut moved) = (0, false);
        while let Some(Reverse((trx_no, no))) = heads.pop() {
            if trx_no >= limit || pages >= max_pages.max(1) {
                break;
            }
            let rseg = rsegs.rseg(no);
            let cursor = &mut self.cursors[usize::from(no.0)];
            let reading = cursor.current.as_mut().expect("a head of the heap is the log its cursor is at");
            loop {
                moved = true;
                pages += 1;
                match read_page(rsegs, rseg, reading, out)? {
                    Some(next) => {
                        reading.before = reading.page;
                        reading.page = next;
                    }
                    None => {
                        cursor.done = Some(reading.log);
                        cursor.current = None;
                        break;
                    }
                }
                if pages >= max_pages {
                    return Ok(moved);
                }
            }
            self.push_head(rsegs, rseg, &mut heads)?;
        }
        Ok(moved)
    }

    /// Enters the next log of a rollback segment, if there is one.
    fn push_head(
        &mut self,
        rsegs: &RollbackSegments,
        rseg: &Rseg,
        heads: &mut BinaryHeap<Reverse<(TrxId, super::rseg::RsegNo)>>,
    ) -> Result<()> {
        let cursor = &mut self.cursors[usize::from(rseg.no.0)];
        if cursor.current.is_none() {
            let next = next_log(rsegs, rseg, cursor.done)?;
            cursor.current = next.map(|log| Reading { log, page: log.page, before: PageNo::NULL });
        }
        heads.extend(cursor.current.map(|reading| Reverse((reading.log.trx_no, rseg.no))));
        Ok(())
    }
}

/// The log behind the newest one that was read.
fn next_log(rsegs: &RollbackSegments, rseg: &Rseg, done: Option<HistoryLog>) -> Result<Option<HistoryLog>> {
    let oldest = rseg.state.lock().oldest;
    let done = match (oldest, done) {
        (Some(oldest), Some(done)) if oldest.trx_no <= done.trx_no => done,
        // What was read has been freed.
        _ => return Ok(oldest),
    };
    let next = newer_log(rsegs, rseg, &done)?;
    match next {
        Some(log) if log.trx_no <= done.trx_no => {
            let detail = format!("number {} behind {}", log.trx_no, done.trx_no);
            Err(rseg.bad(log.page, "order of the history", detail))
        }
        _ => Ok(next),
    }
}

/// The log that was committed next in the same rollback segment.
fn newer_log(rsegs: &RollbackSegments, rseg: &Rseg, log: &HistoryLog) -> Result<Option<HistoryLog>> {
    let id = rseg.page(log.page);
    let node = {
        let page = rsegs.storage.pool().get_shared(id)?;
        LogHeader::read(&page, log.header).map_err(|c| damage(id, c))?;
        ListNode::read(&page, usize::from(log.header) + LOG_HISTORY_NODE)
    };
    node.prev.some().map(|address| rsegs.log_at(rseg, address)).transpose()
}

/// Reads a page of a log and gives the next one, `None` at the end of the log.
pub(super) fn read_page(
    rsegs: &RollbackSegments,
    rseg: &Rseg,
    reading: &Reading,
    out: &mut Vec<PurgeRecord>,
) -> Result<Option<PageNo>> {
    let log = &reading.log;
    if !log.del_marks {
        return Ok(None);
    }
    let id = rseg.page(reading.page);
    let page = rsegs.storage.pool().get_shared(id)?;
    collect(&page, rseg, reading, out).map_err(|c| damage(id, c))
}

fn collect(
    page: &[u8],
    rseg: &Rseg,
    reading: &Reading,
    out: &mut Vec<PurgeRecord>,
) -> vaquita_format::Result<Option<PageNo>> {
    let log = &reading.log;
    let ty = fil::raw_type(page);
    if ty != PageType::UndoLog.as_u16() {
        return Err(Corruption::new("type of an undo page", format!("found {ty}")));
    }
    let view = UndoPage::new(page)?;
    // Which also keeps a damaged list from leading in circles.
    let before = view.node().prev.page;
    if before != reading.before {
        let detail = format!("page {before} before it, expected {}", reading.before);
        return Err(Corruption::new("list of undo pages", detail));
    }
    let on_first = reading.page == log.page;
    let header = on_first.then(|| LogHeader::read(page, log.header)).transpose()?;
    let records = view.records_of(on_first.then_some(log.header))?;
    for record in records.iter() {
        let (offset, body) = record?;
        if body.first().is_some_and(|&b| concerns_purge(b)) {
            let place = UndoPlace { insert: false, rseg: rseg.no.0, page: reading.page, offset };
            let mut undo = UndoBuf::default();
            undo.set(body);
            out.push(PurgeRecord { place: place.encode(), trx_id: log.trx_id, trx_no: log.trx_no, undo });
        }
    }
    // A log that is followed by another on its first page has no other page: the segment was cached.
    match header {
        Some(h) if h.next != 0 => Ok(None),
        _ => Ok(view.node().next.some().map(|address| address.page)),
    }
}
