//! Text: joining, changing, measuring.

use super::{Function, MANY, arg, evals, f};
use crate::build::{Collated, New, charset_of, int_type, text_type};
use crate::locale::{Style, style};
use crate::node::{Data, Expr};
use crate::scope::CompileCx;
use crate::{EvalCx, env};
use vaquita_engine::text::charset::Charset;
use vaquita_engine::text::collation::aggregate::Purpose;
use vaquita_engine::text::collation::{Collation, find_bytes};
use vaquita_parser::ast::TrimSide;
use vaquita_types::memory::{append, filled, repeated, with_room};
use vaquita_types::{SqlResult, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("concat", 1, MANY, concat),
    f("concat_ws", 2, MANY, concat_ws),
    f("length", 1, 1, |cx, name, args| measure(cx, name, args, eval_length)),
    f("octet_length", 1, 1, |cx, _, args| measure(cx, "length", args, eval_length)),
    f("bit_length", 1, 1, |cx, name, args| measure(cx, name, args, eval_bit_length)),
    f("char_length", 1, 1, |cx, name, args| measure(cx, name, args, eval_char_length)),
    f("character_length", 1, 1, |cx, _, args| measure(cx, "char_length", args, eval_char_length)),
    f("lower", 1, 1, |cx, name, args| fold_case(cx, name, args, eval_lower)),
    f("lcase", 1, 1, |cx, _, args| fold_case(cx, "lower", args, eval_lower)),
    f("upper", 1, 1, |cx, name, args| fold_case(cx, name, args, eval_upper)),
    f("ucase", 1, 1, |cx, _, args| fold_case(cx, "upper", args, eval_upper)),
    f("ltrim", 1, 1, |cx, _, mut args| trim(cx, TrimSide::Leading, None, args.remove(0))),
    f("rtrim", 1, 1, |cx, _, mut args| trim(cx, TrimSide::Trailing, None, args.remove(0))),
    f("trim", 1, 1, |cx, _, mut args| trim(cx, TrimSide::Both, None, args.remove(0))),
    f("reverse", 1, 1, |cx, name, args| fold_case(cx, name, args, eval_reverse)),
    f("repeat", 2, 2, repeat),
    f("space", 1, 1, space),
    f("replace", 3, 3, replace),
    f("lpad", 3, 3, |cx, name, args| pad(cx, name, args, eval_lpad)),
    f("rpad", 3, 3, |cx, name, args| pad(cx, name, args, eval_rpad)),
    f("quote", 1, 1, quote),
    f("soundex", 1, 1, soundex),
    f("format", 2, 3, format),
];

/// Longest text a function may give; a longer one is NULL with warning 1301.
pub(super) fn too_long(cx: &mut EvalCx<'_>, name: &str, bytes: usize) -> bool {
    let limit = env::max_allowed_packet(cx.state);
    if bytes > limit {
        cx.warn(1301, format!("Result of {name}() was larger than max_allowed_packet ({limit}) - truncated"));
    }
    bytes > limit
}

fn total_chars(args: &[Expr]) -> u64 {
    args.iter().map(|e| u64::from(e.chars())).sum()
}

/// CONCAT(): binary if an argument is.
fn concat(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let by = cx.unify_all(name, &mut args, Purpose::Text)?;
    let chars = if by.collation == 63 {
        args.iter().map(|e| u64::from(e.bytes(cx))).sum()
    } else {
        total_chars(&args)
    };
    Ok(New::call(name, text_type(chars, by), args, eval_concat).collated(by).nullable_if_long().build(cx))
}

fn concat_ws(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let by = cx.unify_all(name, &mut args, Purpose::Text)?;
    let between = u64::from(args[0].chars()) * (args.len() as u64).saturating_sub(2);
    let chars = total_chars(&args[1..]) + between;
    let nullable = args[0].ty().nullable;
    let new = New::call(name, text_type(chars, by), args, eval_concat_ws).collated(by);
    Ok(if nullable { new.nullable().build_not_null(cx) } else { new.build_not_null(cx) })
}

fn measure(
    cx: &mut CompileCx<'_>,
    name: &'static str,
    args: Vec<Expr>,
    eval: crate::node::EvalFn,
) -> SqlResult<Expr> {
    Ok(New::call(name, int_type(10), args, eval).build(cx))
}

/// The one text argument with its collation; a number is text of the connection.
pub(super) fn one_text(cx: &mut CompileCx<'_>, e: &Expr) -> Collated {
    let by = e.collated(cx);
    let derivation = by.derivation.min(crate::Derivation::Coercible);
    if e.is_text() { by } else { Collated { derivation, ..by } }
}

fn fold_case(
    cx: &mut CompileCx<'_>,
    name: &'static str,
    args: Vec<Expr>,
    eval: crate::node::EvalFn,
) -> SqlResult<Expr> {
    let by = one_text(cx, &args[0]);
    let ty = text_type(args[0].chars().into(), by);
    Ok(New::call(name, ty, args, eval).collated(by).build(cx))
}

/// TRIM(), LTRIM(), RTRIM().
///
/// # Errors
/// Collations.
pub(crate) fn trim(
    cx: &mut CompileCx<'_>,
    side: TrimSide,
    what: Option<Expr>,
    from: Expr,
) -> SqlResult<Expr> {
    let (name, bits) = match side {
        TrimSide::Leading => ("ltrim", 1),
        TrimSide::Trailing => ("rtrim", 2),
        TrimSide::Both => ("trim", 3),
    };
    let chars = from.chars();
    let mut args = vec![from];
    args.extend(what);
    let by = if args.len() == 1 {
        one_text(cx, &args[0])
    } else {
        cx.unify_all(name, &mut args, Purpose::Compare)?
    };
    let new = New::call(name, text_type(chars.into(), by), args, eval_trim).collated(by);
    Ok(new.data(Data::Number(bits)).build(cx))
}

fn repeat(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    let by = one_text(cx, &args[0]);
    let times = match args[1].as_const() {
        Some(Value::Int(n)) => (*n).max(0) as u64,
        _ => u64::from(u32::MAX),
    };
    let chars = u64::from(args[0].chars()).saturating_mul(times);
    Ok(New::call(name, text_type(chars, by), args, eval_repeat).collated(by).nullable().build(cx))
}

fn space(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    let by = Collated::connection(cx);
    let chars = match args[0].as_const() {
        Some(Value::Int(n)) => (*n).max(0) as u64,
        _ => u64::from(u32::MAX),
    };
    Ok(New::call(name, text_type(chars, by), args, eval_space).collated(by).nullable().build(cx))
}

fn replace(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let by = cx.unify_all(name, &mut args, Purpose::Compare)?;
    let (text, from, to) = (args[0].chars(), args[1].chars().max(1), args[2].chars());
    let growth = if to > from { u64::from(text / from) * u64::from(to - from) } else { 0 };
    let chars = u64::from(text) + growth;
    Ok(New::call(name, text_type(chars, by), args, eval_replace).collated(by).build(cx))
}

fn pad(
    cx: &mut CompileCx<'_>,
    name: &'static str,
    mut args: Vec<Expr>,
    eval: crate::node::EvalFn,
) -> SqlResult<Expr> {
    let [text, _, with] = &mut args[..] else { return Err(crate::compare::wrong_columns(1)) };
    let by = cx.unify(name, &mut [text, with], Purpose::Compare)?;
    let chars = match args[1].as_const() {
        Some(Value::Int(n)) => (*n).max(0) as u64,
        _ => u64::from(u32::MAX),
    };
    Ok(New::call(name, text_type(chars, by), args, eval).collated(by).nullable().build(cx))
}

fn quote(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    let by = one_text(cx, &args[0]);
    let chars = u64::from(args[0].chars()) * 2 + 2;
    Ok(New::call(name, text_type(chars, by), args, eval_quote).collated(by).build_not_null(cx))
}

fn soundex(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    let by = one_text(cx, &args[0]);
    let chars = u64::from(args[0].chars()).max(4);
    Ok(New::call(name, text_type(chars, by), args, eval_soundex).collated(by).build(cx))
}

fn format(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    let by = Collated::connection(cx);
    let chars = u64::from(args[0].chars());
    let chars = chars + chars / 3 + 31 + 2;
    Ok(New::call(name, text_type(chars, by), args, eval_format).collated(by).build(cx))
}

impl New {
    /// The result may be longer than a packet, which makes it NULL; the type does not tell.
    fn nullable_if_long(self) -> New {
        self
    }
}

evals! {
    eval_concat(e, args, cx, row) {
        if let [only] = args {
            return Ok(Value::Bytes(arg!(only.text(cx, row))));
        }
        let mut out = Vec::new();
        for a in args {
            let text = arg!(a.text(cx, row));
            if too_long(cx, "concat", out.len() + text.len()) {
                return Ok(Value::Null);
            }
            append(&mut out, &text)?;
        }
        Ok(Value::owned(out))
    }
    eval_concat_ws(e, args, cx, row) {
        let separator = arg!(args[0].text(cx, row));
        let mut out = Vec::new();
        let mut first = true;
        for a in &args[1..] {
            let Some(text) = a.text(cx, row)? else { continue };
            if too_long(cx, "concat_ws", out.len() + separator.len() + text.len()) {
                return Ok(Value::Null);
            }
            if !first {
                append(&mut out, &separator)?;
            }
            first = false;
            append(&mut out, &text)?;
        }
        Ok(Value::owned(out))
    }
    eval_length(e, args, cx, row) {
        Ok(Value::Int(arg!(args[0].text(cx, row)).len() as i64))
    }
    eval_bit_length(e, args, cx, row) {
        Ok(Value::Int(arg!(args[0].text(cx, row)).len() as i64 * 8))
    }
    eval_char_length(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        Ok(Value::Int(text_charset(&args[0]).char_count(&text) as i64))
    }
    eval_lower(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let mut out = with_room(text.len())?;
        folding(&args[0]).lower(&text, &mut out);
        Ok(Value::owned(out))
    }
    eval_upper(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let mut out = with_room(text.len())?;
        folding(&args[0]).upper(&text, &mut out);
        Ok(Value::owned(out))
    }
    eval_reverse(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let charset = text_charset(&args[0]);
        let mut out = filled(0, text.len())?;
        let (mut rest, mut end) = (&text[..], text.len());
        while !rest.is_empty() {
            let len = charset.char_len(rest).unwrap_or(1).min(rest.len());
            out[end - len..end].copy_from_slice(&rest[..len]);
            end -= len;
            rest = &rest[len..];
        }
        Ok(Value::owned(out))
    }
    eval_trim(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let charset = charset_of(e.ty().collation);
        let what = match args.get(1) {
            Some(what) => arg!(what.text(cx, row)),
            None => charset.space().into(),
        };
        let (from, to) = trimmed(&text, &what, charset, e.number());
        if from == 0 && to == text.len() {
            return Ok(Value::Bytes(text));
        }
        Ok(super::substring::part(text, from, to))
    }
    eval_repeat(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let times = arg!(args[1].integer(cx, row)).clamp(0, i128::from(u32::MAX)) as usize;
        if too_long(cx, "repeat", text.len().saturating_mul(times)) {
            return Ok(Value::Null);
        }
        Ok(Value::owned(repeated(&text, times)?))
    }
    eval_space(e, args, cx, row) {
        let times = arg!(args[0].integer(cx, row)).clamp(0, i128::from(u32::MAX)) as usize;
        if too_long(cx, "space", times) {
            return Ok(Value::Null);
        }
        Ok(Value::owned(filled(b' ', times)?))
    }
    eval_replace(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let from = arg!(args[1].text(cx, row));
        let to = arg!(args[2].text(cx, row));
        if from.is_empty() {
            return Ok(Value::Bytes(text));
        }
        let mut out = Vec::new();
        let charset = charset_of(e.ty().collation);
        let mut rest = &text[..];
        let mut found = false;
        while let Some(at) = next_whole(rest, &from, charset, cx)? {
            found = true;
            if too_long(cx, "replace", out.len() + at + to.len()) {
                return Ok(Value::Null);
            }
            append(&mut out, &rest[..at])?;
            append(&mut out, &to)?;
            rest = &rest[at + from.len()..];
            cx.state.worked(at)?;
        }
        if !found {
            return Ok(Value::Bytes(text));
        }
        if too_long(cx, "replace", out.len() + rest.len()) {
            return Ok(Value::Null);
        }
        append(&mut out, rest)?;
        Ok(Value::owned(out))
    }
    eval_lpad(e, args, cx, row) {
        let Some((text, padding)) = padding("lpad", args, cx, row)? else { return Ok(Value::Null) };
        let mut out = with_room(text.len() + padding.len())?;
        out.extend_from_slice(&padding);
        out.extend_from_slice(&text);
        Ok(Value::owned(out))
    }
    eval_rpad(e, args, cx, row) {
        let Some((mut text, padding)) = padding("rpad", args, cx, row)? else { return Ok(Value::Null) };
        append(&mut text, &padding)?;
        Ok(Value::owned(text))
    }
    eval_quote(e, args, cx, row) {
        let Some(text) = args[0].text(cx, row)? else { return Ok(Value::bytes(b"NULL")) };
        let quoted = text.iter().filter(|b| matches!(b, 0 | 0x1A | b'\'' | b'\\')).count();
        let mut out = with_room(text.len() + quoted + 2)?;
        out.push(b'\'');
        for &b in text.iter() {
            match b {
                0 => out.extend_from_slice(b"\\0"),
                0x1A => out.extend_from_slice(b"\\Z"),
                b'\'' | b'\\' => out.extend_from_slice(&[b'\\', b]),
                _ => out.push(b),
            }
        }
        out.push(b'\'');
        Ok(Value::owned(out))
    }
    eval_soundex(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        Ok(Value::owned(soundex_of(&text, folding(&args[0]))))
    }
    eval_format(e, args, cx, row) {
        let digits = arg!(args[1].integer(cx, row)).clamp(0, 30) as u8;
        let kind = crate::arith::numeric(args[0].ty());
        let text = if kind == crate::arith::Numeric::Double {
            let v = arg!(args[0].double(cx, row));
            let v = super::math::round_double(v, i32::from(digits), false);
            let mut out = Vec::new();
            vaquita_types::number::push_fixed(v, digits, &mut out);
            out
        } else {
            let v = arg!(args[0].decimal(cx, row));
            let mut out = Vec::new();
            let v = v.round(digits.into()).unwrap_or(v);
            v.push_text(&mut out);
            // As many digits as asked for, whatever the number has.
            if v.scale() < digits {
                if v.scale() == 0 {
                    out.push(b'.');
                }
                out.resize(out.len() + usize::from(digits - v.scale()), b'0');
            }
            out
        };
        if let Some(locale) = args.get(2) {
            match locale.text(cx, row)? {
                Some(name) if &*name == b"en_US" => {}
                other => {
                    match other.as_deref().and_then(style) {
                        Some(style) => return Ok(Value::owned(grouped(&text, style))),
                        None => {
                            let name = other.as_deref().map_or("NULL".into(), String::from_utf8_lossy);
                            cx.warn(1649, format!("Unknown locale: '{name}'"));
                        }
                    }
                }
            }
        }
        Ok(Value::owned(grouped(&text, Style { separator: Some(b','), point: b'.', pairs: false })))
    }
}

/// The character set that an argument's text is in.
pub(super) fn text_charset(e: &Expr) -> Charset {
    if e.is_text() { charset_of(e.ty().collation) } else { Charset::UTF8 }
}

/// The collation whose letters an argument's text is made of.
fn folding(e: &Expr) -> Collation {
    let utf8 = 33;
    let id = if e.is_text() { e.ty().collation } else { utf8 };
    Collation::of(id).unwrap_or(Collation::BINARY)
}

/// What is left after cutting: side 1 the start, 2 the end.
fn trimmed(text: &[u8], what: &[u8], charset: Charset, sides: u64) -> (usize, usize) {
    let (mut from, mut to) = (0, text.len());
    if what.is_empty() {
        return (from, to);
    }
    if sides & 1 != 0 {
        while text[from..to].starts_with(what) {
            from += what.len();
        }
    }
    if sides & 2 != 0 {
        if charset.mb_max_len > 1 && !charset.is_unicode() {
            // The last bytes may be the second half of a character: look at whole characters from the start.
            while to - from >= what.len()
                && text[..to].ends_with(what)
                && starts_char(&text[from..], to - from - what.len(), charset)
            {
                to -= what.len();
            }
        } else {
            while text[from..to].ends_with(what) {
                to -= what.len();
            }
        }
    }
    (from, to)
}

/// Whether a character starts at that byte.
fn starts_char(text: &[u8], at: usize, charset: Charset) -> bool {
    let mut now = 0;
    while now < at {
        now += charset.char_len(&text[now..]).unwrap_or(1);
    }
    now == at
}

/// The next place of `what` that starts at a character.
///
/// # Errors
/// The statement is to end.
pub(super) fn next_whole(
    text: &[u8],
    what: &[u8],
    charset: Charset,
    cx: &mut EvalCx<'_>,
) -> SqlResult<Option<usize>> {
    if charset.mb_max_len == 1 || charset.is_unicode() && charset.is_ascii_based() {
        return Ok(find_bytes(text, what));
    }
    let collation = Collation::of(charset.binary_collation()).unwrap_or(Collation::BINARY);
    collation.find_while(text, what, 0, &mut |bytes| cx.state.worked(bytes))
}

/// Text cut to the wanted length, and what is missing to it.
fn padding(
    name: &str,
    args: &[Expr],
    cx: &mut EvalCx<'_>,
    row: &crate::Row<'_>,
) -> SqlResult<Option<(Vec<u8>, Vec<u8>)>> {
    let Some(text) = args[0].text(cx, row)? else { return Ok(None) };
    let Some(wanted) = args[1].integer(cx, row)? else { return Ok(None) };
    let Some(with) = args[2].text(cx, row)? else { return Ok(None) };
    let charset = text_charset(&args[0]);
    if wanted < 0 {
        return Ok(None);
    }
    let wanted = wanted.min(i128::from(u32::MAX)) as usize;
    let have = charset.char_count(&text);
    if wanted <= have {
        return Ok(Some((text[..charset.prefix_len(&text, wanted)].to_vec(), Vec::new())));
    }
    let unit = charset.char_count(&with);
    let missing = wanted - have;
    if unit == 0 {
        return Ok(None);
    }
    let bytes = text.len().saturating_add((missing / unit + 1).saturating_mul(with.len()));
    if missing.saturating_mul(charset.mb_max_len.into()) > env::max_allowed_packet(cx.state)
        && too_long(cx, name, bytes)
    {
        return Ok(None);
    }
    let mut padding = repeated(&with, missing / unit)?;
    append(&mut padding, &with[..charset.prefix_len(&with, missing % unit)])?;
    Ok(Some((text.into_owned(), padding)))
}

/// Four characters or more: the first letter, then digits for groups of consonants.
fn soundex_of(text: &[u8], collation: Collation) -> Vec<u8> {
    let charset = collation.charset();
    const DIGITS: &[u8; 26] = b"01230120022455012623010202";
    let mut out = Vec::new();
    let mut last = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let len = charset.char_len(rest).unwrap_or(1).min(rest.len());
        let (c, next) = rest.split_at(len);
        rest = next;
        let letter = (len == 1 && c[0].is_ascii_alphabetic()).then(|| c[0].to_ascii_uppercase());
        let is_letter = letter.is_some() || charset != Charset::BINARY && charset.code(c).0 >= 0xC0;
        if !is_letter {
            continue;
        }
        let digit = letter.map_or(b'0', |l| DIGITS[usize::from(l - b'A')]);
        if out.is_empty() {
            match letter {
                Some(letter) => out.push(letter),
                None => out.extend_from_slice(c),
            }
            last = digit;
        } else if digit != b'0' && digit != last {
            out.push(digit);
            last = digit;
        }
    }
    if !out.is_empty() {
        let missing = 4usize.saturating_sub(charset.char_count(&out));
        out.resize(out.len() + missing, b'0');
    }
    out
}

/// Digits in groups of three.
fn grouped(text: &[u8], style: Style) -> Vec<u8> {
    let (sign, digits) = match text.split_first() {
        Some((b'-', rest)) => (&text[..1], rest),
        _ => (&text[..0], text),
    };
    let whole = digits.iter().position(|&b| b == b'.').unwrap_or(digits.len());
    let begins = |left: usize| match style.pairs {
        true => left >= 3 && (left - 3).is_multiple_of(2),
        false => left.is_multiple_of(3),
    };
    let mut out = sign.to_vec();
    for (i, &b) in digits[..whole].iter().enumerate() {
        if i > 0 && begins(whole - i) {
            out.extend(style.separator);
        }
        out.push(b);
    }
    if whole < digits.len() {
        out.push(style.point);
        out.extend_from_slice(&digits[whole + 1..]);
    }
    out
}
