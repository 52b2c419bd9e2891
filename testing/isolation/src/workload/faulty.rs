//! A database that lies: canaries for the checker.

use super::{Database, Failure, List, Session};
use crate::Level;
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use vaquita_base::rng::Rng;

/// What is wrong with a [`Faulty`] database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Transactions begin at this level whatever is asked for: as if the database had forgotten read views (READ COMMITTED
    /// for REPEATABLE READ), commits (READ UNCOMMITTED) or the locks of plain reads (REPEATABLE READ for SERIALIZABLE).
    Level(Level),
    /// One read by key in sixteen gives what some earlier read of that key gave: a cache that nobody told of a change.
    StaleCache,
}

/// Passes everything on to another database, with a fault.
#[derive(Debug)]
pub struct Faulty<D> {
    inner: D,
    fault: Fault,
    cache: Arc<Mutex<Cache>>,
}

/// What reads gave, by key; lists lie behind the registers.
type Cache = HashMap<u64, Box<dyn Any + Send>>;

const LISTS_FROM: u64 = 1 << 32;
const STALE_ONE_IN: u64 = 16;

impl<D: Database> Faulty<D> {
    /// `inner` with a fault.
    pub fn new(inner: D, fault: Fault) -> Faulty<D> {
        Faulty { inner, fault, cache: Arc::default() }
    }
}

struct FaultySession {
    inner: Box<dyn Session>,
    fault: Fault,
    cache: Arc<Mutex<Cache>>,
    rng: Rng,
}

impl FaultySession {
    /// The answer, or an old one; the present one is kept for later.
    fn stale<T: Any + Send + Clone>(&mut self, key: u64, answer: Option<T>) -> Option<T> {
        if self.fault != Fault::StaleCache {
            return answer;
        }
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let old = cache.get(&key).and_then(|old| old.downcast_ref::<T>()).cloned();
        match old {
            Some(old) if self.rng.one_in(STALE_ONE_IN) => Some(old),
            old => {
                // Old answers stay for a while.
                if old.is_none() || self.rng.one_in(STALE_ONE_IN) {
                    cache.extend(answer.clone().map(|answer| (key, Box::new(answer) as Box<dyn Any + Send>)));
                }
                answer
            }
        }
    }
}

impl<D: Database> Database for Faulty<D> {
    fn prepare(&self, lists: u64, registers: u64) -> Result<(), Failure> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.inner.prepare(lists, registers)
    }

    fn session(&self) -> Result<Box<dyn Session>, Failure> {
        let inner = self.inner.session()?;
        let (fault, cache) = (self.fault, self.cache.clone());
        Ok(Box::new(FaultySession { inner, fault, cache, rng: Rng::new(1) }))
    }
}

impl Session for FaultySession {
    fn begin(&mut self, level: Level) -> Result<(), Failure> {
        let level = if let Fault::Level(really) = self.fault { really } else { level };
        self.inner.begin(level)
    }

    fn append(&mut self, key: u64, value: u64) -> Result<(), Failure> {
        self.inner.append(key, value)
    }

    fn list(&mut self, key: u64, lock: bool) -> Result<Vec<u64>, Failure> {
        let list = self.inner.list(key, lock)?;
        let list = self.stale(LISTS_FROM + key, Some(list));
        Ok(list.unwrap_or_default())
    }

    fn lists(&mut self, from: u64, to: u64, lock: bool) -> Result<Vec<List>, Failure> {
        self.inner.lists(from, to, lock)
    }

    fn write(&mut self, key: u64, value: u64) -> Result<u64, Failure> {
        self.inner.write(key, value)
    }

    fn replace(&mut self, key: u64, value: u64) -> Result<u64, Failure> {
        self.inner.replace(key, value)
    }

    fn read(&mut self, key: u64, lock: bool) -> Result<Option<u64>, Failure> {
        let read = self.inner.read(key, lock)?;
        Ok(self.stale(key, read))
    }

    fn group(&mut self, group: u64, lock: bool) -> Result<Vec<(u64, u64)>, Failure> {
        self.inner.group(group, lock)
    }

    fn savepoint(&mut self) -> Result<(), Failure> {
        self.inner.savepoint()
    }

    fn rollback_to_savepoint(&mut self) -> Result<(), Failure> {
        self.inner.rollback_to_savepoint()
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.inner.commit()
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.inner.rollback()
    }
}
