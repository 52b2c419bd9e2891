//! The default record: a row in MySQL's row format.

use super::super::Frm;
use super::super::columns::{ColumnDefault, FrmColumn, code};
use super::{Result, form, two_bytes, unwritable};
use crate::charset::Charset;

/// Where columns are in a row.
pub(super) struct Layout {
    /// From 0.
    pub(super) positions: Vec<usize>,
    pub(super) record_len: usize,
    null_bytes: usize,
}

impl Layout {
    pub(super) fn of(frm: &Frm) -> Result<Layout> {
        let bits = frm.columns.iter().filter(|c| c.nullable).count() + usize::from(frm.has_reserved_bit());
        let null_bytes = bits.div_ceil(8);
        let mut at = null_bytes;
        let mut positions = Vec::with_capacity(frm.columns.len());
        for column in &frm.columns {
            positions.push(at);
            at += column.row_len();
        }
        two_bytes(at, "bytes in a row")?;
        Ok(Layout { positions, record_len: at, null_bytes })
    }

    /// A row with every default: bits that nobody uses are set, columns without a default are empty.
    pub(super) fn default_record(&self, frm: &Frm) -> Result<Vec<u8>> {
        let mut out = vec![0; self.record_len];
        out[..self.null_bytes].fill(0xFF);
        let mut bit = usize::from(frm.has_reserved_bit());
        for (column, &at) in frm.columns.iter().zip(&self.positions) {
            if column.nullable {
                if !form::is_null(column) {
                    out[bit / 8] &= !(1 << (bit % 8));
                }
                bit += 1;
            }
            let value = &mut out[at..at + column.row_len()];
            match &column.default {
                ColumnDefault::Row(bytes) if bytes.len() == value.len() => value.copy_from_slice(bytes),
                ColumnDefault::Row(_) => return unwritable(format!("the default of column {}", column.name)),
                _ => fill_empty(column, value),
            }
        }
        Ok(out)
    }
}

/// What stands where there is no default, or NULL.
fn fill_empty(column: &FrmColumn, value: &mut [u8]) {
    let first = match column.type_code {
        code::STRING => {
            let charset = Charset::of_any_collation(column.collation).unwrap_or(Charset::LATIN1);
            if charset != Charset::BINARY {
                let space = charset.space();
                value.chunks_mut(space.len()).for_each(|c| c.copy_from_slice(&space[..c.len()]));
            }
            return;
        }
        // Zero.
        code::NEWDECIMAL | code::DATETIME | code::TIME => 0x80,
        code::ENUM if !column.nullable => 1,
        _ => return,
    };
    if let Some(byte) = value.first_mut() {
        *byte = first;
    }
}
