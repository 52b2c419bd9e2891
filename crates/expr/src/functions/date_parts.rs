//! Parts of dates and times: YEAR, HOUR, WEEK, EXTRACT, TO_DAYS …

use super::{Function, arg, evals, f};
use crate::build::{Collated, New, charset_of, date_type, int_type, text_type};
use crate::env;
use crate::locale::{Locale, push_name};
use crate::node::{Data, EvalFn, Expr};
use crate::scope::CompileCx;
use vaquita_parser::ast::IntervalUnit;
use vaquita_types::temporal::interval::Unit;
use vaquita_types::temporal::{Date, DateTime, calendar, print};
use vaquita_types::{SqlResult, SqlType, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("date", 1, 1, |cx, name, args| Ok(New::call(name, date_type(), args, eval_date).nullable().build(cx))),
    f("year", 1, 1, |cx, name, args| number(cx, name, 4, args, eval_year)),
    f("month", 1, 1, |cx, name, args| number(cx, name, 2, args, eval_month)),
    f("day", 1, 1, |cx, _, args| number(cx, "dayofmonth", 2, args, eval_day)),
    f("dayofmonth", 1, 1, |cx, name, args| number(cx, name, 2, args, eval_day)),
    f("dayofweek", 1, 1, |cx, name, args| number(cx, name, 1, args, eval_dayofweek)),
    f("weekday", 1, 1, |cx, name, args| number(cx, name, 1, args, eval_weekday)),
    f("dayofyear", 1, 1, |cx, name, args| number(cx, name, 3, args, eval_dayofyear)),
    f("quarter", 1, 1, |cx, name, args| number(cx, name, 1, args, eval_quarter)),
    f("week", 1, 2, |cx, name, args| number(cx, name, 2, args, eval_week)),
    f("weekofyear", 1, 1, |cx, name, args| number(cx, name, 2, args, eval_weekofyear)),
    f("yearweek", 1, 2, |cx, name, args| number(cx, name, 6, args, eval_yearweek)),
    f("hour", 1, 1, |cx, name, args| number(cx, name, 2, args, eval_hour)),
    f("minute", 1, 1, |cx, name, args| number(cx, name, 2, args, eval_minute)),
    f("second", 1, 1, |cx, name, args| number(cx, name, 2, args, eval_second)),
    f("microsecond", 1, 1, |cx, name, args| number(cx, name, 21, args, eval_microsecond)),
    f("to_days", 1, 1, |cx, name, args| number(cx, name, 6, args, eval_to_days)),
    f("to_seconds", 1, 1, |cx, name, args| number(cx, name, 6, args, eval_to_seconds)),
    f("from_days", 1, 1, |cx, name, args| Ok(New::call(name, date_type(), args, eval_from_days).build(cx))),
    f("last_day", 1, 1, |cx, name, args| {
        Ok(New::call(name, date_type(), args, eval_last_day).nullable().build(cx))
    }),
    f("dayname", 1, 1, |cx, name, args| names(cx, name, args, eval_dayname)),
    f("monthname", 1, 1, |cx, name, args| names(cx, name, args, eval_monthname)),
    f("time_to_sec", 1, 1, time_to_sec),
];

fn number(
    cx: &mut CompileCx<'_>,
    name: &'static str,
    length: u32,
    args: Vec<Expr>,
    eval: EvalFn,
) -> SqlResult<Expr> {
    Ok(New::call(name, int_type(length), args, eval).nullable().build(cx))
}

fn names(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>, eval: EvalFn) -> SqlResult<Expr> {
    let by = Collated::connection(cx);
    let [months, days, ..] = Locale::of_session(cx.session.state).widths();
    let ty = SqlType { decimals: 0, ..text_type(if name == "dayname" { days } else { months }, by) };
    Ok(New::call(name, ty, args, eval).collated(by).nullable().build(cx))
}

fn time_to_sec(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    number(cx, name, 10, args, eval_time_to_sec)
}

/// The unit of the syntax tree as the calendar's.
pub(crate) fn unit_of(unit: IntervalUnit) -> Unit {
    match unit {
        IntervalUnit::Microsecond => Unit::Microsecond,
        IntervalUnit::Second => Unit::Second,
        IntervalUnit::Minute => Unit::Minute,
        IntervalUnit::Hour => Unit::Hour,
        IntervalUnit::Day => Unit::Day,
        IntervalUnit::Week => Unit::Week,
        IntervalUnit::Month => Unit::Month,
        IntervalUnit::Quarter => Unit::Quarter,
        IntervalUnit::Year => Unit::Year,
        IntervalUnit::SecondMicrosecond => Unit::SecondMicrosecond,
        IntervalUnit::MinuteMicrosecond => Unit::MinuteMicrosecond,
        IntervalUnit::MinuteSecond => Unit::MinuteSecond,
        IntervalUnit::HourMicrosecond => Unit::HourMicrosecond,
        IntervalUnit::HourSecond => Unit::HourSecond,
        IntervalUnit::HourMinute => Unit::HourMinute,
        IntervalUnit::DayMicrosecond => Unit::DayMicrosecond,
        IntervalUnit::DaySecond => Unit::DaySecond,
        IntervalUnit::DayMinute => Unit::DayMinute,
        IntervalUnit::DayHour => Unit::DayHour,
        IntervalUnit::YearMonth => Unit::YearMonth,
    }
}

/// `EXTRACT(unit FROM x)`.
pub(crate) fn extract(cx: &mut CompileCx<'_>, unit: IntervalUnit, x: Expr) -> Expr {
    let unit = unit_of(unit);
    let length = match unit {
        Unit::Year => 4,
        Unit::YearMonth | Unit::MinuteMicrosecond => 6,
        Unit::Quarter | Unit::Month | Unit::Week | Unit::Day | Unit::Hour | Unit::Minute | Unit::Second => 2,
        Unit::DayHour => 9,
        Unit::HourMinute | Unit::MinuteSecond => 5,
        Unit::DayMinute => 11,
        Unit::DaySecond => 13,
        Unit::HourSecond => 7,
        Unit::Microsecond => 20,
        Unit::DayMicrosecond => 20,
        Unit::HourMicrosecond => 13,
        Unit::SecondMicrosecond => 9,
    };
    New::call("extract", int_type(length), vec![x], eval_extract).data(Data::Unit(unit)).nullable().build(cx)
}

/// The mode of WEEK() as the calendar takes it.
fn week_mode(mode: i128) -> u8 {
    (mode & 7) as u8
}

const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A name of the locale, in the character set of the result.
fn named(name: Option<&'static str>, e: &Expr) -> Value<'static> {
    let Some(name) = name else { return Value::Null };
    if name.is_ascii() && charset_of(e.ty().collation).is_ascii_based() {
        return Value::bytes(name.as_bytes());
    }
    let mut out = Vec::new();
    push_name(name, charset_of(e.ty().collation), &mut out);
    Value::owned(out)
}

/// Name of a day in English, 0 is Monday.
pub(super) fn day_name(weekday: u8) -> &'static str {
    DAYS[usize::from(weekday) % 7]
}

/// Name of a month from 1; none of month 0.
pub(super) fn month_name(month: u8) -> Option<&'static str> {
    MONTHS.get(usize::from(month).checked_sub(1)?).copied()
}

evals! {
    eval_date(e, args, cx, row) {
        Ok(args[0].date(cx, row)?.map_or(Value::Null, Value::Date))
    }
    eval_year(e, args, cx, row) {
        Ok(Value::Int(arg!(args[0].date(cx, row)).year.into()))
    }
    eval_month(e, args, cx, row) {
        Ok(Value::Int(arg!(args[0].date(cx, row)).month.into()))
    }
    eval_day(e, args, cx, row) {
        Ok(Value::Int(arg!(args[0].date(cx, row)).day.into()))
    }
    eval_quarter(e, args, cx, row) {
        Ok(Value::Int(arg!(args[0].date(cx, row)).month.div_ceil(3).into()))
    }
    eval_dayofweek(e, args, cx, row) {
        let d = arg!(full_date(&args[0], cx, row));
        Ok(Value::Int(i64::from((calendar::weekday(d) + 1) % 7) + 1))
    }
    eval_weekday(e, args, cx, row) {
        let d = arg!(full_date(&args[0], cx, row));
        Ok(Value::Int(calendar::weekday(d).into()))
    }
    eval_dayofyear(e, args, cx, row) {
        let d = arg!(full_date(&args[0], cx, row));
        Ok(Value::Int(calendar::day_of_year(d).into()))
    }
    eval_week(e, args, cx, row) {
        let d = arg!(full_date(&args[0], cx, row));
        let mode = match args.get(1) {
            Some(mode) => arg!(mode.integer(cx, row)),
            None => i128::from(env::default_week_format(cx.state)),
        };
        Ok(Value::Int(calendar::week(d, week_mode(mode)).1.into()))
    }
    eval_weekofyear(e, args, cx, row) {
        let d = arg!(full_date(&args[0], cx, row));
        Ok(Value::Int(calendar::week(d, 3).1.into()))
    }
    eval_yearweek(e, args, cx, row) {
        let d = arg!(full_date(&args[0], cx, row));
        let mode = match args.get(1) {
            Some(mode) => arg!(mode.integer(cx, row)),
            None => 0,
        };
        Ok(Value::Int(calendar::year_week(d, week_mode(mode)).into()))
    }
    eval_hour(e, args, cx, row) {
        Ok(Value::Int(arg!(args[0].time(cx, row)).hours.into()))
    }
    eval_minute(e, args, cx, row) {
        Ok(Value::Int(arg!(args[0].time(cx, row)).minutes.into()))
    }
    eval_second(e, args, cx, row) {
        Ok(Value::Int(arg!(args[0].time(cx, row)).seconds.into()))
    }
    eval_microsecond(e, args, cx, row) {
        Ok(Value::Int(arg!(args[0].time(cx, row)).micros.into()))
    }
    eval_to_days(e, args, cx, row) {
        let d = arg!(full_date(&args[0], cx, row));
        Ok(Value::Int(calendar::to_days(d)))
    }
    eval_to_seconds(e, args, cx, row) {
        let d = arg!(args[0].whole_datetime(cx, row));
        let seconds = i64::from(d.hour) * 3600 + i64::from(d.minute) * 60 + i64::from(d.second);
        Ok(Value::Int(calendar::to_days(d.date) * 86_400 + seconds))
    }
    eval_from_days(e, args, cx, row) {
        let days = arg!(args[0].integer(cx, row));
        let date = i64::try_from(days).ok().and_then(calendar::from_days).unwrap_or_default();
        Ok(Value::Date(date))
    }
    eval_last_day(e, args, cx, row) {
        let d = arg!(args[0].date(cx, row));
        if d.month == 0 {
            let mut text = Vec::new();
            print::push_date(d, &mut text);
            cx.warn(1292, format!("Incorrect datetime value: '{}'", String::from_utf8_lossy(&text)));
            return Ok(Value::Null);
        }
        Ok(Value::Date(Date { day: calendar::days_in_month(d.year, d.month), ..d }))
    }
    eval_dayname(e, args, cx, row) {
        let d = arg!(full_date(&args[0], cx, row));
        Ok(named(Locale::of_session(cx.state).day(calendar::weekday(d)), e))
    }
    eval_monthname(e, args, cx, row) {
        let d = arg!(args[0].date(cx, row));
        Ok(named(Locale::of_session(cx.state).month(d.month), e))
    }
    eval_time_to_sec(e, args, cx, row) {
        let t = arg!(args[0].time(cx, row));
        let seconds = i64::from(t.hours) * 3600 + i64::from(t.minutes) * 60 + i64::from(t.seconds);
        Ok(Value::Int(if t.negative { -seconds } else { seconds }))
    }
    eval_extract(e, args, cx, row) {
        let unit = e.unit();
        if matches!(unit, Unit::Year | Unit::YearMonth | Unit::Quarter | Unit::Month | Unit::Week | Unit::Day) {
            let d = arg!(args[0].date(cx, row));
            let (year, month) = (i64::from(d.year), i64::from(d.month));
            return Ok(Value::Int(match unit {
                Unit::Year => year,
                Unit::YearMonth => year * 100 + month,
                Unit::Quarter => (month + 2) / 3,
                Unit::Month => month,
                Unit::Week => calendar::week(d, env::default_week_format(cx.state)).1.into(),
                _ => d.day.into(),
            }));
        }
        let t = arg!(args[0].time_of_day(cx, row));
        let (days, hours) = t.0;
        let t = t.1;
        let (h, m, s, us) = (hours, i64::from(t.minutes), i64::from(t.seconds), i64::from(t.micros));
        let v = match unit {
            Unit::Hour => h,
            Unit::Minute => m,
            Unit::Second => s,
            Unit::Microsecond => us,
            Unit::DayHour => days * 100 + h,
            Unit::DayMinute => (days * 100 + h) * 100 + m,
            Unit::DaySecond => ((days * 100 + h) * 100 + m) * 100 + s,
            Unit::DayMicrosecond => (((days * 100 + h) * 100 + m) * 100 + s) * 1_000_000 + us,
            Unit::HourMinute => h * 100 + m,
            Unit::HourSecond => (h * 100 + m) * 100 + s,
            Unit::HourMicrosecond => ((h * 100 + m) * 100 + s) * 1_000_000 + us,
            Unit::MinuteSecond => m * 100 + s,
            Unit::MinuteMicrosecond => (m * 100 + s) * 1_000_000 + us,
            _ => s * 1_000_000 + us,
        };
        Ok(Value::Int(if t.negative { -v } else { v }))
    }
}

/// A date none of whose parts is zero.
fn full_date(e: &Expr, cx: &mut crate::EvalCx<'_>, row: &crate::Row<'_>) -> SqlResult<Option<Date>> {
    Ok(e.whole_datetime(cx, row)?.map(|d| d.date))
}

impl Expr {
    /// Days, hours of the day, and the time: of a date with time its day of the month.
    fn time_of_day(
        &self,
        cx: &mut crate::EvalCx<'_>,
        row: &crate::Row<'_>,
    ) -> SqlResult<Option<((i64, i64), vaquita_types::Time)>> {
        let v = self.eval(cx, row)?;
        let as_moment = match &v {
            // A typed one loses its date here, text keeps it.
            Value::DateTime(d) => Some(DateTime { date: Date::default(), ..*d }),
            Value::Date(_) => Some(DateTime::default()),
            Value::Int(n) if *n >= 10_000_000_000 => v.to_datetime(&mut cx.convert()),
            Value::Bytes(text) if text.len() > 10 => {
                let date = cx.convert().date;
                let parsed = vaquita_types::temporal::parse::parse_datetime(text, &date);
                parsed.value.filter(|_| parsed.has_time && text.iter().filter(|&&b| b == b'-').count() >= 2)
            }
            _ => None,
        };
        if let Some(d) = as_moment {
            let t = vaquita_types::Time {
                negative: false,
                hours: d.hour.into(),
                minutes: d.minute,
                seconds: d.second,
                micros: d.micros,
            };
            return Ok(Some(((d.date.day.into(), d.hour.into()), t)));
        }
        let Some(t) = (match v {
            Value::Null => None,
            Value::Time(t) => Some(t),
            v if crate::access::is_no_time(&v, cx) => self.time(cx, row)?,
            v => v.to_time(&mut cx.convert()),
        }) else {
            return Ok(None);
        };
        Ok(Some(((0, t.hours.into()), t)))
    }
}
