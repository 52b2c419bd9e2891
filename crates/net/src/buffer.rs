//! Received bytes, taken from the front, in memory that is lent for as long as there is something to take.

use std::ops::Range;

/// Smallest buffer worth reading into.
const MIN_SPACE: usize = 4 << 10;

/// Received bytes.
///
/// ```text
/// | taken | bytes | free |
///       start    end
/// ```
///
/// Invariant: `start <= end <= buf.len()`.
#[derive(Debug, Default)]
pub struct Buffer {
    buf: Vec<u8>,
    start: usize,
    end: usize,
    /// Length that the memory had when it was lent; `None`: it is the buffer's own.
    lent: Option<usize>,
}

impl Buffer {
    /// Works on `buf`, whose content does not matter and whose length is the space to read into.
    pub fn over(buf: Vec<u8>) -> Buffer {
        Buffer { buf, ..Buffer::default() }
    }

    /// Whether everything received has been taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Bytes received and not taken.
    #[inline]
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Memory held.
    pub fn capacity(&self) -> usize {
        self.buf.len()
    }

    /// The bytes received and not taken.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buf[self.start..self.end]
    }

    /// Takes the first `n` bytes, as a range for [`Buffer::get`]; at most all.
    #[inline]
    pub fn take(&mut self, n: usize) -> Range<usize> {
        let from = self.start;
        self.start = (from + n).min(self.end);
        from..self.start
    }

    /// Bytes taken before; good until space is asked for or the buffer is given back.
    #[inline]
    pub fn get(&self, range: &Range<usize>) -> &[u8] {
        &self.buf[range.clone()]
    }

    /// Closes a gap: the `n` bytes behind the first `at` go away.
    pub fn cut(&mut self, at: usize, n: usize) {
        let from = self.start + at;
        self.buf.copy_within(from + n..self.end, from);
        self.end -= n;
    }

    /// Lends memory to a buffer that has none in use.
    pub fn lend(&mut self, buf: &mut Vec<u8>) {
        if self.is_empty() {
            std::mem::swap(&mut self.buf, buf);
            (self.start, self.end) = (0, 0);
            self.lent = Some(self.buf.len());
        }
    }

    /// Takes lent memory back, no longer than it was. What has not been taken stays in memory of the buffer's own, which is
    /// given up when it is not needed any more.
    pub fn give_back(&mut self, lent: &mut Vec<u8>) {
        match self.lent.take() {
            // Much has come: what is left of it stays where it is, not copied for every piece that comes.
            Some(len) if self.buf.len() > len => *lent = vec![0; len],
            Some(_) => {
                let rest = if self.is_empty() { Vec::new() } else { self.bytes().to_vec() };
                *lent = std::mem::replace(&mut self.buf, rest);
                (self.start, self.end) = (0, self.buf.len());
            }
            None => {}
        }
        if self.is_empty() {
            (self.buf, self.start, self.end) = (Vec::new(), 0, 0);
        }
    }

    /// Free space to receive into; follow with [`Buffer::received`].
    pub fn space(&mut self) -> &mut [u8] {
        if self.is_empty() {
            (self.start, self.end) = (0, 0);
        }
        if self.buf.len() - self.end < MIN_SPACE.min(self.buf.len() / 4).max(1) && self.start > 0 {
            self.buf.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.buf.len() - self.end < MIN_SPACE / 4 {
            // Doubling, not what a header claims: memory follows the bytes that really came.
            self.buf.resize((self.buf.len() * 2).max(MIN_SPACE), 0);
        }
        &mut self.buf[self.end..]
    }

    /// `n` bytes were put at the beginning of [`Buffer::space`].
    pub fn received(&mut self, n: usize) {
        debug_assert!(self.end + n <= self.buf.len());
        self.end = (self.end + n).min(self.buf.len());
    }

    /// Appends bytes that came by another way.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = self.space();
            let n = space.len().min(bytes.len());
            space[..n].copy_from_slice(&bytes[..n]);
            self.received(n);
            bytes = &bytes[n..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_taken_in_order_whatever_the_pieces() {
        let stream: Vec<u8> = (0..50_000_u32).map(|i| (i % 251) as u8).collect();
        for piece in [1, 7, 4096, 9999] {
            let mut buffer = Buffer::default();
            let mut got = Vec::new();
            for (i, part) in stream.chunks(piece).enumerate() {
                buffer.push(part);
                let range = buffer.take(i % 5000);
                got.extend_from_slice(buffer.get(&range));
            }
            let range = buffer.take(usize::MAX >> 1);
            got.extend_from_slice(buffer.get(&range));
            assert!(got == stream && buffer.is_empty(), "pieces of {piece}");
        }
    }

    #[test]
    fn a_cut_closes_the_gap() {
        let mut buffer = Buffer::default();
        buffer.push(b"-onetwothree");
        let _ = buffer.take(1);
        buffer.cut(3, 3);
        assert_eq!(buffer.bytes(), b"onethree");
    }

    #[test]
    fn lent_memory_returns_and_leaves_nothing_behind() {
        let mut lent = vec![0; 65_536];
        let mut buffer = Buffer::default();
        buffer.lend(&mut lent);
        buffer.push(b"all");
        let _ = buffer.take(3);
        buffer.give_back(&mut lent);
        assert_eq!((lent.len(), buffer.capacity()), (65_536, 0));
        buffer.lend(&mut lent);
        buffer.push(b"begun");
        let _ = buffer.take(2);
        buffer.give_back(&mut lent);
        assert_eq!((lent.len(), buffer.capacity(), buffer.bytes()), (65_536, 3, &b"gun"[..]));
    }

    #[test]
    fn a_long_packet_leaves_the_lender_what_it_lent() {
        let mut lent = vec![0; 65_536];
        let mut buffer = Buffer::default();
        buffer.lend(&mut lent);
        buffer.push(&vec![7; 1 << 20]);
        let _ = buffer.take(100);
        let at = buffer.bytes().as_ptr();
        buffer.give_back(&mut lent);
        assert_eq!((lent.len(), buffer.len()), (65_536, (1 << 20) - 100));
        buffer.lend(&mut lent);
        assert_eq!(buffer.bytes().as_ptr(), at, "not copied");
        buffer.give_back(&mut lent);
        assert_eq!(buffer.bytes().as_ptr(), at, "not copied");
        buffer.lend(&mut lent);
        let _ = buffer.take(usize::MAX >> 1);
        buffer.give_back(&mut lent);
        assert_eq!((lent.len(), buffer.capacity()), (65_536, 0));
    }
}
