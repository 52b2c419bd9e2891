//! Many connections, and sessions as SQL has them, on the same rows.

use crate::innodb::bed::{Bed, Ops};
use std::sync::atomic::Ordering::Relaxed;
use vaquita_engine::{AccessMode, ReadLock, ReadOptions, RowKey};
use vaquita_memcached::innodb::InnodbStore;
use vaquita_memcached::store::{Count, Counted, Expiry, Failure, Mode, NewItem, Outcome, Store};

const THREADS: usize = 4;
const EACH: usize = 150;

fn bed() -> Bed {
    let bed = Bed::new();
    bed.settings.lock_wait_timeout.store(50, Relaxed);
    bed
}

/// Runs `body` in threads with a store each.
fn together<R: Send>(bed: &Bed, body: impl Fn(usize, &mut InnodbStore) -> R + Sync) -> Vec<R> {
    std::thread::scope(|scope| {
        let body = &body;
        let threads: Vec<_> = (0..THREADS)
            .map(|n| {
                scope.spawn(move || {
                    let mut store = bed.store();
                    body(n, &mut store)
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().expect("no thread panics")).collect()
    })
}

#[test]
fn no_count_is_lost_beside_sql() {
    let bed = bed();
    bed.store().set("n", "0");
    let table = bed.table("test/demo_test");
    let up = Count { delta: 1, down: false, initial: None, expires: None, cas: 0 };
    together(&bed, |n, store| {
        if n == 0 {
            // UPDATE demo_test SET c2 = c2 + 1, as SQL does it: lock, look, change.
            let mut session = bed.session();
            session.settings.lock_wait_timeout = 50;
            let options = ReadOptions::by_index(0).columns([1]).locking(ReadLock::Exclusive);
            let mut read = vaquita_engine::PointRead::new(table.clone(), options).unwrap();
            for _ in 0..EACH {
                session.begin(AccessMode::ReadWrite, false).unwrap();
                let old = session.run(|s| {
                    s.get(&mut read, &[Some(b"n")], |row| {
                        String::from_utf8_lossy(row.column(0).unwrap_or_default()).parse::<u64>()
                    })
                });
                let new = (old.unwrap().unwrap().unwrap() + 1).to_string();
                let key = RowKey::new([&b"n"[..]]);
                assert!(session.run(|s| s.update(&table, &key, &[(1, Some(new.as_bytes()))])).unwrap());
                drop(session.commit().unwrap());
            }
            return;
        }
        for _ in 0..EACH {
            assert!(matches!(store.count(b"n", &up), Ok(Counted::Done(..))));
        }
    });
    assert_eq!(bed.store().value("n"), Some((THREADS * EACH).to_string()));
}

#[test]
fn of_those_who_compare_one_wins() {
    let bed = bed();
    bed.store().set("n", "0");
    together(&bed, |_, store| {
        let mut done = 0;
        while done < EACH {
            let (_, cas, value) = store.one("n").unwrap();
            let next = (String::from_utf8_lossy(&value).parse::<u64>().unwrap() + 1).to_string();
            let item = NewItem { flags: 0, expires: Expiry(0), value: next.as_bytes() };
            match store.store(Mode::Set, b"n", &item, cas).unwrap() {
                Outcome::Done(_) => done += 1,
                Outcome::Exists => {}
                other => panic!("{other:?}"),
            }
        }
    });
    assert_eq!(bed.store().value("n"), Some((THREADS * EACH).to_string()));
}

#[test]
fn of_those_who_add_one_does() {
    for level in 0..4 {
        let bed = bed();
        bed.settings.trx_level.store(level, Relaxed);
        let added = together(&bed, |n, store| {
            let mut added = 0;
            for i in 0..EACH {
                match store.keep(Mode::Add, &format!("k{i}"), &n.to_string()).unwrap() {
                    Outcome::Done(_) => added += 1,
                    Outcome::NotStored => {}
                    other => panic!("{other:?}"),
                }
            }
            added
        });
        assert_eq!(added.iter().sum::<usize>(), EACH, "level {level}");
        assert_eq!(bed.rows("test/demo_test").len(), EACH + 1);
    }
}

#[test]
fn sets_and_deletes_of_the_same_keys_do_not_fail() {
    for level in [0, 2] {
        let bed = bed();
        bed.settings.trx_level.store(level, Relaxed);
        together(&bed, |n, store| {
            for i in 0..EACH {
                let key = format!("k{}", (i * 7 + n) % 5);
                if (i + n) % 3 == 0 {
                    store.delete(key.as_bytes(), 0).unwrap();
                } else {
                    store.set(&key, &i.to_string());
                }
                store.value(&key);
            }
        });
    }
}

#[test]
fn appends_are_whole() {
    let bed = bed();
    bed.store().set("log", "");
    together(&bed, |n, store| {
        for _ in 0..60 {
            let letter = ["a", "b", "c", "d"][n];
            assert!(matches!(store.keep(Mode::Append, "log", letter), Ok(Outcome::Done(_))));
        }
    });
    let log = bed.store().value("log").unwrap();
    for letter in ["a", "b", "c", "d"] {
        assert_eq!(log.matches(letter).count(), 60);
    }
}

#[test]
fn batches_that_meet_end_whole_or_say_so() {
    let bed = bed();
    bed.settings.w_batch_size.store(2, Relaxed);
    bed.settings.trx_level.store(2, Relaxed);
    bed.store().set("x", "0");
    // Each batch writes both keys in one order or the other: deadlocks are certain to be possible.
    together(&bed, |n, store| {
        let pair = if n % 2 == 0 { ["a", "b"] } else { ["b", "a"] };
        for i in 0..EACH {
            let value = format!("{n} {i}");
            let first = store.keep(Mode::Set, pair[0], &value);
            let second = if first.is_ok() { store.keep(Mode::Set, pair[1], &value) } else { first.clone() };
            match second {
                Ok(_) => {}
                Err(Failure::Busy(_)) => assert!(!store.in_batch()),
                Err(e) => panic!("{e:?}"),
            }
        }
    });
    let mut store = bed.store();
    assert_eq!(store.value("a"), store.value("b"), "both or none");
}
