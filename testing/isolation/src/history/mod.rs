//! Histories of concurrent transactions, and what is wrong with them.
//!
//! A [`History`] is what a client of a database can know: who did what, what was read, when each operation was called
//! and when it answered, who committed. Two workloads make histories from which the order of versions can be had:
//!
//! - *list-append*: a key's value is a list, and a transaction appends an element that nobody else appends. A read of
//!   the list shows the whole order of the versions before it.
//! - *registers*: a key's value is a number that nobody else writes, and a write tells which number it replaced.
//!
//! # What is looked for
//! [`find`] gives every [`Anomaly`]; [`violations`] those that the history's level forbids ([`rules`]).
//!
//! | [`Kind`] | meaning |
//! |---|---|
//! | `Internal` | a transaction does not see its own writes, or sees what nobody wrote |
//! | `LostUpdate` | a committed write is gone, or two writes replaced the same version |
//! | `Disorder` | two reads show orders of which neither begins the other |
//! | `StaleRead` | a read misses what was committed before it could have looked |
//! | `G0` | a cycle of overwriting |
//! | `G1a` | a read of what was rolled back |
//! | `G1b` | a read of what its writer overwrote itself |
//! | `G1c` | a cycle of overwriting and reading |
//! | `StatementSkew` | the rows of one consistent read belong to no single moment |
//! | `NonRepeatable` | a plain read repeated gives another version, with no write of one's own in between |
//! | `ReadSkew` | the plain reads of one transaction belong to no single moment |
//! | `GSingle` | a cycle with one anti-dependency (somebody overwrote what one had read) |
//! | `G2Item` | a cycle with more anti-dependencies |
//!
//! The names are Adya's (Weak Consistency, 1999), where he has one. `ReadSkew` is the part of `GSingle` that a read view
//! rules out: the anti-dependency leaves from a plain read, the cycle comes back through a plain read, and everything
//! in between happened in the order of the commits. Where the cycle comes back through a write, InnoDB's REPEATABLE
//! READ lets it happen: a write works on the newest version, not on the one that the snapshot shows.
//!
//! # Invariants
//! - I1: values are unique in a history and never 0; 0 stands for the version before the first write.
//! - I2: ticks grow: `started` is taken before a call, `ended` after it returned.
//! - I3: edges lead between committed transactions only.

mod cycles;
mod edges;
mod find;
mod graph;
pub mod rules;
mod versions;

pub use find::{Anomaly, Kind, find, violations};

use crate::Level;

/// One operation with what it gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// An element was appended to a list.
    Append {
        /// Which list.
        key: u64,
        /// The element.
        value: u64,
    },
    /// A list was read.
    ReadList {
        /// Which list.
        key: u64,
        /// Its elements.
        list: Vec<u64>,
        /// By a locking read: the newest version, not the snapshot's.
        locking: bool,
    },
    /// A register was overwritten.
    Write {
        /// Which register.
        key: u64,
        /// Its new value.
        value: u64,
        /// The value it had, as the write itself found it under its lock.
        replaced: u64,
    },
    /// A register was read.
    Read {
        /// Which register.
        key: u64,
        /// Its value.
        value: u64,
        /// By a locking read.
        locking: bool,
    },
}

impl Op {
    /// The key it is about.
    pub fn key(&self) -> u64 {
        match self {
            Op::Append { key, .. }
            | Op::ReadList { key, .. }
            | Op::Write { key, .. }
            | Op::Read { key, .. } => *key,
        }
    }

    /// The version that a read saw, and whether it locked.
    pub(crate) fn read(&self) -> Option<(u64, bool)> {
        match self {
            Op::ReadList { list, locking, .. } => Some((list.last().copied().unwrap_or(0), *locking)),
            Op::Read { value, locking, .. } => Some((*value, *locking)),
            _ => None,
        }
    }

    /// The version that a write made.
    pub(crate) fn written(&self) -> Option<u64> {
        match self {
            Op::Append { value, .. } | Op::Write { value, .. } => Some(*value),
            _ => None,
        }
    }
}

/// An operation in time. The rows of one statement are events with the same times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Tick before the call.
    pub started: u64,
    /// Tick after it returned.
    pub ended: u64,
    /// What was done.
    pub op: Op,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The commit was acknowledged.
    Committed,
    /// It was rolled back, by itself or by the database.
    Aborted,
}

/// A transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Txn {
    /// Which session ran it.
    pub session: usize,
    /// Tick before its first call.
    pub started: u64,
    /// Tick before the commit was called.
    pub commit_started: u64,
    /// Tick after the commit or rollback returned.
    pub ended: u64,
    /// How it ended.
    pub status: Status,
    /// What it did, in order. Of operations that failed only writes are there: they may have been seen.
    pub events: Vec<Event>,
}

/// A history; all its transactions ran at one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The level they asked for.
    pub level: Level,
    /// The transactions; an anomaly names them by their place here.
    pub txns: Vec<Txn>,
}

impl History {
    /// How many committed.
    pub fn committed(&self) -> usize {
        self.txns.iter().filter(|txn| txn.status == Status::Committed).count()
    }
}
