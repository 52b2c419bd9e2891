//! Stored column values as the text MySQL shows.
//!
//! A [`TextType`] says how to read a column's bytes: it comes from the dictionary's [`ColumnDef`] alone, which does not
//! know ENUM labels, DECIMAL's precision, or the number of fraction digits, or from a `.frm` file, which does
//! (see [`crate::frm`]).
//!
//! | type | text |
//! |---|---|
//! | numbers | decimal; ZEROFILL padded; FLOAT is shown as the double it is, DOUBLE shortest that reads back the same |
//! | BIT | upper-case hexadecimal number |
//! | DATE, TIME, DATETIME, TIMESTAMP | as MySQL; TIMESTAMP in UTC |
//! | ENUM, SET | labels; numbers if they are not known |
//! | text | Unicode; upper-case hexadecimal digits if the character set cannot be decoded |
//! | BINARY, VARBINARY, BLOB, GEOMETRY | upper-case hexadecimal digits |

use std::fmt::Write as _;

use crate::charset::Charset;
use crate::column::{ColumnDef, MType, mysql_type};
use crate::error::{Corruption, Result};
use vaquita_base::codec::{get_uint, le};

/// How the stored bytes of a column become text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextType {
    /// Integers; `zerofill` is the display width to fill.
    Int {
        /// No sign bit.
        unsigned: bool,
        /// Width filled with zeros.
        zerofill: Option<usize>,
    },
    /// FLOAT and DOUBLE; with `decimals` as `FLOAT(M,D)` shows them.
    Real {
        /// Digits after the point, if declared.
        decimals: Option<usize>,
        /// Width filled with zeros.
        zerofill: Option<usize>,
    },
    /// DECIMAL(precision, scale).
    Decimal {
        /// All digits.
        precision: u32,
        /// Digits after the point.
        scale: u32,
        /// Width filled with zeros.
        zerofill: Option<usize>,
    },
    /// BIT.
    Bit,
    /// YEAR.
    Year,
    /// DATE.
    Date,
    /// TIME with this many fraction digits.
    Time(usize),
    /// DATETIME with this many fraction digits.
    DateTime(usize),
    /// TIMESTAMP with this many fraction digits.
    Timestamp(usize),
    /// TIME of tables from before MySQL 5.6: HHMMSS.
    OldTime,
    /// DATETIME of tables from before MySQL 5.6: YYYYMMDDHHMMSS.
    OldDateTime,
    /// ENUM with its labels.
    Enum(Vec<String>),
    /// SET with its labels.
    Set(Vec<String>),
    /// Text; `padded` is CHAR, whose trailing spaces do not count.
    Text {
        /// Its character set.
        charset: Charset,
        /// CHAR.
        padded: bool,
    },
    /// Bytes.
    Bytes,
}

impl TextType {
    /// What the dictionary's description tells. ENUM and SET show numbers, DECIMAL shows hexadecimal digits.
    pub fn of_column(column: &ColumnDef) -> TextType {
        let unsigned = column.is_unsigned();
        // Each fraction byte holds two digits.
        let fraction = |whole: u32| column.len.saturating_sub(whole) as usize * 2;
        match (column.mtype, column.mysql_type()) {
            (MType::Sys, _) => TextType::Int { unsigned: true, zerofill: None },
            (MType::Int, mysql_type::DATE) => TextType::Date,
            (MType::Int, mysql_type::YEAR) => TextType::Year,
            (MType::Int, mysql_type::TIME) => TextType::OldTime,
            (MType::Int, mysql_type::DATETIME) => TextType::OldDateTime,
            (MType::Int, mysql_type::TIMESTAMP) => TextType::Timestamp(0),
            (MType::Int, _) => TextType::Int { unsigned, zerofill: None },
            (MType::Float | MType::Double, _) => TextType::Real { decimals: None, zerofill: None },
            (MType::FixBinary, mysql_type::BIT) => TextType::Bit,
            (MType::FixBinary, mysql_type::TIME) => TextType::Time(fraction(3)),
            (MType::FixBinary, mysql_type::DATETIME) => TextType::DateTime(fraction(5)),
            (MType::FixBinary, mysql_type::TIMESTAMP) => TextType::Timestamp(fraction(4)),
            (MType::FixBinary | MType::Binary, _) => TextType::Bytes,
            (MType::Blob, _) if column.is_binary() => TextType::Bytes,
            (mtype, _) => match Charset::of_collation(column.collation_id()) {
                Some(charset) => {
                    TextType::Text { charset, padded: matches!(mtype, MType::Char | MType::MySql) }
                }
                // Tables older than collations in the dictionary.
                None if column.collation_id() == 0 => TextType::Text {
                    charset: Charset::LATIN1,
                    padded: matches!(mtype, MType::Char | MType::MySql),
                },
                None => TextType::Bytes,
            },
        }
    }

    /// Whether the text is a number, to be written without quotes.
    pub fn is_number(&self) -> bool {
        matches!(
            self,
            TextType::Int { .. } | TextType::Real { .. } | TextType::Decimal { .. } | TextType::Year
        )
    }

    /// Whether the text is hexadecimal digits standing for bytes (text of an unknown character set is, too).
    pub fn is_hex(&self) -> bool {
        match self {
            TextType::Bit | TextType::Bytes => true,
            TextType::Text { charset, .. } => charset.decode(b"").is_none(),
            _ => false,
        }
    }

    /// Appends the text of a stored value.
    ///
    /// # Errors
    /// If the bytes cannot be a value of the type; nothing sensible has been appended then.
    pub fn write(&self, v: &[u8], out: &mut String) -> Result<()> {
        match *self {
            TextType::Int { unsigned, zerofill } => int(v, unsigned, zerofill, out),
            TextType::Real { decimals, zerofill } => real(v, decimals, zerofill, out),
            TextType::Decimal { precision, scale, zerofill } => decimal(v, precision, scale, zerofill, out),
            TextType::Bit => {
                write_to(out, format_args!("{:X}", uint(v)?));
                Ok(())
            }
            TextType::Year => year(v, out),
            TextType::Date => date(v, out),
            TextType::Time(fsp) => time(v, fsp, out),
            TextType::DateTime(fsp) => datetime(v, fsp, out),
            TextType::Timestamp(fsp) => timestamp(v, fsp, out),
            TextType::OldTime => old_time(v, out),
            TextType::OldDateTime => old_datetime(v, out),
            TextType::Enum(ref labels) => enumeration(v, labels, out),
            TextType::Set(ref labels) => set(v, labels, out),
            TextType::Text { charset, padded } => {
                match charset.decode(v) {
                    Some(text) if padded => out.push_str(text.trim_end_matches(' ')),
                    Some(text) => out.push_str(&text),
                    None => hex(v, out),
                }
                Ok(())
            }
            TextType::Bytes => {
                hex(v, out);
                Ok(())
            }
        }
    }
}

/// Appends upper-case hexadecimal digits.
pub fn hex(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.reserve(bytes.len() * 2);
    for &b in bytes {
        out.push(char::from(DIGITS[usize::from(b >> 4)]));
        out.push(char::from(DIGITS[usize::from(b & 15)]));
    }
}

/// Appends a text as `mysql --batch` prints it: `\t`, `\n`, `\\` and `\0` for these characters.
pub fn escape_batch(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            c => out.push(c),
        }
    }
}

/// Appends a quoted SQL string literal.
pub fn quote_sql(text: &str, out: &mut String) {
    out.push('\'');
    push_sql_string(text, out);
    out.push('\'');
}

/// Appends the inside of a quoted SQL string literal.
pub fn push_sql_string(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\x1A' => out.push_str("\\Z"),
            c => out.push(c),
        }
    }
}

/// Appends a number as MySQL prints a DOUBLE: the shortest digits that read back the same; with an exponent below
/// 1e-15, and from 1e15 up unless there are digits behind the point.
pub fn double(v: f64, out: &mut String) {
    if v == 0.0 || !v.is_finite() {
        // Minus zero keeps its sign in MySQL, too. NaN and infinity cannot be stored by SQL; they show as themselves.
        write_to(out, format_args!("{v}"));
        return;
    }
    let scientific = format!("{v:e}");
    let exponent: i32 = scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let digits = scientific.bytes().take_while(|&b| b != b'e').filter(u8::is_ascii_digit).count();
    // Two shortest texts may be equally near, as for 0.5 + 2^-51: MySQL takes the even one, as rounding to a number of
    // digits does, `{v}` the larger.
    let even = format!("{v:.*e}", digits - 1);
    let tie = even != scientific && even.parse() == Ok(v);
    let has_fraction = usize::try_from(exponent).is_ok_and(|e| digits > e + 1);
    if (-15..15).contains(&exponent) || has_fraction {
        let decimals = usize::try_from(digits as i32 - 1 - exponent).unwrap_or(0);
        if tie { write_to(out, format_args!("{v:.decimals$}")) } else { write_to(out, format_args!("{v}")) }
    } else {
        out.push_str(if tie { &even } else { &scientific });
    }
}

fn write_to(out: &mut String, args: std::fmt::Arguments<'_>) {
    out.write_fmt(args).expect("writing to a String does not fail");
}

fn bad(what: &'static str, v: &[u8]) -> Corruption {
    let mut digits = String::new();
    hex(&v[..v.len().min(16)], &mut digits);
    Corruption::new(what, format!("{} bytes {digits}", v.len()))
}

/// A big-endian number of at most eight bytes.
fn uint(v: &[u8]) -> Result<u64> {
    if v.len() > 8 {
        return Err(bad("length of a number", v));
    }
    Ok(get_uint(v, 0, v.len()))
}

fn signed(v: &[u8]) -> Result<i64> {
    if v.is_empty() {
        return Err(bad("length of a number", v));
    }
    let shift = 64 - 8 * v.len().min(8) as u32;
    // The stored sign bit is flipped; flip it back and spread it.
    Ok(((uint(v)? << shift) ^ 1 << 63) as i64 >> shift)
}

fn int(v: &[u8], unsigned: bool, zerofill: Option<usize>, out: &mut String) -> Result<()> {
    if unsigned {
        let width = zerofill.unwrap_or(0);
        write_to(out, format_args!("{:0width$}", uint(v)?));
    } else {
        write_to(out, format_args!("{}", signed(v)?));
    }
    Ok(())
}

fn real(v: &[u8], decimals: Option<usize>, zerofill: Option<usize>, out: &mut String) -> Result<()> {
    let value = match v.len() {
        4 => f64::from(f32::from_bits(le::get_uint(v, 0, 4) as u32)),
        8 => f64::from_bits(le::get_uint(v, 0, 8)),
        _ => return Err(bad("length of a FLOAT or DOUBLE", v)),
    };
    let mut text = String::new();
    match decimals {
        Some(decimals) => write_to(&mut text, format_args!("{value:.decimals$}")),
        None => double(value, &mut text),
    }
    fill(zerofill, &text, out);
    Ok(())
}

/// Appends `text` behind as many zeros as the width needs.
fn fill(zerofill: Option<usize>, text: &str, out: &mut String) {
    for _ in text.len()..zerofill.unwrap_or(0) {
        out.push('0');
    }
    out.push_str(text);
}

fn decimal(v: &[u8], precision: u32, scale: u32, zerofill: Option<usize>, out: &mut String) -> Result<()> {
    if scale > precision || v.is_empty() || v.len() != crate::value::decimal_len(precision, scale) {
        return Err(bad("length of a DECIMAL", v));
    }
    let negative = v[0] & 0x80 == 0;
    let mut raw: Vec<u8> = v.to_vec();
    raw[0] ^= 0x80;
    if negative {
        raw.iter_mut().for_each(|b| *b = !*b);
    }
    let (int_digits, scale) = ((precision - scale) as usize, scale as usize);
    let mut rest = &raw[..];
    let mut take = |digits: usize, out: &mut String| {
        let (group, tail) = rest.split_at(DIGIT_BYTES[digits]);
        rest = tail;
        write_to(out, format_args!("{:0digits$}", get_uint(group, 0, group.len())));
    };
    let mut int_part = String::new();
    if int_digits % 9 != 0 {
        take(int_digits % 9, &mut int_part);
    }
    (0..int_digits / 9).for_each(|_| take(9, &mut int_part));
    let mut fraction = String::new();
    (0..scale / 9).for_each(|_| take(9, &mut fraction));
    if scale % 9 != 0 {
        take(scale % 9, &mut fraction);
    }
    let int_part = int_part.trim_start_matches('0');
    let zero = int_part.is_empty() && fraction.bytes().all(|b| b == b'0');
    let mut text = String::from(if negative && !zero { "-" } else { "" });
    text.push_str(if int_part.is_empty() { "0" } else { int_part });
    if scale > 0 {
        text.push('.');
        text.push_str(&fraction);
    }
    fill(zerofill, &text, out);
    Ok(())
}

/// Bytes of a group of 0 to 9 decimal digits.
const DIGIT_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

fn year(v: &[u8], out: &mut String) -> Result<()> {
    let &[y] = v else { return Err(bad("length of a YEAR", v)) };
    write_to(out, format_args!("{:04}", if y == 0 { 0 } else { 1900 + u32::from(y) }));
    Ok(())
}

fn date(v: &[u8], out: &mut String) -> Result<()> {
    if v.len() != 3 {
        return Err(bad("length of a DATE", v));
    }
    let d = signed(v)?;
    write_to(out, format_args!("{:04}-{:02}-{:02}", d >> 9, d >> 5 & 15, d & 31));
    Ok(())
}

/// `.` and the first `fsp` digits of a fraction of `bytes` bytes, two digits each.
fn fraction(value: u64, bytes: usize, fsp: usize, out: &mut String) {
    if fsp > 0 && bytes > 0 {
        let digits = format!("{value:0width$}", width = bytes * 2);
        out.push('.');
        out.push_str(&digits[..fsp.min(digits.len())]);
    }
}

fn time(v: &[u8], fsp: usize, out: &mut String) -> Result<()> {
    if !(3..=6).contains(&v.len()) {
        return Err(bad("length of a TIME", v));
    }
    let extra = v.len() - 3;
    let packed = signed(v)?;
    let (negative, packed) = (packed < 0, packed.unsigned_abs());
    let hms = packed >> (8 * extra);
    let sign = if negative { "-" } else { "" };
    write_to(out, format_args!("{sign}{:02}:{:02}:{:02}", hms >> 12 & 1023, hms >> 6 & 63, hms & 63));
    fraction(packed & ((1 << (8 * extra)) - 1), extra, fsp, out);
    Ok(())
}

fn datetime(v: &[u8], fsp: usize, out: &mut String) -> Result<()> {
    if !(5..=8).contains(&v.len()) {
        return Err(bad("length of a DATETIME", v));
    }
    let packed = signed(&v[..5])?.unsigned_abs();
    let (ymd, hms) = (packed >> 17, packed & 0x1_FFFF);
    let (ym, day) = (ymd >> 5, ymd & 31);
    write_to(out, format_args!("{:04}-{:02}-{day:02} ", ym / 13, ym % 13));
    write_to(out, format_args!("{:02}:{:02}:{:02}", hms >> 12, hms >> 6 & 63, hms & 63));
    fraction(uint(&v[5..])?, v.len() - 5, fsp, out);
    Ok(())
}

fn timestamp(v: &[u8], fsp: usize, out: &mut String) -> Result<()> {
    if !(4..=7).contains(&v.len()) {
        return Err(bad("length of a TIMESTAMP", v));
    }
    let (seconds, part) = (uint(&v[..4])?, uint(&v[4..])?);
    if seconds == 0 && part == 0 {
        out.push_str("0000-00-00 00:00:00");
    } else {
        let (year, month, day) = civil(seconds / 86_400);
        let s = seconds % 86_400;
        write_to(out, format_args!("{year:04}-{month:02}-{day:02} "));
        write_to(out, format_args!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60));
    }
    fraction(part, v.len() - 4, fsp, out);
    Ok(())
}

/// Year, month and day of a number of days since 1970-01-01 (Hinnant's algorithm on years that start in March).
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let m = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * m + 2) / 5 + 1, if m < 10 { m + 3 } else { m - 9 });
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

fn old_time(v: &[u8], out: &mut String) -> Result<()> {
    if v.len() != 3 {
        return Err(bad("length of a TIME", v));
    }
    let t = signed(v)?;
    let (sign, t) = (if t < 0 { "-" } else { "" }, t.unsigned_abs());
    write_to(out, format_args!("{sign}{:02}:{:02}:{:02}", t / 10_000, t / 100 % 100, t % 100));
    Ok(())
}

fn old_datetime(v: &[u8], out: &mut String) -> Result<()> {
    if v.len() != 8 {
        return Err(bad("length of a DATETIME", v));
    }
    let t = signed(v)?.unsigned_abs();
    let (d, t) = (t / 1_000_000, t % 1_000_000);
    write_to(out, format_args!("{:04}-{:02}-{:02} ", d / 10_000, d / 100 % 100, d % 100));
    write_to(out, format_args!("{:02}:{:02}:{:02}", t / 10_000, t / 100 % 100, t % 100));
    Ok(())
}

fn enumeration(v: &[u8], labels: &[String], out: &mut String) -> Result<()> {
    match uint(v)? {
        // The error value.
        0 => Ok(()),
        n => {
            let label = usize::try_from(n - 1).ok().and_then(|i| labels.get(i));
            out.push_str(label.ok_or_else(|| bad("number of an ENUM value", v))?);
            Ok(())
        }
    }
}

fn set(v: &[u8], labels: &[String], out: &mut String) -> Result<()> {
    let bits = uint(v)?;
    if labels.len() < 64 && bits >> labels.len() != 0 {
        return Err(bad("members of a SET value", v));
    }
    // A SET has 64 members at most; a broken `.frm` may name more.
    let members = labels.iter().take(64).enumerate().filter(|(i, _)| bits >> i & 1 != 0);
    for (n, (_, label)) in members.enumerate() {
        if n > 0 {
            out.push(',');
        }
        out.push_str(label);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
