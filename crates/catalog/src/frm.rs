//! Definitions of `.frm` files: tables of a MySQL server, without its dictionary.
//!
//! The engine reads the same files for tables of a server's folder; what they say of columns and options is found by it in both
//! cases. Foreign keys and DATA DIRECTORY are not in a `.frm`. The way back is [`write`].

pub mod write;

use crate::definition::{Definition, KeyDefinition, KeyKind, KeyPart, TableOptions, width_of};
use crate::show_create::{Style, show_create};
use crate::stored::{column_of, with_options};
use std::sync::Arc;
use vaquita_engine::kept::{Extra, is_of_index};
use vaquita_engine::lower::Corruption;
use vaquita_engine::lower::frm::{Frm, FrmKey, key_flags};
use vaquita_engine::{columns_of_frm, options_of_frm};
use vaquita_types::TimeZone;

impl Definition {
    /// The table that a `.frm` describes, which has not its name.
    ///
    /// # Errors
    /// A type or a collation that is not known.
    pub fn of_frm(frm: &Frm, name: &str) -> Result<Definition, Corruption> {
        let mut definition = Definition::new("", name, frm.collation, frm.default_row_format());
        for (at, column) in columns_of_frm(frm)?.iter().enumerate() {
            let column = column_of(column, at, frm.collation, definition.row_format);
            definition.columns.push(Arc::new(column));
        }
        let mut kept = options_of_frm(frm);
        let key = |key: &FrmKey| Arc::new(key_of(key, frm, &definition, &kept));
        definition.keys = frm.keys.iter().map(key).collect();
        kept.retain(|name| !is_of_index(name));
        definition.comment.clone_from(&frm.comment);
        definition.options = TableOptions { kept };
        definition.partitioning.clone_from(&frm.partition_clause);
        Ok(definition)
    }
}

fn key_of(key: &FrmKey, frm: &Frm, table: &Definition, kept: &Extra) -> KeyDefinition {
    let kind = match key {
        key if key.is_primary() => KeyKind::Primary,
        key if key.is_fulltext() => KeyKind::FullText,
        key if key.flags & key_flags::SPATIAL != 0 => KeyKind::Spatial,
        key if key.is_unique() => KeyKind::Unique,
        _ => KeyKind::Plain,
    };
    let whole = matches!(kind, KeyKind::FullText | KeyKind::Spatial);
    let part = |part: &vaquita_engine::lower::frm::FrmKeyPart| {
        let column = &table.columns[part.column];
        let is_prefix = !whole && frm.columns[part.column].is_prefix(part.length);
        let prefix = is_prefix.then(|| u32::from(part.length) / width_of(&column.ty).max(1));
        KeyPart { prefix, ..KeyPart::whole(&column.name) }
    };
    let parts = key.parts.iter().map(part).collect();
    let definition = KeyDefinition::new(kind, key.name.clone(), parts);
    with_options(KeyDefinition { comment: key.comment.clone(), ..definition }, kept)
}

/// The statement that makes the table of a `.frm`; the file does not tell the next AUTO_INCREMENT value.
///
/// # Errors
/// As [`Definition::of_frm`].
pub fn show_create_frm(frm: &Frm, name: &str, next_number: u64) -> Result<String, Corruption> {
    let definition = Definition::of_frm(frm, name)?;
    Ok(show_create(&definition, Some(next_number), &TimeZone::UTC, Style::default()))
}

#[cfg(test)]
mod tests;
