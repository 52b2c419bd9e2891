//! Cursors that give their latch up while others change the tree.

use crate::bed::{Bed, Kind, be, fields, insert, remove, row, tree_cursor};
use std::ops::ControlFlow;
use vaquita_base::Rng;
use vaquita_base::codec::get_u32;
use vaquita_btree::{Cursor, CursorState, Restored, Step, Tree};
use vaquita_format::index_def::RowFormat;
use vaquita_format::index_page::SearchMode;
use vaquita_format::tuple::{Tuple, TupleField};

fn setup(keys: impl Iterator<Item = u32>) -> (Bed, Tree) {
    let bed = Bed::new(4096, 64, 1);
    let tree = bed.tree(Kind::IntKey, RowFormat::Compact);
    let mut rng = Rng::new(1);
    for key in keys {
        insert(&bed, &tree, &row(Kind::IntKey, key, &mut rng, 0)).unwrap();
    }
    (bed, tree)
}

fn key_of(cursor: &Cursor<'_>) -> u32 {
    let record = cursor.record().expect("on a record");
    get_u32(record.page, record.rec.into())
}

fn seek(cursor: &mut Cursor<'_>, key: u32, mode: SearchMode) -> bool {
    let key = be(key.into(), 4);
    cursor.seek(&Tuple::new(&[TupleField::new(&key)]), mode).unwrap()
}

fn remove_key(bed: &Bed, tree: &Tree, key: u32) {
    assert!(remove(bed, tree, &vec![Some(be(key.into(), 4))]));
}

#[test]
fn an_empty_tree_has_no_records() {
    let (bed, tree) = setup(0..0);
    let mut cursor = tree_cursor(&bed, &tree);
    assert!(!cursor.first().unwrap() && !cursor.last().unwrap());
    assert!(!cursor.next().unwrap() && !cursor.prev().unwrap());
    for mode in [SearchMode::Less, SearchMode::LessOrEqual, SearchMode::Greater, SearchMode::GreaterOrEqual] {
        assert!(!seek(&mut cursor, 5, mode));
        assert!(cursor.record().is_none());
    }
    assert_eq!(cursor.restore().unwrap(), Restored::Off);
}

#[test]
fn modes_find_their_record() {
    let (bed, tree) = setup((0..2_000).map(|k| k * 10));
    let mut cursor = tree_cursor(&bed, &tree);
    for key in (0..20_100).step_by(7) {
        let below = if key < 20_000 { key / 10 * 10 } else { 19_990 };
        assert!(seek(&mut cursor, key, SearchMode::LessOrEqual));
        assert_eq!(key_of(&cursor), below);
        let strictly = if key % 10 == 0 && key < 20_000 { below.checked_sub(10) } else { Some(below) };
        assert_eq!(seek(&mut cursor, key, SearchMode::Less).then(|| key_of(&cursor)), strictly);
        let above = key.next_multiple_of(10);
        let want = (above < 20_000).then_some(above);
        assert_eq!(seek(&mut cursor, key, SearchMode::GreaterOrEqual).then(|| key_of(&cursor)), want);
        let above = key / 10 * 10 + 10;
        let want = (above < 20_000).then_some(above);
        assert_eq!(seek(&mut cursor, key, SearchMode::Greater).then(|| key_of(&cursor)), want);
    }
}

#[test]
fn turning_round_at_both_ends() {
    let (bed, tree) = setup(0..500);
    let mut cursor = tree_cursor(&bed, &tree);
    assert!(cursor.next().unwrap(), "a new cursor is before the first record");
    assert_eq!(key_of(&cursor), 0);
    assert!(!cursor.prev().unwrap() && !cursor.prev().unwrap());
    assert!(cursor.next().unwrap());
    assert_eq!(key_of(&cursor), 0);
    assert!(cursor.last().unwrap());
    assert!(!cursor.next().unwrap() && !cursor.next().unwrap());
    assert!(cursor.prev().unwrap());
    assert_eq!(key_of(&cursor), 499);
}

#[test]
fn coming_back_to_an_unchanged_page_and_to_a_changed_one() {
    let (bed, tree) = setup((0..1_000).map(|k| k * 2));
    let mut cursor = tree_cursor(&bed, &tree);
    for key in (0..1_990).step_by(26) {
        assert!(seek(&mut cursor, key, SearchMode::GreaterOrEqual));
        cursor.store().unwrap();
        assert_eq!(cursor.restore().unwrap(), Restored::Same);
        assert_eq!(key_of(&cursor), key);
        cursor.store().unwrap();
        // A record before it, and one behind it.
        let mut rng = Rng::new(2);
        insert(&bed, &tree, &row(Kind::IntKey, key + 1, &mut rng, 0)).unwrap();
        if key > 0 {
            remove_key(&bed, &tree, key - 2);
        }
        assert_eq!(cursor.restore().unwrap(), Restored::Same);
        assert_eq!(key_of(&cursor), key);
        assert!(cursor.next().unwrap());
        assert_eq!(key_of(&cursor), key + 1);
        cursor.store().unwrap();
    }
}

#[test]
fn a_removed_record_leaves_the_cursor_between_its_neighbours() {
    let (bed, tree) = setup(0..1_000);
    for key in (1..999).step_by(3) {
        for forwards in [true, false] {
            let mut cursor = tree_cursor(&bed, &tree);
            assert!(seek(&mut cursor, key, SearchMode::LessOrEqual));
            cursor.store().unwrap();
            remove_key(&bed, &tree, key);
            if key % 2 == 0 {
                assert_eq!(cursor.restore().unwrap(), Restored::Gone);
                assert!(cursor.record().is_none());
                cursor.store().unwrap();
                assert_eq!(cursor.restore().unwrap(), Restored::Gone);
            }
            let moved = if forwards { cursor.next().unwrap() } else { cursor.prev().unwrap() };
            assert!(moved);
            assert_eq!(key_of(&cursor), if forwards { key + 1 } else { key - 1 });
            drop(cursor);
            insert(&bed, &tree, &row(Kind::IntKey, key, &mut Rng::new(3), 0)).unwrap();
        }
    }
}

#[test]
fn a_cursor_survives_everything_around_it_being_removed() {
    let (bed, tree) = setup(0..1_500);
    let mut cursor = tree_cursor(&bed, &tree);
    assert!(seek(&mut cursor, 700, SearchMode::LessOrEqual));
    cursor.store().unwrap();
    for key in (0..1_500).filter(|&k| k != 3 && k != 1_400) {
        remove_key(&bed, &tree, key);
    }
    assert_eq!(cursor.restore().unwrap(), Restored::Gone);
    assert!(cursor.prev().unwrap());
    assert_eq!(key_of(&cursor), 3);
    assert!(cursor.next().unwrap());
    assert_eq!(key_of(&cursor), 1_400);
    assert!(!cursor.next().unwrap());
}

#[test]
fn batches_stop_where_they_are_told() {
    let (bed, tree) = setup(0..3_000);
    let mut cursor = tree_cursor(&bed, &tree);
    let mut seen = Vec::new();
    let mut more = cursor.first().unwrap();
    while more {
        let mut left = 70;
        let broken = cursor
            .for_each(|r| {
                if left == 0 {
                    return ControlFlow::Break(());
                }
                left -= 1;
                seen.push(get_u32(r.page, r.rec.into()));
                ControlFlow::Continue(())
            })
            .unwrap();
        more = broken;
        if broken {
            assert_eq!(key_of(&cursor), seen.len() as u32, "it stands on the record it was stopped at");
        }
        cursor.store().unwrap();
    }
    assert!(seen.into_iter().eq(0..3_000));
}

#[test]
fn a_cursor_hands_its_record_to_a_change() {
    let (bed, tree) = setup((0..800).map(|k| k * 2));
    let mut cursor = tree_cursor(&bed, &tree);
    for key in (0..1_500).step_by(10) {
        assert!(seek(&mut cursor, key, SearchMode::LessOrEqual));
        cursor.store().unwrap();
        if key % 20 == 0 {
            insert(&bed, &tree, &row(Kind::IntKey, key + 1, &mut Rng::new(4), 0)).unwrap();
        }
        let mut mtr = bed.storage.begin().unwrap();
        let position = cursor.restore_exclusive(&mut mtr).unwrap().expect("the record is there");
        let (page, rec) = (position.page(), position.found().low);
        assert_eq!(get_u32(mtr.page(page), rec.into()), key);
        tree.set_delete_mark(&mut mtr, page, rec, true, None).unwrap();
        mtr.commit();
        assert_eq!(cursor.restore().unwrap(), Restored::Same);
        assert!(cursor.record().unwrap().is_deleted());
        cursor.store().unwrap();
        remove_key(&bed, &tree, key);
        let mut mtr = bed.storage.begin().unwrap();
        assert!(cursor.restore_exclusive(&mut mtr).unwrap().is_none());
    }
    bed.validate(&tree);
}

/// Searches with fewer fields than the key has: all records with that prefix are equal.
#[test]
fn a_prefix_of_the_key_finds_the_ends_of_its_range() {
    let bed = Bed::new(4096, 64, 9);
    let tree = bed.tree(Kind::Nullable, RowFormat::Compact);
    let mut rng = Rng::new(9);
    let mut rows: Vec<_> = (0..3_000).map(|k| row(Kind::Nullable, k, &mut rng, 0)).collect();
    for row in &rows {
        insert(&bed, &tree, row).unwrap();
    }
    rows.sort();
    for a in [None, Some(be(0, 2)), Some(be(2, 2)), Some(be(4, 2)), Some(be(9, 2))] {
        let key = vec![a.clone()];
        let key_fields = fields(&key);
        let tuple = Tuple::new(&key_fields);
        let mut cursor = tree_cursor(&bed, &tree);
        let first = rows.iter().find(|r| r[0] >= a);
        let found = cursor.seek(&tuple, SearchMode::GreaterOrEqual).unwrap();
        let read = |cursor: &Cursor<'_>| crate::bed::read_row(&bed, &tree, &cursor.record().unwrap()).0;
        assert_eq!(found.then(|| read(&cursor)).as_ref(), first);
        let last = rows.iter().rev().find(|r| r[0] <= a);
        let found = cursor.seek(&tuple, SearchMode::LessOrEqual).unwrap();
        assert_eq!(found.then(|| read(&cursor)).as_ref(), last);
        let below = rows.iter().rev().find(|r| r[0] < a);
        let found = cursor.seek(&tuple, SearchMode::Less).unwrap();
        assert_eq!(found.then(|| read(&cursor)).as_ref(), below);
    }
}

fn place(cursor: &mut Cursor<'_>, key: u32, mode: SearchMode) {
    let key = be(key.into(), 4);
    cursor.place(&Tuple::new(&[TupleField::new(&key)]), mode).unwrap();
}

/// Steps and crossings together see every record once, in both directions, and every leaf ends once.
#[test]
fn steps_and_crossings_see_everything_once() {
    let (bed, tree) = setup(0..3_000);
    let leaves = bed.validate(&tree).leaf_pages;
    assert!(leaves > 10);
    let mut cursor = tree_cursor(&bed, &tree);
    let (mut want, mut edges) = (0, 0);
    loop {
        while cursor.step_right().unwrap() == Step::Record {
            assert_eq!(key_of(&cursor), want);
            want += 1;
        }
        edges += 1;
        assert_eq!(cursor.successor().unwrap().unwrap().heap_no().get(), 1, "the supremum");
        if !cursor.cross_right().unwrap() {
            break;
        }
    }
    assert_eq!((want, edges), (3_000, leaves));
    assert!(cursor.step_right().unwrap() == Step::Edge && !cursor.cross_right().unwrap());
    let mut edges = 0;
    loop {
        while cursor.step_left().unwrap() == Step::Record {
            want -= 1;
            assert_eq!(key_of(&cursor), want);
        }
        edges += 1;
        if !cursor.cross_left().unwrap() {
            break;
        }
    }
    assert_eq!((want, edges), (0, leaves));
    assert!(cursor.step_left().unwrap() == Step::Edge && !cursor.cross_left().unwrap());
    assert!(cursor.step_right().unwrap() == Step::Record, "from before the start to the first");
}

#[test]
fn a_place_is_between_two_records() {
    let (bed, tree) = setup((0..200).map(|k| k * 10));
    let mut cursor = tree_cursor(&bed, &tree);
    for (key, mode, low, up) in [
        (50, SearchMode::GreaterOrEqual, 40, 50),
        (50, SearchMode::Less, 40, 50),
        (50, SearchMode::Greater, 50, 60),
        (50, SearchMode::LessOrEqual, 50, 60),
        (55, SearchMode::GreaterOrEqual, 50, 60),
    ] {
        place(&mut cursor, key, mode);
        let behind = cursor.successor().unwrap().unwrap();
        assert_eq!(get_u32(behind.page, behind.rec.into()), up, "{key} {mode:?}");
        assert!(cursor.record().is_none());
        assert_eq!(cursor.step_left().unwrap(), Step::Record);
        assert_eq!(key_of(&cursor), low, "{key} {mode:?}");
        place(&mut cursor, key, mode);
        assert_eq!(cursor.step_right().unwrap(), Step::Record);
        assert_eq!(key_of(&cursor), up);
    }
}

/// A suspended walk goes on where it was, whatever became of its leaf.
#[test]
fn a_suspended_cursor_goes_on() {
    let (bed, tree) = setup((0..1_000).map(|k| k * 2));
    let mut seen = Vec::new();
    let mut state = CursorState::default();
    let mut rng = Rng::new(9);
    for round in 0.. {
        let mut cursor = Cursor::resume(&tree, &bed.storage, state);
        if !cursor.next().unwrap() {
            break;
        }
        seen.push(key_of(&cursor));
        state = cursor.suspend().unwrap();
        match round % 3 {
            // Splits and shifts the leaf the cursor is on; odd keys behind it are met later.
            0 => insert(&bed, &tree, &row(Kind::IntKey, *seen.last().unwrap() / 2 * 2 + 1, &mut rng, 0))
                .unwrap_or(()),
            1 => remove_key(&bed, &tree, *seen.last().unwrap()),
            _ => {}
        }
    }
    assert!(seen.is_sorted() && seen.windows(2).all(|w| w[0] < w[1]));
    assert_eq!(seen.iter().filter(|k| *k % 2 == 0).count(), 1_000);
    assert!(seen.iter().any(|k| k % 2 == 1));
}

#[test]
fn split_points_divide_a_tree_evenly() {
    let (bed, tree) = setup(0..5_000);
    for n in [1, 3, 7, 40] {
        let points = tree.split_points(&bed.storage, n).unwrap();
        assert_eq!(points.len(), n);
        let keys: Vec<u32> =
            points.iter().map(|k| get_u32(k.fields()[0].data.unwrap(), 0) & 0x7FFF_FFFF).collect();
        assert!(keys.windows(2).all(|w| w[0] < w[1]));
        let mut edges = vec![0];
        edges.extend(&keys);
        edges.push(5_000);
        let even = 5_000 / (n as u32 + 1);
        assert!(edges.windows(2).all(|w| w[1] - w[0] < 2 * even + 300), "{keys:?}");
    }
    let few = setup(0..3);
    assert!(few.1.split_points(&few.0.storage, 7).unwrap().is_empty());
}
