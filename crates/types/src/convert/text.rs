//! Values as text.

use crate::number;
use crate::sql_type::{Kind, NOT_FIXED, SqlType};
use crate::temporal::print::{push_date, push_datetime, push_time};
use crate::value::Value;

/// Bytes as messages quote them: text as it is, bytes that are not UTF-8 as `\xFF`.
pub fn shown(value: &[u8]) -> String {
    let mut out = String::with_capacity(value.len());
    for chunk in value.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02X}"));
        }
    }
    out
}

/// Binary strings as messages quote them: what is no printable ASCII as `\xFF`.
pub fn shown_binary(value: &[u8]) -> String {
    let mut out = String::with_capacity(value.len());
    for &byte in value {
        match byte {
            0x20..0x7F => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02X}")),
        }
    }
    out
}

/// Digits of the second to print.
fn fsp(ty: &SqlType, micros: u32) -> u8 {
    match ty.kind {
        Kind::Time | Kind::DateTime | Kind::Timestamp => ty.decimals.min(6),
        _ if micros == 0 => 0,
        _ => 6,
    }
}

impl Value<'_> {
    /// Appends the text form that results and string functions see: digits, fraction and zero fill as the type says.
    /// Nothing for NULL. Numbers and times are ASCII.
    #[inline]
    pub fn push_text(&self, ty: &SqlType, out: &mut Vec<u8>) {
        match self {
            Value::Bytes(text) | Value::Label { text, .. } => out.extend_from_slice(text),
            &Value::Int(v) if !ty.zerofill => number::push_i64(v, out),
            &Value::UInt(v) if !ty.zerofill && ty.kind != Kind::Year => number::push_u64(v, out),
            _ => self.push_other_text(ty, out),
        }
    }

    fn push_other_text(&self, ty: &SqlType, out: &mut Vec<u8>) {
        let start = out.len();
        match self {
            &Value::Int(v) => number::push_i64(v, out),
            &Value::UInt(v) => number::push_u64(v, out),
            &Value::Float(v) => match fixed(ty) {
                Some(decimals) => number::push_fixed(v.into(), decimals, out),
                None => number::push_f32(v, out),
            },
            &Value::Double(v) => match fixed(ty) {
                Some(decimals) => number::push_fixed(v, decimals, out),
                None => number::push_f64(v, out),
            },
            Value::Decimal(v) if ty.kind == Kind::Decimal && v.scale() != ty.decimals => {
                v.with_scale(ty.decimals).unwrap_or(*v).push_text(out);
            }
            Value::Decimal(v) => v.push_text(out),
            &Value::Bit { value, bytes } => {
                vaquita_base::codec::push_uint(out, usize::from(bytes.min(8)), value);
            }
            &Value::Date(d) => push_date(d, out),
            &Value::Time(t) => push_time(t, fsp(ty, t.micros), out),
            &Value::DateTime(d) => push_datetime(d, fsp(ty, d.micros), out),
            Value::Json(doc) => {
                if let Err(refused) = crate::json::push_text(doc, out) {
                    out.truncate(start);
                    crate::memory::account::owe(refused);
                }
            }
            Value::Null | Value::Bytes(_) | Value::Label { .. } => return,
        }
        if ty.kind == Kind::Year {
            fill(start, 4, out);
        } else if ty.zerofill {
            // Of a DECIMAL the length is that of its digits; the point takes a place too.
            let point = u32::from(ty.kind == Kind::Decimal && ty.decimals > 0);
            fill(start, (ty.length + point) as usize, out);
        }
    }
}

/// Declared digits of a float.
fn fixed(ty: &SqlType) -> Option<u8> {
    let float = matches!(ty.kind, Kind::Float | Kind::Double);
    (float && ty.decimals < NOT_FIXED).then_some(ty.decimals)
}

/// Zeros before what was appended since `start`.
fn fill(start: usize, width: usize, out: &mut Vec<u8>) {
    let missing = width.saturating_sub(out.len() - start);
    if missing > 0 {
        out.splice(start..start, std::iter::repeat_n(b'0', missing));
    }
}
