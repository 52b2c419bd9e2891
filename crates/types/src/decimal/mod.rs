//! Exact numbers: up to 65 digits, 30 of them after the point.
//!
//! | part | module |
//! |---|---|
//! | arithmetic, rounding, order | here |
//! | from and to text and floats | [`text`](mod@text) |
//! | from and to the bytes of a column | [`stored`](mod@stored) |
//! | from and to bytes of our own | `packed` |
//! | 256-bit numbers | `wide` |
//!
//! MySQL calculates with nine groups of nine digits, whole groups on each side of the point. Two of its habits show in
//! results and are kept: a quotient has whole groups of digits, cut; and digits that no group is left for are cut.

mod packed;
mod stored;
mod text;
mod wide;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
pub use text::Parsed;
use wide::U256;

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

/// Groups of nine digits of an intermediate result.
const GROUPS: u32 = 9;

/// Digits rounded up to whole groups.
const fn grouped(digits: u32) -> u32 {
    digits.div_ceil(9) * 9
}

impl Decimal {
    /// 0.
    pub const ZERO: Decimal = Decimal { words: [0; 4], scale: 0, negative: false };
    /// 1.
    pub const ONE: Decimal = Decimal { words: [1, 0, 0, 0], scale: 0, negative: false };

    /// `number` without its point; zero has no sign.
    #[inline]
    fn new(words: U256, scale: u8, negative: bool) -> Decimal {
        Decimal { words, scale, negative: negative && words != [0; 4] }
    }

    /// `unscaled / 10^scale`; the scale is 38 at most.
    pub fn from_i128(unscaled: i128, scale: u8) -> Decimal {
        Decimal::new(wide::from_u128(unscaled.unsigned_abs()), scale.min(38), unscaled < 0)
    }

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

    /// Digits before the point without leading zeros: none of a number below one.
    pub fn int_digits(&self) -> u32 {
        wide::digits(&self.words).saturating_sub(u32::from(self.scale))
    }

    /// Digits of the least DECIMAL type that holds it: 1 at least.
    pub fn precision(&self) -> u32 {
        wide::digits(&self.words).max(u32::from(self.scale)).max(1)
    }

    /// The greatest DECIMAL(precision, scale), or the least.
    pub fn max(precision: u32, scale: u8, negative: bool) -> Decimal {
        let words = wide::sub(&wide::pow10(precision.min(MAX_PRECISION)), &[1, 0, 0, 0]);
        Decimal::new(words, scale, negative)
    }

    /// The lowest word and the sign as one number, if there is no more.
    #[inline]
    fn small(&self) -> Option<i128> {
        let v = i128::from(self.words[0]);
        (self.words[1] | self.words[2] | self.words[3] == 0).then_some(if self.negative { -v } else { v })
    }

    /// With more digits after the point.
    fn widened(&self, scale: u8) -> Option<U256> {
        if u32::from(scale) > GROUPS * 9 {
            return None;
        }
        let more = u32::from(scale - self.scale);
        if more < 20 {
            return wide::mul_add_small(&self.words, wide::POW10[more as usize], 0);
        }
        if more > wide::DIGITS {
            return self.is_zero().then_some([0; 4]);
        }
        wide::narrow(&wide::mul::<8>(&self.words, &wide::pow10(more)))
    }

    /// A number of any size as an intermediate result: digits after the point for which there is no room are cut.
    fn settle(mut wide: [u64; wide::WIDE], mut scale: u32, negative: bool) -> Result<Decimal, Overflow> {
        loop {
            if let Some(words) = wide::narrow(&wide) {
                let ints = wide::digits(&words).saturating_sub(scale).div_ceil(9);
                if ints > GROUPS {
                    return Err(Overflow);
                }
                let room = (GROUPS - ints) * 9;
                if scale <= room {
                    return Ok(Decimal::new(words, scale as u8, negative));
                }
                let cut = (scale - room).min(19);
                wide::div_small(&mut wide, wide::POW10[cut as usize]);
                scale -= cut;
            } else {
                let cut = scale.min(9);
                if cut == 0 {
                    return Err(Overflow);
                }
                wide::div_small(&mut wide, wide::POW10[cut as usize]);
                scale -= cut;
            }
        }
    }

    /// Sum. The scale is the larger one.
    ///
    /// # Errors
    /// [`Overflow`] beyond what nine groups of digits hold.
    #[inline]
    pub fn add(&self, other: &Decimal) -> Result<Decimal, Overflow> {
        if self.scale == other.scale
            && let (Some(a), Some(b)) = (self.small(), other.small())
        {
            return Ok(Decimal::from_small(a + b, self.scale));
        }
        self.add_wide(other)
    }

    #[inline]
    fn from_small(v: i128, scale: u8) -> Decimal {
        Decimal { words: wide::from_u128(v.unsigned_abs()), scale, negative: v < 0 }
    }

    fn add_wide(&self, other: &Decimal) -> Result<Decimal, Overflow> {
        let scale = self.scale.max(other.scale);
        let (Some(a), Some(b)) = (self.widened(scale), other.widened(scale)) else {
            return self.add_cut(other);
        };
        if self.negative == other.negative {
            let Some(sum) = wide::add(&a, &b) else { return self.add_cut(other) };
            return Decimal::settle(extend(&sum), scale.into(), self.negative);
        }
        Ok(match wide::cmp(&a, &b) {
            Ordering::Less => Decimal::new(wide::sub(&b, &a), scale, other.negative),
            _ => Decimal::new(wide::sub(&a, &b), scale, self.negative),
        })
    }

    /// The sum of numbers so large that their last digits have to go.
    fn add_cut(&self, other: &Decimal) -> Result<Decimal, Overflow> {
        let ints = self.int_digits().max(other.int_digits()).div_ceil(9);
        let room = (wide::DIGITS - 1).saturating_sub(ints * 9) / 9 * 9;
        let scale = u32::from(self.scale.max(other.scale)).saturating_sub(1).min(room) as i32;
        let (a, b) = (self.truncate(scale)?, other.truncate(scale)?);
        if a.widened(scale as u8).is_none() || b.widened(scale as u8).is_none() {
            return Err(Overflow);
        }
        a.add_wide(&b)
    }

    /// Difference.
    ///
    /// # Errors
    /// [`Overflow`] beyond what nine groups of digits hold.
    #[inline]
    pub fn sub(&self, other: &Decimal) -> Result<Decimal, Overflow> {
        self.add(&other.neg())
    }

    /// Product. Its scale is the sum of both.
    ///
    /// # Errors
    /// [`Overflow`] beyond what nine groups of digits hold.
    #[inline]
    pub fn mul(&self, other: &Decimal) -> Result<Decimal, Overflow> {
        let scale = u32::from(self.scale) + u32::from(other.scale);
        let negative = self.negative != other.negative;
        let high = |v: &Decimal| v.words[1] | v.words[2] | v.words[3];
        if high(self) | high(other) == 0 && scale <= 36 {
            let words = wide::from_u128(u128::from(self.words[0]) * u128::from(other.words[0]));
            return Ok(Decimal::new(words, scale as u8, negative));
        }
        let int_groups = |v: &Decimal| v.int_digits().div_ceil(9);
        let ints =
            (self.int_digits() + other.int_digits()).div_ceil(9).max(int_groups(self).max(int_groups(other)));
        if int_groups(self) + int_groups(other) > GROUPS && ints > GROUPS {
            return Err(Overflow);
        }
        let room = GROUPS.saturating_sub(ints);
        let (f1, f2) = (u32::from(self.scale).div_ceil(9), u32::from(other.scale).div_ceil(9));
        if f1 + f2 <= room {
            return Decimal::settle(wide::mul(&self.words, &other.words), scale, negative);
        }
        // Too many digits: the factors lose groups, the one with more of them the odd one.
        let excess = f1 + f2 - room;
        let (less, more) = (excess / 2, excess - excess / 2);
        let (cut1, cut2) = if f1 <= f2 { (less.min(f1), more) } else { (more, less.min(f2)) };
        let cut = |v: &Decimal, groups: u32, lost: u32| match lost {
            0 => Ok(*v),
            _ => v.truncate((groups.saturating_sub(lost) * 9) as i32),
        };
        let (a, b) = (cut(self, f1, cut1)?, cut(other, f2, cut2)?);
        let scale = u32::from(a.scale) + u32::from(b.scale);
        Decimal::settle(wide::mul(&a.words, &b.words), scale, negative)
    }

    /// Quotient with at least `increment` (`div_precision_increment`) more digits than the dividend; `None` for a
    /// divisor of zero.
    ///
    /// # Errors
    /// [`Overflow`] beyond what nine groups of digits hold.
    pub fn div(&self, other: &Decimal, increment: u8) -> Result<Option<Decimal>, Overflow> {
        if other.is_zero() {
            return Ok(None);
        }
        let (s1, s2) = (u32::from(self.scale), u32::from(other.scale));
        let (w1, w2) = (grouped(s1), grouped(s2));
        let spare = w1 - s1 + w2 - s2;
        let mut scale = grouped(w1 + w2 + u32::from(increment).saturating_sub(spare));
        let (d1, d2) = (wide::digits(&self.words), wide::digits(&other.words));
        // Digits of the quotient before the point, perhaps one too many.
        let ints = (d1 + s2 + 1).saturating_sub(d2 + s1);
        if ints.div_ceil(9) > GROUPS {
            return Err(Overflow);
        }
        scale = scale.min((GROUPS - ints.div_ceil(9)) * 9);
        let negative = self.negative != other.negative;
        let (num, den) = (extend(&self.words), other.words);
        let (num, den) = if scale + s2 >= s1 {
            (scale_up(&num, scale + s2 - s1), den)
        } else {
            let Some(den) = wide::narrow(&wide::mul::<8>(&den, &wide::pow10(s1 - s2 - scale))) else {
                return Ok(Some(Decimal::new([0; 4], scale as u8, false)));
            };
            (num, den)
        };
        if let (Some(a), Some(b)) = (small_of(&num), wide::to_u128(&den)) {
            return Ok(Some(Decimal::new(wide::from_u128(a / b), scale as u8, negative)));
        }
        Decimal::settle(wide::div_rem(&num, &den).0, scale, negative).map(Some)
    }

    /// Remainder with the dividend's sign; `None` for a divisor of zero.
    ///
    /// # Errors
    /// [`Overflow`] if the operands have too many digits when brought to one scale.
    pub fn rem(&self, other: &Decimal) -> Result<Option<Decimal>, Overflow> {
        if other.is_zero() {
            return Ok(None);
        }
        let scale = self.scale.max(other.scale);
        let den = other.widened(scale).ok_or(Overflow)?;
        let num = scale_up(&extend(&self.words), u32::from(scale - self.scale));
        Ok(Some(Decimal::new(wide::div_rem(&num, &den).1, scale, self.negative)))
    }

    /// The whole part of the quotient (`DIV`); `None` for a divisor of zero.
    ///
    /// # Errors
    /// [`Overflow`] beyond what nine groups of digits hold.
    pub fn int_div(&self, other: &Decimal) -> Result<Option<Decimal>, Overflow> {
        if other.is_zero() {
            return Ok(None);
        }
        let scale = self.scale.max(other.scale);
        let den = other.widened(scale).ok_or(Overflow)?;
        let num = scale_up(&extend(&self.words), u32::from(scale - self.scale));
        let quotient = wide::div_rem(&num, &den).0;
        Decimal::settle(quotient, 0, self.negative != other.negative).map(Some)
    }

    /// With the other sign.
    #[must_use]
    #[inline]
    pub fn neg(&self) -> Decimal {
        Decimal { negative: !self.negative && !self.is_zero(), ..*self }
    }

    /// Without sign.
    #[must_use]
    pub fn abs(&self) -> Decimal {
        Decimal { negative: false, ..*self }
    }

    /// With `scale` digits after the point, or fewer if it had fewer, rounded half away from zero; digits before the
    /// point become zeros if negative.
    ///
    /// # Errors
    /// [`Overflow`] if the number has as many digits as there can be already.
    pub fn round(&self, scale: i32) -> Result<Decimal, Overflow> {
        self.cut(scale, true)
    }

    /// As [`Decimal::round`], cut.
    ///
    /// # Errors
    /// Never in fact.
    pub fn truncate(&self, scale: i32) -> Result<Decimal, Overflow> {
        self.cut(scale, false)
    }

    fn cut(&self, scale: i32, round: bool) -> Result<Decimal, Overflow> {
        let drop = i32::from(self.scale).saturating_sub(scale);
        if drop <= 0 {
            return Ok(*self);
        }
        let drop = drop.unsigned_abs();
        let new_scale = scale.max(0) as u8;
        if drop > wide::DIGITS {
            return Ok(Decimal::new([0; 4], new_scale, false));
        }
        let (mut words, up) = drop_digits(&self.words, drop);
        if round && up {
            words = wide::add(&words, &[1, 0, 0, 0]).ok_or(Overflow)?;
        }
        if scale < 0 {
            let zeros = scale.unsigned_abs();
            let back = wide::mul::<8>(&words, &wide::pow10(zeros.min(wide::DIGITS)));
            words = wide::narrow(&back).ok_or(Overflow)?;
        }
        Ok(Decimal::new(words, new_scale, self.negative))
    }

    /// With exactly `scale` digits after the point: rounded, or zeros added as far as there is room.
    ///
    /// # Errors
    /// [`Overflow`] if there are not so many digits.
    pub fn with_scale(&self, scale: u8) -> Result<Decimal, Overflow> {
        if scale <= self.scale {
            return self.round(scale.into());
        }
        let words = self.widened(scale).ok_or(Overflow)?;
        Ok(Decimal { words, scale, negative: self.negative })
    }

    /// The least whole number that is not less.
    ///
    /// # Errors
    /// [`Overflow`] if the number has as many digits as there can be already.
    pub fn ceil(&self) -> Result<Decimal, Overflow> {
        let whole = self.truncate(0)?;
        if whole == *self || self.negative { Ok(whole) } else { whole.add(&Decimal::ONE) }
    }

    /// The greatest whole number that is not greater.
    ///
    /// # Errors
    /// [`Overflow`] if the number has as many digits as there can be already.
    pub fn floor(&self) -> Result<Decimal, Overflow> {
        let whole = self.truncate(0)?;
        if whole == *self || !self.negative { Ok(whole) } else { whole.sub(&Decimal::ONE) }
    }

    /// With exactly `scale` digits after the point, clipped to DECIMAL(precision, scale): the value, whether digits
    /// other than zero were rounded away, whether it was clipped.
    pub fn fit(&self, precision: u32, scale: u8) -> (Decimal, bool, bool) {
        let clipped = || (Decimal::max(precision, scale, self.negative), false, true);
        if self.int_digits() > precision.saturating_sub(scale.into()) {
            return clipped();
        }
        let Ok(fitted) = self.with_scale(scale) else { return clipped() };
        if wide::digits(&fitted.words) > precision {
            return clipped();
        }
        (fitted, scale < self.scale && fitted != *self, false)
    }

    /// Rounded half away from zero to a whole number.
    ///
    /// # Errors
    /// The nearest bound if it is out of range.
    pub fn to_i64(&self) -> Result<i64, i64> {
        let bound = if self.negative { i64::MIN } else { i64::MAX };
        let whole = self.whole().ok_or(bound)?;
        let signed = if self.negative { -i128::from(whole) } else { i128::from(whole) };
        i64::try_from(signed).map_err(|_| bound)
    }

    /// As [`Decimal::to_i64`], unsigned.
    ///
    /// # Errors
    /// The nearest bound if it is out of range.
    pub fn to_u64(&self) -> Result<u64, u64> {
        let bound = if self.negative { 0 } else { u64::MAX };
        let whole = self.whole().ok_or(bound)?;
        if self.negative && whole != 0 { Err(0) } else { Ok(whole) }
    }

    /// Rounded, without sign.
    fn whole(&self) -> Option<u64> {
        let words = self.round(0).ok()?.words;
        wide::to_u128(&words).and_then(|v| u64::try_from(v).ok())
    }
}

fn extend(v: &U256) -> [u64; wide::WIDE] {
    let mut out = [0; wide::WIDE];
    out[..4].copy_from_slice(v);
    out
}

/// The number, if it fits 128 bits.
fn small_of(v: &[u64; wide::WIDE]) -> Option<u128> {
    wide::to_u128(&wide::narrow(v)?)
}

/// `v * 10^n`; the caller sees to it that it fits.
fn scale_up(v: &[u64; wide::WIDE], mut n: u32) -> [u64; wide::WIDE] {
    let mut out = *v;
    while n > 0 {
        let step = n.min(wide::DIGITS);
        out = wide::mul(&out, &wide::pow10(step));
        n -= step;
    }
    out
}

/// `v / 10^n`, and whether what is cut is a half or more.
fn drop_digits(v: &U256, n: u32) -> (U256, bool) {
    if n < 20
        && let Some(small) = wide::to_u128(v)
    {
        let unit = u128::from(wide::POW10[n as usize]);
        return (wide::from_u128(small / unit), small % unit * 2 >= unit && n > 0);
    }
    // The first digit cut decides.
    let (tens, _) = wide::div_rem(&extend(v), &wide::pow10(n - 1));
    let mut out = [tens[0], tens[1], tens[2], tens[3]];
    let digit = wide::div_small(&mut out, 10);
    (out, digit >= 5)
}

impl From<i64> for Decimal {
    #[inline]
    fn from(v: i64) -> Decimal {
        Decimal { words: [v.unsigned_abs(), 0, 0, 0], scale: 0, negative: v < 0 }
    }
}

impl From<u64> for Decimal {
    #[inline]
    fn from(v: u64) -> Decimal {
        Decimal { words: [v, 0, 0, 0], scale: 0, negative: false }
    }
}

impl Ord for Decimal {
    #[inline]
    fn cmp(&self, other: &Decimal) -> Ordering {
        if self.scale == other.scale
            && let (Some(a), Some(b)) = (self.small(), other.small())
        {
            return a.cmp(&b);
        }
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.cmp_abs(other),
            (true, true) => other.cmp_abs(self),
        }
    }
}

impl Decimal {
    fn cmp_abs(&self, other: &Decimal) -> Ordering {
        let scale = self.scale.max(other.scale);
        match (self.widened(scale), other.widened(scale)) {
            (Some(a), Some(b)) => wide::cmp(&a, &b),
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            // Only one of them is widened, and so at most one does not fit.
            (None, None) => Ordering::Equal,
        }
    }

    /// Without zeros at the end of the digits after the point.
    #[must_use]
    pub fn normalized(&self) -> Decimal {
        let (mut words, mut scale) = (self.words, self.scale);
        while scale > 0 {
            let mut next = words;
            if wide::div_small(&mut next, 10) != 0 {
                break;
            }
            (words, scale) = (next, scale - 1);
        }
        Decimal::new(words, scale, self.negative)
    }
}

impl PartialOrd for Decimal {
    #[inline]
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    #[inline]
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal {}

/// Equal numbers hash equally, whatever their digits after the point.
impl std::hash::Hash for Decimal {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let v = self.normalized();
        (v.words, v.scale, v.negative).hash(state);
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = Vec::new();
        self.push_text(&mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}
