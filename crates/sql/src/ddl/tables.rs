//! DROP TABLE, RENAME TABLE, TRUNCATE.

use super::{check_database_exists, names_of};
use crate::statement::StmtCx;
use vaquita_catalog::engine_name;
use vaquita_catalog::error;
use vaquita_engine::Error;
use vaquita_exec::Outcome;
use vaquita_parser::ast;
use vaquita_types::{Level, SqlError, SqlResult};

/// Drops tables one after the other; those that are not there are told of together.
pub(super) fn drop_tables(cx: &mut StmtCx<'_>, drop: &ast::DropTables<'_>) -> SqlResult<Outcome> {
    let mut unknown = Vec::new();
    let mut failure = None;
    for name in drop.names {
        let (database, table) = names_of(cx, name)?;
        let full = format!("{database}.{table}");
        let name = engine_name(&database, &table)?;
        if cx.state.names.mean_own(&database, &table) {
            error::of_engine(cx.engine.drop_temporary_table(&name))?;
            continue;
        }
        if drop.temporary {
            unknown.push(full);
            continue;
        }
        match cx.engine.drop_table(&name) {
            Ok(()) => cx.db.catalog.forget(&name),
            Err(Error::NoSuchTable(_)) => unknown.push(full),
            Err(Error::ForeignKey(_)) => {
                failure = Some(SqlError::new(
                    1217,
                    "Cannot delete or update a parent row: a foreign key constraint fails",
                ));
            }
            Err(e) => failure = Some(error::engine(&e)),
        }
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    if unknown.is_empty() {
        return Ok(Outcome::default());
    }
    if !drop.if_exists {
        return Err(SqlError::unknown_table(&unknown.join(",")));
    }
    for name in &unknown {
        cx.state.warnings.push(Level::Note, 1051, SqlError::unknown_table(name).message);
    }
    Ok(Outcome::default())
}

/// Renames tables and views from left to right, as one change: nobody sees it half done, not after a crash either.
pub(super) fn rename(
    cx: &mut StmtCx<'_>,
    pairs: &[(ast::ObjectName<'_>, ast::ObjectName<'_>)],
) -> SqlResult<Outcome> {
    let mut named: Vec<((String, String), (String, String))> = Vec::with_capacity(pairs.len());
    let mut engine_pairs = Vec::with_capacity(pairs.len());
    for (from, to) in pairs {
        let (from, to) = (names_of(cx, from)?, names_of(cx, to)?);
        // What an earlier pair has renamed is there by its first name only.
        let earlier = named.iter().rev().find(|(_, to)| *to == from);
        let origin = earlier.map_or_else(|| from.clone(), |(origin, _)| origin.clone());
        engine_pairs.push(checked_pair(cx, &origin, &from, &to)?);
        named.push((origin, to));
    }
    let by_name: Vec<(&str, &str)> =
        engine_pairs.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    let done = cx.engine.rename_tables(&by_name).map_err(|e| error::engine(&e))?;
    for (old, _) in &engine_pairs {
        cx.db.catalog.forget(old);
    }
    done.map_err(|(at, e)| {
        let (from, to) = (names_of(cx, &pairs[at].0), &named[at].1);
        match (e, from) {
            (Error::NoSuchTable(_), Ok(from)) => error::no_such_table(&from.0, &from.1),
            (Error::TableExists(_), _) => SqlError::table_exists(&to.1),
            (e, _) => error::engine(&e),
        }
    })?;
    Ok(Outcome::default())
}

/// The engine's names of a table and of what it is to be called; `origin`: what it is called before the statement.
///
/// # Errors
/// 1049, 1450.
fn checked_pair(
    cx: &mut StmtCx<'_>,
    origin: &(String, String),
    from: &(String, String),
    to: &(String, String),
) -> SqlResult<(String, String)> {
    check_database_exists(cx, &to.0)?;
    if origin.0 != to.0 && super::views::find(cx, &origin.0, &origin.1).is_some() {
        let text = format!("Changing schema from '{}' to '{}' is not allowed.", from.0, to.0);
        return Err(SqlError::new(1450, text));
    }
    super::server_files::check_table(cx, &engine_name(&origin.0, &origin.1)?)?;
    Ok((engine_name(&from.0, &from.1)?, engine_name(&to.0, &to.1)?))
}

/// Renames a table, perhaps a temporary one, as ALTER TABLE does.
///
/// # Errors
/// 1146, 1050, 1049.
pub(super) fn rename_table(
    cx: &mut StmtCx<'_>,
    from: &(String, String),
    to: &(String, String),
    of_temporary: bool,
) -> SqlResult<()> {
    if of_temporary {
        check_database_exists(cx, &to.0)?;
        let (old, new) = (engine_name(&from.0, &from.1)?, engine_name(&to.0, &to.1)?);
        return cx.engine.rename_temporary_table(&old, &new).map_err(|e| match e {
            Error::TableExists(_) => SqlError::table_exists(&to.1),
            e => error::engine(&e),
        });
    }
    let (old, new) = checked_pair(cx, from, from, to)?;
    cx.engine.rename_table(&old, &new).map_err(|e| match e {
        Error::NoSuchTable(_) => error::no_such_table(&from.0, &from.1),
        Error::TableExists(_) => SqlError::table_exists(&to.1),
        e => error::engine(&e),
    })?;
    cx.db.catalog.forget(&old);
    Ok(())
}

/// 1701, which names a foreign key by which another table refers to this one.
fn truncate_refused(cx: &mut StmtCx<'_>, database: &str, table: &str, otherwise: &str) -> SqlError {
    let key = super::look_at(cx, database, table).ok().and_then(|info| {
        let others = info.table.referenced_by.iter().filter(|key| key.child != info.table.name);
        others.min_by(|a, b| a.id.cmp(&b.id)).cloned()
    });
    let text = key.map_or_else(|| otherwise.to_owned(), |key| error::foreign_key_parts(&key));
    SqlError::new(1701, format!("Cannot truncate a table referenced in a foreign key constraint ({text})"))
}

/// TRUNCATE TABLE.
pub(super) fn truncate(cx: &mut StmtCx<'_>, name: &ast::ObjectName<'_>) -> SqlResult<Outcome> {
    let (database, table) = names_of(cx, name)?;
    let engine_name = engine_name(&database, &table)?;
    let done = match cx.state.names.mean_own(&database, &table) {
        true => cx.engine.truncate_temporary_table(&engine_name),
        false => cx.engine.truncate_table(&engine_name),
    };
    done.map_err(|e| match e {
        Error::NoSuchTable(_) => error::no_such_table(&database, &table),
        Error::ForeignKey(text) => truncate_refused(cx, &database, &table, &text),
        e => error::engine(&e),
    })?;
    Ok(Outcome::default())
}
