//! Packets to send, built in place.

use super::{CHUNK_MAX, HEADER};

/// Where a packet begins, so that it can be taken back.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Mark(usize, u8);

/// Bytes to send: packets whose headers are reserved first and patched when the payload is complete.
#[derive(Debug, Default)]
pub struct Output {
    /// The bytes. Append a payload between [`Output::begin`] and [`Output::end`].
    pub buf: Vec<u8>,
    /// Sequence number of the next packet.
    pub seq: u8,
}

impl Output {
    /// Begins a packet.
    #[inline]
    pub fn begin(&mut self) -> Mark {
        let mark = Mark(self.buf.len(), self.seq);
        self.buf.extend_from_slice(&[0; HEADER]);
        mark
    }

    /// Ends the packet begun at `mark`: patches its header, or several if the payload is too long for one.
    #[inline]
    pub fn end(&mut self, mark: Mark) {
        let len = self.buf.len() - mark.0 - HEADER;
        if len >= CHUNK_MAX {
            return self.split(mark.0, len);
        }
        self.header(mark.0, len);
    }

    /// Takes back everything since `mark`.
    pub fn cut(&mut self, mark: Mark) {
        self.buf.truncate(mark.0);
        self.seq = mark.1;
    }

    /// A place to come back to with [`Output::cut`].
    pub fn mark(&self) -> Mark {
        Mark(self.buf.len(), self.seq)
    }

    /// A whole packet.
    pub fn packet(&mut self, payload: &[u8]) {
        let mark = self.begin();
        self.buf.extend_from_slice(payload);
        self.end(mark);
    }

    #[inline]
    fn header(&mut self, at: usize, len: usize) {
        let header = [len as u8, (len >> 8) as u8, (len >> 16) as u8, self.seq];
        self.buf[at..at + HEADER].copy_from_slice(&header);
        self.seq = self.seq.wrapping_add(1);
    }

    /// Makes room for the headers inside a long payload, from the back, and writes them all.
    #[cold]
    fn split(&mut self, at: usize, len: usize) {
        let more = len / CHUNK_MAX;
        let payload = at + HEADER;
        self.buf.resize(self.buf.len() + more * HEADER, 0);
        for chunk in (1..=more).rev() {
            let from = payload + chunk * CHUNK_MAX;
            let to = (from + CHUNK_MAX).min(payload + len);
            self.buf.copy_within(from..to, from + chunk * HEADER);
        }
        for chunk in 0..=more {
            let part = (len - chunk * CHUNK_MAX).min(CHUNK_MAX);
            self.header(at + chunk * (CHUNK_MAX + HEADER), part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Input;
    use super::*;

    #[test]
    fn headers_carry_length_and_sequence() {
        let mut out = Output { seq: 254, ..Output::default() };
        out.packet(b"abc");
        out.packet(b"");
        out.packet(b"x");
        assert_eq!(out.buf, b"\x03\0\0\xFEabc\0\0\0\xFF\x01\0\0\0x");
        let mark = out.begin();
        out.buf.extend_from_slice(b"not sent");
        out.cut(mark);
        assert_eq!((out.buf.len(), out.seq), (16, 1));
    }

    #[test]
    fn long_payloads_are_split_as_they_are_joined() {
        for len in [CHUNK_MAX - 1, CHUNK_MAX, CHUNK_MAX + 1, 2 * CHUNK_MAX, 2 * CHUNK_MAX + 77] {
            let payload: Vec<u8> = (0..len).map(|i| (i % 253) as u8).collect();
            let mut out = Output::default();
            out.packet(&payload);
            assert_eq!(out.buf.len(), len + HEADER * (1 + len / CHUNK_MAX), "{len}");
            let mut input = Input::default();
            input.push(&out.buf);
            let got = input.next(1 << 30).unwrap().unwrap();
            assert!(input.payload(&got) == payload.as_slice(), "{len}");
            assert_eq!(usize::from(out.seq), 1 + len / CHUNK_MAX);
            assert!(input.is_empty());
        }
    }
}
