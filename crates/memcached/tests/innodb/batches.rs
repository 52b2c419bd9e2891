//! Transactions of several operations, isolation levels, row locks.

use crate::innodb::bed::{Bed, Ops, insert};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use vaquita_base::Clock;
use vaquita_engine::{AccessMode, Error, Field, Isolation, RowKey, Session, stored};
use vaquita_memcached::store::{Count, Counted, Failure, Mode, Outcome, Store};

/// The value SQL sees in an isolation level.
fn sql_sees(session: &mut Session, bed: &Bed, key: &str, isolation: Isolation) -> Option<String> {
    session.settings.isolation = isolation;
    let table = bed.table("test/demo_test");
    let options = vaquita_engine::ReadOptions::by_index(0).columns([1]);
    let mut read = vaquita_engine::PointRead::new(table, options).expect("there is such an index");
    let value = session.run(|s| {
        s.get(&mut read, &[Some(key.as_bytes())], |row| {
            String::from_utf8_lossy(row.column(0).unwrap_or_default()).into_owned()
        })
    });
    value.expect("the row is read")
}

fn update(session: &mut Session, bed: &Bed, key: &str, value: &str) -> vaquita_engine::Result<bool> {
    let table = bed.table("test/demo_test");
    session.run(|s| s.update(&table, &RowKey::new([key.as_bytes()]), &[(1, Some(value.as_bytes()))]))
}

#[test]
fn so_many_changes_are_one_transaction() {
    let bed = Bed::new();
    bed.settings.w_batch_size.store(3, Relaxed);
    let (mut store, mut sql) = (bed.store(), bed.session());
    store.set("a", "1");
    store.set("b", "2");
    assert!(store.in_batch() && store.durability().is_none());
    assert_eq!(sql_sees(&mut sql, &bed, "a", Isolation::ReadCommitted), None);
    assert_eq!(sql_sees(&mut sql, &bed, "a", Isolation::ReadUncommitted), Some("1".into()));
    store.set("c", "3");
    assert!(!store.in_batch());
    assert!(store.durability().is_some_and(|d| d.lsn().is_some()));
    assert_eq!(sql_sees(&mut sql, &bed, "a", Isolation::ReadCommitted), Some("1".into()));
}

#[test]
fn a_read_ends_the_transaction_when_there_were_enough_reads() {
    let bed = Bed::new();
    bed.settings.w_batch_size.store(10, Relaxed);
    let mut store = bed.store();
    store.set("a", "1");
    // r_batch_size is 1.
    assert_eq!(store.value("a"), Some("1".into()));
    assert!(!store.in_batch());
    bed.settings.r_batch_size.store(5, Relaxed);
    store.set("a", "2");
    assert_eq!(store.all(&["a", "AA", "x", "y"]).map(|all| all.len()), Ok(2));
    assert!(store.in_batch(), "four keys are four reads");
    assert_eq!(store.value("a"), Some("2".into()));
    assert!(!store.in_batch());
}

#[test]
fn idle_transactions_are_committed() {
    let bed = Bed::new();
    bed.settings.w_batch_size.store(100, Relaxed);
    let (mut store, mut sql) = (bed.store(), bed.session());
    store.set("a", "1");
    bed.clock.sleep(Duration::from_secs(4));
    assert_eq!(store.commit_idle(), Ok(false));
    bed.clock.sleep(Duration::from_secs(1));
    assert_eq!(store.commit_idle(), Ok(true));
    assert_eq!(sql_sees(&mut sql, &bed, "a", Isolation::ReadCommitted), Some("1".into()));
    assert_eq!(store.commit_idle(), Ok(false));
    bed.settings.bk_commit_interval.store(1, Relaxed);
    store.set("a", "2");
    bed.clock.sleep(Duration::from_secs(1));
    assert_eq!(store.commit_idle(), Ok(true));
}

#[test]
fn isolation_levels_of_reads() {
    for (level, uncommitted, after_commit) in
        [(0, "dirty", "dirty"), (1, "HELLO, HELLO", "dirty"), (2, "HELLO, HELLO", "HELLO, HELLO")]
    {
        let bed = Bed::new();
        bed.settings.trx_level.store(level, Relaxed);
        bed.settings.r_batch_size.store(1_000, Relaxed);
        let (mut store, mut sql) = (bed.store(), bed.session());
        assert_eq!(store.value("AA"), Some("HELLO, HELLO".into()));
        sql.begin(AccessMode::ReadWrite, false).unwrap();
        assert!(update(&mut sql, &bed, "AA", "dirty").unwrap());
        assert_eq!(store.value("AA").as_deref(), Some(uncommitted), "level {level}");
        drop(sql.commit().unwrap());
        assert_eq!(store.value("AA").as_deref(), Some(after_commit), "level {level}");
        store.commit().unwrap();
        assert_eq!(store.value("AA").as_deref(), Some("dirty"), "level {level}");
    }
}

#[test]
fn serializable_reads_of_a_batch_lock() {
    let bed = Bed::new();
    bed.settings.trx_level.store(3, Relaxed);
    let (mut store, mut sql) = (bed.store(), bed.session());
    store.value("AA");
    assert!(update(&mut sql, &bed, "AA", "1").unwrap(), "a read alone locks nothing");
    bed.settings.r_batch_size.store(10, Relaxed);
    store.value("AA");
    assert!(matches!(update(&mut sql, &bed, "AA", "2"), Err(Error::LockWaitTimeout)));
    store.commit().unwrap();
    assert!(update(&mut sql, &bed, "AA", "2").unwrap());
}

#[test]
fn row_locks_hold_both_ways() {
    let bed = Bed::new();
    let (mut store, mut sql) = (bed.store(), bed.session());
    sql.begin(AccessMode::ReadWrite, false).unwrap();
    update(&mut sql, &bed, "AA", "sql").unwrap();
    let busy = |done: Result<Outcome, Failure>| assert!(matches!(done, Err(Failure::Busy(_))), "{done:?}");
    busy(store.keep(Mode::Set, "AA", "x"));
    busy(store.keep(Mode::Add, "AA", "x"));
    busy(store.keep(Mode::Append, "AA", "x"));
    busy(store.delete(b"AA", 0));
    let up = Count { delta: 1, down: false, initial: None, expires: None, cas: 0 };
    assert!(matches!(store.count(b"AA", &up), Err(Failure::Busy(_))));
    store.set("other", "1");
    sql.rollback().unwrap();
    store.set("AA", "x");

    bed.settings.w_batch_size.store(10, Relaxed);
    store.set("AA", "y");
    assert!(matches!(update(&mut sql, &bed, "AA", "sql"), Err(Error::LockWaitTimeout)));
    assert!(update(&mut sql, &bed, "other", "sql").unwrap());
    store.commit().unwrap();
    assert!(update(&mut sql, &bed, "AA", "sql").unwrap());
}

#[test]
fn without_row_locks_the_table_is_locked() {
    let bed = Bed::new();
    bed.settings.disable_rowlock.store(true, Relaxed);
    bed.settings.w_batch_size.store(10, Relaxed);
    let (mut store, mut sql) = (bed.store(), bed.session());
    store.set("new", "y");
    assert!(matches!(update(&mut sql, &bed, "AA", "sql"), Err(Error::LockWaitTimeout)));
    store.commit().unwrap();
    assert!(update(&mut sql, &bed, "AA", "sql").unwrap());
}

#[test]
fn a_failed_change_leaves_the_others() {
    let bed = Bed::new();
    bed.settings.w_batch_size.store(3, Relaxed);
    let (mut store, mut sql) = (bed.store(), bed.session());
    sql.begin(AccessMode::ReadWrite, false).unwrap();
    update(&mut sql, &bed, "AA", "sql").unwrap();
    store.set("a", "1");
    assert!(matches!(store.keep(Mode::Set, "AA", "x"), Err(Failure::Busy(_))));
    assert_eq!(store.keep(Mode::Set, "b", &"v".repeat(2_000)), Err(Failure::TooLarge));
    store.set("c", "3");
    store.commit().unwrap();
    sql.rollback().unwrap();
    assert_eq!(store.all(&["a", "c"]).map(|all| all.len()), Ok(2));
    assert_eq!(store.value("AA"), Some("HELLO, HELLO".into()));
}

#[test]
fn a_deadlock_is_told_with_what_it_cost() {
    let bed = Bed::new();
    bed.settings.w_batch_size.store(10, Relaxed);
    bed.settings.lock_wait_timeout.store(50, Relaxed);
    let (mut a, mut b) = (bed.store(), bed.store());
    a.set("a", "0");
    a.set("b", "0");
    a.commit().unwrap();
    a.set("a", "A");
    b.set("b", "B");
    let (first, second) = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let done = b.keep(Mode::Set, "a", "B");
            (done, b)
        });
        while bed.engine.core().txn.locks().metrics().waiting == 0 {
            std::thread::yield_now();
        }
        let mine = a.keep(Mode::Set, "b", "A");
        if mine.is_ok() {
            a.commit().unwrap();
        }
        let (other, mut b) = other.join().unwrap();
        b.commit().unwrap();
        (mine, other)
    });
    a.commit().unwrap();
    let lost = [&first, &second].into_iter().find_map(|done| done.as_ref().err()).expect("one lost");
    let text = lost.to_string();
    assert!(text.ends_with("; 1 earlier changes of the transaction were rolled back"), "{text}");
    let all = a.all(&["a", "b"]).unwrap();
    let values: Vec<&[u8]> = all.iter().map(|(_, seen)| &seen.2[..]).collect();
    assert!(values == [b"A", b"A"] || values == [b"B", b"B"], "{values:?}");
}

#[test]
fn a_batch_spans_mappings() {
    let bed = Bed::new();
    bed.map(["other", "test", "demo_test", "c1", "c2", "0", "", "", "PRIMARY"]);
    bed.settings.w_batch_size.store(2, Relaxed);
    let mut store = bed.store();
    store.set("@@other.a", "1");
    assert!(store.in_batch());
    store.set("@@default.b", "1");
    assert!(!store.in_batch());
    assert_eq!(bed.rows("test/demo_test").len(), 3);
}

#[test]
fn a_session_that_goes_takes_its_changes_back() {
    let bed = Bed::new();
    bed.settings.w_batch_size.store(10, Relaxed);
    let mut store = bed.store();
    store.set("a", "1");
    drop(store);
    assert_eq!(bed.store().one("a"), None);
    let n = stored::int(0);
    let row: [Field<'_>; 5] = [Some(b"a"), Some(b"sql"), Some(&n), None, None];
    insert(&mut bed.session(), "test/demo_test", &row);
    assert!(matches!(
        bed.store().count(b"a", &Count { delta: 1, down: false, initial: None, expires: None, cas: 0 }),
        Ok(Counted::NotANumber)
    ));
}
