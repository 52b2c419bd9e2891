//! Subqueries in expressions.

use super::block::plan_query;
use super::names::BlockScope;
use crate::planner::Planner;
use crate::tree::SubqueryPlan;
use std::sync::Arc;
use vaquita_expr::{CompileCx, CompiledSubquery, Constness};
use vaquita_parser::ast;
use vaquita_types::SqlResult;

/// Plans a subquery, which may refer to the tables of the block around it (`None`: there is none that has any): the plan, and
/// what the expression makes of it.
///
/// # Errors
/// Of planning it.
pub fn plan_subquery<'p>(
    planner: &Planner<'p>,
    query: &ast::Query<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<(Arc<SubqueryPlan>, CompiledSubquery)> {
    let aggregates = std::mem::take(&mut cx.aggregates);
    let windows = std::mem::take(&mut cx.windows);
    let planned = plan_query(planner, query, outer, cx);
    cx.aggregates = aggregates;
    cx.windows = windows;
    let planned = planned?;
    let columns = planned.plan.types.clone();
    let plan = Arc::new(SubqueryPlan { plan: planned.plan, correlated: planned.correlated });
    let compiled = CompiledSubquery {
        columns,
        plan: (planner.runnable)(plan.clone()),
        outer_tables: planned.outer_tables,
        constness: if planned.correlated { Constness::Row } else { Constness::Execution },
    };
    Ok((plan, compiled))
}
