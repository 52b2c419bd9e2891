//! Between types: implicit conversions of expressions, CAST, and storing into columns.
//!
//! Conversions of expressions (`to_*`) follow the rules of contexts: text becomes a number by its leading part, with
//! warning 1292 if something follows. Storing ([`store`](mod@store)) checks ranges and lengths and in strict mode fails
//! where it would warn else.
//!
//! `to_*` of NULL give zero or `None`: ask [`Value::is_null`] first where it matters.

pub mod cast;
pub mod store;

use crate::decimal::Decimal;
use crate::error::Warnings;
use crate::sql_type::SqlType;
use crate::temporal::{Date, DateContext, DateTime, Time};
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

impl Value<'_> {
    /// As a signed integer: numbers are rounded and clipped; text by its leading integer (warning: INTEGER).
    pub fn to_i64(&self, cx: &mut Cx<'_>) -> i64 {
        let _ = cx;
        todo!()
    }

    /// As an unsigned integer; negative ones wrap around as in CAST.
    pub fn to_u64(&self, cx: &mut Cx<'_>) -> u64 {
        let _ = cx;
        todo!()
    }

    /// As a DOUBLE; text by its leading number (warning: DOUBLE).
    pub fn to_f64(&self, cx: &mut Cx<'_>) -> f64 {
        let _ = cx;
        todo!()
    }

    /// As a DECIMAL; text by its leading number (warning: DECIMAL).
    pub fn to_decimal(&self, cx: &mut Cx<'_>) -> Decimal {
        let _ = cx;
        todo!()
    }

    /// As truth; `None` for NULL. Text is true if its leading number is not 0.
    pub fn to_bool(&self, cx: &mut Cx<'_>) -> Option<bool> {
        let _ = cx;
        todo!()
    }

    /// As a date with time; `None`: no date (warning 1292 given).
    pub fn to_datetime(&self, cx: &mut Cx<'_>) -> Option<DateTime> {
        let _ = cx;
        todo!()
    }

    /// As a date.
    pub fn to_date(&self, cx: &mut Cx<'_>) -> Option<Date> {
        let _ = cx;
        todo!()
    }

    /// As a time; clipped to 838:59:59 with warning 1292.
    pub fn to_time(&self, cx: &mut Cx<'_>) -> Option<Time> {
        let _ = cx;
        todo!()
    }

    /// Appends the text form that results and string functions see: digits, fraction and zero fill as the type says.
    /// Nothing for NULL. Numbers and times are ASCII.
    pub fn push_text(&self, ty: &SqlType, out: &mut Vec<u8>) {
        let _ = (ty, out);
        todo!()
    }

    /// The text form; borrowed if it is text already.
    pub fn to_text(&self, ty: &SqlType) -> Cow<'_, [u8]> {
        let _ = ty;
        todo!()
    }
}
