//! A new folder's dictionary against that of a real MySQL 5.6.24: the fixed pages, the numbers, and the rows that describe
//! the same tables.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use vaquita_base::codec::{get_u32, get_u64};
use vaquita_base::{ManualClock, PageId, PageNo, SpaceId};
use vaquita_btree::Cursor;
use vaquita_engine::table::ReferentialAction;
use vaquita_engine::{Column, Engine, ForeignKeySpec, IndexSpec, Options, TableSpec};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::dict::DictHeader;
use vaquita_format::fil;
use vaquita_format::index_def::{KeyPart, RowFormat};
use vaquita_format::index_page::header;
use vaquita_format::record::Offsets;
use vaquita_io::sim::SimDisk;

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The fixture's folder, opened for reading.
fn theirs(name: &str) -> (Folder, Engine) {
    let dir = std::env::temp_dir().join(format!("vaquita-new-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let archive = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testing/fixtures/mysql56/datadir/data56-clean.tar.xz");
    assert!(Command::new("tar").arg("-xJf").arg(archive).arg("-C").arg(&dir).status().unwrap().success());
    let mut options = Options { background: false, ..Options::new(dir.join("data56-clean")) };
    options.storage.read_only = true;
    options.storage.log_file_size = 4 << 20;
    (Folder(dir), Engine::open(options).unwrap())
}

fn ours() -> Engine {
    let disk = SimDisk::new(1);
    disk.put_dir("/db".as_ref());
    let options = Options { background: false, ..Options::new("/db") };
    Engine::open_with(Arc::new(disk), Arc::new(ManualClock::new()), options).unwrap()
}

/// A record: what of its header does not depend on its place, and its fields.
type Record = (Vec<u8>, Vec<Option<Vec<u8>>>);

/// Records of a dictionary table's index as they lie on the page: header bytes that do not depend on the place, and
/// fields.
fn records(engine: &Engine, table: &str, index: usize) -> Vec<Record> {
    let core = engine.core();
    let table = core.table(table).unwrap();
    let tree = &table.indexes[index].tree;
    let mut cursor = Cursor::new(tree, &core.storage);
    let mut offsets = Offsets::new();
    let mut out = Vec::new();
    let mut more = cursor.first().unwrap();
    while more {
        let record = cursor.record().unwrap();
        record.parse(tree.index(), &mut offsets).unwrap();
        let n = offsets.n_fields();
        let at = usize::from(record.rec);
        // Ends of fields, and number of fields.
        let mut head = record.page[at - 6 - n..at - 6].to_vec();
        head.extend_from_slice(&[record.page[at - 4] & 7, record.page[at - 3]]);
        out.push((head, (0..n).map(|i| record.field(&offsets, i).map(<[u8]>::to_vec)).collect()));
        more = cursor.next().unwrap();
    }
    out
}

fn page(engine: &Engine, no: u32) -> Vec<u8> {
    let id = PageId::new(SpaceId::SYSTEM, PageNo(no));
    engine.core().storage.pool().get_shared(id).unwrap().to_vec()
}

#[test]
fn fixed_pages_are_those_of_the_server() {
    let (_folder, theirs) = theirs("pages");
    let ours = ours();
    for no in 3..=12 {
        let (a, b) = (page(&ours, no), page(&theirs, no));
        assert_eq!(fil::raw_type(&a), fil::raw_type(&b), "page {no}");
        if no == 4 || no >= 8 {
            let of = |p: &[u8]| (header::index_id(p), header::level(p), header::is_comp(p));
            assert_eq!(of(&a), of(&b), "page {no}");
        }
        if no >= 8 {
            // Space and page of the headers of both segments.
            assert_eq!((&a[74..82], &a[84..92]), (&b[74..82], &b[84..92]), "page {no}");
        }
    }
    assert_eq!(page(&ours, 4)[74..90], page(&theirs, 4)[74..90], "empty list of free pages");
    let (a, b) = (DictHeader::read(&page(&ours, 7)), DictHeader::read(&page(&theirs, 7)));
    assert_eq!(
        (a.tables_root, a.table_ids_root, a.columns_root, a.indexes_root, a.fields_root),
        (b.tables_root, b.table_ids_root, b.columns_root, b.indexes_root, b.fields_root)
    );
    assert_eq!(page(&ours, 7)[66..70], page(&theirs, 7)[66..70]);
    assert_eq!(get_u64(&page(&ours, 7), 38) % 256, 10, "no row id was given yet");
    assert_eq!(get_u32(&page(&ours, 7), 62), 0, "nor a tablespace");
}

/// Fields of the rows of the dictionary's own later tables, without transaction, roll pointer and root.
#[test]
fn later_system_tables_have_the_same_rows() {
    let (_folder, theirs) = theirs("rows");
    let ours = ours();
    let own = |rows: Vec<Record>, table: &str| -> Vec<_> {
        let id_at = if table == "SYS_TABLES" { 3 } else { 0 };
        let limit = if table == "SYS_FIELDS" { 16 } else { 14 };
        let mut rows: Vec<_> =
            rows.into_iter().filter(|(_, r)| get_u64(r[id_at].as_ref().unwrap(), 0) <= limit).collect();
        for (_, row) in &mut rows {
            let sys = if table == "SYS_TABLES" { 1 } else { 2 };
            row[sys..sys + 2].fill(None);
            if table == "SYS_INDEXES" {
                row[8] = None;
            }
        }
        rows
    };
    for table in ["SYS_TABLES", "SYS_COLUMNS", "SYS_INDEXES", "SYS_FIELDS"] {
        let (a, b) = (own(records(&ours, table, 0), table), own(records(&theirs, table, 0), table));
        assert!(!a.is_empty());
        assert_eq!(a, b, "{table}");
    }
}

fn column(def: ColumnDef) -> Column {
    Column::new(def)
}

fn key(name: &str, parts: &[KeyPart], unique: bool) -> IndexSpec {
    IndexSpec { name: name.into(), parts: parts.to_vec(), unique, comment: String::new() }
}

/// The fixture's tables, in the order of their making.
fn shop() -> Vec<TableSpec> {
    let id = || column(ColumnDef::int("id", 4, false).not_null());
    let mut customer = TableSpec::new(
        "shop/customer",
        vec![
            id(),
            column(ColumnDef::varchar("name", 80, Charset::UTF8).not_null()),
            column(ColumnDef::varchar("email", 120, Charset::UTF8)),
            column(ColumnDef::date("born")),
            column(ColumnDef::decimal("balance", 10, 2).not_null()),
        ],
    );
    customer.primary_key = Some(vec![KeyPart::whole(0)]);
    customer.indexes.push(key("email", &[KeyPart::whole(2)], true));
    customer.indexes.push(key("name", &[KeyPart::prefix(1, 24)], false));
    customer.row_format = RowFormat::Compact;
    let mut orders = TableSpec::new(
        "shop/orders",
        vec![
            column(ColumnDef::int("id", 8, false).not_null()),
            column(ColumnDef::int("cid", 4, false).not_null()),
            column(ColumnDef::datetime("at", 3)),
            column(ColumnDef::text_blob("note", 2, Charset::UTF8)),
        ],
    );
    orders.primary_key = Some(vec![KeyPart::whole(0)]);
    orders.foreign_keys.push(ForeignKeySpec {
        name: Some("fk_c".into()),
        columns: vec!["cid".into()],
        parent: "shop/customer".into(),
        parent_columns: vec!["id".into()],
        on_delete: ReferentialAction::Cascade,
        on_update: ReferentialAction::Restrict,
    });
    // The server named the key like the column, because it was declared.
    orders.indexes.push(key("cid", &[KeyPart::whole(1)], false));
    let mut nokey = TableSpec::new(
        "shop/nokey",
        vec![column(ColumnDef::int("a", 4, false)), column(ColumnDef::char("b", 10, Charset::UTF8))],
    );
    nokey.row_format = RowFormat::Redundant;
    let mut insys =
        TableSpec::new("shop/insys", vec![id(), column(ColumnDef::varchar("v", 20, Charset::UTF8))]);
    insys.primary_key = Some(vec![KeyPart::whole(0)]);
    insys.file_per_table = false;
    insys.row_format = RowFormat::Compact;
    vec![customer, orders, nokey, insys]
}

/// Every row that describes a table, numbers of tables, indexes and spaces replaced by their order, system fields and
/// roots left out.
fn description(engine: &Engine, name: &str) -> Vec<String> {
    let mut out = Vec::new();
    let bytes = |v: &Option<Vec<u8>>| v.clone().unwrap_or_default();
    let tables = records(engine, "SYS_TABLES", 0);
    let (_, table) = tables.into_iter().find(|(_, r)| bytes(&r[0]) == name.as_bytes()).unwrap();
    out.push(format!("{:?} own space {}", &table[4..9], get_u32(&bytes(&table[9]), 0) != 0));
    let id = bytes(&table[3]);
    for (_, row) in records(engine, "SYS_COLUMNS", 0).iter().filter(|(_, r)| bytes(&r[0]) == id) {
        out.push(format!("{:?} {:?}", row[1], &row[4..]));
    }
    for (_, row) in records(engine, "SYS_INDEXES", 0).iter().filter(|(_, r)| bytes(&r[0]) == id) {
        out.push(format!("{:?} {}", &row[4..7], row[7] == table[9]));
        for (_, field) in records(engine, "SYS_FIELDS", 0).iter().filter(|(_, f)| f[0] == row[1]) {
            out.push(format!("{:?} {:?}", field[1], field[4]));
        }
    }
    for (_, row) in records(engine, "SYS_FOREIGN", 0).iter().filter(|(_, r)| bytes(&r[3]) == name.as_bytes())
    {
        out.push(format!("{:?} {:?}", row[0], &row[3..]));
        for (_, field) in records(engine, "SYS_FOREIGN_COLS", 0).iter().filter(|(_, f)| f[0] == row[0]) {
            out.push(format!("{:?} {:?}", field[1], &field[4..]));
        }
    }
    for (table_name, at) in [("SYS_TABLESPACES", 3), ("SYS_DATAFILES", 3)] {
        for (_, row) in records(engine, table_name, 0).iter().filter(|(_, r)| r[0] == table[9]) {
            out.push(format!("{:?}", &row[at..]));
        }
    }
    out
}

#[test]
fn tables_are_described_as_by_the_server() {
    let (_folder, theirs) = theirs("tables");
    let ours = ours();
    let mut session = ours.session();
    for spec in shop() {
        session.create_table(&spec).unwrap();
        assert_eq!(description(&ours, &spec.name), description(&theirs, &spec.name), "{}", spec.name);
    }
}
