//! Tables in a directory elsewhere (DATA DIRECTORY) over the lives of a folder: restarts, kills, files that somebody moves, directories
//! that are not there for a while; and folders that go from MySQL 5.6.24 to Vaquita and back with such tables.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::{Scratch, vaquita};
use std::fs;
use std::path::{Path, PathBuf};
use vaquita_clients::Vaquita;
use vaquita_engine::{Engine, Options as EngineOptions, ReadOptions, stored};
use vaquita_isolation::mysql::{Answer, Client};
use vaquita_peers::{Mysql56, Options};

/// A data folder and two places for files.
struct Places {
    _scratch: Scratch,
    data: PathBuf,
    far: PathBuf,
    new: PathBuf,
}

impl Places {
    fn new(name: &str) -> Places {
        let scratch = Scratch::new(name);
        let [data, far, new] = ["data", "far", "new"].map(|name| scratch.0.join(name));
        fs::create_dir_all(new.join("d")).unwrap();
        Places { _scratch: scratch, data, far, new }
    }

    fn link(&self, table: &str) -> PathBuf {
        self.data.join(format!("d/{table}.isl"))
    }

    /// Moves a file and says so.
    fn moved(&self, from: &Path, to: &Path, table: &str) {
        fs::rename(from, to).unwrap();
        fs::write(self.link(table), format!("{}\n", to.display())).unwrap();
    }

    /// What statements answer on the folder, which is closed again.
    fn sql(&self, text: &str) -> String {
        let (code, out, err) = self.try_sql(text);
        assert_eq!((code, &*err), (0, ""), "{text}: {out}");
        out
    }

    fn try_sql(&self, text: &str) -> (u8, String, String) {
        vaquita(&[&"sql", &self.data, &"-D", &"d", &"-N", &"-e", &text])
    }

    fn paths(&self) -> String {
        self.sql(
            "select path from information_schema.innodb_sys_datafiles where path like '%/d/%' order by path",
        )
    }

    /// `vaquita check` finds nothing.
    fn is_sound(&self) {
        let (code, out, err) = vaquita(&[&"check", &self.data]);
        assert_eq!((code, &*err), (0, ""), "{out}");
    }
}

/// A folder with tables elsewhere, closed.
fn made(name: &str) -> Places {
    let places = Places::new(name);
    let (code, _, err) = vaquita(&[&"sql", &places.data, &"-e", &"create database d"]);
    assert_eq!((code, &*err), (0, ""));
    let far = places.far.display();
    places.sql(&format!(
        "create table t (a int key, b longtext) data directory='{far}';
         insert into t values (1, repeat('x', 50000)), (2, 'y');
         create table u (a int key) row_format=compact data directory='{far}'; insert into u values (3);
         create table local (a int key); insert into local values (4);"
    ));
    places
}

#[test]
fn files_that_are_moved_are_followed() {
    let places = made("elsewhere-moved");
    let (far, new) = (places.far.join("d/t.ibd"), places.new.join("d/t.ibd"));
    assert_eq!(fs::read_to_string(places.link("t")).unwrap(), far.display().to_string());
    places.is_sound();
    // From there to somewhere else; from the folder to somewhere else; from there to the folder.
    places.moved(&far, &new, "t");
    places.moved(&places.data.join("d/local.ibd"), &places.new.join("d/local.ibd"), "local");
    fs::rename(places.far.join("d/u.ibd"), places.data.join("d/u.ibd")).unwrap();
    fs::remove_file(places.link("u")).unwrap();
    places.is_sound();
    let at = places.new.display();
    assert_eq!(places.paths(), format!("./d/u.ibd\n{at}/d/local.ibd\n{at}/d/t.ibd\n"));
    assert_eq!(
        places.sql("select a, length(b) from t; select * from u; select * from local"),
        "1\t50000\n2\t1\n3\n4\n"
    );
    let shown = places.sql("show create table t; show create table local; show create table u");
    assert_eq!(shown.matches(&format!("DATA DIRECTORY='{at}/'")).count(), 2, "{shown}");
    // They go on there, and come to an end there.
    places.sql(
        "alter table t add c int, algorithm=copy; alter table local engine=innodb; truncate u;
         insert into local values (5); rename table local to renamed",
    );
    assert_eq!(places.paths(), format!("./d/u.ibd\n{at}/d/renamed.ibd\n{at}/d/t.ibd\n"));
    places.is_sound();
    let (code, out, _) = vaquita(&[&"dump", &places.link("t"), &"--format", &"tsv"]);
    assert_ne!(code, 0, "records of COMPACT and DYNAMIC tables are not read without a description: {out}");
    places.sql("drop database d");
    let left: Vec<_> = [&places.far, &places.new]
        .iter()
        .flat_map(|dir| fs::read_dir(dir.join("d")).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(left, Vec::<PathBuf>::new());
    assert!(!places.data.join("d").exists());
}

#[test]
fn a_lost_link_is_made_again_and_two_files_are_told() {
    let places = made("elsewhere-links");
    let link = fs::read(places.link("t")).unwrap();
    fs::remove_file(places.link("t")).unwrap();
    assert_eq!(places.sql("select a from t"), "1\n2\n");
    assert_eq!(fs::read(places.link("t")).unwrap(), link);
    // A link that leads nowhere, beside a file.
    fs::write(places.link("local"), "/nowhere/d/local.ibd").unwrap();
    assert_eq!(places.sql("select a from local"), "4\n");
    assert!(!places.link("local").exists());
    // Both could be the table's.
    fs::copy(places.far.join("d/u.ibd"), places.data.join("d/u.ibd")).unwrap();
    let (code, _, err) = places.try_sql("select * from u");
    assert!(code != 0 && err.contains("both hold it; move one of them away"), "{err}");
    assert_eq!(places.sql("select a from t; select a from local"), "1\n2\n4\n");
    fs::remove_file(places.data.join("d/u.ibd")).unwrap();
    assert_eq!(places.sql("select a from u"), "3\n");
}

/// Only the tables there are out of order while a directory is away; nothing is lost by what is tried meanwhile.
#[test]
fn a_directory_may_come_back() {
    let places = made("elsewhere-missing");
    let away = places.far.with_extension("away");
    fs::rename(&places.far, &away).unwrap();
    assert_eq!(places.sql("insert into local values (5); select * from local"), "4\n5\n");
    for statement in [
        "select * from t",
        "insert into t values (9, '')",
        "truncate table t",
        "rename table t to s",
        "alter table t add c int",
        "show create table t",
    ] {
        let (code, _, err) = places.try_sql(statement);
        let file = places.far.join("d/t.ibd").display().to_string();
        assert!(code != 0 && err.contains(&format!("its file {file} is missing")), "{statement}: {err}");
    }
    assert!(!places.far.exists(), "somebody has made it anew");
    places.sql("drop table u");
    fs::rename(&away, &places.far).unwrap();
    assert_eq!(places.sql("select a from t"), "1\n2\n");
    let (_, _, err) = places.try_sql("select * from u");
    assert!(err.contains("doesn't exist"), "{err}");
}

/// After a kill the log is applied to files elsewhere; not without them, and later it is.
#[test]
fn changes_survive_a_kill() {
    let places = made("elsewhere-killed");
    let binary = Path::new(env!("CARGO_BIN_EXE_vaquita"));
    let mut server = Vaquita::start(binary, &places.data, &[]).unwrap();
    let mut client = Client::connect(&server.socket(), "d").unwrap();
    let far = places.far.display();
    for sql in [
        "insert into t select a + 10, b from t".to_owned(),
        format!("create table v (a int key) data directory='{far}'"),
        "insert into v values (6)".to_owned(),
        "rename table u to w".to_owned(),
        "insert into w values (7)".to_owned(),
        "drop table local".to_owned(),
    ] {
        client.query(&sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    server.kill();
    let away = places.far.with_extension("away");
    fs::rename(&places.far, &away).unwrap();
    let (code, _, err) = places.try_sql("select 1");
    let nowhere = format!("t.isl leads to {}, which is not there", places.far.join("d/t.ibd").display());
    assert!(code != 0 && err.contains("has redo from LSN") && err.contains(&nowhere), "{err}");
    fs::rename(&away, &places.far).unwrap();
    assert_eq!(
        places.sql("select count(*), sum(length(b)) from t; select * from v; select * from w"),
        "4\t100002\n6\n3\n7\n"
    );
    places.is_sound();
}

fn rows(client: &mut Client, sql: &str) -> Vec<Vec<Option<String>>> {
    match client.query(sql) {
        Ok(Answer::Rows(rows)) => rows,
        other => panic!("{sql}: {other:?}"),
    }
}

/// The numbers in the first column of a table.
fn numbers(engine: &Engine, name: &str) -> Vec<i32> {
    let mut session = engine.session();
    let found = session.run(|s| {
        let table = s.table(name)?;
        let mut cursor = s.cursor(&table, &ReadOptions::default())?;
        cursor.seek_first();
        let mut out = Vec::new();
        while let Some(row) = s.next(&mut cursor)? {
            let bytes = row.column(0).unwrap_or_default();
            out.push((0..100).find(|n| stored::int(*n) == bytes).unwrap());
        }
        Ok(out)
    });
    found.unwrap()
}

fn insert(engine: &Engine, name: &str, number: i32) {
    let done = engine.session().run(|s| {
        let table = s.table(name)?;
        s.insert(&table, &[Some(&stored::int(number))]).map(|_| ())
    });
    done.unwrap();
}

#[test]
fn folders_of_mysql_come_and_go() {
    let places = Places::new("elsewhere-travels");
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    let (far, data) = (places.far.display(), theirs.datadir().to_owned());
    theirs
        .sql(&format!(
            "set global innodb_file_format=Barracuda; create database d; use d;
             create table c (a int not null primary key) data directory='{far}'; insert into c values (1);
             create table r (a int not null primary key) row_format=redundant data directory='{far}'; insert into r values (2);
             create table y (a int not null primary key) row_format=dynamic data directory='{far}'; insert into y values (3);
             create table m (a int not null primary key) data directory='{far}'; insert into m values (4);
             create table h (a int not null primary key); insert into h values (5);"
        ))
        .unwrap();
    theirs.shutdown_slow().unwrap();
    let sound = || {
        let (code, out, err) = vaquita(&[&"check", &data]);
        assert_eq!((code, &*err), (0, ""), "{out}");
    };
    sound();
    // One goes from there to another place, one from the folder.
    for (from, table) in [(places.far.join("d/m.ibd"), "m"), (data.join("d/h.ibd"), "h")] {
        let to = places.new.join(format!("d/{table}.ibd"));
        fs::rename(from, &to).unwrap();
        fs::write(data.join(format!("d/{table}.isl")), to.display().to_string()).unwrap();
    }
    sound();
    let options = || {
        let mut options = EngineOptions { background: false, ..EngineOptions::new(&data) };
        options.storage.take_over = true;
        options
    };
    let tables = [("c", 1), ("r", 2), ("y", 3), ("m", 4), ("h", 5)];
    let engine = Engine::open(options()).unwrap();
    for (table, number) in tables {
        let name = format!("d/{table}");
        assert_eq!(numbers(&engine, &name), [number]);
        insert(&engine, &name, number + 10);
    }
    // A crash: what comes back is found by its links.
    drop(engine);
    let engine = Engine::open(options()).unwrap();
    engine.session().truncate_table("d/r").unwrap();
    insert(&engine, "d/r", 22);
    engine.close().unwrap();
    drop(engine);
    sound();
    theirs.start_again().unwrap();
    let mut client = Client::connect(&theirs.socket(), "d").unwrap();
    for (table, number) in tables {
        let wanted = if table == "r" { vec![22] } else { vec![number, number + 10] };
        let found = rows(&mut client, &format!("select a from {table}"));
        let found: Vec<i32> = found.iter().map(|row| row[0].as_deref().unwrap().parse().unwrap()).collect();
        assert_eq!(found, wanted, "{table}");
        let report = rows(&mut client, &format!("check table {table}"));
        assert_eq!(report.last().unwrap()[3].as_deref(), Some("OK"), "{report:?}");
        client.query(&format!("alter table {table} engine=innodb")).unwrap();
    }
    let listed =
        "select path from information_schema.innodb_sys_datafiles where path like '/%' order by path";
    let paths: Vec<String> =
        rows(&mut client, listed).into_iter().map(|mut row| row.remove(0).unwrap()).collect();
    assert!(paths.iter().any(|path| *path == places.new.join("d/m.ibd").display().to_string()), "{paths:?}");
    drop(client);
    theirs.shutdown_slow().unwrap();
    sound();
}
