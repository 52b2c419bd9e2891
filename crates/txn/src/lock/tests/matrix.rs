//! Who waits for whom, written out.

use super::*;
use crate::claim::modes::must_wait;

const CLAIMS: [(LockMode, RecordLockKind); 7] =
    [(S, Record), (S, Gap), (S, NextKey), (X, Record), (X, Gap), (X, NextKey), (X, InsertIntention)];

/// Rows: what is asked for, in the order of `CLAIMS`; columns: what another transaction has.
const ON_A_RECORD: [&str; 7] = ["...x.x.", ".......", "...x.x.", "x.xx.x.", ".......", "x.xx.x.", ".xx.xx."];
const ON_THE_SUPREMUM: [&str; 7] =
    [".......", ".......", ".......", ".......", ".......", ".......", "xxxxxx."];

/// What a transaction with the row's lock needs not ask for.
const COVERED: [&str; 7] = ["x......", ".x.....", "xxx....", "x..x...", ".x..x..", "xxxxxx.", "......."];

#[test]
fn record_locks_exclude_each_other_as_written() {
    for (table, heap) in [(ON_A_RECORD, 5), (ON_THE_SUPREMUM, 1)] {
        for (i, request) in CLAIMS.into_iter().enumerate() {
            for (j, held) in CLAIMS.into_iter().enumerate() {
                let expected = table[i].as_bytes()[j] == b'x';
                let claim = |(mode, kind)| Claim::on(mode, kind, HeapNo(heap));
                assert_eq!(
                    must_wait(claim(request), claim(held), HeapNo(heap)),
                    expected,
                    "{request:?} {held:?} heap {heap}"
                );
                let bed = Bed::new();
                let [holder, other, keeper] = trxs();
                if held.1 == InsertIntention {
                    // One that is granted had to wait first.
                    bed.take(&keeper, rec(heap), S, Gap);
                    bed.queue(&holder, rec(heap), X, InsertIntention);
                    bed.end(&keeper);
                    assert!(bed.is_granted(&holder));
                } else {
                    bed.take(&holder, rec(heap), held.0, held.1);
                }
                let outcome = bed.ask(&other, rec(heap), request.0, request.1);
                assert_eq!(outcome == LockOutcome::MustWait, expected, "{request:?} {held:?} heap {heap}");
                bed.sys.validate();
                bed.end(&holder);
                if expected {
                    assert!(bed.is_granted(&other));
                }
                bed.end(&other);
                bed.assert_empty();
            }
        }
    }
}

#[test]
fn what_is_held_need_not_be_asked_for() {
    for (i, held) in CLAIMS.into_iter().enumerate().filter(|(_, c)| c.1 != InsertIntention) {
        for (j, request) in CLAIMS.into_iter().enumerate() {
            let bed = Bed::new();
            let [one, other] = trxs();
            bed.take(&one, rec(5), held.0, held.1);
            let covered = COVERED[i].as_bytes()[j] == b'x';
            assert_eq!(bed.holds(&one, rec(5), request.0, request.1), covered, "{held:?} {request:?}");
            let is_new = !covered && request.1 != InsertIntention;
            assert_eq!(bed.ask(&one, rec(5), request.0, request.1), LockOutcome::Granted(is_new));
            // On the supremum there is but the gap.
            if request.1 != InsertIntention {
                bed.take(&one, rec(1), held.0, held.1);
                let covered = held.0 == X || request.0 == S;
                assert_eq!(bed.ask(&one, rec(1), request.0, request.1), LockOutcome::Granted(!covered));
            }
            assert!(!bed.holds(&other, rec(5), S, Record));
            bed.end(&one);
            bed.assert_empty();
        }
    }
}

#[test]
fn table_locks_exclude_each_other_as_written() {
    // IS, IX, S, X, AUTO-INC, as in the manual.
    const COMPATIBLE: [&str; 5] = ["+++-+", "++--+", "+-+--", "-----", "++---"];
    const COVERED: [&str; 5] = ["+----", "++---", "+-+--", "+++++", "----+"];
    for (i, held) in LockMode::ALL.into_iter().enumerate() {
        for (j, request) in LockMode::ALL.into_iter().enumerate() {
            let bed = Bed::new();
            let [one, other] = trxs();
            assert_eq!(bed.ask_table(&one, 9, held), LockOutcome::Granted(true));
            let covered = COVERED[i].as_bytes()[j] == b'+';
            let compatible = COMPATIBLE[i].as_bytes()[j] == b'+';
            let outcome = bed.ask_table(&other, 9, request);
            let expected = if compatible { LockOutcome::Granted(true) } else { LockOutcome::MustWait };
            assert_eq!(outcome, expected, "{held:?} {request:?}");
            assert_eq!(bed.ask_table(&other, 10, request), LockOutcome::Granted(true), "another table");
            if compatible {
                bed.end(&other);
                assert_eq!(bed.ask_table(&one, 9, request), LockOutcome::Granted(!covered));
            }
            bed.sys.validate();
            bed.end(&one);
            assert!(compatible || bed.is_granted(&other));
            bed.end(&other);
            bed.assert_empty();
        }
    }
}

#[test]
fn nowait_and_skip_locked_leave_nothing_behind() {
    let bed = Bed::new();
    let [one, other, third] = trxs();
    bed.take(&one, rec(5), S, Record);
    let ask = |policy, keep| {
        let claim = Claim { mode: X, kind: NextKey };
        bed.sys.ask_record(&other, rec(5), claim, policy, keep)
    };
    assert!(matches!(ask(WaitPolicy::NoWait, true), Err(crate::Error::LockNotAvailable)));
    assert_eq!(ask(WaitPolicy::SkipLocked, true).unwrap(), LockOutcome::Skipped);
    let table = |policy| bed.sys.ask_table(&other, TableId(1), X, policy);
    bed.ask_table(&one, 1, LockMode::IntentionExclusive);
    assert!(matches!(table(WaitPolicy::NoWait), Err(crate::Error::LockNotAvailable)));
    assert_eq!(table(WaitPolicy::SkipLocked).unwrap(), LockOutcome::Skipped);
    assert_eq!(other.locks().lock_structs(), 0);
    // Nobody queues behind what was not queued.
    bed.take(&third, rec(5), S, Record);
    bed.end(&one);
    bed.end(&third);
    // A record that is changed at once is locked by the change.
    assert_eq!(ask(WaitPolicy::Wait, false).unwrap(), LockOutcome::Granted(false));
    bed.assert_empty();
}

#[test]
fn requests_are_served_in_order() {
    let bed = Bed::new();
    let [one, reader, writer, late] = trxs();
    bed.take(&one, rec(5), S, Record);
    bed.queue(&writer, rec(5), X, Record);
    // Would fit beside the first one, but not before the second.
    bed.queue(&reader, rec(5), S, Record);
    bed.queue(&late, rec(5), X, Record);
    bed.end(&one);
    assert!(bed.is_granted(&writer) && reader.locks().is_waiting());
    bed.end(&writer);
    assert!(bed.is_granted(&reader) && late.locks().is_waiting());
    bed.end(&reader);
    assert!(bed.is_granted(&late));
    bed.end(&late);
    bed.assert_empty();
}

/// Each release looks at what waits once, not at all pairs of it.
#[test]
fn a_long_queue_is_served_one_by_one() {
    let bed = Bed::new();
    let all: Vec<_> = (1..=3_000).map(trx).collect();
    bed.take(&all[0], rec(5), X, Record);
    all[1..].iter().for_each(|t| bed.queue(t, rec(5), X, Record));
    for pair in all.windows(2) {
        assert!(pair[1].locks().is_waiting());
        bed.end(&pair[0]);
        assert!(bed.is_granted(&pair[1]));
    }
    bed.end(&all[2_999]);
    bed.assert_empty();
}

#[test]
fn one_record_is_given_back_and_the_others_stay() {
    let bed = Bed::new();
    let [one, other] = trxs();
    for heap in [2, 3, 200] {
        bed.take(&one, rec(heap), X, Record);
    }
    bed.queue(&other, rec(3), X, Record);
    let shared = one.clone();
    bed.sys.pages.change(page(3), |l| l.unlock(page(3), &shared, HeapNo(3), X));
    assert!(bed.is_granted(&other));
    assert!(bed.holds(&one, rec(200), X, Record) && !bed.holds(&one, rec(3), X, Record));
    assert_eq!((one.locks().record_locks(), one.locks().lock_structs()), (2, 1));
    bed.end(&one);
    bed.end(&other);
    bed.assert_empty();
}

#[test]
fn a_prepared_transaction_gives_its_gaps_back() {
    let bed = Bed::new();
    let [one, other] = trxs();
    bed.take(&one, rec(5), X, NextKey);
    bed.take(&one, rec(6), X, Gap);
    bed.take(&one, rec(1), X, NextKey);
    bed.queue(&other, rec(1), X, InsertIntention);
    bed.sys.release_gaps(&one);
    assert!(bed.is_granted(&other));
    bed.sys.validate();
    assert!(bed.holds(&one, rec(5), X, Record) && !bed.holds(&one, rec(5), X, Gap));
    assert_eq!(bed.ask(&other, rec(6), X, InsertIntention), LockOutcome::Granted(false));
    bed.end(&one);
    bed.end(&other);
    bed.assert_empty();
}

#[test]
fn implicit_locks_become_explicit_while_their_owner_is_active() {
    let bed = Bed::new();
    let [owner, other] = trxs();
    bed.sys.make_explicit(&owner, rec(5)).unwrap();
    bed.sys.make_explicit(&owner, rec(5)).unwrap();
    assert_eq!((owner.locks().record_locks(), owner.locks().lock_structs()), (1, 1));
    bed.queue(&other, rec(5), S, NextKey);
    owner.set_state(TrxState::Committed);
    bed.sys.release_all(&owner);
    assert!(bed.is_granted(&other));
    bed.sys.make_explicit(&owner, rec(6)).unwrap();
    assert!(!bed.holds(&owner, rec(6), X, Record));
    bed.end(&other);
    bed.assert_empty();
}

#[test]
fn lock_memory_is_bounded_and_given_back() {
    let bed = Bed::with(Options { lock_memory_limit: 10_000, ..Options::default() });
    let [one] = trxs();
    let mut n = 0;
    let claim = Claim { mode: X, kind: Record };
    let full = loop {
        match bed.sys.ask_record(&one, rec_on(n, 2), claim, WaitPolicy::Wait, true) {
            Ok(_) => n += 1,
            Err(e) => break e,
        }
    };
    assert!(matches!(full, crate::Error::LockTableFull { limit_bytes: 10_000 }));
    assert!((20..100).contains(&n), "{n} pages in 10,000 bytes");
    let bytes = bed.sys.metrics().memory_bytes;
    assert!((9_000..=10_000).contains(&bytes));
    // A structure that is there takes more records.
    bed.take(&one, rec_on(0, 90), X, Record);
    assert_eq!(bed.sys.metrics().memory_bytes, bytes);
    bed.end(&one);
    bed.assert_empty();
}

#[test]
fn a_forgotten_table_sends_its_waiters_back() {
    let bed = Bed::new();
    let [one, two, three] = trxs();
    bed.take(&one, rec(5), X, Record);
    bed.queue(&two, rec(5), X, Record);
    bed.ask_table(&one, 20, X);
    assert_eq!(bed.ask_table(&three, 20, X), LockOutcome::MustWait);
    let elsewhere = RecordId { table: TableId(21), ..rec_on(4, 2) };
    bed.take(&one, elsewhere, X, Record);
    bed.sys.forget_table(TableId(20));
    assert!(bed.is_granted(&two) && bed.is_granted(&three));
    assert!(!bed.holds(&two, rec(5), X, Record));
    assert_eq!(bed.ask_table(&one, 20, X), LockOutcome::Granted(true), "not from a list of old");
    assert!(bed.sys.has_locks_on(page(4)) && !bed.sys.has_locks_on(page(3)));
    bed.sys.forget_index(IndexId(30));
    assert!(!bed.sys.has_locks_on(page(4)));
    bed.end(&one);
    bed.assert_empty();
}
