//! What all sessions and services of a folder share.

use crate::dict::Dictionary;
use crate::error::Result;
use crate::hot_set::HotSet;
use crate::mdl::{MdlContext, MdlSys};
use crate::metrics::Metrics;
use crate::notes::Notes;
use crate::options::{Live, Options};
use crate::read_lock::ReadLock;
use crate::session::Session;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use vaquita_format::undo::Xid;
use vaquita_storage::Storage;
use vaquita_txn::undo::History;
use vaquita_txn::{Trx, TrxState, TrxSystem};

/// The shared state of an engine. Row functions take it as their first argument.
#[derive(Debug)]
pub struct Core {
    /// The settings.
    pub options: Options,
    /// Settings that change while the engine runs.
    pub live: Live,
    /// Pages, log, files.
    pub storage: Arc<Storage>,
    /// Ids, undo, views, locks.
    pub txn: Arc<TrxSystem>,
    /// Tables.
    pub dict: Dictionary,
    /// Metadata locks.
    pub mdl: MdlSys,
    /// FLUSH TABLES WITH READ LOCK.
    pub(crate) read_lock: Arc<ReadLock>,
    /// The list of the pages in the pool.
    pub hot_set: HotSet,
    /// What services have to say.
    pub notes: Notes,
    /// Counters.
    pub metrics: Metrics,
    /// Where purge is in the history; held for a whole batch.
    pub(crate) history: Mutex<History>,
    /// Transactions nobody has any more, to be rolled back.
    pub(crate) abandoned: Mutex<VecDeque<Trx>>,
    /// Told when there is something to roll back.
    pub(crate) has_abandoned: Condvar,
    /// Tables under temporary names that a crash left behind, to be dropped.
    pub(crate) leftovers: Mutex<Vec<String>>,
    /// Metadata locks of prepared transactions that have left their sessions.
    pub(crate) prepared: Mutex<Vec<(Xid, MdlContext)>>,
    /// How long each change is delayed for purge to catch up, in microseconds.
    pub(crate) dml_delay_us: AtomicU64,
}

impl Core {
    pub(crate) fn new(
        options: Options,
        storage: Arc<Storage>,
        txn: Arc<TrxSystem>,
        dict: Dictionary,
    ) -> Core {
        Core {
            live: Live::new(&options),
            hot_set: HotSet::new(&options),
            notes: Notes::default(),
            options,
            storage,
            txn,
            dict,
            mdl: MdlSys::default(),
            read_lock: Arc::default(),
            metrics: Metrics::default(),
            history: Mutex::default(),
            abandoned: Mutex::default(),
            has_abandoned: Condvar::new(),
            leftovers: Mutex::default(),
            prepared: Mutex::default(),
            dml_delay_us: AtomicU64::new(0),
        }
    }

    /// A session, for programs that have the engine's shared state and not the engine itself.
    pub fn session(self: &Arc<Self>) -> Session {
        Session::new(self.clone())
    }

    /// Leaves a transaction to the background: its rows stay locked until its changes are taken back.
    pub(crate) fn roll_back_later(&self, trx: Trx) {
        self.abandoned.lock().push_back(trx);
        self.has_abandoned.notify_one();
    }

    /// Rolls back a transaction, if it is still active; in the background if that is impossible now.
    ///
    /// # Errors
    /// Why it was impossible: its locks stay until the background has done it.
    pub(crate) fn take_back(&self, mut trx: Trx) -> Result<()> {
        if trx.state() != TrxState::Active {
            return Ok(());
        }
        let done = crate::row::roll_back(self, &mut trx);
        if done.is_err() {
            self.roll_back_later(trx);
        }
        done
    }

    /// Waits as long as purge wants changes to be delayed (`max_purge_lag`).
    #[inline]
    pub(crate) fn delay_change(&self) {
        let delay = self.dml_delay_us.load(Ordering::Relaxed);
        if delay > 0 {
            self.metrics.dml_delay_us.add(delay);
            self.storage.clock().sleep(Duration::from_micros(delay));
        }
    }
}
