//! Tables that are made of files from elsewhere: CREATE TABLE that takes the rows of one. `connection::import` finds the definitions.

use super::create::{create_table_of, creation_error};
use crate::statement::StmtCx;
use bumpalo::Bump;
use std::sync::Arc;
use vaquita_catalog::quoted_name as quoted;
use vaquita_catalog::{Definition, KeyDefinition, KeyKind, error};
use vaquita_engine::{Error, ImportFile, TableSpec};
use vaquita_exec::Outcome;
use vaquita_parser::ParseMode;
use vaquita_parser::ast::{self, Stmt};
use vaquita_types::{SqlError, SqlResult};

/// Executes CREATE TABLE of which the rows are in a file.
///
/// # Errors
/// As CREATE TABLE; 1808 the file is of another table, 1815 it is damaged, 1452 a row refers to none.
pub(crate) fn create_table_of_file(
    cx: &mut StmtCx<'_>,
    written: &ast::CreateTable<'_>,
    sql: &[u8],
    file: &ImportFile,
) -> SqlResult<Outcome> {
    create_table_of(cx, written, &super::Text { sql, params: &[], types: &[] }, Some(file))
}

/// Has the engine make the table.
pub(super) fn create(
    cx: &mut StmtCx<'_>,
    spec: &TableSpec,
    file: &ImportFile,
    definition: &Definition,
) -> SqlResult<Outcome> {
    let rows = cx.engine.create_table_of(spec, file).map_err(|e| match e {
        Error::BadImport { .. } | Error::SchemaMismatch(_) => file_error(&e, file),
        Error::NoReferencedRow { .. } => error::engine(&e),
        e => creation_error(&e, definition),
    })?;
    add_words(cx, definition)?;
    Ok(Outcome { affected_rows: rows, ..Outcome::default() })
}

/// What is wrong with a file, which it names.
pub(crate) fn file_error(e: &Error, file: &ImportFile) -> SqlError {
    let path = file.path().display();
    match e {
        Error::BadImport { detail, .. } => SqlError::new(1815, format!("Internal error: {path}: {detail}")),
        Error::SchemaMismatch(detail) => SqlError::new(1808, format!("Schema mismatch ({path}: {detail})")),
        e => error::engine(e),
    }
}

/// Whether the file has the hidden numbers of documents that a FULLTEXT index leaves behind when it goes.
pub(super) fn numbers_documents(file: &ImportFile, definition: &Definition) -> bool {
    let hidden = |name: &str| name == "FTS_DOC_ID" && definition.column(name).is_none();
    file.description().is_some_and(|meta| meta.user_columns().any(|column| hidden(&column.name)))
}

/// Adds the FULLTEXT indexes of a definition to its table, which has the rows: their words are found anew.
///
/// # Errors
/// As ALTER TABLE.
///
/// # Crash
/// The table has those that were built by then.
pub(super) fn add_words(cx: &mut StmtCx<'_>, definition: &Definition) -> SqlResult<()> {
    let keys = definition.keys.iter().filter(|key| key.kind == KeyKind::FullText);
    let clause = |key: &Arc<KeyDefinition>| {
        let columns: Vec<String> = key.parts.iter().map(|part| quoted(&part.column)).collect();
        let mut text = format!("ADD FULLTEXT KEY {} ({})", quoted(&key.name), columns.join(","));
        if let Some(parser) = &key.parser {
            text += &format!(" WITH PARSER {}", quoted(parser));
        }
        if !key.comment.is_empty() {
            text += &format!(" COMMENT '{}'", key.comment.replace('\\', "\\\\").replace('\'', "''"));
        }
        text
    };
    let clauses: Vec<String> = keys.map(clause).collect();
    let table = format!("{}.{}", quoted(&definition.database), quoted(&definition.name));
    for clause in clauses {
        let text = format!("ALTER TABLE {table} {clause}");
        let arena = Bump::new();
        let mode = ParseMode { params: false, ..ParseMode::default() };
        match vaquita_parser::parse(text.as_bytes(), &arena, mode).map(|parsed| parsed.stmt) {
            Ok(Stmt::AlterTable(alter)) => super::alter::alter_table(cx, alter, text.as_bytes())?,
            _ => return Err(SqlError::new(1105, format!("{clause} of {table} cannot be written down"))),
        };
    }
    Ok(())
}
