//! What statements that need the whole folder get: definitions, accounts, SHOW.

use crate::database::Database;
use std::sync::Arc;
use vaquita_engine::Session;
use vaquita_exec::{PlanCx, RunCx};
use vaquita_expr::EvalCx;
use vaquita_session::SessionState;
use vaquita_types::{SqlType, Value};

/// What planning and running a statement need.
#[derive(Debug)]
pub(crate) struct StmtCx<'c> {
    /// The folder.
    pub(crate) db: &'c Arc<Database>,
    /// The engine's session. Its statement is started and ended by the caller: use [`Session::statement`].
    pub(crate) engine: &'c mut Session,
    /// The session.
    pub(crate) state: &'c mut SessionState,
}

impl StmtCx<'_> {
    /// The same for what knows plans and rows only.
    pub(crate) fn run(&mut self) -> RunCx<'_> {
        RunCx { db: self.db, engine: &mut *self.engine, state: &mut *self.state }
    }

    /// The same for planning a statement.
    pub(crate) fn planning<'p>(
        &'p mut self,
        params: &'p [Value<'p>],
        param_types: &'p [SqlType],
        sql: &'p [u8],
    ) -> PlanCx<'p> {
        let virtual_tables = &*self.db.virtual_tables;
        PlanCx { stmt: self.run(), params, param_types, sql, virtual_tables }
    }

    /// The same for expressions.
    pub(crate) fn eval(&mut self) -> EvalCx<'_> {
        EvalCx { db: Some(self.db), state: &mut *self.state, engine: Some(&mut *self.engine) }
    }
}
