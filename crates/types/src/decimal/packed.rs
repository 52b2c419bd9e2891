//! Decimals as bytes of our own, for rows that are kept for a while: as short as the number is.

use super::{Decimal, wide};

/// The sign, beside the digits after the point.
const NEGATIVE: u8 = 0x80;

impl Decimal {
    /// Appends it: digits after the point and sign, the number of words, the words.
    pub fn push_packed(&self, out: &mut Vec<u8>) {
        let words = self.words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        out.push(self.scale | if self.negative { NEGATIVE } else { 0 });
        out.push(words as u8);
        for word in &self.words[..words] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Reads what [`Decimal::push_packed`] has appended, and how many bytes that are. Of other bytes it makes some number.
    pub fn from_packed(bytes: &[u8]) -> (Decimal, usize) {
        let [first, words, rest @ ..] = bytes else { return (Decimal::ZERO, bytes.len()) };
        let mut number: wide::U256 = [0; 4];
        let len = usize::from(*words);
        if len > number.len() || rest.len() < 8 * len {
            return (Decimal::ZERO, bytes.len());
        }
        for (word, bytes) in number[..len].iter_mut().zip(rest.chunks_exact(8)) {
            *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        }
        (Decimal::new(number, first & !NEGATIVE, first & NEGATIVE != 0), 2 + 8 * len)
    }
}
