//! Triggers around the changes of rows.

use super::row::RowBuffer;
use vaquita_catalog::TableInfo;
use vaquita_expr::trigger::{TableTriggers, TriggerRows};
use vaquita_expr::{EvalCx, Row};
use vaquita_parser::ast::TriggerEvent;
use vaquita_types::{SqlResult, TimeZone, Value};

/// What triggers see of a row that changes: values by the columns of its table, as far as they look at them.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) old: Vec<Value<'static>>,
    pub(crate) new: Vec<Value<'static>>,
}

/// Fires the triggers of one moment; the columns of `NEW` that they have set, each once.
///
/// # Errors
/// Of the triggers.
pub(crate) fn fire(
    triggers: &TableTriggers,
    before: bool,
    event: TriggerEvent,
    seen: &mut Seen,
    cx: &mut EvalCx<'_>,
) -> SqlResult<Vec<usize>> {
    let mut rows = TriggerRows { old: &seen.old, new: &mut seen.new, set: Vec::new() };
    triggers.of(before, event).try_for_each(|trigger| trigger.fire(cx, &mut rows))?;
    let mut set = rows.set;
    set.sort_unstable();
    set.dedup();
    Ok(set)
}

/// The values of a row that matches, in the slot of the table.
///
/// # Errors
/// Of reading values off the page.
pub(crate) fn matched(
    triggers: &TableTriggers,
    info: &TableInfo,
    row: &Row<'_>,
    slot: u16,
    cx: &mut EvalCx<'_>,
) -> SqlResult<Vec<Value<'static>>> {
    let mut values = vec![Value::Null; info.columns.len()];
    for &column in &triggers.columns {
        let value = crate::query::column(row, usize::from(slot), column, cx)?;
        values[column] = vaquita_types::memory::into_owned(value)?;
    }
    Ok(values)
}

/// The values of a row in stored form.
pub(crate) fn stored(
    triggers: &TableTriggers,
    info: &TableInfo,
    row: &RowBuffer,
    zone: &TimeZone,
) -> Vec<Value<'static>> {
    let mut values = vec![Value::Null; info.columns.len()];
    take(&triggers.columns, info, row, zone, &mut values);
    values
}

/// Takes columns of a row in stored form over into values.
pub(crate) fn take(
    columns: &[usize],
    info: &TableInfo,
    row: &RowBuffer,
    zone: &TimeZone,
    values: &mut [Value<'static>],
) {
    for &column in columns {
        values[column] = info.columns[column].ty.decode(row.field(info, column), zone).into_owned();
    }
}

/// Puts what triggers have set into the row in stored form.
///
/// # Errors
/// A value that has no stored form.
pub(crate) fn put_back(
    set: &[usize],
    info: &TableInfo,
    values: &[Value<'static>],
    zone: &TimeZone,
    row: &mut RowBuffer,
) -> SqlResult<()> {
    set.iter().try_for_each(|&column| match &values[column] {
        Value::Null => {
            row.put_stored(column, None);
            Ok(())
        }
        value => row.put(column, |out| Ok(info.columns[column].ty.encode(value, zone, out))),
    })
}
