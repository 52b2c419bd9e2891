//! How waits end.

use super::*;
use crate::Error;
use crate::wait::{WaitFor, WaitHook};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

/// Notes what it is told, and goes on only when told to.
#[derive(Debug, Default)]
struct Note(Mutex<Vec<&'static str>>);

impl WaitHook for Note {
    fn before(&self, what: WaitFor) {
        assert_eq!(what, WaitFor::Lock);
        self.0.lock().unwrap().push("before");
    }

    fn after(&self, _: WaitFor) {
        self.0.lock().unwrap().push("after");
    }
}

#[test]
fn no_time_to_wait_fails_at_once() {
    let bed = Bed::new();
    let [one, two, three] = trxs();
    bed.take(&one, rec(5), S, Record);
    bed.queue(&two, rec(5), X, Record);
    bed.queue(&three, rec(5), S, Record);
    let note = Note::default();
    assert!(matches!(bed.sys.wait_for(&two, 0, &note), Err(Error::LockWaitTimeout)));
    assert!(note.0.lock().unwrap().is_empty(), "it did not sleep");
    // Who was behind it is not in its way any more.
    assert!(bed.is_granted(&three));
    assert_eq!(two.locks().lock_structs(), 0);
    assert_eq!(bed.sys.metrics().timeouts, 1);
    bed.end(&one);
    bed.end(&three);
    bed.sys.validate();
}

#[test]
fn time_is_that_of_the_clock() {
    let bed = Bed::new();
    let [one, two] = trxs();
    bed.clock.advance(Duration::from_secs(5));
    bed.take(&one, rec(5), X, Record);
    bed.queue(&two, rec(5), X, Record);
    assert_eq!(two.locks().waiting_since_us(), Some(5_000_000));
    thread::scope(|scope| {
        let waiter = scope.spawn(|| bed.sys.wait_for(&two, LONG, &PlainWait));
        bed.clock.advance(Duration::from_micros(LONG - 1));
        bed.sys.expire_waits();
        assert!(two.locks().is_waiting());
        bed.clock.advance(Duration::from_micros(1));
        // The waiter looks at the clock before it sleeps, and again when it is woken.
        bed.sys.expire_waits();
        assert!(matches!(waiter.join().unwrap(), Err(Error::LockWaitTimeout)));
    });
    let m = bed.sys.metrics();
    assert_eq!((m.waits, m.waiting, m.timeouts, m.wait_us, m.wait_us_max), (1, 0, 1, LONG, LONG));
}

#[test]
fn a_release_wakes_the_waiter() {
    let bed = Bed::new();
    let [one, two] = trxs();
    bed.take(&one, rec(5), X, Record);
    bed.queue(&two, rec(5), X, NextKey);
    let note = Note::default();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| bed.sys.wait_for(&two, LONG, &note));
        while note.0.lock().unwrap().is_empty() {
            thread::yield_now();
        }
        bed.end(&one);
        waiter.join().unwrap().unwrap();
    });
    assert_eq!(*note.0.lock().unwrap(), ["before", "after"]);
    assert!(bed.holds(&two, rec(5), X, NextKey));
    // It is new once, as its owner has not heard of it before.
    assert_eq!(bed.ask(&two, rec(5), X, NextKey), LockOutcome::Granted(true));
    assert_eq!(bed.ask(&two, rec(5), X, NextKey), LockOutcome::Granted(false));
    assert!(bed.wait(&two).is_ok(), "nothing to wait for");
    bed.end(&two);
    bed.assert_empty();
}

#[test]
fn an_interruption_ends_the_wait_now_or_later() {
    let bed = Bed::new();
    let [one, two, three] = trxs();
    bed.take(&one, rec(5), X, Record);
    bed.queue(&two, rec(5), X, Record);
    let note = Note::default();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| bed.sys.wait_for(&two, LONG, &note));
        while note.0.lock().unwrap().is_empty() {
            thread::yield_now();
        }
        two.interrupt();
        assert!(matches!(waiter.join().unwrap(), Err(Error::Interrupted)));
    });
    three.interrupt();
    bed.queue(&three, rec(5), X, Record);
    assert!(matches!(bed.wait(&three), Err(Error::Interrupted)));
    three.clear_interrupt();
    assert!(!three.is_interrupted());
    bed.queue(&three, rec(5), X, Record);
    assert!(matches!(bed.sys.wait_for(&three, 0, &PlainWait), Err(Error::LockWaitTimeout)));
    bed.end(&one);
    bed.assert_empty();
}

#[test]
fn auto_inc_locks_go_at_the_end_of_the_statement() {
    let bed = Bed::new();
    let [one, two] = trxs();
    bed.ask_table(&one, 9, LockMode::IntentionExclusive);
    bed.ask_table(&one, 9, LockMode::AutoInc);
    bed.ask_table(&two, 9, LockMode::IntentionExclusive);
    assert_eq!(bed.ask_table(&two, 9, LockMode::AutoInc), LockOutcome::MustWait);
    assert_eq!(one.locks().tables_locked(), 1);
    for table in one.locks.tables_in_mode(LockMode::AutoInc) {
        one.locks.forget_table_mode(table, LockMode::AutoInc);
        bed.sys.revoke(&one, table, std::iter::once(LockMode::AutoInc));
    }
    assert!(bed.is_granted(&two));
    assert_eq!(one.locks().table_modes(TableId(9)).collect::<Vec<_>>(), [LockMode::IntentionExclusive]);
    bed.sys.validate();
    bed.end(&one);
    bed.end(&two);
    bed.assert_empty();
}

#[test]
fn monitors_see_locks_and_waits() {
    let bed = Bed::new();
    let [one, two] = trxs();
    bed.ask_table(&one, 20, LockMode::IntentionExclusive);
    bed.ask_table(&two, 20, LockMode::IntentionShared);
    bed.take(&one, rec(5), X, NextKey);
    bed.take(&one, rec(6), X, NextKey);
    bed.take(&one, rec(7), S, Gap);
    bed.queue(&two, rec(6), S, Record);
    let snapshot = bed.sys.snapshot();
    let rows: Vec<_> = snapshot
        .locks
        .iter()
        .map(|r| (r.lock.id(), r.lock.type_column(), r.lock.mode_column(), r.lock.waiting, r.heaps.len()))
        .collect();
    let row =
        |id: &str, kind, mode: &str, waiting, heaps| (id.to_owned(), kind, mode.to_owned(), waiting, heaps);
    assert_eq!(
        rows,
        [
            row("1001:20", "TABLE", "IX", false, 0),
            row("1002:20", "TABLE", "IS", false, 0),
            row("1001:7:3:5", "RECORD", "X", false, 2),
            row("1001:7:3:7", "RECORD", "S,GAP", false, 1),
            row("1002:7:3:6", "RECORD", "S", true, 1),
        ]
    );
    assert_eq!(snapshot.waits.len(), 1);
    assert_eq!(snapshot.waits[0].requested.id(), "1002:7:3:6");
    assert_eq!(snapshot.waits[0].blocking.id(), "1001:7:3:6");
    assert!(snapshot.waits[0].requested.to_string().contains("lock mode S locks rec but not gap waiting"));
}
