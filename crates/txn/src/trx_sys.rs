//! The transaction system: ids, the set of active transactions, commit order, read views.

use crate::error::Result;
use crate::lock::LockSys;
use crate::options::Options;
use crate::read_view::ReadView;
use crate::trx::{AccessMode, Isolation, Trx, TrxRef};
use crate::undo::RollbackSegments;
use std::sync::Arc;
use vaquita_base::{Lsn, TrxId};
use vaquita_format::undo::Xid;
use vaquita_storage::Storage;

/// A session's place in the registry of open read views: written by the session alone, read by purge.
#[derive(Debug, Default)]
pub struct ViewSlot {}

/// Everything that the transactions of a folder share.
#[derive(Debug)]
pub struct TrxSystem {
    pub(crate) storage: Arc<Storage>,
    pub(crate) options: Options,
    pub(crate) locks: Arc<LockSys>,
    pub(crate) rsegs: RollbackSegments,
}

/// A transaction that a crash left behind.
#[derive(Debug)]
pub struct Resurrected {
    /// The transaction: active, to be rolled back, or prepared. It holds no locks yet.
    pub trx: Trx,
    /// Its XID, if it is prepared.
    pub xid: Option<Xid>,
    /// Whether it changes the dictionary: to be rolled back before any table is opened.
    pub dict_operation: bool,
}

impl TrxSystem {
    /// Opens the transaction system of a folder: reads the id store and the rollback segments, brings back the
    /// transactions that were unfinished, creates rollback segments that are missing.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn open(storage: Arc<Storage>, options: Options) -> Result<(Arc<TrxSystem>, Vec<Resurrected>)> {
        let _ = (storage, options);
        unimplemented!()
    }

    /// The storage below.
    #[inline]
    pub fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// The settings.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The lock manager.
    #[inline]
    pub fn locks(&self) -> &Arc<LockSys> {
        &self.locks
    }

    /// A transaction object for a session, not started. Dropping it gives its place back; it must not be active then.
    pub fn new_trx(&self) -> Trx {
        unimplemented!()
    }

    /// Starts a transaction. Touches nothing shared.
    ///
    /// # Panics
    /// If it is active.
    pub fn start(&self, trx: &mut Trx, isolation: Isolation, access: AccessMode) {
        let _ = (trx, isolation, access);
        unimplemented!()
    }

    /// The transaction's read view; opened if there is none.
    ///
    /// # Cost
    /// Constant: a few loads, and stores into the session's own slot.
    pub fn read_view(&self, trx: &mut Trx) -> ReadView {
        let _ = trx;
        unimplemented!()
    }

    /// Closes the read view: at the end of each statement in READ COMMITTED, of a transaction otherwise.
    pub fn close_view(&self, trx: &mut Trx) {
        let _ = trx;
        unimplemented!()
    }

    /// Gives the transaction an id and a rollback segment, if it has none.
    ///
    /// # Errors
    /// [`crate::Error::ReadOnly`]; errors of writing the id store.
    pub fn assign_id(&self, trx: &mut Trx) -> Result<TrxId> {
        let _ = trx;
        unimplemented!()
    }

    /// Marks the transaction as one that changes the dictionary: rolled back first after a crash.
    pub fn set_dict_operation(&self, trx: &mut Trx) {
        trx.dict_operation = true;
    }

    /// Commits: undo logs change their state in one mini-transaction, then the transaction becomes visible, then its
    /// locks go. The LSN to be durable for the commit to last; `None` if nothing was changed.
    ///
    /// # Errors
    /// Errors of writing undo pages. The transaction is still active then.
    pub fn commit(&self, trx: &mut Trx) -> Result<Option<Lsn>> {
        let _ = trx;
        unimplemented!()
    }

    /// Prepares: from here on only its XID decides, also after a crash. The LSN to be durable.
    ///
    /// # Errors
    /// Errors of writing undo pages.
    pub fn prepare(&self, trx: &mut Trx, xid: Xid) -> Result<Option<Lsn>> {
        let _ = (trx, xid);
        unimplemented!()
    }

    /// Whether the transaction is active or prepared.
    pub fn is_active(&self, id: TrxId) -> bool {
        let _ = id;
        unimplemented!()
    }

    /// The active or prepared transaction of that id.
    pub fn find_active(&self, id: TrxId) -> Option<TrxRef> {
        let _ = id;
        unimplemented!()
    }

    /// All active and prepared transactions that have an id, oldest first.
    pub fn active(&self) -> Vec<TrxRef> {
        unimplemented!()
    }

    /// The least id of an active transaction; the next id to be given if there is none.
    #[inline]
    pub fn min_active_id(&self) -> TrxId {
        unimplemented!()
    }

    /// The next id to be given.
    pub fn next_id(&self) -> TrxId {
        unimplemented!()
    }

    /// Whether a transaction's commit sequence number is below `snapshot`; an id that the map has forgotten is.
    #[inline]
    pub fn committed_before(&self, id: TrxId, snapshot: u64) -> bool {
        let _ = (id, snapshot);
        unimplemented!()
    }

    /// A view at least as old as every open one: what no such view needs may be purged. `None` while a session is
    /// just opening a view; ask again.
    pub fn oldest_view(&self) -> Option<ReadView> {
        unimplemented!()
    }
}
