//! Rows of values as bytes: what is sorted, grouped or kept in a file.

use vaquita_types::compare::CompareAs;
use vaquita_types::{Date, DateTime, Decimal, Time, Value};

const NULL: u8 = 0;
const INT: u8 = 1;
const UINT: u8 = 2;
const FLOAT: u8 = 3;
const DOUBLE: u8 = 4;
const DECIMAL: u8 = 5;
const BYTES: u8 = 6;
const LABEL: u8 = 7;
const BIT: u8 = 8;
const DATE: u8 = 9;
const TIME: u8 = 10;
const DATETIME: u8 = 11;
const JSON: u8 = 12;

/// Appends a value.
pub fn push_value(v: &Value<'_>, out: &mut Vec<u8>) {
    match v {
        Value::Null => out.push(NULL),
        Value::Int(v) => {
            out.push(INT);
            out.extend_from_slice(&v.to_le_bytes());
        }
        Value::UInt(v) => {
            out.push(UINT);
            out.extend_from_slice(&v.to_le_bytes());
        }
        Value::Float(v) => {
            out.push(FLOAT);
            out.extend_from_slice(&v.to_le_bytes());
        }
        Value::Double(v) => {
            out.push(DOUBLE);
            out.extend_from_slice(&v.to_le_bytes());
        }
        Value::Decimal(v) => {
            out.push(DECIMAL);
            v.push_packed(out);
        }
        Value::Bytes(v) => push_bytes(BYTES, v, out),
        Value::Json(v) => push_bytes(JSON, v, out),
        Value::Label { number, text } => {
            out.push(LABEL);
            out.extend_from_slice(&number.to_le_bytes());
            push_bytes(BYTES, text, out);
        }
        Value::Bit { value, bytes } => {
            out.push(BIT);
            out.extend_from_slice(&value.to_le_bytes());
            out.push(*bytes);
        }
        Value::Date(v) => {
            out.push(DATE);
            push_date(v, out);
        }
        Value::Time(v) => {
            out.push(TIME);
            out.push(u8::from(v.negative));
            out.extend_from_slice(&v.hours.to_le_bytes());
            out.extend_from_slice(&[v.minutes, v.seconds]);
            out.extend_from_slice(&v.micros.to_le_bytes());
        }
        Value::DateTime(v) => {
            out.push(DATETIME);
            push_date(&v.date, out);
            out.extend_from_slice(&[v.hour, v.minute, v.second]);
            out.extend_from_slice(&v.micros.to_le_bytes());
        }
    }
}

fn push_bytes(tag: u8, v: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(&(v.len() as u32).to_le_bytes());
    out.extend_from_slice(v);
}

fn push_date(v: &Date, out: &mut Vec<u8>) {
    out.extend_from_slice(&v.year.to_le_bytes());
    out.extend_from_slice(&[v.month, v.day]);
}

/// Reads values one after the other. What was not written by [`push_value`] reads as NULL.
#[derive(Debug, Clone, Copy)]
pub struct Values<'b> {
    rest: &'b [u8],
}

impl<'b> Values<'b> {
    /// Of what [`push_value`] has appended, one after the other.
    pub fn new(bytes: &'b [u8]) -> Values<'b> {
        Values { rest: bytes }
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        match self.rest.split_first_chunk() {
            Some((head, rest)) => {
                self.rest = rest;
                *head
            }
            None => {
                self.rest = &[];
                [0; N]
            }
        }
    }

    fn bytes(&mut self) -> &'b [u8] {
        let len = u32::from_le_bytes(self.take()) as usize;
        let (head, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.rest = rest;
        head
    }

    /// Passes over so many values.
    #[inline]
    pub fn pass(&mut self, n: usize) {
        for _ in 0..n {
            let Some((&tag, rest)) = self.rest.split_first() else { return };
            self.rest = match tag {
                INT | UINT | DOUBLE => rest.get(8..).unwrap_or_default(),
                NULL => rest,
                _ => {
                    self.next();
                    continue;
                }
            };
        }
    }

    fn date(&mut self) -> Date {
        let year = u16::from_le_bytes(self.take());
        let [month, day] = self.take();
        Date { year, month, day }
    }
}

impl<'b> Iterator for Values<'b> {
    type Item = Value<'b>;

    #[inline]
    fn next(&mut self) -> Option<Value<'b>> {
        let (&tag, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(match tag {
            INT => Value::Int(i64::from_le_bytes(self.take())),
            UINT => Value::UInt(u64::from_le_bytes(self.take())),
            FLOAT => Value::Float(f32::from_le_bytes(self.take())),
            DOUBLE => Value::Double(f64::from_le_bytes(self.take())),
            DECIMAL => {
                let (decimal, len) = Decimal::from_packed(self.rest);
                self.rest = &self.rest[len..];
                Value::Decimal(decimal)
            }
            BYTES => Value::bytes(self.bytes()),
            JSON => Value::Json(self.bytes().into()),
            LABEL => {
                let number = u64::from_le_bytes(self.take());
                let [_] = self.take();
                Value::Label { number, text: self.bytes().into() }
            }
            BIT => {
                let value = u64::from_le_bytes(self.take());
                let [bytes] = self.take();
                Value::Bit { value, bytes }
            }
            DATE => Value::Date(self.date()),
            TIME => {
                let [negative] = self.take();
                let hours = u16::from_le_bytes(self.take());
                let [minutes, seconds] = self.take();
                let micros = u32::from_le_bytes(self.take());
                Value::Time(Time { negative: negative != 0, hours, minutes, seconds, micros })
            }
            DATETIME => {
                let date = self.date();
                let [hour, minute, second] = self.take();
                let micros = u32::from_le_bytes(self.take());
                Value::DateTime(DateTime { date, hour, minute, second, micros })
            }
            _ => Value::Null,
        })
    }
}

/// Appends a value as part of a key: keys of several values compare as bytes, value by value, because no value's key is the
/// start of another one.
#[inline]
pub fn push_key(how: CompareAs, v: &Value<'_>, descending: bool, out: &mut Vec<u8>) {
    let start = out.len();
    how.push_sort_key(v, out);
    if descending {
        invert(&mut out[start..]);
    }
}

/// Turns the order of a key around.
#[inline]
pub fn invert(key: &mut [u8]) {
    key.iter_mut().for_each(|b| *b = !*b);
}

/// Bytes that a value takes in memory.
pub fn memory_of(v: &Value<'_>) -> usize {
    let heap = match v {
        Value::Bytes(bytes) | Value::Json(bytes) => bytes.len(),
        Value::Label { text, .. } => text.len(),
        _ => 0,
    };
    size_of::<Value<'_>>() + heap
}

/// Empties a vector of values and keeps its memory for values of another lifetime.
pub fn recycled<'b>(mut values: Vec<Value<'_>>) -> Vec<Value<'b>> {
    values.clear();
    values.into_iter().map(|_| Value::Null).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_types::{Kind, SqlType};

    #[test]
    fn values_come_back_as_they_were() {
        let date = Date { year: 2020, month: 2, day: 29 };
        let values = [
            Value::Null,
            Value::Int(-5),
            Value::UInt(u64::MAX),
            Value::Float(1.5),
            Value::Double(-0.25),
            Value::bytes(b"abc"),
            Value::bytes(b""),
            Value::Label { number: 2, text: b"two".as_slice().into() },
            Value::Bit { value: 5, bytes: 2 },
            Value::Date(date),
            Value::Time(Time { negative: true, hours: 838, minutes: 59, seconds: 1, micros: 7 }),
            Value::DateTime(DateTime { date, hour: 1, minute: 2, second: 3, micros: 4 }),
            Value::Decimal(Decimal::parse(b"-1234567890123456789012345678901234567890.0012300").value),
            Value::Decimal(Decimal::parse(b"0.00").value),
            Value::Decimal(Decimal::from(-7_i64)),
            Value::Json(b"{}".as_slice().into()),
        ];
        let mut bytes = Vec::new();
        values.iter().for_each(|v| push_value(v, &mut bytes));
        let back: Vec<Value<'_>> = Values::new(&bytes).collect();
        assert_eq!(back, values);
        for (n, value) in values.iter().enumerate() {
            let mut rest = Values::new(&bytes);
            rest.pass(n);
            assert_eq!(rest.next().as_ref(), Some(value));
        }
        // Digits after the point are kept, and what is cut short is something.
        assert_eq!(
            back[back.len() - 3].to_text(&SqlType::new(Kind::Decimal)),
            values[back.len() - 3].to_text(&SqlType::new(Kind::Decimal))
        );
        for end in 0..bytes.len() {
            assert!(Values::new(&bytes[..end]).count() <= values.len());
        }
    }
}
