//! What a commit waits for under `flush_log_at_trx_commit`, on a thread and awaited.

use crate::rows::bed::{Bed, int, specs};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use vaquita_engine::{Durability, Session, Table};

/// Commits a row.
fn commit(session: &mut Session, table: &Arc<Table>, key: i32) -> Durability {
    let mut row = vec![None; table.columns.len()];
    row[0] = int(key);
    session
        .run_detached(|s| s.insert(table, &row.iter().map(Option::as_deref).collect::<Vec<_>>()))
        .unwrap()
        .1
}

/// Asked once, by somebody who is not to be woken.
fn poll(durability: Durability) -> Poll<vaquita_engine::Result<()>> {
    pin!(durability).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn only_policy_1_waits_for_a_sync() {
    let bed = Bed::new(1);
    let table = bed.create(&specs()[0]);
    let log = bed.engine.core().storage.log();
    let mut session = bed.session();
    let mut keys = 1..;
    for (policy, is_written) in [(0, false), (2, true)] {
        session.settings.flush_log_at_trx_commit = policy;
        for way in ["wait", "poll"] {
            let syncs = log.stats().syncs.get();
            let durability = commit(&mut session, &table, keys.next().unwrap());
            let lsn = durability.lsn().unwrap();
            assert_eq!(durability.is_to_be_waited_for(), is_written);
            assert!(durability.waits_shortly());
            match way {
                "wait" => durability.wait().unwrap(),
                _ => assert!(matches!(poll(durability), Poll::Ready(Ok(()))), "policy {policy}"),
            }
            assert_eq!(log.written_lsn() >= lsn, is_written, "policy {policy}, {way}");
            assert!(log.flushed_lsn() < lsn, "policy {policy}, {way}");
            assert_eq!(log.stats().syncs.get(), syncs, "policy {policy}, {way}");
            // Nobody was asked to sync later on, either.
            assert_eq!(log.step().unwrap(), vaquita_storage::log::Progress::Idle);
        }
    }
    session.settings.flush_log_at_trx_commit = 1;
    let durability = commit(&mut session, &table, keys.next().unwrap());
    let lsn = durability.lsn().unwrap();
    assert!(durability.is_to_be_waited_for());
    let mut awaited = pin!(durability);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(awaited.as_mut().poll(&mut cx).is_pending());
    log.step().unwrap();
    assert!(log.flushed_lsn() >= lsn);
    assert!(matches!(awaited.poll(&mut cx), Poll::Ready(Ok(()))));
    let durability = commit(&mut session, &table, keys.next().unwrap());
    let lsn = durability.lsn().unwrap();
    durability.wait().unwrap();
    assert!(log.flushed_lsn() >= lsn);
}

#[test]
fn what_is_durable_is_not_waited_for() {
    let bed = Bed::new(2);
    let table = bed.create(&specs()[0]);
    let mut session = bed.session();
    let first = commit(&mut session, &table, 1);
    commit(&mut session, &table, 2).wait().unwrap();
    assert!(!first.is_to_be_waited_for() && first.is_durable());
    assert!(!Durability::default().is_to_be_waited_for(), "nothing was changed");
}
