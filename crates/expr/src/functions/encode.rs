//! Text and bytes in other forms: HEX, ASCII, CHAR, base 64, WEIGHT_STRING.

use super::string::{text_charset, too_long};
use super::{Function, arg, evals, f};
use crate::build::{Collated, New, charset_of, int_type, text_type};
use crate::cast::charset_named;
use crate::node::{Data, EvalFn, Expr};
use crate::scope::CompileCx;
use vaquita_engine::text::charset::Charset;
use vaquita_engine::text::collation::Collation;
use vaquita_parser::ast::{Ident, WeightLevel};
use vaquita_types::memory::{no_memory, reserve, with_room};
use vaquita_types::{Kind, SqlResult, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("hex", 1, 1, hex),
    f("unhex", 1, 1, |cx, name, args| {
        let bytes = u64::from(args[0].bytes(cx)).div_ceil(2);
        let ty = vaquita_types::SqlType { decimals: 0, ..text_type(bytes, Collated::BINARY) };
        Ok(New::call(name, ty, args, eval_unhex).collated(Collated::BINARY).nullable().build(cx))
    }),
    f("ascii", 1, 1, |cx, name, args| Ok(New::call(name, int_type(3), args, eval_ascii).build(cx))),
    f("ord", 1, 1, |cx, name, args| Ok(New::call(name, int_type(21), args, eval_ord).build(cx))),
    f("char", 1, super::MANY, |cx, _, args| char(cx, args, None)),
    f("to_base64", 1, 1, to_base64),
    f("from_base64", 1, 1, |cx, name, args| {
        let bytes = u64::from(args[0].bytes(cx)) * 3 / 4;
        binary(cx, name, bytes, args, eval_from_base64, true)
    }),
    f("weight_string", 1, 1, |cx, _, mut args| weight_string(cx, args.remove(0), None, &[])),
];

/// The most that `max_allowed_packet` can be.
const PACKET_MAX: usize = 1 << 30;

/// A binary string.
pub(super) fn binary(
    cx: &mut CompileCx<'_>,
    name: &'static str,
    bytes: u64,
    args: Vec<Expr>,
    eval: EvalFn,
    nullable: bool,
) -> SqlResult<Expr> {
    let new = New::call(name, text_type(bytes, Collated::BINARY), args, eval).collated(Collated::BINARY);
    Ok(if nullable { new.nullable().build(cx) } else { new.build(cx) })
}

fn hex(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    let by = Collated::connection(cx);
    let chars = u64::from(args[0].bytes(cx)) * 2;
    let ty = vaquita_types::SqlType { decimals: 0, ..text_type(chars, by) };
    Ok(New::call(name, ty, args, eval_hex).collated(by).build(cx))
}

fn to_base64(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    let by = Collated::connection(cx);
    let encoded = u64::from(args[0].bytes(cx)).div_ceil(3) * 4;
    let chars = encoded + encoded.saturating_sub(1) / 76;
    Ok(New::call(name, text_type(chars, by), args, eval_to_base64).collated(by).nullable().build(cx))
}

/// `CHAR(n, … USING charset)`.
///
/// # Errors
/// 1115.
pub(crate) fn char(cx: &mut CompileCx<'_>, codes: Vec<Expr>, charset: Option<Ident<'_>>) -> SqlResult<Expr> {
    let collation = match charset {
        Some(name) => charset_named(name)?.default_collation(),
        None => 63,
    };
    let by = Collated { collation, ..Collated::BINARY };
    let chars = codes.len() as u64 * 4;
    let codes = codes.into_iter().map(Expr::into_number).collect();
    let new = New::call("char", text_type(chars, by), codes, eval_char).collated(by);
    Ok(if collation == 63 { new.build_not_null(cx) } else { new.nullable().build_not_null(cx) })
}

/// `WEIGHT_STRING(x [AS CHAR(n) | BINARY(n)])`.
///
/// # Errors
/// None.
pub(crate) fn weight_string(
    cx: &mut CompileCx<'_>,
    x: Expr,
    cast: Option<(bool, u32)>,
    levels: &[WeightLevel],
) -> SqlResult<Expr> {
    // The collations here have one level: flags of others have no meaning.
    let of_first = levels.iter().filter(|level| level.level <= 1);
    let flags = of_first
        .fold(0, |flags, level| flags | u64::from(level.descending) << 40 | u64::from(level.reverse) << 41);
    let bytes = u64::from(x.chars()) * 4;
    let cast = cast.map_or(0, |(binary, n)| u64::from(n) << 2 | u64::from(binary) << 1 | 1);
    let new = New::call("weight_string", text_type(bytes, Collated::BINARY), vec![x], eval_weight_string);
    Ok(new.collated(Collated::BINARY).data(Data::Number(cast | flags)).nullable().build(cx))
}

evals! {
    eval_hex(e, args, cx, row) {
        let v = args[0].eval(cx, row)?;
        let number = match v {
            Value::Null => return Ok(Value::Null),
            Value::Int(v) => Some(v as u64),
            Value::UInt(v) => Some(v),
            Value::Bit { value, .. } if args[0].ty().kind == Kind::Bit => Some(value),
            // Rounded half away from zero; what 64 bits do not hold has all of them set.
            Value::Double(_) | Value::Float(_) | Value::Decimal(_) => {
                let v = v.to_f64(&mut cx.convert()).round();
                let within = v > i64::MIN as f64 && v < u64::MAX as f64;
                Some(if within { v as i128 as u64 } else { u64::MAX })
            }
            _ => None,
        };
        if let Some(number) = number {
            return Ok(Value::owned(format!("{number:X}").into_bytes()));
        }
        let text = v.to_text(args[0].ty());
        // As MySQL: `max_allowed_packet` does not bound it. What no packet can hold is not made.
        if text.len() > PACKET_MAX / 2 {
            return Err(no_memory(text.len() * 2));
        }
        let mut out = with_room(text.len() * 2)?;
        push_digits(&text, b"0123456789ABCDEF", &mut out);
        Ok(Value::owned(out))
    }
    eval_unhex(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let digit = |b: u8| char::from(b).to_digit(16).map(|digit| digit as u8);
        let (odd, pairs) = text.split_at(text.len() % 2);
        let mut out = with_room(text.len().div_ceil(2))?;
        for chunk in odd.chunks(1).chain(pairs.chunks_exact(2)) {
            let byte = chunk.iter().try_fold(0, |byte, &b| Some(byte << 4 | digit(b)?));
            let Some(byte) = byte else { return Ok(Value::Null) };
            out.push(byte);
        }
        Ok(Value::owned(out))
    }
    eval_ascii(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        Ok(Value::Int(text.first().map_or(0, |&b| b.into())))
    }
    eval_ord(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        if text.is_empty() {
            return Ok(Value::Int(0));
        }
        let len = text_charset(&args[0]).char_len(&text).unwrap_or(1).min(text.len());
        Ok(Value::Int(text[..len].iter().fold(0, |v, &b| v << 8 | i64::from(b))))
    }
    eval_char(e, args, cx, row) {
        let mut out = Vec::new();
        let charset = charset_of(e.ty().collation);
        // Each number is as many whole units of the character set as it needs.
        let unit = usize::from(charset.mb_min_len.max(1));
        for a in args {
            let Some(code) = a.integer(cx, row)? else { continue };
            let code = code as u32;
            let bytes = code.to_le_bytes();
            let len = 4 - code.leading_zeros() as usize / 8;
            out.extend(bytes[..len.max(1).next_multiple_of(unit)].iter().rev());
        }
        if charset != Charset::BINARY && charset.complete_len(&out) != out.len() {
            let hex: String = out.iter().take(6).map(|b| format!("{b:02X}")).collect();
            cx.warn(1300, format!("Invalid {} character string: '{hex}'", charset.name));
            return Ok(Value::Null);
        }
        Ok(Value::owned(out))
    }
    eval_to_base64(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let digits = text.len().div_ceil(3) * 4;
        let bytes = digits + digits.saturating_sub(1) / 76;
        if too_long(cx, "to_base64", bytes) {
            return Ok(Value::Null);
        }
        let mut out = with_room(bytes)?;
        push_base64(&text, &mut out);
        Ok(Value::owned(out))
    }
    eval_from_base64(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let out = with_room(text.len() / 4 * 3)?;
        Ok(base64_decoded(&text, out).map_or(Value::Null, Value::owned))
    }
    eval_weight_string(e, args, cx, row) {
        if !args[0].is_text() && args[0].ty().kind != Kind::Null {
            return Ok(Value::Null);
        }
        let text = arg!(args[0].text(cx, row));
        let mut text = text.into_owned();
        let mut collation = Collation::of(args[0].ty().collation).unwrap_or(Collation::BINARY);
        let (flags, cast) = (e.number() >> 40, e.number() & ((1 << 40) - 1));
        if cast & 1 != 0 {
            let wanted = (cast >> 2) as usize;
            if too_long(cx, "weight_string", wanted) {
                return Ok(Value::Null);
            }
            let width = if cast & 2 != 0 { 1 } else { collation.charset().space().len() };
            let more = wanted.saturating_mul(width).saturating_sub(text.len());
            reserve(&mut text, more)?;
            if cast & 2 != 0 {
                collation = Collation::BINARY;
                text.resize(wanted, 0);
            } else {
                let charset = collation.charset();
                text.truncate(charset.prefix_len(&text, wanted));
                for _ in charset.char_count(&text)..wanted {
                    text.extend_from_slice(charset.space());
                }
            }
        }
        // Most letters weigh two bytes.
        let mut out = with_room(text.len().saturating_mul(2))?;
        collation.weight_string(&text, &mut out);
        // DESC, and REVERSE, of LEVEL.
        if flags & 1 != 0 {
            out.iter_mut().for_each(|byte| *byte = !*byte);
        }
        if flags & 2 != 0 {
            out.reverse();
        }
        if too_long(cx, "weight_string", out.len()) {
            return Ok(Value::Null);
        }
        Ok(Value::owned(out))
    }
}

/// Lower-case digits, as digests are printed.
pub(super) fn lower_hex_of(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() * 2);
    push_digits(bytes, b"0123456789abcdef", &mut out);
    out
}

fn push_digits(bytes: &[u8], digits: &[u8; 16], out: &mut Vec<u8>) {
    out.extend(bytes.iter().flat_map(|b| [digits[usize::from(b >> 4)], digits[usize::from(b & 15)]]));
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Lines of 76 characters.
fn push_base64(bytes: &[u8], out: &mut Vec<u8>) {
    for (i, chunk) in bytes.chunks(3).enumerate() {
        if i > 0 && i % 19 == 0 {
            out.push(b'\n');
        }
        let v = chunk.iter().fold(0u32, |v, b| v << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = v >> (18 - 6 * place) & 63;
            out.push(if place <= chunk.len() { BASE64[digit as usize] } else { b'=' });
        }
    }
}

fn base64_decoded(text: &[u8], mut out: Vec<u8>) -> Option<Vec<u8>> {
    let digits = || text.iter().copied().filter(|b| !b.is_ascii_whitespace());
    let count = digits().count();
    if !count.is_multiple_of(4) {
        return None;
    }
    let n = count / 4;
    let mut digits = digits();
    for i in 0..n {
        let chunk = [digits.next()?, digits.next()?, digits.next()?, digits.next()?];
        let padding = if i + 1 == n { chunk.iter().rev().take_while(|&&b| b == b'=').count() } else { 0 };
        if padding > 2 {
            return None;
        }
        let mut v = 0u32;
        for &b in &chunk[..4 - padding] {
            v = v << 6 | BASE64.iter().position(|&d| d == b)? as u32;
        }
        v <<= 6 * padding;
        out.extend_from_slice(&[(v >> 16) as u8, (v >> 8) as u8, v as u8][..3 - padding]);
    }
    Some(out)
}
