//! Values converted to the type of something else.

use super::EvalCx;
use super::build::{Collated, New};
use super::node::Expr;
use super::row::Row;
use super::scope::CompileCx;
use vaquita_types::{Kind, SqlResult, SqlType, Value};

/// The expression with its value converted to that type; itself if the values are alike.
pub fn as_type(cx: &mut CompileCx<'_>, e: Expr, ty: &SqlType) -> Expr {
    let alike = match ty.kind {
        Kind::Null => true,
        Kind::Double => e.ty.kind == Kind::Double,
        Kind::Float => matches!(e.ty.kind, Kind::Float | Kind::Double),
        // Integers and other DECIMALs keep the digits they have.
        Kind::Decimal => e.ty.kind == Kind::Decimal || e.ty.kind.is_integer(),
        Kind::Date => e.ty.kind == Kind::Date,
        Kind::Time => e.ty.kind == Kind::Time,
        Kind::DateTime | Kind::Timestamp => matches!(e.ty.kind, Kind::DateTime | Kind::Timestamp),
        Kind::Bit => e.ty.kind == Kind::Bit,
        Kind::Json => e.ty.kind == Kind::Json,
        kind if kind.is_integer() => e.ty.kind.is_integer(),
        _ => e.ty.kind.is_string(),
    };
    if alike || e.ty.kind == Kind::Null {
        return e;
    }
    let by =
        if ty.kind.is_string() { Some(Collated { collation: ty.collation, ..e.collated(cx) }) } else { None };
    let new = New::call("", SqlType { nullable: false, ..ty.clone() }, vec![e], convert);
    match by {
        Some(by) => new.collated(by).build(cx),
        None => new.build(cx),
    }
}

/// The one argument in the expression's type.
pub(super) fn convert<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let a = &args[0];
    Ok(match e.ty.kind {
        Kind::Float | Kind::Double => a.double(cx, row)?.map_or(Value::Null, Value::Double),
        Kind::Decimal => match a.decimal(cx, row)? {
            Some(v) => Value::Decimal(v.round(e.ty.decimals.into()).unwrap_or(v)),
            None => Value::Null,
        },
        Kind::Date => a.date(cx, row)?.map_or(Value::Null, Value::Date),
        Kind::Time => a.time(cx, row)?.map_or(Value::Null, Value::Time),
        Kind::DateTime | Kind::Timestamp => a.datetime(cx, row)?.map_or(Value::Null, Value::DateTime),
        kind if kind.is_integer() || kind == Kind::Bit => match a.integer(cx, row)? {
            Some(v) if e.ty.unsigned => Value::UInt(v as u64),
            Some(v) => Value::Int(v as i64),
            None => Value::Null,
        },
        Kind::Json => match a.eval(cx, row)? {
            Value::Null => Value::Null,
            _ => super::document::finished(super::document::value_of(a, cx, row)?)?,
        },
        _ => a.text(cx, row)?.map_or(Value::Null, Value::Bytes),
    })
}
