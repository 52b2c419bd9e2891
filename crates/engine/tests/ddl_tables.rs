//! CREATE, DROP, RENAME, TRUNCATE, indexes and foreign keys through the API: what is there afterwards, what is refused.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use vaquita_base::{ManualClock, SpaceId};
use vaquita_engine::AccessMode;
use vaquita_engine::check::check_table;
use vaquita_engine::table::ReferentialAction;
use vaquita_engine::{
    Column, Concurrency, Engine, Error, ForeignKeySpec, IndexSpec, KeptKeys, Options, ReadOptions, Session,
    Table, TableSpec, stored,
};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::{KeyPart, RowFormat};
use vaquita_io::sim::SimDisk;
use vaquita_io::{FileSystem, OpenMode, OpenOptions};

fn options() -> Options {
    let mut options = Options { background: false, ..Options::new("/db") };
    options.storage.log_file_size = 2 << 20;
    options.storage.buffer_pool_size = 8 << 20;
    options
}

fn open(disk: &SimDisk) -> Engine {
    Engine::open_with(Arc::new(disk.clone()), Arc::new(ManualClock::new()), options()).unwrap()
}

fn new_disk() -> SimDisk {
    let disk = SimDisk::new(1);
    disk.put_dir("/db".as_ref());
    disk
}

fn spec(name: &str) -> TableSpec {
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::int("n", 4, false)),
        Column::new(ColumnDef::varchar("v", 50, Charset::UTF8)),
    ];
    let mut spec = TableSpec::new(name, columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.indexes.push(index("n", &[1], false));
    spec
}

fn index(name: &str, columns: &[usize], unique: bool) -> IndexSpec {
    let parts = columns.iter().map(|&c| KeyPart::whole(c)).collect();
    IndexSpec { name: name.into(), parts, unique, comment: String::new() }
}

fn foreign(columns: &[&str], parent: &str, parents: &[&str]) -> ForeignKeySpec {
    let names = |n: &[&str]| n.iter().map(|s| (*s).to_owned()).collect();
    ForeignKeySpec {
        name: None,
        columns: names(columns),
        parent: parent.into(),
        parent_columns: names(parents),
        on_delete: ReferentialAction::Restrict,
        on_update: ReferentialAction::Cascade,
    }
}

fn fill(session: &mut Session, table: &str, rows: std::ops::Range<i32>) {
    session
        .run(|s| {
            let table = s.table(table)?;
            for id in rows {
                let v = format!("value {id}");
                let (id, n) = (stored::int(id), stored::int(id % 7));
                s.insert(&table, &[Some(&id), Some(&n), Some(v.as_bytes())])?;
            }
            Ok(())
        })
        .unwrap();
}

fn ibd(disk: &SimDisk) -> Vec<String> {
    let name = |p: &std::path::PathBuf| p.strip_prefix("/db").unwrap().to_string_lossy().into_owned();
    disk.files().iter().map(name).filter(|n| n.ends_with(".ibd")).collect()
}

fn records(engine: &Engine, table: &str, index: usize) -> u64 {
    let core = engine.core();
    let table = core.table(table).unwrap();
    vaquita_btree::validate(&table.indexes[index].tree, &core.storage).unwrap().records
}

#[test]
fn tables_come_and_go_with_their_files() {
    let disk = new_disk();
    let engine = open(&disk);
    let mut session = engine.session();
    session.create_table(&spec("a/t")).unwrap();
    assert!(matches!(session.create_table(&spec("a/t")), Err(Error::TableExists(_))));
    assert_eq!(ibd(&disk), ["a/t.ibd"]);
    fill(&mut session, "a/t", 0..100);
    session.rename_table("a/t", "b/u").unwrap();
    assert_eq!(ibd(&disk), ["b/u.ibd"]);
    assert!(matches!(session.rename_table("a/t", "b/v"), Err(Error::NoSuchTable(_))));
    assert_eq!(records(&engine, "b/u", 0), 100);
    let core = engine.core().clone();
    let before = core.table("b/u").unwrap();
    session.truncate_table("b/u").unwrap();
    let after = core.table("b/u").unwrap();
    assert!(after.id > before.id && after.space > before.space && after.indexes[0].id > before.indexes[1].id);
    assert_eq!((records(&engine, "b/u", 0), records(&engine, "b/u", 1)), (0, 0));
    assert_eq!(ibd(&disk), ["b/u.ibd"]);
    fill(&mut session, "b/u", 0..10);
    drop((before, after, core, session));
    engine.close().unwrap();
    drop(engine);

    let engine = open(&disk);
    let mut session = engine.session();
    assert_eq!(records(&engine, "b/u", 1), 10);
    let core = engine.core().clone();
    assert_eq!(core.dict.databases(&core.storage).unwrap(), ["b"]);
    assert_eq!(core.dict.tables(&core.storage, "b").unwrap(), ["b/u"]);
    session.drop_table("b/u").unwrap();
    assert!(matches!(session.drop_table("b/u"), Err(Error::NoSuchTable(_))));
    assert_eq!(ibd(&disk), [""; 0]);
    assert!(core.dict.sys_tablespaces(&core.storage).unwrap().is_empty());
    assert!(core.dict.sys_datafiles(&core.storage).unwrap().is_empty());
}

#[test]
fn indexes_are_added_to_rows_and_dropped() {
    let disk = new_disk();
    let engine = open(&disk);
    let mut session = engine.session();
    for (name, own) in [("a/t", true), ("a/s", false)] {
        session.create_table(&TableSpec { file_per_table: own, ..spec(name) }).unwrap();
        fill(&mut session, name, 0..500);
        let prefix =
            IndexSpec { parts: vec![KeyPart::prefix(2, 21)], comment: "c".into(), ..index("v", &[2], false) };
        session.add_indexes(name, &[prefix, index("nid", &[1, 0], true)]).unwrap();
        assert_eq!((records(&engine, name, 2), records(&engine, name, 3)), (500, 500));
        let refused = session.add_indexes(name, &[index("x", &[2], true), index("un", &[1], true)]);
        let Err(Error::DuplicateKey { index, value, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!((index.as_str(), value.as_str()), ("un", "0"));
        fill(&mut session, name, 500..600);
        assert_eq!((records(&engine, name, 2), records(&engine, name, 3)), (600, 600));
        session.drop_index(name, "n").unwrap();
        assert!(matches!(session.drop_index(name, "n"), Err(Error::NoSuchIndex { .. })));
        assert!(matches!(session.drop_index(name, "PRIMARY"), Err(Error::BadDefinition(_))));
        let core = engine.core();
        let table = core.table(name).unwrap();
        let names: Vec<_> = table.indexes.iter().map(|i| (i.name.as_str(), i.comment.as_str())).collect();
        assert_eq!(names, [("PRIMARY", ""), ("v", "c"), ("nid", "")]);
    }
    let core = engine.core().clone();
    let used = |core: &vaquita_engine::core::Core| {
        let mut mtr = core.storage.begin_read();
        vaquita_storage::fsp::validate(&mut mtr, SpaceId::SYSTEM).unwrap();
    };
    used(&core);
    session.drop_table("a/s").unwrap();
    session.drop_table("a/t").unwrap();
    used(&core);
    let trees = core.dict.sys_indexes(&core.storage).unwrap();
    assert!(trees.iter().all(|i| i.space == SpaceId::SYSTEM && i.id.get() <= 19), "{trees:?}");
}

#[test]
fn an_interrupted_index_leaves_nothing() {
    let disk = new_disk();
    let engine = open(&disk);
    let mut session = engine.session();
    session.create_table(&spec("a/t")).unwrap();
    fill(&mut session, "a/t", 0..500);
    let indexes = |engine: &Engine| {
        let core = engine.core();
        core.table("a/t").unwrap().indexes.len()
    };
    let before = indexes(&engine);
    session.handle().interrupt();
    let refused = session.add_indexes("a/t", &[index("v", &[2], false)]);
    assert!(matches!(refused, Err(Error::Interrupted)), "{refused:?}");
    assert_eq!(indexes(&engine), before);
    session.clear_interrupt();
    session.add_indexes("a/t", &[index("v", &[2], false)]).unwrap();
    assert_eq!((indexes(&engine), records(&engine, "a/t", before)), (before + 1, 500));
}

#[test]
fn foreign_keys_are_checked_and_follow_their_tables() {
    let disk = new_disk();
    let engine = open(&disk);
    let mut session = engine.session();
    let mut child = spec("a/child");
    child.indexes.clear();
    child.foreign_keys.push(foreign(&["n"], "a/parent", &["id"]));
    let refused = session.create_table(&child);
    assert!(matches!(refused, Err(Error::ForeignKey(_))), "{refused:?}");
    session.create_table(&spec("a/parent")).unwrap();
    session.create_table(&child).unwrap();
    let core = engine.core().clone();
    let key = |name: &str| core.table(name).unwrap().foreign_keys[0].clone();
    assert_eq!(
        (key("a/child").id.as_str(), key("a/child").on_update),
        ("a/child_ibfk_1", ReferentialAction::Cascade)
    );
    assert_eq!(core.table("a/child").unwrap().indexes[1].name, "n");
    assert_eq!(core.table("a/parent").unwrap().referenced_by.len(), 1);
    for refused in [session.drop_table("a/parent"), session.truncate_table("a/parent")] {
        assert!(matches!(refused, Err(Error::ForeignKey(_))), "{refused:?}");
    }
    let refused = session.drop_index("a/child", "n");
    assert!(matches!(&refused, Err(Error::IndexNeeded { index, .. }) if index == "n"), "{refused:?}");
    session.rename_table("a/parent", "b/p").unwrap();
    session.rename_table("a/child", "b/c").unwrap();
    assert_eq!((key("b/c").id.as_str(), key("b/c").parent.as_str()), ("b/c_ibfk_1", "b/p"));
    assert_eq!(core.table("b/p").unwrap().referenced_by[0].child, "b/c");
    let no_parent = session.run(|s| {
        let table = s.table("b/c")?;
        s.insert(&table, &[Some(&stored::int(1)), Some(&stored::int(5)), None])
    });
    assert!(matches!(no_parent, Err(Error::NoReferencedRow { .. })), "{no_parent:?}");
    session.settings.foreign_key_checks = false;
    session.drop_table("b/p").unwrap();
    session.drop_table("b/c").unwrap();
    // With checks off a child may come first.
    session.create_table(&child).unwrap();
    session.settings.foreign_key_checks = true;
    let mut wrong = spec("a/parent");
    wrong.columns[0].def = ColumnDef::int("id", 8, false).not_null();
    assert!(matches!(session.create_table(&wrong), Err(Error::ForeignKey(_))));
    session.create_table(&spec("a/parent")).unwrap();
    assert_eq!(core.table("a/parent").unwrap().referenced_by.len(), 1);
    session.drop_table("a/child").unwrap();
    session.drop_table("a/parent").unwrap();
    assert!(core.dict.sys_foreign_cols(&core.storage).unwrap().is_empty());
    assert!(core.dict.sys_foreign(&core.storage).unwrap().is_empty());
}

#[test]
fn foreign_keys_are_added_to_rows() {
    let disk = new_disk();
    let engine = open(&disk);
    let mut session = engine.session();
    session.create_table(&spec("a/parent")).unwrap();
    let mut child = spec("a/child");
    child.indexes.clear();
    session.create_table(&child).unwrap();
    fill(&mut session, "a/parent", 0..7);
    fill(&mut session, "a/child", 0..20);
    let key = foreign(&["n"], "a/parent", &["id"]);
    let named = ForeignKeySpec { name: Some("k".into()), ..key.clone() };
    session.add_foreign_keys("a/child", &[key.clone(), named]).unwrap();
    let core = engine.core().clone();
    let child = core.table("a/child").unwrap();
    let ids: Vec<_> = child.foreign_keys.iter().map(|k| k.id.as_str()).collect();
    assert_eq!(ids, ["a/child_ibfk_1", "a/k"]);
    assert_eq!(child.indexes.len(), 2, "one index is enough");
    assert_eq!(records(&engine, "a/child", 1), 20);
    assert_eq!(core.table("a/parent").unwrap().referenced_by.len(), 2);
    session.drop_foreign_key("a/child", "child_ibfk_1").unwrap();
    assert!(matches!(session.drop_foreign_key("a/child", "child_ibfk_1"), Err(Error::ForeignKey(_))));
    session.drop_foreign_key("a/child", "K").unwrap();
    // A child without its parent: with checks refused, without them not.
    session
        .run(|s| {
            let child = s.table("a/child")?;
            s.insert(&child, &[Some(&stored::int(99)), Some(&stored::int(99)), None])
        })
        .unwrap();
    let refused = session.add_foreign_keys("a/child", std::slice::from_ref(&key));
    let Err(Error::NoReferencedRow { constraint, value, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((constraint.as_str(), value.as_str()), ("a/child_ibfk_1", "99"));
    session.settings.foreign_key_checks = false;
    session.add_foreign_keys("a/child", &[key]).unwrap();
    assert_eq!(core.table("a/child").unwrap().foreign_keys.len(), 1);
}

#[test]
fn definitions_that_cannot_be_are_refused() {
    let disk = new_disk();
    let engine = open(&disk);
    let mut session = engine.session();
    type Change = fn(&mut TableSpec);
    let cases: &[(&str, Change)] = &[
        ("name of a table", |s| s.name = "t".into()),
        ("name of a table", |s| s.name = "a/../t".into()),
        ("columns", |s| s.columns.clear()),
        ("two columns", |s| s.columns[1].def.name = "ID".into()),
        ("system column", |s| s.columns[1].def.name = "db_row_ID".into()),
        ("columns", |s| {
            let many = (0..1018).map(|n| Column::new(ColumnDef::int(format!("c{n}"), 1, false)));
            s.columns = many.collect();
        }),
        ("can be NULL", |s| s.primary_key = Some(vec![KeyPart::whole(1)])),
        ("twice", |s| s.indexes[0].parts = vec![KeyPart::whole(1), KeyPart::whole(1)]),
        ("two indexes", |s| s.indexes.push(index("N", &[2], false))),
        ("clustered index", |s| s.indexes[0].name = "primary".into()),
        ("needs a prefix", |s| s.columns[1].def = ColumnDef::blob("n", 2)),
        ("cannot have a prefix", |s| s.indexes[0].parts = vec![KeyPart::prefix(1, 2)]),
        ("not shorter", |s| s.indexes[0].parts = vec![KeyPart::prefix(2, 150)]),
        ("767 are allowed", |s| {
            s.row_format = RowFormat::Compact;
            s.columns[1].def = ColumnDef::varchar("n", 256, Charset::UTF8);
        }),
        ("3072 are allowed", |s| s.columns[1].def = ColumnDef::varchar("n", 1025, Charset::UTF8)),
        ("64 are allowed", |s| s.indexes = (0..65).map(|n| index(&format!("i{n}"), &[1], false)).collect()),
        ("too big", |s| {
            s.columns
                .extend((0..40).map(|n| Column::new(ColumnDef::char(format!("c{n}"), 255, Charset::LATIN1))));
        }),
        ("only one AUTO_INCREMENT", |s| {
            s.columns[0].auto_increment = true;
            s.columns[1].auto_increment = true;
        }),
        ("first of a key", |s| {
            s.indexes.clear();
            s.columns[1].auto_increment = true;
        }),
        ("cannot have this default", |s| s.columns[0].default = vaquita_engine::table::DefaultValue::Null),
        ("SET NULL", |s| {
            let mut key = foreign(&["id"], "a/t", &["n"]);
            key.on_delete = ReferentialAction::SetNull;
            s.foreign_keys.push(key);
        }),
        ("different types", |s| s.foreign_keys.push(foreign(&["v"], "a/t", &["id"]))),
        ("no index of a/t begins with the columns", |s| {
            s.columns.push(Column::new(ColumnDef::int("m", 4, false)));
            s.foreign_keys.push(foreign(&["n"], "a/t", &["m"]));
        }),
        ("no column", |s| s.foreign_keys.push(foreign(&["w"], "a/t", &["v"]))),
        ("columns refer", |s| s.foreign_keys.push(foreign(&["n", "id"], "a/t", &["n"]))),
    ];
    for (n, (want, change)) in cases.iter().enumerate() {
        let mut spec = spec("a/t");
        change(&mut spec);
        let refused = session.create_table(&spec).expect_err(want).to_string();
        assert!(refused.contains(want), "{n}: {refused}");
    }
    assert_eq!(ibd(&disk), [""; 0]);
    let core = engine.core();
    assert!(core.dict.sys_columns(&core.storage).unwrap().iter().all(|c| c.table.get() <= 17));
    assert!(core.dict.sys_datafiles(&core.storage).unwrap().is_empty());
}

#[test]
fn a_table_whose_file_is_gone_can_be_dropped_emptied_and_renamed() {
    let disk = new_disk();
    let engine = open(&disk);
    let names = ["a/t", "a/u", "a/v"];
    for name in names {
        engine.session().create_table(&spec(name)).unwrap();
    }
    engine.close().unwrap();
    drop(engine);
    for name in names {
        disk.remove_file(format!("/db/{name}.ibd").as_ref()).unwrap();
    }
    let engine = open(&disk);
    let core = engine.core().clone();
    for name in names {
        let found = core.table(name);
        assert!(
            matches!(&found, Err(Error::TableUnusable { detail, .. }) if detail.contains("missing")),
            "{found:?}"
        );
    }
    let mut session = engine.session();
    session.drop_table("a/t").unwrap();
    session.truncate_table("a/u").unwrap();
    fill(&mut session, "a/u", 0..3);
    session.rename_table("a/v", "a/t").unwrap();
    assert!(core.table("a/t").is_err());
    session.drop_table("a/t").unwrap();
    assert_eq!(ibd(&disk), ["a/u.ibd"]);
    assert_eq!(core.user_tables().unwrap(), ["a/u"]);
    // A file in the way is not touched.
    disk.put_file("/db/a/w.ibd".as_ref(), b"somebody's");
    for refused in [session.create_table(&spec("a/w")), session.rename_table("a/u", "a/w")] {
        assert!(matches!(refused, Err(Error::FileInTheWay { .. })), "{refused:?}");
    }
    assert_eq!(disk.contents("/db/a/w.ibd".as_ref()).unwrap(), b"somebody's");
    assert_eq!(records(&engine, "a/u", 1), 3);
}

#[test]
fn what_the_layer_above_says_is_kept() {
    let disk = new_disk();
    let engine = open(&disk);
    let mut session = engine.session();
    let mut spec = spec("a/t");
    spec.comment = "table".repeat(300);
    spec.extra = "ROW_FORMAT=DYNAMIC".into();
    spec.collation = 33;
    spec.auto_increment = Some(77);
    spec.columns[0].auto_increment = true;
    spec.columns[1].decimal = Some((10, 2));
    spec.columns[1].default = vaquita_engine::table::DefaultValue::Stored(vec![128, 0, 0, 5]);
    spec.columns[2].labels = (0..500).map(|n| format!("label {n}")).collect();
    spec.columns[2].comment = "é".into();
    spec.indexes[0].comment = "index".into();
    session.create_table(&spec).unwrap();
    drop(session);
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk);
    let core = engine.core();
    let table = core.table("a/t").unwrap();
    assert_eq!(table.columns, spec.columns);
    assert_eq!((&table.comment, &table.extra, table.collation), (&spec.comment, &spec.extra, 33));
    assert_eq!(table.indexes[1].comment, "index");
}

/// Copies the rows of a table into its successor; gives the undo records that took.
fn copy(s: &mut vaquita_engine::Statement<'_>, from: &Arc<Table>, to: &Arc<Table>) -> Result<u64, Error> {
    let mut cursor = s.cursor(from, &ReadOptions::default())?;
    cursor.seek_first();
    let mut rows = Vec::new();
    while let Some(row) = s.next(&mut cursor)? {
        rows.push((0..3).map(|i| row.column(i).map(<[u8]>::to_vec)).collect::<Vec<_>>());
    }
    for row in &rows {
        let fields: Vec<Option<&[u8]>> = row.iter().map(Option::as_deref).collect();
        s.insert_for_good(to, &fields)?;
    }
    Ok(s.mark())
}

/// The undo of a table that goes as a whole if its rows cannot all be copied is that of one row.
#[test]
fn rows_are_copied_without_undo() {
    let disk = new_disk();
    let engine = open(&disk);
    let mut session = engine.session();
    session.create_table(&spec("a/t")).unwrap();
    fill(&mut session, "a/t", 0..500);
    let temporary = spec("a/#sql-vq1");
    let undo =
        session.rebuild_table("a/t", &temporary, KeptKeys::default(), Concurrency::Reads, copy).unwrap();
    assert_eq!(undo, 1);
    let core = engine.core();
    let table = core.table("a/t").unwrap();
    let report = check_table(core, &table).unwrap();
    assert!(report.rows == 500 && report.is_purged(), "{report:?}");
    // Seven values of n: the eighth row is refused, and the new table goes with the rows before it.
    let mut unique = temporary.clone();
    unique.indexes = vec![index("n", &[1], true)];
    let refused = session.rebuild_table("a/t", &unique, KeptKeys::default(), Concurrency::Reads, copy);
    assert!(matches!(refused, Err(Error::DuplicateKey { .. })), "{refused:?}");
    assert_eq!(core.user_tables().unwrap(), ["a/t"]);
    assert_eq!(check_table(core, &core.table("a/t").unwrap()).unwrap().rows, 500);
    drop((table, session));
    engine.close().unwrap();
}

/// A view that is opened while the rows are on their way is younger than the table that they go to, and older than they are: it is
/// told so, after a restart of the dictionary's memory too, and never finds the table empty.
#[test]
fn a_view_from_amid_a_rebuild_is_told_so() {
    let disk = new_disk();
    let engine = open(&disk);
    let (mut session, mut reader) = (engine.session(), engine.session());
    session.create_table(&spec("a/t")).unwrap();
    fill(&mut session, "a/t", 0..20);
    let amid = |s: &mut vaquita_engine::Statement<'_>, from: &Arc<Table>, to: &Arc<Table>| {
        let _durable = reader.commit()?;
        reader.begin(AccessMode::ReadOnly, true)?;
        copy(s, from, to)
    };
    session.rebuild_table("a/t", &spec("a/#sql-vq1"), KeptKeys::default(), Concurrency::Reads, amid).unwrap();
    session.rename_tables(&[("a/t", "a/u"), ("a/u", "a/t")]).unwrap().unwrap();
    session.rename_table("a/t", "a/v").unwrap();
    for index in [0, 1] {
        let read = reader.run(|s| {
            let table = s.table("a/v")?;
            let mut cursor = s.cursor(&table, &ReadOptions::by_index(index))?;
            cursor.seek_first();
            s.next(&mut cursor).map(|row| row.is_some())
        });
        assert!(matches!(read, Err(Error::ViewTooOld(_))), "index {index}: {read:?}");
    }
    let _durable = reader.commit().unwrap();
    assert_eq!(reader.run(|s| s.table("a/v").and_then(|table| s.count(&table))).unwrap(), 20);
    drop((session, reader));
    let core = engine.core();
    assert_eq!(check_table(core, &core.table("a/v").unwrap()).unwrap().rows, 20);
    engine.close().unwrap();
    drop(engine);
    assert_eq!(records(&open(&disk), "a/v", 1), 20);
}

/// A foreign key of a new definition to the table itself: rows may refer to rows that are copied after them, and to no others.
#[test]
fn a_table_that_is_written_anew_may_refer_to_itself() {
    let disk = new_disk();
    let engine = open(&disk);
    let mut session = engine.session();
    session.create_table(&spec("a/t")).unwrap();
    fill(&mut session, "a/t", 0..20);
    let mut with_key = spec("a/#sql-vq1");
    with_key.foreign_keys.push(ForeignKeySpec { name: Some("up".into()), ..foreign(&["n"], "a/t", &["id"]) });
    session.rebuild_table("a/t", &with_key, KeptKeys::default(), Concurrency::Reads, copy).unwrap();
    let core = engine.core();
    let table = core.table("a/t").unwrap();
    let keys: Vec<_> = table.foreign_keys.iter().map(|k| (&*k.id, &*k.child, &*k.parent)).collect();
    assert_eq!(keys, [("a/up", "a/t", "a/t")]);
    let (id, nobody) = (stored::int(20), stored::int(99));
    let orphan = session.run(|s| s.insert(&table, &[Some(&id), Some(&nobody), None]));
    assert!(matches!(orphan, Err(Error::NoReferencedRow { .. })), "{orphan:?}");
    session.drop_foreign_key("a/t", "up").unwrap();
    let table = session.run(|s| s.table("a/t")).unwrap();
    session.run(|s| s.insert(&table, &[Some(&id), Some(&nobody), None])).unwrap();
    let refused = session.rebuild_table("a/t", &with_key, KeptKeys::default(), Concurrency::Reads, copy);
    assert!(matches!(refused, Err(Error::NoReferencedRow { .. })), "{refused:?}");
    assert_eq!(core.user_tables().unwrap(), ["a/t"]);
    drop((table, session));
    engine.close().unwrap();
}

/// Who lists the tables and who drops them are not one moment.
#[test]
fn a_table_that_a_database_gets_meanwhile_keeps_it() {
    let disk = new_disk();
    let engine = open(&disk);
    let core = engine.core();
    let mut session = engine.session();
    vaquita_engine::ddl::create_database(core, "a", "default-character-set=utf8\n").unwrap();
    session.create_table(&spec("a/t")).unwrap();
    session.create_table(&spec("a/u")).unwrap();
    let mut trx = core.txn.new_trx();
    let mut drop_listed =
        |tables: &[String]| vaquita_engine::ddl::drop_database(core, &mut trx, "a", tables, true).unwrap();
    assert!(!drop_listed(&["a/t".to_owned()]), "a/u is there");
    assert_eq!(core.user_tables().unwrap(), ["a/u"]);
    assert!(disk.exists("/db/a/db.opt".as_ref()));
    assert!(drop_listed(&["a/u".to_owned()]));
    assert!(!disk.exists("/db/a".as_ref()));
    drop(trx);
    drop(session);
    engine.close().unwrap();
}

#[test]
fn a_database_goes_with_its_folder() {
    let disk = new_disk();
    let engine = open(&disk);
    let core = engine.core();
    let mut session = engine.session();
    for name in ["a", "b"] {
        vaquita_engine::ddl::create_database(core, name, "default-character-set=utf8\n").unwrap();
        session.create_table(&spec(&format!("{name}/t"))).unwrap();
    }
    // Somebody else's file keeps its folder.
    let file = disk.open("/db/b/notes".as_ref(), OpenOptions::new(OpenMode::CreateNew)).unwrap();
    file.sync().unwrap();
    session.drop_database("a").unwrap();
    session.drop_database("b").unwrap();
    assert!(!disk.exists("/db/a".as_ref()));
    assert_eq!(disk.list_dir("/db/b".as_ref()).unwrap(), [std::path::PathBuf::from("/db/b/notes")]);
    assert!(core.dict.databases(&core.storage).unwrap().iter().all(|name| name != "a" && name != "b"));
    // Its name can be used again.
    vaquita_engine::ddl::create_database(core, "a", "default-character-set=utf8\n").unwrap();
    session.create_table(&spec("a/t")).unwrap();
    drop(session);
    engine.close().unwrap();
}

/// A table of another database refers to the one that would be dropped last: the others stay as well.
#[test]
fn a_database_that_is_needed_stays_as_it_is() {
    let disk = new_disk();
    let engine = open(&disk);
    let mut session = engine.session();
    for name in ["a/t", "a/u", "a/z", "b/t"] {
        session.create_table(&spec(name)).unwrap();
    }
    let refers = |parent: &str| ForeignKeySpec {
        name: None,
        columns: vec!["id".into()],
        parent: parent.into(),
        parent_columns: vec!["id".into()],
        on_delete: ReferentialAction::Restrict,
        on_update: ReferentialAction::Restrict,
    };
    session.add_foreign_keys("b/t", &[refers("a/z")]).unwrap();
    session.add_foreign_keys("a/t", &[refers("a/u")]).unwrap();
    assert!(matches!(session.drop_database("a"), Err(Error::ForeignKey(_))));
    assert_eq!(engine.core().user_tables().unwrap(), ["a/t", "a/u", "a/z", "b/t"]);
    session.settings.foreign_key_checks = false;
    assert!(session.drop_database("a").unwrap().1);
    assert_eq!(engine.core().user_tables().unwrap(), ["b/t"]);
    drop(session);
    engine.close().unwrap();
}

/// Whatever operation the power goes at: the database is there with the tables that are left, or it is gone, and can be dropped or
/// made again.
#[test]
fn a_power_cut_leaves_a_database_or_none() {
    let mut gone = 0;
    for cut in 0..60 {
        let disk = new_disk();
        let engine = open(&disk);
        let options = "default-character-set=utf8\n";
        vaquita_engine::ddl::create_database(engine.core(), "a", options).unwrap();
        let mut session = engine.session();
        for name in ["a/t", "a/u"] {
            session.create_table(&spec(name)).unwrap();
        }
        disk.arm_cut(disk.ops() + cut);
        // Without power there is nobody to be told.
        let dropped = session.drop_database("a").is_ok() && disk.exists("/db".as_ref());
        drop(session);
        disk.power_cut();
        drop(engine);
        let disk = disk.restart();
        let engine = open(&disk);
        let core = engine.core();
        let tables = core.dict.tables(&core.storage, "a").unwrap();
        let is_there = core.dict.databases(&core.storage).unwrap().iter().any(|name| name == "a");
        assert!(is_there || tables.is_empty(), "cut {cut}: {tables:?}");
        assert!(!dropped || !is_there, "cut {cut}: {tables:?}");
        gone += u32::from(!disk.exists("/db/a".as_ref()));
        let mut session = engine.session();
        if is_there {
            session.drop_database("a").unwrap();
            let left = disk.list_dir("/db/a".as_ref()).unwrap_or_default();
            assert!(!disk.exists("/db/a".as_ref()), "cut {cut}: {left:?} {tables:?}");
        }
        vaquita_engine::ddl::create_database(core, "a", options).unwrap();
        session.create_table(&spec("a/t")).unwrap();
    }
    assert!(gone > 0 && gone < 60, "{gone} of 60");
}
