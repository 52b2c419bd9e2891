//! Types of columns and expressions.

use std::sync::Arc;

/// Collation `binary`: of binary strings, numbers and times.
pub const BINARY: u16 = 63;

/// `decimals` of a FLOAT or DOUBLE that was declared without any (the protocol's NOT_FIXED_DEC).
pub const NOT_FIXED: u8 = 31;

/// What kind of type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Type of a bare NULL.
    Null,
    /// TINYINT, 1 byte.
    TinyInt,
    /// SMALLINT, 2 bytes.
    SmallInt,
    /// MEDIUMINT, 3 bytes.
    MediumInt,
    /// INT, 4 bytes.
    Int,
    /// BIGINT, 8 bytes; type of integer expressions.
    BigInt,
    /// DECIMAL.
    Decimal,
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// BIT.
    Bit,
    /// YEAR.
    Year,
    /// DATE.
    Date,
    /// TIME.
    Time,
    /// DATETIME.
    DateTime,
    /// TIMESTAMP.
    Timestamp,
    /// CHAR, or BINARY when the collation is `binary`.
    Char,
    /// VARCHAR or VARBINARY; type of string expressions.
    VarChar,
    /// TINYTEXT or TINYBLOB.
    TinyText,
    /// TEXT or BLOB.
    Text,
    /// MEDIUMTEXT or MEDIUMBLOB.
    MediumText,
    /// LONGTEXT or LONGBLOB.
    LongText,
    /// ENUM.
    Enum,
    /// SET.
    Set,
    /// JSON.
    Json,
    /// GEOMETRY and its kin: stored, not understood.
    Geometry,
}

impl Kind {
    /// TINYINT to BIGINT, and YEAR.
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            Kind::TinyInt | Kind::SmallInt | Kind::MediumInt | Kind::Int | Kind::BigInt | Kind::Year
        )
    }

    /// CHAR to LONGTEXT.
    pub fn is_string(self) -> bool {
        matches!(
            self,
            Kind::Char | Kind::VarChar | Kind::TinyText | Kind::Text | Kind::MediumText | Kind::LongText
        )
    }

    /// TINYTEXT to LONGTEXT, and what stores as they do.
    pub fn is_blob(self) -> bool {
        matches!(
            self,
            Kind::TinyText | Kind::Text | Kind::MediumText | Kind::LongText | Kind::Json | Kind::Geometry
        )
    }

    /// DATE, TIME, DATETIME, TIMESTAMP.
    pub fn is_temporal(self) -> bool {
        matches!(self, Kind::Date | Kind::Time | Kind::DateTime | Kind::Timestamp)
    }
}

/// The type of a column or an expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SqlType {
    /// Which.
    pub kind: Kind,
    /// UNSIGNED, of numbers.
    pub unsigned: bool,
    /// ZEROFILL, of numbers.
    pub zerofill: bool,
    /// Display width of integers, all digits of a DECIMAL, bits of a BIT, characters of strings (bytes of binary ones).
    pub length: u32,
    /// Digits after the point; of times, those of the second; [`NOT_FIXED`] if a float has no fixed number.
    pub decimals: u8,
    /// Collation number; [`BINARY`] for what is not text.
    pub collation: u16,
    /// Whether NULL can occur.
    pub nullable: bool,
    /// Labels of an ENUM or SET, in the collation's character set.
    pub labels: Option<Arc<[Box<[u8]>]>>,
}

impl SqlType {
    /// A type of this kind with nothing else said; nullable, binary.
    pub fn new(kind: Kind) -> SqlType {
        SqlType {
            kind,
            unsigned: false,
            zerofill: false,
            length: 0,
            decimals: 0,
            collation: BINARY,
            nullable: true,
            labels: None,
        }
    }

    /// BIGINT, as integer expressions are.
    pub fn bigint(unsigned: bool) -> SqlType {
        SqlType { unsigned, length: if unsigned { 20 } else { 21 }, ..SqlType::new(Kind::BigInt) }
    }

    /// DOUBLE without fixed decimals.
    pub fn double() -> SqlType {
        SqlType { length: 23, decimals: NOT_FIXED, ..SqlType::new(Kind::Double) }
    }

    /// DECIMAL(precision, scale).
    pub fn decimal(precision: u32, scale: u8) -> SqlType {
        SqlType { length: precision, decimals: scale, ..SqlType::new(Kind::Decimal) }
    }

    /// VARCHAR of so many characters.
    pub fn varchar(chars: u32, collation: u16) -> SqlType {
        SqlType { length: chars, collation, ..SqlType::new(Kind::VarChar) }
    }

    /// The same, NOT NULL.
    #[must_use]
    pub fn not_null(mut self) -> SqlType {
        self.nullable = false;
        self
    }
}
