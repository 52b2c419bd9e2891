//! The free-space codes that a server with a change buffer has left in the bitmap never say too much.

use crate::bed::{Bed, Kind, Row, fields, insert, n_key, remove, row, shuffle};
use std::collections::BTreeSet;
use vaquita_base::{PageId, PageNo, Rng};
use vaquita_btree::{BulkBuilder, Tree};
use vaquita_format::ibuf::{self, PageBits};
use vaquita_format::index_def::RowFormat;
use vaquita_format::index_page::max_insert_size_after_reorganize;
use vaquita_format::tuple::Tuple;

/// Gives every leaf the highest code its space allows, and every other page the highest there is.
fn raise_codes(bed: &Bed, tree: &Tree) {
    let mut leaves: BTreeSet<PageNo> = BTreeSet::new();
    let mut cursor = crate::bed::tree_cursor(bed, tree);
    let mut more = cursor.first().unwrap();
    while more {
        leaves.insert(cursor.record().unwrap().page_id.page_no);
        more = cursor.next().unwrap();
    }
    drop(cursor);
    let pages = bed.storage.spaces().get(tree.space()).unwrap().size_pages();
    for page in (3..pages).map(PageNo) {
        let free = if leaves.contains(&page) {
            let bytes = bed.storage.pool().get_shared(PageId::new(tree.space(), page)).unwrap();
            ibuf::free_code(bed.page_size, max_insert_size_after_reorganize(&bytes, 1))
        } else {
            3
        };
        let mut mtr = bed.storage.begin().unwrap();
        let bitmap = vaquita_format::fsp::bitmap_page(bed.page_size, page);
        let bitmap = mtr.get_exclusive(PageId::new(tree.space(), bitmap)).unwrap();
        let bits = PageBits { free, ..PageBits::default() };
        let (at, byte) = ibuf::with(bed.page_size, mtr.page(bitmap), page, bits);
        mtr.write_u8(bitmap, at, byte);
        mtr.commit();
    }
}

#[test]
fn codes_are_lowered_as_leaves_fill() {
    for page_size in [4096, 8192] {
        let bed = Bed::new(page_size, 64, 1);
        let tree = bed.tree(Kind::Nullable, RowFormat::Compact);
        let mut rng = Rng::new(1);
        let mut keys: Vec<u32> = (0..3_000).collect();
        for round in 0..3 {
            shuffle(&mut rng, &mut keys);
            for (i, &key) in keys.iter().enumerate() {
                let row = row(Kind::Nullable, key, &mut rng, 0);
                insert(&bed, &tree, &row).unwrap();
                if i % 100 == 0 {
                    bed.validate(&tree);
                    raise_codes(&bed, &tree);
                }
            }
            if round == 1 {
                keys.sort_unstable();
            }
            for (i, &key) in keys.iter().enumerate() {
                let row = row(Kind::Nullable, key, &mut rng, 0);
                assert!(remove(&bed, &tree, &row));
                if i % 100 == 0 {
                    bed.validate(&tree);
                    raise_codes(&bed, &tree);
                }
            }
        }
        assert!(tree.stats().merges.get() > 0 && tree.stats().splits.get() > 0);
    }
}

#[test]
fn codes_of_a_bulk_build() {
    for count in [20, 3_000] {
        let bed = Bed::new(4096, 64, 2);
        let tree = bed.tree(Kind::Nullable, RowFormat::Dynamic);
        raise_codes(&bed, &tree);
        let mut rng = Rng::new(2);
        let mut rows: Vec<Row> = (0..count).map(|key| row(Kind::Nullable, key, &mut rng, 0)).collect();
        let n = n_key(&tree);
        rows.sort_by(|a, b| a[..n].cmp(&b[..n]));
        let mut builder = BulkBuilder::new(&tree, &bed.storage, 100);
        for row in &rows {
            builder.push(&Tuple::new(&fields(row))).unwrap();
        }
        builder.finish().unwrap();
        assert_eq!(bed.validate(&tree).records, u64::from(count));
    }
}
