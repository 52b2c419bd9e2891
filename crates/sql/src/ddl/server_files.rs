//! Folders that a MySQL server made: it goes by its `.frm` files when it opens the folder again, and they are kept up
//! (`vaquita_engine::ddl`). So a table of such a folder can be no more than a server of 5.6 can be told of: what goes beyond is
//! refused by name. Tables of the database `mysql` that are made here are not for the server.

use crate::statement::StmtCx;
use vaquita_catalog::frm::write::server_file;
use vaquita_catalog::{Definition, TableInfo, error};
use vaquita_engine::lower::frm::Unwritable;
use vaquita_types::{SqlError, SqlResult};

/// Whether the folder is such a one.
pub(super) fn are_kept(cx: &StmtCx<'_>) -> bool {
    cx.db.engine().core().is_folder_of_a_server()
}

pub(super) fn refused(what: &Unwritable) -> SqlError {
    SqlError::unsupported(&format!("{what} in a folder of a MySQL server, whose files do not have it"))
}

/// What is said of a table whose definition stands in the `.frm` of a server, and is not kept up or not ours.
pub(crate) fn is_in_one(database: &str, table: &str) -> SqlError {
    not_changed(database, table, "which is in a .frm file of a MySQL server")
}

/// What is said of a table whose definition is not changed.
pub(crate) fn not_changed(database: &str, table: &str, why: &str) -> SqlError {
    SqlError::unsupported(&format!("changing the definition of `{database}`.`{table}`, {why}"))
}

/// Whether a table may become what a definition says.
///
/// # Errors
/// 1235 names what the server cannot be told.
pub(super) fn check(cx: &StmtCx<'_>, definition: &Definition) -> SqlResult<()> {
    if !are_kept(cx) || definition.database == "mysql" {
        return Ok(());
    }
    let told = definition.to_frm().and_then(|frm| frm.encode());
    told.map(drop).map_err(|what| refused(&what))
}

/// Whether the files of a table that stays as it is can be written: it gets another name, or its rows stay where they are.
///
/// # Errors
/// As [`check`]; those of the dictionary.
pub(super) fn check_table(cx: &StmtCx<'_>, engine_name: &str) -> SqlResult<()> {
    if !are_kept(cx) || engine_name.starts_with("mysql/") {
        return Ok(());
    }
    match error::of_engine(cx.db.engine().core().described_table(engine_name))? {
        Some(table) => server_file(&table).map(drop).map_err(|what| refused(&what)),
        None => Ok(()),
    }
}

/// The same of a table whose definition changes in place.
///
/// # Errors
/// As [`check_table`], [`check`].
pub(super) fn check_in_place(cx: &StmtCx<'_>, info: &TableInfo, definition: &Definition) -> SqlResult<()> {
    check_table(cx, &info.table.name)?;
    check(cx, definition)
}
