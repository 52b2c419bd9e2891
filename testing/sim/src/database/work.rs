//! One step of random work.

use super::model::{Change, Delta, History, Key, Pending, Row, Shape};
use super::shapes;
use vaquita_base::Rng;
use vaquita_engine::{AccessMode, Engine, Error, Isolation, RowKey, Session};

/// Tables there are at most.
const TABLES: usize = 5;

/// A session with what the model knows of it.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) session: Session,
    pub(super) pending: Pending,
    /// In a transaction of several statements.
    open: bool,
}

/// Why work stopped.
#[derive(Debug)]
pub(super) enum Halt {
    /// The engine gave an error that the model did not expect: a fault of the disk, or of the engine.
    Engine(Error),
    /// The engine is wrong.
    Wrong(String),
}

impl From<Error> for Halt {
    fn from(e: Error) -> Self {
        Halt::Engine(e)
    }
}

pub(super) type Outcome<T = ()> = Result<T, Halt>;

fn wrong<T>(text: impl Into<String>) -> Outcome<T> {
    Err(Halt::Wrong(text.into()))
}

/// The sessions and the model.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) workers: Vec<Worker>,
    pub(super) history: History,
    pub(super) rng: Rng,
    ddl: bool,
    /// Definitions of tables with rows that were changed.
    pub(super) alterations: u64,
    /// Steps of others in the middle of such changes.
    pub(super) steps_between: u64,
}

impl Work {
    pub(super) fn new(rng: Rng, ddl: bool) -> Self {
        let history = History::default();
        Self { workers: Vec::new(), history, rng, ddl, alterations: 0, steps_between: 0 }
    }

    /// New sessions, after an opening.
    pub(super) fn connect(&mut self, engine: &Engine, n: usize) {
        self.workers = (0..n)
            .map(|_| {
                let mut session = engine.session();
                session.settings.lock_wait_timeout = 0;
                session.settings.metadata_lock_timeout = 0;
                Worker { session, pending: Pending::default(), open: false }
            })
            .collect();
    }

    /// The sessions are gone, as in a crash: nothing is rolled back by them.
    pub(super) fn disconnect(&mut self) -> Vec<Worker> {
        std::mem::take(&mut self.workers)
    }

    /// Something.
    pub(super) fn step(&mut self) -> Outcome {
        let who = self.rng.index(self.workers.len());
        if self.history.now.is_empty() || (self.ddl && self.rng.one_in(60)) {
            return self.ddl(who);
        }
        match self.rng.below(24) {
            0..9 => self.insert(who),
            9..13 => self.update(who),
            13..16 => self.delete(who),
            16 => self.read(who),
            17 => self.begin(who),
            18 => self.savepoint(who),
            19 => self.rollback_to_savepoint(who),
            20..23 => self.commit(who),
            _ => self.rollback(who),
        }
    }

    pub(super) fn pick_table(&mut self) -> (String, Shape) {
        let at = self.rng.index(self.history.now.len());
        let (name, table) = self.history.now.iter().nth(at).expect("there is a table");
        (name.clone(), table.shape)
    }

    fn begin(&mut self, who: usize) -> Outcome {
        let worker = &mut self.workers[who];
        if worker.open {
            return Ok(());
        }
        worker.session.settings.isolation = match self.rng.below(3) {
            0 => Isolation::ReadCommitted,
            _ => Isolation::RepeatableRead,
        };
        let snapshot = self.rng.one_in(3);
        worker.session.begin(AccessMode::ReadWrite, snapshot)?;
        worker.open = true;
        if snapshot && worker.session.settings.isolation == Isolation::RepeatableRead {
            worker.pending.snapshot = Some(self.history.now.clone());
        }
        Ok(())
    }

    /// After a statement that succeeded: in autocommit mode its changes are committed and durable.
    fn done(&mut self, who: usize, changes: Vec<Change>) {
        let worker = &mut self.workers[who];
        worker.pending.changes.extend(changes);
        if !worker.open {
            self.committed(who);
            self.history.acknowledge();
        }
    }

    fn committed(&mut self, who: usize) {
        let worker = &mut self.workers[who];
        worker.open = false;
        let pending = std::mem::take(&mut worker.pending);
        if !pending.changes.is_empty() {
            self.history.commit(Delta::Rows(pending.changes));
        }
    }

    /// What to make of an error of a statement. `changes` would have been committed with it in autocommit mode: if the
    /// log failed, they may be durable all the same.
    fn failed(&mut self, who: usize, error: Error, changes: Vec<Change>) -> Outcome<Error> {
        let worker = &mut self.workers[who];
        match error {
            Error::LockWaitTimeout | Error::MetadataLockTimeout(_) | Error::DuplicateKey { .. } => {
                if !worker.open {
                    worker.pending = Pending::default();
                }
                Ok(error)
            }
            Error::Deadlock(_) => {
                worker.open = false;
                worker.pending = Pending::default();
                Ok(error)
            }
            Error::TableChanged(_) | Error::ViewTooOld(_) | Error::NoSuchTable(_) => Ok(error),
            other => {
                if !worker.open && !changes.is_empty() {
                    self.history.commit(Delta::Rows(changes));
                }
                Err(Halt::Engine(other))
            }
        }
    }

    fn insert(&mut self, who: usize) -> Outcome {
        let (table, shape) = self.pick_table();
        let row = shapes::row(shape, &mut self.rng);
        let fields: Vec<_> = row.iter().map(Option::as_deref).collect();
        let result = self.workers[who].session.run(|s| {
            let table = s.table(&table)?;
            s.insert(&table, &fields)
        });
        let known =
            (shape != Shape::Keyless).then(|| shapes::model_key(shape, &shapes::row_key(shape, &row)));
        match result {
            Ok(key) => {
                let key = shapes::model_key(shape, &key);
                if known.is_some_and(|known| known != key) {
                    return wrong(format!("{table}: insert gave key {key:02x?}"));
                }
                self.check_unique(who, &table, shape, &key, &row, true)?;
                self.done(who, vec![Change { table, key, row: Some(row) }]);
                Ok(())
            }
            Err(error) => {
                let change = Change {
                    table: table.clone(),
                    key: known.clone().unwrap_or_default(),
                    row: Some(row.clone()),
                };
                let changes = if shape == Shape::Keyless { Vec::new() } else { vec![change] };
                let duplicate = matches!(error, Error::DuplicateKey { .. });
                if shape == Shape::Keyless && !self.workers[who].open {
                    self.history.loses_sight_of(table.clone(), row.clone());
                }
                self.failed(who, error, changes)?;
                match duplicate {
                    true => self.check_unique(who, &table, shape, &known.unwrap_or_default(), &row, false),
                    false => Ok(()),
                }
            }
        }
    }

    /// Whether a row was rightly let in (`fits`) or rightly refused, judged by the newest rows the session may meet.
    fn check_unique(
        &self,
        who: usize,
        table: &str,
        shape: Shape,
        key: &Key,
        row: &Row,
        fits: bool,
    ) -> Outcome {
        let pending = &self.workers[who].pending;
        let same_key = pending.current(&self.history.now, table, key).is_some();
        let own = Pending { changes: pending.changes.clone(), ..Pending::default() };
        let rows = own.seen(&self.history.now, table).map(|t| t.rows).unwrap_or_default();
        let same_unique = shapes::unique_column(shape).is_some_and(|c| {
            row[c].is_some() && rows.iter().any(|(k, other)| k != key && other[c] == row[c])
        });
        if fits == (same_key || same_unique) {
            let what = if fits { "a duplicate was let in" } else { "no duplicate was refused" };
            return wrong(format!("{table}: {what}: {row:02x?}"));
        }
        Ok(())
    }

    /// A key that is there, mostly.
    fn pick_key(&mut self, who: usize, table: &str, shape: Shape) -> Option<(Key, RowKey)> {
        let committed = self.history.now.get(table)?;
        let own = self.workers[who].pending.changes.iter().rev().find(|c| c.table == table);
        if let Some(own) = own
            && self.rng.one_in(3)
        {
            return self.row_key_of(own.key.clone(), own.row.clone(), shape);
        }
        if committed.rows.is_empty() {
            return None;
        }
        let at = self.rng.index(committed.rows.len());
        let (key, row) = committed.rows.iter().nth(at)?;
        self.row_key_of(key.clone(), Some(row.clone()), shape)
    }

    fn row_key_of(&self, key: Key, row: Option<Row>, shape: Shape) -> Option<(Key, RowKey)> {
        match shape {
            Shape::Keyless => {
                let row_key = RowKey::new(key.iter().map(Vec::as_slice));
                Some((key, row_key))
            }
            _ => {
                let row_key = shapes::row_key(shape, &row?);
                Some((key, row_key))
            }
        }
    }

    fn update(&mut self, who: usize) -> Outcome {
        let (table, shape) = self.pick_table();
        let Some((key, row_key)) = self.pick_key(who, &table, shape) else { return Ok(()) };
        let mut changes = Vec::new();
        for column in 0..shapes::n_columns(shape) {
            // Seldom the key itself.
            let is_key = shapes::key_columns(shape).contains(&column);
            if self.rng.one_in(if is_key { 8 } else { 2 }) {
                changes.push((column, shapes::value(shape, column, &mut self.rng)));
            }
        }
        let before = self.workers[who].pending.current(&self.history.now, &table, &key).cloned();
        let mut after = before.clone();
        if let Some(after) = &mut after {
            changes.iter().for_each(|(c, v)| after[*c].clone_from(v));
        }
        let new_key = match (&after, shape) {
            (Some(after), Shape::Simple | Shape::Composite) => {
                shapes::model_key(shape, &shapes::row_key(shape, after))
            }
            _ => key.clone(),
        };
        let mut made = Vec::new();
        if let Some(after) = &after {
            if new_key != key {
                made.push(Change { table: table.clone(), key: key.clone(), row: None });
            }
            made.push(Change { table: table.clone(), key: new_key.clone(), row: Some(after.clone()) });
        }
        let fields: Vec<_> = changes.iter().map(|(c, v)| (*c, v.as_deref())).collect();
        let result = self.workers[who].session.run(|s| {
            let table = s.table(&table)?;
            s.update(&table, &row_key, &fields)
        });
        match result {
            Ok(changed) => {
                if changed != (before != after) {
                    return wrong(format!(
                        "{table}: update of {key:02x?} said {changed}: {before:02x?} -> {after:02x?}"
                    ));
                }
                if changed {
                    self.done(who, made);
                } else if !self.workers[who].open {
                    self.workers[who].pending = Pending::default();
                }
                Ok(())
            }
            Err(error) => self.failed(who, error, made).map(|_| ()),
        }
    }

    fn delete(&mut self, who: usize) -> Outcome {
        let (table, shape) = self.pick_table();
        let Some((key, row_key)) = self.pick_key(who, &table, shape) else { return Ok(()) };
        let there = self.workers[who].pending.current(&self.history.now, &table, &key).is_some();
        let change = Change { table: table.clone(), key: key.clone(), row: None };
        let result = self.workers[who].session.run(|s| {
            let table = s.table(&table)?;
            s.delete(&table, &row_key)
        });
        match result {
            Ok(deleted) if deleted != there => wrong(format!("{table}: delete of {key:02x?} said {deleted}")),
            Ok(true) => {
                self.done(who, vec![change]);
                Ok(())
            }
            Ok(false) => Ok(()),
            Err(error) => self.failed(who, error, vec![change]).map(|_| ()),
        }
    }

    /// A consistent read by a random index.
    fn read(&mut self, who: usize) -> Outcome {
        let (table, shape) = self.pick_table();
        let index = self.rng.index(shapes::n_indexes(shape));
        let backward = self.rng.one_in(3);
        let worker = &mut self.workers[who];
        let repeatable = worker.session.settings.isolation == Isolation::RepeatableRead;
        if worker.open && repeatable && worker.pending.snapshot.is_none() {
            worker.pending.snapshot = Some(self.history.now.clone());
        }
        let result = worker.session.run(|s| super::check::read_table(s, &table, shape, index, backward));
        match result {
            Ok(found) => {
                let seen = worker.pending.seen(&self.history.now, &table);
                match seen.filter(|seen| seen.rows != found) {
                    Some(seen) => wrong(format!(
                        "{table}, index {index}: a consistent read sees {} rows, the snapshot has {}: found {:02x?}, wanted {:02x?}",
                        found.len(),
                        seen.rows.len(),
                        found.iter().find(|(k, r)| seen.rows.get(*k) != Some(r)),
                        seen.rows.iter().find(|(k, r)| found.get(*k) != Some(r)),
                    )),
                    None => Ok(()),
                }
            }
            Err(error) => self.failed(who, error, Vec::new()).map(|_| ()),
        }
    }

    fn savepoint(&mut self, who: usize) -> Outcome {
        let worker = &mut self.workers[who];
        if worker.open {
            let name = format!("s{}", self.rng.below(3));
            worker.session.savepoint(&name);
            let takes_part = worker.session.takes_part(false);
            worker.pending.savepoints.retain(|(n, ..)| *n != name);
            worker.pending.savepoints.push((name, worker.pending.changes.len(), takes_part));
        }
        Ok(())
    }

    fn rollback_to_savepoint(&mut self, who: usize) -> Outcome {
        let worker = &mut self.workers[who];
        if worker.pending.savepoints.is_empty() {
            return match worker.session.rollback_to_savepoint("none") {
                Err(Error::NoSuchSavepoint(_)) => Ok(()),
                other => wrong(format!("no savepoint was set, but: {other:?}")),
            };
        }
        let at = self.rng.index(worker.pending.savepoints.len());
        let (name, len, takes_part) = worker.pending.savepoints[at].clone();
        worker.session.rollback_to_savepoint(&name)?;
        worker.pending.savepoints.truncate(at + 1);
        worker.pending.changes.truncate(len);
        if !takes_part {
            // The transaction begins anew, and with it its read view.
            worker.pending.snapshot = None;
        }
        Ok(())
    }

    fn commit(&mut self, who: usize) -> Outcome {
        if !self.workers[who].open {
            return Ok(());
        }
        let changes = !self.workers[who].pending.changes.is_empty();
        let result = self.workers[who].session.commit();
        // Even if it failed half-way, it may turn out to be durable.
        self.committed(who);
        let durability = result?;
        if self.rng.one_in(2) {
            durability.wait()?;
            // A transaction without changes has nothing to wait for.
            if changes {
                self.history.acknowledge();
            }
        }
        Ok(())
    }

    fn rollback(&mut self, who: usize) -> Outcome {
        self.workers[who].session.rollback()?;
        self.workers[who].open = false;
        self.workers[who].pending = Pending::default();
        Ok(())
    }

    fn ddl(&mut self, who: usize) -> Outcome {
        if self.workers[who].open {
            return Ok(());
        }
        if !self.history.now.is_empty() && self.rng.one_in(3) {
            return self.alter(who);
        }
        let create = self.history.now.len() < TABLES && (self.history.now.is_empty() || self.rng.one_in(2));
        let (delta, result) = if create {
            let shape = Shape::ALL[self.rng.index(3)];
            let name = self.new_name();
            let spec = shapes::spec(&name, shape, &mut self.rng);
            (Delta::Create(name, shape), self.workers[who].session.create_table(&spec))
        } else {
            let (name, _) = self.pick_table();
            let to = self.new_name();
            let session = &mut self.workers[who].session;
            match self.rng.below(3) {
                0 => {
                    let result = session.drop_table(&name);
                    (Delta::Drop(name), result)
                }
                1 => {
                    let result = session.rename_table(&name, &to);
                    (Delta::Rename(name, to), result)
                }
                _ => {
                    let result = session.truncate_table(&name);
                    (Delta::Truncate(name), result)
                }
            }
        };
        self.ended(delta, result.map_err(Halt::Engine))
    }

    /// After a change of a definition.
    pub(super) fn ended(&mut self, delta: Delta, result: Outcome) -> Outcome {
        match result {
            Ok(()) => {
                self.forget_in_snapshots(&delta);
                self.history.commit(delta);
                self.history.acknowledge();
                Ok(())
            }
            Err(Halt::Engine(Error::LockWaitTimeout | Error::MetadataLockTimeout(_))) => Ok(()),
            Err(Halt::Engine(other)) => {
                // It may have happened all the same.
                self.history.commit(delta);
                Err(Halt::Engine(other))
            }
            Err(wrong) => Err(wrong),
        }
    }

    /// A table whose definition is newer than a snapshot is not for that snapshot to read.
    fn forget_in_snapshots(&mut self, delta: &Delta) {
        let names: &[&String] = match delta {
            Delta::Rows(_) => &[],
            Delta::Create(name, _) | Delta::Drop(name) | Delta::Truncate(name) | Delta::Extra(name, _) => {
                &[name]
            }
            Delta::Rename(from, to) => &[from, to],
        };
        for snapshot in self.workers.iter_mut().filter_map(|w| w.pending.snapshot.as_mut()) {
            names.iter().for_each(|name| drop(snapshot.remove(*name)));
        }
    }

    /// Names come back, so that files of old tables would be in the way.
    fn new_name(&mut self) -> String {
        loop {
            let name = format!("db{}/t{}", self.rng.below(2), self.rng.below(8));
            if !self.history.now.contains_key(&name) {
                return name;
            }
        }
    }
}
