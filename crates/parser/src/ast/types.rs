//! Column types as written.

use super::Ident;

/// A column's type with what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnType<'a> {
    /// The type.
    pub kind: TypeKind<'a>,
    /// `UNSIGNED`; implied by `ZEROFILL`, but set here only when written.
    pub unsigned: bool,
    /// `ZEROFILL`.
    pub zerofill: bool,
    /// `CHARACTER SET cs`, `CHARSET cs`; `ASCII` is `latin1`, `UNICODE` is `ucs2`, `BYTE` is `binary`,
    /// `NATIONAL` is `utf8`.
    pub charset: Option<Ident<'a>>,
    /// `BINARY` after a character type: the `_bin` collation of its character set.
    pub binary: bool,
    /// `COLLATE c`, as part of the type or among the attributes.
    pub collation: Option<Ident<'a>>,
}

/// Types. Widths and precisions are as written, unchecked, cut at `u32::MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeKind<'a> {
    /// `BIT[(n)]`.
    Bit(Option<u32>),
    /// `TINYINT` … `BIGINT` and their synonyms, with the display width.
    Int(IntSize, Option<u32>),
    /// `BOOL`, `BOOLEAN`: `TINYINT(1)`.
    Bool,
    /// `SERIAL`: `BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE`.
    Serial,
    /// `FLOAT[(p)]`, `FLOAT(m,d)`.
    Float(Option<u32>, Option<u32>),
    /// `DOUBLE [PRECISION][(m,d)]`, and `REAL` without `REAL_AS_FLOAT`.
    Double(Option<(u32, u32)>),
    /// `REAL[(m,d)]`: what it means depends on `REAL_AS_FLOAT`.
    Real(Option<(u32, u32)>),
    /// `DECIMAL`, `DEC`, `NUMERIC`, `FIXED` `[(p[,s])]`.
    Decimal(Option<u32>, Option<u32>),
    /// `DATE`.
    Date,
    /// `TIME[(fsp)]`.
    Time(Option<u32>),
    /// `DATETIME[(fsp)]`.
    DateTime(Option<u32>),
    /// `TIMESTAMP[(fsp)]`.
    Timestamp(Option<u32>),
    /// `YEAR[(n)]`.
    Year(Option<u32>),
    /// `CHAR[(n)]`, `NCHAR`.
    Char(Option<u32>),
    /// `VARCHAR(n)` and synonyms.
    VarChar(u32),
    /// `BINARY[(n)]`, `CHAR BYTE`.
    Binary(Option<u32>),
    /// `VARBINARY(n)`.
    VarBinary(u32),
    /// `TINYTEXT`.
    TinyText,
    /// `TEXT[(n)]`: the smallest text type of that many characters.
    Text(Option<u32>),
    /// `MEDIUMTEXT`, `LONG`, `LONG VARCHAR`.
    MediumText,
    /// `LONGTEXT`.
    LongText,
    /// `TINYBLOB`.
    TinyBlob,
    /// `BLOB[(n)]`: the smallest blob type of that many bytes.
    Blob(Option<u32>),
    /// `MEDIUMBLOB`, `LONG VARBINARY`.
    MediumBlob,
    /// `LONGBLOB`.
    LongBlob,
    /// `ENUM(…)`: at least one member.
    Enum(&'a [EnumMember<'a>]),
    /// `SET(…)`: at least one member.
    Set(&'a [EnumMember<'a>]),
    /// `JSON` (5.7).
    Json,
    /// `GEOMETRY`, `POINT` and so on.
    Geometry(Ident<'a>),
}

/// A member of ENUM or SET.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnumMember<'a> {
    /// The bytes, trailing spaces not yet cut.
    pub value: &'a [u8],
    /// Written as `x'…'` or `b'…'`: bytes of the column's character set instead of the connection's.
    pub raw: bool,
}

/// Integer sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntSize {
    /// 1 byte: `TINYINT`, `INT1`.
    Tiny,
    /// 2 bytes: `SMALLINT`, `INT2`.
    Small,
    /// 3 bytes: `MEDIUMINT`, `INT3`, `MIDDLEINT`.
    Medium,
    /// 4 bytes: `INT`, `INTEGER`, `INT4`.
    Int,
    /// 8 bytes: `BIGINT`, `INT8`.
    Big,
}
