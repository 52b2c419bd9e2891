//! Column values: between stored bytes and typed values.
//!
//! Values are stored so that most types compare as bytes, for the index pages' sake. All numbers are big-endian, FLOAT
//! and DOUBLE excepted.
//!
//! | type | stored |
//! |---|---|
//! | integers, DATE | sign bit flipped; DATE is `year<<9 \| month<<5 \| day` in three bytes |
//! | unsigned integers, BIT, ENUM (index from 1), SET (bit mask) | as they are |
//! | FLOAT, DOUBLE | IEEE, little-endian |
//! | YEAR | year - 1900; 0 is the year 0000 |
//! | DECIMAL(p,s) | groups of nine digits in four bytes, leftover digits in fewer at both ends; top bit flipped; a negative number has all bytes inverted |
//! | TIME(f) | `hour<<12 \| minute<<6 \| second` and the fraction, as one signed number above 0x800000 |
//! | DATETIME(f) | `((year*13+month)<<5 \| day)<<17 \| hour<<12 \| minute<<6 \| second` + 0x8000000000, fraction |
//! | TIMESTAMP(f) | seconds since 1970 in UTC, fraction |
//! | fraction | 1, 2 or 3 bytes: 1/100, 1/10000, microseconds; digits beyond f are zero |
//! | CHAR(n) | padded with spaces to its width; of varying character width outside REDUNDANT: trailing spaces stripped down to n bytes |
//! | BINARY(n) | padded with zero bytes |
//! | VARCHAR, VARBINARY, BLOB, TEXT, GEOMETRY | as they are |
//!
//! TIME, DATETIME and TIMESTAMP of tables older than 5.6 are integers (HHMMSS, YYYYMMDDHHMMSS, seconds) and come out
//! as such. What a value looks like as text is the business of [`crate::text`].

pub use crate::column::decimal_len;
use crate::column::{ColumnDef, LEFTOVER_BYTES, MType, mysql_type};
use crate::error::{Corruption, Result};
use crate::row_format::RowFormat;
use std::borrow::Cow;
use std::fmt;
use vaquita_base::codec::{get_uint, le, push_uint};

/// A date as the server keeps it: zero parts are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date {
    /// 0 to 9999.
    pub year: u16,
    /// 0 to 12.
    pub month: u8,
    /// 0 to 31.
    pub day: u8,
}

impl Date {
    /// Whether month or day are 0: no day of the calendar.
    #[inline]
    pub const fn has_zero_part(self) -> bool {
        self.month == 0 || self.day == 0
    }
}

/// A span of time, up to 838:59:59.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Time {
    /// Whether it is below zero.
    pub negative: bool,
    /// 0 to 838.
    pub hours: u16,
    /// 0 to 59.
    pub minutes: u8,
    /// 0 to 59.
    pub seconds: u8,
    /// 0 to 999999.
    pub micros: u32,
}

/// A date with a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DateTime {
    /// The date.
    pub date: Date,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999999.
    pub micros: u32,
}

/// A moment: seconds since 1970 in UTC; all zero is the zero timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp {
    /// Whole seconds.
    pub seconds: u32,
    /// 0 to 999999.
    pub micros: u32,
}

/// A value; strings borrow the record.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// Signed integers.
    Int(i64),
    /// Unsigned integers, BIT, ENUM indexes, SET masks.
    UInt(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL as text: `-12.50`, with as many digits after the point as the type has.
    Decimal(Cow<'a, str>),
    /// DATE.
    Date(Date),
    /// TIME.
    Time(Time),
    /// DATETIME.
    DateTime(DateTime),
    /// TIMESTAMP.
    Timestamp(Timestamp),
    /// YEAR.
    Year(u16),
    /// CHAR and BINARY without their padding, and all other strings, in the column's character set.
    Bytes(Cow<'a, [u8]>),
}

/// How a column's values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// Signed integer of so many bytes.
    Int(u8),
    /// Unsigned integer, BIT, ENUM or SET of so many bytes.
    UInt(u8),
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// DECIMAL.
    Decimal {
        /// All digits.
        precision: u32,
        /// Digits after the point.
        scale: u32,
    },
    /// DATE.
    Date,
    /// YEAR.
    Year,
    /// TIME with so many fraction digits.
    Time(u8),
    /// DATETIME with so many fraction digits.
    DateTime(u8),
    /// TIMESTAMP with so many fraction digits.
    Timestamp(u8),
    /// A padded string.
    Padded {
        /// Fewest bytes.
        min: u32,
        /// Most bytes.
        max: u32,
        /// What it is padded with.
        pad: Pad,
    },
    /// A string as it is, of so many bytes at most.
    String(u32),
}

/// The collations of UTF-16LE.
const UTF16LE_GENERAL_CI: u16 = 56;
const UTF16LE_BIN: u16 = 62;

/// Padding of CHAR and BINARY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pad {
    /// Zero bytes.
    Zero,
    /// Spaces of so many bytes: 1, 2 (UCS-2) or 4 (UTF-32).
    Space(u8),
    /// Spaces of two bytes, the lower one first (UTF-16LE).
    SpaceLe,
}

/// A value that its column cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueError {
    /// The value is of another type.
    WrongType,
    /// A number or time outside the column's range.
    OutOfRange,
    /// A string longer than the column.
    TooLong,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ValueError::WrongType => "the value is of another type than the column",
            ValueError::OutOfRange => "the value is outside the column's range",
            ValueError::TooLong => "the value is longer than the column",
        })
    }
}

impl std::error::Error for ValueError {}

impl ValueType {
    /// The type of a column of a table in this format. Precision and scale of a DECIMAL are not in the dictionary: pass
    /// them; fraction digits are taken as the most that the stored bytes have.
    ///
    /// # Errors
    /// If the column's length contradicts its type.
    pub fn of_column(c: &ColumnDef, format: RowFormat, decimal: Option<(u32, u32)>) -> Result<ValueType> {
        let bad = || Corruption::new("column type", format!("{:?} of {} bytes: {}", c.mtype, c.len, c.name));
        let fraction = |base: u32| match c.len.checked_sub(base) {
            Some(bytes @ 0..=3) => Ok(2 * bytes as u8),
            _ => Err(bad()),
        };
        Ok(match c.mtype {
            MType::Float if c.len == 4 => ValueType::Float,
            MType::Double if c.len == 8 => ValueType::Double,
            MType::Float | MType::Double => return Err(bad()),
            MType::Int | MType::Sys => {
                let bytes = u8::try_from(c.len).ok().filter(|n| (1..=8).contains(n)).ok_or_else(bad)?;
                match c.mysql_type() {
                    mysql_type::DATE if bytes == 3 => ValueType::Date,
                    mysql_type::YEAR if bytes == 1 => ValueType::Year,
                    _ if c.is_unsigned() || c.mtype == MType::Sys => ValueType::UInt(bytes),
                    _ => ValueType::Int(bytes),
                }
            }
            MType::FixBinary => match c.mysql_type() {
                mysql_type::NEWDECIMAL => {
                    let (precision, scale) = decimal.ok_or_else(bad)?;
                    if decimal_len(precision, scale) != c.len as usize || scale > precision {
                        return Err(bad());
                    }
                    ValueType::Decimal { precision, scale }
                }
                mysql_type::BIT => {
                    ValueType::UInt(u8::try_from(c.len).ok().filter(|n| (1..=8).contains(n)).ok_or_else(bad)?)
                }
                mysql_type::TIME => ValueType::Time(fraction(3)?),
                mysql_type::DATETIME => ValueType::DateTime(fraction(5)?),
                mysql_type::TIMESTAMP => ValueType::Timestamp(fraction(4)?),
                _ => ValueType::Padded { min: c.len, max: c.len, pad: Pad::Zero },
            },
            MType::Char | MType::MySql => {
                let width = u32::from(c.mbmaxlen.max(1));
                // Spaces of several bytes are all kept.
                let is_whole = c.fixed_len(format) != 0 || c.mbminlen > 1;
                let min = if is_whole { c.len } else { c.len / width };
                let pad = match c.collation_id() {
                    UTF16LE_GENERAL_CI | UTF16LE_BIN => Pad::SpaceLe,
                    _ => Pad::Space(c.mbminlen.max(1)),
                };
                ValueType::Padded { min, max: c.len, pad }
            }
            MType::Blob => ValueType::String(match c.len {
                9 => 0xFF,
                10 => 0xFFFF,
                11 => 0xFF_FFFF,
                _ => u32::MAX,
            }),
            MType::VarChar | MType::Binary | MType::VarMySql | MType::Decimal => ValueType::String(c.len),
        })
    }

    /// Reads a stored value; `None` is NULL.
    ///
    /// # Errors
    /// If the bytes are no value of the type.
    pub fn decode<'a>(self, stored: Option<&'a [u8]>) -> Result<Value<'a>> {
        let Some(raw) = stored else { return Ok(Value::Null) };
        let width = self.fixed_width();
        if width.is_some_and(|w| w != raw.len()) {
            let detail = format!("{} bytes of {self:?}", raw.len());
            return Err(Corruption::new("length of a value", detail));
        }
        Ok(match self {
            ValueType::Int(n) => Value::Int(signed(raw, n)),
            ValueType::UInt(n) => Value::UInt(get_uint(raw, 0, n.into())),
            ValueType::Float => Value::Float(f32::from_bits(le::get_uint(raw, 0, 4) as u32)),
            ValueType::Double => Value::Double(f64::from_bits(le::get_uint(raw, 0, 8))),
            ValueType::Decimal { precision, scale } => {
                Value::Decimal(decimal_text(raw, precision, scale)?.into())
            }
            ValueType::Date => Value::Date(date(signed(raw, 3))?),
            ValueType::Year => Value::Year(if raw[0] == 0 { 0 } else { 1900 + u16::from(raw[0]) }),
            ValueType::Time(f) => Value::Time(time(raw, f)?),
            ValueType::DateTime(f) => Value::DateTime(date_time(raw, f)?),
            ValueType::Timestamp(f) => Value::Timestamp(Timestamp {
                seconds: get_uint(raw, 0, 4) as u32,
                micros: micros(&raw[4..], f)?,
            }),
            ValueType::Padded { pad, .. } => Value::Bytes(pad.strip(raw).into()),
            ValueType::String(_) => Value::Bytes(raw.into()),
        })
    }

    /// Appends the stored form of a value. NULL has none: the record's header tells it.
    ///
    /// # Errors
    /// If the column cannot hold the value; `out` is unchanged then.
    pub fn encode(self, value: &Value<'_>, out: &mut Vec<u8>) -> std::result::Result<(), ValueError> {
        match (self, value) {
            (ValueType::Int(n), &Value::Int(v)) => push_signed(out, n, v)?,
            (ValueType::UInt(n), &Value::UInt(v)) => {
                in_range(n == 8 || v >> (8 * n) == 0)?;
                push_uint(out, n.into(), v);
            }
            (ValueType::Float, Value::Float(v)) => out.extend_from_slice(&v.to_le_bytes()),
            (ValueType::Double, Value::Double(v)) => out.extend_from_slice(&v.to_le_bytes()),
            (ValueType::Decimal { precision, scale }, Value::Decimal(text)) => {
                push_decimal(out, text, precision as usize, scale as usize)?;
            }
            (ValueType::Date, &Value::Date(d)) => {
                in_range(d.is_valid())?;
                push_signed(out, 3, i64::from(d.year) << 9 | i64::from(d.month) << 5 | i64::from(d.day))?;
            }
            (ValueType::Year, &Value::Year(y)) => match y {
                0 => out.push(0),
                1901..=2155 => out.push((y - 1900) as u8),
                _ => return Err(ValueError::OutOfRange),
            },
            (ValueType::Time(f), &Value::Time(t)) => push_time(out, t, f)?,
            (ValueType::DateTime(f), &Value::DateTime(d)) => push_date_time(out, d, f)?,
            (ValueType::Timestamp(f), &Value::Timestamp(t)) => {
                in_range(t.micros < 1_000_000)?;
                push_uint(out, 4, t.seconds.into());
                push_fraction(out, t.micros, f);
            }
            (ValueType::Padded { min, max, pad }, Value::Bytes(v)) => pad.push(out, v, min, max)?,
            (ValueType::String(max), Value::Bytes(v)) => {
                if v.len() > max as usize {
                    return Err(ValueError::TooLong);
                }
                out.extend_from_slice(v);
            }
            _ => return Err(ValueError::WrongType),
        }
        Ok(())
    }

    /// Bytes of every value, unless they vary.
    pub fn fixed_width(self) -> Option<usize> {
        Some(match self {
            ValueType::Int(n) | ValueType::UInt(n) => n.into(),
            ValueType::Float => 4,
            ValueType::Double => 8,
            ValueType::Decimal { precision, scale } => decimal_len(precision, scale),
            ValueType::Date => 3,
            ValueType::Year => 1,
            ValueType::Time(f) => 3 + fraction_len(f),
            ValueType::DateTime(f) => 5 + fraction_len(f),
            ValueType::Timestamp(f) => 4 + fraction_len(f),
            ValueType::Padded { min, max, .. } if min == max => max as usize,
            ValueType::Padded { .. } | ValueType::String(_) => return None,
        })
    }
}

fn in_range(ok: bool) -> std::result::Result<(), ValueError> {
    if ok { Ok(()) } else { Err(ValueError::OutOfRange) }
}

fn signed(raw: &[u8], n: u8) -> i64 {
    let flipped = get_uint(raw, 0, n.into()) ^ 1 << (8 * n - 1);
    let unused = 64 - 8 * u32::from(n);
    (flipped << unused) as i64 >> unused
}

fn push_signed(out: &mut Vec<u8>, n: u8, v: i64) -> std::result::Result<(), ValueError> {
    let unused = 64 - 8 * u32::from(n);
    in_range(v << unused >> unused == v)?;
    push_uint(out, n.into(), v as u64 ^ 1 << (8 * n - 1));
    Ok(())
}

impl Date {
    fn is_valid(self) -> bool {
        self.year <= 9999 && self.month <= 12 && self.day <= 31
    }
}

fn date(v: i64) -> Result<Date> {
    let d = Date { year: (v >> 9) as u16, month: (v >> 5 & 15) as u8, day: (v & 31) as u8 };
    if v >= 0 && d.is_valid() { Ok(d) } else { Err(Corruption::new("date", format!("{v:#x}"))) }
}

const fn fraction_len(fsp: u8) -> usize {
    fsp.div_ceil(2) as usize
}

/// Units of the stored fraction in a microsecond count.
const fn fraction_unit(fsp: u8) -> u32 {
    match fraction_len(fsp) {
        0 => 1_000_000,
        1 => 10_000,
        2 => 100,
        _ => 1,
    }
}

fn micros(raw: &[u8], fsp: u8) -> Result<u32> {
    let v = get_uint(raw, 0, raw.len()) as u32;
    let micros = v.saturating_mul(fraction_unit(fsp));
    if micros < 1_000_000 { Ok(micros) } else { Err(Corruption::new("fraction of a second", format!("{v}"))) }
}

/// The stored fraction of `micros`, digits beyond `fsp` dropped.
fn fraction(micros: u32, fsp: u8) -> u64 {
    let keep = 10u32.pow(6 - u32::from(fsp.min(6)));
    u64::from(micros / keep * keep / fraction_unit(fsp))
}

fn push_fraction(out: &mut Vec<u8>, micros: u32, fsp: u8) {
    push_uint(out, fraction_len(fsp), fraction(micros, fsp));
}

fn time(raw: &[u8], fsp: u8) -> Result<Time> {
    let fraction_bits = 8 * fraction_len(fsp) as u32;
    let packed = get_uint(raw, 0, raw.len()) as i64 - (0x80_0000 << fraction_bits);
    let (negative, packed) = (packed < 0, packed.unsigned_abs());
    let hms = packed >> fraction_bits;
    let fraction = packed & ((1 << fraction_bits) - 1);
    let t = Time {
        negative,
        hours: (hms >> 12) as u16,
        minutes: (hms >> 6 & 63) as u8,
        seconds: (hms & 63) as u8,
        micros: (fraction as u32).saturating_mul(fraction_unit(fsp)),
    };
    if t.is_valid() { Ok(t) } else { Err(Corruption::new("time", format!("{hms:#x}"))) }
}

impl Time {
    fn is_valid(self) -> bool {
        self.hours <= 838 && self.minutes < 60 && self.seconds < 60 && self.micros < 1_000_000
    }
}

fn push_time(out: &mut Vec<u8>, t: Time, fsp: u8) -> std::result::Result<(), ValueError> {
    in_range(t.is_valid())?;
    let fraction_bits = 8 * fraction_len(fsp) as u32;
    let hms = u64::from(t.hours) << 12 | u64::from(t.minutes) << 6 | u64::from(t.seconds);
    let packed = (hms << fraction_bits) + fraction(t.micros, fsp);
    let zero = 0x80_0000u64 << fraction_bits;
    push_uint(out, 3 + fraction_len(fsp), if t.negative { zero - packed } else { zero + packed });
    Ok(())
}

const DATE_TIME_ZERO: u64 = 0x80_0000_0000;

fn date_time(raw: &[u8], fsp: u8) -> Result<DateTime> {
    let v = get_uint(raw, 0, 5).wrapping_sub(DATE_TIME_ZERO);
    let year_month = v >> 22;
    let d = DateTime {
        date: Date {
            year: u16::try_from(year_month / 13).unwrap_or(u16::MAX),
            month: (year_month % 13) as u8,
            day: (v >> 17 & 31) as u8,
        },
        hour: (v >> 12 & 31) as u8,
        minute: (v >> 6 & 63) as u8,
        second: (v & 63) as u8,
        micros: micros(&raw[5..], fsp)?,
    };
    if d.is_valid() { Ok(d) } else { Err(Corruption::new("datetime", format!("{v:#x}"))) }
}

impl DateTime {
    fn is_valid(self) -> bool {
        self.date.is_valid()
            && self.hour < 24
            && self.minute < 60
            && self.second < 60
            && self.micros < 1_000_000
    }
}

fn push_date_time(out: &mut Vec<u8>, d: DateTime, fsp: u8) -> std::result::Result<(), ValueError> {
    in_range(d.is_valid())?;
    let year_month = u64::from(d.date.year) * 13 + u64::from(d.date.month);
    let days = year_month << 5 | u64::from(d.date.day);
    let clock = u64::from(d.hour) << 12 | u64::from(d.minute) << 6 | u64::from(d.second);
    push_uint(out, 5, (days << 17 | clock) + DATE_TIME_ZERO);
    push_fraction(out, d.micros, fsp);
    Ok(())
}

/// Digits of one side of the point in storage order: the integer part has its short group first, the fraction last.
fn groups(digits: usize, short_first: bool) -> impl Iterator<Item = usize> {
    let (full, left) = (digits / 9, digits % 9);
    let head = if short_first { left } else { 0 };
    let tail = if short_first { 0 } else { left };
    std::iter::once(head).chain(std::iter::repeat_n(9, full)).chain(std::iter::once(tail)).filter(|&n| n > 0)
}

fn decimal_text(raw: &[u8], precision: u32, scale: u32) -> Result<String> {
    let negative = raw.first().is_some_and(|b| b & 0x80 == 0);
    let mut bytes = raw.to_vec();
    if let Some(first) = bytes.first_mut() {
        *first ^= 0x80;
    }
    if negative {
        bytes.iter_mut().for_each(|b| *b = !*b);
    }
    let mut digits = String::with_capacity(precision as usize + 2);
    let (int_digits, scale) = (precision.saturating_sub(scale) as usize, scale as usize);
    let mut at = 0;
    for n in groups(int_digits, true).chain(groups(scale, false)) {
        let group = get_uint(&bytes, at, LEFTOVER_BYTES[n]);
        if group >= 10u64.pow(n as u32) {
            return Err(Corruption::new("decimal", format!("{group} in a group of {n} digits")));
        }
        use fmt::Write as _;
        let _ = write!(digits, "{group:0n$}");
        at += LEFTOVER_BYTES[n];
    }
    let (int, fraction) = digits.split_at(int_digits);
    let int = match int.trim_start_matches('0') {
        "" => "0",
        int => int,
    };
    let zero = digits.bytes().all(|b| b == b'0');
    let sign = if negative && !zero { "-" } else { "" };
    let point = if scale > 0 { "." } else { "" };
    Ok(format!("{sign}{int}{point}{fraction}"))
}

fn push_decimal(
    out: &mut Vec<u8>,
    text: &str,
    precision: usize,
    scale: usize,
) -> std::result::Result<(), ValueError> {
    let (negative, number) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (int, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits_only = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if int.len() + fraction.len() == 0 || !digits_only(int) || !digits_only(fraction) {
        return Err(ValueError::WrongType);
    }
    let int = int.trim_start_matches('0');
    let int_digits = precision.saturating_sub(scale);
    let (kept, dropped) = fraction.split_at(fraction.len().min(scale));
    in_range(int.len() <= int_digits && dropped.bytes().all(|b| b == b'0'))?;

    let digits = format!("{int:0>int_digits$}{kept:0<scale$}");
    let digits = if int_digits == 0 { &digits[digits.len() - scale..] } else { &digits };
    let start = out.len();
    let mut at = 0;
    for n in groups(int_digits, true).chain(groups(scale, false)) {
        let group = digits[at..at + n].bytes().fold(0, |v, b| v * 10 + u64::from(b - b'0'));
        push_uint(out, LEFTOVER_BYTES[n], group);
        at += n;
    }
    if negative && digits.bytes().any(|b| b != b'0') {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
    if let Some(first) = out.get_mut(start) {
        *first ^= 0x80;
    }
    Ok(())
}

impl Pad {
    /// The bytes of one pad character.
    fn unit(self) -> &'static [u8] {
        match self {
            Pad::Zero => &[0],
            Pad::Space(2) => &[0, b' '],
            Pad::SpaceLe => &[b' ', 0],
            Pad::Space(4) => &[0, 0, 0, b' '],
            Pad::Space(_) => b" ",
        }
    }

    fn strip(self, mut raw: &[u8]) -> &[u8] {
        // BINARY keeps its zeros: they are part of the value.
        if self == Pad::Zero {
            return raw;
        }
        while let Some(rest) = raw.strip_suffix(self.unit()) {
            raw = rest;
        }
        raw
    }

    fn push(self, out: &mut Vec<u8>, v: &[u8], min: u32, max: u32) -> std::result::Result<(), ValueError> {
        let stripped = self.strip(v);
        if stripped.len() > max as usize {
            return Err(ValueError::TooLong);
        }
        out.extend_from_slice(stripped);
        let mut len = stripped.len();
        while len < min as usize {
            let unit = self.unit();
            let n = unit.len().min(min as usize - len);
            out.extend_from_slice(&unit[..n]);
            len += n;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
