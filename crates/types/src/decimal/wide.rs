//! Whole numbers of 256 bits and a little more: the arithmetic under DECIMAL.

use std::cmp::Ordering;

/// 256 bits, least significant word first: any number of up to 77 digits.
pub(super) type U256 = [u64; 4];

/// Digits of which every number fits a [`U256`].
pub(super) const DIGITS: u32 = 77;

/// Powers of ten that fit a word.
pub(super) const POW10: [u64; 20] = {
    let mut table = [1u64; 20];
    let mut i = 1;
    while i < 20 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
};

/// Powers of ten up to 10^77.
static POW10_WIDE: [U256; DIGITS as usize + 1] = {
    let mut table = [[1, 0, 0, 0]; DIGITS as usize + 1];
    let mut i = 1;
    while i <= DIGITS as usize {
        let (mut carry, mut w) = (0u128, 0);
        while w < 4 {
            carry += table[i - 1][w] as u128 * 10;
            table[i][w] = carry as u64;
            carry >>= 64;
            w += 1;
        }
        i += 1;
    }
    table
};

/// 10^n; the caller keeps `n` to [`DIGITS`].
pub(super) fn pow10(n: u32) -> U256 {
    POW10_WIDE[n.min(DIGITS) as usize]
}

pub(super) fn from_u128(v: u128) -> U256 {
    [v as u64, (v >> 64) as u64, 0, 0]
}

/// The number, if it fits 128 bits.
#[inline]
pub(super) fn to_u128(v: &U256) -> Option<u128> {
    (v[2] | v[3] == 0).then_some(u128::from(v[1]) << 64 | u128::from(v[0]))
}

pub(super) fn cmp(a: &[u64], b: &[u64]) -> Ordering {
    debug_assert_eq!(a.len(), b.len());
    a.iter().rev().cmp(b.iter().rev())
}

/// How many decimal digits a number has; 0 for zero.
pub(super) fn digits(v: &U256) -> u32 {
    if let Some(small) = to_u128(v) {
        return small.checked_ilog10().map_or(0, |n| n + 1);
    }
    // A number of b bits has at least (b - 1) * log10(2) digits, and at most one more.
    let top = if v[3] != 0 { 3 } else { 2 };
    let bits = 64 * (top as u32 + 1) - v[top].leading_zeros();
    let least = ((bits - 1) * 1233) >> 12;
    let mut n = least.max(1);
    while n <= DIGITS && cmp(v, &POW10_WIDE[n as usize]).is_ge() {
        n += 1;
    }
    n
}

/// Sum; `None` if it does not fit.
pub(super) fn add(a: &U256, b: &U256) -> Option<U256> {
    let (mut out, mut carry) = ([0; 4], 0u128);
    for (o, (&x, &y)) in out.iter_mut().zip(a.iter().zip(b)) {
        carry += u128::from(x) + u128::from(y);
        *o = carry as u64;
        carry >>= 64;
    }
    (carry == 0).then_some(out)
}

/// Difference; `a` is not less than `b`.
pub(super) fn sub(a: &U256, b: &U256) -> U256 {
    let (mut out, mut borrow) = ([0; 4], false);
    for (o, (&x, &y)) in out.iter_mut().zip(a.iter().zip(b)) {
        let (d, b1) = x.overflowing_sub(y);
        let (d, b2) = d.overflowing_sub(u64::from(borrow));
        (*o, borrow) = (d, b1 | b2);
    }
    out
}

/// `a * small + add`; `None` if it does not fit.
pub(super) fn mul_add_small(a: &U256, small: u64, add: u64) -> Option<U256> {
    let (mut out, mut carry) = ([0; 4], u128::from(add));
    for (o, &x) in out.iter_mut().zip(a) {
        carry += u128::from(x) * u128::from(small);
        *o = carry as u64;
        carry >>= 64;
    }
    (carry == 0).then_some(out)
}

/// `a * b` in full.
pub(super) fn mul<const N: usize>(a: &[u64], b: &[u64]) -> [u64; N] {
    let mut out = [0u64; N];
    for (i, &x) in a.iter().enumerate() {
        let mut carry = 0u128;
        for (j, &y) in b.iter().enumerate() {
            if i + j >= N {
                break;
            }
            carry += u128::from(x) * u128::from(y) + u128::from(out[i + j]);
            out[i + j] = carry as u64;
            carry >>= 64;
        }
        if i + b.len() < N {
            out[i + b.len()] = carry as u64;
        }
    }
    out
}

/// Divides in place, gives the remainder.
pub(super) fn div_small(v: &mut [u64], small: u64) -> u64 {
    let mut rest = 0u128;
    for word in v.iter_mut().rev() {
        let part = rest << 64 | u128::from(*word);
        *word = (part / u128::from(small)) as u64;
        rest = part % u128::from(small);
    }
    rest as u64
}

/// The low 256 bits, if there are no others.
pub(super) fn narrow(v: &[u64]) -> Option<U256> {
    v[4..].iter().all(|&w| w == 0).then(|| [v[0], v[1], v[2], v[3]])
}

/// Words of a dividend: a product of 10^81 or so and any 256-bit number.
pub(super) const WIDE: usize = 10;

/// Quotient and remainder by schoolbook division with 64-bit digits (Knuth's algorithm D). The divisor is not zero.
pub(super) fn div_rem(num: &[u64; WIDE], den: &U256) -> ([u64; WIDE], U256) {
    let n = 4 - den.iter().rev().take_while(|&&w| w == 0).count();
    let mut quotient = [0; WIDE];
    if n <= 1 {
        quotient = *num;
        let rest = div_small(&mut quotient, den[0]);
        return (quotient, [rest, 0, 0, 0]);
    }
    let shift = den[n - 1].leading_zeros();
    let d = shifted::<4>(den, shift);
    let mut u = shifted::<{ WIDE + 1 }>(num, shift);
    for j in (0..=WIDE - n).rev() {
        let top = u128::from(u[j + n]) << 64 | u128::from(u[j + n - 1]);
        let mut guess = top / u128::from(d[n - 1]);
        let mut rest = top % u128::from(d[n - 1]);
        while guess >> 64 != 0 || guess * u128::from(d[n - 2]) > (rest << 64 | u128::from(u[j + n - 2])) {
            guess -= 1;
            rest += u128::from(d[n - 1]);
            if rest >> 64 != 0 {
                break;
            }
        }
        if subtract_product(&mut u[j..=j + n], &d[..n], guess as u64) {
            guess -= 1;
            add_back(&mut u[j..=j + n], &d[..n]);
        }
        quotient[j] = guess as u64;
    }
    let mut rest = [0; 4];
    for i in 0..n {
        let high = if shift == 0 { 0 } else { u[i + 1] << (64 - shift) };
        rest[i] = u[i] >> shift | high;
    }
    (quotient, rest)
}

/// `v << shift` (less than a word) in `N` words.
fn shifted<const N: usize>(v: &[u64], shift: u32) -> [u64; N] {
    let (mut out, mut carry) = ([0; N], 0);
    for (o, w) in out.iter_mut().zip(v.iter().copied().chain(std::iter::repeat(0))) {
        *o = w << shift | carry;
        carry = if shift == 0 { 0 } else { w >> (64 - shift) };
    }
    out
}

/// `u -= d * q`; whether it went below zero.
fn subtract_product(u: &mut [u64], d: &[u64], q: u64) -> bool {
    let (mut carry, mut borrow) = (0u128, false);
    for (i, word) in u.iter_mut().enumerate() {
        carry += u128::from(d.get(i).copied().unwrap_or(0)) * u128::from(q);
        let (r, b1) = word.overflowing_sub(carry as u64);
        let (r, b2) = r.overflowing_sub(u64::from(borrow));
        (*word, borrow) = (r, b1 | b2);
        carry >>= 64;
    }
    borrow
}

fn add_back(u: &mut [u64], d: &[u64]) {
    let mut carry = 0u128;
    for (i, word) in u.iter_mut().enumerate() {
        carry += u128::from(*word) + u128::from(d.get(i).copied().unwrap_or(0));
        *word = carry as u64;
        carry >>= 64;
    }
}
