//! The reading part of UPDATE and DELETE: the rows that match, locked, each with its key.

use super::block::{Locking, order_of, plan_limit};
use super::from::{self, conjuncts, join_tree, open_tables};
use super::join;
use super::names::BlockScope;
use super::with::within;
use crate::planner::Planner;
use crate::rules::TableRules;
use crate::tree::Source;
use crate::tree::{BlockPlan, OrderKey, Path, SortValue, TableUse};
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_catalog::expressions::value_not_allowed;
use vaquita_engine::MdlMode;
use vaquita_expr::stored::triggers_of;
use vaquita_expr::trigger::TableTriggers;
use vaquita_expr::{CompileCx, Expr, Resolved, Scope, compile, compile_condition};
use vaquita_parser::ast::{self, TriggerEvent};
use vaquita_types::{SqlError, SqlResult};

/// What is to be matched.
#[derive(Debug, Clone, Copy)]
pub struct MatchRequest<'a> {
    /// WITH.
    pub with: Option<&'a ast::With<'a>>,
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
    /// Slot of its row in the row that matches.
    pub slot: u16,
    /// The table.
    pub info: Arc<TableInfo>,
    /// What it asks of rows that an UPDATE makes; the columns that they are looked at by are fetched.
    pub rules: Option<Arc<TableRules>>,
    /// Triggers that the statement fires; all columns are fetched then.
    pub triggers: Option<Arc<TableTriggers>>,
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
    /// How the rows are found.
    pub block: BlockPlan,
    /// What is read, for privilege checks.
    pub uses: Vec<TableUse>,
    /// Rows are collected before the first one changes.
    pub collects: bool,
    /// It has the form of a statement of several tables: what it does counts as that of a SELECT, and is limited as that is.
    pub several: bool,
}

impl MatchPlan {
    /// Whether reading the rows fetches a column of a target; where rows are collected first, their keys are among them.
    pub fn reads(&self, target: usize, column: usize) -> bool {
        let TargetTable { slot, info, .. } = &self.targets[target];
        let in_key = || info.table.clustered().parts.iter().any(|part| part.column == column);
        self.block.reads[usize::from(*slot)].columns.contains(&column) || self.collects && in_key()
    }
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
    within(planner, request.with, None, cx, |cx| plan_rows(planner, request, cx))
}

fn plan_rows(
    planner: &Planner<'_>,
    request: &MatchRequest<'_>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<MatchPlan> {
    let mut slots = Vec::new();
    open_tables(planner, request.from, None, cx, MdlMode::SharedWrite, &mut slots)?;
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
        let reads = |u: &TableUse| {
            u.database == target.info.definition.database
                && u.table == target.info.definition.name
                && !u.derived
        };
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
        let is_target =
            |t: &TargetTable| u.database == t.info.definition.database && u.table == t.info.definition.name;
        !(u.columns.is_empty() && (update || !several) && targets.iter().any(is_target))
    });
    planner.note_uses(uses);
    if update {
        add_rules(&scope, &mut targets, &assignments, cx)?;
    }
    let fired = add_triggers(&scope, &mut targets, update, cx)?;
    let aliases: Vec<&str> =
        targets.iter().map(|t| scope.slots[usize::from(t.slot)].alias.as_str()).collect();
    let mut block = BlockPlan::new(planner.db.next_plan(), Vec::new(), None, None, false, order, limit);
    let locking = Locking { clauses: &[], targets: &aliases };
    join::plan(planner, &scope, tree, filter, locking, false, &mut block, cx)?;
    if cx.session.state.vars.sql_safe_updates {
        refuse_unsafe(&block, several, request)?;
    }
    let collects = several
        || fired
        || !block.order.is_empty() && !block.order_done
        || meets_again(&block, &assignments, targets.first().and_then(|t| t.rules.as_deref()));
    Ok(MatchPlan { targets, assignments, block, uses: planner.uses.take(), collects, several })
}

fn target_of(scope: &BlockScope<'_, '_>, slot: usize, update: bool) -> SqlResult<TargetTable> {
    match &scope.slots[slot].source {
        Source::Stored(info) => {
            Ok(TargetTable { slot: slot as u16, info: info.clone(), rules: None, triggers: None })
        }
        _ => {
            let statement = if update { "UPDATE" } else { "DELETE" };
            let alias = &scope.slots[slot].alias;
            Err(SqlError::new(1288, format!("The target table {alias} of the {statement} is not updatable")))
        }
    }
}

/// Compiles what the targets ask of their rows, as far as the assignments can break it, and has the columns fetched.
fn add_rules(
    scope: &BlockScope<'_, '_>,
    targets: &mut [TargetTable],
    assignments: &[MatchedAssignment],
    cx: &mut CompileCx<'_>,
) -> SqlResult<()> {
    for (at, target) in targets.iter_mut().enumerate() {
        let Some(rules) = TableRules::of(&target.info.definition, cx)? else { continue };
        let mut set: Vec<usize> = assignments.iter().filter(|a| a.target == at).map(|a| a.column).collect();
        set.extend(&target.info.on_update_now);
        let by_default = |a: &MatchedAssignment| {
            a.target == at && a.value.is_none() && rules.default_of(a.column).is_some()
        };
        if !rules.concern(&set) && !assignments.iter().any(by_default) {
            continue;
        }
        let mut used = scope.slots[usize::from(target.slot)].used.borrow_mut();
        rules.columns.iter().for_each(|&column| used[column] = true);
        drop(used);
        target.rules = Some(rules);
    }
    Ok(())
}

/// Finds the triggers of the targets, and has the columns of their rows fetched. Whether there are some: they run statements, so
/// rows are collected first.
fn add_triggers(
    scope: &BlockScope<'_, '_>,
    targets: &mut [TargetTable],
    update: bool,
    cx: &mut CompileCx<'_>,
) -> SqlResult<bool> {
    let event = if update { TriggerEvent::Update } else { TriggerEvent::Delete };
    let mut fired = false;
    for target in targets {
        target.triggers = triggers_of(cx, &target.info.table, &[event])?;
        if target.triggers.is_none() {
            continue;
        }
        fired = true;
        scope.slots[usize::from(target.slot)].used.borrow_mut().fill(true);
        if update && target.rules.is_none() {
            target.rules = TableRules::of(&target.info.definition, cx)?;
        }
    }
    Ok(fired)
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
            return Err(vaquita_expr::scope::unknown_column(&assignment.column, "field list"));
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
            _ => {
                refuse_value(&targets[target].info, column.column.into())?;
                Some(compile(&assignment.value, scope, cx)?)
            }
        };
        list.push(MatchedAssignment { target, column: column.column.into(), value });
    }
    Ok(list)
}

/// A generated column takes no value but DEFAULT.
///
/// # Errors
/// 3105.
pub fn refuse_value(info: &TableInfo, column: usize) -> SqlResult<()> {
    match info.columns[column].generated {
        None => Ok(()),
        Some(_) => Err(value_not_allowed(&info.columns[column].name, &info.definition.name)),
    }
}

/// `sql_safe_updates`: rows are to be found by a key, unless LIMIT bounds them.
///
/// # Errors
/// 1175.
fn refuse_unsafe(block: &BlockPlan, several: bool, request: &MatchRequest<'_>) -> SqlResult<()> {
    let whole = |read: &crate::tree::Read| matches!(read.path, Path::Full { .. });
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
fn meets_again(block: &BlockPlan, assignments: &[MatchedAssignment], rules: Option<&TableRules>) -> bool {
    let Some(read) = block.reads.first() else { return false };
    let (Source::Stored(info), Some(index)) = (&read.source, read.path.index()) else { return false };
    if matches!(read.path, Path::Point { .. }) {
        return false;
    }
    let index = &info.table.indexes[index];
    let clustered = info.table.clustered();
    let ordering = |c: usize| index.parts.iter().chain(&clustered.parts).any(|p| p.column == c);
    let mut set: Vec<usize> = assignments.iter().map(|a| a.column).collect();
    if let Some(rules) = rules {
        rules.add_generated(&mut set);
    }
    set.into_iter().any(ordering)
}

impl MatchPlan {
    /// What it reads, for privilege checks.
    pub fn uses(&self) -> &[TableUse] {
        &self.uses
    }

    /// How its tables are read.
    pub fn block(&self) -> &BlockPlan {
        &self.block
    }
}
