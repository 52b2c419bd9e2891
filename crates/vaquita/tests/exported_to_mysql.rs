//! FLUSH TABLES .. FOR EXPORT: while rows change and are purged all the time, files are copied under it again and again; the copies are
//! sound, MySQL 5.6.24 takes them in, and finds the rows that were there. Copies of that server, and these, come in here in turn.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::{Scratch, vaquita};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use vaquita_base::Rng;
use vaquita_clients::Vaquita;
use vaquita_isolation::mysql::{Answer, Client};
use vaquita_peers::{Mysql56, Options};

const COLUMNS: &str = "id int not null auto_increment, i bigint unsigned, n decimal(12,3), v varchar(60) character set utf8, \
    c char(10) character set latin1 not null default 'x', b varbinary(300), t text, l longblob, d datetime, ts timestamp null, f double, \
    e enum('one', 'two', 'three'), y year, primary key (id), unique key u (i, id), key kv (v(10)), key kd (d, e)";

fn rows(client: &mut Client, sql: &str) -> Vec<Vec<Option<String>>> {
    match client.query(sql) {
        Ok(Answer::Rows(rows)) => rows,
        other => panic!("{sql}: {other:?}"),
    }
}

fn run(client: &mut Client, sql: &str) {
    if let Err(e) = client.query(sql) {
        panic!("{sql}: {e}");
    }
}

fn change(client: &mut Client, rng: &mut Rng, table: &str) {
    let id = rng.below(3_000);
    let text = "Ä".repeat(rng.index(20));
    let long = if rng.one_in(10) { 30_000 } else { rng.index(300) };
    let sql = match rng.below(4) {
        0 => format!("delete from {table} where id between {id} and {id} + 5"),
        1 => format!("update {table} set v = '{text}', l = repeat('l', {long}), i = i + 1 where id = {id}"),
        2 => format!(
            "update {table} set d = d + interval 1 day, t = repeat('{text}', 30) where id between {id} and {id} + 3"
        ),
        _ => format!(
            "insert into {table} (i, n, v, c, b, t, l, d, ts, f, e, y) values ({id}, {id} / 7, '{text}', 'c{id}', repeat('b', {id} % 300), \
             '{text}', repeat('l', {long}), '2012-04-10' + interval {id} hour, '2013-01-01 10:00:00', {id} / 3, 1 + {id} % 3, 2000 + {id} % 50)"
        ),
    };
    run(client, &sql);
}

const LISTED: &str = "select id, i, n, v, c, hex(b), t, crc32(l), length(l), d, ts, f, e, y from";

#[test]
fn copies_made_under_an_export_are_taken_in_by_mysql() {
    let scratch = Scratch::new("exports");
    let mut ours = Vaquita::start(
        Path::new(env!("CARGO_BIN_EXE_vaquita")),
        &scratch.0.join("data"),
        &["--innodb-flush-log-at-trx-commit=0"],
    )
    .unwrap();
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    let mut client = Client::connect(&ours.socket(), "").unwrap();
    let mut other = Client::connect(&theirs.socket(), "").unwrap();
    for client in [&mut client, &mut other] {
        ["create database d", "use d", "set names utf8", "set time_zone = '+00:00'"]
            .iter()
            .for_each(|sql| run(client, sql));
    }
    let tables = [
        ("compact", "row_format=compact"),
        ("dynamic", "row_format=dynamic"),
        ("changed", "row_format=dynamic"),
    ];
    let mut rng = Rng::new(1);
    for (table, format) in tables {
        run(&mut client, &format!("create table {table} ({COLUMNS}) {format}"));
        for _ in 0..600 {
            change(&mut client, &mut rng, table);
        }
    }
    // Rows of several versions are written anew for it.
    run(&mut client, "alter table changed add column x int not null default 5 after i, drop column y");
    run(&mut client, "insert into changed (i) values (1)");
    run(&mut client, "alter table changed drop column x, add column y year");
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (n, (table, _)) in tables.into_iter().enumerate() {
            let (ended, socket) = (&ended, ours.socket());
            scope.spawn(move || {
                let mut client = Client::connect(&socket, "d").unwrap();
                run(&mut client, "set names utf8");
                let mut rng = Rng::new(n as u64);
                while !ended.load(Ordering::Relaxed) {
                    change(&mut client, &mut rng, table);
                }
            });
        }
        for round in 0..4 {
            for (table, _) in tables {
                let created = rows(&mut client, &format!("show create table {table}"))[0][1].clone().unwrap();
                run(&mut other, &format!("drop table if exists {table}"));
                run(&mut other, &created);
                run(&mut other, &format!("alter table {table} discard tablespace"));
                run(&mut client, &format!("flush tables {table} for export"));
                let wanted = rows(&mut client, &format!("{LISTED} {table} order by id"));
                let next = rows(&mut client, &format!("show create table {table}"))[0][1].clone().unwrap();
                let copies = scratch.0.join(format!("{table}-{round}"));
                fs::create_dir_all(&copies).unwrap();
                for kind in ["ibd", "cfg"] {
                    let from = scratch.0.join(format!("data/d/{table}.{kind}"));
                    fs::copy(&from, copies.join(format!("{table}.{kind}"))).unwrap();
                    fs::copy(&from, theirs.datadir().join(format!("d/{table}.{kind}"))).unwrap();
                }
                run(&mut client, "unlock tables");
                assert!(!scratch.0.join(format!("data/d/{table}.cfg")).exists(), "it goes with the locks");
                let (code, out, err) = vaquita(&[&"check", &copies.join(format!("{table}.ibd"))]);
                assert_eq!((code, &*err), (0, ""), "{out}");
                run(&mut other, &format!("alter table {table} import tablespace"));
                assert_eq!(rows(&mut other, "show warnings"), Vec::<Vec<Option<String>>>::new(), "{table}");
                let report = rows(&mut other, &format!("check table {table}"));
                assert_eq!(report.last().unwrap()[3].as_deref(), Some("OK"), "{report:?}");
                assert!(
                    rows(&mut other, &format!("{LISTED} {table} order by id")) == wanted,
                    "{table}, round {round}"
                );
                let imported = rows(&mut other, &format!("show create table {table}"))[0][1].clone().unwrap();
                assert_eq!(imported, next, "AUTO_INCREMENT comes along, too");
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
    // Rows that an import brought have its number, and nothing in its logs.
    drop(other);
    theirs.shutdown().unwrap();
    let (code, out, err) = vaquita(&[&"check", &theirs.datadir()]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    // Purge goes on.
    let history = "select count from information_schema.innodb_metrics where name = 'trx_rseg_history_len'";
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while rows(&mut client, history)[0][0].as_deref() != Some("0") {
        assert!(std::time::Instant::now() < deadline, "purge rests");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // A session that ends gives its tables back, and the description goes.
    run(&mut client, "flush tables compact, dynamic for export");
    let described = || scratch.0.join("data/d/compact.cfg").exists();
    assert!(described());
    drop(client);
    while described() {
        assert!(std::time::Instant::now() < deadline, "a description is left behind");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    ours.stop().unwrap();
    let (code, out, err) = vaquita(&[&"check", &scratch.0.join("data")]);
    assert_eq!((code, &*err), (0, ""), "{out}");
}

/// Who may not lock a table is told nothing of it, and it is not written anew for them.
#[test]
fn an_export_is_for_those_who_may_lock_and_read() {
    let scratch = Scratch::new("exports-privileges");
    let data = scratch.0.join("data");
    let mut ours = Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &data, &[]).unwrap();
    let theirs = Mysql56::start(Options::new()).unwrap();
    let told = |socket: &Path| -> Vec<String> {
        let mut client = Client::connect(socket, "").unwrap();
        let setup = [
            "create database d",
            "create table d.t (i int)",
            "create view d.v as select 1",
            "create user nobody@localhost",
            "create user flushes@localhost",
            "create user looks@localhost",
            "create user locks@localhost",
            "grant reload on *.* to flushes@localhost, looks@localhost, locks@localhost",
            "grant select on d.* to looks@localhost",
            "grant select, lock tables on d.* to locks@localhost",
        ];
        setup.iter().for_each(|sql| run(&mut client, sql));
        let mut said = Vec::new();
        for user in ["nobody", "flushes", "looks", "locks"] {
            let mut client = Client::connect_as(socket, user).unwrap();
            for table in ["t", "v", "nothing"] {
                for how in ["for export", "with read lock"] {
                    let answer = match client.query(&format!("flush tables d.{table} {how}")) {
                        Ok(_) => "done".to_owned(),
                        Err(e) => e.to_string(),
                    };
                    said.push(format!("{user}: {table} {how}: {answer}"));
                    run(&mut client, "unlock tables");
                }
            }
            // Who may not flush at all is told so here, and of the database there.
            if user == "nobody" {
                continue;
            }
            let answer = client.query("flush tables information_schema.tables for export");
            said.push(format!("{user}: {}", answer.unwrap_err()));
        }
        said
    };
    let got = told(&ours.socket());
    let wanted = told(&theirs.socket());
    assert_eq!(got, wanted);
    // What has versions stays as it is.
    let mut root = Client::connect(&ours.socket(), "d").unwrap();
    run(&mut root, "alter table t add x int");
    let file = || fs::metadata(data.join("d/t.ibd")).unwrap().modified().unwrap();
    let number = "select table_id from information_schema.innodb_sys_tables where name = 'd/t'";
    let (before, number_before) = (file(), rows(&mut root, number));
    let mut other = Client::connect_as(&ours.socket(), "looks").unwrap();
    assert!(other.query("flush tables d.t for export").is_err());
    assert_eq!((file(), rows(&mut root, number)), (before, number_before));
    ours.stop().unwrap();
}

/// Copies that MySQL 5.6.24 and this server export come in here: with rows deleted and not purged, in every row format, with a
/// description and without.
#[test]
fn copies_are_taken_in_here() {
    let scratch = Scratch::new("imports");
    let data = scratch.0.join("data");
    let binary = Path::new(env!("CARGO_BIN_EXE_vaquita"));
    let mut ours = Vaquita::start(binary, &data, &[]).unwrap();
    let theirs = Mysql56::start(Options::new().set("innodb_file_format", "Barracuda")).unwrap();
    let mut client = Client::connect(&ours.socket(), "").unwrap();
    let mut other = Client::connect(&theirs.socket(), "").unwrap();
    for client in [&mut client, &mut other] {
        ["create database d", "create database i", "use d", "set names utf8", "set time_zone = '+00:00'"]
            .iter()
            .for_each(|sql| run(client, sql));
    }
    let mut rng = Rng::new(7);
    let mut imported = Vec::new();
    for format in ["compact", "dynamic", "redundant"] {
        for (client_is_ours, folder) in [(false, theirs.datadir().to_owned()), (true, data.clone())] {
            let table = format!("{format}_{}", if client_is_ours { "ours" } else { "theirs" });
            let from = if client_is_ours { &mut client } else { &mut other };
            run(from, &format!("create table {table} ({COLUMNS}) row_format={format}"));
            for _ in 0..900 {
                change(from, &mut rng, &table);
            }
            run(from, &format!("delete from {table} where id % 3 = 0"));
            run(from, &format!("flush tables {table} for export"));
            let wanted = rows(from, &format!("{LISTED} {table} order by id"));
            let created = rows(from, &format!("show create table {table}"))[0][1].clone().unwrap();
            for described in [true, false] {
                let copy = format!("i.{table}_{described}");
                fs::create_dir_all(data.join("i")).unwrap();
                // Another session: the one that exports has its tables locked.
                let mut third = Client::connect(&ours.socket(), "i").unwrap();
                run(&mut third, &created.replace(&table, &copy["i.".len()..]));
                run(&mut third, &format!("alter table {copy} discard tablespace"));
                let kinds = if described { &["ibd", "cfg"][..] } else { &["ibd"] };
                for kind in kinds {
                    let to = data.join(format!("i/{}.{kind}", &copy["i.".len()..]));
                    fs::copy(folder.join(format!("d/{table}.{kind}")), to).unwrap();
                }
                run(&mut third, &format!("alter table {copy} import tablespace"));
                let warned = rows(&mut third, "show warnings");
                assert_eq!(warned.len(), usize::from(!described), "{copy}: {warned:?}");
                assert!(warned.iter().all(|line| line[1].as_deref() == Some("1810")), "{copy}: {warned:?}");
                run(&mut third, "set names utf8");
                run(&mut third, "set time_zone = '+00:00'");
                let report = rows(&mut third, &format!("check table {copy}"));
                assert_eq!(report.last().unwrap()[3].as_deref(), Some("OK"), "{report:?}");
                assert!(rows(&mut third, &format!("{LISTED} {copy} order by id")) == wanted, "{copy}");
                let now = rows(&mut third, &format!("show create table {copy}"))[0][1].clone().unwrap();
                if described {
                    let next = now.replace(&copy["i.".len()..], &table);
                    assert_eq!(next, created, "AUTO_INCREMENT comes along, too");
                }
                imported.push((copy, wanted.clone()));
            }
            let from = if client_is_ours { &mut client } else { &mut other };
            run(from, "unlock tables");
        }
    }
    // They live on as other tables do.
    for (copy, wanted) in &mut imported {
        for _ in 0..50 {
            change(&mut client, &mut rng, copy);
        }
        *wanted = rows(&mut client, &format!("{LISTED} {copy} order by id"));
    }
    ours.kill();
    let mut ours = Vaquita::start(binary, &data, &[]).unwrap();
    let mut client = Client::connect(&ours.socket(), "i").unwrap();
    run(&mut client, "set names utf8");
    run(&mut client, "set time_zone = '+00:00'");
    for (copy, wanted) in &imported {
        assert!(
            rows(&mut client, &format!("{LISTED} {copy} order by id")) == *wanted,
            "{copy} after a crash"
        );
    }
    ours.stop().unwrap();
    let (code, out, err) = vaquita(&[&"check", &data]);
    assert_eq!((code, &*err), (0, ""), "{out}");
}

/// In a folder of that server that was taken over: it finds the rows there afterwards.
#[test]
fn a_table_of_mysql_is_discarded_and_imported_here() {
    let scratch = Scratch::new("imported-there");
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    let dir = theirs.datadir().to_owned();
    let filled = "insert into d.t (i, n, v) values (1, 1.5, 'Ä'), (2, null, repeat('Ä', 60)), (3, -7, '')";
    theirs
        .sql(&format!(
            "create database d default character set utf8; create table d.t ({COLUMNS}) engine=innodb; {filled};
             create table d.other like d.t; insert into d.other select * from d.t where id > 1; flush tables d.t for export"
        ))
        .unwrap();
    // The session has ended, and the file is whole all the same.
    theirs.shutdown().unwrap();
    let copy = scratch.0.join("t.ibd");
    fs::copy(dir.join("d/t.ibd"), &copy).unwrap();

    let mut ours = Vaquita::start(
        Path::new(env!("CARGO_BIN_EXE_vaquita")),
        &dir,
        &["--take-over", "--skip-grant-tables"],
    )
    .unwrap();
    ours.sql("delete from d.t; alter table d.t discard tablespace; alter table d.other discard tablespace")
        .unwrap();
    for table in ["t", "other"] {
        fs::copy(&copy, dir.join(format!("d/{table}.ibd"))).unwrap();
        ours.sql(&format!("alter table d.{table} import tablespace")).unwrap();
    }
    let wanted = "1\tÄ\n3\t\n";
    assert_eq!(ours.sql("select id, v from d.t where id <> 2").unwrap(), wanted);
    ours.sql("insert into d.other (i) values (9)").unwrap();
    ours.stop().unwrap();
    assert_eq!(vaquita(&[&"check", &dir.display().to_string()]).0, 0);

    theirs.start_again().unwrap();
    let found = theirs.rows("select id, v from d.t where id <> 2; select count(*), max(i) from d.other; check table d.t, d.other").unwrap();
    assert_eq!(
        found,
        [
            vec!["1", "Ä"],
            vec!["3", ""],
            vec!["4", "9"],
            vec!["d.t", "check", "status", "OK"],
            vec!["d.other", "check", "status", "OK"]
        ]
    );
}
