use super::edit::{Appender, create};
use super::header::*;
use super::logged::PageLog;
use super::*;
use crate::column::ColumnDef;
use crate::index_def::{IndexDef, IndexSpec, RowFormat};
use crate::page_size::PageSize;
use crate::record::encode;
use crate::record::header::{INFO_MIN_REC, n_owned};
use crate::tuple::{Tuple, TupleField};
use vaquita_base::codec::{get_u16, put_u32};
use vaquita_base::{IndexId, PageId, PageNo, SpaceId};

const ID: PageId = PageId::new(SpaceId(7), PageNo(3));

/// A tree of four-byte keys with an eight-byte payload.
fn ints(row_format: RowFormat) -> IndexDef {
    let columns = vec![ColumnDef::int("k", 4, true).not_null(), ColumnDef::int("v", 8, true).not_null()];
    let spec = IndexSpec { id: IndexId(1), name: "i".into(), row_format, page_size: PageSize::DEFAULT };
    IndexDef::plain(spec, columns, 1).unwrap()
}

fn key(k: u32) -> [u8; 4] {
    let mut out = [0; 4];
    put_u32(&mut out, 0, k);
    out
}

fn empty(index: &IndexDef) -> Vec<u8> {
    let mut page = vec![0; 16_384];
    create(&mut page, index.layout().comp());
    page
}

fn insert(page: &mut [u8], index: &IndexDef, k: u32) -> u16 {
    let k = key(k);
    let fields = [TupleField::new(&k), TupleField::new(&[1; 8])];
    let tuple = Tuple::new(&fields);
    let after = search(page, index, &tuple.compare_first(1), SearchMode::LessOrEqual).unwrap().rec;
    let mut rec = Vec::new();
    let extra = encode(index.layout(), &tuple, &mut rec);
    edit::insert(page, index.layout(), after, &rec, extra).unwrap().unwrap()
}

fn slots(page: &[u8]) -> Vec<u8> {
    let comp = is_comp(page);
    (0..n_dir_slots(page)).map(|i| n_owned(page, slot(page, i), comp)).collect()
}

#[test]
fn a_new_page_is_that_of_the_specification() {
    let page = empty(&ints(RowFormat::Compact));
    assert_eq!(page[94..120], *b"\x01\0\x02\0\x0Dinfimum\0\x01\0\x0B\0\0supremum");
    assert_eq!(page[16_372..16_376], [0, 0x70, 0, 0x63]);
    assert_eq!(page[38..56], [0, 2, 0, 120, 0x80, 2, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0]);
    assert_eq!(get_u16(&page, 24), 17_855);
    let page = empty(&ints(RowFormat::Redundant));
    assert_eq!(page[94..125], *b"\x08\x01\0\0\x03\0\x74infimum\0\x09\x01\0\x08\x03\0\0supremum\0");
    assert_eq!(page[40..44], [0, 125, 0, 2]);
}

#[test]
fn the_ninth_record_of_a_group_splits_its_slot() {
    for format in [RowFormat::Compact, RowFormat::Redundant] {
        let index = ints(format);
        let mut page = empty(&index);
        for k in 1..=7 {
            insert(&mut page, &index, k);
        }
        assert_eq!(slots(&page), [1, 8]);
        insert(&mut page, &index, 8);
        assert_eq!(slots(&page), [1, 4, 5]);
        validate(&page, Some(&index)).unwrap();
    }
}

#[test]
fn a_group_of_three_borrows_or_merges() {
    let index = ints(RowFormat::Compact);
    let mut page = empty(&index);
    let recs: Vec<u16> = (1..=8).map(|k| insert(&mut page, &index, k)).collect();
    // 1..=4 | 5..=8 and supremum: the next group lends one.
    edit::delete(&mut page, index.layout(), recs[1]).unwrap();
    assert_eq!(slots(&page), [1, 4, 4]);
    assert_eq!(owner(&page, recs[4]), Ok((recs[4], 1)));
    edit::delete(&mut page, index.layout(), recs[4]).unwrap();
    assert_eq!(slots(&page), [1, 7]);
    validate(&page, Some(&index)).unwrap();
}

#[test]
fn garbage_is_reused_with_its_heap_number() {
    let index = ints(RowFormat::Compact);
    let mut page = empty(&index);
    let recs: Vec<u16> = (1..=5).map(|k| insert(&mut page, &index, k * 10)).collect();
    let top = heap_top(&page);
    edit::delete(&mut page, index.layout(), recs[2]).unwrap();
    edit::delete(&mut page, index.layout(), recs[0]).unwrap();
    assert_eq!((free(&page), garbage(&page), last_insert(&page)), (recs[0], 34, 0));
    assert_eq!(insert(&mut page, &index, 99), recs[0]);
    assert_eq!((free(&page), garbage(&page), heap_top(&page), n_heap(&page)), (recs[2], 17, top, 7));
    validate(&page, Some(&index)).unwrap();
}

#[test]
fn insert_direction_is_tracked() {
    let index = ints(RowFormat::Compact);
    let mut page = empty(&index);
    let mut state = |k| {
        insert(&mut page, &index, k);
        (direction(&page), n_direction(&page))
    };
    assert_eq!(state(50), (5, 0));
    assert_eq!(state(60), (2, 1));
    assert_eq!(state(70), (2, 2));
    assert_eq!(state(10), (5, 0));
    assert_eq!(state(9), (1, 1));
    assert_eq!(state(8), (1, 2));
    assert_eq!(state(65), (5, 0));
}

#[test]
fn deleting_the_last_record_makes_the_page_anew() {
    let index = ints(RowFormat::Compact);
    let mut page = empty(&index);
    let rec = insert(&mut page, &index, 1);
    let mut log = Vec::new();
    logged::delete(&mut page, &mut PageLog::new(ID, &mut log), &index, rec).unwrap();
    assert_eq!(log, [37, 7, 3], "the documented record that creates a page");
    assert!(page == empty(&index));
}

#[test]
fn small_records_have_the_documented_bodies() {
    let index = ints(RowFormat::Compact);
    let mut page = empty(&index);
    insert(&mut page, &index, 1);
    let rec = insert(&mut page, &index, 2);
    let mut out = Vec::new();
    let mut log = PageLog::new(ID, &mut out);
    logged::set_delete_mark_secondary(&mut page, &mut log, rec, true).unwrap();
    logged::set_min_rec_mark(&mut page, &mut log, true, rec).unwrap();
    logged::delete(&mut page, &mut log, &index, rec).unwrap();
    let [high, low] = [(rec >> 8) as u8, rec as u8];
    let description = [0, 2, 0, 1, 0x80, 4, 0x80, 8];
    let mut want = vec![11, 7, 3, 1, high, low, 36, 7, 3, high, low, 42, 7, 3];
    want.extend_from_slice(&description);
    want.extend_from_slice(&[high, low]);
    assert_eq!(out, want);
}

#[test]
fn appended_pages_have_groups_of_four() {
    let index = ints(RowFormat::Compact);
    for (n, want) in [
        (0, &[1, 1][..]),
        (3, &[1, 4]),
        (4, &[1, 5]),
        (7, &[1, 8]),
        (8, &[1, 4, 5]),
        (11, &[1, 4, 8]),
        (12, &[1, 4, 4, 5]),
    ] {
        let mut page = empty(&index);
        let mut appender = Appender::new(&page);
        let mut rec = Vec::new();
        for k in 0..n {
            let k = key(k);
            let fields = [TupleField::new(&k), TupleField::new(&[1; 8])];
            let extra = encode(index.layout(), &Tuple::new(&fields), &mut rec);
            assert!(appender.push(&mut page, &rec, extra).unwrap().is_some());
        }
        appender.finish(&mut page).unwrap();
        assert_eq!(slots(&page), want, "{n} records");
        validate(&page, Some(&index)).unwrap();
    }
}

#[test]
fn a_full_page_refuses_and_says_so_beforehand() {
    let index = ints(RowFormat::Compact);
    let mut page = empty(&index);
    let mut rec = Vec::new();
    let fields = [TupleField::new(&[7; 4]), TupleField::new(&[1; 8])];
    let extra = encode(index.layout(), &Tuple::new(&fields), &mut rec);
    let mut n = 0;
    while edit::insert(&mut page, index.layout(), COMP_INFIMUM, &rec, extra).unwrap().is_some() {
        n += 1;
    }
    // 17 bytes and half a byte of directory each: 16252 / 17.5 = 928.
    assert_eq!(n, 928);
    assert!(max_insert_size(&page, 1) < rec.len());
    assert_eq!(data_size(&page), 928 * 17);
}

/// The first record of the leftmost page of a level is below every key, whatever it holds.
#[test]
fn minimum_record_is_below_all() {
    let index = ints(RowFormat::Compact);
    let mut page = empty(&index);
    page[8..12].fill(0xFF);
    set_level_and_index(&mut page, 1, IndexId(1));
    let mut at = COMP_INFIMUM;
    for (k, child) in [(500, 10), (100, 11), (200, 12)] {
        let k = key(k);
        let fields = [TupleField::new(&k)];
        let mut rec = Vec::new();
        let bits = if child == 10 { INFO_MIN_REC } else { 0 };
        let tuple = Tuple::node_ptr(&fields, PageNo(child)).with_info_bits(bits);
        let extra = encode(index.layout(), &tuple, &mut rec);
        at = edit::insert(&mut page, index.layout(), at, &rec, extra).unwrap().unwrap();
    }
    validate(&page, Some(&index)).unwrap();
    let all: Vec<u16> = records(&page).map(|r| r.unwrap()).collect();
    for (k, mode, want) in [
        (50, SearchMode::LessOrEqual, all[0]),
        (100, SearchMode::LessOrEqual, all[1]),
        (100, SearchMode::Less, all[0]),
        (150, SearchMode::Less, all[1]),
        (900, SearchMode::LessOrEqual, all[2]),
    ] {
        let k = key(k);
        let fields = [TupleField::new(&k)];
        assert_eq!(search(&page, &index, &Tuple::new(&fields), mode).unwrap().rec, want);
    }
    let zero = key(0);
    let fields = [TupleField::new(&zero)];
    let min = Tuple::new(&fields).with_info_bits(INFO_MIN_REC);
    assert_eq!(search(&page, &index, &min, SearchMode::LessOrEqual).unwrap().rec, all[0]);
}

#[test]
fn damage_is_named() {
    let index = ints(RowFormat::Compact);
    let mut good = empty(&index);
    let recs: Vec<u16> = (1..=9).map(|k| insert(&mut good, &index, k)).collect();
    let rec = usize::from(recs[4]);
    for (at, value, check) in [
        (rec - 1, 200, "heap number"),
        (rec - 5, 3, "n_owned of slot"),
        (rec - 3, 1, "record status"),
        (rec, 9, "key order"),
        (41, 7, "record"),
        (47, 1, "heap top"),
        (55, 8, "number of records"),
        (39, 4, "page directory"),
        (43, 4, "number of records"),
    ] {
        let mut page = good.clone();
        page[at] = value;
        let found = validate(&page, Some(&index)).unwrap_err();
        assert_eq!(found.check, check, "byte {at}: {found}");
    }
}
