//! Rows of the text protocol: every value as the text it prints as, behind its length; 0xFB for NULL.

use crate::packet::Output;
use crate::packet::lenenc::push_string;
use vaquita_sql::ColumnMeta;
use vaquita_sql::types::{SqlType, Value};

const NULL: u8 = 0xFB;

/// Longest text whose length is one byte.
const SHORT_MAX: usize = 250;

/// A row as a packet.
#[inline]
pub fn push_row(out: &mut Output, columns: &[ColumnMeta], values: &[Value<'_>]) {
    debug_assert_eq!(columns.len(), values.len());
    let mark = out.begin();
    for (column, value) in columns.iter().zip(values) {
        push_value(&mut out.buf, &column.ty, value);
    }
    out.end(mark);
}

#[inline]
fn push_value(out: &mut Vec<u8>, ty: &SqlType, value: &Value<'_>) {
    match value {
        Value::Null => out.push(NULL),
        Value::Bytes(text) | Value::Label { text, .. } => push_string(out, text),
        other => push_printed(out, ty, other),
    }
}

/// Prints behind a byte for the length.
pub(super) fn push_printed(out: &mut Vec<u8>, ty: &SqlType, value: &Value<'_>) {
    let at = out.len();
    out.push(0);
    value.push_text(ty, out);
    let len = out.len() - at - 1;
    if len <= SHORT_MAX {
        out[at] = len as u8;
        return;
    }
    let text = out.split_off(at + 1);
    out.truncate(at);
    push_string(out, &text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_sql::types::Kind;

    fn column(kind: Kind) -> ColumnMeta {
        ColumnMeta {
            schema: [].into(),
            table: [].into(),
            org_table: [].into(),
            name: [].into(),
            org_name: [].into(),
            ty: SqlType::new(kind),
            flags: 0,
        }
    }

    #[test]
    fn strings_and_nulls() {
        let columns =
            [column(Kind::VarChar), column(Kind::VarChar), column(Kind::Enum), column(Kind::VarChar)];
        let long = [b'x'; 251];
        let label = Value::Label { number: 2, text: (&b"two"[..]).into() };
        let mut out = Output { seq: 3, ..Output::default() };
        push_row(&mut out, &columns, &[Value::Null, Value::bytes(b""), label, Value::bytes(&long)]);
        let mut expected = b"\x04\x01\0\x03\xfb\0\x03two\xfc\xfb\0".to_vec();
        expected.extend_from_slice(&long);
        assert_eq!(out.buf, expected);
    }

    /// What is printed may be longer than one byte of length can say.
    #[test]
    fn the_length_of_what_is_printed_grows() {
        for len in [249, 250, 251, 252, 300, 70_000] {
            let text = vec![b'y'; len];
            let mut direct = Vec::new();
            push_string(&mut direct, &text);
            let mut out = Vec::new();
            push_value(&mut out, &SqlType::new(Kind::VarChar), &Value::bytes(&text));
            assert_eq!(out, direct, "{len}");
        }
    }
}
