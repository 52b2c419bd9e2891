//! Older versions of rows, built by following roll pointers.

use crate::core::Core;
use crate::error::Result;
use crate::table::Table;
use vaquita_btree::RecordRef;
use vaquita_format::record::Offsets;
use vaquita_txn::ReadView;

/// A version of a clustered record, owned: its fields as stored, system fields included.
#[derive(Debug, Default, Clone)]
pub struct Version {
    bytes: Vec<u8>,
    /// Ends in `bytes`; `None` for NULL.
    ends: Vec<Option<u32>>,
    external: Vec<bool>,
    /// Whether the version is delete-marked.
    pub deleted: bool,
}

impl Version {
    /// A field as stored; for a value off the page its local part with the reference.
    pub fn field(&self, i: usize) -> Option<&[u8]> {
        let end = self.ends[i]? as usize;
        let start = self.ends[..i].iter().rev().find_map(|e| *e).unwrap_or(0) as usize;
        Some(&self.bytes[start..end])
    }

    /// Whether a field's value goes on off the page.
    pub fn is_external(&self, i: usize) -> bool {
        self.external[i]
    }

    /// Number of fields.
    pub fn n_fields(&self) -> usize {
        self.ends.len()
    }
}

/// What a view sees of a clustered record.
#[derive(Debug)]
pub enum Seen {
    /// The record as it is.
    Current,
    /// An older version, which is now in the buffer given.
    Older,
    /// Nothing: the row came later.
    Nothing,
}

/// What `view` sees of a record; `offsets` are parsed from it. Delete-marked versions are versions too: look at the mark.
///
/// # Errors
/// Errors of undo pages, damage.
///
/// # Latching
/// The record's page stays latched; latches undo pages one at a time.
pub fn seen_by(
    core: &Core,
    table: &Table,
    record: &RecordRef<'_>,
    offsets: &Offsets,
    view: &ReadView,
    out: &mut Version,
) -> Result<Seen> {
    let _ = (core, table, record, offsets, view, out);
    unimplemented!()
}
