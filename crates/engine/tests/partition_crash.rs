//! Definitions of partitioned tables with the power going off at every operation on the disk: all parts are made, emptied, renamed or gone,
//! or all are as they were, each with its file and its rows.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::small;

use small::open;
use std::collections::BTreeMap;
use std::sync::Arc;
use vaquita_engine::ddl::PartsChange;
use vaquita_engine::lower::RowFormat;
use vaquita_engine::{
    Column, Concurrency, Engine, Error, Field, KeptKeys, PartSpec, Partitioning, ReadOptions, Result, Scheme,
    Scheming, Session, Table, TableSpec, stored,
};
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;

/// Rows go by the rest of `id`, which is not below 0, by 3, to the part that has the name of that rest; 100 goes nowhere.
#[derive(Debug)]
struct Rest {
    parts: Vec<String>,
}

/// Understands the names of parts as a clause.
#[derive(Debug)]
struct Names;

impl Scheme for Rest {
    fn columns(&self) -> &[usize] {
        &[0]
    }

    fn keys(&self) -> Vec<Vec<usize>> {
        vec![vec![0]]
    }

    fn part_of<'v>(&self, value: &dyn Fn(usize) -> Field<'v>) -> Result<usize> {
        match *value(0).unwrap() {
            [0x80, 0, 0, 100] => Err(Error::NoPartition("100".into())),
            [.., last] => {
                let name = PARTS[usize::from(last % 3)];
                let at = self.parts.iter().position(|part| part == name);
                at.ok_or_else(|| Error::NoPartition(last.to_string()))
            }
            [] => unreachable!("an integer has bytes"),
        }
    }
}

impl Partitioning for Names {
    fn understand(&self, _: &Table, clause: &str) -> std::result::Result<Scheming, String> {
        let parts: Vec<String> = clause.split(' ').map(String::from).collect();
        Ok(Scheming { parts: parts.clone(), scheme: Arc::new(Rest { parts }) })
    }
}

const PARTS: [&str; 3] = ["z", "a", "m#SP#s"];
const ROWS: [i32; 7] = [1, 2, 3, 4, 5, 6, 8];

fn open_it(disk: &SimDisk) -> Result<Engine> {
    let engine = open(disk)?;
    engine.core().dict.set_partitioning(Arc::new(Names));
    // Copies of changes that were cut off go in the background.
    while engine.core().rollback_step()? {}
    Ok(engine)
}

fn spec(name: &str) -> TableSpec {
    spec_of(name, &PARTS)
}

fn spec_of(name: &str, parts: &[&str]) -> TableSpec {
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::int("v", 4, false)),
    ];
    let mut spec = TableSpec::new(name, columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.row_format = RowFormat::Compact;
    spec.extra = format!("\npartitioning={}", parts.join(" "));
    let part = |name: &&str| PartSpec {
        name: (*name).into(),
        directory: (*name == PARTS[1]).then(|| "/far".into()),
    };
    spec.parts = parts.iter().map(part).collect();
    spec
}

fn fill(session: &mut Session, name: &str) {
    let insert = session.run(|s| {
        let table = s.table(name)?;
        ROWS.iter().try_for_each(|id| s.insert(&table, &[Some(&stored::int(*id)), None]).map(drop))
    });
    insert.unwrap();
}

fn folder(seed: u64, with: &[&str]) -> SimDisk {
    let disk = SimDisk::new(seed);
    disk.put_dir("/db".as_ref());
    disk.put_dir("/far".as_ref());
    let engine = open_it(&disk).unwrap();
    let mut session = engine.session();
    for name in with {
        session.create_table(&spec(name)).unwrap();
        fill(&mut session, name);
    }
    drop(session);
    engine.close().unwrap();
    disk
}

/// The rows of all tables, in the order of their key, and the part that each is in; and whether there are files of these and no others.
fn state(engine: &Engine, disk: &SimDisk) -> BTreeMap<String, Vec<(Vec<u8>, u64)>> {
    let core = engine.core();
    let mut found = BTreeMap::new();
    let mut session = engine.session();
    let mut files = Vec::new();
    for name in core.dict.tables(&core.storage, "d").unwrap() {
        let table = core.table(&name).unwrap();
        let Some(parts) = &table.parts else {
            if table.space.get() != 0 {
                files.push(format!("/db/{name}.ibd"));
            }
            vaquita_engine::check::check_table(core, &table).unwrap();
            found.insert(name, plain_rows(&mut session, &table));
            continue;
        };
        for (part, _) in parts.names.iter().zip(&parts.tables).filter(|(_, part)| part.space.get() != 0) {
            let directory = if part == PARTS[1] { "/far" } else { "/db" };
            files.push(format!("{directory}/{name}#P#{part}.ibd"));
        }
        let rows = session.run(|s| {
            let mut cursor = s.cursor(&table, &ReadOptions::default())?;
            cursor.seek_first();
            let mut rows = Vec::new();
            let mut key = vaquita_engine::RowKey::default();
            while let Some(row) = s.next(&mut cursor)? {
                row.row_key(&mut key)?;
                let at = parts.tables.iter().position(|part| part.id.get() == key.part()).unwrap();
                let at = PARTS.iter().position(|part| *part == parts.names[at]).unwrap();
                rows.push((row.column(0).unwrap().to_vec(), at as u64));
            }
            assert_eq!(s.count(&table)?, rows.len() as u64);
            Ok(rows)
        });
        let rows = rows.unwrap();
        assert!(rows.is_sorted(), "{name}: a merge is in order");
        assert!(rows.iter().all(|(id, at)| u64::from(id[3] % 3) == *at), "{name}: {rows:?}");
        vaquita_engine::check::check_table(core, &table).unwrap();
        found.insert(format!("{name} {:?}", parts.names), Vec::new());
        found.insert(name, rows);
    }
    let there = disk.files().into_iter().filter(|f| f.extension().is_some_and(|e| e == "ibd"));
    let mut there: Vec<String> = there.map(|f| f.display().to_string()).collect();
    files.sort();
    there.sort();
    assert_eq!(there, files);
    found
}

/// The rows of a table that has no parts.
fn plain_rows(session: &mut Session, table: &Arc<Table>) -> Vec<(Vec<u8>, u64)> {
    let rows = session.run(|s| {
        let mut cursor = s.cursor(table, &ReadOptions::default())?;
        cursor.seek_first();
        let mut rows = Vec::new();
        while let Some(row) = s.next(&mut cursor)? {
            rows.push((row.column(0).unwrap().to_vec(), 0));
        }
        Ok::<_, Error>(rows)
    });
    rows.unwrap()
}

/// Cuts a change off at every operation, with `twice` the recovery after it, too; how often the folder was as before and as after.
fn cut(with: &[&str], twice: bool, change: impl Fn(&mut Session) -> Result<()>) -> (usize, usize) {
    cut_in(&folder(3, with), twice, change)
}

fn cut_in(whole: &SimDisk, twice: bool, change: impl Fn(&mut Session) -> Result<()>) -> (usize, usize) {
    let before = state(&open_it(&whole.fork(1)).unwrap(), whole);
    let done = whole.fork(2);
    let engine = open_it(&done).unwrap();
    change(&mut engine.session()).unwrap();
    let after = state(&engine, &done);
    assert_ne!(after, before);
    let (mut old, mut new) = (0, 0);
    for cut in 1.. {
        let disk = whole.fork(cut);
        let engine = open_it(&disk).unwrap();
        // Files that are not open are met as well.
        disk.arm_cut(disk.ops() + cut);
        let done = change(&mut engine.session());
        // Power that goes when all is done takes nothing away.
        let is_done = !disk.is_off();
        if is_done {
            done.unwrap();
        }
        drop(engine);
        for outcome in 0..5 {
            let mut disk = disk.restart();
            if outcome >= 2 && twice {
                // What takes it back, or finishes it, is cut off too.
                disk.arm_cut(disk.ops() + 1 + (cut + 5 * outcome) % 17);
                drop(open_it(&disk));
                disk = disk.restart();
            }
            let engine = open_it(&disk).unwrap_or_else(|e| panic!("cut {cut}: {e}"));
            match state(&engine, &disk) {
                now if now == before && !is_done => old += 1,
                now => {
                    new += 1;
                    assert_eq!(now, after, "cut {cut}: some parts are as before and others are not");
                }
            }
        }
        if is_done {
            break;
        }
    }
    (old, new)
}

#[test]
fn all_parts_are_made_or_none() {
    let (old, new) = cut(&[], true, |s| s.create_table(&spec("d/t")));
    assert!(old > 20 && new > 0, "{old} {new}");
}

#[test]
fn all_parts_go_or_none() {
    let (old, new) = cut(&["d/t", "d/u"], true, |s| s.drop_table("d/t"));
    assert!(old > 0 && new > 20, "{old} {new}");
}

#[test]
fn all_parts_are_emptied_or_none() {
    let (old, new) = cut(&["d/t"], true, |s| s.truncate_table("d/t"));
    assert!(old > 20 && new > 0, "{old} {new}");
}

#[test]
fn all_parts_have_new_names_or_none() {
    let pairs = [("d/t", "d/between"), ("d/u", "d/t"), ("d/between", "d/u"), ("d/v", "d/w")];
    let with = ["d/t", "d/u", "d/v"];
    let (old, new) = cut(&with, true, |s| {
        // The two have other rows, so that it can be told which is which.
        s.rename_tables(&pairs)?.map_err(|(_, e)| e)
    });
    assert!(old > 20 && new > 0, "{old} {new}");
}

fn alter(s: &mut Session, what: &PartsChange<'_>) -> Result<()> {
    let table = s.core().table("d/t")?;
    assert!(s.alter_in_place(&table, &[], |t| t.alter_parts(what))?, "nobody else changes it");
    Ok(())
}

#[test]
fn parts_come_and_go_and_are_emptied() {
    let come = spec_of("d/t", &["z", "a", "m#SP#s", "n"]);
    let (old, new) =
        cut(&["d/t"], true, |s| alter(s, &PartsChange { spec: Some(&come), ..PartsChange::default() }));
    assert!(old > 20 && new > 0, "{old} {new}");
    let left = spec_of("d/t", &["z", "m#SP#s"]);
    let gone = [String::from("a")];
    let (old, new) = cut(&["d/t"], true, |s| {
        alter(s, &PartsChange { spec: Some(&left), gone: &gone, ..PartsChange::default() })
    });
    assert!(old > 0 && new > 0, "{old} {new}");
    let emptied = ["z", "a"].map(String::from);
    let (old, new) =
        cut(&["d/t"], true, |s| alter(s, &PartsChange { emptied: &emptied, ..PartsChange::default() }));
    assert!(old > 20 && new > 0, "{old} {new}");
}

/// A table with the records of `spec`, and rows of these numbers.
fn put_plain(engine: &Engine, name: &str, ids: &[i32], how: impl FnOnce(&mut TableSpec)) {
    let mut plain = TableSpec { parts: Vec::new(), extra: String::new(), ..spec(name) };
    how(&mut plain);
    let mut session = engine.session();
    session.create_table(&plain).unwrap();
    let insert = session.run(|s| {
        let table = s.table(name)?;
        ids.iter().try_for_each(|id| s.insert(&table, &[Some(&stored::int(*id)), None]).map(drop))
    });
    insert.unwrap();
}

fn exchange(s: &mut Session, at: usize, with: &str, validation: bool) -> Result<bool> {
    let (table, with) = (s.core().table("d/t")?, s.core().table(with)?);
    let mut done = false;
    let same = s.alter_in_place(&table, &[&with.name], |t| {
        done = t.exchange_part(at, &with, validation)?;
        Ok::<_, Error>(())
    })?;
    Ok(same && done)
}

#[test]
fn a_part_and_a_table_exchange_their_rows_or_do_not() {
    for (at, ids, file_per_table) in [(0, [30, 33], true), (2, [32, 35], true), (0, [30, 33], false)] {
        let disk = folder(8, &["d/t"]);
        let engine = open_it(&disk).unwrap();
        put_plain(&engine, "d/n", &ids, |plain| plain.file_per_table = file_per_table);
        engine.close().unwrap();
        let (old, new) = cut_in(&disk, true, |s| {
            assert!(exchange(s, at, "d/n", true)?, "nobody else changes them");
            Ok(())
        });
        assert!(old > 20 && new > 0, "{old} {new}");
    }
}

/// Whatever is not of the part, or has other records, stays where it is.
#[test]
fn what_is_not_exchanged() {
    let disk = folder(9, &["d/t"]);
    let engine = open_it(&disk).unwrap();
    put_plain(&engine, "d/n", &[30, 31], |_| ());
    put_plain(&engine, "d/nowhere", &[100], |_| ());
    put_plain(&engine, "d/far", &[30], |plain| plain.directory = Some("/far".into()));
    put_plain(&engine, "d/wide", &[30], |plain| {
        plain.columns[1] = Column::new(ColumnDef::int("v", 8, false))
    });
    put_plain(&engine, "d/format", &[30], |plain| plain.row_format = RowFormat::Dynamic);
    put_plain(&engine, "d/key", &[30], |plain| plain.primary_key = None);
    let mut session = engine.session();
    let all = |session: &mut Session| {
        let mut rows = Vec::new();
        for name in ["d/t", "d/n", "d/nowhere", "d/far", "d/wide", "d/format", "d/key"] {
            let table = session.core().table(name).unwrap();
            rows.push(plain_rows(session, &table));
        }
        rows
    };
    let before = all(&mut session);
    for (at, with) in [(0, "d/n"), (1, "d/n"), (0, "d/nowhere")] {
        let refused = exchange(&mut session, at, with, true);
        assert!(matches!(refused, Err(Error::RowNotOfPart)), "{at} {with}: {refused:?}");
    }
    for (at, with) in [(0, "d/far"), (0, "d/wide"), (0, "d/format"), (0, "d/key")] {
        let refused = exchange(&mut session, at, with, true);
        assert!(matches!(refused, Err(Error::BadDefinition(_))), "{at} {with}: {refused:?}");
    }
    assert_eq!(all(&mut session), before);
    // An object that is not the table's any more.
    let older = engine.core().table("d/nowhere").unwrap();
    session.rename_table("d/nowhere", "d/now").unwrap();
    session.rename_table("d/n", "d/nowhere").unwrap();
    let whole = engine.core().table("d/t").unwrap();
    let same = session.alter_in_place(&whole, &[&older.name], |t| {
        assert!(!t.exchange_part(0, &older, false)?, "it is another table by now");
        Ok::<_, Error>(())
    });
    assert!(same.unwrap());
    // Without validation nobody looks at the rows.
    assert!(exchange(&mut session, 0, "d/nowhere", false).unwrap());
    let (whole, plain) = (engine.core().table("d/t").unwrap(), engine.core().table("d/nowhere").unwrap());
    let ids = |rows: Vec<(Vec<u8>, u64)>| -> Vec<u8> { rows.iter().map(|(id, _)| id[3]).collect() };
    assert_eq!(ids(plain_rows(&mut session, &plain)), [3, 6]);
    let mut rows = ids(plain_rows(&mut session, &whole));
    rows.sort_unstable();
    assert_eq!(rows, [1, 2, 4, 5, 8, 30, 31]);
}

/// Where the file of a part is.
fn file_of(part: &str) -> String {
    let directory = if part == PARTS[1] { "/far" } else { "/db" };
    format!("{directory}/d/t#P#{part}.ibd")
}

/// Parts that are discarded and imported: some, or all.
fn some_or_all() -> [(Vec<&'static str>, Option<Vec<String>>); 2] {
    let some = vec![PARTS[0], PARTS[2]];
    let named = some.iter().map(|part| String::from(*part)).collect();
    [(some, Some(named)), (PARTS.to_vec(), None)]
}

fn is_discarded(engine: &Engine) -> bool {
    matches!(engine.core().table("d/t"), Err(Error::Discarded(name)) if name == "d/t")
}

#[test]
fn parts_are_discarded_all_of_them_or_none() {
    for (parts, named) in some_or_all() {
        let whole = folder(10, &["d/t"]);
        let before = state(&open_it(&whole.fork(1)).unwrap(), &whole);
        let (mut old, mut new) = (0, 0);
        for cut in 1.. {
            let disk = whole.fork(cut);
            let engine = open_it(&disk).unwrap();
            disk.arm_cut(disk.ops() + cut);
            let done = engine.session().discard_parts("d/t", named.as_deref());
            let is_done = !disk.is_off();
            if is_done {
                assert!(done.unwrap());
                assert!(!engine.session().discard_parts("d/t", named.as_deref()).unwrap(), "once more");
            }
            drop(engine);
            for _ in 0..4 {
                let disk = disk.restart();
                let engine = open_it(&disk).unwrap_or_else(|e| panic!("cut {cut}: {e}"));
                if !is_discarded(&engine) {
                    assert!(!is_done, "what was answered lasts");
                    assert_eq!(state(&engine, &disk), before);
                    old += 1;
                    continue;
                }
                new += 1;
                for part in PARTS {
                    let there = disk.files().contains(&file_of(part).into());
                    assert_eq!(there, !parts.contains(&part), "cut {cut}: the file of {part}");
                }
                assert!(matches!(engine.session().truncate_table("d/t"), Err(Error::Discarded(_))));
                engine.session().drop_table("d/t").unwrap();
                assert!(state(&engine, &disk).is_empty());
            }
            if is_done {
                break;
            }
        }
        assert!(old > 0 && new > 20, "{old} {new}");
    }
}

#[test]
fn parts_are_imported_all_of_them_or_none() {
    // Numbers are others than there.
    let from = folder(11, &["d/s", "d/t"]);
    let engine = open_it(&from).unwrap();
    let mut session = engine.session();
    session.lock_table_name("d/t", vaquita_engine::MdlMode::SharedNoWrite).unwrap();
    session.export_tables(&[engine.core().table("d/t").unwrap()], "there", &[]).unwrap();
    for ((parts, named), described) in some_or_all().into_iter().zip([true, false]) {
        let whole = folder(12, &["d/t"]);
        let engine = open_it(&whole).unwrap();
        let wanted = state(&engine, &whole);
        assert!(engine.session().discard_parts("d/t", named.as_deref()).unwrap());
        engine.close().unwrap();
        for part in &parts {
            let file = file_of(part);
            whole.put_file(file.as_ref(), &from.contents(file.as_ref()).unwrap());
            let description = file.replace(".ibd", ".cfg");
            let contents = from.contents(description.as_ref()).expect("one for each part");
            if described {
                whole.put_file(description.as_ref(), &contents);
            }
        }
        let import = |engine: &Engine| engine.session().import_parts("d/t", named.as_deref());
        let mut old = 0;
        for cut in 1.. {
            let disk = whole.fork(cut);
            let engine = open_it(&disk).unwrap();
            assert!(is_discarded(&engine));
            disk.arm_cut(disk.ops() + cut);
            let done = import(&engine);
            if !disk.is_off() {
                let done = done.unwrap();
                assert_eq!(done.len(), parts.len());
                assert!(done.iter().all(|one| one.without_description.is_none() == described));
                drop(engine);
                disk.power_cut();
                let disk = disk.restart();
                assert_eq!(state(&open_it(&disk).unwrap(), &disk), wanted, "what was answered lasts");
                break;
            }
            drop(engine);
            for outcome in 0..3 {
                let mut disk = disk.restart();
                if outcome == 2 {
                    disk.arm_cut(disk.ops() + 1 + cut % 13);
                    drop(open_it(&disk));
                    disk = disk.restart();
                }
                let engine = open_it(&disk).unwrap_or_else(|e| panic!("cut {cut}: {e}"));
                if is_discarded(&engine) {
                    old += 1;
                    import(&engine).unwrap_or_else(|e| panic!("cut {cut}: {e}"));
                }
                assert_eq!(state(&engine, &disk), wanted, "cut {cut}");
            }
        }
        assert!(old > 20, "{old} outcomes are discarded");
    }
}

/// If one of the files is not there, or is another table's, none is taken in.
#[test]
fn parts_of_which_a_file_is_missing() {
    let disk = folder(13, &["d/t"]);
    let engine = open_it(&disk).unwrap();
    let mut session = engine.session();
    let wanted = state(&engine, &disk);
    session.lock_table_name("d/t", vaquita_engine::MdlMode::SharedNoWrite).unwrap();
    session.export_tables(&[engine.core().table("d/t").unwrap()], "there", &[]).unwrap();
    let files = PARTS.map(|part| (file_of(part), disk.contents(file_of(part).as_ref()).unwrap()));
    session.unlock_tables();
    let named = [PARTS[0], PARTS[2]].map(String::from);
    assert!(matches!(session.import_parts("d/t", Some(&named)), Err(Error::NotDiscarded(_))));
    assert!(matches!(session.discard_parts("d/t", Some(&["no".into()])), Err(Error::NoSuchTable(_))));
    session.discard_parts("d/t", Some(&named)).unwrap();
    disk.put_file(files[0].0.as_ref(), &files[0].1);
    let missing = session.import_parts("d/t", Some(&named));
    assert!(matches!(missing, Err(Error::BadImport { missing: true, .. })), "{missing:?}");
    assert!(is_discarded(&engine));
    // The file of the first is the user's still.
    session.import_parts("d/t", Some(&named[..1])).unwrap();
    assert!(is_discarded(&engine), "the other one is not there");
    disk.put_file(files[2].0.as_ref(), &files[2].1);
    session.import_parts("d/t", Some(&named[1..])).unwrap();
    assert_eq!(state(&engine, &disk), wanted);
}

/// A clause that was made of an older definition would take parts away that others have added, and name those that they dropped.
#[test]
fn a_change_of_an_older_definition_is_not_done() {
    let disk = folder(4, &["d/t"]);
    let engine = open_it(&disk).unwrap();
    let mut session = engine.session();
    let older = engine.core().table("d/t").unwrap();
    let come = spec_of("d/t", &["z", "a", "m#SP#s", "n"]);
    alter(&mut session, &PartsChange { spec: Some(&come), ..PartsChange::default() }).unwrap();
    let now = state(&engine, &disk);
    let left = spec_of("d/t", &["z", "m#SP#s"]);
    let gone = [String::from("a")];
    let what = PartsChange { spec: Some(&left), gone: &gone, ..PartsChange::default() };
    let done = session.alter_in_place(&older, &[], |t| t.alter_parts(&what)).unwrap();
    assert!(!done, "it is another table by now");
    assert_eq!(state(&engine, &disk), now);
    // Nothing is locked by what was not done.
    session.drop_table("d/t").unwrap();
}

/// What every other ALTER TABLE does: from three parts to two, with rows that have no part left out.
#[test]
fn a_copy_takes_the_place_of_all_parts() {
    let anew = spec_of("d/#sql-vq1", &["z", "m#SP#s"]);
    let (old, new) = cut(&["d/t"], true, |s| {
        let read_only = Concurrency::Reads;
        s.rebuild_table("d/t", &anew, KeptKeys::default(), read_only, |statement, from, to| {
            let mut cursor = statement.cursor(from, &ReadOptions::default())?;
            cursor.seek_first();
            let mut rows = Vec::new();
            while let Some(row) = statement.next(&mut cursor)? {
                rows.push(row.column(0).unwrap().to_vec());
            }
            for id in rows.iter().filter(|id| id[3] % 3 != 1) {
                statement.insert(to, &[Some(id), None])?;
            }
            Ok::<_, Error>(())
        })
    });
    assert!(old > 20 && new > 0, "{old} {new}");
}

/// Rows that change their part, come to none, or are in the way there.
#[test]
fn rows_move_between_parts() {
    let disk = folder(5, &["d/t"]);
    let engine = open_it(&disk).unwrap();
    let mut session = engine.session();
    let table = session.run(|s| s.table("d/t")).unwrap();
    let key = |s: &mut vaquita_engine::Statement<'_>, id: i32| {
        let mut key = vaquita_engine::RowKey::default();
        let mut read = vaquita_engine::PointRead::new(table.clone(), ReadOptions::default())?;
        let found = s.get(&mut read, &[Some(&stored::int(id))], |row| row.row_key(&mut key))?;
        found.expect("the row is there")?;
        Ok::<_, Error>(key)
    };
    let mut change = |from: i32, to: i32| {
        session.run(|s| {
            let key = key(s, from)?;
            s.update(&table, &key, &[(0, Some(&stored::int(to)))])
        })
    };
    assert!(change(1, 9).unwrap(), "to another part");
    assert!(change(2, 11).unwrap(), "within its part");
    assert!(!change(3, 3).unwrap(), "nowhere");
    assert!(matches!(change(3, 100), Err(Error::NoPartition(_))));
    assert!(matches!(change(3, 4), Err(Error::DuplicateKey { table, .. }) if table == "d/t"));
    let ids = |at: usize, state: &BTreeMap<String, Vec<(Vec<u8>, u64)>>| -> Vec<u8> {
        state["d/t"].iter().filter(|(_, part)| *part == at as u64).map(|(id, _)| id[3]).collect()
    };
    let now = state(&engine, &disk);
    assert_eq!([ids(0, &now), ids(1, &now), ids(2, &now)], [vec![3, 6, 9], vec![4], vec![5, 8, 11]]);
    // A part cannot be named, and its name is that of no other table.
    let part = session.run(|s| s.table("d/t#P#a"));
    assert!(matches!(part, Err(Error::NoSuchTable(_))), "{part:?}");
    assert!(matches!(session.create_table(&spec("d/t")), Err(Error::TableExists(_))));
    let plain = TableSpec { parts: Vec::new(), extra: String::new(), ..spec("d/t") };
    assert!(matches!(session.create_table(&plain), Err(Error::TableExists(_))));
    // What was taken back is in its old part.
    session.begin(vaquita_engine::AccessMode::ReadWrite, false).unwrap();
    let moved = session.run(|s| {
        let key = key(s, 9)?;
        s.update(&table, &key, &[(0, Some(&stored::int(13)))])
    });
    assert!(moved.unwrap());
    session.rollback().unwrap();
    assert_eq!(state(&engine, &disk), now);
}

/// Without who understands the clause rows can be read and not changed.
#[test]
fn a_clause_that_is_not_understood() {
    let disk = folder(7, &["d/t"]);
    let engine = open(&disk).unwrap();
    let mut session = engine.session();
    let table = session.run(|s| s.table("d/t")).unwrap();
    assert_eq!(session.run(|s| s.count(&table)).unwrap(), ROWS.len() as u64);
    let refused = session.run(|s| s.insert(&table, &[Some(&stored::int(50)), None]));
    assert!(matches!(refused, Err(Error::Unmaintained { .. })), "{refused:?}");
}
