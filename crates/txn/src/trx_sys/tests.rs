//! Views against a naive model: the set of what had committed when they were opened.

use crate::commit_order::limits::{Numbers, ViewNumbers};
use crate::commit_order::line::{DEAD_MAX, Line};
use crate::commit_order::order::Order;
use crate::commit_order::seq_map::{ACTIVE, SeqMap};
use crate::trx::{Trx, TrxShared};
use crate::views::{Registry, ViewSlot};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use vaquita_base::{Rng, TrxId};

fn sees(order: &Order, view: &Numbers, id: u64) -> bool {
    id < view.up_limit || (id < view.low_limit && order.committed_before(TrxId(id), view.snapshot))
}

/// A view with what it must see.
struct Held {
    numbers: ViewNumbers,
    view: Option<(Numbers, BTreeSet<u64>)>,
}

/// One random history; ids are as few as the ring is small.
fn history(seed: u64, ring: usize, steps: usize) {
    let mut rng = Rng::new(seed);
    let order = Order::new(TrxId(1), TrxId(u64::MAX / 2), ring);
    let mut views: Vec<Held> = (0..6).map(|_| Held { numbers: ViewNumbers::new(), view: None }).collect();
    // Id, number if drawn.
    let mut active: Vec<(TrxId, Option<TrxId>)> = Vec::new();
    let (mut ids, mut committed) = (BTreeSet::new(), BTreeSet::new());
    let mut undo: Vec<(u64, u64)> = Vec::new();
    for _ in 0..steps {
        match rng.below(10) {
            0..=2 if active.len() < 20 => {
                let id = order.begin().unwrap();
                ids.insert(id.0);
                active.push((id, None));
            }
            3 if !active.is_empty() => {
                let at = rng.index(active.len());
                active[at].1.get_or_insert_with(|| order.draw_number());
            }
            4..=5 if !active.is_empty() => {
                let (id, number) = active.swap_remove(rng.index(active.len()));
                order.publish(id, number, || ());
                committed.insert(id.0);
                undo.extend(number.map(|n| (n.0, id.0)));
            }
            6 => {
                let held = &mut views[rng.index(6)];
                held.numbers.close();
                held.view = Some((order.open_view(&held.numbers), committed.clone()));
            }
            7 => {
                let held = &mut views[rng.index(6)];
                held.numbers.close();
                held.view = None;
            }
            _ => order.forget(|see| views.iter().for_each(|v| see(&v.numbers))),
        }
        let oldest = order.oldest_view(|see| views.iter().for_each(|v| see(&v.numbers)));
        for (number, id) in &undo {
            assert!(
                *number >= oldest.low_limit_no || sees(&order, &oldest, *id),
                "seed {seed}: {id} {oldest:?}"
            );
        }
        for (view, set) in views.iter().filter_map(|v| v.view.as_ref()) {
            for &id in &ids {
                assert_eq!(sees(&order, view, id), set.contains(&id), "seed {seed}: id {id} under {view:?}");
                assert!(set.contains(&id) || !sees(&order, &oldest, id), "seed {seed}: {id} would be purged");
            }
            for (number, id) in &undo {
                assert!(*number >= view.low_limit_no || set.contains(id), "seed {seed}: undo of {id}");
            }
            assert!(oldest.low_limit_no <= view.low_limit_no && oldest.snapshot <= view.snapshot);
        }
        for &id in &ids {
            assert_eq!(order.is_active(TrxId(id)), !committed.contains(&id), "seed {seed}: {id}");
        }
    }
}

#[test]
fn views_see_what_had_committed_when_they_were_opened() {
    for seed in 0..60 {
        history(seed, [2, 4, 16, 1 << 10][seed as usize % 4], 400);
    }
}

#[test]
fn an_old_view_keeps_only_what_was_active_when_it_was_opened() {
    let order = Order::new(TrxId(1), TrxId(u64::MAX / 2), 64);
    let (old, views) = (ViewNumbers::new(), [ViewNumbers::new(), ViewNumbers::new()]);
    let all = |see: &mut dyn FnMut(&ViewNumbers)| {
        see(&old);
        views.iter().for_each(see);
    };
    let before: Vec<TrxId> = (0..10).map(|_| order.begin().unwrap()).collect();
    let view = order.open_view(&old);
    for id in &before {
        order.publish(*id, None, || ());
    }
    for n in 0..10_000u64 {
        order.open_view(&views[n as usize % 2]);
        let id = order.begin().unwrap();
        order.publish(id, None, || ());
        views[n as usize % 2].close();
        if n % 100 == 0 {
            order.forget(all);
        }
    }
    order.forget(all);
    let (forgotten, retained, beside) = order.forgetting_stats();
    assert_eq!((forgotten, retained, beside), (10_000, before.len(), 0));
    assert!(before.iter().all(|id| !sees(&order, &view, id.0)));
    old.close();
    order.forget(all);
    assert_eq!(order.forgetting_stats(), (10_010, 0, 0));
}

#[test]
fn opening_and_asking_takes_no_mutex() {
    let order = Order::new(TrxId(1), TrxId(u64::MAX / 2), 1 << 12);
    let writers: Vec<TrxId> = (0..2_000).map(|_| order.begin().unwrap()).collect();
    let numbers = ViewNumbers::new();
    order.with_mutex_held(|| {
        // A thread of its own: were there a lock to wait for, it would never come back.
        std::thread::scope(|s| {
            s.spawn(|| {
                let view = order.open_view(&numbers);
                assert_eq!(view.up_limit, writers[0].0);
                assert!(writers.iter().all(|id| !sees(&order, &view, id.0) && order.is_active(*id)));
                numbers.close();
            });
        });
    });
}

#[test]
fn an_idle_session_is_small() {
    // With the counts of the two shared allocations and the entry of the list.
    let bytes = size_of::<Trx>() + size_of::<TrxShared>() + size_of::<ViewSlot>() + 2 * 128 + 8;
    assert!(bytes < 2_500, "{bytes} bytes");
}

#[test]
fn four_thousand_readers_keep_what_they_need_and_no_more() {
    let order = Order::new(TrxId(1), TrxId(u64::MAX / 2), 1 << 12);
    let readers: Vec<ViewNumbers> = (0..4_000).map(|_| ViewNumbers::new()).collect();
    let all = |see: &mut dyn FnMut(&ViewNumbers)| readers.iter().for_each(see);
    let mut views = Vec::new();
    for reader in &readers {
        // Open across a commit: each view has one transaction that it must look up.
        let id = order.begin().unwrap();
        views.push((order.open_view(reader), id.0));
        order.publish(id, None, || ());
    }
    order.forget(all);
    assert_eq!(order.forgetting_stats(), (0, 4_000, 0));
    for (n, (view, id)) in views.iter().enumerate() {
        assert!(!sees(&order, view, *id) && (n == 0 || sees(&order, view, id - 1)));
    }
    assert_eq!(order.oldest_view(all), views[0].0);
    for (n, reader) in readers.iter().enumerate() {
        reader.close();
        if n % 500 == 499 {
            order.forget(all);
            assert_eq!(order.forgetting_stats(), (n as u64 + 1, 4_000 - n - 1, 0));
        }
    }
}

/// Accounts whose versions are kept as undo logs keep them, oldest first: writer, balance.
struct Bank {
    order: Order,
    sessions: Arc<Registry>,
    accounts: Vec<Mutex<Vec<(u64, i64)>>>,
    /// Numbers and ids of what has ended.
    ended: Mutex<Vec<(u64, u64)>>,
    /// Row locks, held until after the commit.
    locks: Vec<Mutex<()>>,
    stop: AtomicBool,
    audits: AtomicUsize,
}

const ACCOUNTS: usize = 6;

impl Bank {
    fn new(ring: usize) -> Bank {
        Bank {
            order: Order::new(TrxId(1), TrxId(u64::MAX / 2), ring),
            sessions: Arc::new(Registry::default()),
            accounts: (0..ACCOUNTS).map(|_| Mutex::new(vec![(0, 100)])).collect(),
            ended: Mutex::default(),
            locks: (0..ACCOUNTS).map(|_| Mutex::new(())).collect(),
            stop: AtomicBool::new(false),
            audits: AtomicUsize::new(0),
        }
    }

    fn change(&self, account: usize, id: TrxId, by: i64) {
        let mut versions = self.accounts[account].lock();
        let balance = versions.last().unwrap().1;
        versions.push((id.0, balance + by));
    }

    fn transfer(&self, rng: &mut Rng) {
        let (a, b) = (rng.index(ACCOUNTS - 1), ACCOUNTS - 1);
        let (from, to) = (a, rng.index(b - a) + a + 1);
        let _row = self.locks[from].lock();
        let _other = self.locks[to].lock();
        let id = self.order.begin().unwrap();
        self.change(from, id, -1);
        self.change(to, id, 1);
        let number = self.order.draw_number();
        self.ended.lock().push((number.0, id.0));
        if self.order.publish(id, Some(number), || ()) || rng.one_in(5) {
            self.order.forget(|see| self.sessions.for_each(see));
        }
    }

    /// The limit of purge; it sees all whose undo log is below.
    fn limit(&self) -> Numbers {
        let oldest = self.order.oldest_view(|see| self.sessions.for_each(see));
        let ended = std::mem::take(&mut *self.ended.lock());
        let is_purged = |(number, _): &(u64, u64)| *number < oldest.low_limit_no;
        let (purged, later): (Vec<_>, Vec<_>) = ended.into_iter().partition(is_purged);
        self.ended.lock().extend(later);
        for (_, id) in purged {
            assert!(
                sees(&self.order, &oldest, id),
                "the undo of {id} is purged, and not all see it: {oldest:?}"
            );
        }
        oldest
    }

    /// Drops versions behind the newest one that every view sees.
    fn purge(&self) {
        let oldest = self.limit();
        for account in &self.accounts {
            let mut versions = account.lock();
            let keep = versions.iter().rposition(|(id, _)| sees(&self.order, &oldest, *id));
            versions.drain(..keep.expect("what was seen by all once is seen by all"));
        }
    }

    /// Balances under the view.
    fn read(&self, view: &Numbers) -> Vec<i64> {
        let mut balances = Vec::new();
        for account in &self.accounts {
            let versions = account.lock();
            let seen = versions.iter().rposition(|(id, _)| sees(&self.order, view, *id));
            let at = seen.expect("purge left what the view sees");
            assert!(
                versions[..at].iter().all(|(id, _)| sees(&self.order, view, *id)),
                "a gap under {view:?}"
            );
            balances.push(versions[at].1);
        }
        balances
    }

    fn audit(&self) {
        let trx = Arc::new(TrxShared::new(1));
        let place = self.sessions.enter(trx);
        while !self.stop.load(Ordering::Relaxed) {
            let view = self.order.open_view(&place.numbers);
            let balances = self.read(&view);
            assert_eq!(balances.iter().sum::<i64>(), 100 * ACCOUNTS as i64, "half a transfer under {view:?}");
            assert_eq!(self.read(&view), balances, "a view that changes");
            place.numbers.close();
            self.audits.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn every_view_sees_whole_transfers_whatever_is_purged_and_forgotten() {
    for ring in [1, 64, 1 << 12] {
        let bank = Bank::new(ring);
        std::thread::scope(|s| {
            let writers: Vec<_> = (0..4)
                .map(|t| {
                    let bank = &bank;
                    s.spawn(move || {
                        let mut rng = Rng::new(t);
                        // As many as it takes for the auditors to have had their turn.
                        for n in 0.. {
                            bank.transfer(&mut rng);
                            if n >= 2_000 && bank.audits.load(Ordering::Relaxed) >= 1_000 {
                                break;
                            }
                        }
                    })
                })
                .collect();
            for _ in 0..4 {
                s.spawn(|| bank.audit());
            }
            s.spawn(|| {
                while !bank.stop.load(Ordering::Relaxed) {
                    bank.purge();
                    std::thread::yield_now();
                }
            });
            s.spawn(|| {
                while !bank.stop.load(Ordering::Relaxed) {
                    bank.limit();
                }
            });
            for writer in writers {
                writer.join().unwrap();
            }
            bank.stop.store(true, Ordering::Relaxed);
        });
        bank.purge();
        assert!(bank.accounts.iter().all(|a| a.lock().len() == 1), "versions that nobody needs are left");
    }
}

#[test]
fn an_id_has_its_place_until_it_is_forgotten() {
    let map = SeqMap::new(4);
    assert_eq!(map.get(3), None);
    map.insert(3);
    map.insert(7);
    assert_eq!((map.get(3), map.get(7), map.get(11)), (Some(ACTIVE), Some(ACTIVE), None));
    assert_eq!(map.beside(), 1);
    map.commit(7, 0);
    map.commit(3, 1);
    assert_eq!((map.get(3), map.get(7)), (Some(1), Some(0)));
    map.forget(3);
    map.insert(11);
    assert_eq!((map.get(3), map.get(7), map.get(11)), (None, Some(0), Some(ACTIVE)));
    map.forget(7);
    assert_eq!((map.get(7), map.beside()), (None, 0));
}

#[test]
fn the_least_is_that_of_a_set_and_the_dead_do_not_pile_up() {
    let mut rng = Rng::new(7);
    let (mut line, mut set) = (Line::default(), BTreeSet::new());
    for n in 1..20_000 {
        line.push(n);
        set.insert(n);
        while set.len() > 200 || (!set.is_empty() && rng.one_in(2)) {
            // The first one stays for long.
            let at = rng.index(set.len()).max(usize::from(n % 5_000 != 0 && set.len() > 1));
            let gone = *set.iter().nth(at).unwrap();
            set.remove(&gone);
            line.remove(gone);
            assert_eq!(line.first(), set.first().copied());
            assert_eq!(line.len(), set.len());
            assert!(line.entries() <= 2 * set.len() + DEAD_MAX + 1);
        }
    }
}
