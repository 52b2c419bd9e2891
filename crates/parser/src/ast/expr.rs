//! Expressions.

use super::{Ident, Query, Span};

/// An expression with the text it was written as.
///
/// Parentheses leave no node; their text is outside the span of what they enclose, and inside the span of the
/// select item or operator around them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expr<'a> {
    /// What it is.
    pub kind: ExprKind<'a>,
    /// Where it stands in the statement's text.
    pub span: Span,
}

/// The forms of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExprKind<'a> {
    /// A literal whose value is part of the statement.
    Literal(Literal<'a>),
    /// A literal that the digest lifted out of the statement (only with [`crate::ParseMode::lift`]): parameter `no`
    /// (from 0) of the cached plan. The literal is the value of this execution: its type is part of the plan, its
    /// value is not.
    Lifted {
        /// Position among the lifted literals and parameters, from 0, in the order of the text.
        no: u32,
        /// The literal itself.
        literal: Literal<'a>,
    },
    /// `?`: a parameter of a prepared statement, numbered from 0 in the order of the text; together with the literals if
    /// they are lifted.
    Param(u32),
    /// A local variable of a stored program, by its place.
    Local(u32),
    /// A column: `c`, `t.c`, `d.t.c`, `.t.c`.
    Column(&'a ColumnRef<'a>),
    /// `@name`, `@'name'`, `` @`name` ``.
    UserVar(Ident<'a>),
    /// `@name := value`.
    AssignUserVar {
        /// The variable.
        name: Ident<'a>,
        /// What it becomes.
        value: &'a Expr<'a>,
    },
    /// `@@name`, `@@global.name`, `@@session.name`, `@@keycache.name`.
    SystemVar(&'a SystemVar<'a>),
    /// A prefix operator.
    Unary {
        /// Which.
        op: UnaryOp,
        /// On what.
        operand: &'a Expr<'a>,
    },
    /// An infix operator.
    Binary {
        /// Which.
        op: BinaryOp,
        /// Left operand.
        left: &'a Expr<'a>,
        /// Right operand.
        right: &'a Expr<'a>,
    },
    /// `x IS [NOT] NULL | TRUE | FALSE | UNKNOWN`.
    Is {
        /// What is tested.
        operand: &'a Expr<'a>,
        /// Against what.
        test: IsTest,
        /// `IS NOT`.
        negated: bool,
    },
    /// `x [NOT] IN (a, b, …)`.
    InList {
        /// What is looked for.
        operand: &'a Expr<'a>,
        /// The list, never empty.
        list: &'a [Expr<'a>],
        /// `NOT IN`.
        negated: bool,
    },
    /// `x [NOT] IN (SELECT …)`.
    InSubquery {
        /// What is looked for; a [`ExprKind::Row`] for several columns.
        operand: &'a Expr<'a>,
        /// Where.
        query: &'a Query<'a>,
        /// `NOT IN`.
        negated: bool,
    },
    /// `x [NOT] BETWEEN low AND high`.
    Between {
        /// What is tested.
        operand: &'a Expr<'a>,
        /// Inclusive lower bound.
        low: &'a Expr<'a>,
        /// Inclusive upper bound.
        high: &'a Expr<'a>,
        /// `NOT BETWEEN`.
        negated: bool,
    },
    /// `x [NOT] LIKE pattern [ESCAPE e]`.
    Like {
        /// What is tested.
        operand: &'a Expr<'a>,
        /// The pattern with `%` and `_`.
        pattern: &'a Expr<'a>,
        /// The escape character if given; `\` otherwise (none with `NO_BACKSLASH_ESCAPES`).
        escape: Option<&'a Expr<'a>>,
        /// `NOT LIKE`.
        negated: bool,
    },
    /// `x [NOT] REGEXP pattern` (`RLIKE` is the same).
    Regexp {
        /// What is tested.
        operand: &'a Expr<'a>,
        /// The pattern.
        pattern: &'a Expr<'a>,
        /// `NOT REGEXP`.
        negated: bool,
    },
    /// `CASE … END`.
    Case(&'a Case<'a>),
    /// `CAST(x AS type)`, `CONVERT(x, type)`.
    Cast {
        /// What is converted.
        operand: &'a Expr<'a>,
        /// To what.
        to: CastType<'a>,
    },
    /// `CONVERT(x USING charset)`.
    ConvertUsing {
        /// What is converted.
        operand: &'a Expr<'a>,
        /// The character set; `binary` for `BINARY`, `DEFAULT` for that keyword (the database's).
        charset: Ident<'a>,
    },
    /// `x COLLATE collation`.
    Collate {
        /// What is collated.
        operand: &'a Expr<'a>,
        /// The collation's name.
        collation: Ident<'a>,
    },
    /// A function called by name with plain arguments. Syntax of its own that means the same is brought to this
    /// form: see [`Call`].
    Call(&'a Call<'a>),
    /// `JSON_VALUE(doc, path …)` (8.0).
    JsonValue(&'a JsonValue<'a>),
    /// An aggregate function.
    Aggregate(&'a Aggregate<'a>),
    /// `TRIM([BOTH | LEADING | TRAILING] [what FROM] x)`.
    Trim {
        /// Which ends; [`TrimSide::Both`] when not said.
        side: TrimSide,
        /// What is cut off; a space when `None`.
        what: Option<&'a Expr<'a>>,
        /// From what.
        from: &'a Expr<'a>,
    },
    /// `EXTRACT(unit FROM x)`.
    Extract {
        /// The part.
        unit: IntervalUnit,
        /// Of what.
        from: &'a Expr<'a>,
    },
    /// `x + INTERVAL n unit`, `INTERVAL n unit + x`, `DATE_ADD(x, INTERVAL n unit)`, `ADDDATE(x, n)` (days) and
    /// the same with `-`, `DATE_SUB`, `SUBDATE`.
    DateAdd {
        /// The date, time or datetime.
        base: &'a Expr<'a>,
        /// How many, `'1:30'`-like strings for composed units.
        amount: &'a Expr<'a>,
        /// Of what.
        unit: IntervalUnit,
        /// Subtract instead of add.
        subtract: bool,
    },
    /// `TIMESTAMPADD(unit, n, x)`.
    TimestampAdd {
        /// Of what.
        unit: IntervalUnit,
        /// How many.
        amount: &'a Expr<'a>,
        /// The date, time or datetime.
        base: &'a Expr<'a>,
    },
    /// `TIMESTAMPDIFF(unit, from, to)`.
    TimestampDiff {
        /// In what.
        unit: IntervalUnit,
        /// Start.
        from: &'a Expr<'a>,
        /// End.
        to: &'a Expr<'a>,
    },
    /// `GET_FORMAT(DATE | TIME | DATETIME | TIMESTAMP, x)`.
    GetFormat {
        /// Format of what; `TIMESTAMP` is [`TemporalKind::Timestamp`].
        kind: TemporalKind,
        /// `'USA'`, `'ISO'` and so on.
        standard: &'a Expr<'a>,
    },
    /// `CHAR(n, … [USING charset])`.
    Char {
        /// The codes.
        codes: &'a [Expr<'a>],
        /// The result's character set; binary when `None`.
        charset: Option<Ident<'a>>,
    },
    /// `WEIGHT_STRING(x [AS CHAR(n) | BINARY(n)] [LEVEL …])`.
    WeightString(&'a WeightString<'a>),
    /// `MATCH (columns) AGAINST (x mode)`.
    Match(&'a Match<'a>),
    /// `DEFAULT(column)`.
    DefaultOf(&'a ColumnRef<'a>),
    /// The word `DEFAULT` where a value is assigned (INSERT values, UPDATE and SET assignments).
    Default,
    /// `VALUES(column)` inside `ON DUPLICATE KEY UPDATE`.
    InsertedValue(&'a ColumnRef<'a>),
    /// `(a, b)`, `ROW(a, b)`: two or more (one with `ROW`).
    Row(&'a [Expr<'a>]),
    /// `(SELECT …)` as a value or row.
    Subquery(&'a Query<'a>),
    /// `EXISTS (SELECT …)`.
    Exists(&'a Query<'a>),
    /// `x op ANY | SOME | ALL (SELECT …)`.
    Quantified {
        /// The left side.
        left: &'a Expr<'a>,
        /// A comparison operator.
        op: BinaryOp,
        /// Every row, or one.
        quantifier: Quantifier,
        /// The right side.
        query: &'a Query<'a>,
    },
    /// `{d '…'}`, `{t '…'}` and `{ts '…'}` are a date or time if the text is one; any other `{name expr}` of ODBC is its
    /// expression.
    OdbcEscape {
        /// The word after the brace.
        name: Ident<'a>,
        /// The expression.
        value: &'a Expr<'a>,
    },
}

/// A literal value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Literal<'a> {
    /// `NULL`, `\N`.
    Null,
    /// `TRUE`, `FALSE`.
    Bool(bool),
    /// A whole number that fits 64 bits.
    Int(u64),
    /// A whole number too large for 64 bits, or one with a decimal point: digits as written.
    Decimal(&'a [u8]),
    /// A number with an exponent, as written.
    Float(&'a [u8]),
    /// A string in the connection's character set and collation; escapes resolved, adjacent strings joined.
    String(&'a [u8]),
    /// `_charset'…'`, `_charset x'…'`, `N'…'`.
    Introduced {
        /// Character set without the underscore; `utf8` for `N'…'`.
        charset: Ident<'a>,
        /// The bytes; escapes resolved.
        value: &'a [u8],
    },
    /// `x'4D79'`, `0x4D79`: the bytes. A binary string that acts as a number in numeric context.
    Hex(&'a [u8]),
    /// `b'1010'`, `0b1010`: the bytes, big-endian, without needless leading bytes.
    Bit(&'a [u8]),
    /// `DATE '…'`, `TIME '…'`, `TIMESTAMP '…'`: the text.
    Temporal {
        /// Which.
        kind: TemporalKind,
        /// The text between the quotes.
        text: &'a [u8],
    },
}

/// Types of temporal literals and of `GET_FORMAT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemporalKind {
    /// `DATE`.
    Date,
    /// `TIME`.
    Time,
    /// `DATETIME` (`GET_FORMAT` only).
    DateTime,
    /// `TIMESTAMP`: the literal is a `DATETIME`.
    Timestamp,
}

/// A reference to a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnRef<'a> {
    /// Database, if said.
    pub schema: Option<Ident<'a>>,
    /// Table or alias, if said.
    pub table: Option<Ident<'a>>,
    /// Column or select alias.
    pub name: Ident<'a>,
}

/// Where a system variable is looked up or set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VarScope {
    /// `GLOBAL`, `@@global.`.
    Global,
    /// `SESSION`, `LOCAL`, `@@session.`, `@@local.`; a bare name in SET.
    Session,
    /// Not said: the session's value if there is one, else the global one.
    Implicit,
}

/// A system variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemVar<'a> {
    /// Global, session or not said.
    pub scope: VarScope,
    /// The part before the dot that is no scope: a structured variable's instance (`@@hot.key_buffer_size`), or
    /// `NEW` / `OLD` and the like in `SET`.
    pub instance: Option<Ident<'a>>,
    /// The variable's name.
    pub name: Ident<'a>,
}

/// Prefix operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-x`.
    Neg,
    /// `+x`: the operand unchanged.
    Plus,
    /// `~x`.
    BitNot,
    /// `NOT x`, `!x`.
    Not,
    /// `BINARY x`: a cast to a binary string.
    Binary,
}

/// Infix operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    /// `OR`, `||` without `PIPES_AS_CONCAT`.
    Or,
    /// `XOR`.
    Xor,
    /// `AND`, `&&`.
    And,
    /// `=`.
    Eq,
    /// `<=>`.
    NullSafeEq,
    /// `<>`, `!=`.
    Ne,
    /// `<`.
    Lt,
    /// `<=`.
    Le,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
    /// `SOUNDS LIKE`.
    SoundsLike,
    /// `|`.
    BitOr,
    /// `&`.
    BitAnd,
    /// `<<`.
    ShiftLeft,
    /// `>>`.
    ShiftRight,
    /// `+`.
    Add,
    /// `-`.
    Sub,
    /// `*`.
    Mul,
    /// `/`.
    Div,
    /// `DIV`.
    IntDiv,
    /// `%`, `MOD`.
    Mod,
    /// `^`.
    BitXor,
    /// `||` with `PIPES_AS_CONCAT`.
    Concat,
    /// `column->'$.path'`.
    JsonExtract,
    /// `column->>'$.path'`.
    JsonUnquoteExtract,
    /// `x MEMBER OF (array)`.
    MemberOf,
}

impl BinaryOp {
    /// `=`, `<=>`, `<>`, `<`, `<=`, `>`, `>=`.
    #[must_use]
    pub fn is_comparison(self) -> bool {
        matches!(self, Self::Eq | Self::NullSafeEq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge)
    }
}

/// What `IS` tests for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsTest {
    /// `NULL`.
    Null,
    /// `TRUE`.
    True,
    /// `FALSE`.
    False,
    /// `UNKNOWN`: NULL, as a truth value.
    Unknown,
}

/// `ANY` / `SOME` or `ALL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    /// `ANY`, `SOME`.
    Any,
    /// `ALL`.
    All,
}

/// `CASE [operand] WHEN … THEN … [ELSE …] END`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case<'a> {
    /// What the WHENs are compared with; `None` for searched CASE.
    pub operand: Option<&'a Expr<'a>>,
    /// At least one branch.
    pub branches: &'a [When<'a>],
    /// `ELSE`; NULL when `None`.
    pub otherwise: Option<&'a Expr<'a>>,
}

/// A branch of CASE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct When<'a> {
    /// Value or condition.
    pub when: Expr<'a>,
    /// Result.
    pub then: Expr<'a>,
}

/// Target of `CAST` and `CONVERT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CastType<'a> {
    /// `BINARY[(n)]`.
    Binary(Option<u32>),
    /// `CHAR[(n)] [CHARACTER SET cs]`; `NCHAR` has `utf8`.
    Char {
        /// Characters.
        len: Option<u32>,
        /// Character set; the connection's when `None`.
        charset: Option<Ident<'a>>,
    },
    /// `SIGNED [INTEGER]`.
    Signed,
    /// `UNSIGNED [INTEGER]`.
    Unsigned,
    /// `DATE`.
    Date,
    /// `TIME[(fsp)]`.
    Time(Option<u32>),
    /// `DATETIME[(fsp)]`.
    DateTime(Option<u32>),
    /// `DECIMAL[(p[,s])]`: 10 and 0 when not said.
    Decimal {
        /// Digits.
        precision: Option<u32>,
        /// Of them after the point.
        scale: Option<u32>,
    },
    /// `JSON`.
    Json,
    /// `FLOAT`, `DOUBLE`, `REAL`, `YEAR` of later versions.
    Later(Ident<'a>),
}

/// `JSON_VALUE(doc, path [RETURNING type] [… ON EMPTY] [… ON ERROR])`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JsonValue<'a> {
    /// The document.
    pub doc: &'a Expr<'a>,
    /// The path.
    pub path: &'a Expr<'a>,
    /// Type of the result.
    pub returning: Option<CastType<'a>>,
    /// What a value that is not there stands for.
    pub on_empty: JsonOn<'a>,
    /// What a value that is none of the type stands for.
    pub on_error: JsonOn<'a>,
}

/// `… ON EMPTY`, `… ON ERROR`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JsonOn<'a> {
    /// `NULL`; what is not said.
    Null,
    /// `ERROR`.
    Error,
    /// `DEFAULT value`.
    Default(&'a Expr<'a>),
}

/// A function call.
///
/// Brought to this form, with the name in capitals: `SUBSTRING(x FROM a FOR b)` and `MID` → `SUBSTRING(x, a, b)`,
/// `POSITION(a IN b)` → `LOCATE(a, b)`, `CURRENT_DATE` → `CURDATE()`, `CURRENT_TIME` → `CURTIME()`,
/// `CURRENT_TIMESTAMP`, `LOCALTIME`, `LOCALTIMESTAMP` → `NOW([fsp])`, `CURRENT_USER` → `CURRENT_USER()`,
/// `UTC_DATE`, `UTC_TIME`, `UTC_TIMESTAMP` → with parentheses, `SCHEMA()` → `DATABASE()`. Other names are as written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call<'a> {
    /// Database of a stored function, if said.
    pub schema: Option<Ident<'a>>,
    /// The function's name, as written; compare without case.
    pub name: Ident<'a>,
    /// Its arguments.
    pub args: &'a [Expr<'a>],
    /// Names of the arguments (`f(a AS x)`), for loadable functions; empty if there are none.
    pub arg_names: &'a [Option<Ident<'a>>],
    /// `OVER …`: a window function.
    pub over: Option<&'a Over<'a>>,
    /// `FROM LAST` before it.
    pub from_last: bool,
    /// `IGNORE NULLS` before it.
    pub ignore_nulls: bool,
    /// The name is one that a built-in function has, which this is not: it is quoted, qualified, or apart from its parenthesis.
    pub taken: bool,
}

/// Aggregate functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateKind {
    /// `COUNT(*)`: no arguments.
    CountStar,
    /// `COUNT(x)`; several arguments only with DISTINCT.
    Count,
    /// `SUM`.
    Sum,
    /// `AVG`.
    Avg,
    /// `MIN`.
    Min,
    /// `MAX`.
    Max,
    /// `BIT_AND`.
    BitAnd,
    /// `BIT_OR`.
    BitOr,
    /// `BIT_XOR`.
    BitXor,
    /// `STD`, `STDDEV`, `STDDEV_POP`.
    StddevPop,
    /// `STDDEV_SAMP`.
    StddevSamp,
    /// `VARIANCE`, `VAR_POP`.
    VarPop,
    /// `VAR_SAMP`.
    VarSamp,
    /// `GROUP_CONCAT`.
    GroupConcat,
    /// `JSON_ARRAYAGG` (5.7.22).
    JsonArrayAgg,
    /// `JSON_OBJECTAGG` (5.7.22).
    JsonObjectAgg,
    /// `GROUPING(key, …)` (8.0): of which keys a row of WITH ROLLUP is a sum.
    Grouping,
}

/// An aggregate call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aggregate<'a> {
    /// Which.
    pub kind: AggregateKind,
    /// `DISTINCT`.
    pub distinct: bool,
    /// Arguments.
    pub args: &'a [Expr<'a>],
    /// `ORDER BY` of `GROUP_CONCAT`.
    pub order_by: &'a [OrderItem<'a>],
    /// `SEPARATOR` of `GROUP_CONCAT`; `,` when `None`.
    pub separator: Option<&'a [u8]>,
    /// `OVER …`: an aggregate as window function.
    pub over: Option<&'a Over<'a>>,
}

/// One key of ORDER BY or GROUP BY.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OrderItem<'a> {
    /// The key; a whole number literal is a select item's position.
    pub expr: Expr<'a>,
    /// `DESC`.
    pub descending: bool,
    /// `ASC` or `DESC` was written (`GROUP BY a ASC` sorts, `GROUP BY a` need not after 5.6).
    pub explicit: bool,
}

/// `OVER w` or `OVER (…)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Over<'a> {
    /// A window of the WINDOW clause.
    Named(Ident<'a>),
    /// A window written in place.
    Spec(&'a WindowSpec<'a>),
}

/// `[base] [PARTITION BY …] [ORDER BY …] [frame]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowSpec<'a> {
    /// A window of the WINDOW clause that this one refines.
    pub base: Option<Ident<'a>>,
    /// `PARTITION BY`.
    pub partition_by: &'a [Expr<'a>],
    /// `ORDER BY`.
    pub order_by: &'a [OrderItem<'a>],
    /// `ROWS` / `RANGE` frame.
    pub frame: Option<&'a Frame<'a>>,
}

/// A window's frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame<'a> {
    /// `ROWS` (true) or `RANGE`.
    pub rows: bool,
    /// Start.
    pub start: FrameBound<'a>,
    /// End; `CURRENT ROW` when `None`.
    pub end: Option<FrameBound<'a>>,
}

/// One end of a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FrameBound<'a> {
    /// `UNBOUNDED PRECEDING`.
    UnboundedPreceding,
    /// `n PRECEDING`.
    Preceding(Expr<'a>),
    /// `CURRENT ROW`.
    CurrentRow,
    /// `n FOLLOWING`.
    Following(Expr<'a>),
    /// `UNBOUNDED FOLLOWING`.
    UnboundedFollowing,
}

/// Ends that TRIM cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrimSide {
    /// Both.
    Both,
    /// Left.
    Leading,
    /// Right.
    Trailing,
}

/// Units of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

/// `WEIGHT_STRING(…)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightString<'a> {
    /// The string.
    pub operand: Expr<'a>,
    /// `AS CHAR(n)` (`false`) or `AS BINARY(n)` (`true`).
    pub cast: Option<(bool, u32)>,
    /// `LEVEL …`.
    pub levels: &'a [WeightLevel],
}

/// A level of `WEIGHT_STRING(… LEVEL n [ASC | DESC] [REVERSE])`; ranges are spelled out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeightLevel {
    /// From 1.
    pub level: u32,
    /// `DESC`.
    pub descending: bool,
    /// `REVERSE`.
    pub reverse: bool,
}

/// `MATCH … AGAINST`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match<'a> {
    /// The columns.
    pub columns: &'a [ColumnRef<'a>],
    /// What is searched.
    pub against: Expr<'a>,
    /// How.
    pub mode: MatchMode,
}

/// Full-text search modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchMode {
    /// `IN NATURAL LANGUAGE MODE`, the default.
    Natural,
    /// `IN BOOLEAN MODE`.
    Boolean,
    /// `[IN NATURAL LANGUAGE MODE] WITH QUERY EXPANSION`.
    QueryExpansion,
}
