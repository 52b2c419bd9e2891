//! Undo logs of the rows of temporary tables: in rollback segments of their own, which lie in the temporary tablespace.
//!
//! Their records are numbered together with the others of the transaction (U1), and are taken back with them. But they end
//! otherwise: nobody but the session that has a table reads it, so what is to be purged is purged when the transaction is
//! over, by its own thread, and the logs never enter a history.
//!
//! # Crash
//! Nothing is left of them, nor of the tables.

use super::append::concerns_purge;
use super::history::{PurgeRecord, Reading, read_page};
use super::log::{TrxUndo, UndoLog};
use super::rseg::{HistoryLog, RollbackSegments, Rseg, RsegNo, init_rollback_segment};
use crate::error::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use vaquita_base::{PageNo, SpaceId, TrxId};
use vaquita_format::undo::{self, SegmentState};
use vaquita_storage::Storage;

/// Rollback segments for temporary tables: sessions that change some at a time wait for each other's at most.
const SEGMENTS: usize = 8;

/// Whose rows an undo record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoOf {
    /// Those of tables that last.
    Tables,
    /// Those of temporary tables.
    Temporary,
}

impl RollbackSegments {
    /// Makes those of the temporary tablespace, which is there and empty.
    pub(crate) fn make_temporary(storage: &Arc<Storage>) -> Result<RollbackSegments> {
        let mut rsegs = Vec::with_capacity(SEGMENTS);
        for n in 0..SEGMENTS {
            let mut mtr = storage.begin()?;
            mtr.keep_before_images();
            let header = init_rollback_segment(&mut mtr, SpaceId::TEMPORARY)?;
            mtr.commit();
            rsegs.push(Some(Rseg::new(RsegNo(n as u8), header)));
        }
        Ok(RollbackSegments {
            storage: storage.clone(),
            rsegs,
            usable: (0..SEGMENTS).map(|n| RsegNo(n as u8)).collect(),
            next: AtomicUsize::new(0),
            in_use: AtomicUsize::new(SEGMENTS),
            history_len: AtomicU64::new(0),
            greatest_id: TrxId(0),
        })
    }

    /// The records of an ended transaction that purge has to look at, oldest first, a page at a time.
    pub(crate) fn for_each_to_purge<E: From<crate::error::Error>>(
        &self,
        trx: &TrxUndo,
        mut look: impl FnMut(&PurgeRecord) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (Some(no), Some(log)) = (trx.rseg, &trx.update) else { return Ok(()) };
        let UndoLog { header, trx_id, del_marks, .. } = *log;
        let page = log.first_page();
        let log = HistoryLog { page, header, trx_id, trx_no: TrxId(0), del_marks };
        let mut reading = Reading { log, page, before: PageNo::NULL };
        let mut records = Vec::new();
        loop {
            records.clear();
            let next = read_page(self, self.rseg(no), &reading, &mut records)?;
            debug_assert!(
                records.iter().all(|record| concerns_purge(record.undo.body()[0])),
                "others are left out"
            );
            records.iter().try_for_each(&mut look)?;
            match next {
                Some(next) => (reading.before, reading.page) = (reading.page, next),
                None => return Ok(()),
            }
        }
    }

    /// Ends the logs: nobody needs their records any more.
    pub(crate) fn end_temporary(&self, trx: TrxUndo) -> Result<()> {
        let Some(no) = trx.rseg else { return Ok(()) };
        let rseg = self.rseg(no);
        for log in trx.insert.into_iter().chain(trx.update) {
            let mut mtr = self.storage.begin()?;
            let page = self.latch_first_page(&mut mtr, rseg, &log)?;
            let cached = self.state_at_end(&mtr, page, &log) == SegmentState::Cached;
            let end = if cached { SegmentState::Cached } else { SegmentState::ToFree };
            mtr.write_u16(page, undo::SEGMENT_STATE, end as u16);
            mtr.commit();
            match cached {
                true => rseg.state.lock().cache(log.kind, log.segment),
                false => self.free_segment_in_slot(rseg, log.segment, log.n_pages)?,
            }
        }
        Ok(())
    }
}
