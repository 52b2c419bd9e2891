//! Plans of statements: names, access paths, join order; EXPLAIN.
//!
//! A plan is made once of a syntax tree and owns all it needs: it is kept in caches and run by many sessions at once. It
//! holds the tables it was made for: if a definition has changed, running it fails with the engine's `TableChanged`
//! ([`is_stale`]), and a new plan is to be made.
//!
//! | part | file |
//! |---|---|
//! | virtual tables | [`source`] |
//! | rows for UPDATE and DELETE | [`matching`] |

pub mod matching;
pub mod source;

pub use matching::{MatchPlan, MatchRequest, Matched};
pub use source::{VirtualColumn, VirtualTable, Wanted};

use crate::catalog::TableInfo;
use crate::database::Database;
use crate::expr::{CompileCx, EvalCx};
use crate::sink::{ColumnMeta, ResultSink};
use std::cell::RefCell;
use std::sync::Arc;
use vaquita_engine::Session;
use vaquita_parser::ast;
use vaquita_types::{SqlError, SqlResult, Value};

/// What planning needs besides what compiling expressions needs.
#[derive(Debug)]
pub struct Planner<'p> {
    /// The folder.
    pub db: &'p Database,
    /// The session, in a statement: tables are opened by it.
    pub session: RefCell<&'p mut Session>,
    /// The statement's text: columns without alias are named by it.
    pub sql: &'p [u8],
    /// Values of the parameters of the first execution, if they are known: to estimate ranges.
    pub params: &'p [Value<'p>],
    /// Finds virtual tables.
    pub virtual_tables: source::FindVirtual,
    /// Tables and columns that were used so far.
    uses: RefCell<Vec<TableUse>>,
}

/// A table that a statement reads, for privilege checks.
#[derive(Debug, Clone)]
pub struct TableUse {
    /// Database.
    pub database: String,
    /// Name.
    pub table: String,
    /// Names of the columns that are read; empty for `COUNT(*)` and the like.
    pub columns: Vec<String>,
    /// FOR UPDATE, LOCK IN SHARE MODE.
    pub locked: bool,
}

impl<'p> Planner<'p> {
    /// For one statement.
    pub fn new(
        db: &'p Database,
        session: &'p mut Session,
        sql: &'p [u8],
        params: &'p [Value<'p>],
        virtual_tables: source::FindVirtual,
    ) -> Planner<'p> {
        Planner { db, session: RefCell::new(session), sql, params, virtual_tables, uses: RefCell::default() }
    }
}

/// How a SELECT ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Selected {
    /// Rows that went to the sink (or to variables or a file).
    pub rows: u64,
    /// FOUND_ROWS(): those without LIMIT, under SQL_CALC_FOUND_ROWS.
    pub found_rows: u64,
    /// The result was not sent: it went to variables or a file.
    pub stored: bool,
}

/// A planned SELECT.
#[derive(Debug)]
pub struct SelectPlan {
    columns: Arc<[ColumnMeta]>,
    uses: Vec<TableUse>,
    tables: Vec<Arc<TableInfo>>,
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
    let _ = (planner, query, cx);
    Err(SqlError::unsupported("SELECT"))
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

    /// Runs it in a started statement of `cx.engine`: calls `sink.columns` and `sink.row`, not `sink.end`.
    ///
    /// # Errors
    /// Of the statement; 1412 if a table has changed ([`is_stale`]): nothing was sent then.
    pub fn run(
        &self,
        cx: &mut EvalCx<'_>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Selected> {
        let _ = (cx, params, sink);
        Err(SqlError::unsupported("SELECT"))
    }
}

/// Whether an error says that a table has changed since the plan was made.
pub fn is_stale(error: &SqlError) -> bool {
    error.code == 1412
}

/// Columns of EXPLAIN.
pub(crate) fn explain_columns(_explain: &ast::Explain<'_>) -> Arc<[ColumnMeta]> {
    Arc::from([])
}

/// EXPLAIN, in a started statement of the engine.
///
/// # Errors
/// Those of planning what is explained.
pub(crate) fn explain(
    _cx: &mut crate::statement::StmtCx<'_>,
    _explain: &ast::Explain<'_>,
    _sql: &[u8],
    _sink: &mut dyn ResultSink,
) -> SqlResult<crate::statement::Outcome> {
    Err(SqlError::unsupported("EXPLAIN"))
}
