//! Random changes of a table's definition beside sessions that write to it and sessions that read it: what was committed is there, and
//! nothing else; every snapshot is one; every index agrees with the rows.
//!
//! Each writer has rows of its own and knows what is in them. The sum of `a` over all rows is always the same: rows come with 0, and what
//! one of them loses another gains.
//!
//! `VAQUITA_ALTERS_SECONDS=600` plays longer than every day, `VAQUITA_ALTERS_SEED=7` another game.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use vaquita_base::Rng;
use vaquita_clients::Vaquita;
use vaquita_isolation::mysql::{Answer, Client, WireError};

const WRITERS: u64 = 4;
/// Rows that a writer has at the beginning, and about as many at any time.
const ROWS: u64 = 400;
const SUM: i64 = (WRITERS * ROWS * 10) as i64;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// A writer's rows: `a`, `v`.
type Rows = BTreeMap<u64, (i64, String)>;

/// What ends a transaction, and is nobody's fault.
fn is_bad_luck(code: u16) -> bool {
    // Deadlock, waiting too long, the definition changed.
    matches!(code, 1205 | 1213 | 1412)
}

/// Some statements in a transaction; `None`: it was ended by the server, and nothing of it is there.
fn transaction(
    client: &mut Client,
    rng: &mut Rng,
    own: &Rows,
    next: &mut u64,
) -> Result<Option<Rows>, WireError> {
    let mut rows = own.clone();
    let mut run = |sql: &str| match client.query(sql) {
        Err(WireError::Server { code, .. }) if is_bad_luck(code) => Ok(None),
        Ok(Answer::Affected(n)) => Ok(Some(n)),
        Ok(Answer::Rows(_)) => panic!("rows of {sql}"),
        Err(e) => Err(e),
    };
    macro_rules! go {
        ($sql:expr) => {
            match run($sql)? {
                Some(n) => n,
                None => {
                    run("rollback")?;
                    return Ok(None);
                }
            }
        };
    }
    go!("begin");
    for _ in 0..1 + rng.below(4) {
        let some = |rng: &mut Rng, rows: &Rows| *rows.keys().nth(rng.index(rows.len())).unwrap();
        match rng.below(6) {
            0 if rows.len() as u64 > ROWS / 2 => {
                let (gone, heir) = (some(rng, &rows), some(rng, &rows));
                if gone != heir {
                    let (a, _) = rows[&gone];
                    assert_eq!(go!(&format!("delete from t where id = {gone}")), 1, "row {gone}");
                    go!(&format!("update t set a = a + {a} where id = {heir}"));
                    rows.remove(&gone);
                    rows.get_mut(&heir).unwrap().0 += a;
                }
            }
            1 if (rows.len() as u64) < ROWS * 2 => {
                let v = text(rng);
                go!(&format!("insert into t (id, a, v) values ({next}, 0, '{v}')"));
                rows.insert(*next, (0, v));
                *next += WRITERS;
            }
            2 => {
                let (id, v) = (some(rng, &rows), text(rng));
                go!(&format!("update t set v = '{v}' where id = {id}"));
                rows.get_mut(&id).unwrap().1 = v;
            }
            3 => {
                // Its key changes.
                let id = some(rng, &rows);
                assert_eq!(go!(&format!("update t set id = {next} where id = {id}")), 1, "row {id}");
                let row = rows.remove(&id).unwrap();
                rows.insert(*next, row);
                *next += WRITERS;
            }
            4 => {
                let before = rows.clone();
                go!("savepoint s");
                let id = some(rng, &rows);
                go!(&format!("delete from t where id = {id}"));
                go!("rollback to s");
                rows = before;
            }
            _ => {
                let (from, to) = (some(rng, &rows), some(rng, &rows));
                let a = rng.below(5) as i64;
                go!(&format!("update t set a = a - {a} where id = {from}"));
                go!(&format!("update t set a = a + {a} where id = {to}"));
                rows.get_mut(&from).unwrap().0 -= a;
                rows.get_mut(&to).unwrap().0 += a;
            }
        }
    }
    if rng.one_in(4) {
        run("rollback")?;
        return Ok(None);
    }
    go!("commit");
    Ok(Some(rows))
}

fn pick<'t>(rng: &mut Rng, from: &[&'t str]) -> &'t str {
    from[rng.index(from.len())]
}

/// Texts of one byte a character, and of two; sometimes long ones.
fn text(rng: &mut Rng) -> String {
    let letter = pick(rng, &["a", "b", "é", "ü", "z"]);
    let n = if rng.one_in(20) { 90 } else { rng.index(20) };
    letter.repeat(n)
}

fn write(socket: &Path, own: &mut Rows, seed: u64, ended: &AtomicBool) -> u64 {
    let mut rng = Rng::new(seed);
    let mut client = Client::connect(socket, "d").unwrap();
    client.query("set names utf8mb4").unwrap();
    let last = own.keys().last().unwrap();
    let mut next = last + WRITERS;
    let mut committed = 0;
    while !ended.load(Ordering::Relaxed) {
        match transaction(&mut client, &mut rng, own, &mut next) {
            Ok(Some(rows)) => {
                *own = rows;
                committed += 1;
            }
            Ok(None) => {}
            Err(e) => panic!("a writer of seed {seed}: {e}"),
        }
    }
    committed
}

fn read(socket: &Path, seed: u64, ended: &AtomicBool) -> u64 {
    let mut rng = Rng::new(seed);
    let mut client = Client::connect(socket, "d").unwrap();
    let mut read = 0;
    while !ended.load(Ordering::Relaxed) {
        client.query("start transaction with consistent snapshot").unwrap();
        let mut before: Option<(String, String)> = None;
        for _ in 0..1 + rng.below(4) {
            match client.query("select sum(a), count(*), sum(id) from t") {
                Ok(Answer::Rows(rows)) => {
                    let [sum, n, ids] = [0, 1, 2].map(|i| rows[0][i].clone().unwrap());
                    assert_eq!(sum, SUM.to_string(), "what a snapshot sees");
                    assert_eq!(
                        before.get_or_insert((n.clone(), ids.clone())),
                        &(n, ids),
                        "a snapshot changes"
                    );
                    read += 1;
                }
                Ok(Answer::Affected(_)) => panic!("a SELECT without rows"),
                Err(WireError::Server { code, .. }) if is_bad_luck(code) => break,
                Err(e) => panic!("{e}"),
            }
        }
        client.query("rollback").unwrap();
    }
    read
}

/// What may be done to the table, as it is by now.
#[derive(Debug, Default)]
struct Shape {
    columns: Vec<String>,
    indexes: Vec<String>,
    made: u64,
}

impl Shape {
    fn name(&mut self, of: &str) -> String {
        self.made += 1;
        format!("{of}{}", self.made)
    }

    /// A change, and what the table has after it.
    fn change(&mut self, rng: &mut Rng) -> String {
        let mut changes: Vec<String> = Vec::new();
        for _ in 0..1 + rng.below(2) {
            changes.push(match rng.below(16) {
                0 if self.indexes.len() < 4 => {
                    let name = self.name("k");
                    let of = pick(rng, &["(a)", "(v)", "(v, a)", "(v(5))", "(a, id)"]);
                    let index = format!("add index {name} {of}");
                    self.indexes.push(name);
                    index
                }
                1 if !self.indexes.is_empty() => {
                    format!("drop index {}", self.indexes.swap_remove(rng.index(self.indexes.len())))
                }
                2 | 3 if self.columns.len() < 6 => {
                    let name = self.name("x");
                    let ty = pick(
                        rng,
                        &[
                            "int",
                            "varchar(30) not null default 'new'",
                            "text",
                            "bigint not null default 7",
                            "datetime",
                        ],
                    );
                    let place = pick(rng, &["", " first", " after a", " after v"]);
                    let column = format!("add column {name} {ty}{place}");
                    self.columns.push(name);
                    column
                }
                4 if !self.columns.is_empty() => {
                    format!("drop column {}", self.columns.swap_remove(rng.index(self.columns.len())))
                }
                5 => format!(
                    "modify a {} not null",
                    pick(rng, &["int", "bigint", "mediumint", "decimal(20, 0)"])
                ),
                6 => format!("modify a {} not null first", pick(rng, &["int", "bigint"])),
                7 => format!(
                    "modify v varchar({}) character set {}",
                    pick(rng, &["100", "200", "300"]),
                    pick(rng, &["latin1", "utf8", "utf8mb4"])
                ),
                8 => "drop primary key, add primary key (id)".into(),
                9 => "drop primary key, add primary key (a, id), add unique key u (id)".into(),
                10 => format!("row_format = {}", pick(rng, &["compact", "dynamic", "redundant"])),
                11 => "force".into(),
                12 => "engine = innodb".into(),
                13 => "comment = 'again'".into(),
                14 => format!("alter a set default {}", rng.below(10)),
                _ => format!("modify id {} not null", pick(rng, &["bigint", "int"])),
            });
        }
        // The other primary key is for one statement.
        if changes.iter().any(|change| change.contains("unique key u")) {
            changes.truncate(1);
            changes[0] = "drop primary key, add primary key (a, id), add unique key u (id)".into();
        }
        let clauses = [
            ", algorithm = inplace",
            ", algorithm = copy",
            ", lock = none",
            ", lock = shared",
            ", lock = exclusive",
        ];
        if rng.one_in(2) {
            changes.push(pick(rng, &clauses)[2..].to_owned());
        }
        format!("alter table t {}", changes.join(", "))
    }
}

fn alter(socket: &Path, seed: u64, until: Instant) -> BTreeMap<String, u64> {
    let mut rng = Rng::new(seed);
    let mut client = Client::connect(socket, "d").unwrap();
    client.query("set names utf8mb4, lock_wait_timeout = 20").unwrap();
    let mut done: BTreeMap<String, u64> = BTreeMap::new();
    let mut shape = Shape::default();
    while Instant::now() < until {
        let statement = shape.change(&mut rng);
        let answer = client.query(&statement);
        let outcome = match answer {
            Ok(_) => "done".to_owned(),
            // Two changes that do not go together, a clause that asks for what is not done, a name that is gone.
            Err(WireError::Server { code, .. })
                if matches!(code, 1845 | 1846 | 1060 | 1061 | 1054 | 1091 | 1068 | 1709) =>
            {
                format!("refused with {code}")
            }
            Err(WireError::Server { code, .. }) if is_bad_luck(code) => format!("given up with {code}"),
            Err(e) => panic!("{statement}: {e}"),
        };
        *done.entry(outcome).or_default() += 1;
        // What is there by now.
        let names = |client: &mut Client, sql: &str| match client.query(sql).unwrap() {
            Answer::Rows(rows) => {
                rows.into_iter().map(|mut row| row.remove(0).unwrap()).collect::<Vec<String>>()
            }
            Answer::Affected(_) => Vec::new(),
        };
        let of = "where table_schema = 'd' and table_name = 't'";
        shape.columns = names(
            &mut client,
            &format!("select column_name from information_schema.columns {of} and column_name like 'x%'"),
        );
        let sql = format!(
            "select distinct index_name from information_schema.statistics {of} and index_name <> 'PRIMARY'"
        );
        shape.indexes = names(&mut client, &sql);
        if shape.indexes.iter().any(|name| name == "u") {
            match client.query("alter table t drop primary key, drop key u, add primary key (id)") {
                Ok(_) => {}
                Err(WireError::Server { code, .. }) if is_bad_luck(code) => {}
                Err(e) => panic!("the primary key comes back: {e}"),
            }
            shape.indexes.retain(|name| name != "u");
        }
        if rng.one_in(10) {
            client.query("optimize table t").unwrap();
        }
    }
    done
}

fn check(socket: &Path, wanted: &Rows) {
    let mut client = Client::connect(socket, "d").unwrap();
    client.query("set names utf8mb4").unwrap();
    let Answer::Rows(report) = client.query("check table t").unwrap() else { panic!("no report") };
    assert_eq!(report.last().unwrap()[3].as_deref(), Some("OK"), "{report:?}");
    let Answer::Rows(indexes) = client
        .query("select distinct index_name from information_schema.statistics where table_schema = 'd' and table_name = 't'")
        .unwrap()
    else {
        panic!("no indexes")
    };
    for index in indexes {
        let index = index[0].clone().unwrap();
        let sql = format!("select id, a, v from t force index (`{index}`) order by id");
        let Answer::Rows(rows) = client.query(&sql).unwrap() else { panic!("no rows") };
        let got: Rows = rows
            .into_iter()
            .map(|row| {
                let [id, a, v] = [0, 1, 2].map(|i| row[i].clone().unwrap());
                (id.parse().unwrap(), (a.parse().unwrap(), v))
            })
            .collect();
        let differs = |id: &&u64| got.get(id) != wanted.get(id);
        let ids: Vec<_> = wanted.keys().chain(got.keys()).filter(differs).take(5).collect();
        assert!(
            got == *wanted,
            "by {index}: rows {ids:?} are {:?}",
            ids.iter().map(|id| (got.get(id), wanted.get(id))).collect::<Vec<_>>()
        );
    }
}

#[test]
fn what_was_committed_is_there_after_whatever_was_altered() {
    let seconds = number("VAQUITA_ALTERS_SECONDS", 8);
    let seed = number("VAQUITA_ALTERS_SEED", 1);
    let dir = std::env::temp_dir().join(format!("vaquita-random-alters-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let options = ["--innodb-flush-log-at-trx-commit=0", "--innodb-sort-buffer-size=65536"];
    let mut server =
        Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &dir.join("data"), &options).unwrap();
    let socket = server.socket();
    let mut client = Client::connect(&socket, "").unwrap();
    client.query("create database d").unwrap();
    client.query("use d").unwrap();
    client
        .query("create table t (id int not null primary key, a int not null, v varchar(100) character set utf8 not null, key k0 (a))")
        .unwrap();
    let mut own: Vec<Rows> = vec![Rows::new(); WRITERS as usize];
    for id in 0..WRITERS * ROWS {
        client.query(&format!("insert into t values ({id}, 10, 'é')")).unwrap();
        own[(id % WRITERS) as usize].insert(id, (10, "é".into()));
    }
    let rounds = seconds.div_ceil(30);
    let (mut alters, committed, read_all) =
        (BTreeMap::<String, u64>::new(), AtomicU64::new(0), AtomicU64::new(0));
    for round in 0..rounds {
        let ended = AtomicBool::new(false);
        let until = Instant::now() + Duration::from_secs(seconds) / rounds as u32;
        let socket = &socket;
        std::thread::scope(|scope| {
            for (writer, own) in own.iter_mut().enumerate() {
                let (ended, committed) = (&ended, &committed);
                scope.spawn(move || {
                    let seed = seed + round * 100 + writer as u64;
                    let n = write(socket, own, seed, ended);
                    committed.fetch_add(n, Ordering::Relaxed);
                });
            }
            for reader in 0..2 {
                let (ended, read_all) = (&ended, &read_all);
                scope.spawn(move || {
                    read_all
                        .fetch_add(read(socket, seed + round * 100 + 50 + reader, ended), Ordering::Relaxed)
                });
            }
            let done = std::panic::catch_unwind(|| alter(socket, seed + round * 100 + 99, until));
            ended.store(true, Ordering::Relaxed);
            for (outcome, n) in done.unwrap_or_else(|e| std::panic::resume_unwind(e)) {
                *alters.entry(outcome).or_default() += n;
            }
        });
        let wanted = own.iter().flatten().map(|(id, row)| (*id, row.clone())).collect();
        check(socket, &wanted);
    }
    println!("{alters:?}; {committed:?} transactions, {read_all:?} snapshots read");
    assert!(alters.get("done").is_some_and(|n| *n > 3), "{alters:?}");
    assert!(committed.load(Ordering::Relaxed) > 20, "{committed:?} transactions");
    server.stop().unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
}
