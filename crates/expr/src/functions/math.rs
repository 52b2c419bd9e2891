//! Numbers.

use super::{Function, arg, evals, f};
use crate::arith::{Numeric, fit_double, fit_int, int_digits, numeric};
use crate::build::{Collated, New, double_type, int_type, text_type};
use crate::node::{Constness, Data, EvalFn, Expr};
use crate::print::out_of_range;
use crate::scope::CompileCx;
use vaquita_types::{Kind, SqlResult, SqlType, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("abs", 1, 1, abs),
    f("sign", 1, 1, |cx, name, args| Ok(New::call(name, int_type(21), args, eval_sign).build(cx))),
    f("ceil", 1, 1, |cx, _, args| whole(cx, "ceiling", args, eval_ceil)),
    f("ceiling", 1, 1, |cx, name, args| whole(cx, name, args, eval_ceil)),
    f("floor", 1, 1, |cx, name, args| whole(cx, name, args, eval_floor)),
    f("round", 1, 2, |cx, name, args| round(cx, name, args, eval_round)),
    f("truncate", 2, 2, |cx, name, args| round(cx, name, args, eval_truncate)),
    f("pow", 2, 2, |cx, _, args| double(cx, "pow", args, eval_pow)),
    f("power", 2, 2, |cx, _, args| double(cx, "pow", args, eval_pow)),
    f("sqrt", 1, 1, |cx, name, args| double(cx, name, args, eval_sqrt)),
    f("exp", 1, 1, |cx, name, args| double(cx, name, args, eval_exp)),
    f("ln", 1, 1, |cx, name, args| double(cx, name, args, eval_ln)),
    f("log", 1, 2, |cx, name, args| double(cx, name, args, eval_log)),
    f("log2", 1, 1, |cx, name, args| double(cx, name, args, eval_log2)),
    f("log10", 1, 1, |cx, name, args| double(cx, name, args, eval_log10)),
    f("sin", 1, 1, |cx, name, args| double(cx, name, args, eval_sin)),
    f("cos", 1, 1, |cx, name, args| double(cx, name, args, eval_cos)),
    f("tan", 1, 1, |cx, name, args| double(cx, name, args, eval_tan)),
    f("cot", 1, 1, |cx, name, args| double(cx, name, args, eval_cot)),
    f("asin", 1, 1, |cx, name, args| double(cx, name, args, eval_asin)),
    f("acos", 1, 1, |cx, name, args| double(cx, name, args, eval_acos)),
    f("atan", 1, 2, |cx, name, args| double(cx, name, args, eval_atan)),
    f("atan2", 1, 2, |cx, _, args| double(cx, "atan", args, eval_atan)),
    f("degrees", 1, 1, |cx, name, args| Ok(New::call(name, double_type(31), args, eval_degrees).build(cx))),
    f("radians", 1, 1, |cx, name, args| Ok(New::call(name, double_type(31), args, eval_radians).build(cx))),
    f("pi", 0, 0, |cx, name, args| {
        let ty = SqlType { length: 8, decimals: 6, ..double_type(6) };
        Ok(New::call(name, ty, args, eval_pi).build(cx))
    }),
    f("rand", 0, 1, rand),
    f("conv", 3, 3, |cx, name, args| {
        let by = Collated::connection(cx);
        Ok(New::call(
            name,
            text_type(64 / u64::from(crate::build::mb_max(by.collation)), by),
            args,
            eval_conv,
        )
        .collated(by)
        .nullable()
        .build(cx))
    }),
    f("bin", 1, 1, |cx, name, args| based(cx, name, args, 2)),
    f("oct", 1, 1, |cx, name, args| based(cx, name, args, 8)),
];

fn abs(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let e = args.remove(0).into_number();
    let ty = match numeric(e.ty()) {
        Numeric::Int => SqlType { unsigned: e.ty().unsigned, ..int_type(e.chars()) },
        Numeric::Decimal => decimal_like(&e, e.ty().decimals),
        Numeric::Double => double_type(double_decimals(&e)),
    };
    Ok(New::call(name, ty, vec![e], eval_abs).build(cx))
}

/// A DECIMAL with the digits before the point of an expression.
fn decimal_like(e: &Expr, scale: u8) -> SqlType {
    let digits = int_digits(e.ty());
    SqlType { unsigned: e.ty().unsigned, ..SqlType::decimal((digits + u32::from(scale)).clamp(1, 65), scale) }
}

fn double_decimals(e: &Expr) -> u8 {
    if numeric(e.ty()) == Numeric::Double && !e.is_text() { e.ty().decimals } else { 31 }
}

/// CEILING(), FLOOR(): of a DECIMAL that fits, an integer.
fn whole(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>, eval: EvalFn) -> SqlResult<Expr> {
    let e = args.remove(0).into_number();
    let ty = match numeric(e.ty()) {
        Numeric::Int => SqlType {
            unsigned: e.ty().unsigned,
            ..int_type(e.chars() + 2 - u32::from(e.ty().decimals).min(e.chars()))
        },
        Numeric::Decimal => {
            let digits = int_digits(e.ty());
            if digits <= 17 {
                SqlType {
                    unsigned: e.ty().unsigned,
                    ..int_type(e.chars() + 2 - u32::from(e.ty().decimals).min(e.chars()))
                }
            } else {
                SqlType { unsigned: e.ty().unsigned, ..SqlType::decimal((digits + 1).min(65), 0) }
            }
        }
        Numeric::Double => SqlType { decimals: 0, ..double_type(0) },
    };
    Ok(New::call(name, ty, vec![e], eval).build(cx))
}

fn round(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>, eval: EvalFn) -> SqlResult<Expr> {
    let mut e = std::mem::replace(&mut args[0], Expr::null());
    if e.ty().kind.is_temporal() {
        e = crate::as_type(cx, e, &double_type(31));
    }
    let places = match args.get(1).map(Expr::as_const) {
        None => Some(0),
        Some(Some(Value::Int(n))) => Some((*n).clamp(-100, 100) as i32),
        Some(Some(Value::UInt(_))) => Some(100),
        Some(Some(Value::Decimal(v))) => Some(v.to_i64().unwrap_or_else(|clip| clip).clamp(-100, 100) as i32),
        Some(Some(Value::Bytes(text))) => {
            let n = vaquita_types::number::parse_f64(text).value;
            Some(n.clamp(-100.0, 100.0) as i32)
        }
        Some(_) => None,
    };
    let ty = match numeric(e.ty()) {
        Numeric::Int => match places {
            None => double_type(31),
            Some(n) => {
                let carry = u32::from(n < 0 && name == "round");
                SqlType { unsigned: e.ty().unsigned, ..int_type(e.chars() + carry) }
            }
        },
        Numeric::Decimal => match places {
            None => decimal_like(&e, e.ty().decimals),
            Some(n) => {
                let scale = (n.max(0) as u8).min(30);
                let carry = u32::from(name == "round" && i32::from(e.ty().decimals) > n);
                let digits = int_digits(e.ty()) + carry;
                let precision = (digits + u32::from(scale)).clamp(1, 65);
                SqlType { unsigned: e.ty().unsigned, ..SqlType::decimal(precision, scale) }
            }
        },
        Numeric::Double => match places {
            None => double_type(31),
            Some(n) => double_type(n.clamp(0, 31) as u8),
        },
    };
    args[0] = e;
    Ok(New::call(name, ty, args, eval).build(cx))
}

fn double(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>, eval: EvalFn) -> SqlResult<Expr> {
    let args = args.into_iter().map(Expr::into_number).collect();
    Ok(New::call(name, double_type(31), args, eval).nullable().build(cx))
}

fn based(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>, base: u64) -> SqlResult<Expr> {
    let by = Collated::connection(cx);
    let chars = 64 / u64::from(crate::build::mb_max(by.collation));
    let new = New::call(name, text_type(chars, by), args, eval_based);
    Ok(new.collated(by).data(Data::Number(base)).nullable().build(cx))
}

/// RAND(): of the session's generator, or of one of its own that starts with a seed.
fn rand(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    Ok(New::call(name, double_type(31), args, eval_rand).at_least(Constness::Row).build_not_null(cx))
}

macro_rules! real {
    ($($name:ident($x:ident) $body:expr;)*) => { evals! { $(
        $name(e, args, cx, row) {
            let $x = arg!(args[0].double(cx, row));
            match $body {
                Some(v) => fit_double(v, e),
                None => Ok(Value::Null),
            }
        }
    )* } };
}

real! {
    eval_sqrt(x) (x >= 0.0).then(|| x.sqrt());
    eval_exp(x) Some(x.exp());
    eval_sin(x) Some(x.sin());
    eval_cos(x) Some(x.cos());
    eval_tan(x) Some(x.tan());
    eval_cot(x) Some(1.0 / x.tan());
    eval_asin(x) (-1.0..=1.0).contains(&x).then(|| x.asin());
    eval_acos(x) (-1.0..=1.0).contains(&x).then(|| x.acos());
    eval_degrees(x) Some(x * (180.0 / std::f64::consts::PI));
    eval_radians(x) Some(x * (std::f64::consts::PI / 180.0));
}

/// A logarithm: of what is not above 0 it is NULL, which counts as a division by zero.
fn logarithm<'r>(
    x: f64,
    of: impl FnOnce(f64) -> f64,
    e: &Expr,
    cx: &mut crate::EvalCx<'_>,
) -> SqlResult<Value<'r>> {
    if x > 0.0 { fit_double(of(x), e) } else { Ok(crate::arith::division_by_zero(cx)) }
}

evals! {
    eval_ln(e, args, cx, row) {
        let x = arg!(args[0].double(cx, row));
        logarithm(x, f64::ln, e, cx)
    }
    eval_log2(e, args, cx, row) {
        let x = arg!(args[0].double(cx, row));
        logarithm(x, |x| x.ln() / std::f64::consts::LN_2, e, cx)
    }
    eval_log10(e, args, cx, row) {
        let x = arg!(args[0].double(cx, row));
        logarithm(x, f64::log10, e, cx)
    }
    eval_pi(e, args, cx, row) {
        Ok(Value::Double(std::f64::consts::PI))
    }
    eval_pow(e, args, cx, row) {
        let (x, y) = (args[0].double(cx, row)?, args[1].double(cx, row)?);
        let (Some(x), Some(y)) = (x, y) else { return Ok(Value::Null) };
        fit_double(x.powf(y), e)
    }
    eval_log(e, args, cx, row) {
        let x = arg!(args[0].double(cx, row));
        if x <= 0.0 {
            return Ok(crate::arith::division_by_zero(cx));
        }
        let Some(second) = args.get(1) else { return fit_double(x.ln(), e) };
        let y = arg!(second.double(cx, row));
        if y <= 0.0 || x == 1.0 {
            return Ok(crate::arith::division_by_zero(cx));
        }
        fit_double(y.ln() / x.ln(), e)
    }
    eval_atan(e, args, cx, row) {
        let x = arg!(args[0].double(cx, row));
        match args.get(1) {
            Some(second) => fit_double(x.atan2(arg!(second.double(cx, row))), e),
            None => fit_double(x.atan(), e),
        }
    }
    eval_sign(e, args, cx, row) {
        let x = arg!(args[0].double(cx, row));
        Ok(Value::Int(if x > 0.0 { 1 } else if x < 0.0 { -1 } else { 0 }))
    }
    eval_abs(e, args, cx, row) {
        match numeric(args[0].ty()) {
            Numeric::Int => fit_int(arg!(args[0].integer(cx, row)).abs(), e),
            Numeric::Decimal => Ok(Value::Decimal(arg!(args[0].decimal(cx, row)).abs())),
            Numeric::Double => Ok(Value::Double(arg!(args[0].double(cx, row)).abs())),
        }
    }
    eval_ceil(e, args, cx, row) {
        match numeric(args[0].ty()) {
            Numeric::Int => fit_int(arg!(args[0].integer(cx, row)), e),
            Numeric::Decimal => whole_decimal(arg!(args[0].decimal(cx, row)).ceil(), e),
            Numeric::Double => Ok(Value::Double(arg!(args[0].double(cx, row)).ceil())),
        }
    }
    eval_floor(e, args, cx, row) {
        match numeric(args[0].ty()) {
            Numeric::Int => fit_int(arg!(args[0].integer(cx, row)), e),
            Numeric::Decimal => whole_decimal(arg!(args[0].decimal(cx, row)).floor(), e),
            Numeric::Double => Ok(Value::Double(arg!(args[0].double(cx, row)).floor())),
        }
    }
    eval_round(e, args, cx, row) {
        rounded(e, args, cx, row, false)
    }
    eval_truncate(e, args, cx, row) {
        rounded(e, args, cx, row, true)
    }
    eval_rand(e, args, cx, row) {
        let max = f64::from(RAND_MAX);
        let Some(seed) = args.first() else {
            let v = next_random(&mut cx.state.rand);
            return Ok(Value::Double(f64::from(v) / max));
        };
        // A constant seed starts a sequence; one that changes starts anew with each row.
        let seed = seed.int(cx, row)?.unwrap_or(0) as u32;
        let fresh = seeded(seed);
        let key = std::ptr::from_ref(e) as usize;
        let anew = args[0].constness() == Constness::Row;
        let v = next_random(cx.state.seeded_random(key, fresh, anew));
        Ok(Value::Double(f64::from(v) / max))
    }
    eval_conv(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let from = arg!(args[1].integer(cx, row));
        let to = arg!(args[2].integer(cx, row));
        if !(2..=36).contains(&from.abs()) || !(2..=36).contains(&to.abs()) {
            return Ok(Value::Null);
        }
        if text.is_empty() {
            return Ok(Value::Null);
        }
        let v = parse_based(&text, from.unsigned_abs() as u32, from < 0);
        Ok(Value::owned(print_based(v, to.unsigned_abs() as u64, to < 0)))
    }
    eval_based(e, args, cx, row) {
        let v = match args[0].eval(cx, row)? {
            Value::Null => return Ok(Value::Null),
            Value::Bytes(text) => {
                if text.is_empty() {
                    return Ok(Value::Null);
                }
                parse_based(&text, 10, false)
            }
            Value::Int(v) => v as u64,
            Value::UInt(v) => v,
            // A literal of bits is text here; a column is its number.
            Value::Bit { value, .. } if args[0].ty().kind == Kind::Bit => value,
            v => {
                let text = v.to_text(args[0].ty());
                parse_based(&text, 10, false)
            }
        };
        Ok(Value::owned(print_based(v, e.number(), false)))
    }
}

fn whole_decimal<'r>(
    v: Result<vaquita_types::Decimal, vaquita_types::decimal::Overflow>,
    e: &Expr,
) -> SqlResult<Value<'r>> {
    let v = v.map_err(|_| out_of_range("DECIMAL", e))?;
    if !e.ty().kind.is_integer() {
        return Ok(Value::Decimal(v));
    }
    if e.ty().unsigned {
        return v.to_u64().map(Value::UInt).map_err(|_| out_of_range("BIGINT UNSIGNED", e));
    }
    v.to_i64().map(Value::Int).map_err(|_| out_of_range("BIGINT", e))
}

fn rounded<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut crate::EvalCx<'_>,
    row: &'r crate::Row<'r>,
    cut: bool,
) -> SqlResult<Value<'r>> {
    let places = match args.get(1) {
        Some(places) => arg!(places.integer(cx, row)).clamp(-400, 400) as i32,
        None => 0,
    };
    match numeric(e.ty()) {
        Numeric::Int => {
            let v = arg!(args[0].integer(cx, row));
            if places >= 0 {
                return fit_int(v, e);
            }
            if places < -20 {
                return fit_int(0, e);
            }
            let unit = 10i128.pow(places.unsigned_abs());
            let whole = v / unit * unit;
            let up = !cut && (v % unit).abs() * 2 >= unit;
            fit_int(if up { whole + unit * v.signum() } else { whole }, e)
        }
        Numeric::Decimal => {
            let v = arg!(args[0].decimal(cx, row));
            let scale = if places > 0 { places.min(e.ty().decimals.into()) } else { places.max(-81) };
            let v = if cut { v.truncate(scale) } else { v.round(scale) };
            v.map(Value::Decimal).map_err(|_| out_of_range("DECIMAL", e))
        }
        Numeric::Double => {
            let v = arg!(args[0].double(cx, row));
            Ok(Value::Double(round_double(v, places, cut)))
        }
    }
}

/// A DOUBLE rounded (half to even) or cut to so many places.
pub(super) fn round_double(v: f64, places: i32, cut: bool) -> f64 {
    let unit = 10f64.powi(places.abs());
    let down = |x: f64| if cut { x.trunc() } else { x.round_ties_even() };
    let scaled = if places < 0 { v / unit } else { v * unit };
    if places < 0 && unit.is_infinite() {
        return 0.0;
    }
    if places >= 0 && !scaled.is_finite() {
        return v;
    }
    if places < 0 { down(scaled) * unit } else { down(scaled) / unit }
}

/// One above the greatest random number.
const RAND_MAX: u32 = 0x3FFF_FFFF;

/// MySQL's generator: two numbers, each made of both.
fn next_random(state: &mut [u32; 2]) -> u32 {
    let max = u64::from(RAND_MAX);
    let first = (u64::from(state[0]) * 3 + u64::from(state[1])) % max;
    let second = (first + u64::from(state[1]) + 33) % max;
    *state = [first as u32, second as u32];
    first as u32
}

/// The state that a seed starts with.
fn seeded(seed: u32) -> [u32; 2] {
    let first = seed.wrapping_mul(0x10001).wrapping_add(55_555_555);
    let second = seed.wrapping_mul(0x1000_0001);
    [first % RAND_MAX, second % RAND_MAX]
}

/// The number at the start of text in a base; clipped to 64 bits.
fn parse_based(text: &[u8], base: u32, signed: bool) -> u64 {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let mut v: u128 = 0;
    for digit in digits.iter().map_while(|&b| char::from(b).to_digit(base)) {
        v = (v * u128::from(base) + u128::from(digit)).min(1 << 65);
    }
    if signed {
        let limit = if negative { 1u128 << 63 } else { (1u128 << 63) - 1 };
        let v = v.min(limit) as i128;
        return (if negative { -v } else { v }) as u64;
    }
    let v = v.min(u128::from(u64::MAX)) as u64;
    if negative { v.wrapping_neg() } else { v }
}

fn print_based(v: u64, base: u64, signed: bool) -> Vec<u8> {
    let negative = signed && (v as i64) < 0;
    let mut v = if negative { (v as i64).unsigned_abs() } else { v };
    let mut out = Vec::new();
    loop {
        out.push(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(v % base) as usize]);
        v /= base;
        if v == 0 {
            break;
        }
    }
    if negative {
        out.push(b'-');
    }
    out.reverse();
    out
}
