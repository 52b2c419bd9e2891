//! Documents as text: `{"a": 1, "b": [1.5, null]}`.

use super::binary::Node;
use crate::number;

/// Appends a document as text; nothing for bytes that are no document.
pub fn push_text(doc: &[u8], out: &mut Vec<u8>) {
    if let Some(node) = Node::of(doc) {
        push_node(&node, out);
    }
}

fn push_node(node: &Node<'_>, out: &mut Vec<u8>) {
    match node {
        Node::Null => out.extend_from_slice(b"null"),
        Node::Bool(true) => out.extend_from_slice(b"true"),
        Node::Bool(false) => out.extend_from_slice(b"false"),
        Node::Int(v) => number::push_i64(*v, out),
        Node::UInt(v) => number::push_u64(*v, out),
        Node::Double(v) => push_double(*v, out),
        Node::Text(t) | Node::Opaque(_, t) => push_quoted(t, out),
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
pub(super) fn push_quoted(text: &[u8], out: &mut Vec<u8>) {
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
