//! Numbers and strings inside payloads: little-endian, and "length-encoded".
//!
//! | first byte | the number is |
//! |---|---|
//! | 0 to 250 | the byte |
//! | 251 (0xFB) | none: NULL in rows, a file request in replies |
//! | 252 | the 2 bytes that follow |
//! | 253 | the 3 bytes that follow |
//! | 254 | the 8 bytes that follow |
//! | 255 | none: an error packet |

/// Bytes ended before a value did, or a value cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("malformed packet")
    }
}

impl std::error::Error for Malformed {}

/// Reads a payload from front to back.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Over `payload`.
    #[inline]
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    /// What has not been read.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether everything has been read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// There are fewer.
    #[inline]
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.rest.split_at_checked(n).ok_or(Malformed)?;
        self.rest = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*head)
    }

    /// One byte.
    ///
    /// # Errors
    /// There is none.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[b]| b)
    }

    /// Two bytes.
    ///
    /// # Errors
    /// There are fewer.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    ///
    /// # Errors
    /// There are fewer.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    ///
    /// # Errors
    /// There are fewer.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length-encoded number.
    ///
    /// # Errors
    /// Too short; 251 and 255 are no numbers.
    #[inline]
    pub fn int(&mut self) -> Result<u64, Malformed> {
        match self.u8()? {
            n @ 0..=250 => Ok(u64::from(n)),
            252 => self.u16().map(u64::from),
            253 => self.array().map(|[a, b, c]| u64::from(u32::from_le_bytes([a, b, c, 0]))),
            254 => self.u64(),
            _ => Err(Malformed),
        }
    }

    /// A length-encoded string.
    ///
    /// # Errors
    /// Too short.
    #[inline]
    pub fn string(&mut self) -> Result<&'a [u8], Malformed> {
        let n = usize::try_from(self.int()?).map_err(|_| Malformed)?;
        self.bytes(n)
    }

    /// A string with one byte of length.
    ///
    /// # Errors
    /// Too short.
    pub fn string8(&mut self) -> Result<&'a [u8], Malformed> {
        let n = usize::from(self.u8()?);
        self.bytes(n)
    }

    /// A string up to a zero byte, which is read, too.
    ///
    /// # Errors
    /// There is no zero byte.
    pub fn string0(&mut self) -> Result<&'a [u8], Malformed> {
        let n = self.rest.iter().position(|&b| b == 0).ok_or(Malformed)?;
        let found = self.bytes(n)?;
        self.bytes(1)?;
        Ok(found)
    }

    /// A string up to a zero byte or to the end, as lenient servers read the last field of a packet.
    pub fn string0_or_rest(&mut self) -> &'a [u8] {
        self.string0().unwrap_or_else(|_| std::mem::take(&mut self.rest))
    }
}

/// Appends a length-encoded number.
#[inline]
pub fn push_int(out: &mut Vec<u8>, n: u64) {
    if n <= 250 {
        out.push(n as u8);
    } else if n <= 0xFFFF {
        out.extend_from_slice(&[252, n as u8, (n >> 8) as u8]);
    } else if n <= 0xFF_FFFF {
        out.extend_from_slice(&[253, n as u8, (n >> 8) as u8, (n >> 16) as u8]);
    } else {
        out.push(254);
        out.extend_from_slice(&n.to_le_bytes());
    }
}

/// Appends a length-encoded string.
#[inline]
pub fn push_string(out: &mut Vec<u8>, s: &[u8]) {
    push_int(out, s.len() as u64);
    out.extend_from_slice(s);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_the_shortest_form_and_come_back() {
        // Boundaries from the table above.
        let cases: [(u64, usize); 9] = [
            (0, 1),
            (250, 1),
            (251, 3),
            (0xFFFF, 3),
            (0x1_0000, 4),
            (0xFF_FFFF, 4),
            (0x100_0000, 9),
            (u64::MAX - 1, 9),
            (u64::MAX, 9),
        ];
        for (n, len) in cases {
            let mut out = Vec::new();
            push_int(&mut out, n);
            assert_eq!(out.len(), len, "{n}");
            let mut r = Reader::new(&out);
            assert_eq!(r.int(), Ok(n));
            assert!(r.is_empty());
            for cut in 0..out.len() {
                assert_eq!(Reader::new(&out[..cut]).int(), Err(Malformed));
            }
        }
        assert_eq!(Reader::new(&[251]).int(), Err(Malformed));
        assert_eq!(Reader::new(&[255]).int(), Err(Malformed));
    }

    #[test]
    fn a_length_beyond_the_payload_is_malformed() {
        assert_eq!(Reader::new(b"\x05abcd").string(), Err(Malformed));
        assert_eq!(Reader::new(b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFabcd").string(), Err(Malformed));
        assert_eq!(Reader::new(b"\x02abc").string(), Ok(&b"ab"[..]));
        assert_eq!(Reader::new(b"abc").string0(), Err(Malformed));
        assert_eq!(Reader::new(b"abc").string0_or_rest(), b"abc");
        let mut r = Reader::new(b"abc\0d");
        assert_eq!((r.string0_or_rest(), r.rest()), (&b"abc"[..], &b"d"[..]));
    }
}
