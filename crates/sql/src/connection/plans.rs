//! From syntax to plans: SELECT and what changes rows.

use super::Connection;
use super::values;
use crate::plan_cache::Cached;
use crate::statement::planning;
use std::sync::Arc;
use vaquita_exec::{Outcome, Planned};
use vaquita_parser::ast::{self, Stmt};
use vaquita_session::SessionCx;
use vaquita_session::privilege::Wanted;
use vaquita_session::sink::{ColumnMeta, ResultSink};
use vaquita_session::state::{Conditions, Noted};
use vaquita_types::{SqlResult, SqlType, Value};

/// Times a statement is planned anew because definitions change under it.
const REPLANS: usize = 8;

/// A plan that was made this moment.
pub(super) struct Fresh {
    pub(super) plan: Arc<dyn Planned>,
    /// When it is good again; `None`: it is not kept.
    pub(super) kept: Option<Conditions>,
}

/// A plan that calls stored functions or fires triggers.
#[derive(Debug)]
struct Calling(Arc<dyn Planned>);

impl Planned for Calling {
    fn columns(&self) -> Option<&Arc<[ColumnMeta]>> {
        self.0.columns()
    }

    fn wants(&self) -> &[Wanted] {
        self.0.wants()
    }

    fn run(
        &self,
        cx: &mut SessionCx<'_>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        self.0.run(cx, params, sink)
    }

    fn uses_tables(&self) -> bool {
        self.0.uses_tables()
    }

    fn changes_rows(&self) -> bool {
        self.0.changes_rows()
    }

    fn calls_programs(&self) -> bool {
        true
    }

    fn is_reusable(&self) -> bool {
        self.0.is_reusable()
    }
}

impl Connection {
    /// Plans a statement and runs it; the plan is kept under `key`.
    pub(super) fn plan_and_run(
        &mut self,
        stmt: &Stmt<'_>,
        sql: &[u8],
        params: &[Value<'_>],
        key: Option<&[u8]>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        self.xa.check_statement()?;
        let types = self.param_types(params);
        if let Stmt::Insert(insert) = stmt
            && vaquita_exec::dml::is_bulk(insert)
        {
            return self.in_statement(|connection| connection.insert_bulk(insert, sql, params, &types));
        }
        let mut tries = 0;
        loop {
            let generated = self.state.generated;
            let done = self.in_statement(|connection| {
                let fresh = connection.plan(stmt, sql, params, &types)?;
                let outcome = connection.run_started(&fresh.plan, params, sink)?;
                Ok((fresh, outcome))
            });
            match done {
                Err(e) if vaquita_exec::is_stale(&e) && tries < REPLANS => {
                    tries += 1;
                    self.state.generated = generated;
                }
                Err(e) => return Err(e),
                Ok((Fresh { plan, kept }, outcome)) => {
                    if let (Some(key), Some(conditions)) = (key, kept) {
                        self.db.plans.insert(Cached::new(key, plan, self.kind, conditions));
                    }
                    return Ok(outcome);
                }
            }
        }
    }

    /// Types of parameters of a statement: local variables have those that they were declared with.
    pub(super) fn param_types(&self, params: &[Value<'_>]) -> Arc<[SqlType]> {
        match &self.program.types {
            Some(types) if types.len() == params.len() => types.clone(),
            _ => values::param_types(params, self.state.vars.collation_connection).into_iter().collect(),
        }
    }

    /// Types of the columns that CREATE TABLE .. SELECT makes of parameters and local variables.
    pub(super) fn types_of_columns(&self, params: &[Value<'_>]) -> Arc<[SqlType]> {
        let types = self.program.types.as_ref().filter(|types| types.len() == params.len());
        let of_value = |value| values::type_of_column(value, self.state.vars.collation_connection);
        match types {
            Some(types) => types.iter().map(values::type_of_local).collect(),
            None => params.iter().map(of_value).collect(),
        }
    }

    /// INSERT of many rows: they are read from the syntax tree one by one.
    fn insert_bulk(
        &mut self,
        insert: &ast::Insert<'_>,
        sql: &[u8],
        params: &[Value<'_>],
        param_types: &[SqlType],
    ) -> SqlResult<Outcome> {
        self.refresh_privileges();
        let plan =
            vaquita_exec::dml::plan_bulk(insert, &mut planning(&mut self.cx(), params, param_types, sql))?;
        self.check_wanted(plan.wants())?;
        self.check_log_tables(plan.wants())?;
        self.check_locked(plan.wants())?;
        self.check_in_use(plan.wants())?;
        vaquita_catalog::error::of_engine(self.engine.begin_change())?;
        // Whether its rows call functions is known when they come.
        let done = self.using(plan.wants(), |connection| {
            plan.run_bulk(insert, &mut planning(&mut connection.cx(), params, param_types, sql))
        });
        done.map_err(|e| self.with_values(e, params))
    }

    /// Plans a statement, in a started statement of the engine: tables are opened under metadata locks.
    pub(super) fn plan(
        &mut self,
        stmt: &Stmt<'_>,
        sql: &[u8],
        params: &[Value<'_>],
        param_types: &[SqlType],
    ) -> SqlResult<Fresh> {
        self.state.status.plans_made += 1;
        self.state.noted = Noted::default();
        self.refresh_privileges();
        let plan = vaquita_exec::plan(&mut planning(&mut self.cx(), params, param_types, sql), stmt)?;
        let mut noted = std::mem::take(&mut self.state.noted);
        // The estimates that are limited are those of this moment.
        if self.state.vars.join_size_max != u64::MAX {
            noted.for_once();
        }
        let plan = if noted.calls_programs { Arc::new(Calling(plan)) } else { plan };
        let kept = if plan.is_reusable() { noted.conditions() } else { None };
        Ok(Fresh { plan, kept })
    }
}
