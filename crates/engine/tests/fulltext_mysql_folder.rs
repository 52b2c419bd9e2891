//! A real MySQL 5.6.24 indexes texts; the engine opens its folder and gives the same answers, to the digit of ranks: after the
//! server has ended, and after it was killed with words in its memory only.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use vaquita_engine::fulltext::{self, DocId, FullTextReader, Mode, Ranking, doc_id_column};
use vaquita_engine::{Engine, Error, Options, ReadOptions, Statement, Table};
use vaquita_peers::{Mysql56, Options as ServerOptions, Server};

const SMALL_LOG: u64 = 4 << 20;

/// Ranks go by the number of rows: all pages are looked at for it, however many there are.
fn server_options() -> ServerOptions {
    ServerOptions::new()
        .set("innodb_log_file_size", SMALL_LOG)
        .set("innodb_stats_persistent_sample_pages", 10_000)
}

fn open(dir: &Path) -> Engine {
    let mut options = Options { background: false, ..Options::new(dir) };
    options.storage.log_file_size = SMALL_LOG;
    options.storage.take_over = true;
    Engine::open(options).unwrap()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// Paragraphs of a page of this project.
fn paragraphs(page: &str) -> Vec<String> {
    let path = format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.split("\n\n").map(|paragraph| paragraph.trim().to_owned()).collect()
}

/// Tables of several character sets: documents numbered by the user and by InnoDB, indexed before and after there were rows,
/// some changed, some gone, some of that before the words were written and some after.
fn fill(server: &Server) {
    let mut sql = String::from(
        "create database d; use d; set names utf8;
         create table own (FTS_DOC_ID bigint unsigned not null primary key, t text, fulltext key ft (t)) charset utf8;
         create table hidden (id int not null primary key, a varchar(200), t text, fulltext key ft (a, t), fulltext key only_t (t))
           charset latin1;
         create table empty (id int not null primary key, a varchar(20), b varchar(20), t text) charset utf8;
         insert into empty values (1, '', 'a', 'the pear tree'), (2, 'pear', '', 'pear tree'), (3, '', '', 'tree'), (4, 'pear', 'tree', '');
         alter table empty add fulltext key ft (a, b, t);
         insert into empty values (5, '', '', 'a pear tree'), (6, 'tree', '', 'pear');
         create table late (id int not null primary key, t text) charset utf8 collate utf8_unicode_ci;\n",
    );
    for (id, text) in paragraphs("transactions.md").iter().chain(&paragraphs("recovery.md")).enumerate() {
        let (id, text) = (id + 1, quoted(text));
        sql += &format!("insert into own values ({}, {text});\n", id * 4);
        sql += &format!("insert into hidden values ({id}, 'page {id} de l''été', {text});\n");
        sql += &format!("insert into late values ({id}, {text});\n");
    }
    sql += "alter table late add fulltext key ft (t); delete from own where FTS_DOC_ID = 20;
            set global innodb_optimize_fulltext_only = 1; optimize table own; optimize table hidden;
            delete from own where FTS_DOC_ID in (32, 44); delete from hidden where id in (3, 7);
            insert into own values (5000, 'a transaction and a lock, a checkpoint'), (5001, 'a rollback'), (5002, 'a lock that goes');
            delete from own where FTS_DOC_ID = 5002;
            insert into late values (9000, 'Der Prüfpunkt checkpoint rollback STRASSE straße');
            analyze table own, hidden, late;";
    server.sql(&sql).unwrap();
}

const QUERIES: [(Mode, &str); 22] = [
    (Mode::Natural, "transaction"),
    (Mode::Natural, "a lock of the checkpoint"),
    (Mode::Natural, "\"the log\" page"),
    (Mode::Natural, "nowhere"),
    (Mode::Natural, "strasse"),
    (Mode::Expanded, "rollback"),
    (Mode::Boolean, "+transaction -lock"),
    (Mode::Boolean, "+lock* >page <undo"),
    (Mode::Boolean, "trans*"),
    (Mode::Boolean, "che*"),
    (Mode::Boolean, "+(checkpoint rollback) ~page"),
    (Mode::Boolean, "\"read view\""),
    (Mode::Boolean, "\"a checkpoint\""),
    (Mode::Boolean, "\"transaction lock\"@20"),
    (Mode::Boolean, "+the +transaction"),
    (Mode::Boolean, "page -été"),
    (Mode::Boolean, "+page +ete"),
    (Mode::Boolean, "prüf*"),
    (Mode::Boolean, "log.page"),
    (Mode::Boolean, "rollback* commit*"),
    (Mode::Boolean, "lock >lock"),
    (Mode::Boolean, "+innodb +recovery"),
];

/// Index, its columns, and how documents are called in answers.
const INDEXES: [(&str, &str, &str, &str); 4] = [
    ("own", "ft", "t", "FTS_DOC_ID"),
    ("hidden", "ft", "a, t", "id"),
    ("hidden", "only_t", "t", "id"),
    ("late", "ft", "t", "id"),
];

fn server_answers(server: &Server) -> Vec<Vec<(u64, f64)>> {
    let mut answers = Vec::new();
    for (table, _, columns, id) in INDEXES {
        for (mode, query) in QUERIES {
            let mode = match mode {
                Mode::Natural => "",
                Mode::Expanded => "with query expansion",
                Mode::Boolean => "in boolean mode",
            };
            let matching = format!("match ({columns}) against ({} {mode})", quoted(query));
            let sql = format!(
                "set names utf8; select {id}, {matching} from d.{table} where {matching} order by {id}"
            );
            let rows = server.rows(&sql).unwrap();
            answers.push(rows.iter().map(|row| (row[0].parse().unwrap(), row[1].parse().unwrap())).collect());
        }
    }
    answers
}

/// How the documents of a table are called in answers: by its first column.
fn ids(statement: &mut Statement<'_>, table: &Arc<Table>) -> Result<HashMap<DocId, u64>, Error> {
    let columns = [doc_id_column(table).unwrap(), 0];
    let mut cursor = statement.cursor(table, &ReadOptions::by_index(0).columns(columns))?;
    let mut ids = HashMap::new();
    while let Some(row) = statement.next(&mut cursor)? {
        // Unsigned, or positive with the sign turned around.
        let number = |bytes: &[u8]| bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        let id = row.column(1).unwrap();
        ids.insert(
            DocId(number(row.column(0).unwrap())),
            number(id) & if id.len() == 4 { 0x7FFF_FFFF } else { u64::MAX },
        );
    }
    Ok(ids)
}

fn our_answers(engine: &Engine) -> Vec<Vec<(u64, f64)>> {
    let mut answers = Vec::new();
    let mut session = engine.session();
    for (name, index, ..) in INDEXES {
        for (mode, query) in QUERIES {
            let found = session.run(|statement| {
                let table = statement.table(&format!("d/{name}"))?;
                let index = table.fulltext.iter().find(|found| found.name == index).unwrap();
                let ids = ids(statement, &table)?;
                let reader = FullTextReader::open(engine.core(), &table, index)?;
                let charset = reader.collation().charset();
                let mut text = Vec::new();
                query.chars().for_each(|c| assert!(charset.push(u32::from(c), &mut text)));
                let found = reader.search(mode, &Ranking::Innodb, &text).unwrap().into_iter();
                Ok(found.map(|found| (ids[&found.doc], f64::from(found.rank))).collect::<Vec<_>>())
            });
            answers.push(found.unwrap().into_iter().filter(|(_, rank)| *rank != 0.0).collect());
        }
    }
    answers
}

fn compare(theirs: &[Vec<(u64, f64)>], ours: &[Vec<(u64, f64)>]) {
    let mut found = 0;
    for (at, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
        let (index, query) = (INDEXES[at / QUERIES.len()], QUERIES[at % QUERIES.len()]);
        assert_eq!(ours, theirs, "{index:?} {query:?}");
        found += theirs.len();
    }
    assert!(found > 500, "{found}");
}

#[test]
fn a_server_that_ended() {
    let mut server = Mysql56::start(server_options()).unwrap();
    fill(&server);
    let theirs = server_answers(&server);
    let dir = server.datadir().to_owned();
    server.shutdown().unwrap();

    let engine = open(&dir);
    compare(&theirs, &our_answers(&engine));
    // Of texts behind an empty one the server has the places in two ways.
    let mut session = engine.session();
    let found = session.run(|statement| {
        let table = statement.table("d/empty")?;
        fulltext::check(engine.core(), &table, &mut || true)?;
        let ids = ids(statement, &table)?;
        let reader = FullTextReader::open(engine.core(), &table, &table.fulltext[0])?;
        let found = reader.search(Mode::Boolean, &Ranking::Innodb, b"\"pear tree\"").unwrap();
        Ok(found.iter().map(|found| ids[&found.doc]).collect::<Vec<_>>())
    });
    assert_eq!(found.unwrap(), [1, 2, 5]);
    drop(session);
    // No statement changes the lists themselves.
    let refused = engine.session().run(|statement| {
        let names = engine.core().user_tables()?;
        let deleted = names.iter().find(|name| name.ends_with("_DELETED")).expect("lists have such a table");
        let table = statement.table(deleted)?;
        statement.insert(&table, &[Some(&[0, 0, 0, 0, 0, 0, 1, 1])])
    });
    assert!(matches!(refused, Err(Error::Unmaintained { .. })), "{refused:?}");
    engine.close().unwrap();
    drop(engine);

    server.start_again().unwrap();
    compare(&theirs, &server_answers(&server));
}

#[test]
fn a_server_that_was_killed() {
    let mut server = Mysql56::start(server_options()).unwrap();
    fill(&server);
    server.kill();
    // The server goes on with the folder, too: documents that were deleted before their words were written are in no list now.
    let copy = vaquita_peers::scratch_dir("vq-killed").unwrap();
    let dir = copy.join("data");
    assert!(Command::new("cp").arg("-r").args([server.datadir(), &dir]).status().unwrap().success());
    server.start_again().unwrap();
    // Its estimates of the tables' rows may be older than the rows.
    server.sql("analyze table d.own, d.hidden, d.late").unwrap();

    let engine = open(&dir);
    while engine.core().purge_step().unwrap() {}
    compare(&server_answers(&server), &our_answers(&engine));
    engine.close().unwrap();
    drop(engine);
    std::fs::remove_dir_all(copy).unwrap();
}
