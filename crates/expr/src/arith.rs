//! Arithmetic and bit operators.
//!
//! Integers are calculated in 128 bits and then checked against the 64 of the result's type, so that the rules for
//! mixed signedness need no cases. Text calculates as DOUBLE; a time as a whole number, or as a DECIMAL if it has
//! a fraction of the second.

use super::build::{New, chars, double_type, int_type};
use super::node::{Data, EvalFn, Expr};
use super::print::out_of_range;
use super::row::Row;
use super::scope::CompileCx;
use super::{EvalCx, env};
use vaquita_types::decimal::{MAX_PRECISION, MAX_SCALE};
use vaquita_types::sql_type::NOT_FIXED;
use vaquita_types::{Decimal, Kind, SqlMode, SqlResult, SqlType, Value};

/// How a number is calculated with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numeric {
    Int,
    Decimal,
    Double,
}

/// How an expression takes part in arithmetic.
pub(super) fn numeric(ty: &SqlType) -> Numeric {
    match ty.kind {
        Kind::TinyInt | Kind::SmallInt | Kind::MediumInt | Kind::Int | Kind::BigInt | Kind::Year => {
            Numeric::Int
        }
        Kind::Bit => Numeric::Int,
        Kind::Date => Numeric::Int,
        Kind::Time | Kind::DateTime | Kind::Timestamp if ty.decimals == 0 => Numeric::Int,
        Kind::Time | Kind::DateTime | Kind::Timestamp | Kind::Decimal => Numeric::Decimal,
        _ => Numeric::Double,
    }
}

/// Digits before the point, at most.
pub(super) fn int_digits(ty: &SqlType) -> u32 {
    match numeric(ty) {
        Numeric::Decimal if ty.kind == Kind::Decimal => ty.length - u32::from(ty.decimals).min(ty.length),
        _ if ty.kind.is_temporal() => match ty.kind {
            Kind::Date => 8,
            Kind::Time => 7,
            _ => 14,
        },
        Numeric::Int => chars(ty).saturating_sub(u32::from(!ty.unsigned && ty.length > 1)).max(1),
        _ => chars(ty).min(MAX_PRECISION),
    }
}

/// [`int_digits`] of an expression: a literal has no place for a sign.
pub(super) fn int_digits_of(e: &Expr) -> u32 {
    let literal = match e.as_const() {
        Some(Value::Int(v)) => u32::from(*v >= 0) * (v.unsigned_abs().checked_ilog10().unwrap_or(0) + 1),
        _ => 0,
    };
    if literal == e.ty.length && literal > 0 { literal } else { int_digits(&e.ty) }
}

fn decimals(ty: &SqlType) -> u8 {
    match ty.kind {
        Kind::Decimal | Kind::Float | Kind::Double | Kind::Time | Kind::DateTime | Kind::Timestamp => {
            ty.decimals
        }
        Kind::Null => 0,
        _ if numeric(ty) == Numeric::Double => NOT_FIXED,
        _ => 0,
    }
}

fn precision(e: &Expr) -> u32 {
    (int_digits_of(e) + u32::from(decimals(&e.ty).min(MAX_SCALE))).min(MAX_PRECISION)
}

/// BIGINT of a precision.
fn int_of(precision: u32, unsigned: bool) -> SqlType {
    SqlType { unsigned, ..int_type(precision + u32::from(!unsigned)) }
}

fn decimal_of(int_digits: u32, scale: u8, unsigned: bool) -> SqlType {
    let precision = (int_digits + u32::from(scale)).min(MAX_PRECISION);
    SqlType { unsigned, ..SqlType::decimal(precision.max(1), scale) }
}

/// How an operator calculates with two expressions.
fn together(op: Arith, a: &Expr, b: &Expr) -> Numeric {
    let of = |e: &Expr| match numeric(&e.ty) {
        Numeric::Int if op != Arith::IntDiv && e.is_of_both_signs() => Numeric::Decimal,
        how => how,
    };
    match (of(a), of(b)) {
        (Numeric::Double, _) | (_, Numeric::Double) => Numeric::Double,
        (Numeric::Int, Numeric::Int) => Numeric::Int,
        _ => Numeric::Decimal,
    }
}

/// The operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arith {
    Add,
    Sub,
    Mul,
    Div,
    IntDiv,
    Mod,
}

/// `a op b`.
pub(super) fn arith(cx: &mut CompileCx<'_>, op: Arith, a: Expr, b: Expr) -> Expr {
    let (ta, tb) = (&a.ty, &b.ty);
    let how = together(op, &a, &b);
    let no_unsigned =
        op == Arith::Sub && env::sql_mode(cx.session.state).has(SqlMode::NO_UNSIGNED_SUBTRACTION);
    let unsigned = (ta.unsigned || tb.unsigned) && !no_unsigned;
    let scale = decimals(ta).max(decimals(tb));
    let increment = env::div_precision_increment(cx.session.state);
    let digits = int_digits_of(&a).max(int_digits_of(&b));
    let (name, ty, eval, nullable): (_, _, EvalFn, _) = match op {
        Arith::Add | Arith::Sub => {
            let ty = match how {
                Numeric::Int => int_of(digits + 1, unsigned),
                Numeric::Decimal => decimal_of(digits + 1, scale.min(MAX_SCALE), unsigned),
                Numeric::Double => double_type(scale),
            };
            match op {
                Arith::Add => ("+", ty, pick(how, add_int, add_decimal, add_double), false),
                _ => ("-", ty, pick(how, sub_int, sub_decimal, sub_double), false),
            }
        }
        Arith::Mul => {
            let scale = decimals(ta).saturating_add(decimals(tb));
            let ty = match how {
                Numeric::Int => int_of((precision(&a) + precision(&b)).min(MAX_PRECISION), unsigned),
                Numeric::Decimal => {
                    let scale = scale.min(MAX_SCALE);
                    let whole = (precision(&a) + precision(&b)).min(MAX_PRECISION);
                    decimal_of(whole.saturating_sub(scale.into()), scale, unsigned)
                }
                Numeric::Double => double_type(scale),
            };
            ("*", ty, pick(how, mul_int, mul_decimal, mul_double), false)
        }
        Arith::Div if how == Numeric::Double => {
            ("/", double_type(scale.saturating_add(increment)), div_double as EvalFn, true)
        }
        Arith::Div => {
            let scale = decimals(ta).saturating_add(increment).min(MAX_SCALE);
            let whole = precision(&a) + u32::from(decimals(tb)) + u32::from(increment);
            let ty = decimal_of(whole.saturating_sub(scale.into()), scale, unsigned);
            ("/", ty, div_decimal as EvalFn, true)
        }
        Arith::IntDiv => {
            let width = chars(ta).saturating_sub(u32::from(decimals(ta).min(chars(ta) as u8))).min(21);
            let eval: EvalFn = if how == Numeric::Int { int_div } else { int_div_decimal };
            ("DIV", SqlType { unsigned, ..int_type(width.max(1)) }, eval, true)
        }
        Arith::Mod => {
            let ty = match how {
                Numeric::Int => int_type(chars(ta).max(chars(tb))),
                Numeric::Decimal => decimal_of(digits, scale.min(MAX_SCALE), ta.unsigned),
                Numeric::Double => double_type(scale),
            };
            let ty = SqlType { unsigned: ta.unsigned && how != Numeric::Double, ..ty };
            ("%", ty, pick(how, mod_int, mod_decimal, mod_double), true)
        }
    };
    let new = New::call(name, ty, vec![a, b], eval);
    if nullable { new.nullable().build(cx) } else { new.build(cx) }
}

fn pick(how: Numeric, int: EvalFn, decimal: EvalFn, double: EvalFn) -> EvalFn {
    match how {
        Numeric::Int => int,
        Numeric::Decimal => decimal,
        Numeric::Double => double,
    }
}

/// A result in the type's 64 bits.
///
/// # Errors
/// 1690.
pub(super) fn fit_int<'r>(v: i128, e: &Expr) -> SqlResult<Value<'r>> {
    let fits = if e.ty.unsigned {
        u64::try_from(v).ok().map(Value::UInt)
    } else {
        i64::try_from(v).ok().map(Value::Int)
    };
    fits.ok_or_else(|| out_of_range(if e.ty.unsigned { "BIGINT UNSIGNED" } else { "BIGINT" }, e))
}

/// A DOUBLE, if it is finite.
///
/// # Errors
/// 1690.
pub(super) fn fit_double<'r>(v: f64, e: &Expr) -> SqlResult<Value<'r>> {
    if v.is_finite() { Ok(Value::Double(v)) } else { Err(out_of_range("DOUBLE", e)) }
}

/// Warning 1365, where `sql_mode` wants it.
pub(super) fn division_by_zero<'r>(cx: &mut EvalCx<'_>) -> Value<'r> {
    if env::sql_mode(cx.state).has(SqlMode::ERROR_FOR_DIVISION_BY_ZERO) {
        cx.warn(1365, "Division by 0");
    }
    Value::Null
}

// Which operators look at their second operand if the first one is NULL is MySQL's: it may have something to warn of.
macro_rules! operands {
    (both, $args:ident, $cx:ident, $row:ident, $how:ident) => {{
        let (a, b) = ($args[0].$how($cx, $row)?, $args[1].$how($cx, $row)?);
        let (Some(a), Some(b)) = (a, b) else { return Ok(Value::Null) };
        (a, b)
    }};
    (first, $args:ident, $cx:ident, $row:ident, $how:ident) => {{
        let Some(a) = $args[0].$how($cx, $row)? else { return Ok(Value::Null) };
        let Some(b) = $args[1].$how($cx, $row)? else { return Ok(Value::Null) };
        (a, b)
    }};
}

macro_rules! binary {
    ($($name:ident($which:ident, $how:ident, $a:ident, $b:ident, $e:ident, $cx:ident) $body:expr;)*) => {$(
        #[allow(unused_variables)]
        fn $name<'r>(
            $e: &'r Expr, args: &'r [Expr], $cx: &mut EvalCx<'_>, row: &'r Row<'r>,
        ) -> SqlResult<Value<'r>> {
            let ($a, $b) = operands!($which, args, $cx, row, $how);
            $body
        }
    )*};
}

binary! {
    add_int(both, integer, a, b, e, cx) fit_int(a + b, e);
    sub_int(both, integer, a, b, e, cx) fit_int(a - b, e);
    // The product of two unsigned ones may exceed even 128 bits: out of range all the same.
    mul_int(both, integer, a, b, e, cx) fit_int(a.saturating_mul(b), e);
    add_double(both, double, a, b, e, cx) fit_double(a + b, e);
    sub_double(both, double, a, b, e, cx) fit_double(a - b, e);
    mul_double(both, double, a, b, e, cx) fit_double(a * b, e);
    add_decimal(first, decimal, a, b, e, cx) fit_decimal(a.add(&b), e);
    sub_decimal(first, decimal, a, b, e, cx) fit_decimal(a.sub(&b), e);
    mul_decimal(first, decimal, a, b, e, cx) fit_decimal(a.mul(&b), e);
    div_double(both, double, a, b, e, cx) if b == 0.0 { Ok(division_by_zero(cx)) } else { fit_double(a / b, e) };
    mod_double(both, double, a, b, e, cx) if b == 0.0 { Ok(division_by_zero(cx)) } else { fit_double(a % b, e) };
    mod_int(both, integer, a, b, e, cx) if b == 0 { Ok(division_by_zero(cx)) } else { fit_int(a % b, e) };
    int_div(both, integer, a, b, e, cx) if b == 0 { Ok(division_by_zero(cx)) } else { fit_int(a / b, e) };
    mod_decimal(first, decimal, a, b, e, cx) match a.rem(&b) {
        Ok(Some(v)) => Ok(Value::Decimal(v)),
        Ok(None) => Ok(division_by_zero(cx)),
        Err(_) => Err(out_of_range("DECIMAL", e)),
    };
    int_div_decimal(first, decimal, a, b, e, cx) match a.int_div(&b) {
        Ok(Some(v)) => {
            let whole = if v.is_negative() { v.to_i64().map(i128::from).ok() } else { v.to_u64().map(i128::from).ok() };
            match whole {
                Some(v) => fit_int(v, e),
                None => Err(out_of_range(if e.ty.unsigned { "BIGINT UNSIGNED" } else { "BIGINT" }, e)),
            }
        }
        Ok(None) => Ok(division_by_zero(cx)),
        Err(_) => Err(out_of_range("BIGINT", e)),
    };
    bit_or(first, bits, a, b, e, cx) Ok(Value::UInt(a | b));
    bit_and(first, bits, a, b, e, cx) Ok(Value::UInt(a & b));
    bit_xor(both, bits, a, b, e, cx) Ok(Value::UInt(a ^ b));
    shift_left(both, bits, a, b, e, cx) Ok(Value::UInt(if (b as u32) < 64 { a << b as u32 } else { 0 }));
    shift_right(both, bits, a, b, e, cx) Ok(Value::UInt(if (b as u32) < 64 { a >> b as u32 } else { 0 }));
}

/// A DECIMAL with the digits of its type.
fn fit_decimal<'r>(v: Result<Decimal, vaquita_types::decimal::Overflow>, e: &Expr) -> SqlResult<Value<'r>> {
    let v = v.map_err(|_| out_of_range("DECIMAL", e))?;
    let v = if v.scale() > e.ty.decimals { v.round(e.ty.decimals.into()) } else { Ok(v) };
    v.map(Value::Decimal).map_err(|_| out_of_range("DECIMAL", e))
}

/// A sum, difference, product or quotient of DECIMALs with all its digits, as it is calculated with further; `None` for
/// other expressions.
pub(super) fn unrounded(e: &Expr, cx: &mut EvalCx<'_>, row: &Row<'_>) -> Option<SqlResult<Option<Decimal>>> {
    let (name, a, b) = e.decimal_operator()?;
    Some(operate(name, e, a, b, cx, row))
}

fn operate(
    name: &str,
    e: &Expr,
    a: &Expr,
    b: &Expr,
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
) -> SqlResult<Option<Decimal>> {
    let Some(a) = a.decimal(cx, row)? else { return Ok(None) };
    let Some(b) = b.decimal(cx, row)? else { return Ok(None) };
    let v = match name {
        "+" => a.add(&b).map(Some),
        "-" => a.sub(&b).map(Some),
        "*" => a.mul(&b).map(Some),
        _ => a.div(&b, env::div_precision_increment(cx.state)),
    };
    let v = v.map_err(|_| out_of_range("DECIMAL", e))?;
    if v.is_none() {
        division_by_zero(cx);
    }
    Ok(v)
}

fn div_decimal<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let (a, b) = operands!(first, args, cx, row, decimal);
    let increment = env::div_precision_increment(cx.state);
    match a.div(&b, increment) {
        Ok(Some(v)) => {
            let v = v.round(e.ty.decimals.into()).map_err(|_| out_of_range("DECIMAL", e))?;
            Ok(Value::Decimal(v))
        }
        Ok(None) => Ok(division_by_zero(cx)),
        Err(_) => Err(out_of_range("DECIMAL", e)),
    }
}

/// `-x`.
pub(super) fn neg(cx: &mut CompileCx<'_>, a: Expr) -> Expr {
    let (ty, eval): (_, EvalFn) = match numeric(&a.ty) {
        Numeric::Int => {
            // The literal 9223372036854775808 has a negative in BIGINT; a greater one becomes a DECIMAL.
            let too_large = match a.as_const() {
                Some(Value::UInt(v)) => *v > 1 << 63,
                Some(Value::Int(v)) => *v == i64::MIN,
                _ => false,
            };
            if too_large {
                (decimal_of(int_digits(&a.ty), 0, false), neg_decimal)
            } else {
                (int_type(chars(&a.ty) + 1), neg_int)
            }
        }
        Numeric::Decimal => (decimal_of(int_digits(&a.ty), decimals(&a.ty), false), neg_decimal),
        Numeric::Double => (double_type(decimals(&a.ty)), neg_double),
    };
    let ty = if numeric(&a.ty) == Numeric::Double && a.ty.kind == Kind::Double {
        SqlType { length: a.ty.length + 1, ..ty }
    } else {
        ty
    };
    New::call("-", ty, vec![a], eval).build(cx)
}

macro_rules! unary {
    ($($name:ident($how:ident, $a:ident, $e:ident) $body:expr;)*) => {$(
        #[allow(unused_variables)]
        fn $name<'r>(
            $e: &'r Expr, args: &'r [Expr], cx: &mut EvalCx<'_>, row: &'r Row<'r>,
        ) -> SqlResult<Value<'r>> {
            let Some($a) = args[0].$how(cx, row)? else { return Ok(Value::Null) };
            $body
        }
    )*};
}

unary! {
    neg_int(integer, a, e) fit_int(-a, e);
    neg_decimal(decimal, a, e) Ok(Value::Decimal(a.neg()));
    neg_double(double, a, e) Ok(Value::Double(-a));
    bit_not(bits, a, e) Ok(Value::UInt(!a));
    bit_count(bits, a, e) Ok(Value::Int(a.count_ones().into()));
}

impl Expr {
    /// As 64 bits.
    pub(super) fn bits(&self, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<u64>> {
        Ok(match self.eval(cx, row)? {
            Value::Null => None,
            Value::Int(v) => Some(v as u64),
            Value::UInt(v) | Value::Bit { value: v, .. } => Some(v),
            v => Some(self.whole_number(&v, cx) as u64),
        })
    }
}

/// The bit operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bits {
    Or,
    And,
    Xor,
    Left,
    Right,
}

/// `a op b` on 64 unsigned bits.
pub(super) fn bits(cx: &mut CompileCx<'_>, op: Bits, a: Expr, b: Expr) -> Expr {
    let (name, eval): (_, EvalFn) = match op {
        Bits::Or => ("|", bit_or),
        Bits::And => ("&", bit_and),
        Bits::Xor => ("^", bit_xor),
        Bits::Left => ("<<", shift_left),
        Bits::Right => (">>", shift_right),
    };
    New::call(name, unsigned_bits(), vec![a, b], eval).build(cx)
}

fn unsigned_bits() -> SqlType {
    SqlType { unsigned: true, ..int_type(21) }
}

/// `~a`.
pub(super) fn not(cx: &mut CompileCx<'_>, a: Expr) -> Expr {
    New::call("~", unsigned_bits(), vec![a], bit_not).build(cx)
}

/// BIT_COUNT().
pub(super) fn count_bits(cx: &mut CompileCx<'_>, a: Expr) -> Expr {
    New::call("bit_count", int_type(2), vec![a], bit_count).data(Data::None).build(cx)
}

/// A value that is not NULL as an integer.
pub(super) fn integer_of(v: &Value<'_>, cx: &mut EvalCx<'_>) -> i128 {
    match v {
        Value::Int(v) => i128::from(*v),
        Value::UInt(v) => i128::from(*v),
        Value::Bit { value, .. } => i128::from(*value),
        Value::Label { number, .. } => i128::from(*number),
        Value::Decimal(d) if !d.is_negative() => match d.to_u64() {
            Ok(v) => i128::from(v),
            Err(v) => i128::from(v.min(i64::MAX as u64)),
        },
        Value::Double(d) => double_as_integer(*d),
        Value::Float(d) => double_as_integer(f64::from(*d)),
        Value::Bytes(text) => {
            let (value, clean) = leading_integer(text);
            if !clean {
                let text = String::from_utf8_lossy(text).into_owned();
                cx.warn(1292, format!("Truncated incorrect INTEGER value: '{text}'"));
            }
            value
        }
        v => i128::from(v.to_i64(&mut cx.convert())),
    }
}

/// The integer that a text begins with, and whether that is all of it.
pub(super) fn leading_integer(text: &[u8]) -> (i128, bool) {
    let leading = vaquita_types::number::parse_int(text);
    let value = match leading.value {
        vaquita_types::number::Integer::Signed(v) => i128::from(v),
        vaquita_types::number::Integer::Unsigned(v) => i128::from(v),
    };
    (value, leading.clean)
}

/// Rounded half to even as `rint` does; clipped to 64 bits.
fn double_as_integer(v: f64) -> i128 {
    let v = v.round_ties_even();
    if v >= 9_223_372_036_854_775_807.0 {
        i128::from(i64::MAX)
    } else if v <= -9_223_372_036_854_775_808.0 {
        i128::from(i64::MIN)
    } else {
        v as i128
    }
}
