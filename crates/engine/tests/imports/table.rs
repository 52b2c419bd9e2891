//! A table that is made of a file from elsewhere is there with all rows, or there is nothing of it.

use crate::imports::small::open;
use crate::imports::*;
use std::path::Path;
use vaquita_base::codec::get_u32;
use vaquita_engine::table::ReferentialAction;
use vaquita_engine::{Error, ForeignKeySpec, ImportFile};
use vaquita_format::cfg::TableMeta;

const SOURCE: &str = "/elsewhere/t.ibd";
const SOURCE_DESCRIPTION: &str = "/elsewhere/t.cfg";

/// A folder without the table, and the file elsewhere.
fn folder(exported: &Exported, described: bool) -> SimDisk {
    let disk = SimDisk::new(3);
    disk.put_dir("/db".as_ref());
    let engine = open(&disk).unwrap();
    let other = TableSpec { name: "a/other".into(), ..spec(RowFormat::Dynamic) };
    engine.session().create_table(&other).unwrap();
    engine.close().unwrap();
    disk.put_file(SOURCE.as_ref(), &exported.file);
    if described {
        disk.put_file(SOURCE_DESCRIPTION.as_ref(), &exported.description);
    }
    disk
}

fn import(engine: &Engine, spec: &TableSpec) -> Result<u64, Error> {
    let file = ImportFile::open(engine.core(), SOURCE.as_ref())?;
    engine.session().create_table_of(spec, &file)
}

fn files_of_table(disk: &SimDisk) -> Vec<std::path::PathBuf> {
    let own = |file: &std::path::PathBuf| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        file.parent() != Some(Path::new("/elsewhere"))
            && file.parent() != Some(Path::new("/db"))
            && !name.starts_with("other.")
    };
    disk.files().into_iter().filter(own).collect()
}

fn is_there(engine: &Engine) -> bool {
    match engine.core().table(TABLE) {
        Ok(_) => true,
        Err(Error::NoSuchTable(_)) => false,
        Err(e) => panic!("{e}"),
    }
}

#[test]
fn a_table_is_whole_or_not_there() {
    for (format, described, far) in [
        (RowFormat::Dynamic, true, false),
        (RowFormat::Redundant, true, false),
        (RowFormat::Compact, false, false),
        (RowFormat::Dynamic, true, true),
    ] {
        let exported = exported(format);
        let spec = TableSpec { directory: far.then(|| FAR.to_owned()), ..spec(format) };
        let whole = folder(&exported, described);
        let (mut none, mut all) = (0, 0);
        for cut in 1.. {
            let disk = whole.fork(cut);
            let engine = open(&disk).unwrap();
            disk.arm_cut(disk.ops() + cut);
            let done = import(&engine, &spec);
            if !disk.is_off() {
                assert_eq!(done.unwrap(), exported.rows.len() as u64);
                assert!(rows(&engine) == exported.rows, "other rows");
                drop(engine);
                disk.power_cut();
                assert!(
                    rows(&open(&disk.restart()).unwrap()) == exported.rows,
                    "{format:?}: what was answered is lost"
                );
                break;
            }
            drop(engine);
            let what = format!("{format:?}");
            after_cut(&disk, (&what, cut), &exported.rows, |engine, disk| {
                assert!(disk.contents(SOURCE.as_ref()).unwrap() == exported.file, "the user's file changed");
                if is_there(engine) {
                    all += 1;
                } else {
                    none += 1;
                    assert_eq!(files_of_table(disk), Vec::<std::path::PathBuf>::new(), "{what}, cut {cut}");
                    import(engine, &spec).unwrap_or_else(|e| panic!("{what}, cut {cut}: {e}"));
                }
            });
        }
        assert!(none > 20 && all > 0, "{format:?}: {none} outcomes without the table, {all} with it");
    }
}

/// Rows refer to those of another table, or to each other: one that is not there keeps the table from being made.
#[test]
fn rows_are_held_against_foreign_keys() {
    let exported = exported(RowFormat::Dynamic);
    let disk = folder(&exported, true);
    let engine = open(&disk).unwrap();
    let key = |parent: &str, parent_column: &str| ForeignKeySpec {
        name: None,
        columns: vec!["k".into()],
        parent: parent.into(),
        parent_columns: vec![parent_column.into()],
        on_delete: ReferentialAction::Restrict,
        on_update: ReferentialAction::Restrict,
    };
    let with = |key| TableSpec { foreign_keys: vec![key], ..spec(RowFormat::Dynamic) };
    // Values of `k` are 1,000 less the key: none of them is one.
    let refused = import(&engine, &with(key(TABLE, "id")));
    assert!(matches!(refused, Err(Error::NoReferencedRow { .. })), "{refused:?}");
    assert!(!is_there(&engine) && files_of_table(&disk).is_empty());
    let refused = import(&engine, &with(key("a/other", "id")));
    assert!(matches!(refused, Err(Error::NoReferencedRow { .. })), "{refused:?}");
    assert!(!is_there(&engine) && files_of_table(&disk).is_empty());
    // A parent that has them all but one.
    let mut session = engine.session();
    let wanted: Vec<i32> = exported.rows.iter().filter_map(|row| row.1.as_ref()).map(|k| int_of(k)).collect();
    let add = |session: &mut Session, ids: &[i32]| {
        let done = session.run(|s| {
            let table = s.table("a/other")?;
            for &id in ids {
                s.insert(&table, &[Some(&stored::int(id)), None, Some(b"parent")])?;
            }
            Ok(())
        });
        done.unwrap();
    };
    add(&mut session, &wanted[1..]);
    let refused = import(&engine, &with(key("a/other", "id")));
    assert!(matches!(refused, Err(Error::NoReferencedRow { .. })), "{refused:?}");
    add(&mut session, &wanted[..1]);
    import(&engine, &with(key("a/other", "id"))).unwrap();
    assert!(rows(&engine) == exported.rows, "other rows");
    // From now on it is a foreign key as any other.
    let gone = session.run(|s| {
        let table = s.table("a/other")?;
        s.delete(&table, &RowKey::new([&stored::int(wanted[0])[..]]))
    });
    assert!(gone.is_err(), "a parent with children went");
    // Without checks nothing is looked at.
    session.drop_table(TABLE).unwrap();
    session.settings.foreign_key_checks = false;
    let file = ImportFile::open(engine.core(), SOURCE.as_ref()).unwrap();
    session.create_table_of(&with(key("a/absent", "id")), &file).unwrap();
    assert!(rows(&engine) == exported.rows, "other rows");
}

/// A stored INT as the number it is.
fn int_of(stored: &[u8]) -> i32 {
    (get_u32(stored, 0) ^ 0x8000_0000) as i32
}

#[test]
fn what_is_wrong_with_the_file_leaves_nothing() {
    let exported = exported(RowFormat::Dynamic);
    let whole = folder(&exported, true);
    let page = 4_096;
    let mut torn = exported.file.clone();
    torn[4 * page + 100] ^= 1;
    let short = exported.file[..exported.file.len() - page].to_vec();
    for (what, file) in [("a bit", torn), ("fewer pages", short), ("nothing", Vec::new())] {
        let disk = whole.fork(9);
        disk.put_file(SOURCE.as_ref(), &file);
        let engine = open(&disk).unwrap();
        let refused = import(&engine, &spec(RowFormat::Dynamic));
        assert!(matches!(refused, Err(Error::BadImport { .. })), "{what}: {refused:?}");
        assert!(!is_there(&engine), "{what}");
        assert_eq!(files_of_table(&disk), Vec::<std::path::PathBuf>::new(), "{what}");
        // The name is free, and so is its place.
        disk.put_file(SOURCE.as_ref(), &exported.file);
        import(&engine, &spec(RowFormat::Dynamic)).unwrap();
        assert!(rows(&engine) == exported.rows, "{what}: other rows");
    }
    // A description, or a definition, of something else.
    let mut meta = TableMeta::parse(&exported.description).unwrap();
    meta.columns[1].column.len = 8;
    let disk = whole.fork(10);
    let engine = open(&disk).unwrap();
    let refused = import(&engine, &spec(RowFormat::Compact));
    assert!(matches!(&refused, Err(Error::SchemaMismatch(_))), "{refused:?}");
    disk.put_file(SOURCE_DESCRIPTION.as_ref(), &meta.write());
    let refused = import(&engine, &spec(RowFormat::Dynamic));
    assert!(
        matches!(&refused, Err(Error::SchemaMismatch(text)) if text == "Column k length mismatch."),
        "{refused:?}"
    );
    assert!(!is_there(&engine) && files_of_table(&disk).is_empty());
}
