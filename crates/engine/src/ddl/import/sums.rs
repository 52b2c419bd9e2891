//! Sets that are compared without being kept: whatever order their members come in, the sums of what they are mixed to are equal.
//!
//! Different sets have equal sums by chance alone, once in 2⁶⁴ times. Whoever chooses the bytes can do better; that he has not altered
//! them is not what is asked here.

/// A sum over a set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sum(u64);

impl Sum {
    /// Adds a member that is a pair of numbers.
    pub(super) fn add_pair(&mut self, a: u32, b: u32) {
        self.0 = self.0.wrapping_add(mixed(u64::from(a) << 32 | u64::from(b)));
    }

    /// Adds a member.
    pub(super) fn add(&mut self, member: Member) {
        self.0 = self.0.wrapping_add(mixed(member.0));
    }
}

/// A member that is a row of fields.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member(u64);

impl Member {
    /// One without fields.
    pub(super) fn new() -> Member {
        Member(0x51_7c_c1_b7_27_22_0a_95)
    }

    /// The same with another field.
    pub(super) fn field(&mut self, value: Option<&[u8]>) {
        let Some(value) = value else {
            self.take(u64::MAX);
            return;
        };
        let mut words = value.chunks_exact(8);
        for word in &mut words {
            self.take(u64::from_le_bytes(word.try_into().expect("eight bytes")));
        }
        let rest = words.remainder();
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.take(u64::from_le_bytes(word));
        }
        self.take(value.len() as u64);
    }

    fn take(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 29;
    }
}

/// Every bit of the number in every bit of the result.
fn mixed(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(fields: &[Option<&[u8]>]) -> Sum {
        let (mut member, mut sum) = (Member::new(), Sum::default());
        fields.iter().for_each(|field| member.field(*field));
        sum.add(member);
        sum
    }

    #[test]
    fn members_differ_by_where_their_fields_end() {
        let rows: [&[Option<&[u8]>]; 7] = [
            &[],
            &[None],
            &[Some(b"")],
            &[Some(b"ab"), Some(b"c")],
            &[Some(b"a"), Some(b"bc")],
            &[Some(b"abcdefgh")],
            &[Some(b"abcdefgh\0")],
        ];
        for (i, a) in rows.iter().enumerate() {
            for b in &rows[i + 1..] {
                assert_ne!(member(a), member(b), "{a:?}, {b:?}");
            }
        }
    }

    #[test]
    fn order_does_not_matter() {
        let (mut a, mut b) = (Sum::default(), Sum::default());
        (0..100).for_each(|i| a.add_pair(i, i + 1));
        (0..100).rev().for_each(|i| b.add_pair(i, i + 1));
        assert_eq!(a, b);
        b.add_pair(1, 1);
        assert_ne!(a, b);
    }
}
