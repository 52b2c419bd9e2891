//! The parts of a partitioned table: see [`crate::partition`].

use super::{Field, Index, Table};
use crate::error::{Error, Result};
use std::fmt::Debug;
use std::sync::Arc;
use vaquita_base::TableId;

/// Tells to which part of a table a row belongs.
pub trait Scheme: Debug + Send + Sync {
    /// Positions of the columns that it looks at, in ascending order.
    fn columns(&self) -> &[usize];

    /// The columns of each level in the order of the clause: of the partitions, then of the subpartitions if there are any.
    fn keys(&self) -> Vec<Vec<usize>>;

    /// The number of the part to which a row belongs; `value` gives stored values of [`Scheme::columns`].
    ///
    /// # Errors
    /// [`Error::NoPartition`]; [`Error::PartitionFunction`].
    fn part_of<'v>(&self, value: &dyn Fn(usize) -> Field<'v>) -> Result<usize>;
}

/// The parts of a table.
#[derive(Debug)]
pub struct Parts {
    /// The clause as a `.frm` has it.
    pub clause: String,
    /// How files are named for them, in their order.
    pub names: Vec<String>,
    /// The parts.
    pub tables: Vec<Arc<Table>>,
    /// Where rows go; `None`: the clause is not understood.
    pub scheme: Option<Arc<dyn Scheme>>,
    /// For each of [`Scheme::keys`] an index of these columns, whose tree is nowhere: what a condition says of them is found out as for any
    /// index.
    pub keys: Vec<Arc<Index>>,
}

impl Parts {
    /// The part to which a row belongs.
    pub(crate) fn part_of<'v>(&self, table: &Table, value: &dyn Fn(usize) -> Field<'v>) -> Result<usize> {
        let scheme = self.scheme.as_ref().ok_or_else(|| Error::Unmaintained {
            table: table.name.clone(),
            why: crate::unmaintained::Unmaintained::Partition,
        })?;
        let at = scheme.part_of(value)?;
        assert!(at < self.tables.len(), "part {at} of the {} of {}", self.tables.len(), table.name);
        Ok(at)
    }

    /// The part to which a row belongs, if it is one of those that are meant.
    pub(crate) fn meant<'v>(
        &self,
        table: &Table,
        meant: Option<&[usize]>,
        value: &dyn Fn(usize) -> Field<'v>,
    ) -> Result<&Arc<Table>> {
        let at = self.part_of(table, value)?;
        match meant.is_none_or(|meant| meant.contains(&at)) {
            true => Ok(&self.tables[at]),
            false => Err(Error::NotInParts),
        }
    }

    /// The part with that number.
    pub(crate) fn numbered(&self, id: TableId) -> Option<&Arc<Table>> {
        self.tables.iter().find(|part| part.id == id)
    }
}
