//! Dates and times in formats: DATE_FORMAT, TIME_FORMAT, STR_TO_DATE, GET_FORMAT.

use super::date_parts::{day_name, month_name};
use super::{Function, arg, evals, f};
use crate::build::{Collated, New, charset_of, date_type, datetime_type, text_type, time_type};
use crate::locale::{Locale, push_name};
use crate::node::{Data, Expr};
use crate::scope::CompileCx;
use crate::{EvalCx, env};
use std::io::Write as _;
use vaquita_engine::text::charset::Charset;
use vaquita_parser::ast::TemporalKind;
use vaquita_types::temporal::{Date, DateTime, Time, calendar};
use vaquita_types::{Kind, SqlMode, SqlResult, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("date_format", 2, 2, |cx, name, args| format(cx, name, args, false)),
    f("time_format", 2, 2, |cx, name, args| format(cx, name, args, true)),
    f("str_to_date", 2, 2, str_to_date),
];

fn format(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>, time: bool) -> SqlResult<Expr> {
    let by = Collated::connection(cx);
    let chars = match args[1].as_const() {
        Some(Value::Bytes(format)) => format_width(format),
        _ => u64::from(args[1].chars()) * 10,
    };
    let eval = if time { eval_time_format } else { eval_date_format };
    let ty = vaquita_types::SqlType { decimals: 0, ..text_type(chars.min(1 << 24), by) };
    Ok(New::call(name, ty, args, eval).collated(by).nullable().build(cx))
}

/// Characters of what a format gives, at most.
fn format_width(format: &[u8]) -> u64 {
    let mut width = 0;
    let mut bytes = format.iter();
    while let Some(&b) = bytes.next() {
        width += match if b == b'%' { bytes.next() } else { None } {
            Some(b'M' | b'W') => 64,
            Some(b'D') => 4,
            Some(b'Y' | b'x' | b'X') => 4,
            Some(b'a' | b'b') => 32,
            Some(b'j') => 3,
            Some(b'k' | b'H') => 7,
            Some(b'r') => 11,
            Some(b'T') => 8,
            Some(b'f') => 6,
            Some(b'w' | b'%') => 1,
            Some(
                b'u' | b'U' | b'v' | b'V' | b'y' | b'm' | b'd' | b'h' | b'i' | b'I' | b'l' | b'p' | b'S'
                | b's' | b'c' | b'e',
            ) => 2,
            _ => 1,
        };
    }
    width
}

fn str_to_date(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    let ty = match args[1].as_const() {
        Some(Value::Bytes(format)) => {
            let has = |wanted: &[u8]| format.windows(2).any(|w| w[0] == b'%' && wanted.contains(&w[1]));
            let (date, time, micros) = (has(b"abcDdeJjMmUuVvWwXxYy"), has(b"HhIikflprSsT"), has(b"f"));
            match (date, time || micros) {
                (true, false) => date_type(),
                (false, true) => time_type(if micros { 6 } else { 0 }),
                (false, false) => date_type(),
                (true, true) => datetime_type(if micros { 6 } else { 0 }),
            }
        }
        _ => datetime_type(6),
    };
    Ok(New::call(name, ty, args, eval_str_to_date).nullable().build(cx))
}

/// `GET_FORMAT(kind, standard)`.
pub(crate) fn get_format(cx: &mut CompileCx<'_>, kind: TemporalKind, standard: Expr) -> Expr {
    let by = Collated::connection(cx);
    let kind = match kind {
        TemporalKind::Date => 0,
        TemporalKind::Time => 1,
        _ => 2,
    };
    let ty = vaquita_types::SqlType { decimals: 0, ..text_type(17, by) };
    let new = New::call("get_format", ty, vec![standard], eval_get_format);
    new.collated(by).data(Data::Number(kind)).nullable().build(cx)
}

evals! {
    eval_date_format(e, args, cx, row) {
        let d = arg!(args[0].datetime(cx, row));
        let format = arg!(args[1].text(cx, row));
        if format.is_empty() {
            return Ok(Value::Null);
        }
        let names = Names::of(e, cx);
        Ok(formatted(d, u32::from(d.hour), false, false, &format, names).map_or(Value::Null, Value::owned))
    }
    eval_time_format(e, args, cx, row) {
        let t = arg!(args[0].time(cx, row));
        let format = arg!(args[1].text(cx, row));
        if format.is_empty() {
            return Ok(Value::Null);
        }
        let d = DateTime {
            date: Date::default(),
            hour: (t.hours % 24) as u8,
            minute: t.minutes,
            second: t.seconds,
            micros: t.micros,
        };
        let names = Names::of(e, cx);
        Ok(formatted(d, t.hours.into(), t.negative, true, &format, names).map_or(Value::Null, Value::owned))
    }
    eval_str_to_date(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let format = arg!(args[1].text(cx, row));
        let Some(found) = parsed(&text, &format) else { return Ok(refused(&text, cx)) };
        let (d, rest) = found;
        let mode = env::sql_mode(cx.state);
        let zero = d.date == Date::default();
        // A year of zero is a part that is zero, too.
        let has_date = e.ty().kind != Kind::Time;
        let zero_part = d.date.has_zero_part() || has_date && d.date.year == 0;
        if zero && mode.has(SqlMode::NO_ZERO_DATE) || zero_part && !zero && mode.has(SqlMode::NO_ZERO_IN_DATE) {
            return Ok(refused(&text, cx));
        }
        if rest {
            let what = match e.ty().kind {
                Kind::Time => "time",
                Kind::Date => "date",
                _ => "datetime",
            };
            let text = String::from_utf8_lossy(&text).into_owned();
            cx.warn(1292, format!("Truncated incorrect {what} value: '{text}'"));
        }
        Ok(match e.ty().kind {
            Kind::Date => Value::Date(d.date),
            Kind::Time => Value::Time(Time {
                negative: false,
                hours: u16::from(d.hour) + u16::from(d.date.day) * 24,
                minutes: d.minute,
                seconds: d.second,
                micros: d.micros,
            }),
            _ => Value::DateTime(d),
        })
    }
    eval_get_format(e, args, cx, row) {
        let standard = arg!(args[0].text(cx, row));
        let standard = standard.to_ascii_uppercase();
        let format = match (e.number(), &standard[..]) {
            (0, b"USA") => "%m.%d.%Y",
            (0, b"JIS" | b"ISO") => "%Y-%m-%d",
            (0, b"EUR") => "%d.%m.%Y",
            (0, b"INTERNAL") => "%Y%m%d",
            (1, b"USA") => "%h:%i:%s %p",
            (1, b"JIS" | b"ISO") => "%H:%i:%s",
            (1, b"EUR") => "%H.%i.%s",
            (1, b"INTERNAL") => "%H%i%s",
            (2, b"USA" | b"EUR") => "%Y-%m-%d %H.%i.%s",
            (2, b"JIS" | b"ISO") => "%Y-%m-%d %H:%i:%s",
            (2, b"INTERNAL") => "%Y%m%d%H%i%s",
            _ => return Ok(Value::Null),
        };
        Ok(Value::bytes(format.as_bytes()))
    }
}

/// NULL with warning 1411.
fn refused<'r>(text: &[u8], cx: &mut EvalCx<'_>) -> Value<'r> {
    let text = String::from_utf8_lossy(text).into_owned();
    cx.warn(1411, format!("Incorrect datetime value: '{text}' for function str_to_date"));
    Value::Null
}

/// The names that formats give, and the character set they are given in.
#[derive(Debug, Clone, Copy)]
struct Names {
    locale: &'static Locale,
    charset: Charset,
}

impl Names {
    fn of(e: &Expr, cx: &EvalCx<'_>) -> Names {
        Names { locale: Locale::of_session(cx.state), charset: charset_of(e.ty().collation) }
    }

    fn push(self, name: &str, out: &mut Vec<u8>) {
        push_name(name, self.charset, out);
    }
}

/// A date and time by a format; `hours` of a TIME may be more than a day's. `None`: a part that the value has not.
fn formatted(
    d: DateTime,
    hours: u32,
    negative: bool,
    is_time: bool,
    format: &[u8],
    names: Names,
) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(format.len() + 16);
    if negative {
        out.push(b'-');
    }
    let date = d.date;
    let put = |out: &mut Vec<u8>, width: usize, v: u32| {
        // Writing to bytes does not fail.
        let _ = write!(out, "{v:0width$}");
    };
    let hour12 = (hours % 24 + 11) % 12 + 1;
    let half = if hours % 24 >= 12 { "PM" } else { "AM" };
    let mut bytes = format.iter();
    while let Some(&b) = bytes.next() {
        let code = if b == b'%' { bytes.next() } else { None };
        let Some(&code) = code else {
            out.push(b);
            continue;
        };
        let of_date = b"aWwjbMDUuVvXx".contains(&code);
        if is_time && of_date && !b"D".contains(&code) {
            return None;
        }
        match code {
            b'a' => names.push(names.locale.short_day(day_of_week(date)?)?, &mut out),
            b'W' => names.push(names.locale.day(day_of_week(date)?)?, &mut out),
            b'b' => names.push(names.locale.short_month(date.month)?, &mut out),
            b'M' => names.push(names.locale.month(date.month)?, &mut out),
            b'c' => put(&mut out, 1, date.month.into()),
            b'm' => put(&mut out, 2, date.month.into()),
            b'd' => put(&mut out, 2, date.day.into()),
            b'e' => put(&mut out, 1, date.day.into()),
            b'D' => {
                put(&mut out, 1, date.day.into());
                out.extend_from_slice(ordinal(date.day).as_bytes());
            }
            b'f' => put(&mut out, 6, d.micros),
            b'H' => put(&mut out, 2, hours),
            b'k' => put(&mut out, 1, hours),
            b'h' | b'I' => put(&mut out, 2, hour12),
            b'l' => put(&mut out, 1, hour12),
            b'i' => put(&mut out, 2, d.minute.into()),
            b'S' | b's' => put(&mut out, 2, d.second.into()),
            b'p' => out.extend_from_slice(half.as_bytes()),
            b'r' => {
                let text = format!("{hour12:02}:{:02}:{:02} {half}", d.minute, d.second);
                out.extend_from_slice(text.as_bytes());
            }
            b'T' => {
                let text = format!("{hours:02}:{:02}:{:02}", d.minute, d.second);
                out.extend_from_slice(text.as_bytes());
            }
            b'j' => put(&mut out, 3, calendar::day_of_year(date).into()),
            b'U' => put(&mut out, 2, calendar::week(date, 0).1.into()),
            b'u' => put(&mut out, 2, calendar::week(date, 1).1.into()),
            b'V' => put(&mut out, 2, calendar::week(date, 2).1.into()),
            b'v' => put(&mut out, 2, calendar::week(date, 3).1.into()),
            b'X' => put(&mut out, 4, calendar::week(date, 2).0.into()),
            b'x' => put(&mut out, 4, calendar::week(date, 3).0.into()),
            b'w' => {
                if date.month == 0 && date.year == 0 {
                    return None;
                }
                put(&mut out, 1, ((calendar::weekday(date) + 1) % 7).into());
            }
            b'Y' => put(&mut out, 4, date.year.into()),
            b'y' => put(&mut out, 2, (date.year % 100).into()),
            other => out.push(other),
        }
    }
    Some(out)
}

/// 0 is Monday; dates without year and month have no day.
fn day_of_week(d: Date) -> Option<u8> {
    (d.month != 0 || d.year != 0).then(|| calendar::weekday(d))
}

fn ordinal(day: u8) -> &'static str {
    match (day, day % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}

/// What STR_TO_DATE collects.
#[derive(Debug, Default)]
struct Found {
    d: DateTime,
    half: Option<bool>,
    hour12: bool,
    day_of_year: Option<u32>,
    week: Option<(u32, bool, bool)>,
    weekday: Option<u32>,
    week_year: Option<u32>,
}

/// Reads text by a format: the value, and whether text is left. `None` if it does not match.
fn parsed(text: &[u8], format: &[u8]) -> Option<(DateTime, bool)> {
    let mut found = Found::default();
    let mut rest = text;
    read(&mut found, &mut rest, format)?;
    let mut d = found.d;
    if found.hour12 {
        if d.hour == 0 || d.hour > 12 {
            return None;
        }
        d.hour = d.hour % 12 + if found.half == Some(true) { 12 } else { 0 };
    } else if found.half.is_some() {
        return None;
    }
    if let Some(days) = found.day_of_year {
        let first = calendar::to_days(Date { year: d.date.year, month: 1, day: 1 });
        d.date = calendar::from_days(first + i64::from(days) - 1)?;
    }
    if let (Some((week, monday, strict)), Some(weekday)) = (found.week, found.weekday) {
        d.date = by_week(&found, week, monday, strict, weekday)?;
    }
    let valid = d.date.month <= 12 && d.date.day <= 31 && d.hour < 24 && d.minute < 60 && d.second < 60;
    valid.then(|| (d, !rest.iter().all(u8::is_ascii_whitespace)))
}

fn by_week(found: &Found, week: u32, monday: bool, strict: bool, weekday: u32) -> Option<Date> {
    let year = if strict { found.week_year? } else { u32::from(found.d.date.year) };
    let year = u16::try_from(year).ok()?;
    let first = calendar::to_days(Date { year, month: 1, day: 1 });
    let first_weekday = i64::from(calendar::weekday(Date { year, month: 1, day: 1 }));
    // `weekday` counts from 1 for Monday to 7 for Sunday.
    let days = if monday {
        let shift = if first_weekday <= 3 { 0 } else { 7 };
        first - first_weekday + shift + (i64::from(week) - 1) * 7 + i64::from(weekday) - 1
    } else {
        let from_sunday = (first_weekday + 1) % 7;
        let shift = if from_sunday == 0 { 0 } else { 7 };
        first - from_sunday + shift + (i64::from(week) - 1) * 7 + i64::from(weekday % 7)
    };
    calendar::from_days(days)
}

/// Up to `max` digits at the start.
fn digits(rest: &mut &[u8], max: usize) -> Option<u32> {
    let n = rest.iter().take(max).take_while(|b| b.is_ascii_digit()).count();
    let (number, after) = rest.split_at(n);
    *rest = after;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// The one of these names that the text starts with, whatever its case; its position.
fn name(rest: &mut &[u8], names: impl Iterator<Item = String>) -> Option<usize> {
    for (i, name) in names.enumerate() {
        if rest.len() >= name.len() && rest[..name.len()].eq_ignore_ascii_case(name.as_bytes()) {
            *rest = &rest[name.len()..];
            return Some(i);
        }
    }
    None
}

fn months() -> impl Iterator<Item = String> {
    (1..=12).filter_map(month_name).map(str::to_owned)
}

fn read(found: &mut Found, rest: &mut &[u8], format: &[u8]) -> Option<()> {
    let mut bytes = format.iter();
    while let Some(&b) = bytes.next() {
        *rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return Some(());
        }
        let code = if b == b'%' { bytes.next() } else { None };
        let Some(&code) = code else {
            if b.is_ascii_whitespace() {
                continue;
            }
            if rest.first() != Some(&b) {
                return None;
            }
            *rest = &rest[1..];
            continue;
        };
        let d = &mut found.d;
        match code {
            b'Y' => {
                let before = rest.len();
                let v = digits(rest, 4)?;
                d.date.year = if before - rest.len() <= 2 { two_digits(v) } else { v as u16 };
            }
            b'y' => {
                let before = rest.len();
                let v = digits(rest, 2)?;
                d.date.year = if before - rest.len() <= 2 { two_digits(v) } else { v as u16 };
            }
            b'm' | b'c' => d.date.month = digits(rest, 2)? as u8,
            b'M' => d.date.month = name(rest, months())? as u8 + 1,
            b'b' => d.date.month = name(rest, months().map(|m| m[..3].to_owned()))? as u8 + 1,
            b'd' | b'e' => d.date.day = digits(rest, 2)? as u8,
            b'D' => {
                d.date.day = digits(rest, 2)? as u8;
                *rest = rest.get(2..).unwrap_or_default();
            }
            b'h' | b'I' | b'l' => {
                found.hour12 = true;
                d.hour = digits(rest, 2)? as u8;
            }
            b'H' | b'k' => d.hour = digits(rest, 2)? as u8,
            b'i' => d.minute = digits(rest, 2)? as u8,
            b's' | b'S' => d.second = digits(rest, 2)? as u8,
            b'f' => {
                let before = rest.len();
                let v = digits(rest, 6)?;
                d.micros = v * 10u32.pow(6 - (before - rest.len()) as u32);
            }
            b'p' => found.half = Some(name(rest, ["AM".to_owned(), "PM".to_owned()].into_iter())? == 1),
            b'W' => found.weekday = Some(name(rest, (0..7).map(|i| day_name(i).to_owned()))? as u32 + 1),
            b'a' => found.weekday = Some(name(rest, (0..7).map(|i| day_name(i)[..3].to_owned()))? as u32 + 1),
            b'w' => {
                let v = digits(rest, 1).filter(|v| *v <= 6)?;
                found.weekday = Some(if v == 0 { 7 } else { v });
            }
            b'j' => found.day_of_year = Some(digits(rest, 3).filter(|v| (1..=366).contains(v))?),
            b'U' | b'u' | b'V' | b'v' => {
                let week = digits(rest, 2).filter(|v| *v <= 53)?;
                let strict = matches!(code, b'V' | b'v');
                if strict && week == 0 {
                    return None;
                }
                found.week = Some((week, matches!(code, b'u' | b'v'), strict));
            }
            b'X' | b'x' => found.week_year = Some(digits(rest, 4)?),
            b'r' => read(found, rest, b"%I:%i:%S %p")?,
            b'T' => read(found, rest, b"%H:%i:%S")?,
            b'.' => {
                let n = rest.iter().take_while(|b| b.is_ascii_punctuation()).count();
                *rest = &rest[n..];
            }
            b'@' => {
                let n = rest.iter().take_while(|b| b.is_ascii_alphabetic()).count();
                *rest = &rest[n..];
            }
            b'#' => {
                let n = rest.iter().take_while(|b| b.is_ascii_digit()).count();
                *rest = &rest[n..];
            }
            other if rest.first() == Some(&other) => *rest = &rest[1..],
            _ => return None,
        }
    }
    Some(())
}

fn two_digits(v: u32) -> u16 {
    (if v < 70 { v + 2000 } else { v + 1900 }) as u16
}
