//! Tuples: the fields of a record to be, or a key to search for. Borrowed slices all through; nothing is owned.
//!
//! A search key lives on the caller's stack:
//! ```
//! use vaquita_format::tuple::{Tuple, TupleField};
//! let id = [0x80, 0, 0, 7];
//! let key = [TupleField::new(&id)];
//! assert_eq!(Tuple::new(&key).n_cmp(), 1);
//! ```

use vaquita_base::PageNo;

/// One field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TupleField<'a> {
    /// Stored bytes; `None` for SQL NULL.
    pub data: Option<&'a [u8]>,
    /// Whether `data` ends with an external reference.
    pub external: bool,
}

impl<'a> TupleField<'a> {
    /// SQL NULL.
    pub const NULL: TupleField<'static> = TupleField { data: None, external: false };

    /// A value held in the record.
    #[inline]
    pub const fn new(data: &'a [u8]) -> Self {
        Self { data: Some(data), external: false }
    }

    /// A value, or NULL.
    #[inline]
    pub const fn nullable(data: Option<&'a [u8]>) -> Self {
        Self { data, external: false }
    }

    /// A value whose last 20 bytes refer to its off-page part.
    #[inline]
    pub const fn external(data: &'a [u8]) -> Self {
        Self { data: Some(data), external: true }
    }
}

/// Fields in index order, with what a record's header takes from them.
#[derive(Debug, Clone, Copy)]
pub struct Tuple<'a> {
    fields: &'a [TupleField<'a>],
    info_bits: u8,
    n_cmp: usize,
    child: Option<PageNo>,
}

impl<'a> Tuple<'a> {
    /// A leaf tuple or a search key; all fields take part in comparisons.
    #[inline]
    pub const fn new(fields: &'a [TupleField<'a>]) -> Self {
        Self { fields, info_bits: 0, n_cmp: fields.len(), child: None }
    }

    /// A node pointer: the key fields and the child page.
    #[inline]
    pub const fn node_ptr(key: &'a [TupleField<'a>], child: PageNo) -> Self {
        Self { fields: key, info_bits: 0, n_cmp: key.len(), child: Some(child) }
    }

    /// Compares the first `n` fields only.
    #[inline]
    #[must_use]
    pub const fn compare_first(mut self, n: usize) -> Self {
        self.n_cmp = if n < self.fields.len() { n } else { self.fields.len() };
        self
    }

    /// With these info bits: `INFO_DELETED`, `INFO_MIN_REC` of [`crate::record::header`].
    #[inline]
    #[must_use]
    pub const fn with_info_bits(mut self, bits: u8) -> Self {
        self.info_bits = bits;
        self
    }

    /// The fields, the child page number of a node pointer excepted.
    #[inline]
    pub const fn fields(&self) -> &'a [TupleField<'a>] {
        self.fields
    }

    /// Number of fields that comparisons look at.
    #[inline]
    pub const fn n_cmp(&self) -> usize {
        self.n_cmp
    }

    /// Info bits of the record.
    #[inline]
    pub const fn info_bits(&self) -> u8 {
        self.info_bits
    }

    /// Child page, of a node pointer.
    #[inline]
    pub const fn child(&self) -> Option<PageNo> {
        self.child
    }
}
