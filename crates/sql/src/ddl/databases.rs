//! CREATE, ALTER and DROP DATABASE.

use super::check_database_exists;
use crate::statement::StmtCx;
use vaquita_catalog::error;
use vaquita_catalog::{check_database, file_name, sql_name};
use vaquita_exec::Outcome;
use vaquita_parser::ast;
use vaquita_plan::column_type as types;
use vaquita_session::vars;
use vaquita_types::{Level, SqlError, SqlResult};

/// What `db.opt` says.
fn options(written: &ast::Database<'_>, default: u16) -> SqlResult<(u16, String)> {
    if written.encryption.is_some_and(|wanted| !wanted.eq_ignore_ascii_case(b"n")) {
        return Err(SqlError::unsupported("ENCRYPTION"));
    }
    let charset = written.charset.flatten().map(|c| c.to_string());
    let collation = written.collation.flatten().map(|c| c.to_string());
    let id = types::collation_of(charset.as_deref(), collation.as_deref(), default)?;
    let (charset, collation) = (vars::charset_name(id), vars::collation_name(id));
    Ok((id, format!("default-character-set={charset}\ndefault-collation={collation}\n")))
}

fn refuse_virtual(cx: &StmtCx<'_>, name: &str) -> SqlResult<()> {
    if vaquita_catalog::is_virtual_database(name) {
        return Err(SqlError::database_denied(&cx.state.user, &cx.state.host, name));
    }
    Ok(())
}

pub(super) fn create(cx: &mut StmtCx<'_>, written: &ast::Database<'_>) -> SqlResult<Outcome> {
    let name = written.name.map(|n| n.to_string()).unwrap_or_default();
    refuse_virtual(cx, &name)?;
    check_database(&name)?;
    if check_database_exists(cx, &name).is_ok() {
        if !written.if_not_exists {
            return Err(SqlError::database_exists(&name));
        }
        cx.state.warnings.push(Level::Note, 1007, SqlError::database_exists(&name).message);
        return Ok(Outcome { affected_rows: 1, ..Outcome::default() });
    }
    let (_, text) = options(written, cx.state.vars.collation_server)?;
    error::of_engine(vaquita_engine::ddl::create_database(cx.db.engine.core(), &file_name(&name)?, &text))?;
    Ok(Outcome { affected_rows: 1, ..Outcome::default() })
}

pub(super) fn alter(cx: &mut StmtCx<'_>, written: &ast::Database<'_>) -> SqlResult<Outcome> {
    let name = match written.name {
        Some(name) => name.to_string(),
        None if cx.state.database.is_empty() => return Err(SqlError::no_database()),
        None => cx.state.database.clone(),
    };
    refuse_virtual(cx, &name)?;
    check_database_exists(cx, &name)?;
    let before = super::create::database_collation(cx, &name)?;
    let (id, text) = options(written, before)?;
    error::of_engine(vaquita_engine::ddl::alter_database(cx.db.engine.core(), &file_name(&name)?, &text))?;
    if name == cx.state.database {
        cx.state.vars.collation_database = id;
    }
    Ok(Outcome { affected_rows: 1, ..Outcome::default() })
}

/// Where no server's files are kept up, a table that stands in one of them alone is not dropped: nor is its database.
fn check_server_files(cx: &StmtCx<'_>, database: &str) -> SqlResult<()> {
    let core = cx.db.engine.core();
    if core.is_folder_of_a_server() {
        return Ok(());
    }
    for table in error::of_engine(core.dict.tables(&core.storage, database))? {
        if error::of_engine(core.needs_server_file(&table))? {
            let (database, table) = sql_name(&table);
            return Err(super::server_files::is_in_one(&database, &table));
        }
    }
    Ok(())
}

pub(super) fn drop(cx: &mut StmtCx<'_>, written: &ast::DropDatabase<'_>) -> SqlResult<Outcome> {
    let name = written.name.to_string();
    refuse_virtual(cx, &name)?;
    check_database(&name)?;
    if check_database_exists(cx, &name).is_err() {
        let missing = SqlError::no_such_database_to_drop(&name);
        if !written.if_exists {
            return Err(missing);
        }
        cx.state.warnings.push(Level::Note, missing.code, missing.message);
        return Ok(Outcome::default());
    }
    let file = file_name(&name)?;
    check_server_files(cx, &file)?;
    let objects = cx.engine.objects();
    let views = objects.list(vaquita_engine::ObjectKind::View, &file).count();
    let (dropped, gone) = cx.engine.drop_database(&file).map_err(|e| match e {
        vaquita_engine::Error::ForeignKey(_) => {
            SqlError::new(1217, "Cannot delete or update a parent row: a foreign key constraint fails")
        }
        e => error::engine(&e),
    })?;
    dropped.iter().for_each(|table| cx.db.catalog.forget(table));
    if !gone {
        let text = format!("Error dropping database (can't rmdir './{file}', errno: 39)");
        return Err(SqlError::new(1010, text));
    }
    Ok(Outcome { affected_rows: (dropped.len() + views) as u64, ..Outcome::default() })
}
