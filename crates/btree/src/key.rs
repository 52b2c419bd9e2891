//! A key copied out of its page.

use std::cmp::Ordering;
use vaquita_format::index_def::IndexDef;
use vaquita_format::record::{Offsets, compare_fields};
use vaquita_format::tuple::TupleField;

/// The leading fields of a record, owned; reusable.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnedKey {
    bytes: Vec<u8>,
    /// Ends in `bytes`; `None` for NULL.
    ends: Vec<Option<u32>>,
}

impl OwnedKey {
    /// Copies the first `n` fields of a record, which has as many.
    pub(crate) fn set(&mut self, page: &[u8], rec: u16, offsets: &Offsets, n: usize) {
        self.bytes.clear();
        self.ends.clear();
        for i in 0..n {
            let data = offsets.field(page, rec, i);
            self.bytes.extend_from_slice(data.unwrap_or_default());
            self.ends.push(data.map(|_| self.bytes.len() as u32));
        }
    }

    /// As fields of a tuple.
    pub(crate) fn fields(&self) -> Vec<TupleField<'_>> {
        let mut start = 0;
        self.ends
            .iter()
            .map(|end| match *end {
                Some(end) => {
                    let data = &self.bytes[start..end as usize];
                    start = end as usize;
                    TupleField::new(data)
                }
                None => TupleField::NULL,
            })
            .collect()
    }

    /// Order of two keys of an index.
    pub(crate) fn order(&self, index: &IndexDef, other: &OwnedKey) -> Ordering {
        let (a, b) = (self.fields(), other.fields());
        a.iter()
            .zip(&b)
            .zip(index.compare_plan())
            .map(|((a, b), &cmp)| compare_fields(cmp, a.data, b.data))
            .find(|&o| o != Ordering::Equal)
            .unwrap_or(Ordering::Equal)
    }
}
