//! Which locks reads take: what a real MySQL 5.6.24 shows in SHOW ENGINE INNODB STATUS for the same statement on the same
//! rows, record by record.

use crate::bed::{self, engine};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_engine::ddl::TableSpec;
use vaquita_engine::stored::int;
use vaquita_engine::{
    AccessMode, Column, Direction, Engine, Isolation, LockMode, ReadLock, ReadOptions, RowKey, Seek, Table,
};
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::KeyPart;
use vaquita_peers::{Mysql56, Options, Server};
use vaquita_txn::RecordLockKind;
use vaquita_txn::lock::report::LockTarget;

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

/// A lock: index, heap number, mode; of the table: no index, heap number 0.
type Locks = BTreeSet<(String, u64, String)>;

fn isolations() -> [(Isolation, &'static str); 2] {
    [(Isolation::RepeatableRead, "REPEATABLE READ"), (Isolation::ReadCommitted, "READ COMMITTED")]
}

fn start_server() -> Server {
    let options = Options::new().set("innodb-status-output-locks", "ON");
    let server = Mysql56::start(options).unwrap_or_else(|e| panic!("{e}"));
    let mut script = String::from(
        "CREATE TABLE test.t (id INT NOT NULL PRIMARY KEY, a INT, u INT, v INT,\
         KEY a (a), UNIQUE KEY u (u), KEY au (a, u)) ENGINE=InnoDB;\n",
    );
    let text = |v: Option<i32>| v.map_or("NULL".to_owned(), |v| v.to_string());
    for row in ROWS {
        let values: Vec<String> = row.into_iter().map(text).collect();
        script += &format!("INSERT INTO test.t VALUES ({});\n", values.join(", "));
    }
    server.sql(&script).unwrap();
    server
}

/// The locks of the only transaction that has any.
fn locks_of_server(server: &Server) -> Locks {
    let status = server.sql("SHOW ENGINE INNODB STATUS").unwrap().replace("\\n", "\n");
    let mut locks = Locks::new();
    let mut current = None;
    for line in status.lines() {
        if let Some(rest) = line.strip_prefix("TABLE LOCK table `test`.`t` ") {
            let mode = rest.rsplit("lock mode ").next().unwrap().trim();
            locks.insert((String::new(), 0, mode.to_owned()));
        } else if line.starts_with("RECORD LOCKS") && line.contains("table `test`.`t`") {
            let index = line.split("index `").nth(1).unwrap().split('`').next().unwrap();
            let at = line.find("lock_mode ").or(line.find("lock mode ")).unwrap();
            current = Some((index.to_owned(), line[at + 10..].trim().to_owned()));
        } else if let Some(rest) = line.strip_prefix("Record lock, heap no ") {
            let heap: u64 = rest.split(' ').next().unwrap().parse().unwrap();
            let (index, mode) = current.clone().unwrap();
            locks.insert((index, heap, mode));
        }
    }
    locks
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
            LockTarget::Table(_) => drop(locks.insert((String::new(), 0, mode.to_owned()))),
            LockTarget::Record { index, kind, .. } => {
                let name = &table.indexes.iter().find(|i| i.id == index).unwrap().name;
                let kind = match kind {
                    RecordLockKind::NextKey => "",
                    RecordLockKind::Gap => " locks gap before rec",
                    RecordLockKind::Record => " locks rec but not gap",
                    RecordLockKind::InsertIntention => " insert intention",
                };
                for heap in &row.heaps {
                    let kind = if heap.get() == 1 { "" } else { kind };
                    locks.insert((name.clone(), heap.get().into(), format!("{mode}{kind}")));
                }
            }
        }
    }
    session.rollback().unwrap();
    locks
}

#[test]
fn reads_lock_what_the_server_locks() {
    let server = start_server();
    // Keeps purge from removing the row that is deleted.
    let mut viewer = server.session().unwrap();
    viewer.run("START TRANSACTION WITH CONSISTENT SNAPSHOT").unwrap();
    server.sql("DELETE FROM test.t WHERE id = 35").unwrap();
    let engine = engine(11, 16_384);
    let table = table_of_engine(&engine);
    let mut differences = Vec::new();
    for (isolation, name) in isolations() {
        for (sql, plan) in CASES {
            let mut session = server.session().unwrap();
            session.run("USE test").unwrap();
            session.run(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {name}")).unwrap();
            session.run("BEGIN").unwrap();
            session.run(sql).unwrap();
            let want = locks_of_server(&server);
            session.run("ROLLBACK").unwrap();
            let got = locks_of_engine(&engine, &table, isolation, plan);
            if got != want {
                let missing: Vec<_> = want.difference(&got).collect();
                let extra: Vec<_> = got.difference(&want).collect();
                differences.push(format!("{name}: {sql}\n   missing {missing:?}\n   extra {extra:?}"));
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {}:\n{}",
        differences.len(),
        2 * CASES.len(),
        differences.join("\n")
    );
}
