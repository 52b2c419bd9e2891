//! Index entries and the row versions they belong to.
//!
//! A secondary index has an entry for every version of a row that somebody may still see. Which version an entry belongs
//! to is not stored: the entry's fields are compared with the version's columns, as the index compares them.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::entry::cut;
use crate::row::image::Image;
use crate::table::{Column, Field, FieldSource, Index, Table};
use std::borrow::Cow;
use std::ops::ControlFlow;
use vaquita_btree::RecordRef;
use vaquita_format::record::{EXTERN_REF_LEN, ExternRef, Offsets, compare_fields};

/// The fields of a clustered record or of a version of it.
pub trait ClusteredFields {
    /// A field as stored; for a value off the page its local part with the reference.
    fn field(&self, i: usize) -> Field<'_>;
    /// Whether a field's value goes on off the page.
    fn is_external(&self, i: usize) -> bool;
}

impl ClusteredFields for Image {
    fn field(&self, i: usize) -> Field<'_> {
        Image::field(self, i)
    }

    fn is_external(&self, i: usize) -> bool {
        Image::is_external(self, i)
    }
}

/// A record with its parsed offsets.
#[derive(Debug, Clone, Copy)]
pub struct Parsed<'p> {
    /// The record.
    pub record: RecordRef<'p>,
    /// Where its fields are.
    pub offsets: &'p Offsets,
}

impl ClusteredFields for Parsed<'_> {
    fn field(&self, i: usize) -> Field<'_> {
        self.record.field(self.offsets, i)
    }

    fn is_external(&self, i: usize) -> bool {
        self.offsets.is_external(i)
    }
}

/// The value of a clustered field, as much of it as an index field with that prefix (0: all) holds. `None` while its
/// off-page part is being written.
fn value_for<'r>(
    core: &Core,
    table: &Table,
    row: &'r impl ClusteredFields,
    at: usize,
    (column, prefix_len): (&Column, u32),
) -> Result<Option<Option<Cow<'r, [u8]>>>> {
    let Some(stored) = row.field(at) else { return Ok(Some(None)) };
    if !row.is_external(at) {
        return Ok(Some(Some(Cow::Borrowed(cut(column, prefix_len, stored)))));
    }
    let local = &stored[..stored.len().saturating_sub(EXTERN_REF_LEN)];
    let needed = if prefix_len == 0 { usize::MAX } else { prefix_len as usize };
    if local.len() >= needed {
        return Ok(Some(Some(Cow::Borrowed(cut(column, prefix_len, local)))));
    }
    let chain = ExternRef::of_field(stored).map_err(|c| Error::Corrupt(c.to_string()))?;
    // Not there, or just being written.
    let Some(chain) = chain.filter(|chain| chain.len > 0) else { return Ok(None) };
    let mut value = local.to_vec();
    table.clustered().tree.read_chain(&core.storage, &chain, |part| {
        value.extend_from_slice(part);
        if value.len() >= needed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    value.truncate(cut(column, prefix_len, &value).len());
    Ok(Some(Some(Cow::Owned(value))))
}

/// Whether an entry of a secondary index belongs to a row version with the same clustered key.
///
/// # Errors
/// Errors of pages of off-page values, damage.
///
/// # Latching
/// The pages of both stay latched by the caller; pages of off-page values are latched one at a time.
pub fn belongs(
    core: &Core,
    table: &Table,
    index: &Index,
    entry: &Parsed<'_>,
    row: &impl ClusteredFields,
) -> Result<bool> {
    let def = index.def();
    for (i, source) in index.sources.iter().enumerate() {
        let &FieldSource::Column { column, prefix_len } = source else { continue };
        if index.cluster_key.contains(&i) {
            continue;
        }
        let at = table.cluster_fields[column];
        let wanted = (&table.columns[column], prefix_len);
        let Some(value) = value_for(core, table, row, at, wanted)? else { return Ok(false) };
        let stored = entry.field(i);
        if compare_fields(def.compare_plan()[i], stored, value.as_deref()).is_ne() {
            return Ok(false);
        }
    }
    Ok(true)
}
