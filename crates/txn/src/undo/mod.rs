//! Rollback segments, undo logs, the history list.

use crate::error::Result;
use crate::options::Options;
use crate::read_view::ReadView;
use crate::trx::Trx;
use crate::trx_sys::TrxSystem;
use std::sync::Arc;
use vaquita_base::{Lsn, RollPtr, TrxId};
use vaquita_format::undo::{UndoKind, Xid};
use vaquita_storage::{Mtr, Storage};

/// The rollback segments of a folder: 128 slots, each with a header page of 1,024 undo slots (16K pages).
#[derive(Debug)]
pub struct RollbackSegments {}

/// Number of a rollback segment: its slot on the TRX_SYS page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RsegNo(pub(crate) u8);

/// A transaction whose undo logs say that it had not ended.
#[derive(Debug)]
pub(crate) struct FoundTrx {
    /// Its id.
    pub(crate) id: TrxId,
    /// Whether it was prepared; it was active otherwise.
    pub(crate) prepared: bool,
    /// Its XID, if it was prepared.
    pub(crate) xid: Option<Xid>,
    /// Whether it changes the dictionary.
    pub(crate) dict_operation: bool,
    /// Its logs: to be put into the transaction.
    pub(crate) undo: TrxUndo,
}

impl RollbackSegments {
    /// Reads the rollback segments of a folder, creates those that are missing, and gives the transactions that were
    /// unfinished, by id.
    ///
    /// # Errors
    /// Errors of reading and writing pages, damage.
    pub(crate) fn open(
        storage: &Arc<Storage>,
        options: &Options,
    ) -> Result<(RollbackSegments, Vec<FoundTrx>)> {
        let _ = (storage, options);
        unimplemented!()
    }

    /// The greatest transaction id or number that [`RollbackSegments::open`] has met; 0 if none.
    pub(crate) fn greatest_id(&self) -> TrxId {
        unimplemented!()
    }

    /// A rollback segment for a transaction that has none yet: all in turn.
    pub(crate) fn assign(&self) -> RsegNo {
        unimplemented!()
    }
}

/// The undo logs of one transaction: at most one for inserts, one for updates.
#[derive(Debug, Default)]
pub struct TrxUndo {
    next_no: u64,
    rseg: Option<RsegNo>,
}

impl TrxUndo {
    /// Number of the next record.
    pub fn next_no(&self) -> u64 {
        self.next_no
    }

    /// Gives the transaction its rollback segment, with its id.
    pub(crate) fn set_rseg(&mut self, rseg: RsegNo) {
        self.rseg = Some(rseg);
    }

    /// Whether there is an update log: one that enters the history at commit.
    pub(crate) fn has_update_log(&self) -> bool {
        unimplemented!()
    }
}

/// Makes rollback segment 0 of a new folder, at page 6 of the system tablespace.
///
/// # Errors
/// No space.
pub fn create_first_rollback_segment(storage: &Storage) -> Result<()> {
    let _ = storage;
    unimplemented!()
}

/// A copy of an undo record's body.
#[derive(Debug, Default, Clone)]
pub struct UndoBuf {
    bytes: Vec<u8>,
}

impl UndoBuf {
    /// The body, for [`vaquita_format::undo::record::UndoRecord::parse`].
    pub fn body(&self) -> &[u8] {
        &self.bytes
    }
}

impl TrxSystem {
    /// Appends an undo record, whose body carries the number [`Trx::undo_no`], in mini-transactions of its own. Assigns
    /// id, rollback segment and log at the first. The caller changes the clustered record afterwards.
    ///
    /// # Errors
    /// No space, no free slot, too long a record. Nothing is appended then.
    ///
    /// # Crash
    /// A record whose change never happened is harmless: rollback finds the row as it was.
    pub fn append_undo(&self, trx: &mut Trx, kind: UndoKind, body: &[u8]) -> Result<RollPtr> {
        let _ = (trx, kind, body);
        unimplemented!()
    }

    /// Copies the undo record at a roll pointer.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchUndo`]; errors of reading the page.
    ///
    /// # Latching
    /// Latches the undo page, shared; the caller may hold a page of an index.
    pub fn read_undo(&self, ptr: RollPtr, out: &mut UndoBuf) -> Result<()> {
        let _ = (ptr, out);
        unimplemented!()
    }

    /// The newest record not taken back yet, of both logs, if its number is at least `from`: copied, with its place.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn newest_undo(&self, trx: &Trx, from: u64, out: &mut UndoBuf) -> Result<Option<RollPtr>> {
        let _ = (trx, from, out);
        unimplemented!()
    }

    /// Forgets the records from number `from` on: they have been taken back. Pages that are empty then are freed.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    ///
    /// # Crash
    /// Rollback after the crash repeats what was not forgotten; taking back twice is harmless.
    pub fn forget_undo(&self, trx: &mut Trx, from: u64) -> Result<()> {
        let _ = (trx, from);
        unimplemented!()
    }

    /// Ends the logs of a committing transaction in one mini-transaction: insert logs are to be freed or cached, the
    /// update log enters the history with a transaction number that `number` gives under the rollback segment's
    /// mutex, so that each history is in order. The LSN of the end; `None` if there are no logs.
    ///
    /// `number` is called if, and only if, there is an update log, after everything that can fail.
    pub(crate) fn commit_undo(&self, trx: &mut Trx, number: impl FnOnce() -> TrxId) -> Result<Option<Lsn>> {
        let _ = (trx, number);
        unimplemented!()
    }

    /// Frees the insert log after commit; forgets the logs.
    pub(crate) fn release_undo(&self, trx: &mut Trx) -> Result<()> {
        let _ = trx;
        unimplemented!()
    }

    /// Marks the logs as prepared under an XID.
    pub(crate) fn prepare_undo(&self, trx: &mut Trx, xid: &Xid) -> Result<Option<Lsn>> {
        let _ = (trx, xid);
        unimplemented!()
    }

    /// Makes the logs of a prepared transaction those of an active one: to be called before its first record is taken
    /// back, so that a crash in between finds a transaction to be rolled back and not one that may still commit.
    /// Does nothing to an active one.
    ///
    /// # Errors
    /// Errors of writing undo pages.
    pub fn unprepare_undo(&self, trx: &mut Trx) -> Result<()> {
        let _ = trx;
        unimplemented!()
    }

    /// Undo logs of committed transactions that purge has not freed yet (`trx_rseg_history_len`).
    pub fn history_len(&self) -> u64 {
        unimplemented!()
    }
}

/// An undo record that purge is to look at.
#[derive(Debug, Default, Clone)]
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
pub struct History {}

impl History {
    /// Reads on: update undo records of transactions whose number is below the view's `low_limit_no`, at most `max`
    /// undo *pages* full of them, appended to `out`. Whether anything was found.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn fetch(
        &mut self,
        sys: &TrxSystem,
        view: &ReadView,
        max: usize,
        out: &mut Vec<PurgeRecord>,
    ) -> Result<bool> {
        let _ = (sys, view, max, out);
        unimplemented!()
    }

    /// Frees the undo logs whose records have all been fetched before; to be called when the fetched ones are purged.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    ///
    /// # Crash
    /// What was fetched and not freed is fetched again: purging twice is harmless.
    pub fn truncate(&mut self, sys: &TrxSystem) -> Result<()> {
        let _ = sys;
        unimplemented!()
    }
}

/// Makes a page of a rollback segment, for [`create_first_rollback_segment`] and those after it.
#[allow(dead_code)]
pub(crate) fn create_rollback_segment(mtr: &mut Mtr<'_>) -> Result<()> {
    let _ = mtr;
    unimplemented!()
}
