//! What a table asks of its rows beyond the types of its columns: CHECK constraints, compiled from the text that is kept with it.
//!
//! Statements that change rows compile them when they are planned; of a table that has none nothing is made and nothing is asked.

use std::sync::Arc;
use vaquita_catalog::Definition;
use vaquita_expr::scope::unknown_column;
use vaquita_expr::{CompileCx, EvalCx, Expr, Node, Resolved, ResolvedColumn, Scope, compile};
use vaquita_parser::ast;
use vaquita_types::{SqlError, SqlResult};

/// The rules of a table. Their expressions see its row as table 0.
#[derive(Debug)]
pub struct TableRules {
    /// Constraints that are enforced, by name.
    pub checks: Box<[CheckRule]>,
    /// The columns that any of them looks at, in order, each once.
    pub columns: Box<[usize]>,
}

/// A CHECK constraint.
#[derive(Debug)]
pub struct CheckRule {
    /// Name.
    pub name: Box<str>,
    /// It must not be false.
    pub condition: Expr,
    /// The columns that it looks at, in order, each once.
    pub columns: Box<[usize]>,
}

impl TableRules {
    /// The rules of a table; `None`: it has none.
    ///
    /// # Errors
    /// An expression that is not understood any more.
    pub fn of(definition: &Definition, cx: &mut CompileCx<'_>) -> SqlResult<Option<Arc<TableRules>>> {
        if !definition.has_rules() {
            return Ok(None);
        }
        let mut checks = Vec::new();
        for check in definition.checks.iter().filter(|check| check.enforced) {
            let condition = compile_of_table(&check.clause, definition, &check.name, cx)?;
            let columns = columns_of(&condition);
            checks.push(CheckRule { name: check.name.as_str().into(), condition, columns });
        }
        let mut columns: Vec<usize> = checks.iter().flat_map(|check| check.columns.iter().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        Ok(Some(Arc::new(TableRules { checks: checks.into(), columns: columns.into() })))
    }

    /// Whether setting these columns can break a constraint.
    pub fn concern(&self, set: &[usize]) -> bool {
        self.checks.iter().any(|check| check.concerns(set))
    }
}

impl CheckRule {
    /// Whether it looks at one of these columns.
    pub fn concerns(&self, set: &[usize]) -> bool {
        set.iter().any(|column| self.columns.binary_search(column).is_ok())
    }
}

/// Compiles an expression that is kept with a table, whose row is table 0; `whose` stands in messages.
///
/// # Errors
/// Of the expression.
pub fn compile_of_table(
    text: &str,
    definition: &Definition,
    whose: &str,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Expr> {
    // The statement's own parameters and aggregates are none of its business.
    let session = EvalCx::new(cx.session.db, cx.session.state, None);
    let mut own = CompileCx { session, param_types: &[], aggregates: Vec::new(), fold: true };
    let scope = TableColumns { definition, whose };
    let read = vaquita_parser::with_expression(text, |e| compile(e, &scope, &mut own));
    read.unwrap_or_else(|_| {
        Err(SqlError::new(1105, format!("the expression of '{whose}' cannot be read: {text}")))
    })
}

/// The columns of table 0 that an expression looks at, in order, each once.
pub fn columns_of(expr: &Expr) -> Box<[usize]> {
    let mut columns = Vec::new();
    expr.walk(&mut |e| {
        if let Node::Column { column, .. } = e.node() {
            columns.push(usize::from(*column));
        }
    });
    columns.sort_unstable();
    columns.dedup();
    columns.into()
}

/// The columns of one table.
struct TableColumns<'d> {
    definition: &'d Definition,
    whose: &'d str,
}

impl Scope for TableColumns<'_> {
    fn resolve(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Resolved> {
        let column = self.definition.column(&name.name.to_string());
        let column = column.ok_or_else(|| unknown_column(name, self.whose))?;
        let ty = self.definition.columns[column].ty.clone();
        Ok(Resolved::Column(ResolvedColumn { level: 0, table: 0, column: column as u16, ty }))
    }
}
