//! Text and numbers as dates and times.
//!
//! Dates come with delimiters (`2020-1-2 3:4:5.6`: any punctuation between the parts, punctuation or spaces or `T` before
//! the time) or as digits alone (`20200102030405`, `200102`): then the first digits are a year of four digits if there
//! are 4, 8 or at least 14 of them, else of two. A year of two digits means 1970 to 2069.

use super::calendar::{days_in_month, next_second};
use super::{Date, DateContext, DateTime, ParsedDate, ParsedTime, Time};
use crate::number::is_space;
use crate::sql_mode::SqlMode;

/// How text fails to be a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoDate {
    /// It does not look like one.
    Form,
    /// A part is out of range.
    Range,
    /// The calendar or `sql_mode` forbids it.
    Calendar,
}

/// Whether `sql_mode` allows a date with parts in their general ranges.
pub fn is_allowed(d: Date, mode: SqlMode) -> bool {
    if d == Date::default() {
        return !mode.has(SqlMode::NO_ZERO_DATE);
    }
    if d.month == 0 || d.day == 0 {
        return !mode.has(SqlMode::NO_ZERO_IN_DATE);
    }
    d.day <= days_in_month(d.year, d.month) || mode.has(SqlMode::ALLOW_INVALID_DATES)
}

const NO_DATE: ParsedDate = ParsedDate { value: None, has_time: false, truncated: true, out_of_range: false };
const NO_TIME: ParsedTime = ParsedTime { value: None, truncated: true, clipped: false, had_date: false };

/// A date with or without time from text in any of the relaxed formats; the fraction rounded to microseconds.
pub fn parse_datetime(text: &[u8], cx: &DateContext) -> ParsedDate {
    match scan_datetime(text, cx.mode, false) {
        Ok(parsed) => parsed,
        Err(e) => ParsedDate { out_of_range: e == NoDate::Calendar, ..NO_DATE },
    }
}

/// A run of digits as a number, clipped; and its length.
fn digits(text: &[u8]) -> (u32, usize) {
    let len = text.iter().take_while(|b| b.is_ascii_digit()).count();
    (text[..len].iter().fold(0u32, |v, b| v.saturating_mul(10).saturating_add(u32::from(b - b'0'))), len)
}

/// The parts of a date with time: year, month, day, hour, minute, second.
struct Parts {
    values: [u32; 6],
    count: usize,
    year_digits: usize,
    micros: u32,
    carry: bool,
    used: usize,
}

fn scan_datetime(text: &[u8], mode: SqlMode, needs_space: bool) -> Result<ParsedDate, NoDate> {
    let start = text.iter().take_while(|b| is_space(**b)).count();
    let body = &text[start..];
    if !body.first().is_some_and(u8::is_ascii_digit) {
        return Err(NoDate::Form);
    }
    let run = body.iter().take_while(|b| b.is_ascii_digit() || **b == b'T').count();
    let compact = matches!(body.get(run), None | Some(b'.'));
    let parts = if compact { scan_compact(body, run) } else { scan_delimited(body, needs_space) }?;
    if parts.count < 3 {
        return Err(NoDate::Range);
    }
    let [mut year, month, day, hour, minute, second] = parts.values;
    let zero = parts.values == [0; 6] && parts.micros == 0;
    if parts.year_digits == 2 && !zero {
        year += if year < 70 { 2000 } else { 1900 };
    }
    if year > 9999 || month > 12 || day > 31 || hour > 23 || minute > 59 || second > 59 {
        return Err(NoDate::Range);
    }
    let date = Date { year: year as u16, month: month as u8, day: day as u8 };
    if !is_allowed(date, mode) {
        return Err(NoDate::Calendar);
    }
    let (hour, minute, second) = (hour as u8, minute as u8, second as u8);
    let mut value = DateTime { date, hour, minute, second, micros: parts.micros };
    if parts.carry {
        value = next_second(value).ok_or(NoDate::Calendar)?;
    }
    let truncated = !body[parts.used..].iter().all(|&b| is_space(b));
    Ok(ParsedDate { value: Some(value), has_time: parts.count > 3, truncated, out_of_range: false })
}

/// Digits alone: two for each part, `T` between date and time.
fn scan_compact(body: &[u8], run: usize) -> Result<Parts, NoDate> {
    let year_digits = if matches!(run, 4 | 8) || run >= 14 { 4 } else { 2 };
    let mut p = Parts { values: [0; 6], count: 0, year_digits, micros: 0, carry: false, used: 0 };
    while p.count < 6 && body.get(p.used).is_some_and(u8::is_ascii_digit) {
        let width = if p.count == 0 { year_digits } else { 2 };
        let field = &body[p.used..(p.used + width).min(run)];
        let (value, len) = digits(field);
        p.values[p.count] = value;
        p.used += len;
        p.count += 1;
        if p.count == 3 && body.get(p.used) == Some(&b'T') {
            p.used += 1;
        }
    }
    if p.count == 6 {
        scan_fraction(body, &mut p);
    }
    Ok(p)
}

/// Parts with something between them.
fn scan_delimited(body: &[u8], needs_space: bool) -> Result<Parts, NoDate> {
    let mut p = Parts { values: [0; 6], count: 0, year_digits: 0, micros: 0, carry: false, used: 0 };
    let mut space = false;
    loop {
        let (value, len) = digits(&body[p.used..]);
        if p.count == 0 {
            p.year_digits = len;
        }
        p.values[p.count] = value;
        p.used += len;
        p.count += 1;
        if p.count == 6 {
            scan_fraction(body, &mut p);
            break;
        }
        let mut next = p.used;
        if p.count == 3 && body.get(next) == Some(&b'T') {
            next += 1;
        }
        while let Some(&b) = body.get(next).filter(|b| is_space(**b) || b.is_ascii_punctuation()) {
            if is_space(b) {
                if p.count != 3 {
                    let rest = &body[next..];
                    let ends = rest.iter().all(|&b| is_space(b));
                    if p.count < 3 && !ends {
                        return Err(NoDate::Form);
                    }
                    break;
                }
                space = true;
            }
            next += 1;
        }
        if !body.get(next).is_some_and(u8::is_ascii_digit) {
            // What was skipped belongs to it only if it is the last punctuation, as in `03:04:`.
            p.used = if body[p.used..next].iter().all(|b| !is_space(*b)) { next } else { p.used };
            break;
        }
        p.used = next;
    }
    if needs_space && !space {
        return Err(NoDate::Form);
    }
    Ok(p)
}

/// `.digits` after the seconds: six of them, the seventh rounds.
fn scan_fraction(body: &[u8], p: &mut Parts) {
    if body.get(p.used) != Some(&b'.') {
        return;
    }
    let (micros, carry, len) = fraction(&body[p.used + 1..]);
    (p.micros, p.carry) = (micros, carry);
    p.used += 1 + len;
}

/// Microseconds of the digits behind a point, whether they round up to a second, and how many there are.
fn fraction(text: &[u8]) -> (u32, bool, usize) {
    let len = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let digit = |i: usize| if i < len { u32::from(text[i] - b'0') } else { 0 };
    let micros = (0..6).fold(0, |v, i| v * 10 + digit(i)) + u32::from(digit(6) >= 5);
    if micros == 1_000_000 { (0, true, len) } else { (micros, false, len) }
}

/// The greatest TIME.
pub const MAX_TIME: Time = Time { negative: false, hours: 838, minutes: 59, seconds: 59, micros: 0 };

/// A time from text: `[-][days ]hh:mm:ss[.f]`, `hhmmss`, or a date with time whose time it takes.
pub fn parse_time(text: &[u8]) -> ParsedTime {
    let start = text.iter().take_while(|b| is_space(**b)).count();
    let negative = text.get(start) == Some(&b'-');
    let body = &text[start + usize::from(negative)..];
    if body.is_empty() {
        return NO_TIME;
    }
    // So long a text may be a date with a time.
    if body.len() >= 12 {
        match scan_datetime(body, SqlMode::default(), true) {
            Ok(parsed) => {
                return parsed.value.map_or(NO_TIME, |v| ParsedTime {
                    value: Some(time_of(v)),
                    truncated: parsed.truncated,
                    clipped: false,
                    had_date: true,
                });
            }
            Err(NoDate::Range | NoDate::Calendar) => return NO_TIME,
            Err(NoDate::Form) => {}
        }
    }
    scan_time(body, negative).unwrap_or(NO_TIME)
}

/// The time of day.
pub fn time_of(d: DateTime) -> Time {
    Time { negative: false, hours: d.hour.into(), minutes: d.minute, seconds: d.second, micros: d.micros }
}

fn scan_time(body: &[u8], negative: bool) -> Option<ParsedTime> {
    let (first, mut at) = digits(body);
    let after_spaces = at + body[at..].iter().take_while(|b| is_space(**b)).count();
    let followed_by_digit = |i: usize| body.get(i + 1).is_some_and(u8::is_ascii_digit);
    let (mut hours, mut minutes, mut seconds) = (u64::from(first), 0u32, 0u32);
    let mut days = 0u64;
    let mut colons = true;
    if at > 0 && after_spaces > at && body.get(after_spaces).is_some_and(u8::is_ascii_digit) {
        days = first.into();
        let (value, len) = digits(&body[after_spaces..]);
        hours = value.into();
        at = after_spaces + len;
    } else if body.get(at) != Some(&b':') || !followed_by_digit(at) {
        colons = false;
        (hours, minutes, seconds) = (u64::from(first / 10_000), first / 100 % 100, first % 100);
    }
    if colons {
        for part in [&mut minutes, &mut seconds] {
            if body.get(at) != Some(&b':') || !followed_by_digit(at) {
                break;
            }
            let (value, len) = digits(&body[at + 1..]);
            *part = value;
            at += 1 + len;
        }
    }
    let (mut micros, mut carry) = (0, false);
    if body.get(at) == Some(&b'.') {
        let len;
        (micros, carry, len) = fraction(&body[at + 1..]);
        at += 1 + len;
    }
    if minutes > 59 || seconds > 59 {
        return None;
    }
    hours = hours.saturating_add(days.saturating_mul(24));
    let truncated = !body[at..].iter().all(|&b| is_space(b));
    let total = hours.saturating_mul(3600) + u64::from(minutes) * 60 + u64::from(seconds) + u64::from(carry);
    let (value, clipped) = time_of_seconds(negative, total, micros);
    Some(ParsedTime { value: Some(value), truncated, clipped, had_date: false })
}

/// Clipped to the greatest TIME.
pub(super) fn time_of_seconds(negative: bool, total: u64, micros: u32) -> (Time, bool) {
    const MAX: u64 = 838 * 3600 + 59 * 60 + 59;
    if total > MAX || total == MAX && micros > 0 {
        return (Time { negative, ..MAX_TIME }, true);
    }
    let negative = negative && (total > 0 || micros > 0);
    let (hours, minutes, seconds) = ((total / 3600) as u16, (total / 60 % 60) as u8, (total % 60) as u8);
    (Time { negative, hours, minutes, seconds, micros }, false)
}

/// A date with or without time from a number YYMMDD to YYYYMMDDhhmmss and its microseconds.
pub fn datetime_from_number(v: i64, micros: u32, cx: &DateContext) -> ParsedDate {
    let Some((full, has_time)) = widen_number(v) else {
        return ParsedDate { out_of_range: v < 0, ..NO_DATE };
    };
    let (ymd, hms) = ((full / 1_000_000) as u32, (full % 1_000_000) as u32);
    let date = Date { year: (ymd / 10_000) as u16, month: (ymd / 100 % 100) as u8, day: (ymd % 100) as u8 };
    let (hour, minute, second) = ((hms / 10_000) as u8, (hms / 100 % 100) as u8, (hms % 100) as u8);
    let in_range = date.month <= 12 && date.day <= 31 && hour <= 23 && minute <= 59 && second <= 59;
    if !in_range || ymd > 9999_12_31 || !is_allowed(date, cx.mode) {
        return ParsedDate { out_of_range: v == 0, ..NO_DATE };
    }
    let value = DateTime { date, hour, minute, second, micros: if has_time { micros } else { 0 } };
    ParsedDate { value: Some(value), has_time, truncated: !has_time && micros > 0, out_of_range: false }
}

/// The number as YYYYMMDDhhmmss, and whether it had a time.
fn widen_number(v: i64) -> Option<(i64, bool)> {
    const DAY: i64 = 1_000_000;
    Some(match v {
        0 => (0, false),
        101..=691_231 => ((v + 20_000_000) * DAY, false),
        700_101..=991_231 => ((v + 19_000_000) * DAY, false),
        10_000_101..=99_991_231 => (v * DAY, false),
        101_000_000..=691_231_235_959 => (v + 20_000_000_000_000, true),
        700_101_000_000..=991_231_235_959 => (v + 19_000_000_000_000, true),
        10_000_101_000_000..=99_991_231_235_959 => (v, true),
        _ => return None,
    })
}

/// A time from a number hhmmss and its microseconds (of the same sign; `negative` tells it for numbers above -1).
pub fn time_from_number(v: i64, micros: u32, negative: bool) -> ParsedTime {
    let negative = negative || v < 0;
    let magnitude = v.unsigned_abs();
    if magnitude > 8_385_959 {
        // As long as a date with time: its time.
        if magnitude >= 10_000_000_000
            && let Ok(v) = i64::try_from(magnitude)
        {
            let any = DateContext { mode: SqlMode::default(), today: Date::default() };
            if let Some(d) = datetime_from_number(v, micros, &any).value {
                let value = Some(time_of(d));
                return ParsedTime { value, truncated: false, clipped: false, had_date: true };
            }
        }
        let value = Time { negative, ..MAX_TIME };
        return ParsedTime { value: Some(value), truncated: false, clipped: true, had_date: false };
    }
    let (minutes, seconds) = (magnitude / 100 % 100, magnitude % 100);
    if minutes > 59 || seconds > 59 {
        return NO_TIME;
    }
    let total = magnitude / 10_000 * 3600 + minutes * 60 + seconds;
    let (value, clipped) = time_of_seconds(negative, total, micros);
    ParsedTime { value: Some(value), truncated: false, clipped, had_date: false }
}
