//! CREATE EVENT and ALTER EVENT: their expressions have values when the statement is executed.

use super::Connection;
use crate::event::schedule::AMOUNT_MAX;
use crate::program::events::{Timing, bad_end};
use vaquita_parser::ast::{EventSchedule, Expr, IntervalUnit, Stmt};
use vaquita_types::column::moment;
use vaquita_types::temporal::interval::{Interval, Unit};
use vaquita_types::{Cx, SqlError, SqlResult, Value, Warnings};

/// Error 1525.
fn wrong_value(what: &str, value: &str) -> SqlError {
    SqlError::new(1525, format!("Incorrect {what} value: '{value}'"))
}

/// The unit as the calendar's, unless it counts microseconds.
fn unit_of(unit: IntervalUnit) -> Option<Unit> {
    Some(match unit {
        IntervalUnit::Second => Unit::Second,
        IntervalUnit::Minute => Unit::Minute,
        IntervalUnit::Hour => Unit::Hour,
        IntervalUnit::Day => Unit::Day,
        IntervalUnit::Week => Unit::Week,
        IntervalUnit::Month => Unit::Month,
        IntervalUnit::Quarter => Unit::Quarter,
        IntervalUnit::Year => Unit::Year,
        IntervalUnit::MinuteSecond => Unit::MinuteSecond,
        IntervalUnit::HourSecond => Unit::HourSecond,
        IntervalUnit::HourMinute => Unit::HourMinute,
        IntervalUnit::DaySecond => Unit::DaySecond,
        IntervalUnit::DayMinute => Unit::DayMinute,
        IntervalUnit::DayHour => Unit::DayHour,
        IntervalUnit::YearMonth => Unit::YearMonth,
        IntervalUnit::Microsecond
        | IntervalUnit::SecondMicrosecond
        | IntervalUnit::MinuteMicrosecond
        | IntervalUnit::HourMicrosecond
        | IntervalUnit::DayMicrosecond => return None,
    })
}

/// How many of the smallest part of a compound unit an interval is; below zero: none.
fn smallest_parts(unit: Unit, interval: &Interval) -> i64 {
    let seconds = interval.days.saturating_mul(86_400).saturating_add(interval.seconds);
    let parts = match unit {
        Unit::YearMonth => interval.months,
        Unit::DayHour => seconds / 3600,
        Unit::DayMinute | Unit::HourMinute => seconds / 60,
        _ => seconds,
    };
    let parts = i64::try_from(parts).unwrap_or(i64::MAX);
    if interval.negative { -parts } else { parts }
}

impl Connection {
    /// The schedule that a definition gives an event, if it gives one.
    ///
    /// # Errors
    /// 1525, 1542, 1543.
    pub(super) fn timing_of(
        &mut self,
        stmt: &Stmt<'_>,
        sql: &[u8],
        params: &[Value<'_>],
    ) -> SqlResult<Option<Timing>> {
        let head = match stmt {
            Stmt::CreateProgram(program) => program.event,
            Stmt::AlterEvent(alter) => Some(alter.head),
            _ => None,
        };
        match head.and_then(|head| head.schedule) {
            Some(schedule) => self.timing(&schedule, sql, params).map(Some),
            None => Ok(None),
        }
    }

    fn timing(
        &mut self,
        schedule: &EventSchedule<'_>,
        sql: &[u8],
        params: &[Value<'_>],
    ) -> SqlResult<Timing> {
        match schedule {
            EventSchedule::At(at) => self.moment_of(at, sql, params, "AT").map(Timing::At),
            EventSchedule::Every { value, unit, starts, ends } => {
                let unit = unit_of(*unit).ok_or_else(|| SqlError::unsupported("MICROSECOND"))?;
                let amount = self.amount_of(value, unit, sql, params)?;
                let starts = match starts {
                    Some(starts) => Some(self.moment_of(starts, sql, params, "STARTS")?),
                    None => None,
                };
                let ends = match ends {
                    Some(ends) => match self.moment_of(ends, sql, params, "ENDS") {
                        Err(e) if e.code == 1525 => return Err(bad_end()),
                        ends => Some(ends?),
                    },
                    None => None,
                };
                Ok(Timing::Every { amount, unit, starts, ends })
            }
        }
    }

    /// Seconds since 1970 of an expression's time.
    fn moment_of(&mut self, expr: &Expr<'_>, sql: &[u8], params: &[Value<'_>], what: &str) -> SqlResult<i64> {
        let (value, ty) = self.evaluate(expr, sql, params)?;
        if value.is_null() {
            return Err(wrong_value(what, "NULL"));
        }
        let date = self.state.date_context();
        let mut unsaid = Warnings::new(0);
        let mut cx = Cx { date, time_zone: &self.state.vars.time_zone, warnings: &mut unsaid };
        let at = value.to_datetime(&mut cx).filter(|d| d.date.month != 0 && d.date.day != 0);
        let at = at.and_then(|at| moment(at, &self.state.vars.time_zone)).filter(|at| at.seconds != 0);
        match at {
            Some(at) => Ok(at.seconds.into()),
            None => Err(wrong_value(what, &String::from_utf8_lossy(&value.to_text(&ty)))),
        }
    }

    /// The amount of an interval, in the smallest part of its unit.
    fn amount_of(&mut self, expr: &Expr<'_>, unit: Unit, sql: &[u8], params: &[Value<'_>]) -> SqlResult<u32> {
        let (value, ty) = self.evaluate(expr, sql, params)?;
        if value.is_null() {
            return Err(wrong_value("INTERVAL", "NULL"));
        }
        let amount = if unit.is_compound() {
            let text = value.to_text(&ty);
            let interval = Interval::parse(unit, &text);
            let interval =
                interval.ok_or_else(|| wrong_value("INTERVAL", &String::from_utf8_lossy(&text)))?;
            smallest_parts(unit, &interval)
        } else {
            let date = self.state.date_context();
            let time_zone = &self.state.vars.time_zone;
            value.to_i64(&mut Cx { date, time_zone, warnings: &mut self.state.warnings })
        };
        match u32::try_from(amount) {
            Ok(amount) if amount > 0 && i64::from(amount) <= AMOUNT_MAX => Ok(amount),
            _ => Err(SqlError::new(1542, "INTERVAL is either not positive or too big")),
        }
    }
}
