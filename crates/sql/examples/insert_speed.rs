//! What INSERT costs above the engine: `cargo run --release -p vaquita-sql --example insert_speed`.
//!
//! One table as sysbench's, rows in one transaction: engine calls alone, a prepared statement, statements of the text
//! protocol, statements of a thousand rows.
#![allow(clippy::unwrap_used, reason = "an example")]

use std::fmt::Write as _;
use std::time::Instant;
use vaquita_engine::{AccessMode, Column, IndexSpec, TableSpec, stored};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_sql::sink::{ColumnMeta, Completion, ResultSink};
use vaquita_sql::types::SqlResult;
use vaquita_sql::{ConnectInfo, Database, Options, Value};

const ROWS: i64 = 50_000;

struct Nowhere;

impl ResultSink for Nowhere {
    fn columns(&mut self, _: &std::sync::Arc<[ColumnMeta]>) -> SqlResult<()> {
        Ok(())
    }

    fn row(&mut self, _: &[Value<'_>]) -> SqlResult<()> {
        Ok(())
    }

    fn end(&mut self, _: Completion) -> SqlResult<()> {
        Ok(())
    }
}

fn spec(name: &str) -> TableSpec {
    let mut columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::int("k", 4, false).not_null()),
        Column::new(ColumnDef::char("c", 120, Charset::LATIN1).not_null()),
        Column::new(ColumnDef::char("pad", 60, Charset::LATIN1).not_null()),
    ];
    columns[0].auto_increment = true;
    let mut spec = TableSpec::new(name, columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    let k =
        IndexSpec { name: "k".into(), parts: vec![KeyPart::whole(1)], unique: false, comment: String::new() };
    spec.indexes = vec![k];
    spec
}

fn timed(what: &str, body: impl FnOnce()) {
    let from = Instant::now();
    body();
    println!("{what:<32} {:6.2} µs a row", from.elapsed().as_secs_f64() * 1e6 / ROWS as f64);
}

fn main() {
    let dir = std::env::temp_dir().join(format!("vaquita-insert-speed-{}", std::process::id()));
    let db = Database::open(Options { dir: dir.clone(), variables: Vec::new() }).unwrap();
    let mut engine = db.engine().session();
    for table in ["e", "p", "t", "b"] {
        engine.create_table(&spec(&format!("test/{table}"))).unwrap();
    }
    let (c, pad) = ("c".repeat(119), "p".repeat(59));
    let (full_c, full_pad) = (format!("{c} "), format!("{pad} "));
    let table = engine.run(|s| s.table("test/e")).unwrap();
    engine.begin(AccessMode::ReadWrite, false).unwrap();
    timed("engine", || {
        for i in 1..=ROWS {
            let (id, k) = (stored::int(i as i32), stored::int((i * 7919 % ROWS) as i32));
            let row = [Some(&id[..]), Some(&k[..]), Some(full_c.as_bytes()), Some(full_pad.as_bytes())];
            engine.run(|s| s.insert(&table, &row)).unwrap();
        }
    });
    engine.commit().unwrap().wait().unwrap();
    drop((engine, table));

    let mut connection = db
        .connect(ConnectInfo { database: Some("test".into()), collation: 33, ..ConnectInfo::embedded() })
        .unwrap();
    let run = |connection: &mut vaquita_sql::Connection, text: &str| {
        connection.query(text.as_bytes(), &mut Nowhere).unwrap();
    };
    run(&mut connection, "begin");
    let prepared = connection.prepare(b"insert into p (k, c, pad) values (?, ?, ?)").unwrap();
    timed("prepared", || {
        for i in 1..=ROWS {
            let values =
                [Value::Int(i * 7919 % ROWS), Value::bytes(c.as_bytes()), Value::bytes(pad.as_bytes())];
            connection.execute(prepared.id, &values, &mut Nowhere).unwrap();
        }
    });
    timed("text", || {
        for i in 1..=ROWS {
            run(
                &mut connection,
                &format!("insert into t (k, c, pad) values ({}, '{c}', '{pad}')", i * 7919 % ROWS),
            );
        }
    });
    timed("text, 1000 rows a statement", || {
        for from in (0..ROWS).step_by(1000) {
            let mut text = String::from("insert into b (k, c, pad) values ");
            for i in from..from + 1000 {
                let comma = if i > from { "," } else { "" };
                write!(text, "{comma}({}, '{c}', '{pad}')", i * 7919 % ROWS).unwrap();
            }
            run(&mut connection, &text);
        }
    });
    run(&mut connection, "commit");
    drop(connection);
    drop(db);
    std::fs::remove_dir_all(dir).unwrap();
}
