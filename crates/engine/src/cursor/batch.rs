//! Rows fetched ahead: copied out of their pages, handed out one by one.
//!
//! The values of all rows lie one behind the other in one buffer. Of a row these are kept: the wanted columns, and the
//! fields of its index record that order the tree, to know its clustered key and to come back to it.

use super::row::RowRef;
use crate::error::Result;
use crate::table::{Field, Index};
use vaquita_btree::OwnedKey;

/// Rows of a batch at first, and at most.
const ROWS_MIN: usize = 8;
const ROWS_MAX: usize = 256;
/// Rows given one by one before batches begin: most reads want few.
const SINGLE_ROWS: usize = 3;
/// Bytes after which a batch is closed.
const BYTES_MAX: usize = 64 << 10;
/// Length of NULL.
const NULL: u32 = u32::MAX;

/// A column value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value<'b> {
    pub(crate) data: Field<'b>,
    pub(crate) external: bool,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    start: u32,
    len: u32,
    external: bool,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    n_columns: usize,
    n_key: usize,
    rows: usize,
    /// Rows handed out.
    given: usize,
    /// Batches filled since the cursor was placed.
    fills: usize,
    /// Whether its one row is a semi-consistent read's.
    pub(crate) semi_consistent: bool,
}

impl Batch {
    /// Bytes it takes besides itself.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity() + self.slots.capacity() * size_of::<Slot>()
    }

    /// Empties it; a cursor that is placed anew begins with single rows again.
    pub(crate) fn reset(&mut self) {
        self.rows = 0;
        self.given = 0;
        self.fills = 0;
    }

    /// Begins to fill it; how many rows it should take.
    pub(crate) fn begin(&mut self, n_columns: usize, n_key: usize) -> usize {
        self.bytes.clear();
        self.slots.clear();
        (self.n_columns, self.n_key) = (n_columns, n_key);
        (self.rows, self.given) = (0, 0);
        self.semi_consistent = false;
        self.fills += 1;
        match self.fills.checked_sub(SINGLE_ROWS + 1) {
            None => 1,
            Some(n) => (ROWS_MIN << n.min(8)).min(ROWS_MAX),
        }
    }

    /// Takes a row; with `whole` its off-page values are read now.
    pub(crate) fn push(&mut self, row: &RowRef<'_>, whole: bool) -> Result<()> {
        for i in 0..self.n_columns {
            let value = row.value(i);
            if value.external && whole {
                let start = self.bytes.len();
                row.read_column(i, &mut self.bytes)?;
                let len = (self.bytes.len() - start) as u32;
                self.slots.push(Slot { start: start as u32, len, external: false });
            } else {
                self.push_value(value.data, value.external);
            }
        }
        for i in 0..self.n_key {
            self.push_value(row.entry_field(i), false);
        }
        self.rows += 1;
        debug_assert_eq!(
            self.slots.len(),
            self.rows * (self.n_columns + self.n_key),
            "values of {} rows",
            self.rows
        );
        self.semi_consistent = row.was_semi_consistent();
        Ok(())
    }

    fn push_value(&mut self, data: Field<'_>, external: bool) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(data.unwrap_or_default());
        let len = data.map_or(NULL, |d| d.len() as u32);
        self.slots.push(Slot { start, len, external });
    }

    /// Whether another row would be too much.
    pub(crate) fn is_full(&self, rows: usize) -> bool {
        self.rows >= rows || self.bytes.len() >= BYTES_MAX
    }

    /// The next row that was not handed out yet.
    pub(crate) fn give(&mut self) -> Option<usize> {
        let row = self.given;
        if row >= self.rows {
            return None;
        }
        self.given += 1;
        Some(row)
    }

    /// The row handed out last.
    pub(crate) fn current(&self) -> Option<usize> {
        self.given.checked_sub(1).filter(|_| self.rows > 0)
    }

    /// Whether rows are left that were not handed out.
    pub(crate) fn has_more(&self) -> bool {
        self.given < self.rows
    }

    pub(crate) fn n_columns(&self) -> usize {
        self.n_columns
    }

    pub(crate) fn column(&self, row: usize, i: usize) -> Value<'_> {
        assert!(i < self.n_columns, "column {i} of {}", self.n_columns);
        let slot = self.slots[row * (self.n_columns + self.n_key) + i];
        Value { data: self.data(slot), external: slot.external }
    }

    /// A field of the row's index record, of those that order the tree.
    pub(crate) fn key_field(&self, row: usize, at: usize) -> Field<'_> {
        assert!(at < self.n_key, "key field {at} of {}", self.n_key);
        self.data(self.slots[row * (self.n_columns + self.n_key) + self.n_columns + at])
    }

    fn data(&self, slot: Slot) -> Field<'_> {
        (slot.len != NULL).then(|| &self.bytes[slot.start as usize..(slot.start + slot.len) as usize])
    }

    /// Copies the index key of a row.
    pub(crate) fn key_of(&self, row: usize, index: &Index, out: &mut OwnedKey) {
        out.clear();
        (0..index.def().n_uniq_in_tree()).for_each(|i| out.push(self.key_field(row, i)));
    }
}
