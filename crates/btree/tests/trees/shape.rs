//! How full pages get, and how trees grow and shrink.

use crate::bed::{Bed, KINDS, Kind, Row, be, contents, fields, insert, remove, row, shuffle};
use vaquita_base::Rng;
use vaquita_btree::{Tree, TreeReport};
use vaquita_format::index_def::RowFormat;
use vaquita_format::tuple::Tuple;

fn fill(tree: &Tree, report: &TreeReport) -> f64 {
    let page = tree.index().empty_page_space() as f64;
    report.record_bytes as f64 / (report.leaf_pages as f64 * page)
}

fn int_row(key: u32) -> Row {
    vec![Some(be(key.into(), 4)), Some(vec![0; 6]), Some(vec![0; 7]), Some(vec![5; 60])]
}

#[test]
fn ascending_inserts_fill_pages() {
    for page_size in [4096, 16384] {
        for format in [RowFormat::Redundant, RowFormat::Compact] {
            let bed = Bed::new(page_size, 300, 1);
            let tree = bed.tree(Kind::IntKey, format);
            for key in 0..20_000 {
                insert(&bed, &tree, &int_row(key)).unwrap();
            }
            let report = bed.validate(&tree);
            assert_eq!(report.records, 20_000);
            assert!(fill(&tree, &report) >= 0.90, "{page_size} {format:?} {report:?}");
        }
    }
}

#[test]
fn descending_inserts_fill_pages() {
    let bed = Bed::new(4096, 300, 2);
    let tree = bed.tree(Kind::IntKey, RowFormat::Compact);
    for key in (0..20_000).rev() {
        insert(&bed, &tree, &int_row(key)).unwrap();
    }
    let report = bed.validate(&tree);
    assert_eq!(report.records, 20_000);
    assert!(fill(&tree, &report) >= 0.90, "{report:?}");
}

/// Runs within the key range, as from several clients that each have their own part of it.
#[test]
fn interleaved_runs_fill_pages() {
    for descending in [false, true] {
        let bed = Bed::new(4096, 300, 3);
        let tree = bed.tree(Kind::IntKey, RowFormat::Compact);
        for i in 0..4_000 {
            for run in 0..4 {
                let key = run * 1_000_000 + if descending { 500_000 - i } else { i };
                insert(&bed, &tree, &int_row(key)).unwrap();
            }
        }
        let report = bed.validate(&tree);
        assert_eq!(report.records, 16_000);
        assert!(fill(&tree, &report) >= 0.85, "{descending} {report:?}");
    }
}

#[test]
fn random_inserts_leave_pages_two_thirds_full() {
    let bed = Bed::new(4096, 300, 4);
    let tree = bed.tree(Kind::IntKey, RowFormat::Dynamic);
    let mut keys: Vec<u32> = (0..20_000).collect();
    shuffle(&mut Rng::new(4), &mut keys);
    for &key in &keys {
        insert(&bed, &tree, &int_row(key)).unwrap();
    }
    let report = bed.validate(&tree);
    let fill = fill(&tree, &report);
    assert!((0.62..0.80).contains(&fill), "{fill}");
    for &key in &keys {
        assert!(remove(&bed, &tree, &int_row(key)));
    }
    let report = bed.validate(&tree);
    assert_eq!((report.records, report.height, report.leaf_pages, report.node_pages), (0, 1, 1, 0));
}

/// Long keys in small pages make trees of many levels with few children per page, where single-child pages, changed
/// least keys and full paths occur.
#[test]
fn tall_trees_grow_and_shrink() {
    let mut discards = 0;
    let mut full_paths = 0;
    let mut heights = 0;
    for seed in 0..12 {
        let format = [RowFormat::Redundant, RowFormat::Compact, RowFormat::Dynamic][seed as usize % 3];
        let bed = Bed::new(4096, 128, seed);
        let tree = bed.tree(Kind::LongKey, format);
        let mut rng = Rng::new(seed);
        let mut rows: Vec<Row> = (0..1_200).map(|key| row(Kind::LongKey, key, &mut rng, 0)).collect();
        for row in &rows {
            insert(&bed, &tree, row).unwrap();
        }
        heights += bed.validate(&tree).height;
        match seed % 4 {
            0 => rows.sort(),
            1 => {
                rows.sort();
                rows.reverse();
            }
            _ => shuffle(&mut rng, &mut rows),
        }
        // Parts of the key range first, to leave lonely pages between full ones.
        if seed % 2 == 1 {
            rows.sort_by_key(|row| row[0].as_ref().unwrap()[0] / 8 % 4);
        }
        for (i, row) in rows.iter().enumerate() {
            assert!(remove(&bed, &tree, row));
            if i % 50 == 0 {
                let report = bed.validate(&tree);
                assert_eq!(report.records as usize, rows.len() - 1 - i);
            }
        }
        let report = bed.validate(&tree);
        assert_eq!((report.height, report.leaf_pages, report.node_pages), (1, 1, 0));
        discards += tree.stats().discards.get();
        full_paths += tree.stats().full_path_descents.get();
    }
    assert!(heights >= 12 * 4, "{heights}");
    assert!(discards > 0 && full_paths > discards, "{discards} {full_paths}");
}

/// Two or three children per node page: branches without siblings go away everywhere, also where they are the first of
/// their page and the least key above has to change to a longer one that splits pages.
#[test]
fn trees_of_huge_keys() {
    let (mut discards, mut heights) = (0, 0);
    for seed in 0..24 {
        let format = [RowFormat::Redundant, RowFormat::Compact][seed as usize % 2];
        let bed = Bed::new(4096, 256, seed);
        let tree = bed.tree(Kind::HugeKey, format);
        let mut rng = Rng::new(seed);
        let mut rows: Vec<Row> = (0..260).map(|key| row(Kind::HugeKey, key, &mut rng, 0)).collect();
        shuffle(&mut rng, &mut rows);
        for row in &rows {
            insert(&bed, &tree, row).unwrap();
        }
        heights += bed.validate(&tree).height;
        let mut there: Vec<bool> = vec![true; rows.len()];
        // Removals win; all keys of a part go before the next part.
        rows.sort_by_key(|row| row[0].as_ref().unwrap()[2 + seed as usize % 2] / 32);
        for i in 0..rows.len() * 2 {
            let at = if i < rows.len() { i } else { rng.index(rows.len()) };
            if there[at] {
                assert!(remove(&bed, &tree, &rows[at]));
            } else {
                insert(&bed, &tree, &rows[at]).unwrap();
            }
            there[at] = !there[at];
            let report = bed.validate(&tree);
            assert_eq!(report.records as usize, there.iter().filter(|&&t| t).count());
        }
        for (row, there) in rows.iter().zip(there) {
            assert_eq!(remove(&bed, &tree, row), there);
        }
        let report = bed.validate(&tree);
        assert_eq!((report.height, report.leaf_pages, report.node_pages), (1, 1, 0));
        discards += tree.stats().discards.get();
    }
    assert!(heights > 24 * 5 && discards > 100, "{heights} {discards}");
}

#[test]
fn freed_trees_give_all_pages_back() {
    for kind in KINDS {
        let bed = Bed::new(4096, 64, 7);
        let keep = bed.tree(Kind::IntKey, RowFormat::Compact);
        let free_pages = |bed: &Bed| {
            let mut mtr = bed.storage.begin_read();
            vaquita_storage::fsp::free_extents(&mut mtr, crate::bed::SPACE).unwrap()
        };
        let tree = bed.tree(kind, RowFormat::Dynamic);
        let mut rng = Rng::new(8);
        for key in 0..800 {
            insert(&bed, &tree, &row(kind, key, &mut rng, 9_000)).unwrap();
            insert(&bed, &keep, &int_row(key)).unwrap();
        }
        let before = free_pages(&bed);
        tree.free_but_not_root(&bed.storage).unwrap();
        let mut mtr = bed.storage.begin().unwrap();
        mtr.keep_before_images();
        tree.free_root(&mut mtr).unwrap();
        mtr.commit();
        assert!(free_pages(&bed) >= before);
        assert_eq!(bed.validate(&keep).records, 800);
        bed.validate_space();
    }
}

/// Records that grow until they need pages of their own, and shrink again.
#[test]
fn growing_updates_split_pages() {
    let bed = Bed::new(8192, 64, 9);
    let tree = bed.tree(Kind::IntKey, RowFormat::Compact);
    let sized = |key: u32, len: usize| {
        let mut row = int_row(key);
        row[3] = Some(vec![len as u8; len]);
        row
    };
    for len in [0, 100, 300, 20, 250] {
        for key in 0..500 {
            let row = sized(key * 37 % 500, len);
            if len == 0 {
                insert(&bed, &tree, &row).unwrap();
            } else {
                let all = fields(&row);
                assert!(tree.update(&bed.storage, &Tuple::new(&all)).unwrap().is_some());
            }
        }
        let report = bed.validate(&tree);
        assert_eq!(report.records, 500);
        let all = contents(&bed, &tree);
        assert!(all.values().all(|(row, _)| row[3].as_ref().unwrap().len() == len));
    }
    let missing = sized(10_000, 5);
    let all = fields(&missing);
    assert!(tree.update(&bed.storage, &Tuple::new(&all)).unwrap().is_none());
    assert!(!remove(&bed, &tree, &missing));
}

/// Records of nearly half a page: each page holds two, and every split is a tight one.
#[test]
fn the_largest_records() {
    for format in [RowFormat::Redundant, RowFormat::Compact, RowFormat::Dynamic] {
        let bed = Bed::new(4096, 64, 10);
        let tree = bed.tree(Kind::VarKey, format);
        let max = tree.index().rec_size_max();
        let mut rng = Rng::new(10);
        for key in 0..300u32 {
            let mut r = row(Kind::VarKey, key * 7 % 300, &mut rng, 100);
            // Two values that stay: the sizes of everything else are below 120 bytes.
            r[3] = Some(vec![1; rng.index(max / 2 - 100)]);
            r[4] = Some(vec![2; max / 2 - 100]);
            insert(&bed, &tree, &r).unwrap();
            if key % 20 == 0 {
                bed.validate(&tree);
            }
        }
        assert_eq!(bed.validate(&tree).records, 300);
    }
    let bed = Bed::new(4096, 64, 11);
    let tree = bed.tree(Kind::LongKey, RowFormat::Compact);
    let long = vec![Some(vec![1; 900]), Some(vec![0; 4])];
    let max = tree.index().rec_size_max();
    assert!(insert(&bed, &tree, &long).is_ok() && 900 < max);
}
