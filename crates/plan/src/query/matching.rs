//! The reading part of UPDATE and DELETE: the rows that match, locked, each with its key.

use super::block::{Locking, order_of, plan_limit};
use super::changed::{ChangedView, changed_table, changed_view, not_updatable};
use super::from::{self, conjuncts, join_tree, open_tables};
use super::hints;
use super::join;
use super::names::{BlockScope, Opened};
use super::targets;
use super::with::within;
use crate::planner::Planner;
use crate::rules::TableRules;
use crate::tree::Source;
use crate::tree::{BlockPlan, OrderKey, Path, SortValue, TableUse};
use std::sync::Arc;
use vaquita_catalog::expressions::value_not_allowed;
use vaquita_catalog::{Definition, TableInfo};
use vaquita_engine::MdlMode;
use vaquita_expr::stored::triggers_of;
use vaquita_expr::trigger::TableTriggers;
use vaquita_expr::{CompileCx, Expr, TableSet, compile, compile_condition};
use vaquita_parser::ast::{self, TriggerEvent};
use vaquita_session::privilege::{Priv, Wanted};
use vaquita_types::{SqlError, SqlResult};

/// What is to be matched.
#[derive(Debug, Clone, Copy)]
pub struct MatchRequest<'a> {
    /// `/*+ … */`.
    pub hints: &'a [ast::Hint<'a>],
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
    /// The view by which they change, if it is one.
    pub view: Option<Arc<ChangedView>>,
}

impl TargetTable {
    /// What the statement needs to do this to columns of the table, or (`None`) to its rows as a whole.
    pub fn wants(&self, privilege: Priv, set: Option<&[usize]>) -> Vec<Wanted> {
        let (database, table) = (&self.info.definition.database, &self.info.definition.name);
        let own = self.info.table.is_temporary();
        match (&self.view, set) {
            (Some(view), _) => view.wants(&self.info, privilege, set),
            (None, None) => vec![Wanted::table(database, table, privilege).of_own(own)],
            (None, Some(set)) => {
                let names = set.iter().map(|&c| self.info.columns[c].name.as_str());
                vec![Wanted::columns(database, table, privilege, names).of_own(own)]
            }
        }
    }

    /// Whether a use is one of the table that changes, or of the view by which it does.
    fn is_meant(&self, u: &TableUse) -> bool {
        let own = &self.info.definition;
        match &self.view {
            Some(view) => view.is_by(&self.info, u),
            None => u.through.is_none() && u.database == own.database && u.table == own.name,
        }
    }
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
    planner.blocks.set(planner.blocks.get() + 1);
    let hints = hints::enter(planner, request.hints, cx);
    let named = targets::positions(request.delete_from, request.from, &cx.session.state.database)?;
    let mut opened = Opened::default();
    open_tables(planner, request.from, None, cx, MdlMode::SharedWrite, &mut opened)?;
    let straight = hints.apply(&mut opened, cx);
    let several = opened.slots.len() > 1 || !request.delete_from.is_empty();
    let update = !request.assignments.is_empty();
    // A view of several tables is one to who names it.
    let names_several = opened.order.len() > 1 || !request.delete_from.is_empty();
    for (given, clause) in [(!request.order_by.is_empty(), "ORDER BY"), (request.limit.is_some(), "LIMIT")] {
        if names_several && given {
            let doing = if update { Doing::Update } else { Doing::Delete };
            return Err(SqlError::new(1221, format!("Incorrect usage of {} and {clause}", doing.name())));
        }
    }
    let scope = BlockScope::of(planner, None, opened);
    cx.aggregates = Vec::new();
    let tree = join_tree(&scope, request.from, cx)?;
    let mut targets = Vec::new();
    delete_targets(&scope, &named, update, &mut targets)?;
    let assignments = assignments(&scope, request, &mut targets, cx)?;
    refuse_moving_keys(&scope, &targets, &assignments)?;
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
    refuse_read(planner, &scope, &targets, update)?;
    let mut uses = from::uses_of(&scope, &[]);
    // Who changes all rows of a table need not be allowed to read it.
    uses.retain(|u| {
        let is_target = targets.iter().any(|target| target.is_meant(u));
        !(u.columns.is_empty() && (update || !several) && is_target)
    });
    planner.note_uses(uses);
    planner.uses.borrow_mut().extend(scope.views.iter().flat_map(|view| view.reads.iter().cloned()));
    if update {
        add_rules(&scope, &mut targets, &assignments, cx)?;
    }
    let fired = add_triggers(&scope, &mut targets, update, cx)?;
    let slots: Vec<usize> = targets.iter().map(|t| t.slot.into()).collect();
    let mut block = BlockPlan::new(planner.db.next_plan(), Vec::new(), None, None, false, order, limit);
    let locking = Locking { clauses: &[], targets: &slots };
    join::plan(planner, &scope, tree, filter, locking, straight, &mut block, cx)?;
    planner.blocks.set(planner.blocks.get() - 1);
    hints::left_over(planner, cx);
    if cx.session.state.vars.sql_safe_updates {
        refuse_unsafe(&block, several, request)?;
    }
    let collects = several
        || fired
        || !block.order.is_empty() && !block.order_done
        || meets_again(&block, &assignments, targets.first().and_then(|t| t.rules.as_deref()));
    Ok(MatchPlan { targets, assignments, block, uses: planner.uses.take(), collects, several })
}

/// A table that changes may not be read by a subquery.
///
/// # Errors
/// 1093, 1443.
fn refuse_read(
    planner: &Planner<'_>,
    scope: &BlockScope<'_, '_>,
    targets: &[TargetTable],
    update: bool,
) -> SqlResult<()> {
    let doing = if update { Doing::Update } else { Doing::Delete };
    for target in targets {
        let slot = &scope.slots[usize::from(target.slot)];
        let definition = &target.info.definition;
        let (alias, view) = match &target.view {
            // Of tables that are updated together MySQL names the first, whichever it means.
            _ if update && scope.order.len() > 1 => {
                let first = scope.named(scope.order[0]);
                (first.alias, scope.view(scope.order[0]).map(|_| (first.database, first.name)))
            }
            Some(view) => (view.alias(), Some(view.name())),
            None => (slot.alias.as_str(), None),
        };
        refuse_reading(&planner.uses.borrow(), definition, alias, view, doing)?;
    }
    Ok(())
}

/// What a statement does to a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// INSERT, REPLACE, LOAD DATA.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
}

impl Doing {
    /// As messages call it.
    fn name(self) -> &'static str {
        match self {
            Doing::Insert => "INSERT",
            Doing::Update => "UPDATE",
            Doing::Delete => "DELETE",
        }
    }
}

/// Whether what subqueries read is the table that a statement changes, which it calls `alias`; `view`: database and name, if that is
/// a view. INSERT may read it under another name, as in MySQL: the value is there before the row.
///
/// # Errors
/// 1093, 1443.
pub fn refuse_reading(
    uses: &[TableUse],
    definition: &Definition,
    alias: &str,
    view: Option<(&str, &str)>,
    doing: Doing,
) -> SqlResult<()> {
    let may_read = |u: &TableUse| u.derived || doing == Doing::Insert && u.renamed && u.through.is_none();
    let table =
        |u: &&TableUse| u.database == definition.database && u.table == definition.name && !may_read(u);
    let Some(found) = uses.iter().find(table) else { return Ok(()) };
    let by = found.through.as_ref().map(|through| (through.view.0.as_str(), through.view.1.as_str()));
    if by == view {
        let message = format!("You can't specify target table '{alias}' for update in FROM clause");
        return Err(SqlError::new(1093, message));
    }
    let name = by.map_or(alias, |(_, name)| name);
    let operation = doing.name();
    let message =
        format!("The definition of table '{name}' prevents operation {operation} on table '{alias}'.");
    Err(SqlError::new(1443, message))
}

/// The target that a DELETE names.
fn target_of(scope: &BlockScope<'_, '_>, at: usize) -> SqlResult<TargetTable> {
    if let Some(view) = scope.view(at) {
        let (slot, info, _) = changed_table(scope, view, None)?;
        let view = changed_view(scope, view, slot);
        return Ok(TargetTable { slot: slot as u16, info, rules: None, triggers: None, view });
    }
    table_of(scope, at, false)
}

/// A table that is named itself.
fn table_of(scope: &BlockScope<'_, '_>, slot: usize, update: bool) -> SqlResult<TargetTable> {
    match &scope.slots[slot].source {
        Source::Stored(info) => {
            Ok(TargetTable { slot: slot as u16, info: info.clone(), rules: None, triggers: None, view: None })
        }
        _ => {
            let doing = if update { Doing::Update } else { Doing::Delete };
            Err(not_updatable(&scope.slots[slot].alias, doing.name()))
        }
    }
}

/// The target that an assignment sets a column of, and that column.
fn target_set(scope: &BlockScope<'_, '_>, at: usize, column: usize) -> SqlResult<(TargetTable, usize)> {
    let Some(view) = scope.view(at) else { return Ok((table_of(scope, at, true)?, column)) };
    let (slot, info, column) = changed_table(scope, view, Some(column))?;
    let view = changed_view(scope, view, slot);
    let target = TargetTable { slot: slot as u16, info, rules: None, triggers: None, view };
    Ok((target, column.unwrap_or(0)))
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
    named: &[usize],
    update: bool,
    targets: &mut Vec<TargetTable>,
) -> SqlResult<()> {
    if update {
        return Ok(());
    }
    let named = if named.is_empty() { &[0] } else { named };
    for &at in named {
        targets.push(target_of(scope, scope.order[at])?);
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
        // Being set is not being read.
        let found = scope.find(&assignment.column)?;
        let (at, column) =
            found.ok_or_else(|| vaquita_expr::scope::unknown_column(&assignment.column, "field list"))?;
        let (set, column) = target_set(scope, at, column)?;
        let target = match targets.iter().position(|t| t.slot == set.slot) {
            Some(at) => at,
            None => {
                targets.push(set);
                targets.len() - 1
            }
        };
        refuse_second_table(scope, at, targets)?;
        let value = match assignment.value.kind {
            ast::ExprKind::Default => None,
            _ => {
                refuse_value(&targets[target].info, column)?;
                let mut value = compile(&assignment.value, scope, cx)?;
                if let Ok(column) = u16::try_from(column) {
                    vaquita_expr::change_in_place(&mut value, targets[target].slot, column);
                }
                Some(value)
            }
        };
        list.push(MatchedAssignment { target, column, value });
    }
    Ok(list)
}

/// Through a view one table can be changed at a time.
///
/// # Errors
/// 1393.
fn refuse_second_table(scope: &BlockScope<'_, '_>, at: usize, targets: &[TargetTable]) -> SqlResult<()> {
    let Some(view) = scope.view(at) else { return Ok(()) };
    let within = |t: &&TargetTable| TableSet::of(t.slot).is_subset(view.tables);
    match targets.iter().filter(within).count() {
        0 | 1 => Ok(()),
        _ => Err(SqlError::new(
            1393,
            format!(
                "Can not modify more than one base table through a join view '{}.{}'",
                view.face.database, view.face.name
            ),
        )),
    }
}

/// A table that is updated by two names must stay where it is: its rows are found by their keys.
///
/// # Errors
/// 1706.
fn refuse_moving_keys(
    scope: &BlockScope<'_, '_>,
    targets: &[TargetTable],
    assignments: &[MatchedAssignment],
) -> SqlResult<()> {
    for (at, target) in targets.iter().enumerate() {
        let twice = |t: &&TargetTable| t.slot != target.slot && t.info.table.id == target.info.table.id;
        let Some(other) = targets.iter().find(twice) else { continue };
        let in_key = |c: usize| target.info.table.clustered().parts.iter().any(|part| part.column == c);
        if assignments.iter().any(|a| a.target == at && in_key(a.column)) {
            let alias = |t: &TargetTable| {
                let slot = &scope.slots[usize::from(t.slot)];
                slot.within.as_ref().map_or(&slot.alias, |within| within.alias()).clone()
            };
            let (first, second) = match target.slot < other.slot {
                true => (alias(target), alias(other)),
                false => (alias(other), alias(target)),
            };
            return Err(SqlError::new(
                1706,
                format!(
                    "Primary key/partition key update is not allowed since the table is updated both as '{first}' and \
                     '{second}'."
                ),
            ));
        }
    }
    Ok(())
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
    if matches!(read.path, Path::Point { .. } | Path::FullText { .. }) {
        return false;
    }
    let index = &info.table.indexes[index];
    let clustered = info.table.clustered();
    let scheme = info.table.parts.as_ref().and_then(|parts| parts.scheme.as_ref());
    let moves = |c: usize| scheme.is_some_and(|scheme| scheme.columns().contains(&c));
    let ordering = |c: usize| index.parts.iter().chain(&clustered.parts).any(|p| p.column == c) || moves(c);
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
