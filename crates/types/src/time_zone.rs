//! Time zones: between UTC and local time.
//!
//! `SYSTEM` and names (`Europe/Berlin`) are those of the operating system; offsets go from `-12:59` to `+13:00`. A zone
//! is read once, with its transitions from 1970 to 2038: what a TIMESTAMP can hold. Before and after, the nearest
//! offset goes on.
//!
//! Where the clock is set forward, local times of the gap mean the moment of the gap; where it is set back, a local time
//! that comes twice means the first moment. That is what MySQL does with named zones. (With `SYSTEM`, MySQL 5.6 takes the
//! first or the second by the season it was started in.)

use std::fmt;
use std::sync::Arc;

use crate::error::{SqlError, SqlResult};

/// A time zone; cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeZone(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// Seconds east of Greenwich.
    Fixed(i32),
    Zone(Arc<Zone>),
}

/// A zone of the operating system.
#[derive(Debug, PartialEq, Eq)]
struct Zone {
    /// As the statement spelled it; `SYSTEM`.
    name: Box<str>,
    /// Offset before the first transition.
    initial: i32,
    transitions: Box<[Transition]>,
}

/// The clock is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Transition {
    /// Moment, in seconds since 1970.
    at: i64,
    /// Offset from then on.
    offset: i32,
    /// Local times from this one on are after it.
    local_from: i64,
}

/// Transitions from here ...
const FIRST: i64 = -2 * 86_400;
/// ... to here are kept: the moments of a TIMESTAMP in every zone.
const LAST: i64 = i32::MAX as i64 + 2 * 86_400;
/// No zone's name is longer.
const NAME_MAX: usize = 64;

impl TimeZone {
    /// UTC.
    pub const UTC: TimeZone = TimeZone::fixed(0);

    /// A fixed number of seconds east of Greenwich.
    pub const fn fixed(offset: i32) -> TimeZone {
        TimeZone(Kind::Fixed(offset))
    }

    /// The zone the operating system is set to (the environment's `TZ`, else `/etc/localtime`); UTC if it tells none.
    pub fn system() -> TimeZone {
        let zone = jiff::tz::TimeZone::try_system().unwrap_or(jiff::tz::TimeZone::UTC);
        TimeZone(Kind::Zone(Arc::new(Zone::read("SYSTEM", &zone))))
    }

    /// The operating system's zone, as it calls itself at a moment: `CET`; for `system_time_zone`.
    pub fn system_abbreviation(utc: i64) -> String {
        let zone = jiff::tz::TimeZone::try_system().unwrap_or(jiff::tz::TimeZone::UTC);
        let moment = jiff::Timestamp::from_second(utc).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        zone.to_offset_info(moment).abbreviation().to_owned()
    }

    /// The zone a statement names: `SYSTEM`, an offset, or a zone of the operating system.
    ///
    /// # Errors
    /// 1298 if there is none of that name, or the offset is out of range.
    pub fn parse(text: &str) -> SqlResult<TimeZone> {
        TimeZone::find(text)
            .ok_or_else(|| SqlError::new(1298, format!("Unknown or incorrect time zone: '{text}'")))
    }

    /// As [`TimeZone::parse`]; `None` if there is no such zone: then CONVERT_TZ() is NULL.
    pub fn find(text: &str) -> Option<TimeZone> {
        if text.eq_ignore_ascii_case("SYSTEM") {
            return Some(TimeZone::system());
        }
        if text.starts_with(['+', '-']) {
            return parse_offset(text).map(TimeZone::fixed);
        }
        if text.is_empty() || text.len() > NAME_MAX {
            return None;
        }
        let zone = jiff::tz::TimeZone::get(text).ok()?;
        Some(TimeZone(Kind::Zone(Arc::new(Zone::read(text, &zone)))))
    }

    /// Seconds east of Greenwich at a moment given in seconds since 1970.
    #[inline]
    pub fn offset_at(&self, utc: i64) -> i32 {
        match &self.0 {
            Kind::Fixed(offset) => *offset,
            Kind::Zone(zone) => zone.offset(zone.transitions.partition_point(|t| t.at <= utc)),
        }
    }

    /// The local time of a moment, both in seconds since 1970.
    #[inline]
    pub fn to_local(&self, utc: i64) -> i64 {
        utc + i64::from(self.offset_at(utc))
    }

    /// The moment of a local time, both in seconds since 1970; `None` in the gap of a clock set forward. Of the two
    /// moments of an hour that comes twice, the first.
    #[inline]
    pub fn to_utc(&self, local: i64) -> Option<i64> {
        match &self.0 {
            Kind::Fixed(offset) => Some(local - i64::from(*offset)),
            Kind::Zone(zone) => zone.to_utc(local).ok(),
        }
    }

    /// Whether a local time comes twice, or borders on those that do: moments do not order as local times do there.
    pub fn is_repeated(&self, local: i64) -> bool {
        match &self.0 {
            Kind::Fixed(_) => false,
            Kind::Zone(zone) => (0..zone.transitions.len()).any(|n| {
                let (at, before, after) = (zone.transitions[n].at, zone.offset(n), zone.offset(n + 1));
                let (first, last) = (at + i64::from(after), at + i64::from(before));
                after < before && (first..=last).contains(&local)
            }),
        }
    }

    /// As [`TimeZone::to_utc`]; in a gap the moment at which the clock is set forward.
    #[inline]
    pub fn to_utc_lenient(&self, local: i64) -> i64 {
        match &self.0 {
            Kind::Fixed(offset) => local - i64::from(*offset),
            Kind::Zone(zone) => zone.to_utc(local).unwrap_or_else(|gap| gap),
        }
    }
}

/// As `@@time_zone` shows it.
impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Fixed(offset) => {
                let sign = if *offset < 0 { '-' } else { '+' };
                let minutes = offset.unsigned_abs() / 60;
                write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
            Kind::Zone(zone) => f.write_str(&zone.name),
        }
    }
}

impl Zone {
    fn read(name: &str, zone: &jiff::tz::TimeZone) -> Zone {
        let first = jiff::Timestamp::from_second(FIRST).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let initial = zone.to_offset(first).seconds();
        let mut transitions: Vec<Transition> = Vec::new();
        for transition in zone.following(first) {
            let at = transition.timestamp().as_second();
            if at > LAST {
                break;
            }
            let before = transitions.last().map_or(initial, |t| t.offset);
            let offset = transition.offset().seconds();
            // Names and rules change without the clock being set, too.
            if offset != before {
                transitions.push(Transition { at, offset, local_from: at + i64::from(offset.max(before)) });
            }
        }
        Zone { name: name.into(), initial, transitions: transitions.into() }
    }

    /// The offset after so many transitions.
    #[inline]
    fn offset(&self, passed: usize) -> i32 {
        passed.checked_sub(1).map_or(self.initial, |last| self.transitions[last].offset)
    }

    /// The moment of a local time; an error in a gap: the moment of the gap.
    fn to_utc(&self, local: i64) -> Result<i64, i64> {
        let passed = self.transitions.partition_point(|t| t.local_from <= local);
        let utc = local - i64::from(self.offset(passed));
        match self.transitions.get(passed) {
            // By the old offset the transition is over, by the new one it has not come.
            Some(next) if utc >= next.at => Err(next.at),
            _ => Ok(utc),
        }
    }
}

/// Seconds of `+H:MM` with any number of digits, from -12:59 to +13:00.
fn parse_offset(text: &str) -> Option<i32> {
    let (sign, rest) = text.split_at(1);
    let (hours, minutes) = rest.split_once(':')?;
    let number = |digits: &str| {
        let digits = digits.bytes().all(|b| b.is_ascii_digit()).then_some(digits)?;
        digits
            .trim_start_matches('0')
            .parse::<i32>()
            .ok()
            .or(Some(0).filter(|_| !digits.contains(|c| c != '0')))
    };
    let (hours, minutes) = (number(hours)?, number(minutes).filter(|_| !minutes.is_empty())?);
    if hours > 13 || minutes > 59 {
        return None;
    }
    let east = (hours * 60 + minutes) * 60;
    let offset = if sign == "-" { -east } else { east };
    (-13 * 3600 < offset && offset <= 13 * 3600).then_some(offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporal::calendar::{from_unix, to_unix};
    use crate::{Date, DateTime};

    fn local(text: &str) -> i64 {
        let part = |from: usize, to: usize| text[from..to].parse::<u16>().unwrap();
        let byte = |from: usize| part(from, from + 2) as u8;
        let date = Date { year: part(0, 4), month: byte(5), day: byte(8) };
        to_unix(DateTime { date, hour: byte(11), minute: byte(14), second: byte(17), micros: 0 })
    }

    fn zone(name: &str) -> TimeZone {
        TimeZone::parse(name).unwrap()
    }

    fn shown(name: &str) -> Option<String> {
        TimeZone::find(name).map(|zone| zone.to_string())
    }

    #[test]
    fn offsets_as_a_real_server_takes_them() {
        // SET time_zone on MySQL 5.6.24.
        for (text, expected) in [
            ("+13:00", "+13:00"),
            ("-12:59", "-12:59"),
            ("+3:00", "+03:00"),
            ("-00:00", "+00:00"),
            ("+01:5", "+01:05"),
            ("+001:00", "+01:00"),
            ("+0:1", "+00:01"),
            ("+:30", "+00:30"),
            ("system", "SYSTEM"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "+13:01",
            "-13:00",
            " +01:00",
            "+01:00 ",
            "03:00",
            "+1:60",
            "",
            "+12:",
            "+00:00:00",
            "+",
            "+99999999999:00",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
        let error = TimeZone::parse("Mars/Olympus").unwrap_err();
        assert_eq!(
            (error.code, error.message.as_ref()),
            (1298, "Unknown or incorrect time zone: 'Mars/Olympus'")
        );
        assert_eq!(shown("europe/berlin").as_deref(), Some("europe/berlin"));
    }

    #[test]
    fn fixed_offsets() {
        let zone = zone("+03:00");
        assert_eq!(zone.to_local(0), 10_800);
        assert_eq!(zone.to_utc(10_801), Some(1));
        assert_eq!(zone.offset_at(i64::MAX), 10_800);
    }

    #[test]
    fn gaps_and_hours_that_come_twice() {
        // UNIX_TIMESTAMP() of MySQL 5.6.24 with the zone loaded.
        let berlin = zone("Europe/Berlin");
        for (text, expected) in [
            ("2026-03-29 01:59:59", 1_774_745_999),
            ("2026-03-29 02:00:00", 1_774_746_000),
            ("2026-03-29 02:30:00", 1_774_746_000),
            ("2026-03-29 02:59:59", 1_774_746_000),
            ("2026-03-29 03:00:00", 1_774_746_000),
            ("2026-10-25 01:59:59", 1_792_886_399),
            ("2026-10-25 02:00:00", 1_792_886_400),
            ("2026-10-25 02:30:00", 1_792_888_200),
            ("2026-10-25 02:59:59", 1_792_889_999),
            ("2026-10-25 03:00:00", 1_792_893_600),
            ("1970-01-01 01:00:01", 1),
            ("2038-01-19 04:14:07", 2_147_483_647),
        ] {
            assert_eq!(berlin.to_utc_lenient(local(text)), expected, "{text}");
        }
        assert_eq!(berlin.to_utc(local("2026-03-29 02:30:00")), None);
        assert_eq!(berlin.to_utc(local("2026-03-29 03:00:00")), Some(1_774_746_000));
        for moment in [1_792_888_200, 1_792_891_800] {
            assert_eq!(berlin.to_local(moment), local("2026-10-25 02:30:00"));
        }
        assert_eq!(berlin.to_local(0), local("1970-01-01 01:00:00"));
    }

    #[test]
    fn other_zones() {
        // CONVERT_TZ(.., zone, '+00:00') of MySQL 5.6.24.
        for (name, text, expected) in [
            ("Australia/Lord_Howe", "2026-04-05 01:45:00", "2026-04-04 14:45:00"),
            ("Australia/Lord_Howe", "2026-04-05 01:15:00", "2026-04-04 14:15:00"),
            ("Australia/Lord_Howe", "2026-10-04 02:10:00", "2026-10-03 15:30:00"),
            ("Australia/Lord_Howe", "2026-01-01 02:30:00", "2025-12-31 15:30:00"),
            ("America/New_York", "2026-03-08 02:30:00", "2026-03-08 07:00:00"),
            ("America/New_York", "2026-11-01 01:30:00", "2026-11-01 05:30:00"),
            ("America/New_York", "1974-06-01 12:00:00", "1974-06-01 16:00:00"),
            ("Europe/Dublin", "2026-07-01 12:00:00", "2026-07-01 11:00:00"),
            ("Asia/Kolkata", "2026-07-01 16:30:00", "2026-07-01 11:00:00"),
        ] {
            assert_eq!(zone(name).to_utc_lenient(local(text)), local(expected), "{name} {text}");
        }
    }

    #[test]
    fn moments_survive_the_way_there_and_back() {
        for name in
            ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "SYSTEM", "-12:59"]
        {
            let zone = zone(name);
            for utc in (0..i64::from(i32::MAX)).step_by(1_234_567) {
                let local = zone.to_local(utc);
                let back = zone.to_utc(local).unwrap();
                // An hour that comes twice means its first moment.
                assert!(back == utc || back < utc && zone.to_local(back) == local, "{name} {utc}");
                assert!(from_unix(local, 0).is_some());
            }
        }
    }
}
