//! Decimals as columns store them: groups of nine digits in four bytes from the point outwards, leftover digits in fewer
//! bytes at both ends; top bit flipped; a negative number has all bytes inverted.

use super::{Decimal, wide};
use vaquita_base::codec::{get_uint, put_uint};
use vaquita_format::value::decimal_len;

/// Bytes of so many digits that fill no group.
const LEFTOVER_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// Digits of the groups of a DECIMAL, first to last: 65 digits make ten groups at most.
fn groups(precision: u32, scale: u8) -> impl DoubleEndedIterator<Item = usize> {
    let scale = usize::from(scale);
    let ints = (precision as usize).saturating_sub(scale);
    let leftover = |n: usize| (!n.is_multiple_of(9)).then_some(n % 9);
    leftover(ints)
        .into_iter()
        .chain(std::iter::repeat_n(9, ints / 9))
        .chain(std::iter::repeat_n(9, scale / 9))
        .chain(leftover(scale))
}

impl Decimal {
    /// Reads the stored form of a DECIMAL(precision, scale). Bytes that are none give some number.
    pub fn from_stored(stored: &[u8], precision: u32, scale: u8) -> Decimal {
        if stored.len() != decimal_len(precision, scale.into()) || stored.is_empty() {
            return Decimal::ZERO;
        }
        let negative = stored[0] & 0x80 == 0;
        let (mut words, mut low, mut low_digits, mut at) = ([0; 4], 0u64, 0, 0);
        for digits in groups(precision, scale) {
            let bytes = LEFTOVER_BYTES[digits];
            let unused = 64 - 8 * bytes as u32;
            let mut group = get_uint(stored, at, bytes);
            if at == 0 {
                group ^= 1 << (8 * bytes - 1);
            }
            if negative {
                group = !group << unused >> unused;
            }
            at += bytes;
            if low_digits + digits > 18 {
                words = gather(&words, low_digits, low);
                (low, low_digits) = (0, 0);
            }
            low = low * wide::POW10[digits] + group.min(wide::POW10[digits] - 1);
            low_digits += digits;
        }
        Decimal::new(gather(&words, low_digits, low), scale, negative)
    }

    /// Appends the stored form; the value fits the type ([`Decimal::fit`]).
    pub fn push_stored(&self, precision: u32, scale: u8, out: &mut Vec<u8>) {
        let fitted = if self.scale == scale { *self } else { self.fit(precision, scale).0 };
        let (start, len) = (out.len(), decimal_len(precision, scale.into()));
        out.resize(start + len, 0);
        let mut words = fitted.words;
        let mut at = start + len;
        for digits in groups(precision, scale).rev() {
            let bytes = LEFTOVER_BYTES[digits];
            let group = if words[1] | words[2] | words[3] == 0 {
                let group = words[0] % wide::POW10[digits];
                words[0] /= wide::POW10[digits];
                group
            } else {
                wide::div_small(&mut words, wide::POW10[digits])
            };
            at -= bytes;
            put_uint(out, at, bytes, group);
        }
        if fitted.negative {
            out[start..].iter_mut().for_each(|b| *b = !*b);
        }
        if let Some(first) = out.get_mut(start) {
            *first ^= 0x80;
        }
    }
}

#[inline]
fn gather(words: &wide::U256, digits: usize, low: u64) -> wide::U256 {
    if *words == [0; 4] {
        return [low, 0, 0, 0];
    }
    wide::mul_add_small(words, wide::POW10[digits], low).unwrap_or([u64::MAX; 4])
}
