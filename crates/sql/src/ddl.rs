//! Definitions: CREATE, ALTER, DROP, RENAME, TRUNCATE; SHOW CREATE.

use crate::sink::ResultSink;
use crate::statement::{Outcome, StmtCx};
use vaquita_parser::ast;
use vaquita_types::{SqlError, SqlResult};

/// Executes a definition, or maintenance of tables (which sends rows). Privileges are checked, what was open is
/// committed; whatever it commits itself is durable when it returns.
///
/// # Errors
/// Of the statement.
pub(crate) fn execute(
    _cx: &mut StmtCx<'_>,
    _stmt: &ast::Stmt<'_>,
    _sql: &[u8],
    _sink: &mut dyn ResultSink,
) -> SqlResult<Outcome> {
    Err(SqlError::unsupported("definitions"))
}

/// Text of SHOW CREATE TABLE.
///
/// # Errors
/// 1146 no such table.
pub(crate) fn show_create_table(_cx: &mut StmtCx<'_>, _database: &str, _table: &str) -> SqlResult<String> {
    Err(SqlError::unsupported("SHOW CREATE TABLE"))
}
