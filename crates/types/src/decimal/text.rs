//! Decimals as text and floats.

use super::{Decimal, MAX_PRECISION, Overflow, wide};
use crate::number;

/// What text begins with.
#[derive(Debug, Clone, Copy)]
pub struct Parsed {
    /// The number; of text that begins with none, zero. It may have more digits after the point than a column.
    pub value: Decimal,
    /// Bytes of the text that belong to it, leading spaces among them; 0 if it begins with no number.
    pub used: usize,
    /// It had more digits than fit: `value` is the greatest or least number.
    pub overflow: bool,
}

/// Digits after the point that are kept beside `ints` digits before it.
fn room(ints: u32) -> u32 {
    (super::GROUPS.saturating_sub(ints.div_ceil(9)) * 9).min((wide::DIGITS - 1).saturating_sub(ints))
}

/// Digits gathered into one number, a word at a time.
struct Gatherer {
    words: wide::U256,
    chunk: u64,
    chunk_digits: usize,
}

impl Gatherer {
    fn push(&mut self, digit: u8) {
        self.chunk = self.chunk * 10 + u64::from(digit - b'0');
        self.chunk_digits += 1;
        if self.chunk_digits == 19 {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let unit = wide::POW10[self.chunk_digits];
        // The caller counts digits: it fits.
        self.words = wide::mul_add_small(&self.words, unit, self.chunk).unwrap_or([u64::MAX; 4]);
        (self.chunk, self.chunk_digits) = (0, 0);
    }
}

impl Decimal {
    /// Reads the number at the start of text: spaces, sign, digits, point, digits, exponent. Digits for which there is no
    /// room are cut.
    pub fn parse(text: &[u8]) -> Parsed {
        let none = Parsed { value: Decimal::ZERO, used: 0, overflow: false };
        let start = text.iter().take_while(|b| number::is_space(**b)).count();
        let sign = usize::from(matches!(text.get(start), Some(b'+' | b'-')));
        let negative = sign == 1 && text[start] == b'-';
        let count = |from: usize| text[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let ints_at = start + sign;
        let int_len = count(ints_at);
        let mut at = ints_at + int_len;
        let (mut fracs_at, mut frac_len) = (at, 0);
        if text.get(at) == Some(&b'.') {
            (fracs_at, frac_len) = (at + 1, count(at + 1));
            at = fracs_at + frac_len;
        }
        if int_len + frac_len == 0 {
            return none;
        }
        let (exponent, exponent_len) = parse_exponent(&text[at..]);
        let (ints, fracs) = (&text[ints_at..ints_at + int_len], &text[fracs_at..fracs_at + frac_len]);
        let mut parsed = from_digits(ints, fracs, exponent, negative);
        parsed.used = at + exponent_len;
        parsed
    }

    /// The number that a DOUBLE prints as.
    ///
    /// # Errors
    /// [`Overflow`] if it has too many digits, or is none.
    pub fn from_f64(v: f64) -> Result<Decimal, Overflow> {
        if v == 0.0 {
            return Ok(Decimal::ZERO);
        }
        if !v.is_finite() {
            return Err(Overflow);
        }
        let mut text = Vec::with_capacity(32);
        number::push_f64(v, &mut text);
        let parsed = Decimal::parse(&text);
        if parsed.overflow { Err(Overflow) } else { Ok(parsed.value) }
    }

    /// The nearest DOUBLE.
    pub fn to_f64(&self) -> f64 {
        /// Powers of ten that a DOUBLE holds exactly: a quotient of two exact numbers is rounded once.
        const EXACT: u8 = 15;
        let magnitude = if self.words[0] < 1 << 53 && self.words[1..] == [0; 3] && self.scale <= EXACT {
            self.words[0] as f64 / wide::POW10[usize::from(self.scale)] as f64
        } else {
            let mut text = Vec::with_capacity(96);
            self.abs().push_text(&mut text);
            std::str::from_utf8(&text).ok().and_then(|t| t.parse().ok()).unwrap_or(0.0)
        };
        if self.negative { -magnitude } else { magnitude }
    }

    /// Appends it as text with its digits after the point.
    pub fn push_text(&self, out: &mut Vec<u8>) {
        if self.negative {
            out.push(b'-');
        }
        let scale = usize::from(self.scale);
        let mut buffer = [b'0'; 96];
        let mut at = buffer.len();
        let mut words = self.words;
        while words[1] | words[2] | words[3] != 0 {
            let rest = wide::div_small(&mut words, wide::POW10[19]);
            write_digits(rest, &mut buffer[at - 19..at]);
            at -= 19;
        }
        let mut low = words[0];
        while low > 0 {
            at -= 1;
            buffer[at] = b'0' + (low % 10) as u8;
            low /= 10;
        }
        // At least one digit before the point.
        at = at.min(buffer.len() - scale - 1);
        let point = buffer.len() - scale;
        out.extend_from_slice(&buffer[at..point]);
        if scale > 0 {
            out.push(b'.');
            out.extend_from_slice(&buffer[point..]);
        }
    }
}

fn write_digits(mut v: u64, field: &mut [u8]) {
    for b in field.iter_mut().rev() {
        *b = b'0' + (v % 10) as u8;
        v /= 10;
    }
}

/// `e[+-]digits`: the exponent (clipped far outside of what matters) and the bytes it takes; 0 bytes if there is none.
fn parse_exponent(text: &[u8]) -> (i64, usize) {
    let [b'e' | b'E', rest @ ..] = text else { return (0, 0) };
    let sign = usize::from(matches!(rest.first(), Some(b'+' | b'-')));
    let digits = rest[sign..].iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 {
        return (0, 0);
    }
    let value =
        rest[sign..sign + digits].iter().fold(0i64, |v, b| (v * 10 + i64::from(b - b'0')).min(1_000_000));
    (if rest[0] == b'-' { -value } else { value }, 1 + sign + digits)
}

/// The number of these digits before and after the point, times a power of ten.
fn from_digits(ints: &[u8], fracs: &[u8], exponent: i64, negative: bool) -> Parsed {
    if ints.len() + fracs.len() <= 18 && exponent == 0 {
        let low = ints.iter().chain(fracs).fold(0u64, |v, b| v * 10 + u64::from(b - b'0'));
        let value = Decimal::new([low, 0, 0, 0], fracs.len() as u8, negative);
        return Parsed { value, used: 0, overflow: false };
    }
    let zeros = ints.iter().take_while(|&&b| b == b'0').count();
    let ints = &ints[zeros..];
    let all = || ints.iter().chain(fracs);
    let zero = all().all(|&b| b == b'0');
    // Where the point is in the digits: beyond their end, or before their start if negative.
    let point = ints.len() as i64 + exponent;
    let leading_zeros =
        if ints.is_empty() { fracs.iter().take_while(|&&b| b == b'0').count() as i64 } else { 0 };
    let int_digits = (point - leading_zeros).max(0);
    if int_digits > i64::from(super::GROUPS * 9).min(i64::from(wide::DIGITS)) && !zero {
        let value = Decimal::max(MAX_PRECISION, 0, negative);
        return Parsed { value, used: 0, overflow: true };
    }
    let total = (ints.len() + fracs.len()) as i64;
    let scale = (total - point).clamp(0, i64::from(room(int_digits as u32)));
    if zero {
        return Parsed { value: Decimal { scale: scale as u8, ..Decimal::ZERO }, used: 0, overflow: false };
    }
    let mut gatherer = Gatherer { words: [0; 4], chunk: 0, chunk_digits: 0 };
    let keep = (point + scale).max(0);
    for i in 0..keep {
        gatherer.push(all().nth(i as usize).copied().unwrap_or(b'0'));
    }
    gatherer.flush();
    Parsed { value: Decimal::new(gatherer.words, scale as u8, negative), used: 0, overflow: false }
}
