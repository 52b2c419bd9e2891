//! Interval arithmetic and differences.

use super::DateTime;

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

impl Interval {
    /// An amount of a simple unit; `micros` belongs to [`Unit::Second`] (`INTERVAL 1.5 SECOND`).
    pub fn of(unit: Unit, amount: i64, micros: u32) -> Interval {
        let _ = (unit, amount, micros);
        todo!()
    }

    /// The amount of a compound unit: numbers in text, anything between them; fewer numbers than parts count from the
    /// right.
    pub fn parse(unit: Unit, text: &[u8]) -> Option<Interval> {
        let _ = (unit, text);
        todo!()
    }

    /// With the other sign.
    #[must_use]
    pub fn neg(mut self) -> Interval {
        self.negative = !self.negative;
        self
    }
}

/// `date + interval`; `None` if it leaves the years 0 to 9999 (NULL with warning 1441).
pub fn add(d: DateTime, interval: &Interval) -> Option<DateTime> {
    let _ = (d, interval);
    todo!()
}

/// TIMESTAMPDIFF(unit, from, to) for a simple unit.
pub fn diff(unit: Unit, from: DateTime, to: DateTime) -> i64 {
    let _ = (unit, from, to);
    todo!()
}
