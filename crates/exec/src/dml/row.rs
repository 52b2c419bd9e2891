//! A row in stored form while it is made.

use smallvec::SmallVec;
use vaquita_catalog::TableInfo;
use vaquita_engine::table::DefaultValue;
use vaquita_engine::{Field, RowRef};

/// Fields of a row, on the stack for most tables.
pub(crate) type Fields<'b> = SmallVec<[Field<'b>; 16]>;

/// Where a column's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Null,
    /// The constant default of the column.
    Default,
    /// The type's own default.
    Implicit,
    At {
        start: usize,
        end: usize,
    },
}

/// Values of a table's columns in stored form. Constants of the definition are not copied.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
}

impl RowBuffer {
    /// All columns NULL.
    pub(crate) fn reset(&mut self, columns: usize) {
        self.bytes.clear();
        self.slots.clear();
        self.slots.resize(columns, Slot::Null);
    }

    /// Bytes of memory it holds.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity() + self.slots.capacity() * size_of::<Slot>()
    }

    /// Sets a column by a function that appends the stored form and says whether it is not NULL.
    pub(crate) fn put<E>(
        &mut self,
        column: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<(), E> {
        let start = self.bytes.len();
        self.slots[column] = match write(&mut self.bytes)? {
            true => Slot::At { start, end: self.bytes.len() },
            false => Slot::Null,
        };
        Ok(())
    }

    /// Sets a column to stored bytes.
    pub(crate) fn put_stored(&mut self, column: usize, value: Field<'_>) {
        let written = self.put(column, |out| {
            out.extend_from_slice(value.unwrap_or_default());
            Ok::<_, std::convert::Infallible>(value.is_some())
        });
        match written {
            Ok(()) => {}
        }
    }

    /// Sets a column to its default, if that is a constant or NULL. Whether it is.
    pub(crate) fn put_default(&mut self, column: usize, default: &DefaultValue) -> bool {
        self.slots[column] = match default {
            DefaultValue::Null => Slot::Null,
            DefaultValue::Stored(_) => Slot::Default,
            DefaultValue::None | DefaultValue::Now | DefaultValue::Text(_) => return false,
        };
        true
    }

    /// Sets a column to its type's own default.
    pub(crate) fn put_implicit(&mut self, column: usize) {
        self.slots[column] = Slot::Implicit;
    }

    /// A column's value.
    pub(crate) fn field<'b>(&'b self, info: &'b TableInfo, column: usize) -> Field<'b> {
        match self.slots[column] {
            Slot::Null => None,
            Slot::Default => match &info.columns[column].default {
                DefaultValue::Stored(bytes) => Some(bytes),
                _ => None,
            },
            Slot::Implicit => Some(&info.columns[column].implicit),
            Slot::At { start, end } => self.bytes.get(start..end),
        }
    }

    /// All values.
    pub(crate) fn fields<'b>(&'b self, info: &'b TableInfo) -> Fields<'b> {
        (0..self.slots.len()).map(|column| self.field(info, column)).collect()
    }

    /// Copies a row of which all columns were fetched.
    ///
    /// # Errors
    /// Of values off the page.
    pub(crate) fn copy(&mut self, row: &RowRef<'_>) -> vaquita_engine::Result<()> {
        self.reset(row.n_columns());
        (0..row.n_columns()).try_for_each(|i| self.put(i, |out| row.read_column(i, out)))
    }
}
