//! Rows of the binary protocol, which prepared statements use.
//!
//! ```text
//! | 0 | NULL bits, first column at bit 2 | values that are not NULL |
//! ```
//!
//! A value has the form of its column's type, whatever it is itself:
//!
//! | type | form |
//! |---|---|
//! | integers, YEAR | 1, 2, 4 (INT, MEDIUMINT) or 8 bytes |
//! | FLOAT, DOUBLE | 4 or 8 bytes |
//! | DATE, DATETIME, TIMESTAMP | length 0, 4, 7 or 11; year 2, month, day; hour, minute, second; microseconds 4 |
//! | TIME | length 0, 8 or 12; negative, days 4, hour, minute, second; microseconds 4 |
//! | all else | text behind its length |

use super::text_row::push_printed;
use crate::packet::Output;
use crate::packet::lenenc::push_string;
use vaquita_sql::ColumnMeta;
use vaquita_sql::types::{Date, DateTime, Kind, SqlType, Time, Value};

/// A row as a packet.
#[inline]
pub fn push_row(out: &mut Output, columns: &[ColumnMeta], values: &[Value<'_>]) {
    let mark = out.begin();
    push_payload(&mut out.buf, columns, values);
    out.end(mark);
}

/// A row's payload alone.
pub fn push_payload(out: &mut Vec<u8>, columns: &[ColumnMeta], values: &[Value<'_>]) {
    debug_assert_eq!(columns.len(), values.len());
    out.push(0);
    let bits = out.len();
    out.resize(bits + (columns.len() + 9) / 8, 0);
    for (i, (column, value)) in columns.iter().zip(values).enumerate() {
        if value.is_null() {
            out[bits + (i + 2) / 8] |= 1 << ((i + 2) % 8);
        } else {
            push_value(out, &column.ty, value);
        }
    }
}

#[inline]
fn push_value(out: &mut Vec<u8>, ty: &SqlType, value: &Value<'_>) {
    match ty.kind {
        Kind::TinyInt => out.push(integer(value) as u8),
        Kind::SmallInt | Kind::Year => out.extend_from_slice(&(integer(value) as u16).to_le_bytes()),
        Kind::MediumInt | Kind::Int => out.extend_from_slice(&(integer(value) as u32).to_le_bytes()),
        Kind::BigInt => out.extend_from_slice(&integer(value).to_le_bytes()),
        Kind::Float => out.extend_from_slice(&(float(value) as f32).to_le_bytes()),
        Kind::Double => out.extend_from_slice(&float(value).to_le_bytes()),
        Kind::Date | Kind::DateTime | Kind::Timestamp => match value {
            Value::Date(date) => push_datetime(out, &DateTime { date: *date, ..DateTime::default() }),
            Value::DateTime(moment) => push_datetime(out, moment),
            _ => out.push(0),
        },
        Kind::Time => match value {
            Value::Time(time) => push_time(out, time),
            _ => out.push(0),
        },
        _ => match value {
            Value::Bytes(text) | Value::Label { text, .. } => push_string(out, text),
            other => push_printed(out, ty, other),
        },
    }
}

/// The bits of an integer. A plan gives integer columns integers; anything else is a mistake that must not end a server.
#[inline]
fn integer(value: &Value<'_>) -> u64 {
    match value {
        Value::Int(v) => *v as u64,
        Value::UInt(v) | Value::Label { number: v, .. } | Value::Bit { value: v, .. } => *v,
        Value::Float(v) => *v as i64 as u64,
        Value::Double(v) => *v as i64 as u64,
        Value::Decimal(v) => v.to_i64().unwrap_or_else(|clipped| clipped) as u64,
        _ => 0,
    }
}

#[inline]
fn float(value: &Value<'_>) -> f64 {
    match value {
        Value::Float(v) => f64::from(*v),
        Value::Double(v) => *v,
        Value::Int(v) => *v as f64,
        Value::UInt(v) => *v as f64,
        Value::Decimal(v) => v.to_f64(),
        _ => 0.0,
    }
}

fn push_datetime(out: &mut Vec<u8>, moment: &DateTime) {
    let Date { year, month, day } = moment.date;
    let has_time = (moment.hour, moment.minute, moment.second) != (0, 0, 0);
    let length = match (moment.micros > 0, has_time, moment.date != Date::default()) {
        (true, ..) => 11,
        (_, true, _) => 7,
        (_, _, true) => 4,
        _ => 0,
    };
    out.push(length);
    let [y0, y1] = year.to_le_bytes();
    let [a, b, c, d] = moment.micros.to_le_bytes();
    let all = [y0, y1, month, day, moment.hour, moment.minute, moment.second, a, b, c, d];
    out.extend_from_slice(&all[..usize::from(length)]);
}

fn push_time(out: &mut Vec<u8>, time: &Time) {
    let length = match (time.micros > 0, (time.hours, time.minutes, time.seconds) != (0, 0, 0)) {
        (true, _) => 12,
        (_, true) => 8,
        _ => 0,
    };
    out.push(length);
    let [d0, d1, d2, d3] = u32::from(time.hours / 24).to_le_bytes();
    let [a, b, c, d] = time.micros.to_le_bytes();
    let hour = (time.hours % 24) as u8;
    let all = [u8::from(time.negative), d0, d1, d2, d3, hour, time.minutes, time.seconds, a, b, c, d];
    out.extend_from_slice(&all[..usize::from(length)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[(SqlType, Value<'_>)]) -> Vec<u8> {
        let columns: Vec<ColumnMeta> = cells
            .iter()
            .map(|(ty, _)| ColumnMeta {
                schema: [].into(),
                table: [].into(),
                org_table: [].into(),
                name: [].into(),
                org_name: [].into(),
                ty: ty.clone(),
                flags: 0,
            })
            .collect();
        let values: Vec<Value<'_>> = cells.iter().map(|(_, v)| v.borrowed()).collect();
        let mut out = Vec::new();
        push_payload(&mut out, &columns, &values);
        out
    }

    fn cell(kind: Kind, value: Value<'_>) -> Vec<u8> {
        row(&[(SqlType::new(kind), value)])[2..].to_vec()
    }

    /// The manual's examples of the binary protocol's values.
    #[test]
    fn values_as_the_manual_shows_them() {
        assert_eq!(cell(Kind::BigInt, Value::Int(1)), [1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(cell(Kind::Int, Value::Int(-1)), [255; 4]);
        assert_eq!(cell(Kind::MediumInt, Value::Int(1)), [1, 0, 0, 0]);
        assert_eq!(cell(Kind::SmallInt, Value::UInt(65_535)), [255, 255]);
        assert_eq!(cell(Kind::Year, Value::UInt(2026)), [0xEA, 7]);
        assert_eq!(cell(Kind::TinyInt, Value::Int(-128)), [128]);
        assert_eq!(cell(Kind::Double, Value::Double(10.2)), [0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x24, 0x40]);
        assert_eq!(cell(Kind::Float, Value::Float(10.2)), [0x33, 0x33, 0x23, 0x41]);
        assert_eq!(cell(Kind::VarChar, Value::bytes(b"foo")), b"\x03foo");
        let date = Date { year: 2010, month: 10, day: 17 };
        assert_eq!(cell(Kind::Date, Value::Date(date)), [4, 0xDA, 7, 0x0A, 0x11]);
        let moment = DateTime { date, hour: 19, minute: 27, second: 30, micros: 1 };
        assert_eq!(
            cell(Kind::DateTime, Value::DateTime(moment)),
            [0x0B, 0xDA, 0x07, 0x0A, 0x11, 0x13, 0x1B, 0x1E, 0x01, 0, 0, 0]
        );
        assert_eq!(cell(Kind::DateTime, Value::DateTime(DateTime::default())), [0]);
        let time = Time { negative: true, hours: 120 * 24 + 19, minutes: 27, seconds: 30, micros: 1 };
        assert_eq!(
            cell(Kind::Time, Value::Time(time)),
            [0x0C, 0x01, 0x78, 0, 0, 0, 0x13, 0x1B, 0x1E, 0x01, 0, 0, 0]
        );
        assert_eq!(cell(Kind::Time, Value::Time(Time::default())), [0]);
    }

    #[test]
    fn nulls_are_bits_from_the_third_on() {
        let null = || (SqlType::new(Kind::Int), Value::Null);
        let one = || (SqlType::new(Kind::TinyInt), Value::Int(7));
        assert_eq!(row(&[null()]), [0, 0b100]);
        let cells = [one(), null(), one(), one(), one(), one(), null(), one()];
        assert_eq!(row(&cells), [0, 0b1000, 0b1, 7, 7, 7, 7, 7, 7]);
    }
}
