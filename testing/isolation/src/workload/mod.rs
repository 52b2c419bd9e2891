//! Random transactions on any database, and the history of what they did and saw.
//!
//! [`Database`] is what the workloads need: lists that are appended to and registers that are overwritten. Registers lie
//! in groups of [`GROUP`], which a read by a secondary index gives at once: its key holds the value, so that every
//! write moves an entry. [`run_threads`] runs a session in each of several threads; [`run_interleaved`] takes turns in
//! one thread, for databases that never wait.

mod driver;
mod faulty;
mod model;

pub use driver::{Settings, run_interleaved, run_threads};
pub use faulty::{Fault, Faulty};
pub use model::{Behaviour, Model};

use crate::Level;
use std::fmt;

/// Registers in a group: register `k` is in group `k / GROUP`.
pub const GROUP: u64 = 8;
/// Lists that exist, empty, before a run are the even ones; the odd ones come with their first element.
pub const LIST_EVERY: u64 = 2;

/// Which workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Lists.
    ListAppend,
    /// Registers.
    Registers,
}

/// Why an operation was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Contention (deadlock, timeout): the transaction is to be rolled back.
    Aborted(String),
    /// Anything else: the run is over.
    Broken(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Aborted(text) => write!(f, "aborted: {text}"),
            Failure::Broken(text) => f.write_str(text),
        }
    }
}

/// A list with its elements.
pub type List = (u64, Vec<u64>);

/// A database under test.
pub trait Database: Sync {
    /// Makes the tables anew: `lists` keys from 0 (the even ones with an empty list), `registers` with the value 0.
    ///
    /// # Errors
    /// [`Failure::Broken`].
    fn prepare(&self, lists: u64, registers: u64) -> Result<(), Failure>;
    /// A new session.
    ///
    /// # Errors
    /// [`Failure::Broken`].
    fn session(&self) -> Result<Box<dyn Session>, Failure>;
}

/// A session. Every operation may fail with either [`Failure`]; after `Aborted`, `rollback` is called.
#[allow(clippy::missing_errors_doc, reason = "said once, above")]
pub trait Session: Send {
    /// Starts a transaction. Its read view is made by its first plain read.
    fn begin(&mut self, level: Level) -> Result<(), Failure>;
    /// Appends to a list, which may not exist yet.
    fn append(&mut self, key: u64, value: u64) -> Result<(), Failure>;
    /// Reads a list; one that does not exist is empty. `lock`: by a shared locking read.
    fn list(&mut self, key: u64, lock: bool) -> Result<Vec<u64>, Failure>;
    /// Reads the lists of a range of keys, the end not included, in one statement; lists that do not exist are left out.
    fn lists(&mut self, from: u64, to: u64, lock: bool) -> Result<Vec<List>, Failure>;
    /// Overwrites a register and tells which value it had.
    fn write(&mut self, key: u64, value: u64) -> Result<u64, Failure>;
    /// As [`Session::write`], but deletes the row and inserts it again.
    fn replace(&mut self, key: u64, value: u64) -> Result<u64, Failure>;
    /// Reads a register; `None` if its row is not there, which only dirty reads may find.
    fn read(&mut self, key: u64, lock: bool) -> Result<Option<u64>, Failure>;
    /// Reads the registers of a group, by the secondary index.
    fn group(&mut self, group: u64, lock: bool) -> Result<Vec<(u64, u64)>, Failure>;
    /// Sets the savepoint, anew if it is set.
    fn savepoint(&mut self) -> Result<(), Failure>;
    /// Rolls back to the savepoint.
    fn rollback_to_savepoint(&mut self) -> Result<(), Failure>;
    /// Commits.
    fn commit(&mut self) -> Result<(), Failure>;
    /// Rolls back, if the database has not done so itself.
    fn rollback(&mut self) -> Result<(), Failure>;
}
