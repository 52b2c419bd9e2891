//! Definitions of `.cfg` files: what a server says of a table whose file it gives away.
//!
//! It is written so that the table's columns and indexes can be compared with those of another one, and says all of the records.
//! Of what a table is in SQL it tells names, types, NOT NULL, collations of texts, keys and the row format. It does not tell:
//!
//! | | what becomes of it |
//! |---|---|
//! | labels of ENUM and SET, digits of DECIMAL, bits of BIT, digits of a second's fraction, kinds of spatial values | no definition |
//! | which column has AUTO_INCREMENT | the one that can have it; if several can, no definition |
//! | defaults, comments, foreign keys, CHECK constraints, expressions, display widths, ZEROFILL | there are none |
//! | the default collation of the table | that of its first text |

use crate::declared::sql_type;
use crate::definition::{ColumnDefinition, Definition, KeyDefinition, KeyKind, KeyPart, width_of};
use std::sync::Arc;
use vaquita_engine::Column;
use vaquita_engine::lower::cfg::{CfgIndex, TableMeta, index_type};
use vaquita_engine::lower::column::{ColumnDef, LATIN1_SWEDISH_CI, MType, mysql_type};

/// The hidden clustered index.
const GENERATED: &str = "GEN_CLUST_INDEX";
/// The document id of FULLTEXT tables, and the index on it.
const DOC_ID: &str = "FTS_DOC_ID";
const DOC_ID_INDEX: &str = "FTS_DOC_ID_INDEX";

impl Definition {
    /// The table that a `.cfg` describes, under another name.
    ///
    /// # Errors
    /// What it does not tell, by column.
    pub fn of_cfg(meta: &TableMeta, name: &str) -> Result<Definition, Vec<String>> {
        let columns: Vec<&ColumnDef> = meta.user_columns().filter(|c| !is_hidden(c)).collect();
        let mut missing: Vec<String> = columns
            .iter()
            .filter_map(|c| unsaid(c).map(|what| format!("{what} of column `{}`", c.name)))
            .collect();
        let mut definition = Definition::new("", name, LATIN1_SWEDISH_CI, meta.row_format());
        for (at, def) in columns.iter().enumerate() {
            let ty = sql_type(&Column::new((*def).clone()), "", LATIN1_SWEDISH_CI);
            let column =
                ColumnDefinition { origin: Some(at), ..ColumnDefinition::new(&def.name, ty, Vec::new()) };
            definition.columns.push(Arc::new(column));
        }
        if let Some(text) = definition.columns.iter().find(|c| c.is_text()) {
            definition.collation = text.ty.collation;
        }
        let hides_doc_id = columns.iter().all(|c| c.name != DOC_ID);
        let is_said =
            |index: &&CfgIndex| index.name != GENERATED && !(hides_doc_id && index.name == DOC_ID_INDEX);
        for index in meta.indexes.iter().filter(is_said) {
            match key_of(index, &definition) {
                Some(key) => definition.keys.push(Arc::new(key)),
                None => missing.push(format!("the columns of index `{}`", index.name)),
            }
        }
        if meta.autoinc != 0
            && let Err(what) = number_rows(&mut definition)
        {
            missing.push(what);
        }
        if missing.is_empty() { Ok(definition) } else { Err(missing) }
    }
}

/// The document id that a FULLTEXT index added: the user's own column has type BIGINT.
fn is_hidden(column: &ColumnDef) -> bool {
    column.name == DOC_ID && column.mtype == MType::Int && column.mysql_type() == mysql_type::LONG
}

/// What is not said of a column's type.
fn unsaid(column: &ColumnDef) -> Option<&'static str> {
    use mysql_type as code;
    match (column.mtype, column.mysql_type()) {
        (MType::Int, code::STRING) => Some("the labels"),
        (MType::FixBinary, code::NEWDECIMAL) => Some("the digits"),
        (MType::FixBinary, code::BIT) => Some("the number of bits"),
        (MType::FixBinary, code::TIME) if column.len > 3 => Some("the fraction digits"),
        (MType::FixBinary, code::DATETIME) if column.len > 5 => Some("the fraction digits"),
        (MType::FixBinary, code::TIMESTAMP) if column.len > 4 => Some("the fraction digits"),
        (MType::Blob, code::GEOMETRY) => Some("the spatial type"),
        (MType::Decimal, _) => Some("the type"),
        (mtype, _) if mtype.is_string() && !column.is_binary() && column.collation_id() == 0 => {
            Some("the character set")
        }
        (
            _,
            code::TINY..=code::DOUBLE
            | code::TIMESTAMP..=code::YEAR
            | code::VARCHAR
            | code::BLOB
            | code::STRING,
        ) => None,
        _ => Some("the type"),
    }
}

fn key_of(index: &CfgIndex, table: &Definition) -> Option<KeyDefinition> {
    let kind = match index.kind {
        kind if kind & index_type::FULLTEXT != 0 => KeyKind::FullText,
        kind if kind & index_type::CLUSTERED != 0 && index.name == "PRIMARY" => KeyKind::Primary,
        kind if kind & index_type::UNIQUE != 0 => KeyKind::Unique,
        _ => KeyKind::Plain,
    };
    let fields = index.fields.get(..index.n_user_defined as usize)?;
    let part = |field: &vaquita_engine::lower::cfg::CfgField| {
        let column = &table.columns[table.column(&field.column)?];
        let bytes = if kind == KeyKind::FullText { 0 } else { field.prefix_len };
        let prefix = (bytes != 0).then(|| bytes / width_of(&column.ty).max(1));
        Some(KeyPart { prefix, ..KeyPart::whole(&column.name) })
    };
    let parts = fields.iter().map(part).collect::<Option<Vec<_>>>()?;
    (!parts.is_empty()).then(|| KeyDefinition::new(kind, index.name.clone(), parts))
}

/// Gives AUTO_INCREMENT to the only column that can have it: a number that a key begins with.
fn number_rows(table: &mut Definition) -> Result<(), String> {
    let begins = |name: &str| table.keys.iter().any(|k| k.has_tree() && k.parts[0].column == name);
    let can = |c: &ColumnDefinition| {
        let is_number = c.ty.kind.is_integer() && c.ty.kind != vaquita_types::Kind::Year;
        is_number && !c.ty.nullable && begins(&c.name)
    };
    let places: Vec<usize> = (0..table.columns.len()).filter(|&at| can(&table.columns[at])).collect();
    match places[..] {
        [at] => {
            table.column_mut(at).auto_increment = true;
            Ok(())
        }
        _ => Err("the column that has AUTO_INCREMENT".into()),
    }
}

#[cfg(test)]
mod tests;
