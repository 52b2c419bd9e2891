//! Threads that lock at random, with counters that show whether anybody got in beside somebody else.

use super::*;
use crate::Error;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::thread;
use vaquita_base::Rng;

const THREADS: usize = 8;
const RECORDS: usize = 24;

/// Shadow of one record: -1 while somebody has it in X mode, else how many have it in S mode; and how often it was
/// changed, added up by those who had it in X mode without atomic operations' help.
#[derive(Default)]
struct Shadow {
    holders: AtomicI64,
    changes: AtomicU64,
}

struct Worker<'b> {
    bed: &'b Bed,
    shadows: &'b [Shadow],
    trx: TrxRef,
    rng: Rng,
    /// Held now: record, mode.
    held: Vec<(usize, LockMode)>,
    changed: u64,
    deadlocks: u64,
}

impl Worker<'_> {
    /// Four records on each page.
    fn rec(n: usize) -> RecordId {
        rec_on(n as u32 / 4, 2 + n as u16 % 4)
    }

    /// Locks a record; whether it was not chosen as a victim.
    fn lock(&mut self, n: usize, mode: LockMode) -> bool {
        let rec = Self::rec(n);
        loop {
            match self.bed.ask(&self.trx, rec, mode, Record) {
                LockOutcome::MustWait => match self.bed.wait(&self.trx) {
                    Ok(()) => continue,
                    Err(Error::Deadlock(_)) => return false,
                    Err(e) => panic!("{e}"),
                },
                LockOutcome::Granted(is_new) => {
                    assert_eq!(is_new, !self.holds(n, mode));
                    if is_new {
                        self.enter(n, mode);
                    }
                    return true;
                }
                LockOutcome::Skipped => unreachable!(),
            }
        }
    }

    fn holds(&self, n: usize, mode: LockMode) -> bool {
        self.held.iter().any(|&(m, held)| m == n && held.covers(mode))
    }

    fn enter(&mut self, n: usize, mode: LockMode) {
        let shadow = &self.shadows[n].holders;
        let was_reader = self.held.iter().any(|&(m, _)| m == n);
        match (mode, was_reader) {
            (X, true) => assert_eq!(shadow.swap(-1, Ordering::SeqCst), 1, "alone"),
            (X, false) => assert_eq!(shadow.swap(-1, Ordering::SeqCst), 0, "alone"),
            _ => assert!(shadow.fetch_add(1, Ordering::SeqCst) >= 0, "no writer"),
        }
        if mode == X {
            let changes = &self.shadows[n].changes;
            changes.store(changes.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            self.changed += 1;
        }
        self.held.retain(|&(m, _)| m != n);
        self.held.push((n, mode));
    }

    fn end(&mut self) {
        for (n, mode) in self.held.drain(..) {
            let was = if mode == X {
                self.shadows[n].holders.swap(0, Ordering::SeqCst) == -1
            } else {
                self.shadows[n].holders.fetch_sub(1, Ordering::SeqCst) > 0
            };
            assert!(was, "as it was left");
        }
        self.bed.end(&self.trx);
    }

    fn run(mut self, transactions: usize) -> (u64, u64) {
        for _ in 0..transactions {
            for _ in 0..1 + self.rng.below(5) {
                let n = self.rng.below(RECORDS as u64) as usize;
                let mode = if self.rng.below(3) == 0 { S } else { X };
                if !self.lock(n, mode) {
                    self.deadlocks += 1;
                    break;
                }
                if self.rng.below(4) == 0 {
                    thread::yield_now();
                }
            }
            self.end();
        }
        (self.changed, self.deadlocks)
    }
}

#[test]
fn nobody_gets_in_beside_a_writer_and_everybody_finishes() {
    let bed = Bed::new();
    let shadows: Vec<_> = (0..RECORDS).map(|_| Shadow::default()).collect();
    let (changed, deadlocks) = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|n| {
                let worker = Worker {
                    bed: &bed,
                    shadows: &shadows,
                    trx: trx(n as u64 + 1),
                    rng: Rng::new(n as u64),
                    held: Vec::new(),
                    changed: 0,
                    deadlocks: 0,
                };
                scope.spawn(move || worker.run(2_000))
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    });
    assert_eq!(shadows.iter().map(|s| s.changes.load(Ordering::Relaxed)).sum::<u64>(), changed);
    assert_eq!(bed.sys.metrics().deadlocks, deadlocks);
    bed.assert_empty();
}

#[test]
fn timeouts_grants_and_interruptions_race_to_one_end() {
    // Everybody wants one record for a moment; some have no patience, some are interrupted. Each attempt ends in one way,
    // and the counter counts those that got it.
    let bed = Bed::new();
    let counter = AtomicU64::new(0);
    let all: Vec<_> = (1..=4).map(trx).collect();
    let got = thread::scope(|scope| {
        let threads: Vec<_> = all
            .iter()
            .enumerate()
            .map(|(n, me)| {
                let (bed, counter, all) = (&bed, &counter, &all);
                scope.spawn(move || {
                    let mut got = 0;
                    for round in 0..3_000_u64 {
                        if round % 7 == 0 {
                            all[(n + 1) % all.len()].interrupt();
                        }
                        let has_it = match bed.ask(me, rec(5), X, Record) {
                            LockOutcome::MustWait => {
                                let patience = [0, 1, 50, LONG][round as usize % 4];
                                match bed.sys.wait_for(me, patience, &PlainWait) {
                                    Ok(_) => true,
                                    Err(Error::LockWaitTimeout | Error::Interrupted) => false,
                                    Err(e) => panic!("{e}"),
                                }
                            }
                            _ => true,
                        };
                        assert_eq!(bed.holds(me, rec(5), X, Record), has_it);
                        if has_it {
                            counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                            got += 1;
                        }
                        me.clear_interrupt();
                        bed.end(me);
                    }
                    got
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum::<u64>()
    });
    assert_eq!(counter.load(Ordering::Relaxed), got);
    bed.assert_empty();
}

#[test]
fn locks_made_explicit_do_not_outlive_their_owner() {
    let bed = Bed::new();
    let [owner] = trxs();
    thread::scope(|scope| {
        let maker = scope.spawn(|| {
            for n in 0..20_000 {
                bed.sys.make_explicit(&owner, rec_on(n % 5, 2 + (n % 50) as u16)).unwrap();
            }
        });
        while !maker.is_finished() {
            owner.set_state(TrxState::Committed);
            bed.sys.release_all(&owner);
            assert_eq!(owner.locks().record_locks(), 0);
            owner.set_state(TrxState::Active);
        }
        maker.join().unwrap();
    });
    bed.end(&owner);
    bed.assert_empty();
}
