//! Dates and times as text and numbers; fractions of the second.

use super::calendar::{datetime_from_micros, datetime_micros, next_second};
use super::parse::time_of_seconds;
use super::{Date, DateTime, Time};
use crate::number::push_pair;

/// Appends `YYYY-MM-DD`.
pub fn push_date(d: Date, out: &mut Vec<u8>) {
    push_pair(u32::from(d.year) / 100, out);
    push_pair(u32::from(d.year) % 100, out);
    out.push(b'-');
    push_pair(d.month.into(), out);
    out.push(b'-');
    push_pair(d.day.into(), out);
}

fn push_clock(minutes: u8, seconds: u8, micros: u32, fsp: u8, out: &mut Vec<u8>) {
    out.push(b':');
    push_pair(minutes.into(), out);
    out.push(b':');
    push_pair(seconds.into(), out);
    if fsp > 0 {
        out.push(b'.');
        let end = out.len() + usize::from(fsp.min(6));
        for pair in [micros / 10_000, micros / 100 % 100, micros % 100] {
            push_pair(pair, out);
        }
        out.truncate(end);
    }
}

/// Appends `[-]hh:mm:ss[.fraction]` with `fsp` digits.
pub fn push_time(t: Time, fsp: u8, out: &mut Vec<u8>) {
    if t.negative {
        out.push(b'-');
    }
    if t.hours >= 100 {
        out.push(b'0' + (t.hours / 100 % 10) as u8);
    }
    push_pair(u32::from(t.hours) % 100, out);
    push_clock(t.minutes, t.seconds, t.micros, fsp, out);
}

/// Appends `YYYY-MM-DD hh:mm:ss[.fraction]` with `fsp` digits.
pub fn push_datetime(d: DateTime, fsp: u8, out: &mut Vec<u8>) {
    push_date(d.date, out);
    out.push(b' ');
    push_pair(d.hour.into(), out);
    push_clock(d.minute, d.second, d.micros, fsp, out);
}

/// YYYYMMDD.
pub fn date_number(d: Date) -> u64 {
    u64::from(d.year) * 10_000 + u64::from(d.month) * 100 + u64::from(d.day)
}

/// YYYYMMDDhhmmss, without the fraction.
pub fn datetime_number(d: DateTime) -> u64 {
    date_number(d.date) * 1_000_000
        + u64::from(d.hour) * 10_000
        + u64::from(d.minute) * 100
        + u64::from(d.second)
}

/// hhmmss without the fraction, negative for negative times.
pub fn time_number(t: Time) -> i64 {
    let v = i64::from(t.hours) * 10_000 + i64::from(t.minutes) * 100 + i64::from(t.seconds);
    if t.negative { -v } else { v }
}

/// Microseconds rounded to `fsp` digits; a million if they round up to a second.
fn round_micros(micros: u32, fsp: u8) -> u32 {
    let unit = 10u32.pow(6 - u32::from(fsp.min(6)));
    (micros + unit / 2) / unit * unit
}

/// Rounded to `fsp` digits; a time beyond 838:59:59 is clipped.
pub fn round_time(t: Time, fsp: u8) -> Time {
    let micros = round_micros(t.micros, fsp);
    if micros < 1_000_000 {
        return Time {
            micros,
            negative: t.negative && Time { micros, ..t } != Time { negative: true, ..Time::default() },
            ..t
        };
    }
    let total = u64::from(t.hours) * 3600 + u64::from(t.minutes) * 60 + u64::from(t.seconds) + 1;
    time_of_seconds(t.negative, total, 0).0
}

/// Rounded to `fsp` digits; `None` past the year 9999.
pub fn round_datetime(d: DateTime, fsp: u8) -> Option<DateTime> {
    let micros = round_micros(d.micros, fsp);
    if micros < 1_000_000 {
        return Some(DateTime { micros, ..d });
    }
    next_second(d)
}

/// Digits beyond `fsp` cut.
pub fn cut_micros(micros: u32, fsp: u8) -> u32 {
    let unit = 10u32.pow(6 - u32::from(fsp.min(6)));
    micros / unit * unit
}

/// A date with the time added, as TIMESTAMP(d, t) and the like do; `None` outside the calendar.
pub fn add_time(d: DateTime, t: Time) -> Option<DateTime> {
    datetime_from_micros(datetime_micros(d) + super::calendar::time_micros(t))
}
