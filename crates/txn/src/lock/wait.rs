//! Waiting for a lock, and the ways a wait ends.
//!
//! | how | who takes the request out of the queue |
//! |---|---|
//! | granted | who gave the last lock in the way back |
//! | the record moved into another gap, was removed, its table dropped | who did that |
//! | victim of a deadlock | who found it |
//! | timeout, interruption | the waiter |
//!
//! All of them do it under the mutex of the queue and tell the slot under it (`slot`), and look at the requests behind.

use super::page_locks::same;
use super::{LockOutcome, LockSys};
use crate::claim::Place;
use crate::claim::slot::Blocked;
use crate::claim::trx_locks::Outcome;
use crate::error::{Error, Result};
use crate::trx::TrxRef;
use crate::wait::{WaitFor, WaitHook};
use std::sync::atomic::Ordering;
use std::time::Duration;
use vaquita_storage::buf::assert_no_page_latched;

/// Lets those go on whose wait is over.
fn nudge(ended: &[TrxRef]) {
    ended.iter().for_each(|trx| trx.locks.slot.nudge());
}

impl LockSys {
    /// Waits for the outcome of the transaction's request; whether it really had to, and was not granted what it asked for
    /// when a cycle was broken.
    pub(crate) fn wait_for(&self, trx: &TrxRef, timeout_us: u64, hook: &dyn WaitHook) -> Result<bool> {
        assert_no_page_latched("a wait for a lock");
        let waited = if self.deadlock_detect.load(Ordering::Relaxed) {
            let mut ended = Vec::new();
            let waits = self.break_cycles(trx, &mut ended);
            nudge(&ended);
            waits
        } else {
            trx.locks.is_waiting()
        };
        let slot = &trx.locks.slot;
        if let Some(wait) = slot.view() {
            let deadline = wait.since_us.saturating_add(timeout_us);
            let left = || Duration::from_micros(deadline.saturating_sub(self.clock.now_us()));
            let stop = || trx.is_interrupted();
            let sleeps = !left().is_zero() && !stop();
            if sleeps {
                hook.before(WaitFor::Lock);
            }
            let blocked = slot.block(left, stop);
            if sleeps {
                hook.after(WaitFor::Lock);
            }
            match blocked {
                Blocked::Ended => {}
                Blocked::TimedOut => self.cancel_now(trx, Outcome::TimedOut),
                Blocked::Stopped => self.cancel_now(trx, Outcome::Interrupted),
            }
        }
        let Some((outcome, since_us)) = slot.finish() else { return Ok(waited) };
        self.counters.end_wait(self.clock.now_us().saturating_sub(since_us));
        match outcome {
            Outcome::Granted(Place::Record(page, heap)) => {
                trx.locks.note_fresh(page, heap);
                Ok(waited)
            }
            Outcome::Granted(Place::Table(_)) | Outcome::SentBack => Ok(waited),
            Outcome::TimedOut => {
                self.counters.timeouts.fetch_add(1, Ordering::Relaxed);
                Err(Error::LockWaitTimeout)
            }
            Outcome::Interrupted => Err(Error::Interrupted),
            Outcome::Victim(report) => Err(Error::Deadlock(report)),
        }
    }

    /// Looks for cycles that a queued request closes, and takes it back.
    pub(super) fn withdraw(&self, trx: &TrxRef) -> Result<LockOutcome> {
        let mut ended = Vec::new();
        self.break_cycles(trx, &mut ended);
        self.cancel(trx, Outcome::SentBack, &mut ended);
        nudge(&ended);
        self.counters.forget_wait();
        match trx.locks.slot.finish() {
            // Nobody but the victim was in the way: as if there had been nobody.
            Some((Outcome::Granted(_), _)) => Ok(LockOutcome::Granted(true)),
            Some((Outcome::Victim(report), _)) => Err(Error::Deadlock(report)),
            _ => Ok(LockOutcome::Skipped),
        }
    }

    /// Ends a transaction's wait, unless it ended meanwhile. Those whose wait is over by that, itself among them, sleep until
    /// they are nudged; they are added to `ended`.
    pub(super) fn cancel(&self, trx: &TrxRef, outcome: Outcome, ended: &mut Vec<TrxRef>) {
        let mut tell = |other: &TrxRef, outcome| {
            other.locks.slot.end_quietly(outcome);
            ended.push(other.clone());
        };
        while let Some(wait) = trx.locks.slot.view() {
            match wait.place {
                Place::Record(page, _) => {
                    let mut shard = self.pages.lock(page);
                    // The request may have moved before the mutex was taken. Under it, it stays.
                    let found =
                        shard.get_mut(page).and_then(|l| l.waiting.iter().position(|r| same(&r.trx, trx)));
                    if let Some(at) = found {
                        shard.edit(&self.pages, page, |locks| {
                            let heap = locks.take_request(at).heap;
                            tell(trx, outcome);
                            locks.settle_and_tell(page, Some(heap), &mut tell);
                        });
                        return;
                    }
                }
                Place::Table(table) => {
                    let mut shard = self.tables.lock(table);
                    let Some(locks) = shard.get_mut(&table) else { continue };
                    if let Some(at) = locks.waiting.iter().position(|r| same(&r.trx, trx)) {
                        locks.take_request(at);
                        tell(trx, outcome);
                        locks.settle_and_tell(table, &mut tell);
                        return;
                    }
                }
            }
        }
    }

    /// As [`LockSys::cancel`]; those whose wait is over go on.
    pub(super) fn cancel_now(&self, trx: &TrxRef, outcome: Outcome) {
        let mut ended = Vec::new();
        self.cancel(trx, outcome, &mut ended);
        nudge(&ended);
    }

    /// Wakes waiters whose time is up by the clock. For clocks that do not run by themselves: waiters on a running clock
    /// notice by themselves.
    pub fn expire_waits(&self) {
        self.pages.each(|_, locks| locks.waiting.iter().for_each(|r| r.trx.locks.slot.nudge()));
        self.tables.each(|_, locks| locks.waiting.iter().for_each(|r| r.trx.locks.slot.nudge()));
    }
}
