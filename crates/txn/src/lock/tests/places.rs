//! Locks that move while others ask, wait, are granted and end.

use super::*;
use crate::Error;
use parking_lot::RwLock;
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::thread;
use vaquita_base::Rng;
use vaquita_btree::Observer;

const KEYS: usize = 8;
const SUPREMUM: HeapNo = HeapNo(1);

/// Where the records are; its mutex is the latch of both pages.
#[derive(Debug, Clone)]
struct Layout {
    at: [(u32, u16); KEYS],
    /// The upper half is on a page of its own.
    is_split: bool,
}

/// Changes places as a tree does.
struct Mover<'b> {
    sys: &'b LockSys,
    layout: &'b RwLock<Layout>,
    rng: Rng,
}

impl Mover<'_> {
    fn fresh_heaps(&mut self, n: usize) -> Vec<u16> {
        let start = 2 + self.rng.below(200) as u16;
        (0..n as u16).map(|i| start + i).collect()
    }

    fn step(&mut self) {
        let heaps = self.fresh_heaps(KEYS);
        let mut l = self.layout.write();
        // Heap numbers must not meet those of records that stay: one page holds 2 to 300, moved ones go above or below.
        let used = |l: &Layout, page: u32| l.at.iter().any(|&(p, h)| p == page && heaps.contains(&h));
        match self.rng.below(4) {
            0 if !l.is_split => {
                let moved: Vec<_> = (KEYS / 2..KEYS).map(|k| (HeapNo(l.at[k].1), HeapNo(heaps[k]))).collect();
                (KEYS / 2..KEYS).for_each(|k| l.at[k] = (2, heaps[k]));
                l.is_split = true;
                self.sys.split_right(page(1), page(2), &moved);
            }
            0 if !used(&l, 1) => {
                let moved: Vec<_> = (KEYS / 2..KEYS).map(|k| (HeapNo(l.at[k].1), HeapNo(heaps[k]))).collect();
                (KEYS / 2..KEYS).for_each(|k| l.at[k] = (1, heaps[k]));
                l.is_split = false;
                self.sys.merged(page(1), page(2), HeapNo(0), &moved);
            }
            1 => {
                let on_one: Vec<_> = (0..KEYS).filter(|&k| l.at[k].0 == 1).collect();
                let moved: Vec<_> = on_one.iter().map(|&k| (HeapNo(l.at[k].1), HeapNo(heaps[k]))).collect();
                on_one.into_iter().for_each(|k| l.at[k].1 = heaps[k]);
                self.sys.reorganized(page(1), &moved);
            }
            2 => {
                let key = self.rng.index(KEYS);
                let (p, heap) = l.at[key];
                self.sys.set_aside(page(p), HeapNo(heap));
                let heap = if used(&l, p) { heap } else { heaps[0] };
                l.at[key].1 = heap;
                self.sys.put_back(page(p), HeapNo(heap), page(p));
            }
            _ => {
                // A record comes into a gap and goes again.
                let (p, next) = l.at[self.rng.index(KEYS)];
                self.sys.inserted(page(p), HeapNo(250), HeapNo(next));
                self.sys.removing(page(p), HeapNo(250), HeapNo(next));
            }
        }
    }
}

/// Locks keys, checks that nobody has them, ends.
fn work(bed: &Bed, layout: &RwLock<Layout>, holders: &[AtomicI64], n: u64) -> u64 {
    let me = trx(n);
    let mut rng = Rng::new(n);
    let mut times = 0;
    'transactions: for _ in 0..10_000 {
        let mut held: Vec<usize> = Vec::new();
        let mut keys: Vec<_> = (0..1 + rng.index(3)).map(|_| rng.index(KEYS)).collect();
        if rng.below(2) == 0 {
            keys.sort_unstable();
        }
        for key in keys {
            let kind = [Record, NextKey][rng.index(2)];
            loop {
                let latch = layout.read();
                let (p, heap) = latch.at[key];
                let outcome = bed.ask(&me, rec_on(p, heap), X, kind);
                if rng.below(3) == 0 {
                    // The supremum of either page, as scans do.
                    bed.ask(&me, rec_on(1 + rng.below(2) as u32, 1), S, NextKey);
                }
                if outcome == LockOutcome::MustWait {
                    drop(latch);
                    match bed.wait(&me) {
                        Ok(()) => continue,
                        Err(Error::Deadlock(_)) => {
                            held.iter().for_each(|&k| assert_eq!(holders[k].swap(0, Ordering::SeqCst), 1));
                            bed.end(&me);
                            continue 'transactions;
                        }
                        Err(e) => panic!("{e}"),
                    }
                }
                if !held.contains(&key) {
                    assert_eq!(holders[key].swap(1, Ordering::SeqCst), 0, "alone");
                    held.push(key);
                    times += 1;
                }
                break;
            }
        }
        held.iter().for_each(|&k| assert_eq!(holders[k].swap(0, Ordering::SeqCst), 1));
        bed.end(&me);
    }
    times
}

/// Ends the mover, whatever happens to the workers.
struct Stop<'d>(&'d AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn locks_that_move_exclude_and_go_with_their_owner() {
    let bed = Bed::new();
    let at = std::array::from_fn(|k| (1, 2 + k as u16));
    let layout = RwLock::new(Layout { at, is_split: false });
    let holders: Vec<_> = (0..KEYS).map(|_| AtomicI64::new(0)).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let stop = Stop(&done);
        let mover = scope.spawn(|| {
            let mut mover = Mover { sys: &bed.sys, layout: &layout, rng: Rng::new(99) };
            while !done.load(Ordering::Relaxed) {
                mover.step();
            }
        });
        let workers: Vec<_> = (1..=4)
            .map(|n| {
                scope.spawn({
                    let (b, l, h) = (&bed, &layout, &holders);
                    move || work(b, l, h, n)
                })
            })
            .collect();
        let times: u64 = workers.into_iter().map(|w| w.join().unwrap()).sum();
        assert!(times > 20_000, "{times}");
        drop(stop);
        mover.join().unwrap();
    });
    bed.assert_empty();
}

#[test]
fn requests_move_with_their_record() {
    let bed = Bed::new();
    let [one, two, inserter] = trxs();
    bed.take(&one, rec_on(1, 7), X, NextKey);
    bed.queue(&two, rec_on(1, 7), S, Record);
    bed.queue(&inserter, rec_on(1, 7), X, InsertIntention);
    bed.sys.split_right(page(1), page(2), &[(HeapNo(7), HeapNo(2))]);
    bed.sys.validate();
    assert!(bed.holds(&one, rec_on(2, 2), X, NextKey) && bed.holds(&one, rec_on(1, 1), X, Gap));
    assert!(two.locks().is_waiting() && inserter.locks().is_waiting());
    bed.sys.merged(page(1), page(2), HeapNo(3), &[(HeapNo(2), HeapNo(40))]);
    bed.sys.validate();
    assert!(!bed.sys.has_locks_on(page(2)));
    assert!(bed.holds(&one, rec_on(1, 40), X, NextKey) && !bed.holds(&one, rec_on(1, 1), X, Gap));
    assert!(two.locks().is_waiting());
    bed.sys.root_raised(page(1), page(5), &[(HeapNo(40), HeapNo(4))]);
    bed.sys.root_lifted(page(1), page(5), &[(HeapNo(4), HeapNo(3))]);
    bed.end(&one);
    assert!(bed.is_granted(&two) && bed.holds(&two, rec_on(1, 3), S, Record));
    let _ = bed.wait(&inserter);
    bed.end(&two);
    bed.end(&inserter);
    bed.assert_empty();
}

#[test]
fn a_removed_record_leaves_its_locks_to_the_gap() {
    let bed = Bed::new();
    let [reader, waiter, relaxed, inserter] = trxs();
    relaxed.locks().set_relaxed_gaps(true);
    bed.take(&reader, rec(5), S, Record);
    bed.take(&relaxed, rec(5), S, Record);
    bed.queue(&waiter, rec(5), X, NextKey);
    bed.sys.removing(page(3), HeapNo(5), HeapNo(6));
    // Waiters are sent back with the gap locked.
    assert!(bed.is_granted(&waiter));
    assert!(bed.holds(&waiter, rec(6), X, Gap) && !bed.holds(&waiter, rec(6), X, Record));
    assert!(bed.holds(&reader, rec(6), S, Gap));
    assert!(bed.holds(&relaxed, rec(6), S, Gap), "an S lock guards a check for duplicates");
    bed.queue(&inserter, rec(6), X, InsertIntention);
    for t in [&reader, &waiter, &relaxed] {
        bed.end(t);
    }
    assert!(bed.is_granted(&inserter));
    bed.end(&inserter);
    bed.take(&relaxed, rec(5), X, Record);
    bed.sys.removing(page(3), HeapNo(5), SUPREMUM);
    assert_eq!(relaxed.locks().record_locks(), 0);
    bed.end(&relaxed);
    bed.assert_empty();
}

#[test]
fn a_gap_that_grows_is_met_when_the_wait_is_over() {
    let bed = Bed::new();
    let [one, two, inserter] = trxs();
    bed.take(&one, rec(6), X, Gap);
    bed.take(&two, rec(5), S, Record);
    bed.queue(&inserter, rec(6), X, InsertIntention);
    bed.sys.removing(page(3), HeapNo(5), HeapNo(6));
    bed.sys.validate();
    assert!(bed.holds(&two, rec(6), S, Gap));
    assert_eq!(bed.sys.snapshot().waits.len(), 1, "for the first lock alone");
    bed.end(&one);
    assert!(bed.is_granted(&inserter));
    bed.queue(&inserter, rec(6), X, InsertIntention);
    bed.end(&two);
    assert!(bed.is_granted(&inserter));
    assert_eq!(inserter.locks().lock_structs(), 2, "each wait leaves its structure");
    bed.end(&inserter);
    bed.assert_empty();
}

/// Requests and locks keep their order on another page.
#[test]
fn an_insert_intention_moves_between_the_locks_before_and_after_it() {
    let bed = Bed::new();
    let [before, inserter, after] = trxs();
    bed.take(&before, rec_on(1, 7), X, Gap);
    bed.queue(&inserter, rec_on(1, 7), X, InsertIntention);
    bed.take(&after, rec_on(1, 7), X, Gap);
    bed.sys.split_right(page(1), page(2), &[(HeapNo(7), HeapNo(2))]);
    bed.sys.validate();
    bed.end(&before);
    assert!(bed.is_granted(&inserter));
    bed.end(&after);
    bed.end(&inserter);
    bed.assert_empty();
}

#[test]
fn an_insert_divides_a_gap() {
    let bed = Bed::new();
    let [both, gap, record, end] = trxs();
    bed.take(&both, rec(6), S, NextKey);
    bed.take(&gap, rec(6), X, Gap);
    bed.take(&record, rec(6), S, Record);
    bed.sys.inserted(page(3), HeapNo(7), HeapNo(6));
    assert!(bed.holds(&both, rec(7), S, Gap) && !bed.holds(&both, rec(7), S, Record));
    assert!(bed.holds(&gap, rec(7), X, Gap) && bed.holds(&gap, rec(6), X, Gap));
    assert_eq!(record.locks().record_locks(), 1);
    bed.take(&end, rec(1), X, Gap);
    bed.sys.inserted(page(3), HeapNo(8), SUPREMUM);
    assert!(bed.holds(&end, rec(8), X, Gap));
    [both, gap, record, end].iter().for_each(|t| bed.end(t));
    bed.assert_empty();
}
