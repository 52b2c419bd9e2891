//! Days and weeks.

use super::{Date, DateTime, Time};

/// Days of a month; 31 for months that are none.
pub fn days_in_month(year: u16, month: u8) -> u8 {
    let _ = (year, month);
    todo!()
}

/// TO_DAYS(): days since the year 0; of a date with zero parts whatever MySQL's formula gives.
pub fn to_days(d: Date) -> i64 {
    let _ = d;
    todo!()
}

/// FROM_DAYS(): `None` outside 0001-01-01 … 9999-12-31 (MySQL: zero date).
pub fn from_days(days: i64) -> Option<Date> {
    let _ = days;
    todo!()
}

/// 0 Monday … 6 Sunday.
pub fn weekday(d: Date) -> u8 {
    let _ = d;
    todo!()
}

/// Day of the year from 1.
pub fn day_of_year(d: Date) -> u16 {
    let _ = d;
    todo!()
}

/// WEEK(d, mode): year the week belongs to, and the week.
pub fn week(d: Date, mode: u8) -> (u16, u8) {
    let _ = (d, mode);
    todo!()
}

/// YEARWEEK(d, mode).
pub fn year_week(d: Date, mode: u8) -> u32 {
    let (year, week) = week(d, mode | 2);
    u32::from(year) * 100 + u32::from(week)
}

/// Seconds since 1970-01-01 00:00:00 as if the local time were UTC.
pub fn to_unix(d: DateTime) -> i64 {
    let _ = d;
    todo!()
}

/// The opposite of [`to_unix`]; `None` outside the years 0 to 9999.
pub fn from_unix(seconds: i64, micros: u32) -> Option<DateTime> {
    let _ = (seconds, micros);
    todo!()
}

/// TIME_TO_SEC with microseconds: signed.
pub fn time_micros(t: Time) -> i64 {
    let _ = t;
    todo!()
}

/// The time of so many microseconds, clipped to 838:59:59 (`true`: it was).
pub fn time_from_micros(micros: i64) -> (Time, bool) {
    let _ = micros;
    todo!()
}

/// Microseconds since the year 0 (day number × a day, and the time of day).
pub fn datetime_micros(d: DateTime) -> i64 {
    let _ = d;
    todo!()
}

/// The opposite of [`datetime_micros`].
pub fn datetime_from_micros(micros: i64) -> Option<DateTime> {
    let _ = micros;
    todo!()
}
