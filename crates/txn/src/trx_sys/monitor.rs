//! What monitors see: counters, and one line for each transaction.

use super::TrxSystem;
use crate::claim::shown_id;
use crate::trx::{Isolation, TrxShared, TrxState};
use std::sync::atomic::Ordering;
use vaquita_base::TrxId;

/// Counters of a transaction system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrxMetrics {
    /// Commits of transactions that had an id.
    pub commits: u64,
    /// Transactions that were rolled back entirely.
    pub rollbacks: u64,
    /// Transactions that ended without an id.
    pub read_only: u64,
    /// Transactions with an id that are active or prepared.
    pub active: usize,
    /// Transaction objects: sessions, and transactions that belong to none.
    pub sessions: usize,
    /// Read views that are open.
    pub open_views: usize,
    /// Read views opened so far.
    pub views_opened: u64,
    /// Commits whose sequence number has been forgotten.
    pub forgotten: u64,
    /// Commits whose sequence number is kept for a view that is open.
    pub retained: usize,
    /// Ids that found no place in the ring of commit sequence numbers.
    pub beside: usize,
    /// Times the id store was raised.
    pub id_store_raises: u64,
    /// Undo logs that could not be freed after their transaction had committed; a restart frees them.
    pub unreleased: u64,
}

/// A transaction, as a monitor shows it (INNODB_TRX).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrxInfo {
    /// Its id; 0 while it has changed nothing.
    pub id: TrxId,
    /// Number of the object.
    pub serial: u64,
    /// Where it is in its life.
    pub state: TrxState,
    /// Whether all of it is being taken back.
    pub rolling_back: bool,
    /// Its isolation level.
    pub isolation: Isolation,
    /// Whether it was started read-only.
    pub read_only: bool,
    /// Whether it is one statement's, and ends with it ([`crate::Trx::set_single_statement`]).
    pub single_statement: bool,
    /// Whether its read view is open.
    pub has_view: bool,
    /// When it started, by the storage's clock.
    pub started_us: u64,
    /// Undo records written.
    pub undo_records: u64,
    /// Tables locked.
    pub tables_locked: usize,
    /// Records locked.
    pub records_locked: usize,
    /// Lock structures.
    pub lock_structs: usize,
    /// Since when it waits for a lock, by the storage's clock.
    pub waiting_since_us: Option<u64>,
    /// What the session put on it ([`crate::Trx::set_tag`]).
    pub tag: u64,
}

impl TrxInfo {
    fn of(trx: &TrxShared, has_view: bool) -> TrxInfo {
        TrxInfo {
            id: trx.id(),
            serial: trx.serial(),
            state: trx.state(),
            rolling_back: trx.rolling_back.load(Ordering::Relaxed),
            isolation: Isolation::from_u8(trx.isolation.load(Ordering::Relaxed)),
            read_only: trx.read_only.load(Ordering::Relaxed),
            single_statement: trx.single_statement.load(Ordering::Relaxed),
            has_view,
            started_us: trx.started_us.load(Ordering::Relaxed),
            undo_records: trx.undo_records(),
            tables_locked: trx.locks.tables_locked(),
            records_locked: trx.locks.record_locks(),
            lock_structs: trx.locks.lock_structs(),
            waiting_since_us: trx.locks.waiting_since_us(),
            tag: trx.tag.load(Ordering::Relaxed),
        }
    }

    /// The number that tables of monitors show for it.
    pub fn shown_id(&self) -> u64 {
        shown_id(self.id, self.serial)
    }

    /// Whether it has seen, locked or changed anything yet, as far as it keeps that up: under READ COMMITTED a view ends with
    /// its statement.
    pub fn has_begun(&self) -> bool {
        self.id != TrxId(0) || self.has_view || self.lock_structs > 0
    }
}

impl TrxInfo {
    /// Whether it only reads, without locks, and ends with its statement.
    pub fn is_lone_read(&self) -> bool {
        self.single_statement && self.id == TrxId(0) && self.lock_structs == 0
    }
}

impl TrxSystem {
    /// All transactions that have started and not ended, those without an id too, by the time of their start. Each
    /// line is of a moment, the list is not of one moment.
    pub fn describe(&self) -> Vec<TrxInfo> {
        let all = self.sessions.transactions();
        let mut infos: Vec<TrxInfo> = all.iter().map(|(trx, has_view)| TrxInfo::of(trx, *has_view)).collect();
        infos.retain(|info| info.state != TrxState::NotStarted);
        infos.sort_by_key(|info| (info.started_us, info.serial));
        infos
    }

    /// The counters.
    pub fn metrics(&self) -> TrxMetrics {
        let (sessions, open_views, views_opened, read_only) = self.sessions.stats();
        let (forgotten, retained, beside) = self.order.forgetting_stats();
        TrxMetrics {
            commits: self.commits.get(),
            rollbacks: self.rollbacks.get(),
            read_only,
            active: self.order.n_active(),
            sessions,
            open_views,
            views_opened,
            forgotten,
            retained,
            beside,
            id_store_raises: self.id_store_raises.load(Ordering::Relaxed),
            unreleased: self.unreleased.load(Ordering::Relaxed),
        }
    }
}
