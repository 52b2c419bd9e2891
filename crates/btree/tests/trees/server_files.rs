//! Trees in tablespaces that a real server wrote: they are sound by our check, and stay so when half of their records
//! go and come back.

use crate::bed::{Bed, Row, contents, fields, shuffle};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vaquita_base::codec::get_u32;
use vaquita_base::{Lsn, Rng, SpaceId};
use vaquita_btree::Tree;
use vaquita_format::PageSize;
use vaquita_format::cfg::TableMeta;
use vaquita_format::checksum::{ChecksumAlgorithm, stamp};
use vaquita_format::fil;
use vaquita_format::index_def::IndexDef;
use vaquita_format::record::header::INFO_DELETED;
use vaquita_format::tuple::Tuple;
use vaquita_io::sim::SimDisk;

struct Table {
    name: String,
    /// The file, with the LSNs of its pages set back to the start of a new log.
    bytes: Vec<u8>,
    meta: TableMeta,
    indexes: Vec<IndexDef>,
}

/// All exported tables of the corpus in uncompressed pages of 16 KiB.
fn tables() -> Vec<Table> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/mysql56");
    let mut files: Vec<PathBuf> = std::fs::read_dir(corpus).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files.retain(|p| p.extension().is_some_and(|e| e == "ibd") && p.with_extension("cfg").exists());
    let tables: Vec<Table> = files.iter().filter_map(|path| table(path)).collect();
    assert!(tables.len() >= 20, "{} tables", tables.len());
    tables
}

fn table(path: &Path) -> Option<Table> {
    let mut bytes = std::fs::read(path).unwrap();
    // Page size and compression are in bits 1 to 4 and 6 to 9 of the flags.
    if get_u32(&bytes, 54) & 0x3DE != 0 {
        return None;
    }
    for page in bytes.chunks_exact_mut(PageSize::DEFAULT.physical()).filter(|p| p.iter().any(|&b| b != 0)) {
        fil::set_both_lsn(page, PageSize::DEFAULT, Lsn(1));
        stamp(page, PageSize::DEFAULT, ChecksumAlgorithm::Crc32);
    }
    let meta = TableMeta::parse(&std::fs::read(path.with_extension("cfg")).unwrap()).unwrap();
    let indexes = meta.index_defs().unwrap();
    Some(Table { name: path.file_stem().unwrap().to_str().unwrap().to_owned(), bytes, meta, indexes })
}

/// Opens the trees of a table that lies on a disk of its own.
fn open(table: &Table) -> (Bed, Vec<Tree>) {
    let disk = SimDisk::new(1);
    disk.put_dir("/db".as_ref());
    disk.put_file("/db/t.ibd".as_ref(), &table.bytes);
    let bed = Bed::open(disk, 16_384, 400);
    let space = SpaceId(get_u32(&table.bytes, fil::SPACE_ID));
    bed.storage.open_table_space(space, "/db/t.ibd".as_ref()).unwrap();
    let roots = table.meta.indexes.iter().filter(|i| !i.is_fulltext()).map(|i| i.root);
    let trees = roots
        .zip(&table.indexes)
        .map(|(root, index)| Tree::open(&bed.storage, space, root, Arc::new(index.clone())).unwrap())
        .collect();
    (bed, trees)
}

#[test]
fn what_a_server_wrote_is_sound() {
    let mut records = 0;
    let mut off_page = 0;
    let mut heights = 0;
    for table in tables() {
        let (bed, trees) = open(&table);
        for tree in &trees {
            let report = vaquita_btree::validate(tree, &bed.storage)
                .unwrap_or_else(|e| panic!("{} {}: {e}", table.name, tree.index().name()));
            let found = contents(&bed, tree);
            if tree.index().order_is_known() {
                assert_eq!(found.len() as u64, report.records, "{}", table.name);
            }
            records += report.records;
            off_page += report.off_page_pages;
            heights = heights.max(report.height);
        }
    }
    assert!(records > 10_000 && off_page > 10 && heights >= 2, "{records} {off_page} {heights}");
}

#[test]
fn records_of_a_server_go_and_come_back() {
    let mut changed = 0;
    for table in tables() {
        let (bed, trees) = open(&table);
        for tree in trees.iter().filter(|t| t.index().order_is_known()) {
            let before = contents(&bed, tree);
            let mut rows: Vec<(&Row, bool)> = before.values().map(|(row, deleted)| (row, *deleted)).collect();
            let mut rng = Rng::new(7);
            shuffle(&mut rng, &mut rows);
            rows.truncate(rows.len() / 2);
            for (row, _) in &rows {
                let key = fields(&row[..tree.index().n_uniq_in_tree()]);
                let key = Tuple::new(&key);
                tree.free_owned(&bed.storage, &key, |_, _| true).unwrap();
                assert!(tree.remove(&bed.storage, &key).unwrap().is_some(), "{}", table.name);
            }
            bed.validate(tree);
            shuffle(&mut rng, &mut rows);
            for (row, deleted) in &rows {
                let all = fields(row);
                let tuple = Tuple::new(&all).with_info_bits(if *deleted { INFO_DELETED } else { 0 });
                let stored = tree.store(&bed.storage, &tuple).unwrap();
                tree.insert_record(&bed.storage, &tuple, &stored.record).unwrap();
                changed += 1;
            }
            bed.validate(tree);
            assert!(contents(&bed, tree) == before, "{} {}", table.name, tree.index().name());
        }
    }
    assert!(changed > 5_000, "{changed}");
}
