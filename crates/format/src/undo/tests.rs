use super::record::*;
use super::*;
use proptest::prelude::*;

fn undo_page(kind: UndoKind) -> Vec<u8> {
    let mut page = vec![0u8; 16384];
    init_page(&mut page, kind);
    page
}

/// First page of a segment, before its first log.
fn first_page(kind: UndoKind) -> Vec<u8> {
    let mut page = undo_page(kind);
    put_u16(&mut page, PAGE_FREE, FIRST_LOG as u16);
    page
}

fn create_with_xid_room(page: &mut [u8], trx: TrxId) -> u16 {
    let log = create_log(page, trx).unwrap();
    for (at, v) in add_xid_room(UndoPage::new(page).unwrap(), log) {
        put_u16(page, at, v);
    }
    log
}

#[test]
fn roll_pointer_of_the_reference() {
    let p = RollPtr(0x98_0000_0220_0110);
    let place = UndoPlace { insert: true, rseg: 0x18, page: PageNo(0x220), offset: 0x110 };
    assert_eq!(UndoPlace::decode(p), place);
    assert_eq!(place.encode(), p);
}

#[test]
fn insert_record_of_the_reference() {
    let mut body = Vec::new();
    push_insert(&mut body, 0, TableId(0x15), [UndoValue::Inline(&[0x80, 0, 0, 6])]);
    let mut page = first_page(UndoKind::Insert);
    let log = create_with_xid_room(&mut page, TrxId(0x6f09));
    let off = append_record(&mut page, &body).unwrap();
    assert_eq!((log, off), (86, 272));
    assert_eq!(page[272..284], [0x01, 0x1c, 0x0b, 0x00, 0x15, 0x04, 0x80, 0, 0, 6, 0x01, 0x10]);
    let view = UndoPage::new(&page).unwrap();
    assert_eq!((view.start(), view.free(), view.last_log()), (272, 284, 86));
    assert_eq!((view.kind(), view.state()), (Ok(UndoKind::Insert), Ok(SegmentState::Active)));
    let record = UndoRecord::parse(view.record(272).unwrap(), 1).unwrap();
    assert_eq!(record.header.table_id, TableId(0x15));
    assert_eq!(record.old, None);
    assert_eq!(record.key().collect::<Vec<_>>(), [UndoValue::Inline(&[0x80, 0, 0, 6])]);
    assert_eq!((record.updates().count(), record.ordering().count()), (0, 0));
}

#[test]
fn update_record_of_the_reference() {
    let mut out = Vec::new();
    let header = UndoHeader {
        ty: UndoType::UpdateExisting,
        cmpl_info: NO_ORDER_CHANGE,
        external_updated: false,
        undo_no: 4,
        table_id: TableId(0x15),
    };
    let old = OldVersion { info_bits: 0, trx_id: TrxId(0x6f09), roll_ptr: RollPtr(0x89_0000_013b_0110) };
    let mut w = UpdateWriter::new(&mut out, header, old);
    assert!(!w.needs_ordering());
    w.key([UndoValue::Inline(&[0x80, 0, 0, 1])]);
    w.updates([(6, UndoValue::Inline(b"c100000000"))]);
    let want = [
        0x1c, 0x04, 0x15, 0x00, 0x00, 0x00, 0x00, 0x6f, 0x09, 0xe0, 0x89, 0, 0, 0x01, 0x3b, 0x01, 0x10, 0x04,
        0x80, 0, 0, 1, 0x01, 0x06, 0x0a, 0x63, 0x31,
    ];
    assert_eq!(out[..want.len()], want);
    let record = UndoRecord::parse(&out, 1).unwrap();
    assert_eq!((record.header, record.old), (header, Some(old)));
    assert_eq!(record.updates().collect::<Vec<_>>(), [(6, UndoValue::Inline(b"c100000000"))]);
}

#[test]
fn special_values_have_the_documented_bytes() {
    for (value, bytes) in [
        (UndoValue::Null, &[0xf0, 0xff, 0xff, 0xff, 0xff][..]),
        (UndoValue::Inline(&[]), &[0]),
        (UndoValue::External(&[7; 20]), &[0xf0, 0xff, 0xff, 0xc0, 0x13]),
        (
            UndoValue::ExternalPrefix { local_len: 20, bytes: &[9; 30] },
            &[0xf0, 0xff, 0xff, 0xbf, 0xff, 20, 30],
        ),
    ] {
        let mut out = Vec::new();
        value.push(&mut out);
        assert_eq!(out[..bytes.len()], *bytes, "{value:?}");
        assert_eq!(
            out.len(),
            bytes.len() + if value.is_external() { value.bytes().unwrap().len() } else { 0 }
        );
    }
}

#[test]
fn several_logs_share_a_page_and_are_walked_both_ways() {
    let mut page = first_page(UndoKind::Update);
    let mut logs = Vec::new();
    for trx in 1..=3u64 {
        let log = create_with_xid_room(&mut page, TrxId(trx));
        let offsets: Vec<u16> =
            (0..trx).map(|n| append_record(&mut page, &vec![n as u8; 5 + n as usize]).unwrap()).collect();
        logs.push((log, offsets));
    }
    let view = UndoPage::new(&page).unwrap();
    assert_eq!(view.last_log(), logs[2].0);
    let mut prev = 0;
    for (i, (log, offsets)) in logs.iter().enumerate() {
        let header = LogHeader::read(&page, *log).unwrap();
        assert_eq!((header.trx_id, header.prev), (TrxId(i as u64 + 1), prev));
        assert_eq!(header.next, logs.get(i + 1).map_or(0, |l| l.0));
        assert!(header.del_marks && !header.xid_exists && !header.dict_trans);
        prev = *log;
        let records = view.records_of(Some(*log)).unwrap();
        let forward: Vec<u16> = records.iter().map(|r| r.unwrap().0).collect();
        assert_eq!(&forward, offsets);
        let mut backward = Vec::new();
        let mut at = records.last().unwrap();
        while let Some(off) = at {
            backward.push(off);
            at = records.prev(off).unwrap();
        }
        backward.reverse();
        assert_eq!(&backward, offsets);
    }
}

#[test]
fn xids() {
    let mut page = first_page(UndoKind::Update);
    let log = create_with_xid_room(&mut page, TrxId(1));
    assert_eq!(LogHeader::read_xid(&page, log), Ok(None));
    let xid = Xid::new(1, b"MySQLXid-global", b"branch").unwrap();
    page[86 + LOG_XID_EXISTS] = 1;
    page[86 + LOG_XID..86 + LOG_XID + XID_SIZE].copy_from_slice(&xid.encode());
    let read = LogHeader::read_xid(&page, log).unwrap().unwrap();
    assert_eq!(read, xid);
    assert_eq!((read.gtrid(), read.bqual()), (&b"MySQLXid-global"[..], &b"branch"[..]));
    page[86 + LOG_XID + 4] = 1;
    assert!(LogHeader::read_xid(&page, log).is_err());
    assert!(Xid::new(1, &[0; 65], &[]).is_err());
}

#[test]
fn a_full_page_refuses_and_keeps_its_bytes() {
    let mut page = undo_page(UndoKind::Update);
    while append_record(&mut page, &[1; 1000]).is_ok() {}
    let before = page.clone();
    assert_eq!(append_record(&mut page, &[1; 1000]).unwrap_err().check, "undo record does not fit");
    assert_eq!(page, before);
    let room = UndoPage::new(&page).unwrap().room();
    append_record(&mut page, &vec![2; room - 4]).unwrap();
    assert_eq!(UndoPage::new(&page).unwrap().free(), 16384 - 8);
    erase_end(&mut page).unwrap();
    assert_eq!(page[16376..], [0; 8]);
}

#[test]
fn erased_bytes_and_reused_headers() {
    let mut page = first_page(UndoKind::Insert);
    create_with_xid_room(&mut page, TrxId(5));
    append_record(&mut page, b"record").unwrap();
    erase_end(&mut page).unwrap();
    assert!(page[282..16376].iter().all(|&b| b == 0xff));
    put_u64(&mut page, 86 + LOG_TABLE_ID, 77);
    page[86 + LOG_DICT_TRANS] = 1;
    reuse_log(&mut page, TrxId(9)).unwrap();
    let header = LogHeader::read(&page, 86).unwrap();
    assert_eq!((header.trx_id, header.start, header.dict_trans), (TrxId(9), 132, false));
    assert_eq!(header.table_id, TableId(77));
}

fn value() -> impl Strategy<Value = (u8, Vec<u8>)> {
    (0u8..4, proptest::collection::vec(any::<u8>(), 1..40))
}

fn as_value(v: &(u8, Vec<u8>)) -> UndoValue<'_> {
    match v.0 {
        0 => UndoValue::Null,
        1 => UndoValue::Inline(&v.1),
        2 => UndoValue::External(&v.1),
        _ => UndoValue::ExternalPrefix { local_len: v.1.len() as u32 * 7, bytes: &v.1 },
    }
}

proptest! {
    #[test]
    fn records_round_trip(
        kind in 0u8..4, cmpl_info in 0u8..8, external_updated: bool, undo_no: u64, table: u64,
        info_bits: u8, trx in 0u64..1 << 48, roll in 0u64..1 << 56,
        key in proptest::collection::vec(value(), 0..4),
        updates in proptest::collection::vec((any::<u32>(), value()), 0..4),
        ordering in proptest::collection::vec((any::<u32>(), value()), 0..4),
    ) {
        let ty = [UndoType::Insert, UndoType::UpdateExisting, UndoType::UpdateDeleted, UndoType::DeleteMark][kind as usize];
        let mut out = Vec::new();
        let key: Vec<_> = key.iter().map(as_value).collect();
        let updates: Vec<_> = updates.iter().map(|(p, v)| (*p, as_value(v))).collect();
        let ordering: Vec<_> = ordering.iter().map(|(p, v)| (*p, as_value(v))).collect();
        let header = UndoHeader { ty, cmpl_info, external_updated, undo_no, table_id: TableId(table) };
        if ty == UndoType::Insert {
            push_insert(&mut out, undo_no, TableId(table), key.iter().copied());
            let record = UndoRecord::parse(&out, key.len()).unwrap();
            prop_assert_eq!(record.old, None);
            prop_assert_eq!(record.key().collect::<Vec<_>>(), key);
        } else {
            let old = OldVersion { info_bits, trx_id: TrxId(trx), roll_ptr: RollPtr(roll) };
            let mut w = UpdateWriter::new(&mut out, header, old);
            w.key(key.iter().copied());
            if ty != UndoType::DeleteMark {
                w.updates(updates.iter().copied());
            }
            let with_ordering = w.needs_ordering();
            if with_ordering {
                w.ordering(ordering.iter().copied()).unwrap();
            }
            let record = UndoRecord::parse(&out, key.len()).unwrap();
            prop_assert_eq!((record.header, record.old), (header, Some(old)));
            prop_assert_eq!(record.key().collect::<Vec<_>>(), key);
            if ty != UndoType::DeleteMark {
                prop_assert_eq!(record.updates().collect::<Vec<_>>(), updates);
            }
            if with_ordering {
                prop_assert_eq!(record.ordering().collect::<Vec<_>>(), ordering);
            }
        }
        for cut in 0..out.len() {
            // A cut record either lacks something or ends earlier; it never panics.
            let _ = UndoRecord::parse(&out[..cut], 2);
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), n_key in 0usize..5) {
        if let Ok(record) = UndoRecord::parse(&bytes, n_key) {
            record.key().count();
            record.updates().count();
            record.ordering().count();
        }
    }

    #[test]
    fn random_pages_never_panic(seed: u64, free: u16, off: u16) {
        let mut rng = vaquita_base::Rng::new(seed);
        let mut page = vec![0u8; 4096];
        rng.fill(&mut page);
        put_u16(&mut page, PAGE_FREE, free);
        let _ = LogHeader::read(&page, off);
        let _ = LogHeader::read_xid(&page, off);
        let Ok(view) = UndoPage::new(&page) else { return Ok(()) };
        let _ = (view.kind(), view.state(), view.node(), view.pages());
        for log in [None, Some(off), Some(86)] {
            if let Ok(records) = view.records_of(log) {
                let _ = (records.last(), records.next(off), records.prev(off));
                prop_assert!(records.iter().count() <= 4096);
            }
        }
        let mut edited = page.clone();
        let _ = append_record(&mut edited, &[1, 2, 3]);
        let _ = create_log(&mut edited, TrxId(1));
        let _ = reuse_log(&mut edited, TrxId(1));
        let _ = erase_end(&mut edited);
    }
}
