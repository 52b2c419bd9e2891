//! Undo records of transactions: who writes one gets an id, and how logs end with their transaction.

use super::TrxSystem;
use crate::error::{Error, Result};
use crate::read_view::ReadView;
use crate::trx::{Trx, TrxState};
use crate::undo::{History, PurgeRecord, RollbackSegments, TrxUndo, UndoBuf, UndoOf};
use std::collections::BTreeSet;
use vaquita_base::{Lsn, PageId, RollPtr, TableId, TrxId};
use vaquita_format::undo::{UndoKind, Xid};
use vaquita_storage::buf::assert_no_page_latched;

impl TrxSystem {
    /// Appends an undo record, whose body carries the number [`Trx::undo_no`], in mini-transactions of its own. Assigns
    /// id, rollback segment and log at the first. The caller changes the clustered record afterwards.
    ///
    /// # Errors
    /// No space, no free slot, too long a record. Nothing is appended then.
    ///
    /// # Crash
    /// A record whose change never happened is harmless: rollback finds the row as it was.
    pub fn append_undo(&self, trx: &mut Trx, of: UndoOf, kind: UndoKind, body: &[u8]) -> Result<RollPtr> {
        // U2 of `docs/latching.md`; the same below.
        assert_no_page_latched("an undo record is appended");
        debug_assert_eq!(trx.state(), TrxState::Active, "a transaction that does not run changes rows");
        let id = match trx.id() {
            TrxId(0) => self.assign_id_for(trx, of)?,
            id => id,
        };
        let undo_no = trx.undo_no();
        let ptr = match of {
            UndoOf::Tables => {
                trx.undo.go_on_from(undo_no);
                self.rsegs.append(&mut trx.undo, id, trx.dict_operation, kind, body)?
            }
            UndoOf::Temporary => {
                trx.temporary.go_on_from(undo_no);
                self.rsegs_of(of)?.append(&mut trx.temporary, id, false, kind, body)?
            }
        };
        trx.weigh_undo(trx.undo_no());
        Ok(ptr)
    }

    /// Makes the temporary tablespace and its rollback segments, unless they are there: before the first temporary table.
    ///
    /// # Errors
    /// Errors of making the file.
    pub fn make_temporary_space(&self) -> Result<()> {
        let _one = self.making_temporary.lock();
        if self.temporary.get().is_some() {
            return Ok(());
        }
        assert_no_page_latched("the temporary tablespace is made");
        self.storage.make_temporary_space()?;
        match RollbackSegments::make_temporary(&self.storage) {
            Ok(rsegs) => {
                assert!(self.temporary.set(rsegs).is_ok(), "they are made once");
                Ok(())
            }
            Err(e) => {
                // The error that made it necessary is what counts.
                let _ = self.storage.drop_temporary_space();
                Err(e)
            }
        }
    }

    fn rsegs_of(&self, of: UndoOf) -> Result<&RollbackSegments> {
        match of {
            UndoOf::Tables => Ok(&self.rsegs),
            // Without temporary tables there is nothing that leads here but a damaged page.
            UndoOf::Temporary => self.temporary.get().ok_or(Error::NoSuchUndo(RollPtr(0))),
        }
    }

    /// Shows what purge has to look at of a transaction that has ended, to whoever purges it, and frees the logs.
    ///
    /// # Errors
    /// Those of `purge`; errors of reading and writing pages. What is left is the temporary tables' until they go.
    pub fn end_temporary<E: From<Error>>(
        &self,
        undo: TrxUndo,
        purge: impl FnMut(&PurgeRecord) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        assert_no_page_latched("undo logs of temporary tables end");
        let rsegs = self.rsegs_of(UndoOf::Temporary)?;
        let purged = rsegs.for_each_to_purge(&undo, purge);
        rsegs.end_temporary(undo)?;
        purged
    }

    /// Copies the undo record at a roll pointer.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchUndo`]; errors of reading the page.
    ///
    /// # Latching
    /// Latches the undo page, shared; the caller may hold a page of an index.
    pub fn read_undo(&self, of: UndoOf, ptr: RollPtr, out: &mut UndoBuf) -> Result<()> {
        self.rsegs_of(of)?.read(ptr, out)
    }

    /// The page of the undo record at a roll pointer.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchUndo`] if there is no such rollback segment.
    pub fn undo_page(&self, of: UndoOf, ptr: RollPtr) -> Result<PageId> {
        self.rsegs_of(of)?.page_of(ptr)
    }

    /// The newest record not taken back yet, of all logs, if its number is at least `from`: copied, with its place among
    /// those of its kind of tables.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn newest_undo(&self, trx: &Trx, from: u64, out: &mut UndoBuf) -> Result<Option<RollPtr>> {
        match trx.temporary.newest_no() {
            Some(no) if trx.undo.newest_no().is_none_or(|other| other < no) => {
                self.rsegs_of(UndoOf::Temporary)?.newest(&trx.temporary, from, out)
            }
            _ => self.rsegs.newest(&trx.undo, from, out),
        }
    }

    /// The tables that the transaction's records not taken back yet belong to.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn undo_tables(&self, trx: &Trx) -> Result<BTreeSet<TableId>> {
        self.rsegs.tables(&trx.undo)
    }

    /// Forgets the records from number `from` on: they have been taken back. Pages that are empty then are freed.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    ///
    /// # Crash
    /// Rollback after the crash repeats what was not forgotten; taking back twice is harmless.
    pub fn forget_undo(&self, trx: &mut Trx, from: u64) -> Result<()> {
        assert_no_page_latched("undo records are taken back");
        self.rsegs.forget(&mut trx.undo, from)?;
        if trx.temporary.has_logs() {
            self.rsegs_of(UndoOf::Temporary)?.forget(&mut trx.temporary, from)?;
        }
        trx.weigh_undo(trx.undo_no());
        Ok(())
    }

    /// Ends the logs of a committing transaction in one mini-transaction: insert logs are to be freed or cached, the
    /// update log enters the history with a transaction number that `number` gives under the rollback segment's
    /// mutex, so that each history is in order. The LSN of the end; `None` if there are no logs.
    ///
    /// `number` is called if, and only if, there is an update log, after everything that can fail.
    pub(crate) fn commit_undo(&self, trx: &mut Trx, number: impl FnOnce() -> TrxId) -> Result<Option<Lsn>> {
        self.rsegs.commit(&mut trx.undo, number)
    }

    /// Frees the insert log after commit; forgets the logs.
    pub(crate) fn release_undo(&self, trx: &mut Trx) -> Result<()> {
        self.rsegs.release(&mut trx.undo)
    }

    /// Marks the logs as prepared under an XID.
    pub(crate) fn prepare_undo(&self, trx: &mut Trx, xid: &Xid) -> Result<Option<Lsn>> {
        assert_no_page_latched("undo logs are prepared");
        self.rsegs.prepare(&mut trx.undo, xid)
    }

    /// Makes the logs of a prepared transaction those of an active one: to be called before its first record is taken
    /// back, so that a crash in between finds a transaction to be rolled back and not one that may still commit.
    /// Does nothing to an active one.
    ///
    /// # Errors
    /// Errors of writing undo pages.
    pub fn unprepare_undo(&self, trx: &mut Trx) -> Result<()> {
        self.rsegs.unprepare(&mut trx.undo)
    }

    /// Undo logs of committed transactions that purge has not freed yet (`trx_rseg_history_len`).
    pub fn history_len(&self) -> u64 {
        self.rsegs.history_len()
    }
}

impl History {
    /// Reads on: update undo records that purge has to look at, of transactions whose number is below the view's
    /// `low_limit_no`, from at most `max` undo *pages*, appended to `out`. Whether it has moved on; what it has passed may
    /// be of no interest to purge, so `out` may be as it was: [`History::truncate`] frees that too.
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
        let before = out.len();
        let moved = self.fetch_below(&sys.rsegs, view.low_limit_no, max, out)?;
        debug_assert!(
            out[before..].iter().all(|record| record.trx_no < view.low_limit_no),
            "a record is to be purged that a view of {view:?} needs"
        );
        debug_assert!(
            out[before..].is_sorted_by_key(|record| record.trx_no),
            "H1: not in the order of commit"
        );
        Ok(moved)
    }

    /// Frees the undo logs whose records have all been fetched before; to be called when the fetched ones are purged.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    ///
    /// # Crash
    /// What was fetched and not freed is fetched again: purging twice is harmless.
    pub fn truncate(&mut self, sys: &TrxSystem) -> Result<()> {
        assert_no_page_latched("undo logs are freed");
        self.truncate_all(&sys.rsegs)
    }
}
