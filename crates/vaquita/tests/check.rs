//! `vaquita check` of sound and of damaged files.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use std::path::{Path, PathBuf};

use common::{Scratch, data_folder, fixture, fixture_dir, table_of, tablespaces, vaquita};
use vaquita::workshop::check::{Described, NamedSpace, check_set, check_space};
use vaquita::workshop::metadata::{MetadataFiles, table_of as describe};
use vaquita::workshop::progress::Progress;
use vaquita::workshop::source::{MemorySpace, PageSource};
use vaquita::workshop::{Finding, Report, SpaceFile};
use vaquita_base::codec::{get_u16, get_u32, put_u16, put_u32};
use vaquita_base::{PageNo, Rng};
use vaquita_format::PageSize;
use vaquita_format::checksum::{ChecksumAlgorithm, stamp};

/// A tablespace in memory and what describes it.
struct Subject {
    name: String,
    size: PageSize,
    bytes: Vec<u8>,
    tables: Vec<Described>,
}

impl Subject {
    fn open(ibd: &Path) -> Subject {
        let src = SpaceFile::open(&[ibd.to_path_buf()]).unwrap();
        let table = table_of(ibd);
        let frm = Some(fixture(&format!("{table}.frm"))).filter(|p| p.is_file());
        let files =
            MetadataFiles { cfg: Some(ibd.with_extension("cfg")).filter(|p| p.is_file()), frm, sql: None };
        let table = describe(&src, ibd, &files).unwrap();
        Subject {
            name: ibd.display().to_string(),
            size: src.page_size(),
            bytes: std::fs::read(ibd).unwrap(),
            tables: vec![Described::new(table.name, table.indexes)],
        }
    }

    fn fixture(name: &str) -> Subject {
        Subject::open(&fixture(&format!("{name}.ibd")))
    }

    fn check(&self, bytes: Vec<u8>) -> Report {
        let src = MemorySpace::new(self.size, bytes);
        let mut report = Report::new();
        let first = |no: PageNo| no == PageNo(0);
        check_space(&src, &self.tables, &first, &mut report, &mut Progress::hidden());
        report
    }

    fn page_len(&self) -> usize {
        self.size.physical()
    }

    fn n_pages(&self) -> usize {
        self.bytes.len() / self.page_len()
    }

    /// Changes a page and gives it a right checksum again; the findings.
    fn changed(&self, page: usize, change: impl FnOnce(&mut [u8])) -> Vec<Finding> {
        let mut bytes = self.bytes.clone();
        let page = &mut bytes[page * self.page_len()..(page + 1) * self.page_len()];
        change(page);
        stamp(page, self.size, ChecksumAlgorithm::Innodb);
        self.check(bytes).findings().to_vec()
    }

    fn page(&self, no: usize) -> &[u8] {
        &self.bytes[no * self.page_len()..(no + 1) * self.page_len()]
    }
}

#[test]
fn every_fixture_passes() {
    for ibd in tablespaces() {
        let (code, out, err) = vaquita(&[&"check", &ibd]);
        assert_eq!((code, &*err), (0, ""), "{ibd:?}\n{out}");
        assert!(out.contains(" ok "), "{out}");
        assert!(ibd.ends_with("ext/datadir.ibd") || !out.contains("note:"), "{out}");
    }
    let (code, out, _) = vaquita(&[&"check", &fixture_dir()]);
    assert_eq!(code, 0, "{out}");
    assert!(out.ends_with("62 checked, 0 faulty\n"), "{out}");
}

#[test]
fn described_by_frm_alone() {
    for ibd in tablespaces() {
        let src = SpaceFile::open(std::slice::from_ref(&ibd)).unwrap();
        let frm = Some(fixture(&format!("{}.frm", table_of(&ibd))));
        let table = describe(&src, &ibd, &MetadataFiles { cfg: None, frm, sql: None }).unwrap();
        let tables = [Described::new(table.name, table.indexes)];
        let mut report = Report::new();
        let summary = check_space(&src, &tables, &|no| no == PageNo(0), &mut report, &mut Progress::hidden());
        assert_eq!((report.findings(), report.remarks()), (&[][..], &[][..]), "{ibd:?}");
        assert_eq!(summary.undescribed, 0, "{ibd:?}");
    }
}

#[test]
fn a_data_folder_passes() {
    let scratch = Scratch::new("check-folder");
    let dir = data_folder(&scratch);
    let (code, out, err) = vaquita(&[&"check", &dir]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    // Log, system tablespace, 21 tables, the words of one and the dictionary, which describes all of them; nothing is left over.
    assert!(out.ends_with("25 checked, 0 faulty\n") && !out.contains("note:"), "{out}");
    assert!(out.contains("redo log") && out.contains("0 mini-transactions to apply"), "{out}");

    let ibdata = dir.join("ibdata1");
    let whole = std::fs::read(&ibdata).unwrap();
    let mut rng = Rng::new(12);
    for page in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 215, 300, 301, 306, 320] {
        let mut bytes = whole.clone();
        flip(&mut bytes, 16384, page, false, &mut rng);
        std::fs::write(&ibdata, &bytes).unwrap();
        let (code, out, _) = vaquita(&[&"check", &ibdata]);
        assert_eq!(code, 1, "page {page}");
        assert!(out.contains(&format!("page {page}: ")), "page {page}: {out}");
    }
    std::fs::write(&ibdata, &whole).unwrap();

    let log = dir.join("ib_logfile0");
    let whole = std::fs::read(&log).unwrap();
    for (at, word) in [(109_428 / 512 * 512 + 100, "checksum"), (109_428 / 512 * 512 + 508, "checksum")] {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        std::fs::write(&log, &bytes).unwrap();
        let (code, out, _) = vaquita(&[&"check", &log]);
        assert_eq!(code, 1, "{out}");
        assert!(out.contains(word), "{out}");
    }
    let mut bytes = whole.clone();
    (bytes[512 + 9], bytes[1536 + 9]) = (7, 7);
    std::fs::write(&log, &bytes).unwrap();
    let (code, out, _) = vaquita(&[&"check", &dir]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("checkpoint checksum") && out.contains("1 faulty"), "{out}");
}

/// The same checks on pages in memory.
/// A table whose tablespace is discarded has no file, in any row format, and that is nothing wrong.
#[test]
fn discarded_tables_pass() {
    let scratch = Scratch::new("check-discarded");
    let folder = scratch.0.join("data");
    let sql = "create database d; use d;
        create table redundant (i int primary key, v int, key (v)) row_format = redundant;
        create table compact (i int primary key) row_format = compact;
        create table dynamic (i int primary key) row_format = dynamic;
        create table there (i int primary key) row_format = redundant;
        alter table redundant discard tablespace;
        alter table compact discard tablespace;
        alter table dynamic discard tablespace";
    let (code, out, err) = vaquita(&[&"sql", &folder, &"-e", &sql]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    let (code, out, err) = vaquita(&[&"check", &folder]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    // One that has its tablespace wants its file.
    std::fs::remove_file(folder.join("d/there.ibd")).unwrap();
    let (code, out, _) = vaquita(&[&"check", &folder]);
    assert!(code == 1 && out.contains("d/there has none"), "{out}");
}

#[test]
fn a_set_of_tablespaces_in_memory() {
    let scratch = Scratch::new("check-set");
    let dir = data_folder(&scratch);
    let load = |path: &Path| {
        let src = SpaceFile::open(&[path.to_path_buf()]).unwrap();
        MemorySpace::new(src.page_size(), std::fs::read(path).unwrap())
    };
    let mut spaces = Vec::new();
    for db in ["mysql", "shop"] {
        for entry in std::fs::read_dir(dir.join(db)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "ibd") {
                let name = format!("{db}/{}", path.file_stem().unwrap().to_str().unwrap());
                spaces.push((name, load(&path)));
            }
        }
    }
    let system = load(&dir.join("ibdata1"));
    let named: Vec<NamedSpace<'_>> =
        spaces.iter().map(|(name, space)| NamedSpace { name, src: space }).collect();
    let verdict = check_set(&system, &named, true);
    assert_eq!((verdict.faults(), verdict.notes()), (vec![], vec![]));
    assert_eq!(verdict.parts.len(), 23);
    let transactions = verdict.transactions().unwrap();
    assert_eq!((transactions.active().count(), transactions.prepared().count()), (0, 0));
    assert_eq!(transactions.history(), 10);
    assert!(verdict.parts.iter().filter_map(|p| p.summary.as_ref()).all(|s| s.undescribed == 0));

    // One tablespace is missing; the crash of its owner would explain it.
    let verdict = check_set(&system, &named[1..], true);
    let faults = verdict.faults();
    assert!(faults.len() == 1 && faults[0].starts_with("dictionary: file of a table: "), "{faults:?}");
    let verdict = check_set(&system, &named[1..], false);
    assert_eq!((verdict.faults().len(), verdict.notes().len()), (0, 1));
}

/// Flips a bit of a page that something must notice: no checksum covers the flush LSN of page 0, nor the LSN of pages
/// of compressed tablespaces.
fn flip(bytes: &mut [u8], page_len: usize, page: usize, compressed: bool, rng: &mut Rng) -> usize {
    loop {
        let at = rng.index(page_len);
        let uncovered = (page == 0 && (26..34).contains(&at)) || (compressed && (16..24).contains(&at));
        let fresh = bytes[page * page_len..(page + 1) * page_len].iter().all(|&b| b == 0);
        if !uncovered || fresh {
            bytes[page * page_len + at] ^= 1 << rng.index(8);
            return at;
        }
    }
}

#[test]
fn one_flipped_bit_is_found_on_its_page() {
    let mut rng = Rng::new(2026);
    let fixtures = [
        "types_compact",
        "types_redundant",
        "nopk",
        "delmark",
        "fts",
        "child",
        "tree_redundant",
        "vkey",
        "blob_compact",
        "blob_dynamic",
        "blob_redundant",
        "blob_zip4",
        "delmark_zip",
        "zip8",
        "zip16",
        "types_zip8",
    ];
    for name in fixtures {
        let subject = Subject::fixture(name);
        for page in 0..subject.n_pages() {
            for _ in 0..3 {
                let mut bytes = subject.bytes.clone();
                let at = flip(&mut bytes, subject.page_len(), page, subject.size.is_compressed(), &mut rng);
                let report = subject.check(bytes);
                let named = report.findings().iter().any(|f| f.page == Some(PageNo(page as u32)));
                assert!(named, "{name} page {page} byte {at}: {:?}", report.findings());
            }
        }
    }
}

/// Every page of larger tablespaces, through the command line.
#[test]
fn flipped_bits_in_a_larger_file() {
    let scratch = Scratch::new("flips");
    let mut rng = Rng::new(77);
    for name in ["tree", "zip4"] {
        let whole = std::fs::read(fixture(&format!("{name}.ibd"))).unwrap();
        for extension in ["cfg", "frm"] {
            std::fs::copy(
                fixture(&format!("{name}.{extension}")),
                scratch.0.join(format!("{name}.{extension}")),
            )
            .unwrap();
        }
        let page_len = if name == "tree" { 16384 } else { 4096 };
        for _ in 0..12 {
            let page = rng.index(whole.len() / page_len);
            let mut bytes = whole.clone();
            flip(&mut bytes, page_len, page, name != "tree", &mut rng);
            let ibd = scratch.put(&format!("{name}.ibd"), &bytes);
            let (code, out, _) = vaquita(&[&"check", &ibd]);
            assert_eq!(code, 1, "{name} page {page}");
            assert!(
                out.contains(&format!("page {page}: ")) && out.contains("FAULTY"),
                "{name} page {page}: {out}"
            );
        }
    }
}

/// Wrong structure under right checksums: each rule notices.
#[test]
fn structure_is_checked_behind_the_checksums() {
    let tree = Subject::fixture("tree");
    let has = |findings: &[Finding], page: u32, word: &str| {
        let found = findings.iter().any(|f| f.page == Some(PageNo(page)) && f.to_string().contains(word));
        assert!(found, "page {page}, {word}: {findings:#?}");
    };
    let bump = |at: usize| move |p: &mut [u8]| put_u32(p, at, get_u32(p, at).wrapping_add(1));

    // Space header: used fragment pages, length and ends of lists, size.
    has(&tree.changed(0, bump(58)), 0, "used pages of fragment extents");
    has(&tree.changed(0, bump(62)), 0, "list: FREE");
    has(&tree.changed(0, bump(78)), 0, "list: FREE_FRAG");
    has(&tree.changed(0, |p| put_u32(p, 46, 100_000)), 0, "size of the tablespace");
    has(&tree.changed(0, |p| put_u16(p, 88 + 4, 999)), 0, "list: FREE_FRAG");
    // Extent descriptors: state, a used page marked free, a link.
    has(&tree.changed(0, |p| put_u32(p, 150 + 40 + 20, 1)), 0, "extent state");
    has(&tree.changed(0, |p| p[150 + 24] |= 1), 0, "used pages of fragment extents");
    has(&tree.changed(0, |p| p[150 + 40 + 24] |= 1), 64, "marked free");
    has(&tree.changed(0, |p| p[150 + 40 + 7] = 77), 0, "owner of an extent");
    // Inodes: counter, magic number, a fragment page twice.
    has(&tree.changed(2, bump(50 + 192 + 8)), 2, "used pages of partly used extents");
    has(&tree.changed(2, bump(50 + 60)), 2, "segment inode");
    has(&tree.changed(2, |p| put_u32(p, 50 + 64 + 4, 5)), 2, "belongs to segments");
    // Bitmap: a leaf's free-space code overstated, a bit that only the system tablespace has.
    has(&tree.changed(1, |p| p[94..200].fill(0x33)), 1, "free-space code");
    has(&tree.changed(1, |p| p[94 + 20] |= 8), 1, "change buffer's");
    has(&tree.changed(1, |p| p[94 + 1] |= 4), 1, "buffered changes");
}

#[test]
fn trees_are_checked_behind_the_checksums() {
    let tree = Subject::fixture("tree");
    let root = tree.page(3);
    let record = |page: &[u8], at: usize| (at + usize::from(get_u16(page, at - 2))) & 0xFFFF;
    let first = record(root, 99);
    let second = record(root, first);
    let third = record(root, second);
    // BIGINT keys: 8 bytes, then the child page.
    let child = |rec: usize| get_u32(root, rec + 8);
    let (leaf_1, leaf_2, leaf_3) = (child(first), child(second), child(third));
    let find = |findings: &[Finding], page: u32, word: &str| {
        let found = findings.iter().any(|f| f.page == Some(PageNo(page)) && f.to_string().contains(word));
        assert!(found, "page {page}, {word}: {findings:#?}");
    };

    // Sibling links.
    let next = tree.changed(leaf_1 as usize, |p| put_u32(p, 12, leaf_3));
    find(&next, leaf_1, "sibling chain");
    let prev = tree.changed(leaf_2 as usize, |p| put_u32(p, 8, leaf_3));
    find(&prev, leaf_2, "sibling links");
    let ends = tree.changed(leaf_2 as usize, |p| put_u32(p, 12, u32::MAX));
    find(&ends, leaf_2, "ends here");
    // Child pointers: one page twice, exchanged, beyond the end.
    let twice = tree.changed(3, |p| put_u32(p, second + 8, leaf_1));
    find(&twice, leaf_1, "already in use");
    let exchanged = tree.changed(3, |p| {
        put_u32(p, second + 8, leaf_3);
        put_u32(p, third + 8, leaf_2);
    });
    assert!(exchanged.iter().any(|f| f.to_string().contains("sibling")), "{exchanged:#?}");
    let beyond = tree.changed(3, |p| put_u32(p, second + 8, 70_000));
    find(&beyond, 70_000, "beyond the end");
    // Keys: a pointer above its page, a leaf out of order.
    let high = tree.changed(3, |p| put_u32(p, second + 4, get_u32(p, third + 4) - 1));
    find(&high, leaf_2, "key order");
    let disorder = tree.changed(leaf_2 as usize, |p| {
        let rec = record(p, 99);
        p[rec] |= 0x7F;
    });
    find(&disorder, leaf_2, "key order");
    // Page structure: number of records, heap top, minimum flag, index number, level.
    for (at, word) in [(54, "number of records"), (40, "heap")] {
        let found = tree.changed(leaf_2 as usize, |p| put_u16(p, at, get_u16(p, at) - 1));
        find(&found, leaf_2, word);
    }
    find(&tree.changed(3, |p| p[first - 5] &= !0x10), 3, "minimum");
    find(&tree.changed(leaf_2 as usize, |p| p[73] ^= 1), leaf_2, "index");
    find(&tree.changed(leaf_2 as usize, |p| put_u16(p, 64, 1)), leaf_2, "level");
    find(&tree.changed(leaf_2 as usize, |p| put_u16(p, 24, 10)), leaf_2, "page type");
    // The root's segments.
    find(&tree.changed(3, |p| put_u16(p, 74 + 8, 3)), 3, "segments of a tree");
}

#[test]
fn off_page_columns_are_checked_behind_the_checksums() {
    for name in ["blob_dynamic", "blob_compact", "blob_redundant", "blob_zip4"] {
        let subject = Subject::fixture(name);
        let compressed = subject.size.is_compressed();
        let ty = |page: usize| get_u16(subject.page(page), 24);
        // A page with a successor in its chain.
        let next_at = if compressed { 12 } else { 42 };
        let next = |page: usize| get_u32(subject.page(page), next_at);
        let middle =
            (0..subject.n_pages()).find(|&p| matches!(ty(p), 10..=12) && next(p) != u32::MAX).unwrap();
        let named = |findings: &[Finding], page: u32| {
            assert!(findings.iter().any(|f| f.page == Some(PageNo(page))), "{name}: {findings:#?}");
        };
        let cut = subject.changed(middle, |p| put_u32(p, next_at, u32::MAX));
        assert!(cut.iter().any(|f| f.to_string().contains("too early")), "{name}: {cut:#?}");
        let circle = subject.changed(middle, |p| put_u32(p, next_at, middle as u32));
        named(&circle, middle as u32);
        named(&subject.changed(middle, |p| put_u16(p, 24, 17855)), middle as u32);
        named(&subject.changed(middle, |p| put_u32(p, next_at, 3)), 3);
        if compressed {
            named(&subject.changed(middle, |p| p[200] ^= 0xFF), middle as u32);
        } else {
            named(&subject.changed(middle, |p| put_u32(p, 38, 60_000)), middle as u32);
        }
    }
}

#[test]
fn truncated_empty_and_garbage_files() {
    let scratch = Scratch::new("bad-files");
    let whole = std::fs::read(fixture("tree_redundant.ibd")).unwrap();
    let check = |path: &PathBuf| vaquita(&[&"check", path]);
    for cut in [16384 * 31, 16384 * 20 + 77, 16384 * 3, 16384, 16000, 2000, 1023, 1, 0] {
        let path = scratch.put("tree_redundant.ibd", &whole[..cut]);
        let (code, out, err) = check(&path);
        assert_eq!((code, &*err), (1, ""), "{cut}: {out}");
        assert!(out.contains("FAULTY"), "{cut}: {out}");
    }
    let mut rng = Rng::new(5);
    for len in [16384 * 6, 16384 * 2 + 5, 4096] {
        let mut bytes = vec![0; len];
        rng.fill(&mut bytes);
        let (code, out, _) = check(&scratch.put("garbage.ibd", &bytes));
        assert_eq!(code, 1, "{out}");
        // Garbage behind a sound first page.
        if let Some(first) = bytes.get_mut(..16384) {
            first.copy_from_slice(&whole[..16384]);
        }
        assert_eq!(check(&scratch.put("mixed.ibd", &bytes)).0, 1);
    }
    let (code, out, _) = check(&scratch.put("zeros.ibd", &vec![0; 16384 * 6]));
    assert_eq!(code, 1, "{out}");
    let (code, out, err) = check(&scratch.0.join("missing.ibd"));
    assert_eq!((code, &*out), (2, ""));
    assert!(err.contains("missing.ibd"), "{err}");
    let empty = scratch.0.join("folder");
    std::fs::create_dir(&empty).unwrap();
    let (code, _, err) = check(&empty);
    assert_eq!(code, 2);
    assert!(err.contains("there is no"), "{err}");
}

/// Any bytes anywhere: findings, never a panic. Checksums are right, so every decoder sees the damage.
#[test]
fn random_damage_behind_checksums_never_panics() {
    let mut rng = Rng::new(99);
    for name in
        ["types_compact", "vkey", "blob_dynamic", "blob_zip4", "tree_redundant", "zip8", "delmark_zip"]
    {
        let subject = Subject::fixture(name);
        for _ in 0..60 {
            let mut bytes = subject.bytes.clone();
            for _ in 0..1 + rng.index(3) {
                let page = rng.index(subject.n_pages());
                let page = &mut bytes[page * subject.page_len()..(page + 1) * subject.page_len()];
                for _ in 0..1 + rng.index(8) {
                    let at = if rng.one_in(2) { rng.index(200) } else { rng.index(page.len()) };
                    page[at] = rng.next_u64() as u8;
                }
                stamp(page, subject.size, ChecksumAlgorithm::Crc32);
            }
            let report = subject.check(bytes);
            for finding in report.findings() {
                assert!(!finding.to_string().is_empty(), "{}", subject.name);
            }
        }
    }
}

/// The references to off-page values on the pages of a tablespace: page, and offset in the file.
fn references(bytes: &[u8]) -> Vec<(u32, usize)> {
    let is = |no: usize, kind: u16| no < bytes.len() / 16_384 && get_u16(bytes, no * 16_384 + 24) == kind;
    let space = get_u32(bytes, 34);
    let mut found = Vec::new();
    for no in (0..bytes.len() / 16_384).filter(|&no| is(no, 17_855)) {
        for at in no * 16_384 + 120..(no + 1) * 16_384 - 28 {
            let (page, offset) = (get_u32(bytes, at + 4) as usize, get_u32(bytes, at + 8));
            if get_u32(bytes, at) == space && offset == 38 && is(page, 10) {
                found.push((no as u32, at));
            }
        }
    }
    found
}

/// The length of a reference comes last when a value is written and goes first when it is freed: after a crash there can be a
/// chain without one.
#[test]
fn a_value_under_way_is_a_note_until_the_folder_is_settled() {
    let scratch = Scratch::new("check-under-way");
    let dir = data_folder(&scratch);
    let system = SpaceFile::open(&[dir.join("ibdata1")]).unwrap();
    let mut bytes = std::fs::read(dir.join("shop/orders.ibd")).unwrap();
    let size = PageSize::new(16_384).unwrap();
    let (page, at) = references(&bytes)[0];
    let check = |bytes: &[u8], settled: bool| {
        let space = MemorySpace::new(size, bytes.to_vec());
        let verdict = check_set(&system, &[NamedSpace { name: "shop/orders", src: &space }], settled);
        let of_it = |all: Vec<String>| {
            all.into_iter().filter(|t| t.starts_with("shop/orders.ibd: ")).collect::<Vec<_>>()
        };
        (of_it(verdict.faults()), of_it(verdict.notes()))
    };
    let under_way = "1 off-page columns were being written or freed";
    let (faults, notes) = check(&bytes, false);
    assert!(faults.is_empty() && !notes.iter().any(|n| n.contains("off-page")), "{faults:?} {notes:?}");
    bytes[at + 16..at + 20].fill(0);
    let start = page as usize * 16_384;
    stamp(&mut bytes[start..start + 16_384], size, ChecksumAlgorithm::Innodb);
    let (faults, _) = check(&bytes, true);
    assert!(faults.iter().any(|f| f.contains("BLOB chain: goes on after the last byte")), "{faults:?}");
    let (faults, notes) = check(&bytes, false);
    assert_eq!(faults, Vec::<String>::new());
    assert!(notes.iter().any(|n| n.contains(under_way)), "{notes:?}");
    // A chain that leads to a page of something else is no crash's work.
    put_u32(&mut bytes, at + 4, 3);
    stamp(&mut bytes[start..start + 16_384], size, ChecksumAlgorithm::Innodb);
    let (faults, _) = check(&bytes, false);
    assert!(faults.iter().any(|f| f.starts_with("shop/orders.ibd: page 3: ")), "{faults:?}");
}
