//! The reading part of UPDATE and DELETE: the rows that match, locked, each with its key.

use super::block::{Locking, order_of, plan_limit};
use super::from::{self, conjuncts, join_tree, open_tables};
use super::names::{BlockScope, Source};
use super::{BlockPlan, OrderKey, Path, Planner, SortValue, TableUse, join};
use crate::catalog::TableInfo;
use crate::error;
use crate::exec::sort::Sorter;
use crate::exec::values::{Values, push_key, push_value};
use crate::exec::{Consumer, Exec, Flow, Limit, all_true, begin, count_sort, in_statement};
use crate::expr::{CompileCx, EvalCx, Expr, Resolved, Row, Scope, TableRow, compile, compile_condition};
use std::sync::Arc;
use vaquita_engine::{MdlMode, RowKey};
use vaquita_parser::ast;
use vaquita_types::{SqlError, SqlResult, Value};

/// What is to be matched.
#[derive(Debug, Clone, Copy)]
pub struct MatchRequest<'a> {
    /// Tables of UPDATE or FROM.
    pub from: &'a [ast::TableRef<'a>],
    /// WHERE.
    pub filter: Option<&'a ast::Expr<'a>>,
    /// ORDER BY.
    pub order_by: &'a [ast::OrderItem<'a>],
    /// LIMIT.
    pub limit: Option<&'a ast::Limit<'a>>,
    /// Tables whose rows are deleted, by name or alias; empty: the one table of `from`, or an UPDATE.
    pub delete_from: &'a [ast::ObjectName<'a>],
    /// SET of an UPDATE; empty for DELETE.
    pub assignments: &'a [ast::Assignment<'a>],
}

/// A table whose rows change.
#[derive(Debug, Clone)]
pub struct TargetTable {
    /// Slot of its row in [`Matched::row`].
    pub slot: u16,
    /// The table.
    pub info: Arc<TableInfo>,
}

/// An assignment of an UPDATE.
#[derive(Debug, Clone)]
pub struct MatchedAssignment {
    /// Position in [`MatchPlan::targets`].
    pub target: usize,
    /// Column position in the table.
    pub column: usize,
    /// The value; `None`: DEFAULT.
    pub value: Option<Expr>,
}

/// A planned reading part. Rows are locked exclusively where they are targets.
#[derive(Debug)]
pub struct MatchPlan {
    /// Tables whose rows change.
    pub targets: Vec<TargetTable>,
    /// Assignments in order. The columns assigned are among the fetched ones.
    pub assignments: Vec<MatchedAssignment>,
    block: BlockPlan,
    uses: Vec<TableUse>,
    /// Rows are collected before the first one changes.
    collects: bool,
    /// It has the form of a statement of several tables: what it does counts as that of a SELECT, and is limited as that is.
    several: bool,
}

impl MatchPlan {
    /// Whether reading the rows fetches a column of a target; where rows are collected first, their keys are among them.
    pub fn reads(&self, target: usize, column: usize) -> bool {
        let TargetTable { slot, info } = &self.targets[target];
        let in_key = || info.table.clustered().parts.iter().any(|part| part.column == column);
        self.block.reads[usize::from(*slot)].columns.contains(&column) || self.collects && in_key()
    }
}

/// A row that matches.
#[derive(Debug)]
pub struct Matched<'r> {
    /// For every target its row's key; `None`: the NULL row of an outer join.
    pub keys: &'r [Option<RowKey>],
    /// The row, for the assignments' expressions. A copy, or in a cursor's batch: no latch is held.
    pub row: &'r Row<'r>,
}

/// Plans the reading part of an UPDATE or DELETE. Target tables are opened under SharedWrite metadata locks.
///
/// # Errors
/// Names, types; 1093 a target is read in a subquery, 1221 ORDER BY or LIMIT with several tables.
pub fn plan_match(
    planner: &Planner<'_>,
    request: &MatchRequest<'_>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<MatchPlan> {
    let mut slots = Vec::new();
    open_tables(planner, request.from, cx, MdlMode::SharedWrite, &mut slots)?;
    let several = slots.len() > 1 || !request.delete_from.is_empty();
    let update = !request.assignments.is_empty();
    for (given, clause) in [(!request.order_by.is_empty(), "ORDER BY"), (request.limit.is_some(), "LIMIT")] {
        if several && given {
            let statement = if update { "UPDATE" } else { "DELETE" };
            return Err(SqlError::new(1221, format!("Incorrect usage of {statement} and {clause}")));
        }
    }
    let scope = BlockScope::new(planner, None, slots);
    cx.aggregates = Vec::new();
    let tree = join_tree(&scope, request.from, cx)?;
    let mut targets = Vec::new();
    delete_targets(&scope, request, update, &mut targets)?;
    let assignments = assignments(&scope, request, &mut targets, cx)?;
    scope.clause.set("where clause");
    let filter = match request.filter {
        Some(filter) => conjuncts(compile_condition(filter, &scope, cx)?),
        None => Vec::new(),
    };
    scope.clause.set("order clause");
    let mut order = Vec::new();
    for key in request.order_by {
        let value = compile(&key.expr, &scope, cx)?;
        let how = order_of(value.ty());
        order.push(OrderKey { value: SortValue::Expr(value), descending: key.descending, how });
    }
    let limit = plan_limit(request.limit, &scope, cx)?;
    for target in &targets {
        let reads =
            |u: &TableUse| u.database == target.info.database && u.table == target.info.name && !u.derived;
        if planner.uses.borrow().iter().any(reads) {
            let message = format!(
                "You can't specify target table '{}' for update in FROM clause",
                scope.slots[usize::from(target.slot)].alias
            );
            return Err(SqlError::new(1093, message));
        }
    }
    let mut uses = from::uses_of(&scope.slots, &[]);
    // Who changes all rows of a table need not be allowed to read it.
    uses.retain(|u| {
        let is_target = |t: &TargetTable| u.database == t.info.database && u.table == t.info.name;
        !(u.columns.is_empty() && (update || !several) && targets.iter().any(is_target))
    });
    planner.note_uses(uses);
    let aliases: Vec<&str> =
        targets.iter().map(|t| scope.slots[usize::from(t.slot)].alias.as_str()).collect();
    let mut block = BlockPlan::new(Vec::new(), None, None, false, order, limit);
    let locking = Locking { clauses: &[], targets: &aliases };
    join::plan(planner, &scope, tree, filter, locking, false, &mut block, cx)?;
    if cx.state.vars.sql_safe_updates {
        refuse_unsafe(&block, several, request)?;
    }
    let collects =
        several || !block.order.is_empty() && !block.order_done || meets_again(&block, &assignments);
    Ok(MatchPlan { targets, assignments, block, uses: planner.uses.take(), collects, several })
}

fn target_of(scope: &BlockScope<'_, '_>, slot: usize, update: bool) -> SqlResult<TargetTable> {
    match &scope.slots[slot].source {
        Source::Stored(info) => Ok(TargetTable { slot: slot as u16, info: info.clone() }),
        _ => {
            let statement = if update { "UPDATE" } else { "DELETE" };
            let alias = &scope.slots[slot].alias;
            Err(SqlError::new(1288, format!("The target table {alias} of the {statement} is not updatable")))
        }
    }
}

fn delete_targets(
    scope: &BlockScope<'_, '_>,
    request: &MatchRequest<'_>,
    update: bool,
    targets: &mut Vec<TargetTable>,
) -> SqlResult<()> {
    if update {
        return Ok(());
    }
    if request.delete_from.is_empty() {
        targets.push(target_of(scope, 0, false)?);
    }
    for name in request.delete_from {
        let found = scope.slots.iter().position(|s| BlockScope::is_slot(s, name.schema, name.name));
        let Some(slot) = found else {
            return Err(SqlError::new(1109, format!("Unknown table '{}' in MULTI DELETE", name.name)));
        };
        targets.push(target_of(scope, slot, false)?);
    }
    Ok(())
}

fn assignments(
    scope: &BlockScope<'_, '_>,
    request: &MatchRequest<'_>,
    targets: &mut Vec<TargetTable>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Vec<MatchedAssignment>> {
    scope.clause.set("field list");
    let mut list = Vec::new();
    for assignment in request.assignments {
        let used = scope.used();
        let Resolved::Column(column) = scope.resolve(&assignment.column)? else {
            return Err(crate::expr::scope::unknown_column(&assignment.column, "field list"));
        };
        // Being set is not being read.
        scope.set_used(used);
        let slot = usize::from(column.table);
        let target = match targets.iter().position(|t| t.slot == column.table) {
            Some(at) => at,
            None => {
                targets.push(target_of(scope, slot, true)?);
                targets.len() - 1
            }
        };
        let value = match assignment.value.kind {
            ast::ExprKind::Default => None,
            _ => Some(compile(&assignment.value, scope, cx)?),
        };
        list.push(MatchedAssignment { target, column: column.column.into(), value });
    }
    Ok(list)
}

/// `sql_safe_updates`: rows are to be found by a key, unless LIMIT bounds them.
///
/// # Errors
/// 1175.
fn refuse_unsafe(block: &BlockPlan, several: bool, request: &MatchRequest<'_>) -> SqlResult<()> {
    let whole = |read: &super::Read| matches!(read.path, Path::Full { .. });
    let whole = if several { block.reads.iter().any(whole) } else { block.reads.first().is_some_and(whole) };
    // A DELETE without WHERE is refused even with LIMIT, an UPDATE is not.
    let all = !several && request.assignments.is_empty() && request.filter.is_none();
    match all || whole && request.limit.is_none() {
        true => Err(SqlError::new(
            1175,
            "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column",
        )),
        false => Ok(()),
    }
}

/// Whether a scan may meet a row again that was changed: the index it reads is ordered by what changes.
fn meets_again(block: &BlockPlan, assignments: &[MatchedAssignment]) -> bool {
    let Some(read) = block.reads.first() else { return false };
    let (Source::Stored(info), Some(index)) = (&read.source, read.path.index()) else { return false };
    if matches!(read.path, Path::Point { .. }) {
        return false;
    }
    let index = &info.table.indexes[index];
    let clustered = info.table.clustered();
    let ordering = |c: usize| index.parts.iter().chain(&clustered.parts).any(|p| p.column == c);
    assignments.iter().any(|a| ordering(a.column))
}

impl MatchPlan {
    /// What it reads, for privilege checks.
    pub fn uses(&self) -> &[TableUse] {
        &self.uses
    }

    /// How its tables are read.
    pub(crate) fn block(&self) -> &BlockPlan {
        &self.block
    }

    /// Calls `each` for every matching row, with `cx.engine` free to be used for changes. If the changes could lead the
    /// scan to meet a row again, all rows are collected first. A row of a target may match several times in a join;
    /// `each` is told each time.
    ///
    /// # Errors
    /// Of reading, those of `each`; 1412 if a table has changed.
    pub fn run(
        &self,
        cx: &mut EvalCx<'_>,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&mut EvalCx<'_>, &Matched<'_>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        if let Some(session) = &mut cx.engine {
            for target in &self.targets {
                error::of_engine(session.statement().hold_table(&target.info.table, MdlMode::SharedWrite))?;
            }
        }
        in_statement(cx, |cx| self.run_held(cx, params, each))
    }

    fn run_held(&self, cx: &mut EvalCx<'_>, params: &[Value<'_>], each: &mut EachMatch<'_>) -> SqlResult<()> {
        let base = Row::constant(params);
        let limit = Limit::of(self.block.limit.as_ref(), cx, &base, false)?;
        if limit.is_empty() || !all_true(&self.block.const_filter, cx, &base)? {
            return Ok(());
        }
        if self.several {
            begin(&self.block, cx)?;
        }
        let mut workspace = self.block.pool.take();
        let mut exec = Exec::new(&self.block, std::mem::take(&mut *workspace), false);
        exec.want_keys(self.targets.iter().map(|target| usize::from(target.slot)));
        // A row that another transaction changes may only be looked at before it is locked where it is updated: DELETE waits.
        exec.to_change.semi_consistent = self.block.reads.len() == 1 && !self.assignments.is_empty();
        exec.to_change.row_at_end = true;
        let done = match self.collects {
            false => exec.run(cx, &base, &mut Immediate { plan: self, limit, each }).map(|_| ()),
            true => self.collect(&mut exec, cx, &base, limit, each),
        };
        if done.is_ok() {
            *workspace = exec.into_workspace();
        }
        self.block.pool.give(workspace);
        done
    }

    fn collect(
        &self,
        exec: &mut Exec<'_>,
        cx: &mut EvalCx<'_>,
        base: &Row<'_>,
        mut limit: Limit,
        each: &mut EachMatch<'_>,
    ) -> SqlResult<()> {
        let sorted = !self.block.order.is_empty() && !self.block.order_done;
        let room = cx.state.vars.sort_room();
        let mut collected = Collected {
            plan: self,
            sorted,
            limit: (!sorted).then_some(limit),
            sorter: Sorter::new(room, limit.first().filter(|_| sorted)),
            columns: crate::exec::used_columns(&self.block),
            key: Vec::new(),
            body: Vec::new(),
        };
        exec.run(cx, base, &mut collected)?;
        let Collected { sorter, columns, .. } = collected;
        if sorted {
            count_sort(&self.block.work, &sorter, cx);
        }
        let mut keys = Vec::new();
        sorter.finish(|_, body| {
            if limit.is_over() || !limit.shows() {
                return Ok(!limit.is_over());
            }
            let body = take_keys(body, self.targets.len(), &mut keys);
            let mut values: Vec<Vec<Value<'_>>> =
                self.block.reads.iter().map(|r| vec![Value::Null; r.width]).collect();
            for (value, &(slot, column)) in Values::new(body).zip(&columns) {
                values[slot][column] = value;
            }
            let tables: Vec<TableRow<'_>> = values.iter().map(|v| TableRow::Values(v)).collect();
            let row = Row { tables: &tables, ..*base };
            each(cx, &Matched { keys: &keys, row: &row })?;
            Ok(true)
        })
    }
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
            (self.each)(cx, &Matched { keys: &exec.keys[slot..=slot], row })?;
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
            push_row_key(exec.keys[usize::from(target.slot)].as_ref(), &mut self.body);
        }
        for &(slot, column) in &self.columns {
            push_value(&crate::exec::column(row, slot, column, cx)?, &mut self.body);
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

fn push_row_key(key: Option<&RowKey>, out: &mut Vec<u8>) {
    let Some(key) = key else { return out.push(NO_KEY) };
    out.push(key.len() as u8);
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
        for _ in 0..fields {
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
