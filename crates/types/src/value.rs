//! Values as the executor handles them.

use crate::decimal::Decimal;
use std::borrow::Cow;
use vaquita_format::value::{Date, DateTime, Time};

/// A value. Strings borrow the row, the plan or the statement wherever they can. What the bytes of a string mean
/// (character set, collation) is in the [`crate::SqlType`] beside the value, never in the value.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value<'a> {
    /// SQL NULL.
    #[default]
    Null,
    /// Signed integers, and truth (0, 1).
    Int(i64),
    /// Unsigned integers, YEAR.
    UInt(u64),
    /// A FLOAT column's value: prints with fewer digits than a DOUBLE; calculates as one.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL.
    Decimal(Decimal),
    /// Strings of all kinds, text and binary.
    Bytes(Cow<'a, [u8]>),
    /// ENUM and SET: a number (index from 1, or bit mask) where a number is wanted, else the text.
    Label {
        /// Index of the label, or bits of the members.
        number: u64,
        /// The label, or the members joined by commas, in the column's character set.
        text: Cow<'a, [u8]>,
    },
    /// BIT(n) and hexadecimal or bit literals: a number where a number is wanted, else a binary string.
    Bit {
        /// As a number.
        value: u64,
        /// As a string it has so many bytes.
        bytes: u8,
    },
    /// DATE.
    Date(Date),
    /// TIME.
    Time(Time),
    /// DATETIME; TIMESTAMP in the session's time zone.
    DateTime(DateTime),
    /// JSON, in its binary form.
    Json(Cow<'a, [u8]>),
}

/// Rows are arrays of these: no larger than a DECIMAL needs.
const _: () = assert!(size_of::<Value<'_>>() <= 40);

impl<'a> Value<'a> {
    /// A string that is borrowed.
    #[inline]
    pub fn bytes(bytes: &'a [u8]) -> Value<'a> {
        Value::Bytes(Cow::Borrowed(bytes))
    }

    /// A string that is owned.
    #[inline]
    pub fn owned(bytes: Vec<u8>) -> Value<'a> {
        Value::Bytes(Cow::Owned(bytes))
    }

    /// A truth value.
    #[inline]
    pub fn bool(truth: bool) -> Value<'a> {
        Value::Int(i64::from(truth))
    }

    /// Whether it is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The same value, borrowing this one.
    pub fn borrowed(&self) -> Value<'_> {
        match self {
            Value::Bytes(b) => Value::Bytes(Cow::Borrowed(b)),
            Value::Json(b) => Value::Json(Cow::Borrowed(b)),
            Value::Label { number, text } => Value::Label { number: *number, text: Cow::Borrowed(text) },
            Value::Null => Value::Null,
            Value::Int(v) => Value::Int(*v),
            Value::UInt(v) => Value::UInt(*v),
            Value::Float(v) => Value::Float(*v),
            Value::Double(v) => Value::Double(*v),
            Value::Decimal(v) => Value::Decimal(*v),
            Value::Bit { value, bytes } => Value::Bit { value: *value, bytes: *bytes },
            Value::Date(v) => Value::Date(*v),
            Value::Time(v) => Value::Time(*v),
            Value::DateTime(v) => Value::DateTime(*v),
        }
    }

    /// The same value, owning its bytes.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Value::Bytes(b) => Value::Bytes(Cow::Owned(b.into_owned())),
            Value::Json(b) => Value::Json(Cow::Owned(b.into_owned())),
            Value::Label { number, text } => Value::Label { number, text: Cow::Owned(text.into_owned()) },
            Value::Null => Value::Null,
            Value::Int(v) => Value::Int(v),
            Value::UInt(v) => Value::UInt(v),
            Value::Float(v) => Value::Float(v),
            Value::Double(v) => Value::Double(v),
            Value::Decimal(v) => Value::Decimal(v),
            Value::Bit { value, bytes } => Value::Bit { value, bytes },
            Value::Date(v) => Value::Date(v),
            Value::Time(v) => Value::Time(v),
            Value::DateTime(v) => Value::DateTime(v),
        }
    }
}
