//! Fields one after the other as bytes, for sorts and logs in temporary files: each a length (u32; all ones: NULL) and its
//! bytes. Nothing of it outlives the process.

use std::cmp::Ordering;
use vaquita_base::codec::{get_u32, push_u32, put_u32};
use vaquita_format::index_def::IndexDef;
use vaquita_format::record::compare_fields;
use vaquita_format::tuple::TupleField;

/// Bytes of a length.
pub(crate) const LEN: usize = 4;

/// Appends one field.
pub(crate) fn push(out: &mut Vec<u8>, field: Option<&[u8]>) {
    push_u32(out, field.map_or(u32::MAX, |d| d.len() as u32));
    out.extend_from_slice(field.unwrap_or_default());
}

/// Appends fields.
pub(crate) fn push_all(out: &mut Vec<u8>, fields: &[TupleField<'_>]) {
    fields.iter().for_each(|field| push(out, field.data));
}

/// Appends fields and the length of it all before them.
pub(crate) fn push_entry(out: &mut Vec<u8>, fields: &[TupleField<'_>]) {
    let start = out.len();
    out.resize(start + LEN, 0);
    push_all(out, fields);
    let len = out.len() - start - LEN;
    put_u32(out, start, len as u32);
}

/// The fields, packed, of the entry that begins there.
pub(crate) fn entry_at(bytes: &[u8], start: usize) -> &[u8] {
    let len = get_u32(bytes, start) as usize;
    &bytes[start + LEN..start + LEN + len]
}

/// The fields that were packed.
pub(crate) fn fields(packed: &[u8]) -> impl Iterator<Item = TupleField<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= packed.len() {
            return None;
        }
        let len = get_u32(packed, at);
        at += LEN;
        if len == u32::MAX {
            return Some(TupleField::NULL);
        }
        let data = &packed[at..at + len as usize];
        at += data.len();
        Some(TupleField::new(data))
    })
}

/// Compares packed keys of an index, or entries: as many fields as both have.
pub(crate) fn compare(def: &IndexDef, a: &[u8], b: &[u8]) -> Ordering {
    let fields = self::fields(a).zip(self::fields(b)).zip(def.compare_plan());
    fields
        .map(|((a, b), cmp)| compare_fields(*cmp, a.data, b.data))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}
