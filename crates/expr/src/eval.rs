//! Evaluation of the forms that have a node of their own.

use super::node::{CmpOp, Constness, Expr, InList, Like, Node, Sorted};
use super::row::{ColumnMap, Row, TableRow};
use super::{EvalCx, env};
use std::borrow::Cow;
use std::cmp::Ordering;
use vaquita_engine::RowRef;
use vaquita_engine::text::collation::Collation;
use vaquita_types::compare::CompareAs;
use vaquita_types::number::parse_f64;
use vaquita_types::{Kind, SqlError, SqlResult, Value};

/// A text from this length on takes so long to make that it counts as work.
const LONG: usize = 4 << 10;

/// Whether all conditions are true.
///
/// # Errors
/// Of evaluating them.
#[inline]
pub fn all_true(conditions: &[Expr], cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<bool> {
    for condition in conditions {
        if condition.eval_bool(cx, row)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Expr {
    /// Its value for a row.
    ///
    /// # Errors
    /// Of functions and operators; a subquery where none can run.
    pub fn eval<'r>(&'r self, cx: &mut EvalCx<'_>, row: &'r Row<'r>) -> SqlResult<Value<'r>> {
        match &self.node {
            Node::Const(v) => Ok(v.borrowed()),
            Node::Param(i) => Ok(row.params.get(*i as usize).map_or(Value::Null, Value::borrowed)),
            Node::Column { level, table, column, .. } => column_value(*level, *table, *column, cx, row),
            Node::Aggregate(i) => Ok(row.aggregates.get(*i as usize).map_or(Value::Null, Value::borrowed)),
            Node::Window(i) => {
                let at = row.aggregates.len().checked_sub(*i as usize + 1);
                Ok(at.map_or(Value::Null, |at| row.aggregates[at].borrowed()))
            }
            Node::Call(call) => {
                let value = (call.eval)(self, &call.args, cx, row)?;
                if let Value::Bytes(Cow::Owned(bytes)) = &value
                    && bytes.len() >= LONG
                {
                    cx.state.worked(bytes.len())?;
                }
                Ok(value)
            }
            Node::Row(_) => Err(SqlError::new(1241, "Operand should contain 1 column(s)")),
            Node::Subquery(sub) => sub.eval(self, cx, row),
            _ => Ok(self.eval_bool(cx, row)?.map_or(Value::Null, Value::bool)),
        }
    }

    /// Its truth for a row: `None` is unknown.
    ///
    /// # Errors
    /// As [`Expr::eval`].
    pub fn eval_bool(&self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<bool>> {
        match &self.node {
            Node::And(list) => {
                let mut all = Some(true);
                for e in list {
                    match e.eval_bool(cx, row)? {
                        Some(false) => return Ok(Some(false)),
                        None => all = None,
                        Some(true) => {}
                    }
                }
                Ok(all)
            }
            Node::Or(list) => {
                let mut any = Some(false);
                for e in list {
                    match e.eval_bool(cx, row)? {
                        Some(true) => return Ok(Some(true)),
                        None => any = None,
                        Some(false) => {}
                    }
                }
                Ok(any)
            }
            Node::Not(e) => Ok(e.eval_bool(cx, row)?.map(|truth| !truth)),
            Node::Compare { op, how: CompareAs::DateTime, sides } if let Some(at) = known_text(sides) => {
                let known = sides[at].eval_ahead(cx, row)?;
                let other = sides[1 - at].eval(cx, row)?;
                // A date that was chosen has it evaluated once more.
                let known = match sides[1 - at].is_choice() && !other.is_null() {
                    true => sides[at].eval(cx, row)?,
                    false => known,
                };
                let (left, right) = if at == 0 { (&known, &other) } else { (&other, &known) };
                Ok(apply(*op, CompareAs::DateTime, left, right, cx))
            }
            Node::Compare { op, how, sides } => {
                let left = sides[0].eval(cx, row)?;
                if left.is_null() && *op != CmpOp::NullSafeEq {
                    return Ok(None);
                }
                let right = sides[1].eval(cx, row)?;
                let (left, right) = (sides[0].compared(*how, left), sides[1].compared(*how, right));
                Ok(apply(*op, *how, &left, &right, cx))
            }
            Node::Between { how, negated, args } => between(*how, *negated, args, cx, row),
            Node::In(list) => in_list(list, cx, row),
            Node::IsNull { operand, negated: false } if operand.info.constness < Constness::Row => {
                Ok(Some(operand.eval_ahead(cx, row)?.is_null()))
            }
            Node::IsNull { operand, negated } => Ok(Some(operand.eval(cx, row)?.is_null() != *negated)),
            Node::Like(like) => eval_like(like, cx, row),
            _ => {
                let v = self.eval(cx, row)?;
                Ok(match v {
                    Value::Null => None,
                    Value::Int(v) => Some(v != 0),
                    v => match self.quiet_text(&v) {
                        Some(text) => Some(parse_f64(text).value != 0.0),
                        None => v.to_bool(&mut cx.convert()),
                    },
                })
            }
        }
    }
}

impl Expr {
    /// The value of what MySQL evaluates before rows change, while it resolves names: what that warns of is no error under strict mode
    /// either.
    fn eval_ahead<'r>(&'r self, cx: &mut EvalCx<'_>, row: &'r Row<'r>) -> SqlResult<Value<'r>> {
        let before = cx.state.warnings.refuse(false);
        let value = self.eval(cx, row);
        cx.state.warnings.refuse(before);
        value
    }
}

/// The side of a comparison that is a calculated text, the same for all rows, beside a date: it is evaluated ahead, and also if the date
/// is NULL.
fn known_text(sides: &[Expr; 2]) -> Option<usize> {
    let is_known = |e: &Expr| {
        e.ty.kind.is_string() && e.info.constness < Constness::Row && matches!(e.node, Node::Call(_))
    };
    let is_date = |e: &Expr| matches!(e.ty.kind, Kind::Date | Kind::DateTime | Kind::Timestamp);
    (0..2).find(|&at| is_known(&sides[at]) && is_date(&sides[1 - at]))
}

fn column_value<'r>(
    level: u16,
    table: u16,
    column: u16,
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let mut at = row;
    for _ in 0..level {
        match at.outer {
            Some(outer) => at = outer,
            None => return Ok(Value::Null),
        }
    }
    match at.tables.get(usize::from(table)) {
        Some(TableRow::Stored { row, map }) => stored_value(row, map, usize::from(column), cx),
        Some(TableRow::Values(values)) => {
            Ok(values.get(usize::from(column)).map_or(Value::Null, Value::borrowed))
        }
        Some(TableRow::None | TableRow::Null) | None => Ok(Value::Null),
    }
}

/// A column of a row in place; one whose value goes on off the page is read into bytes of its own.
fn stored_value<'r>(
    row: &'r RowRef<'r>,
    map: &'r ColumnMap,
    column: usize,
    cx: &mut EvalCx<'_>,
) -> SqlResult<Value<'r>> {
    let (Some(ty), Some(&at)) = (map.types.get(column), map.fetched.get(column)) else {
        return Ok(Value::Null);
    };
    if at == ColumnMap::NOT_FETCHED {
        debug_assert!(false, "column {column} was not asked for");
        return Ok(Value::Null);
    }
    let at = usize::from(at);
    if row.is_off_page(at) {
        let mut whole = Vec::new();
        vaquita_types::memory::reserve(&mut whole, row.whole_len(at))?;
        row.read_column(at, &mut whole).map_err(engine_error)?;
        return Ok(match ty.ty.kind {
            Kind::Json => Value::Json(Cow::Owned(whole)),
            _ => Value::Bytes(Cow::Owned(whole)),
        });
    }
    Ok(ty.decode(row.column(at), env::time_zone(cx.state)))
}

/// An error of the engine where a row is looked at: nothing but damage can happen there.
fn engine_error(e: vaquita_engine::Error) -> SqlError {
    SqlError::new(1030, format!("Got error from storage engine: {e}"))
}

/// The truth of a comparison.
#[inline]
pub(super) fn apply(
    op: CmpOp,
    how: CompareAs,
    left: &Value<'_>,
    right: &Value<'_>,
    cx: &mut EvalCx<'_>,
) -> Option<bool> {
    if op == CmpOp::NullSafeEq && (left.is_null() || right.is_null()) {
        return Some(left.is_null() && right.is_null());
    }
    compare(how, left, right, cx).map(|order| op.holds(order))
}

/// The order of two values, `None` if one is NULL.
#[inline]
pub(super) fn compare(
    how: CompareAs,
    left: &Value<'_>,
    right: &Value<'_>,
    cx: &mut EvalCx<'_>,
) -> Option<Ordering> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) if let CompareAs::Text(id) = how => {
            Some(vaquita_engine::text::collation::compare(id, a, b))
        }
        _ => how.compare(left, right, &mut cx.convert()),
    }
}

impl CmpOp {
    /// Whether it holds for values of that order.
    #[inline]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            CmpOp::Eq | CmpOp::NullSafeEq => order.is_eq(),
            CmpOp::Ne => order.is_ne(),
            CmpOp::Lt => order.is_lt(),
            CmpOp::Le => order.is_le(),
            CmpOp::Gt => order.is_gt(),
            CmpOp::Ge => order.is_ge(),
        }
    }

    /// The operator with its sides exchanged.
    #[must_use]
    pub fn swapped(self) -> CmpOp {
        match self {
            CmpOp::Lt => CmpOp::Gt,
            CmpOp::Le => CmpOp::Ge,
            CmpOp::Gt => CmpOp::Lt,
            CmpOp::Ge => CmpOp::Le,
            same => same,
        }
    }

    /// The operator that holds where this one does not, NULLs aside; none of `<=>`.
    pub fn negated(self) -> Option<CmpOp> {
        Some(match self {
            CmpOp::Eq => CmpOp::Ne,
            CmpOp::Ne => CmpOp::Eq,
            CmpOp::Lt => CmpOp::Ge,
            CmpOp::Le => CmpOp::Gt,
            CmpOp::Gt => CmpOp::Le,
            CmpOp::Ge => CmpOp::Lt,
            CmpOp::NullSafeEq => return None,
        })
    }
}

/// `NULL` only where the other bound does not decide.
fn between(
    how: CompareAs,
    negated: bool,
    args: &[Expr; 3],
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
) -> SqlResult<Option<bool>> {
    let v = args[0].eval(cx, row)?;
    if v.is_null() {
        return Ok(None);
    }
    let v = args[0].compared(how, v);
    let low = args[1].compared(how, args[1].eval(cx, row)?);
    let low = compare(how, &v, &low, cx).map(Ordering::is_ge);
    let high = args[2].compared(how, args[2].eval(cx, row)?);
    let high = compare(how, &v, &high, cx).map(Ordering::is_le);
    let within = match (low, high) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    };
    Ok(within.map(|truth| truth != negated))
}

fn in_list(list: &InList, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<bool>> {
    let v = list.operand.eval(cx, row)?;
    if v.is_null() {
        return Ok(None);
    }
    if let Some(Sorted { values, has_null }) = &list.sorted
        && let Some(found) = values.contain(&v)
    {
        return Ok(if !found && *has_null { None } else { Some(found != list.negated) });
    }
    let mut unknown = false;
    for (candidate, how) in list.list.iter().zip(&list.how) {
        let candidate = candidate.compared(*how, candidate.eval(cx, row)?);
        let v = list.operand.compared(*how, v.borrowed());
        match compare(*how, &v, &candidate, cx) {
            Some(Ordering::Equal) => return Ok(Some(!list.negated)),
            None => unknown = true,
            Some(_) => {}
        }
    }
    Ok(if unknown { None } else { Some(list.negated) })
}

fn eval_like(like: &Like, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<bool>> {
    let Some(text) = like.args[0].text(cx, row)? else { return Ok(None) };
    let Some(pattern) = like.args[1].text(cx, row)? else { return Ok(None) };
    let collation = Collation::of(like.collation).unwrap_or(Collation::BINARY);
    Ok(Some(collation.like(&text, &pattern, like.escape) != like.negated))
}
