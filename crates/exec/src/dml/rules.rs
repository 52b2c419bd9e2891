//! Rows held against what their table asks of them.

use vaquita_catalog::TableInfo;
use vaquita_catalog::checks::violated;
use vaquita_engine::Field;
use vaquita_expr::{EvalCx, Row, TableRow};
use vaquita_plan::{CheckRule, TableRules};
use vaquita_session::SessionState;
use vaquita_types::{SqlError, SqlResult, Value};

/// The values of the columns that the rules look at, of a row in stored form; the others are NULL.
pub(crate) fn values_of<'f>(
    rules: &TableRules,
    info: &TableInfo,
    cx: &EvalCx<'_>,
    field: impl Fn(usize) -> Field<'f>,
) -> Vec<Value<'static>> {
    let zone = &cx.state.vars.time_zone;
    let mut values = vec![Value::Null; info.columns.len()];
    for &column in &rules.columns {
        values[column] = info.columns[column].ty.decode(field(column), zone).into_owned();
    }
    values
}

/// The error that a row with these values is refused with, if it is: 3819 by the first constraint that is false.
///
/// # Errors
/// Of evaluating a condition.
pub(crate) fn refused(
    checks: &[CheckRule],
    concerned: impl Fn(&CheckRule) -> bool,
    values: &[Value<'_>],
    cx: &mut EvalCx<'_>,
) -> SqlResult<Option<SqlError>> {
    let tables = [TableRow::Values(values)];
    let row = Row { tables: &tables, ..Row::default() };
    for check in checks.iter().filter(|check| concerned(check)) {
        if check.condition.eval_bool(cx, &row)? == Some(false) {
            return Ok(Some(violated(&check.name)));
        }
    }
    Ok(None)
}

/// Whether a row that is refused is left out, with a warning: under IGNORE.
///
/// # Errors
/// What it is refused with, otherwise.
pub(crate) fn leave_out(
    refused: Option<SqlError>,
    ignore: bool,
    state: &mut SessionState,
) -> SqlResult<bool> {
    match refused {
        None => Ok(false),
        Some(e) if !ignore => Err(e),
        Some(e) => {
            state.warnings.warn(e.code, e.message);
            Ok(true)
        }
    }
}

/// Holds a whole row in stored form against the rules of its table: for rows that are copied.
///
/// # Errors
/// 3819; those of evaluating a condition.
pub fn check_row<'f>(
    rules: &TableRules,
    info: &TableInfo,
    cx: &mut EvalCx<'_>,
    field: impl Fn(usize) -> Field<'f>,
) -> SqlResult<()> {
    let values = values_of(rules, info, cx, field);
    refused(&rules.checks, |_| true, &values, cx)?.map_or(Ok(()), Err)
}
