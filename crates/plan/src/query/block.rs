//! Query blocks and unions: from the syntax tree to a plan.

use super::derived::Merges;
use super::from::{self, conjuncts, join_tree, open_tables};
use super::group;
use super::hints;
use super::join;
use super::merged::{self, MergedView};
use super::names::{Aliases, BlockScope, Item, Opened, Slot};
use super::on_duplicate::Updates;
use super::union;
use super::window;
use super::with;
use crate::columns::column_of;
use crate::planner::Planner;
use crate::tree::{
    BlockPlan, Body, GroupPlan, LimitPlan, OrderKey, QueryPlan, SetOperation, SortValue, Source, UnionPart,
};
use vaquita_catalog::same_name;
use vaquita_engine::{MdlMode, ReadLock, WaitPolicy};
use vaquita_expr::{CompileCx, Expr, Resolved, Scope, TableSet, compile, compile_condition, compile_windows};
use vaquita_parser::ast::{self, ExprKind, Literal, QueryBody, SelectItem, SetOp};
use vaquita_session::sink::ColumnMeta;
use vaquita_session::vars::SessionVars;
use vaquita_types::compare::CompareAs;
use vaquita_types::{Kind, SqlError, SqlResult, SqlType};

/// A planned query with what is known of it besides.
#[derive(Debug)]
pub struct Planned {
    /// The query.
    pub plan: QueryPlan,
    /// Its columns as a client is told.
    pub columns: Vec<ColumnMeta>,
    /// Tables of the enclosing block that it refers to.
    pub outer_tables: TableSet,
    /// It refers to a row of some block around it.
    pub correlated: bool,
}

/// What FOR UPDATE and its kin ask for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Locking<'a> {
    pub(crate) clauses: &'a [ast::Locking<'a>],
    /// Slots of tables whose rows will change.
    pub(crate) targets: &'a [usize],
}

impl Locking<'_> {
    /// The lock of the table of a slot. A view is meant with all the tables it reads.
    pub(crate) fn of(&self, at: usize, slot: &Slot) -> (ReadLock, WaitPolicy) {
        if self.targets.contains(&at) {
            return (ReadLock::Exclusive, WaitPolicy::Wait);
        }
        let alias = slot.within.as_ref().map_or(&slot.alias, |within| within.alias());
        let mine = |l: &&ast::Locking<'_>| {
            l.of.is_empty() || l.of.iter().any(|name| name.name.name == alias.as_bytes())
        };
        match self.clauses.iter().find(mine) {
            None => (ReadLock::None, WaitPolicy::Wait),
            Some(clause) => {
                let lock = match clause.strength {
                    ast::LockStrength::Update => ReadLock::Exclusive,
                    ast::LockStrength::Share => ReadLock::Shared,
                };
                let wait = match clause.wait {
                    ast::LockWait::Wait => WaitPolicy::Wait,
                    ast::LockWait::NoWait => WaitPolicy::NoWait,
                    ast::LockWait::SkipLocked => WaitPolicy::SkipLocked,
                };
                (lock, wait)
            }
        }
    }
}

/// Plans a query expression.
pub fn plan_query<'p>(
    planner: &Planner<'p>,
    query: &ast::Query<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Planned> {
    plan_query_for(planner, query, outer, None, cx)
}

/// The same for an INSERT with what it does about rows that are there.
pub(crate) fn plan_query_for<'p>(
    planner: &Planner<'p>,
    query: &ast::Query<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
    updates: Option<&mut Updates<'_>>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Planned> {
    match query.with {
        None => plan_body(planner, query, outer, updates, cx),
        with => with::within(planner, with, outer, cx, |cx| plan_body(planner, query, outer, updates, cx)),
    }
}

/// The same without WITH.
pub(crate) fn plan_body<'p>(
    planner: &Planner<'p>,
    query: &ast::Query<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
    updates: Option<&mut Updates<'_>>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Planned> {
    let calculates = query.order_by.iter().any(|key| !is_result_column(&key.expr));
    match query.body {
        QueryBody::Select(select) => plan_select_block(planner, select, query, outer, updates, cx),
        QueryBody::Nested(_) | QueryBody::SetOperation(_) | QueryBody::Values(_) if calculates => {
            order_result(planner, query, outer, cx)
        }
        QueryBody::Nested(inner) if query.order_by.is_empty() && query.limit.is_none() => {
            plan_query_for(planner, inner, outer, updates, cx)
        }
        QueryBody::Nested(inner) => {
            let inner = plan_query(planner, inner, outer, cx)?;
            finish_union(planner, vec![(inner, false)], query, outer, cx)
        }
        QueryBody::SetOperation(op) if op.op != SetOp::Union => {
            let whole = plan_set_operation(planner, op, query, outer, cx)?;
            finish_whole(planner, whole, query, outer, cx)
        }
        QueryBody::SetOperation(_) => {
            let mut parts = Vec::new();
            union_parts(planner, &query.body, false, query, outer, cx, &mut parts)?;
            finish_union(planner, parts, query, outer, cx)
        }
        QueryBody::Values(rows) => {
            let whole = plan_values(planner, rows, outer, cx)?;
            finish_whole(planner, whole, query, outer, cx)
        }
        QueryBody::Table(name) => {
            let table = ast::NamedTable { name, partitions: &[], alias: None, hints: &[] };
            let from = [ast::TableRef::Table(&table)];
            let select = ast::Select { from: &from, ..ast::Select::of_items(&[SelectItem::Wildcard]) };
            plan_select_block(planner, &select, query, outer, updates, cx)
        }
    }
}

/// ORDER BY and LIMIT of rows that have none of their own.
fn finish_whole<'p>(
    planner: &Planner<'p>,
    whole: Planned,
    query: &ast::Query<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Planned> {
    match query.order_by.is_empty() && query.limit.is_none() {
        true => Ok(whole),
        false => finish_union(planner, vec![(whole, false)], query, outer, cx),
    }
}

/// INTERSECT, EXCEPT.
fn plan_set_operation<'p>(
    planner: &Planner<'p>,
    op: &ast::SetOperation<'_>,
    query: &ast::Query<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Planned> {
    let mut side = |body: QueryBody<'_>| {
        let part = ast::Query { locking: query.locking, ..ast::Query::of_body(body) };
        plan_query(planner, &part, outer, cx)
    };
    let (left, right) = (side(op.left)?, side(op.right)?);
    let (types, columns) = combined(&[&left, &right])?;
    let outer_tables = left.outer_tables.union(right.outer_tables);
    let correlated = left.correlated || right.correlated;
    let intersect = op.op == SetOp::Intersect;
    let body = SetOperation { intersect, all: op.all, left: left.plan, right: right.plan };
    let plan = QueryPlan {
        body: Body::SetOperation(Box::new(body)),
        order: Vec::new(),
        limit: None,
        types: types.into(),
        calc_found_rows: false,
    };
    Ok(Planned { plan, columns, outer_tables, correlated })
}

/// Error 1222.
pub(crate) fn different_columns() -> SqlError {
    SqlError::new(1222, "The used SELECT statements have a different number of columns")
}

/// The columns of several queries' rows together, in the types that can hold them all.
fn combined(parts: &[&Planned]) -> SqlResult<(Vec<SqlType>, Vec<ColumnMeta>)> {
    let Some((first, others)) = parts.split_first() else { return Ok((Vec::new(), Vec::new())) };
    if others.iter().any(|part| part.columns.len() != first.columns.len()) {
        return Err(different_columns());
    }
    let mut types: Vec<SqlType> = first.plan.types.to_vec();
    for part in others {
        for (ty, other) in types.iter_mut().zip(part.plan.types.iter()) {
            *ty = union::common_type(ty, other)?;
        }
    }
    let mut columns = Vec::with_capacity(types.len());
    for (column, ty) in first.columns.iter().zip(&types) {
        let mut column = ColumnMeta { ty: ty.clone(), ..column.clone() };
        if !others.is_empty() {
            for name in [&mut column.schema, &mut column.table, &mut column.org_table, &mut column.org_name] {
                *name = Box::default();
            }
            column.flags = ty.protocol_flags();
        }
        columns.push(column);
    }
    Ok((types, columns))
}

/// `VALUES ROW(…), …`: columns are called `column_0` and so on.
fn plan_values<'p>(
    planner: &Planner<'p>,
    rows: &[&[ast::Expr<'_>]],
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Planned> {
    let scope = BlockScope::new(planner, outer, Vec::new());
    let width = rows.first().map_or(0, |row| row.len());
    let mut types: Vec<SqlType> = Vec::new();
    let mut list = Vec::with_capacity(rows.len());
    for (i, row) in rows.iter().enumerate() {
        if row.is_empty() {
            return Err(SqlError::new(
                3942,
                "Each row of a VALUES clause must have at least one column, unless when used as source in an \
                 INSERT statement.",
            ));
        }
        if row.len() != width {
            let message = format!("Column count doesn't match value count at row {}", i + 1);
            return Err(SqlError::new(1136, message));
        }
        let row: Vec<Expr> = row.iter().map(|e| compile(e, &scope, cx)).collect::<SqlResult<_>>()?;
        match types.is_empty() {
            true => types = row.iter().map(|e| e.ty().clone()).collect(),
            false => {
                for (ty, e) in types.iter_mut().zip(&row) {
                    *ty = union::common_type(ty, e.ty())?;
                }
            }
        }
        list.push(row.into());
    }
    let column = |(i, ty): (usize, &SqlType)| ColumnMeta {
        schema: Box::default(),
        table: Box::default(),
        org_table: Box::default(),
        name: format!("column_{i}").into_bytes().into(),
        org_name: Box::default(),
        ty: ty.clone(),
        flags: ty.protocol_flags(),
    };
    let columns = types.iter().enumerate().map(column).collect();
    let plan = QueryPlan {
        body: Body::Values { rows: list, subqueries: scope.subqueries.take() },
        order: Vec::new(),
        limit: None,
        types: types.into(),
        calc_found_rows: false,
    };
    Ok(Planned { plan, columns, outer_tables: scope.outer_tables.get(), correlated: scope.correlated.get() })
}

/// The parts of a union from left to right; `distinct`: duplicates go when this part has been added.
fn union_parts<'p>(
    planner: &Planner<'p>,
    body: &QueryBody<'_>,
    distinct: bool,
    query: &ast::Query<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
    parts: &mut Vec<(Planned, bool)>,
) -> SqlResult<()> {
    if let QueryBody::SetOperation(op) = body
        && op.op == SetOp::Union
    {
        union_parts(planner, &op.left, false, query, outer, cx, parts)?;
        return union_parts(planner, &op.right, !op.all, query, outer, cx, parts);
    }
    let part = ast::Query { locking: query.locking, span: query.span, ..ast::Query::of_body(*body) };
    parts.push((plan_query(planner, &part, outer, cx)?, distinct));
    Ok(())
}

pub(crate) fn finish_union<'p>(
    planner: &Planner<'p>,
    parts: Vec<(Planned, bool)>,
    query: &ast::Query<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Planned> {
    let all: Vec<&Planned> = parts.iter().map(|(part, _)| part).collect();
    let (types, columns) = combined(&all)?;
    let mut order = Vec::new();
    for key in query.order_by {
        let at = union_order_column(&columns, &key.expr)?;
        order.push(OrderKey {
            value: SortValue::Item(at),
            descending: key.descending,
            how: order_of(&types[at]),
        });
    }
    let scope = BlockScope::new(planner, outer, Vec::new());
    let limit = plan_limit(query.limit, &scope, cx)?;
    let (mut outer_tables, mut correlated) = (TableSet::default(), false);
    let mut list = Vec::new();
    // Duplicates of everything before go at the last distinct part.
    for (part, distinct) in parts {
        outer_tables = outer_tables.union(part.outer_tables);
        correlated |= part.correlated;
        list.push(UnionPart { plan: part.plan, distinct });
    }
    let calc_found_rows = list[0].plan.calc_found_rows;
    let body = Body::Union { parts: list };
    let plan = QueryPlan { body, order, limit, types: types.into(), calc_found_rows };
    Ok(Planned { plan, columns, outer_tables, correlated })
}

/// ORDER BY of a union: a column's position or name.
fn union_order_column(columns: &[ColumnMeta], expr: &ast::Expr<'_>) -> SqlResult<usize> {
    let unknown = |name: &str| SqlError::new(1054, format!("Unknown column '{name}' in 'order clause'"));
    if let Some(n) = position(expr) {
        return match n.checked_sub(1).map(|n| n as usize).filter(|&n| n < columns.len()) {
            Some(at) => Ok(at),
            None => Err(unknown(&n.to_string())),
        };
    }
    match expr.kind {
        ExprKind::Column(name) if name.table.is_none() => {
            let wanted = name.name.to_string();
            let found = columns.iter().position(|c| same_name(&String::from_utf8_lossy(&c.name), &wanted));
            found.ok_or_else(|| unknown(&wanted))
        }
        ExprKind::Column(name) => Err(SqlError::new(
            1250,
            format!(
                "Table '{}' from one of the SELECTs cannot be used in field list",
                name.table.unwrap_or_default()
            ),
        )),
        _ => Err(SqlError::unsupported("expressions in ORDER BY of a recursive table")),
    }
}

/// Whether ORDER BY of a union names a column of the result, and calculates nothing.
fn is_result_column(expr: &ast::Expr<'_>) -> bool {
    position(expr).is_some() || matches!(expr.kind, ExprKind::Column(_))
}

/// Rows of a union that are ordered by expressions: those of a table without a name, which is the union.
fn order_result<'p>(
    planner: &Planner<'p>,
    query: &ast::Query<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Planned> {
    let rows = ast::Query { with: None, order_by: &[], limit: None, ..*query };
    let table = ast::DerivedTable { query: &rows, alias: ast::Ident::new(b""), columns: &[], lateral: false };
    let from = [ast::TableRef::Derived(&table)];
    let options = ast::SelectOptions { sql_calc_found_rows: counts_all(&query.body), ..Default::default() };
    let select = ast::Select { from: &from, options, ..ast::Select::of_items(&[SelectItem::Wildcard]) };
    let ordered = ast::Query { with: None, locking: &[], body: QueryBody::Select(&select), ..*query };
    let mut planned = plan_body(planner, &ordered, outer, None, cx)?;
    for column in &mut planned.columns {
        let ColumnMeta { schema, table, org_table, org_name, .. } = column;
        [schema, table, org_table, org_name].into_iter().for_each(|name| *name = Box::default());
    }
    Ok(planned)
}

/// Whether the first block of a union says SQL_CALC_FOUND_ROWS.
fn counts_all(body: &QueryBody<'_>) -> bool {
    match body {
        QueryBody::Select(select) => select.options.sql_calc_found_rows,
        QueryBody::Nested(query) => counts_all(&query.body),
        QueryBody::SetOperation(op) => counts_all(&op.left),
        QueryBody::Values(_) | QueryBody::Table(_) => false,
    }
}

/// A whole number that stands for a column's position.
fn position(expr: &ast::Expr<'_>) -> Option<u64> {
    match expr.kind {
        ExprKind::Literal(Literal::Int(n)) | ExprKind::Lifted { literal: Literal::Int(n), .. } => Some(n),
        _ => None,
    }
}

/// As what values of a type are sorted and grouped.
pub fn order_of(ty: &SqlType) -> CompareAs {
    match ty.kind {
        Kind::Decimal => CompareAs::Decimal,
        Kind::Float | Kind::Double => CompareAs::Double,
        Kind::Date => CompareAs::Date,
        Kind::DateTime | Kind::Timestamp => CompareAs::DateTime,
        Kind::Time => CompareAs::Time,
        Kind::Json => CompareAs::Json,
        kind if kind.is_string() || kind == Kind::Geometry => CompareAs::Text(ty.collation),
        _ => CompareAs::Int,
    }
}

pub(crate) fn plan_limit(
    limit: Option<&ast::Limit<'_>>,
    scope: &dyn Scope,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Option<LimitPlan>> {
    let Some(limit) = limit else { return Ok(None) };
    let count = compile(&limit.count, scope, cx)?;
    let offset = limit.offset.as_ref().map(|offset| compile(offset, scope, cx)).transpose()?;
    Ok(Some(LimitPlan { count, offset }))
}

fn plan_select_block<'p>(
    planner: &Planner<'p>,
    select: &ast::Select<'_>,
    query: &ast::Query<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
    updates: Option<&mut Updates<'_>>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Planned> {
    if query.procedure.is_some() {
        return Err(SqlError::unsupported("PROCEDURE ANALYSE"));
    }
    planner.blocks.set(planner.blocks.get() + 1);
    let hints = hints::enter(planner, select.hints, cx);
    let merges = Merges::of(planner, select, query, &hints);
    let mut opened = Opened { merges, ..Opened::default() };
    open_tables(planner, select.from, outer, cx, MdlMode::SharedRead, &mut opened)?;
    let straight_join = hints.apply(&mut opened, cx) || select.options.straight_join;
    let scope = BlockScope::of(planner, outer, opened);
    let builder = Builder { planner, scope: &scope, select, straight_join };
    let locking = Locking { clauses: query.locking, targets: &[] };
    let (block, columns) = builder.build(query.order_by, query.limit, locking, updates, cx)?;
    check_recursive(&scope, (select, straight_join), query, &block)?;
    planner.blocks.set(planner.blocks.get() - 1);
    if planner.blocks.get() == 0 {
        hints::left_over(planner, cx);
    }
    let types: Vec<SqlType> = block.items.iter().map(|item| item.ty().clone()).collect();
    planner.note_uses(from::uses_of(&scope, query.locking));
    planner.uses.borrow_mut().extend(scope.views.iter().flat_map(|view| view.reads.iter().cloned()));
    let plan = QueryPlan {
        body: Body::Block(Box::new(block)),
        order: Vec::new(),
        limit: None,
        types: types.into(),
        calc_found_rows: select.options.sql_calc_found_rows,
    };
    Ok(Planned { plan, columns, outer_tables: scope.outer_tables.get(), correlated: scope.correlated.get() })
}

/// What may not be in a block that reads the rows that came last in a recursion.
///
/// # Errors
/// 3575, 3576; 1235 clauses for the whole of them.
fn check_recursive(
    scope: &BlockScope<'_, '_>,
    (select, straight_join): (&ast::Select<'_>, bool),
    query: &ast::Query<'_>,
    block: &BlockPlan,
) -> SqlResult<()> {
    let recursive = scope.slots.iter().enumerate().find_map(|(i, slot)| match &slot.source {
        Source::Recursive(last) => Some((i, slot, &last.name)),
        _ => None,
    });
    let Some((at, slot, name)) = recursive else { return Ok(()) };
    if block.group.is_some() || block.windows.is_some() {
        return Err(SqlError::new(
            3575,
            format!(
                "Recursive Common Table Expression '{name}' can contain neither aggregation nor window functions \
                 in recursive query block"
            ),
        ));
    }
    if slot.nullable.get() || straight_join && at > 0 {
        return Err(SqlError::new(
            3576,
            format!(
                "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must \
                 neither be in the right argument of a LEFT JOIN, nor be forced to be non-first with join order \
                 hints"
            ),
        ));
    }
    if select.options.distinct || !query.order_by.is_empty() || query.limit.is_some() {
        return Err(SqlError::unsupported(
            "ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression",
        ));
    }
    Ok(())
}

/// What an item of the select list names.
pub(crate) struct NamedItem {
    /// The table and the column, if it is one.
    pub(crate) at: Option<(usize, usize)>,
    /// By which name it can be referred to, if not by that of the result's column.
    pub(crate) name: Option<String>,
}

/// Builds the plan of one SELECT.
pub(crate) struct Builder<'b, 's, 'p> {
    pub(crate) planner: &'b Planner<'p>,
    pub(crate) scope: &'b BlockScope<'s, 'p>,
    /// The node of the syntax tree itself: what names stand for is noted by its place.
    pub(crate) select: &'b ast::Select<'b>,
    /// Tables are joined in their order: by the statement's word, or by a hint.
    pub(crate) straight_join: bool,
}

impl Builder<'_, '_, '_> {
    fn build(
        &self,
        order_by: &[ast::OrderItem<'_>],
        limit: Option<&ast::Limit<'_>>,
        locking: Locking<'_>,
        updates: Option<&mut Updates<'_>>,
        cx: &mut CompileCx<'_>,
    ) -> SqlResult<(BlockPlan, Vec<ColumnMeta>)> {
        let (scope, select) = (self.scope, self.select);
        cx.aggregates = Vec::new();
        let tree = join_tree(scope, select.from, cx)?;
        let filter = self.filter(cx)?;
        scope.clause.set("field list");
        scope.aggregates.set(true);
        cx.windows = vaquita_expr::window::Windows::default();
        compile_windows(select.windows, scope, cx)?;
        scope.windows.set(true);
        let mut columns = self.items(cx)?;
        scope.windows.set(false);
        scope.aggregates.set(false);
        let keys = self.group_keys(cx)?;
        let having = self.having(&keys, cx)?;
        let mut order = self.order(order_by, cx)?;
        let limit = plan_limit(limit, scope, cx)?;
        let aggregates = std::mem::take(&mut cx.aggregates);
        if order_by.is_empty() && aggregates.is_empty() && keys.is_empty() && !select.options.distinct {
            order = merged::order_of_only(scope);
        }
        let windows = window::plan(std::mem::take(&mut cx.windows).calls);
        if let Some(updates) = updates
            && aggregates.is_empty()
            && keys.is_empty()
            && !select.options.distinct
        {
            scope.clause.set("field list");
            for (slot, column) in updates.compile_within(scope, cx)? {
                let expr = compile_column(scope, slot, column, cx)?;
                scope.items.borrow_mut().push(Item { name: String::new(), expr });
            }
        }
        let items: Vec<Expr> = scope.items.borrow().iter().map(|i| i.expr.clone()).collect();
        let group = if aggregates.is_empty() && keys.is_empty() {
            None
        } else {
            let all = group::Checked {
                items: &items,
                having: having.as_ref(),
                order: &order,
                keys: &keys,
                windows: windows.as_deref(),
            };
            if cx.session.state.vars.sql_mode.has(vaquita_types::sql_mode::SqlMode::ONLY_FULL_GROUP_BY) {
                group::check(scope, &all, &tree, &filter, self.planner.known())?;
            }
            let carried = group::carried(scope, &all);
            let key_of = |item: &Expr| {
                let mut keys = keys.iter().filter_map(|k| k.value.expr());
                keys.position(|k| group::same(k, item, self.planner.known()))
            };
            let (mut rollup_items, mut rollup_order) = (Vec::new(), Vec::new());
            if select.rollup {
                rollup_items = items.iter().map(key_of).collect();
                rollup_order = order.iter().map(|k| k.value.expr().and_then(key_of)).collect();
            }
            for (column, _) in columns.iter_mut().zip(&rollup_items).filter(|(_, key)| key.is_some()) {
                column.ty.nullable = true;
                column.flags &= !vaquita_catalog::flag::NOT_NULL;
            }
            let groupings = group::groupings(&aggregates, select.rollup, key_of)?;
            Some(GroupPlan {
                rollup_items,
                rollup_order,
                groupings,
                keys,
                aggregates,
                carried,
                rollup: select.rollup,
                sorted_input: false,
                first_only: false,
            })
        };
        // What is sorted after grouping is sorted by its groups already.
        if let Some(group) = &group
            && windows.is_none()
            && !group.rollup
            && order.is_empty()
            && order_by.is_empty()
        {
            let keys = group.keys.iter();
            order = keys
                .map(|k| OrderKey { value: k.value.clone(), descending: k.descending, how: k.how })
                .collect();
        }
        if self.planner.by_values.get() {
            cx.session.state.noted.for_once();
        }
        let distinct = select.options.distinct;
        let mut block =
            BlockPlan::new(self.planner.db.next_plan(), items, group, having, distinct, order, limit);
        block.windows = windows;
        block.order_by_null = order_by.len() == 1 && is_null(&order_by[0].expr);
        join::plan(self.planner, scope, tree, filter, locking, self.straight_join, &mut block, cx)?;
        Ok((block, columns))
    }

    pub(crate) fn filter(&self, cx: &mut CompileCx<'_>) -> SqlResult<Vec<Expr>> {
        self.scope.clause.set("where clause");
        match self.select.filter {
            Some(filter) => Ok(conjuncts(compile_condition(filter, self.scope, cx)?)),
            None => Ok(Vec::new()),
        }
    }

    /// Compiles the select list; the items are left in the scope.
    fn items(&self, cx: &mut CompileCx<'_>) -> SqlResult<Vec<ColumnMeta>> {
        let scope = self.scope;
        let mut columns = Vec::new();
        *scope.coming.borrow_mut() = self.aliases();
        self.each_item(cx, &mut |name, expr, named| {
            columns.push(self.meta(&expr, name, named.at));
            let name = named.name.unwrap_or_else(|| String::from_utf8_lossy(name).into_owned());
            scope.items.borrow_mut().push(Item { name, expr });
        })?;
        scope.coming.take();
        if let Some(names) = &mut *self.planner.names.borrow_mut() {
            let names_of = columns.iter().map(|c| String::from_utf8_lossy(&c.name).into_owned());
            names.note_items(self.select, names_of.collect());
        }
        Ok(columns)
    }

    /// The aliases of the select list.
    fn aliases(&self) -> Vec<String> {
        let alias = |item: &SelectItem<'_>| match item {
            SelectItem::Expr { alias, .. } => alias.map(|alias| alias.to_string()),
            SelectItem::Wildcard | SelectItem::TableWildcard(_) => None,
        };
        self.select.items.iter().filter_map(alias).collect()
    }

    /// Compiles the select list, item by item: what a column is called, and what it is.
    pub(crate) fn each_item(
        &self,
        cx: &mut CompileCx<'_>,
        item: &mut dyn FnMut(&[u8], Expr, NamedItem),
    ) -> SqlResult<()> {
        let scope = self.scope;
        for (at, of) in self.select.items.iter().enumerate() {
            match of {
                SelectItem::Wildcard => {
                    let visible = scope.visible.borrow().clone();
                    if visible.is_empty() {
                        return Err(SqlError::new(1096, "No tables used"));
                    }
                    for v in visible.into_iter().filter(|v| !scope.named(v.slot).leaves_out(v.column)) {
                        self.star_column((at, v.slot, v.column), item, cx)?;
                    }
                }
                SelectItem::TableWildcard(name) => {
                    let is = |&at: &usize| scope.is_meant(at, name.schema, name.name);
                    let Some(slot) = scope.order.iter().copied().find(is) else {
                        return Err(SqlError::new(1051, format!("Unknown table '{}'", name.name)));
                    };
                    let named = scope.named(slot);
                    for column in named.shown().filter(|&column| !named.leaves_out(column)) {
                        self.star_column((at, slot, column), item, cx)?;
                    }
                }
                SelectItem::Expr { expr, alias, span } => {
                    let compiled = compile(expr, scope, cx)?;
                    if let vaquita_expr::Node::Row(_) = compiled.node() {
                        return Err(SqlError::new(1241, "Operand should contain 1 column(s)"));
                    }
                    let name: Vec<u8> = match alias {
                        Some(alias) => alias.name.to_vec(),
                        None => default_name(
                            own_name(expr, &compiled),
                            *span,
                            self.planner.sql,
                            &cx.session.state.vars,
                        ),
                    };
                    let own = match (alias, &expr.kind) {
                        (None, ExprKind::Column(column)) => Some(column.name.to_string()),
                        _ => None,
                    };
                    item(&name, compiled, NamedItem { at: self.named_by(expr), name: own });
                }
            }
        }
        Ok(())
    }

    /// A column that `*` means: which item it is, table and column.
    fn star_column(
        &self,
        (at, slot, column): (usize, usize, usize),
        item: &mut dyn FnMut(&[u8], Expr, NamedItem),
        cx: &mut CompileCx<'_>,
    ) -> SqlResult<()> {
        if let Some(names) = &mut *self.planner.names.borrow_mut() {
            names.note_star(self.select, at, self.scope.written(slot, column));
        }
        let expr = compile_column(self.scope, slot, column, cx)?;
        let name = &self.scope.named(slot).columns[column].name;
        item(name.as_bytes(), expr, NamedItem { at: Some((slot, column)), name: Some(name.clone()) });
        Ok(())
    }

    /// The column of a merged view that an item names.
    fn named_by(&self, item: &ast::Expr<'_>) -> Option<(usize, usize)> {
        match item.kind {
            ExprKind::Column(name) if !self.scope.views.is_empty() => self.scope.find(name).ok().flatten(),
            _ => None,
        }
    }

    /// `named`: where the statement has the column from.
    fn meta(&self, expr: &Expr, name: &[u8], named: Option<(usize, usize)>) -> ColumnMeta {
        let mut meta = ColumnMeta {
            schema: Box::default(),
            table: Box::default(),
            org_table: Box::default(),
            name: name.into(),
            org_name: Box::default(),
            ty: expr.ty().clone(),
            flags: expr.result_flags(),
        };
        let base = column_of(expr);
        let named = named.filter(|(at, _)| self.scope.view(*at).is_some());
        if let Some((at, column)) = named.or(base) {
            let table = self.scope.named(at);
            // What a view calculates is in no database.
            meta.schema = base.map_or(&b""[..], |_| table.database.as_bytes()).into();
            meta.table = table.alias.as_bytes().into();
            meta.org_table = table.name.as_bytes().into();
            meta.org_name = table.columns[column].name.as_bytes().into();
        }
        let of_derived = named.is_some_and(|(at, _)| self.scope.view(at).is_some_and(MergedView::is_derived));
        if let Some((slot, column)) = base.filter(|_| !of_derived) {
            let slot = &self.scope.slots[slot];
            if let crate::tree::Source::Stored(info) = &slot.source {
                meta.flags = info.columns[column].flags;
                if slot.nullable.get() {
                    meta.flags &= !vaquita_catalog::flag::NOT_NULL;
                }
            }
        }
        meta
    }

    fn group_keys(&self, cx: &mut CompileCx<'_>) -> SqlResult<Vec<OrderKey>> {
        let scope = self.scope;
        scope.clause.set("group statement");
        scope.aliases.set(Aliases::Last);
        let mut keys = Vec::new();
        for key in self.select.group_by {
            let (expr, name) = match position(&key.expr) {
                Some(n) => {
                    let items = scope.items.borrow();
                    let item = n.checked_sub(1).and_then(|n| items.get(n as usize)).ok_or_else(|| {
                        SqlError::new(1054, format!("Unknown column '{n}' in 'group statement'"))
                    })?;
                    (item.expr.clone(), item.name.clone())
                }
                None => {
                    let expr = self.group_key(&key.expr, cx)?;
                    (expr, cx.session.state.vars.client_text(key.expr.span.of(self.planner.sql)).into_owned())
                }
            };
            if expr.info().has_aggregate {
                return Err(SqlError::new(1056, format!("Can't group on '{name}'")));
            }
            let how = order_of(expr.ty());
            keys.push(OrderKey { value: SortValue::Expr(expr), descending: key.descending, how });
        }
        scope.aliases.set(Aliases::Ignored);
        self.warn_of_doubts(cx);
        Ok(keys)
    }

    /// An expression of GROUP BY. A column that a select alias hides is meant, with a warning.
    fn group_key(&self, key: &ast::Expr<'_>, cx: &mut CompileCx<'_>) -> SqlResult<Expr> {
        let scope = self.scope;
        let ExprKind::Column(name) = key.kind else { return compile(key, scope, cx) };
        let item = scope.find_item(name)?;
        let expr = compile(key, scope, cx)?;
        if let (Some(item), Some(column)) = (item, column_of(&expr))
            && column_of(&item) != Some(column)
        {
            scope.note_doubt(name);
        }
        Ok(expr)
    }

    /// Warns of names that may mean two things.
    fn warn_of_doubts(&self, cx: &mut CompileCx<'_>) {
        for doubt in self.scope.doubtful.take() {
            // Every execution warns: it is planned anew.
            cx.session.state.noted.for_once();
            cx.session.state.warnings.push(vaquita_types::Level::Warning, doubt.code, doubt.message);
        }
    }

    fn having(&self, keys: &[OrderKey], cx: &mut CompileCx<'_>) -> SqlResult<Option<Expr>> {
        let Some(having) = self.select.having else { return Ok(None) };
        let scope = self.scope;
        scope.clause.set("having clause");
        scope.aliases.set(Aliases::First);
        scope.aggregates.set(true);
        *scope.nameable.borrow_mut() = Some(self.selected_or_grouped(keys));
        *scope.grouped.borrow_mut() = keys.iter().filter_map(|key| column_of(key.value.expr()?)).collect();
        let compiled = compile_condition(having, scope, cx);
        scope.nameable.take();
        scope.grouped.take();
        scope.aggregates.set(false);
        scope.aliases.set(Aliases::Ignored);
        self.warn_of_doubts(cx);
        compiled.map(Some)
    }

    fn selected_or_grouped(&self, keys: &[OrderKey]) -> Vec<(usize, usize)> {
        let items = self.scope.items.borrow();
        let grouped = keys.iter().filter_map(|key| column_of(key.value.expr()?));
        items.iter().filter_map(|item| column_of(&item.expr)).chain(grouped).collect()
    }

    fn order(&self, order_by: &[ast::OrderItem<'_>], cx: &mut CompileCx<'_>) -> SqlResult<Vec<OrderKey>> {
        let scope = self.scope;
        scope.clause.set("order clause");
        scope.aggregates.set(true);
        scope.windows.set(true);
        let mut keys = Vec::new();
        for key in order_by {
            if is_null(&key.expr) {
                continue;
            }
            let value = self.order_value(&key.expr, cx)?;
            let ty = match &value {
                SortValue::Item(at) => scope.items.borrow()[*at].expr.ty().clone(),
                SortValue::Expr(expr) => expr.ty().clone(),
            };
            keys.push(OrderKey { value, descending: key.descending, how: order_of(&ty) });
        }
        scope.windows.set(false);
        scope.aggregates.set(false);
        Ok(keys)
    }

    pub(crate) fn order_value(&self, expr: &ast::Expr<'_>, cx: &mut CompileCx<'_>) -> SqlResult<SortValue> {
        let scope = self.scope;
        if let Some(n) = position(expr) {
            let at = n.checked_sub(1).map(|n| n as usize).filter(|&n| n < scope.items.borrow().len());
            return at
                .map(SortValue::Item)
                .ok_or_else(|| SqlError::new(1054, format!("Unknown column '{n}' in 'order clause'")));
        }
        let plain = matches!(expr.kind, ExprKind::Column(_));
        scope.aliases.set(if plain { Aliases::First } else { Aliases::Last });
        if let ExprKind::Column(name) = expr.kind
            && name.table.is_none()
        {
            let wanted = name.name.to_string();
            let items = scope.items.borrow();
            let mut found = items.iter().enumerate().filter(|(_, i)| same_name(&i.name, &wanted));
            if let (Some((at, item)), None) = (found.next(), found.next()) {
                scope.note_item(name, &item.expr, false);
                scope.aliases.set(Aliases::Ignored);
                return Ok(SortValue::Item(at));
            }
        }
        let compiled = compile(expr, scope, cx);
        scope.aliases.set(Aliases::Ignored);
        let compiled = compiled?;
        let same = |i: &Item| group::same(&i.expr, &compiled, self.planner.known());
        let item = scope.items.borrow().iter().position(same);
        Ok(item.map_or(SortValue::Expr(compiled), SortValue::Item))
    }
}

/// The expression that names a column: within an escape of ODBC (`{x 'a'}`) what has a name of its own, unless the escape has
/// made a date or time of it.
fn own_name<'e>(expr: &'e ast::Expr<'e>, compiled: &Expr) -> &'e ast::Expr<'e> {
    let ExprKind::OdbcEscape { value, .. } = &expr.kind else { return expr };
    match value.kind {
        ExprKind::Literal(Literal::String(_)) | ExprKind::Lifted { literal: Literal::String(_), .. } => {
            if compiled.ty().kind.is_string() {
                value
            } else {
                expr
            }
        }
        ExprKind::Column(_)
        | ExprKind::Literal(Literal::Null | Literal::Int(_) | Literal::Decimal(_) | Literal::Float(_)) => {
            value
        }
        _ => expr,
    }
}

fn is_null(expr: &ast::Expr<'_>) -> bool {
    matches!(expr.kind, ExprKind::Literal(Literal::Null) | ExprKind::Lifted { literal: Literal::Null, .. })
}

/// A column as an expression.
pub(crate) fn compile_column(
    scope: &BlockScope<'_, '_>,
    slot: usize,
    column: usize,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Expr> {
    /// A scope in which every name is one column.
    struct One<'o, 's, 'p>(&'o BlockScope<'s, 'p>, usize, usize);
    impl Scope for One<'_, '_, '_> {
        fn resolve(&self, _: &ast::ColumnRef<'_>) -> SqlResult<Resolved> {
            self.0.resolved(self.1, self.2, 0)
        }
    }
    let name = ast::ColumnRef { schema: None, table: None, name: ast::Ident::new(b"") };
    let expr = ast::Expr { kind: ExprKind::Column(&name), span: ast::Span::default() };
    compile(&expr, &One(scope, slot, column), cx)
}

/// What a column without alias is called: its text; strings without their quotes.
fn default_name(expr: &ast::Expr<'_>, span: ast::Span, sql: &[u8], vars: &SessionVars) -> Vec<u8> {
    let name = match &expr.kind {
        ExprKind::Column(column) => return cut(&column.name.to_string()),
        _ if is_null(expr) => b"NULL".to_vec(),
        ExprKind::Literal(Literal::String(text))
        | ExprKind::Lifted { literal: Literal::String(text), .. } => {
            let mode = vaquita_session::vars::for_parser(vars.sql_mode);
            let mode = vaquita_session::vars::parse_mode(mode, vars.character_set_client);
            vaquita_parser::first_of_strings(expr.span.of(sql), mode).unwrap_or_else(|| text.to_vec())
        }
        // `_charset'text'`, not `_charset x'74'`.
        ExprKind::Literal(Literal::Introduced { value: text, .. })
        | ExprKind::Lifted { literal: Literal::Introduced { value: text, .. }, .. }
            if !matches!(
                expr.span.of(sql).split(|b| *b == b'\'').next().and_then(|head| head.last()),
                Some(b'x' | b'X' | b'b' | b'B')
            ) =>
        {
            text.to_vec()
        }
        _ => {
            let text = span.of(sql);
            let is_part = text.first() == Some(&b'{') && sql.get(expr.span.start as usize) != Some(&b'{');
            let text = if text.is_empty() || is_part { expr.span.of(sql) } else { text };
            text.trim_ascii().to_vec()
        }
    };
    cut(&vars.client_text(&name))
}

/// As much of a name as names may have.
fn cut(name: &str) -> Vec<u8> {
    match name.char_indices().nth(NAME_MAX) {
        Some((end, _)) => name.as_bytes()[..end].to_vec(),
        None => name.as_bytes().to_vec(),
    }
}

/// Most characters of a name that is made of an expression's text.
const NAME_MAX: usize = 256;
