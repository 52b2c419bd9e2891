//! Dates and times: parsing, printing, arithmetic, with zero parts as the server has them.
//!
//! | part | module |
//! |---|---|
//! | text and numbers to dates and times | [`parse`] |
//! | days, weeks, intervals, differences | [`calendar`], [`interval`] |
//! | text, numbers, fractions of the second | [`print`](mod@print) |

pub mod calendar;
pub mod interval;
pub mod parse;
pub mod print;

use crate::sql_mode::SqlMode;
pub use vaquita_format::value::{Date, DateTime, Time};

/// What converting to and from dates depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateContext {
    /// NO_ZERO_DATE, NO_ZERO_IN_DATE, ALLOW_INVALID_DATES; use [`DateContext::relaxed`] where zero dates are let through.
    pub mode: SqlMode,
    /// The date of the statement in the session's time zone: of a TIME that becomes a DATETIME.
    pub today: Date,
}

impl DateContext {
    /// The same, zero dates and zero parts allowed: for comparisons and most functions.
    #[must_use]
    pub fn relaxed(mut self) -> DateContext {
        self.mode = self.mode.without(SqlMode::NO_ZERO_DATE | SqlMode::NO_ZERO_IN_DATE);
        self
    }

    /// The same, 30 February allowed too: for comparisons, which take every day up to the 31st of every month.
    #[must_use]
    pub fn lenient(self) -> DateContext {
        let relaxed = self.relaxed();
        DateContext { mode: relaxed.mode | SqlMode::ALLOW_INVALID_DATES, ..relaxed }
    }
}

/// Something that text or a number may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Temporal {
    /// A date alone.
    Date(Date),
    /// A date with time.
    DateTime(DateTime),
    /// A time.
    Time(Time),
}

/// What a parse found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedDate {
    /// The value; `None`: no date at all (NULL in expressions, zero when stored).
    pub value: Option<DateTime>,
    /// There was a time of day.
    pub has_time: bool,
    /// Something follows that does not belong to it, or parts were cut or clipped: warning 1292 or note 1265.
    pub truncated: bool,
    /// It is no date only by the calendar or by `sql_mode`.
    pub out_of_range: bool,
}

/// What a parse found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedTime {
    /// The value; clipped if it was out of range; `None`: no time at all.
    pub value: Option<Time>,
    /// Something follows that does not belong to it.
    pub truncated: bool,
    /// It was beyond 838:59:59.
    pub clipped: bool,
    /// It was a date with a time.
    pub had_date: bool,
}

#[cfg(test)]
mod tests;
