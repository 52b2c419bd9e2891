//! The transaction system: ids, the set of active transactions, commit order, read views.
//!
//! # Life of a transaction
//! 1. [`TrxSystem::start`]: fields of the session's own object, nothing else.
//! 2. Reads: [`TrxSystem::read_view`], at constant cost, writing the session's own place in the list of views.
//! 3. The first change: [`TrxSystem::assign_id`] enters the transaction among the active ones. A transaction that never
//!    changes anything never gets here: it ends without touching anything shared but its locks.
//! 4. [`TrxSystem::commit`]: the undo logs end in one mini-transaction, then the commit is *published* and visible, then
//!    locks are released, then the insert undo is freed.
//!
//! Why views are right, what may be forgotten and when: [`crate::commit_order`], whose proof everything here rests on.
//!
//! # Latching
//! The mutex of the commit order, the shards of the active map and the list of sessions are leaves, each held for a few
//! instructions (the list: for a scan). The mutex of the id store is held over a mini-transaction; who takes it holds
//! no latch.
//!
//! # Crash
//! Memory only, but for the id store. What was active or prepared is found in the undo logs ([`Resurrected`]).

use crate::commit_order::limits::Numbers;
use crate::commit_order::order::Order;
use crate::error::{Error, Result};
use crate::lock::LockSys;
use crate::options::Options;
use crate::read_view::ReadView;
use crate::trx::{AccessMode, Isolation, Trx, TrxRef, TrxShared, TrxState};
use crate::undo::{RollbackSegments, UndoOf};
use crate::views::Registry;
use crate::wait::WaitHook;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use vaquita_base::counter::ShardedCounter;
use vaquita_base::{Lsn, TrxId};
use vaquita_format::undo::Xid;
use vaquita_storage::Storage;
use vaquita_storage::buf::assert_no_page_latched;

mod active;
mod id_store;
mod monitor;
mod prepared;
#[cfg(test)]
mod tests;
mod undo;

pub use crate::views::TrxHandle;
pub use monitor::{TrxInfo, TrxMetrics};

use active::ActiveMap;
use prepared::Prepared;

/// Entries of the ring from ids to commit sequence numbers: a megabyte.
const RING: usize = 1 << 16;

/// Everything that the transactions of a folder share.
#[derive(Debug)]
pub struct TrxSystem {
    pub(crate) storage: Arc<Storage>,
    pub(crate) options: Options,
    pub(crate) locks: Arc<LockSys>,
    pub(crate) rsegs: RollbackSegments,
    /// Those of temporary tables, once there has been one.
    temporary: OnceLock<RollbackSegments>,
    making_temporary: Mutex<()>,
    order: Order,
    active: ActiveMap,
    sessions: Arc<Registry>,
    prepared: Prepared,
    /// Held while the id store is raised.
    id_store: Mutex<()>,
    id_store_raises: AtomicU64,
    serials: AtomicU64,
    hook: Arc<dyn WaitHook>,
    commits: ShardedCounter,
    rollbacks: ShardedCounter,
    unreleased: AtomicU64,
}

/// A transaction that a crash left behind.
#[derive(Debug)]
pub struct Resurrected {
    /// The transaction: active, to be rolled back; or prepared, to be handed to [`TrxSystem::detach_prepared`]. It
    /// holds no locks yet.
    pub trx: Trx,
    /// Its XID, if it is prepared.
    pub xid: Option<Xid>,
    /// Whether it changes the dictionary: to be rolled back before any table is opened.
    pub dict_operation: bool,
}

impl TrxSystem {
    /// The storage below.
    #[inline]
    pub fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// The settings.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// How many rollback segments new transactions take (`rollback_segments`, `undo_logs`): at most as many as it was opened
    /// with.
    pub fn set_rollback_segments(&self, segments: usize) {
        self.rsegs.set_in_use(segments);
    }

    /// The lock manager.
    #[inline]
    pub fn locks(&self) -> &Arc<LockSys> {
        &self.locks
    }

    fn new_shared(&self) -> TrxRef {
        // Relaxed: only unique.
        Arc::new(TrxShared::new(self.serials.fetch_add(1, Ordering::Relaxed)))
    }

    /// A transaction object for a session, not started. Dropping it gives its place back; it must not be active then:
    /// an active one stays among the active ones for ever, as if its session hung.
    pub fn new_trx(&self) -> Trx {
        let shared = self.new_shared();
        let place = self.sessions.enter(Arc::clone(&shared));
        Trx::new(shared, place, Arc::clone(&self.hook))
    }

    /// Starts a transaction. Touches nothing shared.
    ///
    /// # Panics
    /// If it is active.
    #[inline]
    pub fn start(&self, trx: &mut Trx, isolation: Isolation, access: AccessMode) {
        assert_eq!(trx.state(), TrxState::NotStarted, "a transaction is started once");
        debug_assert!(trx.view.is_none(), "the view of the transaction before is open: {:?}", trx.view);
        debug_assert_eq!(trx.undo_no(), 0, "undo records of the transaction before are there");
        debug_assert_eq!(trx.shared.locks.lock_structs(), 0, "locks of the transaction before are there");
        trx.isolation = isolation;
        trx.access = access;
        let shared = &trx.shared;
        shared.isolation.store(isolation as u8, Ordering::Relaxed);
        shared.read_only.store(access == AccessMode::ReadOnly, Ordering::Relaxed);
        shared.started_us.store(self.storage.clock().now_us(), Ordering::Relaxed);
        shared.locks.set_relaxed_gaps(isolation <= Isolation::ReadCommitted);
        shared.set_state(TrxState::Active);
    }

    /// The transaction's read view; opened if there is none.
    ///
    /// The copy given does not know of an id that the transaction gets later, and would not see its changes:
    /// [`Trx::view`] does.
    ///
    /// # Cost
    /// Constant: a few loads, and stores into the session's own place.
    #[inline]
    pub fn read_view(&self, trx: &mut Trx) -> ReadView {
        if let Some(view) = trx.view {
            return view;
        }
        debug_assert_eq!(
            trx.state(),
            TrxState::Active,
            "a view is of a transaction that runs, and ends with it"
        );
        let numbers = self.order.open_view(&trx.place.numbers);
        *trx.view.insert(view_of(trx.shared.id(), numbers))
    }

    /// Closes the read view: at the end of each statement in READ COMMITTED, of a transaction otherwise.
    #[inline]
    pub fn close_view(&self, trx: &mut Trx) {
        if trx.view.take().is_some() {
            trx.place.numbers.close();
        }
    }

    /// Gives the transaction an id and a rollback segment, if it has none.
    ///
    /// # Errors
    /// [`crate::Error::ReadOnly`]; errors of writing the id store.
    ///
    /// # Latching
    /// The caller holds no latch.
    pub fn assign_id(&self, trx: &mut Trx) -> Result<TrxId> {
        self.assign_id_for(trx, UndoOf::Tables)
    }

    /// The same; a transaction that only reads may change temporary tables.
    ///
    /// # Errors
    /// As [`TrxSystem::assign_id`].
    ///
    /// # Latching
    /// As there.
    pub fn assign_id_for(&self, trx: &mut Trx, of: UndoOf) -> Result<TrxId> {
        let known = trx.id();
        if known != TrxId(0) {
            return Ok(known);
        }
        assert_eq!(trx.state(), TrxState::Active, "a transaction that has not begun has no id");
        assert_no_page_latched("a transaction gets its id");
        let refused = trx.access == AccessMode::ReadOnly && of == UndoOf::Tables;
        if refused || self.storage.options().read_only {
            return Err(Error::ReadOnly);
        }
        let id = loop {
            match self.order.begin() {
                Some(id) => break id,
                None => self.raise_id_store()?,
            }
        };
        trx.shared.id.store(id.0, Ordering::Release);
        self.active.insert(id, Arc::clone(&trx.shared));
        if let Some(view) = &mut trx.view {
            view.creator = id;
        }
        Ok(id)
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
    ///
    /// # Latching
    /// The caller holds no latch.
    pub fn commit(&self, trx: &mut Trx) -> Result<Option<Lsn>> {
        let changed = trx.id() != TrxId(0);
        let lsn = self.finish(trx)?;
        if changed {
            self.commits.add(1);
        }
        Ok(lsn)
    }

    /// Ends a transaction whose changes have all been taken back. The LSN to be durable for that to last.
    ///
    /// # Errors
    /// As [`TrxSystem::commit`].
    pub fn finish_rollback(&self, trx: &mut Trx) -> Result<Option<Lsn>> {
        debug_assert!(
            trx.undo.is_taken_back() && trx.temporary.is_taken_back(),
            "changes are left that were not taken back: {:?}, {:?}",
            trx.undo,
            trx.temporary
        );
        let lsn = self.finish(trx)?;
        self.rollbacks.add(1);
        Ok(lsn)
    }

    fn finish(&self, trx: &mut Trx) -> Result<Option<Lsn>> {
        match trx.state() {
            TrxState::Active | TrxState::Prepared => {}
            state => panic!("a transaction that is {state:?} cannot end"),
        }
        assert_no_page_latched("a transaction ends");
        let changed = trx.id() != TrxId(0);
        let mut lsn = None;
        if !changed {
            debug_assert_eq!(trx.undo_no(), 0, "who has no id has changed nothing");
            let ended = &trx.place.read_only;
            ended.store(ended.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            trx.shared.set_state(TrxState::Committed);
        } else {
            lsn = self.end_undo_and_publish(trx)?;
        }
        self.locks.release_all(&trx.shared);
        // The transaction has ended whatever comes of this: what could not be freed now is freed at the next opening.
        if changed && self.release_undo(trx).is_err() {
            self.unreleased.fetch_add(1, Ordering::Relaxed);
        }
        self.close_view(trx);
        if trx.xid.take().is_some() {
            self.prepared.leave(trx.shared.serial());
        }
        self.renew(trx);
        Ok(lsn)
    }

    /// The steps in their order: the log has the end of the undo logs, then others see the commit.
    fn end_undo_and_publish(&self, trx: &mut Trx) -> Result<Option<Lsn>> {
        let id = trx.id();
        let mut number = None;
        let ended = self.commit_undo(trx, || *number.insert(self.order.draw_number()));
        if ended.is_err()
            && let Some(number) = number
        {
            self.order.withdraw_number(number);
        }
        let lsn = ended?;
        let shared = &trx.shared;
        let forget = self.order.publish(id, number, || shared.set_state(TrxState::Committed));
        self.active.remove(id);
        if forget {
            self.forget_commits();
        }
        Ok(lsn)
    }

    /// Drops from the map of commits what no view needs any more. Done by itself every few hundred commits.
    pub fn forget_commits(&self) {
        self.order.forget(|see| self.sessions.for_each(see));
    }

    /// Makes the object ready for the session's next transaction. One that others still hold, because they met its id
    /// a moment ago, is left to them: they find it committed, not running again.
    fn renew(&self, trx: &mut Trx) {
        trx.dict_operation = false;
        trx.unchanged = 0;
        trx.companion = None;
        // Mine and the session list's.
        if Arc::strong_count(&trx.shared) > 2 {
            let mut current = trx.place.trx.lock();
            let fresh = self.new_shared();
            fresh.tag.store(trx.shared.tag.load(Ordering::Relaxed), Ordering::Relaxed);
            fresh.interrupted.store(trx.shared.is_interrupted(), Ordering::SeqCst);
            *current = Arc::clone(&fresh);
            drop(current);
            trx.shared = fresh;
        } else {
            trx.shared.reset();
        }
    }

    /// Prepares: from here on only its XID decides, also after a crash. The LSN to be durable. Locks stay; in READ
    /// COMMITTED those on gaps, which were for checks of duplicates, go.
    ///
    /// # Errors
    /// Errors of writing undo pages.
    pub fn prepare(&self, trx: &mut Trx, xid: Xid) -> Result<Option<Lsn>> {
        assert_eq!(trx.state(), TrxState::Active, "only an active transaction is prepared");
        let lsn = self.prepare_undo(trx, &xid)?;
        trx.xid = Some(xid);
        self.prepared.enter(xid, trx.shared.serial());
        trx.shared.set_state(TrxState::Prepared);
        if trx.isolation <= Isolation::ReadCommitted {
            self.locks.release_gaps(&trx.shared);
        }
        Ok(lsn)
    }

    /// Takes a prepared transaction from its session and keeps it until somebody asks for it by its XID. Its view is
    /// closed, its locks stay.
    ///
    /// # Panics
    /// If it is not prepared.
    pub fn detach_prepared(&self, mut trx: Trx) {
        let state = trx.state();
        assert_eq!(state, TrxState::Prepared, "what waits for its XID is prepared");
        self.close_view(&mut trx);
        self.prepared.detach(trx);
    }

    /// The detached transaction of that XID, to commit it or roll it back.
    pub fn take_prepared(&self, xid: &Xid) -> Option<Trx> {
        self.prepared.take(xid)
    }

    /// The XIDs of all prepared transactions (XA RECOVER), in the order in which they were prepared.
    pub fn prepared_xids(&self) -> Vec<Xid> {
        self.prepared.xids()
    }

    /// Whether the transaction is active or prepared.
    #[inline]
    pub fn is_active(&self, id: TrxId) -> bool {
        self.order.is_active(id)
    }

    /// The active or prepared transaction of that id.
    #[inline]
    pub fn find_active(&self, id: TrxId) -> Option<TrxRef> {
        if self.is_active(id) { self.active.get(id) } else { None }
    }

    /// All active and prepared transactions that have an id, oldest first.
    pub fn active(&self) -> Vec<TrxRef> {
        self.active.all()
    }

    /// Transactions with an id below are not active: the least active id, if there is one.
    #[inline]
    pub fn min_active_id(&self) -> TrxId {
        self.order.min_active()
    }

    /// The next id to be given.
    pub fn next_id(&self) -> TrxId {
        self.order.next()
    }

    /// Whether a transaction's commit sequence number is below `snapshot`; an id that the map has forgotten is.
    #[inline]
    pub fn committed_before(&self, id: TrxId, snapshot: u64) -> bool {
        self.order.committed_before(id, snapshot)
    }

    /// A view at least as old as every one that is open or will be: what it sees, and undo logs below its
    /// `low_limit_no`, may be purged. Its numbers never go back.
    ///
    /// # Cost
    /// A look at each session.
    pub fn oldest_view(&self) -> ReadView {
        let numbers = self.order.oldest_view(|see| self.sessions.for_each(see));
        view_of(TrxId(0), numbers)
    }

    /// Whether a transaction has committed and every view, open or to come, sees it: nobody needs the versions that it
    /// replaced. True of every transaction whose undo log may have been purged.
    pub fn is_seen_by_all(&self, id: TrxId) -> bool {
        view_of(TrxId(0), self.order.last_oldest_view()).sees(self, id) || self.oldest_view().sees(self, id)
    }
}

fn view_of(creator: TrxId, numbers: Numbers) -> ReadView {
    ReadView {
        creator,
        up_limit: TrxId(numbers.up_limit),
        low_limit: TrxId(numbers.low_limit),
        snapshot: numbers.snapshot,
        low_limit_no: TrxId(numbers.low_limit_no),
    }
}

impl ReadView {
    /// Whether changes of the transaction `id` are seen.
    #[inline]
    pub fn sees(&self, sys: &TrxSystem, id: TrxId) -> bool {
        if id < self.up_limit || id == self.creator {
            return true;
        }
        if id >= self.low_limit {
            return false;
        }
        sys.committed_before(id, self.snapshot)
    }
}
