//! Values of SQL as values within documents.

use super::EvalCx;
use super::node::{Expr, Node};
use super::row::Row;
use std::borrow::Cow;
use vaquita_types::json::{self, Json};
use vaquita_types::{Kind, SqlError, SqlResult, SqlType, Value, memory};

/// `utf8mb4_bin`, of the text of documents.
const TEXT_COLLATION: u16 = 46;

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

/// An argument as a document; `None` for NULL.
///
/// # Errors
/// 3141 text that is no JSON, 3144 bytes, 3146 anything else.
pub fn document_of<'r>(
    arg: &'r Expr,
    no: usize,
    name: &str,
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Option<Cow<'r, [u8]>>> {
    match arg.eval(cx, row)? {
        Value::Null => Ok(None),
        Value::Json(doc) => Ok(Some(doc)),
        v @ (Value::Bytes(_) | Value::Label { .. }) => {
            cx.state.worked(v.to_text(&arg.ty).len())?;
            let doc = json::from_value(&v, &arg.ty).map_err(|e| in_argument(e, no, name))?;
            Ok(Some(Cow::Owned(doc)))
        }
        Value::Bit { .. } if arg.ty.kind.is_string() => Err(SqlError::of(3144, &[&"binary"])),
        _ => Err(SqlError::of(3146, &[&no, &name])),
    }
}

/// A scalar within a document as a value of SQL and its type, to be converted to another one; `as_text`: that is text. `None` for
/// objects and arrays.
///
/// # Errors
/// As [`memory::reserve`].
pub fn scalar_of(
    found: &json::binary::Node<'_>,
    as_text: bool,
) -> SqlResult<Option<(Value<'static>, SqlType)>> {
    use json::binary::Node;
    let text = |bytes: Vec<u8>| (Value::owned(bytes), SqlType::varchar(512, TEXT_COLLATION));
    Ok(Some(match found {
        Node::Array(_) | Node::Object(_) => return Ok(None),
        Node::Null => (Value::Null, SqlType::bigint(false)),
        Node::Text(t) => text(memory::copied(t)?),
        _ if as_text => {
            let mut out = Vec::new();
            json::push_unquoted(found, &mut out)?;
            text(out)
        }
        Node::Bool(v) => (Value::bool(*v), SqlType::bigint(false)),
        Node::Int(v) => (Value::Int(*v), SqlType::bigint(false)),
        Node::UInt(v) => (Value::UInt(*v), SqlType::bigint(true)),
        Node::Double(v) => (Value::Double(*v), SqlType::double()),
        Node::Decimal(v) => (Value::Decimal(*v), SqlType::decimal(65, v.scale())),
        Node::Opaque(_, t) => text(memory::copied(t)?),
    }))
}

/// The value of an expression within a document.
///
/// # Errors
/// Of evaluating it.
pub(crate) fn value_of(arg: &Expr, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Json> {
    let v = arg.eval(cx, row)?;
    Ok(match v {
        Value::Int(v) if arg.info.truth => Json::Bool(v != 0),
        v => match json::tree_of(&v, &arg.ty)? {
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
    let text = if arg.ty.kind.is_string() { json::in_utf8(&text, &arg.ty)? } else { text };
    if text.len() > 0xFFFF {
        return Err(SqlError::of(3151, &[]));
    }
    Ok(text.into_owned())
}

/// A tree as a value of SQL.
pub(crate) fn finished(tree: Json) -> SqlResult<Value<'static>> {
    Ok(Value::Json(Cow::Owned(tree.to_document()?)))
}
