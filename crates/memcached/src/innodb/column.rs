//! The columns of a mapping: between stored values and the bytes that clients see.
//!
//! Text and bytes are what they are; a text column of a multi-byte character set takes only text of that set. Integers
//! are decimal digits. Other types are the text that SQL shows, and take what SQL takes in strict mode; times are in the
//! time zone of the operating system.

use crate::decimal::push_number;
use std::fmt;
use std::sync::Arc;
use vaquita_base::codec::push_uint;
use vaquita_engine::Column;
use vaquita_engine::lower::charset::Charset;
use vaquita_engine::lower::column::{BINARY_COLLATION, ColumnDef, MType, mysql_type};
use vaquita_engine::lower::{RowFormat, value};
use vaquita_engine::stored::{to_signed, to_unsigned};
use vaquita_types::column::local_time;
use vaquita_types::convert::store::{StoreMode, store};
use vaquita_types::sql_type::NOT_FIXED;
use vaquita_types::temporal::DateContext;
use vaquita_types::{ColumnType, Cx, Date, Kind, SqlMode, SqlType, TimeZone, Timestamp, Value, Warnings};

/// Why a text is no value of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// More bytes or characters than the column has.
    TooLong,
    /// Not text of the column's character set.
    Malformed,
    /// No number, or none of the column's range; no date and so on.
    NotOfType,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Misfit::TooLong => "is too long",
            Misfit::Malformed => "is not text of the column's character set",
            Misfit::NotOfType => "is no value of the column's type",
        })
    }
}

/// How much a column of strings takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    /// As many characters, or fewer bytes than they may have.
    pub(crate) chars: u32,
    /// As many bytes.
    pub(crate) bytes: u32,
}

/// How a column's values look to clients.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    /// Strings; `padded` has the type if it is a CHAR or BINARY.
    Text(Text),
    /// Integers.
    Int(Int),
    /// Everything else, as SQL prints and reads it.
    Other(Box<Other>),
}

/// Strings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text {
    charset: Charset,
    max_bytes: u32,
    max_chars: u32,
    padded: Option<value::ValueType>,
}

/// Integers of one to eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Int {
    /// Bytes.
    pub(crate) bytes: usize,
    /// UNSIGNED.
    pub(crate) unsigned: bool,
}

/// A type that only its text is known of.
#[derive(Debug, Clone)]
pub(crate) struct Other {
    ty: ColumnType,
    time_zone: TimeZone,
    name: String,
}

impl Form {
    /// How the values of a column look. `collation`: the table's, of ENUM and SET labels.
    ///
    /// # Errors
    /// Why it cannot be mapped.
    pub(crate) fn of(column: &Column, format: RowFormat, collation: u16) -> Result<Form, String> {
        let def = &column.def;
        let number = |bytes| Form::Int(Int { bytes, unsigned: def.is_unsigned() });
        Ok(match (def.mtype, def.mysql_type()) {
            (MType::Int, mysql_type::TINY | mysql_type::SHORT | mysql_type::INT24 | mysql_type::LONG)
            | (MType::Int, mysql_type::LONGLONG) => number(def.len as usize),
            (MType::Blob, mysql_type::GEOMETRY) => Form::Text(Text::bytes(u32::MAX)),
            (MType::Blob, _) if declared_name(column).eq_ignore_ascii_case("json") => {
                Other::form(column, format, collation)?
            }
            (MType::VarChar | MType::Binary | MType::VarMySql | MType::Blob, _) => {
                Form::Text(Text::of(def, format)?)
            }
            (MType::Char | MType::MySql, _) | (MType::FixBinary, mysql_type::STRING) => {
                Form::Text(Text::of(def, format)?)
            }
            _ => Other::form(column, format, collation)?,
        })
    }

    /// Whether a value is shown as it is stored.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Form::Text(Text { padded: None, .. }))
    }

    /// Whether it is a string, of which nothing is a value.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Form::Text(_))
    }

    /// How much it takes, of strings.
    pub(crate) fn room(&self) -> Option<Room> {
        match self {
            Form::Text(text) => Some(Room { chars: text.max_chars, bytes: text.max_bytes }),
            Form::Int(_) | Form::Other(_) => None,
        }
    }

    /// Appends the stored form of a moment, to columns of times.
    pub(crate) fn push_time(&self, now: u32, out: &mut Vec<u8>) {
        if let Form::Other(other) = self {
            let moment = Timestamp { seconds: now, micros: 0 };
            let time = Value::DateTime(local_time(moment, &other.time_zone));
            other.ty.encode(&time, &other.time_zone, out);
        }
    }

    /// Appends what clients see of a stored value.
    pub(crate) fn show(&self, stored: &[u8], out: &mut Vec<u8>) {
        match self {
            Form::Text(text) => out.extend_from_slice(text.strip(stored)),
            Form::Int(int) => int.show(stored, out),
            Form::Other(other) => {
                let value = other.ty.decode(Some(stored), &other.time_zone);
                value.push_text(&other.ty.ty, out);
            }
        }
    }

    /// Appends the stored form of what a client gives.
    ///
    /// # Errors
    /// Why it does not fit; `out` may have grown.
    pub(crate) fn push(&self, given: &[u8], out: &mut Vec<u8>) -> Result<(), Misfit> {
        match self {
            Form::Text(text) => text.push(given, out),
            Form::Int(int) => int.push(given, out),
            Form::Other(other) => other.push(given, out),
        }
    }

    /// Whether what a client gives can be stored as it is; for plain ones ([`Form::is_plain`]).
    ///
    /// # Errors
    /// Why it does not fit.
    #[inline]
    pub(crate) fn check(&self, given: &[u8]) -> Result<(), Misfit> {
        match self {
            Form::Text(text) => text.check(given),
            Form::Int(_) | Form::Other(_) => Ok(()),
        }
    }
}

impl Text {
    fn bytes(max_bytes: u32) -> Text {
        Text { charset: Charset::BINARY, max_bytes, max_chars: u32::MAX, padded: None }
    }

    fn of(def: &ColumnDef, format: RowFormat) -> Result<Text, String> {
        let ty = value::ValueType::of_column(def, format, None).map_err(|e| e.to_string())?;
        let id = match def.collation_id() {
            _ if def.is_binary() => BINARY_COLLATION,
            // Tables older than collations in the dictionary.
            0 => 8,
            id => id,
        };
        let charset = Charset::of_collation(id)
            .ok_or_else(|| format!("column {} has the unknown collation {id}", def.name))?;
        let width = u32::from(charset.mb_max_len.max(1));
        Ok(match ty {
            value::ValueType::Padded { max, .. } => {
                Text { charset, max_bytes: max, max_chars: max / width, padded: Some(ty) }
            }
            // The length of a TEXT is one of bytes.
            value::ValueType::String(max) if def.mtype == MType::Blob => {
                Text { charset, max_bytes: max, max_chars: u32::MAX, padded: None }
            }
            _ => Text { charset, max_bytes: def.len, max_chars: def.len / width, padded: None },
        })
    }

    #[inline]
    fn check(&self, given: &[u8]) -> Result<(), Misfit> {
        if given.len() > self.max_bytes as usize {
            return Err(Misfit::TooLong);
        }
        if self.charset.first_malformed(given).is_some() {
            return Err(Misfit::Malformed);
        }
        if given.len() > self.max_chars as usize && self.charset.char_count(given) > self.max_chars as usize {
            return Err(Misfit::TooLong);
        }
        Ok(())
    }

    fn push(&self, given: &[u8], out: &mut Vec<u8>) -> Result<(), Misfit> {
        self.check(given)?;
        let Some(ty) = self.padded else {
            out.extend_from_slice(given);
            return Ok(());
        };
        let given = value::Value::Bytes(self.strip(given).into());
        ty.encode(&given, out).map_err(|_| Misfit::TooLong)
    }

    /// A CHAR without its padding; BINARY keeps its zero bytes, as in SQL.
    fn strip<'v>(&self, stored: &'v [u8]) -> &'v [u8] {
        match self.padded {
            Some(value::ValueType::Padded { pad: value::Pad::Space(1), .. }) => {
                &stored[..stored.iter().rposition(|&b| b != b' ').map_or(0, |i| i + 1)]
            }
            Some(ty @ value::ValueType::Padded { pad: value::Pad::Space(_) | value::Pad::SpaceLe, .. }) => {
                match ty.decode(Some(stored)) {
                    Ok(value::Value::Bytes(text)) => &stored[..text.len()],
                    _ => stored,
                }
            }
            _ => stored,
        }
    }
}

impl Int {
    fn show(self, stored: &[u8], out: &mut Vec<u8>) {
        if self.unsigned {
            return push_number(out, to_unsigned(stored));
        }
        let n = to_signed(stored);
        if n < 0 {
            out.push(b'-');
        }
        push_number(out, n.unsigned_abs());
    }

    #[inline]
    fn push(self, given: &[u8], out: &mut Vec<u8>) -> Result<(), Misfit> {
        let (negative, digits) = match given.split_first() {
            Some((b'-', digits)) => (true, digits),
            _ => (false, given),
        };
        let n = parse_decimal(digits).ok_or(Misfit::NotOfType)?;
        let bits = 8 * self.bytes as u32;
        let limit = match (self.unsigned, negative) {
            (true, true) => 0,
            (true, false) => u64::MAX >> (64 - bits),
            (false, true) => 1 << (bits - 1),
            (false, false) => (1 << (bits - 1)) - 1,
        };
        if n > limit {
            return Err(Misfit::NotOfType);
        }
        let n = if negative { n.wrapping_neg() } else { n };
        self.push_bits(n, out);
        Ok(())
    }

    /// Appends the stored form of the lowest bits of a number, of which a negative one is the two's complement.
    #[inline]
    pub(crate) fn push_bits(self, n: u64, out: &mut Vec<u8>) {
        let flip = if self.unsigned { 0 } else { 1 << (8 * self.bytes - 1) };
        push_uint(out, self.bytes, n ^ flip);
    }

    /// The bits of a stored number; a negative one is the two's complement of 64 bits.
    #[inline]
    pub(crate) fn bits(self, stored: &[u8]) -> u64 {
        if self.unsigned { to_unsigned(stored) } else { to_signed(stored) as u64 }
    }
}

/// Decimal digits and nothing else, below 2^64.
#[inline]
pub(crate) fn parse_decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut n = 0_u64;
    for &digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        n = match digits.len() {
            ..=19 => n * 10 + u64::from(digit),
            _ => n.checked_mul(10)?.checked_add(digit.into())?,
        };
    }
    Some(n)
}

impl Other {
    fn form(column: &Column, format: RowFormat, collation: u16) -> Result<Form, String> {
        let ty = sql_type(column, collation)
            .ok_or_else(|| format!("column {} is of a type that cannot be mapped", column.def.name))?;
        let ty = ColumnType::of_def(ty, &column.def, format);
        let time_zone = TimeZone::system();
        Ok(Form::Other(Box::new(Other { ty, time_zone, name: column.def.name.clone() })))
    }

    fn push(&self, given: &[u8], out: &mut Vec<u8>) -> Result<(), Misfit> {
        let mut warnings = Warnings::default();
        let today = Date { year: 1970, month: 1, day: 1 };
        let date = DateContext { mode: SqlMode::default(), today };
        let mut cx = Cx { date, time_zone: &self.time_zone, warnings: &mut warnings };
        let mode = StoreMode { strict: true, null_is_error: true, row: 1 };
        let from = SqlType::varchar(given.len() as u32, self.ty.ty.collation);
        match store(&self.ty, &self.name, &Value::bytes(given), &from, mode, &mut cx, out) {
            Ok(_) => Ok(()),
            Err(e) if e.code == 1406 => Err(Misfit::TooLong),
            Err(_) => Err(Misfit::NotOfType),
        }
    }
}

/// The first word of the declared type, where a layer above has left it.
fn declared_name(column: &Column) -> &str {
    let text = column.extra.as_str();
    &text[..text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len())]
}

/// Digits of the fraction as declared (`datetime(3)`), or as many as there are bytes for.
fn fraction(column: &Column, whole: u32) -> u8 {
    let declared = column.extra.lines().next().and_then(|line| line.split_once('('));
    let declared = declared.and_then(|(_, rest)| rest.split_once(')')).and_then(|(n, _)| n.parse().ok());
    declared.unwrap_or(2 * column.def.len.saturating_sub(whole).min(3) as u8).min(6)
}

/// The SQL type of a column that is neither string nor integer.
fn sql_type(column: &Column, collation: u16) -> Option<SqlType> {
    let def = &column.def;
    let set = declared_name(column).eq_ignore_ascii_case("set");
    let kind = match (def.mtype, def.mysql_type()) {
        (MType::Int, mysql_type::DATE) => Kind::Date,
        (MType::Int, mysql_type::YEAR) => Kind::Year,
        (MType::Int, mysql_type::TIME) | (MType::FixBinary, mysql_type::TIME) => Kind::Time,
        (MType::Int, mysql_type::DATETIME) | (MType::FixBinary, mysql_type::DATETIME) => Kind::DateTime,
        (MType::Int, mysql_type::TIMESTAMP) | (MType::FixBinary, mysql_type::TIMESTAMP) => Kind::Timestamp,
        (MType::Int, mysql_type::STRING) if set => Kind::Set,
        (MType::Int, mysql_type::STRING) => Kind::Enum,
        (MType::Float, _) => Kind::Float,
        (MType::Double, _) => Kind::Double,
        (MType::FixBinary, mysql_type::NEWDECIMAL) => Kind::Decimal,
        (MType::FixBinary, mysql_type::BIT) => Kind::Bit,
        (MType::Blob, _) => Kind::Json,
        _ => return None,
    };
    let mut ty = SqlType::new(kind);
    ty.nullable = def.is_nullable();
    ty.unsigned = def.is_unsigned() && !matches!(kind, Kind::Enum | Kind::Set);
    match kind {
        Kind::Decimal => {
            let (precision, scale) = column.decimal?;
            (ty.length, ty.decimals) = (precision, scale as u8);
        }
        Kind::Float | Kind::Double => ty.decimals = NOT_FIXED,
        Kind::Time => ty.decimals = fraction(column, 3),
        Kind::DateTime => ty.decimals = fraction(column, 5),
        Kind::Timestamp => ty.decimals = fraction(column, 4),
        Kind::Bit => ty.length = def.len * 8,
        Kind::Enum | Kind::Set => {
            ty.collation = declared_collation(column).unwrap_or(collation);
            ty.labels = Some(labels(column, ty.collation));
        }
        _ => {}
    }
    Some(ty)
}

/// The collation of an ENUM or SET, which only the layer above knows.
fn declared_collation(column: &Column) -> Option<u16> {
    column.extra.lines().find_map(|line| line.strip_prefix("collate="))?.parse().ok()
}

/// The labels in the character set of a collation.
fn labels(column: &Column, collation: u16) -> Arc<[Box<[u8]>]> {
    let charset = Charset::of_collation(collation).unwrap_or(Charset::LATIN1);
    let encode = |label: &String| {
        let mut out = Vec::new();
        vaquita_engine::lower::charset::convert(Charset::UTF8MB4, charset, label.as_bytes(), &mut out);
        out.into_boxed_slice()
    };
    column.labels.iter().map(encode).collect()
}
