//! INSERT, REPLACE, UPDATE, DELETE, LOAD DATA.

use crate::sink::ResultSink;
use crate::statement::{Outcome, PlanCx, Planned, StmtCx};
use std::sync::Arc;
use vaquita_parser::ast;
use vaquita_types::{SqlError, SqlResult};

/// Plans INSERT, REPLACE, UPDATE, DELETE, in a started statement of the engine.
///
/// # Errors
/// Names, types, what is not supported.
pub(crate) fn plan(_cx: &mut PlanCx<'_>, _stmt: &ast::Stmt<'_>) -> SqlResult<Arc<dyn Planned>> {
    Err(SqlError::unsupported("changing rows"))
}

/// LOAD DATA, in a started statement of the engine. Privileges are checked.
///
/// # Errors
/// Of the statement; of the client's file.
pub(crate) fn load_data(
    _cx: &mut StmtCx<'_>,
    _load: &ast::LoadData<'_>,
    _sink: &mut dyn ResultSink,
) -> SqlResult<Outcome> {
    Err(SqlError::unsupported("LOAD DATA"))
}
