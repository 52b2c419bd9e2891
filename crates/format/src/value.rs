//! Column values: between stored bytes and typed values.

/// Bytes of `digits` decimal digits that do not fill a group of nine.
const LEFTOVER_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// Bytes of a DECIMAL(precision, scale).
pub const fn decimal_len(precision: u32, scale: u32) -> usize {
    let int_digits = precision.saturating_sub(scale) as usize;
    let scale = scale as usize;
    int_digits / 9 * 4 + LEFTOVER_BYTES[int_digits % 9] + scale / 9 * 4 + LEFTOVER_BYTES[scale % 9]
}
