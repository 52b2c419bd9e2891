//! DATA DIRECTORY and INDEX DIRECTORY: where files are to be. Answers and warnings of MySQL 5.6.24.
//!
//! Only files of tables of their own can be elsewhere, and only when the table is made; there are no other files of indexes.

use super::limits::is_strict;
use crate::statement::StmtCx;
use std::path::Path;
use vaquita_catalog::Definition;
use vaquita_parser::ast::TableOption;
use vaquita_types::{SqlError, SqlMode, SqlResult};

/// Longest directory.
const LENGTH_MAX: usize = 504;

const DATA: &str = "DATA DIRECTORY";
const INDEX: &str = "INDEX DIRECTORY";

/// Checks paths as written.
///
/// # Errors
/// 1103: one that does not begin at the root, or is too long.
pub(super) fn check_written(cx: &StmtCx<'_>, options: &[TableOption<'_>]) -> SqlResult<()> {
    for option in options {
        let (TableOption::DataDirectory(path) | TableOption::IndexDirectory(path)) = option else { continue };
        if !path.starts_with(b"/") || path.len() > LENGTH_MAX {
            let path = cx.state.vars.client_text(path);
            return Err(SqlError::new(1103, format!("Incorrect table name '{path}'")));
        }
    }
    Ok(())
}

/// Checks the directory of a partition.
///
/// # Errors
/// 1210: it is in the folder; 1235 tables without files of their own.
pub(super) fn check_partition(cx: &StmtCx<'_>, path: Option<&str>) -> SqlResult<()> {
    match path {
        None => Ok(()),
        Some(path) if is_in_folder(cx, path) => {
            Err(SqlError::new(1210, format!("Incorrect arguments to {DATA}")))
        }
        Some(_) if !cx.db.globals().is_on("innodb_file_per_table") => {
            Err(SqlError::unsupported("DATA DIRECTORY of a partition without innodb_file_per_table"))
        }
        Some(_) => Ok(()),
    }
}

/// The directories of options; of several the last counts.
fn written(cx: &StmtCx<'_>, options: &[TableOption<'_>]) -> (Option<String>, Option<String>) {
    let (mut data, mut index) = (None, None);
    for option in options {
        match option {
            TableOption::DataDirectory(path) => data = Some(cx.state.vars.client_text(path).into_owned()),
            TableOption::IndexDirectory(path) => index = Some(cx.state.vars.client_text(path).into_owned()),
            _ => {}
        }
    }
    (data, index)
}

/// Gives a table that is made its directory.
///
/// # Errors
/// 1210: it is in the folder. Under `innodb_strict_mode` 1031 for what else would be ignored.
pub(super) fn settle(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    options: &[TableOption<'_>],
    temporary: bool,
) -> SqlResult<()> {
    let (data, index) = written(cx, options);
    for (path, name) in [(&data, DATA), (&index, INDEX)] {
        if path.as_deref().is_some_and(|path| is_in_folder(cx, path)) {
            return Err(SqlError::new(1210, format!("Incorrect arguments to {name}")));
        }
    }
    if cx.state.vars.sql_mode.has(SqlMode::NO_DIR_IN_CREATE) {
        [(&data, DATA), (&index, INDEX)]
            .iter()
            .filter(|(path, _)| path.is_some())
            .for_each(|(_, name)| ignore(cx, name));
        return Ok(());
    }
    let mut refused = false;
    if data.is_some() && !cx.db.globals().is_on("innodb_file_per_table") {
        cx.state.warnings.warn(1478, "InnoDB: DATA DIRECTORY requires innodb_file_per_table.");
        refused = true;
    }
    if data.is_some() && temporary {
        cx.state.warnings.warn(1478, "InnoDB: DATA DIRECTORY cannot be used for TEMPORARY tables.");
        refused = true;
    }
    if is_strict(cx) {
        if index.is_some() {
            cx.state.warnings.warn(1478, "InnoDB: INDEX DIRECTORY is not supported");
        }
        if refused || index.is_some() {
            let text = format!("Table storage engine for '{}' doesn't have this option", definition.name);
            return Err(SqlError::new(1031, text));
        }
    }
    if refused {
        ignore(cx, DATA);
    } else {
        definition.directory = data;
    }
    if index.is_some() {
        ignore(cx, INDEX);
    }
    Ok(())
}

/// Takes the options from those of ALTER TABLE, which moves no files.
pub(super) fn ignore_all(cx: &mut StmtCx<'_>, options: &mut Vec<TableOption<'_>>) {
    let (data, index) = written(cx, options);
    [(data, DATA), (index, INDEX)]
        .iter()
        .filter(|(path, _)| path.is_some())
        .for_each(|(_, name)| ignore(cx, name));
    options
        .retain(|option| !matches!(option, TableOption::DataDirectory(_) | TableOption::IndexDirectory(_)));
}

/// A table whose file is elsewhere and that is written anew into the system tablespace leaves its directory.
pub(super) fn leave(cx: &mut StmtCx<'_>) {
    cx.state.warnings.warn(1478, "InnoDB: DATA DIRECTORY requires innodb_file_per_table.");
    ignore(cx, DATA);
}

fn ignore(cx: &mut StmtCx<'_>, name: &str) {
    cx.state.warnings.warn(1618, format!("<{name}> option ignored"));
}

/// Whether a path leads into the folder, which has its own order.
fn is_in_folder(cx: &StmtCx<'_>, path: &str) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(Path::new(path)).starts_with(real(&cx.db.engine.core().storage.options().dir))
}

/// What keeps the file of a new table from being made in its directory, in MySQL's words, which do not tell it: the log does.
pub(super) fn creation_error(e: &vaquita_engine::Error, definition: &Definition) -> Option<SqlError> {
    let of_files = matches!(e, vaquita_engine::Error::Storage(vaquita_engine::lower::StorageError::Io(_)));
    (of_files && definition.directory.is_some())
        .then(|| SqlError::new(1030, "Got error -1 from storage engine"))
}
