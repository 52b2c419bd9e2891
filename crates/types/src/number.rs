//! Numbers as text, and text as numbers.

/// Appends an integer.
pub fn push_i64(v: i64, out: &mut Vec<u8>) {
    if v < 0 {
        out.push(b'-');
    }
    push_u64(v.unsigned_abs(), out);
}

/// Appends an integer.
pub fn push_u64(v: u64, out: &mut Vec<u8>) {
    let _ = (v, out);
    todo!()
}

/// Appends a DOUBLE: the shortest digits that read back the same; with an exponent below 1e-15 and from 1e15.
pub fn push_f64(v: f64, out: &mut Vec<u8>) {
    let _ = (v, out);
    todo!()
}

/// Appends a FLOAT: six digits.
pub fn push_f32(v: f32, out: &mut Vec<u8>) {
    let _ = (v, out);
    todo!()
}

/// Appends a FLOAT(M,D) or DOUBLE(M,D): so many digits after the point.
pub fn push_fixed(v: f64, decimals: u8, out: &mut Vec<u8>) {
    let _ = (v, decimals, out);
    todo!()
}

/// A number at the start of text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leading<T> {
    /// The number, 0 if there is none; clipped if it is out of range.
    pub value: T,
    /// Bytes that belong to it, leading spaces among them; 0 if there is none.
    pub used: usize,
    /// It was out of range.
    pub overflow: bool,
    /// Nothing but spaces follows, and there was a number.
    pub clean: bool,
}

/// An integer of either signedness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integer {
    /// Negative, or any that fits.
    Signed(i64),
    /// Above `i64::MAX`.
    Unsigned(u64),
}

/// The DOUBLE at the start of text.
pub fn parse_f64(text: &[u8]) -> Leading<f64> {
    let _ = text;
    todo!()
}

/// The integer at the start of text: spaces, sign, digits.
pub fn parse_int(text: &[u8]) -> Leading<Integer> {
    let _ = text;
    todo!()
}
