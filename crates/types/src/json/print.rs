//! Documents as text: `{"a": 1, "b": [1.5, null]}`.

use super::binary::Node;
use crate::number;
use std::borrow::Cow;
use vaquita_format::column::mysql_type;

/// Appends a document as text; nothing for bytes that are no document.
pub fn push_text(doc: &[u8], out: &mut Vec<u8>) {
    if let Some(node) = Node::of(doc) {
        push_node(&node, out);
    }
}

/// Appends a document as JSON_PRETTY() does: a member or element on a line.
pub fn push_pretty(doc: &[u8], out: &mut Vec<u8>) {
    if let Some(node) = Node::of(doc) {
        push_pretty_node(&node, 0, out);
    }
}

/// Appends a value as text.
pub fn push_node(node: &Node<'_>, out: &mut Vec<u8>) {
    match node {
        Node::Array(c) => {
            out.push(b'[');
            for (i, e) in c.elements().enumerate() {
                separate(i, out);
                push_node(&e, out);
            }
            out.push(b']');
        }
        Node::Object(c) => {
            out.push(b'{');
            for (i, (key, value)) in c.members().enumerate() {
                separate(i, out);
                push_quoted(key, out);
                out.extend_from_slice(b": ");
                push_node(&value, out);
            }
            out.push(b'}');
        }
        _ => push_scalar(node, out),
    }
}

fn push_pretty_node(node: &Node<'_>, level: usize, out: &mut Vec<u8>) {
    let (c, ends) = match node {
        Node::Array(c) if !c.is_empty() => (c, [b'[', b']']),
        Node::Object(c) if !c.is_empty() => (c, [b'{', b'}']),
        _ => return push_node(node, out),
    };
    let line = |level: usize, out: &mut Vec<u8>| {
        out.push(b'\n');
        out.resize(out.len() + 2 * level, b' ');
    };
    out.push(ends[0]);
    for (i, value) in c.elements().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        line(level + 1, out);
        if let Some(key) = c.key(i) {
            push_quoted(key, out);
            out.extend_from_slice(b": ");
        }
        push_pretty_node(&value, level + 1, out);
    }
    line(level, out);
    out.push(ends[1]);
}

fn push_scalar(node: &Node<'_>, out: &mut Vec<u8>) {
    match node {
        Node::Bool(true) => out.extend_from_slice(b"true"),
        Node::Bool(false) => out.extend_from_slice(b"false"),
        Node::Int(v) => number::push_i64(*v, out),
        Node::UInt(v) => number::push_u64(*v, out),
        Node::Double(v) => push_double(*v, out),
        Node::Decimal(v) => v.push_text(out),
        Node::Text(t) => push_quoted(t, out),
        Node::Opaque(..) => push_quoted(&opaque_text(node), out),
        Node::Null | Node::Array(_) | Node::Object(_) => out.extend_from_slice(b"null"),
    }
}

/// Appends what JSON_UNQUOTE() gives: the text of a string, anything else as it is printed.
pub fn push_unquoted(node: &Node<'_>, out: &mut Vec<u8>) {
    match node {
        Node::Text(t) => out.extend_from_slice(t),
        Node::Opaque(..) => out.extend_from_slice(&opaque_text(node)),
        _ => push_node(node, out),
    }
}

/// The text of an opaque value: of times what they are, of others `base64:type253:...`.
fn opaque_text<'d>(node: &Node<'d>) -> Cow<'d, [u8]> {
    match *node {
        Node::Opaque(
            mysql_type::DATE | mysql_type::TIME | mysql_type::DATETIME | mysql_type::TIMESTAMP,
            t,
        ) => Cow::Borrowed(t),
        Node::Opaque(code, bytes) => {
            let mut out = format!("base64:type{code}:").into_bytes();
            push_base64(bytes, &mut out);
            Cow::Owned(out)
        }
        _ => Cow::Borrowed(b""),
    }
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

fn separate(i: usize, out: &mut Vec<u8>) {
    if i > 0 {
        out.extend_from_slice(b", ");
    }
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
pub fn push_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &b in text {
        match b {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            8 => out.extend_from_slice(b"\\b"),
            9 => out.extend_from_slice(b"\\t"),
            10 => out.extend_from_slice(b"\\n"),
            12 => out.extend_from_slice(b"\\f"),
            13 => out.extend_from_slice(b"\\r"),
            0..0x20 => out.extend_from_slice(format!("\\u{b:04x}").as_bytes()),
            _ => out.push(b),
        }
    }
    out.push(b'"');
}
