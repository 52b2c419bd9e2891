//! CAST and CONVERT.

use super::Cx;
use crate::error::SqlResult;
use crate::memory;
use crate::number;
use crate::sql_mode::SqlMode;
use crate::sql_type::{BINARY, Kind, NOT_FIXED, SqlType};
use crate::temporal::print::{round_datetime, round_time};
use crate::value::Value;
use std::borrow::Cow;
use vaquita_format::charset::{Charset, convert, is_same_in};

/// Target of a CAST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// SIGNED.
    Signed,
    /// UNSIGNED.
    Unsigned,
    /// CHAR(n) in a collation.
    Char(Option<u32>, u16),
    /// BINARY(n).
    Binary(Option<u32>),
    /// DATE.
    Date,
    /// TIME(f).
    Time(u8),
    /// DATETIME(f).
    DateTime(u8),
    /// DECIMAL(p, s).
    Decimal(u32, u8),
    /// DOUBLE (of MySQL 8).
    Double,
    /// JSON (of MySQL 5.7).
    Json,
}

impl Target {
    /// Type of the result of casting this type.
    pub fn result_type(&self, from: &SqlType) -> SqlType {
        let chars = |n: &Option<u32>| n.unwrap_or_else(|| from.text_length());
        let time = |kind, fsp| SqlType { decimals: fsp, ..SqlType::new(kind) };
        let ty = match self {
            Target::Signed => SqlType::bigint(false),
            Target::Unsigned => SqlType::bigint(true),
            Target::Char(n, collation) => SqlType::varchar(chars(n), *collation),
            Target::Binary(n) => SqlType::varchar(chars(n), BINARY),
            Target::Date => time(Kind::Date, 0),
            Target::Time(fsp) => time(Kind::Time, *fsp),
            Target::DateTime(fsp) => time(Kind::DateTime, *fsp),
            Target::Decimal(precision, scale) => SqlType::decimal(*precision, *scale),
            Target::Double => SqlType::double(),
            Target::Json => SqlType::new(Kind::Json),
        };
        // Text need not be a date, whatever it is.
        let may_fail = matches!(self, Target::Date | Target::Time(_) | Target::DateTime(_));
        SqlType { nullable: from.nullable || may_fail, ..ty }
    }
}

impl SqlType {
    /// Most characters of the text form.
    pub fn text_length(&self) -> u32 {
        match self.kind {
            Kind::Float | Kind::Double if self.decimals == NOT_FIXED => self.length.max(12),
            Kind::Bit => self.length.div_ceil(8),
            _ => self.protocol_length(self.collation) / self.charset().map_or(1, |c| u32::from(c.mb_max_len)),
        }
    }
}

/// Casts a value of type `from`. `name` is the expression's text, for messages.
///
/// # Errors
/// 3140, 3144 for what is no JSON.
pub fn cast<'v>(
    v: &'v Value<'_>,
    from: &SqlType,
    target: &Target,
    name: &str,
    cx: &mut Cx<'_>,
) -> SqlResult<Value<'v>> {
    if v.is_null() {
        return Ok(Value::Null);
    }
    Ok(match *target {
        Target::Signed => Value::Int(to_signed(v, cx)),
        Target::Unsigned => Value::UInt(to_unsigned(v, cx)),
        Target::Char(chars, collation) => to_char(v, from, chars, collation, cx)?,
        Target::Binary(bytes) => to_binary(v, from, bytes, cx)?,
        Target::Date => in_calendar(cx, |cx| v.to_date(cx)).map_or(Value::Null, Value::Date),
        Target::Time(fsp) => v.to_time(cx).map_or(Value::Null, |t| Value::Time(round_time(t, fsp))),
        Target::DateTime(fsp) => {
            let d = in_calendar(cx, |cx| v.to_datetime(cx));
            d.and_then(|d| round_datetime(d, fsp)).map_or(Value::Null, Value::DateTime)
        }
        Target::Decimal(precision, scale) => {
            let (fitted, _, clipped) = v.to_decimal(cx).fit(precision, scale);
            if clipped {
                cx.warnings.warn(1264, format!("Out of range value for column '{name}' at row 1"));
            }
            Value::Decimal(fitted)
        }
        Target::Double => Value::Double(v.to_f64(cx)),
        Target::Json => Value::Json(Cow::Owned(crate::json::from_value(v, from)?)),
    })
}

/// A cast lets zero parts through, though not the zero date if `sql_mode` forbids it.
fn in_calendar<R>(cx: &mut Cx<'_>, f: impl FnOnce(&mut Cx<'_>) -> R) -> R {
    let date = cx.date;
    cx.date.mode = date.mode.without(SqlMode::NO_ZERO_IN_DATE);
    let r = f(cx);
    cx.date = date;
    r
}

fn to_signed(v: &Value<'_>, cx: &mut Cx<'_>) -> i64 {
    match v {
        Value::Bytes(text) => {
            let parsed = number::parse_int(text);
            let bits = v.to_i64(cx);
            if matches!(parsed.value, number::Integer::Unsigned(_)) && !parsed.overflow {
                cx.warnings.warn(
                    1105,
                    "Cast to signed converted positive out-of-range integer to it's negative complement",
                );
            }
            bits
        }
        Value::Decimal(d) => d.to_i64().unwrap_or_else(|clipped| {
            cx.truncated("DECIMAL", b"");
            clipped
        }),
        _ => v.to_i64(cx),
    }
}

fn to_unsigned(v: &Value<'_>, cx: &mut Cx<'_>) -> u64 {
    match v {
        Value::Bytes(text) => {
            let parsed = number::parse_int(text);
            let bits = v.to_u64(cx);
            if text.trim_ascii_start().starts_with(b"-") && parsed.used > 0 && !parsed.overflow {
                cx.warnings
                    .warn(1105, "Cast to unsigned converted negative integer to it's positive complement");
            }
            bits
        }
        Value::Decimal(d) => d.to_u64().unwrap_or_else(|clipped| {
            cx.truncated("DECIMAL", b"");
            clipped
        }),
        // Floats become signed integers first.
        _ => v.to_i64(cx) as u64,
    }
}

fn to_char<'v>(
    v: &'v Value<'_>,
    from: &SqlType,
    chars: Option<u32>,
    collation: u16,
    cx: &mut Cx<'_>,
) -> SqlResult<Value<'v>> {
    let mut text = v.to_text(from);
    let target = Charset::of_collation(collation).unwrap_or(Charset::BINARY);
    let is_text = matches!(v, Value::Bytes(_) | Value::Label { .. });
    let source = match v {
        Value::Bit { .. } => Charset::BINARY,
        _ if is_text => from.charset().unwrap_or(Charset::BINARY),
        Value::Json(_) => Charset::UTF8MB4,
        _ => Charset::LATIN1,
    };
    if source != target && !is_same_in(&text, source, target) {
        let mut out = memory::with_room(memory::converted_len_max(source, target, &text))?;
        convert(source, target, &text, &mut out);
        memory::give_back_rest(&mut out);
        text = Cow::Owned(out);
    }
    if let Some(n) = chars {
        let keep = target.prefix_len(&text, n as usize);
        if keep < text.len() {
            // The server names the bytes that are left.
            cx.truncated(&format!("CHAR({keep})"), &text);
            text = cut(text, keep);
        }
    }
    Ok(Value::Bytes(text))
}

fn to_binary<'v>(
    v: &'v Value<'_>,
    from: &SqlType,
    bytes: Option<u32>,
    cx: &mut Cx<'_>,
) -> SqlResult<Value<'v>> {
    let mut text = v.to_text(from);
    if let Some(n) = bytes {
        let n = n as usize;
        if n < text.len() {
            cx.truncated_binary(&format!("BINARY({n})"), &text);
            text = cut(text, n);
        } else if n > text.len() {
            let mut padded = memory::with_room(n)?;
            padded.extend_from_slice(&text);
            padded.resize(n, 0);
            text = Cow::Owned(padded);
        }
    }
    Ok(Value::Bytes(text))
}

fn cut(text: Cow<'_, [u8]>, keep: usize) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(b) => Cow::Borrowed(&b[..keep]),
        Cow::Owned(mut b) => {
            b.truncate(keep);
            Cow::Owned(b)
        }
    }
}
