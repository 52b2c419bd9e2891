//! Who plays: writers that know their rows, readers of snapshots, and who changes the definition.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use vaquita_base::Rng;
use vaquita_isolation::mysql::{Answer, Client, WireError};

pub(crate) const WRITERS: u64 = 4;
/// Rows that a writer has at the beginning, and about as many at any time.
pub(crate) const ROWS: u64 = 400;
/// Of `a`, over all rows.
pub(crate) const SUM: i64 = (WRITERS * ROWS * 10) as i64;

/// A writer's rows: `a`, `v`.
pub(crate) type Rows = BTreeMap<u64, (i64, String)>;

/// What ends a transaction, and is nobody's fault.
fn is_bad_luck(code: u16) -> bool {
    // Deadlock, waiting too long, the definition changed.
    matches!(code, 1205 | 1213 | 1412)
}

/// How a transaction ended.
enum Ended {
    Committed(Rows),
    TakenBack,
    /// The server is gone. These are the rows if the commit was the last that it did.
    Broken(Option<Rows>),
}

/// Some statements in a transaction.
fn transaction(client: &mut Client, rng: &mut Rng, own: &Rows, next: &mut u64) -> Ended {
    let mut rows = own.clone();
    let mut run = |sql: &str| match client.query(sql) {
        Err(WireError::Server { code, .. }) if is_bad_luck(code) => Err(Ended::TakenBack),
        Ok(Answer::Affected(n)) => Ok(n),
        Ok(Answer::Rows(_)) => panic!("rows of {sql}"),
        Err(WireError::Broken(_)) => Err(Ended::Broken(None)),
        Err(e) => panic!("{sql}: {e}"),
    };
    macro_rules! go {
        ($sql:expr) => {
            match run($sql) {
                Ok(n) => n,
                Err(ended) => {
                    let _ = run("rollback");
                    return ended;
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
        go!("rollback");
        return Ended::TakenBack;
    }
    match run("commit") {
        Ok(_) => Ended::Committed(rows),
        Err(Ended::Broken(_)) => Ended::Broken(Some(rows)),
        Err(ended) => ended,
    }
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

/// What a writer did.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) committed: u64,
    /// The server was gone at a commit; its rows if that was done.
    pub(crate) perhaps: Option<Rows>,
}

/// Writes until the end, or until the server is gone.
pub(crate) fn write(socket: &Path, own: &mut Rows, seed: u64, ended: &AtomicBool) -> Written {
    let mut rng = Rng::new(seed);
    let mut written = Written::default();
    let Ok(mut client) = Client::connect(socket, "d") else { return written };
    if client.query("set names utf8mb4").is_err() {
        return written;
    }
    let last = own.keys().last().unwrap();
    let mut next = last + WRITERS;
    while !ended.load(Ordering::Relaxed) {
        match transaction(&mut client, &mut rng, own, &mut next) {
            Ended::Committed(rows) => {
                *own = rows;
                written.committed += 1;
            }
            Ended::TakenBack => {}
            Ended::Broken(perhaps) => {
                written.perhaps = perhaps;
                break;
            }
        }
    }
    written
}

/// Reads snapshots until the end, or until the server is gone; how many.
pub(crate) fn read(socket: &Path, seed: u64, ended: &AtomicBool) -> u64 {
    let mut rng = Rng::new(seed);
    let mut read = 0;
    let Ok(mut client) = Client::connect(socket, "d") else { return 0 };
    while !ended.load(Ordering::Relaxed) {
        if client.query("start transaction with consistent snapshot").is_err() {
            return read;
        }
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
                Err(WireError::Broken(_)) => return read,
                Err(e) => panic!("{e}"),
            }
        }
        if client.query("rollback").is_err() {
            return read;
        }
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

/// What was changed, and what became of it.
pub(crate) type Altered = BTreeMap<String, u64>;

/// Changes the table until then, or until the server is gone.
pub(crate) fn alter(socket: &Path, seed: u64, until: Instant) -> Altered {
    let mut rng = Rng::new(seed);
    let mut done = Altered::new();
    let Ok(mut client) = Client::connect(socket, "d") else { return done };
    let _ = client.query("set names utf8mb4, lock_wait_timeout = 20");
    let mut shape = Shape::default();
    while Instant::now() < until {
        let statement = shape.change(&mut rng);
        let outcome = match client.query(&statement) {
            Ok(_) => "done".to_owned(),
            // Two changes that do not go together, a clause that asks for what is not done, a name that is gone, an index that is too long.
            Err(WireError::Server { code, .. })
                if matches!(code, 1845 | 1846 | 1060 | 1061 | 1054 | 1091 | 1068 | 1709) =>
            {
                format!("refused with {code}")
            }
            Err(WireError::Server { code, .. }) if is_bad_luck(code) => format!("given up with {code}"),
            Err(WireError::Broken(_)) => "cut off".to_owned(),
            Err(e) => panic!("{statement}: {e}"),
        };
        let cut_off = outcome == "cut off";
        *done.entry(outcome).or_default() += 1;
        if cut_off || shape.look(&mut client).is_none() {
            break;
        }
        if rng.one_in(10) && client.query("optimize table t").is_err() {
            break;
        }
    }
    done
}

impl Shape {
    /// Finds out what is there by now; `None` if the server is gone. The other primary key goes.
    fn look(&mut self, client: &mut Client) -> Option<()> {
        let mut names = |sql: &str| match client.query(sql) {
            Ok(Answer::Rows(rows)) => {
                Some(rows.into_iter().map(|mut row| row.remove(0).unwrap()).collect::<Vec<String>>())
            }
            Ok(Answer::Affected(_)) => panic!("no rows of {sql}"),
            Err(WireError::Broken(_)) => None,
            Err(e) => panic!("{sql}: {e}"),
        };
        let of = "where table_schema = 'd' and table_name = 't'";
        self.columns = names(&format!(
            "select column_name from information_schema.columns {of} and column_name like 'x%'"
        ))?;
        self.indexes = names(&format!(
            "select distinct index_name from information_schema.statistics {of} and index_name <> 'PRIMARY'"
        ))?;
        if self.indexes.iter().any(|name| name == "u") {
            match client.query("alter table t drop primary key, drop key u, add primary key (id)") {
                Ok(_) => {}
                Err(WireError::Server { code, .. }) if is_bad_luck(code) => {}
                Err(WireError::Broken(_)) => return None,
                Err(e) => panic!("the primary key comes back: {e}"),
            }
            self.indexes.retain(|name| name != "u");
        }
        Some(())
    }
}
