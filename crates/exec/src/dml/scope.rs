//! Names in INSERT: the columns of its table.

use vaquita_catalog::{TableInfo, default_value};
use vaquita_expr::scope::unknown_column;
use vaquita_expr::{CompileCx, CompiledSubquery, Expr, Resolved, ResolvedColumn, Scope};
use vaquita_parser::ast;
use vaquita_plan::{InsertView, Planner, plan_subquery};
use vaquita_types::SqlResult;

/// The columns of one table, as table 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableScope<'t, 'p> {
    pub(crate) info: &'t TableInfo,
    /// The view that the statement names instead.
    pub(crate) view: Option<&'t InsertView>,
    /// Plans subqueries.
    pub(crate) planner: &'t Planner<'p>,
}

impl TableScope<'_, '_> {
    /// Position of a column.
    ///
    /// # Errors
    /// 1054.
    pub(crate) fn position(&self, name: &ast::ColumnRef<'_>) -> SqlResult<usize> {
        if let Some(view) = self.view {
            return view.position(name);
        }
        let is = |ident: Option<ast::Ident<'_>>, text: &str| ident.is_none_or(|i| i.name == text.as_bytes());
        let column = name.name.to_string();
        let found = match is(name.schema, &self.info.definition.database)
            && is(name.table, &self.info.definition.name)
        {
            true => self.info.named_column(&column),
            false => None,
        };
        found.ok_or_else(|| unknown_column(name, "field list"))
    }
}

impl Scope for TableScope<'_, '_> {
    fn resolve(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Resolved> {
        let column = self.position(name)?;
        let ty = self.info.columns[column].sql_type().clone();
        Ok(Resolved::Column(ResolvedColumn { level: 0, table: 0, column: column as u16, ty }))
    }

    fn subquery(&self, query: &ast::Query<'_>, cx: &mut CompileCx<'_>) -> SqlResult<CompiledSubquery> {
        plan_subquery(self.planner, query, None, cx).map(|(_, compiled)| compiled)
    }

    fn default_of(&self, column: &ast::ColumnRef<'_>) -> SqlResult<Expr> {
        let column = self.position(column)?;
        let ty = self.info.columns[column].sql_type().clone();
        Ok(Expr::constant(default_value(self.info, column)?, ty))
    }

    fn inserted_value(&self, column: &ast::ColumnRef<'_>) -> SqlResult<Option<ResolvedColumn>> {
        self.position(column).map(|_| None)
    }
}
