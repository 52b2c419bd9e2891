//! What a plan is: data alone, made once, kept in caches and run by many sessions at once. It owns all it needs, and holds the
//! tables it was made for.

use crate::json_table::JsonTable;
use crate::partition::ReadParts;
use crate::sarg::Sarg;
use crate::source::VirtualTable;
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_engine::{ReadLock, WaitPolicy};
use vaquita_expr::window::{Frame, WindowKind};
use vaquita_expr::{Aggregate, ColumnMap, CompileCx, Expr};
use vaquita_session::privilege::{Through, ViewId};
use vaquita_types::SqlType;
use vaquita_types::compare::CompareAs;

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
    /// The statement calls it by another name.
    pub renamed: bool,
    /// Names of the columns that are read; empty for `COUNT(*)` and the like.
    pub columns: Vec<String>,
    /// FOR UPDATE, LOCK IN SHARE MODE.
    pub locked: bool,
    /// FOR UPDATE.
    pub for_update: bool,
    /// It is read by a derived table, before anything else.
    pub derived: bool,
    /// It is a view.
    pub view: Option<Arc<ViewId>>,
    /// A view reads it.
    pub through: Option<Arc<Through>>,
    /// It is a temporary table of the session.
    pub own: bool,
}

/// A query expression: rows, and what is done with all of them.
#[derive(Debug)]
pub struct QueryPlan {
    /// Where its rows come from.
    pub body: Body,
    /// Order of a union's rows; a block has its own.
    pub order: Vec<OrderKey>,
    /// Limit of a union's rows; a block has its own.
    pub limit: Option<LimitPlan>,
    /// Types of its columns.
    pub types: Arc<[SqlType]>,
    /// SQL_CALC_FOUND_ROWS.
    pub calc_found_rows: bool,
}

/// Where rows come from.
#[derive(Debug)]
pub enum Body {
    /// A SELECT.
    Block(Box<BlockPlan>),
    /// Several, one after the other.
    Union {
        /// Two or more.
        parts: Vec<UnionPart>,
    },
    /// VALUES.
    Values {
        /// The rows.
        rows: Vec<Box<[Expr]>>,
        /// Subqueries in them, and whether they refer to rows around them.
        subqueries: Vec<(Arc<SubqueryPlan>, bool)>,
    },
    /// INTERSECT, EXCEPT.
    SetOperation(Box<SetOperation>),
    /// A common table expression that refers to itself.
    Recursive(Box<Recursion>),
}

/// INTERSECT or EXCEPT.
#[derive(Debug)]
pub struct SetOperation {
    /// Rows of the left side stay that are on the right side too (INTERSECT), or that are not (EXCEPT).
    pub intersect: bool,
    /// ALL: every row on the right side counts for one on the left.
    pub all: bool,
    /// The left side.
    pub left: QueryPlan,
    /// The right side.
    pub right: QueryPlan,
}

/// A recursive common table expression.
#[derive(Debug)]
pub struct Recursion {
    /// Names of its columns, for messages.
    pub columns: Vec<String>,
    /// Its first rows.
    pub first: QueryPlan,
    /// What becomes of the rows that came last.
    pub next: Vec<QueryPlan>,
    /// A row comes once only.
    pub distinct: bool,
    /// Stands for the rows that came last.
    pub last: Arc<LastRows>,
}

/// Stands for the rows that came last in a recursion; told apart by its address.
#[derive(Debug)]
pub struct LastRows {
    /// Name of the table.
    pub name: String,
}

/// A part of a union.
#[derive(Debug)]
pub struct UnionPart {
    /// The part.
    pub plan: QueryPlan,
    /// Duplicates go from what the parts up to this one give.
    pub distinct: bool,
}

/// LIMIT.
#[derive(Debug)]
pub struct LimitPlan {
    /// How many rows.
    pub count: Expr,
    /// How many are left out before.
    pub offset: Option<Expr>,
}

/// A key of ORDER BY or GROUP BY.
#[derive(Debug, Clone)]
pub struct OrderKey {
    /// What is sorted by.
    pub value: SortValue,
    /// The greatest first.
    pub descending: bool,
    /// As what values are compared.
    pub how: CompareAs,
}

/// What is sorted by.
#[derive(Debug, Clone)]
pub enum SortValue {
    /// An item of the select list.
    Item(usize),
    /// An expression on the row.
    Expr(Expr),
}

impl SortValue {
    /// The expression, if it is not an item of the select list.
    pub fn expr(&self) -> Option<&Expr> {
        match self {
            SortValue::Item(_) => None,
            SortValue::Expr(expr) => Some(expr),
        }
    }
}

/// GROUP BY and aggregates.
#[derive(Debug)]
pub struct GroupPlan {
    /// Empty: one group.
    pub keys: Vec<OrderKey>,
    /// The aggregates.
    pub aggregates: Vec<Aggregate>,
    /// Columns (slot, position) that are taken from the first row of a group.
    pub carried: Vec<(usize, usize)>,
    /// WITH ROLLUP.
    pub rollup: bool,
    /// Items of the select list that are a group key: which. Empty without WITH ROLLUP, as the next two are.
    pub rollup_items: Vec<Option<usize>>,
    /// Keys of ORDER BY that are a group key: which.
    pub rollup_order: Vec<Option<usize>>,
    /// The aggregates that are GROUPING(), with the group keys they ask about.
    pub groupings: Vec<(usize, Vec<usize>)>,
    /// Rows come in the order of the keys.
    pub sorted_input: bool,
    /// Rows come in the order of what MIN or MAX looks for: the first that is not NULL is enough.
    pub first_only: bool,
}

/// Window functions of a block. All they look at is evaluated once for each row, before rows are sorted.
#[derive(Debug)]
pub struct WindowsPlan {
    /// What is evaluated for each row.
    pub inputs: Vec<Expr>,
    /// The functions.
    pub calls: Vec<WindowFunction>,
    /// Rows are sorted so many times, and functions calculated of those that are in the order they want.
    pub passes: Vec<WindowPass>,
    /// Rows come in the order of the first pass.
    pub sorted_input: bool,
}

/// Window functions whose rows are in one order.
#[derive(Debug)]
pub struct WindowPass {
    /// PARTITION BY.
    pub partition: Vec<OrderKey>,
    /// ORDER BY.
    pub order: Vec<OrderKey>,
    /// Positions among the functions.
    pub calls: Vec<usize>,
}

/// A window function.
#[derive(Debug)]
pub struct WindowFunction {
    /// What it does. The arguments of an aggregate are columns of a table whose columns are the inputs.
    pub kind: WindowKind,
    /// Positions of its arguments among the inputs.
    pub args: Vec<usize>,
    /// n of NTILE, LAG, LEAD, NTH_VALUE.
    pub count: Option<Expr>,
    /// The rows it looks at; of an interval the expression is a column of the inputs. `None`: those up to the peers of the
    /// present one if there is an order, else all.
    pub frame: Option<Frame>,
    /// Position of the ORDER BY among the inputs, if the frame is one of values; whether it is descending.
    pub by: Option<(usize, bool)>,
    /// Rows have an order.
    pub ordered: bool,
}

/// The work of a block.
#[derive(Debug, Clone, Copy, Default)]
pub struct Work {
    /// Combinations of rows that are looked at, estimated. Rows that are found once by a unique key are none of them, nor are
    /// those of virtual tables, of which nothing is known.
    pub examines: f64,
    /// Rows that it gives, estimated.
    pub gives: f64,
    /// Its first table is read whole: `Select_scan`.
    pub scans: bool,
    /// A range of its first table is read: `Select_range`.
    pub ranges: bool,
    /// Tables behind the first that are read whole: `Select_full_join`.
    pub full_joins: u64,
    /// Tables behind the first of which a range is read: `Select_full_range_join`.
    pub range_joins: u64,
    /// Its rows may be more than one, so that sorting them is something to do.
    pub sorts: bool,
    /// What is sorted are the rows of one table, found by an index: `Sort_range`, not `Sort_scan`.
    pub sorts_range: bool,
}

/// One SELECT.
#[derive(Debug)]
pub struct BlockPlan {
    /// One for each table slot.
    pub reads: Vec<Read>,
    /// The joins.
    pub steps: Vec<Step>,
    /// Conditions that look at no table: evaluated once.
    pub const_filter: Vec<Expr>,
    /// The select list.
    pub items: Vec<Expr>,
    /// GROUP BY and aggregates, if there are any.
    pub group: Option<GroupPlan>,
    /// HAVING.
    pub having: Option<Expr>,
    /// Window functions, if there are any.
    pub windows: Option<Box<WindowsPlan>>,
    /// DISTINCT.
    pub distinct: bool,
    /// ORDER BY.
    pub order: Vec<OrderKey>,
    /// Rows come in that order.
    pub order_done: bool,
    /// ORDER BY NULL: groups need no order.
    pub order_by_null: bool,
    /// LIMIT.
    pub limit: Option<LimitPlan>,
    /// Something in it runs subqueries: rows cannot be looked at in place.
    pub has_subquery: bool,
    /// The rows of the one table are counted, nothing else is asked.
    pub count_rows: bool,
    /// What the full-text search finds, which is the way to the one table, is counted, nothing else is asked.
    pub count_found: bool,
    /// Subqueries in its expressions, and whether they refer to rows around them.
    pub subqueries: Vec<(Arc<SubqueryPlan>, bool)>,
    /// What it will do, estimated.
    pub work: Work,
    /// Its number: what an execution leaves to the next one is found by it.
    pub id: u64,
}

impl BlockPlan {
    /// Whether reading all of an index of a table is called an index scan: another index than that of the rows, or for its order.
    pub fn scans_by_index(&self, info: &TableInfo, index: usize) -> bool {
        let ordered = self.order_done || self.group.as_ref().is_some_and(|group| group.sorted_input);
        index > 0 || ordered && !info.table.indexes[0].parts.is_empty()
    }

    /// One without tables so far.
    pub fn new(
        id: u64,
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
            windows: None,
            distinct,
            order,
            order_done: false,
            order_by_null: false,
            limit,
            has_subquery: false,
            count_rows: false,
            count_found: false,
            subqueries: Vec::new(),
            work: Work::default(),
            id,
        }
    }
}

/// Where the rows of a table come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// The engine.
    Stored(Arc<TableInfo>),
    /// A query: a derived table.
    Derived(Arc<QueryPlan>),
    /// Made when asked.
    Virtual(Arc<dyn VirtualTable>),
    /// The rows that came last in the recursion around it.
    Recursive(Arc<LastRows>),
    /// What a document has.
    Json(Arc<JsonTable>),
}

/// How often the rows of a derived table are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Making {
    /// The row that it may refer to: that of so many blocks out. 0 is LATERAL: it is made for each row of the tables before.
    pub level: u16,
    /// Once in a statement, for all that name it.
    pub once: bool,
}

impl Default for Making {
    fn default() -> Making {
        Making { level: 1, once: false }
    }
}

/// How a table is read.
#[derive(Debug)]
pub struct Read {
    /// As the statement calls it.
    pub alias: String,
    /// Which parts of a partitioned table are read; `None` of others.
    pub parts: Option<ReadParts>,
    /// Where its rows come from.
    pub source: Source,
    /// Number of its columns.
    pub width: usize,
    /// Columns that are fetched, of stored tables.
    pub columns: Vec<usize>,
    /// Where they are then.
    pub map: ColumnMap,
    /// How its rows are found.
    pub path: Path,
    /// Locks on its rows.
    pub lock: ReadLock,
    /// Where `lock` is none.
    pub source_lock: SourceLock,
    /// What happens where they are locked already.
    pub wait: WaitPolicy,
    /// Rows are kept in memory, found again by these pairs of inner and outer values: the table is read once.
    pub hash: Option<Vec<HashKey>>,
    /// Indexes that could have been used, by position in the engine's table.
    pub possible: Vec<usize>,
    /// Rows that are looked at for one row of the tables before, estimated.
    pub rows: f64,
    /// Share of them that satisfies the conditions.
    pub selectivity: f64,
    /// The index has all columns that are looked at.
    pub covering: bool,
    /// With other values another path might be better.
    pub depends_on_values: bool,
    /// Of derived tables: when they are made.
    pub making: Making,
    /// A derived table whose rows are handed on as they come.
    pub streamed: bool,
}

/// A pair of values by which rows of a hash join meet.
#[derive(Debug)]
pub struct HashKey {
    /// Of the rows that are kept.
    pub inner: Expr,
    /// Of the rows they are found for.
    pub outer: Expr,
    /// As what both are compared.
    pub how: CompareAs,
    /// `<=>`: NULL meets NULL.
    pub null_safe: bool,
}

/// How rows are found.
#[derive(Debug, Clone)]
pub enum Path {
    /// All of an index.
    Full {
        /// Position among the indexes of the engine's table.
        index: usize,
        /// From its end.
        reverse: bool,
    },
    /// The one row of a unique key.
    Point {
        /// Position among the indexes of the engine's table.
        index: usize,
        /// All fields of the key.
        key: Vec<KeyValue>,
    },
    /// The rows whose first key fields are these.
    Ref {
        /// Position among the indexes of the engine's table.
        index: usize,
        /// The first fields of the key.
        key: Vec<KeyValue>,
        /// The last of the rows first.
        reverse: bool,
    },
    /// Rows within intervals.
    Range {
        /// Position among the indexes of the engine's table.
        index: usize,
        /// What the intervals follow from.
        sarg: Sarg,
        /// The last of the rows first.
        reverse: bool,
    },
    /// The rows that a full-text search finds, the best first.
    FullText {
        /// Position of the index by which documents are found, among those of the engine's table.
        index: usize,
        /// The `MATCH .. AGAINST`.
        matching: Expr,
        /// The index that is searched.
        name: Arc<str>,
        /// The rows that it does not find come, too, between those above and those below a rank of 0.
        then_others: bool,
    },
    /// Rows of a derived or virtual table.
    Rows,
}

impl Path {
    /// The index it reads.
    pub fn index(&self) -> Option<usize> {
        match self {
            Path::Full { index, .. }
            | Path::Point { index, .. }
            | Path::Ref { index, .. }
            | Path::Range { index, .. }
            | Path::FullText { index, .. } => Some(*index),
            Path::Rows => None,
        }
    }
}

/// A value that a key field must have.
#[derive(Debug, Clone)]
pub struct KeyValue {
    /// Column position in the table.
    pub column: usize,
    /// Bytes of the prefix that the index has, 0 for the whole column.
    pub prefix_len: u32,
    /// The value.
    pub value: KeyTest,
}

/// What a key field is equal to.
#[derive(Debug, Clone)]
pub enum KeyTest {
    /// A value, by this comparison; with `null_safe` NULL equals NULL.
    Value {
        /// The value.
        expr: Expr,
        /// As what it is compared.
        how: CompareAs,
        /// `<=>`.
        null_safe: bool,
    },
    /// NULL.
    Null,
}

/// A step of a join.
#[derive(Debug)]
pub enum Step {
    /// For each row of a table that satisfies these conditions; the last `covered` of them are true of all rows within the
    /// path's bounds.
    Table {
        /// The table's slot.
        slot: usize,
        /// Conditions.
        filter: Vec<Expr>,
        /// How many of them, the last ones, the path makes true.
        covered: usize,
    },
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

/// A planned subquery.
#[derive(Debug)]
pub struct SubqueryPlan {
    /// The query.
    pub plan: QueryPlan,
    /// It refers to rows around it.
    pub correlated: bool,
}

impl QueryPlan {
    /// The queries that it consists of, if it is no block.
    pub fn parts(&self) -> Vec<&QueryPlan> {
        match &self.body {
            Body::Union { parts } => parts.iter().map(|part| &part.plan).collect(),
            Body::SetOperation(op) => vec![&op.left, &op.right],
            Body::Recursive(recursion) => std::iter::once(&recursion.first).chain(&recursion.next).collect(),
            Body::Values { subqueries, .. } => subqueries.iter().map(|(s, _)| &s.plan).collect(),
            Body::Block(_) => Vec::new(),
        }
    }

    /// Has its values made those of columns: it is a table that is made first. The parts of a union are made such anyway.
    pub(crate) fn store_items(&mut self, cx: &mut CompileCx<'_>) {
        let Body::Block(block) = &mut self.body else { return };
        for item in &mut block.items {
            let value = std::mem::replace(item, Expr::null());
            *item = vaquita_expr::stored(cx, value);
        }
    }

    /// The LIMIT of its rows.
    pub fn last_limit(&self) -> Option<&LimitPlan> {
        match &self.body {
            Body::Block(block) => block.limit.as_ref(),
            _ => self.limit.as_ref(),
        }
    }

    /// Whether executions with other values should use it.
    pub fn is_reusable(&self) -> bool {
        let Body::Block(block) = &self.body else {
            return self.parts().iter().all(|part| part.is_reusable());
        };
        block.subqueries.iter().all(|(s, _)| s.plan.is_reusable())
            && block.reads.iter().all(|read| match &read.source {
                Source::Derived(plan) => plan.is_reusable(),
                _ => !read.depends_on_values,
            })
    }

    /// All stored tables it reads, those of subqueries too.
    pub fn tables(&self, out: &mut Vec<Arc<TableInfo>>) {
        let Body::Block(block) = &self.body else {
            self.parts().iter().for_each(|part| part.tables(out));
            return;
        };
        block.subqueries.iter().for_each(|(subquery, _)| subquery.plan.tables(out));
        for read in &block.reads {
            match &read.source {
                Source::Stored(info) if !out.iter().any(|t| Arc::ptr_eq(t, info)) => out.push(info.clone()),
                Source::Derived(plan) => plan.tables(out),
                _ => {}
            }
        }
    }
}
