//! Storing text, binary strings, ENUM and SET.

use super::Place;
use crate::error::SqlResult;
use crate::memory;
use crate::number;
use crate::sql_type::{BINARY, Kind, SqlType};
use crate::value::Value;
use std::borrow::Cow;
use vaquita_base::codec::push_uint;
use vaquita_format::charset::{Charset, bad_value, convert, is_same_in};
use vaquita_format::collation;

impl Place<'_, '_> {
    pub(super) fn text(&mut self, v: &Value<'_>, from: &SqlType, out: &mut Vec<u8>) -> SqlResult<()> {
        let column = self.column;
        let ty = &column.ty;
        let source = match v {
            Value::Bytes(text) => Cow::Borrowed(&**text),
            Value::Float(_) | Value::Double(_) => {
                let (text, lost) = self.float_text(v, from);
                if lost {
                    self.too_long()?;
                }
                Cow::Owned(text)
            }
            _ => v.to_text(from),
        };
        if ty.collation == BINARY || ty.kind == Kind::Geometry {
            let max = self.byte_limit();
            if source.len() > max {
                self.too_long()?;
            }
            let kept = Value::bytes(&source[..source.len().min(max)]);
            self.column.encode(&kept, self.cx.time_zone, out);
            return Ok(());
        }
        let charset = ty.charset().unwrap_or(Charset::LATIN1);
        let text = self.in_charset(&source, source_charset(v, from), charset)?;
        let keep = match ty.kind {
            // There are no more characters than bytes.
            _ if text.len() <= ty.length as usize && charset.mb_min_len == 1 => text.len(),
            Kind::Char | Kind::VarChar => charset.prefix_len(&text, ty.length as usize),
            _ if text.len() <= self.byte_limit() => text.len(),
            _ => charset.complete_len(&text[..self.byte_limit()]),
        };
        if keep < text.len() {
            let space = charset.space();
            let only_spaces = text[keep..].chunks(space.len()).all(|unit| unit == space);
            if !only_spaces {
                self.too_long()?;
            } else if ty.kind != Kind::Char {
                self.truncated_note();
            }
        }
        self.column.encode(&Value::bytes(&text[..keep]), self.cx.time_zone, out);
        Ok(())
    }

    /// Most bytes of a value.
    fn byte_limit(&self) -> usize {
        match self.column.ty.kind {
            Kind::TinyText => 0xFF,
            Kind::Text => 0xFFFF,
            Kind::MediumText => 0xFF_FFFF,
            Kind::Char | Kind::VarChar => self.column.ty.length as usize,
            _ => u32::MAX as usize,
        }
    }

    /// A float as text of as many digits as the column has room for, and whether digits before the point are lost.
    fn float_text(&self, v: &Value<'_>, from: &SqlType) -> (Vec<u8>, bool) {
        let full = v.to_text(from).into_owned();
        let room = match self.column.ty.kind {
            Kind::Char | Kind::VarChar => self.column.ty.length as usize,
            _ => return (full, false),
        };
        let (Value::Double(_) | Value::Float(_), true) = (v, full.len() > room) else {
            return (full, false);
        };
        let value = match v {
            Value::Double(v) => *v,
            Value::Float(v) => f64::from(*v),
            _ => return (full, false),
        };
        if value.abs() >= 1e-3 {
            let fixed = (0..room).rev().map(|decimals| format!("{value:.decimals$}"));
            if let Some(fixed) = fixed.into_iter().find(|s| s.len() <= room) {
                let zero = fixed.bytes().all(|b| matches!(b, b'-' | b'.' | b'0'));
                return (fixed.as_bytes()[usize::from(zero && value < 0.0)..].to_vec(), false);
            }
        }
        let shortest = format!("{value:e}");
        if shortest.len() <= room {
            return (shortest.into_bytes(), false);
        }
        let scientific = (0..16).rev().map(|digits| format!("{value:.digits$e}"));
        let text = scientific.into_iter().find(|s| s.len() <= room);
        // What is longer than the column is reported when it is cut.
        let lost = text.is_some() && value.fract() == 0.0 && value.abs() < 1e15;
        (text.unwrap_or_else(|| format!("{value:.0e}")).into_bytes(), lost)
    }

    /// Text in the column's character set, checked. What is malformed ends the text. Of another character set each malformed byte, and
    /// what the column's character set does not have, becomes `?`, and a character that lacks its end at the end of the text counts as
    /// what has no room.
    fn in_charset<'t>(&mut self, text: &'t [u8], from: Charset, to: Charset) -> SqlResult<Cow<'t, [u8]>> {
        if from == to || from == Charset::BINARY && to.mb_min_len == 1 {
            let Some(bad) = to.first_malformed(text) else { return Ok(Cow::Borrowed(text)) };
            self.malformed(&text[bad..])?;
            return Ok(Cow::Borrowed(&text[..bad]));
        }
        if is_same_in(text, from, to) {
            return Ok(Cow::Borrowed(text));
        }
        let mut converted = memory::with_room(memory::converted_len_max(from, to, text))?;
        let (mut at, mut bad, mut is_cut) = (0, None, false);
        while at < text.len() && !is_cut {
            let rest = &text[at..];
            let run = from.first_malformed(rest).unwrap_or(rest.len());
            let outcome = convert(from, to, &rest[..run], &mut converted);
            bad = bad.or(outcome.first.map(|first| at + first));
            at += run;
            is_cut = run < rest.len() && is_begun(from, &rest[run..]);
            if run < rest.len() && !is_cut {
                bad.get_or_insert(at);
                convert(Charset::ASCII, to, b"?", &mut converted);
                at += usize::from(from.mb_min_len);
            }
        }
        match bad {
            Some(at) => self.malformed(&text[at..])?,
            None if is_cut => self.too_long()?,
            None => {}
        }
        Ok(Cow::Owned(converted))
    }

    fn malformed(&mut self, bytes: &[u8]) -> SqlResult<()> {
        let message = self.incorrect_message("string", &bad_value(bytes));
        self.warn(1366, message)
    }

    /// A value as text to be looked up among labels, or as a number.
    fn label_text<'v>(&mut self, v: &'v Value<'_>, from: &SqlType) -> Option<Cow<'v, [u8]>> {
        let text = match v {
            Value::Bytes(text) | Value::Label { text, .. } => Cow::Borrowed(&**text),
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_) => {
                return None;
            }
            _ => v.to_text(from),
        };
        let (source, target) = (source_charset(v, from), self.column.ty.charset().unwrap_or(Charset::LATIN1));
        if source == target || source == Charset::BINARY || is_same_in(&text, source, target) {
            return Some(text);
        }
        let mut converted = Vec::new();
        convert(source, target, &text, &mut converted);
        Some(Cow::Owned(converted))
    }

    fn label_number(&self, text: &[u8]) -> Option<u64> {
        let id = self.column.ty.collation;
        let labels = self.column.ty.labels.as_deref().unwrap_or_default();
        labels.iter().position(|l| collation::compare(id, l, text).is_eq()).map(|i| i as u64)
    }

    pub(super) fn enumeration(
        &mut self,
        v: &Value<'_>,
        from: &SqlType,
        n: u8,
        out: &mut Vec<u8>,
    ) -> SqlResult<()> {
        let count = self.column.ty.labels.as_ref().map_or(0, |l| l.len()) as u64;
        let number = match self.label_text(v, from) {
            Some(text) => {
                let trimmed = text.trim_ascii_end();
                self.label_number(trimmed).map(|i| i + 1).or_else(|| clean_integer(trimmed))
            }
            None => Some(whole_part(v)),
        };
        // '0' as text is the error value, and no error; so is that of another ENUM.
        let zero = match v {
            Value::Bytes(_) => number == Some(0),
            Value::Label { number, .. } => from.kind == Kind::Enum && *number == 0,
            _ => false,
        };
        let number = number.filter(|n| (1..=count).contains(n));
        if number.is_none() && !zero {
            self.truncated()?;
        }
        push_uint(out, n.into(), number.unwrap_or(0));
        Ok(())
    }

    pub(super) fn set(&mut self, v: &Value<'_>, from: &SqlType, n: u8, out: &mut Vec<u8>) -> SqlResult<()> {
        let count = self.column.ty.labels.as_ref().map_or(0, |l| l.len().min(64)) as u32;
        let all = if count >= 64 { u64::MAX } else { (1 << count) - 1 };
        let (bits, flawed) = match self.label_text(v, from) {
            Some(text) => self.members(&text, all),
            None => {
                let bits = whole_part(v);
                (bits & all, bits & !all != 0)
            }
        };
        if flawed {
            self.truncated()?;
        }
        push_uint(out, n.into(), bits);
        Ok(())
    }

    /// The bits of members named in text, and whether there were others.
    fn members(&self, text: &[u8], all: u64) -> (u64, bool) {
        let charset = self.column.ty.charset().unwrap_or(Charset::LATIN1);
        let comma = self.column.ty.ascii(b",");
        let mut space = text.len();
        while space > 0 && text[..space].ends_with(charset.space()) {
            space -= charset.space().len();
        }
        let mut rest = &text[..space];
        let (mut bits, mut unknown) = (0, false);
        let mut more = !rest.is_empty();
        while more {
            let at = rest.windows(comma.len()).step_by(comma.len()).position(|w| w == &*comma);
            let member = at.map_or(rest, |i| &rest[..i * comma.len()]);
            match self.label_number(member) {
                Some(i) => bits |= 1 << i,
                None => unknown = true,
            }
            more = at.is_some();
            rest = at.map_or(&rest[rest.len()..], |i| &rest[(i + 1) * comma.len()..]);
        }
        if unknown && let Some(number) = clean_integer(text).filter(|n| *n <= all) {
            return (number, false);
        }
        (bits, unknown)
    }
}

/// Whether the first bytes of what is no character could be one if more followed. How many follow is counted before it is looked what
/// they are.
fn is_begun(charset: Charset, rest: &[u8]) -> bool {
    if charset == Charset::UTF8 || charset == Charset::UTF8MB4 {
        let wanted = match rest[0] {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 if charset == Charset::UTF8MB4 => 4,
            _ => 1,
        };
        return rest.len() < wanted;
    }
    if rest.len() < charset.mb_min_len.into() {
        return true;
    }
    // The second bytes that some character of each character set has.
    let ends: &[&[u8]] = &[&[0xA1], &[0x40], &[0x80], &[0x31], &[0xA1, 0xA1], &[0xDC, 0x00], &[0x00, 0xDC]];
    rest.len() < charset.mb_max_len.into()
        && ends.iter().any(|end| charset.char_len(&[rest, end].concat()).is_some_and(|len| len > rest.len()))
}

pub(super) fn source_charset(v: &Value<'_>, from: &SqlType) -> Charset {
    match v {
        Value::Bytes(_) | Value::Label { .. } => from.charset().unwrap_or(Charset::BINARY),
        Value::Bit { .. } => Charset::BINARY,
        Value::Json(_) => Charset::UTF8MB4,
        _ => Charset::LATIN1,
    }
}

fn clean_integer(text: &[u8]) -> Option<u64> {
    let parsed = number::parse_int(text);
    (parsed.clean && !parsed.overflow).then(|| parsed.value.bits())
}

/// The digits before the point; ENUM and SET do not round.
fn whole_part(v: &Value<'_>) -> u64 {
    match v {
        &Value::Int(v) => v as u64,
        &Value::UInt(v) => v,
        Value::Decimal(d) => d.truncate(0).ok().and_then(|d| d.to_i64().ok()).unwrap_or(-1) as u64,
        Value::Double(v) if v.abs() < 9.2e18 => *v as i64 as u64,
        Value::Double(_) => i64::MIN as u64,
        Value::Float(v) => *v as i64 as u64,
        _ => 0,
    }
}
