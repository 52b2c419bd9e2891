use super::header::{heap_no, info_bits, n_owned, next};
use super::*;
use crate::column::{Charset, ColumnDef};
use crate::index_def::{FieldCmp, IndexDef, IndexSpec, KeyPart, RowFormat};
use crate::page_size::PageSize;
use crate::tuple::{Tuple, TupleField};
use std::cmp::Ordering;
use vaquita_base::{IndexId, PageNo, SpaceId};

fn spec(row_format: RowFormat) -> IndexSpec {
    IndexSpec { id: IndexId(1), name: "i".into(), row_format, page_size: PageSize::DEFAULT }
}

/// The documented table: no primary key, `a INT, b VARCHAR(20)` in latin1.
fn nopk(row_format: RowFormat) -> IndexDef {
    let columns = [ColumnDef::int("a", 4, false), ColumnDef::varchar("b", 20, Charset::LATIN1)];
    IndexDef::clustered(spec(row_format), &columns, None).unwrap()
}

/// A page with these bytes at `rec - extra`.
fn page_with(bytes: &[u8], rec: usize, extra: usize) -> Vec<u8> {
    let mut page = vec![0; 4096];
    page[rec - extra..rec - extra + bytes.len()].copy_from_slice(bytes);
    page
}

const ROW_ID: [u8; 6] = [0, 0, 0, 0, 2, 0x0F];
const TRX_ID: [u8; 6] = [0, 0, 0, 0, 0x73, 0xFB];
const ROLL_PTR: [u8; 7] = [0x98, 0, 0, 2, 0x20, 1, 0x10];

#[test]
fn compact_record_of_the_specification() {
    let bytes = b"\x03\x00\x00\x00\x10\x00\x20\0\0\0\0\x02\x0F\0\0\0\0\x73\xFB\x98\0\0\x02\x20\x01\x10\x80\0\0\x01one";
    let index = nopk(RowFormat::Compact);
    let page = page_with(bytes, 200, 7);
    let mut o = Offsets::new();
    o.parse(&page, 200, index.layout()).unwrap();
    assert_eq!((o.n_fields(), o.extra_len(), o.total_len()), (5, 7, bytes.len()));
    assert_eq!(o.field(&page, 200, 3), Some(&[0x80, 0, 0, 1][..]));
    assert_eq!(o.field(&page, 200, 4), Some(&b"one"[..]));
    assert_eq!((heap_no(&page, 200, true), next(&page, 200, true)), (2, 0x20 + 200));
    assert_eq!((n_owned(&page, 200, true), info_bits(&page, 200, true)), (0, 0));
    assert_eq!(RecSize::of(&page, 200, index.layout()), Ok(RecSize { extra: 7, data: 26 }));

    let a = [0x80, 0, 0, 1];
    let fields = [&ROW_ID[..], &TRX_ID, &ROLL_PTR, &a, b"one"].map(TupleField::new);
    let mut out = Vec::new();
    assert_eq!(encode(index.layout(), &Tuple::new(&fields), &mut out), 7);
    // Heap number and next come with insertion.
    let mut want = bytes.to_vec();
    (want[4], want[6]) = (0, 0);
    assert_eq!(out, want);
}

#[test]
fn compact_record_with_nulls() {
    let bytes = b"\x03\x00\x00\x18\x00\x1A\0\0\0\0\x02\x10\0\0\0\0\x73\xFB\x98\0\0\x02\x20\x01\x1F";
    let index = nopk(RowFormat::Compact);
    let page = page_with(bytes, 200, 6);
    let mut o = Offsets::new();
    o.parse(&page, 200, index.layout()).unwrap();
    assert_eq!((o.extra_len(), o.data_len()), (6, 19));
    assert_eq!((o.field(&page, 200, 3), o.field(&page, 200, 4)), (None, None));
}

/// Decoding the first fields gives what decoding all of them gives, and looks no further.
#[test]
fn the_first_fields_alone() {
    for format in [RowFormat::Compact, RowFormat::Redundant] {
        let index = nopk(format);
        let mut encoded = Vec::new();
        let fields = [&ROW_ID[..], &TRX_ID, &ROLL_PTR, &[0x80, 0, 0, 1], b"one"].map(TupleField::new);
        let extra = encode(index.layout(), &Tuple::new(&fields), &mut encoded);
        let page = page_with(&encoded, 200, extra);
        let (mut all, mut some) = (Offsets::new(), Offsets::new());
        all.parse(&page, 200, index.layout()).unwrap();
        assert_eq!(all.n_fields(), 5);
        for n in 0..=6 {
            some.parse_first(&page, 200, index.layout(), n).unwrap();
            assert_eq!(some.n_fields(), n.min(5));
            for i in 0..n.min(5) {
                assert_eq!((some.range(i), some.is_null(i)), (all.range(i), all.is_null(i)));
            }
        }
        // A record cut off by the end of its page: only what is wanted must be there.
        let end = 200 + all.range(3).end;
        let cut = &page[..end];
        assert!(some.parse(cut, 200, index.layout()).is_err());
        some.parse_first(cut, 200, index.layout(), 4).unwrap();
    }
}

/// `81 2c` read downwards is a length of 300; 127 still takes one byte.
#[test]
fn compact_lengths() {
    let columns = vec![ColumnDef::int("k", 4, false).not_null(), ColumnDef::blob("b", 2).not_null()];
    let index = IndexDef::plain(spec(RowFormat::Compact), columns, 1).unwrap();
    let mut out = Vec::new();
    let mut lengths = |value: &[u8], external: bool| {
        let b = TupleField { data: Some(value), external };
        let fields = [TupleField::new(&[0; 4]), b];
        let extra = encode(index.layout(), &Tuple::new(&fields), &mut out);
        out[..extra - 5].to_vec()
    };
    assert_eq!(lengths(&[1; 300], false), [0x2C, 0x81]);
    assert_eq!(lengths(&[1; 200], false), [0xC8, 0x80]);
    assert_eq!(lengths(&[1; 127], false), [0x7F]);
    assert_eq!(lengths(&[1; 20], true), [20, 0xC0]);
    assert_eq!(lengths(&[], false), [0]);
}

/// `56 52 16 11 0a 04 | 00 0010 0d 00eb`: six fields ending at 4, 10, 17, 22, 82, 86.
#[test]
fn redundant_record_of_the_specification() {
    let mut bytes = vec![0x56, 0x52, 0x16, 0x11, 0x0A, 0x04, 0x00, 0x00, 0x10, 0x0D, 0x00, 0xEB];
    bytes.extend_from_slice(&[7; 86]);
    let page = page_with(&bytes, 200, 12);
    let layout = RecLayout::redundant();
    let mut o = Offsets::new();
    o.parse(&page, 200, &layout).unwrap();
    let ends: Vec<usize> = (0..o.n_fields()).map(|i| o.range(i).end).collect();
    assert_eq!(ends, [4, 10, 17, 22, 82, 86]);
    assert_eq!((o.extra_len(), heap_no(&page, 200, false), next(&page, 200, false)), (12, 2, 0xEB));

    // The last field, an INT, is NULL: it keeps its four bytes.
    let null = [0xD6, 0x52, 0x16, 0x11, 0x0A, 0x04, 0x04, 0x00, 0x28, 0x0D, 0x02, 0x11];
    let page = page_with(&null, 200, 12);
    o.parse(&page, 200, &layout).unwrap();
    assert!(o.is_null(5) && o.field(&page, 200, 5).is_none());
    assert_eq!((o.data_len(), n_owned(&page, 200, false)), (86, 4));

    let columns = [
        ColumnDef::int("id", 4, false).not_null(),
        ColumnDef::varchar("s", 100, Charset::UTF8),
        ColumnDef::char("c", 20, Charset::UTF8),
        ColumnDef::int("n", 4, false),
    ];
    let index =
        IndexDef::clustered(spec(RowFormat::Redundant), &columns, Some(&[KeyPart::whole(0)])).unwrap();
    let c = [b' '; 60];
    let fields = [
        TupleField::new(&[0x80, 0, 0, 1]),
        TupleField::new(&TRX_ID),
        TupleField::new(&ROLL_PTR),
        TupleField::new(b"str 1"),
        TupleField::new(&c),
        TupleField::NULL,
    ];
    let mut out = Vec::new();
    assert_eq!(encode(index.layout(), &Tuple::new(&fields), &mut out), 12);
    assert_eq!(out[..12], [0xD6, 0x52, 0x16, 0x11, 0x0A, 0x04, 0, 0, 0, 0x0D, 0, 0]);
    assert_eq!(out[94..], [0; 4]);
}

#[test]
fn redundant_records_above_127_bytes_have_wide_offsets() {
    let columns = vec![ColumnDef::int("k", 4, false).not_null(), ColumnDef::varbinary("b", 2000)];
    let index = IndexDef::plain(spec(RowFormat::Redundant), columns, 1).unwrap();
    let local = [9; 788];
    let fields = [TupleField::new(&[0; 4]), TupleField::external(&local)];
    let mut out = Vec::new();
    assert_eq!(encode(index.layout(), &Tuple::new(&fields), &mut out), 10);
    // 792 with the external flag, then 4; two fields, wide.
    assert_eq!(out[..10], [0x43, 0x18, 0x00, 0x04, 0, 0, 0, 4, 0, 0]);
    let page = page_with(&out, 200, 10);
    let mut o = Offsets::new();
    o.parse(&page, 200, index.layout()).unwrap();
    assert!(o.any_external() && o.is_external(1) && !o.is_external(0));
}

#[test]
fn node_pointers_keep_the_whole_null_bitmap() {
    let index = nopk(RowFormat::Compact);
    let key = [TupleField::new(&ROW_ID)];
    let mut out = Vec::new();
    let extra = encode(index.layout(), &Tuple::node_ptr(&key, PageNo(9)), &mut out);
    assert_eq!((extra, &out[..]), (6, &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0x0F, 0, 0, 0, 9][..]));
    let page = page_with(&out, 200, 6);
    let mut o = Offsets::new();
    o.parse(&page, 200, index.layout()).unwrap();
    assert_eq!(o.field(&page, 200, 1), Some(&[0, 0, 0, 9][..]));
    assert_eq!(o.total_len(), 16);
}

#[test]
fn external_reference_of_the_specification() {
    let raw = b"\0\0\0\x07\0\0\0\x06\0\0\0\x26\0\0\0\0\0\0\x4E\x20";
    let mut field = b"prefix".to_vec();
    field.extend_from_slice(raw);
    let r = ExternRef::of_field(&field).unwrap().unwrap();
    let want = ExternRef {
        space: SpaceId(7),
        page_no: PageNo(6),
        offset: 38,
        owner: true,
        inherited: false,
        len: 20_000,
    };
    assert_eq!(r, want);
    assert_eq!(r.to_bytes(), *raw);
    let handed_on = ExternRef { owner: false, inherited: true, ..want };
    assert_eq!(handed_on.to_bytes()[12], 0xC0);
    assert_eq!(ExternRef::of_field(&handed_on.to_bytes()), Ok(Some(handed_on)));
    assert_eq!(ExternRef::of_field(&[0; 25]), Ok(None));
    assert!(ExternRef::of_field(&[1; 19]).is_err());
}

#[test]
fn order_of_values() {
    let le = |x: f64| x.to_bits().to_le_bytes();
    let double = |a: f64, b: f64| compare_fields(FieldCmp::Double, Some(&le(a)), Some(&le(b)));
    assert_eq!(double(-2.0, 1.0), Ordering::Less);
    assert_eq!(double(256.0, 255.0), Ordering::Greater);
    assert_eq!(double(0.0, -0.0), Ordering::Equal);
    let bytes = |a: &[u8], b: &[u8]| compare_fields(FieldCmp::Bytes, Some(a), Some(b));
    assert_eq!(bytes(b"ab", b"abc"), Ordering::Less);
    assert_eq!(bytes(&[0x80, 0, 0, 1], &[0x7F, 0xFF, 0xFF, 0xFF]), Ordering::Greater);
    let text = FieldCmp::of(&ColumnDef::varchar("v", 9, Charset::LATIN1));
    assert_eq!(compare_fields(text, Some(b"a"), Some(b"A  ")), Ordering::Equal);
    assert_eq!(compare_fields(text, None, Some(b"")), Ordering::Less);
    assert_eq!(compare_fields(text, None, None), Ordering::Equal);
}

/// A table whose rows have two versions: `b` went with the first, `n` and `s` came with the second; before it `n` was 7 and `s` NULL.
fn versioned() -> (IndexDef, IndexDef) {
    use crate::index_def::Instant;
    let columns = [
        ColumnDef::int("id", 4, false).not_null(),
        ColumnDef::varchar("b", 20, Charset::LATIN1),
        ColumnDef::varchar("v", 20, Charset::LATIN1),
    ];
    let key = [KeyPart::whole(0)];
    let plain = IndexDef::clustered(spec(RowFormat::Dynamic), &columns, Some(&key)).unwrap();
    let instant = |added, dropped, default: Option<&[u8]>| {
        Some(Instant { added, dropped, default: default.map(Into::into) })
    };
    let fields = [
        (columns[1].clone(), instant(0, 1, None)),
        (columns[2].clone(), None),
        (ColumnDef::int("n", 4, false).not_null(), instant(2, 0, Some(&[0x80, 0, 0, 7]))),
        (ColumnDef::varchar("s", 20, Charset::LATIN1), instant(2, 0, None)),
    ];
    let live = [columns[0].clone(), columns[2].clone()];
    let index = IndexDef::clustered_with_versions(spec(RowFormat::Dynamic), &live, Some(&key), fields);
    (plain, index.unwrap())
}

#[test]
fn records_of_older_versions_have_defaults() {
    let (plain, index) = versioned();
    let id = [0x80, 0, 0, 1];
    let old = [&id[..], &TRX_ID, &ROLL_PTR, b"bee", b"vee"].map(TupleField::new);
    let mut bytes = Vec::new();
    let extra = encode(plain.layout(), &Tuple::new(&old), &mut bytes);
    let page = page_with(&bytes, 200, extra);
    let mut o = Offsets::new();
    o.parse(&page, 200, index.layout()).unwrap();
    assert_eq!((o.n_fields(), o.extra_len(), o.total_len()), (7, extra, bytes.len()));
    let field = |i: usize| o.field(&page, 200, i);
    assert_eq!((field(3), field(4)), (Some(&b"bee"[..]), Some(&b"vee"[..])));
    assert_eq!((field(5), field(6)), (Some(&[0x80, 0, 0, 7][..]), None));
    assert_eq!([3, 4, 5, 6].map(|i| o.is_absent(i)), [false, false, true, true]);
    assert_eq!(RecSize::of(&page, 200, index.layout()), RecSize::of(&page, 200, plain.layout()));
}

#[test]
fn records_are_written_in_the_newest_version() {
    let (plain, index) = versioned();
    let (id, n) = ([0x80, 0, 0, 1], [0x80, 0, 0, 9]);
    let mut row = [&id[..], &TRX_ID, &ROLL_PTR, b"gone", b"vee", &n, b"ess"].map(TupleField::new);
    row[6] = TupleField::nullable(None);
    let mut bytes = Vec::new();
    let extra = encode(index.layout(), &Tuple::new(&row), &mut bytes);
    // The length of `v`, the bitmap of `v` and `s`, the version, the header with its info bit; no `b`.
    assert_eq!(bytes[..extra], [3, 0b10, 2, header::INFO_VERSION, 0, 0, 0, 0]);
    assert_eq!(bytes[extra + 17..], *b"vee\x80\0\0\x09");
    let page = page_with(&bytes, 200, extra);
    assert_eq!(info_bits(&page, 200, true), 0, "the version is no state");
    let mut o = Offsets::new();
    o.parse(&page, 200, index.layout()).unwrap();
    let field = |i: usize| o.field(&page, 200, i);
    assert_eq!((field(3), field(4), field(5), field(6)), (None, Some(&b"vee"[..]), Some(&n[..]), None));
    assert_eq!([3, 4, 5, 6].map(|i| o.is_absent(i)), [true, false, false, false]);
    assert_eq!(o.total_len(), encoded_size(index.layout(), &Tuple::new(&row)).total());
    // Who does not know the table's versions is told.
    assert!(check_version(&page, 200, plain.layout()).is_err());
    assert!(check_version(&page, 200, index.layout()).is_ok());
    // A version to come is damage.
    let mut damaged = page.clone();
    damaged[194] = 3;
    assert!(o.parse(&damaged, 200, index.layout()).is_err());
}

#[test]
fn redo_records_tell_of_versions() {
    use crate::redo_rec::RedoIndex;
    let (plain, index) = versioned();
    let (parsed, rest) = RedoIndex::parse(index.redo_description()).unwrap();
    assert!(rest.is_empty());
    assert_eq!((parsed.n_fields(), parsed.version()), (7, 2));
    let versions: Vec<(u8, u8)> = (0..7).map(|n| parsed.versions_of(n)).collect();
    assert_eq!(versions, [(0, 0), (0, 0), (0, 0), (0, 1), (0, 0), (2, 0), (2, 0)]);
    let (parsed, _) = RedoIndex::parse(plain.redo_description()).unwrap();
    assert_eq!((parsed.version(), parsed.versions_of(3)), (0, (0, 0)));
}
