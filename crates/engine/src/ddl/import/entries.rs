//! Whether the entries of a file's secondary indexes are those that its rows give, [summed up](super::sums) as they come.
//!
//! Numbers that differ, values that differ, and trees that belong to each other's indexes are found; only with a value that is off the
//! page where an index needs it nothing is said of that index but the number of its entries.

use super::sums::{Member, Sum};
use crate::row::entry::cut;
use crate::table::{FieldSource, Table};
use vaquita_format::record::Offsets;

/// What is known of a tree.
#[derive(Debug, Clone, Default)]
struct Tree {
    /// Live records.
    live: u64,
    /// Those of a secondary index.
    entries: Sum,
    /// What the rows give.
    wanted: Sum,
    /// Of some row it is not known.
    unknown: bool,
}

/// The trees of a table as far as their records have come.
#[derive(Debug)]
pub(super) struct Entries<'t> {
    table: &'t Table,
    trees: Vec<Tree>,
}

impl<'t> Entries<'t> {
    pub(super) fn of(table: &'t Table) -> Entries<'t> {
        Entries { table, trees: vec![Tree::default(); table.indexes.len()] }
    }

    /// Live rows.
    pub(super) fn rows(&self) -> u64 {
        self.trees.first().map_or(0, |tree| tree.live)
    }

    /// Takes a live record of a tree.
    pub(super) fn record(&mut self, tree: usize, page: &[u8], rec: u16, offsets: &Offsets) {
        self.trees[tree].live += 1;
        if tree == 0 {
            self.row(page, rec, offsets);
            return;
        }
        let mut entry = Member::new();
        (0..self.table.indexes[tree].sources.len()).for_each(|i| entry.field(offsets.field(page, rec, i)));
        self.trees[tree].entries.add(entry);
    }

    /// Takes what a row gives.
    fn row(&mut self, page: &[u8], rec: u16, offsets: &Offsets) {
        let table = self.table;
        for (index, tree) in table.indexes.iter().zip(&mut self.trees).skip(1) {
            let mut entry = Member::new();
            for source in &index.sources {
                let value = match *source {
                    FieldSource::Column { column, prefix_len } => {
                        let at = table.cluster_fields[column];
                        tree.unknown |= offsets.is_external(at);
                        let value = offsets.field(page, rec, at);
                        value.map(|value| cut(&table.columns[column], prefix_len, value))
                    }
                    // The first field of a row without another key.
                    FieldSource::RowId => offsets.field(page, rec, 0),
                    FieldSource::TrxId | FieldSource::RollPtr | FieldSource::Gone => None,
                };
                entry.field(value);
            }
            tree.wanted.add(entry);
        }
    }

    /// Every row has its entry in every index, and no entry is of no row. The error says where it is not so.
    pub(super) fn check(&self) -> Result<(), String> {
        let rows = self.rows();
        for (index, tree) in self.table.indexes.iter().zip(&self.trees).skip(1) {
            if tree.live != rows {
                return Err(format!(
                    "index {} has {} entries, and there are {rows} rows",
                    index.name, tree.live
                ));
            }
            if !tree.unknown && tree.entries != tree.wanted {
                return Err(format!("the entries of index {} are not those that the rows give", index.name));
            }
        }
        Ok(())
    }
}
