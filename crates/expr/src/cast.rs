//! CAST, CONVERT, COLLATE, BINARY.

use super::build::{Collated, New, charset_of};
use super::document;
use super::node::{Data, Derivation, Expr, Node};
use super::row::Row;
use super::scope::CompileCx;
use super::{EvalCx, env};
use std::fmt::Write as _;
use vaquita_engine::text::charset::Charset;
use vaquita_engine::text::collation;
use vaquita_parser::ast::{CastType, Ident};
use vaquita_types::convert::cast::{self, Target};
use vaquita_types::{Kind, SqlError, SqlResult, Value};

/// The character set of that name.
///
/// # Errors
/// 1115.
pub(super) fn charset_named(name: Ident<'_>) -> SqlResult<Charset> {
    let unknown = || SqlError::new(1115, format!("Unknown character set: '{name}'"));
    name.as_str().and_then(Charset::by_name).ok_or_else(unknown)
}

/// `CAST(x AS type)`.
///
/// # Errors
/// 1115, 1235, 1426 too many digits, 1425 too many of them after the point.
pub(super) fn cast_to(cx: &mut CompileCx<'_>, mut x: Expr, to: &CastType<'_>) -> SqlResult<Expr> {
    if let Node::Row(_) = x.node {
        return Err(super::compare::wrong_columns(1));
    }
    if let CastType::Json = to {
        let new =
            New::call("cast_as_json", vaquita_types::SqlType::new(Kind::Json), vec![x], document::eval_cast);
        return Ok(new.build(cx));
    }
    let target = target_of(cx, &mut x, to)?;
    Ok(cast(cx, "cast", x, target))
}

/// The type that a cast names; text is brought to its character set.
///
/// # Errors
/// As [`cast_to`].
pub(super) fn target_of(cx: &mut CompileCx<'_>, x: &mut Expr, to: &CastType<'_>) -> SqlResult<Target> {
    Ok(match *to {
        CastType::Signed => Target::Signed,
        CastType::Unsigned => Target::Unsigned,
        CastType::Date => Target::Date,
        CastType::Time(f) => Target::Time(fraction("CAST", f)?),
        CastType::DateTime(f) => Target::DateTime(fraction("CAST", f)?),
        CastType::Decimal { precision, scale } => decimal_target(x, precision, scale)?,
        CastType::Binary(n) => Target::Binary(n),
        CastType::Char { len, charset } => {
            let collation = match charset {
                Some(name) => charset_named(name)?.default_collation(),
                None => env::collation_connection(cx.session.state),
            };
            cx.convert_in_place(x, collation);
            Target::Char(len, collation)
        }
        CastType::Json => Target::Json,
        CastType::Later(name) if name.is("double") || name.is("real") => Target::Double,
        CastType::Later(name) => return Err(SqlError::unsupported(&format!("CAST AS {name}"))),
    })
}

fn decimal_target(x: &Expr, precision: Option<u32>, scale: Option<u32>) -> SqlResult<Target> {
    let scale = scale.unwrap_or(0);
    if scale > 30 {
        let message = format!("Too big scale {scale} specified for column '{x}'. Maximum is 30.");
        return Err(SqlError::new(1425, message));
    }
    let precision = match precision {
        None | Some(0) => 10,
        Some(p) if p > 65 => {
            let message = format!("Too big precision {p} specified for column '{x}'. Maximum is 65.");
            return Err(SqlError::new(1426, message));
        }
        Some(p) => p,
    };
    if scale > precision {
        return Err(SqlError::new(
            1427,
            "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '').",
        ));
    }
    Ok(Target::Decimal(precision, scale as u8))
}

/// Digits of a fraction of a second.
///
/// # Errors
/// 1426.
pub(super) fn fraction(what: &str, digits: Option<u32>) -> SqlResult<u8> {
    match digits.unwrap_or(0) {
        f @ 0..=6 => Ok(f as u8),
        f => Err(SqlError::new(1426, format!("Too-big precision {f} specified for '{what}'. Maximum is 6."))),
    }
}

/// A cast that is known to be allowed.
pub(super) fn cast(cx: &mut CompileCx<'_>, name: &'static str, x: Expr, target: Target) -> Expr {
    let mut ty = target.result_type(&x.ty);
    if ty.length == 0 {
        ty.length = super::build::chars(&ty);
    }
    let text = ty.kind.is_string();
    if let Target::Signed | Target::Unsigned = target {
        ty.length = x.chars();
    }
    if text {
        ty.decimals = vaquita_types::sql_type::NOT_FIXED;
    }
    let may_fail = ty.kind.is_temporal() && !x.ty.kind.is_temporal() || ty.kind.is_temporal();
    let by = Collated {
        collation: ty.collation,
        derivation: Derivation::Implicit,
        ascii: x.info.ascii || !x.is_text(),
    };
    let new = New::call(name, ty, vec![x], eval_cast).data(Data::Cast(target));
    let new = if may_fail { new.nullable() } else { new };
    if text { new.collated(by).build(cx) } else { new.build(cx) }
}

fn eval_cast<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let v = args[0].eval(cx, row)?;
    let Some(target) = e.target() else { return Ok(v) };
    match (v, target) {
        (Value::Null, _) => Ok(Value::Null),
        // Text that is not cut stays where it is.
        (Value::Bytes(b), Target::Char(None, _) | Target::Binary(None)) => Ok(Value::Bytes(b)),
        // So do the bytes of a hexadecimal literal, whatever they are in the character set.
        (v @ Value::Bit { .. }, Target::Char(n, _) | Target::Binary(n)) => {
            let mut bytes = v.to_text(&args[0].ty).into_owned();
            match (n, target) {
                (Some(n), Target::Binary(_)) => bytes.resize(*n as usize, 0),
                (Some(n), _) => bytes.truncate(charset_of(e.ty.collation).prefix_len(&bytes, *n as usize)),
                (None, _) => {}
            }
            Ok(Value::owned(bytes))
        }
        (v, Target::Time(_)) if super::access::is_no_time(&v, cx) => {
            let text = String::from_utf8_lossy(&v.to_text(&args[0].ty)).into_owned();
            cx.warn(1292, format!("Truncated incorrect time value: '{text}'"));
            Ok(Value::Null)
        }
        (v, target) => {
            // Zero dates are refused in text, zero months and days nowhere.
            let mut convert = if matches!(v, Value::Bytes(_)) { cx.convert_text() } else { cx.convert() };
            cast::cast(&v, &args[0].ty, target, "", &mut convert).map(Value::into_owned)
        }
    }
}

/// `BINARY x`.
pub(super) fn binary(cx: &mut CompileCx<'_>, x: Expr) -> Expr {
    cast(cx, "cast", x, Target::Binary(None))
}

/// `CONVERT(x USING charset)`.
///
/// # Errors
/// 1115.
pub(super) fn convert_using(cx: &mut CompileCx<'_>, x: Expr, charset: Ident<'_>) -> SqlResult<Expr> {
    let charset = if charset.is("DEFAULT") {
        charset_of(env::collation_connection(cx.session.state))
    } else {
        charset_named(charset)?
    };
    let collation = charset.default_collation();
    let chars = x.chars();
    let mut x = x;
    let ascii = x.info.ascii || !x.is_text();
    let from = charset_of(x.collated(cx).collation);
    let from_bytes = x.is_text() && from == Charset::BINARY && charset.mb_max_len > 1;
    if from != charset && x.is_text() {
        x = cx.converted(x, collation);
    }
    let by = Collated { collation, derivation: Derivation::Implicit, ascii };
    let ty = super::build::text_type(chars.into(), by);
    let eval = if from_bytes { checked_text } else { same_text };
    let new = New::call("convert", ty, vec![x], eval).collated(by);
    Ok(if from_bytes { new.nullable() } else { new }.build(cx))
}

/// `x COLLATE name`.
///
/// # Errors
/// 1273 unknown, 1253 of another character set.
pub(super) fn collate(cx: &mut CompileCx<'_>, x: Expr, name: Ident<'_>) -> SqlResult<Expr> {
    // Numbers and times count as latin1 here, NULL as anything.
    let charset = match x.ty.kind {
        _ if x.is_text() => charset_of(x.collated(cx).collation),
        Kind::Null => Charset::BINARY,
        _ => Charset::LATIN1,
    };
    let collation = if name.is("binary") && charset != Charset::BINARY {
        charset.binary_collation()
    } else {
        let unknown = || SqlError::new(1273, format!("Unknown collation: '{name}'"));
        name.as_str().and_then(collation::by_name).ok_or_else(unknown)?
    };
    if charset_of(collation) != charset {
        let message = format!("COLLATION '{name}' is not valid for CHARACTER SET '{}'", charset.name);
        return Err(SqlError::new(1253, message));
    }
    let by = Collated { collation, derivation: Derivation::Explicit, ascii: x.info.ascii || !x.is_text() };
    let ty = super::build::text_type(x.chars().into(), by);
    Ok(New::call("collate", ty, vec![x], same_text).collated(by).build(cx))
}

/// Bytes as text of a character set: up to what is no character of it, with a warning; in strict mode NULL then.
fn checked_text<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let Some(text) = args[0].text(cx, row)? else { return Ok(Value::Null) };
    let charset = charset_of(e.ty.collation);
    let Some(at) = charset.first_malformed(&text) else { return Ok(Value::Bytes(text)) };
    let mut bad = String::new();
    for byte in text[at..].iter().take(3) {
        write!(bad, "{byte:02X}").expect("writing to a string");
    }
    cx.warn(1300, format!("Invalid {} character string: '{bad}'", charset.name));
    if cx.state.vars.sql_mode.is_strict() {
        return Ok(Value::Null);
    }
    let mut text = text.into_owned();
    text.truncate(at);
    Ok(Value::owned(text))
}

fn same_text<'r>(
    _: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    Ok(args[0].text(cx, row)?.map_or(Value::Null, Value::Bytes))
}
