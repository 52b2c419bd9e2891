//! Prepared transactions by XID: those a session still has, and those that nobody has, waiting for their verdict.

use crate::trx::Trx;
use parking_lot::Mutex;
use vaquita_format::undo::Xid;

/// The prepared transactions of a folder, in the order in which they were prepared.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    /// XID, number of the object, the transaction if no session has it.
    entries: Mutex<Vec<(Xid, u64, Option<Trx>)>>,
}

impl Prepared {
    /// A transaction is prepared; its session keeps it.
    pub(super) fn enter(&self, xid: Xid, serial: u64) {
        self.entries.lock().push((xid, serial, None));
    }

    /// The transaction with that number has ended.
    pub(super) fn leave(&self, serial: u64) {
        self.entries.lock().retain(|(_, s, _)| *s != serial);
    }

    /// The session gives its transaction away.
    pub(super) fn detach(&self, trx: Trx) {
        let serial = trx.shared().serial();
        let mut entries = self.entries.lock();
        let entry = entries.iter_mut().find(|(_, s, _)| *s == serial);
        entry.expect("a prepared transaction is entered when it is prepared").2 = Some(trx);
    }

    /// Takes the detached transaction with that XID, to commit it or roll it back.
    pub(super) fn take(&self, xid: &Xid) -> Option<Trx> {
        self.entries.lock().iter_mut().find(|(x, _, trx)| x == xid && trx.is_some())?.2.take()
    }

    /// The XIDs of all prepared transactions.
    pub(super) fn xids(&self) -> Vec<Xid> {
        self.entries.lock().iter().map(|(xid, ..)| *xid).collect()
    }
}
