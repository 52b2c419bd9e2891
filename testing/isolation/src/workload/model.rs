//! Small databases in memory with known behaviour, right and wrong: the checker's own test objects.
//!
//! A row is a vector of values; a register's row holds one. Nobody waits: a lock that is not free aborts the transaction
//! that asks, so that sessions can take turns in one thread.

use super::{Database, Failure, GROUP, List, Session};
use crate::Level;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How the database behaves, whatever level is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Shared locks for reads, exclusive ones for writes, to the end.
    Locking,
    /// Snapshot isolation: all reads from the start of the transaction, the first to commit wins.
    Snapshot,
    /// InnoDB's REPEATABLE READ: plain reads from a snapshot, writes and locking reads on the newest version.
    RepeatableRead,
    /// Each plain read sees what is committed.
    ReadCommitted,
    /// Plain reads see the newest version.
    ReadUncommitted,
    /// A bug: plain reads come from an old snapshot that is renewed now and then.
    StaleReads,
    /// A bug: writes take no locks and overwrite what they do not see.
    LostWrites,
}

type Rows = BTreeMap<u64, Vec<u64>>;

#[derive(Debug, Default)]
struct Shared {
    committed: Rows,
    /// Rows of open transactions by key, over the committed ones.
    dirty: HashMap<u64, (usize, Vec<u64>)>,
    exclusive: HashMap<u64, usize>,
    shared: HashMap<u64, Vec<usize>>,
    /// How often a key was committed.
    versions: HashMap<u64, u64>,
    old: Rows,
    commits: u64,
    sessions: usize,
}

/// The database.
#[derive(Debug, Clone)]
pub struct Model {
    behaviour: Behaviour,
    shared: Arc<Mutex<Shared>>,
}

impl Model {
    /// An empty one.
    pub fn new(behaviour: Behaviour) -> Model {
        Model { behaviour, shared: Arc::default() }
    }
}

struct ModelSession {
    behaviour: Behaviour,
    shared: Arc<Mutex<Shared>>,
    me: usize,
    snapshot: Option<(Rows, HashMap<u64, u64>)>,
    written: Rows,
    /// What was written before the savepoint.
    saved: Rows,
}

/// Registers lie behind the lists.
const REGISTERS_FROM: u64 = 1 << 32;
/// Commits between two snapshots of [`Behaviour::StaleReads`].
const STALE_COMMITS: u64 = 8;

impl Database for Model {
    fn prepare(&self, _lists: u64, registers: u64) -> Result<(), Failure> {
        let mut shared = lock(&self.shared);
        *shared = Shared::default();
        for key in 0..registers {
            shared.committed.insert(REGISTERS_FROM + key, vec![0]);
        }
        shared.old = shared.committed.clone();
        Ok(())
    }

    fn session(&self) -> Result<Box<dyn Session>, Failure> {
        let mut shared = lock(&self.shared);
        shared.sessions += 1;
        Ok(Box::new(ModelSession {
            behaviour: self.behaviour,
            shared: Arc::clone(&self.shared),
            me: shared.sessions,
            snapshot: None,
            written: Rows::new(),
            saved: Rows::new(),
        }))
    }
}

/// A panic elsewhere fails the test anyway.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn newest(&self, key: u64) -> Vec<u64> {
        let row = self.dirty.get(&key).map(|(_, row)| row).or_else(|| self.committed.get(&key));
        row.cloned().unwrap_or_default()
    }

    fn lock_shared(&mut self, key: u64, me: usize) -> Result<(), Failure> {
        if self.exclusive.get(&key).is_some_and(|owner| *owner != me) {
            return Err(Failure::Aborted("locked".into()));
        }
        self.shared.entry(key).or_default().push(me);
        Ok(())
    }

    fn lock_exclusive(&mut self, key: u64, me: usize) -> Result<(), Failure> {
        let others = |owners: &Vec<usize>| owners.iter().any(|owner| *owner != me);
        if self.exclusive.get(&key).is_some_and(|owner| *owner != me)
            || self.shared.get(&key).is_some_and(others)
        {
            return Err(Failure::Aborted("locked".into()));
        }
        self.exclusive.insert(key, me);
        Ok(())
    }

    fn release(&mut self, me: usize) {
        self.exclusive.retain(|_, owner| *owner != me);
        self.shared.values_mut().for_each(|owners| owners.retain(|owner| *owner != me));
        self.dirty.retain(|_, (owner, _)| *owner != me);
    }
}

impl ModelSession {
    fn row(&mut self, key: u64, locking: bool) -> Result<Vec<u64>, Failure> {
        if let Some(own) = self.written.get(&key) {
            return Ok(own.clone());
        }
        let mut shared = lock(&self.shared);
        let snapshot = || (shared.committed.clone(), shared.versions.clone());
        match self.behaviour {
            // A locking read counts as a write: who commits first wins.
            Behaviour::Snapshot if locking => {
                drop(shared);
                let row = self.row(key, false)?;
                self.written.insert(key, row.clone());
                return Ok(row);
            }
            Behaviour::Snapshot => {}
            Behaviour::Locking => {
                shared.lock_shared(key, self.me)?;
                return Ok(shared.newest(key));
            }
            _ if locking => {
                shared.lock_shared(key, self.me)?;
                return Ok(shared.newest(key));
            }
            Behaviour::ReadUncommitted | Behaviour::LostWrites => return Ok(shared.newest(key)),
            Behaviour::ReadCommitted => return Ok(shared.committed.get(&key).cloned().unwrap_or_default()),
            Behaviour::StaleReads => return Ok(shared.old.get(&key).cloned().unwrap_or_default()),
            Behaviour::RepeatableRead => {}
        }
        let (rows, _) = self.snapshot.get_or_insert_with(snapshot);
        Ok(rows.get(&key).cloned().unwrap_or_default())
    }

    /// The row that a write builds on.
    fn row_to_change(&mut self, key: u64) -> Result<Vec<u64>, Failure> {
        match self.behaviour {
            Behaviour::Snapshot | Behaviour::LostWrites => self.row(key, false),
            _ => {
                lock(&self.shared).lock_exclusive(key, self.me)?;
                match self.written.get(&key) {
                    Some(own) => Ok(own.clone()),
                    None => Ok(lock(&self.shared).newest(key)),
                }
            }
        }
    }

    fn put(&mut self, key: u64, row: Vec<u64>) {
        if self.behaviour != Behaviour::Snapshot && self.behaviour != Behaviour::LostWrites {
            lock(&self.shared).dirty.insert(key, (self.me, row.clone()));
        }
        self.written.insert(key, row);
    }
}

impl Session for ModelSession {
    fn begin(&mut self, _level: Level) -> Result<(), Failure> {
        let shared = lock(&self.shared);
        self.written.clear();
        self.snapshot = match self.behaviour {
            Behaviour::Snapshot => Some((shared.committed.clone(), shared.versions.clone())),
            _ => None,
        };

        Ok(())
    }

    fn append(&mut self, key: u64, value: u64) -> Result<(), Failure> {
        let mut row = self.row_to_change(key)?;
        row.push(value);
        self.put(key, row);
        Ok(())
    }

    fn list(&mut self, key: u64, lock: bool) -> Result<Vec<u64>, Failure> {
        self.row(key, lock)
    }

    fn lists(&mut self, from: u64, to: u64, lock: bool) -> Result<Vec<List>, Failure> {
        (from..to).map(|key| Ok((key, self.row(key, lock)?))).collect()
    }

    fn write(&mut self, key: u64, value: u64) -> Result<u64, Failure> {
        let key = REGISTERS_FROM + key;
        let replaced = self.row_to_change(key)?;
        self.put(key, vec![value]);
        Ok(replaced.first().copied().unwrap_or(0))
    }

    fn replace(&mut self, key: u64, value: u64) -> Result<u64, Failure> {
        self.write(key, value)
    }

    fn read(&mut self, key: u64, lock: bool) -> Result<Option<u64>, Failure> {
        Ok(self.row(REGISTERS_FROM + key, lock)?.first().copied())
    }

    fn group(&mut self, group: u64, lock: bool) -> Result<Vec<(u64, u64)>, Failure> {
        (group * GROUP..(group + 1) * GROUP)
            .map(|key| Ok((key, self.read(key, lock)?.unwrap_or(0))))
            .collect()
    }

    fn savepoint(&mut self) -> Result<(), Failure> {
        self.saved = self.written.clone();
        Ok(())
    }

    fn rollback_to_savepoint(&mut self) -> Result<(), Failure> {
        let mut shared = lock(&self.shared);
        for key in self.written.keys() {
            match self.saved.get(key) {
                Some(row) if shared.dirty.contains_key(key) => {
                    shared.dirty.insert(*key, (self.me, row.clone()));
                }
                Some(_) => {}
                None => drop(shared.dirty.remove(key)),
            }
        }
        self.written = self.saved.clone();
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let mut shared = lock(&self.shared);
        if let (Behaviour::Snapshot, Some((_, versions))) = (self.behaviour, &self.snapshot)
            && self.written.keys().any(|key| versions.get(key) != shared.versions.get(key))
        {
            return Err(Failure::Aborted("somebody committed first".into()));
        }
        for (key, row) in std::mem::take(&mut self.written) {
            *shared.versions.entry(key).or_default() += 1;
            shared.committed.insert(key, row);
        }
        shared.commits += 1;
        if shared.commits.is_multiple_of(STALE_COMMITS) {
            shared.old = shared.committed.clone();
        }
        shared.release(self.me);
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.written.clear();
        lock(&self.shared).release(self.me);
        Ok(())
    }
}
