//! Opening: where ids go on after a restart, and the store on the TRX_SYS page that says so.

use super::{ActiveMap, Order, Prepared, RING, Registry, Resurrected, TrxSystem};
use crate::error::Result;
use crate::lock::LockSys;
use crate::options::Options;
use crate::trx::{AccessMode, Isolation, TrxState};
use crate::undo::{FoundTrx, RollbackSegments};
use crate::wait::PlainWait;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use vaquita_base::counter::ShardedCounter;
use vaquita_base::{PageId, SpaceId, TrxId};
use vaquita_format::undo::{XID_DATA_MAX, Xid};
use vaquita_format::{Corruption, trx_sys};
use vaquita_storage::{ForceRecovery, Storage};

const PAGE: PageId = PageId::new(SpaceId::SYSTEM, trx_sys::PAGE);
/// Ids have six bytes. A store beyond half of what they can hold was not written by counting.
const ID_STORE_MAX: u64 = 1 << 47;

impl TrxSystem {
    /// Opens the transaction system of a folder: reads the id store and the rollback segments, brings back the
    /// transactions that were unfinished, creates rollback segments that are missing.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn open(storage: Arc<Storage>, options: Options) -> Result<(Arc<TrxSystem>, Vec<Resurrected>)> {
        let stored = if options.scan_undo { read_id_store(&storage)? } else { TrxId(0) };
        let (rsegs, found) = RollbackSegments::open(&storage, &options)?;
        // The store is ahead of every id that was given, unless the folder was damaged or put together by hand.
        let next = trx_sys::next_trx_id(stored).max(TrxId(rsegs.greatest_id().0.saturating_add(1)));
        let system = Arc::new(TrxSystem {
            locks: LockSys::new(&options, storage.clock().clone()),
            order: Order::new(next, TrxId(stored.0 + trx_sys::TRX_ID_MARGIN), RING),
            active: ActiveMap::new(),
            sessions: Arc::new(Registry::default()),
            prepared: Prepared::default(),
            id_store: Mutex::new(()),
            id_store_raises: AtomicU64::new(0),
            serials: AtomicU64::new(1),
            hook: Arc::new(PlainWait),
            commits: ShardedCounter::new(),
            rollbacks: ShardedCounter::new(),
            unreleased: AtomicU64::new(0),
            storage,
            options,
            rsegs,
            temporary: OnceLock::new(),
            making_temporary: Mutex::new(()),
        });
        let found: Vec<_> = found.into_iter().map(|found| system.resurrect(found)).collect();
        // They have their ids already, but each may still draw a number.
        let options = system.storage.options();
        if !found.is_empty() && !options.read_only && options.force_recovery < ForceRecovery::NO_TRX_UNDO {
            system.raise_id_store()?;
        }
        Ok((system, found))
    }

    /// A transaction as it was before the crash, without its locks.
    fn resurrect(&self, found: FoundTrx) -> Resurrected {
        let mut trx = self.new_trx();
        self.start(&mut trx, Isolation::default(), AccessMode::ReadWrite);
        trx.undo = found.undo;
        trx.dict_operation = found.dict_operation;
        trx.shared.undo_records.store(trx.undo.next_no(), Ordering::Relaxed);
        trx.shared.id.store(found.id.0, Ordering::Release);
        self.order.resurrect(found.id);
        self.active.insert(found.id, Arc::clone(&trx.shared));
        if found.prepared {
            // Without an XID it was prepared by a server's own two-phase commit; there it counts as null.
            let null = Xid { format: u32::MAX, gtrid_len: 0, bqual_len: 0, data: [0; XID_DATA_MAX] };
            let xid = found.xid.unwrap_or(null);
            trx.xid = Some(xid);
            self.prepared.enter(xid, trx.shared.serial());
            trx.shared.set_state(TrxState::Prepared);
        }
        Resurrected { xid: trx.xid, dict_operation: trx.dict_operation, trx }
    }

    /// Raises the store so that the next id may be given.
    #[cold]
    pub(super) fn raise_id_store(&self) -> Result<()> {
        let _one = self.id_store.lock();
        let Some(store) = self.order.id_store_wanted() else { return Ok(()) };
        let mut mtr = self.storage.begin()?;
        let page = mtr.get_exclusive(PAGE)?;
        mtr.write_u64(page, trx_sys::TRX_ID_STORE, store.0);
        mtr.commit();
        self.order.id_store_raised(store);
        self.id_store_raises.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn read_id_store(storage: &Storage) -> Result<TrxId> {
    let page = storage.pool().get_shared(PAGE)?;
    let stored = trx_sys::trx_id_store(&page);
    if stored.0 > ID_STORE_MAX {
        let detail = format!("{stored} is no bound of transaction ids");
        let damage = Corruption::new("transaction id store", detail).at(trx_sys::TRX_ID_STORE);
        return Err(vaquita_storage::Error::structure(PAGE, damage).into());
    }
    Ok(stored)
}
