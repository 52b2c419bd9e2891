//! Random requests, ends and withdrawals against a list of everything in order of arrival, judged by the written-out
//! tables.

use super::*;
use crate::claim::trx_locks::Outcome;
use vaquita_base::Rng;

/// Who asks, in the order S and X of record, gap, next-key, then X insert intention; columns the same.
const WAITS: [&str; 7] = ["...x.x.", ".......", "...x.x.", "x.xx.x.", ".......", "x.xx.x.", ".xx.xx."];
const COVERS: [&str; 7] = ["x......", ".x.....", "xxx....", "x..x...", ".x..x..", "xxxxxx.", "......."];

fn at(mode: LockMode, kind: RecordLockKind) -> usize {
    match kind {
        InsertIntention => 6,
        _ => usize::from(mode == X) * 3 + [Record, Gap, NextKey].iter().position(|&k| k == kind).unwrap(),
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    trx: usize,
    page: u32,
    heap: u16,
    mode: LockMode,
    kind: RecordLockKind,
    waiting: bool,
}

impl Entry {
    fn same_place(&self, other: &Entry) -> bool {
        (self.page, self.heap) == (other.page, other.heap)
    }

    fn waits_for(&self, other: &Entry) -> bool {
        let conflict = if self.heap == 1 {
            self.kind == InsertIntention && other.kind != InsertIntention
        } else {
            WAITS[at(self.mode, self.kind)].as_bytes()[at(other.mode, other.kind)] == b'x'
        };
        self.trx != other.trx && self.same_place(other) && conflict
    }

    fn covers(&self, other: &Entry) -> bool {
        let kinds = if self.heap == 1 {
            self.kind != InsertIntention
                && other.kind != InsertIntention
                && (self.mode == X || other.mode == S)
        } else {
            COVERS[at(self.mode, self.kind)].as_bytes()[at(other.mode, other.kind)] == b'x'
        };
        !self.waiting && self.trx == other.trx && self.same_place(other) && kinds
    }
}

#[derive(Default)]
struct Model {
    entries: Vec<Entry>,
    /// What the last wait gave to each, until they ask for something that they hold.
    fresh: [Option<(u32, u16)>; 8],
}

impl Model {
    fn ask(&mut self, mut entry: Entry, policy: WaitPolicy) -> Option<LockOutcome> {
        if self.entries.iter().any(|e| e.covers(&entry)) {
            let is_fresh = self.fresh[entry.trx] == Some((entry.page, entry.heap));
            if is_fresh {
                self.fresh[entry.trx] = None;
            }
            return Some(LockOutcome::Granted(is_fresh));
        }
        if !self.entries.iter().any(|e| entry.waits_for(e)) {
            if entry.kind == InsertIntention {
                return Some(LockOutcome::Granted(false));
            }
            self.entries.push(entry);
            return Some(LockOutcome::Granted(true));
        }
        match policy {
            WaitPolicy::NoWait => None,
            WaitPolicy::SkipLocked => Some(LockOutcome::Skipped),
            WaitPolicy::Wait => {
                entry.waiting = true;
                self.entries.push(entry);
                Some(LockOutcome::MustWait)
            }
        }
    }

    /// Grants from the front until nothing changes; who was granted, in order.
    fn settle(&mut self) -> Vec<usize> {
        let mut granted = Vec::new();
        while let Some(i) = (0..self.entries.len()).find(|&i| {
            let me = &self.entries[i];
            me.waiting && !self.entries[..i].iter().any(|e| me.waits_for(e))
        }) {
            let entry = &mut self.entries[i];
            entry.waiting = false;
            self.fresh[entry.trx] = Some((entry.page, entry.heap));
            granted.push(entry.trx);
        }
        granted
    }

    fn remove(&mut self, gone: impl Fn(&Entry) -> bool) -> Vec<usize> {
        self.entries.retain(|e| !gone(e));
        self.settle()
    }
}

fn check(bed: &Bed, model: &Model, all: &[TrxRef]) {
    bed.sys.validate();
    let mut ours: Vec<_> = Vec::new();
    for row in bed.sys.snapshot().locks {
        let crate::claim::LockTarget::Record { page, kind, .. } = row.lock.target else { panic!() };
        for heap in row.heaps {
            let (trx, mode, waiting) = (row.lock.serial as usize, row.lock.mode, row.lock.waiting);
            ours.push(Entry { trx, page: page.page_no.get(), heap: heap.get(), mode, kind, waiting });
        }
    }
    let key = |e: &Entry| (e.trx, e.page, e.heap, e.mode, e.kind, e.waiting);
    ours.sort_by_key(key);
    let mut theirs = model.entries.clone();
    theirs.sort_by_key(key);
    assert_eq!(ours, theirs);
    for (i, trx) in all.iter().enumerate() {
        let waits = model.entries.iter().any(|e| e.trx == i && e.waiting);
        assert_eq!(trx.locks().is_waiting(), waits);
        let n = theirs.iter().filter(|e| e.trx == i).count();
        assert_eq!(trx.locks().record_locks(), n);
    }
}

/// One run; how many requests had to wait.
fn run(seed: u64, trxs: usize, pages: u32, heaps: u16) -> usize {
    let mut rng = Rng::new(seed);
    let bed = Bed::new();
    let all: Vec<_> = (0..trxs as u64).map(trx).collect();
    let mut model = Model::default();
    let mut waited = 0;
    for _ in 0..600 {
        let who = rng.below(trxs as u64) as usize;
        let fetch = |granted: &[usize]| granted.iter().for_each(|&t| assert!(bed.is_granted(&all[t]), "{t}"));
        if all[who].locks().is_waiting() {
            if rng.below(4) == 0 {
                bed.sys.cancel_now(&all[who], Outcome::TimedOut);
                assert!(!bed.is_granted(&all[who]));
                fetch(&model.remove(|e| e.trx == who && e.waiting));
            }
        } else if rng.below(8) == 0 {
            model.fresh[who] = None;
            let granted = model.remove(|e| e.trx == who);
            bed.end(&all[who]);
            fetch(&granted);
        } else if rng.below(8) == 0 {
            // Of one record the weakest lock in kind.
            let held = |e: &&Entry| e.trx == who && e.kind != InsertIntention;
            let Some(e) = model.entries.iter().find(held).cloned() else { continue };
            let kinds = [Record, NextKey, Gap];
            let alike = |k: RecordLockKind| Entry { kind: k, ..e.clone() };
            let kind = kinds.into_iter().find(|&k| model.entries.contains(&alike(k))).unwrap();
            let granted = model.remove(|x| *x == alike(kind));
            let p = page(e.page);
            bed.sys.pages.change(p, |l| l.unlock(p, &all[who], HeapNo(e.heap), e.mode));
            fetch(&granted);
        } else {
            let kind = [Record, Gap, NextKey, InsertIntention][rng.below(4) as usize];
            let mode = if kind == InsertIntention || rng.below(2) == 0 { X } else { S };
            let (page_no, heap) = (rng.below(pages.into()) as u32, 1 + rng.below(heaps.into()) as u16);
            let policy = [WaitPolicy::Wait, WaitPolicy::Wait, WaitPolicy::NoWait, WaitPolicy::SkipLocked]
                [rng.below(4) as usize];
            let claim = Claim::on(mode, kind, HeapNo(heap));
            let entry = Entry { trx: who, page: page_no, heap, mode, kind: claim.kind, waiting: false };
            let expected = model.ask(entry, policy);
            let outcome = bed.sys.ask_record(&all[who], rec_on(page_no, heap), claim, policy, true);
            assert_eq!(outcome.ok(), expected, "seed {seed}: {who} {claim:?} {page_no}:{heap}");
            waited += usize::from(expected == Some(LockOutcome::MustWait));
        }
        check(&bed, &model, &all);
    }
    for t in &all {
        bed.sys.cancel_now(t, Outcome::TimedOut);
        let _ = bed.sys.wait_for(t, 0, &PlainWait);
    }
    all.iter().for_each(|t| bed.end(t));
    bed.assert_empty();
    waited
}

#[test]
fn the_queues_do_what_the_list_does() {
    let mut waited = 0;
    for seed in 0..60 {
        waited += run(seed, 2 + (seed % 7) as usize, 1 + (seed % 3) as u32, 1 + (seed % 5) as u16);
    }
    assert!(waited > 2_000, "only {waited} requests waited");
}
