//! Compressed tables of a real server, and off-page columns of all formats.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::tables;

use std::collections::BTreeMap;
use tables::{Table, table_named, tables};
use vaquita_base::{PageNo, Rng};
use vaquita_format::index_page::header::{is_leaf, level, n_recs};
use vaquita_format::index_page::{records, validate};
use vaquita_format::record::{ExternRef, Offsets};
use vaquita_format::zip::{Unzip, ZipInfo, inflate_chain};
use vaquita_format::{Corruption, blob};

const LOGICAL: usize = 16_384;

#[test]
fn every_compressed_page_expands_to_a_valid_one() {
    let mut unzip = Unzip::new();
    let mut page = vec![0; LOGICAL];
    let (mut pages, mut rows, mut logged, mut references, mut levels) = (0, 0, 0, 0, 0);
    let mut tables_seen = BTreeMap::new();
    for table in tables().iter().filter(|t| t.page_size.is_compressed()) {
        for (no, zip, index) in table.index_pages() {
            let context = || format!("{} page {no}", table.name);
            let info = unzip.index_page(zip, &mut page).unwrap_or_else(|e| panic!("{}: {e}", context()));
            let stats = validate(&page, Some(index)).unwrap_or_else(|e| panic!("{}: {e}", context()));
            let ZipInfo { log_start, log_end, n_log_records, trailer_start, n_references } = info;
            assert!(log_start <= log_end && log_end < trailer_start);
            assert!(zip[log_end..trailer_start].iter().all(|&b| b == 0), "{}: gap", context());
            logged += n_log_records;
            references += n_references;
            levels = levels.max(level(&page));
            rows += stats.n_recs;
            pages += 1;
            *tables_seen.entry(table.name.clone()).or_insert(0) += stats.n_recs;
        }
    }
    assert!(pages > 500, "{pages} pages");
    assert_eq!(tables_seen.len(), 8, "{tables_seen:?}");
    assert!(
        rows > 40_000 && logged > 100 && references >= 10 && levels == 2,
        "{rows} {logged} {references} {levels}"
    );
}

/// Key and whole value of columns `a` and `b` of each row.
type Blobs = BTreeMap<Vec<u8>, [Option<Vec<u8>>; 2]>;

fn blobs(table: &Table) -> (Blobs, usize) {
    let mut out = BTreeMap::new();
    let mut external = 0;
    let mut unzip = Unzip::new();
    let mut logical = vec![0; LOGICAL];
    for (_, raw, index) in table.index_pages().filter(|(_, p, i)| i.is_clustered() && is_leaf(p)) {
        let page = if table.page_size.is_compressed() {
            unzip.index_page(raw, &mut logical).unwrap();
            &logical[..]
        } else {
            raw
        };
        let mut offsets = Offsets::new();
        for rec in records(page) {
            let rec = rec.unwrap();
            offsets.parse(page, rec, index.layout()).unwrap();
            let mut value = |i: usize| {
                let local = offsets.field(page, rec, i)?;
                if !offsets.is_external(i) {
                    return Some(local.to_vec());
                }
                external += 1;
                Some(whole(table, local))
            };
            let values = [value(3), value(4)];
            out.insert(offsets.field(page, rec, 0).unwrap().to_vec(), values);
        }
    }
    (out, external)
}

fn whole(table: &Table, local: &[u8]) -> Vec<u8> {
    let r = ExternRef::of_field(local).unwrap().unwrap();
    assert!(r.owner);
    let mut out = local[..local.len() - 20].to_vec();
    let fetch = |no: PageNo| Ok::<_, Corruption>(table.pages().nth(no.get() as usize).unwrap());
    let len = r.len as usize;
    if table.page_size.is_compressed() {
        assert_eq!(r.offset, blob::ZIP_REF_OFFSET);
        inflate_chain(r.page_no, len, &mut out, fetch).unwrap();
        for wrong in [len - 1, len + 1] {
            assert!(inflate_chain(r.page_no, wrong, &mut Vec::new(), fetch).is_err());
        }
    } else {
        assert_eq!(r.offset, blob::REF_OFFSET);
        blob::read_chain(r.page_no, r.offset, len, &mut out, fetch).unwrap();
        for wrong in [len - 1, len + 1] {
            assert!(blob::read_chain(r.page_no, r.offset, wrong, &mut Vec::new(), fetch).is_err());
        }
    }
    out
}

/// Four tables hold the same rows in the four formats.
#[test]
fn off_page_columns_are_equal_in_all_formats() {
    let (compact, n) = blobs(&table_named("blob_compact"));
    assert!(compact.len() == 11 && n >= 10);
    let tenth = compact.get(&[0x80, 0, 0, 8][..]).unwrap()[0].clone().unwrap();
    assert!(tenth.len() == 100_000 && tenth.chunks(8).all(|c| c == b"abcdefgh"));
    for name in ["blob_dynamic", "blob_redundant", "blob_zip4"] {
        let (same, n) = blobs(&table_named(name));
        assert!(same == compact && n >= 8, "{name}: {n} external columns");
    }
}

/// A chain that points to itself, or to pages of other types, ends in an error.
#[test]
fn damaged_chains_are_refused() {
    let mut ring = vec![0; 4096];
    blob::write_zip_part(&mut ring, true, &[0x78, 0x9C], Some(PageNo(1)));
    let fetch = |_| Ok::<_, Corruption>(&ring);
    assert!(inflate_chain(PageNo(1), 1 << 20, &mut Vec::new(), fetch).is_err());
    let mut ring = vec![0; 4096];
    blob::write_part(&mut ring, &[1], Some(PageNo(1)));
    let fetch = |_| Ok::<_, Corruption>(&ring);
    assert!(blob::read_chain(PageNo(1), 38, 1000, &mut Vec::new(), fetch).is_err());
    blob::write_part(&mut ring, &[], Some(PageNo(1)));
    let fetch = |_| Ok::<_, Corruption>(&ring);
    assert!(blob::read_chain(PageNo(1), 38, 1000, &mut Vec::new(), fetch).is_err());
    // The fetcher's own error comes through.
    let gone = |_| Err::<Vec<u8>, _>(Corruption::new("gone", ""));
    assert_eq!(inflate_chain(PageNo(1), 9, &mut Vec::new(), gone).unwrap_err().check, "gone");
}

/// Bytes anywhere replaced: an error or some page, never a panic.
#[test]
fn damaged_compressed_pages_never_panic() {
    let mut rng = Rng::new(11);
    let mut unzip = Unzip::new();
    let mut page = vec![0; LOGICAL];
    let mut refused = 0;
    for name in ["zip1", "zip8", "blob_zip4", "types_zip8", "delmark_zip"] {
        let table = table_named(name);
        for (_, zip, index) in table.index_pages().filter(|(_, p, _)| n_recs(p) > 0).take(20) {
            for round in 0..40 {
                let mut bad = zip.to_vec();
                let from = match round % 4 {
                    0 => 38,
                    1 => 94,
                    2 => zip.len() - 60,
                    _ => zip.len() * 3 / 4,
                };
                for _ in 0..1 + rng.index(3) {
                    let at = from + rng.index((zip.len() - from).min(120));
                    bad[at] = rng.below(256) as u8;
                }
                match unzip.index_page(&bad, &mut page) {
                    Ok(_) => drop(validate(&page, Some(index))),
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > 500, "{refused}");
    for len in [0, 100, 1024, 4096] {
        let mut noise = vec![0; len];
        rng.fill(&mut noise);
        if let Some(b) = noise.get_mut(42) {
            *b |= 0x80;
        }
        assert!(unzip.index_page(&noise, &mut page).is_err());
    }
}
