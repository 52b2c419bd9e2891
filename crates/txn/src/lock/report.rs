//! Locks and waits as plain data, for monitors.

use super::page_locks::{Granted, Owner, Request};
use super::table_locks::TableRequest;
use super::{LockMode, LockSys};
use crate::claim::modes::Claim;
use crate::claim::{LockInfo, LockTarget};
use crate::trx_shared::TrxRef;
use std::collections::HashSet;
use vaquita_base::{HeapNo, PageId, TableId};

impl LockInfo {
    fn of_record(
        page: PageId,
        trx: &TrxRef,
        claim: Claim,
        owner: Owner,
        heap: HeapNo,
        waiting: bool,
    ) -> Self {
        let Owner { table, index } = owner;
        let target = LockTarget::Record { table, index, page, heap, kind: claim.kind };
        LockInfo { trx: trx.id(), serial: trx.serial, waiting, mode: claim.mode, target }
    }

    pub(super) fn of_granted(page: PageId, lock: &Granted, heap: HeapNo) -> Self {
        Self::of_record(page, &lock.trx, lock.claim, lock.owner, heap, false)
    }

    pub(super) fn of_request(page: PageId, request: &Request) -> Self {
        Self::of_record(page, &request.trx, request.claim, request.owner, request.heap, true)
    }

    pub(super) fn of_table(table: TableId, trx: &TrxRef, mode: LockMode, waiting: bool) -> Self {
        let target = LockTarget::Table(table);
        LockInfo { trx: trx.id(), serial: trx.serial, waiting, mode, target }
    }

    pub(super) fn of_table_request(table: TableId, request: &TableRequest) -> Self {
        Self::of_table(table, &request.trx, request.mode, true)
    }
}

/// A lock structure: one transaction's locks of one mode and kind on a page, or its lock on a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockRow {
    /// The first of its locks.
    pub lock: LockInfo,
    /// Of a record lock all heap numbers.
    pub heaps: Vec<HeapNo>,
}

/// One transaction waits for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitRow {
    /// The request.
    pub requested: LockInfo,
    /// What it waits for; may be a request itself.
    pub blocking: LockInfo,
}

/// All locks and waits: of each page and table as of one moment, of different ones as of different moments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LockSnapshot {
    /// Table locks by table and transaction, then record locks by page, in the order of the queues.
    pub locks: Vec<LockRow>,
    /// For information_schema.INNODB_LOCK_WAITS: who began last first, and of what he waits for what was asked for last.
    pub waits: Vec<WaitRow>,
}

impl LockSys {
    /// All locks and waits.
    pub fn snapshot(&self) -> LockSnapshot {
        let (mut locks, mut waits) = (Vec::new(), Vec::new());
        let wait_rows = |requested: &LockInfo, blocking: Vec<(TrxRef, LockInfo)>| {
            let row = |(_, blocking)| WaitRow { requested: requested.clone(), blocking };
            blocking.into_iter().map(row).collect::<Vec<_>>()
        };
        self.tables.each(|table, queue| {
            for (trx, modes) in queue.sorted() {
                let rows = modes.iter().map(|mode| LockInfo::of_table(table, trx, mode, false));
                locks.extend(rows.map(|lock| ((0, table.get()), LockRow { lock, heaps: Vec::new() })));
            }
            for (at, request) in queue.waiting.iter().enumerate() {
                let lock = LockInfo::of_table_request(table, request);
                waits.extend(wait_rows(&lock, queue.blocking(table, at)));
                locks.push(((0, table.get()), LockRow { lock, heaps: Vec::new() }));
            }
        });
        self.pages.each(|page, queue| {
            let key = (1, page.as_u64());
            for granted in &queue.granted {
                let heaps: Vec<_> = granted.heaps.iter().collect();
                if let Some(&first) = heaps.first() {
                    locks.push((key, LockRow { lock: LockInfo::of_granted(page, granted, first), heaps }));
                }
            }
            for (at, request) in queue.waiting.iter().enumerate() {
                let lock = LockInfo::of_request(page, request);
                waits.extend(wait_rows(&lock, queue.blocking(page, at)));
                locks.push((key, LockRow { lock, heaps: vec![request.heap] }));
            }
        });
        locks.sort_by_key(|&(key, _)| key);
        waits.reverse();
        waits.sort_by_key(|w: &WaitRow| std::cmp::Reverse(w.requested.shown_trx()));
        LockSnapshot { locks: locks.into_iter().map(|(_, row)| row).collect(), waits }
    }
}

impl LockSnapshot {
    /// The rows of information_schema.INNODB_LOCKS: what somebody waits for, and what keeps him waiting.
    pub fn contended(&self) -> Vec<&LockInfo> {
        let mut seen = HashSet::new();
        self.waits
            .iter()
            .flat_map(|w| [&w.requested, &w.blocking])
            .filter(|lock| seen.insert(lock.id()))
            .collect()
    }
}
