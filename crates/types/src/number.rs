//! Numbers as text, and text as numbers.

use std::io::Write as _;

/// Appends an integer.
#[inline]
pub fn push_i64(v: i64, out: &mut Vec<u8>) {
    if v < 0 {
        out.push(b'-');
    }
    push_u64(v.unsigned_abs(), out);
}

/// `00` to `99`.
static PAIRS: [[u8; 2]; 100] = {
    let mut table = [[b'0'; 2]; 100];
    let mut i = 0;
    while i < 100 {
        table[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
        i += 1;
    }
    table
};

/// Appends an integer.
#[inline]
pub fn push_u64(mut v: u64, out: &mut Vec<u8>) {
    let mut buffer = [0u8; 20];
    let mut at = buffer.len();
    while v >= 100 {
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&PAIRS[(v % 100) as usize]);
        v /= 100;
    }
    if v >= 10 {
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&PAIRS[v as usize]);
    } else {
        at -= 1;
        buffer[at] = b'0' + v as u8;
    }
    out.extend_from_slice(&buffer[at..]);
}

/// Appends two digits; `v` is below 100.
#[inline]
pub(crate) fn push_pair(v: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&PAIRS[(v % 100) as usize]);
}

/// Appends `text` with zeros before it up to `width`.
pub fn push_zerofill(text: &[u8], width: u32, out: &mut Vec<u8>) {
    out.resize(out.len() + (width as usize).saturating_sub(text.len()), b'0');
    out.extend_from_slice(text);
}

/// Appends a DOUBLE: the shortest digits that read back the same; with an exponent below 1e-15, and from 1e15 unless
/// there are digits behind the point.
pub fn push_f64(v: f64, out: &mut Vec<u8>) {
    if v.fract() == 0.0 && v.abs() < 1e15 && (v != 0.0 || v.is_sign_positive()) {
        return push_i64(v as i64, out);
    }
    if v == 0.0 || !v.is_finite() {
        // Minus zero keeps its sign. NaN and infinity cannot come about in SQL; they show as themselves.
        append(out, format_args!("{v}"));
        return;
    }
    let shortest = Scientific::of(format_args!("{v:e}"));
    // Two shortest texts may be equally near, as for 2^-14 * 30295177: MySQL takes the even one, as rounding to a number of
    // digits does, `{v:e}` the larger.
    if shortest.len >= 15 && may_be_midway(v, &shortest) {
        let even = Scientific::of(format_args!("{v:.*e}", shortest.len - 1));
        if even.digits != shortest.digits && even.value() == v.abs() {
            return even.push(v < 0.0, out);
        }
    }
    shortest.push(v < 0.0, out);
}

/// Whether a number may lie midway between two of as many digits as its shortest text has: then it has one digit more itself. A fraction
/// has as many behind the point as its lowest bit is places below it.
fn may_be_midway(v: f64, shortest: &Scientific) -> bool {
    let (exponent, fraction) = (v.to_bits() >> 52 & 0x7FF, v.to_bits() & ((1 << 52) - 1));
    let (bits, unit) = match exponent {
        0 => (fraction, -1074),
        _ => (fraction | 1 << 52, exponent as i32 - 1075),
    };
    let lowest = unit + bits.trailing_zeros() as i32;
    lowest >= 0 || -lowest == shortest.len as i32 - shortest.exponent
}

/// Appends a FLOAT: six digits.
pub fn push_f32(v: f32, out: &mut Vec<u8>) {
    if v == 0.0 || !v.is_finite() {
        append(out, format_args!("{v}"));
        return;
    }
    Scientific::of(format_args!("{v:.5e}")).push(v < 0.0, out);
}

/// Appends a FLOAT(M,D) or DOUBLE(M,D): so many digits after the point.
///
/// Digits beyond those that tell the number from its neighbours are zeros.
pub fn push_fixed(v: f64, decimals: u8, out: &mut Vec<u8>) {
    let decimals = usize::from(decimals);
    let start = out.len();
    append(out, format_args!("{v}"));
    let point = out[start..].iter().position(|&b| b == b'.');
    let digits = point.map_or(0, |at| out.len() - start - at - 1);
    if digits > decimals {
        out.truncate(start);
        append(out, format_args!("{v:.decimals$}"));
    } else if decimals > 0 && v.is_finite() {
        if point.is_none() {
            out.push(b'.');
        }
        out.resize(out.len() + decimals - digits, b'0');
    }
}

fn append(out: &mut Vec<u8>, args: std::fmt::Arguments<'_>) {
    // Writing to memory does not fail.
    let _ = out.write_fmt(args);
}

/// Digits and exponent of a number that is not zero.
struct Scientific {
    digits: [u8; 17],
    /// Digits without the zeros at the end.
    len: usize,
    /// Of the first digit.
    exponent: i32,
}

impl Scientific {
    /// From `[-]d.ddde[-]dd`.
    fn of(args: std::fmt::Arguments<'_>) -> Scientific {
        let mut buffer = [0u8; 40];
        let mut rest = &mut buffer[..];
        let _ = rest.write_fmt(args);
        let used = 40 - rest.len();
        let mut s = Scientific { digits: [0; 17], len: 0, exponent: 0 };
        let mut text = buffer[..used].iter();
        for &b in text.by_ref().take_while(|&&b| b != b'e').filter(|b| b.is_ascii_digit()) {
            if s.len < s.digits.len() {
                s.digits[s.len] = b;
                s.len += 1;
            }
        }
        let exponent = text.as_slice();
        let negative = exponent.first() == Some(&b'-');
        let value =
            exponent.iter().filter(|b| b.is_ascii_digit()).fold(0, |v, b| v * 10 + i32::from(b - b'0'));
        s.exponent = if negative { -value } else { value };
        while s.len > 1 && s.digits[s.len - 1] == b'0' {
            s.len -= 1;
            s.digits[s.len] = 0;
        }
        s
    }

    fn value(&self) -> f64 {
        let mut text = self.digits[..self.len].to_vec();
        append(&mut text, format_args!("e{}", self.exponent - (self.len as i32 - 1)));
        std::str::from_utf8(&text).ok().and_then(|t| t.parse().ok()).unwrap_or(f64::NAN)
    }

    fn push(&self, negative: bool, out: &mut Vec<u8>) {
        if negative {
            out.push(b'-');
        }
        let digits = &self.digits[..self.len];
        let ints = self.exponent + 1;
        let has_fraction = ints > 0 && self.len as i32 > ints;
        if !(-15..15).contains(&self.exponent) && !has_fraction {
            out.push(digits[0]);
            if digits.len() > 1 {
                out.push(b'.');
                out.extend_from_slice(&digits[1..]);
            }
            out.push(b'e');
            push_i64(self.exponent.into(), out);
        } else if ints <= 0 {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + ints.unsigned_abs() as usize, b'0');
            out.extend_from_slice(digits);
        } else if has_fraction {
            let (whole, fraction) = digits.split_at(ints as usize);
            out.extend_from_slice(whole);
            out.push(b'.');
            out.extend_from_slice(fraction);
        } else {
            out.extend_from_slice(digits);
            out.resize(out.len() + ints as usize - digits.len(), b'0');
        }
    }
}

/// A number at the start of text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leading<T> {
    /// The number, 0 if there is none; clipped if it is out of range.
    pub value: T,
    /// Bytes that belong to it, leading spaces among them; 0 if there is none.
    pub used: usize,
    /// It was out of range.
    pub overflow: bool,
    /// Nothing but spaces follows, and there was a number.
    pub clean: bool,
}

/// An integer of either signedness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integer {
    /// Negative, or any that fits.
    Signed(i64),
    /// Above `i64::MAX`.
    Unsigned(u64),
}

impl Integer {
    /// Clipped to the signed range.
    pub fn signed(self) -> i64 {
        match self {
            Integer::Signed(v) => v,
            Integer::Unsigned(_) => i64::MAX,
        }
    }

    /// The bits: negative ones wrap around.
    pub fn bits(self) -> u64 {
        match self {
            Integer::Signed(v) => v as u64,
            Integer::Unsigned(v) => v,
        }
    }
}

/// What counts as white space before and after numbers.
#[inline]
pub(crate) fn is_space(b: u8) -> bool {
    matches!(b, b' ' | 9..=13)
}

/// Whether there is nothing but white space.
#[inline]
pub(crate) fn is_blank(text: &[u8]) -> bool {
    text.iter().all(|&b| is_space(b))
}

/// The DOUBLE at the start of text.
pub fn parse_f64(text: &[u8]) -> Leading<f64> {
    let start = text.iter().take_while(|b| is_space(**b)).count();
    let count = |from: usize| text[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = start + usize::from(matches!(text.get(start), Some(b'+' | b'-')));
    let mut digits = count(at);
    at += digits;
    if text.get(at) == Some(&b'.') {
        let fraction = count(at + 1);
        if digits + fraction > 0 {
            at += 1 + fraction;
        }
        digits += fraction;
    }
    if digits == 0 {
        return Leading { value: 0.0, used: 0, overflow: false, clean: false };
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let exponent = text.get(at + 1 + sign..).map_or(0, |_| count(at + 1 + sign));
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    // The bytes are ASCII: they have been looked at one by one.
    let value: f64 = std::str::from_utf8(&text[start..at]).ok().and_then(|t| t.parse().ok()).unwrap_or(0.0);
    let overflow = value.is_infinite();
    let value = if overflow { f64::MAX.copysign(value) } else { value };
    Leading { value, used: at, overflow, clean: is_blank(&text[at..]) }
}

/// The integer at the start of text: spaces, sign, digits.
#[inline]
pub fn parse_int(text: &[u8]) -> Leading<Integer> {
    let start = text.iter().take_while(|b| is_space(**b)).count();
    let negative = text.get(start) == Some(&b'-');
    let digits_at = start + usize::from(matches!(text.get(start), Some(b'+' | b'-')));
    let (mut v, mut at, mut overflow) = (0u64, digits_at, false);
    while let Some(digit) = text.get(at).filter(|b| b.is_ascii_digit()).map(|b| u64::from(b - b'0')) {
        match v.checked_mul(10).and_then(|v| v.checked_add(digit)) {
            Some(next) => v = next,
            None => overflow = true,
        }
        at += 1;
    }
    if at == digits_at {
        return Leading { value: Integer::Signed(0), used: 0, overflow: false, clean: false };
    }
    let value = if negative {
        let clipped = overflow || v > i64::MIN.unsigned_abs();
        overflow = clipped;
        Integer::Signed(if clipped { i64::MIN } else { (v as i64).wrapping_neg() })
    } else {
        match i64::try_from(v) {
            Ok(v) if !overflow => Integer::Signed(v),
            _ => Integer::Unsigned(if overflow { u64::MAX } else { v }),
        }
    };
    Leading { value, used: at, overflow, clean: is_blank(&text[at..]) }
}

#[cfg(test)]
mod tests;
