//! A key copied out of its page.

use std::cmp::Ordering;
use vaquita_format::index_def::IndexDef;
use vaquita_format::record::{Offsets, compare_fields};
use vaquita_format::tuple::TupleField;

/// The leading fields of a record, owned; reusable.
#[derive(Debug, Clone, Default)]
pub struct OwnedKey {
    bytes: Vec<u8>,
    /// Ends in `bytes`; `None` for NULL.
    ends: Vec<Option<u32>>,
}

impl OwnedKey {
    /// Copies the first `n` fields of a record, which has as many.
    pub(crate) fn set(&mut self, page: &[u8], rec: u16, offsets: &Offsets, n: usize) {
        debug_assert!(offsets.n_fields() >= n, "a key of {n} fields of a record of {}", offsets.n_fields());
        self.clear();
        (0..n).for_each(|i| self.push(offsets.field(page, rec, i)));
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Appends a field; `None` is NULL.
    pub fn push(&mut self, field: Option<&[u8]>) {
        self.bytes.extend_from_slice(field.unwrap_or_default());
        self.ends.push(field.map(|_| self.bytes.len() as u32));
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// As fields of a tuple, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = TupleField<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |end| match *end {
            Some(end) => {
                let data = &self.bytes[start..end as usize];
                start = end as usize;
                TupleField::new(data)
            }
            None => TupleField::NULL,
        })
    }

    /// As fields of a tuple.
    pub fn fields(&self) -> Vec<TupleField<'_>> {
        self.iter().collect()
    }

    /// Order of two keys of an index.
    pub fn order(&self, index: &IndexDef, other: &OwnedKey) -> Ordering {
        let (a, b) = (self.fields(), other.fields());
        a.iter()
            .zip(&b)
            .zip(index.compare_plan())
            .map(|((a, b), &cmp)| compare_fields(cmp, a.data, b.data))
            .find(|&o| o != Ordering::Equal)
            .unwrap_or(Ordering::Equal)
    }
}
