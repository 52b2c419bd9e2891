//! Optimizer hints: `/*+ … */` behind the word that begins a statement or a query block.

use super::{ExplainTarget, Expr, Ident, QueryBody, Stmt, SystemVar};

/// A hint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hint<'a> {
    /// Its name, in upper case.
    pub name: &'static str,
    /// What it is about.
    pub what: HintWhat<'a>,
    /// `@qb` ahead of the rest: the query block it is for.
    pub block: Option<Ident<'a>>,
    /// Tables.
    pub tables: &'a [HintTable<'a>],
    /// Indexes of the one table.
    pub indexes: &'a [Ident<'a>],
}

/// A table as a hint names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HintTable<'a> {
    /// Name or alias.
    pub name: Ident<'a>,
    /// `@qb`: the query block whose table it is.
    pub block: Option<Ident<'a>>,
}

/// What a hint is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HintWhat<'a> {
    /// The order of tables.
    Order(HintOrder),
    /// Which indexes are used; `use_them`: these, else others than these.
    Indexes {
        /// What for.
        purpose: HintPurpose,
        /// Without `NO_`.
        use_them: bool,
    },
    /// How tables or indexes are read, which is decided otherwise here.
    Method,
    /// How subqueries are executed, which is decided otherwise here: strategies.
    Subquery,
    /// `QB_NAME(name)`.
    BlockName(Ident<'a>),
    /// `MAX_EXECUTION_TIME(n)`: milliseconds.
    MaxExecutionTime(u64),
    /// `SET_VAR(var = value)`.
    SetVar(SystemVar<'a>, Expr<'a>),
    /// `RESOURCE_GROUP(name)`.
    ResourceGroup(Ident<'a>),
    /// What could not be read: the rest of the comment, and on which of its lines that is.
    Wrong {
        /// From where on.
        near: &'a [u8],
        /// From 1.
        line: u32,
    },
}

/// Order of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintOrder {
    /// `JOIN_FIXED_ORDER`: that of the text.
    Fixed,
    /// `JOIN_ORDER`: these in this order, others where they like.
    These,
    /// `JOIN_PREFIX`: these first.
    First,
    /// `JOIN_SUFFIX`: these last.
    Last,
}

/// What an index is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintPurpose {
    /// Everything.
    All,
    /// Finding rows.
    Join,
    /// GROUP BY.
    Group,
    /// ORDER BY.
    Order,
}

impl<'a> Hint<'a> {
    /// Hints that hold for a statement as a whole: those of its first word.
    pub fn of_statement(stmt: &Stmt<'a>) -> &'a [Hint<'a>] {
        match stmt {
            Stmt::Query(query) => Hint::of_query(&query.body),
            Stmt::Insert(insert) => insert.hints,
            Stmt::Update(update) => update.hints,
            Stmt::Delete(delete) => delete.hints,
            Stmt::Explain(explain) => match explain.target {
                ExplainTarget::Statement(stmt) => Hint::of_statement(stmt),
                _ => &[],
            },
            _ => &[],
        }
    }

    fn of_query(body: &QueryBody<'a>) -> &'a [Hint<'a>] {
        match body {
            QueryBody::Select(select) => select.hints,
            QueryBody::SetOperation(op) => Hint::of_query(&op.left),
            _ => &[],
        }
    }
}
