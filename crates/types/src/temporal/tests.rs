use super::calendar::{
    LAST_DAY, datetime_from_micros, datetime_micros, days_in_month, from_days, from_unix, time_from_micros,
    time_micros, to_days, to_unix, week,
};
use super::interval::{Interval, Unit, add, diff};
use super::parse::{datetime_from_number, parse_datetime, parse_time, time_from_number};
use super::print::{push_datetime, push_time, round_datetime, round_time};
use super::*;
use proptest::prelude::*;

fn any_mode() -> impl Strategy<Value = DateContext> {
    any::<u64>().prop_map(|bits| DateContext { mode: SqlMode(bits), today: Date::default() })
}

fn any_date() -> impl Strategy<Value = Date> {
    (366i64..=LAST_DAY).prop_map(|days| from_days(days).unwrap())
}

fn any_datetime() -> impl Strategy<Value = DateTime> {
    (any_date(), 0u8..24, 0u8..60, 0u8..60, 0u32..1_000_000)
        .prop_map(|(date, hour, minute, second, micros)| DateTime { date, hour, minute, second, micros })
}

fn any_time() -> impl Strategy<Value = Time> {
    (-3_020_399_000_000i64..=3_020_399_000_000).prop_map(|micros| time_from_micros(micros).0)
}

proptest! {
    #[test]
    fn any_text_is_some_date_or_none(text in prop::collection::vec(any::<u8>(), 0..40), cx in any_mode()) {
        parse_datetime(&text, &cx);
        parse_time(&text);
        for unit in [Unit::YearMonth, Unit::DayMicrosecond, Unit::SecondMicrosecond] {
            Interval::parse(unit, &text);
        }
    }

    #[test]
    fn text_like_dates_is_no_panic(text in "[-0-9:. TZe+/]{0,30}", cx in any_mode()) {
        let parsed = parse_datetime(text.as_bytes(), &cx);
        if let Some(d) = parsed.value {
            prop_assert!(d.date.month <= 12 && d.date.day <= 31 && d.hour < 24 && d.minute < 60 && d.second < 60);
            prop_assert!(d.micros < 1_000_000 && d.date.year <= 9999);
        }
        if let Some(t) = parse_time(text.as_bytes()).value {
            prop_assert!(t.hours <= 838 && t.minutes < 60 && t.seconds < 60 && t.micros < 1_000_000);
        }
    }

    #[test]
    fn any_number_is_some_date_or_none(v in any::<i64>(), micros in 0u32..1_000_000, cx in any_mode()) {
        datetime_from_number(v, micros, &cx);
        datetime_from_number(v % 100_000_000_000_000, micros, &cx);
        time_from_number(v, micros, v < 0);
    }

    #[test]
    fn dates_print_and_parse(d in any_datetime(), t in any_time()) {
        let cx = DateContext { mode: SqlMode::default(), today: Date::default() };
        let mut text = Vec::new();
        push_datetime(d, 6, &mut text);
        prop_assert_eq!(parse_datetime(&text, &cx).value, Some(d));
        text.clear();
        push_time(t, 6, &mut text);
        prop_assert_eq!(parse_time(&text).value, Some(t));
        prop_assert_eq!(time_from_micros(time_micros(t)), (t, false));
        prop_assert_eq!(round_time(t, 6), t);
        prop_assert_eq!(round_datetime(d, 6), Some(d));
    }

    #[test]
    fn days_count(d in any_datetime()) {
        prop_assert_eq!(from_days(to_days(d.date)), Some(d.date));
        prop_assert_eq!(datetime_from_micros(datetime_micros(d)), Some(d));
        prop_assert_eq!(from_unix(to_unix(d), d.micros), Some(d));
        prop_assert!(d.date.day <= days_in_month(d.date.year, d.date.month));
        for mode in 0..8 {
            let (_, w) = week(d.date, mode);
            prop_assert!(w <= 53 && (mode & 2 == 0 || w >= 1));
        }
    }

    #[test]
    fn an_interval_and_back(d in any_datetime(), amount in -1_000_000_000i64..1_000_000_000, unit in 0usize..6) {
        let unit = [Unit::Week, Unit::Day, Unit::Hour, Unit::Minute, Unit::Second, Unit::Microsecond][unit];
        let interval = Interval::of(unit, amount, 0, false);
        if let Some(later) = add(d, &interval).filter(|later| later.date != Date::default()) {
            prop_assert_eq!(diff(unit, d, later), amount);
            prop_assert_eq!(add(later, &interval.neg()), Some(d));
        }
    }

    #[test]
    fn no_amount_is_too_large(d in any_datetime(), amount in any::<i64>(), micros in any::<u32>()) {
        for unit in [Unit::Year, Unit::Quarter, Unit::Month, Unit::Week, Unit::Second, Unit::Microsecond] {
            add(d, &Interval::of(unit, amount, micros, false));
        }
    }
}
