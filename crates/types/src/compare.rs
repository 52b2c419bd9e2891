//! Order and equality of values.

use crate::convert::Cx;
use crate::decimal::Decimal;
use crate::error::Warnings;
use crate::json;
use crate::sort_key::{ordered_bits, push_bytes_key};
use crate::sql_mode::SqlMode;
use crate::sql_type::{Kind, SqlType};
use crate::temporal::calendar::time_micros;
use crate::temporal::parse::parse_time;
use crate::temporal::{Date, DateContext, DateTime};
use crate::time_zone::TimeZone;
use crate::value::Value;
use std::borrow::Cow;
use std::cmp::Ordering;
use vaquita_base::codec::push_u64;
use vaquita_format::collation::{self, Collation};

/// As what two values compare; decided once per expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareAs {
    /// Integers, signed or unsigned each as it is.
    Int,
    /// DOUBLEs.
    Double,
    /// Exact numbers.
    Decimal,
    /// Text, by a collation.
    Text(u16),
    /// Dates.
    Date,
    /// Times.
    Time,
    /// Dates with time.
    DateTime,
    /// The same of a date and text that is no constant: what is no date is as the zero date.
    LooseDateTime,
    /// JSON.
    Json,
}

/// What is known of an operand besides its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operand<'t> {
    /// Its type.
    pub ty: &'t SqlType,
    /// It is the same for all rows: a literal, parameter, or an expression of such.
    pub constant: bool,
    /// It is a column.
    pub column: bool,
}

/// Families of types that compare alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Null,
    Int,
    Decimal,
    Double,
    Text,
    /// ENUM and SET: numbers beside numbers, else text.
    Label,
    Date,
    DateTime,
    Time,
    Json,
}

fn family(ty: &SqlType) -> Family {
    match ty.kind {
        Kind::Null => Family::Null,
        Kind::TinyInt | Kind::SmallInt | Kind::MediumInt | Kind::Int | Kind::BigInt => Family::Int,
        Kind::Bit | Kind::Year => Family::Int,
        Kind::Decimal => Family::Decimal,
        Kind::Float | Kind::Double => Family::Double,
        Kind::Date => Family::Date,
        Kind::DateTime | Kind::Timestamp => Family::DateTime,
        Kind::Time => Family::Time,
        Kind::Enum | Kind::Set => Family::Label,
        Kind::Json => Family::Json,
        _ => Family::Text,
    }
}

/// What a value is in the order that a comparison goes by, whatever it is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Point {
    /// An integer.
    Int(i128),
    /// A DOUBLE.
    Double(f64),
    /// An exact number.
    Decimal(Decimal),
    /// A date with time; of a comparison of dates its time counts for nothing.
    Moment(DateTime),
    /// Microseconds of a TIME.
    Time(i64),
}

impl CompareAs {
    /// The place of a value among numbers or times; `None` if the comparison goes by text, by documents, or by the form of
    /// what it is compared with, as with text that is no date.
    pub fn point(self, v: &Value<'_>, cx: &mut Cx<'_>) -> Option<Point> {
        if v.is_null() {
            return None;
        }
        match self {
            CompareAs::Int => Some(Point::Int(integer(v, cx))),
            CompareAs::Double => Some(Point::Double(v.to_f64(cx))),
            CompareAs::Decimal => Some(Point::Decimal(v.to_decimal(cx))),
            CompareAs::Date | CompareAs::DateTime => moment(v, cx).map(Point::Moment),
            CompareAs::LooseDateTime => Some(Point::Moment(moment(v, cx).unwrap_or_default())),
            CompareAs::Time => whole_time(v, cx).map(Point::Time),
            CompareAs::Text(_) | CompareAs::Json => None,
        }
    }

    /// How MySQL compares such operands. Text compares by `collation`, the one that coercion gave.
    ///
    /// | operands | compare as |
    /// |---|---|
    /// | text and text; ENUM or SET and text | text |
    /// | integers; BIT and YEAR are some | integers |
    /// | DECIMAL and a DECIMAL or integer; a BIGINT column and constant text | exact numbers |
    /// | times of one kind | that kind |
    /// | a DATE column and a constant number | date |
    /// | times of two kinds, a date and constant text or number | date with time |
    /// | a date and text that varies from row to row | date with time, text that is none as zero |
    /// | TIME and constant text or number, a TIME column and any constant time | TIME |
    /// | JSON and anything | JSON |
    /// | everything else | DOUBLE |
    pub fn of(a: Operand<'_>, b: Operand<'_>, collation: u16) -> CompareAs {
        use Family as F;
        let (fa, fb) = (family(a.ty), family(b.ty));
        match (fa, fb) {
            (F::Json, _) | (_, F::Json) => CompareAs::Json,
            (F::Null, F::Null) => CompareAs::Int,
            (F::Null, _) => CompareAs::of(b, b, collation),
            (_, F::Null) => CompareAs::of(a, a, collation),
            (F::Text | F::Label, F::Text | F::Label) => CompareAs::Text(collation),
            (F::Int | F::Label, F::Int | F::Label) => CompareAs::Int,
            (F::Decimal | F::Int | F::Label, F::Decimal | F::Int | F::Label) => CompareAs::Decimal,
            (F::Date, F::Date) => CompareAs::Date,
            (F::Time, F::Time) => CompareAs::Time,
            (F::Time, F::Date | F::DateTime) if a.column && b.constant => CompareAs::Time,
            (F::Date | F::DateTime, F::Time) if b.column && a.constant => CompareAs::Time,
            (F::Date | F::DateTime | F::Time, F::Date | F::DateTime | F::Time) => CompareAs::DateTime,
            (F::Date | F::DateTime | F::Time, _) => with_time(fa, a, fb, b, collation),
            (_, F::Date | F::DateTime | F::Time) => with_time(fb, b, fa, a, collation),
            (F::Int, F::Text) if is_bigint(a) && b.constant => CompareAs::Decimal,
            (F::Text, F::Int) if is_bigint(b) && a.constant => CompareAs::Decimal,
            _ => CompareAs::Double,
        }
    }

    /// Compares two values; `None` if one is NULL. Text that is no number or date gives its warning.
    #[inline]
    pub fn compare(self, a: &Value<'_>, b: &Value<'_>, cx: &mut Cx<'_>) -> Option<Ordering> {
        match (self, a, b) {
            (CompareAs::Int, Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
            (CompareAs::Text(id), Value::Bytes(a), Value::Bytes(b)) => Some(collation::compare(id, a, b)),
            (_, Value::Null, _) | (_, _, Value::Null) => None,
            _ => Some(self.compare_present(a, b, cx)),
        }
    }

    fn compare_present(self, a: &Value<'_>, b: &Value<'_>, cx: &mut Cx<'_>) -> Ordering {
        match self {
            CompareAs::Int => integer(a, cx).cmp(&integer(b, cx)),
            CompareAs::Double => a.to_f64(cx).total_cmp_zero(b.to_f64(cx)),
            CompareAs::Decimal => a.to_decimal(cx).cmp(&b.to_decimal(cx)),
            CompareAs::Text(id) => collation::compare(id, &plain_text(a), &plain_text(b)),
            CompareAs::Date => match (moment(a, cx), moment(b, cx)) {
                (Some(a), Some(b)) => a.date.cmp(&b.date),
                _ => by_form(a, b, cx),
            },
            CompareAs::DateTime => match (moment(a, cx), moment(b, cx)) {
                (Some(a), Some(b)) => a.cmp(&b),
                _ => by_form(a, b, cx),
            },
            CompareAs::LooseDateTime => {
                moment(a, cx).unwrap_or_default().cmp(&moment(b, cx).unwrap_or_default())
            }
            CompareAs::Time => match (whole_time(a, cx), whole_time(b, cx)) {
                (Some(a), Some(b)) => a.cmp(&b),
                _ => by_form(a, b, cx),
            },
            CompareAs::Json => json::compare(&document(a), &document(b)),
        }
    }

    /// Order of ORDER BY, GROUP BY, keys: NULL equals NULL and comes first; no warnings.
    pub fn order(self, a: &Value<'_>, b: &Value<'_>) -> Ordering {
        match (a.is_null(), b.is_null()) {
            (false, false) => quietly(|cx| self.compare_present(a, b, cx)),
            (a, b) => b.cmp(&a),
        }
    }

    /// Hash for grouping and joining: equal values (in this comparison) hash equally.
    pub fn hash<H: std::hash::Hasher>(self, v: &Value<'_>, state: &mut H) {
        use std::hash::Hash as _;
        if v.is_null() {
            return state.write_u8(0);
        }
        quietly(|cx| match self {
            CompareAs::Int => integer(v, cx).hash(state),
            // Adding zero takes the sign from a negative zero.
            CompareAs::Double => (v.to_f64(cx) + 0.0).to_bits().hash(state),
            CompareAs::Decimal => v.to_decimal(cx).hash(state),
            CompareAs::Text(id) => match Collation::of(id) {
                Some(c) => state.write_u64(c.hash(&plain_text(v), 0)),
                None => trim(&plain_text(v)).hash(state),
            },
            CompareAs::Date => moment(v, cx).map(|d| d.date).hash(state),
            CompareAs::DateTime => moment(v, cx).hash(state),
            CompareAs::LooseDateTime => moment(v, cx).unwrap_or_default().hash(state),
            CompareAs::Time => v.to_time(cx).map(time_micros).hash(state),
            CompareAs::Json => json::hash(&document(v), state),
        });
    }

    /// Appends a key whose bytes order as the values do, NULL first. No key is the start of another one: keys of several
    /// columns may follow each other.
    pub fn push_sort_key(self, v: &Value<'_>, out: &mut Vec<u8>) {
        if v.is_null() {
            return out.push(0);
        }
        quietly(|cx| match self {
            CompareAs::Int => {
                let v = integer(v, cx);
                out.push(if v < 0 { 1 } else { 2 });
                push_u64(out, v as u64);
            }
            CompareAs::Double => {
                out.push(1);
                push_u64(out, ordered_bits(v.to_f64(cx)));
            }
            CompareAs::Decimal => push_decimal_key(&v.to_decimal(cx), out),
            CompareAs::Text(id) => {
                out.push(1);
                let text = plain_text(v);
                match Collation::of(id) {
                    Some(c) => c.sort_key(&text, out),
                    None => push_bytes_key(trim(&text), out),
                }
            }
            CompareAs::Date => {
                out.push(1);
                let day = |d: DateTime| DateTime { date: d.date, ..DateTime::default() };
                push_u64(out, moment(v, cx).map_or(0, |d| packed(day(d))));
            }
            CompareAs::DateTime | CompareAs::LooseDateTime => {
                out.push(1);
                push_u64(out, moment(v, cx).map_or(0, packed));
            }
            CompareAs::Time => {
                out.push(1);
                push_u64(out, v.to_time(cx).map_or(0, time_micros) as u64 ^ 1 << 63);
            }
            CompareAs::Json => {
                out.push(1);
                json::push_sort_key(&document(v), out);
            }
        });
    }
}

fn is_bigint(o: Operand<'_>) -> bool {
    o.column && o.ty.kind == Kind::BigInt
}

/// A time beside something that is none.
fn with_time(time: Family, t: Operand<'_>, other: Family, o: Operand<'_>, collation: u16) -> CompareAs {
    let text = matches!(other, Family::Text | Family::Label);
    if o.constant && (text || t.column) {
        return match time {
            Family::Time => CompareAs::Time,
            // The number becomes a DATE, as if it were stored.
            Family::Date if !text => CompareAs::Date,
            _ => CompareAs::DateTime,
        };
    }
    match (text, time) {
        (true, Family::Date | Family::DateTime) => CompareAs::LooseDateTime,
        (true, _) => CompareAs::Text(collation),
        (false, _) => CompareAs::Double,
    }
}

/// Runs a conversion whose warnings nobody wants.
fn quietly<R>(f: impl FnOnce(&mut Cx<'_>) -> R) -> R {
    let utc = TimeZone::UTC;
    let mut warnings = Warnings::new(0);
    let date = DateContext { mode: SqlMode::default(), today: Date::default() };
    f(&mut Cx { date, time_zone: &utc, warnings: &mut warnings })
}

#[inline]
fn integer(v: &Value<'_>, cx: &mut Cx<'_>) -> i128 {
    match v {
        &Value::Int(v) => v.into(),
        &Value::UInt(v) => v.into(),
        Value::Bit { value, .. } => (*value).into(),
        Value::Label { number, .. } => (*number).into(),
        _ => v.to_i64(cx).into(),
    }
}

fn moment(v: &Value<'_>, cx: &mut Cx<'_>) -> Option<DateTime> {
    match v {
        Value::DateTime(d) => Some(*d),
        Value::Date(date) => Some(DateTime { date: *date, ..DateTime::default() }),
        _ => {
            let date = cx.date;
            cx.date = date.lenient();
            let d = v.to_datetime(cx);
            cx.date = date;
            d
        }
    }
}

/// A time in microseconds; `None` for text that is not wholly one.
fn whole_time(v: &Value<'_>, cx: &mut Cx<'_>) -> Option<i64> {
    if let Value::Bytes(text) = v {
        let parsed = parse_time(text);
        if parsed.truncated || parsed.value.is_none() {
            // The warning.
            v.to_time(cx);
            return None;
        }
    }
    v.to_time(cx).map(time_micros)
}

/// How a time compares with what is none: with a number as numbers, else as text.
fn by_form(a: &Value<'_>, b: &Value<'_>, cx: &mut Cx<'_>) -> Ordering {
    let number = |v: &Value<'_>| {
        matches!(v, Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_))
    };
    if number(a) || number(b) {
        return a.to_f64(cx).total_cmp_zero(b.to_f64(cx));
    }
    plain_text(a).cmp(&plain_text(b))
}

/// A number that orders as the dates do, zero parts included.
fn packed(d: DateTime) -> u64 {
    let month = u64::from(d.date.year) * 13 + u64::from(d.date.month);
    let day = month << 5 | u64::from(d.date.day);
    let clock = u64::from(d.hour) << 12 | u64::from(d.minute) << 6 | u64::from(d.second);
    (day << 17 | clock) << 20 | u64::from(d.micros)
}

fn plain_text<'v>(v: &'v Value<'_>) -> Cow<'v, [u8]> {
    match v {
        Value::Bytes(text) | Value::Label { text, .. } => Cow::Borrowed(text),
        _ => v.to_text(&SqlType::new(Kind::Null)),
    }
}

/// A value as a JSON document.
fn document<'v>(v: &'v Value<'_>) -> Cow<'v, [u8]> {
    match v {
        Value::Json(doc) => Cow::Borrowed(doc),
        _ => Cow::Owned(json::from_scalar(v).unwrap_or_else(|refused| {
            crate::memory::account::owe(refused);
            json::NULL.to_vec()
        })),
    }
}

fn trim(text: &[u8]) -> &[u8] {
    let len = text.iter().rposition(|&b| b != b' ').map_or(0, |i| i + 1);
    &text[..len]
}

/// Sign; number of digits before the point; pairs of digits, each pair plus one; 0. All inverted below zero.
pub(crate) fn push_decimal_key(d: &Decimal, out: &mut Vec<u8>) {
    let v = d.normalized();
    let mut text = Vec::with_capacity(80);
    v.abs().push_text(&mut text);
    let (ints, fraction) = match text.iter().position(|&b| b == b'.') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (&text[..], &b""[..]),
    };
    let ints = if ints == b"0" { b"" } else { ints };
    let start = out.len();
    out.push(2);
    out.push(ints.len() as u8);
    let digits: Vec<u8> = ints.iter().chain(fraction).map(|b| b - b'0').collect();
    for pair in digits.chunks(2) {
        out.push(pair[0] * 10 + pair.get(1).copied().unwrap_or(0) + 1);
    }
    out.push(0);
    if v.is_negative() {
        out[start..].iter_mut().for_each(|b| *b = !*b);
        out[start] = 1;
    }
}

/// Order of floats in which both zeros are equal.
trait TotalCmpZero {
    fn total_cmp_zero(self, other: f64) -> Ordering;
}

impl TotalCmpZero for f64 {
    #[inline]
    fn total_cmp_zero(self, other: f64) -> Ordering {
        self.partial_cmp(&other).unwrap_or_else(|| self.total_cmp(&other))
    }
}

#[cfg(test)]
mod tests;
