//! Tables in the system tablespace (`innodb_file_per_table=OFF`): our checks find nothing wrong, they are dumped, a real MySQL 5.6.24
//! works with them, and what it wrote is read here. The list of the buffer pool's pages goes both ways with them.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use common::{Scratch, vaquita};
use std::path::Path;
use vaquita_engine::hot_set::Progress;
use vaquita_peers::{Mysql56, Options, until};

const TABLES: &str = "create database w default character set latin1; use w;
    create table a (id int primary key, v varchar(200), t text, key (v)) engine=innodb row_format=compact;
    create table b (n bigint auto_increment primary key, u varchar(30) unique, d datetime, key (d)) engine=innodb
      row_format=redundant;
    create table c (id int primary key, p int, foreign key (p) references a (id)) engine=innodb row_format=compact;";

const ROWS: &str = "insert into w.a values (1, 'x', 'y'), (2, 'b', repeat('z', 20000));
    insert into w.a select id + 2, v, t from w.a; insert into w.a select id + 4, concat(v, id), t from w.a;
    insert into w.a select id + 8, v, t from w.a; insert into w.b (u, d) values ('q', '2026-11-23 01:02:03'), ('r', null);
    create table w.gone like w.a; insert into w.gone select * from w.a; drop table w.gone;
    update w.a set v = 'changed' where id > 3; delete from w.a where id = 5; insert into w.c values (1, 1);";

/// Statements in a folder, in this process.
fn sql(dir: &Path, text: &str) -> String {
    let set =
        ["innodb_file_per_table=OFF", "innodb_log_file_size=16M", "innodb_buffer_pool_dump_at_shutdown=ON"];
    let (code, out, err) = vaquita(&[
        &"sql",
        &dir,
        &"--set",
        &set[0],
        &"--set",
        &set[1],
        &"--set",
        &set[2],
        &"--skip-column-names",
        &"--execute",
        &text,
    ]);
    assert_eq!((code, err.as_str()), (0, ""), "{text}: {out}");
    out
}

fn check(dir: &Path) {
    let (code, out, err) = vaquita(&[&"check", &dir]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
}

#[test]
fn tables_of_the_system_tablespace_go_to_mysql_and_back() {
    let scratch = Scratch::new("system-tablespace");
    let dir = scratch.0.join("data");
    sql(&dir, TABLES);
    sql(&dir, ROWS);
    let files = std::fs::read_dir(dir.join("w")).unwrap().map(|file| file.unwrap().path());
    assert_eq!(files.filter(|file| file.extension().is_some_and(|e| e == "ibd")).count(), 0);
    check(&dir);
    let ibdata = dir.join("ibdata1");
    let (code, out, err) = vaquita(&[&"dump", &ibdata, &"--table", &"w/b"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("1\tq\t2026-11-23 01:02:03\n2\tr\t"), "{out}");

    // What a server of MySQL knows of tables besides InnoDB it has written itself.
    let mut other = Mysql56::start(Options::new().set("innodb_file_per_table", 0)).unwrap();
    other.sql(TABLES).unwrap();
    other.shutdown().unwrap();
    for table in ["a", "b", "c"] {
        let name = format!("w/{table}.frm");
        std::fs::copy(other.datadir().join(&name), dir.join(&name)).unwrap();
    }
    let options = Options::new()
        .set("skip_grant_tables", 1)
        .set("innodb_file_per_table", 0)
        .set("innodb_buffer_pool_dump_at_shutdown", 1)
        .set("innodb_buffer_pool_load_at_startup", 1);
    let mut server = Mysql56::open(&dir, options).unwrap();
    let rows = server.rows("check table w.a, w.b, w.c extended").unwrap();
    assert!(rows.len() == 3 && rows.iter().all(|row| row[3] == "OK"), "{rows:?}");
    let counted = server.rows("select count(*), sum(length(t)), sum(v = 'changed') from w.a").unwrap();
    assert_eq!(counted, [["15", "160007", "12"]]);
    until("the pages of the list are loaded", || {
        let status = server.rows("show status like 'Innodb_buffer_pool_load_status'").unwrap();
        assert!(!status[0][1].contains("rror"), "{status:?}");
        status[0][1].contains("load completed at")
    });
    server
        .sql("insert into w.a values (100, 'by mysql', repeat('q', 30000)); update w.b set u = concat(u, '!');
              insert into w.c values (2, 100); create table w.made (id int primary key, v varchar(20)) engine=innodb;
              insert into w.made values (1, 'm');")
        .unwrap();
    server.shutdown().unwrap();

    loads_what_mysql_listed(&dir);
    check(&dir);
    let checked = sql(&dir, "check table w.a, w.b, w.c, w.made");
    assert_eq!(checked.matches("\tstatus\tOK").count(), 4, "{checked}");
    let back =
        "select count(*), sum(length(t)) from w.a; select group_concat(u) from w.b; select * from w.made";
    assert_eq!(sql(&dir, back), "16\t190007\nq!,r!\n1\tm\n");
}

/// The list that the server wrote is one here.
fn loads_what_mysql_listed(dir: &Path) {
    let list = std::fs::read_to_string(dir.join("ib_buffer_pool")).unwrap();
    assert!(list.lines().count() > 50, "{list}");
    let variables = [("innodb_log_file_size", "16M"), ("innodb_buffer_pool_load_at_startup", "ON")];
    let db = vaquita_sql::Database::open(vaquita_sql::Options {
        dir: dir.to_owned(),
        variables: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
    })
    .unwrap();
    until("the pages of the list are loaded", || match db.engine().core().hot_set.progress().1 {
        Progress::Completed { .. } => true,
        Progress::Said(text) => {
            assert!(!text.contains("not loaded"), "{text}");
            false
        }
        Progress::NotStarted => false,
    });
    db.close().unwrap();
}
