//! The redo log of a real server, applied by our code, gives the pages that the server wrote.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common;

use common::DataDir;
use std::collections::BTreeMap;
use vaquita_base::codec::{Reader, get_u16, get_u32};
use vaquita_base::{IndexId, PageId};
use vaquita_format::PageSize;
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::{IndexDef, IndexSpec, RowFormat};
use vaquita_format::index_page::header::last_insert;
use vaquita_format::index_page::logged::{self, PageLog};
use vaquita_format::index_page::validate;
use vaquita_format::record::RecSize;
use vaquita_format::redo_apply::apply;
use vaquita_format::redo_rec::{self, Parsed, RecType};

/// The records' bytes of a log file that starts at LSN 1643520 and never wrapped.
fn stream(file: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let first = get_u32(file, 2048) & 0x7FFF_FFFF;
    for (i, block) in file[2048..].chunks_exact(512).enumerate() {
        if get_u32(block, 0) & 0x7FFF_FFFF != first + i as u32 {
            break;
        }
        let len = usize::from(get_u16(block, 4));
        out.extend_from_slice(&block[12..len.min(508)]);
        if len < 512 {
            break;
        }
    }
    out
}

/// An index whose records are laid out as an index description says.
fn index_of(t: RecType, body: &[u8]) -> (IndexDef, usize) {
    let mut r = Reader::new(body);
    let mut columns = Vec::new();
    let mut n_key = 1;
    if t == RecType::CompRecInsert {
        let n = r.u16().unwrap();
        n_key = usize::from(r.u16().unwrap());
        for i in 0..n {
            let word = r.u16().unwrap();
            let column = match word & 0x7FFF {
                0 => ColumnDef::varbinary(format!("{i}"), 255),
                0x7FFF => ColumnDef::blob(format!("{i}"), 2),
                len => ColumnDef::binary(format!("{i}"), u32::from(len)),
            };
            columns.push(if word & 0x8000 != 0 { column.not_null() } else { column });
        }
    } else {
        columns.push(ColumnDef::int("any", 4, false));
    }
    let row_format = if t == RecType::CompRecInsert { RowFormat::Compact } else { RowFormat::Redundant };
    let spec = IndexSpec { id: IndexId(1), name: String::new(), row_format, page_size: PageSize::DEFAULT };
    (IndexDef::plain(spec, columns, n_key).unwrap(), r.pos())
}

/// Our log of an insert is the server's, byte for byte.
fn logging_the_same_insert_gives_the_same_record(t: RecType, page_id: PageId, body: &[u8], before: &[u8]) {
    let (index, description_len) = index_of(t, body);
    assert_eq!(index.redo_description(), &body[..description_len]);
    let mut after = before.to_vec();
    apply(t, page_id, body, &mut after).unwrap();
    let origin = last_insert(&after);
    let size = RecSize::of(&after, origin, index.layout()).unwrap();
    let start = usize::from(origin) - size.extra;
    let rec = &after[start..start + size.total()];

    let mut ours = before.to_vec();
    let mut log = Vec::new();
    let cursor = get_u16(body, description_len);
    let inserted =
        logged::insert(&mut ours, &mut PageLog::new(page_id, &mut log), &index, cursor, rec, size.extra);
    assert_eq!(inserted, Ok(Some(origin)));
    assert!(ours == after);
    let Ok(Parsed::Record(r)) = redo_rec::parse(&log) else { panic!("our record does not parse") };
    assert_eq!((r.ty, r.page, r.end), (t, page_id, log.len()));
    assert_eq!(r.body(&log), body, "{page_id:?}: ours and the server's");
}

#[test]
fn replaying_a_servers_log_gives_its_index_pages() {
    let dir = DataDir::unpack("redo");
    let stream = stream(&dir.read("ib_logfile0"));
    let mut pages: BTreeMap<(u32, u32), Vec<u8>> = BTreeMap::new();
    let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
    let mut at = 0;
    while at < stream.len() {
        let Parsed::Record(r) = redo_rec::parse_at(&stream, at).unwrap() else {
            panic!("record cut off at {at}")
        };
        at = r.end;
        let body = r.body(&stream);
        let id = (r.page.space.get(), r.page.page_no.get());
        // Space 9 is the compressed table: its pages come as whole images.
        if r.ty == RecType::InitFilePage && id.0 != 9 {
            pages.entry(id).or_insert_with(|| vec![0; 16_384]);
        }
        // Pages that are older than the log cannot be made from it.
        let Some(page) = pages.get_mut(&id) else { continue };
        if r.ty.is_file() || !r.ty.has_page() {
            continue;
        }
        if matches!(r.ty, RecType::RecInsert | RecType::CompRecInsert) {
            logging_the_same_insert_gives_the_same_record(r.ty, r.page, body, page);
        }
        apply(r.ty, r.page, body, page).unwrap_or_else(|e| panic!("{:?} {:?}: {e}", r.page, r.ty));
        if !r.ty.is_simple() {
            *counts.entry(r.ty.as_u8()).or_default() += 1;
        }
    }
    let fts = |n: u32| format!("shop/FTS_0000000000000018_0000000000000024_INDEX_{n}.ibd");
    let mut files = vec![
        (0, "ibdata1".to_owned()),
        (7, "shop/customer.ibd".to_owned()),
        (8, "shop/orders.ibd".to_owned()),
        (10, "shop/art.ibd".to_owned()),
        (11, "shop/FTS_0000000000000018_DELETED.ibd".to_owned()),
        (15, "shop/FTS_0000000000000018_CONFIG.ibd".to_owned()),
        (22, "shop/nokey.ibd".to_owned()),
    ];
    files.extend((1..=6).map(|n| (15 + n, fts(n))));
    let mut compared = 0;
    for (space, name) in files {
        let file = dir.read(&name);
        for (&(_, no), page) in pages.range((space, 0)..=(space, u32::MAX)) {
            let want = &file[no as usize * 16_384..][..16_384];
            if get_u16(want, 24) != 17_855 {
                continue;
            }
            validate(page, None).unwrap_or_else(|e| panic!("{name} page {no}: {e}"));
            let differs = (0..16_376).find(|&i| i >= 4 && !(16..24).contains(&i) && page[i] != want[i]);
            if let Some(at) = differs {
                panic!(
                    "{name} page {no} differs at {at}:\n{:02x?}\n{:02x?}",
                    &page[at.saturating_sub(8)..(at + 24).min(16_384)],
                    &want[at.saturating_sub(8)..(at + 24).min(16_384)]
                );
            }
            compared += 1;
        }
    }
    assert!(compared >= 17, "{compared} pages compared");
    // Inserts, delete marks, updates in place, deletes and creations were among them.
    let want = [(9, 3), (11, 2), (19, 1), (37, 19), (38, 34), (39, 1), (41, 1), (42, 4)];
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), want);
}
