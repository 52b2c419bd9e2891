//! FULLTEXT keys that were made here, judged by a real MySQL 5.6.24: tables of its folder are written anew, emptied, moved and get their keys
//! anew, with the definitions that their `.frm` files have. The server finds the same words at the same places, answers as before, checks
//! the tables, changes them and drops them.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use vaquita_catalog::Definition;
use vaquita_engine::table::Table;
use vaquita_engine::{
    Alteration, Concurrency, ConvertRow, Engine, Error, Field, FullTextSpec, KeptKeys, Options, Session,
};
use vaquita_peers::{Mysql56, Options as ServerOptions, Server};

const TABLES: &str = "
    create database k; create database l; use k; set names utf8;
    create table hidden (id int primary key, a varchar(100), b text, n int, key (n), fulltext ab (a, b), fulltext b (b)) charset utf8;
    create table own (FTS_DOC_ID bigint unsigned not null primary key, a text, fulltext a (a)) charset utf8 collate utf8_unicode_ci;
    create table old (id int primary key, a text, fulltext a (a)) row_format=redundant charset latin1;
    create table nokey (a text not null, fulltext a (a)) row_format=dynamic charset utf8mb4;
    create table moved (id int primary key, a text, fulltext a (a)) charset utf8;
    create table emptied (id int primary key, a text, fulltext a (a)) charset utf8;
    create table bare (id int primary key, a text, fulltext a (a)) charset utf8;";

const SENTENCES: [&str; 7] = [
    "a page of the log",
    "the log is written, page by page",
    "pages are latched; a log is not",
    "Äpfel und Birnen",
    "apple, pear and the fig",
    "a transaction locks the row of the page",
    "the row locks nothing",
];
const QUERIES: [&str; 8] =
    ["page", "+page -log", "log row", "\"the log\"", "pag*", "äpfel fig", "+(row fig) ~page", "nowhere"];

fn fill(server: &Server) {
    let mut sql = format!("{TABLES}\n");
    for id in 1..=30 {
        let (a, b) = (SENTENCES[id % 7], SENTENCES[id * 3 % 5]);
        let long = format!("{b} {}", "x ".repeat(if id % 9 == 0 { 9000 } else { 0 }));
        sql += &format!("insert into hidden values ({id}, '{a}', '{long}', {id});\n");
        sql += &format!("insert into own values ({}, '{a}, {b}');\n", id * 3);
        for table in ["old", "moved", "emptied"] {
            sql += &format!("insert into {table} values ({id}, '{b} {a}');\n");
        }
        sql += &format!("insert into nokey values ('{a} {b}');\n");
    }
    sql += "set global innodb_optimize_fulltext_only = 1; optimize table hidden, own, old, nokey, moved, emptied;";
    server.sql(&sql).unwrap();
}

/// What the server answers: the words of an index with their places, and the rows that are found with their ranks.
fn answers(server: &Server, table: &str, key: &str, columns: &str) -> String {
    let mut sql = format!(
        "set names utf8; analyze table {table}; set global innodb_ft_aux_table = '{}';
         select * from information_schema.innodb_ft_index_table order by 1, 5, 6;",
        table.replace('.', "/")
    );
    for query in QUERIES {
        sql += &format!(
            "select {key}, match ({columns}) against ('{query}' in boolean mode) r from {table}
             where match ({columns}) against ('{query}' in boolean mode);"
        );
    }
    // Sorted here: 5.6.24 does not survive sorting FTS_DOC_ID by rank.
    let mut lines: Vec<String> = server.sql(&sql).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines.join("\n")
}

/// Rows as they are, without the numbers of documents that nobody has declared.
struct Same(usize);

impl ConvertRow<Error> for Same {
    fn convert(
        &mut self,
        row: &[Field<'_>],
        with: &mut dyn FnMut(&[Field<'_>]) -> vaquita_engine::Result<()>,
    ) -> vaquita_engine::Result<()> {
        with(&row[..self.0])
    }
}

/// Writes a table anew as it is.
fn rebuild(session: &mut Session, name: &str) {
    let table = session.run(|s| s.table(name)).unwrap();
    let definition = Definition::of(&table).to_edit();
    let n = definition.columns.len();
    let mut spec = definition.to_spec(Some("k/#sql-vq1")).unwrap();
    spec.file_per_table = true;
    let origins: Vec<Option<usize>> = (0..n).map(Some).collect();
    let same = |_: &Arc<Table>, _: &Arc<Table>| Ok(Same(n));
    session
        .rebuild_table_beside(name, &spec, KeptKeys::default(), &origins, Concurrency::Writes, same)
        .map(drop)
        .unwrap_or_else(|e: Error| panic!("{name}: {e}"));
}

/// Takes the FULLTEXT key of a table away and makes it again, its words divided so.
fn make_again(session: &mut Session, name: &str, split: Option<&str>) {
    let table = session.run(|s| s.table(name)).unwrap();
    let index = table.fulltext[0].clone();
    drop(table);
    session.drop_index(name, &index.name).unwrap();
    let (name_of_key, columns) = (index.name.clone(), index.columns.clone());
    let split = split.map(str::to_owned);
    let fulltext = [FullTextSpec { name: name_of_key, columns, parser: None, split }];
    let table = session.run(|s| s.table(name)).unwrap();
    let alteration = Alteration { fulltext: &fulltext, ..Alteration::default() };
    let done = session.alter_in_place(&table, &[], |t| t.alter(&[], alteration, Concurrency::Writes));
    assert!(done.unwrap(), "{name}");
}

fn take_over(dir: &Path) -> Engine {
    let mut options = Options { background: false, ..Options::new(dir) };
    options.storage.log_file_size = 16 << 20;
    options.storage.take_over = true;
    Engine::open(options).unwrap()
}

fn change(dir: &Path) {
    let engine = take_over(dir);
    let mut session = engine.session();
    for name in ["k/hidden", "k/old", "k/nokey"] {
        rebuild(&mut session, name);
    }
    make_again(&mut session, "k/own", None);
    make_again(&mut session, "k/bare", None);
    session.truncate_table("k/emptied").unwrap();
    session.rename_table("k/moved", "l/moved").unwrap();
    fs::rename(dir.join("k/moved.frm"), dir.join("l/moved.frm")).unwrap();
    drop(session);
    engine.close().unwrap();
}

#[test]
fn the_server_goes_on_with_keys_that_were_made_here() {
    let mut server = Mysql56::start(ServerOptions::new()).unwrap();
    fill(&server);
    let tables = [
        ("k.hidden", "id", "a, b"),
        ("k.hidden", "id", "b"),
        ("k.own", "FTS_DOC_ID", "a"),
        ("k.old", "id", "a"),
        ("k.nokey", "a", "a"),
    ];
    let ask = |server: &Server| tables.map(|(table, key, columns)| answers(server, table, key, columns));
    let before = ask(&server);
    let moved = answers(&server, "k.moved", "id", "a");
    server.shutdown().unwrap();
    change(server.datadir());

    server.start_again().unwrap();
    for (before, after) in before.iter().zip(ask(&server)) {
        assert_eq!(*before, after);
    }
    assert_eq!(answers(&server, "l.moved", "id", "a").replace("l.moved", "k.moved"), moved);
    let all = "k.hidden, k.own, k.old, k.nokey, k.emptied, k.bare, l.moved";
    let checked = server.rows(&format!("check table {all} extended")).unwrap();
    assert!(checked.len() == 7 && checked.iter().all(|row| row[3] == "OK"), "{checked:?}");

    // It goes on with them.
    let changes = "set names utf8; use k;
        insert into hidden values (100, 'kiwi', 'a kiwi', 1); insert into own values (100, 'kiwi'); insert into old values (100, 'kiwi');
        insert into nokey values ('kiwi'); insert into emptied values (100, 'kiwi'); insert into bare values (100, 'kiwi');
        insert into l.moved values (100, 'kiwi');
        update hidden set a = 'melon' where id = 7; delete from old where id = 5; update own set a = 'melon' where FTS_DOC_ID = 9 and false;";
    server.sql(changes).unwrap();
    for table in ["k.own", "k.old", "k.nokey", "k.emptied", "k.bare", "l.moved"] {
        let found =
            server.rows(&format!("select count(*) from {table} where match (a) against ('kiwi')")).unwrap();
        assert_eq!(found, [["1"]], "{table}");
    }
    let found = "select id from k.hidden where match (a, b) against ('kiwi melon') order by id";
    assert_eq!(server.rows(found).unwrap(), [["7"], ["100"]]);
    let gone = "select count(*) from k.old where match (a) against ('page') and id = 5";
    assert_eq!(server.rows(gone).unwrap(), [["0"]]);
    server.sql(&format!("optimize table {all}")).unwrap();
    assert_eq!(server.rows(found).unwrap(), [["7"], ["100"]]);
    server.sql("alter table k.old add column z int; alter table k.own drop key a; drop database k; drop database l").unwrap();
    let left = "select name from information_schema.innodb_sys_tables where name like '%FTS%'";
    assert_eq!(server.rows(left).unwrap(), Vec::<Vec<String>>::new());
    server.shutdown().unwrap();
    let log = server.error_log();
    assert!(!log.contains("[ERROR]"), "{log}");
}

/// The server would look for words in the tables in which it has them itself, and find some of them: such an index is marked as one that
/// is corrupt.
#[test]
fn the_server_does_not_look_at_words_that_are_divided_otherwise() {
    let mut server = Mysql56::start(ServerOptions::new()).unwrap();
    server
        .sql(
            "create database k; use k;
             create table t (id int primary key, a text, b text, fulltext a (a), fulltext b (b)) charset utf8;
             insert into t values (1, 'apple', 'apple'), (2, 'pear', 'pear'), (3, 'plum', 'zest');",
        )
        .unwrap();
    server.shutdown().unwrap();
    let engine = take_over(server.datadir());
    make_again(&mut engine.session(), "k/t", Some("hash"));
    engine.close().unwrap();
    drop(engine);

    server.start_again().unwrap();
    let found = |server: &Server, column: &str, word: &str| {
        let sql = format!("select id from k.t where match ({column}) against ('{word}') order by id");
        server.rows(&sql).map(|rows| rows.concat().join(" ")).map_err(|e| e.to_string())
    };
    for word in ["apple", "pear", "plum"] {
        let refused = found(&server, "a", word).unwrap_err();
        assert!(refused.contains("ERROR 1764"), "{refused}");
    }
    assert_eq!(found(&server, "b", "pear").unwrap(), "2", "the other index is as ever");
    let checked = server.rows("check table k.t").unwrap();
    assert!(checked[0][3].contains("marked as corrupted"), "{checked:?}");
    // What the server writes meanwhile is found here, too, as long as nobody has made the index anew.
    server.sql("insert into k.t values (4, 'apple fig', 'apple fig'); delete from k.t where id = 2").unwrap();
    server.shutdown().unwrap();
    let engine = take_over(server.datadir());
    let table = engine.core().table("k/t").unwrap();
    assert_eq!(table.fulltext.iter().map(|i| i.split.as_deref()).collect::<Vec<_>>(), [None, Some("hash")]);
    vaquita_engine::fulltext::check(engine.core(), &table, &mut || true).unwrap();
    drop(table);
    engine.close().unwrap();
    drop(engine);

    server.start_again().unwrap();
    server.sql("alter table k.t drop key a, add fulltext key a (a)").unwrap();
    assert_eq!(
        ["apple", "fig", "pear", "plum"].map(|word| found(&server, "a", word).unwrap()),
        ["1 4", "4", "", "3"]
    );
    server.shutdown().unwrap();
    // The mark went with the index, and what was kept of the other one does not count.
    let engine = take_over(server.datadir());
    let table = engine.core().table("k/t").unwrap();
    assert!(table.fulltext.iter().all(|index| index.split.is_none()), "{:?}", table.fulltext);
    vaquita_engine::fulltext::check(engine.core(), &table, &mut || true).unwrap();
    drop(table);
    engine.close().unwrap();
}
