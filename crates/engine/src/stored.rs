//! Stored forms of the commonest values, for programs that use the engine without SQL. Other types:
//! [`vaquita_format::value`].

use vaquita_base::codec::{get_uint, put_u16, put_u32, put_u64};

/// INT.
pub fn int(value: i32) -> [u8; 4] {
    let mut out = [0; 4];
    put_u32(&mut out, 0, value as u32 ^ 1 << 31);
    out
}

/// BIGINT.
pub fn bigint(value: i64) -> [u8; 8] {
    let mut out = [0; 8];
    put_u64(&mut out, 0, value as u64 ^ 1 << 63);
    out
}

/// SMALLINT UNSIGNED.
pub fn smallint_unsigned(value: u16) -> [u8; 2] {
    let mut out = [0; 2];
    put_u16(&mut out, 0, value);
    out
}

/// INT UNSIGNED.
pub fn int_unsigned(value: u32) -> [u8; 4] {
    let mut out = [0; 4];
    put_u32(&mut out, 0, value);
    out
}

/// BIGINT UNSIGNED.
pub fn bigint_unsigned(value: u64) -> [u8; 8] {
    let mut out = [0; 8];
    put_u64(&mut out, 0, value);
    out
}

/// A stored signed integer of one to eight bytes.
///
/// # Panics
/// If there are no bytes, or more than eight.
pub fn to_signed(stored: &[u8]) -> i64 {
    let shift = 64 - stored.len() * 8;
    let raw = get_uint(stored, 0, stored.len()) << shift;
    ((raw ^ 1 << 63) as i64) >> shift
}

/// A stored unsigned integer of one to eight bytes.
///
/// # Panics
/// If there are more than eight.
pub fn to_unsigned(stored: &[u8]) -> u64 {
    get_uint(stored, 0, stored.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        assert_eq!(int(7), [0x80, 0, 0, 7]);
        assert_eq!(int(-1), [0x7f, 0xff, 0xff, 0xff]);
        assert_eq!(bigint(i64::MIN), [0; 8]);
        assert_eq!(
            (to_signed(&int(-5)), to_signed(&bigint(i64::MAX)), to_signed(&[0x7f])),
            (-5, i64::MAX, -1)
        );
        assert_eq!(to_signed(&[0x80, 0, 1]), 1);
        assert_eq!(to_unsigned(&smallint_unsigned(258)), 258);
        assert_eq!(int_unsigned(1), [0, 0, 0, 1]);
        assert_eq!(to_unsigned(&bigint_unsigned(u64::MAX)), u64::MAX);
    }
}
