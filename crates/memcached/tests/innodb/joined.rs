//! Changes that came together: one transaction, which nobody can tell from many.

use crate::innodb::bed::{Bed, Ops};
use crate::innodb::support::converse;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use vaquita_base::Rng;
use vaquita_engine::{AccessMode, Isolation, RowKey};
use vaquita_memcached::conn::{Conn, Next};
use vaquita_memcached::innodb::InnodbStore;
use vaquita_memcached::service::Service;
use vaquita_memcached::store::{Count, Failure, Mode, Outcome, Result, Store};

/// Does changes that came together.
fn joined<R>(store: &mut InnodbStore, changes: impl FnOnce(&mut InnodbStore) -> R) -> R {
    store.together();
    let done = changes(store);
    store.settle().expect("nothing is lost");
    done
}

fn stat(store: &mut impl Store, name: &str) -> u64 {
    let mut value = None;
    store.stats(b"", &mut |n, v| {
        if n == name {
            value = v.parse().ok();
        }
    });
    value.expect("it is told")
}

/// Values that others see as committed.
fn seen_by_sql(bed: &Bed, keys: &[&str]) -> Vec<Option<String>> {
    let mut session = bed.session();
    session.settings.isolation = Isolation::ReadCommitted;
    let table = bed.table("test/demo_test");
    let options = vaquita_engine::ReadOptions::by_index(0).columns([1]);
    let mut read = vaquita_engine::PointRead::new(table, options).expect("by the clustered key");
    keys.iter()
        .map(|key| {
            session
                .run(|s| {
                    s.get(&mut read, &[Some(key.as_bytes())], |row| {
                        row.column(0).map(|v| String::from_utf8_lossy(v).into_owned())
                    })
                })
                .expect("a read without locks")
                .flatten()
        })
        .collect()
}

fn up() -> Count {
    Count { delta: 1, down: false, initial: None, expires: None, cas: 0 }
}

#[test]
fn one_transaction_up_to_the_end() {
    let bed = Bed::new();
    let mut store = bed.store();
    let some = |value: &str| Some(value.to_owned());
    store.together();
    store.set("a", "1");
    store.set("b", "2");
    store.set("c", "3");
    assert_eq!(seen_by_sql(&bed, &["a", "b", "c"]), [some("1"), None, None], "the first one is alone");
    store.settle().unwrap();
    assert_eq!(seen_by_sql(&bed, &["a", "b", "c"]), [some("1"), some("2"), some("3")]);
    assert_eq!((stat(&mut store, "innodb_joined"), stat(&mut store, "innodb_batches")), (1, 0));
    assert!(store.durability().is_some());
    // Without a word each is alone.
    store.set("a", "4");
    store.set("b", "5");
    assert_eq!(seen_by_sql(&bed, &["a", "b"]), [some("4"), some("5")]);
    assert_eq!(stat(&mut store, "innodb_joined"), 1);
}

#[test]
fn a_piece_of_a_connection_is_together() {
    let bed = Bed::new();
    let service = Arc::new(Service::new(1_000_000));
    let mut store = bed.store();
    let set = |key: &str, value: &str| format!("set {key} 0 0 {}\r\n{value}\r\n", value.len());
    let piece = [set("a", "1"), set("b", "2"), set("n", "7"), "incr n 1\r\ndelete b\r\ntouch a 0\r\n".into()];
    let (answers, _) = converse(&service, &mut store, 1_000_000, [piece.concat().as_bytes()]);
    assert_eq!(answers, b"STORED\r\nSTORED\r\nSTORED\r\n8\r\nDELETED\r\nTOUCHED\r\n");
    assert_eq!(stat(&mut store, "innodb_joined"), 1);
    assert!(!store.in_batch());
    // What is read between sees what was changed before, and ends the transaction.
    let piece = [set("a", "3"), set("b", "4"), "get a b\r\n".into(), set("a", "5"), "get a\r\n".into()];
    let (answers, _) = converse(&service, &mut store, 1_000_000, [piece.concat().as_bytes()]);
    let wanted = "STORED\r\nSTORED\r\nVALUE a 0 1\r\n3\r\nVALUE b 0 1\r\n4\r\nEND\r\nSTORED\r\nVALUE a 0 1\r\n5\r\nEND\r\n";
    assert_eq!(String::from_utf8_lossy(&answers), wanted);
    assert_eq!(stat(&mut store, "innodb_joined"), 3);
    // A wrong one among them spoils nothing.
    let long = "x".repeat(2_000);
    let piece = [set("a", "6"), set("b", "7"), set("long", &long), set("c", "8")];
    let (answers, _) = converse(&service, &mut store, 1_000_000, [piece.concat().as_bytes()]);
    let answers = String::from_utf8_lossy(&answers).into_owned();
    assert_eq!(answers.matches("STORED").count(), 3, "{answers}");
    let wanted: Vec<_> = ["6", "7", "8"].map(|v| Some(v.to_owned())).into();
    assert_eq!(seen_by_sql(&bed, &["a", "b", "c"]), wanted);
}

#[test]
fn greater_batches_stay_what_they_are() {
    let bed = Bed::new();
    bed.settings.w_batch_size.store(4, Relaxed);
    let mut store = bed.store();
    joined(&mut store, |store| ["k0", "k1", "k2"].map(|key| store.set(key, "v")));
    assert!(store.in_batch(), "three of four");
    assert_eq!(seen_by_sql(&bed, &["k0"]), [None]);
    joined(&mut store, |store| store.set("k3", "v"));
    assert_eq!(seen_by_sql(&bed, &["k0"]), [Some("v".to_owned())]);
    assert_eq!((stat(&mut store, "innodb_joined"), stat(&mut store, "innodb_batches")), (0, 1));
}

#[test]
fn a_locked_row_is_waited_for_alone() {
    let bed = Bed::new();
    let (mut store, mut sql) = (bed.store(), bed.session());
    store.set("locked", "old");
    let table = bed.table("test/demo_test");
    sql.begin(AccessMode::ReadWrite, false).unwrap();
    sql.run(|s| s.update(&table, &RowKey::new([&b"locked"[..]]), &[(1, Some(b"sql"))])).unwrap();
    // No time to wait: it alone fails, the others are done.
    let done =
        joined(&mut store, |store| ["a", "b", "locked", "c", "d"].map(|key| store.keep(Mode::Set, key, "v")));
    let failed: Vec<bool> = done.iter().map(|done| matches!(done, Err(Failure::Busy(_)))).collect();
    assert_eq!(failed, [false, false, true, false, false], "{done:?}");
    let v = || Some("v".to_owned());
    assert_eq!(seen_by_sql(&bed, &["a", "b", "c", "d"]), [v(), v(), v(), v()]);
    // With time, those before it are seen by all while it waits: it holds nothing.
    bed.settings.lock_wait_timeout.store(50, Relaxed);
    std::thread::scope(|scope| {
        let bed = &bed;
        let waiting = scope.spawn(move || {
            let mut store = bed.store();
            joined(&mut store, |store| {
                store.set("a", "w");
                store.set("b", "w");
                store.set("locked", "w")
            })
        });
        while seen_by_sql(bed, &["b"]) != [Some("w".to_owned())] {
            std::thread::yield_now();
        }
        drop(sql.commit().unwrap());
        waiting.join().unwrap();
    });
    assert_eq!(store.value("locked"), Some("w".into()));
}

/// Groups of changes of the same few rows in all orders: nobody is told of a deadlock, and nothing is lost.
#[test]
fn groups_that_cross_do_not_fail() {
    let bed = Bed::new();
    bed.settings.lock_wait_timeout.store(50, Relaxed);
    const KEYS: u64 = 5;
    const THREADS: u64 = 4;
    let mut store = bed.store();
    for n in 0..KEYS {
        store.set(&format!("n{n}"), "0");
    }
    let done: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|seed| {
                let bed = &bed;
                scope.spawn(move || {
                    let (mut rng, mut store, mut done) = (Rng::new(seed), bed.store(), 0);
                    for _ in 0..60 {
                        joined(&mut store, |store| {
                            for _ in 0..rng.below(8) {
                                let key = format!("n{}", rng.below(KEYS));
                                store.count(key.as_bytes(), &up()).expect("no deadlock, no timeout");
                                done += 1;
                            }
                        });
                    }
                    done
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let sum: u64 = (0..KEYS).map(|n| store.value(&format!("n{n}")).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(sum, done);
    assert!(stat(&mut store, "innodb_joined") > 0);
}

/// Power cuts: whatever a connection was answered is there, whatever came together with it; and what was lost was not answered.
#[test]
fn what_was_answered_survives() {
    for seed in 0..25 {
        let mut rng = Rng::new(seed + 2_000);
        let bed = Bed::new();
        bed.engine.core().storage.flush_everything().unwrap();
        bed.disk.arm_cut(bed.disk.ops() + 5 + rng.below(120));
        let service = Arc::new(Service::new(1_000_000));
        let (mut conn, mut store) = (Conn::new(service), bed.store());
        // What was answered for each key, and what may have come behind it.
        let mut known: Vec<(Option<u64>, Vec<u64>)> = vec![(None, Vec::new()); 10];
        let mut n = 0;
        let mut out = Vec::new();
        for _ in 0..500 {
            let mut piece = String::new();
            let mut asked = Vec::new();
            for _ in 0..1 + rng.below(12) {
                n += 1;
                let at = rng.below(10) as usize;
                asked.push((at, n));
                piece += &format!("set k{at} 0 0 {}\r\n{n}\r\n", n.to_string().len());
                known[at].1.push(n);
            }
            out.clear();
            let next = conn.advance(piece.as_bytes(), 1_000_000, &mut store, &mut out);
            let durable: Result<bool> = Ok(store.durability().is_none_or(|d| d.wait().is_ok()));
            if next != Next::Read || durable != Ok(true) || out != b"STORED\r\n".repeat(asked.len()) {
                break;
            }
            for (at, n) in asked {
                known[at] = (Some(n), Vec::new());
            }
            if rng.one_in(20) && bed.engine.core().storage.flush_everything().is_err() {
                break;
            }
        }
        drop(store);
        bed.disk.power_cut();
        let bed = Bed::open(bed.disk.restart());
        while bed.engine.core().rollback_step().unwrap() {}
        let mut store = bed.store();
        for (at, (answered, unsure)) in known.iter().enumerate() {
            let found = store.value(&format!("k{at}")).map(|v| v.parse::<u64>().unwrap());
            assert!(
                found == *answered || found.is_some_and(|n| unsure.contains(&n)),
                "seed {seed}: k{at} is {found:?}, not {answered:?} or one of {unsure:?}"
            );
        }
    }
}

/// A store whose shared transaction is lost.
#[derive(Debug, Default)]
struct Losing(bool);

impl Store for Losing {
    fn get(
        &mut self,
        _: &[&[u8]],
        _: Option<vaquita_memcached::store::Expiry>,
        _: impl FnMut(usize, &vaquita_memcached::store::Item<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<()> {
        Ok(())
    }

    fn store(
        &mut self,
        _: Mode,
        key: &[u8],
        _: &vaquita_memcached::store::NewItem<'_>,
        _: u64,
    ) -> Result<Outcome> {
        self.0 |= key == b"bad";
        Ok(Outcome::Done(1))
    }

    fn count(&mut self, _: &[u8], _: &Count) -> Result<vaquita_memcached::store::Counted> {
        Err(Failure::NoMemory)
    }

    fn delete(&mut self, _: &[u8], _: u64) -> Result<Outcome> {
        Ok(Outcome::NotFound)
    }

    fn touch(&mut self, _: &[u8], _: vaquita_memcached::store::Expiry) -> Result<Outcome> {
        Ok(Outcome::NotFound)
    }

    fn range(
        &mut self,
        _: &vaquita_memcached::store::Range<'_>,
        _: impl FnMut(&vaquita_memcached::store::Item<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<()> {
        Ok(())
    }

    fn flush_all(&mut self, _: vaquita_memcached::store::Expiry) -> Result<()> {
        Ok(())
    }

    fn bind(&mut self, _: &[u8]) -> Result<String> {
        Ok(String::new())
    }

    fn stats(&mut self, _: &[u8], _: &mut dyn FnMut(&str, &str)) -> bool {
        false
    }

    fn settle(&mut self) -> Result<()> {
        if self.0 { Err(Failure::Server("the disk is full".into())) } else { Ok(()) }
    }

    fn durability(&mut self) -> Option<vaquita_engine::Durability> {
        None
    }
}

#[test]
fn nobody_is_told_that_what_was_lost_is_stored() {
    let service = Arc::new(Service::new(1_000_000));
    let mut conn = Conn::new(service.clone());
    let mut out = b"before ".to_vec();
    let good = b"set a 0 0 1\r\n1\r\n";
    assert_eq!(conn.advance(good, 1_000_000, &mut Losing::default(), &mut out), Next::Read);
    assert_eq!(out, b"before STORED\r\n");
    let bad = [&good[..], b"set bad 0 0 1\r\n1\r\n"].concat();
    assert_eq!(conn.advance(&bad, 1_000_000, &mut Losing::default(), &mut out), Next::Close);
    assert_eq!(out, b"before STORED\r\nSERVER_ERROR the disk is full\r\n");
    // In frames there is nothing it could be the answer to.
    let mut conn = Conn::new(service);
    let frame = crate::innodb::support::Frame {
        opcode: 1,
        extras: &[0; 8],
        key: b"bad",
        value: b"v",
        ..Default::default()
    };
    out.clear();
    assert_eq!(conn.advance(&frame.bytes(), 1_000_000, &mut Losing::default(), &mut out), Next::Close);
    assert!(out.is_empty());
}
