//! The order of joins, the access path of every table, and where conditions are checked.
//!
//! The tree of joins becomes a list of *units*: tables, and inner sides of outer joins, which must come behind the tables
//! their conditions name. A unit may stand anywhere else: inner joins commute with each other and with outer joins that come
//! later. All orders of few units are tried, of many the cheapest next one is taken.

use super::access::{Access, Estimator, used_columns};
use super::block::Locking;
use super::covered;
use super::equal;
use super::from::Tree;
use super::generated::{self, Indexed};
use super::names::BlockScope;
use crate::columns::column_of;
use crate::planner::Planner;
use crate::sarg::is_random;
use crate::tree::Source;
use crate::tree::{BlockPlan, OrderKey, Path, Read, SortValue, SourceLock, Step};
use std::cell::RefCell;
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_engine::ReadLock;
use vaquita_expr::node::CmpOp;
use vaquita_expr::{ColumnMap, CompileCx, Constness, EvalCx, Expr, Node, Row, TableSet, equal as equal_to};
use vaquita_types::{ColumnType, SqlError, SqlResult, SqlType, Value};

/// Units of which all orders are tried.
const EXHAUSTIVE_MAX: usize = 6;
/// Rows whose reading takes so long that planning does not matter.
const MANY_ROWS: f64 = 2_000.0;
/// Cost of sorting a row, per comparison.
const SORT: f64 = 0.6;
/// Cost of a row kept in memory and found again.
const HASH: f64 = 2.0;

/// Something that is joined.
struct Unit {
    kind: UnitKind,
    /// Its tables.
    tables: TableSet,
    /// Tables that must come before.
    needs: TableSet,
}

enum UnitKind {
    Table(usize),
    Outer { units: Vec<Unit>, on: Vec<Expr> },
}

/// Plans the reading part of a block.
#[allow(clippy::too_many_arguments)]
pub(crate) fn plan<'p>(
    planner: &Planner<'p>,
    scope: &BlockScope<'_, 'p>,
    tree: Tree,
    filter: Vec<Expr>,
    locking: Locking<'_>,
    straight: bool,
    block: &mut BlockPlan,
    cx: &mut CompileCx<'_>,
) -> SqlResult<()> {
    block.has_subquery = has_subquery(block, &filter);
    let rejected = filter.iter().fold(TableSet::default(), |s, c| s.union(rejects_null(c)));
    let tree = simplify(tree, rejected);
    let (mut units, mut conditions) = (Vec::new(), filter);
    flatten(scope, tree, &mut units, &mut conditions, straight);
    let indexed = generated::of_block(scope, cx)?;
    generated::put_in(&indexed, &mut conditions, scope, cx)?;
    put_in_units(&indexed, &mut units, scope, cx)?;
    let fixed = equal::propagate(&mut conditions, &[], cx)?;
    propagate_to_units(&fixed, &mut units, cx)?;
    find_generated(scope, &mut conditions, cx)?;
    let (constant, conditions): (Vec<Expr>, Vec<Expr>) =
        conditions.into_iter().partition(|c| c.tables().is_empty() && !is_random(c));
    block.has_subquery |= conditions.iter().any(needs_copies);
    block.const_filter = constant;
    let estimator = Estimator::new(planner, scope);
    let mut planning =
        Planning { estimator, scope, locking, reads: Vec::new(), ended: RefCell::default(), indexed };
    planning.reads.resize_with(scope.slots.len(), || None);
    let single = units.len() == 1 && matches!(units[0].kind, UnitKind::Table(_));
    block.steps = planning.order(units, conditions, TableSet::default(), Some(block), cx);
    if let Some(ended) = planning.ended.take() {
        return Err(ended);
    }
    let reads: Option<Vec<Read>> = planning.reads.into_iter().collect();
    block.reads = reads.unwrap_or_default();
    block.has_subquery |= steps_have_subquery(&block.steps);
    block.count_rows = single && counts_rows(block) && block.reads.iter().all(|read| read.parts.is_none());
    block.count_found = single && super::fulltext::counts_found(block);
    block.subqueries = scope.subqueries.take();
    block.subqueries.extend(scope.slots.iter().flat_map(|slot| slot.subqueries.take()));
    block.work = super::work::work_of(block);
    if planner.by_values.get() {
        cx.session.state.noted.for_once();
    }
    Ok(())
}

/// Conditions of outer joins look at indexed columns, too.
fn put_in_units(
    indexed: &[Indexed],
    units: &mut [Unit],
    scope: &BlockScope<'_, '_>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<()> {
    for unit in units {
        if let UnitKind::Outer { units, on } = &mut unit.kind {
            generated::put_in(indexed, on, scope, cx)?;
            put_in_units(indexed, units, scope, cx)?;
        }
    }
    Ok(())
}

/// Columns that have a value have it in the conditions of outer joins, too: rows of others do not stay.
fn propagate_to_units(known: &[equal::Fixed], units: &mut [Unit], cx: &mut CompileCx<'_>) -> SqlResult<()> {
    for unit in units {
        if let UnitKind::Outer { units, on } = &mut unit.kind {
            let mut fixed = equal::propagate(on, known, cx)?;
            fixed.extend_from_slice(known);
            propagate_to_units(&fixed, units, cx)?;
        }
    }
    Ok(())
}

/// `sql_auto_is_null`: where all that is asked is whether an AUTO_INCREMENT column is NULL, which it never is, the row that the
/// last INSERT made is meant, once.
fn find_generated(
    scope: &BlockScope<'_, '_>,
    conditions: &mut Vec<Expr>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<()> {
    if !cx.session.state.vars.sql_auto_is_null {
        return Ok(());
    }
    let [condition] = &conditions[..] else { return Ok(()) };
    let Node::IsNull { operand, negated: false } = condition.node() else { return Ok(()) };
    let Some((slot, column)) = column_of(operand) else { return Ok(()) };
    let Source::Stored(info) = &scope.slots[slot].source else { return Ok(()) };
    if info.auto_increment != Some(column) || operand.ty().nullable {
        return Ok(());
    }
    cx.session.state.noted.for_once();
    if std::mem::take(&mut cx.session.state.generated) {
        let id = Expr::constant(Value::UInt(cx.session.state.last_insert_id), SqlType::bigint(true));
        *conditions = vec![equal_to(operand.as_ref().clone(), id, cx)?];
    }
    Ok(())
}

/// Whether the block asks for the number of rows of its table, and for nothing else.
fn counts_rows(block: &BlockPlan) -> bool {
    let Some(group) = &block.group else { return false };
    let [Step::Table { filter, .. }] = &block.steps[..] else { return false };
    let star = |a: &vaquita_expr::Aggregate| {
        matches!(a.kind, vaquita_parser::ast::AggregateKind::CountStar)
            || matches!(a.kind, vaquita_parser::ast::AggregateKind::Count)
                && !a.distinct
                && a.args.iter().all(|e| e.constness() == Constness::Const && !e.ty().nullable)
    };
    group.keys.is_empty()
        && filter.is_empty()
        && !group.aggregates.is_empty()
        && group.aggregates.iter().all(star)
        && group.carried.is_empty()
        && matches!(block.reads[0].source, Source::Stored(_))
        && matches!(block.reads[0].path, Path::Full { .. })
        && block.reads[0].lock == ReadLock::None
        && block.reads[0].source_lock == SourceLock::None
}

/// Whether an expression may be evaluated on copied rows only: it runs a subquery, or waits, which nobody may do with a
/// page latched.
fn needs_copies(e: &Expr) -> bool {
    let mut waits = false;
    e.walk(&mut |e| {
        if let Node::Call(call) = e.node() {
            waits |= matches!(
                call.name,
                "sleep"
                    | "get_lock"
                    | "release_lock"
                    | "is_free_lock"
                    | "is_used_lock"
                    | "benchmark"
                    | "load_file"
            );
        }
    });
    waits || e.info().has_subquery
}

fn has_subquery(block: &BlockPlan, filter: &[Expr]) -> bool {
    let any = needs_copies;
    let key = |k: &OrderKey| k.value.expr().is_some_and(any);
    block.items.iter().any(any)
        || block.windows.as_ref().is_some_and(|windows| windows.exprs().any(any))
        || block.having.as_ref().is_some_and(any)
        || block.order.iter().any(key)
        || filter.iter().any(any)
        || block.group.as_ref().is_some_and(|g| {
            g.keys.iter().any(key)
                || g.aggregates
                    .iter()
                    .any(|a| a.args.iter().any(any) || a.order_by.iter().any(|(e, _)| any(e)))
        })
}

fn steps_have_subquery(steps: &[Step]) -> bool {
    let any = |list: &[Expr]| list.iter().any(needs_copies);
    steps.iter().any(|step| match step {
        Step::Table { filter, .. } => any(filter),
        Step::Outer { steps, before, filter, .. } => any(before) || any(filter) || steps_have_subquery(steps),
    })
}

/// Tables of which a NULL row cannot satisfy a condition.
fn rejects_null(condition: &Expr) -> TableSet {
    let column = |e: &Expr| {
        let column = column_of(e).or_else(|| column_of(e.row_selected()?));
        column.map_or(TableSet::default(), |(slot, _)| TableSet::of(slot as u16))
    };
    match condition.node() {
        Node::And(list) => list.iter().fold(TableSet::default(), |s, e| s.union(rejects_null(e))),
        Node::Or(list) => {
            let all = list.iter().map(rejects_null).reduce(|a, b| TableSet(a.0 & b.0));
            all.unwrap_or_default()
        }
        Node::Compare { op, sides, .. } if *op != CmpOp::NullSafeEq => {
            column(&sides[0]).union(column(&sides[1]))
        }
        Node::Between { negated: false, args, .. } => column(&args[0]),
        Node::In(list) if !list.negated => column(&list.operand),
        Node::IsNull { operand, negated: true } => column(operand),
        Node::Like(like) if !like.negated => column(&like.args[0]),
        _ => TableSet::default(),
    }
}

/// Outer joins whose NULL rows are refused by a condition further out become inner ones.
fn simplify(tree: Tree, rejected: TableSet) -> Tree {
    match tree {
        Tree::Table(_) => tree,
        Tree::Inner { parts, on, straight } => {
            let rejected = on.iter().fold(rejected, |s, c| s.union(rejects_null(c)));
            let parts = parts.into_iter().map(|p| simplify(p, rejected)).collect();
            Tree::Inner { parts, on, straight }
        }
        Tree::Left { outer, inner, on } if inner.tables().0 & rejected.0 != 0 => {
            simplify(Tree::Inner { parts: vec![*outer, *inner], on, straight: false }, rejected)
        }
        Tree::Left { outer, inner, on } => {
            let of_on = on.iter().fold(TableSet::default(), |s, c| s.union(rejects_null(c)));
            Tree::Left {
                outer: Box::new(simplify(*outer, rejected)),
                inner: Box::new(simplify(*inner, of_on)),
                on,
            }
        }
    }
}

fn flatten(
    scope: &BlockScope<'_, '_>,
    tree: Tree,
    units: &mut Vec<Unit>,
    conditions: &mut Vec<Expr>,
    straight: bool,
) {
    match tree {
        Tree::Table(slot) => {
            let before = units.iter().fold(TableSet::default(), |s, u| s.union(u.tables));
            units.push(Unit {
                kind: UnitKind::Table(slot),
                tables: TableSet::of(slot as u16),
                needs: if straight { before } else { TableSet::default() }
                    .union(scope.slots[slot].depends.lateral)
                    .union(scope.slots[slot].after),
            });
        }
        Tree::Inner { parts, on, straight: here } => {
            let mut before = TableSet::default();
            for part in parts {
                let first = units.len();
                let tables = part.tables();
                flatten(scope, part, units, conditions, straight);
                if here {
                    for unit in &mut units[first..] {
                        unit.needs = unit.needs.union(before);
                    }
                }
                before = before.union(tables);
            }
            // Those of a merged block first: others may be calculated for its rows only.
            conditions.splice(0..0, on);
        }
        Tree::Left { outer, inner, on } => {
            let outer_tables = outer.tables();
            flatten(scope, *outer, units, conditions, straight);
            let tables = inner.tables();
            let named = on.iter().fold(TableSet::default(), |s, c| s.union(c.tables()));
            let mut needs = TableSet(named.0 & !tables.0);
            if needs.is_empty() {
                needs = outer_tables;
            }
            let inside = |slot: usize| TableSet::of(slot as u16).is_subset(tables);
            let derived = scope.slots.iter().enumerate().filter(|(slot, _)| inside(*slot));
            let lateral = derived.fold(TableSet::default(), |s, (_, t)| s.union(t.depends.lateral));
            let hinted = scope.slots.iter().enumerate().filter(|(slot, _)| inside(*slot));
            let hinted = hinted.fold(lateral, |s, (_, t)| s.union(t.after));
            needs = needs.union(TableSet(hinted.0 & !tables.0));
            let (mut inner_units, mut inner_on) = (Vec::new(), on);
            flatten(scope, *inner, &mut inner_units, &mut inner_on, straight);
            units.push(Unit { kind: UnitKind::Outer { units: inner_units, on: inner_on }, tables, needs });
        }
    }
}

struct Planning<'e, 's, 'p> {
    estimator: Estimator<'e, 's, 'p>,
    scope: &'e BlockScope<'s, 'p>,
    locking: Locking<'e>,
    reads: Vec<Option<Read>>,
    /// Why planning is not to go on: somebody has ended the statement.
    ended: RefCell<Option<SqlError>>,
    /// Expressions that indexes are of.
    indexed: Vec<Indexed>,
}

/// The best order found so far.
struct Best {
    cost: f64,
    order: Vec<usize>,
}

impl Planning<'_, '_, '_> {
    /// Whether planning is to go on. Estimates of many tables with long lists of values take their time.
    fn goes_on(&self, cx: &mut CompileCx<'_>) -> bool {
        let mut ended = self.ended.borrow_mut();
        if ended.is_none() {
            *ended = cx.session.state.poll_now().err();
        }
        ended.is_none()
    }

    /// Orders units and plans each; `block` is there for the outermost list: its first table may give the order wanted.
    fn order(
        &mut self,
        units: Vec<Unit>,
        mut conditions: Vec<Expr>,
        known: TableSet,
        mut block: Option<&mut BlockPlan>,
        cx: &mut CompileCx<'_>,
    ) -> Vec<Step> {
        let order = self.best_order(&units, &conditions, known, cx);
        let mut units: Vec<Option<Unit>> = units.into_iter().map(Some).collect();
        let (mut steps, mut known) = (Vec::new(), known);
        if !self.goes_on(cx) {
            return steps;
        }
        let n = order.len();
        for (i, at) in order.into_iter().enumerate() {
            let Some(unit) = units[at].take() else { continue };
            let before = known;
            known = known.union(unit.tables);
            let last = i + 1 == n;
            let ready = |c: &Expr| c.tables().is_subset(known) && (last || !is_random(c));
            let (mut mine, later): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(ready);
            conditions = later;
            match unit.kind {
                UnitKind::Table(_) if !self.goes_on(cx) => return steps,
                UnitKind::Table(slot) => {
                    let block = block.as_deref_mut().filter(|_| i == 0);
                    self.read(slot, before, &mine, block, n == 1, cx);
                    let read = self.reads[slot].as_ref();
                    let covered = read.map_or(0, |read| covered::put_last(read, slot, &mut mine));
                    steps.push(Step::Table { slot, filter: mine, covered });
                }
                UnitKind::Outer { units, on } => {
                    let slots = (0..self.scope.slots.len())
                        .filter(|&s| TableSet::of(s as u16).is_subset(unit.tables))
                        .collect();
                    let (first, on): (Vec<Expr>, Vec<Expr>) =
                        on.into_iter().partition(|c| c.tables().is_subset(before) && !is_random(c));
                    let inner = self.order(units, on, before, None, cx);
                    steps.push(Step::Outer { steps: inner, slots, before: first, filter: mine });
                }
            }
        }
        steps
    }

    fn best_order(
        &self,
        units: &[Unit],
        conditions: &[Expr],
        known: TableSet,
        cx: &mut CompileCx<'_>,
    ) -> Vec<usize> {
        if units.len() <= 1 {
            return (0..units.len()).collect();
        }
        let mut best = Best { cost: f64::INFINITY, order: Vec::new() };
        let mut order = Vec::new();
        let greedy = units.len() > EXHAUSTIVE_MAX;
        self.extend(units, conditions, known, &mut order, 1.0, 0.0, greedy, &mut best, cx);
        if best.order.len() == units.len() { best.order } else { (0..units.len()).collect() }
    }

    #[allow(clippy::too_many_arguments)]
    fn extend(
        &self,
        units: &[Unit],
        conditions: &[Expr],
        known: TableSet,
        order: &mut Vec<usize>,
        rows: f64,
        cost: f64,
        greedy: bool,
        best: &mut Best,
        cx: &mut CompileCx<'_>,
    ) {
        if order.len() == units.len() {
            if cost < best.cost {
                *best = Best { cost, order: order.clone() };
            }
            return;
        }
        let all = units.iter().fold(TableSet::default(), |s, u| s.union(u.tables));
        let mut next: Vec<(usize, f64, f64)> = Vec::new();
        for (i, unit) in units.iter().enumerate() {
            let needs = TableSet(unit.needs.0 & all.0);
            if order.contains(&i) || !needs.is_subset(known) {
                continue;
            }
            if !self.goes_on(cx) {
                return;
            }
            let (unit_cost, fanout) = self.unit_cost(unit, conditions, known, rows, cx);
            next.push((i, unit_cost, fanout));
        }
        // Few rows early: the cheaper and the more selective ones are tried first.
        next.sort_by(|a, b| (a.1 + rows * a.2).total_cmp(&(b.1 + rows * b.2)));
        if greedy {
            next.truncate(1);
        }
        for (i, unit_cost, fanout) in next {
            let total = cost + unit_cost;
            if total >= best.cost {
                continue;
            }
            order.push(i);
            let tables = known.union(units[i].tables);
            self.extend(units, conditions, tables, order, (rows * fanout).max(0.01), total, greedy, best, cx);
            order.pop();
        }
    }

    /// What joining a unit costs behind so many rows, and how many rows each of them becomes.
    fn unit_cost(
        &self,
        unit: &Unit,
        conditions: &[Expr],
        known: TableSet,
        rows: f64,
        cx: &mut CompileCx<'_>,
    ) -> (f64, f64) {
        match &unit.kind {
            UnitKind::Table(slot) => {
                let after = known.union(unit.tables);
                let mine: Vec<&Expr> = conditions
                    .iter()
                    .filter(|c| c.tables().is_subset(after) && !c.tables().is_subset(known))
                    .collect();
                let access = self.cheapest(*slot, known, &mine, rows, cx);
                (total_cost(&access, rows), access.fanout)
            }
            UnitKind::Outer { units, on } => {
                let (mut cost, mut fanout, mut known, mut rows) = (0.0, 1.0, known, rows);
                for inner in units {
                    let (c, f) = self.unit_cost(inner, on, known, rows, cx);
                    cost += c;
                    fanout *= f;
                    rows *= f;
                    known = known.union(inner.tables);
                }
                (cost, fanout.max(1.0))
            }
        }
    }

    /// The ways to read a table.
    fn accesses(
        &self,
        slot: usize,
        known: TableSet,
        conditions: &[&Expr],
        cx: &mut CompileCx<'_>,
    ) -> Vec<Access> {
        let mut all = self.estimator.all(slot, known, conditions, cx);
        if self.locking.targets.contains(&slot) {
            // Rows that change are looked up whole: an index that has what is read of them saves nothing.
            all.retain(|a| !matches!(a.path, Path::Full { index, .. } if index > 0));
        }
        all
    }

    /// The cheapest way to read a table behind `rows` rows.
    fn cheapest(
        &self,
        slot: usize,
        known: TableSet,
        conditions: &[&Expr],
        rows: f64,
        cx: &mut CompileCx<'_>,
    ) -> Access {
        let mut all = self.accesses(slot, known, conditions, cx);
        let table = &self.scope.slots[slot];
        let by_hash = table.methods.by_hash;
        let is_free = table.depends.lateral.is_empty() && self.locking.of(slot, table).0 == ReadLock::None;
        if !known.is_empty() && is_free && by_hash != Some(false) {
            let scans = all.iter().filter(|a| reads_constant(&a.path)).cloned().collect::<Vec<_>>();
            let keys = self.estimator.hash_keys(slot, known, conditions);
            for scan in scans {
                let mut hashed = Access { hash: true, ..scan };
                hashed.fanout = match keys.is_empty() {
                    true => hashed.fanout,
                    false => hashed.fanout.min(hashed.rows * 0.1_f64.powi(keys.len() as i32)).max(0.1),
                };
                all.push(hashed);
            }
            if by_hash == Some(true) && all.iter().any(|a| a.hash) {
                all.retain(|a| a.hash);
            }
        }
        let cost = |a: &Access| total_cost(a, rows);
        let best = all.into_iter().min_by(|a, b| cost(a).total_cmp(&cost(b)));
        best.unwrap_or_else(|| unreachable_access(self.estimator.rows(slot)))
    }

    /// Decides how a table is read.
    fn read(
        &mut self,
        slot: usize,
        known: TableSet,
        conditions: &[Expr],
        block: Option<&mut BlockPlan>,
        only: bool,
        cx: &mut CompileCx<'_>,
    ) {
        let refs: Vec<&Expr> = conditions.iter().collect();
        let is_one = |read: &Read| matches!(read.path, Path::Point { .. }) && reads_constant(&read.path);
        let mut before = (0..self.reads.len()).filter(|&s| TableSet::of(s as u16).is_subset(known));
        let is_one_row = before.all(|s| self.reads[s].as_ref().is_some_and(is_one));
        let rows_before = if is_one_row { 1.0 } else { 1_000.0 };
        let access = match block {
            Some(block) => self.ordered(slot, &refs, block, only, cx),
            None => self.cheapest(slot, known, &refs, rows_before, cx),
        };
        let table = &self.scope.slots[slot];
        let (lock, wait) = self.locking.of(slot, table);
        let (map, columns) = match &table.source {
            Source::Stored(info) => column_map(info, &used_columns(table)),
            _ => (ColumnMap { types: Arc::new([]), fetched: Box::default() }, Vec::new()),
        };
        let depends_on_values = match &access.path {
            Path::Full { .. } => !access.possible.is_empty(),
            Path::Range { .. } => access.rows > MANY_ROWS,
            Path::Point { .. } | Path::Ref { .. } | Path::FullText { .. } | Path::Rows => false,
        };
        // What is read once into memory serves all rows of the tables before: none of their values may leave parts out.
        let before = if access.hash { TableSet::default() } else { known };
        let parts = self.estimator.parts_of(slot, before, &refs);
        let parts_now = self.estimator.parts_now(slot, parts.as_ref(), cx);
        let rows_now = self.estimator.rows_now(slot, parts_now.as_deref());
        self.reads[slot] = Some(Read {
            parts,
            alias: table.alias.clone(),
            source: table.source.clone(),
            width: table.columns.len(),
            columns,
            map,
            path: access.path,
            lock,
            source_lock: self.scope.planner.sources,
            wait,
            hash: access.hash.then(|| self.estimator.hash_keys(slot, known, &refs)),
            possible: access.possible,
            rows: access.rows.min(rows_now.max(1.0)),
            selectivity: (access.fanout / access.rows.max(0.0001)).min(1.0),
            covering: access.covering,
            depends_on_values,
            making: table.depends.making,
            streamed: false,
        });
    }

    /// The best way to read the first table, with an eye on the order that is wanted.
    fn ordered(
        &self,
        slot: usize,
        conditions: &[&Expr],
        block: &mut BlockPlan,
        only: bool,
        cx: &mut CompileCx<'_>,
    ) -> Access {
        let mut all = self.accesses(slot, TableSet::default(), conditions, cx);
        let Source::Stored(info) = &self.scope.slots[slot].source else {
            return self.cheapest(slot, TableSet::default(), conditions, 1.0, cx);
        };
        let grouped = block.group.is_some();
        let extreme = extreme_of(block, slot).filter(|_| only);
        let windows = window_orders(block, slot);
        let wanted: Vec<(usize, bool)> = match (extreme, self.wanted_order(block, slot)) {
            (Some(extreme), _) => vec![extreme],
            (None, Some(wanted)) if !wanted.is_empty() => wanted,
            _ if !windows.is_empty() => Vec::new(),
            _ => {
                let may = only
                    && conditions.is_empty()
                    && self.locking.of(slot, &self.scope.slots[slot]).0 == ReadLock::None;
                // Beyond that it is better to read the rows as they lie.
                let few = |limit: f64| limit <= (self.estimator.rows(slot) / 10.0).max(100.0);
                if may
                    && self.limit_of(block, cx).is_some_and(few)
                    && let Some(access) = super::fulltext::by_rank_alone(info, slot, block)
                {
                    block.order_done = true;
                    return access;
                }
                let best = min_cost(all, |a| a.cost);
                block.order_done |=
                    super::fulltext::comes_by_rank(&best.path, block, self.estimator.planner.known());
                return best;
            }
        };
        let table = &self.scope.slots[slot];
        let methods = &table.methods;
        let ordering = if grouped { &methods.grouping } else { &methods.sorting };
        let may_order = |index: Option<usize>| match (index, ordering) {
            (Some(index), Some(may)) => extreme.is_some() || may.contains(&index),
            _ => true,
        };
        let order_of = |access: &Access, wanted: &[(usize, bool)]| {
            order_of_path(info, access, wanted).filter(|_| may_order(access.path.index()))
        };
        let used = used_columns(table);
        let n = self.estimator.rows(slot);
        let selectivity: f64 = conditions.iter().map(|c| super::access::selectivity(c)).product();
        for i in 0..info.table.indexes.len() {
            let usable = !info.table.indexes[i].parts.is_empty()
                && info.table.indexes[i].def().order_is_known()
                && table.allowed.as_ref().is_none_or(|a| a.contains(&i));
            let there = all.iter().any(|a| matches!(a.path, Path::Full { index, .. } if index == i));
            if usable && !there && may_order(Some(i)) {
                let mut scan = self.estimator.full_scan(info, i, n, &used);
                scan.fanout = n * selectivity;
                scan.possible = all.first().map(|a| a.possible.clone()).unwrap_or_default();
                all.push(scan);
            }
        }
        // Of the orders that windows want one that there is.
        let is_there = |order: &[(usize, bool)]| all.iter().any(|a| order_of(a, order).is_some());
        let pass = windows.iter().find(|(_, order)| is_there(order));
        let wanted = pass.map_or(wanted, |(_, order)| order.clone());
        if wanted.is_empty() {
            return min_cost(all, |a| a.cost);
        }
        let limit = if only
            && block.windows.is_none()
            && !block.distinct
            && (!grouped || block.order.is_empty())
            && block.having.is_none()
        {
            self.limit_of(block, cx)
        } else {
            None
        };
        let cost = |a: &Access| {
            let sorted = order_of(a, &wanted).is_some();
            if extreme.is_some() {
                // The first row is enough, or all are looked at as they come.
                return if sorted { a.cost / a.fanout.max(1.0) + 1.0 } else { a.cost };
            }
            match (sorted, limit) {
                (true, Some(limit)) if !grouped => a.cost * (limit / a.fanout.max(0.01)).min(1.0) + 1.0,
                (true, _) => a.cost,
                (false, _) if methods.sorted => a.cost * 1e6,
                (false, _) => a.cost + a.fanout * (a.fanout.max(2.0)).log2() * SORT + 10.0,
            }
        };
        let mut best = min_cost(all, cost);
        if let Some(backward) = order_of(&best, &wanted) {
            match &mut best.path {
                Path::Full { reverse, .. } | Path::Ref { reverse, .. } | Path::Range { reverse, .. } => {
                    *reverse = backward;
                }
                Path::Point { .. } | Path::FullText { .. } | Path::Rows => {}
            }
            match &mut block.group {
                Some(group) if extreme.is_some() => group.first_only = true,
                Some(group) => {
                    group.sorted_input = true;
                    let same = |(a, b): (&OrderKey, &OrderKey)| {
                        let column = |k: &OrderKey| match &k.value {
                            SortValue::Item(at) => block.items.get(*at).and_then(column_of),
                            SortValue::Expr(expr) => column_of(expr),
                        };
                        column(a).is_some() && column(a) == column(b) && a.descending == b.descending
                    };
                    block.order_done = block.windows.is_none()
                        && block.order.len() <= group.keys.len()
                        && block.order.iter().zip(&group.keys).all(same);
                }
                None => match (&mut block.windows, pass) {
                    (Some(windows), Some(&(pass, _))) => windows.comes_in_order_of(pass),
                    (Some(_), None) => {}
                    (None, _) => block.order_done = true,
                },
            }
            if let (Some(limit), None) = (limit, &block.group)
                && matches!(best.path, Path::Full { .. })
            {
                best.rows = best.rows.min((limit / selectivity.max(0.001)).max(1.0));
            }
        }
        best
    }

    /// The columns of `slot`, with their directions, that the block's rows are wanted in order of; `None` if it is not an
    /// order of plain columns of that table.
    fn wanted_order(&self, block: &BlockPlan, slot: usize) -> Option<Vec<(usize, bool)>> {
        let keys = match &block.group {
            Some(group) if group.rollup => return None,
            Some(group) => &group.keys,
            None if block.distinct || block.windows.is_some() => return None,
            None => &block.order,
        };
        let params = self.estimator.planner.known();
        let column = |key: &OrderKey| {
            let expr = match &key.value {
                SortValue::Item(at) => block.items.get(*at)?,
                SortValue::Expr(expr) => expr,
            };
            let plain = column_of(expr);
            let (s, c) = plain.or_else(|| generated::column_of_key(&self.indexed, block, key, params))?;
            (s == slot).then_some((c, key.descending))
        };
        keys.iter().map(column).collect()
    }

    /// LIMIT with its offset, if it is known.
    fn limit_of(&self, block: &BlockPlan, cx: &mut CompileCx<'_>) -> Option<f64> {
        let limit = block.limit.as_ref()?;
        let params = self.estimator.planner.params;
        let mut value = |e: &Expr| {
            let known = match e.node() {
                Node::Param(n) => (*n as usize) < params.len(),
                _ => e.constness() == Constness::Const,
            };
            if !known {
                return None;
            }
            let mut eval = EvalCx::new(None, cx.session.state, None);
            match e.eval(&mut eval, &Row::constant(params)) {
                Ok(Value::Int(v)) => Some(v as f64),
                Ok(Value::UInt(v)) => Some(v as f64),
                _ => None,
            }
        };
        let count = value(&limit.count)?;
        let offset = match &limit.offset {
            Some(offset) => value(offset)?,
            None => 0.0,
        };
        Some(count + offset)
    }
}

fn min_cost(all: Vec<Access>, cost: impl Fn(&Access) -> f64) -> Access {
    let best = all.into_iter().min_by(|a, b| cost(a).total_cmp(&cost(b)));
    best.unwrap_or_else(|| unreachable_access(1.0))
}

/// There is always a full scan; this stands for it where the compiler cannot know.
fn unreachable_access(rows: f64) -> Access {
    Access {
        path: Path::Rows,
        rows,
        fanout: rows,
        cost: rows,
        covering: false,
        possible: Vec::new(),
        hash: false,
    }
}

/// Whether a path reads the same rows whatever the rows of other tables are.
fn reads_constant(path: &Path) -> bool {
    match path {
        Path::Full { .. } | Path::FullText { .. } | Path::Rows => true,
        Path::Range { sarg, .. } => {
            let mut constant = true;
            sarg.values(&mut |e| constant &= e.tables().is_empty());
            constant
        }
        Path::Point { key, .. } | Path::Ref { key, .. } => key.iter().all(|k| match &k.value {
            crate::tree::KeyTest::Value { expr, .. } => expr.tables().is_empty(),
            crate::tree::KeyTest::Null => true,
        }),
    }
}

fn total_cost(access: &Access, rows: f64) -> f64 {
    match access.hash {
        true => access.cost + access.rows * HASH + rows * HASH + rows * access.fanout,
        false => access.cost * rows,
    }
}

/// The column of `slot` whose least (or greatest, `true`) value is all that the block asks for.
fn extreme_of(block: &BlockPlan, slot: usize) -> Option<(usize, bool)> {
    use vaquita_parser::ast::AggregateKind;
    let group = block.group.as_ref().filter(|g| g.keys.is_empty() && g.carried.is_empty())?;
    let [aggregate] = &group.aggregates[..] else { return None };
    let descending = match aggregate.kind {
        AggregateKind::Min => false,
        AggregateKind::Max => true,
        _ => return None,
    };
    let (s, column) = column_of(aggregate.args.first()?)?;
    (s == slot).then_some((column, descending))
}

/// The orders that window functions want the block's rows in, where they are of plain columns of `slot`, each with the number of
/// its pass.
fn window_orders(block: &BlockPlan, slot: usize) -> Vec<(usize, Vec<(usize, bool)>)> {
    let windows = block.windows.as_ref().filter(|w| block.group.is_none() && !w.sorted_input);
    let column = |key: &OrderKey| {
        let (s, c) = column_of(key.value.expr()?)?;
        (s == slot).then_some((c, key.descending))
    };
    let passes = windows.iter().flat_map(|windows| windows.passes.iter().enumerate());
    passes.filter_map(|(n, pass)| Some((n, pass.keys().map(column).collect::<Option<Vec<_>>>()?))).collect()
}

/// Whether a path gives rows in an order: backwards (`Some(true)`), forwards, or not.
fn order_of_path(info: &TableInfo, access: &Access, wanted: &[(usize, bool)]) -> Option<bool> {
    let index = match access.path {
        Path::Point { .. } => return Some(false),
        Path::FullText { .. } | Path::Rows => return None,
        _ => &info.table.indexes[access.path.index()?],
    };
    let equal: Vec<usize> = match &access.path {
        Path::Ref { key, .. } => key.iter().map(|k| k.column).collect(),
        _ => Vec::new(),
    };
    let mut parts = index.parts.clone();
    if !index.is_clustered() {
        // Entries of equal keys are in the order of the primary key.
        parts.extend(&info.table.clustered().parts);
    }
    let mut parts = parts.into_iter().peekable();
    let mut direction = None;
    for &(column, descending) in wanted {
        if equal.contains(&column) {
            continue;
        }
        while parts
            .peek()
            .is_some_and(|p| equal.contains(&p.column) && p.prefix_len == 0 && p.column != column)
        {
            parts.next();
        }
        let part = parts.next()?;
        let backwards = descending != part.descending;
        let ty = info.columns[column].sql_type();
        // An index orders ENUM by number and SET by bits, as ORDER BY does.
        if part.column != column || part.prefix_len > 0 || *direction.get_or_insert(backwards) != backwards {
            return None;
        }
        if ty.kind == vaquita_types::Kind::Json {
            return None;
        }
    }
    Some(direction.unwrap_or(false))
}

/// Which columns a cursor fetches, and where expressions find them.
fn column_map(info: &TableInfo, used: &[usize]) -> (ColumnMap, Vec<usize>) {
    let types: Vec<ColumnType> = info.columns.iter().map(|c| c.ty.clone()).collect();
    let mut fetched = vec![ColumnMap::NOT_FETCHED; info.columns.len()];
    for (i, &column) in used.iter().enumerate() {
        fetched[column] = i as u16;
    }
    let map = ColumnMap { types: types.into(), fetched: fetched.into() };
    (map, used.to_vec())
}
