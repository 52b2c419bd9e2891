//! XA: transactions that were prepared, and what is decided about them.

use crate::documents;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::fulltext;
use crate::row;
use crate::session::Durability;
use std::sync::atomic::Ordering;
use vaquita_format::undo::Xid;
use vaquita_storage::log::CommitPolicy;
use vaquita_txn::Trx;
use vaquita_txn::wait::PlainWait;

impl Engine {
    /// XIDs of the prepared transactions (XA RECOVER).
    pub fn xa_recover(&self) -> Vec<Xid> {
        self.core().txn.prepared_xids()
    }

    /// Commits a prepared transaction.
    ///
    /// # Errors
    /// [`Error::NoSuchXid`]; errors of writing undo pages.
    pub fn xa_commit(&self, xid: &Xid) -> Result<Durability> {
        let mut trx = self.take_prepared(xid)?;
        let core = self.core();
        let changes = documents::take_changes(&mut trx);
        let lsn = match core.txn.commit(&mut trx) {
            Ok(lsn) => lsn,
            Err(e) => {
                documents::give_back(&mut trx, changes);
                core.txn.detach_prepared(trx);
                return Err(e.into());
            }
        };
        if let Some(changes) = changes {
            fulltext::after_commit(core, changes);
        }
        self.release_prepared(xid);
        let policy = core.live.flush_log_at_trx_commit.load(Ordering::Relaxed);
        let policy = CommitPolicy::from_number(policy).unwrap_or_default();
        let wait = |lsn| Durability::new(core.storage.clone(), std::sync::Arc::new(PlainWait), lsn, policy);
        Ok(lsn.map(wait).unwrap_or_default())
    }

    /// Rolls a prepared transaction back.
    ///
    /// # Errors
    /// [`Error::NoSuchXid`]; the changes could not be taken back: a background service tries again.
    pub fn xa_rollback(&self, xid: &Xid) -> Result<()> {
        let mut trx = self.take_prepared(xid)?;
        let core = self.core();
        let begun = core.txn.unprepare_undo(&mut trx).map_err(Error::from);
        let done = begun.and_then(|()| row::roll_back(core, &mut trx));
        if done.is_err() {
            core.roll_back_later(trx);
        }
        self.release_prepared(xid);
        done
    }

    fn take_prepared(&self, xid: &Xid) -> Result<Trx> {
        self.core().txn.take_prepared(xid).ok_or(Error::NoSuchXid)
    }

    fn release_prepared(&self, xid: &Xid) {
        let core = self.core();
        let mut prepared = core.prepared.lock();
        if let Some(at) = prepared.iter().position(|(x, _)| x == xid) {
            let (_, mut mdl) = prepared.swap_remove(at);
            drop(prepared);
            core.mdl.release(&mut mdl);
        }
    }
}
