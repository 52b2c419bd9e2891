//! Engine errors of a statement on a known table, in MySQL's words.

use vaquita_catalog::TableInfo;
use vaquita_catalog::error;
use vaquita_engine::lower::charset::Charset;
use vaquita_engine::{Error, Field};
use vaquita_types::sql_type::BINARY;
use vaquita_types::{Kind, SqlError, TimeZone};

/// An error of changing a row of this table.
pub(crate) fn failure(e: &Error, info: &TableInfo) -> SqlError {
    if e.no_space().is_some() {
        return SqlError::new(
            1114,
            format!("The table '{}' is full", vaquita_catalog::sql_name(&info.table.name).1),
        );
    }
    error::engine(e)
}

/// The same for a row that is at hand: `fields` are its values by column.
pub(crate) fn row_failure(e: &Error, info: &TableInfo, fields: &[Field<'_>], tz: &TimeZone) -> SqlError {
    if let Error::DuplicateKey { table, index, .. } = e
        && *table == info.table.name
        && let Some(key) = info.keys.iter().find(|k| k.name == *index)
    {
        let mut text = String::new();
        for part in &key.parts {
            if !text.is_empty() {
                text.push('-');
            }
            push_value(
                info,
                part.column,
                fields.get(part.column).copied().flatten(),
                part.prefix,
                tz,
                &mut text,
            );
        }
        return error::duplicate_entry(&text, index);
    }
    failure(e, info)
}

/// A value as messages show it: text in Unicode, other bytes as `\x00`.
fn push_value(
    info: &TableInfo,
    column: usize,
    value: Field<'_>,
    prefix: Option<u32>,
    tz: &TimeZone,
    out: &mut String,
) {
    let ty = &info.columns[column].ty;
    if value.is_none() {
        out.push_str("NULL");
        return;
    }
    let decoded = ty.decode(value, tz);
    let text = decoded.to_text(&ty.ty);
    let mut text: &[u8] = &text;
    if ty.ty.kind == Kind::Char && ty.ty.collation == BINARY {
        // The zero bytes that fill a BINARY(n) up are not shown, but for the first of nothing else.
        let shown = text.iter().rposition(|&b| b != 0).map_or(1, |at| at + 1);
        text = &text[..shown.min(text.len())];
    }
    let charset = Charset::of_collation(ty.ty.collation);
    if let Some(chars) = prefix {
        let len = charset.map_or(chars as usize, |c| c.prefix_len(text, chars as usize));
        text = &text[..len.min(text.len())];
    }
    match charset.and_then(|c| c.decode(text)) {
        Some(unicode) if ty.ty.collation != BINARY => out.push_str(&unicode),
        _ => text.iter().for_each(|&b| match b {
            0x20..=0x7E => out.push(b.into()),
            _ => out.push_str(&format!("\\x{b:02X}")),
        }),
    }
}
