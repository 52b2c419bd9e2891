//! The start of a key as a number: most entries of an index differ there, and two numbers are compared in a moment.
//!
//! After Graefe, "Implementing sorting in database systems" (2006): normalized keys, of which a sort holds the first bytes.

use crate::index_def::{FieldCmp, IndexDef};
use crate::tuple::TupleField;
use vaquita_base::codec;

/// Bytes of a start.
const LEN: usize = 16;

/// The first bytes of a key's normalized form. What has the lower start comes first in the index; of equal starts it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyStart([u64; LEN / 8]);

impl KeyStart {
    /// The start of an entry's key. What `scratch` has is of no interest before and after.
    pub fn of<'f>(
        index: &IndexDef,
        fields: impl Iterator<Item = TupleField<'f>>,
        scratch: &mut Vec<u8>,
    ) -> KeyStart {
        scratch.clear();
        for ((layout, &cmp), field) in index.layout().fields().iter().zip(index.compare_plan()).zip(fields) {
            let from = scratch.len();
            if layout.nullable {
                scratch.push(u8::from(field.data.is_some()));
            }
            let goes_on =
                field.data.is_none_or(|value| push(cmp.of_values(), layout.fixed_len, value, scratch));
            if !goes_on {
                // As if zeros followed, which nothing is below.
                scratch.resize(scratch.len().max(LEN), 0);
            }
            if cmp.is_descending() {
                scratch[from..].iter_mut().for_each(|byte| *byte = !*byte);
            }
            if scratch.len() >= LEN {
                break;
            }
        }
        scratch.resize(LEN, 0);
        let word = |at: usize| codec::get_u64(scratch, at);
        KeyStart([word(0), word(8)])
    }
}

/// Appends the normalized form of a value; whether the next field's may follow it. A form that is the start of another one may
/// be followed by nothing.
fn push(cmp: FieldCmp, fixed_len: u16, value: &[u8], out: &mut Vec<u8>) -> bool {
    match cmp {
        FieldCmp::Text(collation) => {
            collation.key_start(value, LEN, out);
            true
        }
        FieldCmp::Float => {
            let bits = <[u8; 4]>::try_from(value).map(u32::from_le_bytes);
            let number = bits.map_or(f64::NAN, |bits| f64::from(f32::from_bits(bits)));
            out.extend_from_slice(&ordered(number));
            true
        }
        FieldCmp::Double => {
            let bits = <[u8; 8]>::try_from(value).map(u64::from_le_bytes);
            out.extend_from_slice(&ordered(bits.map_or(f64::NAN, f64::from_bits)));
            true
        }
        // What is reversed has been turned round by the caller.
        _ => {
            out.extend_from_slice(&value[..value.len().min(LEN)]);
            fixed_len != 0 && value.len() == usize::from(fixed_len)
        }
    }
}

/// Bytes in the order of numbers: both zeros are equal, what is no number comes last.
fn ordered(number: f64) -> [u8; 8] {
    let bits = (number + 0.0).to_bits();
    let turned = match number {
        _ if number.is_nan() => u64::MAX,
        _ if bits >> 63 == 1 => !bits,
        _ => bits | 1 << 63,
    };
    let mut out = [0; 8];
    codec::put_u64(&mut out, 0, turned);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PageSize;
    use crate::collation::list::collations;
    use crate::column::{Charset, ColumnDef};
    use crate::index_def::{IndexKind, IndexSpec, RowFormat};
    use crate::record::compare_fields;
    use std::cmp::Ordering;
    use vaquita_base::{IndexId, Rng};

    fn index(columns: Vec<ColumnDef>, descending: bool) -> IndexDef {
        let spec = IndexSpec {
            id: IndexId(1),
            name: "i".into(),
            row_format: RowFormat::Dynamic,
            page_size: PageSize::DEFAULT,
        };
        let n = columns.len();
        let plain = IndexDef::plain(spec.clone(), columns, n).unwrap();
        if !descending {
            return plain;
        }
        let mut fields = plain.fields().to_vec();
        fields.iter_mut().for_each(|field| field.descending = true);
        IndexDef::from_fields(spec, IndexKind::Plain, false, fields, n).unwrap()
    }

    type Values = Vec<Option<Vec<u8>>>;

    /// Compares some thousand pairs of entries of an index by their starts and by their fields; how many differ by their starts.
    fn held_against(index: &IndexDef, mut entry: impl FnMut() -> Values) -> usize {
        let mut told = 0;
        let mut scratch = Vec::new();
        let mut start = |values: &Values| {
            KeyStart::of(index, values.iter().map(|v| TupleField::nullable(v.as_deref())), &mut scratch)
        };
        for _ in 0..4_000 {
            let (a, b) = (entry(), entry());
            let whole = a.iter().zip(&b).zip(index.compare_plan());
            let order = whole
                .map(|((a, b), cmp)| compare_fields(*cmp, a.as_deref(), b.as_deref()))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal);
            let by_start = start(&a).cmp(&start(&b));
            assert!(by_start.is_eq() || by_start == order, "{a:x?} {b:x?}: {by_start:?}, they are {order:?}");
            told += usize::from(by_start.is_ne());
        }
        told
    }

    /// Texts that are alike: of a few characters, some of several bytes, many spaces, some bytes that are none.
    fn text(rng: &mut Rng) -> Vec<u8> {
        const PARTS: [&[u8]; 10] = [
            b"a",
            b"B",
            b" ",
            b" ",
            b"  ",
            "\u{e4}".as_bytes(),
            "\u{4e2d}".as_bytes(),
            b"\t",
            b"\xff",
            b"\0",
        ];
        let (parts, kinds) = (rng.index(50), if rng.one_in(3) { PARTS.len() } else { 5 });
        (0..parts).flat_map(|_| PARTS[rng.index(kinds)]).copied().collect()
    }

    #[test]
    fn texts_of_every_collation_are_ordered_by_their_starts() {
        let mut rng = Rng::new(7);
        for listed in collations() {
            for descending in [false, true] {
                let charset = Charset { collation: listed.id, mbminlen: 1, mbmaxlen: 4 };
                let column = || ColumnDef::varchar("t", 100, charset);
                let two = index(vec![column(), column()], descending);
                held_against(&two, || (0..2).map(|_| (!rng.one_in(9)).then(|| text(&mut rng))).collect());
            }
        }
    }

    #[test]
    fn numbers_and_bytes_are_ordered_by_their_starts() {
        let mut rng = Rng::new(8);
        let doubles =
            [0.0, -0.0, 1.5, -1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, -1e-300];
        for descending in [false, true] {
            let columns = vec![
                ColumnDef::varbinary("v", 40),
                ColumnDef::int("i", 4, true),
                ColumnDef::int("j", 8, true).not_null(),
            ];
            let told = held_against(&index(columns, descending), || {
                let bytes =
                    |rng: &mut Rng, len: usize| (0..len).map(|_| rng.below(3) as u8).collect::<Vec<u8>>();
                let len = rng.index(4);
                vec![
                    (!rng.one_in(5)).then(|| bytes(&mut rng, len)),
                    (!rng.one_in(5)).then(|| bytes(&mut rng, 4)),
                    Some(bytes(&mut rng, 8)),
                ]
            });
            assert!(told > 3_000, "{told}");
            let told = held_against(
                &index(vec![ColumnDef::double("d"), ColumnDef::double("e")], descending),
                || {
                    (0..2)
                        .map(|_| (!rng.one_in(9)).then(|| doubles[rng.index(9)].to_le_bytes().to_vec()))
                        .collect()
                },
            );
            assert!(told > 3_000, "{told}");
        }
    }
}
