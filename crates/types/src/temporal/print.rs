//! Dates and times as text and numbers; fractions of the second.

use super::{Date, DateTime, Time};

/// Appends `YYYY-MM-DD`.
pub fn push_date(d: Date, out: &mut Vec<u8>) {
    let _ = (d, out);
    todo!()
}

/// Appends `[-]hh:mm:ss[.fraction]` with `fsp` digits.
pub fn push_time(t: Time, fsp: u8, out: &mut Vec<u8>) {
    let _ = (t, fsp, out);
    todo!()
}

/// Appends `YYYY-MM-DD hh:mm:ss[.fraction]` with `fsp` digits.
pub fn push_datetime(d: DateTime, fsp: u8, out: &mut Vec<u8>) {
    let _ = (d, fsp, out);
    todo!()
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

/// Rounded to `fsp` digits; a time beyond 838:59:59 is clipped.
pub fn round_time(t: Time, fsp: u8) -> Time {
    let _ = (t, fsp);
    todo!()
}

/// Rounded to `fsp` digits; `None` past the year 9999.
pub fn round_datetime(d: DateTime, fsp: u8) -> Option<DateTime> {
    let _ = (d, fsp);
    todo!()
}
