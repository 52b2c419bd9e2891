//! Seeded mutations for runs without a guide: bits, bytes, numbers of interest, copies and cuts.

use vaquita_base::rng::Rng;

/// Values at which length and offset checks break.
const EDGES: [u64; 12] =
    [0, 1, 0x7F, 0x80, 0xFF, 0x3FFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, u64::MAX];

/// Changes `data` in one to eight places; may change its length.
pub fn mutate(data: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.index(8) {
        if data.is_empty() {
            data.push(rng.next_u64() as u8);
        }
        let at = rng.index(data.len());
        match rng.index(8) {
            0 => data[at] ^= 1 << rng.index(8),
            1 => data[at] = rng.next_u64() as u8,
            2 | 3 => put_edge(data, at, rng),
            4 => copy_within(data, at, rng),
            5 => data.truncate(at),
            6 => {
                let len = rng.index(16.min(data.len() - at) + 1);
                data[at..at + len].fill(if rng.one_in(2) { 0 } else { 0xFF });
            }
            _ => data.insert(at, rng.next_u64() as u8),
        }
    }
}

/// Writes a number of one to eight bytes, big-endian as the format is.
fn put_edge(data: &mut [u8], at: usize, rng: &mut Rng) {
    let width = (1 << rng.index(4)).min(data.len() - at);
    let value = EDGES[rng.index(EDGES.len())].wrapping_add(rng.below(3)).wrapping_sub(1);
    for (byte, place) in data[at..at + width].iter_mut().rev().zip(0..) {
        *byte = (value >> (8 * place)) as u8;
    }
}

fn copy_within(data: &mut [u8], at: usize, rng: &mut Rng) {
    let from = rng.index(data.len());
    let len = rng.index(64.min(data.len() - at.max(from)) + 1);
    data.copy_within(from..from + len, at);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_sequence_and_survives_emptiness() {
        let run = |seed| {
            let mut rng = Rng::new(seed);
            let mut data = Vec::new();
            for _ in 0..2000 {
                mutate(&mut data, &mut rng);
            }
            data
        };
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
    }
}
