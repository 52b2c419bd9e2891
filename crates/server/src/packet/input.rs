//! Packets in received bytes, without copying them.

use super::{CHUNK_MAX, HEADER, PacketError};
use std::ops::Range;

/// Smallest buffer worth reading into.
const MIN_SPACE: usize = 4 << 10;

/// A complete payload, as a range of its [`Input`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Where the payload is: see [`Input::payload`].
    pub range: Range<usize>,
    /// Sequence number of the (last) packet.
    pub seq: u8,
}

/// Received bytes from which packets are taken in order.
///
/// ```text
/// buf: | taken | begun payload, parts already joined | rest | free |
///              start                                        end
/// ```
///
/// Invariant: `start <= end <= buf.len()`; while `joined > 0`, the `joined` payload bytes of complete parts lie without
/// gaps behind the header at `start`, and the header of the next part follows them.
#[derive(Debug, Default)]
pub struct Input {
    buf: Vec<u8>,
    start: usize,
    end: usize,
    joined: usize,
    /// Sequence number of the next part.
    seq: u8,
}

impl Input {
    /// Works on `buf`, whose content does not matter and whose length is the space to read into.
    pub fn over(buf: Vec<u8>) -> Input {
        Input { buf, ..Input::default() }
    }

    /// Whether everything received has been taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Bytes received and not taken.
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Memory held.
    pub fn capacity(&self) -> usize {
        self.buf.len()
    }

    /// Lends a buffer to an input that holds none, or none that is in use.
    pub fn lend(&mut self, buf: &mut Vec<u8>) {
        if self.is_empty() {
            std::mem::swap(&mut self.buf, buf);
            (self.start, self.end) = (0, 0);
        }
    }

    /// Takes the lent buffer back; what has not been taken from it moves to memory of its own, which is given up when it is
    /// not needed any more.
    pub fn give_back(&mut self, lent: &mut Vec<u8>) {
        let rest = if self.is_empty() { Vec::new() } else { self.buf[self.start..self.end].to_vec() };
        if self.buf.len() > lent.len() {
            *lent = std::mem::take(&mut self.buf);
        }
        (self.start, self.end) = (0, rest.len());
        self.buf = rest;
    }

    /// Free space to receive into; follow with [`Input::received`].
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

    /// `n` bytes were put at the beginning of [`Input::space`].
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

    /// The next packet must have this sequence number.
    #[inline]
    pub fn expect_seq(&mut self, seq: u8) {
        if self.joined == 0 {
            self.seq = seq;
        }
    }

    /// Takes the next complete payload; `None` if more must be received.
    ///
    /// # Errors
    /// [`PacketError::TooLarge`] as soon as a header announces more than `max` bytes; [`PacketError::OutOfOrder`].
    #[inline]
    pub fn next(&mut self, max: usize) -> Result<Option<Packet>, PacketError> {
        loop {
            let at = if self.joined == 0 { self.start } else { self.start + HEADER + self.joined };
            let Some(&[a, b, c, seq]) = self.buf[at..self.end].first_chunk::<HEADER>() else {
                return Ok(None);
            };
            let len = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
            if self.joined + len > max {
                return Err(PacketError::TooLarge);
            }
            if seq != self.seq {
                return Err(PacketError::OutOfOrder);
            }
            if self.end - at - HEADER < len {
                return Ok(None);
            }
            if self.joined > 0 {
                self.buf.copy_within(at + HEADER..self.end, at);
                self.end -= HEADER;
            }
            self.joined += len;
            self.seq = seq.wrapping_add(1);
            if len == CHUNK_MAX {
                continue;
            }
            let from = self.start + HEADER;
            let range = from..from + self.joined;
            self.start = range.end;
            self.joined = 0;
            return Ok(Some(Packet { range, seq }));
        }
    }

    /// The bytes of a payload that [`Input::next`] gave; good until the next call that changes the input.
    #[inline]
    pub fn payload(&self, packet: &Packet) -> &[u8] {
        &self.buf[packet.range.clone()]
    }

    /// Everything received and not taken, unparsed: for a layer below packets that begins in mid-stream.
    pub fn take_raw(&mut self) -> Vec<u8> {
        let raw = self.buf[self.start..self.end].to_vec();
        self.start = self.end;
        raw
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(seq: u8, payload: &[u8]) -> Vec<u8> {
        let n = payload.len();
        let mut out = vec![n as u8, (n >> 8) as u8, (n >> 16) as u8, seq];
        out.extend_from_slice(payload);
        out
    }

    #[test]
    fn packets_come_out_whatever_the_pieces() {
        let mut stream = packet(0, b"\x03SELECT 1");
        stream.extend(packet(0, b""));
        stream.extend(packet(0, &[7; 9000]));
        for piece in [1, 2, 3, 5, 11, 4096, 20_000] {
            let mut input = Input::default();
            let mut got = Vec::new();
            for part in stream.chunks(piece) {
                input.push(part);
                input.expect_seq(0);
                while let Some(p) = input.next(1 << 20).unwrap() {
                    got.push(input.payload(&p).to_vec());
                    input.expect_seq(0);
                }
            }
            assert_eq!(got, [b"\x03SELECT 1".to_vec(), Vec::new(), vec![7; 9000]], "pieces of {piece}");
            assert!(input.is_empty());
        }
    }

    #[test]
    fn parts_of_16_mb_are_joined() {
        let long: Vec<u8> = (0..CHUNK_MAX * 2).map(|i| (i % 251) as u8).collect();
        for extra in [0, 5] {
            let mut payload = long.clone();
            payload.extend(vec![9; extra]);
            let mut input = Input::default();
            input.push(&packet(0, &payload[..CHUNK_MAX]));
            assert_eq!(input.next(1 << 30), Ok(None));
            input.push(&packet(1, &payload[CHUNK_MAX..2 * CHUNK_MAX]));
            assert_eq!(input.next(1 << 30), Ok(None));
            input.push(&packet(2, &payload[2 * CHUNK_MAX..]));
            input.push(&packet(0, b"next"));
            let got = input.next(1 << 30).unwrap().unwrap();
            assert_eq!(got.seq, 2);
            assert!(input.payload(&got) == payload.as_slice());
            input.expect_seq(0);
            let got = input.next(1 << 30).unwrap().unwrap();
            assert_eq!(input.payload(&got), b"next");
        }
    }

    #[test]
    fn a_header_over_the_limit_is_refused_at_once() {
        let mut input = Input::default();
        input.push(&[1, 4, 0, 0]);
        assert_eq!(input.next(1024), Err(PacketError::TooLarge));
        let mut input = Input::default();
        input.push(&packet(0, &vec![0; CHUNK_MAX]));
        input.push(&[2, 0, 0, 1]);
        assert_eq!(input.next(CHUNK_MAX + 1), Err(PacketError::TooLarge));
    }

    #[test]
    fn a_jump_of_the_sequence_is_refused() {
        let mut input = Input::default();
        input.push(&packet(3, b"x"));
        assert_eq!(input.next(1024), Err(PacketError::OutOfOrder));
    }

    #[test]
    fn a_lent_buffer_returns_and_leaves_nothing_behind() {
        let mut lent = vec![0; 65_536];
        let mut input = Input::default();
        input.lend(&mut lent);
        input.push(&packet(0, b"whole"));
        assert!(input.next(100).unwrap().is_some());
        input.give_back(&mut lent);
        assert_eq!((lent.len(), input.capacity()), (65_536, 0));

        input.lend(&mut lent);
        input.push(&packet(0, b"begun")[..6]);
        input.expect_seq(0);
        assert_eq!(input.next(100), Ok(None));
        input.give_back(&mut lent);
        assert_eq!((lent.len(), input.capacity()), (65_536, 6));
        input.lend(&mut lent);
        input.push(b"gun");
        let got = input.next(100).unwrap().unwrap();
        assert_eq!(input.payload(&got), b"begun");
    }
}
