//! Documents as text: `{"a": 1, "b": [1.5, null]}`.

use super::binary::Node;
use crate::{SqlResult, memory, number};
use std::borrow::Cow;
use vaquita_format::column::mysql_type;

/// Appends a document as text; nothing for bytes that are no document.
///
/// # Errors
/// As [`memory::reserve`].
pub fn push_text(doc: &[u8], out: &mut Vec<u8>) -> SqlResult<()> {
    Node::of(doc).map_or(Ok(()), |node| push_node(&node, out))
}

/// Appends a document as JSON_PRETTY() does: a member or element on a line.
///
/// # Errors
/// As [`memory::reserve`].
pub fn push_pretty(doc: &[u8], out: &mut Vec<u8>) -> SqlResult<()> {
    Node::of(doc).map_or(Ok(()), |node| push_pretty_node(&node, 0, out))
}

/// Appends a value as text.
///
/// # Errors
/// As [`memory::reserve`].
pub fn push_node(node: &Node<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
    match node {
        Node::Array(c) => {
            memory::push(out, b'[')?;
            for (i, e) in c.elements().enumerate() {
                separate(i, out)?;
                push_node(&e, out)?;
            }
            memory::push(out, b']')
        }
        Node::Object(c) => {
            memory::push(out, b'{')?;
            for (i, (key, value)) in c.members().enumerate() {
                separate(i, out)?;
                push_quoted(key, out)?;
                memory::append(out, b": ")?;
                push_node(&value, out)?;
            }
            memory::push(out, b'}')
        }
        _ => push_scalar(node, out),
    }
}

fn push_pretty_node(node: &Node<'_>, level: usize, out: &mut Vec<u8>) -> SqlResult<()> {
    let (c, ends) = match node {
        Node::Array(c) if !c.is_empty() => (c, [b'[', b']']),
        Node::Object(c) if !c.is_empty() => (c, [b'{', b'}']),
        _ => return push_node(node, out),
    };
    let line = |level: usize, out: &mut Vec<u8>| {
        memory::reserve(out, 2 * level + 2)?;
        out.push(b'\n');
        out.resize(out.len() + 2 * level, b' ');
        Ok(())
    };
    memory::push(out, ends[0])?;
    for (i, value) in c.elements().enumerate() {
        if i > 0 {
            memory::push(out, b',')?;
        }
        line(level + 1, out)?;
        if let Some(key) = c.key(i) {
            push_quoted(key, out)?;
            memory::append(out, b": ")?;
        }
        push_pretty_node(&value, level + 1, out)?;
    }
    line(level, out)?;
    memory::push(out, ends[1])
}

fn push_scalar(node: &Node<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
    /// As many as any number has.
    const NUMBER_MAX: usize = 96;
    memory::short(1)?;
    memory::reserve(out, NUMBER_MAX)?;
    match node {
        Node::Bool(true) => out.extend_from_slice(b"true"),
        Node::Bool(false) => out.extend_from_slice(b"false"),
        Node::Int(v) => number::push_i64(*v, out),
        Node::UInt(v) => number::push_u64(*v, out),
        Node::Double(v) => push_double(*v, out),
        Node::Decimal(v) => v.push_text(out),
        Node::Text(t) => return push_quoted(t, out),
        Node::Opaque(..) => return push_quoted(&opaque_text(node)?, out),
        Node::Null | Node::Array(_) | Node::Object(_) => out.extend_from_slice(b"null"),
    }
    Ok(())
}

/// Appends what JSON_UNQUOTE() gives: the text of a string, anything else as it is printed.
///
/// # Errors
/// As [`memory::reserve`].
pub fn push_unquoted(node: &Node<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
    match node {
        Node::Text(t) => memory::append(out, t),
        Node::Opaque(..) => memory::append(out, &opaque_text(node)?),
        _ => push_node(node, out),
    }
}

/// The text of an opaque value: of times what they are, of others `base64:type253:...`.
fn opaque_text<'d>(node: &Node<'d>) -> SqlResult<Cow<'d, [u8]>> {
    Ok(match *node {
        Node::Opaque(
            mysql_type::DATE | mysql_type::TIME | mysql_type::DATETIME | mysql_type::TIMESTAMP,
            t,
        ) => Cow::Borrowed(t),
        Node::Opaque(code, bytes) => {
            let mut out = format!("base64:type{code}:").into_bytes();
            memory::reserve(&mut out, bytes.len().div_ceil(3).saturating_mul(4))?;
            push_base64(bytes, &mut out);
            Cow::Owned(out)
        }
        _ => Cow::Borrowed(b""),
    })
}

fn push_base64(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, &b| bits << 8 | u32::from(b)) << (8 * (3 - group.len()));
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i)) as usize & 63];
            out.push(if i <= group.len() { digit } else { b'=' });
        }
    }
}

fn separate(i: usize, out: &mut Vec<u8>) -> SqlResult<()> {
    if i > 0 { memory::append(out, b", ") } else { Ok(()) }
}

/// A float shows that it is one: `1.0`.
fn push_double(v: f64, out: &mut Vec<u8>) {
    let start = out.len();
    number::push_f64(v, out);
    if out[start..].iter().all(|b| b.is_ascii_digit() || *b == b'-') {
        out.extend_from_slice(b".0");
    }
}

/// Appends text in double quotes, escaped.
///
/// # Errors
/// As [`memory::reserve`].
pub fn push_quoted(text: &[u8], out: &mut Vec<u8>) -> SqlResult<()> {
    memory::reserve(out, text.len() + 2)?;
    out.push(b'"');
    for run in text.chunk_by(|a, b| is_plain(*a) == is_plain(*b)) {
        if run.first().is_some_and(|&b| is_plain(b)) {
            memory::append(out, run)?;
            continue;
        }
        // The longest escape has six bytes.
        memory::reserve(out, run.len().saturating_mul(6))?;
        for &b in run {
            match b {
                b'"' => out.extend_from_slice(b"\\\""),
                b'\\' => out.extend_from_slice(b"\\\\"),
                8 => out.extend_from_slice(b"\\b"),
                9 => out.extend_from_slice(b"\\t"),
                10 => out.extend_from_slice(b"\\n"),
                12 => out.extend_from_slice(b"\\f"),
                13 => out.extend_from_slice(b"\\r"),
                _ => out.extend_from_slice(format!("\\u{b:04x}").as_bytes()),
            }
        }
    }
    memory::push(out, b'"')
}

/// Whether a byte stands for itself in quotes.
fn is_plain(b: u8) -> bool {
    b >= 0x20 && b != b'"' && b != b'\\'
}
