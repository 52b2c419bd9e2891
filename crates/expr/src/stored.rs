//! Calls of stored functions, and triggers: found and run by whoever stands above and runs statements.

use super::EvalCx;
use super::build::{Collated, New};
use super::compare::wrong_columns;
pub use super::node::FunctionRef;
use super::node::{Constness, Data, Derivation, Expr, Node};
use super::row::Row;
use super::scope::CompileCx;
use super::trigger::{TableTriggers, Trigger};
use std::fmt::Debug;
use std::sync::Arc;
use vaquita_engine::Table;
use vaquita_parser::ast::TriggerEvent;
use vaquita_session::SessionState;
use vaquita_types::convert::store::{StoreMode, store};
use vaquita_types::{ColumnType, Kind, SqlError, SqlResult, SqlType, Value, memory};

/// What expressions ask of the layer above: finds and runs stored functions, finds triggers, knows of roles. A folder has one ([`vaquita_session::Shared::programs`], as an [`AnyPrograms`]).
pub trait Programs: Debug + Send + Sync {
    /// The function of that name.
    ///
    /// # Errors
    /// 1370 the session may not execute it, 1457 it cannot be read.
    fn function(&self, cx: &mut EvalCx<'_>, database: &str, name: &str) -> SqlResult<Option<FunctionRef>>;

    /// Calls it with these values, as its parameters have them, and their types. No page is latched.
    ///
    /// # Errors
    /// Of the function; 1305 it is gone by now.
    fn call(
        &self,
        cx: &mut EvalCx<'_>,
        function: &FunctionRef,
        args: &[(Value<'static>, &SqlType)],
    ) -> SqlResult<Value<'static>>;

    /// Accounts and the roles that they are granted, as MySQL quotes both, and whether they may grant them further.
    fn granted_roles(&self) -> Vec<(String, String, bool)>;

    /// The triggers of a table that are fired by these changes, compiled, in the order in which they are fired.
    ///
    /// # Errors
    /// One cannot be read or compiled any more.
    fn triggers(
        &self,
        cx: &mut EvalCx<'_>,
        table: &Arc<Table>,
        events: &[TriggerEvent],
    ) -> SqlResult<Vec<Arc<dyn Trigger>>>;
}

/// How a folder keeps its [`Programs`].
pub type AnyPrograms = Box<dyn Programs>;

pub(super) fn programs<'p>(cx: &EvalCx<'p>) -> Option<&'p dyn Programs> {
    let programs = cx.db?.programs.get()?.downcast_ref::<AnyPrograms>()?;
    Some(&**programs)
}

/// The stored function of that name, if it is there.
///
/// # Errors
/// 1370.
pub(super) fn find(cx: &mut CompileCx<'_>, database: &str, name: &str) -> SqlResult<Option<FunctionRef>> {
    let Some(programs) = programs(&cx.session) else { return Ok(None) };
    programs.function(&mut cx.session, database, name)
}

/// A call of a stored function.
///
/// # Errors
/// 1318 wrong number of arguments.
pub(super) fn call(cx: &mut CompileCx<'_>, function: FunctionRef, args: Vec<Expr>) -> SqlResult<Expr> {
    cx.session.state.noted.calls_programs = true;
    if args.len() != function.params.len() {
        let (database, name) = (&function.database, &function.name);
        let message = format!(
            "Incorrect number of arguments for FUNCTION {database}.{name}; expected {}, got {}",
            function.params.len(),
            args.len()
        );
        return Err(SqlError::new(1318, message));
    }
    if args.iter().any(|e| matches!(e.node, Node::Row(_))) {
        return Err(wrong_columns(1));
    }
    let ty = function.returns.clone();
    let collation = ty.collation;
    let text = ty.kind.is_string() || matches!(ty.kind, Kind::Enum | Kind::Set);
    let new = New::call("stored function", ty, args, eval)
        .data(Data::Function(Arc::new(function)))
        .nullable()
        .at_least(Constness::Row);
    // A text is worth no more than a literal, but it is none that could be converted beforehand.
    let by = Collated { collation, derivation: Derivation::Coercible, ascii: false };
    let new = if text { new.collated(by) } else { new };
    let mut e = new.build(cx);
    // It runs statements, as a subquery does: never while a row is looked at on its page.
    e.info.has_subquery = true;
    Ok(e)
}

fn eval<'r>(e: &'r Expr, args: &'r [Expr], cx: &mut EvalCx<'_>, row: &'r Row<'r>) -> SqlResult<Value<'r>> {
    let Node::Call(call) = &e.node else { return Ok(Value::Null) };
    let Data::Function(function) = &call.data else { return Ok(Value::Null) };
    let mut values = Vec::with_capacity(args.len());
    for (arg, (name, ty)) in args.iter().zip(function.params.iter()) {
        let before = cx.state.warnings.refuse(cx.state.vars.sql_mode.is_strict());
        let value = arg.eval_to_store(cx, row).and_then(memory::into_owned);
        let value = cx.state.warnings.end_refusing(before, value)?;
        values.push((as_variable(cx.state, ty, name, value, &arg.ty)?, &ty.ty));
    }
    match programs(cx) {
        Some(programs) => programs.call(cx, function, &values),
        None => Err(SqlError::new(1305, format!("FUNCTION {} does not exist", function.name))),
    }
}

/// A value as a variable of that type has it.
///
/// # Errors
/// In strict mode those of storing it in a column; memory.
pub fn as_variable(
    state: &mut SessionState,
    ty: &ColumnType,
    name: &str,
    value: Value<'static>,
    from: &SqlType,
) -> SqlResult<Value<'static>> {
    if value.is_null() {
        return Ok(value);
    }
    let mode = StoreMode { strict: state.vars.sql_mode.is_strict(), null_is_error: false, row: 1 };
    let date = state.date_context();
    let mut bytes = Vec::new();
    let time_zone = state.vars.time_zone.clone();
    let mut cx = vaquita_types::Cx { date, time_zone: &time_zone, warnings: &mut state.warnings };
    let there = store(ty, name, &value, from, mode, &mut cx, &mut bytes)?;
    let stored = there.then_some(bytes.as_slice());
    memory::into_owned(ty.decode(stored, &time_zone))
}

/// The triggers of a table that are fired by these changes; `None`: it has none.
///
/// # Errors
/// One cannot be read or compiled any more.
pub fn triggers_of(
    cx: &mut CompileCx<'_>,
    table: &Arc<Table>,
    events: &[TriggerEvent],
) -> SqlResult<Option<Arc<TableTriggers>>> {
    if table.triggers.is_empty() {
        return Ok(None);
    }
    let Some(programs) = programs(&cx.session) else { return Ok(None) };
    let list = programs.triggers(&mut cx.session, table, events)?;
    if list.is_empty() {
        return Ok(None);
    }
    cx.session.state.noted.calls_programs = true;
    Ok(Some(Arc::new(TableTriggers::new(list))))
}
