//! Rows written without SQL text. What MySQL 5.6.24 does with the same values was asked of it; UPDATE, DELETE and
//! statements as a whole are tested through sessions.

use super::writer::{OnDuplicate, Writer};
use std::sync::Arc;
use vaquita_base::ManualClock;
use vaquita_catalog::TableInfo;
use vaquita_engine::table::DefaultValue;
use vaquita_engine::{Column, Direction, Engine, IndexSpec, Options, ReadOptions, Session, TableSpec};
use vaquita_expr::EvalCx;
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;
use vaquita_session::SessionState;
use vaquita_types::{SqlError, SqlMode, SqlResult, SqlType, TimeZone, Value};

struct World {
    session: Session,
    state: SessionState,
    info: TableInfo,
    _engine: Engine,
}

/// `id TINYINT AUTO_INCREMENT PRIMARY KEY, u INT UNIQUE, v VARCHAR(3) NOT NULL, w INT NOT NULL DEFAULT 5, t TIMESTAMP
/// NOT NULL DEFAULT now()`.
fn world(mode: SqlMode) -> World {
    let disk = SimDisk::new(3);
    disk.put_dir("/".as_ref());
    let mut options = Options::new("/db");
    options.background = false;
    options.storage.buffer_pool_size = 32 << 20;
    let engine = Engine::open_with(Arc::new(disk), Arc::new(ManualClock::new()), options).expect("it opens");
    let mut columns = vec![
        Column::new(ColumnDef::int("id", 1, false).not_null()),
        Column::new(ColumnDef::int("u", 4, false)),
        Column::new(ColumnDef::varchar("v", 3, Charset::UTF8).not_null()),
        Column::new(ColumnDef::int("w", 4, false).not_null()),
        Column::new(ColumnDef::timestamp("t", 0).not_null()),
    ];
    columns[0].auto_increment = true;
    columns[3].default = DefaultValue::Stored(vec![0x80, 0, 0, 5]);
    columns[4].default = DefaultValue::Now;
    let mut spec = TableSpec::new("test/t", columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.indexes = vec![IndexSpec {
        name: "u".into(),
        parts: vec![KeyPart::whole(1)],
        unique: true,
        comment: String::new(),
    }];
    let mut session = engine.session();
    session.create_table(&spec).expect("the table is new");
    let table = session.run(|s| s.table("test/t")).expect("and there");
    let mut state = SessionState::detached().expect("defaults can be");
    state.vars.sql_mode = mode;
    state.now_us = 1_000_000_000_000_000;
    World { session, state, info: TableInfo::new(table).expect("it can be seen"), _engine: engine }
}

type Cells<'a> = &'a [Option<Value<'a>>];

impl World {
    /// Writes rows of all columns but the last; `None` is DEFAULT. Counts as MySQL counts affected rows.
    fn insert(&mut self, rows: &[Cells<'_>], on_duplicate: OnDuplicate<'_>) -> SqlResult<(u64, Option<u64>)> {
        self.state.warnings.clear();
        let from = self.session.start_statement();
        match self.insert_started(rows, on_duplicate) {
            Ok(done) => {
                self.session.end_statement().and_then(|d| d.wait()).expect("it commits");
                Ok(done)
            }
            Err(e) => {
                self.session.take_back(from, false).expect("it is taken back");
                Err(e)
            }
        }
    }

    fn insert_started(
        &mut self,
        rows: &[Cells<'_>],
        on_duplicate: OnDuplicate<'_>,
    ) -> SqlResult<(u64, Option<u64>)> {
        let World { session, state, info, .. } = self;
        let ignore = matches!(on_duplicate, OnDuplicate::Ignore);
        let mut writer = Writer::new(info, state, Some(rows.len() as u64), ignore, on_duplicate);
        for row in rows {
            writer.begin_row(&[4], state);
            for (column, cell) in row.iter().enumerate() {
                match cell {
                    Some(value) => {
                        writer.set_value(column, value, &SqlType::varchar(100, 33), state)?;
                    }
                    None => writer.set_default(column, state)?,
                }
            }
            let mut cx = EvalCx { db: None, state, engine: Some(session) };
            writer.write(&mut cx, &[])?;
        }
        let first = writer.auto_inc.as_ref().and_then(|auto| auto.first());
        Ok((writer.counts.copied + writer.counts.deleted, first))
    }

    /// Rows as text, without the last column.
    fn rows(&mut self) -> Vec<String> {
        let World { session, info, .. } = self;
        let mut out = Vec::new();
        let read = session.run(|s| {
            let mut cursor = s.cursor(&info.table, &ReadOptions::default())?;
            s.for_each(&mut cursor, Direction::Forward, |row| {
                let text = |i: usize| {
                    let ty = &info.columns[i].ty;
                    let value = ty.decode(row.column(i), &TimeZone::UTC);
                    if value.is_null() {
                        return "NULL".to_owned();
                    }
                    String::from_utf8_lossy(&value.to_text(&ty.ty)).into_owned()
                };
                out.push((0..4).map(text).collect::<Vec<_>>().join(","));
                std::ops::ControlFlow::Continue(())
            })
        });
        read.expect("it can be read");
        out
    }

    fn warnings(&self) -> Vec<(u16, String)> {
        self.state.warnings.list().iter().map(|w| (w.code, w.message.to_string())).collect()
    }
}

fn n(v: i64) -> Option<Value<'static>> {
    Some(Value::Int(v))
}

fn s(v: &str) -> Option<Value<'_>> {
    Some(Value::bytes(v.as_bytes()))
}

const NULL: Option<Value<'static>> = Some(Value::Null);
const STRICT: SqlMode = SqlMode::STRICT_TRANS_TABLES;
const LAX: SqlMode = SqlMode(0);

fn error(code: u16, message: &'static str) -> SqlResult<(u64, Option<u64>)> {
    Err(SqlError::new(code, message))
}

#[test]
fn defaults_and_null() {
    let mut w = world(STRICT);
    assert_eq!(w.insert(&[&[NULL, n(1), s("a"), None]], OnDuplicate::Fail), Ok((1, Some(1))));
    assert_eq!(
        w.insert(&[&[NULL, n(2), NULL, None]], OnDuplicate::Fail),
        error(1048, "Column 'v' cannot be null")
    );
    assert_eq!(
        w.insert(&[&[NULL, n(2), None, None]], OnDuplicate::Fail),
        error(1364, "Field 'v' doesn't have a default value")
    );
    assert_eq!(
        w.insert(&[&[NULL, n(2), s("a"), s("x")]], OnDuplicate::Fail),
        error(1366, "Incorrect integer value: 'x' for column 'w' at row 1")
    );
    assert_eq!(
        w.insert(&[&[NULL, n(2), s("a"), n(1)], &[NULL, n(3), s("abcd"), n(1)]], OnDuplicate::Fail),
        error(1406, "Data too long for column 'v' at row 2")
    );
    assert_eq!(w.rows(), ["1,1,a,5"]);
}

#[test]
fn defaults_and_null_without_strict_mode() {
    let mut w = world(LAX);
    // A single row is refused in any mode, of several rows the value is replaced.
    assert_eq!(
        w.insert(&[&[NULL, n(2), NULL, None]], OnDuplicate::Fail),
        error(1048, "Column 'v' cannot be null")
    );
    let rows: [Cells<'_>; 2] = [&[NULL, n(2), NULL, NULL], &[NULL, NULL, None, s("7x")]];
    assert_eq!(w.insert(&rows, OnDuplicate::Fail), Ok((2, Some(1))));
    assert_eq!(
        w.warnings(),
        [
            (1048, "Column 'v' cannot be null".to_owned()),
            (1048, "Column 'w' cannot be null".to_owned()),
            (1364, "Field 'v' doesn't have a default value".to_owned()),
            (1265, "Data truncated for column 'w' at row 2".to_owned()),
        ]
    );
    assert_eq!(w.rows(), ["1,2,,0", "2,NULL,,7"]);
}

#[test]
fn duplicates() {
    let mut w = world(STRICT);
    let rows: [Cells<'_>; 2] = [&[NULL, n(1), s("a"), None], &[NULL, n(2), s("b"), None]];
    assert_eq!(w.insert(&rows, OnDuplicate::Fail), Ok((2, Some(1))));
    assert_eq!(
        w.insert(&[&[NULL, n(7), s("c"), None], &[NULL, n(1), s("x"), None]], OnDuplicate::Fail),
        error(1062, "Duplicate entry '1' for key 'u'")
    );
    // The statement took 3 and 4, which are lost; of the next one the first value is used for the second row.
    let rows: [Cells<'_>; 2] = [&[NULL, n(1), s("x"), None], &[NULL, n(3), s("y"), None]];
    assert_eq!(w.insert(&rows, OnDuplicate::Ignore), Ok((1, Some(5))));
    assert!(w.warnings().is_empty());
    assert_eq!(w.insert(&[&[n(0), n(4), s("z"), None]], OnDuplicate::Fail), Ok((1, Some(7))));
    // In the way of this row are two others; the last unique index changes its row instead.
    assert_eq!(w.insert(&[&[n(1), n(2), s("r"), None]], OnDuplicate::Replace), Ok((3, None)));
    assert_eq!(w.insert(&[&[n(1), n(2), s("r"), None]], OnDuplicate::Replace), Ok((2, None)));
    assert_eq!(w.rows(), ["1,2,r,5", "5,3,y,5", "7,4,z,5"]);
}

#[test]
fn values_of_auto_increment_columns() {
    let mut w = world(STRICT);
    // An explicit value within the statement moves what is generated after it.
    let rows: [Cells<'_>; 3] =
        [&[NULL, n(1), s(""), None], &[n(50), n(2), s(""), None], &[NULL, n(3), s(""), None]];
    assert_eq!(w.insert(&rows, OnDuplicate::Fail), Ok((3, Some(1))));
    assert_eq!(w.rows(), ["1,1,,5", "50,2,,5", "51,3,,5"]);
    assert_eq!(w.insert(&[&[n(-5), n(4), s(""), None]], OnDuplicate::Fail), Ok((1, None)));
    assert_eq!(w.insert(&[&[n(126), n(5), s(""), None]], OnDuplicate::Fail), Ok((1, None)));
    assert_eq!(w.insert(&[&[NULL, n(6), s(""), None]], OnDuplicate::Fail), Ok((1, Some(127))));
    assert_eq!(
        w.insert(&[&[NULL, n(7), s(""), None]], OnDuplicate::Fail),
        error(1062, "Duplicate entry '127' for key 'PRIMARY'")
    );
    w.state.vars.sql_mode = SqlMode(STRICT.0 | SqlMode::NO_AUTO_VALUE_ON_ZERO.0);
    assert_eq!(w.insert(&[&[n(0), n(8), s(""), None]], OnDuplicate::Fail), Ok((1, None)));
    assert_eq!(w.rows()[..2], ["-5,4,,5", "0,8,,5"]);
}

#[test]
fn increments_and_offsets() {
    let mut w = world(STRICT);
    (w.state.vars.auto_increment_increment, w.state.vars.auto_increment_offset) = (10, 5);
    let rows: [Cells<'_>; 2] = [&[NULL, n(1), s(""), None], &[NULL, n(2), s(""), None]];
    assert_eq!(w.insert(&rows, OnDuplicate::Fail), Ok((2, Some(5))));
    w.state.vars.insert_id = 40;
    assert_eq!(w.insert(&[&[NULL, n(3), s(""), None]], OnDuplicate::Fail), Ok((1, Some(40))));
    assert_eq!(w.insert(&[&[NULL, n(4), s(""), None]], OnDuplicate::Fail), Ok((1, Some(45))));
    assert_eq!(w.rows(), ["5,1,,5", "15,2,,5", "40,3,,5", "45,4,,5"]);
}

#[test]
fn checksum_of_rows() {
    let mut w = world(LAX);
    let rows: [Cells<'_>; 2] = [&[n(1), n(7), s("abc"), None], &[n(2), NULL, s("\u{e9}"), n(-1)]];
    w.insert(&rows, OnDuplicate::Fail).expect("the rows are good");
    let World { session, info, .. } = &mut w;
    session.start_statement();
    let sum = super::checksum::checksum(&mut session.statement(), info);
    session.end_statement().and_then(|d| d.wait()).expect("it ends");
    // CHECKSUM TABLE of 5.6.24 for the same table in utf8, TIMESTAMP '2001-09-09 01:46:40' UTC.
    assert_eq!(sum, Ok(CHECKSUM));
}

const CHECKSUM: u32 = 3_675_054_491;
