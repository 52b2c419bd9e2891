//! Damaged pages are reported: no panic, no endless loop, no latch left behind, whatever the bytes are.

use crate::bed::{Bed, KINDS, Kind, fields, n_key, row, tree_cursor};
use vaquita_base::{PageId, PageNo, Rng};
use vaquita_btree::{Tree, validate};
use vaquita_format::index_def::RowFormat;
use vaquita_format::index_page::SearchMode;
use vaquita_format::tuple::Tuple;

fn grow(bed: &Bed, tree: &Tree, kind: Kind, rows: u32) {
    let mut rng = Rng::new(1);
    for key in 0..rows {
        let row = row(kind, key * 13 % rows, &mut rng, 9_000);
        crate::bed::insert(bed, tree, &row).unwrap();
    }
}

/// Everything a tree can be asked for, errors welcome.
fn exercise(bed: &Bed, tree: &Tree, kind: Kind, rng: &mut Rng) {
    let storage = &bed.storage;
    let _ = validate(tree, storage);
    for _ in 0..30 {
        let row = row(kind, rng.below(400) as u32, rng, 200);
        let all = fields(&row);
        let tuple = Tuple::new(&all);
        let key = tuple.compare_first(n_key(tree));
        match rng.below(6) {
            0 => _ = tree.lookup(storage, &key, |r| r.heap_no()),
            1 => _ = tree.insert(storage, &tuple),
            2 => _ = tree.update(storage, &tuple),
            3 => _ = tree.free_owned(storage, &key, |_, _| true),
            4 => _ = tree.remove(storage, &key),
            _ => scan(bed, tree, &key, rng),
        }
    }
}

fn scan(bed: &Bed, tree: &Tree, key: &Tuple<'_>, rng: &mut Rng) {
    let mut cursor = tree_cursor(bed, tree);
    let (mode, up) = if rng.one_in(2) { (SearchMode::Less, false) } else { (SearchMode::Greater, true) };
    let mut more = cursor.seek(key, mode).unwrap_or(false);
    for _ in 0..2_000 {
        if !more {
            return;
        }
        if rng.one_in(20) && cursor.store().is_err() {
            return;
        }
        more = if up { cursor.next() } else { cursor.prev() }.unwrap_or(false);
    }
}

#[test]
fn random_bytes_in_pages_of_a_tree() {
    for (i, kind) in KINDS.into_iter().enumerate() {
        for format in [RowFormat::Redundant, RowFormat::Compact] {
            for seed in 0..6 {
                let bed = Bed::new(4096, 256, seed);
                let tree = bed.tree(kind, format);
                grow(&bed, &tree, kind, 300);
                let mut rng = Rng::new(seed * 10 + i as u64);
                let pages = bed.storage.spaces().get(tree.space()).unwrap().size_pages();
                for _ in 0..25 {
                    let page = PageNo(3 + rng.below(u64::from(pages.min(80)) - 3) as u32);
                    scribble(&bed, tree.space(), page, &mut rng);
                    exercise(&bed, &tree, kind, &mut rng);
                }
            }
        }
    }
}

/// Overwrites a few bytes, now and then those that count most.
fn scribble(bed: &Bed, space: vaquita_base::SpaceId, page: PageNo, rng: &mut Rng) {
    let mut mtr = bed.storage.begin().unwrap();
    let Ok(page) = mtr.get_exclusive(PageId::new(space, page)) else { return };
    let at = match rng.below(4) {
        // Links, header, first records, directory.
        0 => 8 + rng.index(8),
        1 => 38 + rng.index(36),
        2 => 94 + rng.index(200),
        _ => 94 + rng.index(4096 - 94 - 8),
    };
    let mut bytes = [0; 2];
    rng.fill(&mut bytes);
    mtr.write_bytes(page, at, &bytes);
    mtr.commit();
}

#[test]
fn a_wrong_root_is_refused() {
    let bed = Bed::new(4096, 64, 1);
    let tree = bed.tree(Kind::IntKey, RowFormat::Compact);
    grow(&bed, &tree, Kind::IntKey, 300);
    let open = |page, kind, format| Tree::open(&bed.storage, tree.space(), page, bed.index(kind, format));
    assert!(open(tree.root(), Kind::IntKey, RowFormat::Compact).is_ok());
    assert!(open(tree.root(), Kind::LongKey, RowFormat::Compact).is_err_and(|e| e.is_corruption()));
    assert!(open(tree.root(), Kind::IntKey, RowFormat::Redundant).is_err_and(|e| e.is_corruption()));
    assert!(open(PageNo(2), Kind::IntKey, RowFormat::Compact).is_err());
    // A leaf, which has siblings.
    let key = row(Kind::IntKey, 150, &mut Rng::new(1), 0);
    let key = fields(&key[..1]);
    let leaf = tree.lookup(&bed.storage, &Tuple::new(&key), |r| r.page_id.page_no).unwrap().unwrap();
    assert!(open(leaf, Kind::IntKey, RowFormat::Compact).is_err_and(|e| e.is_corruption()));
}

/// The check finds what single pages cannot show.
#[test]
fn validate_finds_faults_between_pages() {
    let bed = Bed::new(4096, 64, 2);
    let tree = bed.tree(Kind::IntKey, RowFormat::Compact);
    grow(&bed, &tree, Kind::IntKey, 600);
    bed.validate(&tree);
    let leaf_of = |key: u32| {
        let key = row(Kind::IntKey, key, &mut Rng::new(1), 0);
        let key = fields(&key[..1]);
        tree.lookup(&bed.storage, &Tuple::new(&key), |r| (r.page_id, usize::from(r.rec))).unwrap().unwrap()
    };
    let (leaf, _) = leaf_of(300);
    let last_key_of_leaf = (300..600).take_while(|&key| leaf_of(key).0 == leaf).last().unwrap();
    let (_, rec) = leaf_of(last_key_of_leaf);
    let cases: [(usize, u32, &str); 3] = [
        (8, 99_999, "sibling links"),
        (12, 99_999, "sibling links"),
        // The last key of the leaf beyond the first one of the next.
        (rec, last_key_of_leaf + 50, "above the page before"),
    ];
    for (at, value, rule) in cases {
        let set = |value: u32| {
            let mut mtr = bed.storage.begin().unwrap();
            let page = mtr.get_exclusive(leaf).unwrap();
            let old = vaquita_base::codec::get_u32(mtr.page(page), at);
            mtr.write_u32(page, at, value);
            mtr.commit();
            old
        };
        let old = set(value);
        let found = validate(&tree, &bed.storage).unwrap_err();
        assert!(found.is_corruption() && found.to_string().contains(rule), "{found}");
        set(old);
        bed.validate(&tree);
    }
}
