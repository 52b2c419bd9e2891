//! Text and numbers as dates and times.
//!
//! Dates come with delimiters (`2020-1-2 3:4:5.6`: any punctuation between the parts, punctuation or spaces or `T` before
//! the time) or as digits alone (`20200102030405`, `200102`): then the first digits are a year of four digits if there
//! are 4, 8 or at least 14 of them, else of two. A year of two digits means 1970 to 2069.

use super::calendar::{self, days_in_month, next_second};
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
    if d.has_zero_part() {
        return !mode.has(SqlMode::NO_ZERO_IN_DATE);
    }
    d.day <= days_in_month(d.year, d.month) || mode.has(SqlMode::ALLOW_INVALID_DATES)
}

const NO_DATE: ParsedDate = ParsedDate { value: None, has_time: false, truncated: true, out_of_range: false };
const NO_TIME: ParsedTime = ParsedTime { value: None, truncated: true, clipped: false, had_date: false };

/// Minutes or seconds above 59.
const BAD_TIME: ParsedTime = ParsedTime { value: None, truncated: true, clipped: true, had_date: false };

/// A date with or without time from text in any of the relaxed formats; the fraction rounded to microseconds.
pub fn parse_datetime(text: &[u8], cx: &DateContext) -> ParsedDate {
    match scan_datetime(text, cx.mode, false) {
        Ok((parsed, false)) => parsed,
        Ok((parsed, true)) => match parsed.value.and_then(next_second) {
            Some(value) => ParsedDate { value: Some(value), ..parsed },
            None => ParsedDate { out_of_range: true, ..NO_DATE },
        },
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

/// The date, and whether its fraction rounds up to the next second.
fn scan_datetime(text: &[u8], mode: SqlMode, needs_space: bool) -> Result<(ParsedDate, bool), NoDate> {
    let start = text.iter().take_while(|b| is_space(**b)).count();
    let body = &text[start..];
    if !body.first().is_some_and(u8::is_ascii_digit) {
        return Err(NoDate::Form);
    }
    let run = body.iter().take_while(|b| b.is_ascii_digit() || **b == b'T').count();
    let compact = matches!(body.get(run), None | Some(b'.'));
    let year_width = if matches!(run, 4 | 8) || run >= 14 { 4 } else { 2 };
    let parts = scan_parts(body, compact.then_some((year_width, 2)), needs_space)?;
    if parts.count < 3 {
        // Zeros alone are the zero date, badly written.
        let only_zeros = parts.values == [0; 6] && parts.used == body.trim_ascii_end().len();
        return Err(if only_zeros { NoDate::Calendar } else { NoDate::Range });
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
    let value = DateTime { date, hour, minute, second, micros: parts.micros };
    let truncated = !body[parts.used..].iter().all(|&b| is_space(b));
    let parsed = ParsedDate { value: Some(value), has_time: parts.count > 3, truncated, out_of_range: false };
    Ok((parsed, parts.carry))
}

/// Splits the text into parts. `widths`: digits of the year and of the other parts, if they are that of digits alone.
fn scan_parts(body: &[u8], widths: Option<(usize, usize)>, needs_space: bool) -> Result<Parts, NoDate> {
    let mut p = Parts { values: [0; 6], count: 0, year_digits: 0, micros: 0, carry: false, used: 0 };
    let (mut space, mut delimiter) = (false, widths.is_none());
    loop {
        let field = &body[p.used..];
        let width = match (widths, p.count) {
            (Some((year, _)), 0) => year,
            (Some((_, other)), _) => other,
            (None, _) => field.len(),
        };
        let (value, len) = digits(&field[..width.min(field.len())]);
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
        let Some((next, had_space)) = skip_delimiters(body, p.used, p.count)? else { break };
        space |= had_space;
        let delimited = next > p.used;
        if !body.get(next).is_some_and(u8::is_ascii_digit) || !delimited && widths.is_none() {
            // Spaces behind the last part do not belong to it, punctuation does.
            if !had_space {
                p.used = next;
            }
            break;
        }
        delimiter |= delimited && body[p.used] != b'T';
        p.used = next;
    }
    if needs_space && !space && delimiter {
        return Err(NoDate::Form);
    }
    Ok(p)
}

/// Where the next part starts behind punctuation (or `T` or spaces after the day), and whether there was a space.
/// `None`: the text ends in a space here.
fn skip_delimiters(body: &[u8], at: usize, count: usize) -> Result<Option<(usize, bool)>, NoDate> {
    let (mut next, mut space) = (at, false);
    if count == 3 && body.get(next) == Some(&b'T') {
        next += 1;
    }
    while let Some(&b) = body.get(next).filter(|b| is_space(**b) || b.is_ascii_punctuation()) {
        if is_space(b) {
            if count != 3 {
                let ends = body[next..].iter().all(|&b| is_space(b));
                return if count < 3 && !ends { Err(NoDate::Form) } else { Ok(None) };
            }
            space = true;
        }
        next += 1;
    }
    Ok(Some((next, space)))
}

/// `.digits` after the seconds: six of them, the seventh rounds.
fn scan_fraction(body: &[u8], p: &mut Parts) {
    if body.get(p.used) != Some(&b'.') {
        return;
    }
    let (micros, carry, len) = fraction(&body[p.used + 1..]);
    (p.micros, p.carry) = (micros, carry);
    p.used += 1 + len;
    p.used += body[p.used..].iter().take_while(|b| b.is_ascii_punctuation()).count();
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
            Ok((parsed, carry)) => {
                let t = time_of(parsed.value.unwrap_or_default());
                let micros = calendar::time_micros(t) + if carry { 1_000_000 } else { 0 };
                return ParsedTime {
                    value: Some(calendar::time_from_micros(micros).0),
                    truncated: parsed.truncated,
                    clipped: false,
                    had_date: true,
                };
            }
            Err(NoDate::Range | NoDate::Calendar) => return NO_TIME,
            Err(NoDate::Form) => {}
        }
    }
    scan_time(body, negative).unwrap_or(BAD_TIME)
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
        let text = &body[at + 1..];
        let len;
        (micros, carry, len) = fraction(text);
        if len > 6 {
            // The server rounds a TIME by its last digit, whichever that is.
            let mut seven = [0; 7];
            seven[..6].copy_from_slice(&text[..6]);
            seven[6] = text[len - 1];
            (micros, carry, _) = fraction(&seven);
        }
        at += 1 + len;
    }
    if minutes > 59 || seconds > 59 {
        return None;
    }
    if is_exponent(&body[at..]) {
        return Some(ParsedTime { value: None, truncated: false, clipped: false, had_date: false });
    }
    hours = hours.saturating_add(days.saturating_mul(24));
    let truncated = !body[at..].iter().all(|&b| is_space(b));
    let total = hours.saturating_mul(3600) + u64::from(minutes) * 60 + u64::from(seconds) + u64::from(carry);
    let (value, clipped) = time_of_seconds(negative, total, micros);
    Some(ParsedTime { value: Some(value), truncated, clipped, had_date: false })
}

/// A number with an exponent is no time.
fn is_exponent(rest: &[u8]) -> bool {
    match rest {
        [b'e' | b'E', b'+' | b'-', digit, ..] | [b'e' | b'E', digit, ..] => digit.is_ascii_digit(),
        _ => false,
    }
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
    if !in_range || ymd > 99_991_231 || v != 0 && !is_allowed(date, cx.mode) {
        return NO_DATE;
    }
    // A fraction belongs to a time of day; that of a bare date is lost, but 0.5 is half a second.
    let has_time = has_time || v == 0;
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
        991_232..=99_991_231 => (v * DAY, false),
        101_000_000..=691_231_235_959 => (v + 20_000_000_000_000, true),
        700_101_000_000..=991_231_235_959 => (v + 19_000_000_000_000, true),
        991_231_235_960..=99_991_231_235_959 => (v, true),
        _ => return None,
    })
}

/// A time from a number hhmmss and its microseconds (of the same sign; `negative` tells it for numbers above -1).
pub fn time_from_number(v: i64, micros: u32, negative: bool) -> ParsedTime {
    let negative = negative || v < 0;
    let magnitude = v.unsigned_abs();
    if magnitude > 8_385_959 {
        // As long as a date with time: its time.
        if magnitude >= 10_000_000_000 && !negative {
            let mode = SqlMode::NO_ZERO_DATE | SqlMode::NO_ZERO_IN_DATE;
            if let Some(d) =
                datetime_from_number(v, micros, &DateContext { mode, today: Date::default() }).value
            {
                let value = Some(time_of(d));
                return ParsedTime { value, truncated: false, clipped: false, had_date: true };
            }
        }
        let value = Time { negative, ..MAX_TIME };
        return ParsedTime { value: Some(value), truncated: false, clipped: true, had_date: false };
    }
    let (minutes, seconds) = (magnitude / 100 % 100, magnitude % 100);
    if minutes > 59 || seconds > 59 {
        return BAD_TIME;
    }
    let total = magnitude / 10_000 * 3600 + minutes * 60 + seconds;
    let (value, clipped) = time_of_seconds(negative, total, micros);
    ParsedTime { value: Some(value), truncated: false, clipped, had_date: false }
}
