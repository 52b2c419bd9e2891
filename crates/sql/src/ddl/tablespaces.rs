//! ALTER TABLE .. DISCARD TABLESPACE and .. IMPORT TABLESPACE: answers and warnings of MySQL 5.6.24. Those of partitioned tables, and
//! DISCARD and IMPORT PARTITION .. TABLESPACE, are MySQL 5.7's: 5.6 has none (1031).

use super::partitions::not_partitioned;
use super::{names_of, views};
use crate::statement::StmtCx;
use std::sync::Arc;
use vaquita_catalog::partitioning::Partitioned;
use vaquita_catalog::{TableInfo, engine_name, error};
use vaquita_engine::Error;
use vaquita_exec::Outcome;
use vaquita_parser::ast::{Ident, ObjectName};
use vaquita_plan::partition::parts_named;
use vaquita_types::{SqlError, SqlResult};

/// DISCARD TABLESPACE, of partitions if some are named.
pub(super) fn discard(
    cx: &mut StmtCx<'_>,
    name: &ObjectName<'_>,
    partitions: Option<&[Ident<'_>]>,
) -> SqlResult<Outcome> {
    let (database, table, engine_name) = named(cx, name, (partitions, "DISCARD TABLESPACE"))?;
    let files = files_of(cx, &database, &table, partitions)?;
    let discarded = cx.engine.discard_parts(&engine_name, files.as_deref()).map_err(|e| match e {
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

/// IMPORT TABLESPACE, of partitions if some are named.
pub(super) fn import(
    cx: &mut StmtCx<'_>,
    name: &ObjectName<'_>,
    partitions: Option<&[Ident<'_>]>,
) -> SqlResult<Outcome> {
    let (database, table, engine_name) = named(cx, name, (partitions, "IMPORT TABLESPACE"))?;
    let files = files_of(cx, &database, &table, partitions)?;
    let discarded = TableInfo::of_discarded(cx.db.engine.core(), &engine_name)?;
    let imported = cx.engine.import_parts(&engine_name, files.as_deref()).map_err(|e| match e {
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
    for path in imported.iter().filter_map(|imported| imported.without_description.as_ref()) {
        let text = format!(
            "InnoDB: IO Read error: (2, No such file or directory) Error opening '{path}', will attempt to import without schema verification"
        );
        cx.state.warnings.warn(1810, text);
    }
    if imported.iter().any(|imported| imported.without_words)
        && let Some(before) = discarded
    {
        super::import::add_words(cx, &before.definition)?;
    }
    Ok(Outcome::default())
}

/// How the files are named of the parts that a statement means; `None`: all there are.
///
/// # Errors
/// 1505; 1735 no such partition.
fn files_of(
    cx: &mut StmtCx<'_>,
    database: &str,
    table: &str,
    partitions: Option<&[Ident<'_>]>,
) -> SqlResult<Option<Vec<String>>> {
    let Some(names) = partitions else { return Ok(None) };
    let info = look_at_definition(cx, database, table)?;
    if info.definition.partitioning.is_empty() {
        return Err(not_partitioned());
    }
    let files = Partitioned::of_clause(&info.definition.partitioning)?.file_parts();
    let named = parts_named(&info, names)?;
    Ok(named.map(|parts| parts.iter().map(|&at| files[at].clone()).collect()))
}

/// The table of a statement, which is no view, none of the server's own, and has a tablespace of its own.
fn named(
    cx: &mut StmtCx<'_>,
    name: &ObjectName<'_>,
    (partitions, what): (Option<&[Ident<'_>]>, &str),
) -> SqlResult<(String, String, String)> {
    let (database, table) = names_of(cx, name)?;
    let own = cx.state.names.mean_own(&database, &table);
    if !own && views::find(cx, &database, &table).is_some() {
        return Err(views::not_table(&database, &table));
    }
    if database == "mysql" && crate::accounts::TABLES.contains(&&*table) {
        return Err(super::directories::no_such_option(&table));
    }
    let engine_name = engine_name(&database, &table)?;
    if own {
        if partitions.is_some() {
            return Err(not_partitioned());
        }
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
