//! DATA DIRECTORY and INDEX DIRECTORY: where files are to be. Answers and warnings of MySQL 5.6.24.
//!
//! Only files of tables of their own can be elsewhere, and only when the table is made; there are no other files of indexes.

use super::limits::is_strict;
use crate::statement::StmtCx;
use std::path::Path;
use vaquita_catalog::Definition;
use vaquita_catalog::partitioning::{Partition, Partitioned};
use vaquita_parser::ast::{PartitionDef, TableOption};
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

/// Settles what partitions that a statement makes say of directories; `true`: they are to have none. What a partition says holds for its
/// subpartitions that say nothing.
///
/// # Errors
/// 1210: one is in the folder, or does not begin at the root. Under `innodb_strict_mode` 1031 for what else would be ignored.
pub(super) fn settle_partitions(
    cx: &mut StmtCx<'_>,
    table: &str,
    partitions: &[PartitionDef<'_>],
) -> SqlResult<bool> {
    // Those of all names, and of those that have files.
    let (mut named, mut parts) = (Vec::new(), Vec::new());
    for partition in partitions {
        let whole = written(cx, partition.options);
        for one in partition.subpartitions {
            let (data, index) = written(cx, one.options);
            parts.push((data.or_else(|| whole.0.clone()), index.or_else(|| whole.1.clone())));
        }
        let first = parts.len() - partition.subpartitions.len();
        named.push(whole.clone());
        named.extend_from_slice(&parts[first..]);
        if partition.subpartitions.is_empty() {
            parts.push(whole);
        }
    }
    let both =
        |(data, index): &(Option<String>, Option<String>)| [(data.clone(), DATA), (index.clone(), INDEX)];
    let said: Vec<(String, &str)> =
        named.iter().flat_map(both).filter_map(|(path, name)| Some((path?, name))).collect();
    for (path, name) in &said {
        if !path.starts_with('/') || path.len() > LENGTH_MAX || is_in_folder(cx, path) {
            return Err(SqlError::new(1210, format!("Incorrect arguments to {name}")));
        }
    }
    if cx.state.vars.sql_mode.has(SqlMode::NO_DIR_IN_CREATE) {
        said.iter().for_each(|(_, name)| ignore(cx, name));
        return Ok(true);
    }
    let has_own_files = cx.db.globals().is_on("innodb_file_per_table");
    for (data, index) in &parts {
        let refused = data.is_some() && !has_own_files;
        if refused {
            cx.state.warnings.warn(1478, "InnoDB: DATA DIRECTORY requires innodb_file_per_table.");
        }
        if is_strict(cx) {
            refuse(cx, table, refused, index.is_some())?;
        }
        if refused {
            ignore(cx, DATA);
        }
        if index.is_some() {
            ignore(cx, INDEX);
        }
    }
    Ok(!has_own_files)
}

/// Settles the directories of partitions of a table that is made as another one is.
///
/// # Errors
/// A clause that cannot be read.
pub(super) fn settle_clause(cx: &mut StmtCx<'_>, definition: &mut Definition) -> SqlResult<()> {
    let has_no_own_files = !cx.db.globals().is_on("innodb_file_per_table");
    let unwanted = cx.state.vars.sql_mode.has(SqlMode::NO_DIR_IN_CREATE) || has_no_own_files;
    if definition.partitioning.is_empty() || !unwanted {
        return Ok(());
    }
    let mut partitioned = Partitioned::of_clause(&definition.partitioning)?;
    let said = partitioned.parts().filter(|(_, part)| part.data_directory.is_some()).count();
    (0..said).for_each(|_| ignore(cx, DATA));
    if said != 0 {
        partitioned.partitions.iter_mut().for_each(Partition::leave_directory);
        definition.partitioning = partitioned.to_clause();
    }
    Ok(())
}

/// Under `innodb_strict_mode` nothing is ignored.
fn refuse(cx: &mut StmtCx<'_>, table: &str, data: bool, index: bool) -> SqlResult<()> {
    if index {
        cx.state.warnings.warn(1478, "InnoDB: INDEX DIRECTORY is not supported");
    }
    match data || index {
        true => Err(no_such_option(table)),
        false => Ok(()),
    }
}

/// What is said of an option that a table cannot have.
pub(super) fn no_such_option(table: &str) -> SqlError {
    SqlError::new(1031, format!("Table storage engine for '{table}' doesn't have this option"))
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

/// Gives a table that is made its directory. Those of a table that is partitioned are ignored, as its files are those of its partitions.
///
/// # Errors
/// 1210: it is in the folder. Under `innodb_strict_mode` 1031 for what else would be ignored.
pub(super) fn settle(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    options: &[TableOption<'_>],
    temporary: bool,
    partitioned: bool,
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
    if partitioned {
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
        refuse(cx, &definition.name, refused, index.is_some())?;
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
