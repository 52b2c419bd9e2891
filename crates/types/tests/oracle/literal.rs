//! Literals and types of the recorded statements.

use super::text;
use std::borrow::Cow;
use vaquita_types::sql_type::{BINARY, NOT_FIXED, SqlType};
use vaquita_types::temporal::parse::{parse_datetime, parse_time};
use vaquita_types::temporal::{DateContext, Temporal};
use vaquita_types::{Decimal, Kind, SqlMode, Value};

/// Collation of the connection: utf8mb4_general_ci.
pub(super) const UTF8MB4: u16 = 45;
const UTF8: u16 = 33;

pub(super) fn literal(s: &str) -> (Value<'static>, SqlType) {
    if let Some(quoted) = s.strip_prefix('\'') {
        let inner = quoted.trim_end_matches('\'').as_bytes().to_vec();
        return (Value::owned(inner), SqlType::varchar(100, UTF8MB4));
    }
    if let Some((prefix, quoted)) = s.split_once('\'') {
        let inner = quoted.trim_end_matches('\'');
        return match prefix {
            "x" => {
                let digit = |i: usize| u8::from_str_radix(&inner[i..i + 2], 16).expect("digits");
                let bytes = (0..inner.len()).step_by(2).map(digit).collect();
                bits(bytes)
            }
            "b" => bits(vec![u8::from_str_radix(inner, 2).expect("bits")]),
            _ => temporal(prefix, inner),
        };
    }
    if s == "null" {
        return (Value::Null, SqlType::new(Kind::Null));
    }
    if s == "true" {
        return (Value::Int(1), SqlType::bigint(false));
    }
    if s.contains('e') {
        return (Value::Double(s.parse().expect("double")), SqlType::double());
    }
    if let Ok(v) = s.parse::<i64>() {
        return (Value::Int(v), SqlType::bigint(false));
    }
    if let Ok(v) = s.parse::<u64>() {
        return (Value::UInt(v), SqlType::bigint(true));
    }
    let d = Decimal::parse(s.as_bytes()).value;
    (Value::Decimal(d), SqlType::decimal(d.precision(), d.scale()))
}

fn bits(bytes: Vec<u8>) -> (Value<'static>, SqlType) {
    let value = bytes.iter().fold(0, |v, &b| v << 8 | u64::from(b));
    let len = bytes.len();
    (Value::Bit { value, bytes: len as u8 }, SqlType::varchar(len as u32, BINARY))
}

fn temporal(prefix: &str, s: &str) -> (Value<'static>, SqlType) {
    let fsp = s.split_once('.').map_or(0, |(_, f)| f.len()) as u8;
    let cx = DateContext { mode: SqlMode::default(), today: super::TODAY };
    let d = parse_datetime(s.as_bytes(), &cx).value;
    let v = match prefix {
        "date" => Temporal::Date(d.expect("a date").date),
        "time" => Temporal::Time(parse_time(s.as_bytes()).value.expect("a time")),
        _ => Temporal::DateTime(d.expect("a date")),
    };
    let (v, kind) = match v {
        Temporal::Date(d) => (Value::Date(d), Kind::Date),
        Temporal::Time(t) => (Value::Time(t), Kind::Time),
        Temporal::DateTime(d) => (Value::DateTime(d), Kind::DateTime),
    };
    (v, SqlType { decimals: fsp, ..SqlType::new(kind) })
}

/// A column type as written, in character set utf8.
pub(super) fn column_type(s: &str) -> SqlType {
    let (name, rest) = s.split_once(['(', ' ']).unwrap_or((s, ""));
    let args: Vec<&str> = match s.split_once('(') {
        Some((_, r)) => r.split_once(')').map_or(vec![], |(a, _)| a.split(',').collect()),
        None => vec![],
    };
    let number = |i: usize| args.get(i).and_then(|a| a.parse::<u32>().ok());
    let (kind, collation, length) = match name {
        "tinyint" => (Kind::TinyInt, BINARY, 4),
        "smallint" => (Kind::SmallInt, BINARY, 6),
        "mediumint" => (Kind::MediumInt, BINARY, 9),
        "int" => (Kind::Int, BINARY, 11),
        "bigint" => (Kind::BigInt, BINARY, 20),
        "decimal" => (Kind::Decimal, BINARY, 10),
        "float" => (Kind::Float, BINARY, 12),
        "double" => (Kind::Double, BINARY, 22),
        "bit" => (Kind::Bit, BINARY, 1),
        "year" => (Kind::Year, BINARY, 4),
        "date" => (Kind::Date, BINARY, 10),
        "time" => (Kind::Time, BINARY, 10),
        "datetime" => (Kind::DateTime, BINARY, 19),
        "timestamp" => (Kind::Timestamp, BINARY, 19),
        "char" => (Kind::Char, UTF8, 1),
        "varchar" => (Kind::VarChar, UTF8, 1),
        "binary" => (Kind::Char, BINARY, 1),
        "varbinary" => (Kind::VarChar, BINARY, 1),
        "tinytext" => (Kind::TinyText, UTF8, 255),
        "text" => (Kind::Text, UTF8, 65_535),
        "blob" => (Kind::Text, BINARY, 65_535),
        "enum" => (Kind::Enum, UTF8, 0),
        "set" => (Kind::Set, UTF8, 0),
        other => panic!("no type {other}"),
    };
    let mut ty = SqlType { collation, length: number(0).unwrap_or(length), ..SqlType::new(kind) };
    ty.unsigned = rest.contains("unsigned");
    ty.decimals = match kind {
        Kind::Time | Kind::DateTime | Kind::Timestamp => number(0).unwrap_or(0) as u8,
        Kind::Float | Kind::Double => number(1).map_or(NOT_FIXED, |n| n as u8),
        _ => number(1).unwrap_or(0) as u8,
    };
    if matches!(kind, Kind::Enum | Kind::Set) {
        let labels: Vec<Box<[u8]>> = args.iter().map(|a| a.trim_matches('\'').as_bytes().into()).collect();
        ty.labels = Some(labels.into());
    }
    ty
}

/// As the server showed it: NULL, text, or hexadecimal digits.
pub(super) fn shown(v: &Value<'_>, ty: &SqlType, hex: bool) -> String {
    if v.is_null() {
        return "NULL".to_owned();
    }
    let bytes: Cow<'_, [u8]> = v.to_text(ty);
    if hex {
        let digits = bytes.iter().map(|b| format!("{b:02X}")).collect::<String>();
        // HEX() of a BIT is that of its number.
        return match v {
            Value::Bit { value, .. } => format!("{value:X}"),
            _ => digits,
        };
    }
    text(bytes.into_owned())
}
