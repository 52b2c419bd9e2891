//! CHECKSUM TABLE: the number that MySQL 5.6 gives for the same rows.
//!
//! The sum, modulo 2^32, of a CRC-32 (zlib's) of each row: of its NULL bits, then of its columns in order, as MySQL has
//! them in memory. Found out by experiments with 5.6.24:
//!
//! - NULL bits: one for each column that may be NULL, 1 for NULL, lowest bit first; before them one that is always 1,
//!   unless there is a VARCHAR, VARBINARY, BLOB or TEXT column; unused bits of the last byte are 1. No bits, no byte.
//! - Integers, ENUM and SET are little-endian; DATE is its day number of 16 × 32 days, little-endian; FLOAT and DOUBLE,
//!   DECIMAL, YEAR, BIT, TIME, DATETIME and TIMESTAMP are as they are stored.
//! - CHAR and BINARY are padded to their full length in bytes; of VARCHAR, BLOB and TEXT there is the value alone.
//! - A column that is NULL has its default value there, or its type's own.

use std::ops::ControlFlow;
use vaquita_catalog::error;
use vaquita_catalog::{ColumnInfo, TableInfo};
use vaquita_engine::lower::column::{ColumnDef, MType};
use vaquita_engine::table::DefaultValue;
use vaquita_engine::{Direction, Error, ReadOptions, RowRef, Statement};
use vaquita_types::{Kind, SqlResult};

/// The checksum of the rows that the statement sees.
///
/// # Errors
/// Of reading.
pub fn checksum(statement: &mut Statement<'_>, info: &TableInfo) -> SqlResult<u32> {
    let mut cursor = error::of_engine(statement.cursor(&info.table, &ReadOptions::default()))?;
    let packed = info.shown_columns().any(|(_, c)| is_variable(c.sql_type().kind));
    let (mut sum, mut failed) = (0u32, None);
    let mut scratch = Scratch::default();
    let scanned =
        statement.for_each(&mut cursor, Direction::Forward, |row| match scratch.row(row, info, packed) {
            Ok(crc) => {
                sum = sum.wrapping_add(crc);
                ControlFlow::Continue(())
            }
            Err(e) => {
                failed = Some(e);
                ControlFlow::Break(())
            }
        });
    error::of_engine(scanned)?;
    match failed {
        Some(e) => Err(error::engine(&e)),
        None => Ok(sum),
    }
}

fn is_variable(kind: Kind) -> bool {
    kind.is_string() && kind != Kind::Char || matches!(kind, Kind::Json | Kind::Geometry)
}

#[derive(Debug, Default)]
struct Scratch {
    nulls: Vec<u8>,
    value: Vec<u8>,
    record: Vec<u8>,
}

impl Scratch {
    fn row(&mut self, row: &RowRef<'_>, info: &TableInfo, packed: bool) -> Result<u32, Error> {
        self.record.clear();
        self.nulls.clear();
        let mut bits = 0;
        let mut push_bit = |nulls: &mut Vec<u8>, on: bool| {
            if bits % 8 == 0 {
                nulls.push(0xFF);
            }
            if let (false, Some(last)) = (on, nulls.last_mut()) {
                *last &= !(1 << (bits % 8));
            }
            bits += 1;
        };
        if !packed {
            push_bit(&mut self.nulls, true);
        }
        for (i, column) in info.shown_columns() {
            self.value.clear();
            let is_some = row.read_column(i, &mut self.value)?;
            if column.is_nullable() {
                push_bit(&mut self.nulls, !is_some);
            }
            let value = match (is_some, &column.default) {
                (true, _) => &self.value[..],
                (false, DefaultValue::Stored(default)) => default,
                // No label, not the first one.
                (false, _) if column.sql_type().kind == Kind::Enum => &[0; 2][..column.implicit.len().min(2)],
                (false, _) => &column.implicit,
            };
            push_field(column, &info.table.columns[i].def, value, &mut self.record);
        }
        let crc = zlib_rs::crc32::crc32(0, &self.nulls);
        Ok(zlib_rs::crc32::crc32(crc, &self.record))
    }
}

/// Appends a stored value as MySQL has it in memory.
fn push_field(column: &ColumnInfo, def: &ColumnDef, stored: &[u8], out: &mut Vec<u8>) {
    let ty = column.sql_type();
    match ty.kind {
        Kind::TinyInt | Kind::SmallInt | Kind::MediumInt | Kind::Int | Kind::BigInt | Kind::Date => {
            let at = out.len();
            out.extend(stored.iter().rev());
            // The sign bit is flipped on disk.
            if let (false, Some(high)) = (ty.unsigned, out[at..].last_mut()) {
                *high ^= 0x80;
            }
        }
        Kind::Enum | Kind::Set => out.extend(stored.iter().rev()),
        Kind::Char => {
            let pad = if def.mtype == MType::FixBinary { 0 } else { b' ' };
            let full = out.len() + (def.len as usize).max(stored.len());
            out.extend_from_slice(stored);
            out.resize(full, pad);
        }
        _ => out.extend_from_slice(stored),
    }
}
