//! Locks and the end of transactions: who was let go on by a commit sees it.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::folder;

use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_base::{HeapNo, IndexId, PageId, PageNo, SpaceId, TableId, TrxId};
use vaquita_format::undo::{UndoKind, Xid};
use vaquita_txn::lock::{LockOutcome, RecordId, WaitPolicy};
use vaquita_txn::{AccessMode, Error, Isolation, LockMode, RecordLockKind, Trx, TrxSystem};

const ROW: RecordId = RecordId {
    table: TableId(1_000),
    index: IndexId(2_000),
    page: PageId::new(SpaceId(5), PageNo(3)),
    heap: HeapNo(2),
};

fn begin(sys: &TrxSystem, isolation: Isolation) -> Trx {
    let mut trx = sys.new_trx();
    sys.start(&mut trx, isolation, AccessMode::ReadWrite);
    trx
}

fn lock(sys: &TrxSystem, trx: &Trx, kind: RecordLockKind, policy: WaitPolicy) -> Result<(), Error> {
    while sys.locks().lock_record(trx, ROW, LockMode::Exclusive, kind, policy)? == LockOutcome::MustWait {
        sys.locks().wait(trx)?;
    }
    Ok(())
}

/// Each thread locks the row, looks who wrote it last, and writes it. Whoever holds the lock must see the last writer in
/// a view, and a view opened by anybody else that sees him must see those before him.
#[test]
fn who_gets_a_lock_sees_the_commit_that_gave_it_back() {
    let sys = folder::fresh(1);
    let last = AtomicU64::new(0);
    std::thread::scope(|s| {
        for _ in 0..6 {
            s.spawn(|| {
                let mut trx = sys.new_trx();
                for _ in 0..300 {
                    sys.start(&mut trx, Isolation::ReadCommitted, AccessMode::ReadWrite);
                    lock(&sys, &trx, RecordLockKind::Record, WaitPolicy::Wait).unwrap();
                    let before = TrxId(last.load(Ordering::Relaxed));
                    let view = sys.read_view(&mut trx);
                    assert!(view.sees(&sys, before) && !sys.is_active(before), "{before} under {view:?}");
                    folder::change(&sys, &mut trx, UndoKind::Update).unwrap();
                    last.store(trx.id().0, Ordering::Relaxed);
                    sys.commit(&mut trx).unwrap();
                }
            });
        }
    });
    sys.locks().validate();
    assert_eq!(sys.metrics().commits, 1_800);
}

#[test]
fn every_end_gives_locks_back() {
    let sys = folder::fresh(2);
    let free = |sys: &TrxSystem| {
        let trx = begin(sys, Isolation::RepeatableRead);
        let free = lock(sys, &trx, RecordLockKind::NextKey, WaitPolicy::NoWait).is_ok();
        sys.locks().release_all(trx.shared());
        free
    };
    for end in 0..4 {
        let mut trx = begin(&sys, Isolation::RepeatableRead);
        if end > 0 {
            folder::change(&sys, &mut trx, UndoKind::Insert).unwrap();
        }
        lock(&sys, &trx, RecordLockKind::NextKey, WaitPolicy::NoWait).unwrap();
        let info = sys.describe()[0];
        assert_eq!((info.records_locked, info.lock_structs, info.waiting_since_us), (1, 1, None));
        assert!(!free(&sys));
        match end {
            // Without an id, with one, taken back, prepared and then committed.
            0 | 1 => drop(sys.commit(&mut trx).unwrap()),
            2 => drop(folder::roll_back(&sys, &mut trx)),
            _ => {
                let xid = Xid::new(1, b"x", b"y").unwrap();
                sys.prepare(&mut trx, xid).unwrap();
                sys.detach_prepared(trx);
                assert!(!free(&sys), "a prepared transaction keeps its locks");
                sys.commit(&mut sys.take_prepared(&xid).unwrap()).unwrap();
            }
        }
        assert!(free(&sys), "end {end}");
    }
}

#[test]
fn a_handle_ends_the_wait_of_whatever_transaction_the_session_has() {
    let sys = folder::fresh(3);
    let mut holder = begin(&sys, Isolation::RepeatableRead);
    lock(&sys, &holder, RecordLockKind::Record, WaitPolicy::NoWait).unwrap();
    let mut waiter = begin(&sys, Isolation::RepeatableRead);
    let handle = waiter.handle();
    // The object is another one when it waits.
    sys.assign_id(&mut waiter).unwrap();
    let held_by_others = waiter.shared().clone();
    sys.commit(&mut waiter).unwrap();
    std::thread::scope(|s| {
        s.spawn(|| {
            while !handle.current().locks().is_waiting() {
                std::thread::yield_now();
            }
            assert!(sys.describe().iter().any(|info| info.waiting_since_us.is_some()));
            handle.interrupt();
        });
        sys.start(&mut waiter, Isolation::RepeatableRead, AccessMode::ReadWrite);
        assert!(!std::sync::Arc::ptr_eq(waiter.shared(), &held_by_others));
        let waited = lock(&sys, &waiter, RecordLockKind::Record, WaitPolicy::Wait);
        assert!(matches!(waited, Err(Error::Interrupted)), "{waited:?}");
    });
    sys.commit(&mut waiter).unwrap();
    sys.commit(&mut holder).unwrap();
}
