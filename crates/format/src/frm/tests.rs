use std::path::{Path, PathBuf};

use vaquita_base::Rng;

use super::*;
use crate::cfg::TableMeta;

fn fixture_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/mysql56")
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(fixture_dir().join(name)).unwrap()
}

/// Base names of all fixture tables.
fn tables() -> Vec<String> {
    let mut out: Vec<String> = std::fs::read_dir(fixture_dir())
        .unwrap()
        .filter_map(|e| {
            e.unwrap().file_name().to_str().and_then(|n| n.strip_suffix(".frm")).map(String::from)
        })
        .collect();
    out.sort();
    assert_eq!(out.len(), 29, "fixture tables");
    out
}

/// `.cfg` files of a table: several for partitions.
fn metas(table: &str) -> Vec<TableMeta> {
    let mut out = Vec::new();
    for dir in [fixture_dir(), fixture_dir().join("ext")] {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap();
            if path.extension().is_some_and(|e| e == "cfg") && stem.split('#').next() == Some(table) {
                out.push(TableMeta::parse(&std::fs::read(path).unwrap()).unwrap());
            }
        }
    }
    out
}

#[test]
fn definitions_equal_those_of_the_exported_metadata() {
    for table in tables() {
        let frm = Frm::parse(&read(&format!("{table}.frm"))).unwrap_or_else(|e| panic!("{table}: {e}"));
        let metas = metas(&table);
        assert!(!metas.is_empty(), "{table}");
        for meta in metas {
            let expected = meta.index_defs().unwrap();
            let ids: Vec<_> = expected.iter().map(|i| i.id()).collect();
            let page_size = meta.page_size().unwrap();
            assert_eq!(frm.default_row_format(), meta.row_format(), "{table}");
            let def = frm.table_def(page_size, meta.row_format(), &ids).unwrap();
            let columns: Vec<_> = meta.user_columns().cloned().collect();
            assert_eq!(def.columns, columns, "{table}");
            assert_eq!(def.indexes.len(), expected.len(), "{table}");
            for (a, b) in def.indexes.iter().zip(&expected) {
                assert_eq!((a.name(), a.id(), a.kind()), (b.name(), b.id(), b.kind()), "{table}");
                assert_eq!((a.is_unique(), a.n_uniq()), (b.is_unique(), b.n_uniq()), "{table} {}", a.name());
                assert_eq!(a.fields(), b.fields(), "{table} {}", a.name());
            }
            let fulltext: Vec<_> = meta.indexes.iter().filter(|i| i.is_fulltext()).map(|i| &i.name).collect();
            assert_eq!(def.fulltext.iter().map(|f| &f.name).collect::<Vec<_>>(), fulltext, "{table}");
        }
    }
}

/// A table with every attribute the fixtures lack, made by a real MySQL 5.6.24.
#[test]
fn every_attribute() {
    let frm = Frm::parse(include_bytes!("testdata/everything.frm")).unwrap();
    assert_eq!(frm.columns[0].labels, ["é", "b,c"]);
    assert_eq!(frm.columns[2].labels, ["ア", "y"]);
    assert_eq!(frm.default_row_format(), RowFormat::Compressed);
    assert_eq!(frm.mysql_version, 50_624);
    let page_size = crate::PageSize::compressed(16384, 4096).unwrap();
    let def = frm.table_def(page_size, RowFormat::Compressed, &[]).unwrap();
    let names: Vec<_> = def.indexes.iter().map(|i| i.name()).collect();
    assert_eq!(names, ["GEN_CLUST_INDEX", "uq", "vb", "gg"]);
    let gg: Vec<_> = def.indexes[3].fields().iter().map(|f| (&*f.column.name, f.prefix_len)).collect();
    assert_eq!(gg, [("tt", 10), ("n", 0), ("DB_ROW_ID", 0)]);
}

/// CHAR without VARCHAR: the older form of the file, with the reserved bit before the null bits; a long comment.
#[test]
fn old_form() {
    let frm = Frm::parse(include_bytes!("testdata/old_format.frm")).unwrap();
    assert_eq!(frm.comment, "z".repeat(300));
    let columns: Vec<_> = frm.columns.iter().map(|c| (&*c.name, c.nullable, &c.default)).collect();
    let mut q = vec![b' '; 200];
    q[0] = b'q';
    assert_eq!(columns[0], ("a", false, &ColumnDefault::None));
    assert_eq!(columns[1], ("b", true, &ColumnDefault::Null));
    assert_eq!(columns[2], ("c", true, &ColumnDefault::Row(q)));
}

/// What the server wrote is written again, byte for byte.
#[test]
fn written_as_the_server_writes() {
    let fixtures = tables().into_iter().map(|table| (read(&format!("{table}.frm")), table));
    let attributes = [
        (include_bytes!("testdata/everything.frm").to_vec(), "everything".to_owned()),
        (include_bytes!("testdata/old_format.frm").to_vec(), "old_format".to_owned()),
    ];
    for (bytes, table) in fixtures.chain(attributes) {
        assert_written_again(&bytes, &table);
    }
}

fn assert_written_again(bytes: &[u8], table: &str) {
    let frm = Frm::parse(bytes).unwrap();
    let written = frm.encode().unwrap_or_else(|e| panic!("{table}: {e}"));
    assert_eq!(Frm::parse(&written).unwrap(), frm, "{table}");
    let differs = (0..bytes.len().max(written.len())).find(|&at| bytes.get(at) != written.get(at));
    assert_eq!(differs, None, "{table}: the first byte that differs");
}

#[test]
fn damaged_files_are_refused_or_read() {
    let mut rng = Rng::new(4);
    for table in ["types_compact", "fts", "part", "defaults@0020@0p@002d1"] {
        let bytes = read(&format!("{table}.frm"));
        for cut in (0..bytes.len()).step_by(7) {
            let _ = Frm::parse(&bytes[..cut]);
        }
        for _ in 0..3_000 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + rng.index(6) {
                // Most of the file is zeros; aim at its filled parts.
                let start = [0, 4096, 8192, bytes.len() - 600][rng.index(4)].min(bytes.len() - 600);
                let at = start + rng.index(600);
                damaged[at] = rng.next_u64() as u8;
            }
            if let Ok(frm) = Frm::parse(&damaged) {
                frm.columns.iter().for_each(|c| drop(column_type(c)));
                let _ = frm.table_def(crate::PageSize::DEFAULT, frm.default_row_format(), &[]);
                for c in &frm.columns {
                    let _ = c.text_type().write(&[1, 2, 3, 4], &mut String::new());
                }
            }
        }
    }
    assert!(Frm::parse(b"TYPE=VIEW\n").unwrap_err().to_string().contains("view"));
    assert!(Frm::parse(b"").is_err());
}
