//! Derived tables whose block becomes part of the one around it, as MySQL does from 5.7 on: conditions reach the indexes of their
//! tables, and no rows are kept. How that is done is [`super::merged`]'s business; here is which ones, and what they select.
//!
//! Answers stay those of a table that is made first. So what would give other values if it was calculated more or less often, or
//! later, is not merged (RAND(), user variables, stored functions), nor an order that the block around it could not take over.

use super::block::Builder;
use super::hints::BlockHints;
use super::names::{BlockScope, Item, Opened, TABLES_MAX, VIEWS};
use super::with::{check_columns, named_column_count};
use crate::columns::column_of;
use crate::planner::Planner;
use crate::tree::{Source, SourceLock};
use crate::view::{has, is_mergeable};
use vaquita_expr::{CompileCx, Constness, Expr, Seen, TableSet, is_function, selected};
use vaquita_parser::ast::{self, ExprKind, SelectItem, TableRef};
use vaquita_session::privilege::Priv;
use vaquita_types::{Kind, SqlResult};

/// Which derived tables of a block may become part of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Merges {
    /// Any of them.
    any: bool,
    /// Those that calculate columns.
    calculated: bool,
    /// The one that has an order.
    ordered: bool,
    /// NO_MERGE: of all, or of these.
    kept_apart: Option<Vec<String>>,
}

impl Merges {
    /// Those of a SELECT. UPDATE and DELETE see rows of derived tables as they were before.
    pub(crate) fn of(
        planner: &Planner<'_>,
        select: &ast::Select<'_>,
        query: &ast::Query<'_>,
        hints: &BlockHints,
    ) -> Merges {
        let kept_apart = hints.kept_apart();
        let any = planner.sources != SourceLock::Always
            && planner.changing == Priv::NONE
            && planner.names.borrow().is_none()
            && query.locking.is_empty()
            && select.from.iter().any(has_derived);
        if !any {
            return Merges { kept_apart, ..Merges::default() };
        }
        let calls = |item: &SelectItem<'_>| match item {
            SelectItem::Expr { expr, .. } => has(expr, &|kind| {
                matches!(kind, ExprKind::Aggregate(_))
                    || matches!(kind, ExprKind::Call(call) if call.over.is_some())
            }),
            _ => false,
        };
        let ordered = matches!(select.from, [TableRef::Derived(_)])
            && !select.options.distinct
            && select.group_by.is_empty()
            && select.having.is_none()
            && select.windows.is_empty()
            && query.order_by.is_empty()
            && !select.items.iter().any(calls);
        Merges { any, calculated: !select.rollup, ordered, kept_apart }
    }

    /// Those of a block that becomes part of one with these itself.
    pub(crate) fn within(&self) -> Merges {
        Merges { ordered: false, kept_apart: None, ..self.clone() }
    }

    /// Whether a hint wants the rows of a derived table or view to be made first.
    pub(crate) fn is_kept_apart(&self, alias: &str) -> bool {
        let is_named = |names: &Vec<String>| {
            names.is_empty() || names.iter().any(|name| vaquita_catalog::same_name(name, alias))
        };
        self.kept_apart.as_ref().is_some_and(is_named)
    }

    /// The SELECT of a derived table that may be merged.
    pub(crate) fn mergeable<'q>(
        &self,
        derived: &ast::DerivedTable<'q>,
        tables: usize,
    ) -> Option<&'q ast::Select<'q>> {
        let query = derived.query;
        let ast::QueryBody::Select(select) = query.body else { return None };
        let can = self.any
            && !self.is_kept_apart(&derived.alias.to_string())
            && !derived.lateral
            && query.with.is_none()
            && query.locking.is_empty()
            && query.procedure.is_none()
            && query.into.is_none()
            && (query.order_by.is_empty() || self.ordered)
            && is_mergeable(query)
            && !select.options.sql_calc_found_rows
            && select.hints.is_empty()
            && tables + select.from.iter().map(count).sum::<usize>() <= TABLES_MAX
            && select.from.iter().all(is_plain)
            && exprs_of(query, select).all(|e| !has(e, &changes))
            && (self.calculated || select.items.iter().all(is_column));
        can.then_some(select)
    }
}

fn has_derived(table: &TableRef<'_>) -> bool {
    match table {
        TableRef::Derived(_) => true,
        TableRef::Table(_) | TableRef::Json(_) => false,
        TableRef::Join(join) => has_derived(&join.left) || has_derived(&join.right),
        TableRef::List(list) => list.iter().any(has_derived),
    }
}

fn is_column(item: &SelectItem<'_>) -> bool {
    match item {
        SelectItem::Expr { expr, .. } => matches!(expr.kind, ExprKind::Column(_)),
        SelectItem::Wildcard | SelectItem::TableWildcard(_) => true,
    }
}

/// Tables by name and derived ones.
fn is_plain(table: &TableRef<'_>) -> bool {
    match table {
        TableRef::Table(_) => true,
        TableRef::Derived(derived) => !derived.lateral,
        TableRef::Json(_) => false,
        TableRef::Join(join) => is_plain(&join.left) && is_plain(&join.right),
        TableRef::List(list) => list.iter().all(is_plain),
    }
}

/// Tables, those of derived ones too: as many as there may be in the end.
fn count(table: &TableRef<'_>) -> usize {
    match table {
        TableRef::Table(_) | TableRef::Json(_) => 1,
        TableRef::Derived(derived) => match derived.query.body {
            ast::QueryBody::Select(select) => select.from.iter().map(count).sum::<usize>().max(1),
            _ => 1,
        },
        TableRef::Join(join) => count(&join.left) + count(&join.right),
        TableRef::List(list) => list.iter().map(count).sum(),
    }
}

/// What is calculated for the rows of a derived table, subqueries apart.
fn exprs_of<'q>(
    query: &'q ast::Query<'q>,
    select: &'q ast::Select<'q>,
) -> impl Iterator<Item = &'q ast::Expr<'q>> {
    fn conditions<'q>(table: &TableRef<'q>, out: &mut Vec<&'q ast::Expr<'q>>) {
        match table {
            TableRef::Join(join) => {
                conditions(&join.left, out);
                conditions(&join.right, out);
                if let ast::JoinCondition::On(on) = &join.condition {
                    out.push(on);
                }
            }
            TableRef::List(list) => list.iter().for_each(|table| conditions(table, out)),
            TableRef::Table(_) | TableRef::Derived(_) | TableRef::Json(_) => {}
        }
    }
    let mut of_joins = Vec::new();
    select.from.iter().for_each(|table| conditions(table, &mut of_joins));
    let item = |item: &'q SelectItem<'q>| match item {
        SelectItem::Expr { expr, .. } => Some(expr),
        _ => None,
    };
    let items = select.items.iter().filter_map(item);
    items.chain(select.filter).chain(query.order_by.iter().map(|key| &key.expr)).chain(of_joins)
}

/// Functions that give another value with every call, tell of what was done, or do something.
const CHANGING: [&str; 20] = [
    "benchmark",
    "found_rows",
    "get_lock",
    "is_free_lock",
    "is_used_lock",
    "last_insert_id",
    "load_file",
    "master_pos_wait",
    "rand",
    "random_bytes",
    "release_all_locks",
    "release_lock",
    "row_count",
    "sleep",
    "source_pos_wait",
    "sysdate",
    "uuid",
    "uuid_short",
    "wait_for_executed_gtid_set",
    "wait_until_sql_thread_after_gtids",
];

fn changes(kind: &ExprKind<'_>) -> bool {
    match kind {
        ExprKind::UserVar(_) | ExprKind::AssignUserVar { .. } => true,
        ExprKind::Call(call) => {
            let name = call.name.to_string().to_ascii_lowercase();
            call.schema.is_some() || call.taken || !is_function(&name) || CHANGING.contains(&&*name)
        }
        _ => false,
    }
}

/// What a derived table selects, as its columns: names and what they stand for. `None`: something of it needs a row that can be told
/// from a row of NULLs, and no table of it has a column that is never NULL.
///
/// # Errors
/// Names and types; 1353, 1060 of its columns.
pub(crate) fn columns_of(
    builder: &Builder<'_, '_, '_>,
    names: &[ast::Ident<'_>],
    nullable: bool,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Option<Vec<(String, Expr)>>> {
    let scope = builder.scope;
    scope.clause.set("field list");
    let mut columns: Vec<(String, Expr)> = Vec::new();
    builder.each_item(cx, &mut |name, expr, _| {
        let name = String::from_utf8_lossy(name).into_owned();
        // Subqueries that come later may name it.
        scope.items.borrow_mut().push(Item { name: name.clone(), expr: expr.clone() });
        columns.push((name, expr));
    })?;
    scope.items.take();
    named_column_count(names, columns.len())?;
    for (column, name) in columns.iter_mut().zip(names) {
        column.0 = name.to_string();
    }
    check_columns(columns.iter().map(|(name, _)| name.as_str()))?;
    for (_, expr) in &mut columns {
        let taken = std::mem::replace(expr, Expr::null());
        match as_column(scope, taken, nullable, cx) {
            Some(column) => *expr = column,
            None => return Ok(None),
        }
    }
    Ok(Some(columns))
}

fn as_column(
    scope: &BlockScope<'_, '_>,
    value: Expr,
    nullable: bool,
    cx: &mut CompileCx<'_>,
) -> Option<Expr> {
    if column_of(&value).is_some() {
        return Some(value);
    }
    // What is the same for all rows is a column of them nevertheless.
    let needs_row = nullable || value.constness() != Constness::Row;
    let as_it_is = value.ty().kind.is_integer() || matches!(value.ty().kind, Kind::Double);
    if as_it_is && !needs_row {
        return Some(value);
    }
    let row = match needs_row {
        true => Some(row_of(scope)?),
        false => None,
    };
    Some(selected(cx, value, row, nullable, Seen::AsColumn))
}

/// A column that is NULL in rows of NULLs only: of a table that is on no inner side of an outer join here.
pub(crate) fn row_of(scope: &BlockScope<'_, '_>) -> Option<Expr> {
    for (at, slot) in scope.slots.iter().enumerate().filter(|(_, slot)| !slot.nullable.get()) {
        let Source::Stored(info) = &slot.source else { continue };
        let never = |column: &vaquita_catalog::ColumnInfo| !column.is_nullable() && !column.hidden;
        if let Some(column) = info.columns.iter().position(never) {
            return Some(Expr::column(scope.column(at, column)));
        }
    }
    None
}

/// The items of a block that becomes part of another, for its own ORDER BY.
pub(crate) fn keep_items(scope: &BlockScope<'_, '_>, columns: &[(String, Expr)]) {
    let items = columns.iter().map(|(name, expr)| Item { name: name.clone(), expr: expr.clone() });
    *scope.items.borrow_mut() = items.collect();
}

/// Tables that a name means, of a block: those of a merged view or derived table, too.
pub(crate) fn tables_named(opened: &Opened, name: &str) -> Option<TableSet> {
    let at = opened.order.iter().find(|&&at| vaquita_catalog::same_name(opened.named(at).alias, name))?;
    Some(match at.checked_sub(VIEWS) {
        Some(view) => opened.views[view].tables,
        None => TableSet::of(*at as u16),
    })
}
