//! The redo log of a real server, applied by our code, gives the pages that the server wrote.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::DataDir;
use std::collections::BTreeMap;
use vaquita_base::codec::{Reader, get_u16, get_u32, put_u16, put_u32, put_u64};
use vaquita_base::{IndexId, PageId, PageNo, SpaceId};
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::{IndexDef, IndexSpec, RowFormat};
use vaquita_format::index_page::header::last_insert;
use vaquita_format::index_page::logged::{self, PageLog};
use vaquita_format::index_page::validate;
use vaquita_format::record::RecSize;
use vaquita_format::redo_apply::{apply_index, is_index_type};
use vaquita_format::{PageSize, Result};

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

/// Reads one body.
fn skip_body(t: u8, r: &mut Reader<'_>) -> Result<()> {
    let index = |r: &mut Reader<'_>, comp: bool| -> Result<()> {
        if comp {
            let n = r.u16()?;
            r.skip(2 + 2 * usize::from(n))?;
        }
        Ok(())
    };
    let sys = |r: &mut Reader<'_>| -> Result<()> {
        r.compressed()?;
        r.skip(7)?;
        r.u64_compressed()?;
        Ok(())
    };
    match t {
        1 | 2 | 4 => {
            r.skip(2)?;
            r.compressed()?;
        }
        8 => {
            r.skip(2)?;
            r.u64_compressed()?;
        }
        9 | 38 => {
            index(r, t == 38)?;
            r.skip(2)?;
            let e = r.compressed()?;
            if e & 1 != 0 {
                r.skip(1)?;
                r.compressed()?;
                r.compressed()?;
            }
            r.skip((e >> 1) as usize)?;
        }
        10 | 39 => {
            index(r, t == 39)?;
            r.skip(2)?;
            sys(r)?;
            r.skip(2)?;
        }
        11 => r.skip(3)?,
        13 | 41 => {
            index(r, t == 41)?;
            r.skip(1)?;
            sys(r)?;
            r.skip(3)?;
            for _ in 0..r.compressed()? {
                r.compressed()?;
                match r.compressed()? {
                    0xFFFF_FFFF => {}
                    len => r.skip(len as usize)?,
                }
            }
        }
        14 | 42 => {
            index(r, t == 42)?;
            r.skip(2)?;
        }
        19 | 37 | 21 | 23 | 27 | 29 => {}
        20 => {
            let len = r.u16()?;
            r.skip(usize::from(len))?;
        }
        22 => drop(r.compressed()?),
        24 | 25 => drop(r.u64_compressed()?),
        30 => {
            r.skip(2)?;
            let len = r.u16()?;
            r.skip(usize::from(len))?;
        }
        33 | 35 => {
            let len = r.u16()?;
            r.skip(usize::from(len))?;
        }
        47 => {
            r.skip(4)?;
            let len = r.u16()?;
            r.skip(usize::from(len))?;
        }
        49 => r.skip(24)?,
        50 => {
            r.skip(1)?;
            let len = r.u8()?;
            r.skip(usize::from(len))?;
        }
        51 => {
            let (size, trailer) = (r.u16()?, r.u16()?);
            r.skip(8 + usize::from(size) + usize::from(trailer))?;
        }
        t => panic!("type {t}"),
    }
    Ok(())
}

fn apply_simple(t: u8, body: &[u8], page: &mut [u8], id: (u32, u32)) {
    let mut r = Reader::new(body);
    match t {
        29 => {
            page.fill(0);
            put_u32(page, 4, id.1);
            put_u32(page, 34, id.0);
        }
        1 | 2 | 4 => {
            let (at, v) = (usize::from(r.u16().unwrap()), r.compressed().unwrap());
            match t {
                1 => page[at] = v as u8,
                2 => put_u16(page, at, v as u16),
                _ => put_u32(page, at, v),
            }
        }
        8 => put_u64(page, usize::from(r.u16().unwrap()), r.u64_compressed().unwrap()),
        30 => {
            let at = usize::from(r.u16().unwrap());
            let len = usize::from(r.u16().unwrap());
            page[at..at + len].copy_from_slice(r.bytes(len).unwrap());
        }
        _ => {}
    }
}

/// An index whose records are laid out as an index description says.
fn index_of(t: u8, body: &[u8]) -> (IndexDef, usize) {
    let mut r = Reader::new(body);
    let mut columns = Vec::new();
    let mut n_key = 1;
    if t == 38 {
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
    let row_format = if t == 38 { RowFormat::Compact } else { RowFormat::Redundant };
    let spec = IndexSpec { id: IndexId(1), name: String::new(), row_format, page_size: PageSize::DEFAULT };
    (IndexDef::plain(spec, columns, n_key).unwrap(), r.pos())
}

/// Our log of an insert is the server's, byte for byte.
fn logging_the_same_insert_gives_the_same_record(t: u8, id: (u32, u32), body: &[u8], before: &[u8]) {
    let (index, description_len) = index_of(t, body);
    assert_eq!(index.redo_description(), &body[..description_len]);
    let mut after = before.to_vec();
    apply_index(t, body, &mut after).unwrap();
    let origin = last_insert(&after);
    let size = RecSize::of(&after, origin, index.layout()).unwrap();
    let start = usize::from(origin) - size.extra;
    let rec = &after[start..start + size.total()];

    let mut ours = before.to_vec();
    let mut log = Vec::new();
    let page_id = PageId::new(SpaceId(id.0), PageNo(id.1));
    let cursor = get_u16(body, description_len);
    let inserted =
        logged::insert(&mut ours, &mut PageLog::new(page_id, &mut log), &index, cursor, rec, size.extra);
    assert_eq!(inserted, Ok(Some(origin)));
    assert!(ours == after);
    let mut r = Reader::new(&log);
    assert_eq!(r.u8().unwrap(), t);
    assert_eq!((r.compressed().unwrap(), r.compressed().unwrap()), id);
    assert_eq!(r.rest(), body, "{id:?}: ours and the server's");
}

#[test]
fn replaying_a_servers_log_gives_its_index_pages() {
    let dir = DataDir::unpack("redo");
    let stream = stream(&dir.read("ib_logfile0"));
    let mut pages: BTreeMap<(u32, u32), Vec<u8>> = BTreeMap::new();
    let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
    let mut r = Reader::new(&stream);
    while !r.is_empty() {
        let t = r.u8().unwrap() & 0x7F;
        if t == 31 || t == 32 {
            continue;
        }
        let id = (r.compressed().unwrap(), r.compressed().unwrap());
        let start = r.pos();
        skip_body(t, &mut r).unwrap();
        let body = &stream[start..r.pos()];
        // Space 9 is the compressed table: its pages come as whole images.
        if t == 29 && id.0 != 9 {
            pages.entry(id).or_insert_with(|| vec![0; 16_384]);
        }
        // Pages that are older than the log cannot be made from it.
        let Some(page) = pages.get_mut(&id) else { continue };
        if t == 9 || t == 38 {
            logging_the_same_insert_gives_the_same_record(t, id, body, page);
        }
        if is_index_type(t) {
            *counts.entry(t).or_default() += 1;
            apply_index(t, body, page).unwrap_or_else(|e| panic!("{id:?} type {t}: {e}"));
        } else {
            apply_simple(t, body, page, id);
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
