//! Values as bounds in an index: from what a column is compared with to the stored form of a value of the column.
//!
//! A comparison goes by numbers, by times, or by text. The value's place there ([`Point`]) and the values that the column can have
//! tell the bound: the stored form of the value itself, or of its neighbour among the column's values, and on which side that one
//! lies. Nothing is stored as INSERT stores it, which clips, rounds and takes what is no date for the zero date. Where a
//! comparison goes by something else than the order of the index, there is no bound: the condition is then checked row by
//! row, which it is anyway.

use std::cmp::Ordering;
use vaquita_base::codec::push_uint;
use vaquita_catalog::ColumnInfo;
use vaquita_engine::text::collation::compare as compare_text;
use vaquita_expr::EvalCx;
use vaquita_types::compare::{CompareAs, Point};
use vaquita_types::convert::Cx;
use vaquita_types::convert::store::{StoreMode, store};
use vaquita_types::decimal::Decimal;
use vaquita_types::sql_type::NOT_FIXED;
use vaquita_types::{Kind, SqlType, Value, Warnings};

mod time;

/// What a value is among those of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bounded {
    /// NULL.
    Null,
    /// The stored form is equal to it, and no other one is.
    Exact,
    /// The stored form is the least one above it.
    Above,
    /// The stored form is the greatest one below it.
    Below,
    /// No value of the column is equal to it; nothing is stored.
    Absent,
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
        Kind::Enum | Kind::Set => number || equal && how == CompareAs::Text(ty.collation),
        kind if kind.is_string() => how == CompareAs::Text(ty.collation),
        _ => false,
    }
}

/// The stored form of a value as a bound of a column; appended to `out` unless it is NULL, absent or unknown.
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
    if !follows_index(ty, how, true) {
        return Bounded::Unknown;
    }
    // Who reads the rows is warned.
    let mut warnings = Warnings::new(0);
    let mut convert = cx.convert();
    convert.warnings = &mut warnings;
    if let CompareAs::Text(collation) = how {
        return match ty.kind {
            Kind::Enum | Kind::Set => label(column, value, collation, out),
            _ => text(column, value, from, how, &mut convert, out),
        };
    }
    let Some(point) = how.point(value, &mut convert) else { return Bounded::Unknown };
    match (ty.kind, point) {
        (Kind::Decimal, _) => decimal(column, point, how, &mut convert, out),
        (Kind::Float | Kind::Double, Point::Double(v)) => float(column, v, &mut convert, out),
        (_, Point::Moment(at)) => time::moment(column, at, how, convert.time_zone, out),
        (_, Point::Time(at)) => time::time(column, at, convert.time_zone, out),
        _ => whole(column, point, out),
    }
}

/// Among integers: those of a type, bits, years, numbers of labels.
fn whole(column: &ColumnInfo, point: Point, out: &mut Vec<u8>) -> Bounded {
    let ty = column.sql_type();
    let (least, greatest) = match ty.kind {
        Kind::Year => (0, 2155),
        Kind::Enum => (0, ty.labels.as_ref().map_or(0, |labels| labels.len() as i128)),
        Kind::Set => (0, (1i128 << (8 * column.ty.integer_width())) - 1),
        Kind::Bit => (0, (1i128 << ty.length.clamp(1, 64)) - 1),
        _ => {
            let bits = 8 * u32::from(column.ty.integer_width());
            match ty.unsigned {
                true => (0, (1i128 << bits) - 1),
                false if bits > 0 => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
                false => return Bounded::Unknown,
            }
        }
    };
    // The greatest integer that is not above the value, and whether it is the value.
    let (floor, exact) = match point {
        Point::Int(v) => (v, true),
        Point::Decimal(v) => match v.floor() {
            // Decimals have more digits than 128 bits: what is beyond is beyond every column, too.
            Ok(floor) => (clipped(&floor), floor == v),
            Err(_) => return Bounded::Unknown,
        },
        // Several integers may be one DOUBLE.
        Point::Double(v) if v.abs() >= EXACT_DOUBLE && greatest >= EXACT_DOUBLE as i128 => {
            return Bounded::Unknown;
        }
        // The conversion clips.
        Point::Double(v) if !v.is_nan() => (v.floor() as i128, v.floor() == v),
        _ => return Bounded::Unknown,
    };
    let (kept, is) = match floor {
        v if v < least => (least, Bounded::Above),
        v if v > greatest => (greatest, Bounded::Below),
        // There are no years between.
        1..1901 if ty.kind == Kind::Year => (1901, Bounded::Above),
        v if exact => (v, Bounded::Exact),
        v => (v, Bounded::Below),
    };
    match ty.kind {
        Kind::Year => out.push(if kept == 0 { 0 } else { (kept - 1900) as u8 }),
        kind => {
            let bytes = usize::from(column.ty.integer_width());
            let signed = kind.is_integer() && !ty.unsigned;
            let raw = if signed { kept + (1i128 << (8 * bytes - 1)) } else { kept };
            push_uint(out, bytes, raw as u64);
        }
    }
    is
}

/// A whole number, clipped to what is beyond every column.
fn clipped(v: &Decimal) -> i128 {
    let beyond = 1i128 << 65;
    match (v.to_i64(), v.to_u64()) {
        (Ok(v), _) => v.into(),
        (_, Ok(v)) => v.into(),
        _ if v.is_negative() => -beyond,
        _ => beyond,
    }
}

/// Among exact numbers of so many digits: what is stored is the nearest of them.
fn decimal(column: &ColumnInfo, point: Point, how: CompareAs, cx: &mut Cx<'_>, out: &mut Vec<u8>) -> Bounded {
    let value = match point {
        Point::Int(v) => Value::Decimal(Decimal::from_i128(v, 0)),
        Point::Decimal(v) => Value::Decimal(v),
        Point::Double(v) if v.abs() < EXACT_DOUBLE => Value::Double(v),
        _ => return Bounded::Unknown,
    };
    nearest(column, &value, how, cx, out)
}

/// Among FLOATs or DOUBLEs. Those with a fixed number of digits are rounded twice: their neighbours are not told.
fn float(column: &ColumnInfo, v: f64, cx: &mut Cx<'_>, out: &mut Vec<u8>) -> Bounded {
    let start = out.len();
    match nearest(column, &Value::Double(v), CompareAs::Double, cx, out) {
        Bounded::Above | Bounded::Below if column.sql_type().decimals < NOT_FIXED => {
            out.truncate(start);
            Bounded::Unknown
        }
        is => is,
    }
}

/// What is stored for a number, and on which side of it that is.
fn nearest(
    column: &ColumnInfo,
    value: &Value<'_>,
    how: CompareAs,
    cx: &mut Cx<'_>,
    out: &mut Vec<u8>,
) -> Bounded {
    match stored_and_back(column, value, &SqlType::double(), how, cx, out) {
        Some(Ordering::Equal) => Bounded::Exact,
        Some(Ordering::Greater) => Bounded::Above,
        Some(Ordering::Less) => Bounded::Below,
        None => Bounded::Unknown,
    }
}

/// A text that the column has room for. There is no telling what is next to others.
fn text(
    column: &ColumnInfo,
    value: &Value<'_>,
    from: &SqlType,
    how: CompareAs,
    cx: &mut Cx<'_>,
    out: &mut Vec<u8>,
) -> Bounded {
    let start = out.len();
    match stored_and_back(column, value, from, how, cx, out) {
        Some(Ordering::Equal) => Bounded::Exact,
        _ => {
            out.truncate(start);
            Bounded::Unknown
        }
    }
}

/// Appends what is stored for a value, and compares what is read then with it.
fn stored_and_back(
    column: &ColumnInfo,
    value: &Value<'_>,
    from: &SqlType,
    how: CompareAs,
    cx: &mut Cx<'_>,
    out: &mut Vec<u8>,
) -> Option<Ordering> {
    let start = out.len();
    let mode = StoreMode { strict: false, null_is_error: false, row: 1 };
    if !matches!(store(&column.ty, &column.name, value, from, mode, cx, out), Ok(true)) {
        out.truncate(start);
        return None;
    }
    let back = column.ty.decode(Some(&out[start..]), cx.time_zone);
    how.compare(&back, value, cx)
}

/// The one number whose label, or whose members, are equal to a text.
fn label(column: &ColumnInfo, value: &Value<'_>, collation: u16, out: &mut Vec<u8>) -> Bounded {
    let ty = column.sql_type();
    let (Value::Bytes(text) | Value::Label { text, .. }) = value else { return Bounded::Unknown };
    let labels = ty.labels.as_deref().unwrap_or_default();
    let same = |a: &[u8], b: &[u8]| compare_text(collation, a, b).is_eq();
    let mut numbers: Vec<u64> = Vec::new();
    if same(b"", text) {
        numbers.push(0);
    }
    if ty.kind == Kind::Enum {
        numbers.extend((1..).zip(labels).filter(|(_, label)| same(label, text)).map(|(number, _)| number));
    } else {
        // Sets of different members may be one text if members are equal, or nothing.
        let twice =
            |(n, label): (usize, &[u8])| same(b"", label) || labels[..n].iter().any(|l| same(l, label));
        if labels.iter().map(|label| &label[..]).enumerate().any(twice) {
            return Bounded::Unknown;
        }
        let mut all = 0;
        for member in text.split(|b| *b == b',') {
            let Some(at) = labels.iter().position(|label| same(label, member)) else {
                return if numbers.is_empty() { Bounded::Unknown } else { pushed(column, &numbers, out) };
            };
            all |= 1 << at;
        }
        if !same(&ty.set_text(all), text) {
            return Bounded::Unknown;
        }
        numbers.push(all);
    }
    pushed(column, &numbers, out)
}

/// The number, if there is but one.
fn pushed(column: &ColumnInfo, numbers: &[u64], out: &mut Vec<u8>) -> Bounded {
    match numbers {
        [] => Bounded::Absent,
        [number] => {
            push_uint(out, column.ty.integer_width().into(), *number);
            Bounded::Exact
        }
        _ => Bounded::Unknown,
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
