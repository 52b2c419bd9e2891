//! Integers in bytes: big-endian fields at fixed offsets, and InnoDB's variable-length integers.
//!
//! The only module of the workspace that converts endianness (a lint bans it elsewhere).
//!
//! | name | bytes |
//! |---|---|
//! | compressed u32 | `0xxxxxxx`; `10..` 2 bytes, 14 bits; `110.` 3 bytes, 21 bits; `1110` 4 bytes, 28 bits; else `F0` and 4 bytes |
//! | compressed u64 | compressed(high 32 bits), 4 raw bytes of the low half |
//! | much compressed u64 | high half 0: compressed(low); else `FF`, compressed(high), compressed(low) |
//!
//! The plain getters and setters index the slice: the caller has checked that the field lies within (page
//! fields at constant offsets). Input of unknown length goes through [`Reader`], which never panics.
#![expect(clippy::disallowed_methods, reason = "this is the codec the lint points to")]

use std::fmt;

macro_rules! fixed {
    ($get:ident, $put:ident, $ty:ty, $n:literal) => {
        /// Reads the big-endian field at `off`.
        ///
        /// # Panics
        /// If the field does not lie within `buf`.
        #[inline]
        pub fn $get(buf: &[u8], off: usize) -> $ty {
            match buf.get(off..).and_then(<[u8]>::first_chunk::<$n>) {
                Some(raw) => <$ty>::from_be_bytes(*raw),
                None => outside(off, $n, buf.len()),
            }
        }

        /// Writes the big-endian field at `off`.
        ///
        /// # Panics
        /// If the field does not lie within `buf`.
        #[inline]
        pub fn $put(buf: &mut [u8], off: usize, v: $ty) {
            let len = buf.len();
            match buf.get_mut(off..).and_then(<[u8]>::first_chunk_mut::<$n>) {
                Some(raw) => *raw = v.to_be_bytes(),
                None => outside(off, $n, len),
            }
        }
    };
}

/// A field that does not lie within its buffer. Apart, so that what calls it stays small enough to be inlined.
#[cold]
#[inline(never)]
fn outside(off: usize, n: usize, len: usize) -> ! {
    panic!("{n} bytes at {off} of {len}")
}

fixed!(get_u16, put_u16, u16, 2);
fixed!(get_u32, put_u32, u32, 4);
fixed!(get_u64, put_u64, u64, 8);

/// Reads `n` (at most 8) big-endian bytes at `off`.
///
/// # Panics
/// If the field does not lie within `buf`.
#[inline]
pub fn get_uint(buf: &[u8], off: usize, n: usize) -> u64 {
    buf[off..off + n].iter().fold(0, |v, &b| v << 8 | u64::from(b))
}

/// Writes the low `n` (at most 8) bytes of `v`, big-endian, at `off`.
///
/// # Panics
/// If the field does not lie within `buf`.
#[inline]
pub fn put_uint(buf: &mut [u8], off: usize, n: usize, v: u64) {
    buf[off..off + n].copy_from_slice(&v.to_be_bytes()[8 - n..]);
}

/// Reads a 48-bit field (transaction ids, row ids).
#[inline]
pub fn get_u48(buf: &[u8], off: usize) -> u64 {
    u64::from(get_u16(buf, off)) << 32 | u64::from(get_u32(buf, off + 2))
}

/// Writes a 48-bit field.
#[inline]
pub fn put_u48(buf: &mut [u8], off: usize, v: u64) {
    put_u16(buf, off, (v >> 32) as u16);
    put_u32(buf, off + 2, v as u32);
}

/// Reads a 56-bit field (roll pointers).
#[inline]
pub fn get_u56(buf: &[u8], off: usize) -> u64 {
    u64::from(buf[off]) << 48 | get_u48(buf, off + 1)
}

/// Writes a 56-bit field.
#[inline]
pub fn put_u56(buf: &mut [u8], off: usize, v: u64) {
    buf[off] = (v >> 48) as u8;
    put_u48(buf, off + 1, v);
}

/// Little-endian fields: FLOAT and DOUBLE values and the server layer's `.frm` files.
pub mod le {
    /// Reads `n` (at most 8) little-endian bytes at `off`.
    ///
    /// # Panics
    /// If the field does not lie within `buf`.
    #[inline]
    pub fn get_uint(buf: &[u8], off: usize, n: usize) -> u64 {
        buf[off..off + n].iter().rev().fold(0, |v, &b| v << 8 | u64::from(b))
    }

    /// Writes the low `n` (at most 8) bytes of `v`, little-endian, at `off`.
    ///
    /// # Panics
    /// If the field does not lie within `buf`.
    #[inline]
    pub fn put_uint(buf: &mut [u8], off: usize, n: usize, v: u64) {
        buf[off..off + n].copy_from_slice(&v.to_le_bytes()[..n]);
    }
}

/// Appends a big-endian u16.
#[inline]
pub fn push_u16(out: &mut Vec<u8>, v: u16) {
    out.extend_from_slice(&v.to_be_bytes());
}

/// Appends a big-endian u32.
#[inline]
pub fn push_u32(out: &mut Vec<u8>, v: u32) {
    out.extend_from_slice(&v.to_be_bytes());
}

/// Appends a big-endian u64.
#[inline]
pub fn push_u64(out: &mut Vec<u8>, v: u64) {
    out.extend_from_slice(&v.to_be_bytes());
}

/// Appends the low `n` bytes of `v`, big-endian.
#[inline]
pub fn push_uint(out: &mut Vec<u8>, n: usize, v: u64) {
    out.extend_from_slice(&v.to_be_bytes()[8 - n..]);
}

/// Appends a compressed u32 (1 to 5 bytes).
#[inline]
pub fn push_compressed(out: &mut Vec<u8>, v: u32) {
    match v {
        0..0x80 => out.push(v as u8),
        0x80..0x4000 => push_u16(out, v as u16 | 0x8000),
        0x4000..0x20_0000 => push_uint(out, 3, u64::from(v | 0xC0_0000)),
        0x20_0000..0x1000_0000 => push_u32(out, v | 0xE000_0000),
        _ => {
            out.push(0xF0);
            push_u32(out, v);
        }
    }
}

/// Bytes that [`push_compressed`] appends for `v`.
#[inline]
pub const fn compressed_len(v: u32) -> usize {
    match v {
        0..0x80 => 1,
        0x80..0x4000 => 2,
        0x4000..0x20_0000 => 3,
        0x20_0000..0x1000_0000 => 4,
        _ => 5,
    }
}

/// Appends a compressed u64 (5 to 9 bytes).
#[inline]
pub fn push_u64_compressed(out: &mut Vec<u8>, v: u64) {
    push_compressed(out, (v >> 32) as u32);
    push_u32(out, v as u32);
}

/// Appends a much compressed u64 (1 to 11 bytes).
#[inline]
pub fn push_u64_much_compressed(out: &mut Vec<u8>, v: u64) {
    if v >> 32 != 0 {
        out.push(0xFF);
        push_compressed(out, (v >> 32) as u32);
    }
    push_compressed(out, v as u32);
}

/// The input ended before the value did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncated {
    /// Offset in the input at which the value starts.
    pub at: usize,
}

impl fmt::Display for Truncated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "input ends within the value at byte {}", self.at)
    }
}

impl std::error::Error for Truncated {}

/// Walks over input of unknown length; every step is checked.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    buf: &'a [u8],
    pos: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte of `buf`.
    #[inline]
    pub fn new(buf: &'a [u8]) -> Self {
        Self { buf, pos: 0 }
    }

    /// Bytes consumed so far.
    #[inline]
    pub fn pos(&self) -> usize {
        self.pos
    }

    /// What has not been read.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.buf[self.pos..]
    }

    /// Whether everything has been read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pos == self.buf.len()
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// [`Truncated`] if fewer are left; nothing is consumed then.
    #[inline]
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], Truncated> {
        let end = self.pos.checked_add(n).filter(|&end| end <= self.buf.len());
        let end = end.ok_or(Truncated { at: self.pos })?;
        let out = &self.buf[self.pos..end];
        self.pos = end;
        Ok(out)
    }

    /// Skips `n` bytes.
    ///
    /// # Errors
    /// [`Truncated`] if fewer are left.
    #[inline]
    pub fn skip(&mut self, n: usize) -> Result<(), Truncated> {
        self.bytes(n).map(|_| ())
    }

    /// One byte.
    ///
    /// # Errors
    /// [`Truncated`] at the end.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Truncated> {
        Ok(self.bytes(1)?[0])
    }

    /// Big-endian u16.
    ///
    /// # Errors
    /// [`Truncated`] at the end.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, Truncated> {
        Ok(get_u16(self.bytes(2)?, 0))
    }

    /// Big-endian u32.
    ///
    /// # Errors
    /// [`Truncated`] at the end.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Truncated> {
        Ok(get_u32(self.bytes(4)?, 0))
    }

    /// Big-endian u64.
    ///
    /// # Errors
    /// [`Truncated`] at the end.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Truncated> {
        Ok(get_u64(self.bytes(8)?, 0))
    }

    /// Big-endian integer of `n` (at most 8) bytes.
    ///
    /// # Errors
    /// [`Truncated`] at the end.
    #[inline]
    pub fn uint(&mut self, n: usize) -> Result<u64, Truncated> {
        Ok(get_uint(self.bytes(n)?, 0, n))
    }

    /// Compressed u32. Longer encodings than needed are accepted, as InnoDB does.
    ///
    /// # Errors
    /// [`Truncated`] at the end.
    #[inline]
    pub fn compressed(&mut self) -> Result<u32, Truncated> {
        let first = *self.rest().first().ok_or(Truncated { at: self.pos })?;
        Ok(match first {
            0..0x80 => {
                self.pos += 1;
                u32::from(first)
            }
            0x80..0xC0 => u32::from(self.u16()? & 0x3FFF),
            0xC0..0xE0 => self.uint(3)? as u32 & 0x1F_FFFF,
            0xE0..0xF0 => self.u32()? & 0x0FFF_FFFF,
            0xF0.. => get_u32(self.bytes(5)?, 1),
        })
    }

    /// Compressed u64.
    ///
    /// # Errors
    /// [`Truncated`] at the end.
    #[inline]
    pub fn u64_compressed(&mut self) -> Result<u64, Truncated> {
        let high = self.compressed()?;
        Ok(u64::from(high) << 32 | u64::from(self.u32()?))
    }

    /// Much compressed u64.
    ///
    /// # Errors
    /// [`Truncated`] at the end.
    #[inline]
    pub fn u64_much_compressed(&mut self) -> Result<u64, Truncated> {
        let high = if self.rest().first() == Some(&0xFF) {
            self.pos += 1;
            self.compressed()?
        } else {
            0
        };
        Ok(u64::from(high) << 32 | u64::from(self.compressed()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_integers_have_the_documented_bytes() {
        for (v, bytes) in [
            (0u32, &[0x00][..]),
            (0x7F, &[0x7F]),
            (0x80, &[0x80, 0x80]),
            (0x3FFF, &[0xBF, 0xFF]),
            (0x4000, &[0xC0, 0x40, 0x00]),
            (0x1F_FFFF, &[0xDF, 0xFF, 0xFF]),
            (0x20_0000, &[0xE0, 0x20, 0x00, 0x00]),
            (0x0FFF_FFFF, &[0xEF, 0xFF, 0xFF, 0xFF]),
            (0x1000_0000, &[0xF0, 0x10, 0x00, 0x00, 0x00]),
            (u32::MAX, &[0xF0, 0xFF, 0xFF, 0xFF, 0xFF]),
        ] {
            let mut out = Vec::new();
            push_compressed(&mut out, v);
            assert_eq!(out, bytes, "{v:#x}");
            assert_eq!(compressed_len(v), bytes.len());
            let mut r = Reader::new(bytes);
            assert_eq!(r.compressed(), Ok(v));
            assert!(r.is_empty());
            for cut in 0..bytes.len() {
                assert_eq!(Reader::new(&bytes[..cut]).compressed(), Err(Truncated { at: 0 }));
            }
        }
    }

    #[test]
    fn wide_compressed_integers_round_trip() {
        for v in [0u64, 1, 0x7F, 0xFFFF_FFFF, 0x1_0000_0000, 0x1234_5678_9ABC_DEF0, u64::MAX] {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            push_u64_compressed(&mut a, v);
            push_u64_much_compressed(&mut b, v);
            assert_eq!(Reader::new(&a).u64_compressed(), Ok(v));
            assert_eq!(Reader::new(&b).u64_much_compressed(), Ok(v));
        }
        let mut out = Vec::new();
        push_u64_much_compressed(&mut out, 0x15);
        assert_eq!(out, [0x15]);
    }

    #[test]
    fn odd_widths() {
        let mut b = [0u8; 9];
        put_u48(&mut b, 1, 0x0102_0304_0506);
        assert_eq!(b, [0, 1, 2, 3, 4, 5, 6, 0, 0]);
        assert_eq!(get_u48(&b, 1), 0x0102_0304_0506);
        put_u56(&mut b, 2, 0x80_0000_0000_0001);
        assert_eq!(get_u56(&b, 2), 0x80_0000_0000_0001);
        le::put_uint(&mut b, 0, 4, 0x0403_0201);
        assert_eq!(le::get_uint(&b, 0, 4), 0x0403_0201);
    }
}
