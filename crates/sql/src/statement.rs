//! What statements that need the whole folder get: definitions, accounts, SHOW.

use crate::database::Database;
use vaquita_exec::PlanCx;
use vaquita_session::SessionCx;
use vaquita_types::{SqlType, Value};

/// A session in the whole folder.
pub(crate) type StmtCx<'c> = SessionCx<'c, &'c Database>;

/// The same for planning a statement.
pub(crate) fn planning<'p>(
    cx: &'p mut StmtCx<'_>,
    params: &'p [Value<'p>],
    param_types: &'p [SqlType],
    sql: &'p [u8],
) -> PlanCx<'p> {
    let virtual_tables = &*cx.db.virtual_tables;
    PlanCx { session: cx.run(), params, param_types, sql, virtual_tables }
}
