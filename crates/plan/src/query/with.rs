//! WITH: common table expressions, recursive ones among them.

use super::block::{self, Planned, finish_union, plan_query};
use super::names::BlockScope;
use crate::common::{Common, CommonColumn, CommonRows, CommonTable, Recursing};
use crate::planner::Planner;
use crate::tree::{Body, LastRows, QueryPlan, Recursion};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use vaquita_catalog::same_name;
use vaquita_expr::{CompileCx, TableSet};
use vaquita_parser::ast::{self, Ident, QueryBody, SetOp};
use vaquita_types::{SqlError, SqlResult, SqlType};

/// Plans something in which the tables of WITH can be named. A table that cannot be planned is an error only where it is named.
///
/// # Errors
/// 1066 two of one name; those of `body`.
pub(crate) fn within<'p, 'c, T>(
    planner: &Planner<'p>,
    with: Option<&ast::With<'_>>,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'c>,
    body: impl FnOnce(&mut CompileCx<'c>) -> SqlResult<T>,
) -> SqlResult<T> {
    let Some(with) = with else { return body(cx) };
    let before = planner.common.borrow().len();
    for (i, table) in with.tables.iter().enumerate() {
        if with.tables[..i].iter().any(|other| other.name == table.name) {
            planner.common.borrow_mut().truncate(before);
            return Err(SqlError::new(1066, format!("Not unique table/alias: '{}'", table.name)));
        }
        let rows = match plan_table(planner, table, with.recursive, outer, cx) {
            Ok(planned) => CommonRows::Planned(Rc::new(planned)),
            Err(e) => CommonRows::Failed(e),
        };
        planner.common.borrow_mut().push(Common { name: table.name.to_string(), rows });
    }
    let done = body(cx);
    planner.common.borrow_mut().truncate(before);
    done
}

fn plan_table<'p>(
    planner: &Planner<'p>,
    table: &ast::CommonTable<'_>,
    recursive: bool,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<CommonTable> {
    let aggregates = std::mem::take(&mut cx.aggregates);
    let windows = std::mem::take(&mut cx.windows);
    let uses = planner.uses.take();
    let blocks = planner.blocks.get();
    planner.derived.set(planner.derived.get() + 1);
    let planned = match recursive {
        true => plan_recursive(planner, table, outer, cx),
        false => plan_query(planner, table.query, outer, cx),
    };
    planner.derived.set(planner.derived.get() - 1);
    let mine = planner.uses.replace(uses);
    cx.aggregates = aggregates;
    cx.windows = windows;
    planner.blocks.set(blocks);
    let mut planned = planned?;
    planned.plan.store_items(cx);
    let columns = named_columns(&planned, table.columns)?;
    Ok(CommonTable {
        columns,
        depth: outer.map_or(0, BlockScope::depth),
        outer_tables: planned.outer_tables,
        correlated: planned.correlated,
        uses: mine,
        plan: Arc::new(planned.plan),
    })
}

/// The columns of a derived table or common table expression.
///
/// # Errors
/// 1353 too many or too few names, 1060 two of one name.
pub(crate) fn named_columns(planned: &Planned, names: &[Ident<'_>]) -> SqlResult<Vec<CommonColumn>> {
    let types = &planned.plan.types;
    named_column_count(names, types.len())?;
    let name_of = |i: usize| match names.get(i) {
        Some(name) => name.to_string(),
        None => String::from_utf8_lossy(&planned.columns[i].name).into_owned(),
    };
    let columns: Vec<CommonColumn> =
        types.iter().enumerate().map(|(i, ty)| (name_of(i), ty.clone())).collect();
    check_columns(columns.iter().map(|(name, _)| name.as_str()))?;
    Ok(columns)
}

/// Whether there are as many names as columns, if there are any.
///
/// # Errors
/// 1353.
pub(crate) fn named_column_count(names: &[Ident<'_>], columns: usize) -> SqlResult<()> {
    if names.is_empty() || names.len() == columns {
        return Ok(());
    }
    Err(SqlError::new(
        1353,
        "In definition of view, derived table or common table expression, SELECT list and column names list have \
         different column counts",
    ))
}

/// Whether no two columns have one name.
///
/// # Errors
/// 1060.
pub(crate) fn check_columns<'n>(names: impl Iterator<Item = &'n str>) -> SqlResult<()> {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if seen.iter().any(|other| same_name(other, name)) {
            return Err(SqlError::new(1060, format!("Duplicate column name '{name}'")));
        }
        seen.push(name);
    }
    Ok(())
}

/// A table of WITH RECURSIVE, which may be one that does not refer to itself.
fn plan_recursive<'p>(
    planner: &Planner<'p>,
    table: &ast::CommonTable<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Planned> {
    let name = table.name.to_string();
    let mut query = table.query;
    while let (QueryBody::Nested(inner), None, [], None) =
        (query.body, query.with, query.order_by, query.limit)
    {
        query = inner;
    }
    let mut parts = Vec::new();
    operands(&query.body, false, &mut parts);
    let recursing = Rc::new(Recursing {
        last: Arc::new(LastRows { name: name.clone() }),
        columns: RefCell::default(),
        is_union: parts.len() > 1,
        blocks: planner.blocks.get() + 1,
        references: Cell::new(0),
    });
    within(planner, query.with, outer, cx, |cx| {
        let rows = CommonRows::Recursive(recursing.clone());
        planner.common.borrow_mut().push(Common { name, rows });
        let planned = match parts.len() {
            1 => block::plan_body(planner, query, outer, None, cx),
            _ => plan_parts(planner, table, query, &parts, &recursing, outer, cx),
        };
        planner.common.borrow_mut().pop();
        planned
    })
}

/// The operands of UNION from left to right, and whether duplicates go when one has been added.
fn operands<'a>(body: &QueryBody<'a>, distinct: bool, out: &mut Vec<(QueryBody<'a>, bool)>) {
    match body {
        QueryBody::SetOperation(op) if op.op == SetOp::Union => {
            operands(&op.left, distinct, out);
            operands(&op.right, !op.all, out);
        }
        _ => out.push((*body, distinct)),
    }
}

/// The parts of a union that may refer to itself.
fn plan_parts<'p>(
    planner: &Planner<'p>,
    table: &ast::CommonTable<'_>,
    query: &ast::Query<'_>,
    parts: &[(QueryBody<'_>, bool)],
    recursing: &Recursing,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Planned> {
    let name = &recursing.last.name;
    let (mut first, mut next): (Vec<(Planned, bool)>, Vec<Planned>) = (Vec::new(), Vec::new());
    let mut all_distinct = false;
    for (body, distinct) in parts {
        recursing.references.set(0);
        let part = ast::Query { body: *body, locking: query.locking, ..ast::Query::of_body(*body) };
        let planned = plan_query(planner, &part, outer, cx)?;
        match (recursing.references.get(), next.is_empty()) {
            (0, true) => {
                first.push((planned, *distinct));
                *recursing.columns.borrow_mut() = Some(columns_of(&first, table)?);
            }
            (0, false) => {
                return Err(SqlError::new(
                    3574,
                    format!(
                        "Recursive Common Table Expression '{name}' should have one or more non-recursive query \
                         blocks followed by one or more recursive ones"
                    ),
                ));
            }
            _ => {
                all_distinct |= distinct;
                next.push(planned);
            }
        }
    }
    let inner = ast::Query { locking: query.locking, ..ast::Query::of_body(query.body) };
    if next.is_empty() {
        return finish_union(planner, first, query, outer, cx);
    }
    if !query.order_by.is_empty() {
        return Err(SqlError::unsupported("ORDER BY over UNION in recursive Common Table Expression"));
    }
    let columns = columns_of(&first, table)?;
    let mut first = match first.len() {
        1 => first.remove(0).0,
        _ => finish_union(planner, first, &inner, outer, cx)?,
    };
    if next.iter().any(|part| part.plan.types.len() != columns.len()) {
        return Err(block::different_columns());
    }
    let scope = BlockScope::new(planner, outer, Vec::new());
    let limit = block::plan_limit(query.limit, &scope, cx)?;
    let (mut outer_tables, mut correlated) = (first.outer_tables, first.correlated);
    for part in &next {
        outer_tables = TableSet(outer_tables.0 | part.outer_tables.0);
        correlated |= part.correlated;
    }
    let types: Arc<[SqlType]> = columns.iter().map(|(_, ty)| ty.clone()).collect();
    for (meta, ty) in first.columns.iter_mut().zip(types.iter()) {
        meta.ty = ty.clone();
        meta.flags = ty.protocol_flags();
    }
    let body = Body::Recursive(Box::new(Recursion {
        columns: columns.into_iter().map(|(name, _)| name).collect(),
        first: first.plan,
        next: next.into_iter().map(|part| part.plan).collect(),
        distinct: all_distinct,
        last: recursing.last.clone(),
    }));
    let plan = QueryPlan { body, order: Vec::new(), limit, types, calc_found_rows: false };
    Ok(Planned { plan, columns: first.columns, outer_tables, correlated })
}

/// The columns of a recursive table, which follow from its first parts alone.
fn columns_of(first: &[(Planned, bool)], table: &ast::CommonTable<'_>) -> SqlResult<Vec<CommonColumn>> {
    let Some((planned, _)) = first.first() else { return Ok(Vec::new()) };
    let mut columns = named_columns(planned, table.columns)?;
    for (part, _) in &first[1..] {
        if part.plan.types.len() != columns.len() {
            return Err(block::different_columns());
        }
        for ((_, ty), other) in columns.iter_mut().zip(part.plan.types.iter()) {
            *ty = super::union::common_type(ty, other)?;
        }
    }
    columns.iter_mut().for_each(|(_, ty)| ty.nullable = true);
    Ok(columns)
}

impl Recursing {
    /// The columns, where a part names the table.
    ///
    /// # Errors
    /// 3573, 3574, 3577.
    pub(crate) fn name_it(&self, blocks: u32) -> SqlResult<Vec<CommonColumn>> {
        let name = &self.last.name;
        let Some(columns) = self.columns.borrow().clone() else {
            return Err(match self.is_union {
                false => SqlError::new(
                    3573,
                    format!("Recursive Common Table Expression '{name}' should contain a UNION"),
                ),
                true => SqlError::new(
                    3574,
                    format!(
                        "Recursive Common Table Expression '{name}' should have one or more non-recursive query \
                         blocks followed by one or more recursive ones"
                    ),
                ),
            });
        };
        self.references.set(self.references.get() + 1);
        if self.references.get() > 1 || blocks != self.blocks {
            return Err(SqlError::new(
                3577,
                format!(
                    "In recursive query block of Recursive Common Table Expression '{name}', the recursive table \
                     must be referenced only once, and not in any subquery"
                ),
            ));
        }
        Ok(columns)
    }
}
