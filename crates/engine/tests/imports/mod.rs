//! Files from elsewhere that become tablespaces of this folder, with the power going off at every operation on the disk.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::small;
mod table;
mod tablespace;

use small::open;
use std::sync::Arc;
use vaquita_engine::check::check_table;
use vaquita_engine::{Column, Engine, IndexSpec, ReadOptions, RowKey, Session, TableSpec, stored};
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::{KeyPart, RowFormat};
use vaquita_io::sim::SimDisk;

const TABLE: &str = "a/t";
const FILE: &str = "/db/a/t.ibd";
const DESCRIPTION: &str = "/db/a/t.cfg";
/// The same of a table in a directory elsewhere.
const FAR: &str = "/far/";
const FAR_FILE: &str = "/far/a/t.ibd";
const FAR_DESCRIPTION: &str = "/far/a/t.cfg";
const LINK: &str = "/db/a/t.isl";
const ROWS: i32 = 160;

/// The stored columns of a row.
type Row = (Vec<u8>, Option<Vec<u8>>, Vec<u8>);

fn spec(format: RowFormat) -> TableSpec {
    let mut spec = TableSpec::new(
        TABLE,
        vec![
            Column::new(ColumnDef::int("id", 4, false).not_null()),
            Column::new(ColumnDef::int("k", 4, false)),
            Column::new(ColumnDef::blob("b", 4)),
        ],
    );
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    let index = |name: &str, unique| IndexSpec {
        name: name.into(),
        parts: vec![KeyPart::whole(1)],
        unique,
        comment: String::new(),
    };
    spec.indexes = vec![index("k", false), index("u", true)];
    spec.row_format = format;
    spec
}

/// Every ninth value lies on pages of its own; `k` is NULL now and then.
fn value(id: i32) -> Vec<u8> {
    let len = if id % 9 == 0 { 9_000 } else { 60 };
    (0..len).map(|i| (i + id) as u8).collect()
}

fn insert(session: &mut Session, ids: std::ops::Range<i32>) {
    let done = session.run(|s| {
        let table = s.table(TABLE)?;
        for id in ids {
            let key = stored::int(id);
            let other = (id % 7 != 0).then(|| stored::int(1_000 - id));
            s.insert(&table, &[Some(&key), other.as_ref().map(|o| &o[..]), Some(&value(id))])?;
        }
        Ok(())
    });
    done.unwrap();
}

fn delete(session: &mut Session, ids: impl Iterator<Item = i32>) {
    let done = session.run(|s| {
        let table = s.table(TABLE)?;
        for id in ids {
            assert!(s.delete(&table, &RowKey::new([&stored::int(id)[..]]))?);
        }
        Ok(())
    });
    done.unwrap();
}

/// The rows of the table, whose indexes agree.
fn rows(engine: &Engine) -> Vec<Row> {
    let mut session = engine.session();
    let found = session.run(|s| {
        let table = s.table(TABLE)?;
        let mut cursor = s.cursor(&table, &ReadOptions::default())?;
        cursor.seek_first();
        let mut rows = Vec::new();
        while let Some(row) = s.next(&mut cursor)? {
            let column = |i: usize| row.column(i).map(<[u8]>::to_vec);
            let mut long = Vec::new();
            row.read_column(2, &mut long)?;
            rows.push((column(0).unwrap(), column(1), long));
        }
        Ok(rows)
    });
    let table: Arc<_> = engine.core().table(TABLE).unwrap();
    check_table(engine.core(), &table).unwrap();
    found.unwrap()
}

/// What a session exports: file, description and rows. Rows were deleted that nothing has purged.
struct Exported {
    file: Vec<u8>,
    description: Vec<u8>,
    rows: Vec<Row>,
}

fn exported(format: RowFormat) -> Exported {
    let disk = SimDisk::new(1);
    disk.put_dir("/db".as_ref());
    let engine = open(&disk).unwrap();
    let mut session = engine.session();
    // Numbers are others than there.
    for name in ["a/x", "a/y", "a/z"] {
        let other = TableSpec { name: name.into(), ..spec(format) };
        session.create_table(&other).unwrap();
    }
    session.create_table(&spec(format)).unwrap();
    insert(&mut session, 0..ROWS);
    // Whole pages of them, the one row of some pages, and long values among them.
    delete(&mut session, (0..ROWS).filter(|id| id % 5 == 0 || (30..90).contains(id)));
    let rows = rows(&engine);
    session.lock_table_name(TABLE, vaquita_engine::MdlMode::SharedNoWrite).unwrap();
    let table = engine.core().table(TABLE).unwrap();
    session.export_tables(&[table], "there", &[]).unwrap();
    Exported {
        file: disk.contents(FILE.as_ref()).unwrap(),
        description: disk.contents(DESCRIPTION.as_ref()).unwrap(),
        rows,
    }
}

/// The folder as it may be found after the power went off at operation `cut`: what was not synced may have come to the disk or not, and in
/// the last case recovery was cut off, too. `settle` sees to it that the table is there; it has these rows then, and goes on as any other.
fn after_cut(
    disk: &SimDisk,
    (what, cut): (&str, u64),
    whole: &[Row],
    mut settle: impl FnMut(&Engine, &SimDisk),
) {
    for outcome in 0..3 {
        let mut disk = disk.restart();
        if outcome == 2 {
            disk.arm_cut(disk.ops() + 1 + cut % 13);
            drop(open(&disk));
            disk = disk.restart();
        }
        let engine = open(&disk).unwrap_or_else(|e| panic!("{what}, cut {cut}: {e}"));
        settle(&engine, &disk);
        assert!(rows(&engine) == whole, "{what}, cut {cut}: other rows");
        insert(&mut engine.session(), 600..605);
        assert_eq!(rows(&engine).len(), whole.len() + 5, "{what}, cut {cut}");
    }
}
