//! From syntax to statements that can be run: SELECT and what changes rows.

use crate::dml;
use crate::select;
use crate::statement::{Outcome, PlanCx, Planned};
use std::sync::Arc;
use vaquita_parser::ast::{self, Stmt};
use vaquita_plan::{SelectPlan, plan_select as plan_query, wanted_of};
use vaquita_session::SessionCx;
use vaquita_session::privilege::{Priv, Wanted};
use vaquita_session::sink::{ColumnMeta, ResultSink};
use vaquita_types::{SqlResult, Value};

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
        cx: &mut SessionCx<'_>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        let done = select::run(&self.plan, &mut cx.eval(), params, sink)?;
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

/// Plans a statement.
///
/// # Errors
/// Names, types, what is not supported.
pub fn plan(cx: &mut PlanCx<'_>, stmt: &Stmt<'_>) -> SqlResult<Arc<dyn Planned>> {
    match stmt {
        Stmt::Query(query) => plan_select(cx, query),
        _ => dml::plan(cx, stmt),
    }
}

fn plan_select(cx: &mut PlanCx<'_>, query: &ast::Query<'_>) -> SqlResult<Arc<dyn Planned>> {
    let into_file =
        matches!(query.into, Some(ast::IntoClause::OutFile { .. } | ast::IntoClause::DumpFile(_)));
    if into_file {
        // Before anything is said of tables.
        cx.session.state.check_privileges(&[Wanted::global(Priv::FILE)])?;
    }
    let (planner, mut compile) = cx.planning();
    let plan = plan_query(&planner, query, &mut compile)?;
    let mut wanted = wanted_of(plan.uses());
    if into_file {
        wanted.insert(0, Wanted::global(Priv::FILE));
    }
    let for_update = plan.uses().iter().any(|u| u.for_update);
    Ok(Arc::new(Select { plan, wanted, has_result: query.into.is_none(), for_update }))
}
