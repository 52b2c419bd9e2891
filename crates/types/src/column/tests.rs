use super::*;
use crate::sql_type::BINARY;

const UTC: TimeZone = TimeZone::UTC;

fn round_trip(ty: SqlType, v: Value<'_>, stored: &[u8]) {
    let column = ColumnType::new(ty, RowFormat::Dynamic);
    let mut out = Vec::new();
    assert!(column.encode(&v, &UTC, &mut out));
    assert_eq!(out, stored, "{v:?}");
    assert_eq!(column.decode(Some(stored), &UTC), v);
}

/// Bytes as InnoDB has them: the table of [`vaquita_format::value`].
#[test]
fn values_are_stored_as_innodb_stores_them() {
    let of = SqlType::new;
    round_trip(of(Kind::TinyInt), Value::Int(-1), &[0x7F]);
    round_trip(of(Kind::Int), Value::Int(1), &[0x80, 0, 0, 1]);
    round_trip(SqlType { unsigned: true, ..of(Kind::MediumInt) }, Value::UInt(0xABCDEF), &[0xAB, 0xCD, 0xEF]);
    round_trip(of(Kind::Year), Value::UInt(2020), &[120]);
    round_trip(of(Kind::Year), Value::UInt(0), &[0]);
    round_trip(SqlType { length: 12, ..of(Kind::Bit) }, Value::Bit { value: 0xABC, bytes: 2 }, &[0x0A, 0xBC]);
    round_trip(of(Kind::Float), Value::Float(1.5), &[0, 0, 0xC0, 0x3F]);
    let d = Decimal::parse(b"-12.50").value;
    round_trip(SqlType::decimal(10, 2), Value::Decimal(d), &[0x7F, 0xFF, 0xFF, 0xF3, 0xCD]);
    let date = Date { year: 2020, month: 1, day: 2 };
    round_trip(of(Kind::Date), Value::Date(date), &[0x8F, 0xC8, 0x22]);
    let noon = DateTime { date: Date { year: 1970, month: 1, day: 1 }, hour: 12, ..DateTime::default() };
    round_trip(of(Kind::Timestamp), Value::DateTime(noon), &[0, 0, 0xA8, 0xC0]);
    round_trip(of(Kind::Timestamp), Value::DateTime(DateTime::default()), &[0, 0, 0, 0]);
}

#[test]
fn strings_lose_only_their_padding() {
    let char4 = SqlType { length: 4, collation: 8, ..SqlType::new(Kind::Char) };
    round_trip(char4.clone(), Value::bytes(b"ab"), b"ab  ");
    // Of a variable width: as many bytes as characters at least.
    round_trip(SqlType { collation: 33, ..char4.clone() }, Value::bytes("é€".as_bytes()), "é€".as_bytes());
    round_trip(SqlType { collation: 33, ..char4.clone() }, Value::bytes(b"a"), b"a   ");
    round_trip(SqlType { collation: BINARY, ..char4 }, Value::bytes(b"ab\0\0"), b"ab\0\0");
    round_trip(SqlType::varchar(9, 33), Value::bytes(b"a  "), b"a  ");
}

#[test]
fn labels_come_with_their_numbers() {
    let labels: Vec<Box<[u8]>> = vec![b"a"[..].into(), b"b"[..].into(), b"c"[..].into()];
    let ty = |kind| SqlType { labels: Some(labels.clone().into()), collation: 8, ..SqlType::new(kind) };
    let label = |number, text: &'static [u8]| Value::Label { number, text: Cow::Borrowed(text) };
    round_trip(ty(Kind::Enum), label(2, b"b"), &[2]);
    round_trip(ty(Kind::Enum), label(0, b""), &[0]);
    round_trip(ty(Kind::Set), label(5, b"a,c"), &[5]);
    round_trip(ty(Kind::Set), label(0, b""), &[0]);
    let column = ColumnType::new(ty(Kind::Enum), RowFormat::Dynamic);
    assert_eq!(column.decode(Some(&[9]), &UTC), label(9, b""), "a number without a label");
}

#[test]
fn timestamps_are_moments() {
    let column = ColumnType::new(SqlType::new(Kind::Timestamp), RowFormat::Compact);
    let east = TimeZone::fixed(2 * 3600);
    let at = |hour| DateTime { date: Date { year: 2020, month: 1, day: 1 }, hour, ..DateTime::default() };
    let mut out = Vec::new();
    column.encode(&Value::DateTime(at(2)), &east, &mut out);
    assert_eq!(out, [0x5E, 0x0B, 0xE1, 0x00], "2020-01-01 00:00:00 in UTC");
    assert_eq!(column.decode(Some(&out), &UTC), Value::DateTime(at(0)));
    assert_eq!(column.decode(Some(&out), &east), Value::DateTime(at(2)));
    let last =
        DateTime { date: Date { year: 2038, month: 1, day: 19 }, hour: 3, minute: 14, second: 7, micros: 0 };
    assert_eq!(moment(last, &UTC), Some(Timestamp { seconds: i32::MAX.unsigned_abs(), micros: 0 }));
    assert_eq!(moment(last, &east).map(|t| t.seconds), Some(i32::MAX.unsigned_abs() - 7200));
    assert_eq!(moment(DateTime { second: 8, ..last }, &UTC), None);
}

/// TIME, DATETIME and TIMESTAMP of tables from before MySQL 5.6.
#[test]
fn old_times_are_integers() {
    let old = |kind, code: u8, len| {
        let def = ColumnDef::new("c", MType::Int, code.into(), len);
        ColumnType::of_def(SqlType::new(kind), &def, RowFormat::Compact)
    };
    let time = old(Kind::Time, mysql_type::TIME, 3);
    let value = Value::Time(Time { negative: true, hours: 12, minutes: 34, seconds: 56, micros: 0 });
    let mut out = Vec::new();
    time.encode(&value, &UTC, &mut out);
    assert_eq!(out, [0x7E, 0x1D, 0xC0], "-123456");
    assert_eq!(time.decode(Some(&out), &UTC), value);
    let date = Date { year: 2020, month: 1, day: 2 };
    let value = Value::DateTime(DateTime { date, hour: 3, minute: 4, second: 5, micros: 0 });
    for (kind, code, len) in
        [(Kind::DateTime, mysql_type::DATETIME, 8), (Kind::Timestamp, mysql_type::TIMESTAMP, 4)]
    {
        let column = old(kind, code, len);
        out.clear();
        column.encode(&value, &UTC, &mut out);
        assert_eq!(out.len(), len as usize);
        assert_eq!(column.decode(Some(&out), &UTC), value);
    }
}

#[test]
fn null_and_damaged_values_are_no_panic() {
    for kind in [
        Kind::TinyInt,
        Kind::BigInt,
        Kind::Decimal,
        Kind::Float,
        Kind::Double,
        Kind::Bit,
        Kind::Year,
        Kind::Date,
        Kind::Time,
        Kind::DateTime,
        Kind::Timestamp,
        Kind::Char,
        Kind::VarChar,
        Kind::Text,
        Kind::Enum,
        Kind::Set,
        Kind::Json,
        Kind::Geometry,
    ] {
        let ty = SqlType { length: 10, decimals: 3, ..SqlType::new(kind) };
        let column = ColumnType::new(ty, RowFormat::Compact);
        assert!(column.decode(None, &UTC).is_null());
        assert!(!column.encode(&Value::Null, &UTC, &mut Vec::new()));
        for len in 0..12 {
            for fill in [0, 0x7F, 0xFF] {
                let mut text = Vec::new();
                column.decode(Some(&vec![fill; len]), &UTC).push_text(&column.ty, &mut text);
            }
        }
        let mut default = Vec::new();
        column.push_implicit_default(&mut default);
        assert!(!column.decode(Some(&default), &UTC).is_null() || kind == Kind::Json, "{kind:?}");
    }
}

/// As `mysql --column-type-info` of MySQL 5.6.24 shows them.
#[test]
fn metadata_is_that_of_the_server() {
    let of = SqlType::new;
    let meta = |ty: SqlType| (ty.protocol_type(), ty.protocol_length(33), ty.protocol_decimals());
    assert_eq!(meta(SqlType { length: 11, ..of(Kind::Int) }), (3, 11, 0));
    assert_eq!(meta(SqlType::decimal(10, 2)), (246, 12, 2));
    assert_eq!(meta(SqlType { unsigned: true, ..SqlType::decimal(10, 0) }), (246, 10, 0));
    assert_eq!(meta(SqlType { decimals: 3, ..of(Kind::DateTime) }), (12, 23, 3));
    assert_eq!(meta(SqlType { decimals: 0, ..of(Kind::Time) }), (11, 10, 0));
    assert_eq!(meta(SqlType::varchar(20, 33)), (253, 60, 0));
    assert_eq!(meta(SqlType { collation: 8, ..of(Kind::Text) }), (252, 196_605, 0));
    assert_eq!(meta(SqlType { collation: 63, ..of(Kind::Text) }), (252, 65_535, 0));
    assert_eq!(SqlType { collation: 63, ..of(Kind::Text) }.protocol_flags(), 128 | 16);
    assert_eq!(
        SqlType { unsigned: true, zerofill: true, ..of(Kind::Int) }.not_null().protocol_flags(),
        1 | 32 | 64
    );
}
