//! Records from tuples.
//!
//! The result holds the bytes below the origin (lengths, null bitmap, header) followed by the data, as they lie in a
//! page. The header has the tuple's info bits and the status; heap number, n_owned and next are zero until the
//! record is inserted.

use super::header::{COMP_HEADER, INFO_VERSION, OLD_HEADER, STATUS_NODE_PTR};
use super::offsets::{CHILD_LEN, RecSize};
use crate::record_layout::RecLayout;
use crate::tuple::{Tuple, TupleField};
use vaquita_base::codec::{put_u16, put_u32};

/// Most data bytes with one-byte end offsets in a REDUNDANT record.
const SHORT_DATA_MAX: usize = 127;

/// Sizes of the record that [`encode`] would make.
pub fn encoded_size(layout: &RecLayout, tuple: &Tuple<'_>) -> RecSize {
    let child = if tuple.child().is_some() { CHILD_LEN } else { 0 };
    let version = if child == 0 { layout.version() } else { 0 };
    let mut size = if layout.comp() {
        let extra = COMP_HEADER + usize::from(version != 0) + layout.null_bytes_in(version);
        RecSize { extra, data: child }
    } else {
        RecSize { extra: OLD_HEADER, data: child }
    };
    for (f, field) in layout.fields().iter().zip(tuple.fields()).filter(|(f, _)| f.is_in(version)) {
        match (field.data, layout.comp()) {
            (None, true) => {}
            (None, false) => size.data += usize::from(f.null_len),
            (Some(data), comp) => {
                size.data += data.len();
                if comp && f.fixed_len == 0 {
                    size.extra += length_bytes(f.big, field);
                }
            }
        }
    }
    if !layout.comp() {
        let n = tuple.fields().len() + usize::from(child != 0);
        size.extra += n * if size.data <= SHORT_DATA_MAX { 1 } else { 2 };
    }
    size
}

/// Replaces `out` by the record of a tuple, in the newest version, and returns the number of bytes below its origin.
///
/// # Panics
/// If the number of fields is not that of the index (for a node pointer: of its key), or a value does not fit its
/// field: such a record would destroy the page.
pub fn encode(layout: &RecLayout, tuple: &Tuple<'_>, out: &mut Vec<u8>) -> usize {
    encode_sized(layout, tuple, encoded_size(layout, tuple), out)
}

/// The same for who knows its [`encoded_size`].
///
/// # Panics
/// As [`encode`], and if it has another size.
pub fn encode_sized(layout: &RecLayout, tuple: &Tuple<'_>, size: RecSize, out: &mut Vec<u8>) -> usize {
    let want = if tuple.child().is_some() { layout.n_node_key() } else { layout.fields().len() };
    assert_eq!(tuple.fields().len(), want, "fields of the tuple");
    debug_assert_eq!(size.total(), encoded_size(layout, tuple).total(), "size of the tuple's record");
    out.clear();
    out.resize(size.total(), 0);
    if layout.comp() {
        encode_comp(layout, tuple, out, size.extra);
    } else {
        encode_old(layout, tuple, out, size);
    }
    if let Some(child) = tuple.child() {
        let at = out.len() - CHILD_LEN;
        put_u32(out, at, child.get());
    }
    size.extra
}

fn encode_comp(layout: &RecLayout, tuple: &Tuple<'_>, out: &mut [u8], origin: usize) {
    let is_node_ptr = tuple.child().is_some();
    let version = if is_node_ptr { 0 } else { layout.version() };
    out[origin - COMP_HEADER] = tuple.info_bits() & !INFO_VERSION;
    if is_node_ptr {
        out[origin - 3] = STATUS_NODE_PTR;
    }
    let mut header = origin - COMP_HEADER;
    if version != 0 {
        out[header] |= INFO_VERSION;
        header -= 1;
        out[header] = version;
    }
    let mut nulls = header.wrapping_sub(1);
    let mut lens = nulls.wrapping_sub(layout.null_bytes_in(version));
    let mut mask = 1u8;
    let mut at = origin;
    for (f, field) in layout.fields().iter().zip(tuple.fields()).filter(|(f, _)| f.is_in(version)) {
        if f.nullable {
            if mask == 0 {
                mask = 1;
                nulls -= 1;
            }
            if field.data.is_none() {
                out[nulls] |= mask;
            }
            mask <<= 1;
        }
        let Some(data) = field.data else {
            assert!(f.nullable, "NULL in a NOT NULL field");
            continue;
        };
        if f.fixed_len != 0 {
            assert_eq!(data.len(), usize::from(f.fixed_len), "length of a fixed field");
        } else {
            lens = put_length(out, lens, f.big, field, data.len());
        }
        out[at..at + data.len()].copy_from_slice(data);
        at += data.len();
    }
}

/// Writes a length downwards from `lens` and returns the next free byte below.
fn put_length(out: &mut [u8], lens: usize, big: bool, field: &TupleField<'_>, len: usize) -> usize {
    if length_bytes(big, field) == 1 {
        assert!(len <= 0xFF, "length of a short field");
        out[lens] = len as u8;
        return lens.wrapping_sub(1);
    }
    assert!(len <= 0x3FFF, "length of a long field");
    let external = if field.external { 0x40 } else { 0 };
    out[lens] = 0x80 | external | (len >> 8) as u8;
    out[lens - 1] = len as u8;
    lens.wrapping_sub(2)
}

fn length_bytes(big: bool, field: &TupleField<'_>) -> usize {
    if big && (field.external || field.data.is_some_and(|d| d.len() > 0x7F)) { 2 } else { 1 }
}

fn encode_old(layout: &RecLayout, tuple: &Tuple<'_>, out: &mut [u8], size: RecSize) {
    let origin = size.extra;
    let short = size.data <= SHORT_DATA_MAX;
    assert!(size.data <= 0x3FFF, "length of a record");
    let n = tuple.fields().len() + usize::from(tuple.child().is_some());
    out[origin - OLD_HEADER] = tuple.info_bits();
    put_u16(out, origin - 4, (n as u16) << 1 | u16::from(short));
    let mut end = 0usize;
    let put_end = |out: &mut [u8], i: usize, end: usize, flags: u16| {
        if short {
            assert!(flags & 0x4000 == 0, "external field in a record of at most 127 bytes");
            out[origin - OLD_HEADER - 1 - i] = end as u8 | (flags >> 8) as u8;
        } else {
            put_u16(out, origin - OLD_HEADER - 2 - 2 * i, end as u16 | flags);
        }
    };
    for (i, (f, field)) in layout.fields().iter().zip(tuple.fields()).enumerate() {
        let Some(data) = field.data else {
            assert!(f.nullable, "NULL in a NOT NULL field");
            end += usize::from(f.null_len);
            put_end(out, i, end, 0x8000);
            continue;
        };
        out[origin + end..origin + end + data.len()].copy_from_slice(data);
        end += data.len();
        put_end(out, i, end, if field.external { 0x4000 } else { 0 });
    }
    if tuple.child().is_some() {
        put_end(out, n - 1, end + CHILD_LEN, 0);
    }
}
