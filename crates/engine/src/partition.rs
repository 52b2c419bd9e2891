//! Partitioned tables: a table of SQL whose rows are in several tables of InnoDB, its *parts* (partitions, or subpartitions where there
//! are any), each with a file and a row of SYS_TABLES of its own (`db/t#P#p0`, `db/t#P#p0#SP#s0`).
//!
//! The table `db/t` itself is in no row of the dictionary: its [`Table`] is made of the definition that all parts have
//! ([`crate::dict`]), has trees that are nowhere, and holds its parts. What works on rows of such a table works on those of its parts:
//! [`crate::cursor`] reads them, in the order of an index where that is asked for, [`crate::routed`] changes them, and the
//! row functions below know parts only. Transactions, locks, undo logs and purge are those of the parts. Metadata locks are on the
//! table's name alone: nobody else names a part.
//!
//! Which part a row belongs to is told by a [`Scheme`], which the layer above makes of the clause PARTITION BY ([`Partitioning`]).
//! Without one the rows can be read and not changed.

pub use crate::table::{Parts, Scheme};

use crate::table::Table;
use std::fmt::Debug;
use std::sync::Arc;
use vaquita_base::TableId;

/// What the part of a table's name is after, as MySQL 5.6 has it on systems that tell case apart.
pub const PART_MARK: &str = "#P#";

/// What is made of a clause PARTITION BY.
#[derive(Debug, Clone)]
pub struct Scheming {
    /// The parts in order, as files are named for them: `p0`, `p0#SP#s0`.
    pub parts: Vec<String>,
    /// Where rows go.
    pub scheme: Arc<dyn Scheme>,
}

/// Understands clauses.
pub trait Partitioning: Debug + Send + Sync {
    /// What the clause of a table says, whose parts are not there yet.
    ///
    /// # Errors
    /// Why it cannot be understood.
    fn understand(&self, table: &Table, clause: &str) -> std::result::Result<Scheming, String>;
}

/// The number of a partitioned table, whose first part has this one. It is in no file.
pub(crate) fn whole_id(first: TableId) -> TableId {
    TableId(FIRST_WHOLE | first.get())
}

/// Numbers of partitioned tables begin here: below those of temporary tables.
const FIRST_WHOLE: u64 = 1 << 61;

/// The name of a part, `database/table#P#part`.
pub(crate) fn part_name(table: &str, part: &str) -> String {
    format!("{table}{PART_MARK}{part}")
}

/// The name of the table whose part has this name (`database/table#P#part`); `None` if it is no part's.
pub fn whole_name(name: &str) -> Option<&str> {
    let at = name.find(PART_MARK).or_else(|| name.find("#p#"))?;
    (at > name.find('/').map_or(0, |slash| slash + 1)).then(|| &name[..at])
}
