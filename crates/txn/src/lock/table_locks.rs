//! The locks of one table: those granted, and the requests that wait.
//!
//! Thousands of transactions hold intention locks on a table at once, so granted locks are counted by mode and looked up
//! by transaction; a request looks at the counts and at the queue only.
//!
//! # Invariants
//! - A1: of two transactions' granted modes all are compatible.
//! - A2: a request waits only while a granted mode, or a request before it, is incompatible with it.
//! - A3: `counts` are those of `granted`.

use super::LockMode;
use super::page_locks::same;
use crate::claim::Place;
use crate::claim::modes::ModeSet;
use crate::claim::trx_locks::Outcome;
use crate::trx::TrxRef;
use foldhash::fast::FixedState;
use std::collections::HashMap;
use vaquita_base::TableId;

/// A request in the queue.
#[derive(Debug)]
pub(super) struct TableRequest {
    pub(super) trx: TrxRef,
    pub(super) mode: LockMode,
}

/// The locks of one table.
#[derive(Debug, Default)]
pub(super) struct TableLocks {
    /// By number of the transaction object.
    pub(super) granted: HashMap<u64, (TrxRef, ModeSet), FixedState>,
    counts: [u32; LockMode::COUNT],
    /// In order of arrival.
    pub(super) waiting: Vec<TableRequest>,
}

impl TableLocks {
    pub(super) fn structs(&self) -> usize {
        self.counts.iter().sum::<u32>() as usize + self.waiting.len()
    }

    pub(super) fn modes_of(&self, trx: &TrxRef) -> ModeSet {
        self.granted.get(&trx.serial).map_or(ModeSet::default(), |(_, modes)| *modes)
    }

    /// Whether a mode is granted under which rows are changed.
    pub(super) fn is_being_changed(&self) -> bool {
        [LockMode::IntentionExclusive, LockMode::Exclusive].into_iter().any(|m| self.counts[m as usize] > 0)
    }

    /// Whether a request, with `ahead` others before it, has to wait.
    pub(super) fn is_blocked(&self, trx: &TrxRef, mode: LockMode, ahead: usize) -> bool {
        let own = self.modes_of(trx);
        let by_lock = LockMode::ALL
            .into_iter()
            .any(|m| !mode.is_compatible(m) && self.counts[m as usize] > u32::from(own.has(m)));
        by_lock || self.waiting[..ahead].iter().any(|r| !same(&r.trx, trx) && !mode.is_compatible(r.mode))
    }

    /// Adds a mode.
    pub(super) fn grant(&mut self, table: TableId, trx: &TrxRef, mode: LockMode) {
        let modes =
            &mut self.granted.entry(trx.serial).or_insert_with(|| (trx.clone(), ModeSet::default())).1;
        if !modes.has(mode) {
            modes.add(mode);
            self.counts[mode as usize] += 1;
            trx.locks.add_struct();
            trx.locks.note_table(table, mode);
        }
    }

    /// Takes a mode away. The transaction's list is not touched.
    pub(super) fn revoke(&mut self, trx: &TrxRef, mode: LockMode) {
        let Some((_, modes)) = self.granted.get_mut(&trx.serial) else { return };
        if modes.has(mode) {
            modes.remove(mode);
            self.counts[mode as usize] -= 1;
            trx.locks.sub_struct();
            if modes.is_empty() {
                self.granted.remove(&trx.serial);
            }
        }
    }

    /// Queues a request.
    pub(super) fn enqueue(&mut self, table: TableId, trx: &TrxRef, mode: LockMode, now_us: u64) {
        trx.locks.add_struct();
        trx.locks.slot.begin(Place::Table(table), now_us);
        self.waiting.push(TableRequest { trx: trx.clone(), mode });
    }

    /// Takes a request out of the queue, whose transaction is to be told.
    pub(super) fn take_request(&mut self, at: usize) -> TableRequest {
        let request = self.waiting.remove(at);
        request.trx.locks.sub_struct();
        request
    }

    /// Takes a request out of the queue and tells its transaction.
    fn end_request(&mut self, at: usize, outcome: Outcome) {
        self.take_request(at).trx.locks.slot.end(outcome);
    }

    /// Grants what has no reason to wait any more, in order of arrival.
    pub(super) fn settle(&mut self, table: TableId) {
        self.settle_and_tell(table, &mut |trx, outcome| trx.locks.slot.end(outcome));
    }

    /// As [`TableLocks::settle`]; `tell` tells a transaction.
    pub(super) fn settle_and_tell(&mut self, table: TableId, tell: &mut dyn FnMut(&TrxRef, Outcome)) {
        let mut at = 0;
        while at < self.waiting.len() {
            let TableRequest { trx, mode } = &self.waiting[at];
            if self.is_blocked(trx, *mode, at) {
                at += 1;
                continue;
            }
            let TableRequest { trx, mode } = self.take_request(at);
            self.grant(table, &trx, mode);
            tell(&trx, Outcome::Granted(Place::Table(table)));
        }
    }

    /// Drops everything; who waits is sent back to find that the table is gone.
    pub(super) fn forget(&mut self, table: TableId) {
        for (trx, modes) in self.granted.values() {
            for mode in modes.iter() {
                trx.locks.forget_table_mode(table, mode);
                trx.locks.sub_struct();
            }
        }
        self.granted.clear();
        self.counts = [0; LockMode::COUNT];
        while !self.waiting.is_empty() {
            self.end_request(0, Outcome::SentBack);
        }
    }

    /// Granted locks in the order of their transactions' numbers.
    pub(super) fn sorted(&self) -> Vec<(&TrxRef, ModeSet)> {
        let mut all: Vec<_> = self.granted.values().map(|(trx, modes)| (trx, *modes)).collect();
        all.sort_by_key(|(trx, _)| trx.serial);
        all
    }

    /// Checks the invariants.
    ///
    /// # Panics
    /// If one does not hold.
    pub(super) fn validate(&self, table: TableId) {
        let all = self.sorted();
        for (i, (trx, modes)) in all.iter().enumerate() {
            for (_, others) in &all[..i] {
                for mode in modes.iter() {
                    assert!(others.iter().all(|m| m.is_compatible(mode)), "A1: {table} {mode:?}");
                }
            }
            assert_eq!(trx.locks.modes_of(table), *modes);
        }
        for (at, request) in self.waiting.iter().enumerate() {
            assert!(self.is_blocked(&request.trx, request.mode, at), "A2: {table} {:?}", request.mode);
            let place = request.trx.locks.slot.view().map(|wait| wait.place);
            assert_eq!(place, Some(Place::Table(table)), "S1");
        }
        for mode in LockMode::ALL {
            let n = all.iter().filter(|(_, modes)| modes.has(mode)).count();
            assert_eq!(self.counts[mode as usize] as usize, n, "A3: {table} {mode:?}");
        }
    }
}
