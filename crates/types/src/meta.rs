//! Types as clients see them: the text of SHOW COLUMNS and the metadata of results.

use crate::sql_type::{BINARY, Kind, NOT_FIXED, SqlType};
use std::fmt::Write as _;
use vaquita_format::charset::Charset;
use vaquita_format::collation;
use vaquita_format::column::mysql_type;

/// Flags of result metadata that follow from the type.
pub mod flag {
    /// NOT NULL.
    pub const NOT_NULL: u16 = 1;
    /// BLOB and TEXT types.
    pub const BLOB: u16 = 16;
    /// UNSIGNED.
    pub const UNSIGNED: u16 = 32;
    /// ZEROFILL.
    pub const ZEROFILL: u16 = 64;
    /// Ordered by bytes.
    pub const BINARY: u16 = 128;
    /// ENUM.
    pub const ENUM: u16 = 256;
    /// SET.
    pub const SET: u16 = 2048;
}

/// Codes of result metadata that columns of tables do not have.
mod wire_type {
    pub(super) const NULL: u8 = 6;
    pub(super) const JSON: u8 = 0xF5;
    pub(super) const VAR_STRING: u8 = 0xFD;
}

impl SqlType {
    /// The type as SHOW CREATE TABLE and COLUMN_TYPE spell it: `int(10) unsigned zerofill`, `enum('a','b')`; no
    /// collation.
    pub fn column_type(&self) -> String {
        let binary = self.collation == BINARY;
        let either = |bytes: &'static str, chars: &'static str| if binary { bytes } else { chars };
        let name = match self.kind {
            Kind::Null => "null",
            Kind::TinyInt => "tinyint",
            Kind::SmallInt => "smallint",
            Kind::MediumInt => "mediumint",
            Kind::Int => "int",
            Kind::BigInt => "bigint",
            Kind::Decimal => "decimal",
            Kind::Float => "float",
            Kind::Double => "double",
            Kind::Bit => "bit",
            Kind::Year => "year",
            Kind::Date => "date",
            Kind::Time => "time",
            Kind::DateTime => "datetime",
            Kind::Timestamp => "timestamp",
            Kind::Char => either("binary", "char"),
            Kind::VarChar => either("varbinary", "varchar"),
            Kind::TinyText => either("tinyblob", "tinytext"),
            Kind::Text => either("blob", "text"),
            Kind::MediumText => either("mediumblob", "mediumtext"),
            Kind::LongText => either("longblob", "longtext"),
            Kind::Enum => "enum",
            Kind::Set => "set",
            Kind::Json => "json",
            Kind::Geometry => "geometry",
        };
        let mut out = name.to_owned();
        self.push_arguments(&mut out);
        let number = self.is_number() && self.kind != Kind::Year;
        if number && self.unsigned {
            out.push_str(" unsigned");
        }
        if number && self.zerofill {
            out.push_str(" zerofill");
        }
        out
    }

    fn push_arguments(&self, out: &mut String) {
        // Writing to a string does not fail.
        let _ = match self.kind {
            Kind::Year => write!(out, "(4)"),
            Kind::TinyInt | Kind::SmallInt | Kind::MediumInt | Kind::Int | Kind::BigInt | Kind::Bit => {
                write!(out, "({})", self.length)
            }
            Kind::Char | Kind::VarChar => write!(out, "({})", self.length),
            Kind::Decimal => write!(out, "({},{})", self.length, self.decimals),
            Kind::Float | Kind::Double if self.decimals != NOT_FIXED => {
                write!(out, "({},{})", self.length, self.decimals)
            }
            Kind::Time | Kind::DateTime | Kind::Timestamp if self.decimals > 0 => {
                write!(out, "({})", self.decimals)
            }
            Kind::Enum | Kind::Set => {
                self.push_labels(out);
                Ok(())
            }
            _ => Ok(()),
        };
    }

    fn push_labels(&self, out: &mut String) {
        let charset = self.charset().unwrap_or(Charset::LATIN1);
        out.push('(');
        for (i, label) in self.labels.as_deref().unwrap_or_default().iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            let text = charset.decode(label).unwrap_or_else(|| String::from_utf8_lossy(label));
            out.push('\'');
            out.push_str(&text.replace('\'', "''"));
            out.push('\'');
        }
        out.push(')');
    }

    /// Integers, YEAR, DECIMAL, FLOAT, DOUBLE.
    pub fn is_number(&self) -> bool {
        self.kind.is_integer() || matches!(self.kind, Kind::Decimal | Kind::Float | Kind::Double)
    }

    /// Type code of result metadata.
    pub fn protocol_type(&self) -> u8 {
        match self.kind {
            Kind::Null => wire_type::NULL,
            Kind::TinyInt => mysql_type::TINY,
            Kind::SmallInt => mysql_type::SHORT,
            Kind::MediumInt => mysql_type::INT24,
            Kind::Int => mysql_type::LONG,
            Kind::BigInt => mysql_type::LONGLONG,
            Kind::Decimal => mysql_type::NEWDECIMAL,
            Kind::Float => mysql_type::FLOAT,
            Kind::Double => mysql_type::DOUBLE,
            Kind::Bit => mysql_type::BIT,
            Kind::Year => mysql_type::YEAR,
            Kind::Date => mysql_type::DATE,
            Kind::Time => mysql_type::TIME,
            Kind::DateTime => mysql_type::DATETIME,
            Kind::Timestamp => mysql_type::TIMESTAMP,
            Kind::VarChar => wire_type::VAR_STRING,
            Kind::Char | Kind::Enum | Kind::Set => mysql_type::STRING,
            Kind::TinyText | Kind::Text | Kind::MediumText | Kind::LongText => mysql_type::BLOB,
            Kind::Json => wire_type::JSON,
            Kind::Geometry => mysql_type::GEOMETRY,
        }
    }

    /// Length of result metadata, in bytes: characters times the most bytes of a character of `collation` (the
    /// collation results go out in; of binary strings and numbers, no matter).
    pub fn protocol_length(&self, collation: u16) -> u32 {
        let width = match self.collation {
            BINARY => 1,
            _ => Charset::of_collation(collation).map_or(1, |c| u32::from(c.mb_max_len)),
        };
        let fraction = if matches!(self.decimals, 1..=6) { 1 + u32::from(self.decimals) } else { 0 };
        match self.kind {
            Kind::Null => 0,
            Kind::Decimal => {
                self.length + u32::from(self.decimals > 0) + u32::from(!self.unsigned && self.length > 0)
            }
            Kind::Year => 4,
            Kind::Date => 10,
            Kind::Time => 10 + fraction,
            Kind::DateTime | Kind::Timestamp => 19 + fraction,
            Kind::TinyText => 255 * width,
            Kind::Text => 65_535 * width,
            Kind::MediumText => 0xFF_FFFF * width,
            Kind::LongText | Kind::Json | Kind::Geometry => u32::MAX,
            Kind::Enum => self.label_chars().max().unwrap_or(0) * width,
            Kind::Set => {
                let commas = self.labels.as_ref().map_or(0, |l| l.len().saturating_sub(1)) as u32;
                (self.label_chars().sum::<u32>() + commas) * width
            }
            Kind::Char | Kind::VarChar => self.length.saturating_mul(width),
            _ => self.length,
        }
    }

    fn label_chars(&self) -> impl Iterator<Item = u32> {
        let charset = self.charset().unwrap_or(Charset::LATIN1);
        self.labels.as_deref().unwrap_or_default().iter().map(move |l| charset.char_count(l) as u32)
    }

    /// Digits after the point of result metadata.
    pub fn protocol_decimals(&self) -> u8 {
        self.decimals
    }

    /// Flags of result metadata that follow from the type; see [`flag`].
    pub fn protocol_flags(&self) -> u16 {
        let text = self.kind.is_string() || matches!(self.kind, Kind::Enum | Kind::Set);
        let by_bytes = self.collation == BINARY
            || collation::name(self.collation).is_some_and(|name| name.ends_with("_bin"));
        let blob = matches!(
            self.kind,
            Kind::TinyText | Kind::Text | Kind::MediumText | Kind::LongText | Kind::Json | Kind::Geometry
        );
        [
            (flag::NOT_NULL, !self.nullable),
            (flag::BLOB, blob),
            (flag::UNSIGNED, self.unsigned || matches!(self.kind, Kind::Bit | Kind::Year)),
            (flag::ZEROFILL, self.zerofill || self.kind == Kind::Year),
            (flag::BINARY, self.kind.is_temporal() || self.kind == Kind::Json || text && by_bytes),
            (flag::ENUM, self.kind == Kind::Enum),
            (flag::SET, self.kind == Kind::Set),
        ]
        .into_iter()
        .fold(0, |flags, (bit, set)| if set { flags | bit } else { flags })
    }
}
