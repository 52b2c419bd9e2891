//! Columns: between values and stored bytes.
//!
//! Decoding runs for every column of every row that a statement looks at: it allocates nothing but the text of SETs with
//! several members and of JSON, and takes what the page holds as it is: bytes that are no value of the type (a damaged
//! page passes its checksum, a table was altered from outside) give a zero value, never a panic.

use crate::decimal::Decimal;
use crate::sql_type::{Kind, SqlType};
use crate::temporal::calendar::{from_unix, to_unix};
use crate::time_zone::TimeZone;
use crate::value::Value;
use std::borrow::Cow;
use vaquita_base::codec::{get_uint, le, push_uint};
use vaquita_format::charset::Charset;
use vaquita_format::column::{ColumnDef, MType, mysql_type};
use vaquita_format::index_def::RowFormat;
use vaquita_format::value::{Date, DateTime, Pad, Time, Timestamp, Value as Stored, ValueType};

/// A column's SQL type together with how its values are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnType {
    /// The type.
    pub ty: SqlType,
    storage: Storage,
}

/// How values are stored; see the table of [`vaquita_format::value`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Storage {
    Int(u8),
    UInt(u8),
    Bit(u8),
    Float,
    Double,
    Decimal {
        precision: u32,
        scale: u8,
    },
    Year,
    Date,
    Time(u8),
    DateTime(u8),
    Timestamp(u8),
    /// Times of tables from before MySQL 5.6: HHMMSS, YYYYMMDDHHMMSS, seconds.
    OldTime,
    OldDateTime,
    OldTimestamp,
    Enum(u8),
    Set(u8),
    Padded {
        min: u32,
        max: u32,
        pad: Pad,
    },
    /// Of so many bytes at most.
    Text(u32),
    Json,
}

impl ColumnType {
    /// A column of this SQL type in a table of this row format.
    pub fn new(ty: SqlType, format: RowFormat) -> ColumnType {
        let def = ty.to_def("");
        ColumnType::of_def(ty, &def, format)
    }

    /// The same for a column that exists: the engine's description tells how old tables store times.
    pub fn of_def(ty: SqlType, def: &ColumnDef, format: RowFormat) -> ColumnType {
        let storage = Storage::of(&ty, def, format);
        ColumnType { ty, storage }
    }

    /// Whether a value that both have has the same stored form in both: row formats and old tables differ there.
    pub fn stores_like(&self, other: &ColumnType) -> bool {
        self.storage == other.storage
    }

    pub(crate) fn storage(&self) -> Storage {
        self.storage
    }

    /// Bytes of an integer column; 8 of others.
    pub(crate) fn byte_width(&self) -> u8 {
        match self.storage {
            Storage::Int(n) | Storage::UInt(n) => n,
            _ => 8,
        }
    }

    /// Bytes of a stored value that is an integer: of the integer types, BIT, ENUM and SET; 0 of others.
    pub fn integer_width(&self) -> u8 {
        match self.storage {
            Storage::Int(n) | Storage::UInt(n) => n,
            Storage::Bit(n) | Storage::Enum(n) | Storage::Set(n) => n,
            _ => 0,
        }
    }

    /// Digits of a second that the column keeps.
    pub fn second_digits(&self) -> u8 {
        match self.storage {
            Storage::Time(digits) | Storage::DateTime(digits) | Storage::Timestamp(digits) => digits,
            _ => 0,
        }
    }

    /// Reads a stored value; strings borrow it. Bytes that are no value of the type give zero values.
    #[inline]
    pub fn decode<'v>(&'v self, stored: Option<&'v [u8]>, time_zone: &TimeZone) -> Value<'v> {
        let Some(raw) = stored else { return Value::Null };
        match self.storage {
            Storage::Int(n) if raw.len() == usize::from(n) => Value::Int(signed(raw, n)),
            Storage::UInt(n) if raw.len() == usize::from(n) => Value::UInt(get_uint(raw, 0, n.into())),
            Storage::Padded { pad, .. } => Value::bytes(strip(pad, raw)),
            Storage::Text(_) => Value::bytes(raw),
            _ => self.decode_other(raw, time_zone),
        }
    }

    fn decode_other<'v>(&'v self, raw: &'v [u8], time_zone: &TimeZone) -> Value<'v> {
        match self.storage {
            Storage::Decimal { precision, scale } => {
                Value::Decimal(Decimal::from_stored(raw, precision, scale))
            }
            Storage::Float if raw.len() == 4 => Value::Float(f32::from_bits(le::get_uint(raw, 0, 4) as u32)),
            Storage::Double if raw.len() == 8 => Value::Double(f64::from_bits(le::get_uint(raw, 0, 8))),
            Storage::Bit(n) if raw.len() == usize::from(n) => {
                Value::Bit { value: get_uint(raw, 0, n.into()), bytes: n }
            }
            Storage::Year if raw.len() == 1 => {
                Value::UInt(if raw[0] == 0 { 0 } else { 1900 + u64::from(raw[0]) })
            }
            Storage::Enum(n) if raw.len() == usize::from(n) => {
                let number = get_uint(raw, 0, n.into());
                Value::Label { number, text: Cow::Borrowed(self.ty.enum_label(number).unwrap_or_default()) }
            }
            Storage::Set(n) if raw.len() == usize::from(n) => {
                let number = get_uint(raw, 0, n.into());
                Value::Label { number, text: self.ty.set_text(number) }
            }
            Storage::Json => Value::Json(Cow::Borrowed(raw)),
            _ => self.decode_time(raw, time_zone),
        }
    }

    fn decode_time(&self, raw: &[u8], time_zone: &TimeZone) -> Value<'static> {
        let stored = |ty: ValueType| ty.decode(Some(raw)).unwrap_or(Stored::Null);
        let old = || if raw.is_empty() || raw.len() > 8 { 0 } else { signed(raw, raw.len() as u8) };
        match self.storage {
            Storage::Date => Value::Date(match stored(ValueType::Date) {
                Stored::Date(d) => d,
                _ => Date::default(),
            }),
            Storage::Time(f) => Value::Time(match stored(ValueType::Time(f)) {
                Stored::Time(t) => t,
                _ => Time::default(),
            }),
            Storage::DateTime(f) => Value::DateTime(match stored(ValueType::DateTime(f)) {
                Stored::DateTime(d) => d,
                _ => DateTime::default(),
            }),
            Storage::Timestamp(f) => Value::DateTime(match stored(ValueType::Timestamp(f)) {
                Stored::Timestamp(t) => local_time(t, time_zone),
                _ => DateTime::default(),
            }),
            Storage::OldTimestamp if raw.len() == 4 => {
                let seconds = get_uint(raw, 0, 4) as u32;
                Value::DateTime(local_time(Timestamp { seconds, micros: 0 }, time_zone))
            }
            Storage::OldTime => Value::Time(old_time(old())),
            Storage::OldDateTime => Value::DateTime(old_datetime(old())),
            Storage::Int(_) => Value::Int(0),
            Storage::UInt(_) | Storage::Year => Value::UInt(0),
            Storage::Float => Value::Float(0.0),
            Storage::Double => Value::Double(0.0),
            Storage::Bit(bytes) => Value::Bit { value: 0, bytes },
            Storage::Enum(_) | Storage::Set(_) => Value::Label { number: 0, text: Cow::Borrowed(b"") },
            _ => Value::DateTime(DateTime::default()),
        }
    }

    /// Appends the stored form of a value that has the column's type already and fits (as [`ColumnType::decode`] gives).
    /// `false`: NULL, nothing appended. Any other value goes through [`crate::convert::store::store`]; here it gives the
    /// implicit default.
    pub fn encode(&self, v: &Value<'_>, time_zone: &TimeZone, out: &mut Vec<u8>) -> bool {
        match (self.storage, v) {
            (_, Value::Null) => return false,
            (Storage::Int(n), &Value::Int(v)) => push_signed(v, n, out),
            (Storage::UInt(n), &Value::UInt(v)) => push_uint(out, n.into(), v),
            (Storage::Padded { min, max, pad }, Value::Bytes(b)) => push_padded(b, min, max, pad, out),
            (Storage::Text(_), Value::Bytes(b)) | (Storage::Json, Value::Json(b)) => out.extend_from_slice(b),
            (Storage::Decimal { precision, scale }, Value::Decimal(d)) => {
                d.push_stored(precision, scale, out)
            }
            (Storage::Float, Value::Float(v)) => out.extend_from_slice(&v.to_le_bytes()),
            (Storage::Double, Value::Double(v)) => out.extend_from_slice(&v.to_le_bytes()),
            (Storage::Bit(n), &Value::Bit { value, .. }) => push_uint(out, n.into(), value),
            (Storage::Year, &Value::UInt(y)) => out.push(if y == 0 { 0 } else { y.wrapping_sub(1900) as u8 }),
            (Storage::Enum(n) | Storage::Set(n), Value::Label { number, .. }) => {
                push_uint(out, n.into(), *number)
            }
            (storage, v) => self.encode_time(storage, v, time_zone, out),
        }
        true
    }

    fn encode_time(&self, storage: Storage, v: &Value<'_>, time_zone: &TimeZone, out: &mut Vec<u8>) {
        let done = match (storage, v) {
            (Storage::Date, &Value::Date(d)) => ValueType::Date.encode(&Stored::Date(d), out),
            (Storage::Time(f), &Value::Time(t)) => ValueType::Time(f).encode(&Stored::Time(t), out),
            (Storage::DateTime(f), &Value::DateTime(d)) => {
                ValueType::DateTime(f).encode(&Stored::DateTime(d), out)
            }
            (Storage::Timestamp(f), &Value::DateTime(d)) => {
                let t = moment(d, time_zone).unwrap_or_default();
                ValueType::Timestamp(f).encode(&Stored::Timestamp(t), out)
            }
            (Storage::OldTimestamp, &Value::DateTime(d)) => {
                push_uint(out, 4, moment(d, time_zone).unwrap_or_default().seconds.into());
                Ok(())
            }
            (Storage::OldTime, &Value::Time(t)) => {
                push_signed(crate::temporal::print::time_number(t), 3, out);
                Ok(())
            }
            (Storage::OldDateTime, &Value::DateTime(d)) => {
                push_signed(crate::temporal::print::datetime_number(d) as i64, 8, out);
                Ok(())
            }
            _ => Err(vaquita_format::value::ValueError::WrongType),
        };
        if done.is_err() {
            self.push_implicit_default(out);
        }
    }

    /// Appends the stored form of the implicit default: 0, empty text, zero date, first label of an ENUM.
    pub fn push_implicit_default(&self, out: &mut Vec<u8>) {
        let zero = match self.storage {
            Storage::Int(_) => Value::Int(0),
            Storage::UInt(_) | Storage::Year => Value::UInt(0),
            Storage::Bit(bytes) => Value::Bit { value: 0, bytes },
            Storage::Float => Value::Float(0.0),
            Storage::Double => Value::Double(0.0),
            Storage::Decimal { .. } => Value::Decimal(Decimal::ZERO),
            Storage::Date => Value::Date(Date::default()),
            Storage::Time(_) | Storage::OldTime => Value::Time(Time::default()),
            Storage::DateTime(_) | Storage::Timestamp(_) | Storage::OldDateTime | Storage::OldTimestamp => {
                Value::DateTime(DateTime::default())
            }
            Storage::Enum(_) => Value::Label { number: 1, text: Cow::Borrowed(b"") },
            Storage::Set(_) => Value::Label { number: 0, text: Cow::Borrowed(b"") },
            Storage::Padded { .. } | Storage::Text(_) => Value::bytes(b""),
            Storage::Json => Value::Json(Cow::Borrowed(crate::json::NULL)),
        };
        self.encode(&zero, &TimeZone::UTC, out);
    }
}

impl Storage {
    fn of(ty: &SqlType, def: &ColumnDef, format: RowFormat) -> Storage {
        let len = u8::try_from(def.len).unwrap_or(8).clamp(1, 8);
        let fsp = ty.decimals.min(6);
        let old = def.mtype == MType::Int;
        match ty.kind {
            Kind::TinyInt | Kind::SmallInt | Kind::MediumInt | Kind::Int | Kind::BigInt => {
                if ty.unsigned {
                    Storage::UInt(len)
                } else {
                    Storage::Int(len)
                }
            }
            Kind::Decimal if def.mtype == MType::FixBinary => {
                Storage::Decimal { precision: ty.length, scale: ty.decimals }
            }
            Kind::Float => Storage::Float,
            Kind::Double => Storage::Double,
            Kind::Bit => Storage::Bit(len),
            Kind::Year => Storage::Year,
            Kind::Date => Storage::Date,
            Kind::Time if old => Storage::OldTime,
            Kind::DateTime if old => Storage::OldDateTime,
            Kind::Timestamp if old => Storage::OldTimestamp,
            Kind::Time => Storage::Time(fsp),
            Kind::DateTime => Storage::DateTime(fsp),
            Kind::Timestamp => Storage::Timestamp(fsp),
            Kind::Enum => Storage::Enum(len),
            Kind::Set => Storage::Set(len),
            Kind::Json => Storage::Json,
            _ => match ValueType::of_column(def, format, None) {
                Ok(ValueType::Padded { min, max, pad }) => Storage::Padded { min, max, pad },
                Ok(ValueType::String(max)) => Storage::Text(max),
                _ => Storage::Text(u32::MAX),
            },
        }
    }
}

#[inline]
fn signed(raw: &[u8], n: u8) -> i64 {
    let unused = 64 - 8 * u32::from(n);
    let flipped = get_uint(raw, 0, n.into()) ^ 1 << (8 * n - 1);
    (flipped << unused) as i64 >> unused
}

#[inline]
fn push_signed(v: i64, n: u8, out: &mut Vec<u8>) {
    push_uint(out, n.into(), v as u64 ^ 1 << (8 * n - 1));
}

/// CHAR without its padding; BINARY keeps it: its zero bytes are part of the value.
#[inline]
fn strip(pad: Pad, raw: &[u8]) -> &[u8] {
    match pad {
        Pad::Zero => raw,
        Pad::Space(1) => {
            let len = raw.iter().rposition(|&b| b != b' ').map_or(0, |i| i + 1);
            &raw[..len]
        }
        Pad::Space(width) => strip_units(raw, usize::from(width), is_wide_space),
        Pad::SpaceLe => strip_units(raw, 2, |unit| unit == [b' ', 0]),
    }
}

fn strip_units(raw: &[u8], width: usize, is_space: impl Fn(&[u8]) -> bool) -> &[u8] {
    let mut len = raw.len();
    while len >= width && is_space(&raw[len - width..len]) {
        len -= width;
    }
    &raw[..len]
}

fn is_wide_space(unit: &[u8]) -> bool {
    unit.split_last().is_some_and(|(last, rest)| *last == b' ' && rest.iter().all(|&b| b == 0))
}

/// `b`, padded up to `min` bytes; what is beyond `max` is cut.
fn push_padded(b: &[u8], min: u32, max: u32, pad: Pad, out: &mut Vec<u8>) {
    let kept = strip(pad, b);
    let kept = &kept[..kept.len().min(max as usize)];
    if let Pad::Space(1) | Pad::Zero = pad {
        out.extend_from_slice(kept);
        let fill = if pad == Pad::Zero { 0 } else { b' ' };
        out.resize(out.len() + (min as usize).saturating_sub(kept.len()), fill);
    } else {
        // It fits: encoding does not fail.
        let _ = ValueType::Padded { min, max, pad }.encode(&Stored::Bytes(kept.into()), out);
    }
}

/// The local time of a moment; the zero timestamp is the zero date.
pub fn local_time(t: Timestamp, time_zone: &TimeZone) -> DateTime {
    if t.seconds == 0 {
        return DateTime { micros: t.micros, ..DateTime::default() };
    }
    let utc = i64::from(t.seconds);
    from_unix(utc + i64::from(time_zone.offset_at(utc)), t.micros).unwrap_or_default()
}

/// The moment of a local time: the zero date is the zero timestamp; `None` outside 1970-01-01 00:00:01 to 2038-01-19
/// 03:14:07 in UTC. A time in a gap of the clock is the moment of the gap.
pub fn moment(d: DateTime, time_zone: &TimeZone) -> Option<Timestamp> {
    if d.date == Date::default() && d.hour == 0 && d.minute == 0 && d.second == 0 {
        return Some(Timestamp { seconds: 0, micros: d.micros });
    }
    let utc = time_zone.to_utc_lenient(to_unix(d));
    let seconds = i32::try_from(utc).ok().filter(|&s| s > 0)?;
    Some(Timestamp { seconds: seconds.unsigned_abs(), micros: d.micros })
}

fn old_time(v: i64) -> Time {
    let (negative, v) = (v < 0, v.unsigned_abs());
    Time {
        negative,
        hours: (v / 10_000).min(838) as u16,
        minutes: (v / 100 % 100).min(59) as u8,
        seconds: (v % 100).min(59) as u8,
        micros: 0,
    }
}

fn old_datetime(v: i64) -> DateTime {
    let v = v.clamp(0, 99_991_231_235_959) as u64;
    let (d, t) = (v / 1_000_000, v % 1_000_000);
    let date = Date {
        year: (d / 10_000) as u16,
        month: (d / 100 % 100).min(12) as u8,
        day: (d % 100).min(31) as u8,
    };
    let (hour, minute) = ((t / 10_000).min(23) as u8, (t / 100 % 100).min(59) as u8);
    DateTime { date, hour, minute, second: (t % 100).min(59) as u8, micros: 0 }
}

impl SqlType {
    /// The label with this number of an ENUM, from 1; 0 is the empty error value.
    #[inline]
    pub fn enum_label(&self, number: u64) -> Option<&[u8]> {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        self.labels.as_deref()?.get(at).map(|label| &**label)
    }

    /// The members of a SET, joined by commas.
    pub fn set_text(&self, bits: u64) -> Cow<'_, [u8]> {
        let labels = self.labels.as_deref().unwrap_or_default();
        if bits.count_ones() <= 1 {
            let label = labels.get(bits.trailing_zeros() as usize).map_or(&b""[..], |label| label);
            return Cow::Borrowed(label);
        }
        let members = labels.iter().take(64).enumerate().filter(|(i, _)| bits >> i & 1 != 0);
        let comma = self.ascii(b",");
        let mut out = Vec::new();
        for (_, label) in members {
            if !out.is_empty() {
                out.extend_from_slice(&comma);
            }
            out.extend_from_slice(label);
        }
        Cow::Owned(out)
    }

    /// ASCII text in the type's character set.
    pub(crate) fn ascii<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        match self.charset() {
            Some(charset) if charset.mb_min_len > 1 => {
                let mut out = Vec::new();
                vaquita_format::charset::convert(Charset::LATIN1, charset, text, &mut out);
                Cow::Owned(out)
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// Character set of the collation.
    pub fn charset(&self) -> Option<Charset> {
        Charset::of_collation(self.collation)
    }

    /// The engine's description of a column of this type.
    pub fn to_def(&self, name: &str) -> ColumnDef {
        use vaquita_format::column::Charset as Width;
        let charset = self.charset().unwrap_or(Charset::LATIN1);
        let width =
            Width { collation: self.collation, mbminlen: charset.mb_min_len, mbmaxlen: charset.mb_max_len };
        let binary = self.collation == crate::sql_type::BINARY;
        let members = self.labels.as_ref().map_or(0, |l| l.len()) as u32;
        let fsp = u32::from(self.decimals);
        let text = |bytes| {
            if binary { ColumnDef::blob(name, bytes) } else { ColumnDef::text_blob(name, bytes, width) }
        };
        let mut def = match self.kind {
            Kind::TinyInt => ColumnDef::int(name, 1, self.unsigned),
            Kind::SmallInt => ColumnDef::int(name, 2, self.unsigned),
            Kind::MediumInt => ColumnDef::int(name, 3, self.unsigned),
            Kind::Int => ColumnDef::int(name, 4, self.unsigned),
            Kind::BigInt => ColumnDef::int(name, 8, self.unsigned),
            Kind::Decimal => ColumnDef::decimal(name, self.length, fsp),
            Kind::Float => ColumnDef::float(name),
            Kind::Double => ColumnDef::double(name),
            Kind::Bit => ColumnDef::bit(name, self.length),
            Kind::Year => ColumnDef::year(name),
            Kind::Date => ColumnDef::date(name),
            Kind::Time => ColumnDef::time(name, fsp),
            Kind::DateTime => ColumnDef::datetime(name, fsp),
            Kind::Timestamp => ColumnDef::timestamp(name, fsp),
            Kind::Char if binary => ColumnDef::binary(name, self.length),
            Kind::Char => ColumnDef::char(name, self.length, width),
            Kind::Null => ColumnDef::binary(name, 0),
            Kind::VarChar if binary => ColumnDef::varbinary(name, self.length),
            Kind::VarChar => ColumnDef::varchar(name, self.length, width),
            Kind::TinyText => text(1),
            Kind::Text => text(2),
            Kind::MediumText => text(3),
            Kind::LongText => text(4),
            Kind::Enum => ColumnDef::enumeration(name, members),
            Kind::Set => ColumnDef::set(name, members),
            Kind::Json => ColumnDef::blob(name, 4),
            Kind::Geometry => {
                let mut def = ColumnDef::blob(name, 4);
                def.prtype = def.prtype & !0xFF | u32::from(mysql_type::GEOMETRY);
                def
            }
        };
        if self.unsigned && matches!(self.kind, Kind::Decimal | Kind::Float | Kind::Double) {
            def = def.unsigned();
        }
        if self.nullable { def } else { def.not_null() }
    }
}

#[cfg(test)]
mod tests;
