//! Which locks reads take: what a real MySQL 5.6.24 shows in SHOW ENGINE INNODB STATUS for the same statement on the same
//! rows, record by record.

use crate::cursor::bed::{self, engine};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_base::{HeapNo, PageNo};
use vaquita_engine::ddl::TableSpec;
use vaquita_engine::stored::int;
use vaquita_engine::{
    AccessMode, Column, Direction, Engine, Error, Index, Isolation, LockMode, ReadLock, ReadOptions, RowKey,
    Seek, Statement, Table,
};
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::KeyPart;
use vaquita_format::record::Offsets;
use vaquita_peers::{Mysql56, Options, Server};
use vaquita_txn::RecordLockKind;
use vaquita_txn::lock::LockTarget;

const PRIMARY: usize = 0;
const A: usize = 1;
const U: usize = 2;
const AU: usize = 3;

/// id, a, u, v; the row 35 is delete-marked afterwards.
const ROWS: [[Option<i32>; 4]; 7] = [
    [Some(10), Some(1), Some(100), Some(1)],
    [Some(20), Some(3), Some(200), Some(2)],
    [Some(30), Some(3), None, Some(3)],
    [Some(35), Some(4), Some(350), Some(9)],
    [Some(40), Some(5), Some(400), Some(4)],
    [Some(50), None, Some(500), Some(5)],
    [Some(60), Some(7), None, Some(6)],
];

/// How the engine is to read what the statement reads.
#[derive(Debug, Clone, Copy)]
struct Plan {
    index: usize,
    lock: ReadLock,
    columns: Option<&'static [usize]>,
    seek: Option<(Seek, &'static [Option<i32>])>,
    end: Option<(&'static [Option<i32>], bool)>,
    dir: Direction,
    limit: usize,
}

const X: Plan = Plan {
    index: PRIMARY,
    lock: ReadLock::Exclusive,
    columns: None,
    seek: None,
    end: None,
    dir: Direction::Forward,
    limit: usize::MAX,
};
const S: Plan = Plan { lock: ReadLock::Shared, ..X };
const DESC: Plan = Plan { dir: Direction::Backward, ..X };

impl Plan {
    const fn by(mut self, index: usize) -> Plan {
        self.index = index;
        self
    }

    const fn seek(mut self, mode: Seek, key: &'static [Option<i32>]) -> Plan {
        self.seek = Some((mode, key));
        self
    }

    const fn end(mut self, key: &'static [Option<i32>], inclusive: bool) -> Plan {
        self.end = Some((key, inclusive));
        self
    }

    const fn columns(mut self, columns: &'static [usize]) -> Plan {
        self.columns = Some(columns);
        self
    }

    const fn limit(mut self, rows: usize) -> Plan {
        self.limit = rows;
        self
    }
}

/// Statements, and how they read. By secondary indexes MySQL evaluates the range inside the engine ("Using index
/// condition"), as the cursors here do.
const CASES: &[(&str, Plan)] = &[
    ("SELECT * FROM t WHERE id = 20 FOR UPDATE", X.seek(Seek::Equal, &[Some(20)])),
    ("SELECT * FROM t WHERE id = 20 LOCK IN SHARE MODE", S.seek(Seek::Equal, &[Some(20)])),
    ("SELECT * FROM t WHERE id = 25 FOR UPDATE", X.seek(Seek::Equal, &[Some(25)])),
    ("SELECT * FROM t WHERE id = 35 FOR UPDATE", X.seek(Seek::Equal, &[Some(35)])),
    ("SELECT * FROM t WHERE id = 70 FOR UPDATE", X.seek(Seek::Equal, &[Some(70)])),
    (
        "SELECT * FROM t WHERE id >= 20 AND id < 40 FOR UPDATE",
        X.seek(Seek::GreaterOrEqual, &[Some(20)]).end(&[Some(40)], false),
    ),
    (
        "SELECT * FROM t WHERE id >= 20 AND id <= 30 FOR UPDATE",
        X.seek(Seek::GreaterOrEqual, &[Some(20)]).end(&[Some(30)], true),
    ),
    (
        "SELECT * FROM t WHERE id > 20 AND id < 30 FOR UPDATE",
        X.seek(Seek::Greater, &[Some(20)]).end(&[Some(30)], false),
    ),
    (
        "SELECT * FROM t WHERE id >= 15 AND id <= 25 FOR UPDATE",
        X.seek(Seek::GreaterOrEqual, &[Some(15)]).end(&[Some(25)], true),
    ),
    ("SELECT * FROM t WHERE id > 50 FOR UPDATE", X.seek(Seek::Greater, &[Some(50)])),
    ("SELECT * FROM t WHERE id > 60 FOR UPDATE", X.seek(Seek::Greater, &[Some(60)])),
    ("SELECT * FROM t WHERE id < 20 LOCK IN SHARE MODE", S.end(&[Some(20)], false)),
    ("SELECT * FROM t FORCE INDEX (PRIMARY) FOR UPDATE", X),
    ("SELECT * FROM t FORCE INDEX (PRIMARY) ORDER BY id DESC FOR UPDATE", DESC),
    ("SELECT * FROM t WHERE id <= 30 ORDER BY id DESC FOR UPDATE", DESC.seek(Seek::LessOrEqual, &[Some(30)])),
    (
        "SELECT * FROM t WHERE id < 30 AND id > 10 ORDER BY id DESC FOR UPDATE",
        DESC.seek(Seek::Less, &[Some(30)]).end(&[Some(10)], false),
    ),
    (
        "SELECT * FROM t WHERE id < 45 ORDER BY id DESC LIMIT 1 FOR UPDATE",
        DESC.seek(Seek::Less, &[Some(45)]).limit(1),
    ),
    ("SELECT * FROM t FORCE INDEX (PRIMARY) ORDER BY id LIMIT 2 FOR UPDATE", X.limit(2)),
    ("SELECT * FROM t FORCE INDEX (a) WHERE a = 3 FOR UPDATE", X.by(A).seek(Seek::Equal, &[Some(3)])),
    ("SELECT * FROM t FORCE INDEX (a) WHERE a = 3 LOCK IN SHARE MODE", S.by(A).seek(Seek::Equal, &[Some(3)])),
    (
        "SELECT a FROM t FORCE INDEX (a) WHERE a = 3 LOCK IN SHARE MODE",
        S.by(A).seek(Seek::Equal, &[Some(3)]).columns(&[1]),
    ),
    (
        "SELECT a FROM t FORCE INDEX (a) WHERE a = 3 FOR UPDATE",
        X.by(A).seek(Seek::Equal, &[Some(3)]).columns(&[1]),
    ),
    ("SELECT * FROM t FORCE INDEX (a) WHERE a = 2 FOR UPDATE", X.by(A).seek(Seek::Equal, &[Some(2)])),
    ("SELECT * FROM t FORCE INDEX (a) WHERE a = 4 FOR UPDATE", X.by(A).seek(Seek::Equal, &[Some(4)])),
    ("SELECT * FROM t FORCE INDEX (a) WHERE a = 9 FOR UPDATE", X.by(A).seek(Seek::Equal, &[Some(9)])),
    ("SELECT * FROM t FORCE INDEX (a) WHERE a IS NULL FOR UPDATE", X.by(A).seek(Seek::Equal, &[None])),
    (
        "SELECT * FROM t FORCE INDEX (a) WHERE a >= 3 AND a < 5 FOR UPDATE",
        X.by(A).seek(Seek::GreaterOrEqual, &[Some(3)]).end(&[Some(5)], false),
    ),
    (
        "SELECT * FROM t FORCE INDEX (a) WHERE a > 5 LOCK IN SHARE MODE",
        S.by(A).seek(Seek::Greater, &[Some(5)]),
    ),
    (
        "SELECT * FROM t FORCE INDEX (a) WHERE a <= 3 AND a >= 1 ORDER BY a DESC FOR UPDATE",
        DESC.by(A).seek(Seek::LessOrEqual, &[Some(3)]).end(&[Some(1)], true),
    ),
    ("SELECT * FROM t WHERE u = 200 FOR UPDATE", X.by(U).seek(Seek::Equal, &[Some(200)])),
    ("SELECT * FROM t WHERE u = 200 LOCK IN SHARE MODE", S.by(U).seek(Seek::Equal, &[Some(200)])),
    (
        "SELECT u FROM t WHERE u = 200 LOCK IN SHARE MODE",
        S.by(U).seek(Seek::Equal, &[Some(200)]).columns(&[2]),
    ),
    ("SELECT * FROM t WHERE u = 250 FOR UPDATE", X.by(U).seek(Seek::Equal, &[Some(250)])),
    ("SELECT * FROM t WHERE u = 350 FOR UPDATE", X.by(U).seek(Seek::Equal, &[Some(350)])),
    ("SELECT * FROM t WHERE u = 900 FOR UPDATE", X.by(U).seek(Seek::Equal, &[Some(900)])),
    ("SELECT * FROM t FORCE INDEX (u) WHERE u IS NULL FOR UPDATE", X.by(U).seek(Seek::Equal, &[None])),
    (
        "SELECT * FROM t FORCE INDEX (u) WHERE u >= 200 AND u <= 400 FOR UPDATE",
        X.by(U).seek(Seek::GreaterOrEqual, &[Some(200)]).end(&[Some(400)], true),
    ),
    (
        "SELECT a, u FROM t FORCE INDEX (au) WHERE a = 3 AND u > 100 LOCK IN SHARE MODE",
        S.by(AU).seek(Seek::Equal, &[Some(3)]).columns(&[1, 2]),
    ),
];

/// A lock: index, key of the record in hexadecimal digits, mode; of the table: no index, no key. Records are named by
/// their keys because the two sides may divide rows among pages differently.
type Locks = BTreeSet<(String, String, String)>;

const SUPREMUM: &str = "supremum";

/// Fields that name a record.
fn n_key(index: &str) -> usize {
    match index {
        "PRIMARY" => 1,
        "au" => 3,
        _ => 2,
    }
}

fn isolations() -> [(Isolation, &'static str); 2] {
    [(Isolation::RepeatableRead, "REPEATABLE READ"), (Isolation::ReadCommitted, "READ COMMITTED")]
}

/// A server with a table and rows, each inserted by a statement of its own.
fn start_server(definition: &str, rows: impl Iterator<Item = String>) -> Server {
    // Its plans must be ours: the statistics it chooses them by are those of the rows, and stay.
    let options = Options::new().set("innodb-status-output-locks", "ON").set("innodb-stats-auto-recalc", 0);
    let server = Mysql56::start(options).unwrap_or_else(|e| panic!("{e}"));
    let mut script = format!("CREATE TABLE test.t ({definition}) ENGINE=InnoDB;\n");
    for row in rows {
        script += &format!("INSERT INTO test.t VALUES ({row});\n");
    }
    script += "ANALYZE TABLE test.t;\n";
    server.sql(&script).unwrap();
    server
}

/// The locks of the only transaction that has any.
fn locks_of_server(server: &Server) -> Locks {
    let status = server.sql("SHOW ENGINE INNODB STATUS").unwrap().replace("\\n", "\n");
    let mut locks = Locks::new();
    let (mut index, mut mode, mut key) = (String::new(), String::new(), Vec::new());
    for line in status.lines() {
        if let Some(rest) = line.strip_prefix("TABLE LOCK table `test`.`t` ") {
            let mode = rest.rsplit("lock mode ").next().unwrap().trim();
            locks.insert((String::new(), String::new(), mode.to_owned()));
        } else if line.starts_with("RECORD LOCKS") && line.contains("table `test`.`t`") {
            index = line.split("index `").nth(1).unwrap().split('`').next().unwrap().to_owned();
            let at = line.find("lock_mode ").or(line.find("lock mode ")).unwrap();
            mode = line[at + 10..].trim().to_owned();
        } else if line.starts_with("Record lock, heap no 1 ") {
            locks.insert((index.clone(), SUPREMUM.to_owned(), mode.clone()));
            // Its field is no key.
            key = vec![SUPREMUM.to_owned(); n_key(&index)];
        } else if line.starts_with("Record lock, heap no ") {
            key.clear();
        } else if let Some((_, field)) = line.split_once(": len ").filter(|_| key.len() < n_key(&index)) {
            key.push(field.split("hex ").nth(1).unwrap().split(';').next().unwrap().to_owned());
            if key.len() == n_key(&index) {
                locks.insert((index.clone(), key.join(" "), mode.clone()));
            }
        } else if line.contains(": SQL NULL") && key.len() < n_key(&index) {
            key.push("NULL".to_owned());
        }
    }
    locks
}

/// The keys of an index by page and heap number.
fn keys_of(engine: &Engine, index: &Index) -> BTreeMap<(PageNo, HeapNo), String> {
    let mut out = BTreeMap::new();
    let mut cursor = vaquita_btree::Cursor::new(&index.tree, &engine.core().storage);
    let mut offsets = Offsets::new();
    let hex = |v: &[u8]| v.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let mut more = cursor.first().unwrap();
    while more {
        let record = cursor.record().unwrap();
        record.parse(index.def(), &mut offsets).unwrap();
        let field = |i| record.field(&offsets, i).map_or("NULL".to_owned(), hex);
        let key: Vec<String> = (0..n_key(&index.name)).map(field).collect();
        out.insert((record.page_id.page_no, record.heap_no()), key.join(" "));
        more = cursor.next().unwrap();
    }
    out
}

fn table_of_engine(engine: &Engine) -> Arc<Table> {
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::int("a", 4, false)),
        Column::new(ColumnDef::int("u", 4, false)),
        Column::new(ColumnDef::int("v", 4, false)),
    ];
    let spec = TableSpec {
        primary_key: Some(vec![KeyPart::whole(0)]),
        indexes: vec![
            bed::index("a", &[KeyPart::whole(1)], false),
            bed::index("u", &[KeyPart::whole(2)], true),
            bed::index("au", &[KeyPart::whole(1), KeyPart::whole(2)], false),
        ],
        ..TableSpec::new(bed::TABLE, columns)
    };
    let table = bed::create_table(engine, spec);
    let mut session = engine.session();
    for row in ROWS {
        let values = row.map(|v| v.map(int));
        let fields: Vec<Option<&[u8]>> = values.iter().map(|v| v.as_ref().map(|v| &v[..])).collect();
        session.run(|s| s.insert(&table, &fields)).unwrap();
    }
    session.run(|s| s.delete(&table, &RowKey::new([&int(35)[..]]))).unwrap();
    table
}

fn key(values: &[Option<i32>]) -> Vec<Option<[u8; 4]>> {
    values.iter().map(|v| v.map(int)).collect()
}

fn locks_of_engine(engine: &Engine, table: &Arc<Table>, isolation: Isolation, plan: &Plan) -> Locks {
    let mut session = engine.session();
    session.settings.isolation = isolation;
    session.begin(AccessMode::ReadWrite, false).unwrap();
    session
        .run(|s| {
            let options = ReadOptions {
                index: plan.index,
                lock: plan.lock,
                columns: plan.columns.map(<[usize]>::to_vec),
                ..ReadOptions::default()
            };
            let mut cursor = s.cursor(table, &options)?;
            match plan.dir {
                Direction::Forward => cursor.seek_first(),
                Direction::Backward => cursor.seek_last(),
            }
            if let Some((mode, values)) = plan.seek {
                let key = key(values);
                cursor.seek(&key.iter().map(|v| v.as_ref().map(|v| &v[..])).collect::<Vec<_>>(), mode)?;
            }
            if let Some((values, inclusive)) = plan.end {
                let key = key(values);
                let key: Vec<_> = key.iter().map(|v| v.as_ref().map(|v| &v[..])).collect();
                match plan.dir {
                    Direction::Forward => cursor.set_upper(&key, inclusive)?,
                    Direction::Backward => cursor.set_lower(&key, inclusive)?,
                }
            }
            let mut rows = 0;
            s.for_each(&mut cursor, plan.dir, |_| {
                rows += 1;
                if rows == plan.limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
        })
        .unwrap();
    let me = session.transaction().serial();
    let snapshot = engine.core().txn.locks().snapshot();
    let mut locks = Locks::new();
    for row in snapshot.locks.iter().filter(|r| r.lock.serial == me) {
        let mode = match row.lock.mode {
            LockMode::IntentionShared => "IS",
            LockMode::IntentionExclusive => "IX",
            LockMode::Shared => "S",
            LockMode::Exclusive => "X",
            LockMode::AutoInc => "AUTO-INC",
        };
        match row.lock.target {
            LockTarget::Table(_) => drop(locks.insert((String::new(), String::new(), mode.to_owned()))),
            LockTarget::Record { index, page, kind, .. } => {
                let index = table.indexes.iter().find(|i| i.id == index).unwrap();
                let kind = match kind {
                    RecordLockKind::NextKey => "",
                    RecordLockKind::Gap => " locks gap before rec",
                    RecordLockKind::Record => " locks rec but not gap",
                    RecordLockKind::InsertIntention => " insert intention",
                };
                let keys = keys_of(engine, index);
                for &heap in &row.heaps {
                    let (key, kind) = match heap {
                        HeapNo(1) => (SUPREMUM.to_owned(), ""),
                        heap => (keys[&(page.page_no, heap)].clone(), kind),
                    };
                    locks.insert((index.name.clone(), key, format!("{mode}{kind}")));
                }
            }
        }
    }
    session.rollback().unwrap();
    locks
}

/// Runs every case on both sides, at two isolation levels; where the locks differ.
fn differences(server: &Server, engine: &Engine, table: &Arc<Table>, cases: &[(&str, Plan)]) -> Vec<String> {
    let mut out = Vec::new();
    for (isolation, name) in isolations() {
        for (sql, plan) in cases {
            let mut session = server.session().unwrap();
            session.run("USE test").unwrap();
            session.run(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {name}")).unwrap();
            session.run("BEGIN").unwrap();
            session.run(sql).unwrap();
            let want = locks_of_server(server);
            session.run("ROLLBACK").unwrap();
            assert!(want.len() > 1 || isolation == Isolation::ReadCommitted, "{sql}: {want:?}");
            let got = locks_of_engine(engine, table, isolation, plan);
            if got != want {
                let missing: Vec<_> = want.difference(&got).collect();
                let extra: Vec<_> = got.difference(&want).collect();
                out.push(format!("{name}: {sql}\n   missing {missing:?}\n   extra {extra:?}"));
            }
        }
    }
    out
}

#[test]
fn reads_lock_what_the_server_locks() {
    let text = |v: Option<i32>| v.map_or("NULL".to_owned(), |v| v.to_string());
    let definition =
        "id INT NOT NULL PRIMARY KEY, a INT, u INT, v INT, KEY a (a), UNIQUE KEY u (u), KEY au (a, u)";
    let server = start_server(definition, ROWS.iter().map(|row| row.map(text).join(", ")));
    // Keeps purge from removing the row that is deleted.
    let mut viewer = server.session().unwrap();
    viewer.run("START TRANSACTION WITH CONSISTENT SNAPSHOT").unwrap();
    server.sql("DELETE FROM test.t WHERE id = 35").unwrap();
    let engine = engine(11, 16_384);
    let table = table_of_engine(&engine);
    let found = differences(&server, &engine, &table, CASES);
    assert!(found.is_empty(), "{} of {}:\n{}", found.len(), 2 * CASES.len(), found.join("\n"));
}

/// Rows of half a kilobyte: the table has several leaves, whose ends are locked when they are passed. The ranges end
/// within leaves on both sides.
const LONG_ROWS: i32 = 100;

const LONG_CASES: &[(&str, Plan)] = &[
    ("SELECT id FROM t FORCE INDEX (PRIMARY) FOR UPDATE", X.columns(&[0])),
    ("SELECT id FROM t FORCE INDEX (PRIMARY) ORDER BY id DESC FOR UPDATE", DESC.columns(&[0])),
    (
        "SELECT id FROM t WHERE id >= 440 AND id <= 800 FOR UPDATE",
        X.seek(Seek::GreaterOrEqual, &[Some(440)]).end(&[Some(800)], true).columns(&[0]),
    ),
    (
        "SELECT id FROM t WHERE id > 295 AND id < 405 ORDER BY id DESC LOCK IN SHARE MODE",
        Plan { lock: ReadLock::Shared, ..DESC }
            .seek(Seek::Less, &[Some(405)])
            .end(&[Some(295)], false)
            .columns(&[0]),
    ),
    ("SELECT id FROM t WHERE id > 900 FOR UPDATE", X.seek(Seek::Greater, &[Some(900)]).columns(&[0])),
    ("SELECT id FROM t WHERE id = 995 FOR UPDATE", X.seek(Seek::Equal, &[Some(995)]).columns(&[0])),
    ("SELECT * FROM t FORCE INDEX (a) WHERE a = 3 FOR UPDATE", X.by(A).seek(Seek::Equal, &[Some(3)])),
];

fn long_table(engine: &Engine) -> Arc<Table> {
    let latin1 = vaquita_format::column::Charset::LATIN1;
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::int("a", 4, false)),
        Column::new(ColumnDef::char("pad", 250, latin1).not_null()),
        Column::new(ColumnDef::char("more", 250, latin1).not_null()),
    ];
    let spec = TableSpec {
        primary_key: Some(vec![KeyPart::whole(0)]),
        indexes: vec![bed::index("a", &[KeyPart::whole(1)], false)],
        row_format: vaquita_format::index_def::RowFormat::Compact,
        ..TableSpec::new(bed::TABLE, columns)
    };
    let table = bed::create_table(engine, spec);
    let mut session = engine.session();
    for n in 0..LONG_ROWS {
        session.run(|s| insert_long(s, &table, n * 10, n % 7)).unwrap();
    }
    let leaves = vaquita_btree::validate(&table.clustered().tree, &engine.core().storage).unwrap().leaf_pages;
    assert!(leaves > 3, "{leaves}");
    table
}

fn insert_long(s: &mut Statement<'_>, table: &Arc<Table>, id: i32, a: i32) -> vaquita_engine::Result<()> {
    let pad = [b' '; 250];
    s.insert(table, &[Some(&int(id)), Some(&int(a)), Some(&pad), Some(&pad)]).map(|_| ())
}

#[test]
fn ends_of_leaves_are_locked_as_the_server_locks_them() {
    let definition =
        "id INT NOT NULL PRIMARY KEY, a INT, pad CHAR(250) NOT NULL, more CHAR(250) NOT NULL, KEY a (a)";
    let rows = (0..LONG_ROWS).map(|n| format!("{}, {}, 'x', 'y'", n * 10, n % 7));
    let server = start_server(definition, rows);
    let engine = engine(12, 16_384);
    let table = long_table(&engine);
    let found = differences(&server, &engine, &table, LONG_CASES);
    assert!(found.is_empty(), "{} of {}:\n{}", found.len(), 2 * LONG_CASES.len(), found.join("\n"));
}

/// Nothing can be inserted anywhere into what was read with locks, whatever the direction. (Going backwards MySQL 5.6.24
/// leaves the gap at the end of each leaf but the first one open: a row inserted there is a phantom.)
#[test]
fn there_are_no_phantoms_at_the_ends_of_leaves() {
    for dir in [Direction::Forward, Direction::Backward] {
        let engine = engine(13, 16_384);
        let table = long_table(&engine);
        let mut reader = engine.session();
        reader.begin(AccessMode::ReadWrite, false).unwrap();
        reader
            .run(|s| {
                let mut cursor = s.cursor(&table, &ReadOptions::default().locking(ReadLock::Shared))?;
                if dir == Direction::Backward {
                    cursor.seek_last();
                }
                s.for_each(&mut cursor, dir, |_| ControlFlow::Continue(()))
            })
            .unwrap();
        let mut writer = engine.session();
        writer.settings.lock_wait_timeout = 0;
        for n in -1..LONG_ROWS {
            let refused = writer.run(|s| insert_long(s, &table, n * 10 + 5, 0));
            assert!(matches!(refused, Err(Error::LockWaitTimeout)), "{dir:?} behind row {n}: {refused:?}");
        }
    }
}
