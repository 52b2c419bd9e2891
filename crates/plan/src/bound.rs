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
    // As it is compared.
    convert.date = convert.date.lenient();
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

#[cfg(test)]
mod tests {
    use super::*;

    const INTEGERS: [(Kind, u32); 5] = [
        (Kind::TinyInt, 8),
        (Kind::SmallInt, 16),
        (Kind::MediumInt, 24),
        (Kind::Int, 32),
        (Kind::BigInt, 64),
    ];

    fn value(v: i128) -> Value<'static> {
        match i64::try_from(v) {
            Ok(v) => Value::Int(v),
            Err(_) => Value::UInt(u64::try_from(v).expect("an integer of SQL")),
        }
    }

    /// Stored integers order as bytes do; what no column of the type holds is bounded by its least or greatest value, which
    /// lies on the other side of all that it is compared with.
    #[test]
    fn integers_are_bounds_in_the_order_of_their_columns() {
        for (kind, bits) in INTEGERS {
            for unsigned in [false, true] {
                let ty = SqlType { unsigned, ..SqlType::new(kind) };
                let half = 1i128 << (bits - 1);
                let (least, greatest) = if unsigned { (0, 2 * half - 1) } else { (-half, half - 1) };
                let mut before: Option<Vec<u8>> = None;
                for v in [least, least + 1, greatest / 2, greatest - 1, greatest] {
                    let mut stored = Vec::new();
                    assert_eq!(integer(&ty, &value(v), &mut stored), Some(Bounded::Exact), "{kind:?} {v}");
                    assert_eq!(stored.len() as u32 * 8, bits, "{kind:?} {v}");
                    assert!(before.as_ref().is_none_or(|before| *before < stored), "{kind:?} {v}");
                    before = Some(stored);
                }
                let mut ends = Vec::new();
                for (v, is) in [(least - 1, Bounded::Above), (greatest + 1, Bounded::Below)] {
                    // SQL has no integers beyond these.
                    if i64::try_from(v).is_ok() || u64::try_from(v).is_ok() {
                        assert_eq!(integer(&ty, &value(v), &mut ends), Some(is), "{kind:?} {v}");
                    }
                }
                assert!(
                    greatest == i128::from(u64::MAX)
                        || Some(&ends[ends.len() - bits as usize / 8..]) == before.as_deref()
                );
            }
        }
    }

    #[test]
    fn comparisons_follow_an_index_only_where_they_order_as_it_does() {
        const CI: u16 = 8;
        const BIN: u16 = 47;
        let (int, double) = (SqlType::bigint(false), SqlType::double());
        for how in [CompareAs::Int, CompareAs::Decimal, CompareAs::Double] {
            assert!(follows_index(&int, how, false), "{how:?}");
            // '10' and ' 10' and '1e1' are all equal to 10, and lie anywhere.
            assert!(!follows_index(&SqlType::varchar(10, CI), how, true), "{how:?}");
        }
        assert!(!follows_index(&int, CompareAs::Text(CI), true), "numbers as text order otherwise");
        assert!(follows_index(&double, CompareAs::Double, false));
        assert!(!follows_index(&double, CompareAs::Decimal, true));
        // Two decimals of many digits may be one DOUBLE.
        assert!(follows_index(&SqlType::decimal(10, 2), CompareAs::Double, false));
        assert!(!follows_index(&SqlType::decimal(30, 2), CompareAs::Double, true));
        let text = SqlType::varchar(10, CI);
        assert!(follows_index(&text, CompareAs::Text(CI), false));
        assert!(!follows_index(&text, CompareAs::Text(BIN), true), "another collation");
        // An ENUM lies in the order of its numbers, not of its labels.
        let label = SqlType { collation: CI, ..SqlType::new(Kind::Enum) };
        assert!(follows_index(&label, CompareAs::Int, false));
        assert!(follows_index(&label, CompareAs::Text(CI), true));
        assert!(!follows_index(&label, CompareAs::Text(CI), false));
        let (date, time) = (SqlType::new(Kind::Date), SqlType::new(Kind::Time));
        assert!(
            follows_index(&date, CompareAs::Date, false) && follows_index(&date, CompareAs::DateTime, false)
        );
        assert!(
            !follows_index(&date, CompareAs::LooseDateTime, false),
            "text that is no date is the zero date"
        );
        assert!(!follows_index(&SqlType::new(Kind::DateTime), CompareAs::Date, true));
        assert!(
            follows_index(&time, CompareAs::Time, false) && !follows_index(&time, CompareAs::DateTime, true)
        );
    }
}
