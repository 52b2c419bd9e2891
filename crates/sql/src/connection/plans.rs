//! From syntax to plans: SELECT and what changes rows.

use super::Connection;
use super::values::type_of;
use crate::accounts::{Priv, Wanted};
use crate::expr::{CompileCx, EvalCx};
use crate::plan::{self, Planner, SelectPlan};
use crate::plan_cache::Cached;
use crate::sink::{ColumnMeta, ResultSink};
use crate::state::{Conditions, Noted};
use crate::statement::{Outcome, PlanCx, Planned, StmtCx};
use smallvec::SmallVec;
use std::sync::Arc;
use vaquita_parser::ast::{self, Stmt};
use vaquita_types::{SqlResult, SqlType, Value};

/// Times a statement is planned anew because definitions change under it.
const REPLANS: usize = 8;

/// A SELECT.
#[derive(Debug)]
struct Select {
    plan: SelectPlan,
    wanted: Vec<Wanted>,
    has_result: bool,
    for_update: bool,
}

impl Planned for Select {
    fn columns(&self) -> Option<&Arc<[ColumnMeta]>> {
        self.has_result.then(|| self.plan.columns())
    }

    fn wants(&self) -> &[Wanted] {
        &self.wanted
    }

    fn uses_tables(&self) -> bool {
        !self.plan.uses().is_empty()
    }

    fn run(
        &self,
        cx: &mut StmtCx<'_>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        let mut eval = EvalCx { db: Some(cx.db), state: &mut *cx.state, engine: Some(&mut *cx.engine) };
        let done = self.plan.run(&mut eval, params, sink)?;
        Ok(Outcome {
            affected_rows: done.rows,
            has_result: !done.stored,
            found_rows: Some(done.found_rows),
            ..Outcome::default()
        })
    }

    fn changes_rows(&self) -> bool {
        self.for_update
    }

    fn is_reusable(&self) -> bool {
        self.plan.is_reusable()
    }
}

/// A plan that was made this moment.
pub(super) struct Fresh {
    pub(super) plan: Arc<dyn Planned>,
    /// When it is good again; `None`: it is not kept.
    pub(super) kept: Option<Conditions>,
}

/// What a SELECT needs, from what it reads.
pub(crate) fn wanted_of(uses: &[plan::TableUse]) -> Vec<Wanted> {
    let one = |u: &plan::TableUse| {
        let mut wanted = Wanted::select(&u.database, &u.table, u.columns.iter().map(String::as_str));
        if u.locked {
            // Any privilege to change the table; MySQL asks for one of UPDATE, DELETE, LOCK TABLES.
            wanted.any_of = Priv::UPDATE | Priv::DELETE | Priv::LOCK_TABLES;
        }
        wanted
    };
    let is_virtual = |u: &&plan::TableUse| u.database.eq_ignore_ascii_case("information_schema");
    let mut wanted: Vec<Wanted> = uses.iter().filter(|u| !is_virtual(u)).map(one).collect();
    // The engine's inner life is not for everybody.
    let of_engine =
        |u: &plan::TableUse| u.table.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("INNODB_"));
    if uses.iter().any(|u| is_virtual(&u) && of_engine(u)) {
        wanted.push(Wanted::global(Priv::PROCESS));
    }
    wanted
}

/// Plans a statement.
///
/// # Errors
/// Names, types, what is not supported.
pub(crate) fn plan(cx: &mut PlanCx<'_>, stmt: &Stmt<'_>) -> SqlResult<Arc<dyn Planned>> {
    match stmt {
        Stmt::Query(query) => plan_select(cx, query),
        _ => crate::dml::plan(cx, stmt),
    }
}

fn plan_select(cx: &mut PlanCx<'_>, query: &ast::Query<'_>) -> SqlResult<Arc<dyn Planned>> {
    let into_file =
        matches!(query.into, Some(ast::IntoClause::OutFile { .. } | ast::IntoClause::DumpFile(_)));
    if into_file {
        // Before anything is said of tables.
        cx.stmt.state.check_privileges(&[Wanted::global(Priv::FILE)])?;
    }
    let db: &crate::Database = cx.stmt.db;
    let planner = Planner::new(db, cx.stmt.engine, cx.sql, cx.params, crate::virtual_tables::find);
    let mut compile =
        CompileCx { param_types: cx.param_types, ..CompileCx::new(Some(db), &mut *cx.stmt.state) };
    let plan = plan::plan_select(&planner, query, &mut compile)?;
    let mut wanted = wanted_of(plan.uses());
    if into_file {
        wanted.insert(0, Wanted::global(Priv::FILE));
    }
    let for_update = plan.uses().iter().any(|u| u.for_update);
    Ok(Arc::new(Select { plan, wanted, has_result: query.into.is_none(), for_update }))
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
        let collation = self.state.vars.collation_connection;
        let types: SmallVec<[SqlType; 8]> = params.iter().map(|v| type_of(v, collation)).collect();
        if let Stmt::Insert(insert) = stmt
            && crate::dml::is_bulk(insert)
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
                Err(e) if plan::is_stale(&e) && tries < REPLANS => {
                    tries += 1;
                    self.state.generated = generated;
                }
                Err(e) => return Err(e),
                Ok((Fresh { plan, kept }, outcome)) => {
                    if let (Some(key), Some(conditions)) = (key, kept) {
                        self.db.plans.insert(key, Cached::new(plan, self.kind, conditions));
                    }
                    return Ok(outcome);
                }
            }
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
        let plan = crate::dml::plan_bulk(insert, &mut PlanCx { stmt: self.cx(), params, param_types, sql })?;
        self.check_wanted(plan.wants())?;
        self.check_log_tables(plan.wants())?;
        self.check_locked(plan.wants())?;
        crate::error::of_engine(self.engine.begin_change())?;
        let done = plan.run_bulk(insert, &mut PlanCx { stmt: self.cx(), params, param_types, sql });
        done.map_err(|e| crate::expr::with_values(e, params))
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
        let plan = plan(&mut PlanCx { stmt: self.cx(), params, param_types, sql }, stmt)?;
        let mut noted = std::mem::take(&mut self.state.noted);
        // The estimates that are limited are those of this moment.
        if self.state.vars.join_size_max != u64::MAX {
            noted.for_once();
        }
        let kept = if plan.is_reusable() { noted.conditions() } else { None };
        Ok(Fresh { plan, kept })
    }
}
