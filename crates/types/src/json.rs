//! JSON as MySQL 5.7 has it.

use crate::error::{SqlError, SqlResult};
use crate::sql_type::SqlType;
use crate::value::Value;

/// The literal `null`, in binary form.
pub const NULL: &[u8] = &[4, 0];

/// The value of a document that is a scalar; `None` for objects, arrays, and what is no document.
pub fn scalar(doc: &[u8]) -> Option<Value<'_>> {
    let _ = doc;
    None
}

/// Appends a document as text.
pub fn push_text(doc: &[u8], out: &mut Vec<u8>) {
    let _ = (doc, out);
}

/// CAST(v AS JSON): text is parsed, other values become scalars.
///
/// # Errors
/// 3140 for text that is no JSON, 3144 for binary strings.
pub fn from_value(v: &Value<'_>, from: &SqlType) -> SqlResult<Vec<u8>> {
    let _ = (v, from);
    Err(SqlError::unsupported("JSON"))
}

/// Order of documents.
pub fn compare(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    a.cmp(b)
}

/// Hash of a document: equal ones hash equally.
pub fn hash<H: std::hash::Hasher>(doc: &[u8], state: &mut H) {
    state.write(doc);
}

/// Appends a key that orders as the documents.
pub fn push_sort_key(doc: &[u8], out: &mut Vec<u8>) {
    crate::compare::push_bytes_key(doc, out);
}

/// A value as a scalar document.
pub fn from_scalar(v: &Value<'_>) -> Vec<u8> {
    let _ = v;
    NULL.to_vec()
}
