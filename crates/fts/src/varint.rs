//! Integers of posting lists.
//!
//! Seven bits a byte, the most significant ones first; **the last byte has bit 7 set**, so no integer starts with a zero byte
//! that is not its end, and 0x00 can end a list of integers.
//!
//! | value | bytes |
//! |---|---|
//! | 4 | `84` |
//! | 300 | `02 AC` |
//! | 9000 | `46 A8` |

/// Most bytes of an integer of 64 bits.
pub const BYTES_MAX: usize = 10;

const LAST: u8 = 0x80;

/// Appends the integer.
pub fn push(out: &mut Vec<u8>, value: u64) {
    let groups = groups(value);
    for group in (1..groups).rev() {
        out.push((value >> (7 * group)) as u8 & !LAST);
    }
    out.push(value as u8 | LAST);
}

/// How many bytes the integer takes.
pub fn len(value: u64) -> usize {
    groups(value) as usize
}

fn groups(value: u64) -> u32 {
    (u64::BITS - value.leading_zeros()).div_ceil(7).max(1)
}

/// Takes an integer off the front of `bytes`; `None` if they end before it does, or it has more than 64 bits.
#[inline]
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value: u64 = 0;
    for (at, &byte) in bytes.iter().take(BYTES_MAX).enumerate() {
        if value >> 57 != 0 {
            return None;
        }
        value = value << 7 | u64::from(byte & !LAST);
        if byte & LAST != 0 {
            *bytes = &bytes[at + 1..];
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_of_a_server() {
        for (value, bytes) in [(0, &[0x80][..]), (4, &[0x84]), (300, &[0x02, 0xAC]), (9000, &[0x46, 0xA8])] {
            let mut out = Vec::new();
            push(&mut out, value);
            assert_eq!(out, bytes);
            assert_eq!(len(value), bytes.len());
        }
    }

    #[test]
    fn what_does_not_end_is_nothing() {
        assert_eq!(take(&mut &[][..]), None);
        assert_eq!(take(&mut &[0x02][..]), None);
        assert_eq!(take(&mut &[0x7F; 12][..]), None);
        assert_eq!(take(&mut &[0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0x80][..]), None, "65 bits");
        assert_eq!(take(&mut &[0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0x80][..]), Some(1 << 63));
    }

    proptest! {
        #[test]
        fn there_and_back(value: u64, shift in 0u32..64, after: Vec<u8>) {
            let value = value >> shift;
            let mut out = Vec::new();
            push(&mut out, value);
            prop_assert_eq!(out.len(), len(value));
            out.extend_from_slice(&after);
            let mut rest = &out[..];
            prop_assert_eq!(take(&mut rest), Some(value));
            prop_assert_eq!(rest, &after[..]);
        }
    }
}
