//! The exported tables of the corpus, with the definitions of their indexes.
#![allow(dead_code, clippy::unwrap_used, reason = "every test binary uses another part, and may panic")]

use crate::common::corpus;
use std::path::Path;
use vaquita_base::codec::{get_u16, get_u32, get_u64};
use vaquita_format::PageSize;
use vaquita_format::cfg::TableMeta;
use vaquita_format::index_def::{IndexDef, IndexSpec};

/// An exported table.
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) page_size: PageSize,
    pub(crate) indexes: Vec<IndexDef>,
}

impl Table {
    /// The physical pages.
    pub(crate) fn pages(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.page_size.physical())
    }

    /// The physical index pages, with their index.
    pub(crate) fn index_pages(&self) -> impl Iterator<Item = (usize, &[u8], &IndexDef)> {
        self.pages().enumerate().filter(|(_, p)| get_u16(p, 24) == 17_855).filter_map(|(no, p)| {
            let id = get_u64(p, 66);
            Some((no, p, self.indexes.iter().find(|i| i.id().get() == id)?))
        })
    }
}

/// Page size by the flags in page 0.
pub(crate) fn page_size(file: &[u8]) -> PageSize {
    let flags = get_u32(file, 54);
    let logical = match flags >> 6 & 15 {
        0 => 16_384,
        n => 512 << n,
    };
    match flags >> 1 & 15 {
        0 => PageSize::new(logical).unwrap(),
        n => PageSize::compressed(logical, 512 << n).unwrap(),
    }
}

/// All tables with a `.cfg`.
pub(crate) fn tables() -> Vec<Table> {
    let mut out = Vec::new();
    for dir in [corpus(), corpus().join("ext")] {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "ibd") && path.with_extension("cfg").exists() {
                out.push(table(&path));
            }
        }
    }
    assert!(out.len() >= 34, "{} tables", out.len());
    out.sort_by(|a, b| a.name.cmp(&b.name));
    out
}

/// The table with this file name.
pub(crate) fn table_named(name: &str) -> Table {
    table(&corpus().join(name).with_extension("ibd"))
}

fn table(path: &Path) -> Table {
    let bytes = std::fs::read(path).unwrap();
    let meta = TableMeta::parse(&std::fs::read(path.with_extension("cfg")).unwrap()).unwrap();
    let page_size = page_size(&bytes);
    let indexes = meta.index_defs().unwrap().into_iter().map(|i| with_page_size(&i, page_size)).collect();
    Table { name: path.file_stem().unwrap().to_str().unwrap().to_owned(), bytes, page_size, indexes }
}

/// The same index in pages of this size: `.cfg` files do not tell the physical one.
fn with_page_size(i: &IndexDef, page_size: PageSize) -> IndexDef {
    let spec = IndexSpec { id: i.id(), name: i.name().to_owned(), row_format: i.row_format(), page_size };
    IndexDef::from_fields(spec, i.kind(), i.is_unique(), i.fields().to_vec(), i.n_uniq()).unwrap()
}
