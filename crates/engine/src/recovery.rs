//! After a crash: unfinished transactions are rolled back, those of the dictionary before anything else, then interrupted
//! DDL is finished or undone; the others are rolled back in the background with their rows locked. Prepared ones wait
//! for whoever knows their XID. When all is rolled back, tables under temporary names are dropped.
//!
//! A transaction that cannot be rolled back (a page of its tables is damaged) goes behind the others with its locks, and the
//! log says where it stands, once. The others are rolled back, and tables under temporary names dropped, all the same.
//!
//! Rows that an unfinished transaction wrote are locked by their DB_TRX_ID alone; the tables get intention locks again
//! before the first session starts.

use crate::core::Core;
use crate::ddl;
use crate::documents;
use crate::error::{Error, Result};
use crate::row;
use std::sync::Arc;
use vaquita_base::TrxId;
use vaquita_storage::ForceRecovery;
use vaquita_txn::trx_sys::Resurrected;
use vaquita_txn::{LockMode, Trx};

/// Changes taken back between two looks at whether to stop.
const STEP: usize = 1_000;

/// Transactions that are told of one by one; the others are counted.
const TOLD_MAX: usize = 16;

/// Does what must be done before the first session starts.
///
/// # Errors
/// Errors of pages, damage.
pub(crate) fn run(core: &Arc<Core>, resurrected: Vec<Resurrected>) -> Result<()> {
    if core.options.storage.force_recovery >= ForceRecovery::NO_TRX_UNDO || core.storage.options().read_only {
        return load_objects(core);
    }
    tell(core, &resurrected);
    let (dictionary, others): (Vec<_>, Vec<_>) = resurrected.into_iter().partition(|r| r.dict_operation);
    for mut found in dictionary {
        let id = found.trx.id();
        row::roll_back(core, &mut found.trx)?;
        core.notes.say(format!("recovery: Rollback of trx with id {id} completed"));
    }
    ddl::recover(core)?;
    ddl::settle_places(core)?;
    load_objects(core)?;
    for found in others {
        lock_tables(core, &found.trx)?;
        match found.xid {
            Some(_) => {
                let mut trx = found.trx;
                claim_documents(core, &mut trx)?;
                core.txn.detach_prepared(trx);
            }
            None => {
                let mut recovered = core.recovered.lock();
                let told = recovered.len() < TOLD_MAX;
                recovered.push((found.trx.id(), told));
                drop(recovered);
                core.roll_back_later(found.trx);
            }
        }
    }
    ddl::find_leftovers(core)
}

/// Reads views, routines, triggers and events: tables that are opened from now on know their triggers.
fn load_objects(core: &Core) -> Result<()> {
    core.dict.load_objects(&core.storage)?;
    core.objects().damaged().iter().for_each(|text| core.notes.say(format!("damaged: {text}")));
    Ok(())
}

/// Says what the crash left, as MySQL 5.6 says it.
fn tell(core: &Core, found: &[Resurrected]) {
    if found.is_empty() {
        return;
    }
    let rows = |r: &Resurrected| r.trx.undo_no();
    let open = || found.iter().filter(|r| r.xid.is_none());
    let prepared = || found.iter().filter(|r| r.xid.is_some());
    if open().next().is_some() {
        let (n, changed) = (open().count(), open().map(rows).sum::<u64>());
        core.notes.say(format!(
            "recovery: {n} transaction(s) which must be rolled back, in total {changed} row operations to undo"
        ));
    }
    for r in open().take(TOLD_MAX) {
        core.notes.say(format!(
            "recovery: Rolling back trx with id {}, {} rows to undo",
            r.trx.id(),
            rows(r)
        ));
    }
    for r in prepared().take(TOLD_MAX) {
        let changed = rows(r);
        core.notes.say(format!(
            "recovery: Transaction {} in prepared state after recovery; it contains changes to {changed} rows",
            r.trx.id()
        ));
    }
    if prepared().next().is_some() {
        core.notes.say(format!(
            "recovery: {} transactions in prepared state after recovery: XA RECOVER lists them",
            prepared().count()
        ));
    }
}

/// Intention locks on the tables a transaction changed.
fn lock_tables(core: &Core, trx: &Trx) -> Result<()> {
    for id in core.txn.undo_tables(trx)? {
        match core.table_by_id(id) {
            Ok(Some(table)) => row::lock::lock_table(core, trx, &table, LockMode::IntentionExclusive)?,
            // Nobody can use it.
            Ok(None) | Err(Error::TableUnusable { .. } | Error::Discarded(_)) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Keeps the documents of a prepared transaction from being written until it ends: which ones it has, only its rows say.
fn claim_documents(core: &Core, trx: &mut Trx) -> Result<()> {
    let own = trx.id();
    for id in core.txn.undo_tables(trx)? {
        let table = match core.table_by_id(id) {
            Ok(Some(table)) if !table.fulltext.is_empty() && table.doc_ids.is_some() => table,
            Ok(_) | Err(Error::TableUnusable { .. } | Error::Discarded(_)) => continue,
            Err(e) => return Err(e),
        };
        documents::changes_of(trx).claim_unknown(&core.documents, own, &table)?;
    }
    // What went was noted when it was prepared.
    if trx.companion().is_some() {
        documents::changes_of(trx).deletes_written = true;
    }
    Ok(())
}

impl Core {
    /// Takes back some changes of a transaction that nobody has any more; without one, drops a table that a crash left
    /// behind under a temporary name. Whether there is more to do.
    ///
    /// # Errors
    /// Errors of pages and files; the transaction goes to the end of the queue, the table stays.
    pub fn rollback_step(&self) -> Result<bool> {
        let next = self.abandoned.lock().pop_front();
        let Some(mut trx) = next else { return ddl::drop_leftover(self) };
        // It may be a prepared one whose rollback failed at its first step.
        let begun = self.txn.unprepare_undo(&mut trx).map_err(Error::from);
        let done = begun.and_then(|()| row::rollback_step(self, &mut trx, 0, STEP));
        let id = trx.id();
        let done = done.and_then(|all| {
            if all {
                self.txn.finish_rollback(&mut trx)?;
            }
            Ok(all)
        });
        match done {
            Ok(true) => {
                self.stuck.lock().remove(&id);
                self.tell_rolled_back(id);
                Ok(!self.abandoned.lock().is_empty() || !self.leftovers.lock().is_empty())
            }
            Ok(false) => {
                self.abandoned.lock().push_front(trx);
                Ok(true)
            }
            Err(e) => {
                self.tell_stuck(&trx, &e);
                self.abandoned.lock().push_back(trx);
                Err(e)
            }
        }
    }

    /// Tries each transaction that nobody has any more, and each table that a crash left behind, whatever becomes of others,
    /// until `stopped`. Whether there is more to do at once.
    ///
    /// # Errors
    /// The first error of one; the others have been tried.
    pub fn rollback_round(&self, stopped: impl Fn() -> bool) -> Result<bool> {
        let mut failure = None;
        let mut tries = self.abandoned.lock().len();
        while tries > 0 && !stopped() {
            match self.rollback_step() {
                // It may be the same one, of which some is taken back.
                Ok(_) => tries = tries.min(self.abandoned.lock().len()),
                Err(e) if e.is_final() => return Err(e),
                Err(e) => {
                    failure.get_or_insert(e);
                    tries -= 1;
                }
            }
        }
        let leftovers = self.leftovers.lock().len();
        for _ in 0..leftovers {
            if stopped() {
                break;
            }
            if let Err(e) = ddl::drop_leftover(self) {
                failure.get_or_insert(e);
            }
        }
        failure.map_or(Ok(false), Err)
    }

    /// Says that a transaction is gone that a crash left, and that all are.
    fn tell_rolled_back(&self, id: TrxId) {
        let mut recovered = self.recovered.lock();
        let Some(at) = recovered.iter().position(|(one, _)| *one == id) else { return };
        if recovered.swap_remove(at).1 {
            self.notes.say(format!("recovery: Rollback of trx with id {id} completed"));
        }
        if recovered.is_empty() {
            self.notes.say("recovery: Rollback of non-prepared transactions completed".to_owned());
        }
    }
}
