//! The data folder of a real MySQL 5.6.24 that was shut down cleanly, opened for reading: its tables, their definitions
//! with what the `.frm` files add, and their rows are what the server showed.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use vaquita_btree::Cursor;
use vaquita_engine::row::entry::push_text;
use vaquita_engine::table::{DefaultValue, ReferentialAction, Table};
use vaquita_engine::{Engine, Error, Options};
use vaquita_format::record::Offsets;
use vaquita_storage::SystemFile;

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/mysql56/datadir").join(name)
}

fn unpack(name: &str) -> (Folder, PathBuf) {
    let dir = std::env::temp_dir().join(format!("vaquita-engine-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let tar =
        Command::new("tar").arg("-xJf").arg(fixture("data56-clean.tar.xz")).arg("-C").arg(&dir).status();
    assert!(tar.unwrap().success());
    let data = dir.join("data56-clean");
    (Folder(dir), data)
}

fn open(dir: &Path, read_only: bool) -> Engine {
    let mut options = Options { background: false, ..Options::new(dir) };
    options.storage.read_only = read_only;
    options.storage.take_over = !read_only;
    options.storage.data_file_path = vec![SystemFile { name: "ibdata1".into(), size_bytes: 12 << 20 }];
    options.storage.log_file_size = 4 << 20;
    Engine::open(options).unwrap()
}

/// All rows of a table, in the order of the clustered index, the way the server shows them.
fn rows(engine: &Engine, table: &Table) -> Vec<Vec<String>> {
    let storage = &engine.core().storage;
    let tree = &table.clustered().tree;
    let mut cursor = Cursor::new(tree, storage);
    let mut offsets = Offsets::new();
    let mut out = Vec::new();
    let mut more = cursor.first().unwrap();
    while more {
        let record = cursor.record().unwrap();
        record.parse(tree.index(), &mut offsets).unwrap();
        let mut row = Vec::new();
        for (column, &field) in table.columns.iter().zip(&table.cluster_fields) {
            let mut value = record.field(&offsets, field).map(<[u8]>::to_vec);
            if offsets.is_external(field) {
                let local = value.take().unwrap();
                let mut whole = Vec::new();
                tree.read_value(storage, &local, &mut whole).unwrap();
                value = Some(whole);
            }
            let mut text = String::new();
            push_text(column, value.as_deref(), &mut text);
            row.push(text);
        }
        assert!(!record.is_deleted(), "all was purged before the shutdown");
        out.push(row);
        more = cursor.next().unwrap();
    }
    out
}

#[test]
fn tables_and_rows_are_what_the_server_showed() {
    let (_folder, dir) = unpack("read");
    let before = std::fs::read(dir.join("ibdata1")).unwrap();
    let engine = open(&dir, true);
    let core = engine.core();
    assert_eq!(core.dict.databases(&core.storage).unwrap(), ["mysql", "performance_schema", "shop"]);
    let tables = core.dict.tables(&core.storage, "shop").unwrap();
    let names: Vec<&str> = tables.iter().map(|t| t.strip_prefix("shop/").unwrap()).collect();
    assert_eq!(names, ["art", "customer", "doc", "insys", "nokey", "orders"]);
    assert_eq!(core.dict.tables(&core.storage, "mysql").unwrap().len(), 5);

    let expected = std::fs::read_to_string(fixture("rows.txt")).unwrap();
    for block in expected.split("-- ").skip(1) {
        let (name, lines) = block.split_once('\n').unwrap();
        let found = core.table(&format!("shop/{name}"));
        if name == "doc" {
            assert!(matches!(found, Err(Error::TableUnusable { .. })), "compressed: {found:?}");
            continue;
        }
        let table = found.unwrap();
        let mut lines = lines.lines().map(|l| l.split('\t').collect::<Vec<_>>());
        let hidden = usize::from(name == "art");
        let columns: Vec<&str> = table.columns.iter().map(|c| c.def.name.as_str()).collect();
        assert_eq!(columns[..columns.len() - hidden], lines.next().unwrap(), "{name}");
        let ours = rows(&engine, &table);
        let theirs: Vec<Vec<&str>> = lines.collect();
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (a, b) in ours.iter().zip(&theirs) {
            for (a, b) in a.iter().zip(b) {
                // Long values are cut there, and CHAR without its spaces.
                let a = a.trim_end_matches(' ');
                assert!(a == *b || b.len() >= 20 && a.starts_with(b), "{name}: {a:?} {b:?}");
            }
        }
        for index in &table.indexes {
            let report = vaquita_btree::validate(&index.tree, &core.storage).unwrap();
            assert_eq!(report.records as usize, ours.len(), "{name}.{}", index.name);
        }
    }
    engine.close().unwrap();
    drop(engine);
    assert!(std::fs::read(dir.join("ibdata1")).unwrap() == before, "reading changes nothing");
}

#[test]
fn definitions_are_those_of_the_server() {
    let (_folder, dir) = unpack("definitions");
    let engine = open(&dir, true);
    let core = engine.core();
    let table = |name: &str| core.table(name).unwrap();

    let customer = table("shop/customer");
    assert_eq!((customer.id.get(), customer.space.get(), customer.collation), (0x15, 7, 33));
    assert!(customer.columns[0].auto_increment);
    assert_eq!(customer.columns[4].decimal, Some((10, 2)));
    assert_eq!(customer.columns[4].default, DefaultValue::Stored(vec![0x80, 0, 0, 0, 0]));
    assert_eq!(customer.columns[3].default, DefaultValue::Null);
    assert_eq!(customer.columns[1].extra, "varchar(80)");
    let keys: Vec<_> = customer.indexes.iter().map(|i| (i.name.as_str(), i.is_unique())).collect();
    assert_eq!(keys, [("PRIMARY", true), ("email", true), ("name", false)]);
    assert_eq!(customer.indexes[2].parts[0].prefix_len, 24);
    let referring = &customer.referenced_by[0];
    assert_eq!((referring.id.as_str(), referring.child.as_str()), ("shop/fk_c", "shop/orders"));

    let orders = table("shop/orders");
    let key = &orders.foreign_keys[0];
    assert_eq!((key.parent.as_str(), key.on_delete), ("shop/customer", ReferentialAction::Cascade));
    assert_eq!(
        (&key.child_columns[..], &key.parent_columns[..]),
        (&["cid".to_owned()][..], &["id".to_owned()][..])
    );
    let nokey = table("shop/nokey");
    assert!(nokey.clustered().def().is_generated() && nokey.indexes.len() == 1);
    assert!(!table("mysql/innodb_index_stats").columns[7].def.is_nullable());

    // What has numbers: as INFORMATION_SCHEMA shows it.
    let all: BTreeSet<u64> =
        core.dict.sys_tables(&core.storage).unwrap().iter().map(|t| t.id.get()).collect();
    assert_eq!(all, (0xb..=0x13).chain(0x15..=0x25).collect());
    let indexes = core.dict.sys_indexes(&core.storage).unwrap();
    let fulltext = indexes.iter().find(|i| i.name == "ft").unwrap();
    assert!(fulltext.root.is_null() && fulltext.kind == 32 && fulltext.n_fields == 2);
    let files = core.dict.sys_datafiles(&core.storage).unwrap();
    assert!(files.iter().any(|f| f.path == "./shop/customer.ibd" && f.space.get() == 7));
    assert_eq!(core.dict.sys_foreign(&core.storage).unwrap()[0].kind, 1);
    // Every table but the compressed one opens.
    for name in core.user_tables().unwrap() {
        assert_eq!(core.table(&name).is_ok(), name != "shop/doc", "{name}");
    }
    let session = &mut engine.session();
    assert!(matches!(session.drop_table("shop/nokey"), Err(Error::FolderReadOnly)));
}

#[test]
fn the_cache_lets_unused_tables_go() {
    let (_folder, dir) = unpack("cache");
    let mut options = Options { background: false, table_definition_cache: 4, ..Options::new(&dir) };
    options.storage.read_only = true;
    options.storage.log_file_size = 4 << 20;
    let engine = Engine::open(options).unwrap();
    let core = engine.core();
    let held = core.table("shop/customer").unwrap();
    for name in core.user_tables().unwrap() {
        let _ = core.table(&name);
        assert!(core.dict.tables_in_memory() <= 5);
    }
    assert!(Arc::ptr_eq(&held, &core.table("shop/customer").unwrap()));
    assert!(core.table_by_id(held.id).unwrap().is_some());
    assert!(core.table_by_id(vaquita_base::TableId(999)).unwrap().is_none());
}
