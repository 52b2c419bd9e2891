//! What the views of sessions see: the rules of the isolation levels, and the order of commits.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::folder;

use std::collections::HashMap;
use std::sync::Mutex;
use vaquita_base::{Lsn, Rng, TrxId};
use vaquita_format::undo::UndoKind;
use vaquita_txn::{AccessMode, Isolation, Trx, TrxSystem};

fn begin(sys: &TrxSystem) -> Trx {
    let mut trx = sys.new_trx();
    sys.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
    trx
}

fn writer(sys: &TrxSystem) -> (Trx, TrxId) {
    let mut trx = begin(sys);
    folder::change(sys, &mut trx, UndoKind::Update).unwrap();
    let id = trx.id();
    (trx, id)
}

#[test]
fn a_view_stays_as_it_was_and_the_next_one_sees_more() {
    let sys = folder::fresh(1);
    let (mut first, first_id) = writer(&sys);
    let mut reader = begin(&sys);
    let view = sys.read_view(&mut reader);
    assert!(!view.sees(&sys, first_id));
    sys.commit(&mut first).unwrap();
    let (mut second, second_id) = writer(&sys);
    sys.commit(&mut second).unwrap();
    assert_eq!(sys.read_view(&mut reader), view, "it is opened once");
    assert!(!view.sees(&sys, first_id) && !view.sees(&sys, second_id));
    assert!(!view.sees_all_up_to(first_id) && view.sees_all_up_to(TrxId(first_id.0 - 1)));
    // READ COMMITTED: the end of a statement.
    sys.close_view(&mut reader);
    assert!(reader.view().is_none());
    let view = sys.read_view(&mut reader);
    assert!(view.sees(&sys, first_id) && view.sees(&sys, second_id) && view.sees_all_up_to(second_id));
}

#[test]
fn own_changes_are_seen_also_if_the_view_came_first() {
    let sys = folder::fresh(2);
    let mut trx = begin(&sys);
    sys.read_view(&mut trx);
    let id = sys.assign_id(&mut trx).unwrap();
    assert!(trx.view().unwrap().sees(&sys, id));
    let mut other = begin(&sys);
    assert!(!sys.read_view(&mut other).sees(&sys, id));
    // The view dies with the transaction: as the next one it is somebody else.
    sys.commit(&mut trx).unwrap();
    assert!(trx.view().is_none());
}

#[test]
fn purge_waits_for_the_oldest_view_and_for_numbers_in_flight() {
    let sys = folder::fresh(3);
    let mut reader = begin(&sys);
    let view = sys.read_view(&mut reader);
    for _ in 0..10 {
        let (mut trx, _) = writer(&sys);
        sys.commit(&mut trx).unwrap();
        assert_eq!(sys.oldest_view(), view);
    }
    assert_eq!(sys.history_len(), 10);
    sys.commit(&mut reader).unwrap();
    let (_open, id) = writer(&sys);
    let oldest = sys.oldest_view();
    assert!(oldest.low_limit_no >= id && oldest.up_limit == id, "{oldest:?}");
    // A session that goes takes its view along.
    let mut reader = begin(&sys);
    sys.read_view(&mut reader);
    assert_eq!(sys.metrics().open_views, 1);
    drop(reader);
    assert_eq!(sys.metrics().open_views, 0);
}

#[test]
fn a_rolled_back_transaction_is_like_one_that_changed_nothing() {
    let sys = folder::fresh(4);
    let mut reader = begin(&sys);
    let before = sys.read_view(&mut reader);
    let (mut trx, id) = writer(&sys);
    assert_eq!(folder::roll_back(&sys, &mut trx), 1);
    assert!(!sys.is_active(id) && !before.sees(&sys, id));
    let metrics = sys.metrics();
    assert_eq!((metrics.rollbacks, metrics.commits), (1, 0));
}

/// Whoever saw a commit comes later in the log, so no cut of the log has him without it. And what a view does not see
/// stays so, while threads commit, forget and open views.
#[test]
fn who_saw_a_commit_is_behind_it_in_the_log() {
    let sys = folder::fresh(5);
    let ends: Mutex<HashMap<TrxId, Lsn>> = Mutex::default();
    let seen: Mutex<Vec<(TrxId, Lsn)>> = Mutex::default();
    std::thread::scope(|s| {
        for t in 0..8 {
            let (sys, ends, seen) = (&sys, &ends, &seen);
            s.spawn(move || {
                let mut rng = Rng::new(t);
                let mut trx = sys.new_trx();
                for _ in 0..400 {
                    sys.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
                    let view = sys.read_view(&mut trx);
                    let newest = view.low_limit.0;
                    let ids = newest.saturating_sub(100)..newest;
                    let sees: Vec<u64> = ids.clone().filter(|id| view.sees(sys, TrxId(*id))).collect();
                    for _ in 0..1 + rng.below(3) {
                        folder::change(sys, &mut trx, UndoKind::Update).unwrap();
                    }
                    let again: Vec<u64> = ids.filter(|id| view.sees(sys, TrxId(*id))).collect();
                    assert_eq!(sees, again);
                    let id = trx.id();
                    let end = sys.commit(&mut trx).unwrap().unwrap();
                    ends.lock().unwrap().insert(id, end);
                    if rng.one_in(4) {
                        sys.forget_commits();
                    }
                    seen.lock().unwrap().extend(sees.into_iter().map(|id| (TrxId(id), end)));
                }
            });
        }
    });
    sys.forget_commits();
    let ends = ends.into_inner().unwrap();
    let mut checked = 0;
    for (id, end) in seen.into_inner().unwrap() {
        // Numbers are among the ids; nobody has them.
        if let Some(earlier) = ends.get(&id) {
            assert!(*earlier < end, "{id} ends at {earlier} and was seen by one that ends at {end}");
            checked += 1;
        }
    }
    assert!(checked > 3_000, "{checked} pairs");
    let metrics = sys.metrics();
    assert_eq!((metrics.commits, metrics.active, metrics.retained), (3_200, 0, 0));
    assert_eq!(sys.history_len(), 3_200);
}
