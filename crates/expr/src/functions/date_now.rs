//! The statement's time: NOW, CURDATE, UTC_TIMESTAMP, SYSDATE; UNIX_TIMESTAMP and FROM_UNIXTIME; CONVERT_TZ.

use super::{Function, arg, evals, f};
use crate::EvalCx;
use crate::build::{New, date_type, datetime_type, int_type, time_type};
use crate::cast::fraction;
use crate::env;
use crate::node::{Constness, EvalFn, Expr};
use crate::scope::CompileCx;
use vaquita_types::temporal::{DateTime, Time, calendar, print};
use vaquita_types::{Decimal, Kind, SqlResult, SqlType, TimeZone, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("now", 0, 1, |cx, name, args| moment(cx, name, args, eval_now)),
    f("current_timestamp", 0, 1, |cx, _, args| moment(cx, "now", args, eval_now)),
    f("localtime", 0, 1, |cx, _, args| moment(cx, "now", args, eval_now)),
    f("localtimestamp", 0, 1, |cx, _, args| moment(cx, "now", args, eval_now)),
    f("sysdate", 0, 1, |cx, name, args| moment(cx, name, args, eval_sysdate)),
    f("utc_timestamp", 0, 1, |cx, name, args| moment(cx, name, args, eval_utc_timestamp)),
    f("curdate", 0, 0, |cx, name, args| today(cx, name, args, eval_curdate)),
    f("current_date", 0, 0, |cx, _, args| today(cx, "curdate", args, eval_curdate)),
    f("utc_date", 0, 0, |cx, name, args| today(cx, name, args, eval_utc_date)),
    f("curtime", 0, 1, |cx, name, args| clock(cx, name, args, eval_curtime)),
    f("current_time", 0, 1, |cx, _, args| clock(cx, "curtime", args, eval_curtime)),
    f("utc_time", 0, 1, |cx, name, args| clock(cx, name, args, eval_utc_time)),
    f("unix_timestamp", 0, 1, unix_timestamp),
    f("from_unixtime", 1, 2, from_unixtime),
    f("convert_tz", 3, 3, |cx, name, args| {
        let ty = datetime_type(super::date_arith::fsp(&args[0]));
        Ok(New::call(name, ty, args, eval_convert_tz).nullable().build(cx))
    }),
];

/// The argument: digits of the fraction.
fn digits(name: &str, args: &[Expr]) -> SqlResult<u8> {
    match args.first().and_then(Expr::as_const) {
        Some(Value::Int(n)) => fraction(name, Some(u32::try_from(*n).unwrap_or(u32::MAX))),
        _ => Ok(0),
    }
}

fn moment(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>, eval: EvalFn) -> SqlResult<Expr> {
    let ty = datetime_type(digits(name, &args)?);
    let constness = if name == "sysdate" { Constness::Row } else { Constness::Execution };
    Ok(New::call(name, ty, Vec::new(), eval).at_least(constness).build_not_null(cx))
}

fn today(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>, eval: EvalFn) -> SqlResult<Expr> {
    Ok(New::call(name, date_type(), args, eval).at_least(Constness::Execution).build_not_null(cx))
}

fn clock(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>, eval: EvalFn) -> SqlResult<Expr> {
    let ty = time_type(digits(name, &args)?);
    let ty = SqlType { length: ty.length - 2, ..ty };
    Ok(New::call(name, ty, Vec::new(), eval).at_least(Constness::Execution).build_not_null(cx))
}

fn unix_timestamp(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    let Some(of) = args.first() else {
        let new = New::call(name, int_type(11), args, eval_unix_now).at_least(Constness::Execution);
        return Ok(new.build_not_null(cx));
    };
    let fsp = super::date_arith::fsp(of);
    let ty = if fsp == 0 { int_type(11) } else { SqlType::decimal(11 + u32::from(fsp), fsp) };
    Ok(New::call(name, ty, args, eval_unix_timestamp).build(cx))
}

fn from_unixtime(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let format = if args.len() == 2 { args.pop() } else { None };
    let fsp = match args[0].ty().kind {
        Kind::Decimal => args[0].ty().decimals.min(6),
        kind if kind.is_integer() => 0,
        _ if args[0].ty().decimals < 6 && !args[0].is_text() => args[0].ty().decimals,
        _ => 6,
    };
    let moment = New::call(name, datetime_type(fsp), args, eval_from_unixtime).nullable().build(cx);
    match format {
        None => Ok(moment),
        Some(format) => super::call(cx, "date_format", vec![moment, format]),
    }
}

/// Local time of a moment.
fn local(us: i64, zone: &TimeZone, fsp: u8) -> DateTime {
    let (seconds, micros) = (us.div_euclid(1_000_000), us.rem_euclid(1_000_000));
    let unit = 10i64.pow(6 - u32::from(fsp.min(6)));
    let offset = i64::from(zone.offset_at(seconds));
    calendar::from_unix(seconds + offset, (micros / unit * unit) as u32).unwrap_or_default()
}

fn time_of(d: DateTime) -> Time {
    Time { negative: false, hours: d.hour.into(), minutes: d.minute, seconds: d.second, micros: d.micros }
}

fn wall_clock() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |d| d.as_micros() as i64)
}

/// Last second that a TIMESTAMP holds.
const TIMESTAMP_MAX: i64 = i32::MAX as i64;

evals! {
    eval_now(e, args, cx, row) {
        Ok(Value::DateTime(local(cx.state.now_us, env::time_zone(cx.state), e.ty().decimals)))
    }
    eval_sysdate(e, args, cx, row) {
        Ok(Value::DateTime(local(wall_clock(), env::time_zone(cx.state), e.ty().decimals)))
    }
    eval_utc_timestamp(e, args, cx, row) {
        Ok(Value::DateTime(local(cx.state.now_us, &TimeZone::UTC, e.ty().decimals)))
    }
    eval_curdate(e, args, cx, row) {
        Ok(Value::Date(local(cx.state.now_us, env::time_zone(cx.state), 0).date))
    }
    eval_utc_date(e, args, cx, row) {
        Ok(Value::Date(local(cx.state.now_us, &TimeZone::UTC, 0).date))
    }
    eval_curtime(e, args, cx, row) {
        Ok(Value::Time(time_of(local(cx.state.now_us, env::time_zone(cx.state), e.ty().decimals))))
    }
    eval_utc_time(e, args, cx, row) {
        Ok(Value::Time(time_of(local(cx.state.now_us, &TimeZone::UTC, e.ty().decimals))))
    }
    eval_unix_now(e, args, cx, row) {
        Ok(Value::Int(cx.state.now_us.div_euclid(1_000_000)))
    }
    eval_unix_timestamp(e, args, cx, row) {
        let Some(d) = args[0].datetime(cx, row)? else {
            return Ok(if args[0].eval(cx, row)?.is_null() { Value::Null } else { zero(e) });
        };
        if d.date.has_zero_part() {
            return Ok(zero(e));
        }
        let seconds = env::time_zone(cx.state).to_utc_lenient(calendar::to_unix(d));
        if !(1..=TIMESTAMP_MAX).contains(&seconds) {
            return Ok(zero(e));
        }
        if e.ty().kind.is_integer() {
            return Ok(Value::Int(seconds));
        }
        Ok(Value::Decimal(with_micros(seconds, d.micros, e.ty().decimals)))
    }
    eval_from_unixtime(e, args, cx, row) {
        let v = arg!(args[0].decimal(cx, row));
        let v = v.round(6).unwrap_or(v);
        let whole = v.truncate(0).unwrap_or(v).to_i64().unwrap_or(-1);
        if v.is_negative() || !(0..=TIMESTAMP_MAX).contains(&whole) {
            return Ok(Value::Null);
        }
        let micros = v.sub(&Decimal::from(whole)).and_then(|f| f.mul(&Decimal::from(1_000_000i64)));
        let micros = micros.map_or(0, |m| m.to_i64().unwrap_or(0));
        let zone = env::time_zone(cx.state);
        let d = local(whole * 1_000_000 + micros, zone, 6);
        Ok(print::round_datetime(d, e.ty().decimals).map_or(Value::Null, Value::DateTime))
    }
    eval_convert_tz(e, args, cx, row) {
        let from = arg!(args[1].text(cx, row));
        let to = arg!(args[2].text(cx, row));
        let (Some(from), Some(to)) = (zone(&from, cx), zone(&to, cx)) else { return Ok(Value::Null) };
        let d = arg!(args[0].whole_datetime(cx, row));
        let seconds = from.to_utc_lenient(calendar::to_unix(d));
        // Outside the range of TIMESTAMP nothing is converted.
        if !(1..=TIMESTAMP_MAX).contains(&seconds) {
            return Ok(Value::DateTime(d));
        }
        let local = seconds + i64::from(to.offset_at(seconds));
        Ok(calendar::from_unix(local, d.micros).map_or(Value::Null, Value::DateTime))
    }
}

fn zone(name: &[u8], cx: &EvalCx<'_>) -> Option<TimeZone> {
    let _ = cx;
    TimeZone::find(std::str::from_utf8(name).ok()?)
}

fn zero<'r>(e: &Expr) -> Value<'r> {
    if e.ty().kind.is_integer() { Value::Int(0) } else { Value::Decimal(with_micros(0, 0, e.ty().decimals)) }
}

/// Seconds with their fraction.
pub(super) fn with_micros(seconds: i64, micros: u32, fsp: u8) -> Decimal {
    let text = format!("{seconds}.{micros:06}");
    let v = Decimal::parse(text.as_bytes()).value;
    v.truncate(fsp.into()).unwrap_or(v)
}
