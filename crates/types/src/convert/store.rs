//! Storing values into columns.
//!
//! What does not fit is cut or clipped with a warning, or in strict mode is an error. Notes are no errors in either
//! mode. Codes and messages are those MySQL 5.6.24 gives:
//!
//! | column | does not fit | warning | strict |
//! |---|---|---|---|
//! | numbers | range | 1264 | 1264 |
//! | integers | no number; garbage behind it | 1366; 1265 | the same |
//! | FLOAT, DOUBLE | no number, garbage | 1265 | 1265 |
//! | DECIMAL | no number; garbage; digits rounded away | 1366; note 1265; note 1265 | 1366; 1366; note 1265 |
//! | dates, times | no date; not in the calendar; garbage | 1265; 1264; 1265 | 1292 |
//! | DATE, TIME | a time or date is lost | note 1265 | note 1292 |
//! | strings | length; only spaces are lost; malformed | 1265; note 1265; 1366 | 1406; note 1265; 1366 |
//! | ENUM, SET | no such label | 1265 | 1265 |
//! | BIT | range | 1264 | 1406 |

mod text;
mod time;

use super::{Cx, round_to_i64, shown, shown_binary};
use crate::column::{ColumnType, Storage};
use crate::decimal::Decimal;
use crate::error::{Level, SqlError, SqlResult};
use crate::number;
use crate::sql_type::{Kind, NOT_FIXED, SqlType};
use crate::value::Value;
use std::borrow::Cow;
use vaquita_base::codec::{get_uint, push_uint};
use vaquita_format::charset::Charset;

/// How strictly values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreMode {
    /// What does not fit is an error: the strict `sql_mode` without IGNORE.
    pub strict: bool,
    /// NULL for a NOT NULL column is error 1048 (INSERT of one row; strict mode), else warning 1048 and the implicit
    /// default.
    pub null_is_error: bool,
    /// Number of the row for messages, from 1.
    pub row: u64,
}

/// Converts a value of type `from` to the column's type and appends its stored form. `Ok(false)`: NULL, nothing
/// appended.
///
/// # Errors
/// 1048, and in strict mode those of the module's table; 3140 for what is no JSON.
pub fn store(
    column: &ColumnType,
    name: &str,
    v: &Value<'_>,
    from: &SqlType,
    mode: StoreMode,
    cx: &mut Cx<'_>,
    out: &mut Vec<u8>,
) -> SqlResult<bool> {
    if v.is_null() {
        if column.ty.nullable {
            return Ok(false);
        }
        let message = format!("Column '{name}' cannot be null");
        if mode.null_is_error {
            return Err(SqlError::new(1048, message));
        }
        cx.warnings.warn(1048, message);
        column.push_implicit_default(out);
        return Ok(true);
    }
    let mut place = Place { column, name, mode, source: text::source_charset(v, from), cx };
    let clipped = place.literal_too_long(v, from)?;
    let v = clipped.as_ref().unwrap_or(v);
    match column.storage() {
        Storage::Int(n) => place.int(v, n, out)?,
        Storage::UInt(n) => place.uint(v, n, out)?,
        Storage::Padded { .. } | Storage::Text(_) => place.text(v, from, out)?,
        Storage::Decimal { precision, scale } => place.decimal(v, precision, scale, out)?,
        Storage::Float | Storage::Double => place.float(v, out)?,
        Storage::Bit(n) => place.bit(v, n, out)?,
        Storage::Year => place.year(v, out)?,
        Storage::Enum(n) => place.enumeration(v, from, n, out)?,
        Storage::Set(n) => place.set(v, from, n, out)?,
        Storage::Json => place.json(v, from, out)?,
        _ => place.time(v, from, out)?,
    }
    Ok(true)
}

/// Where a value goes.
struct Place<'p, 'c> {
    column: &'p ColumnType,
    name: &'p str,
    mode: StoreMode,
    /// Character set of the value, if it is text.
    source: Charset,
    cx: &'p mut Cx<'c>,
}

impl Place<'_, '_> {
    fn note(&mut self, code: u16, message: String) {
        self.cx.warnings.push(Level::Note, code, message);
    }

    /// A warning, or an error in strict mode.
    fn warn(&mut self, code: u16, message: String) -> SqlResult<()> {
        if self.mode.strict {
            return Err(SqlError::new(code, message));
        }
        self.cx.warnings.warn(code, message);
        Ok(())
    }

    /// A hexadecimal literal in a column of numbers that cannot take it: one of more than 64 bits, or with the highest of
    /// them where no unsigned integer or bits are wanted. What is stored in its place.
    fn literal_too_long(&mut self, v: &Value<'_>, from: &SqlType) -> SqlResult<Option<Value<'static>>> {
        if !from.kind.is_string() {
            return Ok(None);
        }
        let is_long = match v {
            Value::Label { .. } => true,
            Value::Bit { value, .. } => *value > i64::MAX as u64,
            _ => return Ok(None),
        };
        let max = match (self.column.storage(), v) {
            (Storage::Decimal { .. } | Storage::Float | Storage::Double, _) if is_long => {
                Value::Int(i64::MAX)
            }
            (Storage::Int(n), Value::Label { .. }) => Value::Int(i64::MAX >> (64 - 8 * u32::from(n))),
            (Storage::UInt(n), Value::Label { .. }) => Value::UInt(u64::MAX >> (64 - 8 * u32::from(n))),
            (Storage::Bit(_), Value::Label { .. }) => match self.column.ty.length {
                bits @ 1..64 => Value::UInt((1 << bits) - 1),
                _ => Value::UInt(u64::MAX),
            },
            (Storage::Year, Value::Label { .. }) => Value::Int(0),
            _ => return Ok(None),
        };
        self.out_of_range()?;
        Ok(Some(max))
    }

    fn truncated_message(&self) -> String {
        format!("Data truncated for column '{}' at row {}", self.name, self.mode.row)
    }

    fn truncated(&mut self) -> SqlResult<()> {
        self.warn(1265, self.truncated_message())
    }

    fn truncated_note(&mut self) {
        self.note(1265, self.truncated_message());
    }

    fn out_of_range(&mut self) -> SqlResult<()> {
        self.warn(1264, self.out_of_range_message())
    }

    fn out_of_range_message(&self) -> String {
        format!("Out of range value for column '{}' at row {}", self.name, self.mode.row)
    }

    fn too_long(&mut self) -> SqlResult<()> {
        if self.mode.strict {
            let message = format!("Data too long for column '{}' at row {}", self.name, self.mode.row);
            return Err(SqlError::new(1406, message));
        }
        self.truncated()
    }

    fn incorrect_message(&self, what: &str, value: &str) -> String {
        format!("Incorrect {what} value: '{value}' for column '{}' at row {}", self.name, self.mode.row)
    }

    /// A text as messages show it: bytes as such, characters in UTF-8.
    fn shown(&self, text: &[u8]) -> String {
        match self.source {
            source if source == Charset::BINARY => shown_binary(text),
            source if source.is_utf8() => shown(text),
            source => source.decode(text).map_or_else(|| shown(text), Cow::into_owned),
        }
    }

    fn incorrect(&mut self, what: &str, value: &[u8]) -> SqlResult<()> {
        let text = self.shown(value);
        let message = self.incorrect_message(what, &text);
        self.warn(1366, message)
    }

    /// A value as a whole number, clipped to far beyond every column; `below`: it was less than zero before rounding.
    fn whole(&mut self, v: &Value<'_>) -> SqlResult<Whole> {
        Ok(match v {
            &Value::Int(v) => Whole::of(v.into()),
            &Value::UInt(v) => Whole::of(v.into()),
            // Bits have no sign.
            &Value::Bit { value, .. } => Whole::of(value.into()),
            Value::Float(v) => Whole::of_f64((*v).into()),
            Value::Double(v) => {
                // INT UNSIGNED says it twice.
                if self.column.ty.kind == Kind::Int && self.column.ty.unsigned && *v > f64::from(u32::MAX) {
                    self.out_of_range()?;
                }
                Whole::of_f64(*v)
            }
            Value::Decimal(d) => {
                // Two steps, each with its warning: to 64 bits, then to the column.
                let fits = if self.column.ty.unsigned { d.to_u64().is_ok() } else { d.to_i64().is_ok() };
                let bits = self.column.ty.kind != Kind::Year;
                if !fits && bits && self.column.byte_width() < 8 && !d.is_negative() {
                    self.out_of_range()?;
                }
                Whole::of_decimal(d)
            }
            Value::Bytes(text) => {
                let parsed = Decimal::parse(text);
                if parsed.used == 0 {
                    self.incorrect("integer", text)?;
                    return Ok(Whole::of(0));
                }
                let mut whole = Whole::of_decimal(&parsed.value);
                whole.garbage = !number::is_blank(skip_exponent(&text[parsed.used..]));
                whole
            }
            Value::Json(_) => Whole::of_f64(v.to_f64(self.cx)),
            _ => Whole::of(v.to_i64(self.cx).into()),
        })
    }

    fn int(&mut self, v: &Value<'_>, n: u8, out: &mut Vec<u8>) -> SqlResult<()> {
        let whole = self.whole(v)?;
        let max = (1i128 << (8 * n - 1)) - 1;
        let fitted = self.clip(&whole, -max - 1, max)?;
        push_uint(out, n.into(), fitted as u64 ^ 1 << (8 * n - 1));
        Ok(())
    }

    fn uint(&mut self, v: &Value<'_>, n: u8, out: &mut Vec<u8>) -> SqlResult<()> {
        let mut whole = self.whole(v)?;
        // Of text the sign of what rounds to zero is nothing.
        if whole.below && whole.value == 0 && !matches!(v, Value::Bytes(_)) {
            whole.value = -1;
        }
        let fitted = self.clip(&whole, 0, (1i128 << (8 * n)) - 1)?;
        push_uint(out, n.into(), fitted as u64);
        Ok(())
    }

    fn clip(&mut self, whole: &Whole, min: i128, max: i128) -> SqlResult<i128> {
        if whole.value < min || whole.value > max {
            self.out_of_range()?;
        } else if whole.garbage {
            self.truncated()?;
        }
        Ok(whole.value.clamp(min, max))
    }

    fn decimal(&mut self, v: &Value<'_>, precision: u32, scale: u8, out: &mut Vec<u8>) -> SqlResult<()> {
        let (value, overflow) = match v {
            Value::Bytes(text) => self.decimal_of_text(text)?,
            Value::Float(_) | Value::Double(_) => {
                let v = v.to_f64(self.cx);
                Decimal::from_f64(v).map_or((Decimal::max(65, 0, v < 0.0), true), |d| (d, false))
            }
            _ => (v.to_decimal(self.cx), false),
        };
        let negative = self.column.ty.unsigned && value.is_negative();
        let (mut fitted, rounded, clipped) = value.fit(precision, scale);
        if negative || clipped || overflow {
            self.out_of_range()?;
            if negative {
                fitted = Decimal::ZERO.fit(precision, scale).0;
            }
        } else if rounded {
            self.truncated_note();
        }
        fitted.push_stored(precision, scale, out);
        Ok(())
    }

    fn decimal_of_text(&mut self, text: &[u8]) -> SqlResult<(Decimal, bool)> {
        let parsed = Decimal::parse(text);
        if parsed.used == 0 {
            self.incorrect("decimal", text)?;
        } else if parsed.overflow {
            if self.mode.strict {
                self.incorrect("decimal", text)?;
            }
        } else if !number::is_blank(&text[parsed.used..]) {
            if self.mode.strict {
                self.incorrect("decimal", text)?;
            }
            self.truncated_note();
        }
        Ok((parsed.value, parsed.overflow))
    }

    fn float(&mut self, v: &Value<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
        let mut value = match v {
            Value::Bytes(text) => {
                let parsed = number::parse_f64(text);
                if parsed.overflow {
                    self.out_of_range()?;
                } else if parsed.used == 0 || parsed.used != text.len() {
                    // Not even spaces may follow.
                    self.truncated()?;
                }
                parsed.value
            }
            _ => v.to_f64(self.cx),
        };
        let ty = &self.column.ty;
        let single = self.column.storage() == Storage::Float;
        let mut bound = if single { f64::from(f32::MAX) } else { f64::MAX };
        if ty.decimals < NOT_FIXED {
            let unit = 10f64.powi(ty.decimals.into());
            let whole = value.floor();
            value = whole + ((value - whole) * unit).round_ties_even() / unit;
            bound = bound.min(10f64.powi(ty.length as i32 - i32::from(ty.decimals)) - 1.0 / unit);
        }
        if ty.unsigned && value < 0.0 {
            self.out_of_range()?;
            value = 0.0;
        } else if value.abs() > bound {
            self.out_of_range()?;
            value = bound.copysign(value);
        }
        if single {
            out.extend_from_slice(&(value as f32).to_le_bytes());
        } else {
            out.extend_from_slice(&value.to_le_bytes());
        }
        Ok(())
    }

    fn bit(&mut self, v: &Value<'_>, n: u8, out: &mut Vec<u8>) -> SqlResult<()> {
        let bits = self.column.ty.length.min(64);
        let max = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        let of_text = |text: &[u8]| {
            let rest = &text[text.iter().take_while(|&&b| b == 0).count()..];
            (rest.len() <= 8).then(|| get_uint(rest, 0, rest.len()))
        };
        let value = match v {
            Value::Bytes(text) | Value::Label { text, .. } => of_text(text),
            Value::Date(_) | Value::Time(_) | Value::DateTime(_) => {
                of_text(&v.to_text(&SqlType::new(Kind::Null)))
            }
            Value::Decimal(d) if d.is_negative() => {
                self.out_of_range()?;
                Some(0)
            }
            Value::Decimal(d) => match d.to_u64() {
                Ok(v) => Some(v),
                Err(_) => {
                    self.out_of_range()?;
                    None
                }
            },
            Value::Double(v) => Some(*v as i64 as u64),
            Value::Float(v) => Some(*v as i64 as u64),
            _ => Some(v.to_u64(self.cx)),
        };
        let fits = value.is_some_and(|v| v <= max);
        if !fits {
            if self.mode.strict {
                self.too_long()?;
            }
            self.out_of_range()?;
        }
        push_uint(out, n.into(), value.unwrap_or(max).min(max));
        Ok(())
    }

    fn year(&mut self, v: &Value<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
        let whole = match v {
            Value::Date(d) => Whole::of(d.year.into()),
            Value::DateTime(d) => Whole::of(d.date.year.into()),
            Value::Time(_) => Whole::of(self.cx.date.today.year.into()),
            Value::Double(v) if *v < 0.0 => Whole::of(-1),
            Value::Decimal(d) if d.is_negative() => Whole::of(-1),
            _ => self.whole(v)?,
        };
        // '0000' is the year 0, '0' and '00' are 2000, the number 0 is the year 0; what is no number is 0, too.
        let short_text = match v {
            Value::Bytes(text) => text.len() != 4 && Decimal::parse(text).used > 0,
            _ => false,
        };
        let year = match whole.value {
            0 if !short_text => 0,
            0..70 => whole.value + 2000,
            70..100 => whole.value + 1900,
            1901..=2155 => whole.value,
            _ => {
                self.out_of_range()?;
                0
            }
        };
        if whole.garbage && year != 0 {
            self.truncated()?;
        }
        out.push(if year == 0 { 0 } else { (year - 1900) as u8 });
        Ok(())
    }

    fn json(&mut self, v: &Value<'_>, from: &SqlType, out: &mut Vec<u8>) -> SqlResult<()> {
        let doc = crate::json::from_value(v, from).map_err(|e| match e.code {
            3140 => {
                let place = e.message.trim_end_matches('.');
                SqlError::new(3140, format!("{place} in value for column '{}'.", self.name))
            }
            _ => e,
        })?;
        crate::memory::append(out, &doc)
    }
}

/// An exponent without digits belongs to the number: `1e`, `1e+`.
fn skip_exponent(rest: &[u8]) -> &[u8] {
    match rest {
        [b'e' | b'E', b'+' | b'-', rest @ ..] | [b'e' | b'E', rest @ ..] => rest,
        _ => rest,
    }
}

/// A whole number that text, a float or a decimal gave.
struct Whole {
    value: i128,
    /// The number was negative before it was rounded.
    below: bool,
    /// Something followed it in the text.
    garbage: bool,
}

impl Whole {
    fn of(value: i128) -> Whole {
        Whole { value, below: false, garbage: false }
    }

    fn of_f64(v: f64) -> Whole {
        Whole::of(if v.abs() < 9e18 { round_to_i64(v).into() } else { v as i128 })
    }

    fn of_decimal(d: &Decimal) -> Whole {
        let value = match (d.to_i64(), d.to_u64()) {
            (Ok(v), _) => v.into(),
            (_, Ok(v)) => v.into(),
            _ if d.is_negative() => i128::from(i64::MIN) - 1,
            _ => i128::from(u64::MAX) + 1,
        };
        Whole { value, below: d.is_negative(), garbage: false }
    }
}
