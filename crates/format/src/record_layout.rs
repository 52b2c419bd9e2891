//! What must be known of an index to find the fields of its records: lengths, nullability, field counts.
//!
//! An [`IndexDef`](crate::index_def::IndexDef) owns one; the index description inside a redo record gives
//! another, so that the page edits of normal work and of recovery are the same functions.
//!
//! Invariants
//! - I1: `n_nullable` counts all nullable fields of the index, also when a node pointer holds fewer.
//! - I2: fields before [`RecLayout::n_const`] are NOT NULL and fixed, and `offset` of fields up to and including
//!   it is their place in every record.
//! - I3: fields that came or went by a version ([`FieldLayout::in_versions`]) lie behind them.
//!
//! Row versions, as MySQL 8.0.29 has them: columns that are added and dropped instantly leave the records as they are. The
//! table counts its versions; a record made since the first of them has the version it was made in, one byte below its
//! header, and info bit [`INFO_VERSION`]; it holds the fields that were there in that version. Records from
//! before, and node pointers, hold those of version 0. A field that a record does not have has its default.

use crate::error::{Corruption, Result};
use std::sync::Arc;

/// Bytes of the fixed header of a COMPACT record.
pub const COMP_HEADER: usize = 5;

/// Info bit of COMPACT records: the row version stands below the header. It tells how the record lies, not what state it is in.
pub const INFO_VERSION: u8 = 0x40;

/// Longest fixed length; longer fixed columns are stored as variable ones.
pub const FIXED_LEN_MAX: u32 = 768;

/// Most fields of an index (10 bits of the REDUNDANT header).
pub const FIELDS_MAX: usize = 1023;

/// `offset` of a field that has no constant place.
pub const NO_OFFSET: u16 = u16::MAX;

/// Storage of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FieldLayout {
    /// Bytes of every value, or 0 for variable length.
    pub fixed_len: u16,
    /// Whether it has a bit in the null bitmap.
    pub nullable: bool,
    /// Whether lengths above 127 take two bytes (the column's most bytes exceed 255, or it is a BLOB).
    pub big: bool,
    /// Bytes of SQL NULL in a REDUNDANT record: the full width of a fixed column.
    pub null_len: u16,
    /// Offset from the record's origin when it is the same in all records of the index, else [`NO_OFFSET`].
    pub offset: u16,
    /// The version it came with; 0: it was always there.
    pub added: u8,
    /// The version it went with; 0: it is there.
    pub dropped: u8,
}

impl FieldLayout {
    /// A field; its constant place is found by [`RecLayout::new`].
    pub const fn new(fixed_len: u16, nullable: bool, big: bool) -> Self {
        Self { fixed_len, nullable, big, null_len: 0, offset: NO_OFFSET, added: 0, dropped: 0 }
    }

    /// The same, there from version `added` on and until `dropped`; 0 for always.
    #[must_use]
    pub const fn in_versions(mut self, added: u8, dropped: u8) -> Self {
        self.added = added;
        self.dropped = dropped;
        self
    }

    /// Whether records of a version hold it.
    #[inline]
    pub const fn is_in(&self, version: u8) -> bool {
        self.added | self.dropped == 0
            || self.added <= version && (self.dropped == 0 || version < self.dropped)
    }

    /// The same with a width of SQL NULL in REDUNDANT records.
    #[must_use]
    pub const fn with_null_len(mut self, null_len: u16) -> Self {
        self.null_len = null_len;
        self
    }
}

/// Storage of the records of one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecLayout {
    comp: bool,
    n_node_key: u16,
    n_nullable: u16,
    fields: Box<[FieldLayout]>,
    /// Where the fields of constant place end, from the origin on.
    const_ends: Box<[u32]>,
    versions: Option<Arc<Versions>>,
}

/// What the versions of a table's rows are.
#[derive(Debug, PartialEq, Eq)]
pub struct Versions {
    /// The newest.
    current: u8,
    /// Nullable fields of each version, from 0 on.
    n_nullable: Box<[u16]>,
    /// For each field: what records have that were made before it came; NULL where it went.
    defaults: Box<[Option<Box<[u8]>>]>,
}

impl Versions {
    fn of(&self, page: &[u8], rec: usize) -> Option<(u8, usize)> {
        if page.get(rec.wrapping_sub(COMP_HEADER))? & INFO_VERSION == 0 {
            return Some((0, COMP_HEADER));
        }
        let version = *page.get(rec.wrapping_sub(COMP_HEADER + 1))?;
        (version <= self.current).then_some((version, COMP_HEADER + 1))
    }

    /// What a record has in a field that it does not hold.
    #[inline]
    pub(crate) fn default_of(&self, field: usize) -> Option<&[u8]> {
        self.defaults.get(field)?.as_deref()
    }
}

impl RecLayout {
    /// A layout.
    ///
    /// # Errors
    /// If there are no fields, too many, or fewer than the key of node pointers needs.
    pub fn new(comp: bool, mut fields: Vec<FieldLayout>, n_node_key: usize) -> Result<Self> {
        // The child page of a node pointer is one more field.
        if fields.is_empty() || fields.len() >= FIELDS_MAX || n_node_key > fields.len() || n_node_key == 0 {
            let detail = format!("{} fields, {n_node_key} in node pointers", fields.len());
            return Err(Corruption::new("field count of an index", detail));
        }
        let n_nullable = fields.iter().filter(|f| f.nullable && f.is_in(0)).count() as u16;
        let mut const_ends = Vec::new();
        let mut offset = 0u32;
        for f in &mut fields {
            if offset >= u32::from(NO_OFFSET) {
                break;
            }
            f.offset = offset as u16;
            if f.nullable || f.fixed_len == 0 || f.added | f.dropped != 0 {
                break;
            }
            offset += u32::from(f.fixed_len);
            const_ends.push(offset);
        }
        Ok(Self {
            comp,
            n_node_key: n_node_key as u16,
            n_nullable,
            fields: fields.into(),
            const_ends: const_ends.into(),
            versions: None,
        })
    }

    /// The same for a table whose rows have versions up to `current`. `defaults`: for each field what records have from before it
    /// came; may be empty where only the records themselves are moved.
    ///
    /// # Errors
    /// Versions beyond `current`, or of fields that order the tree; REDUNDANT records, which have none.
    pub fn with_versions(mut self, current: u8, defaults: Vec<Option<Box<[u8]>>>) -> Result<Self> {
        let sound =
            |f: &FieldLayout| f.added.max(f.dropped) <= current && (f.dropped == 0 || f.added < f.dropped);
        let key_stays = self.fields[..self.n_node_key()].iter().all(|f| f.added | f.dropped == 0);
        if current == 0 || !self.comp || !key_stays || !self.fields.iter().all(sound) {
            return Err(Corruption::new(
                "row versions",
                format!("{current} of a table that cannot have them"),
            ));
        }
        let nullable = |v: u8| self.fields.iter().filter(|f| f.nullable && f.is_in(v)).count() as u16;
        let n_nullable = (0..=current).map(nullable).collect();
        self.versions = Some(Arc::new(Versions { current, n_nullable, defaults: defaults.into() }));
        Ok(self)
    }

    /// The layout of REDUNDANT records as recovery knows it: nothing, as these describe themselves.
    pub fn redundant() -> Self {
        Self {
            comp: false,
            n_node_key: 0,
            n_nullable: 0,
            fields: Box::default(),
            const_ends: Box::default(),
            versions: None,
        }
    }

    /// The same for an index with more nullable fields than these: node pointers hold the key fields, but the null
    /// bitmap of all. `None` if there are more nullable fields here.
    pub fn with_n_nullable(mut self, n: usize) -> Option<Self> {
        if n < usize::from(self.n_nullable) || n > FIELDS_MAX {
            return None;
        }
        self.n_nullable = n as u16;
        Some(self)
    }

    /// Whether records are COMPACT, DYNAMIC or COMPRESSED; else REDUNDANT.
    #[inline]
    pub fn comp(&self) -> bool {
        self.comp
    }

    /// All fields of a leaf record. Empty for [`RecLayout::redundant`].
    #[inline]
    pub fn fields(&self) -> &[FieldLayout] {
        &self.fields
    }

    /// Key fields of a node pointer; the child page number follows them.
    #[inline]
    pub fn n_node_key(&self) -> usize {
        usize::from(self.n_node_key)
    }

    /// Nullable fields of the whole index, in records without a version.
    #[inline]
    pub fn n_nullable(&self) -> usize {
        usize::from(self.n_nullable)
    }

    /// Bytes of the null bitmap of records without a version: node pointers, and all records if the rows have no versions.
    #[inline]
    pub fn null_bytes(&self) -> usize {
        usize::from(self.n_nullable).div_ceil(8)
    }

    /// Bytes of the null bitmap of records of a version.
    #[inline]
    pub(crate) fn null_bytes_in(&self, version: u8) -> usize {
        match &self.versions {
            Some(versions) if version != 0 => {
                usize::from(versions.n_nullable.get(usize::from(version)).copied().unwrap_or(0)).div_ceil(8)
            }
            _ => self.null_bytes(),
        }
    }

    /// The version in which rows are written now; 0 if they have none.
    #[inline]
    pub fn version(&self) -> u8 {
        self.versions.as_ref().map_or(0, |versions| versions.current)
    }

    /// The versions, if there are any.
    #[inline]
    pub(crate) fn versions(&self) -> Option<&Arc<Versions>> {
        self.versions.as_ref()
    }

    /// Version and bytes of the header of the record at `rec`, of the COMPACT family; `None` if it is none that there is.
    #[inline]
    pub(crate) fn version_of(&self, page: &[u8], rec: usize) -> Option<(u8, usize)> {
        match &self.versions {
            None => Some((0, COMP_HEADER)),
            Some(versions) => versions.of(page, rec),
        }
    }

    /// Leading fields that are NOT NULL and of fixed length.
    #[inline]
    pub fn n_const(&self) -> usize {
        self.const_ends.len()
    }

    /// Where the fields of constant place end, from the origin on.
    #[inline]
    pub(crate) fn const_ends(&self) -> &[u32] {
        &self.const_ends
    }
}

/// Fixed length of an index field: the column's, cut to the prefix, and 0 above [`FIXED_LEN_MAX`].
pub fn field_fixed_len(column_fixed_len: u32, prefix_len: u32) -> u32 {
    let len = match prefix_len {
        0 => column_fixed_len,
        prefix => column_fixed_len.min(prefix),
    };
    if len > FIXED_LEN_MAX { 0 } else { len }
}
