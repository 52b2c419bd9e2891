//! Subqueries in expressions. Those that refer to no row around them run once in an execution: their rows are kept.

use super::{Flow, Output, run_query};
use crate::expr::subquery::TakeRow;
use crate::expr::{EvalCx, Row, Subquery};
use crate::plan::QueryPlan;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use vaquita_types::{SqlResult, Value};

/// Rows of a subquery that are kept at most; one with more runs again.
const KEPT_MAX: usize = 1 << 20;

/// Results of subqueries, kept while a statement runs.
#[derive(Debug, Default)]
pub(crate) struct SubqueryResults {
    /// Statements that run, one in the other.
    running: u32,
    /// By the place of the plan, which stays where it is while the statement runs.
    results: HashMap<usize, Arc<Kept>>,
}

impl SubqueryResults {
    /// A statement runs.
    pub(crate) fn begin(&mut self) {
        self.running += 1;
    }

    /// It has ended.
    pub(crate) fn end(&mut self) {
        self.running = self.running.saturating_sub(1);
        if self.running == 0 {
            self.results.clear();
        }
    }
}

/// The rows of a subquery.
#[derive(Debug, Default)]
struct Kept {
    rows: Vec<Box<[Value<'static>]>>,
    /// There are no others.
    complete: bool,
    /// Of one column of integers: its values.
    integers: Option<Integers>,
}

#[derive(Debug, Default)]
struct Integers {
    values: HashSet<i128, foldhash::fast::RandomState>,
    has_null: bool,
}

/// A planned subquery.
#[derive(Debug)]
pub(crate) struct SubqueryPlan {
    plan: QueryPlan,
    correlated: bool,
}

impl SubqueryPlan {
    pub(crate) fn new(plan: QueryPlan, correlated: bool) -> SubqueryPlan {
        SubqueryPlan { plan, correlated }
    }

    pub(crate) fn plan(&self) -> &QueryPlan {
        &self.plan
    }

    fn place(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn run(&self, cx: &mut EvalCx<'_>, outer: &Row<'_>, out: &mut dyn Output) -> SqlResult<()> {
        let row = Row { tables: &[], params: outer.params, aggregates: &[], outer: Some(outer) };
        run_query(&self.plan, cx, &row, false, out)?;
        Ok(())
    }

    /// What is kept of its rows; `None` if nothing may be.
    fn kept(&self, cx: &EvalCx<'_>) -> Option<Arc<Kept>> {
        let results = &cx.state.subqueries;
        if self.correlated || results.running == 0 {
            return None;
        }
        Some(results.results.get(&self.place()).cloned().unwrap_or_default())
    }
}

impl Subquery for SubqueryPlan {
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
        let mut new = Vec::new();
        let mut taking = Taking { take, skip: kept.rows.len(), kept: Some(&mut new), stopped: false };
        self.run(cx, outer, &mut taking)?;
        let stopped = taking.stopped;
        if kept.rows.len() + new.len() > KEPT_MAX {
            return Ok(());
        }
        let rows = kept.rows.iter().cloned().chain(new).collect();
        let kept = Kept { rows, complete: !stopped, integers: None };
        cx.state.subqueries.results.insert(self.place(), Arc::new(kept));
        Ok(())
    }

    fn contains(
        &self,
        cx: &mut EvalCx<'_>,
        outer: &Row<'_>,
        left: &[Value<'_>],
    ) -> SqlResult<Option<Option<bool>>> {
        let [wanted] = left else { return Ok(None) };
        let integer = self.plan.types.first().is_some_and(|ty| ty.kind.is_integer());
        let wanted = match wanted {
            Value::Int(v) if integer => i128::from(*v),
            Value::UInt(v) if integer => i128::from(*v),
            _ => return Ok(None),
        };
        let Some(mut kept) = self.kept(cx) else { return Ok(None) };
        if kept.integers.is_none() {
            self.rows(cx, outer, &mut |_, _| Ok(true))?;
            match self.kept(cx) {
                Some(all) if all.complete => kept = all,
                _ => return Ok(None),
            }
            let mut integers = Integers::default();
            for row in &kept.rows {
                match row.first() {
                    Some(Value::Int(v)) => drop(integers.values.insert((*v).into())),
                    Some(Value::UInt(v)) => drop(integers.values.insert((*v).into())),
                    Some(Value::Null) => integers.has_null = true,
                    _ => return Ok(None),
                }
            }
            kept = Arc::new(Kept { rows: kept.rows.clone(), complete: true, integers: Some(integers) });
            cx.state.subqueries.results.insert(self.place(), kept.clone());
        }
        let Some(integers) = &kept.integers else { return Ok(None) };
        Ok(Some(match (integers.values.contains(&wanted), integers.has_null) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        }))
    }
}

/// Hands rows to whoever asked for them, and keeps them.
struct Taking<'t, 'f> {
    take: &'t mut TakeRow<'f>,
    /// Rows that were handed over before.
    skip: usize,
    kept: Option<&'t mut Vec<Box<[Value<'static>]>>>,
    stopped: bool,
}

impl Output for Taking<'_, '_> {
    fn row(&mut self, cx: &mut EvalCx<'_>, values: &[Value<'_>]) -> SqlResult<Flow> {
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(Flow::Go);
        }
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.len() <= KEPT_MAX) {
            kept.push(values.iter().map(|v| v.borrowed().into_owned()).collect());
        }
        if (self.take)(cx, values)? {
            return Ok(Flow::Go);
        }
        self.stopped = true;
        Ok(Flow::Stop)
    }
}
