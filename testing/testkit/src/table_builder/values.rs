//! Values of columns: as SQL literals, and random ones with a liking for edges.

use super::column::Column;
use super::definition::TableDef;
use std::borrow::Cow;
use std::fmt::Write as _;
use vaquita_base::Rng;
use vaquita_format::charset::Charset;
use vaquita_format::column::MType;
use vaquita_format::index_def::RowFormat;
use vaquita_format::value::{Date, DateTime, Time, Timestamp, Value, ValueType};

/// The value as a server reads it in an INSERT, whatever the connection's character set.
pub fn literal(column: &Column, value: &Value<'_>) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Int(v) => v.to_string(),
        Value::UInt(v) => v.to_string(),
        Value::Float(v) => format!("{v:e}"),
        Value::Double(v) => format!("{v:e}"),
        Value::Decimal(text) => text.to_string(),
        Value::Year(y) => y.to_string(),
        Value::Date(d) => format!("'{}'", date(*d)),
        Value::Time(t) => {
            let sign = if t.negative { "-" } else { "" };
            format!("'{sign}{:02}:{:02}:{:02}.{:06}'", t.hours, t.minutes, t.seconds, t.micros)
        }
        Value::DateTime(t) => {
            format!("'{} {:02}:{:02}:{:02}.{:06}'", date(t.date), t.hour, t.minute, t.second, t.micros)
        }
        Value::Timestamp(Timestamp { seconds: 0, .. }) => "'0000-00-00 00:00:00'".into(),
        Value::Timestamp(t) => format!("FROM_UNIXTIME({}.{:06})", t.seconds, t.micros),
        Value::Bytes(bytes) => {
            let mut out = column.charset().map_or(String::new(), |cs| format!("_{} ", cs.name));
            out.push_str("x'");
            for b in bytes.iter() {
                write!(out, "{b:02x}").expect("a string takes everything");
            }
            out.push('\'');
            out
        }
    }
}

fn date(d: Date) -> String {
    format!("{:04}-{:02}-{:02}", d.year, d.month, d.day)
}

/// A row of random values.
pub fn random_row(rng: &mut Rng, table: &TableDef) -> Vec<Value<'static>> {
    table.columns.iter().map(|c| random_value(rng, c, table.row_format)).collect()
}

/// A random value of a column: often NULL, empty, zero, the least or the greatest.
pub fn random_value(rng: &mut Rng, column: &Column, format: RowFormat) -> Value<'static> {
    if column.def.is_nullable() && rng.one_in(8) {
        return Value::Null;
    }
    let fraction = |rng: &mut Rng| {
        let unit = 10u32.pow(6 - column.fraction_digits());
        rng.below(u64::from(1_000_000 / unit)) as u32 * unit
    };
    match column.value_type(format) {
        ValueType::Int(n) => Value::Int(random_int(rng, n)),
        ValueType::UInt(n) => Value::UInt(random_uint(rng, column, n)),
        ValueType::Float => Value::Float(random_double(rng, column) as f32),
        ValueType::Double => Value::Double(random_double(rng, column)),
        ValueType::Decimal { precision, scale } => {
            Value::Decimal(Cow::Owned(random_decimal(rng, precision, scale, column.def.is_unsigned())))
        }
        ValueType::Date => Value::Date(random_date(rng)),
        ValueType::Year => Value::Year(match rng.below(8) {
            0 => 0,
            1 => 1901,
            2 => 2155,
            _ => 1901 + rng.below(255) as u16,
        }),
        ValueType::Time(_) => Value::Time(random_time(rng, fraction)),
        ValueType::DateTime(_) => Value::DateTime(DateTime {
            date: random_date(rng),
            hour: rng.below(24) as u8,
            minute: rng.below(60) as u8,
            second: rng.below(60) as u8,
            micros: fraction(rng),
        }),
        ValueType::Timestamp(_) => match rng.below(8) {
            0 => Value::Timestamp(Timestamp::default()),
            1 => Value::Timestamp(Timestamp { seconds: i32::MAX as u32, micros: fraction(rng) }),
            2 => Value::Timestamp(Timestamp { seconds: 1, micros: fraction(rng) }),
            _ => Value::Timestamp(Timestamp {
                seconds: 1 + rng.below(i32::MAX as u64) as u32,
                micros: fraction(rng),
            }),
        },
        ValueType::Padded { .. } | ValueType::String(_) => Value::Bytes(random_string(rng, column).into()),
    }
}

fn random_int(rng: &mut Rng, bytes: u8) -> i64 {
    let least = i64::MIN >> (64 - 8 * u32::from(bytes));
    match rng.below(8) {
        0 => 0,
        1 => least,
        2 => !least,
        3 => -1,
        _ => (rng.next_u64() as i64) >> (64 - 8 * u32::from(bytes)),
    }
}

fn random_uint(rng: &mut Rng, column: &Column, bytes: u8) -> u64 {
    let labels = column.labels.len() as u64;
    let most = match column.params[..] {
        // ENUM: the number of a label, from 1. SET: a bit for each.
        _ if labels > 0 && column.sql.contains("ENUM") => return 1 + rng.below(labels),
        _ if labels > 0 => (1 << labels) - 1,
        // BIT(n).
        [n @ 1..=64] if column.def.mtype == MType::FixBinary => u64::MAX >> (64 - n),
        _ => u64::MAX >> (64 - 8 * u32::from(bytes)),
    };
    match rng.below(8) {
        0 => 0,
        1 => most,
        _ => rng.next_u64() & most,
    }
}

fn random_double(rng: &mut Rng, column: &Column) -> f64 {
    let is_float = column.def.mtype == MType::Float;
    let v = match rng.below(8) {
        0 => 0.0,
        1 if is_float => f64::from(f32::MAX),
        1 => f64::MAX,
        2 if is_float => f64::from(f32::MIN_POSITIVE),
        2 => f64::MIN_POSITIVE,
        3 => rng.below(1_000_000) as f64 / 4.0,
        _ => {
            let unit = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            (0.5 + unit) * 10f64.powi(rng.below(60) as i32 - 30)
        }
    };
    if v == 0.0 || column.def.is_unsigned() || rng.one_in(2) { v } else { -v }
}

fn random_decimal(rng: &mut Rng, precision: u32, scale: u32, unsigned: bool) -> String {
    let whole = (precision - scale) as usize;
    let digit = match rng.below(6) {
        0 => Some(b'9'),
        1 => Some(b'0'),
        _ => None,
    };
    let shown = rng.index(whole + 1);
    let mut digits = |n: usize| -> String {
        (0..n).map(|_| char::from(digit.unwrap_or_else(|| b'0' + rng.below(10) as u8))).collect()
    };
    let mut text = digits(if digit == Some(b'9') { whole } else { shown });
    let trimmed = text.trim_start_matches('0').len();
    text = text.split_off(text.len() - trimmed);
    if text.is_empty() {
        text.push('0');
    }
    if scale > 0 {
        text = format!("{text}.{}", digits(scale as usize));
    }
    let is_zero = text.bytes().all(|b| matches!(b, b'0' | b'.'));
    if !unsigned && !is_zero && rng.one_in(2) { format!("-{text}") } else { text }
}

fn random_date(rng: &mut Rng) -> Date {
    match rng.below(8) {
        0 => Date::default(),
        1 => Date { year: 9999, month: 12, day: 31 },
        2 => Date { year: 1000, month: 1, day: 1 },
        _ => Date {
            year: 1000 + rng.below(9_000) as u16,
            month: 1 + rng.below(12) as u8,
            day: 1 + rng.below(28) as u8,
        },
    }
}

fn random_time(rng: &mut Rng, fraction: impl Fn(&mut Rng) -> u32) -> Time {
    let negative = rng.one_in(2);
    match rng.below(6) {
        0 => Time::default(),
        1 => Time { negative, hours: 838, minutes: 59, seconds: 59, micros: 0 },
        2 => Time { hours: 838, minutes: 59, seconds: 58, micros: fraction(rng), negative },
        _ => Time {
            // Never minus zero.
            hours: 1 + rng.below(838) as u16,
            minutes: rng.below(60) as u8,
            seconds: rng.below(59) as u8,
            micros: fraction(rng),
            negative,
        },
    }
}

/// Characters of one to the most bytes of a character set, letters of both cases among them.
fn alphabet(charset: Charset) -> &'static [char] {
    match charset.name {
        "ascii" | "sjis" => &['a', 'B', 'c', 'Z', '0', '~', ' '],
        "latin1" => &['a', 'B', 'c', 'Z', '0', 'é', 'Å', 'ÿ', ' '],
        "utf8mb4" => &['a', 'B', 'c', 'Z', '0', 'é', 'Ö', '€', '漢', '😀', ' '],
        _ => &['a', 'B', 'c', 'Z', '0', 'é', 'Ö', '€', '漢', ' '],
    }
}

fn push_char(charset: Charset, c: char, out: &mut Vec<u8>) {
    let mut utf8 = [0; 4];
    match charset.name {
        "latin1" | "ascii" | "sjis" => out.push(c as u8),
        "ucs2" => vaquita_base::codec::push_u16(out, c as u16),
        _ => out.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes()),
    }
}

fn random_string(rng: &mut Rng, column: &Column) -> Vec<u8> {
    let def = &column.def;
    let padded = matches!(def.mtype, MType::Char | MType::MySql | MType::FixBinary);
    let bytes = match def.mtype {
        MType::Blob => [200, 3_000, 20_000, 40_000][(def.len - 9) as usize],
        _ => def.len,
    };
    let most = (bytes / u32::from(def.mbmaxlen.max(1))) as u64;
    let len = match rng.below(8) {
        0 => 0,
        // Long values are rare, or everything would be off the page.
        1 => most,
        2 => rng.below(most + 1),
        _ => rng.below(most.min(30) + 1),
    };
    let mut out = Vec::new();
    let Some(charset) = column.charset() else {
        out.resize(len as usize, 0);
        rng.fill(&mut out);
        if padded {
            out.resize(def.len as usize, 0);
        }
        return out;
    };
    let letters = alphabet(charset);
    let mut text: String = (0..len).map(|_| letters[rng.index(letters.len())]).collect();
    if padded {
        text.truncate(text.trim_end_matches(' ').len());
    }
    text.chars().for_each(|c| push_char(charset, c, &mut out));
    out
}

#[cfg(test)]
mod tests {
    use super::super::definition::Key;
    use super::*;

    /// What is invented can be stored, and is what it was when read; as a column of any table.
    #[test]
    fn random_values_fit_their_columns() {
        let columns = [
            "a TINYINT UNSIGNED",
            "b BIGINT NOT NULL",
            "c DECIMAL(65,30)",
            "d DECIMAL(4,4) UNSIGNED",
            "e FLOAT",
            "f TIME(3)",
            "g DATETIME(6) NOT NULL",
            "h TIMESTAMP(1) NULL",
            "i ENUM('x','y')",
            "j SET('x','y','z')",
            "k BIT(12)",
            "l CHAR(7) CHARACTER SET utf8mb4",
            "m VARCHAR(300) CHARACTER SET ucs2",
            "n BINARY(5)",
            "o MEDIUMTEXT",
            "p YEAR",
        ];
        let mut rng = Rng::new(1);
        for format in [RowFormat::Redundant, RowFormat::Compact] {
            let table = TableDef::new("t", format, &columns, vec![Key::primary("b, g")]);
            for _ in 0..500 {
                for (column, value) in table.columns.iter().zip(random_row(&mut rng, &table)) {
                    let stored = column.encode(&value, format).expect("it fits");
                    assert_eq!(stored.is_none(), value == Value::Null, "{}", column.sql);
                    let read = column.value_type(format).decode(stored.as_deref()).expect("a value");
                    assert_eq!(read, value, "{}", column.sql);
                }
            }
        }
    }

    #[test]
    fn literals_carry_their_character_set() {
        let text = Column::parse("c VARCHAR(5) CHARACTER SET ucs2");
        assert_eq!(literal(&text, &Value::Bytes(vec![0, 0x41].into())), "_ucs2 x'0041'");
        let bytes = Column::parse("c VARBINARY(5)");
        assert_eq!(literal(&bytes, &Value::Bytes(vec![1, 0xFF].into())), "x'01ff'");
        assert_eq!(literal(&bytes, &Value::Null), "NULL");
    }
}
