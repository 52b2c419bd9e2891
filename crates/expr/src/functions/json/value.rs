//! JSON_VALUE.

use super::super::{arg, evals};
use super::{Args, node};
use crate::build::{Collated, New};
use crate::document::scalar_of;
use crate::node::{Data, Expr, Instead, JsonValue};
use crate::scope::CompileCx;
use crate::{EvalCx, Row, cast};
use vaquita_types::convert::cast::{Target, cast as cast_value};
use vaquita_types::json::binary::Node;
use vaquita_types::{SqlError, SqlResult, SqlType, Value};

/// `JSON_VALUE(doc, path RETURNING .. ON EMPTY .. ON ERROR)`: `args` are the document, the path and the defaults.
pub(crate) fn json_value(
    cx: &mut CompileCx<'_>,
    args: Vec<Expr>,
    target: Target,
    [on_empty, on_error]: [Instead; 2],
) -> Expr {
    let from = SqlType::varchar(512, Collated::DOCUMENT.collation);
    let ty = target.result_type(&from);
    let text = ty.kind.is_string();
    let by = Collated { collation: ty.collation, ..Collated::DOCUMENT };
    let data = Data::JsonValue(Box::new(JsonValue { target, on_empty, on_error }));
    let new = New::call("json_value", ty, args, eval_json_value).data(data).nullable();
    if text { new.collated(by).build(cx) } else { new.build(cx) }
}

evals! {
    eval_json_value(e, args, cx, row) {
        let Data::JsonValue(of) = e.data() else { return Ok(Value::Null) };
        let list = Args::of(e, args, row);
        let doc = match list.document(0, cx) {
            Ok(doc) => arg!(Ok::<_, SqlError>(doc)),
            Err(_) if of.on_error != Instead::Error => return instead(of.on_error, of, args, cx, row),
            Err(e) => return Err(e),
        };
        let path = arg!(list.path(1, cx));
        let found = path.seek(node(&doc))?;
        let (found, missing) = match &found[..] {
            [] if of.on_empty != Instead::Error => return instead(of.on_empty, of, args, cx, row),
            [] => return Err(SqlError::new(3966, "No value was found by 'json_value' on the specified path.")),
            [one] => (Some(*one), None),
            _ => {
                let text = "More than one value was found by 'json_value' on the specified path.";
                (None, Some(SqlError::new(3967, text)))
            }
        };
        let value = match (found, missing) {
            (Some(found), _) => typed(&found, &of.target, cx)?,
            (None, error) => Err(error.unwrap_or_else(wrong)),
        };
        match value {
            Ok(v) => Ok(v),
            Err(e) if of.on_error == Instead::Error => Err(e),
            Err(_) => instead(of.on_error, of, args, cx, row),
        }
    }
}

fn wrong() -> SqlError {
    SqlError::new(3156, "Invalid JSON value for CAST to the type of RETURNING")
}

fn instead<'r>(
    what: Instead,
    of: &JsonValue,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let Instead::Argument(i) = what else { return Ok(Value::Null) };
    let v = args[i].eval(cx, row)?;
    if v.is_null() {
        return Ok(v);
    }
    cast_value(&v, args[i].ty(), &of.target, "", &mut cx.convert()).map(Value::into_owned)
}

/// A value within a document as one of that type. The inner error: it is none.
fn typed(
    found: &Node<'_>,
    target: &Target,
    cx: &mut EvalCx<'_>,
) -> SqlResult<Result<Value<'static>, SqlError>> {
    if let Target::Json = target {
        return super::part(found).map(Ok);
    }
    let as_text = matches!(target, Target::Char(..) | Target::Binary(_));
    let Some((v, ty)) = scalar_of(found, as_text)? else { return Ok(Err(wrong())) };
    if v.is_null() {
        return Ok(Ok(v));
    }
    // What would be a warning elsewhere is a value that is none of the type.
    let kept = std::mem::take(&mut cx.state.warnings);
    let done = cast_value(&v, &ty, target, "", &mut cx.convert_text()).map(Value::into_owned);
    let noisy = cx.state.warnings.count() > 0;
    cx.state.warnings = kept;
    let done = done?;
    Ok(if noisy || done.is_null() { Err(wrong()) } else { Ok(done) })
}

/// The type of JSON_VALUE without RETURNING.
pub(crate) fn default_target() -> Target {
    Target::Char(Some(512), Collated::DOCUMENT.collation)
}

/// The type that RETURNING names.
///
/// # Errors
/// As [`cast::target_of`].
pub(crate) fn returning(cx: &mut CompileCx<'_>, to: &vaquita_parser::ast::CastType<'_>) -> SqlResult<Target> {
    let mut none = Expr::null();
    cast::target_of(cx, &mut none, to)
}
