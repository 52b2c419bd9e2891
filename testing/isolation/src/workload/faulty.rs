//! A database that lies: canaries for the checker.

use super::{Database, Failure, List, Session};
use crate::Level;

/// Passes everything on, but begins transactions at a weaker level than asked for: as if the database had forgotten
/// read views (READ COMMITTED for REPEATABLE READ), commits (READ UNCOMMITTED) or the locks of plain reads (REPEATABLE
/// READ for SERIALIZABLE).
#[derive(Debug)]
pub struct Faulty<D> {
    inner: D,
    really: Level,
}

impl<D: Database> Faulty<D> {
    /// `inner`, whose transactions really run at `really`.
    pub fn new(inner: D, really: Level) -> Faulty<D> {
        Faulty { inner, really }
    }
}

struct FaultySession {
    inner: Box<dyn Session>,
    really: Level,
}

impl<D: Database> Database for Faulty<D> {
    fn prepare(&self, lists: u64, registers: u64) -> Result<(), Failure> {
        self.inner.prepare(lists, registers)
    }

    fn session(&self) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(FaultySession { inner: self.inner.session()?, really: self.really }))
    }
}

impl Session for FaultySession {
    fn begin(&mut self, _level: Level) -> Result<(), Failure> {
        self.inner.begin(self.really)
    }

    fn append(&mut self, key: u64, value: u64) -> Result<(), Failure> {
        self.inner.append(key, value)
    }

    fn list(&mut self, key: u64, lock: bool) -> Result<Vec<u64>, Failure> {
        self.inner.list(key, lock)
    }

    fn lists(&mut self, from: u64, to: u64, lock: bool) -> Result<Vec<List>, Failure> {
        self.inner.lists(from, to, lock)
    }

    fn write(&mut self, key: u64, value: u64) -> Result<u64, Failure> {
        self.inner.write(key, value)
    }

    fn read(&mut self, key: u64, lock: bool) -> Result<u64, Failure> {
        self.inner.read(key, lock)
    }

    fn group(&mut self, group: u64, lock: bool) -> Result<Vec<(u64, u64)>, Failure> {
        self.inner.group(group, lock)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.inner.commit()
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.inner.rollback()
    }
}
