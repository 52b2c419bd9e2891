//! Checksum primitives. Which bytes of a page or block they cover is the format crate's business.

/// InnoDB's fold of a byte string, low 32 bits (`innodb` page checksums, checkpoint fields of the redo log).
pub fn fold(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |f, &b| fold_pair(f, u32::from(b)))
}

/// Strings that [`fold_lanes`] takes.
pub const FOLD_LANES: usize = 16;

/// [`fold`] of strings of one length, side by side, in vectors as wide as the processor has. A fold waits for its own last step at every
/// byte; sixteen that do not know of each other are done in the time of two, or, with the narrowest vectors, of four.
///
/// # Panics
/// If their lengths differ.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
pub fn fold_lanes(strings: [&[u8]; FOLD_LANES]) -> [u32; FOLD_LANES] {
    let len = strings[0].len();
    assert!(strings.iter().all(|s| s.len() == len), "strings of one length are folded together");
    let whole = len - len % RUN;
    let mut folds = [0; FOLD_LANES];
    for at in (0..whole).step_by(RUN) {
        for mut words in side_by_side(|i| &strings[i][at..at + RUN]) {
            for _ in 0..WORD {
                for (f, word) in folds.iter_mut().zip(&mut words) {
                    *f = fold_pair(*f, *word & 0xFF);
                    *word >>= 8;
                }
            }
        }
    }
    let rest = |i: usize| strings[i][whole..].iter().fold(folds[i], |f, &b| fold_pair(f, u32::from(b)));
    std::array::from_fn(rest)
}

/// Bytes of a word.
const WORD: usize = 4;
/// Bytes of each string that are taken at once.
const RUN: usize = WORD * WORD;

/// The first words of all runs, the second ones, and so on. Four strings at a time are turned in registers: that is far less than a load
/// of each word.
#[inline(always)]
fn side_by_side<'r>(run: impl Fn(usize) -> &'r [u8]) -> [[u32; FOLD_LANES]; WORD] {
    let mut words = [[0; FOLD_LANES]; WORD];
    for first in (0..FOLD_LANES).step_by(WORD) {
        let four: [[u32; WORD]; WORD] = std::array::from_fn(|i| {
            let (run, _) = run(first + i).as_chunks::<WORD>();
            std::array::from_fn(|w| u32::from_le_bytes(run[w]))
        });
        for (w, words) in words.iter_mut().enumerate() {
            (0..WORD).for_each(|i| words[first + i] = four[i][w]);
        }
    }
    words
}

#[inline(always)]
fn fold_pair(f: u32, n: u32) -> u32 {
    const MASK_1: u32 = 1_653_893_711;
    const MASK_2: u32 = 1_463_735_687;
    (((f ^ n ^ MASK_1) << 8).wrapping_add(f) ^ MASK_2).wrapping_add(n)
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
    fn folds_side_by_side_are_those_of_each() {
        let bytes: Vec<u8> = (0..40_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 21) as u8).collect();
        for len in [0, 1, 3, 4, 5, 22, 1_000, 16_338] {
            let strings: [&[u8]; FOLD_LANES] = std::array::from_fn(|i| &bytes[i * 1_471..][..len]);
            assert_eq!(fold_lanes(strings), strings.map(fold), "{len} bytes");
        }
    }

    #[test]
    fn adler_of_pieces_equals_adler_of_the_whole() {
        let bytes: Vec<u8> = (0..20_000u32).map(|i| (i * 31 % 251) as u8).collect();
        assert_eq!(adler32(adler32(0, &bytes[..777]), &bytes[777..]), adler32(0, &bytes));
    }
}
