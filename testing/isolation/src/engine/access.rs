//! From a recorded plan and a condition to cursors: which index is read, and from where to where.

use super::schema::stored;
use crate::script::Plan;
use crate::sql::{Bound, Expr, Range, Value, ranges};
use vaquita_engine::Table;

/// One placing of the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// The whole index.
    All,
    /// The entries that equal a key, in stored form.
    Equal(Vec<Option<Vec<u8>>>),
    /// A range of the first column; its upper end also as a value, for a caller that checks it itself.
    Between {
        low: Option<(Option<Vec<u8>>, bool)>,
        high: Option<(Option<Vec<u8>>, bool)>,
        end: Option<Bound>,
    },
}

/// Which index, and its placings in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) index: usize,
    pub(super) places: Vec<Place>,
}

/// How to find the rows of a condition.
///
/// # Errors
/// The plan does not fit the table: the recording is of another script.
pub(super) fn choose(table: &Table, plan: Option<&Plan>, filter: Option<&Expr>) -> Result<Access, String> {
    let whole = |index| Access { index, places: vec![Place::All] };
    let Some(plan) = plan else { return Ok(whole(0)) };
    // A DELETE without a condition has no plan either.
    if filter.is_some() && (plan.access == "none" || plan.access == "const") {
        return constant(table, filter);
    }
    let Some(key) = plan.key.as_deref() else { return Ok(whole(0)) };
    let index = match key {
        "PRIMARY" => 0,
        name => table.index(name).ok_or_else(|| format!("no index {name}"))?,
    };
    if plan.access == "index" {
        return Ok(whole(index));
    }
    let column = table.indexes[index].parts.first().ok_or("a range of hidden row ids")?.column;
    let name = &table.columns[column].def.name;
    let ranges = ranges(filter, name).ok_or_else(|| format!("no range of {name}"))?;
    let places = ranges.iter().map(|range| place(table, column, range));
    Ok(Access { index, places: places.collect::<Result<_, _>>()? })
}

/// A row by a unique key whose columns are all given. The optimizer says `none` when it has looked and found nothing.
fn constant(table: &Table, filter: Option<&Expr>) -> Result<Access, String> {
    for (number, index) in table.indexes.iter().enumerate().filter(|(_, index)| index.is_unique()) {
        let mut key = Vec::new();
        for part in &index.parts {
            let ranges = ranges(filter, &table.columns[part.column].def.name).unwrap_or_default();
            let [range] = ranges.as_slice() else { continue };
            if let Some(value) = range.as_point().filter(|value| **value != Value::Null) {
                key.push(stored(table, part.column, value)?);
            }
        }
        if !key.is_empty() && key.len() == index.parts.len() {
            return Ok(Access { index: number, places: vec![Place::Equal(key)] });
        }
    }
    Err("no unique key is given".into())
}

fn place(table: &Table, column: usize, range: &Range) -> Result<Place, String> {
    if let Some(value) = range.as_point() {
        return Ok(Place::Equal(vec![stored(table, column, value)?]));
    }
    let bound = |bound: &Bound| Ok::<_, String>((stored(table, column, &bound.value)?, bound.inclusive));
    let mut low = range.low.as_ref().map(bound).transpose()?;
    // No comparison holds for NULL: the range begins behind the NULLs.
    if low.is_none() && table.columns[column].def.is_nullable() {
        low = Some((None, false));
    }
    Ok(Place::Between { low, high: range.high.as_ref().map(bound).transpose()?, end: range.high.clone() })
}
