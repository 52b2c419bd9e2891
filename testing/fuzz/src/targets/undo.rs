//! Undo pages, log headers and records.

use vaquita_base::ids::{RollPtr, TableId, TrxId};
use vaquita_format::undo::record::{
    self, OldVersion, UndoHeader, UndoRecord, UndoType, UndoValue, UpdateWriter,
};
use vaquita_format::undo::{self, LogHeader, Records, UndoKind, UndoPage};

/// The input is the front of a page; records are also parsed from the input itself.
pub(super) fn pages(data: &[u8]) {
    let mut page = vec![0; 4096];
    let len = data.len().min(page.len());
    page[..len].copy_from_slice(&data[..len]);
    let Ok(view) = UndoPage::new(&page) else { return };
    let _ = (view.kind(), view.state(), view.node(), view.pages(), view.segment(), view.room());
    let mut logs = 0;
    let mut log = view.last_log();
    // Each log header's `prev` lies before it, so this ends.
    while let (true, Ok(header)) = (logs < page.len(), LogHeader::read(&page, log)) {
        let _ = LogHeader::read_xid(&page, log);
        if let Ok(records) = view.records_of(Some(log)) {
            walk(view, records);
        }
        logs += 1;
        log = header.prev;
    }
    if let Ok(records) = view.records_of(None) {
        walk(view, records);
    }
    edits(&page, data);
}

/// Forwards and backwards: both ends are reached, and the same records are met where neither hits an error.
fn walk(view: UndoPage<'_>, records: Records<'_>) {
    let mut offsets = Vec::new();
    let mut sound = true;
    for item in records.iter() {
        let Ok((offset, body)) = item else {
            sound = false;
            break;
        };
        assert!(offsets.last().is_none_or(|&last| last < offset), "records go forward");
        assert_eq!(view.record(offset).ok(), Some(body));
        offsets.push(offset);
        parse(body);
    }
    let mut backwards = Vec::new();
    let mut at = records.last();
    while let Ok(Some(offset)) = at {
        assert!(backwards.last().is_none_or(|&last| last > offset), "records go backward");
        backwards.push(offset);
        at = records.prev(offset);
    }
    if sound && matches!(at, Ok(None)) && backwards.len() == offsets.len() {
        backwards.reverse();
        assert_eq!(offsets, backwards);
    }
}

/// A record body on its own, with several key lengths.
pub(super) fn records(data: &[u8]) {
    parse(data);
}

fn parse(body: &[u8]) {
    let _ = UndoHeader::parse(body);
    for n_key in 0..4 {
        let Ok(parsed) = UndoRecord::parse(body, n_key) else { continue };
        assert_eq!(parsed.key().count(), n_key, "as many key fields as were walked");
        for (_, value) in parsed.updates().chain(parsed.ordering()) {
            assert!(value.bytes().is_none_or(|bytes| bytes.len() <= body.len()));
        }
        let _ = parsed.old;
    }
}

/// What recovery does to undo pages: append, begin and reuse logs, erase, on a page in any state.
fn edits(page: &[u8], body: &[u8]) {
    let mut page = page.to_vec();
    if let Ok(at) = undo::append_record(&mut page, &body[..body.len().min(64)]) {
        let view = UndoPage::new(&page).expect("an append keeps the page an undo page");
        assert_eq!(view.record(at).expect("the record just appended"), &body[..body.len().min(64)]);
    }
    let _ = undo::create_log(&mut page, TrxId(77));
    let _ = undo::erase_end(&mut page);
    let _ = undo::reuse_log(&mut page, TrxId(78));
}

/// Bodies of every type.
pub(super) fn record_seeds() -> Vec<Vec<u8>> {
    let header = |ty, cmpl_info| UndoHeader {
        ty,
        cmpl_info,
        external_updated: false,
        undo_no: 3,
        table_id: TableId(90),
    };
    let old = OldVersion { info_bits: 0, trx_id: TrxId(0x1234), roll_ptr: RollPtr(0x0001_0000_0003_0110) };
    let key = [UndoValue::Inline(b"\x80\0\0\x07"), UndoValue::Inline(b"key")];
    let mut bodies = Vec::new();
    let mut body = Vec::new();
    record::push_insert(&mut body, 3, TableId(90), key);
    bodies.push(std::mem::take(&mut body));
    for (ty, cmpl_info) in
        [(UndoType::UpdateExisting, 0), (UndoType::UpdateDeleted, 1), (UndoType::DeleteMark, 0)]
    {
        let mut writer = UpdateWriter::new(&mut body, header(ty, cmpl_info), old);
        writer.key(key);
        if ty != UndoType::DeleteMark {
            writer.updates([(4, UndoValue::Null), (5, UndoValue::External(&[7; 40]))]);
        }
        if writer.needs_ordering() {
            writer
                .ordering([(0, key[0]), (3, UndoValue::ExternalPrefix { local_len: 20, bytes: &[9; 60] })])
                .expect("short values fit");
        }
        bodies.push(std::mem::take(&mut body));
    }
    bodies
}

/// Pages with one and with two logs.
pub(super) fn page_seeds() -> Vec<Vec<u8>> {
    [UndoKind::Insert, UndoKind::Update]
        .into_iter()
        .map(|kind| {
            let mut page = vec![0; 4096];
            undo::init_page(&mut page, kind);
            // Room for the segment header, as on a segment's first page.
            let first_log = undo::FIRST_LOG as u16;
            page[undo::PAGE_FREE..undo::PAGE_FREE + 2]
                .copy_from_slice(&[(first_log >> 8) as u8, first_log as u8]);
            for trx in 1..3 {
                undo::create_log(&mut page, TrxId(trx)).expect("an empty page has room");
                for body in record_seeds() {
                    undo::append_record(&mut page, &body).expect("an empty page has room");
                }
            }
            page.truncate(1024);
            page
        })
        .collect()
}
