//! Text and numbers as dates and times.

use super::{DateContext, ParsedDate, ParsedTime};

/// A date with or without time from text in any of the relaxed formats; the fraction rounded to microseconds.
pub fn parse_datetime(text: &[u8], cx: &DateContext) -> ParsedDate {
    let _ = (text, cx);
    todo!()
}

/// A time from text: `[-][days ]hh:mm:ss[.f]`, `hhmmss`, or a date with time whose time it takes.
pub fn parse_time(text: &[u8]) -> ParsedTime {
    let _ = text;
    todo!()
}

/// A date with or without time from a number YYMMDD to YYYYMMDDhhmmss and its microseconds.
pub fn datetime_from_number(v: i64, micros: u32, cx: &DateContext) -> ParsedDate {
    let _ = (v, micros, cx);
    todo!()
}

/// A time from a number hhmmss and its microseconds.
pub fn time_from_number(v: i64, micros: u32) -> ParsedTime {
    let _ = (v, micros);
    todo!()
}
