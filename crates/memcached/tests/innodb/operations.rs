//! Every operation, on the mapping that a new folder has.

use crate::innodb::bed::{Bed, Ops, mistake};
use std::ops::ControlFlow;
use vaquita_memcached::store::{Count, Counted, Expiry, Failure, Mode, NewItem, Outcome, Range, Store};

fn count(delta: u64, down: bool) -> Count {
    Count { delta, down, initial: None, expires: None, cas: 0 }
}

#[test]
fn what_sql_wrote_is_read() {
    let bed = Bed::new();
    let mut store = bed.store();
    assert_eq!(store.one("AA"), Some((8, 0, b"HELLO, HELLO".to_vec())));
    // latin1_swedish_ci, trailing spaces do not count.
    assert_eq!(store.value("aa"), Some("HELLO, HELLO".into()));
    assert_eq!(store.one("AB"), None);
    assert!(store.durability().is_none(), "reading leaves nothing to wait for");
    // A key that the column cannot hold is not there.
    assert_eq!(store.one(&"k".repeat(33)), None);
}

#[test]
fn modes() {
    let bed = Bed::new();
    let mut store = bed.store();
    assert_eq!(store.keep(Mode::Replace, "k", "1"), Ok(Outcome::NotStored));
    assert_eq!(store.keep(Mode::Append, "k", "1"), Ok(Outcome::NotStored));
    assert_eq!(store.keep(Mode::Prepend, "k", "1"), Ok(Outcome::NotStored));
    assert!(matches!(store.keep(Mode::Add, "k", "b"), Ok(Outcome::Done(_))));
    assert!(store.durability().is_some_and(|d| d.lsn().is_some()));
    assert_eq!(store.keep(Mode::Add, "k", "2"), Ok(Outcome::NotStored));
    assert!(matches!(store.keep(Mode::Append, "k", "c"), Ok(Outcome::Done(_))));
    assert!(matches!(store.keep(Mode::Prepend, "k", "a"), Ok(Outcome::Done(_))));
    assert_eq!(store.value("k"), Some("abc".into()));
    assert!(matches!(store.keep(Mode::Replace, "k", "r"), Ok(Outcome::Done(_))));
    assert_eq!(store.value("k"), Some("r".into()));
    store.set("k", "s");
    store.set("new", "n");
    assert_eq!(store.all(&["k", "no", "new"]).map(|all| all.len()), Ok(2));
    assert_eq!(store.delete(b"k", 0), Ok(Outcome::Done(0)));
    assert_eq!(store.delete(b"k", 0), Ok(Outcome::NotFound));
    assert_eq!(store.one("k"), None);
    // A deleted key comes back.
    store.set("k", "t");
    assert_eq!(store.value("k"), Some("t".into()));
}

#[test]
fn numbers_are_compared_and_never_come_back() {
    let bed = Bed::new();
    let mut store = bed.store();
    let first = store.set("k", "1");
    assert_eq!(store.one("k").map(|seen| seen.1), Some(first));
    let second = store.set("k", "1");
    assert_ne!(first, second);
    let item = NewItem { flags: 7, expires: Expiry(0), value: b"2" };
    assert_eq!(store.store(Mode::Set, b"k", &item, first), Ok(Outcome::Exists));
    assert_eq!(store.store(Mode::Set, b"other", &item, first), Ok(Outcome::NotFound));
    let Ok(Outcome::Done(third)) = store.store(Mode::Set, b"k", &item, second) else {
        panic!("the number fits")
    };
    assert_eq!(store.one("k"), Some((7, third, b"2".to_vec())));
    assert_eq!(store.delete(b"k", second), Ok(Outcome::Exists));
    assert_eq!(store.delete(b"k", third), Ok(Outcome::Done(0)));
    let fourth = store.set("k", "1");
    assert!(![first, second, third].contains(&fourth));
}

#[test]
fn counting() {
    let bed = Bed::new();
    let mut store = bed.store();
    assert_eq!(store.count(b"n", &count(1, false)), Ok(Counted::Not(Outcome::NotFound)));
    let initial = Count { initial: Some((10, Expiry(0))), ..count(1, false) };
    assert!(matches!(store.count(b"n", &initial), Ok(Counted::Done(10, _))));
    assert!(matches!(store.count(b"n", &initial), Ok(Counted::Done(11, _))));
    assert!(matches!(store.count(b"n", &count(100, true)), Ok(Counted::Done(0, _))));
    store.set("n", "18446744073709551615");
    assert!(matches!(store.count(b"n", &count(2, false)), Ok(Counted::Done(1, _))));
    assert_eq!(store.value("n"), Some("1".into()));
    store.set("n", "x1");
    assert_eq!(store.count(b"n", &count(1, false)), Ok(Counted::NotANumber));
    store.set("n", "18446744073709551616");
    assert_eq!(store.count(b"n", &count(1, false)), Ok(Counted::NotANumber));
    // Flags stay.
    let item = NewItem { flags: 0xdead_beef, expires: Expiry(0), value: b"5" };
    let Ok(Outcome::Done(cas)) = store.store(Mode::Set, b"n", &item, 0) else { panic!("it is kept") };
    let wrong = Count { cas: cas + 1, ..count(1, false) };
    assert_eq!(store.count(b"n", &wrong), Ok(Counted::Not(Outcome::Exists)));
    assert!(matches!(store.count(b"n", &Count { cas, ..count(1, false) }), Ok(Counted::Done(6, _))));
    assert_eq!(store.one("n").map(|seen| seen.0), Some(0xdead_beef));
}

#[test]
fn ends() {
    let bed = Bed::new();
    let mut store = bed.store();
    let now = 1_000_000;
    store.set_until("k", "v", now + 10);
    store.set_until("gone", "v", 1);
    assert_eq!(store.value("k"), Some("v".into()));
    assert_eq!(store.one("gone"), None);
    assert_eq!(store.touch(b"gone", Expiry(0)), Ok(Outcome::NotFound));
    assert_eq!(store.keep(Mode::Replace, "gone", "w"), Ok(Outcome::NotStored));
    assert_eq!(store.keep(Mode::Append, "gone", "w"), Ok(Outcome::NotStored));
    assert_eq!(store.count(b"gone", &count(1, false)), Ok(Counted::Not(Outcome::NotFound)));
    assert!(matches!(store.keep(Mode::Add, "gone", "w"), Ok(Outcome::Done(_))));
    assert_eq!(store.value("gone"), Some("w".into()));
    let cas = store.one("k").map(|seen| seen.1);
    assert_eq!(store.touch(b"k", Expiry(now + 20)), Ok(Outcome::Done(cas.unwrap())));
    bed.now.store(now + 15, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(store.one("k").map(|seen| seen.1), cas);
    let mut shown = Vec::new();
    let keys: [&[u8]; 3] = [b"k", b"no", b"gone"];
    store
        .get(&keys, Some(Expiry(now + 30)), |at, item| {
            shown.push((at, item.value.to_vec()));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(shown, [(0, b"v".to_vec()), (2, b"w".to_vec())]);
    bed.now.store(now + 25, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(store.value("gone"), Some("w".into()));
    bed.now.store(now + 30, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(store.all(&["k", "gone"]), Ok(vec![]));
    assert_eq!(store.delete(b"k", 0), Ok(Outcome::NotFound));
}

#[test]
fn what_does_not_fit() {
    let bed = Bed::new();
    let mut store = bed.store();
    assert_eq!(store.keep(Mode::Set, "k", &"v".repeat(1025)), Err(Failure::TooLarge));
    store.set("k", &"v".repeat(1024));
    assert_eq!(store.keep(Mode::Append, "k", "v"), Err(Failure::TooLarge));
    let why = mistake(store.keep(Mode::Set, &"k".repeat(33), "v"));
    assert_eq!(why, "the key is too long: column c1");
    assert_eq!(store.value("k"), Some("v".repeat(1024)));
}

#[test]
fn stretches_of_keys() {
    stretches(&Bed::new());
}

/// What is asked for is an order of keys, not of the index.
#[test]
fn stretches_of_keys_that_descend() {
    stretches(&Bed::with_key(vaquita_format::index_def::KeyPart::whole(0).descending()));
}

fn stretches(bed: &Bed) {
    let mut store = bed.store();
    for key in ["a", "b", "c", "d", "e"] {
        store.set(key, &format!("{key}{key}"));
    }
    store.set_until("bb", "gone", 1);
    let mut keys = |from: Option<&str>, to: Option<&str>, included, descending, limit| {
        let mut keys = Vec::new();
        let range = Range {
            from: from.map(str::as_bytes),
            from_included: included,
            to: to.map(str::as_bytes),
            to_included: included,
            descending,
            limit,
        };
        let shown = store.range(&range, |item| {
            keys.push(String::from_utf8_lossy(item.key).into_owned());
            ControlFlow::Continue(())
        });
        shown.expect("the row is there");
        keys.join(" ")
    };
    assert_eq!(keys(None, None, true, false, 100), "a AA b c d e");
    assert_eq!(keys(Some("b"), Some("d"), true, false, 100), "b c d");
    assert_eq!(keys(Some("b"), Some("d"), false, false, 100), "c");
    assert_eq!(keys(Some("b"), None, false, false, 2), "c d");
    assert_eq!(keys(Some("b"), Some("d"), true, true, 100), "d c b");
    assert_eq!(keys(None, Some("c"), false, true, 2), "b AA");
    assert_eq!(keys(None, None, true, true, 0), "");
}

#[test]
fn flushing() {
    let bed = Bed::new();
    let mut store = bed.store();
    for n in 0..2_500 {
        store.set(&format!("k{n}"), "v");
    }
    store.flush_all(Expiry(0)).unwrap();
    assert_eq!(bed.rows("test/demo_test").len(), 0);
    // Later: what is kept until then goes.
    store.set("k", "v");
    store.flush_all(Expiry(1_000_005)).unwrap();
    bed.tables.sweep().unwrap();
    assert_eq!(store.value("k"), Some("v".into()));
    bed.now.store(1_000_005, std::sync::atomic::Ordering::Relaxed);
    bed.tables.sweep().unwrap();
    assert_eq!(store.one("k"), None);
    store.set("k", "w");
    bed.tables.sweep().unwrap();
    assert_eq!(store.value("k"), Some("w".into()));
}
