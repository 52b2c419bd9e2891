//! Names in INSERT: the columns of its table.

use crate::catalog::{TableInfo, same_name};
use crate::exec::SubqueryPlan;
use crate::expr::scope::unknown_column;
use crate::expr::{CompileCx, CompiledSubquery, Constness, Expr, Resolved, ResolvedColumn, Scope};
use crate::plan::Planner;
use crate::plan::block::plan_query;
use std::sync::Arc;
use vaquita_engine::table::DefaultValue;
use vaquita_parser::ast;
use vaquita_types::{SqlResult, TimeZone, Value};

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
            plan: Arc::new(SubqueryPlan::new(planned.plan, planned.correlated)),
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

/// The value of DEFAULT(column).
///
/// # Errors
/// 1364 the column has none.
pub fn default_value(info: &TableInfo, column: usize) -> SqlResult<Value<'static>> {
    let column = &info.columns[column];
    let decode = |stored: &[u8]| column.ty.decode(Some(stored), &TimeZone::UTC).into_owned();
    match &column.default {
        DefaultValue::Stored(bytes) => Ok(decode(bytes)),
        DefaultValue::Null => Ok(Value::Null),
        // What MySQL's row of defaults has there.
        DefaultValue::Now if !column.is_nullable() => Ok(Value::DateTime(vaquita_types::DateTime::default())),
        _ if column.is_nullable() => Ok(Value::Null),
        _ if super::store::has_own_default(column) || column.auto_increment => Ok(decode(&column.implicit)),
        _ => Err(super::store::no_default(&column.name)),
    }
}
