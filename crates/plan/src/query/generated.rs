//! Expressions of a query that an index is of: a generated column, or the hidden one of a functional index, has their values.
//!
//! An operand of a comparison that is such an expression is taken for the column, and so is what rows are ordered or grouped by. The
//! types must be such that the column has the values of the expression as they are.

use super::block::compile_column;
use super::names::BlockScope;
use crate::planner::Known;
use crate::rules::compile_in_slot;
use crate::tree::{BlockPlan, OrderKey, SortValue, Source};
use vaquita_catalog::TableInfo;
use vaquita_expr::{CompileCx, Expr, Node};
use vaquita_types::{Kind, SqlResult, SqlType, Value};

/// A column that is calculated and that an index begins with, or has.
#[derive(Debug)]
pub(super) struct Indexed {
    slot: usize,
    column: usize,
    /// The expressions whose values it has.
    values: Vec<Expr>,
}

/// Those of the tables of a block.
///
/// # Errors
/// An expression that is not understood any more.
pub(super) fn of_block(scope: &BlockScope<'_, '_>, cx: &mut CompileCx<'_>) -> SqlResult<Vec<Indexed>> {
    let mut list = Vec::new();
    for (slot, table) in scope.slots.iter().enumerate() {
        let Source::Stored(info) = &table.source else { continue };
        for column in indexed(info) {
            let Some(generated) = &info.columns[column].generated else { continue };
            let place = (slot as u16, table.nullable.get());
            let whole = compile_in_slot(&generated.clause, &info.definition, place, cx)?;
            let ty = info.columns[column].sql_type();
            let mut values = vec![whole.clone()];
            values.extend(text_of_document(&whole).cloned());
            values.retain(|value| has_values(ty, value.ty()));
            list.push(Indexed { slot, column, values });
        }
    }
    Ok(list)
}

/// A key on text of a document is declared as `CAST(doc->>'path' AS CHAR(n))`, perhaps with a collation: it has the text, for rows
/// whose text is longer are refused.
fn text_of_document(of: &Expr) -> Option<&Expr> {
    let Node::Call(call) = of.node() else { return None };
    match (call.name, &call.args[..]) {
        ("json_unquote", _) => Some(of),
        ("cast" | "convert" | "collate", [inner]) => text_of_document(inner),
        _ => None,
    }
}

fn indexed(info: &TableInfo) -> impl Iterator<Item = usize> {
    let generated = (0..info.columns.len()).filter(|&c| info.columns[c].generated.is_some());
    generated.filter(|&c| {
        let mut keys = info.keys.iter().filter(|key| !key.invisible);
        keys.any(|key| key.parts.iter().any(|part| part.column == c && part.prefix.is_none()))
    })
}

/// Whether a column of one type has the values of an expression of another as they are.
fn has_values(column: &SqlType, value: &SqlType) -> bool {
    let number = |kind: Kind| matches!(kind, Kind::Double | Kind::Decimal);
    if column.kind.is_integer() {
        return value.kind.is_integer() && column.unsigned == value.unsigned;
    }
    if column.kind.is_string() {
        return value.kind.is_string() && column.collation == value.collation;
    }
    column.kind == value.kind
        && column.decimals >= value.decimals
        && (number(column.kind)
            || matches!(column.kind, Kind::Date | Kind::Time | Kind::DateTime | Kind::Year))
}

/// Takes operands of conditions for the columns that have their values.
///
/// # Errors
/// None of its own.
pub(super) fn put_in(
    list: &[Indexed],
    conditions: &mut Vec<Expr>,
    scope: &BlockScope<'_, '_>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<()> {
    if list.is_empty() {
        return Ok(());
    }
    let mut failed = None;
    let params = scope.planner.known();
    let mut replace = |operand: &Expr| {
        let found = list.iter().find(|i| i.values.iter().any(|value| alike(operand, value, params)))?;
        let table = &scope.slots[found.slot];
        if !table.used.borrow()[found.column] {
            table.substituted.borrow_mut().push(found.column);
        }
        compile_column(scope, found.slot, found.column, cx).map_err(|e| failed = Some(e)).ok()
    };
    for condition in std::mem::take(conditions) {
        conditions.push(condition.with_operands(&mut replace));
    }
    failed.map_or(Ok(()), Err)
}

/// The column that has the values that rows are sorted by.
pub(super) fn column_of_key(
    list: &[Indexed],
    block: &BlockPlan,
    key: &OrderKey,
    params: Known<'_>,
) -> Option<(usize, usize)> {
    let expr = match &key.value {
        SortValue::Item(at) => block.items.get(*at)?,
        SortValue::Expr(expr) => expr,
    };
    let found = list.iter().find(|i| i.values.first().is_some_and(|value| alike(expr, value, params)))?;
    Some((found.slot, found.column))
}

/// Whether an expression of a query is one that is kept with a table. Literals that were lifted out of the text count with their
/// values.
fn alike(query: &Expr, kept: &Expr, params: Known<'_>) -> bool {
    let all =
        |a: &[Expr], b: &[Expr]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b, params));
    match (query.node(), kept.node()) {
        (Node::Const(a), Node::Const(b)) => is_same(a, b),
        (Node::Param(a), Node::Const(b)) => params.is(*a, |a| is_same(a, b)),
        (
            Node::Column { level: 0, table, column, .. },
            Node::Column { level: 0, table: of_kept, column: kept, .. },
        ) => (table, column) == (of_kept, kept),
        (Node::And(a), Node::And(b)) | (Node::Or(a), Node::Or(b)) => all(a, b),
        (Node::Not(a), Node::Not(b)) => alike(a, b, params),
        (Node::Compare { op, sides, .. }, Node::Compare { op: kept, sides: of_kept, .. }) => {
            op == kept && all(&sides[..], &of_kept[..])
        }
        (Node::Between { negated, args, .. }, Node::Between { negated: kept, args: of_kept, .. }) => {
            negated == kept && all(&args[..], &of_kept[..])
        }
        (Node::In(a), Node::In(b)) => {
            a.negated == b.negated && alike(&a.operand, &b.operand, params) && all(&a.list, &b.list)
        }
        (Node::IsNull { operand, negated }, Node::IsNull { operand: of_kept, negated: kept }) => {
            negated == kept && alike(operand, of_kept, params)
        }
        (Node::Like(a), Node::Like(b)) => {
            (a.negated, a.escape, a.collation) == (b.negated, b.escape, b.collation) && all(&a.args, &b.args)
        }
        (Node::Call(x), Node::Call(y)) => {
            let (a, b) = (query.ty(), kept.ty());
            x.name == y.name
                && (a.kind, a.unsigned, a.decimals, a.collation)
                    == (b.kind, b.unsigned, b.decimals, b.collation)
                && (!a.kind.is_string() || a.length == b.length)
                && x.is_prepared_like(y)
                && all(&x.args, &y.args)
        }
        _ => false,
    }
}

/// Whether two constants are one value.
fn is_same(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (&Value::Int(a), &Value::UInt(b)) | (&Value::UInt(b), &Value::Int(a)) => u64::try_from(a) == Ok(b),
        _ => a == b,
    }
}
