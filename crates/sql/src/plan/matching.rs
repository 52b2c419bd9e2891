//! The reading part of UPDATE and DELETE: the rows that match, locked, each with its key.

use super::Planner;
use crate::catalog::TableInfo;
use crate::expr::{CompileCx, EvalCx, Expr, Row};
use std::sync::Arc;
use vaquita_engine::RowKey;
use vaquita_parser::ast;
use vaquita_types::{SqlError, SqlResult, Value};

/// What is to be matched.
#[derive(Debug, Clone, Copy)]
pub struct MatchRequest<'a> {
    /// Tables of UPDATE or FROM.
    pub from: &'a [ast::TableRef<'a>],
    /// WHERE.
    pub filter: Option<&'a ast::Expr<'a>>,
    /// ORDER BY.
    pub order_by: &'a [ast::OrderItem<'a>],
    /// LIMIT.
    pub limit: Option<&'a ast::Limit<'a>>,
    /// Tables whose rows are deleted, by name or alias; empty: the one table of `from`, or an UPDATE.
    pub delete_from: &'a [ast::ObjectName<'a>],
    /// SET of an UPDATE; empty for DELETE.
    pub assignments: &'a [ast::Assignment<'a>],
}

/// A table whose rows change.
#[derive(Debug, Clone)]
pub struct TargetTable {
    /// Slot of its row in [`Matched::row`].
    pub slot: u16,
    /// The table.
    pub info: Arc<TableInfo>,
}

/// An assignment of an UPDATE.
#[derive(Debug, Clone)]
pub struct MatchedAssignment {
    /// Position in [`MatchPlan::targets`].
    pub target: usize,
    /// Column position in the table.
    pub column: usize,
    /// The value; `None`: DEFAULT.
    pub value: Option<Expr>,
}

/// A planned reading part. Rows are locked exclusively where they are targets.
#[derive(Debug)]
pub struct MatchPlan {
    /// Tables whose rows change.
    pub targets: Vec<TargetTable>,
    /// Assignments in order. The columns assigned are among the fetched ones.
    pub assignments: Vec<MatchedAssignment>,
}

/// A row that matches.
#[derive(Debug)]
pub struct Matched<'r> {
    /// For every target its row's key; `None`: the NULL row of an outer join.
    pub keys: &'r [Option<RowKey>],
    /// The row, for the assignments' expressions. A copy, or in a cursor's batch: no latch is held.
    pub row: &'r Row<'r>,
}

/// Plans the reading part of an UPDATE or DELETE. Target tables are opened under SharedWrite metadata locks.
///
/// # Errors
/// Names, types; 1093 a target is read in a subquery, 1221 ORDER BY or LIMIT with several tables.
pub fn plan_match(
    planner: &Planner<'_>,
    request: &MatchRequest<'_>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<MatchPlan> {
    let _ = (planner, request, cx);
    Err(SqlError::unsupported("UPDATE and DELETE"))
}

impl MatchPlan {
    /// Calls `each` for every matching row, with `cx.engine` free to be used for changes. If the changes could lead the
    /// scan to meet a row again, all rows are collected first. A row of a target may match several times in a join;
    /// `each` is told each time.
    ///
    /// # Errors
    /// Of reading, those of `each`; 1412 if a table has changed.
    pub fn run(
        &self,
        cx: &mut EvalCx<'_>,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&mut EvalCx<'_>, &Matched<'_>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let _ = (cx, params, each);
        Err(SqlError::unsupported("UPDATE and DELETE"))
    }
}
