//! ALTER TABLE .. DISCARD TABLESPACE and .. IMPORT TABLESPACE: answers and warnings of MySQL 5.6.24.

use super::{names_of, views};
use crate::statement::StmtCx;
use std::sync::Arc;
use vaquita_catalog::{TableInfo, engine_name, error};
use vaquita_engine::Error;
use vaquita_exec::Outcome;
use vaquita_parser::ast::ObjectName;
use vaquita_types::{SqlError, SqlResult};

/// DISCARD TABLESPACE.
pub(super) fn discard(cx: &mut StmtCx<'_>, name: &ObjectName<'_>) -> SqlResult<Outcome> {
    let (database, table, engine_name) = named(cx, name, "DISCARD TABLESPACE")?;
    let discarded = cx.engine.discard_tablespace(&engine_name).map_err(|e| match e {
        Error::NoSuchTable(_) => error::no_such_table(&database, &table),
        // MySQL's names no key.
        Error::ForeignKey(_) => {
            SqlError::new(1451, "Cannot delete or update a parent row: a foreign key constraint fails ()")
        }
        e => error::engine(&e),
    })?;
    if !discarded {
        cx.state.warnings.warn(1812, format!("InnoDB: Tablespace is missing for table '{table}'"));
    }
    Ok(Outcome::default())
}

/// IMPORT TABLESPACE.
pub(super) fn import(cx: &mut StmtCx<'_>, name: &ObjectName<'_>) -> SqlResult<Outcome> {
    let (database, table, engine_name) = named(cx, name, "IMPORT TABLESPACE")?;
    let discarded = TableInfo::of_discarded(cx.db.engine.core(), &engine_name)?;
    let imported = cx.engine.import_tablespace(&engine_name).map_err(|e| match e {
        Error::NoSuchTable(_) => error::no_such_table(&database, &table),
        Error::BadImport { detail, missing, .. } => {
            let what = if missing { "Tablespace not found" } else { "Data structure corruption" };
            let quoted = format!("\"{database}\".\"{table}\"");
            SqlError::new(
                1815,
                format!("Internal error: Cannot reset LSNs in table '{quoted}' : {what}: {detail}"),
            )
        }
        e => error::engine(&e),
    })?;
    if let Some(path) = imported.without_description {
        let text = format!(
            "InnoDB: IO Read error: (2, No such file or directory) Error opening '{path}', will attempt to import without schema verification"
        );
        cx.state.warnings.warn(1810, text);
    }
    if imported.without_words
        && let Some(before) = discarded
    {
        super::import::add_words(cx, &before.definition)?;
    }
    Ok(Outcome::default())
}

/// The table of a statement, which is no view and has a tablespace of its own.
fn named(cx: &mut StmtCx<'_>, name: &ObjectName<'_>, what: &str) -> SqlResult<(String, String, String)> {
    let (database, table) = names_of(cx, name)?;
    if views::find(cx, &database, &table).is_some() {
        return Err(views::not_table(&database, &table));
    }
    let engine_name = engine_name(&database, &table)?;
    if cx.engine.temporary_table(&engine_name).is_some() {
        return Err(SqlError::unsupported(&format!("{what} of a temporary table")));
    }
    Ok((database, table, engine_name))
}

/// What is said of a table, whose tablespace may be discarded.
///
/// # Errors
/// As [`super::look_at`], but for that.
pub(super) fn look_at_definition(
    cx: &mut StmtCx<'_>,
    database: &str,
    table: &str,
) -> SqlResult<Arc<TableInfo>> {
    let refused = match super::look_at(cx, database, table) {
        Err(e) if e.code == 1814 => e,
        found => return found,
    };
    TableInfo::of_discarded(cx.db.engine.core(), &engine_name(database, table)?)?.ok_or(refused)
}
