//! Order and equality of values.

use crate::sql_type::SqlType;
use crate::value::Value;
use std::cmp::Ordering;

/// As what two values compare; decided once per expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareAs {
    /// Integers, signed or unsigned each as it is.
    Int,
    /// DOUBLEs.
    Double,
    /// Exact numbers.
    Decimal,
    /// Text, by a collation.
    Text(u16),
    /// Dates.
    Date,
    /// Times.
    Time,
    /// Dates with time.
    DateTime,
    /// JSON.
    Json,
}

/// What is known of an operand besides its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operand<'t> {
    /// Its type.
    pub ty: &'t SqlType,
    /// It is the same for all rows: a literal, parameter, or an expression of such.
    pub constant: bool,
    /// It is a column.
    pub column: bool,
}

impl CompareAs {
    /// How MySQL compares such operands. Text compares by `collation`, the one that coercion gave.
    pub fn of(a: Operand<'_>, b: Operand<'_>, collation: u16) -> CompareAs {
        let _ = (a, b, collation);
        todo!()
    }

    /// Compares two values; `None` if one is NULL. Text that is no number or date gives its warning.
    pub fn compare(self, a: &Value<'_>, b: &Value<'_>, cx: &mut crate::convert::Cx<'_>) -> Option<Ordering> {
        let _ = (a, b, cx);
        todo!()
    }

    /// Order of ORDER BY, GROUP BY, keys: NULL equals NULL and comes first; no warnings.
    pub fn order(self, a: &Value<'_>, b: &Value<'_>) -> Ordering {
        let _ = (a, b);
        todo!()
    }

    /// Hash for grouping and joining: equal values (in this comparison) hash equally.
    pub fn hash<H: std::hash::Hasher>(self, v: &Value<'_>, state: &mut H) {
        let _ = (v, state);
        todo!()
    }

    /// Appends a key whose bytes order as the values do, NULL first.
    pub fn push_sort_key(self, v: &Value<'_>, out: &mut Vec<u8>) {
        let _ = (v, out);
        todo!()
    }
}
