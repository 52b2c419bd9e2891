//! A planned SELECT: a query and what its rows are for.

use crate::into::Into;
use crate::planner::Planner;
use crate::query::block;
use crate::query::on_duplicate::Updates;
use crate::streams;
use crate::tree::{QueryPlan, TableUse};
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_engine::text::charset::Charset;
use vaquita_expr::CompileCx;
use vaquita_parser::ast;
use vaquita_session::sink::ColumnMeta;
use vaquita_types::SqlResult;

/// A planned SELECT.
#[derive(Debug)]
pub struct SelectPlan {
    /// The query.
    pub query: QueryPlan,
    /// Columns of the result, as the client reads them.
    pub columns: Arc<[ColumnMeta]>,
    /// What it reads, for privilege checks.
    pub uses: Vec<TableUse>,
    /// The tables it reads, as they were when it was planned.
    pub tables: Vec<Arc<TableInfo>>,
    /// Where its rows go, if not to the client.
    pub into: Option<Into>,
    /// Character sets that columns are converted from and to.
    pub conversions: Vec<Option<(Charset, Charset)>>,
    /// Some column is converted.
    pub converts: bool,
}

/// Plans a SELECT or UNION.
///
/// # Errors
/// Names, types, what is not supported.
pub fn plan_select(
    planner: &Planner<'_>,
    query: &ast::Query<'_>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<SelectPlan> {
    let mut plan = plan_select_for(planner, query, None, cx)?;
    streams::mark(&mut plan.query);
    Ok(plan)
}

/// Plans the SELECT or UNION of an INSERT. What the updates look at of its tables is selected behind its own items: rows are longer
/// than the list of columns.
///
/// # Errors
/// As [`plan_select`], those of the updates.
pub fn plan_select_for(
    planner: &Planner<'_>,
    query: &ast::Query<'_>,
    updates: Option<&mut Updates<'_>>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<SelectPlan> {
    let planned = block::plan_query_for(planner, query, None, updates, cx)?;
    let into = query.into.map(|into| Into::new(into, planned.columns.len(), cx)).transpose()?;
    let mut columns = planned.columns;
    let results = cx.session.state.vars.character_set_results.filter(|_| into.is_none());
    let mut conversions = vec![None; columns.len()];
    if let Some((to, results)) = results.and_then(|id| Some((Charset::of_collation(id)?, id))) {
        for (column, conversion) in columns.iter_mut().zip(&mut conversions) {
            column.convert_names(to);
            let kind = column.ty.kind;
            let text =
                kind.is_string() || matches!(kind, vaquita_types::Kind::Enum | vaquita_types::Kind::Set);
            if kind == vaquita_types::Kind::Json {
                // Its text is in utf8mb4, whatever it says of itself.
                let from = Charset::UTF8MB4;
                let ascii_alike = to == from || to == Charset::BINARY;
                *conversion = (!ascii_alike).then_some((from, to));
                continue;
            }
            if !text || column.ty.collation == vaquita_types::sql_type::BINARY {
                continue;
            }
            let from = Charset::of_collation(column.ty.collation);
            *conversion = from.filter(|&from| from != to && to != Charset::BINARY).map(|from| (from, to));
            column.ty.collation = results;
        }
    }
    let mut tables = Vec::new();
    planned.plan.tables(&mut tables);
    Ok(SelectPlan {
        query: planned.plan,
        columns: columns.into(),
        uses: planner.uses.take(),
        tables,
        into,
        converts: conversions.iter().any(Option::is_some),
        conversions,
    })
}

impl SelectPlan {
    /// Columns of the result; none for SELECT … INTO.
    pub fn columns(&self) -> &Arc<[ColumnMeta]> {
        &self.columns
    }

    /// What it reads, for privilege checks.
    pub fn uses(&self) -> &[TableUse] {
        &self.uses
    }

    /// The tables it reads, as they were when it was planned.
    pub fn tables(&self) -> &[Arc<TableInfo>] {
        &self.tables
    }

    /// Whether executions with other values should use it: not if the choice of a path that reads many rows came from the
    /// values of the first one. Planning anew costs little then.
    pub fn is_reusable(&self) -> bool {
        self.query.is_reusable()
    }

    /// Its rows, for INSERT … SELECT and the like.
    pub fn query(&self) -> &QueryPlan {
        &self.query
    }
}
