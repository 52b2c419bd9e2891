//! Plans of statements: names, access paths, join order; EXPLAIN.
//!
//! A plan is made once of a syntax tree and owns all it needs: it is kept in caches and run by many sessions at once. It
//! holds the tables it was made for: if a definition has changed, running it fails with the engine's `TableChanged`
//! ([`is_stale`]), and a new plan is to be made.
//!
//! | part | file |
//! |---|---|
//! | names: scopes of query blocks | `names` |
//! | FROM: tables, the tree of joins | `from` |
//! | query blocks and unions | `block`, `group`, `union` |
//! | conditions an index can help with | `sarg` |
//! | access paths and their costs; join order | `access`, `join` |
//! | EXPLAIN | `explain` |
//! | what a block will do, for limits and counters | `work` |
//! | virtual tables | [`source`] |
//! | rows for UPDATE and DELETE | [`matching`] |

mod access;
pub(crate) mod block;
mod covered;
mod explain;
mod from;
mod group;
mod into;
mod join;
pub mod matching;
pub(crate) mod names;
pub(crate) mod sarg;
pub mod source;
mod union;
mod work;

pub(crate) use explain::{explain, explain_columns};
pub use matching::{MatchPlan, MatchRequest, Matched};
pub use source::{VirtualColumn, VirtualTable, Wanted};
pub(crate) use work::Work;

use crate::accounts::Priv;
use crate::catalog::TableInfo;
use crate::database::Database;
use crate::error;
use crate::exec::pool::Pool;
use crate::exec::{Flow, Output, in_statement, run_query};
use crate::expr::{Aggregate, ColumnMap, CompileCx, EvalCx, Expr, Row, converted_len_max};
use crate::sink::{ColumnMeta, ResultSink};
use names::Source;
use sarg::Sarg;
use std::cell::RefCell;
use std::sync::Arc;
use vaquita_engine::WaitPolicy;
use vaquita_engine::text::charset::{self, Charset};
use vaquita_engine::{ReadLock, Session};
use vaquita_parser::ast;
use vaquita_types::compare::CompareAs;
use vaquita_types::{SqlError, SqlResult, SqlType, Value, memory};

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
    /// Whether what was planned follows from them.
    by_values: std::cell::Cell<bool>,
    /// Finds virtual tables.
    pub virtual_tables: source::FindVirtual,
    /// How many derived tables are being planned, one in the other.
    derived: std::cell::Cell<u32>,
    /// Locks on rows that are read to change others.
    sources: SourceLock,
    /// What is asked of a table that is opened to be changed, before it is known to be there.
    changing: Priv,
    /// Tables and columns that were used so far.
    uses: RefCell<Vec<TableUse>>,
}

/// Shared locks on rows that a statement reads to change others by them: the statement's effect stays what it was in the
/// order of the commits. As observed of MySQL 5.6.24.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourceLock {
    /// None: a query.
    #[default]
    None,
    /// Not in transactions that read what is committed, or less: INSERT .. SELECT, REPLACE .. SELECT, CREATE TABLE .. SELECT,
    /// UPDATE of one table.
    AboveReadCommitted,
    /// At every level: INSERT .. VALUES, DELETE, UPDATE of several tables.
    Always,
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
    /// FOR UPDATE.
    pub for_update: bool,
    /// It is read by a derived table, before anything else.
    pub derived: bool,
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
        Planner {
            db,
            session: RefCell::new(session),
            sql,
            params,
            by_values: std::cell::Cell::new(false),
            virtual_tables,
            derived: std::cell::Cell::new(0),
            sources: SourceLock::None,
            changing: Priv::NONE,
            uses: RefCell::default(),
        }
    }

    /// The same for a statement that changes rows.
    #[must_use]
    pub fn locking_sources(self, sources: SourceLock) -> Planner<'p> {
        Planner { sources, ..self }
    }

    /// The same for a statement that does one of these to tables it changes.
    #[must_use]
    pub fn changing(self, changing: Priv) -> Planner<'p> {
        Planner { changing, ..self }
    }

    fn known(&self) -> group::Known<'_> {
        group::Known { values: self.params, compared: &self.by_values }
    }

    /// What was read so far, by subqueries say; it is forgotten.
    pub(crate) fn take_uses(&self) -> Vec<TableUse> {
        self.uses.take()
    }

    fn note_uses(&self, mut uses: Vec<TableUse>) {
        uses.iter_mut().for_each(|u| u.derived = self.derived.get() > 0);
        self.uses.borrow_mut().extend(uses);
    }
}

/// A query expression: rows, and what is done with all of them.
#[derive(Debug)]
pub(crate) struct QueryPlan {
    pub(crate) body: Body,
    /// Order of a union's rows; a block has its own.
    pub(crate) order: Vec<OrderKey>,
    /// Limit of a union's rows; a block has its own.
    pub(crate) limit: Option<LimitPlan>,
    pub(crate) types: Arc<[SqlType]>,
    pub(crate) calc_found_rows: bool,
}

/// Where rows come from.
#[derive(Debug)]
pub(crate) enum Body {
    /// A SELECT.
    Block(Box<BlockPlan>),
    /// Several, one after the other.
    Union { parts: Vec<UnionPart> },
}

/// A part of a union.
#[derive(Debug)]
pub(crate) struct UnionPart {
    pub(crate) plan: QueryPlan,
    /// Duplicates go from what the parts up to this one give.
    pub(crate) distinct: bool,
}

/// LIMIT.
#[derive(Debug)]
pub(crate) struct LimitPlan {
    pub(crate) count: Expr,
    pub(crate) offset: Option<Expr>,
}

/// A key of ORDER BY or GROUP BY.
#[derive(Debug, Clone)]
pub(crate) struct OrderKey {
    pub(crate) value: SortValue,
    pub(crate) descending: bool,
    pub(crate) how: CompareAs,
}

/// What is sorted by.
#[derive(Debug, Clone)]
pub(crate) enum SortValue {
    /// An item of the select list.
    Item(usize),
    /// An expression on the row.
    Expr(Expr),
}

impl SortValue {
    pub(crate) fn expr(&self) -> Option<&Expr> {
        match self {
            SortValue::Item(_) => None,
            SortValue::Expr(expr) => Some(expr),
        }
    }
}

/// GROUP BY and aggregates.
#[derive(Debug)]
pub(crate) struct GroupPlan {
    /// Empty: one group.
    pub(crate) keys: Vec<OrderKey>,
    pub(crate) aggregates: Vec<Aggregate>,
    /// Columns (slot, position) that are taken from the first row of a group.
    pub(crate) carried: Vec<(usize, usize)>,
    pub(crate) rollup: bool,
    /// Items of the select list that are a group key: which.
    pub(crate) rollup_items: Vec<Option<usize>>,
    /// Rows come in the order of the keys.
    pub(crate) sorted_input: bool,
    /// Rows come in the order of what MIN or MAX looks for: the first that is not NULL is enough.
    pub(crate) first_only: bool,
}

/// One SELECT.
#[derive(Debug)]
pub(crate) struct BlockPlan {
    /// One for each table slot.
    pub(crate) reads: Vec<Read>,
    /// The joins.
    pub(crate) steps: Vec<Step>,
    /// Conditions that look at no table: evaluated once.
    pub(crate) const_filter: Vec<Expr>,
    pub(crate) items: Vec<Expr>,
    pub(crate) group: Option<GroupPlan>,
    pub(crate) having: Option<Expr>,
    pub(crate) distinct: bool,
    pub(crate) order: Vec<OrderKey>,
    /// Rows come in that order.
    pub(crate) order_done: bool,
    pub(crate) order_by_null: bool,
    pub(crate) limit: Option<LimitPlan>,
    /// Something in it runs subqueries: rows cannot be looked at in place.
    pub(crate) has_subquery: bool,
    /// The rows of the one table are counted, nothing else is asked.
    pub(crate) count_rows: bool,
    /// Subqueries in its expressions, and whether they refer to rows around them.
    pub(crate) subqueries: Vec<(Arc<crate::exec::SubqueryPlan>, bool)>,
    /// What it will do, estimated.
    pub(crate) work: Work,
    /// What executions use again.
    pub(crate) pool: Pool<crate::exec::Workspace>,
}

impl BlockPlan {
    fn new(
        items: Vec<Expr>,
        group: Option<GroupPlan>,
        having: Option<Expr>,
        distinct: bool,
        order: Vec<OrderKey>,
        limit: Option<LimitPlan>,
    ) -> BlockPlan {
        BlockPlan {
            reads: Vec::new(),
            steps: Vec::new(),
            const_filter: Vec::new(),
            items,
            group,
            having,
            distinct,
            order,
            order_done: false,
            order_by_null: false,
            limit,
            has_subquery: false,
            count_rows: false,
            subqueries: Vec::new(),
            work: Work::default(),
            pool: Pool::default(),
        }
    }
}

/// How a table is read.
#[derive(Debug)]
pub(crate) struct Read {
    /// As the statement calls it.
    pub(crate) alias: String,
    pub(crate) source: Source,
    /// Number of its columns.
    pub(crate) width: usize,
    /// Columns that are fetched, of stored tables.
    pub(crate) columns: Vec<usize>,
    /// Where they are then.
    pub(crate) map: ColumnMap,
    pub(crate) path: Path,
    pub(crate) lock: ReadLock,
    /// Where `lock` is none.
    pub(crate) source_lock: SourceLock,
    pub(crate) wait: WaitPolicy,
    /// Rows are kept in memory, found again by these pairs of inner and outer values: the table is read once.
    pub(crate) hash: Option<Vec<HashKey>>,
    /// Indexes that could have been used, by position in the engine's table.
    pub(crate) possible: Vec<usize>,
    /// Rows that are looked at for one row of the tables before, estimated.
    pub(crate) rows: f64,
    /// Share of them that satisfies the conditions.
    pub(crate) selectivity: f64,
    /// The index has all columns that are looked at.
    pub(crate) covering: bool,
    /// With other values another path might be better.
    pub(crate) depends_on_values: bool,
}

/// A pair of values by which rows of a hash join meet.
#[derive(Debug)]
pub(crate) struct HashKey {
    pub(crate) inner: Expr,
    pub(crate) outer: Expr,
    pub(crate) how: CompareAs,
    /// `<=>`: NULL meets NULL.
    pub(crate) null_safe: bool,
}

/// How rows are found.
#[derive(Debug, Clone)]
pub(crate) enum Path {
    /// All of an index.
    Full { index: usize, reverse: bool },
    /// The one row of a unique key.
    Point { index: usize, key: Vec<KeyValue> },
    /// The rows whose first key fields are these.
    Ref { index: usize, key: Vec<KeyValue>, reverse: bool },
    /// Rows within intervals.
    Range { index: usize, sarg: Sarg, reverse: bool },
    /// Rows of a derived or virtual table.
    Rows,
}

impl Path {
    /// The index it reads.
    pub(crate) fn index(&self) -> Option<usize> {
        match self {
            Path::Full { index, .. }
            | Path::Point { index, .. }
            | Path::Ref { index, .. }
            | Path::Range { index, .. } => Some(*index),
            Path::Rows => None,
        }
    }
}

/// A value that a key field must have.
#[derive(Debug, Clone)]
pub(crate) struct KeyValue {
    /// Column position in the table.
    pub(crate) column: usize,
    /// Bytes of the prefix that the index has, 0 for the whole column.
    pub(crate) prefix_len: u32,
    pub(crate) value: KeyTest,
}

/// What a key field is equal to.
#[derive(Debug, Clone)]
pub(crate) enum KeyTest {
    /// A value, by this comparison; with `null_safe` NULL equals NULL.
    Value { expr: Expr, how: CompareAs, null_safe: bool },
    /// NULL.
    Null,
}

/// A step of a join.
#[derive(Debug)]
pub(crate) enum Step {
    /// For each row of a table that satisfies these conditions; the last `covered` of them are true of all rows within the
    /// path's bounds.
    Table { slot: usize, filter: Vec<Expr>, covered: usize },
    /// For each combination of inner rows, or once with NULLs if there is none.
    Outer {
        /// How inner rows are found.
        steps: Vec<Step>,
        /// Inner tables.
        slots: Vec<usize>,
        /// Conditions of ON that look at outer tables only.
        before: Vec<Expr>,
        /// Conditions of WHERE that are checked then.
        filter: Vec<Expr>,
    },
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
    query: QueryPlan,
    columns: Arc<[ColumnMeta]>,
    uses: Vec<TableUse>,
    tables: Vec<Arc<TableInfo>>,
    into: Option<into::Into>,
    /// Character sets that columns are converted from and to.
    conversions: Vec<Option<(Charset, Charset)>>,
    converts: bool,
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
    let planned = block::plan_query(planner, query, None, cx)?;
    let into = query.into.map(|into| into::Into::new(into, planned.columns.len(), cx)).transpose()?;
    let mut columns = planned.columns;
    let results = cx.state.vars.character_set_results.filter(|_| into.is_none());
    let mut conversions = vec![None; columns.len()];
    if let Some((to, results)) = results.and_then(|id| Some((Charset::of_collation(id)?, id))) {
        for (column, conversion) in columns.iter_mut().zip(&mut conversions) {
            column.convert_names(to);
            let kind = column.ty.kind;
            let text =
                kind.is_string() || matches!(kind, vaquita_types::Kind::Enum | vaquita_types::Kind::Set);
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

impl QueryPlan {
    fn is_reusable(&self) -> bool {
        match &self.body {
            Body::Union { parts } => parts.iter().all(|p| p.plan.is_reusable()),
            Body::Block(block) => {
                block.subqueries.iter().all(|(s, _)| s.plan().is_reusable())
                    && block.reads.iter().all(|read| match &read.source {
                        Source::Derived(plan) => plan.is_reusable(),
                        _ => !read.depends_on_values,
                    })
            }
        }
    }

    /// All stored tables it reads, those of subqueries too.
    fn tables(&self, out: &mut Vec<Arc<TableInfo>>) {
        match &self.body {
            Body::Union { parts } => parts.iter().for_each(|p| p.plan.tables(out)),
            Body::Block(block) => {
                block.subqueries.iter().for_each(|(subquery, _)| subquery.plan().tables(out));
                for read in &block.reads {
                    match &read.source {
                        Source::Stored(info) if !out.iter().any(|t| Arc::ptr_eq(t, info)) => {
                            out.push(info.clone());
                        }
                        Source::Derived(plan) => plan.tables(out),
                        _ => {}
                    }
                }
            }
        }
    }
}

/// Sends rows to a sink.
struct ToSink<'s> {
    sink: &'s mut dyn ResultSink,
    plan: &'s SelectPlan,
    rows: u64,
    /// `sql_select_limit`, of a statement without LIMIT.
    rows_max: u64,
}

impl Output for ToSink<'_> {
    #[inline]
    fn row(&mut self, _: &mut EvalCx<'_>, values: &[Value<'_>]) -> SqlResult<Flow> {
        if self.rows >= self.rows_max {
            return Ok(Flow::Stop);
        }
        self.rows += 1;
        if self.plan.converts {
            self.converted(values)?;
        } else {
            self.sink.row(values)?;
        }
        Ok(if self.sink.is_full() { Flow::Pause } else { Flow::Go })
    }

    fn pause(&mut self, _: &mut EvalCx<'_>) -> SqlResult<()> {
        self.sink.flush()
    }

    fn in_place(&self) -> bool {
        true
    }
}

impl ToSink<'_> {
    fn converted(&mut self, values: &[Value<'_>]) -> SqlResult<()> {
        fn convert<'v>(
            value: &'v Value<'_>,
            conversion: &Option<(Charset, Charset)>,
        ) -> SqlResult<Value<'v>> {
            let (Value::Bytes(text) | Value::Label { text, .. }, Some((from, to))) = (value, conversion)
            else {
                return Ok(value.borrowed());
            };
            if text.is_ascii() && from.is_ascii_based() && to.is_ascii_based() {
                return Ok(value.borrowed());
            }
            let mut out = memory::with_room(converted_len_max(*from, *to, text))?;
            charset::convert(*from, *to, text, &mut out);
            memory::give_back_rest(&mut out);
            Ok(match value {
                Value::Label { number, .. } => Value::Label { number: *number, text: out.into() },
                _ => Value::owned(out),
            })
        }
        let row = values.iter().zip(&self.plan.conversions).map(|(value, to)| convert(value, to));
        let row: Vec<Value<'_>> = row.collect::<SqlResult<_>>()?;
        self.sink.row(&row)
    }
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
    pub(crate) fn query(&self) -> &QueryPlan {
        &self.query
    }

    /// Makes sure that all tables are still as they were.
    fn hold_tables(&self, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        let Some(session) = &mut cx.engine else { return Ok(()) };
        let mut statement = session.statement();
        for info in &self.tables {
            error::of_engine(statement.hold_table(&info.table, vaquita_engine::MdlMode::SharedRead))?;
        }
        Ok(())
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
        self.hold_tables(cx)?;
        in_statement(cx, |cx| self.run_held(cx, params, sink))
    }

    fn run_held(
        &self,
        cx: &mut EvalCx<'_>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Selected> {
        let row = Row::constant(params);
        let count_all = self.query.calc_found_rows;
        if let Some(into) = &self.into {
            let mut out = into.output(&self.query.types, cx)?;
            let found_rows = run_query(&self.query, cx, &row, count_all, &mut out)?;
            let rows = out.finish(cx)?;
            return Ok(Selected {
                rows,
                found_rows: if count_all { found_rows } else { rows },
                stored: true,
            });
        }
        sink.columns(&self.columns)?;
        let limited = match &self.query.body {
            Body::Block(block) => block.limit.is_some(),
            Body::Union { .. } => self.query.limit.is_some(),
        };
        let rows_max = if limited { u64::MAX } else { cx.state.vars.sql_select_limit };
        let mut out = ToSink { sink, plan: self, rows: 0, rows_max };
        let found_rows = run_query(&self.query, cx, &row, count_all, &mut out)?;
        let rows = out.rows;
        Ok(Selected { rows, found_rows: if count_all { found_rows } else { rows }, stored: false })
    }

    /// Calls `each` for every row, without latches held; for INSERT … SELECT and the like.
    ///
    /// # Errors
    /// As [`SelectPlan::run`]; those of `each`.
    pub fn for_each(
        &self,
        cx: &mut EvalCx<'_>,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&mut EvalCx<'_>, &[Value<'_>]) -> SqlResult<()>,
    ) -> SqlResult<()> {
        struct Each<'e>(&'e mut EachRow<'e>);
        impl Output for Each<'_> {
            fn row(&mut self, cx: &mut EvalCx<'_>, values: &[Value<'_>]) -> SqlResult<Flow> {
                (self.0)(cx, values).map(|()| Flow::Go)
            }
        }
        self.hold_tables(cx)?;
        in_statement(cx, |cx| run_query(&self.query, cx, &Row::constant(params), false, &mut Each(each)))?;
        Ok(())
    }
}

type EachRow<'e> = dyn FnMut(&mut EvalCx<'_>, &[Value<'_>]) -> SqlResult<()> + 'e;

/// Whether an error says that a table has changed since the plan was made: another plan is of use. Not so where the
/// transaction's read view is older than the table, which has the same number.
pub fn is_stale(error: &SqlError) -> bool {
    error.code == 1412 && error.message == crate::error::STALE
}
