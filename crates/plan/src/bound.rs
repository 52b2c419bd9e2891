//! Values as bounds in an index: from what a column is compared with to the stored form of a value of the column.
//!
//! A value is stored in the column's form and read again. If what comes back is equal to it, in the comparison of the
//! condition, the bound is exact. If it is more or less, no value of the column lies between the two, and the bound says on
//! which side it is. Where a comparison does not follow the order of the index, there is no bound: the condition is then
//! checked row by row, which it is anyway.

use std::cmp::Ordering;
use vaquita_base::codec::push_uint;
use vaquita_catalog::ColumnInfo;
use vaquita_expr::EvalCx;
use vaquita_types::compare::CompareAs;
use vaquita_types::convert::store::{StoreMode, store};
use vaquita_types::{Kind, SqlType, Value, Warnings};

/// What a value is among those of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bounded {
    /// NULL.
    Null,
    /// The stored form is equal to it.
    Exact,
    /// The stored form is the least one above it.
    Above,
    /// The stored form is the greatest one below it.
    Below,
    /// The index does not help.
    Unknown,
}

/// Greatest integer below which all integers are exact as DOUBLEs.
const EXACT_DOUBLE: f64 = 9_007_199_254_740_992.0;

/// Whether a comparison of a column follows the order of its values in an index; `equal`: only equal values matter.
pub fn follows_index(ty: &SqlType, how: CompareAs, equal: bool) -> bool {
    let number = matches!(how, CompareAs::Int | CompareAs::Decimal | CompareAs::Double);
    match ty.kind {
        kind if kind.is_integer() => number,
        Kind::Bit => number,
        Kind::Decimal => {
            matches!(how, CompareAs::Int | CompareAs::Decimal) || how == CompareAs::Double && ty.length <= 15
        }
        Kind::Float | Kind::Double => how == CompareAs::Double,
        Kind::Date | Kind::DateTime | Kind::Timestamp => {
            matches!(how, CompareAs::DateTime) || how == CompareAs::Date && ty.kind == Kind::Date
        }
        Kind::Time => how == CompareAs::Time,
        Kind::Enum => number || equal && how == CompareAs::Text(ty.collation),
        Kind::Set => equal && how == CompareAs::Text(ty.collation),
        kind if kind.is_string() => how == CompareAs::Text(ty.collation),
        _ => false,
    }
}

/// The stored form of a value as a bound of a column; appended to `out` unless it is NULL or unknown.
pub fn bound(
    column: &ColumnInfo,
    value: &Value<'_>,
    from: &SqlType,
    how: CompareAs,
    cx: &mut EvalCx<'_>,
    out: &mut Vec<u8>,
) -> Bounded {
    if value.is_null() {
        return Bounded::Null;
    }
    let ty = column.sql_type();
    if how == CompareAs::Int
        && let Some(exact) = integer(ty, value, out)
    {
        return exact;
    }
    if !follows_index(ty, how, true) || !is_plain(ty, value, how, cx) {
        return Bounded::Unknown;
    }
    let start = out.len();
    let mut warnings = Warnings::new(0);
    let mode = StoreMode { strict: false, null_is_error: false, row: 1 };
    let mut convert = cx.convert();
    convert.warnings = &mut warnings;
    match store(&column.ty, &column.name, value, from, mode, &mut convert, out) {
        Ok(true) => {}
        _ => {
            out.truncate(start);
            return Bounded::Unknown;
        }
    }
    let stored = out[start..].to_vec();
    let back = column.ty.decode(Some(&stored), convert.time_zone);
    let order = how.compare(&back, value, &mut convert);
    let text = ty.kind.is_string() || matches!(ty.kind, Kind::Enum | Kind::Set);
    match order {
        Some(Ordering::Equal) => Bounded::Exact,
        Some(Ordering::Greater) if !text => Bounded::Above,
        Some(Ordering::Less) if !text => Bounded::Below,
        _ => {
            out.truncate(start);
            Bounded::Unknown
        }
    }
}

/// Whether storing the value is rounding and nothing else.
fn is_plain(ty: &SqlType, value: &Value<'_>, how: CompareAs, cx: &mut EvalCx<'_>) -> bool {
    match (ty.kind, value) {
        // Of two digits: a year of its own kind.
        (Kind::Year, _) => {
            let mut warnings = Warnings::new(0);
            let mut convert = cx.convert();
            convert.warnings = &mut warnings;
            value.to_f64(&mut convert) >= 100.0
        }
        (Kind::Enum, Value::Bytes(_)) => matches!(how, CompareAs::Text(_)),
        (Kind::Enum | Kind::Set, Value::Label { .. }) => true,
        (Kind::Date | Kind::DateTime | Kind::Timestamp, Value::Bytes(_)) => true,
        // Numbers as dates, times of day as dates: rare, and with rules of their own.
        (Kind::Date | Kind::DateTime | Kind::Timestamp, v) => {
            matches!(v, Value::Date(_) | Value::DateTime(_))
        }
        (Kind::Time, v) => matches!(v, Value::Time(_) | Value::Bytes(_)),
        (Kind::BigInt | Kind::Bit | Kind::Decimal, _) if how == CompareAs::Double => {
            let mut warnings = Warnings::new(0);
            let mut convert = cx.convert();
            convert.warnings = &mut warnings;
            value.to_f64(&mut convert).abs() < EXACT_DOUBLE
        }
        (kind, v) if kind.is_integer() || kind == Kind::Bit => {
            !matches!(v, Value::Date(_) | Value::Time(_) | Value::DateTime(_) | Value::Json(_))
        }
        _ => true,
    }
}

/// Integers in integer columns, the common case.
fn integer(ty: &SqlType, value: &Value<'_>, out: &mut Vec<u8>) -> Option<Bounded> {
    let bytes: usize = match ty.kind {
        Kind::TinyInt => 1,
        Kind::SmallInt => 2,
        Kind::MediumInt => 3,
        Kind::Int => 4,
        Kind::BigInt => 8,
        _ => return None,
    };
    let value = match value {
        Value::Int(v) => i128::from(*v),
        Value::UInt(v) => i128::from(*v),
        _ => return None,
    };
    let bits = 8 * bytes as u32;
    let (least, greatest) = match ty.unsigned {
        true => (0, (1i128 << bits) - 1),
        false => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
    };
    let clipped = value.clamp(least, greatest);
    let raw = if ty.unsigned { clipped } else { clipped + (1i128 << (bits - 1)) };
    push_uint(out, bytes, raw as u64);
    Some(match clipped.cmp(&value) {
        Ordering::Equal => Bounded::Exact,
        Ordering::Greater => Bounded::Above,
        Ordering::Less => Bounded::Below,
    })
}
