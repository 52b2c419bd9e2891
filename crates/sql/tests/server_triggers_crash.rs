//! The power goes off while triggers follow the `.TRG` files of a MySQL server, at every operation on the disk: all of them come in the
//! end, each once, one that was dropped here does not come back, and what the server has changed and dropped since is so here.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use vaquita_base::ManualClock;
use vaquita_engine::lower::trg::{self, ServerTrigger};
use vaquita_engine::{Engine, Options};
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
    engine.core().dict.set_partitioning(Arc::new(vaquita_plan::partition::Functions));
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

fn code(db: &Arc<Database>, sql: &str) -> u16 {
    run(db, sql).expect_err(sql).code
}

/// What MySQL 5.6 has of a trigger.
fn trigger(text: &str) -> ServerTrigger {
    ServerTrigger {
        statement: format!("CREATE DEFINER=`root`@`localhost` trigger {text}").into_bytes(),
        sql_mode: 0,
        definer: "root@localhost".into(),
        client_charset: "utf8".into(),
        connection_collation: "utf8_general_ci".into(),
        database_collation: "latin1_swedish_ci".into(),
    }
}

/// Writes the files of a table's triggers, as the server does.
fn put(disk: &SimDisk, table: &str, of_files: &str, triggers: &[(&str, &str)]) {
    let told: Vec<_> = triggers.iter().map(|(_, text)| trigger(text)).collect();
    disk.put_file(format!("/db/d/{of_files}.TRG").as_ref(), &trg::encode(&told));
    for (name, _) in triggers {
        disk.put_file(format!("/db/d/{name}.TRN").as_ref(), &trg::name_file(table));
    }
}

fn remove(disk: &SimDisk, files: &[&str]) {
    for file in files {
        disk.remove_file(Path::new("/db/d").join(file).as_path()).unwrap();
    }
    disk.sync_dir("/db/d".as_ref()).unwrap();
}

/// The files of triggers, with what is in them.
fn files(disk: &SimDisk) -> Vec<(PathBuf, Vec<u8>)> {
    let is_of_triggers =
        |file: &PathBuf| file.extension().is_some_and(|e| e == "TRG" || e == "TRN" || e == "new");
    let read = |path: PathBuf| {
        let file = disk.open(&path, OpenOptions::new(OpenMode::Read)).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        (path, bytes)
    };
    let mut found: Vec<_> = disk.files().into_iter().filter(is_of_triggers).map(read).collect();
    found.sort();
    found
}

/// A folder with tables and what a server left in it.
fn folder() -> SimDisk {
    let disk = SimDisk::new(1);
    disk.put_dir("/db".as_ref());
    let db = open(&disk).unwrap();
    run(
        &db,
        "create database d; create table d.t (a int primary key, b varchar(20)); create table d.log (what varchar(20));
         create table d.`odd name` (a int) partition by hash (a) partitions 2; create table d.bad (a int primary key); insert into d.bad values (0)",
    )
    .unwrap();
    db.close().unwrap();
    drop(db);
    disk.put_file("/db/mysql/user.frm".as_ref(), b"\xfe\x01");
    let bi = ("bi", "bi before insert on t for each row set new.b = concat(new.b, '!')");
    put(
        &disk,
        "t",
        "t",
        &[bi, ("ai", "d.ai after insert on d.t for each row begin insert into log values (new.b); end")],
    );
    let odd = ("o@002fd", "`o/d` before insert on `odd name` for each row insert into d.log values ('odd')");
    put(&disk, "odd name", "odd@0020name", &[odd]);
    disk
}

const LIST: &str = "select trigger_name, event_object_table, action_timing, event_manipulation from information_schema.triggers \
                    where trigger_schema = 'd' order by trigger_name";

const ALL: [&str; 3] = ["ai|t|AFTER|INSERT", "bi|t|BEFORE|INSERT", "o/d|odd name|BEFORE|INSERT"];

#[test]
fn all_of_them_come_whenever_the_power_goes_off() {
    let whole = folder();
    let as_they_are = files(&whole);
    let mut cuts = 0;
    for cut in 1.. {
        let disk = whole.fork(cut);
        disk.arm_cut(disk.ops() + cut);
        let opened = open(&disk);
        if !disk.is_off() {
            assert_eq!(run(&opened.unwrap(), LIST).unwrap(), ALL);
            break;
        }
        drop(opened);
        for again in 0..2 {
            let mut disk = disk.restart();
            cuts += 1;
            if again == 1 {
                disk.arm_cut(disk.ops() + 1 + cut % 23);
                drop(open(&disk));
                disk = disk.restart();
            }
            let db = open(&disk).unwrap_or_else(|e| panic!("cut {cut}: {}", e.message));
            assert_eq!(run(&db, LIST).unwrap(), ALL, "cut {cut}");
            assert_eq!(files(&disk), as_they_are, "cut {cut}");
            let fired = "insert into d.t values (1, 'x'); insert into d.`odd name` values (1); select * from d.log; select b from d.t";
            assert_eq!(run(&db, fired).unwrap(), ["x!", "odd", "x!"], "cut {cut}");
            // From here on they are what the dictionary says, after another crash too.
            run(&db, "drop trigger d.bi; rename table d.t to d.t2; create trigger d.bd before delete on d.t2 for each row insert into d.log values ('bd')")
                .unwrap();
            drop(db);
            let db = open(&disk.restart()).unwrap();
            let fired = "truncate d.log; insert into d.t2 values (2, 'y'); delete from d.t2 where a = 2; select * from d.log";
            assert_eq!(run(&db, fired).unwrap(), ["y", "bd"], "cut {cut}");
            let wanted = ["ai|t2|AFTER|INSERT", "bd|t2|BEFORE|DELETE", "o/d|odd name|BEFORE|INSERT"];
            assert_eq!(run(&db, LIST).unwrap(), wanted, "cut {cut}");
        }
    }
    assert!(cuts > 10, "{cuts}");
}

/// Triggers are taken over, one is made here, and then the server has the folder: it drops one, makes one anew for another table, renames a
/// table, drops a table, and makes one of the name of another.
#[test]
fn what_the_server_does_to_triggers_is_so_here() {
    let whole = folder();
    let db = open(&whole).unwrap();
    run(
        &db,
        "create table d.gone (a int); create trigger d.g before insert on d.gone for each row set @g = 1;
         create trigger d.ours before delete on d.t for each row insert into log values ('ours')",
    )
    .unwrap();
    db.close().unwrap();
    drop(db);
    // Of a table that is gone, or none of ours by now.
    whole.remove_file("/db/d/gone.TRG".as_ref()).unwrap();
    remove(&whole, &["g.TRN", "bi.TRN", "o@002fd.TRN", "odd@0020name.TRG"]);
    let ours = ("ours", "ours before delete on d.t for each row insert into log values ('ours')");
    put(
        &whole,
        "t",
        "t",
        &[ours, ("new@002dai", "`new-ai` after insert ON `t` for each row insert into log values ('new')")],
    );
    let moved = ("ai", "ai after insert on `odd name` for each row insert into d.log values ('moved')");
    put(&whole, "odd name", "odd@0020name", &[moved]);
    let as_they_are = files(&whole);
    for cut in 1.. {
        let disk = whole.fork(cut);
        disk.arm_cut(disk.ops() + cut);
        drop(open(&disk));
        let is_off = disk.is_off();
        let disk = disk.restart();
        let db = open(&disk).unwrap_or_else(|e| panic!("cut {cut}: {}", e.message));
        let wanted = ["ai|odd name|AFTER|INSERT", "new-ai|t|AFTER|INSERT", "ours|t|BEFORE|DELETE"];
        assert_eq!(run(&db, LIST).unwrap(), wanted, "cut {cut}");
        let fired = "insert into d.t values (7, 'x'); insert into d.`odd name` values (1); delete from d.t where a = 7; select * from d.log";
        assert_eq!(run(&db, fired).unwrap(), ["new", "moved", "ours"], "cut {cut}");
        assert_eq!(files(&disk), as_they_are, "cut {cut}");
        if !is_off {
            break;
        }
    }
}

/// A trigger that cannot be read keeps its table, and what the server has of it, as they are.
#[test]
fn what_cannot_be_read_is_not_lost() {
    let whole = folder();
    let good = ("good", "good after insert on bad for each row set @a = 1");
    let mut no_definer = trigger("later before update on bad for each row set @a = 1");
    no_definer.definer.clear();
    let mut no_collation = trigger("later before update on bad for each row set @a = 1");
    no_collation.connection_collation = "utf8_of_tomorrow_ci".into();
    for bad in [trigger("later before update on bad for each row set @a = "), no_definer, no_collation] {
        let disk = whole.fork(1);
        put(&disk, "bad", "bad", &[good, ("later", "")]);
        disk.put_file("/db/d/bad.TRG".as_ref(), &trg::encode(&[trigger(good.1), bad]));
        let as_they_are = files(&disk);
        for _ in 0..2 {
            let db = open(&disk).unwrap();
            assert_eq!(run(&db, LIST).unwrap(), ALL);
            assert_eq!(run(&db, "select * from d.bad").unwrap(), ["0"]);
            for sql in ["insert into d.bad values (1)", "update d.bad set a = 1", "delete from d.bad"] {
                assert_eq!(code(&db, sql), 1036, "{sql}");
            }
            for sql in [
                "alter table d.bad add b int",
                "rename table d.bad to d.worse",
                "create index k on d.bad (a)",
                "create trigger d.x before delete on d.bad for each row set @a = 1",
                "drop trigger d.good",
            ] {
                assert_eq!(code(&db, sql), 1235, "{sql}");
            }
            assert_eq!(
                code(&db, "create trigger d.later before delete on d.t for each row set @a = 1"),
                1359
            );
            run(&db, "analyze table d.bad").unwrap();
            db.close().unwrap();
            drop(db);
            assert_eq!(files(&disk), as_they_are);
        }
        let db = open(&disk).unwrap();
        run(&db, "truncate table d.bad").unwrap();
        assert_eq!(files(&disk), as_they_are);
        run(&db, "drop table d.bad").unwrap();
        assert_eq!(files(&disk), files(&whole));
        db.close().unwrap();
    }
}

/// What MySQL 5.6 cannot have is refused where it is to see it.
#[test]
fn what_a_server_does_not_know_is_refused() {
    let disk = folder();
    let db = open(&disk).unwrap();
    for body in [
        "follows bi set @a = 1",
        "precedes bi set @a = 1",
        "set @a = json_extract('{}', '$.a')",
        "begin declare exit handler for sqlexception begin get stacked diagnostics @n = number; end; end",
        "begin declare x json; end",
    ] {
        let sql = format!("create trigger d.x before insert on d.t for each row {body}");
        assert_eq!(code(&db, &sql), 1235, "{sql}");
    }
    run(&db, "create trigger if not exists d.x before update on d.t for each row set @a = 'json_extract()'")
        .unwrap();
    let list = files(&disk).into_iter().find(|(path, _)| path.ends_with("t.TRG")).unwrap().1;
    let made = trg::decode(&list).unwrap().pop().unwrap();
    let statement = String::from_utf8(made.statement).unwrap();
    assert!(
        statement.contains("` TRIGGER `x` BEFORE UPDATE on d.t for each row set @a = 'json_extract()'"),
        "{statement}"
    );
    run(&db, "create database e").unwrap();
    assert_eq!(code(&db, "rename table d.t to e.t"), 1435);
    assert_eq!(code(&db, "alter table d.t rename to e.t"), 1435);
    assert!(disk.exists("/db/d/t.TRG".as_ref()) && !disk.exists("/db/e/t.TRG".as_ref()));
}
