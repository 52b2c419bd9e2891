//! After a crash: unfinished transactions are rolled back, those of the dictionary before anything else, then interrupted
//! DDL is finished or undone; the others are rolled back in the background with their rows locked. Prepared ones wait
//! for whoever knows their XID. When all is rolled back, tables under temporary names are dropped.
//!
//! Rows that an unfinished transaction wrote are locked by their DB_TRX_ID alone; the tables get intention locks again
//! before the first session starts.

use crate::core::Core;
use crate::ddl;
use crate::error::{Error, Result};
use crate::row;
use std::sync::Arc;
use vaquita_storage::ForceRecovery;
use vaquita_txn::trx_sys::Resurrected;
use vaquita_txn::{LockMode, Trx};

/// Changes taken back between two looks at whether to stop.
const STEP: usize = 1_000;

/// Does what must be done before the first session starts.
///
/// # Errors
/// Errors of pages, damage.
pub(crate) fn run(core: &Arc<Core>, resurrected: Vec<Resurrected>) -> Result<()> {
    if core.options.storage.force_recovery >= ForceRecovery::NO_TRX_UNDO || core.storage.options().read_only {
        return Ok(());
    }
    let (dictionary, others): (Vec<_>, Vec<_>) = resurrected.into_iter().partition(|r| r.dict_operation);
    for mut found in dictionary {
        row::roll_back(core, &mut found.trx)?;
    }
    ddl::recover(core)?;
    for found in others {
        lock_tables(core, &found.trx)?;
        match found.xid {
            Some(_) => core.txn.detach_prepared(found.trx),
            None => core.roll_back_later(found.trx),
        }
    }
    ddl::find_leftovers(core)
}

/// Intention locks on the tables a transaction changed.
fn lock_tables(core: &Core, trx: &Trx) -> Result<()> {
    for id in core.txn.undo_tables(trx)? {
        match core.table_by_id(id) {
            Ok(Some(table)) => row::lock::lock_table(core, trx, &table, LockMode::IntentionExclusive)?,
            // Nobody can use it.
            Ok(None) | Err(Error::TableUnusable { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

impl Core {
    /// Takes back some changes of a transaction that nobody has any more; without one, drops a table that a crash left
    /// behind under a temporary name. Whether there is more to do.
    ///
    /// # Errors
    /// Errors of pages and files; the transaction stays in the queue, the table stays.
    pub fn rollback_step(&self) -> Result<bool> {
        let next = self.abandoned.lock().pop_front();
        let Some(mut trx) = next else { return ddl::drop_leftover(self) };
        // It may be a prepared one whose rollback failed at its first step.
        let begun = self.txn.unprepare_undo(&mut trx).map_err(Error::from);
        let done = begun.and_then(|()| row::rollback_step(self, &mut trx, 0, STEP));
        let done = done.and_then(|all| {
            if all {
                self.txn.finish_rollback(&mut trx)?;
            }
            Ok(all)
        });
        match done {
            Ok(true) => Ok(!self.abandoned.lock().is_empty() || !self.leftovers.lock().is_empty()),
            other => {
                self.abandoned.lock().push_front(trx);
                other.map(|_| true)
            }
        }
    }
}
