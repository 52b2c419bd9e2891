//! Columns as InnoDB's dictionary describes them: main type, precise type, length, character widths.
//!
//! | precise type (`prtype`) bits | meaning |
//! |---|---|
//! | 0..7 | MySQL type code |
//! | 8 (0x100) | NOT NULL |
//! | 9 (0x200) | UNSIGNED |
//! | 10 (0x400) | binary: no collation |
//! | 12 (0x1000) | VARCHAR of more than 255 bytes |
//! | 16.. | collation id |
//!
//! A column says nothing about values (see [`crate::value`]) nor about indexes (see [`crate::index_def`]).

use crate::error::{Corruption, Result};
use crate::row_format::RowFormat;

/// Bytes of `digits` decimal digits that do not fill a group of nine.
pub(crate) const LEFTOVER_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// Bytes of a DECIMAL(precision, scale).
pub const fn decimal_len(precision: u32, scale: u32) -> usize {
    let int_digits = precision.saturating_sub(scale) as usize;
    let scale = scale as usize;
    int_digits / 9 * 4 + LEFTOVER_BYTES[int_digits % 9] + scale / 9 * 4 + LEFTOVER_BYTES[scale % 9]
}

/// Main type: how the bytes of a value are stored and compared. The discriminants are those on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MType {
    /// VARCHAR in latin1_swedish_ci.
    VarChar = 1,
    /// CHAR in latin1_swedish_ci.
    Char = 2,
    /// Fixed-length bytes: BINARY, DECIMAL, BIT, and times with fractions.
    FixBinary = 3,
    /// VARBINARY.
    Binary = 4,
    /// Any BLOB or TEXT, whatever its collation.
    Blob = 5,
    /// Big-endian integers with flipped sign, and all types kept as such.
    Int = 6,
    /// Hidden system columns.
    Sys = 8,
    /// FLOAT.
    Float = 9,
    /// DOUBLE.
    Double = 10,
    /// DECIMAL as text, of very old tables.
    Decimal = 11,
    /// VARCHAR in any other collation.
    VarMySql = 12,
    /// CHAR in any other collation.
    MySql = 13,
}

impl MType {
    /// The type with this code.
    ///
    /// # Errors
    /// If there is none.
    pub fn from_code(code: u32) -> Result<MType> {
        Ok(match code {
            1 => MType::VarChar,
            2 => MType::Char,
            3 => MType::FixBinary,
            4 => MType::Binary,
            5 => MType::Blob,
            6 => MType::Int,
            8 => MType::Sys,
            9 => MType::Float,
            10 => MType::Double,
            11 => MType::Decimal,
            12 => MType::VarMySql,
            13 => MType::MySql,
            _ => return Err(Corruption::new("main type of a column", format!("{code} is none"))),
        })
    }

    /// The code on disk.
    #[inline]
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// Whether values are text, with a collation unless the column is binary.
    #[inline]
    pub const fn is_string(self) -> bool {
        matches!(
            self,
            MType::VarChar
                | MType::Char
                | MType::FixBinary
                | MType::Binary
                | MType::Blob
                | MType::VarMySql
                | MType::MySql
        )
    }
}

/// Bits of the precise type.
pub mod prtype {
    /// The MySQL type code.
    pub const TYPE_MASK: u32 = 0xFF;
    /// NOT NULL.
    pub const NOT_NULL: u32 = 0x100;
    /// UNSIGNED.
    pub const UNSIGNED: u32 = 0x200;
    /// No collation.
    pub const BINARY_TYPE: u32 = 0x400;
    /// A VARCHAR of more than 255 bytes.
    pub const LONG_VARCHAR: u32 = 0x1000;
    /// Where the collation id starts.
    pub const COLLATION_SHIFT: u32 = 16;
}

/// MySQL's type codes as they appear in `prtype`.
pub mod mysql_type {
    /// TINYINT and BOOL.
    pub const TINY: u8 = 1;
    /// SMALLINT.
    pub const SHORT: u8 = 2;
    /// INT.
    pub const LONG: u8 = 3;
    /// FLOAT.
    pub const FLOAT: u8 = 4;
    /// DOUBLE.
    pub const DOUBLE: u8 = 5;
    /// TIMESTAMP.
    pub const TIMESTAMP: u8 = 7;
    /// BIGINT.
    pub const LONGLONG: u8 = 8;
    /// MEDIUMINT.
    pub const INT24: u8 = 9;
    /// DATE.
    pub const DATE: u8 = 10;
    /// TIME.
    pub const TIME: u8 = 11;
    /// DATETIME.
    pub const DATETIME: u8 = 12;
    /// YEAR.
    pub const YEAR: u8 = 13;
    /// VARCHAR and VARBINARY.
    pub const VARCHAR: u8 = 15;
    /// BIT.
    pub const BIT: u8 = 16;
    /// DECIMAL.
    pub const NEWDECIMAL: u8 = 0xF6;
    /// Any BLOB or TEXT.
    pub const BLOB: u8 = 0xFC;
    /// CHAR, BINARY, ENUM, SET.
    pub const STRING: u8 = 0xFE;
    /// Spatial types.
    pub const GEOMETRY: u8 = 0xFF;
}

/// Collation of latin1 columns without another one; also stored on DECIMAL and TIME columns.
pub const LATIN1_SWEDISH_CI: u16 = 8;
/// The collation id of binary strings.
pub const BINARY_COLLATION: u16 = 63;

/// Name of the hidden row id, clustered key of tables without one.
pub const DB_ROW_ID: &str = "DB_ROW_ID";
/// Name of the hidden column with the transaction that last wrote the row.
pub const DB_TRX_ID: &str = "DB_TRX_ID";
/// Name of the hidden column that points to the row's undo record.
pub const DB_ROLL_PTR: &str = "DB_ROLL_PTR";
/// Bytes of DB_ROW_ID.
pub const ROW_ID_LEN: usize = 6;
/// Bytes of DB_TRX_ID.
pub const TRX_ID_LEN: usize = 6;
/// Bytes of DB_ROLL_PTR, which follows DB_TRX_ID in every clustered record.
pub const ROLL_PTR_LEN: usize = 7;

/// A character set's collation as columns need it: its id and the least and most bytes of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Charset {
    /// Collation id.
    pub collation: u16,
    /// Least bytes of a character.
    pub mbminlen: u8,
    /// Most bytes of a character.
    pub mbmaxlen: u8,
}

impl Charset {
    /// latin1_swedish_ci.
    pub const LATIN1: Charset = Charset { collation: LATIN1_SWEDISH_CI, mbminlen: 1, mbmaxlen: 1 };
    /// utf8_general_ci.
    pub const UTF8: Charset = Charset { collation: 33, mbminlen: 1, mbmaxlen: 3 };
    /// utf8mb4_general_ci.
    pub const UTF8MB4: Charset = Charset { collation: 45, mbminlen: 1, mbmaxlen: 4 };
}

/// One column of a table. Constructors make nullable columns; [`ColumnDef::not_null`] turns one around.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnDef {
    /// Name.
    pub name: String,
    /// Main type.
    pub mtype: MType,
    /// Precise type; see the module's table.
    pub prtype: u32,
    /// Length in bytes: of values when fixed, at most when variable; 9 to 12 for BLOB and TEXT.
    pub len: u32,
    /// Least bytes of a character; 0 for what is not text.
    pub mbminlen: u8,
    /// Most bytes of a character; 0 for what is not text.
    pub mbmaxlen: u8,
}

impl ColumnDef {
    /// A column as the dictionary spells it.
    pub fn new(name: impl Into<String>, mtype: MType, prtype: u32, len: u32) -> Self {
        Self { name: name.into(), mtype, prtype, len, mbminlen: 0, mbmaxlen: 0 }
    }

    /// With the widths of its characters as `.cfg` and SYS_COLUMNS store them: `mbmaxlen * 5 + mbminlen`.
    #[must_use]
    pub fn with_mbminmaxlen(mut self, packed: u32) -> Self {
        self.mbminlen = (packed % 5) as u8;
        self.mbmaxlen = (packed / 5) as u8;
        self
    }

    /// An integer of 1, 2, 3, 4 or 8 bytes.
    ///
    /// # Panics
    /// If `bytes` is none of these.
    pub fn int(name: impl Into<String>, bytes: u32, unsigned: bool) -> Self {
        let code = match bytes {
            1 => mysql_type::TINY,
            2 => mysql_type::SHORT,
            3 => mysql_type::INT24,
            4 => mysql_type::LONG,
            8 => mysql_type::LONGLONG,
            _ => panic!("there is no integer type of {bytes} bytes"),
        };
        let sign = if unsigned { prtype::UNSIGNED } else { 0 };
        Self::new(name, MType::Int, u32::from(code) | prtype::BINARY_TYPE | sign, bytes)
    }

    /// FLOAT.
    pub fn float(name: impl Into<String>) -> Self {
        Self::new(name, MType::Float, u32::from(mysql_type::FLOAT) | prtype::BINARY_TYPE, 4)
    }

    /// DOUBLE.
    pub fn double(name: impl Into<String>) -> Self {
        Self::new(name, MType::Double, u32::from(mysql_type::DOUBLE) | prtype::BINARY_TYPE, 8)
    }

    /// DECIMAL(precision, scale).
    pub fn decimal(name: impl Into<String>, precision: u32, scale: u32) -> Self {
        let len = decimal_len(precision, scale) as u32;
        Self::fix_binary(name, mysql_type::NEWDECIMAL, LATIN1_SWEDISH_CI, len)
    }

    /// BIT(n).
    pub fn bit(name: impl Into<String>, bits: u32) -> Self {
        let mut c = Self::fix_binary(name, mysql_type::BIT, BINARY_COLLATION, bits.div_ceil(8));
        c.prtype |= prtype::UNSIGNED;
        c
    }

    /// DATE.
    pub fn date(name: impl Into<String>) -> Self {
        Self::new(name, MType::Int, u32::from(mysql_type::DATE) | prtype::BINARY_TYPE, 3)
    }

    /// YEAR.
    pub fn year(name: impl Into<String>) -> Self {
        let flags = prtype::BINARY_TYPE | prtype::UNSIGNED;
        Self::new(name, MType::Int, u32::from(mysql_type::YEAR) | flags, 1)
    }

    /// TIME with `fsp` digits of fraction.
    pub fn time(name: impl Into<String>, fsp: u32) -> Self {
        Self::fix_binary(name, mysql_type::TIME, LATIN1_SWEDISH_CI, 3 + fsp.div_ceil(2))
    }

    /// DATETIME with `fsp` digits of fraction.
    pub fn datetime(name: impl Into<String>, fsp: u32) -> Self {
        Self::fix_binary(name, mysql_type::DATETIME, LATIN1_SWEDISH_CI, 5 + fsp.div_ceil(2))
    }

    /// TIMESTAMP with `fsp` digits of fraction.
    pub fn timestamp(name: impl Into<String>, fsp: u32) -> Self {
        Self::fix_binary(name, mysql_type::TIMESTAMP, LATIN1_SWEDISH_CI, 4 + fsp.div_ceil(2))
    }

    /// ENUM with this many values.
    pub fn enumeration(name: impl Into<String>, values: u32) -> Self {
        Self::new(name, MType::Int, ENUM_SET, if values <= 255 { 1 } else { 2 })
    }

    /// SET with this many members.
    pub fn set(name: impl Into<String>, members: u32) -> Self {
        let len = match members {
            0..=8 => 1,
            9..=16 => 2,
            17..=24 => 3,
            25..=32 => 4,
            _ => 8,
        };
        Self::new(name, MType::Int, ENUM_SET, len)
    }

    /// CHAR(n characters).
    pub fn char(name: impl Into<String>, chars: u32, cs: Charset) -> Self {
        let mtype = if cs.collation == LATIN1_SWEDISH_CI { MType::Char } else { MType::MySql };
        Self::text(name, mtype, mysql_type::STRING, chars * u32::from(cs.mbmaxlen), cs)
    }

    /// VARCHAR(n characters).
    pub fn varchar(name: impl Into<String>, chars: u32, cs: Charset) -> Self {
        let mtype = if cs.collation == LATIN1_SWEDISH_CI { MType::VarChar } else { MType::VarMySql };
        let len = chars * u32::from(cs.mbmaxlen);
        let mut c = Self::text(name, mtype, mysql_type::VARCHAR, len, cs);
        if len > 255 {
            c.prtype |= prtype::LONG_VARCHAR;
        }
        c
    }

    /// BINARY(n).
    pub fn binary(name: impl Into<String>, bytes: u32) -> Self {
        Self::fix_binary(name, mysql_type::STRING, BINARY_COLLATION, bytes)
    }

    /// VARBINARY(n).
    pub fn varbinary(name: impl Into<String>, bytes: u32) -> Self {
        let long = if bytes > 255 { prtype::LONG_VARCHAR } else { 0 };
        let bits = collation_bits(BINARY_COLLATION) | prtype::BINARY_TYPE | long;
        Self::new(name, MType::Binary, u32::from(mysql_type::VARCHAR) | bits, bytes)
            .with_mbminmaxlen(SINGLE_BYTE)
    }

    /// TINYBLOB, BLOB, MEDIUMBLOB or LONGBLOB: 1 to 4 length bytes.
    pub fn blob(name: impl Into<String>, length_bytes: u32) -> Self {
        let bits = collation_bits(BINARY_COLLATION) | prtype::BINARY_TYPE;
        Self::new(name, MType::Blob, u32::from(mysql_type::BLOB) | bits, 8 + length_bytes)
            .with_mbminmaxlen(SINGLE_BYTE)
    }

    /// TINYTEXT, TEXT, MEDIUMTEXT or LONGTEXT: 1 to 4 length bytes.
    pub fn text_blob(name: impl Into<String>, length_bytes: u32, cs: Charset) -> Self {
        Self::text(name, MType::Blob, mysql_type::BLOB, 8 + length_bytes, cs)
    }

    /// The hidden row id.
    pub fn db_row_id() -> Self {
        Self::new(DB_ROW_ID, MType::Sys, prtype::NOT_NULL, ROW_ID_LEN as u32)
    }

    /// The hidden transaction id.
    pub fn db_trx_id() -> Self {
        Self::new(DB_TRX_ID, MType::Sys, prtype::NOT_NULL | 1, TRX_ID_LEN as u32)
    }

    /// The hidden roll pointer.
    pub fn db_roll_ptr() -> Self {
        Self::new(DB_ROLL_PTR, MType::Sys, prtype::NOT_NULL | 2, ROLL_PTR_LEN as u32)
    }

    /// The same column, NOT NULL.
    #[must_use]
    pub fn not_null(mut self) -> Self {
        self.prtype |= prtype::NOT_NULL;
        self
    }

    /// The same column with the UNSIGNED flag (DECIMAL, FLOAT and DOUBLE; integers get it when made).
    #[must_use]
    pub fn unsigned(mut self) -> Self {
        self.prtype |= prtype::UNSIGNED;
        self
    }

    /// Whether SQL NULL may be stored.
    #[inline]
    pub const fn is_nullable(&self) -> bool {
        self.prtype & prtype::NOT_NULL == 0
    }

    /// Whether the UNSIGNED flag is set (also on ENUM, SET, YEAR and BIT).
    #[inline]
    pub const fn is_unsigned(&self) -> bool {
        self.prtype & prtype::UNSIGNED != 0
    }

    /// Whether values have no collation.
    #[inline]
    pub const fn is_binary(&self) -> bool {
        self.prtype & prtype::BINARY_TYPE != 0
    }

    /// The collation id; 0 where there is none.
    #[inline]
    pub const fn collation_id(&self) -> u16 {
        (self.prtype >> prtype::COLLATION_SHIFT) as u16
    }

    /// The MySQL type code.
    #[inline]
    pub const fn mysql_type(&self) -> u8 {
        (self.prtype & prtype::TYPE_MASK) as u8
    }

    /// Widths of characters as `.cfg` and SYS_COLUMNS store them.
    #[inline]
    pub const fn mbminmaxlen(&self) -> u32 {
        self.mbmaxlen as u32 * 5 + self.mbminlen as u32
    }

    /// Whether lengths of stored values may take two bytes in COMPACT records.
    #[inline]
    pub const fn is_big(&self) -> bool {
        self.len > 255 || matches!(self.mtype, MType::Blob)
    }

    /// Bytes of every value when they are equal for all values in this row format, else 0.
    pub const fn fixed_len(&self, format: RowFormat) -> u32 {
        match self.mtype {
            MType::Char | MType::FixBinary | MType::Int | MType::Sys | MType::Float | MType::Double => {
                self.len
            }
            MType::MySql
                if self.mbminlen == self.mbmaxlen
                    || self.is_binary()
                    || matches!(format, RowFormat::Redundant) =>
            {
                self.len
            }
            _ => 0,
        }
    }

    fn fix_binary(name: impl Into<String>, code: u8, collation: u16, len: u32) -> Self {
        let bits = collation_bits(collation) | prtype::BINARY_TYPE;
        Self::new(name, MType::FixBinary, u32::from(code) | bits, len).with_mbminmaxlen(SINGLE_BYTE)
    }

    fn text(name: impl Into<String>, mtype: MType, code: u8, len: u32, cs: Charset) -> Self {
        let mut c = Self::new(name, mtype, u32::from(code) | collation_bits(cs.collation), len);
        (c.mbminlen, c.mbmaxlen) = (cs.mbminlen, cs.mbmaxlen);
        c
    }
}

/// Precise type of ENUM and SET: unsigned strings without the binary flag.
const ENUM_SET: u32 = mysql_type::STRING as u32 | prtype::UNSIGNED;

/// `mbminmaxlen` of strings whose characters are bytes.
const SINGLE_BYTE: u32 = 6;

const fn collation_bits(id: u16) -> u32 {
    (id as u32) << prtype::COLLATION_SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(c: &ColumnDef) -> (u32, u32, u32, u32) {
        (c.mtype.code(), c.prtype, c.len, c.mbminmaxlen())
    }

    /// As `.cfg` files of a real server spell the columns of a table with every type.
    #[test]
    fn constructors_spell_types_as_the_server_does() {
        let ucs2 = Charset { collation: 35, mbminlen: 2, mbmaxlen: 2 };
        let latin1_bin = Charset { collation: 47, mbminlen: 1, mbmaxlen: 1 };
        for (column, want) in [
            (ColumnDef::int("id", 4, false).not_null(), (6, 0x503, 4, 0)),
            (ColumnDef::int("u1", 1, true), (6, 0x601, 1, 0)),
            (ColumnDef::int("i3", 3, false), (6, 0x409, 3, 0)),
            (ColumnDef::int("u8", 8, true), (6, 0x608, 8, 0)),
            (ColumnDef::float("fu").unsigned(), (9, 0x604, 4, 0)),
            (ColumnDef::double("d"), (10, 0x405, 8, 0)),
            (ColumnDef::decimal("n1", 10, 2), (3, 0x804F6, 5, 6)),
            (ColumnDef::decimal("n2", 65, 30), (3, 0x804F6, 30, 6)),
            (ColumnDef::decimal("n5", 18, 9).unsigned(), (3, 0x806F6, 8, 6)),
            (ColumnDef::bit("b12", 12), (3, 0x3F_0610, 2, 6)),
            (ColumnDef::date("dt"), (6, 0x40A, 3, 0)),
            (ColumnDef::time("t3", 3), (3, 0x8040B, 5, 6)),
            (ColumnDef::datetime("dt6", 6), (3, 0x8040C, 8, 6)),
            (ColumnDef::timestamp("ts1", 1), (3, 0x80407, 5, 6)),
            (ColumnDef::year("y"), (6, 0x60D, 1, 0)),
            (ColumnDef::enumeration("e1", 3), (6, 0x2FE, 1, 0)),
            (ColumnDef::set("s1", 9), (6, 0x2FE, 2, 0)),
            (ColumnDef::char("c_l", 10, Charset::LATIN1), (2, 0x8_00FE, 10, 6)),
            (ColumnDef::char("c_u", 10, Charset::UTF8), (13, 0x21_00FE, 30, 16)),
            (ColumnDef::char("c_m", 10, Charset::UTF8MB4), (13, 0x2D_00FE, 40, 21)),
            (ColumnDef::char("c_2", 5, ucs2), (13, 0x23_00FE, 10, 12)),
            (ColumnDef::varchar("v_l", 20, Charset::LATIN1), (1, 0x8_000F, 20, 6)),
            (ColumnDef::varchar("v_u", 100, Charset::UTF8), (12, 0x21_100F, 300, 16)),
            (ColumnDef::varchar("v_bin", 30, latin1_bin), (12, 0x2F_000F, 30, 6)),
            (ColumnDef::binary("bi", 8), (3, 0x3F_04FE, 8, 6)),
            (ColumnDef::varbinary("vb", 40), (4, 0x3F_040F, 40, 6)),
            (ColumnDef::blob("bb", 2), (5, 0x3F_04FC, 10, 6)),
            (ColumnDef::text_blob("mt", 3, Charset::UTF8MB4), (5, 0x2D_00FC, 11, 21)),
            (ColumnDef::db_row_id(), (8, 0x100, 6, 0)),
            (ColumnDef::db_trx_id(), (8, 0x101, 6, 0)),
            (ColumnDef::db_roll_ptr(), (8, 0x102, 7, 0)),
        ] {
            assert_eq!(spelled(&column), want, "{}", column.name);
        }
    }

    #[test]
    fn fixed_length_depends_on_characters_and_row_format() {
        let utf8 = ColumnDef::char("c", 10, Charset::UTF8);
        assert_eq!(utf8.fixed_len(RowFormat::Compact), 0);
        assert_eq!(utf8.fixed_len(RowFormat::Redundant), 30);
        let ucs2 = ColumnDef::char("c", 5, Charset { collation: 35, mbminlen: 2, mbmaxlen: 2 });
        assert_eq!(ucs2.fixed_len(RowFormat::Dynamic), 10);
        assert_eq!(ColumnDef::varchar("v", 5, Charset::UTF8).fixed_len(RowFormat::Redundant), 0);
        assert_eq!(ColumnDef::int("i", 3, false).fixed_len(RowFormat::Compact), 3);
    }

    #[test]
    fn unknown_main_types_are_refused() {
        assert!(MType::from_code(7).is_err());
        assert!(MType::from_code(0).is_err());
        assert_eq!(MType::from_code(13), Ok(MType::MySql));
    }
}
