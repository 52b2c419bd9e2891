//! SELECT, UNION and what stands in FROM.

use super::{Expr, Hint, Ident, ObjectName, OrderItem, Span, WindowSpec};

/// A query expression: something that yields rows, with the clauses that apply to its whole result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Query<'a> {
    /// `WITH …`.
    pub with: Option<&'a With<'a>>,
    /// The rows.
    pub body: QueryBody<'a>,
    /// `ORDER BY` of the whole.
    pub order_by: &'a [OrderItem<'a>],
    /// `LIMIT` of the whole.
    pub limit: Option<&'a Limit<'a>>,
    /// `FOR UPDATE`, `LOCK IN SHARE MODE`, `FOR SHARE`: at most one before 8.0, where several name tables.
    pub locking: &'a [Locking<'a>],
    /// `PROCEDURE ANALYSE(…)`: the arguments.
    pub procedure: Option<&'a [Expr<'a>]>,
    /// `INTO …`, wherever it was written.
    pub into: Option<&'a IntoClause<'a>>,
    /// The text, without surrounding parentheses.
    pub span: Span,
}

/// The rows of a query expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum QueryBody<'a> {
    /// `SELECT …`.
    Select(&'a Select<'a>),
    /// `a UNION | INTERSECT | EXCEPT [ALL | DISTINCT] b`, left-associative; INTERSECT binds tighter.
    SetOperation(&'a SetOperation<'a>),
    /// `( query )` with its own ORDER BY and LIMIT.
    Nested(&'a Query<'a>),
    /// `VALUES ROW(1,2), …` (8.0).
    Values(&'a [&'a [Expr<'a>]]),
    /// `TABLE t` (8.0).
    Table(ObjectName<'a>),
}

/// A set operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetOperation<'a> {
    /// Which.
    pub op: SetOp,
    /// `ALL`: duplicates stay.
    pub all: bool,
    /// First rows.
    pub left: QueryBody<'a>,
    /// Second rows.
    pub right: QueryBody<'a>,
}

/// Set operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOp {
    /// `UNION`.
    Union,
    /// `INTERSECT` (8.0).
    Intersect,
    /// `EXCEPT` (8.0).
    Except,
}

/// `WITH [RECURSIVE] …`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct With<'a> {
    /// `RECURSIVE`.
    pub recursive: bool,
    /// The tables.
    pub tables: &'a [CommonTable<'a>],
}

/// A common table expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommonTable<'a> {
    /// Name.
    pub name: Ident<'a>,
    /// Column names; those of the query when empty.
    pub columns: &'a [Ident<'a>],
    /// Its rows.
    pub query: &'a Query<'a>,
}

/// One SELECT without what belongs to the query expression around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Select<'a> {
    /// `/*+ … */` after SELECT.
    pub hints: &'a [Hint<'a>],
    /// The words after SELECT.
    pub options: SelectOptions,
    /// The select list.
    pub items: &'a [SelectItem<'a>],
    /// `FROM`, comma-separated; empty without FROM and for `FROM DUAL`.
    pub from: &'a [TableRef<'a>],
    /// `FROM DUAL` was written.
    pub from_dual: bool,
    /// `WHERE`.
    pub filter: Option<&'a Expr<'a>>,
    /// `GROUP BY`.
    pub group_by: &'a [OrderItem<'a>],
    /// `WITH ROLLUP`.
    pub rollup: bool,
    /// `HAVING`.
    pub having: Option<&'a Expr<'a>>,
    /// `WINDOW`.
    pub windows: &'a [NamedWindow<'a>],
    /// From SELECT to the end of its last clause.
    pub span: Span,
}

impl<'a> Select<'a> {
    /// `SELECT items`, without tables.
    pub fn of_items(items: &'a [SelectItem<'a>]) -> Select<'a> {
        Select {
            hints: &[],
            options: SelectOptions::default(),
            items,
            from: &[],
            from_dual: false,
            filter: None,
            group_by: &[],
            rollup: false,
            having: None,
            windows: &[],
            span: Span::default(),
        }
    }
}

impl<'a> Query<'a> {
    /// A query expression that is one SELECT.
    pub fn of_select(select: &'a Select<'a>) -> Query<'a> {
        Query::of_body(QueryBody::Select(select))
    }

    /// A query expression without clauses for its whole result.
    pub fn of_body(body: QueryBody<'a>) -> Query<'a> {
        Query {
            with: None,
            body,
            order_by: &[],
            limit: None,
            locking: &[],
            procedure: None,
            into: None,
            span: Span::default(),
        }
    }
}

/// The words between SELECT and its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct SelectOptions {
    pub distinct: bool,
    /// `ALL` was written.
    pub all: bool,
    pub high_priority: bool,
    pub straight_join: bool,
    pub sql_small_result: bool,
    pub sql_big_result: bool,
    pub sql_buffer_result: bool,
    pub sql_cache: bool,
    pub sql_no_cache: bool,
    pub sql_calc_found_rows: bool,
}

/// One entry of a select list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SelectItem<'a> {
    /// `*`.
    Wildcard,
    /// `t.*`, `d.t.*`.
    TableWildcard(ObjectName<'a>),
    /// An expression.
    Expr {
        /// The expression.
        expr: Expr<'a>,
        /// `AS alias`.
        alias: Option<Ident<'a>>,
        /// The text that names the column when there is no alias: parentheses are part of it, the alias is not.
        span: Span,
    },
}

/// `WINDOW name AS (…)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NamedWindow<'a> {
    /// Name.
    pub name: Ident<'a>,
    /// Definition.
    pub spec: WindowSpec<'a>,
}

/// `LIMIT count [OFFSET offset]`, `LIMIT offset, count`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit<'a> {
    /// Rows: literal, parameter, or (in stored programs) variable.
    pub count: Expr<'a>,
    /// Rows to skip.
    pub offset: Option<Expr<'a>>,
}

/// A locking clause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Locking<'a> {
    /// Exclusive or shared.
    pub strength: LockStrength,
    /// `OF t, …`: all tables when empty.
    pub of: &'a [ObjectName<'a>],
    /// What to do about locked rows.
    pub wait: LockWait,
}

/// Strength of a locking read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockStrength {
    /// `FOR UPDATE`.
    Update,
    /// `FOR SHARE`, `LOCK IN SHARE MODE`.
    Share,
}

/// What a locking read does about a locked row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWait {
    /// Waits for it.
    Wait,
    /// Fails.
    NoWait,
    /// Leaves it out.
    SkipLocked,
}

/// `SELECT … INTO`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum IntoClause<'a> {
    /// `INTO OUTFILE 'file' …`.
    OutFile {
        /// File name.
        file: &'a [u8],
        /// `CHARACTER SET`.
        charset: Option<Ident<'a>>,
        /// Fields and lines.
        format: FileFormat<'a>,
    },
    /// `INTO DUMPFILE 'file'`.
    DumpFile(&'a [u8]),
    /// `INTO @a, b`.
    Vars(&'a [IntoVar<'a>]),
}

/// A target of `SELECT … INTO`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntoVar<'a> {
    /// `@name`.
    User(Ident<'a>),
    /// A local variable of a stored program, by its place.
    Local(u32),
    /// A name that is no variable here.
    Unknown(Ident<'a>),
}

/// `FIELDS … LINES …` of LOAD DATA and INTO OUTFILE; `None` is the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileFormat<'a> {
    /// `FIELDS TERMINATED BY`: tab by default.
    pub fields_terminated: Option<&'a [u8]>,
    /// `FIELDS ENCLOSED BY`: nothing by default.
    pub fields_enclosed: Option<&'a [u8]>,
    /// `OPTIONALLY ENCLOSED`.
    pub optionally_enclosed: bool,
    /// `FIELDS ESCAPED BY`: backslash by default.
    pub fields_escaped: Option<&'a [u8]>,
    /// `LINES STARTING BY`: nothing by default.
    pub lines_starting: Option<&'a [u8]>,
    /// `LINES TERMINATED BY`: newline by default.
    pub lines_terminated: Option<&'a [u8]>,
}

/// Something in FROM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TableRef<'a> {
    /// A table or view.
    Table(&'a NamedTable<'a>),
    /// `(SELECT …) AS t`.
    Derived(&'a DerivedTable<'a>),
    /// `JSON_TABLE(…) AS t` (8.0).
    Json(&'a JsonTable<'a>),
    /// A join.
    Join(&'a Join<'a>),
    /// `(a, b)`: a comma list in parentheses, an inner join without condition.
    List(&'a [TableRef<'a>]),
}

/// A table named in FROM, UPDATE or DELETE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NamedTable<'a> {
    /// Which.
    pub name: ObjectName<'a>,
    /// `PARTITION (p, …)`; all when empty.
    pub partitions: &'a [Ident<'a>],
    /// `AS alias`.
    pub alias: Option<Ident<'a>>,
    /// `USE | FORCE | IGNORE INDEX …`.
    pub hints: &'a [IndexHint<'a>],
}

/// A derived table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DerivedTable<'a> {
    /// Its rows.
    pub query: &'a Query<'a>,
    /// Its name.
    pub alias: Ident<'a>,
    /// Column names (8.0); those of the query when empty.
    pub columns: &'a [Ident<'a>],
    /// `LATERAL` (8.0).
    pub lateral: bool,
}

/// `JSON_TABLE(doc, 'path' COLUMNS (…)) AS t`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JsonTable<'a> {
    /// The document.
    pub doc: Expr<'a>,
    /// Its rows.
    pub rows: JsonRows<'a>,
    /// Its name.
    pub alias: Ident<'a>,
}

/// Rows within a document: `'path' COLUMNS (…)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JsonRows<'a> {
    /// What leads to them.
    pub path: &'a [u8],
    /// What they consist of.
    pub columns: &'a [JsonColumn<'a>],
}

/// Something in `COLUMNS (…)` of JSON_TABLE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JsonColumn<'a> {
    /// `name FOR ORDINALITY`.
    Ordinality(Ident<'a>),
    /// `name type [EXISTS] PATH 'path' …`.
    Path(&'a JsonPathColumn<'a>),
    /// `NESTED [PATH] 'path' COLUMNS (…)`.
    Nested(JsonRows<'a>),
}

/// A column of JSON_TABLE that is found by a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JsonPathColumn<'a> {
    /// Name.
    pub name: Ident<'a>,
    /// Type.
    pub ty: super::ColumnType<'a>,
    /// What leads to its value.
    pub path: &'a [u8],
    /// `EXISTS`: whether there is one is all that is asked.
    pub exists: bool,
    /// What a value that is not there stands for.
    pub on_empty: JsonInstead<'a>,
    /// What a value that is none of the type stands for.
    pub on_error: JsonInstead<'a>,
}

/// `… ON EMPTY`, `… ON ERROR` of JSON_TABLE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonInstead<'a> {
    /// NULL, said or not.
    Null,
    /// `ERROR`.
    Error,
    /// `DEFAULT 'document'`.
    Default(&'a [u8]),
}

/// An index hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexHint<'a> {
    /// Use, force, ignore.
    pub kind: IndexHintKind,
    /// `FOR JOIN`, `FOR ORDER BY`, `FOR GROUP BY`; for all when `None`.
    pub scope: Option<IndexHintScope>,
    /// Index names, `PRIMARY` among them; `USE INDEX ()` has none.
    pub indexes: &'a [Ident<'a>],
}

/// Kinds of index hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}

/// What an index hint is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IndexHintScope {
    Join,
    OrderBy,
    GroupBy,
}

/// A join of two table references.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Join<'a> {
    /// Left side.
    pub left: TableRef<'a>,
    /// Right side.
    pub right: TableRef<'a>,
    /// Inner, left, right.
    pub kind: JoinKind,
    /// On what.
    pub condition: JoinCondition<'a>,
}

/// Kinds of joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// `JOIN`, `INNER JOIN`, `CROSS JOIN`.
    Inner,
    /// `STRAIGHT_JOIN`: inner, the left side is read first.
    Straight,
    /// `LEFT [OUTER] JOIN`.
    Left,
    /// `RIGHT [OUTER] JOIN`.
    Right,
}

/// Condition of a join.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JoinCondition<'a> {
    /// None: every pair.
    None,
    /// `ON`.
    On(Expr<'a>),
    /// `USING (a, …)`.
    Using(&'a [Ident<'a>]),
    /// `NATURAL`: all columns of the same name.
    Natural,
}

/// `HANDLER …`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Handler<'a> {
    /// `HANDLER t OPEN [AS alias]`.
    Open {
        /// The table.
        table: ObjectName<'a>,
        /// Its name as handler.
        alias: Option<Ident<'a>>,
    },
    /// `HANDLER t READ …`.
    Read {
        /// Table or alias.
        table: ObjectName<'a>,
        /// Index; the row order when `None`.
        index: Option<Ident<'a>>,
        /// Where.
        position: HandlerPosition<'a>,
        /// `WHERE`.
        filter: Option<&'a Expr<'a>>,
        /// `LIMIT`.
        limit: Option<&'a Limit<'a>>,
    },
    /// `HANDLER t CLOSE`.
    Close(ObjectName<'a>),
}

/// Where HANDLER reads.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum HandlerPosition<'a> {
    First,
    Next,
    Prev,
    Last,
    /// `= | <= | >= | < | > (values)`.
    Key(super::BinaryOp, &'a [Expr<'a>]),
}
