//! Numbers worked out from some leaves beside the true ones.

use crate::bed::{Bed, Kind, be, insert};
use vaquita_base::Rng;
use vaquita_btree::Tree;
use vaquita_format::index_def::RowFormat;

/// A secondary index on (a, b) of `rows` rows, inserted in any order; `a` and `b` follow from the number of the row.
fn setup(rows: u64, a: impl Fn(u64) -> Option<u64>, b: impl Fn(u64) -> u64) -> (Bed, Tree) {
    let bed = Bed::new(4096, 256, 1);
    let tree = bed.tree(Kind::Nullable, RowFormat::Compact);
    let mut numbers: Vec<u64> = (0..rows).collect();
    let mut rng = Rng::new(7);
    for at in (1..numbers.len()).rev() {
        numbers.swap(at, rng.below(at as u64 + 1) as usize);
    }
    for id in numbers {
        let row = vec![a(id).map(|a| be(a, 2)), Some(be(b(id), 4)), Some(be(id, 8))];
        insert(&bed, &tree, &row).unwrap();
    }
    (bed, tree)
}

fn close(found: u64, truth: u64) -> bool {
    found.abs_diff(truth) * 10 <= truth
}

#[test]
fn a_small_tree_is_counted() {
    let (bed, tree) = setup(500, |id| (id % 5 > 0).then_some(id % 5), |id| id % 100);
    let sample = tree.sample(&bed.storage, 3, 20).unwrap();
    assert!(sample.is_exact && sample.leaf_pages > 1, "{sample:?}");
    assert_eq!(sample.records, 500);
    // NULL is a value like others.
    assert_eq!(sample.distinct, [5, 100, 500]);
    assert_eq!(sample.leaves_read, sample.leaf_pages);
}

#[test]
fn an_empty_tree_has_nothing() {
    let (bed, tree) = setup(0, |_| None, |_| 0);
    let sample = tree.sample(&bed.storage, 2, 20).unwrap();
    assert_eq!((sample.records, sample.leaf_pages, sample.distinct), (0, 1, vec![0, 0]));
}

#[test]
fn few_values_and_many_are_told_from_some_leaves() {
    // Seven values of the first field, one for every four rows of the second.
    let (bed, tree) = setup(20_000, |id| Some(id % 7), |id| id / 28);
    let report = bed.validate(&tree);
    let sample = tree.sample(&bed.storage, 3, 10).unwrap();
    assert!(!sample.is_exact && sample.leaves_read <= 40, "{sample:?}");
    assert_eq!(sample.leaf_pages, report.leaf_pages);
    assert!(close(sample.records, 20_000), "{sample:?}");
    assert_eq!(sample.distinct[0], 7);
    assert!(close(sample.distinct[1], 5_000), "{sample:?}");
    assert!(close(sample.distinct[2], sample.records), "{sample:?}");
}

#[test]
fn a_level_of_many_pages_is_not_read_whole() {
    // Keys of which four fit on a node page.
    let bed = Bed::new(4096, 256, 1);
    let tree = bed.tree(Kind::LongKey, RowFormat::Compact);
    for id in 0..3_000u64 {
        // Ten values of the first field.
        let key = [be(id % 10, 4), be(id, 4), vec![b'x'; 850]].concat();
        insert(&bed, &tree, &vec![Some(key), Some(be(id, 4))]).unwrap();
    }
    let report = bed.validate(&tree);
    let reads = || bed.storage.pool().stats.requests.get();
    let before = reads();
    let sample = tree.sample(&bed.storage, 1, 20).unwrap();
    assert!(reads() - before < 700, "{} pages for {sample:?}", reads() - before);
    assert!(close(sample.leaf_pages, report.leaf_pages) && close(sample.records, 3_000), "{sample:?}");
    assert!(close(sample.distinct[0], 3_000), "{sample:?}");
}

#[test]
fn the_pages_of_a_tree_are_those_of_its_segments() {
    let (bed, tree) = setup(5_000, |id| Some(id % 100), |id| id);
    let report = bed.validate(&tree);
    let reserved = tree.reserved_pages(&bed.storage).unwrap();
    let used = report.leaf_pages + report.node_pages;
    // Extents are taken whole.
    assert!(reserved >= used && reserved < used + 128, "{reserved} for {used}");
}

/// Whoever samples is asked before every leaf, of a small tree and of a large one.
#[test]
fn a_sample_is_given_up_before_any_leaf() {
    for rows in [500, 20_000] {
        let (bed, tree) = setup(rows, |id| Some(id % 7), |id| id / 28);
        let mut asked = 0;
        let whole = tree.sample_while(&bed.storage, 3, 10, &mut || {
            asked += 1;
            true
        });
        let whole = whole.unwrap().expect("it went on");
        assert_eq!(asked, whole.leaves_read);
        for stop_at in [1, 2, asked] {
            let mut calls = 0;
            let sample = tree.sample_while(&bed.storage, 3, 10, &mut || {
                calls += 1;
                calls < stop_at
            });
            assert_eq!((sample.unwrap(), calls), (None, stop_at));
        }
    }
}
