//! Values of SQL as values within documents.

use super::EvalCx;
use super::node::{Expr, Node};
use super::row::Row;
use std::borrow::Cow;
use vaquita_types::json::{self, Json};
use vaquita_types::{Kind, SqlError, SqlResult, Value};

/// Type code of VARBINARY columns within documents.
const VARBINARY: u8 = 15;

/// An error of reading text as a document, as one of an argument (from 1).
pub(crate) fn in_argument(e: SqlError, no: usize, name: &str) -> SqlError {
    match (e.code, e.message.strip_prefix("Invalid JSON text")) {
        (3140, Some(rest)) => {
            SqlError::new(3141, format!("Invalid JSON text in argument {no} to function {name}{rest}"))
        }
        _ => e,
    }
}

/// The value of an expression within a document.
///
/// # Errors
/// Of evaluating it.
pub(crate) fn value_of(arg: &Expr, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Json> {
    let v = arg.eval(cx, row)?;
    Ok(match v {
        Value::Int(v) if arg.info.truth => Json::Bool(v != 0),
        v => match json::tree_of(&v, &arg.ty) {
            Json::Opaque(_, bytes)
                if arg.ty.kind == Kind::VarChar && matches!(arg.node, Node::Column { .. }) =>
            {
                Json::Opaque(VARBINARY, bytes)
            }
            tree => tree,
        },
    })
}

/// CAST(x AS JSON): text is parsed.
pub(crate) fn eval_cast<'r>(
    _: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let arg = &args[0];
    match arg.eval(cx, row)? {
        Value::Null => Ok(Value::Null),
        Value::Json(doc) => Ok(Value::Json(doc)),
        v @ (Value::Bytes(_) | Value::Label { .. }) => {
            let text = v.to_text(&arg.ty);
            cx.state.worked(text.len())?;
            let doc = json::from_value(&v, &arg.ty).map_err(|e| in_argument(e, 1, "cast_as_json"))?;
            Ok(Value::Json(Cow::Owned(doc)))
        }
        _ => value_of(arg, cx, row).and_then(finished),
    }
}

/// The key of a member: text in UTF-8.
///
/// # Errors
/// 3158 NULL, 3151 too long.
pub(crate) fn key_of(arg: &Expr, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Vec<u8>> {
    let Some(text) = arg.text(cx, row)? else { return Err(SqlError::of(3158, &[])) };
    let text = if arg.ty.kind.is_string() { json::in_utf8(&text, &arg.ty) } else { text };
    if text.len() > 0xFFFF {
        return Err(SqlError::of(3151, &[]));
    }
    Ok(text.into_owned())
}

/// A tree as a value of SQL.
pub(crate) fn finished(tree: Json) -> SqlResult<Value<'static>> {
    Ok(Value::Json(Cow::Owned(tree.into_document()?)))
}
