//! Words of a line and numbers in them, read as memcached reads them.

use crate::decimal::{is_white, read_number};

/// The longest key of a client.
pub(crate) const KEY_MAX: usize = 250;

/// The words of a line, at spaces; any other byte belongs to a word.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    line.split(|&byte| byte == b' ').filter(|word| !word.is_empty())
}

/// A number of 64 bits, see [`read_number`]. A word may hold white space that is no space: what stands before the number is
/// skipped, what stands behind it is ignored, as C's functions do it.
pub(crate) fn u64_of(word: &[u8]) -> Option<u64> {
    read_number(word, is_white)
}

/// One that fits in 32 bits.
pub(crate) fn u32_of(word: &[u8]) -> Option<u32> {
    u64_of(word).and_then(|number| u32::try_from(number).ok())
}

/// A number, perhaps below zero.
pub(crate) fn i64_of(word: &[u8]) -> Option<i64> {
    let word = &word[word.iter().take_while(|&&byte| is_white(byte)).count()..];
    match word {
        [b'-', digits @ ..] if digits.first().is_some_and(u8::is_ascii_digit) => {
            let number = u64_of(digits)?;
            (number <= 1 << 63).then(|| (number as i64).wrapping_neg())
        }
        [b'-', ..] => None,
        _ => u64_of(word).and_then(|number| i64::try_from(number).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_where_their_type_ends() {
        assert_eq!(u64_of(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(u64_of(b"18446744073709551616"), None);
        assert_eq!(
            (u64_of(b"+7"), u64_of(b"-0"), u64_of(b"-18446744073709551615")),
            (Some(7), Some(0), Some(1))
        );
        assert_eq!((u64_of(b"\r7"), u64_of(b"7\rdelete"), i64_of(b"\t-7\tx")), (Some(7), Some(7), Some(-7)));
        for bad in [&b""[..], b"+", b"-1", b"1x", b"x", b"+ 1", b"++1", b"\r"] {
            assert_eq!(u64_of(bad), None, "{bad:?}");
        }
        assert_eq!(u32_of(b"4294967296"), None);
        assert_eq!(i64_of(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(i64_of(b"-9223372036854775809"), None);
        assert_eq!(i64_of(b"9223372036854775808"), None);
        assert_eq!((i64_of(b"--1"), i64_of(b"-+1"), i64_of(b"-")), (None, None, None));
    }
}
