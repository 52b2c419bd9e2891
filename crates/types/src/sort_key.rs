//! Pieces of sort keys: bytes that compare as the values do.

/// Zero bytes escaped, two zero bytes at the end.
pub(crate) fn push_bytes_key(text: &[u8], out: &mut Vec<u8>) {
    for &b in text {
        out.push(b);
        if b == 0 {
            out.push(1);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// The bits of a float, ordered as it is.
pub(crate) fn ordered_bits(v: f64) -> u64 {
    let bits = (v + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}
