//! Values off the page: which move, what chains look like, who frees them.

use crate::bed::{Bed, Kind, Row, fields, insert, read_row, remove, row};
use vaquita_base::Rng;
use vaquita_btree::{Error, off_page};
use vaquita_format::PageSize;
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::{IndexDef, IndexSpec, KeyPart, RowFormat};
use vaquita_format::record::EXTERN_REF_LEN;
use vaquita_format::tuple::{Tuple, TupleField};

fn two_blobs(format: RowFormat) -> IndexDef {
    let columns =
        [ColumnDef::int("id", 4, false).not_null(), ColumnDef::blob("a", 2), ColumnDef::blob("b", 2)];
    let spec = IndexSpec {
        id: vaquita_base::IndexId(1),
        name: "PRIMARY".into(),
        row_format: format,
        page_size: PageSize::DEFAULT,
    };
    IndexDef::clustered(spec, &columns, Some(&[KeyPart::whole(0)])).unwrap()
}

fn moved(format: RowFormat, a: Option<usize>, b: Option<usize>) -> Vec<usize> {
    let (a, b) = (a.map(|n| vec![1; n]), b.map(|n| vec![2; n]));
    let fields = [
        TupleField::new(&[0; 4]),
        TupleField::new(&[0; 6]),
        TupleField::new(&[0; 7]),
        TupleField::nullable(a.as_deref()),
        TupleField::nullable(b.as_deref()),
    ];
    off_page::choose(&two_blobs(format), &Tuple::new(&fields)).unwrap()
}

/// Measured on a real server: with `(INT, BLOB)` a value of 8100 bytes stays and one of 8101 moves.
#[test]
fn the_limit_of_a_real_server() {
    let columns = [ColumnDef::int("id", 4, false).not_null(), ColumnDef::blob("a", 2)];
    for (format, stays) in
        [(RowFormat::Compact, 8_100), (RowFormat::Dynamic, 8_100), (RowFormat::Redundant, 8_091)]
    {
        let spec = IndexSpec {
            id: vaquita_base::IndexId(1),
            name: "PRIMARY".into(),
            row_format: format,
            page_size: PageSize::DEFAULT,
        };
        let index = IndexDef::clustered(spec, &columns, Some(&[KeyPart::whole(0)])).unwrap();
        for (len, want) in [(stays, vec![]), (stays + 1, vec![3])] {
            let value = vec![7; len];
            let fields = [&[0; 4][..], &[0; 6], &[0; 7], &value].map(TupleField::new);
            assert_eq!(off_page::choose(&index, &Tuple::new(&fields)).unwrap(), want, "{format:?} {len}");
        }
    }
}

#[test]
fn the_longest_value_moves_first_and_no_more_than_needed() {
    for format in [RowFormat::Compact, RowFormat::Dynamic] {
        assert_eq!(moved(format, Some(5_000), Some(6_000)), [4]);
        assert_eq!(moved(format, Some(6_000), Some(6_000)), [3], "the first of equals");
        assert_eq!(moved(format, Some(9_000), Some(9_000)), [3, 4]);
        assert_eq!(moved(format, None, Some(9_000)), [4]);
        assert_eq!(moved(format, Some(0), Some(100)), [0; 0]);
    }
}

#[test]
fn rows_that_cannot_fit_are_refused() {
    let columns: Vec<ColumnDef> =
        (0..40).map(|i| ColumnDef::binary(format!("c{i}"), 255).not_null()).collect();
    let spec = IndexSpec {
        id: vaquita_base::IndexId(1),
        name: "PRIMARY".into(),
        row_format: RowFormat::Dynamic,
        page_size: PageSize::DEFAULT,
    };
    let index = IndexDef::clustered(spec, &columns, None).unwrap();
    let mut values = vec![vec![0; 6], vec![0; 6], vec![0; 7]];
    values.extend((0..40).map(|_| vec![0; 255]));
    let fields: Vec<TupleField<'_>> = values.iter().map(|v| TupleField::new(v)).collect();
    assert!(matches!(off_page::choose(&index, &Tuple::new(&fields)), Err(Error::RecordTooBig { .. })));
}

#[test]
fn long_values_come_back_and_go_away() {
    for format in [RowFormat::Redundant, RowFormat::Compact, RowFormat::Dynamic] {
        let bed = Bed::new(4096, 64, 1);
        let tree = bed.tree(Kind::VarKey, format);
        let capacity = off_page::page_capacity(4096);
        let prefix = format.off_page_prefix() as usize;
        let mut rng = Rng::new(1);
        let mut rows = Vec::new();
        // Around one page, two pages, and many.
        let lengths = [capacity - 1, capacity, capacity + 1, 2 * capacity, 100_000, 3_000];
        for (key, len) in lengths.into_iter().enumerate() {
            let mut r = row(Kind::VarKey, key as u32, &mut rng, 10);
            r[3] = Some((0..len + prefix).map(|i| (i * 31 % 251) as u8).collect());
            insert(&bed, &tree, &r).unwrap();
            rows.push(r);
        }
        let want: usize = lengths.iter().map(|len| len.div_ceil(capacity)).sum();
        assert_eq!(bed.validate(&tree).off_page_pages, want as u64, "{format:?}");
        for r in &rows {
            let key = fields(&r[..1]);
            let local = tree
                .lookup(&bed.storage, &Tuple::new(&key), |rec| {
                    assert_eq!(&read_row(&bed, &tree, &rec).0, r);
                    let mut offsets = vaquita_format::record::Offsets::new();
                    rec.parse(tree.index(), &mut offsets).unwrap();
                    (offsets.is_external(3), rec.field(&offsets, 3).unwrap().to_vec())
                })
                .unwrap()
                .unwrap();
            assert!(local.0);
            assert_eq!(local.1.len(), prefix + EXTERN_REF_LEN);
            assert_eq!(local.1[..prefix], r[3].as_ref().unwrap()[..prefix]);
        }
        for r in &rows {
            assert!(remove(&bed, &tree, r));
        }
        let report = bed.validate(&tree);
        assert_eq!((report.records, report.off_page_pages, report.leaked_pages), (0, 0, 0));
    }
}

#[test]
fn only_owners_free_chains() {
    let bed = Bed::new(4096, 64, 2);
    let tree = bed.tree(Kind::VarKey, RowFormat::Dynamic);
    let mut r = row(Kind::VarKey, 1, &mut Rng::new(2), 10);
    r[3] = Some(vec![9; 30_000]);
    insert(&bed, &tree, &r).unwrap();
    let pages = bed.validate(&tree).off_page_pages;
    let key = fields(&r[..1]);
    let key = Tuple::new(&key);
    // A selection that wants inherited chains only finds none.
    assert_eq!(tree.free_owned(&bed.storage, &key, |_, chain| chain.inherited).unwrap(), 0);
    let (at, page) = reference(&bed, &tree, &key);
    // The record stops owning its chain, as when an update hands it to a new record.
    let set = |flags: u8| {
        let mut mtr = bed.storage.begin().unwrap();
        let page = mtr.get_exclusive(page).unwrap();
        mtr.write_u8(page, at + 12, flags);
        mtr.commit();
    };
    set(0x80);
    assert_eq!(tree.free_owned(&bed.storage, &key, |_, _| true).unwrap(), 0);
    assert_eq!(bed.validate(&tree).leaked_pages, pages, "the chain belongs to nobody here");
    set(0x40);
    assert_eq!(tree.free_owned(&bed.storage, &key, |_, chain| chain.inherited).unwrap() as u64, pages);
    let report = bed.validate(&tree);
    assert_eq!((report.off_page_pages, report.leaked_pages), (0, 0));
}

fn reference(bed: &Bed, tree: &vaquita_btree::Tree, key: &Tuple<'_>) -> (usize, vaquita_base::PageId) {
    tree.lookup(&bed.storage, key, |rec| (tree.external_refs(&rec).unwrap()[0].1, rec.page_id))
        .unwrap()
        .unwrap()
}

#[test]
fn a_record_that_is_not_inserted_leaves_no_chain() {
    let bed = Bed::new(4096, 64, 3);
    let tree = bed.tree(Kind::VarKey, RowFormat::Compact);
    let mut r: Row = row(Kind::VarKey, 1, &mut Rng::new(3), 10);
    r[3] = Some(vec![9; 50_000]);
    insert(&bed, &tree, &r).unwrap();
    let before = bed.validate(&tree);
    assert!(matches!(insert(&bed, &tree, &r), Err(Error::Duplicate)));
    assert_eq!(bed.validate(&tree), before);
}

#[test]
fn damaged_chains_are_reported() {
    let bed = Bed::new(4096, 64, 4);
    let tree = bed.tree(Kind::VarKey, RowFormat::Dynamic);
    let mut r = row(Kind::VarKey, 1, &mut Rng::new(4), 10);
    r[3] = Some(vec![9; 20_000]);
    insert(&bed, &tree, &r).unwrap();
    let key = fields(&r[..1]);
    let local = tree
        .lookup(&bed.storage, &Tuple::new(&key), |rec| tree.external_refs(&rec).unwrap()[0].2)
        .unwrap()
        .unwrap();
    let first = vaquita_base::PageId::new(local.space, local.page_no);
    // Its own number as the next page, an impossible length, another page type.
    for (at, value) in [(42, local.page_no.get()), (38, 5_000), (38, 0), (24, 0)] {
        let mut mtr = bed.storage.begin().unwrap();
        let page = mtr.get_exclusive(first).unwrap();
        let old = vaquita_base::codec::get_u32(mtr.page(page), at);
        mtr.write_u32(page, at, value);
        mtr.commit();
        let read = tree.read_value(&bed.storage, &local.to_bytes(), &mut Vec::new());
        assert!(read.is_err_and(|e| e.is_corruption()), "{at} {value}");
        assert!(tree.free_owned(&bed.storage, &Tuple::new(&key), |_, _| true).is_err(), "{at} {value}");
        let mut mtr = bed.storage.begin().unwrap();
        let page = mtr.get_exclusive(first).unwrap();
        mtr.write_u32(page, at, old);
        mtr.commit();
    }
    bed.validate(&tree);
}

/// The record first, its values afterwards: at any moment a rollback finds all there is through the record.
#[test]
fn values_can_follow_their_record() {
    for (format, prefix) in [(RowFormat::Compact, 768), (RowFormat::Dynamic, 0)] {
        let bed = Bed::new(4096, 64, 5);
        let tree = bed.tree(Kind::VarKey, format);
        let mut r = row(Kind::VarKey, 1, &mut Rng::new(5), 10);
        r[3] = Some((0..40_000).map(|i| (i * 7 % 251) as u8).collect());
        let whole = fields(&r);
        let tuple = Tuple::new(&whole);
        let (rec, moved) = tree.prepare(&tuple).unwrap();
        assert_eq!(moved, [3]);
        tree.insert_record(&bed.storage, &tuple, &rec).unwrap();
        let key = Tuple::new(&whole[..1]);
        let stored = || {
            let row = tree.lookup(&bed.storage, &key, |rec| read_row(&bed, &tree, &rec).0).unwrap();
            row.unwrap()[3].clone().unwrap()
        };
        assert_eq!(stored(), r[3].as_ref().unwrap()[..prefix], "not written yet");
        let value = (3, r[3].as_deref().unwrap());
        assert!(!tree.write_value(&bed.storage, &key, value, |_| false).unwrap());
        assert_eq!(bed.validate(&tree).leaked_pages, 0);
        assert!(tree.write_value(&bed.storage, &key, value, |_| true).unwrap());
        assert_eq!(Some(stored()), r[3]);
        let report = bed.validate(&tree);
        assert!(report.off_page_pages > 8 && report.leaked_pages == 0, "{report:?}");
        assert!(remove(&bed, &tree, &r));
        let report = bed.validate(&tree);
        assert_eq!((report.records, report.off_page_pages, report.leaked_pages), (0, 0, 0));
    }
}
