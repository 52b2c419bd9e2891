//! Columns that come, go and move while the rows stay as they are, in random histories with changes of rows, indexes, rollbacks and
//! power cuts: the table is always the one that another database has, which writes its rows anew for every such change.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::simulated;

use simulated::{open, run};
use std::path::Path;
use std::sync::Arc;
use vaquita_base::Rng;
use vaquita_io::sim::SimDisk;
use vaquita_sql::{Connection, Database, SqlError};

fn session(db: &Arc<Database>, instant: bool) -> Connection {
    let mut session = simulated::session(db);
    let set = format!("set vaquita_instant_alter = {instant}, sql_mode = '', timestamp = 1000000000; use d");
    // The database is not there at first.
    let _ = run(&mut session, &set);
    session
}

/// Types of columns, and a value of each.
const TYPES: &[(&str, &str)] = &[
    ("int", "{n}"),
    ("int not null default 7", "{n}"),
    ("bigint unsigned not null", "{n}"),
    ("varchar(20)", "'v{n}'"),
    ("varchar(20) not null default 'some default'", "'w{n}'"),
    ("varchar(100) charset utf8 default 'für'", "'ü{n}'"),
    ("varchar(300) charset latin1", "repeat('l', {n} % 300)"),
    ("char(8) charset utf8 not null default 'c'", "'c{n}'"),
    ("char(5) charset latin1", "{n} % 1000"),
    ("datetime not null default '2001-02-03 04:05:06'", "from_unixtime({n} * 1000)"),
    ("timestamp not null default current_timestamp", "from_unixtime({n} * 1000 + 1)"),
    ("decimal(10, 2) default 1.5", "{n} / 100"),
    ("enum('a', 'b') not null", "if({n} % 2, 'a', 'b')"),
    ("varbinary(10) default x'00ff'", "char({n})"),
    ("bit(9) default b'101'", "{n} % 512"),
    ("double not null", "{n} / 3"),
    ("text", "repeat('long ', {n} % 3000)"),
];

/// The columns besides the key, as statements name them, with their types; names are never used again.
struct Model {
    columns: Vec<(String, usize)>,
    made: usize,
    indexes: Vec<(String, String)>,
}

impl Model {
    fn some(&self, rng: &mut Rng) -> Option<(String, usize)> {
        (!self.columns.is_empty()).then(|| self.columns[rng.index(self.columns.len())].clone())
    }

    /// A change of the definition, as text, and what it makes of the model.
    fn alter(&self, rng: &mut Rng) -> (String, Model) {
        let mut after =
            Model { columns: self.columns.clone(), made: self.made, indexes: self.indexes.clone() };
        let mut changes = Vec::new();
        for _ in 0..1 + rng.below(2) {
            match rng.below(10) {
                0..=3 => {
                    let (name, ty) = (format!("c{}", after.made), rng.index(TYPES.len()));
                    after.made += 1;
                    let place = match (rng.below(3), self.some(rng)) {
                        (0, _) => " first".to_owned(),
                        (1, Some((other, _))) if after.columns.iter().any(|(c, _)| *c == other) => {
                            format!(" after {other}")
                        }
                        _ => String::new(),
                    };
                    changes.push(format!("add column {name} {}{place}", TYPES[ty].0));
                    after.columns.push((name, ty));
                }
                4..=6 => {
                    let Some((name, _)) = self.some(rng) else { continue };
                    if changes.iter().any(|change: &String| change.ends_with(&format!(" after {name}"))) {
                        continue;
                    }
                    let Some(at) = after.columns.iter().position(|(c, _)| *c == name) else { continue };
                    after.columns.remove(at);
                    after.indexes.retain(|(_, column)| *column != name);
                    changes.push(format!("drop column {name}"));
                }
                7 => {
                    let Some((name, ty)) = self.some(rng) else { continue };
                    if !changes.is_empty() {
                        continue;
                    }
                    let new = format!("r{}", after.made);
                    after.made += 1;
                    for (column, _) in after.columns.iter_mut().filter(|(c, _)| *c == name) {
                        column.clone_from(&new);
                    }
                    for (_, column) in after.indexes.iter_mut().filter(|(_, c)| *c == name) {
                        column.clone_from(&new);
                    }
                    changes.push(format!("change column {name} {new} {} first", TYPES[ty].0));
                    break;
                }
                8 if changes.is_empty() => {
                    let Some((name, ty)) = self.some(rng) else { continue };
                    let index = format!("i{}", after.made);
                    after.made += 1;
                    let prefix = if TYPES[ty].0.starts_with("text") { "(10)" } else { "" };
                    changes.push(format!("add index {index} ({name}{prefix})"));
                    after.indexes.push((index, name));
                    break;
                }
                9 if changes.is_empty() && rng.one_in(4) => {
                    changes.push("force".to_owned());
                    break;
                }
                _ => {}
            }
        }
        if changes.is_empty() {
            changes.push("comment = 'x'".to_owned());
        }
        (format!("alter table t {}", changes.join(", ")), after)
    }

    fn value(rng: &mut Rng, ty: usize) -> String {
        if rng.one_in(6) && !TYPES[ty].0.contains("not null") {
            return "null".into();
        }
        TYPES[ty].1.replace("{n}", &rng.below(100_000).to_string())
    }

    /// A change of rows.
    fn change(&self, rng: &mut Rng) -> String {
        let id = rng.below(60);
        match (rng.below(8), self.some(rng)) {
            (0..=2, _) => {
                let given: Vec<&(String, usize)> = self.columns.iter().filter(|_| !rng.one_in(3)).collect();
                let names: String = given.iter().map(|(name, _)| format!(", {name}")).collect();
                let values: String =
                    given.iter().map(|(_, ty)| format!(", {}", Model::value(rng, *ty))).collect();
                let how = if rng.one_in(3) { "replace into" } else { "insert ignore into" };
                format!("{how} t (id{names}) values ({id}{values})")
            }
            (3 | 4, Some((name, ty))) => {
                let value = Model::value(rng, ty);
                format!("update t set {name} = {value} where id between {id} and {}", id + rng.below(6))
            }
            (5, _) => format!("update ignore t set id = id + 1 where id = {id}"),
            (6, _) => format!("delete from t where id between {id} and {}", id + rng.below(3)),
            _ => format!("delete from t where id = {id}"),
        }
    }
}

/// The definition and the rows.
fn whole(session: &mut Connection) -> Vec<String> {
    let mut all = run(session, "show create table t").unwrap();
    all.extend(run(session, "select * from t order by id").unwrap());
    all
}

/// All that is seen of the table.
fn state(session: &mut Connection, model: &Model) -> Vec<String> {
    let mut all = whole(session);
    for (index, column) in &model.indexes {
        let by = format!(
            "select id, hex({column}) from t force index ({index}) where {column} >= '' or {column} is null order by id"
        );
        all.extend(run(session, &by).unwrap());
    }
    all.extend(run(session, "check table t").unwrap());
    all
}

const SETUP: &str = "create database d; use d; create table t (id int primary key, c0 int, c1 varchar(20), c2 int not null default 7)
  charset latin1; insert into t (id, c0, c1) values (1, 1, 'one'), (2, 2, null), (30, 30, 'thirty')";

fn model() -> Model {
    Model {
        columns: vec![("c0".into(), 0), ("c1".into(), 3), ("c2".into(), 1)],
        made: 3,
        indexes: Vec::new(),
    }
}

/// Statements that are done together: a change of the definition, or a transaction.
fn next(rng: &mut Rng, model: &Model) -> (Vec<String>, Model) {
    if rng.one_in(4) {
        let (alter, after) = model.alter(rng);
        return (vec![alter], after);
    }
    let mut statements = vec!["begin".to_owned()];
    for _ in 0..1 + rng.below(5) {
        statements.push(model.change(rng));
        if rng.one_in(6) {
            statements.extend(["savepoint s".into(), model.change(rng), "rollback to s".into()]);
        }
    }
    statements.push(if rng.one_in(4) { "rollback" } else { "commit" }.into());
    (statements, Model { columns: model.columns.clone(), made: model.made, indexes: model.indexes.clone() })
}

fn all(session: &mut Connection, statements: &[String]) -> Result<(), SqlError> {
    statements.iter().try_for_each(|sql| run(session, sql).map(drop))
}

#[test]
fn a_table_is_the_one_whose_rows_are_written_anew() {
    let first: u64 = std::env::var("INSTANT_FIRST").map_or(0, |n| n.parse().unwrap());
    let seeds: u64 = std::env::var("INSTANT_SEEDS").map_or(8, |n| n.parse().unwrap());
    let (mut cuts, mut versions) = (0, 0);
    for seed in first..first + seeds {
        let mut rng = Rng::new(seed);
        let (mut disk, shadow_disk) = (SimDisk::new(seed), SimDisk::new(seed));
        disk.put_dir(Path::new("/db"));
        shadow_disk.put_dir(Path::new("/db"));
        let mut db = open(&disk).unwrap();
        let shadow_db = open(&shadow_disk).unwrap();
        let mut shadow = session(&shadow_db, false);
        run(&mut shadow, SETUP).unwrap();
        run(&mut session(&db, true), SETUP).unwrap();
        let mut model = model();
        for round in 0..4 {
            let context = format!("seed {seed}, round {round}");
            let mut own = session(&db, true);
            disk.arm_cut(disk.ops() + 20 + rng.below(400));
            let mut pending = None;
            for _ in 0..40 {
                let (statements, after) = next(&mut rng, &model);
                let done = all(&mut own, &statements);
                if disk.is_off() {
                    pending = Some((statements, after));
                    break;
                }
                done.unwrap_or_else(|e| panic!("{context}: {statements:?}: {e}"));
                all(&mut shadow, &statements).unwrap_or_else(|e| panic!("{context}: {statements:?}: {e}"));
                model = after;
                if rng.one_in(3) {
                    assert_eq!(
                        state(&mut own, &model),
                        state(&mut shadow, &model),
                        "{context}: {statements:?}"
                    );
                }
                if rng.one_in(4) {
                    let _ = db.engine().core().purge_step();
                }
                if rng.one_in(8) {
                    let _ = db.engine().core().storage.flush_everything();
                }
            }
            versions = versions.max(version(&db));
            drop(own);
            drop(db);
            disk = if rng.one_in(4) { disk.after_kill() } else { disk.restart() };
            db = open(&disk).unwrap_or_else(|e| panic!("{context}: {e}"));
            while db.engine().core().rollback_step().unwrap() {}
            let mut own = session(&db, true);
            let Some((statements, after)) = pending else {
                assert_eq!(state(&mut own, &model), state(&mut shadow, &model), "{context}");
                continue;
            };
            cuts += 1;
            let (found, before) = (whole(&mut own), whole(&mut shadow));
            if found == before && state(&mut own, &model) == state(&mut shadow, &model) {
                continue;
            }
            all(&mut shadow, &statements).unwrap();
            model = after;
            let done = whole(&mut shadow);
            assert!(
                found == done,
                "{context}: {statements:?}: {found:#?}\nis neither {before:#?}\nnor {done:#?}"
            );
            assert_eq!(state(&mut own, &model), state(&mut shadow, &model), "{context}: {statements:?}");
        }
    }
    assert!(cuts > 3 && versions > 3, "{cuts} power cuts, {versions} versions");
}

/// The newest version of the table's rows.
fn version(db: &Arc<Database>) -> u8 {
    let engine = db.engine();
    let Ok(table) = engine.core().table("d/t") else { return 0 };
    table.clustered().def().layout().version()
}

/// What CREATE TABLE refuses of rows, ADD COLUMN does; a snapshot from before does not read columns that it does not know.
#[test]
fn sizes_and_snapshots_are_held_to() {
    let disk = SimDisk::new(1);
    disk.put_dir(Path::new("/db"));
    let db = open(&disk).unwrap();
    let mut own = session(&db, true);
    run(&mut own, "create database d; use d; create table t (id int primary key, a text) row_format=compact charset=latin1").unwrap();
    run(&mut own, "insert into t values (1, 'a'); create table other (id int primary key)").unwrap();
    let columns: Vec<String> = (0..60).map(|i| format!("add c{i} char(200) not null")).collect();
    let refused = run(&mut own, &format!("set innodb_strict_mode = 1; alter table t {}", columns.join(", ")));
    assert_eq!(refused.unwrap_err().code, 1118);
    assert_eq!(run(&mut own, "select * from t").unwrap(), ["1|a"]);
    let mut old = session(&db, true);
    run(&mut old, "start transaction with consistent snapshot; select * from other").unwrap();
    run(&mut own, "alter table t add b int default 2 first, algorithm = instant").unwrap();
    assert_eq!(run(&mut old, "select * from t").unwrap_err().code, 1412);
    run(&mut old, "commit").unwrap();
    assert_eq!(run(&mut old, "select * from t").unwrap(), ["2|1|a"]);
}
