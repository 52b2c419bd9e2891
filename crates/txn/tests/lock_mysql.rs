//! The lock manager beside a real MySQL 5.6.24: the same locks are asked for in the same order, and who waits, who is
//! rolled back, and the words of the monitor are compared.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::folder;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use vaquita_base::{HeapNo, IndexId, PageId, PageNo, SpaceId, TableId};
use vaquita_peers::{Mysql56, Options, PeerError, Server, Session};
use vaquita_txn::lock::{DeadlockReport, LockInfo, LockOutcome, RecordId, WaitPolicy};
use vaquita_txn::{AccessMode, Error, Isolation, LockMode, RecordLockKind, Trx, TrxSystem};

use LockMode::{Exclusive as X, Shared as S};
use RecordLockKind::{Gap, InsertIntention, NextKey, Record};

/// Rows 10, 20, 30 have heap numbers 2, 3, 4.
const ROWS: &str = "drop table if exists test.t; \
    create table test.t (a int primary key, b int, key(b)) engine=innodb; \
    insert into test.t values (10,10),(20,20),(30,30)";

struct Beside {
    server: Server,
    ours: Arc<TrxSystem>,
}

impl Beside {
    fn new() -> Self {
        let options =
            Options::new().set("innodb_status_output_locks", "ON").set("innodb_lock_wait_timeout", 30);
        Self { server: Mysql56::start(options).unwrap(), ours: folder::fresh(1) }
    }

    fn sessions<const N: usize>(&self) -> [Session; N] {
        self.server.sql(ROWS).unwrap();
        std::array::from_fn(|_| {
            let mut session = self.server.session().unwrap();
            session.run("use test").unwrap();
            session.run("begin").unwrap();
            session
        })
    }

    fn transactions<const N: usize>(&self) -> [Trx; N] {
        std::array::from_fn(|_| {
            let mut trx = self.ours.new_trx();
            self.ours.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
            self.ours
                .locks()
                .lock_table(&trx, TableId(1), LockMode::IntentionExclusive, WaitPolicy::Wait)
                .unwrap();
            trx
        })
    }

    fn monitor(&self) -> String {
        self.server.sql("show engine innodb status").unwrap().replace("\\n", "\n")
    }

    /// Waits until so many of the server's transactions wait.
    fn until_waiting(&self, n: usize) {
        let begin = Instant::now();
        while self.monitor().matches("TRX HAS BEEN WAITING").count() != n {
            assert!(begin.elapsed() < Duration::from_secs(60), "{n} should wait");
            std::thread::yield_now();
        }
    }

    fn lock(&self, trx: &Trx, heap: u16, mode: LockMode, kind: RecordLockKind) -> LockOutcome {
        self.ours.locks().lock_record(trx, rec(1, heap), mode, kind, WaitPolicy::Wait).unwrap()
    }
}

fn rec(index: u64, heap: u16) -> RecordId {
    let page = PageId::new(SpaceId(6), PageNo(2 + index as u32));
    RecordId { table: TableId(1), index: IndexId(index), page, heap: HeapNo(heap) }
}

/// What comes behind the transaction's id, of each record lock in a part of the monitor's output.
fn words(text: &str) -> Vec<String> {
    let locks = text.lines().filter(|line| line.starts_with("RECORD LOCKS"));
    locks.map(|line| line.split(" trx id ").nth(1).unwrap().split_once(' ').unwrap().1.to_owned()).collect()
}

fn of(lock: &LockInfo) -> String {
    words(&lock.to_string()).remove(0)
}

/// Locks of a part of the monitor's output: words, and the heap numbers listed under them.
fn locks(text: &str) -> BTreeSet<(String, Vec<u16>)> {
    let mut found: Vec<(String, Vec<u16>)> = Vec::new();
    for line in text.lines() {
        if line.starts_with("RECORD LOCKS") {
            found.push((words(line).remove(0), Vec::new()));
        } else if let Some(rest) = line.strip_prefix("Record lock, heap no ") {
            let heap = rest.split(' ').next().unwrap().parse().unwrap();
            found.last_mut().unwrap().1.push(heap);
        }
    }
    found.into_iter().collect()
}

fn part<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let begin = text.find(from).unwrap_or_else(|| panic!("{from} in {text}"));
    let rest = &text[begin + from.len()..];
    &rest[..rest.find(to).unwrap_or(rest.len())]
}

fn is_deadlock(result: &Result<String, PeerError>) -> bool {
    matches!(result, Err(PeerError::Sql(text)) if text.contains("ERROR 1213"))
}

/// The server shows of a cycle what the first waits for, what the second holds and waits for, and who goes.
fn assert_same_deadlock(monitor: &str, report: &DeadlockReport) {
    let theirs = part(monitor, "LATEST DETECTED DEADLOCK", "\nTRANSACTIONS\n");
    let n = report.members.len();
    let (first, second) = (&report.members[n - 2], &report.members[n - 1]);
    assert_eq!(words(theirs), [of(&first.waits_for), of(&second.holds), of(&second.waits_for)]);
    let victim = if report.victim == n - 1 { 2 } else { 1 };
    assert!(theirs.contains(&format!("WE ROLL BACK TRANSACTION ({victim})")), "{theirs}");
}

fn our_deadlock(beside: &Beside, victim: &Trx) -> Arc<DeadlockReport> {
    match beside.ours.locks().wait(victim) {
        Err(Error::Deadlock(report)) => report,
        other => panic!("{other:?}"),
    }
}

#[test]
fn locks_are_asked_for_granted_and_shown_alike() {
    let beside = Beside::new();
    two_that_wait_for_a_duplicate_that_is_taken_back(&beside);
    a_holder_that_inserts_before_who_waits(&beside);
    of_three_in_a_cycle_two_are_weighed(&beside);
    all_kinds_in_the_monitor(&beside);
}

/// The manual's example of a deadlock among inserts: the S requests for the duplicate become gap locks when it goes.
fn two_that_wait_for_a_duplicate_that_is_taken_back(beside: &Beside) {
    let [mut a, mut b, mut c] = beside.sessions();
    a.run("insert into t values (25,25)").unwrap();
    b.send("insert into t values (25,25)").unwrap();
    beside.until_waiting(1);
    c.send("insert into t values (25,25)").unwrap();
    beside.until_waiting(2);
    a.run("rollback").unwrap();
    assert_ne!(is_deadlock(&b.receive()), is_deadlock(&c.receive()), "one of the two");

    let [mut first, mut second, mut third] = beside.transactions();
    let sys = beside.ours.locks();
    sys.make_explicit(first.shared(), rec(1, 5)).unwrap();
    for trx in [&second, &third] {
        assert_eq!(beside.lock(trx, 5, S, Record), LockOutcome::MustWait);
    }
    sys.observer().removing(rec(1, 5).page, HeapNo(5), HeapNo(4));
    beside.ours.finish_rollback(&mut first).unwrap();
    for trx in [&second, &third] {
        sys.wait(trx).unwrap();
        assert_eq!(beside.lock(trx, 4, X, InsertIntention), LockOutcome::MustWait);
    }
    assert_same_deadlock(&beside.monitor(), &our_deadlock(beside, &third));
    beside.ours.finish_rollback(&mut third).unwrap();
    sys.wait(&second).unwrap();
    beside.ours.finish_rollback(&mut second).unwrap();
}

fn a_holder_that_inserts_before_who_waits(beside: &Beside) {
    let [mut a, mut b] = beside.sessions();
    a.run("select * from t where a=20 for update").unwrap();
    b.send("select * from t where a>=15 and a<=20 for update").unwrap();
    beside.until_waiting(1);
    a.run("insert into t values (17,1)").unwrap();
    assert!(is_deadlock(&b.receive()), "the lighter one");

    let [mut first, mut second] = beside.transactions();
    beside.lock(&first, 3, X, Record);
    assert_eq!(beside.lock(&second, 3, X, NextKey), LockOutcome::MustWait);
    assert_eq!(beside.lock(&first, 3, X, InsertIntention), LockOutcome::MustWait);
    beside.ours.locks().wait(&first).unwrap();
    assert_same_deadlock(&beside.monitor(), &our_deadlock(beside, &second));
    beside.ours.finish_rollback(&mut first).unwrap();
    beside.ours.finish_rollback(&mut second).unwrap();
}

fn of_three_in_a_cycle_two_are_weighed(beside: &Beside) {
    let [mut a, mut b, mut c] = beside.sessions();
    // The first is the lightest, the last the heaviest.
    a.run("select * from t where a=10 for update").unwrap();
    b.run("select * from t where a=20 for update").unwrap();
    b.run("insert into t values (101,1),(102,2)").unwrap();
    c.run("select * from t where a=30 for update").unwrap();
    c.run("insert into t values (103,1),(104,1),(105,1),(106,1)").unwrap();
    a.send("select * from t where a=20 for update").unwrap();
    beside.until_waiting(1);
    b.send("select * from t where a=30 for update").unwrap();
    beside.until_waiting(2);
    c.send("select * from t where a=10 for update").unwrap();
    assert!(is_deadlock(&b.receive()));
    a.receive().unwrap();
    a.run("commit").unwrap();
    c.receive().unwrap();

    let [mut first, mut second, mut third] = beside.transactions();
    for (trx, heap, more) in [(&first, 2, 0), (&second, 3, 2), (&third, 4, 4)] {
        beside.lock(trx, heap, X, Record);
        for index in 2..2 + more {
            let sys = beside.ours.locks();
            sys.lock_record(trx, rec(index, heap), S, NextKey, WaitPolicy::Wait).unwrap();
        }
    }
    assert_eq!(beside.lock(&first, 3, X, Record), LockOutcome::MustWait);
    assert_eq!(beside.lock(&second, 4, X, Record), LockOutcome::MustWait);
    assert_eq!(beside.lock(&third, 2, X, Record), LockOutcome::MustWait);
    // Looks for the cycle, finds it, and does not wait for long.
    third.set_lock_wait_timeout_us(0);
    assert!(matches!(beside.ours.locks().wait(&third), Err(Error::LockWaitTimeout)));
    assert_same_deadlock(&beside.monitor(), &our_deadlock(beside, &second));
    beside.ours.finish_rollback(&mut second).unwrap();
    beside.ours.locks().wait(&first).unwrap();
    beside.ours.finish_rollback(&mut first).unwrap();
    beside.ours.finish_rollback(&mut third).unwrap();
}

fn all_kinds_in_the_monitor(beside: &Beside) {
    let [mut a, mut b] = beside.sessions();
    a.run("select * from t where a=15 for update").unwrap();
    a.run("select * from t where a=20 for update").unwrap();
    a.run("select * from t where a>25 for update").unwrap();
    a.run("select * from t where b=20 lock in share mode").unwrap();
    b.send("insert into t values (40,40)").unwrap();
    beside.until_waiting(1);
    let monitor = beside.monitor();
    // Below the locks of the waiting one, which are listed twice, the other's.
    let theirs = locks(part(&monitor, "LIST OF TRANSACTIONS", "FILE I/O"));

    let [mut first, mut second] = beside.transactions();
    beside.lock(&first, 3, X, Gap);
    beside.lock(&first, 3, X, Record);
    beside.lock(&first, 4, X, NextKey);
    beside.lock(&first, 1, X, NextKey);
    for (heap, kind) in [(3, NextKey), (4, Gap)] {
        beside.ours.locks().lock_record(&first, rec(2, heap), S, kind, WaitPolicy::Wait).unwrap();
    }
    assert_eq!(beside.lock(&second, 1, X, InsertIntention), LockOutcome::MustWait);
    let snapshot = beside.ours.locks().snapshot();
    let record = snapshot.locks.iter().filter(|row| row.lock.type_column() == "RECORD");
    let ours: BTreeSet<_> =
        record.map(|row| (of(&row.lock), row.heaps.iter().map(|h| h.get()).collect())).collect();
    assert_eq!(ours, theirs);

    // The server's tables of locks are as old as 100 ms after the last look, and are looked at for the first time.
    let modes = "select lock_mode, lock_type, lock_rec from information_schema.innodb_locks order by lock_trx_id desc";
    let ours: Vec<Vec<String>> = snapshot
        .contended()
        .iter()
        .map(|lock| {
            let heap = lock.id().rsplit(':').next().unwrap().to_owned();
            vec![lock.mode_column(), lock.type_column().to_owned(), heap]
        })
        .collect();
    assert_eq!(ours, beside.server.rows(modes).unwrap());
    a.run("rollback").unwrap();
    b.receive().unwrap();
    beside.ours.finish_rollback(&mut first).unwrap();
    beside.ours.locks().wait(&second).unwrap();
    beside.ours.finish_rollback(&mut second).unwrap();
    assert_eq!(beside.ours.locks().metrics().lock_structs, 0);
}
