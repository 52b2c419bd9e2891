//! What a block selects, seen by the block that it becomes part of.

use super::build::{Collated, New};
use super::node::{Data, Derivation, Expr, Node};
use super::row::Row;
use super::scope::CompileCx;
use super::{EvalCx, node::EvalFn};
use vaquita_types::{Kind, SqlResult, Value};

/// What a value is to those who name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// A column of a table that is made first: its text has the collation of a column, a DECIMAL the digits of its type.
    AsColumn,
    /// What it is.
    AsItself,
}

/// A value of the row that `row`, a column which has a value in every row of its table, is of. `padded`: an outer join may put a row of
/// NULLs in its place, and the value is NULL then.
pub fn selected(cx: &mut CompileCx<'_>, value: Expr, row: Option<Expr>, padded: bool, seen: Seen) -> Expr {
    let (ty, truth) = (value.ty.clone(), value.info.truth && seen == Seen::AsItself);
    let by = ty.kind.is_string().then(|| Collated {
        collation: ty.collation,
        derivation: if seen == Seen::AsColumn { Derivation::Implicit } else { value.info.derivation },
        ascii: seen == Seen::AsItself && value.info.ascii,
    });
    let nullable = padded || ty.nullable;
    let eval: EvalFn = if seen == Seen::AsColumn { eval_column } else { eval_itself };
    let new = New::call("selected", ty, std::iter::once(value).chain(row).collect(), eval);
    let new = new.data(Data::Number(padded.into()));
    let new = by.into_iter().fold(new, New::collated);
    let mut e = if nullable { new.nullable().build_not_null(cx) } else { new.build_not_null(cx) };
    e.info.truth = truth;
    e
}

impl Expr {
    /// Of what [`selected`] has made: the column of the row, if there may be a row of NULLs.
    pub fn row_selected(&self) -> Option<&Expr> {
        match self.node() {
            Node::Call(call) if call.name == "selected" && self.number() == 1 => call.args.get(1),
            _ => None,
        }
    }

    /// Of what [`selected`] has made: what was selected.
    pub fn value_selected(&self) -> Option<&Expr> {
        match self.node() {
            Node::Call(call) if call.name == "selected" => call.args.first(),
            _ => None,
        }
    }
}

fn is_there<'r>(args: &'r [Expr], cx: &mut EvalCx<'_>, row: &'r Row<'r>) -> SqlResult<bool> {
    args.get(1).map_or(Ok(true), |column| Ok(!column.eval(cx, row)?.is_null()))
}

fn eval_itself<'r>(
    _: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    if is_there(args, cx, row)? { args[0].eval(cx, row) } else { Ok(Value::Null) }
}

fn eval_column<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    if !is_there(args, cx, row)? {
        return Ok(Value::Null);
    }
    let value = args[0].eval(cx, row)?;
    Ok(match (e.ty.kind, value) {
        (_, Value::Null) => Value::Null,
        (Kind::Decimal, _) => return super::convert::convert(e, args, cx, row),
        (Kind::Float, Value::Double(v)) => Value::Float(v as f32),
        (Kind::Bit, Value::UInt(value)) => Value::Bit { value, bytes: e.ty.length.div_ceil(8) as u8 },
        (_, value) => value,
    })
}

/// A value as a column of its type has it, in a table that is made first.
pub fn stored(cx: &mut CompileCx<'_>, value: Expr) -> Expr {
    let is_column = matches!(value.node, Node::Column { .. } | Node::Const(_));
    match value.ty.kind {
        Kind::Decimal | Kind::Float | Kind::Bit if !is_column => {
            selected(cx, value, None, false, Seen::AsColumn)
        }
        _ => value,
    }
}
