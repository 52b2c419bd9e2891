//! The power goes off while views follow the `.frm` files of a MySQL server, at every operation on the disk: all of them come in the end,
//! each once, one that was dropped or made anew here does not come back, and what the server has changed and dropped since is so here.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::sync::Arc;
use vaquita_base::ManualClock;
use vaquita_engine::{Engine, Options};
use vaquita_io::FileSystem;
use vaquita_io::sim::SimDisk;
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

fn run(db: &Arc<Database>, sql: &str) -> Result<Vec<String>, SqlError> {
    let mut session = db.connect(ConnectInfo::embedded())?;
    session.set_multi_statements(true);
    let mut sink = Collected::default();
    session.query(sql.as_bytes(), &mut sink)?;
    let rows = sink.results.into_iter().flat_map(|result| result.rows);
    let cell = |cell: Option<String>| cell.unwrap_or_else(|| "NULL".into());
    Ok(rows.map(|row| row.into_iter().map(cell).collect::<Vec<_>>().join("|")).collect())
}

/// A view's file, as MySQL 5.6 writes it.
fn view_file(query: &str, algorithm: u8, check: u8) -> String {
    format!(
        "TYPE=VIEW\nquery={query}\nmd5=0123456789abcdef0123456789abcdef\nupdatable=1\nalgorithm={algorithm}\ndefiner_user=root\n\
         definer_host=localhost\nsuid=2\nwith_check_option={check}\ntimestamp=2015-06-01 12:30:00\ncreate-version=1\n\
         source={query}\nclient_cs_name=utf8\nconnection_cl_name=utf8_general_ci\nview_body_utf8={query}\n"
    )
}

const VIEWS: [(&str, &str, u8, u8); 4] = [
    ("one", "select `d`.`t`.`a` AS `a` from `d`.`t` where (`d`.`t`.`a` > 1)", 0, 2),
    ("two", "select count(0) AS `n` from `d`.`t`", 1, 0),
    ("three", "select `one`.`a` AS `a` from `d`.`one`", 2, 0),
    ("odd@0020name", "select 7 AS `seven`", 0, 0),
];

/// A folder with a table and what a server left in it.
fn folder() -> SimDisk {
    let disk = SimDisk::new(1);
    disk.put_dir("/db".as_ref());
    let db = open(&disk).unwrap();
    run(&db, "create database d; create table d.t (a int primary key); insert into d.t values (1), (2), (3)")
        .unwrap();
    db.close().unwrap();
    drop(db);
    disk.put_file("/db/mysql/user.frm".as_ref(), b"\xfe\x01");
    disk.put_file("/db/d/t.frm".as_ref(), b"\xfe\x01");
    for (name, query, algorithm, check) in VIEWS {
        let path = format!("/db/d/{name}.frm");
        disk.put_file(Path::new(&path), view_file(query, algorithm, check).as_bytes());
    }
    disk
}

const LIST: &str = "select table_name, check_option, security_type from information_schema.views where table_schema = 'd' \
                    order by table_name";

fn views(db: &Arc<Database>) -> Vec<String> {
    let rows = run(
        db,
        "select * from d.one; select * from d.two; select * from d.three; select * from d.`odd name`",
    )
    .unwrap();
    assert_eq!(rows, ["2", "3", "3", "2", "3", "7"]);
    run(db, LIST).unwrap()
}

#[test]
fn all_of_them_come_whenever_the_power_goes_off() {
    let whole = folder();
    let mut cuts = 0;
    for cut in 1.. {
        let disk = whole.fork(cut);
        disk.arm_cut(disk.ops() + cut);
        let opened = open(&disk);
        if !disk.is_off() {
            assert_eq!(views(&opened.unwrap()).len(), VIEWS.len());
            break;
        }
        drop(opened);
        for again in 0..3 {
            let mut disk = disk.restart();
            cuts += 1;
            if again == 2 {
                disk.arm_cut(disk.ops() + 1 + cut % 23);
                drop(open(&disk));
                disk = disk.restart();
            }
            let db = open(&disk).unwrap_or_else(|e| panic!("cut {cut}: {}", e.message));
            let expected =
                ["odd name|NONE|DEFINER", "one|CASCADED|DEFINER", "three|NONE|DEFINER", "two|NONE|DEFINER"];
            assert_eq!(views(&db), expected, "cut {cut}");
            // From here on they are what the dictionary says, after another crash too.
            run(&db, "drop view d.`odd name`; create or replace view d.two as select 5 as five; rename table d.three to d.four")
                .unwrap();
            drop(db);
            let db = open(&disk.restart()).unwrap();
            let rows = run(&db, "select * from d.two; select * from d.four").unwrap();
            assert_eq!(rows, ["5", "2", "3"], "cut {cut}");
            let names = run(&db, "show tables from d").unwrap();
            assert_eq!(names, ["four", "one", "t", "two"], "cut {cut}");
        }
    }
    assert!(cuts > 30, "{cuts}");
}

/// Views are taken over, one is made here, and then the server has the folder: it makes two anew, one of which was made here, drops two,
/// with a table in the place of one, and makes one. A file that nobody can read is left alone.
#[test]
fn what_the_server_does_to_views_is_so_here() {
    let whole = folder();
    let db = open(&whole).unwrap();
    run(&db, "create view d.ours as select 'ours' as a; create view d.kept as select 'kept' as a").unwrap();
    db.close().unwrap();
    drop(db);
    let files = |disk: &SimDisk| -> Vec<_> {
        disk.files().into_iter().filter(|file| file.starts_with("/db/d")).collect()
    };
    assert!(files(&whole).contains(&"/db/d/ours.frm".into()));
    whole.put_file("/db/d/ours.frm".as_ref(), view_file("select 8 AS `a`", 0, 0).as_bytes());
    whole.put_file("/db/d/one.frm".as_ref(), view_file("select 9 AS `a`", 2, 0).as_bytes());
    whole.put_file("/db/d/new@002done.frm".as_ref(), view_file("select 10 AS `a`", 0, 0).as_bytes());
    whole.put_file("/db/d/odd@0020name.frm".as_ref(), b"TYPE=VIEW\nquery=select is no query\n");
    whole.remove_file("/db/d/two.frm".as_ref()).unwrap();
    whole.sync_dir("/db/d".as_ref()).unwrap();
    whole.put_file("/db/d/three.frm".as_ref(), b"\xfe\x01");
    let as_they_are = files(&whole);
    for cut in 1.. {
        let disk = whole.fork(cut);
        disk.arm_cut(disk.ops() + cut);
        let opened = open(&disk);
        let is_off = disk.is_off();
        let mut disk = disk;
        let db = match is_off {
            true => {
                drop(opened);
                disk = disk.restart();
                open(&disk).unwrap_or_else(|e| panic!("cut {cut}: {}", e.message))
            }
            false => opened.unwrap(),
        };
        let all = "select * from d.ours; select * from d.one; select * from d.`new-one`; select * from d.kept; select * from d.`odd name`";
        assert_eq!(run(&db, all).unwrap(), ["8", "9", "10", "kept", "7"], "cut {cut}");
        assert_eq!(run(&db, LIST).unwrap().len(), 5, "cut {cut}");
        for gone in ["two", "three"] {
            assert!(run(&db, &format!("select * from d.{gone}")).is_err(), "cut {cut}: {gone}");
        }
        assert_eq!(files(&disk), as_they_are, "cut {cut}");
        if !is_off {
            break;
        }
    }
}
