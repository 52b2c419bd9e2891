//! Exact numbers: up to 65 digits, 30 of them after the point.

/// A DECIMAL: sign, digits in groups of nine, scale.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Decimal {
    negative: bool,
    /// Digits after the point.
    scale: u8,
    /// The number without its point, groups of nine digits, least significant first.
    groups: [u32; 9],
}
