//! Bounds among dates and times.

use super::Bounded;
use std::cmp::Ordering;
use vaquita_catalog::ColumnInfo;
use vaquita_types::column::moment as moment_of;
use vaquita_types::compare::CompareAs;
use vaquita_types::temporal::calendar::{days_in_month, time_from_micros, to_unix};
use vaquita_types::temporal::print::cut_micros;
use vaquita_types::temporal::{Date, DateTime};
use vaquita_types::time_zone::TimeZone;
use vaquita_types::{Kind, Value};

/// Microseconds of 838:59:59, the greatest TIME.
const TIME_MAX: i64 = (838 * 3600 + 59 * 60 + 59) * 1_000_000;

/// A date with time among those of a DATE, DATETIME or TIMESTAMP column.
pub(super) fn moment(
    column: &ColumnInfo,
    at: DateTime,
    how: CompareAs,
    zone: &TimeZone,
    out: &mut Vec<u8>,
) -> Bounded {
    if column.sql_type().kind == Kind::Date {
        column.ty.encode(&Value::Date(at.date), zone, out);
        let midnight = DateTime { date: at.date, ..DateTime::default() };
        return if how == CompareAs::Date || at == midnight { Bounded::Exact } else { Bounded::Below };
    }
    let cut = DateTime { micros: cut_micros(at.micros, column.ty.second_digits()), ..at };
    let is = if cut == at { Bounded::Exact } else { Bounded::Below };
    if column.sql_type().kind == Kind::DateTime {
        column.ty.encode(&Value::DateTime(cut), zone, out);
        return is;
    }
    timestamp(column, cut, is, zone, out)
}

/// A TIMESTAMP is stored as a moment and compared as a local time. `is`: what `at` is to the value.
fn timestamp(column: &ColumnInfo, at: DateTime, is: Bounded, zone: &TimeZone, out: &mut Vec<u8>) -> Bounded {
    let zero = DateTime::default();
    let mut push = |value: DateTime, is: Bounded| {
        column.ty.encode(&Value::DateTime(value), zone, out);
        is
    };
    if at == zero {
        return push(zero, is);
    }
    let (day, is) = match last_day_until(at) {
        // All moments are above it, and the zero date is below.
        None => return push(zero, Bounded::Below),
        Some(day) if day == at => (day, is),
        Some(day) => {
            let micros = cut_micros(999_999, column.ty.second_digits());
            (DateTime { micros, ..day }, Bounded::Below)
        }
    };
    let local = to_unix(day);
    if zone.is_repeated(local) {
        return Bounded::Unknown;
    }
    match zone.to_utc(local) {
        // What the clock skipped: the moment it was set is the next one.
        None => push(DateTime { micros: 0, ..day }, Bounded::Above),
        Some(utc) if utc < 1 => push(zero, Bounded::Below),
        Some(_) if moment_of(day, zone).is_none() => {
            let last = vaquita_types::temporal::calendar::from_unix(zone.to_local(i32::MAX.into()), 0);
            let micros = cut_micros(999_999, column.ty.second_digits());
            match last {
                Some(last) => push(DateTime { micros, ..last }, Bounded::Below),
                None => Bounded::Unknown,
            }
        }
        Some(_) => push(day, is),
    }
}

/// The moment itself, if the calendar has that day; else the last second that it has before it.
fn last_day_until(at: DateTime) -> Option<DateTime> {
    let Date { year, month, day } = at.date;
    let end = |year: u16, month: u8| {
        let date = Date { year, month, day: days_in_month(year, month) };
        DateTime { date, hour: 23, minute: 59, second: 59, micros: 0 }
    };
    if (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day) {
        return Some(at).filter(|_| year > 0);
    }
    let found = match (month, day) {
        (0, _) => end(year.checked_sub(1)?, 12),
        (1, 0) => end(year.checked_sub(1)?, 12),
        (_, 0) => end(year, month - 1),
        _ => end(year, month),
    };
    Some(found).filter(|found| found.date.year > 0)
}

/// A time in microseconds among those of a TIME column.
pub(super) fn time(column: &ColumnInfo, at: i64, zone: &TimeZone, out: &mut Vec<u8>) -> Bounded {
    let unit = 10i64.pow(6 - u32::from(column.ty.second_digits().min(6)));
    let floor = at.div_euclid(unit) * unit;
    let kept = floor.clamp(-TIME_MAX, TIME_MAX);
    column.ty.encode(&Value::Time(time_from_micros(kept).0), zone, out);
    match kept.cmp(&at) {
        Ordering::Equal => Bounded::Exact,
        Ordering::Greater => Bounded::Above,
        Ordering::Less => Bounded::Below,
    }
}
