//! How many rows there are about: for whoever chooses between ways to read.
//!
//! Nothing is counted: each bound costs a descent. Delete-marked records and those that a view does not see count too.

use super::bound::key_fields;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::table::{Field, Table};
use vaquita_format::tuple::Tuple;

/// A bound of a range: the first fields of an index in stored form, and whether records equal to it belong to the range.
pub type Bound<'a> = Option<(&'a [Field<'a>], bool)>;

/// About how many records of an index lie between two bounds; `None` is the end of the index.
///
/// # Errors
/// If there is no such index or a key has too many fields; errors of pages, damage.
pub fn estimate_range(
    core: &Core,
    table: &Table,
    index: usize,
    lower: Bound<'_>,
    upper: Bound<'_>,
) -> Result<u64> {
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

/// About how many rows a table has: from the way to the middle of its clustered index.
///
/// # Errors
/// Errors of pages, damage.
pub fn estimate_rows(core: &Core, table: &Table) -> Result<u64> {
    let tree = &table.clustered().tree;
    let (first, last) = (tree.place_of_start(&core.storage)?, tree.place_of_end(&core.storage)?);
    Ok(((first.records + last.records) / 2.0).round() as u64)
}
