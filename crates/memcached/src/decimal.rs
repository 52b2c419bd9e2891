//! Numbers as decimal digits: written for answers and for columns, read as memcached reads those of commands and of values.

/// Appends a number in decimal.
#[inline]
pub(crate) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    if number < 10 {
        out.push(b'0' + number as u8);
        return;
    }
    let mut digits = [0; 20];
    let mut at = digits.len();
    while number > 0 {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits[at..]);
}

/// What C takes for white space.
pub(crate) fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// A number of 64 bits at the beginning of a text, behind which nothing comes, or a byte for which `ends` holds. White space
/// and a sign may stand before it. As in C -1 stands for the greatest number, which memcached refuses: what comes of a minus
/// must be below 2^63.
#[inline]
pub(crate) fn read_number(text: &[u8], ends: impl FnOnce(u8) -> bool) -> Option<u64> {
    let text = &text[text.iter().take_while(|&&byte| is_white(byte)).count()..];
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if length == 0 || text.get(length).is_some_and(|&byte| !ends(byte)) {
        return None;
    }
    let number = text[..length]
        .iter()
        .try_fold(0u64, |number, &digit| number.checked_mul(10)?.checked_add(u64::from(digit - b'0')))?;
    if !negative {
        return Some(number);
    }
    Some(number.wrapping_neg()).filter(|&number| number < 1 << 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_full() {
        for number in [0, 9, 10, 99, 100, 12_345, u64::MAX] {
            let mut out = Vec::new();
            push_number(&mut out, number);
            assert_eq!(out, number.to_string().as_bytes());
        }
    }
}
