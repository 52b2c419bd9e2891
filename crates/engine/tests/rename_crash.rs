//! RENAME of several tables and views with the power going off at every operation on the disk: all have their new names, or
//! all the old ones, with their rows, files, foreign keys and triggers.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::small;

use small::open;
use std::collections::BTreeMap;
use vaquita_engine::table::ReferentialAction;
use vaquita_engine::{
    Column, Engine, Error, ForeignKeySpec, Object, ObjectKind, Put, ReadOptions, Session, TableSpec, stored,
};
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;

/// Tables whose files are in a directory elsewhere.
const FAR: [&str; 2] = ["a/u", "a/child"];

/// Tables with the one row that tells them apart, and whether they have a file of their own.
const TABLES: [(&str, i32, bool); 5] =
    [("a/t", 1, true), ("a/u", 2, true), ("a/s", 3, false), ("a/r", 4, true), ("a/child", 1, true)];
const VIEWS: [(&str, &str); 3] = [("a", "v"), ("a", "w"), ("a", "x")];

/// Two tables with files change places and a third follows into a name that was free for a while; a table of the system
/// tablespace and a view change places; two views do; a table goes to another database; one comes back to its own name.
const PAIRS: [(&str, &str); 12] = [
    ("a/t", "a/between"),
    ("a/u", "a/t"),
    ("a/between", "a/u"),
    ("a/s", "a/between"),
    ("a/v", "a/s"),
    ("a/between", "a/v"),
    ("a/w", "a/between"),
    ("a/x", "a/w"),
    ("a/between", "a/x"),
    ("a/child", "b/child"),
    ("a/r", "a/q"),
    ("a/q", "a/r"),
];

fn make(session: &mut Session, name: &str, id: i32, own: bool) {
    let mut spec = TableSpec::new(name, vec![Column::new(ColumnDef::int("id", 4, false).not_null())]);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.file_per_table = own;
    spec.directory = FAR.contains(&name).then(|| "/far".to_owned());
    if name == "a/child" {
        spec.foreign_keys.push(ForeignKeySpec {
            name: None,
            columns: vec!["id".into()],
            parent: "a/t".into(),
            parent_columns: vec!["id".into()],
            on_delete: ReferentialAction::Restrict,
            on_update: ReferentialAction::Restrict,
        });
    }
    session.create_table(&spec).unwrap();
    let insert = session.run(|s| {
        let table = s.table(name)?;
        s.insert(&table, &[Some(&stored::int(id))]).map(|_| ())
    });
    insert.unwrap();
}

fn folder(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    disk.put_dir("/db".as_ref());
    let engine = open(&disk).unwrap();
    let mut session = engine.session();
    for (name, id, own) in TABLES {
        make(&mut session, name, id, own);
    }
    for (database, name) in VIEWS {
        let view = Object::new(ObjectKind::View, database, name, name.as_bytes().to_vec());
        session.put_object(&view, Put::New).unwrap();
    }
    for (name, table) in [("of_t", "t"), ("of_u", "u")] {
        let trigger = Object::new(ObjectKind::Trigger, "a", name, b"begin end".to_vec());
        session.put_object(&Object { table: table.into(), ..trigger }, Put::New).unwrap();
    }
    drop(session);
    engine.close().unwrap();
    disk
}

/// Everything that has to do with names: of tables their row, their file and their parents; of views and triggers what they
/// are or belong to.
fn state(engine: &Engine, disk: &SimDisk) -> BTreeMap<String, String> {
    let core = engine.core();
    let mut session = engine.session();
    let mut found = BTreeMap::new();
    for name in core.user_tables().unwrap() {
        let (id, parents) = session
            .run(|s| {
                let table = s.table(&name)?;
                let mut cursor = s.cursor(&table, &ReadOptions::default())?;
                cursor.seek_first();
                let row = s.next(&mut cursor)?.and_then(|row| row.column(0).map(<[u8]>::to_vec));
                let keys = table.foreign_keys.iter().map(|k| format!("{} {} {}", k.id, k.child, k.parent));
                Ok((row, keys.collect::<Vec<_>>()))
            })
            .unwrap();
        let own = core.table(&name).unwrap().space.get() != 0;
        let far = core.table(&name).unwrap().directory.is_some();
        let has = |file: String| disk.files().contains(&file.into());
        let file =
            [has(format!("/db/{name}.ibd")), has(format!("/far/{name}.ibd")), has(format!("/db/{name}.isl"))];
        assert_eq!([own && !far, far, far], file, "{name}");
        found.insert(name, format!("row {id:?}, own file {own}, far {far}, {parents:?}"));
    }
    for database in ["a", "b"] {
        for view in core.objects().list(ObjectKind::View, database) {
            let body = String::from_utf8_lossy(&view.body).into_owned();
            let there = found.insert(view.lock_name(), format!("view {body}"));
            assert_eq!(there, None, "{}", view.lock_name());
        }
        for trigger in core.objects().list(ObjectKind::Trigger, database) {
            found.insert(format!("trigger {}", trigger.name), trigger.table.clone());
        }
    }
    let files = disk.files().into_iter().filter(|f| f.extension().is_some_and(|e| e == "ibd"));
    assert_eq!(files.count(), TABLES.iter().filter(|(.., own)| *own).count());
    assert_eq!(disk.files().iter().filter(|f| f.extension().is_some_and(|e| e == "isl")).count(), 2);
    found
}

#[test]
fn all_names_change_or_none() {
    let whole = folder(3);
    let before = state(&open(&whole.fork(1)).unwrap(), &whole);
    let mut after = None;
    let (mut old, mut new) = (0, 0);
    for cut in 1.. {
        let disk = whole.fork(cut);
        let engine = open(&disk).unwrap();
        // Files that are not open are renamed as well.
        disk.arm_cut(disk.ops() + cut);
        let done = engine.session().rename_tables(&PAIRS);
        if !disk.is_off() {
            done.unwrap().unwrap();
            let now = state(&engine, &disk);
            assert_ne!(now, before);
            assert!(after.is_none_or(|after| after == now), "the crashes left something else");
            break;
        }
        drop(engine);
        // Of what was not synced some may have come to the disk.
        for outcome in 0..4 {
            let mut disk = disk.restart();
            if outcome == 3 {
                // What takes it back, or finishes it, is cut off too.
                disk.arm_cut(disk.ops() + 1 + cut % 17);
                drop(open(&disk));
                disk = disk.restart();
            }
            let engine = open(&disk).unwrap_or_else(|e| panic!("cut {cut}: {e}"));
            let now = state(&engine, &disk);
            match now == before {
                true => old += 1,
                false => {
                    new += 1;
                    let after = after.get_or_insert_with(|| now.clone());
                    assert_eq!(now, *after, "cut {cut}: neither the old names nor the new ones");
                }
            }
            // It can be done now, or undone.
            let mut session = engine.session();
            let back: Vec<(&str, &str)> = PAIRS.iter().rev().map(|&(from, to)| (to, from)).collect();
            let pairs = if now == before { &PAIRS[..] } else { &back };
            session.rename_tables(pairs).unwrap().unwrap_or_else(|e| panic!("cut {cut}: {e:?}"));
            assert_ne!(state(&engine, &disk), now, "cut {cut}");
        }
    }
    assert!(old > 40 && new > 0, "{old} outcomes have the old names, {new} the new ones");
}

#[test]
fn what_all_of_it_leads_to() {
    let disk = folder(5);
    let engine = open(&disk).unwrap();
    let before = state(&engine, &disk);
    let mut session = engine.session();
    session.rename_tables(&PAIRS).unwrap().unwrap();
    let after = state(&engine, &disk);
    let was = |name: &str| before[name].clone();
    for (new, old) in [("a/t", "a/u"), ("a/u", "a/t"), ("a/v", "a/s"), ("a/s", "a/v"), ("a/w", "a/x")] {
        assert_eq!(after[new], was(old), "{new}");
    }
    assert_eq!((&after["a/x"], &after["a/r"]), (&was("a/w"), &was("a/r")));
    assert!(after["b/child"].ends_with(r#"["b/child_ibfk_1 b/child a/u"]"#), "{}", after["b/child"]);
    assert_eq!((&*after["trigger of_t"], &*after["trigger of_u"]), ("u", "t"));
    assert_eq!(after.len(), before.len());
}

/// What cannot be renamed is told with its number, and the others keep their names.
#[test]
fn one_that_fails_leaves_all() {
    let disk = folder(7);
    let engine = open(&disk).unwrap();
    let before = state(&engine, &disk);
    let mut session = engine.session();
    let mut fails = |pairs: &[(&str, &str)]| {
        let failed = session.rename_tables(pairs).unwrap().unwrap_err();
        assert_eq!(state(&engine, &disk), before, "{pairs:?}");
        failed
    };
    let there = |found: (usize, Error), at: usize, name: &str| {
        assert!(matches!(&found, (n, Error::TableExists(t)) if *n == at && t == name), "{found:?}");
    };
    let missing = |found: (usize, Error), at: usize, name: &str| {
        assert!(matches!(&found, (n, Error::NoSuchTable(t)) if *n == at && t == name), "{found:?}");
    };
    there(fails(&[("a/t", "a/n"), ("a/u", "a/v")]), 1, "a/v");
    there(fails(&[("a/t", "a/n"), ("a/u", "a/n")]), 1, "a/n");
    there(fails(&[("a/v", "a/v")]), 0, "a/v");
    missing(fails(&[("a/t", "a/n"), ("a/t", "a/m")]), 1, "a/t");
    missing(fails(&[("a/t", "a/n"), ("a/n", "a/m"), ("a/n", "a/l")]), 2, "a/n");
    // The files of the first pairs have their new names by then.
    let of_trigger = fails(&[("a/r", "a/q"), ("a/t", "a/n"), ("a/u", "b/u")]);
    assert!(matches!(of_trigger, (2, Error::TriggerInWrongDatabase)), "{of_trigger:?}");
    disk.put_file("/db/a/m.ibd".as_ref(), &[0; 4096]);
    let mut session = engine.session();
    let in_the_way = session.rename_tables(&[("a/t", "a/n"), ("a/u", "a/m")]).unwrap().unwrap_err();
    assert!(matches!(in_the_way, (1, Error::FileInTheWay { .. })), "{in_the_way:?}");
    let names: Vec<String> = engine.core().user_tables().unwrap();
    assert!(TABLES.iter().all(|(name, ..)| names.iter().any(|n| n == name)), "{names:?}");
    assert!(disk.files().contains(&"/db/a/t.ibd".into()) && !disk.files().contains(&"/db/a/n.ibd".into()));
}
