//! The compressed protocol: packets travel inside larger ones.
//!
//! ```text
//! | length of what follows, 3 | sequence number, 1 | length when inflated, 3 | zlib stream |
//! ```
//!
//! A length of 0 when inflated says that the bytes are plain; payloads under [`PLAIN_BELOW`] bytes are always sent so.
//! Borders of packets and of compressed packets have nothing to do with each other.

use super::{CHUNK_MAX, Input, PacketError};
use zlib_rs::{DeflateConfig, InflateConfig, ReturnCode};

/// Shorter payloads gain nothing.
pub const PLAIN_BELOW: usize = 50;

/// Bytes before a compressed payload.
const HEADER: usize = 7;

/// Level 6 costs twice the time of level 2 for a tenth of the size.
const LEVEL: i32 = 2;

/// Received bytes of a compressed stream, not yet complete.
#[derive(Debug, Default)]
pub struct Inflater {
    raw: Vec<u8>,
}

impl Inflater {
    /// Takes `bytes` as they came and appends what they contain to `input`; `seq` is the expected sequence number and is
    /// counted up.
    ///
    /// # Errors
    /// [`PacketError::BadCompression`]; [`PacketError::OutOfOrder`]; [`PacketError::TooLarge`] if more than `max` bytes
    /// (and one header) would wait in `input`.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        input: &mut Input,
        seq: &mut u8,
        max: usize,
    ) -> Result<(), PacketError> {
        self.raw.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(&[a, b, c, s, x, y, z]) = self.raw[at..].first_chunk::<HEADER>() {
            let len = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
            let plain_len = usize::from(x) | usize::from(y) << 8 | usize::from(z) << 16;
            let Some(body) = self.raw[at + HEADER..].get(..len) else { break };
            // A new exchange begins at 0.
            if s != *seq && s != 0 {
                return Err(PacketError::OutOfOrder);
            }
            *seq = s.wrapping_add(1);
            if input.len() + plain_len.max(len) > max.saturating_add(CHUNK_MAX) {
                return Err(PacketError::TooLarge);
            }
            if plain_len == 0 {
                input.push(body);
            } else {
                let mut plain = vec![0; plain_len];
                let (got, code) =
                    zlib_rs::decompress_slice(&mut plain, body, InflateConfig { window_bits: 15 });
                if code != ReturnCode::Ok || got.len() != plain_len {
                    return Err(PacketError::BadCompression);
                }
                input.push(got);
            }
            at += HEADER + len;
        }
        self.raw.drain(..at);
        if self.raw.is_empty() {
            self.raw = Vec::new();
        }
        Ok(())
    }
}

/// Appends `plain` to `out` as compressed packets, counting `seq` up.
pub fn deflate(plain: &[u8], seq: &mut u8, out: &mut Vec<u8>) {
    for chunk in plain.chunks(CHUNK_MAX) {
        let at = out.len();
        out.extend_from_slice(&[0; HEADER]);
        let mut plain_len = 0;
        if chunk.len() >= PLAIN_BELOW {
            let body = out.len();
            out.resize(body + zlib_rs::compress_bound(chunk.len()), 0);
            let (packed, code) = zlib_rs::compress_slice(&mut out[body..], chunk, DeflateConfig::new(LEVEL));
            let packed_len = packed.len();
            // What does not become smaller travels plain.
            if code == ReturnCode::Ok && packed_len < chunk.len() {
                plain_len = chunk.len();
                out.truncate(body + packed_len);
            } else {
                out.truncate(body);
            }
        }
        if plain_len == 0 {
            out.extend_from_slice(chunk);
        }
        let len = out.len() - at - HEADER;
        let header = [
            len as u8,
            (len >> 8) as u8,
            (len >> 16) as u8,
            *seq,
            plain_len as u8,
            (plain_len >> 8) as u8,
            (plain_len >> 16) as u8,
        ];
        out[at..at + HEADER].copy_from_slice(&header);
        *seq = seq.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of a server's answer under compression as `mysql --compress` received it from MySQL 5.6.24 are in the
    /// manual's form: a short plain one.
    #[test]
    fn short_payloads_stay_plain() {
        let mut out = Vec::new();
        deflate(b"\x01\0\0\0\x0e", &mut 0, &mut out);
        assert_eq!(out, b"\x05\0\0\0\0\0\0\x01\0\0\0\x0e");
    }

    #[test]
    fn what_is_deflated_inflates_in_any_pieces() {
        let mut plain: Vec<u8> = b"SELECT ".repeat(3000);
        plain.extend((0..5000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8));
        let mut out = Vec::new();
        let mut seq = 3;
        deflate(&plain, &mut seq, &mut out);
        deflate(&plain[..20], &mut seq, &mut out);
        assert_eq!(seq, 5);
        assert!(out.len() < plain.len());
        for piece in [1, 6, 7, 100, 100_000] {
            let (mut inflater, mut input, mut seq) = (Inflater::default(), Input::default(), 3);
            for part in out.chunks(piece) {
                inflater.feed(part, &mut input, &mut seq, 1 << 20).unwrap();
            }
            let mut expected = plain.clone();
            expected.extend_from_slice(&plain[..20]);
            assert!(input.take_raw() == expected, "pieces of {piece}");
        }
    }

    #[test]
    fn lies_about_lengths_are_refused() {
        let mut good = Vec::new();
        deflate(&[7; 500], &mut 0, &mut good);
        for (at, change) in [(4, 1), (4, 0xFF), (5, 9), (8, 0x40), (good.len() - 1, 0x80)] {
            let mut bad = good.clone();
            bad[at] ^= change;
            let fed = Inflater::default().feed(&bad, &mut Input::default(), &mut 0, 1 << 20);
            assert_eq!(fed, Err(PacketError::BadCompression), "byte {at}");
        }
        let mut late = Vec::new();
        deflate(b"x", &mut 5, &mut late);
        let fed = Inflater::default().feed(&late, &mut Input::default(), &mut 0, 1 << 20);
        assert_eq!(fed, Err(PacketError::OutOfOrder));
    }
}
