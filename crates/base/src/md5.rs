//! MD5, which tells whether two texts are the same, and keeps no secret.

/// MD5 (RFC 1321).
pub fn md5(bytes: &[u8]) -> [u8; 16] {
    const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    let (blocks, rest) = bytes.split_at(bytes.len() / 64 * 64);
    let mut end = rest.to_vec();
    end.push(0x80);
    end.resize((rest.len() + 9).next_multiple_of(64) - 8, 0);
    end.extend_from_slice(&(bytes.len() as u64).wrapping_mul(8).to_le_bytes());
    // The constants are the sines of 1 to 64.
    let sines: Vec<u32> = (1..=64u32).map(|i| (f64::from(i).sin().abs() * 4_294_967_296.0) as u32).collect();
    let mut state = [0x6745_2301u32, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476];
    for block in blocks.chunks_exact(64).chain(end.chunks_exact(64)) {
        let mut words = [0; 16];
        for (word, w) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_le_bytes([w[0], w[1], w[2], w[3]]);
        }
        let [mut a, mut b, mut c, mut d] = state;
        for i in 0..64 {
            let (mixed, word) = match i / 16 {
                0 => (b & c | !b & d, i),
                1 => (d & b | !d & c, (5 * i + 1) % 16),
                2 => (b ^ c ^ d, (3 * i + 5) % 16),
                _ => (c ^ (b | !d), 7 * i % 16),
            };
            let sum = a.wrapping_add(mixed).wrapping_add(sines[i]).wrapping_add(words[word]);
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(SHIFTS[i / 16][i % 4]));
        }
        state = [
            state[0].wrapping_add(a),
            state[1].wrapping_add(b),
            state[2].wrapping_add(c),
            state[3].wrapping_add(d),
        ];
    }
    let mut out = [0; 16];
    for (chunk, word) in out.chunks_exact_mut(4).zip(state) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_the_rfc() {
        let of = |text: &[u8]| md5(text).map(|b| format!("{b:02x}")).concat();
        assert_eq!(of(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(of(b"message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
    }
}
