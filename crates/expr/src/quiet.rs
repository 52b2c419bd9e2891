//! Texts that become numbers without a word, whatever is in them.
//!
//! What is no number in a text gives a warning, or an error where rows change under strict mode, if the text is a literal, a column or a
//! variable. Of a text that was calculated 5.6 says nothing and takes what number it begins with; nor does it of TEXT and BLOB
//! columns and variables, and of the value of a `?`. Applications store such texts, so they are taken here, too. (CAST and exact
//! numbers do warn: [`Value::to_decimal`], `cast`.)

use super::node::{Call, CompareAs, Expr};
use vaquita_types::number::parse_f64;
use vaquita_types::{Decimal, Kind, SqlType, Value};

/// Whether it is text of one of the TEXT and BLOB types.
pub(super) fn is_long_text(ty: &SqlType) -> bool {
    matches!(ty.kind, Kind::TinyText | Kind::Text | Kind::MediumText | Kind::LongText)
}

/// Whether the text that a call gives is a quiet one: one that was made by it. A call that hands on one of its arguments is as those
/// are; if they differ, nothing is said.
pub(super) fn is_quiet(call: &Call, ty: &SqlType) -> bool {
    if !ty.kind.is_string() {
        return false;
    }
    let of = match call.name {
        "@@" => return false,
        "stored function" => return is_long_text(ty),
        "if" | "case" => call.choices(),
        "elt" => &call.args[1..],
        "nullif" => &call.args[..1],
        "greatest" | "least" => &call.args[..],
        // A literal in another type is still one.
        "" if call.args[0].as_const().is_some() => &call.args[..1],
        _ => return true,
    };
    of.iter().any(|e| e.info.quiet)
}

impl Expr {
    /// The value's text, if it is one that becomes a number without a word.
    pub(super) fn quiet_text<'v>(&self, v: &'v Value<'_>) -> Option<&'v [u8]> {
        match v {
            Value::Bytes(text) if self.info.quiet => Some(text),
            _ => None,
        }
    }

    /// A value of the expression as it is compared: a quiet text as the number that it begins with.
    pub(super) fn compared<'v>(&self, how: CompareAs, v: Value<'v>) -> Value<'v> {
        match (how, self.quiet_text(&v)) {
            (CompareAs::Double, Some(text)) => Value::Double(parse_f64(text).value),
            (CompareAs::Decimal, Some(text)) => Value::Decimal(Decimal::parse(text).value),
            _ => v,
        }
    }
}
