//! Locks on the records of a real tree, which splits, merges, reorganizes, raises and lifts its root under them: record
//! locks stay with their records, and what a gap lock kept others from inserting it keeps them from to the end.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::bed;
use crate::folder;

use bed::{Bed, Kind, Row, SPACE, fields, insert, n_key, read_row, remove, row, tree_cursor};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vaquita_base::{HeapNo, IndexId, ManualClock, PageId, Rng, TableId};
use vaquita_btree::{LatchMode, Tree};
use vaquita_format::index_def::RowFormat;
use vaquita_format::index_page::{self, SearchMode};
use vaquita_format::record::header::heap_no;
use vaquita_format::tuple::Tuple;
use vaquita_txn::lock::LockTarget;
use vaquita_txn::lock::{LockOutcome, RecordId, WaitPolicy};
use vaquita_txn::{AccessMode, Isolation, LockMode, LockSys, Options, RecordLockKind, Trx, TrxSystem};

use LockMode::{Exclusive, Shared};
use RecordLockKind::{Gap, InsertIntention, NextKey, Record};

const SUPREMUM: HeapNo = HeapNo(1);
/// The last one has relaxed gaps.
const TRXS: usize = 5;

type Place = (PageId, HeapNo);

/// Who, how strong.
type Who = (usize, LockMode);

struct Run {
    bed: Bed,
    tree: Tree,
    kind: Kind,
    rng: Rng,
    sys: Arc<LockSys>,
    trxs: Vec<Trx>,
    /// Keys of the universe by number, in the order of the tree.
    keys: Vec<Row>,
    present: BTreeSet<usize>,
    /// Locks on records.
    records: BTreeSet<(Who, usize)>,
    /// Keys that must not be inserted by others.
    guarded: BTreeSet<(Who, usize)>,
    /// Who waits, for which record and mode.
    waiting: BTreeMap<usize, (usize, LockMode)>,
    /// Keys are inserted in falling order, mostly.
    descends: bool,
    last_key: usize,
    seen: Seen,
}

/// What the run came to do.
#[derive(Debug, Default)]
struct Seen {
    granted: usize,
    waits: usize,
    sent_back: usize,
    blocked_inserts: usize,
}

impl Seen {
    fn add(&mut self, other: Seen) {
        self.granted += other.granted;
        self.waits += other.waits;
        self.sent_back += other.sent_back;
        self.blocked_inserts += other.blocked_inserts;
    }
}

impl Run {
    fn new(kind: Kind, format: RowFormat, n_keys: u32, seed: u64, transactions: &TrxSystem) -> Run {
        let bed = Bed::new(4096, 64, seed);
        let sys = LockSys::new(&Options::default(), Arc::new(ManualClock::new()));
        let tree = bed.tree(kind, format).with_observer(sys.observer());
        let mut rng = Rng::new(seed);
        let n = n_key(&tree);
        let mut keys: Vec<_> = (0..n_keys).map(|k| row(kind, k, &mut rng, 0)[..n].to_vec()).collect();
        keys.sort();
        keys.dedup();
        let trxs = (0..TRXS)
            .map(|i| {
                let mut trx = transactions.new_trx();
                let relaxed = if i == TRXS - 1 { Isolation::ReadCommitted } else { Isolation::default() };
                transactions.start(&mut trx, relaxed, AccessMode::ReadWrite);
                trx
            })
            .collect();
        Run {
            bed,
            tree,
            kind,
            rng,
            sys,
            trxs,
            keys,
            present: BTreeSet::new(),
            records: BTreeSet::new(),
            guarded: BTreeSet::new(),
            waiting: BTreeMap::new(),
            descends: seed % 2 == 1,
            last_key: 0,
            seen: Seen::default(),
        }
    }

    /// A row with the key of that number and other values, of other sizes, each time.
    fn row_of(&mut self, key: usize) -> Row {
        let n = n_key(&self.tree);
        let number = self.rng.below(1_000) as u32;
        let mut row = row(self.kind, number, &mut self.rng, 0);
        row[..n].clone_from_slice(&self.keys[key]);
        row
    }

    /// Where the records are.
    fn record_places(&self) -> BTreeMap<usize, Place> {
        let mut places = BTreeMap::new();
        let mut cursor = tree_cursor(&self.bed, &self.tree);
        let mut more = cursor.first().unwrap();
        while more {
            let record = cursor.record().unwrap();
            let row = read_row(&self.bed, &self.tree, &record).0;
            let key = self.keys.binary_search(&row[..n_key(&self.tree)].to_vec()).unwrap();
            places.insert(key, (record.page_id, record.heap_no()));
            more = cursor.next().unwrap();
        }
        places
    }

    /// The record in front of which a key would be inserted.
    fn insert_place(&self, key: usize) -> Place {
        let fields = fields(&self.keys[key]);
        let mut mtr = self.bed.storage.begin_read();
        let mode = SearchMode::LessOrEqual;
        let position = self.tree.search(&mut mtr, &Tuple::new(&fields), mode, LatchMode::Shared).unwrap();
        let bytes = mtr.page(position.page());
        let next = index_page::next_rec(bytes, position.found().low).unwrap();
        let comp = self.tree.index().layout().comp();
        (mtr.id(position.page()), HeapNo(heap_no(bytes, next, comp)))
    }

    /// The places of all absent keys.
    fn insert_places(&self) -> BTreeMap<usize, Place> {
        let absent = (0..self.keys.len()).filter(|k| !self.present.contains(k));
        absent.map(|k| (k, self.insert_place(k))).collect()
    }

    fn id_at(&self, (page, heap): Place) -> RecordId {
        assert_eq!(page.space, SPACE);
        RecordId { table: TableId(1), index: IndexId(2), page, heap }
    }

    /// Some transaction that does not wait.
    fn anybody(&mut self) -> Option<usize> {
        let who = self.rng.index(TRXS);
        (!self.waiting.contains_key(&who)).then_some(who)
    }

    /// A record, one that somebody has locked more often than another.
    fn some_present(&mut self) -> Option<usize> {
        let locked = self.records.iter().map(|r| r.1).collect::<Vec<_>>();
        if !locked.is_empty() && self.rng.below(4) == 0 {
            return Some(locked[self.rng.index(locked.len())]);
        }
        let all: Vec<_> = self.present.iter().copied().collect();
        (!all.is_empty()).then(|| all[self.rng.index(all.len())])
    }

    /// A key to insert: any, or the next below the one before.
    fn next_key(&mut self) -> Option<usize> {
        if !self.descends || self.rng.below(10) == 0 {
            self.last_key = self.rng.index(self.keys.len());
        }
        let guarded: BTreeSet<_> = self.guarded.iter().map(|g| g.1).collect();
        // Mostly where it can succeed.
        let free_only = self.rng.below(3) > 0;
        let fits = |k: &usize| !(self.present.contains(k) || free_only && guarded.contains(k));
        let key = (0..self.last_key).rev().find(fits)?;
        self.last_key = key;
        Some(key)
    }

    fn some_absent(&mut self) -> Option<usize> {
        let key = self.rng.index(self.keys.len());
        (!self.present.contains(&key)).then_some(key)
    }

    fn lock_record(&mut self) {
        let (Some(who), Some(key)) = (self.anybody(), self.some_present()) else { return };
        let mode = [Shared, Exclusive][self.rng.index(2)];
        let kind = [Record, NextKey][self.rng.index(2)];
        let policy = [WaitPolicy::Wait, WaitPolicy::SkipLocked][self.rng.index(2)];
        let place = self.record_places()[&key];
        match self.sys.lock_record(&self.trxs[who], self.id_at(place), mode, kind, policy).unwrap() {
            LockOutcome::Granted(true) => {
                self.records.insert(((who, mode), key));
                self.seen.granted += 1;
                if kind == NextKey {
                    self.guard(who, mode, place);
                }
            }
            LockOutcome::MustWait => {
                self.waiting.insert(who, (key, mode));
                self.seen.waits += 1;
            }
            LockOutcome::Granted(false) | LockOutcome::Skipped => {}
        }
    }

    fn guard(&mut self, who: usize, mode: LockMode, place: Place) {
        let there = self.insert_places().into_iter().filter(|&(_, p)| p == place);
        self.guarded.extend(there.map(|(key, _)| ((who, mode), key)));
    }

    fn lock_gap(&mut self) {
        let (Some(who), Some(key)) = (self.anybody(), self.some_absent()) else { return };
        let mode = [Shared, Exclusive][self.rng.index(2)];
        let place = self.insert_place(key);
        let kind = if place.1 == SUPREMUM { NextKey } else { Gap };
        let done = self.sys.lock_record(&self.trxs[who], self.id_at(place), mode, kind, WaitPolicy::NoWait);
        assert!(matches!(done.unwrap(), LockOutcome::Granted(_)), "gap locks never wait");
        self.guard(who, mode, place);
    }

    /// Inserts a key for a transaction, if the gaps allow it.
    fn insert(&mut self) {
        let (Some(mut who), Some(key)) = (self.anybody(), self.next_key()) else { return };
        // Who shut a gap may insert into it.
        let guard = self.guarded.iter().find(|g| g.1 == key).map(|g| g.0.0);
        if let Some(guard) = guard.filter(|g| !self.waiting.contains_key(g)) {
            who = guard;
        }
        let rec = self.id_at(self.insert_place(key));
        let trx = &self.trxs[who];
        let asked = self.sys.lock_record(trx, rec, Exclusive, InsertIntention, WaitPolicy::SkipLocked);
        let is_free = asked.unwrap() == LockOutcome::Granted(false);
        if !is_free {
            self.seen.blocked_inserts += 1;
            return;
        }
        let guards: Vec<_> = self.guarded.iter().filter(|g| g.1 == key && g.0.0 != who).collect();
        assert!(guards.is_empty(), "{key} inserted by {who} under the eyes of {guards:?}");
        let row = self.row_of(key);
        insert(&self.bed, &self.tree, &row).unwrap();
        self.present.insert(key);
        // What its owner guarded stays guarded on both sides of it.
        self.guarded.retain(|g| g.1 != key);
    }

    fn update(&mut self) {
        let Some(key) = self.some_present() else { return };
        let row = self.row_of(key);
        let fields = fields(&row);
        assert!(self.tree.update(&self.bed.storage, &Tuple::new(&fields)).unwrap().is_some());
    }

    fn remove(&mut self) {
        let Some(key) = self.some_present() else { return };
        let old_place = self.record_places()[&key];
        let in_gap: Vec<_> =
            self.insert_places().into_iter().filter(|&(_, p)| p == old_place).map(|(k, _)| k).collect();
        let waiters: Vec<_> = self.waiting.iter().filter(|w| w.1.0 == key).map(|(&who, _)| who).collect();
        let row = self.row_of(key);
        assert!(remove(&self.bed, &self.tree, &row));
        self.present.remove(&key);
        for who in waiters {
            assert!(!self.trxs[who].shared().locks().is_waiting(), "its record is gone");
            self.sys.wait(&self.trxs[who]).unwrap();
            self.waiting.remove(&who);
            self.seen.sent_back += 1;
        }
        let relaxed = |who: Who| who.0 == TRXS - 1 && who.1 == Exclusive;
        // Relaxed transactions let go of what the removed record's lock guarded.
        self.guarded.retain(|&(who, k)| !(relaxed(who) && in_gap.contains(&k)));
        let owners: Vec<_> = self.records.iter().filter(|r| r.1 == key).map(|r| r.0).collect();
        self.records.retain(|r| r.1 != key);
        self.guarded.extend(owners.into_iter().filter(|&who| !relaxed(who)).map(|who| (who, key)));
        // Who guarded the gap before it guards its place.
        for who in self.guarded.iter().filter(|g| in_gap.contains(&g.1)).map(|g| g.0).collect::<Vec<_>>() {
            self.guarded.insert((who, key));
        }
    }

    fn end(&mut self) {
        let Some(who) = self.anybody() else { return };
        self.sys.release_all(self.trxs[who].shared());
        self.records.retain(|r| r.0.0 != who);
        self.guarded.retain(|g| g.0.0 != who);
    }

    /// Waits that are over.
    fn look_after_waiters(&mut self) {
        let over = |who: &usize| !self.trxs[*who].shared().locks().is_waiting();
        for who in self.waiting.keys().copied().filter(over).collect::<Vec<_>>() {
            self.sys.wait(&self.trxs[who]).unwrap();
            let (key, mode) = self.waiting.remove(&who).unwrap();
            let rec = self.id_at(self.record_places()[&key]);
            assert!(self.sys.holds(&self.trxs[who], rec, mode, Record), "granted");
            self.records.insert(((who, mode), key));
        }
    }

    fn check(&self) {
        self.sys.validate();
        let places = self.record_places();
        assert_eq!(places.keys().copied().collect::<BTreeSet<_>>(), self.present);
        let keys: BTreeMap<Place, usize> = places.iter().map(|(&k, &p)| (p, k)).collect();
        let serials: BTreeMap<u64, usize> =
            self.trxs.iter().enumerate().map(|(i, t)| (t.shared().serial(), i)).collect();
        let (mut records, mut gaps, mut waiting) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
        for row in self.sys.snapshot().locks {
            let LockTarget::Record { page, kind, .. } = row.lock.target else { panic!("{row:?}") };
            let who = (serials[&row.lock.serial], row.lock.mode);
            for heap in row.heaps {
                let place = (page, heap);
                assert!(heap == SUPREMUM || keys.contains_key(&place), "a lock on nothing: {:?}", row.lock);
                if row.lock.waiting {
                    waiting.insert(who.0, (keys[&place], who.1));
                    continue;
                }
                if kind != Gap && heap != SUPREMUM {
                    records.insert((who, keys[&place]));
                }
                if kind != Record {
                    gaps.insert((who, place));
                }
            }
        }
        // X covers S, so a request for S may have been left out.
        assert_eq!(records, self.records);
        assert_eq!(waiting, self.waiting);
        let inserts = self.insert_places();
        for &((who, mode), key) in &self.guarded {
            let covers = |m| gaps.contains(&((who, m), inserts[&key]));
            assert!(covers(mode) || covers(Exclusive), "{who} {mode:?} does not guard {key} any more");
        }
    }

    fn go(&mut self, steps: usize) {
        for step in 0..steps {
            // Grows and shrinks by turns.
            let grows = (step / (2 * self.keys.len())).is_multiple_of(2);
            match self.rng.below(16) {
                0..=1 => self.lock_record(),
                2 if step % 4 == 0 => self.lock_gap(),
                2 => self.end(),
                3 => self.update(),
                4 => self.remove(),
                5 => self.insert(),
                _ if grows => self.insert(),
                _ => self.remove(),
            }
            self.look_after_waiters();
            if step % 5 == 0 {
                self.check();
            }
        }
        self.check();
    }

    /// Lets everybody end and looks whether anything is left.
    fn finish(mut self) -> Seen {
        while !self.waiting.is_empty() || !self.records.is_empty() || !self.guarded.is_empty() {
            self.end();
            for who in self.waiting.keys().copied().collect::<Vec<_>>() {
                self.trxs[who].shared().interrupt();
                let _ = self.sys.wait(&self.trxs[who]);
                self.trxs[who].shared().clear_interrupt();
                self.waiting.remove(&who);
            }
        }
        self.trxs.iter().for_each(|t| self.sys.release_all(t.shared()));
        let m = self.sys.metrics();
        assert_eq!((m.record_locks, m.lock_structs, m.memory_bytes, m.waiting), (0, 0, 0, 0));
        self.bed.validate(&self.tree);
        let stats = self.tree.stats();
        assert!(stats.root_raises.get() > 0 && stats.merges.get() > 0);
        assert!(stats.root_lifts.get() + stats.discards.get() > 0);
        std::mem::take(&mut self.seen)
    }
}

#[test]
fn locks_stay_with_their_records_and_gaps_stay_shut() {
    let transactions = folder::fresh(1);
    for (kind, format, n_keys) in [
        (Kind::IntKey, RowFormat::Compact, 200),
        (Kind::IntKey, RowFormat::Redundant, 200),
        (Kind::LongKey, RowFormat::Dynamic, 120),
        (Kind::HugeKey, RowFormat::Compact, 100),
        (Kind::Nullable, RowFormat::Compact, 400),
    ] {
        let mut seen = Seen::default();
        for seed in 0..2 {
            let mut run = Run::new(kind, format, n_keys, seed, &transactions);
            run.go(12 * n_keys as usize);
            seen.add(run.finish());
        }
        assert!(seen.granted > 50 && seen.waits > 3 && seen.blocked_inserts > 10, "{kind:?} {seen:?}");
        assert!(seen.sent_back > 0, "{kind:?} {seen:?}");
    }
}
