//! What must be known of an index to find the fields of its records: lengths, nullability, field counts.
//!
//! An [`IndexDef`](crate::index_def::IndexDef) owns one; the index description inside a redo record gives
//! another, so that the page edits of normal work and of recovery are the same functions.
//!
//! Invariants
//! - I1: `n_nullable` counts all nullable fields of the index, also when a node pointer holds fewer.
//! - I2: fields before [`RecLayout::n_const`] are NOT NULL and fixed, and `offset` of fields up to and including
//!   it is their place in every record.

use crate::error::{Corruption, Result};

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
}

impl FieldLayout {
    /// A field; its constant place is found by [`RecLayout::new`].
    pub const fn new(fixed_len: u16, nullable: bool, big: bool) -> Self {
        Self { fixed_len, nullable, big, null_len: 0, offset: NO_OFFSET }
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
    n_const: u16,
    fields: Box<[FieldLayout]>,
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
        let n_nullable = fields.iter().filter(|f| f.nullable).count() as u16;
        let mut n_const = 0;
        let mut offset = 0u32;
        for f in &mut fields {
            if offset >= u32::from(NO_OFFSET) {
                break;
            }
            f.offset = offset as u16;
            if f.nullable || f.fixed_len == 0 {
                break;
            }
            offset += u32::from(f.fixed_len);
            n_const += 1;
        }
        Ok(Self { comp, n_node_key: n_node_key as u16, n_nullable, n_const, fields: fields.into() })
    }

    /// The layout of REDUNDANT records as recovery knows it: nothing, as these describe themselves.
    pub fn redundant() -> Self {
        Self { comp: false, n_node_key: 0, n_nullable: 0, n_const: 0, fields: Box::new([]) }
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

    /// Nullable fields of the whole index.
    #[inline]
    pub fn n_nullable(&self) -> usize {
        usize::from(self.n_nullable)
    }

    /// Bytes of the null bitmap, on all levels.
    #[inline]
    pub fn null_bytes(&self) -> usize {
        usize::from(self.n_nullable).div_ceil(8)
    }

    /// Leading fields that are NOT NULL and of fixed length.
    #[inline]
    pub fn n_const(&self) -> usize {
        usize::from(self.n_const)
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
