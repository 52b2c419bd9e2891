//! Finding the rows of an UPDATE or DELETE.

use crate::query::{Consumer, Exec, Flow, Limit, all_true, begin, count_sort, in_statement, used_columns};
use vaquita_catalog::error;
use vaquita_engine::{MdlMode, RowKey};
use vaquita_expr::{EvalCx, Row, TableRow};
use vaquita_plan::{MatchPlan, SortValue};
use vaquita_session::temp::sort::Sorter;
use vaquita_session::temp::values::{Values, push_key, push_value};
use vaquita_types::{SqlResult, Value};

/// A row that matches.
#[derive(Debug)]
pub struct Matched<'r> {
    /// For every target its row's key; `None`: the NULL row of an outer join.
    pub keys: &'r [Option<RowKey>],
    /// The row, for the assignments' expressions. A copy, or in a cursor's batch: no latch is held.
    pub row: &'r Row<'r>,
}

/// Calls `each` for every matching row, with `cx.engine` free to be used for changes. If the changes could lead the
/// scan to meet a row again, all rows are collected first. A row of a target may match several times in a join;
/// `each` is told each time.
///
/// # Errors
/// Of reading, those of `each`; 1412 if a table has changed.
pub fn run(
    plan: &MatchPlan,
    cx: &mut EvalCx<'_>,
    params: &[Value<'_>],
    each: &mut dyn FnMut(&mut EvalCx<'_>, &Matched<'_>) -> SqlResult<()>,
) -> SqlResult<()> {
    if let Some(session) = &mut cx.engine {
        for target in &plan.targets {
            error::of_engine(session.statement().hold_table(&target.info.table, MdlMode::SharedWrite))?;
        }
    }
    in_statement(cx, |cx| run_held(plan, cx, params, each))
}

fn run_held(
    plan: &MatchPlan,
    cx: &mut EvalCx<'_>,
    params: &[Value<'_>],
    each: &mut EachMatch<'_>,
) -> SqlResult<()> {
    let base = Row::constant(params);
    let limit = Limit::of(plan.block.limit.as_ref(), cx, &base, false)?;
    if limit.is_empty() || !all_true(&plan.block.const_filter, cx, &base)? {
        return Ok(());
    }
    match plan.several {
        true => begin(&plan.block, cx)?,
        false => cx.state.scanned |= plan.block.work.scans || plan.block.work.full_joins > 0,
    }
    let workspace = cx.state.workspaces.take(plan.block.id).unwrap_or_default();
    let mut exec = Exec::new(&plan.block, workspace, false);
    exec.want_keys(plan.targets.iter().map(|target| usize::from(target.slot)));
    // A row that another transaction changes may only be looked at before it is locked where it is updated: DELETE waits.
    exec.to_change.semi_consistent = plan.block.reads.len() == 1 && !plan.assignments.is_empty();
    exec.to_change.row_at_end = true;
    let done = match plan.collects {
        false => exec.run(cx, &base, &mut Immediate { plan, limit, each }).map(|_| ()),
        true => collect(plan, &mut exec, cx, &base, limit, each),
    };
    if done.is_ok() {
        exec.leave(cx.state);
    }
    done
}

fn collect(
    plan: &MatchPlan,
    exec: &mut Exec<'_>,
    cx: &mut EvalCx<'_>,
    base: &Row<'_>,
    mut limit: Limit,
    each: &mut EachMatch<'_>,
) -> SqlResult<()> {
    let sorted = !plan.block.order.is_empty() && !plan.block.order_done;
    let room = cx.state.vars.sort_room();
    let mut collected = Collected {
        plan,
        sorted,
        limit: (!sorted).then_some(limit),
        sorter: Sorter::new(room, limit.first().filter(|_| sorted)),
        columns: used_columns(&plan.block),
        key: Vec::new(),
        body: Vec::new(),
    };
    exec.run(cx, base, &mut collected)?;
    let Collected { sorter, columns, .. } = collected;
    if sorted {
        count_sort(&plan.block.work, &sorter, cx);
    }
    let mut keys = Vec::new();
    sorter.finish(|_, body| {
        cx.state.poll()?;
        if limit.is_over() || !limit.shows() {
            return Ok(!limit.is_over());
        }
        let body = take_keys(body, plan.targets.len(), &mut keys);
        let mut values: Vec<Vec<Value<'_>>> =
            plan.block.reads.iter().map(|r| vec![Value::Null; r.width]).collect();
        for (value, &(slot, column)) in Values::new(body).zip(&columns) {
            values[slot][column] = value;
        }
        let tables: Vec<TableRow<'_>> = values.iter().map(|v| TableRow::Values(v)).collect();
        let row = Row { tables: &tables, ..*base };
        each(cx, &Matched { keys: &keys, row: &row })?;
        Ok(true)
    })
}

type EachMatch<'e> = dyn FnMut(&mut EvalCx<'_>, &Matched<'_>) -> SqlResult<()> + 'e;

/// Rows that change as they are found.
struct Immediate<'m, 'e> {
    plan: &'m MatchPlan,
    limit: Limit,
    each: &'m mut EachMatch<'e>,
}

impl Consumer for Immediate<'_, '_> {
    fn row(&mut self, exec: &mut Exec<'_>, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Flow> {
        if self.limit.shows() {
            let slot = usize::from(self.plan.targets[0].slot);
            (self.each)(cx, &Matched { keys: &exec.keys()[slot..=slot], row })?;
        }
        Ok(if self.limit.is_over() { Flow::Stop } else { Flow::Go })
    }

    fn pause(&mut self, _: &mut EvalCx<'_>) -> SqlResult<()> {
        Ok(())
    }
}

/// Rows that are collected first.
struct Collected<'m> {
    plan: &'m MatchPlan,
    sorted: bool,
    /// Where the order is that of the scan.
    limit: Option<Limit>,
    sorter: Sorter,
    columns: Vec<(usize, usize)>,
    key: Vec<u8>,
    body: Vec<u8>,
}

impl Consumer for Collected<'_> {
    fn row(&mut self, exec: &mut Exec<'_>, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Flow> {
        self.key.clear();
        if self.sorted {
            for key in &self.plan.block.order {
                if let SortValue::Expr(expr) = &key.value {
                    let value = expr.eval(cx, row)?;
                    push_key(key.how, &value, key.descending, &mut self.key);
                }
            }
        }
        self.body.clear();
        for target in &self.plan.targets {
            push_row_key(exec.keys()[usize::from(target.slot)].as_ref(), &mut self.body);
        }
        for &(slot, column) in &self.columns {
            push_value(&crate::query::column(row, slot, column, cx)?, &mut self.body);
        }
        self.sorter.push(&self.key, &self.body);
        if let Some(limit) = &mut self.limit {
            limit.shows();
            if limit.is_over() {
                return Ok(Flow::Stop);
            }
        }
        Ok(if self.sorter.is_full() { Flow::Pause } else { Flow::Go })
    }

    fn pause(&mut self, _: &mut EvalCx<'_>) -> SqlResult<()> {
        self.sorter.relieve()
    }
}

/// Stands for a row that is not there.
const NO_KEY: u8 = u8::MAX;
/// In the number of fields: the number of a part comes first.
const HAS_PART: u8 = 0x80;

fn push_row_key(key: Option<&RowKey>, out: &mut Vec<u8>) {
    let Some(key) = key else { return out.push(NO_KEY) };
    let part = key.part();
    out.push(key.len() as u8 | if part == 0 { 0 } else { HAS_PART });
    if part != 0 {
        out.extend_from_slice(&part.to_le_bytes());
    }
    for field in key.fields() {
        out.extend_from_slice(&(field.len() as u32).to_le_bytes());
        out.extend_from_slice(field);
    }
}

/// Replaces `keys` by those a row begins with; what follows them.
fn take_keys<'b>(mut rest: &'b [u8], n: usize, keys: &mut Vec<Option<RowKey>>) -> &'b [u8] {
    keys.clear();
    for _ in 0..n {
        let Some((&fields, after)) = rest.split_first() else { break };
        rest = after;
        if fields == NO_KEY {
            keys.push(None);
            continue;
        }
        let mut key = RowKey::default();
        if let Some((part, after)) = rest.split_first_chunk().filter(|_| fields & HAS_PART != 0) {
            key.set_part(u64::from_le_bytes(*part));
            rest = after;
        }
        for _ in 0..fields & !HAS_PART {
            let Some((len, after)) = rest.split_first_chunk() else { break };
            let len = u32::from_le_bytes(*len) as usize;
            let (field, after) = after.split_at(len.min(after.len()));
            key.push(field);
            rest = after;
        }
        keys.push(Some(key));
    }
    rest
}
