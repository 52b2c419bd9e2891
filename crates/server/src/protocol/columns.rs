//! Column definitions.

use crate::packet::Output;
use crate::packet::lenenc::{push_int, push_string};
use std::sync::Arc;
use vaquita_sql::ColumnMeta;
use vaquita_sql::types::{Kind, SqlType};

/// Flags of a column that this module itself adds.
mod flag {
    pub(super) const NOT_NULL: u16 = 1;
    pub(super) const BLOB: u16 = 16;
    pub(super) const UNSIGNED: u16 = 32;
    pub(super) const ZEROFILL: u16 = 64;
    pub(super) const BINARY: u16 = 128;
    pub(super) const ENUM: u16 = 256;
    pub(super) const SET: u16 = 2048;
}

const COLLATION_BINARY: u16 = 63;

/// Type bytes of the protocol.
pub mod wire_type {
    #![allow(missing_docs)]
    pub const DECIMAL: u8 = 0;
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const JSON: u8 = 245;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
    pub const GEOMETRY: u8 = 255;
}

/// The number of columns, then their definitions. What ends them depends on the client.
pub fn push_columns(out: &mut Output, columns: &[ColumnMeta]) {
    let mark = out.begin();
    push_int(&mut out.buf, columns.len() as u64);
    out.end(mark);
    push_definitions(out, columns);
}

/// Definitions a session has sent, encoded: a plan gives the same columns with every execution.
///
/// A list of columns may lie in any place of its set; if all are taken, the places are given away in turn, and their memory
/// with them. So a client that goes round more statements than there are places costs encoding, but no allocation.
#[derive(Debug, Default)]
pub struct Definitions {
    /// Sets of places, by the address of the columns; none before the first result.
    kept: Vec<[Encoded; Self::WAYS]>,
    /// The place of a full set that is given away next.
    turn: usize,
}

/// Encoded definitions. The columns are held, so that no others can come to stand at their address.
#[derive(Debug, Default)]
struct Encoded {
    columns: Option<Arc<[ColumnMeta]>>,
    /// The packets, numbered from 1 on.
    packets: Vec<u8>,
}

impl Encoded {
    fn is_of(&self, columns: &Arc<[ColumnMeta]>) -> bool {
        self.columns.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, columns))
    }
}

impl Definitions {
    /// Sets of places: a power of two.
    const SETS: usize = 8;

    /// Places of a set.
    const WAYS: usize = 4;

    /// Longest definitions that are kept, in bytes.
    const ENCODED_MAX: usize = 4096;

    /// What [`push_columns`] does.
    pub fn push(&mut self, out: &mut Output, columns: &Arc<[ColumnMeta]>) {
        // Of all but the first result of a command the packets have other numbers.
        if out.seq != 1 {
            return push_columns(out, columns);
        }
        if self.kept.is_empty() {
            self.kept.resize_with(Self::SETS, Default::default);
        }
        let set = &mut self.kept[Self::set_of(columns)];
        if let Some(kept) = set.iter().find(|kept| kept.is_of(columns)) {
            out.buf.extend_from_slice(&kept.packets);
            out.seq = out.seq.wrapping_add(1).wrapping_add(columns.len() as u8);
            return;
        }
        let start = out.buf.len();
        push_columns(out, columns);
        let packets = &out.buf[start..];
        if packets.len() <= Self::ENCODED_MAX {
            let place = set.iter().position(|kept| kept.columns.is_none()).unwrap_or_else(|| {
                self.turn = (self.turn + 1) % Self::WAYS;
                self.turn
            });
            let place = &mut set[place];
            place.columns = Some(columns.clone());
            place.packets.clear();
            place.packets.extend_from_slice(packets);
        }
    }

    /// Allocations lie at multiples of their sizes: the product spreads them.
    fn set_of(columns: &Arc<[ColumnMeta]>) -> usize {
        let spread = (columns.as_ptr().addr() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (spread >> (u64::BITS - Self::SETS.ilog2())) as usize
    }
}

/// The definitions alone.
pub fn push_definitions(out: &mut Output, columns: &[ColumnMeta]) {
    for column in columns {
        let mark = out.begin();
        push_definition(&mut out.buf, column);
        out.end(mark);
    }
}

/// The definitions as COM_FIELD_LIST has them: with a default, which is not told.
pub fn push_field(out: &mut Output, column: &ColumnMeta) {
    let mark = out.begin();
    push_definition(&mut out.buf, column);
    out.buf.push(0xFB);
    out.end(mark);
}

/// The definition of a parameter: nothing is known about it.
pub fn push_parameter(out: &mut Output) {
    let mark = out.begin();
    let b = &mut out.buf;
    b.extend_from_slice(b"\x03def\0\0\0\x01?\0\x0c");
    b.extend_from_slice(&COLLATION_BINARY.to_le_bytes());
    b.extend_from_slice(&[0; 4]);
    b.push(wire_type::VAR_STRING);
    b.extend_from_slice(&flag::BINARY.to_le_bytes());
    b.extend_from_slice(&[0; 3]);
    out.end(mark);
}

fn push_definition(b: &mut Vec<u8>, column: &ColumnMeta) {
    let ty = &column.ty;
    b.extend_from_slice(b"\x03def");
    push_string(b, &column.schema);
    push_string(b, &column.table);
    push_string(b, &column.org_table);
    push_string(b, &column.name);
    push_string(b, &column.org_name);
    b.push(0x0C);
    b.extend_from_slice(&ty.collation.to_le_bytes());
    b.extend_from_slice(&length(ty).to_le_bytes());
    b.push(ty.protocol_type());
    b.extend_from_slice(&flags(column).to_le_bytes());
    b.push(ty.decimals);
    b.extend_from_slice(&[0, 0]);
}

fn flags(column: &ColumnMeta) -> u16 {
    let ty = &column.ty;
    let mut flags = column.flags;
    let mut set = |on: bool, flag: u16| flags |= if on { flag } else { 0 };
    set(!ty.nullable, flag::NOT_NULL);
    set(ty.unsigned, flag::UNSIGNED);
    set(ty.zerofill, flag::ZEROFILL | flag::UNSIGNED);
    set(ty.kind == Kind::Enum, flag::ENUM);
    set(ty.kind == Kind::Set, flag::SET);
    set(ty.protocol_type() == wire_type::BLOB, flag::BLOB);
    flags
}

/// Width in bytes for display, as the server tells it: strings have so many bytes as their characters may take.
fn length(ty: &SqlType) -> u32 {
    let fraction = |digits: u8| if digits == 0 || digits > 6 { 0 } else { u32::from(digits) + 1 };
    let or = |default: u32| if ty.length == 0 { default } else { ty.length };
    match ty.kind {
        Kind::Null => 0,
        Kind::TinyInt => or(4 - u32::from(ty.unsigned)),
        Kind::SmallInt => or(6 - u32::from(ty.unsigned)),
        Kind::MediumInt => or(9 - u32::from(ty.unsigned)),
        Kind::Int => or(11 - u32::from(ty.unsigned)),
        Kind::BigInt => or(20),
        Kind::Decimal => or(10) + u32::from(ty.decimals > 0) + u32::from(!ty.unsigned),
        Kind::Float => or(12),
        Kind::Double => or(22),
        Kind::Bit => or(1),
        Kind::Year => 4,
        Kind::Date => 10,
        Kind::Time => 10 + fraction(ty.decimals),
        Kind::DateTime | Kind::Timestamp => 19 + fraction(ty.decimals),
        Kind::Char | Kind::VarChar | Kind::Enum | Kind::Set => {
            ty.length.saturating_mul(bytes_per_char(ty.collation))
        }
        Kind::TinyText => 255,
        Kind::Text => 65_535,
        Kind::MediumText => 16_777_215,
        Kind::LongText | Kind::Json | Kind::Geometry => u32::MAX,
    }
}

/// Most bytes of a character in a collation's character set.
fn bytes_per_char(collation: u16) -> u32 {
    match collation {
        33 | 83 | 76 | 192..=223 => 3,
        45 | 46 | 224..=247 | 255..=323 => 4,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_as_mysql_5_6_sends_it() {
        // CREATE TABLE test.t (id INT NOT NULL PRIMARY KEY); SELECT id AS i FROM t x
        let column = ColumnMeta {
            schema: (*b"test").into(),
            table: (*b"x").into(),
            org_table: (*b"t").into(),
            name: (*b"i").into(),
            org_name: (*b"id").into(),
            ty: SqlType { length: 11, ..SqlType::new(Kind::Int) }.not_null(),
            flags: 2 | 4096,
        };
        let mut out = Output { seq: 1, ..Output::default() };
        push_columns(&mut out, &[column]);
        // 0x5003 there has PART_KEY, which the server keeps for itself: 16384.
        let expected = b"\x01\0\0\x01\x01\x1f\0\0\x02\x03def\x04test\x01x\x01t\x01i\x02id\x0c\x3f\0\x0b\0\0\0\x03\x03\x10\0\0\0";
        assert_eq!(out.buf, expected);
    }

    #[test]
    fn kept_definitions_are_those_of_the_columns() {
        let columns = |n: usize| -> Arc<[ColumnMeta]> {
            (0..n).map(|i| ColumnMeta::new(&format!("c{n}_{i}"), SqlType::varchar(10, 45))).collect()
        };
        let lists: Vec<_> = (0..300).map(|n| columns(n % 150)).collect();
        let mut definitions = Definitions::default();
        for round in 0..3 {
            for list in &lists {
                let (mut expected, mut got) = (Output::default(), Output::default());
                (expected.seq, got.seq) = (1 + (round == 1) as u8, 1 + (round == 1) as u8);
                got.buf.push(7);
                push_columns(&mut expected, list);
                definitions.push(&mut got, list);
                definitions.push(&mut Output { seq: 1, ..Output::default() }, list);
                assert_eq!((&got.buf[1..], got.seq), (&expected.buf[..], expected.seq));
            }
        }
    }

    #[test]
    fn lengths_of_strings_are_bytes() {
        assert_eq!(length(&SqlType::varchar(10, 33)), 30);
        assert_eq!(length(&SqlType::varchar(10, 45)), 40);
        assert_eq!(length(&SqlType::varchar(10, 8)), 10);
        assert_eq!(length(&SqlType::varchar(10, 63)), 10);
        assert_eq!(length(&SqlType::decimal(10, 2)), 12);
        assert_eq!(length(&SqlType { unsigned: true, ..SqlType::decimal(10, 0) }), 10);
        assert_eq!(length(&SqlType { decimals: 6, ..SqlType::new(Kind::DateTime) }), 26);
    }
}
