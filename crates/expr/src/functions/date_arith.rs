//! Calculating with dates: intervals, differences, made ones.

use super::date_parts::unit_of;
use super::{Function, arg, evals, f};
use crate::EvalCx;
use crate::build::{Collated, New, date_type, datetime_type, int_type, text_type, time_type};
use crate::node::{Data, Expr};
use crate::row::Row;
use crate::scope::CompileCx;
use vaquita_parser::ast::IntervalUnit;
use vaquita_types::temporal::interval::{self, Interval, Unit};
use vaquita_types::temporal::{Date, DateTime, Time, calendar, parse, print};
use vaquita_types::{Kind, SqlError, SqlResult, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("adddate", 2, 2, |cx, _, args| days(cx, args, false)),
    f("subdate", 2, 2, |cx, _, args| days(cx, args, true)),
    f("datediff", 2, 2, |cx, name, args| {
        Ok(New::call(name, int_type(7), args, eval_datediff).nullable().build(cx))
    }),
    f("addtime", 2, 2, add_time),
    f("subtime", 2, 2, add_time),
    f("timediff", 2, 2, |cx, name, args| {
        let ty = time_type(fsp(&args[0]).max(fsp(&args[1])));
        Ok(New::call(name, ty, args, eval_timediff).nullable().build(cx))
    }),
    f("timestamp", 1, 2, |cx, name, args| {
        let ty = datetime_type(args.iter().map(fsp).max().unwrap_or(0));
        Ok(New::call(name, ty, args, eval_timestamp).nullable().build(cx))
    }),
    f("time", 1, 1, |cx, name, args| {
        let ty = time_type(fsp(&args[0]));
        Ok(New::call(name, ty, args, eval_time).nullable().build(cx))
    }),
    f("makedate", 2, 2, |cx, name, args| {
        Ok(New::call(name, date_type(), args, eval_makedate).nullable().build(cx))
    }),
    f("maketime", 3, 3, |cx, name, args| {
        let decimals = fsp_of_number(&args[2]);
        Ok(New::call(name, time_type(decimals), args, eval_maketime).nullable().build(cx))
    }),
    f("sec_to_time", 1, 1, |cx, name, args| {
        let decimals = fsp_of_number(&args[0]);
        Ok(New::call(name, time_type(decimals), args, eval_sec_to_time).build(cx))
    }),
    f("period_add", 2, 2, |cx, name, args| Ok(New::call(name, int_type(6), args, eval_period_add).build(cx))),
    f("period_diff", 2, 2, |cx, name, args| {
        Ok(New::call(name, int_type(6), args, eval_period_diff).build(cx))
    }),
];

/// Digits of the fraction of an argument taken as a time: text may have any number, a constant what it has.
pub(super) fn fsp(e: &Expr) -> u8 {
    match e.ty().kind {
        Kind::Time | Kind::DateTime | Kind::Timestamp => e.ty().decimals,
        Kind::Date => 0,
        Kind::Decimal => e.ty().decimals.min(6),
        kind if kind.is_integer() || kind == Kind::Null => 0,
        _ => match e.as_const() {
            Some(Value::Bytes(text)) => {
                let digits = text.iter().rev().take_while(|b| b.is_ascii_digit()).count();
                let point = text.len() > digits && text[text.len() - digits - 1] == b'.';
                if point && digits > 0 { digits.min(6) as u8 } else { 0 }
            }
            Some(Value::Null) => 0,
            _ => 6,
        },
    }
}

/// Digits of the fraction of a number of seconds.
fn fsp_of_number(e: &Expr) -> u8 {
    match e.ty().kind {
        Kind::Decimal => e.ty().decimals.min(6),
        kind if kind.is_integer() || kind == Kind::Null => 0,
        kind if kind.is_temporal() => e.ty().decimals,
        _ => 6,
    }
}

fn days(cx: &mut CompileCx<'_>, args: Vec<Expr>, subtract: bool) -> SqlResult<Expr> {
    let [base, amount] = <[Expr; 2]>::try_from(args).map_err(|_| crate::compare::wrong_columns(1))?;
    Ok(add(cx, base, amount, IntervalUnit::Day, subtract))
}

/// `base ± INTERVAL amount unit`: a DATE stays one with whole days, a TIME becomes a TIME, text stays text.
pub(crate) fn add(
    cx: &mut CompileCx<'_>,
    base: Expr,
    amount: Expr,
    unit: IntervalUnit,
    subtract: bool,
) -> Expr {
    let unit = unit_of(unit);
    let own = match base.ty().kind {
        Kind::Time | Kind::DateTime | Kind::Timestamp => base.ty().decimals,
        _ => 0,
    };
    let of_unit = if unit.has_micros() {
        6
    } else if unit == Unit::Second && !amount.ty().kind.is_integer() {
        if amount.is_text() { 6 } else { amount.ty().decimals.min(6) }
    } else {
        0
    };
    let decimals = own.max(of_unit);
    let name = if subtract { "date_sub_interval" } else { "date_add_interval" };
    let text = !base.ty().kind.is_temporal();
    let by = Collated::connection(cx);
    let ty = match base.ty().kind {
        Kind::Date if !unit.has_time() => date_type(),
        Kind::Time => time_type(decimals),
        _ if text => date_text(by),
        _ => datetime_type(decimals),
    };
    let new = New::call(name, ty, vec![base, amount], if subtract { eval_date_sub } else { eval_date_add });
    let new = new.data(Data::Unit(unit)).nullable();
    if text { new.collated(by).build(cx) } else { new.build(cx) }
}

/// `TIMESTAMPDIFF(unit, from, to)`.
pub(crate) fn timestamp_diff(cx: &mut CompileCx<'_>, unit: IntervalUnit, from: Expr, to: Expr) -> Expr {
    let new = New::call("timestampdiff", int_type(21), vec![from, to], eval_timestamp_diff);
    new.data(Data::Unit(unit_of(unit))).nullable().build(cx)
}

/// Text of a date or time that was calculated: CHAR(29).
fn date_text(by: Collated) -> vaquita_types::SqlType {
    vaquita_types::SqlType { kind: Kind::Char, ..text_type(29, by) }
}

fn add_time(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    let decimals = fsp(&args[0]).max(fsp(&args[1]));
    let by = Collated::connection(cx);
    let ty = match args[0].ty().kind {
        Kind::Time => time_type(decimals),
        Kind::DateTime | Kind::Timestamp => datetime_type(decimals),
        _ => date_text(by),
    };
    let text = ty.kind.is_string();
    let eval = if name == "addtime" { eval_addtime } else { eval_subtime };
    let new = New::call(name, ty, args, eval).nullable();
    Ok(if text { new.collated(by).build(cx) } else { new.build(cx) })
}

evals! {
    eval_date_add(e, args, cx, row) { added(e, args, cx, row, false) }
    eval_date_sub(e, args, cx, row) { added(e, args, cx, row, true) }
    eval_timestamp_diff(e, args, cx, row) {
        let from = arg!(args[0].whole_datetime(cx, row));
        let to = arg!(args[1].whole_datetime(cx, row));
        Ok(Value::Int(interval::diff(e.unit(), from, to)))
    }
    eval_datediff(e, args, cx, row) {
        let (a, b) = (args[0].whole_datetime(cx, row)?, args[1].whole_datetime(cx, row)?);
        let (Some(a), Some(b)) = (a, b) else { return Ok(Value::Null) };
        Ok(Value::Int(calendar::to_days(a.date) - calendar::to_days(b.date)))
    }
    eval_addtime(e, args, cx, row) { shifted(e, args, cx, row, 1) }
    eval_subtime(e, args, cx, row) { shifted(e, args, cx, row, -1) }
    eval_timediff(e, args, cx, row) {
        let kinds = (args[0].ty().kind, args[1].ty().kind);
        if let (Kind::Date, Kind::DateTime | Kind::Timestamp) | (Kind::DateTime | Kind::Timestamp, Kind::Date) = kinds {
            return Ok(Value::Null);
        }
        // Beside a DATE what has no type of its own is a date too.
        if (kinds.0 == Kind::Date) != (kinds.1 == Kind::Date) && !(kinds.0.is_temporal() && kinds.1.is_temporal()) {
            let a = arg!(args[0].datetime(cx, row));
            let b = arg!(args[1].datetime(cx, row));
            return Ok(clipped_time(calendar::datetime_micros(a) - calendar::datetime_micros(b), cx));
        }
        let a = arg!(moment(&args[0], cx, row));
        let b = arg!(moment(&args[1], cx, row));
        let (Moment::Time(a), Moment::Time(b)) = (a, b) else {
            let (Moment::DateTime(a), Moment::DateTime(b)) = (a, b) else { return Ok(Value::Null) };
            return Ok(clipped_time(calendar::datetime_micros(a) - calendar::datetime_micros(b), cx));
        };
        Ok(clipped_time(calendar::time_micros(a) - calendar::time_micros(b), cx))
    }
    eval_timestamp(e, args, cx, row) {
        let d = arg!(args[0].real_datetime(cx, row));
        let Some(time) = args.get(1) else { return Ok(Value::DateTime(d)) };
        let t = match time.ty().kind {
            Kind::Date | Kind::DateTime | Kind::Timestamp => arg!(time.time(cx, row)),
            _ => match arg!(moment(time, cx, row)) {
                Moment::Time(t) => t,
                Moment::DateTime(_) => return Ok(Value::Null),
            },
        };
        let micros = calendar::datetime_micros(d) + calendar::time_micros(t);
        Ok(calendar::datetime_from_micros(micros).map_or(Value::Null, Value::DateTime))
    }
    eval_time(e, args, cx, row) {
        Ok(Value::Time(arg!(args[0].time(cx, row))))
    }
    eval_makedate(e, args, cx, row) {
        let year = arg!(args[0].integer(cx, row));
        let day = arg!(args[1].integer(cx, row));
        if !(0..=9999).contains(&year) || day <= 0 {
            return Ok(Value::Null);
        }
        let year = if year < 70 { year + 2000 } else if year < 100 { year + 1900 } else { year };
        let first = calendar::to_days(Date { year: year as u16, month: 1, day: 1 });
        let days = i128::from(first) + day - 1;
        let date = i64::try_from(days).ok().and_then(calendar::from_days);
        Ok(date.map_or(Value::Null, Value::Date))
    }
    eval_maketime(e, args, cx, row) {
        let hours = arg!(args[0].integer(cx, row));
        let minutes = arg!(args[1].integer(cx, row));
        let seconds = arg!(args[2].decimal(cx, row));
        let whole = seconds.truncate(0).unwrap_or(seconds).to_i64().unwrap_or(-1);
        if !(0..60).contains(&minutes) || !(0..60).contains(&whole) || seconds.is_negative() {
            return Ok(Value::Null);
        }
        let micros = micros_of(&seconds);
        let total = (hours.abs() * 3600 + minutes * 60 + i128::from(whole)) * 1_000_000 + i128::from(micros);
        let total = if hours < 0 { -total } else { total };
        let total = total.clamp(-(1 << 60), 1 << 60) as i64;
        let (t, clipped) = calendar::time_from_micros(total);
        if clipped {
            let text = format!("{hours}:{minutes:02}:{whole:02}");
            cx.warn(1292, format!("Truncated incorrect time value: '{text}'"));
        }
        Ok(Value::Time(t))
    }
    eval_sec_to_time(e, args, cx, row) {
        let v = arg!(args[0].decimal(cx, row));
        let whole = v.truncate(0).unwrap_or(v).to_i64().unwrap_or_else(|clip| clip);
        let micros = i64::from(micros_of(&v.abs()));
        let micros = if v.is_negative() { -micros } else { micros };
        let total = (i128::from(whole) * 1_000_000 + i128::from(micros)).clamp(-(1 << 60), 1 << 60) as i64;
        let (t, clipped) = calendar::time_from_micros(total);
        if clipped {
            cx.warn(1292, format!("Truncated incorrect time value: '{v}'"));
        }
        Ok(Value::Time(print::round_time(t, e.ty().decimals)))
    }
    eval_period_add(e, args, cx, row) {
        let period = arg!(args[0].integer(cx, row)) as i64;
        let months = arg!(args[1].integer(cx, row)) as i64;
        let Some(count) = months_of(period, "period_add")? else { return Ok(Value::Int(0)) };
        let sum = count.wrapping_add(months);
        Ok(Value::Int(sum.div_euclid(12) * 100 + sum.rem_euclid(12) + 1))
    }
    eval_period_diff(e, args, cx, row) {
        let a = arg!(args[0].integer(cx, row)) as i64;
        let b = arg!(args[1].integer(cx, row)) as i64;
        let (a, b) = (months_of(a, "period_diff")?.unwrap_or(0), months_of(b, "period_diff")?.unwrap_or(0));
        Ok(Value::Int(a - b))
    }
}

/// Months since the year 0 of a YYMM or YYYYMM.
fn months_of(period: i64, function: &str) -> SqlResult<Option<i64>> {
    if period == 0 {
        return Ok(None);
    }
    let (year, month) = (period / 100, period % 100);
    if period < 0 || month == 0 || month > 12 {
        return Err(SqlError::new(1210, format!("Incorrect arguments to {function}")));
    }
    let year = if year < 70 {
        year + 2000
    } else if year < 100 {
        year + 1900
    } else {
        year
    };
    Ok(Some(year * 12 + month - 1))
}

/// The fraction of a number that is not negative, in microseconds.
fn micros_of(v: &vaquita_types::Decimal) -> u32 {
    let whole = v.truncate(0).unwrap_or(*v);
    let fraction = v.sub(&whole).and_then(|f| f.mul(&vaquita_types::Decimal::from(1_000_000i64)));
    let fraction = fraction.and_then(|f| f.truncate(0));
    fraction.map_or(0, |f| f.to_i64().unwrap_or(0).clamp(0, 999_999) as u32)
}

/// The amount of an interval.
fn amount(e: &Expr, unit: Unit, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<Interval>> {
    if unit.is_compound() {
        let Some(text) = e.text(cx, row)? else { return Ok(None) };
        return Ok(Interval::parse(unit, &text));
    }
    if unit == Unit::Second && !e.ty().kind.is_integer() {
        let Some(v) = e.decimal(cx, row)? else { return Ok(None) };
        let whole = v.truncate(0).unwrap_or(v).to_i64().unwrap_or_else(|clip| clip);
        let micros = micros_of(&v.abs());
        return Ok(Some(Interval::of(unit, whole, micros, v.is_negative())));
    }
    let Some(v) = e.integer(cx, row)? else { return Ok(None) };
    let v = v.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
    Ok(Some(Interval::of(unit, v, 0, false)))
}

fn overflow<'r>(cx: &mut EvalCx<'_>, what: &str) -> Value<'r> {
    cx.warn(1441, format!("Datetime function: {what} field overflow"));
    Value::Null
}

fn added<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
    subtract: bool,
) -> SqlResult<Value<'r>> {
    let unit = e.unit();
    if e.ty().kind == Kind::Time {
        let t = arg!(args[0].time(cx, row));
        let by = arg!(amount(&args[1], unit, cx, row));
        if by.months > 0 {
            return Ok(Value::Null);
        }
        let micros = interval_micros(&by) * if subtract { -1 } else { 1 };
        let sum = i128::from(calendar::time_micros(t)) + micros;
        let sum = sum.clamp(-(1 << 60), 1 << 60) as i64;
        let (t, clipped) = calendar::time_from_micros(sum);
        return Ok(if clipped { overflow(cx, "time") } else { Value::Time(t) });
    }
    let Some((d, has_time)) = base_of(&args[0], cx, row)? else { return Ok(Value::Null) };
    let by = arg!(amount(&args[1], unit, cx, row));
    let by = if subtract { by.neg() } else { by };
    let Some(d) = interval::add(d, &by) else { return Ok(overflow(cx, "datetime")) };
    Ok(match e.ty().kind {
        Kind::Date => Value::Date(d.date),
        Kind::DateTime => Value::DateTime(d),
        _ => {
            let mut out = Vec::new();
            if has_time || unit.has_time() {
                print::push_datetime(d, if d.micros > 0 { 6 } else { 0 }, &mut out);
            } else {
                print::push_date(d.date, &mut out);
            }
            Value::owned(out)
        }
    })
}

/// The date that an interval is added to, and whether it has a time of day.
fn base_of(e: &Expr, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<(DateTime, bool)>> {
    let v = e.eval(cx, row)?;
    let Some(d) = e.whole(&v, cx, row)? else { return Ok(None) };
    let has_time = match &v {
        Value::DateTime(_) => true,
        Value::Date(_) => false,
        Value::Bytes(text) => parse::parse_datetime(text, &cx.convert().date).has_time,
        _ => d.hour != 0 || d.minute != 0 || d.second != 0,
    };
    Ok(Some((d, has_time)))
}

fn interval_micros(of: &Interval) -> i128 {
    let seconds = i128::from(of.days) * 86_400 + i128::from(of.seconds);
    let micros = seconds * 1_000_000 + i128::from(of.micros);
    if of.negative { -micros } else { micros }
}

#[derive(Debug, Clone, Copy)]
enum Moment {
    Time(Time),
    DateTime(DateTime),
}

/// A time, or a date with time; a DATE is none.
fn moment(e: &Expr, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<Moment>> {
    let v = e.eval(cx, row)?;
    Ok(match &v {
        Value::Null => None,
        Value::Time(t) => Some(Moment::Time(*t)),
        Value::DateTime(d) => Some(Moment::DateTime(*d)),
        Value::Date(date) => Some(Moment::DateTime(DateTime { date: *date, ..DateTime::default() })),
        Value::Bytes(text) if has_days(text) => v.to_time(&mut cx.convert()).map(Moment::Time),
        Value::Bytes(text) if text.len() > 10 && text.iter().filter(|b| !b.is_ascii_digit()).count() >= 4 => {
            v.to_datetime(&mut cx.convert()).map(Moment::DateTime)
        }
        Value::Int(n) if n.unsigned_abs() >= 10_000_000_000 => {
            v.to_datetime(&mut cx.convert()).map(Moment::DateTime)
        }
        _ if crate::access::is_no_time(&v, cx) => e.time(cx, row)?.map(Moment::Time),
        _ => v.to_time(&mut cx.convert()).map(Moment::Time),
    })
}

/// Whether a text is a time with days before it, `1 02:03:04.5`: no date has so few digits before its time.
fn has_days(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    (1..5).contains(&digits) && text.get(digits) == Some(&b' ') && text.contains(&b':')
}

fn clipped_time<'r>(micros: i64, cx: &mut EvalCx<'_>) -> Value<'r> {
    let (t, clipped) = calendar::time_from_micros(micros);
    if clipped {
        let mut text = Vec::new();
        if micros < 0 {
            text.push(b'-');
        }
        let seconds = micros.unsigned_abs() / 1_000_000;
        let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        text.extend_from_slice(format!("{h:02}:{m:02}:{s:02}").as_bytes());
        cx.warn(1292, format!("Truncated incorrect time value: '{}'", String::from_utf8_lossy(&text)));
    }
    Value::Time(t)
}

fn shifted<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
    sign: i64,
) -> SqlResult<Value<'r>> {
    let base = match args[0].ty().kind {
        Kind::Date => Moment::Time(arg!(args[0].time(cx, row))),
        _ => arg!(moment(&args[0], cx, row)),
    };
    // A typed date loses its date, text of one is no time.
    let by = match args[1].ty().kind {
        Kind::Date | Kind::DateTime | Kind::Timestamp => arg!(args[1].time(cx, row)),
        _ => match arg!(moment(&args[1], cx, row)) {
            Moment::Time(by) => by,
            Moment::DateTime(_) => return Ok(Value::Null),
        },
    };
    let by = sign * calendar::time_micros(by);
    let text = e.ty().kind.is_string();
    let print = |v: Value<'_>, fsp: u8| {
        let mut out = Vec::new();
        match v {
            Value::DateTime(d) => print::push_datetime(d, fsp, &mut out),
            Value::Time(t) => print::push_time(t, fsp, &mut out),
            _ => {}
        }
        Value::owned(out)
    };
    let v = match base {
        Moment::DateTime(d) => match calendar::datetime_from_micros(calendar::datetime_micros(d) + by) {
            Some(d) => Value::DateTime(d),
            None => return Ok(Value::Null),
        },
        Moment::Time(t) => clipped_time(calendar::time_micros(t) + by, cx),
    };
    if !text {
        return Ok(v);
    }
    let micros = match &v {
        Value::DateTime(d) => d.micros,
        Value::Time(t) => t.micros,
        _ => 0,
    };
    Ok(print(v, if micros > 0 { 6 } else { 0 }))
}
