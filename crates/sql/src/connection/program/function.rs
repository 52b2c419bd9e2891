//! Functions in expressions: they run in the middle of a statement, in a session of their own that has the engine's session
//! and the state of the caller's for as long.

use super::trigger::OfTable;
use crate::accounts::roles::{Edge, quoted};
use crate::connection::Connection;
use crate::database::Database;
use crate::program::{find, triggers, unknown};
use std::sync::{Arc, Weak};
use vaquita_engine::Table;
use vaquita_expr::EvalCx;
use vaquita_expr::stored::{FunctionRef, Programs};
use vaquita_expr::trigger::Trigger;
use vaquita_parser::ast::{ProgramKind, TriggerEvent};
use vaquita_session::sink::{ColumnMeta, Completion, ResultSink};
use vaquita_types::{SqlError, SqlResult, SqlType, Value};

/// Functions and triggers of a folder. It is a part of the folder: therefore weakly.
#[derive(Debug)]
pub(crate) struct OfFolder(pub(crate) Weak<Database>);

/// Functions and triggers have no results.
pub(super) struct NoResults(pub(super) &'static str);

impl ResultSink for NoResults {
    fn columns(&mut self, _: &Arc<[ColumnMeta]>) -> SqlResult<()> {
        Err(SqlError::new(1415, format!("Not allowed to return a result set from a {}", self.0)))
    }

    fn row(&mut self, _: &[Value<'_>]) -> SqlResult<()> {
        Ok(())
    }

    fn end(&mut self, _: Completion) -> SqlResult<()> {
        Ok(())
    }
}

impl Programs for OfFolder {
    fn function(&self, cx: &mut EvalCx<'_>, database: &str, name: &str) -> SqlResult<Option<FunctionRef>> {
        let Some(db) = self.0.upgrade() else { return Ok(None) };
        let Some(routine) = find(&db, cx.state, ProgramKind::Function, database, name)? else {
            let e = super::call::unknown_to(cx.state, ProgramKind::Function, database, name);
            return if e.code == 1370 { Err(e) } else { Ok(None) };
        };
        let Some(returns) = &routine.returns else { return Ok(None) };
        Ok(Some(FunctionRef {
            database: routine.database.clone(),
            name: routine.name.clone(),
            params: routine.params.iter().map(|p| (p.name.as_str().into(), p.ty.clone())).collect(),
            returns: returns.ty.clone(),
        }))
    }

    fn call(
        &self,
        cx: &mut EvalCx<'_>,
        function: &FunctionRef,
        args: &[(Value<'static>, &SqlType)],
    ) -> SqlResult<Value<'static>> {
        let closed = || SqlError::new(1105, "the folder is closed");
        let db = self.0.upgrade().ok_or_else(closed)?;
        let args = args.iter().map(|(value, ty)| (value.clone(), (*ty).clone())).collect();
        inside(db, cx, |inner| inner.call_function(function, args))
    }

    fn granted_roles(&self) -> Vec<(String, String, bool)> {
        let Some(db) = self.0.upgrade() else { return Vec::new() };
        let grants = db.accounts().grants();
        let of_edge = |edge: &Edge| (quoted(&edge.to), quoted(&edge.role), edge.admin);
        grants.roles.edges.iter().map(of_edge).collect()
    }

    fn triggers(
        &self,
        cx: &mut EvalCx<'_>,
        table: &Arc<Table>,
        events: &[TriggerEvent],
    ) -> SqlResult<Vec<Arc<dyn Trigger>>> {
        let Some(db) = self.0.upgrade() else { return Ok(Vec::new()) };
        let info = db.catalog.info(table)?;
        let compiled = triggers::compiled(&db, cx.state, &info, events)?;
        let of_table = |routine| -> Arc<dyn Trigger> { Arc::new(OfTable { routine, db: self.0.clone() }) };
        Ok(compiled.into_iter().map(of_table).collect())
    }
}

/// Runs something in a session that has the engine's session and the state of the statement's for as long.
pub(super) fn inside<R>(
    db: Arc<Database>,
    cx: &mut EvalCx<'_>,
    run: impl FnOnce(&mut Connection) -> SqlResult<R>,
) -> SqlResult<R> {
    let Some(engine) = cx.engine.as_deref_mut() else {
        return Err(SqlError::unsupported("a stored function in this place"));
    };
    cx.state.poll_now()?;
    let mut inner = match cx.state.program.inner.pop().map(|inner| inner.downcast::<Connection>()) {
        Some(Ok(inner)) => inner,
        _ => Box::new(Connection::for_functions(db)?),
    };
    std::mem::swap(&mut inner.engine, engine);
    std::mem::swap(&mut inner.state, cx.state);
    inner.has_everything = inner.state.program.everything;
    let done = run(&mut inner);
    std::mem::swap(&mut inner.engine, engine);
    std::mem::swap(&mut inner.state, cx.state);
    cx.state.program.inner.push(inner);
    done
}

impl Connection {
    /// A session that has none of its own: for what functions do.
    fn for_functions(db: Arc<Database>) -> SqlResult<Connection> {
        let mut connection = Connection::insider(db)?;
        connection.is_insider = false;
        connection.program.inside = true;
        Ok(connection)
    }

    fn call_function(
        &mut self,
        function: &FunctionRef,
        args: Vec<(Value<'static>, SqlType)>,
    ) -> SqlResult<Value<'static>> {
        let db = self.db.clone();
        let found = find(&db, &mut self.state, ProgramKind::Function, &function.database, &function.name)?;
        let name = || format!("{}.{}", function.database, function.name);
        let Some(routine) = found else { return Err(unknown(ProgramKind::Function, &name())) };
        if routine.params.len() != args.len() {
            return Err(SqlError::new(1412, "Table definition has changed, please retry transaction"));
        }
        self.may_execute(&routine)?;
        super::call::check_depth(self.state.program.depth)?;
        let mut values = Vec::with_capacity(args.len());
        for ((value, from), param) in args.into_iter().zip(&routine.params) {
            // A plan may have been made when the parameter was another one.
            let same = from == param.ty.ty;
            values.push(if same { value } else { self.stored(&param.ty, &param.name, value, &from)? });
        }
        let suspended = self.state.suspend();
        self.state.program.depth += 1;
        let done = self
            .enter(routine, Vec::new(), values)
            .and_then(|frame| self.run_frame(frame, &mut NoResults("function")));
        self.state.program.depth -= 1;
        self.state.resume(suspended);
        Ok(done?.returned.unwrap_or_default())
    }
}
