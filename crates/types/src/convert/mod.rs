//! Between types: implicit conversions of expressions, CAST, and storing into columns.
//!
//! Conversions of expressions (`to_*`) follow the rules of contexts: text becomes a number by its leading part, with
//! warning 1292 if something follows. Storing ([`store`](mod@store)) checks ranges and lengths and in strict mode fails
//! where it would warn else.
//!
//! `to_*` of NULL give zero or `None`: ask [`Value::is_null`] first where it matters.

pub mod cast;
pub mod store;

mod text;

pub use text::{shown, shown_binary};

use crate::decimal::Decimal;
use crate::error::Warnings;
use crate::number;
use crate::sql_type::SqlType;
use crate::temporal::calendar::{datetime_from_micros, datetime_micros, time_micros};
use crate::temporal::parse::{self, is_allowed, time_of};
use crate::temporal::print::{date_number, datetime_number, round_datetime, round_time, time_number};
use crate::temporal::{Date, DateContext, DateTime, ParsedDate, ParsedTime, Time};
use crate::time_zone::TimeZone;
use crate::value::Value;
use std::borrow::Cow;

/// What conversions need of the session, and where their warnings go.
#[derive(Debug)]
pub struct Cx<'c> {
    /// Modes and date of the statement.
    pub date: DateContext,
    /// The session's time zone.
    pub time_zone: &'c TimeZone,
    /// Conditions.
    pub warnings: &'c mut Warnings,
}

impl Cx<'_> {
    /// 1292 for a binary string.
    fn truncated_binary(&mut self, what: &str, value: &[u8]) {
        let value = shown_binary(value);
        self.warnings.warn(1292, format!("Truncated incorrect {what} value: '{value}'"));
    }

    /// 1292: text or a number that is not wholly of the type.
    fn truncated(&mut self, what: &str, value: &[u8]) {
        self.warnings.warn(1292, format!("Truncated incorrect {what} value: '{}'", shown(value)));
    }

    /// 1292: no date.
    fn incorrect(&mut self, what: &str, value: &[u8]) {
        self.warnings.warn(1292, format!("Incorrect {what} value: '{}'", shown(value)));
    }
}

/// A number as text, for messages.
fn number_text(v: &Value<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    v.push_text(&SqlType::double(), &mut out);
    out
}

/// Rounded half to even, as the processor does, and clipped.
pub(crate) fn round_to_i64(v: f64) -> i64 {
    v.round_ties_even() as i64
}

fn bits_text(value: u64, bytes: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(usize::from(bytes));
    vaquita_base::codec::push_uint(&mut out, usize::from(bytes.min(8)), value);
    out
}

impl Value<'_> {
    /// As a signed integer: numbers are rounded and clipped; text by its leading integer (warning: INTEGER). Unsigned
    /// numbers above the range wrap around.
    pub fn to_i64(&self, cx: &mut Cx<'_>) -> i64 {
        match self {
            Value::Null => 0,
            &Value::Int(v) => v,
            &Value::UInt(v) => v as i64,
            Value::Float(v) => round_to_i64(f64::from(*v)),
            Value::Double(v) => round_to_i64(*v),
            Value::Decimal(v) => match v.to_i64() {
                Ok(v) => v,
                Err(clipped) => v.to_u64().map_or(clipped, |v| v as i64),
            },
            Value::Bytes(text) => {
                let parsed = number::parse_int(text);
                if !parsed.clean || parsed.overflow {
                    cx.truncated("INTEGER", text);
                }
                parsed.value.bits() as i64
            }
            Value::Label { number, .. } => *number as i64,
            &Value::Bit { value, .. } => value as i64,
            &Value::Date(d) => date_number(d) as i64,
            &Value::Time(t) => time_number(round_time(t, 0)),
            // A day that is none has no next second; the number has.
            &Value::DateTime(d) => match round_datetime(d, 0) {
                Some(rounded) => datetime_number(rounded) as i64,
                None => datetime_number(d) as i64 + i64::from(d.micros >= 500_000),
            },
            Value::Json(_) => round_to_i64(self.to_f64(cx)),
        }
    }

    /// As an unsigned integer; negative ones wrap around as in CAST.
    pub fn to_u64(&self, cx: &mut Cx<'_>) -> u64 {
        match self {
            Value::Double(v) if *v >= 0.0 => v.round_ties_even() as u64,
            Value::Float(v) if *v >= 0.0 => f64::from(*v).round_ties_even() as u64,
            Value::Decimal(v) if !v.is_negative() => v.to_u64().unwrap_or_else(|bound| bound),
            _ => self.to_i64(cx) as u64,
        }
    }

    /// As a DOUBLE; text by its leading number (warning: DOUBLE).
    pub fn to_f64(&self, cx: &mut Cx<'_>) -> f64 {
        match self {
            Value::Null => 0.0,
            &Value::Int(v) => v as f64,
            &Value::UInt(v) => v as f64,
            &Value::Float(v) => v.into(),
            &Value::Double(v) => v,
            Value::Decimal(v) => v.to_f64(),
            Value::Bytes(text) => {
                let parsed = number::parse_f64(text);
                if !parsed.clean || parsed.overflow {
                    cx.truncated("DOUBLE", text);
                }
                parsed.value
            }
            Value::Label { number, .. } => *number as f64,
            &Value::Bit { value, .. } => value as f64,
            &Value::Date(d) => date_number(d) as f64,
            &Value::Time(t) => {
                let fraction = f64::from(t.micros) / 1e6;
                time_number(t) as f64 + if t.negative { -fraction } else { fraction }
            }
            &Value::DateTime(d) => datetime_number(d) as f64 + f64::from(d.micros) / 1e6,
            Value::Json(doc) => match crate::json::scalar(doc) {
                Some(scalar) => scalar.to_f64(cx),
                None => {
                    cx.warnings.warn(3156, "Invalid JSON value for CAST to DOUBLE from column");
                    0.0
                }
            },
        }
    }

    /// As a DECIMAL; text by its leading number (warning: DECIMAL).
    pub fn to_decimal(&self, cx: &mut Cx<'_>) -> Decimal {
        match self {
            Value::Null => Decimal::ZERO,
            &Value::Int(v) => Decimal::from(v),
            &Value::UInt(v) => Decimal::from(v),
            &Value::Float(_) | Value::Double(_) => {
                let v = self.to_f64(cx);
                Decimal::from_f64(v).unwrap_or_else(|_| Decimal::max(65, 0, v < 0.0))
            }
            Value::Decimal(v) => *v,
            Value::Bytes(text) => {
                let parsed = Decimal::parse(text);
                // Garbage behind a number gives no warning; of one that is too long the server shows nothing.
                if parsed.used == 0 || parsed.overflow {
                    cx.truncated("DECIMAL", if parsed.overflow { b"" } else { text });
                }
                parsed.value
            }
            Value::Label { number, .. } => Decimal::from(*number),
            &Value::Bit { value, .. } => Decimal::from(value),
            &Value::Date(d) => Decimal::from(date_number(d)),
            &Value::Time(t) => {
                let number = Decimal::from(time_number(t));
                with_micros(if t.negative { number.neg() } else { number }, t.micros, t.negative)
            }
            &Value::DateTime(d) => with_micros(Decimal::from(datetime_number(d)), d.micros, false),
            Value::Json(_) => {
                let v = self.to_f64(cx);
                Decimal::from_f64(v).unwrap_or_else(|_| Decimal::max(65, 0, v < 0.0))
            }
        }
    }

    /// As truth; `None` for NULL. Text is true if its leading number is not 0.
    #[inline]
    pub fn to_bool(&self, cx: &mut Cx<'_>) -> Option<bool> {
        Some(match self {
            Value::Null => return None,
            Value::Int(v) => *v != 0,
            Value::UInt(v) => *v != 0,
            Value::Decimal(v) => !v.is_zero(),
            Value::Label { number, .. } => *number != 0,
            Value::Bit { value, .. } => *value != 0,
            Value::Date(d) => *d != Date::default(),
            Value::DateTime(d) => *d != DateTime::default(),
            Value::Time(t) => time_micros(*t) != 0,
            _ => self.to_f64(cx) != 0.0,
        })
    }

    /// As a date with time; `None`: no date (warning 1292 given).
    pub fn to_datetime(&self, cx: &mut Cx<'_>) -> Option<DateTime> {
        let allowed = |d: DateTime, cx: &mut Cx<'_>| {
            if is_allowed(d.date, cx.date.mode) {
                return Some(d);
            }
            let text = number_text(&Value::DateTime(d));
            cx.incorrect("datetime", &text);
            None
        };
        match self {
            Value::Null => None,
            &Value::DateTime(d) => allowed(d, cx),
            &Value::Date(date) => allowed(DateTime { date, ..DateTime::default() }, cx),
            &Value::Time(t) => datetime_of_time(t, cx.date.today),
            Value::Bytes(text) | Value::Label { text, .. } => {
                let parsed = parse::parse_datetime(text, &cx.date);
                date_warnings(parsed, text, cx);
                parsed.value
            }
            Value::Bit { value, bytes } => {
                let text = bits_text(*value, *bytes);
                let parsed = parse::parse_datetime(&text, &cx.date);
                date_warnings(parsed, shown_binary(&text).as_bytes(), cx);
                parsed.value
            }
            Value::Json(doc) => match crate::json::scalar(doc) {
                Some(scalar) if !matches!(scalar, Value::Json(_)) => scalar.to_datetime(cx),
                _ => None,
            },
            _ => {
                let parsed = self.number_as_datetime(&cx.date);
                // A fraction behind a bare date is lost without a word.
                if parsed.value.is_none() {
                    date_warnings(parsed, &number_text(self), cx);
                }
                parsed.value
            }
        }
    }

    /// A number as a date.
    pub(crate) fn number_as_datetime(&self, date: &DateContext) -> ParsedDate {
        const NONE: ParsedDate =
            ParsedDate { value: None, has_time: false, truncated: true, out_of_range: false };
        match self.split_number() {
            Some((false, whole, micros)) => parse::datetime_from_number(whole, micros, date),
            Some(_) => ParsedDate { out_of_range: true, ..NONE },
            None => ParsedDate { out_of_range: true, ..NONE },
        }
    }

    /// A number as a time.
    pub(crate) fn number_as_time(&self) -> ParsedTime {
        match self.split_number() {
            Some((negative, whole, micros)) => {
                parse::time_from_number(if negative { -whole } else { whole }, micros, negative)
            }
            None => {
                let negative = self.quiet_f64() < 0.0;
                let value = Some(Time { negative, ..parse::MAX_TIME });
                ParsedTime { value, truncated: false, clipped: true, had_date: false }
            }
        }
    }

    /// A number as a float.
    fn quiet_f64(&self) -> f64 {
        match self {
            &Value::Int(v) => v as f64,
            Value::Decimal(v) => v.to_f64(),
            &Value::Float(v) => v.into(),
            &Value::Double(v) => v,
            _ => 0.0,
        }
    }

    /// Sign, whole part and microseconds (rounded) of a number.
    fn split_number(&self) -> Option<(bool, i64, u32)> {
        let exact = match self {
            &Value::Int(v) => return Some((v < 0, i64::try_from(v.unsigned_abs()).ok()?, 0)),
            &Value::UInt(v) => return Some((false, i64::try_from(v).ok()?, 0)),
            Value::Decimal(v) => *v,
            Value::Float(v) => Decimal::from_f64(f64::from(*v)).ok()?,
            Value::Double(v) => Decimal::from_f64(*v).ok()?,
            _ => return None,
        };
        let rounded = exact.abs().round(6).ok()?;
        let whole = rounded.truncate(0).ok()?;
        let fraction = rounded.sub(&whole).ok()?.mul(&Decimal::from(1_000_000i64)).ok()?;
        Some((exact.is_negative(), whole.to_i64().ok()?, fraction.to_i64().ok()? as u32))
    }

    /// As a date.
    pub fn to_date(&self, cx: &mut Cx<'_>) -> Option<Date> {
        self.to_datetime(cx).map(|d| d.date)
    }

    /// As a time; clipped to 838:59:59 with warning 1292.
    pub fn to_time(&self, cx: &mut Cx<'_>) -> Option<Time> {
        match self {
            Value::Null => None,
            &Value::Time(t) => Some(t),
            &Value::DateTime(d) => Some(time_of(d)),
            Value::Date(_) => Some(Time::default()),
            Value::Bytes(text) | Value::Label { text, .. } => {
                let parsed = parse::parse_time(text);
                if parsed.value.is_none() || parsed.truncated || parsed.clipped {
                    cx.truncated("time", text);
                }
                parsed.value
            }
            Value::Bit { value, bytes } => {
                let text = bits_text(*value, *bytes);
                let parsed = parse::parse_time(&text);
                if parsed.value.is_none() || parsed.truncated || parsed.clipped {
                    cx.truncated_binary("time", &text);
                }
                parsed.value
            }
            Value::Json(doc) => match crate::json::scalar(doc) {
                Some(scalar) if !matches!(scalar, Value::Json(_)) => scalar.to_time(cx),
                _ => None,
            },
            _ => {
                let parsed = self.number_as_time();
                if parsed.value.is_none() || parsed.truncated || parsed.clipped {
                    cx.truncated("time", &number_text(self));
                }
                // A number out of range is no time, though text is clipped.
                parsed.value.filter(|_| !parsed.clipped)
            }
        }
    }

    /// The text form; borrowed if it is text already.
    pub fn to_text(&self, ty: &SqlType) -> Cow<'_, [u8]> {
        match self {
            Value::Bytes(text) | Value::Label { text, .. } => Cow::Borrowed(text),
            _ => {
                let mut out = Vec::new();
                self.push_text(ty, &mut out);
                Cow::Owned(out)
            }
        }
    }
}

fn with_micros(number: Decimal, micros: u32, negative: bool) -> Decimal {
    if micros == 0 {
        return if negative { number.neg() } else { number };
    }
    let fraction = Decimal::from_i128(micros.into(), 6);
    let sum = number.add(&fraction).unwrap_or(number);
    if negative { sum.neg() } else { sum }
}

fn datetime_of_time(t: Time, today: Date) -> Option<DateTime> {
    let midnight = DateTime { date: today, ..DateTime::default() };
    datetime_from_micros(datetime_micros(midnight) + time_micros(t))
}

fn date_warnings(parsed: ParsedDate, text: &[u8], cx: &mut Cx<'_>) {
    if parsed.value.is_none() {
        cx.incorrect("datetime", text);
    } else if parsed.truncated {
        cx.truncated(if parsed.has_time { "datetime" } else { "date" }, text);
    }
}
