//! Dates and times: parsing, weeks, intervals.

use super::{Report, rows, sql_mode, text, with_warnings};
use vaquita_types::convert::cast::{Target, cast};
use vaquita_types::sql_type::SqlType;
use vaquita_types::temporal::calendar::{day_of_year, to_days, week, weekday, year_week};
use vaquita_types::temporal::interval::{Interval, Unit, add, diff};
use vaquita_types::temporal::parse::parse_datetime;
use vaquita_types::temporal::print::push_datetime;
use vaquita_types::temporal::{DateContext, DateTime};
use vaquita_types::{Decimal, Kind, SqlMode, Value};

fn shown(v: &Value<'_>, kind: Kind) -> String {
    if v.is_null() {
        return "NULL".to_owned();
    }
    let mut out = Vec::new();
    v.push_text(&SqlType { decimals: 6, ..SqlType::new(kind) }, &mut out);
    text(out)
}

fn check_casts(report: &mut Report, row: &[String], v: &Value<'_>, ty: &SqlType) {
    for (target, kind, at) in [(Target::DateTime(6), Kind::DateTime, 2), (Target::Time(6), Kind::Time, 4)] {
        let (r, warnings) = with_warnings(sql_mode(&row[0]), |cx| {
            cast(v, ty, &target, "", cx).map_or("ERR".to_owned(), |r| shown(&r, kind))
        });
        let got = format!("{r} {warnings}");
        report.check(&row[..2], &got, &format!("{} {}", row[at], row[at + 1]));
    }
}

#[test]
fn text_is_read_as_dates_and_times_as_by_the_server() {
    let mut report = Report::new("date");
    for row in rows(include_str!("../recorded/date.tsv")) {
        check_casts(&mut report, &row, &Value::bytes(row[1].as_bytes()), &SqlType::varchar(100, 45));
    }
    report.finish();
}

#[test]
fn numbers_are_read_as_dates_and_times_as_by_the_server() {
    let mut report = Report::new("date_number");
    for row in rows(include_str!("../recorded/date_number.tsv")) {
        let v = match row[1].parse::<i64>() {
            Ok(v) => Value::Int(v),
            Err(_) => Value::Decimal(Decimal::parse(row[1].as_bytes()).value),
        };
        check_casts(&mut report, &row, &v, &SqlType::double());
    }
    report.finish();
}

fn datetime(s: &str) -> DateTime {
    let cx = DateContext { mode: SqlMode::default(), today: super::TODAY };
    parse_datetime(s.as_bytes(), &cx).value.expect("a date")
}

#[test]
fn weeks_and_days_are_those_of_the_server() {
    let mut report = Report::new("week");
    for row in rows(include_str!("../recorded/week.tsv")) {
        let d = datetime(&row[0]).date;
        let mut got = vec![to_days(d), weekday(d).into(), day_of_year(d).into()];
        got.extend((0..8).map(|mode| i64::from(week(d, mode).1)));
        got.extend((0..8).map(|mode| i64::from(year_week(d, mode))));
        let got: Vec<String> = got.iter().map(i64::to_string).collect();
        report.check(&row[..1], &got.join(" "), &row[1..].join(" "));
    }
    report.finish();
}

fn unit(name: &str) -> Unit {
    match name {
        "YEAR" => Unit::Year,
        "QUARTER" => Unit::Quarter,
        "MONTH" => Unit::Month,
        "WEEK" => Unit::Week,
        "DAY" => Unit::Day,
        "HOUR" => Unit::Hour,
        "MINUTE" => Unit::Minute,
        "SECOND" => Unit::Second,
        "MICROSECOND" => Unit::Microsecond,
        "YEAR_MONTH" => Unit::YearMonth,
        "DAY_HOUR" => Unit::DayHour,
        "DAY_MINUTE" => Unit::DayMinute,
        "DAY_SECOND" => Unit::DaySecond,
        "DAY_MICROSECOND" => Unit::DayMicrosecond,
        "HOUR_MINUTE" => Unit::HourMinute,
        "HOUR_SECOND" => Unit::HourSecond,
        "HOUR_MICROSECOND" => Unit::HourMicrosecond,
        "MINUTE_SECOND" => Unit::MinuteSecond,
        "MINUTE_MICROSECOND" => Unit::MinuteMicrosecond,
        "SECOND_MICROSECOND" => Unit::SecondMicrosecond,
        other => panic!("no unit {other}"),
    }
}

#[test]
fn intervals_are_added_as_by_the_server() {
    let mut report = Report::new("interval");
    for row in rows(include_str!("../recorded/interval.tsv")) {
        if row[0] == "diff" {
            let got = diff(unit(&row[3]), datetime(&row[1]), datetime(&row[2])).to_string();
            report.check(&row[..4], &got, &row[4]);
            continue;
        }
        let unit = unit(&row[3]);
        let interval = if unit.is_compound() {
            Interval::parse(unit, row[2].as_bytes())
        } else {
            Some(Interval::of(unit, row[2].parse().expect("amount"), 0, false))
        };
        let got = match interval.and_then(|i| add(datetime(&row[1]), &i)) {
            Some(d) => {
                let mut out = Vec::new();
                push_datetime(d, 6, &mut out);
                text(out)
            }
            None => "NULL".to_owned(),
        };
        report.check(&row[..4], &got, &row[4]);
    }
    report.finish();
}
