//! Statements as trees.

use crate::Level;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// NULL.
    Null,
    /// INT.
    Int(i64),
    /// VARCHAR.
    Text(String),
}

impl Value {
    /// As a result set shows it.
    pub fn to_text(&self) -> Option<String> {
        match self {
            Value::Null => None,
            Value::Int(n) => Some(n.to_string()),
            Value::Text(text) => Some(text.clone()),
        }
    }
}

/// A column's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Four bytes, signed.
    Int,
    /// Letters at most.
    Varchar(u32),
}

/// A column of CREATE TABLE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnDef {
    /// Name.
    pub name: String,
    /// Type.
    pub column_type: ColumnType,
    /// NOT NULL, or part of the primary key.
    pub not_null: bool,
}

/// A key of CREATE TABLE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDef {
    /// Name; `PRIMARY` for the primary key.
    pub name: String,
    /// Columns.
    pub columns: Vec<String>,
    /// UNIQUE, or the primary key.
    pub unique: bool,
}

/// What connects two expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are what they are called")]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Modulo,
    And,
    Or,
}

/// An expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expr {
    /// A column of the table.
    Column(String),
    /// A constant.
    Literal(Value),
    /// Two expressions.
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// `e IN (..)`.
    In(Box<Expr>, Vec<Value>),
    /// `e BETWEEN a AND b`.
    Between(Box<Expr>, Value, Value),
    /// `e IS NULL`.
    IsNull(Box<Expr>),
}

impl Expr {
    /// Whether it looks at a column.
    pub fn mentions(&self, column: &str) -> bool {
        match self {
            Expr::Column(name) => name == column,
            Expr::Literal(_) => false,
            Expr::Binary(_, a, b) => a.mentions(column) || b.mentions(column),
            Expr::In(e, _) | Expr::Between(e, ..) | Expr::IsNull(e) => e.mentions(column),
        }
    }
}

/// An aggregate function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Aggregate {
    /// `count(*)`.
    Count,
    /// `sum(c)`.
    Sum(String),
}

/// What SELECT asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// `*`.
    All,
    /// A column.
    Column(String),
    /// An aggregate.
    Aggregate(Aggregate),
}

/// Locking clause of SELECT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockClause {
    /// None.
    None,
    /// LOCK IN SHARE MODE.
    Share,
    /// FOR UPDATE.
    Update,
}

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as SQL names the clauses")]
pub enum Statement {
    CreateTable { table: String, columns: Vec<ColumnDef>, keys: Vec<KeyDef> },
    Insert { table: String, rows: Vec<Vec<Value>> },
    Update { table: String, set: Vec<(String, Expr)>, filter: Option<Expr> },
    Delete { table: String, filter: Option<Expr> },
    Select { items: Vec<Item>, table: String, filter: Option<Expr>, order: Option<String>, lock: LockClause },
    Begin { snapshot: bool },
    Commit,
    Rollback,
    Savepoint(String),
    RollbackTo(String),
    SetLevel(Level),
    SetLockWaitTimeout(u32),
}
