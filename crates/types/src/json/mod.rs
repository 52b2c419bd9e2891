//! JSON as MySQL 5.7 has it.
//!
//! A document is stored in a binary form that finds members and elements without parsing (all numbers little-endian):
//!
//! | part | bytes |
//! |---|---|
//! | document | type, value |
//! | object | count, bytes of the whole, key entries, value entries, keys, values |
//! | array | count, bytes of the whole, value entries, values |
//! | key entry | offset, length (2 bytes) |
//! | value entry | type (1 byte), offset or, if it fits, the value |
//! | literal | 0 null, 1 true, 2 false |
//! | string | length (7 bits in a byte, lowest first), UTF-8 |
//! | opaque | MySQL type code, length as of strings, bytes; exact numbers and times are opaque, by their text |
//!
//! Counts and offsets have 2 bytes in the small forms, 4 in the large ones; offsets count from the count. Keys are sorted
//! by length, then by bytes, and are unique.
//!
//! | part | module |
//! |---|---|
//! | text to a tree | [`parse`] |
//! | trees to bytes, and reading these | [`binary`] |
//! | paths | [`path`] |
//! | changes | [`edit`]; of bytes, [`in_place`] |
//! | order, hashes, values | here |

pub mod binary;
pub mod edit;
pub mod in_place;
pub mod parse;
pub mod path;
mod print;

#[cfg(test)]
mod tests;

use crate::decimal::Decimal;
use crate::error::{SqlError, SqlResult};
use crate::memory;
use crate::sort_key::{ordered_bits, push_bytes_key};
use crate::sql_type::{BINARY, Kind, SqlType};
use crate::temporal::calendar::time_micros;
use crate::temporal::parse::parse_time;
use crate::temporal::print::{push_date, push_datetime, push_time};
use crate::value::Value;
use binary::Node;
use std::borrow::Cow;
use std::cmp::Ordering;
use vaquita_format::charset::{Charset, convert, is_same_in};
use vaquita_format::column::mysql_type;

pub use print::{push_node, push_pretty, push_quoted, push_text, push_unquoted};

/// Most levels of a document.
pub const DEPTH_MAX: usize = 100;

/// The literal `null`, in binary form.
pub const NULL: &[u8] = &[4, 0];

/// A document as a tree.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number that was unsigned in SQL, or is above `i64::MAX`.
    UInt(u64),
    /// Any other number.
    Double(f64),
    /// An exact number of SQL.
    Decimal(Decimal),
    /// Text, in UTF-8.
    Text(Vec<u8>),
    /// A value of SQL that JSON has no form for: MySQL type code and text form (in quotes when printed), or bytes.
    Opaque(u8, Vec<u8>),
    /// Elements.
    Array(Vec<Json>),
    /// Members, sorted by length of the key, then by key; no two alike.
    Object(Vec<(Vec<u8>, Json)>),
}

impl Json {
    /// An object of these members; of several with one key the last stays.
    ///
    /// # Errors
    /// 5, 4081, 4082: no room to sort them.
    pub fn object(mut members: Vec<(Vec<u8>, Json)>) -> SqlResult<Json> {
        memory::may_take(members.len().saturating_mul(size_of::<(Vec<u8>, Json)>()))?;
        members.sort_by(|a, b| key_order(&a.0, &b.0));
        // Neighbours with one key are still in the order in which they came.
        members.dedup_by(|later, first| {
            let same = later.0 == first.0;
            if same {
                std::mem::swap(&mut later.1, &mut first.1);
            }
            same
        });
        Ok(Json::Object(members))
    }

    /// The document's binary form.
    ///
    /// # Errors
    /// 3157: too many levels; those of [`binary::encode`].
    pub fn to_document(&self) -> SqlResult<Vec<u8>> {
        // A scalar in the innermost of the levels that are allowed is not one more.
        if self.depth() > DEPTH_MAX + 1 {
            return Err(SqlError::of(3157, &[]));
        }
        binary::encode(self)
    }
}

pub(crate) fn key_order(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// The value of a document that is a scalar; `None` for objects, arrays, and what is no document. `null` is
/// [`Value::Null`].
pub fn scalar(doc: &[u8]) -> Option<Value<'_>> {
    Some(match Node::of(doc)? {
        Node::Null => Value::Null,
        Node::Bool(v) => Value::bool(v),
        Node::Int(v) => Value::Int(v),
        Node::UInt(v) => Value::UInt(v),
        Node::Double(v) => Value::Double(v),
        Node::Decimal(v) => Value::Decimal(v),
        Node::Text(t) | Node::Opaque(_, t) => Value::bytes(t),
        Node::Array(_) | Node::Object(_) => return None,
    })
}

/// CAST(v AS JSON): text is parsed, other values become scalars.
///
/// # Errors
/// 3140 for text that is no JSON, 3144 for binary strings, 3157 for too deep ones.
pub fn from_value(v: &Value<'_>, from: &SqlType) -> SqlResult<Vec<u8>> {
    match v {
        Value::Json(doc) => memory::copied(doc),
        Value::Bytes(text) | Value::Label { text, .. } => {
            if from.collation == BINARY {
                return Err(SqlError::of(3144, &[&"binary"]));
            }
            let text = in_utf8(text, from)?;
            binary::encode(&parse::parse(&text)?)
        }
        Value::Bit { .. } => Err(SqlError::of(3144, &[&"binary"])),
        _ => from_scalar(v),
    }
}

/// Text of that type in UTF-8.
///
/// # Errors
/// As [`memory::reserve`].
pub fn in_utf8<'t>(text: &'t [u8], from: &SqlType) -> SqlResult<Cow<'t, [u8]>> {
    Ok(match from.charset() {
        Some(charset) if charset != Charset::UTF8MB4 && !is_same_in(text, charset, Charset::UTF8MB4) => {
            let mut out = memory::with_room(memory::converted_len_max(charset, Charset::UTF8MB4, text))?;
            convert(charset, Charset::UTF8MB4, text, &mut out);
            memory::give_back_rest(&mut out);
            Cow::Owned(out)
        }
        _ => Cow::Borrowed(text),
    })
}

/// A value as a scalar document; text becomes a string.
///
/// # Errors
/// As [`memory::reserve`].
pub fn from_scalar(v: &Value<'_>) -> SqlResult<Vec<u8>> {
    if let Value::Json(doc) = v {
        return memory::copied(doc);
    }
    binary::encode(&tree(v)?)
}

/// A value as a tree; text (in UTF-8) becomes a string.
///
/// # Errors
/// As [`memory::reserve`].
pub fn tree(v: &Value<'_>) -> SqlResult<Json> {
    let opaque = |code, push: &dyn Fn(&mut Vec<u8>)| {
        let mut text = Vec::new();
        push(&mut text);
        Json::Opaque(code, text)
    };
    Ok(match v {
        Value::Null => Json::Null,
        &Value::Int(v) => Json::Int(v),
        &Value::UInt(v) => Json::UInt(v),
        &Value::Float(v) => Json::Double(v.into()),
        &Value::Double(v) => Json::Double(v),
        Value::Decimal(d) => Json::Decimal(*d),
        Value::Bytes(text) | Value::Label { text, .. } => Json::Text(memory::copied(text)?),
        &Value::Bit { value, bytes } => Json::Opaque(mysql_type::BIT, bit_bytes(value, bytes)),
        &Value::Date(d) => opaque(mysql_type::DATE, &|out| push_date(d, out)),
        &Value::Time(t) => opaque(mysql_type::TIME, &|out| push_time(t, 6, out)),
        &Value::DateTime(d) => opaque(mysql_type::DATETIME, &|out| push_datetime(d, 6, out)),
        Value::Json(doc) => Node::of(doc).map_or(Ok(Json::Null), |node| node.to_tree())?,
    })
}

/// The bytes of a bit string.
fn bit_bytes(value: u64, bytes: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.into());
    vaquita_base::codec::push_uint(&mut out, bytes.clamp(1, 8).into(), value);
    out
}

/// A value of that type as a tree: as [`tree`], with text in any character set; bytes that are no text are opaque.
///
/// # Errors
/// As [`memory::reserve`].
pub fn tree_of(v: &Value<'_>, ty: &SqlType) -> SqlResult<Json> {
    let code = match ty.kind {
        Kind::Char => mysql_type::STRING,
        Kind::Bit => mysql_type::BIT,
        kind if kind.is_blob() => mysql_type::BLOB,
        _ => VAR_STRING,
    };
    Ok(match v {
        Value::Bytes(bytes) | Value::Label { text: bytes, .. } if ty.collation == BINARY => {
            Json::Opaque(code, memory::copied(bytes)?)
        }
        Value::Bytes(text) | Value::Label { text, .. } => Json::Text(match in_utf8(text, ty)? {
            Cow::Borrowed(text) => memory::copied(text)?,
            Cow::Owned(text) => text,
        }),
        &Value::Bit { value, bytes } => Json::Opaque(code, bit_bytes(value, bytes)),
        _ => tree(v)?,
    })
}

/// Type code of byte strings that are no column.
const VAR_STRING: u8 = 253;

/// Rank of a type: values of a type with a higher rank are greater.
fn rank(node: &Node<'_>) -> u8 {
    match node {
        Node::Null => 0,
        Node::Int(_) | Node::UInt(_) | Node::Double(_) | Node::Decimal(_) => 1,
        Node::Text(_) => 2,
        Node::Object(_) => 3,
        Node::Array(_) => 4,
        Node::Bool(_) => 5,
        Node::Opaque(mysql_type::DATE, _) => 6,
        Node::Opaque(mysql_type::TIME, _) => 7,
        Node::Opaque(mysql_type::DATETIME | mysql_type::TIMESTAMP, _) => 8,
        Node::Opaque(mysql_type::BIT, _) => 10,
        Node::Opaque(mysql_type::BLOB | mysql_type::STRING | mysql_type::VARCHAR | VAR_STRING, _) => 11,
        Node::Opaque(..) => 9,
    }
}

/// Order of documents: by type, then by value. Broken ones come first.
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    match (Node::of(a), Node::of(b)) {
        (Some(a), Some(b)) => compare_nodes(&a, &b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

/// Order of values within documents.
pub fn compare_nodes(a: &Node<'_>, b: &Node<'_>) -> Ordering {
    match (a, b) {
        (Node::Text(a), Node::Text(b)) => a.cmp(b),
        (Node::Opaque(mysql_type::TIME, x), Node::Opaque(mysql_type::TIME, y)) => micros(x).cmp(&micros(y)),
        (Node::Opaque(_, x), Node::Opaque(_, y)) => rank(a).cmp(&rank(b)).then_with(|| x.cmp(y)),
        (Node::Bool(a), Node::Bool(b)) => a.cmp(b),
        (Node::Array(a), Node::Array(b)) => {
            let elements = a.elements().zip(b.elements()).map(|(x, y)| compare_nodes(&x, &y));
            elements.into_iter().find(|o| o.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        // Any order will do for objects that differ.
        (Node::Object(a), Node::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
            let members = a.members().zip(b.members());
            let orders =
                members.map(|((k1, v1), (k2, v2))| key_order(k1, k2).then_with(|| compare_nodes(&v1, &v2)));
            orders.into_iter().find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        }),
        _ => match (number(a), number(b)) {
            (Some(a), Some(b)) => compare_numbers(a, b),
            _ => rank(a).cmp(&rank(b)),
        },
    }
}

/// A time in microseconds.
fn micros(text: &[u8]) -> i64 {
    parse_time(text).value.map_or(0, time_micros)
}

#[derive(Clone, Copy)]
enum Number {
    Whole(i128),
    Exact(Decimal),
    Double(f64),
}

fn number(node: &Node<'_>) -> Option<Number> {
    Some(match *node {
        Node::Int(v) => Number::Whole(v.into()),
        Node::UInt(v) => Number::Whole(v.into()),
        Node::Decimal(v) => Number::Exact(v),
        Node::Double(v) => Number::Double(v),
        _ => return None,
    })
}

impl Number {
    /// The nearest float, and what a whole number has beyond it.
    fn parts(self) -> (f64, i16) {
        match self {
            Number::Whole(v) => (v as f64, (v - (v as f64) as i128) as i16),
            Number::Exact(v) => (v.to_f64(), 0),
            // Both zeros are one.
            Number::Double(v) => (v + 0.0, 0),
        }
    }
}

fn compare_numbers(a: Number, b: Number) -> Ordering {
    match (a, b) {
        (Number::Whole(a), Number::Whole(b)) => a.cmp(&b),
        (Number::Exact(a), Number::Exact(b)) => a.cmp(&b),
        _ => {
            let ((a, a_rest), (b, b_rest)) = (a.parts(), b.parts());
            a.partial_cmp(&b).unwrap_or(Ordering::Equal).then(a_rest.cmp(&b_rest))
        }
    }
}

fn push_number_key(number: Number, out: &mut Vec<u8>) {
    let (near, rest) = number.parts();
    vaquita_base::codec::push_u64(out, ordered_bits(near));
    vaquita_base::codec::push_u16(out, rest as u16 ^ 0x8000);
}

/// Hash of a document: equal ones hash equally.
pub fn hash<H: std::hash::Hasher>(doc: &[u8], state: &mut H) {
    let mut key = Vec::new();
    push_sort_key(doc, &mut key);
    state.write(&key);
}

/// Appends a key that orders as the documents do; nothing more than a type if there is no memory for it, which the statement owes then.
pub fn push_sort_key(doc: &[u8], out: &mut Vec<u8>) {
    // A byte of text has two in a key at most, an entry of a number more.
    if let Err(refused) = memory::may_take(doc.len().saturating_mul(4)) {
        memory::account::owe(refused);
        return out.push(0);
    }
    match Node::of(doc) {
        Some(node) => push_node_key(&node, out),
        None => out.push(0),
    }
}

fn push_node_key(node: &Node<'_>, out: &mut Vec<u8>) {
    out.push(rank(node) + 2);
    match node {
        Node::Null => {}
        Node::Bool(v) => out.push(u8::from(*v)),
        Node::Int(_) | Node::UInt(_) | Node::Double(_) | Node::Decimal(_) => {
            number(node).into_iter().for_each(|number| push_number_key(number, out));
        }
        Node::Opaque(mysql_type::TIME, t) => vaquita_base::codec::push_u64(out, micros(t) as u64 ^ 1 << 63),
        Node::Text(t) | Node::Opaque(_, t) => push_bytes_key(t, out),
        Node::Array(items) => {
            items.elements().for_each(|e| push_node_key(&e, out));
            out.push(1);
        }
        Node::Object(members) => {
            vaquita_base::codec::push_u32(out, members.len() as u32);
            for (key, value) in members.members() {
                vaquita_base::codec::push_u32(out, key.len() as u32);
                push_bytes_key(key, out);
                push_node_key(&value, out);
            }
        }
    }
}
