//! Times and intervals of events.
//!
//! An interval is a number of its unit's smallest part (`'1:30' MINUTE_SECOND` is 90 seconds). The times of an event are its start
//! and whole multiples of the interval later, counted on the clocks and calendars of its time zone: every day at eight is at eight
//! in summer, too, and a month after January 31st is the last of February, two months after it March 31st.

use vaquita_types::TimeZone;
use vaquita_types::temporal::calendar::{from_unix, to_unix};
use vaquita_types::temporal::interval::{Interval, Unit, add};

/// The greatest amount of an interval.
pub(crate) const AMOUNT_MAX: i64 = 1_000_000_000;
/// The last moment that an event can be executed at.
pub(crate) const LAST_MOMENT: i64 = i32::MAX as i64;

/// Units that events have, with their names.
const UNITS: [(Unit, &str); 15] = [
    (Unit::Year, "YEAR"),
    (Unit::Quarter, "QUARTER"),
    (Unit::Month, "MONTH"),
    (Unit::Day, "DAY"),
    (Unit::Hour, "HOUR"),
    (Unit::Minute, "MINUTE"),
    (Unit::Week, "WEEK"),
    (Unit::Second, "SECOND"),
    (Unit::YearMonth, "YEAR_MONTH"),
    (Unit::DayHour, "DAY_HOUR"),
    (Unit::DayMinute, "DAY_MINUTE"),
    (Unit::DaySecond, "DAY_SECOND"),
    (Unit::HourMinute, "HOUR_MINUTE"),
    (Unit::HourSecond, "HOUR_SECOND"),
    (Unit::MinuteSecond, "MINUTE_SECOND"),
];

/// The name of a unit; nothing for one that no event has.
pub(crate) fn unit_name(unit: Unit) -> &'static str {
    UNITS.iter().find(|(of, _)| *of == unit).map_or("", |(_, name)| name)
}

/// The unit of that name.
pub(crate) fn unit_named(name: &str) -> Option<Unit> {
    UNITS.iter().find(|(_, of)| *of == name).map(|(unit, _)| *unit)
}

/// When an event is executed; times are seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Schedule {
    At(i64),
    Every(Every),
}

/// Again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Every {
    /// So many of the smallest part of the unit.
    pub(crate) amount: u32,
    pub(crate) unit: Unit,
    pub(crate) starts: i64,
    pub(crate) ends: Option<i64>,
}

impl Schedule {
    /// Whether it says when it is over.
    pub(crate) fn has_end(&self) -> bool {
        match self {
            Schedule::At(_) => true,
            Schedule::Every(every) => every.ends.is_some(),
        }
    }

    /// The first time that is not before `from` and, if the event has been executed, after that.
    pub(crate) fn next(&self, zone: &TimeZone, from: i64, last_executed: Option<i64>) -> Option<i64> {
        match self {
            Schedule::At(at) => last_executed.is_none_or(|last| last < *at).then_some(*at),
            Schedule::Every(every) => {
                let from = last_executed.map_or(from, |last| from.max(last.saturating_add(1)));
                every.not_before(zone, from)
            }
        }
    }
}

impl Every {
    /// The interval so many times, as calendars count it: months, or days and seconds.
    fn times(&self, n: u64) -> Interval {
        let n = n.saturating_mul(self.amount.into());
        let (mut months, mut days, mut seconds) = (0, 0, 0);
        match self.unit {
            Unit::Year => months = n.saturating_mul(12),
            Unit::Quarter => months = n.saturating_mul(3),
            Unit::Month | Unit::YearMonth => months = n,
            Unit::Week => days = n.saturating_mul(7),
            Unit::Day => days = n,
            Unit::Hour | Unit::DayHour => seconds = n.saturating_mul(3600),
            Unit::Minute | Unit::DayMinute | Unit::HourMinute => seconds = n.saturating_mul(60),
            _ => seconds = n,
        }
        Interval { negative: false, months, days, seconds, micros: 0 }
    }

    /// The time of the `n`th repetition. Hours, minutes and seconds pass whatever clocks are set to.
    fn time(&self, zone: &TimeZone, n: u64) -> Option<i64> {
        let interval = self.times(n);
        let at = match interval.months == 0 && interval.days == 0 {
            true => self.starts.checked_add(i64::try_from(interval.seconds).ok()?)?,
            false => {
                let local = from_unix(zone.to_local(self.starts), 0)?;
                zone.to_utc_lenient(to_unix(add(local, &interval)?))
            }
        };
        (at <= LAST_MOMENT).then_some(at)
    }

    /// The number of the first time that is not before `from`; times grow with their number.
    fn number_not_before(&self, zone: &TimeZone, from: i64) -> u64 {
        if self.starts >= from {
            return 0;
        }
        // It lies between one that is not late enough and one that is, or beyond all times.
        let is_late = |n: u64| self.time(zone, n).is_none_or(|at| at >= from);
        let (mut early, mut late) = (0, 1);
        while !is_late(late) {
            (early, late) = (late, late.saturating_mul(2));
        }
        while late - early > 1 {
            let middle = early + (late - early) / 2;
            match is_late(middle) {
                true => late = middle,
                false => early = middle,
            }
        }
        late
    }

    /// The first time that is not before `from`.
    fn not_before(&self, zone: &TimeZone, from: i64) -> Option<i64> {
        let at = self.time(zone, self.number_not_before(zone, from))?;
        self.ends.is_none_or(|ends| at <= ends).then_some(at)
    }

    /// The amount as statements write it: a number, or text of several.
    pub(crate) fn shown(&self) -> String {
        let n = self.amount;
        match self.unit {
            Unit::YearMonth => format!("'{}-{}'", n / 12, n % 12),
            Unit::DayHour => format!("'{} {}'", n / 24, n % 24),
            Unit::DayMinute => format!("'{} {}:{}'", n / 1440, n / 60 % 24, n % 60),
            Unit::DaySecond => format!("'{} {}:{}:{}'", n / 86_400, n / 3600 % 24, n / 60 % 60, n % 60),
            Unit::HourMinute | Unit::MinuteSecond => format!("'{}:{}'", n / 60, n % 60),
            Unit::HourSecond => format!("'{}:{}:{}'", n / 3600, n / 60 % 60, n % 60),
            _ => n.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(amount: u32, unit: Unit, starts: i64) -> Every {
        Every { amount, unit, starts, ends: None }
    }

    fn utc(text: &str) -> i64 {
        let n: Vec<i64> = text.split(['-', ' ', ':']).map(|n| n.parse().expect("a number")).collect();
        let of = |at: usize| u8::try_from(n.get(at).copied().unwrap_or(0)).expect("a part of a time");
        let date = vaquita_types::temporal::Date { year: n[0] as u16, month: of(1), day: of(2) };
        let time =
            vaquita_types::temporal::DateTime { date, hour: of(3), minute: of(4), second: of(5), micros: 0 };
        to_unix(time)
    }

    fn all(of: &Every, zone: &TimeZone, n: usize) -> Vec<i64> {
        let (mut out, mut from) = (Vec::new(), i64::MIN);
        while out.len() < n {
            let Some(at) = of.not_before(zone, from) else { break };
            out.push(at);
            from = at + 1;
        }
        out
    }

    #[test]
    fn months_are_counted_from_the_start() {
        let of = every(1, Unit::Month, utc("2026-01-31 10:00:00"));
        let days = ["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"];
        let wanted: Vec<i64> = days.iter().map(|day| utc(&format!("{day} 10:00:00"))).collect();
        assert_eq!(all(&of, &TimeZone::UTC, 5), wanted);
        let of = every(14, Unit::YearMonth, utc("2026-12-31"));
        assert_eq!(all(&of, &TimeZone::UTC, 2)[1], utc("2028-02-29"));
    }

    /// In Berlin clocks went forward on 2026-03-29 at one in UTC, and back on 2026-10-25.
    #[test]
    fn days_are_those_of_the_time_zone_and_hours_pass() {
        let berlin = TimeZone::parse("Europe/Berlin").expect("a zone of the system");
        let of = every(1, Unit::Day, utc("2026-03-28 07:00:00"));
        let times = ["2026-03-28 07:00:00", "2026-03-29 06:00:00", "2026-03-30 06:00:00"];
        assert_eq!(all(&of, &berlin, 3), times.map(utc));
        let of = every(12, Unit::Hour, utc("2026-03-28 19:00:00"));
        let times = ["2026-03-28 19:00:00", "2026-03-29 07:00:00"];
        assert_eq!(all(&of, &berlin, 2), times.map(utc));
        // Half past two is not there on that day: it is three, when the clocks were set.
        let of = every(1, Unit::Day, utc("2026-03-28 01:30:00"));
        let times = ["2026-03-28 01:30:00", "2026-03-29 01:00:00", "2026-03-30 00:30:00"];
        assert_eq!(all(&of, &berlin, 3), times.map(utc));
    }

    #[test]
    fn there_is_an_end() {
        let zone = TimeZone::UTC;
        let of = Every { ends: Some(25), ..every(10, Unit::Second, 5) };
        assert_eq!(all(&of, &zone, 9), [5, 15, 25]);
        assert_eq!(every(1_000_000_000, Unit::Second, 1_700_000_000).not_before(&zone, 1_700_000_001), None);
        assert_eq!(every(1, Unit::Second, LAST_MOMENT).not_before(&zone, 0), Some(LAST_MOMENT));
        let once = Schedule::At(7);
        assert_eq!((once.next(&zone, 100, None), once.next(&zone, 0, Some(7))), (Some(7), None));
        let again = Schedule::Every(every(10, Unit::Second, 5));
        assert_eq!(again.next(&zone, 5, None), Some(5));
        assert_eq!(again.next(&zone, 5, Some(5)), Some(15));
        assert_eq!(again.next(&zone, 1_000, Some(5)), Some(1_005), "what was missed is over");
    }

    #[test]
    fn amounts_are_shown_as_they_are_written() {
        let shown = |amount, unit| every(amount, unit, 0).shown();
        for (amount, unit, wanted) in [
            (3, Unit::Hour, "3"),
            (62, Unit::MinuteSecond, "'1:2'"),
            (93_784, Unit::DaySecond, "'1 2:3:4'"),
            (220, Unit::YearMonth, "'18-4'"),
            (26, Unit::DayHour, "'1 2'"),
            (1_563, Unit::DayMinute, "'1 2:3'"),
            (123, Unit::HourMinute, "'2:3'"),
            (7_384, Unit::HourSecond, "'2:3:4'"),
        ] {
            assert_eq!(shown(amount, unit), wanted);
        }
        for (unit, name) in UNITS {
            assert_eq!((unit_named(name), unit_name(unit)), (Some(unit), name));
        }
    }

    /// What is found is a time of the schedule, not too early, and the one before it is.
    #[test]
    fn the_next_time_is_the_first_that_is_late_enough() {
        let zone = TimeZone::parse("Europe/Berlin").expect("a zone of the system");
        let mut drawn = 1_u64;
        let mut draw = |below: u64| {
            drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i64::try_from((drawn >> 33) % below).expect("31 bits")
        };
        for _ in 0..3_000 {
            let unit = UNITS[draw(UNITS.len() as u64) as usize].0;
            let of = every(draw(2_000) as u32 + 1, unit, draw(2_000_000_000));
            let from = of.starts + draw(200_000_000);
            let number = of.number_not_before(&zone, from);
            assert!(of.time(&zone, number).is_none_or(|at| at >= from), "{of:?} from {from}");
            if let Some(before) = number.checked_sub(1) {
                assert!(of.time(&zone, before).is_some_and(|before| before < from), "{of:?} from {from}");
            }
        }
    }
}
