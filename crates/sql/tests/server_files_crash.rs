//! The power goes off while definitions change in a folder that a MySQL server made, at every operation on the disk: when the folder is
//! open again, the `.frm`, `.par`, `.TRG` and `.TRN` files are those of the tables, views and triggers that the dictionary has, and there are
//! no others.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use vaquita_base::ManualClock;
use vaquita_catalog::frm::write::ServerFiles;
use vaquita_catalog::{ObjectBody, file_name, sql_name};
use vaquita_engine::lower::trg;
use vaquita_engine::{Engine, ObjectKind, Options, ServerFileMaker};
use vaquita_io::sim::SimDisk;
use vaquita_io::{FileSystem, OpenMode, OpenOptions};
use vaquita_sql::sink::Collected;
use vaquita_sql::{ConnectInfo, Database, SqlError};

fn open(disk: &SimDisk) -> Result<Arc<Database>, SqlError> {
    let mut options = Options { background: false, ..Options::new("/db") };
    options.storage.buffer_pool_size = 8 << 20;
    options.storage.log_file_size = 1 << 20;
    options.txn.rollback_segments = 2;
    let opened = Engine::open_with(Arc::new(disk.clone()), Arc::new(ManualClock::new()), options);
    let engine = opened.map_err(|e| SqlError::new(1105, e.to_string()))?;
    Database::on_engine(engine, &[])
}

fn run(db: &Arc<Database>, sql: &str) -> Result<(), SqlError> {
    let mut session = db.connect(ConnectInfo::embedded())?;
    session.set_multi_statements(true);
    session.query(sql.as_bytes(), &mut Collected::default())?;
    Ok(())
}

fn read(disk: &SimDisk, path: &Path) -> Option<Vec<u8>> {
    if !disk.exists(path) {
        return None;
    }
    let file = disk.open(path, OpenOptions::new(OpenMode::Read)).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    Some(bytes)
}

/// Tables that are there, after their files were held against the dictionary.
fn assert_files_are_right(disk: &SimDisk, db: &Arc<Database>, when: &str) -> Vec<String> {
    let core = db.engine().core();
    let mut names: Vec<String> = core.user_tables().unwrap();
    names.iter_mut().for_each(|name| name.truncate(name.find("#P#").unwrap_or(name.len())));
    names.retain(|name| name.starts_with("d/") || name.starts_with("e/"));
    names.retain(|name| !name.contains("/FTS_") && !name.contains("#sql"));
    names.sort();
    names.dedup();
    let mut wanted: Vec<PathBuf> = Vec::new();
    for name in &names {
        let table = core.described_table(name).unwrap().unwrap();
        let file = ServerFiles.make(&table).unwrap();
        let path = PathBuf::from(format!("/db/{name}.frm"));
        assert!(read(disk, &path).as_ref() == Some(&file.frm), "{when}: {name}.frm");
        wanted.push(path.clone());
        if let Some(par) = &file.par {
            let path = path.with_extension("par");
            assert!(read(disk, &path).as_ref() == Some(par), "{when}: {name}.par");
            wanted.push(path);
        }
        let triggers: Vec<_> = core.objects().triggers_of(name).to_vec();
        let told: Vec<_> =
            triggers.iter().map(|trigger| ServerFiles.make_of_trigger(trigger).unwrap()).collect();
        if !triggers.is_empty() {
            let path = path.with_extension("TRG");
            assert!(read(disk, &path) == Some(trg::encode(&told)), "{when}: {name}.TRG");
            wanted.push(path);
        }
        for trigger in triggers {
            let file = file_name(&trigger.name).unwrap();
            let path = path.with_file_name(format!("{file}.TRN"));
            assert!(read(disk, &path) == Some(trg::name_file(&sql_name(name).1)), "{when}: {file}.TRN");
            wanted.push(path);
        }
        assert!(!core.has_server_triggers(name).unwrap(), "{when}: {name} can change");
    }
    for view in core.objects().all(ObjectKind::View).filter(|view| ["d", "e"].contains(&&*view.database)) {
        let path = PathBuf::from(format!("/db/{}.frm", view.lock_name()));
        let file = ObjectBody::of(view).unwrap().server_file();
        assert!(file.is_some() && read(disk, &path) == file, "{when}: {}", path.display());
        wanted.push(path);
    }
    let kinds = ["frm", "par", "TRG", "TRN", "new"];
    let is_kept = |path: &PathBuf| path.extension().is_some_and(|e| kinds.iter().any(|k| e == *k));
    let of_tables = |path: &PathBuf| path.starts_with("/db/d") || path.starts_with("/db/e");
    let mut there: Vec<PathBuf> = disk.files().into_iter().filter(|p| is_kept(p) && of_tables(p)).collect();
    there.sort();
    wanted.sort();
    assert_eq!(there, wanted, "{when}");
    names
}

/// A folder with tables, of which a server says that it is its.
fn folder() -> SimDisk {
    let disk = SimDisk::new(3);
    disk.put_dir("/db".as_ref());
    let db = open(&disk).unwrap();
    run(&db, "create database d; create database e; create table d.t (a int primary key, b varchar(10))")
        .unwrap();
    db.close().unwrap();
    drop(db);
    disk.put_file("/db/mysql/user.frm".as_ref(), b"\xfe\x01");
    let db = open(&disk).unwrap();
    run(&db, "alter table d.t comment 'it has a file from here on'").unwrap();
    assert_eq!(assert_files_are_right(&disk, &db, "at first"), ["d/t"]);
    db.close().unwrap();
    drop(db);
    disk
}

const CHANGES: [&str; 22] = [
    "create table d.u (a int primary key, e enum('x', 'y') default 'y', t text, fulltext key (t), key (e)) comment 'c'",
    "alter table d.t add column c int not null default 5 after a, comment 'other'",
    "create table d.p (a int) partition by hash (a) partitions 2",
    "create trigger d.bi before insert on d.t for each row set new.b = 'it''s'; create trigger d.`o/d` after delete on d.t for each row begin /* why */ set @a = old.a; end",
    "create trigger d.au after update on d.t for each row set @a = 2; drop trigger d.bi; create trigger d.bi after insert on d.t for each row set @b = 'ä'",
    "create trigger d.`of u` before update on d.u for each row set new.a = 1; create trigger d.`of p` before insert on d.p for each row set @p = 1",
    "rename table d.t to e.x, d.u to d.t, e.x to d.u",
    "create index k on d.u (b(3)); drop index e on d.t",
    "drop trigger d.`of p`; alter table d.p rename to e.p",
    "create trigger e.`of p` before delete on e.p for each row set @p = 2",
    "alter table d.u add column z int, rename to d.`u w`; alter table d.`u w` rename to d.u, algorithm=copy",
    "alter table e.p partition by key (a) partitions 3",
    "truncate table d.t",
    "create view d.v as select a from d.t where a > 1; create algorithm = temptable view e.`v w` as select 'ä' as x",
    "create or replace view d.v as select 7 as a; alter view d.v as select a, 'it''s' as s from d.t",
    "rename table d.v to d.`w/x`",
    "drop view d.`w/x`; create table d.`w/x` (a int)",
    "rename table d.`w/x` to d.y, d.y to d.z; create view d.`w/x` as select 1 as one from d.z",
    "drop view d.`w/x`; drop table d.z",
    "alter table e.p remove partitioning",
    "drop trigger d.au; drop trigger d.`o/d`",
    "drop table d.u; drop database e",
];

#[test]
fn files_follow_the_dictionary_whenever_the_power_goes_off() {
    let whole = folder();
    let mut cuts = 0;
    for change in CHANGES {
        for cut in 1.. {
            let disk = whole.fork(cut);
            let db = open(&disk).unwrap();
            disk.arm_cut(disk.ops() + cut);
            let done = run(&db, change);
            let is_off = disk.is_off();
            assert!(is_off || done.is_ok(), "{change}: {done:?}");
            if !is_off {
                break;
            }
            drop(db);
            cuts += 1;
            let mut disk = disk.restart();
            if cut % 3 == 0 {
                // And once more, while what is left is done.
                disk.arm_cut(disk.ops() + 1 + cut % 37);
                drop(open(&disk));
                disk = disk.restart();
            }
            let db = open(&disk).unwrap_or_else(|e| panic!("{change}, cut {cut}: {}", e.message));
            let when = format!("{change}, cut {cut}");
            assert_files_are_right(&disk, &db, &when);
            // What was not done can be done, and the files follow.
            if cut % 5 == 0 && run(&db, change).is_ok() {
                assert_files_are_right(&disk, &db, &when);
            }
        }
        // The next one is cut off behind it.
        let db = open(&whole).unwrap();
        run(&db, change).unwrap();
        assert_files_are_right(&whole, &db, change);
        db.close().unwrap();
    }
    assert!(cuts > 200, "{cuts}");
}

/// What the server keeps of triggers goes with their table, and not before.
#[test]
fn files_of_triggers_go_with_their_table() {
    let whole = folder();
    let of = |table: &str| format!("TYPE=TRIGGERNAME\ntrigger_table={table}\n");
    whole.put_file("/db/d/t.TRG".as_ref(), b"TYPE=TRIGGERS\ntriggers='..' '..'\n");
    for (name, table) in [("one", "t"), ("t@002dwo", "t"), ("other", "tt")] {
        whole.put_file(format!("/db/d/{name}.TRN").as_ref(), of(table).as_bytes());
    }
    let files = |disk: &SimDisk| -> Vec<PathBuf> {
        let is_of_triggers = |file: &PathBuf| file.extension().is_some_and(|e| e == "TRG" || e == "TRN");
        disk.files().into_iter().filter(is_of_triggers).collect()
    };
    let (all, other) = (files(&whole), vec![PathBuf::from("/db/d/other.TRN")]);
    assert_eq!(all.len(), 4);
    for change in ["drop table d.t", "drop database d"] {
        for cut in 1.. {
            let disk = whole.fork(cut);
            let db = open(&disk).unwrap();
            disk.arm_cut(disk.ops() + cut);
            let done = run(&db, change);
            let is_off = disk.is_off();
            assert!(is_off || done.is_ok(), "{change}: {done:?}");
            drop(db);
            let disk = disk.restart();
            let db = open(&disk).unwrap_or_else(|e| panic!("{change}, cut {cut}: {}", e.message));
            let is_there = run(&db, "select * from d.t").is_ok();
            assert_eq!(&files(&disk), if is_there { &all } else { &other }, "{change}, cut {cut}");
            if !is_off {
                assert!(!is_there, "{change}");
                break;
            }
        }
    }
}

/// The file of a view goes with the view, not before and not after, one by one or with its database; that of one which is replaced stays.
#[test]
fn files_of_views_go_with_them() {
    let whole = folder();
    let query = "select 7 AS `seven`";
    let text = format!(
        "TYPE=VIEW\nquery={query}\nmd5=0123456789abcdef0123456789abcdef\nupdatable=0\nalgorithm=0\ndefiner_user=root\n\
         definer_host=localhost\nsuid=2\nwith_check_option=0\ntimestamp=2015-06-01 12:30:00\ncreate-version=1\nsource={query}\n\
         client_cs_name=utf8\nconnection_cl_name=utf8_general_ci\nview_body_utf8={query}\n"
    );
    for name in ["v", "odd@0020name"] {
        whole.put_file(format!("/db/d/{name}.frm").as_ref(), text.as_bytes());
    }
    open(&whole).unwrap().close().unwrap();
    let file = Path::new("/db/d/odd@0020name.frm");
    for (change, goes) in [
        ("create or replace view d.`odd name` as select 8 as eight", false),
        ("drop view d.`odd name`", true),
        ("drop view d.v, d.`odd name`", true),
        ("drop database d", true),
    ] {
        for cut in 1.. {
            let disk = whole.fork(cut);
            let db = open(&disk).unwrap();
            disk.arm_cut(disk.ops() + cut);
            let done = run(&db, change);
            let is_off = disk.is_off();
            assert!(is_off || done.is_ok(), "{change}: {done:?}");
            drop(db);
            let disk = disk.restart();
            let db = open(&disk).unwrap_or_else(|e| panic!("{change}, cut {cut}: {}", e.message));
            let is_there = run(&db, "select * from d.`odd name`").is_ok();
            assert_eq!(disk.exists(file), is_there, "{change}, cut {cut}");
            if !is_off {
                assert_eq!(is_there, !goes, "{change}");
                break;
            }
        }
    }
    let db = open(&whole).unwrap();
    run(&db, "drop database d").unwrap();
    assert!(!whole.is_dir("/db/d".as_ref()), "nothing is left in it");
}
