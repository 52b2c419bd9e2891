use std::path::{Path, PathBuf};

use vaquita_base::Rng;

use super::*;

/// All `.cfg` files a real server exported.
fn fixtures() -> Vec<(PathBuf, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/mysql56");
    let mut out = Vec::new();
    for dir in [dir.clone(), dir.join("ext")] {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "cfg") {
                out.push((path.clone(), std::fs::read(&path).unwrap()));
            }
        }
    }
    assert_eq!(out.len(), 34, "fixture files");
    out
}

#[test]
fn files_of_a_real_server_survive_byte_for_byte() {
    for (path, bytes) in fixtures() {
        let meta = TableMeta::parse(&bytes).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        assert_eq!(meta.write(), bytes, "{path:?}");
    }
}

#[test]
fn example_of_the_reference() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/mysql56/empty.cfg");
    let meta = TableMeta::parse(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!((&*meta.hostname, &*meta.name, meta.autoinc), ("vm", "fix/empty", 0));
    assert_eq!((meta.page_size, meta.flags, meta.columns.len()), (16384, 1, 4));
    assert_eq!(meta.row_format(), RowFormat::Compact);
    assert_eq!(meta.columns[0].column, ColumnDef::int("id", 4, false).not_null());
    assert_eq!(meta.columns[0].ord_part, 1);
    let i = &meta.indexes[0];
    assert_eq!((i.id, i.space, i.root, i.kind), (IndexId(0x354), SpaceId(0x1EB), PageNo(3), 3));
    assert_eq!((i.trx_id_offset, i.n_user_defined, i.n_uniq, i.n_nullable), (4, 1, 1, 0));
}

/// Everything in the file that follows from the columns and keys is computed as the server computes it.
#[test]
fn descriptions_of_definitions_equal_the_server_s() {
    for (path, bytes) in fixtures() {
        let meta = TableMeta::parse(&bytes).unwrap();
        let columns: Vec<ColumnDef> = meta.user_columns().cloned().collect();
        let defs = rebuilt(&meta, &columns);
        let fulltext: Vec<Vec<ColumnDef>> = meta
            .indexes
            .iter()
            .map(|i| {
                let of = |f: &CfgField| columns.iter().find(|c| c.name == f.column).unwrap().clone();
                if i.is_fulltext() { i.fields.iter().map(of).collect() } else { Vec::new() }
            })
            .collect();
        let described: Vec<_> = meta
            .indexes
            .iter()
            .zip(&fulltext)
            .map(|(i, columns)| match defs.iter().find(|d| d.id() == i.id) {
                Some(def) => {
                    DescribedIndex::Tree { def, root: i.root, n_user_defined: i.n_user_defined as usize }
                }
                None => DescribedIndex::FullText { id: i.id, name: &i.name, columns },
            })
            .collect();
        let head = TableHead {
            hostname: meta.hostname.clone(),
            name: meta.name.clone(),
            autoinc: meta.autoinc,
            page_size: meta.page_size().unwrap(),
            flags: meta.flags,
            space: meta.indexes[0].space,
        };
        assert_eq!(TableMeta::describe(head, &columns, &described), meta, "{path:?}");
    }
}

/// The definitions by the rules for clustered and secondary indexes, from nothing but the user's key columns.
fn rebuilt(meta: &TableMeta, columns: &[ColumnDef]) -> Vec<IndexDef> {
    use crate::index_def::KeyPart;
    let mut out: Vec<IndexDef> = Vec::new();
    for i in meta.indexes.iter().filter(|i| !i.is_fulltext()) {
        let spec = IndexSpec {
            id: i.id,
            name: i.name.clone(),
            row_format: meta.row_format(),
            page_size: meta.page_size().unwrap(),
        };
        let part = |f: &CfgField| KeyPart {
            column: columns.iter().position(|c| c.name == f.column).unwrap(),
            prefix_len: f.prefix_len,
            descending: false,
        };
        let parts: Vec<KeyPart> = i.fields[..i.n_user_defined as usize].iter().map(part).collect();
        let def = match out.first() {
            None if parts.is_empty() => IndexDef::clustered(spec, columns, None),
            None => IndexDef::clustered(spec, columns, Some(&parts)),
            Some(clustered) => IndexDef::secondary(spec, columns, &parts, i.kind & 2 != 0, clustered),
        };
        out.push(def.unwrap());
    }
    let listed = meta.index_defs().unwrap();
    for (a, b) in out.iter().zip(&listed) {
        assert_eq!(a.fields(), b.fields(), "{} {}", meta.name, a.name());
        assert_eq!((a.n_uniq(), a.is_unique(), a.kind()), (b.n_uniq(), b.is_unique(), b.kind()));
    }
    assert_eq!(out.len(), listed.len());
    out
}

#[test]
fn damaged_files_are_refused() {
    let (_, bytes) = fixtures().swap_remove(0);
    for cut in 0..bytes.len() {
        assert!(TableMeta::parse(&bytes[..cut]).is_err(), "cut at {cut}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(TableMeta::parse(&longer).is_err());
    let mut rng = Rng::new(3);
    for _ in 0..20_000 {
        let mut damaged = bytes.clone();
        for _ in 0..1 + rng.index(4) {
            let at = rng.index(damaged.len());
            damaged[at] = rng.next_u64() as u8;
        }
        if let Ok(meta) = TableMeta::parse(&damaged) {
            assert_eq!(meta.write(), damaged);
            let _ = meta.index_defs();
        }
    }
}

/// `KEY k1 (c), KEY k2 (c(3))`: MySQL 5.6.24 says 3, in whatever order the keys stand, and refuses an import that says 0.
#[test]
fn an_index_of_the_whole_column_does_not_hide_the_longest_prefix() {
    use crate::column::Charset;
    use crate::index_def::KeyPart;
    let columns = [ColumnDef::int("id", 4, false).not_null(), ColumnDef::varchar("c", 40, Charset::LATIN1)];
    let spec = |id: u64| IndexSpec {
        id: IndexId(id),
        name: format!("k{id}"),
        row_format: RowFormat::Compact,
        page_size: PageSize::DEFAULT,
    };
    let clustered = IndexDef::clustered(spec(0), &columns, Some(&[KeyPart::whole(0)])).unwrap();
    let secondary = |id, part| IndexDef::secondary(spec(id), &columns, &[part], false, &clustered).unwrap();
    let (whole, prefix) = (secondary(1, KeyPart::whole(1)), secondary(2, KeyPart::prefix(1, 3)));
    for order in [[&whole, &prefix], [&prefix, &whole]] {
        let tree = |def| DescribedIndex::Tree { def, root: PageNo(3), n_user_defined: 1 };
        let described = [tree(&clustered), tree(order[0]), tree(order[1])];
        assert_eq!(order_of_column(&columns[1], &described), (true, 3));
        assert_eq!(order_of_column(&columns[0], &described), (true, 0));
    }
}
