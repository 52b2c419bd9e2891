//! Days and weeks.
//!
//! Day numbers are those of TO_DAYS(): 719528 is 1970-01-01. The Gregorian calendar is used for all times; MySQL's year 0
//! has 365 days, of which 0000-01-01 is day 1.

use super::parse::time_of_seconds;
use super::{Date, DateTime, Time};

/// Day number of 1970-01-01.
pub const EPOCH: i64 = 719_528;
/// Day number of 9999-12-31.
pub const LAST_DAY: i64 = 3_652_424;
/// Day number of 0001-01-01.
const YEAR_ONE: i64 = 366;
const DAY_SECONDS: i64 = 86_400;
const DAY_MICROS: i64 = DAY_SECONDS * 1_000_000;

/// Whether the year has 366 days; the year 0 has not.
pub fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) && year != 0
}

/// Days of a month; 31 for months that are none.
#[inline]
pub fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        2 => 28 + u8::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// TO_DAYS(): days since the year 0. Zero parts count as those of the month or year before: month 0 is December.
pub fn to_days(d: Date) -> i64 {
    if d.year == 0 && d.month == 0 {
        return 0;
    }
    let (year, month) = (i64::from(d.year), i64::from(d.month));
    // Years that start in March, so that the leap day is the last (Hinnant).
    let shifted = if month > 2 { year } else { year - 1 };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let march_based = (month + 9) % 12;
    let of_year = (153 * march_based + 2) / 5 + i64::from(d.day) - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year + 60;
    days + i64::from(year == 0 && month <= 2)
}

/// FROM_DAYS(): `None` before 0001-01-01 (MySQL gives the zero date) and after 9999-12-31.
pub fn from_days(days: i64) -> Option<Date> {
    if !(YEAR_ONE..=LAST_DAY).contains(&days) {
        return None;
    }
    let days = days - 60;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_based = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_based + 2) / 5 + 1;
    let month = if march_based < 10 { march_based + 3 } else { march_based - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Some(Date { year: year as u16, month: month as u8, day: day as u8 })
}

/// The date of a day number, the zero date before the year 1; `None` outside of 0 … [`LAST_DAY`].
pub(super) fn from_days_or_zero(days: i64) -> Option<Date> {
    if (0..YEAR_ONE).contains(&days) { Some(Date::default()) } else { from_days(days) }
}

/// 0 Monday … 6 Sunday.
pub fn weekday(d: Date) -> u8 {
    weekday_of(to_days(d))
}

fn weekday_of(days: i64) -> u8 {
    (days + 5).rem_euclid(7) as u8
}

/// Day of the year from 1.
pub fn day_of_year(d: Date) -> u16 {
    (to_days(d) - to_days(Date { month: 1, day: 1, ..d }) + 1) as u16
}

/// WEEK(d, mode): year the week belongs to, and the week.
///
/// | bit of the mode | set | not set |
/// |---|---|---|
/// | 1 | weeks start on Monday | on Sunday |
/// | 2 | weeks 1 to 53, perhaps of another year | 0 to 53 of this year |
/// | 4 | for Monday: week 1 has the first Monday; for Sunday: it has four days in this year | the other way round |
pub fn week(d: Date, mode: u8) -> (u16, u8) {
    let days = to_days(d);
    let year = i64::from(d.year);
    let first = week_one(year, mode);
    let number = |first: i64| ((days - first) / 7 + 1) as u8;
    if days < first {
        return if mode & 2 != 0 && year > 0 {
            (d.year - 1, number(week_one(year - 1, mode)))
        } else {
            (d.year, 0)
        };
    }
    if mode & 2 != 0 && days >= week_one(year + 1, mode) {
        return (d.year + 1, 1);
    }
    (d.year, number(first))
}

/// Day number on which the first week of a year starts.
fn week_one(year: i64, mode: u8) -> i64 {
    let monday_first = mode & 1 != 0;
    let january_first = to_days(Date { year: year as u16, month: 1, day: 1 });
    let weekday = i64::from(weekday_of(january_first));
    let into_week = if monday_first { weekday } else { (weekday + 1) % 7 };
    let starts_with_weekday = (mode & 4 != 0) == monday_first;
    let before = if starts_with_weekday { into_week == 0 } else { into_week <= 3 };
    january_first - into_week + if before { 0 } else { 7 }
}

/// YEARWEEK(d, mode).
pub fn year_week(d: Date, mode: u8) -> u32 {
    let (year, week) = week(d, mode | 2);
    u32::from(year) * 100 + u32::from(week)
}

fn day_seconds(d: DateTime) -> i64 {
    i64::from(d.hour) * 3600 + i64::from(d.minute) * 60 + i64::from(d.second)
}

/// Seconds since 1970-01-01 00:00:00 as if the local time were UTC.
pub fn to_unix(d: DateTime) -> i64 {
    (to_days(d.date) - EPOCH) * DAY_SECONDS + day_seconds(d)
}

/// The opposite of [`to_unix`]; `None` outside the years 1 to 9999.
pub fn from_unix(seconds: i64, micros: u32) -> Option<DateTime> {
    let date = from_days(seconds.div_euclid(DAY_SECONDS) + EPOCH)?;
    Some(at_second(date, seconds.rem_euclid(DAY_SECONDS), micros))
}

fn at_second(date: Date, of_day: i64, micros: u32) -> DateTime {
    DateTime {
        date,
        hour: (of_day / 3600) as u8,
        minute: (of_day / 60 % 60) as u8,
        second: (of_day % 60) as u8,
        micros,
    }
}

/// TIME_TO_SEC with microseconds: signed.
pub fn time_micros(t: Time) -> i64 {
    let seconds = i64::from(t.hours) * 3600 + i64::from(t.minutes) * 60 + i64::from(t.seconds);
    let micros = seconds * 1_000_000 + i64::from(t.micros);
    if t.negative { -micros } else { micros }
}

/// The time of so many microseconds, clipped to 838:59:59 (`true`: it was).
pub fn time_from_micros(micros: i64) -> (Time, bool) {
    let magnitude = micros.unsigned_abs();
    time_of_seconds(micros < 0, magnitude / 1_000_000, (magnitude % 1_000_000) as u32)
}

/// Microseconds since the year 0 (day number × a day, and the time of day).
pub fn datetime_micros(d: DateTime) -> i64 {
    to_days(d.date) * DAY_MICROS + day_seconds(d) * 1_000_000 + i64::from(d.micros)
}

/// The opposite of [`datetime_micros`]; days before the year 1 give the zero date, as in MySQL. `None` outside the
/// calendar.
pub fn datetime_from_micros(micros: i64) -> Option<DateTime> {
    let date = from_days_or_zero(micros.div_euclid(DAY_MICROS))?;
    let of_day = micros.rem_euclid(DAY_MICROS);
    Some(at_second(date, of_day / 1_000_000, (of_day % 1_000_000) as u32))
}

/// The start of the next second; `None` past the year 9999, and for a date with zero parts.
pub(super) fn next_second(d: DateTime) -> Option<DateTime> {
    if d.date.has_zero_part() {
        return None;
    }
    let of_day = day_seconds(d) + 1;
    if of_day < DAY_SECONDS {
        return Some(at_second(d.date, of_day, 0));
    }
    Some(at_second(from_days(to_days(d.date) + 1)?, 0, 0))
}
