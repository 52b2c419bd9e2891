//! The field description at the start of a compressed page's stream.
//!
//! | value | meaning |
//! |---|---|
//! | 0, 1 | variable length, at most 255 bytes; nullable, NOT NULL |
//! | 0x7E, 0x7F | variable length, more; nullable, NOT NULL |
//! | others | fixed length `value >> 1`; bit 0: NOT NULL |
//!
//! Below 126, and for the long variables, a value takes one byte; otherwise two, the first with bit 7 set. Consecutive
//! NOT NULL fixed fields are merged into one entry of their total length (at most 768); DB_TRX_ID begins one.
//! One more integer follows: on clustered leaves the entry that begins with DB_TRX_ID, on secondary leaves 0, above the
//! leaves the number of nullable fields of the whole index.

use crate::error::{Corruption, Result};
use crate::record::layout::{FieldLayout, RecLayout};

/// Bytes of DB_TRX_ID and DB_ROLL_PTR.
pub const SYS_LEN: usize = 13;

/// What a page's records look like, merged fields as one.
#[derive(Debug, Clone)]
pub struct ZipFields {
    /// Layout of the records; a node pointer's child page is not among its fields.
    pub layout: RecLayout,
    /// The field that begins with DB_TRX_ID, on clustered leaves.
    pub trx_id: Option<usize>,
}

impl ZipFields {
    /// Reads a description.
    ///
    /// # Errors
    /// If it ends within a number or its last number is impossible.
    pub fn parse(bytes: &[u8], leaf: bool) -> Result<ZipFields> {
        let mut fields = Vec::new();
        let mut last = None;
        let mut at = 0;
        while at < bytes.len() {
            if let Some((value, wide)) = last.replace(read(bytes, &mut at)?) {
                fields.push(field(value, wide));
            }
        }
        let Some((last, _)) = last else { return Err(bad("empty".into())) };
        let last = usize::from(last);
        let n = fields.len();
        if leaf {
            let trx_id = (last != 0).then_some(last);
            let sys: Option<&FieldLayout> = trx_id.and_then(|t| fields.get(t));
            if trx_id.is_some() && !sys.is_some_and(|f| usize::from(f.fixed_len) >= SYS_LEN && !f.nullable) {
                return Err(bad(format!("field {last} of {n} does not begin with DB_TRX_ID")));
            }
            return Ok(ZipFields { layout: RecLayout::new(true, fields, n)?, trx_id });
        }
        let layout = RecLayout::new(true, fields, n)?;
        let layout = layout.with_n_nullable(last);
        let layout = layout.ok_or_else(|| bad(format!("{last} nullable fields in the index")))?;
        Ok(ZipFields { layout, trx_id: None })
    }
}

fn read(bytes: &[u8], at: &mut usize) -> Result<(u16, bool)> {
    let first = bytes[*at];
    *at += 1;
    if first & 0x80 == 0 {
        return Ok((first.into(), false));
    }
    let Some(&second) = bytes.get(*at) else { return Err(bad("ends within a number".into())) };
    *at += 1;
    Ok((u16::from(first & 0x7F) << 8 | u16::from(second), true))
}

fn field(value: u16, wide: bool) -> FieldLayout {
    let nullable = value & 1 == 0;
    match value {
        0 | 1 if !wide => FieldLayout::new(0, nullable, false),
        0x7E | 0x7F if !wide => FieldLayout::new(0, nullable, true),
        _ => FieldLayout::new(value >> 1, nullable, false),
    }
}

#[cold]
fn bad(detail: String) -> Corruption {
    Corruption::new("field description of a compressed page", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lens(f: &ZipFields) -> Vec<(u16, bool, bool)> {
        f.layout.fields().iter().map(|f| (f.fixed_len, f.nullable, f.big)).collect()
    }

    #[test]
    fn descriptions_of_the_specification() {
        let f = ZipFields::parse(&[0x09, 0x1B, 0x08, 0x00, 0x08, 0x01], true).unwrap();
        assert_eq!(f.trx_id, Some(1));
        let (not_null, null) = (false, true);
        assert_eq!(
            lens(&f),
            [
                (4, not_null, false),
                (13, not_null, false),
                (4, null, false),
                (0, null, false),
                (4, null, false)
            ]
        );
        let f = ZipFields::parse(&[0x08, 0x09, 0x00], true).unwrap();
        assert_eq!((f.trx_id, f.layout.null_bytes()), (None, 1));
        let f = ZipFields::parse(&[0x09, 0x03], false).unwrap();
        assert_eq!((lens(&f), f.layout.n_nullable()), (vec![(4, not_null, false)], 3));
        let f = ZipFields::parse(&[0x09, 0x1B, 0x7E, 0x7E, 0x7F, 0x01], true).unwrap();
        assert_eq!(lens(&f)[2..], [(0, null, true), (0, null, true), (0, not_null, true)]);
        // 100 bytes, NOT NULL: 201 takes two bytes.
        let f = ZipFields::parse(&[0x80, 201, 0x00], true).unwrap();
        assert_eq!(lens(&f), [(100, not_null, false)]);
    }

    #[test]
    fn impossible_descriptions_are_refused() {
        for bytes in
            [&[][..], &[0x00], &[0x09, 0x80], &[0x09, 0x1B, 0x02], &[0x09, 0x0B, 0x01], &[0x09, 0x1A, 0x01]]
        {
            assert!(ZipFields::parse(bytes, true).is_err(), "{bytes:02x?}");
        }
    }
}
