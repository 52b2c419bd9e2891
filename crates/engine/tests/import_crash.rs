//! DISCARD and IMPORT TABLESPACE with the power going off at every operation on the disk: the table has its rows, or it is discarded
//! and the user's file can be imported still.
#![allow(clippy::unwrap_used, reason = "a test")]

mod small;

use small::open;
use std::path::Path;
use std::sync::Arc;
use vaquita_engine::check::check_table;
use vaquita_engine::{Column, Engine, Error, IndexSpec, ReadOptions, RowKey, Session, TableSpec, stored};
use vaquita_format::cfg::TableMeta;
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
    session.export_tables(&[table], "there").unwrap();
    Exported {
        file: disk.contents(FILE.as_ref()).unwrap(),
        description: disk.contents(DESCRIPTION.as_ref()).unwrap(),
        rows,
    }
}

/// A folder whose table is discarded, with a file to be imported.
fn folder(exported: &Exported, format: RowFormat, described: bool) -> SimDisk {
    folder_of(&spec(format), exported, described)
}

/// The same of a table of that definition.
fn folder_of(spec: &TableSpec, exported: &Exported, described: bool) -> SimDisk {
    let [file, description] =
        if spec.directory.is_some() { [FAR_FILE, FAR_DESCRIPTION] } else { [FILE, DESCRIPTION] };
    let disk = SimDisk::new(2);
    disk.put_dir("/db".as_ref());
    let engine = open(&disk).unwrap();
    let mut session = engine.session();
    session.create_table(spec).unwrap();
    insert(&mut session, 500..520);
    assert!(session.discard_tablespace(TABLE).unwrap());
    drop(session);
    engine.close().unwrap();
    assert!(!disk.files().contains(&LINK.into()), "a table without a file has a link");
    disk.put_file(file.as_ref(), &exported.file);
    if described {
        disk.put_file(description.as_ref(), &exported.description);
    }
    disk
}

fn is_discarded(engine: &Engine) -> bool {
    matches!(engine.core().table(TABLE), Err(Error::Discarded(name)) if name == TABLE)
}

/// Nothing but the table's file and what describes it.
fn check_files(disk: &SimDisk) {
    let in_database: Vec<_> =
        disk.files().into_iter().filter(|file| file.parent().is_some_and(|dir| dir.ends_with("a"))).collect();
    let far = in_database.iter().any(|file| file.starts_with(FAR));
    let wanted =
        if far { [FAR_FILE, FAR_DESCRIPTION, LINK] } else { [FILE, DESCRIPTION, FILE] }.map(Path::new);
    assert!(in_database.iter().all(|file| wanted.contains(&&**file)), "{in_database:?}");
}

#[test]
fn a_table_is_discarded_or_whole() {
    for (format, described, far) in [
        (RowFormat::Dynamic, true, false),
        (RowFormat::Compact, false, false),
        (RowFormat::Redundant, true, false),
        (RowFormat::Dynamic, false, true),
    ] {
        let exported = exported(format);
        let spec = TableSpec { directory: far.then(|| FAR.to_owned()), ..spec(format) };
        let whole = folder_of(&spec, &exported, described);
        let mut old = 0;
        for cut in 1.. {
            let disk = whole.fork(cut);
            let engine = open(&disk).unwrap();
            assert!(is_discarded(&engine));
            disk.arm_cut(disk.ops() + cut);
            let done = engine.session().import_tablespace(TABLE);
            if !disk.is_off() {
                assert_eq!(done.unwrap().without_description.is_none(), described);
                assert!(rows(&engine) == exported.rows, "other rows");
                check_files(&disk);
                assert_eq!(disk.files().contains(&LINK.into()), far, "a link");
                // What was answered lasts.
                drop(engine);
                disk.power_cut();
                let disk = disk.restart();
                assert!(
                    rows(&open(&disk).unwrap()) == exported.rows,
                    "{format:?}: other rows after it was done"
                );
                break;
            }
            drop(engine);
            for outcome in 0..3 {
                let mut disk = disk.restart();
                if outcome == 2 {
                    disk.arm_cut(disk.ops() + 1 + cut % 13);
                    drop(open(&disk));
                    disk = disk.restart();
                }
                let engine = open(&disk).unwrap_or_else(|e| panic!("cut {cut}: {e}"));
                check_files(&disk);
                if is_discarded(&engine) {
                    old += 1;
                    engine.session().import_tablespace(TABLE).unwrap_or_else(|e| panic!("cut {cut}: {e}"));
                }
                assert!(rows(&engine) == exported.rows, "{format:?}, cut {cut}: other rows");
                // The table goes on as any other.
                insert(&mut engine.session(), 600..605);
                assert_eq!(rows(&engine).len(), exported.rows.len() + 5);
            }
        }
        assert!(old > 20, "{format:?}: {old} outcomes are discarded");
    }
}

#[test]
fn a_discarded_table_has_its_file_or_none() {
    for (file, directory) in [(FILE, None), (FAR_FILE, Some(FAR))] {
        let (mut old, mut new) = (0, 0);
        for seed in 3..8 {
            let counts = discards(seed, file, directory.map(str::to_owned));
            (old, new) = (old + counts.0, new + counts.1);
        }
        assert!(old > 0 && new > 0, "{file}: {old} outcomes are not discarded, {new} are");
    }
}

/// How many outcomes are not discarded, and are.
fn discards(seed: u64, file: &str, directory: Option<String>) -> (u32, u32) {
    let disk = SimDisk::new(seed);
    disk.put_dir("/db".as_ref());
    let engine = open(&disk).unwrap();
    let far = directory.is_some();
    engine.session().create_table(&TableSpec { directory, ..spec(RowFormat::Dynamic) }).unwrap();
    insert(&mut engine.session(), 0..20);
    let before = rows(&engine);
    engine.close().unwrap();
    let (mut old, mut new) = (0, 0);
    for cut in 1.. {
        let disk = disk.fork(1_000 * seed + cut);
        let engine = open(&disk).unwrap();
        disk.arm_cut(disk.ops() + cut);
        let done = engine.session().discard_tablespace(TABLE);
        if !disk.is_off() {
            assert!(done.unwrap());
            assert!(!engine.session().discard_tablespace(TABLE).unwrap(), "it is discarded already");
            return (old, new);
        }
        drop(engine);
        for _ in 0..3 {
            let disk = disk.restart();
            let engine = open(&disk).unwrap();
            let there = disk.files().contains(&file.into());
            assert_eq!(is_discarded(&engine), !there, "cut {cut}");
            assert_eq!(disk.files().contains(&LINK.into()), there && far, "cut {cut}");
            match there {
                true => assert!(rows(&engine) == before, "other rows"),
                false => engine.session().drop_table(TABLE).unwrap(),
            }
            if there { old += 1 } else { new += 1 }
        }
    }
    unreachable!("some time the power stays on");
}

/// The file of a table comes back to where it was: neither what the log has of its first life nor what it has of its end is for it.
#[test]
fn a_table_may_have_its_own_file_again() {
    let disk = SimDisk::new(6);
    disk.put_dir("/db".as_ref());
    let engine = open(&disk).unwrap();
    let mut session = engine.session();
    session.create_table(&spec(RowFormat::Dynamic)).unwrap();
    insert(&mut session, 0..40);
    let before = rows(&engine);
    session.lock_table_name(TABLE, vaquita_engine::MdlMode::SharedNoWrite).unwrap();
    let table = engine.core().table(TABLE).unwrap();
    session.export_tables(&[table], "here").unwrap();
    let [file, description] = [FILE, DESCRIPTION].map(|path| disk.contents(path.as_ref()).unwrap());
    session.unlock_tables();
    delete(&mut session, 0..30);
    insert(&mut session, 100..130);
    assert!(session.discard_tablespace(TABLE).unwrap());
    disk.put_file(FILE.as_ref(), &file);
    disk.put_file(DESCRIPTION.as_ref(), &description);
    let disk = disk.after_kill();
    drop(session);
    drop(engine);
    let engine = open(&disk).unwrap();
    assert!(is_discarded(&engine));
    assert!(disk.contents(FILE.as_ref()).unwrap() == file, "the file was changed before it was imported");
    engine.session().import_tablespace(TABLE).unwrap();
    assert!(rows(&engine) == before, "other rows");
}

/// Whatever is wrong with the file is said, and the table is discarded as before, the file as it was.
#[test]
fn what_is_no_file_of_the_table_changes_nothing() {
    let format = RowFormat::Dynamic;
    let exported = exported(format);
    let whole = folder(&exported, format, true);
    let page = 4_096;
    let mut damaged = Vec::new();
    for no in 0..exported.file.len() / page {
        let mut file = exported.file.clone();
        file[no * page + 100] ^= 1;
        // A page that nobody has written has no checksum.
        if exported.file[no * page..][..page].iter().any(|&byte| byte != 0) {
            damaged.push((format!("a bit of page {no}"), file));
        }
    }
    damaged.push(("half a page".into(), exported.file[..exported.file.len() - page / 2].to_vec()));
    damaged.push(("fewer pages".into(), exported.file[..exported.file.len() - page].to_vec()));
    damaged.push(("nothing".into(), Vec::new()));
    let mut swapped = exported.file.clone();
    swapped[3 * page..5 * page].rotate_left(page);
    damaged.push(("pages that changed places".into(), swapped));
    for (what, file) in damaged {
        let disk = whole.fork(4);
        disk.put_file(FILE.as_ref(), &file);
        let engine = open(&disk).unwrap_or_else(|e| panic!("{what}: {e}"));
        let refused = engine.session().import_tablespace(TABLE);
        assert!(matches!(refused, Err(Error::BadImport { .. })), "{what}: {refused:?}");
        assert!(is_discarded(&engine), "{what}");
        assert_eq!(disk.contents(FILE.as_ref()).unwrap(), file, "{what}");
        check_files(&disk);
        disk.put_file(FILE.as_ref(), &exported.file);
        engine.session().import_tablespace(TABLE).unwrap();
        assert!(rows(&engine) == exported.rows, "{what}: other rows");
    }
    // A description of something else.
    let meta = TableMeta::parse(&exported.description).unwrap();
    let mut others = Vec::new();
    let mut other = |what: &str, change: &dyn Fn(&mut TableMeta)| {
        let mut meta = meta.clone();
        change(&mut meta);
        others.push((what.to_owned(), meta.write()));
    };
    other("Column k not found in tablespace.", &|m| m.columns[1].column.name = "q".into());
    other("Column k length mismatch.", &|m| m.columns[1].column.len = 8);
    other("Index u not found in tablespace meta-data file.", &|m| m.indexes[2].name = "q".into());
    other(
        "Number of indexes don't match, table has 3 indexes but the tablespace meta-data file has 2 indexes",
        &|m| drop(m.indexes.pop()),
    );
    for (what, description) in others {
        let disk = whole.fork(5);
        disk.put_file(DESCRIPTION.as_ref(), &description);
        let engine = open(&disk).unwrap();
        let refused = engine.session().import_tablespace(TABLE);
        assert!(matches!(&refused, Err(Error::SchemaMismatch(text)) if *text == what), "{what}: {refused:?}");
        assert!(is_discarded(&engine));
    }
}

/// A file whose tablespace has the number of another table's here does not keep the folder from being opened.
#[test]
fn a_file_may_have_the_number_of_another_tablespace() {
    let exported = exported(RowFormat::Dynamic);
    let disk = folder(&exported, RowFormat::Dynamic, true);
    let engine = open(&disk).unwrap();
    let mut session = engine.session();
    // Tables until one has the number that the file has.
    let from = TableMeta::parse(&exported.description).unwrap().indexes[0].space;
    let other = (0..20).find_map(|n| {
        let mut other = spec(RowFormat::Dynamic);
        other.name = format!("a/o{n}");
        session.create_table(&other).unwrap();
        (engine.core().table(&other.name).unwrap().space == from).then_some(other.name)
    });
    let other = other.expect("a table with that number");
    drop(session);
    let disk = disk.after_kill();
    drop(engine);
    let engine = open(&disk).unwrap();
    engine.core().table(&other).unwrap();
    assert!(is_discarded(&engine));
    engine.session().import_tablespace(TABLE).unwrap();
    assert!(rows(&engine) == exported.rows, "other rows");
}
