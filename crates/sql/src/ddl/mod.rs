//! Statements about definitions: CREATE, ALTER, DROP, RENAME, TRUNCATE; SHOW CREATE. What a definition is: `vaquita_catalog::definition`.
//!
//! | part | module |
//! |---|---|
//! | columns, keys and foreign keys, table options as written | [`columns`], [`keys`], [`options`] |
//! | CHECK constraints as written; expressions in definitions | [`checks`], [`expressions`] |
//! | row formats of files, sizes of rows and keys | [`limits`] |
//! | CREATE TABLE, also LIKE and SELECT | [`create`] |
//! | ALTER TABLE, CREATE and DROP INDEX: in place, or by copying the rows, which may get numbers | [`alter`], [`copy`], [`numbers`] |
//! | DROP, RENAME, TRUNCATE | [`tables`] |
//! | databases | [`databases`] |
//! | views | [`views`] |
//! | tables that are made of files from elsewhere | [`import`] |
//! | SHOW CREATE TABLE | [`show_create`] |
//!
//! Every change of one table is atomic over a crash; a statement that names several tables changes them one by one.

mod alter;
mod aside;
mod checks;
mod clauses;
mod columns;
mod copy;
mod create;
mod databases;
mod directories;
mod expressions;
mod import;
mod instant;
mod keys;
mod limits;
mod metadata;
mod numbers;
mod options;
mod partitions;
pub(crate) mod server_files;
mod show_create;
mod tables;
mod tablespaces;
pub(crate) mod trigger_files;
pub(crate) mod view_files;
pub(crate) mod views;

use crate::statement::StmtCx;
use std::sync::Arc;
use vaquita_catalog::{self, TableInfo};
use vaquita_engine::MdlMode;
use vaquita_exec::Outcome;
use vaquita_parser::ast::{self, Stmt};
use vaquita_types::{SqlError, SqlResult, SqlType, Value};

pub(crate) use alter::recreate;
pub(crate) use import::create_table_of_file;
pub(crate) use partitions::not_partitioned;
pub(crate) use show_create::{show_create_table, style as show_style};

/// A statement's text with the values of its parameters or of the local variables in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'t> {
    pub(crate) sql: &'t [u8],
    pub(crate) params: &'t [Value<'t>],
    /// Types of them.
    pub(crate) types: &'t [SqlType],
}

/// Executes a definition. Privileges are checked, what was open is committed; whatever it commits itself is durable when
/// it returns.
///
/// # Errors
/// Of the statement.
pub(crate) fn execute(cx: &mut StmtCx<'_>, stmt: &Stmt<'_>, text: &Text<'_>) -> SqlResult<Outcome> {
    let sql = text.sql;
    match stmt {
        Stmt::CreateTable(create) => create::create_table(cx, create, text),
        Stmt::AlterTable(alter) => alter::alter_table(cx, alter, sql),
        Stmt::CreateIndex(create) => alter::create_index(cx, create),
        Stmt::DropIndex(drop) => alter::drop_index(cx, drop),
        Stmt::DropTable(drop) => tables::drop_tables(cx, drop),
        Stmt::Truncate(name) => tables::truncate(cx, name),
        Stmt::RenameTables(pairs) => tables::rename(cx, pairs),
        Stmt::CreateDatabase(create) => databases::create(cx, create),
        Stmt::AlterDatabase(alter) => databases::alter(cx, alter),
        Stmt::DropDatabase(drop) => databases::drop(cx, drop),
        Stmt::CreateView(create) => views::create(cx, create, sql),
        Stmt::DropView(drop) => views::drop(cx, drop),
        Stmt::CreateTablespace(_) => Err(SqlError::unsupported("CREATE TABLESPACE")),
        Stmt::DropTablespace(_) => Err(SqlError::unsupported("DROP TABLESPACE")),
        _ => Err(SqlError::unsupported("this definition")),
    }
}

/// Database and name of a table as a statement says them.
fn names_of(cx: &StmtCx<'_>, name: &ast::ObjectName<'_>) -> SqlResult<(String, String)> {
    let database = match name.schema {
        Some(schema) => schema.to_string(),
        None if cx.state.database.is_empty() => return Err(SqlError::no_database()),
        None => cx.state.database.clone(),
    };
    if vaquita_catalog::is_virtual_database(&database) {
        let (user, host) = (&cx.state.user, &cx.state.host);
        return Err(SqlError::database_denied(user, host, &database));
    }
    Ok((database, name.name.to_string()))
}

/// Whether there is a table of that name which is not the session's own.
fn base_table_exists(cx: &mut StmtCx<'_>, engine_name: &str) -> SqlResult<bool> {
    let look = cx.engine.begin_look();
    let found = cx.engine.statement().base_table_for(engine_name, MdlMode::SharedRead).is_ok();
    vaquita_catalog::error::of_engine(cx.engine.end_look(look))?;
    Ok(found)
}

/// Opens the table that a name of the statement stands for, as was said when its privileges were checked.
///
/// # Errors
/// 1046, 1146; of metadata locks.
pub(crate) fn open_named(
    cx: &mut StmtCx<'_>,
    database: &str,
    name: &str,
    mode: MdlMode,
) -> SqlResult<Arc<TableInfo>> {
    let open = match cx.state.names.mean_own(database, name) {
        true => vaquita_catalog::open_table,
        false => vaquita_catalog::open_base_table,
    };
    open(&cx.db.catalog, &mut cx.engine.statement(), database, name, mode)
}

/// A table's present definition. It may change before it is used: whoever relies on it compares the engine's object.
///
/// # Errors
/// 1146; 1347 if it is a view.
fn look_at(cx: &mut StmtCx<'_>, database: &str, name: &str) -> SqlResult<Arc<TableInfo>> {
    let look = cx.engine.begin_look();
    let found = open_named(cx, database, name, MdlMode::SharedRead);
    vaquita_catalog::error::of_engine(cx.engine.end_look(look))?;
    match found {
        Err(e) if e.code == 1146 && views::find(cx, database, name).is_some() => {
            Err(views::not_table(database, name))
        }
        found => found,
    }
}

/// The AUTO_INCREMENT value that the next row would get.
fn next_auto_increment(cx: &mut StmtCx<'_>, info: &TableInfo) -> SqlResult<Option<u64>> {
    if info.auto_increment.is_none() || info.table.discarded {
        return Ok(None);
    }
    let look = cx.engine.begin_look();
    let next = cx.engine.statement().next_auto_inc(&info.table);
    vaquita_catalog::error::of_engine(cx.engine.end_look(look))?;
    vaquita_catalog::error::of_engine(next)
}

/// Whether there is such a database.
fn check_database_exists(cx: &StmtCx<'_>, database: &str) -> SqlResult<()> {
    vaquita_catalog::check_database(database)?;
    match vaquita_catalog::database_options(cx.db.engine.core(), &vaquita_catalog::file_name(database)?)? {
        Some(_) => Ok(()),
        None => Err(SqlError::unknown_database(database)),
    }
}
