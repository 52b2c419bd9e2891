//! How many rows there are about: for whoever chooses between ways to read.
//!
//! Nothing is counted: each bound costs a descent. Delete-marked records and those that a view does not see count too.

use super::bound::key_fields;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::partition::Parts;
use crate::table::{Field, Index, Table};
use std::ops::ControlFlow;
use vaquita_btree::OwnedKey;
use vaquita_format::record::Offsets;
use vaquita_format::tuple::Tuple;

/// A bound of a range: the first fields of an index in stored form, and whether records equal to it belong to the range.
pub type Bound<'a> = Option<(&'a [Field<'a>], bool)>;

/// About how many records of an index lie between two bounds; `None` is the end of the index. Of a table in parts only `those` count, if
/// some are named.
///
/// # Errors
/// If there is no such index or a key has too many fields; errors of pages, damage.
pub fn estimate_range(
    core: &Core,
    table: &Table,
    those: Option<&[usize]>,
    index: usize,
    lower: Bound<'_>,
    upper: Bound<'_>,
) -> Result<u64> {
    if let Some(parts) = &table.parts {
        return sum_of(parts, those, |part| estimate_range(core, part, None, index, lower, upper));
    }
    let index = table.indexes.get(index).ok_or(Error::WrongState("there is no such index"))?;
    let place = |key: &[Field<'_>], after: bool| {
        let fields = key_fields(index, key)?;
        Ok::<_, Error>(index.tree.place_of(&core.storage, &Tuple::new(&fields), after)?)
    };
    let low = match lower {
        Some((key, inclusive)) => place(key, !inclusive)?,
        None => index.tree.place_of_start(&core.storage)?,
    };
    let high = match upper {
        Some((key, inclusive)) => place(key, inclusive)?,
        None => index.tree.place_of_end(&core.storage)?,
    };
    Ok(low.records_to(&high))
}

/// About how many rows a table has: from the way to the middle of its clustered index. Of one in parts only `those` count, if some are
/// named.
///
/// # Errors
/// Errors of pages, damage.
pub fn estimate_rows(core: &Core, table: &Table, those: Option<&[usize]>) -> Result<u64> {
    if let Some(parts) = &table.parts {
        return sum_of(parts, those, |part| estimate_rows(core, part, None));
    }
    let tree = &table.clustered().tree;
    let (first, last) = (tree.place_of_start(&core.storage)?, tree.place_of_end(&core.storage)?);
    Ok(((first.records + last.records) / 2.0).round() as u64)
}

/// Parts of a table that are looked at; of more, some stand for the others.
const PARTS_MAX: usize = 16;

/// About the sum over those parts of a table, or all.
fn sum_of(parts: &Parts, those: Option<&[usize]>, of_part: impl Fn(&Table) -> Result<u64>) -> Result<u64> {
    let wanted: Vec<&Table> = match those {
        Some(those) => those.iter().filter_map(|&part| parts.tables.get(part).map(|t| &**t)).collect(),
        None => parts.tables.iter().map(|part| &**part).collect(),
    };
    let all = wanted.len();
    if all == 0 {
        return Ok(0);
    }
    let step = all.div_ceil(PARTS_MAX);
    let mut looked_at = wanted.into_iter().step_by(step);
    let sum = looked_at.try_fold(0, |sum, part| Ok::<u64, Error>(sum + of_part(part)?))?;
    Ok(sum * all as u64 / all.div_ceil(step) as u64)
}

/// About how many records of all parts share the first `n` fields of an index: those of one part, if these fields tell which.
fn per_key_of(
    parts: &Parts,
    index: &Index,
    n: usize,
    of_part: impl Fn(&Table) -> Result<f64>,
) -> Result<f64> {
    let all = parts.tables.len();
    let step = all.div_ceil(PARTS_MAX);
    let mut looked_at = parts.tables.iter().step_by(step);
    let sum = looked_at.try_fold(0.0, |sum, part| Ok::<f64, Error>(sum + of_part(part)?))?;
    let mean = sum / all.div_ceil(step) as f64;
    let tells = |column: &usize| index.parts.iter().take(n).any(|part| part.column == *column);
    match &parts.scheme {
        Some(scheme) if scheme.columns().iter().all(tells) => Ok(mean),
        _ => Ok(mean * all as f64),
    }
}

/// Records that are counted rather than estimated.
const COUNTED: u64 = 2_000;

/// How many rows a table has, without those that are deleted: counted if they are few, else about, as [`estimate_rows`]. Where texts are
/// of many lengths a few pages tell little of the others.
///
/// # Errors
/// Errors of pages, damage.
pub fn count_or_estimate_rows(core: &Core, table: &Table) -> Result<u64> {
    // The estimate is off by less than that, and costs two descents.
    const SURELY_MORE: u64 = 4 * COUNTED;
    let estimated = estimate_rows(core, table, None)?;
    if estimated > SURELY_MORE {
        return Ok(estimated);
    }
    let mut walk = vaquita_btree::Cursor::new(&table.clustered().tree, &core.storage);
    let (mut records, mut rows) = (0, 0);
    if walk.first()? {
        walk.for_each(|record| {
            records += 1;
            rows += u64::from(!record.is_deleted());
            if records > COUNTED { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    Ok(if records > COUNTED { estimated } else { rows })
}

/// Places in an index that are looked at to know how many records share a key.
const SAMPLES: usize = 8;

/// About how many records share the first `n` fields of an index with one that is picked at random.
///
/// # Errors
/// If there is no such index; errors of pages, damage.
pub fn estimate_per_key(core: &Core, table: &Table, index: usize, n: usize) -> Result<f64> {
    if let Some(parts) = &table.parts {
        return per_key_of(parts, &table.indexes[index], n, |part| estimate_per_key(core, part, index, n));
    }
    let definition = table.indexes.get(index).ok_or(Error::WrongState("there is no such index"))?;
    let tree = &definition.tree;
    let (mut rows, mut samples) = (0, 0u64);
    for key in tree.split_points(&core.storage, SAMPLES)? {
        let fields: Vec<Field<'_>> = key.iter().take(n).map(|f| f.data).collect();
        if fields.len() == n {
            rows += estimate_range(core, table, None, index, Some((&fields, true)), Some((&fields, true)))?
                .max(1);
            samples += 1;
        }
    }
    if samples > 0 {
        return Ok(rows as f64 / samples as f64);
    }
    // One page: its keys are counted.
    let mut walk = vaquita_btree::Cursor::new(tree, &core.storage);
    let (mut before, mut key) = (OwnedKey::default(), OwnedKey::default());
    let mut offsets = Offsets::default();
    let (mut records, mut keys) = (0u32, 0u32);
    if walk.first()? {
        walk.for_each(|record| {
            if record.parse(definition.def(), &mut offsets).is_err() || records == PAGE_RECORDS_MAX {
                return ControlFlow::Break(());
            }
            key.clear();
            (0..n.min(offsets.n_fields())).for_each(|i| key.push(record.field(&offsets, i)));
            keys += u32::from(records == 0 || key.order(definition.def(), &before).is_ne());
            records += 1;
            std::mem::swap(&mut key, &mut before);
            ControlFlow::Continue(())
        })?;
    }
    Ok(f64::from(records.max(1)) / f64::from(keys.max(1)))
}

/// Records of a small index that are looked at.
const PAGE_RECORDS_MAX: u32 = 500;
