//! Subqueries in expressions. Those that refer to no row around them run once in an execution: their rows are kept.

use crate::query::members::{self, Members};
use crate::query::{Flow, Output, run_query};
use std::sync::Arc;
use vaquita_expr::{Conversion, EvalCx, Row, Subquery, TakeRow};
use vaquita_plan::SubqueryPlan;
use vaquita_session::temp::values::memory_of;
use vaquita_types::compare::CompareAs;
use vaquita_types::{SqlResult, Value, memory};

/// Bytes of a row besides its values.
const PLACE: usize = 16;

/// What is kept of subqueries' rows may take so many times the memory of a temporary table; one with more runs again.
const KEPT_TIMES: usize = 4;

/// What is known of the rows of a subquery.
#[derive(Debug, Default)]
struct Kept {
    rows: Vec<Box<[Value<'static>]>>,
    /// Bytes that they take.
    memory: usize,
    /// There are no others.
    complete: bool,
    /// Of one column: which values there are.
    members: Option<Members>,
}

/// A planned subquery that can be run.
#[derive(Debug)]
struct Runnable(Arc<SubqueryPlan>);

/// Makes something that can be run of a planned subquery.
pub fn runnable(plan: Arc<SubqueryPlan>) -> Arc<dyn Subquery> {
    Arc::new(Runnable(plan))
}

impl Runnable {
    fn place(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    fn run(&self, cx: &mut EvalCx<'_>, outer: &Row<'_>, out: &mut dyn Output) -> SqlResult<()> {
        let row = Row { tables: &[], params: outer.params, aggregates: &[], outer: Some(outer) };
        run_query(&self.0.plan, cx, &row, false, out)?;
        Ok(())
    }

    /// What is kept of its rows; `None` if nothing may be.
    fn kept(&self, cx: &EvalCx<'_>) -> Option<Arc<Kept>> {
        let results = &cx.state.subqueries;
        if self.0.correlated || !results.are_kept() {
            return None;
        }
        Some(results.get(self.place()).unwrap_or_default())
    }
}

impl Subquery for Runnable {
    fn rows(&self, cx: &mut EvalCx<'_>, outer: &Row<'_>, take: &mut TakeRow<'_>) -> SqlResult<()> {
        let Some(kept) = self.kept(cx) else {
            return self.run(cx, outer, &mut Taking { take, skip: 0, kept: None, stopped: false });
        };
        for row in &kept.rows {
            if !take(cx, row)? {
                return Ok(());
            }
        }
        if kept.complete {
            return Ok(());
        }
        let limit = cx.state.vars.tmp_memory().saturating_mul(KEPT_TIMES);
        let mut new = Keeping { rows: Vec::new(), memory: kept.memory, limit };
        let mut taking = Taking { take, skip: kept.rows.len(), kept: Some(&mut new), stopped: false };
        // Nobody else holds the rows, so that the new ones are put behind them.
        drop(kept);
        self.run(cx, outer, &mut taking)?;
        let stopped = taking.stopped;
        if new.memory > limit {
            return Ok(());
        }
        if let Some(all) = cx.state.subqueries.get_mut::<Kept>(self.place()) {
            all.rows.append(&mut new.rows);
            all.memory = new.memory;
            all.complete = !stopped;
        }
        Ok(())
    }

    fn contains(
        &self,
        cx: &mut EvalCx<'_>,
        outer: &Row<'_>,
        left: &[Value<'_>],
        (how, conversion): (&[CompareAs], Option<&Conversion<'_>>),
    ) -> SqlResult<Option<Option<bool>>> {
        let ([wanted], [how], [ty]) = (left, how, &self.0.plan.types[..]) else { return Ok(None) };
        if !members::tells(*how, wanted, ty) {
            return Ok(None);
        }
        let Some(mut kept) = self.kept(cx) else { return Ok(None) };
        if kept.members.is_none() {
            let members = Members::of((*how, conversion), cx, |cx, members| self.run(cx, outer, members))?;
            let all = Kept { members: Some(members), ..Kept::default() };
            kept = Arc::new(all);
            cx.state.subqueries.put(self.place(), kept.clone());
        }
        let Some(members) = &kept.members else { return Ok(None) };
        members.contains(*how, wanted)
    }
}

/// Hands rows to whoever asked for them, and keeps them.
struct Taking<'t, 'f> {
    take: &'t mut TakeRow<'f>,
    /// Rows that were handed over before.
    skip: usize,
    kept: Option<&'t mut Keeping>,
    stopped: bool,
}

/// Rows that may be kept.
struct Keeping {
    rows: Vec<Box<[Value<'static>]>>,
    /// Bytes that they take, with those that were kept before.
    memory: usize,
    limit: usize,
}

impl Keeping {
    fn push(&mut self, values: &[Value<'_>]) -> SqlResult<()> {
        if self.memory > self.limit {
            return Ok(());
        }
        self.memory += PLACE + values.iter().map(memory_of).sum::<usize>();
        if self.memory > self.limit {
            self.rows = Vec::new();
            return Ok(());
        }
        self.rows.push(values.iter().map(|v| memory::into_owned(v.borrowed())).collect::<SqlResult<_>>()?);
        Ok(())
    }
}

impl Output for Taking<'_, '_> {
    fn row(&mut self, cx: &mut EvalCx<'_>, values: &[Value<'_>]) -> SqlResult<Flow> {
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(Flow::Go);
        }
        if let Some(kept) = &mut self.kept {
            kept.push(values)?;
        }
        if (self.take)(cx, values)? {
            return Ok(Flow::Go);
        }
        self.stopped = true;
        Ok(Flow::Stop)
    }
}
