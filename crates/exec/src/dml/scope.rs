//! Names in INSERT: the columns of its table.

use std::sync::Arc;
use vaquita_catalog::{TableInfo, default_value, same_name};
use vaquita_expr::scope::unknown_column;
use vaquita_expr::{CompileCx, CompiledSubquery, Constness, Expr, Resolved, ResolvedColumn, Scope};
use vaquita_parser::ast;
use vaquita_plan::Planner;
use vaquita_plan::SubqueryPlan;
use vaquita_plan::query::block::plan_query;
use vaquita_types::SqlResult;

/// The columns of one table as table 0; in ON DUPLICATE KEY UPDATE the row that was to come in is table 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableScope<'t, 'p> {
    pub(crate) info: &'t TableInfo,
    /// Whether `VALUES(column)` means something.
    pub(crate) on_duplicate: bool,
    /// Other names of the new row (`AS new (a, b)`).
    pub(crate) alias: Option<&'t ast::RowAlias<'t>>,
    /// Plans subqueries.
    pub(crate) planner: &'t Planner<'p>,
}

impl TableScope<'_, '_> {
    /// Position of a column.
    ///
    /// # Errors
    /// 1054.
    pub(crate) fn position(&self, name: &ast::ColumnRef<'_>) -> SqlResult<usize> {
        let is = |ident: Option<ast::Ident<'_>>, text: &str| ident.is_none_or(|i| i.name == text.as_bytes());
        let column = name.name.to_string();
        let found = match is(name.schema, &self.info.database) && is(name.table, &self.info.name) {
            true => self.info.named_column(&column),
            false => None,
        };
        found.ok_or_else(|| unknown_column(name, "field list"))
    }

    fn resolved(&self, table: u16, column: usize) -> ResolvedColumn {
        let info = &self.info.columns[column];
        ResolvedColumn { level: 0, table, column: column as u16, ty: info.sql_type().clone() }
    }

    /// A column of the new row by the names of `AS new (a, b)`.
    fn of_alias(&self, name: &ast::ColumnRef<'_>) -> Option<usize> {
        let alias = self.alias?;
        if name.table.is_some_and(|t| t != alias.name) || name.schema.is_some() {
            return None;
        }
        match alias.columns.is_empty() {
            true => name.table.and_then(|_| self.info.column(&name.name.to_string())),
            false => alias.columns.iter().position(|c| same_name(&c.to_string(), &name.name.to_string())),
        }
    }
}

impl Scope for TableScope<'_, '_> {
    fn resolve(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Resolved> {
        if let Some(column) = self.of_alias(name) {
            return Ok(Resolved::Column(self.resolved(1, column)));
        }
        let column = self.position(name)?;
        Ok(Resolved::Column(self.resolved(0, column)))
    }

    fn subquery(&self, query: &ast::Query<'_>, cx: &mut CompileCx<'_>) -> SqlResult<CompiledSubquery> {
        let aggregates = std::mem::take(&mut cx.aggregates);
        let planned = plan_query(self.planner, query, None, cx);
        cx.aggregates = aggregates;
        let planned = planned?;
        Ok(CompiledSubquery {
            columns: planned.plan.types.clone(),
            plan: (self.planner.runnable)(Arc::new(SubqueryPlan {
                plan: planned.plan,
                correlated: planned.correlated,
            })),
            outer_tables: planned.outer_tables,
            constness: Constness::Execution,
        })
    }

    fn default_of(&self, column: &ast::ColumnRef<'_>) -> SqlResult<Expr> {
        let column = self.position(column)?;
        let ty = self.info.columns[column].sql_type().clone();
        Ok(Expr::constant(default_value(self.info, column)?, ty))
    }

    fn inserted_value(&self, column: &ast::ColumnRef<'_>) -> SqlResult<Option<ResolvedColumn>> {
        let column = self.position(column)?;
        Ok(self.on_duplicate.then(|| self.resolved(1, column)))
    }
}
