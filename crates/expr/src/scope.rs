//! What the compiler of expressions asks the planner.

use super::aggregate::Aggregate;
use super::node::Expr;
use super::query::{CompiledSubquery, FullText};
use super::window::Windows;
use std::sync::Arc;
use vaquita_parser::ast;
use vaquita_session::{EvalCx, SessionState, Shared};
use vaquita_types::{SqlError, SqlResult, SqlType};

/// A column that a name stands for.
#[derive(Debug, Clone)]
pub struct ResolvedColumn {
    /// How many query blocks out: 0 is the block of the expression itself.
    pub level: u16,
    /// Table slot in that block.
    pub table: u16,
    /// Column position in the table.
    pub column: u16,
    /// Its type; `nullable` also if the table is the inner one of an outer join.
    pub ty: SqlType,
}

/// What a name stands for.
#[derive(Debug, Clone)]
pub enum Resolved {
    /// A column of a table.
    Column(ResolvedColumn),
    /// An item of the select list (an alias in HAVING, GROUP BY, ORDER BY), or a merged column of USING: its expression.
    Expr(Expr),
    /// An item of the select list of a block so many further out.
    Outer(Expr, u16),
}

/// Names of a query block. Implemented by the planner; DML and DDL have simple ones.
pub trait Scope {
    /// What a column name stands for.
    ///
    /// # Errors
    /// 1054 unknown, 1052 ambiguous.
    fn resolve(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Resolved>;

    /// What a column name stands for in an argument of an aggregate, which HAVING gives more columns.
    ///
    /// # Errors
    /// As [`Scope::resolve`].
    fn resolve_argument(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Resolved> {
        self.resolve(name)
    }

    /// How messages call a column that [`Scope::resolve`] gave for a name: `` `d`.`t`.`c` ``.
    fn full_name(&self, column: &ResolvedColumn, written: &ast::ColumnRef<'_>) -> String {
        let _ = column;
        let parts = [written.schema, written.table, Some(written.name)];
        parts.into_iter().flatten().map(|part| format!("`{part}`")).collect::<Vec<_>>().join(".")
    }

    /// Whether aggregate functions may stand here.
    fn allows_aggregates(&self) -> bool {
        false
    }

    /// Why window functions may not stand here; `None`: they may.
    fn window_refusal(&self, function: &str) -> Option<SqlError> {
        Some(super::window::misplaced(function))
    }

    /// Compiles a subquery whose enclosing block this is.
    ///
    /// # Errors
    /// Of planning it.
    fn subquery(&self, query: &ast::Query<'_>, cx: &mut CompileCx<'_>) -> SqlResult<CompiledSubquery> {
        let _ = (query, cx);
        Err(SqlError::unsupported("subquery in this place"))
    }

    /// `DEFAULT(column)`: its default as an expression.
    ///
    /// # Errors
    /// 1364 the column has none, those of [`Scope::resolve`].
    fn default_of(&self, column: &ast::ColumnRef<'_>) -> SqlResult<Expr> {
        let _ = column;
        Err(SqlError::unsupported("DEFAULT() in this place"))
    }

    /// `VALUES(column)`: where the row that could not be inserted has it. `None` outside ON DUPLICATE KEY UPDATE: it is
    /// NULL there.
    ///
    /// # Errors
    /// Those of [`Scope::resolve`].
    fn inserted_value(&self, column: &ast::ColumnRef<'_>) -> SqlResult<Option<ResolvedColumn>> {
        self.resolve(column).map(|_| None)
    }

    /// `MATCH … AGAINST`.
    ///
    /// # Errors
    /// 1210, 1214, 1191 the columns are not those of one index.
    fn full_text(&self, matching: &ast::Match<'_>, cx: &mut CompileCx<'_>) -> SqlResult<Expr> {
        let _ = (matching, cx);
        Err(SqlError::unsupported("MATCH .. AGAINST in this place"))
    }

    /// The FULLTEXT index that makes words of a text: the first one that it is a column of.
    fn words_of(&self, text: &Expr) -> Option<Arc<dyn FullText>> {
        let _ = text;
        None
    }
}

/// A scope without tables.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTables {
    /// Named in error 1054: `field list`, `where clause`, …
    pub clause: &'static str,
}

impl Scope for NoTables {
    fn resolve(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Resolved> {
        Err(unknown_column(name, self.clause))
    }
}

/// Error 1054.
pub fn unknown_column(name: &ast::ColumnRef<'_>, clause: &str) -> SqlError {
    let mut full = String::new();
    for part in [name.schema, name.table].into_iter().flatten() {
        full.push_str(&part.to_string());
        full.push('.');
    }
    SqlError::new(1054, format!("Unknown column '{full}{}' in '{clause}'", name.name))
}

/// What is the same for all expressions of a statement while it is compiled.
#[derive(Debug)]
pub struct CompileCx<'c> {
    /// The session: connection collation, sql_mode; warnings of calculating constants go there. The engine's part of it
    /// belongs to the planner.
    pub session: EvalCx<'c>,
    /// Types of the parameters (`?`), known when the statement is executed; text if unknown.
    pub param_types: &'c [SqlType],
    /// The aggregates of the present query block. A block takes those of the outer one away and puts them back.
    pub aggregates: Vec<Aggregate>,
    /// The same of its window functions.
    pub windows: Windows,
    /// Parts that are constant are calculated at once. Off where the values of session variables may change before the
    /// plan is executed.
    pub fold: bool,
}

impl<'c> CompileCx<'c> {
    /// For a statement without parameters.
    pub fn new(db: Option<&'c Shared>, state: &'c mut SessionState) -> CompileCx<'c> {
        CompileCx {
            session: EvalCx::new(db, state, None),
            param_types: &[],
            aggregates: Vec::new(),
            windows: Windows::default(),
            fold: true,
        }
    }
}
