//! Bodies of stored programs, and the statements about conditions.
//!
//! Expressions and statements inside of a body are given by their places in the text: they are read again when they are
//! planned, with the local variables in scope there (see [`crate::parse_with`]).

use super::{ColumnType, Expr, Ident, SetItem, Span, Stmt};

/// A statement of a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ProgramStmt<'a> {
    /// `BEGIN … END`.
    Block(&'a Block<'a>),
    /// `IF … END IF`.
    If(&'a Branches<'a>),
    /// `CASE … END CASE`; conditions are values if there is an operand.
    Case {
        /// What the values are compared with.
        operand: Option<Span>,
        /// The branches.
        branches: &'a Branches<'a>,
    },
    /// LOOP, WHILE, REPEAT.
    Loop(&'a Loop<'a>),
    /// `LEAVE label`.
    Leave(Ident<'a>),
    /// `ITERATE label`.
    Iterate(Ident<'a>),
    /// `RETURN expression`.
    Return(Span),
    /// `OPEN cursor`.
    Open(Ident<'a>),
    /// `FETCH cursor INTO a, b`.
    Fetch {
        /// The cursor.
        cursor: Ident<'a>,
        /// Local variables.
        into: &'a [Ident<'a>],
    },
    /// `CLOSE cursor`.
    Close(Ident<'a>),
    /// SET.
    Set(&'a [SetInBody<'a>]),
    /// Any other statement, and its text.
    Sql(Stmt<'a>, Span),
}

/// An assignment of SET.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetInBody<'a> {
    /// What is set.
    pub item: SetItem<'a>,
    /// Its text.
    pub span: Span,
    /// GLOBAL, SESSION or LOCAL stand before it.
    pub has_scope: bool,
}

/// `[label:] BEGIN declarations statements END [label]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block<'a> {
    /// Label before it.
    pub label: Option<Ident<'a>>,
    /// Label behind it.
    pub end_label: Option<Ident<'a>>,
    /// Declarations, in order.
    pub declarations: &'a [Declaration<'a>],
    /// Statements.
    pub body: &'a [ProgramStmt<'a>],
}

/// Conditions with what is done if they hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Branches<'a> {
    /// In order.
    pub branches: &'a [(Span, &'a [ProgramStmt<'a>])],
    /// ELSE.
    pub otherwise: Option<&'a [ProgramStmt<'a>]>,
}

/// A loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loop<'a> {
    /// Label before it.
    pub label: Option<Ident<'a>>,
    /// Label behind it.
    pub end_label: Option<Ident<'a>>,
    /// When it ends.
    pub until: LoopEnd,
    /// Statements.
    pub body: &'a [ProgramStmt<'a>],
}

/// When a loop ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopEnd {
    /// LOOP: when it is left.
    Never,
    /// `WHILE condition`: before its statements, if it does not hold.
    While(Span),
    /// `REPEAT … UNTIL condition`: behind them, if it holds.
    Until(Span),
}

/// DECLARE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Declaration<'a> {
    /// Variables.
    Vars {
        /// Names.
        names: &'a [Ident<'a>],
        /// Type of all of them.
        data_type: ColumnType<'a>,
        /// DEFAULT.
        default: Option<Span>,
    },
    /// `name CONDITION FOR …`.
    Condition(Ident<'a>, ConditionValue<'a>),
    /// `name CURSOR FOR query`.
    Cursor(Ident<'a>, Stmt<'a>, Span),
    /// `CONTINUE | EXIT HANDLER FOR … statement`.
    Handler {
        /// CONTINUE.
        goes_on: bool,
        /// For what.
        conditions: &'a [ConditionValue<'a>],
        /// What it does.
        body: &'a ProgramStmt<'a>,
    },
}

/// A condition as DECLARE, SIGNAL and RESIGNAL name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionValue<'a> {
    /// A number of MySQL.
    Code(u64),
    /// `SQLSTATE [VALUE] '…'`.
    State(&'a [u8]),
    /// A declared name.
    Name(Ident<'a>),
    /// SQLWARNING.
    Warning,
    /// NOT FOUND.
    NotFound,
    /// SQLEXCEPTION.
    Exception,
}

/// SIGNAL, RESIGNAL.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signal<'a> {
    /// RESIGNAL.
    pub again: bool,
    /// Which condition; of RESIGNAL perhaps none.
    pub condition: Option<ConditionValue<'a>>,
    /// SET.
    pub items: &'a [(ConditionItem, Expr<'a>)],
}

/// What is known of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ConditionItem {
    ClassOrigin,
    SubclassOrigin,
    ConstraintCatalog,
    ConstraintSchema,
    ConstraintName,
    CatalogName,
    SchemaName,
    TableName,
    ColumnName,
    CursorName,
    MessageText,
    MysqlErrno,
    ReturnedSqlstate,
}

/// `GET [CURRENT | STACKED] DIAGNOSTICS …`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GetDiagnostics<'a> {
    /// STACKED.
    pub stacked: bool,
    /// What is asked for.
    pub what: Diagnostics<'a>,
}

/// What GET DIAGNOSTICS asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Diagnostics<'a> {
    /// Of the statement: whether it is ROW_COUNT (else NUMBER), and where it goes.
    Statement(&'a [(DiagnosticsTarget<'a>, bool)]),
    /// Of one of its conditions.
    Condition {
        /// Which one, from 1.
        number: Expr<'a>,
        /// Where what goes.
        items: &'a [(DiagnosticsTarget<'a>, ConditionItem)],
    },
}

/// Where a part of the diagnostics goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiagnosticsTarget<'a> {
    /// `@name`.
    User(Ident<'a>),
    /// A local variable, by its place.
    Local(u32),
    /// A name that is no variable here.
    Unknown(Ident<'a>),
}

/// `ALTER PROCEDURE | FUNCTION`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlterProgram<'a> {
    /// Whether it is a function.
    pub function: bool,
    /// Name.
    pub name: super::ObjectName<'a>,
    /// What changes.
    pub characteristics: Characteristics<'a>,
}

/// Characteristics of a procedure or function; `None`: not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Characteristics<'a> {
    /// `[NOT] DETERMINISTIC`.
    pub deterministic: Option<bool>,
    /// `CONTAINS SQL` and the like.
    pub access: Option<DataAccess>,
    /// `SQL SECURITY INVOKER`.
    pub invoker: Option<bool>,
    /// COMMENT.
    pub comment: Option<&'a [u8]>,
}

/// What a procedure or function says it does with data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum DataAccess {
    #[default]
    Contains,
    No,
    Reads,
    Modifies,
}
