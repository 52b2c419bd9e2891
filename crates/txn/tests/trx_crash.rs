//! What a crash leaves of transactions: the committed are seen, the active come back to be rolled back, the prepared
//! wait for their verdict.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::folder;

use folder::roll_back;
use std::collections::BTreeMap;
use vaquita_base::{Lsn, Rng, TrxId};
use vaquita_format::undo::{UndoKind, Xid};
use vaquita_io::sim::SimDisk;
use vaquita_txn::trx_sys::Resurrected;
use vaquita_txn::{AccessMode, Isolation, Trx, TrxState, TrxSystem};

fn xid(n: u64) -> Xid {
    Xid::new(1, format!("global {n}").as_bytes(), b"branch").unwrap()
}

fn begin(sys: &TrxSystem, records: u64) -> Trx {
    let mut trx = sys.new_trx();
    start(sys, &mut trx);
    for _ in 0..records {
        folder::change(sys, &mut trx, UndoKind::Update).unwrap();
    }
    trx
}

fn start(sys: &TrxSystem, trx: &mut Trx) {
    sys.start(trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
}

fn flush(sys: &TrxSystem) -> bool {
    let log = sys.storage().log();
    log.flush_up_to(log.current_lsn()).is_ok()
}

/// Whether a view opened now sees the transaction.
fn is_seen(sys: &TrxSystem, id: TrxId) -> bool {
    let mut reader = begin(sys, 0);
    let view = sys.read_view(&mut reader);
    sys.commit(&mut reader).unwrap();
    view.sees(sys, id)
}

#[test]
fn each_comes_back_as_what_it_was() {
    let disk = folder::disk(1);
    let (sys, _) = folder::open(&disk);
    let mut dictionary = sys.new_trx();
    start(&sys, &mut dictionary);
    sys.set_dict_operation(&mut dictionary);
    for kind in [UndoKind::Insert, UndoKind::Update, UndoKind::Insert] {
        folder::change(&sys, &mut dictionary, kind).unwrap();
    }
    let mut prepared = begin(&sys, 2);
    sys.prepare(&mut prepared, xid(7)).unwrap();
    let mut committed = begin(&sys, 1);
    let ids = [dictionary.id(), prepared.id(), committed.id()];
    sys.commit(&mut committed).unwrap();
    assert!(flush(&sys));
    drop((sys, dictionary, prepared, committed));

    let disk = disk.restart();
    let (sys, found) = folder::open(&disk);
    assert!(sys.next_id() > ids[2]);
    let kinds: Vec<_> = found.iter().map(|f| (f.trx.id(), f.trx.state(), f.dict_operation, f.xid)).collect();
    assert_eq!(
        kinds,
        [(ids[0], TrxState::Active, true, None), (ids[1], TrxState::Prepared, false, Some(xid(7)))]
    );
    assert_eq!(sys.min_active_id(), ids[0]);
    assert_eq!(
        ids.map(|id| (sys.is_active(id), is_seen(&sys, id))),
        [(true, false), (true, false), (false, true)]
    );
    assert_eq!(sys.find_active(ids[1]).unwrap().undo_records(), 2);

    let [mut active, prepared]: [Resurrected; 2] = found.try_into().unwrap();
    sys.detach_prepared(prepared.trx);
    assert_eq!(roll_back(&sys, &mut active.trx), 3);
    assert!(!sys.is_active(ids[0]));
    assert_eq!(sys.prepared_xids(), [xid(7)]);
    assert!(sys.take_prepared(&xid(8)).is_none());
    let mut prepared = sys.take_prepared(&xid(7)).unwrap();
    assert!(sys.take_prepared(&xid(7)).is_none(), "it has one owner");
    let mut before = begin(&sys, 0);
    let before = sys.read_view(&mut before);
    sys.commit(&mut prepared).unwrap();
    assert!(sys.prepared_xids().is_empty() && sys.active().is_empty());
    assert!(is_seen(&sys, ids[1]) && !before.sees(&sys, ids[1]));
    assert!(flush(&sys));
    let (sys, found) = folder::open(&disk.restart());
    assert!(found.is_empty());
    assert!(sys.active().is_empty());
}

#[test]
fn a_prepared_transaction_whose_rollback_began_does_not_come_back_prepared() {
    let disk = folder::disk(2);
    let (sys, _) = folder::open(&disk);
    let mut trx = begin(&sys, 4);
    sys.prepare(&mut trx, xid(1)).unwrap();
    sys.unprepare_undo(&mut trx).unwrap();
    assert!(flush(&sys));
    drop((sys, trx));
    let (sys, mut found) = folder::open(&disk.restart());
    assert_eq!((found.len(), found[0].trx.state()), (1, TrxState::Active));
    assert_eq!(roll_back(&sys, &mut found[0].trx), 4);
}

/// What the log says of a transaction, if it is durable so far.
#[derive(Debug, Clone, Copy)]
enum Last {
    Active,
    Prepared(Lsn, u64),
    Ended(Lsn),
}

/// Random transactions until the power goes, then what they were last by the log: what is known of each id.
fn work(sys: &TrxSystem, disk: &SimDisk, rng: &mut Rng, all: &mut BTreeMap<TrxId, Last>) -> Option<()> {
    let mut sessions: Vec<Trx> = (0..6).map(|_| sys.new_trx()).collect();
    disk.arm_cut(disk.ops() + 1 + rng.below(200));
    for n in 0..600 {
        let trx = &mut sessions[rng.index(6)];
        match (trx.state(), rng.below(8)) {
            (TrxState::NotStarted, _) => start(sys, trx),
            (TrxState::Active, 0..=4) => {
                let kind = if rng.one_in(2) { UndoKind::Insert } else { UndoKind::Update };
                folder::change(sys, trx, kind)?;
                all.insert(trx.id(), Last::Active);
            }
            (TrxState::Active, 5) => {
                let lsn = sys.prepare(trx, xid(n)).ok()?;
                if let Some(lsn) = lsn {
                    all.insert(trx.id(), Last::Prepared(lsn, trx.undo_no()));
                }
            }
            (_, 6) => {
                let id = trx.id();
                sys.unprepare_undo(trx).ok()?;
                all.insert(id, Last::Active);
                folder::take_back(sys, trx)?;
                let lsn = sys.finish_rollback(trx).ok()?;
                all.insert(id, Last::Ended(lsn.unwrap_or(Lsn::ZERO)));
            }
            _ => {
                let id = trx.id();
                let lsn = sys.commit(trx).ok()?;
                all.insert(id, Last::Ended(lsn.unwrap_or(Lsn::ZERO)));
            }
        }
        if rng.one_in(10) && !flush(sys) {
            return None;
        }
    }
    Some(())
}

#[test]
fn what_was_durable_is_what_comes_back() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut disk = folder::disk(seed);
        for _ in 0..3 {
            let (sys, found) = folder::open(&disk);
            for mut left in found {
                roll_back(&sys, &mut left.trx);
            }
            let mut all = BTreeMap::new();
            let _ = work(&sys, &disk, &mut rng, &mut all);
            all.remove(&TrxId(0));
            let durable = sys.storage().log().flushed_lsn();
            drop(sys);
            disk = disk.restart();

            let (sys, found) = folder::open(&disk);
            let found: BTreeMap<TrxId, &Resurrected> = found.iter().map(|f| (f.trx.id(), f)).collect();
            // An id of which nothing became durable may be given again.
            for (id, last) in all.iter().filter(|(id, _)| **id < sys.next_id()) {
                let comes_back = found.get(id);
                assert_eq!(is_seen(&sys, *id), comes_back.is_none(), "seed {seed}: {id}");
                match last {
                    Last::Ended(lsn) if *lsn <= durable => {
                        assert!(comes_back.is_none(), "seed {seed}: {id} had ended");
                    }
                    Last::Prepared(lsn, records) if *lsn <= durable => {
                        let trx = &comes_back.expect("a prepared transaction comes back").trx;
                        assert_eq!(
                            (trx.state(), trx.undo_no()),
                            (TrxState::Prepared, *records),
                            "seed {seed}"
                        );
                    }
                    _ => {}
                }
            }
            let lost = all.range(sys.next_id()..).find(|(_, last)| {
                matches!(last, Last::Prepared(lsn, _) | Last::Ended(lsn) if *lsn > Lsn::ZERO && *lsn <= durable)
            });
            assert!(lost.is_none(), "seed {seed}: {lost:?} is durable, and its id is given again");
            for id in found.keys() {
                assert!(all.contains_key(id) && *id < sys.next_id(), "seed {seed}: {id} was nobody");
            }
        }
    }
}
