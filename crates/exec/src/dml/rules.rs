//! Rows made complete, and held against what their table asks of them.

use super::row::RowBuffer;
use super::store::Store;
use vaquita_catalog::checks::violated;
use vaquita_catalog::{KeyInfo, TableInfo};
use vaquita_engine::Field;
use vaquita_expr::{EvalCx, Row, TableRow};
use vaquita_plan::rules::ValueRule;
use vaquita_plan::{CheckRule, TableRules, refuse_value};
use vaquita_session::SessionState;
use vaquita_types::convert::store::{StoreMode, store};
use vaquita_types::{Cx, SqlError, SqlResult, Value};

/// The values of these columns of a row in stored form; the others are NULL.
pub(crate) fn values_of<'f>(
    columns: &[usize],
    info: &TableInfo,
    cx: &EvalCx<'_>,
    field: impl Fn(usize) -> Field<'f>,
) -> Vec<Value<'static>> {
    let zone = &cx.state.vars.time_zone;
    let mut values = vec![Value::Null; info.columns.len()];
    for &column in columns {
        values[column] = info.columns[column].ty.decode(field(column), zone).into_owned();
    }
    values
}

/// Calculates columns and puts them into a row; `values` are those of the columns that the rules look at, and follow.
///
/// # Errors
/// Of the expressions, of storing what they give.
pub(crate) fn calculate<'r>(
    rules: impl Iterator<Item = &'r ValueRule>,
    values: &mut [Value<'static>],
    to: &Store<'_>,
    row: &mut RowBuffer,
    cx: &mut EvalCx<'_>,
) -> SqlResult<()> {
    for rule in rules {
        {
            let tables = [TableRow::Values(values)];
            let look = Row { tables: &tables, ..Row::default() };
            let value = evaluated(rule, to.info, cx, &look)?;
            to.value(rule.column, &value, rule.value.ty(), cx.state, row)?;
        }
        let ty = &to.info.columns[rule.column].ty;
        values[rule.column] =
            ty.decode(row.field(to.info, rule.column), &cx.state.vars.time_zone).into_owned();
    }
    Ok(())
}

/// The value of a column that is calculated. What an index is of is not cut where a strict mode forbids that: 3751.
fn evaluated<'r>(
    rule: &'r ValueRule,
    info: &TableInfo,
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    if !info.columns[rule.column].functional || !cx.state.vars.sql_mode.is_strict() {
        return rule.value.eval(cx, row);
    }
    /// What a value that is cut is warned of.
    const CUT: [u16; 4] = [1265, 1292, 1366, 1406];
    let before = cx.state.warnings.refuse(true);
    let done = rule.value.eval(cx, row);
    match cx.state.warnings.end_refusing(before, done) {
        Err(e) if CUT.contains(&e.code) => {}
        done => return done,
    }
    let is_of = |key: &&KeyInfo| key.parts.iter().any(|part| part.column == rule.column);
    let key = info.keys.iter().find(is_of).map_or("", |key| key.name.as_str());
    Err(SqlError::new(3751, format!("Data truncated for functional index '{key}' at row 1")))
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

/// A generated column takes no value but DEFAULT. Without a strict mode one is not taken, with a warning when it comes: programs that
/// dump tables without knowing of generated columns turn that off.
///
/// # Errors
/// 3105.
pub(crate) fn refuse_given(info: &TableInfo, column: usize, state: &SessionState) -> SqlResult<()> {
    if state.vars.sql_mode.is_strict() { refuse_value(info, column) } else { Ok(()) }
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

/// A column of a row that is copied, calculated; `None` is NULL.
pub type Calculated = (usize, Option<Vec<u8>>);

/// Makes a row complete that is copied, and holds it against the constraints: what is calculated of it, generated columns and
/// those defaults that `new` names. `field` gives the stored form of the others.
///
/// # Errors
/// 3819; those of the expressions, of storing what they give.
pub fn complete_row<'f>(
    rules: &TableRules,
    info: &TableInfo,
    new: &[usize],
    mode: StoreMode,
    cx: &mut EvalCx<'_>,
    field: impl Fn(usize) -> Field<'f>,
) -> SqlResult<Vec<Calculated>> {
    let mut values = values_of(&rules.columns, info, cx, field);
    let mut made = Vec::new();
    for rule in rules.values.iter().filter(|rule| !rule.is_default || new.contains(&rule.column)) {
        let column = &info.columns[rule.column];
        let mut bytes = Vec::new();
        let there = {
            let tables = [TableRow::Values(&values)];
            let look = Row { tables: &tables, ..Row::default() };
            let value = evaluated(rule, info, cx, &look)?;
            let mut convert = Cx {
                date: cx.state.date_context(),
                time_zone: &cx.state.vars.time_zone,
                warnings: &mut cx.state.warnings,
            };
            store(&column.ty, &column.name, &value, rule.value.ty(), mode, &mut convert, &mut bytes)?
        };
        let bytes = there.then_some(bytes);
        values[rule.column] = column.ty.decode(bytes.as_deref(), &cx.state.vars.time_zone).into_owned();
        made.push((rule.column, bytes));
    }
    refused(&rules.checks, |_| true, &values, cx)?.map_or(Ok(made), Err)
}
