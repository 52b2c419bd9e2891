//! Checksum primitives. Which bytes of a page or block they cover is the format crate's business.

/// InnoDB's fold of a byte string, low 32 bits (`innodb` page checksums, checkpoint fields of the redo log).
pub fn fold(bytes: &[u8]) -> u32 {
    const MASK_1: u32 = 1_653_893_711;
    const MASK_2: u32 = 1_463_735_687;
    let pair = |f: u32, n: u32| ((((f ^ n ^ MASK_1) << 8).wrapping_add(f)) ^ MASK_2).wrapping_add(n);
    bytes.iter().fold(0, |f, &b| pair(f, u32::from(b)))
}

/// CRC-32C (Castagnoli), by the processor where it can.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    ::crc32c::crc32c(bytes)
}

/// Continues an Adler-32 whose running value is `adler`; zlib starts at 1, InnoDB's compressed pages at 0.
pub fn adler32(adler: u32, bytes: &[u8]) -> u32 {
    const BASE: u32 = 65_521;
    // Largest run of additions after which the sums still fit 32 bits (as in zlib's documentation).
    const RUN: usize = 5_552;
    let (mut a, mut b) = (adler & 0xFFFF, adler >> 16);
    for run in bytes.chunks(RUN) {
        for &byte in run {
            a += u32::from(byte);
            b += a;
        }
        a %= BASE;
        b %= BASE;
    }
    b << 16 | a
}

/// Checksum of a 512-byte redo block over everything but its last four bytes.
pub fn redo_block(bytes: &[u8]) -> u32 {
    let (mut sum, mut shift) = (1u32, 0);
    for &byte in bytes {
        sum &= 0x7FFF_FFFF;
        sum = sum.wrapping_add(u32::from(byte).wrapping_add(u32::from(byte) << shift));
        shift = if shift == 24 { 0 } else { shift + 1 };
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_check_values() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(adler32(1, b"Wikipedia"), 0x11E6_0398);
        assert_eq!(adler32(1, &[]), 1);
    }

    #[test]
    fn adler_of_pieces_equals_adler_of_the_whole() {
        let bytes: Vec<u8> = (0..20_000u32).map(|i| (i * 31 % 251) as u8).collect();
        assert_eq!(adler32(adler32(0, &bytes[..777]), &bytes[777..]), adler32(0, &bytes));
    }
}
