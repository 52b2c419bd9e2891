//! Deadlocks: found, judged, reported.

use super::*;
use crate::Error;
use crate::claim::trx_locks::Outcome;
use vaquita_btree::Observer;

/// Waits, and must be told to roll back; the report.
fn victim(bed: &Bed, trx: &TrxRef) -> Arc<super::super::DeadlockReport> {
    match bed.wait(trx) {
        Err(Error::Deadlock(report)) => report,
        other => panic!("{other:?}"),
    }
}

#[test]
fn cycles_of_two_to_five_are_broken_by_who_closed_them() {
    for n in 2..=5_usize {
        let bed = Bed::new();
        let all: Vec<_> = (1..=n as u64).map(trx).collect();
        for (i, t) in all.iter().enumerate() {
            bed.take(t, rec_on(i as u32, 2), X, Record);
        }
        for (i, t) in all[..n - 1].iter().enumerate() {
            bed.queue(t, rec_on(i as u32 + 1, 2), X, Record);
            bed.break_cycles(t);
            assert!(t.locks().is_waiting());
        }
        bed.queue(&all[n - 1], rec_on(0, 2), X, Record);
        let report = victim(&bed, &all[n - 1]);
        assert_eq!(report.members.len(), n);
        assert_eq!(report.victim, n - 1);
        let serials: Vec<_> = report.members.iter().map(|m| m.serial).collect();
        assert_eq!(serials, (1..=n as u64).collect::<Vec<_>>());
        bed.end(&all[n - 1]);
        for t in all.iter().rev().skip(1) {
            assert!(bed.is_granted(t));
            bed.end(t);
        }
        bed.assert_empty();
        assert_eq!(bed.sys.metrics().deadlocks, 1);
    }
}

#[test]
fn the_lighter_of_the_two_that_closed_the_cycle_is_the_victim() {
    // Undo records of the three; who is rolled back when the third closes the cycle.
    for (undo, expected) in [
        ([0, 0, 0], 2),
        ([5, 5, 5], 2),
        ([9, 3, 4], 1),
        ([1, 3, 4], 1),
        ([4, 4, 5], 1),
        ([3, 9, 9], 2),
        ([4, 4, 4], 2),
        ([8, 8, 7], 2),
    ] {
        let bed = Bed::new();
        let all: [TrxRef; 3] = trxs();
        for (i, t) in all.iter().enumerate() {
            t.undo_records.store(undo[i], Ordering::Relaxed);
            bed.take(t, rec_on(i as u32, 2), X, Record);
        }
        bed.queue(&all[0], rec_on(1, 2), X, Record);
        bed.queue(&all[1], rec_on(2, 2), X, Record);
        bed.queue(&all[2], rec_on(0, 2), X, Record);
        bed.break_cycles(&all[2]);
        assert!(!all[expected].locks().is_waiting(), "{undo:?}");
        let report = victim(&bed, &all[expected]);
        assert_eq!(report.victim, expected);
        assert_eq!(all.iter().filter(|t| t.locks().is_waiting()).count(), 2);
        bed.sys.validate();
    }
}

#[test]
fn locks_count_for_the_weight() {
    let bed = Bed::new();
    let [heavy, light] = trxs();
    for p in 10..20 {
        bed.take(&heavy, rec_on(p, 2), S, Record);
    }
    bed.take(&heavy, rec(5), X, Record);
    bed.take(&light, rec(6), X, Record);
    bed.queue(&light, rec(5), X, Record);
    bed.queue(&heavy, rec(6), X, Record);
    bed.break_cycles(&heavy);
    let report = victim(&bed, &light);
    assert_eq!((report.members[0].lock_structs, report.members[1].lock_structs), (2, 12));
    bed.end(&light);
    assert!(bed.is_granted(&heavy));
}

#[test]
fn two_readers_that_want_to_write() {
    let bed = Bed::new();
    let [one, two] = trxs();
    bed.take(&one, rec(5), S, Record);
    bed.take(&two, rec(5), S, Record);
    bed.queue(&one, rec(5), X, Record);
    bed.queue(&two, rec(5), X, Record);
    let report = victim(&bed, &two);
    assert_eq!(report.members.len(), 2);
    bed.end(&two);
    assert!(bed.is_granted(&one));
    assert!(bed.holds(&one, rec(5), X, Record) && bed.holds(&one, rec(5), S, Record));
    bed.end(&one);
    bed.assert_empty();
}

#[test]
fn two_that_locked_a_gap_and_want_to_insert() {
    let bed = Bed::new();
    let [one, two] = trxs();
    bed.take(&one, rec(1), X, NextKey);
    bed.take(&two, rec(1), X, NextKey);
    bed.queue(&one, rec(1), X, InsertIntention);
    bed.queue(&two, rec(1), X, InsertIntention);
    let report = victim(&bed, &two);
    bed.end(&two);
    assert!(bed.is_granted(&one));
    let expected = "\
*** (1) TRANSACTION:
TRANSACTION 1001
LOCK WAIT 2 lock struct(s), 2 row lock(s)
*** (1) HOLDS THE LOCK(S):
RECORD LOCKS space id 7 page no 3 index 30 of table 20 trx id 1001 lock_mode X
Record lock, heap no 1 supremum
*** (1) WAITING FOR THIS LOCK TO BE GRANTED:
RECORD LOCKS space id 7 page no 3 index 30 of table 20 trx id 1001 lock_mode X insert intention waiting
Record lock, heap no 1 supremum
*** (2) TRANSACTION:
TRANSACTION 1002
LOCK WAIT 2 lock struct(s), 2 row lock(s)
*** (2) HOLDS THE LOCK(S):
RECORD LOCKS space id 7 page no 3 index 30 of table 20 trx id 1002 lock_mode X
Record lock, heap no 1 supremum
*** (2) WAITING FOR THIS LOCK TO BE GRANTED:
RECORD LOCKS space id 7 page no 3 index 30 of table 20 trx id 1002 lock_mode X insert intention waiting
Record lock, heap no 1 supremum
*** WE ROLL BACK TRANSACTION (2)
";
    assert_eq!(report.text, expected);
    assert_eq!(bed.sys.last_deadlock().unwrap().text, expected);
}

#[test]
fn a_cycle_through_a_table_and_a_record() {
    let bed = Bed::new();
    let [one, two] = trxs();
    bed.ask_table(&one, 20, LockMode::IntentionExclusive);
    bed.ask_table(&two, 21, X);
    bed.take(&two, rec(5), X, Record);
    bed.queue(&one, rec(5), S, Record);
    assert_eq!(bed.ask_table(&two, 20, X), LockOutcome::MustWait);
    one.undo_records.store(100, Ordering::Relaxed);
    two.undo_records.store(100, Ordering::Relaxed);
    bed.break_cycles(&two);
    // Two structures against four.
    let report = victim(&bed, &one);
    assert!(report.text.contains("TABLE LOCK table 20 trx id 1002 lock mode X waiting"), "{}", report.text);
    assert!(report.text.contains("TABLE LOCK table 20 trx id 1001 lock mode IX\n"), "{}", report.text);
    assert!(report.text.contains("undo log entries 100"));
    bed.end(&one);
    assert!(bed.is_granted(&two));
}

#[test]
fn a_cycle_through_a_request_that_waits_ahead() {
    let bed = Bed::new();
    let [reader, writer, late] = trxs();
    bed.take(&late, rec(9), X, Record);
    bed.take(&reader, rec(5), S, Record);
    bed.queue(&writer, rec(5), X, Record);
    // Waits for the request of the writer alone.
    bed.queue(&late, rec(5), S, Record);
    bed.queue(&reader, rec(9), S, Record);
    bed.break_cycles(&reader);
    // It holds nothing yet.
    let report = victim(&bed, &writer);
    assert_eq!(report.members.iter().map(|m| m.serial).collect::<Vec<_>>(), [3, 2, 1]);
    assert!(report.members[1].holds.waiting);
    assert!(bed.is_granted(&late) && reader.locks().is_waiting());
    bed.sys.validate();
}

#[test]
fn nobody_is_rolled_back_who_only_queues_behind_a_cycle() {
    let bed = Bed::new();
    let [one, idle, other] = trxs();
    one.undo_records.store(50, Ordering::Relaxed);
    other.undo_records.store(40, Ordering::Relaxed);
    bed.take(&one, rec(5), X, Record);
    bed.take(&other, rec(6), X, Record);
    bed.queue(&idle, rec(5), X, Record);
    bed.queue(&other, rec(5), X, Record);
    bed.queue(&one, rec(6), X, Record);
    bed.break_cycles(&one);
    assert!(idle.locks().is_waiting() && one.locks().is_waiting());
    let report = victim(&bed, &other);
    assert_eq!(report.members.len(), 2);
}

#[test]
fn two_cycles_closed_by_one_request_are_both_broken() {
    let bed = Bed::new();
    let [a, b, writer] = trxs();
    writer.undo_records.store(9, Ordering::Relaxed);
    bed.take(&writer, rec(8), X, Record);
    bed.take(&a, rec(5), S, Record);
    bed.take(&b, rec(5), S, Record);
    bed.queue(&a, rec(8), S, Record);
    bed.queue(&b, rec(8), S, Record);
    bed.queue(&writer, rec(5), X, Record);
    bed.break_cycles(&writer);
    victim(&bed, &a);
    victim(&bed, &b);
    bed.end(&a);
    bed.end(&b);
    assert!(bed.is_granted(&writer));
    assert_eq!(bed.sys.metrics().deadlocks, 2);
}

/// A gap lock that is granted to others while somebody waits to insert is not waited for until that wait is over; the
/// cycle is found then.
#[test]
fn a_cycle_through_a_later_gap_lock_is_found_when_the_insert_is_asked_for_again() {
    let bed = Bed::new();
    let [first, inserter, later] = trxs();
    bed.take(&first, rec(5), X, Gap);
    bed.take(&inserter, rec(8), X, Record);
    bed.queue(&inserter, rec(5), X, InsertIntention);
    bed.take(&later, rec(5), X, Gap);
    bed.queue(&later, rec(8), X, Record);
    bed.break_cycles(&later);
    assert!(later.locks().is_waiting() && bed.sys.metrics().deadlocks == 0);
    bed.end(&first);
    assert!(bed.is_granted(&inserter));
    later.undo_records.store(9, Ordering::Relaxed);
    bed.queue(&inserter, rec(5), X, InsertIntention);
    assert_eq!(victim(&bed, &inserter).members.len(), 2);
    bed.end(&inserter);
    assert!(bed.is_granted(&later));
}

/// Of two cycles that one wait closes, the one is broken first that begins further ahead in the queue, however long.
#[test]
fn the_cycle_that_begins_ahead_in_the_queue_is_broken_first() {
    let bed = Bed::new();
    let [writer, far, between, near] = trxs();
    writer.undo_records.store(9, Ordering::Relaxed);
    bed.take(&writer, rec(8), X, Record);
    bed.take(&between, rec(7), X, Record);
    bed.take(&far, rec(5), S, Record);
    bed.take(&near, rec(5), S, Record);
    bed.queue(&between, rec(8), X, Record);
    bed.queue(&far, rec(7), X, Record);
    bed.queue(&near, rec(8), X, Record);
    bed.queue(&writer, rec(5), X, Record);
    bed.break_cycles(&writer);
    let report = victim(&bed, &between);
    assert_eq!(report.members.iter().map(|m| m.serial).collect::<Vec<_>>(), [2, 3, 1]);
    victim(&bed, &near);
    assert!(far.locks().is_waiting());
}

#[test]
fn without_detection_a_cycle_ends_by_timeout() {
    let bed = Bed::with(Options { deadlock_detect: false, ..Options::default() });
    let [one, two] = trxs();
    bed.take(&one, rec(5), X, Record);
    bed.take(&two, rec(6), X, Record);
    bed.queue(&one, rec(6), X, Record);
    bed.queue(&two, rec(5), X, Record);
    assert!(matches!(bed.sys.wait_for(&two, 0, &PlainWait), Err(Error::LockWaitTimeout)));
    assert!(one.locks().is_waiting() && bed.sys.last_deadlock().is_none());
}

#[test]
fn a_long_queue_is_searched_in_linear_time() {
    let bed = Bed::new();
    let holder = trx(0);
    bed.take(&holder, rec(5), X, Record);
    let all: Vec<_> = (1..=2_000).map(trx).collect();
    for t in &all {
        bed.queue(t, rec(5), X, Record);
        bed.break_cycles(t);
    }
    bed.take(&all[1_999], rec(6), S, Record);
    bed.queue(&holder, rec(6), X, Record);
    bed.break_cycles(&holder);
    // Of equal weight with one more lock each; the one that closed the cycle goes.
    assert_eq!(victim(&bed, &holder).members.len(), 2);
}

/// A request that is taken back at once closes a cycle all the same; without one it leaves nothing behind.
#[test]
fn a_request_for_a_moment_is_looked_at() {
    let bed = Bed::new();
    let [one, two] = trxs();
    bed.take(&one, rec(5), X, Record);
    bed.queue(&two, rec(5), X, Record);
    assert_eq!(bed.sys.withdraw(&two).unwrap(), LockOutcome::Skipped);
    assert_eq!((two.locks().lock_structs(), bed.sys.metrics().waits), (0, 0));
    bed.take(&two, rec(6), X, Record);
    bed.queue(&one, rec(6), X, Record);
    two.undo_records.store(9, Ordering::Relaxed);
    bed.queue(&two, rec(5), X, Record);
    assert_eq!(bed.sys.withdraw(&two).unwrap(), LockOutcome::Skipped, "the other one is lighter");
    victim(&bed, &one);
    bed.end(&one);
    bed.take(&one, rec(7), X, Record);
    bed.queue(&one, rec(6), X, Record);
    two.undo_records.store(0, Ordering::Relaxed);
    bed.queue(&two, rec(7), X, Record);
    assert!(matches!(bed.sys.withdraw(&two), Err(Error::Deadlock(_))));
    bed.end(&two);
    assert!(bed.is_granted(&one));
    bed.end(&one);
    bed.assert_empty();
}

/// Who stands behind the victim alone has not waited when the cycle is broken.
#[test]
fn who_is_granted_by_a_broken_cycle_has_not_waited() {
    let bed = Bed::new();
    let [lighter, closer] = trxs();
    closer.undo_records.store(9, Ordering::Relaxed);
    bed.take(&closer, rec(5), S, Record);
    bed.queue(&lighter, rec(5), X, Record);
    bed.queue(&closer, rec(5), X, Record);
    assert!(!bed.sys.wait_for(&closer, LONG, &PlainWait).unwrap());
    victim(&bed, &lighter);
}

/// Whether there was a wait is decided before the victim goes on: one that gives its locks back at once does not undo it.
#[test]
fn who_waits_for_the_victim_has_waited_however_fast_that_one_is() {
    let bed = Bed::new();
    let [lighter, closer] = trxs();
    closer.undo_records.store(9, Ordering::Relaxed);
    bed.take(&lighter, rec(5), X, Record);
    bed.take(&closer, rec(6), X, Record);
    bed.queue(&lighter, rec(6), X, Record);
    bed.queue(&closer, rec(5), X, Record);
    let mut ended = Vec::new();
    assert!(bed.sys.break_cycles(&closer, &mut ended));
    assert!(ended.iter().map(|t| t.serial).eq([lighter.serial]));
    // The same for a request that is taken back: the victim cannot have been faster.
    bed.sys.cancel(&closer, Outcome::SentBack, &mut ended);
    victim(&bed, &lighter);
    let _ = bed.wait(&closer);
    bed.take(&closer, rec(7), X, Record);
    bed.queue(&lighter, rec(7), X, Record);
    bed.queue(&closer, rec(5), X, Record);
    assert_eq!(bed.sys.withdraw(&closer).unwrap(), LockOutcome::Skipped);
}

/// As in InnoDB, what is left of a request weighs: of one whose record has gone, and of one that moved with its record.
#[test]
fn what_is_left_of_requests_weighs() {
    let bed = Bed::new();
    let [owner, waiter] = trxs();
    bed.take(&owner, rec(5), X, Record);
    bed.queue(&waiter, rec(5), X, Record);
    bed.sys.set_aside(page(3), HeapNo(5));
    bed.sys.put_back(page(3), HeapNo(9), page(3));
    assert_eq!(waiter.locks().lock_structs(), 3);
    bed.sys.removing(page(3), HeapNo(9), HeapNo(2));
    assert!(bed.is_granted(&waiter), "sent back");
    assert_eq!((waiter.locks().lock_structs(), waiter.locks().record_locks()), (4, 1), "a gap lock besides");
    bed.end(&owner);
    bed.end(&waiter);
    bed.assert_empty();
}

/// A lock that is granted on a record that somebody waits for is a structure of its own.
#[test]
fn locks_on_awaited_records_weigh_by_themselves() {
    let bed = Bed::new();
    let [reader, inserter] = trxs();
    bed.take(&reader, rec(5), X, Gap);
    bed.queue(&inserter, rec(5), X, InsertIntention);
    bed.take(&reader, rec(4), X, Record);
    assert_eq!(reader.locks().lock_structs(), 2);
    bed.take(&reader, rec(5), X, Record);
    assert_eq!(reader.locks().lock_structs(), 3);
    bed.take(&reader, rec(6), X, Record);
    assert_eq!(reader.locks().lock_structs(), 3);
}
