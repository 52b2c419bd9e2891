//! Columns: between values and stored bytes.

use crate::sql_type::SqlType;
use crate::time_zone::TimeZone;
use crate::value::Value;
use vaquita_format::Result;
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::RowFormat;

/// A column's SQL type together with how its values are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnType {
    /// The type.
    pub ty: SqlType,
}

impl ColumnType {
    /// The column type of an SQL type in a table of this row format.
    pub fn new(ty: SqlType, format: RowFormat) -> ColumnType {
        let _ = format;
        ColumnType { ty }
    }

    /// From the engine's description: `decimal` is precision and scale of a DECIMAL if known, `labels` those of ENUM and
    /// SET, `extra` the type as text (`int(10) unsigned zerofill`), empty if unknown.
    ///
    /// # Errors
    /// If the description contradicts itself.
    pub fn of_def(
        def: &ColumnDef,
        format: RowFormat,
        decimal: Option<(u32, u32)>,
        labels: &[String],
        extra: &str,
    ) -> Result<ColumnType> {
        let _ = (def, format, decimal, labels, extra);
        todo!()
    }

    /// The engine's description.
    pub fn to_def(&self, name: &str) -> ColumnDef {
        let _ = name;
        todo!()
    }

    /// Reads a stored value; strings borrow it. Bytes that are no value of the type give zero values.
    pub fn decode<'v>(&'v self, stored: Option<&'v [u8]>, time_zone: &TimeZone) -> Value<'v> {
        let _ = (stored, time_zone);
        todo!()
    }

    /// Appends the stored form of a value that has the column's type already and fits (as [`ColumnType::decode`] gives).
    /// `false`: NULL. Anything else goes through [`crate::convert::store::store`].
    pub fn encode(&self, v: &Value<'_>, time_zone: &TimeZone, out: &mut Vec<u8>) -> bool {
        let _ = (v, time_zone, out);
        todo!()
    }

    /// Appends the stored form of the implicit default: 0, empty text, zero date, first label.
    pub fn push_implicit_default(&self, out: &mut Vec<u8>) {
        let _ = out;
        todo!()
    }
}

impl SqlType {
    /// The type as SHOW CREATE TABLE and COLUMN_TYPE spell it: `int(10) unsigned zerofill`, `enum('a','b')`; no
    /// collation.
    pub fn column_type(&self) -> String {
        todo!()
    }

    /// Type code of result metadata.
    pub fn protocol_type(&self) -> u8 {
        todo!()
    }

    /// Length of result metadata, in bytes: characters times the most bytes of a character of `collation` (the
    /// collation results go out in; of binary strings and numbers, no matter).
    pub fn protocol_length(&self, collation: u16) -> u32 {
        let _ = collation;
        todo!()
    }

    /// Digits after the point of result metadata.
    pub fn protocol_decimals(&self) -> u8 {
        todo!()
    }

    /// Flags of result metadata that follow from the type: NOT_NULL, BLOB, UNSIGNED, ZEROFILL, BINARY, ENUM, SET,
    /// TIMESTAMP.
    pub fn protocol_flags(&self) -> u16 {
        todo!()
    }
}
