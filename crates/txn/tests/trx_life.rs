//! Transactions start, get ids, end; others see them meanwhile as what they are.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::folder;

use std::collections::BTreeSet;
use vaquita_base::TrxId;
use vaquita_txn::{AccessMode, Error, Isolation, Trx, TrxState, TrxSystem};

fn begin(sys: &TrxSystem) -> Trx {
    let mut trx = sys.new_trx();
    sys.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
    trx
}

fn begin_writing(sys: &TrxSystem) -> Trx {
    let mut trx = begin(sys);
    sys.assign_id(&mut trx).unwrap();
    trx
}

#[test]
fn an_id_comes_with_the_first_change_and_ends_with_the_commit() {
    let sys = folder::fresh(1);
    let mut trx = begin(&sys);
    assert_eq!((trx.id(), trx.state()), (TrxId(0), TrxState::Active));
    assert!(sys.active().is_empty());
    let id = sys.assign_id(&mut trx).unwrap();
    assert_eq!(sys.assign_id(&mut trx).unwrap(), id, "once only");
    assert_eq!(trx.id(), id);
    assert!(sys.is_active(id) && sys.min_active_id() == id);
    assert_eq!(sys.find_active(id).unwrap().serial(), trx.shared().serial());
    sys.commit(&mut trx).unwrap();
    assert_eq!((trx.id(), trx.state()), (TrxId(0), TrxState::NotStarted));
    assert!(!sys.is_active(id) && sys.find_active(id).is_none() && sys.active().is_empty());
    assert!(sys.min_active_id() > id);
    sys.start(&mut trx, Isolation::ReadCommitted, AccessMode::ReadWrite);
    assert!(sys.assign_id(&mut trx).unwrap() > id);
}

#[test]
fn a_read_only_transaction_gets_no_id() {
    let sys = folder::fresh(2);
    let mut trx = sys.new_trx();
    sys.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadOnly);
    let next = sys.next_id();
    sys.read_view(&mut trx);
    assert!(matches!(sys.assign_id(&mut trx), Err(Error::ReadOnly)));
    assert_eq!(sys.commit(&mut trx).unwrap(), None);
    assert_eq!(sys.next_id(), next);
    let metrics = sys.metrics();
    assert_eq!((metrics.read_only, metrics.commits, metrics.views_opened), (1, 0, 1));
}

#[test]
fn a_transaction_that_others_hold_does_not_come_back_to_life_in_their_hands() {
    let sys = folder::fresh(3);
    let mut trx = begin_writing(&sys);
    let (id, handle) = (trx.id(), trx.handle());
    trx.set_tag(77);
    let met = sys.find_active(id).unwrap();
    sys.commit(&mut trx).unwrap();
    sys.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
    let second = sys.assign_id(&mut trx).unwrap();
    assert_eq!((met.id(), met.state()), (id, TrxState::Committed));
    // The session's handle follows it.
    assert_eq!(handle.current().id(), second);
    let info = sys.describe();
    assert_eq!((info.len(), info[0].id, info[0].tag), (1, second, 77));
    // The object is used again when nobody holds it.
    drop(met);
    let serial = trx.shared().serial();
    sys.commit(&mut trx).unwrap();
    sys.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
    assert_eq!(trx.shared().serial(), serial);
}

#[test]
fn the_least_active_id_follows_commits_in_any_order() {
    let sys = folder::fresh(4);
    let mut all: Vec<Trx> = (0..2_000).map(|_| begin_writing(&sys)).collect();
    let mut ids: BTreeSet<TrxId> = all.iter().map(Trx::id).collect();
    assert_eq!(ids.len(), 2_000);
    assert_eq!(sys.active().iter().map(|t| t.id()).collect::<Vec<_>>(), Vec::from_iter(ids.clone()));
    let mut rng = vaquita_base::Rng::new(4);
    while !all.is_empty() {
        let mut trx = all.swap_remove(rng.index(all.len()));
        ids.remove(&trx.id());
        sys.commit(&mut trx).unwrap();
        match ids.first() {
            Some(least) => assert_eq!(sys.min_active_id(), *least),
            None => assert_eq!(sys.min_active_id(), sys.next_id()),
        }
    }
    let metrics = sys.metrics();
    assert_eq!((metrics.commits, metrics.active, metrics.sessions), (2_000, 0, 0));
}

#[test]
fn monitors_list_what_runs() {
    let sys = folder::fresh(5);
    let _idle = sys.new_trx();
    let reader = begin(&sys);
    let writer = begin_writing(&sys);
    let infos = sys.describe();
    let serials: Vec<u64> = infos.iter().map(|i| i.serial).collect();
    assert_eq!(serials, [reader.shared().serial(), writer.shared().serial()]);
    assert_eq!((infos[0].id, infos[1].id), (TrxId(0), writer.id()));
    assert_eq!(infos[1].isolation, Isolation::RepeatableRead);
}
