//! Whole tablespaces, damaged: what the tools for files do with them.
//!
//! The input names a fixture and lists patches to it: page, offset, length, bytes. Patched pages get a checksum that
//! holds, as damage with a valid checksum is what reaches the trees, lists and columns behind it. `check` must report
//! and `dump` must skip; neither may panic, loop or take more memory than the file warrants.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use vaquita::workshop::check::{Described, NamedSpace, check_set, check_space};
use vaquita::workshop::dictionary::Dictionary;
use vaquita::workshop::dump::{DumpOptions, Format, dump_table};
use vaquita::workshop::metadata::{MetadataFiles, TableInfo, table_of};
use vaquita::workshop::progress::Progress;
use vaquita::workshop::source::{MemorySpace, PageSource, ReadError};
use vaquita::workshop::{Report, roots};
use vaquita_base::PageNo;
use vaquita_format::checksum::{self, ChecksumAlgorithm};
use vaquita_format::fsp::header::read_flags;
use vaquita_format::{PageSize, fil, trx_sys};

use crate::seeds;

/// A fixture and what describes it.
struct Fixture {
    path: PathBuf,
    space: MemorySpace,
    table: TableInfo,
}

/// Small ones of every kind.
const NAMES: [&str; 11] = [
    "nopk",
    "uniqclust",
    "delmark",
    "delmark_zip",
    "types_compact",
    "types_redundant",
    "types_zip8",
    "parent",
    "fts",
    "blob_zip4",
    "zip8",
];

static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(|| {
    let load = |name: &&str| {
        let path = seeds::fixtures().join(format!("{name}.ibd"));
        let bytes = std::fs::read(&path).expect("a fixture");
        let size = read_flags(&bytes).expect("a sound fixture").page_size();
        let space = quickly_checked(size, bytes);
        let table = table_of(&space, &path, &MetadataFiles::beside(&path)).expect("a described fixture");
        Fixture { path, space, table }
    };
    NAMES.iter().map(load).collect()
});

/// A tablespace of the fixture data folder.
fn of_folder(name: &str) -> MemorySpace {
    let archive = seeds::fixtures().join("datadir/data56-clean.tar.xz");
    let output = Command::new("tar").arg("-xJOf").arg(archive).arg(format!("data56-clean/{name}")).output();
    let bytes = output.expect("tar runs").stdout;
    assert!(!bytes.is_empty(), "the archive holds {name}");
    quickly_checked(PageSize::DEFAULT, bytes)
}

/// The system tablespace of the fixture data folder.
static SYSTEM: LazyLock<MemorySpace> = LazyLock::new(|| of_folder("ibdata1"));

/// A table with two secondary indexes that belongs to it.
static TABLE: LazyLock<MemorySpace> = LazyLock::new(|| of_folder("shop/customer.ibd"));

/// The pages of the transaction system: TRX_SYS, rollback segment headers, undo pages.
static UNDO_PAGES: LazyLock<Vec<PageNo>> = LazyLock::new(|| {
    let trx_sys_page = SYSTEM.page(trx_sys::PAGE).expect("within").into_owned();
    let headers = (0..trx_sys::N_RSEGS).filter_map(|n| Some(trx_sys::rseg(&trx_sys_page, n)?.1));
    let is_undo = |no: &PageNo| {
        SYSTEM.page(*no).is_ok_and(|page| fil::page_type(&page) == Some(fil::PageType::UndoLog))
    };
    let undo = (0..SYSTEM.n_pages()).map(PageNo).filter(is_undo);
    // Most headers hold nothing; undo pages come first, so that small numbers lead to them.
    undo.chain([trx_sys::PAGE]).chain(headers).collect()
});

/// The tablespace with the checksum that costs least: the targets are not about checksums.
fn quickly_checked(size: PageSize, mut bytes: Vec<u8>) -> MemorySpace {
    for page in bytes.chunks_exact_mut(size.physical()).filter(|page| page.iter().any(|&byte| byte != 0)) {
        checksum::stamp(page, size, ChecksumAlgorithm::None);
    }
    MemorySpace::new(size, bytes)
}

/// A fixture with some pages replaced.
struct Damaged<'a> {
    base: &'a MemorySpace,
    pages: BTreeMap<PageNo, Vec<u8>>,
}

impl<'a> Damaged<'a> {
    fn new(base: &'a MemorySpace, mut patches: &[u8]) -> Damaged<'a> {
        let size = base.page_size();
        let mut pages: BTreeMap<PageNo, Vec<u8>> = BTreeMap::new();
        while let Some((&[page_high, page_low, high, low, len], rest)) = patches.split_first_chunk::<5>() {
            let no = (u32::from(page_high) << 8 | u32::from(page_low)) % base.n_pages();
            let page = pages
                .entry(PageNo(no))
                .or_insert_with(|| base.page(PageNo(no)).expect("within").into_owned());
            let at = (usize::from(high) << 8 | usize::from(low)) % page.len();
            let (bytes, rest) = rest.split_at(usize::from(len).min(rest.len()));
            let len = bytes.len().min(page.len() - at);
            page[at..at + len].copy_from_slice(&bytes[..len]);
            patches = rest;
        }
        pages.values_mut().for_each(|page| checksum::stamp(page, size, ChecksumAlgorithm::None));
        Damaged { base, pages }
    }
}

impl PageSource for Damaged<'_> {
    fn page_size(&self) -> PageSize {
        self.base.page_size()
    }

    fn n_pages(&self) -> u32 {
        self.base.n_pages()
    }

    fn page(&self, no: PageNo) -> Result<Cow<'_, [u8]>, ReadError> {
        self.pages.get(&no).map_or_else(|| self.base.page(no), |page| Ok(Cow::Borrowed(page.as_slice())))
    }
}

/// A fixture's number, a choice, and patches.
pub(super) fn tables(data: &[u8]) {
    let Some((&[number, choice], patches)) = data.split_first_chunk::<2>() else { return };
    let fixture = &FIXTURES[usize::from(number) % FIXTURES.len()];
    let space = Damaged::new(&fixture.space, patches);
    let format = [Format::Tsv, Format::Csv, Format::Json, Format::Sql][usize::from(choice) % 4];
    let options = DumpOptions { format, deleted: choice & 4 != 0, damaged_pages: choice & 8 != 0 };
    let mut out = Vec::new();
    dump_table(&space, &fixture.table, options, &mut out, &mut Progress::hidden()).expect("memory takes all");
    let mut report = Report::new();
    let described = [Described::new("t", fixture.table.indexes.clone())];
    check_space(&space, &described, &|_| false, &mut report, &mut Progress::hidden());
    if patches.is_empty() {
        assert!(report.is_clean(), "an undamaged fixture: {:?}", report.findings());
    }
    // What the damaged file says of itself.
    check_space(&space, &[], &|_| false, &mut Report::new(), &mut Progress::hidden());
    let _ = roots::find_roots(&space);
    if let Ok(table) = table_of(&space, &fixture.path, &MetadataFiles::default()) {
        out.clear();
        dump_table(&space, &table, options, &mut out, &mut Progress::hidden()).expect("memory takes all");
    }
}

/// Patches to the system tablespace.
pub(super) fn system(data: &[u8]) {
    let space = Damaged::new(&SYSTEM, data);
    let mut report = Report::new();
    let dictionary = Dictionary::read(&space, &mut report);
    let _ = dictionary.in_space(vaquita_base::SpaceId::SYSTEM).count();
    // The check reads the dictionary once more for itself.
    check_space(&space, &[], &|no| no == PageNo(0), &mut report, &mut Progress::hidden());
    if data.is_empty() {
        assert!(report.is_clean(), "an undamaged system tablespace: {:?}", report.findings());
    }
}

/// Patches to the pages of the transaction system, given by their place among them; then the rows of a table are judged
/// by what is left.
pub(super) fn undo_segments(data: &[u8]) {
    let mut patches = data.to_vec();
    let mut at = 0;
    while let Some(head) = patches.get_mut(at..at + 5) {
        let place = usize::from(head[0]) << 8 | usize::from(head[1]);
        let no = UNDO_PAGES[place % UNDO_PAGES.len()].get();
        (head[0], head[1]) = ((no >> 8) as u8, no as u8);
        at += 5 + usize::from(head[4]);
    }
    let space = Damaged::new(&SYSTEM, &patches);
    let table = NamedSpace { name: "shop/customer", src: &*TABLE };
    // The other tables of the folder are left out.
    let verdict = check_set(&space, &[table], false);
    if patches.is_empty() {
        assert_eq!(verdict.faults(), Vec::<String>::new(), "an undamaged folder");
    }
    if let Some(transactions) = verdict.transactions() {
        assert!(!transactions.to_string().is_empty());
        assert_eq!(
            transactions.notes().len(),
            transactions.active().count() + transactions.prepared().count(),
            "every transaction that has not ended is told"
        );
    }
}

/// No damage; each kind of page changed at its important places: state, chain of logs, lists, links, slots, records.
pub(super) fn undo_seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![Vec::new()];
    for page in (0..8).chain(36..44) {
        for at in [38, 40, 42, 44, 56, 58, 60, 70, 86, 94, 104, 116, 120, 126, 130, 272, 274] {
            for value in [0, 1, 5] {
                seeds.push(vec![0, page, (at >> 8) as u8, at as u8, 2, 0, value]);
            }
        }
    }
    seeds
}

/// No damage, and a patch to the header and to a record of the pages in use.
pub(super) fn table_seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for number in 0..NAMES.len() as u8 {
        seeds.push(vec![number, number]);
        for page in 0..6 {
            seeds.push(vec![
                number,
                page,
                0,
                page,
                0,
                38 + 4 * page,
                2,
                0,
                7,
                0,
                3,
                0,
                120,
                8,
                1,
                2,
                3,
                4,
                5,
                6,
                7,
                8,
            ]);
        }
    }
    seeds
}

/// No damage, and patches to the fixed pages.
pub(super) fn system_seeds() -> Vec<Vec<u8>> {
    let patched =
        (0..16).map(|page| vec![0, page, 0, 38 + 4 * page, 2, 0, 7, 0, page, 0, 120, 4, 0, 0, 0, 1]);
    std::iter::once(Vec::new()).chain(patched).collect()
}
