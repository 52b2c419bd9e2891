//! Subqueries in expressions: compiled, evaluated.

use super::node::{CmpOp, CompareAs, Derivation, Expr, Node, SubqueryNode, SubqueryUse};
use super::query::{CompiledSubquery, Conversion};
use super::row::{Row, TableRow};
use super::scope::CompileCx;
use super::{EvalCx, eval};
use smallvec::SmallVec;
use vaquita_types::{SqlError, SqlResult, SqlType, Value};

impl SubqueryNode {
    /// Its value: of a scalar subquery that of its row, of the others their truth.
    pub(super) fn eval<'r>(
        &'r self,
        e: &'r Expr,
        cx: &mut EvalCx<'_>,
        row: &'r Row<'r>,
    ) -> SqlResult<Value<'r>> {
        let _ = e;
        Ok(match &self.usage {
            SubqueryUse::Scalar { column } => self.scalar(*column, cx, row)?,
            SubqueryUse::Exists => {
                let mut found = false;
                self.query.plan.rows(cx, row, &mut |_, _| {
                    found = true;
                    Ok(false)
                })?;
                Value::bool(found)
            }
            SubqueryUse::Any { op, how } => {
                self.quantified(*op, how, true, cx, row)?.map_or(Value::Null, Value::bool)
            }
            SubqueryUse::All { op, how } => {
                self.quantified(*op, how, false, cx, row)?.map_or(Value::Null, Value::bool)
            }
        })
    }

    fn scalar(&self, column: usize, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Value<'static>> {
        let mut result = None;
        self.query.plan.rows(cx, row, &mut |cx, values| {
            if result.is_some() {
                let error = SqlError::new(1242, "Subquery returns more than 1 row");
                if !cx.state.subqueries.ignore {
                    return Err(error);
                }
                cx.state.warnings.push(vaquita_types::Level::Warning, error.code, error.message);
                result = None;
                return Ok(false);
            }
            let value = values.get(column).map_or(Value::Null, Value::borrowed);
            result = Some(vaquita_types::memory::into_owned(value)?);
            Ok(true)
        })?;
        Ok(result.unwrap_or_default())
    }

    /// ANY (`any`) or ALL: the first row that decides ends it; a NULL makes the rest unknown.
    fn quantified(
        &self,
        op: CmpOp,
        how: &[CompareAs],
        any: bool,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
    ) -> SqlResult<Option<bool>> {
        let left: Vec<Value<'_>> = self.left.iter().map(|e| e.eval(cx, row)).collect::<SqlResult<_>>()?;
        let is_in = (any && op == CmpOp::Eq) || (!any && op == CmpOp::Ne);
        let conversion = |cx: &mut EvalCx<'_>, values: &[Value<'_>]| {
            let tables = [TableRow::Values(values)];
            let of_values = Row { tables: &tables, params: row.params, ..Row::default() };
            self.right.first().map_or(Ok(Value::Null), |e| Ok(e.eval(cx, &of_values)?.into_owned()))
        };
        let conversion: Option<&Conversion<'_>> = (!self.right.is_empty()).then_some(&conversion);
        if is_in && let Some(found) = self.query.plan.contains(cx, row, &left, (how, conversion))? {
            return Ok(found.map(|found| found == any));
        }
        let mut result = Some(!any);
        self.query.plan.rows(cx, row, &mut |cx, values| {
            let tables = [TableRow::Values(values)];
            let of_values = Row { tables: &tables, params: row.params, ..Row::default() };
            let converted = self.right.iter().map(|e| e.eval(cx, &of_values));
            let converted: SmallVec<[Value<'_>; 2]> = converted.collect::<SqlResult<_>>()?;
            let values = if converted.is_empty() { values } else { &converted[..] };
            match compare_rows(op, how, &left, values, cx) {
                Some(holds) if holds == any => {
                    result = Some(any);
                    return Ok(false);
                }
                None => result = None,
                Some(_) => {}
            }
            Ok(true)
        })?;
        Ok(result)
    }
}

/// `left op right` for rows of values: of several columns only `=` and `<>` are asked, by IN and NOT IN.
fn compare_rows(
    op: CmpOp,
    how: &[CompareAs],
    left: &[Value<'_>],
    right: &[Value<'_>],
    cx: &mut EvalCx<'_>,
) -> Option<bool> {
    if let ([left], [right], [how]) = (left, right, how) {
        return eval::apply(op, *how, left, right, cx);
    }
    let mut equal = Some(true);
    for ((left, right), how) in left.iter().zip(right).zip(how) {
        match eval::compare(*how, left, right, cx) {
            Some(order) if order.is_ne() => return Some(op == CmpOp::Ne),
            None => equal = None,
            Some(_) => {}
        }
    }
    equal.map(|equal| equal == (op == CmpOp::Eq))
}

/// How a subquery is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Scalar,
    Exists,
    Any(CmpOp),
    All(CmpOp),
}

/// A subquery as an expression; `what`: as messages call the comparison.
///
/// # Errors
/// 1241 wrong number of columns.
pub(super) fn node(
    cx: &mut CompileCx<'_>,
    form: Form,
    what: &'static str,
    left: Option<Expr>,
    query: CompiledSubquery,
) -> SqlResult<Expr> {
    let mut left = match left {
        None => Vec::new(),
        Some(Expr { node: Node::Row(list), .. }) => list.into_vec(),
        Some(e) => vec![e],
    };
    let wanted = left.len().max(1);
    let is_in = matches!(form, Form::Any(CmpOp::Eq) | Form::All(CmpOp::Ne));
    if left.len() > 1 && !is_in {
        return Err(super::compare::wrong_columns(1));
    }
    if form != Form::Exists && query.columns.len() != wanted {
        return Err(super::compare::wrong_columns(wanted));
    }
    let mut how = Vec::with_capacity(left.len());
    let mut right = Vec::with_capacity(left.len());
    for (i, (e, ty)) in (0..).zip(left.iter_mut().zip(query.columns.iter())) {
        let mut column = Expr::column_of_type(i, ty.clone());
        how.push(super::compare::compare_as(cx, what, e, &mut column)?);
        let is_converted = ty.kind.is_string() && !matches!(column.node, Node::Column { .. });
        right.push(if is_converted { column } else { Expr::column_of_type(i, ty.clone()) });
    }
    if right.iter().all(|e| matches!(e.node, Node::Column { .. })) {
        right.clear();
    }
    let how: Box<[CompareAs]> = how.into();
    let mut ty = match (form, query.columns.first()) {
        (Form::Scalar, Some(ty)) => ty.clone(),
        _ => super::build::int_type(1),
    };
    ty.nullable = form != Form::Exists;
    let truth = form != Form::Scalar;
    let usage = match form {
        Form::Scalar => SubqueryUse::Scalar { column: 0 },
        Form::Exists => SubqueryUse::Exists,
        Form::Any(op) => SubqueryUse::Any { op, how },
        Form::All(op) => SubqueryUse::All { op, how },
    };
    let text = ty.kind.is_string();
    let info = super::node::Info {
        derivation: if text { Derivation::Implicit } else { Derivation::Numeric },
        ascii: !text,
        constness: query.constness.max(super::node::Constness::Execution),
        tables: query.outer_tables,
        has_subquery: true,
        has_aggregate: false,
        truth,
        quiet: true,
    };
    let node =
        Node::Subquery(Box::new(SubqueryNode { query, usage, left: left.into(), right: right.into() }));
    Ok(cx.node(node, ty, info))
}

/// The one row of a subquery of several columns, as a row of values; each is found by itself.
pub(super) fn row(cx: &mut CompileCx<'_>, query: &CompiledSubquery) -> Expr {
    let one = |(column, ty): (usize, &SqlType)| {
        let text = ty.kind.is_string();
        let info = super::node::Info {
            derivation: if text { Derivation::Implicit } else { Derivation::Numeric },
            ascii: !text,
            constness: query.constness.max(super::node::Constness::Execution),
            tables: query.outer_tables,
            has_subquery: true,
            quiet: true,
            ..super::node::Info::CONST
        };
        let usage = SubqueryUse::Scalar { column };
        let node = SubqueryNode { query: query.clone(), usage, left: Box::default(), right: Box::default() };
        cx.node(Node::Subquery(Box::new(node)), SqlType { nullable: true, ..ty.clone() }, info)
    };
    super::compare::row(query.columns.iter().enumerate().map(one).collect())
}

impl Expr {
    /// A column of a subquery, whose row is the only table.
    fn column_of_type(column: u16, ty: SqlType) -> Expr {
        Expr::column(super::ResolvedColumn { level: 0, table: 0, column, ty })
    }
}
