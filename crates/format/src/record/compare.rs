//! Order of tuples and records.
//!
//! Fields compare one after the other as [`FieldCmp`] says; SQL NULL is below every value and equal to itself, in a descending field it
//! comes last. A record
//! with the minimum flag is below every tuple. Comparison stops after the tuple's compared fields: a key prefix is
//! equal to every record that starts with it.

use super::header::{INFO_MIN_REC, check_origin, info_bits, old_is_short, old_n_fields};
use super::offsets::{CompWalk, Offsets, bad_record, old_field};
use crate::error::Result;
use crate::index_def::{FieldCmp, IndexDef};
use crate::tuple::{Tuple, TupleField};
use std::cmp::Ordering;
use vaquita_base::codec::{get_u32, get_u64, le};

/// Order of two byte strings; the widths of integer keys compare as numbers.
#[inline(always)]
pub(crate) fn compare_bytes(a: &[u8], b: &[u8]) -> Ordering {
    match (a.len(), b.len()) {
        (4, 4) => get_u32(a, 0).cmp(&get_u32(b, 0)),
        (8, 8) => get_u64(a, 0).cmp(&get_u64(b, 0)),
        _ => a.cmp(b),
    }
}

/// Order of two values of a field.
#[inline]
pub fn compare_fields(cmp: FieldCmp, a: Option<&[u8]>, b: Option<&[u8]>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => match cmp {
            FieldCmp::Bytes => compare_bytes(a, b),
            FieldCmp::Text(collation) => collation.compare(a, b),
            FieldCmp::Unknown(_) => a.cmp(b),
            FieldCmp::Float => compare_floats(float(a), float(b)),
            FieldCmp::Double => compare_floats(double(a), double(b)),
            FieldCmp::BytesDown => compare_bytes(b, a),
            FieldCmp::TextDown(collation) => collation.compare(b, a),
            FieldCmp::UnknownDown(_) => b.cmp(a),
            FieldCmp::FloatDown => compare_floats(float(b), float(a)),
            FieldCmp::DoubleDown => compare_floats(double(b), double(a)),
        },
        (None, None) => Ordering::Equal,
        (None, Some(_)) if cmp.is_descending() => Ordering::Greater,
        (Some(_), None) if cmp.is_descending() => Ordering::Less,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
    }
}

/// Numbers as numbers (both zeros are equal); what is no number sorts last, so that the order is total.
fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn float(raw: &[u8]) -> f64 {
    if raw.len() == 4 { f64::from(f32::from_bits(le::get_uint(raw, 0, 4) as u32)) } else { f64::NAN }
}

fn double(raw: &[u8]) -> f64 {
    if raw.len() == 8 { f64::from_bits(le::get_uint(raw, 0, 8)) } else { f64::NAN }
}

/// Order of a tuple relative to a user record. `matched` says how many leading fields are known to be equal and
/// receives how many are.
///
/// # Errors
/// If the record does not lie within the page.
#[inline]
pub fn compare(
    index: &IndexDef,
    page: &[u8],
    rec: u16,
    tuple: &Tuple<'_>,
    matched: &mut usize,
) -> Result<Ordering> {
    let at = check_origin(page, rec)?;
    let comp = index.layout().comp();
    if info_bits(page, rec, comp) & INFO_MIN_REC != 0 {
        *matched = 0;
        let both = tuple.info_bits() & INFO_MIN_REC != 0;
        return Ok(if both { Ordering::Equal } else { Ordering::Greater });
    }
    if tuple.info_bits() & INFO_MIN_REC != 0 {
        *matched = 0;
        return Ok(Ordering::Less);
    }
    let fields = &tuple.fields()[..tuple.n_cmp()];
    let order = if fields.len() <= index.n_const_bytes() {
        compare_const(index, page, at, fields, matched)
    } else if comp {
        compare_comp(index, page, at, fields, matched)
    } else {
        compare_old(index, page, rec, fields, matched)
    };
    order.ok_or_else(|| bad_record(at))
}

/// Keys whose fields all lie at constant places.
#[inline]
pub(crate) fn compare_const(
    index: &IndexDef,
    page: &[u8],
    rec: usize,
    fields: &[TupleField<'_>],
    matched: &mut usize,
) -> Option<Ordering> {
    let layouts = &index.layout().fields()[..fields.len()];
    for (i, (f, field)) in layouts.iter().zip(fields).enumerate().skip(*matched) {
        let start = rec + usize::from(f.offset);
        let stored = page.get(start..start + usize::from(f.fixed_len))?;
        let Some(key) = field.data else {
            *matched = i;
            return Some(Ordering::Less);
        };
        let order = compare_bytes(key, stored);
        if order != Ordering::Equal {
            *matched = i;
            return Some(order);
        }
    }
    *matched = fields.len();
    Some(Ordering::Equal)
}

#[inline]
fn compare_comp(
    index: &IndexDef,
    page: &[u8],
    rec: usize,
    fields: &[TupleField<'_>],
    matched: &mut usize,
) -> Option<Ordering> {
    let layout = index.layout();
    let first = layout.n_const().min(*matched);
    let mut walk = CompWalk::new(page, rec, layout, first)?;
    let layouts = layout.fields().get(..fields.len())?;
    for (i, (f, field)) in layouts.iter().zip(fields).enumerate().skip(first) {
        let step = walk.step(f)?;
        if i < *matched {
            continue;
        }
        let stored = if step.null { None } else { Some(page.get(step.start..step.start + step.len)?) };
        let order = compare_fields(index.compare_plan()[i], field.data, stored);
        if order != Ordering::Equal {
            *matched = i;
            return Some(order);
        }
    }
    *matched = fields.len();
    Some(Ordering::Equal)
}

fn compare_old(
    index: &IndexDef,
    page: &[u8],
    rec: u16,
    fields: &[TupleField<'_>],
    matched: &mut usize,
) -> Option<Ordering> {
    let (short, at) = (old_is_short(page, rec), usize::from(rec));
    if old_n_fields(page, rec) < fields.len() {
        return None;
    }
    for (i, field) in fields.iter().enumerate().skip(*matched) {
        let step = old_field(page, at, short, i)?;
        let stored = if step.null { None } else { Some(page.get(step.start..step.start + step.len)?) };
        let order = compare_fields(*index.compare_plan().get(i)?, field.data, stored);
        if order != Ordering::Equal {
            *matched = i;
            return Some(order);
        }
    }
    *matched = fields.len();
    Some(Ordering::Equal)
}

/// Order of two records of an index by their first `n` fields, their offsets being parsed.
pub fn compare_records(
    index: &IndexDef,
    (page_a, a, offsets_a): (&[u8], u16, &Offsets),
    (page_b, b, offsets_b): (&[u8], u16, &Offsets),
    n: usize,
) -> Ordering {
    (0..n)
        .map(|i| {
            let (x, y) = (offsets_a.field(page_a, a, i), offsets_b.field(page_b, b, i));
            compare_fields(index.compare_plan()[i], x, y)
        })
        .find(|&o| o != Ordering::Equal)
        .unwrap_or(Ordering::Equal)
}
