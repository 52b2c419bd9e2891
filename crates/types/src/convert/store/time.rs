//! Storing dates and times.

use super::Place;
use crate::column::{Storage, moment};
use crate::error::{SqlError, SqlResult};
use crate::sql_mode::SqlMode;
use crate::sql_type::{Kind, SqlType};
use crate::temporal::calendar::{datetime_from_micros, datetime_micros, time_micros, to_unix};
use crate::temporal::parse::{is_allowed, parse_datetime, parse_time, time_of};
use crate::temporal::print::{round_datetime, round_time};
use crate::temporal::{Date, DateContext, DateTime, Time};
use crate::value::Value;

/// How a value fails to be what the column takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    /// It is no date or time, or not wholly.
    Truncated,
    /// It is none of the calendar, of `sql_mode`, of the column.
    OutOfRange,
    /// A part that the column does not have is lost.
    PartLost,
}

impl Place<'_, '_> {
    pub(super) fn time(&mut self, v: &Value<'_>, from: &SqlType, out: &mut Vec<u8>) -> SqlResult<()> {
        let stored = match self.column.storage() {
            Storage::Time(_) | Storage::OldTime => Value::Time(self.as_time(v, from)?),
            Storage::Date => Value::Date(self.as_date(v, from)?),
            _ => Value::DateTime(self.as_datetime(v, from)?),
        };
        self.column.encode(&stored, self.cx.time_zone, out);
        Ok(())
    }

    /// Reports a flaw. In strict mode all have the same error, which names the value.
    fn flaw(&mut self, flaw: Flaw, v: &Value<'_>, from: &SqlType) -> SqlResult<()> {
        let what = match self.column.ty.kind {
            Kind::Date => "date",
            Kind::Time => "time",
            _ => "datetime",
        };
        if self.mode.strict {
            let text = v.to_text(from);
            let text = match v {
                Value::Bit { .. } => super::shown_binary(&text),
                _ => self.shown(&text),
            };
            let message = self.incorrect_message(what, &text);
            if flaw == Flaw::PartLost {
                self.note(1292, message);
                return Ok(());
            }
            return Err(SqlError::new(1292, message));
        }
        match flaw {
            Flaw::Truncated => self.truncated(),
            Flaw::OutOfRange => self.out_of_range(),
            Flaw::PartLost => {
                self.truncated_note();
                Ok(())
            }
        }
    }

    /// The value as a date with time, and what is wrong with it; `None` comes with a flaw.
    fn read_datetime(&mut self, v: &Value<'_>, mode: SqlMode) -> (Option<DateTime>, Option<Flaw>) {
        let date = DateContext { mode, ..self.cx.date };
        let direct = match v {
            Value::DateTime(d) => Some(Some(*d)),
            Value::Date(date) => Some(Some(DateTime { date: *date, ..DateTime::default() })),
            Value::Time(t) => {
                let midnight = DateTime { date: date.today, ..DateTime::default() };
                Some(datetime_from_micros(datetime_micros(midnight) + time_micros(*t)))
            }
            _ => None,
        };
        if let Some(direct) = direct {
            let allowed = direct.filter(|d| is_allowed(d.date, mode));
            return (allowed, allowed.is_none().then_some(Flaw::OutOfRange));
        }
        let parsed = match v {
            Value::Bytes(text) | Value::Label { text, .. } => parse_datetime(text, &date),
            Value::Bit { .. } | Value::Json(_) => {
                parse_datetime(&v.to_text(&SqlType::new(Kind::Json)), &date)
            }
            _ => v.number_as_datetime(&date),
        };
        let zero = parsed.value.is_some_and(|d| d.date == Date::default());
        let flaw = if parsed.out_of_range || zero && mode.has(SqlMode::NO_ZERO_DATE) {
            Some(Flaw::OutOfRange)
        } else {
            (parsed.value.is_none() || parsed.truncated).then_some(Flaw::Truncated)
        };
        (parsed.value.filter(|_| flaw != Some(Flaw::OutOfRange)), flaw)
    }

    /// A date that a second more leads out of the calendar, or that is in none.
    fn overflow(&mut self, d: DateTime) -> SqlResult<()> {
        if d.date.has_zero_part() {
            return Ok(());
        }
        self.warn(1441, "Datetime function: datetime field overflow".to_owned())
    }

    fn as_date(&mut self, v: &Value<'_>, from: &SqlType) -> SqlResult<Date> {
        let (value, mut flaw) = self.read_datetime(v, self.cx.date.mode);
        // A time just before midnight is the next day.
        let rounded = value.and_then(|d| round_datetime(d, 0));
        if let (Some(d), None) = (value, rounded) {
            self.overflow(d)?;
            flaw = Some(Flaw::OutOfRange);
        }
        let d = rounded.unwrap_or_default();
        if flaw.is_none() && time_of(d) != Time::default() {
            flaw = Some(Flaw::PartLost);
        }
        if let Some(flaw) = flaw {
            self.flaw(flaw, v, from)?;
        }
        Ok(d.date)
    }

    fn as_datetime(&mut self, v: &Value<'_>, from: &SqlType) -> SqlResult<DateTime> {
        let moment_wanted = self.column.ty.kind == Kind::Timestamp;
        let mut mode = self.cx.date.mode;
        if moment_wanted {
            // Every moment is a day of the calendar.
            mode = (mode | SqlMode::NO_ZERO_IN_DATE).without(SqlMode::ALLOW_INVALID_DATES);
        }
        let (value, mut flaw) = self.read_datetime(v, mode);
        let mut rounded = value.and_then(|d| round_datetime(d, self.column.ty.decimals.min(6)));
        if let (Some(d), None) = (value, rounded) {
            self.overflow(d)?;
            flaw = Some(Flaw::OutOfRange);
        }
        if let (true, Some(d)) = (moment_wanted, rounded) {
            let zero = d.date == Date::default();
            if moment(d, self.cx.time_zone).is_none() || zero && d != DateTime::default() {
                (rounded, flaw) = (None, Some(Flaw::OutOfRange));
            } else if !zero && self.cx.time_zone.to_utc(to_unix(d)).is_none() {
                self.in_gap(v, from)?;
            }
        }
        if let Some(flaw) = flaw {
            self.flaw(flaw, v, from)?;
        }
        Ok(rounded.unwrap_or_default())
    }

    /// A local time that the clock skipped.
    fn in_gap(&mut self, v: &Value<'_>, from: &SqlType) -> SqlResult<()> {
        if self.mode.strict {
            return self.flaw(Flaw::OutOfRange, v, from);
        }
        let message = format!("Invalid TIMESTAMP value in column '{}' at row {}", self.name, self.mode.row);
        self.warn(1299, message)
    }

    fn as_time(&mut self, v: &Value<'_>, from: &SqlType) -> SqlResult<Time> {
        let parsed = match v {
            &Value::Time(t) => return Ok(round_time(t, self.column.ty.decimals)),
            &Value::DateTime(d) => return Ok(round_time(time_of(d), self.column.ty.decimals)),
            Value::Date(_) => return Ok(Time::default()),
            Value::Bytes(text) | Value::Label { text, .. } => {
                if text.iter().all(|&b| b == b' ') {
                    return Ok(Time::default());
                }
                parse_time(text)
            }
            Value::Bit { .. } | Value::Json(_) => parse_time(&v.to_text(&SqlType::new(Kind::Json))),
            _ => v.number_as_time(),
        };
        let rounded = parsed.value.map(|t| round_time(t, self.column.ty.decimals)).unwrap_or_default();
        let flaw = if parsed.clipped {
            Some(Flaw::OutOfRange)
        } else if parsed.truncated {
            Some(Flaw::Truncated)
        } else {
            parsed.had_date.then_some(Flaw::PartLost)
        };
        if let Some(flaw) = flaw {
            self.flaw(flaw, v, from)?;
        }
        Ok(rounded)
    }
}
