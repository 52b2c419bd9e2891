//! Coming back to a record where it was, and finding it by its key where it is not any more.

use crate::bed::{Bed, Kind, be, fields, insert, remove, row};
use vaquita_base::Rng;
use vaquita_base::codec::get_u32;
use vaquita_btree::{Bookmark, Cursor, LatchMode, Tree};
use vaquita_format::index_def::RowFormat;
use vaquita_format::index_page::SearchMode;
use vaquita_format::tuple::{Tuple, TupleField};

fn setup() -> (Bed, Tree) {
    let bed = Bed::new(4096, 64, 1);
    let tree = bed.tree(Kind::IntKey, RowFormat::Compact);
    let mut rng = Rng::new(1);
    for key in 0..500 {
        insert(&bed, &tree, &row(Kind::IntKey, key * 10, &mut rng, 0)).unwrap();
    }
    (bed, tree)
}

/// Looks a key up; its place and the number of the record found there.
fn look(bed: &Bed, tree: &Tree, key: u32, likely: Option<Bookmark>) -> Option<(Bookmark, u32)> {
    let key = be(key.into(), 4);
    tree.lookup_marked(&bed.storage, &Tuple::new(&[TupleField::new(&key)]), likely, |record, mark| {
        (mark, get_u32(record.page, record.rec.into()))
    })
    .unwrap()
}

/// Comes back for a change; whether the place is the one that a search by the key gives, and the record found.
fn come_back(bed: &Bed, tree: &Tree, key: u32, mark: Option<Bookmark>) -> u32 {
    let key = be(key.into(), 4);
    let key = [TupleField::new(&key)];
    let key = Tuple::new(&key);
    let by_key = {
        let mut mtr = bed.storage.begin_read();
        let at = tree.search(&mut mtr, &key, SearchMode::LessOrEqual, LatchMode::Shared).unwrap();
        (mtr.id(at.page()), *at.found())
    };
    let mut mtr = bed.storage.begin().unwrap();
    let at = tree.search_marked(&mut mtr, &key, mark).unwrap();
    let found = at.found();
    assert_eq!(mtr.id(at.page()), by_key.0);
    assert_eq!((found.rec, found.low, found.up), (by_key.1.rec, by_key.1.low, by_key.1.up));
    assert_eq!(found.low_matched, by_key.1.low_matched);
    assert!(mtr.is_exclusive(at.page()));
    get_u32(mtr.page(at.page()), found.low.into())
}

#[test]
fn a_record_is_where_it_was() {
    let (bed, tree) = setup();
    for key in (0..5_000).step_by(10) {
        let (mark, found) = look(&bed, &tree, key, None).unwrap();
        assert_eq!(found, key);
        assert!(mark.holds(&bed.storage));
        assert_eq!(look(&bed, &tree, key, Some(mark)), Some((mark, key)));
        assert_eq!(come_back(&bed, &tree, key, Some(mark)), key);
        // The latch was held exclusively meanwhile: that is enough for a bookmark to be of no use.
        assert!(!mark.holds(&bed.storage));
        assert_eq!(come_back(&bed, &tree, key, Some(mark)), key);
    }
    assert_eq!(look(&bed, &tree, 5, None), None);
}

#[test]
fn a_bookmark_of_another_record_is_passed_over() {
    let (bed, tree) = setup();
    let other = bed.tree(Kind::VarKey, RowFormat::Compact);
    let mut rng = Rng::new(2);
    let row = row(Kind::VarKey, 7, &mut rng, 0);
    insert(&bed, &other, &row).unwrap();
    let (near, _) = look(&bed, &tree, 100, None).unwrap();
    let (far, _) = look(&bed, &tree, 4_900, None).unwrap();
    let key = fields(&row[..1]);
    let elsewhere = other.lookup_marked(&bed.storage, &Tuple::new(&key), None, |_, mark| mark).unwrap();
    for likely in [Some(near), Some(far), elsewhere] {
        let (mark, found) = look(&bed, &tree, 110, likely).unwrap();
        assert_eq!(found, 110);
        assert_ne!(Some(mark), likely);
        assert_eq!(look(&bed, &tree, 105, likely), None);
    }
}

#[test]
fn a_record_that_moved_is_found_by_its_key() {
    let (bed, tree) = setup();
    let mut rng = Rng::new(3);
    for key in (10..5_000).step_by(130) {
        let (mark, _) = look(&bed, &tree, key, None).unwrap();
        for new in 1..10 {
            insert(&bed, &tree, &row(Kind::IntKey, key + new, &mut rng, 0)).unwrap();
        }
        assert_eq!(look(&bed, &tree, key, Some(mark)).unwrap().1, key);
        assert_eq!(come_back(&bed, &tree, key, Some(mark)), key);
        assert!(remove(&bed, &tree, &vec![Some(be(key.into(), 4))]));
        assert_eq!(look(&bed, &tree, key, Some(mark)), None);
    }
    bed.validate(&tree);
}

#[test]
fn a_cursor_tells_the_place_of_its_record() {
    let (bed, tree) = setup();
    let mut cursor = Cursor::new(&tree, &bed.storage);
    assert_eq!(cursor.bookmark(), None);
    let key = be(200, 4);
    assert!(cursor.seek(&Tuple::new(&[TupleField::new(&key)]), SearchMode::GreaterOrEqual).unwrap());
    let mark = cursor.bookmark();
    let _state = cursor.suspend().unwrap();
    assert_eq!(look(&bed, &tree, 200, mark), mark.map(|mark| (mark, 200)));
    assert!(mark.is_some());
}
