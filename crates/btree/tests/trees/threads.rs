//! Several threads in one tree: writers, and readers that scan both ways meanwhile.

use crate::bed::{Bed, Kind, Row, be, fields, insert, remove, row, shuffle, tree_cursor};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use vaquita_base::Rng;
use vaquita_base::codec::get_u32;
use vaquita_btree::{Error, Tree};
use vaquita_format::index_def::RowFormat;
use vaquita_format::tuple::Tuple;

/// Keys divisible by this are inserted first and stay.
const STAY: u32 = 16;

fn key_row(key: u32) -> Row {
    vec![Some(be(key.into(), 4))]
}

/// Scans the tree until told to stop; every record that stays must be seen, in order.
fn read(bed: &Bed, tree: &Tree, keys: u32, forwards: bool, stop: &AtomicBool) -> u32 {
    let mut scans = 0;
    let mut rng = Rng::new(u64::from(forwards));
    while !stop.load(Ordering::Relaxed) || scans == 0 {
        let mut cursor = tree_cursor(bed, tree);
        let mut staying = 0;
        let mut last: Option<u32> = None;
        let mut more = if forwards { cursor.first().unwrap() } else { cursor.last().unwrap() };
        while more {
            let record = cursor.record().expect("on a record");
            let key = get_u32(record.page, record.rec.into());
            if let Some(last) = last {
                assert!(if forwards { last < key } else { last > key }, "{last} then {key}");
            }
            staying += u32::from(key.is_multiple_of(STAY));
            last = Some(key);
            if rng.one_in(10) {
                cursor.store().unwrap();
            }
            more = if forwards { cursor.next().unwrap() } else { cursor.prev().unwrap() };
        }
        assert_eq!(staying, keys.div_ceil(STAY), "a record that stays was missed");
        scans += 1;
    }
    scans
}

#[test]
fn disjoint_writers_and_readers() {
    const KEYS: u32 = 6_000;
    for (page_size, format) in [(4096, RowFormat::Compact), (8192, RowFormat::Redundant)] {
        let bed = Bed::new(page_size, 1_000, 1);
        let tree = bed.tree(Kind::IntKey, format);
        let mut rng = Rng::new(1);
        for key in (0..KEYS).step_by(STAY as usize) {
            insert(&bed, &tree, &row(Kind::IntKey, key, &mut rng, 0)).unwrap();
        }
        let (bed, tree) = (&bed, &tree);
        let stop = AtomicBool::new(false);
        std::thread::scope(|s| {
            let writers: Vec<_> =
                (0..4u32).map(|t| s.spawn(move || write_disjoint(bed, tree, t, KEYS))).collect();
            let readers = [true, false].map(|f| {
                let stop = &stop;
                s.spawn(move || read(bed, tree, KEYS, f, stop))
            });
            writers.into_iter().for_each(|w| w.join().unwrap());
            stop.store(true, Ordering::Relaxed);
            readers.into_iter().for_each(|r| assert!(r.join().unwrap() > 0));
        });
        let report = bed.validate(tree);
        assert_eq!(report.records, u64::from(KEYS.div_ceil(STAY)));
        bed.storage.pool().validate();
        bed.validate_space();
    }
}

/// Inserts, updates and removes the keys of one thread, all of them, twice.
fn write_disjoint(bed: &Bed, tree: &Tree, t: u32, keys: u32) {
    let mut rng = Rng::new(t.into());
    let mut own: Vec<u32> = (0..keys).filter(|k| k % STAY != 0 && k % 4 == t).collect();
    for round in 0..2 {
        if t % 2 == round {
            shuffle(&mut rng, &mut own);
        }
        for &key in &own {
            insert(bed, tree, &row(Kind::IntKey, key, &mut rng, 0)).unwrap();
        }
        for &key in own.iter().step_by(3) {
            let row = row(Kind::IntKey, key, &mut rng, 0);
            let all = fields(&row);
            assert!(tree.update(&bed.storage, &Tuple::new(&all)).unwrap().is_some());
        }
        for &key in &own {
            assert!(remove(bed, tree, &key_row(key)), "key {key} of thread {t}");
        }
    }
}

#[test]
fn overlapping_writers() {
    const KEYS: u64 = 500;
    for kind in [Kind::IntKey, Kind::LongKey, Kind::HugeKey] {
        let bed = Bed::new(4096, 1_000, 2);
        let tree = bed.tree(kind, RowFormat::Dynamic);
        let balance = AtomicI64::new(0);
        let (bed, tree, balance) = (&bed, &tree, &balance);
        std::thread::scope(|s| {
            for t in 0..4 {
                s.spawn(move || {
                    let mut rng = Rng::new(t);
                    for i in 0..6_000 {
                        let row = row(kind, rng.below(KEYS) as u32, &mut rng, 0);
                        // Growing at first, shrinking at last.
                        if rng.below(6_000) > i {
                            match insert(bed, tree, &row) {
                                Ok(()) => _ = balance.fetch_add(1, Ordering::Relaxed),
                                Err(Error::Duplicate) => {}
                                Err(e) => panic!("{e}"),
                            }
                        } else if remove(bed, tree, &row) {
                            balance.fetch_sub(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let report = bed.validate(tree);
        assert_eq!(report.records as i64, balance.load(Ordering::Relaxed), "{kind:?}");
        bed.validate_space();
    }
}

/// Ascending and descending runs meet in the middle, while a reader looks every key up that must be there.
#[test]
fn runs_that_meet() {
    const HALF: u32 = 8_000;
    let bed = Bed::new(4096, 1_000, 3);
    let tree = bed.tree(Kind::IntKey, RowFormat::Compact);
    let (bed, tree) = (&bed, &tree);
    let done = &AtomicI64::new(0);
    std::thread::scope(|s| {
        s.spawn(move || {
            let mut rng = Rng::new(1);
            for key in 0..HALF {
                insert(bed, tree, &row(Kind::IntKey, key, &mut rng, 0)).unwrap();
                done.store(key.into(), Ordering::Release);
            }
        });
        s.spawn(move || {
            let mut rng = Rng::new(2);
            for key in (HALF..2 * HALF).rev() {
                insert(bed, tree, &row(Kind::IntKey, key, &mut rng, 0)).unwrap();
            }
        });
        s.spawn(move || {
            let mut rng = Rng::new(3);
            loop {
                let upto = done.load(Ordering::Acquire);
                let key = key_row(rng.below(upto as u64 + 1) as u32);
                let key = fields(&key);
                let found = tree.lookup(&bed.storage, &Tuple::new(&key), |r| r.rec).unwrap();
                assert!(found.is_some() || upto == 0);
                if upto == i64::from(HALF - 1) {
                    break;
                }
            }
        });
    });
    assert_eq!(bed.validate(tree).records, u64::from(2 * HALF));
}

/// Looks up sets of keys until told to stop; what stays is found, and nothing but what was asked for.
fn look_up(bed: &Bed, tree: &Tree, keys: u32, stop: &AtomicBool) -> u32 {
    let mut rng = Rng::new(u64::from(keys));
    let mut rounds = 0;
    while !stop.load(Ordering::Relaxed) || rounds == 0 {
        let asked: Vec<Row> = (0..40).map(|_| key_row(rng.below(keys.into()) as u32)).collect();
        let fields: Vec<_> = asked.iter().map(|key| fields(key)).collect();
        let tuples: Vec<_> = fields.iter().map(|key| Tuple::new(key)).collect();
        let mut shown = 0;
        let all = tree.lookup_many(&bed.storage, &tuples, |i, record| {
            assert_eq!(i, shown);
            shown += 1;
            let key = get_u32(asked[i][0].as_ref().unwrap(), 0);
            match record {
                Some(record) => assert_eq!(get_u32(record.page, record.rec.into()), key),
                None => assert!(!key.is_multiple_of(STAY), "{key} stays, and was not found"),
            }
            ControlFlow::Continue(())
        });
        assert!(all.unwrap());
        assert_eq!(shown, asked.len());
        rounds += 1;
    }
    rounds
}

#[test]
fn sets_of_keys_are_found_while_pages_split_and_merge() {
    const KEYS: u32 = 6_000;
    // The small pool holds a part of the tree only: leaves of a set have to be read.
    for frames in [1_000, 96] {
        let bed = Bed::new(4096, frames, 3);
        let tree = bed.tree(Kind::IntKey, RowFormat::Dynamic);
        let mut rng = Rng::new(3);
        for key in (0..KEYS).step_by(STAY as usize) {
            insert(&bed, &tree, &row(Kind::IntKey, key, &mut rng, 0)).unwrap();
        }
        let (bed, tree) = (&bed, &tree);
        let stop = &AtomicBool::new(false);
        std::thread::scope(|s| {
            let writers: Vec<_> =
                (0..2u32).map(|t| s.spawn(move || write_disjoint(bed, tree, t, KEYS))).collect();
            let readers = [0, 1].map(|_| s.spawn(move || look_up(bed, tree, KEYS, stop)));
            writers.into_iter().for_each(|w| w.join().unwrap());
            stop.store(true, Ordering::Relaxed);
            readers.into_iter().for_each(|r| assert!(r.join().unwrap() > 0));
        });
        bed.validate(tree);
        bed.storage.pool().validate();
    }
}
