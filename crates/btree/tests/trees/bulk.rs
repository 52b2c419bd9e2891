//! Building trees from sorted records.

use crate::bed::{Bed, KINDS, Kind, Row, be, contents, fields, insert, n_key, remove, row};
use vaquita_base::Rng;
use vaquita_btree::{BulkBuilder, Error};
use vaquita_format::index_def::RowFormat;
use vaquita_format::tuple::Tuple;

#[test]
fn two_hundred_thousand_rows() {
    let bed = Bed::new(16384, 400, 1);
    let tree = bed.tree(Kind::IntKey, RowFormat::Compact);
    let mut builder = BulkBuilder::new(&tree, &bed.storage, 94);
    for key in 0..200_000u32 {
        let row = [Some(be(key.into(), 4)), Some(vec![0; 6]), Some(vec![0; 7]), Some(vec![3; 50])];
        builder.push(&Tuple::new(&fields(&row))).unwrap();
    }
    assert_eq!(builder.records(), 200_000);
    builder.finish().unwrap();
    let report = bed.validate(&tree);
    assert_eq!(report.records, 200_000);
    let full = report.record_bytes as f64 / (report.leaf_pages as f64 * 16_252.0);
    assert!((0.90..0.95).contains(&full), "{full}");
    let lookup = |key: u32| {
        let key = be(key.into(), 4);
        let key = [vaquita_format::tuple::TupleField::new(&key)];
        tree.lookup(&bed.storage, &Tuple::new(&key), |_| ()).unwrap().is_some()
    };
    assert!((0..200_000).step_by(997).all(lookup) && !lookup(200_000));
}

#[test]
fn every_kind_and_format_builds_and_lives_on() {
    for kind in KINDS {
        for format in [RowFormat::Redundant, RowFormat::Compact, RowFormat::Dynamic] {
            for count in [0, 1, 2, 3, 40, 900] {
                let bed = Bed::new(4096, 64, count.into());
                let tree = bed.tree(kind, format);
                let mut rng = Rng::new(count.into());
                let n = n_key(&tree);
                let mut rows: Vec<Row> = (0..count).map(|key| row(kind, key, &mut rng, 9_000)).collect();
                rows.sort_by(|a, b| a[..n].cmp(&b[..n]));
                let fill = [30, 70, 100][count as usize % 3];
                let mut builder = BulkBuilder::new(&tree, &bed.storage, fill);
                for row in &rows {
                    builder.push(&Tuple::new(&fields(row))).unwrap();
                }
                builder.finish().unwrap();
                let report = bed.validate(&tree);
                assert_eq!((report.records, report.leaked_pages), (count.into(), 0), "{kind:?} {format:?}");
                assert!(contents(&bed, &tree).into_values().map(|(row, _)| row).eq(rows.iter().cloned()));
                for key in 0..100 {
                    let row = row(kind, count + key, &mut rng, 100);
                    insert(&bed, &tree, &row).unwrap();
                }
                bed.validate(&tree);
                for row in &rows {
                    assert!(remove(&bed, &tree, row));
                }
                assert_eq!(bed.validate(&tree).records, 100);
            }
        }
    }
}

#[test]
fn unsorted_and_equal_keys_are_refused() {
    let bed = Bed::new(4096, 64, 5);
    let tree = bed.tree(Kind::IntKey, RowFormat::Compact);
    let mut builder = BulkBuilder::new(&tree, &bed.storage, 100);
    let mut rng = Rng::new(5);
    let mut push = |key: u32| builder.push(&Tuple::new(&fields(&row(Kind::IntKey, key, &mut rng, 0))));
    (10..200).for_each(|key| push(key).unwrap());
    assert!(matches!(push(199), Err(Error::NotSorted)));
    assert!(matches!(push(5), Err(Error::NotSorted)));
    push(200).unwrap();
    builder.finish().unwrap();
    assert_eq!(bed.validate(&tree).records, 191);
}

#[test]
fn a_build_given_up_leaves_an_empty_tree_that_can_be_freed() {
    let bed = Bed::new(4096, 64, 6);
    let tree = bed.tree(Kind::IntKey, RowFormat::Compact);
    let mut builder = BulkBuilder::new(&tree, &bed.storage, 100);
    let mut rng = Rng::new(6);
    for key in 0..2_000 {
        builder.push(&Tuple::new(&fields(&row(Kind::IntKey, key, &mut rng, 0)))).unwrap();
    }
    drop(builder);
    assert!(contents(&bed, &tree).is_empty());
    assert!(bed.validate(&tree).leaked_pages > 0);
    tree.free_but_not_root(&bed.storage).unwrap();
    let mut mtr = bed.storage.begin().unwrap();
    mtr.keep_before_images();
    tree.free_root(&mut mtr).unwrap();
    mtr.commit();
    bed.validate_space();
}
