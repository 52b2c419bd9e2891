//! Exact numbers: up to 65 digits, 30 of them after the point.

use std::cmp::Ordering;

/// A DECIMAL: sign, whole number, digits after the point.
///
/// The number without its point is kept in binary: most fit the lowest word, for which arithmetic takes a few
/// instructions. As in MySQL an intermediate result may have more digits than a column: what leaves an expression is
/// rounded to the digits of its type ([`Decimal::round`]).
#[derive(Debug, Clone, Copy, Default)]
pub struct Decimal {
    /// The number without its point, least significant word first.
    words: [u64; 4],
    /// Digits after the point.
    scale: u8,
    /// Below zero; never of zero.
    negative: bool,
}

/// The result has more digits than fit: error 1690 or a clipped value, as the context has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow;

/// Most digits of a column.
pub const MAX_PRECISION: u32 = 65;
/// Most digits after the point.
pub const MAX_SCALE: u8 = 30;

/// What text begins with.
#[derive(Debug, Clone, Copy)]
pub struct Parsed {
    /// The number; of text that begins with none, zero.
    pub value: Decimal,
    /// Bytes of the text that belong to it, leading spaces among them; 0 if it begins with no number.
    pub used: usize,
    /// It had more digits than fit: `value` is the greatest or least number.
    pub overflow: bool,
}

impl Decimal {
    /// 0.
    pub const ZERO: Decimal = Decimal { words: [0; 4], scale: 0, negative: false };
    /// 1.
    pub const ONE: Decimal = Decimal { words: [1, 0, 0, 0], scale: 0, negative: false };

    /// Digits after the point.
    #[inline]
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// Whether it is zero.
    #[inline]
    pub fn is_zero(&self) -> bool {
        self.words == [0; 4]
    }

    /// Whether it is below zero.
    #[inline]
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// Digits before the point, at least 1? no: 0 for numbers below one.
    pub fn int_digits(&self) -> u32 {
        todo!()
    }

    /// The greatest DECIMAL(precision, scale), or the least.
    pub fn max(precision: u32, scale: u8, negative: bool) -> Decimal {
        let _ = (precision, scale, negative);
        todo!()
    }

    /// Reads text: spaces, sign, digits, point, exponent; digits beyond the 30th after the point are rounded away.
    pub fn parse(text: &[u8]) -> Parsed {
        let _ = text;
        todo!()
    }

    /// The number that a DOUBLE prints as.
    pub fn from_f64(v: f64) -> Result<Decimal, Overflow> {
        let _ = v;
        todo!()
    }

    /// The nearest DOUBLE.
    pub fn to_f64(&self) -> f64 {
        todo!()
    }

    /// Rounded half away from zero to a whole number; the nearest bound with `Err` if it is out of range.
    pub fn to_i64(&self) -> Result<i64, i64> {
        todo!()
    }

    /// As [`Decimal::to_i64`], unsigned.
    pub fn to_u64(&self) -> Result<u64, u64> {
        todo!()
    }

    /// Appends it as text with its digits after the point.
    pub fn push_text(&self, out: &mut Vec<u8>) {
        let _ = out;
        todo!()
    }

    /// Sum. The scale is the larger one.
    pub fn add(&self, other: &Decimal) -> Result<Decimal, Overflow> {
        let _ = other;
        todo!()
    }

    /// Difference.
    pub fn sub(&self, other: &Decimal) -> Result<Decimal, Overflow> {
        let _ = other;
        todo!()
    }

    /// Product. Its scale is the sum of both.
    pub fn mul(&self, other: &Decimal) -> Result<Decimal, Overflow> {
        let _ = other;
        todo!()
    }

    /// Quotient with `increment` (`div_precision_increment`) more digits than the dividend, and some more as MySQL
    /// calculates them; `None` for a divisor of zero.
    pub fn div(&self, other: &Decimal, increment: u8) -> Result<Option<Decimal>, Overflow> {
        let _ = (other, increment);
        todo!()
    }

    /// Remainder with the dividend's sign; `None` for a divisor of zero.
    pub fn rem(&self, other: &Decimal) -> Result<Option<Decimal>, Overflow> {
        let _ = other;
        todo!()
    }

    /// The whole part of the quotient (`DIV`); `None` for a divisor of zero.
    pub fn int_div(&self, other: &Decimal) -> Result<Option<Decimal>, Overflow> {
        let _ = other;
        todo!()
    }

    /// With the other sign.
    #[must_use]
    pub fn neg(&self) -> Decimal {
        Decimal { negative: !self.negative && !self.is_zero(), ..*self }
    }

    /// Without sign.
    #[must_use]
    pub fn abs(&self) -> Decimal {
        Decimal { negative: false, ..*self }
    }

    /// With exactly `scale` digits after the point, rounded half away from zero; digits before the point if negative.
    pub fn round(&self, scale: i32) -> Result<Decimal, Overflow> {
        let _ = scale;
        todo!()
    }

    /// As [`Decimal::round`], cut.
    pub fn truncate(&self, scale: i32) -> Result<Decimal, Overflow> {
        let _ = scale;
        todo!()
    }

    /// The least whole number that is not less.
    pub fn ceil(&self) -> Result<Decimal, Overflow> {
        todo!()
    }

    /// The greatest whole number that is not greater.
    pub fn floor(&self) -> Result<Decimal, Overflow> {
        todo!()
    }

    /// Rounded to `scale` digits after the point and clipped to DECIMAL(precision, scale): the value, whether digits
    /// were rounded away, whether it was clipped.
    pub fn fit(&self, precision: u32, scale: u8) -> (Decimal, bool, bool) {
        let _ = (precision, scale);
        todo!()
    }

    /// Reads the stored form of a DECIMAL(precision, scale). Bytes that are none give some number.
    pub fn from_stored(stored: &[u8], precision: u32, scale: u8) -> Decimal {
        let _ = (stored, precision, scale);
        todo!()
    }

    /// Appends the stored form; the value fits the type ([`Decimal::fit`]).
    pub fn push_stored(&self, precision: u32, scale: u8, out: &mut Vec<u8>) {
        let _ = (precision, scale, out);
        todo!()
    }
}

impl From<i64> for Decimal {
    fn from(v: i64) -> Decimal {
        Decimal { words: [v.unsigned_abs(), 0, 0, 0], scale: 0, negative: v < 0 }
    }
}

impl From<u64> for Decimal {
    fn from(v: u64) -> Decimal {
        Decimal { words: [v, 0, 0, 0], scale: 0, negative: false }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        let _ = other;
        todo!()
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal {}

/// Equal numbers hash equally, whatever their digits after the point.
impl std::hash::Hash for Decimal {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let _ = state;
        todo!()
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = Vec::new();
        self.push_text(&mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}
