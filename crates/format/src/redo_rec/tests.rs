use super::apply::FileOp;
use super::encode::*;
use super::index::push_index;
use super::*;
use crate::Corruption;
use crate::flags::SpaceFlags;
use crate::undo::UndoKind;
use proptest::prelude::*;
use vaquita_base::TrxId;

fn id(space: u32, page: u32) -> PageId {
    PageId::new(SpaceId(space), PageNo(page))
}

fn whole(run: &[u8]) -> Record {
    match parse(run).unwrap() {
        Parsed::Record(r) => r,
        Parsed::Incomplete => panic!("incomplete: {run:02x?}"),
    }
}

#[test]
fn examples_of_the_reference() {
    let r = whole(&[0x25, 7, 3]);
    assert_eq!((r.ty, r.page, r.single, r.end), (RecType::CompPageCreate, id(7, 3), false, 3));
    let run = [0x02, 7, 0, 0, 0x18, 8];
    let r = whole(&run);
    assert_eq!((r.ty, r.page, r.body(&run)), (RecType::Bytes2, id(7, 0), &[0, 0x18, 8][..]));
    let mut page = vec![0u8; 1024];
    apply_simple(r.ty, r.page, r.body(&run), &mut page).unwrap();
    assert_eq!(page[24..26], [0, 8]);
    let mut out = Vec::new();
    push_bytes2(&mut out, id(7, 0), 24, 8);
    assert_eq!(out, run);

    // Delete the record at 162: index of an INT NOT NULL key, system fields, a nullable VARCHAR(300).
    let mut run = vec![0x2a, 0x10, 3];
    let field = |not_null, len| RedoField { not_null, len };
    let fields = [
        field(true, FieldLen::Fixed(4)),
        field(true, FieldLen::Fixed(6)),
        field(true, FieldLen::Fixed(7)),
        field(false, FieldLen::Big),
        field(false, FieldLen::Small),
    ];
    push_index(&mut run, 1, fields);
    assert_eq!(run[3..], [0, 5, 0, 1, 0x80, 4, 0x80, 6, 0x80, 7, 0x7f, 0xff, 0, 0]);
    run.extend([0x00, 0xa2]);
    let r = whole(&run);
    assert_eq!((r.ty, r.page, r.total_len()), (RecType::CompRecDelete, id(16, 3), run.len()));
    let (index, rest) = RedoIndex::parse(r.body(&run)).unwrap();
    assert_eq!(rest, [0x00, 0xa2]);
    assert_eq!((index.n_fields(), index.n_uniq, index.is_clustered(), index.n_nullable()), (5, 1, true, 2));
    assert_eq!(index.fields().collect::<Vec<_>>(), fields);
    assert_eq!((index.field(3), index.field(5)), (Some(fields[3]), None));
}

#[test]
fn unknown_types_are_named() {
    let known: Vec<u8> = RecType::ALL.iter().map(|t| t.as_u8()).collect();
    for n in 0..=127u8 {
        assert_eq!(RecType::from_u8(n).map(RecType::as_u8), known.contains(&n).then_some(n));
        if !known.contains(&n) {
            for byte in [n, n | SINGLE_RECORD] {
                let err = parse(&[byte, 0, 0, 0, 0]).unwrap_err();
                assert!(err.detail.contains(&format!("{byte:#04x}")), "{err}");
            }
        }
    }
    assert_eq!(known.len(), 47);
}

/// One body of each type, longest branches taken, with the numbers of the reference's table.
fn sample_bodies() -> Vec<(RecType, Vec<u8>)> {
    use RecType::*;
    let index: &[u8] = &[0, 2, 0, 1, 0x80, 4, 0, 0];
    let sysvals: &[u8] = &[1, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 9];
    let insert: &[u8] = &[0, 99, 7, 0x20, 5, 1, 0xa, 0xb, 0xc];
    let updates: &[u8] = &[0, 126, 0, 2, 3, 0xf0, 255, 255, 255, 255, 4, 2, 0xa, 0xb];
    let cat = |parts: &[&[u8]]| parts.concat();
    let copied: &[u8] = &[0, 0, 0, 3, 4, 1, 2];
    vec![
        (Bytes1, vec![0, 38, 0x7f]),
        (Bytes2, vec![0, 38, 0xbf, 0xff]),
        (Bytes4, vec![0, 38, 0xf0, 1, 2, 3, 4]),
        (Bytes8, vec![0, 38, 0x81, 0, 1, 2, 3, 4]),
        (RecInsert, cat(&[insert])),
        (RecInsert, vec![0, 99, 4, 0xa, 0xb]),
        (RecClustDeleteMark, cat(&[&[0, 1], sysvals, &[0, 126]])),
        (RecSecDeleteMark, vec![1, 0, 126]),
        (RecUpdateInPlace, cat(&[&[0], sysvals, updates])),
        (RecDelete, vec![0, 126]),
        (ListEndDelete, vec![0, 126]),
        (ListStartDelete, vec![0, 126]),
        (ListEndCopyCreated, cat(&[copied])),
        (PageReorganize, vec![]),
        (PageCreate, vec![]),
        (UndoInsert, vec![0, 3, 0xb, 0, 1]),
        (UndoEraseEnd, vec![]),
        (UndoInit, vec![1]),
        (UndoHdrDiscard, vec![]),
        (UndoHdrReuse, vec![0, 0, 0, 3, 0]),
        (UndoHdrCreate, vec![0x80, 0x80, 0, 0, 3, 0]),
        (RecMinMark, vec![0, 126]),
        (IbufBitmapInit, vec![]),
        (InitFilePage, vec![]),
        (WriteString, vec![0, 38, 0, 2, 0xa, 0xb]),
        (FileCreate, vec![0, 2, b'a', 0]),
        (FileRename, vec![0, 2, b'a', 0, 0, 3, b'b', b'c', 0]),
        (FileDelete, vec![0, 2, b'a', 0]),
        (CompRecMinMark, vec![0, 126]),
        (CompPageCreate, vec![]),
        (CompRecInsert, cat(&[index, insert])),
        (CompRecClustDeleteMark, cat(&[index, &[0, 1], sysvals, &[0, 126]])),
        (CompRecSecDeleteMark, cat(&[index, &[1, 0, 126]])),
        (CompRecUpdateInPlace, cat(&[index, &[0], sysvals, updates])),
        (CompRecDelete, cat(&[index, &[0, 126]])),
        (CompListEndDelete, cat(&[index, &[0, 126]])),
        (CompListStartDelete, cat(&[index, &[0, 126]])),
        (CompListEndCopyCreated, cat(&[index, copied])),
        (CompPageReorganize, cat(&[index])),
        (FileCreate2, vec![0, 0, 0, 0x21, 0, 2, b'a', 0]),
        (ZipWriteNodePtr, vec![0, 1, 0, 2, 1, 2, 3, 4]),
        (ZipWriteBlobPtr, [&[0, 1, 0, 2][..], &[7; 20]].concat()),
        (ZipWriteHeader, vec![38, 2, 0xa, 0xb]),
        (ZipPageCompress, [&[0, 5, 0, 2][..], &[1; 8], &[2; 5], &[3; 2]].concat()),
        (ZipPageCompressNoData, cat(&[index, &[6]])),
        (ZipPageReorganize, cat(&[index, &[6]])),
    ]
}

#[test]
fn every_type_has_its_exact_length() {
    let samples = sample_bodies();
    let seen: std::collections::BTreeSet<RecType> = samples.iter().map(|s| s.0).collect();
    assert_eq!(seen.len() + 2, RecType::ALL.len(), "one sample of each type with a page");
    for (ty, body) in samples {
        let mut run = vec![ty.as_u8() | SINGLE_RECORD, 0x81, 0x02, 5];
        run.extend(&body);
        let len = run.len();
        for cut in 0..len {
            assert_eq!(parse(&run[..cut]), Ok(Parsed::Incomplete), "{ty:?} cut to {cut}");
        }
        run.extend([0xEE; 40]);
        let r = whole(&run);
        assert_eq!((r.ty, r.single, r.page), (ty, true, id(0x102, 5)));
        assert_eq!((r.start, r.body_start, r.end), (0, 4, len), "{ty:?}");
        assert_eq!(r.body(&run), body);
        assert_eq!(next_group(&run), Ok(Some(Group { len, n_records: 1 })));
    }
    for ty in [RecType::MultiRecEnd, RecType::Dummy] {
        assert_eq!(whole(&[ty.as_u8()]).end, 1);
    }
}

#[test]
fn groups_end_where_they_should() {
    let mut run = Vec::new();
    push_bytes1(&mut run, id(0, 5), 38, 1);
    push_dummy(&mut run);
    push_write_string(&mut run, id(0, 6), 100, b"abc");
    let open = run.len();
    assert_eq!(next_group(&run), Ok(None));
    finish_group(&mut run, 2);
    let len = run.len();
    assert_eq!(len, open + 1);
    push_init_file_page(&mut run, id(1, 1));
    assert_eq!(next_group(&run), Ok(Some(Group { len, n_records: 2 })));
    for cut in 0..len {
        assert_eq!(next_group(&run[..cut]), Ok(None));
    }
    let mut records = vec![whole(&[0x1f]); 9];
    assert_eq!(parse_group(&run, &mut records), Ok(Some(len)));
    let listed: Vec<Record> = group_records(&run[..len]).map(|r| r.unwrap()).collect();
    assert_eq!(records, listed);
    assert_eq!(records.iter().map(|r| r.ty).collect::<Vec<_>>(), [RecType::Bytes1, RecType::WriteString]);
    assert_eq!(records[1].body(&run), [0, 100, 0, 3, b'a', b'b', b'c']);

    // A record that says it is alone, within a group.
    run[records[1].start] |= SINGLE_RECORD;
    assert_eq!(next_group(&run).unwrap_err().check, "redo group");
    assert_eq!(next_group(&[0x20, 0x20]), Ok(Some(Group { len: 1, n_records: 0 })));
    let mut alone = Vec::new();
    push_init_file_page(&mut alone, id(1, 1));
    finish_group(&mut alone, 1);
    assert_eq!(next_group(&alone), Ok(Some(Group { len: 3, n_records: 1 })));
}

#[test]
fn file_records() {
    let mut run = Vec::new();
    let flags = SpaceFlags::decode(0x21).unwrap();
    push_file_create2(&mut run, SpaceId(7), flags, true, b"a/b");
    assert_eq!(run[..9], [0x2f, 7, 1, 0, 0, 0, 0x21, 0, 4]);
    push_file_rename(&mut run, SpaceId(7), b"a/b", b"a/c");
    push_file_delete(&mut run, SpaceId(7), b"a/c");
    finish_group(&mut run, 3);
    let ops: Vec<FileOp<'_>> = group_records(&run)
        .map(|r| r.unwrap())
        .map(|r| FileOp::parse(r.ty, r.page, r.body(&run)).unwrap())
        .collect();
    let want = [
        FileOp::Create { flags: Some(0x21), temporary: true, name: b"a/b" },
        FileOp::Rename { old: b"a/b", new: b"a/c" },
        FileOp::Delete { name: b"a/c" },
    ];
    assert_eq!(ops, want);
    assert!(FileOp::parse(RecType::FileDelete, id(7, 0), &[0, 1, b'x']).is_err());
    assert!(FileOp::parse(RecType::FileDelete, id(7, 0), &[0, 0]).is_err());
    assert!(FileOp::parse(RecType::Bytes1, id(7, 0), &[0, 1, 0]).is_err());
}

fn apply_all(run: &[u8], page: &mut [u8]) -> crate::Result<()> {
    for record in group_records(run) {
        let r = record?;
        apply_simple(r.ty, r.page, r.body(run), page)?;
    }
    Ok(())
}

#[test]
fn simple_records_change_the_bytes_they_name() {
    let mut run = Vec::new();
    push_init_file_page(&mut run, id(7, 9));
    push_bytes1(&mut run, id(7, 9), 100, 0xfe);
    push_bytes2(&mut run, id(7, 9), 102, 0xfedc);
    push_bytes4(&mut run, id(7, 9), 104, 0xfedc_ba98);
    push_bytes8(&mut run, id(7, 9), 108, 0xfedc_ba98_7654_3210);
    push_write_string(&mut run, id(7, 9), 120, b"string");
    finish_group(&mut run, 6);
    let mut page = vec![0xAAu8; 4096];
    apply_all(&run, &mut page).unwrap();
    let mut want = vec![0u8; 4096];
    want[4..8].copy_from_slice(&[0, 0, 0, 9]);
    want[34..38].copy_from_slice(&[0, 0, 0, 7]);
    want[100] = 0xfe;
    want[102..108].copy_from_slice(&[0xfe, 0xdc, 0xfe, 0xdc, 0xba, 0x98]);
    want[108..116].copy_from_slice(&[0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10]);
    want[120..126].copy_from_slice(b"string");
    assert_eq!(page, want);
}

#[test]
fn records_outside_the_page_change_nothing() {
    let mut page = vec![0u8; 4096];
    let fails = |f: &dyn Fn(&mut Vec<u8>)| -> Corruption {
        let mut run = Vec::new();
        f(&mut run);
        let mut p = vec![0u8; 4096];
        let err = apply_all(&run, &mut p).unwrap_err();
        assert!(p.iter().all(|&b| b == 0));
        err
    };
    assert_eq!(fails(&|out| push_bytes8(out, id(1, 1), 4089, 1)).offset, Some(4089));
    assert_eq!(fails(&|out| push_bytes1(out, id(1, 1), 4096, 1)).check, "offset of a redo record");
    assert_eq!(fails(&|out| push_write_string(out, id(1, 1), 4090, &[1; 7])).offset, Some(4090));
    for wide in [[RecType::Bytes1.as_u8(), 1, 1, 0, 38, 0x81, 0x00].as_slice(), &[2, 1, 1, 0, 38, 0xc1, 0, 0]]
    {
        assert_eq!(apply_all(wide, &mut page).unwrap_err().check, "value of a redo record");
    }
    let no_undo_page = fails(&|out| push_undo_insert(out, id(1, 1), b"body"));
    assert_eq!(no_undo_page.check, "undo page free offset");
    let discard = apply_simple(RecType::UndoHdrDiscard, id(1, 1), &[], &mut page);
    assert!(discard.is_err() && !RecType::UndoHdrDiscard.is_simple());
}

#[test]
fn undo_records_are_applied_by_the_edits_that_made_them() {
    use crate::undo;
    let mut run = Vec::new();
    push_init_file_page(&mut run, id(0, 300));
    push_undo_init(&mut run, id(0, 300), UndoKind::Insert);
    push_bytes2(&mut run, id(0, 300), undo::PAGE_FREE as u16, undo::FIRST_LOG as u16);
    push_undo_hdr_create(&mut run, id(0, 300), TrxId(77));
    push_undo_insert(&mut run, id(0, 300), b"a record");
    push_undo_erase_end(&mut run, id(0, 300));
    push_undo_hdr_reuse(&mut run, id(0, 300), TrxId(78));
    push_undo_insert(&mut run, id(0, 300), b"another");
    finish_group(&mut run, 8);
    let mut replayed = vec![0u8; 16384];
    apply_all(&run, &mut replayed).unwrap();

    let mut page = vec![0u8; 16384];
    crate::fil::init(&mut page, SpaceId(0), PageNo(300));
    undo::init_page(&mut page, UndoKind::Insert);
    vaquita_base::codec::put_u16(&mut page, undo::PAGE_FREE, undo::FIRST_LOG as u16);
    undo::create_log(&mut page, TrxId(77)).unwrap();
    undo::append_record(&mut page, b"a record").unwrap();
    undo::erase_end(&mut page).unwrap();
    undo::reuse_log(&mut page, TrxId(78)).unwrap();
    undo::append_record(&mut page, b"another").unwrap();
    assert_eq!(replayed, page);
}

proptest! {
    #[test]
    fn random_bytes_never_panic(run in proptest::collection::vec(any::<u8>(), 0..300), ty in 0usize..47) {
        let mut run = run;
        if let Some(first) = run.first_mut() {
            *first = RecType::ALL[ty].as_u8() | (*first & SINGLE_RECORD);
        }
        if let Ok(Parsed::Record(r)) = parse(&run) {
            prop_assert!(r.body_start <= r.end && r.end <= run.len());
            let body = r.body(&run);
            let _ = FileOp::parse(r.ty, r.page, body);
            if let Ok((index, _)) = RedoIndex::parse(body) {
                prop_assert_eq!(index.fields().count(), index.n_fields());
            }
            let mut page = vec![0x11u8; 4096];
            let _ = apply_simple(r.ty, r.page, body, &mut page);
        }
        let mut records = Vec::new();
        match (next_group(&run), parse_group(&run, &mut records)) {
            (Ok(Some(g)), Ok(Some(len))) => {
                prop_assert_eq!((g.len, g.n_records), (len, records.len()));
                prop_assert!(group_records(&run[..len]).all(|r| r.is_ok()));
            }
            (a, b) => prop_assert_eq!(a.map(|g| g.map(|g| g.len)), b),
        }
        group_records(&run).count();
    }

    #[test]
    fn encoded_numbers_are_read_back(space: u32, no: u32, offset in 0u16..4088, v: u64) {
        let page_id = id(space, no);
        let mut run = Vec::new();
        push_bytes1(&mut run, page_id, offset, v as u8);
        push_bytes2(&mut run, page_id, offset, v as u16);
        push_bytes4(&mut run, page_id, offset, v as u32);
        push_bytes8(&mut run, page_id, offset, v);
        finish_group(&mut run, 4);
        let widths = [1usize, 2, 4, 8];
        for (record, width) in group_records(&run).zip(widths) {
            let r = record.unwrap();
            prop_assert_eq!(r.page, page_id);
            let mut page = vec![0u8; 4096];
            apply_simple(r.ty, r.page, r.body(&run), &mut page).unwrap();
            let got = vaquita_base::codec::get_uint(&page, offset.into(), width);
            prop_assert_eq!(got, v & (u64::MAX >> (64 - 8 * width)));
        }
    }
}
