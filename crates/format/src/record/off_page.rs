//! Which columns of a clustered record move off the page.
//!
//! Two records must fit into a page. While one is too big, the variable column that saves most is cut to its prefix
//! (768 bytes in REDUNDANT and COMPACT, none in DYNAMIC and COMPRESSED) and a reference of 20 bytes. Columns are moved
//! only as far as needed; key columns never.

use super::encode::encoded_size;
use super::extern_ref::EXTERN_REF_LEN;
use crate::column::MType;
use crate::index_def::{IndexDef, RowFormat};
use crate::tuple::{Tuple, TupleField};
use std::fmt;

/// No more columns can be moved and the record still does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowTooBig {
    /// Bytes of the record.
    pub size: usize,
    /// Most bytes allowed.
    pub max: usize,
}

impl fmt::Display for RowTooBig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record of {} bytes, at most {} fit", self.size, self.max)
    }
}

impl std::error::Error for RowTooBig {}

/// Shortest value worth moving is longer than this, whatever the format.
const LEN_MIN: usize = 2 * EXTERN_REF_LEN;

/// Bytes of an off-page column that stay in the record: prefix and reference.
#[inline]
pub fn local_len(format: RowFormat) -> usize {
    format.off_page_prefix() as usize + EXTERN_REF_LEN
}

/// Most bytes of a record of this index: two fit a page, one fits a compressed page even if it does not compress.
pub fn size_limit(index: &IndexDef) -> usize {
    index.rec_size_max().min(index.zip_rec_size_max().unwrap_or(usize::MAX))
}

/// Replaces `out` by the positions of the fields to move, in the order they are chosen; empty if the record fits as it
/// is. Fields that are external already count with their local part.
///
/// # Errors
/// If the record cannot be made to fit; always, if it is too big and the index is not clustered.
pub fn off_page_fields(
    index: &IndexDef,
    fields: &[TupleField<'_>],
    out: &mut Vec<usize>,
) -> Result<(), RowTooBig> {
    out.clear();
    let max = size_limit(index);
    let size = |fields: &[TupleField<'_>]| encoded_size(index.layout(), &Tuple::new(fields)).total();
    let mut now = size(fields);
    if now <= max {
        return Ok(());
    }
    if !index.is_clustered() {
        return Err(RowTooBig { size: now, max });
    }
    let local = local_len(index.row_format());
    let mut cut = fields.to_vec();
    while now > max {
        let Some(pos) = longest(index, &cut, local) else { return Err(RowTooBig { size: now, max }) };
        // Which bytes stay does not matter for the size.
        cut[pos] = TupleField { data: cut[pos].data.map(|d| &d[..local]), external: true };
        out.push(pos);
        now = size(&cut);
    }
    Ok(())
}

/// The movable field with the most bytes beyond its local part; the first of equals.
fn longest(index: &IndexDef, fields: &[TupleField<'_>], local: usize) -> Option<usize> {
    let movable = |pos: usize| -> Option<usize> {
        let (def, field) = (&index.fields()[pos], &fields[pos]);
        let len = field.data?.len();
        let column = &def.column;
        let short_inline =
            index.row_format().off_page_prefix() == 0 && column.mtype != MType::Blob && column.len < 256;
        let fits = def.fixed_len == 0 && !field.external && len > local && len > LEN_MIN && !short_inline;
        fits.then_some(len)
    };
    let mut best: Option<(usize, usize)> = None;
    for pos in index.n_uniq()..fields.len() {
        if let Some(len) = movable(pos)
            && best.is_none_or(|(most, _)| len > most)
        {
            best = Some((len, pos));
        }
    }
    best.map(|(_, pos)| pos)
}
