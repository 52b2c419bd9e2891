//! A row as a reader is shown it: values straight from page bytes, from an older version, or from a prefetched batch.

use super::batch::{Batch, Value};
use super::columns::n_const;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::entry::cut;
use crate::row::image::Image;
use crate::table::{Field, Index, RowKey, Table};
use crate::version::entry::Parsed;
use vaquita_format::record::ExternRef;
use vaquita_format::tuple::TupleField;

/// Where the wanted columns are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Columns<'p> {
    /// In the record that was found, of the index read.
    Entry(&'p [usize]),
    /// In the clustered record that a secondary entry led to.
    Clustered(Parsed<'p>, &'p [usize]),
    /// In an older version.
    Version(&'p Image, &'p [usize]),
}

#[derive(Debug, Clone, Copy)]
enum Source<'p> {
    /// Pages that are latched.
    Pages { entry: Parsed<'p>, columns: Columns<'p> },
    /// A row of a batch.
    Batch { batch: &'p Batch, row: usize },
}

/// A row under a cursor. Columns are counted as they were asked for.
#[derive(Debug, Clone, Copy)]
pub struct RowRef<'p> {
    core: &'p Core,
    table: &'p Table,
    index: &'p Index,
    source: Source<'p>,
    semi_consistent: bool,
}

impl<'p> RowRef<'p> {
    pub(crate) fn of_pages(
        core: &'p Core,
        table: &'p Table,
        index: &'p Index,
        entry: Parsed<'p>,
        columns: Columns<'p>,
    ) -> RowRef<'p> {
        RowRef { core, table, index, source: Source::Pages { entry, columns }, semi_consistent: false }
    }

    pub(crate) fn of_batch(
        core: &'p Core,
        table: &'p Table,
        index: &'p Index,
        batch: &'p Batch,
        row: usize,
        semi_consistent: bool,
    ) -> RowRef<'p> {
        RowRef { core, table, index, source: Source::Batch { batch, row }, semi_consistent }
    }

    pub(crate) fn semi_consistent(mut self) -> RowRef<'p> {
        self.semi_consistent = true;
        self
    }

    /// Whether another transaction has the row locked and this is its last committed version: if it is wanted, lock it
    /// and look again ([`super::Cursor::lock_current`]).
    pub fn was_semi_consistent(&self) -> bool {
        self.semi_consistent
    }

    /// Number of columns asked for.
    pub fn n_columns(&self) -> usize {
        match self.source {
            Source::Pages { columns: Columns::Entry(at), .. }
            | Source::Pages { columns: Columns::Clustered(_, at), .. }
            | Source::Pages { columns: Columns::Version(_, at), .. } => at.len(),
            Source::Batch { batch, .. } => batch.n_columns(),
        }
    }

    /// The stored bytes of the `i`-th wanted column, `None` for NULL. Of a value off the page ([`RowRef::is_off_page`])
    /// this is the local part with the reference.
    ///
    /// # Panics
    /// If fewer columns were asked for.
    #[inline]
    pub fn column(&self, i: usize) -> Field<'p> {
        match self.source {
            Source::Pages { entry, columns } => match columns {
                Columns::Entry(at) => record_field(self.index, entry, at[i]),
                Columns::Clustered(record, at) => record_field(self.table.clustered(), record, at[i]),
                Columns::Version(version, at) => version.field(at[i]),
            },
            Source::Batch { batch, row } => batch.column(row, i).data,
        }
    }

    /// Whether the value goes on off the page.
    ///
    /// # Panics
    /// As [`RowRef::column`].
    pub fn is_off_page(&self, i: usize) -> bool {
        match self.source {
            Source::Pages { entry, columns } => match columns {
                Columns::Entry(at) => record_external(self.index, entry, at[i]),
                Columns::Clustered(record, at) => record_external(self.table.clustered(), record, at[i]),
                Columns::Version(version, at) => version.is_external(at[i]),
            },
            Source::Batch { batch, row } => batch.column(row, i).external,
        }
    }

    /// Bytes of the whole value of the `i`-th wanted column, as its record says.
    ///
    /// # Panics
    /// As [`RowRef::column`].
    pub fn whole_len(&self, i: usize) -> usize {
        let Some(stored) = self.column(i) else { return 0 };
        let off_page = if self.is_off_page(i) { ExternRef::of_field(stored).ok().flatten() } else { None };
        stored.len() + off_page.map_or(0, |part| part.len as usize)
    }

    /// The whole value of the `i`-th wanted column, read from off the page if need be; appended to `out`. Whether it is
    /// not NULL.
    ///
    /// # Errors
    /// Errors of pages of off-page values, damage.
    ///
    /// # Panics
    /// As [`RowRef::column`].
    pub fn read_column(&self, i: usize, out: &mut Vec<u8>) -> Result<bool> {
        let Some(stored) = self.column(i) else { return Ok(false) };
        if self.is_off_page(i) {
            self.table.clustered().tree.read_value(&self.core.storage, stored, out)?;
        } else {
            out.extend_from_slice(stored);
        }
        Ok(true)
    }

    /// The key by which the row is known between calls.
    ///
    /// # Errors
    /// Damage: a key field is NULL.
    pub fn row_key(&self, key: &mut RowKey) -> Result<()> {
        key.clear();
        if self.table.is_part {
            key.part = self.table.id;
        }
        for (i, &at) in self.index.cluster_key.iter().enumerate() {
            let field = self.entry_field(at);
            let Some(field) = field else {
                return Err(Error::Corrupt(format!("{}: a clustered key field is NULL", self.table.name)));
            };
            key.push(key_part(self.table, self.index, i, at, field));
        }
        Ok(())
    }

    /// A field of the index record the row was found by.
    pub(crate) fn entry_field(&self, at: usize) -> Field<'p> {
        match self.source {
            Source::Pages { entry, .. } => record_field(self.index, entry, at),
            Source::Batch { batch, row } => batch.key_field(row, at),
        }
    }

    /// Everything of a wanted column, to be copied.
    pub(crate) fn value(&self, i: usize) -> Value<'p> {
        match self.source {
            Source::Batch { batch, row } => batch.column(row, i),
            Source::Pages { .. } => Value { data: self.column(i), external: self.is_off_page(i) },
        }
    }
}

/// A clustered key field as the clustered index has it: a secondary index may hold more of it.
pub(crate) fn key_part<'v>(
    table: &Table,
    index: &Index,
    key_field: usize,
    at: usize,
    value: &'v [u8],
) -> &'v [u8] {
    let of_clustered = &table.clustered().def().fields()[key_field];
    if of_clustered.prefix_len == 0 || index.def().fields()[at].prefix_len == of_clustered.prefix_len {
        return value;
    }
    match index.sources[at] {
        crate::table::FieldSource::Column { column, .. } => {
            cut(&table.columns[column], of_clustered.prefix_len, value)
        }
        _ => value,
    }
}

/// The key of the clustered record that an entry leads to.
pub(crate) fn clustered_key<'p>(
    table: &Table,
    index: &Index,
    entry: &Parsed<'p>,
) -> smallvec::SmallVec<[TupleField<'p>; 8]> {
    let field = |(i, &at): (usize, &usize)| {
        let value = record_field(index, *entry, at);
        TupleField::nullable(value.map(|v| key_part(table, index, i, at, v)))
    };
    index.cluster_key.iter().enumerate().map(field).collect()
}

/// A field of a record: by its constant place if it has one, else by the offsets. The reader has checked that the
/// constant part lies within the page.
#[inline]
pub(crate) fn record_field<'p>(index: &Index, at: Parsed<'p>, field: usize) -> Field<'p> {
    let def = index.def();
    if field < n_const(def) {
        let layout = &def.layout().fields()[field];
        let start = usize::from(at.record.rec) + usize::from(layout.offset);
        return Some(&at.record.page[start..start + usize::from(layout.fixed_len)]);
    }
    at.record.field(at.offsets, field)
}

#[inline]
fn record_external(index: &Index, at: Parsed<'_>, field: usize) -> bool {
    field >= n_const(index.def()) && at.offsets.is_external(field)
}
