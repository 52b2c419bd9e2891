//! XA: a session prepares a transaction, which is decided elsewhere ([`crate::prepared`]).

use super::{Durability, Session};
use crate::error::{Error, Result};
use vaquita_format::undo::Xid;
use vaquita_txn::TrxState;

impl Session {
    /// Prepares the open transaction under an XID. It leaves the session, keeps its locks, and survives a crash once
    /// what is returned is durable.
    ///
    /// # Errors
    /// No transaction is open; the XID is in use; errors of writing undo pages. [`Error::Doomed`]: it was rolled back.
    pub fn xa_prepare(&mut self, xid: Xid) -> Result<Durability> {
        if self.trx.state() != TrxState::Active {
            return Err(Error::WrongState("XA PREPARE: no transaction is open"));
        }
        self.refuse_doomed()?;
        if self.core.txn.prepared_xids().contains(&xid) {
            return Err(Error::WrongState("XA PREPARE: the XID is in use"));
        }
        // Temporary tables are the session's: what it did to them is done, whatever becomes of the rest.
        if let Some(undo) = self.trx.take_temporary() {
            super::temporary::end(&self.core, undo);
        }
        if let Err(e) = crate::fulltext::before_commit(&self.core, &mut self.trx) {
            self.rollback()?;
            return Err(e);
        }
        let lsn = self.core.txn.prepare(&mut self.trx, xid)?;
        let mut trx = self.core.txn.new_trx();
        trx.set_wait_hook(self.waiter.hook.clone());
        self.core.txn.detach_prepared(std::mem::replace(&mut self.trx, trx));
        let mdl = std::mem::replace(&mut self.mdl, self.core.mdl.context_of(self.waiter.clone()));
        self.core.prepared.lock().push((xid, mdl));
        self.leave_transaction();
        Ok(self.durability(lsn))
    }
}
