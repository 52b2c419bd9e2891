//! SHOW and information_schema: tables whose rows are made when asked.

use crate::database::Database;
use crate::plan::VirtualTable;
use crate::sink::{ColumnMeta, ResultSink};
use crate::statement::{Outcome, StmtCx};
use std::sync::Arc;
use vaquita_parser::ast;
use vaquita_types::{SqlError, SqlResult};

/// Whether a database has virtual tables only.
pub(crate) fn is_virtual_database(name: &str) -> bool {
    name.eq_ignore_ascii_case("information_schema")
}

/// Finds a virtual table.
pub(crate) fn find(_database: &str, _name: &str) -> Option<Arc<dyn VirtualTable>> {
    None
}

/// Default collation of a database, `Some(None)` if it says nothing; `None`: there is no such database. The name is as
/// in file names.
///
/// # Errors
/// Errors of reading the folder.
pub(crate) fn database_options(db: &Database, file_name: &str) -> SqlResult<Option<Option<u16>>> {
    let storage = &db.engine.core().storage;
    let path = storage.options().dir.join(file_name).join("db.opt");
    if !storage.fs().exists(&path) {
        // One whose db.opt is missing exists while it has tables.
        let tables = crate::error::of_engine(db.engine.core().dict.tables(storage, file_name))?;
        return Ok((!tables.is_empty()).then_some(None));
    }
    let text = read_small(storage, &path)?;
    let collation = text.lines().find_map(|line| line.strip_prefix("default-collation="));
    Ok(Some(collation.and_then(|name| vaquita_format::collation::by_name(name.trim()))))
}

fn read_small(storage: &vaquita_storage::Storage, path: &std::path::Path) -> SqlResult<String> {
    use vaquita_io::{OpenMode, OpenOptions};
    let io = |e: vaquita_io::Error| SqlError::new(1105, e.to_string());
    let file = storage.fs().open(path, OpenOptions::new(OpenMode::Read)).map_err(io)?;
    let len = usize::try_from(file.len().map_err(io)?).unwrap_or(0).min(4_096);
    let mut bytes = vec![0; len];
    file.read_at(&mut bytes, 0).map_err(io)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Columns of SHOW, for prepared statements.
pub(crate) fn show_columns(_show: &ast::Show<'_>) -> Arc<[ColumnMeta]> {
    Arc::from([])
}

/// SHOW.
///
/// # Errors
/// Of the statement.
pub(crate) fn show(
    _cx: &mut StmtCx<'_>,
    _show: &ast::Show<'_>,
    _sink: &mut dyn ResultSink,
) -> SqlResult<Outcome> {
    Err(SqlError::unsupported("SHOW"))
}
