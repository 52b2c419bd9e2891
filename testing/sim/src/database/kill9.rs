//! `kill -9` of a process that runs transactions and DDL on the real disk.
//!
//! Each thread of the child has tables of its own, so what its transaction number `n` does follows from the seed, the
//! thread, `n`, and the state after the ones before. It says when it begins one and when it is durable. The parent kills
//! it after a random number of such lines, opens the folder, and demands of each thread the state after the last
//! transaction it reported durable, or after the one it had begun then; and that every index agrees, nothing is left to
//! purge, and the files are those of the tables.

use super::check::{self, read_table};
use super::model::{Change, Db, Delta, Key, Row, Shape, apply, difference};
use super::shapes;
use super::work::Halt;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;
use vaquita_base::Rng;
use vaquita_engine::{AccessMode, Engine, Error, Options, Session, Statement};

const THREADS: usize = 3;
/// Tables of a thread, at most.
const TABLES: usize = 3;
/// Lines of output after which the process is killed, at most.
const LINES_MAX: u64 = 1_200;

fn options(dir: &Path) -> Options {
    let mut options = Options::new(dir);
    options.storage.buffer_pool_size = 8 << 20;
    options.storage.log_file_size = 2 << 20;
    options.storage.live.autoextend_increment_bytes = 1 << 20;
    options.txn.rollback_segments = 8;
    options.purge_threads = 2;
    options
}

/// One step of a transaction.
#[derive(Debug)]
enum Step {
    Put(String, Shape, Row),
    Remove(String, Shape, Row),
    Savepoint,
    RollBackTo,
}

/// What a transaction does.
#[derive(Debug)]
enum Plan {
    Definition(Delta, u64),
    Rows(Vec<Step>, bool),
}

/// Transaction number `n` of a thread whose tables are `db`.
fn plan(seed: u64, thread: usize, n: u64, db: &Db) -> Plan {
    let mut rng = Rng::new(seed ^ (thread as u64) << 56 ^ n << 8);
    if db.is_empty() || rng.one_in(25) {
        return Plan::Definition(definition(&mut rng, thread, db), rng.next_u64());
    }
    let steps = (0..1 + rng.below(8)).map(|_| step(&mut rng, db)).collect();
    Plan::Rows(steps, !rng.one_in(6))
}

fn definition(rng: &mut Rng, thread: usize, db: &Db) -> Delta {
    let free =
        (0..).map(|i| format!("db/t{thread}_{i}")).find(|name| !db.contains_key(name)).unwrap_or_default();
    if db.len() < TABLES && (db.is_empty() || rng.one_in(2)) {
        let shape = if rng.one_in(2) { Shape::Simple } else { Shape::Composite };
        return Delta::Create(free, shape);
    }
    let name = db.keys().nth(rng.index(db.len())).cloned().unwrap_or_default();
    match rng.below(3) {
        0 => Delta::Drop(name),
        1 => Delta::Rename(name, free),
        _ => Delta::Truncate(name),
    }
}

fn step(rng: &mut Rng, db: &Db) -> Step {
    let (name, table) = db.iter().nth(rng.index(db.len())).expect("there is a table");
    let mut row = shapes::row(table.shape, rng);
    if let Some(column) = shapes::unique_column(table.shape) {
        // Unique because the key is.
        row[column] = row[0].as_ref().map(|key| [&[0; 4][..], key].concat());
    }
    match rng.below(10) {
        0 => Step::Savepoint,
        1 => Step::RollBackTo,
        2..5 => Step::Remove(name.clone(), table.shape, row),
        _ => Step::Put(name.clone(), table.shape, row),
    }
}

/// What the steps change, in the end.
fn effect(steps: &[Step]) -> Vec<Change> {
    let (mut changes, mut savepoint) = (Vec::new(), None);
    for step in steps {
        match step {
            Step::Put(table, shape, row) => changes.push(change(table, *shape, row, true)),
            Step::Remove(table, shape, row) => changes.push(change(table, *shape, row, false)),
            Step::Savepoint => savepoint = Some(changes.len()),
            Step::RollBackTo => changes.truncate(savepoint.unwrap_or(changes.len())),
        }
    }
    changes
}

fn change(table: &str, shape: Shape, row: &Row, there: bool) -> Change {
    let key = shapes::model_key(shape, &shapes::row_key(shape, row));
    Change { table: table.to_owned(), key, row: there.then(|| row.clone()) }
}

/// The state after a transaction.
fn after(seed: u64, thread: usize, n: u64, db: &mut Db) {
    match plan(seed, thread, n, db) {
        Plan::Definition(delta, _) => apply(db, &delta),
        Plan::Rows(steps, true) => apply(db, &Delta::Rows(effect(&steps))),
        Plan::Rows(_, false) => {}
    }
}

/// Does it, and returns when it is durable.
fn perform(session: &mut Session, plan: &Plan) -> Result<(), Error> {
    match plan {
        Plan::Definition(Delta::Create(name, shape), seed) => {
            session.create_table(&shapes::spec(name, *shape, &mut Rng::new(*seed)))
        }
        Plan::Definition(Delta::Drop(name), _) => session.drop_table(name),
        Plan::Definition(Delta::Rename(from, to), _) => session.rename_table(from, to),
        Plan::Definition(Delta::Truncate(name), _) => session.truncate_table(name),
        Plan::Definition(Delta::Rows(_) | Delta::Extra(..), _) => Ok(()),
        Plan::Rows(steps, commits) => {
            session.begin(AccessMode::ReadWrite, false)?;
            for step in steps {
                match step {
                    Step::Put(table, shape, row) => session.run(|s| put(s, table, *shape, row))?,
                    Step::Remove(table, shape, row) => session.run(|s| {
                        let table = s.table(table)?;
                        s.delete(&table, &shapes::row_key(*shape, row)).map(|_| ())
                    })?,
                    Step::Savepoint => session.savepoint("s"),
                    Step::RollBackTo => match session.rollback_to_savepoint("s") {
                        Ok(()) | Err(Error::NoSuchSavepoint(_)) => {}
                        Err(e) => return Err(e),
                    },
                }
            }
            match commits {
                true => session.commit()?.wait(),
                false => session.rollback(),
            }
        }
    }
}

/// Updates the row with that key, or inserts it.
fn put(s: &mut Statement<'_>, table: &str, shape: Shape, row: &Row) -> Result<(), Error> {
    let table = s.table(table)?;
    let fields: Vec<_> = row.iter().map(Option::as_deref).collect();
    match s.insert(&table, &fields) {
        Err(Error::DuplicateKey { .. }) => {
            let changes: Vec<_> = fields.iter().copied().enumerate().collect();
            s.update(&table, &shapes::row_key(shape, row), &changes).map(|_| ())
        }
        other => other.map(|_| ()),
    }
}

/// The child's part; `words`: folder, seed, and for each thread the number of its next transaction.
///
/// # Errors
/// What went wrong, or arguments that make no sense.
pub fn child(words: &[&str]) -> Result<(), String> {
    let [dir, seed, next @ ..] = words else { return Err("too few words for a child".into()) };
    let number = |word: &str| word.parse::<u64>().map_err(|e| format!("{word}: {e}"));
    let seed = number(seed)?;
    let next: Vec<u64> = next.iter().map(|word| number(word)).collect::<Result<_, _>>()?;
    let engine = Engine::open(options(Path::new(dir))).map_err(|e| e.to_string())?;
    let say = |what: char, thread: usize, n: u64| {
        let mut out = std::io::stdout().lock();
        // Without a parent there is nothing to do.
        if writeln!(out, "{what} {thread} {n}").and_then(|()| out.flush()).is_err() {
            std::process::exit(1);
        }
    };
    std::thread::scope(|scope| {
        for (thread, first) in next.into_iter().enumerate() {
            let (engine, say) = (&engine, &say);
            scope.spawn(move || {
                let mut session = engine.session();
                let mut db = Db::new();
                (0..first).for_each(|n| after(seed, thread, n, &mut db));
                for n in first.. {
                    say('b', thread, n);
                    if let Err(e) = perform(&mut session, &plan(seed, thread, n, &db)) {
                        eprintln!("thread {thread}, transaction {n}: {e} ({e:?})");
                        std::process::exit(3);
                    }
                    say('d', thread, n);
                    after(seed, thread, n, &mut db);
                }
            });
        }
    });
    Ok(())
}

/// Kills a child `rounds` times and looks at what it left. The transactions that were reported durable.
///
/// # Errors
/// What went wrong.
pub fn rounds(exe: &Path, rounds: u64, seed: u64) -> Result<u64, String> {
    let dir = std::env::temp_dir().join(format!("vaquita-kill9-databases-{}-{seed}", std::process::id()));
    let mut rng = Rng::new(seed);
    let mut states = vec![(0, Db::new()); THREADS];
    for round in 0..rounds {
        let lines = 1 + rng.below(LINES_MAX);
        let begun = run_child(exe, &dir, seed, &states, lines)?;
        judge(&dir, seed, &mut states, &begun)
            .map_err(|e| format!("seed {seed}, round {round}, folder {}: {e}", dir.display()))?;
    }
    std::fs::remove_dir_all(&dir).map_err(|e| e.to_string())?;
    Ok(states.iter().map(|(n, _)| n).sum())
}

/// What a thread said last: transactions reported durable, and begun.
type Said = (u64, u64);

fn run_child(
    exe: &Path,
    dir: &Path,
    seed: u64,
    states: &[(u64, Db)],
    lines: u64,
) -> Result<Vec<Said>, String> {
    let mut command = Command::new(exe);
    command.arg("database-child").arg(dir).arg(seed.to_string());
    command.args(states.iter().map(|(n, _)| n.to_string())).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    let out = BufReader::new(child.stdout.take().ok_or("no output")?);
    let mut said: Vec<Said> = states.iter().map(|(n, _)| (*n, *n)).collect();
    let mut read = 0;
    for line in out.lines() {
        let line = line.map_err(|e| e.to_string())?;
        let words: Vec<&str> = line.split(' ').collect();
        // The last line may be cut.
        let [what, thread, n] = words[..] else { continue };
        let (Ok(thread), Ok(n)) = (thread.parse::<usize>(), n.parse::<u64>()) else { continue };
        match what {
            "b" => said[thread].1 = n + 1,
            _ => said[thread].0 = n + 1,
        }
        read += 1;
        if read == lines {
            child.kill().map_err(|e| e.to_string())?;
        }
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    match status.code() {
        Some(code) => Err(format!("the child ended by itself with {code}")),
        None => Ok(said),
    }
}

fn judge(dir: &Path, seed: u64, states: &mut [(u64, Db)], said: &[Said]) -> Result<(), String> {
    let mut options = options(dir);
    options.background = false;
    let engine = Engine::open(options).map_err(|e| e.to_string())?;
    while engine.core().rollback_step().map_err(|e| e.to_string())? {}
    let mut all = Db::new();
    for (thread, ((at, db), (durable, begun))) in states.iter_mut().zip(said).enumerate() {
        while at < &mut durable.clone() {
            after(seed, thread, *at, db);
            *at += 1;
        }
        let found = read_thread(&engine, thread)?;
        if *db != found && begun > durable {
            let known = db.clone();
            after(seed, thread, *at, db);
            *at += 1;
            if *db != found {
                let (now, then) = (difference(db, &found), difference(&known, &found));
                return Err(format!(
                    "thread {thread} after transaction {at}: {now}; without the last: {then}"
                ));
            }
        }
        if *db != found {
            return Err(format!("thread {thread} after transaction {at}: {}", difference(db, &found)));
        }
        all.extend(found);
    }
    let files = check::ibd_files(dir);
    check::all_quiet_with(&engine, &dir.to_string_lossy(), &files, &all).map_err(|halt| match halt {
        Halt::Wrong(text) => text,
        Halt::Engine(e) => e.to_string(),
    })?;
    engine.close().map_err(|e| e.to_string())
}

fn read_thread(engine: &Engine, thread: usize) -> Result<Db, String> {
    let mut session = engine.session();
    let mut found = Db::new();
    let names = engine.core().user_tables().map_err(|e| e.to_string())?;
    for name in names.into_iter().filter(|n| n.starts_with(&format!("db/t{thread}_"))) {
        let rows = session.run(|s| {
            let shape = check::shape_of(s.table(&name)?.columns.len());
            Ok((shape, read_table(s, &name, shape, 0, false)?))
        });
        let (shape, rows): (Shape, BTreeMap<Key, Row>) = rows.map_err(|e| e.to_string())?;
        found.insert(name, Rc::new(super::model::TableModel { shape, rows, extra: false }));
    }
    Ok(found)
}
