//! CAST and CONVERT.

use super::Cx;
use crate::error::SqlResult;
use crate::sql_type::SqlType;
use crate::value::Value;

/// Target of a CAST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// SIGNED.
    Signed,
    /// UNSIGNED.
    Unsigned,
    /// CHAR(n) in a collation.
    Char(Option<u32>, u16),
    /// BINARY(n).
    Binary(Option<u32>),
    /// DATE.
    Date,
    /// TIME(f).
    Time(u8),
    /// DATETIME(f).
    DateTime(u8),
    /// DECIMAL(p, s).
    Decimal(u32, u8),
    /// DOUBLE (of MySQL 8).
    Double,
    /// JSON (of MySQL 5.7).
    Json,
}

impl Target {
    /// Type of the result of casting this type.
    pub fn result_type(&self, from: &SqlType) -> SqlType {
        let _ = from;
        todo!()
    }
}

/// Casts a value of type `from`.
///
/// # Errors
/// 3140 and others for JSON.
pub fn cast<'v>(v: &'v Value<'_>, from: &SqlType, target: &Target, cx: &mut Cx<'_>) -> SqlResult<Value<'v>> {
    let _ = (v, from, target, cx);
    todo!()
}
