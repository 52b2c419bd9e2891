//! Interval arithmetic and differences.

use super::calendar::{datetime_from_micros, datetime_micros, days_in_month};
use super::{Date, DateTime};

/// Units of INTERVAL, EXTRACT, TIMESTAMPADD and TIMESTAMPDIFF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// YEAR.
    Year,
    /// QUARTER.
    Quarter,
    /// MONTH.
    Month,
    /// WEEK.
    Week,
    /// DAY.
    Day,
    /// HOUR.
    Hour,
    /// MINUTE.
    Minute,
    /// SECOND.
    Second,
    /// MICROSECOND.
    Microsecond,
    /// YEAR_MONTH.
    YearMonth,
    /// DAY_HOUR.
    DayHour,
    /// DAY_MINUTE.
    DayMinute,
    /// DAY_SECOND.
    DaySecond,
    /// DAY_MICROSECOND.
    DayMicrosecond,
    /// HOUR_MINUTE.
    HourMinute,
    /// HOUR_SECOND.
    HourSecond,
    /// HOUR_MICROSECOND.
    HourMicrosecond,
    /// MINUTE_SECOND.
    MinuteSecond,
    /// MINUTE_MICROSECOND.
    MinuteMicrosecond,
    /// SECOND_MICROSECOND.
    SecondMicrosecond,
}

impl Unit {
    /// Whether adding it to a DATE gives a DATETIME.
    pub fn has_time(self) -> bool {
        !matches!(self, Unit::Year | Unit::Quarter | Unit::Month | Unit::Week | Unit::Day | Unit::YearMonth)
    }

    /// Whether it counts microseconds.
    pub fn has_micros(self) -> bool {
        matches!(
            self,
            Unit::Microsecond
                | Unit::DayMicrosecond
                | Unit::HourMicrosecond
                | Unit::MinuteMicrosecond
                | Unit::SecondMicrosecond
        )
    }

    /// Whether the amount is text of several numbers.
    pub fn is_compound(self) -> bool {
        use Unit as U;
        !matches!(
            self,
            U::Year
                | U::Quarter
                | U::Month
                | U::Week
                | U::Day
                | U::Hour
                | U::Minute
                | U::Second
                | U::Microsecond
        )
    }
}

/// An amount of a unit, split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// Below zero: all parts are.
    pub negative: bool,
    /// Months, years among them.
    pub months: u64,
    /// Days, weeks among them.
    pub days: u64,
    /// Seconds, hours and minutes among them.
    pub seconds: u64,
    /// Microseconds.
    pub micros: u64,
}

/// Parts of a compound amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Years,
    Months,
    Days,
    Hours,
    Minutes,
    Seconds,
    Micros,
}

impl Unit {
    /// The parts of a compound unit's amount.
    fn parts(self) -> &'static [Part] {
        const ALL: [Part; 7] =
            [Part::Years, Part::Months, Part::Days, Part::Hours, Part::Minutes, Part::Seconds, Part::Micros];
        match self {
            Unit::YearMonth => &ALL[0..2],
            Unit::DayHour => &ALL[2..4],
            Unit::DayMinute => &ALL[2..5],
            Unit::DaySecond => &ALL[2..6],
            Unit::DayMicrosecond => &ALL[2..7],
            Unit::HourMinute => &ALL[3..5],
            Unit::HourSecond => &ALL[3..6],
            Unit::HourMicrosecond => &ALL[3..7],
            Unit::MinuteSecond => &ALL[4..6],
            Unit::MinuteMicrosecond => &ALL[4..7],
            Unit::SecondMicrosecond => &ALL[5..7],
            _ => &[],
        }
    }
}

impl Interval {
    /// An amount of a simple unit; `micros` belongs to [`Unit::Second`] (`INTERVAL 1.5 SECOND`) and has the sign of the
    /// amount, or of `negative` if that is 0.
    pub fn of(unit: Unit, amount: i64, micros: u32, negative: bool) -> Interval {
        let n = amount.unsigned_abs();
        let mut v = Interval { negative: amount < 0 || negative, ..Interval::default() };
        match unit {
            Unit::Year => v.months = n.saturating_mul(12),
            Unit::Quarter => v.months = n.saturating_mul(3),
            Unit::Month => v.months = n,
            Unit::Week => v.days = n.saturating_mul(7),
            Unit::Day => v.days = n,
            Unit::Hour => v.seconds = n.saturating_mul(3600),
            Unit::Minute => v.seconds = n.saturating_mul(60),
            Unit::Second => (v.seconds, v.micros) = (n, micros.into()),
            Unit::Microsecond => v.micros = n,
            // Compound units have text amounts.
            _ => {}
        }
        v
    }

    /// The amount of a compound unit: numbers in text, anything between them; fewer numbers than parts count from the
    /// right. `None` if a number is too large, or there are more of them than parts.
    pub fn parse(unit: Unit, text: &[u8]) -> Option<Interval> {
        let start = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let negative = text.get(start) == Some(&b'-');
        let parts = unit.parts();
        let mut numbers = [(0u64, 0usize); 7];
        let mut count = 0;
        let mut rest = &text[start..];
        while count < parts.len() {
            let skip = rest.iter().take_while(|b| !b.is_ascii_digit()).count();
            rest = &rest[skip..];
            if rest.is_empty() {
                break;
            }
            let len = rest.iter().take_while(|b| b.is_ascii_digit()).count();
            let value = rest[..len]
                .iter()
                .try_fold(0u64, |v, b| v.checked_mul(10)?.checked_add(u64::from(b - b'0')))?;
            numbers[count] = (value, len);
            count += 1;
            rest = &rest[len..];
        }
        if rest.iter().any(u8::is_ascii_digit) {
            return None;
        }
        let mut v = Interval { negative, ..Interval::default() };
        for (&part, &(value, len)) in parts[parts.len() - count..].iter().zip(&numbers) {
            v.add_part(part, value, len);
        }
        Some(v)
    }

    fn add_part(&mut self, part: Part, value: u64, digits: usize) {
        match part {
            Part::Years => self.months = self.months.saturating_add(value.saturating_mul(12)),
            Part::Months => self.months = self.months.saturating_add(value),
            Part::Days => self.days = value,
            Part::Hours => self.seconds = self.seconds.saturating_add(value.saturating_mul(3600)),
            Part::Minutes => self.seconds = self.seconds.saturating_add(value.saturating_mul(60)),
            Part::Seconds => self.seconds = self.seconds.saturating_add(value),
            // The digits behind a point: `.5` is half a second.
            Part::Micros => {
                let missing = 6u32.saturating_sub(digits as u32);
                self.micros = value.saturating_mul(10u64.pow(missing));
            }
        }
    }

    /// With the other sign.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "a method like those of numbers, without an operator")]
    pub fn neg(mut self) -> Interval {
        self.negative = !self.negative;
        self
    }

    /// Days and clock as microseconds, signed, clipped far beyond the calendar.
    pub fn clock_micros(&self) -> i128 {
        let seconds = i128::from(self.days) * 86_400 + i128::from(self.seconds);
        let micros = seconds * 1_000_000 + i128::from(self.micros);
        if self.negative { -micros } else { micros }
    }
}

/// `date + interval`; `None` if it leaves the years 0 to 9999 (NULL with warning 1441).
pub fn add(d: DateTime, interval: &Interval) -> Option<DateTime> {
    let mut d = d;
    if interval.months != 0 {
        d.date = add_months(d.date, interval)?;
    }
    let micros = interval.clock_micros();
    if micros == 0 {
        return Some(d);
    }
    datetime_from_micros(i64::try_from(i128::from(datetime_micros(d)) + micros).ok()?)
}

fn add_months(d: Date, interval: &Interval) -> Option<Date> {
    let months = i64::try_from(interval.months).ok()?;
    let months = if interval.negative { -months } else { months };
    let at = (i64::from(d.year) * 12 + i64::from(d.month) - 1).checked_add(months)?;
    let year = u16::try_from(at.div_euclid(12)).ok().filter(|&y| y <= 9999)?;
    let month = (at.rem_euclid(12) + 1) as u8;
    Some(Date { year, month, day: d.day.min(days_in_month(year, month)) })
}

/// TIMESTAMPDIFF(unit, from, to) for a simple unit.
pub fn diff(unit: Unit, from: DateTime, to: DateTime) -> i64 {
    let micros = datetime_micros(to) - datetime_micros(from);
    match unit {
        Unit::Year => months_between(from, to) / 12,
        Unit::Quarter => months_between(from, to) / 3,
        Unit::Month => months_between(from, to),
        Unit::Week => micros / (7 * 86_400_000_000),
        Unit::Day => micros / 86_400_000_000,
        Unit::Hour => micros / 3_600_000_000,
        Unit::Minute => micros / 60_000_000,
        Unit::Second => micros / 1_000_000,
        _ => micros,
    }
}

/// Whole months.
fn months_between(from: DateTime, to: DateTime) -> i64 {
    let (early, late, sign) = if from <= to { (from, to, 1) } else { (to, from, -1) };
    let month = |d: DateTime| i64::from(d.date.year) * 12 + i64::from(d.date.month);
    let rest = |d: DateTime| (d.date.day, d.hour, d.minute, d.second, d.micros);
    sign * (month(late) - month(early) - i64::from(rest(late) < rest(early)))
}
