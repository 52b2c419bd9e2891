//! Base64 (RFC 4648) of keys that are not text.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends the bytes `text` stands for; `None` if it is not well-formed. As memcached has it: bytes that are no letters do not
/// count, the letters must come in fours, and what comes behind the first four with padding is not looked at. Bits that lie
/// behind the last byte do not matter.
pub(crate) fn decode(text: &[u8], out: &mut impl Extend<u8>) -> Option<()> {
    let letters = || text.iter().copied().filter(|&letter| letter == b'=' || value(letter).is_some());
    let count = letters().count();
    if count == 0 || !count.is_multiple_of(4) {
        return None;
    }
    let (mut bits, mut length, mut padding) = (0, 0, 0);
    for letter in letters() {
        padding += usize::from(letter == b'=');
        bits = bits << 6 | value(letter).unwrap_or(0);
        length += 1;
        if length < 4 {
            continue;
        }
        if padding > 2 {
            return None;
        }
        out.extend([(bits >> 16) as u8, (bits >> 8) as u8, bits as u8].into_iter().take(3 - padding));
        if padding > 0 {
            break;
        }
        (bits, length) = (0, 0);
    }
    Some(())
}

fn value(letter: u8) -> Option<u32> {
    Some(u32::from(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

/// Appends the text that stands for `bytes`.
pub(crate) fn encode(bytes: &[u8], out: &mut impl Extend<u8>) {
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        let letter = |index: usize| {
            if index > group.len() { b'=' } else { LETTERS[(bits >> (18 - 6 * index) & 63) as usize] }
        };
        out.extend([letter(0), letter(1), letter(2), letter(3)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_vectors_of_the_rfc() {
        for (bytes, text) in [
            (&b"f"[..], &b"Zg=="[..]),
            (b"fo", b"Zm8="),
            (b"foo", b"Zm9v"),
            (b"foob", b"Zm9vYg=="),
            (b"fooba", b"Zm9vYmE="),
            (b"foobar", b"Zm9vYmFy"),
            (b"\xfb\xff\x00", b"+/8A"),
        ] {
            let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
            encode(bytes, &mut encoded);
            assert_eq!(encoded, text);
            assert_eq!(decode(text, &mut decoded), Some(()));
            assert_eq!(decoded, bytes);
        }
        for bad in [&b""[..], b"Zg", b"Zg=", b"====", b"Z===", b"Z!==", b"Zm9 ", b"Zg==Z", b"!"] {
            assert_eq!(decode(bad, &mut Vec::new()), None, "{bad:?}");
        }
    }

    #[test]
    fn what_is_no_letter_does_not_count() {
        for (text, bytes) in
            [(&b"Zm:9v"[..], &b"foo"[..]), (b"Z-g==!", b"f"), (b"Zg==Zg==", b"f"), (b"Zg=a", b"f\0")]
        {
            let mut decoded = Vec::new();
            assert_eq!(decode(text, &mut decoded), Some(()), "{text:?}");
            assert_eq!(decoded, bytes, "{text:?}");
        }
    }
}
