use super::*;
use proptest::prelude::*;
use vaquita_format::value::Time;

fn key(by: CompareAs, v: &Value<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    by.push_sort_key(v, &mut out);
    out
}

fn hashed(by: CompareAs, v: &Value<'_>) -> u64 {
    use std::hash::Hasher as _;
    let mut state = std::hash::DefaultHasher::new();
    by.hash(v, &mut state);
    state.finish()
}

/// Order, sort keys and hashes tell the same.
fn agree(by: CompareAs, values: &[Value<'_>]) {
    for a in values {
        for b in values {
            let order = by.order(a, b);
            assert_eq!(order, by.order(b, a).reverse(), "{a:?} {b:?}");
            let (x, y) = (key(by, a), key(by, b));
            assert_eq!(x.cmp(&y), order, "{by:?}: keys of {a:?} and {b:?}");
            assert!(order.is_eq() || !y.starts_with(&x), "{by:?}: the key of {b:?} begins as that of {a:?}");
            if order.is_eq() {
                assert_eq!(hashed(by, a), hashed(by, b), "{a:?} {b:?}");
            }
        }
    }
}

fn date(year: u16, month: u8, day: u8) -> Date {
    Date { year, month, day }
}

#[test]
fn keys_and_hashes_follow_the_order() {
    agree(
        CompareAs::Int,
        &[
            Value::Null,
            Value::Int(i64::MIN),
            Value::Int(-1),
            Value::Int(0),
            Value::UInt(0),
            Value::UInt(u64::MAX),
            Value::Int(i64::MAX),
        ],
    );
    agree(
        CompareAs::Double,
        &[
            Value::Null,
            Value::Double(-0.0),
            Value::Double(0.0),
            Value::Int(-3),
            Value::Double(1e300),
            Value::bytes(b"2.5"),
        ],
    );
    let dec = |t: &str| Value::Decimal(Decimal::parse(t.as_bytes()).value);
    agree(
        CompareAs::Decimal,
        &[
            dec("0"),
            dec("-0.1"),
            dec("-0.11"),
            dec("-10"),
            dec("1.50"),
            dec("1.5"),
            dec("9.99"),
            dec("10"),
            dec("100.001"),
            Value::Null,
            Value::Int(10),
        ],
    );
    let text = [&b"a"[..], b"A", b"a ", b"ab", b"", b"a\0", b"b"].map(Value::bytes);
    for collation in [8, 33, 45, 46, 63] {
        agree(CompareAs::Text(collation), &text);
    }
    let at = |d: Date, hour: u8| Value::DateTime(DateTime { date: d, hour, ..DateTime::default() });
    agree(
        CompareAs::DateTime,
        &[
            at(date(0, 0, 0), 0),
            at(date(2020, 0, 1), 0),
            at(date(2020, 1, 0), 5),
            at(date(2020, 1, 1), 0),
            Value::Date(date(2020, 1, 1)),
            Value::bytes(b"2020-01-01 05:00:00"),
            Value::Null,
        ],
    );
    let time = |negative, hours| Value::Time(Time { negative, hours, ..Time::default() });
    agree(
        CompareAs::Time,
        &[time(true, 838), time(true, 1), time(false, 0), time(false, 838), Value::bytes(b"10:00:00")],
    );
}

proptest! {
    #[test]
    fn decimal_keys_order_as_decimals(a in "-?[0-9]{1,20}(\\.[0-9]{1,12})?", b in "-?[0-9]{1,20}(\\.[0-9]{1,12})?") {
        let value = |t: &str| Value::Decimal(Decimal::parse(t.as_bytes()).value);
        agree(CompareAs::Decimal, &[value(&a), value(&b)]);
    }
}

fn of(a: (Kind, bool), b: (Kind, bool)) -> CompareAs {
    let (ta, tb) = (SqlType::new(a.0), SqlType::new(b.0));
    let operand = |ty, constant: bool| Operand { ty, constant, column: !constant };
    CompareAs::of(operand(&ta, a.1), operand(&tb, b.1), 33)
}

/// The manual's rules of type conversion in expression evaluation.
#[test]
fn operands_decide_how_they_compare() {
    use Kind::{BigInt, Date, DateTime, Decimal, Double, Enum, Int, Json, Null, Time, VarChar};
    for (a, b, want) in [
        (Int, VarChar, CompareAs::Double),
        (VarChar, VarChar, CompareAs::Text(33)),
        (Int, BigInt, CompareAs::Int),
        (Int, Decimal, CompareAs::Decimal),
        (Double, Decimal, CompareAs::Double),
        (Enum, VarChar, CompareAs::Text(33)),
        (Enum, Int, CompareAs::Int),
        (Date, DateTime, CompareAs::DateTime),
        (Time, Time, CompareAs::Time),
        (Date, Date, CompareAs::Date),
        (Json, Int, CompareAs::Json),
        (Null, VarChar, CompareAs::Text(33)),
    ] {
        assert_eq!(of((a, false), (b, false)), want, "{a:?} {b:?}");
        assert_eq!(of((b, false), (a, false)), want, "{b:?} {a:?}");
    }
    assert_eq!(of((DateTime, false), (VarChar, true)), CompareAs::DateTime, "a constant becomes a date");
    assert_eq!(of((DateTime, false), (Int, true)), CompareAs::DateTime);
    assert_eq!(of((Time, false), (VarChar, true)), CompareAs::Time);
    assert_eq!(of((BigInt, false), (VarChar, true)), CompareAs::Decimal, "no digit of a BIGINT is lost");
}
