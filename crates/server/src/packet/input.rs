//! Packets in received bytes, without copying them.

use super::{CHUNK_MAX, HEADER, PacketError};
use std::ops::Range;
use vaquita_net::Buffer;

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
/// Invariant: while `joined > 0`, the `joined` payload bytes of complete parts lie without gaps behind the header that the
/// buffer begins with, and the header of the next part follows them.
#[derive(Debug, Default)]
pub struct Input {
    buf: Buffer,
    joined: usize,
    /// Sequence number of the next part.
    seq: u8,
}

impl Input {
    /// Works on `buf`, whose content does not matter and whose length is the space to read into.
    pub fn over(buf: Vec<u8>) -> Input {
        Input { buf: Buffer::over(buf), ..Input::default() }
    }

    /// What to receive into.
    pub(crate) fn buffer(&mut self) -> &mut Buffer {
        &mut self.buf
    }

    /// Whether everything received has been taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.buf.is_empty()
    }

    /// Bytes received and not taken.
    pub fn len(&self) -> usize {
        self.buf.len()
    }

    /// Memory held.
    pub fn capacity(&self) -> usize {
        self.buf.capacity()
    }

    /// Lends a buffer to an input that holds none, or none that is in use.
    pub fn lend(&mut self, buf: &mut Vec<u8>) {
        self.buf.lend(buf);
    }

    /// Takes the lent buffer back; what has not been taken from it moves to memory of its own, which is given up when it is
    /// not needed any more.
    pub fn give_back(&mut self, lent: &mut Vec<u8>) {
        self.buf.give_back(lent);
    }

    /// Appends bytes that came by another way.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buf.push(bytes);
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
            let at = if self.joined == 0 { 0 } else { HEADER + self.joined };
            let bytes = &self.buf.bytes()[at..];
            let Some(&[a, b, c, seq]) = bytes.first_chunk::<HEADER>() else {
                return Ok(None);
            };
            let len = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
            if self.joined + len > max {
                return Err(PacketError::TooLarge);
            }
            if seq != self.seq {
                return Err(PacketError::OutOfOrder);
            }
            if bytes.len() - HEADER < len {
                return Ok(None);
            }
            if self.joined > 0 {
                self.buf.cut(at, HEADER);
            }
            self.joined += len;
            self.seq = seq.wrapping_add(1);
            if len == CHUNK_MAX {
                continue;
            }
            let whole = self.buf.take(HEADER + self.joined);
            self.joined = 0;
            return Ok(Some(Packet { range: whole.start + HEADER..whole.end, seq }));
        }
    }

    /// The bytes of a payload that [`Input::next`] gave; good until the next call that changes the input.
    #[inline]
    pub fn payload(&self, packet: &Packet) -> &[u8] {
        self.buf.get(&packet.range)
    }

    /// Everything received and not taken, unparsed: for a layer below packets that begins in mid-stream.
    pub fn take_raw(&mut self) -> Vec<u8> {
        let all = self.buf.take(self.buf.len());
        self.buf.get(&all).to_vec()
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
