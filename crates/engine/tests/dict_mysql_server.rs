//! A folder travels: a real MySQL 5.6.24 makes it, the engine changes rows and definitions in it, and the server goes on
//! with it as with its own.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use vaquita_engine::row::entry::push_text;
use vaquita_engine::{Engine, IndexSpec, Options, stored};
use vaquita_format::index_def::KeyPart;
use vaquita_peers::{Mysql56, Options as ServerOptions, Server};

fn options() -> ServerOptions {
    ServerOptions::new().set("innodb_log_file_size", 4 << 20).set("innodb_strict_mode", 1)
}

fn open(dir: &Path) -> Engine {
    let mut options = Options { background: false, ..Options::new(dir) };
    options.storage.log_file_size = 4 << 20;
    options.storage.take_over = true;
    Engine::open(options).unwrap()
}

fn check_all(server: &Server, tables: &[&str]) {
    for table in tables {
        let rows = server.rows(&format!("check table d.{table} extended")).unwrap();
        assert!(rows.iter().all(|r| r[3] == "OK"), "{rows:?}\n{}", server.error_log());
    }
}

#[test]
fn a_folder_travels_to_the_engine_and_back() {
    let mut server = Mysql56::start(options()).unwrap();
    server
        .sql(
            "create database d; use d;
             create table parent (id int not null primary key, v varchar(40) character set utf8, key (v)) engine=innodb;
             create table child (id int not null primary key, p int, key (p), \
               constraint c foreign key (p) references parent (id) on delete cascade) engine=innodb row_format=dynamic;
             create table emptied (id int not null auto_increment primary key, v varchar(40) character set utf8, \
               key (v)) engine=innodb;
             create table dropped (id int not null primary key) engine=innodb;
             create table renamed (id int not null primary key, n int, key n (n)) engine=innodb row_format=redundant;
             set global innodb_file_per_table=0;
             create table inside (id int not null primary key, n int, key n (n)) engine=innodb;
             create table inside_dropped (id int not null primary key, n int, key n (n)) engine=innodb;
             set global innodb_file_per_table=1;
             insert into parent values (1,'one'),(2,'two'),(3,'three');
             insert into child values (1,1),(2,2),(3,2),(4,null);
             insert into emptied (v) values ('a'),('b'),('c');
             insert into renamed values (1,10),(2,20); insert into inside values (1,10),(2,20);
             insert into inside_dropped values (1,1); delete from parent where id = 1; update inside set n = 11;",
        )
        .unwrap();
    let dir = server.datadir().to_owned();
    server.shutdown_slow().unwrap();

    let engine = open(&dir);
    let mut session = engine.session();
    session
        .run(|s| {
            let parent = s.table("d/parent")?;
            let (id, text) = (stored::int(7), "seven");
            s.insert(&parent, &[Some(&id), Some(text.as_bytes())])?;
            let child = s.table("d/child")?;
            s.insert(&child, &[Some(&stored::int(70)), Some(&stored::int(7))])
        })
        .unwrap();
    let refused = session.run(|s| {
        let child = s.table("d/child")?;
        s.insert(&child, &[Some(&stored::int(71)), Some(&stored::int(8))])
    });
    assert!(refused.is_err(), "the server's foreign key holds here");
    session.truncate_table("d/emptied").unwrap();
    session.drop_table("d/dropped").unwrap();
    session.drop_table("d/inside_dropped").unwrap();
    session.rename_table("d/renamed", "d/other").unwrap();
    for table in ["d/other", "d/inside"] {
        session.drop_index(table, "n").unwrap();
        let again = IndexSpec {
            name: "n".into(),
            parts: vec![KeyPart::whole(1)],
            unique: false,
            comment: String::new(),
        };
        session.add_indexes(table, &[again]).unwrap();
    }
    drop(session);
    while engine.core().purge_step().unwrap() {}
    engine.close().unwrap();
    drop(engine);
    // The server's own part of a definition is the caller's business here.
    for table in ["dropped", "inside_dropped"] {
        std::fs::remove_file(dir.join(format!("d/{table}.frm"))).unwrap();
    }
    std::fs::rename(dir.join("d/renamed.frm"), dir.join("d/other.frm")).unwrap();

    server.start_again().unwrap();
    check_all(&server, &["parent", "child", "emptied", "other", "inside"]);
    let rows =
        |sql: &str| -> Vec<String> { server.rows(sql).unwrap().into_iter().map(|r| r.join(" ")).collect() };
    assert_eq!(rows("select * from d.parent order by id"), ["2 two", "3 three", "7 seven"]);
    assert_eq!(rows("select * from d.child order by id"), ["2 2", "3 2", "4 NULL", "70 7"]);
    assert_eq!(rows("select count(*) from d.emptied"), ["0"]);
    assert_eq!(rows("select * from d.other force index (n) where n = 20"), ["2 20"]);
    assert_eq!(rows("select * from d.inside force index (n) order by n"), ["1 11", "2 11"]);
    server
        .sql(
            "use d; insert into emptied (v) values ('x'); delete from parent where id = 7; drop table inside;
             create table dropped (id int not null primary key) engine=innodb; insert into other values (3, 30);",
        )
        .unwrap();
    assert_eq!(rows("select count(*) from d.child where id = 70"), ["0"], "the server cascades");
    let log = server.error_log();
    assert!(!log.contains("InnoDB: Error") && !log.contains("orrupt"), "{log}");
    server.shutdown_slow().unwrap();

    let engine = open(&dir);
    let core = engine.core();
    let table = core.table("d/emptied").unwrap();
    let mut cursor = vaquita_btree::Cursor::new(&table.clustered().tree, &core.storage);
    assert!(cursor.first().unwrap());
    let record = cursor.record().unwrap();
    let mut offsets = vaquita_format::record::Offsets::new();
    record.parse(table.clustered().def(), &mut offsets).unwrap();
    let mut text = String::new();
    push_text(&table.columns[1], record.field(&offsets, table.cluster_fields[1]), &mut text);
    assert_eq!(text, "x");
}

/// The dictionary's names are in the order the server keeps them in, whatever case and letters they have.
#[test]
fn names_are_in_the_order_of_the_server() {
    let mut server = Mysql56::start(options()).unwrap();
    server.sql("create database d").unwrap();
    server.sql("create table d.p (id int not null primary key) engine=innodb").unwrap();
    let names = [
        "Zeta", "alpha", "_u", "B1", "b0", "Ω", "ä", "z z", "$x", "[", "aa", "Ab", "AB1", "ß", "a-b", "A_B",
        "^",
    ];
    for (n, name) in names.iter().enumerate() {
        let table = format!("{}{n}", if n % 2 == 0 { 'T' } else { 't' });
        server
            .sql(&format!(
                "set names utf8; create table d.`{table} {name}` (n int, key (n), \
                 constraint `{name}` foreign key (n) references d.p (id)) engine=innodb"
            ))
            .unwrap();
    }
    let dir = server.datadir().to_owned();
    server.shutdown_slow().unwrap();
    let engine = open(&dir);
    let core = engine.core();
    for name in ["SYS_TABLES", "SYS_COLUMNS", "SYS_INDEXES", "SYS_FIELDS", "SYS_FOREIGN", "SYS_FOREIGN_COLS"]
    {
        let table = core.table(name).unwrap();
        for index in &table.indexes {
            let report = vaquita_btree::validate(&index.tree, &core.storage);
            assert!(report.is_ok(), "{name}.{}: {}", index.name, report.unwrap_err());
        }
    }
    let parent = core.table("d/p").unwrap();
    assert_eq!(parent.referenced_by.len(), names.len());
    for name in core.dict.tables(&core.storage, "d").unwrap() {
        let table = core.table(&name).unwrap();
        assert_eq!(table.foreign_keys.len(), usize::from(name != "d/p"), "{name}");
    }
}
